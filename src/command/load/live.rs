//! What a person sees while clients run: a line that changes on a terminal, a line every ten seconds elsewhere.

use super::{Request, Study};
use crate::measure::Progress;
use crate::measure::progress::human;
use crate::suite::load::Second;
use crate::suite::measure::Measure;
use std::time::Duration;

/// Seconds between two lines where there is no terminal.
const EVERY: usize = 10;

/// Shows what comes.
pub struct Live {
    progress: Progress,
    /// Lines instead of one that changes.
    lines: bool,
    run: String,
    /// Statements of a quota, or seconds of a level.
    aim: Aim,
    phase: String,
    seconds: Vec<Second>,
}

enum Aim {
    Statements(u64),
    Seconds(u64),
}

impl Live {
    /// For one run.
    pub fn new(request: &Request, number: u32) -> Live {
        let progress = Progress::new(request.quiet);
        let aim = match &request.study {
            Study::Sweep(parameters) => Aim::Seconds(parameters.seconds),
            Study::Million(parameters) => Aim::Statements(parameters.scale.of(parameters.statements)),
        };
        let run =
            if request.runs > 1 { format!("run {number} of {} · ", request.runs) } else { String::new() };
        let lines = !request.quiet && progress.is_hidden();
        Live { progress, lines, run, aim, phase: String::new(), seconds: Vec::new() }
    }

    /// Something that takes a while.
    pub fn stage(&mut self, text: &str) {
        let phase = if self.phase.is_empty() { String::new() } else { format!("{} · ", self.phase) };
        self.progress.stage(&format!("{}{phase}{text}", self.run));
    }

    /// A level begins.
    pub fn begins(&mut self, phase: &str) {
        self.phase = phase.to_string();
        self.seconds.clear();
        self.stage("the clients begin");
    }

    /// A second is over.
    pub fn ticks(&mut self, second: &Second) {
        self.seconds.push(second.clone());
        let last = if self.lines { EVERY } else { 1 };
        let text = format!("{}{} · {}", self.run, self.phase, self.line(last));
        if !self.lines {
            self.progress.stage(&text);
        } else if self.seconds.len().is_multiple_of(EVERY) {
            eprintln!("{text}");
        }
    }

    /// A level has ended.
    pub fn ends(&mut self, measure: &Measure) {
        let Some(load) = measure.load.as_ref().filter(|_| self.lines) else { return };
        let rate = measure.rate().map_or(String::new(), |rate| format!("{rate:.0}/s, "));
        let why: String = load.reasons.iter().map(|reason| format!("; {reason}")).collect();
        eprintln!("{}{} · {rate}{}{why}", self.run, self.phase, load.health);
    }

    /// Removes the line.
    pub fn clear(&self) {
        self.progress.clear();
    }

    /// Rate and latencies of the last seconds, sums of all, and the time left.
    fn line(&self, last: usize) -> String {
        let recent = &self.seconds[self.seconds.len().saturating_sub(last)..];
        let before = self.seconds.len().checked_sub(last + 1).map_or(0, |index| self.seconds[index].at_ms);
        let at_ms = recent.last().map_or(0, |second| second.at_ms);
        let answered: u64 = recent.iter().map(|second| second.completed).sum();
        let rate = answered as f64 * 1000.0 / (at_ms - before).max(1) as f64;
        let worst = |pick: fn(&Second) -> Option<u64>| {
            let ns = recent.iter().filter_map(pick).max();
            ns.map_or("–".to_string(), |ns| format!("{:.1}", ns as f64 / 1e6))
        };
        let sum = |pick: fn(&Second) -> u64| self.seconds.iter().map(pick).sum::<u64>();
        let all = sum(|second| second.completed);
        let left = match self.aim {
            Aim::Seconds(seconds) => {
                Duration::from_secs(seconds).saturating_sub(Duration::from_millis(at_ms))
            }
            Aim::Statements(quota) => {
                let mean = all as f64 * 1000.0 / at_ms.max(1) as f64;
                Duration::from_secs_f64(quota.saturating_sub(all) as f64 / mean.max(0.1))
            }
        };
        format!(
            "{rate:.0}/s · p50 {} ms, p99 {} ms · BUSY {} · failed {} · {} left",
            worst(|second| second.p50_ns),
            worst(|second| second.p99_ns),
            sum(|second| second.busy),
            sum(|second| second.failed),
            human(left)
        )
    }
}
