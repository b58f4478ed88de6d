//! `repro capture`.

use super::speedtest1::{self, Request};
use super::{Exit, output};
use crate::cli::{CaptureArgs, PlanArgs};
use crate::driver::process;
use crate::export;
use crate::record::store::Destination;
use crate::report::citation;
use crate::verify::{Reference, grade};
use anyhow::{Result, anyhow, bail};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// The plan of a baseline: ten runs, then on until the interval is within ±1 %.
const RUNS: u32 = 10;

/// Measures, and writes record, figures and citation.
pub fn run(args: &CaptureArgs, interrupted: &AtomicBool) -> Result<Exit> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if args.name.is_empty() || args.name.starts_with('.') || !args.name.chars().all(fits) {
        bail!("`{}`: a name is made of letters, digits, - and _ (the folder is --dir)", args.name);
    }
    let file = |ending: &str| -> PathBuf { args.dir.join(format!("{}.{ending}", args.name)) };
    let (json, csv, toml) = (file("json"), file("csv"), file("toml"));
    output::check(&[Some(&json), Some(&csv), Some(&toml)], args.force)?;
    let plan = PlanArgs {
        runs: args.plan.runs.or(Some(RUNS)),
        until_ci: args.plan.until_ci.or(Some(grade::WIDEST_INTERVAL)),
        // CPU 0 serves most interrupts, so the last one is the quietest guess.
        pin: args.plan.pin.or_else(|| process::allowed_cpus().last().copied().filter(|_| !args.no_pin)),
        ..args.plan.clone()
    };
    let mut request = Request::new(args.workload.clone(), &plan, &args.place, interrupted)?;
    request.host_name = args.host_name;
    request.quiet = args.quiet;
    let destination = Destination::File { path: json.clone(), force: args.force };
    let measured = speedtest1::measure(&request, &destination)?;
    if let Some(failure) = measured.failure {
        return Err(failure);
    }
    let record = measured.record;
    let leg = &record.legs[0];
    output::write(&csv, &export::reference::figures(leg)?)?;
    output::write(
        &toml,
        &export::reference::about(&record, leg, &args.name).map_err(|reason| anyhow!(reason))?,
    )?;
    // What was written must be a reference that others can read.
    Reference::load(&csv)?;
    output::print(&citation::text(&record, &args.name))?;
    output::print(&format!("\nwritten: {}, {}, {}\n", json.display(), csv.display(), toml.display()))?;
    Ok(Exit::Fine)
}
