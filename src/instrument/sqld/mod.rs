//! A real sqld that this program starts: on a loopback port chosen by the system, in a private folder, with a
//! key of its own.

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
    /// The program of the server.
    pub program: Program,
    /// Further arguments.
    pub arguments: Vec<String>,
    /// The folder in which a private folder is made.
    pub folder: PathBuf,
    /// Whether the private folder is kept.
    pub keep: bool,
    /// The `repro` executable, whose `launch` command ties the server's life to that of this process.
    pub launcher: PathBuf,
}

/// A running server. It is killed, and its folder removed, when the value is dropped.
pub struct Server {
    config: Config,
    stop: Arc<AtomicBool>,
    child: Child,
    socket: SocketAddr,
    keys: Keys,
    scratch: Scratch,
}

/// How long a server may take to start; a healthy sqld takes 30 ms.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a server may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(2);
/// The lifetime of a token in seconds: a year, which is longer than any measurement.
const TOKEN_SECONDS: i64 = 365 * 24 * 3600;

impl Server {
    /// Starts a server on an empty database, and waits until it is healthy.
    ///
    /// # Errors
    /// Says what kept the server from starting, with the end of its log.
    pub fn start(config: &Config) -> Result<Server> {
        Server::start_unless(&Arc::default(), config)
    }

    /// Starts a server as [`Server::start`] does, unless `stop` is raised from outside before it is healthy.
    ///
    /// # Errors
    /// Fails as [`Server::start`] does.
    pub fn start_unless(stop: &Arc<AtomicBool>, config: &Config) -> Result<Server> {
        let scratch = Scratch::new(&config.folder, "sqld", &["key", "sqld.log", "data"], config.keep)?;
        let keys = Keys::generate();
        fs::write(key_file(&scratch), keys.public())
            .with_context(|| key_file(&scratch).display().to_string())?;
        let (child, socket) = launch(config, &scratch, stop)?;
        Ok(Server { config: config.clone(), stop: Arc::clone(stop), child, socket, keys, scratch })
    }

    /// Ends the server and starts it again on the same database. It is killed if it does not end within two
    /// seconds or if the user does not want to wait.
    ///
    /// # Errors
    /// Fails as [`Server::start`] does.
    pub fn restart(&mut self) -> Result<()> {
        self.end();
        (self.child, self.socket) = launch(&self.config, &self.scratch, &self.stop)?;
        Ok(())
    }

    /// Asks the server to end, and waits for it.
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

    /// Kills the server.
    pub fn kill(&mut self) {
        self.signal(Signal::SIGKILL);
        let _ = self.child.wait();
    }

    /// Sends a signal only if the server still runs: after it has been waited for, its process id may belong
    /// to another process.
    fn signal(&mut self, signal: Signal) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = killpg(Pid::from_raw(self.child.id() as i32), signal);
        }
    }

    /// Returns the address of the server with a token for full access.
    pub fn address(&self) -> Address {
        self.address_with(Some(self.keys.mint(Access::Full, TOKEN_SECONDS)))
    }

    /// Returns the address of the server with this token, or without one.
    pub fn address_with(&self, token: Option<Token>) -> Address {
        Address::local(self.socket, token)
    }

    /// Returns the keys that its tokens are minted with.
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Returns the process id.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Returns the usage of the process, or `None` when it has ended.
    pub fn usage(&self) -> Option<Usage> {
        Usage::of(self.process())
    }

    /// Returns the version, the commit and the date of the build, as the server reports them.
    ///
    /// # Errors
    /// Fails when the server does not answer.
    pub fn build(&self) -> io::Result<String> {
        http_get(self.socket, "/version").map(|(_, body)| body.trim().to_string())
    }

    /// Returns whether the server reports that it is healthy.
    pub fn is_healthy(&self) -> bool {
        http_get(self.socket, "/health").is_ok_and(|(status, _)| status == 200)
    }

    /// Returns the sizes of the server's database, write-ahead log and replication log.
    pub fn files(&self) -> Files {
        let folder = self.scratch.path().join("data/dbs/default");
        let size = |name: &str| fs::metadata(folder.join(name)).ok().map(|facts| facts.len());
        Files { database_bytes: size("data"), wal_bytes: size("data-wal"), log_bytes: size("wallog") }
    }

    /// Returns the path of the private folder.
    pub fn folder(&self) -> &Path {
        self.scratch.path()
    }

    /// Returns the path of the server's log.
    pub fn log(&self) -> PathBuf {
        log_file(&self.scratch)
    }
}

/// The sizes of a server's files, in bytes; `None` for a file that does not exist.
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

/// Returns the last 64 KiB of a log.
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
    // The user's environment must neither reconfigure the server nor add backtraces to its messages.
    for (name, _) in std::env::vars_os() {
        if ["SQLD_", "LIBSQL_", "RUST_"].iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command.current_dir(scratch.path()).process_group(0).stdin(Stdio::null());
    command.stdout(log.try_clone()?).stderr(log).spawn()
}

/// Waits until the server's port appears in /proc, which it does once it is bound, and until the server
/// answers.
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

/// Returns the status and the body of the answer to a GET; at most 64 KiB of the answer are read.
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
