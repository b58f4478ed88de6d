//! Output for programs and for pages, with one file for each format.

mod csv;
mod json;
mod markdown;
pub mod reference;

use crate::figure::Figures;
use crate::report::Table;
use anyhow::Result;

/// A record, read by the shape of its study, with the tables that are shown to people.
pub struct Export<'a> {
    /// The figures of the record.
    pub figures: Figures<'a>,
    /// The tables of the record.
    pub tables: &'a [Table],
}

/// A format of an output file.
pub trait Format: Sync {
    /// Returns the name of the format's option.
    fn name(&self) -> &'static str;

    /// Returns a sentence for the help that says what the option does.
    fn help(&self) -> &'static str;

    /// Returns the text of the file.
    ///
    /// # Errors
    /// Fails when the record can't be written in this format.
    fn write(&self, export: &Export) -> Result<String>;
}

/// All formats, one line for each.
pub const FORMATS: &[&dyn Format] = &[&csv::Csv, &json::Json, &markdown::Markdown];
