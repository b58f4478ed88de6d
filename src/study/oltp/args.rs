//! The parameters of the study. What its publication does not state has a default here and a note in the
//! reference.

use crate::study::Scale;
use crate::study::parse;
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The two databases of the study.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Leg {
    /// 1,000,000 rows, about 246 MB, which fit in memory
    InRam,
    /// 10,000,000 rows, about 6 GB, with a memory limit of 3.7 GiB
    DiskBound,
}

impl Leg {
    /// Returns the name used in records and references.
    pub fn name(self) -> &'static str {
        match self {
            Leg::InRam => "in-ram",
            Leg::DiskBound => "disk-bound",
        }
    }
}

/// The options of `repro run oltp`.
#[derive(Args, Clone)]
pub struct Options {
    /// What is done.
    #[command(flatten)]
    pub parameters: Parameters,

    /// Run only this leg [default: both]
    #[arg(long, value_enum, help_heading = "Workload")]
    pub leg: Option<Leg>,

    /// The library with SQLite's C interface to measure instead of the bundled SQLite
    #[arg(long, value_name = "LIBRARY", help_heading = "Engine")]
    pub engine: Option<PathBuf>,

    /// A second library, measured in turn with the first
    #[arg(long, value_name = "LIBRARY", help_heading = "Engine")]
    pub against: Option<PathBuf>,

    /// The number of runs of each leg
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Plan")]
    pub runs: u32,

    /// Stop a leg that takes longer than this
    #[arg(long, value_name = "SECONDS", value_parser = parse::positive_seconds, default_value = "7200", help_heading = "Plan")]
    pub deadline: f64,

    /// The folder for the databases [default: where SQLite puts temporary files]
    #[arg(long, value_name = "DIR", help_heading = "Place")]
    pub dir: Option<PathBuf>,

    /// Keep the databases afterwards
    #[arg(long, help_heading = "Place")]
    pub keep: bool,

    /// Use the database in this folder, left by --keep, instead of a new one
    #[arg(long, value_name = "DIR", requires = "leg", conflicts_with = "keep", help_heading = "Place")]
    pub reuse: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            parameters: Parameters::default(),
            leg: None,
            engine: None,
            against: None,
            runs: 1,
            deadline: 7200.0,
            dir: None,
            keep: false,
            reuse: None,
        }
    }
}

/// `PRAGMA synchronous`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Synchronous {
    Off,
    #[default]
    Normal,
    Full,
}

impl Synchronous {
    /// Returns the number as which `PRAGMA synchronous` reports the level.
    pub fn number(self) -> i64 {
        self as i64
    }
}

/// The parameters as given; what is absent depends on the leg.
#[derive(Clone, Debug, PartialEq, Args, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[command(next_help_heading = "Workload")]
pub struct Parameters {
    /// The number of rows that the bulk insert writes [default: 1000000 in RAM, 10000000 disk-bound]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1000..=1_000_000_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,

    /// The number of bytes of text in each row [default: 200 in RAM, 500 disk-bound]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(32..=1_000_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<u64>,

    /// The number of operations of each phase that is not limited by time
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(100..=100_000_000))]
    pub operations: u64,

    /// The number of rows in each transaction of the bulk insert
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub batch: u64,

    /// The number of rows in each range
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub range: u64,

    /// The number of threads that read concurrently
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=64))]
    pub threads: u64,

    /// The number of threads that write concurrently [default: 4 in RAM, 1 disk-bound]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=64))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writers: Option<u64>,

    /// The length of each concurrent phase in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub seconds: u64,

    /// The seed of the random rows and keys
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// Shrink rows, operations, caches, memory map and memory limit together
    #[arg(long, value_name = "1/N", default_value_t)]
    pub scale: Scale,

    /// `PRAGMA synchronous`
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t)]
    pub synchronous: Synchronous,

    /// `PRAGMA page_size`: a power of two from 512 to 65536
    #[arg(long, value_name = "BYTES", default_value_t = 8192, value_parser = parse::page_size)]
    pub page_size: u32,

    /// `PRAGMA cache_size`, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = CACHE, value_parser = memory)]
    pub cache: u64,

    /// `PRAGMA mmap_size`, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = CACHE, value_parser = memory)]
    pub mmap: u64,

    /// The memory limit of the disk-bound leg, including the page cache
    #[arg(long, value_name = "BYTES", default_value_t = 3_972_844_748, value_parser = memory)]
    pub memory_limit: u64,
}

impl Default for Parameters {
    fn default() -> Self {
        Parameters {
            rows: None,
            payload: None,
            operations: 100_000,
            batch: 10_000,
            range: 20,
            threads: 4,
            writers: None,
            seconds: 5,
            seed: 1,
            scale: Scale::default(),
            synchronous: Synchronous::Normal,
            page_size: 8192,
            cache: CACHE,
            mmap: CACHE,
            memory_limit: 3_972_844_748,
        }
    }
}

/// What one leg does, with every number determined and scaled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LegPlan {
    /// The leg.
    pub leg: Leg,
    /// The number of rows after the bulk insert.
    pub rows: u64,
    /// The number of bytes of text in a row.
    pub payload: usize,
    /// The number of operations of each counted phase.
    pub operations: u64,
    /// The number of rows in a bulk-insert transaction.
    pub batch: u64,
    /// The number of rows in a range.
    pub range: u64,
    /// The number of reading threads.
    pub threads: u64,
    /// The number of writing threads.
    pub writers: u64,
    /// The length of a concurrent phase in seconds.
    pub seconds: u64,
    /// The seed of the rows and keys.
    pub seed: u64,
    /// The value of `PRAGMA synchronous`.
    pub synchronous: Synchronous,
    /// The value of `PRAGMA page_size`, in bytes.
    pub page_size: u32,
    /// The size for `PRAGMA cache_size`, in KiB.
    pub cache_kib: u64,
    /// The value of `PRAGMA mmap_size`, in bytes.
    pub mmap_bytes: u64,
    /// The memory that the leg may use, in bytes; `None` without a limit.
    pub memory_limit: Option<u64>,
}

/// The published size of the page cache and of the memory map: 256 MiB.
const CACHE: u64 = 256 << 20;
/// The published `PRAGMA busy_timeout`, in ms.
pub const BUSY_TIMEOUT_MS: i64 = 5000;
/// The bytes that a process of this program needs beside the caches, whatever the scale: without them a small
/// limit would leave nothing for the page cache.
const PROCESS_BYTES: u64 = 10 << 20;
/// The smallest number of operations that gives percentiles.
const FEWEST_OPERATIONS: u64 = 30_000;

impl Parameters {
    /// Checks values from a file, which is not bound by the limits of the command line.
    ///
    /// # Errors
    /// Names the parameter and the values that it may have.
    pub fn check(&self) -> Result<(), String> {
        let ranges = [
            ("rows", self.rows.unwrap_or(1000), 1000, 1_000_000_000),
            ("payload", self.payload.unwrap_or(32), 32, 1_000_000),
            ("operations", self.operations, 100, 100_000_000),
            ("batch", self.batch, 1, 10_000_000),
            ("range", self.range, 1, 100_000),
            ("threads", self.threads, 1, 64),
            ("writers", self.writers.unwrap_or(1), 1, 64),
            ("seconds", self.seconds, 1, 3600),
            ("cache", self.cache, 1_000_000, 1 << 50),
            ("mmap", self.mmap, 1_000_000, 1 << 50),
            ("memory_limit", self.memory_limit, 1_000_000, 1 << 50),
        ];
        ranges.iter().try_for_each(|(name, value, low, high)| parse::within(name, *value, *low, *high))?;
        parse::page_size(&self.page_size.to_string()).map(|_| ())
    }

    /// Returns the scaled numbers of a leg.
    pub fn plan(&self, leg: Leg) -> LegPlan {
        let (rows, payload, writers) = match leg {
            Leg::InRam => (1_000_000, 200, 4),
            Leg::DiskBound => (10_000_000, 500, 1),
        };
        let process = if self.scale == Scale::default() { 0 } else { PROCESS_BYTES };
        LegPlan {
            leg,
            rows: self.scale.of(self.rows.unwrap_or(rows)),
            payload: self.payload.unwrap_or(payload) as usize,
            operations: self.scale.of(self.operations).max(self.operations.min(FEWEST_OPERATIONS)),
            batch: self.scale.of(self.batch).max(self.batch.min(100)),
            range: self.range,
            threads: self.threads,
            writers: self.writers.unwrap_or(writers),
            seconds: if self.scale == Scale::default() { self.seconds } else { self.seconds.min(2) },
            seed: self.seed,
            synchronous: self.synchronous,
            page_size: self.page_size,
            cache_kib: self.scale.of(self.cache / 1024),
            mmap_bytes: self.scale.of(self.mmap),
            memory_limit: (leg == Leg::DiskBound).then(|| self.scale.of(self.memory_limit) + process),
        }
    }
}

/// What makes two databases equivalent before the first phase that reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Identity {
    pub rows: u64,
    pub payload: usize,
    pub seed: u64,
    pub page_size: u32,
}

impl LegPlan {
    /// Returns the identity of the database that the leg reads.
    pub fn identity(&self) -> Identity {
        Identity { rows: self.rows, payload: self.payload, seed: self.seed, page_size: self.page_size }
    }

    /// Returns an upper bound for the length of the leg in seconds: by the published rates of its database,
    /// and the same time again for checks.
    pub fn seconds_expected(&self) -> u64 {
        let (inserts, others) = match self.leg {
            Leg::InRam => (100_000, 20_000),
            Leg::DiskBound => (15_000, 2_000),
        };
        self.rows / inserts + 2 * (4 * self.operations / others) + 2 * self.seconds
    }

    /// Returns an upper bound for the size of the database after the bulk insert, in bytes: payload, 90 bytes
    /// of integers, indexes and overhead for each row, and pages that are not full.
    pub fn database_bytes(&self) -> u64 {
        self.rows * (self.payload as u64 + 90) * 11 / 10
    }
}

fn memory(text: &str) -> Result<u64, String> {
    match parse::bytes(text)? {
        bytes if bytes >= 1_000_000 => Ok(bytes),
        _ => Err("expected at least 1 MB".to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_numbers_are_the_defaults() {
        let (ram, disk) =
            (Parameters::default().plan(Leg::InRam), Parameters::default().plan(Leg::DiskBound));
        assert_eq!((ram.rows, ram.payload, ram.memory_limit), (1_000_000, 200, None));
        assert_eq!(
            (disk.rows, disk.payload, disk.threads, disk.writers, disk.seconds),
            (10_000_000, 500, 4, 1, 5)
        );
        assert_eq!(disk.memory_limit, Some(3_972_844_748));
        assert_eq!(memory("3.7GiB"), Ok(3_972_844_748));
        assert_eq!((disk.cache_kib, disk.mmap_bytes), (262_144, 268_435_456));
    }

    #[test]
    fn the_scale_keeps_the_shape() {
        let parameters = Parameters { scale: "1/100".parse().unwrap(), ..Parameters::default() };
        let disk = parameters.plan(Leg::DiskBound);
        assert_eq!((disk.rows, disk.cache_kib), (100_000, 2_621));
        assert!(disk.database_bytes() > disk.memory_limit.unwrap() - PROCESS_BYTES);
        for bad in ["", "2", "1/0", "1/x", "0.5", "1/10001"] {
            assert!(bad.parse::<Scale>().is_err(), "{bad}");
        }
    }
}
