//! The command line. Help, man page and completions are generated from these types; each study adds its own
//! options.

use crate::exit::Exit;
use crate::study::registry::{DEFAULT, STUDIES};
use crate::study::{Setting, Study, Wishes, parse};
use clap::{ArgMatches, Args, FromArgMatches, Parser, Subcommand};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Measures SQLite with its own speedtest1, and checks published SQLite figures.
///
/// Without a command, it measures the official tool, which was compiled from pinned sources with
/// `cc -O3 -DSQLITE_ENABLE_RTREE` and is inside this program: nothing is built or fetched. The tool runs once
/// to check its answers, once to warm up and six times for the figures. The table shows medians with 95 %
/// intervals, and every sample goes into a record.
#[derive(Parser)]
#[command(name = "repro", version, args_conflicts_with_subcommands = true, after_help = Exit::IN_WORDS)]
pub struct Cli {
    /// What to do; to measure with the official tool when absent.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Options of the measurement.
    #[command(flatten)]
    pub default: DefaultRun,
}

/// Subcommands.
#[derive(Subcommand)]
#[allow(clippy::large_enum_variant)]
pub enum Command {
    /// Measure a study; without a command, speedtest1 is measured
    #[command(subcommand)]
    Run(StudyRun),
    /// Judge published figures and claims by a new measurement or by an existing record
    Verify(VerifyArgs),
    /// Turn saved output of the official tool into records
    Import(ImportArgs),
    /// Print a record as a table, CSV or Markdown
    Show(ShowArgs),
    /// Print the citation of a record and the conditions of citation grade, met or open
    Cite(CiteArgs),
    /// Measure under strict conditions and write the record, figures and citation as a new reference
    Capture(CaptureArgs),
    /// Compare two records, figure by figure
    Compare(CompareArgs),
    /// List studies, references and engines
    List(ListArgs),
    /// Show what could spoil a measurement on this machine and what to do about it
    Doctor(DoctorArgs),
    /// Explain a topic, such as what a wedged server is
    Explain {
        /// The topic to explain; without one, all topics are listed
        topic: Option<String>,
    },
    /// Print the man page
    Man,
    /// Print a completion script
    Completions {
        /// The shell to complete for
        shell: clap_complete::Shell,
    },
    /// Print the JSON schema of records
    Schema,
    /// Run one leg of a study, as its parent says.
    #[command(hide = true)]
    Leg(LegArgs),
    /// Become another program that dies with its parent.
    #[command(hide = true)]
    Launch(LaunchArgs),
}

/// A study with the options that were given for it.
#[derive(Clone)]
pub struct StudyOptions {
    /// The study that the options belong to.
    pub study: &'static dyn Study,
    /// The parsed options.
    pub matches: ArgMatches,
}

/// A study to run, with its options and those of its output.
#[derive(Clone)]
pub struct StudyRun {
    /// The study with its options.
    pub options: StudyOptions,
    /// Where the samples are written.
    pub output: OutputArgs,
}

/// A run of the default study, which runs when none is named.
#[derive(Clone)]
pub struct DefaultRun(pub StudyRun);

/// The options of the default study, without those of its output.
#[derive(Clone)]
pub struct DefaultOptions(pub StudyOptions);

impl StudyRun {
    fn of(study: &'static dyn Study, matches: &ArgMatches) -> Result<StudyRun, clap::Error> {
        let output = OutputArgs::from_arg_matches(matches)?;
        Ok(StudyRun { options: StudyOptions { study, matches: matches.clone() }, output })
    }
}

impl FromArgMatches for StudyRun {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let chosen = matches
            .subcommand()
            .and_then(|(name, own)| Some((STUDIES.iter().find(|study| study.shape().name == name)?, own)));
        let missing = || clap::Error::new(clap::error::ErrorKind::MissingSubcommand);
        let (study, own) = chosen.ok_or_else(missing)?;
        StudyRun::of(*study, own)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        StudyRun::from_arg_matches(matches).map(|run| *self = run)
    }
}

impl Subcommand for StudyRun {
    fn augment_subcommands(command: clap::Command) -> clap::Command {
        let add = |command: clap::Command, study: &&'static dyn Study| {
            let own = OutputArgs::augment_args(study.options(clap::Command::new(study.shape().name)));
            // The docstring of a type of options would stand here otherwise.
            command.subcommand(own.about(study.shape().about).long_about(None))
        };
        STUDIES.iter().fold(command.subcommand_required(true).arg_required_else_help(true), add)
    }

    fn augment_subcommands_for_update(command: clap::Command) -> clap::Command {
        StudyRun::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        STUDIES.iter().any(|study| study.shape().name == name)
    }
}

impl FromArgMatches for DefaultRun {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        StudyRun::of(DEFAULT, matches).map(DefaultRun)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        DefaultRun::from_arg_matches(matches).map(|run| *self = run)
    }
}

impl Args for DefaultRun {
    fn augment_args(command: clap::Command) -> clap::Command {
        OutputArgs::augment_args(DEFAULT.options(command))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        DefaultRun::augment_args(command)
    }
}

impl FromArgMatches for DefaultOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(DefaultOptions(StudyOptions { study: DEFAULT, matches: matches.clone() }))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        DefaultOptions::from_arg_matches(matches).map(|options| *self = options)
    }
}

impl Args for DefaultOptions {
    fn augment_args(command: clap::Command) -> clap::Command {
        DEFAULT.options(command)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        DefaultOptions::augment_args(command)
    }
}

/// What is written where.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Where the record goes.
    #[command(flatten)]
    pub record: RecordArgs,

    /// The other formats.
    #[command(flatten)]
    pub formats: FormatArgs,

    /// How the measurement is watched.
    #[command(flatten)]
    pub watch: WatchArgs,
}

/// Where a record goes.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Output")]
pub struct RecordArgs {
    /// Write the record to this file, not to the records folder; several records go to a folder of this name
    #[arg(long, value_name = "FILE", conflicts_with = "no_record")]
    pub record: Option<PathBuf>,

    /// Write no record
    #[arg(long)]
    pub no_record: bool,
}

/// What a person sees, and what a record tells of the host.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Output")]
pub struct WatchArgs {
    /// Put the host name into the record
    #[arg(long)]
    pub host_name: bool,

    /// Show no progress
    #[arg(short, long)]
    pub quiet: bool,
}

impl WatchArgs {
    /// Returns the surroundings of a measurement that ends when `interrupted` is raised.
    pub fn setting(&self, interrupted: Arc<AtomicBool>) -> Setting {
        Setting { quiet: self.quiet, host_name: self.host_name, interrupted }
    }
}

/// Files that exist.
#[derive(Args, Clone, Copy, Default)]
#[command(next_help_heading = "Output")]
pub struct ForceArgs {
    /// Overwrite existing files
    #[arg(long)]
    pub force: bool,
}

/// The output formats beside the table, with one option for each.
#[derive(Clone, Default)]
pub struct FormatArgs {
    /// The files to write, each with its format.
    pub files: Vec<(&'static dyn crate::export::Format, PathBuf)>,
    /// Whether existing files are overwritten.
    pub force: ForceArgs,
}

impl FromArgMatches for FormatArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let file = |format: &&'static dyn crate::export::Format| {
            Some((*format, matches.get_one::<PathBuf>(format.name())?.clone()))
        };
        let files = crate::export::FORMATS.iter().filter_map(file).collect();
        Ok(FormatArgs { files, force: ForceArgs::from_arg_matches(matches)? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        FormatArgs::from_arg_matches(matches).map(|formats| *self = formats)
    }
}

impl Args for FormatArgs {
    fn augment_args(command: clap::Command) -> clap::Command {
        let option = |format: &&'static dyn crate::export::Format| {
            clap::Arg::new(format.name())
                .long(format.name())
                .value_name("FILE")
                .value_parser(clap::value_parser!(PathBuf))
                .help(format!("{} (- for standard output)", format.help()))
                .help_heading("Output")
        };
        ForceArgs::augment_args(command.args(crate::export::FORMATS.iter().map(option)))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        FormatArgs::augment_args(command)
    }
}

/// `repro verify`.
#[derive(Args)]
pub struct VerifyArgs {
    /// References: names such as sqlitend-sweep (see `repro list`), or CSV files, each with a TOML file of
    /// the same name beside it
    #[arg(required = true, value_name = "REFERENCE")]
    pub references: Vec<PathBuf>,

    /// An additional folder of references
    #[arg(long = "references", value_name = "DIR")]
    pub folder: Option<PathBuf>,

    /// Judge this record instead of measuring
    #[arg(long = "record", value_name = "FILE")]
    pub judged: Option<PathBuf>,

    /// Judge absolute values as well; meant for the same class of machine
    #[arg(long)]
    pub strict: bool,

    /// Write the verdicts as JSON (- for standard output)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write the verdicts as Markdown (- for standard output)
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,

    /// Files that exist.
    #[command(flatten)]
    pub force: ForceArgs,

    /// How the measurement is watched.
    #[command(flatten)]
    pub watch: WatchArgs,

    /// What is wished of the measurement.
    #[command(flatten)]
    pub wishes: Wishes,
}

/// `repro import`.
#[derive(Args)]
pub struct ImportArgs {
    /// The saved output (- for standard input)
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Where the records go.
    #[command(flatten)]
    pub record: RecordArgs,

    /// Files that exist.
    #[command(flatten)]
    pub force: ForceArgs,
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

    /// The author of the measurement, for the BibTeX entry [default: this program]
    #[arg(long, value_name = "NAME")]
    pub author: Option<String>,

    /// The address where the record is published, for the BibTeX entry
    #[arg(long)]
    pub url: Option<String>,
}

/// `repro capture`.
#[derive(Args)]
pub struct CaptureArgs {
    /// The name of the baseline: NAME.json, NAME.csv and NAME.toml are written
    pub name: String,

    /// The folder to write the files to
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,

    /// Do not bind the tool to a CPU
    #[arg(long, conflicts_with = "pin")]
    pub no_pin: bool,

    /// Files that exist.
    #[command(flatten)]
    pub force: ForceArgs,

    /// How the measurement is watched.
    #[command(flatten)]
    pub watch: WatchArgs,

    /// What is measured.
    #[command(flatten)]
    pub options: DefaultOptions,
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

    /// Exit with status 1 if the whole 95 % interval of a total shows that A is slower by more than this, and with 4 if
    /// the records do not decide it
    #[arg(long, value_name = "PERCENT", value_parser = parse::percent)]
    pub fail_over: Option<f64>,

    /// Compare records of different work, too, and list how it differs
    #[arg(long)]
    pub anyway: bool,

    /// Write the comparison as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write the comparison as Markdown; - is standard output
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,

    /// Write the figures as CSV; - is standard output
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,

    /// Whether existing files are overwritten.
    #[command(flatten)]
    pub force: ForceArgs,
}

/// `repro list`.
#[derive(Args)]
pub struct ListArgs {
    /// An additional folder of references
    #[arg(long = "references", value_name = "DIR")]
    pub folder: Option<PathBuf>,
}

/// `repro doctor`.
#[derive(Args)]
pub struct DoctorArgs {
    /// The folder for temporary files to examine [default: where SQLite puts them]
    #[arg(long, value_name = "DIR")]
    pub temp_dir: Option<PathBuf>,
}

/// `repro leg`.
#[derive(Args)]
pub struct LegArgs {
    /// The study
    pub study: String,
    /// The job, as JSON
    pub job: String,
}

/// `repro launch`.
#[derive(Args)]
pub struct LaunchArgs {
    /// The process whose end also ends the program
    #[arg(long)]
    pub parent: u32,
    /// The only CPU that the program may use
    #[arg(long)]
    pub cpu: Option<usize>,
    /// The files that move the program into a control group
    #[arg(long = "group")]
    pub groups: Vec<PathBuf>,
    /// The program and its arguments
    #[arg(last = true, required = true)]
    pub command: Vec<std::ffi::OsString>,
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
        let words = ["repro", "--size", "5", "--testset", "main,cte/20", "--json", "-", "--", "--nomemstat"];
        let cli = Cli::try_parse_from(words).unwrap();
        assert!(cli.command.is_none());
        let StudyRun { options, output } = cli.default.0;
        assert_eq!(options.matches.get_one::<u32>("size"), Some(&5));
        let extra: Vec<&String> = options.matches.get_many("extra").unwrap().collect();
        assert_eq!(extra, ["--nomemstat"]);
        assert_eq!(output.formats.files.len(), 1);
    }

    #[test]
    fn each_study_is_a_command() {
        for study in STUDIES {
            let cli = Cli::try_parse_from(["repro", "run", study.shape().name, "--quiet"]).ok().unwrap();
            let Some(Command::Run(run)) = cli.command else { panic!("{}", study.shape().name) };
            assert_eq!(run.options.study.shape().name, study.shape().name);
            assert!(run.output.watch.quiet);
        }
        assert!(Cli::try_parse_from(["repro", "run", "tpc-c"]).is_err());
        assert!(Cli::try_parse_from(["repro", "run"]).is_err());
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
