//! One leg, from the empty file to the last check.

use super::checks::{self, Expected};
use super::phases::{self, Ledger};
use super::{Event, Job};
use crate::driver::engine::{Checkpoint, Connection, Engine, OpenMode, SqlError};
use crate::driver::page_cache::{self, ProcessIo};
use crate::suite::oltp::parameters::{BUSY_TIMEOUT_MS, LegPlan};
use crate::suite::oltp::{self, Leg, Measure, Phase};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// An open database and what it must hold.
pub struct Session {
    /// The numbers of the leg.
    pub plan: LegPlan,
    /// Of the main thread.
    pub connection: Connection,
    /// The table.
    pub expected: Expected,
    /// Acknowledged writes of the phase under way.
    pub ledger: Ledger,
    engine: Engine,
    database: PathBuf,
}

/// Carries out `job` and tells what happens.
///
/// # Errors
/// What keeps it from its end; it has been told before.
pub fn run(job: &Job, tell: &mut dyn FnMut(&Event)) -> Result<()> {
    let result = carry_out(job, tell);
    if let Err(error) = &result {
        tell(&Event::Failed { message: format!("{error:#}") });
    }
    result
}

fn carry_out(job: &Job, tell: &mut dyn FnMut(&Event)) -> Result<()> {
    let engine = match &job.engine {
        Some(path) => Engine::load_private_copy(path)?,
        None => Engine::bundled(),
    };
    let made = !job.database.exists();
    let mut session = Session::open(engine, job)?;
    tell(&session.opened()?);
    if made {
        session.connection.exec(oltp::SCHEMA)?;
    } else {
        // What an earlier run has added goes; that it has rewritten payloads changes no sum and no length.
        session.connection.exec(&format!("DELETE FROM event WHERE id > {}", job.plan.rows))?;
        session.connection.checkpoint(Checkpoint::Truncate)?;
        session.expected = Expected::after_bulk_insert(job.plan.seed, job.plan.rows, job.plan.payload);
        if job.plan.leg == Leg::DiskBound {
            page_cache::drop_file(&job.database)?;
        }
    }
    for phase in Phase::ALL {
        if phase == Phase::BulkInsert && !made {
            continue;
        }
        tell(&Event::Began { phase });
        let measure = session.phase(phase)?;
        tell(&Event::Ended { phase, measure: Box::new(measure) });
    }
    Ok(())
}

impl Session {
    fn open(engine: Engine, job: &Job) -> Result<Session> {
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

    /// Another connection to the same database.
    ///
    /// # Errors
    /// SQLite's, and a setting that does not take.
    pub fn connect(&self) -> Result<Connection, SqlError> {
        connect(&self.engine, &self.database, &self.plan)
            .map_err(|error| SqlError { code: 1, message: format!("{error:#}") })
    }

    fn opened(&self) -> Result<Event> {
        let mut pragmas = BTreeMap::new();
        for name in SETTINGS {
            if let Some(value) = self.connection.pragma(name)? {
                pragmas.insert(name.to_string(), value);
            }
        }
        Ok(Event::Opened {
            sqlite_version: self.engine.version(),
            source_id: self.engine.source_id(),
            compile_options: self.connection.compile_options()?,
            pragmas,
        })
    }

    /// Measures a phase, then checks its answers and empties the log, so that each phase begins alike.
    fn phase(&mut self, phase: Phase) -> Result<Measure> {
        let process = std::process::id();
        let (io, faults) = (ProcessIo::of(process), page_cache::major_faults(process));
        let mut measure = phases::run(self, phase).with_context(|| format!("phase {}", phase.name()))?;
        measure.read_bytes =
            io.zip(ProcessIo::of(process)).map(|(before, after)| after.since(before).read_bytes);
        measure.major_faults =
            faults.zip(page_cache::major_faults(process)).map(|(before, after)| after - before);
        measure.wal_bytes = size(&wal(&self.database));
        let copied = self.connection.checkpoint(Checkpoint::Restart)?;
        measure.checkpointed_pages = copied.map_or(0, |(_, copied)| copied);
        self.connection.checkpoint(Checkpoint::Truncate)?;
        measure.database_bytes = size(&self.database);
        measure.checks = checks::after(self, phase, &measure)?;
        if self.plan.leg == Leg::DiskBound && matches!(phase, Phase::BulkInsert | Phase::Mixed) {
            // The next phase shall not profit from what the last one, or its checks, left in memory.
            page_cache::drop_file(&self.database)?;
        }
        Ok(measure)
    }
}

const SETTINGS: [&str; 7] =
    ["journal_mode", "synchronous", "page_size", "cache_size", "mmap_size", "temp_store", "busy_timeout"];

/// Opens the database with the published settings, and reads each back: one that did not take is an error.
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
            bail!("pragma {name}: asked for {value}, the engine answers `{found}`");
        }
    }
    Ok(connection)
}

fn wal(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

fn size(path: &Path) -> u64 {
    path.metadata().map_or(0, |facts| facts.len())
}
