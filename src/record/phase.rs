//! A timed part of a leg, and what a run measured in it.

use super::is_false;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A timed part of a leg: a phase of a workload or a row of speedtest1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// The name, such as `select-primary-key`. A row of a testset is `main/310`, or `star/130#2` where a
    /// number repeats.
    pub name: String,
    /// The name that the tool or a publication gives the phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// One sample for each run so far.
    pub samples: Vec<Sample>,
}

/// What one run measured in a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// The number of the run.
    pub run: u32,
    /// The values that were measured.
    pub measure: Measure,
}

/// The result of one phase in one run. Unknown values are absent, never zero.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Measure {
    /// The number of operations that succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations: Option<u64>,
    /// The time in ms as the measured tool itself printed it; this is the time to cite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reported_ms: Option<i64>,
    /// The time from beginning to end by the monotonic clock of `repro`, in ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elapsed_ns: Option<u64>,
    /// The phase cut into slices, in order: the operations and the time in ns of each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slices: Vec<(u64, u64)>,
    /// The latencies of the operations, if each was timed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
    /// How many operations failed, by message or code.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
    /// How often the engine reported that it was busy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy: Option<u64>,
    /// How many operations failed because the engine was busy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy_surfaced: Option<u64>,
    /// Counts by kind, such as `found` and `updates`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, u64>,
    /// How the server coped, if it was watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
    /// Whether the phase ended early or with work left undone.
    #[serde(skip_serializing_if = "is_false")]
    pub cut_short: bool,
    /// Answers with their expected values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
    /// What only this study measures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<Detail>,
}

impl Measure {
    /// Returns the operations per second, or `None` when there is nothing to divide.
    pub fn rate(&self) -> Option<f64> {
        let (operations, ns) = (self.operations?, self.elapsed_ns?);
        (operations > 0 && ns > 0).then(|| operations as f64 * 1e9 / ns as f64)
    }

    /// Returns the operations and the seconds of each slice.
    pub fn slices_in_seconds(&self) -> impl Iterator<Item = (f64, f64)> {
        self.slices.iter().map(|(operations, ns)| (*operations as f64, *ns as f64 / 1e9))
    }

    /// Returns how many operations failed, whatever the error.
    pub fn failures(&self) -> u64 {
        self.errors.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Returns the study's own part as `T`, or `None` if there is none or it belongs to another study.
    pub fn detail<T: DeserializeOwned>(&self) -> Option<T> {
        self.detail.as_ref()?.read().ok()
    }
}

/// What only one study holds: an object whose members the study's own types define.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Detail(Map<String, Value>);

impl Detail {
    /// Converts a study's own type, which serde must write as an object; returns `None` for anything else.
    pub fn of(detail: &impl Serialize) -> Option<Detail> {
        match serde_json::to_value(detail) {
            Ok(Value::Object(members)) => Some(Detail(members)),
            _ => None,
        }
    }

    /// Reads the members as the study's own type.
    ///
    /// # Errors
    /// Names the member that is missing, unknown or of another type.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, String> {
        serde_json::from_value(Value::Object(self.0.clone())).map_err(|error| error.to_string())
    }

    /// Returns the members that are numbers with their names, since these fit into a table cell.
    pub fn numbers(&self) -> impl Iterator<Item = (&str, &serde_json::Number)> {
        self.0.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_number()?)))
    }
}

/// How a server coped with a phase.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Health {
    /// The server was not watched to the end of the phase.
    #[default]
    Unknown,
    /// Every statement was answered within a second, and no second passed without an answer.
    Clean,
    /// Every statement sent was answered, but some took more than a second, a whole second passed without an
    /// answer, or some statements were never sent.
    Stalled,
    /// Statements failed, but the server answers again.
    Collapsed,
    /// The server no longer answers writes, even with no other client connected: no reply comes by the
    /// deadline.
    Wedged,
}

impl Health {
    /// Returns the name used in records, claims and tables.
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

/// Percentiles of the latency of an operation in ns, and the histogram they come from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// The median in ns.
    pub p50_ns: u64,
    /// The 95th percentile in ns.
    pub p95_ns: u64,
    /// The 99th percentile in ns.
    pub p99_ns: u64,
    /// The 99.9th percentile in ns.
    pub p999_ns: u64,
    /// The longest latency in ns.
    pub max_ns: u64,
    /// The percentiles that are only lower bounds, because operations without an answer could raise them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub at_least: BTreeSet<Quantile>,
    /// An HdrHistogram (V2 with deflate, base64) of values in ns, with four significant digits, or three when
    /// there are many clients.
    pub histogram: String,
}

/// A point of a latency distribution.
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
    /// All points in ascending order.
    pub const ALL: [Quantile; 5] =
        [Quantile::P50, Quantile::P95, Quantile::P99, Quantile::P999, Quantile::Max];

    /// Returns the point as a fraction of all values.
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
    /// Returns the latency at this point, in ns.
    pub fn at(&self, quantile: Quantile) -> u64 {
        match quantile {
            Quantile::P50 => self.p50_ns,
            Quantile::P95 => self.p95_ns,
            Quantile::P99 => self.p99_ns,
            Quantile::P999 => self.p999_ns,
            Quantile::Max => self.max_ns,
        }
    }

    /// Returns the latency at this point as formatted by `digits`, with `≥` in front of a lower bound.
    pub fn text(&self, quantile: Quantile, digits: impl Fn(u64) -> String) -> String {
        let sign = if self.at_least.contains(&quantile) { "≥" } else { "" };
        format!("{sign}{}", digits(self.at(quantile)))
    }
}

/// An answer beside its expected value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// What was checked.
    pub what: String,
    /// The right answer.
    pub expected: String,
    /// The answer that was given.
    pub found: String,
}

impl Check {
    /// Returns a check that compares two values by their text.
    pub fn new(what: &str, expected: impl ToString, found: impl ToString) -> Check {
        Check { what: what.to_string(), expected: expected.to_string(), found: found.to_string() }
    }

    /// Returns whether the answer is the expected one.
    pub fn holds(&self) -> bool {
        self.expected == self.found
    }
}
