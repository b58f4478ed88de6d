//! The parameters of both studies, and the plans that they result in.

use super::{MILLION_PHASE, Mix};
use crate::study::options::ServerArgs;
use crate::study::{Scale, parse};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

/// The options of `repro run sweep`.
#[derive(Args, Clone)]
pub struct SweepOptions {
    /// What is done.
    #[command(flatten)]
    pub parameters: SweepParameters,

    /// Run all levels N times, each level on a new server, and report how often it wedges
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Plan")]
    pub repeat: Option<u32>,

    /// The server.
    #[command(flatten)]
    pub server: ServerArgs,

    /// Limits.
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// The options of `repro run million`.
#[derive(Args, Clone)]
pub struct MillionOptions {
    /// What is done.
    #[command(flatten)]
    pub parameters: MillionParameters,

    /// The server.
    #[command(flatten)]
    pub server: ServerArgs,

    /// Limits.
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// Limits of server and clients together.
#[derive(Args, Clone)]
#[command(next_help_heading = "Machine")]
pub struct LimitArgs {
    /// The number of CPUs that server and clients may use together, such as 1 or 0.5
    #[arg(long, value_name = "N", value_parser = cpus)]
    pub cpus: Option<f64>,

    /// The memory limit for server and clients together, including the page cache, such as 969MiB
    #[arg(long, value_name = "BYTES", value_parser = memory)]
    pub memory_limit: Option<u64>,

    /// How long to watch the server after each level, with no client connected
    #[arg(long, value_name = "SECONDS", value_parser = parse::positive_seconds, default_value = "10")]
    pub idle: f64,
}

impl Default for LimitArgs {
    fn default() -> Self {
        LimitArgs { cpus: None, memory_limit: None, idle: 10.0 }
    }
}

fn cpus(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(cpus) if (0.05..=1024.0).contains(&cpus) => Ok(cpus),
        _ => Err("expected a number of CPUs from 0.05 to 1024".to_string()),
    }
}

/// How a client uses streams, which are connections to SQLite inside the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Streams {
    /// A new stream for each statement, as the published client uses
    #[default]
    PerStatement,
    /// One stream for all statements of a client
    Held,
}

impl Streams {
    /// Both ways to use streams.
    pub const ALL: [Streams; 2] = [Streams::PerStatement, Streams::Held];

    /// Returns the name of the leg in records and references.
    pub fn leg(self) -> &'static str {
        match self {
            Streams::PerStatement => "sqld",
            Streams::Held => "sqld-held",
        }
    }
}

/// What is done in a sweep.
#[derive(Clone, Debug, PartialEq, Args, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[command(next_help_heading = "Workload")]
pub struct SweepParameters {
    /// The numbers of clients, one for each level
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1,4,8,16,32,64", value_parser = clap::value_parser!(u32).range(1..=MOST_CLIENTS as i64))]
    pub clients: Vec<u32>,

    /// The length of each level in seconds
    #[arg(long, default_value_t = 35, value_parser = clap::value_parser!(u64).range(1..=7200))]
    pub seconds: u64,

    /// The mix of statements: write-heavy (30 % writes), read-heavy (20 % writes), or shares such as
    /// insert=18,update=12,point=35,range=20,top=15
    #[arg(long, default_value_t = Mix::WRITE_HEAVY)]
    pub mix: Mix,

    /// How a client uses streams, which are connections to SQLite inside the server
    #[arg(long, value_enum, default_value_t)]
    pub stream: Streams,

    /// The seed of the random rows, keys and kinds of statements
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// The number of rows before the first level
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1000..=10_000_000))]
    pub rows: u64,

    /// Start a new server with a new database for each level
    #[arg(long)]
    #[serde(skip_serializing_if = "is_false")]
    pub fresh_server: bool,

    /// Statements per second, sent on a schedule and timed from when they were due; without this option, each
    /// client waits for an answer before it sends the next statement
    #[arg(long, value_name = "PER_SECOND", value_parser = rate)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
}

/// What is done in the million.
#[derive(Clone, Debug, PartialEq, Args, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[command(next_help_heading = "Workload")]
pub struct MillionParameters {
    /// The number of clients
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=MOST_CLIENTS as i64))]
    pub clients: u32,

    /// The exact total number of statements
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(100..=20_000_000))]
    pub statements: u64,

    /// The mix of statements: write-heavy (30 % writes), read-heavy (20 % writes), or shares such as
    /// insert=12,update=8,point=35,range=25,top=20
    #[arg(long, default_value_t = Mix::READ_HEAVY)]
    pub mix: Mix,

    /// How a client uses streams, which are connections to SQLite inside the server
    #[arg(long, value_enum, default_value_t)]
    pub stream: Streams,

    /// The seed of the random rows, keys and kinds of statements
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// The number of rows before the first statement
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1000..=10_000_000))]
    pub rows: u64,

    /// Statements per second, sent on a schedule and timed from when they were due; without this option, each
    /// client waits for an answer before it sends the next statement
    #[arg(long, value_name = "PER_SECOND", value_parser = rate)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,

    /// Shrink the number of statements and the number of rows
    #[arg(long, value_name = "1/N", default_value_t)]
    pub scale: Scale,
}

/// The largest number of clients: more would reach sqld's limit of 128 streams, some of which are needed for
/// watching.
const MOST_CLIENTS: u32 = 120;

impl Default for SweepParameters {
    fn default() -> Self {
        SweepParameters {
            clients: vec![1, 4, 8, 16, 32, 64],
            seconds: 35,
            mix: Mix::WRITE_HEAVY,
            stream: Streams::default(),
            seed: 1,
            rows: 100_000,
            fresh_server: false,
            rate: None,
        }
    }
}

impl Default for MillionParameters {
    fn default() -> Self {
        MillionParameters {
            clients: 4,
            statements: 1_000_000,
            mix: Mix::READ_HEAVY,
            stream: Streams::default(),
            seed: 1,
            rows: 100_000,
            rate: None,
            scale: Scale::default(),
        }
    }
}

/// When a level ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Until {
    /// The level ends after this many seconds.
    Seconds(u64),
    /// The level ends after this many statements.
    Statements(u64),
}

/// One level: a number of clients that run at the same time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// The name of the phase.
    pub phase: String,
    /// The number of clients.
    pub clients: u32,
    /// When the level ends.
    pub until: Until,
}

/// What is done, level by level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The levels in the order in which they run.
    pub levels: Vec<Level>,
    /// The mix of kinds of statements.
    pub mix: Mix,
    /// How a client uses streams.
    pub streams: Streams,
    /// The seed of the rows, keys and kinds.
    pub seed: u64,
    /// The number of rows before the first level.
    pub rows: u64,
    /// Whether each level has a new server.
    pub fresh_server: bool,
    /// The number of statements due per second; `None` if each client sends one after the other.
    pub rate: Option<f64>,
}

impl SweepParameters {
    /// Returns the plan of a sweep, with one level for each number of clients.
    pub fn plan(&self) -> Plan {
        let level = |clients: &u32| Level {
            phase: format!("clients-{clients}"),
            clients: *clients,
            until: Until::Seconds(self.seconds),
        };
        Plan {
            levels: self.clients.iter().map(level).collect(),
            mix: self.mix,
            streams: self.stream,
            seed: self.seed,
            rows: self.rows,
            fresh_server: self.fresh_server,
            rate: self.rate,
        }
    }

    /// Checks values from a file, which is not bound by the limits of the command line.
    ///
    /// # Errors
    /// Names the parameter and the values that it may have.
    pub fn check(&self) -> Result<(), String> {
        if self.clients.is_empty() || self.clients.iter().any(|n| !(1..=MOST_CLIENTS).contains(n)) {
            return Err(format!("clients: expected numbers from 1 to {MOST_CLIENTS}"));
        }
        let mut once = self.clients.clone();
        once.sort_unstable();
        once.dedup();
        if once.len() < self.clients.len() {
            return Err("clients: a number appears twice".to_string());
        }
        parse::within("seconds", self.seconds, 1, 7200)?;
        parse::within("rows", self.rows, 1000, 10_000_000)?;
        check_rate(self.rate)
    }
}

impl MillionParameters {
    /// Returns the plan of the million, which has one level.
    pub fn plan(&self) -> Plan {
        let level = Level {
            phase: MILLION_PHASE.to_string(),
            clients: self.clients,
            until: Until::Statements(self.scale.of(self.statements)),
        };
        Plan {
            levels: vec![level],
            mix: self.mix,
            streams: self.stream,
            seed: self.seed,
            rows: self.scale.of(self.rows).max(1000),
            fresh_server: true,
            rate: self.rate,
        }
    }

    /// Checks values from a file, which is not bound by the limits of the command line.
    ///
    /// # Errors
    /// Names the parameter and the values that it may have.
    pub fn check(&self) -> Result<(), String> {
        parse::within("clients", u64::from(self.clients), 1, u64::from(MOST_CLIENTS))?;
        parse::within("statements", self.statements, 100, 20_000_000)?;
        parse::within("rows", self.rows, 1000, 10_000_000)?;
        check_rate(self.rate)
    }
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().unwrap_or(f64::NAN);
    check_rate(Some(rate)).map(|()| rate)
}

fn check_rate(rate: Option<f64>) -> Result<(), String> {
    match rate.is_none_or(|rate| (0.1..=1e6).contains(&rate)) {
        true => Ok(()),
        false => Err("rate: expected statements per second, from 0.1 to 1000000".to_string()),
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn memory(text: &str) -> Result<u64, String> {
    match parse::bytes(text)? {
        bytes if bytes >= 64 << 20 => Ok(bytes),
        _ => Err("expected at least 64 MiB".to_string()),
    }
}
