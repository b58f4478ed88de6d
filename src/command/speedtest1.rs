//! Measures speedtest1: joins suite, driver and plan, and writes down what happened as it happens.

use super::{CannotMeasure, folders};
use crate::cli::{PlaceArgs, PlanArgs};
use crate::driver::native::{self, BUILD, NativeRun, Setting};
use crate::driver::process::{self, Ending};
use crate::driver::variant;
use crate::environment::{Host, disk, noise};
use crate::measure::{Next, Plan, Progress};
use crate::record::store::Target;
use crate::record::{
    self, Answer, BuildFacts, Engine, Leg, Origin, Probe, Program, Record, Resources, Run, Sample, Step,
    Storage,
};
use crate::suite::speedtest1::{Database, Workload, answers};
use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A build of the tool without the R-tree, for the claim about it.
pub const WITHOUT_RTREE: &str = "without-rtree";
const WITHOUT_RTREE_FLAGS: &[&str] = &["-O3"];
/// The publication tried it three times.
const PROBE_RUNS: usize = 3;
/// `reported` counts whole milliseconds and `observed` passes through a pipe and a scheduler.
const DISAGREEMENT_MS: f64 = 5.0;
/// Runs in which the wall clock was stepped are repeated, but not for ever.
const MOST_REJECTIONS: usize = 3;

/// What to measure.
pub struct Request<'a> {
    /// The work.
    pub workload: Workload,
    /// How often.
    pub plan: Plan,
    /// The only CPU for the tool.
    pub cpu: Option<usize>,
    /// Longest time for one run.
    pub deadline: Duration,
    /// Whether the answers are checked first.
    pub check_answer: bool,
    /// Where the data goes.
    pub place: PlaceArgs,
    /// Whether the record names the host.
    pub host_name: bool,
    /// Whether progress stays hidden.
    pub quiet: bool,
    /// Whether other builds are probed too.
    pub variants: bool,
    /// Set from outside when the user wants it to end.
    pub interrupted: &'a AtomicBool,
}

impl<'a> Request<'a> {
    /// Checks the options against each other and against the machine.
    ///
    /// # Errors
    /// The option that can't be, with what to do.
    pub fn new(
        mut workload: Workload,
        plan: &PlanArgs,
        place: &PlaceArgs,
        interrupted: &'a AtomicBool,
    ) -> Result<Self> {
        workload.database = match (workload.memdb, &place.database) {
            (true, _) => Database::Memory,
            (false, Some(_)) => Database::File,
            (false, None) => workload.database,
        };
        workload.check().map_err(anyhow::Error::msg)?;
        check_place(&workload, place)?;
        let allowed = process::allowed_cpus();
        if let Some(cpu) = plan.pin.filter(|cpu| !allowed.contains(cpu)) {
            bail!("--pin {cpu}: this process may use the CPUs {allowed:?}");
        }
        let runs = plan.runs.unwrap_or(5);
        let above = u64::from(workload.size.saturating_sub(100));
        let deadline = plan.deadline.map_or(Duration::from_secs(600 + 6 * above), Duration::from_secs_f64);
        Ok(Request {
            workload,
            plan: Plan {
                warmup: plan.warmup.unwrap_or(1),
                runs,
                until: plan.until_ci,
                max_runs: plan.max_runs.unwrap_or(30).max(runs),
                cooldown: Duration::from_secs_f64(plan.cooldown),
            },
            cpu: plan.pin,
            deadline,
            check_answer: !plan.no_answer_check,
            place: place.clone(),
            host_name: false,
            quiet: false,
            variants: false,
            interrupted,
        })
    }
}

/// The tool deletes the file that it is given, so only a name that is free will do.
fn check_place(workload: &Workload, place: &PlaceArgs) -> Result<()> {
    let directory = match &place.database {
        Some(path) => {
            if let Some(taken) = database_files(path).iter().find(|file| file.symlink_metadata().is_ok()) {
                bail!(
                    "--database {}: {} exists, and speedtest1 would delete it; name a new file",
                    path.display(),
                    taken.display()
                );
            }
            path.parent()
                .filter(|parent| !parent.as_os_str().is_empty())
                .unwrap_or(Path::new("."))
                .to_path_buf()
        }
        None => disk::sqlite_temporary_directory(place.temp_dir.as_deref()),
    };
    if let Some(dir) = place.temp_dir.as_deref().filter(|dir| directory != *dir && place.database.is_none()) {
        bail!("--temp-dir {}: not a folder that can be written to", dir.display());
    }
    let writable =
        nix::unistd::access(&directory, nix::unistd::AccessFlags::W_OK | nix::unistd::AccessFlags::X_OK);
    if workload.database != Database::Memory && writable.is_err() {
        bail!("{}: no permission to write there, or no such folder", directory.display());
    }
    let needed = workload.disk_bytes();
    if let Some(free) = disk::free_bytes(&directory).filter(|free| *free < needed) {
        bail!(
            "{}: {} MB free, but size {} may take {} MB; choose another place with --temp-dir or --database",
            directory.display(),
            free / 1_000_000,
            workload.size,
            needed / 1_000_000
        );
    }
    Ok(())
}

/// The database and the files that SQLite puts beside it.
fn database_files(path: &Path) -> Vec<PathBuf> {
    let beside = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    vec![path.to_path_buf(), beside("-journal"), beside("-wal"), beside("-shm")]
}

/// Measures what `request` says; `target` always holds what there is so far.
///
/// # Errors
/// [`CannotMeasure`] when it did not come to its end; the record with the samples so far is saved all the same.
pub fn measure(request: &Request, target: Option<&Target>) -> Result<Record> {
    let cache = folders::cache()?;
    let tool = native::unpack(&cache)?;
    let launcher = process::own_path().context("/proc/self/exe can't be read; is /proc mounted?")?;
    let mut session = Session {
        request,
        target,
        setting: Setting {
            tool: &tool,
            launcher: &launcher,
            database: request.place.database.as_deref(),
            temporary: request.place.temp_dir.as_deref(),
            cpu: request.cpu,
            deadline: request.deadline,
        },
        record: new_record(request),
        progress: Progress::new(request.quiet),
    };
    session.save()?;
    let result = session.carry_out(&cache);
    session.progress.clear();
    session.record.finished = Some(Timestamp::now());
    session.record.after = Some(noise::Snapshot::take());
    if !request.place.keep_database {
        for file in request.place.database.iter().flat_map(|path| database_files(path)) {
            let _ = std::fs::remove_file(file);
        }
    }
    session.record.partial = result.as_ref().err().map(|error| error.to_string());
    session.save()?;
    result.map(|()| session.record.clone()).map_err(|error| match session.record.legs[0].runs.is_empty() {
        true => error,
        false => error.context(Unfinished(Box::new(session.record))),
    })
}

/// Carries the record of a measurement that did not come to its end along with the error.
#[derive(Debug)]
pub struct Unfinished(pub Box<Record>);

impl std::fmt::Display for Unfinished {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the measurement did not come to its end; the samples so far are kept")
    }
}

struct Session<'a> {
    request: &'a Request<'a>,
    target: Option<&'a Target>,
    setting: Setting<'a>,
    record: Record,
    progress: Progress,
}

impl Session<'_> {
    fn save(&self) -> Result<()> {
        self.target.map_or(Ok(()), |target| target.save(&self.record))
    }

    fn carry_out(&mut self, cache: &Path) -> Result<()> {
        if self.request.check_answer {
            self.check_answer()?;
        }
        if self.request.variants {
            self.probe_variants(cache)?;
        }
        loop {
            let leg = &self.record.legs[0];
            let warmups = leg.runs.iter().filter(|run| run.warmup).count() as u32;
            match self.request.plan.next(warmups, &leg.totals(), leg.total_error()) {
                Next::Done => return Ok(()),
                next => self.run(next == Next::WarmUp)?,
            }
            self.save()?;
        }
    }

    /// One untimed run with `--verify`, whose hash says whether this build computes the right results.
    fn check_answer(&mut self) -> Result<()> {
        self.progress.stage("checking the answers: one untimed run with --verify");
        let workload = Workload { verify: true, stats: false, ..self.request.workload.clone() };
        let run = native::run(&self.setting, &workload, self.request.interrupted, &mut |_| {})?;
        if let Some(failure) = run.failure {
            return Err(CannotMeasure(format!("the answer check failed: {failure}")).into());
        }
        let Some(found) = run.output.hash else {
            return Err(CannotMeasure("the answer check printed no verification hash".to_string()).into());
        };
        if found.bytes == 0 {
            let reason =
                format!("the testsets {} put no results into the hash", self.request.workload.testset);
            self.record.legs[0].answer = Answer::NotChecked(reason);
            return self.save();
        }
        let found = format!("{} {}", found.bytes, found.hash);
        let expected = answers::known(BUILD.sqlite_version, &self.request.workload)
            .map(|known| format!("{} {}", known.bytes, known.hash));
        self.record.legs[0].answer = match expected {
            Some(expected) if expected == found => Answer::Right(found),
            None => Answer::Unknown(found),
            Some(expected) => {
                let message = format!(
                    "wrong answers: verification hash {found}, expected {expected}; nothing was timed"
                );
                self.record.legs[0].answer = Answer::Wrong { found, expected };
                return Err(CannotMeasure(message).into());
            }
        };
        self.save()
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
        self.record.probes.push(probe);
        self.save()
    }

    fn run(&mut self, warmup: bool) -> Result<()> {
        let runs = &self.record.legs[0].runs;
        let number = runs.len() as u32 + 1;
        if number > 1 {
            self.cool_down()?;
        }
        let rest = self.request.plan.runs.saturating_sub(self.record.legs[0].counted().len() as u32);
        let (label, after) = match warmup {
            true => ("warm-up".to_string(), rest),
            false => {
                let done = self.record.legs[0].counted().len() as u32 + 1;
                let of = if self.request.plan.until.is_some() { "at least " } else { "" };
                (format!("run {done} of {of}{}", self.request.plan.runs.max(done)), rest.saturating_sub(1))
            }
        };
        self.progress.run_begins(label, after);
        let before = noise::Snapshot::take();
        let progress = &mut self.progress;
        let run =
            native::run(&self.setting, &self.request.workload, self.request.interrupted, &mut |event| {
                if let native::Progress::Step(key, name) = event {
                    progress.step_begins(key, name);
                }
            })?;
        let interval = noise::Interval::between(&before, &noise::Snapshot::take());
        self.progress.run_ends();
        self.keep(number, warmup, &run, interval);
        self.judge(run)
    }

    /// A run that ended otherwise than well ends the measurement, except when only the clock was stepped.
    fn judge(&self, run: NativeRun) -> Result<()> {
        let Some(failure) = run.failure else { return Ok(()) };
        let rejections = self.record.legs[0].runs.iter().filter(|run| run.rejected.is_some()).count();
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

    /// Adds the run and its samples to the record.
    fn keep(&mut self, number: u32, warmup: bool, run: &NativeRun, noise: noise::Interval) {
        let leg = &mut self.record.legs[0];
        if let (None, Some(banner)) = (&leg.engine.source_id, &run.output.banner) {
            leg.engine.source_id = Some(banner.source_id.clone());
        }
        for (row, span) in run.output.steps.iter().zip(&run.spans) {
            let observed_ns = span.ended.map(|ended| (ended - span.started).as_nanos() as u64);
            let sample = Sample { run: number, reported_ms: row.reported_ms, observed_ns };
            match leg.steps.iter_mut().find(|step| step.key == row.key) {
                Some(step) => step.samples.push(sample),
                None => leg.steps.push(Step {
                    key: row.key.clone(),
                    name: row.name.clone(),
                    samples: vec![sample],
                }),
            }
        }
        leg.runs.push(Run {
            number,
            warmup,
            rejected: run.failure.clone(),
            flags: flags(run, &leg.answer),
            total_ms: run.output.total_ms,
            wall_ns: Some(run.wall.as_nanos() as u64),
            resources: Some(Resources {
                user_us: run.usage.user_us,
                system_us: run.usage.system_us,
                peak_memory_bytes: run.peak_memory,
                voluntary_switches: run.usage.voluntary_switches,
                involuntary_switches: run.usage.involuntary_switches,
                major_faults: run.usage.major_faults,
            }),
            noise: Some(noise),
            statistics: statistics(run),
        });
    }
}

fn statistics(run: &NativeRun) -> BTreeMap<String, String> {
    let mut all: BTreeMap<String, String> = run.output.statistics.iter().cloned().collect();
    if !run.output.compile_options.is_empty() {
        all.insert("Compile options".to_string(), run.output.compile_options.join(" "));
    }
    all
}

/// What a reader should know of a run that counts all the same.
fn flags(run: &NativeRun, answer: &Answer) -> Vec<String> {
    let mut flags = Vec::new();
    let off = |(row, span): (&crate::suite::speedtest1::StepRow, &native::Span)| {
        let observed = (span.ended? - span.started).as_secs_f64() * 1000.0;
        let difference = observed - row.reported_ms as f64;
        (difference.abs() > DISAGREEMENT_MS)
            .then(|| format!("{}: {} ms reported, {observed:.1} ms observed", row.key, row.reported_ms))
    };
    let disagreements: Vec<String> = run.output.steps.iter().zip(&run.spans).filter_map(off).collect();
    if !disagreements.is_empty() {
        flags.push(format!("clocks disagree: {}", disagreements.join("; ")));
    }
    if let (Some(hash), Answer::Right(expected) | Answer::Unknown(expected)) = (&run.output.hash, answer) {
        let found = format!("{} {}", hash.bytes, hash.hash);
        if found != *expected {
            flags.push(format!("answers differ from the first run's: verification hash {found}"));
        }
    }
    if let Some(line) = run.stderr.lines().next().filter(|_| run.failure.is_none()) {
        flags.push(format!("wrote to standard error: {line}"));
    }
    flags
}

fn new_record(request: &Request) -> Record {
    let directory = match &request.place.database {
        Some(path) => {
            path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_path_buf()
        }
        None => disk::sqlite_temporary_directory(request.place.temp_dir.as_deref()),
    };
    let storage = (request.workload.database != Database::Memory).then(|| Storage {
        filesystem: disk::filesystem_of(&directory),
        directory: directory.display().to_string(),
    });
    Record {
        suite: "speedtest1".to_string(),
        program: program(),
        origin: Origin::Measured,
        started: Timestamp::now(),
        finished: None,
        partial: Some("under way, or ended by force".to_string()),
        parameters: parameters(&request.workload),
        plan: record::Plan {
            warmup: request.plan.warmup,
            runs: request.plan.runs,
            until: request.plan.until,
            max_runs: request.plan.max_runs,
            cooldown_ms: request.plan.cooldown.as_millis() as u64,
            cpu: request.cpu,
        },
        host: Some(Host::capture(request.host_name)),
        before: Some(noise::Snapshot::take()),
        after: None,
        storage,
        legs: vec![Leg {
            name: "native".to_string(),
            engine: engine(),
            answer: Answer::NotChecked("the check was left out".to_string()),
            runs: Vec::new(),
            steps: Vec::new(),
        }],
        probes: Vec::new(),
    }
}

/// This program, as it was called.
pub fn program() -> Program {
    Program {
        version: env!("CARGO_PKG_VERSION").to_string(),
        revision: env!("REPRO_REVISION").to_string(),
        command: std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect(),
    }
}

/// The workload as a record holds it.
pub fn parameters(workload: &Workload) -> BTreeMap<String, Value> {
    match serde_json::to_value(workload) {
        Ok(Value::Object(map)) => map.into_iter().collect(),
        _ => BTreeMap::new(),
    }
}

fn engine() -> Engine {
    Engine {
        name: "speedtest1".to_string(),
        sqlite_version: Some(BUILD.sqlite_version.to_string()),
        source_id: Some(BUILD.source_id.to_string()),
        build: Some(BuildFacts {
            pinned: BUILD.pinned,
            origin: BUILD.origin.to_string(),
            sources: BUILD.sources.iter().map(|(name, hash)| (name.to_string(), hash.to_string())).collect(),
            command: BUILD.command.to_string(),
            compiler: BUILD.compiler_version.to_string(),
            executable: BUILD.sha256.to_string(),
        }),
    }
}
