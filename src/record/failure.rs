//! Why a run or a measurement ended early: typed causes, which decide, and messages for people.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A cause and the message that explains it to a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The cause, which decisions are based on.
    pub cause: Cause,
    /// The message: the words of the cause, the place where it happened and what was said there.
    pub message: String,
}

/// What can end a run or a measurement early, or make its result unusable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Nothing has ended it yet: the record is still being written, or the program that wrote it was killed.
    UnderWay,
    /// The user interrupted it.
    Interrupted,
    /// It exceeded the deadline.
    Deadline,
    /// The process was killed by this signal, which did not come from this program.
    Signal(i32),
    /// The process ended with this exit status.
    ExitStatus(i32),
    /// The tool ended without printing TOTAL.
    NoTotal,
    /// A saved output is truncated.
    CutShort,
    /// The wall clock was stepped during the run.
    ClockStepped,
    /// The output breaks a rule that holds for every output of the tool.
    UnsoundOutput,
    /// At least one answer is wrong.
    WrongAnswer,
    /// The statements that ran are not those of the other legs.
    OtherWork,
    /// The run did not meet a condition that its study sets.
    ConditionNotMet,
    /// The memory was too small for the process.
    OutOfMemory,
    /// The kernel or the runtime under it panicked.
    Panic,
    /// Any other cause; the message says which.
    Error,
}

impl Cause {
    /// Returns the words for the cause, or an empty string where the message says everything.
    fn words(&self) -> String {
        match self {
            Cause::UnderWay => "not finished: still running, or killed".to_string(),
            Cause::Interrupted => "interrupted".to_string(),
            Cause::Deadline => "stopped at the deadline".to_string(),
            Cause::Signal(signal) => format!("killed by signal {signal}"),
            Cause::ExitStatus(status) => format!("exit status {status}"),
            Cause::NoTotal => "ended without TOTAL".to_string(),
            Cause::CutShort => "cut short".to_string(),
            Cause::OutOfMemory => "out of memory".to_string(),
            Cause::Panic => "the system panicked".to_string(),
            Cause::ClockStepped
            | Cause::UnsoundOutput
            | Cause::WrongAnswer
            | Cause::OtherWork
            | Cause::ConditionNotMet
            | Cause::Error => String::new(),
        }
    }
}

impl Failure {
    /// Returns a failure whose message is the words of the cause.
    pub fn of(cause: Cause) -> Failure {
        Failure::at(cause, "", "")
    }

    /// Returns a failure whose message adds what was said to the words of the cause.
    pub fn saying(cause: Cause, said: impl fmt::Display) -> Failure {
        Failure::at(cause, "", &said.to_string())
    }

    /// Returns a failure with the place where it happened (` in row main/310`) and what was said; either may
    /// be empty.
    pub fn at(cause: Cause, place: &str, said: &str) -> Failure {
        let begin = format!("{}{place}", cause.words());
        let message = match (begin.is_empty(), said.is_empty()) {
            (true, _) => said.to_string(),
            (false, true) => begin,
            (false, false) => format!("{begin}: {said}"),
        };
        Failure { cause, message }
    }

    /// Returns the failure that an error carries, with the error's context in its message; any other error
    /// becomes [`Cause::Error`].
    pub fn in_error(error: &anyhow::Error) -> Failure {
        let cause = error.downcast_ref::<Failure>().map_or(Cause::Error, |failure| failure.cause.clone());
        Failure { cause, message: format!("{error:#}") }
    }

    /// Returns the same failure with the name of the part that it happened to in front of its message.
    pub fn of_part(&self, part: &str) -> Failure {
        Failure { cause: self.cause.clone(), message: format!("{part}: {}", self.message) }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_place_and_what_was_said() {
        let step = " in row main/310";
        for (failure, message) in [
            (Failure::of(Cause::Interrupted), "interrupted"),
            (Failure::at(Cause::Signal(9), step, ""), "killed by signal 9 in row main/310"),
            (Failure::at(Cause::ExitStatus(1), "", "no room"), "exit status 1: no room"),
            (Failure::saying(Cause::UnsoundOutput, "TOTAL differs"), "TOTAL differs"),
            (Failure::of(Cause::Deadline).of_part("in-ram"), "in-ram: stopped at the deadline"),
        ] {
            assert_eq!(failure.to_string(), message);
        }
    }

    #[test]
    fn an_error_keeps_its_cause_and_gains_context() {
        let error = anyhow::Error::new(Failure::of(Cause::Interrupted)).context("leg sqld");
        let failure = Failure::in_error(&error);
        assert_eq!((failure.cause, failure.message.as_str()), (Cause::Interrupted, "leg sqld: interrupted"));
        assert_eq!(Failure::in_error(&anyhow::anyhow!("full")), Failure::saying(Cause::Error, "full"));
    }
}
