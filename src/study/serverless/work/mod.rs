//! The 15 steps: their statements, and what each must answer.

mod model;

use super::{Parameters, STEPS};
use crate::instrument::sql::{Answer, Statement, Value};
use model::Model;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rand::{Rng, RngExt, SeedableRng};

/// A step. It is timed as a whole; its statements run one after the other, each in a transaction of its own.
#[derive(Clone, Debug)]
pub struct Step {
    /// The short name.
    pub name: &'static str,
    /// The statements, in the order in which they run.
    pub statements: Vec<Statement>,
    /// What each statement must answer.
    pub answers: Vec<Answer>,
}

/// The number of rows in a range.
const SPAN: i64 = 600;
/// The size of a blob in bytes.
const BLOB: usize = 100_000;
/// The words that names begin with, each drawn for about half of them.
const WORDS: [&str; 2] = ["amber", "birch"];

const SCHEMA: [&str; 3] = [
    "CREATE TABLE items(id INTEGER PRIMARY KEY, k INTEGER NOT NULL, name TEXT NOT NULL, val REAL NOT NULL)",
    "CREATE INDEX items_k ON items(k)",
    "CREATE TABLE blobs(id INTEGER PRIMARY KEY, data BLOB NOT NULL)",
];
const UPDATE_BY_KEY: &str = "UPDATE items SET val = val + ? WHERE id BETWEEN ? AND ?";
const UPDATE_BY_INDEX: &str = "UPDATE items SET val = val + ? WHERE k BETWEEN ? AND ?";
const DELETE: &str = "DELETE FROM items WHERE id BETWEEN ? AND ?";
const SCAN: &str = "SELECT count(*), sum(val) FROM items";
const LOOKUP: &str = "SELECT k, name, val FROM items WHERE id = ?";
const RANGE: &str = "SELECT count(*), sum(k) FROM items WHERE k BETWEEN ? AND ?";
const LIKE: &str = "SELECT id, name FROM items WHERE name LIKE ?";
const INSERT_BLOB: &str = "INSERT INTO blobs(data) VALUES(?)";
const READ_BLOB: &str = "SELECT data FROM blobs WHERE id = ?";

/// The number of statements of a step at full scale, for the steps that the scale shrinks.
const COUNTS: [(&str, u64); 8] = [
    ("insert-1", 5000),
    ("insert-10", 500),
    ("insert-100", 50),
    ("insert-1000", 5),
    ("point-lookups", 2000),
    ("range-lookups", 2000),
    ("insert-blobs", 100),
    ("read-blobs", 50),
];

/// Returns the number of statements of a step at full scale, or `None` if there is no such step.
pub fn full_count(step: &str) -> Option<u64> {
    let counted = COUNTS.iter().find(|(name, _)| *name == step).map(|(_, count)| *count);
    // The other steps are one statement or a few, whose number does not shrink.
    counted.or_else(|| STEPS.iter().any(|(name, _)| *name == step).then_some(1))
}

/// Returns all steps for these parameters; the same parameters always give the same work.
pub fn work(parameters: &Parameters) -> Vec<Step> {
    let count = |step: &str| parameters.scale.of(full_count(step).unwrap_or(1));
    let inserts = [1, 10, 100, 1000, 2000].map(|rows| (count(&format!("insert-{rows}")), rows));
    let rows: u64 = inserts.iter().map(|(statements, rows)| statements * rows).sum();
    let mut maker = Maker::new(parameters.seed, rows);
    let mut all = vec![maker.schema()];
    all.extend(inserts.iter().map(|(statements, rows)| maker.inserts(*statements, *rows)));
    all.extend([maker.update_by_key(), maker.update_by_index(), maker.delete(), maker.scan()]);
    all.extend([maker.lookups(count("point-lookups")), maker.ranges(count("range-lookups")), maker.like()]);
    all.extend([maker.insert_blobs(count("insert-blobs")), maker.read_blobs(count("read-blobs"))]);
    let name =
        |(index, (statements, answers)): (usize, Made)| Step { name: STEPS[index].0, statements, answers };
    all.into_iter().enumerate().map(name).collect()
}

type Made = (Vec<Statement>, Vec<Answer>);

/// Makes statements in order, and keeps the tables that they lead to.
struct Maker {
    generator: ChaCha8Rng,
    /// The values of `k` in the order of the keys: a permutation of the numbers from 1.
    keys: Vec<i64>,
    model: Model,
}

impl Maker {
    fn new(seed: u64, rows: u64) -> Maker {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        let mut keys: Vec<i64> = (1..=rows as i64).collect();
        keys.shuffle(&mut generator);
        Maker { generator, keys, model: Model::default() }
    }

    fn schema(&mut self) -> Made {
        SCHEMA.iter().map(|sql| (Statement::new(*sql, Vec::new()), Answer::default())).unzip()
    }

    fn inserts(&mut self, statements: u64, rows: u64) -> Made {
        let places = vec!["(?, ?, ?)"; rows as usize].join(", ");
        let sql = format!("INSERT INTO items(k, name, val) VALUES{places}");
        let one = |_| {
            let mut arguments = Vec::with_capacity(3 * rows as usize);
            for _ in 0..rows {
                let k = self.keys[self.model.items.len()];
                let name = format!("{}-{k:06}", WORDS[self.generator.random_range(0..2)]);
                // The values are multiples of a quarter, so that every sum is exact whatever its order.
                let val = f64::from(self.generator.random_range(0..4000)) / 4.0;
                self.model.insert(k, &name, val);
                arguments.extend([Value::Integer(k), Value::Text(name), Value::Real(val)]);
            }
            (Statement::new(sql.clone(), arguments), affected(rows))
        };
        (0..statements).map(one).unzip()
    }

    /// Updates a thousand keys, which begin after the first third of the table.
    fn update_by_key(&mut self) -> Made {
        let first = self.share(3, 1000);
        let last = first + self.size(1000) - 1;
        let changed = self.model.add(0.5, |id, _| (first..=last).contains(&id));
        single(UPDATE_BY_KEY, vec![0.5.into(), first.into(), last.into()], affected(changed))
    }

    fn update_by_index(&mut self) -> Made {
        let first = self.share(2, 2000);
        let last = first + self.size(2000) - 1;
        let changed = self.model.add(0.25, |_, k| (first..=last).contains(&k));
        single(UPDATE_BY_INDEX, vec![0.25.into(), first.into(), last.into()], affected(changed))
    }

    fn delete(&mut self) -> Made {
        let first = self.share(5, 500);
        let last = first + self.size(500) - 1;
        let gone = self.model.delete(first, last);
        single(DELETE, vec![first.into(), last.into()], affected(gone))
    }

    fn scan(&mut self) -> Made {
        let (count, sum) = self.model.count_and_sum();
        single(SCAN, Vec::new(), rows(vec![vec![count.into(), sum.into()]]))
    }

    fn lookups(&mut self, statements: u64) -> Made {
        let one = |_| {
            let id = self.generator.random_range(1..=self.keys.len() as i64);
            (Statement::new(LOOKUP, vec![id.into()]), rows(self.model.by_key(id).into_iter().collect()))
        };
        (0..statements).map(one).unzip()
    }

    fn ranges(&mut self, statements: u64) -> Made {
        let sums = self.model.sums_of_k();
        let highest = (self.keys.len() as i64 - SPAN).max(1);
        let one = |_| {
            let first = self.generator.random_range(1..=highest);
            let last = first + SPAN - 1;
            let (count, sum) = sums.between(first, last);
            let statement = Statement::new(RANGE, vec![first.into(), last.into()]);
            (statement, rows(vec![vec![count.into(), sum.into()]]))
        };
        (0..statements).map(one).unzip()
    }

    fn like(&mut self) -> Made {
        let pattern = format!("{}-%", WORDS[0]);
        single(LIKE, vec![Value::Text(pattern)], rows(self.model.named(WORDS[0])))
    }

    fn insert_blobs(&mut self, statements: u64) -> Made {
        let one = |_| {
            let mut data = vec![0; BLOB];
            self.generator.fill_bytes(&mut data);
            self.model.blobs.push(data.clone());
            (Statement::new(INSERT_BLOB, vec![Value::Blob(data)]), affected(1))
        };
        (0..statements).map(one).unzip()
    }

    /// Reads every second blob.
    fn read_blobs(&mut self, statements: u64) -> Made {
        let one = |index: u64| {
            let place = (2 * index) as usize % self.model.blobs.len();
            let statement = Statement::new(READ_BLOB, vec![(place as i64 + 1).into()]);
            (statement, rows(vec![vec![Value::Blob(self.model.blobs[place].clone())]]))
        };
        (0..statements).map(one).unzip()
    }

    /// Returns how many of `full` keys are used, since the table may be scaled down.
    fn size(&self, full: i64) -> i64 {
        full.min(self.keys.len() as i64 / 8)
    }

    /// Returns the first of `full` keys, which begin after one `part`th of the table.
    fn share(&self, part: i64, full: i64) -> i64 {
        (self.keys.len() as i64 / part).min(self.keys.len() as i64 - self.size(full)) + 1
    }
}

fn single(sql: &'static str, arguments: Vec<Value>, answer: Answer) -> Made {
    (vec![Statement::new(sql, arguments)], vec![answer])
}

fn affected(rows: u64) -> Answer {
    Answer { affected: rows, rows: Vec::new() }
}

fn rows(rows: Vec<Vec<Value>>) -> Answer {
    Answer { affected: 0, rows }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instrument::sql::WorkHash;

    #[test]
    fn the_published_counts() {
        let steps = work(&Parameters::default());
        let counts: Vec<usize> = steps.iter().map(|step| step.statements.len()).collect();
        assert_eq!(counts, [3, 5000, 500, 50, 5, 1, 1, 1, 1, 1, 2000, 2000, 1, 100, 50]);
        let affected: Vec<u64> =
            steps.iter().map(|step| step.answers.iter().map(|answer| answer.affected).sum()).collect();
        assert_eq!(affected, [0, 5000, 5000, 5000, 5000, 2000, 1000, 2000, 500, 0, 0, 0, 0, 100, 0]);
        let like = steps[12].answers[0].rows.len();
        assert!((10_400..11_100).contains(&like), "{like}");
        assert!(steps.iter().all(|step| step.statements.len() == step.answers.len()));
    }

    #[test]
    fn the_seed_tells_it_all() {
        let hash = |seed, scale: &str| {
            let mut hash = WorkHash::default();
            let parameters = Parameters { seed, scale: scale.parse().unwrap(), ..Parameters::default() };
            work(&parameters).iter().flat_map(|step| &step.statements).for_each(|s| hash.add(s));
            hash.hex()
        };
        assert_eq!(hash(1, "1/100"), hash(1, "1/100"));
        assert_ne!(hash(1, "1/100"), hash(2, "1/100"));
        assert_ne!(hash(1, "1/100"), hash(1, "1/50"));
    }

    #[test]
    fn the_smallest_scale_still_does_every_step() {
        let parameters = Parameters { scale: "1/10000".parse().unwrap(), ..Parameters::default() };
        for step in work(&parameters) {
            assert!(!step.statements.is_empty(), "{}", step.name);
        }
    }
}
