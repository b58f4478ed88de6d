//! What the reference of the official tool refuses: measured builds and workloads as negative controls.

use super::reference;
use crate::verify::power;

/// The table of docs/power.md.
fn table() -> String {
    let reference = reference("sqlitend-speedtest1");
    let power = power::of(&reference).unwrap();
    let row = |distance: power::Distance| {
        let cited = distance.variant == "gcc -O3" && !power.cited_passes;
        let verdict = if cited || power.refused.contains(&distance.variant) { "refused" } else { "passes" };
        format!(
            "| {} | {} | {:.2} | {:.2} | {verdict} |\n",
            distance.variant, distance.figures, distance.spread, distance.furthest
        )
    };
    power::distances(&reference).into_iter().map(row).collect()
}

#[test]
fn the_documentation_shows_what_was_measured() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/power.md");
    let documentation = std::fs::read_to_string(path).unwrap();
    assert!(documentation.contains(&table()), "docs/power.md should have this table:\n{}", table());
}

#[test]
fn what_was_refused_and_what_was_not_is_told_apart() {
    let power = power::of(&reference("sqlitend-speedtest1")).unwrap();
    let has = |names: &[String], name: &str| names.iter().any(|own| own == name);
    for refused in ["--size 50", "CheriBSD in QEMU: 3.35.0 --size 50", "Morello: 3.22.0 --size 1"] {
        assert!(has(&power.refused, refused) && !has(&power.passed, refused), "{refused}: {power:?}");
    }
    // The limits of ten rows: they do not show an optimisation level.
    for passed in ["gcc -O2", "gcc -O1"] {
        assert!(has(&power.passed, passed) && !has(&power.refused, passed), "{passed}: {power:?}");
    }
    assert!(
        !has(&power.passed, "gcc -O3") && !has(&power.refused, "gcc -O3"),
        "the cited build is no other one"
    );
}

/// A wider tolerance refuses less, so the power is computed from it and not from the table alone.
#[test]
fn the_power_follows_the_tolerance() {
    let mut wide = reference("sqlitend-speedtest1");
    wide.about.tolerance.factor = 100.0;
    let power = power::of(&wide).unwrap();
    assert_eq!((power.refused.len(), power.cited_passes), (0, true), "{power:?}");
    wide.about.tolerance.spread = Some(0.01);
    let power = power::of(&wide).unwrap();
    assert_eq!((power.passed.len(), power.cited_passes), (0, false), "{power:?}");
}

#[test]
fn a_study_without_measured_variants_has_no_power() {
    assert_eq!(power::of(&reference("sqlitend-sweep")), None);
}
