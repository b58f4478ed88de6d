//! Sentences that say what the figures amount to.

use super::parts::{PARTS, Split};
use super::times;
use crate::figure::{Figures, Metric, WHOLE};
use crate::record::{Leg, Record, Run};
use crate::report::head::groups;
use crate::report::table::{count, three_digits};
use crate::stats::median;
use std::collections::BTreeSet;

/// Says what takes most of the time, for all steps and for point lookups.
pub fn dominant(figures: Figures, splits: &[(&str, Split)]) -> Vec<String> {
    let of = |step: &str, label: &str| {
        let (_, split) = splits.iter().find(|(name, _)| *name == step)?;
        Some(sentence(figures, step, label, split))
    };
    [of(WHOLE, "all steps"), of("point-lookups", "point lookups")].into_iter().flatten().collect()
}

fn sentence(figures: Figures, step: &str, label: &str, split: &Split) -> String {
    let statements = split.statements.max(1);
    let each = |ms: f64| format!("{} ms", three_digits(ms / statements as f64));
    let mut sentence = format!("{label}: {} statements, {} each", count(statements), each(split.ms));
    let known = split.parts.iter().zip(PARTS).filter_map(|(ms, (_, name))| Some(((*ms)?, name)));
    if let Some((ms, name)) = known.max_by(|(a, _), (b, _)| a.total_cmp(b)) {
        sentence += &format!(", of which {name} {} ({:.0} %)", each(ms), ms / split.ms * 100.0);
    }
    let ratio = |leg| super::median(figures, leg, step, Metric::Ratio).map(times);
    if let Some(own) = ratio("sqld") {
        sentence += &match (ratio("sqld-held"), ratio("sqld-batch")) {
            (Some(held), Some(batch)) => {
                format!("; held streams would cost {held}× embedded instead of {own}×, batches {batch}×")
            }
            (Some(held), None) => format!("; held streams would cost {held}× embedded instead of {own}×"),
            (None, Some(batch)) => format!("; batches would cost {batch}× embedded instead of {own}×"),
            (None, None) => format!("; {own}× embedded"),
        };
    }
    sentence
}

/// Returns what a reader must know about the legs: versions, settings, statements, and what the server used.
pub fn facts(record: &Record) -> Vec<String> {
    let mut facts = vec![versions(record)];
    facts.extend(settings(record));
    facts.push(work(record));
    facts.extend(server(record));
    facts
}

fn versions(record: &Record) -> String {
    let told = groups(record, |leg| leg.engine.sqlite_version.clone().unwrap_or_default());
    match told.len() {
        0 => "the version of SQLite is not known for any leg".to_string(),
        1 => format!("SQLite {}", listed(told)),
        _ => format!("SQLite differs: {}; this may explain part of a ratio", listed(told)),
    }
}

/// Formats groups as `1 (a), 2 (b, c)`.
fn listed(groups: Vec<(Vec<&str>, String)>) -> String {
    let text = |(legs, text): (Vec<&str>, String)| format!("{text} ({})", legs.join(", "));
    groups.into_iter().map(text).collect::<Vec<_>>().join(", ")
}

/// Returns the settings that are not the same on all legs that reported them.
fn settings(record: &Record) -> Option<String> {
    let names: BTreeSet<&String> = record.legs.iter().flat_map(|leg| leg.settings.keys()).collect();
    let differing = |name: &String| {
        let told = groups(record, |leg| leg.settings.get(name).cloned().unwrap_or_default());
        (told.len() > 1).then(|| format!("{name} {}", listed(told)))
    };
    let list: Vec<String> = names.into_iter().filter_map(differing).collect();
    (!list.is_empty()).then(|| format!("settings differ: {}", list.join(" · ")))
}

fn work(record: &Record) -> String {
    let hashes = |leg: &Leg| -> BTreeSet<String> {
        leg.runs.iter().filter(|run| run.counts()).filter_map(|run| run.work.clone()).collect()
    };
    let all: BTreeSet<String> = record.legs.iter().flat_map(hashes).collect();
    let legs: Vec<&str> =
        record.legs.iter().filter(|leg| !hashes(leg).is_empty()).map(|leg| leg.name.as_str()).collect();
    match all.iter().collect::<Vec<_>>().as_slice() {
        [] => "statements: no counted run has their hash".to_string(),
        [hash] => format!("statements: the same in every run of {} (SHA-256 {hash})", legs.join(", ")),
        _ => format!("STATEMENTS DIFFER between runs of {}: {} hashes", legs.join(", "), all.len()),
    }
}

/// Returns the memory and CPU time of the servers that the program started.
fn server(record: &Record) -> Option<String> {
    let list: Vec<String> =
        record.legs.iter().filter_map(|leg| Some(format!("{} {}", leg.name, used(leg)?))).collect();
    (!list.is_empty()).then(|| format!("the server: {}", list.join(" · ")))
}

fn used(leg: &Leg) -> Option<String> {
    let counted = || leg.runs.iter().filter(|run| run.counts());
    let peak = counted().filter_map(|run| run.resources?.peak_memory_bytes).max()?;
    let share = |run: &Run| {
        let used = run.resources?;
        let wall = run.wall_ns.filter(|wall| *wall > 0)?;
        Some((used.user_us + used.system_us) as f64 * 1000.0 / wall as f64)
    };
    let share = median(&counted().filter_map(share).collect::<Vec<f64>>());
    let share = share.map_or(String::new(), |share| format!(", {:.0} % of a CPU", share * 100.0));
    Some(format!("at most {:.1} MB{share}", peak as f64 / 1e6))
}
