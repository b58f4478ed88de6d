//! Findings about what the machine is: its CPUs, its clock, and whether others share it.

use super::super::cpu::Cpu;
use super::super::virtualisation::NONE_SEEN;
use super::super::{Host, advice::Finding};

/// The number of CPUs that suffices: one for the tool, and one for the observer that stamps its output.
const ENOUGH_CPUS: u32 = 2;

pub(super) fn examine(host: &Host) -> Vec<Finding> {
    let cpu = &host.cpu;
    let checks = [
        Some(governor(cpu)),
        boost(cpu),
        smt(cpu),
        allowed(cpu),
        limit(cpu),
        virtualisation(host),
        clock(host),
    ];
    checks.into_iter().flatten().collect()
}

fn governor(cpu: &Cpu) -> Finding {
    match cpu.governor.as_deref() {
        Some("performance") => Finding::ok("the frequency governor is performance"),
        Some(other) => Finding::warning(
            format!(
                "the frequency governor is {other}: the first rows run while the CPU is still speeding up"
            ),
            "sudo cpupower frequency-set -g performance",
        ),
        None => Finding::note(
            "the frequency of the CPU is not visible here: it may change unseen",
            "Take at least 6 runs and compare only runs that were interleaved; on your own machine, load \
             its cpufreq driver",
        ),
    }
}

fn boost(cpu: &Cpu) -> Option<Finding> {
    if !cpu.boost? {
        return Some(Finding::ok("boost is off"));
    }
    let intel = cpu.scaling_driver.as_deref().is_some_and(|driver| driver.contains("intel_pstate"));
    let advice = if intel {
        "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"
    } else {
        "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"
    };
    let what = "boost is on: the frequency depends on the temperature and on how many cores are busy";
    Some(Finding::note(what, advice))
}

fn smt(cpu: &Cpu) -> Option<Finding> {
    if !cpu.smt? {
        return Some(Finding::ok("no SMT was found"));
    }
    let what = "SMT is on: work on one thread of a core slows down the other";
    Some(Finding::note(what, "echo off | sudo tee /sys/devices/system/cpu/smt/control"))
}

fn allowed(cpu: &Cpu) -> Option<Finding> {
    let allowed = cpu.allowed_cpus?;
    if allowed >= ENOUGH_CPUS {
        return Some(Finding::ok(format!("{allowed} of {} CPUs may be used", cpu.logical_cpus)));
    }
    let what =
        format!("only {allowed} CPU may be used: the tool shares it with the process that observes it");
    Some(Finding::warning(
        what,
        "Allow at least 2 CPUs (taskset, docker --cpuset-cpus, the size of the virtual machine)",
    ))
}

fn limit(cpu: &Cpu) -> Option<Finding> {
    let limit = cpu.cgroup_cpu_limit?;
    let what =
        format!("the control group may use {limit:.2} CPUs: beyond that, it has to wait for the next period");
    let advice = "Run outside the limited group (docker --cpus, Kubernetes limits, systemd CPUQuota), or \
                  raise the limit";
    let enough = limit >= f64::from(ENOUGH_CPUS);
    Some(if enough { Finding::note(what, advice) } else { Finding::warning(what, advice) })
}

fn virtualisation(host: &Host) -> Option<Finding> {
    let seen = host.virtualisation.as_deref()?;
    if seen == NONE_SEEN {
        return Some(Finding::ok("no hypervisor or container was found"));
    }
    if !seen.contains("virtual machine") {
        let advice = "Check its limits, and that the temporary directory is a volume";
        return Some(Finding::note(format!("this is a {seen}"), advice));
    }
    let advice =
        "Watch the steal time of each run, repeat at another time, and prefer dedicated CPUs or bare metal";
    Some(Finding::note(format!("this is a {seen}: neighbours may take CPU time and cache"), advice))
}

fn clock(host: &Host) -> Option<Finding> {
    let source = host.clock_source.as_deref()?;
    let what = format!("the clock source is {source}");
    // Other architectures have only one source, and it is good.
    if source == "tsc" || host.cpu.architecture != "x86_64" {
        return Some(Finding::ok(what));
    }
    // These sources are read without a system call, too.
    let fast = matches!(source, "kvm-clock" | "hyperv_clocksource_tsc_page");
    Some(if fast {
        Finding::note(
            format!("{what}, which the hypervisor provides"),
            "Boot with clocksource=tsc if the host keeps it stable",
        )
    } else {
        Finding::warning(
            format!("{what}: each reading of the time is a slow system call"),
            "Run `dmesg | grep -i tsc` to see why the kernel gave up tsc; boot with \
             clocksource=tsc if it is stable",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::Severity::{Note, Ok, Warning};
    use super::super::tests::{good_host, worst};
    use super::*;

    fn after(change: impl Fn(&mut Host)) -> (super::super::Severity, String) {
        let mut host = good_host();
        change(&mut host);
        worst(&examine(&host))
    }

    #[test]
    fn a_good_machine_is_ok_in_all_it_tells() {
        assert_eq!(after(|_| ()).0, Ok);
        assert_eq!(examine(&good_host()).len(), 6);
    }

    #[test]
    fn each_fault_is_found() {
        let text = |text: &str| Some(text.to_owned());
        let faults = [
            (after(|host| host.cpu.governor = text("powersave")), Warning, "governor is powersave"),
            (after(|host| host.cpu.governor = None), Note, "not visible"),
            (after(|host| host.cpu.boost = Some(true)), Note, "boost is on"),
            (after(|host| host.cpu.smt = Some(true)), Note, "SMT is on"),
            (after(|host| host.cpu.allowed_cpus = Some(1)), Warning, "only 1 CPU"),
            (after(|host| host.cpu.cgroup_cpu_limit = Some(1.5)), Warning, "1.50 CPUs"),
            (after(|host| host.cpu.cgroup_cpu_limit = Some(4.0)), Note, "4.00 CPUs"),
            (
                after(|host| host.virtualisation = text("KVM virtual machine")),
                Note,
                "a KVM virtual machine: neigh",
            ),
            (after(|host| host.virtualisation = text("container (lxc)")), Note, "a container (lxc)"),
            (after(|host| host.clock_source = text("hpet")), Warning, "hpet: each reading"),
            (after(|host| host.clock_source = text("kvm-clock")), Note, "kvm-clock"),
        ];
        for ((severity, what), expected, part) in faults {
            assert_eq!(severity, expected, "{what}");
            assert!(what.contains(part), "{what:?} lacks {part:?}");
        }
    }

    #[test]
    fn what_is_unknown_is_left_out() {
        let mut host = good_host();
        host.cpu = Cpu { boost: None, smt: None, allowed_cpus: None, ..host.cpu };
        (host.virtualisation, host.clock_source) = (None, None);
        assert_eq!(examine(&host), [governor(&host.cpu)]);
    }

    #[test]
    fn boost_is_switched_off_where_the_driver_keeps_it() {
        let advice = |driver: &str| {
            let cpu = Cpu { boost: Some(true), scaling_driver: Some(driver.to_owned()), ..good_host().cpu };
            boost(&cpu).and_then(|finding| finding.advice).unwrap_or_default()
        };
        assert!(advice("intel_pstate").contains("no_turbo"));
        assert!(advice("acpi-cpufreq").contains("cpufreq/boost"));
    }
}
