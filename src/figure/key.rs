//! The key of a figure, and how it is spelled.

use super::shape::{Shape, is_row};
use std::fmt;

/// The pseudo-phase that stands for a whole leg.
pub const WHOLE: &str = "total";

/// What a figure is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FigureKey {
    /// The leg, such as `disk-bound`; absent in a study whose one leg has the rows of a tool as its phases.
    pub leg: Option<String>,
    /// The phase, such as `select-primary-key` or `main/310`, or [`WHOLE`].
    pub phase: String,
    /// The quantity that the figure gives.
    pub metric: Metric,
}

/// A quantity that a figure can give for a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Metric {
    /// Operations per second.
    Rate,
    /// The time from beginning to end, in ms.
    Time,
    /// That time over the time of the baseline leg, run by run.
    Ratio,
    P50,
    P95,
    P99,
    P999,
    /// The longest latency, in ms.
    Max,
    /// The number of operations that succeeded.
    Operations,
    /// How often the engine answered BUSY.
    Busy,
    /// The number of operations that failed because the engine was busy.
    BusySurfaced,
    /// The number of operations that failed.
    Failures,
    /// The largest resident set, in MB.
    Memory,
    /// The database file after the phase, in MB.
    Size,
}

/// How a figure is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A time, which shares a machine factor with the other times of its leg.
    Time,
    /// A rate, which shares a machine factor with the other rates of its leg.
    Rate,
    /// A latency, which depends on the machine and shares no factor.
    Latency,
    /// A ratio, which is compared between machines without a factor.
    Ratio,
    /// A count, which depends on the run.
    Count,
    /// A memory size, which depends on the run.
    Memory,
    /// A size of a file, which depends on the amount of work.
    Size,
}

impl Metric {
    const ALL: [(Metric, &str); 14] = [
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
        (Metric::Size, "size"),
    ];

    fn kind(self) -> Kind {
        match self {
            Metric::Rate => Kind::Rate,
            Metric::Time => Kind::Time,
            Metric::Ratio => Kind::Ratio,
            Metric::P50 | Metric::P95 | Metric::P99 | Metric::P999 | Metric::Max => Kind::Latency,
            Metric::Operations | Metric::Busy | Metric::BusySurfaced | Metric::Failures => Kind::Count,
            Metric::Memory => Kind::Memory,
            Metric::Size => Kind::Size,
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Metric::ALL.iter().find(|(metric, _)| metric == self).map_or("", |(_, name)| name))
    }
}

impl Kind {
    /// Returns the unit in which figures of this kind are judged and shown.
    pub fn unit(self) -> &'static str {
        match self {
            Kind::Time | Kind::Latency => "ms",
            Kind::Rate => "/s",
            Kind::Ratio => "x",
            Kind::Count => "1",
            Kind::Memory | Kind::Size => "MB",
        }
    }
}

impl FigureKey {
    /// Returns the key of a metric for a phase of a leg.
    pub fn new(leg: &str, phase: &str, metric: Metric) -> FigureKey {
        FigureKey { leg: Some(leg.to_string()), phase: phase.to_string(), metric }
    }

    /// Returns the key of the time of a row, or of all rows, in a study with only one leg.
    pub fn row(phase: &str) -> FigureKey {
        FigureKey { leg: None, phase: phase.to_string(), metric: Metric::Time }
    }

    /// Returns how the figure is judged.
    pub fn kind(&self) -> Kind {
        self.metric.kind()
    }

    /// Returns the name of the group of figures that share a machine factor, or that have none. Legs are
    /// separate groups because one machine may have a much faster disk than another but a similar processor.
    pub fn group(&self) -> String {
        let of = match self.kind() {
            Kind::Time => "time".to_string(),
            Kind::Rate => "rate".to_string(),
            Kind::Latency => "latency".to_string(),
            Kind::Ratio | Kind::Count | Kind::Memory | Kind::Size => self.metric.to_string(),
        };
        self.leg.as_ref().map_or(of.clone(), |leg| format!("{leg} {of}"))
    }

    /// Returns whether figures of this kind scale together with the speed of the machine.
    pub fn has_machine_factor(&self) -> bool {
        matches!(self.kind(), Kind::Time | Kind::Rate)
    }

    /// Returns whether the figure is the sum of others.
    pub fn is_sum(&self) -> bool {
        self.phase == WHOLE
    }

    /// Checks that a record of this shape can contain the figure.
    ///
    /// # Errors
    /// Names the part of the key that the study does not know, and says what the study knows.
    pub fn check(&self, shape: &Shape) -> Result<(), String> {
        let Some(leg) = &self.leg else {
            return match shape.has_rows() {
                true => Ok(()),
                false => Err(format!("`{self}`: a figure of {} has the form LEG/PHASE/METRIC", shape.name)),
            };
        };
        if shape.has_rows() {
            let is_row = self.metric == Metric::Time && (self.is_sum() || is_row(&self.phase));
            let form = "TESTSET/NUMBER or TOTAL, with LEG/ in front of it where there are several legs";
            return is_row
                .then_some(())
                .ok_or_else(|| format!("`{self}`: a figure of {} has the form {form}", shape.name));
        }
        if !shape.legs.contains(&leg.as_str()) {
            return Err(format!("`{self}`: unknown leg `{leg}`; expected one of {}", shape.legs.join(", ")));
        }
        if !self.is_sum() && !shape.knows_phase(&self.phase) {
            let known = shape.phases_in_words();
            return Err(format!(
                "`{self}`: unknown phase `{}`; expected one of {known}, {WHOLE}",
                self.phase
            ));
        }
        self.check_metric(leg, shape).map_err(|reason| format!("`{self}`: {reason}"))
    }

    fn check_metric(&self, leg: &str, shape: &Shape) -> Result<(), String> {
        let (whole, metric) = (self.is_sum(), self.metric);
        match self.kind() {
            Kind::Memory if !whole => {
                Err(format!("memory is known only for a whole leg; use {leg}/{WHOLE}/memory"))
            }
            Kind::Rate | Kind::Latency | Kind::Size if whole => {
                Err(format!("`{WHOLE}` has a time, a ratio, counts and memory, but no {metric}"))
            }
            Kind::Time | Kind::Ratio | Kind::Count if whole && shape.whole().is_none() => {
                Err(format!("the phases of {} have no sum; `{WHOLE}` has only memory", shape.name))
            }
            Kind::Ratio => match shape.baseline {
                None => Err(format!("{} has no baseline leg, and so no ratios", shape.name)),
                Some(baseline) if baseline == leg => {
                    Err(format!("`{leg}` is the baseline of all ratios; name another leg"))
                }
                Some(_) => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

impl fmt::Display for FigureKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.leg {
            None if self.is_sum() => f.pad("TOTAL"),
            None => f.pad(&self.phase),
            Some(leg) if is_row(&self.phase) => f.pad(&format!("{leg}/{}", self.phase)),
            Some(leg) => f.pad(&format!("{leg}/{}/{}", self.phase, self.metric)),
        }
    }
}

/// Checks the spelling only; [`FigureKey::check`] checks the key against the study.
impl std::str::FromStr for FigureKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split('/').collect::<Vec<&str>>().as_slice() {
            ["TOTAL"] => Ok(FigureKey::row(WHOLE)),
            [leg, "TOTAL"] if is_name(leg) => Ok(FigureKey::new(leg, WHOLE, Metric::Time)),
            [leg, testset, number] if is_name(leg) && is_row(&format!("{testset}/{number}")) => {
                Ok(FigureKey::new(leg, &format!("{testset}/{number}"), Metric::Time))
            }
            [leg, phase, metric] => {
                if !is_name(leg) || !is_name(phase) {
                    return Err(format!("`{text}` is not a figure such as in-ram/bulk-insert/rate"));
                }
                let known = Metric::ALL.iter().find(|(_, name)| name == metric);
                let (metric, _) = known.ok_or_else(|| {
                    let all: Vec<&str> = Metric::ALL.iter().map(|(_, name)| *name).collect();
                    format!("`{text}`: unknown metric `{metric}`; expected one of {}", all.join(", "))
                })?;
                Ok(FigureKey::new(leg, phase, *metric))
            }
            _ if is_row(text) => Ok(FigureKey::row(text)),
            _ => Err(format!("`{text}` is not a row such as main/310 or star/130#2")),
        }
    }
}

/// Returns whether the text is a lower-case name in which digits and hyphens may occur.
fn is_name(text: &str) -> bool {
    let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.bytes().all(inside)
}
