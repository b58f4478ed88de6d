//! A running measurement: its plan is carried out, and its record is in a file from beginning to end.

use super::progress::Progress;
use crate::machine::environment::Environment;
use crate::machine::{Host, disk, noise};
use crate::record::store::{Destination, Target};
use crate::record::{Failure, Record, Storage};
use anyhow::Result;
use jiff::Timestamp;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a measurement needs to know about its surroundings.
#[derive(Clone, Default)]
pub struct Setting {
    /// Whether progress is hidden.
    pub quiet: bool,
    /// Whether the record names the host.
    pub host_name: bool,
    /// Set from outside when the user wants the measurement to end.
    pub interrupted: Arc<AtomicBool>,
}

/// A checked measurement that is ready to run.
pub trait Task {
    /// Returns the record before anything is measured: parameters, plan and what is known about the legs.
    fn record(&self) -> Record;

    /// Returns the folder where data is written, or `None` when none is.
    fn folder(&self) -> Option<PathBuf>;

    /// Measures run by run, and saves the record after each.
    ///
    /// # Errors
    /// Says what kept the measurement from finishing; the record holds the samples so far.
    fn measure(&self, session: &mut Session) -> Result<()>;
}

/// The growing record of a measurement, with its progress display and interrupt flag.
pub struct Session {
    /// The record with the samples so far.
    pub record: Record,
    /// The progress display.
    pub progress: Progress,
    /// Set from outside when the user wants the measurement to end.
    pub interrupted: Arc<AtomicBool>,
    target: Option<Target>,
}

/// The result of a measurement that began.
pub struct Measured {
    /// The record, complete or partial.
    pub record: Record,
    /// The file that holds the record; `None` when none was asked for.
    pub path: Option<PathBuf>,
    /// Why the measurement did not finish; `None` when it did.
    pub failure: Option<anyhow::Error>,
}

/// Measures `task`. From beginning to end a record of the samples so far is in `destination`.
///
/// # Errors
/// Says what kept the measurement from beginning; then nothing is left behind.
pub fn measure(task: &dyn Task, setting: &Setting, destination: &Destination) -> Result<Measured> {
    let storage = |folder: PathBuf| Storage {
        directory: folder.display().to_string(),
        filesystem: disk::filesystem_of(&folder),
    };
    let record = Record {
        host: Some(Host::capture(setting.host_name)),
        environment: Some(Environment::capture()),
        before: Some(noise::Snapshot::take()),
        storage: task.folder().map(storage),
        ..task.record()
    };
    let target = destination.begin(&record)?;
    let progress = Progress::new(setting.quiet);
    let interrupted = Arc::clone(&setting.interrupted);
    let mut session = Session { record, progress, interrupted, target };
    let result = task.measure(&mut session);
    session.progress.clear();
    Ok(session.finish(result))
}

impl Session {
    /// Returns the path of the record file.
    pub fn path(&self) -> Option<&Path> {
        self.target.as_ref().map(Target::path)
    }

    /// Returns whether the user wants the measurement to end.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Saves the record so far.
    ///
    /// # Errors
    /// Returns a [`Failure`] and not a usage error: once the measurement has begun, the options are not at
    /// fault.
    pub fn save(&self) -> Result<()> {
        let saved = self.target.as_ref().map_or(Ok(()), |target| target.save(&self.record));
        saved.map_err(|error| Failure::in_error(&error).into())
    }

    /// Records how the measurement ended, and saves the record.
    fn finish(mut self, result: Result<()>) -> Measured {
        self.record.finished = Some(Timestamp::now());
        self.record.after = Some(noise::Snapshot::take());
        self.record.partial = result.as_ref().err().map(Failure::in_error);
        let failure = result.and(self.save()).err();
        let path = self.target.map(|target| target.path().to_path_buf());
        Measured { record: self.record, path, failure }
    }
}
