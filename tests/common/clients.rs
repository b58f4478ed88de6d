//! Helpers for the tests of many clients on a server.

use super::sqld::{assert_nothing_is_left, program, servers_in};
use super::{Done, Home, Running, array, list, load, wait_until};
use base64::Engine as _;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use repro::instrument::proc;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A home, a folder for databases in it, and the real server.
pub struct Place {
    pub home: Home,
    pub sqld: PathBuf,
}

impl Place {
    /// Returns a place, or `None` if there is no server.
    pub fn new() -> Option<Place> {
        let sqld = program()?;
        let home = Home::new();
        fs::create_dir(home.file("data")).unwrap();
        Some(Place { home, sqld })
    }

    pub fn data(&self) -> PathBuf {
        self.home.file("data")
    }

    /// Returns the arguments of `run sweep` or `run million` with this server and this record; the server is
    /// watched only briefly, unless `more` says otherwise.
    pub fn words<'a>(&'a self, study: &'a str, record: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        let sqld = self.sqld.to_str().unwrap();
        let start = ["run", study, "--sqld", sqld, "--dir", "data", "--record", record, "--quiet"];
        let idle = if more.contains(&"--idle") { &[][..] } else { &["--idle", "0.5"] };
        [&start, &["--rows", "2000"][..], idle, more].concat()
    }

    /// Starts a measurement and lets it run.
    pub fn start(&self, study: &str, record: &str, more: &[&str]) -> Running {
        self.home.start(&self.words(study, record, more))
    }

    pub fn run(&self, study: &str, record: &str, more: &[&str]) -> Done {
        self.home.repro(&self.words(study, record, more))
    }

    /// Measures to the end, asserts that nothing is left, and returns the record.
    #[track_caller]
    pub fn measure(&self, study: &str, record: &str, more: &[&str]) -> Value {
        self.run(study, record, more).exits(0);
        assert_nothing_is_left(&self.data());
        self.record(record)
    }

    /// Returns a record after asserting that its answers are right and that its counts agree in each level.
    #[track_caller]
    pub fn record(&self, name: &str) -> Value {
        let record = load(&self.home.file(name));
        assert_eq!(record.get("partial"), None);
        assert_eq!(record["legs"][0]["answer"]["verdict"], "right", "{}", record["legs"][0]["answer"]);
        for (level, measure) in levels(&record) {
            assert_counts_agree(level, measure);
            assert_everything_is_there(level, measure);
        }
        record
    }

    /// Waits until this many clients are connected to the server, and returns its process.
    #[track_caller]
    pub fn server_with(&self, clients: usize) -> Pid {
        let busy = || {
            let process = *servers_in(&self.data()).first()?;
            (connections_of(process)? >= clients).then_some(Pid::from_raw(process))
        };
        wait_until("the clients are there", Duration::from_secs(30), busy)
    }

    /// Returns the path of the database of the server that is running or was kept.
    #[track_caller]
    pub fn database(&self) -> PathBuf {
        let folders = list(&self.data());
        let [folder] = &folders[..] else { panic!("{folders:?}") };
        folder.join("data/dbs/default/data")
    }
}

/// Returns the number of connections on the port on which a server listens.
fn connections_of(process: i32) -> Option<usize> {
    let port = proc::listening_port(process as u32)?;
    let table = fs::read_to_string(format!("/proc/{process}/net/tcp")).ok()?;
    let (address, established) = (format!("0100007F:{port:04X}"), "01");
    let fields = |line: &str| line.split_whitespace().map(str::to_string).collect::<Vec<_>>();
    let mine = |fields: &Vec<String>| fields.len() > 3 && fields[1] == address && fields[3] == established;
    Some(table.lines().map(fields).filter(mine).count())
}

/// Pauses a server for a while.
pub fn pause(server: Pid, length: Duration) {
    kill(server, Signal::SIGSTOP).unwrap();
    std::thread::sleep(length);
    kill(server, Signal::SIGCONT).unwrap();
}

/// Returns each level with what was measured in it; a level that was repeated occurs several times.
pub fn levels(record: &Value) -> Vec<(&str, &Value)> {
    let samples = |phase: &'_ Value| array(phase, "samples").len();
    array(&record["legs"][0], "phases")
        .iter()
        .flat_map(|phase| (0..samples(phase)).map(move |n| (phase, n)))
        .map(|(phase, n)| (phase["name"].as_str().unwrap(), &phase["samples"][n]["measure"]))
        .collect()
}

/// Returns the only level of a record.
#[track_caller]
pub fn only_level(record: &Value) -> &Value {
    let levels = levels(record);
    let [(_, measure)] = levels[..] else { panic!("{} levels", levels.len()) };
    measure
}

pub fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_else(|| panic!("no number `{name}` in {value}"))
}

/// Returns how many statements of a level ended in this way.
pub fn outcome(measure: &Value, class: &str) -> u64 {
    let outcomes = &measure["detail"]["outcomes"];
    match class {
        "answered" => ["ok", "ok_after_busy", "stalled"].iter().map(|class| number(outcomes, class)).sum(),
        "failed" => {
            let refused = outcomes["errors"].as_object().into_iter().flat_map(|errors| errors.values());
            let lost = ["hung", "dropped"].map(|class| number(outcomes, class));
            lost.iter().sum::<u64>() + refused.map(|count| count.as_u64().unwrap()).sum::<u64>()
        }
        "abandoned" => outcomes["abandoned"].as_u64().unwrap_or(0),
        "total" => ["answered", "failed", "abandoned"].iter().map(|class| outcome(measure, class)).sum(),
        class => number(outcomes, class),
    }
}

/// Returns the health and its reasons in one line.
pub fn verdict(measure: &Value) -> String {
    let load = &measure["detail"];
    let reasons = array(load, "reasons").iter().map(|reason| reason.as_str().unwrap());
    format!("{}: {}", measure["health"].as_str().unwrap(), reasons.collect::<Vec<_>>().join("; "))
}

/// Decodes a histogram of a record.
pub fn histogram(latency: &Value) -> Histogram<u64> {
    let text = latency["histogram"].as_str().unwrap();
    let bytes = base64::engine::general_purpose::STANDARD.decode(text).unwrap();
    Deserializer::new().deserialize(&mut &bytes[..]).unwrap()
}

/// Asserts that all counts of statements agree: the total, by kind, second by second, and in histograms.
#[track_caller]
pub fn assert_counts_agree(level: &str, measure: &Value) {
    let load = &measure["detail"];
    let [answered, failed] = ["answered", "failed"].map(|class| outcome(measure, class));
    let seconds = |name| array(load, "series").iter().map(|second| number(second, name)).sum::<u64>();
    let kinds = load["kinds"].as_object().unwrap();
    let slices = array(measure, "slices");
    for (what, count) in [
        ("operations", number(measure, "operations")),
        ("kinds", kinds.values().map(|kind| number(kind, "operations")).sum()),
        ("seconds", seconds("completed")),
        ("slices", slices.iter().map(|slice| slice[0].as_u64().unwrap()).sum()),
        ("histogram", histogram(&measure["latency"]).len()),
        ("histograms of kinds", kinds.values().map(|kind| histogram(&kind["latency"]).len()).sum()),
    ] {
        assert_eq!(count, answered, "{level}: {what} in {load}");
    }
    assert_eq!(seconds("failed"), failed, "{level}");
    assert_eq!(seconds("busy"), number(measure, "busy"), "{level}");
    assert_eq!(histogram(&load["first_attempt"]).len(), answered + failed, "{level}");
}

/// Asserts that the answers are right and that neither the ledger nor SQLite finds a fault.
#[track_caller]
pub fn assert_everything_is_there(level: &str, measure: &Value) {
    let checks = array(measure, "checks");
    let names: Vec<_> = checks.iter().map(|check| check["what"].as_str().unwrap()).collect();
    let expected = [
        "wrong answers",
        "acknowledged writes that are lost",
        "rows that no client wrote",
        "integrity_check",
    ];
    assert_eq!(names, expected, "{level}: {checks:?}");
    assert!(checks.iter().all(|check| check["found"] == check["expected"]), "{level}: {checks:?}");
}

/// Asserts that nothing runs in this home any longer: no `repro`, no leg of it, no server.
#[track_caller]
pub fn assert_nothing_runs(home: &Home, limit: Duration) {
    let runs = |process: &&PathBuf| {
        fs::read_link(process.join("cwd")).is_ok_and(|folder| folder.starts_with(home.work()))
    };
    let none = || list(Path::new("/proc")).iter().find(runs).is_none().then_some(());
    wait_until("nothing runs any more", limit, none);
}
