//! A measurement under way: its plan carried out, its record in a file from the beginning to the end.

use super::progress::Progress;
use crate::machine::{Host, disk, noise};
use crate::record::store::{Destination, Target};
use crate::record::{Failure, Record, Storage};
use anyhow::Result;
use jiff::Timestamp;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a measurement needs to know of its surroundings.
#[derive(Clone, Default)]
pub struct Setting {
    /// Whether progress stays hidden.
    pub quiet: bool,
    /// Whether the record names the host.
    pub host_name: bool,
    /// Set from outside when the user wants it to end.
    pub interrupted: Arc<AtomicBool>,
}

/// What is to be measured, checked and ready.
pub trait Task {
    /// The record before anything is measured: parameters, plan and what is known of the legs.
    fn record(&self) -> Record;

    /// Where data is written; `None` when it is not.
    fn folder(&self) -> Option<PathBuf>;

    /// Makes ready what takes room, before the record begins.
    ///
    /// # Errors
    /// What keeps the measurement from beginning.
    fn prepare(&self) -> Result<()> {
        Ok(())
    }

    /// Measures run by run, and saves after each.
    ///
    /// # Errors
    /// What keeps it from its end; the record then holds what there is.
    fn measure(&self, session: &mut Session) -> Result<()>;
}

/// A record that grows, and what watches over it.
pub struct Session {
    /// The record.
    pub record: Record,
    /// What a person sees.
    pub progress: Progress,
    /// Set from outside when the user wants it to end.
    pub interrupted: Arc<AtomicBool>,
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

/// Measures `task`. From the beginning to the end there is a record in `destination`, of what there is so far.
///
/// # Errors
/// What kept it from beginning; then nothing is left behind.
pub fn measure(task: &dyn Task, setting: &Setting, destination: &Destination) -> Result<Measured> {
    task.prepare()?;
    let storage = |folder: PathBuf| Storage {
        directory: folder.display().to_string(),
        filesystem: disk::filesystem_of(&folder),
    };
    let record = Record {
        host: Some(Host::capture(setting.host_name)),
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
    /// The file.
    pub fn path(&self) -> Option<&Path> {
        self.target.as_ref().map(Target::path)
    }

    /// Whether the user wants it to end.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Saves what there is.
    ///
    /// # Errors
    /// A [`Failure`]: that it fails once the measurement has begun is no fault of the options.
    pub fn save(&self) -> Result<()> {
        let saved = self.target.as_ref().map_or(Ok(()), |target| target.save(&self.record));
        saved.map_err(|error| Failure::in_error(&error).into())
    }

    /// Writes down how it ended.
    fn finish(mut self, result: Result<()>) -> Measured {
        self.record.finished = Some(Timestamp::now());
        self.record.after = Some(noise::Snapshot::take());
        self.record.partial = result.as_ref().err().map(Failure::in_error);
        let failure = result.and(self.save()).err();
        let path = self.target.map(|target| target.path().to_path_buf());
        Measured { record: self.record, path, failure }
    }
}
