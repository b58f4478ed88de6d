//! Measures what the engine layer adds to a call: random primary-key SELECTs through the table of pointers
//! and the safe wrapper, against the same loop with direct calls of the linked C functions.
//!
//!     cargo bench --bench engine_table [-- PAIRS [LOOKUPS]]
//!
//! Prints the ratio pair by pair, and its median with a 95 % interval. Each side has a connection of its own
//! to the same file, with the same settings. All lookups are in one transaction and in the page cache, so
//! that no system call hides what a call costs. The sides alternate every few hundred lookups, and the time
//! is the CPU time of the thread, because nothing in the loop waits; so other activity of the machine affects
//! both sides alike.

// The wrapper is compared with a direct loop, which can't call C functions without `unsafe`.
#![allow(unsafe_code)]

use libsqlite3_sys as ffi;
use nix::time::ClockId;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use repro::instrument::engine::{Connection, Engine, OpenMode, Statement, Step, Value};
use repro::stats::Ratio;
use std::ffi::CString;
use std::path::Path;
use std::ptr;

const ROWS: i64 = 10_000;
/// The number of lookups in a turn of a side, which take about 0.1 ms.
const TURN: usize = 250;
const SELECT: &str = "SELECT id, payload FROM bench WHERE id = ?1";
const SETTINGS: &str = "PRAGMA cache_size = -65536; BEGIN; SELECT count(*) FROM bench";

fn main() {
    // Cargo itself adds `--bench` to the arguments.
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let pairs = numbers.first().copied().unwrap_or(40);
    let lookups = numbers.get(1).copied().unwrap_or(200_000);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("bench.db");
    let connection = populated(&path);
    let mut select = connection.prepare(SELECT).expect("a SELECT");
    let direct = Direct::open(&path);
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let keys: Vec<i64> = (0..lookups).map(|_| random.random_range(1..=ROWS)).collect();

    println!("SQLite {}, {lookups} lookups in {ROWS} rows a side", Engine::bundled().version());
    let mut times = Vec::new();
    // The first pair warms up.
    for pair in 0..=pairs {
        let (mut wrapper_ns, mut direct_ns) = (0.0, 0.0);
        for (turn, keys) in keys.chunks(TURN).enumerate() {
            // The sides take turns at going first, because the first one finds a colder cache.
            if (turn + pair) % 2 == 0 {
                wrapper_ns += timed(keys, |keys| through_wrapper(&mut select, keys));
                direct_ns += timed(keys, |keys| direct.look_up(keys));
            } else {
                direct_ns += timed(keys, |keys| direct.look_up(keys));
                wrapper_ns += timed(keys, |keys| through_wrapper(&mut select, keys));
            }
        }
        if pair > 0 {
            let (wrapper, direct) = (wrapper_ns / lookups as f64, direct_ns / lookups as f64);
            let ratio = wrapper_ns / direct_ns;
            println!(
                "pair {pair:2}: {wrapper:6.1} ns through the wrapper, {direct:6.1} ns direct, ratio {ratio:.4}"
            );
            times.push((wrapper_ns, direct_ns));
        }
    }
    let ratio = Ratio::of_pairs(&times).expect("every pair has two times");
    println!("ratio: median {:.4}, 95 % interval {:?}", ratio.value, ratio.interval.map(|i| (i.low, i.high)));
}

/// Returns the CPU time that `look_up` takes, in ns, and checks its answer.
fn timed(keys: &[i64], look_up: impl FnOnce(&[i64]) -> i64) -> f64 {
    let started = cpu_time();
    let sum = look_up(keys);
    let time = cpu_time() - started;
    assert_eq!(sum, keys.iter().map(|key| key + 100).sum::<i64>());
    time
}

/// Returns the CPU time of this thread, in ns.
fn cpu_time() -> f64 {
    let time = ClockId::CLOCK_THREAD_CPUTIME_ID.now().expect("the thread has a clock");
    time.tv_sec() as f64 * 1e9 + time.tv_nsec() as f64
}

fn populated(path: &Path) -> Connection {
    let connection = Engine::bundled().open(path, OpenMode::Create).expect("a database");
    connection.exec("CREATE TABLE bench(id INTEGER PRIMARY KEY, payload TEXT); BEGIN").expect("a table");
    let mut insert = connection.prepare("INSERT INTO bench VALUES(?1, ?2)").expect("an INSERT");
    for id in 1..=ROWS {
        insert.run(&[Value::Integer(id), Value::Text(&format!("{id:0100}"))]).expect("a row");
    }
    drop(insert);
    connection.exec("COMMIT").expect("rows");
    connection.exec(SETTINGS).expect("settings");
    connection
}

/// Returns the sum of ids and lengths, read as the loop of a study would read them.
#[inline(never)]
fn through_wrapper(select: &mut Statement, keys: &[i64]) -> i64 {
    let mut sum = 0;
    for key in keys {
        let mut row = select.start(&[Value::Integer(*key)]).expect("a parameter");
        assert_eq!(row.step().expect("a row"), Step::Row);
        sum += row.integer(0) + row.text_bytes(1).len() as i64;
        row.reset().expect("a reset");
    }
    sum
}

/// Lookups without the wrapper, which cost as much as a loop in C.
struct Direct {
    handle: *mut ffi::sqlite3,
    program: *mut ffi::sqlite3_stmt,
}

impl Direct {
    fn open(path: &Path) -> Direct {
        let name = CString::new(path.as_os_str().as_encoded_bytes()).expect("a path without NUL");
        let settings = CString::new(SETTINGS).expect("SQL without NUL");
        let select = CString::new(SELECT).expect("SQL without NUL");
        let (mut handle, mut program) = (ptr::null_mut(), ptr::null_mut());
        let flags = ffi::SQLITE_OPEN_READWRITE | ffi::SQLITE_OPEN_NOMUTEX;
        // SAFETY: the strings end in NUL, and `handle` and `program` are places for the results.
        unsafe {
            assert_eq!(ffi::sqlite3_open_v2(name.as_ptr(), &mut handle, flags, ptr::null()), ffi::SQLITE_OK);
            let code = ffi::sqlite3_exec(handle, settings.as_ptr(), None, ptr::null_mut(), ptr::null_mut());
            assert_eq!(code, ffi::SQLITE_OK);
            let code = ffi::sqlite3_prepare_v2(handle, select.as_ptr(), -1, &mut program, ptr::null_mut());
            assert_eq!(code, ffi::SQLITE_OK);
        }
        Direct { handle, program }
    }

    #[inline(never)]
    fn look_up(&self, keys: &[i64]) -> i64 {
        let program = self.program;
        let mut sum = 0;
        for key in keys {
            // SAFETY: the statement is alive, and its columns are read on a row only.
            unsafe {
                assert_eq!(ffi::sqlite3_bind_int64(program, 1, *key), ffi::SQLITE_OK);
                assert_eq!(ffi::sqlite3_step(program), ffi::SQLITE_ROW);
                sum += ffi::sqlite3_column_int64(program, 0);
                assert!(!ffi::sqlite3_column_text(program, 1).is_null());
                sum += i64::from(ffi::sqlite3_column_bytes(program, 1));
                assert_eq!(ffi::sqlite3_reset(program), ffi::SQLITE_OK);
            }
        }
        sum
    }
}

impl Drop for Direct {
    fn drop(&mut self) {
        // SAFETY: both are alive, and this is their last use.
        unsafe {
            ffi::sqlite3_finalize(self.program);
            ffi::sqlite3_close(self.handle);
        }
    }
}
