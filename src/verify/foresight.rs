//! What a reference will be unable to say of a measurement, before it is made.

use super::extent::Extent;
use super::reference::Reference;
use super::work::same_work;
use crate::record::Record;
use crate::stats::counted;
use std::collections::BTreeMap;

/// What can't be compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Foresight {
    /// In what the work will be other work, so that nothing can be compared; `None` if nothing is known to differ.
    pub other_work: Option<String>,
    /// The figures that will not be compared, in words; empty if all will.
    pub figures: Vec<String>,
}

/// Compares a reference with the record of a measurement that has not begun.
pub fn of(reference: &Reference, planned: &Record) -> Foresight {
    let work = planned.legs.first().map(|leg| same_work(reference, planned, leg)).unwrap_or_default();
    let other = work.iter().filter(|check| check.same == Some(false));
    let other: Vec<String> = other.map(|check| format!("{} ({})", check.what, check.detail)).collect();
    let extent = Extent::of(reference, planned);
    let mut reasons: BTreeMap<String, u64> = BTreeMap::new();
    for figure in &reference.figures {
        let key = &figure.key;
        let reason = figure.not_comparable.clone().or_else(|| extent.why_none(key));
        if let Some(reason) = reason.or_else(|| extent.why_unscaled(key)) {
            *reasons.entry(reason).or_default() += 1;
        }
    }
    Foresight {
        other_work: (!other.is_empty()).then(|| other.join("; ")),
        figures: reasons.into_iter().map(|(why, n)| format!("{}: {why}", counted(n, "figure"))).collect(),
    }
}
