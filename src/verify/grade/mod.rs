//! Decides whether a record is fit to be cited, condition by condition.

mod machine;
mod printed;
mod sound;

use super::noise::Noise;
use crate::figure::{FigureKey, Figures, Metric};
use crate::record::{Answer, Flag, Leg, Record};
use crate::stats;
use std::collections::BTreeSet;

/// A condition of citation grade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// This program measured the record, and the plan was carried out completely.
    MeasuredWhole,
    /// Each engine reported its version and source id.
    KnownEngines,
    /// Each engine is the pinned one.
    Pinned,
    /// The tool was compiled with the cited flags and no others.
    ExactFlags,
    /// The answers of every run are right.
    RightAnswers,
    /// All legs ran the same statements.
    SameStatements,
    /// TOTAL is the sum of its rows.
    TotalAddsUp,
    /// The samples can be what they say: every phase in every run, no run twice, and no more time than passed.
    SoundRuns,
    /// The tool printed the samples, and the answer, that are in the record.
    RawOutput,
    /// The file is as it was written.
    UnchangedFile,
    /// There are enough runs for an interval.
    EnoughRuns,
    /// The interval of the cited figure is narrow.
    NarrowInterval,
    /// Nothing else kept the machine busy.
    QuietMachine,
    /// The machine was as fast at any time as at any other.
    SteadyMachine,
    /// The values do not depend on the order of the runs.
    NoTrend,
    /// The runs were made in two sessions that agree.
    TwoSessions,
    /// The number of runs was fixed beforehand.
    FixedRuns,
    /// Nothing in the environment changes how programs run.
    KnownEnvironment,
    /// The tool's clock can be trusted.
    SaneClock,
    /// The program that measured can be found again by its revision.
    KnownProgram,
}

impl Requirement {
    /// Returns the name used in a citation.
    pub fn words(self) -> &'static str {
        match self {
            Requirement::MeasuredWhole => "measured, and whole",
            Requirement::KnownEngines => "known engines",
            Requirement::Pinned => "pinned sources",
            Requirement::ExactFlags => "exact flags",
            Requirement::RightAnswers => "right answers",
            Requirement::SameStatements => "same statements",
            Requirement::TotalAddsUp => "TOTAL adds up",
            Requirement::SoundRuns => "sound runs",
            Requirement::RawOutput => "raw output agrees",
            Requirement::UnchangedFile => "unchanged file",
            Requirement::EnoughRuns => "at least 6 runs",
            Requirement::NarrowInterval => "interval within ±1 %",
            Requirement::QuietMachine => "quiet machine",
            Requirement::SteadyMachine => "steady machine",
            Requirement::NoTrend => "no trend",
            Requirement::TwoSessions => "two sessions",
            Requirement::FixedRuns => "number of runs fixed",
            Requirement::KnownEnvironment => "known environment",
            Requirement::SaneClock => "sane clock",
            Requirement::KnownProgram => "known program",
        }
    }
}

/// A condition, and whether a record meets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The requirement that the condition makes.
    pub requirement: Requirement,
    /// Whether the condition is met; `None` when the record does not say.
    pub met: Option<bool>,
    /// The fact that decides it.
    pub detail: String,
}

/// The largest half-width of the cited figure's interval, as a fraction of the figure.
pub const WIDEST_INTERVAL: f64 = 0.01;
/// The shortest pause between two sessions in s.
pub const LEAST_PAUSE_S: f64 = 600.0;
/// The flags of the published build; see [`crate::record::BuildFacts::command`].
const CITED_COMMAND: &str = "-O3 -DSQLITE_ENABLE_RTREE speedtest1.c sqlite3.c -lpthread -ldl -lm";

/// The pin: `NAME_sha256=` for each source.
const PIN: &str = include_str!("../../../vendor/sqlite.lock");

/// What the conditions are decided by.
struct Judged<'a> {
    figures: Figures<'a>,
    record: &'a Record,
    /// The figure that a citation gives; without one, the rate with the widest interval is judged.
    headline: Option<FigureKey>,
    /// What the runs saw of the machine.
    noise: Option<Noise>,
}

/// Returns the conditions of citation grade that apply to a record; `headline` is the figure that its
/// citation gives.
pub fn conditions(figures: Figures, headline: Option<FigureKey>) -> Vec<Condition> {
    let noise = Noise::of(figures.record, figures.shape);
    let judged = Judged { figures, record: figures.record, headline, noise };
    if judged.record.legs.is_empty() {
        return Vec::new();
    }
    let all = [
        Some(judged.measured_whole()),
        judged.engines(),
        Some(judged.pinned()),
        judged.flags(),
        Some(judged.answers()),
        judged.same_statements(),
        judged.total_adds_up(),
        Some(judged.sound()),
        judged.raw_output(),
        judged.unchanged(),
        Some(judged.runs()),
        Some(judged.interval()),
        Some(judged.quiet()),
        Some(judged.steady()),
        Some(judged.no_trend()),
        Some(judged.sessions()),
        Some(judged.fixed()),
        Some(judged.environment()),
        judged.clock(),
        Some(judged.program()),
    ];
    all.into_iter().flatten().collect()
}

/// Returns whether there are conditions and all of them are met.
pub fn citable(conditions: &[Condition]) -> bool {
    !conditions.is_empty() && conditions.iter().all(|condition| condition.met == Some(true))
}

fn condition(requirement: Requirement, met: Option<bool>, detail: impl Into<String>) -> Condition {
    Condition { requirement, met, detail: detail.into() }
}

/// Returns the names of the legs for which a condition does not hold.
fn without<'a>(legs: impl Iterator<Item = &'a Leg>, holds: impl Fn(&Leg) -> bool) -> Vec<&'a str> {
    legs.filter(|leg| !holds(leg)).map(|leg| leg.name.as_str()).collect()
}

impl<'a> Judged<'a> {
    /// Returns the legs that ran SQL, which an echo does not.
    fn sql_legs(&self) -> impl Iterator<Item = &'a Leg> + use<'a> {
        self.record.legs.iter().filter(|leg| leg.engine.sqlite_version.is_some())
    }

    fn measured_whole(&self) -> Condition {
        let (met, detail) = match (&self.record.partial, &self.record.imported) {
            (Some(failure), _) => (false, format!("partial: {failure}")),
            (None, Some(imported)) => (false, format!("read from {}, not measured by repro", imported.file)),
            (None, None) => (true, "the plan was carried out".to_string()),
        };
        condition(Requirement::MeasuredWhole, Some(met), detail)
    }

    /// Checks that every engine is known. Not asked of the official tool, whose sources identify it.
    fn engines(&self) -> Option<Condition> {
        if self.figures.shape.has_rows() {
            return None;
        }
        let open = without(self.sql_legs(), |leg| leg.engine.source_id.is_some());
        let met = open.is_empty() && self.sql_legs().next().is_some();
        let of = if open.is_empty() { "every leg".to_string() } else { open.join(", ") };
        let detail = match met {
            true => "each leg names the version and source id of its SQLite".to_string(),
            false => format!("the source id of the SQLite of {of} is not known"),
        };
        Some(condition(Requirement::KnownEngines, Some(met), detail))
    }

    fn pinned(&self) -> Condition {
        let all = || self.record.legs.iter().filter(|leg| self.figures.shape.has_rows() || runs_sql(leg));
        let other = without(all(), |leg| leg.engine.pinned() != Some(false));
        let unknown = without(all(), |leg| leg.engine.pinned().is_some());
        let (met, detail) = match (other.as_slice(), unknown.as_slice()) {
            _ if let Some(source) = self.other_source() => {
                (Some(false), format!("unpinned: the hash of {source} is not the pinned one"))
            }
            ([], []) => (Some(true), "each engine is the pinned one, or the one in this program".to_string()),
            ([], unknown) => (None, format!("the record does not say what {} ran", unknown.join(", "))),
            (other, _) => {
                (Some(false), format!("unpinned: {} did not run the pinned engine", other.join(", ")))
            }
        };
        condition(Requirement::Pinned, met, detail)
    }

    /// Returns a source of the tool whose hash is not pinned, whatever the record says of itself.
    fn other_source(&self) -> Option<&'a String> {
        let legs = self.record.legs.iter().filter(|_| self.figures.shape.has_rows());
        let mut sources = legs.filter_map(|leg| leg.engine.build.as_ref()).flat_map(|build| &build.sources);
        let pinned = |hash: &str| PIN.lines().any(|line| line.ends_with(&format!("_sha256={hash}")));
        sources.find(|(_, hash)| !pinned(hash)).map(|(name, _)| name)
    }

    /// Checks the flags of a tool that this program or somebody else compiled.
    fn flags(&self) -> Option<Condition> {
        let leg = self.record.legs.first().filter(|_| self.figures.shape.has_rows())?;
        let command = leg.engine.build.as_ref().map(|build| build.command.clone());
        let exact = |command: &String| command.split_once(' ').is_some_and(|(_, rest)| rest == CITED_COMMAND);
        let met = command.as_ref().map(exact);
        let unknown = || "the record does not say how it was built".to_string();
        Some(condition(Requirement::ExactFlags, met, command.unwrap_or_else(unknown)))
    }

    fn answers(&self) -> Condition {
        let wrong = without(self.record.legs.iter(), |leg| !leg.answer.is_wrong());
        let answers = |leg: &&Leg| self.figures.shape.has_rows() || runs_sql(leg);
        // Where no leg is known to run SQL, the answers of all of them are asked for.
        let any = self.record.legs.iter().any(|leg| answers(&leg));
        let legs = || self.record.legs.iter().filter(move |leg| !any || answers(leg));
        let unchecked =
            without(legs(), |leg| !matches!(leg.answer, Answer::NotChecked { .. } | Answer::Unknown { .. }));
        let detail = legs().map(|leg| in_words(&leg.answer)).collect::<BTreeSet<_>>().into_iter();
        let detail = detail.collect::<Vec<_>>().join("; ");
        let differs = |flag: &&Flag| matches!(flag, Flag::AnswersDiffer { .. });
        let runs = self.record.legs.iter().flat_map(|leg| &leg.runs);
        let (met, detail) = match runs.flat_map(|run| &run.flags).find(differs) {
            Some(flag) => (Some(false), flag.to_string()),
            None if !wrong.is_empty() => (Some(false), detail),
            None if let Some(other) = self.other_answer() => (Some(false), other),
            None if !unchecked.is_empty() => (None, detail),
            None => (Some(true), detail),
        };
        condition(Requirement::RightAnswers, met, detail)
    }

    /// Checks that the statements are the same, in a study that compares its legs.
    fn same_statements(&self) -> Option<Condition> {
        self.figures.shape.baseline?;
        let counted = || self.sql_legs().flat_map(Leg::counted_runs);
        let hashes: BTreeSet<&String> = counted().filter_map(|run| run.work.as_ref()).collect();
        let whole = counted().all(|run| run.work.is_some());
        let met = if whole { Some(hashes.len() == 1) } else { None };
        let detail = match hashes.len() {
            1 => format!("the same sequence in {} runs of all legs", counted().count()),
            n => format!("{n} different sequences in {} runs of all legs", counted().count()),
        };
        Some(condition(Requirement::SameStatements, met, detail))
    }

    fn total_adds_up(&self) -> Option<Condition> {
        if !self.figures.shape.has_rows() {
            return None;
        }
        let lacks_total = |leg: &Leg| leg.counted_runs().any(|run| run.total_ms.is_none());
        let (met, detail) = match self.record.check() {
            Ok(()) if self.record.legs.iter().any(lacks_total) => (None, "a run has no TOTAL".to_string()),
            Ok(()) => (Some(true), "in every run, to the millisecond".to_string()),
            Err(reason) => (Some(false), reason),
        };
        Some(condition(Requirement::TotalAddsUp, met, detail))
    }

    fn sound(&self) -> Condition {
        let fault = sound::fault(self.record, self.figures.shape);
        let met = fault.is_none();
        let whole =
            || "every phase in every run, no two runs alike, and no more time than passed".to_string();
        condition(Requirement::SoundRuns, Some(met), fault.unwrap_or_else(whole))
    }

    fn raw_output(&self) -> Option<Condition> {
        let (met, detail) = printed::agrees(self.record, self.figures.shape.tool.as_ref()?);
        Some(condition(Requirement::RawOutput, met, detail))
    }

    /// Checks the hash of the file that the record was read from, if it was.
    fn unchanged(&self) -> Option<Condition> {
        let met = self.record.unchanged?;
        let detail = match met {
            true => "it has the hash that was written into it (which shows accidents, not forgery)",
            false => "it was changed after it had been written",
        };
        Some(condition(Requirement::UnchangedFile, Some(met), detail))
    }

    /// Returns an answer that the record calls right and that is not the known one for this work.
    fn other_answer(&self) -> Option<String> {
        let tool = self.figures.shape.tool.as_ref()?;
        self.record.legs.iter().find_map(|leg| {
            let Answer::Right { found } = &leg.answer else { return None };
            let known =
                leg.engine.sqlite_version.as_ref().and_then(|v| (tool.answer)(v, &self.record.parameters));
            match known {
                Some(known) if known == *found => None,
                Some(known) => Some(format!("{found} is not the known answer {known}")),
                None => Some(format!("{found} is called right, but no answer is known for this work")),
            }
        })
    }

    fn runs(&self) -> Condition {
        let n = self.record.legs.iter().map(|leg| leg.counted().len()).min().unwrap_or(0);
        let of = if self.record.legs.len() > 1 { " of each leg" } else { "" };
        condition(
            Requirement::EnoughRuns,
            Some(n >= stats::FEWEST_RUNS as usize),
            stats::counted(n as u64, "counted run") + of,
        )
    }

    fn interval(&self) -> Condition {
        let keys = self.headline.clone().map_or_else(|| self.rates(), |key| vec![key]);
        let width = |key: FigureKey| {
            let (value, interval) = self.figures.cited(&key)?.estimate()?;
            let width = interval.and_then(|interval| interval.relative_half_width(value));
            Some((key, width.unwrap_or(f64::INFINITY)))
        };
        let widest = keys.into_iter().filter_map(width).max_by(|(_, a), (_, b)| a.total_cmp(b));
        let (met, detail) = match widest {
            None => (false, "the record has no figure".to_string()),
            Some((key, width)) if width.is_infinite() => {
                (false, format!("{key}: too few runs for an interval"))
            }
            Some((key, width)) => (
                width <= WIDEST_INTERVAL,
                format!("95 % interval of the median {key} is ±{:.2} %", width * 100.0),
            ),
        };
        condition(Requirement::NarrowInterval, Some(met), detail)
    }

    fn rates(&self) -> Vec<FigureKey> {
        self.record.legs.iter().flat_map(|leg| self.figures.keys(leg, Metric::Rate)).collect()
    }

    fn program(&self) -> Condition {
        let program = &self.record.program;
        let met = program.revision != "unknown" && !program.revision.ends_with("-dirty");
        let detail = format!("repro {} at {}", program.version, program.revision);
        condition(Requirement::KnownProgram, Some(met), detail)
    }
}

fn runs_sql(leg: &Leg) -> bool {
    leg.engine.sqlite_version.is_some()
}

fn in_words(answer: &Answer) -> String {
    match answer {
        Answer::Right { found } => format!("{found} is right"),
        Answer::Wrong { found, expected } => format!("{found}, expected {expected}"),
        Answer::Unknown { found } => format!("{found}; the right answer is not known for this work"),
        Answer::NotChecked { reason } => format!("not checked: {reason}"),
    }
}
