//! `repro run serverless`: the 15 steps, leg by leg in turn.

mod request;
mod samples;

pub use request::Request;

use super::recording::{Measured, Recording};
use super::{CannotMeasure, Exit, output};
use crate::cli::ServerlessArgs;
use crate::driver::serverless::{self, LegRun, Setting};
use crate::environment::noise;
use crate::measure::Progress;
use crate::record::Run;
use crate::record::store::Destination;
use crate::suite::measure::Exchange;
use crate::suite::serverless::{Leg, STEPS, Step, work};
use anyhow::Result;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Measures, shows and keeps.
pub fn run(args: &ServerlessArgs, interrupted: &Arc<AtomicBool>) -> Result<Exit> {
    output::check_all(&args.output)?;
    let request = Request::new(args, interrupted)?;
    measure(&request, &output::destination(&args.output)?)?.publish(&args.output.formats)
}

/// Measures each leg, run by run in turn, so that a drift of the machine meets all of them alike.
///
/// # Errors
/// What kept it from beginning.
pub fn measure(request: &Request, destination: &Destination) -> Result<Measured> {
    let recording = Recording::begin(samples::new_record(request), destination)?;
    let mut session = Session {
        request,
        setting: request.setting(),
        work: work(&request.parameters),
        recording,
        progress: Progress::new(request.quiet),
    };
    let result = session.carry_out();
    session.progress.clear();
    Ok(session.recording.finish(result))
}

struct Session<'a> {
    request: &'a Request,
    setting: Setting,
    work: Vec<Step>,
    recording: Recording,
    progress: Progress,
}

impl Session<'_> {
    fn carry_out(&mut self) -> Result<()> {
        let all = self.request.warmup + self.request.runs;
        for number in 1..=all {
            let mut held: Vec<Exchange> = Vec::new();
            for &leg in &self.request.legs {
                let label = format!("run {number} of {all} · {}", leg.name());
                self.progress.run_begins(label, 0);
                let before = noise::Snapshot::take();
                let progress = &mut self.progress;
                let run = serverless::run(leg, &self.setting, &self.work, &held, &mut |step| {
                    let title = STEPS.iter().find(|(name, _)| *name == step).map_or("", |(_, title)| title);
                    progress.step_begins(step, title);
                });
                if leg == Leg::SqldHeld {
                    held = run.steps.iter().filter_map(|(_, measure)| measure.exchange).collect();
                }
                self.keep(number, leg, run, noise::Interval::between(&before, &noise::Snapshot::take()))?;
            }
        }
        Ok(())
    }

    /// Adds the run to the record; one that failed, or did other work than its neighbours, ends the measurement.
    fn keep(&mut self, number: u32, leg: Leg, run: LegRun, noise: noise::Interval) -> Result<()> {
        let failure = run.failure.clone().or_else(|| self.other_work(number, leg, &run));
        let log = run.log.clone();
        let kept = Run {
            number,
            warmup: number <= self.request.warmup,
            rejected: failure.clone(),
            flags: Vec::new(),
            total_ms: None,
            wall_ns: Some(run.wall.as_nanos() as u64),
            resources: run.server.map(samples::resources),
            noise: Some(noise),
            statistics: Default::default(),
            work: run.work.clone(),
        };
        samples::keep(&mut self.recording.record, self.request, leg, run, kept);
        self.recording.save()?;
        let Some(failure) = failure else { return Ok(()) };
        let kept = log.filter(|log| !log.is_empty()).map_or(String::new(), |log| self.keep_log(&log));
        Err(CannotMeasure(format!("{}: {failure}{kept}", leg.name())).into())
    }

    /// The legs of one run must have run the same SQL with the same arguments.
    fn other_work(&self, number: u32, leg: Leg, run: &LegRun) -> Option<String> {
        let own = run.work.as_ref()?;
        let runs =
            self.recording.record.legs.iter().flat_map(|leg| leg.runs.iter().map(move |run| (leg, run)));
        let mut others =
            runs.filter(|(_, run)| run.number == number).filter_map(|(l, r)| Some((l, r.work.as_ref()?)));
        let (other, hash) = others.find(|(_, hash)| *hash != own)?;
        Some(format!("void: {} ran other statements ({own}) than {} ({hash})", leg.name(), other.name))
    }

    /// Beside the record, or in the folder for temporary files; says where.
    fn keep_log(&self, log: &str) -> String {
        let (folder, name) = match self.recording.path() {
            Some(record) => (record.with_file_name(""), record.file_stem().unwrap_or_default().to_owned()),
            None => (std::env::temp_dir(), format!("repro-{}", std::process::id()).into()),
        };
        match write_new(&folder, &name.to_string_lossy(), log) {
            Ok(path) => format!("; what the server wrote is in {}", path.display()),
            Err(error) => format!("; what the server wrote is lost: {}: {error}", folder.display()),
        }
    }
}

/// Writes NAME.sqld.log, or NAME-2.sqld.log where that exists already, and so on.
fn write_new(folder: &Path, name: &str, log: &str) -> std::io::Result<PathBuf> {
    let mut path = folder.join(format!("{name}.sqld.log"));
    for number in 2.. {
        match std::fs::File::create_new(&path) {
            Ok(mut file) => return file.write_all(log.as_bytes()).map(|()| path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                path = folder.join(format!("{name}-{number}.sqld.log"));
            }
            Err(error) => return Err(error),
        }
    }
    unreachable!("there are more numbers than files")
}
