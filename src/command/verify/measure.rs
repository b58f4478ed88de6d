//! Measures what a reference names.

use crate::cli::{
    LimitArgs, MillionArgs, OutputArgs, PlaceArgs, ServerArgs, ServerlessArgs, SweepArgs, VerifyArgs,
};
use crate::command::recording::{self, Measured};
use crate::command::speedtest1::{self, Request};
use crate::command::{folders, load, oltp, serverless};
use crate::record::Record;
use crate::record::store::Destination;
use crate::verify::Reference;
use anyhow::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Measures what the reference names, once for all references of the same work.
pub fn of(
    reference: &Reference,
    args: &VerifyArgs,
    measured: &mut Vec<Record>,
    interrupted: &Arc<AtomicBool>,
) -> Result<Record> {
    match reference.about.suite.as_str() {
        "oltp" => of_oltp(reference, args, interrupted),
        "serverless" => of_serverless(reference, args, interrupted),
        "sweep" => of_sweep(reference, args, interrupted),
        "million" => of_million(reference, args, interrupted),
        _ => of_speedtest1(reference, args, measured, interrupted),
    }
}

fn of_speedtest1(
    reference: &Reference,
    args: &VerifyArgs,
    measured: &mut Vec<Record>,
    interrupted: &AtomicBool,
) -> Result<Record> {
    let workload = reference.about.workload().map_err(Error::msg)?;
    let place = PlaceArgs { temp_dir: args.temp_dir.clone(), ..PlaceArgs::default() };
    let mut request = Request::new(workload, &args.plan, &place, interrupted)?;
    request.quiet = args.quiet;
    request.variants = args.build_variants;
    let parameters = recording::parameters(&request.workload);
    if let Some(record) = measured.iter().find(|record| record.parameters == parameters) {
        return Ok(record.clone());
    }
    let result = speedtest1::measure(&request, &destination()?)?;
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

fn of_oltp(reference: &Reference, args: &VerifyArgs, interrupted: &AtomicBool) -> Result<Record> {
    let mut parameters = reference.about.oltp().map_err(Error::msg)?;
    parameters.scale = args.scale.unwrap_or(parameters.scale);
    let request = oltp::Request {
        quiet: args.quiet,
        runs: args.plan.runs.unwrap_or(1),
        ..oltp::Request::new(parameters, args.temp_dir.as_deref(), interrupted)
    };
    oltp::check(&request)?;
    whole(oltp::measure(&request, &destination()?)?)
}

fn of_serverless(reference: &Reference, args: &VerifyArgs, interrupted: &Arc<AtomicBool>) -> Result<Record> {
    let mut parameters = reference.about.serverless().map_err(Error::msg)?;
    parameters.scale = args.scale.unwrap_or(parameters.scale);
    let request = serverless::Request::new(
        &ServerlessArgs {
            parameters,
            runs: args.plan.runs,
            warmup: args.plan.warmup,
            server: server(args),
            output: quiet(args),
            ..ServerlessArgs::default()
        },
        interrupted,
    )?;
    whole(serverless::measure(&request, &destination()?)?)
}

/// Of a sweep, the scale shortens the levels.
fn of_sweep(reference: &Reference, args: &VerifyArgs, interrupted: &Arc<AtomicBool>) -> Result<Record> {
    let mut parameters = reference.about.sweep().map_err(Error::msg)?;
    parameters.seconds = args.scale.unwrap_or_default().of(parameters.seconds);
    let sweep = SweepArgs {
        parameters,
        until_wedged: None,
        server: server(args),
        limits: LimitArgs::default(),
        output: quiet(args),
    };
    let runs = args.plan.runs.unwrap_or(1);
    let request = load::Request { runs, ..load::Request::sweep(&sweep, interrupted)? };
    whole(load::measure(&request, &destination()?)?)
}

fn of_million(reference: &Reference, args: &VerifyArgs, interrupted: &Arc<AtomicBool>) -> Result<Record> {
    let mut parameters = reference.about.million().map_err(Error::msg)?;
    parameters.scale = args.scale.unwrap_or(parameters.scale);
    let million =
        MillionArgs { parameters, server: server(args), limits: LimitArgs::default(), output: quiet(args) };
    let runs = args.plan.runs.unwrap_or(1);
    let request = load::Request { runs, ..load::Request::million(&million, interrupted)? };
    whole(load::measure(&request, &destination()?)?)
}

fn server(args: &VerifyArgs) -> ServerArgs {
    ServerArgs { sqld: args.sqld.clone(), dir: args.temp_dir.clone(), ..ServerArgs::default() }
}

fn quiet(args: &VerifyArgs) -> OutputArgs {
    OutputArgs { quiet: args.quiet, ..OutputArgs::default() }
}

fn destination() -> Result<Destination> {
    Ok(Destination::Folder(folders::records()?))
}

/// The record of a measurement that came to its end.
fn whole(measured: Measured) -> Result<Record> {
    if let Some(path) = measured.path {
        eprintln!("record: {}", path.display());
    }
    measured.failure.map_or(Ok(measured.record), Err)
}
