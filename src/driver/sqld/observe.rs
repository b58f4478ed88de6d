//! What /proc says of a server.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

/// What a process uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Resident memory, bytes.
    pub memory_bytes: u64,
    /// The most that it was so far.
    pub peak_memory_bytes: u64,
    /// CPU time in user mode so far.
    pub user: Duration,
    /// CPU time in the kernel so far.
    pub system: Duration,
    /// Threads.
    pub threads: u64,
    /// Those of them that run or could.
    pub runnable: u64,
}

impl Usage {
    /// Of a process; `None` when it is gone.
    pub fn of(process: u32) -> Option<Usage> {
        let folder = format!("/proc/{process}");
        let status = fs::read_to_string(format!("{folder}/status")).ok()?;
        let kib = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim_start_matches(':').split_whitespace().next()?.parse::<u64>().ok()
        };
        let fields = stat_fields(&format!("{folder}/stat"))?;
        let time = |index: usize| ticks(fields.get(index)?.parse().ok()?);
        let states = thread_states(process);
        Some(Usage {
            memory_bytes: kib("VmRSS")? * 1024,
            peak_memory_bytes: kib("VmHWM")? * 1024,
            user: time(11)?,
            system: time(12)?,
            threads: states.values().sum(),
            runnable: states.get("R").copied().unwrap_or(0),
        })
    }

    /// CPU time in both modes.
    pub fn cpu(&self) -> Duration {
        self.user + self.system
    }
}

/// Threads of a process, by state: R runs, S sleeps, D waits for a disk.
pub fn thread_states(process: u32) -> BTreeMap<String, u64> {
    let mut states = BTreeMap::new();
    for task in fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
        let fields = task.path().join("stat").to_str().and_then(stat_fields);
        if let Some(state) = fields.and_then(|fields| fields.into_iter().next()) {
            *states.entry(state).or_default() += 1;
        }
    }
    states
}

/// The fields of a `stat` file after the name, which may hold blanks and parentheses.
fn stat_fields(path: &str) -> Option<Vec<String>> {
    let text = fs::read_to_string(path).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_string).collect())
}

fn ticks(count: u64) -> Option<Duration> {
    let per_second = nix::unistd::sysconf(nix::unistd::SysconfVar::CLK_TCK).ok()??;
    Some(Duration::from_secs_f64(count as f64 / per_second as f64))
}

/// State of a listening socket in /proc/net/tcp.
const LISTEN: &str = "0A";

/// The port of 127.0.0.1 on which a process listens.
pub fn listening_port(process: u32) -> Option<u16> {
    let sockets: Vec<String> = fs::read_dir(format!("/proc/{process}/fd"))
        .ok()?
        .flatten()
        .filter_map(|entry| fs::read_link(entry.path()).ok())
        .filter_map(|link| Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_string()))
        .collect();
    let table = fs::read_to_string(format!("/proc/{process}/net/tcp")).ok()?;
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (address, port) = fields.get(1)?.split_once(':')?;
        let listens = *fields.get(3)? == LISTEN && address == "0100007F";
        let own = sockets.iter().any(|socket| Some(&socket.as_str()) == fields.get(9));
        (listens && own).then(|| u16::from_str_radix(port, 16).ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_ourselves() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let usage = Usage::of(std::process::id()).unwrap();
        assert!(usage.memory_bytes > 1_000_000 && usage.peak_memory_bytes >= usage.memory_bytes);
        assert!(usage.threads >= 1 && usage.runnable >= 1);
        assert!(listening_port(std::process::id()).is_some());
        drop(listener);
        assert_eq!(Usage::of(u32::MAX), None);
    }
}
