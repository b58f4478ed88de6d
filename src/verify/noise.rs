//! What else the machine did while a record was measured, and how much of a difference that can explain.

use crate::figure::Shape;
use crate::record::{Leg, Record, Run};
use std::fmt;

/// The longest time that a hypervisor may take away during the runs, as a fraction of their length.
pub const MOST_STEAL: f64 = 0.005;
/// The longest time that tasks of this machine may wait for a CPU, as a fraction of the runs' length.
pub const MOST_PRESSURE: f64 = 0.05;
/// The same for tasks that wait for memory.
pub const MOST_MEMORY_PRESSURE: f64 = 0.01;
/// The CPU time of others that a quiet machine needs for itself, in CPUs.
pub const MOST_OTHERS: f64 = 0.10;
/// How much slower the loop in registers, and the walk through memory, may be at one time than at another.
pub const MOST_DRIFT: (f64, f64) = (1.03, 1.10);

/// What the counted runs of a record saw of the machine. A fraction is of the length of the runs; what the record does
/// not say is `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct Noise {
    /// The time that the hypervisor gave to others.
    pub steal: Option<f64>,
    /// The time that some task waited for a CPU.
    pub waits: Option<f64>,
    /// The time that some task waited for a disk. It is part of the work of many studies, so it is only told.
    pub disk: Option<f64>,
    /// The time that some task waited for memory.
    pub memory: Option<f64>,
    /// The CPU time of others, in CPUs; known only where one process does all the work.
    pub others: Option<f64>,
    /// The CPU time of that process, in CPUs.
    pub own: Option<f64>,
    /// How often a core was slowed down.
    pub throttled: Option<u64>,
    /// The slowest over the fastest time of the loop in registers, and of the walk through memory.
    pub drift: Option<(f64, f64)>,
    /// How long the machine slept in ms.
    pub asleep_ms: Option<u64>,
}

impl Noise {
    /// Returns what the runs saw; `None` if the record says nothing of it. Client and server wait for each other's CPU,
    /// which is part of their cost, so waiting tasks count only while the baseline runs, if there is one. It
    /// alternates with the other legs.
    pub fn of(record: &Record, shape: &Shape) -> Option<Noise> {
        let runs = observed(record.legs.iter());
        let alone =
            observed(record.legs.iter().filter(|leg| shape.baseline.is_none_or(|name| leg.name == name)));
        if runs.is_empty() || alone.is_empty() {
            return None;
        }
        Some(Noise {
            steal: share(&runs, 1.0, |run| run.noise.as_ref()?.steal_ms),
            waits: share(&alone, 1000.0, |run| run.noise.as_ref()?.cpu_pressure_us),
            disk: share(&alone, 1000.0, |run| run.noise.as_ref()?.io_pressure_us),
            memory: share(&alone, 1000.0, |run| run.noise.as_ref()?.memory_pressure_us),
            others: shape.tool.as_ref().and_then(|_| others(&runs)),
            own: shape.tool.as_ref().and_then(|_| share(&runs, 1000.0, own_us)),
            throttled: runs.iter().map(|run| run.noise.as_ref()?.throttle_events).sum(),
            drift: drift(&runs),
            asleep_ms: runs.iter().map(|run| Some(run.noise.as_ref()?.asleep_us?.max(0) as u64 / 1000)).sum(),
        })
    }

    /// Returns whether nothing took more than it may; `None` if the record leaves something open. A kernel of a virtual
    /// machine counts no throttling, which is then unknown and asked of nobody.
    pub fn quiet(&self) -> Option<bool> {
        let known = [self.steal.map(|s| s <= MOST_STEAL), self.waits.map(|w| w <= MOST_PRESSURE)];
        let told = [
            self.memory.map(|m| m <= MOST_MEMORY_PRESSURE),
            self.others.map(|cpus| cpus <= MOST_OTHERS),
            self.throttled.map(|n| n == 0),
            self.asleep_ms.map(|ms| ms < 5),
        ];
        if known.iter().chain(&told).any(|met| *met == Some(false)) {
            return Some(false);
        }
        known.iter().all(Option::is_some).then_some(true)
    }

    /// Returns whether the machine was as fast at any time as at any other; `None` if it was not asked.
    pub fn steady(&self) -> Option<bool> {
        self.drift.map(|(register, memory)| register <= MOST_DRIFT.0 && memory <= MOST_DRIFT.1)
    }

    /// Returns the factor by which a time may be wrong because of what was seen; 1 if the machine was quiet and steady,
    /// or does not say.
    pub fn factor(&self) -> f64 {
        let busy = match self.quiet() {
            Some(false) => {
                let throttled = if self.throttled.is_some_and(|n| n > 0) { 0.1 } else { 0.0 };
                let part = |share: Option<f64>| share.unwrap_or_default();
                1.0 + part(self.steal) + part(self.waits) + part(self.memory) + part(self.others) + throttled
            }
            _ => 1.0,
        };
        let slow = match (self.steady(), self.drift) {
            (Some(false), Some((register, memory))) => register.max(memory),
            _ => 1.0,
        };
        busy * slow
    }

    /// Returns the factor with its grounds, in words.
    pub fn in_words(&self) -> String {
        let busy = (self.quiet() == Some(false)).then(|| self.to_string());
        let slow = (self.steady() == Some(false)).then(|| self.speed_in_words());
        let grounds: Vec<String> = busy.into_iter().chain(slow).collect();
        format!("a factor of {:.2} ({})", self.factor(), grounds.join("; "))
    }

    /// Returns how fast the machine stayed, in words.
    pub fn speed_in_words(&self) -> String {
        match self.drift {
            None => "the record does not say how fast the machine was around the runs".to_string(),
            Some((register, memory)) => format!(
                "between runs, registers were slower by up to {:.1} % (at most {:.0} %), memory by {:.1} % (at most {:.0} %)",
                (register - 1.0) * 100.0,
                (MOST_DRIFT.0 - 1.0) * 100.0,
                (memory - 1.0) * 100.0,
                (MOST_DRIFT.1 - 1.0) * 100.0
            ),
        }
    }
}

impl fmt::Display for Noise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: Option<f64>, digits| {
            share.map_or("unknown".to_string(), |share| format!("{:.digits$} %", share * 100.0))
        };
        write!(
            f,
            "steal {} (at most {:.1} %), waiting for a CPU {} (at most {:.0} %), for memory {} (at most {:.0} %), for a \
             disk {}, throttled {}",
            percent(self.steal, 2),
            MOST_STEAL * 100.0,
            percent(self.waits, 1),
            MOST_PRESSURE * 100.0,
            percent(self.memory, 1),
            MOST_MEMORY_PRESSURE * 100.0,
            percent(self.disk, 1),
            self.throttled.map_or("unknown".to_string(), |n| crate::stats::counted(n, "time"))
        )?;
        if let (Some(others), Some(own)) = (self.others, self.own) {
            write!(f, ", others had {others:.2} CPUs (at most {MOST_OTHERS:.2}) and the tool {own:.2}")?;
        }
        match self.asleep_ms.filter(|ms| *ms >= 5) {
            Some(ms) => write!(f, ", slept {:.1} s", ms as f64 / 1000.0),
            None => Ok(()),
        }
    }
}

/// Returns the counted runs for which the record says what else the machine did.
fn observed<'a>(legs: impl Iterator<Item = &'a Leg>) -> Vec<&'a Run> {
    legs.flat_map(Leg::counted_runs).filter(|run| run.noise.is_some()).collect()
}

/// Returns a time as a fraction of the length of the runs, with `unit` units of it in a millisecond; `None` if a run
/// does not say.
fn share(runs: &[&Run], unit: f64, of: impl Fn(&Run) -> Option<u64>) -> Option<f64> {
    let wall: f64 = runs.iter().filter_map(|run| run.noise.as_ref()?.wall_ms).map(|ms| ms as f64).sum();
    let taken: f64 = runs.iter().map(|run| of(run).map(|n| n as f64)).sum::<Option<f64>>()?;
    Some(taken / unit / wall.max(1.0))
}

/// Returns the CPU time of a run's process in µs.
fn own_us(run: &Run) -> Option<u64> {
    let used = run.resources?;
    used.user_us.checked_add(used.system_us)
}

/// Returns the CPU time of all programs less that of the runs' processes, in CPUs.
fn others(runs: &[&Run]) -> Option<f64> {
    let all = share(runs, 1.0, |run| run.noise.as_ref()?.busy_ms)?;
    Some((all - share(runs, 1000.0, own_us)?).max(0.0))
}

/// Returns the slowest over the fastest of the loops around these runs; `None` if a run lacks them.
fn drift(runs: &[&Run]) -> Option<(f64, f64)> {
    let speeds = runs.iter().map(|run| run.noise.as_ref()?.speed).collect::<Option<Vec<_>>>()?;
    let all: Vec<_> = speeds.iter().flat_map(|speeds| [speeds.before, speeds.after]).collect();
    let range = |times: Vec<u64>| Some(*times.iter().max()? as f64 / (*times.iter().min()?).max(1) as f64);
    let register = range(all.iter().map(|speed| speed.register_ns).collect())?;
    Some((register, range(all.iter().map(|speed| speed.memory_ns).collect())?))
}
