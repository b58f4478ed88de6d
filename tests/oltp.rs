//! The real-workload study: every number is present, every answer is right, and what is not an engine is
//! refused.

mod common;

use common::oltp::*;
use common::{Home, array, list, load, skip, why};
use repro::instrument::engine::Engine;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn in_ram_every_number_is_there_and_every_answer_right() {
    let _shared = shared();
    let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
    let more = ["--leg", "in-ram", "--scale", "1/200", "--json", "-", "--quiet"];
    let done = home.repro(&words(folder.path(), "a.json", &more)).exits(0);
    let record = done.json();
    assert_eq!(record, load(&home.file("a.json")));
    assert_eq!((&record["study"], record.get("partial")), (&json!("oltp"), None));
    assert_eq!(array(&record, "legs").len(), 1);
    let ram = leg(&record, "in-ram");
    assert_leg_is_whole(ram, 5_000, 30_000, 4);
    assert_eq!(ram.get("memory"), None);

    let published = json!({
        "journal_mode": "wal", "synchronous": "1", "page_size": "8192", "temp_store": "2",
        "busy_timeout": "5000", "cache_size": "-1310", "mmap_size": "1342177",
    });
    assert_eq!(ram["settings"], published);
    assert_eq!(ram["engine"]["sqlite_version"], "3.53.1");
    let options: Vec<String> = serde_json::from_value(ram["engine"]["compile_options"].clone()).unwrap();
    assert!(options.iter().any(|option| option == "THREADSAFE=1"), "{options:?}");
    assert!(Engine::costly_options(&options).is_empty(), "{options:?}");
    for unwanted in ["ENABLE_API_ARMOR", "ENABLE_MEMORY_MANAGEMENT", "ENABLE_STAT4", "DEFAULT_FOREIGN_KEYS"] {
        assert!(!options.iter().any(|option| option.starts_with(unwanted)), "{unwanted} in {options:?}");
    }
    assert!(record["parameters"]["generator"].as_str().unwrap().contains("ChaCha8"));
    assert_eq!(list(folder.path()), Vec::<PathBuf>::new());
    assert_eq!(list(&home.temporary()), Vec::<PathBuf>::new());
    home.repro(&["show", "a.json"]).exits(0).prints(&PHASES);
}

#[test]
fn the_seed_decides_rows_and_keys() {
    let _shared = shared();
    let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
    let told = |record: &str, seed: &str| {
        let record = measure(&home, folder.path(), record, &[&SMALL[..], &["--seed", seed]].concat());
        let ram = leg(&record, "in-ram").clone();
        let counts = measures(&ram)["mixed"]["counts"].clone();
        // The seed does not determine how many writes fit into a second.
        let of_seed = |check: &Value| !check["what"].as_str().unwrap().starts_with("acknowledged writes");
        (counts, checks(&ram).into_iter().filter(of_seed).collect::<Vec<Value>>())
    };
    let first = told("a.json", "7");
    assert!(first.1.iter().any(|check| check["what"] == "sum of user_id"));
    assert_eq!(first, told("b.json", "7"));
    assert_ne!(first, told("c.json", "8"));
}

#[test]
fn synchronous_is_read_back() {
    let _shared = shared();
    let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
    let options = [&SMALL[..], &["--synchronous", "full", "--writers", "2", "--payload", "100"]].concat();
    let record = measure(&home, folder.path(), "a.json", &options);
    assert_eq!(leg(&record, "in-ram")["settings"]["synchronous"], "2");
    assert_eq!(record["parameters"]["synchronous"], "full");
    assert_eq!(record["parameters"]["writers"], 2);
}

#[test]
fn a_database_that_is_kept_stays() {
    let _shared = shared();
    let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
    let done = home.repro(&words(folder.path(), "a.json", &[&SMALL[..], &["--keep"]].concat())).exits(0);
    let kept = done.err.lines().find_map(|line| line.strip_prefix("kept: ")).expect("a line `kept: `");
    let database = Path::new(kept).join("oltp.db");
    let rows = || {
        let engine = Engine::bundled();
        let connection = engine.open(&database, repro::instrument::engine::OpenMode::ReadWrite).unwrap();
        connection.query_i64("SELECT count(*) FROM event").unwrap()
    };
    assert!(rows() >= 1000);
    // The database is not a leftover, so the next run does not remove it.
    measure(&home, folder.path(), "b.json", &SMALL);
    assert!(database.exists(), "the next run removed the database that was to stay");
    assert!(rows() >= 1000);
}

#[test]
fn a_kept_database_is_reused_only_where_it_is_the_same() {
    let _shared = shared();
    let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
    let start = |name: &str, more: &[&str]| {
        home.repro(&words(folder.path(), name, &[&SMALL[..], &["--quiet", "--force"], more].concat()))
    };
    let done = start("a.json", &["--keep"]).exits(0);
    let kept = done.err.lines().find_map(|line| line.strip_prefix("kept: ")).unwrap();
    for name in ["b.json", "c.json"] {
        start(name, &["--reuse", kept]).exits(0);
        let record = load(&home.file(name));
        let ram = leg(&record, "in-ram");
        let names: Vec<&str> = array(ram, "phases").iter().map(|p| p["name"].as_str().unwrap()).collect();
        assert_eq!(names, PHASES[1..]);
        assert_eq!(ram["answer"]["verdict"], "right");
        let sums = |record: &Value| {
            let of_table = |check: &Value| check["what"].as_str().unwrap().starts_with("sum");
            let checks = measures(leg(record, "in-ram"))["mixed"]["checks"].clone();
            checks.as_array().unwrap().iter().filter(|c| of_table(c)).cloned().collect::<Vec<Value>>()
        };
        assert_eq!(sums(&record), sums(&load(&home.file("a.json"))));
    }
    for (name, options) in
        [("seed", ["--seed", "2"]), ("payload", ["--payload", "64"]), ("rows", ["--rows", "2000000"])]
    {
        let done = start("d.json", &[&["--reuse", kept], &options[..]].concat());
        assert!(matches!(done.code, Some(2 | 3)), "{name}: {done:?}");
        done.says(&["--reuse", kept, "does not fit the options"]);
    }
    let strange = start("d.json", &["--reuse", home.work().to_str().unwrap()]);
    assert!(matches!(strange.code, Some(2 | 3)), "{strange:?}");
    strange.says(&["--reuse needs a folder that --keep has left"]);

    // A database whose creation was cut short is refused, and a wrong answer is noticed.
    let database = Path::new(kept).join("oltp.db");
    let engine = Engine::bundled();
    let connection = engine.open(&database, repro::instrument::engine::OpenMode::ReadWrite).unwrap();
    connection.exec("DELETE FROM event WHERE id > 500").unwrap();
    drop(connection);
    let done = start("e.json", &["--reuse", kept]);
    assert!(matches!(done.code, Some(1..=3)), "{done:?}");
    assert!(database.exists());
}

#[test]
fn disk_bound_stays_within_its_memory_and_reads_the_disk() {
    let _shared = shared();
    let Some(folder) = folder_on_disk().filter(|_| can_limit_memory()) else { return };
    let home = Home::new();
    let record = measure(&home, folder.path(), "a.json", &DISK_BOUND);
    let disk = leg(&record, "disk-bound");
    assert_leg_is_whole(disk, 100_000, 30_000, 4);
    let memory = &disk["memory"];
    assert_eq!(number(memory, "limit_bytes"), DISK_BOUND_LIMIT);
    assert!(memory["mechanism"].is_string(), "{memory}");
    assert!(memory["peak_bytes"].as_u64().is_none_or(|peak| peak <= DISK_BOUND_LIMIT), "{memory}");
    assert!(memory["limit_hits"].as_u64().is_none_or(|hits| hits > 0), "{memory}");
    let measures = measures(disk);
    for phase in ["select-primary-key", "select-range", "concurrent-reads"] {
        let measure = measures[phase];
        assert!(number(&measure["detail"], "read_bytes") > 1 << 20, "{phase}: {measure}");
        assert!(measure["detail"]["major_faults"].is_u64(), "{phase}");
        assert!(number(&measure["detail"], "database_bytes") > DISK_BOUND_LIMIT, "{phase}");
    }
    assert_eq!(list(folder.path()), Vec::<PathBuf>::new());
    assert_eq!(record["storage"]["directory"], folder.path().to_str().unwrap());
}

#[test]
fn a_database_that_fits_is_not_called_disk_bound() {
    let _shared = shared();
    let Some(folder) = folder_on_disk().filter(|_| can_limit_memory()) else { return };
    let home = Home::new();
    let options = ["--leg", "disk-bound", "--rows", "200000", "--scale", "1/100", "--memory-limit", "8GiB"];
    home.repro(&words(folder.path(), "a.json", &options)).exits(3).says(&["not disk-bound", "fits in"]);
    let record = load(&home.file("a.json"));
    assert!(why(&record, "partial").contains("not disk-bound"), "{}", record["partial"]);
    let run = &array(leg(&record, "disk-bound"), "runs")[0];
    assert!(why(run, "rejected").starts_with("not disk-bound"), "{run}");
    assert_eq!(list(folder.path()), Vec::<PathBuf>::new());
    home.repro(&["show", "a.json"]).exits(0).prints(&["PARTIAL", "not disk-bound"]);
}

#[test]
fn too_little_memory_for_the_process_is_said_so() {
    let _shared = shared();
    let Some(folder) = folder_on_disk().filter(|_| can_limit_memory()) else { return };
    let home = Home::new();
    let options = ["--leg", "disk-bound", "--rows", "1000", "--memory-limit", "2MB"];
    home.repro(&words(folder.path(), "a.json", &options)).exits(3).says(&["memory limit"]);
    assert!(why(&load(&home.file("a.json")), "partial").contains("memory limit"));
    assert_eq!(list(folder.path()), Vec::<PathBuf>::new());
}

/// Finds a library of the system by the start of its name.
fn system_library(start: &str) -> Option<PathBuf> {
    let architecture = std::env::consts::ARCH;
    let folders = [
        std::env::var("REPRO_TEST_LIBRARIES").unwrap_or_default(),
        format!("/usr/lib/{architecture}-linux-gnu"),
        format!("/lib/{architecture}-linux-gnu"),
        "/usr/lib64".into(),
        "/lib64".into(),
        "/usr/lib".into(),
        "/usr/local/lib".into(),
    ];
    let begins = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(start);
    let found = folders
        .iter()
        .find_map(|folder| list(Path::new(folder)).into_iter().find(|path| begins(path) && path.is_file()));
    if found.is_none() {
        skip(&format!("no {start} in the library folders"));
    }
    found
}

#[test]
fn two_engines_in_turn() {
    let _shared = shared();
    let Some(library) = system_library("libsqlite3.so.0") else { return };
    let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
    let path = library.to_str().unwrap();
    let record =
        measure(&home, folder.path(), "a.json", &[&SMALL[..], &["--runs", "2", "--against", path]].concat());
    let other = format!("in-ram ({})", library.file_name().unwrap().to_str().unwrap());
    let (own, other) = (leg(&record, "in-ram"), leg(&record, &other));
    assert_eq!(array(&record, "legs").len(), 2);
    assert_eq!(own["engine"]["sqlite_version"], "3.53.1");
    assert_ne!(own["engine"]["sqlite_version"], other["engine"]["sqlite_version"]);
    assert_ne!(own["engine"]["source_id"], other["engine"]["source_id"]);
    assert_eq!(own["settings"], other["settings"]);
    assert_eq!(other["engine"]["name"], path);
    for leg in [own, other] {
        assert_eq!(leg["answer"]["verdict"], "right");
        assert_eq!(array(leg, "runs").len(), 2);
        assert!(array(leg, "phases").iter().all(|phase| array(phase, "samples").len() == 2));
    }
    assert_eq!(
        own["phases"][0]["samples"][0]["measure"]["checks"],
        other["phases"][0]["samples"][1]["measure"]["checks"]
    );

    // Two files of the same name are two engines.
    let twin = home.work().join(library.file_name().unwrap());
    fs::copy(&library, &twin).unwrap();
    let options = [&SMALL[..], &["--engine", path, "--against", twin.to_str().unwrap()]].concat();
    let twins = measure(&home, folder.path(), "c.json", &options);
    assert_eq!(array(&twins, "legs").len(), 2);
    assert_eq!(twins["legs"][1]["engine"]["name"], twin.to_str().unwrap());

    let alone = measure(&home, folder.path(), "b.json", &[&SMALL[..], &["--engine", path]].concat());
    assert_eq!(array(&alone, "legs").len(), 1);
    assert_eq!(alone["legs"][0]["engine"]["name"], path);
    assert_eq!(list(&home.temporary()), Vec::<PathBuf>::new());
}

#[test]
fn what_is_no_engine_is_refused_by_name() {
    let _shared = shared();
    let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
    let refused = |file: &str, pieces: &[&str]| {
        for option in ["--engine", "--against"] {
            let arguments =
                words(folder.path(), "a.json", &[&SMALL[..], &[option, file, "--force"]].concat());
            let done = home.repro(&arguments);
            assert!(matches!(done.code, Some(2 | 3)), "{done:?}");
            done.says(&[&[file], pieces].concat());
            assert_eq!(list(folder.path()), Vec::<PathBuf>::new());
            assert_eq!(list(&home.temporary()), Vec::<PathBuf>::new());
            let _ = fs::remove_file(home.file("a.json"));
        }
    };
    let text = home.write("text.so", "no library");
    refused(text.to_str().unwrap(), &["not a shared library"]);
    refused("/no/such/library.so", &["No such file"]);
    refused(home.work().to_str().unwrap(), &[]);
    if let Some(libc) = system_library("libc.so.6") {
        refused(libc.to_str().unwrap(), &["has no function sqlite3_"]);
    }
}
