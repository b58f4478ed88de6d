//! Tests of claims, kind by kind.

use super::{leg, machine, read, record};
use crate::record::Record;
use crate::study::registry;
use crate::verify::Verdict::{self, Differs, Missing, NotComparable, Reproduced, Undecided};
use crate::verify::claim::Claim;

fn claim(test: &str) -> Claim {
    toml::from_str(&format!("id = 'c'\ntext = 'x'\n{test}")).unwrap()
}

/// Checks a claim, then judges it.
#[track_caller]
fn judged(record: &Record, test: &str) -> (Verdict, String) {
    let claim = claim(test);
    claim.check(registry::shape_of("serverless").unwrap()).unwrap();
    let judgement = claim.judge(read(record));
    (judgement.verdict, judgement.reason)
}

/// A record in which the server takes as many times as long as `of` says for a phase, in seven runs that
/// spread by ±3 %.
fn ratios(of: impl Fn(&str) -> f64) -> Record {
    let spread = |run: u32| 0.97 + 0.01 * f64::from(run - 2);
    record(vec![leg("embedded", 7, |_, _| 10.0), leg("sqld", 7, |phase, run| 10.0 * of(phase) * spread(run))])
}

#[test]
fn each_names_the_worst() {
    let record = ratios(|phase| match phase {
        "insert-1" => 20.0,
        "insert-10" => 1.02,
        "insert-100" => 0.5,
        _ => 3.0,
    });
    let each = |names: &[&str], bounds: &str| {
        let figures: Vec<String> = names.iter().map(|name| format!("'sqld/{name}/ratio'")).collect();
        judged(&record, &format!("kind = 'each'\nfigures = [{}]\n{bounds}", figures.join(", ")))
    };
    let (verdict, reason) = each(&["insert-1", "full-scan"], "at_least = 1");
    assert_eq!(verdict, Reproduced);
    assert_eq!(
        reason,
        "sqld/full-scan/ratio is 3.00 [2.91, 3.09], the nearest to a bound of 2; claimed: each at least 1"
    );
    let (verdict, reason) = each(&["insert-1", "insert-10", "full-scan"], "at_least = 1");
    assert_eq!(verdict, Undecided);
    assert!(reason.starts_with("sqld/insert-10/ratio is 1.02 [0.99, 1.05], the worst of 3"), "{reason}");
    let (verdict, reason) = each(&["insert-10", "insert-100", "insert-1"], "at_least = 1");
    assert_eq!(verdict, Differs);
    assert!(reason.starts_with("sqld/insert-100/ratio is 0.50"), "{reason}");
    let (verdict, reason) = each(&["insert-1", "full-scan"], "at_least = 1\nat_most = 10");
    assert_eq!(verdict, Differs);
    assert!(
        reason.starts_with("sqld/insert-1/ratio") && reason.ends_with("each between 1 and 10"),
        "{reason}"
    );
    let missing =
        "kind = 'each'\nfigures = ['sqld/insert-1/ratio', 'sqld-held/insert-1/ratio']\nat_least = 1";
    assert_eq!(
        judged(&record, missing),
        (Missing, "the record has no sample of sqld-held/insert-1/ratio".to_string())
    );
}

#[test]
fn order_and_rank_of_ratios() {
    let record = ratios(|phase| match phase {
        "insert-1000" => 3.0,
        "insert-100" => 7.0,
        "insert-10" => 10.0,
        "insert-1" => 20.0,
        _ => 2.0,
    });
    let ordered = |names: [&str; 2]| {
        let [a, b] = names.map(|name| format!("'sqld/{name}/ratio'"));
        judged(&record, &format!("kind = 'ordered'\nsteps = [{a}, {b}]"))
    };
    let (verdict, reason) = ordered(["insert-1000", "insert-1"]);
    assert_eq!(verdict, Reproduced);
    assert!(
        reason.starts_with("sqld/insert-1/ratio / sqld/insert-1000/ratio is 6.67 [6.67, 6.67]"),
        "{reason}"
    );
    assert_eq!(ordered(["insert-1", "insert-10"]).0, Differs);
    let rank = |kind: &str, step: &str| {
        let count = if kind == "among-slowest" { "of_slowest" } else { "of_fastest" };
        judged(
            &record,
            &format!(
                "kind = '{kind}'\nstep = 'sqld/{step}/ratio'\n{count} = 1\n\
                 steps = ['sqld/insert-1/ratio', 'sqld/insert-10/ratio', 'sqld/like-scan/ratio']"
            ),
        )
    };
    let (verdict, reason) = rank("among-slowest", "insert-1");
    assert_eq!(verdict, Reproduced);
    assert_eq!(
        reason,
        "sqld/insert-1/ratio is among the 1 highest of 3 in 7 of 7 runs (rank 1, 1, 1, 1, 1, 1, 1)"
    );
    assert_eq!(rank("among-slowest", "insert-10").0, Differs);
    assert_eq!(rank("among-fastest", "like-scan").0, Reproduced);
}

#[test]
fn of_rates_the_slowest_are_the_lowest() {
    let record = ratios(|phase| if phase == "insert-1" { 20.0 } else { 2.0 });
    let steps = "steps = ['sqld/insert-1/rate', 'sqld/insert-10/rate']";
    let slowest = format!("kind = 'among-slowest'\nstep = 'sqld/insert-1/rate'\nof_slowest = 1\n{steps}");
    assert_eq!(judged(&record, &slowest).0, Reproduced);
    let fastest = format!("kind = 'among-fastest'\nstep = 'sqld/insert-1/rate'\nof_fastest = 1\n{steps}");
    assert_eq!(judged(&record, &fastest).0, Differs);
}

#[test]
fn bounds_and_ratios_of_every_metric() {
    let record = machine(1.0);
    for (test, verdict) in [
        ("kind = 'bound'\nfigure = 'sqld/total/memory'\nat_most = 64", Reproduced),
        ("kind = 'bound'\nfigure = 'sqld/total/memory'\nat_most = 29", Differs),
        ("kind = 'bound'\nfigure = 'embedded/total/memory'\nat_least = 30\nat_most = 30", Reproduced),
        ("kind = 'bound'\nfigure = 'sqld/insert-1/busy'\nat_most = 1", Differs),
        ("kind = 'bound'\nfigure = 'sqld/insert-1/failures'\nat_most = 0", Reproduced),
        ("kind = 'bound'\nfigure = 'sqld/total/ratio'\nat_least = 8.7\nat_most = 34.8", Reproduced),
        (
            "kind = 'ratio'\nnumerator = 'sqld/total/time'\ndenominator = 'embedded/total/time'\nat_least = 9",
            Reproduced,
        ),
        (
            "kind = 'ratio'\nnumerator = 'sqld/insert-1/operations'\ndenominator = 'sqld/insert-1/busy'\nat_most = 49",
            Differs,
        ),
        ("kind = 'bound'\nfigure = 'sqld-held/total/memory'\nat_most = 64", Missing),
    ] {
        let (found, reason) = judged(&record, test);
        assert_eq!(found, verdict, "{test}: {reason}");
    }
    let zero = "kind = 'ratio'\nnumerator = 'sqld/insert-1/busy'\ndenominator = 'sqld/insert-1/failures'\nat_least = 1";
    let (verdict, reason) = judged(&record, zero);
    assert_eq!(verdict, NotComparable);
    assert!(reason.contains("is 0 in a run"), "{reason}");
}

#[test]
fn failures_of_any_run_count() {
    let failed = "kind = 'value'\nquantity = 'failed-statements'\nequals = 0";
    let mut record = machine(1.0);
    assert_eq!(judged(&record, failed).0, Reproduced);
    for (leg, phase, run) in [(0, 3, 0), (1, 14, 2)] {
        record.legs[leg].phases[phase].samples[run].measure.errors.insert("locked".to_string(), 2);
    }
    let (verdict, reason) = judged(&record, failed);
    assert_eq!(verdict, Differs);
    assert!(reason.starts_with("4 failed statements"), "{reason}");
    record.legs.iter_mut().for_each(|leg| leg.phases.clear());
    assert_eq!(judged(&record, failed).0, Missing);
}

#[test]
fn shares_of_a_phase() {
    let mut record = machine(1.0);
    for sample in record.legs.iter_mut().flat_map(|leg| &mut leg.phases).flat_map(|phase| &mut phase.samples)
    {
        sample.measure.counts = [("busy repeats".to_string(), 68)].into();
    }
    let share = |phase: &str, counts: &str, percent: u32| {
        format!("kind = 'share'\nphase = '{phase}'\ncounts = [{counts}]\npercent = {percent}")
    };
    assert_eq!(judged(&record, &share("insert-1", "'busy repeats'", 68)).0, Reproduced);
    let (verdict, reason) = judged(&record, &share("insert-1", "'busy repeats'", 70));
    assert_eq!(verdict, Differs);
    assert_eq!(reason, "68 % of the operations of insert-1 are busy repeats; claimed: 70 %");
    for (phase, counts, refused) in [
        ("insert-1", "", "at least one kind"),
        ("insert-1", "'found'", "serverless counts no `found`; expected busy repeats"),
        ("vacuum", "'busy repeats'", "serverless has no phase `vacuum`"),
    ] {
        let claim = claim(&share(phase, counts, 1));
        assert!(claim.check(super::read(&record).shape).unwrap_err().contains(refused));
    }
    record.legs.iter_mut().flat_map(|leg| &mut leg.phases).for_each(|phase| phase.samples.clear());
    assert_eq!(judged(&record, &share("insert-1", "'busy repeats'", 1)).0, Missing);
}

#[test]
fn work_is_one_sequence_or_more() {
    let same = "kind = 'value'\nquantity = 'distinct-work'\nequals = 1";
    let mut record = machine(1.0);
    assert_eq!(judged(&record, same).0, Reproduced);
    // A warm-up may have another scale, and a leg without SQL has no hash.
    record.legs[0].runs[0].work = Some("other".to_string());
    record.legs[1].runs[3].work = None;
    assert_eq!(judged(&record, same).0, Reproduced);
    record.legs[1].runs[2].work = Some("other".to_string());
    let (verdict, reason) = judged(&record, same);
    assert_eq!(verdict, Differs);
    assert!(reason.starts_with("2 different sequences of statements"), "{reason}");
    record.legs.iter_mut().flat_map(|leg| &mut leg.runs).for_each(|run| run.work = None);
    assert_eq!(judged(&record, same).0, Missing);
}

#[test]
fn claims_that_make_no_sense() {
    let each = |figures: &str, bounds: &str| format!("kind = 'each'\nfigures = [{figures}]\n{bounds}");
    for (test, reason) in [
        (each("'sqld/insert-1/ratio'", ""), "each figure needs at_least or at_most"),
        (each("", "at_least = 1"), "at least one figure is needed"),
        (each("'sqld/insert-1/ratio'", "at_least = 2\nat_most = 1"), "at_least 2 is above at_most 1"),
        (each("'sqld/insert-1/ratio'", "at_least = inf"), "bounds must be finite numbers"),
        (
            each("'sqld/insert-1/ratio', 'sqld/insert-1/time'", "at_least = 1"),
            "sqld/insert-1/ratio is in x and sqld/insert-1/time in ms",
        ),
        (each("'sqld/insert-3/ratio'", "at_least = 1"), "unknown phase `insert-3`; expected one of create-schema, "),
        (each("'embedded/total/ratio'", "at_least = 1"), "`embedded` is the baseline of all ratios"),
        ("kind = 'ordered'\nsteps = ['turso/total/time', 'sqld/total/time']".to_string(), "leg `turso`"),
        ("kind = 'bound'\nfigure = 'TOTAL'\nat_most = 1".to_string(), "LEG/PHASE/METRIC"),
        (
            "kind = 'slows-least'\nphase = 'insert-1'\nfrom = 'embedded'\nto = 'sqld'\nphases = ['insert-10']"
                .to_string(),
            "the phase must be one of phases",
        ),
        (
            "kind = 'slows-least'\nphase = 'insert-1'\nfrom = 'embedded'\nto = 'server'\nphases = ['insert-1']"
                .to_string(),
            "unknown leg `server`; expected one of embedded, ",
        ),
    ] {
        let error = claim(&test).check(registry::shape_of("serverless").unwrap()).unwrap_err();
        assert!(error.contains(reason), "{test}: {error}");
    }
}
