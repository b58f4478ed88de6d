//! Finds the sqld to run: one that the user named, one on the machine, or the pinned one, which is fetched if
//! it is missing.

use crate::instrument::scratch::Scratch;
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The script that fetches the pinned server, and its pin; both are inside this program.
const FETCH: &str = include_str!("../../../vendor/fetch");
const LOCK: &str = include_str!("../../../vendor/sqld.lock");
/// The pinned server beside the sources that this program was built from.
const VENDOR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/vendor/sqld/sqld");

/// A server program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The path of the program.
    pub path: PathBuf,
    /// How the program was found: `--sqld`, `SQLD`, `PATH`, `vendor` or `cache`.
    pub origin: String,
    /// The SHA-256 of the file, in hexadecimal.
    pub sha256: String,
    /// Whether it is the pinned program.
    pub pinned: bool,
}

/// Finds sqld by `--sqld`, then `SQLD`, then `PATH`, then in vendor/ and in `cache`, where it is fetched if
/// all else fails.
///
/// # Errors
/// Fails when a named file is not a program, or says what kept sqld from being fetched.
pub fn find(named: Option<&Path>, cache: &Path) -> Result<Program> {
    if let Some(program) = locate(named, cache)? {
        return Ok(program);
    }
    fetch(cache)?;
    locate(named, cache)?.context("sqld was fetched but is gone again; name one with --sqld")
}

/// Finds sqld without fetching it; returns `None` if it would have to be fetched.
///
/// # Errors
/// Fails when a named file is not a program, or when a fetched one was changed.
pub fn locate(named: Option<&Path>, cache: &Path) -> Result<Option<Program>> {
    if let Some(path) = named {
        return Program::at(path, "--sqld").map(Some);
    }
    if let Some(path) = std::env::var_os("SQLD").filter(|path| !path.is_empty()) {
        return Program::at(Path::new(&path), "SQLD").map(Some);
    }
    if let Some(path) = in_path() {
        return Program::at(&path, "PATH").map(Some);
    }
    if Path::new(VENDOR).is_file() {
        return Program::at(Path::new(VENDOR), "vendor").map(Some);
    }
    let path = cache.join("sqld").join("sqld");
    if !path.is_file() {
        return Ok(None);
    }
    let program = Program::at(&path, "cache")?;
    if !program.pinned {
        bail!("{}: not the file that was fetched; delete it to have it fetched again", path.display());
    }
    Ok(Some(program))
}

fn in_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("sqld")).find(|file| is_executable(file))
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && nix::unistd::access(path, nix::unistd::AccessFlags::X_OK).is_ok()
}

/// Runs the script, which reports its actions on standard error.
fn fetch(cache: &Path) -> Result<()> {
    std::fs::create_dir_all(cache).with_context(|| cache.display().to_string())?;
    let script = Scratch::new(cache, "fetch", &["fetch", "sqld.lock"], false)?;
    let write = |name: &str, text: &str| std::fs::write(script.path().join(name), text);
    write("fetch", FETCH)
        .and_then(|()| write("sqld.lock", LOCK))
        .with_context(|| cache.display().to_string())?;
    let status = Command::new("sh")
        .arg(script.path().join("fetch"))
        .arg("sqld")
        .arg(cache.join("sqld"))
        .status()
        .context("sh can't be started")?;
    if !status.success() {
        bail!(
            "there is no sqld on this machine, and it could not be fetched (see above); name one with --sqld"
        );
    }
    Ok(())
}

impl Program {
    fn at(path: &Path, origin: &str) -> Result<Program> {
        let path = path.canonicalize().with_context(|| format!("{origin} {}", path.display()))?;
        if !is_executable(&path) {
            bail!("{origin} {}: not a program; name an executable sqld", path.display());
        }
        let sha256 = sha256(&path).with_context(|| format!("{origin} {}", path.display()))?;
        let pin = LOCK.lines().find_map(|line| line.strip_prefix("sqld_sha256="));
        Ok(Program { pinned: pin == Some(sha256.as_str()), path, origin: origin.to_string(), sha256 })
    }
}

fn sha256(path: &Path) -> Result<String> {
    let mut file = std::fs::File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()),
            count => hash.update(&buffer[..count]),
        }
    }
}
