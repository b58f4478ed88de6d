//! Why something did not come to its end: causes that decide, and their words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A cause, and all that there is to say of it to a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// What decides.
    pub cause: Cause,
    /// For a person: the words of the cause, where it happened and what was said.
    pub message: String,
}

/// What can end a run, or a measurement, before its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Nothing yet: the record is being written, or its program was ended by force.
    UnderWay,
    /// The user wished it.
    Interrupted,
    /// It took too long.
    Deadline,
    /// A signal that did not come from this program.
    Signal(i32),
    /// The process ended with this exit status.
    ExitStatus(i32),
    /// The tool ended without TOTAL.
    NoTotal,
    /// A saved output ends before its end.
    CutShort,
    /// The wall clock was stepped.
    ClockStepped,
    /// What was printed breaks a rule of the tool's output.
    UnsoundOutput,
    /// An answer is wrong.
    WrongAnswer,
    /// Other statements ran than in the other legs.
    OtherWork,
    /// The run did not meet a condition of its own study.
    ConditionNotMet,
    /// The memory limit left too little for the process.
    OutOfMemory,
    /// Anything else; the message says what.
    Error,
}

impl Cause {
    /// The words for it; empty where the message says all.
    fn words(&self) -> String {
        match self {
            Cause::UnderWay => "not finished: still running, or killed".to_string(),
            Cause::Interrupted => "interrupted".to_string(),
            Cause::Deadline => "stopped at the deadline".to_string(),
            Cause::Signal(signal) => format!("killed by signal {signal}"),
            Cause::ExitStatus(status) => format!("exit status {status}"),
            Cause::NoTotal => "ended without TOTAL".to_string(),
            Cause::CutShort => "cut short".to_string(),
            Cause::OutOfMemory => {
                "the memory limit left too little memory for the process itself".to_string()
            }
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
    /// Of a cause that needs no more words.
    pub fn of(cause: Cause) -> Failure {
        Failure::at(cause, "", "")
    }

    /// Of a cause, with what was said.
    pub fn saying(cause: Cause, said: impl fmt::Display) -> Failure {
        Failure::at(cause, "", &said.to_string())
    }

    /// Of a cause, where it happened (` in row main/310`), and what was said; either may be empty.
    pub fn at(cause: Cause, place: &str, said: &str) -> Failure {
        let begin = format!("{}{place}", cause.words());
        let message = match (begin.is_empty(), said.is_empty()) {
            (true, _) => said.to_string(),
            (false, true) => begin,
            (false, false) => format!("{begin}: {said}"),
        };
        Failure { cause, message }
    }

    /// The failure that an error carries; any other error is one whose message says all.
    pub fn in_error(error: &anyhow::Error) -> Failure {
        let cause = error.downcast_ref::<Failure>().map_or(Cause::Error, |failure| failure.cause.clone());
        Failure { cause, message: format!("{error:#}") }
    }

    /// The same, with the name of what it happened to before it.
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
