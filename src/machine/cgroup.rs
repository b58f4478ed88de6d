//! Finds the limits of this process's own control group, in versions 1 and 2 and from inside a container.

use super::disk::Mount;
use std::path::{Component, Path, PathBuf};

/// Returns the directories of this process's group under `controller`, innermost first. The limits of every
/// level apply, so the outer ones are included as far as they are mounted.
pub(super) fn directories(controller: &str, mounts: &[Mount]) -> Vec<PathBuf> {
    let groups = super::text("/proc/self/cgroup").unwrap_or_default();
    directories_in(controller, &groups, mounts)
}

/// Returns the lowest limit that `read` finds in `directories`.
pub(super) fn lowest<T: PartialOrd>(directories: &[PathBuf], read: impl Fn(&Path) -> Option<T>) -> Option<T> {
    directories.iter().filter_map(|directory| read(directory)).reduce(|a, b| if b < a { b } else { a })
}

fn directories_in(controller: &str, groups: &str, mounts: &[Mount]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for (controllers, group) in groups.lines().filter_map(parse_group) {
        let unified = controllers.is_empty();
        if !unified && !controllers.split(',').any(|name| name == controller) {
            continue;
        }
        let serves = |mount: &&Mount| match mount.kind.as_str() {
            "cgroup2" => unified,
            "cgroup" => !unified && mount.super_options.split(',').any(|option| option == controller),
            _ => false,
        };
        for mount in mounts.iter().filter(serves) {
            let below = below_mount(Path::new(group), &mount.root);
            found.extend(below.ancestors().map(|level| mount.point.join(level)));
        }
    }
    found
}

/// Splits a line of /proc/self/cgroup into the controllers (none for version 2) and the path of the group.
fn parse_group(line: &str) -> Option<(&str, &str)> {
    let (_, rest) = line.split_once(':')?;
    rest.split_once(':')
}

/// Returns the path of the group below the mount point. In a container the mount is often the group itself.
fn below_mount<'a>(group: &'a Path, root: &Path) -> &'a Path {
    // "/../x" is a group outside this namespace; only what is mounted can be seen.
    let outside = group.components().any(|part| part == Component::ParentDir);
    group.strip_prefix(root).ok().filter(|_| !outside).unwrap_or(Path::new(""))
}

#[cfg(test)]
mod tests {
    use super::super::disk::parse_mounts;
    use super::*;

    fn paths(controller: &str, groups: &str, mountinfo: &str) -> Vec<String> {
        let found = directories_in(controller, groups, &parse_mounts(mountinfo));
        found.iter().map(|path| path.to_string_lossy().trim_end_matches('/').to_owned()).collect()
    }

    #[test]
    fn version_2_counts_every_level() {
        let mounts = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate";
        let expected = ["/sys/fs/cgroup/user.slice/a.scope", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"];
        assert_eq!(paths("cpu", "0::/user.slice/a.scope\n", mounts), expected);
        assert_eq!(paths("cpu", "0::/../other\n", mounts), ["/sys/fs/cgroup"]);
    }

    #[test]
    fn version_1_takes_the_mount_of_the_controller() {
        let mounts = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                      35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let groups = "4:memory:/docker/abc\n1:cpuacct,cpu:/x\n0::/\n";
        let cpu = ["/sys/fs/cgroup/cpu,cpuacct/x", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/unified"];
        assert_eq!(paths("cpu", groups, mounts), cpu);
        assert_eq!(paths("memory", groups, mounts), ["/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified"]);
    }

    #[test]
    fn nonsense_finds_nothing() {
        assert_eq!(paths("cpu", "no colon\n1:cpu\n::", "garbage\n1 2 3"), [""; 0]);
    }

    #[test]
    fn the_lowest_limit_holds() {
        let directories = [PathBuf::from("30"), PathBuf::from("x"), PathBuf::from("20")];
        assert_eq!(lowest(&directories, |path| path.to_str()?.parse::<u64>().ok()), Some(20));
        assert_eq!(lowest(&directories, |_| None::<u64>), None);
    }
}
