//! The engine layer: the bundled SQLite, loaded libraries, and files that are not engines.

use repro::instrument::engine::{
    Checkpoint, Connection, Engine, EngineError, Kind, OpenMode, SqlError, Step, Value,
};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

fn memory(engine: &Engine) -> Connection {
    engine.open(Path::new(":memory:"), OpenMode::Create).unwrap()
}

/// Finds a library by the start of its file name, in the folder REPRO_TEST_LIBRARIES or in those of the
/// system.
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
    folders.iter().find_map(|folder| {
        let mut names: Vec<PathBuf> =
            fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
        names.sort();
        names.into_iter().find(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start)) && path.is_file()
        })
    })
}

/// Finds a library that a test needs, or says why the test is skipped.
fn peer(start: &str, package: &str) -> Option<PathBuf> {
    let found = system_library(start);
    if found.is_none() {
        skipped(&format!("no {start} in the library folders (Debian: apt-get install {package})"));
    }
    found
}

/// Reports a skipped test on standard error directly, because the captured output would be hidden.
fn skipped(reason: &str) {
    assert!(std::env::var_os("REPRO_NO_SKIP").is_none(), "may not be skipped: {reason}");
    let test = std::thread::current().name().unwrap_or("a test").to_string();
    let _ = writeln!(io::stderr(), "{test} skipped: {reason}");
}

#[test]
fn the_bundled_sqlite_is_the_one_of_the_study() {
    let engine = Engine::bundled();
    assert_eq!(engine.version(), "3.53.1");
    assert!(engine.source_id().starts_with("2026-"), "{}", engine.source_id());
    assert_ne!(engine.threadsafe(), 0);
    assert_eq!(engine.origin(), None);
    assert!(engine.is_same_code(&engine.clone()));
}

#[test]
fn the_bundled_sqlite_has_no_costly_option() {
    let options = memory(&Engine::bundled()).compile_options().unwrap();
    assert!(Engine::costly_options(&options).is_empty(), "{options:?}: is .cargo/config.toml in force?");
    for unwanted in ["ENABLE_FTS3", "ENABLE_FTS5", "ENABLE_LOAD_EXTENSION", "SOUNDEX", "USE_URI"] {
        assert!(!options.iter().any(|option| option.starts_with(unwanted)), "{unwanted} in {options:?}");
    }
    for wanted in ["ENABLE_RTREE", "THREADSAFE=1"] {
        assert!(options.iter().any(|option| option == wanted), "{wanted} not in {options:?}");
    }
}

#[test]
fn costly_options_are_told_by_name() {
    let options = ["ENABLE_API_ARMOR", "DEFAULT_FOREIGN_KEYS=1", "SECURE_DELETE=0", "ENABLE_RTREE", ""];
    let options = options.map(String::from);
    assert_eq!(Engine::costly_options(&options), ["ENABLE_API_ARMOR", "DEFAULT_FOREIGN_KEYS=1"]);
}

#[test]
fn the_program_exports_no_sqlite_function() {
    for program in [PathBuf::from(env!("CARGO_BIN_EXE_repro")), std::env::current_exe().unwrap()] {
        let Ok(output) = Command::new("nm").args(["-D", "--defined-only"]).arg(&program).output() else {
            skipped("no nm (Debian: apt-get install binutils)");
            return;
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        // A loaded library would call these functions instead of its own.
        let symbols = String::from_utf8_lossy(&output.stdout);
        let exported: Vec<&str> = symbols.lines().filter(|line| line.contains("sqlite3_")).collect();
        assert!(exported.is_empty(), "{}: {exported:?}", program.display());
    }
}

#[test]
fn bundled_round_trip() {
    round_trip(&Engine::bundled());
}

/// Writes and reads every kind of value, as in plain use of a file.
fn round_trip(engine: &Engine) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("round trip.db");
    let connection = engine.open(&path, OpenMode::Create).unwrap();
    assert_eq!(connection.engine().version(), engine.version());
    assert_eq!(connection.query_text("SELECT sqlite_version()").unwrap(), engine.version());
    assert_eq!(connection.query_text("SELECT sqlite_source_id()").unwrap(), engine.source_id());
    assert_eq!(connection.pragma("journal_mode = WAL").unwrap().as_deref(), Some("wal"));
    assert_eq!(connection.pragma("synchronous = NORMAL").unwrap(), None);
    connection.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, v); CREATE INDEX i ON t(v)").unwrap();

    let values = [
        (Value::Null, Kind::Null),
        (Value::Integer(i64::MIN), Kind::Integer),
        (Value::Integer(0), Kind::Integer),
        (Value::Real(-0.1), Kind::Real),
        (Value::Real(f64::NAN), Kind::Null),
        (Value::Text(""), Kind::Text),
        (Value::Text("a\0b"), Kind::Text),
        (Value::Text("zażółć 🦀"), Kind::Text),
        (Value::Blob(b""), Kind::Blob),
        (Value::Blob(&[0, 255, 0]), Kind::Blob),
    ];
    let mut insert = connection.prepare("INSERT INTO t(id, v) VALUES(?1, ?2)").unwrap();
    assert_eq!((insert.parameter_count(), insert.column_count()), (2, 0));
    for (id, (value, _)) in (1..).zip(&values) {
        insert.run(&[Value::Integer(id), *value]).unwrap();
        assert_eq!((connection.changes(), connection.last_insert_rowid()), (1, id));
    }
    assert_eq!(connection.total_changes(), values.len() as i64);

    let mut select = connection.prepare("SELECT v FROM t WHERE id = ?1").unwrap();
    for (id, (value, kind)) in (1..).zip(&values) {
        let mut row = select.start(&[Value::Integer(id)]).unwrap();
        assert_eq!(row.step().unwrap(), Step::Row);
        assert_eq!(row.kind(0), *kind, "{value:?}");
        match value {
            Value::Null => assert!(row.text_bytes(0).is_empty() && row.blob(0).is_empty()),
            Value::Integer(number) => assert_eq!(row.integer(0), *number),
            Value::Real(number) if number.is_nan() => {}
            Value::Real(number) => assert_eq!(row.real(0), *number),
            Value::Text(text) => assert_eq!(row.text(0).unwrap(), *text),
            Value::Blob(bytes) => assert_eq!(row.blob(0), *bytes),
        }
        assert_eq!(row.step().unwrap(), Step::Done);
        row.reset().unwrap();
    }
    // Values that were bound without a copy must also be returned without being stored, and be grouped,
    // sorted and compared.
    let mut echo = connection.prepare("SELECT ?1 || 'x', ?2, ?1 = ?1, ?1").unwrap();
    for text in ["", "a\0b", "longer than what fits a small buffer, surely, or not?"] {
        let own = text.to_string();
        let mut row = echo.start(&[Value::Text(&own), Value::Blob(text.as_bytes())]).unwrap();
        assert_eq!(row.step().unwrap(), Step::Row);
        assert_eq!((row.kind(1), row.integer(2)), (Kind::Blob, 1));
        assert_eq!(row.blob(1), text.as_bytes());
        assert_eq!(row.text(3).unwrap(), text);
    }
    drop((insert, select, echo));

    connection.exec("BEGIN").unwrap();
    assert!(connection.in_transaction());
    connection.exec("DELETE FROM t WHERE id > 1; ROLLBACK").unwrap();
    assert!(!connection.in_transaction());
    assert_eq!(connection.query_i64("SELECT count(*) FROM t").unwrap(), values.len() as i64);
    let (frames, copied) = connection.checkpoint(Checkpoint::Passive).unwrap().unwrap();
    assert!(frames > 0 && frames == copied, "{frames} {copied}");
    assert_eq!(connection.checkpoint(Checkpoint::Truncate).unwrap(), Some((0, 0)));
    assert_eq!(connection.query_text("PRAGMA integrity_check").unwrap(), "ok");
    assert!(!connection.compile_options().unwrap().is_empty());
    drop(connection);

    let reader = engine.open(&path, OpenMode::ReadOnly).unwrap();
    assert_eq!(reader.query_i64("SELECT count(*) FROM t").unwrap(), values.len() as i64);
    assert_eq!(reader.exec("DELETE FROM t").unwrap_err().primary(), 8);
    drop(reader);
    // The last connection to close removes the log, which shows that nothing was leaked that keeps the file
    // open.
    let writer = engine.open(&path, OpenMode::ReadWrite).unwrap();
    writer.exec("DELETE FROM t").unwrap();
    drop(writer);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn errors_carry_code_and_message() {
    let connection = memory(&Engine::bundled());
    let fails = |outcome: Result<(), SqlError>, code: i32, words: &str| {
        let error = outcome.unwrap_err();
        assert!(error.code == code && error.message.contains(words), "{error:?}");
        assert!(!error.is_busy() && error.primary() == code & 0xff);
        assert!(error.to_string().contains(words) && error.to_string().contains(&code.to_string()));
    };
    fails(connection.exec("SELEC 1"), 1, "near \"SELEC\": syntax error");
    fails(connection.prepare("SELECT * FROM absent").map(drop), 1, "no such table: absent");
    connection.exec("CREATE TABLE t(a UNIQUE NOT NULL, b CHECK(b > 0)); INSERT INTO t VALUES(1, 1)").unwrap();
    fails(connection.exec("INSERT INTO t VALUES(1, 1)"), 2067, "UNIQUE constraint failed: t.a");
    let mut insert = connection.prepare("INSERT INTO t VALUES(?1, ?2)").unwrap();
    fails(insert.run(&[Value::Null, Value::Integer(1)]), 1299, "NOT NULL constraint failed: t.a");
    fails(insert.run(&[Value::Integer(2), Value::Integer(0)]), 275, "CHECK constraint failed");
    // A statement that failed can be used again.
    insert.run(&[Value::Integer(2), Value::Integer(1)]).unwrap();
    fails(insert.run(&[Value::Null]), 25, "1 values for a statement with 2 parameters");
    fails(insert.start(&[Value::Null; 3]).map(drop), 25, "3 values");
    drop(insert);

    fails(connection.exec("SELECT '\0'"), 21, "NUL");
    fails(connection.prepare("").map(drop), 21, "no SQL statement");
    fails(connection.prepare(" -- nothing").map(drop), 21, "no SQL statement");
    fails(connection.prepare("SELECT 1; SELECT 2").map(drop), 21, "more than one");
    connection.prepare("SELECT 1; ;\n").unwrap();
    fails(connection.query_i64("SELECT a FROM t WHERE a > 9").map(drop), 101, "no row");
    fails(connection.query_i64("SELECT sum(a) FROM t WHERE a > 9").map(drop), 20, "Null");
    fails(connection.query_i64("SELECT 'x'").map(drop), 20, "Text");
    fails(connection.query_text("SELECT NULL").map(drop), 20, "Null");
    fails(connection.query_text("SELECT CAST(x'ff' AS TEXT)").map(drop), 20, "utf-8");
    assert_eq!(connection.checkpoint(Checkpoint::Full).unwrap(), None);

    let missing = Path::new("/nonexistent folder/x.db");
    for mode in [OpenMode::Create, OpenMode::ReadWrite, OpenMode::ReadOnly] {
        fails(Engine::bundled().open(missing, mode).map(drop), 14, "unable to open database file");
    }
    fails(Engine::bundled().open(Path::new("a\0b"), OpenMode::Create).map(drop), 14, "NUL");
    let text = tempfile::NamedTempFile::new().unwrap();
    fs::write(text.path(), "not a database, but long enough to be looked at. ".repeat(40)).unwrap();
    let opened = Engine::bundled().open(text.path(), OpenMode::ReadOnly).unwrap();
    fails(opened.query_i64("SELECT count(*) FROM sqlite_schema").map(drop), 26, "not a database");
}

#[test]
fn busy_is_reported_as_busy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("busy.db");
    let engine = Engine::bundled();
    let holder = engine.open(&path, OpenMode::Create).unwrap();
    holder.pragma("journal_mode = WAL").unwrap();
    holder.exec("CREATE TABLE t(a); BEGIN IMMEDIATE").unwrap();
    let waiter = engine.open(&path, OpenMode::ReadWrite).unwrap();
    let error = waiter.exec("BEGIN IMMEDIATE").unwrap_err();
    assert!(error.is_busy() && error.message == "database is locked", "{error:?}");
    let mut insert = waiter.prepare("INSERT INTO t VALUES(1)").unwrap();
    assert!(insert.run(&[]).unwrap_err().is_busy());

    waiter.busy_timeout(Duration::from_millis(60)).unwrap();
    let started = Instant::now();
    assert!(waiter.exec("BEGIN IMMEDIATE").unwrap_err().is_busy());
    assert!(started.elapsed() >= Duration::from_millis(50), "{:?}", started.elapsed());
    // The extended code distinguishes an outdated snapshot from a lock.
    waiter.exec("BEGIN; SELECT * FROM t").unwrap();
    holder.exec("INSERT INTO t VALUES(2); COMMIT").unwrap();
    let error = insert.run(&[]).unwrap_err();
    assert!(error.is_busy() && error.code == 517, "{error:?}");
    waiter.exec("ROLLBACK").unwrap();
    insert.run(&[]).unwrap();
}

#[test]
fn a_leaked_cursor_does_no_harm() {
    let connection = memory(&Engine::bundled());
    connection.exec("CREATE TABLE t(a); INSERT INTO t VALUES('x'), ('y')").unwrap();
    let mut select = connection.prepare("SELECT a || ?1 FROM t").unwrap();
    let gone = "gone".repeat(1000);
    let mut cursor = select.start(&[Value::Text(&gone)]).unwrap();
    assert_eq!(cursor.step().unwrap(), Step::Row);
    std::mem::forget(cursor);
    drop(gone);
    connection.exec("INSERT INTO t VALUES('z')").unwrap();
    let mut cursor = select.start(&[Value::Text("!")]).unwrap();
    assert_eq!(cursor.step().unwrap(), Step::Row);
    assert_eq!(cursor.text(0).unwrap(), "x!");
}

#[test]
#[should_panic(expected = "column 1 of a row that has 1")]
fn a_column_that_is_not_there() {
    let connection = memory(&Engine::bundled());
    let mut select = connection.prepare("SELECT 1").unwrap();
    let mut cursor = select.start(&[]).unwrap();
    assert_eq!(cursor.step().unwrap(), Step::Row);
    cursor.integer(1);
}

#[test]
fn one_connection_per_thread() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("threads.db");
    let engine = Engine::bundled();
    let connection = engine.open(&path, OpenMode::Create).unwrap();
    connection.pragma("journal_mode = WAL").unwrap();
    connection.exec("CREATE TABLE t(a)").unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let connection = engine.open(&path, OpenMode::ReadWrite).unwrap();
            scope.spawn(move || {
                connection.busy_timeout(Duration::from_secs(20)).unwrap();
                let mut insert = connection.prepare("INSERT INTO t VALUES(?1)").unwrap();
                for _ in 0..100 {
                    insert.run(&[Value::Integer(thread)]).unwrap();
                }
            });
        }
    });
    assert_eq!(connection.query_i64("SELECT count(*) FROM t").unwrap(), 400);
}

#[test]
fn a_loaded_sqlite_round_trip() {
    let Some(path) = peer("libsqlite3.so.0", "libsqlite3-0") else { return };
    let engine = Engine::load(&path).unwrap();
    assert_eq!(engine.origin(), Some(path.as_path()));
    assert!(engine.version().starts_with("3.") && engine.threadsafe() != 0);
    assert!(!engine.is_same_code(&Engine::bundled()));
    round_trip(&engine);
    round_trip(&Engine::load_private_copy(&path).unwrap());
}

#[test]
fn a_loaded_sqlcipher_round_trip() {
    let Some(path) = peer("libsqlcipher.so.", "libsqlcipher0 or libsqlcipher1") else { return };
    let engine = Engine::load(&path).unwrap();
    let version = memory(&engine).query_text("PRAGMA cipher_version").unwrap();
    assert!(!version.is_empty());
    round_trip(&engine);
}

#[test]
fn private_copies_are_independent() {
    let Some(path) = peer("libsqlite3.so.0", "libsqlite3-0") else { return };
    let again = (Engine::load(&path).unwrap(), Engine::load(&path).unwrap());
    assert!(again.0.is_same_code(&again.1));
    let (one, two) = (Engine::load_private_copy(&path).unwrap(), Engine::load_private_copy(&path).unwrap());
    assert!(!one.is_same_code(&two) && !one.is_same_code(&again.0));

    let connection = memory(&one);
    connection.exec("CREATE TABLE t AS SELECT zeroblob(1000000)").unwrap();
    assert!(one.memory_used() > 1_000_000, "{}", one.memory_used());
    assert_eq!(two.memory_used(), 0);
    // A connection keeps the code that it needs loaded.
    drop(one);
    assert_eq!(connection.query_i64("SELECT count(*) FROM t").unwrap(), 1);
    drop(connection);
    round_trip(&two);
}

#[test]
fn private_copies_leave_no_file() {
    let Some(path) = peer("libsqlite3.so.0", "libsqlite3-0") else { return };
    let mine = format!("repro-engine-{}-", std::process::id());
    let left = || {
        let entries = fs::read_dir(std::env::temp_dir()).unwrap().flatten();
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&mine)).count()
    };
    let engine = Engine::load_private_copy(&path).unwrap();
    // Another test may be making its own copy at the same time.
    let deadline = Instant::now() + Duration::from_secs(10);
    while left() > 0 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(left(), 0);
    assert_eq!(memory(&engine).query_i64("SELECT 1").unwrap(), 1);
}

#[test]
fn what_is_no_engine_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text.so");
    fs::write(&text, "not a library").unwrap();
    let empty = folder.path().join("empty.so");
    fs::write(&empty, "").unwrap();
    for load in [Engine::load, Engine::load_private_copy] {
        for file in [&text, &empty] {
            let error = load(file).unwrap_err();
            assert!(matches!(error, EngineError::NotLoadable { .. }), "{error}");
            let (message, name) = (error.to_string(), file.display().to_string());
            assert!(message.starts_with(&name) && message.contains("not a shared library"), "{message}");
        }
        let error = load(&folder.path().join("missing.so")).unwrap_err();
        assert!(matches!(error, EngineError::Unreadable { .. }), "{error}");
        assert!(error.to_string().contains("No such file"), "{error}");
        let error = load(folder.path()).unwrap_err();
        assert!(matches!(error, EngineError::NotAFile(_)), "{error}");
    }
    for name in ["libm.so.6", "libc.so.6"] {
        let Some(path) = peer(name, "libc6") else { return };
        let error = Engine::load(&path).unwrap_err();
        assert!(matches!(error, EngineError::MissingFunction { .. }), "{error}");
        assert!(error.to_string().contains("no function sqlite3_open_v2"), "{error}");
    }
}
