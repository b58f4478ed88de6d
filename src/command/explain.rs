//! `repro explain`.

use super::{Exit, output};
use crate::cli::Topic;
use crate::report::load::wedge;
use anyhow::Result;

/// Prints the explanation.
pub fn run(what: Topic) -> Result<Exit> {
    match what {
        Topic::Wedge => output::print(wedge::TEXT)?,
    }
    Ok(Exit::Fine)
}
