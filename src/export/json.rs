//! Exports the record itself.

use super::{Export, Format};
use crate::record;
use anyhow::Result;

/// The JSON format, which is that of a record file.
pub struct Json;

impl Format for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn help(&self) -> &'static str {
        "Write the whole record as JSON"
    }

    fn write(&self, export: &Export) -> Result<String> {
        Ok(record::write(export.figures.record)?)
    }
}
