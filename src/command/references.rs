//! Finds references: inside this program, in a folder, and as files.

use crate::study::registry;
use crate::verify::Reference;
use crate::verify::reference::Text;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// The name, CSV and TOML of each reference inside this program.
const INSIDE: &[(&str, &str, &str)] = include!(concat!(env!("OUT_DIR"), "/references.rs"));

/// Reads a reference: a file if it exists or the name looks like one, or else the reference of that name in
/// `folder`, or else the one inside this program.
///
/// # Errors
/// Names the file and the line that is wrong, or the name that no reference has.
pub fn load(named: &Path, folder: Option<&Path>) -> Result<Reference> {
    let is_file = named.exists() || named.extension().is_some() || named.components().count() > 1;
    if is_file {
        return parse(&Text::read(named)?);
    }
    let name = named.to_string_lossy();
    if let Some(path) = folder.map(|folder| folder.join(format!("{name}.csv"))).filter(|path| path.exists()) {
        return parse(&Text::read(&path)?);
    }
    match INSIDE.iter().find(|(own, ..)| *own == name) {
        Some(inside) => parse(&text(inside)),
        None => bail!(
            "{name}: no such reference; expected one of {}, a file NAME.csv with NAME.toml beside it, or a name in \
             the folder of --references",
            INSIDE.iter().map(|(own, ..)| *own).collect::<Vec<_>>().join(", ")
        ),
    }
}

/// Returns the references inside this program and those in `folder`, each with the place where it was found.
///
/// # Errors
/// Fails when the folder can't be read.
pub fn all(folder: Option<&Path>) -> Result<Vec<(String, Result<Reference>)>> {
    let mut all: Vec<(String, Result<Reference>)> =
        INSIDE.iter().map(|inside| (inside.0.to_string(), parse(&text(inside)))).collect();
    if let Some(folder) = folder {
        let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        files.retain(|path| path.extension().is_some_and(|ending| ending == "csv"));
        files.sort();
        let read =
            |file: PathBuf| (file.display().to_string(), Text::read(&file).and_then(|text| parse(&text)));
        all.extend(files.into_iter().map(read));
    }
    Ok(all)
}

fn text((name, csv, toml): &(&str, &str, &str)) -> Text {
    Text {
        name: name.to_string(),
        csv: (format!("{name}.csv"), csv.to_string()),
        toml: (format!("{name}.toml"), toml.to_string()),
    }
}

fn parse(text: &Text) -> Result<Reference> {
    Reference::parse(text, registry::shape_of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_them_are_inside() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("reference");
        let all = all(Some(&folder)).unwrap();
        assert_eq!(all.len(), 2 * INSIDE.len(), "each is inside, and in its folder");
        for (place, reference) in all {
            reference.unwrap_or_else(|error| panic!("{place}: {error:#}"));
        }
    }

    #[test]
    fn a_name_that_nobody_has() {
        let error = load(Path::new("tpc-c"), None).err().unwrap().to_string();
        assert!(error.contains("tpc-c: no such reference; expected one of cx23, "), "{error}");
    }
}
