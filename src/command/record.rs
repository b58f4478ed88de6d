//! Loads stored records.

use crate::record::{Record, store};
use crate::study::{Study, registry};
use anyhow::{Result, anyhow};
use std::path::Path;

/// Reads a record and finds its study, which checks the record's details.
///
/// # Errors
/// Fails when the file is not a record, or when it is of a study that this program does not have.
pub fn load(path: &Path) -> Result<(&'static dyn Study, Record)> {
    let record = store::load(path)?;
    let fault = |reason: String| anyhow!("{}: {reason}", path.display());
    let study = registry::named(&record.study)
        .ok_or_else(|| fault(format!("this program has no study `{}`; see `repro list`", record.study)))?;
    study.check(&record).map_err(|reason| fault(format!("not a valid record: {reason}")))?;
    Ok((study, record))
}
