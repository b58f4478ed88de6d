//! The command line. Help, man page and completions are generated from these types; each study adds its own
//! options.

mod args;
mod shared;
mod study;

pub use args::{
    CaptureArgs, CiteArgs, CompareArgs, DoctorArgs, ImportArgs, LaunchArgs, LegArgs, ListArgs, ShowArgs,
    VerifyArgs,
};
pub use shared::{ForceArgs, FormatArgs, OutputArgs, RecordArgs, WatchArgs};
pub use study::{DefaultOptions, DefaultRun, StudyChoice, StudyOptions, StudyRun};

use crate::exit::Exit;
use crate::study::registry;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};
use std::ffi::OsString;

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

/// Parses a command line, in which options of a study's tool may be in the spelling of that tool.
///
/// # Errors
/// Names the word that can't be understood, with a tip; `--help` and `--version` come as errors, too.
pub fn parse(words: impl Iterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let words = registry::in_our_spelling(words);
    Cli::try_parse_from(&words).map_err(|mut error| {
        if let Some(name) = bare_name(&error).filter(|_| takes_database(&words)) {
            let tip = format!("a database is named with '--database {name}'");
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        }
        error
    })
}

/// Returns the word that is no option and that no command expects here.
fn bare_name(error: &clap::Error) -> Option<String> {
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(word)) if error.kind() == ErrorKind::UnknownArgument => {
            (!word.starts_with('-')).then(|| word.clone())
        }
        _ => None,
    }
}

/// Returns whether the command in these words has an option that names a database.
fn takes_database(words: &[OsString]) -> bool {
    let root = Cli::command();
    let named =
        words.iter().skip(1).fold(&root, |command, word| command.find_subcommand(word).unwrap_or(command));
    named.get_arguments().any(|argument| argument.get_long() == Some("database"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::registry::STUDIES;

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
    fn the_spelling_of_the_tool_is_understood() {
        let of = |line: &str| super::parse(line.split(' ').map(OsString::from));
        let cli = of("repro --size 1 -mmap 4M --journal WAL --utf16be").ok().unwrap();
        let matches = &cli.default.0.options.matches;
        assert_eq!(matches.get_one::<u32>("mmap"), Some(&4_000_000));
        assert!(of("repro --size 1 -nope").is_err());
        let told = |line: &str| of(line).err().unwrap().to_string();
        for line in ["repro --size 1 --memdb x.db", "repro run speedtest1 --stats x.db"] {
            assert!(told(line).contains("tip: a database is named with '--database x.db'"), "{}", told(line));
        }
        assert!(!told("repro run sweep x.db").contains("--database"), "{}", told("repro run sweep x.db"));
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
