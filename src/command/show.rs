//! The subcommand `repro show`.

use super::{output, record};
use crate::cli::ShowArgs;
use crate::exit::Exit;
use anyhow::Result;

/// Prints the tables of a stored record.
pub fn run(args: &ShowArgs) -> Result<Exit> {
    output::check_all(&args.formats, None)?;
    let (study, record) = record::load(&args.record)?;
    output::record(study, &record, &args.formats)?;
    Ok(Exit::Fine)
}
