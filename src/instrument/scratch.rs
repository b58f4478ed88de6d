//! Private folders: for the time of a measurement, and for programs that are run.

use super::proc;
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The prefix of folders that are removed with their measurement; the process id follows.
const PASSING: &str = "repro-scratch-";
/// The prefix of folders that are kept.
const KEPT: &str = "repro-kept-";
/// The file in each folder to be removed that lists the entries made by this program. A folder of such a name
/// that somebody else made is never removed, nor is anything that somebody else put into it.
const MARK: &str = "made-by-repro";

/// A folder that only its owner can read. It is removed with everything in it when the value is dropped,
/// unless it is to be kept.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    keep: bool,
}

impl Scratch {
    /// Creates a folder in `parent` with `label` in its name, in which entries named `ours` will be made;
    /// folders that ended processes have left there are removed first.
    ///
    /// # Errors
    /// Fails when the parent does not exist or can't be written to.
    pub fn new(parent: &Path, label: &str, ours: &[&str], keep: bool) -> Result<Scratch> {
        // The path must be absolute, for processes with another working directory.
        let parent = parent.canonicalize().with_context(|| parent.display().to_string())?;
        remove_stale(&parent);
        let prefix = if keep { KEPT } else { PASSING };
        // No name is used twice, because the loader would take a library with the same path for the one that
        // it has loaded.
        static NEXT: AtomicU32 = AtomicU32::new(1);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("{prefix}{}-{label}-{number}", std::process::id()));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(error)
                        .with_context(|| format!("{}: can't create this folder", path.display()));
                }
                Ok(()) => {
                    let scratch = Scratch { path, keep };
                    if !keep {
                        fs::write(scratch.path.join(MARK), ours.join("\n"))
                            .with_context(|| scratch.path.display().to_string())?;
                    }
                    return Ok(scratch);
                }
            }
        }
    }

    /// Returns a folder that was kept before, to be used again; it stays.
    pub fn again(path: &Path) -> Scratch {
        Scratch { path: path.to_path_buf(), keep: true }
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        match self.keep {
            true => eprintln!("kept: {}", self.path.display()),
            false => {
                let _ = fs::remove_dir_all(&self.path);
            }
        }
    }
}

/// Removes the folders that killed processes have left in `parent`.
pub fn remove_stale(parent: &Path) {
    let user = nix::unistd::geteuid().as_raw();
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let maker = name.strip_prefix(PASSING).and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        let gone = maker.is_some_and(|process| !proc::is_running(process));
        // These are the facts of the entry itself: a link is not a folder of this program, whatever it points
        // to.
        let ours = entry.metadata().is_ok_and(|facts| facts.is_dir() && facts.uid() == user);
        if gone && ours {
            remove_own(&entry.path());
        }
    }
}

/// Removes the entries that a folder lists as made by this program, and the folder, unless it contains
/// anything else.
fn remove_own(folder: &Path) {
    let Ok(ours) = fs::read_to_string(folder.join(MARK)) else { return };
    let strange = |name: &OsString| name != MARK && !ours.lines().any(|own| name == own);
    let mut names = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    if names.any(|name| strange(&name)) {
        return;
    }
    for path in ours.lines().chain([MARK]).map(|name| folder.join(name)) {
        // For a link, the link itself is removed and not what it points to.
        let _ = match path.symlink_metadata().is_ok_and(|facts| facts.is_dir()) {
            true => fs::remove_dir_all(path),
            false => fs::remove_file(path),
        };
    }
    let _ = fs::remove_dir(folder);
}

/// Returns the file names of a SQLite database of this name.
pub fn database_files(name: &str) -> [String; 4] {
    ["", "-journal", "-wal", "-shm"].map(|suffix| format!("{name}{suffix}"))
}

/// Creates a folder below `cache` that belongs to the user and that nobody else may write to, and returns its
/// path.
///
/// # Errors
/// Fails when the folder can't be made so.
pub fn private_folder(cache: &Path, name: &str) -> Result<PathBuf> {
    let folder = cache.join(name);
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)
        .with_context(|| format!("{}: can't create this folder", folder.display()))?;
    let facts = fs::symlink_metadata(&folder).with_context(|| folder.display().to_string())?;
    let own = facts.is_dir() && facts.uid() == nix::unistd::geteuid().as_raw() && facts.mode() & 0o022 == 0;
    if !own {
        bail!(
            "{}: other users can write to this folder, so no program is run from it; remove the folder",
            folder.display()
        );
    }
    Ok(folder)
}

/// Writes a program that only its owner can run, in such a way that it appears complete or not at all.
///
/// # Errors
/// Passes on errors of the filesystem.
pub fn write_program(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let unfinished = path.with_extension(std::process::id().to_string());
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o700).open(&unfinished)?;
    let written = file.write_all(bytes);
    drop(file);
    written.and_then(|()| fs::rename(&unfinished, path)).inspect_err(|_| {
        let _ = fs::remove_file(&unfinished);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_and_takes_stale_ones_along() {
        let parent = tempfile::tempdir().unwrap();
        let stale = parent.path().join(format!("{PASSING}999999999-a-1"));
        let foreign = parent.path().join(format!("{PASSING}999999999-a-2"));
        for folder in [&stale, &foreign] {
            fs::create_dir(folder).unwrap();
        }
        fs::write(stale.join(MARK), "").unwrap();
        let scratch = Scratch::new(parent.path(), "a", &[], false).unwrap();
        let path = scratch.path().to_path_buf();
        assert!(path.is_dir() && !stale.exists() && foreign.exists());
        drop(scratch);
        assert!(!path.exists());
        let kept = Scratch::new(parent.path(), "a", &[], true).unwrap().path().to_path_buf();
        assert!(kept.is_dir() && !kept.join(MARK).exists(), "kept, also when we have ended");
    }

    #[test]
    fn strangers_stay() {
        let parent = tempfile::tempdir().unwrap();
        let folder = |number: u32, names: &[&str]| {
            let folder = parent.path().join(format!("{PASSING}999999999-a-{number}"));
            fs::create_dir_all(folder.join("data")).unwrap();
            fs::write(folder.join(MARK), "a.db\ndata").unwrap();
            names.iter().for_each(|name| fs::write(folder.join(name), "").unwrap());
            folder
        };
        let (own, shared) = (folder(1, &["a.db"]), folder(2, &["a.db", "notes.txt"]));
        remove_stale(parent.path());
        assert!(!own.exists() && shared.join("notes.txt").exists() && shared.join("a.db").exists());
    }

    #[test]
    fn a_program_is_whole_and_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tool");
        write_program(&path, b"#!/bin/sh\n").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
