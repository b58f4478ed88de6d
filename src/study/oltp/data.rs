//! The rows and the streams of keys, which depend on the seed alone and so are the same for each leg and
//! engine.

use rand::rngs::ChaCha8Rng;
use rand::{Rng, RngExt, SeedableRng};

/// The name of the generator, as the record gives it.
pub const GENERATOR: &str = "ChaCha8 (rand 0.10), one stream for each purpose and thread";

/// The number of users for each thousand rows.
const USERS_PER_THOUSAND: u64 = 100;
/// The time between two rows in the column `created_at`, in seconds.
pub const SPACING: i64 = 10;
/// The start of the times in the column `created_at`, as a Unix time.
pub const EPOCH: i64 = 1_700_000_000;

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The purpose of a stream of random numbers. Each purpose has its own stream, so a longer phase does not
/// shift the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
#[allow(missing_docs)]
pub enum Purpose {
    Rows = 1,
    PrimaryKeys = 2,
    Ranges = 3,
    Updates = 4,
    Mixed = 5,
    ConcurrentReads = 6,
    ConcurrentWrites = 7,
}

/// Returns the generator for `purpose` and `thread`.
pub fn stream(seed: u64, purpose: Purpose, thread: u64) -> ChaCha8Rng {
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    generator.set_stream((purpose as u64) << 32 | thread);
    generator
}

/// Generates rows one after the other.
pub struct Data {
    generator: ChaCha8Rng,
    users: u64,
    payload: String,
    length: usize,
}

/// The integers of a row; its payload is borrowed from [`Data`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The primary key, from 1.
    pub id: i64,
    /// A random user.
    pub user_id: i64,
    /// A Unix time that grows with the key.
    pub created_at: i64,
}

impl Data {
    /// Returns a generator for a table of `rows` rows with payloads of `length` bytes.
    pub fn new(seed: u64, purpose: Purpose, rows: u64, length: usize) -> Data {
        let users = (rows * USERS_PER_THOUSAND / 1000).max(1);
        Data { generator: stream(seed, purpose, 0), users, payload: String::with_capacity(length), length }
    }

    /// Returns the row with key `id` and its payload.
    pub fn row(&mut self, id: i64) -> (Row, &str) {
        let user_id = self.generator.random_range(0..self.users) as i64;
        let row = Row { id, user_id, created_at: EPOCH + id * SPACING };
        fill(&mut self.payload, self.length, &mut self.generator);
        (row, &self.payload)
    }
}

/// Fills `text` with `length` random letters of six bits; each eight bytes of randomness give ten, and four
/// bits are left over.
fn fill(text: &mut String, length: usize, generator: &mut ChaCha8Rng) {
    text.clear();
    while text.len() < length {
        let mut bits = generator.next_u64();
        for _ in 0..10.min(length - text.len()) {
            text.push(char::from(LETTERS[(bits & 63) as usize]));
            bits >>= 6;
        }
    }
}

/// Writes to `text` the payload of the `number`-th write of `thread`. It names its writer, so that a lost
/// write is noticed.
pub fn written_payload(text: &mut String, length: usize, thread: u64, number: u64) {
    use std::fmt::Write;
    text.clear();
    let _ = write!(text, "w{thread}:{number}:");
    while text.len() < length {
        text.push('x');
    }
    text.truncate(length);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_repeat_and_differ() {
        let rows = |seed| {
            let mut data = Data::new(seed, Purpose::Rows, 1000, 200);
            (1..=3)
                .map(|id| {
                    let (row, text) = data.row(id);
                    (row, text.to_string())
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(rows(1), rows(1));
        assert_ne!(rows(1), rows(2));
        assert!(rows(1).iter().all(|(row, text)| text.len() == 200 && (0..100).contains(&row.user_id)));
        assert_eq!(rows(1)[2].0.created_at, EPOCH + 30);
    }

    #[test]
    fn streams_are_apart() {
        let first = |purpose, thread| stream(7, purpose, thread).next_u64();
        assert_ne!(first(Purpose::Updates, 0), first(Purpose::Updates, 1));
        assert_ne!(first(Purpose::Updates, 0), first(Purpose::Mixed, 0));
    }

    #[test]
    fn a_written_payload_names_its_writer() {
        let mut text = String::new();
        written_payload(&mut text, 20, 3, 17);
        assert_eq!(text, "w3:17:xxxxxxxxxxxxxx");
    }
}
