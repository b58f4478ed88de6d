//! What a study is: what the rest of the program asks of it, and what studies share.
//!
//! A study is a folder here and a line in [`registry`]. Nothing outside its folder names it.

pub mod clients;
pub mod oltp;
pub mod options;
pub mod parse;
mod plan;
pub mod process;
pub mod progress;
pub mod registry;
mod scale;
mod server;
pub mod serverless;
pub mod session;
pub mod speedtest1;

pub use options::{PlanOption, Wishes};
pub use scale::Scale;
pub use session::{Measured, Session, Setting, Task};

use crate::figure::{Figures, Parameters, Shape};
use crate::record::{Detail, Record};
use crate::report::Table;
use crate::report::citation::Headline;
use anyhow::{Result, bail};
use clap::{ArgMatches, Command};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Everything that others ask of a study.
pub trait Study: Sync {
    /// Its name, legs, phases, baseline and parameters.
    fn shape(&self) -> &'static Shape;

    /// Adds its options to a command.
    fn options(&self, command: Command) -> Command;

    /// What the command line asks for, checked against the machine; `wishes` stand where it says nothing.
    ///
    /// # Errors
    /// The option that can't be, with what to do.
    fn asked(&self, matches: &ArgMatches, wishes: &Wishes, setting: &Setting) -> Result<Box<dyn Task>>;

    /// What a reference with these parameters asks for.
    ///
    /// # Errors
    /// As those of [`Study::asked`].
    fn published(&self, parameters: &Parameters, wishes: &Wishes, setting: &Setting)
    -> Result<Box<dyn Task>>;

    /// The options of a plan that have a meaning for it.
    fn takes(&self) -> &'static [PlanOption];

    /// How many counted runs it takes before anything can be said with an interval.
    fn runs_needed(&self) -> u32;

    /// Carries out one leg in a process of its own; `job` is what [`process::start`] was given.
    ///
    /// # Errors
    /// What keeps it from its end.
    fn leg(&self, job: &str, stop: &Arc<AtomicBool>) -> Result<()> {
        let _ = (job, stop);
        bail!("{} runs no leg in a process of its own", self.shape().name)
    }

    /// The tables of a record.
    fn tables(&self, figures: Figures) -> Vec<Table>;

    /// Whether its tables explain a verdict, and stand before it.
    fn explains_verdicts(&self) -> bool {
        false
    }

    /// The figure that a record is cited for.
    ///
    /// # Errors
    /// Why there is none, for a person.
    fn headline(&self, figures: Figures) -> Result<Headline, String>;

    /// Checks what only this study holds in a record.
    ///
    /// # Errors
    /// The phase or run whose detail is not one of this study.
    fn check(&self, record: &Record) -> Result<(), String>;

    /// What would be measured here, a line for each engine.
    fn engines(&self) -> Vec<String> {
        Vec::new()
    }

    /// Reads records from a saved output; `None` where this study has no output of its own.
    fn import(&self, name: &str, bytes: &[u8]) -> Option<Result<Vec<Record>>> {
        let _ = (name, bytes);
        None
    }

    /// What it can explain: a name and a text for each.
    fn explanations(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
}

/// Parameters as a record holds them.
fn as_parameters(parameters: &impl Serialize) -> Parameters {
    match serde_json::to_value(parameters) {
        Ok(Value::Object(map)) => map.into_iter().collect(),
        _ => Parameters::new(),
    }
}

/// Every parameter of a study, checked, from those that are written down.
///
/// # Errors
/// A parameter that the study does not have, or a value that can't be.
fn all_parameters<P: DeserializeOwned + Serialize>(
    written: &Value,
    check: impl FnOnce(&P) -> Result<(), String>,
) -> Result<Parameters, String> {
    let parameters: P = serde_path_to_error::deserialize(written).map_err(|error| error.to_string())?;
    check(&parameters)?;
    Ok(as_parameters(&parameters))
}

/// A study's own type, from the parameters of a reference that was checked before.
///
/// # Errors
/// As those of [`all_parameters`].
fn from_parameters<P: DeserializeOwned>(parameters: &Parameters) -> Result<P> {
    let written = Value::Object(parameters.clone().into_iter().collect());
    Ok(serde_json::from_value(written)?)
}

/// Checks that every detail of a record's measures is of this type.
///
/// # Errors
/// The phase and run whose detail is another one.
fn check_details<T: DeserializeOwned>(record: &Record) -> Result<(), String> {
    for leg in &record.legs {
        for (phase, sample) in leg.all_samples() {
            let read = sample.measure.detail.as_ref().map_or(Ok(()), |detail| detail.read::<T>().map(|_| ()));
            read.map_err(|error| format!("detail of {} {phase}, run {}: {error}", leg.name, sample.run))?;
        }
    }
    Ok(())
}

/// Checks that every detail of a record's runs is of this type.
///
/// # Errors
/// The run whose detail is another one.
fn check_details_of_runs<T: DeserializeOwned>(record: &Record) -> Result<(), String> {
    for run in record.legs.iter().flat_map(|leg| &leg.runs) {
        let read = run.detail.as_ref().map_or(Ok(()), |detail: &Detail| detail.read::<T>().map(|_| ()));
        read.map_err(|error| format!("detail of run {}: {error}", run.number))?;
    }
    Ok(())
}
