//! Two records side by side.

mod phases;

use super::table::{Table, left, ms, right};
use crate::record::{CLOCK_ERROR_MS, Leg, Record};
use crate::stats::{Interval, Ratio, median};
use crate::suite::Suite;

/// What two records have to say of each other.
pub struct Comparison {
    /// What the wholes are called, and A / B of each: `TOTAL`, or one of each leg.
    pub totals: Vec<(String, Ratio)>,
    /// Figure by figure.
    pub table: Table,
}

/// Compares all that both records have; ratios are `a` / `b`.
///
/// # Errors
/// Records of different work, or without counted runs.
pub fn compare(a: &Record, b: &Record) -> Result<Comparison, String> {
    let (Some(leg_a), Some(leg_b)) = (a.legs.first(), b.legs.first()) else {
        return Err("a record without a leg".to_string());
    };
    let counts = |record: &Record| record.legs.iter().any(|leg| !leg.counted().is_empty());
    if !counts(a) || !counts(b) {
        return Err("a record holds no run that counts".to_string());
    }
    if let Some(differing) = differing_work(a, b, leg_a, leg_b) {
        return Err(format!("the records are not of the same work: {differing}"));
    }
    let (mut table, totals) = match Suite::named(&a.suite).filter(|suite| !(suite.legs)().is_empty()) {
        Some(suite) => phases::compare(suite, a, b),
        None => steps((a, leg_a), (b, leg_b)),
    };
    table.notes = notes(a, b, &totals);
    Ok(Comparison { totals, table })
}

/// The timed lines of speedtest1, and TOTAL.
fn steps((a, leg_a): (&Record, &Leg), (b, leg_b): (&Record, &Leg)) -> (Table, Vec<(String, Ratio)>) {
    let mut rows = Vec::new();
    for step in &leg_a.steps {
        let other = leg_b.step(&step.key).map(|step| leg_b.reported(step)).unwrap_or_default();
        rows.push(row(&step.key.to_string(), &step.name, (&leg_a.reported(step), &other), CLOCK_ERROR_MS).0);
    }
    let absent = leg_b.steps.iter().filter(|step| leg_a.step(&step.key).is_none());
    for step in absent {
        rows.push(row(&step.key.to_string(), &step.name, (&[], &leg_b.reported(step)), CLOCK_ERROR_MS).0);
    }
    let (total_row, total) =
        row("TOTAL", "all rows", (&leg_a.totals(), &leg_b.totals()), leg_a.total_error());
    rows.push(total_row);
    let columns = vec![
        left("step"),
        left("name"),
        right("A ms"),
        right("B ms"),
        right("A / B"),
        right("95 % interval"),
        left(""),
    ];
    let totals = total.map(|total| ("TOTAL".to_string(), total)).into_iter().collect();
    (Table { head: head(a, b), columns, rows, notes: Vec::new() }, totals)
}

/// Size, testsets and the names of shared steps must agree; versions, flags and hosts are what one compares.
fn differing_work(a: &Record, b: &Record, leg_a: &Leg, leg_b: &Leg) -> Option<String> {
    if a.suite != b.suite {
        return Some(format!("suite {} and {}", a.suite, b.suite));
    }
    if leg_a.steps.is_empty() && leg_b.steps.is_empty() {
        return phases::differing_work(a, b);
    }
    for name in ["size", "testset"] {
        if let (Some(x), Some(y)) = (a.parameters.get(name), b.parameters.get(name))
            && x != y
        {
            return Some(format!("--{name} {x} and {y}"));
        }
    }
    let renamed =
        |step: &&crate::record::Step| leg_b.step(&step.key).is_some_and(|other| other.name != step.name);
    let step = leg_a.steps.iter().find(renamed)?;
    Some(format!("step {} is `{}` in one of them only", step.key, step.name))
}

fn row(key: &str, name: &str, (a, b): (&[f64], &[f64]), error: f64) -> (Vec<String>, Option<Ratio>) {
    let ratio = Ratio::of_medians(a, error, b, error);
    let text = |values: &[f64]| median(values).map_or(String::new(), ms);
    let (value, interval, word) = match (&ratio, a.is_empty() || b.is_empty()) {
        (_, true) => (String::new(), String::new(), "in one record only"),
        (None, _) => (String::new(), String::new(), "below the clock's resolution"),
        (Some(ratio), _) => match ratio.interval {
            None => (format!("{:.3}", ratio.value), String::new(), "too few runs to tell"),
            Some(i) => {
                (format!("{:.3}", ratio.value), format!("{:.3}–{:.3}", i.low, i.high), word(i.low, i.high))
            }
        },
    };
    (vec![key.to_string(), name.to_string(), text(a), text(b), value, interval, word.to_string()], ratio)
}

fn word(low: f64, high: f64) -> &'static str {
    match () {
        () if low > 1.0 => "A slower",
        () if high < 1.0 => "A faster",
        () => "no difference shown",
    }
}

fn head(a: &Record, b: &Record) -> Vec<String> {
    let side = |name: &str, record: &Record| {
        let leg = record.legs.first();
        let engine = leg.map(|leg| &leg.engine);
        let version =
            engine.and_then(|engine| engine.sqlite_version.clone()).unwrap_or_else(|| "unknown".to_string());
        let command = engine
            .and_then(|engine| engine.build.as_ref())
            .map_or("build unknown".to_string(), |b| format!("{}, {}", b.command, b.compiler));
        format!(
            "{name}: SQLite {version} · {command} · {} runs · {}",
            leg.map_or(0, |leg| leg.counted().len()),
            record.started
        )
    };
    vec![side("A", a), side("B", b)]
}

fn notes(a: &Record, b: &Record, totals: &[(String, Ratio)]) -> Vec<String> {
    let mut notes = Vec::new();
    for (name, record) in [("A", a), ("B", b)] {
        notes.extend(record.partial.as_ref().map(|reason| format!("{name} is partial: {reason}")));
    }
    let cpu = |record: &Record| record.host.as_ref().and_then(|host| host.cpu.model.clone());
    if cpu(a) != cpu(b) {
        notes.push("the records are from different machines: absolute times do not travel".to_string());
    }
    notes.push(
        "the runs were not interleaved: a drift of the machine between the records is not cancelled"
            .to_string(),
    );
    if totals.is_empty() {
        notes.push("there is no total to compare".to_string());
    }
    let (known, unknown): (Vec<_>, Vec<_>) = totals.iter().partition(|(_, ratio)| ratio.interval.is_some());
    notes.extend(known.iter().filter_map(|(name, ratio)| total_line(name, ratio)));
    if !unknown.is_empty() {
        let names: Vec<&str> = unknown.iter().map(|(name, _)| name.as_str()).collect();
        notes.push(format!(
            "{}: too few runs for an interval (5 are needed on a side that has more than one)",
            names.join(", ")
        ));
    }
    notes
}

fn total_line(name: &str, Ratio { value, interval }: &Ratio) -> Option<String> {
    let Interval { low, high } = (*interval)?;
    let word = word(low, high);
    Some(format!("{name}: A / B is {value:.3}, 95 % interval {low:.3} to {high:.3}: {word}"))
}

#[cfg(test)]
mod tests;
