//! What a published figure can be about.

use crate::suite::{StepKey, Suite};
use std::fmt;

/// The pseudo-phase that stands for a whole leg.
pub const WHOLE: &str = "total";

/// What a figure is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FigureKey {
    /// The sum of all rows.
    Total,
    /// One row.
    Step(StepKey),
    /// A phase of a workload, or the whole of it.
    Phase {
        /// Such as `disk-bound`.
        leg: String,
        /// Such as `select-primary-key`, or [`WHOLE`].
        phase: String,
        /// What of it.
        metric: Metric,
    },
}

/// What can be published of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Metric {
    /// Operations per second.
    Rate,
    /// From the first operation to the last, ms.
    Time,
    /// That time over the time of the suite's baseline leg, run by run.
    Ratio,
    P50,
    P95,
    P99,
    P999,
    /// The longest latency.
    Max,
    /// Operations that succeeded.
    Operations,
    /// Times that the server was BUSY; where the client does not repeat, operations that failed by it.
    Busy,
    /// Operations that failed because the server was BUSY.
    BusySurfaced,
    /// Operations that failed.
    Failures,
    /// Largest resident set, MB.
    Memory,
}

/// How a figure is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Shares a machine factor with the times of its leg.
    Time,
    /// Shares a machine factor with the rates of its leg.
    Rate,
    /// Of its machine.
    Latency,
    /// Travels between machines as it is.
    Ratio,
    /// A fact of its run.
    Count,
    /// A fact of its run.
    Memory,
}

impl Metric {
    const ALL: [(Metric, &str); 13] = [
        (Metric::Rate, "rate"),
        (Metric::Time, "time"),
        (Metric::Ratio, "ratio"),
        (Metric::P50, "p50"),
        (Metric::P95, "p95"),
        (Metric::P99, "p99"),
        (Metric::P999, "p999"),
        (Metric::Max, "max"),
        (Metric::Operations, "operations"),
        (Metric::Busy, "busy"),
        (Metric::BusySurfaced, "busy-surfaced"),
        (Metric::Failures, "failures"),
        (Metric::Memory, "memory"),
    ];

    fn kind(self) -> Kind {
        match self {
            Metric::Rate => Kind::Rate,
            Metric::Time => Kind::Time,
            Metric::Ratio => Kind::Ratio,
            Metric::P50 | Metric::P95 | Metric::P99 | Metric::P999 | Metric::Max => Kind::Latency,
            Metric::Operations | Metric::Busy | Metric::BusySurfaced | Metric::Failures => Kind::Count,
            Metric::Memory => Kind::Memory,
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Metric::ALL.iter().find(|(metric, _)| metric == self).map_or("", |(_, name)| name))
    }
}

impl Kind {
    /// The unit in which its figures are judged and shown.
    pub fn unit(self) -> &'static str {
        match self {
            Kind::Time | Kind::Latency => "ms",
            Kind::Rate => "/s",
            Kind::Ratio => "x",
            Kind::Count => "1",
            Kind::Memory => "MB",
        }
    }
}

impl FigureKey {
    /// How it is judged.
    pub fn kind(&self) -> Kind {
        match self {
            FigureKey::Total | FigureKey::Step(_) => Kind::Time,
            FigureKey::Phase { metric, .. } => metric.kind(),
        }
    }

    /// Figures that share a machine factor, or have none alike: a disk is not as many times faster as a processor.
    pub fn group(&self) -> String {
        match self {
            FigureKey::Total | FigureKey::Step(_) => "time".to_string(),
            FigureKey::Phase { leg, metric, .. } => match metric.kind() {
                Kind::Time => format!("{leg} time"),
                Kind::Rate => format!("{leg} rate"),
                Kind::Latency => format!("{leg} latency"),
                Kind::Ratio | Kind::Count | Kind::Memory => format!("{leg} {metric}"),
            },
        }
    }

    /// Whether figures of its kind follow the speed of the machine all alike.
    pub fn has_machine_factor(&self) -> bool {
        matches!(self.kind(), Kind::Time | Kind::Rate)
    }

    /// Whether it is the sum of others.
    pub fn is_sum(&self) -> bool {
        match self {
            FigureKey::Total => true,
            FigureKey::Step(_) => false,
            FigureKey::Phase { phase, .. } => phase == WHOLE,
        }
    }

    /// Checks that a record of `suite` can have it.
    ///
    /// # Errors
    /// The part of the key that `suite` does not know, and what it knows.
    pub fn check(&self, suite: &Suite) -> Result<(), String> {
        let legs = (suite.legs)();
        let FigureKey::Phase { leg, phase, metric } = self else {
            return match legs.is_empty() {
                true => Ok(()),
                false => Err(format!("`{self}`: a figure of {} is LEG/PHASE/METRIC", suite.name)),
            };
        };
        if legs.is_empty() {
            return Err(format!("`{self}`: a figure of {} is TESTSET/NUMBER or TOTAL", suite.name));
        }
        if !legs.contains(&leg.as_str()) {
            return Err(format!("`{self}`: leg `{leg}` is none of {}", legs.join(", ")));
        }
        if phase != WHOLE && !suite.knows_phase(phase) {
            let known = (suite.phases)().join(", ");
            return Err(format!("`{self}`: phase `{phase}` is none of {known}, {WHOLE}"));
        }
        check_metric(*metric, leg, phase, suite).map_err(|reason| format!("`{self}`: {reason}"))
    }
}

fn check_metric(metric: Metric, leg: &str, phase: &str, suite: &Suite) -> Result<(), String> {
    let whole = phase == WHOLE;
    match metric.kind() {
        Kind::Memory if !whole => Err(format!("memory is that of a whole leg: {leg}/{WHOLE}/memory")),
        Kind::Rate | Kind::Latency if whole => {
            Err(format!("`{WHOLE}` has a time, a ratio, counts and memory, but no {metric}"))
        }
        Kind::Time | Kind::Ratio | Kind::Count if whole && suite.whole().is_none() => {
            Err(format!("the phases of {} make no whole; `{WHOLE}` has only memory", suite.name))
        }
        Kind::Ratio => match suite.baseline {
            None => Err(format!("{} has no leg that ratios are taken to", suite.name)),
            Some(baseline) if baseline == leg => {
                Err(format!("ratios are taken to `{leg}`; name another leg"))
            }
            Some(_) => Ok(()),
        },
        _ => Ok(()),
    }
}

impl fmt::Display for FigureKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FigureKey::Total => f.pad("TOTAL"),
            FigureKey::Step(key) => f.pad(&key.to_string()),
            FigureKey::Phase { leg, phase, metric } => f.pad(&format!("{leg}/{phase}/{metric}")),
        }
    }
}

/// Checks the spelling only; [`FigureKey::check`] knows the suite.
impl std::str::FromStr for FigureKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split('/').collect::<Vec<&str>>().as_slice() {
            ["TOTAL"] => Ok(FigureKey::Total),
            [leg, phase, metric] => {
                if !is_name(leg) || !is_name(phase) {
                    return Err(format!("`{text}` is not a figure such as in-ram/bulk-insert/rate"));
                }
                let known = Metric::ALL.iter().find(|(_, name)| name == metric);
                let (metric, _) = known.ok_or_else(|| {
                    let all: Vec<&str> = Metric::ALL.iter().map(|(_, name)| *name).collect();
                    format!("`{text}`: metric `{metric}` is none of {}", all.join(", "))
                })?;
                Ok(FigureKey::Phase { leg: leg.to_string(), phase: phase.to_string(), metric: *metric })
            }
            _ => text.parse().map(FigureKey::Step),
        }
    }
}

/// Lower-case words with hyphens.
fn is_name(text: &str) -> bool {
    let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.bytes().all(inside)
}
