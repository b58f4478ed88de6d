//! Whether values in the order in which they were measured are independent of it.

use std::fmt;

/// A dependence on the order, found at the 1 % level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dependence {
    /// The values rise in the course of the runs.
    Rising,
    /// They fall.
    Falling,
    /// Each is like the one before it.
    Correlated,
}

impl fmt::Display for Dependence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Dependence::Rising => "the values rise from run to run",
            Dependence::Falling => "the values fall from run to run",
            Dependence::Correlated => "each value is like the one before it",
        })
    }
}

/// The normal quantiles of 1 %, two-sided and one-sided.
const TWO_SIDED: f64 = 2.576;
const ONE_SIDED: f64 = 2.326;

/// Returns the dependence of these values on their order, if there is one: a trend by the test of Mann and Kendall, or a
/// positive correlation of neighbours by the rank version of von Neumann's ratio (Bartels 1982). Below six values
/// there is no telling.
pub fn dependence(values: &[f64]) -> Option<Dependence> {
    if values.len() < super::FEWEST_RUNS as usize {
        return None;
    }
    match trend(values)? {
        z if z > TWO_SIDED => Some(Dependence::Rising),
        z if z < -TWO_SIDED => Some(Dependence::Falling),
        _ => (neighbours(values)? < -ONE_SIDED).then_some(Dependence::Correlated),
    }
}

/// Returns the standard score of Mann and Kendall's S, with the correction for ties and for continuity; `None` if all
/// values are equal.
fn trend(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    let pairs = (0..values.len()).flat_map(|i| (i + 1..values.len()).map(move |j| (i, j)));
    let sign = |(i, j): (usize, usize)| match values[j].total_cmp(&values[i]) {
        std::cmp::Ordering::Less => -1.0,
        std::cmp::Ordering::Equal => 0.0,
        std::cmp::Ordering::Greater => 1.0,
    };
    let s: f64 = pairs.map(sign).sum();
    let ties: f64 = tied(values).map(|t| t * (t - 1.0) * (2.0 * t + 5.0)).sum();
    let variance = (n * (n - 1.0) * (2.0 * n + 5.0) - ties) / 18.0;
    (variance > 0.0).then(|| (s.abs() - 1.0).max(0.0).copysign(s) / variance.sqrt())
}

/// Returns the sizes of the groups of equal values.
fn tied(values: &[f64]) -> impl Iterator<Item = f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.chunk_by(|a, b| a == b).map(|group| group.len() as f64).collect::<Vec<_>>().into_iter()
}

/// Returns the standard score of the rank version of von Neumann's ratio: below 0 if neighbours are alike.
fn neighbours(values: &[f64]) -> Option<f64> {
    let ranks = super::rank::ranks(values);
    let n = ranks.len() as f64;
    let mean = (n + 1.0) / 2.0;
    let spread: f64 = ranks.iter().map(|rank| (rank - mean).powi(2)).sum();
    let steps: f64 = ranks.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
    let variance =
        4.0 * (n - 2.0) * (5.0 * n * n - 2.0 * n - 9.0) / (5.0 * n * (n + 1.0) * (n - 1.0).powi(2));
    (spread > 0.0).then(|| (steps / spread - 2.0) / variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};

    #[test]
    fn trends_and_neighbours_are_found() {
        let rising: Vec<f64> = (0..8).map(f64::from).collect();
        let falling: Vec<f64> = rising.iter().rev().copied().collect();
        assert_eq!(dependence(&rising), Some(Dependence::Rising));
        assert_eq!(dependence(&falling), Some(Dependence::Falling));
        let wave = [1.0, 2.0, 3.0, 8.0, 9.0, 10.0, 7.0, 6.5, 1.5, 0.5, 2.5, 7.5, 8.5, 9.5, 3.5, 2.2];
        assert_eq!(dependence(&wave), Some(Dependence::Correlated));
        for none in [&[1.0, 2.0, 3.0, 4.0, 5.0][..], &[3.0; 9], &[5.0, 1.0, 4.0, 2.0, 6.0, 3.0, 5.5, 1.5]] {
            assert_eq!(dependence(none), None, "{none:?}");
        }
    }

    /// Returns how often a dependence is found in ten values with this correlation of neighbours.
    fn found(correlation: f64, n: usize) -> f64 {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let mut normal = || {
            let sum: f64 = (0..12).map(|_| random.random::<f64>()).sum();
            sum - 6.0
        };
        let times = 4000;
        let hits = (0..times).filter(|_| {
            let mut value = normal();
            let values: Vec<f64> = (0..n)
                .map(|_| {
                    value = correlation * value + (1.0 - correlation * correlation).sqrt() * normal();
                    value
                })
                .collect();
            dependence(&values).is_some()
        });
        hits.count() as f64 / f64::from(times)
    }

    #[test]
    fn independent_values_are_seldom_suspected_and_dependent_ones_more_often() {
        for n in [6, 10, 20, 30] {
            assert!(found(0.0, n) < 0.025, "{n}: {}", found(0.0, n));
        }
        assert!(found(0.5, 20) > 0.25, "{}", found(0.5, 20));
        assert!(found(0.9, 20) > 0.8, "{}", found(0.9, 20));
    }
}
