//! What else the machine is doing: its counters at one moment, and the activity between two of them.

mod clocks;

pub use clocks::Clocks;

use super::memory::meminfo_bytes;
use super::speed::{Speed, Speeds};
use super::{number, numbered, text};
use nix::unistd::{SysconfVar, sysconf};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// The activity of the whole machine at one moment. Counters start at boot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Snapshot {
    /// When the snapshot was taken, by the monotonic clock; not stored, because it means nothing to another
    /// process.
    #[serde(skip)]
    pub taken: Option<Instant>,
    /// The clocks of the kernel; not stored for the same reason.
    #[serde(skip)]
    pub clocks: Option<Clocks>,
    /// The load averages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
    /// How long some task waited for a CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_pressure: Option<Pressure>,
    /// How long some task waited for a disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_pressure: Option<Pressure>,
    /// How long some task waited for memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_pressure: Option<Pressure>,
    /// How the CPUs spent their time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_time: Option<CpuTime>,
    /// The number of tasks that were running or ready to run, including this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runnable: Option<u32>,
    /// How often a core was slowed down because it was hot; each hardware thread counts its core.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttle_events: Option<u64>,
    /// The memory that programs could use without swapping, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_bytes: Option<u64>,
    /// The swap space in use, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swap_used_bytes: Option<u64>,
}

/// The average number of tasks that were running, ready to run or waiting for a disk.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    /// The average over one minute.
    pub one: f64,
    /// The average over five minutes.
    pub five: f64,
    /// The average over fifteen minutes.
    pub fifteen: f64,
}

impl Load {
    /// Returns the current load averages of the kernel.
    pub fn now() -> Option<Load> {
        parse_load(&text("/proc/loadavg")?)
    }
}

/// The `some` line of a pressure file (PSI).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pressure {
    /// The share of the last ten seconds, in per cent.
    pub avg10: f64,
    /// The time since boot, in µs.
    pub total_us: u64,
}

/// The time of all CPUs together in ms, in steps of the kernel's tick (usually 10 ms).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuTime {
    /// The time in programs, including guests and programs with a nice value, in ms.
    pub user_ms: u64,
    /// The time in the kernel, including interrupts, in ms.
    pub system_ms: u64,
    /// The time without anything to do, in ms.
    pub idle_ms: u64,
    /// The time without anything to do except wait for a disk, in ms.
    pub iowait_ms: u64,
    /// The time that the hypervisor gave to others, in ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steal_ms: Option<u64>,
}

/// What happened between two snapshots.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Activity {
    /// The monotonic time between them in ms; unknown for a snapshot that was read from a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
    /// The time of all CPUs that the hypervisor gave to others, in ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steal_ms: Option<u64>,
    /// How long some task waited for a CPU, in µs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_pressure_us: Option<u64>,
    /// How long some task waited for a disk, in µs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_pressure_us: Option<u64>,
    /// How long some task waited for memory, in µs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_pressure_us: Option<u64>,
    /// The time of all CPUs in programs and the kernel in ms, including what was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy_ms: Option<u64>,
    /// How often a core was slowed down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttle_events: Option<u64>,
    /// How far the wall clock moved against the monotonic clock, in µs: it was stepped, forward if positive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_step_us: Option<i64>,
    /// How far the monotonic clock moved against the unadjusted one, in µs: it was slewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_slew_us: Option<i64>,
    /// How long the machine slept, in µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asleep_us: Option<i64>,
    /// How fast the machine was before and after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<Speeds>,
}

/// Watches the machine during a run.
pub struct Watch {
    speed: Speed,
    before: Snapshot,
}

impl Watch {
    /// Begins to watch, right before a run.
    pub fn begin() -> Watch {
        let speed = Speed::measure();
        Watch { speed, before: Snapshot::take() }
    }

    /// Returns what happened since the beginning, right after the run.
    pub fn end(self) -> Activity {
        let activity = Activity::between(&self.before, &Snapshot::take());
        let speed = Speeds { before: self.speed, after: Speed::measure() };
        Activity { speed: Some(speed), ..activity }
    }
}

impl Snapshot {
    /// Reads everything now, which takes well under a millisecond on a small machine.
    pub fn take() -> Snapshot {
        let stat = text("/proc/stat").unwrap_or_default();
        let meminfo = text("/proc/meminfo").unwrap_or_default();
        let pressure = |of: &str| text(format!("/proc/pressure/{of}")).and_then(|text| parse_pressure(&text));
        let swap = |name| meminfo_bytes(&meminfo, name);
        Snapshot {
            taken: Some(Instant::now()),
            clocks: Clocks::read(),
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
    /// Returns the changes from `before` to `after`. A counter that ran backwards counts as unchanged.
    pub fn between(before: &Snapshot, after: &Snapshot) -> Activity {
        let grown = |count: fn(&Snapshot) -> Option<u64>| Some(count(after)?.saturating_sub(count(before)?));
        let wall =
            before.taken.zip(after.taken).map(|(before, after)| after.saturating_duration_since(before));
        let clocks = before.clocks.as_ref().zip(after.clocks.as_ref());
        let moved = |of: fn(&Clocks) -> i64| clocks.map(|(before, after)| of(after) - of(before));
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
            clock_step_us: moved(|clocks| clocks.step_us()),
            clock_slew_us: moved(|clocks| clocks.slew_us()),
            asleep_us: moved(|clocks| clocks.asleep_us()),
            speed: None,
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

/// Parses the first line of /proc/stat. The time of guests is part of the user time.
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
