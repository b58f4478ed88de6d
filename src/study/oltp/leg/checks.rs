//! Checks that the answers are right, and that everything that was acknowledged is stored.

use super::session::{Expected, Ledger, Session};
use crate::instrument::engine::{Connection, SqlError, Step, Value};
use crate::record::{Check, Measure};
use crate::study::oltp::{Phase, data, work};

/// Makes the checks that follow `phase`.
///
/// # Errors
/// Passes on errors of SQLite when a check can't be made.
pub fn after(session: &mut Session, phase: Phase, measure: &Measure) -> Result<Vec<Check>, SqlError> {
    let connection = &session.connection;
    let count = |name: &str| measure.counts.get(name).copied().unwrap_or(0);
    let mut checks = Vec::new();
    match phase {
        Phase::BulkInsert => checks.extend(table(connection, &session.expected)?),
        Phase::SelectPrimaryKey | Phase::ConcurrentReads => {
            checks.push(Check::new("point reads that found no row", 0, count("not found")));
        }
        Phase::SelectRange => {
            checks.push(Check::new("ranges with a wrong count or sum", 0, count("wrong ranges")))
        }
        Phase::Update => checks.push(acknowledged(connection, &session.ledger, session.plan.payload)?),
        Phase::Mixed | Phase::ConcurrentWrites => {
            checks.push(Check::new("point reads that found no row", 0, count("not found")));
            checks.push(acknowledged(connection, &session.ledger, session.plan.payload)?);
            checks.extend(table(connection, &session.expected)?);
            checks.push(Check::new(
                "integrity_check",
                "ok",
                connection.query_text("PRAGMA integrity_check")?,
            ));
        }
    }
    session.ledger.clear();
    Ok(checks)
}

/// Checks the number of rows and the sums, each from the smallest index that contains it.
fn table(connection: &Connection, expected: &Expected) -> Result<[Check; 3], SqlError> {
    Ok([
        Check::new("rows", expected.rows, connection.query_i64("SELECT count(*) FROM event")?),
        Check::new("sum of user_id", expected.users, connection.query_i64("SELECT sum(user_id) FROM event")?),
        Check::new(
            "sum of created_at",
            expected.created,
            connection.query_i64("SELECT sum(created_at) FROM event")?,
        ),
    ])
}

/// Checks the last acknowledged write of every key by reading it back, in the order of the keys.
fn acknowledged(connection: &Connection, ledger: &Ledger, length: usize) -> Result<Check, SqlError> {
    let mut select = connection.prepare(work::SELECT)?;
    let mut writes: Vec<(&i64, &(u64, u64))> = ledger.iter().collect();
    writes.sort();
    let mut payload = String::new();
    let mut lost = 0;
    for (id, (thread, number)) in writes {
        data::written_payload(&mut payload, length, *thread, *number);
        let mut cursor = select.start(&[Value::Integer(*id)])?;
        let kept = cursor.step()? == Step::Row && cursor.text_bytes(2) == payload.as_bytes();
        lost += u64::from(!kept);
    }
    Ok(Check::new(&format!("acknowledged writes that are lost, of {}", ledger.len()), 0, lost))
}
