//! Every sample of a record as a line of CSV.

use crate::record::Record;

/// Columns: leg, testset, number, occurrence, step, run, counted, `reported_ms`, `observed_ns`. The first
/// line is a comment with the command that made the record.
///
/// # Errors
/// None that a record can cause.
pub fn samples(record: &Record) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "leg",
        "testset",
        "number",
        "occurrence",
        "step",
        "run",
        "counted",
        "reported_ms",
        "observed_ns",
    ])?;
    for leg in &record.legs {
        let counted = leg.counted();
        for step in &leg.steps {
            for sample in &step.samples {
                writer.write_record([
                    leg.name.clone(),
                    step.key.testset.clone(),
                    step.key.number.to_string(),
                    step.key.occurrence.to_string(),
                    step.name.clone(),
                    sample.run.to_string(),
                    counted.contains(&sample.run).to_string(),
                    sample.reported_ms.to_string(),
                    sample.observed_ns.map_or(String::new(), |ns| ns.to_string()),
                ])?;
            }
        }
    }
    let bytes = writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    let command = record.program.command.join(" ").replace(['\n', '\r'], " ");
    let head = format!("# repro {} ({}): {command}\n", record.program.version, record.program.revision);
    Ok(head + &String::from_utf8_lossy(&bytes))
}
