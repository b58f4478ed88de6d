//! One side of a study: its engine, its runs and what they measured.

use super::{Check, Measure, Phase, Run, Sample, is_false};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One side of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Leg {
    /// The name, such as `native` or `sqld`.
    pub name: String,
    /// The engine that was measured.
    pub engine: Engine,
    /// The result of the answer check.
    pub answer: Answer,
    /// What the tool printed in the run that checked the answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_output: Option<String>,
    /// The runs in the order in which they were made, including warm-ups and rejected runs.
    pub runs: Vec<Run>,
    /// The phases in the order in which they ran.
    pub phases: Vec<Phase>,
    /// Settings of the engine, as read back from it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// The memory limit that the leg ran under; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
}

/// The memory of a leg that ran in a control group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// The limit in bytes, page cache included.
    pub limit_bytes: u64,
    /// What enforced the limit: `cgroup v1`, `cgroup v2` or `systemd scope`.
    pub mechanism: String,
    /// The largest amount charged to the group, in bytes.
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
    /// The name, such as `bundled SQLite`.
    pub name: String,
    /// The SQLite version, such as `3.53.4`; absent when the engine did not report one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sqlite_version: Option<String>,
    /// The source id that the engine itself reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_id: Option<String>,
    /// Whether it is the SQLite inside this program, which the program's revision pins.
    #[serde(default, skip_serializing_if = "is_false")]
    pub bundled: bool,
    /// How it was built; absent when unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<BuildFacts>,
    /// The output of `PRAGMA compile_options`; empty when it was not asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compile_options: Vec<String>,
}

/// How an engine was built.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BuildFacts {
    /// Whether the sources, or the prebuilt program, are the pinned ones.
    pub pinned: bool,
    /// Where the sources or the program came from: the route and the name.
    pub origin: String,
    /// The SHA-256 of each source, by file name.
    pub sources: BTreeMap<String, String>,
    /// The compile command; empty for a prebuilt program.
    pub command: String,
    /// The compiler's description of itself.
    pub compiler: String,
    /// The SHA-256 of the executable.
    pub executable: String,
}

impl BuildFacts {
    /// Returns the words of the compile command that change the code it produces: `-O…` and `-D…`.
    pub fn flags(&self) -> Vec<&str> {
        self.command.split(' ').filter(|word| word.starts_with("-O") || word.starts_with("-D")).collect()
    }
}

/// The result of the answer check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "verdict", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Answer {
    /// All answers match the known ones.
    Right {
        /// The verification hash, or what was checked.
        found: String,
    },
    /// An answer differs from the known one.
    Wrong {
        /// The answer that was given.
        found: String,
        /// The known answer.
        expected: String,
    },
    /// No known answer exists for this work.
    Unknown {
        /// The answer that was given.
        found: String,
    },
    /// The answers were not checked.
    NotChecked {
        /// Why there was no check.
        reason: String,
    },
}

impl Answer {
    /// Returns whether an answer is known to be wrong.
    pub fn is_wrong(&self) -> bool {
        matches!(self, Answer::Wrong { .. })
    }
}

impl Engine {
    /// Returns an engine of which only the name is known yet.
    pub fn named(name: impl Into<String>) -> Engine {
        Engine { name: name.into(), ..Engine::default() }
    }

    /// Returns the SQLite that is linked into this program.
    pub fn bundled() -> Engine {
        Engine { bundled: true, ..Engine::named("bundled SQLite") }
    }

    /// Returns whether the engine is the pinned one, or `None` when that is not known.
    pub fn pinned(&self) -> Option<bool> {
        self.build.as_ref().map(|build| build.pinned).or(self.bundled.then_some(true))
    }
}

impl Leg {
    /// Returns a leg that has not run yet.
    pub fn new(name: impl Into<String>, engine: Engine) -> Leg {
        Leg {
            name: name.into(),
            engine,
            answer: Answer::NotChecked { reason: "no run has ended".to_string() },
            answer_output: None,
            runs: Vec::new(),
            phases: Vec::new(),
            settings: BTreeMap::new(),
            memory: None,
        }
    }

    /// Adds what a run measured in a phase; the first sample of a phase creates it, with `title`.
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

    /// Returns the phase of this name.
    pub fn phase(&self, name: &str) -> Option<&Phase> {
        self.phases.iter().find(|phase| phase.name == name)
    }

    /// Returns the runs that go into the statistics.
    pub fn counted_runs(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| run.counts())
    }

    /// Returns the numbers of the runs that go into the statistics.
    pub fn counted(&self) -> Vec<u32> {
        self.counted_runs().map(|run| run.number).collect()
    }

    /// Returns the samples of a phase from the runs that go into the statistics.
    pub fn samples(&self, phase: &str) -> Vec<&Sample> {
        let counted = self.counted();
        let samples = self.phase(phase).into_iter().flat_map(|phase| &phase.samples);
        samples.filter(|sample| counted.contains(&sample.run)).collect()
    }

    /// Returns every sample with the name of its phase, including the samples of warm-ups and rejected runs.
    pub fn all_samples(&self) -> impl Iterator<Item = (&str, &Sample)> {
        self.phases.iter().flat_map(|phase| phase.samples.iter().map(|sample| (phase.name.as_str(), sample)))
    }

    /// Returns the sum of the times in ms that the tool reported for the rows of a run, or `None` if it
    /// reported none. No sum of times that a record may hold is too large.
    pub fn sum_of_rows(&self, run: u32) -> Option<i64> {
        let samples = self.all_samples().filter(|(_, sample)| sample.run == run);
        let reported: Vec<i64> = samples.filter_map(|(_, sample)| sample.measure.reported_ms).collect();
        (!reported.is_empty()).then(|| reported.iter().sum())
    }

    /// Returns a failed check of any run with the name of its phase. Of the first sample that has one it is
    /// the last, because that shows the first wrong answer while those before it only count wrong answers.
    pub fn wrong_check(&self) -> Option<(&str, &Check)> {
        self.all_samples().find_map(|(phase, sample)| {
            sample.measure.checks.iter().rfind(|check| !check.holds()).map(|check| (phase, check))
        })
    }

    /// Judges the answers by the checks of all samples so far, so that a wrong answer in any run persists.
    /// `right` says what was checked; without it the answer stays as it was unless a check failed.
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
