//! Counts of a record that claims can be about.

use super::Quantity;
use crate::record::{Leg, Measure, Record, Run};
use std::collections::HashSet;

/// Returns the quantity in a record, or `None` when the record does not say.
pub fn count(record: &Record, quantity: Quantity) -> Option<i64> {
    match quantity {
        Quantity::Errors => Some(runs(record).filter(|run| run.rejected.is_some()).count() as i64),
        Quantity::TotalMinusSum => record.legs.iter().filter_map(largest_total_error).max(),
        Quantity::Testsets => testsets(record),
        Quantity::WrongAnswers => Some(wrong_answers(record)),
        Quantity::FailedStatements => failed_statements(record),
        Quantity::BusySurfaced => surfaced(record),
        Quantity::DistinctWork => distinct_work(record),
    }
}

/// Returns the words for what the quantity counts, to follow a number.
pub fn what(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Errors => "failed or rejected runs",
        Quantity::TotalMinusSum => "ms at most between TOTAL and the sum of its rows",
        Quantity::Testsets => "testsets in a run",
        Quantity::WrongAnswers => "wrong answers",
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
    let distance =
        |run: &Run| Some(run.total_ms?.saturating_sub(leg.sum_of_rows(run.number)?).saturating_abs());
    leg.runs.iter().filter_map(distance).max()
}

/// Returns the number of testsets, which are the part of a row's name before the number.
fn testsets(record: &Record) -> Option<i64> {
    let phases = &record.legs.first()?.phases;
    let mut names: Vec<&str> =
        phases.iter().filter_map(|phase| Some(phase.name.split_once('/')?.0)).collect();
    names.dedup();
    Some(names.len() as i64)
}

fn wrong_answers(record: &Record) -> i64 {
    measures(record).flat_map(|measure| &measure.checks).filter(|check| !check.holds()).count() as i64
}

/// Returns the percentage of operations of these kinds in a phase, rounded, for the first run that counts, or `None`
/// when the phase does not count one of the kinds.
pub fn share(record: &Record, phase: &str, kinds: &[String]) -> Option<i64> {
    let sample = record.legs.iter().flat_map(|leg| leg.samples(phase)).next()?;
    let some = kinds.iter().map(|kind| sample.measure.counts.get(kind)).sum::<Option<u64>>()?;
    Some((some as f64 * 100.0 / sample.measure.operations?.max(1) as f64).round() as i64)
}

/// Returns the number of failed statements. Warm-ups and rejected runs are included, because a failure is one
/// wherever it happens.
fn failed_statements(record: &Record) -> Option<i64> {
    measures(record).next()?;
    Some(measures(record).map(Measure::failures).sum::<u64>() as i64)
}

/// Returns how many statements failed because the server was busy, including warm-ups and rejected runs.
fn surfaced(record: &Record) -> Option<i64> {
    measures(record).next()?;
    Some(measures(record).filter_map(|measure| measure.busy_surfaced).sum::<u64>() as i64)
}

fn distinct_work(record: &Record) -> Option<i64> {
    let counted = runs(record).filter(|run| run.counts());
    let hashes: HashSet<&String> = counted.filter_map(|run| run.work.as_ref()).collect();
    (!hashes.is_empty()).then_some(hashes.len() as i64)
}
