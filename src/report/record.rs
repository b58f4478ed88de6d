//! What any record shows before and after the tables of its study.

use super::head;
use super::table::{Table, Text, Tone, percent, seconds};
use crate::figure::{FigureKey, Figures, Metric, WHOLE};
use crate::record::{Leg, Run};
use crate::stats::{self, FEWEST_RUNS, Summary, summary};

/// Returns the tables of a study with the head and the notes of their record around them.
pub fn framed(figures: Figures, mut tables: Vec<Table>) -> Vec<Table> {
    if tables.is_empty() {
        tables.push(Table::default());
    }
    if let (Some(first), false) = (tables.first_mut(), figures.record.legs.is_empty()) {
        first.head.splice(0..0, head::head(figures.record));
    }
    if let Some(last) = tables.last_mut() {
        last.notes.extend(notes(figures));
    }
    tables
}

fn notes(figures: Figures) -> Vec<Text> {
    let partial = figures.record.partial.iter();
    let mut notes: Vec<Text> =
        partial.map(|failure| Text::new(format!("PARTIAL: {failure}"), Tone::Bad)).collect();
    let several = figures.record.legs.len() > 1;
    for leg in &figures.record.legs {
        let of = if several { format!("{} ", leg.name) } else { String::new() };
        notes.extend(total(figures).map(Text::from));
        notes.extend(memory(leg).map(Text::from));
        notes.extend(leg.runs.iter().flat_map(|run| of_run(&of, run)));
        notes.extend(outliers(figures, leg).into_iter().map(|note| Text::from(format!("{of}{note}"))));
        notes.extend(wrong_answers(leg));
    }
    notes
}

fn memory(leg: &Leg) -> Option<String> {
    let memory = leg.memory.as_ref()?;
    let mb = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    let peak = memory.peak_bytes.map_or(String::new(), |peak| format!(", peak use {}", mb(peak)));
    Some(format!("{}: memory limited to {} by {}{peak}", leg.name, mb(memory.limit_bytes), memory.mechanism))
}

fn of_run(of: &str, run: &Run) -> Vec<Text> {
    let rejected = run.rejected.iter();
    let rejected =
        rejected.map(|why| Text::new(format!("{of}run {} does not count: {why}", run.number), Tone::Warning));
    let flags = run.flags.iter().map(|flag| Text::from(format!("{of}run {}: {flag}", run.number)));
    rejected.chain(flags).collect()
}

fn wrong_answers(leg: &Leg) -> Vec<Text> {
    let wrong = |(phase, sample): (&str, &crate::record::Sample)| {
        let checks = sample.measure.checks.iter().filter(|check| !check.holds());
        let text = |check: &crate::record::Check| {
            format!("{} {phase}: WRONG: {} is {}, not {}", leg.name, check.what, check.found, check.expected)
        };
        checks.map(|check| Text::new(text(check), Tone::Bad)).collect::<Vec<_>>()
    };
    leg.all_samples().flat_map(wrong).collect()
}

/// Returns TOTAL with its interval, for a tool that prints TOTAL.
fn total(figures: Figures) -> Option<String> {
    let total = figures.cited(&FigureKey::row(WHOLE)).filter(|_| figures.shape.has_rows())?.summary()?;
    Some(match (total.interval, total.relative_half_width()) {
        (Some(i), Some(width)) => format!(
            "TOTAL {} s, 95 % interval {} to {} s (±{:.1} %), {} runs",
            seconds(total.median),
            seconds(i.low),
            seconds(i.high),
            width * 100.0,
            total.n
        ),
        _ => format!(
            "TOTAL {} s, {}: too few for an interval ({FEWEST_RUNS} are needed)",
            seconds(total.median),
            stats::counted(total.n as u64, "run")
        ),
    })
}

/// Formats the median and the interval of a summary, such as `12` and `11–14`; without an interval the second
/// is empty.
pub fn median_and_interval(summary: &Summary, digits: fn(f64) -> String) -> [String; 2] {
    let interval =
        summary.interval.map_or(String::new(), |i| format!("{}–{}", digits(i.low), digits(i.high)));
    [digits(summary.median), interval]
}

fn outliers(figures: Figures, leg: &Leg) -> Vec<String> {
    let (what, runs) = wholes(figures, leg);
    let times: Vec<f64> = runs.iter().map(|(_, ms)| *ms).collect();
    let Some(median) = stats::median(&times) else { return Vec::new() };
    let name = |index: usize| {
        let (run, ms) = runs[index];
        let (time, off) = (seconds(ms), percent(ms / median - 1.0));
        format!("run {} is an outlier: {what} {time} s ({off}); {}", run.number, likely_cause(run))
    };
    summary::outliers(&times).into_iter().map(name).collect()
}

/// Returns the time in ms of everything that a run did, for each counted run that did all of it, with the
/// name of that time.
fn wholes<'a>(figures: Figures, leg: &'a Leg) -> (&'static str, Vec<(&'a Run, f64)>) {
    let keyed = |run: u32, values: &crate::figure::Values| {
        values.runs().iter().find(|(number, _)| *number == run).map(|(_, ms)| *ms)
    };
    if figures.shape.has_rows() {
        let Some(totals) = figures.cited(&FigureKey::row(WHOLE)) else { return ("TOTAL", Vec::new()) };
        return (
            "TOTAL",
            leg.counted_runs().filter_map(|run| Some((run, keyed(run.number, &totals)?))).collect(),
        );
    }
    let of = |phase: &str| figures.observed(&FigureKey::new(&leg.name, phase, Metric::Time));
    let phases: Option<Vec<_>> = leg.phases.iter().map(|phase| of(&phase.name)).collect();
    let Some(phases) = phases else { return ("all phases", Vec::new()) };
    let sum = |run: u32| phases.iter().map(|values| keyed(run, values)).sum::<Option<f64>>();
    ("all phases", leg.counted_runs().filter_map(|run| Some((run, sum(run.number)?))).collect())
}

/// Returns what else happened during an outlying run.
fn likely_cause(run: &Run) -> String {
    let Some(noise) = &run.noise else { return "what else the machine did is not known".to_string() };
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
        "no cause is known".to_string()
    } else {
        format!("likely because {}", causes.join(", "))
    }
}
