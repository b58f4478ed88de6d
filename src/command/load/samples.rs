//! From what a process tells to a record.

use super::{Request, client_cores};
use crate::command::recording::Beginning;
use crate::command::server;
use crate::driver::cgroup::MemoryGroup;
use crate::driver::load::ServerUsage;
use crate::record::{self, Answer, Engine, Leg, Memory, Record, Resources, Run};
use crate::suite::load::LOST_WRITES;
use crate::suite::measure::Measure;
use std::collections::BTreeMap;

/// A record with its only leg, and nothing measured.
pub fn new_record(request: &Request) -> Record {
    let mut parameters = request.study.parameters();
    if request.fresh_server {
        parameters.insert("fresh_server".to_string(), true.into());
    }
    for (name, value) in [
        (
            "sqld_args",
            (!request.server.arguments.is_empty()).then(|| request.server.arguments.join(" ").into()),
        ),
        ("cpus", request.limits.cpus.map(Into::into)),
        ("memory_limit", request.limits.memory_limit.map(Into::into)),
    ] {
        parameters.extend(value.map(|value| (name.to_string(), value)));
    }
    let record = Beginning {
        suite: request.study.suite(),
        parameters,
        plan: record::Plan { runs: request.runs, max_runs: request.runs, ..record::Plan::default() },
        folder: Some(&request.server.folder),
        host_name: request.host_name,
    };
    Record { legs: vec![new_leg(request)], ..record.record() }
}

fn new_leg(request: &Request) -> Leg {
    let build = Some(server::built(&request.server.program));
    Leg::new(request.study.streams().leg(), Engine { build, ..Engine::named("sqld") })
}

/// What the server says of itself.
pub fn learn(
    record: &mut Record,
    build: String,
    sqlite_version: String,
    source_id: String,
    settings: BTreeMap<String, String>,
) {
    let leg = &mut record.legs[0];
    leg.engine.name = build;
    leg.engine.sqlite_version = Some(sqlite_version);
    leg.engine.source_id = Some(source_id);
    leg.settings = settings;
}

/// Adds what a level has measured.
pub fn keep(record: &mut Record, number: u32, phase: &str, measure: Measure) {
    let leg = &mut record.legs[0];
    judge(leg, phase, &measure);
    leg.add(number, phase, measure);
}

/// One wrong answer, or one lost write, of any level makes the leg's answers wrong, and stays.
fn judge(leg: &mut Leg, phase: &str, measure: &Measure) {
    if matches!(leg.answer, Answer::Wrong { .. }) {
        return;
    }
    match measure.checks.iter().rfind(|check| !check.holds()) {
        Some(check) => {
            let found = format!("{phase}: {}: {}", check.what, check.found);
            leg.answer = Answer::Wrong { found, expected: check.expected.clone() };
        }
        // Of a level that was cut short nobody has looked.
        None if !measure.checks.iter().any(|check| check.what == LOST_WRITES) => {}
        None => {
            let levels = leg.phases.iter().map(|phase| phase.samples.len()).sum::<usize>() + 1;
            leg.answer = Answer::Right(format!("every acknowledged write found, after {levels} levels"));
        }
    }
}

/// Resources of the server.
pub fn resources(usage: ServerUsage) -> Resources {
    Resources {
        user_us: usage.user_us,
        system_us: usage.system_us,
        peak_memory_bytes: Some(usage.peak_memory_bytes),
        ..Resources::default()
    }
}

/// A client that uses more of a core than this may be what limits the rate.
const BUSY_CLIENT: f64 = 0.3;

/// Adds the run, with remarks on its levels.
pub fn end(record: &mut Record, request: &Request, mut run: Run, group: Option<&MemoryGroup>) {
    let leg = &mut record.legs[0];
    for phase in &leg.phases {
        for sample in phase.samples.iter().filter(|sample| sample.run == run.number) {
            if let Some(cores) = client_cores(&sample.measure).filter(|cores| *cores > BUSY_CLIENT) {
                run.flags.push(format!(
                    "{}: each client used {:.0} % of a core, so that the clients may limit the rate",
                    phase.name,
                    cores * 100.0
                ));
            }
        }
    }
    if let Some((group, limit_bytes)) = group.zip(request.limits.memory_limit) {
        let usage = group.usage();
        leg.memory = Some(Memory {
            limit_bytes,
            mechanism: group.mechanism().to_string(),
            peak_bytes: usage.as_ref().and_then(|usage| usage.peak_bytes),
            limit_hits: usage.as_ref().and_then(|usage| usage.limit_hits),
        });
    }
    leg.runs.push(run);
}
