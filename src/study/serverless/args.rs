//! The options of the study.

use super::Leg;
use crate::instrument::hrana::Protocol;
use crate::study::Scale;
use crate::study::options::ServerArgs;
use clap::Args;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The options of `repro run serverless`.
#[derive(Args, Clone, Default)]
pub struct Options {
    /// What is done.
    #[command(flatten)]
    pub parameters: Parameters,

    /// Run only these legs [default: all]
    #[arg(long, value_enum, value_delimiter = ',', help_heading = "Workload")]
    pub leg: Vec<Leg>,

    /// The library with SQLite's C interface for the embedded leg, instead of the bundled SQLite
    #[arg(long, value_name = "LIBRARY", help_heading = "Engine")]
    pub engine: Option<PathBuf>,

    /// The server of the other legs.
    #[command(flatten)]
    pub server: ServerArgs,

    /// A server that runs elsewhere, in its place.
    #[command(flatten)]
    pub remote: RemoteArgs,

    /// The number of runs of each leg that count [default: 6]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Plan")]
    pub runs: Option<u32>,

    /// The number of warm-up runs, which come first and do not count [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100), help_heading = "Plan")]
    pub warmup: Option<u32>,
}

/// A server that somebody else runs.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Server")]
pub struct RemoteArgs {
    /// The address of a server that runs elsewhere: ws://HOST:PORT, or wss://HOST with TLS. The study creates
    /// the tables `items` and `blobs` in the server's database, where they must not exist, and drops them
    /// afterwards
    #[arg(long, conflicts_with_all = ["sqld", "sqld_arg"])]
    pub url: Option<String>,

    /// The file with the token for --url [default: the environment variable REPRO_AUTH_TOKEN]
    #[arg(long, value_name = "FILE", requires = "url")]
    pub auth_token_file: Option<PathBuf>,
}

/// What is done.
#[derive(Clone, Debug, PartialEq, Args, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[command(next_help_heading = "Workload")]
pub struct Parameters {
    /// The seed of the random rows and keys
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// Shrink the number of statements in each step
    #[arg(long, value_name = "1/N", default_value_t)]
    pub scale: Scale,

    /// The protocol between client and server
    #[arg(long, value_enum, default_value_t)]
    pub protocol: Protocol,
}

impl Default for Parameters {
    fn default() -> Self {
        Parameters { seed: 1, scale: Scale::default(), protocol: Protocol::default() }
    }
}
