//! Exports a record as a reference that others can verify: figures (CSV) and what they are about (TOML).

use crate::figure::{FigureKey, Figures, Metric};
use crate::record::{Answer, Record};
use crate::verify::claim::{Claim, Quantity, Test};
use crate::verify::grade;
use crate::verify::reference::{About, Citation, EngineFacts, Tolerance};
use anyhow::Result;
use std::collections::BTreeMap;

/// Returns the metric that says most about a study: times if it has rows or a baseline, or else rates.
fn metric(figures: Figures) -> Metric {
    let timed = figures.shape.has_rows() || figures.shape.baseline.is_some();
    if timed { Metric::Time } else { Metric::Rate }
}

/// Returns the CSV with the figures of every phase and of the whole: the median, its interval and the number
/// of runs.
///
/// # Errors
/// Passes on errors of the CSV writer; no record causes one.
pub fn figures(figures: Figures) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(["key", "step", "value", "unit", "low", "high", "runs"])?;
    for leg in &figures.record.legs {
        for key in figures.keys(leg, metric(figures)) {
            let Some(summary) = figures.cited(&key).and_then(|values| values.summary()) else { continue };
            let number =
                |value: f64| if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.1}") };
            let end = |end: Option<f64>| end.map_or(String::new(), number);
            let title = figures.title(&key).map_or_else(|| key.to_string(), str::to_string);
            writer.write_record([
                key.to_string(),
                title,
                number(summary.median),
                key.kind().unit().to_string(),
                end(summary.interval.map(|i| i.low)),
                end(summary.interval.map(|i| i.high)),
                summary.n.to_string(),
            ])?;
        }
    }
    Ok(String::from_utf8_lossy(&writer.into_inner()?).into_owned())
}

/// Returns the TOML that says what the figures are about; `headline` is the figure that the record is cited
/// for.
///
/// # Errors
/// Fails when there are parameters that TOML can't hold.
pub fn about(figures: Figures, headline: Option<FigureKey>, name: &str) -> Result<String> {
    let record = figures.record;
    let leg = record.legs.first();
    let conditions = grade::conditions(figures, headline);
    let open: Vec<&str> =
        conditions.iter().filter(|c| c.met != Some(true)).map(|c| c.requirement.words()).collect();
    let grade = match open.is_empty() {
        true => "citation grade: every condition was met".to_string(),
        false => format!("not citation grade; open: {}", open.join(", ")),
    };
    let build = leg.and_then(|leg| leg.engine.build.as_ref());
    let about = About {
        study: record.study.clone(),
        title: title(record, name),
        citation: citation(record, name),
        engine: EngineFacts {
            sqlite_version: leg.and_then(|leg| leg.engine.sqlite_version.clone()),
            source_id: leg.and_then(|leg| leg.engine.source_id.clone()),
            flags: leg.and_then(|leg| record.flags(leg)).unwrap_or_default(),
            compiler: build.map(|build| build.compiler.clone()),
            answer: match leg.map(|leg| &leg.answer) {
                Some(Answer::Right { found }) => Some(found.clone()),
                _ => None,
            },
        },
        host: host(record),
        notes: vec![format!("made by: {}", record.program.command.join(" ")), grade],
        legs: if figures.shape.has_rows() && record.legs.len() > 1 {
            record.legs.iter().map(|leg| leg.name.clone()).collect()
        } else {
            Vec::new()
        },
        parameters: toml::Table::try_from(&record.parameters)?,
        tolerance: Tolerance::default(),
        claims: claims(figures),
    };
    Ok(missing(&about) + &toml::to_string(&about)?)
}

fn title(record: &Record, name: &str) -> String {
    match &record.imported {
        Some(from) => format!("{name}, read from {}", from.file),
        None => format!("Baseline {name}, captured with repro {}", record.program.version),
    }
}

fn citation(record: &Record, name: &str) -> Citation {
    match record.stated() {
        Some(stated) => Citation {
            author: UNKNOWN.to_string(),
            title: UNKNOWN.to_string(),
            date: stated.date.map(|date| date.to_string()),
            url: None,
        },
        None => Citation {
            author: format!("repro {} ({})", record.program.version, record.program.revision),
            title: format!("{} baseline {name}", record.study),
            date: Some(record.started.strftime("%Y-%m-%d").to_string()),
            url: None,
        },
    }
}

/// What stands where a publication must be named.
const UNKNOWN: &str = "unknown";

/// Returns comments that name what a reader of the reference would ask for and the record does not say.
fn missing(about: &About) -> String {
    let missing = [
        ("citation.author", about.citation.author == UNKNOWN),
        ("citation.title", about.citation.title == UNKNOWN),
        ("citation.date", about.citation.date.is_none()),
        ("engine.sqlite_version", about.engine.sqlite_version.is_none()),
        ("engine.source_id", about.engine.source_id.is_none()),
        ("engine.flags", about.engine.flags.is_empty()),
        ("engine.compiler", about.engine.compiler.is_none()),
        ("engine.answer", about.engine.answer.is_none()),
        ("host", about.host.is_empty()),
    ];
    missing.into_iter().filter(|(_, open)| *open).map(|(what, _)| format!("# missing: {what}\n")).collect()
}

fn host(record: &Record) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    facts.extend(record.stated().and_then(|stated| Some(("machine".to_string(), stated.machine.clone()?))));
    let Some(host) = &record.host else { return facts };
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            facts.insert(name.to_string(), value);
        }
    };
    add("cpu", host.cpu.model.clone());
    add("cpus", Some(host.cpu.logical_cpus.to_string()));
    add("kernel", host.kernel.clone());
    add("os", host.os.clone());
    add("virtualisation", host.virtualisation.clone());
    let filesystem = record.storage.as_ref().and_then(|storage| storage.filesystem.as_ref());
    add("filesystem", filesystem.map(|f| f.kind.clone()));
    facts
}

/// Returns the claims that hold for any sound run.
fn claims(figures: Figures) -> Vec<Claim> {
    let value = |id: &str, text: &str, quantity| Claim {
        id: id.to_string(),
        text: text.to_string(),
        quote: None,
        strict: false,
        test: Test::Value { quantity, equals: 0 },
    };
    let mut claims = vec![value("no-errors", "every run ends well", Quantity::Errors)];
    if figures.shape.has_rows() {
        claims.push(value("total-is-the-sum", "TOTAL is the sum of its rows", Quantity::TotalMinusSum));
    }
    claims
}
