//! The scale by which a study is shrunk.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A fraction of the full size, such as 1/100.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale(u64);

impl Scale {
    /// Returns `full` shrunk by the scale, but at least 1.
    pub fn of(self, full: u64) -> u64 {
        (full / self.0).max(1)
    }

    /// Returns whether `full` shrinks as much as this scale says, to within a twentieth.
    pub fn fits(self, full: u64) -> bool {
        let kept = self.of(full) * self.0;
        kept.abs_diff(full) * 20 <= full
    }
}

impl Default for Scale {
    fn default() -> Self {
        Scale(1)
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1/{}", self.0)
    }
}

impl FromStr for Scale {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let divisor = text.strip_prefix("1/").unwrap_or(if text == "1" { "1" } else { "" });
        match divisor.parse() {
            Ok(divisor @ 1..=10_000) => Ok(Scale(divisor)),
            _ => Err("expected 1/N with N from 1 to 10000, such as 1/100".to_string()),
        }
    }
}

impl Serialize for Scale {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Scale {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_small_does_not_shrink() {
        let scale: Scale = "1/200".parse().unwrap();
        assert!(scale.fits(5000) && scale.fits(2000) && scale.fits(1_000_001));
        assert!(!scale.fits(1) && !scale.fits(50) && !scale.fits(500));
        assert!(Scale::default().fits(1));
    }
}
