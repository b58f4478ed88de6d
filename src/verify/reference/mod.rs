//! References: published figures (CSV) with their citation, parameters and claims (TOML of the same name).
//!
//! `reference/README.md` explains the format.

use super::claim::Claim;
use super::figure::FigureKey;
use crate::record::store::read_text;
use crate::suite::oltp;
use crate::suite::speedtest1::Workload;
use anyhow::{Context, Result, anyhow, bail};
use serde::{Deserialize, Serialize};
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
    /// Such as `3.53.4`.
    pub sqlite_version: String,
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

/// One published figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What it is about.
    pub key: FigureKey,
    /// Official name of the step.
    pub step: String,
    /// The time in ms, or operations per second.
    pub value: f64,
    /// One unit of its last digit, as much.
    pub error: f64,
    /// Why it can't be compared with anything measured here.
    pub not_comparable: Option<String>,
}

/// A line of the CSV as it stands there.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FigureLine {
    /// `TESTSET/NUMBER`, with `#2` for the second step of that number; `TOTAL`; or `LEG/PHASE/METRIC`.
    pub key: String,
    /// Official name of the step.
    pub step: String,
    /// As published.
    pub value: String,
    /// s, ms, us or ns; /s of a rate.
    pub unit: String,
    /// Lower end of the interval, if published.
    #[serde(default)]
    pub low: Option<String>,
    /// Upper end of the interval, if published.
    #[serde(default)]
    pub high: Option<String>,
    /// How many runs, if published.
    #[serde(default)]
    pub runs: Option<String>,
    /// The publication's own words for the step.
    #[serde(default)]
    pub published_as: Option<String>,
    /// Why the figure can't be judged, if it can't.
    #[serde(default)]
    pub not_comparable: Option<String>,
}

impl About {
    /// The parameters of speedtest1.
    ///
    /// # Errors
    /// A parameter that speedtest1 does not have, or a value that can't be.
    pub fn workload(&self) -> Result<Workload, String> {
        let workload: Workload =
            self.parameters.clone().try_into().map_err(|error| format!("[parameters]: {error}"))?;
        workload.check()?;
        Ok(workload)
    }

    /// The parameters of the real-workload study.
    ///
    /// # Errors
    /// A parameter that it does not have.
    pub fn oltp(&self) -> Result<oltp::Parameters, String> {
        let parameters: oltp::Parameters =
            self.parameters.clone().try_into().map_err(|error| format!("[parameters]: {error}"))?;
        parameters.check()?;
        Ok(parameters)
    }

    /// Every parameter, defaults included, as a record holds them.
    ///
    /// # Errors
    /// A suite or a parameter that does not exist.
    pub fn all_parameters(&self) -> Result<BTreeMap<String, Value>, String> {
        let all = match self.suite.as_str() {
            "speedtest1" => serde_json::to_value(self.workload()?),
            "oltp" => serde_json::to_value(self.oltp()?),
            other => {
                return Err(format!("suite `{other}` is not one that this program has; see `repro list`"));
            }
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
        let figures = read_figures(csv)?;
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
        Ok(reference)
    }

    fn check(&self) -> Result<(), String> {
        self.about.all_parameters()?;
        let Tolerance { factor, strict } = self.about.tolerance;
        if !(factor > 1.0 && factor.is_finite() && strict > 1.0 && strict.is_finite()) {
            return Err("[tolerance]: a factor must be above 1, such as 2.0".to_string());
        }
        let mut ids = HashSet::new();
        for claim in &self.about.claims {
            claim.check().map_err(|reason| format!("claim `{}`: {reason}", claim.id))?;
            if !ids.insert(&claim.id) {
                return Err(format!("claim `{}` stands there twice", claim.id));
            }
        }
        Ok(())
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

fn read_figures(path: &Path) -> Result<Vec<Figure>> {
    let text = read_text(path, LARGEST)?;
    let name = path.display();
    let mut reader =
        csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|error| anyhow!("{name}: {error}"))?.clone();
    let known = ["key", "step", "value", "unit", "low", "high", "runs", "published_as", "not_comparable"];
    if let Some(stranger) = headers.iter().find(|header| !known.contains(header)) {
        bail!("{name}: line 1: unknown column `{stranger}`; the columns are {}", known.join(", "));
    }
    if let Some(missing) = known[..4].iter().find(|column| !headers.iter().any(|header| header == **column)) {
        bail!("{name}: line 1: no column `{missing}`; expected at least {}", known[..4].join(", "));
    }
    let mut figures: Vec<Figure> = Vec::new();
    for row in reader.records() {
        let row = row.map_err(|error| anyhow!("{name}: {error}"))?;
        let line = row.position().map_or(0, |position| position.line());
        let parsed: FigureLine =
            row.deserialize(Some(&headers)).map_err(|error| anyhow!("{name}: line {line}: {error}"))?;
        let figure = figure(&parsed).map_err(|reason| anyhow!("{name}: line {line}: {reason}"))?;
        if figures.iter().any(|other| other.key == figure.key) {
            bail!("{name}: line {line}: {} stands there twice", figure.key);
        }
        figures.push(figure);
    }
    if figures.is_empty() {
        bail!("{name}: no figure in it");
    }
    Ok(figures)
}

fn figure(line: &FigureLine) -> Result<Figure, String> {
    let key: FigureKey = line.key.parse()?;
    let is_rate = key.is_rate();
    let unit = match line.unit.as_str() {
        "/s" if is_rate => 1.0,
        other if is_rate => return Err(format!("unit `{other}`: a rate is in /s")),
        "s" => 1000.0,
        "ms" => 1.0,
        "us" => 1e-3,
        "ns" => 1e-6,
        other => return Err(format!("unit `{other}`: a time is in s, ms, us or ns")),
    };
    let (value, digit) = decimal(&line.value)?;
    for (column, text) in [("low", &line.low), ("high", &line.high)] {
        if let Some(text) = text.as_deref().filter(|text| !text.is_empty()) {
            decimal(text).map_err(|reason| format!("{column}: {reason}"))?;
        }
    }
    Ok(Figure {
        key,
        step: line.step.clone(),
        value: value * unit,
        error: digit * unit,
        not_comparable: line.not_comparable.clone().filter(|reason| !reason.is_empty()),
    })
}

/// A decimal number and the worth of its last digit.
fn decimal(text: &str) -> Result<(f64, f64), String> {
    let fault = || format!("`{text}` is not a time; expected a decimal number such as 0.035, 0 or more");
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.len() <= 15 && part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return Err(fault());
    }
    let value = text.parse::<f64>().map_err(|_| fault())?;
    Ok((value, 10f64.powi(-(fraction.len() as i32))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_carry_their_precision() {
        assert_eq!(decimal("0.035"), Ok((0.035, 0.001)));
        assert_eq!(decimal("483"), Ok((483.0, 1.0)));
        for bad in ["", "NaN", "inf", "-1", "1e3", "1,000", ".", "0x10", "9999999999999999999"] {
            assert!(decimal(bad).is_err(), "{bad}");
        }
    }
}
