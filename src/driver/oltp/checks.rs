//! Whether the answers are right, and everything acknowledged is there.

use super::leg::Session;
use super::phases::Ledger;
use crate::driver::engine::{Connection, SqlError, Step, Value};
use crate::suite::oltp::data::{self, Row};
use crate::suite::oltp::{self, Check, Measure, Phase};

/// What the table must hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// Rows; their keys are 1 to this.
    pub rows: i64,
    /// Sum of `user_id`.
    pub users: i64,
    /// Sum of `created_at`.
    pub created: i64,
}

impl Expected {
    /// Adds a row that was acknowledged.
    pub fn add(&mut self, row: &Row) {
        self.rows += 1;
        self.users += row.user_id;
        self.created += row.created_at;
    }

    /// Of the table as the bulk insert leaves it.
    pub fn after_bulk_insert(seed: u64, rows: u64, payload: usize) -> Expected {
        let mut expected = Expected::default();
        let mut data = data::Data::new(seed, data::Purpose::Rows, rows, payload);
        for id in 1..=rows as i64 {
            expected.add(&data.row(id).0);
        }
        expected
    }
}

/// The checks that follow `phase`.
///
/// # Errors
/// SQLite's, when a check can't be made.
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

/// Rows and sums, each from the smallest index that holds it.
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

/// Reads back the last acknowledged write of every key, in the order of the keys.
fn acknowledged(connection: &Connection, ledger: &Ledger, length: usize) -> Result<Check, SqlError> {
    let mut select = connection.prepare(oltp::SELECT)?;
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
