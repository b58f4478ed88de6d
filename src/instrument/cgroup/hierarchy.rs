//! Finds where in the tree of control groups a new group can be made, and makes its directory.

use super::{next_name, write};
use crate::machine::disk::{self, Mount};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{create_dir, read_dir, read_to_string, remove_dir};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The two versions of control groups in Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    One,
    Two,
}

/// What the kernel reports about the groups of this process.
pub(super) struct Host {
    /// The prefix of every path; a test puts a tree of its own there.
    pub root: PathBuf,
    /// The contents of /proc/self/cgroup.
    pub groups: String,
    /// The mounts in /proc/self/mountinfo.
    pub mounts: Vec<Mount>,
    /// The path of systemd-run, if it is installed.
    pub systemd_run: Option<PathBuf>,
}

/// This process's own group in the tree that serves a controller.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub version: Version,
    /// The directory of the group.
    pub base: PathBuf,
    /// The highest directory of the tree that is visible.
    pub top: PathBuf,
}

/// How long the removal of a group may take: a killed process may first have to finish with a disk.
const PATIENCE: Duration = Duration::from_secs(5);

impl Host {
    /// Returns the facts of this machine, as this process sees it.
    pub fn here() -> Host {
        let path = std::env::var_os("PATH").unwrap_or_default();
        Host {
            root: PathBuf::from("/"),
            groups: read_to_string("/proc/self/cgroup").unwrap_or_default(),
            mounts: disk::mounts(),
            systemd_run: std::env::split_paths(&path)
                .map(|folder| folder.join("systemd-run"))
                .find(|program| program.is_file()),
        }
    }

    /// Returns this process's own group under `controller`.
    pub fn place(&self, controller: &str) -> Result<Place, String> {
        let mut lines = self.groups.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
        let serves = |list: &str| list.split(',').any(|name| name == controller);
        if let Some((_, group)) = lines.clone().find(|(list, _)| serves(list)) {
            let serve = |kind: &str, options: &str| kind == "cgroup" && serves(options);
            return self.mounted(Version::One, controller, group, serve);
        }
        let unified = lines.find(|(list, _)| list.is_empty());
        let (_, group) = unified.ok_or_else(|| format!("The kernel has no {controller} controller."))?;
        let place = self.mounted(Version::Two, controller, group, |kind, _| kind == "cgroup2")?;
        let offered = words(&place.base.join("cgroup.controllers"));
        if !offered.iter().any(|word| word == controller) {
            return Err(format!("{} does not have the {controller} controller.", place.base.display()));
        }
        Ok(place)
    }

    /// Returns the mount point of version 2, where the paths of systemd's scopes begin.
    pub fn place_of_scopes(&self) -> Result<PathBuf, String> {
        let mut mounts = self.mounts.iter();
        let mount = mounts.find(|mount| mount.kind == "cgroup2" && mount.root == Path::new("/"));
        let mount =
            mount.ok_or("Version 2 of control groups, which systemd needs for this, is not mounted.")?;
        Ok(self.seen(&mount.point))
    }

    /// Returns the directory of `group` in the mount whose type and options satisfy `serve`.
    fn mounted(
        &self,
        version: Version,
        controller: &str,
        group: &str,
        serve: impl Fn(&str, &str) -> bool,
    ) -> Result<Place, String> {
        let mount = self.mounts.iter().find(|mount| serve(&mount.kind, &mount.super_options));
        let mount = mount
            .ok_or_else(|| format!("The control groups of the {controller} controller are not mounted."))?;
        let group = Path::new(group);
        // "/../x" is a group outside this namespace.
        let outside = group.components().any(|part| part == Component::ParentDir);
        let below = group.strip_prefix(&mount.root).ok().filter(|_| !outside);
        let below = below.ok_or_else(|| {
            format!(
                "The control group of this process, {}, is outside what is mounted here.",
                group.display()
            )
        })?;
        let top = self.seen(&mount.point);
        // An empty path is not joined, because that would add a trailing slash.
        let base = if below.as_os_str().is_empty() { top.clone() } else { top.join(below) };
        Ok(Place { version, base, top })
    }

    /// Returns the path below `root` of a mount point.
    fn seen(&self, point: &Path) -> PathBuf {
        self.root.join(point.strip_prefix("/").unwrap_or(point))
    }

    /// Returns the group above this process's own, if it already delegates `controllers` and lets a child
    /// move.
    pub fn parent_beside(&self, controllers: &[&str]) -> Result<Parent, String> {
        let place = self.place("memory")?;
        if place.version == Version::One || place.base == place.top {
            return Err(
                "There is no group above that of this process in which one could be created.".to_owned()
            );
        }
        let above = place.base.parent().unwrap_or(&place.top).to_owned();
        if !hands_down(&above, controllers) {
            return Err(format!(
                "{} does not pass the memory controller on to the groups in it.",
                above.display()
            ));
        }
        let procs = above.join("cgroup.procs");
        match nix::unistd::access(&procs, nix::unistd::AccessFlags::W_OK) {
            Ok(()) => Ok(Parent::as_it_is(above)),
            Err(error) => Err(format!("{} can't be written: {}.", procs.display(), error.desc())),
        }
    }

    /// Removes empty groups of ended processes below and beside this process's own, and returns their number.
    pub fn remove_stale(&self) -> usize {
        let mut folders = Vec::new();
        for place in ["memory", "cpu"].iter().filter_map(|controller| self.place(controller).ok()) {
            if place.version == Version::Two && place.base != place.top {
                folders.extend(place.base.parent().map(Path::to_owned));
            }
            folders.push(place.base);
        }
        folders.sort();
        folders.dedup();
        let groups = folders.iter().flat_map(|folder| groups_in(folder));
        groups.filter(|(path, pid)| !is_alive(*pid) && removed(path, || ()).is_ok()).count()
    }
}

/// A directory in which groups are made. When it is dropped, it undoes what was moved for it.
#[derive(Debug)]
pub(super) struct Parent {
    path: PathBuf,
    version_2: bool,
}

impl Parent {
    /// Returns a directory that needs no preparation.
    pub fn as_it_is(path: PathBuf) -> Parent {
        Parent { path, version_2: false }
    }

    /// Prepares a directory of version 2 that delegates `controllers` to the groups in it.
    ///
    /// Such a group can't hold processes. If this process is the only one in it, it moves to a group below.
    pub fn handing_down(own: PathBuf, controllers: &[&str]) -> Result<Parent, String> {
        let own_pid = std::process::id() as i32;
        // This process, or a `repro` that started it, may have moved before.
        let base = match own.parent() {
            Some(above) if own.file_name().is_some_and(|name| is_aside(&name.to_string_lossy())) => above,
            _ => &own,
        };
        let parent = Parent { path: base.to_owned(), version_2: true };
        if hands_down(base, controllers) {
            return Ok(parent);
        }
        let control = base.join("cgroup.subtree_control");
        let request = controllers.iter().map(|name| format!("+{name}")).collect::<Vec<_>>().join(" ");
        let failed = |error: &io::Error| format!("{} can't be written: {error}.", control.display());
        match write(&control, &request) {
            Ok(()) => return Ok(parent),
            Err(error) if !is_busy(&error) => return Err(failed(&error)),
            Err(_) => {}
        }
        if members(base) != [own_pid] {
            let name = base.display();
            return Err(format!("{name} can't be divided, because other processes are in it."));
        }
        let aside = base.join(format!("repro-{own_pid}-self"));
        create_dir(&aside).map_err(|error| format!("{} can't be created: {error}.", aside.display()))?;
        // From here on, `parent` undoes the move if anything fails.
        super::enter(&aside.join("cgroup.procs")).map_err(|error| failed(&error))?;
        write(&control, &request).map_err(|error| failed(&error))?;
        Ok(parent)
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Parent {
    fn drop(&mut self) {
        let own_pid = std::process::id() as i32;
        let aside = self.path.join(format!("repro-{own_pid}-self"));
        let others = || groups_in(&self.path).into_iter().any(|(path, _)| path != aside);
        if !self.version_2 || !aside.is_dir() || others() || members(&aside).iter().any(|pid| *pid != own_pid)
        {
            return;
        }
        // The controllers come first, because a group that delegates them takes no process. None was
        // delegated before this process moved, or it would not have had to move.
        for controller in words(&self.path.join("cgroup.subtree_control")) {
            let _ = write(&self.path.join("cgroup.subtree_control"), &format!("-{controller}"));
        }
        if members(&aside).is_empty() || super::enter(&self.path.join("cgroup.procs")).is_ok() {
            let _ = remove_dir(&aside);
        }
    }
}

/// The directory of a group that this program made; it is removed with everything inside when dropped.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    version: Version,
}

impl Directory {
    /// Makes a new group in `parent`.
    pub fn make(parent: &Path, version: Version) -> Result<Directory, String> {
        loop {
            let path = parent.join(next_name());
            match create_dir(&path) {
                Ok(()) => return Ok(Directory { path, version }),
                // An earlier process with the same id left this group.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(format!("{} can't be created: {error}.", path.display())),
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the file through which processes enter the group.
    pub fn procs_file(&self) -> PathBuf {
        self.path.join("cgroup.procs")
    }

    /// Limits memory and page cache together, and allows no swap if the kernel counts it.
    pub fn limit_memory(&self, bytes: u64) -> Result<(), String> {
        let text = bytes.to_string();
        let limit = match self.version {
            Version::One => {
                self.set("memory.limit_in_bytes", &text)?;
                // With swappiness 0 nothing is swapped because of the group's limit. The limit on memory and
                // swap together is only second best: it is reached first, and newer kernels then count no
                // limit hits.
                if self.set("memory.swappiness", "0").is_err() {
                    let _ = self.set("memory.memsw.limit_in_bytes", &text);
                }
                "memory.limit_in_bytes"
            }
            Version::Two => {
                self.set("memory.max", &text)?;
                let _ = self.set("memory.swap.max", "0");
                "memory.max"
            }
        };
        // Some sandboxes accept any number without enforcing it.
        let set = read_to_string(self.path.join(limit)).ok().and_then(|text| text.trim().parse::<u64>().ok());
        match set {
            Some(set) if set <= bytes => Ok(()),
            _ => Err(format!("{} did not keep the limit.", self.path.join(limit).display())),
        }
    }

    /// Limits the CPU time within each period; both are in µs.
    pub fn limit_cpu(&self, quota_us: u64, period_us: u32) -> Result<(), String> {
        match self.version {
            Version::One => {
                self.set("cpu.cfs_period_us", &period_us.to_string())?;
                self.set("cpu.cfs_quota_us", &quota_us.to_string())
            }
            Version::Two => self.set("cpu.max", &format!("{quota_us} {period_us}")),
        }
    }

    fn set(&self, name: &str, text: &str) -> Result<(), String> {
        let path = self.path.join(name);
        write(&path, text).map_err(|error| format!("{} can't be written: {error}.", path.display()))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = removed(&self.path, || kill_members(&self.path, self.version));
    }
}

/// Removes a group. One whose members are being killed is busy a little longer; `before` is called before each attempt.
fn removed(path: &Path, before: impl Fn()) -> std::io::Result<()> {
    let until = Instant::now() + PATIENCE;
    loop {
        before();
        match remove_dir(path) {
            Err(error) if is_busy(&error) && Instant::now() < until => sleep(Duration::from_millis(5)),
            result => return result,
        }
    }
}

/// Kills every process of a group, unless this process is one of them.
pub(super) fn kill_members(directory: &Path, version: Version) {
    let members = members(directory);
    let own_pid = std::process::id() as i32;
    if members.is_empty() || members.contains(&own_pid) {
        return;
    }
    // This kills all at once, so that none escapes by forking; it needs Linux 5.14.
    if version == Version::Two && write(&directory.join("cgroup.kill"), "1").is_ok() {
        return;
    }
    for pid in members {
        let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
    }
}

/// Returns the groups in `folder` that a `repro` made, each with the id of that process.
fn groups_in(folder: &Path) -> Vec<(PathBuf, i32)> {
    let entries = read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((entry.path(), maker(&entry.file_name().to_string_lossy())?))).collect()
}

/// Returns the process id in `repro-<pid>-<n>` or `repro-<pid>-self`.
fn maker(name: &str) -> Option<i32> {
    let (pid, end) = name.strip_prefix("repro-")?.split_once('-')?;
    let ours = end == "self" || end.parse::<u32>().is_ok();
    pid.parse().ok().filter(|pid| ours && *pid > 0)
}

fn is_aside(name: &str) -> bool {
    maker(name).is_some() && name.ends_with("-self")
}

fn is_alive(pid: i32) -> bool {
    // Without permission to signal it, the process still exists.
    kill(Pid::from_raw(pid), None) != Err(Errno::ESRCH)
}

/// Returns the processes in a group, except those outside this namespace, which have no id here.
fn members(directory: &Path) -> Vec<i32> {
    let pids = words(&directory.join("cgroup.procs"));
    pids.iter().filter_map(|pid| pid.parse().ok()).filter(|pid| *pid > 0).collect()
}

fn hands_down(directory: &Path, controllers: &[&str]) -> bool {
    let handed = words(&directory.join("cgroup.subtree_control"));
    controllers.iter().all(|controller| handed.iter().any(|word| word == controller))
}

fn words(path: &Path) -> Vec<String> {
    let text = read_to_string(path).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

fn is_busy(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::EBUSY as i32)
}

#[cfg(test)]
mod tests;
