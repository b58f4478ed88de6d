//! The subcommand `repro import`.

use super::{output, references};
use crate::cli::{ForceArgs, ImportArgs};
use crate::exit::Exit;
use crate::export;
use crate::figure::Figures;
use crate::instrument::folders;
use crate::record::store::Target;
use crate::record::{Record, Stated};
use crate::study::registry::STUDIES;
use crate::study::{Saved, Study};
use anyhow::{Context, Result, bail};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The largest size of a saved output, in bytes.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Reads saved outputs, shows what is in them, and stores it.
pub fn run(args: &ImportArgs) -> Result<Exit> {
    let mut found: Vec<(&'static dyn Study, Record)> = Vec::new();
    for file in &args.files {
        let (study, records) = imported(file, args)?;
        found.extend(records.into_iter().map(|record| (study, record)));
    }
    let reference =
        args.reference.as_ref().map(|path| reference_files(path, &found, args.force)).transpose()?;
    let records: Vec<&Record> = found.iter().map(|(_, record)| record).collect();
    let targets = targets(args, &records)?;
    for (study, record) in &found {
        output::print_tables(&output::tables(*study, record))?;
    }
    for (target, record) in targets.iter().zip(&records) {
        target.save(record)?;
        output::says_where(Some(target.path()));
    }
    if let (Some([csv, toml]), Some((study, record))) = (reference, found.first()) {
        write_reference(&csv, &toml, *study, record)?;
    }
    Ok(Exit::Fine)
}

/// Returns the records in an output, and the study that it belongs to.
fn imported(file: &Path, args: &ImportArgs) -> Result<(&'static dyn Study, Vec<Record>)> {
    let name = if file.as_os_str() == "-" { "standard input".into() } else { file.display().to_string() };
    let bytes = read(file).with_context(|| format!("{name}: can't be read"))?;
    if bytes.len() as u64 > LARGEST {
        bail!("{name}: larger than {LARGEST} bytes; save only the runs to a smaller file");
    }
    let stated = Stated { flags: args.flags.clone(), machine: args.machine.clone(), date: args.date };
    let saved = Saved { name: &name, bytes: &bytes, stated: &stated, testset: args.testset.as_deref() };
    for study in STUDIES {
        if let Some(records) = study.import(&saved) {
            return Ok((*study, records?));
        }
    }
    bail!("{name}: no study can read this output")
}

/// Returns the two files of a reference, which must be free.
fn reference_files(path: &Path, found: &[(&dyn Study, Record)], force: ForceArgs) -> Result<[PathBuf; 2]> {
    if found.len() != 1 {
        bail!(
            "--reference {}: expected one record, found {}; save each to a file of its own",
            path.display(),
            found.len()
        );
    }
    let file = |ending: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    let files = [file(".csv"), file(".toml")];
    output::check(&[Some(&files[0]), Some(&files[1])], force)?;
    Ok(files)
}

fn write_reference(csv: &Path, toml: &Path, study: &dyn Study, record: &Record) -> Result<()> {
    let figures = Figures::new(study.shape(), record);
    let name = csv.file_stem().unwrap_or_default().to_string_lossy();
    output::write(csv, &export::reference::figures(figures)?)?;
    output::write(toml, &export::reference::about(figures, None, &name)?)?;
    // What was written must be a reference that others can read.
    references::load(csv, None)?;
    output::print(&format!(
        "\nwritten: {}, {}; what is missing is marked there\n",
        csv.display(),
        toml.display()
    ))
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
fn targets(args: &ImportArgs, records: &[&Record]) -> Result<Vec<Target>> {
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
