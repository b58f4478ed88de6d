//! What a user sees during a measurement: a line that changes on a terminal, and plain lines elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The time between two plain lines that report progress.
const EVERY: Duration = Duration::from_secs(10);

/// Shows on standard error the current run, the number of runs, the current step and the time left.
pub struct Progress {
    bar: ProgressBar,
    /// Whether plain lines are shown, because standard error is not a terminal.
    lines: bool,
    last_line: Instant,
    /// How far into a run each step begins, as learned from the run before.
    learned: HashMap<String, Duration>,
    current: HashMap<String, Duration>,
    run_length: Option<Duration>,
    run_started: Instant,
    runs_after_this: u32,
    label: String,
}

impl Progress {
    /// Returns a display that shows nothing yet; `quiet` keeps it hidden permanently.
    pub fn new(quiet: bool) -> Progress {
        let bar = ProgressBar::new_spinner();
        let lines = !quiet && bar.is_hidden();
        if quiet {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        bar.set_style(
            ProgressStyle::with_template("{spinner} {wide_msg}")
                .unwrap_or_else(|_| ProgressStyle::default_spinner()),
        );
        Progress {
            bar,
            lines,
            last_line: Instant::now(),
            learned: HashMap::new(),
            current: HashMap::new(),
            run_length: None,
            run_started: Instant::now(),
            runs_after_this: 0,
            label: String::new(),
        }
    }

    /// Shows a stage that is not a run.
    pub fn stage(&mut self, text: &str) {
        self.show(text, true);
    }

    /// Shows a status that changes often; as plain lines at most once in ten seconds.
    pub fn status(&mut self, text: &str) {
        self.show(text, self.last_line.elapsed() >= EVERY);
    }

    /// Shows that a run begins; `after` is the smallest number of runs that are to follow.
    pub fn run_begins(&mut self, label: String, after: u32) {
        self.label = label;
        self.runs_after_this = after;
        self.run_started = Instant::now();
        self.current.clear();
        let left = self.run_length.map_or(String::new(), |length| left(length * (after + 1)));
        self.show(&format!("{} · starting{left}", self.label), true);
    }

    /// Shows that a step begins, with the time left if an earlier run gives it.
    pub fn step_begins(&mut self, key: &str, name: &str) {
        self.current.insert(key.to_string(), self.run_started.elapsed());
        let left = match (self.run_length, self.learned.get(key)) {
            (Some(length), Some(begins)) => {
                left(length.saturating_sub(*begins) + length * self.runs_after_this)
            }
            _ => String::new(),
        };
        self.status(&format!("{} · {key} {name}{left}", self.label));
    }

    /// Notes that the run has succeeded, and learns the times of its steps.
    pub fn run_ends(&mut self) {
        self.run_length = Some(self.run_started.elapsed());
        self.learned = std::mem::take(&mut self.current);
    }

    /// Returns whether plain lines are shown.
    pub fn shows_lines(&self) -> bool {
        self.lines
    }

    /// Removes the line from the terminal.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }

    fn show(&mut self, text: &str, due: bool) {
        if !self.lines {
            self.bar.set_message(text.to_string());
            self.bar.tick();
        } else if due {
            eprintln!("{}", text.trim_end());
            self.last_line = Instant::now();
        }
    }
}

fn left(time: Duration) -> String {
    format!(" · {} left", human(time))
}

/// The default display is hidden.
impl Default for Progress {
    fn default() -> Self {
        Progress::new(true)
    }
}

/// Returns a duration as `4 s`, `3 min 20 s` or `2 h 5 min`, rounded up to whole seconds.
pub fn human(duration: Duration) -> String {
    let seconds = duration.as_secs_f64().ceil() as u64;
    match seconds {
        0..=59 => format!("{seconds} s"),
        60..=3599 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_for_people() {
        assert_eq!(human(Duration::from_millis(3200)), "4 s");
        assert_eq!(human(Duration::from_secs(200)), "3 min 20 s");
        assert_eq!(human(Duration::from_secs(7500)), "2 h 5 min");
    }
}
