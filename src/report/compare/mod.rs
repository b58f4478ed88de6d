//! Compares two records side by side.

use super::head;
use super::table::{Column, Table, Text, Tone, cells, left, right, three_digits};
use crate::figure::{self, FigureKey, Figures, Metric, Shape, Values};
use crate::record::Record;
use crate::stats::{self, Interval, Ratio, ranksum};
use crate::verify::noise::Noise;
use std::collections::HashSet;

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
    /// By which factor the machine may have drifted between the records, or been slowed by what else it did: 1 if their
    /// sessions overlapped and it was quiet.
    pub drift: f64,
    /// What the noise of A and of B was, if there was some.
    noise: Vec<Option<String>>,
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
    let noise = [a, b].map(|record| Noise::of(record, shape).filter(|noise| noise.factor() > 1.0));
    let noisy = noise.iter().flatten().map(Noise::factor).fold(1.0, f64::max);
    let drift = if overlap(a, b) { noisy } else { DRIFT.max(noisy) };
    let (table, totals) = figures(shape, a, b, drift);
    let noise = noise.iter().map(|noise| noise.as_ref().map(Noise::in_words)).collect();
    let mut comparison = Comparison { totals, table, other_work, drift, noise };
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
    let keys = keys(sides, metric);
    let significant = significant(sides, &keys);
    for key in keys {
        let unlike = key.is_sum() && parts(sides[0], &key) != parts(sides[1], &key);
        let values = finer(sides, &key);
        let title = sides.iter().find_map(|side| side.title(&key)).unwrap_or_default();
        let (mut row, ratio) = row(&key, title, &values, drift, significant.contains(&key));
        if unlike {
            // What is summed up is not the same, so the sums say nothing of each other.
            row.truncate(5);
            row.extend(cells(["", "", "", "a sum of other phases"]));
        }
        rows.push(row);
        totals.extend(ratio.filter(|_| key.is_sum() && !unlike).map(|ratio| (key.to_string(), ratio)));
    }
    let head = [("A", a), ("B", b)].into_iter().flat_map(|(name, record)| side(name, record)).collect();
    (Table { head, rows, ..Table::new(columns()) }, totals)
}

/// The largest error of a time as a fraction of it above which finer times are looked for.
const COARSEST: f64 = 0.01;

/// Returns the values of both sides: what the tool printed, or where that is too coarse and both sides have them, the
/// times that were observed from outside.
fn finer(sides: [Figures; 2], key: &FigureKey) -> [Option<Values>; 2] {
    let cited = sides.map(|side| side.cited(key));
    let coarse = |values: &Option<Values>| {
        values.as_ref().is_some_and(|v| v.error() > COARSEST * v.median().unwrap_or_default())
    };
    let finest = sides.map(|side| side.finest(key));
    let fine = finest.iter().all(|values| values.as_ref().is_some_and(|values| values.error() == 0.0));
    if cited.iter().any(coarse) && fine { finest } else { cited }
}

/// The chance that one of the rows is called different though none is.
const FAMILY_LEVEL: f64 = 0.05;

/// Returns the keys of the parts whose samples differ, corrected for the number of parts; totals are no part of this
/// family.
fn significant(sides: [Figures; 2], keys: &[FigureKey]) -> HashSet<FigureKey> {
    let samples = |values: &Values| values.runs().iter().map(|(_, value)| *value).collect::<Vec<f64>>();
    let tested = keys.iter().filter(|key| !key.is_sum()).filter_map(|key| {
        let [a, b] = finer(sides, key);
        Some((key, ranksum::p_value(&samples(&a?), &samples(&b?))?))
    });
    let (keys, p_values): (Vec<&FigureKey>, Vec<f64>) = tested.unzip();
    let found = ranksum::holm(&p_values, FAMILY_LEVEL);
    keys.into_iter().zip(found).filter(|(_, found)| *found).map(|(key, _)| key.clone()).collect()
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
        right("would show"),
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
    let mut seen = HashSet::new();
    for name in legs {
        let of = |side: Figures| side.record.leg(name).map(|leg| side.keys(leg, metric)).unwrap_or_default();
        let all = sides.into_iter().flat_map(of).filter(|key| seen.insert(key.clone()));
        let (totals, parts): (Vec<_>, Vec<_>) = all.partition(FigureKey::is_sum);
        keys.extend(parts.into_iter().chain(totals));
    }
    keys.retain(|key| sides.iter().any(|side| side.cited(key).is_some()));
    keys
}

fn row(
    key: &FigureKey,
    title: &str,
    sides: &[Option<Values>; 2],
    drift: f64,
    significant: bool,
) -> (Vec<Text>, Option<Ratio>) {
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
    // One of many rows differs by chance; a total stands for itself.
    let chance = matches!(says.tone, Tone::Good | Tone::Bad) && !significant && !key.is_sum();
    let says = if chance { Text::new("undecided: may be chance among so many", Tone::Warning) } else { says };
    let observed = both.is_some_and(|(a, _)| a.error() == 0.0) && key.leg.is_none();
    let mut row = cells([
        key.to_string(),
        title.to_string(),
        format!("{}{}", key.kind().unit(), if observed { " (observed)" } else { "" }),
        text(&sides[0]),
        text(&sides[1]),
        ratio.map_or(String::new(), |ratio| format!("{:.3}", ratio.value)),
        interval.map_or(String::new(), |i| format!("{:.3}–{:.3}", i.low, i.high)),
        ratio.and_then(|ratio| least(&ratio, drift)).map_or(String::new(), |least| format!("{least:.0} %")),
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
    for (name, noise) in ["A", "B"].into_iter().zip(&comparison.noise) {
        let line = |noise| format!("noise of {name}: {noise}; no smaller difference is one");
        notes.extend(noise.as_ref().map(|noise| Text::new(line(noise), Tone::Warning)));
    }
    let interleaved = "the sessions overlapped in time: both met the same machine".to_string();
    let apart = format!(
        "the runs were not interleaved: the machine may have drifted between the records by {:.0} %, and no smaller \
         difference is one",
        (drift - 1.0) * 100.0
    );
    notes.push(if overlap(a, b) { interleaved } else { apart }.into());
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

/// Returns the smallest difference in per cent that would have shown: a ratio this far from 1, with an interval as wide,
/// excludes 1 and what drift explains.
fn least(Ratio { value, interval }: &Ratio, drift: f64) -> Option<f64> {
    let Interval { low, high } = (*interval)?;
    Some(((value / low).max(high / value) * drift - 1.0) * 100.0)
}

fn total_line(name: &str, ratio: &Ratio, drift: f64) -> Option<Text> {
    let (Interval { low, high }, value) = (ratio.interval?, ratio.value);
    let word = word(low, high, drift);
    let least = least(ratio, drift)?;
    let line = format!(
        "{name}: A / B is {value:.3}, 95 % interval {low:.3} to {high:.3}: {word} (the smallest difference that would \
         have shown is {least:.1} %)"
    );
    Some(Text::new(line, word.tone))
}

#[cfg(test)]
mod tests;
