//! The user's folders, by the XDG rules.

use crate::machine::disk;
use anyhow::{Context, Result, bail};
use nix::unistd::{AccessFlags, access};
use std::path::{Path, PathBuf};

/// Returns the folder that `variable` names, if the path is absolute, or else `default` in the home folder.
fn folder(variable: &str, default: &str) -> Result<PathBuf> {
    let named = std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let in_home = || Some(std::env::home_dir()?.join(default));
    named.or_else(in_home).context("no home folder; set HOME, or XDG_STATE_HOME and XDG_CACHE_HOME")
}

/// Returns the folder where this program keeps what it must remember.
pub fn state() -> Result<PathBuf> {
    Ok(folder("XDG_STATE_HOME", ".local/state")?.join("repro"))
}

/// Returns the folder where records are stored by default.
pub fn records() -> Result<PathBuf> {
    Ok(state()?.join("records"))
}

/// Returns the folder where executables are unpacked.
pub fn cache() -> Result<PathBuf> {
    Ok(folder("XDG_CACHE_HOME", ".cache")?.join("repro"))
}

/// Returns the folder for databases: the given one, or the one where SQLite puts temporary files.
///
/// # Errors
/// Fails when the folder does not exist or can't be written to.
pub fn for_databases(named: Option<&Path>) -> Result<PathBuf> {
    let folder = named.map_or_else(|| disk::sqlite_temporary_directory(None), Path::to_path_buf);
    if !folder.is_dir() || access(&folder, AccessFlags::W_OK).is_err() {
        bail!("{}: no such folder, or no permission to write there; choose one with --dir", folder.display());
    }
    Ok(folder)
}
