//! Two records of phases, figure by figure: times where a suite has a baseline, else rates.

use super::word;
use crate::record::{Leg, Record};
use crate::report::head;
use crate::report::table::{Table, left, right, three_digits};
use crate::stats::Ratio;
use crate::suite::Suite;
use crate::verify::figure::{FigureKey, Metric, WHOLE};
use crate::verify::measured::{self, Values};
use std::collections::BTreeSet;

/// Parameters that make other work; the others are what one compares.
const WORK: [&str; 7] = ["seed", "scale", "rows", "payload", "operations", "batch", "range"];

/// What of two records is not the same work.
pub fn differing_work(a: &Record, b: &Record) -> Option<String> {
    for name in WORK {
        let [x, y] = [a, b].map(|record| record.parameters.get(name));
        if x != y {
            let text = |value: Option<&serde_json::Value>| {
                value.map_or("its default".to_string(), |v| v.to_string())
            };
            return Some(format!("--{name} {} and {}", text(x), text(y)));
        }
    }
    let differs = |leg: &&Leg| {
        let hashes = [Some(*leg), b.leg(&leg.name)].map(|leg| leg.map(hashes).unwrap_or_default());
        hashes.iter().all(|hashes| !hashes.is_empty()) && hashes[0] != hashes[1]
    };
    let leg = a.legs.iter().find(differs)?;
    Some(format!("other statements ran in leg {}, by their SHA-256", leg.name))
}

fn hashes(leg: &Leg) -> BTreeSet<&String> {
    leg.runs.iter().filter(|run| run.counts()).filter_map(|run| run.work.as_ref()).collect()
}

/// The table, and the totals of the legs that both have.
pub fn compare(suite: &Suite, a: &Record, b: &Record) -> (Table, Vec<(String, Ratio)>) {
    let metric = if suite.baseline.is_some() { Metric::Time } else { Metric::Rate };
    let mut rows = Vec::new();
    let mut totals = Vec::new();
    for key in keys(a, b, metric) {
        let sides = [a, b].map(|record| measured::cited(record, &key));
        let (row, ratio) = row(&key, metric, &sides);
        rows.push(row);
        totals.extend(ratio.filter(|_| key.is_sum()).map(|ratio| (key.to_string(), ratio)));
    }
    let columns = vec![
        left("figure"),
        left("unit"),
        right("A"),
        right("B"),
        right("A / B"),
        right("95 % interval"),
        left(""),
    ];
    let head = [("A", a), ("B", b)].into_iter().flat_map(|(name, record)| side(name, record)).collect();
    (Table { head, columns, rows, notes: Vec::new() }, totals)
}

/// Those of A, then what only B has.
fn keys(a: &Record, b: &Record, metric: Metric) -> Vec<FigureKey> {
    let mut keys: Vec<FigureKey> = Vec::new();
    for leg in a.legs.iter().chain(&b.legs) {
        let total = (metric == Metric::Time).then_some(WHOLE);
        let phases = leg.phases.iter().map(|phase| phase.name.as_str()).chain(total);
        for phase in phases {
            let key = FigureKey::Phase { leg: leg.name.clone(), phase: phase.to_string(), metric };
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
    }
    keys.retain(|key| [a, b].iter().any(|record| measured::cited(record, key).is_some()));
    keys
}

fn row(key: &FigureKey, metric: Metric, sides: &[Option<Values>; 2]) -> (Vec<String>, Option<Ratio>) {
    let text = |values: &Option<Values>| {
        values.as_ref().and_then(Values::median).map_or(String::new(), three_digits)
    };
    let both = sides[0].as_ref().zip(sides[1].as_ref());
    let ratio = both.and_then(|(a, b)| measured::ratio_apart(a, b));
    let interval = ratio.and_then(|ratio| ratio.interval);
    let says = match (both, ratio, interval) {
        (None, ..) => "in one record only",
        (_, None, _) => "nothing to divide",
        (.., None) => "too few runs to tell",
        // A higher rate is a faster one.
        (.., Some(i)) if metric == Metric::Rate => word(1.0 / i.high, 1.0 / i.low),
        (.., Some(i)) => word(i.low, i.high),
    };
    let row = vec![
        key.to_string(),
        key.kind().unit().to_string(),
        text(&sides[0]),
        text(&sides[1]),
        ratio.map_or(String::new(), |ratio| format!("{:.3}", ratio.value)),
        interval.map_or(String::new(), |i| format!("{:.3}–{:.3}", i.low, i.high)),
        says.to_string(),
    ];
    (row, ratio)
}

fn side(name: &str, record: &Record) -> Vec<String> {
    let runs = record.legs.iter().map(|leg| leg.counted().len()).max().unwrap_or(0);
    let mut lines = vec![format!("{name}: {runs} runs · {} · {}", record.started, head::parameters(record))];
    lines.extend(head::engines(record).into_iter().map(|line| format!("{name}: {line}")));
    lines
}
