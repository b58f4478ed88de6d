//! The tables of clients on a server: each level, and how the server coped.

pub mod wedge;

use super::Detail;
use crate::figure::Figures;
use crate::record::{Health, Leg, Measure, Phase, Quantile, Sample};
use crate::report::table::{Table, Text, Tone, cells, count, left, right};
use crate::stats::proportion;

/// Returns the table of all levels, with notes.
pub fn tables(figures: Figures) -> Vec<Table> {
    let legs = &figures.record.legs;
    if legs.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new(vec![
        left("level"),
        right("answered"),
        right("per second"),
        right("p50 ms"),
        right("p95"),
        right("p99"),
        right("max"),
        right("first p99"),
        right("BUSY"),
        right("failed"),
        right("server cores"),
        right("client µs"),
        left("health"),
    ]);
    for leg in legs {
        table.rows.push(cells([leg.name.clone()]));
        let several = leg.runs.len() > 1;
        for phase in &leg.phases {
            table.rows.extend(phase.samples.iter().filter_map(|sample| row(phase, sample, several)));
        }
    }
    table.notes = legs.iter().flat_map(notes).map(Text::from).collect();
    vec![table]
}

fn row(phase: &Phase, sample: &Sample, several: bool) -> Option<Vec<Text>> {
    let measure = &sample.measure;
    let detail: Detail = measure.detail()?;
    let ms = |ns: u64| format!("{:.2}", ns as f64 / 1e6);
    let answered = measure.operations.unwrap_or(0);
    let latency = |quantile: Quantile| {
        let known = measure.latency.as_ref().filter(|_| answered > 0);
        known.map_or(String::new(), |latency| latency.text(quantile, ms))
    };
    let name =
        if several { format!("  {} run {}", phase.name, sample.run) } else { format!("  {}", phase.name) };
    let mut row = cells([
        name,
        count(answered),
        measure.rate().map_or(String::new(), |rate| format!("{rate:.0}")),
        latency(Quantile::P50),
        latency(Quantile::P95),
        latency(Quantile::P99),
        latency(Quantile::Max),
        if answered > 0 { ms(detail.first_attempt.p99_ns) } else { String::new() },
        measure.busy.map_or(String::new(), count),
        count(detail.outcomes.failed()),
        mean_cores(&detail).map_or(String::new(), |cores| format!("{cores:.2}")),
        client_us(&detail).map_or(String::new(), |us| format!("{us:.1}")),
    ]);
    let health = measure.health.unwrap_or_default();
    row.push(Text::new(health.to_string(), tone(health)));
    Some(row)
}

/// Returns how a state of the server is highlighted.
fn tone(health: Health) -> Tone {
    match health {
        Health::Clean => Tone::Good,
        Health::Stalled => Tone::Warning,
        Health::Collapsed | Health::Wedged => Tone::Bad,
        Health::Unknown => Tone::Faint,
    }
}

fn mean_cores(detail: &Detail) -> Option<f64> {
    let begins = std::iter::once(0).chain(detail.series.iter().map(|second| second.at_ms));
    let known = begins.zip(&detail.series).filter_map(|(begin, second)| {
        let ms = second.at_ms.saturating_sub(begin) as f64;
        Some((ms, second.server_cores? * ms))
    });
    let (length, cores): (Vec<f64>, Vec<f64>) = known.unzip();
    let length: f64 = length.iter().sum();
    (length > 0.0).then(|| cores.iter().sum::<f64>() / length)
}

/// Returns the CPU time of the clients for each statement sent, in µs.
fn client_us(detail: &Detail) -> Option<f64> {
    let sent = detail.outcomes.total() - detail.outcomes.abandoned;
    (sent > 0).then(|| detail.client_cpu_ns.map(|ns| ns as f64 / 1000.0 / sent as f64))?
}

fn notes(leg: &Leg) -> Vec<String> {
    let mut notes = Vec::new();
    for phase in &leg.phases {
        for sample in &phase.samples {
            let Some(detail) = sample.measure.detail::<Detail>() else { continue };
            let name = match leg.runs.len() {
                0 | 1 => phase.name.clone(),
                _ => format!("{} run {}", phase.name, sample.run),
            };
            notes.extend(level(&name, &sample.measure, &detail));
        }
        notes.extend(frequency(phase));
    }
    let open = leg.all_samples().find_map(|(_, sample)| sample.measure.detail::<Detail>()?.due_per_second);
    notes.extend(open.map(|rate| {
        format!(
            "open loop: {rate} statements per second were due, and each latency counts from then; it is not comparable \
             with that of clients that wait for each answer"
        )
    }));
    notes
}

fn level(name: &str, measure: &Measure, detail: &Detail) -> Vec<String> {
    let mut notes = Vec::new();
    if !detail.reasons.is_empty() {
        let health = measure.health.unwrap_or_default();
        notes.push(format!("{name}: {health}: {}", detail.reasons.join("; ")));
    }
    if let Some(evidence) = &detail.evidence {
        let states: Vec<String> =
            evidence.thread_states.iter().map(|(state, count)| format!("{count} {state}")).collect();
        notes.push(format!(
            "{name}: the last write was answered after {:.1} s, and {:.1} s later a separate write still had no reply; \
             /health {}; threads {}",
            evidence.last_write_ms as f64 / 1000.0,
            evidence.detected_ms.saturating_sub(evidence.last_write_ms) as f64 / 1000.0,
            if evidence.healthy { "still returns 200" } else { "does not answer either" },
            states.join(", ")
        ));
    }
    let whole: Vec<u64> =
        measure.slices.iter().filter(|(_, ns)| *ns >= 900_000_000).map(|(n, _)| *n).collect();
    if whole.len() >= 60
        && let (Some(least), Some(most)) = (whole.iter().min(), whole.iter().max())
    {
        notes.push(format!(
            "{name}: {} to {} answers per second over {} s",
            count(*least),
            count(*most),
            whole.len()
        ));
    }
    notes
}

/// Returns how often a level that ran several times wedged.
fn frequency(phase: &Phase) -> Option<String> {
    let healths: Vec<Health> = phase
        .samples
        .iter()
        .filter_map(|sample| sample.measure.health)
        .filter(|health| *health != Health::Unknown)
        .collect();
    if healths.len() < 2 {
        return None;
    }
    let of = |health: Health| healths.iter().filter(|other| **other == health).count();
    let interval = proportion::wilson(of(Health::Wedged), healths.len())?;
    let counts: Vec<String> = [Health::Clean, Health::Stalled, Health::Collapsed, Health::Wedged]
        .into_iter()
        .filter(|health| of(*health) > 0)
        .map(|health| format!("{} {health}", of(health)))
        .collect();
    Some(format!(
        "{}: {} in {} runs; wedged in {:.0} % [{:.0}, {:.0}] of all runs",
        phase.name,
        counts.join(", "),
        healths.len(),
        100.0 * of(Health::Wedged) as f64 / healths.len() as f64,
        interval.low * 100.0,
        interval.high * 100.0
    ))
}
