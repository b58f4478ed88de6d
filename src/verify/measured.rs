//! What a record has to say of a figure.

use super::figure::{FigureKey, Metric};
use crate::record::{CLOCK_ERROR_MS, Leg, Record};
use crate::stats::{Interval, Ratio, Summary, bootstrap, median};

/// The measured side of a figure: milliseconds, or operations per second.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// One value of each counted run, off by at most `error`.
    Runs {
        /// The values.
        samples: Vec<f64>,
        /// The clock's error.
        error: f64,
    },
    /// One value, whose interval comes from within the run.
    Single {
        /// The value.
        value: f64,
        /// 95 % interval.
        interval: Option<Interval>,
    },
}

impl Values {
    fn of_runs(samples: Vec<f64>, error: f64) -> Option<Values> {
        (!samples.is_empty()).then_some(Values::Runs { samples, error })
    }

    /// The value to show, with its interval.
    pub fn estimate(&self) -> Option<(f64, Option<Interval>)> {
        match self {
            Values::Runs { samples, error } => {
                Summary::of(samples, *error).map(|summary| (summary.median, summary.interval))
            }
            Values::Single { value, interval } => Some((*value, *interval)),
        }
    }

    /// The values of the runs, where there is one of each.
    pub fn samples(&self) -> &[f64] {
        match self {
            Values::Runs { samples, .. } => samples,
            Values::Single { value, .. } => std::slice::from_ref(value),
        }
    }

    /// The ratio to an exact figure whose last digit is worth `error`.
    pub fn against(&self, published: f64, error: f64) -> Option<Ratio> {
        match self {
            Values::Runs { samples, error: own } => {
                Ratio::of_medians(samples, *own, &[published], error.max(*own))
            }
            Values::Single { value, interval } => {
                let ends = |i: &Interval| Interval {
                    low: i.low / (published + error),
                    high: i.high / (published - error),
                };
                (published > error)
                    .then(|| Ratio { value: value / published, interval: interval.as_ref().map(ends) })
            }
        }
    }
}

/// The ratio of two sides of one record: run by run where both have a fine value of each run, else by their
/// intervals, taken at their worst.
pub fn ratio(a: &Values, b: &Values) -> Option<Ratio> {
    match (a, b) {
        (Values::Runs { samples: a, error: 0.0 }, Values::Runs { samples: b, error: 0.0 })
            if a.len() == b.len() =>
        {
            let pairs: Vec<(f64, f64)> = a.iter().copied().zip(b.iter().copied()).collect();
            Ratio::of_pairs(&pairs)
        }
        (Values::Runs { samples: a, error: a_error }, Values::Runs { samples: b, error: b_error }) => {
            Ratio::of_medians(a, *a_error, b, *b_error)
        }
        _ => {
            let ((top, above), (bottom, below)) = (a.estimate()?, b.estimate()?);
            let interval =
                above.zip(below).map(|(a, b)| Interval { low: a.low / b.high, high: a.high / b.low });
            (bottom > 0.0)
                .then(|| Ratio { value: top / bottom, interval: interval.filter(|i| i.high.is_finite()) })
        }
    }
}

/// What is to be cited of `key`: of a step the time that the tool printed.
pub fn cited(record: &Record, key: &FigureKey) -> Option<Values> {
    match key {
        FigureKey::Total => {
            record.legs.first().and_then(|leg| Values::of_runs(leg.totals(), leg.total_error()))
        }
        FigureKey::Step(key) => {
            let leg = record.legs.first()?;
            Values::of_runs(leg.reported(leg.step(key)?), CLOCK_ERROR_MS)
        }
        FigureKey::Phase { leg, phase, metric } => of_phase(record.leg(leg)?, phase, *metric),
    }
}

/// What resolves `key` best: of a step the observed time, where every run has one, for it is finer than a millisecond.
pub fn finest(record: &Record, key: &FigureKey) -> Option<Values> {
    if let (FigureKey::Step(key), Some(leg)) = (key, record.legs.first()) {
        let step = leg.step(key)?;
        let observed = leg.observed(step);
        if observed.len() == leg.reported(step).len() {
            return Values::of_runs(observed, 0.0);
        }
    }
    cited(record, key)
}

/// With enough runs each gives one value. With fewer, a rate takes its interval from the slices of the phase.
fn of_phase(leg: &Leg, phase: &str, metric: Metric) -> Option<Values> {
    let measures = leg.measures(phase);
    let latency = |pick: fn(&crate::suite::measure::Latency) -> u64| {
        measures.iter().map(|measure| pick(&measure.latency) as f64 / 1e6).collect::<Vec<f64>>()
    };
    let samples = match metric {
        Metric::Rate if measures.len() < bootstrap::FEWEST_SAMPLES => {
            let value = median(&measures.iter().filter_map(|measure| measure.rate()).collect::<Vec<f64>>())?;
            let slices: Vec<(f64, f64)> =
                measures.iter().flat_map(|measure| measure.slices_in_seconds()).collect();
            return Some(Values::Single { value, interval: bootstrap::of_rate(&slices) });
        }
        Metric::Rate => measures.iter().filter_map(|measure| measure.rate()).collect(),
        Metric::P50 => latency(|l| l.p50_ns),
        Metric::P95 => latency(|l| l.p95_ns),
        Metric::P99 => latency(|l| l.p99_ns),
        Metric::P999 => latency(|l| l.p999_ns),
    };
    Values::of_runs(samples, 0.0)
}
