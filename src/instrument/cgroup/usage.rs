//! What the kernel counts for a group.

use super::hierarchy::Version;
use std::fs::read_to_string;
use std::path::Path;

/// The memory of a group, and the effects of its limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Everything that is charged, in bytes: page cache, anonymous memory, and the kernel's memory for them.
    pub current_bytes: u64,
    /// The largest amount ever charged, in bytes.
    pub peak_bytes: Option<u64>,
    /// The cached pages of files, in bytes, without shared memory.
    pub page_cache_bytes: u64,
    /// The memory that is not backed by a file, in bytes.
    pub anonymous_bytes: u64,
    /// The number of page faults that needed a disk.
    pub major_faults: Option<u64>,
    /// The number of file pages that were read again because the limit had evicted them.
    pub refaults: Option<u64>,
    /// How often the limit was reached and pages had to be evicted.
    pub limit_hits: Option<u64>,
    /// The number of processes that the kernel killed because nothing could be evicted.
    pub oom_kills: Option<u64>,
}

impl Usage {
    /// Reads the usage of the group in `directory`; returns `None` when it is gone.
    pub(super) fn read(directory: &Path, version: Version) -> Option<Usage> {
        match version {
            Version::One => read_1(directory),
            Version::Two => read_2(directory),
        }
    }
}

fn read_1(directory: &Path) -> Option<Usage> {
    let number = |name: &str| read_to_string(directory.join(name)).ok()?.trim().parse::<u64>().ok();
    let stat = read_to_string(directory.join("memory.stat")).ok()?;
    // This includes the groups below, if the kernel reports them separately.
    let total = |name: &str| value(&stat, &format!("total_{name}")).or_else(|| value(&stat, name));
    let oom = read_to_string(directory.join("memory.oom_control")).unwrap_or_default();
    // If memory has the same limit with and without swap, the limit with swap is the one that is hit.
    let hits = [number("memory.failcnt"), number("memory.memsw.failcnt")];
    Some(Usage {
        current_bytes: number("memory.usage_in_bytes")?,
        peak_bytes: number("memory.max_usage_in_bytes"),
        page_cache_bytes: total("cache")?.saturating_sub(total("shmem").unwrap_or(0)),
        anonymous_bytes: total("rss")?,
        major_faults: total("pgmajfault"),
        refaults: total("workingset_refault_file").or_else(|| total("workingset_refault")),
        limit_hits: hits.into_iter().flatten().reduce(u64::saturating_add),
        oom_kills: value(&oom, "oom_kill"),
    })
}

fn read_2(directory: &Path) -> Option<Usage> {
    let text = |name: &str| read_to_string(directory.join(name)).ok();
    let number = |name: &str| text(name)?.trim().parse::<u64>().ok();
    let stat = text("memory.stat")?;
    let events = text("memory.events").unwrap_or_default();
    Some(Usage {
        current_bytes: number("memory.current")?,
        peak_bytes: number("memory.peak"),
        page_cache_bytes: value(&stat, "file")?.saturating_sub(value(&stat, "shmem").unwrap_or(0)),
        anonymous_bytes: value(&stat, "anon")?,
        major_faults: value(&stat, "pgmajfault"),
        refaults: value(&stat, "workingset_refault_file").or_else(|| value(&stat, "workingset_refault")),
        limit_hits: value(&events, "max"),
        oom_kills: value(&events, "oom_kill"),
    })
}

/// Returns the number after `name` in lines that each consist of a name and a number.
fn value(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::write;

    #[test]
    fn version_1() {
        let group = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| write(group.path().join(name), text).unwrap();
        assert_eq!(Usage::read(group.path(), Version::One), None);
        let stat = "cache 1\nrss 2\ntotal_cache 4096\ntotal_rss 200\ntotal_rss_huge 9\ntotal_shmem 96\n\
                    total_workingset_refault_file 34997\ntotal_pgmajfault 7\n";
        file("memory.stat", stat);
        file("memory.usage_in_bytes", "5000\n");
        file("memory.max_usage_in_bytes", "6000\n");
        file("memory.failcnt", "3\n");
        file("memory.memsw.failcnt", "40\n");
        file("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
        let expected = Usage {
            current_bytes: 5000,
            peak_bytes: Some(6000),
            page_cache_bytes: 4000,
            anonymous_bytes: 200,
            major_faults: Some(7),
            refaults: Some(34997),
            limit_hits: Some(43),
            oom_kills: Some(1),
        };
        assert_eq!(Usage::read(group.path(), Version::One), Some(expected));
    }

    #[test]
    fn version_2_of_an_old_kernel() {
        let group = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| write(group.path().join(name), text).unwrap();
        file("memory.stat", "anon 10\nfile 300\nshmem 100\nfile_mapped 5\npgmajfault 2\n");
        file("memory.current", "400\n");
        file("memory.events", "low 0\nhigh 0\nmax 12\noom 1\noom_kill 1\n");
        let expected = Usage {
            current_bytes: 400,
            peak_bytes: None,
            page_cache_bytes: 200,
            anonymous_bytes: 10,
            major_faults: Some(2),
            refaults: None,
            limit_hits: Some(12),
            oom_kills: Some(1),
        };
        assert_eq!(Usage::read(group.path(), Version::Two), Some(expected));
        file("memory.stat", "anon many\nfile\n");
        assert_eq!(Usage::read(group.path(), Version::Two), None);
    }
}
