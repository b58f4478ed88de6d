//! One side of a study: its engine, its runs and what they measured.

use super::{Check, Measure, Phase, Run, Sample, is_false};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One side of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Leg {
    /// Such as `native` or `sqld`.
    pub name: String,
    /// What was measured.
    pub engine: Engine,
    /// Whether its answers are right.
    pub answer: Answer,
    /// Runs in order.
    pub runs: Vec<Run>,
    /// Phases in the order they ran.
    pub phases: Vec<Phase>,
    /// Settings of the engine, read back from it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// The memory that the leg was confined to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
}

/// The memory of a leg that ran in a control group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Limit, page cache included, bytes.
    pub limit_bytes: u64,
    /// What set it: `cgroup v1`, `cgroup v2` or `systemd scope`.
    pub mechanism: String,
    /// The most that was charged, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
    /// How often the limit was hit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_hits: Option<u64>,
}

/// The SQLite that was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Engine {
    /// Such as `bundled SQLite`.
    pub name: String,
    /// Such as `3.53.4`; absent when the engine did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sqlite_version: Option<String>,
    /// As the engine itself reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_id: Option<String>,
    /// Whether it is the SQLite that this program carries, which its revision pins.
    #[serde(default, skip_serializing_if = "is_false")]
    pub bundled: bool,
    /// How it was built; absent when unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<BuildFacts>,
    /// What `PRAGMA compile_options` said, where it was asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compile_options: Vec<String>,
}

/// How an engine was built.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BuildFacts {
    /// Whether the sources, or the program as it came, are the pinned ones.
    pub pinned: bool,
    /// Route and name by which the sources came.
    pub origin: String,
    /// SHA-256 of each source, by name.
    pub sources: BTreeMap<String, String>,
    /// The compile command; empty of a program that came as it is.
    pub command: String,
    /// What the compiler calls itself.
    pub compiler: String,
    /// SHA-256 of the executable.
    pub executable: String,
}

impl BuildFacts {
    /// The words of the compile command that change what is built: `-O…` and `-D…`.
    pub fn flags(&self) -> Vec<&str> {
        self.command.split(' ').filter(|word| word.starts_with("-O") || word.starts_with("-D")).collect()
    }
}

/// Result of the answer check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "verdict", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Answer {
    /// The answers are the known ones.
    Right {
        /// What was found: a verification hash, or what was checked.
        found: String,
    },
    /// An answer differs from the known one.
    Wrong {
        /// As given.
        found: String,
        /// As known.
        expected: String,
    },
    /// No answer is known for this work.
    Unknown {
        /// As given.
        found: String,
    },
    /// There was no check.
    NotChecked {
        /// Why.
        reason: String,
    },
}

impl Answer {
    /// Whether it is known to be wrong.
    pub fn is_wrong(&self) -> bool {
        matches!(self, Answer::Wrong { .. })
    }
}

impl Engine {
    /// One of which nothing but its name is known yet.
    pub fn named(name: impl Into<String>) -> Engine {
        Engine { name: name.into(), ..Engine::default() }
    }

    /// The SQLite that this program carries.
    pub fn bundled() -> Engine {
        Engine { bundled: true, ..Engine::named("bundled SQLite") }
    }

    /// Whether it is the pinned one; `None` when that is not known.
    pub fn pinned(&self) -> Option<bool> {
        self.build.as_ref().map(|build| build.pinned).or(self.bundled.then_some(true))
    }
}

impl Leg {
    /// One that has not run yet.
    pub fn new(name: impl Into<String>, engine: Engine) -> Leg {
        Leg {
            name: name.into(),
            engine,
            answer: Answer::NotChecked { reason: "no run has ended".to_string() },
            runs: Vec::new(),
            phases: Vec::new(),
            settings: BTreeMap::new(),
            memory: None,
        }
    }

    /// Adds what a run measured in a phase.
    pub fn add(&mut self, run: u32, phase: &str, title: Option<&str>, measure: Measure) {
        let sample = Sample { run, measure };
        match self.phases.iter_mut().find(|known| known.name == phase) {
            Some(known) => known.samples.push(sample),
            None => self.phases.push(Phase {
                name: phase.to_string(),
                title: title.map(str::to_string),
                samples: vec![sample],
            }),
        }
    }

    /// The phase of this name.
    pub fn phase(&self, name: &str) -> Option<&Phase> {
        self.phases.iter().find(|phase| phase.name == name)
    }

    /// Runs that count.
    pub fn counted_runs(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| run.counts())
    }

    /// Numbers of the runs that count.
    pub fn counted(&self) -> Vec<u32> {
        self.counted_runs().map(|run| run.number).collect()
    }

    /// What the counted runs measured in a phase.
    pub fn samples(&self, phase: &str) -> Vec<&Sample> {
        let counted = self.counted();
        let samples = self.phase(phase).into_iter().flat_map(|phase| &phase.samples);
        samples.filter(|sample| counted.contains(&sample.run)).collect()
    }

    /// Every sample with the name of its phase, those of runs that don't count among them.
    pub fn all_samples(&self) -> impl Iterator<Item = (&str, &Sample)> {
        self.phases.iter().flat_map(|phase| phase.samples.iter().map(|sample| (phase.name.as_str(), sample)))
    }

    /// The sum of the times that the tool reported for the rows of a run, ms; `None` where it reports none.
    pub fn sum_of_rows(&self, run: u32) -> Option<i64> {
        let samples = self.all_samples().filter(|(_, sample)| sample.run == run);
        let reported: Vec<i64> = samples.filter_map(|(_, sample)| sample.measure.reported_ms).collect();
        (!reported.is_empty()).then(|| reported.iter().fold(0_i64, |sum, ms| sum.saturating_add(*ms)))
    }

    /// A check of any run that does not hold, with the name of its phase: the last one of the first sample that
    /// has one, for it shows the first wrong answer where those before it only count them.
    pub fn wrong_check(&self) -> Option<(&str, &Check)> {
        self.all_samples().find_map(|(phase, sample)| {
            sample.measure.checks.iter().rfind(|check| !check.holds()).map(|check| (phase, check))
        })
    }

    /// Judges the answers by the checks of all samples so far, so that a wrong answer of any run stays. `right`
    /// says what was checked; without it nothing is known yet.
    pub fn judge_answers(&mut self, right: Option<String>) {
        self.answer = match (self.wrong_check(), right) {
            (Some((phase, check)), _) => Answer::Wrong {
                found: format!("{phase}: {}: {}", check.what, check.found),
                expected: check.expected.clone(),
            },
            (None, Some(found)) => Answer::Right { found },
            (None, None) => return,
        };
    }
}
