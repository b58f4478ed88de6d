//! For programs, and for pages: one file a format.

mod csv;
mod json;
mod markdown;
pub mod reference;

use crate::figure::Figures;
use crate::report::Table;
use anyhow::Result;

/// A record, read as its study has it, with the tables that a person sees.
pub struct Export<'a> {
    /// The record and its shape.
    pub figures: Figures<'a>,
    /// Its tables.
    pub tables: &'a [Table],
}

/// A format of a file.
pub trait Format: Sync {
    /// The name of its option.
    fn name(&self) -> &'static str;

    /// What its option does, in a sentence.
    fn help(&self) -> &'static str;

    /// The text of the file.
    ///
    /// # Errors
    /// What keeps it from being written down.
    fn write(&self, export: &Export) -> Result<String>;
}

/// Every format that exists, a line each.
pub const FORMATS: &[&dyn Format] = &[&csv::Csv, &json::Json, &markdown::Markdown];
