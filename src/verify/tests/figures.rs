//! Tests of the values of figures, and of how figures are judged.

use super::{key, leg, machine, measure, read, record, reference};
use crate::figure::Values;
use crate::record::{Cause, Failure, Latency};
use crate::stats::Interval;
use crate::verify::Verdict;
use crate::verify::comparison::judge;
use crate::verify::verdict::{FigureJudgement, Report};

/// The median and interval of a figure.
fn estimate(record: &crate::record::Record, text: &str) -> Option<(f64, Option<Interval>)> {
    read(record).cited(&key(text)).as_ref().and_then(Values::estimate)
}

fn figure<'a>(report: &'a Report, key: &str) -> &'a FigureJudgement {
    report.figures.iter().find(|figure| figure.key == key).unwrap()
}

#[test]
fn times_are_exact_and_ratios_are_pairs() {
    // The machine slows down from run to run, but the ratio stays the same.
    let drift = |run: u32| f64::from(run * run);
    let record = record(vec![
        leg("embedded", 7, |_, run| 0.25 * drift(run)),
        leg("sqld", 7, |_, run| 5.0 * drift(run)),
    ]);
    let one = |value| Some((value, Some(Interval { low: value, high: value })));
    assert_eq!(estimate(&record, "sqld/insert-1/ratio"), one(20.0));
    assert_eq!(estimate(&record, "sqld/total/ratio"), one(20.0));
    let (median, interval) = estimate(&record, "embedded/insert-1/time").unwrap();
    assert_eq!((median, interval.unwrap().low), (6.25, 1.0));
    assert_eq!(estimate(&record, "embedded/total/time").unwrap().0, 93.75);
    assert_eq!(estimate(&record, "sqld/insert-1/operations"), one(100.0));
    assert_eq!(estimate(&record, "sqld/total/busy"), one(30.0));
    assert_eq!(estimate(&record, "sqld/total/memory"), one(30.0));
    assert_eq!(estimate(&record, "floor/insert-1/time"), None);
}

#[test]
fn what_a_run_lacks_is_not_made_up() {
    let mut record = record(vec![leg("embedded", 3, |_, _| 1.0), leg("sqld", 3, |_, run| f64::from(run))]);
    // Run 2 is no longer a pair, and run 3 is no longer complete.
    record.legs[0].runs[1].rejected = Some(Failure::of(Cause::Interrupted));
    record.legs[1].phases[4].samples.remove(2);
    let runs = |text: &str| read(&record).cited(&key(text)).map(|values| values.runs().to_vec());
    assert_eq!(runs("sqld/insert-1/ratio"), Some(vec![(3, 3.0), (4, 4.0)]));
    assert_eq!(runs("sqld/total/time"), Some(vec![(2, 30.0), (4, 60.0)]));
    assert_eq!(runs("sqld/total/ratio"), Some(vec![(4, 4.0)]));
    record.legs[1].phases.remove(0);
    assert_eq!(read(&record).cited(&key("sqld/total/time")), None);
    assert_eq!(read(&record).cited(&key("sqld/total/failures")), None);
}

#[test]
fn failures_and_the_longest_latency() {
    let mut record = record(vec![leg("sqld", 1, |_, _| 1.0)]);
    let mut failing = measure(1.0);
    failing.errors = [("locked".to_string(), 2), ("full".to_string(), 1)].into();
    failing.latency = Some(Latency { max_ns: 2_500_000, ..Latency::default() });
    record.legs[0].phases[0].samples[1].measure = failing;
    assert_eq!(estimate(&record, "sqld/create-schema/failures").unwrap().0, 3.0);
    assert_eq!(estimate(&record, "sqld/create-schema/max").unwrap().0, 2.5);
    assert_eq!(estimate(&record, "sqld/total/failures").unwrap().0, 3.0);
}

#[test]
fn a_faster_machine_reproduces_the_publication() {
    let report = judge(&reference("sqlitend-serverless"), &machine(4.0), false).unwrap();
    let groups: Vec<&str> = report.factors.iter().map(|factor| factor.group.as_str()).collect();
    assert_eq!(groups, ["embedded time", "sqld time"]);
    assert!((report.factors[1].value - 0.25).abs() < 0.01, "{:?}", report.factors);
    for (key, unit) in [
        ("embedded/insert-1/time", "ms"),
        ("sqld/total/time", "ms"),
        ("sqld/insert-1/ratio", "x"),
        ("sqld/total/ratio", "x"),
    ] {
        let figure = figure(&report, key);
        assert_eq!((figure.verdict, figure.unit), (Verdict::Reproduced, unit), "{figure:?}");
        assert_eq!(figure.relative.is_some(), unit == "ms", "{figure:?}");
    }
    assert_eq!(report.whole().0, Verdict::Reproduced, "{:?}", report.claims);
    for claim in &report.claims {
        assert_eq!(claim.verdict, Verdict::Reproduced, "{claim:?}");
    }
}

#[test]
fn a_ratio_has_no_machine_factor() {
    let mut dear = machine(1.0);
    for sample in dear.legs[1].phases.iter_mut().flat_map(|phase| &mut phase.samples) {
        sample.measure.elapsed_ns = sample.measure.elapsed_ns.map(|ns| ns * 5);
    }
    let report = judge(&reference("sqlitend-serverless"), &dear, false).unwrap();
    assert_eq!(figure(&report, "sqld/insert-1/time").verdict, Verdict::Reproduced);
    let ratio = figure(&report, "sqld/insert-1/ratio");
    assert_eq!(ratio.verdict, Verdict::Differs);
    assert!(ratio.reason.contains("times the published ratio; tolerance 3×"), "{}", ratio.reason);
}

#[test]
fn what_its_clock_did_not_resolve_is_not_compared() {
    let report = judge(&reference("sqlitend-serverless"), &machine(1.0), false).unwrap();
    for (key, reason) in [
        ("embedded/delete-primary-key/time", "below the clock's resolution of 1 ms"),
        ("embedded/update-primary-key/time", "below the clock's resolution of 1 ms"),
        ("sqld/update-primary-key/ratio", "two roundings"),
    ] {
        let figure = figure(&report, key);
        assert_eq!(figure.verdict, Verdict::NotComparable, "{figure:?}");
        assert!(figure.reason.contains(reason), "{figure:?}");
        assert!(figure.measured.is_some());
    }
    // It is published as 2 ms ± 1 ms, so the measured 2.1 ms are 2.1 / 3 to 2.1 / 1 of it.
    let (low, high) = figure(&report, "embedded/full-scan/time").relative_interval.unwrap();
    assert!(low < 0.7 && high > 1.9, "{low} {high}");
}

#[test]
fn counts_and_memory_are_shown_and_left_to_the_claims() {
    let mut reference = reference("sqlitend-serverless");
    let mut counts = reference.figures[0].clone();
    (counts.key, counts.value) = (key("sqld/insert-1/operations"), 100.0);
    let mut memory = counts.clone();
    (memory.key, memory.value) = (key("sqld/total/memory"), 35.0);
    reference.figures.extend([counts, memory]);
    for strict in [false, true] {
        let report = judge(&reference, &machine(1.0), strict).unwrap();
        let counts = figure(&report, "sqld/insert-1/operations");
        assert_eq!(
            (counts.verdict, counts.unit, counts.measured),
            (Verdict::NotComparable, "1", Some(100.0))
        );
        assert_eq!(counts.reason, "a count belongs to its run; only claims judge it");
        let memory = figure(&report, "sqld/total/memory");
        assert_eq!(
            (memory.verdict, memory.unit, memory.measured),
            (Verdict::NotComparable, "MB", Some(30.0))
        );
    }
}

#[test]
fn a_version_that_is_not_published_is_not_compared() {
    let mut reference = reference("sqlitend-serverless");
    let version = |reference: &_| {
        let report = judge(reference, &machine(1.0), false).unwrap();
        let check = report.work.iter().find(|check| check.what == "SQLite version").unwrap().clone();
        (check.same, check.detail)
    };
    assert_eq!(version(&reference), (None, "not published, here 3.53.1, 3.45.1".to_string()));
    reference.about.engine.sqlite_version = Some("3.53.1".to_string());
    assert_eq!(version(&reference), (Some(false), "published 3.53.1, here 3.45.1".to_string()));
}

#[test]
fn another_protocol_is_other_work() {
    let mut other = machine(1.0);
    other.parameters.insert("protocol".to_string(), "hrana2".into());
    let report = judge(&reference("sqlitend-serverless"), &other, false).unwrap();
    assert!(report.figures.iter().all(|figure| figure.verdict == Verdict::NotComparable));
    assert!(report.claims.iter().all(|claim| claim.reason.contains("--protocol")));
}
