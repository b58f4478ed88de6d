//! Helpers for the tests of oltp.

use super::{Home, array, load, skip};
use base64::Engine as _;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use repro::instrument::cgroup::{Limits, MemoryGroup};
use repro::machine::disk;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;
use tempfile::TempDir;

pub const PHASES: [&str; 7] = [
    "bulk-insert",
    "select-primary-key",
    "select-range",
    "update",
    "mixed",
    "concurrent-reads",
    "concurrent-writes",
];
/// The options of the smallest leg that measures something.
pub const SMALL: [&str; 4] = ["--leg", "in-ram", "--scale", "1/1000"];
pub const PATIENCE: Duration = Duration::from_secs(90);
/// How soon the program must end when it is asked to.
pub const SOON: Duration = Duration::from_secs(5);

/// A lock that lets tests of speed run alone and the others side by side.
pub static CPU: RwLock<()> = RwLock::new(());

pub fn shared() -> RwLockReadGuard<'static, ()> {
    CPU.read().unwrap_or_else(PoisonError::into_inner)
}

pub fn alone() -> RwLockWriteGuard<'static, ()> {
    CPU.write().unwrap_or_else(PoisonError::into_inner)
}

/// Creates a folder on a disk, not in memory.
pub fn folder_on_disk() -> Option<TempDir> {
    let folder =
        tempfile::tempdir_in(std::env::var_os("REPRO_TEST_DISK").unwrap_or("/var/tmp".into())).unwrap();
    let kind = disk::filesystem_of(folder.path()).map(|filesystem| filesystem.kind).unwrap_or_default();
    if !["ext4", "ext3", "ext2", "xfs", "btrfs", "f2fs"].contains(&kind.as_str()) {
        skip(&format!("{} is on {kind:?}, which is no disk", folder.path().display()));
        return None;
    }
    Some(folder)
}

/// Returns whether a group with a memory limit can be made.
pub fn can_limit_memory() -> bool {
    let limits = Limits { memory_bytes: Some(64 << 20), cpus: None };
    MemoryGroup::create(limits).inspect_err(|reason| skip(&reason.to_string())).is_ok()
}

/// Returns the arguments of `run oltp` in `folder`, with one second for each concurrent phase.
pub fn words<'a>(folder: &'a Path, record: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let start = ["run", "oltp", "--seconds", "1", "--dir", folder.to_str().unwrap(), "--record", record];
    [&start, more].concat()
}

/// Measures to the end and returns the record.
#[track_caller]
pub fn measure(home: &Home, folder: &Path, record: &str, more: &[&str]) -> Value {
    home.repro(&words(folder, record, &[&["--quiet"], more].concat())).exits(0);
    load(&home.file(record))
}

pub fn leg<'a>(record: &'a Value, name: &str) -> &'a Value {
    let found = array(record, "legs").iter().find(|leg| leg["name"] == name);
    found.unwrap_or_else(|| panic!("no leg `{name}` in {record}"))
}

/// Returns what the only run of a leg measured, by phase.
pub fn measures(leg: &Value) -> BTreeMap<&str, &Value> {
    let only = |phase: &'_ Value| {
        assert_eq!(array(phase, "samples").len(), 1);
        assert_eq!(phase["samples"][0]["run"], 1);
    };
    array(leg, "phases")
        .iter()
        .inspect(|phase| only(phase))
        .map(|phase| (phase["name"].as_str().unwrap(), &phase["samples"][0]["measure"]))
        .collect()
}

/// Returns every check of a leg.
pub fn checks(leg: &Value) -> Vec<Value> {
    array(leg, "phases")
        .iter()
        .flat_map(|phase| array(phase, "samples"))
        .flat_map(|sample| array(&sample["measure"], "checks").to_vec())
        .collect()
}

pub fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_else(|| panic!("no number `{name}` in {value}"))
}

/// Asserts that a leg has all phases, that each is consistent in itself, and that every answer is right.
#[track_caller]
pub fn assert_leg_is_whole(leg: &Value, rows: u64, operations: u64, threads: u64) {
    let names: Vec<&str> = array(leg, "phases").iter().map(|p| p["name"].as_str().unwrap()).collect();
    assert_eq!(names, PHASES);
    assert_eq!(leg["answer"]["verdict"], "right");
    assert_eq!(leg["answer"]["found"], format!("{} checks", checks(leg).len()));
    for check in checks(leg) {
        assert_eq!(check["expected"], check["found"], "{check}");
    }
    for (name, measure) in measures(leg) {
        assert_eq!((measure.get("errors"), &measure["busy"]), (None, &json!(0)), "{name}");
        let done = number(measure, "operations");
        match name {
            "bulk-insert" => assert_eq!(done, rows),
            "concurrent-reads" | "concurrent-writes" => assert!(done > 100, "{name}: {done}"),
            _ => assert_eq!(done, operations, "{name}"),
        }
        let (slices, times): (Vec<u64>, Vec<u64>) = array(measure, "slices")
            .iter()
            .map(|slice| (slice[0].as_u64().unwrap(), slice[1].as_u64().unwrap()))
            .unzip();
        assert_eq!(slices.len(), if name.starts_with("concurrent") { slices.len() } else { 20 }, "{name}");
        assert!((1..=20).contains(&slices.len()), "{name}: {} slices", slices.len());
        assert!(slices.iter().sum::<u64>() <= done, "{name}");
        // A slice that several threads share takes as long as the longest of theirs.
        let most = number(measure, "elapsed_ns") * if name.starts_with("concurrent") { 2 } else { 1 };
        assert!(times.iter().sum::<u64>() <= most, "{name}: {times:?}");
        assert_latencies(name, measure, done, threads);
        let counts = &measure["counts"];
        match name {
            "select-primary-key" | "concurrent-reads" => {
                assert_eq!((&counts["found"], &counts["not found"]), (&json!(done), &json!(0)), "{name}");
            }
            "select-range" => assert_eq!(counts["wrong ranges"], 0),
            "mixed" => {
                let parts = ["found", "not found", "updates", "inserts"].map(|part| number(counts, part));
                assert_eq!(parts.iter().sum::<u64>(), done);
                for (part, share) in [(parts[0], 0.70), (parts[2], 0.25), (parts[3], 0.05)] {
                    assert!((part as f64 / done as f64 - share).abs() < 0.02, "{parts:?}");
                }
            }
            _ => {}
        }
        if ["bulk-insert", "update", "mixed", "concurrent-writes"].contains(&name) {
            assert!(
                number(&measure["detail"], "wal_bytes") > 0
                    && number(&measure["detail"], "checkpointed_pages") > 0,
                "{name}"
            );
        }
        assert!(number(&measure["detail"], "database_bytes") > rows * 200, "{name}");
        assert!(!array(measure, "checks").is_empty(), "{name}");
    }
}

/// Asserts that the percentiles are those of the histogram and that no operation is missing in it.
#[track_caller]
pub fn assert_latencies(name: &str, measure: &Value, operations: u64, threads: u64) {
    let latency = &measure["latency"];
    let percentiles = ["p50_ns", "p95_ns", "p99_ns", "p999_ns", "max_ns"].map(|key| number(latency, key));
    assert!(percentiles[0] > 0 && percentiles.is_sorted(), "{name}: {percentiles:?}");
    let text = latency["histogram"].as_str().unwrap();
    let bytes = base64::engine::general_purpose::STANDARD.decode(text).unwrap();
    let histogram: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
    assert_eq!(histogram.len(), operations, "{name}: samples in the histogram");
    let again = [0.5, 0.95, 0.99, 0.999, 1.0].map(|quantile| histogram.value_at_quantile(quantile));
    assert_eq!(again, percentiles, "{name}");
    assert!(histogram.sigfig() >= 3, "{name}");
    // All operations that were timed lie within the phase.
    let busy = histogram.mean() * operations as f64;
    let threads = if name.starts_with("concurrent") { threads } else { 1 };
    assert!(busy <= (number(measure, "elapsed_ns") * threads) as f64 * 1.01, "{name}: {busy} ns of work");
}

/// The options of the scaled leg that is larger than its memory. A smaller one leaves too little memory for
/// the process itself.
pub const DISK_BOUND: [&str; 4] = ["--leg", "disk-bound", "--scale", "1/100"];
/// The memory of that leg in bytes: a 100th of the published amount, and what the process needs.
pub const DISK_BOUND_LIMIT: u64 = 3_972_844_748 / 100 + (10 << 20);
