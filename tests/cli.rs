//! The parts of the command line that need no measurement.

mod common;

use common::Home;

#[test]
fn help_names_every_command_and_the_exit_codes() {
    let home = Home::new();
    home.repro(&["--help"]).exits(0).prints(&[
        "run",
        "verify",
        "import",
        "show",
        "cite",
        "capture",
        "compare",
        "list",
        "doctor",
        "man",
        "completions",
        "schema",
        "--size",
        "--until-ci",
        "--database",
        "--record",
        "2 usage or bad input",
        "3 could not measure",
        "4 undecided",
    ]);
    home.repro(&["run", "oltp", "--help"]).exits(0).prints(&[
        "a real workload through SQLite",
        "--rows",
        "--json",
    ]);
    for command in ["verify", "import", "show", "cite", "capture", "compare", "list", "doctor"] {
        home.repro(&[command, "--help"]).exits(0).prints(&[&format!("Usage: repro {command}")]);
    }
    home.repro(&["--version"]).exits(0).prints(&[concat!("repro ", env!("CARGO_PKG_VERSION"), "\n")]);
}

#[test]
fn list_names_studies_references_and_engines() {
    let home = Home::new();
    home.repro(&["list"]).exits(0).prints(&[
        "studies\n  speedtest1 ",
        "references\n  cx23                  oltp: ",
        "  sqlitend-sweep        sweep: ",
        "engines\n  speedtest1    SQLite 3.53.4 (2026-",
        "cc -O3 -DSQLITE_ENABLE_RTREE speedtest1.c sqlite3.c -lpthread -ldl -lm",
    ]);
    home.write("broken.csv", "key\n");
    home.repro(&["list", "--references", "."]).exits(0).prints(&["broken.csv          can't be used: "]);
}

#[test]
fn doctor_looks_at_the_machine() {
    let home = Home::new();
    let said = home.repro(&["doctor"]).exits(0).prints(&["CPUs", "temporary files", "load average"]).out;
    let (findings, last) = said.trim_end().rsplit_once('\n').unwrap();
    let marks = ["ok ", "note ", "WARNING ", "     "];
    assert!(findings.lines().all(|line| marks.iter().any(|mark| line.starts_with(mark))), "{said}");
    let counted = match findings.lines().filter(|line| line.starts_with("WARNING ")).count() {
        0 => "nothing here would spoil a measurement".to_string(),
        1 => "1 warning: figures measured now may not be fit to cite".to_string(),
        n => format!("{n} warnings: figures measured now may not be fit to cite"),
    };
    assert_eq!(last, counted);
}

#[test]
fn texts_are_generated() {
    let home = Home::new();
    home.repro(&["man"]).exits(0).prints(&[".TH repro 1", "speedtest1", "\\-\\-until\\-ci"]);
    for (shell, word) in [("bash", "_repro()"), ("zsh", "#compdef repro"), ("fish", "complete -c repro")] {
        home.repro(&["completions", shell]).exits(0).prints(&[word, "until-ci"]);
    }
    let schema = home.repro(&["schema"]).exits(0).json();
    assert_eq!(schema["title"], "repro record");
    assert!(home.records().is_empty() && !home.cache().exists(), "none of this leaves a trace");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    use std::process::{Command, Stdio};
    let mut child =
        Command::new(common::REPRO).arg("man").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}
