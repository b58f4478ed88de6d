//! A record as a reference that others can verify: figures (CSV) and what they are about (TOML).

use crate::record::{Answer, CLOCK_ERROR_MS, Leg, Record};
use crate::stats::Summary;
use crate::suite::speedtest1::Workload;
use crate::verify::claim::{Claim, Quantity, Test};
use crate::verify::grade;
use crate::verify::reference::{About, Citation, EngineFacts, Tolerance};
use std::collections::BTreeMap;

/// Figures of every step and TOTAL: the median, its interval and the number of runs.
///
/// # Errors
/// None that a record can cause.
pub fn figures(leg: &Leg) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(["key", "step", "value", "unit", "low", "high", "runs"])?;
    let mut line = |key: String, step: &str, summary: Option<Summary>| -> Result<(), csv::Error> {
        let Some(summary) = summary else { return Ok(()) };
        let number =
            |value: f64| if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.1}") };
        let end = |end: Option<f64>| end.map_or(String::new(), number);
        let (low, high) = (end(summary.interval.map(|i| i.low)), end(summary.interval.map(|i| i.high)));
        writer.write_record([&key, step, &number(summary.median), "ms", &low, &high, &summary.n.to_string()])
    };
    for step in &leg.steps {
        line(step.key.to_string(), &step.name, Summary::of(&leg.reported(step), CLOCK_ERROR_MS))?;
    }
    line("TOTAL".to_string(), "TOTAL", leg.total())?;
    let bytes = writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What the figures are about.
///
/// # Errors
/// Parameters that are no workload.
pub fn about(record: &Record, leg: &Leg, name: &str) -> Result<String, String> {
    let parameters = serde_json::to_value(&record.parameters).and_then(serde_json::from_value::<Workload>);
    let parameters = parameters.map_err(|error| error.to_string())?;
    let parameters = toml::Table::try_from(parameters).map_err(|error| error.to_string())?;
    let conditions = grade::conditions(record);
    let open: Vec<&str> = conditions.iter().filter(|c| c.met != Some(true)).map(|c| c.what).collect();
    let grade = match open.is_empty() {
        true => "citation grade: every condition was met".to_string(),
        false => format!("not citation grade; open: {}", open.join(", ")),
    };
    let build = leg.engine.build.as_ref();
    let flags = build
        .map_or("", |build| build.command.as_str())
        .split(' ')
        .filter(|w| w.starts_with("-O") || w.starts_with("-D"));
    let about = About {
        suite: record.suite.clone(),
        title: format!("Baseline {name}, captured with repro {}", record.program.version),
        citation: Citation {
            author: format!("repro {} ({})", record.program.version, record.program.revision),
            title: format!("speedtest1 baseline {name}"),
            date: Some(record.started.strftime("%Y-%m-%d").to_string()),
            url: None,
        },
        engine: EngineFacts {
            sqlite_version: leg.engine.sqlite_version.clone(),
            source_id: leg.engine.source_id.clone(),
            flags: flags.map(str::to_string).collect(),
            compiler: build.map(|build| build.compiler.clone()),
            answer: match &leg.answer {
                Answer::Right(hash) => Some(hash.clone()),
                _ => None,
            },
        },
        host: host(record),
        notes: vec![format!("made by: {}", record.program.command.join(" ")), grade],
        parameters,
        tolerance: Tolerance::default(),
        claims: claims(),
    };
    toml::to_string(&about).map_err(|error| error.to_string())
}

fn host(record: &Record) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
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

/// What any sound run of the tool must show.
fn claims() -> Vec<Claim> {
    let value = |id: &str, text: &str, quantity| Claim {
        id: id.to_string(),
        text: text.to_string(),
        strict: false,
        test: Test::Value { quantity, equals: 0 },
    };
    vec![
        value("no-errors", "every run ends well", Quantity::Errors),
        value("total-is-the-sum", "TOTAL is the sum of its rows", Quantity::TotalMinusSum),
    ]
}
