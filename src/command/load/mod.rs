//! `repro run sweep` and `repro run million`: clients on one server, in a process of their own.

mod live;
mod request;
mod samples;

pub use request::{Request, Study};

use super::leg::{self, Job, Lines};
use super::recording::{Measured, Recording};
use super::{CannotMeasure, Exit, output};
use crate::cli::{MillionArgs, OutputArgs, SweepArgs};
use crate::driver::cgroup::MemoryGroup;
use crate::driver::load::{self, Event, ServerUsage};
use crate::driver::process::{Ending, Outcome};
use crate::driver::scratch;
use crate::environment::noise;
use crate::record::Run;
use crate::record::store::Destination;
use crate::suite::load::Health;
use crate::suite::measure::Measure;
use anyhow::Result;
use live::Live;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Measures a sweep, shows and keeps.
pub fn sweep(args: &SweepArgs, interrupted: &Arc<AtomicBool>) -> Result<Exit> {
    run(&args.output, || Request::sweep(args, interrupted))
}

/// Measures a million statements, shows and keeps.
pub fn million(args: &MillionArgs, interrupted: &Arc<AtomicBool>) -> Result<Exit> {
    run(&args.output, || Request::million(args, interrupted))
}

fn run(output: &OutputArgs, request: impl FnOnce() -> Result<Request>) -> Result<Exit> {
    output::check_all(output)?;
    measure(&request()?, &output::destination(output)?)?.publish(&output.formats)
}

/// Measures all levels, as often as they are to be. The record holds what there is, also when it ends early.
///
/// # Errors
/// What kept it from beginning.
pub fn measure(request: &Request, destination: &Destination) -> Result<Measured> {
    MemoryGroup::remove_stale();
    let mut recording = Recording::begin(samples::new_record(request), destination)?;
    let mut result = Ok(());
    for number in 1..=request.runs {
        result = one_run(request, &mut recording, number).and(recording.save());
        if result.is_err() {
            break;
        }
    }
    // A process that was ended by force leaves its folder.
    scratch::remove_stale(&request.server.folder);
    Ok(recording.finish(result))
}

/// What one process told.
#[derive(Default)]
struct Told {
    levels: u32,
    usage: Option<ServerUsage>,
    failed: Option<String>,
}

fn one_run(request: &Request, recording: &mut Recording, number: u32) -> Result<()> {
    let group = request.group()?;
    let job = Job::Load(Box::new(load::Job {
        plan: request.study.plan(request.fresh_server),
        server: request.server.clone(),
        idle_ms: request.idle.as_millis() as u64,
    }));
    let mut live = Live::new(request, number);
    let (mut told, mut lines, mut saved) = (Told::default(), Lines::default(), Ok(()));
    let before = noise::Snapshot::take();
    let outcome = leg::start(&job, group.as_ref(), request.deadline, &request.interrupted, &mut |bytes| {
        for event in lines.take::<Event>(bytes) {
            let whole = take(event, recording, number, &mut told, &mut live);
            if whole && saved.is_ok() {
                saved = recording.save();
            }
        }
    });
    live.clear();
    let outcome = outcome?;
    let failure = failure(&outcome, &told);
    let run = Run {
        number,
        warmup: false,
        // The levels that ended are whole; only without any of them there is nothing to count.
        rejected: failure.clone().filter(|_| told.levels == 0),
        flags: failure
            .iter()
            .map(|why| format!("ended early, after {} levels: {why}", told.levels))
            .collect(),
        total_ms: None,
        wall_ns: Some(outcome.wall.as_nanos() as u64),
        resources: told.usage.map(samples::resources),
        noise: Some(noise::Interval::between(&before, &noise::Snapshot::take())),
        statistics: Default::default(),
        work: None,
    };
    samples::end(&mut recording.record, request, run, group.as_ref());
    saved?;
    failure.map_or(Ok(()), |failure| Err(CannotMeasure(failure).into()))
}

/// Takes an event; whether a level has ended with it.
fn take(
    event: Result<Event, String>,
    recording: &mut Recording,
    number: u32,
    told: &mut Told,
    live: &mut Live,
) -> bool {
    match event {
        Ok(Event::Opened { build, sqlite_version, source_id, settings }) => {
            samples::learn(&mut recording.record, build, sqlite_version, source_id, settings);
        }
        Ok(Event::Stage { text }) => live.stage(&text),
        Ok(Event::Began { phase }) => live.begins(&phase),
        Ok(Event::Ticked { second }) => live.ticks(&second),
        Ok(Event::Ended { phase, measure, server }) => {
            // One that was cut short is kept, and not whole.
            told.levels +=
                u32::from(measure.load.as_ref().is_some_and(|load| load.health != Health::Unknown));
            told.usage = server.map(|server| told.usage.unwrap_or_default().and(server)).or(told.usage);
            live.ends(&measure);
            samples::keep(&mut recording.record, number, &phase, *measure);
            return true;
        }
        Ok(Event::Failed { message }) => told.failed = Some(message),
        Err(message) => told.failed = Some(message),
    }
    false
}

fn failure(outcome: &Outcome, told: &Told) -> Option<String> {
    let said = outcome.stderr.trim().lines().next().unwrap_or_default();
    match outcome.ending {
        Ending::Interrupted => Some("interrupted".to_string()),
        Ending::Deadline => Some("stopped at the deadline".to_string()),
        Ending::Signalled(signal) => Some(format!("killed by signal {signal}")),
        Ending::Exited(0) => told.failed.clone(),
        Ending::Exited(status) => {
            Some(told.failed.clone().unwrap_or(format!("exit status {status}: {said}")))
        }
    }
}

/// The share of a core that each client used, of a measure that knows it.
pub fn client_cores(measure: &Measure) -> Option<f64> {
    let load = measure.load.as_ref()?;
    let cpu = load.client_cpu_ns? as f64 / measure.elapsed_ns.max(1) as f64;
    Some(cpu / f64::from(load.clients.max(1)))
}
