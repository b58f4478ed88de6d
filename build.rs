//! Fetches the pinned SQLite and checks it, compiles the official speedtest1 exactly as cited, and records in
//! the program what it was made of. SQLite is compiled again only when its inputs have changed.

#[path = "src/instrument/build/compile.rs"]
mod compile;

use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn main() {
    if let Err(error) = build() {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}

fn build() -> Result<(), String> {
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(variable("OUT_DIR")?);
    watch(&root);
    let lock = key_values(&root.join("vendor/sqlite.lock"))?;
    let sources = bring_sources(&root, &out, &lock)?;

    let tool = cc::Build::new().cargo_metadata(false).try_get_compiler().map_err(|e| e.to_string())?;
    let compiler = tool.path().as_os_str();
    let version = compile::compiler_version(compiler)?;
    let command = compile::command_line(&compiler.to_string_lossy(), compile::CITED_FLAGS);
    let fingerprint = format!("{command}\n{version}\n{}\n", sources.hashes.join("\n"));
    let executable = compile_once(compiler, &sources.folder, &out, &fingerprint)?;

    stamp("COMPILER", &compiler.to_string_lossy());
    stamp("COMPILE_COMMAND", &command);
    stamp("COMPILER_VERSION", &version);
    stamp("TOOL_PATH", &executable.to_string_lossy());
    stamp("TOOL_SHA256", &sha256(&executable)?);
    stamp("SOURCES_DIR", &sources.folder.to_string_lossy());
    stamp("SOURCES_ORIGIN", &sources.origin);
    stamp("SQLITE_VERSION", &define(&sources.folder, "SQLITE_VERSION")?);
    stamp("SOURCE_ID", &define(&sources.folder, "SQLITE_SOURCE_ID")?);
    stamp("PINNED", if sources.pinned { "yes" } else { "no" });
    for (name, hash) in ["SQLITE3_C", "SQLITE3_H", "SPEEDTEST1_C"].iter().zip(&sources.hashes) {
        stamp(&format!("{name}_SHA256"), hash);
    }
    stamp("REVISION", &git_revision(&root));
    list_references(&root.join("reference"), &out.join("references.rs"))
}

/// Writes the list of the references that are included in the program: the name, CSV and TOML of each.
fn list_references(folder: &Path, list: &Path) -> Result<(), String> {
    let fault = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut names: Vec<String> = fs::read_dir(folder)
        .map_err(fault)?
        .flatten()
        .filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".csv")?.to_string()))
        .collect();
    names.sort();
    let file =
        |name: &str, ending: &str| format!("include_str!({:?})", folder.join(format!("{name}.{ending}")));
    let line = |name: &String| format!("({name:?}, {}, {}),\n", file(name, "csv"), file(name, "toml"));
    let text = format!("&[\n{}]\n", names.iter().map(line).collect::<String>());
    fs::write(list, text).map_err(|error| format!("{}: {error}", list.display()))
}

struct Sources {
    folder: PathBuf,
    hashes: [String; 3],
    origin: String,
    pinned: bool,
}

/// Returns the sources, which are fetched if they are missing, and refused if they are not what they claim to
/// be.
fn bring_sources(root: &Path, out: &Path, lock: &HashMap<String, String>) -> Result<Sources, String> {
    let own_tree = std::env::var_os("REPRO_SQLITE_SRC").is_some_and(|path| !path.is_empty());
    // A tree that the user names must not replace the pinned one.
    let folder = if own_tree { out.join("sqlite") } else { root.join("vendor/sqlite") };
    let complete = compile::SOURCES.iter().chain(&["ORIGIN"]).all(|name| folder.join(name).is_file());
    if own_tree || !complete {
        say("Fetching", &format!("SQLite {} (vendor/fetch)", pin(lock, "version")?));
        fetch(root, &folder)?;
    }
    let origin = key_values(&folder.join("ORIGIN"))?;
    let mut hashes = [const { String::new() }; 3];
    let mut pinned = true;
    for (hash, name) in hashes.iter_mut().zip(compile::SOURCES) {
        let key = format!("{}_sha256", name.replace('.', "_"));
        *hash = sha256(&folder.join(name))?;
        let pin = pin(lock, &key)?;
        pinned &= hash == pin;
        let admitted =
            origin.get("pinned").is_some_and(|word| word == "no") && origin.get(&key) == Some(hash);
        if hash != pin && !admitted {
            return Err(format!(
                "{}: SHA-256 is {hash}, but vendor/sqlite.lock pins {pin}. Delete {} and build again to fetch it again; \
                 to use other sources knowingly, name them in REPRO_SQLITE_SRC.",
                folder.join(name).display(),
                folder.display()
            ));
        }
    }
    let from = |key: &str| origin.get(key).cloned().unwrap_or_default();
    if !pinned {
        println!(
            "cargo:warning=SQLite {} is not the pinned {}: every record will say `unpinned`",
            from("version"),
            pin(lock, "version")?
        );
    }
    Ok(Sources { folder, hashes, origin: format!("{} {}", from("route"), from("from")), pinned })
}

fn fetch(root: &Path, folder: &Path) -> Result<(), String> {
    let script = root.join("vendor/fetch");
    let mut command = Command::new("sh");
    command.arg(&script).arg("sqlite").arg(folder).stdin(Stdio::null());
    if cargo_is_offline() {
        command.env("REPRO_OFFLINE", "1");
    }
    let output = command.output().map_err(|error| format!("{}: {error}", script.display()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("vendor/fetch could not get SQLite's sources:\n{}", String::from_utf8_lossy(&output.stderr)))
}

/// Returns whether Cargo is offline. It does not tell build scripts about `--offline`, but its command line
/// can be read.
fn cargo_is_offline() -> bool {
    let parent = std::os::unix::process::parent_id();
    let words = fs::read(format!("/proc/{parent}/cmdline")).unwrap_or_default();
    words.split(|byte| *byte == 0).any(|word| word == b"--offline" || word == b"--frozen")
}

/// Compiles the tool, unless an executable made from the same inputs exists already.
fn compile_once(compiler: &OsStr, sources: &Path, out: &Path, fingerprint: &str) -> Result<PathBuf, String> {
    let executable = out.join("speedtest1");
    let note = out.join("speedtest1.fingerprint");
    let noted = |hash: &str| format!("{fingerprint}{hash}\n");
    let current = sha256(&executable).ok().map(|hash| noted(&hash));
    if current.is_some() && current == fs::read_to_string(&note).ok() {
        return Ok(executable);
    }
    say("Compiling", "speedtest1 with SQLite at -O3 (about half a minute)");
    compile::compile(compiler, compile::CITED_FLAGS, sources, &executable)?;
    fs::write(&note, noted(&sha256(&executable)?)).map_err(|error| format!("{}: {error}", note.display()))?;
    Ok(executable)
}

/// Declares what makes this script run again. `src` is watched because the revision says whether the tree is
/// clean.
fn watch(root: &Path) {
    for path in
        ["build.rs", "Cargo.toml", "src", "vendor/fetch", "vendor/sqlite.lock", "vendor/sqlite", "reference"]
    {
        println!("cargo:rerun-if-changed={path}");
    }
    for name in ["CC", "REPRO_SQLITE_SRC", "REPRO_OFFLINE", "CARGO_NET_OFFLINE"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    if let Ok(path) = std::env::var("REPRO_SQLITE_SRC") {
        println!("cargo:rerun-if-changed={path}");
    }
    let head = root.join(".git/HEAD");
    if let Ok(text) = fs::read_to_string(&head) {
        println!("cargo:rerun-if-changed={}", head.display());
        if let Some(branch) = text.strip_prefix("ref: ") {
            println!("cargo:rerun-if-changed={}", root.join(".git").join(branch.trim()).display());
        }
    }
}

/// Returns the commit of the project, with `-dirty` appended when files differ from it, or `unknown` outside
/// a repository.
fn git_revision(root: &Path) -> String {
    let git = |arguments: &[&str]| {
        let output =
            Command::new("git").arg("-C").arg(root).args(arguments).stderr(Stdio::null()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
    };
    let Some(commit) = git(&["rev-parse", "HEAD"]) else { return "unknown".to_string() };
    match git(&["status", "--porcelain", "--untracked-files=no"]) {
        Some(changes) if changes.is_empty() => commit,
        _ => format!("{commit}-dirty"),
    }
}

/// Returns the text of a `#define NAME "TEXT"` in sqlite3.h.
fn define(folder: &Path, name: &str) -> Result<String, String> {
    let path = folder.join("sqlite3.h");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let value = text.lines().find_map(|line| {
        let mut words = line.strip_prefix("#define ")?.splitn(2, char::is_whitespace);
        (words.next()? == name).then(|| words.next().unwrap_or("").trim().trim_matches('"').to_string())
    });
    value.ok_or_else(|| format!("{} does not define {name}", path.display()))
}

fn key_values(path: &Path) -> Result<HashMap<String, String>, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    Ok(lines.filter_map(|line| line.split_once('=')).map(|(k, v)| (k.to_string(), v.to_string())).collect())
}

fn pin<'a>(lock: &'a HashMap<String, String>, key: &str) -> Result<&'a String, String> {
    lock.get(key).ok_or_else(|| format!("vendor/sqlite.lock: no `{key}=`"))
}

fn sha256(path: &Path) -> Result<String, String> {
    let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect())
}

fn variable(name: &str) -> Result<String, String> {
    std::env::var(name).map_err(|_| format!("{name} is not set; run this through cargo"))
}

fn stamp(name: &str, value: &str) {
    println!("cargo:rustc-env=REPRO_{name}={}", value.replace('\n', " "));
}

/// Prints to the terminal, because Cargo hides what a build script prints and a user should see why a build
/// takes long.
fn say(what: &str, detail: &str) {
    if let Ok(mut terminal) = fs::OpenOptions::new().write(true).open("/dev/tty") {
        let _ = write!(terminal, "\r\x1b[2K\x1b[1;32m{what:>12}\x1b[0m {detail}\r\n");
    }
}
