//! Runs statements through SQLite's C interface in this process, with WAL and synchronous NORMAL. Each
//! statement is a transaction of its own and is prepared once for each text.

use super::{Facts, LegRun, Place, Ran, Side};
use crate::instrument::engine::{self, Connection, Cursor, Kind, OpenMode, SqlError};
use crate::instrument::meter::Meter;
use crate::instrument::scratch::{Scratch, database_files};
use crate::instrument::sql::{Answer, Statement, Value};
use crate::study::serverless::work::Step;
use anyhow::{Result, bail};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const DATABASE: &str = "serverless.db";

pub fn run(
    place: &Place,
    run: &mut LegRun,
    steps: &mut dyn FnMut(&mut dyn Side, &mut LegRun) -> Result<()>,
) -> Result<()> {
    let ours = database_files(DATABASE);
    let scratch = Scratch::new(&place.folder, "embedded", &ours.each_ref().map(String::as_str), place.keep)?;
    let connection = place.engine.open(&scratch.path().join(DATABASE), OpenMode::Create)?;
    for (name, value, expected) in [("journal_mode", "WAL", "wal"), ("synchronous", "NORMAL", "1")] {
        connection.pragma(&format!("{name} = {value}"))?;
        let found = connection.pragma(name)?.unwrap_or_default();
        if found != expected {
            bail!("PRAGMA {name}: set to {value}, but the engine reports `{found}`");
        }
    }
    run.facts = Some(facts(place, &connection)?);
    steps(&mut Embedded { connection, stop: Arc::clone(&place.stop) }, run)
}

fn facts(place: &Place, connection: &Connection) -> Result<Facts> {
    let mut settings = BTreeMap::new();
    for name in super::remote::SETTINGS {
        if let Some(value) = connection.pragma(name)? {
            settings.insert(name.to_string(), value);
        }
    }
    let origin = place.engine.origin();
    Ok(Facts {
        name: origin.map_or("bundled SQLite".to_string(), |path| path.display().to_string()),
        sqlite_version: place.engine.version(),
        source_id: place.engine.source_id(),
        compile_options: connection.compile_options()?,
        settings,
    })
}

struct Embedded {
    connection: Connection,
    stop: Arc<AtomicBool>,
}

impl Side for Embedded {
    fn run<'s>(&mut self, step: &'s Step, meter: &mut Meter) -> Result<Vec<Ran<'s>>, String> {
        let mut ran = Vec::with_capacity(step.statements.len());
        let mut prepared: Option<(&str, engine::Statement)> = None;
        for (index, statement) in step.statements.iter().enumerate() {
            if self.stop.load(Ordering::Relaxed) {
                return Err("interrupted".to_string());
            }
            let mut failure = None;
            meter.time(|| {
                let result = execute(&self.connection, &mut prepared, statement);
                failure = result.as_ref().err().map(ToString::to_string);
                result.map(|answer| ran.push((statement, answer)))
            });
            if let Some(failure) = failure {
                return Err(format!("statement {} of {}: {failure}", index + 1, step.statements.len()));
            }
        }
        Ok(ran)
    }
}

fn execute<'c, 's>(
    connection: &'c Connection,
    prepared: &mut Option<(&'s str, engine::Statement<'c>)>,
    statement: &'s Statement,
) -> Result<Answer, SqlError> {
    let before = connection.total_changes();
    if prepared.as_ref().is_none_or(|(sql, _)| *sql != statement.sql) {
        *prepared = Some((&statement.sql, connection.prepare(&statement.sql)?));
    }
    let Some((_, program)) = prepared else { unreachable!("it was prepared above") };
    let arguments: Vec<engine::Value> = statement.arguments.iter().map(borrow).collect();
    let columns = program.column_count();
    let mut cursor = program.start(&arguments)?;
    let mut rows = Vec::new();
    while cursor.step()? == engine::Step::Row {
        rows.push((0..columns).map(|column| value(&mut cursor, column)).collect::<Result<_, SqlError>>()?);
    }
    cursor.reset()?;
    Ok(Answer { affected: (connection.total_changes() - before) as u64, rows })
}

fn borrow(value: &Value) -> engine::Value<'_> {
    match value {
        Value::Null => engine::Value::Null,
        Value::Integer(value) => engine::Value::Integer(*value),
        Value::Real(value) => engine::Value::Real(*value),
        Value::Text(text) => engine::Value::Text(text),
        Value::Blob(bytes) => engine::Value::Blob(bytes),
    }
}

fn value(cursor: &mut Cursor, column: usize) -> Result<Value, SqlError> {
    Ok(match cursor.kind(column) {
        Kind::Null => Value::Null,
        Kind::Integer => Value::Integer(cursor.integer(column)),
        Kind::Real => Value::Real(cursor.real(column)),
        Kind::Text => Value::Text(cursor.text(column)?.to_string()),
        Kind::Blob => Value::Blob(cursor.blob(column).to_vec()),
    })
}
