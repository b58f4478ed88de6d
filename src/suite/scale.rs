//! How far a study is shrunk.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A fraction of the full size, such as 1/100.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale(u64);

impl Scale {
    /// `full`, shrunk; at least 1.
    pub fn of(self, full: u64) -> u64 {
        (full / self.0).max(1)
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
