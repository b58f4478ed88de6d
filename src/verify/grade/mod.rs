//! Whether a record is fit to be cited: condition by condition.

mod phases;

pub use phases::headline;

use crate::record::{Answer, Leg, Origin, Record, Run};

/// One condition of citation grade.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// What is asked for.
    pub what: &'static str,
    /// Whether it is met; `None` when the record does not say.
    pub met: Option<bool>,
    /// The fact that decides it.
    pub detail: String,
}

/// Fewest counted runs.
pub const FEWEST_RUNS: usize = 5;
/// Widest interval of TOTAL, to either side.
pub const WIDEST_INTERVAL: f64 = 0.01;
/// Most time that a hypervisor may take away during the runs, as a fraction of their length.
pub const MOST_STEAL: f64 = 0.005;
/// Most time that tasks of this machine may wait for a CPU, as a fraction of the runs' length.
pub const MOST_PRESSURE: f64 = 0.05;

/// The conditions of citation grade for a record.
pub fn conditions(record: &Record) -> Vec<Condition> {
    let Some(leg) = record.legs.first() else { return Vec::new() };
    if leg.steps.is_empty() && record.legs.iter().any(|leg| !leg.phases.is_empty()) {
        let mut conditions = vec![measured_whole(record)];
        conditions.extend(phases::conditions(record));
        conditions.push(program(record));
        return conditions;
    }
    vec![
        measured_whole(record),
        pinned(record),
        flags(leg),
        answers(leg),
        total_adds_up(record),
        runs(leg),
        interval(leg),
        quiet_of(&[leg], &[leg]),
        clock(leg),
        program(record),
    ]
}

/// Whether every condition is met.
pub fn citable(conditions: &[Condition]) -> bool {
    !conditions.is_empty() && conditions.iter().all(|condition| condition.met == Some(true))
}

fn measured_whole(record: &Record) -> Condition {
    let (met, detail) = match (&record.partial, &record.origin) {
        (Some(reason), _) => (false, format!("partial: {reason}")),
        (None, Origin::Imported { file, .. }) => (false, format!("read from {file}, not measured by repro")),
        (None, Origin::Measured) => (true, "the plan was carried out".to_string()),
    };
    Condition { what: "measured, and whole", met: Some(met), detail }
}

fn pinned(record: &Record) -> Condition {
    let detail = match record.pinned() {
        Some(true) => "every source has the pinned SHA-256",
        Some(false) => "unpinned: the sources are not the pinned ones",
        None => "the record does not say what was built",
    };
    Condition { what: "pinned sources", met: record.pinned(), detail: detail.to_string() }
}

fn flags(leg: &Leg) -> Condition {
    let command = leg.engine.build.as_ref().map(|build| build.command.clone());
    let exact = |command: &String| {
        let rest = command.split_once(' ').map_or("", |(_, rest)| rest);
        rest == "-O3 -DSQLITE_ENABLE_RTREE speedtest1.c sqlite3.c -lpthread -ldl -lm"
    };
    Condition {
        what: "exact flags",
        met: command.as_ref().map(exact),
        detail: command.unwrap_or_else(|| "the record does not say how it was built".to_string()),
    }
}

fn answers(leg: &Leg) -> Condition {
    let (met, detail) = match &leg.answer {
        Answer::Right(hash) => (Some(true), format!("verification hash {hash} is the known one")),
        Answer::Wrong { found, expected } => {
            (Some(false), format!("verification hash {found}, expected {expected}"))
        }
        Answer::Unknown(hash) => {
            (None, format!("verification hash {hash}; the right one is not known for this work"))
        }
        Answer::NotChecked(reason) => (None, format!("not checked: {reason}")),
    };
    let differing =
        leg.runs.iter().find_map(|run| run.flags.iter().find(|flag| flag.starts_with("answers differ")));
    match differing {
        Some(flag) => Condition { what: "right answers", met: Some(false), detail: flag.clone() },
        None => Condition { what: "right answers", met, detail },
    }
}

fn total_adds_up(record: &Record) -> Condition {
    match record.check() {
        Ok(()) => Condition {
            what: "TOTAL adds up",
            met: Some(true),
            detail: "in every run, to the millisecond".to_string(),
        },
        Err(reason) => Condition { what: "TOTAL adds up", met: Some(false), detail: reason },
    }
}

fn runs(leg: &Leg) -> Condition {
    let n = leg.counted().len();
    Condition { what: "at least 5 runs", met: Some(n >= FEWEST_RUNS), detail: format!("{n} counted runs") }
}

fn interval(leg: &Leg) -> Condition {
    let width = leg.total().and_then(|summary| summary.relative_half_width());
    Condition {
        what: "interval within ±1 %",
        met: Some(width.is_some_and(|width| width <= WIDEST_INTERVAL)),
        detail: match width {
            Some(width) => format!("95 % interval of the median TOTAL is ±{:.2} %", width * 100.0),
            None => "too few runs for an interval".to_string(),
        },
    }
}

/// What was taken from `legs`, and how long tasks waited while `alone` ran, which wait for nobody of their own.
fn quiet_of(legs: &[&Leg], alone: &[&Leg]) -> Condition {
    let what = "quiet machine";
    let (runs, waits) = (observed(legs), observed(alone));
    if runs.is_empty() || waits.is_empty() {
        return Condition { what, met: None, detail: "the record does not say".to_string() };
    }
    let steal_ms = |run: &Run| run.noise.as_ref()?.steal_ms;
    let waited_us = |run: &Run| run.noise.as_ref()?.cpu_pressure_us;
    let steal = share(&runs, 1.0, steal_ms);
    let pressure = share(&waits, 1000.0, waited_us);
    let throttled: u64 = runs.iter().filter_map(|run| run.noise.as_ref()?.throttle_events).sum();
    let met = steal <= MOST_STEAL && pressure <= MOST_PRESSURE && throttled == 0;
    let known =
        runs.iter().all(|run| steal_ms(run).is_some()) && waits.iter().all(|run| waited_us(run).is_some());
    let detail = format!(
        "steal {:.2} % (at most {:.1} %), waiting for a CPU {:.1} % (at most {:.0} %), throttled {throttled} times",
        steal * 100.0,
        MOST_STEAL * 100.0,
        pressure * 100.0,
        MOST_PRESSURE * 100.0
    );
    Condition { what, met: if met && !known { None } else { Some(met) }, detail }
}

/// Counted runs of which the record says what else the machine did.
fn observed<'a>(legs: &[&'a Leg]) -> Vec<&'a Run> {
    let counted = legs.iter().flat_map(|leg| leg.runs.iter().filter(|run| run.counts()));
    counted.filter(|run| run.noise.is_some()).collect()
}

/// The share of a time, `unit` to the millisecond, in the length of the runs.
fn share(runs: &[&Run], unit: f64, of: impl Fn(&Run) -> Option<u64>) -> f64 {
    let wall: u64 = runs.iter().filter_map(|run| run.noise.as_ref()?.wall_ms).sum::<u64>().max(1);
    runs.iter().filter_map(|run| of(run)).sum::<u64>() as f64 / unit / wall as f64
}

fn clock(leg: &Leg) -> Condition {
    let disagreeing = leg
        .runs
        .iter()
        .filter(|run| run.counts() && run.flags.iter().any(|f| f.starts_with("clocks disagree")));
    let numbers: Vec<String> = disagreeing.map(|run| run.number.to_string()).collect();
    let stepped = leg
        .runs
        .iter()
        .filter(|run| run.rejected.as_deref().is_some_and(|why| why.contains("clock")))
        .count();
    let met = numbers.is_empty() && stepped == 0;
    let detail = match (met, stepped) {
        (true, _) => "wall clock and monotonic clock agree on every step".to_string(),
        (false, 0) => format!("clocks disagree by more than 5 ms on a step of run {}", numbers.join(", ")),
        (false, n) => format!("the wall clock was stepped in {n} runs"),
    };
    Condition { what: "sane clock", met: Some(met), detail }
}

fn program(record: &Record) -> Condition {
    let revision = &record.program.revision;
    let met = revision != "unknown" && !revision.ends_with("-dirty");
    Condition {
        what: "known program",
        met: Some(met),
        detail: format!("repro {} at {revision}", record.program.version),
    }
}
