//! Verdicts, and the judgements that they appear in.

use super::power::Power;
use crate::stats::{FEWEST_RUNS, Interval, Ratio, counted};
use serde::Serialize;
use std::fmt;

/// What can be said about a published figure or claim on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It holds on this machine.
    Reproduced,
    /// It does not hold on this machine.
    Differs,
    /// The record has nothing to judge it by.
    Missing,
    /// It could be judged, but what was measured decides nothing: an interval crosses a bound, or runs disagree.
    Undecided,
    /// It can't be judged: the work differs, or it is below the resolution of the clock.
    NotComparable,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Reproduced => "reproduced",
            Verdict::Differs => "differs",
            Verdict::Missing => "missing",
            Verdict::Undecided => "undecided",
            Verdict::NotComparable => "not comparable",
        })
    }
}

impl Verdict {
    /// Decides whether a value lies within bounds: to say so the whole interval must be inside, or for the
    /// opposite outside. Without an interval there are too few runs to say anything.
    pub fn within(ratio: &Ratio, low: f64, high: f64) -> Verdict {
        let Some((from, to)) = ratio.interval.map(|i| (i.low, i.high)) else { return Verdict::Undecided };
        match () {
            () if from >= low && to <= high => Verdict::Reproduced,
            () if to < low || from > high => Verdict::Differs,
            () => Verdict::Undecided,
        }
    }

    /// Returns the verdict that `runs` runs carry: fewer than [`FEWEST_RUNS`] decide nothing.
    pub fn by_runs(self, runs: usize) -> Verdict {
        match self {
            Verdict::Reproduced | Verdict::Differs if runs < FEWEST_RUNS as usize => Verdict::Undecided,
            _ => self,
        }
    }

    /// Decides whether something holds that each of `runs` runs decides for itself: all of them must agree.
    pub fn in_every(hits: usize, runs: usize) -> Verdict {
        match hits {
            _ if runs == 0 => Verdict::Missing,
            0 => Verdict::Differs,
            _ if hits == runs => Verdict::Reproduced,
            _ => Verdict::Undecided,
        }
    }
}

/// A verdict with its reason.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// The name of what was judged.
    pub subject: String,
    /// How it was judged.
    pub verdict: Verdict,
    /// The reason, with the figure that decided it.
    pub reason: String,
}

/// One of the conditions of same work.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkCheck {
    /// The name of the condition, such as `SQLite version`.
    pub what: String,
    /// Whether both sides agree; `None` when one side does not say.
    pub same: Option<bool>,
    /// Whether nothing can be reproduced while it is not known.
    pub decides: bool,
    /// The values of both sides.
    pub detail: String,
}

/// Returns the names of the conditions in which the work differs; `None` if it differs in none.
pub(super) fn other_work(work: &[WorkCheck]) -> Option<String> {
    names(work, |check| check.same == Some(false))
}

/// Returns the names of the conditions that decide what the work is and are not known; `None` if all are.
fn unknown_work(work: &[WorkCheck]) -> Option<String> {
    names(work, |check| check.same.is_none() && check.decides)
}

fn names(work: &[WorkCheck], of: impl Fn(&WorkCheck) -> bool) -> Option<String> {
    let names: Vec<&str> = work.iter().filter(|check| of(check)).map(|check| check.what.as_str()).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// A published figure beside the measured one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureJudgement {
    /// The key, such as `main/310`, `TOTAL` or `sqld/insert-1/time`.
    pub key: String,
    /// The official name of the step.
    pub name: String,
    /// The unit: `ms`, `/s`, `x` (times), `MB` or `1` (a count).
    pub unit: &'static str,
    /// The published value, in this unit.
    pub published: f64,
    /// The number of runs that it was published from, if that is known.
    pub published_runs: Option<u32>,
    /// The measured value in this unit, which is the median of the runs; `None` when there is none.
    pub measured: Option<f64>,
    /// The 95 % interval of the measured value.
    pub interval: Option<(f64, f64)>,
    /// The ratio measured / published.
    pub ratio: Option<f64>,
    /// The ratio divided by the machine factor.
    pub relative: Option<f64>,
    /// The 95 % interval of `relative`.
    pub relative_interval: Option<(f64, f64)>,
    /// Whether only `--strict` would judge the figure, because it is a latency; tables fold these into one line.
    pub only_strict: bool,
    /// How the figure was judged.
    pub verdict: Verdict,
    /// The reason for the verdict.
    pub reason: String,
}

/// The machine factor of a group of figures: how many times the published values this machine reaches.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Factor {
    /// The name of the group, which consists of figures of one leg and unit.
    pub group: String,
    /// The geometric mean of measured / published.
    pub value: f64,
    /// The number of figures that it is the mean of.
    pub figures: usize,
    /// The root mean square of ln(ratio / factor), the median of the runs; `None` below three figures that the clocks
    /// resolve.
    pub spread: Option<f64>,
    /// The interval of the spread; `None` below six runs.
    pub spread_interval: Option<(f64, f64)>,
    /// Spearman's rank correlation of measured and published values.
    pub rank_correlation: Option<f64>,
}

/// Everything that was judged by one reference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The name of the reference.
    pub reference: String,
    /// The citation of the reference.
    pub citation: String,
    /// The number of counted runs in the record.
    pub runs: usize,
    /// Why the record is incomplete; `None` when it is complete.
    pub partial: Option<String>,
    /// The conditions of same work.
    pub work: Vec<WorkCheck>,
    /// How this machine compares, group by group; empty when the work differs.
    pub factors: Vec<Factor>,
    /// The factor by which a figure may be off after division by the machine factor.
    pub tolerance: f64,
    /// What the figures can't tell apart; `None` if no variant of the work was measured.
    pub power: Option<Power>,
    /// The largest spread that the figures of a group may have.
    pub spread_bound: f64,
    /// The factor by which the noise of the machine can have made times wrong; `None` if it was quiet, or unknown.
    pub noise: Option<f64>,
    /// What the noise was.
    pub noise_in_words: Option<String>,
    /// Whether absolute times were judged, too.
    pub strict: bool,
    /// The judgements of the figures.
    pub figures: Vec<FigureJudgement>,
    /// The judgements of what a complete record of the same work can't contradict: it reproduces nothing.
    pub checks: Vec<Judgement>,
    /// The judgements of the claims.
    pub claims: Vec<Judgement>,
}

impl Report {
    /// Returns how many figures and claims got each verdict, in the order reproduced, differs, missing,
    /// undecided, not comparable.
    pub fn counts(&self) -> [usize; 5] {
        let verdicts = self.figures.iter().map(|f| f.verdict).chain(self.claims.iter().map(|c| c.verdict));
        let mut counts = [0; 5];
        for verdict in verdicts {
            counts[verdict as usize] += 1;
        }
        counts
    }

    /// Returns the verdict on the reference as a whole, with its reason in words.
    pub fn whole(&self) -> (Verdict, String) {
        let [reproduced, differs, missing, undecided, _] = self.counts();
        let judged = reproduced + differs + missing + undecided;
        let failed = |check: &&Judgement| check.verdict == Verdict::Differs;
        match () {
            () if let Some(what) = other_work(&self.work) => {
                (Verdict::NotComparable, format!("the work is not the same: {what}"))
            }
            () if let Some(check) = self.checks.iter().find(failed) => {
                (Verdict::Differs, format!("the record fails a check: {}", check.reason))
            }
            () if self.runs < FEWEST_RUNS as usize => (
                Verdict::Undecided,
                format!(
                    "the record has {}; at least {FEWEST_RUNS} decide (--runs {FEWEST_RUNS})",
                    counted(self.runs as u64, "run")
                ),
            ),
            () if differs > 0 => {
                (Verdict::Differs, format!("{differs} of {judged} figures and claims differ"))
            }
            () if let Some(spread) = self.spread(Verdict::Differs) => (
                Verdict::Differs,
                format!("{spread}: the machine factor does not explain how the figures differ"),
            ),
            () if let Some(why) = &self.partial => {
                (Verdict::Undecided, format!("the record is partial: {why}"))
            }
            () if missing > 0 => (
                Verdict::Missing,
                format!("the record has nothing to judge {missing} of {judged} figures and claims by"),
            ),
            () if reproduced + undecided == 0 => {
                (Verdict::Undecided, "no figure and no claim can be judged by this record".to_string())
            }
            () if let Some(what) = unknown_work(&self.work) => {
                (Verdict::Undecided, format!("not known whether the work is the same: {what}"))
            }
            () if let Some(spread) = self.spread(Verdict::Undecided) => {
                (Verdict::Undecided, format!("{spread}; more runs on a quiet machine may decide it"))
            }
            () if undecided * 5 > judged => (
                Verdict::Undecided,
                format!(
                    "{undecided} of {judged} figures and claims are undecided; more runs on a quiet machine may decide \
                     them"
                ),
            ),
            () => (
                Verdict::Reproduced,
                format!(
                    "{reproduced} of {judged} figures and claims that can be judged are reproduced, none differs"
                ),
            ),
        }
    }

    /// Returns the first group whose spread gets this verdict, in words.
    fn spread(&self, verdict: Verdict) -> Option<String> {
        let bound = self.spread_bound;
        let noisy = bound + self.noise.map_or(0.0, f64::ln);
        // What the noise can explain is no difference, and no agreement either.
        let judged = |factor: &Factor| match (factor.spread_verdict(bound)?, factor.spread_verdict(noisy)?) {
            (Verdict::Differs, Verdict::Differs) => Some(Verdict::Differs),
            (Verdict::Differs, _) => Some(Verdict::Undecided),
            (verdict, _) => Some(verdict),
        };
        let factor = self.factors.iter().find(|factor| judged(factor) == Some(verdict))?;
        Some(format!("{} of {}, and {bound:.2} is allowed", factor.spread_in_words()?, factor.group))
    }
}

impl Factor {
    /// Returns whether the spread stays within `bound`; `None` if there is none.
    pub fn spread_verdict(&self, bound: f64) -> Option<Verdict> {
        let interval = self.spread_interval.map(|(low, high)| Interval { low, high });
        Some(Verdict::within(&Ratio { value: self.spread?, interval }, 0.0, bound))
    }

    /// Returns the spread with its interval.
    pub fn spread_in_words(&self) -> Option<String> {
        let interval =
            self.spread_interval.map_or(String::new(), |(low, high)| format!(" [{low:.2}, {high:.2}]"));
        Some(format!("spread {:.2}{interval}", self.spread?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_across_a_bound_decides_nothing() {
        let ratio = |low, value, high| Ratio { value, interval: Some(Interval { low, high }) };
        assert_eq!(Verdict::within(&ratio(0.9, 1.0, 1.1), 0.5, 2.0), Verdict::Reproduced);
        assert_eq!(Verdict::within(&ratio(1.9, 2.0, 2.1), 0.5, 2.0), Verdict::Undecided);
        assert_eq!(Verdict::within(&ratio(2.1, 2.2, 2.3), 0.5, 2.0), Verdict::Differs);
        assert_eq!(Verdict::within(&ratio(0.1, 0.2, 0.3), 0.5, 2.0), Verdict::Differs);
        assert_eq!(Verdict::within(&Ratio { value: 1.0, interval: None }, 0.5, 2.0), Verdict::Undecided);
    }

    /// A report with these verdicts on claims, by a complete record of six runs that did the same work.
    fn report(verdicts: &[Verdict]) -> Report {
        let judgement = |verdict: &Verdict| Judgement {
            subject: String::new(),
            verdict: *verdict,
            reason: String::new(),
        };
        Report {
            reference: "made-up".to_string(),
            citation: String::new(),
            runs: FEWEST_RUNS as usize,
            partial: None,
            work: vec![WorkCheck {
                what: "size".to_string(),
                same: Some(true),
                decides: true,
                detail: String::new(),
            }],
            factors: Vec::new(),
            tolerance: 2.0,
            power: None,
            spread_bound: 0.28,
            noise: None,
            noise_in_words: None,
            strict: false,
            figures: Vec::new(),
            checks: Vec::new(),
            claims: verdicts.iter().map(judgement).collect(),
        }
    }

    #[test]
    fn the_whole_is_reproduced_only_if_four_fifths_are_decided() {
        use Verdict::{Differs, Missing, NotComparable, Reproduced, Undecided};
        for (verdicts, whole) in [
            (&[Reproduced, Reproduced, Reproduced, Reproduced, Undecided][..], Reproduced),
            (&[Reproduced, Reproduced, Reproduced, Undecided], Undecided),
            (&[Undecided], Undecided),
            // What can't be compared neither counts as decided nor as undecided.
            (&[Reproduced, NotComparable, NotComparable], Reproduced),
            (&[NotComparable], Undecided),
            (&[], Undecided),
            (&[Reproduced, Undecided, Missing], Missing),
            (&[Reproduced, Reproduced, Reproduced, Missing, Differs], Differs),
        ] {
            assert_eq!(report(verdicts).whole().0, whole, "{verdicts:?}");
        }
    }

    #[test]
    fn few_runs_a_partial_record_and_other_work_reproduce_nothing() {
        let good = || report(&[Verdict::Reproduced]);
        assert_eq!(good().whole().0, Verdict::Reproduced);
        let few = Report { runs: 1, ..good() };
        let reason = "the record has 1 run; at least 6 decide (--runs 6)";
        assert_eq!(few.whole(), (Verdict::Undecided, reason.to_string()));
        let partial = Report { partial: Some("interrupted".to_string()), ..good() };
        assert_eq!(partial.whole(), (Verdict::Undecided, "the record is partial: interrupted".to_string()));
        let mut other = good();
        other.work[0].same = Some(false);
        assert_eq!(other.whole(), (Verdict::NotComparable, "the work is not the same: size".to_string()));
    }
}
