//! From the runs of legs to a record.

use super::Request;
use crate::command::recording::{self, Beginning};
use crate::command::server;
use crate::driver::serverless::{Facts, LegRun, Target};
use crate::driver::sqld::observe::Usage;
use crate::record::{self, Answer, Engine, Leg, Record, Resources, Run};
use crate::suite::serverless::{self, Leg as LegName};

/// A record without a run.
pub fn new_record(request: &Request) -> Record {
    Beginning {
        suite: serverless::SUITE.name,
        parameters: recording::parameters(&request.parameters),
        plan: record::Plan {
            warmup: request.warmup,
            runs: request.runs,
            max_runs: request.runs,
            ..record::Plan::default()
        },
        folder: Some(&request.folder),
        host_name: request.host_name,
    }
    .record()
}

/// What a server of our own used in a run.
pub fn resources(usage: Usage) -> Resources {
    Resources {
        user_us: usage.user.as_micros() as u64,
        system_us: usage.system.as_micros() as u64,
        peak_memory_bytes: Some(usage.peak_memory_bytes),
        ..Resources::default()
    }
}

/// Adds a run to its leg.
pub fn keep(record: &mut Record, request: &Request, name: LegName, run: LegRun, kept: Run) {
    let index = record.legs.iter().position(|leg| leg.name == name.name()).unwrap_or_else(|| {
        record.legs.push(new_leg(name, request));
        record.legs.len() - 1
    });
    let leg = &mut record.legs[index];
    if let Some(facts) = run.facts {
        learn(leg, facts);
    }
    judge(leg, name, &run.steps);
    for (name, measure) in run.steps {
        leg.add(kept.number, name, measure);
    }
    leg.runs.push(kept);
}

fn new_leg(name: LegName, request: &Request) -> Leg {
    let own = match (&request.target, name) {
        (Target::Own(own), LegName::Sqld | LegName::SqldHeld | LegName::SqldBatch) => Some(&own.program),
        _ => None,
    };
    let engine = if name == LegName::Floor { "an echo over a WebSocket" } else { "unknown" };
    Leg::new(name.name(), Engine { build: own.map(server::built), ..Engine::named(engine) })
}

fn learn(leg: &mut Leg, facts: Facts) {
    let known = |text: String| Some(text).filter(|text| !text.is_empty());
    leg.engine.name = facts.name;
    leg.engine.sqlite_version = known(facts.sqlite_version);
    leg.engine.source_id = known(facts.source_id);
    leg.engine.compile_options = facts.compile_options;
    leg.settings = facts.settings;
}

/// One wrong answer of any run makes the leg's answers wrong, and stays.
fn judge(leg: &mut Leg, name: LegName, steps: &[(&str, crate::suite::measure::Measure)]) {
    if name == LegName::Floor {
        leg.answer = Answer::NotChecked("an echo answers nothing".to_string());
        return;
    }
    if matches!(leg.answer, Answer::Wrong { .. }) {
        return;
    }
    let checks =
        || steps.iter().flat_map(|(step, measure)| measure.checks.iter().map(move |check| (step, check)));
    // The check after the count of wrong answers shows the first of them.
    if let Some((step, check)) = checks().rfind(|(_, check)| !check.holds()) {
        let found = format!("{step}: {}: {}", check.what, check.found);
        leg.answer = Answer::Wrong { found, expected: check.expected.clone() };
    } else if checks().count() > 0 {
        let statements: u64 = steps.iter().map(|(_, measure)| measure.operations).sum();
        leg.answer = Answer::Right(format!("{statements} statements of {} steps", steps.len()));
    }
}
