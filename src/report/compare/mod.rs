//! Compares two records side by side.

use super::head;
use super::table::{Column, Table, Text, Tone, cells, left, right, three_digits};
use crate::figure::{self, Effect, FigureKey, Figures, Metric, Shape, Values, spelt};
use crate::record::{Leg, Record};
use crate::stats::{self, Interval, Ratio};
use std::collections::BTreeSet;

/// The comparison of two records.
pub struct Comparison {
    /// The totals by name with their ratio A / B: `TOTAL`, or one for each leg.
    pub totals: Vec<(String, Ratio)>,
    /// The table of the figures.
    pub table: Table,
}

/// Compares everything that both records have; ratios are `a` / `b`. Both belong to the study with this
/// shape.
///
/// # Errors
/// Fails when the records are of different work, or when one has no counted runs.
pub fn compare(shape: &Shape, a: &Record, b: &Record) -> Result<Comparison, String> {
    if a.legs.is_empty() || b.legs.is_empty() {
        return Err("one of the records has no leg".to_string());
    }
    let counts = |record: &Record| record.legs.iter().any(|leg| !leg.counted().is_empty());
    if !counts(a) || !counts(b) {
        return Err("one of the records has no run that counts".to_string());
    }
    if let Some(differing) = differing_work(shape, a, b) {
        return Err(format!("the records did not measure the same work: {differing}"));
    }
    let (mut table, totals) = figures(shape, a, b);
    table.notes = notes(a, b, &totals);
    Ok(Comparison { totals, table })
}

/// Returns what makes the work different, if anything does. Versions, flags, settings and machines do not,
/// because they are what is compared.
fn differing_work(shape: &Shape, a: &Record, b: &Record) -> Option<String> {
    if a.study != b.study {
        return Some(format!("the studies {} and {}", a.study, b.study));
    }
    let names: BTreeSet<&String> = a.parameters.keys().chain(b.parameters.keys()).collect();
    let parameter = |name: &&String| {
        let [x, y] = [a, b].map(|record| record.parameters.get(*name));
        // A saved output does not give all parameters.
        let unknown = [(a, x), (b, y)].iter().any(|(record, v)| record.imported.is_some() && v.is_none());
        let matters = matches!((shape.effect)(name), Effect::Work | Effect::Scale);
        (matters && x != y && !unknown).then(|| {
            let text =
                |value: Option<_>| if value.is_none() { "its default".to_string() } else { spelt(value) };
            format!("--{name} {} and {}", text(x), text(y))
        })
    };
    names.iter().find_map(parameter).or_else(|| renamed(a, b)).or_else(|| other_statements(a, b))
}

fn renamed(a: &Record, b: &Record) -> Option<String> {
    let other = |leg: &Leg, phase: &str| b.leg(&leg.name)?.phase(phase)?.title.clone();
    let phases = a.legs.iter().flat_map(|leg| leg.phases.iter().map(move |phase| (leg, phase)));
    let mut renamed = phases.filter(|(leg, phase)| {
        other(leg, &phase.name).is_some_and(|other| phase.title.as_ref().is_some_and(|title| *title != other))
    });
    let (_, phase) = renamed.next()?;
    let title = phase.title.as_deref().unwrap_or_default();
    Some(format!("{} is called `{title}` in only one of them", phase.name))
}

fn other_statements(a: &Record, b: &Record) -> Option<String> {
    let differs = |leg: &&Leg| {
        let hashes = [Some(*leg), b.leg(&leg.name)].map(|leg| leg.map(hashes).unwrap_or_default());
        hashes.iter().all(|hashes| !hashes.is_empty()) && hashes[0] != hashes[1]
    };
    let leg = a.legs.iter().find(differs)?;
    Some(format!("leg {} ran different statements (their SHA-256 differs)", leg.name))
}

fn hashes(leg: &Leg) -> BTreeSet<&String> {
    leg.counted_runs().filter_map(|run| run.work.as_ref()).collect()
}

/// Returns the table of times, if the study has rows or a baseline, or else of rates; and the totals of the
/// legs that both have.
fn figures(shape: &Shape, a: &Record, b: &Record) -> (Table, Vec<(String, Ratio)>) {
    let metric = if shape.has_rows() || shape.baseline.is_some() { Metric::Time } else { Metric::Rate };
    let sides = [a, b].map(|record| Figures::new(shape, record));
    let mut rows = Vec::new();
    let mut totals = Vec::new();
    for key in keys(sides, metric) {
        let values = sides.map(|side| side.cited(&key));
        let title = sides.iter().find_map(|side| side.title(&key)).unwrap_or_default();
        let (row, ratio) = row(&key, title, &values);
        rows.push(row);
        totals.extend(ratio.filter(|_| key.is_sum()).map(|ratio| (key.to_string(), ratio)));
    }
    let head = [("A", a), ("B", b)].into_iter().flat_map(|(name, record)| side(name, record)).collect();
    (Table { head, rows, ..Table::new(columns()) }, totals)
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

fn row(key: &FigureKey, title: &str, sides: &[Option<Values>; 2]) -> (Vec<Text>, Option<Ratio>) {
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
        (.., Some(i)) if key.metric == Metric::Rate => word(1.0 / i.high, 1.0 / i.low),
        (.., Some(i)) => word(i.low, i.high),
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

fn word(low: f64, high: f64) -> Text {
    match () {
        () if low > 1.0 => Text::new("A slower", Tone::Bad),
        () if high < 1.0 => Text::new("A faster", Tone::Good),
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

fn notes(a: &Record, b: &Record, totals: &[(String, Ratio)]) -> Vec<Text> {
    let mut notes = Vec::new();
    for (name, record) in [("A", a), ("B", b)] {
        let partial = record.partial.as_ref();
        notes.extend(partial.map(|why| Text::new(format!("{name} is partial: {why}"), Tone::Warning)));
    }
    let cpu = |record: &Record| record.host.as_ref().and_then(|host| host.cpu.model.clone());
    if cpu(a) != cpu(b) {
        notes.push("the records are from different machines, whose absolute times are not comparable".into());
    }
    notes.push(
        "the runs were not interleaved: a drift of the machine between the records is not cancelled out"
            .into(),
    );
    if totals.is_empty() {
        notes.push("there is no total to compare".into());
    }
    let (known, unknown): (Vec<_>, Vec<_>) = totals.iter().partition(|(_, ratio)| ratio.interval.is_some());
    notes.extend(known.iter().filter_map(|(name, ratio)| total_line(name, ratio)));
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

fn total_line(name: &str, Ratio { value, interval }: &Ratio) -> Option<Text> {
    let Interval { low, high } = (*interval)?;
    let word = word(low, high);
    let line = format!("{name}: A / B is {value:.3}, 95 % interval {low:.3} to {high:.3}: {word}");
    Some(Text::new(line, word.tone))
}

#[cfg(test)]
mod tests;
