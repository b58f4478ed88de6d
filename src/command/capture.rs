//! The subcommand `repro capture`.

use super::{cite, output, references};
use crate::cli::{CaptureArgs, CiteArgs, StudyOptions};
use crate::exit::Exit;
use crate::export;
use crate::figure::{FigureKey, Figures, Metric};
use crate::instrument::{captures, process};
use crate::record::store::{Destination, Target};
use crate::record::{Capture, Cause, Failure, Record};
use crate::stats::{FEWEST_RUNS, counted, pilot};
use crate::study::options::PlanArgs;
use crate::study::progress::Progress;
use crate::study::session::{self, Measured};
use crate::study::{Setting, Wishes};
use crate::verify::grade;
use anyhow::{Result, bail};
use clap::parser::ValueSource;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// The number of sessions.
const SESSIONS: u32 = 2;
/// The smallest and the largest number of runs in all sessions together.
const RUNS: std::ops::RangeInclusive<u32> = 10..=60;

/// Measures, and writes the record, the figures and the citation.
pub fn run(args: &CaptureArgs, interrupted: Arc<AtomicBool>) -> Result<Exit> {
    let options = args.chosen().map_err(anyhow::Error::msg)?;
    check_name(&args.name)?;
    let file = |ending: &str| -> PathBuf { args.dir.join(format!("{}.{ending}", args.name)) };
    let (json, csv, toml) = (file("json"), file("csv"), file("toml"));
    output::check(&[Some(&json), Some(&csv), Some(&toml)], args.force)?;
    let setting = args.watch.setting(interrupted);
    let measuring = Measuring { args, options, setting, json: &json };
    let record = measuring.record()?;
    let study = options.study;
    let figures = Figures::new(study.shape(), &record);
    let headline = study.headline(figures).ok().map(|headline| headline.key);
    output::write(&csv, &export::reference::figures(figures)?)?;
    output::write(&toml, &export::reference::about(figures, headline, &args.name)?)?;
    // What was written must be a reference that others can read.
    references::load(&csv, None)?;
    let citable = cite::run(&CiteArgs { record: json.clone(), author: None, url: None })?;
    output::print(&format!("\nwritten: {}, {}, {}\n", json.display(), csv.display(), toml.display()))?;
    Ok(citable)
}

fn check_name(name: &str) -> Result<()> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(fits) {
        bail!(
            "`{name}`: expected a name of letters, digits, `-`, `_` and `.` that does not begin with `.`; --dir names the folder"
        );
    }
    Ok(())
}

/// A capture that is under way.
struct Measuring<'a> {
    args: &'a CaptureArgs,
    options: &'a StudyOptions,
    setting: Setting,
    json: &'a Path,
}

impl Measuring<'_> {
    /// Measures the pilot and all sessions, and returns the record of the sessions.
    fn record(&self) -> Result<Record> {
        if self.given("until_ci") {
            bail!(
                "--until-ci: capture fixes the number of runs before it makes them; give --runs, or nothing"
            );
        }
        let (runs, pilot_runs) = self.plan()?;
        let destination = Destination::File { path: self.json.to_path_buf(), force: self.args.force.force };
        let mut record = self.session(1, runs, &destination)?;
        let attempt = captures::count(&record.study, &record.parameters)?;
        record.capture = Some(Capture { pilot_runs, attempt });
        for number in 2..=SESSIONS {
            if let Err(failure) = self.wait(number) {
                record.partial = Some(Failure::in_error(&failure));
                self.save(&record)?;
                return Err(failure);
            }
            let later = self.measured(number, runs, &Destination::Nowhere)?;
            record.append(later.record);
            self.save(&record)?;
            later.failure.map_or(Ok(()), Err)?;
        }
        Ok(record)
    }

    /// Returns the number of runs of each session, and of the pilot that it was foreseen from.
    fn plan(&self) -> Result<(Option<u32>, u32)> {
        if self.given("runs") {
            return Ok((None, 0));
        }
        self.says(&format!("pilot of {FEWEST_RUNS} runs, which fixes the number of those that count"));
        let pilot = self.measured(0, Some(FEWEST_RUNS), &Destination::Nowhere)?;
        pilot.failure.map_or(Ok(()), Err)?;
        let needed = self.needed(&pilot.record);
        let all = needed.unwrap_or(*RUNS.start()).clamp(*RUNS.start(), *RUNS.end());
        if needed.is_some_and(|needed| needed > all) {
            self.says(&format!("the pilot varies too much: {all} runs will not be enough for ±1 %"));
        }
        Ok((Some(all.div_ceil(SESSIONS)), FEWEST_RUNS))
    }

    /// Returns the number of runs that the cited figure needs, or without one the rate that needs most.
    fn needed(&self, pilot: &Record) -> Option<u32> {
        let study = self.options.study;
        let figures = Figures::new(study.shape(), pilot);
        let rates = || pilot.legs.iter().flat_map(|leg| figures.keys(leg, Metric::Rate)).collect();
        let keys: Vec<FigureKey> =
            study.headline(figures).map_or_else(|_| rates(), |headline| vec![headline.key]);
        let needed = |key: &FigureKey| {
            let values = figures.cited(key)?;
            let values: Vec<f64> = values.runs().iter().map(|(_, value)| *value).collect();
            pilot::runs_needed(&values, grade::WIDEST_INTERVAL)
        };
        keys.iter().filter_map(needed).max()
    }

    /// Measures a session that must succeed.
    fn session(&self, number: u32, runs: Option<u32>, destination: &Destination) -> Result<Record> {
        let measured = self.measured(number, runs, destination)?;
        measured.failure.map_or(Ok(measured.record), Err)
    }

    fn measured(&self, number: u32, runs: Option<u32>, destination: &Destination) -> Result<Measured> {
        if number > 0 {
            let runs = runs.map_or(String::new(), |runs| format!(", {}", counted(u64::from(runs), "run")));
            self.says(&format!("session {number} of {SESSIONS}{runs}"));
        }
        let plan = PlanArgs {
            runs,
            // CPU 0 serves most interrupts, so the last one is most likely to be quiet.
            pin: process::allowed_cpus().last().copied().filter(|_| !self.args.no_pin),
            ..PlanArgs::default()
        };
        let wishes = Wishes { plan, ..Wishes::default() };
        let task = self.options.study.asked(&self.options.matches, &wishes, &self.setting)?;
        session::measure(&*task, &self.setting, destination)
    }

    /// Waits until the next session is due.
    fn wait(&self, number: u32) -> Result<()> {
        let until = Instant::now() + Duration::from_secs_f64(self.args.apart);
        self.says(&format!("session {number} begins in {:.0} s", self.args.apart));
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            if self.setting.interrupted.load(std::sync::atomic::Ordering::Relaxed) {
                return Err(Failure::at(Cause::Interrupted, " between two sessions", "").into());
            }
            std::thread::sleep(left.min(Duration::from_millis(100)));
        }
        Ok(())
    }

    fn save(&self, record: &Record) -> Result<()> {
        Target::at(self.json, true)?.save(record)
    }

    fn given(&self, option: &str) -> bool {
        let matches = &self.options.matches;
        matches.try_contains_id(option).is_ok()
            && matches.value_source(option) == Some(ValueSource::CommandLine)
    }

    fn says(&self, text: &str) {
        let mut progress = Progress::new(self.setting.quiet);
        progress.stage(text);
        progress.clear();
    }
}
