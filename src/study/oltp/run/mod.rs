//! Measures leg by leg, each in a process of its own, on each engine in turn.

mod place;
mod told;

use super::args::{LegPlan, Options};
use super::leg::{Event, Job};
use super::{Leg as LegName, NAME, Phase, data};
use crate::instrument::cgroup::{Limits, MemoryGroup};
use crate::instrument::{engine, folders, scratch};
use crate::machine::{Host, disk, noise};
use crate::record::{Cause, Engine, Failure, Leg, Plan, Record, Run};
use crate::study::progress::human;
use crate::study::{Session, Setting, Task, process};
use anyhow::{Result, bail};
use place::Place;
use std::path::{Path, PathBuf};
use std::time::Duration;
use told::Told;

/// A measurement, checked and ready to run.
pub struct Measurement {
    options: Options,
    /// The legs, in the order in which they run.
    legs: Vec<LegName>,
    /// The folder in which databases are made.
    folder: PathBuf,
    /// The engines to measure in turn; `None` is the bundled one.
    engines: Vec<Option<PathBuf>>,
    quiet: bool,
}

/// The memory group of a leg and its limit in bytes.
type Confined<'a> = Option<(&'a MemoryGroup, u64)>;

impl Measurement {
    /// Refuses, before anything is written, what can't be carried out to the end.
    ///
    /// # Errors
    /// Names the option that can't be satisfied, and says what to do.
    pub fn new(options: Options, setting: &Setting) -> Result<Measurement> {
        let measurement = Measurement {
            legs: options.leg.map_or(vec![LegName::InRam, LegName::DiskBound], |leg| vec![leg]),
            folder: folders::for_databases(options.dir.as_deref())?,
            engines: std::iter::once(options.engine.clone())
                .chain(options.against.iter().cloned().map(Some))
                .collect(),
            quiet: setting.quiet,
            options,
        };
        measurement.check()?;
        Ok(measurement)
    }

    fn plans(&self) -> impl Iterator<Item = LegPlan> {
        self.legs.iter().map(|leg| self.options.parameters.plan(*leg))
    }

    fn check(&self) -> Result<()> {
        if let Some(plan) = self.plans().find(|plan| plan.range > plan.rows || plan.writers > plan.rows) {
            bail!(
                "--range {} and --writers {} must not exceed the {} rows of a leg",
                plan.range,
                plan.writers,
                plan.rows
            );
        }
        for path in self.engines.iter().flatten() {
            engine::Engine::load(path)?;
        }
        let largest = self.needed_bytes();
        if let Some(free) = disk::free_bytes(&self.folder).filter(|free| *free < largest) {
            bail!(
                "{}: {} MB free, but {} MB are needed; choose another folder with --dir, or a smaller --scale",
                self.folder.display(),
                free / 1_000_000,
                largest / 1_000_000
            );
        }
        Ok(())
    }

    /// Returns the disk space needed in bytes: the largest database with a third more for the log, and some
    /// room to spare.
    fn needed_bytes(&self) -> u64 {
        let needed = |plan: LegPlan| plan.database_bytes() * 4 / 3 + (64 << 20);
        self.plans().map(needed).max().unwrap_or(0)
    }

    /// Prints upper bounds for the disk space and the time that the measurement takes.
    fn announce(&self) {
        let once: u64 = self.plans().map(|plan| plan.seconds_expected()).sum();
        let all = once * u64::from(self.options.runs) * self.engines.len() as u64;
        let (bytes, time) = (self.needed_bytes() / 1_000_000, human(Duration::from_secs(all)));
        eprintln!("this takes up to {bytes} MB in {} and up to {time}", self.folder.display());
    }

    /// Makes one run of one leg on one engine.
    fn run(&self, session: &mut Session, number: u32, name: LegName, engine: Option<&Path>) -> Result<()> {
        let plan = self.options.parameters.plan(name);
        let group = confine(&plan)?;
        let confined: Confined = group.as_ref().zip(plan.memory_limit);
        let place = match &self.options.reuse {
            Some(folder) => Place::again(folder, &plan)?,
            None => Place::new(&self.folder, &plan, self.options.keep)?,
        };
        let job =
            Job { plan: plan.clone(), database: place.database(), engine: engine.map(Path::to_path_buf) };
        session.progress.run_begins(format!("{} run {number} of {}", name.name(), self.options.runs), 0);
        let watch = noise::Watch::begin();
        let mut told = Told::default();
        let usage = || group.as_ref().and_then(MemoryGroup::usage);
        let deadline = Duration::from_secs_f64(self.options.deadline);
        let progress = &mut session.progress;
        let outcome =
            process::start(NAME, &job, group.as_ref(), deadline, &session.interrupted, &mut |bytes| {
                if told.take(bytes, progress) {
                    told.memory = usage().or(told.memory.take());
                }
            })?;
        let noise = watch.end();
        told.memory = usage().or(told.memory.take());
        if told.measures.iter().any(|(phase, _)| *phase == Phase::BulkInsert) {
            place.mark(&plan)?;
        }
        let failure = told.failure(&outcome, &plan, confined.map(|(_, limit)| limit));
        let run = Run {
            number,
            rejected: failure.clone(),
            wall_ns: Some(outcome.wall.as_nanos() as u64),
            resources: Some(outcome.usage.resources()),
            noise: Some(noise),
            ..Run::default()
        };
        keep(self.leg(&mut session.record, name, engine), told, confined, run);
        failure.map_or(Ok(()), |failure| Err(failure.of_part(name.name()).into()))
    }

    /// Returns the leg of the record, which is created for the first run.
    fn leg<'r>(&self, record: &'r mut Record, name: LegName, engine: Option<&Path>) -> &'r mut Leg {
        let name = self.leg_name(name, engine);
        let engine = engine.map_or_else(Engine::bundled, |path| Engine::named(path.display().to_string()));
        record.leg_or(&name, || Leg::new(&name, engine))
    }

    /// Returns the name of the leg, with the file of an engine other than the bundled one. Where two files
    /// share a name, the whole path is given.
    fn leg_name(&self, leg: LegName, engine: Option<&Path>) -> String {
        let Some(path) = engine else { return leg.name().to_string() };
        let file = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let namesakes = self.engines.iter().flatten().filter(|other| file(other) == file(path)).count();
        let engine = if namesakes > 1 { path.display().to_string() } else { file(path) };
        format!("{} ({engine})", leg.name())
    }
}

/// Adds a run and its phases to their leg.
fn keep(leg: &mut Leg, told: Told, confined: Confined, run: Run) {
    if let Some(Event::Opened { sqlite_version, source_id, compile_options, pragmas }) = told.opened {
        leg.engine.sqlite_version = Some(sqlite_version);
        leg.engine.source_id = Some(source_id);
        leg.engine.compile_options = compile_options;
        leg.settings = pragmas;
    }
    leg.memory = confined.map(|(group, limit_bytes)| group.facts(limit_bytes, told.memory.as_ref()));
    for (phase, measure) in told.measures {
        leg.add(run.number, phase.name(), None, measure);
    }
    leg.runs.push(run);
    let checks: usize = leg.all_samples().map(|(_, sample)| sample.measure.checks.len()).sum();
    leg.judge_answers(Some(format!("{checks} checks")));
}

/// Creates a group with as much memory as the leg may use. If none can be created, the leg may run without
/// one, provided that its database is larger than the memory of the machine.
fn confine(plan: &LegPlan) -> Result<Option<MemoryGroup>> {
    let Some(memory_bytes) = plan.memory_limit else { return Ok(None) };
    match MemoryGroup::create(Limits { memory_bytes: Some(memory_bytes), cpus: None }) {
        Ok(group) => Ok(Some(group)),
        Err(_) if Host::capture(false).memory.total_bytes.is_some_and(|all| plan.database_bytes() > all) => {
            Ok(None)
        }
        Err(unavailable) => {
            let why = format!(
                "the disk-bound leg needs a memory limit, or --rows that exceed this machine's memory: {unavailable}"
            );
            Err(Failure::saying(Cause::Error, why).into())
        }
    }
}

impl Task for Measurement {
    fn record(&self) -> Record {
        let mut parameters = crate::study::as_parameters(&self.options.parameters);
        parameters.insert("generator".to_string(), data::GENERATOR.into());
        Record::beginning(NAME, parameters, Plan::of_runs(self.options.runs))
    }

    fn folder(&self) -> Option<PathBuf> {
        Some(self.folder.clone())
    }

    fn measure(&self, session: &mut Session) -> Result<()> {
        if !self.quiet {
            self.announce();
        }
        MemoryGroup::remove_stale();
        scratch::remove_stale(&self.folder);
        for number in 1..=self.options.runs {
            for leg in &self.legs {
                for engine in &self.engines {
                    self.run(session, number, *leg, engine.as_deref())?;
                    session.save()?;
                }
            }
        }
        Ok(())
    }
}
