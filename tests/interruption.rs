//! Measurements that are cut short in every way: what was measured is kept and marked partial, and nothing is
//! left behind.

mod common;

use common::{Home, Running, array, assert_runs_are_whole, list, load, runs, steps, wait_until, why};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

const ROWS: usize = 83;
const PATIENCE: Duration = Duration::from_secs(60);
/// How soon the program must end when it is asked to.
const SOON: Duration = Duration::from_secs(3);

/// Returns the current record, if there is one.
fn peek(path: &Path) -> Option<Value> {
    let text = fs::read_to_string(path).ok().filter(|text| !text.is_empty())?;
    Some(serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in: {text}")))
}

/// Waits until the record holds this many runs.
fn wait_for_runs(path: &Path, count: usize) {
    wait_until("a run is in the record", PATIENCE, || {
        peek(path).filter(|record| runs(record).len() >= count)
    });
}

/// Returns the CPU time of the tool so far, once it is the tool and no longer the program that becomes it.
fn work_of(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, is the second field; the user time is the fourteenth, in hundredths of a
    // second.
    let (name, fields) = stat.rsplit_once(')')?;
    let ticks: u64 = fields.split_whitespace().nth(11)?.parse().ok()?;
    name.ends_with("(speedtest1").then_some(ticks * 10)
}

/// Waits until the tool is running and has worked for this long.
fn wait_for_work(home: &Home, milliseconds: u64) -> i32 {
    let mut first: Option<(i32, u64)> = None;
    wait_until("the tool is at work", PATIENCE, || {
        let pid = *home.tools().first()?;
        let work = work_of(pid)?;
        match first {
            // The time that the process used before it became the tool is included in its account.
            Some((known, from)) if known == pid => (work >= from + milliseconds).then_some(pid),
            _ => {
                first = Some((pid, work));
                None
            }
        }
    })
}

/// Asserts what is left of a run that was cut short: its finished steps, and the reason why it does not
/// count.
#[track_caller]
fn assert_cut_in_a_step(record: &Value, run: u64, reason: &str) {
    let last = runs(record).last().unwrap();
    assert_eq!(last["number"], json!(run));
    let rejected = why(last, "rejected");
    // On a busy machine the tool often waits for a CPU between two steps, when it has just written a line.
    assert!(rejected == reason || rejected.starts_with(&format!("{reason} in row main/")), "{rejected}");
    assert_eq!(why(record, "partial"), rejected);
    assert_eq!(last.get("total_ms"), None);
    let (kept, _) = common::sums(record)[&run];
    assert!((1..ROWS).contains(&kept), "{kept} samples");
    let samples = array(&steps(record)[0], "samples");
    assert!(samples.iter().any(|sample| sample["run"] == json!(run)));
    assert_runs_are_whole(record, ROWS);
}

#[track_caller]
fn assert_nothing_is_left(home: &Home, record: &str) {
    home.assert_no_tool_is_left();
    assert_eq!(list(&home.temporary()), Vec::<std::path::PathBuf>::new());
    assert_eq!(list(&home.work()), [home.file(record)]);
}

fn start(home: &Home, size: &str, more: &[&str]) -> Running {
    home.start(&[&["--size", size, "--runs", "50", "--no-answer-check", "--record", "r.json"], more].concat())
}

#[test]
fn killed_at_any_moment() {
    let home = Home::new();
    let mut seed: u64 = 20_261_130;
    for round in 0..10 {
        let name = format!("{round}.json");
        let file = home.file(&name);
        let program = home.start(&["--size", "20", "--runs", "50", "--record", &name]);
        wait_until("the record is there", PATIENCE, || peek(&file));
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let delay = Duration::from_millis(200 + (seed >> 33) % 2800);
        let kill = Instant::now() + delay;
        let mut seen = 0;
        while Instant::now() < kill {
            seen = runs(&peek(&file).unwrap()).len();
            std::thread::sleep(Duration::from_millis(10));
        }
        program.signal(Signal::SIGKILL);
        assert_eq!(program.end(SOON).code, None, "it ended before {delay:?}");
        home.assert_no_tool_is_left();

        let record = load(&file);
        assert_eq!(why(&record, "partial"), "not finished: still running, or killed", "after {delay:?}");
        assert_eq!(record.get("finished"), None);
        let found = runs(&record).len();
        assert!((seen..=seen + 1).contains(&found), "{found} runs after {delay:?}, {seen} a moment before");
        assert!(runs(&record).iter().all(|run| run.get("rejected").is_none()));
        assert_runs_are_whole(&record, ROWS);
        home.repro(&["show", &name]).exits(0).prints(&["PARTIAL: not finished: still running, or killed"]);

        // A kill during a save leaves the half-written file beside the record; the next save of that name
        // replaces it.
        let half = home.file(&format!(".{name}.part"));
        if fs::remove_file(&half).is_ok() {
            eprintln!("killed in a save after {delay:?}: {} was left", half.display());
        }
        fs::remove_file(&file).unwrap();
        assert!(list(&home.work()).is_empty() && list(&home.temporary()).is_empty(), "after {delay:?}");
    }
}

#[test]
fn interrupted_in_the_second_run() {
    let home = Home::new();
    let program = start(&home, "40", &["--warmup", "0"]);
    wait_for_runs(&home.file("r.json"), 1);
    wait_for_work(&home, 100);
    let number = runs(&load(&home.file("r.json"))).len() as u64 + 1;
    program.signal(Signal::SIGINT);
    program.end(SOON).exits(3).says(&["record: r.json", "interrupted"]);
    let record = load(&home.file("r.json"));
    assert_cut_in_a_step(&record, number, "interrupted");
    assert!(record["finished"].is_string());
    assert_nothing_is_left(&home, "r.json");
    home.repro(&["show", "r.json"]).exits(0).prints(&["PARTIAL: interrupted", "does not count: interrupted"]);
}

#[test]
fn terminated_or_hung_up_in_the_first_run() {
    for signal in [Signal::SIGTERM, Signal::SIGHUP] {
        let home = Home::new();
        let program = start(&home, "60", &[]);
        wait_for_work(&home, 100);
        program.signal(signal);
        program.end(SOON).exits(3).says(&["interrupted"]);
        assert_cut_in_a_step(&load(&home.file("r.json")), 1, "interrupted");
        assert_nothing_is_left(&home, "r.json");
    }
}

#[test]
fn interrupted_while_the_answers_are_checked() {
    let home = Home::new();
    let program = home.start(&["--size", "60", "--runs", "5", "--record", "r.json"]);
    wait_for_work(&home, 50);
    program.signal(Signal::SIGINT);
    program.end(SOON).exits(3).says(&["the answer check failed: interrupted"]);
    let record = load(&home.file("r.json"));
    assert!(why(&record, "partial").starts_with("the answer check failed: interrupted"));
    assert!(runs(&record).is_empty());
    assert_nothing_is_left(&home, "r.json");
}

#[test]
fn interrupted_between_two_runs() {
    let home = Home::new();
    let program = start(&home, "1", &["--cooldown", "100"]);
    wait_for_runs(&home.file("r.json"), 1);
    program.signal(Signal::SIGTERM);
    program.end(SOON).exits(3).says(&["interrupted between two runs"]);
    let record = load(&home.file("r.json"));
    assert_eq!(why(&record, "partial"), "interrupted between two runs");
    assert_eq!(runs(&record).len(), 1);
    assert_runs_are_whole(&record, ROWS);
    assert_nothing_is_left(&home, "r.json");
}

#[test]
fn a_database_of_an_interrupted_run_goes_too() {
    let home = Home::new();
    let program = start(&home, "60", &["--database", "t.db", "--journal", "wal"]);
    wait_for_work(&home, 100);
    assert!(home.file("t.db").exists());
    program.signal(Signal::SIGINT);
    program.end(SOON).exits(3);
    assert_nothing_is_left(&home, "r.json");
}

#[test]
fn stopped_at_the_deadline() {
    let home = Home::new();
    let begun = Instant::now();
    let arguments = ["--size", "90", "--no-answer-check", "--record", "r.json", "--deadline", "0.2"];
    home.repro(&arguments)
        .exits(3)
        .says(&["stopped at the deadline"])
        .prints(&["PARTIAL: stopped at the deadline"]);
    assert!(begun.elapsed() < Duration::from_secs(10));
    let record = load(&home.file("r.json"));
    let reason = why(&record, "partial");
    assert!(reason.starts_with("stopped at the deadline"), "{reason}");
    assert_eq!(why(&runs(&record)[0], "rejected"), reason);
    assert_nothing_is_left(&home, "r.json");
}

#[test]
fn the_tool_itself_is_killed() {
    let home = Home::new();
    let program = start(&home, "60", &[]);
    let tool = wait_for_work(&home, 100);
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(tool), Signal::SIGKILL).unwrap();
    program.end(SOON).exits(3).says(&["killed by signal 9"]);
    assert_cut_in_a_step(&load(&home.file("r.json")), 1, "killed by signal 9");
    assert_nothing_is_left(&home, "r.json");
}

#[test]
fn a_record_can_be_read_at_any_moment() {
    let home = Home::new();
    let file = home.file("r.json");
    let mut program = home.start(&["--size", "1", "--runs", "30", "--record", "r.json"]);
    wait_until("the record is there", PATIENCE, || peek(&file));
    let (mut last, mut looks) = (0, 0);
    while program.runs() {
        // The record is never absent, empty or incomplete, not even for a moment.
        let record = peek(&file).expect("the record is absent or empty");
        let found = runs(&record).len();
        assert!(found >= last);
        assert_runs_are_whole(&record, ROWS);
        (last, looks) = (found, looks + 1);
    }
    program.end(SOON).exits(0);
    assert_eq!(runs(&load(&file)).len(), 31);
    assert!(looks > 30, "{looks}");
    assert_nothing_is_left(&home, "r.json");
}
