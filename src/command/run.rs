//! `repro`, `repro run speedtest1`.

use super::speedtest1::{self, Request, Unfinished};
use super::{Exit, folders, output};
use crate::cli::{OutputArgs, RunArgs};
use crate::record::store::Target;
use anyhow::Result;
use jiff::Timestamp;
use std::sync::atomic::AtomicBool;

/// Measures, shows and keeps.
pub fn run(args: RunArgs, interrupted: &AtomicBool) -> Result<Exit> {
    output::check(&output::paths(&args.output.formats), args.output.formats.force)?;
    let mut request = Request::new(args.workload, &args.plan, &args.place, interrupted)?;
    request.host_name = args.output.host_name;
    request.quiet = args.output.quiet;
    let target = target(&args.output)?;
    let result = speedtest1::measure(&request, target.as_ref());
    let shown = match &result {
        Ok(record) => Some(record),
        Err(error) => error.downcast_ref::<Unfinished>().map(|unfinished| &*unfinished.0),
    };
    if let Some(record) = shown {
        output::record(record, &args.output.formats)?;
    }
    if let Some(target) = &target {
        eprintln!("record: {}", target.path().display());
    }
    result.map(|_| Exit::Fine)
}

/// Where the record goes.
fn target(output: &OutputArgs) -> Result<Option<Target>> {
    Ok(match (&output.record, output.no_record) {
        (Some(path), _) => Some(Target::at(path, output.formats.force)?),
        (None, true) => None,
        (None, false) => Some(Target::in_folder(&folders::records()?, "speedtest1", Timestamp::now())?),
    })
}
