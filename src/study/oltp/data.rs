//! The rows and the streams of keys: the same for each leg and engine, told by the seed alone.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Name of the generator, for the record.
pub const GENERATOR: &str = "ChaCha8 (rand_chacha 0.10), one stream for each purpose and thread";

/// Users for each thousand rows.
const USERS_PER_THOUSAND: u64 = 100;
/// Seconds between two rows, as the column pretends.
pub const SPACING: i64 = 10;
/// When the first row was made, as the column pretends.
pub const EPOCH: i64 = 1_700_000_000;

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// What a stream of random numbers is for; each purpose has its own, so that a longer phase does not shift the next.
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

/// The generator of `purpose` for `thread`.
pub fn stream(seed: u64, purpose: Purpose, thread: u64) -> ChaCha8Rng {
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    generator.set_stream((purpose as u64) << 32 | thread);
    generator
}

/// Makes rows, one after the other.
pub struct Data {
    generator: ChaCha8Rng,
    users: u64,
    payload: String,
    length: usize,
}

/// The integers of a row; the payload is borrowed from [`Data`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Primary key, from 1.
    pub id: i64,
    /// Random.
    pub user_id: i64,
    /// Grows with the key.
    pub created_at: i64,
}

impl Data {
    /// Rows of a table of `rows` rows with payloads of `length` bytes.
    pub fn new(seed: u64, purpose: Purpose, rows: u64, length: usize) -> Data {
        let users = (rows * USERS_PER_THOUSAND / 1000).max(1);
        Data { generator: stream(seed, purpose, 0), users, payload: String::with_capacity(length), length }
    }

    /// The row with key `id` and its payload.
    pub fn row(&mut self, id: i64) -> (Row, &str) {
        let user_id = self.generator.random_range(0..self.users) as i64;
        let row = Row { id, user_id, created_at: EPOCH + id * SPACING };
        fill(&mut self.payload, self.length, &mut self.generator);
        (row, &self.payload)
    }
}

/// Fills `text` with `length` random letters, four bits of waste in each eight bytes of randomness.
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

/// The payload that the `number`-th write of `thread` leaves: it names its writer, so that a lost write is seen.
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
