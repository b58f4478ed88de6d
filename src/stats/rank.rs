//! Rank correlation.

/// Returns Spearman's rank correlation of two lists of equal length, where ties share their mean rank; `None`
/// below three pairs or when one list is constant.
pub fn spearman(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len() != b.len() || a.len() < 3 {
        return None;
    }
    pearson(&ranks(a), &ranks(b))
}

/// Returns the ranks from 1; equal values share the mean of their ranks.
pub(super) fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count() as f64;
        let equal = values.iter().filter(|other| *other == value).count() as f64;
        below + (equal + 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

fn pearson(a: &[f64], b: &[f64]) -> Option<f64> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let products = |x: &[f64], mx: f64, y: &[f64], my: f64| -> f64 {
        x.iter().zip(y).map(|(x, y)| (x - mx) * (y - my)).sum()
    };
    let spread = products(a, mean_a, a, mean_a) * products(b, mean_b, b, mean_b);
    (spread > 0.0).then(|| products(a, mean_a, b, mean_b) / spread.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_all_that_counts() {
        assert_eq!(spearman(&[1.0, 2.0, 3.0], &[10.0, 200.0, 3000.0]), Some(1.0));
        assert_eq!(spearman(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]), Some(-1.0));
        assert_eq!(ranks(&[5.0, 1.0, 5.0]), [2.5, 1.0, 2.5]);
        assert_eq!(spearman(&[1.0, 1.0, 1.0], &[1.0, 2.0, 3.0]), None);
        assert_eq!(spearman(&[1.0], &[1.0]), None);
    }
}
