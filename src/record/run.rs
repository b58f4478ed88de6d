//! One execution of an engine.

use super::{Detail, Failure, is_false};
use crate::machine::noise;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One execution of the engine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// From 1, warm-ups included.
    pub number: u32,
    /// Not to be counted.
    #[serde(default, skip_serializing_if = "is_false")]
    pub warmup: bool,
    /// Why it can't be counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<Failure>,
    /// What a reader should know of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
    /// The tool's TOTAL, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_ms: Option<i64>,
    /// From start to end of the process, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_ns: Option<u64>,
    /// What it used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,
    /// What else the machine did meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<noise::Activity>,
    /// SHA-256 of the SQL and arguments that ran, in order, where they were hashed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<String>,
    /// What only this study holds of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Detail>,
}

impl Run {
    /// Whether its samples go into the statistics.
    pub fn counts(&self) -> bool {
        !self.warmup && self.rejected.is_none()
    }
}

/// Resources of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resources {
    /// CPU time in user mode, µs.
    pub user_us: u64,
    /// CPU time in the kernel, µs.
    pub system_us: u64,
    /// Largest resident set, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<u64>,
    /// Times that it waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voluntary_switches: Option<u64>,
    /// Times that it was made to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub involuntary_switches: Option<u64>,
    /// Page faults that needed a disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub major_faults: Option<u64>,
}

/// What a reader should know of a run beyond its times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "flag", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Flag {
    /// The tool's clock and that of `repro` differ by more than a few milliseconds.
    ClocksDisagree {
        /// Where.
        rows: Vec<ClockGap>,
    },
    /// The answers are not those of the check before the first run.
    AnswersDiffer {
        /// The verification hash.
        found: String,
    },
    /// It ended well, and wrote to standard error.
    StandardError {
        /// The first line.
        line: String,
    },
    /// A saved output has times without zero padding.
    UnpaddedTimes,
    /// A saved output lacks rows that a whole run of its testsets has.
    MissingRows {
        /// The version whose rows are known.
        version: String,
        /// The rows.
        rows: Vec<String>,
    },
    /// It ended before its last phase.
    EndedEarly {
        /// Phases that are whole.
        phases: u32,
        /// Why.
        failure: Failure,
    },
    /// The clients used so much CPU time that they may have limited the rate.
    BusyClients {
        /// Where.
        phase: String,
        /// Of a core, each.
        cores: f64,
    },
}

/// A row whose two times differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClockGap {
    /// The row.
    pub phase: String,
    /// As the tool printed it, ms.
    pub reported_ms: i64,
    /// By the monotonic clock of `repro`, ns.
    pub observed_ns: u64,
}

impl fmt::Display for Flag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flag::ClocksDisagree { rows } => {
                let row = |gap: &ClockGap| {
                    let observed = gap.observed_ns as f64 / 1e6;
                    format!("{}: {} ms reported, {observed:.1} ms observed", gap.phase, gap.reported_ms)
                };
                write!(f, "clocks disagree: {}", rows.iter().map(row).collect::<Vec<_>>().join("; "))
            }
            Flag::AnswersDiffer { found } => {
                write!(f, "answers differ from those of the answer check: verification hash {found}")
            }
            Flag::StandardError { line } => write!(f, "wrote to standard error: {line}"),
            Flag::UnpaddedTimes => {
                f.write_str("times were printed without zero padding; TOTAL confirms how they were read")
            }
            Flag::MissingRows { version, rows } => write!(
                f,
                "rows of version {version} of the tool are missing here (removed, or never run): {}",
                rows.join(", ")
            ),
            Flag::EndedEarly { phases, failure } => {
                write!(f, "ended early, after {phases} levels: {failure}")
            }
            Flag::BusyClients { phase, cores } => write!(
                f,
                "{phase}: each client used {:.0} % of a core, so the clients may limit the rate",
                cores * 100.0
            ),
        }
    }
}
