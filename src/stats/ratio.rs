//! Ratios of times, with the uncertainty that comes from the clock and the samples.

use super::{Interval, median, order};
use std::fmt;

/// A ratio a / b with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The median of the ratios of the pairs, or the ratio of the medians when the samples are not paired.
    pub value: f64,
    /// The 95 % interval; `None` when a side that has more than one sample has too few.
    pub interval: Option<Interval>,
}

impl Ratio {
    /// Returns the ratio of two sets of samples that are not paired. A side with a single published figure is
    /// exact except for the error of its clock. The result is `None` when a side is empty or does not exceed
    /// its clock's error, because the ratio then has no meaning.
    pub fn of_medians(a: &[f64], a_error: f64, b: &[f64], b_error: f64) -> Option<Ratio> {
        let (top, bottom) = (median(a)?, median(b)?);
        if top <= a_error || bottom <= b_error {
            return None;
        }
        // A single figure has no interval of its own; two intervals are combined at their extremes.
        let ends = |samples: &[f64], middle| match samples.len() {
            1 => Some(Interval { low: middle, high: middle }),
            _ => order::of_median(samples),
        };
        let sampled = match (a.len(), b.len()) {
            (1, 1) => None,
            _ => ends(a, top).zip(ends(b, bottom)),
        };
        let sampled = sampled.map(|(a, b)| Interval { low: a.low / b.high, high: a.high / b.low });
        let slack = 1.0 + a_error / top;
        let tightness = 1.0 - a_error / top;
        let interval = sampled.map(|i| Interval {
            low: i.low * tightness / (1.0 + b_error / bottom),
            high: i.high * slack / (1.0 - b_error / bottom),
        });
        Some(Ratio { value: top / bottom, interval: interval.filter(|i| i.high.is_finite()) })
    }

    /// Returns the ratio of samples taken alternately, A B A B …, pair by pair, which a drift of the machine
    /// does not affect; `None` without pairs or when a value is not positive.
    pub fn of_pairs(pairs: &[(f64, f64)]) -> Option<Ratio> {
        if pairs.iter().any(|(a, b)| *a <= 0.0 || *b <= 0.0) {
            return None;
        }
        let ratios: Vec<f64> = pairs.iter().map(|(a, b)| a / b).collect();
        Some(Ratio { value: median(&ratios)?, interval: order::of_median(&ratios) })
    }

    /// Returns the ratio divided by an exact factor.
    pub fn divided_by(self, factor: f64) -> Ratio {
        let interval = self.interval.map(|i| Interval { low: i.low / factor, high: i.high / factor });
        Ratio { value: self.value / factor, interval }
    }
}

/// The value with its interval, or with the remark that there is none.
impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.interval {
            Some(i) => write!(f, "{} [{}, {}]", shown(self.value), shown(i.low), shown(i.high)),
            None => write!(f, "{} (too few runs for an interval)", shown(self.value)),
        }
    }
}

/// Formats a factor with two decimals, or below 0.1 with two significant digits: `1.37`, `0.0042`, never the
/// `0.00` of a factor that is not zero.
pub fn shown(factor: f64) -> String {
    let leading = -factor.abs().log10().floor();
    let decimals =
        if factor == 0.0 || !leading.is_finite() { 2 } else { (leading + 1.0).clamp(2.0, 12.0) as usize };
    format!("{factor:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_factors_keep_two_digits() {
        let all = [0.0, 1.0, 20.42, 0.5, 0.1, 0.0951, 0.00416, -0.002, f64::NAN].map(shown);
        assert_eq!(all, ["0.00", "1.00", "20.42", "0.50", "0.10", "0.095", "0.0042", "-0.0020", "NaN"]);
    }

    #[test]
    fn against_a_single_published_figure() {
        let ratio = Ratio::of_medians(&[20.0, 22.0, 21.0, 19.0, 23.0, 21.0], 0.0, &[10.0], 0.0).unwrap();
        assert_eq!(ratio, Ratio { value: 2.1, interval: Some(Interval { low: 1.9, high: 2.3 }) });
    }

    #[test]
    fn two_intervals_are_combined_at_their_extremes() {
        let sides = ([20.0, 21.0, 22.0, 23.0, 24.0, 25.0], [10.0, 10.0, 10.0, 10.0, 10.0, 12.5]);
        let ratio = Ratio::of_medians(&sides.0, 0.0, &sides.1, 0.0).unwrap();
        assert_eq!(ratio, Ratio { value: 2.25, interval: Some(Interval { low: 1.6, high: 2.5 }) });
        assert_eq!(Ratio::of_medians(&sides.0, 0.0, &sides.1[..5], 0.0).unwrap().interval, None);
        assert_eq!(Ratio::of_medians(&[2.0], 0.0, &[1.0], 0.0).unwrap().interval, None);
    }

    #[test]
    fn the_clock_widens_it() {
        let ratio = Ratio::of_medians(&[10.0; 6], 1.0, &[10.0], 1.0).unwrap();
        let interval = ratio.interval.unwrap();
        assert!((interval.low - 9.0 / 11.0).abs() < 1e-12 && (interval.high - 11.0 / 9.0).abs() < 1e-12);
    }

    #[test]
    fn below_the_clock_there_is_none() {
        assert_eq!(Ratio::of_medians(&[1.0; 5], 1.0, &[10.0], 0.0), None);
        assert_eq!(Ratio::of_medians(&[10.0; 5], 0.0, &[0.0], 0.5), None);
        assert_eq!(Ratio::of_medians(&[], 0.0, &[1.0], 0.0), None);
    }

    #[test]
    fn pairs_cancel_drift() {
        let pairs = [(2.0, 1.0), (20.0, 10.0), (200.0, 100.0), (4.0, 2.0), (6.0, 3.0), (8.0, 4.0)];
        assert_eq!(
            Ratio::of_pairs(&pairs),
            Some(Ratio { value: 2.0, interval: Some(Interval { low: 2.0, high: 2.0 }) })
        );
        assert_eq!(Ratio::of_pairs(&[]), None);
    }
}
