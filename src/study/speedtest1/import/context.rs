//! What a log says before a run: the command, and a heading that tells the run from others.

use super::super::Workload;
use super::super::line::pattern;
use super::{ImportedRun, layout};
use regex::Regex;
use std::sync::LazyLock;

/// What stands before a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    /// The lines that may say how the run differs from others.
    pub heading: Vec<String>,
    /// The command line, and what it makes the tool do.
    pub command: Option<(String, Workload)>,
}

static COUNTER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\W*(?:run|round|iteration|repeat|repetition|pass|attempt|trial)\W*[0-9]+\W*(?:(?:of|/)\W*[0-9]+\W*)?$",
    )
});
static SPENT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\s*(?:real|user|sys)\s+[0-9]|^[0-9.:]+\s*(?:real|user|elapsed|system)\b"));
static CLOCK: LazyLock<Regex> = LazyLock::new(|| pattern(r"[0-9]{1,2}:[0-9]{2}|[0-9]{4}-[0-9]{2}-[0-9]{2}"));
static OF_A_DATE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"[0-9]+|\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|AM|PM|[A-Z]{3,4}|T|Z)\b|[TZ]",
    )
});

/// Returns whether a line can't tell two runs apart: it counts them, gives the time or the time spent, or has no
/// words at all.
fn is_neutral(line: &str) -> bool {
    let date =
        CLOCK.is_match(line) && !OF_A_DATE.replace_all(line, "").contains(|c: char| c.is_alphanumeric());
    let words = line.contains(|c: char| c.is_alphanumeric());
    !words
        || date
        || COUNTER.is_match(&line.to_ascii_lowercase())
        || SPENT.is_match(line)
        || line.starts_with("# source:")
}

/// Returns what stands before each run. Lines that follow the last run, too, come after every run and not
/// before the next.
pub fn of(runs: &[ImportedRun]) -> Vec<Context> {
    let footer: Vec<String> =
        runs.last().into_iter().flat_map(|run| &run.after).map(|l| layout::shape(l)).collect();
    let mut contexts: Vec<Context> = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        let after = if index == 0 { &[][..] } else { &footer };
        let ends =
            run.before.iter().zip(after).take_while(|(line, end)| layout::shape(line) == **end).count();
        let mut found = Context::default();
        for line in &run.before[ends..] {
            match command(line) {
                Some(workload) => found.command = Some((line.trim().to_string(), workload)),
                None if is_neutral(line) => {}
                None => found.heading.push(line.trim().to_string()),
            }
        }
        // What stands above several runs holds for all of them.
        if let Some(above) = contexts.last().filter(|_| found == Context::default()) {
            found = above.clone();
        }
        contexts.push(found);
    }
    contexts
}

impl Context {
    /// Returns whether two runs that follow each other may be repeats of each other. The first may have an
    /// introduction above its heading.
    pub fn is_repeated_by(&self, next: &Context) -> bool {
        let work = |context: &Context| context.command.as_ref().map(|(_, workload)| workload.clone());
        self.heading.ends_with(&next.heading)
            && (work(self) == work(next) || next.command.is_none() && self == next)
    }

    /// Returns the line right above the run, if it is a heading.
    pub fn title(&self) -> Option<&String> {
        self.heading.last()
    }
}

/// Returns what a line makes the tool do if it is a command that runs it.
fn command(line: &str) -> Option<Workload> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_tool = |word: &&str| {
        let file = word.rsplit(['/', '\\']).next().unwrap_or(word);
        file.starts_with("speedtest1") && !file.ends_with(".c") && !file.ends_with(".o")
    };
    let at = words.iter().rposition(is_tool)?;
    if words.iter().any(|word| word.ends_with(".c")) {
        return None;
    }
    let operator = |word: &&&str| word.starts_with(['>', '<', '|', '&', ';', '#']) || word.starts_with("2>");
    let options: Vec<&str> = words[at + 1..].iter().take_while(|word| !operator(word)).copied().collect();
    Workload::of_command(&options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tells_no_runs_apart() {
        for neutral in [
            "---",
            "Mon Dec  7 11:21:36 UTC 2026",
            "2026-12-07T11:21:36Z",
            "run 3 of 10",
            "=== Iteration #2 ===",
            "real\t0m3.708s",
        ] {
            assert!(is_neutral(neutral), "{neutral}");
        }
        for heading in ["== memdb", "4096", "threads 2", "WAL 12:30 on disk", "cache 2000"] {
            assert!(!is_neutral(heading), "{heading}");
        }
    }

    #[test]
    fn commands_are_found() {
        let size = |line: &str| command(line).map(|workload| workload.size);
        assert_eq!(size("$ ./speedtest1 --size 5 --memdb > out.txt 2>&1"), Some(5));
        assert_eq!(size("+ time /opt/sqlite/speedtest1-O3 -size 7 test.db | tee x"), Some(7));
        assert_eq!(size("gcc -O3 speedtest1.c sqlite3.c -o speedtest1"), None);
        assert_eq!(size("speedtest1 is slow on this machine"), None);
        assert_eq!(size("./speedtest1 --unknown 1"), None);
    }
}
