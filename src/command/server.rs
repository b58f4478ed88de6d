//! The server of the studies that need one.

use super::folders;
use crate::cli::ServerArgs;
use crate::driver::process;
use crate::driver::sqld::{self, program};
use crate::environment::disk;
use crate::record::BuildFacts;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The folder for databases, which must be one that can be written to.
pub fn folder(named: Option<&Path>) -> Result<PathBuf> {
    let folder = named.map_or_else(|| disk::sqlite_temporary_directory(None), Path::to_path_buf);
    folders::check_databases(&folder)?;
    Ok(folder)
}

/// The setting of a server of our own.
pub fn own(args: &ServerArgs, folder: &Path) -> Result<sqld::Setting> {
    Ok(sqld::Setting {
        program: program::find(args.sqld.as_deref(), &folders::cache()?)?,
        arguments: args.sqld_arg.clone(),
        folder: folder.to_path_buf(),
        keep: args.keep,
        launcher: process::own_path().context("/proc/self/exe can't be read; is /proc mounted?")?,
    })
}

/// How a server came, as far as that is known: it is taken as it is.
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
