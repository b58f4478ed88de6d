//! Intervals of estimated values.

/// An interval that holds the true value with at least 95 % confidence, in the unit of the samples.
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
