//! What else the machine does: its counters at one moment, and what two of them tell of the time between.

use super::memory::meminfo_bytes;
use super::{number, numbered, text};
use nix::unistd::{SysconfVar, sysconf};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// The whole machine's activity at one moment. Counters run since boot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Snapshot {
    /// When, by the monotonic clock; not written, since it means nothing to another process.
    #[serde(skip)]
    pub taken: Option<Instant>,
    /// Load averages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
    /// Time that some task waited for a CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_pressure: Option<Pressure>,
    /// Time that some task waited for a disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_pressure: Option<Pressure>,
    /// Time that some task waited for memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_pressure: Option<Pressure>,
    /// How the CPUs spent their time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_time: Option<CpuTime>,
    /// Tasks that run or could run, this one included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runnable: Option<u32>,
    /// Times that a core was slowed down because it was hot; each hardware thread counts its core.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttle_events: Option<u64>,
    /// Memory that programs could have without swapping, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_bytes: Option<u64>,
    /// Swap space in use, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swap_used_bytes: Option<u64>,
}

/// Tasks that ran, could run or waited for a disk, on average.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    /// Over one minute.
    pub one: f64,
    /// Over five minutes.
    pub five: f64,
    /// Over fifteen minutes.
    pub fifteen: f64,
}

impl Load {
    /// As the kernel has it now.
    pub fn now() -> Option<Load> {
        parse_load(&text("/proc/loadavg")?)
    }
}

/// The `some` line of a pressure file (PSI).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pressure {
    /// Share of the last ten seconds, percent.
    pub avg10: f64,
    /// Since boot, µs.
    pub total_us: u64,
}

/// Time of all CPUs together, ms, in steps of the kernel's tick (mostly 10 ms).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuTime {
    /// In programs, guests and nice ones included, ms.
    pub user_ms: u64,
    /// In the kernel, interrupts included, ms.
    pub system_ms: u64,
    /// With nothing to do, ms.
    pub idle_ms: u64,
    /// With nothing to do but wait for a disk, ms.
    pub iowait_ms: u64,
    /// Taken by the hypervisor for others, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steal_ms: Option<u64>,
}

/// What happened between two snapshots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Activity {
    /// Monotonic time between them, ms; unknown for a snapshot that was read from a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
    /// Taken by the hypervisor, all CPUs, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steal_ms: Option<u64>,
    /// Some task waited for a CPU, µs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_pressure_us: Option<u64>,
    /// Some task waited for a disk, µs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_pressure_us: Option<u64>,
    /// Some task waited for memory, µs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_pressure_us: Option<u64>,
    /// In programs and the kernel, all CPUs, ms; what was measured is part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy_ms: Option<u64>,
    /// Times that a core was slowed down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttle_events: Option<u64>,
}

impl Snapshot {
    /// Reads everything now; takes well under a millisecond on a small machine.
    pub fn take() -> Snapshot {
        let stat = text("/proc/stat").unwrap_or_default();
        let meminfo = text("/proc/meminfo").unwrap_or_default();
        let pressure = |of: &str| text(format!("/proc/pressure/{of}")).and_then(|text| parse_pressure(&text));
        let swap = |name| meminfo_bytes(&meminfo, name);
        Snapshot {
            taken: Some(Instant::now()),
            load: Load::now(),
            cpu_pressure: pressure("cpu"),
            io_pressure: pressure("io"),
            memory_pressure: pressure("memory"),
            cpu_time: ticks_per_second().and_then(|ticks| parse_cpu_time(&stat, ticks)),
            runnable: stat.lines().find_map(|line| line.strip_prefix("procs_running ")?.trim().parse().ok()),
            throttle_events: throttle_events(),
            available_bytes: meminfo_bytes(&meminfo, "MemAvailable"),
            swap_used_bytes: swap("SwapTotal")
                .zip(swap("SwapFree"))
                .map(|(total, free)| total.saturating_sub(free)),
        }
    }
}

impl Activity {
    /// What changed from `before` to `after`. A counter that ran backwards counts as unchanged.
    pub fn between(before: &Snapshot, after: &Snapshot) -> Activity {
        let grown = |count: fn(&Snapshot) -> Option<u64>| Some(count(after)?.saturating_sub(count(before)?));
        let wall =
            before.taken.zip(after.taken).map(|(before, after)| after.saturating_duration_since(before));
        Activity {
            wall_ms: wall.and_then(|wall| u64::try_from(wall.as_millis()).ok()),
            steal_ms: grown(|snapshot| snapshot.cpu_time?.steal_ms),
            cpu_pressure_us: grown(|snapshot| Some(snapshot.cpu_pressure?.total_us)),
            io_pressure_us: grown(|snapshot| Some(snapshot.io_pressure?.total_us)),
            memory_pressure_us: grown(|snapshot| Some(snapshot.memory_pressure?.total_us)),
            busy_ms: grown(|snapshot| {
                snapshot.cpu_time.map(|time| time.user_ms.saturating_add(time.system_ms))
            }),
            throttle_events: grown(|snapshot| snapshot.throttle_events),
        }
    }
}

fn ticks_per_second() -> Option<u64> {
    sysconf(SysconfVar::CLK_TCK).ok().flatten().and_then(|ticks| u64::try_from(ticks).ok())
}

fn throttle_events() -> Option<u64> {
    let cpus = numbered("/sys/devices/system/cpu", "cpu");
    let counts = cpus.iter().filter_map(|cpu| number(cpu.join("thermal_throttle/core_throttle_count")));
    counts.reduce(u64::saturating_add)
}

fn share(text: &str) -> Option<f64> {
    text.parse().ok().filter(|share: &f64| share.is_finite() && *share >= 0.0)
}

fn parse_load(loadavg: &str) -> Option<Load> {
    let mut fields = loadavg.split_whitespace().map(share);
    Some(Load { one: fields.next()??, five: fields.next()??, fifteen: fields.next()?? })
}

fn parse_pressure(pressure: &str) -> Option<Pressure> {
    let some = pressure.lines().find_map(|line| line.strip_prefix("some "))?;
    let value =
        |name: &str| some.split_whitespace().find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
    Some(Pressure { avg10: share(value("avg10")?)?, total_us: value("total")?.parse().ok()? })
}

/// The first line of /proc/stat. Guests are in the user time already.
fn parse_cpu_time(stat: &str, ticks_per_second: u64) -> Option<CpuTime> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks = line.split_whitespace().map(|field| field.parse::<u64>().ok()).collect::<Option<Vec<_>>>()?;
    let ms = |fields: &[usize]| {
        let sum = fields.iter().try_fold(0_u64, |sum, &field| sum.checked_add(*ticks.get(field)?))?;
        sum.checked_mul(1000)?.checked_div(ticks_per_second)
    };
    let [user_ms, system_ms, idle_ms, iowait_ms] = [ms(&[0, 1])?, ms(&[2, 5, 6])?, ms(&[3])?, ms(&[4])?];
    Some(CpuTime { user_ms, system_ms, idle_ms, iowait_ms, steal_ms: ms(&[7]) })
}

#[cfg(test)]
mod tests;
