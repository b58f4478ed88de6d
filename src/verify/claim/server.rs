//! Judges claims about a server under the load of many clients.

use super::super::verdict::Verdict;
use super::judge::worst;
use super::{Bounds, Judged};
use crate::figure::Figures;
use crate::record::{Health, Sample};
use crate::stats::{FEWEST_RUNS, Ratio, counted, median, order};

/// A phase with its state in each run.
type States<'a> = (&'a String, Vec<Health>);

/// Judges the states of a server; all runs of all phases must agree. An unknown state counts neither as one
/// of those claimed nor as another.
pub(super) fn judge_health(
    figures: Figures,
    leg: &str,
    phases: &[String],
    among: &[Health],
) -> Result<Judged, Judged> {
    let seen: Vec<States> = phases.iter().map(|phase| (phase, states(figures, leg, phase))).collect();
    let all: Vec<Health> = seen.iter().flat_map(|(_, states)| states).copied().collect();
    if all.is_empty() {
        return Err((Verdict::Missing, format!("the record has no run of {leg} with {}", phases.join(", "))));
    }
    let hits = all.iter().filter(|state| among.contains(state)).count();
    let unknown = all.iter().filter(|state| **state == Health::Unknown).count();
    let verdict = match hits {
        _ if hits == all.len() => Verdict::Reproduced,
        0 if unknown == 0 => Verdict::Differs,
        _ => Verdict::Undecided,
    };
    let runs = seen.iter().map(|(_, states)| states.len()).max().unwrap_or(0);
    let few = match verdict.by_runs(runs) == verdict {
        true => String::new(),
        false => format!("; {} of it, and at least {FEWEST_RUNS} decide", counted(runs as u64, "run")),
    };
    let seen: Vec<String> = seen.iter().filter(|(_, states)| !states.is_empty()).map(words).collect();
    let among: Vec<&str> = among.iter().map(|state| state.name()).collect();
    let reason = format!(
        "in {hits} of {} runs: {}; claimed: {} in each{few}",
        all.len(),
        seen.join("; "),
        among.join(" or ")
    );
    Ok((verdict.by_runs(runs), reason))
}

fn states(figures: Figures, leg: &str, phase: &str) -> Vec<Health> {
    let samples = figures.record.leg(leg).map(|leg| leg.samples(phase)).unwrap_or_default();
    samples.iter().map(|sample| sample.measure.health.unwrap_or_default()).collect()
}

fn words((phase, states): &States) -> String {
    let states: Vec<&str> = states.iter().map(|state| state.name()).collect();
    format!("{phase} {}", states.join(", "))
}

/// The smallest number of slices from which a phase has tenths.
const FEWEST_SLICES: usize = 10;

/// The work and the seconds of a slice.
type Slice = (f64, f64);

/// Returns the slices of a phase, run by run.
fn slices_of_runs(figures: Figures, leg: &str, phase: &str) -> Result<Vec<(u32, Vec<Slice>)>, Judged> {
    let samples = figures.record.leg(leg).map(|leg| leg.samples(phase)).unwrap_or_default();
    if samples.is_empty() {
        return Err((Verdict::Missing, format!("the record has no sample of {leg}/{phase}")));
    }
    let slices =
        |sample: &Sample| sample.measure.slices_in_seconds().filter(|(_, seconds)| *seconds > 0.0).collect();
    Ok(samples.into_iter().map(|sample| (sample.run, slices(sample))).collect())
}

/// Judges whether the rate of a phase stays steady; each run gives one value.
pub(super) fn judge_steady(
    figures: Figures,
    leg: &str,
    phase: &str,
    bounds: Bounds,
) -> Result<Judged, Judged> {
    let mut ratios = Vec::new();
    for (run, slices) in slices_of_runs(figures, leg, phase)? {
        if slices.len() < FEWEST_SLICES {
            let reason = format!(
                "run {run} has {} slices; {FEWEST_SLICES} are needed to compare tenths",
                slices.len()
            );
            return Err((Verdict::NotComparable, reason));
        }
        let tenth = slices.iter().map(|(_, seconds)| seconds).sum::<f64>() / 10.0;
        let (begin, end) = (until(slices.iter(), tenth), until(slices.iter().rev(), tenth));
        ratios.push(rate(&end) / rate(&begin));
    }
    let found = median(&ratios).filter(|_| ratios.iter().all(|ratio| ratio.is_finite()));
    let value = found.ok_or_else(|| {
        (Verdict::NotComparable, "the first tenth brought no answer, so there is no ratio".to_string())
    })?;
    let found = Ratio { value, interval: order::of_median(&ratios) };
    let reason = format!(
        "{leg}/{phase}: the rate of the last tenth over that of the first is {}; claimed: {bounds}",
        found
    );
    Ok((bounds.judge(&found), reason))
}

/// Judges the slowest and the fastest slice of each run against the mean of the run. The last slice is cut short by the
/// end, and left out.
pub(super) fn judge_slices(
    figures: Figures,
    leg: &str,
    phase: &str,
    bounds: Bounds,
) -> Result<Judged, Judged> {
    let (mut slowest, mut fastest) = (Vec::new(), Vec::new());
    for (run, mut slices) in slices_of_runs(figures, leg, phase)? {
        slices.pop();
        let mean = rate(&slices);
        if slices.is_empty() || mean <= 0.0 {
            return Err((Verdict::NotComparable, format!("run {run} has no whole slice to compare")));
        }
        let rates = slices.iter().map(|slice| rate(&[*slice]) / mean);
        slowest.push(rates.clone().fold(f64::INFINITY, f64::min));
        fastest.push(rates.fold(0.0, f64::max));
    }
    let found = |ratios: &[f64]| Ratio {
        value: median(ratios).unwrap_or(f64::NAN),
        interval: order::of_median(ratios),
    };
    let (slowest, fastest) = (found(&slowest), found(&fastest));
    let (low, high) = bounds.ends();
    let verdicts = [Verdict::within(&slowest, low, f64::INFINITY), Verdict::within(&fastest, 0.0, high)];
    let reason = format!(
        "{leg}/{phase}: the slowest slice over the mean is {slowest}, the fastest {fastest}; claimed: each {bounds}"
    );
    Ok((worst(verdicts.into_iter()), reason))
}

/// Judges the one-minute load average when the execution ended.
pub(super) fn judge_load(figures: Figures, bounds: Bounds) -> Result<Judged, Judged> {
    let load = figures.record.after.as_ref().and_then(|after| after.load);
    let load =
        load.ok_or_else(|| (Verdict::Missing, "the record does not say how high the load was".to_string()))?;
    let (low, high) = bounds.ends();
    let runs = figures.record.legs.iter().map(|leg| leg.counted().len()).min().unwrap_or(0);
    let verdict = if load.one >= low && load.one <= high { Verdict::Reproduced } else { Verdict::Differs };
    Ok((
        verdict.by_runs(runs),
        format!("the load average of the last minute was {:.2}; claimed: {bounds}", load.one),
    ))
}

/// Returns as many slices as are needed to fill the time.
fn until<'a>(slices: impl Iterator<Item = &'a Slice>, seconds: f64) -> Vec<Slice> {
    let mut left = seconds;
    let unfilled = |slice: &&Slice| {
        let more = left > 1e-6;
        left -= slice.1;
        more
    };
    slices.take_while(unfilled).copied().collect()
}

fn rate(slices: &[Slice]) -> f64 {
    let (work, seconds) = slices.iter().fold((0.0, 0.0), |sum, slice| (sum.0 + slice.0, sum.1 + slice.1));
    work / seconds
}
