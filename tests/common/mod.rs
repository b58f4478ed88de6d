//! Helpers for the tests of the program: a private home, ways to run the program, and records as JSON.
#![allow(dead_code)] // each test file uses only some of these

pub mod clients;
pub mod oltp;
pub mod sqld;
pub mod token;

use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The program under test.
pub const REPRO: &str = env!("CARGO_BIN_EXE_repro");
/// The longest time that any single call in these tests may take.
const LIMIT: Duration = Duration::from_secs(120);

/// The folders of a user, which are removed with the value: `work` is the current directory, `tmp` is for
/// temporary files.
pub struct Home {
    dir: TempDir,
}

impl Home {
    /// Creates a home with empty folders.
    pub fn new() -> Home {
        let home = Home { dir: tempfile::tempdir().unwrap() };
        for name in ["work", "tmp"] {
            fs::create_dir(home.dir.path().join(name)).unwrap();
        }
        home
    }

    /// Returns the current directory of the programs that run here.
    pub fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    /// Returns the path of a file in the current directory.
    pub fn file(&self, name: &str) -> PathBuf {
        self.work().join(name)
    }

    /// Writes a file in the current directory.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.file(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// Returns the folder for temporary files.
    pub fn temporary(&self) -> PathBuf {
        self.dir.path().join("tmp")
    }

    /// Returns the cache folder, below which the tool is unpacked.
    pub fn cache(&self) -> PathBuf {
        self.dir.path().join("cache")
    }

    /// Returns the records that were written without `--record`, by name.
    pub fn records(&self) -> Vec<PathBuf> {
        list(&self.dir.path().join("state/repro/records"))
    }

    /// Returns the variables that keep the program inside this home.
    pub fn variables(&self) -> [(&'static str, PathBuf); 5] {
        let at = |name: &str| self.dir.path().join(name);
        [
            ("HOME", at("")),
            ("XDG_STATE_HOME", at("state")),
            ("XDG_CACHE_HOME", at("cache")),
            ("TMPDIR", at("tmp")),
            ("SQLITE_TMPDIR", at("tmp")),
        ]
    }

    /// Runs the program to its end.
    pub fn repro<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Done {
        let mut command = assert_cmd::Command::new(REPRO);
        command.args(arguments).current_dir(self.work()).envs(self.variables()).timeout(LIMIT);
        Done::from(&command.output().unwrap())
    }

    /// Starts the program and lets it run; it is killed when the value is dropped.
    pub fn start<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Running {
        let mut command = std::process::Command::new(REPRO);
        command.args(arguments).current_dir(self.work()).envs(self.variables());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        Running { child: command.spawn().unwrap() }
    }

    /// Measures size 1 into the file `name` with these further options, and returns the record.
    pub fn measure(&self, name: &str, options: &[&str]) -> Value {
        let arguments = [&["--size", "1", "--quiet", "--record", name], options].concat();
        self.repro(&arguments).exits(0);
        load(&self.file(name))
    }

    /// Returns the processes that run the tool unpacked here, or are about to.
    pub fn tools(&self) -> Vec<i32> {
        let cache = self.cache();
        let runs_it = |process: &PathBuf| {
            let executable = fs::read_link(process.join("exe"));
            let words = fs::read(process.join("cmdline")).unwrap_or_default();
            executable.is_ok_and(|path| path.starts_with(&cache))
                || words.split(|byte| *byte == 0).any(|word| {
                    use std::os::unix::ffi::OsStrExt;
                    Path::new(OsStr::from_bytes(word)).starts_with(&cache)
                })
        };
        let number = |path: &PathBuf| path.file_name()?.to_str()?.parse().ok();
        list(Path::new("/proc")).iter().filter(|path| runs_it(path)).filter_map(number).collect()
    }

    /// Asserts that the tool has ended, after at most two seconds.
    #[track_caller]
    pub fn assert_no_tool_is_left(&self) {
        wait_until("the tool is gone", Duration::from_secs(2), || self.tools().is_empty().then_some(()));
    }
}

/// How a call ended.
#[derive(Debug)]
pub struct Done {
    /// The exit status; `None` when a signal ended the program.
    pub code: Option<i32>,
    /// The standard output.
    pub out: String,
    /// The standard error.
    pub err: String,
}

impl From<&std::process::Output> for Done {
    fn from(output: &std::process::Output) -> Done {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Done { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }
}

impl Done {
    /// Asserts the exit status.
    #[track_caller]
    pub fn exits(self, code: i32) -> Done {
        assert_eq!(self.code, Some(code), "\nstdout: {}\nstderr: {}", self.out, self.err);
        self
    }

    /// Asserts that standard error contains each of `pieces` and no trace of a panic.
    #[track_caller]
    pub fn says<S: AsRef<str>>(self, pieces: &[S]) -> Done {
        for piece in pieces {
            assert!(self.err.contains(piece.as_ref()), "no `{}` in: {}", piece.as_ref(), self.err);
        }
        assert!(!self.err.contains("panicked"), "{}", self.err);
        self
    }

    /// Asserts that standard output contains each of `pieces`.
    #[track_caller]
    pub fn prints<S: AsRef<str>>(self, pieces: &[S]) -> Done {
        for piece in pieces {
            assert!(self.out.contains(piece.as_ref()), "no `{}` in: {}", piece.as_ref(), self.out);
        }
        self
    }

    /// Parses standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error} in: {}", self.out))
    }
}

/// A running program.
pub struct Running {
    child: std::process::Child,
}

impl Running {
    /// Sends a signal.
    pub fn signal(&self, signal: nix::sys::signal::Signal) {
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(self.child.id() as i32), signal).unwrap();
    }

    /// Returns whether the program is still running.
    pub fn runs(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for the program to end, which must happen within `limit`.
    #[track_caller]
    pub fn end(mut self, limit: Duration) -> Done {
        let status = wait_until("the program has ended", limit, || self.child.try_wait().unwrap());
        let mut err = String::new();
        std::io::Read::read_to_string(&mut self.child.stderr.take().unwrap(), &mut err).unwrap();
        Done { code: status.code(), out: String::new(), err }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Checks every few milliseconds until there is a value.
#[track_caller]
pub fn wait_until<T>(what: &str, limit: Duration, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + limit;
    loop {
        if let Some(value) = look() {
            return value;
        }
        assert!(Instant::now() < end, "not within {limit:?}: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Returns the paths in a folder in order; none if the folder does not exist.
pub fn list(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// Parses the JSON in a file.
#[track_caller]
pub fn load(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error} in: {text}", path.display()))
}

/// Returns an array of a record, such as `runs`.
pub fn array<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().unwrap_or_else(|| panic!("no array `{name}` in {value}"))
}

/// Returns the runs of the only leg.
pub fn runs(record: &Value) -> &[Value] {
    array(&record["legs"][0], "runs")
}

/// Returns the rows of the only leg.
pub fn steps(record: &Value) -> &[Value] {
    array(&record["legs"][0], "phases")
}

/// Returns the key `TESTSET/NUMBER`, with `#2` for the second row of that number.
pub fn key(step: &Value) -> String {
    step["name"].as_str().unwrap().to_string()
}

/// Returns the time in ms that was reported for a row in its first sample.
pub fn first_ms(step: &Value) -> i64 {
    array(step, "samples")[0]["measure"]["reported_ms"].as_i64().unwrap()
}

/// Returns the message that says why a record is partial or a run rejected.
#[track_caller]
pub fn why<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name]["message"].as_str().unwrap_or_else(|| panic!("no `{name}` in {value}"))
}

/// Returns the keys of all steps.
pub fn keys(record: &Value) -> Vec<String> {
    steps(record).iter().map(key).collect()
}

/// Returns the number of samples of each run and their sum in ms, by the number of the run.
pub fn sums(record: &Value) -> BTreeMap<u64, (usize, i64)> {
    let mut sums = BTreeMap::new();
    for sample in steps(record).iter().flat_map(|step| array(step, "samples")) {
        let (count, sum) = sums.entry(sample["run"].as_u64().unwrap()).or_insert((0, 0));
        *count += 1;
        *sum += sample["measure"]["reported_ms"].as_i64().unwrap();
    }
    sums
}

/// Asserts that runs are numbered from 1, that each run that is not rejected has `rows` samples and their sum
/// as its TOTAL, and that no sample belongs to another run.
#[track_caller]
pub fn assert_runs_are_whole(record: &Value, rows: usize) {
    let mut sums = sums(record);
    for (index, run) in runs(record).iter().enumerate() {
        let number = run["number"].as_u64().unwrap();
        assert_eq!(number, index as u64 + 1);
        let (count, sum) = sums.remove(&number).unwrap_or((0, 0));
        if run.get("rejected").is_none() {
            assert_eq!((count, Some(sum)), (rows, run["total_ms"].as_i64()), "run {number}");
        }
    }
    assert!(sums.is_empty(), "samples of runs that the record does not name: {sums:?}");
}

/// Reports that a test can't be made on this machine.
pub fn skip(reason: &str) {
    assert!(std::env::var_os("REPRO_NO_SKIP").is_none(), "may not be skipped: {reason}");
    eprintln!("SKIPPED: {reason}");
}

/// Returns whether this user is root.
pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// A small filesystem in memory, which is unmounted when dropped.
pub struct Tmpfs {
    dir: TempDir,
}

impl Tmpfs {
    /// Mounts a filesystem of this many KiB; returns `None` and prints the reason if that is not permitted.
    pub fn mount(kib: u32) -> Option<Tmpfs> {
        if !is_root() {
            skip("only root can mount a filesystem");
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        let options = format!("size={kib}k,mode=0777");
        let mount = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
            .arg(dir.path())
            .output();
        match mount {
            Ok(output) if output.status.success() => Some(Tmpfs { dir }),
            other => {
                skip(&format!("mount: {other:?}"));
                None
            }
        }
    }

    /// Returns the path of a file on the filesystem.
    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Returns the names of the files on it.
    pub fn names(&self) -> Vec<String> {
        let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
        list(self.dir.path()).iter().map(name).collect()
    }

    /// Takes all the space that is left, in the file `filler`.
    pub fn fill(&self) {
        use std::io::Write;
        let mut filler = fs::OpenOptions::new().create(true).append(true).open(self.file("filler")).unwrap();
        while filler.write(&[0; 4096]).is_ok() {}
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("--lazy").arg(self.dir.path()).status();
    }
}
