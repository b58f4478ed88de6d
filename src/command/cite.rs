//! `repro cite`.

use super::{Exit, output};
use crate::cli::CiteArgs;
use crate::record::store;
use crate::report::citation;
use anyhow::Result;

/// Prints the citation with its grade.
pub fn run(args: &CiteArgs) -> Result<Exit> {
    let record = store::load(&args.record)?;
    let name = args.record.file_stem().unwrap_or_default().to_string_lossy();
    output::print(&citation::text(&record, &name))?;
    Ok(Exit::Fine)
}
