//! One timed part of a leg, and what a run measured in it.

use super::is_false;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// One timed part of a leg: a phase of a workload, or a row of speedtest1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Such as `select-primary-key`; a row of a testset is `main/310`, or `star/130#2` where a number repeats.
    pub name: String,
    /// The name that the tool or a publication gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// One of each run that came so far.
    pub samples: Vec<Sample>,
}

/// What one run measured of a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// Number of the run.
    pub run: u32,
    /// The measure.
    pub measure: Measure,
}

/// Result of one phase of one run. Unknown is absent, never zero.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Measure {
    /// Operations that succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations: Option<u64>,
    /// The time that the measured tool itself printed, ms: the one to cite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reported_ms: Option<i64>,
    /// From beginning to end by the monotonic clock of `repro`, ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elapsed_ns: Option<u64>,
    /// The phase in slices, in order: operations and time (ns) of each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slices: Vec<(u64, u64)>,
    /// Latencies of operations, where each was timed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
    /// Operations that failed, by message or code.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
    /// Times that the engine was busy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy: Option<u64>,
    /// Operations that failed because it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy_surfaced: Option<u64>,
    /// Counts by kind, such as `found` and `updates`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, u64>,
    /// How a server came through, where one was watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
    /// Whether it ended before its time, or with work left undone.
    #[serde(skip_serializing_if = "is_false")]
    pub cut_short: bool,
    /// Answers, checked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
    /// What only this study measures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<Detail>,
}

impl Measure {
    /// Operations per second; `None` when there is nothing to divide.
    pub fn rate(&self) -> Option<f64> {
        let (operations, ns) = (self.operations?, self.elapsed_ns?);
        (operations > 0 && ns > 0).then(|| operations as f64 * 1e9 / ns as f64)
    }

    /// Operations and seconds of each slice.
    pub fn slices_in_seconds(&self) -> impl Iterator<Item = (f64, f64)> {
        self.slices.iter().map(|(operations, ns)| (*operations as f64, *ns as f64 / 1e9))
    }

    /// Operations that failed.
    pub fn failures(&self) -> u64 {
        self.errors.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The study's own part; `None` where there is none, or where it is another study's.
    pub fn detail<T: DeserializeOwned>(&self) -> Option<T> {
        self.detail.as_ref()?.read().ok()
    }
}

/// What only one study holds: members that the study's own types define.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Detail(Map<String, Value>);

impl Detail {
    /// Of a study's own type, which serde writes as an object; anything else is no detail.
    pub fn of(detail: &impl Serialize) -> Option<Detail> {
        match serde_json::to_value(detail) {
            Ok(Value::Object(members)) => Some(Detail(members)),
            _ => None,
        }
    }

    /// As the study's own type.
    ///
    /// # Errors
    /// The member that is missing, unknown or of another kind.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, String> {
        serde_json::from_value(Value::Object(self.0.clone())).map_err(|error| error.to_string())
    }

    /// Members that are numbers, by name: what fits into a cell.
    pub fn numbers(&self) -> impl Iterator<Item = (&str, &serde_json::Number)> {
        self.0.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_number()?)))
    }
}

/// How a server came through a phase.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Health {
    /// It was not watched to the end.
    #[default]
    Unknown,
    /// Every statement was answered within a second, and no second passed without an answer.
    Clean,
    /// Every statement that was sent was answered, but some took more than a second, or a whole second passed
    /// without an answer, or some were never sent.
    Stalled,
    /// Statements failed; the server answers again.
    Collapsed,
    /// The server answers no write any more, though nobody else is connected: no reply comes by the deadline.
    Wedged,
}

impl Health {
    /// Name in records, claims and tables.
    pub fn name(self) -> &'static str {
        match self {
            Health::Unknown => "unknown",
            Health::Clean => "clean",
            Health::Stalled => "stalled",
            Health::Collapsed => "collapsed",
            Health::Wedged => "wedged",
        }
    }
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Percentiles of the latency of an operation, ns, and the histogram they come from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// The median.
    pub p50_ns: u64,
    /// The 95th percentile.
    pub p95_ns: u64,
    /// The 99th percentile.
    pub p99_ns: u64,
    /// The 99.9th percentile.
    pub p999_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// Those that are lower bounds only, because operations without an answer could move them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub at_least: BTreeSet<Quantile>,
    /// HdrHistogram, V2 with deflate, base64; values in ns, four significant digits, or three of many clients.
    pub histogram: String,
}

/// A point of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Quantile {
    P50,
    P95,
    P99,
    P999,
    Max,
}

impl Quantile {
    /// All of them, in order.
    pub const ALL: [Quantile; 5] =
        [Quantile::P50, Quantile::P95, Quantile::P99, Quantile::P999, Quantile::Max];

    /// As a fraction of all values.
    pub fn fraction(self) -> f64 {
        match self {
            Quantile::P50 => 0.5,
            Quantile::P95 => 0.95,
            Quantile::P99 => 0.99,
            Quantile::P999 => 0.999,
            Quantile::Max => 1.0,
        }
    }
}

impl Latency {
    /// The latency at this point, ns.
    pub fn at(&self, quantile: Quantile) -> u64 {
        match quantile {
            Quantile::P50 => self.p50_ns,
            Quantile::P95 => self.p95_ns,
            Quantile::P99 => self.p99_ns,
            Quantile::P999 => self.p999_ns,
            Quantile::Max => self.max_ns,
        }
    }

    /// The latency at this point as `digits` writes it, with `≥` before a lower bound.
    pub fn text(&self, quantile: Quantile, digits: impl Fn(u64) -> String) -> String {
        let sign = if self.at_least.contains(&quantile) { "≥" } else { "" };
        format!("{sign}{}", digits(self.at(quantile)))
    }
}

/// An answer beside what it must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// What was checked.
    pub what: String,
    /// The right answer.
    pub expected: String,
    /// The answer.
    pub found: String,
}

impl Check {
    /// Compares two values by their text.
    pub fn new(what: &str, expected: impl ToString, found: impl ToString) -> Check {
        Check { what: what.to_string(), expected: expected.to_string(), found: found.to_string() }
    }

    /// Whether the answer is right.
    pub fn holds(&self) -> bool {
        self.expected == self.found
    }
}
