//! What to measure: from the command line, or from a reference.

use crate::cli::ServerlessArgs;
use crate::command::server;
use crate::driver::engine::Engine;
use crate::driver::hrana::{Address, Token};
use crate::driver::serverless::{Setting, Target};
use crate::suite::serverless::{Leg, Parameters};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What to measure.
pub struct Request {
    /// The work.
    pub parameters: Parameters,
    /// The legs, in order.
    pub legs: Vec<Leg>,
    /// Counted runs of each leg.
    pub runs: u32,
    /// Runs before them.
    pub warmup: u32,
    /// The library of the embedded leg.
    pub engine: Engine,
    /// The server of the others.
    pub target: Target,
    /// Where databases are made.
    pub folder: PathBuf,
    /// Whether they stay.
    pub keep: bool,
    /// Whether progress stays hidden.
    pub quiet: bool,
    /// Whether the record names the host.
    pub host_name: bool,
    /// Set from outside when the user wants it to end.
    pub interrupted: Arc<AtomicBool>,
}

/// Runs unless told otherwise: the fewest with an interval.
pub const RUNS: u32 = 5;
const WARMUP: u32 = 1;

impl Request {
    /// What the command line says.
    ///
    /// # Errors
    /// What can't come to its end.
    pub fn new(args: &ServerlessArgs, interrupted: &Arc<AtomicBool>) -> Result<Request> {
        let legs = match args.leg.is_empty() {
            true => Leg::ALL.to_vec(),
            false => Leg::ALL.into_iter().filter(|leg| args.leg.contains(leg)).collect(),
        };
        if legs.contains(&Leg::Floor) && !legs.contains(&Leg::SqldHeld) {
            bail!("--leg floor imitates the messages of sqld-held: add that leg");
        }
        let engine = args.engine.as_deref().map_or(Ok(Engine::bundled()), Engine::load)?;
        let folder = server::folder(args.server.dir.as_deref())?;
        Ok(Request {
            parameters: args.parameters.clone(),
            legs,
            runs: args.runs.unwrap_or(RUNS),
            warmup: args.warmup.unwrap_or(WARMUP),
            engine,
            target: target(args, &folder)?,
            folder,
            keep: args.server.keep,
            quiet: args.output.quiet,
            host_name: args.output.host_name,
            interrupted: Arc::clone(interrupted),
        })
    }

    /// As the driver takes it.
    pub fn setting(&self) -> Setting {
        Setting {
            engine: self.engine.clone(),
            target: self.target.clone(),
            protocol: self.parameters.protocol,
            folder: self.folder.clone(),
            keep: self.keep,
            stop: Arc::clone(&self.interrupted),
        }
    }
}

/// The variable that may hold a token.
const TOKEN: &str = "REPRO_AUTH_TOKEN";

/// A server of our own, or the one that is named.
fn target(args: &ServerlessArgs, folder: &Path) -> Result<Target> {
    let remote = &args.remote;
    if let Some(url) = &remote.url {
        let token = match (&remote.auth_token_file, std::env::var(TOKEN)) {
            (Some(path), _) => Some(Token::read(path)?),
            (None, Ok(text)) => Some(Token::new(&text).context(TOKEN)?),
            (None, Err(_)) => None,
        };
        return Ok(Target::Remote(Address::parse(url, token)?));
    }
    Ok(Target::Own(server::own(&args.server, folder)?))
}
