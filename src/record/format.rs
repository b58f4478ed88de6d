//! The file format of a record: JSON, one object, `schema` first. `schema.json` is generated from these types.
//!
//! They are apart from the types the program works with, so that either can change without the other.
//! Facts that are only carried along (host, noise) stand in the file as they are.

mod convert;

use super::Record;
use crate::environment::{Host, disk::Filesystem, noise};
use crate::suite::StepKey;
use crate::suite::measure::Measure;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The version that this program writes, and the newest that it reads.
pub const SCHEMA: u64 = 1;

/// A record of `repro`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "repro record")]
#[allow(missing_docs)]
pub struct RecordFile {
    /// Version of this format.
    pub schema: u64,
    /// Name of the suite.
    pub suite: String,
    pub program: ProgramFile,
    /// Present when the samples were read from a saved output instead of measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imported: Option<ImportedFile>,
    /// RFC 3339.
    #[schemars(with = "String")]
    pub started: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub finished: Option<Timestamp>,
    /// Absent when the plan was carried out; otherwise why samples are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<String>,
    /// The suite's parameters.
    pub parameters: BTreeMap<String, Value>,
    pub plan: PlanFile,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<Host>,
    /// Other activity on the machine when it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<noise::Snapshot>,
    /// And when it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<noise::Snapshot>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<StorageFile>,
    pub legs: Vec<LegFile>,
    /// Runs of other builds, made to test a claim.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<ProbeFile>,
}

/// Which build of `repro`, called how.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct ProgramFile {
    pub version: String,
    /// Git revision; `-dirty` when the tree had changes.
    pub revision: String,
    pub command: Vec<String>,
}

/// The saved output that a record was read from.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct ImportedFile {
    pub file: String,
    pub first_line: usize,
    pub last_line: usize,
}

/// How often the suite was to run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct PlanFile {
    pub warmup: u32,
    pub runs: u32,
    /// Aim for half the interval of TOTAL, as a fraction of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<f64>,
    pub max_runs: u32,
    pub cooldown_ms: u64,
    /// The CPU that the engine was bound to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<usize>,
}

/// Where SQLite wrote its files.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct StorageFile {
    pub directory: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filesystem: Option<Filesystem>,
}

/// One side of a suite.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct LegFile {
    pub name: String,
    pub engine: EngineFile,
    pub answer: AnswerFile,
    pub runs: Vec<RunFile>,
    pub steps: Vec<StepFile>,
    /// Phases of a workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseFile>,
    /// Settings of the engine, read back from it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryFile>,
}

/// The memory of a leg that ran in a control group.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct MemoryFile {
    /// Page cache included.
    pub limit_bytes: u64,
    pub mechanism: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_hits: Option<u64>,
}

/// One phase of a workload.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct PhaseFile {
    pub name: String,
    pub samples: Vec<PhaseSampleFile>,
}

/// What one run measured in a phase.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct PhaseSampleFile {
    pub run: u32,
    pub measure: Measure,
}

/// The SQLite that was measured.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct EngineFile {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sqlite_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build: Option<BuildFile>,
    /// As the engine lists them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compile_options: Vec<String>,
}

/// How an engine was built.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct BuildFile {
    /// Whether the sources are the pinned ones.
    pub pinned: bool,
    pub origin: String,
    /// SHA-256 by file name.
    pub sources: BTreeMap<String, String>,
    pub command: String,
    pub compiler: String,
    /// SHA-256.
    pub executable: String,
}

/// Result of the answer check.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "verdict", rename_all = "kebab-case", deny_unknown_fields)]
#[allow(missing_docs)]
pub enum AnswerFile {
    Right { hash: String },
    Wrong { hash: String, expected: String },
    Unknown { hash: String },
    NotChecked { reason: String },
}

/// One execution of the engine.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct RunFile {
    /// From 1, warm-ups included.
    pub number: u32,
    #[serde(default, skip_serializing_if = "is_false")]
    pub warmup: bool,
    /// Why it can't be counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejected: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// The tool's TOTAL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_ms: Option<i64>,
    /// From start to end of the process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourcesFile>,
    /// What else the machine did meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<noise::Interval>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub statistics: BTreeMap<String, String>,
    /// SHA-256 of the SQL and arguments that ran, in order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<String>,
}

/// Resources of one run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct ResourcesFile {
    pub user_us: u64,
    pub system_us: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub voluntary_switches: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub involuntary_switches: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub major_faults: Option<u64>,
}

/// One timed line and its samples.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct StepFile {
    pub testset: String,
    pub number: u32,
    /// 1 for the first step of that number in the testset.
    pub occurrence: u32,
    pub name: String,
    pub samples: Vec<SampleFile>,
}

/// One measured value.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct SampleFile {
    pub run: u32,
    /// As the tool printed it.
    pub reported_ms: i64,
    /// By the monotonic clock of `repro`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_ns: Option<u64>,
}

/// A run of another build.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct ProbeFile {
    pub name: String,
    pub command: String,
    pub completed: Vec<bool>,
    pub stopped_in: Vec<Option<String>>,
    pub message: String,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// The text of a record file.
///
/// # Errors
/// None that a record can cause; serde_json's are passed on.
pub fn write(record: &Record) -> serde_json::Result<String> {
    let mut text = serde_json::to_string_pretty(&RecordFile::from(record.clone()))?;
    text.push('\n');
    Ok(text)
}

/// Reads a record file.
///
/// # Errors
/// What is wrong with it, and where.
pub fn read(text: &str) -> Result<Record, String> {
    #[derive(Deserialize)]
    struct Versioned {
        schema: u64,
    }
    let versioned: Versioned =
        serde_json::from_str(text).map_err(|error| format!("not a record of repro: {error}"))?;
    if versioned.schema > SCHEMA {
        return Err(format!(
            "written by a newer repro (schema {}); this one reads up to schema {SCHEMA}: update repro",
            versioned.schema
        ));
    }
    let file: RecordFile =
        serde_json::from_str(text).map_err(|error| format!("not a valid record: {error}"))?;
    let record = Record::from(file);
    record.check()?;
    Ok(record)
}

/// The JSON schema of a record file.
pub fn schema() -> Value {
    schemars::schema_for!(RecordFile).to_value()
}
