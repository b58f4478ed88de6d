//! The official speedtest1: the executable inside this program, and one run of it.

use super::super::output::Fault;
use super::super::{Database, Event, RunOutput, Scanner, StepKey, Workload};
use crate::instrument::proc;
use crate::instrument::process::{self, Launch, Outcome, Usage};
use crate::instrument::scratch::{private_folder, write_program};
use crate::machine::environment;
use crate::record::{Cause, Failure};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What the executable was made of, as recorded by the build script.
pub struct Build {
    /// `SQLITE_VERSION` of the sources.
    pub sqlite_version: &'static str,
    /// `SQLITE_SOURCE_ID` of the sources: date, time and check-in.
    pub source_id: &'static str,
    /// Whether all three sources are the pinned ones.
    pub pinned: bool,
    /// Where the sources came from: the route and the name.
    pub origin: &'static str,
    /// The name and SHA-256 of each source.
    pub sources: [(&'static str, &'static str); 3],
    /// The folder that the sources were in.
    pub sources_dir: &'static str,
    /// The compiler that the build script found.
    pub compiler: &'static str,
    /// The command that compiled the executable.
    pub command: &'static str,
    /// The output of the compiler's `--version`.
    pub compiler_version: &'static str,
    /// The SHA-256 of the executable.
    pub sha256: &'static str,
}

/// The build inside this program.
pub const BUILD: Build = Build {
    sqlite_version: env!("REPRO_SQLITE_VERSION"),
    source_id: env!("REPRO_SOURCE_ID"),
    pinned: matches!(env!("REPRO_PINNED").as_bytes(), b"yes"),
    origin: env!("REPRO_SOURCES_ORIGIN"),
    sources: [
        ("sqlite3.c", env!("REPRO_SQLITE3_C_SHA256")),
        ("sqlite3.h", env!("REPRO_SQLITE3_H_SHA256")),
        ("speedtest1.c", env!("REPRO_SPEEDTEST1_C_SHA256")),
    ],
    sources_dir: env!("REPRO_SOURCES_DIR"),
    compiler: env!("REPRO_COMPILER"),
    command: env!("REPRO_COMPILE_COMMAND"),
    compiler_version: env!("REPRO_COMPILER_VERSION"),
    sha256: env!("REPRO_TOOL_SHA256"),
};

/// The largest output in bytes that is kept; all testsets print about 8 KB.
const MOST_OUTPUT: usize = 256 * 1024;

const EXECUTABLE: &[u8] = include_bytes!(env!("REPRO_TOOL_PATH"));

/// Returns the SHA-256 of the bytes in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Unpacks the executable below `cache` and returns its path. It stays there for the next time; its folder is
/// private to the user, and its bytes are checked each time.
///
/// # Errors
/// Fails when others can write to the folder, when it can't be created, or when the executable inside this
/// program is damaged.
pub fn unpack(cache: &Path) -> Result<PathBuf> {
    let folder = private_folder(cache, &format!("speedtest1-{}", &BUILD.sha256[..16]))?;
    let path = folder.join("speedtest1");
    if fs::read(&path).is_ok_and(|bytes| bytes == EXECUTABLE) {
        return Ok(path);
    }
    if sha256(EXECUTABLE) != BUILD.sha256 {
        bail!("the speedtest1 inside this program is damaged; build the program again");
    }
    write_program(&path, EXECUTABLE).with_context(|| {
        format!(
            "{}: can't unpack speedtest1 there; set XDG_CACHE_HOME to a folder that you can write to",
            path.display()
        )
    })?;
    Ok(path)
}

/// Where and how the tool runs, apart from its workload.
pub struct Place<'a> {
    /// The path of the executable.
    pub tool: &'a Path,
    /// The path of this program, which serves as the launcher.
    pub launcher: &'a Path,
    /// The file for [`Database::File`], which must not exist.
    pub database: Option<&'a Path>,
    /// The folder where SQLite puts temporary files; with `None`, SQLite chooses.
    pub temporary: Option<&'a Path>,
    /// The only CPU that the tool may use.
    pub cpu: Option<usize>,
    /// The time after which the run is killed.
    pub deadline: Duration,
}

/// When a step ran, counted from the start of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// When its row appeared.
    pub started: Duration,
    /// When its time appeared; `None` when that came too late to be observed.
    pub ended: Option<Duration>,
}

/// One run of the tool.
pub struct ToolRun {
    /// What the run printed.
    pub output: RunOutput,
    /// One span for each finished step of `output`.
    pub spans: Vec<Span>,
    /// Why the run does not count; `None` when it succeeded and its output is sound.
    pub failure: Option<Failure>,
    /// The time from start to end of the process.
    pub wall: Duration,
    /// The resources that the process used.
    pub usage: Usage,
    /// The largest resident set in bytes, read from the kernel when TOTAL appeared; `None` when the run did
    /// not get that far.
    pub peak_memory: Option<u64>,
    /// The testset in which the run stopped, if it failed.
    pub stopped_in: Option<String>,
    /// What it printed on standard output.
    pub stdout: String,
    /// The first part of its standard error.
    pub stderr: String,
}

/// Runs the tool once, and calls `on_step` with the key and name of each step as it begins.
///
/// # Errors
/// Fails only when the process can't be started; a run that fails is a [`ToolRun`] with a failure.
pub fn run(
    place: &Place,
    workload: &Workload,
    interrupted: &AtomicBool,
    on_step: &mut dyn FnMut(&StepKey, &str),
) -> Result<ToolRun> {
    let mut arguments: Vec<_> = workload.arguments().into_iter().map(Into::into).collect();
    if let (Database::File, Some(path)) = (workload.database, place.database) {
        arguments.push(path.as_os_str().to_owned());
    }
    let temporary = place.temporary.map(|path| ("SQLITE_TMPDIR".into(), path.into()));
    let launch = Launch {
        program: place.tool,
        arguments,
        environment: Some(environment::passed().chain(temporary).collect()),
        cpu: place.cpu,
        groups: Vec::new(),
        deadline: place.deadline,
        launcher: place.launcher,
    };
    let mut scanner = Scanner::new(workload.testset.names());
    let mut spans = Vec::new();
    let mut open = None;
    let mut faults: Vec<Fault> = Vec::new();
    let mut peak_memory = None;
    let mut stdout = Vec::new();
    let outcome = process::run(&launch, interrupted, &mut |piece| {
        // What the tool never prints would fill the memory.
        stdout.extend_from_slice(&piece.bytes[..piece.bytes.len().min(MOST_OUTPUT - stdout.len())]);
        for event in scanner.feed(piece.bytes) {
            match event {
                Event::Started(key, name) => {
                    on_step(&key, &name);
                    open = Some(piece.at);
                }
                Event::Finished => {
                    if let Some(started) = open.take() {
                        // When both come in one piece, this process was late, and the time it saw is not a
                        // duration.
                        spans.push(Span { started, ended: (piece.at > started).then_some(piece.at) });
                    }
                }
                Event::Total => peak_memory = proc::peak_memory_bytes(piece.pid),
                Event::Fault(fault) => faults.push(fault),
                Event::Banner(_) => {}
            }
        }
    })
    .with_context(|| format!("{} can't be started", place.tool.display()))?;
    if let Some(last) = spans.last_mut().filter(|_| !outcome.line_buffered) {
        last.ended = None;
    }
    let stopped_in = scanner.testset();
    let output = scanner.finish();
    let failure = failure(&output, &outcome, faults.first());
    let stopped_in = stopped_in.filter(|_| failure.is_some());
    Ok(ToolRun {
        output,
        spans,
        failure,
        wall: outcome.wall,
        usage: outcome.usage,
        peak_memory,
        stopped_in,
        stdout: String::from_utf8_lossy(&stdout).replace("\r\n", "\n"),
        stderr: outcome.stderr,
    })
}

/// Returns why a run does not count. Without TOTAL it failed, whatever the exit status.
fn failure(output: &RunOutput, outcome: &Outcome, fault: Option<&Fault>) -> Option<Failure> {
    let place = match &output.unfinished {
        Some((key, name)) => format!(" in row {key}, {name}"),
        None => String::new(),
    };
    let said = outcome.stderr.trim().lines().next().unwrap_or_default();
    outcome.failure(&place).or_else(|| match (fault, output.total_ms) {
        (Some(fault @ Fault::NegativeStep(_)), _) => Some(Failure::saying(Cause::ClockStepped, fault)),
        (Some(fault), _) => Some(Failure::saying(Cause::UnsoundOutput, fault)),
        (None, None) => Some(Failure::at(Cause::NoTotal, &place, said)),
        (None, Some(_)) => None,
    })
}
