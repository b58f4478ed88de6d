//! The real-workload study judged by its reference, and nonsense that is refused.

mod common;

use common::oltp::*;
use common::{Home, array, list, load};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The verdicts on what the record has samples of.
const JUDGED: [&str; 4] = ["reproduced", "differs", "undecided", "not-comparable"];

/// Returns the path of the study's reference.
fn reference(ending: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("reference/cx23.{ending}"))
}

/// Returns the verdict on each claim, by its id.
fn claims(report: &Value) -> BTreeMap<String, (String, String)> {
    judgements(report, "claims")
}

/// Returns the verdict on each claim or check, by its id.
fn judgements(report: &Value, of: &str) -> BTreeMap<String, (String, String)> {
    let id = |claim: &Value| claim["subject"].as_str().unwrap().split(':').next().unwrap().to_string();
    let word = |claim: &Value, name: &str| claim[name].as_str().unwrap().to_string();
    array(&report[0], of)
        .iter()
        .map(|claim| (id(claim), (word(claim, "verdict"), word(claim, "reason"))))
        .collect()
}

#[test]
fn the_study_is_measured_and_judged() {
    let _alone = alone();
    let Some(folder) = folder_on_disk().filter(|_| can_limit_memory()) else { return };
    let home = Home::new();
    let csv = reference("csv");
    let csv = csv.to_str().unwrap();
    let place = folder.path().to_str().unwrap();
    let arguments = ["verify", csv, "--scale", "1/100", "--temp-dir", place, "--json", "-", "--quiet"];
    // One run never reproduces.
    let done = home.repro(&arguments).exits(4);
    let report = done.json();
    let verdicts = claims(&report);
    let written = fs::read_to_string(reference("toml")).unwrap();
    let (strict, checks) = (1, judgements(&report, "checks"));
    assert_eq!(verdicts.len() + checks.len(), written.matches("[[claim]]").count() - strict);
    for (id, (verdict, reason)) in &verdicts {
        eprintln!("{id}: {verdict}: {reason}");
        assert!(["undecided", "not-comparable"].contains(&verdict.as_str()), "{id}: {verdict}");
    }
    for id in ["mix-reads", "mix-updates", "mix-inserts", "answers-right"] {
        assert_eq!(checks[id].0, "reproduced", "{id}: {}", checks[id].1);
    }
    let collapse = &verdicts["reads-collapse"].1;
    let (_, found) = collapse.split_once(" is ").unwrap();
    let times: f64 = found.split(' ').next().unwrap().parse().unwrap();
    assert!(times > 2.0 && found.contains("too few runs for an interval"), "{collapse}");
    for figure in array(&report[0], "figures") {
        assert_ne!(figure["verdict"], "missing", "{figure}");
    }
    let scale = array(&report[0], "work").iter().find(|check| check["what"] == "--scale").unwrap();
    assert!(scale["same"].is_null() && scale["detail"].as_str().unwrap().contains("1/100"), "{scale}");
    assert_eq!(list(folder.path()), Vec::<PathBuf>::new());

    // The result is the same when the record is judged later.
    let saved = home.records();
    assert_eq!(saved.len(), 1);
    let judge = |record: &Path, more: &[&str]| {
        let start = ["verify", csv, "--record", record.to_str().unwrap(), "--json", "-"];
        home.repro(&[&start, more].concat())
    };
    let again = judge(&saved[0], &[]);
    assert_eq!(again.code, done.code);
    assert_eq!(again.json(), report);
    let strict = claims(&judge(&saved[0], &["--strict"]).json());
    assert!(JUDGED.contains(&strict["mixed-tail"].0.as_str()));

    // Other work is not compared.
    let record = load(&saved[0]);
    let others = [
        ("seed", json!(2)),
        ("synchronous", json!("full")),
        ("operations", json!(1000)),
        ("range", json!(21)),
        ("memory_limit", json!(4_000_000_000_u64)),
        ("writers", json!(3)),
        ("payload", json!(100)),
    ];
    for (name, value) in others {
        let mut other = record.clone();
        other["parameters"][name] = value;
        let path = home.write("other.json", other.to_string());
        let done = judge(&path, &[]);
        let report = done.json();
        for claim in claims(&report).values().chain(judgements(&report, "checks").values()) {
            assert_eq!(claim.0, "not-comparable", "{name}: {}", claim.1);
            assert!(claim.1.contains(&format!("--{name}")), "{name}: {}", claim.1);
        }
        for figure in array(&report[0], "figures") {
            assert_eq!(figure["verdict"], "not-comparable", "{name}: {figure}");
        }
    }
    // Nor is a wrong answer accepted.
    let mut wrong = record.clone();
    wrong["legs"][1]["phases"][0]["samples"][0]["measure"]["checks"][0]["found"] = json!("1");
    wrong["legs"][1]["answer"] = json!({ "verdict": "wrong", "found": "rows: 1", "expected": "100000" });
    let done = judge(&home.write("wrong.json", wrong.to_string()), &[]).exits(1);
    let (verdicts, checks) = (claims(&done.json()), judgements(&done.json(), "checks"));
    assert_ne!(checks["answers-right"].0, "reproduced", "{}", checks["answers-right"].1);
    assert_ne!(verdicts["reads-collapse"].0, "reproduced", "{}", verdicts["reads-collapse"].1);
}

#[test]
fn nonsense_is_refused() {
    let _shared = shared();
    let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
    let refused = |arguments: &[&str], pieces: &[&str]| {
        let done = home.repro(&words(folder.path(), "a.json", arguments)).exits(2).says(pieces);
        assert_eq!(done.out, "");
        assert!(!home.file("a.json").exists() && home.records().is_empty(), "{arguments:?}");
        assert_eq!(list(folder.path()), Vec::<PathBuf>::new(), "{arguments:?}");
    };
    for scale in ["0", "2/3", "1/0", "1/10001", "0.5", "1/", "", "1/-1", "1/x", "2"] {
        refused(&["--scale", scale], &["--scale", "1/N"]);
    }
    for (option, value) in [
        ("--rows", "10"),
        ("--rows", "-1"),
        ("--rows", "1e6"),
        ("--rows", "99999999999999999999"),
        ("--threads", "0"),
        ("--threads", "65"),
        ("--writers", "0"),
        ("--seconds", "0"),
        ("--payload", "31"),
        ("--payload", "1000001"),
        ("--operations", "99"),
        ("--batch", "0"),
        ("--range", "0"),
        ("--runs", "0"),
        ("--seed", "x"),
        ("--leg", "on-disk"),
        ("--synchronous", "extra"),
        ("--deadline", "0"),
        ("--memory-limit", "1x"),
        ("--memory-limit", ""),
        ("--memory-limit", "GiB"),
        ("--memory-limit", "0MB"),
        ("--memory-limit", "NaNGiB"),
        ("--memory-limit", "infGiB"),
        ("--memory-limit", "1e30GiB"),
    ] {
        // clap reports a negative number as an unexpected argument.
        let named = if value.starts_with('-') { value } else { option };
        let argument = format!("{option}={value}");
        let given: Vec<&str> = if value.starts_with('-') { vec![option, value] } else { vec![&argument] };
        if option == "--seconds" || option == "--dir" {
            home.repro(&["run", "oltp", &argument]).exits(2).says(&[named]);
        } else {
            refused(&given, &[named]);
        }
    }
    for missing in ["/no/such/folder", "/dev/null", "/proc"] {
        let start = ["run", "oltp", "--record", "a.json", "--dir", missing];
        home.repro(&[&start[..], &SMALL].concat()).exits(2).says(&[missing, "--dir"]);
        assert!(!home.file("a.json").exists());
    }
    let taken = home.write("taken.json", "mine");
    home.repro(&words(folder.path(), "b.json", &[&SMALL[..], &["--json", "taken.json"]].concat()))
        .exits(2)
        .says(&["taken.json"]);
    assert_eq!(fs::read_to_string(taken).unwrap(), "mine");
}

#[test]
fn a_table_smaller_than_a_range_is_refused() {
    let _shared = shared();
    let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
    for options in [["--range", "100000"], ["--scale", "1/1000"], ["--scale", "1/100"]] {
        let options = [&["--leg", "in-ram", "--rows", "1000"], &options[..]].concat();
        let done = home.repro(&words(folder.path(), "a.json", &options));
        if options[5] == "1/100" {
            // The longest range that fits is 10 rows here.
            home.repro(&words(folder.path(), "b.json", &[&options[..], &["--range", "10"]].concat()))
                .exits(0);
        }
        done.exits(2).says(&["--range", "rows"]);
        assert!(!home.file("a.json").exists(), "{options:?}");
    }
}

#[test]
fn references_with_nonsense_are_refused() {
    let _shared = shared();
    let home = Home::new();
    let (csv, toml) =
        (fs::read_to_string(reference("csv")).unwrap(), fs::read_to_string(reference("toml")).unwrap());
    let mut accepted = Vec::new();
    let mut refused = |csv: &str, toml: &str, pieces: &[&str]| {
        home.write("bad.csv", csv);
        home.write("bad.toml", toml);
        // If the reference is not refused, there is still no place to measure.
        let done = home.repro(&["verify", "bad.csv", "--temp-dir", "/no/such/folder", "--quiet"]).exits(2);
        assert!(home.records().is_empty(), "something ran");
        if !pieces.iter().all(|piece| done.err.contains(piece)) {
            accepted.push(format!("{pieces:?}: {}", done.err));
        }
    };
    let line = "in-ram/bulk-insert/rate,bulk insert,124123,/s,inserts,";
    assert!(csv.contains(line));
    let with = |other: &str| csv.replace(line, other);
    for (other, pieces) in [
        ("in-ram/bulk-insert/rate,bulk insert,124123,ms,inserts,", ["line 2", "a rate is in /s"]),
        ("in-ram/bulk-insert/p50,bulk insert,8,/s,inserts,", ["line 2", "a time is in"]),
        ("in-ram/bulk-insert/p42,bulk insert,8,us,inserts,", ["line 2", "p42"]),
        ("in-ram/vacuum/rate,bulk insert,8,/s,inserts,", ["line 2", "vacuum"]),
        ("on-tape/bulk-insert/rate,bulk insert,8,/s,inserts,", ["line 2", "on-tape"]),
        ("in-ram//rate,bulk insert,8,/s,inserts,", ["line 2", "in-ram//rate"]),
        ("in-ram/bulk-insert/time,bulk insert,8,/s,inserts,", ["line 2", "a time is in"]),
        ("in-ram/bulk-insert/operations,bulk insert,8,ms,inserts,", ["line 2", "a count is in 1"]),
        ("in-ram/bulk-insert/ratio,bulk insert,8,x,inserts,", ["line 2", "no baseline leg"]),
        ("in-ram/total/rate,bulk insert,8,/s,inserts,", ["line 2", "no rate"]),
        ("in-ram/bulk-insert/memory,bulk insert,8,MB,inserts,", ["line 2", "in-ram/total/memory"]),
        ("main/100,bulk insert,8,ms,inserts,", ["line 2", "LEG/PHASE/METRIC"]),
        ("in-ram/bulk-insert/rate,bulk insert,-8,/s,inserts,", ["line 2", "-8"]),
        ("disk-bound/bulk-insert/rate,bulk insert,8,/s,inserts,", ["disk-bound/bulk-insert/rate", "twice"]),
    ] {
        refused(&with(other), &toml, &pieces);
    }
    refused(&csv, &toml.replace("seed = 1", "sed = 1"), &["bad.toml", "sed"]);
    refused(&csv, &toml.replace("threads = 4", "threads = \"x\""), &["bad.toml", "threads"]);
    refused(&csv, &toml.replace("threads = 4", "threads = 0"), &["bad.toml", "threads"]);
    refused(&csv, &toml.replace("study = \"oltp\"", "study = \"olap\""), &["olap"]);
    refused(&csv, &toml.replace("at_least = 2\n", "at_lest = 2\n"), &["at_least or at_most"]);
    refused(
        &csv,
        &toml.replace("counts = [\"updates\"]", "counts = [\"updates\", \"upserts\"]"),
        &["bad.toml", "no `upserts`"],
    );
    refused(&csv, &toml.replace("phase = \"mixed\"", "phase = \"mingled\""), &["bad.toml", "mingled"]);
    refused(&csv, &toml.replace("disk-bound/mixed/p999", "disk-bound/mixed/p99999"), &["p99999"]);
    refused(&csv, &toml.replace("disk-bound/mixed/p999", "disk-bound/vacuum/p999"), &["bad.toml", "vacuum"]);
    refused(&csv, &toml.replace("from = \"in-ram\"", "from = \"in-rom\""), &["bad.toml", "in-rom"]);
    assert!(accepted.is_empty(), "{}", accepted.concat());
    home.repro(&["verify", reference("csv").to_str().unwrap(), "--scale", "0"]).exits(2).says(&["--scale"]);
}
