//! What a user sees while clients run: a line that changes on a terminal, or a line every ten seconds
//! elsewhere.

use super::super::args::Until;
use super::super::{Detail, Second};
use super::Measurement;
use crate::record::Measure;
use crate::study::progress::{Progress, human};
use std::time::Duration;

/// The number of seconds between two lines when there is no terminal.
const EVERY: usize = 10;

/// Displays the events of a run.
pub struct Live<'a> {
    progress: &'a mut Progress,
    run: String,
    /// The number of statements of a quota, or of seconds of a level.
    aim: Aim,
    phase: String,
    seconds: Vec<Second>,
}

enum Aim {
    Statements(u64),
    Seconds(u64),
}

impl Live<'_> {
    /// Creates the display for one run.
    pub fn new<'a>(measurement: &Measurement, progress: &'a mut Progress, number: u32) -> Live<'a> {
        let aim = match measurement.plan.levels.first().map(|level| level.until) {
            Some(Until::Statements(quota)) => Aim::Statements(quota),
            Some(Until::Seconds(seconds)) => Aim::Seconds(seconds),
            None => Aim::Seconds(0),
        };
        let runs = measurement.runs;
        let run = if runs > 1 { format!("run {number} of {runs} · ") } else { String::new() };
        Live { progress, run, aim, phase: String::new(), seconds: Vec::new() }
    }

    /// Shows a stage that takes a while.
    pub fn stage(&mut self, text: &str) {
        let phase = if self.phase.is_empty() { String::new() } else { format!("{} · ", self.phase) };
        self.progress.stage(&format!("{}{phase}{text}", self.run));
    }

    /// Shows that a level begins.
    pub fn begins(&mut self, phase: &str) {
        self.phase = phase.to_string();
        self.seconds.clear();
        self.stage("starting the clients");
    }

    /// Shows that a second has passed.
    pub fn ticks(&mut self, second: &Second) {
        self.seconds.push(second.clone());
        let last = if self.progress.shows_lines() { EVERY } else { 1 };
        if self.seconds.len().is_multiple_of(last) {
            let text = format!("{}{} · {}", self.run, self.phase, self.line(last));
            self.progress.stage(&text);
        }
    }

    /// Shows how a level has ended.
    pub fn ends(&mut self, measure: &Measure) {
        if !self.progress.shows_lines() {
            return;
        }
        let rate = measure.rate().map_or(String::new(), |rate| format!("{rate:.0}/s, "));
        let reasons = measure.detail::<Detail>().map(|detail| detail.reasons).unwrap_or_default();
        let why: String = reasons.iter().map(|reason| format!("; {reason}")).collect();
        let health = measure.health.unwrap_or_default();
        self.progress.stage(&format!("{}{} · {rate}{health}{why}", self.run, self.phase));
    }

    /// Returns a line with the rate and latencies of the last seconds, the sums of all seconds, and the time
    /// left.
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
