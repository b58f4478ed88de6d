//! How much of the published work a record was asked for: which phases, for how long, and at which scale.
//!
//! None of this makes the work different, so a record of less work is judged, but always with a remark. What
//! it was not asked for is not missing, and a quota of another size is not a figure that differs.

use super::claim::{Claim, Test};
use super::reference::Reference;
use super::verdict::{Judgement, Verdict};
use crate::figure::{Effect, FigureKey, Kind, Metric, Shape, spelt};
use crate::record::Record;

/// What a record was asked for, beside what was published.
pub struct Extent<'a> {
    shape: &'a Shape,
    record: &'a Record,
    /// The phases that were asked for; `None` if the parameters do not choose among them.
    phases: Option<Vec<String>>,
    /// How the quotas differ from the published ones, if they do.
    resized: Option<String>,
    /// How the scale differs from the published one, if it does.
    rescaled: Option<String>,
}

impl<'a> Extent<'a> {
    /// Returns the extent of a record that is judged by a reference.
    pub fn of(reference: &'a Reference, record: &'a Record) -> Extent<'a> {
        let shape = reference.shape;
        let other = |effects: &[Effect]| {
            reference.parameters.iter().find_map(|(name, there)| {
                let here = record.parameters.get(name)?;
                let differs = there != here && effects.contains(&(shape.effect)(name));
                differs.then(|| format!("--{name} {} instead of {}", spelt(Some(here)), spelt(Some(there))))
            })
        };
        Extent {
            shape,
            record,
            phases: (shape.asked_for)(&record.parameters),
            resized: other(&[Effect::Scale, Effect::Length]),
            rescaled: other(&[Effect::Scale]),
        }
    }

    /// Returns the phase of a figure if it was not asked for.
    fn left_out<'k>(&self, key: &'k FigureKey) -> Option<&'k str> {
        let asked_for = self.phases.as_ref()?;
        let left_out = !key.is_sum() && self.shape.knows_phase(&key.phase) && !asked_for.contains(&key.phase);
        left_out.then_some(key.phase.as_str())
    }

    /// Returns the leg of a row that is another build than those that were measured.
    fn other_build<'k>(&self, key: &'k FigureKey) -> Option<&'k str> {
        let leg = key.leg.as_deref().filter(|_| self.shape.has_rows())?;
        self.record.leg(leg).is_none().then_some(leg)
    }

    /// Returns the option that chooses phases, in parentheses.
    fn choice(&self) -> String {
        let chooses = |name: &&String| (self.shape.effect)(name) == Effect::Phases;
        self.record.parameters.keys().find(chooses).map_or(String::new(), |name| format!(" (--{name})"))
    }

    /// Returns why a figure has no sample if none was asked for.
    pub fn why_none(&self, key: &FigureKey) -> Option<String> {
        if let Some(leg) = self.other_build(key) {
            return Some(format!("the record did not measure `{leg}`"));
        }
        self.left_out(key).map(|_| format!("not run{}", self.choice()))
    }

    /// Returns why a count is not that of the published quota.
    pub fn why_resized(&self, key: &FigureKey) -> Option<String> {
        let what = match key.metric {
            Metric::Operations => "a different number of operations",
            Metric::Size => "a database of another size",
            _ => return None,
        };
        self.resized.as_ref().map(|how| format!("{how}: {what}"))
    }

    /// Returns why a figure at this scale can't be compared with the published one: its phase, or one of
    /// those that it sums up, did not shrink as the others did.
    pub fn why_unscaled(&self, key: &FigureKey) -> Option<String> {
        let how = self.rescaled.as_ref()?;
        if !matches!(key.kind(), Kind::Time | Kind::Ratio | Kind::Latency | Kind::Rate) {
            return None;
        }
        let shrinks = |phase: &str| (self.shape.shrinks)(phase, &self.record.parameters);
        match key.is_sum() {
            true => {
                let whole = self.shape.whole().unwrap_or_default();
                let rigid = whole.iter().filter(|phase| !shrinks(phase)).count();
                (rigid > 0).then(|| format!("{how}: {rigid} of its phases do not shrink as much"))
            }
            false => (!shrinks(&key.phase)).then(|| format!("{how}: this phase does not shrink as much")),
        }
    }

    /// Returns why a claim can't be judged by a record of this extent.
    pub fn why_undecided(&self, claim: &Claim, judgement: &Judgement) -> Option<String> {
        let figures = claim.figures();
        if let Some(reason) =
            figures.iter().filter(|key| self.other_build(key).is_some()).find_map(|key| self.why_none(key))
        {
            return Some(reason);
        }
        if judgement.verdict == Verdict::Missing {
            let mut left_out: Vec<&str> = figures.iter().filter_map(|key| self.left_out(key)).collect();
            left_out.dedup();
            return (!left_out.is_empty())
                .then(|| format!("not run{}: {}", self.choice(), left_out.join(", ")));
        }
        let resized = || match claim.test {
            Test::Bound { .. } | Test::Each { .. } => figures.iter().find_map(|key| self.why_resized(key)),
            _ => None,
        };
        figures.iter().find_map(|key| self.why_unscaled(key)).or_else(resized)
    }
}
