//! The phases, and the SQL of each.

use serde::{Deserialize, Serialize};

/// The phases, in the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Inserts rows in key order, in transactions of `batch` rows.
    BulkInsert,
    /// Reads one row by a random primary key.
    SelectPrimaryKey,
    /// Counts and sums a range of `created_at`.
    SelectRange,
    /// Updates the payload of a random row; all updates are one transaction.
    Update,
    /// Does 70 % reads, 25 % updates and 5 % inserts, each in a transaction of its own.
    Mixed,
    /// Reads by primary key on several threads.
    ConcurrentReads,
    /// Updates by primary key on several threads, each update in a transaction of its own.
    ConcurrentWrites,
}

impl Phase {
    /// All phases, in the order in which they run.
    pub const ALL: [Phase; 7] = [
        Phase::BulkInsert,
        Phase::SelectPrimaryKey,
        Phase::SelectRange,
        Phase::Update,
        Phase::Mixed,
        Phase::ConcurrentReads,
        Phase::ConcurrentWrites,
    ];

    /// Returns the name used in records and references.
    pub fn name(self) -> &'static str {
        match self {
            Phase::BulkInsert => "bulk-insert",
            Phase::SelectPrimaryKey => "select-primary-key",
            Phase::SelectRange => "select-range",
            Phase::Update => "update",
            Phase::Mixed => "mixed",
            Phase::ConcurrentReads => "concurrent-reads",
            Phase::ConcurrentWrites => "concurrent-writes",
        }
    }
}

/// The table and its indexes. `user_id` is random, and `created_at` grows with the key.
pub const SCHEMA: &str = "\
CREATE TABLE event(id INTEGER PRIMARY KEY, user_id INTEGER NOT NULL, created_at INTEGER NOT NULL, payload TEXT NOT NULL);
CREATE INDEX event_user ON event(user_id);
CREATE INDEX event_created ON event(created_at);";

/// Inserts a row.
pub const INSERT: &str = "INSERT INTO event(id, user_id, created_at, payload) VALUES(?1, ?2, ?3, ?4)";
/// Reads a row by its key.
pub const SELECT: &str = "SELECT user_id, created_at, payload FROM event WHERE id = ?1";
/// Counts and sums the rows of a time span.
pub const RANGE: &str =
    "SELECT count(*), sum(user_id), sum(length(payload)) FROM event WHERE created_at BETWEEN ?1 AND ?2";
/// Replaces the payload of a row.
pub const UPDATE: &str = "UPDATE event SET payload = ?2 WHERE id = ?1";
