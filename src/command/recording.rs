//! The record of a measurement under way: in its file from the beginning to the end.

use super::CannotMeasure;
use crate::environment::noise;
use crate::record::Record;
use crate::record::store::{Destination, Target};
use anyhow::Result;
use jiff::Timestamp;
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
