//! Builds of speedtest1 with other flags, for claims about what a flag does.

use super::super::Workload;
use super::tool::{self, BUILD};
use crate::instrument::build as compile;
use crate::instrument::scratch::private_folder;
use crate::record::{Cause, Variant};
use anyhow::{Context, Result, anyhow, bail};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Compiles speedtest1 with `flags` into `cache`, from the sources of this program, unless it is there
/// already.
///
/// # Errors
/// Fails when the sources are gone or have changed, or when the compiler fails.
pub fn build(flags: &[&str], cache: &Path) -> Result<PathBuf> {
    let sources = Path::new(BUILD.sources_dir);
    for (name, expected) in BUILD.sources {
        let path = sources.join(name);
        let bytes = std::fs::read(&path).with_context(|| {
            format!("{}: another build needs the sources that this program was built from; build the program again from its folder", path.display())
        })?;
        if tool::sha256(&bytes) != expected {
            bail!("{}: changed since this program was built; build the program again", path.display());
        }
    }
    let compiler = OsStr::new(BUILD.compiler);
    let version = compile::compiler_version(compiler).map_err(|text| anyhow!(text))?;
    let command = compile::command_line(BUILD.compiler, flags);
    let inputs = [command.as_str(), &version, BUILD.sources[0].1, BUILD.sources[2].1].join("\n");
    let folder = private_folder(cache, &format!("variant-{}", &tool::sha256(inputs.as_bytes())[..16]))?;
    let path = folder.join("speedtest1");
    if !path.is_file() {
        compile::compile(compiler, flags, sources, &path).map_err(|text| anyhow!(text))?;
    }
    Ok(path)
}

/// Makes `runs` runs of a build at the smallest size, and returns how far each came.
///
/// # Errors
/// Fails when the tool can't be started or the user interrupts it.
pub fn probe(
    name: &str,
    flags: &[&str],
    place: &tool::Place,
    runs: usize,
    interrupted: &AtomicBool,
) -> Result<Variant> {
    let workload = Workload { size: 1, ..Workload::default() };
    let mut variant = Variant {
        name: name.to_string(),
        command: compile::command_line(BUILD.compiler, flags),
        completed: Vec::new(),
        stopped_in: Vec::new(),
        message: String::new(),
    };
    for _ in 0..runs {
        let run = tool::run(place, &workload, interrupted, &mut |_, _| {})?;
        if let Some(failure) = run.failure.as_ref().filter(|failure| failure.cause == Cause::Interrupted) {
            return Err(failure.clone().into());
        }
        variant.message = run.stderr.lines().next().unwrap_or_default().to_string();
        variant.completed.push(run.failure.is_none());
        variant.stopped_in.push(run.stopped_in);
    }
    Ok(variant)
}
