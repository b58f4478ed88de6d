//! How much of the published work a record was asked for: which levels, for how long, at what scale.
//!
//! None of it makes the work another, so that a record of less is judged, never without the remark. But what it was
//! not asked for is not missing, and a quota of another size is not a figure that differs.

use super::claim::{Claim, Test};
use super::figure::{FigureKey, Metric};
use super::reference::Reference;
use super::verdict::{Judgement, Verdict};
use crate::record::Record;
use serde_json::Value;

/// Whether a parameter only says how much is done.
pub fn is_extent(suite: &str, parameter: &str) -> bool {
    match parameter {
        "scale" => true,
        "seconds" | "clients" => suite == "sweep",
        _ => false,
    }
}

/// A parameter as its option spells it.
pub fn spelt(value: Option<&Value>) -> String {
    match value {
        None => "the default".to_string(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(all)) => all.iter().map(Value::to_string).collect::<Vec<_>>().join(","),
        Some(other) => other.to_string(),
    }
}

/// What a record was asked for, beside what was published.
pub struct Extent {
    /// The phases of a sweep, where the record is one.
    levels: Option<Vec<String>>,
    /// How its quotas differ.
    resized: Option<String>,
}

impl Extent {
    /// Of a record that is judged by a reference.
    pub fn of(reference: &Reference, record: &Record) -> Extent {
        let levels = record.parameters.get("clients").filter(|_| record.suite == "sweep");
        let levels = levels
            .and_then(Value::as_array)
            .map(|levels| levels.iter().map(|clients| format!("clients-{clients}")).collect::<Vec<String>>());
        let published = reference.about.all_parameters().unwrap_or_default();
        let resized = ["scale", "seconds"].into_iter().find_map(|name| {
            let (there, here) = (published.get(name)?, record.parameters.get(name)?);
            let differs = there != here && is_extent(&record.suite, name);
            differs.then(|| format!("--{name} {} instead of {}", spelt(Some(here)), spelt(Some(there))))
        });
        Extent { levels, resized }
    }

    /// The phase of a figure that was not asked for.
    fn left_out<'a>(&self, key: &'a FigureKey) -> Option<&'a str> {
        match (key, &self.levels) {
            (FigureKey::Phase { phase, .. }, Some(levels)) => {
                (phase.starts_with("clients-") && !levels.contains(phase)).then_some(phase.as_str())
            }
            _ => None,
        }
    }

    /// Why there is no sample of a figure, if none was asked for.
    pub fn why_none(&self, key: &FigureKey) -> Option<String> {
        self.left_out(key).map(|_| "not run (--clients)".to_string())
    }

    /// Why a count is not that of the published quota.
    pub fn why_resized(&self, key: &FigureKey) -> Option<String> {
        let FigureKey::Phase { metric: Metric::Operations, .. } = key else { return None };
        self.resized.as_ref().map(|how| format!("{how}: another number of operations"))
    }

    /// Why a claim can't be judged by a record of this extent.
    pub fn why_undecided(&self, claim: &Claim, judgement: &Judgement) -> Option<String> {
        let figures = claim.figures();
        if judgement.verdict == Verdict::Missing {
            let mut left_out: Vec<&str> = figures.iter().filter_map(|key| self.left_out(key)).collect();
            left_out.dedup();
            return (!left_out.is_empty()).then(|| format!("not run (--clients): {}", left_out.join(", ")));
        }
        match claim.test {
            Test::Bound { .. } | Test::Each { .. } => figures.iter().find_map(|key| self.why_resized(key)),
            _ => None,
        }
    }
}
