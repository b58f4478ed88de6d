//! One file a subcommand. Here, and only here, the stages are joined.

mod capture;
mod cite;
mod compare;
mod doctor;
mod explain;
mod folders;
mod generate;
mod import;
mod leg;
mod list;
mod load;
mod oltp;
mod output;
mod recording;
mod run;
mod server;
mod serverless;
mod show;
pub mod speedtest1;
mod verify;

use crate::cli::{Cli, Command, Suite};
use anyhow::Result;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All reproduced, or done.
    Fine = 0,
    /// Something differs.
    Differs = 1,
    /// Usage or bad input.
    Usage = 2,
    /// Could not measure.
    Unmeasured = 3,
}

/// The measurement failed, as opposed to its options.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct CannotMeasure(pub String);

/// The status for an error that reached the top.
pub fn exit_of(error: &anyhow::Error) -> Exit {
    match error.downcast_ref::<CannotMeasure>() {
        Some(_) => Exit::Unmeasured,
        None => Exit::Usage,
    }
}

/// Does what the command line says.
///
/// # Errors
/// Everything that keeps it from being done; [`exit_of`] tells the status.
pub fn dispatch(cli: Cli) -> Result<Exit> {
    match cli.command {
        None => run::run(cli.run, &*interrupt_flag()?),
        Some(Command::Run(Suite::Speedtest1(run))) => run::run(run, &*interrupt_flag()?),
        Some(Command::Run(Suite::Oltp(args))) => oltp::run(&args, &*interrupt_flag()?),
        Some(Command::Run(Suite::Serverless(args))) => serverless::run(&args, &interrupt_flag()?),
        Some(Command::Run(Suite::Sweep(args))) => load::sweep(&args, &interrupt_flag()?),
        Some(Command::Run(Suite::Million(args))) => load::million(&args, &interrupt_flag()?),
        Some(Command::Leg(args)) => leg::run(&args),
        Some(Command::Verify(args)) => verify::run(&args, &interrupt_flag()?),
        Some(Command::Capture(args)) => capture::run(&args, &*interrupt_flag()?),
        Some(Command::Import(args)) => import::run(&args),
        Some(Command::Show(args)) => show::run(&args),
        Some(Command::Cite(args)) => cite::run(&args),
        Some(Command::Compare(args)) => compare::run(&args),
        Some(Command::List(args)) => list::run(&args),
        Some(Command::Doctor(args)) => doctor::run(&args),
        Some(Command::Explain { what }) => explain::run(what),
        Some(Command::Man) => generate::man(),
        Some(Command::Completions { shell }) => generate::completions(shell),
        Some(Command::Schema) => generate::schema(),
        Some(Command::Launch(args)) => {
            let error = crate::driver::process::launch(args.parent, args.cpu, &args.groups, &args.command);
            let program = args.command.first().map(|p| p.to_string_lossy().into_owned()).unwrap_or_default();
            Err(CannotMeasure(format!("{program}: can't be started: {error}")).into())
        }
    }
}

/// A flag that ^C, SIGTERM and SIGHUP raise. A second ^C ends the program at once.
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
