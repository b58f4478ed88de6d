//! `repro run oltp`: the real-workload study, leg by leg, each in a process of its own.

mod place;
mod told;

use super::folders;
use super::leg;
use super::recording::{self, Beginning, Measured, Recording};
use super::{CannotMeasure, Exit, output};
use crate::cli::OltpArgs;
use crate::driver::cgroup::{Limits, MemoryGroup};
use crate::driver::engine;
use crate::driver::oltp::{Event, Job};
use crate::environment::{Host, disk, noise};
use crate::measure::Progress;
use crate::measure::progress::human;
use crate::record::store::Destination;
use crate::record::{self, Answer, Engine, Leg, Memory, Record, Resources, Run};
use crate::suite::oltp::parameters::LegPlan;
use crate::suite::oltp::{self, Leg as LegName, Parameters};
use anyhow::{Result, bail};
use place::Place;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use told::Told;

/// What to measure.
pub struct Request<'a> {
    /// The workload.
    pub parameters: Parameters,
    /// The legs, in order.
    pub legs: Vec<LegName>,
    /// Where databases are made.
    pub folder: PathBuf,
    /// Engines to measure in turn; `None` is the bundled one.
    pub engines: Vec<Option<PathBuf>>,
    /// Counted runs of each leg.
    pub runs: u32,
    /// Whether the databases stay.
    pub keep: bool,
    /// The folder of a database that stayed, to be used again.
    pub reuse: Option<PathBuf>,
    /// Longest time for one leg.
    pub deadline: Duration,
    /// Whether progress stays hidden.
    pub quiet: bool,
    /// Whether the record names the host.
    pub host_name: bool,
    /// Set from outside when the user wants it to end.
    pub interrupted: &'a AtomicBool,
}

impl<'a> Request<'a> {
    /// One run of both legs on the bundled SQLite; in `folder`, or where SQLite puts temporary files.
    pub fn new(parameters: Parameters, folder: Option<&Path>, interrupted: &'a AtomicBool) -> Request<'a> {
        Request {
            parameters,
            legs: vec![LegName::InRam, LegName::DiskBound],
            folder: folder.map_or_else(|| disk::sqlite_temporary_directory(None), Path::to_path_buf),
            engines: vec![None],
            runs: 1,
            keep: false,
            reuse: None,
            deadline: Duration::from_secs(7200),
            quiet: false,
            host_name: false,
            interrupted,
        }
    }
}

/// Measures, shows and keeps.
pub fn run(args: &OltpArgs, interrupted: &AtomicBool) -> Result<Exit> {
    output::check_all(&args.output)?;
    let mut request = Request::new(args.parameters.clone(), args.dir.as_deref(), interrupted);
    request.legs = args.leg.map_or(request.legs, |leg| vec![leg]);
    request.engines =
        std::iter::once(args.engine.clone()).chain(args.against.iter().cloned().map(Some)).collect();
    request.runs = args.runs;
    request.keep = args.keep;
    request.reuse = args.reuse.clone();
    request.deadline = Duration::from_secs_f64(args.deadline);
    request.quiet = args.output.quiet;
    request.host_name = args.output.host_name;
    check(&request)?;
    measure(&request, &output::destination(&args.output)?)?.publish(&args.output.formats)
}

/// Refuses, before anything is written, what can't come to its end.
pub fn check(request: &Request) -> Result<()> {
    let folder = &request.folder;
    folders::check_databases(folder)?;
    for plan in request.legs.iter().map(|leg| request.parameters.plan(*leg)) {
        if plan.range > plan.rows || plan.writers > plan.rows {
            bail!(
                "--range {} and --writers {} must be at most the rows of a leg, {}",
                plan.range,
                plan.writers,
                plan.rows
            );
        }
    }
    for path in request.engines.iter().flatten() {
        engine::Engine::load(path)?;
    }
    let largest =
        request.legs.iter().map(|leg| needed_bytes(&request.parameters.plan(*leg))).max().unwrap_or(0);
    if let Some(free) = disk::free_bytes(folder).filter(|free| *free < largest) {
        bail!(
            "{}: {} MB free, but {} MB are needed; choose another folder with --dir, or a smaller --scale",
            folder.display(),
            free / 1_000_000,
            largest / 1_000_000
        );
    }
    Ok(())
}

/// Tells what it will take, from above.
fn announce(request: &Request) {
    let plans: Vec<LegPlan> = request.legs.iter().map(|leg| request.parameters.plan(*leg)).collect();
    let bytes = plans.iter().map(needed_bytes).max().unwrap_or(0);
    let once: u64 = plans.iter().map(LegPlan::seconds_expected).sum();
    let all = once * u64::from(request.runs) * request.engines.len() as u64;
    let time = human(Duration::from_secs(all));
    eprintln!("up to {} MB in {}, and up to {time}", bytes / 1_000_000, request.folder.display());
}

/// The database with a third for the log, and room to spare.
fn needed_bytes(plan: &LegPlan) -> u64 {
    plan.database_bytes() * 4 / 3 + (64 << 20)
}

/// Measures each leg on each engine, run by run in turn. The record holds what there is, also when it ends early.
///
/// # Errors
/// What kept it from beginning.
pub fn measure(request: &Request, destination: &Destination) -> Result<Measured> {
    if !request.quiet {
        announce(request);
    }
    MemoryGroup::remove_stale();
    place::remove_stale(&request.folder);
    let recording = Recording::begin(new_record(request), destination)?;
    let mut session = Session { request, recording, progress: Progress::new(request.quiet) };
    let result = session.carry_out();
    session.progress.clear();
    Ok(session.recording.finish(result))
}

struct Session<'a> {
    request: &'a Request<'a>,
    recording: Recording,
    progress: Progress,
}

impl Session<'_> {
    fn carry_out(&mut self) -> Result<()> {
        for number in 1..=self.request.runs {
            for leg in &self.request.legs {
                for engine in &self.request.engines {
                    self.run(number, *leg, engine.as_deref())?;
                    self.recording.save()?;
                }
            }
        }
        Ok(())
    }

    /// One run of one leg on one engine.
    fn run(&mut self, number: u32, name: LegName, engine: Option<&Path>) -> Result<()> {
        let plan = self.request.parameters.plan(name);
        let group = confine(&plan)?;
        let place = match &self.request.reuse {
            Some(folder) => Place::again(folder, &plan)?,
            None => Place::new(&self.request.folder, &plan, self.request.keep)?,
        };
        let job = leg::Job::Oltp(Box::new(Job {
            plan: plan.clone(),
            database: place.database(),
            engine: engine.map(Path::to_path_buf),
        }));
        self.progress.run_begins(format!("{} run {number} of {}", name.name(), self.request.runs), 0);
        let before = noise::Snapshot::take();
        let mut told = Told::default();
        let progress = &mut self.progress;
        let request = self.request;
        let outcome =
            leg::start(&job, group.as_ref(), request.deadline, request.interrupted, &mut |bytes| {
                if told.take(bytes, progress) {
                    told.memory = group.as_ref().and_then(MemoryGroup::usage).or(told.memory.take());
                }
            })?;
        let noise = noise::Interval::between(&before, &noise::Snapshot::take());
        told.memory = group.as_ref().and_then(MemoryGroup::usage).or(told.memory.take());
        if told.measures.iter().any(|(phase, _)| *phase == oltp::Phase::BulkInsert) {
            place.mark(&plan)?;
        }
        let failure = told.failure(&outcome, &plan, plan.memory_limit.filter(|_| group.is_some()));
        let run = Run {
            number,
            warmup: false,
            rejected: failure.clone(),
            flags: Vec::new(),
            total_ms: None,
            wall_ns: Some(outcome.wall.as_nanos() as u64),
            resources: Some(Resources {
                user_us: outcome.usage.user_us,
                system_us: outcome.usage.system_us,
                peak_memory_bytes: None,
                voluntary_switches: Some(outcome.usage.voluntary_switches),
                involuntary_switches: Some(outcome.usage.involuntary_switches),
                major_faults: Some(outcome.usage.major_faults),
            }),
            noise: Some(noise),
            statistics: BTreeMap::new(),
            work: None,
        };
        self.keep(name, engine, told, group.as_ref().zip(plan.memory_limit), run);
        failure.map_or(Ok(()), |failure| Err(CannotMeasure(format!("{}: {failure}", name.name())).into()))
    }

    /// The leg and, of another engine than the bundled one, its file; the whole path where two files have one name.
    fn leg_name(&self, leg: LegName, engine: Option<&Path>) -> String {
        let Some(path) = engine else { return leg.name().to_string() };
        let file = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let namesakes =
            self.request.engines.iter().flatten().filter(|other| file(other) == file(path)).count();
        let engine = if namesakes > 1 { path.display().to_string() } else { file(path) };
        format!("{} ({engine})", leg.name())
    }

    /// Adds the run and its phases to the record.
    fn keep(
        &mut self,
        name: LegName,
        engine: Option<&Path>,
        told: Told,
        group: Option<(&MemoryGroup, u64)>,
        run: Run,
    ) {
        let name = self.leg_name(name, engine);
        let index = match self
            .recording
            .record
            .legs
            .iter()
            .position(|leg| leg.name == name && leg.engine.name == engine_name(engine))
        {
            Some(index) => index,
            None => {
                self.recording.record.legs.push(Leg::new(name, Engine::named(engine_name(engine))));
                self.recording.record.legs.len() - 1
            }
        };
        let leg = &mut self.recording.record.legs[index];
        if let Some(Event::Opened { sqlite_version, source_id, compile_options, pragmas }) = told.opened {
            leg.engine.sqlite_version = Some(sqlite_version);
            leg.engine.source_id = Some(source_id);
            leg.engine.compile_options = compile_options;
            leg.settings = pragmas;
        }
        leg.memory = group.map(|(group, limit_bytes)| Memory {
            limit_bytes,
            mechanism: group.mechanism().to_string(),
            peak_bytes: told.memory.as_ref().and_then(|usage| usage.peak_bytes),
            limit_hits: told.memory.as_ref().and_then(|usage| usage.limit_hits),
        });
        let wrong =
            told.measures.iter().flat_map(|(_, measure)| &measure.checks).find(|check| !check.holds());
        leg.answer = match wrong {
            Some(check) => Answer::Wrong {
                found: format!("{}: {}", check.what, check.found),
                expected: check.expected.clone(),
            },
            None => Answer::Right(format!(
                "{} checks",
                told.measures.iter().map(|(_, m)| m.checks.len()).sum::<usize>()
            )),
        };
        for (phase, measure) in told.measures {
            leg.add(run.number, phase.name(), measure);
        }
        leg.runs.push(run);
    }
}

/// A group with as much memory as the leg may use. Where none can be made, a database larger than the machine's
/// own memory does as well.
fn confine(plan: &LegPlan) -> Result<Option<MemoryGroup>> {
    let Some(memory_bytes) = plan.memory_limit else { return Ok(None) };
    match MemoryGroup::create(Limits { memory_bytes: Some(memory_bytes), cpus: None }) {
        Ok(group) => Ok(Some(group)),
        Err(_) if Host::capture(false).memory.total_bytes.is_some_and(|all| plan.database_bytes() > all) => Ok(None),
        Err(unavailable) => Err(CannotMeasure(format!(
            "the disk-bound leg needs a memory limit, or --rows for more than this machine's memory: {unavailable}"
        ))
        .into()),
    }
}

fn engine_name(engine: Option<&Path>) -> String {
    engine.map_or("bundled SQLite".to_string(), |path| path.display().to_string())
}

fn new_record(request: &Request) -> Record {
    let mut parameters = recording::parameters(&request.parameters);
    parameters.insert("generator".to_string(), oltp::data::GENERATOR.into());
    Beginning {
        suite: oltp::SUITE.name,
        parameters,
        plan: record::Plan { runs: request.runs, max_runs: request.runs, ..record::Plan::default() },
        folder: Some(&request.folder),
        host_name: request.host_name,
    }
    .record()
}
