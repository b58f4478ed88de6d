//! The workload: every option of the tool that changes what is done, checked before anything runs.

use super::testset::TestsetList;
use crate::study::options::PlanArgs;
use crate::study::parse;
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// The options of `repro run speedtest1`.
#[derive(Args, Clone, Default)]
pub struct Options {
    /// What the tool does.
    #[command(flatten)]
    pub workload: Workload,
    /// How often it does it.
    #[command(flatten)]
    pub plan: PlanArgs,
    /// Where it does it.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Where data is written.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Place")]
pub struct PlaceArgs {
    /// Use a database file of this name; it must not exist and is removed afterwards
    #[arg(long, value_name = "FILE", conflicts_with = "memdb")]
    pub database: Option<PathBuf>,

    /// Keep the database file that --database names
    #[arg(long, requires = "database")]
    pub keep_database: bool,

    /// The folder for SQLite's temporary files (sets SQLITE_TMPDIR)
    #[arg(long, value_name = "DIR")]
    pub temp_dir: Option<PathBuf>,
}

/// Where the tool's database is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Database {
    /// No database is named, as in the cited command: SQLite makes an unnamed temporary file when its cache
    /// spills.
    #[default]
    Temporary,
    /// The database is in memory (`--memdb`).
    Memory,
    /// The database is a file named with `--database`.
    File,
}

/// `PRAGMA journal_mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Journal {
    Delete,
    Truncate,
    Persist,
    Memory,
    Wal,
    Off,
}

/// Text encoding of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Utf16 {
    Le,
    Be,
}

/// The options of speedtest1 that change its work. The defaults are the tool's own.
#[derive(Clone, Debug, PartialEq, Args, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[command(next_help_heading = "Workload (options of speedtest1)")]
pub struct Workload {
    /// The relative size of the work, from 1 to 100000
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000), allow_negative_numbers = true)]
    pub size: u32,

    /// The testsets to run: mix1, or a list such as main,cte/20 (the number is a percentage of the size)
    #[arg(long, value_name = "LIST", default_value_t)]
    pub testset: TestsetList,

    /// Keep the database in memory
    #[arg(long)]
    #[serde(skip)]
    pub memdb: bool,

    /// Where the database lives; set from the options.
    #[arg(skip)]
    pub database: Database,

    /// Set the journal mode
    #[arg(long, value_name = "MODE", ignore_case = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub journal: Option<Journal>,

    /// The size of the page cache in pages, or in KiB if negative
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[serde(skip_serializing_if = "is_none_or_zero")]
    pub cachesize: Option<i32>,

    /// The page size in bytes: a power of two from 512 to 65536
    #[arg(long, value_name = "BYTES", value_parser = parse::page_size)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pagesize: Option<u32>,

    /// Memory-map this much of the database, such as 256MiB or 1000000
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    #[serde(skip_serializing_if = "is_none_or_zero")]
    pub mmap: Option<u32>,

    /// Set synchronous to OFF
    #[arg(long)]
    #[serde(skip_serializing_if = "is_false")]
    pub nosync: bool,

    /// The number of threads that may help with sorting, from 0 to 8
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=8))]
    #[serde(skip_serializing_if = "is_none_or_zero")]
    pub threads: Option<u8>,

    /// Print statistics at the end of each run; they go into the record
    #[arg(long)]
    #[serde(skip_serializing_if = "is_false")]
    pub stats: bool,

    /// Verify results in the timed runs as well; this adds work, and two rows to rtree
    #[arg(long)]
    #[serde(skip_serializing_if = "is_false")]
    pub verify: bool,

    /// Use WITHOUT ROWID where appropriate
    #[arg(long)]
    #[serde(skip_serializing_if = "is_false")]
    pub without_rowid: bool,

    /// Put BEGIN/END around all large tests
    #[arg(long)]
    #[serde(skip_serializing_if = "is_false")]
    pub big_transactions: bool,

    /// Use PRIMARY KEY instead of UNIQUE where appropriate
    #[arg(long)]
    #[serde(skip_serializing_if = "is_false")]
    pub primarykey: bool,

    /// Use STRICT tables where appropriate
    #[arg(long)]
    #[serde(skip_serializing_if = "is_false")]
    pub strict: bool,

    /// Add NOT NULL to table columns
    #[arg(long)]
    #[serde(skip_serializing_if = "is_false")]
    pub notnull: bool,

    /// Turn on full auto-vacuum
    #[arg(long, conflicts_with = "incrvacuum")]
    #[serde(skip_serializing_if = "is_false")]
    pub autovacuum: bool,

    /// Turn on incremental auto-vacuum
    #[arg(long)]
    #[serde(skip_serializing_if = "is_false")]
    pub incrvacuum: bool,

    /// Checkpoint the WAL after each test
    #[arg(long)]
    #[serde(skip_serializing_if = "is_false")]
    pub checkpoint: bool,

    /// Set the locking mode to EXCLUSIVE
    #[arg(long)]
    #[serde(skip_serializing_if = "is_false")]
    pub exclusive: bool,

    /// Run each SELECT this many times
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    #[serde(skip_serializing_if = "is_none_or_one")]
    pub repeat: Option<u32>,

    /// Prepare each statement again for every use
    #[arg(long)]
    #[serde(skip_serializing_if = "is_false")]
    pub reprepare: bool,

    /// Store text as UTF-16 in this byte order
    #[arg(long, value_name = "ORDER")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub utf16: Option<Utf16>,

    /// Use temporary tables, from 0 (none) to 9 (all)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=9))]
    #[serde(skip_serializing_if = "is_none_or_zero")]
    pub temp: Option<u8>,

    /// Other options of speedtest1, in its own spelling
    #[arg(last = true, value_name = "TOOL OPTIONS")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extra: Vec<String>,
}

impl Default for Workload {
    fn default() -> Self {
        Workload {
            size: 100,
            testset: TestsetList::default(),
            memdb: false,
            database: Database::Temporary,
            journal: None,
            cachesize: None,
            pagesize: None,
            mmap: None,
            nosync: false,
            threads: None,
            stats: false,
            verify: false,
            without_rowid: false,
            big_transactions: false,
            primarykey: false,
            strict: false,
            notnull: false,
            autovacuum: false,
            incrvacuum: false,
            checkpoint: false,
            exclusive: false,
            repeat: None,
            reprepare: false,
            utf16: None,
            temp: None,
            extra: Vec::new(),
        }
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// Returns whether an option is the tool's default, given or not: the tool does nothing for 0.
fn is_none_or_zero<T: Copy + Into<i64>>(value: &Option<T>) -> bool {
    value.is_none_or(|value| value.into() == 0)
}

fn is_none_or_one(value: &Option<u32>) -> bool {
    value.is_none_or(|value| value == 1)
}

/// Options of the tool that may follow `--`, with the number of values that each takes.
pub(super) const PASSED: &[(&str, usize)] = &[
    ("fullfsync", 0),
    ("hard-heap-limit", 1),
    ("lookaside", 2),
    ("multithread", 0),
    ("nomemstat", 0),
    ("nomutex", 0),
    ("pcache", 2),
    ("reserve", 1),
    ("serialized", 0),
    ("shrink-memory", 0),
    ("singlethread", 0),
    ("soft-heap-limit", 1),
    ("stmtscanstatus", 0),
    ("trace", 0),
    ("vfs", 1),
];

/// Options of the tool that are refused after `--`, with the reason.
const REFUSED: &[(&str, &str)] = &[
    ("heap", "the pinned build has no memory allocator for it (SQLITE_ENABLE_MEMSYS5), so speedtest1 stops"),
    ("explain", "it lists SQL and measures nothing"),
    ("sqlonly", "it lists SQL and measures nothing"),
    ("script", "it overwrites the file that it names"),
    ("output", "it overwrites a file, or mixes results into the rows"),
    ("key", "stock SQLite has no encryption, and the key would be visible in the process list"),
    ("help", "see `repro --help`"),
    ("?", "see `repro --help`"),
];

impl Workload {
    /// Checks what the types can't: limits that depend on each other, and the options after `--`.
    ///
    /// # Errors
    /// Returns a sentence that names the option, what was expected and what to do.
    pub fn check(&self) -> Result<(), String> {
        self.check_ranges()?;
        let scaled = u64::from(self.size) * self.testset.largest_scale();
        if scaled > 100_000 * 100 {
            return Err(format!(
                "--size {} with --testset {}: size × scale must be at most 10000000, or speedtest1's 32-bit counts overflow",
                self.size, self.testset
            ));
        }
        let testsets = self.testset.names();
        if testsets.iter().any(|name| name == "debug1") {
            return Err(
                "--testset debug1: speedtest1 only prints numbers for it and times nothing".to_string()
            );
        }
        if self.temp.is_some_and(|n| n > 0) && testsets.len() > 1 {
            return Err("--temp: speedtest1 can't drop temporary tables between testsets; give --testset with one name".to_string());
        }
        if self.exclusive && self.database == Database::File && testsets.iter().any(|name| name == "app") {
            return Err("--exclusive with --database: testset `app` opens a second connection and would fail; leave it out with --testset".to_string());
        }
        self.check_extra()
    }

    /// Checks ranges that the command line enforces but a reference may violate.
    fn check_ranges(&self) -> Result<(), String> {
        let ranges = [
            ("size", Some(self.size), 1..=100_000),
            ("threads", self.threads.map(u32::from), 0..=8),
            ("repeat", self.repeat, 1..=1_000_000),
            ("temp", self.temp.map(u32::from), 0..=9),
            ("mmap", self.mmap, 0..=i32::MAX as u32),
        ];
        for (name, value, range) in ranges {
            if let Some(value) = value.filter(|value| !range.contains(value)) {
                return Err(format!("--{name} {value}: expected {} to {}", range.start(), range.end()));
            }
        }
        self.pagesize.map_or(Ok(()), |bytes| {
            parse::page_size(&bytes.to_string())
                .map(|_| ())
                .map_err(|reason| format!("--pagesize {bytes}: {reason}"))
        })
    }

    fn check_extra(&self) -> Result<(), String> {
        let mut rest = self.extra.iter();
        while let Some(option) = rest.next() {
            let name = option.trim_start_matches('-');
            if name == option {
                return Err(format!(
                    "`{option}` after `--` would name a database, which speedtest1 deletes; use --database for a new file"
                ));
            }
            if let Some((_, reason)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
                return Err(format!("`{option}` after `--` is refused: {reason}"));
            }
            let Some((_, values)) = PASSED.iter().find(|(passed, _)| *passed == name) else {
                let all: Vec<String> = PASSED.iter().map(|(passed, _)| format!("--{passed}")).collect();
                return Err(format!(
                    "`{option}` is not accepted after `--`: put an option of repro before `--`; accepted after it are {}",
                    all.join(", ")
                ));
            };
            if rest.by_ref().take(*values).count() < *values {
                return Err(format!("`{option}` after `--` needs {values} value(s)"));
            }
        }
        Ok(())
    }

    /// Returns the tool's arguments without the database name. Only options that differ from the tool's
    /// default are included, except for the size, which is always given.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = vec!["--size".to_string(), self.size.to_string()];
        let mut value = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                arguments.extend([format!("--{name}"), value]);
            }
        };
        let testset = (self.testset != TestsetList::default()).then(|| self.testset.to_string());
        value("testset", testset);
        value("journal", self.journal.map(|mode| format!("{mode:?}").to_lowercase()));
        value("cachesize", self.cachesize.map(|n| n.to_string()));
        value("pagesize", self.pagesize.map(|n| n.to_string()));
        value("mmap", self.mmap.map(|n| n.to_string()));
        value("threads", self.threads.map(|n| n.to_string()));
        value("repeat", self.repeat.map(|n| n.to_string()));
        value("temp", self.temp.map(|n| n.to_string()));
        let flags = [
            ("memdb", self.database == Database::Memory),
            ("nosync", self.nosync),
            ("stats", self.stats),
            ("verify", self.verify),
            ("without-rowid", self.without_rowid),
            ("big-transactions", self.big_transactions),
            ("primarykey", self.primarykey),
            ("strict", self.strict),
            ("notnull", self.notnull),
            ("autovacuum", self.autovacuum),
            ("incrvacuum", self.incrvacuum),
            ("checkpoint", self.checkpoint),
            ("exclusive", self.exclusive),
            ("reprepare", self.reprepare),
            ("utf16le", self.utf16 == Some(Utf16::Le)),
            ("utf16be", self.utf16 == Some(Utf16::Be)),
        ];
        arguments.extend(flags.iter().filter(|flag| flag.1).map(|flag| format!("--{}", flag.0)));
        arguments.extend(self.extra.iter().cloned());
        arguments
    }

    /// Returns whether the known answers of the default options hold for these options, too. All others were
    /// seen to leave the hash unchanged (`reference/answers.toml` lists them); the ones tested here change
    /// the results or their text.
    pub fn keeps_answers(&self) -> bool {
        self.repeat.is_none_or(|n| n == 1) && self.utf16.is_none() && self.temp.is_none_or(|n| n == 0)
    }

    /// Returns how many bytes the database, its journal and the copy made by VACUUM may take at their peak.
    ///
    /// This is an upper bound: `du` during runs of 3.53.4 at sizes 100 and 200 peaked at 0.94 MB per unit of
    /// size for a named file and 0.25 MB for a temporary one.
    pub fn disk_bytes(&self) -> u64 {
        let per_unit = match self.database {
            Database::Memory => 0,
            Database::Temporary => 400_000,
            Database::File => 1_200_000,
        };
        let encoding = if self.utf16.is_some() { 2 } else { 1 };
        per_unit * encoding * u64::from(self.size)
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.arguments().join(" "))
    }
}

/// Parses a number of bytes, which must fit into the tool's 32-bit counter.
fn bytes(text: &str) -> Result<u32, String> {
    let total = parse::bytes(text)?;
    u32::try_from(total)
        .ok()
        .filter(|&n| n <= i32::MAX as u32)
        .ok_or_else(|| "expected at most 2147483647 bytes".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_extra(extra: &[&str]) -> Workload {
        Workload { extra: extra.iter().map(|s| s.to_string()).collect(), ..Workload::default() }
    }

    #[test]
    fn the_default_is_the_cited_command() {
        assert_eq!(Workload::default().arguments(), ["--size", "100"]);
    }

    #[test]
    fn nothing_after_the_dashes_can_delete_a_file() {
        for bad in [
            &["x.db"][..],
            &["--script", "x"],
            &["--output", "-"],
            &["--size", "5"],
            &["--heap", "1000000", "64"],
            &["--lookaside", "1"],
            &["--nomemstat", "x.db"],
        ] {
            assert!(with_extra(bad).check().is_err(), "{bad:?}");
        }
        for good in [&["--nomemstat"][..], &["--lookaside", "500", "128"], &["-nomutex", "--vfs", "unix"]] {
            assert_eq!(with_extra(good).check(), Ok(()), "{good:?}");
        }
    }

    #[test]
    fn sizes_that_overflow_the_tool_are_refused() {
        let scaled = |size, list: &str| {
            Workload { size, testset: list.parse().unwrap(), ..Workload::default() }.check()
        };
        assert_eq!(scaled(100_000, "main"), Ok(()));
        assert!(scaled(100_000, "main/101").is_err());
    }

    #[test]
    fn byte_counts() {
        assert_eq!(bytes("256MiB"), Ok(268_435_456));
        assert_eq!(bytes("1000"), Ok(1000));
        assert!(bytes("2GiB").is_err());
        assert!(bytes("x").is_err());
        assert!(bytes("99999999999999999999GiB").is_err());
    }

    #[test]
    fn a_workload_survives_being_written_down() {
        let workload =
            Workload { journal: Some(Journal::Wal), nosync: true, mmap: Some(1024), ..Workload::default() };
        let text = toml::to_string(&workload).unwrap();
        assert_eq!(toml::from_str::<Workload>(&text).unwrap(), workload);
    }
}
