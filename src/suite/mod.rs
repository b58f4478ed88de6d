//! The studies that this program can reproduce: what is run, never how.
//!
//! A suite is data: its steps, parameters and expected answers. Nothing in this module starts a
//! process, reads a clock or touches a file.

pub mod load;
pub mod measure;
pub mod oltp;
pub mod parse;
pub mod scale;
pub mod serverless;
pub mod speedtest1;
pub mod sql;

use std::fmt;

/// Identity of a timed step.
///
/// speedtest1 numbers its steps per testset, and repeats a number inside one (`star` has two
/// 130s), so the number alone is not a key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepKey {
    /// Testset the step belongs to, such as `main`.
    pub testset: String,
    /// Number printed by the tool, such as 310.
    pub number: u32,
    /// 1 for the first step of that number in the testset, 2 for the second, …
    pub occurrence: u32,
}

/// `main/310`, and `star/130#2` for the second 130 of `star`.
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
        let fault = || format!("`{text}` is not a step key such as main/310 or star/130#2");
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

/// One line of the registry.
pub struct Suite {
    /// Name on the command line and in records.
    pub name: &'static str,
    /// What it measures, in a sentence.
    pub about: &'static str,
    /// Names of its sides; none where figures are of numbered steps.
    pub legs: fn() -> Vec<&'static str>,
    /// Names of the phases of each side, in the order they run. `clients-N` stands for a phase of any number.
    pub phases: fn() -> Vec<&'static str>,
    /// The side that ratios are taken to.
    pub baseline: Option<&'static str>,
}

/// Every suite that exists.
pub const SUITES: &[Suite] = &[speedtest1::SUITE, oltp::SUITE, serverless::SUITE, load::SWEEP, load::MILLION];

impl Suite {
    /// The suite of this name.
    pub fn named(name: &str) -> Option<&'static Suite> {
        SUITES.iter().find(|suite| suite.name == name)
    }

    /// Whether its legs can have a phase of this name.
    pub fn knows_phase(&self, name: &str) -> bool {
        (self.phases)().iter().any(|known| match known.strip_suffix("-N") {
            Some(prefix) => {
                name.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('-')).is_some_and(is_number)
            }
            None => *known == name,
        })
    }

    /// The phases that make up a whole run; `None` where their number is not fixed, or there are none.
    pub fn whole(&self) -> Option<Vec<&'static str>> {
        let phases = (self.phases)();
        (!phases.is_empty() && phases.iter().all(|name| !name.ends_with("-N"))).then_some(phases)
    }
}

/// Whether these are the digits of a number from 1, as one writes it.
fn is_number(text: &str) -> bool {
    !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u32>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_of_any_number() {
        let sweep = Suite {
            name: "sweep",
            about: "",
            legs: || vec!["sqld"],
            phases: || vec!["seed", "clients-N"],
            baseline: None,
        };
        for known in ["seed", "clients-1", "clients-16"] {
            assert!(sweep.knows_phase(known), "{known}");
        }
        for other in
            ["", "clients", "clients-", "clients-N", "clients-0", "clients-01", "clients--1", "clients-+1"]
        {
            assert!(!sweep.knows_phase(other), "{other}");
        }
        assert_eq!(sweep.whole(), None);
    }

    #[test]
    fn the_registry() {
        let speedtest1 = Suite::named("speedtest1").unwrap();
        assert!(
            (speedtest1.legs)().is_empty() && speedtest1.whole().is_none() && !speedtest1.knows_phase("")
        );
        let serverless = Suite::named("serverless").unwrap();
        assert_eq!(serverless.whole().unwrap().len(), 15);
        assert!((serverless.legs)().contains(&serverless.baseline.unwrap()));
        assert!(Suite::named("tpc-c").is_none());
    }
}
