//! What a record has to say of a figure.

use super::figure::{FigureKey, Kind, Metric, WHOLE};
use crate::record::{CLOCK_ERROR_MS, Leg, PhaseSample, Record, Step};
use crate::stats::{self, Interval, Ratio, Summary, bootstrap};
use crate::suite::Suite;
use crate::suite::load::{Health, Load};
use crate::suite::measure::{Latency, Measure};

/// The measured side of a figure, in its unit: one value of each counted run.
#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    /// Numbers of the runs, and their values.
    runs: Vec<(u32, f64)>,
    /// The clock's error, as much.
    error: f64,
    /// 95 % interval from within the runs, where these are too few to give one.
    within: Option<Interval>,
}

impl Values {
    fn of_runs(runs: Vec<(u32, f64)>, error: f64) -> Option<Values> {
        (!runs.is_empty()).then_some(Values { runs, error, within: None })
    }

    /// The value to show, with its interval.
    pub fn estimate(&self) -> Option<(f64, Option<Interval>)> {
        let summary = Summary::of(&self.samples(), self.error)?;
        Some((summary.median, summary.interval.or(self.within)))
    }

    /// The value to show, for those who need no interval.
    pub fn median(&self) -> Option<f64> {
        stats::median(&self.samples())
    }

    /// Numbers of the runs, and their values.
    pub fn runs(&self) -> &[(u32, f64)] {
        &self.runs
    }

    /// The clock's error.
    pub fn error(&self) -> f64 {
        self.error
    }

    fn samples(&self) -> Vec<f64> {
        self.runs.iter().map(|(_, value)| *value).collect()
    }

    /// Values of both in the runs that both have.
    fn paired_with(&self, other: &Values) -> Vec<(f64, f64)> {
        let of = |run: u32| other.runs.iter().find(|(number, _)| *number == run).map(|(_, value)| *value);
        self.runs.iter().filter_map(|(run, value)| Some((*value, of(*run)?))).collect()
    }

    /// The ratio to an exact figure whose last digit is worth `error`.
    pub fn against(&self, published: f64, error: f64) -> Option<Ratio> {
        let Some(within) = self.within else {
            return Ratio::of_medians(&self.samples(), self.error, &[published], error.max(self.error));
        };
        let (value, _) = self.estimate()?;
        let interval =
            Interval { low: within.low / (published + error), high: within.high / (published - error) };
        (published > error).then(|| Ratio { value: value / published, interval: Some(interval) })
    }
}

/// The ratio of two sides of one record: run by run where both have a fine value of each run.
pub fn ratio(a: &Values, b: &Values) -> Option<Ratio> {
    let pairs = a.paired_with(b);
    match a.error == 0.0 && b.error == 0.0 && a.within.is_none() && b.within.is_none() && !pairs.is_empty() {
        true => Ratio::of_pairs(&pairs),
        false => ratio_apart(a, b),
    }
}

/// The ratio of two sides that were not measured in turn; of intervals from within runs, taken at their worst.
pub fn ratio_apart(a: &Values, b: &Values) -> Option<Ratio> {
    if a.within.is_none() && b.within.is_none() {
        return Ratio::of_medians(&a.samples(), a.error, &b.samples(), b.error);
    }
    let ((top, above), (bottom, below)) = (a.estimate()?, b.estimate()?);
    let interval = above.zip(below).map(|(a, b)| Interval { low: a.low / b.high, high: a.high / b.low });
    (bottom > 0.0).then(|| Ratio { value: top / bottom, interval: interval.filter(|i| i.high.is_finite()) })
}

/// Why a rate or a time of `key` says nothing: the server stopped answering writes, so that most of the time nothing was
/// done, or the level was cut short. Counts say what they say all the same.
pub fn spoilt(record: &Record, key: &FigureKey) -> Option<String> {
    let FigureKey::Phase { leg, phase, .. } = key else { return None };
    if matches!(key.kind(), Kind::Count | Kind::Memory) {
        return None;
    }
    let measures = record.leg(leg)?.measures(phase);
    let hits = |spoils: fn(&Load) -> bool| {
        let hits = measures.iter().filter(|m| m.load.as_ref().is_some_and(|load| spoils(load))).count();
        (hits > 0).then(|| format!("in {hits} of {} runs", measures.len()))
    };
    let wedged =
        hits(|load| load.health == Health::Wedged).map(|n| format!("{phase}: the server wedged {n}"));
    let cut = || hits(|load| load.health == Health::Unknown || load.outcomes.abandoned > 0);
    wedged.or_else(|| cut().map(|n| format!("{phase}: cut short {n}")))
}

/// What is to be cited of `key`: of a step the time that the tool printed.
pub fn cited(record: &Record, key: &FigureKey) -> Option<Values> {
    match key {
        FigureKey::Total => {
            let leg = record.legs.first()?;
            let totals = leg
                .runs
                .iter()
                .filter(|run| run.counts())
                .filter_map(|run| Some((run.number, run.total_ms?)));
            Values::of_runs(totals.map(|(run, ms)| (run, ms as f64)).collect(), leg.total_error())
        }
        FigureKey::Step(key) => {
            let leg = record.legs.first()?;
            Values::of_runs(reported(leg, leg.step(key)?), CLOCK_ERROR_MS)
        }
        FigureKey::Phase { leg, phase, metric } => of_phase(record, record.leg(leg)?, phase, *metric),
    }
}

/// What resolves `key` best: of a step the observed time, where every run has one, for it is finer than a millisecond.
pub fn finest(record: &Record, key: &FigureKey) -> Option<Values> {
    if let (FigureKey::Step(key), Some(leg)) = (key, record.legs.first()) {
        let step = leg.step(key)?;
        let observed = observed(leg, step);
        if observed.len() == reported(leg, step).len() {
            return Values::of_runs(observed, 0.0);
        }
    }
    cited(record, key)
}

fn reported(leg: &Leg, step: &Step) -> Vec<(u32, f64)> {
    let counted = leg.counted();
    let samples = step.samples.iter().filter(|sample| counted.contains(&sample.run));
    samples.map(|sample| (sample.run, sample.reported_ms as f64)).collect()
}

fn observed(leg: &Leg, step: &Step) -> Vec<(u32, f64)> {
    let counted = leg.counted();
    let samples = step.samples.iter().filter(|sample| counted.contains(&sample.run));
    samples.filter_map(|sample| Some((sample.run, sample.observed_ns? as f64 / 1e6))).collect()
}

fn of_phase(record: &Record, leg: &Leg, phase: &str, metric: Metric) -> Option<Values> {
    let suite = Suite::named(&record.suite)?;
    let each = |value: fn(&[&Measure]) -> f64| {
        let runs = measures(suite, leg, phase);
        Values::of_runs(runs.iter().map(|(run, measures)| (*run, value(measures))).collect(), 0.0)
    };
    let latency = |pick: fn(&Latency) -> u64| {
        let runs = measures(suite, leg, phase);
        let of = |(run, all): &(u32, Vec<&Measure>)| Some((*run, pick(&all.first()?.latency) as f64 / 1e6));
        Values::of_runs(runs.iter().filter_map(of).collect(), 0.0)
    };
    match metric {
        Metric::Rate => rate(leg, phase),
        Metric::Time => each(time),
        Metric::Ratio => {
            let baseline = record.leg(suite.baseline?)?;
            over(&measures(suite, leg, phase), &measures(suite, baseline, phase))
        }
        Metric::P50 => latency(|l| l.p50_ns),
        Metric::P95 => latency(|l| l.p95_ns),
        Metric::P99 => latency(|l| l.p99_ns),
        Metric::P999 => latency(|l| l.p999_ns),
        Metric::Max => latency(|l| l.max_ns),
        Metric::Operations => each(|all| sum(all, |measure| measure.operations)),
        Metric::Busy => each(|all| sum(all, |measure| measure.busy)),
        Metric::BusySurfaced => each(|all| sum(all, busy_surfaced)),
        Metric::Failures => each(|all| sum(all, |measure| measure.errors.values().sum())),
        Metric::Memory => memory(leg),
    }
}

/// What each counted run measured in a phase; of the whole, in every phase, where none is missing.
fn measures<'a>(suite: &Suite, leg: &'a Leg, phase: &str) -> Vec<(u32, Vec<&'a Measure>)> {
    let of = |run: u32, name: &str| {
        let phase = leg.phases.iter().find(|phase| phase.name == name)?;
        phase.samples.iter().find(|sample| sample.run == run).map(|sample| &sample.measure)
    };
    let names = if phase == WHOLE { suite.whole().unwrap_or_default() } else { vec![phase] };
    let all = |run| Some((run, names.iter().map(|name| of(run, name)).collect::<Option<Vec<&Measure>>>()?));
    leg.counted().into_iter().filter_map(all).filter(|(_, measures)| !measures.is_empty()).collect()
}

/// Operations that failed because the server was busy. Without repeats of the client, each BUSY is such a failure.
pub fn busy_surfaced(measure: &Measure) -> u64 {
    let busy = |code: &String| code.starts_with("SQLITE_BUSY");
    match measure.load {
        Some(_) => measure.errors.iter().filter(|(code, _)| busy(code)).map(|(_, count)| count).sum(),
        None => measure.busy,
    }
}

/// What each counted run measured in a phase.
pub fn samples<'a>(leg: &'a Leg, phase: &str) -> Vec<&'a PhaseSample> {
    let counted = leg.counted();
    let phase = leg.phases.iter().find(|candidate| candidate.name == phase);
    let samples = phase.into_iter().flat_map(|phase| &phase.samples);
    samples.filter(|sample| counted.contains(&sample.run)).collect()
}

fn sum(measures: &[&Measure], of: fn(&Measure) -> u64) -> f64 {
    measures.iter().map(|measure| of(measure)).sum::<u64>() as f64
}

/// In ms, to the nanosecond.
fn time(measures: &[&Measure]) -> f64 {
    sum(measures, |measure| measure.elapsed_ns) / 1e6
}

/// Time over time, in the runs that both sides have.
fn over(side: &[(u32, Vec<&Measure>)], baseline: &[(u32, Vec<&Measure>)]) -> Option<Values> {
    let of =
        |run: u32| baseline.iter().find(|(number, _)| *number == run).map(|(_, measures)| time(measures));
    let ratio = |(run, measures): &(u32, Vec<&Measure>)| Some((*run, time(measures) / of(*run)?));
    Values::of_runs(side.iter().filter_map(ratio).filter(|(_, ratio)| ratio.is_finite()).collect(), 0.0)
}

/// With enough runs each gives one value. With fewer, the interval comes from the slices of the phase.
fn rate(leg: &Leg, phase: &str) -> Option<Values> {
    let samples = samples(leg, phase);
    let runs = samples.iter().filter_map(|sample| Some((sample.run, sample.measure.rate()?)));
    let values = Values::of_runs(runs.collect(), 0.0)?;
    if samples.len() >= bootstrap::FEWEST_SAMPLES {
        return Some(values);
    }
    let slices: Vec<(f64, f64)> =
        samples.iter().flat_map(|sample| sample.measure.slices_in_seconds()).collect();
    Some(Values { within: bootstrap::of_rate(&slices), ..values })
}

/// In units of 10^6 bytes.
fn memory(leg: &Leg) -> Option<Values> {
    let peak = |run: &crate::record::Run| Some((run.number, run.resources?.peak_memory_bytes? as f64 / 1e6));
    Values::of_runs(leg.runs.iter().filter(|run| run.counts()).filter_map(peak).collect(), 0.0)
}
