//! An open database, and what it must contain.

use super::Job;
use crate::instrument::engine::{Connection, Engine, OpenMode, SqlError};
use crate::study::oltp::args::{BUSY_TIMEOUT_MS, LegPlan};
use crate::study::oltp::data::{self, Row};
use anyhow::{Result, bail};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The last acknowledged write of each key: the thread and the number of the write.
pub type Ledger = HashMap<i64, (u64, u64)>;

/// What the table must contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// The number of rows; their keys are 1 to this number.
    pub rows: i64,
    /// The sum of `user_id`.
    pub users: i64,
    /// The sum of `created_at`.
    pub created: i64,
}

impl Expected {
    /// Adds a row that was acknowledged.
    pub fn add(&mut self, row: &Row) {
        self.rows += 1;
        self.users += row.user_id;
        self.created += row.created_at;
    }

    /// Returns the contents of the table as the bulk insert leaves it.
    pub fn after_bulk_insert(seed: u64, rows: u64, payload: usize) -> Expected {
        let mut expected = Expected::default();
        let mut data = data::Data::new(seed, data::Purpose::Rows, rows, payload);
        for id in 1..=rows as i64 {
            expected.add(&data.row(id).0);
        }
        expected
    }
}

/// An open database and what it must contain.
pub struct Session {
    /// The numbers of the leg.
    pub plan: LegPlan,
    /// The connection of the main thread.
    pub connection: Connection,
    /// What the table must contain.
    pub expected: Expected,
    /// The acknowledged writes of the current phase.
    pub ledger: Ledger,
    /// The engine that opened the database.
    pub engine: Engine,
    /// The file of the database.
    pub database: PathBuf,
}

impl Session {
    /// Opens the database of `job`.
    ///
    /// # Errors
    /// Passes on errors of SQLite, and fails when a setting does not take effect.
    pub fn open(engine: Engine, job: &Job) -> Result<Session> {
        let connection = connect(&engine, &job.database, &job.plan)?;
        Ok(Session {
            plan: job.plan.clone(),
            connection,
            expected: Expected::default(),
            ledger: Ledger::new(),
            engine,
            database: job.database.clone(),
        })
    }

    /// Opens another connection to the same database.
    ///
    /// # Errors
    /// Passes on errors of SQLite, and fails when a setting does not take effect.
    pub fn connect(&self) -> Result<Connection, SqlError> {
        connect(&self.engine, &self.database, &self.plan)
            .map_err(|error| SqlError { code: 1, message: format!("{error:#}") })
    }
}

/// Opens the database with the published settings and reads each of them back; one that did not take effect
/// is an error.
fn connect(engine: &Engine, database: &Path, plan: &LegPlan) -> Result<Connection> {
    let connection = engine.open(database, OpenMode::Create)?;
    connection.busy_timeout(Duration::from_millis(BUSY_TIMEOUT_MS as u64))?;
    let settings = [
        ("page_size", plan.page_size.to_string(), plan.page_size.to_string()),
        ("journal_mode", "WAL".to_string(), "wal".to_string()),
        ("synchronous", plan.synchronous.number().to_string(), plan.synchronous.number().to_string()),
        ("cache_size", format!("-{}", plan.cache_kib), format!("-{}", plan.cache_kib)),
        ("mmap_size", plan.mmap_bytes.to_string(), plan.mmap_bytes.to_string()),
        ("temp_store", "MEMORY".to_string(), "2".to_string()),
        ("busy_timeout", BUSY_TIMEOUT_MS.to_string(), BUSY_TIMEOUT_MS.to_string()),
    ];
    for (name, value, expected) in settings {
        connection.pragma(&format!("{name} = {value}"))?;
        let found = connection.pragma(name)?.unwrap_or_default();
        if found != expected {
            bail!("PRAGMA {name}: set to {value}, but the engine reports `{found}`");
        }
    }
    Ok(connection)
}
