//! The checked-in schema is that of this program, and the records that it writes conform to it.

mod common;

use common::{Home, list, load};
use serde_json::Value;
use std::process::Command;

const CHECKED_IN: &str = include_str!("../src/record/schema.json");

#[test]
fn the_checked_in_schema_is_current() {
    let printed = Home::new().repro(&["schema"]).exits(0).out;
    assert!(
        printed == CHECKED_IN,
        "src/record/schema.json is not what `repro schema` prints; if the change is meant, and readers of old \
         records are thought of, write it anew:\n    cargo run -- schema > src/record/schema.json"
    );
}

#[track_caller]
fn assert_valid(record: &Value) {
    let schema: Value = serde_json::from_str(CHECKED_IN).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let faults: Vec<String> =
        validator.iter_errors(record).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_measured_record_obeys_it() {
    let home = Home::new();
    let arguments =
        ["--size", "1", "--runs", "5", "--until-ci", "50%", "--max-runs", "5", "--host-name", "--stats"];
    let record = home.repro(&[&arguments[..], &["--json", "-"]].concat()).exits(0).json();
    assert_valid(&record);
    let mut spoilt = record;
    spoilt["legs"][0]["runs"][0]["total_ms"] = "12".into();
    let schema: Value = serde_json::from_str(CHECKED_IN).unwrap();
    assert!(!jsonschema::is_valid(&schema, &spoilt), "a schema that admits everything checks nothing");
    spoilt["legs"][0]["runs"][0]["total_ms"] = 12.into();
    spoilt["stranger"] = 1.into();
    assert!(!jsonschema::is_valid(&schema, &spoilt), "unknown members are refused");
}

#[test]
fn a_partial_record_obeys_it() {
    let home = Home::new();
    let arguments = ["--size", "30", "--no-answer-check", "--deadline", "0.2", "--record", "r.json"];
    home.repro(&arguments).exits(3);
    let record = load(&home.file("r.json"));
    assert!(record["partial"]["message"].is_string());
    assert_valid(&record);
}

#[test]
fn an_imported_record_obeys_it() {
    let home = Home::new();
    home.repro(&["--size", "1", "--runs", "1", "--no-record", "-q"]).exits(0);
    let folder = list(&home.cache().join("repro")).remove(0);
    let output = Command::new(folder.join("speedtest1")).args(["--size", "1", "--memdb"]).output().unwrap();
    home.write("saved.txt", output.stdout);
    home.repro(&["import", "saved.txt", "--record", "r.json"]).exits(0).prints(&["TOTAL"]);
    let record = load(&home.file("r.json"));
    assert_eq!(record["imported"]["file"], "saved.txt");
    assert_eq!(common::steps(&record).len(), 83);
    assert_valid(&record);
}
