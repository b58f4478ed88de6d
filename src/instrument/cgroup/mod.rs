//! A control group with a memory limit that includes the page cache, so that a database larger than the limit
//! is really read from the disk, however much memory the machine has.
//!
//! There are three ways, tried in this order: a group below this process's own (version 1 or 2 of control
//! groups), a scope made by systemd, and a group beside this process's own (version 2, as root).
//!
//! The kernel charges a page of the cache to the group that read it first, and a page that remains when its
//! group ends can be used by anyone for free. So [`drop_file`](super::page_cache::drop_file) must be called
//! before each run in a group; otherwise the child finds the file in memory that it is not charged for.

mod hierarchy;
mod scope;
mod usage;

pub use usage::Usage;

use crate::record::Memory;
use hierarchy::{Directory, Host, Parent, Version};
use std::ffi::OsString;
use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a group may use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Memory and page cache together, in bytes; a limit also disables swap. The kernel rounds down to whole
    /// pages.
    pub memory_bytes: Option<u64>,
    /// CPU time as a number of CPUs, such as 1.5 for one and a half.
    pub cpus: Option<f64>,
}

/// A control group made by this program. When it is dropped, it ends with everything inside.
///
/// A child enters it through [`MemoryGroup::procs_files`] and [`MemoryGroup::wrapper_command`]; a caller that
/// uses both need not know in which of the three ways the group was made.
#[derive(Debug)]
pub struct MemoryGroup {
    mechanism: Mechanism,
    wrapper: Option<Vec<OsString>>,
    tree: Tree,
}

/// The group in the tree of control groups.
#[derive(Debug)]
struct Tree {
    version: Version,
    /// The directory in which the memory is counted.
    memory: PathBuf,
    /// The directories that were made for the group; none when systemd makes it.
    directories: Vec<Directory>,
    // The parents must be dropped after the directories, and fields are dropped in this order.
    parents: Vec<Parent>,
}

/// What enforces the limits of the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// The kernel, with version 1 of control groups.
    Version1,
    /// The kernel, with version 2 of control groups.
    Version2,
    /// A systemd scope, which uses version 2.
    Scope,
}

/// Why such a group is impossible, in sentences for the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Unavailable {
    /// What was tried, each with its result.
    pub tried: Vec<String>,
}

/// The smallest limit in bytes that leaves room for a process.
const LEAST_MEMORY: u64 = 1 << 20;
/// The period in which CPU time is counted, in µs; it is the kernel's default.
const PERIOD_US: u32 = 100_000;
static NUMBER: AtomicU32 = AtomicU32::new(0);
/// Ensures that only one group at a time is made or removed, because both move this process.
static ARRANGING: Mutex<()> = Mutex::new(());

impl MemoryGroup {
    /// Makes an empty group with `limits`. This is best done before any child is started: a group of version
    /// 2 can only be divided by the only process in it.
    ///
    /// # Errors
    /// Fails when the limits make no sense, or when this user can't make a group on this machine.
    pub fn create(limits: Limits) -> Result<MemoryGroup, Unavailable> {
        limits.check().map_err(|reason| Unavailable { tried: vec![reason] })?;
        let _arranging = arranging();
        let host = Host::here();
        let mut tried = Vec::new();
        let ways = [MemoryGroup::below, scope::make, MemoryGroup::beside];
        for way in ways {
            match way(&host, &limits) {
                Ok(group) => return Ok(group),
                Err(reason) if tried.contains(&reason) => {}
                Err(reason) => tried.push(reason),
            }
        }
        Err(Unavailable { tried })
    }

    /// Removes the groups of runs that were killed, and returns their number. Only groups below or beside
    /// this process's own are considered: others end with the container or scope that they are in.
    pub fn remove_stale() -> usize {
        let _arranging = arranging();
        Host::here().remove_stale()
    }

    /// Returns the files through which the child enters the group. It calls [`enter`] with each before it
    /// becomes the program.
    pub fn procs_files(&self) -> Vec<PathBuf> {
        self.tree.directories.iter().map(Directory::procs_file).collect()
    }

    /// Returns what goes before the program and its arguments: systemd-run, which becomes the program and
    /// takes one child at a time. Returns `None` where [`MemoryGroup::procs_files`] is enough.
    pub fn wrapper_command(&self) -> Option<Vec<OsString>> {
        self.wrapper.clone()
    }

    /// Returns the current usage of the group, or `None` when it is unknown; a scope exists only while its
    /// child runs.
    pub fn usage(&self) -> Option<Usage> {
        Usage::read(&self.tree.memory, self.tree.version)
    }

    /// Returns what enforces the limits of the group.
    pub fn mechanism(&self) -> Mechanism {
        self.mechanism
    }

    /// Returns what a record says of a group with this limit in bytes, and of its usage.
    pub fn facts(&self, limit_bytes: u64, usage: Option<&Usage>) -> Memory {
        Memory {
            limit_bytes,
            mechanism: self.mechanism.to_string(),
            peak_bytes: usage.and_then(|usage| usage.peak_bytes),
            limit_hits: usage.and_then(|usage| usage.limit_hits),
        }
    }

    /// Makes a group below this process's own.
    fn below(host: &Host, limits: &Limits) -> Result<MemoryGroup, String> {
        let controllers = limits.controllers();
        let memory = host.place("memory")?;
        let mut tree = Tree::empty(memory.version);
        // Controllers of version 1 have a tree each; those of version 2 share one.
        let mut places = vec![(memory, vec!["memory"])];
        for controller in &controllers[1..] {
            let place = host.place(controller)?;
            match places.iter_mut().find(|(other, _)| other.base == place.base) {
                Some((_, served)) => served.push(controller),
                None => places.push((place, vec![controller])),
            }
        }
        for (place, served) in places {
            let parent = match place.version {
                Version::One => Parent::as_it_is(place.base),
                Version::Two => Parent::handing_down(place.base, &served)?,
            };
            tree.add(place.version, parent, limits, &served)?;
        }
        Ok(tree.into())
    }

    /// Makes a group beside this process's own, into which only root may move a child.
    fn beside(host: &Host, limits: &Limits) -> Result<MemoryGroup, String> {
        let controllers = limits.controllers();
        let parent = host.parent_beside(&controllers)?;
        let mut tree = Tree::empty(Version::Two);
        tree.add(Version::Two, parent, limits, &controllers)?;
        Ok(tree.into())
    }
}

impl Tree {
    fn empty(version: Version) -> Tree {
        Tree { version, memory: PathBuf::new(), directories: Vec::new(), parents: Vec::new() }
    }

    /// Makes the directory for some `controllers`, and sets their limits.
    fn add(
        &mut self,
        version: Version,
        parent: Parent,
        limits: &Limits,
        controllers: &[&str],
    ) -> Result<(), String> {
        let path = parent.path().to_owned();
        self.parents.push(parent);
        let directory = Directory::make(&path, version)?;
        if controllers.contains(&"memory") {
            self.memory = directory.path().to_owned();
            limits.memory_bytes.map_or(Ok(()), |bytes| directory.limit_memory(bytes))?;
        }
        if let Some(cpus) = limits.cpus.filter(|_| controllers.contains(&"cpu")) {
            directory.limit_cpu((cpus * f64::from(PERIOD_US)) as u64, PERIOD_US)?;
        }
        self.directories.push(directory);
        Ok(())
    }
}

impl From<Tree> for MemoryGroup {
    fn from(tree: Tree) -> MemoryGroup {
        let mechanism = match tree.version {
            Version::One => Mechanism::Version1,
            Version::Two => Mechanism::Version2,
        };
        MemoryGroup { mechanism, wrapper: None, tree }
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        let _arranging = arranging();
        if self.mechanism == Mechanism::Scope {
            // systemd removes the directory once it is empty.
            hierarchy::kill_members(&self.tree.memory, self.tree.version);
        }
        self.tree.directories.clear();
        self.tree.parents.clear();
    }
}

impl Limits {
    /// Returns the controllers that are needed; memory is always counted, with or without a limit.
    fn controllers(&self) -> Vec<&'static str> {
        if self.cpus.is_some() { vec!["memory", "cpu"] } else { vec!["memory"] }
    }

    fn check(&self) -> Result<(), String> {
        match (self.memory_bytes, self.cpus) {
            (Some(bytes), _) if bytes < LEAST_MEMORY => {
                Err(format!("A limit of {bytes} bytes has no room for a process; set at least 1 MiB."))
            }
            // The kernel refuses less than 1 ms in a period.
            (_, Some(cpus)) if !(0.01..=1e5).contains(&cpus) => {
                Err(format!("A limit of {cpus} CPUs can't be set; set 0.01 to 100000."))
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mechanism::Version1 => "control group, version 1",
            Mechanism::Version2 => "control group, version 2",
            Mechanism::Scope => "systemd scope",
        })
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no control group can be created here. {} Run repro as root, or inside \
             `systemd-run --user --scope -p Delegate=yes repro …`; in a container, /sys/fs/cgroup must be \
             writable.",
            self.tried.join(" ")
        )
    }
}

/// Moves this process into the group with this `cgroup.procs` file. Memory that it allocated before remains
/// charged to the old group; a program that it becomes afterwards is charged in full.
///
/// # Errors
/// Fails when the group is gone, or when this user may not enter it.
pub fn enter(procs_file: &Path) -> io::Result<()> {
    // Zero stands for the writer, whatever its id in the namespace where the group was made.
    write(procs_file, "0")
}

/// Writes to an existing file of the kernel; never creates one.
fn write(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
}

/// Returns a name that no other group of this process has had.
fn next_name() -> String {
    format!("repro-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed))
}

fn arranging() -> MutexGuard<'static, ()> {
    ARRANGING.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_refused_with_a_sentence() {
        let memory = Limits { memory_bytes: Some(0), cpus: None };
        let message = MemoryGroup::create(memory).unwrap_err().to_string();
        assert!(message.contains("A limit of 0 bytes has no room for a process"), "{message}");
        for cpus in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e300] {
            let message = MemoryGroup::create(Limits { memory_bytes: None, cpus: Some(cpus) });
            assert!(message.unwrap_err().tried[0].contains("CPUs can't be set"), "{cpus}");
        }
    }

    #[test]
    fn a_group_that_is_gone_can_not_be_entered() {
        let folder = tempfile::tempdir().unwrap();
        let procs = folder.path().join("cgroup.procs");
        assert_eq!(enter(&procs).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(!procs.exists());
    }
}
