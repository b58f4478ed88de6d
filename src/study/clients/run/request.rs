//! What is to be measured, checked against the machine before anything is written.

use super::super::args::{LimitArgs, MillionOptions, Plan, SweepOptions, Until};
use super::super::{MILLION, SWEEP};
use super::Measurement;
use crate::figure::{Parameters, Shape};
use crate::instrument::cgroup::{Limits, MemoryGroup};
use crate::instrument::folders;
use crate::machine::disk;
use crate::record::{Cause, Failure};
use crate::study::options::ServerArgs;
use crate::study::{Setting, as_parameters, server};
use anyhow::{Result, anyhow, bail};
use std::sync::Arc;
use std::time::Duration;

/// An upper bound for the bytes that a level leaves on the disk per second: 24 MB of log were measured.
const BYTES_PER_SECOND: u64 = 30 << 20;

impl Measurement {
    /// Prepares a sweep.
    ///
    /// # Errors
    /// Names the option that can't be satisfied, and says what to do.
    pub fn sweep(options: SweepOptions, setting: &Setting) -> Result<Measurement> {
        let SweepOptions { parameters, repeat, server, limits } = options;
        parameters.check().map_err(|reason| anyhow!("--{reason}"))?;
        let mut plan = parameters.plan();
        plan.fresh_server |= repeat.is_some();
        let mut written = as_parameters(&parameters);
        if repeat.is_some() {
            written.insert("fresh_server".to_string(), true.into());
        }
        let measurement = Measurement::new(&SWEEP, plan, written, &server, limits, setting)?;
        measurement.check_disk()?;
        Ok(measurement.runs(repeat))
    }

    /// Prepares a run of a million statements.
    ///
    /// # Errors
    /// Names the option that can't be satisfied, and says what to do.
    pub fn million(options: MillionOptions, setting: &Setting) -> Result<Measurement> {
        let MillionOptions { parameters, server, limits } = options;
        let written = as_parameters(&parameters);
        Measurement::new(&MILLION, parameters.plan(), written, &server, limits, setting)
    }

    /// Returns the measurement with this number of runs.
    pub fn runs(self, runs: Option<u32>) -> Measurement {
        Measurement { runs: runs.unwrap_or(self.runs), ..self }
    }

    fn new(
        shape: &'static Shape,
        plan: Plan,
        parameters: Parameters,
        args: &ServerArgs,
        limits: LimitArgs,
        setting: &Setting,
    ) -> Result<Measurement> {
        let folder = folders::for_databases(args.dir.as_deref())?;
        Ok(Measurement {
            shape,
            deadline: deadline(&plan, limits.idle),
            plan,
            parameters,
            server: server::own(args, &folder)?,
            runs: 1,
            idle: Duration::from_secs_f64(limits.idle),
            limits,
            interrupted: Arc::clone(&setting.interrupted),
        })
    }

    fn check_disk(&self) -> Result<()> {
        let seconds: u64 = self.plan.levels.iter().map(|level| seconds(level.until, self.plan.rate)).sum();
        let needed = seconds * BYTES_PER_SECOND;
        let folder = &self.server.folder;
        match disk::free_bytes(folder).filter(|free| *free < needed) {
            None => Ok(()),
            Some(free) => bail!(
                "{}: {} MB free, but the server may write {} MB; choose another folder with --dir, or fewer --seconds",
                folder.display(),
                free / 1_000_000,
                needed / 1_000_000
            ),
        }
    }

    /// Creates the control group for server and clients, or returns `None` if there are no limits.
    ///
    /// # Errors
    /// Fails when the machine allows no such group.
    pub fn group(&self) -> Result<Option<MemoryGroup>> {
        let limits = Limits { memory_bytes: self.limits.memory_limit, cpus: self.limits.cpus };
        if limits == Limits::default() {
            return Ok(None);
        }
        let failed =
            |reason| Failure::saying(Cause::Error, format!("--cpus and --memory-limit: {reason}")).into();
        MemoryGroup::create(limits).map(Some).map_err(failed)
    }
}

/// Returns an upper bound for the length of a level, in seconds.
fn seconds(until: Until, rate: Option<f64>) -> u64 {
    match until {
        Until::Seconds(seconds) => seconds,
        // The assumed rate is a tenth of the published one, or the rate that is asked for if that is lower.
        Until::Statements(statements) => (statements as f64 / rate.unwrap_or(150.0).min(150.0)) as u64,
    }
}

/// Returns the time allowed for a run: for each level its length, and five minutes for what comes before and
/// after it.
fn deadline(plan: &Plan, idle: f64) -> Duration {
    let level =
        |until: Until| Duration::from_secs(seconds(until, plan.rate) + 300) + Duration::from_secs_f64(idle);
    plan.levels.iter().map(|l| level(l.until)).sum()
}
