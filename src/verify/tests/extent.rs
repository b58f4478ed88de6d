//! Tests with records of less work than was published.

use super::clients::{published, record_of};
use super::reference;
use crate::record::{Detail, Measure, Record};
use crate::verify::Verdict::{self, Missing, NotComparable, Reproduced};
use crate::verify::comparison;
use crate::verify::verdict::Report;
use serde_json::{Value, json};

fn report(record: &Record) -> Report {
    comparison::judge(&reference(&format!("sqlitend-{}", record.study)), record, false).unwrap()
}

/// A sweep over these phases, with one parameter that differs from the published one.
fn sweep(phases: &[&str], parameter: &str, value: Value) -> Record {
    let mut record = record_of("sweep", phases, 6, |phase, _| published("sweep", phase));
    record.parameters.insert(parameter.to_string(), value);
    record
}

fn figure(report: &Report, key: &str) -> (Verdict, String) {
    let figure = report.figures.iter().find(|figure| figure.key == key).unwrap();
    (figure.verdict, figure.reason.clone())
}

fn claim(report: &Report, id: &str) -> (Verdict, String) {
    let claim = report.claims.iter().find(|claim| claim.subject.starts_with(&format!("{id}:"))).unwrap();
    (claim.verdict, claim.reason.clone())
}

fn work(report: &Report, what: &str) -> (Option<bool>, String) {
    let check = report.work.iter().find(|check| check.what == what).unwrap();
    (check.same, check.detail.clone())
}

const NOT_RUN: &str = "not run (--clients)";

#[test]
fn levels_that_were_left_out() {
    let report = report(&sweep(&["clients-4", "clients-16"], "clients", json!([4, 16])));
    assert_eq!(work(&report, "--clients"), (None, "published 1,4,8,16,32,64, here 4,16".to_string()));
    assert_eq!(figure(&report, "sqld/clients-4/rate").0, Reproduced);
    assert_eq!(figure(&report, "sqld/clients-8/rate"), (NotComparable, NOT_RUN.to_string()));
    assert_eq!(figure(&report, "sqld/clients-8/p95"), (NotComparable, NOT_RUN.to_string()));
    assert_eq!(claim(&report, "falls-at-16").0, Reproduced);
    assert_eq!(claim(&report, "flat-ceiling"), (NotComparable, format!("{NOT_RUN}: clients-1")));
    assert_eq!(claim(&report, "no-failures"), (NotComparable, format!("{NOT_RUN}: clients-1, clients-8")));
    assert_eq!(
        claim(&report, "collapse-from-32"),
        (NotComparable, format!("{NOT_RUN}: clients-32, clients-64"))
    );
    assert_eq!(report.counts()[1..3], [0, 0]);
}

#[test]
fn levels_that_were_not_reached_are_missing() {
    let report = report(&sweep(&["clients-4"], "clients", json!([4, 16, 32])));
    assert_eq!(figure(&report, "sqld/clients-16/rate").0, Missing);
    assert_eq!(figure(&report, "sqld/clients-1/rate").0, NotComparable);
    assert_eq!(claim(&report, "falls-at-16").0, Missing);
    assert_eq!(report.whole().0, Missing);
}

#[test]
fn one_level_has_no_shape() {
    let report = report(&sweep(&["clients-4"], "clients", json!([4])));
    let (verdict, reason) = figure(&report, "sqld/clients-4/rate");
    assert_eq!(verdict, NotComparable);
    assert!(reason.contains("no other figure of its group"), "{reason}");
}

#[test]
fn shorter_levels_are_judged() {
    let levels = ["clients-1", "clients-4", "clients-8", "clients-16", "clients-32", "clients-64"];
    let report = report(&sweep(&levels, "seconds", json!(5)));
    assert_eq!(work(&report, "--seconds"), (None, "published 35, here 5".to_string()));
    assert_eq!(
        figure(&report, "sqld/clients-4/operations"),
        (NotComparable, "--seconds 5 instead of 35: a different number of operations".to_string())
    );
    assert_eq!(figure(&report, "sqld/clients-4/rate").0, Reproduced);
    for claim in &report.claims {
        assert_eq!(claim.verdict, Reproduced, "{claim:?}");
    }
}

#[test]
fn other_work_stays_other_work() {
    for (parameter, value) in [
        ("rate", json!(1000.0)),
        ("stream", json!("held")),
        ("mix", json!("read-heavy")),
        ("rows", json!(1000)),
        ("seed", json!(2)),
        ("fresh_server", json!(true)),
    ] {
        let report = report(&sweep(&["clients-4"], parameter, value));
        assert_eq!(work(&report, &format!("--{parameter}")).0, Some(false));
        let reason = format!("not the same work: --{parameter}");
        assert!(report.figures.iter().all(|figure| figure.reason == reason), "{:?}", report.figures);
        assert!(report.claims.iter().all(|claim| claim.reason == reason), "{:?}", report.claims);
    }
}

#[test]
fn a_million_of_another_scale_is_no_million() {
    let mut record = record_of("million", &["million"], 6, |phase, _| published("million", phase));
    record.parameters.insert("scale".to_string(), json!("1/100"));
    let scaled = report(&record);
    assert_eq!(work(&scaled, "--scale"), (None, "published 1/1, here scaled down to 1/100".to_string()));
    let reason = "--scale 1/100 instead of 1/1: a different number of operations";
    assert_eq!(claim(&scaled, "exactly-a-million"), (NotComparable, reason.to_string()));
    assert_eq!(claim(&scaled, "flat-to-the-end").0, Reproduced);
    // In this study the number of clients is part of the work.
    record.parameters.insert("clients".to_string(), json!(8));
    assert_eq!(work(&report(&record), "--clients"), (Some(false), "published 4, here 8".to_string()));
}

/// The size of a database follows from how much was written.
#[test]
fn a_smaller_database_is_not_the_published_one() {
    let test = "kind = 'bound'\nfigure = 'sqld/million/size'\nat_least = 9\nat_most = 11";
    let mut size = reference("sqlitend-million");
    let text = format!("id = 'size'\ntext = 'ten MB'\n{test}");
    size.about.claims.push(toml::from_str(&text).unwrap());
    for (bytes, verdict) in [(10_400_000, Reproduced), (12_000_000, Verdict::Differs)] {
        let of = |phase: &str, _| Measure {
            detail: Detail::of(&json!({"database_bytes": bytes})),
            ..published("million", phase)
        };
        let mut record = record_of("million", &["million"], 6, of);
        let judged = |record: &Record| claim(&comparison::judge(&size, record, false).unwrap(), "size");
        assert_eq!(judged(&record).0, verdict);
        record.parameters.insert("scale".to_string(), json!("1/100"));
        let reason = "--scale 1/100 instead of 1/1: a database of another size";
        assert_eq!(judged(&record), (NotComparable, reason.to_string()));
    }
    let record = record_of("million", &["million"], 6, |phase, _| published("million", phase));
    assert_eq!(claim(&comparison::judge(&size, &record, false).unwrap(), "size").0, Missing);
}

/// A phase that did not shrink with the others says nothing about what was published.
#[test]
fn at_a_scale_phases_of_one_statement_are_not_compared() {
    let mut record = super::machine(1.0);
    record.parameters.insert("scale".to_string(), json!("1/200"));
    let report = comparison::judge(&reference("sqlitend-serverless"), &record, false).unwrap();
    let rigid = "--scale 1/200 instead of 1/1: this phase does not shrink as much";
    for key in ["sqld/full-scan/ratio", "embedded/update-index/time", "sqld/insert-100/time"] {
        assert_eq!(figure(&report, key), (NotComparable, rigid.to_string()), "{key}");
    }
    let (verdict, reason) = figure(&report, "sqld/total/ratio");
    assert!(verdict == NotComparable && reason.contains("of its phases do not shrink"), "{reason}");
    for key in ["sqld/point-lookups/ratio", "sqld/insert-1/time"] {
        assert_eq!(figure(&report, key).0, Reproduced, "{key}");
    }
    assert!(report.figures.iter().all(|figure| figure.verdict != Verdict::Differs));
    let judged = report.claims.iter().filter(|claim| claim.reason.contains("does not shrink"));
    assert!(judged.count() > 0, "{:?}", report.claims);
}
