//! A folder of our own for the time of a measurement.

use super::process;
use anyhow::{Context, Result};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Names of such folders begin so, and go on with the number of the process.
const PREFIX: &str = "repro-scratch-";
/// Stands in each of them that is to go, so that a folder of that name which is not ours, or was to be kept, is never
/// removed.
const MARK: &str = "made-by-repro";

/// A folder that only its owner can look into. It goes, with everything in it, when the value is dropped.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    keep: bool,
}

impl Scratch {
    /// A new folder in `parent`; those that ended processes have left there are removed first.
    ///
    /// # Errors
    /// A parent that is not there, or can't be written to.
    pub fn new(parent: &Path, keep: bool) -> Result<Scratch> {
        // A process that works elsewhere must find it, too.
        let parent = parent.canonicalize().with_context(|| parent.display().to_string())?;
        remove_stale(&parent);
        for number in 1.. {
            let path = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(error).with_context(|| format!("{}: can't make this folder", path.display()));
                }
                Ok(()) => {
                    let scratch = Scratch { path, keep };
                    if !keep {
                        fs::write(scratch.path.join(MARK), "")
                            .with_context(|| scratch.path.display().to_string())?;
                    }
                    return Ok(scratch);
                }
            }
        }
        unreachable!("there are more numbers than folders")
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.keep {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Removes what processes that were ended by force have left in `parent`.
pub fn remove_stale(parent: &Path) {
    let user = nix::unistd::geteuid().as_raw();
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let maker = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        let gone = maker.is_some_and(|pid| !process::is_running(pid));
        // Of the entry itself: a link is not a folder of ours, whatever it points to.
        let ours = entry.metadata().is_ok_and(|facts| facts.is_dir() && facts.uid() == user);
        if gone && ours && entry.path().join(MARK).is_file() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_and_takes_stale_ones_along() {
        let parent = tempfile::tempdir().unwrap();
        let stale = parent.path().join(format!("{PREFIX}999999999-1"));
        let foreign = parent.path().join(format!("{PREFIX}999999999-2"));
        for folder in [&stale, &foreign] {
            fs::create_dir(folder).unwrap();
        }
        fs::write(stale.join(MARK), "").unwrap();
        let scratch = Scratch::new(parent.path(), false).unwrap();
        let path = scratch.path().to_path_buf();
        assert!(path.is_dir() && !stale.exists() && foreign.exists());
        drop(scratch);
        assert!(!path.exists());
        let kept = Scratch::new(parent.path(), true).unwrap().path().to_path_buf();
        assert!(kept.is_dir() && !kept.join(MARK).exists(), "kept, also when we have ended");
    }
}
