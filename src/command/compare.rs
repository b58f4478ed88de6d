//! The subcommand `repro compare`.

use super::{output, record};
use crate::cli::CompareArgs;
use crate::exit::Exit;
use crate::report::compare::{Comparison, compare};
use crate::report::table::Text;
use anyhow::{Result, anyhow};
use serde::Serialize;
use std::collections::BTreeMap;

/// Prints two records side by side.
pub fn run(args: &CompareArgs) -> Result<Exit> {
    output::check(&[args.json.as_deref(), args.markdown.as_deref(), args.csv.as_deref()], args.force)?;
    let ((study, new), (_, base)) = (record::load(&args.new)?, record::load(&args.base)?);
    let comparison = compare(study.shape(), &new, &base, args.anyway)
        .map_err(|reason| anyhow!("{} and {}: {reason}", args.new.display(), args.base.display()))?;
    let shown = publish(args, &comparison)?;
    let Some(limit) = args.fail_over else { return Ok(Exit::Fine) };
    let (exit, word) = match comparison.exceeds(limit) {
        Some(true) => (Exit::Differs, "A exceeds it"),
        Some(false) => (Exit::Fine, "no total of A exceeds it"),
        None => (Exit::Undecided, "undecided, these records do not show whether A exceeds it"),
    };
    let line = format!("limit +{:.1} %: {word}\n", limit * 100.0);
    if shown {
        output::print(&line)?;
    } else {
        eprint!("{line}");
    }
    Ok(exit)
}

/// Writes the formats, and returns whether standard output was free for the table.
fn publish(args: &CompareArgs, comparison: &Comparison) -> Result<bool> {
    let table = std::slice::from_ref(&comparison.table);
    let files = [&args.json, &args.markdown, &args.csv];
    let shown = !files.into_iter().flatten().any(|path| output::claims_stdout(path));
    if shown {
        output::print_tables(table)?;
    }
    if let Some(path) = &args.json {
        output::write(path, &(serde_json::to_string_pretty(&Compared::of(comparison))? + "\n"))?;
    }
    if let Some(path) = &args.markdown {
        output::markdown(path, table)?;
    }
    if let Some(path) = &args.csv {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(COLUMNS)?;
        for row in &comparison.table.rows {
            writer.write_record(row.iter().map(|cell| &cell.text))?;
        }
        output::write(path, &String::from_utf8(writer.into_inner()?)?)?;
    }
    Ok(shown)
}

/// The columns of the comparison, for programs.
const COLUMNS: [&str; 9] = ["key", "name", "unit", "a", "b", "ratio", "interval", "would_show", "verdict"];

/// A comparison as JSON.
#[derive(Serialize)]
struct Compared<'a> {
    other_work: &'a [String],
    drift: f64,
    notes: Vec<&'a str>,
    figures: Vec<BTreeMap<&'static str, &'a str>>,
}

impl Compared<'_> {
    fn of(comparison: &Comparison) -> Compared<'_> {
        Compared {
            other_work: &comparison.other_work,
            drift: comparison.drift,
            notes: comparison.table.notes.iter().map(|note| note.text.as_str()).collect(),
            figures: comparison.table.rows.iter().map(|row| cells(row).collect()).collect(),
        }
    }
}

/// Returns the cells of a row by their column.
fn cells(row: &[Text]) -> impl Iterator<Item = (&'static str, &str)> {
    COLUMNS.into_iter().zip(row.iter().map(|cell| cell.text.as_str()))
}
