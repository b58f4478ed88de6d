//! Samples each second what the clients have counted and what the server has used.

use super::probe;
use super::worker::Tick;
use crate::instrument::proc;
use crate::instrument::sqld::Server;
use crate::machine::{memory, noise};
use crate::study::clients::Second;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Takes a sample each time it is called.
pub struct Sampler {
    begun: Instant,
    last: (Instant, Option<proc::Usage>),
    ticks: Vec<Arc<Mutex<Tick>>>,
}

impl Sampler {
    /// Creates a sampler for clients that begin now.
    pub fn new(begun: Instant, server: &Server, ticks: Vec<Arc<Mutex<Tick>>>) -> Sampler {
        Sampler { begun, last: (begun, server.usage()), ticks }
    }

    /// Returns what happened since the last sample.
    pub fn sample(&mut self, server: &Server) -> Second {
        let now = Instant::now();
        let usage = server.usage();
        let elapsed = now.duration_since(self.last.0).max(Duration::from_millis(1));
        // The usage comes in hundredths of a second, so over only a few of them it says nothing.
        let known = self.last.1.zip(usage).filter(|_| elapsed >= Duration::from_millis(200));
        let cores = known.map(|(before, now)| probe::cores(&before, &now, elapsed));
        self.last = (now, usage);
        let mut all = Tick::new();
        for tick in &self.ticks {
            let mut tick = tick.lock().unwrap_or_else(PoisonError::into_inner);
            // The histograms have the same bounds, so this can't fail.
            let _ = all.latencies.add(&tick.latencies);
            tick.latencies.reset();
            all.busy += std::mem::take(&mut tick.busy);
            all.failed += std::mem::take(&mut tick.failed);
        }
        let quantile = |q: f64| (!all.latencies.is_empty()).then(|| all.latencies.value_at_quantile(q));
        let files = server.files();
        Second {
            at_ms: now.duration_since(self.begun).as_millis() as u64,
            completed: all.latencies.len(),
            busy: all.busy,
            failed: all.failed,
            p50_ns: quantile(0.5),
            p99_ns: quantile(0.99),
            server_cores: cores,
            server_memory_bytes: usage.map(|usage| usage.memory_bytes),
            runnable_threads: usage.map(|usage| usage.runnable),
            host_available_bytes: memory::available_bytes(),
            host_load: noise::Load::now().map(|load| load.one),
            wal_bytes: files.wal_bytes,
            log_bytes: files.log_bytes,
        }
    }
}

/// Returns the number of answers and the time in ns of each second.
pub fn slices(series: &[Second]) -> Vec<(u64, u64)> {
    let mut last = 0;
    let slice = |second: &Second| {
        let ms = second.at_ms - std::mem::replace(&mut last, second.at_ms);
        (second.completed, ms * 1_000_000)
    };
    series.iter().map(slice).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_as_long_as_they_were() {
        let second = |at_ms, completed| Second { at_ms, completed, ..Second::default() };
        assert_eq!(
            slices(&[second(1000, 5), second(2001, 6), second(2500, 2)]),
            [(5, 1_000_000_000), (6, 1_001_000_000), (2, 499_000_000)]
        );
    }
}
