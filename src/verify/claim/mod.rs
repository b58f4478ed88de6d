//! Claims: sentences of a publication that can be tested on any machine.
//!
//! This file declares them; the submodules check them before anything runs, and judge them afterwards.

mod check;
mod count;
mod judge;
mod server;

use super::verdict::Verdict;
use crate::figure::FigureKey;
use crate::record::Health;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A verdict and its reason.
type Judged = (Verdict, String);

/// A declared claim.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Claim {
    /// The short name by which reports refer to the claim.
    pub id: String,
    /// What is claimed, in words.
    pub text: String,
    /// The sentence of the publication that the claim tests; absent if it is read from a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// Whether the claim is judged only with `--strict`, because it can't be compared between machines.
    #[serde(default)]
    pub strict: bool,
    /// How the claim is tested.
    #[serde(flatten)]
    pub test: Test,
}

/// The kinds of claims.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Test {
    /// numerator / denominator lies within bounds, one of which may be absent.
    Ratio {
        /// The figure above the line.
        numerator: Key,
        /// The figure below the line.
        denominator: Key,
        /// The lower bound of the ratio.
        #[serde(default)]
        at_least: Option<f64>,
        /// The upper bound of the ratio.
        #[serde(default)]
        at_most: Option<f64>,
    },
    /// A count of the record equals a number.
    Value {
        /// What is counted.
        quantity: Quantity,
        /// The number that the count must equal.
        equals: i64,
    },
    /// Out of a hundred operations of a phase this many are of these kinds, rounded.
    Share {
        /// The name of the phase.
        phase: String,
        /// The kinds, as the study counts them in the phase.
        counts: Vec<String>,
        /// The percentage that the kinds must make up together.
        percent: i64,
    },
    /// All steps lie within this fraction of their median.
    Flat {
        /// The keys of the steps.
        steps: Vec<Key>,
        /// The fraction of the median, such as 0.25.
        within: f64,
    },
    /// Each figure is larger than the one before it.
    Ordered {
        /// The keys of the figures, from the smallest to the largest.
        steps: Vec<Key>,
    },
    /// The step is one of the slowest of a group: longest times, highest ratios, lowest rates.
    AmongSlowest {
        /// The key of the step.
        step: Key,
        /// How many steps count as slowest.
        of_slowest: usize,
        /// The keys of the group.
        steps: Vec<Key>,
    },
    /// The step is one of the fastest of a group.
    AmongFastest {
        /// The key of the step.
        step: Key,
        /// How many steps count as fastest.
        of_fastest: usize,
        /// The keys of the group.
        steps: Vec<Key>,
    },
    /// A figure lies within bounds, one of which may be absent.
    Bound {
        /// The key of the figure.
        figure: Key,
        /// The lower bound, in the figure's unit.
        #[serde(default)]
        at_least: Option<f64>,
        /// The upper bound, in the figure's unit.
        #[serde(default)]
        at_most: Option<f64>,
    },
    /// Each of these figures lies within the same bounds, one of which may be absent.
    Each {
        /// The keys of the figures, which have one unit.
        figures: Vec<Key>,
        /// The lower bound, in the figures' unit.
        #[serde(default)]
        at_least: Option<f64>,
        /// The upper bound, in the figures' unit.
        #[serde(default)]
        at_most: Option<f64>,
    },
    /// From one leg to the other, the rate of this phase falls by the smallest factor of all.
    SlowsLeast {
        /// The name of the phase.
        phase: String,
        /// The leg with the higher rates.
        from: String,
        /// The leg with the lower rates.
        to: String,
        /// All phases that it is compared with.
        phases: Vec<String>,
    },
    /// In every run, the server is in one of these states after each of these phases.
    Health {
        /// The name of the leg.
        leg: String,
        /// The names of the phases; one that the record lacks says nothing.
        phases: Vec<String>,
        /// The states that are claimed.
        among: Vec<Health>,
    },
    /// The rate of a phase's last tenth over that of its first lies within bounds, one of which may be
    /// absent.
    Steady {
        /// The name of the leg.
        leg: String,
        /// The name of the phase.
        phase: String,
        /// The lower bound of the ratio.
        #[serde(default)]
        at_least: Option<f64>,
        /// The upper bound of the ratio.
        #[serde(default)]
        at_most: Option<f64>,
    },
    /// The rate of each slice of a phase over the mean of all lies within bounds, one of which may be absent.
    Slices {
        /// The name of the leg.
        leg: String,
        /// The name of the phase.
        phase: String,
        /// The lower bound of the ratio.
        #[serde(default)]
        at_least: Option<f64>,
        /// The upper bound of the ratio.
        #[serde(default)]
        at_most: Option<f64>,
    },
    /// The load average when the execution ended lies within bounds, one of which may be absent.
    Load {
        /// The lower bound.
        #[serde(default)]
        at_least: Option<f64>,
        /// The upper bound.
        #[serde(default)]
        at_most: Option<f64>,
    },
    /// A build of the tool with other flags stops in a testset.
    BuildStops {
        /// The name of the build, such as `without-rtree`.
        build: String,
        /// The testset in which it stops.
        testset: String,
    },
}

impl Claim {
    /// Returns whether no complete record of the same work could contradict the claim. It then checks the record,
    /// and its holding reproduces nothing.
    pub fn is_check(&self) -> bool {
        match self.test {
            Test::Share { .. } => true,
            Test::Value { quantity, .. } => match quantity {
                Quantity::Errors
                | Quantity::TotalMinusSum
                | Quantity::Testsets
                | Quantity::WrongAnswers
                | Quantity::DistinctWork => true,
                Quantity::FailedStatements | Quantity::BusySurfaced => false,
            },
            _ => false,
        }
    }
}

impl Claim {
    /// Returns the claim with its bounds wider by this factor; one without bounds stays as it is.
    pub(super) fn relaxed(&self, factor: f64) -> Claim {
        let mut claim = self.clone();
        match &mut claim.test {
            Test::Ratio { at_least, at_most, .. }
            | Test::Bound { at_least, at_most, .. }
            | Test::Each { at_least, at_most, .. }
            | Test::Steady { at_least, at_most, .. }
            | Test::Load { at_least, at_most }
            | Test::Slices { at_least, at_most, .. } => {
                *at_least = at_least.map(|bound| bound / factor);
                *at_most = at_most.map(|bound| bound * factor);
            }
            Test::Flat { within, .. } => *within = (1.0 + *within) * factor - 1.0,
            _ => {}
        }
        claim
    }
}

/// Counts that a claim can be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// The number of runs that failed or were rejected.
    Errors,
    /// The largest difference between TOTAL and the sum of its rows, in ms.
    TotalMinusSum,
    /// The number of testsets in a run.
    Testsets,
    /// The number of wrong answers of a workload.
    WrongAnswers,
    /// The number of statements that failed, in all phases of all legs.
    FailedStatements,
    /// The number of those that failed because the server was busy.
    BusySurfaced,
    /// The number of different sequences of statements in the counted runs of all legs.
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

/// The bounds between which a claim expects a figure.
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
