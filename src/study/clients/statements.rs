//! The table, and the statements of one client.

use super::{Kind, Mix};
use crate::instrument::sql::{Statement, Value};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// The table and its indexes. `writer` is the number of the write that left the row in its present state; 0
/// is the seeding.
pub const SCHEMA: [&str; 3] = [
    "CREATE TABLE item(id INTEGER PRIMARY KEY, team INTEGER NOT NULL, score INTEGER NOT NULL, \
     writer INTEGER NOT NULL, body TEXT NOT NULL)",
    "CREATE INDEX item_score ON item(score)",
    "CREATE INDEX item_team ON item(team, score)",
];
const COLUMNS: &str = "INSERT INTO item(id, team, score, writer, body) VALUES";
const INSERT: &str = "INSERT INTO item(id, team, score, writer, body) VALUES(?, ?, ?, ?, ?)";
const UPDATE: &str = "UPDATE item SET score = ?, writer = ? WHERE id = ?";
const POINT: &str = "SELECT team, score, body FROM item WHERE id = ?";
const RANGE: &str = "SELECT count(*) FROM item WHERE score BETWEEN ? AND ?";
const TOP: &str = "SELECT id, score FROM item WHERE team = ? ORDER BY score DESC LIMIT 10";
/// Reads a page of the rows' keys with the numbers of their writers.
pub const WRITERS: &str = "SELECT id, writer FROM item WHERE id > ? ORDER BY id LIMIT 20000";

/// Scores are spread over this many values; a range covers a thousandth of them.
const SCORES: i64 = 1_000_000;
const SPAN: i64 = 1000;
/// The number of rows of a team in the seeded table.
const TEAM: u64 = 100;
/// The size of a body in bytes.
const BODY: usize = 80;
/// The number of rows of a seeding statement.
const SEED_ROWS: u64 = 500;

/// What a statement writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// The key of the row.
    pub id: i64,
    /// The number of the write, which is unique.
    pub writer: i64,
}

/// The next statement of a client.
#[derive(Clone, Debug, PartialEq)]
pub struct Next {
    /// The kind of the statement.
    pub kind: Kind,
    /// The statement to send.
    pub statement: Statement,
    /// What the statement writes; `None` for a read.
    pub write: Option<Write>,
}

/// Makes the statements of one client. The same seed, level and client give the same kinds and keys.
pub struct Statements {
    generator: ChaCha8Rng,
    mix: Mix,
    rows: u64,
    /// The base of the numbers of the client's writes.
    first_writer: i64,
    writes: i64,
}

impl Statements {
    /// Creates the generator for the `client`-th client in the `level`-th level, both counted from 0, on a
    /// table seeded with `rows` rows.
    pub fn new(seed: u64, level: u64, client: u64, mix: Mix, rows: u64) -> Statements {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream((level + 1) << 32 | (client + 1));
        let first_writer = ((level as i64 + 1) << 48) | ((client as i64 + 1) << 32);
        Statements { generator, mix, rows, first_writer, writes: 0 }
    }

    /// Returns the next statement; `new_id` returns a key that no row has.
    pub fn next(&mut self, new_id: impl FnOnce() -> i64) -> Next {
        let kind = self.mix.pick(self.generator.random_range(0..100));
        let (statement, write) = match kind {
            Kind::Insert => {
                let write = self.write(new_id());
                let team = self.team();
                let score = self.score();
                let arguments = vec![
                    write.id.into(),
                    team.into(),
                    score.into(),
                    write.writer.into(),
                    Value::Text(body(write.id)),
                ];
                (Statement::new(INSERT, arguments), Some(write))
            }
            Kind::Update => {
                let id = self.id();
                let write = self.write(id);
                let arguments = vec![self.score().into(), write.writer.into(), write.id.into()];
                (Statement::new(UPDATE, arguments), Some(write))
            }
            Kind::Point => (Statement::new(POINT, vec![self.id().into()]), None),
            Kind::Range => {
                let first = self.generator.random_range(0..SCORES - SPAN);
                (Statement::new(RANGE, vec![first.into(), (first + SPAN - 1).into()]), None)
            }
            Kind::Top => (Statement::new(TOP, vec![self.team().into()]), None),
        };
        Next { kind, statement, write }
    }

    fn write(&mut self, id: i64) -> Write {
        self.writes += 1;
        Write { id, writer: self.first_writer + self.writes }
    }

    fn id(&mut self) -> i64 {
        self.generator.random_range(1..=self.rows) as i64
    }

    fn score(&mut self) -> i64 {
        self.generator.random_range(0..SCORES)
    }

    fn team(&mut self) -> i64 {
        self.generator.random_range(0..teams(self.rows)) as i64
    }
}

fn teams(rows: u64) -> u64 {
    (rows / TEAM).max(1)
}

fn body(id: i64) -> String {
    let mut text = format!("item {id} ");
    while text.len() < BODY {
        text.push('x');
    }
    text
}

/// Returns the statements that fill the table with `rows` rows.
pub fn seeding(seed: u64, rows: u64) -> impl Iterator<Item = Statement> {
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    (0..rows.div_ceil(SEED_ROWS)).map(move |part| {
        let count = SEED_ROWS.min(rows - part * SEED_ROWS);
        let places = vec!["(?, ?, ?, 0, ?)"; count as usize].join(", ");
        let mut arguments = Vec::with_capacity(4 * count as usize);
        for index in 0..count {
            let id = (part * SEED_ROWS + index + 1) as i64;
            let team = generator.random_range(0..teams(rows)) as i64;
            let score = generator.random_range(0..SCORES);
            arguments.extend([id.into(), team.into(), score.into(), Value::Text(body(id))]);
        }
        Statement::new(format!("{COLUMNS}{places}"), arguments)
    })
}

/// Returns a read of one row by its key, to see whether reads are answered.
pub fn read_probe() -> Statement {
    Statement::new(POINT, vec![1.into()])
}

/// Returns a write that leaves the table unchanged, to see whether writes are answered.
pub fn write_probe() -> Statement {
    Statement::new("UPDATE item SET score = score WHERE id = 1", Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_client_repeats_itself_and_nobody_else() {
        let first = |level, client| {
            let mut statements = Statements::new(7, level, client, Mix::WRITE_HEAVY, 1000);
            (0..50).map(|n| statements.next(|| 1001 + n)).collect::<Vec<_>>()
        };
        assert_eq!(first(0, 0), first(0, 0));
        assert_ne!(first(0, 0), first(0, 1));
        assert_ne!(first(0, 0), first(1, 0));
    }

    #[test]
    fn no_two_writes_have_one_number() {
        let mut seen = HashSet::new();
        for (level, client) in [(0, 0), (0, 1), (1, 0), (1, 63)] {
            let mut statements = Statements::new(1, level, client, Mix::WRITE_HEAVY, 1000);
            for _ in 0..1000 {
                if let Some(write) = statements.next(|| 5000).write {
                    assert!(write.writer > 0 && seen.insert(write.writer));
                }
            }
        }
    }

    #[test]
    fn the_seeding_has_every_row() {
        let statements: Vec<Statement> = seeding(1, 1234).collect();
        let rows: usize = statements.iter().map(|statement| statement.arguments.len() / 4).sum();
        assert_eq!((statements.len(), rows), (3, 1234));
    }
}
