//! Measures: the answers are checked first, then the tool runs as often as the plan says.

mod clock;
mod request;
mod samples;
pub mod tool;
mod variant;

pub use samples::{Detail, detail};

use super::args::Options;
use super::{BUILD, Database, Workload, answers};
use crate::instrument::folders;
use crate::machine::noise;
use crate::record::{Answer, Cause, Failure, Leg, Record};
use crate::study::plan::{Next, Plan};
use crate::study::{Session, Setting, Task, Wishes};
use anyhow::Result;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tool::{Place, ToolRun};

/// The name of a build of the tool without the R-tree, which is made for the claim about it.
const WITHOUT_RTREE: &str = "without-rtree";
const WITHOUT_RTREE_FLAGS: &[&str] = &["-O3"];
/// The number of runs of that build, as in the publication.
const PROBE_RUNS: usize = 3;
/// The largest number of runs that are repeated because the wall clock was stepped.
const MOST_REJECTIONS: usize = 3;

/// A measurement, checked and ready to run.
pub struct Measurement {
    workload: Workload,
    plan: Plan,
    /// The only CPU that the tool may use.
    cpu: Option<usize>,
    /// The longest time that one run may take.
    deadline: Duration,
    /// Whether the answers are checked first.
    check_answer: bool,
    place: super::args::PlaceArgs,
    /// Whether other builds are probed, too.
    variants: bool,
    cache: PathBuf,
    /// The path of the unpacked executable.
    tool: PathBuf,
    /// The path of this program, which launches the executable.
    launcher: PathBuf,
}

impl Measurement {
    /// Checks the options against each other and against the machine, and unpacks the executable.
    ///
    /// # Errors
    /// Names the option that can't be satisfied, and says what to do.
    pub fn new(options: Options, wishes: &Wishes, _: &Setting) -> Result<Measurement> {
        request::checked(options, wishes, folders::cache()?)
    }

    fn place(&self) -> Place<'_> {
        Place {
            tool: &self.tool,
            launcher: &self.launcher,
            database: self.place.database.as_deref(),
            temporary: self.place.temp_dir.as_deref(),
            cpu: self.cpu,
            deadline: self.deadline,
        }
    }

    fn carry_out(&self, session: &mut Session) -> Result<()> {
        if self.check_answer {
            self.check_answer(session)?;
        }
        if self.variants {
            self.probe_variants(session)?;
        }
        loop {
            let leg = leg(session);
            let warmups = leg.runs.iter().filter(|run| run.warmup).count() as u32;
            match self.plan.next(warmups, &samples::totals(&session.record)) {
                Next::Done => return Ok(()),
                next => self.run(session, next == Next::WarmUp)?,
            }
            session.save()?;
        }
    }

    /// Makes one untimed run with `--verify`, whose hash shows whether this build computes the right results.
    fn check_answer(&self, session: &mut Session) -> Result<()> {
        session.progress.stage("checking the answers: one untimed run with --verify");
        let workload = Workload { verify: true, stats: false, ..self.workload.clone() };
        let run = tool::run(&self.place(), &workload, &session.interrupted, &mut |_, _| {})?;
        leg(session).answer_output = Some(run.stdout);
        let unprinted = || Failure::saying(Cause::UnsoundOutput, "it printed no verification hash");
        let hash = match (run.failure, run.output.hash) {
            (None, Some(hash)) => hash,
            (failure, _) => {
                let failure = failure.unwrap_or_else(unprinted).of_part("the answer check failed");
                leg(session).answer = Answer::NotChecked { reason: failure.to_string() };
                return Err(failure.into());
            }
        };
        let answer = answers::judge(Some(BUILD.sqlite_version), &self.workload, &hash);
        leg(session).answer = answer.clone();
        if let Answer::Wrong { found, expected } = answer {
            let message =
                format!("wrong answers: verification hash {found}, expected {expected}; nothing was timed");
            return Err(Failure::saying(Cause::WrongAnswer, message).into());
        }
        session.save()
    }

    fn probe_variants(&self, session: &mut Session) -> Result<()> {
        session.progress.stage("compiling speedtest1 without SQLITE_ENABLE_RTREE");
        let tool = variant::build(WITHOUT_RTREE_FLAGS, &self.cache)?;
        let place = Place { tool: &tool, database: None, ..self.place() };
        let variant =
            variant::probe(WITHOUT_RTREE, WITHOUT_RTREE_FLAGS, &place, PROBE_RUNS, &session.interrupted)?;
        session.record.variants.push(variant);
        session.save()
    }

    fn run(&self, session: &mut Session, warmup: bool) -> Result<()> {
        let number = leg(session).runs.len() as u32 + 1;
        if number > 1 {
            self.cool_down(session)?;
        }
        let (label, after) = self.label(leg(session).counted().len() as u32, warmup);
        session.progress.run_begins(label, after);
        let watch = noise::Watch::begin();
        let progress = &mut session.progress;
        let mut run = tool::run(&self.place(), &self.workload, &session.interrupted, &mut |key, name| {
            progress.step_begins(&key.to_string(), name);
        })?;
        let noise = watch.end();
        run.failure = run.failure.or_else(|| clock::fault(&noise));
        session.progress.run_ends();
        samples::keep(leg(session), number, warmup, &run, noise);
        judge(leg(session), run)
    }

    /// Returns the label of a run, and the smallest number of runs that follow it.
    fn label(&self, done: u32, warmup: bool) -> (String, u32) {
        let rest = self.plan.runs.saturating_sub(done);
        if warmup {
            return ("warm-up".to_string(), rest);
        }
        let of = if self.plan.until.is_some() { "at least " } else { "" };
        let all = self.plan.runs.max(done + 1);
        (format!("run {} of {of}{all}", done + 1), rest.saturating_sub(1))
    }

    fn cool_down(&self, session: &Session) -> Result<()> {
        let until = Instant::now() + self.plan.cooldown;
        while Instant::now() < until {
            if session.is_interrupted() {
                return Err(Failure::at(Cause::Interrupted, " between two runs", "").into());
            }
            std::thread::sleep(Duration::from_millis(50).min(self.plan.cooldown));
        }
        Ok(())
    }
}

/// Decides whether a failed run ends the measurement. Every failure does, except that a stepped clock is
/// tolerated a few times.
fn judge(leg: &Leg, run: ToolRun) -> Result<()> {
    let Some(failure) = run.failure else { return Ok(()) };
    let rejections = leg.runs.iter().filter(|run| run.rejected.is_some()).count();
    if failure.cause == Cause::ClockStepped && rejections <= MOST_REJECTIONS {
        return Ok(());
    }
    Err(failure.into())
}

fn leg(session: &mut Session) -> &mut Leg {
    &mut session.record.legs[0]
}

impl Task for Measurement {
    fn record(&self) -> Record {
        samples::new_record(self)
    }

    fn folder(&self) -> Option<PathBuf> {
        (self.workload.database != Database::Memory).then(|| request::directory(&self.place))
    }

    fn measure(&self, session: &mut Session) -> Result<()> {
        let result = self.carry_out(session);
        if !self.place.keep_database {
            for file in self.place.database.iter().flat_map(|path| request::database_files(path)) {
                let _ = std::fs::remove_file(file);
            }
        }
        result
    }
}
