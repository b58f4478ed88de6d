//! Tests of the keys of figures, and of which of them a study has.

use crate::figure::FigureKey;
use crate::study::registry;

fn check(key: &str, study: &str) -> Result<(), String> {
    key.parse::<FigureKey>().unwrap().check(registry::shape_of(study).unwrap())
}

#[test]
fn keys_round_trip() {
    let metrics = "rate time ratio p50 p95 p99 p999 max operations busy busy-surfaced failures memory size"
        .split(' ')
        .map(|metric| format!("sqld/clients-16/{metric}"));
    let metrics: Vec<String> = metrics.collect();
    for key in ["TOTAL", "main/310", "star/130#2", "go/main/310", "go/star/130#2"]
        .into_iter()
        .chain(metrics.iter().map(String::as_str))
    {
        assert_eq!(key.parse::<FigureKey>().unwrap().to_string(), key);
    }
    for bad in [
        "",
        "main",
        "main/x",
        "/100",
        "main/1#0",
        "a//rate",
        "/b/rate",
        "a/b/",
        "a/b/p42",
        "a b/c/rate",
        "A/b/rate",
        "a/b/rate/p50",
    ] {
        assert!(bad.parse::<FigureKey>().is_err(), "{bad}");
    }
}

#[test]
fn each_study_knows_its_figures() {
    for (key, study) in [
        ("main/310", "speedtest1"),
        ("TOTAL", "speedtest1"),
        ("wasm/main/310", "speedtest1"),
        ("wasm/TOTAL", "speedtest1"),
        ("in-ram/mixed/p999", "oltp"),
        ("disk-bound/total/time", "oltp"),
        ("in-ram/bulk-insert/size", "oltp"),
        ("embedded/insert-1/time", "serverless"),
        ("sqld/total/ratio", "serverless"),
        ("sqld/total/failures", "serverless"),
        ("sqld/total/memory", "serverless"),
    ] {
        assert_eq!(check(key, study), Ok(()), "{key}");
    }
    for (key, study, reason) in [
        ("main/310", "oltp", "a figure of oltp has the form LEG/PHASE/METRIC"),
        ("TOTAL", "serverless", "a figure of serverless has the form LEG/PHASE/METRIC"),
        ("native/main/time", "speedtest1", "a figure of speedtest1 has the form TESTSET/NUMBER or TOTAL"),
        ("on-tape/mixed/rate", "oltp", "unknown leg `on-tape`; expected one of in-ram, disk-bound"),
        ("in-ram/vacuum/rate", "oltp", "unknown phase `vacuum`; expected one of bulk-insert, "),
        ("in-ram/mixed/ratio", "oltp", "oltp has no baseline leg"),
        ("embedded/insert-1/ratio", "serverless", "`embedded` is the baseline of all ratios"),
        ("sqld/insert-1/memory", "serverless", "sqld/total/memory"),
        ("sqld/total/p50", "serverless", "no p50"),
        ("in-ram/total/size", "oltp", "no size"),
        ("sqld/total/rate", "serverless", "no rate"),
    ] {
        let error = check(key, study).unwrap_err();
        assert!(error.contains(reason) && error.contains(key), "{error}");
    }
}

#[test]
fn a_sweep_has_no_total_but_memory() {
    let check = |key: &str| check(key, "sweep");
    assert_eq!(check("sqld/clients-16/p95"), Ok(()));
    assert_eq!(check("sqld/total/memory"), Ok(()));
    assert!(check("sqld/total/time").unwrap_err().contains("have no sum"));
    assert!(check("sqld/clients-0/p95").unwrap_err().contains("expected one of clients-N, total"));
}
