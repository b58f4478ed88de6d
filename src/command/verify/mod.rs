//! `repro verify`.

mod measure;

use super::recording;
use super::{CannotMeasure, Exit, output};
use crate::cli::VerifyArgs;
use crate::record::Record;
use crate::record::store;
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
            None => measure::of(reference, args, &mut measured, interrupted)?,
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

fn publish(args: &VerifyArgs, reports: &[Report], tables: &[Table]) -> Result<()> {
    let stdout = [&args.json, &args.markdown].into_iter().flatten().any(|path| path.as_os_str() == "-");
    if !stdout {
        output::print(&table::terminal(tables))?;
    }
    if let Some(path) = &args.json {
        output::write(path, &(serde_json::to_string_pretty(reports)? + "\n"))?;
    }
    if let Some(path) = &args.markdown {
        let command = recording::program().command.join(" ");
        output::write(path, &format!("{}\nMade by `{command}`.\n", table::markdown(tables)))?;
    }
    Ok(())
}
