//! Parses the command line, dispatches it, and reports how it ended.

use repro::cli;
use repro::command::dispatch;
use repro::exit::Exit;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = cli::parse(std::env::args_os()).unwrap_or_else(|error| error.exit());
    let exit = dispatch(cli).unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        Exit::of(&error)
    });
    ExitCode::from(exit as u8)
}
