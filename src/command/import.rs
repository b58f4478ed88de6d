//! `repro import`.

use super::{Exit, folders, output, recording};
use crate::cli::ImportArgs;
use crate::record::store::Target;
use crate::record::{Answer, Engine, Leg, Origin, Plan, Record, Run, Sample, Step};
use crate::report;
use crate::suite::speedtest1::import::{self, ImportedRun};
use crate::suite::speedtest1::{Workload, answers, testset};
use anyhow::{Context, Result, anyhow, bail};
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// A saved output larger than this is refused.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Reads a saved output, shows what is in it, and keeps it.
pub fn run(args: &ImportArgs) -> Result<Exit> {
    let name =
        if args.file.as_os_str() == "-" { "standard input".into() } else { args.file.display().to_string() };
    let bytes = read(&args.file).with_context(|| format!("{name}: can't be read"))?;
    if bytes.len() as u64 > LARGEST {
        bail!("{name}: larger than {LARGEST} bytes; cut out the runs");
    }
    let runs = import::import(&bytes).map_err(|error| anyhow!("{name}: {error}"))?;
    let records: Vec<Record> = group(runs).into_iter().map(|runs| record(&name, runs)).collect();
    for record in &records {
        record.check().map_err(|reason| anyhow!("{name}: {reason}"))?;
    }
    let targets = targets(args, records.len())?;
    for record in &records {
        output::print(&report::table::terminal(&report::record::tables(record)))?;
    }
    for (target, record) in targets.iter().zip(&records) {
        target.save(record)?;
        eprintln!("record: {}", target.path().display());
    }
    Ok(Exit::Fine)
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match path.as_os_str() == "-" {
        true => std::io::stdin().take(LARGEST + 1).read_to_end(&mut bytes)?,
        false => std::fs::File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?,
    };
    Ok(bytes)
}

/// A file for each record, or none at all if one of them can't be had.
fn targets(args: &ImportArgs, count: usize) -> Result<Vec<Target>> {
    let mut targets = Vec::new();
    for index in 0..if args.no_record { 0 } else { count } {
        match target(args, index, count) {
            Ok(target) => targets.push(target),
            Err(error) => {
                targets.iter().for_each(Target::discard);
                return Err(error);
            }
        }
    }
    Ok(targets)
}

fn target(args: &ImportArgs, index: usize, of: usize) -> Result<Target> {
    match &args.record {
        Some(path) if of == 1 => Target::at(path, args.force),
        Some(folder) => {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("{}: can't make this folder", folder.display()))?;
            Target::at(&folder.join(format!("{}.json", index + 1)), args.force)
        }
        None => Target::in_folder(&folders::records()?, "speedtest1-imported", Timestamp::now()),
    }
}

/// Runs that follow each other with the same banner, steps and answers are repeats of one measurement.
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
    let mut leg = Leg {
        name: "native".to_string(),
        engine: Engine {
            name: "speedtest1".to_string(),
            sqlite_version: banner.as_ref().map(|banner| banner.version.clone()),
            source_id: banner.as_ref().map(|banner| banner.source_id.clone()),
            build: None,
            compile_options: runs[0].output.compile_options.clone(),
        },
        answer: answer(&runs[0], size),
        runs: Vec::new(),
        steps: Vec::new(),
        phases: Vec::new(),
        settings: BTreeMap::new(),
        memory: None,
    };
    for (index, run) in runs.iter().enumerate() {
        add(&mut leg, index as u32 + 1, run);
    }
    let now = Timestamp::now();
    Record {
        suite: "speedtest1".to_string(),
        program: recording::program(),
        origin: Origin::Imported { file: file.to_string(), lines },
        started: now,
        finished: Some(now),
        partial: runs.iter().find_map(|run| run.partial.clone()),
        parameters: size.map(|size| ("size".to_string(), size.into())).into_iter().collect(),
        plan: Plan { runs: runs.len() as u32, max_runs: runs.len() as u32, ..Plan::default() },
        host: None,
        before: None,
        after: None,
        storage: None,
        legs: vec![leg],
        probes: Vec::new(),
    }
}

/// `--size`, as the first step of `main` tells it. In a list of one's own each testset may have a scale of
/// its own, which the output does not say.
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
    // All runs of a group have the same steps in the same order.
    for (index, row) in run.output.steps.iter().enumerate() {
        let sample = Sample { run: number, reported_ms: row.reported_ms, observed_ns: None };
        match leg.steps.get_mut(index) {
            Some(step) => step.samples.push(sample),
            None => {
                leg.steps.push(Step { key: row.key.clone(), name: row.name.clone(), samples: vec![sample] })
            }
        }
    }
    leg.runs.push(Run {
        number,
        warmup: false,
        rejected: run.partial.clone(),
        flags: flags(run),
        total_ms: run.output.total_ms,
        wall_ns: None,
        resources: None,
        noise: None,
        statistics: run.output.statistics.iter().cloned().collect::<BTreeMap<_, _>>(),
        work: None,
    });
}

/// What a reader should know of a run beyond its times.
fn flags(run: &ImportedRun) -> Vec<String> {
    let mut flags = Vec::new();
    if run.unpadded {
        flags.push("times were printed without zero padding; TOTAL confirms the reading".to_string());
    }
    let steps: Vec<_> = run.output.steps.iter().map(|step| step.key.clone()).collect();
    let version = run.output.banner.as_ref().map(|banner| banner.version.as_str());
    if run.partial.is_none() && version == Some(testset::STEPS_OF) {
        let missing: Vec<String> = testset::missing_steps(&steps).iter().map(ToString::to_string).collect();
        if !missing.is_empty() {
            flags.push(format!(
                "speedtest1 of {} has steps that are missing here, removed or never run: {}",
                testset::STEPS_OF,
                missing.join(", ")
            ));
        }
    }
    flags
}

/// Judges the hash of a saved `--verify` run, if it is of the default testsets.
fn answer(run: &ImportedRun, size: Option<u32>) -> Answer {
    let Some(hash) = &run.output.hash else {
        return Answer::NotChecked("the output has no verification hash".to_string());
    };
    let found = format!("{} {}", hash.bytes, hash.hash);
    let is_default = testsets(run) == Workload::default().testset.names();
    let known = size.zip(run.output.banner.as_ref()).filter(|_| is_default).and_then(|(size, banner)| {
        answers::known(&banner.version, &Workload { size, ..Workload::default() })
    });
    match known.map(|known| format!("{} {}", known.bytes, known.hash)) {
        Some(expected) if expected == found => Answer::Right(found),
        // Options that change the results leave no trace in the output, so another hash is not yet a wrong one.
        _ => Answer::Unknown(found),
    }
}
