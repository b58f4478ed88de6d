//! Findings about what the machine is doing now: load, pressure, steal, heat and memory.

use super::super::noise::{Load, Pressure, Snapshot};
use super::super::{Host, advice::Finding};

/// The load per CPU above which other programs use a good part of the machine. Below it there is room for
/// daemons and for the start of this program.
const LOAD_PER_CPU: f64 = 0.3;
/// The largest pressure in per cent over ten seconds. An interval of ±1 % allows only small, rare waits.
const PRESSURE_PERCENT: f64 = 5.0;
/// The largest share of steal in the CPU time since boot: what citation grade allows for the whole interval,
/// ±1 %.
const STEAL_SHARE: f64 = 0.01;
/// The smallest amount of available memory. Below it the kernel drops cached files, and steps that read them
/// access the disk.
const MEMORY_BYTES: u64 = 1 << 30;
/// The largest amount of swap in use. Pages that were never needed again are swapped out on any machine; more
/// points to a shortage.
const SWAP_BYTES: u64 = 64 << 20;

pub(super) fn examine(host: &Host, now: &Snapshot) -> Vec<Finding> {
    let checks = [
        now.load.map(|load| check_load(load, host.cpu.logical_cpus)),
        now.cpu_pressure.map(|pressure| check_pressure("a CPU", pressure)),
        now.io_pressure.map(|pressure| check_pressure("a disk", pressure)),
        now.memory_pressure.map(|pressure| check_pressure("memory", pressure)),
        steal(now),
        throttling(now),
        memory(host, now),
        swap(now),
    ];
    checks.into_iter().flatten().collect()
}

fn check_load(load: Load, cpus: u32) -> Finding {
    let what = format!("the load average is {:.2} on {cpus} CPUs", load.one);
    if load.one <= LOAD_PER_CPU * f64::from(cpus) {
        return Finding::ok(what);
    }
    Finding::warning(
        what,
        "Run `top` to see what is running, stop it, and wait two minutes for the average to fall",
    )
}

fn check_pressure(resource: &str, pressure: Pressure) -> Finding {
    let what = format!("tasks waited for {resource} {:.1} % of the last 10 s", pressure.avg10);
    if pressure.avg10 <= PRESSURE_PERCENT {
        return Finding::ok(what);
    }
    Finding::warning(what, "Run `top` and `iotop` to see what is running, and stop it or wait for it")
}

fn steal(now: &Snapshot) -> Option<Finding> {
    let time = now.cpu_time?;
    let steal = time.steal_ms? as f64;
    let others = [time.user_ms, time.system_ms, time.idle_ms, time.iowait_ms];
    let all = steal + others.into_iter().map(|ms| ms as f64).sum::<f64>();
    if steal == 0.0 {
        return Some(Finding::ok("no steal time since boot"));
    }
    let what = format!("the hypervisor took {:.2} % of the CPU time since boot", 100.0 * steal / all);
    let advice = "Move to a machine with dedicated CPUs, or repeat at a quieter time";
    Some(if steal / all > STEAL_SHARE { Finding::warning(what, advice) } else { Finding::note(what, advice) })
}

fn throttling(now: &Snapshot) -> Option<Finding> {
    let events = now.throttle_events?;
    if events == 0 {
        return Some(Finding::ok("no CPU was slowed down by heat since boot"));
    }
    let what = format!("CPUs were slowed down by heat {events} times since boot");
    Some(Finding::warning(
        what,
        "Improve the cooling, switch off boost, and pause between runs (--cooldown); plug a laptop in",
    ))
}

fn memory(host: &Host, now: &Snapshot) -> Option<Finding> {
    // Free memory of the machine is of no use beyond the limit of the control group.
    let usable = now.available_bytes.into_iter().chain(host.memory.cgroup_limit_bytes).min()?;
    let what = format!("{} MiB of memory are available", usable >> 20);
    if usable >= MEMORY_BYTES {
        return Some(Finding::ok(what));
    }
    Some(Finding::warning(what, "Close other programs, or raise the limit of the control group"))
}

fn swap(now: &Snapshot) -> Option<Finding> {
    let used = now.swap_used_bytes?;
    if used <= SWAP_BYTES {
        return Some(Finding::ok("little or no swap is in use"));
    }
    let what = format!("{} MiB of swap are in use", used >> 20);
    Some(Finding::note(what, "If enough memory is free: sudo swapoff -a && sudo swapon -a"))
}

#[cfg(test)]
mod tests {
    use super::super::super::noise::CpuTime;
    use super::super::Severity::{Note, Ok, Warning};
    use super::super::tests::{good_host, worst};
    use super::*;

    fn quiet() -> Snapshot {
        let pressure = Some(Pressure { avg10: 5.0, total_us: 1 });
        let cpu_time =
            CpuTime { user_ms: 500, system_ms: 100, idle_ms: 9000, iowait_ms: 0, steal_ms: Some(0) };
        Snapshot {
            load: Some(Load { one: 2.4, five: 9.0, fifteen: 9.0 }),
            cpu_pressure: pressure,
            io_pressure: pressure,
            memory_pressure: pressure,
            cpu_time: Some(cpu_time),
            throttle_events: Some(0),
            available_bytes: Some(MEMORY_BYTES),
            swap_used_bytes: Some(SWAP_BYTES),
            ..Snapshot::default()
        }
    }

    fn after(change: impl Fn(&mut Snapshot)) -> (super::super::Severity, String) {
        let mut now = quiet();
        change(&mut now);
        worst(&examine(&good_host(), &now))
    }

    fn stolen(steal_ms: u64) -> impl Fn(&mut Snapshot) {
        move |now| now.cpu_time = now.cpu_time.map(|time| CpuTime { steal_ms: Some(steal_ms), ..time })
    }

    #[test]
    fn at_the_thresholds_all_is_well() {
        assert_eq!(after(|_| ()).0, Ok);
        assert_eq!(examine(&good_host(), &quiet()).len(), 8);
        assert_eq!(examine(&good_host(), &Snapshot::default()), []);
    }

    #[test]
    fn each_fault_is_found() {
        let pressure = Some(Pressure { avg10: 5.1, total_us: 1 });
        let faults = [
            (
                after(|now| now.load = Some(Load { one: 2.5, five: 0.0, fifteen: 0.0 })),
                Warning,
                "2.50 on 8 CPUs",
            ),
            (after(|now| now.cpu_pressure = pressure), Warning, "waited for a CPU 5.1 %"),
            (after(|now| now.io_pressure = pressure), Warning, "waited for a disk 5.1 %"),
            (after(|now| now.memory_pressure = pressure), Warning, "waited for memory 5.1 %"),
            (after(stolen(9)), Note, "took 0.09 %"),
            (after(stolen(400)), Warning, "took 4.00 %"),
            (after(|now| now.throttle_events = Some(3)), Warning, "3 times"),
            (after(|now| now.available_bytes = Some(MEMORY_BYTES - 1)), Warning, "1023 MiB"),
            (after(|now| now.swap_used_bytes = Some(65 << 20)), Note, "65 MiB of swap"),
        ];
        for ((severity, what), expected, part) in faults {
            assert_eq!(severity, expected, "{what}");
            assert!(what.contains(part), "{what:?} lacks {part:?}");
        }
    }

    #[test]
    fn the_limit_of_the_group_counts_as_memory() {
        let mut host = good_host();
        host.memory.cgroup_limit_bytes = Some(512 << 20);
        let finding = memory(&host, &quiet()).map(|finding| (finding.severity, finding.what));
        assert_eq!(finding, Some((Warning, "512 MiB of memory are available".to_owned())));
    }
}
