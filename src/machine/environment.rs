//! The environment of the processes that are measured: what they are given, and what else is set.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// The variables that a measured process is given, with those that a study adds. No other reaches it.
const PASSED: &[&str] = &["PATH", "HOME", "TMPDIR", "SQLITE_TMPDIR", "LANG", "LC_ALL", "TZ"];

/// Variables that change how a program runs without a trace in what it prints, by the beginning of their names.
const TOLD: &[&str] =
    &["LD_", "MALLOC_", "GLIBC_TUNABLES", "SQLITE_", "JE_MALLOC_CONF", "TCMALLOC_", "MIMALLOC_"];

/// What the environment says about a measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// Variables of this program's own environment that change how programs run. The official tool does not get them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub told: BTreeMap<String, String>,
    /// The names of the variables that the official tool gets, with SQLITE_TMPDIR where a folder is named for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed: Vec<String>,
    /// The nice value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nice: Option<i32>,
}

impl Environment {
    /// Reads the environment of this process.
    pub fn capture() -> Environment {
        let told = std::env::vars_os().filter_map(|(name, value)| {
            let name = name.to_str()?.to_string();
            let is_told = TOLD.iter().any(|begin| name.starts_with(begin)) && name != "SQLITE_TMPDIR";
            is_told.then(|| (name, value.to_string_lossy().into_owned()))
        });
        let passed = passed().map(|(name, _)| name.to_string_lossy().into_owned());
        Environment { told: told.collect(), passed: passed.collect(), nice: nice() }
    }
}

/// Returns the nice value of this process, from its status line in /proc.
fn nice() -> Option<i32> {
    let stat = super::text("/proc/self/stat")?;
    // The name of the program, in parentheses, may contain anything; nice is the 17th field behind it.
    stat.rsplit_once(')')?.1.split_whitespace().nth(16)?.parse().ok()
}

/// Returns whether a variable is passed on to a measured process.
fn is_passed(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| PASSED.contains(&name))
}

/// Returns the variables that a measured process is given.
pub fn passed() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| is_passed(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_programs_is_not_passed_on() {
        for name in ["LD_PRELOAD", "MALLOC_ARENA_MAX", "GLIBC_TUNABLES", "REPRO_AUTH_TOKEN"] {
            assert!(!is_passed(OsStr::new(name)), "{name}");
        }
        assert!(is_passed(OsStr::new("PATH")));
    }

    #[test]
    fn this_process_is_as_nice_as_it_is() {
        let nice = Environment::capture().nice.unwrap();
        assert!((-20..20).contains(&nice), "{nice}");
    }
}
