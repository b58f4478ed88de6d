//! What a server costs: the time of each step when embedded and through the server, and what makes it up.

mod parts;
mod words;

#[cfg(test)]
mod tests;

use crate::figure::{FigureKey, Figures, Metric, Values, WHOLE};
use crate::report::table::{Column, Table, Text, cells, left, right, three_digits};
use crate::stats::FEWEST_RUNS;
use parts::{PARTS, Sides, Split};

/// The legs with their column headings.
const LEGS: [(&str, &str); 5] = [
    ("embedded", "embedded ms"),
    ("sqld", "sqld ms"),
    ("sqld-held", "held ms"),
    ("sqld-batch", "batch ms"),
    ("floor", "floor ms"),
];

/// Returns the tables of a record: what each step costs, and how the time of the leg `sqld` is divided.
pub fn tables(figures: Figures) -> Vec<Table> {
    let mut tables = vec![costs(figures)];
    if let Some(sides) = Sides::of(figures.record) {
        tables.push(shares(figures, &sides));
    }
    if let Some(last) = tables.last_mut() {
        last.notes.extend(words::facts(figures.record).into_iter().map(Text::from));
    }
    tables
}

/// Returns the names of the steps that the record has.
fn steps(figures: Figures) -> Vec<&'static str> {
    let is_there = |step: &&str| figures.record.legs.iter().any(|leg| leg.phase(step).is_some());
    figures.shape.whole().unwrap_or_default().iter().copied().filter(is_there).collect()
}

/// Returns the values of a figure in each counted run.
fn values(figures: Figures, leg: &str, phase: &str, metric: Metric) -> Option<Values> {
    figures.cited(&FigureKey::new(leg, phase, metric))
}

/// Returns the median of a figure.
fn median(figures: Figures, leg: &str, phase: &str, metric: Metric) -> Option<f64> {
    values(figures, leg, phase, metric)?.median()
}

/// A column with the times of a leg, and whether it has a ratio to the times when embedded, and an interval.
struct Side {
    leg: &'static str,
    ratio: bool,
    interval: bool,
}

fn costs(figures: Figures) -> Table {
    let record = figures.record;
    let embedded = record.leg("embedded").is_some();
    let judged = record.leg("sqld").is_some();
    let mut columns = vec![left("step"), right("statements")];
    let mut sides = Vec::new();
    for (leg, heading) in LEGS {
        // With the other table, the floor is shown there as the wire.
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
    let rows =
        steps(figures).into_iter().chain([WHOLE]).map(|step| cost_row(figures, step, &sides)).collect();
    let runs = record.leg("sqld").map_or(0, |leg| leg.counted().len());
    let few = (embedded && judged && runs < FEWEST_RUNS as usize)
        .then(|| format!("{runs} counted runs: too few for an interval ({FEWEST_RUNS} are needed)"));
    Table { rows, notes: cells(few), ..Table::new(columns) }
}

fn cost_row(figures: Figures, step: &str, sides: &[Side]) -> Vec<Text> {
    let text = |leg: &str, metric, digits: fn(f64) -> String| {
        median(figures, leg, step, metric).map_or(String::new(), digits)
    };
    let statements = sides.iter().find_map(|side| median(figures, side.leg, step, Metric::Operations));
    let mut row = vec![step.to_string(), statements.map_or(String::new(), |count| format!("{count:.0}"))];
    for side in sides {
        row.push(text(side.leg, Metric::Time, three_digits));
        row.extend(side.ratio.then(|| text(side.leg, Metric::Ratio, times)));
        row.extend(side.interval.then(|| interval(figures, side.leg, step)));
    }
    cells(row)
}

fn interval(figures: Figures, leg: &str, step: &str) -> String {
    let estimate = values(figures, leg, step, Metric::Ratio).and_then(|values| values.estimate());
    let interval = estimate.and_then(|(_, interval)| interval);
    interval.map_or(String::new(), |i| format!("{}–{}", times(i.low), times(i.high)))
}

/// Formats a ratio as `0.94`, `9.87`, `29.7` or `315`.
fn times(ratio: f64) -> String {
    if ratio < 1.0 { format!("{ratio:.2}") } else { three_digits(ratio) }
}

fn shares(figures: Figures, sides: &Sides) -> Table {
    let headings = PARTS.map(|(heading, _)| heading);
    let mut columns: Vec<Column> = vec![left("step"), right("sqld ms")];
    columns.extend(headings.map(right));
    columns.push(right("each µs"));
    columns.extend(headings.map(right));
    columns.push(right("client CPU µs"));
    let steps = steps(figures);
    let mut named: Vec<(&str, Split)> =
        steps.iter().filter_map(|step| Some((*step, sides.split(&[step])?))).collect();
    let known = figures.shape.whole().unwrap_or_default();
    named.extend(sides.split(known).map(|split| (WHOLE, split)));
    let splits: Vec<Split> = named.iter().map(|(_, split)| *split).collect();
    let mut notes = words::dominant(figures, &named);
    notes.extend(sides.notes(&splits));
    let rows: Vec<Vec<Text>> = named.iter().map(|(step, split)| share_row(step, split)).collect();
    let head = [
        "where the time of sqld goes: medians of four parts, which add up to the whole in each run",
        "wire: an echo with messages of the same length (floor) · server: its own time, as it reports it",
        "streams: opening and closing one for each statement (compared with sqld-held) · rest: client, server and scheduling",
    ];
    Table { head: cells(head), rows, notes: cells(notes), ..Table::new(columns) }
}

fn share_row(step: &str, split: &Split) -> Vec<Text> {
    let text = |value: Option<f64>| value.map_or(String::new(), three_digits);
    let each = |ms: f64| (split.statements > 0).then(|| ms * 1000.0 / split.statements as f64);
    let mut row = vec![step.to_string(), three_digits(split.ms)];
    row.extend(split.parts.map(text));
    row.push(text(each(split.ms)));
    row.extend(split.parts.map(|part| text(part.and_then(each))));
    row.push(text(split.client_cpu.and_then(each)));
    cells(row)
}
