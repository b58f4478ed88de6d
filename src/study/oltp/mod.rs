//! The real-workload study (s13k.dev, 2026-05-09): one table, seven phases, a database in RAM and one larger
//! than RAM.

mod args;
mod data;
mod leg;
mod run;
mod tables;
mod work;

pub use args::{Leg, Parameters};
pub use work::Phase;

use super::{CatchSignals, PlanOption, Setting, Study, Task, Wishes};
use crate::figure::{Effect, Figures, Parameters as Written, Phases, Shape};
use crate::record::Record;
use crate::report::Table;
use crate::report::citation::Headline;
use anyhow::{Context, Result};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// The study `oltp`.
pub struct Oltp;

const NAME: &str = "oltp";

static SHAPE: LazyLock<Shape> = LazyLock::new(|| Shape {
    name: NAME,
    about: "a real workload through SQLite's C interface, in RAM and larger than RAM",
    legs: [Leg::InRam, Leg::DiskBound].map(Leg::name).to_vec(),
    phases: Phases::Named(Phase::ALL.map(Phase::name).to_vec()),
    counts: &["found", "not found", "updates", "inserts", "wrong ranges"],
    baseline: None,
    parameters: |written| super::all_parameters(written, Parameters::check),
    effect,
    asked_for: |_| None,
    shrinks: |_, _| true,
    tool: None,
});

fn effect(parameter: &str) -> Effect {
    match parameter {
        "seed" | "rows" | "payload" | "operations" | "batch" | "range" => Effect::Work,
        "scale" => Effect::Scale,
        "generator" => Effect::Nothing,
        _ => Effect::Setting,
    }
}

/// What only this study measures in a phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Detail {
    /// The time of the loop around each operation in ns; there arguments are made and results are recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loop_ns: Option<f64>,
    /// The size of the database after the phase, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database_bytes: Option<u64>,
    /// The size of the write-ahead log after the phase, before the checkpoint that follows, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wal_bytes: Option<u64>,
    /// The number of pages that this checkpoint copied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpointed_pages: Option<u32>,
    /// The number of bytes read from the disk during the phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_bytes: Option<u64>,
    /// The number of page faults during the phase that needed the disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub major_faults: Option<u64>,
}

impl Study for Oltp {
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
        let default = args::Options::default();
        let options = args::Options {
            parameters,
            runs: wishes.plan.runs.unwrap_or(default.runs),
            deadline: wishes.plan.deadline.unwrap_or(default.deadline),
            dir: wishes.temp_dir.clone(),
            ..default
        };
        Ok(Box::new(run::Measurement::new(options, setting)?))
    }

    fn takes(&self) -> &'static [PlanOption] {
        &[PlanOption::Runs, PlanOption::Deadline, PlanOption::TempDir, PlanOption::Scale]
    }

    fn leg(&self, job: &str, _: CatchSignals) -> Result<()> {
        let job = serde_json::from_str(job).context("the job of a leg")?;
        leg::run(&job, &mut |event| super::process::tell(event))
    }

    fn tables(&self, figures: Figures) -> Vec<Table> {
        tables::tables(figures)
    }

    fn headline(&self, _: Figures) -> Result<Headline, String> {
        Err(format!("{NAME} has no single figure to cite; cite one phase with its interval"))
    }

    fn check(&self, record: &Record) -> Result<(), String> {
        super::check_details::<Detail>(record)
    }

    fn engines(&self) -> Vec<String> {
        let bundled = crate::instrument::engine::Engine::bundled();
        let (version, source) = (bundled.version(), bundled.source_id());
        vec![format!("bundled       SQLite {version} ({source}); others with --engine")]
    }
}
