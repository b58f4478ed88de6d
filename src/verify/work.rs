//! Decides whether a record did the work of a reference.

use super::reference::Reference;
use super::verdict::WorkCheck;
use crate::figure::{Effect, Figures, spelt};
use crate::record::{Answer, Leg, Record};

/// Returns whether both sides did the same work, condition by condition.
pub fn same_work(reference: &Reference, record: &Record, leg: &Leg) -> Vec<WorkCheck> {
    let about = &reference.about;
    let mut checks = vec![WorkCheck::equal("study", &about.study, Some(&record.study))];
    checks.push(version(about.engine.sqlite_version.as_ref(), record));
    if let Some(id) = &about.engine.source_id {
        checks.push(source_id(id, leg.engine.source_id.as_deref()));
    }
    if record.pinned() == Some(false) {
        // If the publication does not say what it measured, the pin does not say so either.
        let same = about.engine.sqlite_version.is_some().then_some(false);
        let detail = "the record's sources, or its server, are not the pinned ones".to_string();
        checks.push(WorkCheck { what: "sources".to_string(), same, decides: false, detail });
    }
    if !about.engine.flags.is_empty() {
        checks.push(flags_check(reference, record, leg));
    }
    checks.extend(parameters(reference, record));
    checks.extend(counts(reference, record));
    let several = record.legs.len() > 1;
    checks.extend(record.legs.iter().map(|leg| answer(about.engine.answer.as_deref(), leg, several)));
    checks
}

/// Finds a row whose name differs from the published one in its counts alone, such as 25000 INSERTs instead of 50000:
/// then the size was another, whatever the record says. A name with other words is another row, and judged as such.
fn counts(reference: &Reference, record: &Record) -> Option<WorkCheck> {
    if !reference.shape.has_rows() {
        return None;
    }
    let figures = Figures::new(reference.shape, record);
    let words = |name: &str| name.replace(|c: char| c.is_ascii_digit(), "");
    let rows = reference.figures.iter().filter(|figure| !figure.key.is_sum());
    let pairs: Vec<(&str, &str)> =
        rows.filter_map(|figure| Some((figure.step.as_str(), figures.title(&figure.key)?))).collect();
    let other = pairs.iter().find(|(published, here)| published != here && words(published) == words(here));
    let detail = match other {
        Some((published, here)) => format!("published `{published}`, here `{here}`"),
        None => format!("the same in {} rows", pairs.len()),
    };
    let what = "counts in the names of rows".to_string();
    (!pairs.is_empty()).then(|| WorkCheck { what, same: Some(other.is_none()), decides: true, detail })
}

fn flags_check(reference: &Reference, record: &Record, leg: &Leg) -> WorkCheck {
    let here = record.flags(leg).map(|flags| flags.join(" "));
    WorkCheck::equal("compile flags", &reference.about.engine.flags().join(" "), here.as_ref())
}

impl WorkCheck {
    fn equal(what: &str, published: &String, found: Option<&String>) -> WorkCheck {
        let detail = match found {
            Some(found) if found == published => found.clone(),
            Some(found) => format!("published {published}, here {found}"),
            None => format!("published {published}, not known for this record"),
        };
        WorkCheck {
            what: what.to_string(),
            same: found.map(|found| found == published),
            decides: true,
            detail,
        }
    }
}

/// Checks that every leg has the published version, if one is published.
fn version(published: Option<&String>, record: &Record) -> WorkCheck {
    let what = "SQLite version";
    let mut versions = record.legs.iter().map(|leg| leg.engine.sqlite_version.as_ref());
    let Some(published) = published else {
        let mut here: Vec<&str> = versions.flatten().map(String::as_str).collect();
        here.dedup();
        let here = if here.is_empty() { "not known for this record".to_string() } else { here.join(", ") };
        return WorkCheck {
            what: what.to_string(),
            same: None,
            decides: false,
            detail: format!("not published, here {here}"),
        };
    };
    let other = versions.find(|version| *version != Some(published));
    WorkCheck::equal(what, published, other.unwrap_or(Some(published)))
}

/// Compares source ids up to the length of the shorter one, because the tool prints only the first 48
/// characters.
fn source_id(published: &str, found: Option<&str>) -> WorkCheck {
    let what = "source id".to_string();
    match found {
        None => {
            WorkCheck { what, same: None, decides: true, detail: "not known for this record".to_string() }
        }
        Some(found) => {
            let same = found.starts_with(published) || published.starts_with(found);
            let detail =
                if same { found.to_string() } else { format!("published {published}, here {found}") };
            WorkCheck { what, same: Some(same), decides: true, detail }
        }
    }
}

fn parameters(reference: &Reference, record: &Record) -> Vec<WorkCheck> {
    let published = &reference.parameters;
    let names: std::collections::BTreeSet<&String> =
        published.keys().chain(record.parameters.keys()).collect();
    let compare = |name: &String| {
        let written = record.parameters.get(name);
        let unknown = !record.knows_every_parameter() && written.is_none();
        let here = reference.shape.plain(name, written);
        let (there, here) = (published.get(name), here.as_ref());
        let effect = (reference.shape.effect)(name);
        // The shape is preserved at another extent, though the size is not, and another machine does not make
        // the work different. Both are judged, but always with a remark.
        let remarked = there != here && (effect.is_extent() || effect == Effect::Machine);
        let same = (!unknown && !remarked).then_some(there == here);
        let detail = match same {
            Some(true) => spelt(here),
            None if unknown => format!("published {}, not known for this record", spelt(there)),
            _ if effect == Effect::Scale => {
                format!("published {}, here scaled down to {}", spelt(there), spelt(here))
            }
            _ => format!("published {}, here {}", spelt(there), spelt(here)),
        };
        WorkCheck { what: format!("--{name}"), same, decides: unknown && !effect.is_extent(), detail }
    };
    let matters = |name: &&&String| (reference.shape.effect)(name) != Effect::Nothing;
    names.iter().filter(matters).map(|name| compare(name)).collect()
}

fn answer(published: Option<&str>, leg: &Leg, several: bool) -> WorkCheck {
    let (same, detail) = match (&leg.answer, published) {
        (Answer::Wrong { found, expected }, _) => (Some(false), format!("{found}, expected {expected}")),
        (Answer::Right { found } | Answer::Unknown { found }, Some(published)) if found != published => {
            (Some(false), format!("published {published}, here {found}"))
        }
        (Answer::Right { found }, _) | (Answer::Unknown { found }, Some(_)) => (Some(true), found.clone()),
        (Answer::Unknown { found }, None) => {
            (None, format!("{found}; the right answer is not known for this work"))
        }
        (Answer::NotChecked { reason }, _) => (None, format!("not checked: {reason}")),
    };
    let what = if several { format!("answers of {}", leg.name) } else { "answers".to_string() };
    // Unchecked answers may be wrong; a leg that is not known to run SQL has none to check.
    let decides = matches!(leg.answer, Answer::NotChecked { .. }) && leg.engine.sqlite_version.is_some();
    WorkCheck { what, same, decides, detail }
}
