//! Records who wrote what, and checks whether it is stored.

use crate::instrument::hrana::{Client, Failure, Stream};
use crate::instrument::sql::{Statement, Value};
use crate::record::Check;
use crate::study::clients::LOST_WRITES;
use crate::study::clients::statements::{WRITERS, Write};
use std::collections::HashMap;

/// A write that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// What the statement writes.
    pub write: Write,
    /// When the write was sent, in ns of a clock that all clients share.
    pub begun_ns: u64,
    /// When the write was answered; `None` when it was not, so that nobody knows whether it happened.
    pub answered_ns: Option<u64>,
}

/// All writes since the table was seeded.
#[derive(Default)]
pub struct Ledger {
    rows: u64,
    by_row: HashMap<i64, Vec<Sent>>,
}

/// The ways in which the table differs from the writes.
#[derive(Debug, Default, PartialEq, Eq)]
struct Faults {
    lost: u64,
    foreign: u64,
    first: Option<String>,
}

impl Ledger {
    /// Returns the ledger of a table seeded with `rows` rows.
    pub fn new(rows: u64) -> Ledger {
        Ledger { rows, by_row: HashMap::new() }
    }

    /// Adds the writes of a client.
    pub fn add(&mut self, sent: Vec<Sent>) {
        for sent in sent {
            self.by_row.entry(sent.write.id).or_default().push(sent);
        }
    }

    /// Reads the table, and checks that every acknowledged write is there or was overwritten by another.
    ///
    /// # Errors
    /// Fails when the table can't be read.
    pub fn check(&self, client: &mut Client, stream: Stream) -> Result<Vec<Check>, Failure> {
        let mut found = HashMap::new();
        let mut after = 0;
        loop {
            let page = client.execute(stream, &Statement::new(WRITERS, vec![after.into()]))?.answer.rows;
            let Some(last) = page.last() else { break };
            after = match last.first() {
                Some(Value::Integer(id)) if *id > after => *id,
                other => {
                    return Err(Failure::Protocol(format!(
                        "rows in a different order than asked for: {other:?}"
                    )));
                }
            };
            for row in page {
                if let [Value::Integer(id), Value::Integer(writer)] = row[..] {
                    found.insert(id, writer);
                }
            }
        }
        let faults = self.faults(&found);
        let mut checks = vec![
            Check::new(LOST_WRITES, 0, faults.lost),
            Check::new("rows that no client wrote", 0, faults.foreign),
        ];
        checks.extend(faults.first.map(|first| Check::new("the first of them", "none", first)));
        Ok(checks)
    }

    fn faults(&self, found: &HashMap<i64, i64>) -> Faults {
        let mut faults = Faults::default();
        let mut fault = |count: fn(&mut Faults) -> &mut u64, text: String| {
            *count(&mut faults) += 1;
            faults.first.get_or_insert(text);
        };
        for id in (1..=self.rows as i64).filter(|id| !self.by_row.contains_key(id)) {
            match found.get(&id) {
                Some(0) => {}
                Some(writer) => {
                    fault(|f| &mut f.foreign, format!("row {id}: holds write {writer}, which no client sent"))
                }
                None => fault(|f| &mut f.lost, format!("row {id} of the seeding is missing")),
            }
        }
        for (id, sent) in &self.by_row {
            match judge(sent, *id <= self.rows as i64, found.get(id).copied()) {
                Row::Right => {}
                Row::Lost(writer) => fault(
                    |f| &mut f.lost,
                    format!("row {id}: write {writer} was acknowledged, but found {:?}", found.get(id)),
                ),
                Row::Foreign => fault(|f| &mut f.foreign, format!("row {id}: found {:?}", found.get(id))),
            }
        }
        let strangers = found.keys().filter(|id| **id > self.rows as i64 && !self.by_row.contains_key(id));
        for id in strangers {
            fault(|f| &mut f.foreign, format!("row {id}: no client inserted it"));
        }
        faults
    }
}

enum Row {
    Right,
    Lost(i64),
    Foreign,
}

/// Judges a row: it must hold the last acknowledged write, or one that may have come after it.
fn judge(sent: &[Sent], seeded: bool, found: Option<i64>) -> Row {
    let acknowledged = || sent.iter().filter(|sent| sent.answered_ns.is_some());
    let Some(last) = acknowledged().max_by_key(|sent| sent.begun_ns) else {
        // It is certain only that the row holds the seeding or one of these writes.
        let possible = match found {
            None => !seeded,
            Some(writer) => (seeded && writer == 0) || sent.iter().any(|sent| sent.write.writer == writer),
        };
        return if possible { Row::Right } else { Row::Foreign };
    };
    let Some(writer) = found else { return Row::Lost(last.write.writer) };
    match sent.iter().find(|sent| sent.write.writer == writer) {
        // This write was answered before the last one was sent, so it can't have come after it.
        Some(there) if there.answered_ns.is_some_and(|answered| answered < last.begun_ns) => {
            Row::Lost(last.write.writer)
        }
        Some(_) => Row::Right,
        None if writer == 0 => Row::Lost(last.write.writer),
        None => Row::Foreign,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(id: i64, writer: i64, begun_ns: u64, answered_ns: Option<u64>) -> Sent {
        Sent { write: Write { id, writer }, begun_ns, answered_ns }
    }

    fn faults(writes: &[Sent], table: &[(i64, i64)]) -> (u64, u64) {
        let mut ledger = Ledger::new(2);
        ledger.add(writes.to_vec());
        let faults = ledger.faults(&table.iter().copied().collect());
        assert_eq!(faults.first.is_some(), faults.lost + faults.foreign > 0);
        (faults.lost, faults.foreign)
    }

    #[test]
    fn what_was_acknowledged_is_there_or_overtaken() {
        let seeded = [(1, 0), (2, 0)];
        assert_eq!(faults(&[], &seeded), (0, 0));
        assert_eq!(faults(&[], &[(1, 0)]), (1, 0), "a seeded row is gone");
        assert_eq!(faults(&[], &[(1, 0), (2, 9)]), (0, 1), "somebody else has written");
        assert_eq!(faults(&[], &[(1, 0), (2, 0), (3, 9)]), (0, 1), "somebody else has inserted");

        let update = sent(1, 7, 10, Some(20));
        assert_eq!(faults(&[update], &[(1, 7), (2, 0)]), (0, 0));
        assert_eq!(faults(&[update], &seeded), (1, 0), "an update is lost");
        let insert = sent(3, 8, 10, Some(20));
        assert_eq!(faults(&[insert], &seeded), (1, 0), "an insert is lost");

        let later = sent(1, 9, 30, Some(40));
        assert_eq!(faults(&[update, later], &[(1, 9), (2, 0)]), (0, 0));
        assert_eq!(faults(&[update, later], &[(1, 7), (2, 0)]), (1, 0), "the later one is lost");
        let beside = sent(1, 9, 15, Some(40));
        assert_eq!(faults(&[update, beside], &[(1, 7), (2, 0)]), (0, 0), "of two at once either may win");
    }

    #[test]
    fn what_was_not_answered_may_be_there_or_not() {
        let doubtful = sent(1, 7, 10, None);
        assert_eq!(faults(&[doubtful], &[(1, 0), (2, 0)]), (0, 0));
        assert_eq!(faults(&[doubtful], &[(1, 7), (2, 0)]), (0, 0));
        assert_eq!(faults(&[sent(3, 7, 10, None)], &[(1, 0), (2, 0)]), (0, 0));
        let update = sent(1, 8, 20, Some(30));
        assert_eq!(faults(&[doubtful, update], &[(1, 7), (2, 0)]), (0, 0), "it may have come late");
        assert_eq!(faults(&[doubtful, update], &[(1, 0), (2, 0)]), (1, 0));
    }
}
