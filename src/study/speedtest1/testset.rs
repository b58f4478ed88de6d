//! The testsets of speedtest1: their names, lists of them, and how to recognise one by its first step.

use super::StepKey;
use std::fmt;
use std::str::FromStr;

/// Every testset that speedtest1 3.53.4 knows (`main()` in speedtest1.c).
pub const TESTSETS: &[&str] =
    &["main", "orm", "cte", "json", "fp", "parsenumber", "rtree", "star", "app", "trigger", "debug1"];

/// The expansion of the tool's default list, the macro `mix1` (`zMix1Tests` in speedtest1.c).
const MIX1: &str = "main,orm/25,cte/20,json,fp/3,parsenumber/25,rtree/10,star,app";

/// The version whose steps [`missing_steps`] knows.
pub const STEPS_OF: &str = "3.53.4";

/// The numbers of the steps of each testset that can finish: `debug1` has no steps, and `trigger` fails.
const STEPS: &[(&str, &[u32])] = &[
    (
        "main",
        &[
            100, 110, 120, 130, 140, 142, 145, 150, 160, 161, 170, 180, 190, 200, 210, 230, 240, 250, 260,
            270, 280, 290, 300, 310, 320, 400, 410, 500, 510, 520, 980, 990,
        ],
    ),
    ("orm", &[100, 110]),
    ("cte", &[100, 200, 300, 400]),
    ("json", &[100, 110, 120, 130, 140, 141, 150, 160]),
    ("fp", &[100, 110, 120, 130, 140, 150]),
    ("parsenumber", &[100, 110, 200, 210]),
    ("rtree", &[100, 101, 110, 120, 125, 130, 140, 150, 155, 160, 165, 170]),
    ("star", &[100, 110, 120, 130, 130]),
    ("app", &[100, 110]),
];

/// Returns the steps that a complete run of the testsets in `found` has but `found` lacks. Someone who
/// removes a row of 0.000 s leaves TOTAL unchanged, so nothing else reveals it.
pub fn missing_steps(found: &[StepKey]) -> Vec<StepKey> {
    let mut missing = Vec::new();
    for (testset, numbers) in STEPS.iter().filter(|(name, _)| found.iter().any(|key| key.testset == *name)) {
        for (index, &number) in numbers.iter().enumerate() {
            let occurrence = numbers[..=index].iter().filter(|&&before| before == number).count() as u32;
            let key = StepKey { testset: testset.to_string(), number, occurrence };
            if !found.contains(&key) {
                missing.push(key);
            }
        }
    }
    missing
}

/// A validated argument of `--testset`: `mix1`, or names with an optional `/SCALE` in percent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestsetList(String);

impl TestsetList {
    /// Returns the names of the testsets in the order in which they run.
    pub fn names(&self) -> Vec<String> {
        let list = if self.0 == "mix1" { MIX1 } else { &self.0 };
        list.split(',').map(|item| item.split('/').next().unwrap_or(item).to_string()).collect()
    }

    /// Returns the size at which each testset runs when the tool is given this `--size`.
    pub fn sizes(&self, size: u32) -> Vec<u32> {
        let list = if self.0 == "mix1" { MIX1 } else { &self.0 };
        let scale =
            |item: &str| item.split_once('/').and_then(|(_, scale)| scale.parse().ok()).unwrap_or(100);
        list.split(',').map(|item| scaled(size, scale(item))).collect()
    }

    /// Returns the largest `/SCALE` in percent, or 100 when none is given.
    pub fn largest_scale(&self) -> u64 {
        let scales = self.0.split(',').map(|item| match item.split_once('/') {
            Some((_, scale)) => scale.parse().unwrap_or(100),
            None => 100,
        });
        scales.max().unwrap_or(100)
    }

    /// Returns the list as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns the size of a testset with `/SCALE`, as the tool rounds it.
pub fn scaled(size: u32, scale: u32) -> u32 {
    (u64::from(size) * u64::from(scale) / 100).clamp(1, u64::from(u32::MAX)) as u32
}

impl Default for TestsetList {
    fn default() -> Self {
        TestsetList("mix1".to_string())
    }
}

impl fmt::Display for TestsetList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for TestsetList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "mix1" || text == MIX1 {
            return Ok(Self::default());
        }
        for item in text.split(',') {
            let (name, scale) = match item.split_once('/') {
                Some((name, scale)) => (name, Some(scale)),
                None => (item, None),
            };
            if !TESTSETS.contains(&name) {
                let hint = if name == "mix1" { " (mix1 can't be part of a list)" } else { "" };
                return Err(format!(
                    "unknown testset `{name}`{hint}; choose mix1, or a list of {}",
                    TESTSETS.join(", ")
                ));
            }
            let scale_ok = |s: &str| {
                s.bytes().all(|b| b.is_ascii_digit())
                    && s.parse::<u32>().is_ok_and(|n| (1..=10_000).contains(&n))
            };
            if scale.is_some_and(|s| !scale_ok(s)) {
                return Err(format!("`{item}`: the scale after `/` must be a percentage from 1 to 10000"));
            }
        }
        Ok(TestsetList(text.to_string()))
    }
}

impl serde::Serialize for TestsetList {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> serde::Deserialize<'de> for TestsetList {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Returns the testset whose first step has this name, for output without a header.
///
/// The tool prints no header for the first testset of a list, nor while the total is 0 ms.
pub fn of_first_step(name: &str) -> Option<&'static str> {
    let words: Vec<&str> =
        name.split_whitespace().filter(|w| !w.bytes().all(|b| b.is_ascii_digit())).collect();
    match words.as_slice() {
        ["INSERTs", "into", "table", ..] => Some("main"),
        ["Fill", "rows"] => Some("orm"),
        ["Sudoku", ..] => Some("cte"),
        ["table", "J1", ..] => Some("json"),
        ["Fill", "a", "table", "with", "FP", ..] => Some("fp"),
        ["parsing", "small", ..] => Some("parsenumber"),
        ["INSERTs", "into", "an", "r-tree"] => Some("rtree"),
        ["Create", "a", "fact", ..] => Some("star"),
        ["Generate", "a", "Fossil-like", ..] => Some("app"),
        ["speed4p-join1"] => Some("trigger"),
        _ => None,
    }
}

/// Returns the `--size` of a run, derived from the row count in the name of the first step of `main` (500
/// rows per unit of size in every version since 2013).
pub fn size_of_main(first_step: &str) -> Option<u32> {
    let count: u32 = first_step.strip_suffix(" INSERTs into table with no index")?.parse().ok()?;
    (count > 0 && count.is_multiple_of(500)).then_some(count / 500)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spelled_out_default_list_is_mix1() {
        let list: TestsetList = MIX1.parse().unwrap();
        assert_eq!(list.as_str(), "mix1");
        assert_eq!(list.names(), ["main", "orm", "cte", "json", "fp", "parsenumber", "rtree", "star", "app"]);
    }

    #[test]
    fn unknown_names_and_scales_are_refused() {
        for bad in
            ["", "nope", "main,", "mix1,main", "main/0", "main/x", "main/", "main/+5", "main/99999999999"]
        {
            assert!(bad.parse::<TestsetList>().is_err(), "{bad:?}");
        }
        assert_eq!("main,cte/20".parse::<TestsetList>().unwrap().names(), ["main", "cte"]);
    }

    #[test]
    fn a_missing_step_is_told() {
        let key = |number, occurrence| StepKey { testset: "star".to_string(), number, occurrence };
        let whole = [key(100, 1), key(110, 1), key(120, 1), key(130, 1), key(130, 2), key(999, 1)];
        assert_eq!(missing_steps(&whole), []);
        assert_eq!(missing_steps(&whole[..4]), [key(130, 2)]);
    }

    #[test]
    fn first_steps_name_their_testset() {
        assert_eq!(of_first_step("50000 INSERTs into table with no index"), Some("main"));
        assert_eq!(of_first_step("5000 INSERTs into an r-tree"), Some("rtree"));
        assert_eq!(of_first_step("Fill 6250 rows"), Some("orm"));
        assert_eq!(of_first_step("Fill a table with 30000 FP values"), Some("fp"));
        assert_eq!(of_first_step("VACUUM"), None);
        assert_eq!(size_of_main("50000 INSERTs into table with no index"), Some(100));
        assert_eq!(size_of_main("50001 INSERTs into table with no index"), None);
    }
}
