//! Claims: sentences of a publication that can be tested on any machine.

use super::reference::FigureKey;
use super::verdict::{Judgement, Verdict};
use crate::record::{CLOCK_ERROR_MS, Leg, Record};
use crate::stats::{Ratio, median};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

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
        /// Step above the line.
        numerator: Key,
        /// Step below it.
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
    /// All steps lie within this fraction of their median.
    Flat {
        /// The steps.
        steps: Vec<Key>,
        /// Such as 0.25.
        within: f64,
    },
    /// Each step takes longer than the one before it.
    Ordered {
        /// From the fastest to the slowest.
        steps: Vec<Key>,
    },
    /// The step is one of the slowest of a group.
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

impl Claim {
    /// Checks what the types can't.
    ///
    /// # Errors
    /// What is missing or makes no sense.
    pub fn check(&self) -> Result<(), String> {
        let positive = |bound: &Option<f64>| bound.is_none_or(|value| value > 0.0 && value.is_finite());
        match &self.test {
            Test::Ratio { at_least: None, at_most: None, .. } => {
                Err("a ratio needs at_least or at_most".to_string())
            }
            Test::Ratio { at_least, at_most, .. } if !positive(at_least) || !positive(at_most) => {
                Err("bounds of a ratio are above 0".to_string())
            }
            Test::Flat { within, .. } if !(*within > 0.0 && *within < 1.0) => {
                Err("within is a fraction between 0 and 1".to_string())
            }
            Test::Flat { steps, .. } | Test::Ordered { steps } if steps.len() < 2 => {
                Err("at least two steps are needed".to_string())
            }
            Test::AmongSlowest { step, of_slowest: n, steps }
            | Test::AmongFastest { step, of_fastest: n, steps }
                if !steps.contains(step) || *n == 0 || *n >= steps.len() =>
            {
                Err("the step must be one of steps, and the count smaller than their number".to_string())
            }
            _ => Ok(()),
        }
    }

    /// Evaluates the claim on a leg of a record.
    pub fn judge(&self, record: &Record, leg: &Leg) -> Judgement {
        let (verdict, reason) = match &self.test {
            Test::Ratio { numerator, denominator, at_least, at_most } => judge_ratio(
                leg,
                numerator,
                denominator,
                at_least.unwrap_or(0.0),
                at_most.unwrap_or(f64::INFINITY),
            ),
            Test::Value { quantity, equals } => judge_value(leg, *quantity, *equals),
            Test::Flat { steps, within } => judge_flat(leg, steps, *within),
            Test::Ordered { steps } => judge_order(leg, steps),
            Test::AmongSlowest { step, of_slowest, steps } => {
                judge_rank(leg, step, *of_slowest, steps, false)
            }
            Test::AmongFastest { step, of_fastest, steps } => judge_rank(leg, step, *of_fastest, steps, true),
            Test::BuildStops { build, testset } => judge_build(record, build, testset),
        };
        Judgement { subject: format!("{}: {}", self.id, self.text), verdict, reason }
    }
}

/// Times of a step in each counted run, ms; observed ones where all are known, for they are finer than a
/// millisecond.
fn times(leg: &Leg, key: &Key) -> Option<(Vec<f64>, f64)> {
    let values = match &key.0 {
        FigureKey::Total => (leg.totals(), leg.total_error()),
        FigureKey::Step(key) => {
            let step = leg.step(key)?;
            let (reported, observed) = (leg.reported(step), leg.observed(step));
            if observed.len() == reported.len() { (observed, 0.0) } else { (reported, CLOCK_ERROR_MS) }
        }
    };
    (!values.0.is_empty()).then_some(values)
}

fn missing(key: &Key) -> (Verdict, String) {
    (Verdict::Missing, format!("the record has no sample of {}", key.0))
}

/// The ratio of two steps run by run.
fn ratio(leg: &Leg, top: &Key, bottom: &Key) -> Result<Ratio, (Verdict, String)> {
    let (a, a_error) = times(leg, top).ok_or_else(|| missing(top))?;
    let (b, b_error) = times(leg, bottom).ok_or_else(|| missing(bottom))?;
    let below =
        || (Verdict::NotComparable, format!("{} or {} is below the clock's resolution", top.0, bottom.0));
    if a_error > 0.0 || b_error > 0.0 {
        return Ratio::of_medians(&a, a_error, &b, b_error).ok_or_else(below);
    }
    let pairs: Vec<(f64, f64)> = a.into_iter().zip(b).collect();
    Ratio::of_pairs(&pairs).ok_or_else(below)
}

fn judge_ratio(leg: &Leg, top: &Key, bottom: &Key, low: f64, high: f64) -> (Verdict, String) {
    match ratio(leg, top, bottom) {
        Err(reason) => reason,
        Ok(ratio) => {
            let bound = match (low > 0.0, high.is_finite()) {
                (true, true) => format!("between {low} and {high}"),
                (true, false) => format!("at least {low}"),
                _ => format!("at most {high}"),
            };
            (
                Verdict::within(&ratio, low, high),
                format!("{} / {} is {}; claimed: {bound}", top.0, bottom.0, show(&ratio)),
            )
        }
    }
}

/// A ratio with its interval, or the remark that there is none.
pub fn show(ratio: &Ratio) -> String {
    match ratio.interval {
        Some(i) => format!("{:.2} [{:.2}, {:.2}]", ratio.value, i.low, i.high),
        None => format!("{:.2} (too few runs for an interval)", ratio.value),
    }
}

fn judge_value(leg: &Leg, quantity: Quantity, equals: i64) -> (Verdict, String) {
    let found = match quantity {
        Quantity::Errors => leg.runs.iter().filter(|run| run.rejected.is_some()).count() as i64,
        Quantity::TotalMinusSum => match largest_total_error(leg) {
            Some(distance) => distance,
            None => return (Verdict::Missing, "no run has a TOTAL".to_string()),
        },
        Quantity::Testsets => {
            let mut names: Vec<&str> = leg.steps.iter().map(|step| step.key.testset.as_str()).collect();
            names.dedup();
            names.len() as i64
        }
    };
    let what = match quantity {
        Quantity::Errors => "failed or rejected runs",
        Quantity::TotalMinusSum => "ms between TOTAL and the sum of its rows, at most",
        Quantity::Testsets => "testsets in a run",
    };
    let verdict = if found == equals { Verdict::Reproduced } else { Verdict::Differs };
    (verdict, format!("{found} {what}, in {} runs; claimed: {equals}", leg.runs.len()))
}

fn largest_total_error(leg: &Leg) -> Option<i64> {
    let distance = |run: &crate::record::Run| {
        let samples = leg.steps.iter().flat_map(|step| &step.samples).filter(|s| s.run == run.number);
        run.total_ms.map(|total| (total - samples.map(|s| s.reported_ms).sum::<i64>()).abs())
    };
    leg.runs.iter().filter_map(distance).max()
}

fn judge_flat(leg: &Leg, steps: &[Key], within: f64) -> (Verdict, String) {
    let mut medians = Vec::new();
    for key in steps {
        match times(leg, key).and_then(|(values, _)| median(&values)) {
            Some(value) => medians.push(value),
            None => return missing(key),
        }
    }
    let center = median(&medians).unwrap_or(0.0);
    if center <= 0.0 {
        return (Verdict::NotComparable, "below the clock's resolution".to_string());
    }
    let furthest = medians.iter().map(|value| (value / center - 1.0).abs()).fold(0.0, f64::max);
    let verdict = if furthest <= within { Verdict::Reproduced } else { Verdict::Differs };
    (
        verdict,
        format!(
            "the furthest lies {:.0} % from the median of all; claimed: within {:.0} %",
            furthest * 100.0,
            within * 100.0
        ),
    )
}

fn judge_order(leg: &Leg, steps: &[Key]) -> (Verdict, String) {
    let mut worst = Verdict::Reproduced;
    let mut reasons = Vec::new();
    for pair in steps.windows(2) {
        let ratio = match ratio(leg, &pair[1], &pair[0]) {
            Ok(ratio) => ratio,
            Err(reason) => return reason,
        };
        match Verdict::within(&ratio, 1.0, f64::INFINITY) {
            Verdict::Reproduced => {}
            Verdict::Differs => worst = Verdict::Differs,
            verdict if worst != Verdict::Differs => worst = verdict,
            _ => {}
        }
        reasons.push(format!("{} / {} is {}", pair[1].0, pair[0].0, show(&ratio)));
    }
    (worst, format!("{}; claimed: each above 1", reasons.join(", ")))
}

/// Judges a rank run by run: all runs must agree.
fn judge_rank(leg: &Leg, step: &Key, count: usize, steps: &[Key], fastest: bool) -> (Verdict, String) {
    let mut columns = Vec::new();
    for key in steps {
        match times(leg, key) {
            Some((values, _)) => columns.push(values),
            None => return missing(key),
        }
    }
    let Some(own) = steps.iter().position(|key| key == step) else { return missing(step) };
    let runs = columns.iter().map(Vec::len).min().unwrap_or(0);
    let rank_in = |run: usize| {
        let ahead = |column: &&Vec<f64>| {
            if fastest { column[run] < columns[own][run] } else { column[run] > columns[own][run] }
        };
        columns.iter().filter(ahead).count() + 1
    };
    let ranks: Vec<usize> = (0..runs).map(rank_in).collect();
    let hits = ranks.iter().filter(|rank| **rank <= count).count();
    let verdict = match hits {
        0 => Verdict::Differs,
        _ if hits == runs => Verdict::Reproduced,
        _ => Verdict::NotComparable,
    };
    let word = if fastest { "fastest" } else { "slowest" };
    let ranks: Vec<String> = ranks.iter().map(usize::to_string).collect();
    let reason = format!(
        "{} is among the {count} {word} of {} in {hits} of {runs} runs (rank {})",
        step.0,
        steps.len(),
        ranks.join(", ")
    );
    (verdict, reason)
}

fn judge_build(record: &Record, build: &str, testset: &str) -> (Verdict, String) {
    let Some(probe) = record.probes.iter().find(|probe| probe.name == build) else {
        let reason = format!("no build `{build}` in the record; --build-variants compiles and runs it");
        return (Verdict::NotComparable, reason);
    };
    let runs = probe.completed.len();
    let stopped =
        |(completed, place): (&bool, &Option<String>)| !completed && place.as_deref() == Some(testset);
    let hits = probe.completed.iter().zip(&probe.stopped_in).filter(|pair| stopped(*pair)).count();
    let verdict = match hits {
        _ if runs == 0 => Verdict::Missing,
        _ if hits == runs => Verdict::Reproduced,
        0 => Verdict::Differs,
        _ => Verdict::NotComparable,
    };
    (
        verdict,
        format!("stopped in `{testset}` in {hits} of {runs} runs of `{}`: {}", probe.command, probe.message),
    )
}
