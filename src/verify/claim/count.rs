//! Counts of a record.

use super::super::measured::busy_surfaced;
use super::Quantity;
use crate::record::{Leg, Record, Run};
use crate::suite::measure::Measure;
use std::collections::HashSet;

/// The quantity in a record; `None` when it does not say.
pub fn count(record: &Record, quantity: Quantity) -> Option<i64> {
    match quantity {
        Quantity::Errors => Some(runs(record).filter(|run| run.rejected.is_some()).count() as i64),
        Quantity::TotalMinusSum => record.legs.iter().filter_map(largest_total_error).max(),
        Quantity::Testsets => testsets(record),
        Quantity::WrongAnswers => Some(wrong_answers(record)),
        Quantity::MixedReads => mixed(record, &["found", "not found"]),
        Quantity::MixedUpdates => mixed(record, &["updates"]),
        Quantity::MixedInserts => mixed(record, &["inserts"]),
        Quantity::FailedStatements => failed_statements(record),
        Quantity::BusySurfaced => surfaced(record),
        Quantity::DistinctWork => distinct_work(record),
    }
}

/// What the quantity counts, after a number.
pub fn what(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Errors => "failed or rejected runs",
        Quantity::TotalMinusSum => "ms between TOTAL and the sum of its rows, at most",
        Quantity::Testsets => "testsets in a run",
        Quantity::WrongAnswers => "wrong answers",
        Quantity::MixedReads => "reads in a hundred mixed operations",
        Quantity::MixedUpdates => "updates in a hundred mixed operations",
        Quantity::MixedInserts => "inserts in a hundred mixed operations",
        Quantity::FailedStatements => "failed statements",
        Quantity::BusySurfaced => "statements that failed because the server was busy",
        Quantity::DistinctWork => "different sequences of statements",
    }
}

fn runs(record: &Record) -> impl Iterator<Item = &Run> {
    record.legs.iter().flat_map(|leg| &leg.runs)
}

fn measures(record: &Record) -> impl Iterator<Item = &Measure> {
    let phases = record.legs.iter().flat_map(|leg| &leg.phases);
    phases.flat_map(|phase| &phase.samples).map(|sample| &sample.measure)
}

fn largest_total_error(leg: &Leg) -> Option<i64> {
    let distance = |run: &Run| {
        let samples = leg.steps.iter().flat_map(|step| &step.samples).filter(|s| s.run == run.number);
        run.total_ms.map(|total| (total - samples.map(|s| s.reported_ms).sum::<i64>()).abs())
    };
    leg.runs.iter().filter_map(distance).max()
}

fn testsets(record: &Record) -> Option<i64> {
    let steps = &record.legs.first()?.steps;
    let mut names: Vec<&str> = steps.iter().map(|step| step.key.testset.as_str()).collect();
    names.dedup();
    Some(names.len() as i64)
}

fn wrong_answers(record: &Record) -> i64 {
    measures(record).flat_map(|measure| &measure.checks).filter(|check| !check.holds()).count() as i64
}

/// Operations of these kinds in a hundred of the mixed phase.
fn mixed(record: &Record, kinds: &[&str]) -> Option<i64> {
    let measure = record.legs.iter().flat_map(|leg| leg.measures("mixed")).next()?;
    let some: u64 = kinds.iter().filter_map(|kind| measure.counts.get(*kind)).sum();
    Some((some as f64 * 100.0 / measure.operations.max(1) as f64).round() as i64)
}

/// Warm-ups and rejected runs too: a failure is one wherever it happens.
fn failed_statements(record: &Record) -> Option<i64> {
    measures(record).next()?;
    Some(measures(record).flat_map(|measure| measure.errors.values()).sum::<u64>() as i64)
}

/// Warm-ups and rejected runs too.
fn surfaced(record: &Record) -> Option<i64> {
    measures(record).next()?;
    Some(measures(record).map(busy_surfaced).sum::<u64>() as i64)
}

fn distinct_work(record: &Record) -> Option<i64> {
    let counted = runs(record).filter(|run| run.counts());
    let hashes: HashSet<&String> = counted.filter_map(|run| run.work.as_ref()).collect();
    (!hashes.is_empty()).then_some(hashes.len() as i64)
}
