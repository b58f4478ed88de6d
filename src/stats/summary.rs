//! Summaries of lists of samples.

use super::{Interval, median, order};

/// The summary of the samples of a step; all values are in the unit of the samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The number of samples.
    pub n: usize,
    /// The smallest sample.
    pub min: f64,
    /// The median of the samples.
    pub median: f64,
    /// The largest sample.
    pub max: f64,
    /// The median absolute deviation from the median, unscaled.
    pub mad: f64,
    /// The 95 % interval of the median, widened by the clock's error; `None` below six samples.
    pub interval: Option<Interval>,
}

impl Summary {
    /// Summarises `samples` taken with a clock that is off by at most `clock_error`; returns `None` without
    /// samples.
    pub fn of(samples: &[f64], clock_error: f64) -> Option<Summary> {
        let center = median(samples)?;
        let deviations: Vec<f64> = samples.iter().map(|sample| (sample - center).abs()).collect();
        Some(Summary {
            n: samples.len(),
            min: samples.iter().copied().fold(f64::INFINITY, f64::min),
            median: center,
            max: samples.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            mad: median(&deviations)?,
            interval: order::of_median(samples).map(|interval| interval.widened(clock_error)),
        })
    }

    /// Returns half the width of the interval as a fraction of the median, or `None` when there is no
    /// interval.
    pub fn relative_half_width(&self) -> Option<f64> {
        self.interval?.relative_half_width(self.median)
    }
}

/// Returns the positions of the samples that differ from the median by more than five deviations and by more
/// than 2 %.
///
/// Five unscaled MADs are 3.4 standard deviations of a normal distribution; the 2 % keep a very quiet series
/// from reporting its own rounding.
pub fn outliers(samples: &[f64]) -> Vec<usize> {
    let Some(summary) = Summary::of(samples, 0.0).filter(|summary| summary.n >= 3) else { return Vec::new() };
    let limit = (5.0 * summary.mad).max(0.02 * summary.median.abs());
    (0..samples.len()).filter(|&i| (samples[i] - summary.median).abs() > limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_of_six() {
        let summary = Summary::of(&[10.0, 12.0, 11.0, 30.0, 9.0, 11.0], 1.0).unwrap();
        assert_eq!(
            (summary.n, summary.min, summary.median, summary.max, summary.mad),
            (6, 9.0, 11.0, 30.0, 1.0)
        );
        assert_eq!(summary.interval, Some(Interval { low: 8.0, high: 31.0 }));
        assert_eq!(Summary::of(&[], 1.0), None);
        assert_eq!(Summary::of(&[1.0; 5], 1.0).unwrap().interval, None);
    }

    #[test]
    fn the_clock_never_makes_a_time_negative() {
        assert_eq!(Summary::of(&[0.0; 6], 1.0).unwrap().interval, Some(Interval { low: 0.0, high: 1.0 }));
    }

    #[test]
    fn outliers_are_named_and_equal_samples_are_none() {
        assert_eq!(outliers(&[100.0, 101.0, 100.0, 140.0, 99.0]), [3]);
        assert_eq!(outliers(&[100.0, 100.0, 100.0, 101.0]), [0; 0]);
        assert_eq!(outliers(&[1.0, 9.0]), [0; 0]);
    }
}
