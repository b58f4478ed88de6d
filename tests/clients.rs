//! Clients on a real sqld: what is measured, that it adds up, which limits apply, and what is refused.

mod common;

use common::clients::{Place, histogram, levels, number, only_level, outcome, pause, verdict};
use common::sqld::{assert_nothing_is_left, servers_in};
use common::{Home, array, list, skip};
use repro::instrument::cgroup::{Limits, MemoryGroup};
use repro::instrument::engine::{Connection, Engine, OpenMode};
use repro::study::clients::{Kind, Mix};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

// What is measured.

fn a_short_sweep(streams: &str, leg: &str) {
    let Some(place) = Place::new() else { return };
    let record =
        place.measure("sweep", "a.json", &["--clients", "1,4", "--seconds", "2", "--stream", streams]);
    assert_eq!((&record["study"], &record["legs"][0]["name"]), (&"sweep".into(), &leg.into()));
    let parameters = &record["parameters"];
    assert_eq!((&parameters["stream"], &parameters["rows"]), (&streams.into(), &2000.into()));
    let levels = levels(&record);
    assert_eq!(levels.iter().map(|(level, _)| *level).collect::<Vec<_>>(), ["clients-1", "clients-4"]);
    for ((level, measure), clients) in levels.into_iter().zip([1, 4]) {
        assert_eq!(number(&measure["detail"], "clients"), clients);
        assert!((2_000_000_000..10_000_000_000).contains(&number(measure, "elapsed_ns")), "{level}");
        assert!(outcome(measure, "answered") > 100, "{level}: {}", measure["detail"]["outcomes"]);
        assert_eq!((outcome(measure, "failed"), outcome(measure, "abandoned")), (0, 0));
        assert!(["clean: ", "stalled: "].iter().any(|start| verdict(measure).starts_with(start)));
        assert_shares(measure, Mix::WRITE_HEAVY);
        assert_usage(measure);
    }
    let run = &record["legs"][0]["runs"][0];
    assert!(number(&run["resources"], "peak_memory_bytes") > 10 << 20, "{run}");
    assert!(number(&run["resources"], "user_us") > 10_000, "{run}");
    assert_eq!(run.get("rejected"), None);
}

#[test]
fn a_short_sweep_on_a_stream_for_each_statement() {
    a_short_sweep("per-statement", "sqld");
}

#[test]
fn a_short_sweep_on_a_stream_for_each_client() {
    a_short_sweep("held", "sqld-held");
}

/// Asserts that each kind is within five standard deviations of its share.
#[track_caller]
fn assert_shares(measure: &Value, mix: Mix) {
    let all = number(measure, "operations") as f64;
    for kind in Kind::ALL {
        let share = f64::from(mix.share(kind)) / 100.0;
        let found = number(&measure["detail"]["kinds"][kind.name()], "operations") as f64;
        let deviation = (all * share * (1.0 - share)).sqrt();
        assert!((found - all * share).abs() < 5.0 * deviation, "{}: {found} of {all}", kind.name());
    }
}

/// Asserts what server and clients used, in each second and afterwards.
#[track_caller]
fn assert_usage(measure: &Value) {
    let load = &measure["detail"];
    let seconds = array(load, "series");
    // A server that stalls is a finding, not a fault of the measurement.
    assert!((2..10).contains(&seconds.len()), "{seconds:?}");
    for second in seconds {
        assert!(number(second, "server_memory_bytes") > 10 << 20, "{second}");
        assert!(number(second, "host_available_bytes") > 0, "{second}");
        assert!(number(second, "wal_bytes") > 0 && number(second, "log_bytes") > 0, "{second}");
        assert!(second["p50_ns"].as_u64() <= second["p99_ns"].as_u64(), "{second}");
    }
    assert!((0.01..8.0).contains(&mean_cores(measure)), "{seconds:?}");
    let (cpu, elapsed) = (number(load, "client_cpu_ns"), number(measure, "elapsed_ns"));
    assert!(cpu > 1_000_000 && cpu < elapsed * number(load, "clients"), "{cpu} ns in {elapsed} ns");
    let after = &load["after"];
    assert!((500..2500).contains(&number(after, "idle_ms")), "{after}");
    assert!(number(after, "threads") > 1 && after["idle_cores"].as_f64().unwrap() < 0.5, "{after}");
    for probe in ["read_probe", "write_probe"] {
        assert!(after[probe].get("failure").is_none() && number(&after[probe], "took_ms") < 5000, "{after}");
    }
}

/// Returns the CPU time of the server, in cores.
#[track_caller]
fn mean_cores(measure: &Value) -> f64 {
    let seconds = array(&measure["detail"], "series").iter();
    let cores: Vec<f64> = seconds.filter_map(|second| second["server_cores"].as_f64()).collect();
    assert!(!cores.is_empty(), "{measure}");
    cores.iter().sum::<f64>() / cores.len() as f64
}

#[test]
fn a_new_server_for_each_level() {
    let Some(place) = Place::new() else { return };
    let options = ["--clients", "2,1", "--seconds", "1", "--fresh-server", "--keep"];
    let checkpoints = "--checkpoint-interval-s=86400";
    let argument = format!("--sqld-arg={checkpoints}");
    place.run("sweep", "a.json", &[&options[..], &[&argument]].concat()).exits(0);
    let record = place.record("a.json");
    let parameters = &record["parameters"];
    assert_eq!((&parameters["fresh_server"], &parameters["sqld_args"]), (&true.into(), &checkpoints.into()));
    assert_eq!(levels(&record).len(), 2);
    assert_eq!(servers_in(&place.data()), Vec::<i32>::new());
    // What is to be kept must also survive the next run's cleanup.
    let kept = list(&place.data());
    assert_eq!(kept.len(), 2);
    place.run("sweep", "b.json", &["--clients", "1", "--seconds", "1"]).exits(0);
    assert_eq!(list(&place.data()), kept);
}

#[test]
fn as_often_as_it_takes_to_wedge() {
    let Some(place) = Place::new() else { return };
    let options = ["--clients", "2", "--seconds", "1", "--repeat", "2"];
    let record = place.measure("sweep", "a.json", &options);
    assert_eq!((levels(&record).len(), array(&record["legs"][0], "runs").len()), (2, 2));
}

// A quota.

fn open(database: &Path) -> Connection {
    Engine::bundled().open(database, OpenMode::ReadWrite).unwrap()
}

#[test]
fn exactly_so_many_statements() {
    let Some(place) = Place::new() else { return };
    let options = ["--statements", "3000", "--clients", "7", "--keep"];
    place.run("million", "a.json", &options).exits(0);
    let record = place.record("a.json");
    let measure = only_level(&record);
    assert_eq!((number(measure, "operations"), outcome(measure, "total")), (3000, 3000));
    assert_eq!((outcome(measure, "failed"), outcome(measure, "abandoned")), (0, 0));
    assert_shares(measure, Mix::READ_HEAVY);

    let inserts = number(&measure["detail"]["kinds"]["insert"], "operations") as i64;
    let database = open(&place.database());
    assert_eq!(database.query_i64("SELECT count(*) FROM item"), Ok(2000 + inserts));
    let written = "SELECT count(*) FROM item WHERE writer > 0 AND id > 2000";
    assert_eq!(database.query_i64(written), Ok(inserts));
    let once = "SELECT count(*) - count(DISTINCT writer) FROM item WHERE writer > 0";
    assert_eq!(database.query_i64(once), Ok(0));
}

/// With this many clients a wedge is likely, but the quota must be exact nevertheless.
#[test]
fn exactly_so_many_statements_of_64_clients() {
    let Some(place) = Place::new() else { return };
    let record = place.measure("million", "a.json", &["--statements", "5000", "--clients", "64"]);
    let measure = only_level(&record);
    eprintln!("{}", verdict(measure));
    assert_eq!(outcome(measure, "total"), 5000, "{}", measure["detail"]["outcomes"]);
    let (failed, abandoned) = (outcome(measure, "failed"), outcome(measure, "abandoned"));
    assert!(abandoned == 0 || failed > 0, "{}", measure["detail"]["outcomes"]);
}

#[test]
fn a_busy_server_is_asked_again() {
    let Some(place) = Place::new() else { return };
    let program = place.start("million", "a.json", &["--statements", "6000", "--clients", "4"]);
    place.server_with(4);
    let database = open(&place.database());
    database.busy_timeout(Duration::from_secs(5)).unwrap();
    for _ in 0..3 {
        database.exec("BEGIN IMMEDIATE").unwrap();
        sleep(Duration::from_millis(600));
        database.exec("ROLLBACK").unwrap();
        sleep(Duration::from_millis(100));
    }
    drop(database);
    program.end(Duration::from_secs(60)).exits(0);
    assert_nothing_is_left(&place.data());
    let record = place.record("a.json");
    let measure = only_level(&record);
    assert_eq!((number(measure, "operations"), outcome(measure, "total")), (6000, 6000));
    let repeated = outcome(measure, "ok_after_busy") + outcome(measure, "stalled");
    assert!(number(measure, "busy") > 3 && repeated > 0, "{}", measure["detail"]["outcomes"]);
}

// A schedule.

/// Counts the statements of a level of 200 per second that took more than 0.1 s when the server was paused
/// for a second.
#[test]
fn a_schedule_shows_what_a_pause_costs() {
    let Some(place) = Place::new() else { return };
    let slow = |record: &str, more: &[&str]| {
        let program = place.start("sweep", record, &[&["--clients", "4", "--seconds", "4"], more].concat());
        let server = place.server_with(4);
        sleep(Duration::from_millis(500));
        pause(server, Duration::from_secs(1));
        program.end(Duration::from_secs(30)).exits(0);
        let record = place.record(record);
        let measure = only_level(&record).clone();
        let latencies = histogram(&measure["latency"]);
        assert!(latencies.max() >= 900_000_000, "{}", measure["latency"]);
        let slow = latencies.len() - latencies.count_between(0, 100_000_000);
        eprintln!("{more:?}: {slow} of {} were slow; {}", latencies.len(), verdict(&measure));
        (measure, slow)
    };
    let (measure, of_due) = slow("open.json", &["--rate", "200"]);
    assert_eq!(measure["detail"]["due_per_second"], 200.0);
    assert_eq!(outcome(&measure, "total"), 800, "{}", measure["detail"]["outcomes"]);
    assert!(outcome(&measure, "answered") > 400);
    let (measure, of_sent) = slow("closed.json", &[]);
    assert_eq!(measure["detail"].get("due_per_second"), None);
    assert!(of_due > 100 && of_due > of_sent, "{of_due} of due ones, {of_sent} of those that were sent");
}

// Limits.

/// Returns the memory control group of a process.
fn group_of(process: i32) -> String {
    let groups = fs::read_to_string(format!("/proc/{process}/cgroup")).unwrap_or_default();
    let memory =
        |line: &&str| line.split(':').nth(1).is_some_and(|kinds| kinds.split(',').any(|k| k == "memory"));
    let unified = || groups.lines().find(|line| line.starts_with("0::"));
    groups.lines().find(memory).or_else(unified).unwrap_or_default().to_string()
}

#[test]
fn limits_hold_server_and_clients() {
    let Some(place) = Place::new() else { return };
    let limits = Limits { memory_bytes: Some(256 << 20), cpus: Some(1.0) };
    if let Err(reason) = MemoryGroup::create(limits) {
        return skip(&reason.to_string());
    }
    let options = ["--clients", "4", "--seconds", "2", "--cpus", "1", "--memory-limit", "256MiB"];
    let program = place.start("sweep", "a.json", &options);
    let server = place.server_with(4).as_raw();
    let status = fs::read_to_string(format!("/proc/{server}/status")).unwrap();
    let clients = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap().trim().parse().unwrap();
    assert_eq!(group_of(server), group_of(clients));
    assert_ne!(group_of(server), group_of(std::process::id() as i32));
    program.end(Duration::from_secs(30)).exits(0);
    assert_nothing_is_left(&place.data());
    let record = place.record("a.json");
    let memory = &record["legs"][0]["memory"];
    assert_eq!(number(memory, "limit_bytes"), 256 << 20);
    assert!((10 << 20..256 << 20).contains(&number(memory, "peak_bytes")), "{memory}");
    let parameters = &record["parameters"];
    assert_eq!((&parameters["cpus"], &parameters["memory_limit"]), (&1.0.into(), &(256 << 20).into()));
    assert!(mean_cores(only_level(&record)) < 1.3);
}

// What is refused.

#[test]
fn what_makes_no_sense_is_refused() {
    let Some(place) = Place::new() else { return };
    let cases: [(&str, &[&str], &[&str]); 13] = [
        ("sweep", &["--clients", "0"], &["--clients", "1..=120"]),
        ("sweep", &["--clients", "1,1"], &["--clients", "twice"]),
        ("sweep", &["--clients", "4,x"], &["--clients", "x"]),
        ("sweep", &["--seconds", "0"], &["--seconds"]),
        ("sweep", &["--mix", "insert=50"], &["--mix", "add up to 50"]),
        ("sweep", &["--mix", "delete=100"], &["--mix", "write-heavy"]),
        ("sweep", &["--rate", "0"], &["--rate", "from 0.1"]),
        ("sweep", &["--memory-limit", "1MB"], &["--memory-limit", "at least 64 MiB"]),
        ("sweep", &["--cpus", "0"], &["--cpus"]),
        ("sweep", &["--dir", "/nonexistent"], &["/nonexistent", "--dir"]),
        ("million", &["--dir", "/nonexistent"], &["/nonexistent", "--dir"]),
        ("million", &["--statements", "5"], &["--statements"]),
        ("million", &["--clients", "121"], &["--clients"]),
    ];
    let sqld = place.sqld.to_str().unwrap();
    for (study, words, said) in cases {
        let words = [&["run", study, "--sqld", sqld, "--record", "a.json", "--quiet"], words].concat();
        place.home.repro(&words).exits(2).says(said);
        assert!(!place.home.file("a.json").exists(), "{words:?}");
    }
    place.run("sweep", "a.json", &["--sqld-arg=--no-such-word"]).exits(3).says(&["--no-such-word"]);
    assert_nothing_is_left(&place.data());
}

// What is explained.

#[test]
fn what_a_wedge_is() {
    Home::new().repro(&["explain", "wedge"]).exits(0).prints(&["wedged", "write", "Restarting"]);
}

fn reference(study: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("reference/sqlitend-{study}.csv"));
    path.to_str().unwrap().to_string()
}

#[test]
fn the_published_sweep() {
    let Some(place) = Place::new() else { return };
    place.measure("sweep", "a.json", &["--clients", "1,4", "--seconds", "1"]);
    place.home.repro(&["show", "a.json"]).exits(0).prints(&["clients-1", "clients-4", "health"]);
    let done = place.home.repro(&["verify", &reference("sweep"), "--record", "a.json"]);
    // One run never reproduces.
    assert!(matches!(done.code, Some(1 | 4)), "{done:?}");
    done.prints(&["sqld/clients-1/rate", "collapse-from-32"]);
}

#[test]
fn the_published_million() {
    let Some(place) = Place::new() else { return };
    let (reference, sqld) = (reference("million"), place.sqld.to_str().unwrap());
    let words = ["verify", &reference, "--scale", "1/1000", "--sqld", sqld, "--temp-dir", "data", "--quiet"];
    let done = place.home.repro(&words);
    // One run never reproduces.
    assert!(matches!(done.code, Some(1 | 4)), "{done:?}");
    done.prints(&["sqld/million/rate", "exactly-a-million", "never-wedged", ", 0 missing,"]);
    assert_nothing_is_left(&place.data());
}
