//! The only place that knows how speedtest1 is compiled; the build script includes this file, too.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

/// The flags of the published build: `cc -O3 -DSQLITE_ENABLE_RTREE speedtest1.c sqlite3.c -lpthread -ldl
/// -lm`.
pub const CITED_FLAGS: &[&str] = &["-O3", "-DSQLITE_ENABLE_RTREE"];

/// The three files that speedtest1 is made of.
pub const SOURCES: [&str; 3] = ["sqlite3.c", "sqlite3.h", "speedtest1.c"];

const INPUTS: [&str; 5] = ["speedtest1.c", "sqlite3.c", "-lpthread", "-ldl", "-lm"];

/// Returns the compile command as it is cited, without the path of its output.
pub fn command_line(compiler: &str, flags: &[&str]) -> String {
    [&[compiler], flags, &INPUTS].concat().join(" ")
}

/// Returns the first line that `compiler --version` prints.
///
/// # Errors
/// Fails when the compiler can't be started, and says what to do.
pub fn compiler_version(compiler: &OsStr) -> Result<String, String> {
    let output = Command::new(compiler).arg("--version").stdin(Stdio::null()).output().map_err(|error| {
        format!(
            "C compiler `{}` can't be started ({error}); install gcc or clang, or name another compiler in CC",
            compiler.to_string_lossy()
        )
    })?;
    let text = String::from_utf8_lossy(&output.stdout);
    match text.lines().next().map(str::trim) {
        Some(line) if output.status.success() && !line.is_empty() => Ok(line.to_string()),
        _ => Err(format!(
            "`{} --version` printed nothing; is it a C compiler? Name one in CC",
            compiler.to_string_lossy()
        )),
    }
}

/// Compiles the sources in the folder `sources` into the executable `output`.
///
/// # Errors
/// Returns the messages of the compiler.
pub fn compile(compiler: &OsStr, flags: &[&str], sources: &Path, output: &Path) -> Result<(), String> {
    let unfinished = output.with_extension("part");
    let result = Command::new(compiler)
        .args(flags)
        .args(INPUTS)
        .arg("-o")
        .arg(&unfinished)
        .current_dir(sources)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("`{}` can't be started: {error}", compiler.to_string_lossy()))?;
    if !result.status.success() {
        let said = String::from_utf8_lossy(&result.stderr);
        return Err(format!(
            "`{}` failed ({}):\n{said}",
            command_line(&compiler.to_string_lossy(), flags),
            result.status
        ));
    }
    std::fs::rename(&unfinished, output).map_err(|error| format!("{}: {error}", output.display()))
}
