//! The options of the studies beside speedtest1.

use super::{OutputArgs, positive_seconds};
use crate::suite::{load, oltp, serverless};
use clap::Args;
use std::path::PathBuf;

/// `repro run serverless`.
#[derive(Args, Clone, Default)]
pub struct ServerlessArgs {
    /// What is done.
    #[command(flatten)]
    pub parameters: serverless::Parameters,

    /// Only these legs; all when absent
    #[arg(long, value_enum, value_delimiter = ',', help_heading = "Workload")]
    pub leg: Vec<serverless::Leg>,

    /// A library with SQLite's C interface for the embedded leg, instead of the bundled SQLite
    #[arg(long, value_name = "LIBRARY", help_heading = "Engine")]
    pub engine: Option<PathBuf>,

    /// The server of the other legs.
    #[command(flatten)]
    pub server: ServerArgs,

    /// Or one that is not ours.
    #[command(flatten)]
    pub remote: RemoteArgs,

    /// Counted runs of each leg [default: 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Plan")]
    pub runs: Option<u32>,

    /// Runs before them that are not counted [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100), help_heading = "Plan")]
    pub warmup: Option<u32>,

    /// What becomes of the samples.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// The server.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Server")]
pub struct ServerArgs {
    /// The sqld to start [default: SQLD, PATH, vendor/; fetched when there is none]
    #[arg(long, value_name = "FILE")]
    pub sqld: Option<PathBuf>,

    /// A further argument for it, such as --sqld-arg=--checkpoint-interval-s=86400
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    pub sqld_arg: Vec<String>,

    /// Where the databases are made [default: where SQLite puts temporary files]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,

    /// Keep the databases
    #[arg(long)]
    pub keep: bool,
}

/// A server that is not ours.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Server")]
pub struct RemoteArgs {
    /// A server that runs elsewhere: ws://HOST:PORT, or wss://HOST with TLS. Its database gets our tables, which must
    /// not be there, and loses them afterwards
    #[arg(long, conflicts_with_all = ["sqld", "sqld_arg"])]
    pub url: Option<String>,

    /// A file with the token for --url [default: the variable REPRO_AUTH_TOKEN]
    #[arg(long, value_name = "FILE", requires = "url")]
    pub auth_token_file: Option<PathBuf>,
}

/// `repro run sweep`.
#[derive(Args, Clone)]
pub struct SweepArgs {
    /// What is done.
    #[command(flatten)]
    pub parameters: load::SweepParameters,

    /// Run all levels N times, each on a new server, and tell how often it wedges
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Plan")]
    pub until_wedged: Option<u32>,

    /// The server.
    #[command(flatten)]
    pub server: ServerArgs,

    /// Limits.
    #[command(flatten)]
    pub limits: LimitArgs,

    /// What becomes of the samples.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `repro run million`.
#[derive(Args, Clone)]
pub struct MillionArgs {
    /// What is done.
    #[command(flatten)]
    pub parameters: load::MillionParameters,

    /// The server.
    #[command(flatten)]
    pub server: ServerArgs,

    /// Limits.
    #[command(flatten)]
    pub limits: LimitArgs,

    /// What becomes of the samples.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Limits of server and clients together.
#[derive(Args, Clone)]
#[command(next_help_heading = "Machine")]
pub struct LimitArgs {
    /// CPU time per time for server and clients together, such as 1 or 0.5
    #[arg(long, value_name = "N", value_parser = cpus)]
    pub cpus: Option<f64>,

    /// Memory for server and clients together, page cache included, such as 969MiB
    #[arg(long, value_name = "BYTES", value_parser = load::parameters::memory)]
    pub memory_limit: Option<u64>,

    /// For how long the server is watched after each level, with nobody connected
    #[arg(long, value_name = "SECONDS", value_parser = positive_seconds, default_value = "10")]
    pub idle: f64,
}

impl Default for LimitArgs {
    fn default() -> Self {
        LimitArgs { cpus: None, memory_limit: None, idle: 10.0 }
    }
}

/// `repro run oltp`.
#[derive(Args, Clone)]
pub struct OltpArgs {
    /// What is done.
    #[command(flatten)]
    pub parameters: oltp::Parameters,

    /// Only this database; both when absent
    #[arg(long, value_enum, help_heading = "Workload")]
    pub leg: Option<oltp::Leg>,

    /// A library with SQLite's C interface to measure instead of the bundled SQLite
    #[arg(long, value_name = "LIBRARY", help_heading = "Engine")]
    pub engine: Option<PathBuf>,

    /// Another one, measured in turn with the first
    #[arg(long, value_name = "LIBRARY", help_heading = "Engine")]
    pub against: Option<PathBuf>,

    /// Runs of each leg
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Plan")]
    pub runs: u32,

    /// End a leg that takes longer than this
    #[arg(long, value_name = "SECONDS", value_parser = positive_seconds, default_value = "7200", help_heading = "Plan")]
    pub deadline: f64,

    /// Where the databases are made [default: where SQLite puts temporary files]
    #[arg(long, value_name = "DIR", help_heading = "Place")]
    pub dir: Option<PathBuf>,

    /// Keep the databases
    #[arg(long, help_heading = "Place")]
    pub keep: bool,

    /// Use the database in this folder, which --keep left, instead of a new one
    #[arg(long, value_name = "DIR", requires = "leg", conflicts_with = "keep", help_heading = "Place")]
    pub reuse: Option<PathBuf>,

    /// What becomes of the samples.
    #[command(flatten)]
    pub output: OutputArgs,
}

fn cpus(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(cpus) if (0.05..=1024.0).contains(&cpus) => Ok(cpus),
        _ => Err("expected a number of CPUs, from 0.05".to_string()),
    }
}
