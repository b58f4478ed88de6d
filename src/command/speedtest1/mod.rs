//! Measures speedtest1: joins suite, driver and plan, and writes down what happened as it happens.

mod request;
mod samples;

pub use request::Request;

use super::recording::{Measured, Recording};
use super::{CannotMeasure, folders};
use crate::driver::native::{self, BUILD, NativeRun, Setting};
use crate::driver::process::{self, Ending};
use crate::driver::variant;
use crate::environment::noise;
use crate::measure::{Next, Progress};
use crate::record::store::Destination;
use crate::record::{Answer, Leg, Probe};
use crate::suite::speedtest1::{Workload, answers};
use anyhow::{Context, Result};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A build of the tool without the R-tree, for the claim about it.
pub const WITHOUT_RTREE: &str = "without-rtree";
const WITHOUT_RTREE_FLAGS: &[&str] = &["-O3"];
/// The publication tried it three times.
const PROBE_RUNS: usize = 3;
/// Runs in which the wall clock was stepped are repeated, but not for ever.
const MOST_REJECTIONS: usize = 3;

/// Measures what `request` says. From the beginning to the end there is a record in `destination`, of what
/// there is so far.
///
/// # Errors
/// What kept it from beginning; then nothing is left behind.
pub fn measure(request: &Request, destination: &Destination) -> Result<Measured> {
    let cache = folders::cache()?;
    let tool = native::unpack(&cache)?;
    let launcher = process::own_path().context("/proc/self/exe can't be read; is /proc mounted?")?;
    let recording = Recording::begin(samples::new_record(request), destination)?;
    let mut session = Session {
        request,
        recording,
        setting: Setting {
            tool: &tool,
            launcher: &launcher,
            database: request.place.database.as_deref(),
            temporary: request.place.temp_dir.as_deref(),
            cpu: request.cpu,
            deadline: request.deadline,
        },
        progress: Progress::new(request.quiet),
    };
    let result = session.carry_out(&cache);
    session.progress.clear();
    if !request.place.keep_database {
        for file in request.place.database.iter().flat_map(|path| request::database_files(path)) {
            let _ = std::fs::remove_file(file);
        }
    }
    Ok(session.recording.finish(result))
}

struct Session<'a> {
    request: &'a Request<'a>,
    recording: Recording,
    setting: Setting<'a>,
    progress: Progress,
}

impl Session<'_> {
    fn leg(&mut self) -> &mut Leg {
        &mut self.recording.record.legs[0]
    }

    fn carry_out(&mut self, cache: &Path) -> Result<()> {
        if self.request.check_answer {
            self.check_answer()?;
        }
        if self.request.variants {
            self.probe_variants(cache)?;
        }
        loop {
            let leg = &self.recording.record.legs[0];
            let warmups = leg.runs.iter().filter(|run| run.warmup).count() as u32;
            match self.request.plan.next(warmups, &leg.totals(), leg.total_error()) {
                Next::Done => return Ok(()),
                next => self.run(next == Next::WarmUp)?,
            }
            self.recording.save()?;
        }
    }

    /// One untimed run with `--verify`, whose hash says whether this build computes the right results.
    fn check_answer(&mut self) -> Result<()> {
        self.progress.stage("checking the answers: one untimed run with --verify");
        let workload = Workload { verify: true, stats: false, ..self.request.workload.clone() };
        let run = native::run(&self.setting, &workload, self.request.interrupted, &mut |_, _| {})?;
        if let Some(failure) = run.failure {
            return Err(CannotMeasure(format!("the answer check failed: {failure}")).into());
        }
        let Some(found) = run.output.hash else {
            return Err(CannotMeasure("the answer check printed no verification hash".to_string()).into());
        };
        if found.bytes == 0 {
            let reason =
                format!("the testsets {} put no results into the hash", self.request.workload.testset);
            self.leg().answer = Answer::NotChecked(reason);
            return self.recording.save();
        }
        let found = format!("{} {}", found.bytes, found.hash);
        let expected = answers::known(BUILD.sqlite_version, &self.request.workload)
            .map(|known| format!("{} {}", known.bytes, known.hash));
        self.leg().answer = match expected {
            Some(expected) if expected == found => Answer::Right(found),
            None => Answer::Unknown(found),
            Some(expected) => {
                let message = format!(
                    "wrong answers: verification hash {found}, expected {expected}; nothing was timed"
                );
                self.leg().answer = Answer::Wrong { found, expected };
                return Err(CannotMeasure(message).into());
            }
        };
        self.recording.save()
    }

    fn probe_variants(&mut self, cache: &Path) -> Result<()> {
        self.progress.stage("compiling speedtest1 without SQLITE_ENABLE_RTREE");
        let tool = variant::build(WITHOUT_RTREE_FLAGS, cache)?;
        let setting = Setting { tool: &tool, database: None, ..self.setting };
        let mut probe = Probe {
            name: WITHOUT_RTREE.to_string(),
            command: String::new(),
            completed: Vec::new(),
            stopped_in: Vec::new(),
            message: String::new(),
        };
        for _ in 0..PROBE_RUNS {
            let result = variant::probe(WITHOUT_RTREE_FLAGS, &setting, self.request.interrupted)?;
            probe.command = result.command;
            probe.message = result.message;
            probe.completed.push(result.completed);
            probe.stopped_in.push(result.stopped_in);
        }
        self.recording.record.probes.push(probe);
        self.recording.save()
    }

    fn run(&mut self, warmup: bool) -> Result<()> {
        let runs = &self.recording.record.legs[0].runs;
        let number = runs.len() as u32 + 1;
        if number > 1 {
            self.cool_down()?;
        }
        let rest =
            self.request.plan.runs.saturating_sub(self.recording.record.legs[0].counted().len() as u32);
        let (label, after) = match warmup {
            true => ("warm-up".to_string(), rest),
            false => {
                let done = self.recording.record.legs[0].counted().len() as u32 + 1;
                let of = if self.request.plan.until.is_some() { "at least " } else { "" };
                (format!("run {done} of {of}{}", self.request.plan.runs.max(done)), rest.saturating_sub(1))
            }
        };
        self.progress.run_begins(label, after);
        let before = noise::Snapshot::take();
        let progress = &mut self.progress;
        let run = native::run(
            &self.setting,
            &self.request.workload,
            self.request.interrupted,
            &mut |key, name| {
                progress.step_begins(&key.to_string(), name);
            },
        )?;
        let interval = noise::Interval::between(&before, &noise::Snapshot::take());
        self.progress.run_ends();
        samples::keep(self.leg(), number, warmup, &run, interval);
        self.judge(run)
    }

    /// A run that ended otherwise than well ends the measurement, except when only the clock was stepped.
    fn judge(&self, run: NativeRun) -> Result<()> {
        let Some(failure) = run.failure else { return Ok(()) };
        let rejections =
            self.recording.record.legs[0].runs.iter().filter(|run| run.rejected.is_some()).count();
        let stepped =
            run.ending == Ending::Exited(0) && run.output.steps.iter().any(|step| step.reported_ms < 0);
        if stepped && rejections <= MOST_REJECTIONS {
            return Ok(());
        }
        Err(CannotMeasure(failure).into())
    }

    fn cool_down(&self) -> Result<()> {
        let until = Instant::now() + self.request.plan.cooldown;
        while Instant::now() < until {
            if self.request.interrupted.load(Ordering::Relaxed) {
                return Err(CannotMeasure("interrupted between two runs".to_string()).into());
            }
            std::thread::sleep(Duration::from_millis(50).min(self.request.plan.cooldown));
        }
        Ok(())
    }
}
