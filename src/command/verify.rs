//! `repro verify`.

use super::oltp;
use super::serverless;
use super::speedtest1::{self, Request};
use super::{CannotMeasure, Exit, folders, output};
use crate::cli::{OutputArgs, PlaceArgs, ServerArgs, ServerlessArgs, VerifyArgs};
use crate::record::Record;
use crate::record::store::{self, Destination};
use crate::report::{self, Table, table};
use crate::verify::verdict::Report;
use crate::verify::{Reference, comparison};
use anyhow::{Result, anyhow};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Judges each reference; all of them must hold.
pub fn run(args: &VerifyArgs, interrupted: &Arc<AtomicBool>) -> Result<Exit> {
    output::check(&[args.json.as_deref(), args.markdown.as_deref()], args.force)?;
    let references = args.references.iter().map(|path| Reference::load(path)).collect::<Result<Vec<_>>>()?;
    let given = args.judged.as_deref().map(store::load).transpose()?;
    let mut measured: Vec<Record> = Vec::new();
    let mut reports = Vec::new();
    let mut tables = Vec::new();
    for reference in &references {
        let record = match &given {
            Some(record) => record.clone(),
            None => measure(reference, args, &mut measured, interrupted)?,
        };
        let report = comparison::judge(reference, &record, args.strict).map_err(|reason| match given {
            Some(_) => anyhow!("{}: {reason}", args.judged.as_deref().unwrap_or("".as_ref()).display()),
            None => CannotMeasure(reason).into(),
        })?;
        tables.extend(report::record::explanation(&record));
        tables.push(report::verdict::table(&report));
        reports.push(report);
    }
    publish(args, &reports, &tables)?;
    Ok(if reports.iter().all(Report::holds) { Exit::Fine } else { Exit::Differs })
}

/// Measures what the reference names, once for all references of the same work.
fn measure(
    reference: &Reference,
    args: &VerifyArgs,
    measured: &mut Vec<Record>,
    interrupted: &Arc<AtomicBool>,
) -> Result<Record> {
    match reference.about.suite.as_str() {
        "oltp" => measure_oltp(reference, args, interrupted),
        "serverless" => measure_serverless(reference, args, interrupted),
        _ => measure_speedtest1(reference, args, measured, interrupted),
    }
}

fn measure_speedtest1(
    reference: &Reference,
    args: &VerifyArgs,
    measured: &mut Vec<Record>,
    interrupted: &AtomicBool,
) -> Result<Record> {
    let workload = reference.about.workload().map_err(anyhow::Error::msg)?;
    let place = PlaceArgs { temp_dir: args.temp_dir.clone(), ..PlaceArgs::default() };
    let mut request = Request::new(workload, &args.plan, &place, interrupted)?;
    request.quiet = args.quiet;
    request.variants = args.build_variants;
    let parameters = speedtest1::parameters(&request.workload);
    if let Some(record) = measured.iter().find(|record| record.parameters == parameters) {
        return Ok(record.clone());
    }
    let result = speedtest1::measure(&request, &Destination::Folder(folders::records()?))?;
    if let Some(path) = result.path {
        eprintln!("record: {}", path.display());
    }
    let record = result.record;
    if let Some(failure) = result.failure {
        // What there is can be judged, and is said to be partial.
        if record.legs[0].counted().is_empty() {
            return Err(failure);
        }
        eprintln!("{failure:#}");
    }
    measured.push(record.clone());
    Ok(record)
}

fn measure_oltp(reference: &Reference, args: &VerifyArgs, interrupted: &AtomicBool) -> Result<Record> {
    let mut parameters = reference.about.oltp().map_err(anyhow::Error::msg)?;
    parameters.scale = args.scale.unwrap_or(parameters.scale);
    let request = oltp::Request {
        quiet: args.quiet,
        runs: args.plan.runs.unwrap_or(1),
        ..oltp::Request::new(parameters, args.temp_dir.as_deref(), interrupted)
    };
    oltp::check(&request)?;
    let measured = oltp::measure(&request, &Destination::Folder(folders::records()?))?;
    if let Some(path) = measured.path {
        eprintln!("record: {}", path.display());
    }
    measured.failure.map_or(Ok(measured.record), Err)
}

fn measure_serverless(
    reference: &Reference,
    args: &VerifyArgs,
    interrupted: &Arc<AtomicBool>,
) -> Result<Record> {
    let mut parameters = reference.about.serverless().map_err(anyhow::Error::msg)?;
    parameters.scale = args.scale.unwrap_or(parameters.scale);
    let request = serverless::Request::new(
        &ServerlessArgs {
            parameters,
            runs: args.plan.runs,
            warmup: args.plan.warmup,
            server: ServerArgs {
                sqld: args.sqld.clone(),
                dir: args.temp_dir.clone(),
                ..ServerArgs::default()
            },
            output: OutputArgs { quiet: args.quiet, ..OutputArgs::default() },
            ..ServerlessArgs::default()
        },
        interrupted,
    )?;
    let measured = serverless::measure(&request, &Destination::Folder(folders::records()?))?;
    if let Some(path) = measured.path {
        eprintln!("record: {}", path.display());
    }
    measured.failure.map_or(Ok(measured.record), Err)
}

fn publish(args: &VerifyArgs, reports: &[Report], tables: &[Table]) -> Result<()> {
    let stdout = [&args.json, &args.markdown].into_iter().flatten().any(|path| path.as_os_str() == "-");
    if !stdout {
        output::print(&table::terminal(tables))?;
    }
    if let Some(path) = &args.json {
        output::write(path, &(serde_json::to_string_pretty(reports)? + "\n"))?;
    }
    if let Some(path) = &args.markdown {
        let command = speedtest1::program().command.join(" ");
        output::write(path, &format!("{}\nMade by `{command}`.\n", table::markdown(tables)))?;
    }
    Ok(())
}
