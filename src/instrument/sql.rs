//! Statements as data: their text, their arguments, and their answers.

use sha2::{Digest, Sha256};
use std::borrow::Cow;

/// A value of SQLite.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Value {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Value::Integer(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Value::Real(value)
    }
}

/// An SQL statement with its arguments, in the order of its question marks.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The text of the statement.
    pub sql: Cow<'static, str>,
    /// One argument for each question mark.
    pub arguments: Vec<Value>,
}

impl Statement {
    /// Returns a statement with this text and these arguments.
    pub fn new(sql: impl Into<Cow<'static, str>>, arguments: Vec<Value>) -> Statement {
        Statement { sql: sql.into(), arguments }
    }
}

/// The answer to a statement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The number of rows inserted, changed or deleted; 0 for a query.
    pub affected: u64,
    /// The rows that were returned.
    pub rows: Vec<Vec<Value>>,
}

/// The identity of a sequence of statements: the SHA-256 of the text and the arguments of each, with their
/// types and lengths, so that no two sequences share their bytes.
#[derive(Clone, Default)]
pub struct WorkHash(Sha256);

impl WorkHash {
    /// Adds the next statement.
    pub fn add(&mut self, statement: &Statement) {
        self.piece(b's', statement.sql.as_bytes());
        for value in &statement.arguments {
            match value {
                Value::Null => self.piece(b'n', &[]),
                Value::Integer(value) => self.piece(b'i', &value.to_le_bytes()),
                Value::Real(value) => self.piece(b'r', &value.to_le_bytes()),
                Value::Text(text) => self.piece(b't', text.as_bytes()),
                Value::Blob(bytes) => self.piece(b'b', bytes),
            }
        }
    }

    fn piece(&mut self, kind: u8, bytes: &[u8]) {
        self.0.update([kind]);
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// Returns the hash so far, in hexadecimal.
    pub fn hex(&self) -> String {
        self.0.clone().finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_borders_count() {
        let hash = |statements: &[Statement]| {
            let mut work = WorkHash::default();
            statements.iter().for_each(|statement| work.add(statement));
            work.hex()
        };
        let text = |text: &str| Value::Text(text.to_string());
        let all = [
            vec![],
            vec![Statement::new("ab", vec![])],
            vec![Statement::new("a", vec![]), Statement::new("b", vec![])],
            vec![Statement::new("a", vec![text("b")])],
            vec![Statement::new("a", vec![Value::Blob(b"b".to_vec())])],
            vec![Statement::new("a", vec![Value::Integer(1)])],
            vec![Statement::new("a", vec![Value::Real(1.0)])],
            vec![Statement::new("a", vec![Value::Null])],
        ];
        let hashes: std::collections::HashSet<String> = all.iter().map(|work| hash(work)).collect();
        assert_eq!(hashes.len(), all.len());
        assert_eq!(hash(&all[3]), hash(&all[3].clone()));
    }
}
