//! The percentile bootstrap of the median (Efron 1979), seeded so that the same samples give the same
//! interval.

use super::median;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// The smallest number of samples that gives an interval. With five, the 95 % interval is the whole range.
pub const FEWEST_SAMPLES: usize = 5;

const RESAMPLES: usize = 10_000;
const SEED: u64 = 95;

/// A 95 % confidence interval, in the unit of the samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Returns whether `value` lies in the interval.
    pub fn contains(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Returns half the width as a fraction of `center`, or `None` when `center` is not positive.
    pub fn relative_half_width(self, center: f64) -> Option<f64> {
        (center > 0.0).then(|| (self.high - self.low) / 2.0 / center)
    }

    /// Returns the interval widened by the error of the clock on both sides; the lower end stays at or above
    /// zero.
    pub fn widened(self, error: f64) -> Interval {
        Interval { low: (self.low - error).max(0.0), high: self.high + error }
    }
}

/// Returns the interval of the median of `samples`, or `None` when there are too few.
pub fn of_median(samples: &[f64]) -> Option<Interval> {
    of_statistic(samples, &[], |resample, _| median(resample))
}

/// Returns the interval of a rate that was measured in slices of (work, time), which is all work over all
/// time.
pub fn of_rate(slices: &[(f64, f64)]) -> Option<Interval> {
    let positions: Vec<f64> = (0..slices.len()).map(|i| i as f64).collect();
    of_statistic(&positions, &[], |resample, _| {
        let (work, time) = resample
            .iter()
            .map(|i| slices[*i as usize])
            .fold((0.0, 0.0), |sum, s| (sum.0 + s.0, sum.1 + s.1));
        Some(work / time)
    })
}

/// Returns the interval of median(a) / median(b) for samples that are not paired.
pub fn of_ratio_of_medians(a: &[f64], b: &[f64]) -> Option<Interval> {
    if b.len() < FEWEST_SAMPLES {
        return None;
    }
    of_statistic(a, b, |a, b| Some(median(a)? / median(b)?))
}

fn of_statistic(a: &[f64], b: &[f64], statistic: impl Fn(&[f64], &[f64]) -> Option<f64>) -> Option<Interval> {
    if a.len() < FEWEST_SAMPLES {
        return None;
    }
    let mut generator = ChaCha8Rng::seed_from_u64(SEED);
    let mut resample = |samples: &[f64], into: &mut Vec<f64>| {
        into.clear();
        into.extend((0..samples.len()).map(|_| samples[generator.random_range(0..samples.len())]));
    };
    let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
    let mut values: Vec<f64> = (0..RESAMPLES)
        .filter_map(|_| {
            resample(a, &mut of_a);
            resample(b, &mut of_b);
            statistic(&of_a, &of_b).filter(|value| value.is_finite())
        })
        .collect();
    if values.len() < RESAMPLES {
        return None;
    }
    values.sort_by(f64::total_cmp);
    let at = |quantile: f64| values[(quantile * (RESAMPLES - 1) as f64).round() as usize];
    Some(Interval { low: at(0.025), high: at(0.975) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_samples_give_no_interval() {
        assert_eq!(of_median(&[1.0, 2.0, 3.0, 4.0]), None);
        assert_eq!(of_ratio_of_medians(&[1.0; 5], &[1.0; 4]), None);
    }

    #[test]
    fn five_samples_give_their_range() {
        assert_eq!(of_median(&[5.0, 1.0, 4.0, 2.0, 3.0]), Some(Interval { low: 1.0, high: 5.0 }));
    }

    #[test]
    fn it_repeats_and_narrows() {
        let samples: Vec<f64> = (0..101).map(f64::from).collect();
        let interval = of_median(&samples).unwrap();
        assert_eq!(of_median(&samples), Some(interval));
        assert!(interval.contains(50.0) && interval.low > 30.0 && interval.high < 70.0, "{interval:?}");
    }

    #[test]
    fn a_rate_weighs_its_slices() {
        let slices = [(10.0, 1.0), (10.0, 1.0), (10.0, 1.0), (10.0, 1.0), (1.0, 6.0)];
        let interval = of_rate(&slices).unwrap();
        assert!(interval.contains(4.1) && interval.high == 10.0, "{interval:?}");
        assert_eq!(of_rate(&slices[..4]), None);
    }

    #[test]
    fn a_ratio_to_zero_has_no_interval() {
        assert_eq!(of_ratio_of_medians(&[1.0; 5], &[0.0; 5]), None);
        assert_eq!(of_ratio_of_medians(&[4.0; 5], &[2.0; 5]), Some(Interval { low: 2.0, high: 2.0 }));
    }
}
