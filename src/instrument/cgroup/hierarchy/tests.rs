use super::*;
use crate::machine::disk::parse_mounts;
use std::fs::{create_dir_all, write as put};
use tempfile::TempDir;

/// Returns a tree that looks like version 2, in which this process's own group is `own`.
fn version_2(own: &str) -> (TempDir, Host) {
    let folder = tempfile::tempdir().unwrap();
    let host = Host {
        root: folder.path().to_owned(),
        groups: format!("0::{own}\n"),
        mounts: parse_mounts(
            "22 1 0:20 / /proc rw - proc proc rw\n\
                    30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n",
        ),
        systemd_run: None,
    };
    (folder, host)
}

/// Makes a group of version 2 that contains `processes`.
fn group(host: &Host, path: &str, offered: &str, handed_down: &str, processes: &str) -> PathBuf {
    let directory = host.root.join("sys/fs/cgroup").join(path);
    create_dir_all(&directory).unwrap();
    put(directory.join("cgroup.controllers"), offered).unwrap();
    put(directory.join("cgroup.subtree_control"), handed_down).unwrap();
    put(directory.join("cgroup.procs"), processes).unwrap();
    directory
}

fn own_pid() -> i32 {
    std::process::id() as i32
}

/// Returns the id of a process that has ended.
fn dead_pid() -> i32 {
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    child.id() as i32
}

#[test]
fn version_1_has_a_tree_for_each_controller() {
    let host = Host {
        root: PathBuf::from("/nowhere"),
        groups: "4:memory:/docker/abc\n2:cpu,cpuacct:/x\n0::/\n".to_owned(),
        mounts: parse_mounts(
            "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                    35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n\
                    41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
        ),
        systemd_run: None,
    };
    let memory = host.place("memory").unwrap();
    assert_eq!((memory.version, memory.base), (Version::One, PathBuf::from("/nowhere/sys/fs/cgroup/memory")));
    assert_eq!(host.place("cpu").unwrap().base, PathBuf::from("/nowhere/sys/fs/cgroup/cpu,cpuacct/x"));
    let missing = host.place("io").unwrap_err();
    assert_eq!(missing, "/nowhere/sys/fs/cgroup/unified does not have the io controller.");
    assert!(host.parent_beside(&["memory"]).is_err());
}

#[test]
fn version_2_needs_the_controller_in_our_own_group() {
    let (_folder, host) = version_2("/a.slice/b.scope");
    let own = group(&host, "a.slice/b.scope", "cpu memory pids\n", "", "");
    let place = host.place("memory").unwrap();
    assert_eq!(
        (place.version, place.base, place.top),
        (Version::Two, own.clone(), host.root.join("sys/fs/cgroup"))
    );
    put(own.join("cgroup.controllers"), "pids\n").unwrap();
    assert!(host.place("memory").unwrap_err().contains("does not have the memory controller"));
}

#[test]
fn nonsense_has_no_place() {
    for (groups, mountinfo, reason) in [
        ("", "", "The kernel has no memory controller."),
        ("0::/x\n", "", "The control groups of the memory controller are not mounted."),
        ("no colon\n1:memory\n::\n", "garbage\n1 2 3\n - \n", "are not mounted."),
        (
            "0::/../other\n",
            "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            "outside what is mounted",
        ),
        ("0::/b\n", "30 23 0:26 /a /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "outside what is mounted"),
    ] {
        let (groups, mounts) = (groups.to_owned(), parse_mounts(mountinfo));
        let host = Host { root: PathBuf::from("/nowhere"), groups, mounts, systemd_run: None };
        let message = host.place("memory").unwrap_err();
        assert!(message.contains(reason), "{message}");
    }
}

#[test]
fn a_group_that_hands_down_is_taken_as_it_is() {
    let (_folder, host) = version_2("/a");
    let own = group(&host, "a", "cpu memory", "memory cpu", "");
    let parent = Parent::handing_down(own.clone(), &["memory", "cpu"]).unwrap();
    assert_eq!(parent.path(), own);
    assert_eq!(read_to_string(own.join("cgroup.subtree_control")).unwrap(), "memory cpu");
}

#[test]
fn controllers_are_switched_on() {
    let (_folder, host) = version_2("/a");
    let own = group(&host, "a", "cpu memory", "", "");
    assert_eq!(Parent::handing_down(own.clone(), &["memory", "cpu"]).unwrap().path(), own);
    assert_eq!(read_to_string(own.join("cgroup.subtree_control")).unwrap(), "+memory +cpu");
}

#[test]
fn who_stepped_aside_stays_there() {
    let (_folder, host) = version_2("/a/repro-77-self");
    let above = group(&host, "a", "memory", "memory", "");
    let own = group(&host, "a/repro-77-self", "memory", "", "77\n");
    assert_eq!(Parent::handing_down(own, &["memory"]).unwrap().path(), above);
}

#[test]
fn a_group_that_can_not_be_changed_is_named() {
    let (_folder, host) = version_2("/a");
    let own = group(&host, "a", "memory", "", "");
    std::fs::remove_file(own.join("cgroup.subtree_control")).unwrap();
    let message = Parent::handing_down(own, &["memory"]).unwrap_err();
    assert!(message.contains("/a/cgroup.subtree_control can't be written: No such file"), "{message}");
}

#[test]
fn beside_needs_a_parent_that_hands_down() {
    let (_folder, host) = version_2("/a.slice/b.scope");
    group(&host, "a.slice/b.scope", "memory", "", "1\n");
    let above = group(&host, "a.slice", "memory", "pids", "");
    assert!(host.parent_beside(&["memory"]).unwrap_err().contains("does not pass the memory controller on"));
    put(above.join("cgroup.subtree_control"), "memory pids").unwrap();
    assert_eq!(host.parent_beside(&["memory"]).unwrap().path(), above);
    assert!(host.parent_beside(&["memory", "cpu"]).is_err());
    let (_folder, host) = version_2("/");
    group(&host, "", "memory", "memory", "");
    assert!(host.parent_beside(&["memory"]).unwrap_err().contains("no group above"));
}

#[test]
fn only_groups_of_dead_processes_are_stale() {
    let (_folder, host) = version_2("/a/b");
    let (above, own) = (group(&host, "a", "memory", "", ""), group(&host, "a/b", "memory", "", ""));
    let (dead, alive) = (dead_pid(), own_pid());
    let stale = [own.join(format!("repro-{dead}-0")), above.join(format!("repro-{dead}-self"))];
    let kept = [
        own.join(format!("repro-{alive}-0")),
        own.join("repro-1-0"),
        own.join(format!("repro-{dead}-x")),
        own.join(format!("repro-{dead}")),
        own.join("repro--1-0"),
        own.join("repro-0-0"),
        own.join(format!("other-{dead}-0")),
    ];
    for directory in stale.iter().chain(&kept) {
        create_dir(directory).unwrap();
    }
    let full = own.join(format!("repro-{dead}-1"));
    create_dir_all(full.join("below")).unwrap();
    assert_eq!(host.remove_stale(), 2);
    assert!(stale.iter().all(|directory| !directory.exists()));
    assert!(kept.iter().all(|directory| directory.exists()) && full.exists());
}

#[test]
fn a_directory_that_ignores_limits_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let directory = Directory::make(folder.path(), Version::Two).unwrap();
    assert!(directory.limit_memory(1 << 20).unwrap_err().contains("memory.max can't be written"));
    put(directory.path().join("memory.max"), "max").unwrap();
    std::fs::remove_file(directory.path().join("memory.max")).unwrap();
    std::os::unix::fs::symlink("/dev/null", directory.path().join("memory.max")).unwrap();
    assert!(directory.limit_memory(1 << 20).unwrap_err().contains("did not keep the limit"));
}

#[test]
fn a_number_that_is_taken_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let pid = own_pid();
    let first = Directory::make(folder.path(), Version::One).unwrap();
    let number = |directory: &Directory| {
        let name = directory.path().file_name().unwrap().to_string_lossy().into_owned();
        name.strip_prefix(&format!("repro-{pid}-")).unwrap().parse::<u32>().unwrap()
    };
    let next = number(&first) + 1;
    for taken in next..next + 20 {
        create_dir(folder.path().join(format!("repro-{pid}-{taken}"))).unwrap();
    }
    assert!(number(&Directory::make(folder.path(), Version::One).unwrap()) > number(&first));
    let path = first.path().to_owned();
    drop(first);
    assert!(!path.exists());
}

#[test]
fn nobody_is_killed_where_we_are_inside() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path().join("cgroup.procs"), format!("{}\n0\n-1\nx\n", own_pid())).unwrap();
    put(folder.path().join("cgroup.kill"), "").unwrap();
    assert_eq!(members(folder.path()), [own_pid()]);
    kill_members(folder.path(), Version::Two);
    assert_eq!(read_to_string(folder.path().join("cgroup.kill")).unwrap(), "");
}
