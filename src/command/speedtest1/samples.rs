//! From what a run returned to what the record holds.

use super::request::{Request, directory};
use crate::command::recording::{self, Beginning};
use crate::driver::native::{self, BUILD, NativeRun};
use crate::environment::noise;
use crate::record::{self, Answer, BuildFacts, Engine, Leg, Record, Resources, Run, Sample, Step};
use crate::suite::speedtest1::{Database, StepRow};
use std::collections::BTreeMap;

/// `reported` counts whole milliseconds and `observed` passes through a terminal and a scheduler.
const DISAGREEMENT_MS: f64 = 5.0;

/// Adds the run and its samples to the record.
pub fn keep(leg: &mut Leg, number: u32, warmup: bool, run: &NativeRun, noise: noise::Interval) {
    if let (None, Some(banner)) = (&leg.engine.source_id, &run.output.banner) {
        leg.engine.source_id = Some(banner.source_id.clone());
    }
    for (row, span) in run.output.steps.iter().zip(&run.spans) {
        let observed_ns = span.ended.map(|ended| (ended - span.started).as_nanos() as u64);
        let sample = Sample { run: number, reported_ms: row.reported_ms, observed_ns };
        match leg.steps.iter_mut().find(|step| step.key == row.key) {
            Some(step) => step.samples.push(sample),
            None => {
                leg.steps.push(Step { key: row.key.clone(), name: row.name.clone(), samples: vec![sample] })
            }
        }
    }
    leg.runs.push(Run {
        number,
        warmup,
        rejected: run.failure.clone(),
        flags: flags(run, &leg.answer),
        total_ms: run.output.total_ms,
        wall_ns: Some(run.wall.as_nanos() as u64),
        resources: Some(Resources {
            user_us: run.usage.user_us,
            system_us: run.usage.system_us,
            peak_memory_bytes: run.peak_memory,
            voluntary_switches: Some(run.usage.voluntary_switches),
            involuntary_switches: Some(run.usage.involuntary_switches),
            major_faults: Some(run.usage.major_faults),
        }),
        noise: Some(noise),
        statistics: statistics(run),
        work: None,
    });
}

fn statistics(run: &NativeRun) -> BTreeMap<String, String> {
    let mut all: BTreeMap<String, String> = run.output.statistics.iter().cloned().collect();
    if !run.output.compile_options.is_empty() {
        all.insert("Compile options".to_string(), run.output.compile_options.join(" "));
    }
    all
}

/// What a reader should know of a run that counts all the same.
fn flags(run: &NativeRun, answer: &Answer) -> Vec<String> {
    let mut flags = Vec::new();
    let off = |(row, span): (&StepRow, &native::Span)| {
        let observed = (span.ended? - span.started).as_secs_f64() * 1000.0;
        let difference = observed - row.reported_ms as f64;
        (difference.abs() > DISAGREEMENT_MS)
            .then(|| format!("{}: {} ms reported, {observed:.1} ms observed", row.key, row.reported_ms))
    };
    let disagreements: Vec<String> = run.output.steps.iter().zip(&run.spans).filter_map(off).collect();
    if !disagreements.is_empty() {
        flags.push(format!("clocks disagree: {}", disagreements.join("; ")));
    }
    if let (Some(hash), Answer::Right(expected) | Answer::Unknown(expected)) = (&run.output.hash, answer) {
        let found = format!("{} {}", hash.bytes, hash.hash);
        if found != *expected {
            flags.push(format!("answers differ from the first run's: verification hash {found}"));
        }
    }
    if let Some(line) = run.stderr.lines().next().filter(|_| run.failure.is_none()) {
        flags.push(format!("wrote to standard error: {line}"));
    }
    flags
}

/// The record of a measurement that is about to begin.
pub fn new_record(request: &Request) -> Record {
    let directory = directory(&request.place);
    let on_disk = request.workload.database != Database::Memory;
    let beginning = Beginning {
        suite: "speedtest1",
        parameters: recording::parameters(&request.workload),
        plan: record::Plan {
            warmup: request.plan.warmup,
            runs: request.plan.runs,
            until: request.plan.until,
            max_runs: request.plan.max_runs,
            cooldown_ms: request.plan.cooldown.as_millis() as u64,
            cpu: request.cpu,
        },
        folder: on_disk.then_some(directory.as_path()),
        host_name: request.host_name,
    };
    let answer = Answer::NotChecked("the check was left out".to_string());
    Record { legs: vec![Leg { answer, ..Leg::new("native", engine()) }], ..beginning.record() }
}

fn engine() -> Engine {
    Engine {
        name: "speedtest1".to_string(),
        sqlite_version: Some(BUILD.sqlite_version.to_string()),
        source_id: Some(BUILD.source_id.to_string()),
        build: Some(BuildFacts {
            pinned: BUILD.pinned,
            origin: BUILD.origin.to_string(),
            sources: BUILD.sources.iter().map(|(name, hash)| (name.to_string(), hash.to_string())).collect(),
            command: BUILD.command.to_string(),
            compiler: BUILD.compiler_version.to_string(),
            executable: BUILD.sha256.to_string(),
        }),
        compile_options: Vec::new(),
    }
}
