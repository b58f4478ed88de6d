//! The table of a record: every testset and step, with intervals, and TOTAL.

use super::table::{Table, left, ms, percent, right, seconds};
use crate::record::{Answer, CLOCK_ERROR_MS, Leg, Origin, Record, Run, clock_error_of_sum};
use crate::stats::{self, Summary, summary};
use crate::suite::measure::Measure;

/// The table of a record.
pub fn table(record: &Record) -> Table {
    let mut table = match record.legs.first() {
        None => Table { head: Vec::new(), columns: Vec::new(), rows: Vec::new(), notes: Vec::new() },
        Some(_) if record.legs.iter().any(|leg| !leg.phases.is_empty()) => phases(record),
        Some(leg) => steps(leg),
    };
    table.head = record.legs.first().map_or_else(Vec::new, |leg| head(record, leg));
    table.notes = notes(record);
    table
}

/// Timed lines under their testsets, and TOTAL.
fn steps(leg: &Leg) -> Table {
    let columns = vec![
        left("step"),
        left("name"),
        right("median ms"),
        right("95 % interval"),
        right("min"),
        right("max"),
        right("observed"),
    ];
    let mut rows = Vec::new();
    let mut testset = "";
    for step in &leg.steps {
        if step.key.testset != testset {
            testset = &step.key.testset;
            rows.push(testset_row(leg, testset));
        }
        let reported = Summary::of(&leg.reported(step), CLOCK_ERROR_MS);
        let observed = stats::median(&leg.observed(step));
        let observed = observed.map_or(String::new(), |value| format!("{value:.2}"));
        let number = step.key.to_string().replacen(testset, "", 1).trim_start_matches('/').to_string();
        rows.push(row(format!("  {number}"), step.name.clone(), reported, observed));
    }
    rows.push(row("TOTAL".to_string(), "all rows".to_string(), leg.total(), String::new()));
    Table { head: Vec::new(), columns, rows, notes: Vec::new() }
}

/// Phases under their legs: the first counted run of each; all of them are in the record.
fn phases(record: &Record) -> Table {
    let columns = vec![
        left("phase"),
        right("operations"),
        right("per second"),
        right("p50 µs"),
        right("p95"),
        right("p99"),
        right("p999"),
        right("max"),
        right("read MB"),
        right("WAL MB"),
        right("errors"),
    ];
    let mut rows = Vec::new();
    for leg in &record.legs {
        rows.push(vec![leg.name.clone()]);
        for phase in &leg.phases {
            rows.extend(leg.measures(&phase.name).first().map(|measure| phase_row(&phase.name, measure)));
        }
    }
    Table { head: Vec::new(), columns, rows, notes: Vec::new() }
}

fn phase_row(name: &str, measure: &Measure) -> Vec<String> {
    let us = |ns: u64| format!("{:.1}", ns as f64 / 1000.0);
    let mb = |bytes: u64| format!("{:.1}", bytes as f64 / 1e6);
    let latency = &measure.latency;
    vec![
        format!("  {name}"),
        measure.operations.to_string(),
        measure.rate().map_or(String::new(), |rate| format!("{rate:.0}")),
        us(latency.p50_ns),
        us(latency.p95_ns),
        us(latency.p99_ns),
        us(latency.p999_ns),
        us(latency.max_ns),
        measure.read_bytes.map_or(String::new(), mb),
        measure.wal_bytes.map_or(String::new(), mb),
        measure.errors.values().sum::<u64>().to_string(),
    ]
}

fn row(key: String, name: String, summary: Option<Summary>, observed: String) -> Vec<String> {
    let text = |value: Option<f64>| value.map_or(String::new(), ms);
    let interval =
        summary.and_then(|s| s.interval).map_or(String::new(), |i| format!("{}–{}", ms(i.low), ms(i.high)));
    let median = text(summary.map(|s| s.median));
    vec![key, name, median, interval, text(summary.map(|s| s.min)), text(summary.map(|s| s.max)), observed]
}

/// The sum of a testset's rows, run by run.
fn testset_row(leg: &Leg, testset: &str) -> Vec<String> {
    let steps: Vec<_> = leg.steps.iter().filter(|step| step.key.testset == testset).collect();
    let sum = |run: &u32| {
        let samples = steps.iter().flat_map(|step| &step.samples).filter(|sample| sample.run == *run);
        samples.map(|sample| sample.reported_ms as f64).sum::<f64>()
    };
    let sums: Vec<f64> = leg.counted().iter().map(sum).collect();
    let sum = Summary::of(&sums, clock_error_of_sum(steps.len()));
    row(testset.to_string(), format!("{} steps", steps.len()), sum, String::new())
}

fn head(record: &Record, leg: &Leg) -> Vec<String> {
    let unknown = || "unknown".to_string();
    let engine = &leg.engine;
    let pin = match (record.pinned(), engine.compile_options.is_empty()) {
        (Some(true), _) => "pinned",
        (Some(false), _) => "UNPINNED",
        (None, true) => "build unknown",
        (None, false) => "compile options in the record",
    };
    let mut head = vec![format!(
        "{} · SQLite {} ({}) · {pin}",
        engine.name,
        engine.sqlite_version.clone().unwrap_or_else(unknown),
        engine.source_id.clone().unwrap_or_else(unknown)
    )];
    if let Some(build) = &engine.build {
        head.push(format!("{} · {}", build.command, build.compiler));
    }
    let parameters: Vec<String> =
        record.parameters.iter().map(|(name, value)| format!("{name} {}", plain(value))).collect();
    head.push(parameters.join(" · "));
    if let Some(storage) = &record.storage {
        let filesystem =
            storage.filesystem.as_ref().map_or(unknown(), |f| format!("{}, {}", f.kind, f.options));
        head.push(format!("files in {} ({filesystem})", storage.directory));
    }
    if let Origin::Imported { file, lines } = &record.origin {
        head.push(format!("read from {file}, lines {} to {}", lines.0, lines.1));
    }
    let warmups = leg.runs.iter().filter(|run| run.warmup).count();
    head.push(format!(
        "{} counted runs after {warmups} warm-up · {}",
        leg.counted().len(),
        answer(&leg.answer)
    ));
    head
}

fn plain(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

fn answer(answer: &Answer) -> String {
    match answer {
        Answer::Right(hash) => format!("answers right ({hash})"),
        Answer::Wrong { found, expected } => format!("ANSWERS WRONG ({found}, expected {expected})"),
        Answer::Unknown(hash) => format!("answers not known for this work ({hash})"),
        Answer::NotChecked(reason) => format!("answers not checked: {reason}"),
    }
}

fn notes(record: &Record) -> Vec<String> {
    let mut notes: Vec<String> = record.partial.iter().map(|reason| format!("PARTIAL: {reason}")).collect();
    notes.extend(record.legs.iter().flat_map(leg_notes));
    notes
}

fn leg_notes(leg: &Leg) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(leg.total().map(|total| total_line(&total)));
    notes.extend(leg.memory.as_ref().map(|memory| {
        let peak = memory
            .peak_bytes
            .map_or(String::new(), |peak| format!(", at most {:.1} MB used", peak as f64 / 1e6));
        format!(
            "{}: {:.1} MB of memory by {}{peak}",
            leg.name,
            memory.limit_bytes as f64 / 1e6,
            memory.mechanism
        )
    }));
    for run in &leg.runs {
        notes.extend(run.rejected.as_ref().map(|why| format!("run {} does not count: {why}", run.number)));
        notes.extend(run.flags.iter().map(|flag| format!("run {}: {flag}", run.number)));
    }
    notes.extend(outliers(leg));
    for phase in &leg.phases {
        let checks =
            phase.samples.iter().flat_map(|sample| &sample.measure.checks).filter(|check| !check.holds());
        notes.extend(checks.map(|c| {
            format!("{} {}: WRONG: {} is {}, not {}", leg.name, phase.name, c.what, c.found, c.expected)
        }));
    }
    notes
}

fn total_line(total: &Summary) -> String {
    match (total.interval, total.relative_half_width()) {
        (Some(i), Some(width)) => format!(
            "TOTAL {} s, 95 % interval {} to {} s (±{:.1} %), {} runs",
            seconds(total.median),
            seconds(i.low),
            seconds(i.high),
            width * 100.0,
            total.n
        ),
        _ => format!(
            "TOTAL {} s, {} runs: too few for an interval (5 are needed)",
            seconds(total.median),
            total.n
        ),
    }
}

fn outliers(leg: &Leg) -> Vec<String> {
    let counted: Vec<&Run> = leg.runs.iter().filter(|run| run.counts() && run.total_ms.is_some()).collect();
    let totals = leg.totals();
    let Some(median) = stats::median(&totals) else { return Vec::new() };
    let name = |index: usize| {
        let run = counted[index];
        let off = totals[index] / median - 1.0;
        format!(
            "run {} is an outlier: TOTAL {} s ({}); {}",
            run.number,
            seconds(totals[index]),
            percent(off),
            likely_cause(run)
        )
    };
    summary::outliers(&totals).into_iter().map(name).collect()
}

/// What else happened during an outlying run.
fn likely_cause(run: &Run) -> String {
    let Some(noise) = &run.noise else { return "nothing is known of the machine then".to_string() };
    let wall = noise.wall_ms.unwrap_or(0).max(1) as f64;
    let mut causes = Vec::new();
    if let Some(steal) = noise.steal_ms.filter(|steal| *steal as f64 > 0.01 * wall) {
        causes.push(format!("the hypervisor took {steal} ms"));
    }
    if let Some(pressure) = noise.cpu_pressure_us.filter(|us| *us as f64 / 1000.0 > 0.02 * wall) {
        causes.push(format!("tasks waited {} ms for a CPU", pressure / 1000));
    }
    if let Some(pressure) = noise.io_pressure_us.filter(|us| *us as f64 / 1000.0 > 0.02 * wall) {
        causes.push(format!("tasks waited {} ms for a disk", pressure / 1000));
    }
    if noise.throttle_events.is_some_and(|events| events > 0) {
        causes.push("the CPU was throttled".to_string());
    }
    if run.number == 1 {
        causes.push("it was the first run".to_string());
    }
    if causes.is_empty() {
        "no cause was seen".to_string()
    } else {
        format!("likely because {}", causes.join(", "))
    }
}
