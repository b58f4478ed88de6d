//! From what was measured to a verdict on the server.

use super::{After, Outcomes, Second};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How a server came through.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Health {
    /// It was not looked at to the end.
    #[default]
    Unknown,
    /// Every statement was answered within a second, and none of the seconds was without an answer.
    Clean,
    /// Every statement was answered, but some after more than a second, or a whole second brought no answer.
    Stalled,
    /// Statements failed; the server answers again.
    Collapsed,
    /// The server answers no write any more, though nobody else is connected.
    Wedged,
}

impl Health {
    /// Name in records, claims and tables.
    pub fn name(self) -> &'static str {
        match self {
            Health::Unknown => "unknown",
            Health::Clean => "clean",
            Health::Stalled => "stalled",
            Health::Collapsed => "collapsed",
            Health::Wedged => "wedged",
        }
    }
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A server that nobody uses, and that uses this much of a core, spins.
const SPINNING_CORES: f64 = 0.5;

/// A verdict and what decided it.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The verdict.
    pub health: Health,
    /// In words, with figures.
    pub reasons: Vec<String>,
}

/// Judges a level by its outcomes, its seconds and what was seen afterwards; `unanswered` says that writes were found
/// to be no longer answered while the clients were still there.
pub fn judge(outcomes: &Outcomes, series: &[Second], after: Option<&After>, unanswered: bool) -> Judged {
    let mut reasons = Vec::new();
    if outcomes.hung > 0 {
        reasons.push(format!("{} statements without a reply by the deadline", outcomes.hung));
    }
    if outcomes.dropped > 0 {
        reasons.push(format!("{} statements lost with their connection", outcomes.dropped));
    }
    reasons.extend(outcomes.errors.iter().map(|(code, count)| format!("{count} statements refused: {code}")));
    if outcomes.stalled > 0 {
        reasons.push(format!("{} statements took more than a second", outcomes.stalled));
    }
    let silent = silent_seconds(series);
    if silent > 0 {
        reasons.push(format!("{silent} s without an answer"));
    }
    let write_failed = after.is_some_and(|after| after.write_probe.failure.is_some());
    if let Some(after) = after {
        let fails = [("read", &after.read_probe), ("write", &after.write_probe)];
        reasons.extend(fails.iter().filter_map(|(what, probe)| {
            probe.failure.as_ref().map(|failure| format!("afterwards a single {what} fails: {failure}"))
        }));
        if let Some(cores) = after.idle_cores.filter(|cores| *cores >= SPINNING_CORES) {
            reasons.push(format!("with nobody connected the server uses {:.0} % of a core", cores * 100.0));
        }
    }
    let health = match () {
        () if write_failed => Health::Wedged,
        () if unanswered && after.is_none() => Health::Wedged,
        () if outcomes.failed() > 0 => Health::Collapsed,
        () if after.is_none() => Health::Unknown,
        () if outcomes.stalled > 0 || silent > 0 => Health::Stalled,
        () => Health::Clean,
    };
    Judged { health, reasons }
}

/// Seconds without an answer; the last of a level may be cut short.
fn silent_seconds(series: &[Second]) -> usize {
    let begins = std::iter::once(0).chain(series.iter().map(|second| second.at_ms));
    let whole = |(begin, second): &(u64, &Second)| second.at_ms - begin >= 900;
    begins.zip(series).filter(whole).filter(|(_, second)| second.completed == 0).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::load::Probe;

    fn second(at_ms: u64, completed: u64) -> Second {
        Second { at_ms, completed, ..Second::default() }
    }

    #[test]
    fn from_clean_to_wedged() {
        let fine = Outcomes { ok: 100, ok_after_busy: 3, ..Outcomes::default() };
        let stalled = Outcomes { stalled: 1, ..fine.clone() };
        let hung = Outcomes { hung: 2, ..fine.clone() };
        let well = After::default();
        let stuck = Probe { took_ms: 12_000, failure: Some("no reply within 12 s".into()) };
        let dead = After { write_probe: stuck, idle_cores: Some(1.0), ..After::default() };
        let health = |outcomes: &Outcomes, series: &[Second], after: Option<&After>| {
            judge(outcomes, series, after, false).health
        };
        assert_eq!(health(&fine, &[second(1000, 50), second(1200, 0)], Some(&well)), Health::Clean);
        assert_eq!(health(&fine, &[second(1000, 50), second(2000, 0)], Some(&well)), Health::Stalled);
        assert_eq!(health(&stalled, &[second(1000, 50), second(1200, 0)], Some(&well)), Health::Stalled);
        assert_eq!(health(&hung, &[second(1000, 50), second(1200, 0)], Some(&well)), Health::Collapsed);
        assert_eq!(health(&hung, &[second(1000, 50), second(1200, 0)], Some(&dead)), Health::Wedged);
        assert_eq!(health(&fine, &[second(1000, 50), second(1200, 0)], None), Health::Unknown);
        assert_eq!(judge(&hung, &[], None, true).health, Health::Wedged);
        let reasons = judge(&hung, &[second(1001, 0)], Some(&dead), false).reasons.join("; ");
        for piece in
            ["2 statements without a reply", "1 s without", "a single write fails", "100 % of a core"]
        {
            assert!(reasons.contains(piece), "{reasons}");
        }
    }
}
