//! Parses the command line, dispatches it, and reports how it ended.

use clap::Parser;
use repro::cli::Cli;
use repro::command::dispatch;
use repro::exit::Exit;
use std::process::ExitCode;

fn main() -> ExitCode {
    let exit = dispatch(Cli::parse()).unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        Exit::of(&error)
    });
    ExitCode::from(exit as u8)
}
