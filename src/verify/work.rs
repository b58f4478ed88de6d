//! Decides whether a record did the work of a reference.

use super::reference::Reference;
use super::verdict::WorkCheck;
use crate::figure::{Effect, spelt};
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
        checks.push(flags_check(&about.engine.flags, leg));
    }
    checks.extend(parameters(reference, record));
    let several = record.legs.len() > 1;
    checks.extend(record.legs.iter().map(|leg| answer(about.engine.answer.as_deref(), leg, several)));
    checks
}

fn flags_check(published: &[String], leg: &Leg) -> WorkCheck {
    let flags = leg.engine.build.as_ref().map(|build| compile_flags(&build.command).join(" "));
    let published: Vec<String> = compile_flags(&published.join(" "));
    WorkCheck::equal("compile flags", &published.join(" "), flags.as_ref())
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

/// Returns the flags of a compile command that change the code it produces, in alphabetical order.
fn compile_flags(command: &str) -> Vec<String> {
    let matters = |word: &&str| ["-O", "-D", "-m", "-f"].iter().any(|kind| word.starts_with(kind));
    // `-DX=1` is what the compiler makes of `-DX`.
    let plain =
        |word: &str| word.strip_suffix("=1").filter(|_| word.starts_with("-D")).unwrap_or(word).to_string();
    let mut flags: Vec<String> = command.split_whitespace().filter(matters).map(plain).collect();
    flags.sort();
    flags.dedup();
    flags
}

fn parameters(reference: &Reference, record: &Record) -> Vec<WorkCheck> {
    let published = &reference.parameters;
    let names: std::collections::BTreeSet<&String> =
        published.keys().chain(record.parameters.keys()).collect();
    let compare = |name: &String| {
        let (there, here) = (published.get(name), record.parameters.get(name));
        let effect = (reference.shape.effect)(name);
        // A saved output says nothing about most options.
        let unknown = record.imported.is_some() && here.is_none();
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
