//! The user's folders, by the XDG rules.

use anyhow::{Context, Result, bail};
use etcetera::BaseStrategy;
use nix::unistd::{AccessFlags, access};
use std::path::{Path, PathBuf};

fn strategy() -> Result<impl BaseStrategy> {
    etcetera::base_strategy::Xdg::new()
        .context("no home folder; set HOME, or XDG_STATE_HOME and XDG_CACHE_HOME")
}

/// Where records go unless told otherwise.
pub fn records() -> Result<PathBuf> {
    let strategy = strategy()?;
    let state = strategy.state_dir().unwrap_or_else(|| strategy.data_dir());
    Ok(state.join("repro").join("records"))
}

/// Where executables are unpacked.
pub fn cache() -> Result<PathBuf> {
    Ok(strategy()?.cache_dir().join("repro"))
}

/// Refuses a folder in which no database can be made.
///
/// # Errors
/// That it is none, or not to be written to.
pub fn check_databases(folder: &Path) -> Result<()> {
    if !folder.is_dir() || access(folder, AccessFlags::W_OK).is_err() {
        bail!("{}: no such folder, or no permission to write there; choose one with --dir", folder.display());
    }
    Ok(())
}
