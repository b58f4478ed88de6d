//! Exports the tables as a page, with the command that made them.

use super::{Export, Format};
use crate::report::table;
use anyhow::Result;

/// The Markdown format.
pub struct Markdown;

impl Format for Markdown {
    fn name(&self) -> &'static str {
        "markdown"
    }

    fn help(&self) -> &'static str {
        "Write the table as Markdown"
    }

    fn write(&self, export: &Export) -> Result<String> {
        let program = &export.figures.record.program;
        let command = program.command.join(" ");
        let made = format!("\nMade by `{command}` (repro {}, {}).\n", program.version, program.revision);
        Ok(table::markdown(export.tables) + &made)
    }
}
