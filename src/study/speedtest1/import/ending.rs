//! What ended a run that has no TOTAL: the tool's own messages, and those of whatever it ran on.

use super::super::line::pattern;
use crate::record::{Cause, Failure};
use regex::Regex;
use std::sync::LazyLock;

static OF_THE_TOOL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        "SQL error: |exec error: |Error code [0-9]+: |Count disagree |Cannot open database file: ",
        "|unknown testset: |unknown option: |compile with -DSQLITE_ENABLE_RTREE|cannot allocate ",
        "|missing argument on |surplus argument: |bad modifier on testset name: "
    ))
});

/// What shells, kernels and runtimes say when they end a process, and the signal that it stands for.
const SIGNALS: &[(&str, i32)] = &[
    ("Killed", 9),
    ("Terminated", 15),
    ("Segmentation fault", 11),
    ("SIGSEGV", 11),
    ("Aborted", 6),
    ("SIGABRT", 6),
    ("Bus error", 7),
    ("Illegal instruction", 4),
    ("Floating point exception", 8),
];

static MEMORY: LazyLock<Regex> =
    LazyLock::new(|| pattern("out of memory|failed to allocate|alloc[a-z]* (?:error|failed)|\\boom\\b"));
static PANIC: LazyLock<Regex> = LazyLock::new(|| pattern("\\bpanic|unhandled (?:exception|trap|page fault)"));

/// Returns where in a line the tool says that it failed.
pub fn said_by_the_tool(line: &str) -> Option<usize> {
    OF_THE_TOOL.find(line).map(|found| found.start())
}

/// Returns the cause that a line names, if it says that a process was ended.
fn cause(line: &str) -> Option<Cause> {
    let small = line.to_ascii_lowercase();
    if MEMORY.is_match(&small) {
        return Some(Cause::OutOfMemory);
    }
    if PANIC.is_match(&small) {
        return Some(Cause::Panic);
    }
    SIGNALS.iter().find(|(words, _)| line.contains(words)).map(|(_, signal)| Cause::Signal(*signal))
}

/// Returns whether a line says that a process was ended.
pub fn is_crash(line: &str) -> bool {
    cause(line).is_some()
}

/// Returns why a run has no TOTAL. `place` is where it stopped, and `said` are the lines that follow.
pub fn of<'a>(place: &str, said: impl Iterator<Item = &'a str> + Clone) -> Failure {
    match said.clone().find_map(|line| Some((cause(line)?, line))) {
        Some((cause, line)) => Failure::at(cause, place, line),
        None => {
            let last =
                said.clone().next().map_or(String::new(), |line| format!("; what follows is `{line}`"));
            Failure::at(Cause::CutShort, place, &format!("no TOTAL{last}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_have_causes() {
        for (said, cause) in [
            ("Killed", Cause::Signal(9)),
            ("./run.sh: line 3:  4711 Segmentation fault      (core dumped) ./speedtest1", Cause::Signal(11)),
            ("[  602.598] ERROR: Failed to allocate", Cause::OutOfMemory),
            ("Out of memory: Killed process 4711 (speedtest1)", Cause::OutOfMemory),
            ("Kernel panic - not syncing: Attempted to kill init!", Cause::Panic),
            ("make: *** [all] Error 1", Cause::CutShort),
        ] {
            assert_eq!(of(" after row main/145", [said].into_iter()).cause, cause, "{said}");
        }
        let none = of(" in row main/180", std::iter::empty());
        assert_eq!(none.message, "cut short in row main/180: no TOTAL");
    }
}
