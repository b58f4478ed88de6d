//! One leg, from the empty file to the last check.

use super::session::{Expected, Session};
use super::{Event, Job, checks, phases};
use crate::instrument::engine::{Checkpoint, Engine};
use crate::instrument::page_cache;
use crate::instrument::proc::{self, Io};
use crate::record::{self, Measure};
use crate::study::oltp::{Detail, Leg, Phase, work};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Carries out `job` and reports what happens.
///
/// # Errors
/// Returns what kept the leg from finishing, after reporting it.
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
        session.connection.exec(work::SCHEMA)?;
    } else {
        // Rows that an earlier run added are removed; payloads that it rewrote change neither sums nor
        // lengths.
        session.connection.exec(&format!("DELETE FROM event WHERE id > {}", job.plan.rows))?;
        session.connection.checkpoint(Checkpoint::Truncate)?;
        let rows = session.connection.query_i64("SELECT count(*) FROM event")?;
        if rows != job.plan.rows as i64 {
            bail!(
                "{}: {rows} rows, but {} are needed; the database is not whole",
                job.database.display(),
                job.plan.rows
            );
        }
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

    /// Measures a phase, then checks its answers and empties the log, so that all phases begin alike.
    fn phase(&mut self, phase: Phase) -> Result<Measure> {
        let process = std::process::id();
        let (io, faults) = (Io::of(process), proc::major_faults(process));
        let mut measure = phases::run(self, phase).with_context(|| format!("phase {}", phase.name()))?;
        let now = (Io::of(process), proc::major_faults(process));
        let wal_bytes = Some(size(&wal(&self.database)));
        let copied = self.connection.checkpoint(Checkpoint::Restart)?;
        self.connection.checkpoint(Checkpoint::Truncate)?;
        measure.detail = record::Detail::of(&Detail {
            read_bytes: io.zip(now.0).map(|(before, after)| after.since(before).read_bytes),
            major_faults: faults.zip(now.1).map(|(before, after)| after - before),
            wal_bytes,
            checkpointed_pages: copied.map(|(_, copied)| copied),
            database_bytes: Some(size(&self.database)),
            ..measure.detail().unwrap_or_default()
        });
        measure.checks = checks::after(self, phase, &measure)?;
        if self.plan.leg == Leg::DiskBound && matches!(phase, Phase::BulkInsert | Phase::Mixed) {
            // The next phase must not profit from what this one, or its checks, left in memory.
            page_cache::drop_file(&self.database)?;
        }
        Ok(measure)
    }
}

const SETTINGS: [&str; 7] =
    ["journal_mode", "synchronous", "page_size", "cache_size", "mmap_size", "temp_store", "busy_timeout"];

fn wal(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

fn size(path: &Path) -> u64 {
    path.metadata().map_or(0, |facts| facts.len())
}
