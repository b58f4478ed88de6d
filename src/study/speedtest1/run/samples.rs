//! Converts the result of a run to the form in which a record holds it.

use super::super::{BUILD, LEG, RunOutput, StepRow};
use super::Measurement;
use super::tool::{Span, ToolRun};
use crate::figure::{FigureKey, Figures, Values, WHOLE};
use crate::machine::noise;
use crate::record::{
    self, Answer, BuildFacts, ClockGap, Engine, Flag, Leg, Measure, Plan, Record, Resources, Run,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The largest difference in ms between the two times of a row: `reported` counts whole milliseconds, and
/// `observed` passes through a terminal and a scheduler.
const DISAGREEMENT_MS: f64 = 5.0;

/// What only this tool reports about a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Detail {
    /// The lines of `--stats` by name.
    pub statistics: BTreeMap<String, String>,
}

/// Returns what the tool reported about a run beyond its rows, or `None` if there is nothing.
pub fn detail(output: &RunOutput) -> Option<record::Detail> {
    let statistics: BTreeMap<String, String> = output.statistics.iter().cloned().collect();
    record::Detail::of(&Detail { statistics }).filter(|_| !output.statistics.is_empty())
}

/// Returns TOTAL of each counted run so far.
pub fn totals(record: &Record) -> Option<Values> {
    Figures::new(&super::super::SHAPE, record).cited(&FigureKey::row(WHOLE))
}

/// Adds the run and its samples to the leg.
pub fn keep(leg: &mut Leg, number: u32, warmup: bool, run: &ToolRun, noise: noise::Activity) {
    if let (None, Some(banner)) = (&leg.engine.source_id, &run.output.banner) {
        leg.engine.source_id = Some(banner.source_id.clone());
    }
    if leg.engine.compile_options.is_empty() {
        leg.engine.compile_options = run.output.compile_options.clone();
    }
    for (row, span) in run.output.steps.iter().zip(&run.spans) {
        let measure = Measure {
            reported_ms: Some(row.reported_ms),
            elapsed_ns: span.ended.map(|ended| (ended - span.started).as_nanos() as u64),
            ..Measure::default()
        };
        leg.add(number, &row.key.to_string(), Some(&row.name), measure);
    }
    leg.runs.push(Run {
        number,
        session: 1,
        warmup,
        rejected: run.failure.clone(),
        flags: flags(run, &leg.answer),
        total_ms: run.output.total_ms,
        wall_ns: Some(run.wall.as_nanos() as u64),
        resources: Some(Resources { peak_memory_bytes: run.peak_memory, ..run.usage.resources() }),
        noise: Some(noise),
        work: None,
        output: Some(run.stdout.clone()),
        detail: detail(&run.output),
    });
}

/// Returns what a reader should know about a run that counts nevertheless.
fn flags(run: &ToolRun, answer: &Answer) -> Vec<Flag> {
    let mut flags = Vec::new();
    let rows: Vec<ClockGap> = run.output.steps.iter().zip(&run.spans).filter_map(gap).collect();
    if !rows.is_empty() {
        flags.push(Flag::ClocksDisagree { rows });
    }
    let first = match answer {
        Answer::Right { found } | Answer::Unknown { found } => Some(found),
        Answer::Wrong { .. } | Answer::NotChecked { .. } => None,
    };
    let differs = |found: &String| first.is_some_and(|first| first != found);
    if let Some(found) = run.output.hash.as_ref().map(ToString::to_string).filter(differs) {
        flags.push(Flag::AnswersDiffer { found });
    }
    if let Some(line) = run.stderr.lines().next().filter(|_| run.failure.is_none()) {
        flags.push(Flag::StandardError { line: line.to_string() });
    }
    flags
}

/// Returns the two times of a row if they are further apart than [`DISAGREEMENT_MS`].
fn gap((row, span): (&StepRow, &Span)) -> Option<ClockGap> {
    let observed = span.ended? - span.started;
    let off = observed.as_secs_f64() * 1000.0 - row.reported_ms as f64;
    (off.abs() > DISAGREEMENT_MS).then(|| ClockGap {
        phase: row.key.to_string(),
        reported_ms: row.reported_ms,
        observed_ns: observed.as_nanos() as u64,
    })
}

/// Returns the record of a measurement that is about to begin.
pub fn new_record(measurement: &Measurement) -> Record {
    let plan = Plan {
        warmup: measurement.plan.warmup,
        runs: measurement.plan.runs,
        until: measurement.plan.until,
        max_runs: measurement.plan.max_runs,
        cooldown_ms: measurement.plan.cooldown.as_millis() as u64,
        cpu: measurement.cpu,
    };
    let parameters = crate::study::as_parameters(&measurement.workload);
    let answer = Answer::NotChecked { reason: "the check was skipped".to_string() };
    let leg = Leg { answer, ..Leg::new(LEG, engine()) };
    Record { legs: vec![leg], ..Record::beginning("speedtest1", parameters, plan) }
}

fn engine() -> Engine {
    Engine {
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
        ..Engine::named("speedtest1")
    }
}
