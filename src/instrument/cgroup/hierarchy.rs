//! Where in the tree of control groups a new one can be, and the directory that it is.

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

/// The two ways in which Linux has control groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    One,
    Two,
}

/// What the kernel tells about our groups.
pub(super) struct Host {
    /// Goes before every path; a test puts a tree of its own here.
    pub root: PathBuf,
    /// /proc/self/cgroup.
    pub groups: String,
    /// /proc/self/mountinfo.
    pub mounts: Vec<Mount>,
    /// Where systemd-run is.
    pub systemd_run: Option<PathBuf>,
}

/// Our own group in the tree that serves a controller.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub version: Version,
    /// Its directory.
    pub base: PathBuf,
    /// The highest directory that can be seen.
    pub top: PathBuf,
}

/// How long the removal of a group may take: what is killed may first have to finish with a disk.
const PATIENCE: Duration = Duration::from_secs(5);

impl Host {
    /// This machine, as this process sees it.
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

    /// Our own group under `controller`.
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

    /// Where version 2 is mounted: the paths of systemd's scopes begin there.
    pub fn place_of_scopes(&self) -> Result<PathBuf, String> {
        let mut mounts = self.mounts.iter();
        let mount = mounts.find(|mount| mount.kind == "cgroup2" && mount.root == Path::new("/"));
        let mount =
            mount.ok_or("Version 2 of control groups, which systemd needs for this, is not mounted.")?;
        Ok(self.seen(&mount.point))
    }

    /// The directory of `group` in the mount whose type and options `serve`.
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
        // "/../x" is a group outside of our namespace.
        let outside = group.components().any(|part| part == Component::ParentDir);
        let below = group.strip_prefix(&mount.root).ok().filter(|_| !outside);
        let below = below.ok_or_else(|| {
            format!(
                "The control group of this process, {}, is outside what is mounted here.",
                group.display()
            )
        })?;
        let top = self.seen(&mount.point);
        // Joined only where there is something to join, so that no path ends in a slash.
        let base = if below.as_os_str().is_empty() { top.clone() } else { top.join(below) };
        Ok(Place { version, base, top })
    }

    /// Where a mount is seen in the tree.
    fn seen(&self, point: &Path) -> PathBuf {
        self.root.join(point.strip_prefix("/").unwrap_or(point))
    }

    /// The group above our own, if it already hands `controllers` down and lets a child move.
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

    /// Removes empty groups of processes that have ended, below and beside our own.
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
        groups.filter(|(path, pid)| !is_alive(*pid) && remove_dir(path).is_ok()).count()
    }
}

/// A directory in which groups are made. Puts right at its end what was moved for it.
#[derive(Debug)]
pub(super) struct Parent {
    path: PathBuf,
    version_2: bool,
}

impl Parent {
    /// One that needs nothing.
    pub fn as_it_is(path: PathBuf) -> Parent {
        Parent { path, version_2: false }
    }

    /// One of version 2 that hands `controllers` down to the groups in it.
    ///
    /// Such a group can't hold processes. When we are alone in it, we step aside into a group below it.
    pub fn handing_down(own: PathBuf, controllers: &[&str]) -> Result<Parent, String> {
        let own_pid = std::process::id() as i32;
        // We, or a `repro` that started us, may have stepped aside before.
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
        // From here on `parent` puts it right when anything fails.
        super::enter(&aside.join("cgroup.procs")).map_err(|error| failed(&error))?;
        write(&control, &request).map_err(|error| failed(&error))?;
        Ok(parent)
    }

    /// Its directory.
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
        // First the controllers: a group that hands them down takes no process. None was handed down before
        // we stepped aside, or we would not have had to.
        for controller in words(&self.path.join("cgroup.subtree_control")) {
            let _ = write(&self.path.join("cgroup.subtree_control"), &format!("-{controller}"));
        }
        if members(&aside).is_empty() || super::enter(&self.path.join("cgroup.procs")).is_ok() {
            let _ = remove_dir(&aside);
        }
    }
}

/// The directory of a group that we made; removed when dropped, with everything inside.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    version: Version,
}

impl Directory {
    /// A new group in `parent`.
    pub fn make(parent: &Path, version: Version) -> Result<Directory, String> {
        loop {
            let path = parent.join(next_name());
            match create_dir(&path) {
                Ok(()) => return Ok(Directory { path, version }),
                // Of a process that had our number before us.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(format!("{} can't be created: {error}.", path.display())),
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file that takes processes in.
    pub fn procs_file(&self) -> PathBuf {
        self.path.join("cgroup.procs")
    }

    /// Sets the limit for memory and page cache, and leaves no swap, where the kernel counts that.
    pub fn limit_memory(&self, bytes: u64) -> Result<(), String> {
        let text = bytes.to_string();
        let limit = match self.version {
            Version::One => {
                self.set("memory.limit_in_bytes", &text)?;
                // Zero really means none where the group's limit is the reason. The limit for memory and swap
                // together comes second: it is reached first, and newer kernels then count no limit hits.
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
        // Some sandboxes take any number and heed none.
        let set = read_to_string(self.path.join(limit)).ok().and_then(|text| text.trim().parse::<u64>().ok());
        match set {
            Some(set) if set <= bytes => Ok(()),
            _ => Err(format!("{} did not keep the limit.", self.path.join(limit).display())),
        }
    }

    /// Sets the CPU time, µs, within each period, µs.
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
        let until = Instant::now() + PATIENCE;
        loop {
            kill_members(&self.path, self.version);
            match remove_dir(&self.path) {
                Err(error) if is_busy(&error) && Instant::now() < until => sleep(Duration::from_millis(5)),
                _ => return,
            }
        }
    }
}

/// Kills every process of a group, unless we are one of them.
pub(super) fn kill_members(directory: &Path, version: Version) {
    let members = members(directory);
    let own_pid = std::process::id() as i32;
    if members.is_empty() || members.contains(&own_pid) {
        return;
    }
    // All at once, so that none escapes by a fork; since Linux 5.14.
    if version == Version::Two && write(&directory.join("cgroup.kill"), "1").is_ok() {
        return;
    }
    for pid in members {
        let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
    }
}

/// The groups in `folder` that a `repro` made, each with the process that did.
fn groups_in(folder: &Path) -> Vec<(PathBuf, i32)> {
    let entries = read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((entry.path(), maker(&entry.file_name().to_string_lossy())?))).collect()
}

/// The process in `repro-<pid>-<n>` or `repro-<pid>-self`.
fn maker(name: &str) -> Option<i32> {
    let (pid, end) = name.strip_prefix("repro-")?.split_once('-')?;
    let ours = end == "self" || end.parse::<u32>().is_ok();
    pid.parse().ok().filter(|pid| ours && *pid > 0)
}

fn is_aside(name: &str) -> bool {
    maker(name).is_some() && name.ends_with("-self")
}

fn is_alive(pid: i32) -> bool {
    // Not being allowed to signal it means that it is there.
    kill(Pid::from_raw(pid), None) != Err(Errno::ESRCH)
}

/// The processes in a group. One outside of our namespace has no number, and is left out.
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
