//! SQLite's own benchmark, `test/speedtest1.c`: its options, its output and its known answers.

pub mod answers;
pub mod import;
pub mod line;
pub mod output;
pub mod testset;
pub mod workload;

pub use output::{Banner, Event, RunOutput, Scanner, StepRow, VerificationHash};
pub use workload::{Database, Workload};

/// Registry line of this suite.
pub const SUITE: super::Suite = super::Suite {
    name: "speedtest1",
    about: "SQLite's own speedtest1, the official C tool, built from pinned sources",
    legs: Vec::new,
    phases: Vec::new,
    baseline: None,
};
