//! What a server costs: each step when embedded and through the server, and where the time goes.

mod parts;
mod words;

#[cfg(test)]
mod tests;

use super::table::{Column, Table, left, right, three_digits};
use crate::record::Record;
use crate::stats::bootstrap::FEWEST_SAMPLES;
use crate::suite::Suite;
use crate::verify::figure::{FigureKey, Metric, WHOLE};
use crate::verify::measured::{self, Values};
use parts::{PARTS, Sides, Split};

/// The legs with their headings.
const LEGS: [(&str, &str); 5] = [
    ("embedded", "embedded ms"),
    ("sqld", "sqld ms"),
    ("sqld-held", "held ms"),
    ("sqld-batch", "batch ms"),
    ("floor", "floor ms"),
];

/// The tables of a record of the suite: what each step costs, and where the time of the leg `sqld` goes.
pub fn tables(record: &Record) -> Vec<Table> {
    let mut tables = vec![costs(record)];
    if let Some(sides) = Sides::of(record) {
        tables.push(shares(record, &sides));
    }
    if let Some(last) = tables.last_mut() {
        last.notes.extend(words::facts(record));
    }
    tables
}

/// Names of the steps that the record has.
fn steps(record: &Record) -> Vec<&'static str> {
    let known = Suite::named(&record.suite).and_then(Suite::whole).unwrap_or_default();
    let is_there =
        |step: &&str| record.legs.iter().any(|leg| leg.phases.iter().any(|phase| phase.name == **step));
    known.into_iter().filter(is_there).collect()
}

/// What each counted run has of a figure.
fn values(record: &Record, leg: &str, phase: &str, metric: Metric) -> Option<Values> {
    let key = FigureKey::Phase { leg: leg.to_string(), phase: phase.to_string(), metric };
    measured::cited(record, &key)
}

/// The median of a figure.
fn median(record: &Record, leg: &str, phase: &str, metric: Metric) -> Option<f64> {
    values(record, leg, phase, metric)?.median()
}

/// A time of a leg, and for some its ratio to the time when embedded.
struct Side {
    leg: &'static str,
    ratio: bool,
    interval: bool,
}

fn costs(record: &Record) -> Table {
    let embedded = record.leg("embedded").is_some();
    let judged = record.leg("sqld").is_some();
    let mut columns = vec![left("step"), right("statements")];
    let mut sides = Vec::new();
    for (leg, heading) in LEGS {
        // The floor is the wire of the other table, where there is one.
        if record.leg(leg).is_none() || (leg == "floor" && judged) {
            continue;
        }
        let ratio = embedded && leg.starts_with("sqld");
        let interval = ratio && leg == "sqld";
        columns.push(right(heading));
        columns.extend(ratio.then(|| right("ratio")));
        columns.extend(interval.then(|| right("95 % interval")));
        sides.push(Side { leg, ratio, interval });
    }
    let rows = steps(record).into_iter().chain([WHOLE]).map(|step| cost_row(record, step, &sides)).collect();
    let runs = record.leg("sqld").map_or(0, |leg| leg.counted().len());
    let few = (embedded && judged && runs < FEWEST_SAMPLES)
        .then(|| format!("{runs} counted runs: too few for an interval ({FEWEST_SAMPLES} are needed)"));
    Table { head: Vec::new(), columns, rows, notes: few.into_iter().collect() }
}

fn cost_row(record: &Record, step: &str, sides: &[Side]) -> Vec<String> {
    let text = |leg: &str, metric, digits: fn(f64) -> String| {
        median(record, leg, step, metric).map_or(String::new(), digits)
    };
    let statements = sides.iter().find_map(|side| median(record, side.leg, step, Metric::Operations));
    let mut row = vec![step.to_string(), statements.map_or(String::new(), |count| format!("{count:.0}"))];
    for side in sides {
        row.push(text(side.leg, Metric::Time, three_digits));
        row.extend(side.ratio.then(|| text(side.leg, Metric::Ratio, times)));
        row.extend(side.interval.then(|| interval(record, side.leg, step)));
    }
    row
}

fn interval(record: &Record, leg: &str, step: &str) -> String {
    let estimate = values(record, leg, step, Metric::Ratio).and_then(|values| values.estimate());
    let interval = estimate.and_then(|(_, interval)| interval);
    interval.map_or(String::new(), |i| format!("{}–{}", times(i.low), times(i.high)))
}

/// A ratio: `0.94`, `9.87`, `29.7`, `315`.
fn times(ratio: f64) -> String {
    if ratio < 1.0 { format!("{ratio:.2}") } else { three_digits(ratio) }
}

fn shares(record: &Record, sides: &Sides) -> Table {
    let headings = PARTS.map(|(heading, _)| heading);
    let mut columns: Vec<Column> = vec![left("step"), right("sqld ms")];
    columns.extend(headings.map(right));
    columns.push(right("each µs"));
    columns.extend(headings.map(right));
    columns.push(right("client CPU µs"));
    let steps = steps(record);
    let mut named: Vec<(&str, Split)> =
        steps.iter().filter_map(|step| Some((*step, sides.split(&[step])?))).collect();
    let known = Suite::named(&record.suite).and_then(Suite::whole).unwrap_or_default();
    named.extend(sides.split(&known).map(|split| (WHOLE, split)));
    let splits: Vec<Split> = named.iter().map(|(_, split)| *split).collect();
    let mut notes = words::dominant(record, &named);
    notes.extend(sides.notes(&splits));
    let rows: Vec<Vec<String>> = named.iter().map(|(step, split)| share_row(step, split)).collect();
    let head = [
        "where the time of sqld goes: medians of four parts that add up to it in each run",
        "wire: an echo with messages of the same length (floor) · server: its own time, as it says",
        "streams: opening and closing one for each statement (against sqld-held) · rest: client, server and scheduling",
    ];
    Table { head: head.map(str::to_string).to_vec(), columns, rows, notes }
}

fn share_row(step: &str, split: &Split) -> Vec<String> {
    let text = |value: Option<f64>| value.map_or(String::new(), three_digits);
    let each = |ms: f64| (split.statements > 0).then(|| ms * 1000.0 / split.statements as f64);
    let mut row = vec![step.to_string(), three_digits(split.ms)];
    row.extend(split.parts.map(text));
    row.push(text(each(split.ms)));
    row.extend(split.parts.map(|part| text(part.and_then(each))));
    row.push(text(split.client_cpu.and_then(each)));
    row
}
