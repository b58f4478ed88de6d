//! The key of a step, which is a row of the tool's output.

use std::fmt;

/// The identity of a timed step.
///
/// speedtest1 numbers its steps within each testset and may repeat a number there (`star` has two 130s), so
/// the number alone is not a key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepKey {
    /// The testset that the step belongs to, such as `main`.
    pub testset: String,
    /// The number printed by the tool, such as 310.
    pub number: u32,
    /// 1 for the first step of that number in the testset, 2 for the second, and so on.
    pub occurrence: u32,
}

/// Writes `main/310`, or `star/130#2` for the second 130 of `star`.
impl fmt::Display for StepKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.testset, self.number)?;
        if self.occurrence > 1 {
            write!(f, "#{}", self.occurrence)?;
        }
        Ok(())
    }
}

impl std::str::FromStr for StepKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fault = || format!("`{text}` is not a row key such as main/310 or star/130#2");
        let (testset, rest) = text.split_once('/').ok_or_else(fault)?;
        let (number, occurrence) = rest.split_once('#').unwrap_or((rest, "1"));
        let key = StepKey {
            testset: testset.to_string(),
            number: number.parse().map_err(|_| fault())?,
            occurrence: occurrence.parse().map_err(|_| fault())?,
        };
        if key.testset.is_empty() || key.occurrence == 0 {
            return Err(fault());
        }
        Ok(key)
    }
}
