//! What happened: one execution of a study, with every sample, and all that is needed to judge it.
//!
//! The types are the file format, too: serde writes them as they are, and `schema.json` is generated from them.

mod failure;
mod file;
mod leg;
mod phase;
mod run;
pub mod store;

pub use failure::{Cause, Failure};
pub use file::{SCHEMA, Schema, json_schema, read, write};
pub use leg::{Answer, BuildFacts, Engine, Leg, Memory};
pub use phase::{Check, Detail, Health, Latency, Measure, Phase, Quantile, Sample};
pub use run::{ClockGap, Flag, Resources, Run};

use crate::machine::{Host, disk::Filesystem, noise};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// All samples of one execution, with parameters, engines, machine and checks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "repro record")]
pub struct Record {
    /// Version of the format.
    pub schema: Schema,
    /// Name of the study.
    pub study: String,
    /// The program that made the record.
    pub program: Program,
    /// Present when the samples were read from a saved output instead of measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    /// When it began, RFC 3339.
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// When it ended; absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub finished: Option<Timestamp>,
    /// Absent when the plan was carried out; otherwise why samples are missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<Failure>,
    /// The study's parameters, defaults included.
    pub parameters: BTreeMap<String, Value>,
    /// How often, and under which constraints.
    pub plan: Plan,
    /// The machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Host>,
    /// Other activity on the machine when it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<noise::Snapshot>,
    /// And when it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<noise::Snapshot>,
    /// Where data was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
    /// The sides that were measured.
    pub legs: Vec<Leg>,
    /// Runs of other builds, made to test a claim.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<Variant>,
}

/// Which build of this program, and how it was called.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Its version.
    pub version: String,
    /// Its git revision, with `-dirty` when the tree had changes.
    pub revision: String,
    /// Its arguments.
    pub command: Vec<String>,
}

impl Program {
    /// This program, as it was called.
    pub fn this() -> Program {
        Program {
            version: env!("CARGO_PKG_VERSION").to_string(),
            revision: env!("REPRO_REVISION").to_string(),
            command: std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect(),
        }
    }
}

/// The lines of a saved output that a record was read from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Imported {
    /// The file as the user named it.
    pub file: String,
    /// The first line, from 1.
    pub first_line: usize,
    /// The last line.
    pub last_line: usize,
}

/// How often the study was to run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Runs that are not counted, first.
    pub warmup: u32,
    /// Counted runs, or the fewest of them with `until`.
    pub runs: u32,
    /// The aim for half the interval of the total, as a fraction of it …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<f64>,
    /// … and the number of runs after which it is given up.
    pub max_runs: u32,
    /// Pause before each run, ms.
    pub cooldown_ms: u64,
    /// The CPU that the engine was bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<usize>,
}

impl Plan {
    /// So many counted runs, and nothing else.
    pub fn of_runs(runs: u32) -> Plan {
        Plan { runs, max_runs: runs, ..Plan::default() }
    }
}

/// Where SQLite wrote its files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Storage {
    /// The folder.
    pub directory: String,
    /// The filesystem that holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filesystem: Option<Filesystem>,
}

/// Runs of another build.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// What was built, such as `without-rtree`.
    pub name: String,
    /// The compile command.
    pub command: String,
    /// Whether it came to its end, in each run.
    pub completed: Vec<bool>,
    /// The part of the work in which each run stopped.
    pub stopped_in: Vec<Option<String>>,
    /// What it said.
    pub message: String,
}

impl Record {
    /// A record of a measurement that begins now: without legs, and partial until it is finished.
    pub fn beginning(study: &str, parameters: BTreeMap<String, Value>, plan: Plan) -> Record {
        Record {
            schema: Schema,
            study: study.to_string(),
            program: Program::this(),
            imported: None,
            started: Timestamp::now(),
            finished: None,
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

    /// The leg of this name.
    pub fn leg(&self, name: &str) -> Option<&Leg> {
        self.legs.iter().find(|leg| leg.name == name)
    }

    /// Whether every engine is the pinned one; `None` when that is not known of one, and of no other that it is not.
    pub fn pinned(&self) -> Option<bool> {
        let mut known = self.legs.iter().map(|leg| leg.engine.pinned());
        match known.clone().any(|pinned| pinned == Some(false)) {
            true => Some(false),
            false => known.all(|pinned| pinned.is_some()).then_some(true),
        }
    }

    /// Checks what must hold of any record, however it came: each TOTAL is the sum of its rows.
    ///
    /// # Errors
    /// The run that breaks the rule.
    pub fn check(&self) -> Result<(), String> {
        for leg in &self.legs {
            for run in leg.runs.iter().filter(|run| run.rejected.is_none()) {
                let Some(sum) = leg.sum_of_rows(run.number) else { continue };
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

fn is_false(flag: &bool) -> bool {
    !flag
}
