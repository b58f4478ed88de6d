//! The options of each command.

use super::{DefaultOptions, ForceArgs, FormatArgs, RecordArgs, StudyChoice, StudyOptions, WatchArgs};
use crate::study::{Wishes, parse};
use clap::Args;
use std::path::PathBuf;

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
    /// The saved outputs (- for standard input)
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// State the compiler flags, such as "-O3 -DSQLITE_ENABLE_RTREE"
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    pub flags: Option<String>,

    /// State the machine
    #[arg(long, value_name = "TEXT")]
    pub machine: Option<String>,

    /// State the date of the measurement, such as 2026-11-30
    #[arg(long, value_name = "DATE")]
    pub date: Option<jiff::civil::Date>,

    /// State the testsets, where the rows leave them open
    #[arg(long, value_name = "LIST")]
    pub testset: Option<String>,

    /// Write the record as a reference, NAME.csv and NAME.toml; what is missing is marked
    #[arg(long, value_name = "NAME")]
    pub reference: Option<PathBuf>,

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

    /// The pause between the two sessions; citation grade needs at least 600
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = parse::seconds)]
    pub apart: f64,

    /// Files that exist.
    #[command(flatten)]
    pub force: ForceArgs,

    /// How the measurement is watched.
    #[command(flatten)]
    pub watch: WatchArgs,

    /// What is measured instead of the default study.
    #[command(subcommand)]
    pub study: Option<StudyChoice>,

    /// What is measured of the default study.
    #[command(flatten)]
    pub options: DefaultOptions,
}

impl CaptureArgs {
    /// Returns the study to measure with its options.
    ///
    /// # Errors
    /// Names an option of the default study that was given for another.
    pub fn chosen(&self) -> Result<&StudyOptions, String> {
        let Some(choice) = &self.study else { return Ok(&self.options.0) };
        match self.options.given() {
            None => Ok(&choice.0),
            Some(option) => {
                Err(format!("--{option}: options of {} stand behind its name", choice.0.study.shape().name))
            }
        }
    }
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
