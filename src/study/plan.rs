//! Decides which run comes next.

use crate::figure::Values;
use std::time::Duration;

/// How often something is run, and when that is enough.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The number of uncounted runs at the start.
    pub warmup: u32,
    /// The number of counted runs; with `until`, the smallest number of them.
    pub runs: u32,
    /// Runs continue until half the width of the total's 95 % interval is at most this fraction of its
    /// median.
    pub until: Option<f64>,
    /// The largest number of counted runs.
    pub max_runs: u32,
    /// The pause before each run except the first.
    pub cooldown: Duration,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Make a run that is not counted.
    WarmUp,
    /// Make a counted run.
    Run,
    /// Stop: the plan is carried out.
    Done,
}

impl Plan {
    /// Returns what follows after `warmups` warm-up runs and counted runs with these totals.
    pub fn next(&self, warmups: u32, totals: &Option<Values>) -> Next {
        if warmups < self.warmup {
            return Next::WarmUp;
        }
        let done = totals.as_ref().map_or(0, |totals| totals.runs().len()) as u32;
        let enough = match self.until {
            None => done >= self.runs,
            Some(aim) => {
                let summary = totals.as_ref().and_then(Values::summary);
                let width = summary.and_then(|summary| summary.relative_half_width());
                done >= self.max_runs || (done >= self.runs && width.is_some_and(|width| width <= aim))
            }
        };
        if enough { Next::Done } else { Next::Run }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(until: Option<f64>) -> Plan {
        Plan { warmup: 1, runs: 6, until, max_runs: 8, cooldown: Duration::ZERO }
    }

    fn values(totals: &[f64]) -> Option<Values> {
        Values::of(&(1..).zip(totals.iter().copied()).collect::<Vec<_>>())
    }

    #[test]
    fn warm_up_then_runs() {
        assert_eq!(plan(None).next(0, &None), Next::WarmUp);
        assert_eq!(plan(None).next(1, &values(&[1.0; 5])), Next::Run);
        assert_eq!(plan(None).next(1, &values(&[1.0; 6])), Next::Done);
    }

    #[test]
    fn until_the_interval_is_narrow_or_the_cap_is_reached() {
        let narrow = [100.0, 100.1, 100.2, 100.1, 100.0, 100.1];
        let wide = [100.0, 150.0, 80.0, 120.0, 100.0, 90.0, 130.0, 70.0];
        assert_eq!(plan(Some(0.01)).next(1, &values(&narrow[..5])), Next::Run);
        assert_eq!(plan(Some(0.01)).next(1, &values(&narrow)), Next::Done);
        assert_eq!(plan(Some(0.01)).next(1, &values(&wide[..7])), Next::Run);
        assert_eq!(plan(Some(0.01)).next(1, &values(&wide)), Next::Done);
    }
}
