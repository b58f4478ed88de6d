//! The command line. Help, man page and completions come from these types.

mod studies;

use crate::suite::scale::Scale;
use crate::suite::speedtest1::Workload;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
pub use studies::{LimitArgs, MillionArgs, OltpArgs, RemoteArgs, ServerArgs, ServerlessArgs, SweepArgs};

/// Measures SQLite with its own speedtest1, and checks published SQLite figures.
///
/// Without a command it builds nothing and fetches nothing: the official tool, compiled from pinned
/// sources as `cc -O3 -DSQLITE_ENABLE_RTREE`, is inside this program. It is run once to check its answers,
/// once to warm up and five times to be counted; the table shows medians with 95 % intervals, and every
/// sample goes into a record.
#[derive(Parser)]
#[command(name = "repro", version, args_conflicts_with_subcommands = true, after_help = EXIT_CODES)]
pub struct Cli {
    /// What to do; to measure speedtest1 when absent.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Options of the measurement.
    #[command(flatten)]
    pub run: RunArgs,
}

const EXIT_CODES: &str =
    "Exit status: 0 all reproduced, 1 something differs, 2 usage or bad input, 3 could not measure.";

/// Subcommands.
#[derive(Subcommand)]
#[allow(clippy::large_enum_variant)]
pub enum Command {
    /// Measure a suite (the same as no command at all, for speedtest1)
    #[command(subcommand)]
    Run(Suite),
    /// Judge published figures and claims: measure what the reference names, or take a record
    Verify(VerifyArgs),
    /// Turn saved speedtest1 output into records
    Import(ImportArgs),
    /// Print a record as a table, CSV or Markdown
    Show(ShowArgs),
    /// Print the citation of a record, with the conditions that it meets and those that it does not
    Cite(CiteArgs),
    /// Measure under strict conditions and write record, figures and citation as a new reference
    Capture(CaptureArgs),
    /// Compare two records, step by step
    Compare(CompareArgs),
    /// List suites, references and engines
    List(ListArgs),
    /// Say what would spoil a measurement on this machine, and what to do about it
    Doctor(DoctorArgs),
    /// Explain what a measurement may meet
    Explain {
        /// What
        what: Topic,
    },
    /// Print the man page
    Man,
    /// Print a completion script
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the JSON schema of records
    Schema,
    /// Run one leg of a suite, as its parent says.
    #[command(hide = true)]
    Leg(LegArgs),
    /// Become another program that dies with its parent.
    #[command(hide = true)]
    Launch(LaunchArgs),
}

/// What can be explained.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Topic {
    /// A server that answers no write any more
    Wedge,
}

/// What can be run.
#[derive(Subcommand)]
pub enum Suite {
    /// SQLite's own benchmark, the official C tool
    Speedtest1(RunArgs),
    /// A real workload through SQLite's C interface, in RAM and larger than RAM
    Oltp(OltpArgs),
    /// 15 steps of SQL, embedded and through a real sqld over a Hrana WebSocket
    Serverless(ServerlessArgs),
    /// 1 to 64 clients on a real sqld: where it collapses or wedges, and what avoids it
    Sweep(SweepArgs),
    /// Exactly a million statements of four clients on a real sqld
    Million(MillionArgs),
}

/// A measurement of speedtest1.
#[derive(Args, Clone)]
pub struct RunArgs {
    /// What the tool does.
    #[command(flatten)]
    pub workload: Workload,
    /// How often it does it.
    #[command(flatten)]
    pub plan: PlanArgs,
    /// Where it does it.
    #[command(flatten)]
    pub place: PlaceArgs,
    /// What becomes of the samples.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Repeats and limits.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Plan")]
pub struct PlanArgs {
    /// Counted runs [default: 5; capture: 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: Option<u32>,

    /// Runs before them that are not counted [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100))]
    pub warmup: Option<u32>,

    /// Go on until the 95 % interval of TOTAL is within ± this much of it, such as 1%
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub until_ci: Option<f64>,

    /// The most counted runs with --until-ci [default: 30]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub max_runs: Option<u32>,

    /// Bind the tool to this CPU
    #[arg(long, value_name = "CPU")]
    pub pin: Option<usize>,

    /// Pause before each run
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "0")]
    pub cooldown: f64,

    /// End a run that takes longer than this [default: 600 and 6 per unit of size above 100]
    #[arg(long, value_name = "SECONDS", value_parser = positive_seconds)]
    pub deadline: Option<f64>,

    /// Skip the untimed run that checks the answers
    #[arg(long)]
    pub no_answer_check: bool,
}

/// Where data is written.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Place")]
pub struct PlaceArgs {
    /// Use a database file of this name; it must not exist, and is removed afterwards
    #[arg(long, value_name = "FILE", conflicts_with = "memdb")]
    pub database: Option<PathBuf>,

    /// Keep the file that --database names
    #[arg(long, requires = "database")]
    pub keep_database: bool,

    /// Where SQLite puts temporary files (sets SQLITE_TMPDIR)
    #[arg(long, value_name = "DIR")]
    pub temp_dir: Option<PathBuf>,
}

/// What is written where.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Write the record to this file instead of the folder of records
    #[arg(long, value_name = "FILE", conflicts_with = "no_record")]
    pub record: Option<PathBuf>,

    /// Write no record
    #[arg(long)]
    pub no_record: bool,

    /// The other formats.
    #[command(flatten)]
    pub formats: FormatArgs,

    /// Put the host's name into the record
    #[arg(long)]
    pub host_name: bool,

    /// Show no progress
    #[arg(short, long)]
    pub quiet: bool,
}

/// Formats beside the table.
#[derive(Args, Clone, Default)]
pub struct FormatArgs {
    /// Write the figures as CSV (- is standard output)
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,

    /// Write everything as JSON (- is standard output)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write the table as Markdown (- is standard output)
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,

    /// Overwrite files that exist
    #[arg(long)]
    pub force: bool,
}

/// `repro verify`.
#[derive(Args)]
pub struct VerifyArgs {
    /// References: CSV files, each with a TOML file of the same name beside it
    #[arg(required = true, value_name = "REFERENCE.csv")]
    pub references: Vec<PathBuf>,

    /// Judge this record instead of measuring
    #[arg(long = "record", value_name = "FILE")]
    pub judged: Option<PathBuf>,

    /// Judge absolute times too: for the same class of machine
    #[arg(long)]
    pub strict: bool,

    /// Compile and run the other builds that a claim is about (about a minute)
    #[arg(long)]
    pub build_variants: bool,

    /// Write the verdicts as JSON (- is standard output)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write the verdicts as Markdown (- is standard output)
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,

    /// Overwrite files that exist
    #[arg(long)]
    pub force: bool,

    /// Repeats and limits.
    #[command(flatten)]
    pub plan: PlanArgs,

    /// Where databases are made: SQLite's temporary files, and those of oltp
    #[arg(long, value_name = "DIR")]
    pub temp_dir: Option<PathBuf>,

    /// The sqld of a study that needs a server [default: SQLD, PATH, vendor/; fetched when there is none]
    #[arg(long, value_name = "FILE")]
    pub sqld: Option<PathBuf>,

    /// Shrink a study: its rows and operations; of oltp also caches and the memory limit, of sweep the seconds of a level
    #[arg(long, value_name = "1/N")]
    pub scale: Option<Scale>,

    /// Show no progress
    #[arg(short, long)]
    pub quiet: bool,
}

/// `repro import`.
#[derive(Args)]
pub struct ImportArgs {
    /// The saved output (- is standard input)
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Write the record to this file; a file with several records needs a folder of that name
    #[arg(long, value_name = "FILE", conflicts_with = "no_record")]
    pub record: Option<PathBuf>,

    /// Write no record
    #[arg(long)]
    pub no_record: bool,

    /// Overwrite files that exist
    #[arg(long)]
    pub force: bool,
}

/// `repro show`.
#[derive(Args)]
pub struct ShowArgs {
    /// The record
    pub record: PathBuf,
    /// The other formats.
    #[command(flatten)]
    pub formats: FormatArgs,
}

/// `repro cite`.
#[derive(Args)]
pub struct CiteArgs {
    /// The record
    pub record: PathBuf,
}

/// `repro capture`.
#[derive(Args)]
pub struct CaptureArgs {
    /// Name of the baseline: NAME.json, NAME.csv and NAME.toml are written
    pub name: String,

    /// Folder to write them to
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,

    /// Do not bind the tool to a CPU
    #[arg(long, conflicts_with = "pin")]
    pub no_pin: bool,

    /// Overwrite files that exist
    #[arg(long)]
    pub force: bool,

    /// Put the host's name into the record
    #[arg(long)]
    pub host_name: bool,

    /// Show no progress
    #[arg(short, long)]
    pub quiet: bool,

    /// What the tool does.
    #[command(flatten)]
    pub workload: Workload,

    /// How often it does it.
    #[command(flatten)]
    pub plan: PlanArgs,

    /// Where it does it.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// `repro compare`.
#[derive(Args)]
pub struct CompareArgs {
    /// The record to compare
    #[arg(value_name = "A")]
    pub new: PathBuf,

    /// The record to compare it with; ratios are A / B
    #[arg(value_name = "B")]
    pub base: PathBuf,

    /// Exit with 1 when TOTAL of A is slower by more than this, and its whole interval is
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub fail_over: Option<f64>,
}

/// `repro list`.
#[derive(Args)]
pub struct ListArgs {
    /// Folder of references
    #[arg(long, value_name = "DIR", default_value = "reference")]
    pub references: PathBuf,
}

/// `repro doctor`.
#[derive(Args)]
pub struct DoctorArgs {
    /// Where SQLite would put temporary files
    #[arg(long, value_name = "DIR")]
    pub temp_dir: Option<PathBuf>,
}

/// `repro leg`.
#[derive(Args)]
pub struct LegArgs {
    /// The job, as JSON
    pub job: String,
}

/// `repro launch`.
#[derive(Args)]
pub struct LaunchArgs {
    /// Process whose end ends the program
    #[arg(long)]
    pub parent: u32,
    /// The only CPU for it
    #[arg(long)]
    pub cpu: Option<usize>,
    /// Files that take it into a control group
    #[arg(long = "group")]
    pub groups: Vec<PathBuf>,
    /// The program and its arguments
    #[arg(last = true, required = true)]
    pub command: Vec<std::ffi::OsString>,
}

/// A fraction, from `1%` or `1`.
fn percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(value) if value > 0.0 && value <= 100.0 => Ok(value / 100.0),
        _ => Err("expected a percentage above 0 and up to 100, such as 1%".to_string()),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=1e7).contains(&value) => Ok(value),
        _ => Err("expected seconds, 0 or more".to_string()),
    }
}

fn positive_seconds(text: &str) -> Result<f64, String> {
    match seconds(text) {
        Ok(value) if value > 0.0 => Ok(value),
        _ => Err("expected seconds, more than 0".to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn no_command_is_a_run() {
        let cli =
            Cli::try_parse_from(["repro", "--size", "5", "--testset", "main,cte/20", "--", "--nomemstat"])
                .unwrap();
        assert!(cli.command.is_none());
        assert_eq!(cli.run.workload.arguments(), ["--size", "5", "--testset", "main,cte/20", "--nomemstat"]);
    }

    #[test]
    fn numbers_that_make_no_sense_are_refused() {
        for bad in ["0", "-1", "100001", "99999999999999999999", "x", ""] {
            assert!(Cli::try_parse_from(["repro", "--size", bad]).is_err(), "--size {bad}");
        }
        for bad in ["0%", "-1", "x", "NaN", "101"] {
            assert!(Cli::try_parse_from(["repro", "--until-ci", bad]).is_err(), "--until-ci {bad}");
        }
    }
}
