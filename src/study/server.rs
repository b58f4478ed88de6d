//! The server that some studies need.

use super::Wishes;
use super::options::ServerArgs;
use crate::instrument::proc::Usage;
use crate::instrument::sqld::{self, program};
use crate::instrument::{folders, process};
use crate::record::{BuildFacts, Resources};
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::Path;

/// Returns the server options that result from the wishes.
pub fn wished(wishes: &Wishes) -> ServerArgs {
    ServerArgs { sqld: wishes.sqld.clone(), dir: wishes.temp_dir.clone(), ..ServerArgs::default() }
}

/// Returns the configuration of a server that this program starts, with its data in `folder`.
///
/// # Errors
/// Fails when no server is found and none can be fetched.
pub fn own(args: &ServerArgs, folder: &Path) -> Result<sqld::Config> {
    Ok(sqld::Config {
        program: program::find(args.sqld.as_deref(), &folders::cache()?)?,
        arguments: args.sqld_arg.clone(),
        folder: folder.to_path_buf(),
        keep: args.keep,
        launcher: process::own_path()?,
    })
}

/// Returns what is known about how a server was built; it is used as it comes, without a compile command.
pub fn built(server: &program::Program) -> BuildFacts {
    BuildFacts {
        pinned: server.pinned,
        origin: format!("{} ({})", server.path.display(), server.origin),
        sources: BTreeMap::new(),
        command: String::new(),
        compiler: String::new(),
        executable: server.sha256.clone(),
    }
}

/// Converts the usage of a server during a run to resources.
pub fn resources(usage: Usage) -> Resources {
    Resources {
        user_us: usage.user.as_micros() as u64,
        system_us: usage.system.as_micros() as u64,
        peak_memory_bytes: Some(usage.peak_memory_bytes),
        ..Resources::default()
    }
}

/// Describes the server that a study would use on this machine.
pub fn in_words() -> String {
    match folders::cache().and_then(|cache| program::locate(None, &cache)) {
        Ok(Some(sqld)) => {
            let pin = if sqld.pinned { "pinned" } else { "unpinned" };
            format!("{} ({}), {pin}, SHA-256 {}", sqld.path.display(), sqld.origin, sqld.sha256)
        }
        Ok(None) => "not on this machine; the first study with a server fetches the pinned one, which \
                     needs python3 with pip, or uv"
            .to_string(),
        Err(error) => format!("can't be used: {error:#}"),
    }
}
