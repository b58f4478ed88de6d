//! Whether two sets of samples differ: the rank sum test of Wilcoxon, Mann and Whitney, and Holm's correction for many
//! such tests.

use super::rank::ranks;

/// The largest number of samples of both sides for which the distribution is exact.
const EXACT: usize = 30;

/// Returns the probability, on both sides, of rank sums as far apart as these if both sets came from one distribution.
/// It is exact, ties included, for up to 30 samples, and else that of the normal approximation; `None` if a set is
/// empty.
pub fn p_value(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    // Mean ranks of ties are halves; twice them are whole.
    let doubled: Vec<usize> = ranks(&all).iter().map(|rank| (rank * 2.0).round() as usize).collect();
    let sum: usize = doubled[..a.len()].iter().sum();
    let (n, of) = (a.len(), all.len());
    let mean = n * (of + 1);
    let distance = sum.abs_diff(mean);
    Some(if of <= EXACT { exact(&doubled, n, mean, distance) } else { normal(&doubled, n, distance as f64) })
}

/// Counts the subsets of `n` ranks whose sum is at least as far from the mean.
fn exact(doubled: &[usize], n: usize, mean: usize, distance: usize) -> f64 {
    let most: usize = doubled.iter().sum();
    let mut ways = vec![vec![0.0_f64; most + 1]; n + 1];
    ways[0][0] = 1.0;
    for rank in doubled {
        for taken in (1..=n).rev() {
            for sum in (*rank..=most).rev() {
                ways[taken][sum] += ways[taken - 1][sum - rank];
            }
        }
    }
    let all: f64 = ways[n].iter().sum();
    let far: f64 = ways[n]
        .iter()
        .enumerate()
        .filter(|(sum, _)| sum.abs_diff(mean) >= distance)
        .map(|(_, ways)| ways)
        .sum();
    far / all
}

fn normal(doubled: &[usize], n: usize, distance: f64) -> f64 {
    let (n, of) = (n as f64, doubled.len() as f64);
    let mean = of + 1.0;
    let spread: f64 = doubled.iter().map(|rank| (*rank as f64 - mean).powi(2)).sum::<f64>() / of;
    let variance = n * (of - n) / (of - 1.0) * spread;
    match variance > 0.0 {
        // Doubled sums of whole ranks are two apart.
        true => (2.0 * tail((distance - 1.0).max(0.0) / variance.sqrt())).min(1.0),
        false => 1.0,
    }
}

/// Returns the upper tail of the normal distribution (Abramowitz and Stegun 26.2.17, error below 1e-7).
fn tail(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let terms = [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    let polynomial = terms.iter().rev().fold(0.0, |sum, term| (sum + term) * t);
    (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() * polynomial
}

/// Returns which of these tests are significant when the chance of one false one among all of them is to be at most
/// `level` (Holm 1979).
pub fn holm(p_values: &[f64], level: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut significant = vec![false; p_values.len()];
    for (rank, index) in order.iter().enumerate() {
        if p_values[*index] > level / (p_values.len() - rank) as f64 {
            break;
        }
        significant[*index] = true;
    }
    significant
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: Option<f64>, expected: f64) {
        let found = found.unwrap();
        assert!((found - expected).abs() < 1e-3, "{found}, expected {expected}");
    }

    #[test]
    fn exact_probabilities() {
        // Of the 20 subsets of three out of six, one is at each end.
        near(p_value(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]), 2.0 / 20.0);
        near(p_value(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[7.0, 8.0, 9.0, 10.0, 11.0, 12.0]), 2.0 / 924.0);
        near(p_value(&[1.0, 3.0], &[2.0, 4.0]), 4.0 / 6.0);
        near(p_value(&[5.0, 5.0, 5.0], &[5.0, 5.0, 5.0]), 1.0);
        assert_eq!(p_value(&[], &[1.0]), None);
    }

    #[test]
    fn the_approximation_continues_the_exact_one() {
        let side = |shift: f64, n: usize| (0..n).map(|i| (i * 7 % n) as f64 + shift).collect::<Vec<f64>>();
        let (exact, normal) =
            (p_value(&side(0.0, 15), &side(3.3, 15)), p_value(&side(0.0, 16), &side(3.3, 15)));
        assert!((exact.unwrap() - normal.unwrap()).abs() < 0.05, "{exact:?} {normal:?}");
        near(Some(tail(1.959_964)), 0.025);
        near(Some(tail(0.0)), 0.5);
    }

    #[test]
    fn many_tests_need_smaller_probabilities() {
        assert_eq!(holm(&[0.01, 0.04, 0.03], 0.05), [true, false, false]);
        assert_eq!(holm(&[0.01, 0.02, 0.03], 0.05), [true, true, true]);
        assert_eq!(holm(&[0.04], 0.05), [true]);
        assert_eq!(holm(&[], 0.05), Vec::<bool>::new());
    }
}
