//! References: published figures (CSV) with their citation, parameters and claims (a TOML file of the same
//! name).
//!
//! `reference/README.md` explains the format.

mod figures;

pub use figures::{Figure, FigureLine};

use super::claim::Claim;
use crate::figure::{FigureKey, Parameters, Shape};
use crate::record::compile_flags;
use crate::record::store::read_text;
use anyhow::{Context, Result, anyhow, bail};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::Path;

/// The largest size of a reference file in bytes; the largest sensible one has a few hundred lines.
const LARGEST: u64 = 4 * 1024 * 1024;

/// Published figures, with all that is needed to judge a record by them.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The name of the file without its extension.
    pub name: String,
    /// The contents of the TOML file.
    pub about: About,
    /// The figures from the CSV file.
    pub figures: Vec<Figure>,
    /// The shape of the study that reproduces the reference.
    pub shape: &'static Shape,
    /// Every parameter, defaults included, as a record holds them.
    pub parameters: Parameters,
}

/// The contents of the TOML file.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// The name of the study that reproduces the reference.
    #[serde(alias = "suite")]
    pub study: String,
    /// A sentence that says what the reference is.
    pub title: String,
    /// Where the figures were published.
    pub citation: Citation,
    /// The engine that was measured.
    pub engine: EngineFacts,
    /// The machine in the publication's words, under any keys.
    #[serde(default)]
    pub host: BTreeMap<String, String>,
    /// What the publication does not say, or what was inferred from it with care.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The legs of a study whose legs are builds, such as several runtimes of one tool; a key then begins with its leg.
    /// The leg that this program measures has the study's own name for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub legs: Vec<String>,
    /// The parameters of the study; a parameter that is not given has its default.
    pub parameters: toml::Table,
    /// How far a step may be off.
    #[serde(default)]
    pub tolerance: Tolerance,
    /// Sentences of the publication that can be tested.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
}

/// Where figures were published.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Citation {
    /// The name of the author.
    pub author: String,
    /// The title of the publication.
    pub title: String,
    /// The year or date of publication.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The address of the publication.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

impl fmt::Display for Citation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, “{}”", self.author, self.title)?;
        for part in [&self.date, &self.url].into_iter().flatten() {
            write!(f, ", {part}")?;
        }
        Ok(())
    }
}

/// The engine of a reference.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EngineFacts {
    /// The SQLite version, such as `3.53.4`; absent if the publication does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sqlite_version: Option<String>,
    /// As much of `SQLITE_SOURCE_ID` as is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_id: Option<String>,
    /// The compiler flags, `-O…` and `-D…`.
    pub flags: Vec<String>,
    /// The compiler as the publication names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compiler: Option<String>,
    /// The verification hash, if it was published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

impl EngineFacts {
    /// Returns the flags that change the code, as [`crate::record::Record::flags`] does.
    pub fn flags(&self) -> Vec<String> {
        compile_flags(&self.flags.join(" "))
    }
}

/// How far figures may be off after division by the machine factor, and absolutely.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tolerance {
    /// The factor allowed after division by the machine factor.
    pub factor: f64,
    /// The factor allowed for absolute times, with `--strict`.
    pub strict: f64,
    /// The root mean square of ln(ratio / machine factor) allowed over all figures of a group; absent for the
    /// default, which [`Tolerance::spread`] gives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<f64>,
}

/// The spread allowed by default, as a fraction of ln(factor). With the default factor of 2 it is 0.28, which
/// refuses an unoptimised build on one machine and is at the edge for the cited build on another (docs/power.md).
const SPREAD_OF_FACTOR: f64 = 0.4;

impl Default for Tolerance {
    fn default() -> Self {
        Tolerance { factor: 2.0, strict: 1.25, spread: None }
    }
}

impl Tolerance {
    /// Returns the spread allowed over all figures of a group.
    pub fn spread(&self) -> f64 {
        self.spread.unwrap_or(SPREAD_OF_FACTOR * self.factor.ln())
    }
}

/// The text of a reference, and where each part of it comes from.
pub struct Text {
    /// The name of the reference.
    pub name: String,
    /// The path and the text of the CSV.
    pub csv: (String, String),
    /// The path and the text of the TOML.
    pub toml: (String, String),
}

impl Text {
    /// Reads NAME.csv and the NAME.toml beside it.
    ///
    /// # Errors
    /// Fails when the name does not end in `.csv`, or when a file is missing, too large or not UTF-8.
    pub fn read(csv: &Path) -> Result<Text> {
        if csv.extension().is_none_or(|ending| ending != "csv") {
            bail!("{}: expected a file NAME.csv with NAME.toml beside it", csv.display());
        }
        let toml = csv.with_extension("toml");
        let figures = read_text(csv, LARGEST)?;
        let about = read_text(&toml, LARGEST).with_context(|| {
            format!("{}: its citation and claims must be in a file beside it", csv.display())
        })?;
        Ok(Text {
            name: csv.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            csv: (csv.display().to_string(), figures),
            toml: (toml.display().to_string(), about),
        })
    }
}

impl Reference {
    /// Parses a reference; `shape_of` finds the shape of a study by its name.
    ///
    /// # Errors
    /// Names the file and the line that is wrong, and says what was expected and what to do.
    pub fn parse(text: &Text, shape_of: fn(&str) -> Option<&'static Shape>) -> Result<Reference> {
        let ((csv, figures), (toml, about_text)) = (&text.csv, &text.toml);
        let figures = figures::read(csv, figures)?;
        let in_toml = |reason: String| anyhow!("{toml}: {reason}");
        let about: About = toml::from_str(about_text).map_err(|error| in_toml(error.to_string()))?;
        let shape = shape_of(&about.study).ok_or_else(|| {
            in_toml(format!("this program has no study `{}`; see `repro list`", about.study))
        })?;
        let written = serde_json::to_value(&about.parameters).map_err(|error| in_toml(error.to_string()))?;
        let parameters =
            (shape.parameters)(&written).map_err(|reason| in_toml(format!("[parameters]: {reason}")))?;
        let reference = Reference { name: text.name.clone(), about, figures, shape, parameters };
        reference.check().and_then(|()| reference.check_members_of_claims(about_text)).map_err(in_toml)?;
        reference.check_figures().map_err(|reason| anyhow!("{csv}: {reason}"))?;
        Ok(reference)
    }

    fn check(&self) -> Result<(), String> {
        let Tolerance { factor, strict, spread } = self.about.tolerance;
        if !(factor > 1.0 && factor.is_finite() && strict > 1.0 && strict.is_finite()) {
            return Err("[tolerance]: a factor must be above 1, such as 2.0".to_string());
        }
        if spread.is_some_and(|spread| !(spread > 0.0 && spread.is_finite())) {
            return Err("[tolerance]: spread must be above 0, such as 0.28".to_string());
        }
        let mut ids = HashSet::new();
        for claim in &self.about.claims {
            let figures = claim.figures();
            let legs = || figures.iter().try_for_each(|key| self.check_leg(key));
            let checked = claim.check(self.shape).and_then(|()| legs());
            checked.map_err(|reason| format!("claim `{}`: {reason}", claim.id))?;
            if !ids.insert(&claim.id) {
                return Err(format!("claim `{}` appears twice", claim.id));
            }
        }
        Ok(())
    }

    /// Checks that the study knows every figure.
    fn check_figures(&self) -> Result<(), String> {
        let check = |figure: &Figure| {
            let known = figure.key.check(self.shape).and_then(|()| self.check_leg(&figure.key));
            known.map_err(|reason| format!("line {}: {reason}", figure.line))
        };
        self.figures.iter().try_for_each(check)
    }

    /// Checks that the leg of a row is one that the reference names, since a misspelled one would never be compared.
    fn check_leg(&self, key: &FigureKey) -> Result<(), String> {
        let legs = &self.about.legs;
        match &key.leg {
            _ if !self.shape.has_rows() => Ok(()),
            Some(leg) if legs.contains(leg) => Ok(()),
            None if legs.is_empty() => Ok(()),
            Some(leg) => {
                Err(format!("`{key}`: `{leg}` is not among the legs of the TOML file ({})", legs.join(", ")))
            }
            None => Err(format!(
                "`{key}`: the TOML file names several legs ({}), so a leg must come first",
                legs.join(", ")
            )),
        }
    }

    /// Checks the names of the members of claims, since a misspelled bound must not be treated as absent.
    /// Serde can't refuse unknown members of a claim because its test is flattened into it, but it writes
    /// every member that it knows.
    fn check_members_of_claims(&self, text: &str) -> Result<(), String> {
        let written: toml::Table = toml::from_str(text).map_err(|error| error.to_string())?;
        let written = written.get("claim").and_then(toml::Value::as_array).into_iter().flatten();
        for (claim, written) in self.about.claims.iter().zip(written) {
            let known = toml::Table::try_from(claim).map_err(|error| error.to_string())?;
            let mut members = written.as_table().into_iter().flat_map(toml::Table::keys);
            if let Some(stranger) = members.find(|member| !known.contains_key(*member)) {
                return Err(format!("claim `{}`: unknown key `{stranger}`", claim.id));
            }
        }
        Ok(())
    }
}
