//! The subcommands, one file for each. Only this module joins the stages.

mod capture;
mod cite;
mod compare;
mod doctor;
mod explain;
mod generate;
mod import;
mod list;
mod output;
mod record;
mod references;
mod run;
mod show;
mod verify;

use crate::cli::{Cli, Command, LaunchArgs, LegArgs};
use crate::exit::Exit;
use crate::instrument::process;
use crate::record::{Cause, Failure};
use crate::study::registry;
use anyhow::{Context, Result, anyhow};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Carries out what the command line asks for.
///
/// # Errors
/// Returns whatever prevents that; [`Exit::of`] gives the exit status.
pub fn dispatch(cli: Cli) -> Result<Exit> {
    match cli.command {
        None => run::run(&cli.default.0, interrupt_flag()?),
        Some(Command::Run(run)) => run::run(&run, interrupt_flag()?),
        Some(Command::Leg(args)) => leg(&args),
        Some(Command::Verify(args)) => verify::run(&args, interrupt_flag()?),
        Some(Command::Capture(args)) => capture::run(&args, interrupt_flag()?),
        Some(Command::Import(args)) => import::run(&args),
        Some(Command::Show(args)) => show::run(&args),
        Some(Command::Cite(args)) => cite::run(&args),
        Some(Command::Compare(args)) => compare::run(&args),
        Some(Command::List(args)) => list::run(&args),
        Some(Command::Doctor(args)) => doctor::run(&args),
        Some(Command::Explain { topic }) => explain::run(topic.as_deref()),
        Some(Command::Man) => generate::man(),
        Some(Command::Completions { shell }) => generate::completions(shell),
        Some(Command::Schema) => generate::schema(),
        Some(Command::Launch(args)) => launch(&args),
    }
}

/// Runs one leg of a study in this process.
fn leg(args: &LegArgs) -> Result<Exit> {
    let study = registry::named(&args.study)
        .ok_or_else(|| anyhow!("no study is called `{}`; see `repro list`", args.study))?;
    let result = study.leg(&args.job, interrupt_flag);
    result.map_err(|error| Failure::in_error(&error)).context("leg")?;
    Ok(Exit::Fine)
}

/// Replaces this process with another program; returns only if that fails.
fn launch(args: &LaunchArgs) -> Result<Exit> {
    let error = process::launch(args.parent, args.cpu, &args.groups, &args.command);
    let program = args.command.first().map(|p| p.to_string_lossy().into_owned()).unwrap_or_default();
    Err(Failure::saying(Cause::Error, format!("{program}: can't be started: {error}")).into())
}

/// Returns a flag that ^C, SIGTERM and SIGHUP raise. A second ^C ends the program at once.
fn interrupt_flag() -> Result<Arc<AtomicBool>> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::flag;
    let raised = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register_conditional_shutdown(signal, 130, Arc::clone(&raised))?;
        flag::register(signal, Arc::clone(&raised))?;
    }
    Ok(raised)
}
