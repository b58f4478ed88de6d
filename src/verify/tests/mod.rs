//! Tests of the judgement, on records that are written here.

mod claims;
mod extent;
mod figures;
mod keys;
mod load;
mod references;

use super::figure::FigureKey;
use super::reference::Reference;
use crate::record::{Answer, Engine, Leg, Origin, Phase, PhaseSample, Plan, Program, Record, Resources, Run};
use crate::suite::Suite;
use crate::record::Measure;
use jiff::Timestamp;
use std::path::Path;

fn key(text: &str) -> FigureKey {
    text.parse().unwrap()
}

/// A reference of the repository.
fn reference(name: &str) -> Reference {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("reference");
    Reference::load(&folder.join(name).with_extension("csv")).unwrap()
}

/// A record of `serverless` with these legs.
fn record(legs: Vec<Leg>) -> Record {
    let parameters = serde_json::to_value(crate::study::serverless::Parameters::default()).unwrap();
    Record {
        suite: "serverless".to_string(),
        program: Program { version: String::new(), revision: String::new(), command: Vec::new() },
        origin: Origin::Measured,
        started: Timestamp::UNIX_EPOCH,
        finished: Some(Timestamp::UNIX_EPOCH),
        partial: None,
        parameters: parameters.as_object().unwrap().clone().into_iter().collect(),
        plan: Plan::default(),
        host: None,
        before: None,
        after: None,
        storage: None,
        legs,
        probes: Vec::new(),
    }
}

/// A warm-up and `runs` counted runs of every phase, of which `ms` tells the time. The warm-up takes an hour.
fn leg(name: &str, runs: u32, ms: impl Fn(&str, u32) -> f64) -> Leg {
    let sample = |phase: &str, run| {
        let ms = if run == 1 { 3.6e6 } else { ms(phase, run) };
        PhaseSample { run, measure: measure(ms) }
    };
    let phase = |name: &str| Phase {
        name: name.to_string(),
        samples: (1..=runs + 1).map(|run| sample(name, run)).collect(),
    };
    let phases = Suite::named("serverless").unwrap().whole().unwrap();
    let engine = Engine {
        sqlite_version: Some(if name == "embedded" { "3.53.1" } else { "3.45.1" }.to_string()),
        ..Engine::named(name)
    };
    Leg {
        answer: Answer::Right("all".to_string()),
        runs: (1..=runs + 1).map(run).collect(),
        phases: phases.into_iter().map(phase).collect(),
        ..Leg::new(name, engine)
    }
}

fn run(number: u32) -> Run {
    Run {
        number,
        warmup: number == 1,
        rejected: None,
        flags: Vec::new(),
        total_ms: None,
        wall_ns: None,
        resources: Some(Resources { peak_memory_bytes: Some(30_000_000), ..Resources::default() }),
        noise: None,
        statistics: Default::default(),
        work: Some("abc".to_string()),
    }
}

fn measure(ms: f64) -> Measure {
    Measure { operations: 100, elapsed_ns: (ms * 1e6) as u64, busy: 2, ..Measure::default() }
}

/// What the publication says of a leg, or its ratio if that is all.
fn published_ms(leg: &str, phase: &str) -> f64 {
    let figures = reference("sqlitend-serverless").figures;
    let wanted = key(&format!("{leg}/{phase}/time"));
    figures.iter().find(|figure| figure.key == wanted).unwrap().value
}

/// A machine that is `factor` times as fast as the published one; five runs, which spread by 4 %.
fn machine(factor: f64) -> Record {
    let side = |name: &'static str| {
        leg(name, 5, move |phase, run| {
            (published_ms(name, phase) + 0.1) / factor * (0.98 + 0.01 * f64::from(run - 2))
        })
    };
    record(vec![side("embedded"), side("sqld")])
}
