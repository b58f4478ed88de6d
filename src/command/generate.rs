//! The subcommands `repro man`, `repro completions` and `repro schema`.

use super::output;
use crate::cli::Cli;
use crate::exit::Exit;
use crate::record;
use anyhow::Result;
use clap::CommandFactory;

/// Prints the man page.
pub fn man() -> Result<Exit> {
    let mut text = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut text)?;
    output::print(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Fine)
}

/// Prints the completion script of a shell.
pub fn completions(shell: clap_complete::Shell) -> Result<Exit> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "repro", &mut text);
    output::print(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Fine)
}

/// Prints the JSON schema of records.
pub fn schema() -> Result<Exit> {
    output::print(&(serde_json::to_string_pretty(&record::json_schema())? + "\n"))?;
    Ok(Exit::Fine)
}
