//! The tables of a record: phases below their legs, over all counted runs, and one engine against the other.

use super::Detail;
use crate::figure::{self, FigureKey, Figures, Metric, Values};
use crate::record::{Leg, Quantile, Sample};
use crate::report::table::{Table, Text, cells, left, right};
use crate::stats::median;

/// Returns the tables of a record.
pub fn tables(figures: Figures) -> Vec<Table> {
    if figures.record.legs.is_empty() {
        return Vec::new();
    }
    let mut tables = vec![phases(figures)];
    tables.extend(ratios(figures));
    tables
}

fn phases(figures: Figures) -> Table {
    let mut table = Table::new(vec![
        left("phase"),
        right("operations"),
        right("per second"),
        right("95 % interval"),
        right("loop ns"),
        right("p50 µs"),
        right("p95"),
        right("p99"),
        right("p999"),
        right("max"),
        right("read MB"),
        right("WAL MB"),
        right("errors"),
    ]);
    for leg in &figures.record.legs {
        table.rows.push(cells([leg.name.clone()]));
        let rows = leg.phases.iter().filter_map(|phase| row(figures, leg, &phase.name));
        table.rows.extend(rows);
    }
    let several = figures.record.legs.iter().any(|leg| leg.counted().len() > 1);
    let runs = if several { "medians of all counted runs; " } else { "" };
    table.notes = cells([format!(
        "{runs}rates are of the operations alone; the column `loop ns` has what the loop took around each"
    )]);
    table
}

/// Returns the median of what each run measured, or an empty string if there is nothing.
fn middle(samples: &[&Sample], of: impl Fn(&Sample) -> Option<f64>, digits: usize) -> String {
    let values: Vec<f64> = samples.iter().filter_map(|sample| of(sample)).collect();
    median(&values).map_or(String::new(), |value| format!("{value:.digits$}"))
}

fn row(figures: Figures, leg: &Leg, phase: &str) -> Option<Vec<Text>> {
    let samples = leg.samples(phase);
    if samples.is_empty() {
        return None;
    }
    let rate = figures.cited(&FigureKey::new(&leg.name, phase, Metric::Rate));
    let estimate = rate.as_ref().and_then(Values::estimate);
    let whole = |value: f64| format!("{value:.0}");
    let interval = estimate.and_then(|(_, interval)| interval);
    let latency = |quantile: Quantile| {
        middle(&samples, |sample| Some(sample.measure.latency.as_ref()?.at(quantile) as f64 / 1000.0), 1)
    };
    let detail = |of: fn(Detail) -> Option<f64>, digits| {
        middle(&samples, |sample| of(sample.measure.detail()?), digits)
    };
    let mut row = cells([
        format!("  {phase}"),
        middle(&samples, |sample| Some(sample.measure.operations? as f64), 0),
        estimate.map_or(String::new(), |(value, _)| whole(value)),
        interval.map_or(String::new(), |i| format!("{}–{}", whole(i.low), whole(i.high))),
        detail(|detail| detail.loop_ns, 0),
    ]);
    row.extend(cells(Quantile::ALL.map(latency)));
    row.extend(cells([
        detail(|detail| Some(detail.read_bytes? as f64 / 1e6), 1),
        detail(|detail| Some(detail.wal_bytes? as f64 / 1e6), 1),
        samples.iter().map(|sample| sample.measure.failures()).sum::<u64>().to_string(),
    ]));
    Some(row)
}

/// Returns a table for two engines that ran the same leg alternately: the rate of the first over that of the
/// second, run by run.
fn ratios(figures: Figures) -> Option<Table> {
    let of = |leg: &Leg| leg.name.split(' ').next().unwrap_or_default().to_string();
    let legs = &figures.record.legs;
    let pairs: Vec<(&Leg, &Leg)> = legs
        .iter()
        .enumerate()
        .filter_map(|(at, first)| Some((first, legs[at + 1..].iter().find(|leg| of(leg) == of(first))?)))
        .collect();
    if pairs.is_empty() {
        return None;
    }
    let mut table = Table::new(vec![left("phase"), right("ratio"), right("95 % interval"), left("")]);
    for (first, second) in pairs {
        table.rows.push(cells([format!("{} over {}", first.name, second.name)]));
        table.rows.extend(first.phases.iter().filter_map(|phase| ratio(figures, first, second, &phase.name)));
    }
    table.head = cells([
        "rates of the first engine divided by those of the second, run by run; above 1, the first is faster",
    ]);
    Some(table)
}

fn ratio(figures: Figures, first: &Leg, second: &Leg, phase: &str) -> Option<Vec<Text>> {
    let rate = |leg: &Leg| figures.cited(&FigureKey::new(&leg.name, phase, Metric::Rate));
    let (a, b) = (rate(first)?, rate(second)?);
    let ratio = figure::paired(&a, &b)?;
    let word = match ratio.interval {
        None => "too few runs to tell",
        Some(i) if i.low > 1.0 => "first faster",
        Some(i) if i.high < 1.0 => "second faster",
        Some(_) => "no difference shown",
    };
    let interval = ratio.interval.map_or(String::new(), |i| format!("{:.3}–{:.3}", i.low, i.high));
    Some(cells([format!("  {phase}"), format!("{:.3}", ratio.value), interval, word.to_string()]))
}
