//! Between the types of the file and those of the program.

use super::*;
use crate::record::{
    Answer, BuildFacts, Engine, Leg, Memory, Origin, Phase, PhaseSample, Plan, Probe, Program, Resources,
    Run, Sample, Step, Storage,
};

/// Conversions, both ways, of structs with the same fields; `=>` names what converts a field that is not the same.
macro_rules! same_fields {
    ($($domain:ident = $file:ident { $($field:ident $(=> $with:path)?),* };)*) => {$(
        impl From<$domain> for $file {
            fn from(from: $domain) -> Self {
                $file { $($field: converted!(from.$field $(, $with)?)),* }
            }
        }
        impl From<$file> for $domain {
            fn from(from: $file) -> Self {
                $domain { $($field: converted!(from.$field $(, $with)?)),* }
            }
        }
    )*};
}

macro_rules! converted {
    ($value:expr) => {
        $value
    };
    ($value:expr, $with:path) => {
        $with($value)
    };
}

fn each<A: Into<B>, B>(from: Vec<A>) -> Vec<B> {
    from.into_iter().map(Into::into).collect()
}

fn maybe<A: Into<B>, B>(from: Option<A>) -> Option<B> {
    from.map(Into::into)
}

same_fields! {
    Program = ProgramFile { version, revision, command };
    Plan = PlanFile { warmup, runs, until, max_runs, cooldown_ms, cpu };
    Storage = StorageFile { directory, filesystem };
    Leg = LegFile {
        name, engine => Into::into, answer => Into::into, runs => each, steps => each, phases => each, settings, memory => maybe
    };
    Engine = EngineFile { name, sqlite_version, source_id, build => maybe, compile_options };
    BuildFacts = BuildFile { pinned, origin, sources, command, compiler, executable };
    Run = RunFile { number, warmup, rejected, flags, total_ms, wall_ns, resources => maybe, noise, statistics, work };
    Resources = ResourcesFile {
        user_us, system_us, peak_memory_bytes, voluntary_switches, involuntary_switches, major_faults
    };
    Sample = SampleFile { run, reported_ms, observed_ns };
    Phase = PhaseFile { name, samples => each };
    PhaseSample = PhaseSampleFile { run, measure };
    Memory = MemoryFile { limit_bytes, mechanism, peak_bytes, limit_hits };
    Probe = ProbeFile { name, command, completed, stopped_in, message };
}

impl From<Record> for RecordFile {
    fn from(record: Record) -> Self {
        RecordFile {
            schema: SCHEMA,
            suite: record.suite,
            program: record.program.into(),
            imported: match record.origin {
                Origin::Measured => None,
                Origin::Imported { file, lines } => {
                    Some(ImportedFile { file, first_line: lines.0, last_line: lines.1 })
                }
            },
            started: record.started,
            finished: record.finished,
            partial: record.partial,
            parameters: record.parameters,
            plan: record.plan.into(),
            host: record.host,
            before: record.before,
            after: record.after,
            storage: record.storage.map(Into::into),
            legs: each(record.legs),
            probes: each(record.probes),
        }
    }
}

impl From<RecordFile> for Record {
    fn from(file: RecordFile) -> Self {
        Record {
            suite: file.suite,
            program: file.program.into(),
            origin: match file.imported {
                None => Origin::Measured,
                Some(from) => Origin::Imported { file: from.file, lines: (from.first_line, from.last_line) },
            },
            started: file.started,
            finished: file.finished,
            partial: file.partial,
            parameters: file.parameters,
            plan: file.plan.into(),
            host: file.host,
            before: file.before,
            after: file.after,
            storage: file.storage.map(Into::into),
            legs: each(file.legs),
            probes: each(file.probes),
        }
    }
}

impl From<Answer> for AnswerFile {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Right(hash) => AnswerFile::Right { hash },
            Answer::Wrong { found, expected } => AnswerFile::Wrong { hash: found, expected },
            Answer::Unknown(hash) => AnswerFile::Unknown { hash },
            Answer::NotChecked(reason) => AnswerFile::NotChecked { reason },
        }
    }
}

impl From<AnswerFile> for Answer {
    fn from(file: AnswerFile) -> Self {
        match file {
            AnswerFile::Right { hash } => Answer::Right(hash),
            AnswerFile::Wrong { hash, expected } => Answer::Wrong { found: hash, expected },
            AnswerFile::Unknown { hash } => Answer::Unknown(hash),
            AnswerFile::NotChecked { reason } => Answer::NotChecked(reason),
        }
    }
}

impl From<Step> for StepFile {
    fn from(step: Step) -> Self {
        StepFile {
            testset: step.key.testset,
            number: step.key.number,
            occurrence: step.key.occurrence,
            name: step.name,
            samples: each(step.samples),
        }
    }
}

impl From<StepFile> for Step {
    fn from(file: StepFile) -> Self {
        Step {
            key: StepKey { testset: file.testset, number: file.number, occurrence: file.occurrence },
            name: file.name,
            samples: each(file.samples),
        }
    }
}
