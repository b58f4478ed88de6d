//! `repro leg`: the process that runs one leg of a suite, and tells its parent what happens.

use super::{CannotMeasure, Exit};
use crate::cli::LegArgs;
use crate::driver::oltp::{self, Job};
use anyhow::{Context, Result};
use std::io::Write;

/// Carries out the job.
pub fn run(args: &LegArgs) -> Result<Exit> {
    let job: Job = serde_json::from_str(&args.job).context("the job of a leg")?;
    let mut out = std::io::stdout().lock();
    let mut tell = |event: &oltp::Event| {
        // A parent that is gone needs to hear nothing.
        let _ =
            serde_json::to_writer(&mut out, event).map(|()| out.write_all(b"\n").and_then(|()| out.flush()));
    };
    oltp::leg::run(&job, &mut tell).map_err(|error| CannotMeasure(format!("{error:#}")))?;
    Ok(Exit::Fine)
}
