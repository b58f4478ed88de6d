//! Every sample of a record as a line of CSV.

use crate::record::Record;

/// Every sample: of timed lines, or of phases where the record has those. The first line is a comment with the command
/// that made the record.
///
/// # Errors
/// None that a record can cause.
pub fn samples(record: &Record) -> Result<String, csv::Error> {
    let body = match record.legs.iter().any(|leg| !leg.phases.is_empty()) {
        true => phases(record)?,
        false => steps(record)?,
    };
    let command = record.program.command.join(" ").replace(['\n', '\r'], " ");
    Ok(format!("# repro {} ({}): {command}\n{body}", record.program.version, record.program.revision))
}

/// Columns: leg, testset, number, occurrence, step, run, counted, `reported_ms`, `observed_ns`.
fn steps(record: &Record) -> Result<String, csv::Error> {
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
    text(writer)
}

/// Columns: leg, phase, run, counted, operations, `elapsed_ns`, percentiles and largest latency in ns, errors, busy,
/// bytes read from the disk, bytes of the log; of an exchange with a server its own time and the client's CPU time in ns,
/// round trips, bytes sent and received.
fn phases(record: &Record) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "leg",
        "phase",
        "run",
        "counted",
        "operations",
        "elapsed_ns",
        "p50_ns",
        "p95_ns",
        "p99_ns",
        "p999_ns",
        "max_ns",
        "errors",
        "busy",
        "read_bytes",
        "wal_bytes",
        "server_ns",
        "client_cpu_ns",
        "round_trips",
        "sent_bytes",
        "received_bytes",
    ])?;
    for leg in &record.legs {
        let counted = leg.counted();
        for (phase, sample) in
            leg.phases.iter().flat_map(|phase| phase.samples.iter().map(move |sample| (phase, sample)))
        {
            let measure = &sample.measure;
            let latency = &measure.latency;
            let mut line = vec![
                leg.name.clone(),
                phase.name.clone(),
                sample.run.to_string(),
                counted.contains(&sample.run).to_string(),
            ];
            let numbers = [
                measure.operations,
                measure.elapsed_ns,
                latency.p50_ns,
                latency.p95_ns,
                latency.p99_ns,
                latency.p999_ns,
                latency.max_ns,
            ];
            line.extend(numbers.iter().map(u64::to_string));
            line.extend([measure.errors.values().sum::<u64>(), measure.busy].iter().map(u64::to_string));
            let exchange = measure.exchange;
            let optional = [
                measure.read_bytes,
                measure.wal_bytes,
                exchange.and_then(|exchange| exchange.server_ns),
                exchange.and_then(|exchange| exchange.client_cpu_ns),
                exchange.map(|exchange| exchange.round_trips),
                exchange.map(|exchange| exchange.sent_bytes),
                exchange.map(|exchange| exchange.received_bytes),
            ];
            line.extend(optional.map(|number| number.map_or(String::new(), |number| number.to_string())));
            writer.write_record(line)?;
        }
    }
    text(writer)
}

fn text(writer: csv::Writer<Vec<u8>>) -> Result<String, csv::Error> {
    let bytes = writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
