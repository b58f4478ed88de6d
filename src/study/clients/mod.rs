//! Clients against one server (sqlitend): the sweep over numbers of clients, and the million statements.
//!
//! What the publication does not state (the table, the split of the sweep's mix, the lengths of ranges) has a
//! default here; the references list it.

mod args;
mod detail;
mod health;
mod leg;
mod mix;
mod run;
pub mod statements;
mod tables;

pub use args::{MillionParameters, Plan, Streams, SweepParameters};
pub use detail::{After, Detail, Evidence, KindMeasure, Outcomes, Probe, Second};
pub use health::{Judged, judge};
pub use mix::{Kind, Mix};

use super::{CatchSignals, PlanOption, Scale, Setting, Study, Task, Wishes};
use crate::figure::{Effect, Figures, Parameters, Phases, Shape};
use crate::record::Record;
use crate::report::Table;
use crate::report::citation::Headline;
use anyhow::{Context, Result, bail};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use std::sync::LazyLock;

/// The two studies, which differ only in their levels.
pub enum Clients {
    /// The study `sweep`, which varies the number of clients.
    Sweep,
    /// The study `million`, which runs a million statements.
    Million,
}

/// The name of the only phase of the million.
const MILLION_PHASE: &str = "million";
/// The prefix of the phases of the sweep.
const LEVEL: &str = "clients";
/// The name of the check of a level after which every acknowledged write was looked for.
const LOST_WRITES: &str = "acknowledged writes that are lost";

static SWEEP: LazyLock<Shape> = LazyLock::new(|| Shape {
    name: "sweep",
    about: "1 to 64 clients on one sqld, 30 % writes: where it collapses or wedges, and what avoids it",
    legs: Streams::ALL.map(Streams::leg).to_vec(),
    phases: Phases::Numbered(LEVEL),
    counts: &[],
    baseline: None,
    parameters: |written| super::all_parameters(written, SweepParameters::check),
    effect: |parameter| match parameter {
        "seconds" => Effect::Length,
        "clients" => Effect::Phases,
        other => effect(other),
    },
    asked_for: |parameters| {
        let levels = parameters.get("clients")?.as_array()?;
        Some(levels.iter().map(|clients| format!("{LEVEL}-{clients}")).collect())
    },
    shrinks: |_, _| true,
    tool: None,
});

static MILLION: LazyLock<Shape> = LazyLock::new(|| Shape {
    name: "million",
    about: "exactly a million statements of four clients on one sqld, 20 % writes",
    legs: Streams::ALL.map(Streams::leg).to_vec(),
    phases: Phases::Named(vec![MILLION_PHASE]),
    counts: &[],
    baseline: None,
    parameters: |written| super::all_parameters(written, MillionParameters::check),
    effect,
    asked_for: |_| None,
    shrinks: |_, _| true,
    tool: None,
});

fn effect(parameter: &str) -> Effect {
    match parameter {
        "seed" | "rows" => Effect::Work,
        "scale" => Effect::Scale,
        "cpus" | "memory_limit" => Effect::Machine,
        _ => Effect::Setting,
    }
}

impl Study for Clients {
    fn shape(&self) -> &'static Shape {
        match self {
            Clients::Sweep => &SWEEP,
            Clients::Million => &MILLION,
        }
    }

    fn options(&self, command: Command) -> Command {
        match self {
            Clients::Sweep => args::SweepOptions::augment_args(command),
            Clients::Million => args::MillionOptions::augment_args(command),
        }
    }

    fn asked(&self, matches: &ArgMatches, _: &Wishes, setting: &Setting) -> Result<Box<dyn Task>> {
        Ok(Box::new(match self {
            Clients::Sweep => run::Measurement::sweep(FromArgMatches::from_arg_matches(matches)?, setting)?,
            Clients::Million => {
                run::Measurement::million(FromArgMatches::from_arg_matches(matches)?, setting)?
            }
        }))
    }

    fn published(
        &self,
        parameters: &Parameters,
        wishes: &Wishes,
        setting: &Setting,
    ) -> Result<Box<dyn Task>> {
        let (server, limits) = (super::server::wished(wishes), args::LimitArgs::default());
        let measurement = match self {
            Clients::Sweep => {
                let parameters = shortened(super::from_parameters(parameters)?, wishes.scale)?;
                let options = args::SweepOptions { parameters, repeat: None, server, limits };
                run::Measurement::sweep(options, setting)?
            }
            Clients::Million => {
                let mut parameters: MillionParameters = super::from_parameters(parameters)?;
                parameters.scale = wishes.scale.unwrap_or(parameters.scale);
                run::Measurement::million(args::MillionOptions { parameters, server, limits }, setting)?
            }
        };
        Ok(Box::new(measurement.runs(wishes.plan.runs)))
    }

    fn takes(&self) -> &'static [PlanOption] {
        &[PlanOption::Runs, PlanOption::TempDir, PlanOption::Sqld, PlanOption::Scale]
    }

    fn leg(&self, job: &str, catch_signals: CatchSignals) -> Result<()> {
        let job = serde_json::from_str(job).context("the job of a leg")?;
        leg::run(&job, &catch_signals()?, &mut |event| super::process::tell(event))
    }

    fn tables(&self, figures: Figures) -> Vec<Table> {
        tables::tables(figures)
    }

    fn explains_verdicts(&self) -> bool {
        true
    }

    fn headline(&self, figures: Figures) -> Result<Headline, String> {
        Err(format!("{} has no single figure to cite; cite one phase with its interval", figures.shape.name))
    }

    fn check(&self, record: &Record) -> Result<(), String> {
        super::check_details::<Detail>(record)
    }

    fn explanations(&self) -> &'static [(&'static str, &'static str)] {
        match self {
            Clients::Sweep => &[("wedge", tables::wedge::TEXT)],
            Clients::Million => &[],
        }
    }
}

/// Returns the parameters of a sweep with its levels shortened to the scale.
fn shortened(mut parameters: SweepParameters, scale: Option<Scale>) -> Result<SweepParameters> {
    let (Some(scale), seconds) = (scale, parameters.seconds) else { return Ok(parameters) };
    if scale.of(seconds) == 1 && !scale.fits(seconds) {
        bail!("--scale {scale}: levels of {seconds} s can be shortened to 1/{seconds} at most");
    }
    parameters.seconds = scale.of(seconds);
    Ok(parameters)
}
