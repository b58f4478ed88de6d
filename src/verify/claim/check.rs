//! Checks claims before anything is judged by them.

use super::{Bounds, Claim, Key, Test};
use crate::figure::{FigureKey, Metric, Shape};
use crate::record::Health;

impl Claim {
    /// Checks what the types can't.
    ///
    /// # Errors
    /// Says what is missing or makes no sense.
    pub fn check(&self, shape: &Shape) -> Result<(), String> {
        self.test.check()?;
        if let Test::Share { phase, counts, .. } = &self.test {
            check_share(shape, phase, counts)?;
        }
        let figures = self.figures();
        figures.iter().try_for_each(|figure| figure.check(shape))?;
        let Some(first) = figures.first() else { return Ok(()) };
        match figures.iter().find(|figure| figure.kind().unit() != first.kind().unit()) {
            None => Ok(()),
            Some(other) => Err(format!(
                "{first} is in {} and {other} in {}; all figures of a claim must have the same unit",
                first.kind().unit(),
                other.kind().unit()
            )),
        }
    }

    /// Returns the keys of all figures that the claim is about.
    pub fn figures(&self) -> Vec<FigureKey> {
        self.test.figures()
    }
}

impl Test {
    fn check(&self) -> Result<(), String> {
        match self {
            Test::Ratio { at_least, at_most, .. } => {
                let positive = |bound: &Option<f64>| bound.is_none_or(|value| value > 0.0);
                if !positive(at_least) || !positive(at_most) {
                    return Err("bounds of a ratio must be above 0".to_string());
                }
                Bounds::new(*at_least, *at_most).check("a ratio")
            }
            Test::Bound { at_least, at_most, .. } => Bounds::new(*at_least, *at_most).check("a bound"),
            Test::Each { figures, .. } if figures.is_empty() => {
                Err("at least one figure is needed".to_string())
            }
            Test::Each { at_least, at_most, .. } => Bounds::new(*at_least, *at_most).check("each figure"),
            Test::Health { phases, among, .. } if phases.is_empty() || among.is_empty() => {
                Err("at least one phase and one state are needed".to_string())
            }
            Test::Health { among, .. } if among.contains(&Health::Unknown) => {
                Err("a claim can't be about the state `unknown`".to_string())
            }
            Test::Steady { at_least, at_most, .. } => Bounds::new(*at_least, *at_most).check("a steady rate"),
            Test::Slices { at_least, at_most, .. } => {
                Bounds::new(*at_least, *at_most).check("the rate of a slice")
            }
            Test::Load { at_least, at_most } => Bounds::new(*at_least, *at_most).check("a load"),
            Test::Flat { within, .. } if !(*within > 0.0 && *within < 1.0) => {
                Err("within must be a fraction between 0 and 1".to_string())
            }
            Test::Flat { steps, .. } | Test::Ordered { steps } if steps.len() < 2 => {
                Err("at least two steps are needed".to_string())
            }
            Test::AmongSlowest { step, of_slowest: n, steps }
            | Test::AmongFastest { step, of_fastest: n, steps }
                if !steps.contains(step) || *n == 0 || *n >= steps.len() =>
            {
                Err("the step must be one of steps, and the count smaller than their number".to_string())
            }
            Test::Share { counts, .. } if counts.is_empty() => {
                Err("at least one kind of operation is needed".to_string())
            }
            Test::SlowsLeast { phase, phases, .. } if !phases.contains(phase) => {
                Err("the phase must be one of phases".to_string())
            }
            _ => Ok(()),
        }
    }

    fn figures(&self) -> Vec<FigureKey> {
        let of = |keys: &[Key]| keys.iter().map(|key| key.0.clone()).collect();
        match self {
            Test::Ratio { numerator, denominator, .. } => vec![numerator.0.clone(), denominator.0.clone()],
            Test::Bound { figure, .. } => vec![figure.0.clone()],
            Test::Each { figures, .. } => of(figures),
            Test::Flat { steps, .. }
            | Test::Ordered { steps }
            | Test::AmongSlowest { steps, .. }
            | Test::AmongFastest { steps, .. } => of(steps),
            Test::SlowsLeast { from, to, phases, .. } => {
                let rates = |leg: &String| phases.iter().map(|phase| rate(leg, phase)).collect::<Vec<_>>();
                [rates(from), rates(to)].concat()
            }
            Test::Health { leg, phases, .. } => phases.iter().map(|phase| rate(leg, phase)).collect(),
            Test::Steady { leg, phase, .. } | Test::Slices { leg, phase, .. } => vec![rate(leg, phase)],
            Test::Load { .. } | Test::Value { .. } | Test::Share { .. } | Test::BuildStops { .. } => {
                Vec::new()
            }
        }
    }
}

fn check_share(shape: &Shape, phase: &str, counts: &[String]) -> Result<(), String> {
    if !shape.knows_phase(phase) {
        return Err(format!("{} has no phase `{phase}`; expected {}", shape.name, shape.phases_in_words()));
    }
    match counts.iter().find(|kind| !shape.counts.contains(&kind.as_str())) {
        None => Ok(()),
        Some(_) if shape.counts.is_empty() => Err(format!("{} counts no kinds of operations", shape.name)),
        Some(kind) => Err(format!("{} counts no `{kind}`; expected {}", shape.name, shape.counts.join(", "))),
    }
}

/// Returns the key of the rate of a phase.
pub(super) fn rate(leg: &str, phase: &str) -> FigureKey {
    FigureKey::new(leg, phase, Metric::Rate)
}

impl Bounds {
    /// Checks that there is a bound and that the bounds are consistent; `subject` names what they limit.
    fn check(self, subject: &str) -> Result<(), String> {
        match (self.at_least, self.at_most) {
            (None, None) => Err(format!("{subject} needs at_least or at_most")),
            (Some(low), Some(high)) if low > high => Err(format!("at_least {low} is above at_most {high}")),
            (low, high) if !low.unwrap_or(0.0).is_finite() || !high.unwrap_or(0.0).is_finite() => {
                Err("bounds must be finite numbers".to_string())
            }
            _ => Ok(()),
        }
    }
}
