//! What a published figure can be about.

use crate::suite::{StepKey, oltp};
use std::fmt;

/// What a figure is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FigureKey {
    /// The sum of all rows.
    Total,
    /// One row.
    Step(StepKey),
    /// A phase of a workload.
    Phase {
        /// Such as `disk-bound`.
        leg: String,
        /// Such as `select-primary-key`.
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
    P50,
    P95,
    P99,
    P999,
}

impl Metric {
    const ALL: [(Metric, &str); 5] = [
        (Metric::Rate, "rate"),
        (Metric::P50, "p50"),
        (Metric::P95, "p95"),
        (Metric::P99, "p99"),
        (Metric::P999, "p999"),
    ];
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Metric::ALL.iter().find(|(metric, _)| metric == self).map_or("", |(_, name)| name))
    }
}

impl FigureKey {
    /// Figures that share a machine factor: a disk is not as many times faster as a processor.
    pub fn group(&self) -> String {
        match self {
            FigureKey::Total | FigureKey::Step(_) => "time".to_string(),
            FigureKey::Phase { leg, metric: Metric::Rate, .. } => format!("{leg} rate"),
            FigureKey::Phase { leg, .. } => format!("{leg} latency"),
        }
    }

    /// Whether it is in operations per second.
    pub fn is_rate(&self) -> bool {
        matches!(self, FigureKey::Phase { metric: Metric::Rate, .. })
    }

    /// Latencies do not travel between machines, even in shape.
    pub fn is_latency(&self) -> bool {
        matches!(self, FigureKey::Phase { metric, .. } if *metric != Metric::Rate)
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

impl std::str::FromStr for FigureKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split('/').collect::<Vec<&str>>().as_slice() {
            ["TOTAL"] => Ok(FigureKey::Total),
            [leg, phase, metric] => {
                let known = |names: &[&str], name: &str, what: &str| match names.contains(&name) {
                    true => Ok(()),
                    false => Err(format!("`{text}`: {what} `{name}` is none of {}", names.join(", "))),
                };
                known(&[oltp::Leg::InRam.name(), oltp::Leg::DiskBound.name()], leg, "leg")?;
                known(&oltp::Phase::ALL.map(oltp::Phase::name), phase, "phase")?;
                let known = Metric::ALL.iter().find(|(_, name)| name == metric);
                let (metric, _) =
                    known.ok_or(format!("`{text}`: a metric is rate, p50, p95, p99 or p999"))?;
                Ok(FigureKey::Phase { leg: leg.to_string(), phase: phase.to_string(), metric: *metric })
            }
            _ => text.parse().map(FigureKey::Step),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_round_trip() {
        for key in ["TOTAL", "main/310", "star/130#2"] {
            assert_eq!(key.parse::<FigureKey>().unwrap().to_string(), key);
        }
        for bad in ["", "main", "main/x", "/100", "main/1#0"] {
            assert!(bad.parse::<FigureKey>().is_err(), "{bad}");
        }
    }
}
