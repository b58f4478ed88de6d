//! The 15-step port of speedtest1 (sqlitend): the same SQL run embedded, and through sqld over a Hrana
//! WebSocket.
//!
//! What its publication does not state (the tables, the rows, the size of a range) was chosen so that the
//! work resembles what its figures allow; `reference/sqlitend-serverless.toml` lists it.

mod args;
#[cfg(test)]
pub(crate) mod fixture;
mod run;
pub mod side;
mod tables;
mod work;

pub use args::Parameters;

use super::{PlanOption, Setting, Study, Task, Wishes};
use crate::figure::{Effect, FigureKey, Figures, Metric, Parameters as Written, Phases, Shape, WHOLE};
use crate::record::Record;
use crate::report::Table;
use crate::report::citation::Headline;
use crate::report::head;
use crate::report::table::{seconds, three_digits};
use anyhow::Result;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// The study `serverless`.
pub struct Serverless;

const NAME: &str = "serverless";
/// The leg that ratios are taken to.
const BASELINE: Leg = Leg::Embedded;

static SHAPE: LazyLock<Shape> = LazyLock::new(|| Shape {
    name: NAME,
    about: "15 steps of SQL, embedded and through sqld over a Hrana WebSocket: what a server costs",
    legs: Leg::ALL.map(Leg::name).to_vec(),
    phases: Phases::Named(STEPS.map(|(name, _)| name).to_vec()),
    counts: &["busy repeats"],
    baseline: Some(BASELINE.name()),
    parameters: |written| super::all_parameters::<Parameters>(written, |_| Ok(())),
    effect,
    asked_for: |_| None,
    shrinks: |step, parameters| {
        super::from_parameters::<Parameters>(parameters)
            .is_ok_and(|parameters| work::full_count(step).is_some_and(|count| parameters.scale.fits(count)))
    },
    tool: None,
});

fn effect(parameter: &str) -> Effect {
    match parameter {
        "seed" => Effect::Work,
        "scale" => Effect::Scale,
        _ => Effect::Setting,
    }
}

/// The steps in the order in which they run, each with its short name and its name in publications.
pub const STEPS: [(&str, &str); 15] = [
    ("create-schema", "create schema + indexes"),
    ("insert-1", "insert 5,000 rows, 1 row/statement"),
    ("insert-10", "insert 5,000 rows, 10 rows/statement"),
    ("insert-100", "insert 5,000 rows, 100 rows/statement"),
    ("insert-1000", "insert 5,000 rows, 1,000 rows/statement"),
    ("insert-2000", "insert 2,000 rows, one statement"),
    ("update-primary-key", "update 1,000 rows via PK"),
    ("update-index", "update 2,000 rows via index"),
    ("delete-primary-key", "delete 500 rows via PK"),
    ("full-scan", "full-table scan (count + sum)"),
    ("point-lookups", "2,000 PK point lookups"),
    ("range-lookups", "2,000 indexed range lookups"),
    ("like-scan", "LIKE prefix scan"),
    ("insert-blobs", "insert 100 × 100 KB blobs"),
    ("read-blobs", "read back 50 blobs"),
];

/// The sides, in the order they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Leg {
    /// SQLite's C interface in this process
    Embedded,
    /// sqld with a Hrana stream for every statement, as published
    Sqld,
    /// sqld with one Hrana stream for all statements
    SqldHeld,
    /// sqld with up to a hundred statements per message, writes in one transaction
    SqldBatch,
    /// No SQL: an echo over a WebSocket with messages of the same sizes, one round trip per statement
    Floor,
}

impl Leg {
    /// All legs, in the order in which they run.
    pub const ALL: [Leg; 5] = [Leg::Embedded, Leg::Sqld, Leg::SqldHeld, Leg::SqldBatch, Leg::Floor];

    /// Returns the name used in records and references.
    pub const fn name(self) -> &'static str {
        match self {
            Leg::Embedded => "embedded",
            Leg::Sqld => "sqld",
            Leg::SqldHeld => "sqld-held",
            Leg::SqldBatch => "sqld-batch",
            Leg::Floor => "floor",
        }
    }
}

/// The traffic between a client and its server, and the time that it took on each side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// The time that the server says it took for the statements, in ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_ns: Option<u64>,
    /// The CPU time of the client, in ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_cpu_ns: Option<u64>,
    /// How often the client waited for the server.
    pub round_trips: u64,
    /// The bytes of the message bodies that were sent, without their frames.
    pub sent_bytes: u64,
    /// The bytes of the message bodies that were received, without their frames.
    pub received_bytes: u64,
}

impl Exchange {
    /// Returns the traffic since `before`.
    pub fn since(&self, before: &Exchange) -> Exchange {
        let difference = |now: Option<u64>, then: Option<u64>| now.zip(then).map(|(now, then)| now - then);
        Exchange {
            // A server that does not report its time leaves 0.
            server_ns: difference(self.server_ns, before.server_ns).filter(|ns| *ns > 0),
            client_cpu_ns: difference(self.client_cpu_ns, before.client_cpu_ns),
            round_trips: self.round_trips - before.round_trips,
            sent_bytes: self.sent_bytes - before.sent_bytes,
            received_bytes: self.received_bytes - before.received_bytes,
        }
    }
}

impl Study for Serverless {
    fn shape(&self) -> &'static Shape {
        &SHAPE
    }

    fn options(&self, command: Command) -> Command {
        args::Options::augment_args(command)
    }

    fn asked(&self, matches: &ArgMatches, _: &Wishes, setting: &Setting) -> Result<Box<dyn Task>> {
        let options = args::Options::from_arg_matches(matches)?;
        Ok(Box::new(run::Measurement::new(options, setting)?))
    }

    fn published(&self, parameters: &Written, wishes: &Wishes, setting: &Setting) -> Result<Box<dyn Task>> {
        let mut parameters: Parameters = super::from_parameters(parameters)?;
        parameters.scale = wishes.scale.unwrap_or(parameters.scale);
        let options = args::Options {
            parameters,
            runs: wishes.plan.runs,
            warmup: wishes.plan.warmup,
            server: super::server::wished(wishes),
            ..args::Options::default()
        };
        Ok(Box::new(run::Measurement::new(options, setting)?))
    }

    fn takes(&self) -> &'static [PlanOption] {
        use PlanOption::*;
        &[Runs, Warmup, TempDir, Sqld, Scale]
    }

    fn tables(&self, figures: Figures) -> Vec<Table> {
        tables::tables(figures)
    }

    fn explains_verdicts(&self) -> bool {
        true
    }

    fn headline(&self, figures: Figures) -> Result<Headline, String> {
        headline(figures)
            .ok_or_else(|| "no run of both sides counts, so there is no figure to cite".to_string())
    }

    fn check(&self, record: &Record) -> Result<(), String> {
        super::check_details::<Exchange>(record)
    }

    fn engines(&self) -> Vec<String> {
        vec![format!("sqld          {}", super::server::in_words())]
    }
}

/// Returns the cost of the first leg with a server over the baseline.
fn headline(figures: Figures) -> Option<Headline> {
    let record = figures.record;
    let sql = |name: &&str| record.leg(name).is_some_and(|leg| leg.engine.sqlite_version.is_some());
    let server =
        figures.shape.legs.iter().filter(|name| **name != BASELINE.name()).copied().find(|n| sql(n))?;
    let key = FigureKey::new(server, WHOLE, Metric::Ratio);
    let ratios = figures.cited(&key)?;
    let (ratio, interval) = ratios.estimate()?;
    let interval = interval.map_or("no interval".to_string(), |i| {
        format!("95 % interval {} to {}", three_digits(i.low), three_digits(i.high))
    });
    let time =
        |leg: &str| Some(seconds(figures.cited(&FigureKey::new(leg, WHOLE, Metric::Time))?.estimate()?.0));
    let engine = |name: &str| {
        let engine = &record.leg(name)?.engine;
        Some(format!("{}, SQLite {}", engine.name, engine.sqlite_version.as_deref().unwrap_or("unknown")))
    };
    let words = format!(
        "15 steps of SQL ({}), {server} over embedded: {}× (median of {} runs, {interval}; {} s against {} s); \
         {server}: {}; {}: {}",
        head::parameters(record),
        three_digits(ratio),
        ratios.runs().len(),
        time(server)?,
        time(BASELINE.name())?,
        engine(server)?,
        BASELINE.name(),
        engine(BASELINE.name())?
    );
    Some(Headline { key, words })
}
