//! Tests of the judgement, on records that are made here.

mod claims;
mod clients;
mod extent;
mod factor;
mod figures;
mod grade;
mod keys;
mod noise;
mod power;
mod references;

use super::reference::{Reference, Text};
use crate::figure::{FigureKey, Figures};
use crate::record::{Answer, Engine, Leg, Measure, Phase, Plan, Record, Resources, Run, Sample};
use crate::study::registry;
use std::path::Path;

fn key(text: &str) -> FigureKey {
    text.parse().unwrap()
}

/// Reads a reference of the repository.
fn reference(name: &str) -> Reference {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("reference");
    let text = Text::read(&folder.join(name).with_extension("csv")).unwrap();
    Reference::parse(&text, registry::shape_of).unwrap()
}

/// Returns the figures of a record, read by the shape of its study.
fn read(record: &Record) -> Figures<'_> {
    Figures::new(registry::shape_of(&record.study).unwrap(), record)
}

/// Returns a record of `serverless` with these legs.
fn record(legs: Vec<Leg>) -> Record {
    let shape = registry::shape_of("serverless").unwrap();
    let parameters = (shape.parameters)(&serde_json::json!({})).unwrap();
    Record { partial: None, legs, ..Record::beginning(shape.name, parameters, Plan::default()) }
}

/// Returns a leg with a warm-up and `runs` counted runs of every phase, each as long as `ms` says. The
/// warm-up takes an hour.
fn leg(name: &str, runs: u32, ms: impl Fn(&str, u32) -> f64) -> Leg {
    let sample = |phase: &str, run| {
        let ms = if run == 1 { 3.6e6 } else { ms(phase, run) };
        Sample { run, measure: measure(ms) }
    };
    let phase = |name: &&str| Phase {
        name: name.to_string(),
        title: None,
        samples: (1..=runs + 1).map(|run| sample(name, run)).collect(),
    };
    let phases = registry::shape_of("serverless").unwrap().whole().unwrap();
    let engine = Engine {
        sqlite_version: Some(if name == "embedded" { "3.53.1" } else { "3.45.1" }.to_string()),
        ..Engine::named(name)
    };
    Leg {
        answer: Answer::Right { found: "all".to_string() },
        runs: (1..=runs + 1).map(run).collect(),
        phases: phases.iter().map(phase).collect(),
        ..Leg::new(name, engine)
    }
}

fn run(number: u32) -> Run {
    Run {
        number,
        warmup: number == 1,
        resources: Some(Resources { peak_memory_bytes: Some(30_000_000), ..Resources::default() }),
        work: Some("abc".to_string()),
        ..Run::default()
    }
}

fn measure(ms: f64) -> Measure {
    Measure {
        operations: Some(100),
        elapsed_ns: Some((ms * 1e6) as u64),
        busy: Some(2),
        busy_surfaced: Some(2),
        ..Measure::default()
    }
}

/// Returns the published time of a phase of a leg.
fn published_ms(leg: &str, phase: &str) -> f64 {
    let figures = reference("sqlitend-serverless").figures;
    let wanted = key(&format!("{leg}/{phase}/time"));
    figures.iter().find(|figure| figure.key == wanted).unwrap().value
}

/// Returns a record from a machine that is `factor` times as fast as the published one, with seven runs that
/// spread by 3 %.
fn machine(factor: f64) -> Record {
    let side = |name: &'static str| {
        leg(name, 7, move |phase, run| {
            (published_ms(name, phase) + 0.1) / factor * (0.97 + 0.01 * f64::from(run - 2))
        })
    };
    record(vec![side("embedded"), side("sqld")])
}
