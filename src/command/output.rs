//! Writes results where the user wants them.

use super::folders;
use crate::cli::{FormatArgs, OutputArgs};
use crate::export;
use crate::record::store::{self, Destination};
use crate::record::{Record, format};
use crate::report::{self, table};
use anyhow::{Context, Result, bail};
use std::io::Write;
use std::path::Path;

const STDOUT: &str = "-";

/// Whether a machine-readable format goes to standard output, so that nothing else may.
fn claims_stdout(path: Option<&Path>) -> bool {
    path.is_some_and(|path| path.as_os_str() == STDOUT)
}

/// Checks, before anything is measured, that the outputs can be written afterwards.
pub fn check(paths: &[Option<&Path>], force: bool) -> Result<()> {
    if paths.iter().filter(|path| claims_stdout(**path)).count() > 1 {
        bail!("only one output can go to standard output (-)");
    }
    let files: Vec<&Path> =
        paths.iter().flatten().copied().filter(|path| path.as_os_str() != STDOUT).collect();
    for (index, path) in files.iter().enumerate() {
        if files[..index].contains(path) {
            bail!("{}: two outputs would go to this file; name another for one of them", path.display());
        }
        if path.exists() && !force {
            bail!("{}: exists already; name another file, or give --force to overwrite it", path.display());
        }
        let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !folder.is_dir() || nix::unistd::access(folder, nix::unistd::AccessFlags::W_OK).is_err() {
            bail!("{}: no such folder, or no permission to write there", folder.display());
        }
    }
    Ok(())
}

/// Writes `text` to a file, or to standard output when it is `-`.
pub fn write(path: &Path, text: &str) -> Result<()> {
    match path.as_os_str() == STDOUT {
        true => print(text),
        false => store::write_whole(path, text.as_bytes())
            .with_context(|| format!("{}: can't write", path.display())),
    }
}

/// Prints; a reader that went away (`| head`) is no error.
pub fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error).context("standard output"),
        _ => Ok(()),
    }
}

/// Checks, before anything is measured, that everything can be written afterwards.
pub fn check_all(output: &OutputArgs) -> Result<()> {
    let [csv, json, markdown] = paths(&output.formats);
    check(&[csv, json, markdown, output.record.as_deref()], output.formats.force)
}

/// The paths of [`FormatArgs`].
pub fn paths(formats: &FormatArgs) -> [Option<&Path>; 3] {
    [formats.csv.as_deref(), formats.json.as_deref(), formats.markdown.as_deref()]
}

/// Prints the tables of a record, unless another format has standard output, and writes the others.
pub fn record(record: &Record, formats: &FormatArgs) -> Result<()> {
    let tables = report::record::tables(record);
    if !paths(formats).into_iter().any(claims_stdout) {
        print(&table::terminal(&tables))?;
    }
    if let Some(path) = &formats.csv {
        write(path, &export::csv::samples(record)?)?;
    }
    if let Some(path) = &formats.json {
        write(path, &format::write(record)?)?;
    }
    if let Some(path) = &formats.markdown {
        let command = format!(
            "\nMade by `{}` (repro {}, {}).\n",
            record.program.command.join(" "),
            record.program.version,
            record.program.revision
        );
        write(path, &(table::markdown(&tables) + &command))?;
    }
    Ok(())
}

/// Where the record goes.
pub fn destination(output: &OutputArgs) -> Result<Destination> {
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
