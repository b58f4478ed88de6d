//! What a study is: what the rest of the program asks of it, and what studies share.
//!
//! A study is a folder in this module and a line in [`registry`]. Nothing outside its folder names it.

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
use crate::record::{Detail, Record, Stated};
use crate::report::Table;
use crate::report::citation::Headline;
use anyhow::{Result, bail};
use clap::{ArgMatches, Command};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// From now on ^C, SIGTERM and SIGHUP raise the flag that is returned and do not end the process.
pub type CatchSignals = fn() -> Result<Arc<AtomicBool>>;

/// A saved output, and what the user states about it.
pub struct Saved<'a> {
    /// The file as the user named it.
    pub name: &'a str,
    /// The contents of the file.
    pub bytes: &'a [u8],
    /// What nothing in the file can confirm.
    pub stated: &'a Stated,
    /// The testsets that ran, which the file can contradict.
    pub testset: Option<&'a str>,
}

/// The interface through which the rest of the program uses a study.
pub trait Study: Sync {
    /// Returns the study's name, legs, phases, baseline and parameters.
    fn shape(&self) -> &'static Shape;

    /// Adds the study's options to a command.
    fn options(&self, command: Command) -> Command;

    /// Returns what the command line asks for, checked against the machine; `wishes` supply what it leaves
    /// open.
    ///
    /// # Errors
    /// Names the option that can't be satisfied, and says what to do.
    fn asked(&self, matches: &ArgMatches, wishes: &Wishes, setting: &Setting) -> Result<Box<dyn Task>>;

    /// Returns what a reference with these parameters asks for.
    ///
    /// # Errors
    /// Fails as [`Study::asked`] does.
    fn published(&self, parameters: &Parameters, wishes: &Wishes, setting: &Setting)
    -> Result<Box<dyn Task>>;

    /// Returns the options of a plan that are meaningful for the study.
    fn takes(&self) -> &'static [PlanOption];

    /// Carries out one leg in a process of its own; `job` is the text that [`process::start`] was given. A
    /// study that has something to put in order first takes the flag that `catch_signals` returns. Otherwise
    /// a signal ends the process at once.
    ///
    /// # Errors
    /// Says what kept the leg from finishing.
    fn leg(&self, job: &str, catch_signals: CatchSignals) -> Result<()> {
        let _ = (job, catch_signals);
        bail!("{} runs no leg in a process of its own", self.shape().name)
    }

    /// Returns the tables that show a record.
    fn tables(&self, figures: Figures) -> Vec<Table>;

    /// Returns whether the tables explain a verdict and so are printed before it.
    fn explains_verdicts(&self) -> bool {
        false
    }

    /// Returns the figure for which a record is cited.
    ///
    /// # Errors
    /// Says why there is none, in words for the user.
    fn headline(&self, figures: Figures) -> Result<Headline, String>;

    /// Checks the parts of a record that only this study writes.
    ///
    /// # Errors
    /// Names the phase or run whose detail is not one of this study.
    fn check(&self, record: &Record) -> Result<(), String>;

    /// Returns a description of what would be measured on this machine, one line for each engine.
    fn engines(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns an option in the spelling of this program if it is one in that of the study's own tool.
    fn in_our_spelling(&self, word: &str) -> Option<String> {
        let _ = word;
        None
    }

    /// Reads records from a saved output; returns `None` if the study has no output format of its own.
    fn import(&self, saved: &Saved) -> Option<Result<Vec<Record>>> {
        let _ = saved;
        None
    }

    /// Returns the topics that the study can explain, each with a name and a text.
    fn explanations(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
}

/// Converts parameters to the form in which a record holds them.
fn as_parameters(parameters: &impl Serialize) -> Parameters {
    match serde_json::to_value(parameters) {
        Ok(Value::Object(map)) => map.into_iter().collect(),
        _ => Parameters::new(),
    }
}

/// Returns every parameter of a study, checked, from those that are written down.
///
/// # Errors
/// Names a parameter that the study does not have, or a value that is not allowed.
fn all_parameters<P: DeserializeOwned + Serialize>(
    written: &Value,
    check: impl FnOnce(&P) -> Result<(), String>,
) -> Result<Parameters, String> {
    let parameters: P = serde_path_to_error::deserialize(written).map_err(|error| error.to_string())?;
    check(&parameters)?;
    Ok(as_parameters(&parameters))
}

/// Reads a study's own type from the parameters of a reference, which were checked before.
///
/// # Errors
/// Fails as [`all_parameters`] does.
fn from_parameters<P: DeserializeOwned>(parameters: &Parameters) -> Result<P> {
    let written = Value::Object(parameters.clone().into_iter().collect());
    Ok(serde_json::from_value(written)?)
}

/// Checks that every detail of a record's measures is of this type.
///
/// # Errors
/// Names the phase and run whose detail is of another type.
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
/// Names the run whose detail is of another type.
fn check_details_of_runs<T: DeserializeOwned>(record: &Record) -> Result<(), String> {
    for run in record.legs.iter().flat_map(|leg| &leg.runs) {
        let read = run.detail.as_ref().map_or(Ok(()), |detail: &Detail| detail.read::<T>().map(|_| ()));
        read.map_err(|error| format!("detail of run {}: {error}", run.number))?;
    }
    Ok(())
}
