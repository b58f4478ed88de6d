//! The phases, and the SQL of each.

use serde::{Deserialize, Serialize};

/// The phases, in the order they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Rows in key order, in transactions of `batch` rows.
    BulkInsert,
    /// One row by a random primary key.
    SelectPrimaryKey,
    /// A range of `created_at`, counted and summed.
    SelectRange,
    /// The payload of a random row, all updates in one transaction.
    Update,
    /// 70 % reads, 25 % updates, 5 % inserts, each a transaction of its own.
    Mixed,
    /// Reads by primary key on several threads.
    ConcurrentReads,
    /// Updates by primary key on several threads, each a transaction of its own.
    ConcurrentWrites,
}

impl Phase {
    /// All of them.
    pub const ALL: [Phase; 7] = [
        Phase::BulkInsert,
        Phase::SelectPrimaryKey,
        Phase::SelectRange,
        Phase::Update,
        Phase::Mixed,
        Phase::ConcurrentReads,
        Phase::ConcurrentWrites,
    ];

    /// Name in records and references.
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

/// The table. `user_id` is random, `created_at` grows with the key.
pub const SCHEMA: &str = "\
CREATE TABLE event(id INTEGER PRIMARY KEY, user_id INTEGER NOT NULL, created_at INTEGER NOT NULL, payload TEXT NOT NULL);
CREATE INDEX event_user ON event(user_id);
CREATE INDEX event_created ON event(created_at);";

/// A new row.
pub const INSERT: &str = "INSERT INTO event(id, user_id, created_at, payload) VALUES(?1, ?2, ?3, ?4)";
/// A row by its key.
pub const SELECT: &str = "SELECT user_id, created_at, payload FROM event WHERE id = ?1";
/// The rows of a span of time.
pub const RANGE: &str =
    "SELECT count(*), sum(user_id), sum(length(payload)) FROM event WHERE created_at BETWEEN ?1 AND ?2";
/// A new payload for a row.
pub const UPDATE: &str = "UPDATE event SET payload = ?2 WHERE id = ?1";
