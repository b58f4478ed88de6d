//! The official speedtest1: the executable inside this program, and one run of it.

use super::process::{self, Ending, Job, Usage};
use crate::suite::StepKey;
use crate::suite::speedtest1::{Database, Event, RunOutput, Scanner, Workload, output::Fault};
use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What the executable was made of, stamped in by the build.
pub struct Build {
    /// `SQLITE_VERSION` of the sources.
    pub sqlite_version: &'static str,
    /// `SQLITE_SOURCE_ID`: date, time and check-in.
    pub source_id: &'static str,
    /// Whether all three sources are the pinned ones.
    pub pinned: bool,
    /// How the sources came: route and name.
    pub origin: &'static str,
    /// Name and SHA-256 of each source.
    pub sources: [(&'static str, &'static str); 3],
    /// Where the sources lay.
    pub sources_dir: &'static str,
    /// The compiler, as found by the build.
    pub compiler: &'static str,
    /// The command that compiled it.
    pub command: &'static str,
    /// What `--version` of the compiler said.
    pub compiler_version: &'static str,
    /// SHA-256 of the executable.
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

const EXECUTABLE: &[u8] = include_bytes!(env!("REPRO_TOOL_PATH"));

/// Hexadecimal SHA-256.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Unpacks the executable below `cache` and returns its path. It stays there for the next time; its folder
/// is private to the user, and its bytes are checked each time.
///
/// # Errors
/// A folder that others can write to, or that can't be made.
pub fn unpack(cache: &Path) -> Result<PathBuf> {
    let folder = private_folder(cache, &format!("speedtest1-{}", &BUILD.sha256[..16]))?;
    let path = folder.join("speedtest1");
    if fs::read(&path).is_ok_and(|bytes| bytes == EXECUTABLE) {
        return Ok(path);
    }
    if sha256(EXECUTABLE) != BUILD.sha256 {
        bail!("the speedtest1 inside this program is damaged; build it again");
    }
    let unfinished = folder.join(format!("speedtest1.{}", std::process::id()));
    let write = || -> io::Result<()> {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o700).open(&unfinished)?;
        file.write_all(EXECUTABLE)?;
        drop(file);
        fs::rename(&unfinished, &path)
    };
    write().with_context(|| {
        format!("{}: can't unpack speedtest1 there; set XDG_CACHE_HOME to a folder of yours", path.display())
    })?;
    Ok(path)
}

/// A folder below `cache` that belongs to the user, and that nobody else may write to.
///
/// # Errors
/// When it can't be made so.
pub fn private_folder(cache: &Path, name: &str) -> Result<PathBuf> {
    let folder = cache.join(name);
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)
        .with_context(|| format!("{}: can't make this folder", folder.display()))?;
    let facts = fs::symlink_metadata(&folder).with_context(|| folder.display().to_string())?;
    let own = facts.is_dir() && facts.uid() == nix::unistd::geteuid().as_raw() && facts.mode() & 0o022 == 0;
    if !own {
        bail!("{}: other users can write there, so no program is run from it; remove it", folder.display());
    }
    Ok(folder)
}

/// Where and how the tool runs, apart from what it does.
pub struct Setting<'a> {
    /// The executable.
    pub tool: &'a Path,
    /// This program, for `launch`.
    pub launcher: &'a Path,
    /// With [`Database::File`]: the file, which must not exist.
    pub database: Option<&'a Path>,
    /// Where SQLite shall put temporary files; its own choice when `None`.
    pub temporary: Option<&'a Path>,
    /// The only CPU the tool may use.
    pub cpu: Option<usize>,
    /// When the run is ended by force.
    pub deadline: Duration,
}

/// When a step ran, since the start of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its row appeared.
    pub started: Duration,
    /// Its time appeared; `None` when it arrived late, with the end of the process.
    pub ended: Option<Duration>,
}

/// One run of the tool.
pub struct NativeRun {
    /// What it printed.
    pub output: RunOutput,
    /// One for each finished step of `output`.
    pub spans: Vec<Span>,
    /// Why the run does not count; `None` when it ended well and its output is sound.
    pub failure: Option<String>,
    /// How it ended.
    pub ending: Ending,
    /// From start to end of the process.
    pub wall: Duration,
    /// Resources.
    pub usage: Usage,
    /// Largest resident set, read from the kernel when TOTAL appeared; `None` when the run did not come so far.
    pub peak_memory: Option<u64>,
    /// The testset in which it stopped, when it failed.
    pub stopped_in: Option<String>,
    /// The first part of its standard error.
    pub stderr: String,
}

/// Runs the tool once, and tells of each step as it begins: its key and name.
///
/// # Errors
/// Only when the process can't be started; a run that fails is a [`NativeRun`] with a failure.
pub fn run(
    setting: &Setting,
    workload: &Workload,
    interrupted: &AtomicBool,
    on_step: &mut dyn FnMut(&StepKey, &str),
) -> Result<NativeRun> {
    let mut arguments: Vec<_> = workload.arguments().into_iter().map(Into::into).collect();
    if let (Database::File, Some(path)) = (workload.database, setting.database) {
        arguments.push(path.as_os_str().to_owned());
    }
    let environment = setting.temporary.map(|path| ("SQLITE_TMPDIR".to_string(), path.into()));
    let job = Job {
        program: setting.tool,
        arguments,
        environment: environment.into_iter().collect(),
        cpu: setting.cpu,
        groups: Vec::new(),
        deadline: setting.deadline,
        launcher: setting.launcher,
    };
    let mut scanner = Scanner::new(workload.testset.names());
    let mut spans = Vec::new();
    let mut open = None;
    let mut faults: Vec<Fault> = Vec::new();
    let mut peak_memory = None;
    let outcome = process::run(&job, interrupted, &mut |piece| {
        for event in scanner.feed(piece.bytes) {
            match event {
                Event::Started(key, name) => {
                    on_step(&key, &name);
                    open = Some(piece.at);
                }
                Event::Finished => {
                    if let Some(started) = open.take() {
                        // Both in one piece: this process was late, and what it saw is no duration.
                        spans.push(Span { started, ended: (piece.at > started).then_some(piece.at) });
                    }
                }
                Event::Total => peak_memory = resident_peak(piece.pid),
                Event::Fault(fault) => faults.push(fault),
                Event::Banner(_) => {}
            }
        }
    })
    .with_context(|| format!("{} can't be started", setting.tool.display()))?;
    if let Some(last) = spans.last_mut().filter(|_| !outcome.line_buffered) {
        last.ended = None;
    }
    let stopped_in = scanner.testset();
    let output = scanner.finish();
    let failure = failure(&output, &outcome, faults.first());
    let stopped_in = stopped_in.filter(|_| failure.is_some());
    Ok(NativeRun {
        output,
        spans,
        failure,
        ending: outcome.ending,
        wall: outcome.wall,
        usage: outcome.usage,
        peak_memory,
        stopped_in,
        stderr: outcome.stderr,
    })
}

/// Why a run does not count. No TOTAL means that it failed, whatever the exit status.
fn failure(output: &RunOutput, outcome: &process::Outcome, fault: Option<&Fault>) -> Option<String> {
    let said = outcome.stderr.trim().lines().next().unwrap_or_default();
    let place = match &output.unfinished {
        Some((key, name)) => format!(" in step {key}, {name}"),
        None => String::new(),
    };
    match outcome.ending {
        Ending::Interrupted => return Some(format!("interrupted{place}")),
        Ending::Deadline => return Some(format!("stopped at the deadline{place}")),
        Ending::Signalled(signal) => return Some(format!("killed by signal {signal}{place}")),
        Ending::Exited(0) => {}
        Ending::Exited(status) => return Some(format!("exit status {status}{place}: {said}")),
    }
    match (fault, output.total_ms) {
        (Some(fault), _) => Some(fault.to_string()),
        (None, None) => Some(format!("ended without TOTAL{place}: {said}")),
        (None, Some(_)) => None,
    }
}

/// `VmHWM`: unlike the peak in `getrusage` it does not count what this program held when it forked.
fn resident_peak(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kib| kib * 1024)
}
