//! `repro show`.

use super::{Exit, output};
use crate::cli::ShowArgs;
use crate::record::store;
use anyhow::Result;

/// Prints a record anew.
pub fn run(args: &ShowArgs) -> Result<Exit> {
    output::check(&output::paths(&args.formats), args.formats.force)?;
    output::record(&store::load(&args.record)?, &args.formats)?;
    Ok(Exit::Fine)
}
