//! Reads the figures of a reference from its CSV.

use crate::figure::{FigureKey, Kind};
use anyhow::{Result, anyhow, bail};
use serde::{Deserialize, Serialize};

/// One published figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The line of the CSV that the figure is on.
    pub line: u64,
    /// The key, which says what the figure is about.
    pub key: FigureKey,
    /// The official name of the step.
    pub step: String,
    /// The published value, in the unit of its kind.
    pub value: f64,
    /// The precision of the value: one unit of its last digit, or how far the published interval reaches from it.
    pub error: f64,
    /// The number of runs that it was published from, if that is known.
    pub runs: Option<u32>,
    /// Why the figure can't be compared with anything measured here; `None` if it can.
    pub not_comparable: Option<String>,
}

/// A line of the CSV as it is written.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FigureLine {
    /// The key: `TESTSET/NUMBER`, with `#2` for the second step of that number; `TOTAL`; or
    /// `LEG/PHASE/METRIC`.
    pub key: String,
    /// The official name of the step.
    pub step: String,
    /// The value as published.
    pub value: String,
    /// The unit: s, ms, us or ns for a time, /s for a rate, x for a ratio, 1 for a count, MB for memory.
    pub unit: String,
    /// The lower end of the interval, if it was published.
    #[serde(default)]
    pub low: Option<String>,
    /// The upper end of the interval, if it was published.
    #[serde(default)]
    pub high: Option<String>,
    /// The number of runs, if it was published.
    #[serde(default)]
    pub runs: Option<String>,
    /// The publication's own words for the step.
    #[serde(default)]
    pub published_as: Option<String>,
    /// Why the figure can't be judged; absent if it can.
    #[serde(default)]
    pub not_comparable: Option<String>,
}

/// Reads every figure of a text that comes from the file `name`.
///
/// # Errors
/// Names the line that is wrong, and says what was expected.
pub(super) fn read(name: &str, text: &str) -> Result<Vec<Figure>> {
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
        let figure = figure(&parsed, line).map_err(|reason| anyhow!("{name}: line {line}: {reason}"))?;
        if figures.iter().any(|other| other.key == figure.key) {
            bail!("{name}: line {line}: {} appears twice", figure.key);
        }
        figures.push(figure);
    }
    if figures.is_empty() {
        bail!("{name}: expected at least one figure");
    }
    Ok(figures)
}

fn figure(written: &FigureLine, line: u64) -> Result<Figure, String> {
    let key: FigureKey = written.key.parse()?;
    let kind = key.kind();
    let unit = worth(&written.unit, kind)?;
    let (value, digit) = decimal(&written.value, kind)?;
    let end = |column: &str, text: &Option<String>| match text.as_deref().filter(|text| !text.is_empty()) {
        Some(text) => decimal(text, kind).map(|(end, _)| end).map_err(|reason| format!("{column}: {reason}")),
        None => Ok(value),
    };
    let (low, high) = (end("low", &written.low)?, end("high", &written.high)?);
    if low > value || high < value {
        return Err(format!("{low} to {high} is an interval that does not hold the value {value}"));
    }
    let runs = written.runs.as_deref().filter(|text| !text.is_empty());
    let runs = runs
        .map(|text| text.parse().map_err(|_| format!("runs: `{text}` is not a number of runs")))
        .transpose()?;
    Ok(Figure {
        line,
        key,
        step: written.step.clone(),
        value: value * unit,
        error: digit.max(value - low).max(high - value) * unit,
        runs,
        not_comparable: written.not_comparable.clone().filter(|reason| !reason.is_empty()),
    })
}

/// Returns the value of one `unit` in the unit of the kind.
fn worth(unit: &str, kind: Kind) -> Result<f64, String> {
    let expected = match (kind, unit) {
        (_, unit) if unit == kind.unit() => return Ok(1.0),
        (Kind::Time | Kind::Latency, "s") => return Ok(1000.0),
        (Kind::Time | Kind::Latency, "us") => return Ok(1e-3),
        (Kind::Time | Kind::Latency, "ns") => return Ok(1e-6),
        (Kind::Time | Kind::Latency, _) => "a time is in s, ms, us or ns",
        (Kind::Rate, _) => "a rate is in /s",
        (Kind::Ratio, _) => "a ratio is in x",
        (Kind::Count, _) => "a count is in 1",
        (Kind::Memory | Kind::Size, _) => "memory and files are in MB",
    };
    Err(format!("unit `{unit}`: {expected}"))
}

/// Parses a decimal number, and returns it with the value of one unit of its last digit.
fn decimal(text: &str, kind: Kind) -> Result<(f64, f64), String> {
    let noun = match kind {
        Kind::Time | Kind::Latency => "a time",
        _ => "a figure",
    };
    let fault = || format!("`{text}` is not {noun}; expected a decimal number such as 0.035, 0 or more");
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
        assert_eq!(decimal("0.035", Kind::Time), Ok((0.035, 0.001)));
        assert_eq!(decimal("20.4", Kind::Ratio), Ok((20.4, 0.1)));
        assert_eq!(decimal("483", Kind::Time), Ok((483.0, 1.0)));
        for bad in ["", "NaN", "inf", "-1", "1e3", "1,000", ".", "0x10", "9999999999999999999", "—", "20.4x"]
        {
            assert!(decimal(bad, Kind::Time).is_err(), "{bad}");
        }
    }

    #[test]
    fn each_kind_has_its_units() {
        for (kind, unit, value) in [
            (Kind::Time, "s", 1000.0),
            (Kind::Latency, "us", 0.001),
            (Kind::Rate, "/s", 1.0),
            (Kind::Ratio, "x", 1.0),
            (Kind::Count, "1", 1.0),
            (Kind::Memory, "MB", 1.0),
        ] {
            assert_eq!(worth(unit, kind), Ok(value), "{unit}");
        }
        for (kind, unit, reason) in [
            (Kind::Time, "x", "a time is in s, ms, us or ns"),
            (Kind::Rate, "ms", "a rate is in /s"),
            (Kind::Ratio, "%", "a ratio is in x"),
            (Kind::Count, "", "a count is in 1"),
            (Kind::Memory, "MiB", "memory and files are in MB"),
        ] {
            assert!(worth(unit, kind).unwrap_err().ends_with(reason), "{unit}");
        }
    }
}
