//! Counts what one client measures.

use crate::instrument::hrana::{Failure, Retried};
use crate::instrument::meter;
use crate::record::Latency;
use crate::study::clients::{Kind, KindMeasure, Outcomes};
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The latency above which an answer counts as stalled.
const STALL: Duration = Duration::from_secs(1);

/// Returns a histogram of latencies in ns, with a resolution of 1 µs and three significant digits; a latency
/// above one day counts as a day.
pub fn histogram() -> Histogram<u32> {
    Histogram::new_with_bounds(1000, 86_400_000_000_000, 3).expect("the bounds are constant")
}

/// Adds a latency.
pub fn count(histogram: &mut Histogram<u32>, latency: Duration) {
    histogram.saturating_record((latency.as_nanos() as u64).max(1));
}

/// The counts of one client, or of all clients together.
pub struct Tally {
    /// How many statements ended in which way.
    pub outcomes: Outcomes,
    /// How often the server answered that it was busy.
    pub busy: u64,
    /// The number of statements whose answer can't be right.
    pub wrong: u64,
    /// A description of the first of these.
    pub first_wrong: Option<String>,
    /// The latencies by kind, in the order of [`Kind::ALL`].
    kinds: [Histogram<u32>; 5],
    first_attempts: Histogram<u32>,
    /// The CPU time of the clients' threads, in ns; `None` when one is unknown.
    pub cpu_ns: Option<u64>,
    /// When the last statement ended.
    pub last: Option<Instant>,
}

impl Tally {
    /// Returns a tally with all counts at zero.
    pub fn new() -> Tally {
        Tally {
            outcomes: Outcomes::default(),
            busy: 0,
            wrong: 0,
            first_wrong: None,
            kinds: std::array::from_fn(|_| histogram()),
            first_attempts: histogram(),
            cpu_ns: Some(0),
            last: None,
        }
    }

    /// Counts a statement in its class, by the time since it was sent, and its latency, by the time since it
    /// was due. Returns whether it was answered.
    pub fn classify<T>(
        &mut self,
        kind: Kind,
        retried: &Retried<T>,
        latency: Duration,
        took: Duration,
    ) -> bool {
        self.busy += u64::from(retried.busy);
        count(&mut self.first_attempts, retried.first);
        match &retried.outcome {
            Ok(_) => {
                count(&mut self.kinds[kind as usize], latency);
                match () {
                    () if took > STALL => self.outcomes.stalled += 1,
                    () if retried.busy > 0 => self.outcomes.ok_after_busy += 1,
                    () => self.outcomes.ok += 1,
                }
                return true;
            }
            // A wait that is interrupted here belongs to a level that was given up because writes are no
            // longer answered.
            Err(Failure::TimedOut(_) | Failure::Interrupted) => self.outcomes.hung += 1,
            Err(Failure::Dropped(_) | Failure::Refused(_) | Failure::Http(_)) => self.outcomes.dropped += 1,
            Err(Failure::Auth { .. }) => self.error("AUTH"),
            Err(Failure::Protocol(_)) => self.error("PROTOCOL"),
            Err(Failure::Server { code, .. }) => self.error(code),
        }
        false
    }

    fn error(&mut self, code: &str) {
        *self.outcomes.errors.entry(code.to_string()).or_default() += 1;
    }

    /// Counts an answer that can't be right.
    pub fn wrong(&mut self, what: String) {
        self.wrong += 1;
        self.first_wrong.get_or_insert(what);
    }

    /// Adds the counts of another client.
    pub fn add(&mut self, other: Tally) {
        self.outcomes.add(&other.outcomes);
        self.busy += other.busy;
        self.wrong += other.wrong;
        self.first_wrong = self.first_wrong.take().or(other.first_wrong);
        for (own, other) in self.kinds.iter_mut().zip(&other.kinds) {
            // The histograms have the same bounds, so this can't fail.
            let _ = own.add(other);
        }
        let _ = self.first_attempts.add(&other.first_attempts);
        self.last = self.last.max(other.last);
        self.cpu_ns = self.cpu_ns.zip(other.cpu_ns).map(|(own, other)| own + other);
    }

    /// Returns the latencies of all kinds; `missing` statements have none.
    pub fn latency(&self, missing: u64) -> Latency {
        let mut all = histogram();
        self.kinds.iter().for_each(|kind| {
            let _ = all.add(kind);
        });
        meter::latency(&all, missing)
    }

    /// Returns the latencies of first attempts, including those that failed.
    pub fn first_attempt(&self) -> Latency {
        meter::latency(&self.first_attempts, 0)
    }

    /// Returns the measures of each kind that was answered at least once.
    pub fn kinds(&self) -> BTreeMap<String, KindMeasure> {
        let kinds = Kind::ALL.iter().zip(&self.kinds).filter(|(_, histogram)| !histogram.is_empty());
        let measure = |histogram: &Histogram<u32>| KindMeasure {
            operations: histogram.len(),
            latency: meter::latency(histogram, 0),
        };
        kinds.map(|(kind, histogram)| (kind.name().to_string(), measure(histogram))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retried(outcome: Result<(), Failure>, busy: u32) -> Retried<()> {
        Retried { outcome, busy, first: Duration::from_micros(5) }
    }

    #[test]
    fn each_statement_is_in_one_class() {
        let server = |code: &str| Failure::Server { code: code.into(), message: String::new() };
        let cases = [
            (retried(Ok(()), 0), 10),
            (retried(Ok(()), 2), 10),
            (retried(Ok(()), 2), 1500),
            (retried(Err(Failure::TimedOut(Duration::from_secs(12))), 0), 12_000),
            (retried(Err(Failure::Dropped(String::new())), 0), 1),
            (retried(Err(Failure::Refused(String::new())), 0), 1),
            (retried(Err(server("SQLITE_BUSY")), 100), 10_000),
            (retried(Err(Failure::Protocol(String::new())), 0), 1),
        ];
        let mut tally = Tally::new();
        for (outcome, ms) in &cases {
            tally.classify(Kind::Update, outcome, Duration::from_millis(*ms), Duration::from_millis(*ms));
        }
        let all = &tally.outcomes;
        assert_eq!((all.ok, all.ok_after_busy, all.stalled, all.hung, all.dropped), (1, 1, 1, 1, 2));
        assert_eq!(
            (all.total(), all.errors["SQLITE_BUSY"], all.errors["PROTOCOL"]),
            (cases.len() as u64, 1, 1)
        );
        assert_eq!((tally.busy, tally.kinds()["update"].operations), (104, 3));
        let mut both = Tally::new();
        both.add(tally);
        assert_eq!((both.outcomes.total(), both.busy, both.latency(0).max_ns / 1_000_000), (8, 104, 1500));
    }
}
