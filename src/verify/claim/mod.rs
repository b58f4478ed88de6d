//! Claims: sentences of a publication that can be tested on any machine.
//!
//! Here is how they are declared; how they are checked before anything runs, and judged after it, is in the parts.

mod check;
mod count;
mod judge;
mod server;

pub use judge::show;

use crate::figure::FigureKey;
use crate::record::Health;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A declared claim.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Claim {
    /// Short name.
    pub id: String,
    /// What is claimed, in words.
    pub text: String,
    /// Judged only with `--strict`: it does not travel between machines.
    #[serde(default)]
    pub strict: bool,
    /// How it is tested.
    #[serde(flatten)]
    pub test: Test,
}

/// The kinds of claims.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Test {
    /// numerator / denominator lies within bounds, one of which may be absent.
    Ratio {
        /// Figure above the line.
        numerator: Key,
        /// Figure below it.
        denominator: Key,
        /// Lower bound.
        #[serde(default)]
        at_least: Option<f64>,
        /// Upper bound.
        #[serde(default)]
        at_most: Option<f64>,
    },
    /// A count of the record equals a number.
    Value {
        /// Which.
        quantity: Quantity,
        /// The number.
        equals: i64,
    },
    /// So many of a hundred operations of a phase are of these kinds, rounded.
    Share {
        /// The phase.
        phase: String,
        /// Kinds that the study counts in it.
        counts: Vec<String>,
        /// Of a hundred.
        percent: i64,
    },
    /// All steps lie within this fraction of their median.
    Flat {
        /// The steps.
        steps: Vec<Key>,
        /// Such as 0.25.
        within: f64,
    },
    /// Each figure is larger than the one before it.
    Ordered {
        /// From the smallest to the largest.
        steps: Vec<Key>,
    },
    /// The step is one of the slowest of a group: longest times, highest ratios, lowest rates.
    AmongSlowest {
        /// The step.
        step: Key,
        /// How many count as slowest.
        of_slowest: usize,
        /// The group.
        steps: Vec<Key>,
    },
    /// The step is one of the fastest of a group.
    AmongFastest {
        /// The step.
        step: Key,
        /// How many count as fastest.
        of_fastest: usize,
        /// The group.
        steps: Vec<Key>,
    },
    /// A figure lies within bounds in its unit, one of which may be absent.
    Bound {
        /// The figure.
        figure: Key,
        /// Lower bound.
        #[serde(default)]
        at_least: Option<f64>,
        /// Upper bound.
        #[serde(default)]
        at_most: Option<f64>,
    },
    /// Every one of these figures lies within the same bounds, one of which may be absent.
    Each {
        /// The figures, of one unit.
        figures: Vec<Key>,
        /// Lower bound.
        #[serde(default)]
        at_least: Option<f64>,
        /// Upper bound.
        #[serde(default)]
        at_most: Option<f64>,
    },
    /// From one leg to the other, the rate of this phase falls by the smallest factor of all.
    SlowsLeast {
        /// The phase.
        phase: String,
        /// The leg with the higher rates.
        from: String,
        /// The leg with the lower rates.
        to: String,
        /// All phases to compare it with.
        phases: Vec<String>,
    },
    /// The server comes through these phases in one of these states, in every run.
    Health {
        /// The leg.
        leg: String,
        /// Its phases; one that the record does not have says nothing.
        phases: Vec<String>,
        /// The states.
        among: Vec<Health>,
    },
    /// The rate of a phase's last tenth over that of its first lies within bounds, one of which may be absent.
    Steady {
        /// The leg.
        leg: String,
        /// The phase.
        phase: String,
        /// Lower bound.
        #[serde(default)]
        at_least: Option<f64>,
        /// Upper bound.
        #[serde(default)]
        at_most: Option<f64>,
    },
    /// A build of the tool with other flags stops in a testset.
    BuildStops {
        /// Name of the build, such as `without-rtree`.
        build: String,
        /// The testset.
        testset: String,
    },
}

/// Counts that a claim can be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Runs that failed or were rejected.
    Errors,
    /// Largest distance between TOTAL and the sum of its rows, ms.
    TotalMinusSum,
    /// Testsets in a run.
    Testsets,
    /// Answers of a workload that are wrong.
    WrongAnswers,
    /// Statements that failed, in every phase of every leg.
    FailedStatements,
    /// Those of them that failed because the server was busy.
    BusySurfaced,
    /// Different sequences of statements among the counted runs of all legs.
    DistinctWork,
}

/// A [`FigureKey`] as TOML spells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key(pub FigureKey);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map(Key).map_err(serde::de::Error::custom)
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// The ends between which a claim wants a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bounds {
    at_least: Option<f64>,
    at_most: Option<f64>,
}

impl Bounds {
    fn new(at_least: Option<f64>, at_most: Option<f64>) -> Bounds {
        Bounds { at_least, at_most }
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.at_least, self.at_most) {
            (Some(low), Some(high)) => write!(f, "between {low} and {high}"),
            (Some(low), None) => write!(f, "at least {low}"),
            (None, Some(high)) => write!(f, "at most {high}"),
            (None, None) => f.write_str("anything"),
        }
    }
}
