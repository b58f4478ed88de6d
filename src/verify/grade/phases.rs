//! The conditions for a record of legs with phases: those that have a meaning there.

use super::{Condition, FEWEST_RUNS, WIDEST_INTERVAL, quiet_of};
use crate::record::{Answer, Leg, Phase, Record};
use crate::stats::Interval;
use crate::suite::Suite;
use crate::verify::figure::{FigureKey, Metric, WHOLE};
use crate::verify::measured;
use std::collections::BTreeSet;

/// As the drivers call the SQLite that this program carries, which its revision pins.
const BUNDLED: &str = "bundled SQLite";

/// Between what the record says as a whole and which program made it.
pub fn conditions(record: &Record) -> Vec<Condition> {
    let mut conditions = vec![engines(record), pinned(record), answers(record)];
    conditions.extend(same_statements(record));
    conditions.extend([runs(record), interval(record), quiet(record)]);
    conditions
}

/// The figure that a citation of the record gives: what the first leg with a server costs over the baseline.
pub fn headline(record: &Record) -> Option<FigureKey> {
    let baseline = Suite::named(&record.suite)?.baseline?;
    let leg = sql_legs(record).find(|leg| leg.name != baseline)?;
    Some(FigureKey::Phase { leg: leg.name.clone(), phase: WHOLE.to_string(), metric: Metric::Ratio })
}

/// Legs that ran SQL, which an echo does not.
fn sql_legs(record: &Record) -> impl Iterator<Item = &Leg> {
    record.legs.iter().filter(|leg| leg.engine.sqlite_version.is_some())
}

/// Names of the legs for which something is not so.
fn without<'a>(legs: impl Iterator<Item = &'a Leg>, holds: impl Fn(&Leg) -> bool) -> Vec<&'a str> {
    legs.filter(|leg| !holds(leg)).map(|leg| leg.name.as_str()).collect()
}

fn engines(record: &Record) -> Condition {
    let open = without(sql_legs(record), |leg| leg.engine.source_id.is_some());
    let met = open.is_empty() && sql_legs(record).next().is_some();
    let detail = match met {
        true => "each leg names version and source id of its SQLite".to_string(),
        false => format!("the SQLite of {} is not known by its source id", list(&open, "every leg")),
    };
    Condition { what: "known engines", met: Some(met), detail }
}

fn pinned(record: &Record) -> Condition {
    let of = |leg: &Leg| match &leg.engine.build {
        Some(build) => Some(build.pinned),
        None => (leg.engine.name == BUNDLED).then_some(true),
    };
    let other = without(sql_legs(record), |leg| of(leg) != Some(false));
    let unknown = without(sql_legs(record), |leg| of(leg).is_some());
    let (met, detail) = match (other.as_slice(), unknown.as_slice()) {
        ([], []) => (Some(true), "each engine is the pinned one, or the one in this program".to_string()),
        ([], unknown) => (None, format!("the record does not say what {} ran", unknown.join(", "))),
        (other, _) => (Some(false), format!("not the pinned engine: {}", other.join(", "))),
    };
    Condition { what: "pinned engines", met, detail }
}

fn answers(record: &Record) -> Condition {
    let wrong = without(record.legs.iter(), |leg| !matches!(leg.answer, Answer::Wrong { .. }));
    let unchecked =
        without(sql_legs(record), |leg| !matches!(leg.answer, Answer::NotChecked(_) | Answer::Unknown(_)));
    let (met, detail) = match (wrong.as_slice(), unchecked.as_slice()) {
        ([], []) => (Some(true), "every answer of every run was checked".to_string()),
        ([], legs) => (None, format!("not checked: {}", legs.join(", "))),
        (legs, _) => (Some(false), format!("wrong: {}", legs.join(", "))),
    };
    Condition { what: "right answers", met, detail }
}

/// Where legs are compared with each other.
fn same_statements(record: &Record) -> Option<Condition> {
    Suite::named(&record.suite)?.baseline?;
    let counted = || sql_legs(record).flat_map(|leg| leg.runs.iter().filter(|run| run.counts()));
    let hashes: BTreeSet<&String> = counted().filter_map(|run| run.work.as_ref()).collect();
    let whole = counted().all(|run| run.work.is_some());
    let met = if whole { Some(hashes.len() == 1) } else { None };
    let detail = match hashes.len() {
        1 => format!("the same sequence in {} runs of all legs", counted().count()),
        n => format!("{n} different sequences in {} runs of all legs", counted().count()),
    };
    Some(Condition { what: "same statements", met, detail })
}

fn runs(record: &Record) -> Condition {
    let n = record.legs.iter().map(|leg| leg.counted().len()).min().unwrap_or(0);
    let detail = format!("{n} counted runs{}", if record.legs.len() > 1 { " of each leg" } else { "" });
    Condition { what: "at least 5 runs", met: Some(n >= FEWEST_RUNS), detail }
}

/// Of the figure that is cited; where there is none, of the rate that is known least.
fn interval(record: &Record) -> Condition {
    let keys = headline(record).map_or_else(|| rates(record), |key| vec![key]);
    let width = |key: FigureKey| {
        let (value, interval) = measured::cited(record, &key)?.estimate()?;
        let width = interval.and_then(|interval: Interval| interval.relative_half_width(value));
        Some((key, width.unwrap_or(f64::INFINITY)))
    };
    let widest = keys.into_iter().filter_map(width).max_by(|(_, a), (_, b)| a.total_cmp(b));
    let (met, detail) = match widest {
        None => (false, "there is no figure".to_string()),
        Some((key, width)) if width.is_infinite() => (false, format!("{key}: too few runs for an interval")),
        Some((key, width)) => (
            width <= WIDEST_INTERVAL,
            format!("95 % interval of the median {key} is ±{:.2} %", width * 100.0),
        ),
    };
    Condition { what: "interval within ±1 %", met: Some(met), detail }
}

fn rates(record: &Record) -> Vec<FigureKey> {
    let phases = record.legs.iter().flat_map(|leg| leg.phases.iter().map(move |phase| (leg, phase)));
    let key = |(leg, phase): (&Leg, &Phase)| FigureKey::Phase {
        leg: leg.name.clone(),
        phase: phase.name.clone(),
        metric: Metric::Rate,
    };
    phases.map(key).collect()
}

/// Client and server wait for each other's CPU, which is part of what they cost: that tasks wait is held against the
/// baseline only, where there is one. It ran in turn with the others.
fn quiet(record: &Record) -> Condition {
    let baseline = Suite::named(&record.suite).and_then(|suite| suite.baseline);
    let all: Vec<&Leg> = record.legs.iter().collect();
    let alone = match baseline {
        None => all.clone(),
        Some(name) => all.iter().copied().filter(|leg| leg.name == name).collect(),
    };
    quiet_of(&all, &alone)
}

fn list(names: &[&str], none: &str) -> String {
    if names.is_empty() { none.to_string() } else { names.join(", ") }
}
