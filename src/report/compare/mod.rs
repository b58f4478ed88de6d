//! Compares two records side by side.

use super::head;
use super::table::{Column, Table, Text, Tone, cells, left, right, three_digits};
use crate::figure::{self, FigureKey, Figures, Metric, Shape, Values};
use crate::record::Record;
use crate::stats::{self, Interval, Ratio};

mod work;

/// How far apart two records of one executable were found that were made one after the other on a shared machine, as a
/// factor (docs/compare.md). No smaller difference between such records is one.
pub const DRIFT: f64 = 1.1;

/// The comparison of two records.
pub struct Comparison {
    /// The totals by name with their ratio A / B: `TOTAL`, or one for each leg.
    pub totals: Vec<(String, Ratio)>,
    /// The table of the figures.
    pub table: Table,
    /// In what the work differs; empty unless the records were compared anyway.
    pub other_work: Vec<String>,
    /// By which factor the machine may have drifted between the records: 1 if their sessions overlapped.
    pub drift: f64,
}

impl Comparison {
    /// Returns whether a total of A is longer than that of B by more than this fraction of it; `None` if the records do
    /// not decide it.
    pub fn exceeds(&self, limit: f64) -> Option<bool> {
        if self.totals.is_empty() || !self.other_work.is_empty() {
            return None;
        }
        let exceeds = |(_, ratio): &(String, Ratio)| {
            let Interval { low, high } = ratio.interval?;
            match () {
                () if low > (1.0 + limit).max(self.drift) => Some(true),
                () if high <= 1.0 + limit => Some(false),
                () => None,
            }
        };
        let all: Vec<Option<bool>> = self.totals.iter().map(exceeds).collect();
        if all.contains(&Some(true)) {
            Some(true)
        } else {
            all.into_iter().collect::<Option<Vec<_>>>().map(|_| false)
        }
    }
}

/// Compares everything that both records have; ratios are `a` / `b`. Both belong to the study with this
/// shape. With `anyway`, records of different work are compared, too, and the differences are kept.
///
/// # Errors
/// Fails when the records are of different work, or when one has no counted runs.
pub fn compare(shape: &Shape, a: &Record, b: &Record, anyway: bool) -> Result<Comparison, String> {
    if a.legs.is_empty() || b.legs.is_empty() {
        return Err("one of the records has no leg".to_string());
    }
    let counts = |record: &Record| record.legs.iter().any(|leg| !leg.counted().is_empty());
    if !counts(a) || !counts(b) {
        return Err("one of the records has no run that counts".to_string());
    }
    let other_work = work::other(shape, a, b);
    if !(other_work.is_empty() || anyway && a.study == b.study) {
        let hint = if a.study == b.study { "; --anyway compares them and keeps this list" } else { "" };
        let other_work = other_work.join("; ");
        return Err(format!("the records did not measure the same work: {other_work}{hint}"));
    }
    let drift = if overlap(a, b) { 1.0 } else { DRIFT };
    let (table, totals) = figures(shape, a, b, drift);
    let mut comparison = Comparison { totals, table, other_work, drift };
    comparison.table.notes = notes(&comparison, a, b, &work::settings(shape, a, b));
    Ok(comparison)
}

/// Returns whether the sessions of the records overlapped in time, so that both met the same states of the machine.
fn overlap(a: &Record, b: &Record) -> bool {
    let within = |x: &Record, y: &Record| y.finished.is_some_and(|finished| x.started < finished);
    within(a, b) && within(b, a)
}

/// Returns the table of times, if the study has rows or a baseline, or else of rates; and the totals of the
/// legs that both have.
fn figures(shape: &Shape, a: &Record, b: &Record, drift: f64) -> (Table, Vec<(String, Ratio)>) {
    let metric = if shape.has_rows() || shape.baseline.is_some() { Metric::Time } else { Metric::Rate };
    let sides = [a, b].map(|record| Figures::new(shape, record));
    let mut rows = Vec::new();
    let mut totals = Vec::new();
    for key in keys(sides, metric) {
        let unlike = key.is_sum() && parts(sides[0], &key) != parts(sides[1], &key);
        let values = sides.map(|side| side.cited(&key));
        let title = sides.iter().find_map(|side| side.title(&key)).unwrap_or_default();
        let (mut row, ratio) = row(&key, title, &values, drift);
        if unlike {
            // What is summed up is not the same, so the sums say nothing of each other.
            row.truncate(5);
            row.extend(cells(["", "", "a sum of other phases"]));
        }
        rows.push(row);
        totals.extend(ratio.filter(|_| key.is_sum() && !unlike).map(|ratio| (key.to_string(), ratio)));
    }
    let head = [("A", a), ("B", b)].into_iter().flat_map(|(name, record)| side(name, record)).collect();
    (Table { head, rows, ..Table::new(columns()) }, totals)
}

/// Returns the phases that a total sums up.
fn parts<'a>(side: Figures<'a>, total: &FigureKey) -> Vec<&'a str> {
    side.leg(total)
        .map(|leg| leg.phases.iter().map(|phase| phase.name.as_str()).collect())
        .unwrap_or_default()
}

fn columns() -> Vec<Column> {
    vec![
        left("figure"),
        left("name"),
        left("unit"),
        right("A"),
        right("B"),
        right("A / B"),
        right("95 % interval"),
        left(""),
    ]
}

/// Returns the keys of A, then those that only B has; each total follows what it sums up.
fn keys(sides: [Figures; 2], metric: Metric) -> Vec<FigureKey> {
    let mut legs: Vec<&str> = Vec::new();
    for leg in sides.iter().flat_map(|side| &side.record.legs) {
        if !legs.contains(&leg.name.as_str()) {
            legs.push(&leg.name);
        }
    }
    let mut keys: Vec<FigureKey> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for name in legs {
        let of = |side: Figures| side.record.leg(name).map(|leg| side.keys(leg, metric)).unwrap_or_default();
        let all = sides.into_iter().flat_map(of).filter(|key| seen.insert(key.clone()));
        let (totals, parts): (Vec<_>, Vec<_>) = all.partition(FigureKey::is_sum);
        keys.extend(parts.into_iter().chain(totals));
    }
    keys.retain(|key| sides.iter().any(|side| side.cited(key).is_some()));
    keys
}

fn row(key: &FigureKey, title: &str, sides: &[Option<Values>; 2], drift: f64) -> (Vec<Text>, Option<Ratio>) {
    let text = |values: &Option<Values>| {
        values.as_ref().and_then(Values::median).map_or(String::new(), three_digits)
    };
    let both = sides[0].as_ref().zip(sides[1].as_ref());
    let ratio = both.and_then(|(a, b)| figure::ratio_apart(a, b));
    let interval = ratio.and_then(|ratio| ratio.interval);
    let coarse = both.is_some_and(|(a, b)| a.error().max(b.error()) > 0.0);
    let says = match (both, ratio, interval) {
        (None, ..) => Text::new("in one record only", Tone::Warning),
        (_, None, _) if coarse => Text::new("below the clock's resolution", Tone::Faint),
        (_, None, _) => Text::new("nothing to divide", Tone::Faint),
        (.., None) => Text::new("too few runs to tell", Tone::Faint),
        // A higher rate is a faster one.
        (.., Some(i)) if key.metric == Metric::Rate => word(1.0 / i.high, 1.0 / i.low, drift),
        (.., Some(i)) => word(i.low, i.high, drift),
    };
    let mut row = cells([
        key.to_string(),
        title.to_string(),
        key.kind().unit().to_string(),
        text(&sides[0]),
        text(&sides[1]),
        ratio.map_or(String::new(), |ratio| format!("{:.3}", ratio.value)),
        interval.map_or(String::new(), |i| format!("{:.3}–{:.3}", i.low, i.high)),
    ]);
    row.push(says);
    (row, ratio)
}

fn word(low: f64, high: f64, drift: f64) -> Text {
    match () {
        () if low > drift => Text::new("A slower", Tone::Bad),
        () if high < 1.0 / drift => Text::new("A faster", Tone::Good),
        () if low > 1.0 || high < 1.0 => Text::new("undecided: no more than drift", Tone::Warning),
        () => Text::from("no difference shown"),
    }
}

fn side(name: &str, record: &Record) -> Vec<Text> {
    let runs = record.legs.iter().map(|leg| leg.counted().len()).max().unwrap_or(0);
    let runs = stats::counted(runs as u64, "run");
    let mut lines = vec![format!("{name}: {runs} · {} · {}", record.started, head::parameters(record))];
    lines.extend(head::engines(record).into_iter().map(|line| format!("{name}: {line}")));
    cells(lines)
}

fn notes(comparison: &Comparison, a: &Record, b: &Record, settings: &[String]) -> Vec<Text> {
    let Comparison { totals, other_work, drift, .. } = comparison;
    let mut notes = Vec::new();
    if !other_work.is_empty() {
        let line = format!("NOT THE SAME WORK: {}", other_work.join("; "));
        notes.push(Text::new(line, Tone::Bad));
    }
    if !settings.is_empty() {
        notes.push(Text::from(format!("what differs: {}", settings.join("; "))));
    }
    for (name, record) in [("A", a), ("B", b)] {
        let partial = record.partial.as_ref();
        notes.extend(partial.map(|why| Text::new(format!("{name} is partial: {why}"), Tone::Warning)));
    }
    let cpu = |record: &Record| record.host.as_ref().and_then(|host| host.cpu.model.clone());
    if cpu(a) != cpu(b) {
        notes.push("the records are from different machines, whose absolute times are not comparable".into());
    }
    let interleaved = "the sessions overlapped in time: both met the same machine".to_string();
    let apart = format!(
        "the runs were not interleaved: the machine may have drifted between the records by {:.0} %, and no smaller \
         difference is one",
        (drift - 1.0) * 100.0
    );
    notes.push(if *drift > 1.0 { apart } else { interleaved }.into());
    if totals.is_empty() {
        notes.push("there is no total to compare".into());
    }
    let (known, unknown): (Vec<_>, Vec<_>) = totals.iter().partition(|(_, ratio)| ratio.interval.is_some());
    notes.extend(known.iter().filter_map(|(name, ratio)| total_line(name, ratio, *drift)));
    if !unknown.is_empty() {
        let names: Vec<&str> = unknown.iter().map(|(name, _)| name.as_str()).collect();
        notes.push(Text::from(format!(
            "{}: too few runs for an interval (each record needs at least {})",
            names.join(", "),
            stats::FEWEST_RUNS
        )));
    }
    notes
}

fn total_line(name: &str, Ratio { value, interval }: &Ratio, drift: f64) -> Option<Text> {
    let Interval { low, high } = (*interval)?;
    let word = word(low, high, drift);
    // A ratio this far from 1, with an interval as wide, would have been shown.
    let least = ((value / low).max(high / value) * drift - 1.0) * 100.0;
    let line = format!(
        "{name}: A / B is {value:.3}, 95 % interval {low:.3} to {high:.3}: {word} (the smallest difference that would \
         have shown is {least:.1} %)"
    );
    Some(Text::new(line, word.tone))
}

#[cfg(test)]
mod tests;
