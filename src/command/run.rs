//! `repro`, `repro run speedtest1`.

use super::speedtest1::{self, Request};
use super::{Exit, output};
use crate::cli::RunArgs;
use anyhow::Result;
use std::sync::atomic::AtomicBool;

/// Measures, shows and keeps.
pub fn run(args: RunArgs, interrupted: &AtomicBool) -> Result<Exit> {
    let [csv, json, markdown] = output::paths(&args.output.formats);
    output::check(&[csv, json, markdown, args.output.record.as_deref()], args.output.formats.force)?;
    let mut request = Request::new(args.workload, &args.plan, &args.place, interrupted)?;
    request.host_name = args.output.host_name;
    request.quiet = args.output.quiet;
    let measured = speedtest1::measure(&request, &output::destination(&args.output)?)?;
    output::record(&measured.record, &args.output.formats)?;
    if let Some(path) = measured.path {
        eprintln!("record: {}", path.display());
    }
    measured.failure.map_or(Ok(Exit::Fine), Err)
}
