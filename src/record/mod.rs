//! The record of one execution of a study: every sample, and all that is needed to judge it.
//!
//! The types are also the file format: serde writes them as they are, and `schema.json` is generated from
//! them.

mod failure;
mod file;
mod leg;
mod phase;
mod run;
mod sessions;
pub mod store;

pub use failure::{Cause, Failure};
pub use file::{SCHEMA, Schema, json_schema, read, write};
pub use leg::{Answer, BuildFacts, Engine, Leg, Memory};
pub use phase::{Check, Detail, Health, Latency, Measure, Phase, Quantile, Sample};
pub use run::{ClockGap, Flag, Resources, Run};
pub use sessions::{Capture, Session};

use crate::machine::environment::Environment;
use crate::machine::{Host, disk::Filesystem, noise};
use jiff::Timestamp;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The longest time of a phase or a run in ms, about 31 years; the sum of all times in a file of the largest size
/// still fits into 64 bits.
const LONGEST_MS: i64 = 1_000_000_000_000;

/// All samples of one execution, with its parameters, engines, machine and checks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "repro record")]
pub struct Record {
    /// The version of the format.
    pub schema: Schema,
    /// The SHA-256 of the file with zeros in this place. It shows an accident, not a forgery: whoever changes a
    /// record can change this, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Whether the file was as it had been written; `None` when the record did not come from a file, or its file
    /// does not say.
    #[serde(skip)]
    pub unchanged: Option<bool>,
    /// The name of the study.
    pub study: String,
    /// The program that made the record.
    pub program: Program,
    /// Where the samples were read from, if they come from a saved output and were not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    /// When the execution began, in RFC 3339.
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// When the execution ended, in RFC 3339; absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub finished: Option<Timestamp>,
    /// When the sessions were, if there were several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<Session>,
    /// How the number of runs of a baseline came about; absent for any other record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<Capture>,
    /// The environment in which it was measured; absent for an imported record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Environment>,
    /// Why samples are missing; absent when the plan was carried out completely.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<Failure>,
    /// The parameters of the study, defaults included.
    pub parameters: BTreeMap<String, Value>,
    /// How often the study was to run, and under which constraints.
    pub plan: Plan,
    /// The machine on which the study ran; absent for an imported record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Host>,
    /// Other activity on the machine when the execution began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<noise::Snapshot>,
    /// Other activity on the machine when the execution ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<noise::Snapshot>,
    /// Where SQLite wrote its files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
    /// The sides of the study that were measured.
    pub legs: Vec<Leg>,
    /// Runs of other builds, made to test a claim.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<Variant>,
}

/// The build of this program that made a record, and how it was called.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// The version of the program.
    pub version: String,
    /// The git revision, with `-dirty` appended if the tree had uncommitted changes.
    pub revision: String,
    /// The command line, program name included.
    pub command: Vec<String>,
}

impl Program {
    /// Returns this program as it was called.
    pub fn this() -> Program {
        Program {
            version: env!("CARGO_PKG_VERSION").to_string(),
            revision: env!("REPRO_REVISION").to_string(),
            command: std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect(),
        }
    }
}

/// The lines of a saved output from which a record was read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Imported {
    /// The file as the user named it.
    pub file: String,
    /// The number of the first line, counted from 1.
    pub first_line: usize,
    /// The number of the last line, counted from 1.
    pub last_line: usize,
    /// The line above the runs that tells them from others in the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heading: Option<String>,
    /// The command line in the file that made the runs; without one, a parameter that is absent is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What the user stated.
    #[serde(default, skip_serializing_if = "Stated::is_empty")]
    pub stated: Stated,
}

/// What a user stated about a saved output, which nothing confirms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stated {
    /// The compiler flags, such as `-O3 -DSQLITE_ENABLE_RTREE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flags: Option<String>,
    /// The machine on which it was measured, in the user's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// The date on which it was measured, such as `2026-11-30`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub date: Option<Date>,
}

impl Stated {
    fn is_empty(&self) -> bool {
        *self == Stated::default()
    }
}

/// How often a study is to run, and under which constraints.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The number of uncounted runs at the start.
    pub warmup: u32,
    /// The number of counted runs; with `until`, the smallest number of them.
    pub runs: u32,
    /// The goal for half the width of the total's interval, as a fraction of the total.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<f64>,
    /// The number of runs after which the goal is given up.
    pub max_runs: u32,
    /// The pause before each run, in ms.
    pub cooldown_ms: u64,
    /// The CPU that the engine was bound to; absent when it was not bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<usize>,
}

impl Plan {
    /// Returns a plan of this many counted runs without warm-up, goal or pause.
    pub fn of_runs(runs: u32) -> Plan {
        Plan { runs, max_runs: runs, ..Plan::default() }
    }
}

/// Where SQLite wrote its files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Storage {
    /// The directory as a path.
    pub directory: String,
    /// The filesystem that holds the directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filesystem: Option<Filesystem>,
}

/// Runs of another build, made to test a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// The name of the build, such as `without-rtree`.
    pub name: String,
    /// The compile command.
    pub command: String,
    /// Whether the tool ran to its end, for each run.
    pub completed: Vec<bool>,
    /// The part of the work in which the tool stopped, for each run; `null` when it ran to its end.
    pub stopped_in: Vec<Option<String>>,
    /// The first line that the last run wrote to standard error.
    pub message: String,
}

impl Record {
    /// Returns the record of a measurement that begins now: without legs, and partial until it is finished.
    pub fn beginning(study: &str, parameters: BTreeMap<String, Value>, plan: Plan) -> Record {
        Record {
            schema: Schema,
            sha256: None,
            unchanged: None,
            study: study.to_string(),
            program: Program::this(),
            imported: None,
            started: Timestamp::now(),
            finished: None,
            sessions: Vec::new(),
            capture: None,
            environment: None,
            partial: Some(Failure::of(Cause::UnderWay)),
            parameters,
            plan,
            host: None,
            before: None,
            after: None,
            storage: None,
            legs: Vec::new(),
            variants: Vec::new(),
        }
    }

    /// Returns the leg of this name.
    pub fn leg(&self, name: &str) -> Option<&Leg> {
        self.legs.iter().find(|leg| leg.name == name)
    }

    /// Returns the leg of this name, which `new` makes when there is none yet.
    pub fn leg_or(&mut self, name: &str, new: impl FnOnce() -> Leg) -> &mut Leg {
        let index = self.legs.iter().position(|leg| leg.name == name).unwrap_or_else(|| {
            self.legs.push(new());
            self.legs.len() - 1
        });
        &mut self.legs[index]
    }

    /// Returns what the user stated about an imported record.
    pub fn stated(&self) -> Option<&Stated> {
        self.imported.as_ref().map(|imported| &imported.stated)
    }

    /// Returns whether a parameter that is absent has its default. A saved output without the command that made
    /// it says nothing about most options.
    pub fn knows_every_parameter(&self) -> bool {
        self.imported.as_ref().is_none_or(|imported| imported.command.is_some())
    }

    /// Returns the words of a leg's compile command that change the code it produces, as the build or the user
    /// says; `None` when nobody does.
    pub fn flags(&self, leg: &Leg) -> Option<Vec<String>> {
        let built = leg.engine.build.as_ref().map(|build| build.command.as_str());
        built.or_else(|| self.stated()?.flags.as_deref()).map(compile_flags)
    }

    /// Returns whether every engine is the pinned one: `false` when one is known not to be, `None` when none
    /// is known not to be but one is unknown.
    pub fn pinned(&self) -> Option<bool> {
        let mut known = self.legs.iter().map(|leg| leg.engine.pinned());
        match known.clone().any(|pinned| pinned == Some(false)) {
            true => Some(false),
            false => known.all(|pinned| pinned.is_some()).then_some(true),
        }
    }

    /// Checks that every time is one that can be measured, so that sums of them are sound.
    fn check_times(&self) -> Result<(), String> {
        let longest_ns = LONGEST_MS as u64 * 1_000_000;
        for leg in &self.legs {
            for (phase, sample) in leg.all_samples() {
                let measure = &sample.measure;
                let reported = measure.reported_ms.is_none_or(|ms| ms.abs() <= LONGEST_MS);
                if !reported || measure.elapsed_ns.is_some_and(|ns| ns > longest_ns) {
                    return Err(format!("{} {phase}, run {}: no run takes that long", leg.name, sample.run));
                }
            }
            let too_long = |run: &&Run| {
                run.total_ms.is_some_and(|ms| ms.abs() > LONGEST_MS)
                    || run.wall_ns.is_some_and(|ns| ns > longest_ns)
            };
            if let Some(run) = leg.runs.iter().find(too_long) {
                return Err(format!("run {} of {}: no run takes that long", run.number, leg.name));
            }
        }
        Ok(())
    }

    /// Checks what must hold for any record, measured or imported: each TOTAL is the sum of its rows. Only a saved
    /// output that is not whole may lack TOTAL.
    ///
    /// # Errors
    /// Names the run that breaks the rule, with both numbers.
    pub fn check(&self) -> Result<(), String> {
        self.check_times()?;
        for leg in &self.legs {
            for run in leg.runs.iter().filter(|run| run.rejected.is_none()) {
                let Some(sum) = leg.sum_of_rows(run.number) else { continue };
                let cut = self.imported.is_some() && self.partial.is_some() && run.total_ms.is_none();
                if run.total_ms != Some(sum) && !cut {
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

/// Returns the words of a compile command that change the code it produces, in alphabetical order.
pub fn compile_flags(command: &str) -> Vec<String> {
    let matters = |word: &&str| ["-O", "-D", "-m", "-f"].iter().any(|kind| word.starts_with(kind));
    // `-DX=1` is what the compiler makes of `-DX`.
    let plain =
        |word: &str| word.strip_suffix("=1").filter(|_| word.starts_with("-D")).unwrap_or(word).to_string();
    let mut flags: Vec<String> = command.split_whitespace().filter(matters).map(plain).collect();
    flags.sort();
    flags.dedup();
    flags
}

fn is_false(flag: &bool) -> bool {
    !flag
}
