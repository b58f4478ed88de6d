//! Whether the wall clock, by which the tool takes its times, can be trusted in a run.

use crate::machine::noise::Activity;
use crate::record::{Cause, Failure};

/// The largest step of the wall clock in µs that reading the clocks one after the other may feign.
const MOST_STEP_US: i64 = 5_000;
/// The largest slew as a fraction of the run; the kernel's own limit is half of it.
const MOST_SLEW: f64 = 0.001;

/// Returns why a run with this activity does not count; `None` if its times can be trusted.
pub fn fault(activity: &Activity) -> Option<Failure> {
    let seconds = |us: i64| us as f64 / 1e6;
    let said = |words: String| Some(Failure::saying(Cause::ClockStepped, words));
    if let Some(us) = activity.clock_step_us.filter(|us| us.abs() > MOST_STEP_US) {
        let way = if us > 0 { "forward" } else { "back" };
        return said(format!("the wall clock was set {way} by {:.3} s during the run", seconds(us.abs())));
    }
    if let Some(us) = activity.asleep_us.filter(|us| *us > MOST_STEP_US) {
        return said(format!("the machine slept {:.3} s during the run", seconds(us)));
    }
    let wall_us = activity.wall_ms? as f64 * 1000.0;
    let slewed =
        activity.clock_slew_us.filter(|us| us.abs() as f64 > MOST_STEP_US as f64 + MOST_SLEW * wall_us)?;
    said(format!("the clock was slewed by {:.3} s during the run", seconds(slewed.abs())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moved_clock_is_told() {
        let still = Activity { wall_ms: Some(4000), ..Activity::default() };
        let said = |activity: Activity| fault(&activity).map(|failure| failure.message);
        assert_eq!(said(still.clone()), None);
        assert_eq!(said(Activity { clock_step_us: Some(-900), asleep_us: Some(12), ..still.clone() }), None);
        let forward = Activity { clock_step_us: Some(1_500_000), ..still.clone() };
        assert_eq!(said(forward).unwrap(), "the wall clock was set forward by 1.500 s during the run");
        let back = Activity { clock_step_us: Some(-6_000), ..still.clone() };
        assert_eq!(said(back).unwrap(), "the wall clock was set back by 0.006 s during the run");
        let slept = Activity { asleep_us: Some(3_000_000), ..still.clone() };
        assert_eq!(said(slept).unwrap(), "the machine slept 3.000 s during the run");
        assert_eq!(said(Activity { clock_slew_us: Some(8_900), ..still.clone() }), None);
        let slewed = Activity { clock_slew_us: Some(-20_000), ..still };
        assert_eq!(said(slewed).unwrap(), "the clock was slewed by 0.020 s during the run");
    }
}
