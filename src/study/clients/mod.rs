//! Clients against one server (sqlitend): the sweep over numbers of clients, and the million statements.
//!
//! What the publication does not state — the table, the split of the sweep's mix, the lengths of ranges — has a
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

use super::{PlanOption, Setting, Study, Task, Wishes};
use crate::figure::{Effect, Figures, Parameters, Phases, Shape};
use crate::record::Record;
use crate::report::Table;
use crate::report::citation::Headline;
use anyhow::{Context, Result, bail};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};

/// The study of a sweep over numbers of clients.
pub struct Sweep;

/// The study of a million statements.
pub struct Million;

/// The only phase of the million.
const MILLION_PHASE: &str = "million";
/// What phases of the sweep begin with.
const LEVEL: &str = "clients";
/// The check of a level after which every acknowledged write was looked for.
const LOST_WRITES: &str = "acknowledged writes that are lost";

static SWEEP: LazyLock<Shape> = LazyLock::new(|| Shape {
    name: "sweep",
    about: "1 to 64 clients on one sqld, 30 % writes: where it collapses or wedges, and what avoids it",
    legs: Streams::ALL.map(Streams::leg).to_vec(),
    phases: Phases::Numbered(LEVEL),
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
});

static MILLION: LazyLock<Shape> = LazyLock::new(|| Shape {
    name: "million",
    about: "exactly a million statements of four clients on one sqld, 20 % writes",
    legs: Streams::ALL.map(Streams::leg).to_vec(),
    phases: Phases::Named(vec![MILLION_PHASE]),
    baseline: None,
    parameters: |written| super::all_parameters(written, MillionParameters::check),
    effect,
    asked_for: |_| None,
    shrinks: |_, _| true,
});

fn effect(parameter: &str) -> Effect {
    match parameter {
        "seed" | "rows" => Effect::Work,
        "scale" => Effect::Scale,
        "cpus" | "memory_limit" => Effect::Machine,
        _ => Effect::Setting,
    }
}

impl Study for Sweep {
    fn shape(&self) -> &'static Shape {
        &SWEEP
    }

    fn options(&self, command: Command) -> Command {
        args::SweepOptions::augment_args(command)
    }

    fn asked(&self, matches: &ArgMatches, _: &Wishes, setting: &Setting) -> Result<Box<dyn Task>> {
        let options = args::SweepOptions::from_arg_matches(matches)?;
        Ok(Box::new(run::Measurement::sweep(options, setting)?))
    }

    /// Of a sweep, the scale shortens the levels.
    fn published(
        &self,
        parameters: &Parameters,
        wishes: &Wishes,
        setting: &Setting,
    ) -> Result<Box<dyn Task>> {
        let mut parameters: SweepParameters = super::from_parameters(parameters)?;
        if let Some(scale) = wishes.scale {
            if !scale.fits(parameters.seconds) {
                bail!(
                    "--scale {scale}: a level of {} s can't be shortened so; a sweep takes a scale that leaves whole \
                     seconds, from 1/1 to 1/{}",
                    parameters.seconds,
                    parameters.seconds
                );
            }
            parameters.seconds = scale.of(parameters.seconds);
        }
        let options = args::SweepOptions {
            parameters,
            repeat: None,
            server: super::server::wished(wishes),
            limits: args::LimitArgs::default(),
        };
        Ok(Box::new(run::Measurement::sweep(options, setting)?.runs(wishes.plan.runs)))
    }

    fn takes(&self) -> &'static [PlanOption] {
        TAKES
    }

    fn runs_needed(&self) -> u32 {
        RUNS_NEEDED
    }

    fn leg(&self, job: &str, stop: &Arc<AtomicBool>) -> Result<()> {
        carry_out(job, stop)
    }

    fn tables(&self, figures: Figures) -> Vec<Table> {
        tables::tables(figures)
    }

    fn explains_verdicts(&self) -> bool {
        true
    }

    fn headline(&self, figures: Figures) -> Result<Headline, String> {
        Err(no_headline(figures))
    }

    fn check(&self, record: &Record) -> Result<(), String> {
        super::check_details::<Detail>(record)
    }

    fn explanations(&self) -> &'static [(&'static str, &'static str)] {
        &[("wedge", tables::wedge::TEXT)]
    }
}

impl Study for Million {
    fn shape(&self) -> &'static Shape {
        &MILLION
    }

    fn options(&self, command: Command) -> Command {
        args::MillionOptions::augment_args(command)
    }

    fn asked(&self, matches: &ArgMatches, _: &Wishes, setting: &Setting) -> Result<Box<dyn Task>> {
        let options = args::MillionOptions::from_arg_matches(matches)?;
        Ok(Box::new(run::Measurement::million(options, setting)?))
    }

    fn published(
        &self,
        parameters: &Parameters,
        wishes: &Wishes,
        setting: &Setting,
    ) -> Result<Box<dyn Task>> {
        let mut parameters: MillionParameters = super::from_parameters(parameters)?;
        parameters.scale = wishes.scale.unwrap_or(parameters.scale);
        let options = args::MillionOptions {
            parameters,
            server: super::server::wished(wishes),
            limits: args::LimitArgs::default(),
        };
        Ok(Box::new(run::Measurement::million(options, setting)?.runs(wishes.plan.runs)))
    }

    fn takes(&self) -> &'static [PlanOption] {
        TAKES
    }

    fn runs_needed(&self) -> u32 {
        RUNS_NEEDED
    }

    fn leg(&self, job: &str, stop: &Arc<AtomicBool>) -> Result<()> {
        carry_out(job, stop)
    }

    fn tables(&self, figures: Figures) -> Vec<Table> {
        tables::tables(figures)
    }

    fn explains_verdicts(&self) -> bool {
        true
    }

    fn headline(&self, figures: Figures) -> Result<Headline, String> {
        Err(no_headline(figures))
    }

    fn check(&self, record: &Record) -> Result<(), String> {
        super::check_details::<Detail>(record)
    }
}

const TAKES: &[PlanOption] = &[PlanOption::Runs, PlanOption::TempDir, PlanOption::Sqld, PlanOption::Scale];
/// The fewest with an interval.
const RUNS_NEEDED: u32 = 5;

fn carry_out(job: &str, stop: &Arc<AtomicBool>) -> Result<()> {
    let job = serde_json::from_str(job).context("the job of a leg")?;
    leg::run(&job, stop, &mut |event| super::process::tell(event))
}

fn no_headline(figures: Figures) -> String {
    format!("{} has no single figure to cite: name a phase, with its interval", figures.shape.name)
}
