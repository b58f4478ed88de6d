//! In what two records differ: in the work, so that comparing them says nothing, or in what they may be compared for.

use crate::figure::{Effect, Shape, spelt};
use crate::record::{Answer, Leg, Record};
use serde_json::Value;
use std::collections::BTreeSet;

/// Returns what makes the work different, each with the values of both records; empty if it is the same. Versions, flags,
/// settings and machines do not, because they are what is compared.
pub(super) fn other(shape: &Shape, a: &Record, b: &Record) -> Vec<String> {
    if a.study != b.study {
        return vec![format!("the studies {} and {}", a.study, b.study)];
    }
    let mut other = parameters(shape, a, b, &[Effect::Work, Effect::Scale]);
    other.extend(renamed(a, b));
    other.extend(other_statements(a, b));
    other.extend([("A", a), ("B", b)].into_iter().flat_map(wrong_answers));
    other.extend(other_answers(a, b));
    other
}

/// Returns the other differences, which may explain a difference of times: settings, versions, flags, storage.
pub(super) fn settings(shape: &Shape, a: &Record, b: &Record) -> Vec<String> {
    let mut differences = parameters(shape, a, b, &[Effect::Setting, Effect::Machine, Effect::Length]);
    let version = |record: &Record| {
        let legs = record.legs.iter().filter_map(|leg| leg.engine.sqlite_version.clone());
        legs.collect::<BTreeSet<String>>().into_iter().collect::<Vec<_>>().join(" and ")
    };
    let build = |record: &Record| {
        let leg = record.legs.first()?;
        let compiler = leg.engine.build.as_ref().map_or("compiler not known", |build| &build.compiler);
        Some(format!("{compiler} {}", record.flags(leg)?.join(" ")))
    };
    let storage = |record: &Record| Some(record.storage.as_ref()?.filesystem.as_ref()?.kind.clone());
    let cpu = |record: &Record| {
        record
            .host
            .as_ref()
            .and_then(|host| host.cpu.model.clone())
            .or_else(|| record.stated()?.machine.clone())
    };
    let facts = [
        ("SQLite", Some(version(a)), Some(version(b))),
        ("build", build(a), build(b)),
        ("storage", storage(a), storage(b)),
        ("CPU", cpu(a), cpu(b)),
    ];
    let unlike = |(what, a, b): (&str, Option<String>, Option<String>)| {
        let word = |fact: Option<String>| fact.unwrap_or_else(|| "not known".to_string());
        (a != b).then(|| format!("{what}: {} and {}", word(a), word(b)))
    };
    differences.extend(facts.into_iter().filter_map(unlike));
    differences
}

fn parameters(shape: &Shape, a: &Record, b: &Record, effects: &[Effect]) -> Vec<String> {
    let names: BTreeSet<&String> = a.parameters.keys().chain(b.parameters.keys()).collect();
    let parameter = |name: &String| {
        let written = [a, b].map(|record| record.parameters.get(name));
        let unknown =
            [a, b].iter().zip(written).any(|(record, v)| !record.knows_every_parameter() && v.is_none());
        let [x, y] = written.map(|value| shape.plain(name, value));
        (effects.contains(&(shape.effect)(name)) && x != y && !unknown).then(|| {
            let text =
                |value: Option<Value>| value.map_or("its default".to_string(), |value| spelt(Some(&value)));
            format!("--{} {} and {}", name.replace('_', "-"), text(x), text(y))
        })
    };
    names.into_iter().filter_map(parameter).collect()
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

fn wrong_answers((name, record): (&str, &Record)) -> Vec<String> {
    let wrong = record.legs.iter().filter(|leg| leg.answer.is_wrong());
    wrong.map(|leg| format!("the answers of {} in {name} are wrong", leg.name)).collect()
}

/// Compares the answers of legs that both have; only those of the official tool and its kind are one text.
fn other_answers(a: &Record, b: &Record) -> Option<String> {
    let found = |leg: &Leg| match &leg.answer {
        Answer::Right { found } | Answer::Unknown { found } => Some(found.clone()),
        Answer::Wrong { .. } | Answer::NotChecked { .. } => None,
    };
    let unlike = |leg: &Leg| {
        let (a, b) = (found(leg)?, found(b.leg(&leg.name)?)?);
        (a != b).then(|| format!("the answers of {}: {a} and {b}", leg.name))
    };
    a.legs.iter().find_map(unlike)
}
