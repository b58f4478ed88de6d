//! Measures the latencies and slices of a phase.

use super::engine::SqlError;
use super::hrana::Failure;
use crate::record::{Latency, Measure, Quantile};
use base64::Engine as _;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use nix::time::ClockId;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::{Duration, Instant};

/// The number of slices of a phase. A counted phase is cut into slices of equal work, a timed one into slices
/// of equal time.
const SLICES: u64 = 20;

/// The error of an operation.
pub trait Fault: Display {
    /// Returns whether the operation failed because another connection was writing.
    fn is_busy(&self) -> bool;
}

impl Fault for SqlError {
    fn is_busy(&self) -> bool {
        SqlError::is_busy(self)
    }
}

impl Fault for Failure {
    fn is_busy(&self) -> bool {
        Failure::is_busy(self)
    }
}

/// Measures the operations of one thread.
pub struct Meter {
    /// The latencies in ns with four significant digits, which is within 1 µs up to 10 ms. Any latency above
    /// an hour counts as an hour.
    histogram: Histogram<u32>,
    operations: u64,
    errors: BTreeMap<String, u64>,
    busy: u64,
    started: Instant,
    /// When the last operation ended.
    last: Instant,
    /// The time of all operations, without the time between them.
    own: Duration,
    cut: Cut,
    attempts: u64,
    /// The number of operations that succeeded and the time in ns, for each slice.
    slices: Vec<(u64, u64)>,
    slice_started: Instant,
    slice_operations: u64,
}

/// Where slices end.
#[derive(Clone, Copy)]
enum Cut {
    /// A slice ends after this many attempts.
    Every(u64),
    /// Slices end at multiples of this many ns since the start, which are the same for every thread.
    After(u64),
}

impl Meter {
    /// Returns a meter for a phase of `operations` operations.
    pub fn counted(operations: u64) -> Meter {
        Meter::new(Cut::Every((operations / SLICES).max(1)), Vec::new())
    }

    /// Returns a meter for a phase of this length.
    pub fn timed(length: Duration) -> Meter {
        let slot = (length.as_nanos() as u64 / SLICES).max(1);
        Meter::new(Cut::After(slot), vec![(0, slot); SLICES as usize])
    }

    fn new(cut: Cut, slices: Vec<(u64, u64)>) -> Meter {
        // Creating the histogram takes longer than many a phase, so it happens before the clock starts.
        let histogram = Histogram::new_with_bounds(1, 3_600_000_000_000, 4).expect("the bounds are constant");
        let now = Instant::now();
        Meter {
            histogram,
            operations: 0,
            errors: BTreeMap::new(),
            busy: 0,
            started: now,
            last: now,
            own: Duration::ZERO,
            cut,
            attempts: 0,
            slices,
            slice_started: now,
            slice_operations: 0,
        }
    }

    /// Runs and times one operation, and returns whether it succeeded.
    #[inline]
    pub fn time<E: Fault>(&mut self, operation: impl FnOnce() -> Result<(), E>) -> bool {
        let before = Instant::now();
        let result = operation();
        self.last = Instant::now();
        let took = self.last - before;
        self.own += took;
        self.histogram.saturating_record(took.as_nanos() as u64);
        self.attempts += 1;
        let succeeded = result.is_ok();
        if let Err(error) = result {
            self.failed(&error);
        }
        self.operations += u64::from(succeeded);
        match self.cut {
            Cut::Every(count) => {
                self.slice_operations += u64::from(succeeded);
                if self.attempts.is_multiple_of(count) {
                    self.slices
                        .push((self.slice_operations, (self.last - self.slice_started).as_nanos() as u64));
                    self.slice_operations = 0;
                    self.slice_started = self.last;
                }
            }
            Cut::After(slot) => {
                let index = (self.last - self.started).as_nanos() as u64 / slot;
                let end = self.slices.len() - 1;
                self.slices[(index as usize).min(end)].0 += u64::from(succeeded);
            }
        }
        succeeded
    }

    #[cold]
    fn failed(&mut self, error: &impl Fault) {
        self.busy += u64::from(error.is_busy());
        *self.errors.entry(error.to_string()).or_default() += 1;
    }

    /// Returns the time since the start.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Returns what one thread measured.
    pub fn finish(self) -> Measure {
        Meter::merge(vec![self])
    }

    /// Returns what several threads measured together, with their operations added up slice by slice.
    pub fn merge(meters: Vec<Meter>) -> Measure {
        let elapsed = meters.iter().map(|meter| meter.last - meter.started).max().unwrap_or_default();
        let mut meters = meters.into_iter();
        let Some(mut all) = meters.next() else { return Measure::default() };
        for meter in meters {
            // The histograms have the same bounds, so this can't fail.
            let _ = all.histogram.add(&meter.histogram);
            all.operations += meter.operations;
            all.busy += meter.busy;
            for (message, count) in meter.errors {
                *all.errors.entry(message).or_default() += count;
            }
            for (slice, other) in all.slices.iter_mut().zip(&meter.slices) {
                slice.0 += other.0;
            }
        }
        Measure {
            operations: Some(all.operations),
            elapsed_ns: Some(elapsed.as_nanos() as u64),
            latency: Some(latency(&all.histogram, 0)),
            slices: all.slices,
            errors: all.errors,
            busy: Some(all.busy),
            // Nothing is repeated here, so each BUSY is a failure.
            busy_surfaced: Some(all.busy),
            ..Measure::default()
        }
    }

    /// Returns what several threads measured together by the time of the operations alone, and the time of
    /// the loop around them in ns per operation. The clock of the phase is cut by the share of the threads'
    /// time that was spent outside of operations, so the rate is the number of threads over the mean latency.
    pub fn merge_operations(meters: Vec<Meter>) -> (Measure, Option<f64>) {
        let attempts: u64 = meters.iter().map(|meter| meter.attempts).sum();
        let (wall, own): (Duration, Duration) = meters
            .iter()
            .map(|meter| (meter.last - meter.started, meter.own))
            .fold((Duration::ZERO, Duration::ZERO), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let mut measure = Meter::merge(meters);
        if own > Duration::ZERO {
            let share = own.as_secs_f64() / wall.as_secs_f64().max(1e-9);
            let cut = |ns: u64| (ns as f64 * share) as u64;
            measure.elapsed_ns = measure.elapsed_ns.map(cut);
            measure.slices.iter_mut().for_each(|slice| slice.1 = cut(slice.1));
        }
        let loop_ns = (attempts > 0).then(|| wall.saturating_sub(own).as_nanos() as f64 / attempts as f64);
        (measure, loop_ns)
    }
}

/// Returns the percentiles of a histogram, with the histogram. `missing` operations have no latency because
/// they got no answer: a percentile is a lower bound if these, slower than all others, would raise it by more
/// than a hundredth.
pub fn latency(histogram: &Histogram<u32>, missing: u64) -> Latency {
    let known = histogram.len();
    let moved = |quantile: &Quantile| {
        let then = quantile.fraction() * (known + missing) as f64 / known.max(1) as f64;
        let now = histogram.value_at_quantile(quantile.fraction());
        let moves = || (histogram.value_at_quantile(then) - now) as f64 > 0.01 * now as f64;
        missing > 0 && (then > 1.0 || moves())
    };
    let mut bytes = Vec::new();
    // Writing to memory can't fail; if it did, the percentiles would remain valid.
    let _ = V2DeflateSerializer::new().serialize(histogram, &mut bytes);
    Latency {
        p50_ns: histogram.value_at_quantile(0.5),
        p95_ns: histogram.value_at_quantile(0.95),
        p99_ns: histogram.value_at_quantile(0.99),
        p999_ns: histogram.value_at_quantile(0.999),
        max_ns: histogram.max(),
        at_least: Quantile::ALL.into_iter().filter(moved).collect(),
        histogram: base64::engine::general_purpose::STANDARD.encode(bytes),
    }
}

/// Returns the CPU time of this thread so far, in ns; the time from `getrusage` lags by up to a tick of the
/// scheduler.
pub fn thread_cpu_ns() -> Option<u64> {
    let time = ClockId::CLOCK_THREAD_CPUTIME_ID.now().ok()?;
    Some(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_slices_and_errors_are_counted() {
        let mut meter = Meter::counted(40);
        for _ in 0..40 {
            assert!(meter.time(|| Ok::<(), SqlError>(())));
        }
        let busy = || Err(SqlError { code: 5, message: "database is locked".into() });
        assert!(!meter.time(busy));
        let measure = meter.finish();
        assert_eq!((measure.operations, measure.slices.len(), measure.busy), (Some(40), 20, Some(1)));
        assert_eq!(measure.errors.values().sum::<u64>(), 1);
        assert!(measure.slices.iter().all(|slice| slice.0 == 2));
        let latency = measure.latency.unwrap();
        assert!(latency.max_ns >= latency.p50_ns && latency.at_least.is_empty());
    }

    #[test]
    fn what_it_needs_itself_is_not_counted() {
        let pause = Duration::from_micros(100);
        let own = || {
            let mut meter = Meter::counted(1);
            meter.time(|| {
                std::thread::sleep(pause);
                Ok::<(), SqlError>(())
            });
            let measure = meter.finish();
            measure.elapsed_ns.unwrap().saturating_sub(measure.latency.unwrap().max_ns)
        };
        let least = (0..20).map(|_| own()).min().unwrap();
        assert!(least < pause.as_nanos() as u64, "{least} ns before the operation");
    }

    #[test]
    fn threads_add_up() {
        let meter = || {
            let mut meter = Meter::timed(Duration::from_secs(3600));
            (0..20).for_each(|_| {
                meter.time(|| Ok::<(), SqlError>(()));
            });
            meter
        };
        let measure = Meter::merge(vec![meter(), meter(), meter()]);
        assert_eq!(
            (measure.operations, measure.slices.len(), measure.slices[0]),
            (Some(60), 20, (60, 180_000_000_000))
        );
    }

    #[test]
    fn the_loop_around_the_operations_is_not_theirs() {
        let mut meter = Meter::counted(20);
        for _ in 0..20 {
            std::thread::sleep(Duration::from_millis(2));
            meter.time(|| {
                std::thread::sleep(Duration::from_micros(200));
                Ok::<(), SqlError>(())
            });
        }
        let (measure, loop_ns) = Meter::merge_operations(vec![meter]);
        let (own, slices) = (measure.elapsed_ns.unwrap(), measure.slices.iter().map(|s| s.1).sum::<u64>());
        assert!(own >= 20 * 200_000 && loop_ns.unwrap() >= 1_900_000.0, "{own} {loop_ns:?}");
        assert!(own < 20 * 2_200_000 && slices.abs_diff(own) < own / 10, "{slices} for {own}");
    }

    #[test]
    fn what_has_no_latency_makes_percentiles_lower_bounds() {
        let mut histogram = Histogram::new_with_bounds(1, 1_000_000, 4).unwrap();
        (1..=1000).for_each(|value| histogram.record(value).unwrap());
        let bounds = |missing| latency(&histogram, missing).at_least.into_iter().collect::<Vec<_>>();
        assert_eq!(bounds(0), []);
        assert_eq!(bounds(1), [Quantile::Max]);
        assert_eq!(bounds(5), [Quantile::P999, Quantile::Max]);
        assert_eq!(bounds(20), [Quantile::P50, Quantile::P95, Quantile::P99, Quantile::P999, Quantile::Max]);
        assert_eq!(bounds(1000), Quantile::ALL);
        histogram.clear();
        histogram.record_n(7, 1000).unwrap();
        assert_eq!(
            latency(&histogram, 5).at_least.into_iter().collect::<Vec<_>>(),
            [Quantile::P999, Quantile::Max]
        );
    }
}
