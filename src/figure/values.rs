//! The values that a record gives for a figure.

use super::key::{FigureKey, Kind, Metric, WHOLE};
use super::shape::Shape;
use crate::record::{Health, Leg, Measure, Quantile, Record, Run};
use crate::stats::{self, Interval, Ratio, Summary};

/// The largest error of a time that the tool prints, in ms: the difference of two readings in whole
/// milliseconds is off by less than one.
pub const CLOCK_ERROR_MS: f64 = 1.0;

/// Returns the error of a sum of `rows` times that need not follow each other, in ms. The errors of the rows are
/// independent and average out: each has a standard deviation of 0.41 ms (two truncated readings), so √rows ms are
/// 2.4 standard deviations of the sum.
fn clock_error_of_sum(rows: usize) -> f64 {
    CLOCK_ERROR_MS * (rows as f64).sqrt()
}

/// The measured values of a figure, in its unit: one for each counted run.
#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    /// The numbers of the runs with their values.
    runs: Vec<(u32, f64)>,
    /// The error of a value due to the clock, in the figure's unit.
    error: f64,
}

impl Values {
    fn of_runs(runs: Vec<(u32, f64)>, error: f64) -> Option<Values> {
        (!runs.is_empty()).then_some(Values { runs, error })
    }

    /// Returns exact values by the number of their run, or `None` if there are none.
    pub fn of(runs: &[(u32, f64)]) -> Option<Values> {
        Values::of_runs(runs.to_vec(), 0.0)
    }

    /// Returns times that the tool printed, in ms, by the number of their run, or `None` if there are none.
    pub fn printed(runs: &[(u32, f64)]) -> Option<Values> {
        Values::of_runs(runs.to_vec(), CLOCK_ERROR_MS)
    }

    /// Returns the summary of the values; its interval is the one of the runs.
    pub fn summary(&self) -> Option<Summary> {
        Summary::of(&self.samples(), self.error)
    }

    /// Returns the value to show, with its interval.
    pub fn estimate(&self) -> Option<(f64, Option<Interval>)> {
        let summary = self.summary()?;
        Some((summary.median, summary.interval))
    }

    /// Returns the median alone, for callers that need no interval.
    pub fn median(&self) -> Option<f64> {
        stats::median(&self.samples())
    }

    /// Returns the numbers of the runs with their values.
    pub fn runs(&self) -> &[(u32, f64)] {
        &self.runs
    }

    /// Returns the error of a value due to the clock, in the figure's unit.
    pub fn error(&self) -> f64 {
        self.error
    }

    fn samples(&self) -> Vec<f64> {
        self.runs.iter().map(|(_, value)| *value).collect()
    }

    /// Returns the pairs of values from the runs that both sides have.
    fn paired_with(&self, other: &Values) -> Vec<(f64, f64)> {
        let of = |run: u32| other.runs.iter().find(|(number, _)| *number == run).map(|(_, value)| *value);
        self.runs.iter().filter_map(|(run, value)| Some((*value, of(*run)?))).collect()
    }

    /// Returns the ratio to an exact figure whose last digit is worth `error`.
    pub fn against(&self, published: f64, error: f64) -> Option<Ratio> {
        Ratio::of_medians(&self.samples(), self.error, &[published], error.max(self.error))
    }
}

/// Returns the ratio of two legs of one record: pair by pair if the values of both are exact, and otherwise
/// as by [`ratio_apart`].
pub fn ratio(a: &Values, b: &Values) -> Option<Ratio> {
    let pairs = a.paired_with(b);
    match a.error == 0.0 && b.error == 0.0 && !pairs.is_empty() {
        true => Ratio::of_pairs(&pairs),
        false => ratio_apart(a, b),
    }
}

/// Returns the ratio of two sides that were measured alternately, pair by pair.
pub fn paired(a: &Values, b: &Values) -> Option<Ratio> {
    Ratio::of_pairs(&a.paired_with(b))
}

/// Returns the ratio of two sides that were not measured alternately. A single run is no exact figure: each side needs
/// enough runs for an interval.
pub fn ratio_apart(a: &Values, b: &Values) -> Option<Ratio> {
    let ratio = Ratio::of_medians(&a.samples(), a.error, &b.samples(), b.error)?;
    let enough = a.runs.len().min(b.runs.len()) >= stats::FEWEST_RUNS as usize;
    Some(Ratio { interval: ratio.interval.filter(|_| enough), ..ratio })
}

/// A record, read by the shape of its study.
#[derive(Clone, Copy)]
pub struct Figures<'a> {
    /// The shape of the record's study.
    pub shape: &'a Shape,
    /// The record that is read.
    pub record: &'a Record,
}

impl<'a> Figures<'a> {
    /// Returns the figures of a record whose study has this shape.
    pub fn new(shape: &'a Shape, record: &'a Record) -> Figures<'a> {
        Figures { shape, record }
    }

    /// Returns the leg that a figure belongs to.
    pub fn leg(&self, key: &FigureKey) -> Option<&'a Leg> {
        match &key.leg {
            Some(name) => self.record.leg(name),
            None => self.record.legs.first(),
        }
    }

    /// Returns the keys of this metric for each phase of a leg and, for times, for the whole.
    pub fn keys(&self, leg: &Leg, metric: Metric) -> Vec<FigureKey> {
        let whole = (metric == Metric::Time).then_some(WHOLE);
        let phases = leg.phases.iter().map(|phase| phase.name.as_str()).chain(whole);
        phases
            .map(|phase| FigureKey {
                leg: (!self.shape.has_rows() || self.record.legs.len() > 1).then(|| leg.name.clone()),
                phase: phase.to_string(),
                metric,
            })
            .collect()
    }

    /// Returns the name that the tool or a publication gives to the phase of a figure.
    pub fn title(&self, key: &FigureKey) -> Option<&'a str> {
        self.leg(key)?.phase(&key.phase)?.title.as_deref()
    }

    /// Returns the values to cite for `key`; for a row these are the times that the tool printed.
    pub fn cited(&self, key: &FigureKey) -> Option<Values> {
        let leg = self.leg(key)?;
        let each = |value: &dyn Fn(&[&Measure]) -> Option<f64>| {
            let runs = self.measures(leg, &key.phase);
            let of = |(run, all): &(u32, Vec<&Measure>)| Some((*run, value(all)?));
            Values::of_runs(runs.iter().filter_map(of).collect(), 0.0)
        };
        let count = |of: fn(&Measure) -> Option<u64>| {
            each(&|all| all.iter().map(|measure| of(measure)).sum::<Option<u64>>().map(|n| n as f64))
        };
        let latency =
            |quantile: Quantile| each(&|all| Some(all.first()?.latency.as_ref()?.at(quantile) as f64 / 1e6));
        match key.metric {
            Metric::Time => self.time(leg, &key.phase),
            Metric::Rate => rate(leg, &key.phase),
            Metric::Ratio => {
                let baseline = self.record.leg(self.shape.baseline?)?;
                over(&self.measures(leg, &key.phase), &self.measures(baseline, &key.phase))
            }
            Metric::P50 => latency(Quantile::P50),
            Metric::P95 => latency(Quantile::P95),
            Metric::P99 => latency(Quantile::P99),
            Metric::P999 => latency(Quantile::P999),
            Metric::Max => latency(Quantile::Max),
            Metric::Operations => count(|measure| measure.operations),
            Metric::Busy => count(|measure| measure.busy),
            Metric::BusySurfaced => count(|measure| measure.busy_surfaced),
            Metric::Failures => count(|measure| Some(measure.failures())),
            Metric::Memory => memory(leg),
            Metric::Size => each(&|all| Some(database_bytes(all.first()?)? / 1e6)),
        }
    }

    /// Returns the values with the best resolution for `key`: for a row the observed times, which are finer
    /// than a millisecond, if every run has one.
    pub fn finest(&self, key: &FigureKey) -> Option<Values> {
        let cited = self.cited(key)?;
        if key.metric == Metric::Time && cited.error > 0.0 && !key.is_sum() {
            // A saved output has no observed times.
            let observed = self.observed(key).filter(|observed| observed.runs.len() == cited.runs.len());
            return Some(observed.unwrap_or(cited));
        }
        Some(cited)
    }

    /// Returns the time of a phase by the clock of `repro`, in ms.
    pub fn observed(&self, key: &FigureKey) -> Option<Values> {
        let samples = self.leg(key)?.samples(&key.phase);
        let of = |sample: &&crate::record::Sample| Some((sample.run, elapsed_ms(&sample.measure)?));
        Values::of_runs(samples.iter().filter_map(of).collect(), 0.0)
    }

    /// Returns the time of a phase or of all of them in ms, as the tool reported it if it did.
    fn time(&self, leg: &Leg, phase: &str) -> Option<Values> {
        if phase == WHOLE && self.shape.has_rows() {
            let totals = leg.counted_runs().filter_map(|run| Some((run.number, run.total_ms? as f64)));
            // Each row starts where the one before it ended, so all readings but the first and last cancel out.
            return Values::of_runs(totals.collect(), CLOCK_ERROR_MS);
        }
        let measures = self.measures(leg, phase);
        let reported = |(run, all): &(u32, Vec<&Measure>)| Some((*run, all.first()?.reported_ms? as f64));
        let runs: Vec<(u32, f64)> = measures.iter().filter_map(reported).collect();
        if !runs.is_empty() {
            return Values::of_runs(runs, CLOCK_ERROR_MS);
        }
        Values::of_runs(measures.iter().filter_map(|(run, all)| Some((*run, sum_ms(all)?))).collect(), 0.0)
    }

    /// Returns the sum of the times that the tool reported for several rows, run by run, in ms.
    pub fn sum_of_rows(&self, leg: &Leg, rows: &[&str]) -> Option<Values> {
        let all: Vec<(u32, Vec<&Measure>)> = of_runs(leg, rows);
        let sum = |(run, all): &(u32, Vec<&Measure>)| {
            let ms = all.iter().map(|measure| measure.reported_ms).sum::<Option<i64>>()?;
            Some((*run, ms as f64))
        };
        Values::of_runs(all.iter().filter_map(sum).collect(), clock_error_of_sum(rows.len()))
    }

    /// Returns what each counted run measured in a phase. For the whole these are its measures in every
    /// phase, from the runs that have them all.
    fn measures(&self, leg: &'a Leg, phase: &str) -> Vec<(u32, Vec<&'a Measure>)> {
        match phase {
            WHOLE => of_runs(leg, self.shape.whole().unwrap_or_default()),
            phase => of_runs(leg, &[phase]),
        }
    }

    /// Returns why a rate, a time or a latency says nothing: the server stopped answering writes, so that
    /// nothing was done for most of the time; the phase was cut short; or statements without an answer could
    /// change the percentile. Counts remain valid.
    pub fn spoilt(&self, key: &FigureKey) -> Option<String> {
        if key.leg.is_none() || matches!(key.kind(), Kind::Count | Kind::Memory | Kind::Size) {
            return None;
        }
        let (samples, phase) = (self.leg(key)?.samples(&key.phase), &key.phase);
        let hits = |spoils: &dyn Fn(&Measure) -> bool| {
            let hits = samples.iter().filter(|sample| spoils(&sample.measure)).count();
            (hits > 0).then(|| format!("in {hits} of {} runs", samples.len()))
        };
        let wedged = hits(&|measure| measure.health == Some(Health::Wedged))
            .map(|n| format!("{phase}: the server wedged {n}"));
        let cut = || {
            hits(&|measure| measure.cut_short || measure.health == Some(Health::Unknown))
                .map(|n| format!("{phase}: cut short {n}"))
        };
        let unanswered = || {
            let quantile = quantile(key.metric)?;
            let moved = |m: &Measure| m.latency.as_ref().is_some_and(|l| l.at_least.contains(&quantile));
            hits(&moved).map(|n| format!("{phase}: statements without an answer could change it {n}"))
        };
        wedged.or_else(cut).or_else(unanswered)
    }
}

fn quantile(metric: Metric) -> Option<Quantile> {
    match metric {
        Metric::P50 => Some(Quantile::P50),
        Metric::P95 => Some(Quantile::P95),
        Metric::P99 => Some(Quantile::P99),
        Metric::P999 => Some(Quantile::P999),
        Metric::Max => Some(Quantile::Max),
        _ => None,
    }
}

/// Returns, for each counted run that has all of these phases, what it measured in them.
fn of_runs<'a>(leg: &'a Leg, phases: &[&str]) -> Vec<(u32, Vec<&'a Measure>)> {
    let columns: Vec<_> = phases.iter().map(|phase| leg.samples(phase)).collect();
    let of = |run: u32| {
        let measure = |column: &Vec<&'a crate::record::Sample>| {
            column.iter().find(|sample| sample.run == run).map(|sample| &sample.measure)
        };
        Some((run, columns.iter().map(measure).collect::<Option<Vec<&Measure>>>()?))
    };
    leg.counted().into_iter().filter_map(of).filter(|(_, measures)| !measures.is_empty()).collect()
}

/// Returns the size of the database after a phase, which each study that measures it gives under this name.
fn database_bytes(measure: &Measure) -> Option<f64> {
    let mut numbers = measure.detail.as_ref()?.numbers();
    numbers.find(|(name, _)| *name == "database_bytes").and_then(|(_, bytes)| bytes.as_f64())
}

/// Returns the time of a measure in ms, with the precision of its nanoseconds.
fn elapsed_ms(measure: &Measure) -> Option<f64> {
    Some(measure.elapsed_ns? as f64 / 1e6)
}

fn sum_ms(measures: &[&Measure]) -> Option<f64> {
    measures.iter().map(|measure| elapsed_ms(measure)).sum()
}

/// Returns the time of a side over that of the baseline, for the runs that both have.
fn over(side: &[(u32, Vec<&Measure>)], baseline: &[(u32, Vec<&Measure>)]) -> Option<Values> {
    let of = |run: u32| baseline.iter().find(|(number, _)| *number == run).and_then(|(_, all)| sum_ms(all));
    let ratio = |(run, all): &(u32, Vec<&Measure>)| Some((*run, sum_ms(all)? / of(*run)?));
    Values::of_runs(side.iter().filter_map(ratio).filter(|(_, ratio)| ratio.is_finite()).collect(), 0.0)
}

/// Returns the rate of a phase, one value per run. The slices of a run are no runs: what they share does not
/// show in how they differ.
fn rate(leg: &Leg, phase: &str) -> Option<Values> {
    let runs = leg.samples(phase).into_iter().filter_map(|sample| Some((sample.run, sample.measure.rate()?)));
    Values::of_runs(runs.collect(), 0.0)
}

/// Returns the peak memory of each counted run, in MB of 10^6 bytes.
fn memory(leg: &Leg) -> Option<Values> {
    let peak = |run: &Run| Some((run.number, run.resources?.peak_memory_bytes? as f64 / 1e6));
    Values::of_runs(leg.counted_runs().filter_map(peak).collect(), 0.0)
}
