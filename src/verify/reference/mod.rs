//! References: published figures (CSV) with their citation, parameters and claims (TOML of the same name).
//!
//! `reference/README.md` explains the format.

mod figures;

pub use figures::{Figure, FigureLine};

use super::claim::Claim;
use crate::record::store::read_text;
use crate::suite::load::{MillionParameters, SweepParameters};
use crate::suite::speedtest1::Workload;
use crate::suite::{Suite, oltp, serverless};
use anyhow::{Context, Result, anyhow, bail};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::Path;

/// A reference larger than this is refused; the largest that makes sense has a few hundred lines.
const LARGEST: u64 = 4 * 1024 * 1024;

/// Published figures with all that is needed to judge a record by them.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The file's name without its ending.
    pub name: String,
    /// What the TOML says.
    pub about: About,
    /// What the CSV says.
    pub figures: Vec<Figure>,
}

/// The TOML file.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// The suite that reproduces it.
    pub suite: String,
    /// What it is, in a sentence.
    pub title: String,
    /// Where it was published.
    pub citation: Citation,
    /// The engine that was measured.
    pub engine: EngineFacts,
    /// The machine, in the publication's words: free keys.
    #[serde(default)]
    pub host: BTreeMap<String, String>,
    /// What is not said in the publication, or read from it with care.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The suite's parameters; what is not named has its default.
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
    /// Who.
    pub author: String,
    /// What.
    pub title: String,
    /// When: a year or a date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Where.
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
    /// Such as `3.53.4`; absent where the publication does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sqlite_version: Option<String>,
    /// As much as is known of `SQLITE_SOURCE_ID`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_id: Option<String>,
    /// Compiler flags, `-O…` and `-D…`.
    pub flags: Vec<String>,
    /// The compiler as the publication names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compiler: Option<String>,
    /// The verification hash, when it was published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

/// How far a step may be off, as factors.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tolerance {
    /// After division by the machine factor.
    pub factor: f64,
    /// Of absolute times, with `--strict`.
    pub strict: f64,
}

impl Default for Tolerance {
    fn default() -> Self {
        Tolerance { factor: 2.0, strict: 1.25 }
    }
}

impl About {
    /// The parameters of speedtest1.
    ///
    /// # Errors
    /// A parameter that speedtest1 does not have, or a value that can't be.
    pub fn workload(&self) -> Result<Workload, String> {
        let workload: Workload = self.typed()?;
        workload.check()?;
        Ok(workload)
    }

    /// The parameters of the real-workload study.
    ///
    /// # Errors
    /// A parameter that it does not have.
    pub fn oltp(&self) -> Result<oltp::Parameters, String> {
        let parameters: oltp::Parameters = self.typed()?;
        parameters.check()?;
        Ok(parameters)
    }

    /// The parameters of the port that runs embedded and through a server.
    ///
    /// # Errors
    /// A parameter that it does not have.
    pub fn serverless(&self) -> Result<serverless::Parameters, String> {
        self.typed()
    }

    /// The parameters of the sweep over numbers of clients.
    ///
    /// # Errors
    /// A parameter that it does not have, or a value that can't be.
    pub fn sweep(&self) -> Result<SweepParameters, String> {
        let parameters: SweepParameters = self.typed()?;
        parameters.check().map_err(|reason| format!("[parameters]: {reason}"))?;
        Ok(parameters)
    }

    /// The parameters of the million statements.
    ///
    /// # Errors
    /// A parameter that it does not have, or a value that can't be.
    pub fn million(&self) -> Result<MillionParameters, String> {
        let parameters: MillionParameters = self.typed()?;
        parameters.check().map_err(|reason| format!("[parameters]: {reason}"))?;
        Ok(parameters)
    }

    fn typed<T: DeserializeOwned>(&self) -> Result<T, String> {
        self.parameters.clone().try_into().map_err(|error| format!("[parameters]: {error}"))
    }

    /// The suite, as the registry has it.
    ///
    /// # Errors
    /// A suite that does not exist.
    pub fn suite(&self) -> Result<&'static Suite, String> {
        Suite::named(&self.suite).ok_or_else(|| {
            format!("suite `{}` is not one that this program has; see `repro list`", self.suite)
        })
    }

    /// Every parameter, defaults included, as a record holds them.
    ///
    /// # Errors
    /// A suite or a parameter that does not exist.
    pub fn all_parameters(&self) -> Result<BTreeMap<String, Value>, String> {
        let all = match self.suite()?.name {
            "oltp" => serde_json::to_value(self.oltp()?),
            "serverless" => serde_json::to_value(self.serverless()?),
            "sweep" => serde_json::to_value(self.sweep()?),
            "million" => serde_json::to_value(self.million()?),
            _ => serde_json::to_value(self.workload()?),
        };
        match all {
            Ok(Value::Object(map)) => Ok(map.into_iter().collect()),
            _ => Ok(BTreeMap::new()),
        }
    }
}

impl Reference {
    /// Reads NAME.csv and the NAME.toml beside it.
    ///
    /// # Errors
    /// The file and line that is wrong, what was expected and what to do.
    pub fn load(csv: &Path) -> Result<Reference> {
        if csv.extension().is_none_or(|ending| ending != "csv") {
            bail!("{}: a reference is a file NAME.csv with NAME.toml beside it", csv.display());
        }
        let figures = figures::read(csv)?;
        let toml = csv.with_extension("toml");
        let text = read_text(&toml, LARGEST)
            .with_context(|| format!("{}: its citation and claims belong beside it", csv.display()))?;
        let about: About = toml::from_str(&text).map_err(|error| anyhow!("{}: {error}", toml.display()))?;
        let reference = Reference {
            name: csv.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            about,
            figures,
        };
        let checked = reference.check().and_then(|()| reference.check_members_of_claims(&text));
        checked.map_err(|reason| anyhow!("{}: {reason}", toml.display()))?;
        reference.check_figures().map_err(|reason| anyhow!("{}: {reason}", csv.display()))?;
        Ok(reference)
    }

    fn check(&self) -> Result<(), String> {
        let suite = self.about.suite()?;
        self.about.all_parameters()?;
        let Tolerance { factor, strict } = self.about.tolerance;
        if !(factor > 1.0 && factor.is_finite() && strict > 1.0 && strict.is_finite()) {
            return Err("[tolerance]: a factor must be above 1, such as 2.0".to_string());
        }
        let mut ids = HashSet::new();
        for claim in &self.about.claims {
            claim.check(suite).map_err(|reason| format!("claim `{}`: {reason}", claim.id))?;
            if !ids.insert(&claim.id) {
                return Err(format!("claim `{}` stands there twice", claim.id));
            }
        }
        Ok(())
    }

    /// The suite must know every figure.
    fn check_figures(&self) -> Result<(), String> {
        let suite = self.about.suite()?;
        let check = |figure: &Figure| {
            figure.key.check(suite).map_err(|reason| format!("line {}: {reason}", figure.line))
        };
        self.figures.iter().try_for_each(check)
    }

    /// A misspelt bound must not be a bound that is absent. Serde can't refuse unknown members of a claim,
    /// for its test is flattened into it; but what it knows it also writes.
    fn check_members_of_claims(&self, text: &str) -> Result<(), String> {
        let written: toml::Table = toml::from_str(text).map_err(|error| error.to_string())?;
        let written = written.get("claim").and_then(toml::Value::as_array).into_iter().flatten();
        for (claim, written) in self.about.claims.iter().zip(written) {
            let known = toml::Table::try_from(claim).map_err(|error| error.to_string())?;
            let mut members = written.as_table().into_iter().flat_map(toml::Table::keys);
            if let Some(stranger) = members.find(|member| !known.contains_key(*member)) {
                return Err(format!("claim `{}`: unknown member `{stranger}`", claim.id));
            }
        }
        Ok(())
    }
}
