//! The user's folders, by the XDG rules.

use anyhow::{Context, Result};
use etcetera::BaseStrategy;
use std::path::PathBuf;

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
