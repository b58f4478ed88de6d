//! The 15 steps through a real sqld: what is measured, what is refused, what is kept secret, and that nothing
//! is left behind.

mod common;

use common::sqld::{Database, PIN, assert_nothing_is_left, program, servers_in, start};
use common::token::text_of;
use common::{Done, Home, array, list, load, wait_until, why};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use repro::instrument::hrana::Token;
use repro::instrument::sql::Value as SqlValue;
use repro::instrument::sqld::token::{Access, Keys};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The options of the smallest measurement that runs every step.
const SMALL: [&str; 6] = ["--scale", "1/100", "--runs", "1", "--warmup", "0"];
/// How soon the program must end when it is asked to.
const SOON: Duration = Duration::from_secs(2);
const SQL_LEGS: [&str; 4] = ["embedded", "sqld", "sqld-held", "sqld-batch"];
const STEPS: usize = 15;
/// The beginnings of the header and of the claims of a token that the program makes.
const TOKEN_PARTS: [&str; 2] = ["eyJhbGciOi", "eyJhIjoi"];

/// A home, a folder for databases in it, and the real server.
struct Place {
    home: Home,
    sqld: PathBuf,
}

impl Place {
    /// Returns a place, or `None` if there is no server.
    fn new() -> Option<Place> {
        let sqld = program()?;
        let home = Home::new();
        fs::create_dir(home.file("data")).unwrap();
        Some(Place { home, sqld })
    }

    fn data(&self) -> PathBuf {
        self.home.file("data")
    }

    /// Returns the arguments of `run serverless` with this server and this record.
    fn words<'a>(&'a self, record: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        let sqld = self.sqld.to_str().unwrap();
        let start = ["run", "serverless", "--sqld", sqld, "--dir", "data", "--record", record, "--quiet"];
        [&start, more].concat()
    }

    fn run(&self, record: &str, more: &[&str]) -> Done {
        self.home.repro(&self.words(record, more))
    }

    /// Measures to the end, asserts that nothing is left, and returns the record.
    #[track_caller]
    fn measure(&self, record: &str, more: &[&str]) -> Value {
        self.run(record, &[&SMALL, more].concat()).exits(0);
        assert_nothing_is_left(&self.data());
        load(&self.home.file(record))
    }
}

fn names(record: &Value) -> Vec<&str> {
    array(record, "legs").iter().map(|leg| leg["name"].as_str().unwrap()).collect()
}

fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_else(|| panic!("no number `{name}` in {value}"))
}

/// Returns the name of each step of a leg with what its only run measured.
fn steps(leg: &Value) -> Vec<(&str, &Value)> {
    let step = |phase: &'_ Value| assert_eq!(array(phase, "samples").len(), 1);
    array(leg, "phases")
        .iter()
        .inspect(|phase| step(phase))
        .map(|phase| (phase["name"].as_str().unwrap(), &phase["samples"][0]["measure"]))
        .collect()
}

// What is measured.

fn a_whole_run(protocol: &str) {
    let Some(place) = Place::new() else { return };
    let record = place.measure("a.json", &["--protocol", protocol]);
    assert_eq!(record["parameters"]["protocol"], protocol);
    assert_eq!(record.get("partial"), None);
    assert_eq!(names(&record), [&SQL_LEGS[..], &["floor"]].concat());
    for leg in array(&record, "legs") {
        let name = leg["name"].as_str().unwrap();
        assert_eq!(array(leg, "runs").len(), 1);
        assert_eq!(steps(leg).len(), STEPS, "{name}");
        assert_eq!(leg["answer"]["verdict"], if name == "floor" { "not-checked" } else { "right" }, "{name}");
        assert_exchanges(name, leg);
        if name.starts_with("sqld") {
            assert_engine(leg);
        }
    }
    let work = |name: &str| {
        let leg = array(&record, "legs").iter().find(|leg| leg["name"] == name).unwrap();
        leg["runs"][0].get("work").cloned()
    };
    assert_eq!(work("embedded").unwrap().as_str().unwrap().len(), 64);
    assert!(SQL_LEGS.iter().all(|leg| work(leg) == work("embedded")));
    assert_eq!(work("floor"), None);
}

/// Asserts the traffic between client and server in each step.
#[track_caller]
fn assert_exchanges(name: &str, leg: &Value) {
    let mut all = (0, 0);
    for (step, measure) in steps(leg) {
        let statements = number(measure, "operations");
        let Some(exchange) = measure.get("detail") else {
            assert!(["embedded", "floor"].contains(&name), "{name} {step}: no exchange");
            continue;
        };
        let trips = number(exchange, "round_trips");
        all = (all.0 + statements, all.1 + trips);
        match name {
            "sqld-batch" => assert!(trips <= statements.div_ceil(100).max(1), "{step}: {trips} round trips"),
            _ => assert_eq!(trips, statements, "{name} {step}"),
        }
        let elapsed = number(measure, "elapsed_ns");
        assert!((1..elapsed).contains(&number(exchange, "server_ns")), "{name} {step}: {exchange}");
        let cpu = number(exchange, "client_cpu_ns");
        assert!(cpu > 0 && cpu < elapsed + 500_000, "{name} {step}: {cpu} ns of CPU in {elapsed} ns");
        for bytes in ["sent_bytes", "received_bytes"] {
            assert!(number(exchange, bytes) > 20 * trips, "{name} {step}: {exchange}");
        }
    }
    assert!(name != "sqld-batch" || all.0 > 4 * all.1, "{all:?} statements and round trips");
}

#[track_caller]
fn assert_engine(leg: &Value) {
    let engine = &leg["engine"];
    assert_eq!(engine["sqlite_version"], "3.45.1");
    assert!(engine["name"].as_str().unwrap().contains("sqld 0.24.32"), "{engine}");
    assert_eq!((&engine["build"]["pinned"], &engine["build"]["executable"]), (&true.into(), &PIN.into()));
    assert!(!array(engine, "compile_options").is_empty());
    assert_eq!(leg["settings"]["journal_mode"], "wal");
    let resources = &leg["runs"][0]["resources"];
    assert!(number(resources, "peak_memory_bytes") > 10 << 20, "{resources}");
    assert!(number(resources, "user_us") + number(resources, "system_us") > 0, "{resources}");
}

#[test]
fn a_whole_run_of_hrana2() {
    a_whole_run("hrana2");
}

#[test]
fn a_whole_run_of_hrana3() {
    a_whole_run("hrana3");
}

#[test]
fn a_whole_run_of_hrana3_in_protocol_buffers() {
    a_whole_run("hrana3-protobuf");
}

/// The system chooses each port, so measurements side by side do not collide.
#[test]
fn two_at_once() {
    let Some(place) = Place::new() else { return };
    let start = |record| place.home.start(&place.words(record, &[&SMALL[..], &["--leg", "sqld"]].concat()));
    let both = [start("a.json"), start("b.json")];
    for program in both {
        program.end(Duration::from_secs(60)).exits(0);
    }
    assert_nothing_is_left(&place.data());
}

// What is chosen, and what is refused.

#[test]
fn chosen_legs_run_in_order() {
    let Some(place) = Place::new() else { return };
    for (chosen, expected) in [
        ("embedded", &["embedded"][..]),
        ("floor,sqld-held", &["sqld-held", "floor"]),
        ("sqld-batch,sqld", &["sqld", "sqld-batch"]),
    ] {
        let record = format!("{chosen}.json");
        assert_eq!(names(&place.measure(&record, &["--leg", chosen])), expected);
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let Some(place) = Place::new() else { return };
    let file = place.home.write("notes.txt", "no program");
    let file = file.to_str().unwrap();
    let sqld = place.sqld.to_str().unwrap();
    let cases: [(&[&str], &[&str]); 7] = [
        (&["--sqld", sqld, "--leg", "floor"], &["--leg floor", "sqld-held"]),
        (&["--sqld", sqld, "--leg", "warp"], &["warp", "sqld-held"]),
        (&["--sqld", sqld, "--dir", "nowhere"], &["nowhere", "--dir"]),
        (&["--sqld", file], &["--sqld", "notes.txt", "not a program"]),
        (&["--sqld", "nothing"], &["--sqld nothing", "No such file"]),
        (&["--sqld", "."], &["not a program"]),
        (&["--sqld", sqld, "--url", "ws://127.0.0.1:1"], &["--url"]),
    ];
    for (words, said) in cases {
        let words = [&["run", "serverless", "--record", "a.json", "--quiet"], words, &SMALL].concat();
        place.home.repro(&words).exits(2).says(said);
        assert!(!place.home.file("a.json").exists(), "{words:?}");
    }
}

/// Writes a program that is not a server, and returns its path.
fn script(place: &Place, name: &str, text: &str) -> String {
    let path = place.home.write(name, format!("#!/bin/sh\n{text}\n"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_string()
}

fn words_for<'a>(sqld: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let start = ["run", "serverless", "--sqld", sqld, "--dir", "data", "--quiet", "--leg", "sqld"];
    [&start, &SMALL[..], more].concat()
}

#[test]
fn a_program_that_ends_at_once() {
    let Some(place) = Place::new() else { return };
    let shouting = script(&place, "shouting", "echo no room for a database >&2; exit 7");
    for (sqld, said) in [
        ("/bin/true", &["true", "ended at once", "exit status: 0"][..]),
        ("/bin/sleep", &["sleep", "ended at once", "no-welcome"]),
        (&shouting, &["no room for a database", "exit status: 7"]),
    ] {
        let begun = Instant::now();
        place.home.repro(&words_for(sqld, &["--no-record"])).exits(3).says(said);
        assert!(begun.elapsed() < Duration::from_secs(5));
        assert_nothing_is_left(&place.data());
    }
    assert_eq!(list(&place.home.temporary()), Vec::<PathBuf>::new());
}

#[test]
fn a_program_that_never_listens() {
    let Some(place) = Place::new() else { return };
    let silent = script(&place, "silent", "echo thinking; exec sleep 600");
    let begun = Instant::now();
    let done = place.home.repro(&words_for(&silent, &["--record", "a.json"]));
    done.exits(3).says(&["thinking", "not healthy within 20 s"]);
    assert!(begun.elapsed() < Duration::from_secs(30));
    assert_nothing_is_left(&place.data());
    assert!(why(&load(&place.home.file("a.json")), "partial").contains("not healthy"));

    let program = place.home.start(&words_for(&silent, &["--record", "b.json"]));
    wait_until("it is started", Duration::from_secs(30), || servers_in(&place.data()).first().copied());
    program.signal(Signal::SIGINT);
    program.end(SOON).exits(3).says(&["sqld: interrupted"]);
    assert_nothing_is_left(&place.data());
}

// What goes wrong on the way.

/// Waits until a server has stored some rows, and returns its process.
#[track_caller]
fn server_at_work(folder: &Path) -> Pid {
    let at_work = || {
        let process = *servers_in(folder).first()?;
        let scratch = list(folder).pop()?;
        let log = fs::metadata(scratch.join("data/dbs/default/data-wal")).ok()?;
        (log.len() > 100_000).then_some(Pid::from_raw(process))
    };
    wait_until("the server is at work", Duration::from_secs(30), at_work)
}

#[test]
fn a_server_that_is_killed() {
    let Some(place) = Place::new() else { return };
    for leg in &SQL_LEGS[1..] {
        let record = format!("{leg}.json");
        let program =
            place.home.start(&place.words(&record, &["--leg", leg, "--runs", "1", "--warmup", "0"]));
        kill(server_at_work(&place.data()), Signal::SIGKILL).unwrap();
        let log = place.home.file(&format!("{leg}.sqld.log"));
        let done = program.end(Duration::from_secs(15)).exits(3);
        done.says(&["connection lost", "the log of the server is in", leg]);
        assert_nothing_is_left(&place.data());
        assert!(!fs::read_to_string(log).unwrap().is_empty());
        assert_broken(&load(&place.home.file(&record)), "connection lost");
        place.home.repro(&["show", &record]).exits(0).prints(&["PARTIAL", "connection lost"]);
    }
}

/// Asserts that the record holds the steps so far and, in the last of them, one failure.
#[track_caller]
fn assert_broken(record: &Value, class: &str) {
    let partial = why(record, "partial");
    let leg = &record["legs"][0];
    let steps = steps(leg);
    let ((last, failed), whole) = steps.split_last().unwrap();
    assert!(partial.contains(&format!("step {last}: statement ")) && partial.contains(class), "{partial}");
    assert!(record["finished"].is_string() && leg["runs"][0]["rejected"]["message"].is_string());
    assert!(!whole.is_empty() && steps.len() < STEPS, "{last}");
    for (name, measure) in whole {
        assert_eq!(measure.get("errors"), None, "{name}");
    }
    let errors = failed["errors"].as_object().unwrap();
    let [(message, count)] = errors.iter().collect::<Vec<_>>()[..] else { panic!("{errors:?}") };
    assert!(message.contains(class) && count == 1, "{errors:?}");
}

#[test]
fn a_server_that_hangs() {
    let Some(place) = Place::new() else { return };
    let options = ["--leg", "sqld", "--runs", "1", "--warmup", "0"];
    let program = place.home.start(&place.words("a.json", &options));
    kill(server_at_work(&place.data()), Signal::SIGSTOP).unwrap();
    program.end(Duration::from_secs(20)).exits(3).says(&["no reply within 12 s"]);
    assert_nothing_is_left(&place.data());
    assert_broken(&load(&place.home.file("a.json")), "no reply within 12 s");

    let program = place.home.start(&place.words("b.json", &options));
    kill(server_at_work(&place.data()), Signal::SIGSTOP).unwrap();
    program.signal(Signal::SIGINT);
    program.end(SOON).exits(3).says(&["interrupted"]);
    assert_nothing_is_left(&place.data());
}

#[test]
fn interrupted_at_any_moment() {
    let Some(place) = Place::new() else { return };
    let seed = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for round in 0..10 {
        let signal = [Signal::SIGINT, Signal::SIGTERM][round % 2];
        let delay = Duration::from_millis(random.random_range(0..4000));
        let name = format!("{round}.json");
        let mut program = place.home.start(&place.words(&name, &["--scale", "1/10", "--runs", "50"]));
        // By then the program listens to signals.
        wait_until("it has begun", Duration::from_secs(10), || place.home.file(&name).exists().then_some(()));
        std::thread::sleep(delay);
        assert!(program.runs());
        program.signal(signal);
        eprintln!("seed {seed}, round {round}: {signal} after {delay:?}");
        program.end(SOON).exits(3).says(&["interrupted"]);
        assert_nothing_is_left(&place.data());
        let record = load(&place.home.file(&name));
        assert!(why(&record, "partial").ends_with("interrupted"), "{}", record["partial"]);
        assert!(record["finished"].is_string());
        assert!(!place.home.file(&format!("{round}.sqld.log")).exists());
    }
    assert_eq!(list(&place.home.temporary()), Vec::<PathBuf>::new());
}

#[test]
fn killed_it_takes_the_server_along() {
    let Some(place) = Place::new() else { return };
    let program = place.home.start(&place.words("a.json", &["--leg", "sqld"]));
    server_at_work(&place.data());
    program.signal(Signal::SIGKILL);
    assert_eq!(program.end(SOON).code, None);
    wait_until("the server is gone", SOON, || servers_in(&place.data()).is_empty().then_some(()));
    assert_eq!(why(&load(&place.home.file("a.json")), "partial"), "not finished: still running, or killed");
    assert_eq!(list(&place.data()).len(), 1);
    let precious = place.data().join("notes.txt");
    fs::write(&precious, "mine").unwrap();
    place.run("b.json", &[&SMALL[..], &["--leg", "embedded"]].concat()).exits(0);
    assert_eq!(list(&place.data()), [precious]);
}

// What is secret.

/// Asserts that this contains no token.
#[track_caller]
fn assert_no_token(what: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let part = TOKEN_PARTS.iter().find(|part| text.contains(**part));
    assert_eq!(part, None, "{what} shows a token");
}

/// Checks the command lines of all processes in `folder` while `run` runs, and counts them. A run that is
/// refused at once may be over before the first look.
#[track_caller]
fn watched(folder: &Path, run: impl FnOnce() -> Done) -> (Done, usize) {
    let over = AtomicBool::new(false);
    let look = || {
        let mut seen = 0;
        while !over.load(Ordering::Relaxed) {
            for process in list(Path::new("/proc")) {
                if fs::read_link(process.join("cwd")).is_ok_and(|path| path.starts_with(folder)) {
                    let words = fs::read(process.join("cmdline")).unwrap_or_default();
                    assert_no_token("a command line", &words);
                    seen += 1;
                }
            }
        }
        seen
    };
    std::thread::scope(|scope| {
        let watch = scope.spawn(look);
        let done = run();
        over.store(true, Ordering::Relaxed);
        (done, watch.join().unwrap())
    })
}

/// Returns every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let below = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    list(folder).into_iter().flat_map(below).collect()
}

#[test]
fn our_own_token_never_shows() {
    let Some(place) = Place::new() else { return };
    let options = [&SMALL[..], &["--keep", "--json", "b.json"]].concat();
    let (done, seen) = watched(&place.home.work(), || place.run("a.json", &options));
    assert!(seen > 10, "{seen}");
    let done = done.exits(0);
    assert_no_token("standard output", done.out.as_bytes());
    assert_no_token("standard error", done.err.as_bytes());
    let kept = files(&place.home.work());
    let logs = kept.iter().filter(|path| path.ends_with("sqld.log"));
    assert!(logs.inspect(|log| assert!(fs::metadata(log).unwrap().len() > 0)).count() == 3, "{kept:?}");
    for path in kept {
        assert_no_token(&path.display().to_string(), &fs::read(&path).unwrap());
    }
    assert_eq!(servers_in(&place.data()), Vec::<i32>::new());
    // What is kept must also survive the next run.
    let folders = list(&place.data());
    place.run("c.json", &[&SMALL[..], &["--leg", "embedded"]].concat()).exits(0);
    assert_eq!((folders.len(), list(&place.data())), (4, folders));
}

/// A server for one test, and the program beside it.
struct Remote {
    place: Place,
    server: repro::instrument::sqld::Server,
    url: String,
}

impl Remote {
    fn new() -> Option<Remote> {
        let place = Place::new()?;
        let server = start(&place.home, &place.sqld);
        let url = server.address_with(None).to_string();
        Some(Remote { place, server, url })
    }

    /// Runs with this token, in the environment or in a file.
    fn run(&self, token: &str, in_file: bool, more: &[&str]) -> Done {
        let start = ["run", "serverless", "--url", &self.url, "--dir", "data", "--quiet"];
        let mut words = [&start, &SMALL[..], more].concat();
        let mut command = assert_cmd::Command::new(common::REPRO);
        let home = &self.place.home;
        command.current_dir(home.work()).envs(home.variables()).env_remove("REPRO_AUTH_TOKEN");
        if in_file {
            home.write("token", token);
            words.extend(["--auth-token-file", "token"]);
        } else if !token.is_empty() {
            command.env("REPRO_AUTH_TOKEN", token);
        }
        command.args(words).timeout(Duration::from_secs(60));
        let (done, _) = watched(&home.work(), || Done::from(&command.output().unwrap()));
        assert_no_token("standard output", done.out.as_bytes());
        assert_no_token("standard error", done.err.as_bytes());
        done
    }

    fn token(&self, access: Access, seconds: i64) -> String {
        text_of(self.server.keys().mint(access, seconds))
    }
}

#[test]
fn a_server_elsewhere() {
    let Some(remote) = Remote::new() else { return };
    Database::of(&remote.server).ask("CREATE TABLE other(a)");
    let token = remote.token(Access::Full, 60);
    for (in_file, record) in [(true, "file.json"), (false, "environment.json")] {
        remote.run(&token, in_file, &["--record", record]).exits(0);
        let record = fs::read_to_string(remote.place.home.file(record)).unwrap();
        assert_no_token("the record", record.as_bytes());
        let record: Value = serde_json::from_str(&record).unwrap();
        assert_eq!(names(&record).len(), 5);
        for leg in &array(&record, "legs")[1..4] {
            assert_eq!((&leg["answer"]["verdict"], steps(leg).len()), (&"right".into(), STEPS));
            assert_eq!(leg["engine"]["sqlite_version"], "3.45.1");
            assert_eq!(leg["engine"].get("build"), None);
            assert_eq!(leg["runs"][0].get("resources"), None);
        }
        assert_eq!(Database::of(&remote.server).tables(), ["other"]);
        assert_eq!(list(&remote.place.data()), Vec::<PathBuf>::new());
    }
    assert!(remote.server.is_healthy());
}

#[test]
fn tokens_that_do_not_let_us_in() {
    let Some(remote) = Remote::new() else { return };
    let foreign = text_of(Keys::generate().mint(Access::Full, 60));
    let refused = &["sqld: ws://", "the server refuses the token"][..];
    let cases = [
        ("none", String::new(), refused),
        ("wrong", "abc.def.ghi".to_string(), refused),
        ("of another server", foreign, refused),
        ("expired", remote.token(Access::Full, -3600), refused),
        ("read-only", remote.token(Access::ReadOnly, 60), &["sqld", "does the token allow writes?"]),
    ];
    for (name, token, said) in cases {
        let done = remote.run(&token, false, &["--leg", "sqld", "--no-record"]);
        eprintln!("{name}: {}", done.err);
        done.exits(3).says(said);
    }
    assert_eq!(Database::of(&remote.server).tables(), Vec::<String>::new());
    remote
        .run("two words", true, &["--leg", "sqld"])
        .exits(2)
        .says(&["token: no token can be read from this file", "no token"]);
    remote.run("", true, &["--leg", "sqld"]).exits(2).says(&["no token"]);
    assert!(Token::new("two words").is_err());
}

#[test]
fn a_database_with_our_tables_is_left_alone() {
    // For SQLite these are the same name.
    for (name, create) in [("items", "CREATE TABLE items(mine)"), ("Items", "CREATE TABLE Items(mine)")] {
        let Some(remote) = Remote::new() else { return };
        let mut database = Database::of(&remote.server);
        database.ask(create);
        database.ask("INSERT INTO items VALUES(7)");
        let token = remote.token(Access::Full, 60);
        for leg in &SQL_LEGS[1..] {
            let done = remote.run(&token, true, &["--leg", leg, "--no-record"]);
            done.exits(3).says(&[&format!("`{name}`"), "another database"]);
        }
        assert_eq!(database.ask("SELECT mine FROM items"), [[SqlValue::Integer(7)]]);
    }
}

#[test]
fn secrets_in_an_address_are_refused_and_not_repeated() {
    let home = Home::new();
    for url in [
        "ws://somebody:hunter2@127.0.0.1:9",
        "wss://hunter2@127.0.0.1:9",
        "ws://127.0.0.1:9?authToken=hunter2",
        "libsql://127.0.0.1:9/?authToken=hunter2",
        "http://somebody:hunter2@127.0.0.1:9",
        "ws://127.0.0.1:99999/?authToken=hunter2",
        "hunter2 ",
    ] {
        let done = home.repro(&["run", "serverless", "--url", url, "--quiet"]).exits(2).says(&["--url"]);
        assert!(!format!("{}{}", done.out, done.err).contains("hunter2"), "{}", done.err);
    }
    assert_eq!(home.records(), Vec::<PathBuf>::new());
}

#[test]
fn nobody_at_the_address() {
    let home = Home::new();
    let words = ["run", "serverless", "--url", "ws://127.0.0.1:9", "--quiet", "--leg", "sqld", "--no-record"];
    home.repro(&words).exits(3).says(&["sqld", "can't connect"]);
}

// What is published.

#[test]
fn the_published_figures() {
    let Some(place) = Place::new() else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let reference = root.join("reference/sqlitend-serverless.csv");
    let reference = reference.to_str().unwrap();
    let sqld = place.sqld.to_str().unwrap();
    let options = ["--scale", "1/100", "--runs", "5", "--warmup", "0", "--quiet"];
    let measured = [&["verify", reference, "--sqld", sqld, "--temp-dir", "data"], &options[..]].concat();
    assert_verdicts(&place.home.repro(&measured));
    assert_nothing_is_left(&place.data());
    let records = place.home.records();
    let [record] = &records[..] else { panic!("{records:?}") };
    assert_verdicts(&place.home.repro(&["verify", reference, "--record", record.to_str().unwrap()]));
}

#[track_caller]
fn assert_verdicts(done: &Done) {
    assert!(matches!(done.code, Some(1 | 4)), "{done:?}");
    for (step, _) in repro::study::serverless::STEPS {
        for leg in ["embedded", "sqld"] {
            assert!(done.out.contains(&format!("{leg}/{step}/time")), "no {leg}/{step}: {}", done.out);
        }
    }
    assert!(done.out.contains(", 0 missing,"), "{}", done.out);
}
