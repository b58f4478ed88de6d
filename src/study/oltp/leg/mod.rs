//! Runs one leg of the real-workload study. It runs in a process of its own, so that a memory limit applies
//! to it alone; [`Job`] and [`Event`] are passed between that process and the one that started it.

mod checks;
mod phases;
mod process;
mod session;

pub use process::run;

use super::args::LegPlan;
use super::work::Phase;
use crate::record::Measure;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What the process is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// The numbers of the leg.
    pub plan: LegPlan,
    /// The database, which is created if it does not exist and is used as it is if it does.
    pub database: PathBuf,
    /// A library with SQLite's C interface; the bundled SQLite when absent.
    pub engine: Option<PathBuf>,
}

/// An event that the process reports, as one line of JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Event {
    /// The database is open.
    Opened {
        sqlite_version: String,
        source_id: String,
        compile_options: Vec<String>,
        pragmas: BTreeMap<String, String>,
    },
    /// A phase has begun.
    Began { phase: Phase },
    /// A phase has ended.
    Ended { phase: Phase, measure: Box<Measure> },
    /// The leg has failed and ends here.
    Failed { message: String },
}
