//! Divides the time of the leg `sqld` into four parts that add up to it exactly in every run.

use crate::record::{Leg, Measure, Record};
use crate::stats::median;
use crate::study::serverless::Exchange;

/// The parts in order: their headings, and their names in a sentence.
pub const PARTS: [(&str, &str); 4] = [
    ("wire", "the wire"),
    ("server", "the server's own time"),
    ("streams", "opening and closing streams"),
    ("rest", "the rest"),
];

/// The parts of one step of one run, or of several steps together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The number of statements that ran.
    pub statements: u64,
    /// The time of all statements, in ns.
    pub elapsed_ns: i64,
    /// The parts of that time in ns, in the order of [`PARTS`]; `None` where a leg that a part needs was not
    /// measured. The legs are timed one after the other, so a small part may come out negative.
    pub parts: [Option<i64>; 4],
    /// The CPU time of the client, in ns.
    pub client_cpu_ns: Option<i64>,
}

/// The same parts in milliseconds, as medians over the counted runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// The number of statements that ran.
    pub statements: u64,
    /// The time of all statements, in ms.
    pub ms: f64,
    /// The parts of that time in ms, in the order of [`PARTS`].
    pub parts: [Option<f64>; 4],
    /// The CPU time of the client, in ms.
    pub client_cpu: Option<f64>,
}

/// The legs from which the parts are calculated.
pub struct Sides<'a> {
    sqld: &'a Leg,
    held: Option<&'a Leg>,
    floor: Option<&'a Leg>,
}

impl<'a> Sides<'a> {
    /// Returns the legs of a record, or `None` if it lacks the leg `sqld`, whose time is divided.
    pub fn of(record: &'a Record) -> Option<Sides<'a>> {
        let leg = |name| record.leg(name);
        Some(Sides { sqld: leg("sqld")?, held: leg("sqld-held"), floor: leg("floor") })
    }

    /// Returns the medians of these steps taken together, over the counted runs that have all of them.
    pub fn split(&self, steps: &[&str]) -> Option<Split> {
        let runs = self.sqld.counted();
        let parts: Vec<Parts> = runs.iter().filter_map(|run| self.of_steps(steps, *run)).collect();
        let middle = |of: &dyn Fn(&Parts) -> Option<i64>| {
            median(&parts.iter().filter_map(of).map(|ns| ns as f64 / 1e6).collect::<Vec<f64>>())
        };
        Some(Split {
            statements: parts.first()?.statements,
            ms: middle(&|parts| Some(parts.elapsed_ns))?,
            parts: [0, 1, 2, 3].map(|part| middle(&|parts| parts.parts[part])),
            client_cpu: middle(&|parts| parts.client_cpu_ns),
        })
    }

    /// Returns the sums of these steps in one run, or `None` when one is missing.
    pub fn of_steps(&self, steps: &[&str], run: u32) -> Option<Parts> {
        let add = |a: Option<i64>, b: Option<i64>| Some(a? + b?);
        let sum = |a: Parts, b: Parts| Parts {
            statements: a.statements + b.statements,
            elapsed_ns: a.elapsed_ns + b.elapsed_ns,
            parts: [0, 1, 2, 3].map(|part| add(a.parts[part], b.parts[part])),
            client_cpu_ns: add(a.client_cpu_ns, b.client_cpu_ns),
        };
        let each = steps.iter().map(|step| self.of_step(step, run)).collect::<Option<Vec<Parts>>>()?;
        each.into_iter().reduce(sum)
    }

    fn of_step(&self, step: &str, run: u32) -> Option<Parts> {
        let sqld = measure(self.sqld, step, run)?;
        let outside = |measure: &Measure| Some(elapsed(measure)? - own(measure)?);
        let wire = self.floor.and_then(|leg| measure(leg, step, run)).and_then(elapsed);
        let held = self.held.and_then(|leg| measure(leg, step, run)).and_then(outside);
        let minus = |a: Option<i64>, b: Option<i64>| Some(a? - b?);
        Some(Parts {
            statements: sqld.operations?,
            elapsed_ns: elapsed(sqld)?,
            parts: [wire, own(sqld), minus(outside(sqld), held), minus(held, wire)],
            client_cpu_ns: exchange(sqld).and_then(|exchange| exchange.client_cpu_ns).map(|ns| ns as i64),
        })
    }

    /// Returns notes that say why parts are missing, and what the others mean.
    pub fn notes(&self, rows: &[Split]) -> Vec<String> {
        let mut notes = Vec::new();
        for (leg, name, parts) in [
            (self.held, "sqld-held", "the cost of streams and the rest are not known"),
            (self.floor, "floor", "the cost of the wire and the rest are not known"),
        ] {
            if leg.is_none() {
                notes.push(format!("without the leg {name}, {parts}"));
            }
        }
        if rows.iter().any(|split| split.parts[1].is_none()) {
            notes.push("the server did not say how long its statements took".to_string());
        }
        if rows.iter().flat_map(|split| split.parts).flatten().any(|ms| ms < 0.0) {
            notes.push("a negative part is noise: the legs are timed one after the other".to_string());
        }
        notes.extend(rows.last().and_then(unsteady));
        notes
    }
}

/// Returns a note if the medians of the parts are far from adding up; within each run they do.
fn unsteady(split: &Split) -> Option<String> {
    let share = split.parts.into_iter().sum::<Option<f64>>()? / split.ms;
    let text = || {
        format!(
            "the runs differ: medians of the parts add up to {:.0} % of the last row's time",
            share * 100.0
        )
    };
    ((share - 1.0).abs() > 0.05).then(text)
}

/// Returns what a counted run measured in a step.
fn measure<'a>(leg: &'a Leg, step: &str, run: u32) -> Option<&'a Measure> {
    leg.samples(step).into_iter().find(|sample| sample.run == run).map(|sample| &sample.measure)
}

fn elapsed(measure: &Measure) -> Option<i64> {
    measure.elapsed_ns.map(|ns| ns as i64)
}

fn exchange(measure: &Measure) -> Option<Exchange> {
    measure.detail()
}

/// Returns the time that the server says it took, in ns.
fn own(measure: &Measure) -> Option<i64> {
    Some(exchange(measure)?.server_ns? as i64)
}
