//! What the reference of the official tool refuses: measured builds and workloads as negative controls.

use super::reference;
use crate::verify::power;

/// The table of docs/power.md.
fn table() -> String {
    let reference = reference("sqlitend-speedtest1");
    let power = power::of(&reference).unwrap();
    let row = |distance: power::Distance| {
        let verdict = if power.refused.contains(&distance.variant) { "refused" } else { "passes" };
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
fn an_unoptimised_build_and_another_journal_are_refused() {
    let power = power::of(&reference("sqlitend-speedtest1")).unwrap();
    for refused in ["gcc -O0", "--journal wal"] {
        assert!(power.refused.iter().any(|name| name == refused), "{refused}: {power:?}");
    }
    for passed in ["gcc -O2", "gcc -O1"] {
        assert!(power.passed.iter().any(|name| name == passed), "{passed}: {power:?}");
    }
    assert!(!power.passed.contains(&"gcc -O3".to_string()), "the cited build is no other one");
}

#[test]
fn a_study_without_measured_variants_has_no_power() {
    assert_eq!(power::of(&reference("sqlitend-sweep")), None);
}
