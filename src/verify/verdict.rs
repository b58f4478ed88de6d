//! Verdicts and what they are made of.

use crate::stats::Ratio;
use serde::Serialize;
use std::fmt;

/// What can be said of a published figure or claim on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It holds here.
    Reproduced,
    /// It does not hold here.
    Differs,
    /// The record has nothing to judge it by.
    Missing,
    /// It can't be judged: other work, below the clock, or an interval too wide to decide.
    NotComparable,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Reproduced => "reproduced",
            Verdict::Differs => "differs",
            Verdict::Missing => "missing",
            Verdict::NotComparable => "not comparable",
        })
    }
}

impl Verdict {
    /// Decides whether a value lies within bounds: the whole interval must be inside, or the whole interval
    /// outside, to say so. Without an interval the value decides.
    pub fn within(ratio: &Ratio, low: f64, high: f64) -> Verdict {
        let (from, to) = ratio.interval.map_or((ratio.value, ratio.value), |i| (i.low, i.high));
        match () {
            () if from >= low && to <= high => Verdict::Reproduced,
            () if to < low || from > high => Verdict::Differs,
            () => Verdict::NotComparable,
        }
    }
}

/// One verdict, with its reason.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// What was judged.
    pub subject: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Why, with the figure that decided it.
    pub reason: String,
}

/// One of the conditions of same work.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkCheck {
    /// Such as `SQLite version`.
    pub what: String,
    /// Whether both sides agree; `None` when one side does not say.
    pub same: Option<bool>,
    /// Both sides.
    pub detail: String,
}

/// A published figure beside the measured one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureJudgement {
    /// Key such as `main/310`, `TOTAL` or `sqld/insert-1/time`.
    pub key: String,
    /// Official name of the step.
    pub name: String,
    /// `ms`, `/s`, `x` (times), `MB` or `1` (a count).
    pub unit: &'static str,
    /// Published, in this unit.
    pub published: f64,
    /// Measured: the median of the runs.
    pub measured: Option<f64>,
    /// 95 % interval of it.
    pub interval: Option<(f64, f64)>,
    /// Measured / published, both in this unit.
    pub ratio: Option<f64>,
    /// That, divided by the machine factor, with its interval.
    pub relative: Option<f64>,
    /// 95 % interval of `relative`.
    pub relative_interval: Option<(f64, f64)>,
    /// The verdict.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
}

/// How many times the published value a group of figures has on this machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Factor {
    /// Figures of one unit and leg.
    pub group: String,
    /// Geometric mean of measured / published.
    pub value: f64,
    /// Spearman's rank correlation of the two.
    pub rank_correlation: Option<f64>,
}

/// Everything about one reference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Name of the reference.
    pub reference: String,
    /// Its citation.
    pub citation: String,
    /// Counted runs of the record.
    pub runs: usize,
    /// Why the record is not whole, if it is not.
    pub partial: Option<String>,
    /// Whether the work is the same.
    pub work: Vec<WorkCheck>,
    /// How this machine compares, group by group; nothing when the work differs.
    pub factors: Vec<Factor>,
    /// Allowed factor around it.
    pub tolerance: f64,
    /// Whether absolute times were judged too.
    pub strict: bool,
    /// Figure by figure.
    pub figures: Vec<FigureJudgement>,
    /// Claim by claim.
    pub claims: Vec<Judgement>,
}

impl Report {
    /// How many figures and claims got each verdict: reproduced, differs, missing, not comparable.
    pub fn counts(&self) -> [usize; 4] {
        let verdicts = self.figures.iter().map(|f| f.verdict).chain(self.claims.iter().map(|c| c.verdict));
        let mut counts = [0; 4];
        for verdict in verdicts {
            counts[verdict as usize] += 1;
        }
        counts
    }

    /// Whether nothing differs or is missing, and something was reproduced.
    pub fn holds(&self) -> bool {
        let [reproduced, differs, missing, _] = self.counts();
        reproduced > 0 && differs == 0 && missing == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Interval;

    #[test]
    fn an_interval_across_a_bound_decides_nothing() {
        let ratio = |low, value, high| Ratio { value, interval: Some(Interval { low, high }) };
        assert_eq!(Verdict::within(&ratio(0.9, 1.0, 1.1), 0.5, 2.0), Verdict::Reproduced);
        assert_eq!(Verdict::within(&ratio(1.9, 2.0, 2.1), 0.5, 2.0), Verdict::NotComparable);
        assert_eq!(Verdict::within(&ratio(2.1, 2.2, 2.3), 0.5, 2.0), Verdict::Differs);
        assert_eq!(Verdict::within(&ratio(0.1, 0.2, 0.3), 0.5, 2.0), Verdict::Differs);
        assert_eq!(Verdict::within(&Ratio { value: 1.9, interval: None }, 0.5, 2.0), Verdict::Reproduced);
    }
}
