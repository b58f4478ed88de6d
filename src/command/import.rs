//! The subcommand `repro import`.

use super::output;
use crate::cli::ImportArgs;
use crate::exit::Exit;
use crate::instrument::folders;
use crate::record::Record;
use crate::record::store::Target;
use crate::study::Study;
use crate::study::registry::STUDIES;
use anyhow::{Context, Result, bail};
use std::io::Read;
use std::path::Path;

/// The largest size of a saved output, in bytes.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Reads a saved output, shows what is in it, and stores it.
pub fn run(args: &ImportArgs) -> Result<Exit> {
    let name =
        if args.file.as_os_str() == "-" { "standard input".into() } else { args.file.display().to_string() };
    let bytes = read(&args.file).with_context(|| format!("{name}: can't be read"))?;
    if bytes.len() as u64 > LARGEST {
        bail!("{name}: larger than {LARGEST} bytes; save only the runs to a smaller file");
    }
    let (study, records) = imported(&name, &bytes)?;
    let targets = targets(args, &records)?;
    for record in &records {
        output::print_tables(&output::tables(study, record))?;
    }
    for (target, record) in targets.iter().zip(&records) {
        target.save(record)?;
        output::says_where(Some(target.path()));
    }
    Ok(Exit::Fine)
}

/// Returns the records in an output, and the study that it belongs to.
fn imported(name: &str, bytes: &[u8]) -> Result<(&'static dyn Study, Vec<Record>)> {
    for study in STUDIES {
        if let Some(records) = study.import(name, bytes) {
            return Ok((*study, records?));
        }
    }
    bail!("{name}: no study can read this output")
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match path.as_os_str() == "-" {
        true => std::io::stdin().take(LARGEST + 1).read_to_end(&mut bytes)?,
        false => std::fs::File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?,
    };
    Ok(bytes)
}

/// Creates a file for each record, or none at all if one of them can't be created.
fn targets(args: &ImportArgs, records: &[Record]) -> Result<Vec<Target>> {
    let mut targets = Vec::new();
    for (index, record) in records.iter().enumerate().filter(|_| !args.record.no_record) {
        match target(args, index, records.len(), record) {
            Ok(target) => targets.push(target),
            Err(error) => {
                targets.iter().for_each(Target::discard);
                return Err(error);
            }
        }
    }
    Ok(targets)
}

fn target(args: &ImportArgs, index: usize, of: usize, record: &Record) -> Result<Target> {
    match &args.record.record {
        Some(path) if of == 1 => Target::at(path, args.force.force),
        Some(folder) => {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("{}: can't create this folder", folder.display()))?;
            Target::at(&folder.join(format!("{}.json", index + 1)), args.force.force)
        }
        None => {
            let name = format!("{}-imported", record.study);
            Target::in_folder(&folders::records()?, &name, record.started)
        }
    }
}
