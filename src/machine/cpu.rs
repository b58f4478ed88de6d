//! The processors: their model, how many of them this process may use, and what determines their speed.

use super::disk::Mount;
use super::{cgroup, number, numbered, text};
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::{Pid, SysconfVar, sysconf};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The processors of a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cpu {
    /// The model name, as the kernel reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The number of CPUs online, counting each hardware thread.
    pub logical_cpus: u32,
    /// The number of CPUs that this process may use, by its affinity and its cpuset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_cpus: Option<u32>,
    /// The number of physical cores online.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores: Option<u32>,
    /// Whether several hardware threads share a core; in a virtual machine, as far as it reveals this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smt: Option<bool>,
    /// The frequency governor; several, separated by commas, when the CPUs differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// The kernel's frequency driver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scaling_driver: Option<String>,
    /// The highest frequency of the fastest CPU in MHz, boost included if the driver reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_mhz: Option<u32>,
    /// Whether the CPUs may exceed their base frequency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boost: Option<bool>,
    /// The highest frequency that the governor may choose, in MHz, where it is lower than the CPU's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_mhz: Option<u32>,
    /// The caches of the first CPU, such as `L1d 32K`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caches: Vec<String>,
    /// The revision of the microcode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub microcode: Option<String>,
    /// The extensions of the instruction set that compilers and libraries choose code by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
    /// What the kernel does about each weakness of the CPU; those that do not affect it are left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mitigations: BTreeMap<String, String>,
    /// The machine name from uname(2), such as `x86_64`.
    pub architecture: String,
    /// The CPU time that the control group may use, as a number of CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cgroup_cpu_limit: Option<f64>,
}

const CPUS: &str = "/sys/devices/system/cpu";
const POLICIES: &str = "/sys/devices/system/cpu/cpufreq";

impl Cpu {
    /// Reads the facts; `machine` is the machine name from uname(2).
    pub(super) fn capture(machine: Option<String>, mounts: &[Mount]) -> Cpu {
        let logical_cpus = online();
        let cores = cores();
        let max_khz = numbered(POLICIES, "policy")
            .iter()
            .filter_map(|policy| number(policy.join("cpuinfo_max_freq")))
            .max();
        Cpu {
            model: text("/proc/cpuinfo").and_then(|text| model(&text)),
            logical_cpus,
            allowed_cpus: allowed(),
            cores,
            smt: flag(format!("{CPUS}/smt/active")).or(cores.map(|cores| logical_cpus > cores)),
            governor: of_policies("scaling_governor"),
            scaling_driver: of_policies("scaling_driver"),
            max_mhz: max_khz.map(|khz: u32| khz / 1000),
            boost: boost(),
            limit_mhz: limit_khz(max_khz).map(|khz| khz / 1000),
            caches: caches(&Path::new(CPUS).join("cpu0/cache")),
            microcode: text("/proc/cpuinfo").and_then(|text| value(&text, "microcode")),
            extensions: text("/proc/cpuinfo").map(|text| extensions(&text)).unwrap_or_default(),
            mitigations: mitigations(&Path::new(CPUS).join("vulnerabilities")),
            // The program's own architecture is also a correct machine name.
            architecture: machine.unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cgroup_cpu_limit: cgroup::lowest(&cgroup::directories("cpu", mounts), group_limit),
        }
    }
}

fn online() -> u32 {
    let count = sysconf(SysconfVar::_NPROCESSORS_ONLN).ok().flatten();
    // At least one CPU is online, since it runs this line.
    count.and_then(|count| u32::try_from(count).ok()).unwrap_or(1).max(1)
}

fn allowed() -> Option<u32> {
    let set = sched_getaffinity(Pid::from_raw(0)).ok()?;
    u32::try_from((0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap_or(false)).count()).ok()
}

/// Returns the number of cores, counted by the sets of sibling threads. Core ids are unique only together
/// with the package, die and cluster.
fn cores() -> Option<u32> {
    let cpus = numbered(CPUS, "cpu");
    let siblings = cpus.iter().filter_map(|cpu| text(cpu.join("topology/thread_siblings_list")));
    let cores: BTreeSet<String> = siblings.collect();
    u32::try_from(cores.len()).ok().filter(|&count| count > 0)
}

/// Returns the values of all frequency policies, each value once.
fn of_policies(file: &str) -> Option<String> {
    let policies = numbered(POLICIES, "policy");
    let answers: BTreeSet<String> = policies.iter().filter_map(|policy| text(policy.join(file))).collect();
    (!answers.is_empty()).then(|| answers.into_iter().collect::<Vec<_>>().join(", "))
}

fn boost() -> Option<bool> {
    let of_a_policy = || numbered(POLICIES, "policy").iter().find_map(|policy| flag(policy.join("boost")));
    let without_turbo = flag(format!("{CPUS}/intel_pstate/no_turbo"));
    without_turbo.map(|off| !off).or_else(|| flag(format!("{POLICIES}/boost"))).or_else(of_a_policy)
}

/// Returns the lowest limit of the governor if it is below the highest frequency.
fn limit_khz(max_khz: Option<u32>) -> Option<u32> {
    let limits =
        numbered(POLICIES, "policy").into_iter().filter_map(|policy| number(policy.join("scaling_max_freq")));
    limits.min().filter(|limit: &u32| max_khz.is_some_and(|max| *limit < max))
}

/// Returns the caches in a directory of a CPU, from the smallest level up.
fn caches(directory: &Path) -> Vec<String> {
    let entries = numbered(&directory.to_string_lossy(), "index");
    let cache = |entry: &PathBuf| {
        let kind = match text(entry.join("type"))?.as_str() {
            "Data" => "d",
            "Instruction" => "i",
            _ => "",
        };
        Some(format!("L{}{kind} {}", text(entry.join("level"))?, text(entry.join("size"))?))
    };
    entries.iter().filter_map(cache).collect()
}

/// Returns the known extensions among the flags of the first CPU.
fn extensions(cpuinfo: &str) -> Vec<String> {
    const KNOWN: &[&str] = &[
        "sse4_2", "popcnt", "avx", "avx2", "bmi1", "bmi2", "fma", "avx512f", "avx512bw", "avx512vl", "erms",
        "fsrm", "sha_ni", "asimd", "crc32", "atomics", "sve", "sve2",
    ];
    let flags = value(cpuinfo, "flags").or_else(|| value(cpuinfo, "Features")).unwrap_or_default();
    let flags: BTreeSet<&str> = flags.split_whitespace().collect();
    KNOWN.iter().filter(|known| flags.contains(**known)).map(ToString::to_string).collect()
}

fn mitigations(directory: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let state = |path: PathBuf| Some((path.file_name()?.to_string_lossy().into_owned(), text(&path)?));
    let all = entries.filter_map(|entry| state(entry.path()));
    all.filter(|(_, state)| state != "Not affected").collect()
}

fn flag(path: impl AsRef<Path>) -> Option<bool> {
    match text(path)?.as_str() {
        "1" => Some(true),
        "0" => Some(false),
        _ => None,
    }
}

/// Returns the limit that one directory of a control group sets, as a number of CPUs.
fn group_limit(directory: &Path) -> Option<f64> {
    let of_version_1 = || {
        let quota = text(directory.join("cpu.cfs_quota_us"))?;
        Some(format!("{quota} {}", text(directory.join("cpu.cfs_period_us"))?))
    };
    quota(&text(directory.join("cpu.max")).or_else(of_version_1)?)
}

/// Parses a quota and its period in µs, as in cpu.max. Without a quota there is `max`, or -1 in version 1.
fn quota(text: &str) -> Option<f64> {
    let (quota, period) = text.split_once(' ')?;
    let (quota, period): (u32, u32) = (quota.parse().ok()?, period.trim().parse().ok()?);
    (period > 0).then(|| f64::from(quota) / f64::from(period))
}

/// Returns the model from /proc/cpuinfo, whose keys differ between architectures.
fn model(cpuinfo: &str) -> Option<String> {
    let value = |wanted: &str| value(cpuinfo, wanted);
    // These are for x86 and 32-bit ARM, MIPS, RISC-V, and POWER.
    let named = ["model name", "cpu model", "uarch", "cpu"].into_iter().find_map(value);
    // 64-bit ARM gives only numbers.
    named.or_else(|| {
        Some(format!("ARM implementer {} part {}", value("CPU implementer")?, value("CPU part")?))
    })
}

/// Returns the first value of this key that is not empty.
fn value(cpuinfo: &str, wanted: &str) -> Option<String> {
    let pairs = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    let mut values = pairs.filter(|(key, _)| key.trim() == wanted).map(|(_, value)| value.trim());
    values.find(|value| !value.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_extensions_and_mitigations_are_read() {
        let folder = tempfile::tempdir().unwrap();
        for (index, kind, level, size) in
            [(0, "Data", 1, "32K"), (1, "Instruction", 1, "64K"), (2, "Unified", 2, "512K")]
        {
            let cache = folder.path().join(format!("index{index}"));
            std::fs::create_dir(&cache).unwrap();
            for (file, text) in
                [("type", kind.to_string()), ("level", level.to_string()), ("size", size.to_string())]
            {
                std::fs::write(cache.join(file), text + "\n").unwrap();
            }
        }
        assert_eq!(caches(folder.path()), ["L1d 32K", "L1i 64K", "L2 512K"]);
        assert_eq!(extensions("flags\t\t: fpu avx2 sse4_2 hypervisor\n"), ["sse4_2", "avx2"]);
        assert_eq!(extensions("Features\t: fp asimd sve\n"), ["asimd", "sve"]);
        let weak = tempfile::tempdir().unwrap();
        std::fs::write(weak.path().join("mds"), "Not affected\n").unwrap();
        std::fs::write(weak.path().join("retbleed"), "Mitigation: untrained return thunk\n").unwrap();
        let found: Vec<_> = mitigations(weak.path()).into_iter().collect();
        assert_eq!(found, [("retbleed".to_string(), "Mitigation: untrained return thunk".to_string())]);
    }

    #[test]
    fn the_model_is_found_on_each_architecture() {
        let x86 =
            "processor\t: 0\nmodel\t\t: 207\nmodel name\t: Intel(R) Xeon(R) Processor\nflags\t\t: fpu\n";
        assert_eq!(model(x86).as_deref(), Some("Intel(R) Xeon(R) Processor"));
        let arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd0c\n";
        assert_eq!(model(arm).as_deref(), Some("ARM implementer 0x41 part 0xd0c"));
        assert_eq!(
            model("cpu\t\t: POWER9 (raw), altivec supported\n").as_deref(),
            Some("POWER9 (raw), altivec supported")
        );
        assert_eq!(model("model name\t:\n\u{fffd}::\nCPU part : 1"), None);
    }

    #[test]
    fn a_quota_is_given_in_cpus() {
        assert_eq!(quota("150000 100000"), Some(1.5));
        assert_eq!(quota("max 100000"), None);
        assert_eq!(quota("-1 100000"), None);
        assert_eq!(quota("100000 0"), None);
        assert_eq!(quota("100000"), None);
    }

    #[test]
    fn a_group_is_read_in_both_versions() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(group_limit(directory.path()), None);
        std::fs::write(directory.path().join("cpu.cfs_quota_us"), "50000\n").unwrap();
        assert_eq!(group_limit(directory.path()), None);
        std::fs::write(directory.path().join("cpu.cfs_period_us"), "100000\n").unwrap();
        assert_eq!(group_limit(directory.path()), Some(0.5));
        std::fs::write(directory.path().join("cpu.max"), "200000 100000\n").unwrap();
        assert_eq!(group_limit(directory.path()), Some(2.0));
    }

    #[test]
    fn this_machine_has_a_cpu() {
        let cpu = Cpu::capture(None, &[]);
        assert_eq!(cpu.architecture, std::env::consts::ARCH);
        assert!(cpu.allowed_cpus.is_none_or(|count| 1 <= count && count <= cpu.logical_cpus));
        assert_eq!(cpu.cgroup_cpu_limit, None);
    }
}
