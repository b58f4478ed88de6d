//! Clients on a real sqld that is stopped or killed, and measurements that are ended early.

mod common;

use common::clients::{
    Place, assert_counts_agree, assert_everything_is_there, assert_nothing_runs, levels, number, only_level,
    outcome, pause, verdict,
};
use common::sqld::{assert_nothing_is_left, servers_in};
use common::{array, list, load, wait_until, why};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How soon the program must end when it is asked to.
const SOON: Duration = Duration::from_secs(3);

// The server.

#[test]
fn a_server_that_is_killed() {
    let Some(place) = Place::new() else { return };
    let program = place.start("million", "a.json", &["--statements", "100000", "--clients", "4"]);
    let server = place.server_with(4);
    sleep(Duration::from_millis(1500));
    kill(server, Signal::SIGKILL).unwrap();
    program.end(Duration::from_secs(20)).exits(0);
    assert_nothing_is_left(&place.data());
    let record = place.record("a.json");
    let measure = only_level(&record);
    let verdict = verdict(measure);
    for piece in ["collapsed: the server process ended", "lost with their connection", "restarted"] {
        assert!(verdict.contains(piece), "{verdict}");
    }
    assert_eq!(outcome(measure, "total"), 100_000, "{}", measure["detail"]["outcomes"]);
    assert!(outcome(measure, "answered") > 100 && outcome(measure, "dropped") > 0);
    assert!(outcome(measure, "abandoned") > 0);
    place.home.repro(&["show", "a.json"]).exits(0).prints(&["collapsed", "the server process ended"]);
}

/// The death is noticed even when no client has asked the server for anything since.
#[test]
fn a_server_that_is_killed_when_the_clients_have_gone() {
    let Some(place) = Place::new() else { return };
    let options = ["--clients", "2,1", "--seconds", "1", "--idle", "3"];
    let program = place.start("sweep", "a.json", &options);
    let server = place.server_with(2);
    sleep(Duration::from_millis(2500));
    kill(server, Signal::SIGKILL).unwrap();
    program.end(Duration::from_secs(30)).exits(0);
    let record = place.record("a.json");
    let verdicts: Vec<String> = levels(&record).iter().map(|(_, measure)| verdict(measure)).collect();
    assert!(verdicts[0].starts_with("collapsed: the server process ended"), "{verdicts:?}");
    assert!(!verdicts[1].starts_with("collapsed"), "{verdicts:?}");
}

/// What was measured until then is kept.
#[test]
fn a_server_that_can_not_be_started_again() {
    let Some(place) = Place::new() else { return };
    let script = "#!/bin/sh\nmkdir \"$HOME/once\" || exit 7\n";
    let once = place.home.write("once.sh", format!("{script}exec '{}' \"$@\"\n", place.sqld.display()));
    fs::set_permissions(&once, fs::Permissions::from_mode(0o755)).unwrap();
    let place = Place { sqld: once, ..place };
    let program = place.start("sweep", "a.json", &["--clients", "2,1", "--seconds", "3"]);
    let server = place.server_with(2);
    sleep(Duration::from_millis(1200));
    kill(server, Signal::SIGKILL).unwrap();
    program.end(Duration::from_secs(20)).exits(3).says(&["restarting the server", "exit status: 7"]);
    assert_nothing_is_left(&place.data());
    let record = load(&place.home.file("a.json"));
    assert!(why(&record, "partial").contains("exit status: 7"), "{}", record["partial"]);
    assert_eq!(record["legs"][0]["answer"]["verdict"], "not-checked", "{}", record["legs"][0]["answer"]);
    let measure = only_level(&record);
    assert_counts_agree("clients-2", measure);
    assert!(verdict(measure).starts_with("collapsed: the server process ended"), "{}", verdict(measure));
    assert!(verdict(measure).ends_with("could not be restarted"), "{}", verdict(measure));
}

#[test]
fn a_server_that_pauses() {
    let Some(place) = Place::new() else { return };
    let program = place.start("sweep", "a.json", &["--clients", "2", "--seconds", "6"]);
    let server = place.server_with(2);
    sleep(Duration::from_secs(1));
    pause(server, Duration::from_secs(3));
    program.end(Duration::from_secs(30)).exits(0);
    let record = place.record("a.json");
    let measure = only_level(&record);
    let verdict = verdict(measure);
    assert!(verdict.starts_with("stalled: ") && verdict.contains("s without an answer"), "{verdict}");
    assert!(outcome(measure, "stalled") >= 2 && outcome(measure, "failed") == 0, "{measure}");
    assert!(number(&measure["latency"], "max_ns") > 2_900_000_000);
}

/// To its clients a server that is stopped for good looks like a wedged one, and no chance is involved in
/// getting there. It does not react to SIGTERM either.
#[test]
fn a_server_that_answers_no_more() {
    let Some((quota, sweep)) = Place::new().zip(Place::new()) else { return };
    let unanswered = quota.start("million", "a.json", &["--statements", "100000", "--clients", "4"]);
    stop_after(quota.server_with(4), Duration::from_millis(800));
    // Started only now: a level of 2 s must not be over before its server is stopped.
    let unnoticed = sweep.start("sweep", "a.json", &["--clients", "3,1", "--seconds", "2"]);
    stop_after(sweep.server_with(3), Duration::from_millis(300));
    unanswered.end(Duration::from_secs(50)).exits(0);
    unnoticed.end(Duration::from_secs(50)).exits(0);

    assert_nothing_is_left(&quota.data());
    let record = quota.record("a.json");
    let measure = only_level(&record);
    assert_wedged(measure, 4);
    assert_eq!(outcome(measure, "total"), 100_000);
    assert!(number(measure, "elapsed_ns") < 35_000_000_000);
    let evidence = &measure["detail"]["evidence"];
    let silence = number(evidence, "detected_ms") - number(evidence, "last_write_ms");
    assert!((10_000..30_000).contains(&silence), "{evidence}");
    assert!(evidence["write_probe"]["failure"].as_str().unwrap().contains("no reply"), "{evidence}");
    assert_eq!(evidence["healthy"], false, "{evidence}");
    assert!(number(&evidence["thread_states"], "T") > 1, "{evidence}");
    assert!(evidence["server_log"].as_str().unwrap().contains("listening"), "{evidence}");
    quota.home.repro(&["show", "a.json"]).exits(0).prints(&["wedged"]);

    // The level ends before it is certain; what is seen afterwards decides, and the next level is fine.
    assert_nothing_is_left(&sweep.data());
    let record = sweep.record("a.json");
    let levels = levels(&record);
    let [(_, stopped), (_, next)] = levels[..] else { panic!("{} levels", levels.len()) };
    assert_wedged(stopped, 3);
    assert_eq!(stopped["detail"]["evidence"]["healthy"], false, "{stopped}");
    assert!(!verdict(next).starts_with("wedged") && outcome(next, "failed") == 0, "{}", verdict(next));
    assert!(outcome(next, "answered") > 50);
}

/// Stops the process for good once that much time has passed.
fn stop_after(server: Pid, wait: Duration) {
    sleep(wait);
    kill(server, Signal::SIGSTOP).unwrap();
}

/// Asserts that every client hangs, that afterwards neither a read nor a write is answered, and that the
/// server is restarted.
#[track_caller]
fn assert_wedged(measure: &Value, clients: u64) {
    let verdict = verdict(measure);
    for piece in ["wedged: ", "without a reply by the deadline", "a single write failed", "restarted"] {
        assert!(verdict.contains(piece), "{verdict}");
    }
    assert!(
        outcome(measure, "answered") > 10 && outcome(measure, "hung") >= clients,
        "{}",
        measure["detail"]
    );
    let after = &measure["detail"]["after"];
    for probe in ["read_probe", "write_probe"] {
        assert!(after[probe]["failure"].as_str().unwrap().contains("no reply"), "{after}");
    }
    assert!(after["idle_cores"].as_f64().unwrap() < 0.1, "{after}");
}

// The program.

/// Returns the folders of servers in the home.
fn folders(place: &Place) -> Vec<PathBuf> {
    list(&place.data())
}

/// Asserts that complete levels are kept, and that the statement about the answers holds for the levels that
/// were examined.
#[track_caller]
fn assert_ended_early(record: &Value) {
    assert_eq!(why(record, "partial"), "interrupted");
    assert!(record["finished"].is_string());
    let leg = &record["legs"][0];
    let mut whole = 0;
    for (level, measure) in levels(record) {
        assert_counts_agree(level, measure);
        if !verdict(measure).contains("interrupted") {
            assert_everything_is_there(level, measure);
            whole += 1;
        }
    }
    assert!(levels(record).len() - whole <= 1, "{} of {}", whole, levels(record).len());
    let answer = &leg["answer"];
    match whole {
        0 => assert_eq!(answer["verdict"], "not-checked", "{answer}"),
        _ => {
            let levels = format!("every acknowledged write found, after {whole} levels");
            assert_eq!(answer["found"], levels.as_str(), "{answer}");
        }
    }
    let last = array(leg, "runs").last().unwrap();
    assert!(array(last, "flags")[0]["failure"]["cause"] == "interrupted", "{last}");
}

#[test]
fn interrupted_at_any_moment() {
    let Some(place) = Place::new() else { return };
    let seed = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for round in 0..10 {
        let signal = [Signal::SIGINT, Signal::SIGTERM][round % 2];
        let delay = Duration::from_millis(random.random_range(0..4500));
        let name = format!("{round}.json");
        let options = ["--clients", "2,8", "--seconds", "1", "--repeat", "50"];
        let mut program = place.start("sweep", &name, &options);
        // By then the program listens to signals.
        wait_until("it has begun", Duration::from_secs(10), || place.home.file(&name).exists().then_some(()));
        sleep(delay);
        assert!(program.runs());
        let asked = Instant::now();
        program.signal(signal);
        program.end(SOON).exits(3).says(&["interrupted"]);
        let took = asked.elapsed();
        assert_nothing_runs(&place.home, Duration::from_millis(500));
        assert_eq!(folders(&place), Vec::<PathBuf>::new());
        let record = load(&place.home.file(&name));
        eprintln!(
            "seed {seed}, round {round}: {signal} after {delay:?}, {took:?}; {} levels",
            levels(&record).len()
        );
        assert_ended_early(&record);
    }
    assert_eq!(list(&place.home.temporary()), Vec::<PathBuf>::new());
}

/// Nothing comes from the server that could wake the clients.
#[test]
fn interrupted_while_the_server_answers_nothing() {
    let Some(place) = Place::new() else { return };
    let program = place.start("sweep", "a.json", &["--clients", "1,64", "--seconds", "2"]);
    let server = place.server_with(64);
    kill(server, Signal::SIGSTOP).unwrap();
    sleep(Duration::from_millis(1500));
    program.signal(Signal::SIGINT);
    program.end(SOON).exits(3).says(&["interrupted"]);
    assert_nothing_runs(&place.home, Duration::from_millis(500));
    assert_eq!(folders(&place), Vec::<PathBuf>::new());
    let record = load(&place.home.file("a.json"));
    assert_ended_early(&record);
    let levels = levels(&record);
    let [(_, whole), (_, cut)] = levels[..] else { panic!("{} levels", levels.len()) };
    assert!(!verdict(whole).starts_with("unknown"), "{}", verdict(whole));
    let said = verdict(cut);
    assert!(said.starts_with("unknown: ") && said.ends_with("interrupted"), "{said}");
    assert_eq!(outcome(cut, "failed"), 0, "nobody knows what would have become of them");
    place.home.repro(&["show", "a.json"]).exits(0).prints(&["PARTIAL", "interrupted"]);
}

#[test]
fn killed_it_takes_clients_and_server_along() {
    let Some(place) = Place::new() else { return };
    let program = place.start("sweep", "a.json", &["--clients", "1,4", "--seconds", "2"]);
    // A busy machine may still hold connections of the first level when the second begins, so the record is checked.
    let text = || fs::read_to_string(place.home.file("a.json")).ok();
    let kept = || text().filter(|text| text.contains("\"clients-1\""));
    wait_until("the first level is kept", Duration::from_secs(60), kept);
    place.server_with(4);
    program.signal(Signal::SIGKILL);
    assert_eq!(program.end(SOON).code, None);
    assert_nothing_runs(&place.home, Duration::from_secs(2));
    assert_eq!(servers_in(&place.data()), Vec::<i32>::new());
    let record = load(&place.home.file("a.json"));
    assert_eq!(why(&record, "partial"), "not finished: still running, or killed");
    let levels = levels(&record);
    let [(name, measure)] = levels[..] else { panic!("{} levels", levels.len()) };
    assert_everything_is_there(name, measure);
    assert_eq!(folders(&place).len(), 1);
    place.measure("sweep", "b.json", &["--clients", "1", "--seconds", "1"]);
}
