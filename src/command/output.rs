//! Writes results where the user wants them.

use crate::cli::{ForceArgs, FormatArgs, RecordArgs};
use crate::export::Export;
use crate::figure::Figures;
use crate::instrument::folders;
use crate::record::store::{self, Destination};
use crate::record::{Program, Record};
use crate::report;
use crate::report::table::{self, Screen, Table, Text};
use crate::stats::{FEWEST_RUNS, counted};
use crate::study::{Study, Task};
use anyhow::{Context, Result, bail};
use std::io::Write;
use std::path::Path;

const STDOUT: &str = "-";

/// Returns whether the path is standard output. A machine-readable format there allows nothing else on it.
pub fn claims_stdout(path: &Path) -> bool {
    path.as_os_str() == STDOUT
}

/// Checks, before anything is measured, that the outputs can be written afterwards.
pub fn check(paths: &[Option<&Path>], force: ForceArgs) -> Result<()> {
    let paths: Vec<&Path> = paths.iter().flatten().copied().collect();
    if paths.iter().filter(|path| claims_stdout(path)).count() > 1 {
        bail!("only one output can go to standard output (-); name a file for each of the others");
    }
    let files: Vec<&Path> = paths.into_iter().filter(|path| !claims_stdout(path)).collect();
    for (index, path) in files.iter().enumerate() {
        if files[..index].contains(path) {
            bail!("{}: two outputs would go to this file; name another file for one of them", path.display());
        }
        if path.exists() && !force.force {
            bail!("{}: already exists; name another file, or give --force to overwrite it", path.display());
        }
        let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !folder.is_dir() || nix::unistd::access(folder, nix::unistd::AccessFlags::W_OK).is_err() {
            bail!("{}: no such folder, or no permission to write there", folder.display());
        }
    }
    Ok(())
}

/// Checks, before anything is measured, that every format and the record can be written afterwards.
pub fn check_all(formats: &FormatArgs, record: Option<&Path>) -> Result<()> {
    let files = formats.files.iter().map(|(_, path)| Some(path.as_path()));
    check(&files.chain([record]).collect::<Vec<_>>(), formats.force)
}

/// Writes `text` to a file, or to standard output when the path is `-`.
pub fn write(path: &Path, text: &str) -> Result<()> {
    match claims_stdout(path) {
        true => print(text),
        false => store::write_whole(path, text.as_bytes())
            .with_context(|| format!("{}: can't be written", path.display())),
    }
}

/// Writes tables as Markdown, with the command that made them.
pub fn markdown(path: &Path, tables: &[Table]) -> Result<()> {
    let command = Program::this().command.join(" ");
    write(path, &format!("{}\nMade by `{command}`.\n", table::markdown(tables)))
}

/// Prints to standard output. A reader that has gone away (`| head`) is no error.
pub fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error).context("standard output"),
        _ => Ok(()),
    }
}

/// Prints lines in the colours of their tones.
pub fn print_lines(lines: &[Text]) -> Result<()> {
    let screen = screen();
    let lines: Vec<String> = lines.iter().map(|line| table::painted(line, screen)).collect();
    print(&(lines.join("\n") + "\n"))
}

/// Prints tables for the terminal.
pub fn print_tables(tables: &[Table]) -> Result<()> {
    print(&table::terminal(tables, screen()))
}

/// Returns the width of standard output, if it is a terminal or COLUMNS gives one, and whether it has colour:
/// it must be a terminal that supports it, and NO_COLOR must not be set.
fn screen() -> Screen {
    let terminal = console::Term::stdout();
    let columns = || std::env::var("COLUMNS").ok()?.parse().ok();
    let width = || terminal.size_checked().map(|(_, width)| usize::from(width));
    let is_terminal = terminal.is_term();
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    Screen { width: if is_terminal { width().or_else(columns) } else { None }, colour: is_terminal && !plain }
}

/// Returns the tables of a record, with what any record shows around them.
pub fn tables(study: &dyn Study, record: &Record) -> Vec<Table> {
    let figures = Figures::new(study.shape(), record);
    report::record::framed(figures, study.tables(figures))
}

/// Prints the tables of a record, unless a format goes to standard output, and writes the formats.
pub fn record(study: &dyn Study, record: &Record, formats: &FormatArgs) -> Result<()> {
    let tables = tables(study, record);
    if !formats.files.iter().any(|(_, path)| claims_stdout(path)) {
        print_tables(&tables)?;
    }
    let export = Export { figures: Figures::new(study.shape(), record), tables: &tables };
    formats.files.iter().try_for_each(|(format, path)| write(path, &format.write(&export)?))
}

/// Warns, before anything is measured, if the runs will be too few to decide anything.
pub fn says_if_few(task: &dyn Task, quiet: bool) {
    let runs = task.record().plan.runs;
    if runs < FEWEST_RUNS && !quiet {
        let verb = if runs == 1 { "decides" } else { "decide" };
        eprintln!(
            "{} {verb} nothing; at least {FEWEST_RUNS} are needed (--runs {FEWEST_RUNS})",
            counted(runs.into(), "run")
        );
    }
}

/// Prints the path of the record.
pub fn says_where(path: Option<&Path>) {
    if let Some(path) = path {
        eprintln!("record: {}", path.display());
    }
}

/// Returns where the record is to be written.
pub fn destination(record: &RecordArgs, force: ForceArgs) -> Result<Destination> {
    Ok(match (&record.record, record.no_record) {
        (Some(path), _) if claims_stdout(path) => {
            bail!(
                "--record -: the record is a file that grows during the measurement; use --json - for standard output"
            )
        }
        (Some(path), _) => Destination::File { path: path.clone(), force: force.force },
        (None, true) => Destination::Nowhere,
        (None, false) => Destination::Folder(folders::records()?),
    })
}
