//! What to measure: from the command line, or from a reference.

use crate::cli::{LimitArgs, MillionArgs, OutputArgs, ServerArgs, SweepArgs};
use crate::command::CannotMeasure;
use crate::command::server;
use crate::driver::cgroup::{Limits, MemoryGroup};
use crate::driver::sqld;
use crate::environment::disk;
use crate::suite::load::parameters::{Plan, Until};
use crate::suite::load::{MILLION, MillionParameters, SWEEP, Streams, SweepParameters};
use anyhow::{Result, bail};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Which of the two studies.
#[derive(Clone, Debug)]
pub enum Study {
    /// The sweep over numbers of clients.
    Sweep(SweepParameters),
    /// The million statements.
    Million(MillionParameters),
}

impl Study {
    /// Name of the suite.
    pub fn suite(&self) -> &'static str {
        match self {
            Study::Sweep(_) => SWEEP.name,
            Study::Million(_) => MILLION.name,
        }
    }

    /// Level by level.
    pub fn plan(&self, fresh_server: bool) -> Plan {
        let plan = match self {
            Study::Sweep(parameters) => parameters.plan(),
            Study::Million(parameters) => parameters.plan(),
        };
        Plan { fresh_server: plan.fresh_server || fresh_server, ..plan }
    }

    /// How clients use streams.
    pub fn streams(&self) -> Streams {
        match self {
            Study::Sweep(parameters) => parameters.stream,
            Study::Million(parameters) => parameters.stream,
        }
    }

    /// As a record holds them.
    pub fn parameters(&self) -> BTreeMap<String, Value> {
        let value = match self {
            Study::Sweep(parameters) => serde_json::to_value(parameters),
            Study::Million(parameters) => serde_json::to_value(parameters),
        };
        match value {
            Ok(Value::Object(map)) => map.into_iter().collect(),
            _ => BTreeMap::new(),
        }
    }
}

/// What to measure.
pub struct Request {
    /// The study and its parameters.
    pub study: Study,
    /// The server.
    pub server: sqld::Setting,
    /// How often the levels are run.
    pub runs: u32,
    /// A new server for each level, whatever the study says.
    pub fresh_server: bool,
    /// For how long the server is watched after each level.
    pub idle: Duration,
    /// Limits of server and clients together.
    pub limits: LimitArgs,
    /// Longest time for one run.
    pub deadline: Duration,
    /// Whether progress stays hidden.
    pub quiet: bool,
    /// Whether the record names the host.
    pub host_name: bool,
    /// Set from outside when the user wants it to end.
    pub interrupted: Arc<AtomicBool>,
}

/// What a level may leave on the disk for each second, from above: measured were 24 MB of log.
const BYTES_PER_SECOND: u64 = 30 << 20;

impl Request {
    /// What the command line says of a sweep.
    ///
    /// # Errors
    /// What can't come to its end.
    pub fn sweep(args: &SweepArgs, interrupted: &Arc<AtomicBool>) -> Result<Request> {
        args.parameters.check().map_err(|reason| anyhow::anyhow!("--{reason}"))?;
        let study = Study::Sweep(args.parameters.clone());
        let mut request = Request::new(study, &args.server, &args.limits, &args.output, interrupted)?;
        request.runs = args.until_wedged.unwrap_or(1);
        request.fresh_server = args.until_wedged.is_some();
        request.check_disk()?;
        Ok(request)
    }

    /// What the command line says of a million.
    ///
    /// # Errors
    /// What can't come to its end.
    pub fn million(args: &MillionArgs, interrupted: &Arc<AtomicBool>) -> Result<Request> {
        let study = Study::Million(args.parameters.clone());
        Request::new(study, &args.server, &args.limits, &args.output, interrupted)
    }

    fn new(
        study: Study,
        args: &ServerArgs,
        limits: &LimitArgs,
        output: &OutputArgs,
        interrupted: &Arc<AtomicBool>,
    ) -> Result<Request> {
        let folder = server::folder(args.dir.as_deref())?;
        let deadline = deadline(&study.plan(false), limits.idle);
        Ok(Request {
            study,
            server: server::own(args, &folder)?,
            runs: 1,
            fresh_server: false,
            idle: Duration::from_secs_f64(limits.idle),
            limits: limits.clone(),
            deadline,
            quiet: output.quiet,
            host_name: output.host_name,
            interrupted: Arc::clone(interrupted),
        })
    }

    fn check_disk(&self) -> Result<()> {
        let plan = self.study.plan(false);
        let seconds: u64 = plan.levels.iter().map(|level| seconds(level.until, plan.rate)).sum();
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

    /// The control group for server and clients, where there are limits.
    ///
    /// # Errors
    /// When there can be none on this machine.
    pub fn group(&self) -> Result<Option<MemoryGroup>> {
        let limits = Limits { memory_bytes: self.limits.memory_limit, cpus: self.limits.cpus };
        if limits == Limits::default() {
            return Ok(None);
        }
        let group = MemoryGroup::create(limits);
        group.map(Some).map_err(|reason| CannotMeasure(format!("--cpus and --memory-limit: {reason}")).into())
    }
}

/// From above.
fn seconds(until: Until, rate: Option<f64>) -> u64 {
    match until {
        Until::Seconds(seconds) => seconds,
        // A tenth of the published rate, or the rate that is asked for.
        Until::Statements(statements) => (statements as f64 / rate.unwrap_or(150.0).min(150.0)) as u64,
    }
}

/// For each level its time, and five minutes for what comes before and after it.
fn deadline(plan: &Plan, idle: f64) -> Duration {
    let level =
        |until: Until| Duration::from_secs(seconds(until, plan.rate) + 300) + Duration::from_secs_f64(idle);
    plan.levels.iter().map(|l| level(l.until)).sum()
}
