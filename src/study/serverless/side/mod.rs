//! Runs the 15 steps on one side.

mod embedded;
pub mod floor;
mod remote;

use super::work::Step;
use super::{Exchange, Leg};
use crate::instrument::engine::Engine;
use crate::instrument::hrana::{Address, Failure, Protocol};
use crate::instrument::meter::{Meter, thread_cpu_ns};
use crate::instrument::proc;
use crate::instrument::sql::{Answer, Statement, WorkHash};
use crate::instrument::sqld::{self, Server};
use crate::record::{Cause, Check, Detail, Failure as Broken, Measure};
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The server that is measured.
#[derive(Clone)]
pub enum Target {
    /// A server that the program starts, anew for each run.
    Own(sqld::Config),
    /// A server of somebody else, whose database must have neither of the study's tables.
    Remote(Address),
}

/// What all legs need to know.
pub struct Place {
    /// The library of the embedded leg.
    pub engine: Engine,
    /// The server of the other legs.
    pub target: Target,
    /// The protocol that is spoken with the server.
    pub protocol: Protocol,
    /// The folder in which private folders are made.
    pub folder: PathBuf,
    /// Whether databases are kept.
    pub keep: bool,
    /// Set from outside when the user wants the measurement to end.
    pub stop: Arc<AtomicBool>,
}

/// What an engine reports about itself.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The name; for a server, with version and commit.
    pub name: String,
    /// The SQLite version, such as `3.45.1`.
    pub sqlite_version: String,
    /// The date and hash of the check-in.
    pub source_id: String,
    /// The options that SQLite was compiled with.
    pub compile_options: Vec<String>,
    /// Settings by name, as read back from the engine.
    pub settings: BTreeMap<String, String>,
}

/// The result of one run of one leg.
#[derive(Default)]
pub struct LegRun {
    /// The engine, if it could be asked.
    pub facts: Option<Facts>,
    /// The steps that were begun, in order.
    pub steps: Vec<(&'static str, Measure)>,
    /// The hash of the SQL and arguments that ran.
    pub work: Option<String>,
    /// Why the run is incomplete; `None` when it is complete.
    pub failure: Option<Broken>,
    /// What the server used, if the program started it.
    pub server: Option<proc::Usage>,
    /// The time from the first to the last step, checks included.
    pub wall: Duration,
    /// The log of the server, if something failed for another reason than the user's interruption.
    pub log: Option<String>,
}

/// A statement that ran, and its answer.
type Ran<'s> = (&'s Statement, Answer);

/// A way to run statements.
trait Side {
    /// Runs the statements of a step one after the other, and times each.
    ///
    /// # Errors
    /// Returns the first failure in words; the meter has counted it.
    fn run<'s>(&mut self, step: &'s Step, meter: &mut Meter) -> Result<Vec<Ran<'s>>, String>;

    /// Returns the traffic so far, if there is a server.
    fn exchange(&self) -> Option<Exchange> {
        None
    }

    /// Returns how often so far the server was busy and a statement was repeated.
    fn busy(&self) -> u64 {
        0
    }
}

/// Runs a leg. `floors` are the exchanges of each step that the leg `floor` imitates; `begins` is called with
/// the name of each step.
pub fn run(
    leg: Leg,
    place: &Place,
    work: &[Step],
    floors: &[Exchange],
    begins: &mut dyn FnMut(&'static str),
) -> LegRun {
    let mut run = LegRun::default();
    let result = match leg {
        Leg::Embedded => embedded::run(place, &mut run, &mut |side, run| all_steps(side, work, run, begins)),
        Leg::Floor => floor::run(&place.stop, floors, &mut |side| all_steps(side, work, &mut run, begins)),
        Leg::Sqld | Leg::SqldHeld | Leg::SqldBatch => on_server(leg, place, work, &mut run, begins),
    };
    run.failure = result.err().map(|error| match place.stop.load(Ordering::Relaxed) {
        true => Broken { cause: Cause::Interrupted, message: format!("{error:#}") },
        false => Broken::in_error(&error),
    });
    if leg == Leg::Floor {
        // This leg ran no SQL.
        run.work = None;
    }
    run
}

fn on_server(
    leg: Leg,
    place: &Place,
    work: &[Step],
    run: &mut LegRun,
    begins: &mut dyn FnMut(&'static str),
) -> Result<()> {
    match &place.target {
        Target::Remote(address) => {
            remote::run(leg, place, address, run, &mut |side, run| all_steps(side, work, run, begins))
        }
        Target::Own(own) => {
            let server = Server::start_unless(&place.stop, own)?;
            let build = server.build().map_or_else(|_| "sqld".to_string(), |build| build.replace('\n', " "));
            let result = remote::run(leg, place, &server.address(), run, &mut |side, run| {
                all_steps(side, work, run, begins)
            });
            run.server = server.usage();
            if let Some(facts) = &mut run.facts {
                facts.name = build;
            }
            if result.is_ok() {
                server.stop();
            } else if !place.stop.load(Ordering::Relaxed) {
                run.log = Some(sqld::tail(&server.log()));
            }
            result
        }
    }
}

/// Runs all steps; the measure of a step that fails is kept, too.
fn all_steps(
    side: &mut dyn Side,
    work: &[Step],
    run: &mut LegRun,
    begins: &mut dyn FnMut(&'static str),
) -> Result<()> {
    let begun = Instant::now();
    let mut hash = WorkHash::default();
    for step in work {
        begins(step.name);
        let (measure, failure) = one_step(side, step, &mut hash);
        run.steps.push((step.name, measure));
        run.wall = begun.elapsed();
        if let Some(failure) = failure {
            anyhow::bail!("step {}: {failure}", step.name);
        }
    }
    run.work = Some(hash.hex());
    Ok(())
}

fn one_step(side: &mut dyn Side, step: &Step, hash: &mut WorkHash) -> (Measure, Option<String>) {
    let mut meter = Meter::counted(step.statements.len() as u64);
    let (before, cpu, busy) = (side.exchange(), thread_cpu_ns(), side.busy());
    let outcome = side.run(step, &mut meter);
    let cpu = cpu.zip(thread_cpu_ns()).map(|(before, after)| after - before);
    let mut measure = meter.finish();
    if side.busy() > busy {
        measure.counts.insert("busy repeats".to_string(), side.busy() - busy);
    }
    let exchange = before
        .zip(side.exchange())
        .map(|(before, after)| Exchange { client_cpu_ns: cpu, ..after.since(&before) });
    measure.detail = exchange.and_then(|exchange| Detail::of(&exchange));
    let failure = match outcome {
        Ok(ran) => {
            ran.iter().for_each(|(statement, _)| hash.add(statement));
            measure.operations = Some(ran.len() as u64);
            measure.checks = check(step, &ran);
            None
        }
        Err(failure) => Some(failure),
    };
    (measure, failure)
}

/// Returns a check of the number of wrong answers, and one of the first of them.
fn check(step: &Step, ran: &[Ran]) -> Vec<Check> {
    let found = |index: usize| ran.get(index).map(|(_, answer)| answer);
    let wrong: Vec<usize> = (0..step.answers.len()).filter(|&i| found(i) != Some(&step.answers[i])).collect();
    let mut checks = vec![Check::new("wrong answers", 0, wrong.len())];
    checks.extend(wrong.first().map(|&first| {
        let what = format!("answer of statement {} of {}", first + 1, step.statements.len());
        Check::new(&what, brief(step.answers.get(first)), brief(found(first)))
    }));
    checks
}

fn brief(answer: Option<&Answer>) -> String {
    let text = format!("{answer:?}");
    let end = text.char_indices().nth(200).map_or(text.len(), |(end, _)| end);
    text[..end].to_string()
}

/// Says in which statement of a step something failed.
fn at(index: usize, step: &Step, failure: &Failure) -> String {
    format!("statement {} of {}: {failure}", index + 1, step.statements.len())
}
