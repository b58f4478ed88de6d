//! What happened: one execution of a suite, with every sample, and all that is needed to judge it.
//!
//! These are the types that the program works with; [`mod@format`] is what stands in a file.

pub mod format;
pub mod store;

use crate::environment::{Host, disk::Filesystem, noise};
use crate::stats::Summary;
use crate::suite::StepKey;
use crate::suite::measure::Measure;
use jiff::Timestamp;
use serde_json::Value;
use std::collections::BTreeMap;

/// All samples of one execution, with parameters, engine, host and checks.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Name of the suite.
    pub suite: String,
    /// The program that made the record.
    pub program: Program,
    /// Measured here, or read from a saved output.
    pub origin: Origin,
    /// When it began.
    pub started: Timestamp,
    /// When it ended; `None` while it runs.
    pub finished: Option<Timestamp>,
    /// `None` when the plan was carried out; otherwise why samples are missing.
    pub partial: Option<String>,
    /// The suite's parameters, defaults included.
    pub parameters: BTreeMap<String, Value>,
    /// How often, and under which constraints.
    pub plan: Plan,
    /// The machine.
    pub host: Option<Host>,
    /// Other activity on the machine when it began.
    pub before: Option<noise::Snapshot>,
    /// And when it ended.
    pub after: Option<noise::Snapshot>,
    /// Where data was written.
    pub storage: Option<Storage>,
    /// The sides that were measured; speedtest1 has one.
    pub legs: Vec<Leg>,
    /// Runs of other builds, made to test a claim.
    pub probes: Vec<Probe>,
}

/// Which build of this program, called how.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// Its version.
    pub version: String,
    /// Its git revision, with `-dirty` when the tree had changes.
    pub revision: String,
    /// Its arguments.
    pub command: Vec<String>,
}

/// Where the samples come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    /// This program ran the tool.
    Measured,
    /// These lines of a file that holds the tool's output.
    Imported {
        /// As named by the user.
        file: String,
        /// First and last line, from 1.
        lines: (usize, usize),
    },
}

/// How often the suite was to run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Runs that are not counted, first.
    pub warmup: u32,
    /// Counted runs, or the fewest of them with `until`.
    pub runs: u32,
    /// Go on until half the interval of TOTAL is at most this fraction of it …
    pub until: Option<f64>,
    /// … or this many runs are done.
    pub max_runs: u32,
    /// Pause before each run, ms.
    pub cooldown_ms: u64,
    /// The CPU that the tool was bound to.
    pub cpu: Option<usize>,
}

/// Where SQLite wrote its files.
#[derive(Clone, Debug, PartialEq)]
pub struct Storage {
    /// The folder.
    pub directory: String,
    /// The filesystem that holds it.
    pub filesystem: Option<Filesystem>,
}

/// One side of a suite.
#[derive(Clone, Debug, PartialEq)]
pub struct Leg {
    /// Such as `native`.
    pub name: String,
    /// What was measured.
    pub engine: Engine,
    /// Whether its answers are right.
    pub answer: Answer,
    /// Runs in order.
    pub runs: Vec<Run>,
    /// Timed lines in the order they ran.
    pub steps: Vec<Step>,
    /// Phases of a workload in the order they ran.
    pub phases: Vec<Phase>,
    /// Settings of the engine, read back from it.
    pub settings: BTreeMap<String, String>,
    /// The memory that the leg was confined to.
    pub memory: Option<Memory>,
}

/// The memory of a leg that ran in a control group.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// Limit, page cache included, bytes.
    pub limit_bytes: u64,
    /// What set it: `cgroup v1`, `cgroup v2` or `systemd scope`.
    pub mechanism: String,
    /// The most that was charged, bytes.
    pub peak_bytes: Option<u64>,
    /// How often the limit was hit.
    pub limit_hits: Option<u64>,
}

/// The SQLite that was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Engine {
    /// Such as `speedtest1`.
    pub name: String,
    /// `None` when the output did not say.
    pub sqlite_version: Option<String>,
    /// As the engine itself reported it.
    pub source_id: Option<String>,
    /// How it was built; `None` when unknown.
    pub build: Option<BuildFacts>,
    /// What `PRAGMA compile_options` said, where it was asked.
    pub compile_options: Vec<String>,
}

/// How an engine was built.
#[derive(Clone, Debug, PartialEq)]
pub struct BuildFacts {
    /// Whether the sources are the pinned ones.
    pub pinned: bool,
    /// Route and name by which the sources came.
    pub origin: String,
    /// SHA-256 of each source, by name.
    pub sources: BTreeMap<String, String>,
    /// The compile command.
    pub command: String,
    /// What the compiler calls itself.
    pub compiler: String,
    /// SHA-256 of the executable.
    pub executable: String,
}

/// Result of the answer check.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The hash is the known one.
    Right(String),
    /// The hash differs from the known one.
    Wrong {
        /// As printed.
        found: String,
        /// As known.
        expected: String,
    },
    /// No answer is known for this version, size and testset list.
    Unknown(String),
    /// There was no check, for this reason.
    NotChecked(String),
}

/// One execution of the engine.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// From 1, warm-ups included.
    pub number: u32,
    /// Not to be counted.
    pub warmup: bool,
    /// Why it can't be counted.
    pub rejected: Option<String>,
    /// Things that a reader should know of it.
    pub flags: Vec<String>,
    /// The tool's TOTAL, ms.
    pub total_ms: Option<i64>,
    /// From start to end of the process, ns.
    pub wall_ns: Option<u64>,
    /// What it used.
    pub resources: Option<Resources>,
    /// What else the machine did meanwhile.
    pub noise: Option<noise::Interval>,
    /// Lines of `--stats`.
    pub statistics: BTreeMap<String, String>,
    /// SHA-256 of the SQL and arguments that ran, in order, where they were hashed.
    pub work: Option<String>,
}

impl Run {
    /// Whether its samples go into the statistics.
    pub fn counts(&self) -> bool {
        !self.warmup && self.rejected.is_none()
    }
}

/// Resources of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Resources {
    /// CPU time in user mode, µs.
    pub user_us: u64,
    /// CPU time in the kernel, µs.
    pub system_us: u64,
    /// Largest resident set, bytes.
    pub peak_memory_bytes: Option<u64>,
    /// Times that it waited.
    pub voluntary_switches: Option<u64>,
    /// Times that it was made to wait.
    pub involuntary_switches: Option<u64>,
    /// Page faults that needed a disk.
    pub major_faults: Option<u64>,
}

/// One timed line and its samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Identity.
    pub key: StepKey,
    /// As the tool prints it.
    pub name: String,
    /// One of each run that came so far.
    pub samples: Vec<Sample>,
}

/// One measured value of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Number of the run.
    pub run: u32,
    /// The time that the tool printed, ms: the one to cite.
    pub reported_ms: i64,
    /// The time between the row's appearance and its end, by our monotonic clock, ns.
    pub observed_ns: Option<u64>,
}

/// One phase of a workload and its samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Such as `select-primary-key`.
    pub name: String,
    /// One of each run that came so far.
    pub samples: Vec<PhaseSample>,
}

/// What one run measured in a phase.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseSample {
    /// Number of the run.
    pub run: u32,
    /// The measure.
    pub measure: Measure,
}

/// A run of another build.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// What was built: `without-rtree`.
    pub name: String,
    /// The compile command.
    pub command: String,
    /// Whether it came to TOTAL, in each run.
    pub completed: Vec<bool>,
    /// The testset in which each run stopped.
    pub stopped_in: Vec<Option<String>>,
    /// What it said.
    pub message: String,
}

/// The tool's clock counts whole milliseconds; a difference of two readings is off by less than one.
pub const CLOCK_ERROR_MS: f64 = 1.0;

/// The error of a sum of `rows` times, ms. The errors of the rows are independent and average out: each has
/// a standard deviation of 0.41 ms (two truncated readings), so that √rows ms are 2.4 of the sum's.
pub fn clock_error_of_sum(rows: usize) -> f64 {
    CLOCK_ERROR_MS * (rows as f64).sqrt()
}

impl Engine {
    /// One of which nothing but its name is known yet.
    pub fn named(name: impl Into<String>) -> Engine {
        Engine {
            name: name.into(),
            sqlite_version: None,
            source_id: None,
            build: None,
            compile_options: Vec::new(),
        }
    }
}

impl Leg {
    /// One that has not run yet.
    pub fn new(name: impl Into<String>, engine: Engine) -> Leg {
        Leg {
            name: name.into(),
            engine,
            answer: Answer::NotChecked("nothing has ended".to_string()),
            runs: Vec::new(),
            steps: Vec::new(),
            phases: Vec::new(),
            settings: BTreeMap::new(),
            memory: None,
        }
    }

    /// Adds what a run measured in a phase.
    pub fn add(&mut self, run: u32, phase: &str, measure: Measure) {
        let sample = PhaseSample { run, measure };
        match self.phases.iter_mut().find(|known| known.name == phase) {
            Some(known) => known.samples.push(sample),
            None => self.phases.push(Phase { name: phase.to_string(), samples: vec![sample] }),
        }
    }

    /// Numbers of the runs that count.
    pub fn counted(&self) -> Vec<u32> {
        self.runs.iter().filter(|run| run.counts()).map(|run| run.number).collect()
    }

    /// TOTAL of each counted run, ms.
    pub fn totals(&self) -> Vec<f64> {
        let counted = self.runs.iter().filter(|run| run.counts());
        counted.filter_map(|run| run.total_ms).map(|ms| ms as f64).collect()
    }

    /// The clock's error of a TOTAL, ms.
    pub fn total_error(&self) -> f64 {
        clock_error_of_sum(self.steps.len())
    }

    /// TOTAL in summary.
    pub fn total(&self) -> Option<Summary> {
        Summary::of(&self.totals(), self.total_error())
    }

    /// Reported times of a step in the counted runs, ms.
    pub fn reported(&self, step: &Step) -> Vec<f64> {
        let counted = self.counted();
        let samples = step.samples.iter().filter(|sample| counted.contains(&sample.run));
        samples.map(|sample| sample.reported_ms as f64).collect()
    }

    /// Observed times of a step in the counted runs, ms.
    pub fn observed(&self, step: &Step) -> Vec<f64> {
        let counted = self.counted();
        let samples = step.samples.iter().filter(|sample| counted.contains(&sample.run));
        samples.filter_map(|sample| sample.observed_ns).map(|ns| ns as f64 / 1e6).collect()
    }

    /// The measures of a phase in the counted runs.
    pub fn measures(&self, phase: &str) -> Vec<&Measure> {
        let counted = self.counted();
        let phase = self.phases.iter().find(|candidate| candidate.name == phase);
        let samples =
            phase.iter().flat_map(|phase| &phase.samples).filter(|sample| counted.contains(&sample.run));
        samples.map(|sample| &sample.measure).collect()
    }

    /// The step of this key.
    pub fn step(&self, key: &StepKey) -> Option<&Step> {
        self.steps.iter().find(|step| step.key == *key)
    }
}

impl Record {
    /// The leg of this name.
    pub fn leg(&self, name: &str) -> Option<&Leg> {
        self.legs.iter().find(|leg| leg.name == name)
    }

    /// Whether every engine was built from the pinned sources, or is the pinned program; `None` when that is not
    /// known of one, and of no other that it is not.
    pub fn pinned(&self) -> Option<bool> {
        let builds = || self.legs.iter().map(|leg| leg.engine.build.as_ref());
        if builds().flatten().any(|build| !build.pinned) {
            return Some(false);
        }
        builds().all(|build| build.is_some()).then_some(true)
    }

    /// Checks what must hold of any record, however it came: each TOTAL is the sum of its rows.
    ///
    /// # Errors
    /// The run that breaks the rule.
    pub fn check(&self) -> Result<(), String> {
        for leg in &self.legs {
            for run in leg.runs.iter().filter(|run| run.rejected.is_none() && !leg.steps.is_empty()) {
                let samples = leg.steps.iter().flat_map(|step| &step.samples).filter(|s| s.run == run.number);
                let sum: i64 = samples.map(|sample| sample.reported_ms).sum();
                if run.total_ms != Some(sum) {
                    return Err(format!(
                        "run {} of leg `{}`: TOTAL is {} ms, but its rows add up to {sum} ms",
                        run.number,
                        leg.name,
                        run.total_ms.map_or("missing".to_string(), |ms| ms.to_string())
                    ));
                }
            }
        }
        Ok(())
    }
}
