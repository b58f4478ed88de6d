//! The tables of a record: every testset and step, with intervals, and TOTAL; or every phase of its legs.

use super::table::{Table, left, ms, percent, right, seconds};
use super::{head, load, serverless};
use crate::record::{CLOCK_ERROR_MS, Leg, Phase, Record, Run, clock_error_of_sum};
use crate::stats::{self, Summary, summary};
use crate::suite::{self, measure::Measure};

/// The tables of a record; what there is to say before and after them stands in the first and the last.
pub fn tables(record: &Record) -> Vec<Table> {
    let mut tables = match record.legs.first() {
        None => vec![Table { head: Vec::new(), columns: Vec::new(), rows: Vec::new(), notes: Vec::new() }],
        Some(_) if record.suite == crate::suite::serverless::SUITE.name => serverless::tables(record),
        Some(_) if is_load(record) => vec![load::table(record)],
        Some(_) if record.legs.iter().any(|leg| !leg.phases.is_empty()) => vec![phases(record)],
        Some(leg) => vec![steps(leg)],
    };
    if let (Some(first), false) = (tables.first_mut(), record.legs.is_empty()) {
        first.head = head::head(record);
    }
    if let Some(last) = tables.last_mut() {
        last.notes.extend(notes(record));
    }
    tables
}

fn is_load(record: &Record) -> bool {
    [suite::load::SWEEP.name, suite::load::MILLION.name].contains(&record.suite.as_str())
}

/// The tables that explain a verdict, and stand before it: those of the suites with a server.
pub fn explanation(record: &Record) -> Vec<Table> {
    let has_server = |leg: &Leg| {
        leg.phases.iter().flat_map(|p| &p.samples).any(|sample| sample.measure.exchange.is_some())
    };
    let has_server = is_load(record) || record.legs.iter().any(has_server);
    if has_server { tables(record) } else { Vec::new() }
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

fn notes(record: &Record) -> Vec<String> {
    let mut notes: Vec<String> = record.partial.iter().map(|reason| format!("PARTIAL: {reason}")).collect();
    let several = record.legs.len() > 1;
    notes.extend(record.legs.iter().flat_map(|leg| leg_notes(leg, several)));
    notes
}

fn leg_notes(leg: &Leg, several: bool) -> Vec<String> {
    let of = if several { format!("{} ", leg.name) } else { String::new() };
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
        notes
            .extend(run.rejected.as_ref().map(|why| format!("{of}run {} does not count: {why}", run.number)));
        notes.extend(run.flags.iter().map(|flag| format!("{of}run {}: {flag}", run.number)));
    }
    notes.extend(outliers(leg).into_iter().map(|note| format!("{of}{note}")));
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
    let (what, runs) = wholes(leg);
    let times: Vec<f64> = runs.iter().map(|(_, ms)| *ms).collect();
    let Some(median) = stats::median(&times) else { return Vec::new() };
    let name = |index: usize| {
        let (run, ms) = runs[index];
        let (time, off) = (seconds(ms), percent(ms / median - 1.0));
        format!("run {} is an outlier: {what} {time} s ({off}); {}", run.number, likely_cause(run))
    };
    summary::outliers(&times).into_iter().map(name).collect()
}

/// The time of all that a run did, ms, for each counted run that did all of it.
fn wholes(leg: &Leg) -> (&'static str, Vec<(&Run, f64)>) {
    let counted = leg.runs.iter().filter(|run| run.counts());
    if leg.phases.is_empty() {
        return ("TOTAL", counted.filter_map(|run| Some((run, run.total_ms? as f64))).collect());
    }
    let of = |run: &Run| {
        let sample = |phase: &Phase| {
            phase.samples.iter().find(|s| s.run == run.number).map(|s| s.measure.elapsed_ns as f64 / 1e6)
        };
        leg.phases.iter().map(sample).sum::<Option<f64>>()
    };
    ("all phases", counted.filter_map(|run| Some((run, of(run)?))).collect())
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
