//! Judges claims, kind by kind.

use super::super::verdict::{Judgement, Verdict};
use super::check::rate;
use super::server::{judge_health, judge_load, judge_slices, judge_steady};
use super::{Bounds, Claim, Judged, Key, Quantity, Test, count};
use crate::figure::{self, FigureKey, Figures, Kind, Values};
use crate::stats::{Ratio, median};

impl Claim {
    /// Judges the claim by a record.
    pub fn judge(&self, figures: Figures) -> Judgement {
        let judged = match &self.test {
            Test::Ratio { numerator, denominator, at_least, at_most } => {
                judge_ratio(figures, &numerator.0, &denominator.0, Bounds::new(*at_least, *at_most))
            }
            Test::Bound { figure, at_least, at_most } => {
                judge_bound(figures, &figure.0, Bounds::new(*at_least, *at_most))
            }
            Test::Each { figures: keys, at_least, at_most } => {
                judge_each(figures, keys, Bounds::new(*at_least, *at_most))
            }
            Test::SlowsLeast { phase, from, to, phases } => judge_least(figures, phase, from, to, phases),
            Test::Value { quantity, equals } => judge_value(figures, *quantity, *equals),
            Test::Share { phase, counts, percent } => judge_share(figures, phase, counts, *percent),
            Test::Flat { steps, within } => judge_flat(figures, steps, *within),
            Test::Ordered { steps } => judge_order(figures, steps),
            Test::AmongSlowest { step, of_slowest, steps } => {
                judge_rank(figures, step, *of_slowest, steps, false)
            }
            Test::AmongFastest { step, of_fastest, steps } => {
                judge_rank(figures, step, *of_fastest, steps, true)
            }
            Test::Health { leg, phases, among } => judge_health(figures, leg, phases, among),
            Test::Steady { leg, phase, at_least, at_most } => {
                judge_steady(figures, leg, phase, Bounds::new(*at_least, *at_most))
            }
            Test::Slices { leg, phase, at_least, at_most } => {
                judge_slices(figures, leg, phase, Bounds::new(*at_least, *at_most))
            }
            Test::Load { at_least, at_most } => judge_load(figures, Bounds::new(*at_least, *at_most)),
            Test::BuildStops { build, testset } => Ok(judge_build(figures, build, testset)),
        };
        let (verdict, reason) = judged.unwrap_or_else(|undecided| undecided);
        Judgement { subject: format!("{}: {}", self.id, self.text), verdict, reason }
    }
}

impl Bounds {
    pub(super) fn judge(self, found: &Ratio) -> Verdict {
        let (low, high) = self.ends();
        Verdict::within(found, low, high)
    }

    pub(super) fn ends(self) -> (f64, f64) {
        (self.at_least.unwrap_or(f64::NEG_INFINITY), self.at_most.unwrap_or(f64::INFINITY))
    }

    /// Returns how far inside the bounds the interval stays, or the value if there is none; negative by how much it
    /// is outside.
    fn room(self, found: &Ratio) -> f64 {
        let ((low, high), (from, to)) =
            (self.ends(), found.interval.map_or((found.value, found.value), |i| (i.low, i.high)));
        (from - low).min(high - to)
    }
}

fn missing(key: &FigureKey) -> Judged {
    (Verdict::Missing, format!("the record has no sample of {key}"))
}

fn values(figures: Figures, key: &FigureKey) -> Result<Values, Judged> {
    if let Some(reason) = figures.spoilt(key) {
        return Err((Verdict::NotComparable, reason));
    }
    figures.finest(key).ok_or_else(|| missing(key))
}

/// Returns a figure of the record with its interval.
fn estimate(figures: Figures, key: &FigureKey) -> Result<Ratio, Judged> {
    let (value, interval) = values(figures, key)?.estimate().ok_or_else(|| missing(key))?;
    Ok(Ratio { value, interval })
}

/// Returns the ratio of two figures of the record.
fn ratio(figures: Figures, top: &FigureKey, bottom: &FigureKey) -> Result<Ratio, Judged> {
    let (a, b) = (values(figures, top)?, values(figures, bottom)?);
    figure::ratio(&a, &b).ok_or_else(|| {
        let reason = match a.error().max(b.error()) > 0.0 {
            true => "below the clock's resolution",
            false => "0 in a run, so there is no ratio",
        };
        (Verdict::NotComparable, format!("{top} or {bottom} is {reason}"))
    })
}

fn judge_ratio(
    figures: Figures,
    top: &FigureKey,
    bottom: &FigureKey,
    bounds: Bounds,
) -> Result<Judged, Judged> {
    let ratio = ratio(figures, top, bottom)?;
    Ok((bounds.judge(&ratio), format!("{top} / {bottom} is {}; claimed: {bounds}", ratio)))
}

fn judge_bound(figures: Figures, key: &FigureKey, bounds: Bounds) -> Result<Judged, Judged> {
    let found = estimate(figures, key)?;
    Ok((bounds.judge(&found), format!("{key} is {}; claimed: {bounds}", found)))
}

/// Judges several figures by the same bounds; the worst figure decides.
fn judge_each(figures: Figures, keys: &[Key], bounds: Bounds) -> Result<Judged, Judged> {
    let found = keys.iter().map(|key| Ok((&key.0, estimate(figures, &key.0)?)));
    let found: Vec<(&FigureKey, Ratio)> = found.collect::<Result<_, Judged>>()?;
    let verdict = worst(found.iter().map(|(_, found)| bounds.judge(found)));
    let candidates = found.iter().filter(|(_, found)| bounds.judge(found) == verdict);
    let furthest = candidates.min_by(|(_, a), (_, b)| bounds.room(a).total_cmp(&bounds.room(b)));
    let of = match verdict {
        Verdict::Reproduced => "the nearest to a bound",
        _ => "the worst",
    };
    let reason = furthest.map_or(String::new(), |(key, found)| format!("{key} is {}", found));
    Ok((verdict, format!("{reason}, {of} of {}; claimed: each {bounds}", keys.len())))
}

/// Returns the worst verdict: what differs outweighs what is missing, that what is undecided, and that what
/// is reproduced.
pub(super) fn worst(verdicts: impl Iterator<Item = Verdict>) -> Verdict {
    let weight = |verdict: &Verdict| match verdict {
        Verdict::Reproduced => 0,
        Verdict::Undecided | Verdict::NotComparable => 1,
        Verdict::Missing => 2,
        Verdict::Differs => 3,
    };
    verdicts.max_by_key(weight).unwrap_or(Verdict::Reproduced)
}

/// Judges whether the rate of this phase falls least: its interval must lie below that of every other phase.
fn judge_least(
    figures: Figures,
    phase: &str,
    from: &str,
    to: &str,
    phases: &[String],
) -> Result<Judged, Judged> {
    let fall = |name: &str| ratio(figures, &rate(from, name), &rate(to, name));
    let falls = phases.iter().map(|name| Ok((name.as_str(), fall(name)?)));
    let falls: Vec<(&str, Ratio)> = falls.collect::<Result<_, Judged>>()?;
    let reasons: Vec<String> = falls.iter().map(|(name, fall)| format!("{name} {}", fall)).collect();
    let (own, others): (Vec<_>, Vec<_>) = falls.iter().partition(|(name, _)| *name == phase);
    let ends =
        |falls: &[&(&str, Ratio)]| falls.iter().map(|(_, fall)| fall.interval).collect::<Option<Vec<_>>>();
    let verdict = match (ends(&own).as_deref(), ends(&others)) {
        (Some([own]), Some(others)) if others.iter().all(|other| own.high < other.low) => Verdict::Reproduced,
        (Some([own]), Some(others)) if others.iter().any(|other| own.low > other.high) => Verdict::Differs,
        _ => Verdict::Undecided,
    };
    Ok((verdict, format!("the rates fall by {}", reasons.join(", "))))
}

fn judge_value(figures: Figures, quantity: Quantity, equals: i64) -> Result<Judged, Judged> {
    let found = count::count(figures.record, quantity);
    let found = found.ok_or_else(|| (Verdict::Missing, "the record does not say".to_string()))?;
    let verdict = if found == equals { Verdict::Reproduced } else { Verdict::Differs };
    let runs: usize = figures.record.legs.iter().map(|leg| leg.runs.len()).sum();
    Ok((verdict, format!("{found} {}, in {runs} runs; claimed: {equals}", count::what(quantity))))
}

fn judge_share(figures: Figures, phase: &str, kinds: &[String], percent: i64) -> Result<Judged, Judged> {
    let found = count::share(figures.record, phase, kinds);
    let found =
        found.ok_or_else(|| (Verdict::Missing, format!("the record has no operations of {phase}")))?;
    let verdict = if found == percent { Verdict::Reproduced } else { Verdict::Differs };
    let kinds = kinds.join(" or ");
    Ok((verdict, format!("{found} % of the operations of {phase} are {kinds}; claimed: {percent} %")))
}

fn judge_flat(figures: Figures, steps: &[Key], within: f64) -> Result<Judged, Judged> {
    let found = steps.iter().map(|key| estimate(figures, &key.0));
    let found: Vec<Ratio> = found.collect::<Result<_, Judged>>()?;
    let medians: Vec<f64> = found.iter().map(|step| step.value).collect();
    let center = median(&medians).unwrap_or(0.0);
    if center <= 0.0 {
        return Err((Verdict::NotComparable, "below the clock's resolution".to_string()));
    }
    let furthest = medians.iter().map(|value| (value / center - 1.0).abs()).fold(0.0, f64::max);
    let of_center = found.iter().map(|step| step.divided_by(center));
    let verdict = worst(of_center.map(|step| Verdict::within(&step, 1.0 - within, 1.0 + within)));
    let reason = format!(
        "the furthest is {:.0} % from the median of all; claimed: within {:.0} %",
        furthest * 100.0,
        within * 100.0
    );
    Ok((verdict, reason))
}

fn judge_order(figures: Figures, steps: &[Key]) -> Result<Judged, Judged> {
    let growths = steps.windows(2).map(|pair| Ok((pair, ratio(figures, &pair[1].0, &pair[0].0)?)));
    let growths: Vec<(&[Key], Ratio)> = growths.collect::<Result<_, Judged>>()?;
    let above_one = |(_, ratio): &(&[Key], Ratio)| Verdict::within(ratio, 1.0, f64::INFINITY);
    let verdict = worst(growths.iter().map(above_one));
    let reasons: Vec<String> =
        growths.iter().map(|(pair, ratio)| format!("{} / {} is {}", pair[1].0, pair[0].0, ratio)).collect();
    Ok((verdict, format!("{}; claimed: each above 1", reasons.join(", "))))
}

/// Judges a rank run by run; all runs must agree.
fn judge_rank(
    figures: Figures,
    step: &Key,
    count: usize,
    steps: &[Key],
    fastest: bool,
) -> Result<Judged, Judged> {
    let column = |key: &Key| values(figures, &key.0);
    let columns: Vec<Values> = steps.iter().map(column).collect::<Result<_, Judged>>()?;
    let own = values(figures, &step.0)?;
    // For a rate, a larger value is faster.
    let smaller_first = fastest != (step.0.kind() == Kind::Rate);
    let rank_in = |(run, own): &(u32, f64)| {
        let of =
            |values: &Values| values.runs().iter().find(|(number, _)| number == run).map(|(_, value)| *value);
        let row: Vec<f64> = columns.iter().map(of).collect::<Option<_>>()?;
        Some(row.iter().filter(|value| if smaller_first { *value < own } else { *value > own }).count() + 1)
    };
    let ranks: Vec<usize> = own.runs().iter().filter_map(rank_in).collect();
    let (hits, runs) = (ranks.iter().filter(|rank| **rank <= count).count(), ranks.len());
    let verdict = Verdict::in_every(hits, runs).by_runs(runs);
    let word = match (step.0.kind(), fastest) {
        (Kind::Time | Kind::Latency | Kind::Rate, true) => "fastest",
        (Kind::Time | Kind::Latency | Kind::Rate, false) => "slowest",
        (_, true) => "lowest",
        (_, false) => "highest",
    };
    let ranks: Vec<String> = ranks.iter().map(usize::to_string).collect();
    let reason = format!(
        "{} is among the {count} {word} of {} in {hits} of {runs} runs (rank {})",
        step.0,
        steps.len(),
        ranks.join(", ")
    );
    Ok((verdict, reason))
}

fn judge_build(figures: Figures, build: &str, testset: &str) -> Judged {
    let Some(variant) = figures.record.variants.iter().find(|variant| variant.name == build) else {
        let reason = format!("no build `{build}` in the record; --build-variants compiles and runs it");
        return (Verdict::NotComparable, reason);
    };
    let runs = variant.completed.len();
    let stopped =
        |(completed, place): (&bool, &Option<String>)| !completed && place.as_deref() == Some(testset);
    let hits = variant.completed.iter().zip(&variant.stopped_in).filter(|pair| stopped(*pair)).count();
    (
        Verdict::in_every(hits, runs),
        format!(
            "stopped in `{testset}` in {hits} of {runs} runs of `{}`: {}",
            variant.command, variant.message
        ),
    )
}
