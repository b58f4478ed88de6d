//! How many runs a figure needs, foreseen from a pilot.

/// The normal quantile of 95 %, times the standard error of a median over that of a mean.
const REACH: f64 = 1.96 * 1.2533;
/// Room for what the pilot did not see.
const MARGIN: f64 = 1.3;

/// Returns the number of runs after which the interval of the median should reach no further than `half_width` from it, as
/// a fraction of it; `None` below two values, or when the median is not positive.
pub fn runs_needed(pilot: &[f64], half_width: f64) -> Option<u32> {
    let center = super::median(pilot).filter(|center| *center > 0.0 && pilot.len() > 1)?;
    let mean = pilot.iter().sum::<f64>() / pilot.len() as f64;
    let squares: f64 = pilot.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = (squares / (pilot.len() - 1) as f64).sqrt() / center;
    Some(((REACH * deviation / half_width).powi(2) * MARGIN).ceil().clamp(1.0, 1e6) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wider_pilots_need_more_runs() {
        assert_eq!(runs_needed(&[100.0; 6], 0.01), Some(1));
        // A deviation of 1.095 %: (1.96 × 1.2533 × 1.095)² × 1.3 is 9.4.
        assert_eq!(runs_needed(&[99.0, 101.0, 99.0, 101.0, 99.0, 101.0], 0.01), Some(10));
        assert!(runs_needed(&[50.0, 150.0, 100.0], 0.01).unwrap() > 10_000);
        assert_eq!(runs_needed(&[100.0], 0.01), None);
        assert_eq!(runs_needed(&[0.0, 0.0], 0.01), None);
    }
}
