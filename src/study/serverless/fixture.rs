//! Records for tests of what is derived from them.

use super::{Exchange, SHAPE};
use crate::figure::{Figures, Shape};
use crate::record::{Answer, Detail, Engine, Leg, Measure, Phase, Plan, Record, Resources, Run, Sample};

/// Returns the shape of these records.
pub fn shape() -> &'static Shape {
    &SHAPE
}

/// Returns the figures of a record.
pub fn read(record: &Record) -> Figures<'_> {
    Figures::new(&SHAPE, record)
}

/// Returns a leg in which each step takes as long as `ms` says for the run; the server claims `own_ms` of it.
pub fn leg(name: &str, runs: u32, ms: impl Fn(&str, u32) -> f64, own_ms: Option<f64>) -> Leg {
    let exchange = own_ms.map(|ms| Exchange {
        server_ns: Some((ms * 1e6) as u64),
        client_cpu_ns: Some(200_000),
        ..Exchange::default()
    });
    let measure = |ms: f64| Measure {
        operations: Some(100),
        elapsed_ns: Some((ms * 1e6) as u64),
        detail: exchange.and_then(|exchange| Detail::of(&exchange)),
        ..Measure::default()
    };
    let phase = |step: &&str| Phase {
        name: step.to_string(),
        title: None,
        samples: (1..=runs).map(|run| Sample { run, measure: measure(ms(step, run)) }).collect(),
    };
    let engine = Engine {
        sqlite_version: Some(if name == "embedded" { "3.53.1" } else { "3.45.1" }.to_string()),
        ..Engine::named(name)
    };
    Leg {
        answer: Answer::Right { found: "all".to_string() },
        runs: (1..=runs).map(run).collect(),
        phases: SHAPE.whole().unwrap().iter().map(phase).collect(),
        settings: [("foreign_keys".to_string(), u8::from(name != "embedded").to_string())].into(),
        ..Leg::new(name, engine)
    }
}

fn run(number: u32) -> Run {
    let resources = Resources {
        user_us: 600_000,
        system_us: 300_000,
        peak_memory_bytes: Some(36_000_000 + u64::from(number)),
        ..Resources::default()
    };
    Run {
        number,
        wall_ns: Some(1_000_000_000),
        resources: Some(resources),
        work: Some("abc".to_string()),
        ..Run::default()
    }
}

fn record(legs: Vec<Leg>) -> Record {
    Record { partial: None, legs, ..Record::beginning(SHAPE.name, Default::default(), Plan::default()) }
}

/// Returns a record in whose second run 80 ms pass through the server: 43 for streams, 20 for the server's own
/// time, 5 for the wire, and 12 for the rest. Each run takes 10 % of that longer than the
/// one before it.
pub fn whole(runs: u32) -> Record {
    let drift = |ms: f64| move |_: &str, run: u32| ms * (0.8 + 0.1 * f64::from(run));
    record(vec![
        leg("embedded", runs, drift(10.0), None),
        leg("sqld", runs, drift(80.0), Some(20.0)),
        leg("sqld-held", runs, drift(29.0), Some(12.0)),
        leg("sqld-batch", runs, drift(15.0), Some(9.0)),
        leg("floor", runs, drift(5.0), None),
    ])
}
