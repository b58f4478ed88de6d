//! From the runs of legs to a record.

use super::Request;
use crate::command::speedtest1;
use crate::driver::serverless::{Facts, LegRun, Target};
use crate::driver::sqld::observe::Usage;
use crate::environment::{Host, disk, noise};
use crate::record::{
    self, Answer, BuildFacts, Engine, Leg, Origin, Phase, PhaseSample, Record, Resources, Run, Storage,
};
use crate::suite::serverless::{self, Leg as LegName};
use jiff::Timestamp;
use serde_json::Value;
use std::collections::BTreeMap;

/// A record without a run.
pub fn new_record(request: &Request) -> Record {
    let parameters = match serde_json::to_value(&request.parameters) {
        Ok(Value::Object(map)) => map.into_iter().collect(),
        _ => BTreeMap::new(),
    };
    Record {
        suite: serverless::SUITE.name.to_string(),
        program: speedtest1::program(),
        origin: Origin::Measured,
        started: Timestamp::now(),
        finished: None,
        partial: Some("under way, or ended by force".to_string()),
        parameters,
        plan: record::Plan {
            warmup: request.warmup,
            runs: request.runs,
            max_runs: request.runs,
            ..record::Plan::default()
        },
        host: Some(Host::capture(request.host_name)),
        before: Some(noise::Snapshot::take()),
        after: None,
        storage: Some(Storage {
            directory: request.folder.display().to_string(),
            filesystem: disk::filesystem_of(&request.folder),
        }),
        legs: Vec::new(),
        probes: Vec::new(),
    }
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
        let sample = PhaseSample { run: kept.number, measure };
        match leg.phases.iter_mut().find(|phase| phase.name == name) {
            Some(phase) => phase.samples.push(sample),
            None => leg.phases.push(Phase { name: name.to_string(), samples: vec![sample] }),
        }
    }
    leg.runs.push(kept);
}

fn new_leg(name: LegName, request: &Request) -> Leg {
    let own = match (&request.target, name) {
        (Target::Own(own), LegName::Sqld | LegName::SqldHeld | LegName::SqldBatch) => Some(&own.program),
        _ => None,
    };
    let build = own.map(|program| BuildFacts {
        pinned: program.pinned,
        origin: format!("{} ({})", program.path.display(), program.origin),
        sources: BTreeMap::new(),
        command: String::new(),
        compiler: String::new(),
        executable: program.sha256.clone(),
    });
    let engine = if name == LegName::Floor { "an echo over a WebSocket" } else { "unknown" };
    Leg {
        name: name.name().to_string(),
        engine: Engine {
            name: engine.to_string(),
            sqlite_version: None,
            source_id: None,
            build,
            compile_options: Vec::new(),
        },
        answer: Answer::NotChecked("no step has ended".to_string()),
        runs: Vec::new(),
        steps: Vec::new(),
        phases: Vec::new(),
        settings: BTreeMap::new(),
        memory: None,
    }
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
