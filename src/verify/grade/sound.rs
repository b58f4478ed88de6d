//! Whether the runs of a record can be what they say: recomputed from their samples, never believed.

use crate::figure::Shape;
use crate::record::{Leg, Record, Run};
use std::collections::BTreeMap;

/// The reported ms and the elapsed ns of a sample.
type Times = (Option<i64>, Option<u64>);

/// The largest error, in ms, of comparing the clock of the tool with that of its process.
const SLACK_MS: f64 = 5.0;

/// Returns the first reason why the runs can't have been measured as the record says; `None` if there is none.
pub(super) fn fault(record: &Record, shape: &Shape) -> Option<String> {
    let legs = || record.legs.iter();
    let gap = || legs().find_map(|leg| gap(leg, shape));
    let copy = || legs().find_map(copy);
    let rejected = || legs().flat_map(|leg| &leg.runs).find_map(rejected);
    let longer = || legs().find_map(longer_than_its_process);
    rejected().or_else(gap).or_else(copy).or_else(longer).or_else(|| longer_than_the_session(record))
}

/// Tells of a run that was rejected: what spoilt it may have spoilt its neighbours.
fn rejected(run: &Run) -> Option<String> {
    run.rejected.as_ref().map(|why| format!("run {} was rejected: {why}", run.number))
}

/// Finds a counted run that lacks a phase which the leg has, or which a complete run has.
fn gap(leg: &Leg, shape: &Shape) -> Option<String> {
    let counted = leg.counted();
    let absent = shape.whole().unwrap_or_default().iter().find(|name| leg.phase(name).is_none());
    let lacking = || {
        leg.phases.iter().find_map(|phase| {
            let has = |run: &u32| phase.samples.iter().any(|sample| sample.run == *run);
            counted
                .iter()
                .find(|run| !has(run))
                .map(|run| format!("run {run} of {} lacks {}", leg.name, phase.name))
        })
    };
    absent.map(|name| format!("{} lacks {name}", leg.name)).or_else(lacking)
}

/// Finds two counted runs with the same samples throughout: chance does not repeat every time of a run.
fn copy(leg: &Leg) -> Option<String> {
    let mut seen: BTreeMap<Vec<Times>, u32> = BTreeMap::new();
    leg.counted().into_iter().find_map(|run| {
        let samples = leg.phases.iter().flat_map(|phase| &phase.samples).filter(|sample| sample.run == run);
        let times: Vec<_> =
            samples.map(|sample| (sample.measure.reported_ms, sample.measure.elapsed_ns)).collect();
        // Without a fine clock two short runs may well look alike.
        let fine = times.iter().any(|(_, elapsed)| elapsed.is_some());
        let other = seen.insert(times, run).filter(|_| fine)?;
        Some(format!("runs {other} and {run} of {} have the same times throughout", leg.name))
    })
}

/// Finds a run whose TOTAL is longer than its process lived.
fn longer_than_its_process(leg: &Leg) -> Option<String> {
    let longer = |run: &&Run| match (run.total_ms, run.wall_ns) {
        (Some(total), Some(wall)) => total as f64 > wall as f64 / 1e6 + SLACK_MS,
        _ => false,
    };
    leg.runs
        .iter()
        .find(longer)
        .map(|run| format!("TOTAL of run {} is longer than its process lived", run.number))
}

/// Compares the time of all runs with that of the session.
fn longer_than_the_session(record: &Record) -> Option<String> {
    let session = record.length_s()?;
    let runs = record.legs.iter().flat_map(|leg| &leg.runs);
    let walls: f64 = runs.filter_map(|run| run.wall_ns).map(|ns| ns as f64 / 1e9).sum();
    (walls > session + 1.0)
        .then(|| format!("the runs took {walls:.1} s, but the session {session:.1} s from start to end"))
}
