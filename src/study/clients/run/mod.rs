//! Measures clients on one server, in a process of their own, as many times as planned.

mod live;
mod request;

use super::args::{LimitArgs, Plan};
use super::leg::{Event, Job, ServerUsage};
use super::{Detail, LOST_WRITES};
use crate::figure::{Parameters, Shape};
use crate::instrument::cgroup::MemoryGroup;
use crate::instrument::process::{Ending, Outcome};
use crate::instrument::{scratch, sqld};
use crate::machine::noise;
use crate::record::{self, Cause, Engine, Failure, Flag, Health, Leg, Measure, Record, Resources, Run};
use crate::study::process::{self, Lines};
use crate::study::{Session, Task, server};
use anyhow::Result;
use live::Live;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A measurement, checked and ready to run.
pub struct Measurement {
    /// The shape of the study.
    shape: &'static Shape,
    /// The levels to run.
    plan: Plan,
    /// The parameters as a record holds them.
    parameters: Parameters,
    /// The server to start.
    server: sqld::Config,
    /// How often the levels are run.
    runs: u32,
    /// How long the server is watched after each level.
    idle: Duration,
    /// The limits of server and clients together.
    limits: LimitArgs,
    /// The longest time that one run may take.
    deadline: Duration,
    interrupted: Arc<AtomicBool>,
}

/// The CPU use of a client, as a fraction of a core, above which clients may be what limits the rate.
const BUSY_CLIENT: f64 = 0.3;

/// What a process has reported.
#[derive(Default)]
struct Told {
    levels: u32,
    usage: Option<ServerUsage>,
    failed: Option<String>,
}

impl Measurement {
    fn one_run(&self, session: &mut Session, number: u32) -> Result<()> {
        let group = self.group()?;
        let job = Job {
            plan: self.plan.clone(),
            server: self.server.clone(),
            idle_ms: self.idle.as_millis() as u64,
        };
        let (mut told, mut lines, mut saved) = (Told::default(), Lines::default(), Ok(()));
        let mut progress = std::mem::take(&mut session.progress);
        let mut live = Live::new(self, &mut progress, number);
        let watch = noise::Watch::begin();
        let outcome = process::start(
            self.shape.name,
            &job,
            group.as_ref(),
            self.deadline,
            &self.interrupted,
            &mut |bytes| {
                for event in lines.take::<Event>(bytes) {
                    let whole = take(event, &mut session.record.legs[0], number, &mut told, &mut live);
                    if whole && saved.is_ok() {
                        saved = session.save();
                    }
                }
            },
        );
        session.progress = progress;
        let outcome = outcome?;
        let failure = failure(&outcome, &told);
        let run = Run {
            number,
            // Levels that ended are complete, so a run is rejected only if it has none.
            rejected: failure.clone().filter(|_| told.levels == 0),
            flags: failure
                .iter()
                .map(|failure| Flag::EndedEarly { phases: told.levels, failure: failure.clone() })
                .collect(),
            wall_ns: Some(outcome.wall.as_nanos() as u64),
            resources: told.usage.map(resources),
            noise: Some(watch.end()),
            ..Run::default()
        };
        self.end(&mut session.record.legs[0], run, group.as_ref());
        saved?;
        failure.map_or(Ok(()), |failure| Err(failure.into()))
    }

    /// Adds the run, with remarks on its levels.
    fn end(&self, leg: &mut Leg, mut run: Run, group: Option<&MemoryGroup>) {
        let own = leg.all_samples().filter(|(_, sample)| sample.run == run.number);
        let busy = own.filter_map(|(phase, sample)| Some((phase, client_cores(&sample.measure)?)));
        let flags = busy
            .filter(|(_, cores)| *cores > BUSY_CLIENT)
            .map(|(phase, cores)| Flag::BusyClients { phase: phase.to_string(), cores });
        run.flags.extend(flags);
        if let Some((group, limit_bytes)) = group.zip(self.limits.memory_limit) {
            leg.memory = Some(group.facts(limit_bytes, group.usage().as_ref()));
        }
        leg.runs.push(run);
    }
}

/// Takes an event, and returns whether a level has ended with it.
fn take(event: Result<Event, String>, leg: &mut Leg, number: u32, told: &mut Told, live: &mut Live) -> bool {
    match event {
        Ok(Event::Opened { build, sqlite_version, source_id, settings }) => {
            leg.engine.name = build;
            leg.engine.sqlite_version = Some(sqlite_version);
            leg.engine.source_id = Some(source_id);
            leg.settings = settings;
        }
        Ok(Event::Stage { text }) => live.stage(&text),
        Ok(Event::Began { phase }) => live.begins(&phase),
        Ok(Event::Ticked { second }) => live.ticks(&second),
        Ok(Event::Ended { phase, measure, server }) => {
            // A level that was cut short is kept, but does not count as complete.
            told.levels += u32::from(measure.health.is_some_and(|health| health != Health::Unknown));
            told.usage = server.map(|server| told.usage.unwrap_or_default().and(server)).or(told.usage);
            live.ends(&measure);
            keep(leg, number, &phase, *measure);
            return true;
        }
        Ok(Event::Failed { message }) | Err(message) => told.failed = Some(message),
    }
    false
}

/// Adds what a level has measured. One wrong answer or lost write in any level makes the leg's answers wrong.
fn keep(leg: &mut Leg, number: u32, phase: &str, measure: Measure) {
    // After a level that was cut short, nobody looked for its writes.
    let looked = measure.checks.iter().any(|check| check.what == LOST_WRITES);
    leg.add(number, phase, None, measure);
    let levels = leg.all_samples().count();
    leg.judge_answers(looked.then(|| format!("every acknowledged write found, after {levels} levels")));
}

fn failure(outcome: &Outcome, told: &Told) -> Option<Failure> {
    let told = || told.failed.as_ref().map(|message| Failure::saying(Cause::Error, message));
    match outcome.ending {
        Ending::Exited(_) => told().or_else(|| outcome.failure("")),
        _ => outcome.failure(""),
    }
}

/// Returns the fraction of a core that each client used, if the measure has it.
fn client_cores(measure: &Measure) -> Option<f64> {
    let detail: Detail = measure.detail()?;
    let cpu = detail.client_cpu_ns? as f64 / measure.elapsed_ns?.max(1) as f64;
    Some(cpu / f64::from(detail.clients.max(1)))
}

/// Converts the usage of a server to resources.
fn resources(usage: ServerUsage) -> Resources {
    Resources {
        user_us: usage.user_us,
        system_us: usage.system_us,
        peak_memory_bytes: Some(usage.peak_memory_bytes),
        ..Resources::default()
    }
}

impl Task for Measurement {
    fn record(&self) -> Record {
        let mut parameters = self.parameters.clone();
        let arguments = &self.server.arguments;
        for (name, value) in [
            ("sqld_args", (!arguments.is_empty()).then(|| arguments.join(" ").into())),
            ("cpus", self.limits.cpus.map(Into::into)),
            ("memory_limit", self.limits.memory_limit.map(Into::into)),
        ] {
            parameters.extend(value.map(|value| (name.to_string(), value)));
        }
        let build = Some(server::built(&self.server.program));
        let leg = Leg::new(self.plan.streams.leg(), Engine { build, ..Engine::named("sqld") });
        let plan = record::Plan::of_runs(self.runs);
        Record { legs: vec![leg], ..Record::beginning(self.shape.name, parameters, plan) }
    }

    fn folder(&self) -> Option<PathBuf> {
        Some(self.server.folder.clone())
    }

    fn measure(&self, session: &mut Session) -> Result<()> {
        MemoryGroup::remove_stale();
        let mut result = Ok(());
        for number in 1..=self.runs {
            result = self.one_run(session, number).and(session.save());
            if result.is_err() {
                break;
            }
        }
        // A process that was killed leaves its folder behind.
        scratch::remove_stale(&self.server.folder);
        result
    }
}
