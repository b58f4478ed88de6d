//! The record of a measurement under way: in its file from the beginning to the end.

use super::{CannotMeasure, Exit, output};
use crate::cli::FormatArgs;
use crate::environment::{Host, disk, noise};
use crate::record::store::{Destination, Target};
use crate::record::{Answer, Origin, Plan, Program, Record, Storage};
use anyhow::Result;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A record that grows, and the file that always holds what there is.
pub struct Recording {
    /// The record.
    pub record: Record,
    target: Option<Target>,
}

/// What came of a measurement that began.
pub struct Measured {
    /// The samples, all or so far.
    pub record: Record,
    /// The file that holds them.
    pub path: Option<PathBuf>,
    /// Why it did not come to its end.
    pub failure: Option<anyhow::Error>,
}

/// What a record says before anything is measured.
pub struct Beginning<'a> {
    /// The suite.
    pub suite: &'static str,
    /// Its parameters.
    pub parameters: BTreeMap<String, Value>,
    /// How often it runs.
    pub plan: Plan,
    /// Where data is written; `None` when it is not.
    pub folder: Option<&'a Path>,
    /// Whether the record names the host.
    pub host_name: bool,
}

impl Beginning<'_> {
    /// A record without legs, partial until it is finished.
    pub fn record(self) -> Record {
        let storage = |folder: &Path| Storage {
            directory: folder.display().to_string(),
            filesystem: disk::filesystem_of(folder),
        };
        Record {
            suite: self.suite.to_string(),
            program: program(),
            origin: Origin::Measured,
            started: Timestamp::now(),
            finished: None,
            partial: Some("under way, or ended by force".to_string()),
            parameters: self.parameters,
            plan: self.plan,
            host: Some(Host::capture(self.host_name)),
            before: Some(noise::Snapshot::take()),
            after: None,
            storage: self.folder.map(storage),
            legs: Vec::new(),
            probes: Vec::new(),
        }
    }
}

/// This program, as it was called.
pub fn program() -> Program {
    Program {
        version: env!("CARGO_PKG_VERSION").to_string(),
        revision: env!("REPRO_REVISION").to_string(),
        command: std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect(),
    }
}

/// Parameters as a record holds them.
pub fn parameters(parameters: &impl Serialize) -> BTreeMap<String, Value> {
    match serde_json::to_value(parameters) {
        Ok(Value::Object(map)) => map.into_iter().collect(),
        _ => BTreeMap::new(),
    }
}

impl Measured {
    /// Shows the record, tells where it lies, and says how the program ends.
    ///
    /// # Errors
    /// What kept the measurement from its end, or a place that can't be written to.
    pub fn publish(self, formats: &FormatArgs) -> Result<Exit> {
        output::record(&self.record, formats)?;
        if let Some(path) = self.path {
            eprintln!("record: {}", path.display());
        }
        let wrong = self.record.legs.iter().any(|leg| matches!(leg.answer, Answer::Wrong { .. }));
        self.failure.map_or(Ok(if wrong { Exit::Differs } else { Exit::Fine }), Err)
    }
}

impl Recording {
    /// Makes the file.
    ///
    /// # Errors
    /// A place that can't be written to, or that is taken; nothing is left behind.
    pub fn begin(record: Record, destination: &Destination) -> Result<Recording> {
        let target = destination.begin(&record)?;
        Ok(Recording { record, target })
    }

    /// The file.
    pub fn path(&self) -> Option<&Path> {
        self.target.as_ref().map(Target::path)
    }

    /// Saves what there is.
    ///
    /// # Errors
    /// [`CannotMeasure`]: that it fails once the measurement has begun is no fault of the options.
    pub fn save(&self) -> Result<()> {
        let saved = self.target.as_ref().map_or(Ok(()), |target| target.save(&self.record));
        saved.map_err(|error| CannotMeasure(format!("{error:#}")).into())
    }

    /// Writes down how it ended.
    pub fn finish(mut self, result: Result<()>) -> Measured {
        self.record.finished = Some(Timestamp::now());
        self.record.after = Some(noise::Snapshot::take());
        self.record.partial = result.as_ref().err().map(|error| format!("{error:#}"));
        let failure = result.and(self.save()).err();
        let path = self.target.map(|target| target.path().to_path_buf());
        Measured { record: self.record, path, failure }
    }
}
