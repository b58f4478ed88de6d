//! Where the database of a run lies, and how it goes again.

use crate::driver::process;
use crate::record::store;
use crate::suite::oltp::parameters::{Identity, LegPlan};
use anyhow::{Context, Result, bail};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The folder of one run's database; removed with everything in it, unless it is to stay.
pub struct Place {
    folder: PathBuf,
    keep: bool,
}

/// Folders that are to go begin so, and go on with the number of the process.
const PASSING: &str = "repro-oltp-";
/// Folders that are to stay.
const KEPT: &str = "kept-oltp-";
/// Says in a folder what its database is.
const IDENTITY: &str = "oltp.json";

impl Place {
    /// A new folder.
    pub fn new(parent: &Path, plan: &LegPlan, keep: bool) -> Result<Place> {
        let prefix = if keep { KEPT } else { PASSING };
        let name = format!("{prefix}{}-{}", std::process::id(), plan.leg.name());
        // Databases of several runs may stay.
        let mut folder = parent.join(&name);
        for number in 2.. {
            match std::fs::create_dir(&folder) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    folder = parent.join(format!("{name}-{number}"))
                }
                made => {
                    made.with_context(|| format!("{}: can't make this folder", folder.display()))?;
                    break;
                }
            }
        }
        Ok(Place { folder, keep })
    }

    /// Says what the database is, now that every row is in it.
    pub fn mark(&self, plan: &LegPlan) -> Result<()> {
        let identity = serde_json::to_string_pretty(&plan.identity())?;
        std::fs::write(self.folder.join(IDENTITY), identity)
            .with_context(|| self.folder.display().to_string())
    }

    /// A folder that has stayed, if its database is the one that is needed.
    pub fn again(folder: &Path, plan: &LegPlan) -> Result<Place> {
        let path = folder.join(IDENTITY);
        let text = store::read_text(&path, 4096).context("--reuse takes a folder that --keep left")?;
        let found: Identity = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
        if found != plan.identity() {
            bail!(
                "--reuse {}: the database is another: {found:?}, needed {:?}",
                folder.display(),
                plan.identity()
            );
        }
        Ok(Place { folder: folder.to_path_buf(), keep: true })
    }

    /// The database in it.
    pub fn database(&self) -> PathBuf {
        self.folder.join("oltp.db")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.keep {
            eprintln!("kept: {}", self.folder.display());
            return;
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// What a run may leave in its folder.
const FILES: [&str; 5] = ["oltp.db", "oltp.db-wal", "oltp.db-shm", "oltp.db-journal", IDENTITY];

/// Removes what runs that were killed have left: folders of ours whose process is gone, with nothing else in them.
pub fn remove_stale(parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let maker = name.strip_prefix(PASSING).and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        let gone = maker.is_some_and(|pid| !process::is_running(pid));
        // A link is not a folder of ours, whatever it points to.
        let folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if gone && folder && holds_only_ours(&entry.path()) {
            for file in FILES {
                let _ = std::fs::remove_file(entry.path().join(file));
            }
            let _ = std::fs::remove_dir(entry.path());
        }
    }
}

fn holds_only_ours(folder: &Path) -> bool {
    let ours = |file: std::fs::DirEntry| {
        let known = FILES.iter().any(|name| file.file_name() == *name);
        known && file.file_type().is_ok_and(|kind| kind.is_file())
    };
    std::fs::read_dir(folder).is_ok_and(|mut files| files.all(|file| file.is_ok_and(ours)))
}
