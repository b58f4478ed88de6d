//! Builds of speedtest1 with other flags, for claims about what a flag does.

use super::native::{self, BUILD};
use super::{compile, process::Ending};
use crate::suite::speedtest1::Workload;
use anyhow::{Context, Result, anyhow, bail};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// What became of one run of another build.
pub struct Probe {
    /// The command that compiled it.
    pub command: String,
    /// Whether it printed TOTAL and ended with status 0.
    pub completed: bool,
    /// The testset in which it stopped.
    pub stopped_in: Option<String>,
    /// Exit status; `None` when a signal ended it.
    pub exit_status: Option<i32>,
    /// What it said on standard error.
    pub message: String,
}

/// Compiles speedtest1 with `flags` into `cache`, from the very sources of this program, unless it is there.
///
/// # Errors
/// Sources that are gone or changed, or a compiler that fails.
pub fn build(flags: &[&str], cache: &Path) -> Result<PathBuf> {
    let sources = Path::new(BUILD.sources_dir);
    for (name, expected) in BUILD.sources {
        let path = sources.join(name);
        let bytes = std::fs::read(&path).with_context(|| {
            format!("{}: another build needs the sources that this program was made of; build it again from its folder", path.display())
        })?;
        if native::sha256(&bytes) != expected {
            bail!("{}: changed since this program was built; build it again", path.display());
        }
    }
    let compiler = OsStr::new(BUILD.compiler);
    let version = compile::compiler_version(compiler).map_err(|text| anyhow!(text))?;
    let command = compile::command_line(BUILD.compiler, flags);
    let inputs = [command.as_str(), &version, BUILD.sources[0].1, BUILD.sources[2].1].join("\n");
    let folder =
        native::private_folder(cache, &format!("variant-{}", &native::sha256(inputs.as_bytes())[..16]))?;
    let path = folder.join("speedtest1");
    if !path.is_file() {
        compile::compile(compiler, flags, sources, &path).map_err(|text| anyhow!(text))?;
    }
    Ok(path)
}

/// Runs a build once, at the smallest size, and tells how far it came.
///
/// # Errors
/// When it can't be started.
pub fn probe(flags: &[&str], setting: &native::Setting, interrupted: &AtomicBool) -> Result<Probe> {
    let workload = Workload { size: 1, ..Workload::default() };
    let run = native::run(setting, &workload, interrupted, &mut |_, _| {})?;
    Ok(Probe {
        command: compile::command_line(BUILD.compiler, flags),
        completed: run.failure.is_none(),
        stopped_in: run.stopped_in,
        exit_status: match run.ending {
            Ending::Exited(status) => Some(status),
            _ => None,
        },
        message: run.stderr.lines().next().unwrap_or_default().to_string(),
    })
}
