//! The tool's own spelling of its options: one dash or two, its names for byte orders, a database as a bare name.

use super::args::{Options, PASSED};
use super::{Database, Workload};
use clap::{Args, Command, FromArgMatches};

/// Returns an option in the spelling of `repro` if it is one in that of the tool only.
pub fn in_our_spelling(word: &str) -> Option<String> {
    let name = word.strip_prefix('-').filter(|name| name.len() > 1)?;
    let name = name.strip_prefix('-').unwrap_or(name);
    let own = match name {
        "utf16le" => "--utf16=le".to_string(),
        "utf16be" => "--utf16=be".to_string(),
        _ => format!("--{name}"),
    };
    let long = own[2..].split('=').next().unwrap_or_default();
    (own != word && takes_value(long).is_some()).then_some(own)
}

/// Returns whether an option of the workload takes a value, or `None` if there is no such option.
fn takes_value(name: &str) -> Option<bool> {
    let command = Workload::augment_args(Command::new("speedtest1"));
    let found = command.get_arguments().find(|argument| argument.get_long() == Some(name));
    found.map(|argument| argument.get_action().takes_values())
}

impl Workload {
    /// Returns what these arguments make the tool do, or `None` if the tool does not take them or they do
    /// something that no workload does. The name of a database is not kept.
    pub fn of_command(words: &[&str]) -> Option<Workload> {
        let (mut own, mut extra, mut file) = (vec!["speedtest1".to_string()], Vec::new(), false);
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if !word.starts_with('-') {
                // The tool takes one name.
                if std::mem::replace(&mut file, true) {
                    return None;
                }
                continue;
            }
            let name = word.trim_start_matches('-');
            if let Some((_, values)) = PASSED.iter().find(|(passed, _)| *passed == name) {
                extra.push(format!("--{name}"));
                extra.extend(words.by_ref().take(*values).map(ToString::to_string));
                continue;
            }
            let respelt = in_our_spelling(word).unwrap_or_else(|| word.to_string());
            let follows = !respelt.contains('=') && takes_value(name)?;
            own.push(respelt);
            if follows {
                own.push(words.next()?.to_string());
            }
        }
        let command = Options::augment_args(Command::new("speedtest1"));
        let matches = command.try_get_matches_from(own).ok()?;
        let mut workload = Workload::from_arg_matches(&matches).ok()?;
        workload.extra = extra;
        workload.database = match (workload.memdb, file) {
            (true, _) => Database::Memory,
            (false, true) => Database::File,
            (false, false) => Database::Temporary,
        };
        workload.check().is_ok().then_some(workload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spelling_of_the_tool() {
        assert_eq!(in_our_spelling("-mmap").as_deref(), Some("--mmap"));
        assert_eq!(in_our_spelling("--utf16be").as_deref(), Some("--utf16=be"));
        for own in ["--mmap", "-q", "-h", "--quiet", "-unknown", "mmap", "-", "--"] {
            assert_eq!(in_our_spelling(own), None, "{own}");
        }
    }

    #[test]
    fn commands_of_the_tool() {
        let of = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            Workload::of_command(&words).map(|w| (w.to_string(), w.database))
        };
        let expect = |line, arguments: &str, database| {
            assert_eq!(of(line), Some((arguments.to_string(), database)), "{line}");
        };
        expect("", "--size 100", Database::Temporary);
        expect("-size 5 -mmap 4M x.db", "--size 5 --mmap 4000000", Database::File);
        expect("--memdb x.db --utf16le", "--size 100 --memdb --utf16le", Database::Memory);
        expect(
            "--journal WAL --lookaside 500 64",
            "--size 100 --journal wal --lookaside 500 64",
            Database::Temporary,
        );
        for bad in [
            "--heap 1000 64",
            "--size",
            "--size x",
            "--nope",
            "a.db b.db",
            "--script x",
            "--output x",
            "--size 0",
        ] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }
}
