//! Turns the runs of a saved output into records.

use super::super::run::detail;
use super::super::testset::{self, TestsetList};
use super::super::{Workload, answers};
use super::context::{self, Context};
use super::inference::{self, Extent};
use super::{ImportedRun, excerpt};
use crate::record::{Answer, Engine, Flag, Imported, Leg, Measure, Plan, Record, Run};
use crate::study::{Saved, as_parameters};
use anyhow::{Result, anyhow};
use serde_json::Value;
use std::collections::BTreeMap;

/// Returns the records in a saved output; there is at least one.
///
/// # Errors
/// Names the first line that is neither safe to skip nor understood.
pub fn records(saved: &Saved) -> Result<Vec<Record>> {
    let name = saved.name;
    let runs = super::import(saved.bytes).map_err(|error| anyhow!("{name}: {error}"))?;
    let groups = group(runs);
    let records =
        groups.into_iter().map(|group| record(saved, group).map_err(|why| anyhow!("{name}: {why}")));
    let records = records.collect::<Result<Vec<Record>>>()?;
    for record in &records {
        record.check().map_err(|reason| anyhow!("{name}: {reason}"))?;
    }
    Ok(records)
}

/// Repeats of one measurement, and what stands before them.
struct Group {
    context: Context,
    runs: Vec<ImportedRun>,
}

/// Groups consecutive runs with the same heading, command, banner, steps and answers, which are repeats of one
/// measurement.
fn group(runs: Vec<ImportedRun>) -> Vec<Group> {
    let contexts = context::of(&runs);
    let mut groups: Vec<Group> = Vec::new();
    let mut last = Context::default();
    for (run, context) in runs.into_iter().zip(contexts) {
        let repeats = |group: &&mut Group| last.is_repeated_by(&context) && alike(&group.runs[0], &run);
        match groups.last_mut().filter(repeats) {
            Some(group) => group.runs.push(run),
            None => groups.push(Group { context: context.clone(), runs: vec![run] }),
        }
        last = context;
    }
    groups
}

/// Returns whether two whole runs printed the same apart from times.
fn alike(a: &ImportedRun, b: &ImportedRun) -> bool {
    let steps = |run: &ImportedRun| {
        run.output.steps.iter().map(|s| (s.key.clone(), s.name.clone())).collect::<Vec<_>>()
    };
    a.partial.is_none()
        && b.partial.is_none()
        && a.output.banner == b.output.banner
        && a.output.hash == b.output.hash
        && steps(a) == steps(b)
}

fn record(saved: &Saved, group: Group) -> Result<Record, String> {
    let runs = group.runs;
    let lines = (runs[0].lines.0, runs[runs.len() - 1].lines.1);
    let banner = runs[0].output.banner.clone();
    let version = banner.as_ref().map(|banner| banner.version.as_str());
    let extent = extent(&runs[0], version, saved.testset)?;
    let command = group.context.command.as_ref().and_then(|(line, workload)| {
        let workload = extent.confirms(workload)?;
        // The last line of a run with --verify is its hash.
        let whole = runs[0].partial.is_none();
        (!whole || workload.verify == runs[0].output.hash.is_some()).then(|| (line.clone(), workload))
    });
    let workload = command.as_ref().map(|(_, workload)| workload.clone());
    let engine = Engine {
        sqlite_version: banner.as_ref().map(|banner| banner.version.clone()),
        source_id: banner.as_ref().map(|banner| banner.source_id.clone()),
        compile_options: runs[0].output.compile_options.clone(),
        ..Engine::named("speedtest1")
    };
    let answer = answer(&runs[0], version, workload.clone().or_else(|| default_work(&extent)));
    let mut leg = Leg { answer, ..Leg::new(super::super::LEG, engine) };
    for (index, run) in runs.iter().enumerate() {
        add(&mut leg, index as u32 + 1, run);
    }
    let parameters =
        workload.map_or_else(|| parameters(&extent, &runs[0]), |workload| as_parameters(&workload));
    let record = Record::beginning("speedtest1", parameters, Plan::of_runs(runs.len() as u32));
    Ok(Record {
        imported: Some(Imported {
            file: saved.name.to_string(),
            first_line: lines.0,
            last_line: lines.1,
            heading: group.context.title().map(|title| excerpt(title)),
            command: command.map(|(line, _)| line),
            stated: saved.stated.clone(),
        }),
        finished: Some(record.started),
        partial: runs.iter().find_map(|run| run.partial.clone()),
        legs: vec![leg],
        ..record
    })
}

/// Returns what is known of the size and the testsets of a run, from its rows and from what the user states.
fn extent(run: &ImportedRun, version: Option<&str>, stated: Option<&str>) -> Result<Extent, String> {
    let mut extent = inference::extent(&run.output.steps, version);
    let ended = run.output.total_ms.is_some() || run.output.hash.is_some();
    // What is cut in its first testset may be one of a list, unless the tool announced it, which it does for the
    // first testset only if there is no other.
    let alone = run.announced && version == Some(testset::STEPS_OF);
    let is_all = ended || alone && extent.names.len() == 1;
    extent.testset = extent.testset.filter(|_| is_all);
    let Some(stated) = stated else { return Ok(extent) };
    let list: TestsetList = stated.parse().map_err(|reason| format!("--testset {stated}: {reason}"))?;
    extent.state(list, ended).ok_or_else(|| {
        format!("--testset {stated}: the rows are of {}, which does not fit", extent.names.join(", "))
    })
}

/// Returns the work with these testsets and default options.
fn default_work(extent: &Extent) -> Option<Workload> {
    let (size, testset) = (extent.size?, extent.testset.clone()?);
    Some(Workload { size, testset, ..Workload::default() })
}

/// Returns the parameters that the output itself gives away.
fn parameters(extent: &Extent, run: &ImportedRun) -> BTreeMap<String, Value> {
    let hash = run.output.hash.is_some();
    let verify = (hash || run.partial.is_none()).then_some(hash);
    let known = [
        ("size", extent.size.map(Value::from)),
        ("testset", extent.testset.as_ref().map(|list| list.to_string().into())),
        ("verify", verify.map(Value::from)),
    ];
    known.into_iter().filter_map(|(name, value)| Some((name.to_string(), value?))).collect()
}

fn add(leg: &mut Leg, number: u32, run: &ImportedRun) {
    for row in &run.output.steps {
        let measure = Measure { reported_ms: Some(row.reported_ms), ..Measure::default() };
        leg.add(number, &row.key.to_string(), Some(&row.name), measure);
    }
    leg.runs.push(Run {
        number,
        flags: flags(run),
        total_ms: run.output.total_ms,
        output: run.text.clone(),
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
    if let Some((lines, first)) = run.foreign.clone() {
        flags.push(Flag::ForeignLines { lines, first });
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

/// Judges the hash of a saved `--verify` run; without `workload` the right answer is not known.
fn answer(run: &ImportedRun, version: Option<&str>, workload: Option<Workload>) -> Answer {
    match (&run.output.hash, workload) {
        (None, _) => Answer::NotChecked { reason: "the output has no verification hash".to_string() },
        (Some(hash), Some(workload)) => answers::judge(version, &workload, hash),
        (Some(hash), None) => Answer::Unknown { found: hash.to_string() },
    }
}
