//! The loop of each phase. Only the operations are timed: between them arguments are made and results are
//! recorded, and the time for that is reported separately.

use super::session::{Ledger, Session};
use crate::instrument::engine::{Connection, SqlError, Statement, Step, Value};
use crate::instrument::meter::Meter;
use crate::record::Measure;
use crate::study::oltp::data::{self, Data, Purpose, Row};
use crate::study::oltp::{Detail, Phase, work};
use rand::RngExt;
use rand::rngs::ChaCha8Rng;
use std::sync::Barrier;
use std::time::Duration;

/// Runs a phase.
///
/// # Errors
/// Passes on errors that keep the phase from being measured at all; operations that fail are only counted.
pub fn run(session: &mut Session, phase: Phase) -> Result<Measure, SqlError> {
    match phase {
        Phase::BulkInsert => bulk_insert(session),
        Phase::SelectPrimaryKey => select_primary_key(session),
        Phase::SelectRange => select_range(session),
        Phase::Update => update(session),
        Phase::Mixed => mixed(session),
        Phase::ConcurrentReads => concurrent_reads(session),
        Phase::ConcurrentWrites => concurrent_writes(session),
    }
}

/// Combines what several threads measured, with the time of their loops.
fn finished(meters: Vec<Meter>) -> Measure {
    let (measure, loop_ns) = Meter::merge_operations(meters);
    Measure { detail: crate::record::Detail::of(&Detail { loop_ns, ..Detail::default() }), ..measure }
}

fn bulk_insert(session: &mut Session) -> Result<Measure, SqlError> {
    let plan = session.plan.clone();
    let mut insert = session.connection.prepare(work::INSERT)?;
    let mut rows = Data::new(plan.seed, Purpose::Rows, plan.rows, plan.payload);
    let mut meter = Meter::counted(plan.rows);
    let mut next = 1;
    while next <= plan.rows as i64 {
        let end = (next + plan.batch as i64).min(plan.rows as i64 + 1);
        session.connection.exec("BEGIN")?;
        for id in next..end {
            let (row, payload) = rows.row(id);
            // A row that can't be stored ends the phase, because later phases need all rows.
            let mut failure = None;
            let last = id == end - 1;
            meter.time(|| {
                let result = write(&mut insert, &row, payload)
                    .and_then(|()| if last { session.connection.exec("COMMIT") } else { Ok(()) });
                failure = result.as_ref().err().cloned();
                result
            });
            if let Some(error) = failure {
                return Err(error);
            }
            session.expected.add(&row);
        }
        next = end;
    }
    Ok(finished(vec![meter]))
}

fn write(insert: &mut Statement, row: &Row, payload: &str) -> Result<(), SqlError> {
    insert.run(&[
        Value::Integer(row.id),
        Value::Integer(row.user_id),
        Value::Integer(row.created_at),
        Value::Text(payload),
    ])
}

/// Reads one row, and returns whether it exists.
#[inline]
fn read(select: &mut Statement, id: i64) -> Result<bool, SqlError> {
    let mut cursor = select.start(&[Value::Integer(id)])?;
    let found = cursor.step()? == Step::Row;
    if found {
        std::hint::black_box((cursor.integer(0), cursor.integer(1), cursor.text_bytes(2).len()));
    }
    cursor.reset()?;
    Ok(found)
}

fn key(generator: &mut ChaCha8Rng, rows: u64) -> i64 {
    generator.random_range(1..=rows as i64)
}

/// Times a read and counts whether it found a row.
fn timed_read(meter: &mut Meter, select: &mut Statement, id: i64, found: &mut [u64; 2]) {
    meter.time(|| {
        let there = read(select, id)?;
        found[usize::from(there)] += 1;
        Ok::<(), SqlError>(())
    });
}

fn with_found(mut measure: Measure, found: [u64; 2]) -> Measure {
    measure.counts.insert("not found".to_string(), found[0]);
    measure.counts.insert("found".to_string(), found[1]);
    measure
}

fn select_primary_key(session: &mut Session) -> Result<Measure, SqlError> {
    let plan = &session.plan;
    let mut keys = data::stream(plan.seed, Purpose::PrimaryKeys, 0);
    let mut select = session.connection.prepare(work::SELECT)?;
    let mut meter = Meter::counted(plan.operations);
    let mut found = [0; 2];
    for _ in 0..plan.operations {
        let id = key(&mut keys, plan.rows);
        timed_read(&mut meter, &mut select, id, &mut found);
    }
    Ok(with_found(finished(vec![meter]), found))
}

/// Runs range queries; every range must have the same number of rows, all with a whole payload.
fn select_range(session: &mut Session) -> Result<Measure, SqlError> {
    let plan = &session.plan;
    let mut keys = data::stream(plan.seed, Purpose::Ranges, 0);
    let mut select = session.connection.prepare(work::RANGE)?;
    let mut meter = Meter::counted(plan.operations);
    let expected = (plan.range as i64, (plan.range * plan.payload as u64) as i64);
    let mut wrong = 0;
    for _ in 0..plan.operations {
        let first = data::EPOCH + key(&mut keys, plan.rows - plan.range + 1) * data::SPACING;
        let last = first + (plan.range as i64 - 1) * data::SPACING;
        meter.time(|| {
            let mut cursor = select.start(&[Value::Integer(first), Value::Integer(last)])?;
            let right = cursor.step()? == Step::Row && (cursor.integer(0), cursor.integer(2)) == expected;
            wrong += u64::from(!right);
            cursor.reset()
        });
    }
    let mut measure = finished(vec![meter]);
    measure.counts.insert("wrong ranges".to_string(), wrong);
    Ok(measure)
}

fn update(session: &mut Session) -> Result<Measure, SqlError> {
    let plan = session.plan.clone();
    let mut keys = data::stream(plan.seed, Purpose::Updates, 0);
    let mut statement = session.connection.prepare(work::UPDATE)?;
    let mut meter = Meter::counted(plan.operations);
    let mut ledger = Ledger::new();
    let mut payload = String::new();
    session.connection.exec("BEGIN")?;
    for number in 0..plan.operations {
        let id = key(&mut keys, plan.rows);
        data::written_payload(&mut payload, plan.payload, 0, number);
        let last = number + 1 == plan.operations;
        let done = meter.time(|| {
            statement.run(&[Value::Integer(id), Value::Text(&payload)])?;
            if last { session.connection.exec("COMMIT") } else { Ok(()) }
        });
        if done {
            ledger.insert(id, (0, number));
        }
    }
    session.ledger = ledger;
    Ok(finished(vec![meter]))
}

/// Runs 70 reads, 25 updates and 5 inserts in a hundred operations, drawn at random.
fn mixed(session: &mut Session) -> Result<Measure, SqlError> {
    let plan = session.plan.clone();
    let mut keys = data::stream(plan.seed, Purpose::Mixed, 0);
    let mut rows = Data::new(plan.seed ^ 1, Purpose::Mixed, plan.rows, plan.payload);
    let mut select = session.connection.prepare(work::SELECT)?;
    let mut update = session.connection.prepare(work::UPDATE)?;
    let mut insert = session.connection.prepare(work::INSERT)?;
    let mut meter = Meter::counted(plan.operations);
    let (mut found, mut updates, mut inserts) = ([0; 2], 0, 0);
    let mut ledger = Ledger::new();
    let mut payload = String::new();
    for number in 0..plan.operations {
        let id = key(&mut keys, plan.rows);
        match keys.random_range(0..100) {
            0..70 => timed_read(&mut meter, &mut select, id, &mut found),
            70..95 => {
                data::written_payload(&mut payload, plan.payload, 1, number);
                if meter.time(|| update.run(&[Value::Integer(id), Value::Text(&payload)])) {
                    ledger.insert(id, (1, number));
                    updates += 1;
                }
            }
            _ => {
                let (row, text) = rows.row(session.expected.rows + 1);
                if meter.time(|| write(&mut insert, &row, text)) {
                    session.expected.add(&row);
                    inserts += 1;
                }
            }
        }
    }
    session.ledger = ledger;
    let mut measure = with_found(finished(vec![meter]), found);
    measure.counts.insert("updates".to_string(), updates);
    measure.counts.insert("inserts".to_string(), inserts);
    Ok(measure)
}

fn concurrent_reads(session: &mut Session) -> Result<Measure, SqlError> {
    let plan = session.plan.clone();
    let results = on_threads(session, plan.threads, |connection, thread, meter, length| {
        let mut keys = data::stream(plan.seed, Purpose::ConcurrentReads, thread);
        let mut select = connection.prepare(work::SELECT)?;
        let mut found = [0; 2];
        while meter.elapsed() < length {
            let id = key(&mut keys, plan.rows);
            timed_read(meter, &mut select, id, &mut found);
        }
        Ok(found)
    })?;
    let found = results.iter().fold([0; 2], |sum, (_, found)| [sum[0] + found[0], sum[1] + found[1]]);
    Ok(with_found(finished(results.into_iter().map(|result| result.0).collect()), found))
}

/// Runs writes on several threads. Each thread writes keys of its own, so that the last acknowledged write of
/// a key is known.
fn concurrent_writes(session: &mut Session) -> Result<Measure, SqlError> {
    let plan = session.plan.clone();
    let results = on_threads(session, plan.writers, |connection, thread, meter, length| {
        let mut keys = data::stream(plan.seed, Purpose::ConcurrentWrites, thread);
        let mut update = connection.prepare(work::UPDATE)?;
        let mut ledger = Ledger::new();
        let mut payload = String::new();
        let mut number = 0;
        while meter.elapsed() < length {
            let slot = keys.random_range(0..(plan.rows / plan.writers) as i64);
            let id = slot * plan.writers as i64 + thread as i64 + 1;
            data::written_payload(&mut payload, plan.payload, 2 + thread, number);
            if meter.time(|| update.run(&[Value::Integer(id), Value::Text(&payload)])) {
                ledger.insert(id, (2 + thread, number));
            }
            number += 1;
        }
        Ok(ledger)
    })?;
    let mut meters = Vec::new();
    session.ledger = Ledger::new();
    for (meter, ledger) in results {
        meters.push(meter);
        session.ledger.extend(ledger);
    }
    Ok(finished(meters))
}

/// Runs `job` on `count` threads that start together, each with a connection of its own.
fn on_threads<T: Send>(
    session: &Session,
    count: u64,
    job: impl Fn(&Connection, u64, &mut Meter, Duration) -> Result<T, SqlError> + Sync,
) -> Result<Vec<(Meter, T)>, SqlError> {
    let length = Duration::from_secs(session.plan.seconds);
    let connections = (0..count).map(|_| session.connect()).collect::<Result<Vec<_>, _>>()?;
    let barrier = Barrier::new(connections.len());
    std::thread::scope(|scope| {
        let threads: Vec<_> = connections
            .into_iter()
            .zip(0..)
            .map(|(connection, thread)| {
                let (barrier, job) = (&barrier, &job);
                scope.spawn(move || {
                    barrier.wait();
                    let mut meter = Meter::timed(length);
                    let result = job(&connection, thread, &mut meter, length)?;
                    Ok((meter, result))
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}
