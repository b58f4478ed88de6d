//! The options of studies: each study adds its own to the command that runs it.

use super::OutputArgs;
use crate::study::Study;
use crate::study::registry::{DEFAULT, STUDIES};
use clap::{ArgMatches, Args, FromArgMatches, Subcommand};

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

/// Returns the study that a subcommand names, with its matches.
fn chosen(matches: &ArgMatches) -> Result<(&'static dyn Study, &ArgMatches), clap::Error> {
    let chosen = matches
        .subcommand()
        .and_then(|(name, own)| Some((*STUDIES.iter().find(|study| study.shape().name == name)?, own)));
    chosen.ok_or_else(|| clap::Error::new(clap::error::ErrorKind::MissingSubcommand))
}

/// Adds each study as a subcommand, with its options and those that `more` adds.
fn add_studies(command: clap::Command, more: fn(clap::Command) -> clap::Command) -> clap::Command {
    let add = |command: clap::Command, study: &&'static dyn Study| {
        let own = more(study.options(clap::Command::new(study.shape().name)));
        // The docstring of a type of options would stand here otherwise.
        command.subcommand(own.about(study.shape().about).long_about(None))
    };
    STUDIES.iter().fold(command, add)
}

impl FromArgMatches for StudyRun {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let (study, own) = chosen(matches)?;
        StudyRun::of(study, own)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        StudyRun::from_arg_matches(matches).map(|run| *self = run)
    }
}

impl Subcommand for StudyRun {
    fn augment_subcommands(command: clap::Command) -> clap::Command {
        let command = command.subcommand_required(true).arg_required_else_help(true);
        add_studies(command, OutputArgs::augment_args)
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

/// A study by its name, with its options.
#[derive(Clone)]
pub struct StudyChoice(pub StudyOptions);

impl FromArgMatches for StudyChoice {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let (study, own) = chosen(matches)?;
        Ok(StudyChoice(StudyOptions { study, matches: own.clone() }))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        StudyChoice::from_arg_matches(matches).map(|choice| *self = choice)
    }
}

impl Subcommand for StudyChoice {
    fn augment_subcommands(command: clap::Command) -> clap::Command {
        add_studies(command, |command| command)
    }

    fn augment_subcommands_for_update(command: clap::Command) -> clap::Command {
        StudyChoice::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        StudyRun::has_subcommand(name)
    }
}

impl DefaultOptions {
    /// Returns an option of the default study that the user gave.
    pub fn given(&self) -> Option<String> {
        let own = DEFAULT.options(clap::Command::new(DEFAULT.shape().name));
        let given = |argument: &&clap::Arg| {
            let id = argument.get_id().as_str();
            self.0.matches.value_source(id) == Some(clap::parser::ValueSource::CommandLine)
        };
        own.get_arguments().find(given).map(|argument| argument.get_long().unwrap_or("").to_string())
    }
}
