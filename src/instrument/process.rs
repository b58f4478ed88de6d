//! Runs one child process: its output is time-stamped as it arrives, a deadline is kept, ^C is passed on, and
//! nothing is left behind.

use super::cgroup;
use crate::record::{Cause, Failure, Resources};
use anyhow::Context;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// What to start, and within which limits.
pub struct Launch<'a> {
    /// The path of the program.
    pub program: &'a Path,
    /// The arguments of the program.
    pub arguments: Vec<OsString>,
    /// The whole environment of the child; `None` for that of this process.
    pub environment: Option<Vec<(OsString, OsString)>>,
    /// The only CPU that the child may use.
    pub cpu: Option<usize>,
    /// Files through which a process enters control groups, which it does before it becomes the program.
    pub groups: Vec<PathBuf>,
    /// The time after which the child is killed.
    pub deadline: Duration,
    /// The `repro` executable, whose `launch` command ties the child's life to that of this process.
    pub launcher: &'a Path,
}

/// How the child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The child exited with this status.
    Exited(i32),
    /// The child was killed by this signal, which did not come from this process.
    Signalled(i32),
    /// The child was stopped at the deadline.
    Deadline,
    /// The child was stopped because the user interrupted it.
    Interrupted,
}

/// What the kernel counted for the child.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The CPU time in user mode, in µs.
    pub user_us: u64,
    /// The CPU time in the kernel, in µs.
    pub system_us: u64,
    /// How often the child gave up the CPU to wait.
    pub voluntary_switches: u64,
    /// How often the scheduler took the CPU away.
    pub involuntary_switches: u64,
    /// The number of page faults that needed a disk.
    pub major_faults: u64,
}

/// Everything that is known about a child that has ended.
pub struct Outcome {
    /// How the child ended.
    pub ending: Ending,
    /// The time from start to end of the child.
    pub wall: Duration,
    /// The resources that the child used.
    pub usage: Usage,
    /// The first 64 KiB of the child's standard error.
    pub stderr: String,
    /// Whether standard output was a terminal, so that a line arrives when it ends and not when the next one
    /// begins.
    pub line_buffered: bool,
}

impl Outcome {
    /// Returns why the child did not succeed, or `None` if it did; `place` says where it was, such as ` in
    /// row main/310`, or is empty.
    pub fn failure(&self, place: &str) -> Option<Failure> {
        let said = self.stderr.trim().lines().next().unwrap_or_default();
        Some(match self.ending {
            Ending::Exited(0) => return None,
            Ending::Exited(status) => Failure::at(Cause::ExitStatus(status), place, said),
            Ending::Signalled(signal) => Failure::at(Cause::Signal(signal), place, ""),
            Ending::Deadline => Failure::at(Cause::Deadline, place, ""),
            Ending::Interrupted => Failure::at(Cause::Interrupted, place, ""),
        })
    }
}

/// A piece of standard output.
pub struct Piece<'a> {
    /// When the piece arrived, by the monotonic clock since the start of the child.
    pub at: Duration,
    /// The bytes of the piece.
    pub bytes: &'a [u8],
    /// The process id of the child.
    pub pid: u32,
}

const STDERR_LIMIT: usize = 64 * 1024;
/// How long a child may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(2);

/// Runs `launch` to its end, and passes each piece of its output to `on_piece`. `interrupted` is checked ten
/// times a second.
///
/// Only one child may run at a time in this process, because resource usage is derived from the kernel's sum
/// over all children that have ended.
///
/// # Errors
/// Fails when the child can't be started.
pub fn run(
    launch: &Launch,
    interrupted: &AtomicBool,
    on_piece: &mut dyn FnMut(Piece),
) -> io::Result<Outcome> {
    let (reader, writer, line_buffered) = output_channel()?;
    let before = children_usage();
    let mut child = Guard(spawn(launch, writer)?);
    let started = Instant::now();
    let pid = child.0.id();

    let (sender, pieces) = channel();
    let output_thread = thread::spawn(move || stamp_pieces(File::from(reader), started, &sender));
    let stderr = child.0.stderr.take();
    let stderr_thread = thread::spawn(move || stderr.map_or_else(String::new, read_bounded));

    let mut watch = Watch {
        deadline: started + launch.deadline,
        interrupted,
        asked: None,
        group: Pid::from_raw(pid as i32),
    };
    drain(&pieces, &mut watch, |at, bytes| on_piece(Piece { at, bytes, pid }));
    while !has_ended(pid)? {
        watch.look();
        thread::sleep(Duration::from_millis(1));
    }
    let wall = started.elapsed();
    let status = child.0.wait()?;
    // What the child may have started must neither outlive it nor hold the pipes open.
    let _ = killpg(watch.group, Signal::SIGKILL);
    let _ = output_thread.join();
    let stderr = stderr_thread.join().unwrap_or_default();

    let ending = match (watch.asked, status.code(), status.signal()) {
        (Some((ending, _)), _, _) => ending,
        (None, Some(code), _) => Ending::Exited(code),
        (None, None, signal) => Ending::Signalled(signal.unwrap_or(0)),
    };
    Ok(Outcome { ending, wall, usage: children_usage().since(before), stderr, line_buffered })
}

/// Kills the child if its function returns early.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        if self.0.try_wait().is_ok_and(|status| status.is_none()) {
            let _ = killpg(Pid::from_raw(self.0.id() as i32), Signal::SIGKILL);
            let _ = self.0.wait();
        }
    }
}

fn spawn(launch: &Launch, stdout: OwnedFd) -> io::Result<Child> {
    let mut command = launcher(launch.launcher, launch.cpu, &launch.groups);
    command.arg("--").arg(launch.program).args(&launch.arguments);
    if let Some(environment) = &launch.environment {
        command.env_clear().envs(environment.iter().cloned());
    }
    // The child has a process group of its own, so ^C at the terminal reaches only this process, which passes
    // it on.
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::from(stdout)).stderr(Stdio::piped()).spawn()
}

/// Returns the beginning of a command that starts a child whose life is tied to that of the starting thread;
/// `--` and the program must follow. See [`launch`].
pub fn launcher(own: &Path, cpu: Option<usize>, groups: &[PathBuf]) -> Command {
    let mut command = Command::new(own);
    command.arg("launch").arg("--parent").arg(std::process::id().to_string());
    if let Some(cpu) = cpu {
        command.arg("--cpu").arg(cpu.to_string());
    }
    for file in groups {
        command.arg("--group").arg(file);
    }
    command
}

/// Returns both ends of the child's standard output: a raw pseudo-terminal, because the C library then writes
/// each line as it ends, or a pipe if the system has none. The flag is true for a terminal.
fn output_channel() -> io::Result<(OwnedFd, OwnedFd, bool)> {
    use nix::fcntl::{FcntlArg, FdFlag, fcntl};
    use nix::sys::termios::{SetArg, cfmakeraw, tcgetattr, tcsetattr};
    let terminal = || -> nix::Result<(OwnedFd, OwnedFd)> {
        let pair = nix::pty::openpty(None, None)?;
        fcntl(pair.master.as_fd(), FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
        fcntl(pair.slave.as_fd(), FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
        let mut modes = tcgetattr(&pair.slave)?;
        cfmakeraw(&mut modes);
        tcsetattr(&pair.slave, SetArg::TCSANOW, &modes)?;
        Ok((pair.master, pair.slave))
    };
    if let Ok((master, slave)) = terminal() {
        return Ok((master, slave, true));
    }
    let (reader, writer) = io::pipe()?;
    Ok((reader.into(), writer.into(), false))
}

/// Reads until the child and everything that it started have closed the other end.
fn stamp_pieces(mut output: File, started: Instant, sender: &Sender<(Duration, Vec<u8>)>) {
    let mut buffer = [0; 16 * 1024];
    loop {
        match output.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // A pseudo-terminal whose other end is closed returns EIO.
            Ok(0) | Err(_) => return,
            Ok(count) => {
                let at = started.elapsed();
                if sender.send((at, buffer[..count].to_vec())).is_err() {
                    return;
                }
            }
        }
    }
}

fn read_bounded(mut stream: impl Read) -> String {
    let mut kept = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        let room = STDERR_LIMIT.saturating_sub(kept.len());
        kept.extend_from_slice(&buffer[..count.min(room)]);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

fn drain(pieces: &Receiver<(Duration, Vec<u8>)>, watch: &mut Watch, mut take: impl FnMut(Duration, &[u8])) {
    loop {
        match pieces.recv_timeout(Duration::from_millis(100)) {
            Ok((at, bytes)) => take(at, &bytes),
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {}
        }
        watch.look();
    }
}

/// Ends the child at the deadline or when the user asks for it: first with a request, then by force.
struct Watch<'a> {
    deadline: Instant,
    interrupted: &'a AtomicBool,
    asked: Option<(Ending, Instant)>,
    group: Pid,
}

impl Watch<'_> {
    fn look(&mut self) {
        let now = Instant::now();
        match self.asked {
            Some((_, since)) if now > since + GRACE => {
                let _ = killpg(self.group, Signal::SIGKILL);
            }
            Some(_) => {}
            None if self.interrupted.load(Ordering::Relaxed) => {
                self.ask(Ending::Interrupted, Signal::SIGINT, now)
            }
            None if now > self.deadline => self.ask(Ending::Deadline, Signal::SIGTERM, now),
            None => {}
        }
    }

    fn ask(&mut self, ending: Ending, signal: Signal, now: Instant) {
        self.asked = Some((ending, now));
        let _ = killpg(self.group, signal);
    }
}

/// Returns whether the child has ended, without consuming its status.
fn has_ended(pid: u32) -> io::Result<bool> {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    match waitid(Id::Pid(Pid::from_raw(pid as i32)), flags) {
        Ok(WaitStatus::StillAlive) => Ok(false),
        Ok(_) => Ok(true),
        Err(nix::Error::EINTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn children_usage() -> Usage {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else { return Usage::default() };
    let microseconds = |time: nix::sys::time::TimeVal| (time.tv_sec() * 1_000_000 + time.tv_usec()) as u64;
    Usage {
        user_us: microseconds(usage.user_time()),
        system_us: microseconds(usage.system_time()),
        voluntary_switches: usage.voluntary_context_switches() as u64,
        involuntary_switches: usage.involuntary_context_switches() as u64,
        major_faults: usage.major_page_faults() as u64,
    }
}

impl Usage {
    /// Converts the usage to the form in which a record holds it.
    pub fn resources(self) -> Resources {
        Resources {
            user_us: self.user_us,
            system_us: self.system_us,
            peak_memory_bytes: None,
            voluntary_switches: Some(self.voluntary_switches),
            involuntary_switches: Some(self.involuntary_switches),
            major_faults: Some(self.major_faults),
        }
    }

    fn since(self, before: Usage) -> Usage {
        Usage {
            user_us: self.user_us - before.user_us,
            system_us: self.system_us - before.system_us,
            voluntary_switches: self.voluntary_switches - before.voluntary_switches,
            involuntary_switches: self.involuntary_switches - before.involuntary_switches,
            major_faults: self.major_faults - before.major_faults,
        }
    }
}

/// Becomes the program that [`run`] starts, after asking the kernel to kill it together with its parent, and
/// moving to its CPU and groups. Returns only if that fails.
pub fn launch(parent: u32, cpu: Option<usize>, groups: &[PathBuf], command: &[OsString]) -> io::Error {
    let prepare = || -> nix::Result<()> {
        nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
        if let Some(cpu) = cpu {
            let mut set = nix::sched::CpuSet::new();
            set.set(cpu)?;
            nix::sched::sched_setaffinity(Pid::from_raw(0), &set)?;
        }
        Ok(())
    };
    if let Err(error) = prepare()
        .map_err(io::Error::from)
        .and_then(|()| groups.iter().try_for_each(|file| cgroup::enter(file)))
    {
        return error;
    }
    if nix::unistd::getppid() != Pid::from_raw(parent as i32) {
        return io::Error::other("the parent has ended");
    }
    match command.split_first() {
        Some((program, arguments)) => Command::new(program).args(arguments).exec(),
        None => io::Error::other("no program given"),
    }
}

/// Returns the CPUs that this process may use.
pub fn allowed_cpus() -> Vec<usize> {
    let Ok(set) = nix::sched::sched_getaffinity(Pid::from_raw(0)) else { return Vec::new() };
    (0..nix::sched::CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap_or(false)).collect()
}

/// Returns the path of the running program.
///
/// # Errors
/// Fails when /proc is not mounted.
pub fn own_path() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("/proc/self/exe can't be read; is /proc mounted?")
}
