//! Claims: sentences of a publication that can be tested on any machine.

use super::figure::{FigureKey, Metric};
use super::measured::{self, Values};
use super::verdict::{Judgement, Verdict};
use crate::record::{Leg, Record};
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
    /// A figure lies within bounds, in ms or operations per second, one of which may be absent.
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
    /// Reads in a hundred operations of the mixed phase, rounded.
    MixedReads,
    /// Updates in a hundred operations of the mixed phase, rounded.
    MixedUpdates,
    /// Inserts in a hundred operations of the mixed phase, rounded.
    MixedInserts,
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
            Test::Bound { at_least: None, at_most: None, .. } => {
                Err("a bound needs at_least or at_most".to_string())
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

    /// Evaluates the claim on a record.
    pub fn judge(&self, record: &Record) -> Judgement {
        let (verdict, reason) = match &self.test {
            Test::Ratio { numerator, denominator, at_least, at_most } => judge_ratio(
                record,
                numerator,
                denominator,
                at_least.unwrap_or(0.0),
                at_most.unwrap_or(f64::INFINITY),
            ),
            Test::Bound { figure, at_least, at_most } => judge_bound(record, figure, *at_least, *at_most),
            Test::SlowsLeast { phase, from, to, phases } => judge_least(record, phase, from, to, phases),
            Test::Value { quantity, equals } => judge_value(record, *quantity, *equals),
            Test::Flat { steps, within } => judge_flat(record, steps, *within),
            Test::Ordered { steps } => judge_order(record, steps),
            Test::AmongSlowest { step, of_slowest, steps } => {
                judge_rank(record, step, *of_slowest, steps, false)
            }
            Test::AmongFastest { step, of_fastest, steps } => {
                judge_rank(record, step, *of_fastest, steps, true)
            }
            Test::BuildStops { build, testset } => judge_build(record, build, testset),
        };
        Judgement { subject: format!("{}: {}", self.id, self.text), verdict, reason }
    }
}

fn missing(key: &Key) -> (Verdict, String) {
    (Verdict::Missing, format!("the record has no sample of {}", key.0))
}

fn values(record: &Record, key: &Key) -> Result<Values, (Verdict, String)> {
    measured::finest(record, &key.0).ok_or_else(|| missing(key))
}

/// The ratio of two figures of the record.
fn ratio(record: &Record, top: &Key, bottom: &Key) -> Result<Ratio, (Verdict, String)> {
    let (a, b) = (values(record, top)?, values(record, bottom)?);
    measured::ratio(&a, &b).ok_or_else(|| {
        (Verdict::NotComparable, format!("{} or {} is below the clock's resolution", top.0, bottom.0))
    })
}

fn judge_ratio(record: &Record, top: &Key, bottom: &Key, low: f64, high: f64) -> (Verdict, String) {
    match ratio(record, top, bottom) {
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

fn judge_bound(record: &Record, key: &Key, at_least: Option<f64>, at_most: Option<f64>) -> (Verdict, String) {
    let Some((value, interval)) = values(record, key).ok().and_then(|values| values.estimate()) else {
        return missing(key);
    };
    let found = Ratio { value, interval };
    let bound = [at_least.map(|b| format!("at least {b}")), at_most.map(|b| format!("at most {b}"))];
    let bound: Vec<String> = bound.into_iter().flatten().collect();
    let verdict =
        Verdict::within(&found, at_least.unwrap_or(f64::NEG_INFINITY), at_most.unwrap_or(f64::INFINITY));
    (verdict, format!("{} is {}; claimed: {}", key.0, show(&found), bound.join(", ")))
}

/// The fall of each phase, and whether the interval of this one lies below that of every other.
fn judge_least(record: &Record, phase: &str, from: &str, to: &str, phases: &[String]) -> (Verdict, String) {
    let rate = |leg: &str, phase: &str| {
        Key(FigureKey::Phase { leg: leg.to_string(), phase: phase.to_string(), metric: Metric::Rate })
    };
    let mut falls = Vec::new();
    for name in phases {
        match ratio(record, &rate(from, name), &rate(to, name)) {
            Ok(ratio) => falls.push((name.as_str(), ratio)),
            Err(reason) => return reason,
        }
    }
    let reasons: Vec<String> = falls.iter().map(|(name, fall)| format!("{name} {}", show(fall))).collect();
    let ends = |ratio: &Ratio| ratio.interval.map_or((ratio.value, ratio.value), |i| (i.low, i.high));
    let Some(own) = falls.iter().find(|(name, _)| *name == phase).map(|(_, fall)| ends(fall)) else {
        return (Verdict::Missing, format!("{phase} is not one of the phases"));
    };
    let others: Vec<(f64, f64)> =
        falls.iter().filter(|(name, _)| *name != phase).map(|(_, fall)| ends(fall)).collect();
    let verdict = match () {
        () if others.iter().all(|other| own.1 < other.0) => Verdict::Reproduced,
        () if others.iter().any(|other| own.0 > other.1) => Verdict::Differs,
        () => Verdict::NotComparable,
    };
    (verdict, format!("the rates fall by {}", reasons.join(", ")))
}

/// A ratio with its interval, or the remark that there is none.
pub fn show(ratio: &Ratio) -> String {
    match ratio.interval {
        Some(i) => format!("{:.2} [{:.2}, {:.2}]", ratio.value, i.low, i.high),
        None => format!("{:.2} (too few runs for an interval)", ratio.value),
    }
}

fn judge_value(record: &Record, quantity: Quantity, equals: i64) -> (Verdict, String) {
    let Some(found) = count(record, quantity) else {
        return (Verdict::Missing, "the record does not say".to_string());
    };
    let what = match quantity {
        Quantity::Errors => "failed or rejected runs",
        Quantity::TotalMinusSum => "ms between TOTAL and the sum of its rows, at most",
        Quantity::Testsets => "testsets in a run",
        Quantity::WrongAnswers => "wrong answers",
        Quantity::MixedReads => "reads in a hundred mixed operations",
        Quantity::MixedUpdates => "updates in a hundred mixed operations",
        Quantity::MixedInserts => "inserts in a hundred mixed operations",
    };
    let verdict = if found == equals { Verdict::Reproduced } else { Verdict::Differs };
    let runs: usize = record.legs.iter().map(|leg| leg.runs.len()).sum();
    (verdict, format!("{found} {what}, in {runs} runs; claimed: {equals}"))
}

fn count(record: &Record, quantity: Quantity) -> Option<i64> {
    let runs = record.legs.iter().flat_map(|leg| &leg.runs);
    let measures = || {
        record
            .legs
            .iter()
            .flat_map(|leg| &leg.phases)
            .flat_map(|phase| &phase.samples)
            .map(|sample| &sample.measure)
    };
    let mixed = |names: [&str; 2]| {
        let measure = record.legs.iter().flat_map(|leg| leg.measures("mixed")).next()?;
        let some: u64 = names.iter().filter_map(|name| measure.counts.get(*name)).sum();
        Some((some as f64 * 100.0 / measure.operations.max(1) as f64).round() as i64)
    };
    match quantity {
        Quantity::Errors => Some(runs.filter(|run| run.rejected.is_some()).count() as i64),
        Quantity::TotalMinusSum => record.legs.iter().filter_map(largest_total_error).max(),
        Quantity::Testsets => {
            let mut names: Vec<&str> =
                record.legs.first()?.steps.iter().map(|step| step.key.testset.as_str()).collect();
            names.dedup();
            Some(names.len() as i64)
        }
        Quantity::WrongAnswers => {
            Some(measures().flat_map(|measure| &measure.checks).filter(|check| !check.holds()).count() as i64)
        }
        Quantity::MixedReads => mixed(["found", "not found"]),
        Quantity::MixedUpdates => mixed(["updates", ""]),
        Quantity::MixedInserts => mixed(["inserts", ""]),
    }
}

fn largest_total_error(leg: &Leg) -> Option<i64> {
    let distance = |run: &crate::record::Run| {
        let samples = leg.steps.iter().flat_map(|step| &step.samples).filter(|s| s.run == run.number);
        run.total_ms.map(|total| (total - samples.map(|s| s.reported_ms).sum::<i64>()).abs())
    };
    leg.runs.iter().filter_map(distance).max()
}

fn judge_flat(record: &Record, steps: &[Key], within: f64) -> (Verdict, String) {
    let mut medians = Vec::new();
    for key in steps {
        match values(record, key).ok().and_then(|values| values.estimate()) {
            Some((value, _)) => medians.push(value),
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

fn judge_order(record: &Record, steps: &[Key]) -> (Verdict, String) {
    let mut worst = Verdict::Reproduced;
    let mut reasons = Vec::new();
    for pair in steps.windows(2) {
        let ratio = match ratio(record, &pair[1], &pair[0]) {
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
fn judge_rank(record: &Record, step: &Key, count: usize, steps: &[Key], fastest: bool) -> (Verdict, String) {
    let mut columns = Vec::new();
    for key in steps {
        match values(record, key) {
            Ok(values) => columns.push(values.samples().to_vec()),
            Err(reason) => return reason,
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
