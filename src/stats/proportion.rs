//! Intervals of proportions.

use super::Interval;

/// The 0.975 quantile of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// Returns the 95 % interval of a proportion that was seen `hits` times in `trials`, by Wilson's score, which
/// is also valid for few trials and for none or all of them; `None` without trials.
pub fn wilson(hits: usize, trials: usize) -> Option<Interval> {
    if trials == 0 || hits > trials {
        return None;
    }
    let (n, share) = (trials as f64, hits as f64 / trials as f64);
    let center = share + Z * Z / (2.0 * n);
    let spread = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    let low = ((center - spread) / scale).max(0.0);
    Some(Interval { low, high: ((center + spread) / scale).min(1.0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        let interval = wilson(3, 10).unwrap();
        assert!(
            (interval.low - 0.1078).abs() < 1e-4 && (interval.high - 0.6032).abs() < 1e-4,
            "{interval:?}"
        );
        let none = wilson(0, 5).unwrap();
        assert!(none.low < 1e-12 && (none.high - 0.4345).abs() < 1e-4, "{none:?}");
        assert_eq!(wilson(0, 0), None);
    }
}
