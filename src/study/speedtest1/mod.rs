//! SQLite's own benchmark, `test/speedtest1.c`: its options, its output, its known answers, and how it is
//! run.

pub mod answers;
pub mod args;
pub mod import;
pub mod line;
pub mod output;
mod run;
mod spelling;
mod step;
mod tables;
pub mod testset;

pub use args::{Database, Workload};
pub use output::{Banner, Event, RunOutput, Scanner, StepRow, VerificationHash};
pub use run::tool::{BUILD, unpack};
pub use step::StepKey;

use super::{PlanOption, Saved, Setting, Study, Task, Wishes};
use crate::figure::{Effect, FigureKey, Figures, Parameters, Phases, Printed, Shape, Tool, WHOLE};
use crate::record::Record;
use crate::report::Table;
use crate::report::citation::Headline;
use crate::report::table::seconds;
use anyhow::Result;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use std::sync::LazyLock;

/// The study `speedtest1`.
pub struct Speedtest1;

/// The name of the study's only leg.
const LEG: &str = "native";

static SHAPE: LazyLock<Shape> = LazyLock::new(|| Shape {
    name: "speedtest1",
    about: "SQLite's own speedtest1, the official C tool, built from pinned sources",
    legs: vec![LEG],
    phases: Phases::Rows,
    counts: &[],
    baseline: None,
    parameters: |written| super::all_parameters(written, Workload::check),
    effect,
    asked_for: |_| None,
    shrinks: |_, _| true,
    tool: Some(Tool { read, answer: known_answer }),
});

/// Reads again what the tool printed, as strictly as when it was measured.
fn read(output: &str, parameters: &Parameters) -> Result<Printed, String> {
    let workload: Workload = super::from_parameters(parameters).map_err(|error| error.to_string())?;
    let mut scanner = Scanner::new(workload.testset.names());
    let events = scanner.feed(output.as_bytes());
    if let Some(fault) =
        events.iter().find_map(|event| if let Event::Fault(fault) = event { Some(fault) } else { None })
    {
        return Err(fault.to_string());
    }
    let found = scanner.finish();
    Ok(Printed {
        source_id: found.banner.map(|banner| banner.source_id),
        rows: found.steps.iter().map(|row| (row.key.to_string(), row.reported_ms)).collect(),
        total_ms: found.total_ms,
        answer: found.hash.map(|hash| hash.to_string()),
    })
}

fn known_answer(version: &str, parameters: &Parameters) -> Option<String> {
    let workload: Workload = super::from_parameters(parameters).ok()?;
    answers::known(version, &workload).map(|known| known.to_string())
}

fn effect(parameter: &str) -> Effect {
    match parameter {
        "size" | "testset" | "repeat" => Effect::Work,
        // These change the tables and the statements, not how the engine runs them.
        "without_rowid" | "primarykey" | "strict" | "notnull" | "temp" | "big_transactions" => Effect::Work,
        "stats" => Effect::Nothing,
        _ => Effect::Setting,
    }
}

impl Study for Speedtest1 {
    fn shape(&self) -> &'static Shape {
        &SHAPE
    }

    fn options(&self, command: Command) -> Command {
        args::Options::augment_args(command)
    }

    fn asked(&self, matches: &ArgMatches, wishes: &Wishes, setting: &Setting) -> Result<Box<dyn Task>> {
        let options = args::Options::from_arg_matches(matches)?;
        Ok(Box::new(run::Measurement::new(options, wishes, setting)?))
    }

    fn published(
        &self,
        parameters: &Parameters,
        wishes: &Wishes,
        setting: &Setting,
    ) -> Result<Box<dyn Task>> {
        let workload = super::from_parameters(parameters)?;
        let options = args::Options { workload, ..args::Options::default() };
        Ok(Box::new(run::Measurement::new(options, wishes, setting)?))
    }

    fn takes(&self) -> &'static [PlanOption] {
        use PlanOption::*;
        &[Runs, Warmup, UntilCi, MaxRuns, Pin, Cooldown, Deadline, NoAnswerCheck, TempDir, BuildVariants]
    }

    fn tables(&self, figures: Figures) -> Vec<Table> {
        figures.record.legs.first().map(|leg| tables::rows(figures, leg)).into_iter().collect()
    }

    fn headline(&self, figures: Figures) -> Result<Headline, String> {
        headline(figures)
            .ok_or_else(|| "no counted run has a TOTAL, so there is no figure to cite".to_string())
    }

    fn check(&self, record: &Record) -> Result<(), String> {
        super::check_details_of_runs::<run::Detail>(record)
    }

    fn engines(&self) -> Vec<String> {
        let pin = if BUILD.pinned { "pinned" } else { "unpinned" };
        vec![
            format!(
                "speedtest1    SQLite {} ({}), {pin}, {}",
                BUILD.sqlite_version, BUILD.source_id, BUILD.command
            ),
            format!("              {}; sources from {}", BUILD.compiler_version, BUILD.origin),
        ]
    }

    fn in_our_spelling(&self, word: &str) -> Option<String> {
        spelling::in_our_spelling(word)
    }

    fn import(&self, saved: &Saved) -> Option<Result<Vec<Record>>> {
        Some(import::records(saved))
    }
}

/// Returns TOTAL, the figure that a record is cited for.
fn headline(figures: Figures) -> Option<Headline> {
    let leg = figures.record.legs.first()?;
    let key = FigureKey::row(WHOLE);
    let total = figures.cited(&key)?.summary()?;
    let interval = total.interval.map_or("no interval".to_string(), |i| {
        format!("95 % interval {} to {} s", seconds(i.low), seconds(i.high))
    });
    let size = figures.record.parameters.get("size");
    let size = size.map_or("size unknown".to_string(), |size| format!("--size {size}"));
    let version = leg.engine.sqlite_version.as_deref().unwrap_or("unknown");
    let stated = figures.record.stated().and_then(|stated| stated.flags.as_ref());
    let build = match (&leg.engine.build, stated) {
        (Some(build), _) => format!("{} {}", build.compiler, build.flags().join(" ")),
        (None, Some(flags)) => format!("built with {flags}, as stated"),
        (None, None) => "build unknown".to_string(),
    };
    let words = format!(
        "speedtest1 {size}, SQLite {version}: TOTAL {} s (median of {} runs, {interval}); {build}",
        seconds(total.median),
        total.n
    );
    Some(Headline { key, words })
}
