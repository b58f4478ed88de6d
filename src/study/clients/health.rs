//! Derives a verdict on the server from what was measured.

use super::{After, Detail, Second};
use crate::record::Health;

/// The CPU use, in cores, from which an unused server is considered to spin.
const SPINNING_CORES: f64 = 0.5;
/// The number of statements due per second from which a second without an answer counts as a silence.
const BUSY_SCHEDULE: f64 = 10.0;

/// A verdict on the server, and what decided it.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// How the server coped.
    pub health: Health,
    /// The reasons in words, with figures.
    pub reasons: Vec<String>,
}

/// Judges a level by what was measured in it and by what was seen of the server afterwards. Without the
/// latter, only what was seen while the clients were still connected is certain.
pub fn judge(detail: &Detail, after: Option<&After>) -> Judged {
    let outcomes = &detail.outcomes;
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
    // When few statements are due, a second without an answer is normal.
    let silent = match detail.due_per_second {
        Some(rate) if rate < BUSY_SCHEDULE => 0,
        _ => silent_seconds(&detail.series),
    };
    if silent > 0 {
        reasons.push(format!("{silent} s without an answer"));
    }
    if outcomes.abandoned > 0 {
        reasons.push(format!("{} statements were never sent", outcomes.abandoned));
    }
    let unanswered = after.is_some_and(|after| after.write_probe.unanswered);
    let refused =
        after.is_some_and(|after| after.read_probe.failure.is_some() || after.write_probe.failure.is_some());
    if let Some(after) = after {
        let fails = [("read", &after.read_probe), ("write", &after.write_probe)];
        reasons.extend(fails.iter().filter_map(|(what, probe)| {
            probe.failure.as_ref().map(|failure| format!("afterwards a single {what} failed: {failure}"))
        }));
        if let Some(cores) = after.idle_cores.filter(|cores| *cores >= SPINNING_CORES) {
            reasons.push(format!("with nobody connected, the server used {:.0} % of a core", cores * 100.0));
        }
    }
    let late = outcomes.stalled > 0 || silent > 0 || outcomes.abandoned > 0;
    let health = match () {
        () if unanswered || (after.is_none() && detail.evidence.is_some()) => Health::Wedged,
        () if after.is_none() => Health::Unknown,
        () if outcomes.failed() > 0 || refused => Health::Collapsed,
        () if late => Health::Stalled,
        () => Health::Clean,
    };
    Judged { health, reasons }
}

/// Returns the number of seconds without an answer, except for a short last second of a level.
fn silent_seconds(series: &[Second]) -> usize {
    let begins = std::iter::once(0).chain(series.iter().map(|second| second.at_ms));
    let whole = |(begin, second): &(u64, &Second)| second.at_ms - begin >= 900;
    begins.zip(series).filter(whole).filter(|(_, second)| second.completed == 0).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::clients::{Evidence, Outcomes, Probe};

    fn second(at_ms: u64, completed: u64) -> Second {
        Second { at_ms, completed, ..Second::default() }
    }

    fn detail(outcomes: Outcomes, series: &[Second]) -> Detail {
        Detail { outcomes, series: series.to_vec(), ..Detail::default() }
    }

    #[test]
    fn from_clean_to_wedged() {
        let fine = Outcomes { ok: 100, ok_after_busy: 3, ..Outcomes::default() };
        let stalled = Outcomes { stalled: 1, ..fine.clone() };
        let unsent = Outcomes { abandoned: 1, ..fine.clone() };
        let hung = Outcomes { hung: 2, ..fine.clone() };
        let well = After::default();
        let stuck = Probe { took_ms: 12_000, failure: Some("no reply within 12 s".into()), unanswered: true };
        let dead = After { write_probe: stuck, idle_cores: Some(1.0), ..After::default() };
        let refusing = After {
            read_probe: Probe { failure: Some("refused".into()), ..Probe::default() },
            ..After::default()
        };
        let busy = [second(1000, 50), second(1200, 0)];
        let silent = [second(1000, 50), second(2000, 0)];
        let health = |outcomes: &Outcomes, series: &[Second], after: Option<&After>| {
            judge(&detail(outcomes.clone(), series), after).health
        };
        assert_eq!(health(&fine, &busy, Some(&well)), Health::Clean);
        assert_eq!(health(&fine, &silent, Some(&well)), Health::Stalled);
        assert_eq!(health(&stalled, &busy, Some(&well)), Health::Stalled);
        assert_eq!(health(&unsent, &busy, Some(&well)), Health::Stalled);
        assert_eq!(health(&hung, &busy, Some(&well)), Health::Collapsed);
        assert_eq!(health(&fine, &busy, Some(&refusing)), Health::Collapsed);
        assert_eq!(health(&hung, &busy, Some(&dead)), Health::Wedged);
        assert_eq!(health(&fine, &busy, None), Health::Unknown);
        assert_eq!(health(&hung, &busy, None), Health::Unknown, "nobody has looked");
        let seen = Detail { evidence: Some(Evidence::default()), ..detail(hung.clone(), &busy) };
        assert_eq!(judge(&seen, None).health, Health::Wedged);
        let rare = Detail { due_per_second: Some(0.5), ..detail(fine, &silent) };
        assert_eq!(judge(&rare, Some(&well)).health, Health::Clean);
        let reasons = judge(&detail(hung, &[second(1001, 0)]), Some(&dead)).reasons.join("; ");
        for piece in
            ["2 statements without a reply", "1 s without", "a single write failed", "100 % of a core"]
        {
            assert!(reasons.contains(piece), "{reasons}");
        }
    }
}
