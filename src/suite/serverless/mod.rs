//! The 15-step port of speedtest1 (sqlitend): the same SQL run embedded, and through sqld over a Hrana WebSocket.
//!
//! What its publication does not state — the tables, the rows, the size of a range — was chosen so that the work
//! resembles what its figures allow; `reference/sqlitend-serverless.toml` lists it.

mod model;
pub mod parameters;
mod work;

pub use parameters::{Parameters, Protocol};
pub use work::{Step, work};

/// Registry line of this suite.
pub const SUITE: super::Suite = super::Suite {
    name: "serverless",
    about: "15 steps of SQL, embedded and through sqld over a Hrana WebSocket: what a server costs",
    legs: || Leg::ALL.map(Leg::name).to_vec(),
    phases: || STEPS.map(|(name, _)| name).to_vec(),
    baseline: Some("embedded"),
};

/// The steps, in the order they run: short name, and the name in publications.
pub const STEPS: [(&str, &str); 15] = [
    ("create-schema", "create schema + indexes"),
    ("insert-1", "insert 5,000 rows, 1 row/statement"),
    ("insert-10", "insert 5,000 rows, 10 rows/statement"),
    ("insert-100", "insert 5,000 rows, 100 rows/statement"),
    ("insert-1000", "insert 5,000 rows, 1,000 rows/statement"),
    ("insert-2000", "insert 2,000 rows, one statement"),
    ("update-primary-key", "update 1,000 rows via PK"),
    ("update-index", "update 2,000 rows via index"),
    ("delete-primary-key", "delete 500 rows via PK"),
    ("full-scan", "full-table scan (count + sum)"),
    ("point-lookups", "2,000 PK point lookups"),
    ("range-lookups", "2,000 indexed range lookups"),
    ("like-scan", "LIKE prefix scan"),
    ("insert-blobs", "insert 100 × 100 KB blobs"),
    ("read-blobs", "read back 50 blobs"),
];

/// The sides, in the order they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Leg {
    /// SQLite's C interface in this process
    Embedded,
    /// sqld, a Hrana stream for every statement: as published
    Sqld,
    /// sqld, one Hrana stream held for all statements
    SqldHeld,
    /// sqld, up to a hundred statements in one message, writes in one transaction
    SqldBatch,
    /// No SQL: an echo over a WebSocket with the messages' sizes, one round trip a statement
    Floor,
}

impl Leg {
    /// All of them.
    pub const ALL: [Leg; 5] = [Leg::Embedded, Leg::Sqld, Leg::SqldHeld, Leg::SqldBatch, Leg::Floor];

    /// Name in records and references.
    pub fn name(self) -> &'static str {
        match self {
            Leg::Embedded => "embedded",
            Leg::Sqld => "sqld",
            Leg::SqldHeld => "sqld-held",
            Leg::SqldBatch => "sqld-batch",
            Leg::Floor => "floor",
        }
    }
}
