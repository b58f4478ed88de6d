//! Counts how often the same work was captured on this machine: who measures until a figure is fine should say so.

use super::folders;
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

/// Notes a capture of this work, and returns how many there were, this one included.
///
/// # Errors
/// Fails when the list can't be read or written.
pub fn count(study: &str, parameters: &BTreeMap<String, Value>) -> Result<u32> {
    let folder = folders::state()?;
    let path = folder.join("captures.jsonl");
    fs::create_dir_all(&folder)
        .and_then(|()| count_in(&path, &json!({ "study": study, "parameters": parameters }).to_string()))
        .with_context(|| format!("{}: can't count this capture", path.display()))
}

fn count_in(path: &Path, line: &str) -> std::io::Result<u32> {
    OpenOptions::new().create(true).append(true).open(path)?.write_all(format!("{line}\n").as_bytes())?;
    let lines = fs::read_to_string(path)?;
    Ok(lines.lines().filter(|other| *other == line).count() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_work_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("captures.jsonl");
        let counts: Vec<u32> =
            ["a", "b", "a", "a"].iter().map(|line| count_in(&path, line).unwrap()).collect();
        assert_eq!(counts, [1, 1, 2, 3]);
    }
}
