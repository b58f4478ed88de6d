//! Whether the samples of a tool are what it printed: its raw output is read again.

use crate::figure::{Printed, Tool};
use crate::record::{Answer, Leg, Record, Run};

/// Returns whether every counted run, and the run that checked the answers, printed what the record says; `None`
/// when the record does not hold what they printed. The text names the first that did not.
pub(super) fn agrees(record: &Record, tool: &Tool) -> (Option<bool>, String) {
    if record.imported.is_some() {
        return (None, "an imported output can't be read as strictly as one that is measured".to_string());
    }
    let runs = record.legs.iter().flat_map(|leg| leg.counted_runs().map(move |run| (leg, run)));
    let faults = runs.filter_map(|(leg, run)| fault_of_run(record, tool, leg, run));
    let checks = record.legs.iter().filter_map(|leg| fault_of_check(record, tool, leg));
    // What contradicts the record weighs more than what is missing.
    match faults.chain(checks).min_by_key(|(missing, _)| *missing) {
        Some((missing, what)) => ((!missing).then_some(false), what),
        None => (Some(true), "read again, every run gives the samples of the record".to_string()),
    }
}

/// Whether something is missing, not wrong, and what it is.
type Fault = (bool, String);

fn fault_of_run(record: &Record, tool: &Tool, leg: &Leg, run: &Run) -> Option<Fault> {
    let number = run.number;
    let Some(output) = &run.output else {
        return Some((true, format!("the record does not hold what run {number} printed")));
    };
    let printed = match (tool.read)(output, &record.parameters) {
        Ok(printed) => printed,
        Err(reason) => return Some((false, format!("run {number} printed what can't be read: {reason}"))),
    };
    let differs = rows_differ(leg, run, &printed).or_else(|| stamp_differs(leg, &printed));
    differs.map(|what| (false, format!("run {number}: {what}")))
}

fn rows_differ(leg: &Leg, run: &Run, printed: &Printed) -> Option<String> {
    let samples = leg.all_samples().filter(|(_, sample)| sample.run == run.number);
    let mut recorded: Vec<(&str, i64)> =
        samples.filter_map(|(phase, sample)| Some((phase, sample.measure.reported_ms?))).collect();
    let mut rows: Vec<(&str, i64)> = printed.rows.iter().map(|(row, ms)| (row.as_str(), *ms)).collect();
    recorded.sort_unstable();
    rows.sort_unstable();
    let strange =
        rows.iter().find(|row| !recorded.contains(row)).map(|(row, ms)| format!("printed {row} as {ms} ms"));
    let unprinted =
        || recorded.iter().find(|row| !rows.contains(row)).map(|(row, _)| format!("did not print {row}"));
    let total = || (printed.total_ms != run.total_ms).then(|| "printed another TOTAL".to_string());
    Some(strange.or_else(unprinted).or_else(total)? + ", which is not what the record says")
}

fn stamp_differs(leg: &Leg, printed: &Printed) -> Option<String> {
    let (stamp, banner) = (leg.engine.source_id.as_ref()?, printed.source_id.as_ref()?);
    // The tool prints the beginning of its source id.
    (!stamp.starts_with(banner.as_str()))
        .then(|| format!("printed the source id {banner}, but the record says {stamp}"))
}

fn fault_of_check(record: &Record, tool: &Tool, leg: &Leg) -> Option<Fault> {
    let Answer::Right { found } = &leg.answer else { return None };
    let Some(output) = &leg.answer_output else {
        return Some((true, "the record does not hold what the check of the answers printed".to_string()));
    };
    let mut parameters = record.parameters.clone();
    parameters.insert("verify".to_string(), true.into());
    let answer = (tool.read)(output, &parameters).map(|printed| printed.answer);
    (answer.as_ref() != Ok(&Some(found.clone())))
        .then(|| (false, "the check of the answers did not print the answer in the record".to_string()))
}
