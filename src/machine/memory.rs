//! The memory of the machine, and how much of it this process may use.

use super::disk::Mount;
use super::{cgroup, number, text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Sizes of the memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Memory {
    /// The memory of the machine, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_bytes: Option<u64>,
    /// The swap space, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swap_bytes: Option<u64>,
    /// The most that the control group may use, in bytes; absent unless it is less than the memory of the
    /// machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cgroup_limit_bytes: Option<u64>,
}

impl Memory {
    pub(super) fn capture(mounts: &[Mount]) -> Memory {
        let meminfo = text("/proc/meminfo").unwrap_or_default();
        let total_bytes = meminfo_bytes(&meminfo, "MemTotal");
        let limit = cgroup::lowest(&cgroup::directories("memory", mounts), group_limit);
        Memory {
            total_bytes,
            swap_bytes: meminfo_bytes(&meminfo, "SwapTotal"),
            cgroup_limit_bytes: real_limit(limit, total_bytes),
        }
    }
}

/// Returns the memory that the machine still has available, in bytes.
pub fn available_bytes() -> Option<u64> {
    meminfo_bytes(&text("/proc/meminfo")?, "MemAvailable")
}

/// Returns the limit that one directory of a control group sets; version 2 writes `max` for no limit.
fn group_limit(directory: &Path) -> Option<u64> {
    number(directory.join("memory.max")).or_else(|| number(directory.join("memory.limit_in_bytes")))
}

/// Returns a limit unless it exceeds the memory; version 1 writes a huge number for no limit.
fn real_limit(limit: Option<u64>, total: Option<u64>) -> Option<u64> {
    limit.filter(|&limit| limit < total.unwrap_or(1 << 60))
}

/// Returns the value of a line of /proc/meminfo in bytes; the file counts in KiB.
pub(super) fn meminfo_bytes(meminfo: &str, name: &str) -> Option<u64> {
    let value = meminfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_bytes() {
        let meminfo = "MemTotal:       24684084 kB\nMemAvailable:   oops kB\n\
                       SwapTotal:             0 kB\nHugePages_Total: 3\n";
        assert_eq!(meminfo_bytes(meminfo, "MemTotal"), Some(25_276_502_016));
        assert_eq!(meminfo_bytes(meminfo, "SwapTotal"), Some(0));
        assert_eq!(meminfo_bytes(meminfo, "MemAvailable"), None);
        assert_eq!(meminfo_bytes(meminfo, "HugePages_Total"), None);
        assert_eq!(meminfo_bytes(meminfo, "Swap"), None);
        assert_eq!(meminfo_bytes("MemTotal: 18446744073709551615 kB", "MemTotal"), None);
    }

    #[test]
    fn only_a_real_limit_counts() {
        assert_eq!(real_limit(Some(1000), Some(2000)), Some(1000));
        assert_eq!(real_limit(Some(2000), Some(2000)), None);
        assert_eq!(real_limit(Some(9_223_372_036_854_771_712), None), None);
        assert_eq!(real_limit(None, Some(2000)), None);
    }

    #[test]
    fn a_group_is_read_in_both_versions() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(group_limit(directory.path()), None);
        std::fs::write(directory.path().join("memory.max"), "max\n").unwrap();
        assert_eq!(group_limit(directory.path()), None);
        std::fs::write(directory.path().join("memory.max"), "1073741824\n").unwrap();
        assert_eq!(group_limit(directory.path()), Some(1 << 30));
    }
}
