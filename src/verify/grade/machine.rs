//! The conditions on the machine and on when the runs were made.

use super::super::noise::Noise;
use super::{Condition, Judged, LEAST_PAUSE_S, Requirement, condition};
use crate::figure::FigureKey;
use crate::record::{Cause, Flag, Leg, Run};
use crate::stats::{self, serial};
use std::collections::BTreeSet;

impl Judged<'_> {
    /// Checks that the machine was quiet.
    pub(super) fn quiet(&self) -> Condition {
        let (met, detail) = match &self.noise {
            Some(noise) => (noise.quiet(), noise.to_string()),
            None => (None, "the record does not say".to_string()),
        };
        condition(Requirement::QuietMachine, met, detail)
    }

    /// Checks that the machine was as fast before, between and after the runs.
    pub(super) fn steady(&self) -> Condition {
        let met = self.noise.as_ref().and_then(Noise::steady);
        let unknown = || "the record does not say".to_string();
        condition(
            Requirement::SteadyMachine,
            met,
            self.noise.as_ref().map_or_else(unknown, Noise::speed_in_words),
        )
    }

    /// Checks that the values of the cited figure do not depend on the order of their runs.
    pub(super) fn no_trend(&self) -> Condition {
        let keys = self.headline.clone().map_or_else(|| self.rates(), |key| vec![key]);
        let found = keys.into_iter().find_map(|key| {
            let values: Vec<f64> = self.figures.cited(&key)?.runs().iter().map(|(_, value)| *value).collect();
            serial::dependence(&values).map(|found| format!("{key}: {found}"))
        });
        let none = || "neither a trend nor a likeness of neighbours is found (at 1 %)".to_string();
        condition(Requirement::NoTrend, Some(found.is_none()), found.unwrap_or_else(none))
    }

    /// Checks that the runs were made in two sessions, and that both lie within the interval of the whole.
    pub(super) fn sessions(&self) -> Condition {
        let sessions: BTreeSet<u32> =
            self.record.legs.iter().flat_map(Leg::counted_runs).map(|run| run.session).collect();
        let gap = self.record.shortest_pause_s();
        let outside = || self.headline.as_ref().and_then(|key| self.session_outside(key, &sessions));
        let (met, detail) = match gap {
            _ if sessions.len() < 2 => (
                false,
                "one session, whose runs share a state of the machine; `repro capture` makes two".to_string(),
            ),
            None => (false, "the record does not say when its sessions were".to_string()),
            Some(gap) if gap < LEAST_PAUSE_S => {
                (false, format!("{gap:.0} s between two sessions; at least {LEAST_PAUSE_S:.0} s are needed"))
            }
            Some(gap) => match outside() {
                Some(what) => (false, what),
                None => (true, format!("{} sessions, {gap:.0} s apart, agree", sessions.len())),
            },
        };
        condition(Requirement::TwoSessions, Some(met), detail)
    }

    /// Returns a session whose median lies outside the interval of all runs.
    fn session_outside(&self, key: &FigureKey, sessions: &BTreeSet<u32>) -> Option<String> {
        let values = self.figures.cited(key)?;
        let interval = values.summary()?.interval?;
        let of = |run: u32| {
            let mut runs = self.record.legs.iter().flat_map(|leg| &leg.runs);
            runs.find(|known| known.number == run).map(|known| known.session)
        };
        sessions.iter().find_map(|session| {
            let own: Vec<f64> = values
                .runs()
                .iter()
                .filter(|(run, _)| of(*run) == Some(*session))
                .map(|(_, value)| *value)
                .collect();
            let median = stats::median(&own)?;
            (median < interval.low || median > interval.high)
                .then(|| format!("the median of session {session} lies outside the interval of all runs"))
        })
    }

    /// Checks that the number of runs was fixed before they were made.
    pub(super) fn fixed(&self) -> Condition {
        let met = self.record.plan.until.is_none();
        let detail = match (met, &self.record.capture) {
            (false, _) => {
                "the runs went on until the interval was narrow, which favours a lucky one".to_string()
            }
            (true, None) => "their number was given".to_string(),
            (true, Some(capture)) => capture.to_string(),
        };
        condition(Requirement::FixedRuns, Some(met), detail)
    }

    /// Checks that nothing in the environment changes how programs run without showing in the record.
    pub(super) fn environment(&self) -> Condition {
        let strange: Vec<String> = match &self.record.environment {
            None => return condition(Requirement::KnownEnvironment, None, "the record does not say"),
            Some(environment) => {
                environment.told.iter().map(|(name, value)| format!("{name}={value}")).collect()
            }
        };
        let detail = match strange.is_empty() {
            true => "nothing is set that changes how programs run".to_string(),
            false => format!("set when it was measured: {}", strange.join(", ")),
        };
        condition(Requirement::KnownEnvironment, Some(strange.is_empty()), detail)
    }

    /// Checks the clock of a tool that takes its times itself.
    pub(super) fn clock(&self) -> Option<Condition> {
        if !self.figures.shape.has_rows() {
            return None;
        }
        let runs = || self.record.legs.iter().flat_map(|leg| &leg.runs);
        let disagrees = |run: &&Run| {
            run.counts() && run.flags.iter().any(|flag| matches!(flag, Flag::ClocksDisagree { .. }))
        };
        let numbers: Vec<String> = runs().filter(disagrees).map(|run| run.number.to_string()).collect();
        let stepped = |run: &&Run| run.rejected.as_ref().is_some_and(|why| why.cause == Cause::ClockStepped);
        let stepped = runs().filter(stepped).count();
        let met = numbers.is_empty() && stepped == 0;
        let detail = match (met, stepped) {
            (true, _) => "wall clock and monotonic clock agree on every row".to_string(),
            (false, 0) => {
                format!("the clocks disagree by more than 5 ms on a row of run {}", numbers.join(", "))
            }
            (false, n) => format!("the wall clock was stepped in {}", stats::counted(n as u64, "run")),
        };
        Some(condition(Requirement::SaneClock, Some(met), detail))
    }
}
