//! Turns the runs of a saved output into records.

use super::super::run::detail;
use super::super::{Workload, answers, testset};
use super::ImportedRun;
use crate::record::{Answer, Engine, Flag, Imported, Leg, Measure, Plan, Record, Run};
use anyhow::{Result, anyhow};

/// Returns the records in the saved output `name`; there is at least one.
///
/// # Errors
/// Names the first line that is neither safe to skip nor understood.
pub fn records(name: &str, bytes: &[u8]) -> Result<Vec<Record>> {
    let runs = super::import(bytes).map_err(|error| anyhow!("{name}: {error}"))?;
    let records: Vec<Record> = group(runs).into_iter().map(|runs| record(name, runs)).collect();
    for record in &records {
        record.check().map_err(|reason| anyhow!("{name}: {reason}"))?;
    }
    Ok(records)
}

/// Groups consecutive runs with the same banner, steps and answers, which are repeats of one measurement.
fn group(runs: Vec<ImportedRun>) -> Vec<Vec<ImportedRun>> {
    let same = |a: &ImportedRun, b: &ImportedRun| {
        let steps = |run: &ImportedRun| {
            run.output.steps.iter().map(|s| (s.key.clone(), s.name.clone())).collect::<Vec<_>>()
        };
        a.partial.is_none()
            && b.partial.is_none()
            && a.output.banner == b.output.banner
            && a.output.hash == b.output.hash
            && steps(a) == steps(b)
    };
    let mut groups: Vec<Vec<ImportedRun>> = Vec::new();
    for run in runs {
        match groups.last_mut().filter(|group| same(&group[0], &run)) {
            Some(group) => group.push(run),
            None => groups.push(vec![run]),
        }
    }
    groups
}

fn record(file: &str, runs: Vec<ImportedRun>) -> Record {
    let lines = (runs[0].lines.0, runs[runs.len() - 1].lines.1);
    let banner = runs[0].output.banner.clone();
    let size = size(&runs[0]);
    let engine = Engine {
        sqlite_version: banner.as_ref().map(|banner| banner.version.clone()),
        source_id: banner.as_ref().map(|banner| banner.source_id.clone()),
        compile_options: runs[0].output.compile_options.clone(),
        ..Engine::named("speedtest1")
    };
    let mut leg = Leg { answer: answer(&runs[0], size), ..Leg::new(super::super::LEG, engine) };
    for (index, run) in runs.iter().enumerate() {
        add(&mut leg, index as u32 + 1, run);
    }
    let parameters = size.map(|size| ("size".to_string(), size.into())).into_iter().collect();
    let record = Record::beginning("speedtest1", parameters, Plan::of_runs(runs.len() as u32));
    Record {
        imported: Some(Imported { file: file.to_string(), first_line: lines.0, last_line: lines.1 }),
        finished: Some(record.started),
        partial: runs.iter().find_map(|run| run.partial.clone()),
        legs: vec![leg],
        ..record
    }
}

/// Returns the `--size` derived from the first step of `main`. In a list other than the default each testset
/// may have its own scale, which the output does not show.
fn size(run: &ImportedRun) -> Option<u32> {
    let list = Workload::default().testset.names();
    let first = run.output.steps.first().filter(|_| list.starts_with(&testsets(run)))?;
    testset::size_of_main(&first.name)
}

fn testsets(run: &ImportedRun) -> Vec<String> {
    let mut testsets: Vec<String> = run.output.steps.iter().map(|step| step.key.testset.clone()).collect();
    testsets.dedup();
    testsets
}

fn add(leg: &mut Leg, number: u32, run: &ImportedRun) {
    for row in &run.output.steps {
        let measure = Measure { reported_ms: Some(row.reported_ms), ..Measure::default() };
        leg.add(number, &row.key.to_string(), Some(&row.name), measure);
    }
    leg.runs.push(Run {
        number,
        rejected: run.partial.clone(),
        flags: flags(run),
        total_ms: run.output.total_ms,
        detail: detail(&run.output),
        ..Run::default()
    });
}

/// Returns what a reader should know about a run beyond its times.
fn flags(run: &ImportedRun) -> Vec<Flag> {
    let mut flags = Vec::new();
    if run.unpadded {
        flags.push(Flag::UnpaddedTimes);
    }
    let steps: Vec<_> = run.output.steps.iter().map(|step| step.key.clone()).collect();
    let version = run.output.banner.as_ref().map(|banner| banner.version.as_str());
    if run.partial.is_none() && version == Some(testset::STEPS_OF) {
        let rows: Vec<String> = testset::missing_steps(&steps).iter().map(ToString::to_string).collect();
        if !rows.is_empty() {
            flags.push(Flag::MissingRows { version: testset::STEPS_OF.to_string(), rows });
        }
    }
    flags
}

/// Judges the hash of a saved `--verify` run if it ran the default testsets.
fn answer(run: &ImportedRun, size: Option<u32>) -> Answer {
    let Some(hash) = &run.output.hash else {
        return Answer::NotChecked { reason: "the output has no verification hash".to_string() };
    };
    let found = hash.to_string();
    let is_default = testsets(run) == Workload::default().testset.names();
    let known = size.zip(run.output.banner.as_ref()).filter(|_| is_default).and_then(|(size, banner)| {
        answers::known(&banner.version, &Workload { size, ..Workload::default() })
    });
    match known.map(|known| known.to_string()) {
        Some(expected) if expected == found => Answer::Right { found },
        // Options that change the results leave no trace in the output, so a different hash need not be
        // wrong.
        _ => Answer::Unknown { found },
    }
}
