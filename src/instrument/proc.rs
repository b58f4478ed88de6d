//! What /proc reports about a process.

use nix::unistd::{SysconfVar, sysconf};
use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

/// The resources that a process uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The resident memory, in bytes.
    pub memory_bytes: u64,
    /// The largest resident memory so far, in bytes.
    pub peak_memory_bytes: u64,
    /// The CPU time in user mode so far.
    pub user: Duration,
    /// The CPU time in the kernel so far.
    pub system: Duration,
    /// The number of threads.
    pub threads: u64,
    /// The number of threads that are running or ready to run.
    pub runnable: u64,
}

impl Usage {
    /// Returns the usage of a process, or `None` when it is gone.
    pub fn of(process: u32) -> Option<Usage> {
        let status = read(process, "status")?;
        let fields = stat_fields(&read(process, "stat")?)?;
        let time = |field: usize| ticks(fields.get(field)?.parse().ok()?);
        let states = thread_states(process);
        Some(Usage {
            memory_bytes: kib(&status, "VmRSS:")? * 1024,
            peak_memory_bytes: kib(&status, "VmHWM:")? * 1024,
            user: time(USER_TIME)?,
            system: time(SYSTEM_TIME)?,
            threads: states.values().sum(),
            runnable: states.get("R").copied().unwrap_or(0),
        })
    }

    /// Returns the CPU time in both modes.
    pub fn cpu(&self) -> Duration {
        self.user + self.system
    }
}

/// Returns the largest resident set so far, in bytes. Unlike the peak in `getrusage`, it excludes what the
/// parent held when it forked.
pub fn peak_memory_bytes(process: u32) -> Option<u64> {
    kib(&read(process, "status")?, "VmHWM:").map(|kib| kib * 1024)
}

/// Returns whether a process is still running. A process that has ended stays in /proc until its parent waits
/// for it, which in a container may never happen.
pub fn is_running(process: u32) -> bool {
    let state = read(process, "stat").and_then(|stat| stat_fields(&stat)?.into_iter().next());
    state.is_some_and(|state| !matches!(state.as_str(), "Z" | "X"))
}

/// Returns the number of threads of a process by state: R is running, S is sleeping, D is waiting for a disk.
pub fn thread_states(process: u32) -> BTreeMap<String, u64> {
    let mut states = BTreeMap::new();
    for task in fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
        let stat = fs::read_to_string(task.path().join("stat")).ok();
        if let Some(state) = stat.and_then(|stat| stat_fields(&stat)?.into_iter().next()) {
            *states.entry(state).or_default() += 1;
        }
    }
    states
}

/// Returns the number of page faults in all threads of a process that needed a disk, or `None` when the
/// process is gone.
pub fn major_faults(process: u32) -> Option<u64> {
    stat_fields(&read(process, "stat")?)?.get(MAJOR_FAULTS)?.parse().ok()
}

/// The bytes moved between a process and storage, as the kernel counts them. Data from the page cache is not
/// included; data that the kernel read ahead is, even if it was discarded before anyone used it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Io {
    /// The number of bytes that were fetched from storage.
    pub read_bytes: u64,
    /// The number of bytes given to the page cache to be written to storage, at once or later.
    pub write_bytes: u64,
}

impl Io {
    /// Returns the bytes of a process and of those of its children that it has waited for; an ended process
    /// can be read until it is waited for. Returns `None` when the process is gone or belongs to another
    /// user, or when the kernel does not count.
    pub fn of(process: u32) -> Option<Io> {
        parse_io(&read(process, "io")?)
    }

    /// Returns the bytes moved since `before`.
    pub fn since(self, before: Io) -> Io {
        Io {
            read_bytes: self.read_bytes.saturating_sub(before.read_bytes),
            write_bytes: self.write_bytes.saturating_sub(before.write_bytes),
        }
    }
}

/// The state of a listening socket in /proc/net/tcp.
const LISTEN: &str = "0A";

/// Returns the port of 127.0.0.1 on which a process listens.
pub fn listening_port(process: u32) -> Option<u16> {
    let sockets: Vec<String> = fs::read_dir(format!("/proc/{process}/fd"))
        .ok()?
        .flatten()
        .filter_map(|entry| fs::read_link(entry.path()).ok())
        .filter_map(|link| Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_string()))
        .collect();
    let table = read(process, "net/tcp")?;
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (address, port) = fields.get(1)?.split_once(':')?;
        let listens = *fields.get(3)? == LISTEN && address == "0100007F";
        let own = sockets.iter().any(|socket| Some(&socket.as_str()) == fields.get(9));
        (listens && own).then(|| u16::from_str_radix(port, 16).ok())?
    })
}

/// The positions of fields in a `stat` file, counted from the state, which is 0.
const MAJOR_FAULTS: usize = 9;
const USER_TIME: usize = 11;
const SYSTEM_TIME: usize = 12;

/// Returns the fields of a `stat` file after the name, which may contain blanks and parentheses.
fn stat_fields(stat: &str) -> Option<Vec<String>> {
    let (_, rest) = stat.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_string).collect())
}

fn read(process: u32, file: &str) -> Option<String> {
    fs::read_to_string(format!("/proc/{process}/{file}")).ok()
}

/// Returns a value of a `status` file, in KiB.
fn kib(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

fn ticks(count: u64) -> Option<Duration> {
    let per_second = sysconf(SysconfVar::CLK_TCK).ok()??;
    Some(Duration::from_secs_f64(count as f64 / per_second as f64))
}

fn parse_io(text: &str) -> Option<Io> {
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    Some(Io { read_bytes: value("read_bytes:")?, write_bytes: value("write_bytes:")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_ourselves() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let own = std::process::id();
        let usage = Usage::of(own).unwrap();
        assert!(usage.memory_bytes > 1_000_000 && usage.peak_memory_bytes >= usage.memory_bytes);
        assert!(usage.threads >= 1 && usage.runnable >= 1);
        assert!(listening_port(own).is_some() && is_running(own));
        assert!(major_faults(own).is_some() && peak_memory_bytes(own).is_some());
        drop(listener);
    }

    #[test]
    fn of_processes_that_are_not_there() {
        assert_eq!(Usage::of(u32::MAX), None);
        assert_eq!(Io::of(u32::MAX), None);
        assert_eq!((major_faults(u32::MAX), peak_memory_bytes(u32::MAX)), (None, None));
        assert!(!is_running(u32::MAX));
    }

    #[test]
    fn a_process_that_has_ended_runs_no_more() {
        let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        assert!(is_running(child.id()));
        child.kill().unwrap();
        let begun = std::time::Instant::now();
        while is_running(child.id()) {
            assert!(begun.elapsed() < Duration::from_secs(20), "nobody has looked at it yet");
            std::thread::sleep(Duration::from_millis(1));
        }
        child.wait().unwrap();
    }

    #[test]
    fn io_counters() {
        let text = "rchar: 9\nwchar: 8\nread_bytes: 4096\nwrite_bytes: 512\ncancelled_write_bytes: 3\n";
        let io = Io { read_bytes: 4096, write_bytes: 512 };
        assert_eq!(parse_io(text), Some(io));
        assert_eq!(parse_io("read_bytes: 1\n"), None);
        assert_eq!(
            io.since(Io { read_bytes: 96, write_bytes: 600 }),
            Io { read_bytes: 4000, write_bytes: 0 }
        );
    }

    #[test]
    fn fields_after_any_name() {
        let stat = "7 (a) b (c) S 1 2 3 4 5 4194560 700 800 91 20 0 0";
        let fields = stat_fields(stat).unwrap();
        assert_eq!((fields[0].as_str(), fields[MAJOR_FAULTS].as_str()), ("S", "91"));
        assert_eq!(stat_fields(""), None);
    }
}
