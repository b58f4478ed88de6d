//! `repro`, `repro run speedtest1`.

use super::speedtest1::{self, Request};
use super::{Exit, folders, output};
use crate::cli::{OutputArgs, RunArgs};
use crate::record::store::Destination;
use anyhow::{Result, bail};
use std::sync::atomic::AtomicBool;

/// Measures, shows and keeps.
pub fn run(args: RunArgs, interrupted: &AtomicBool) -> Result<Exit> {
    let [csv, json, markdown] = output::paths(&args.output.formats);
    output::check(&[csv, json, markdown, args.output.record.as_deref()], args.output.formats.force)?;
    let mut request = Request::new(args.workload, &args.plan, &args.place, interrupted)?;
    request.host_name = args.output.host_name;
    request.quiet = args.output.quiet;
    let measured = speedtest1::measure(&request, &destination(&args.output)?)?;
    output::record(&measured.record, &args.output.formats)?;
    if let Some(path) = measured.path {
        eprintln!("record: {}", path.display());
    }
    measured.failure.map_or(Ok(Exit::Fine), Err)
}

/// Where the record goes.
fn destination(output: &OutputArgs) -> Result<Destination> {
    Ok(match (&output.record, output.no_record) {
        (Some(path), _) if path.as_os_str() == "-" => {
            bail!(
                "--record -: a record is a file that grows while it runs; for standard output there is --json -"
            )
        }
        (Some(path), _) => Destination::File { path: path.clone(), force: output.formats.force },
        (None, true) => Destination::Nowhere,
        (None, false) => Destination::Folder(folders::records()?),
    })
}
