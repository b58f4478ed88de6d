//! The interval of a median between two order statistics, which assumes no distribution (Conover, *Practical
//! Nonparametric Statistics*, section 3.2).
//!
//! The number of samples below the true median is binomial, so the confidence of the interval from the k-th
//! smallest to the k-th largest of n is exact: 1 − 2 P(Binomial(n, ½) < k). It takes the samples as independent.

use super::{Interval, serial};

/// The confidence that an interval has at least.
const LEVEL: f64 = 0.95;

/// Returns the interval of the median of `samples`, in the order of their runs; `None` below
/// [`super::FEWEST_RUNS`], where even the whole range is not sure enough. Samples that are seen to depend on that order
/// get the whole range.
pub fn of_median(samples: &[f64]) -> Option<Interval> {
    let (skipped, _) = outermost(samples.len())?;
    let skipped = if skipped > 0 && serial::dependence(samples).is_some() { 0 } else { skipped };
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some(Interval { low: sorted[skipped], high: sorted[sorted.len() - 1 - skipped] })
}

/// Returns the exact confidence of the interval of the median of `n` samples, or `None` if there is none.
pub fn confidence(n: usize) -> Option<f64> {
    outermost(n).map(|(_, confidence)| confidence)
}

/// Returns how many samples to skip on each side for the narrowest interval that is sure enough, and how sure it
/// is.
fn outermost(n: usize) -> Option<(usize, f64)> {
    // ln P(Binomial(n, ½) = k), from k = 0 on; the logarithm keeps it from vanishing for large n.
    let mut log_term = -(n as f64) * std::f64::consts::LN_2;
    let (mut below, mut found) = (0.0, None);
    for skipped in 0..n.div_ceil(2) {
        below += log_term.exp();
        let confidence = 1.0 - 2.0 * below;
        if confidence < LEVEL {
            break;
        }
        found = Some((skipped, confidence));
        log_term += ((n - skipped) as f64 / (skipped + 1) as f64).ln();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::FEWEST_RUNS;
    use super::*;

    #[test]
    fn the_confidence_is_that_of_the_binomial() {
        // Published tables: 6 (1..6), 10 (2..9), 20 (6..15), 100 (40..61).
        for (n, skipped, confidence) in
            [(6, 0, 0.96875), (10, 1, 0.978515625), (20, 5, 0.9586105346679688), (100, 39, 0.9647998)]
        {
            let found = outermost(n).unwrap();
            assert_eq!(found.0, skipped, "{n}");
            assert!((found.1 - confidence).abs() < 1e-6, "{n}: {found:?}");
        }
        assert!(outermost(100_000).unwrap().1 >= 0.95);
    }

    #[test]
    fn fewer_than_six_samples_have_no_interval() {
        for n in 0..10 {
            let samples: Vec<f64> = (0..n).map(f64::from).collect();
            assert_eq!(of_median(&samples).is_some(), n as u32 >= FEWEST_RUNS, "{n}");
        }
    }

    #[test]
    fn it_lies_between_samples() {
        assert_eq!(of_median(&[5.0, 1.0, 4.0, 2.0, 3.0, 6.0]), Some(Interval { low: 1.0, high: 6.0 }));
        let ten = [5.0, 1.0, 8.0, 3.0, 10.0, 2.0, 9.0, 4.0, 7.0, 6.0];
        assert_eq!(of_median(&ten), Some(Interval { low: 2.0, high: 9.0 }));
        // A trend makes the whole range possible.
        let rising: Vec<f64> = (1..=10).map(f64::from).collect();
        assert_eq!(of_median(&rising), Some(Interval { low: 1.0, high: 10.0 }));
    }

    /// Returns the share of 4,000 series of `n` normal values whose interval holds the true median. Each value
    /// keeps `memory` of the one before it.
    fn coverage(n: usize, memory: f64) -> f64 {
        use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
        let mut generator = ChaCha8Rng::seed_from_u64(6);
        let mut uniform = || generator.random_range(f64::EPSILON..1.0);
        let mut normal = || (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
        let mut hits = 0;
        for _ in 0..4000 {
            let mut last = normal();
            let series: Vec<f64> = (0..n)
                .map(|_| {
                    last = memory * last + (1.0 - memory * memory).sqrt() * normal();
                    last
                })
                .collect();
            hits += usize::from(of_median(&series).unwrap().contains(0.0));
        }
        hits as f64 / 4000.0
    }

    #[test]
    fn independent_samples_are_covered_as_promised() {
        for n in [6, 10, 20] {
            let (found, promised) = (coverage(n, 0.0), confidence(n).unwrap());
            assert!((found - promised).abs() < 0.012, "{n}: {found} instead of {promised}");
        }
    }

    /// Why runs of one session are not enough for a citation: what they share is not in their interval. Without the
    /// whole range for what is seen to depend on its order, 20 runs would cover 78 %.
    #[test]
    fn samples_that_depend_on_each_other_are_covered_less() {
        for (n, least, most) in [(6, 0.82, 0.88), (10, 0.86, 0.92), (20, 0.85, 0.89)] {
            let found = coverage(n, 0.5);
            assert!(found > least && found < most, "{n}: {found}");
        }
    }
}
