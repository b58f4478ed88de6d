//! Exports every sample of a record as a line of CSV.

use super::{Export, Format};
use crate::record::{Measure, Quantile, Record};
use anyhow::Result;
use std::collections::BTreeSet;

/// The CSV format. Its columns are leg, phase, name, run, counted, operations, `reported_ms`, `elapsed_ns`,
/// the percentiles and the longest latency in ns, errors, busy, and the numbers that only the study measures,
/// by their names. An unknown value is an empty cell. The first line is a comment with the command that made
/// the record.
pub struct Csv;

impl Format for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn help(&self) -> &'static str {
        "Write every sample as CSV"
    }

    fn write(&self, export: &Export) -> Result<String> {
        let record = export.figures.record;
        let command = record.program.command.join(" ").replace(['\n', '\r'], " ");
        let (version, revision) = (&record.program.version, &record.program.revision);
        Ok(format!("# repro {version} ({revision}): {command}\n{}", samples(record)?))
    }
}

const COLUMNS: [&str; 15] = [
    "leg",
    "phase",
    "name",
    "run",
    "counted",
    "operations",
    "reported_ms",
    "elapsed_ns",
    "p50_ns",
    "p95_ns",
    "p99_ns",
    "p999_ns",
    "max_ns",
    "errors",
    "busy",
];

fn samples(record: &Record) -> Result<String> {
    let details = details(record);
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS.iter().copied().chain(details.iter().copied()))?;
    for leg in &record.legs {
        let counted: BTreeSet<u32> = leg.counted().into_iter().collect();
        for phase in &leg.phases {
            for sample in &phase.samples {
                let mut line = vec![
                    leg.name.clone(),
                    phase.name.clone(),
                    phase.title.clone().unwrap_or_default(),
                    sample.run.to_string(),
                    counted.contains(&sample.run).to_string(),
                ];
                line.extend(numbers(&sample.measure));
                line.extend(details.iter().map(|name| detail(&sample.measure, name)));
                writer.write_record(line)?;
            }
        }
    }
    Ok(String::from_utf8_lossy(&writer.into_inner()?).into_owned())
}

/// Returns the names of all numbers that only the study measures.
fn details(record: &Record) -> BTreeSet<&str> {
    let samples = record.legs.iter().flat_map(|leg| leg.all_samples());
    let numbers = samples.filter_map(|(_, sample)| sample.measure.detail.as_ref()).flat_map(|d| d.numbers());
    numbers.map(|(name, _)| name).collect()
}

fn numbers(measure: &Measure) -> Vec<String> {
    let text = |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
    let latency = |quantile| measure.latency.as_ref().map(|latency| latency.at(quantile));
    let mut cells = vec![
        text(measure.operations),
        measure.reported_ms.map_or(String::new(), |ms| ms.to_string()),
        text(measure.elapsed_ns),
    ];
    cells.extend(Quantile::ALL.map(|quantile| text(latency(quantile))));
    // The operations of a tool's rows are unknown, and so are their failures.
    let counted = measure.operations.is_some();
    cells.push(text(counted.then(|| measure.failures())));
    cells.push(text(measure.busy));
    cells
}

fn detail(measure: &Measure, name: &str) -> String {
    let own = measure.detail.as_ref();
    let number = own.and_then(|detail| detail.numbers().find(|(own, _)| *own == name));
    number.map_or(String::new(), |(_, number)| number.to_string())
}
