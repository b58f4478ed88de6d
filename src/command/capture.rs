//! The subcommand `repro capture`.

use super::{cite, output, references};
use crate::cli::{CaptureArgs, CiteArgs};
use crate::exit::Exit;
use crate::export;
use crate::figure::Figures;
use crate::instrument::process;
use crate::record::store::Destination;
use crate::study::Wishes;
use crate::study::options::PlanArgs;
use crate::study::session;
use crate::verify::grade;
use anyhow::{Result, bail};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The number of runs of a baseline; further runs follow until the interval is within ±1 %.
const RUNS: u32 = 10;

/// Measures, and writes the record, the figures and the citation.
pub fn run(args: &CaptureArgs, interrupted: Arc<AtomicBool>) -> Result<Exit> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if args.name.is_empty() || args.name.starts_with('.') || !args.name.chars().all(fits) {
        bail!(
            "`{}`: expected a name of letters, digits, `-`, `_` and `.` that does not begin with `.`; --dir names the folder",
            args.name
        );
    }
    let file = |ending: &str| -> PathBuf { args.dir.join(format!("{}.{ending}", args.name)) };
    let (json, csv, toml) = (file("json"), file("csv"), file("toml"));
    output::check(&[Some(&json), Some(&csv), Some(&toml)], args.force)?;
    let setting = args.watch.setting(interrupted);
    let plan = PlanArgs {
        runs: Some(RUNS),
        until_ci: Some(grade::WIDEST_INTERVAL),
        // CPU 0 serves most interrupts, so the last one is most likely to be quiet.
        pin: process::allowed_cpus().last().copied().filter(|_| !args.no_pin),
        ..PlanArgs::default()
    };
    let options = &args.options.0;
    let study = options.study;
    let task = study.asked(&options.matches, &Wishes { plan, ..Wishes::default() }, &setting)?;
    let destination = Destination::File { path: json.clone(), force: args.force.force };
    let measured = session::measure(&*task, &setting, &destination)?;
    if let Some(failure) = measured.failure {
        return Err(failure);
    }
    let figures = Figures::new(study.shape(), &measured.record);
    let headline = study.headline(figures).ok().map(|headline| headline.key);
    output::write(&csv, &export::reference::figures(figures)?)?;
    output::write(&toml, &export::reference::about(figures, headline, &args.name)?)?;
    // What was written must be a reference that others can read.
    references::load(&csv, None)?;
    let citable = cite::run(&CiteArgs { record: json.clone(), author: None, url: None })?;
    output::print(&format!("\nwritten: {}, {}, {}\n", json.display(), csv.display(), toml.display()))?;
    Ok(citable)
}
