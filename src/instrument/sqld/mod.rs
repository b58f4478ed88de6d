//! A real sqld of our own: on a port of loopback that the system chooses, in a private folder, with a key of its own.

pub mod program;
pub mod token;

use super::hrana::{Address, Token};
use super::proc::{self, Usage};
use super::process;
use super::scratch::Scratch;
use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use program::Program;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use token::{Access, Keys};

/// What to start, and where.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Config {
    /// The program.
    pub program: Program,
    /// Further arguments.
    pub arguments: Vec<String>,
    /// In which a private folder is made.
    pub folder: PathBuf,
    /// Whether that folder stays.
    pub keep: bool,
    /// The `repro` executable, whose `launch` command ties the server's life to ours.
    pub launcher: PathBuf,
}

/// A server under way. It is ended by force, and its folder removed, when the value is dropped.
pub struct Server {
    config: Config,
    stop: Arc<AtomicBool>,
    child: Child,
    socket: SocketAddr,
    keys: Keys,
    scratch: Scratch,
}

/// A healthy sqld is there after 30 ms.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long it may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(2);
/// A year: no measurement takes longer.
const TOKEN_SECONDS: i64 = 365 * 24 * 3600;

impl Server {
    /// Starts one on an empty database and waits until it is healthy.
    ///
    /// # Errors
    /// What keeps it from starting, with the end of what it said.
    pub fn start(config: &Config) -> Result<Server> {
        Server::start_unless(&Arc::default(), config)
    }

    /// Starts one, unless the flag is raised before it is healthy: from outside, when the user wants it to end.
    ///
    /// # Errors
    /// As those of a start.
    pub fn start_unless(stop: &Arc<AtomicBool>, config: &Config) -> Result<Server> {
        let scratch = Scratch::new(&config.folder, "sqld", &["key", "sqld.log", "data"], config.keep)?;
        let keys = Keys::generate();
        fs::write(key_file(&scratch), keys.public())
            .with_context(|| key_file(&scratch).display().to_string())?;
        let (child, socket) = launch(config, &scratch, stop)?;
        Ok(Server { config: config.clone(), stop: Arc::clone(stop), child, socket, keys, scratch })
    }

    /// Ends it, by force when it does not end within two seconds or the user does not want to wait, and starts it again
    /// on the same database.
    ///
    /// # Errors
    /// As those of a start.
    pub fn restart(&mut self) -> Result<()> {
        self.end();
        (self.child, self.socket) = launch(&self.config, &self.scratch, &self.stop)?;
        Ok(())
    }

    /// Asks it to end, and waits.
    pub fn stop(mut self) -> ExitStatus {
        self.end()
    }

    fn end(&mut self) -> ExitStatus {
        self.signal(Signal::SIGTERM);
        let deadline = Instant::now() + GRACE;
        while Instant::now() < deadline && !self.stop.load(Ordering::Relaxed) {
            if let Ok(Some(status)) = self.child.try_wait() {
                return status;
            }
            thread::sleep(Duration::from_millis(5));
        }
        self.kill();
        self.child.wait().unwrap_or_default()
    }

    /// Ends it by force.
    pub fn kill(&mut self) {
        self.signal(Signal::SIGKILL);
        let _ = self.child.wait();
    }

    /// When it has ended and been waited for, its number may be somebody else's.
    fn signal(&mut self, signal: Signal) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = killpg(Pid::from_raw(self.child.id() as i32), signal);
        }
    }

    /// Its address, with a token for everything.
    pub fn address(&self) -> Address {
        self.address_with(Some(self.keys.mint(Access::Full, TOKEN_SECONDS)))
    }

    /// Its address, with this token or none.
    pub fn address_with(&self, token: Option<Token>) -> Address {
        Address::local(self.socket, token)
    }

    /// What mints its tokens.
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Number of the process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// What the process uses; `None` when it has ended.
    pub fn usage(&self) -> Option<Usage> {
        Usage::of(self.process())
    }

    /// What it calls itself: version, commit and date of the build.
    ///
    /// # Errors
    /// A server that does not answer.
    pub fn build(&self) -> io::Result<String> {
        http_get(self.socket, "/version").map(|(_, body)| body.trim().to_string())
    }

    /// Whether it says that it is healthy.
    pub fn is_healthy(&self) -> bool {
        http_get(self.socket, "/health").is_ok_and(|(status, _)| status == 200)
    }

    /// Its database, write-ahead log and log of replication.
    pub fn files(&self) -> Files {
        let folder = self.scratch.path().join("data/dbs/default");
        let size = |name: &str| fs::metadata(folder.join(name)).ok().map(|facts| facts.len());
        Files { database_bytes: size("data"), wal_bytes: size("data-wal"), log_bytes: size("wallog") }
    }

    /// The private folder.
    pub fn folder(&self) -> &Path {
        self.scratch.path()
    }

    /// The file with everything that it said.
    pub fn log(&self) -> PathBuf {
        log_file(&self.scratch)
    }
}

/// Sizes, bytes; `None` where there is no such file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Files {
    pub database_bytes: Option<u64>,
    pub wal_bytes: Option<u64>,
    pub log_bytes: Option<u64>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The last 64 KiB of a log.
pub fn tail(log: &Path) -> String {
    let read = || -> io::Result<String> {
        let mut file = File::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(64 * 1024)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    read().unwrap_or_default()
}

fn key_file(scratch: &Scratch) -> PathBuf {
    scratch.path().join("key")
}

fn log_file(scratch: &Scratch) -> PathBuf {
    scratch.path().join("sqld.log")
}

fn launch(config: &Config, scratch: &Scratch, stop: &AtomicBool) -> Result<(Child, SocketAddr)> {
    let name = config.program.path.display();
    let mut child = spawn(config, scratch).with_context(|| format!("{name}: can't be started"))?;
    let waited = wait_until_healthy(&mut child, stop);
    if waited.is_err() {
        let _ = killpg(Pid::from_raw(child.id() as i32), Signal::SIGKILL);
        let _ = child.wait();
    }
    let said = || {
        let log = tail(&log_file(scratch));
        let lines: Vec<&str> = log.lines().collect();
        format!("{name}: {}", lines[lines.len().saturating_sub(5)..].join("\n"))
    };
    let socket = waited.map_err(|error| match stop.load(Ordering::Relaxed) {
        true => error,
        false => error.context(said()),
    })?;
    Ok((child, socket))
}

fn spawn(config: &Config, scratch: &Scratch) -> io::Result<Child> {
    let log = File::options().create(true).append(true).open(log_file(scratch))?;
    let mut command = process::launcher(&config.launcher, None, &[]);
    command.arg("--").arg(&config.program.path);
    command.args(["--no-welcome", "--http-listen-addr", "127.0.0.1:0", "--disable-metrics"]);
    command.arg("--auth-jwt-key-file").arg(key_file(scratch));
    command.arg("--db-path").arg(scratch.path().join("data"));
    command.args(&config.arguments);
    // The user's environment must not turn it into another server, nor a word of it into a stack of calls.
    for (name, _) in std::env::vars_os() {
        if ["SQLD_", "LIBSQL_", "RUST_"].iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command.current_dir(scratch.path()).process_group(0).stdin(Stdio::null());
    command.stdout(log.try_clone()?).stderr(log).spawn()
}

/// The port appears in /proc as soon as it is bound; then the server must answer.
fn wait_until_healthy(child: &mut Child, stop: &AtomicBool) -> Result<SocketAddr> {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if stop.load(Ordering::Relaxed) {
            bail!("interrupted");
        }
        if let Some(status) = child.try_wait()? {
            bail!("ended at once ({status})");
        }
        if let Some(port) = proc::listening_port(child.id()) {
            let socket = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            if http_get(socket, "/health").is_ok_and(|(status, _)| status == 200) {
                return Ok(socket);
            }
        }
        thread::sleep(Duration::from_millis(2));
    }
    bail!("not healthy within {} s", PATIENCE.as_secs())
}

/// Status and body of the answer to a GET; the body is read up to 64 KiB.
fn http_get(socket: SocketAddr, path: &str) -> io::Result<(u16, String)> {
    let mut stream = TcpStream::connect_timeout(&socket, Duration::from_secs(2))?;
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {socket}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.take(64 * 1024).read_to_string(&mut answer)?;
    let status = answer.split(' ').nth(1).and_then(|word| word.parse().ok());
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    Ok((status.ok_or(io::ErrorKind::InvalidData)?, body.to_string()))
}
