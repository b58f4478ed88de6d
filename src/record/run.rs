//! One execution of an engine.

use super::{Detail, Failure, is_false};
use crate::machine::noise;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One execution of the engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The number of the run, counted from 1, warm-ups included.
    pub number: u32,
    /// The session in which it was made, counted from 1.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub session: u32,
    /// Whether the run is a warm-up, which is not counted.
    #[serde(default, skip_serializing_if = "is_false")]
    pub warmup: bool,
    /// Why the run can't be counted; absent when it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<Failure>,
    /// What a reader should know about the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
    /// The tool's TOTAL, in ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_ms: Option<i64>,
    /// The time from start to end of the process, in ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_ns: Option<u64>,
    /// The resources that the run used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,
    /// What else the machine did during the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<noise::Activity>,
    /// The SHA-256 of the SQL and the arguments that ran, in order, if they were hashed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<String>,
    /// What the tool printed on standard output; of an imported run, its lines in the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// What only this study records about a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Detail>,
}

fn first() -> u32 {
    1
}

fn is_first(session: &u32) -> bool {
    *session == 1
}

impl Default for Run {
    fn default() -> Run {
        Run {
            number: 0,
            session: first(),
            warmup: false,
            rejected: None,
            flags: Vec::new(),
            total_ms: None,
            wall_ns: None,
            resources: None,
            noise: None,
            work: None,
            output: None,
            detail: None,
        }
    }
}

impl Run {
    /// Returns whether the samples of the run go into the statistics.
    pub fn counts(&self) -> bool {
        !self.warmup && self.rejected.is_none()
    }
}

/// The resources of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resources {
    /// CPU time in user mode, in µs.
    pub user_us: u64,
    /// CPU time in the kernel, in µs.
    pub system_us: u64,
    /// The largest resident set, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<u64>,
    /// How often the process gave up the CPU to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voluntary_switches: Option<u64>,
    /// How often the scheduler took the CPU away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub involuntary_switches: Option<u64>,
    /// How many page faults needed a disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub major_faults: Option<u64>,
}

/// What a reader should know about a run beyond its times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "flag", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Flag {
    /// The tool's clock and that of `repro` differ by more than a few milliseconds.
    ClocksDisagree {
        /// The rows in which they differ.
        rows: Vec<ClockGap>,
    },
    /// The answers are not those of the check before the first run.
    AnswersDiffer {
        /// The verification hash of this run.
        found: String,
    },
    /// The run succeeded, but wrote to standard error.
    StandardError {
        /// The first line that it wrote.
        line: String,
    },
    /// A saved output has times without zero padding.
    UnpaddedTimes,
    /// A saved output has lines of others within the run; TOTAL shows that no row is lost.
    ForeignLines {
        /// The number of these lines.
        lines: u32,
        /// The beginning of the first of them.
        first: String,
    },
    /// A saved output lacks rows that a complete run of its testsets has.
    MissingRows {
        /// The SQLite version whose rows are known.
        version: String,
        /// The names of the missing rows.
        rows: Vec<String>,
    },
    /// The run ended before its last phase.
    EndedEarly {
        /// The number of complete phases.
        phases: u32,
        /// Why it ended.
        failure: Failure,
    },
    /// The clients used so much CPU time that they may have limited the rate.
    BusyClients {
        /// The phase in which they did.
        phase: String,
        /// The CPU time of each client, as a fraction of a core.
        cores: f64,
    },
}

/// A row whose two times differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClockGap {
    /// The name of the row.
    pub phase: String,
    /// The time in ms as the tool printed it.
    pub reported_ms: i64,
    /// The time in ns by the monotonic clock of `repro`.
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
            Flag::ForeignLines { lines, first } => {
                write!(
                    f,
                    "lines of others skipped within the run: {lines}, the first `{first}`; TOTAL adds up"
                )
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
