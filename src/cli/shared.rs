//! Options that commands share.

use crate::study::Setting;
use clap::{ArgMatches, Args, FromArgMatches};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

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
