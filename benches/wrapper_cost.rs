//! Measures what `repro` adds to the tool: TOTAL under `repro` against the bare tool, run alternately.
//!
//!     cargo bench --bench wrapper_cost [-- PAIRS [SIZE]]
//!
//! Prints the ratio pair by pair, its median with a 95 % interval, how far the observed times differ from the
//! reported ones, and how far their sum differs from TOTAL.

use repro::record::{self, Record};
use repro::stats::Ratio;
use repro::study::speedtest1::{import, unpack};
use std::path::Path;
use std::process::Command;

fn main() {
    // Cargo itself adds `--bench` to the arguments.
    let numbers: Vec<u32> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let pairs = numbers.first().copied().unwrap_or(10);
    let size = numbers.get(1).copied().unwrap_or(100).to_string();
    let cache = tempfile::tempdir().expect("a temporary folder");
    let tool = unpack(cache.path()).expect("the tool can be unpacked");
    let mut totals = Vec::new();
    let mut records = Vec::new();
    bare(&tool, &size);
    for pair in 1..=pairs {
        let (alone, record) = (bare(&tool, &size), wrapped(&size));
        let under = total(&record);
        println!("pair {pair:2}: {under:6} ms under repro, {alone:6} ms alone, ratio {:.4}", under / alone);
        totals.push((under, alone));
        records.push(record);
    }
    let ratio = Ratio::of_pairs(&totals).expect("every pair has two times");
    println!("ratio: median {:.4}, 95 % interval {:?}", ratio.value, ratio.interval.map(|i| (i.low, i.high)));
    clocks(&records);
}

fn bare(tool: &Path, size: &str) -> f64 {
    let output = Command::new(tool).args(["--size", size]).output().expect("the tool runs");
    let runs = import::import(&output.stdout).expect("the tool's output can be read");
    runs[0].output.total_ms.expect("the tool prints TOTAL") as f64
}

fn wrapped(size: &str) -> Record {
    let output = Command::new(env!("CARGO_BIN_EXE_repro"))
        .args([
            "--size",
            size,
            "--runs",
            "1",
            "--warmup",
            "0",
            "--no-answer-check",
            "--no-record",
            "--json",
            "-",
        ])
        .output()
        .expect("repro runs");
    record::read(&String::from_utf8_lossy(&output.stdout)).expect("repro prints a record")
}

fn total(record: &Record) -> f64 {
    record.legs[0].runs[0].total_ms.expect("the run has ended") as f64
}

/// Prints how far the two clocks differ, over all runs.
fn clocks(records: &[Record]) {
    let mut distances: Vec<(f64, String)> = Vec::new();
    let mut sums = Vec::new();
    for record in records {
        let mut sum = 0.0;
        for phase in &record.legs[0].phases {
            let measure = &phase.samples[0].measure;
            // Both ends of a very short row may arrive in one piece, and then there is nothing to compare.
            let (Some(reported), Some(ns)) = (measure.reported_ms, measure.elapsed_ns) else { continue };
            let observed = ns as f64 / 1e6;
            distances.push(((observed - reported as f64).abs(), phase.name.clone()));
            sum += observed;
        }
        sums.push(sum / total(record));
    }
    distances.sort_by(|a, b| b.0.total_cmp(&a.0));
    let within = distances.iter().filter(|(distance, _)| *distance <= 2.0).count();
    println!("|observed - reported|: {within} of {} samples within 2 ms; the furthest:", distances.len());
    for (distance, key) in distances.iter().take(5) {
        println!("  {distance:.2} ms  {key}");
    }
    println!(
        "sum of observed / TOTAL: {:.5} to {:.5}",
        sums.iter().copied().fold(f64::INFINITY, f64::min),
        sums.iter().copied().fold(0.0, f64::max)
    );
}
