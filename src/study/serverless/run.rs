//! Measures the 15 steps, alternating between the legs in each run so that a drift of the machine affects all
//! of them alike.

use super::args::Options;
use super::side::{self, Facts, LegRun, Place, Target};
use super::work::{Step, work};
use super::{Exchange, Leg as LegName, NAME, Parameters, STEPS};
use crate::instrument::engine::Engine as Library;
use crate::instrument::folders;
use crate::instrument::hrana::{Address, Token};
use crate::machine::noise;
use crate::record::{Answer, Cause, Engine, Failure, Leg, Plan, Record, Run};
use crate::stats::FEWEST_RUNS;
use crate::study::{Session, Setting, Task, server};
use anyhow::{Context, Result, bail};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A measurement, checked and ready to run.
pub struct Measurement {
    parameters: Parameters,
    /// The legs, in the order in which they run.
    legs: Vec<LegName>,
    /// The number of counted runs of each leg.
    runs: u32,
    /// The number of uncounted runs at the start.
    warmup: u32,
    place: Place,
}

const WARMUP: u32 = 1;
/// The environment variable that may hold a token.
const TOKEN: &str = "REPRO_AUTH_TOKEN";

impl Measurement {
    /// Checks the options against each other and against the machine.
    ///
    /// # Errors
    /// Names the option that can't be satisfied, and says what to do.
    pub fn new(options: Options, setting: &Setting) -> Result<Measurement> {
        let legs = match options.leg.is_empty() {
            true => LegName::ALL.to_vec(),
            false => LegName::ALL.into_iter().filter(|leg| options.leg.contains(leg)).collect(),
        };
        if legs.contains(&LegName::Floor) && !legs.contains(&LegName::SqldHeld) {
            bail!("--leg floor imitates the messages of sqld-held; add that leg");
        }
        let folder = folders::for_databases(options.server.dir.as_deref())?;
        Ok(Measurement {
            legs,
            runs: options.runs.unwrap_or(FEWEST_RUNS),
            warmup: options.warmup.unwrap_or(WARMUP),
            place: Place {
                engine: options.engine.as_deref().map_or(Ok(Library::bundled()), Library::load)?,
                target: target(&options, &folder)?,
                protocol: options.parameters.protocol,
                folder,
                keep: options.server.keep,
                stop: Arc::clone(&setting.interrupted),
            },
            parameters: options.parameters,
        })
    }

    fn new_leg(&self, name: LegName) -> Leg {
        let own = match (&self.place.target, name) {
            (Target::Own(own), LegName::Sqld | LegName::SqldHeld | LegName::SqldBatch) => Some(&own.program),
            _ => None,
        };
        let bundled = name == LegName::Embedded && self.place.engine.origin().is_none();
        let engine = if name == LegName::Floor { "an echo over a WebSocket" } else { "unknown" };
        let engine = Engine { build: own.map(server::built), bundled, ..Engine::named(engine) };
        let mut leg = Leg::new(name.name(), engine);
        if name == LegName::Floor {
            leg.answer = Answer::NotChecked { reason: "an echo runs no SQL".to_string() };
        }
        leg
    }

    /// Adds the run to the record; a run that failed, or did other work than the other legs, ends the
    /// measurement.
    fn keep(
        &self,
        session: &mut Session,
        number: u32,
        name: LegName,
        run: LegRun,
        noise: noise::Activity,
    ) -> Result<()> {
        let failure = run.failure.clone().or_else(|| other_work(&session.record, number, name, &run));
        let log = run.log.clone().filter(|log| !log.is_empty());
        let kept = Run {
            number,
            warmup: number <= self.warmup,
            rejected: failure.clone(),
            wall_ns: Some(run.wall.as_nanos() as u64),
            resources: run.server.map(server::resources),
            noise: Some(noise),
            work: run.work.clone(),
            ..Run::default()
        };
        let leg = session.record.leg_or(name.name(), || self.new_leg(name));
        add(leg, name, run, kept);
        session.save()?;
        let Some(failure) = failure else { return Ok(()) };
        let kept = log.map_or(String::new(), |log| keep_log(session, &log));
        let failure = failure.of_part(name.name());
        Err(Failure { message: format!("{failure}{kept}"), ..failure }.into())
    }
}

/// Returns a server for the program to start, or the one that the user named.
fn target(options: &Options, folder: &Path) -> Result<Target> {
    let Some(url) = &options.remote.url else {
        return Ok(Target::Own(server::own(&options.server, folder)?));
    };
    let token = match (&options.remote.auth_token_file, std::env::var(TOKEN)) {
        (Some(path), _) => Some(Token::read(path)?),
        (None, Ok(text)) => Some(Token::new(&text).context(TOKEN)?),
        (None, Err(_)) => None,
    };
    Ok(Target::Remote(Address::parse(url, token)?))
}

/// Adds a run to its leg.
fn add(leg: &mut Leg, name: LegName, run: LegRun, kept: Run) {
    if let Some(facts) = run.facts {
        learn(leg, facts);
    }
    let number = kept.number;
    for (step, measure) in run.steps {
        leg.add(number, step, title(step), measure);
    }
    leg.runs.push(kept);
    if name != LegName::Floor {
        let own = || leg.all_samples().filter(|(_, sample)| sample.run == number);
        let statements: u64 = own().filter_map(|(_, sample)| sample.measure.operations).sum();
        let checked = own().any(|(_, sample)| !sample.measure.checks.is_empty());
        let right = format!("{statements} statements of {} steps", own().count());
        leg.judge_answers(checked.then_some(right));
    }
}

fn title(step: &str) -> Option<&'static str> {
    STEPS.iter().find(|(name, _)| *name == step).map(|(_, title)| *title)
}

fn learn(leg: &mut Leg, facts: Facts) {
    let known = |text: String| Some(text).filter(|text| !text.is_empty());
    leg.engine.name = facts.name;
    leg.engine.sqlite_version = known(facts.sqlite_version);
    leg.engine.source_id = known(facts.source_id);
    leg.engine.compile_options = facts.compile_options;
    leg.settings = facts.settings;
}

/// Returns a failure if the run did not run the same SQL with the same arguments as the other legs.
fn other_work(record: &Record, number: u32, name: LegName, run: &LegRun) -> Option<Failure> {
    let own = run.work.as_ref()?;
    let runs = record.legs.iter().flat_map(|leg| leg.runs.iter().map(move |run| (leg, run)));
    let mut others =
        runs.filter(|(_, run)| run.number == number).filter_map(|(l, r)| Some((l, r.work.as_ref()?)));
    let (other, hash) = others.find(|(_, hash)| *hash != own)?;
    let why = format!(
        "void: the statements of {} ({own}) differ from those of {} ({hash})",
        name.name(),
        other.name
    );
    Some(Failure::saying(Cause::OtherWork, why))
}

/// Saves what the server wrote beside the record or in the folder for temporary files, and says where.
fn keep_log(session: &Session, log: &str) -> String {
    let (folder, name) = match session.path() {
        Some(record) => (record.with_file_name(""), record.file_stem().unwrap_or_default().to_owned()),
        None => (std::env::temp_dir(), format!("repro-{}", std::process::id()).into()),
    };
    match write_new(&folder, &name.to_string_lossy(), log) {
        Ok(path) => format!("; the log of the server is in {}", path.display()),
        Err(error) => format!("; the log of the server is lost: {}: {error}", folder.display()),
    }
}

/// Writes NAME.sqld.log, or NAME-2.sqld.log if that exists already, and so on.
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

impl Task for Measurement {
    fn record(&self) -> Record {
        let plan = Plan { warmup: self.warmup, ..Plan::of_runs(self.runs) };
        Record::beginning(NAME, crate::study::as_parameters(&self.parameters), plan)
    }

    fn folder(&self) -> Option<PathBuf> {
        Some(self.place.folder.clone())
    }

    fn measure(&self, session: &mut Session) -> Result<()> {
        let work: Vec<Step> = work(&self.parameters);
        let all = self.warmup + self.runs;
        for number in 1..=all {
            let mut held: Vec<Exchange> = Vec::new();
            for &leg in &self.legs {
                session.progress.run_begins(format!("run {number} of {all} · {}", leg.name()), 0);
                let watch = noise::Watch::begin();
                let progress = &mut session.progress;
                let run = side::run(leg, &self.place, &work, &held, &mut |step| {
                    progress.step_begins(step, title(step).unwrap_or_default());
                });
                if leg == LegName::SqldHeld {
                    held = run.steps.iter().filter_map(|(_, measure)| measure.detail()).collect();
                }
                let noise = watch.end();
                self.keep(session, number, leg, run, noise)?;
            }
        }
        Ok(())
    }
}
