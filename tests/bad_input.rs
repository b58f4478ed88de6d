//! Bad input of every kind: it leads to the exact exit code and a message that names what is wrong; nothing
//! is destroyed and nothing half done.

mod common;

use common::{Done, Home, Tmpfs, is_root, list, load, runs, skip, why};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

/// Calls the program and expects it to refuse: exit code 2, `pieces` on standard error, no record made, and
/// the tool not even unpacked.
#[track_caller]
fn refused(home: &Home, arguments: &[&str], pieces: &[&str]) {
    let done = home.repro(arguments).exits(2).says(pieces);
    assert_eq!(done.out, "");
    assert!(home.records().is_empty() && !home.cache().exists(), "something ran: {arguments:?}");
}

#[test]
fn numbers_out_of_range() {
    let home = Home::new();
    for (value, reason) in [
        ("0", "0 is not in 1..=100000"),
        ("-1", "-1 is not in 1..=100000"),
        ("100001", "100001 is not in 1..=100000"),
        ("99999999999999999999", "number too large"),
        ("abc", "invalid digit"),
        ("", "cannot parse integer from empty string"),
    ] {
        refused(&home, &["--size", value], &["--size", reason]);
    }
    for (option, value, reason) in [
        ("--runs", "0", "0 is not in 1..=1000"),
        ("--until-ci", "0%", "above 0 and up to 100"),
        ("--until-ci", "NaN", "above 0 and up to 100"),
        ("--deadline", "0", "more than 0"),
        ("--deadline", "-1", "unexpected argument '-1'"),
        ("--cooldown", "inf", "0 or more"),
        ("--pagesize", "1000", "power of two"),
        ("--threads", "9", "9 is not in 0..=8"),
        ("--mmap", "3GiB", "at most 2147483647"),
    ] {
        let pieces = if reason.starts_with("unexpected") { vec![reason] } else { vec![option, reason] };
        refused(&home, &[option, value], &pieces);
    }
    refused(&home, &["--size", "100000", "--testset", "main/200"], &["--size 100000", "10000000"]);
}

#[test]
fn testsets_that_do_not_exist() {
    let home = Home::new();
    refused(
        &home,
        &["--testset", "nope"],
        &["--testset", "unknown testset `nope`", "choose mix1, or a list of main, orm"],
    );
    refused(&home, &["--testset", "main,mix1"], &["--testset", "mix1 can't be part of a list"]);
    refused(
        &home,
        &["--testset", "main/0"],
        &["`main/0`: the scale after `/` must be a percentage from 1 to 10000"],
    );
    refused(&home, &["--temp", "3"], &["--temp: speedtest1 can't drop temporary tables"]);
}

#[test]
fn a_cpu_that_is_not_there() {
    refused(
        &Home::new(),
        &["--pin", "4096"],
        &["--pin 4096: this process may not use that CPU; choose one of ["],
    );
}

#[test]
fn options_of_the_tool_that_destroy() {
    let home = Home::new();
    let precious = home.write("precious.db", "mine");
    let name = precious.to_str().unwrap();
    refused(&home, &["--", name], &["would name a database, which speedtest1 deletes; use --database"]);
    refused(&home, &["--", "--nomemstat", name], &["would name a database, which speedtest1 deletes"]);
    refused(&home, &["--", "--script", name], &["`--script` after `--` is refused: it overwrites the file"]);
    refused(&home, &["--", "--output", name], &["`--output` after `--` is refused: it overwrites a file"]);
    refused(&home, &["--", "--key", "secret"], &["`--key` after `--` is refused"]);
    refused(&home, &["--", "--lookaside", "1"], &["`--lookaside` after `--` needs 2 value(s)"]);
    refused(&home, &["--", "--heap", "1000000", "64"], &["`--heap` after `--` is refused: the pinned build"]);
    refused(&home, &["--testset", "debug1"], &["--testset debug1", "times nothing"]);
    refused(
        &home,
        &["--", "--size", "5"],
        &["`--size` is not accepted after `--`: put an option of repro before `--`"],
    );
    refused(&home, &["precious.db"], &["unexpected argument 'precious.db' found"]);
    assert_eq!(fs::read(&precious).unwrap(), b"mine");
}

#[test]
fn a_database_that_exists_is_left_alone() {
    let home = Home::new();
    for taken in ["t.db", "t.db-journal", "t.db-wal", "t.db-shm"] {
        let path = home.write(taken, "mine");
        let pieces =
            [&format!("--database t.db: {taken} exists, and speedtest1 would delete it"), "name a new file"];
        refused(&home, &["--size", "1", "--database", "t.db", "--record", "r.json"], &pieces);
        assert_eq!(fs::read(&path).unwrap(), b"mine");
        assert_eq!(list(&home.work()), std::slice::from_ref(&path));
        fs::remove_file(path).unwrap();
    }
    // A name is also taken by a link that leads nowhere.
    std::os::unix::fs::symlink("nowhere", home.file("t.db")).unwrap();
    refused(&home, &["--size", "1", "--database", "t.db"], &["t.db exists"]);
    refused(
        &home,
        &["--size", "1", "--database", "none/t.db"],
        &["none: no permission to write there, or no such folder"],
    );
    refused(&home, &["--memdb", "--database", "x"], &["--memdb", "--database", "cannot be used with"]);
    refused(&home, &["--keep-database"], &["--database"]);
    refused(
        &home,
        &["--size", "1", "--temp-dir", "none"],
        &["--temp-dir none: not a folder that can be written to"],
    );
}

#[test]
fn outputs_that_exist_are_left_alone() {
    let home = Home::new();
    for option in ["--record", "--csv", "--json", "--markdown"] {
        let path = home.write("out", "mine");
        refused(&home, &["--size", "1", "--runs", "1", option, "out"], &["out: already exists", "--force"]);
        assert_eq!(fs::read(&path).unwrap(), b"mine");
    }
    for option in ["--record", "--csv", "--json", "--markdown"] {
        refused(
            &home,
            &["--size", "1", option, "none/out"],
            &["none: no such folder, or no permission to write there"],
        );
    }
    assert_eq!(list(&home.work()), [home.file("out")]);
    home.repro(&["--size", "1", "--runs", "1", "-q", "--record", "out", "--force"]).exits(0);
    assert_eq!(load(&home.file("out"))["schema"], 2);
}

#[test]
fn two_outputs_to_one_place() {
    let home = Home::new();
    refused(&home, &["--json", "-", "--csv", "-"], &["only one output can go to standard output (-)"]);
    refused(&home, &["--record", "x", "--csv", "x"], &["x: two outputs would go to this file"]);
    refused(&home, &["--json", "x", "--markdown", "x"], &["x: two outputs would go to this file"]);
    refused(&home, &["--record", "-"], &["--record -: ", "--json -"]);
    refused(&home, &["--record", "x", "--no-record"], &["--record", "--no-record", "cannot be used with"]);
    assert!(list(&home.work()).is_empty());
}

#[test]
fn a_device_is_written_to_and_not_replaced() {
    let home = Home::new();
    let device = home.file("null");
    let made = Command::new("mknod").arg(&device).args(["c", "1", "3"]).output();
    if !made.is_ok_and(|output| output.status.success()) || fs::write(&device, "x").is_err() {
        return skip("no device can be made here");
    }
    for option in ["--csv", "--json", "--markdown", "--record"] {
        home.repro(&["--size", "1", "--runs", "1", "--warmup", "0", "-q", option, "null", "--force"])
            .exits(0);
        let kind = fs::metadata(&device).unwrap().file_type();
        assert!(
            std::os::unix::fs::FileTypeExt::is_char_device(&kind),
            "{option} replaced a device by a file"
        );
    }
}

/// Calls a copy of the program as a user without privileges; returns `None` and prints the reason if that is
/// impossible.
fn as_nobody(home: &Home, arguments: &[&str]) -> Option<Done> {
    let program = home.temporary().join("repro");
    if !program.exists() {
        fs::copy(common::REPRO, &program).unwrap();
        for folder in [home.work().parent().unwrap(), &home.temporary()] {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
    let mut command = if is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program);
        command
    } else {
        Command::new(&program)
    };
    command.args(arguments).current_dir(home.work()).env("HOME", home.work());
    match command.output() {
        Ok(output) => Some(Done::from(&output)),
        Err(error) => {
            skip(&format!("setpriv: {error}"));
            None
        }
    }
}

#[test]
fn folders_without_permission() {
    let home = Home::new();
    let locked = home.file("locked");
    fs::create_dir(&locked).unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).unwrap();
    for (option, file, said) in [
        ("--record", "locked/r.json", "locked: no such folder, or no permission to write there"),
        ("--csv", "locked/r.csv", "locked: no such folder, or no permission to write there"),
        ("--database", "locked/t.db", "locked: no permission to write there, or no such folder"),
        ("--temp-dir", "locked", "--temp-dir locked: not a folder that can be written to"),
    ] {
        let Some(done) = as_nobody(&home, &["--size", "1", option, file]) else { return };
        done.exits(2).says(&[said]);
    }
    let Some(done) = as_nobody(&home, &["capture", "x", "--dir", "locked", "--size", "1"]) else { return };
    done.exits(2).says(&["locked: no such folder, or no permission to write there"]);
    assert!(list(&locked).is_empty());
    // If the home itself can't be written to, that is also reported before anything runs.
    let Some(done) = as_nobody(&home, &["--size", "1"]) else { return };
    if is_root() {
        done.exits(2).says(&["can't create this folder: Permission denied"]);
    }
}

#[test]
fn too_little_disk_is_seen_before_anything_runs() {
    let Some(disk) = Tmpfs::mount(1024) else { return };
    let home = Home::new();
    let folder = disk.file("");
    let folder = folder.to_str().unwrap().trim_end_matches('/');
    let pieces =
        [folder, "1.0 MB free, but size 100 may take 40.0 MB", "choose another place with --temp-dir"];
    refused(&home, &["--temp-dir", folder, "--record", "r.json"], &pieces);
    let database = disk.file("t.db");
    let database = database.to_str().unwrap();
    refused(&home, &["--database", database, "--record", "r.json"], &[folder, "size 100 may take 120.0 MB"]);
    assert!(list(&home.work()).is_empty() && disk.names().is_empty());
}

#[test]
fn a_record_on_a_full_disk_is_seen_before_anything_runs() {
    let Some(disk) = Tmpfs::mount(1024) else { return };
    let home = Home::new();
    disk.fill();
    let record = disk.file("r.json");
    let done = home.repro(&["--size", "1", "--runs", "1", "--record", record.to_str().unwrap()]);
    let done = done.exits(2).says(&["r.json: can't save the record: No space left on device"]);
    assert_eq!(
        (done.out.as_str(), done.err.contains("\nrecord: ") || done.err.starts_with("record: ")),
        ("", false),
        "{}",
        done.err
    );
    assert_eq!(disk.names(), ["filler"], "no empty record");
}

#[test]
fn a_record_whose_disk_fills_keeps_what_it_had() {
    let Some(disk) = Tmpfs::mount(1024) else { return };
    let home = Home::new();
    let record = disk.file("r.json");
    let arguments =
        ["--size", "5", "--runs", "1000", "--no-answer-check", "--record", record.to_str().unwrap()];
    let mut program = home.start(&arguments);
    common::wait_until("two runs are in the record", Duration::from_secs(60), || {
        let text = fs::read_to_string(&record).ok()?;
        let record: Value = serde_json::from_str(&text).ok()?;
        (runs(&record).len() >= 2).then_some(())
    });
    let limit = std::time::Instant::now() + Duration::from_secs(60);
    while program.runs() && std::time::Instant::now() < limit {
        disk.fill();
        std::thread::sleep(Duration::from_millis(5));
    }
    program.end(Duration::from_secs(5)).exits(3).says(&["can't save the record: No space left on device"]);
    let record = load(&record);
    assert!(record["partial"]["message"].is_string() && runs(&record).len() >= 2);
    assert_eq!(disk.names(), ["filler", "r.json"]);
}

#[test]
fn a_disk_that_fills_in_the_middle_of_a_run() {
    let Some(disk) = Tmpfs::mount(16 * 1024) else { return };
    let home = Home::new();
    let database = disk.file("t.db");
    let mut program = home.start(&[
        "--size",
        "10",
        "--runs",
        "1000",
        "--no-answer-check",
        "--record",
        "r.json",
        "--database",
        database.to_str().unwrap(),
    ]);
    common::wait_until("the database is there", Duration::from_secs(60), || database.exists().then_some(()));
    // Space that a run frees is taken at once, so that sooner or later the program finds none.
    let limit = std::time::Instant::now() + Duration::from_secs(60);
    while program.runs() && std::time::Instant::now() < limit {
        disk.fill();
        std::thread::sleep(Duration::from_millis(1));
    }
    let done = program.end(Duration::from_secs(5)).exits(3).says(&["record: r.json"]);
    let record = load(&home.file("r.json"));
    let reason = why(&record, "partial");
    assert!(reason.contains("disk is full") || reason.contains("disk I/O error"), "{reason}");
    assert!(done.err.contains(reason), "{}", done.err);
    let last = runs(&record).last().unwrap();
    assert_eq!(why(last, "rejected"), reason);
    assert_eq!(disk.names(), ["filler"], "the database is gone");
    home.assert_no_tool_is_left();
}

const CSV: &str =
    "key,step,value,unit\nmain/100,500 INSERTs into table with no index,0.001,s\nTOTAL,TOTAL,0.1,s\n";
const TOML: &str = "study = 'speedtest1'\ntitle = 'r'\nparameters = { size = 1 }\n\
    [citation]\nauthor = 'a'\ntitle = 't'\n\
    [engine]\nsqlite_version = '3.53.4'\nflags = ['-O3', '-DSQLITE_ENABLE_RTREE']\n";

/// Writes a reference and has it judged.
#[track_caller]
fn bad_reference(csv: impl AsRef<[u8]>, toml: impl AsRef<[u8]>, pieces: &[&str]) {
    let home = Home::new();
    home.write("ref.csv", csv);
    home.write("ref.toml", toml);
    refused(&home, &["verify", "ref.csv"], pieces);
}

#[test]
fn the_reference_that_the_others_spoil_is_good() {
    let home = Home::new();
    home.write("ref.csv", CSV);
    home.write("ref.toml", TOML);
    home.measure("r.json", &["--runs", "1"]);
    let done = home.repro(&["verify", "ref.csv", "--record", "r.json"]);
    assert!(matches!(done.code, Some(1 | 4)), "{}", done.err);
}

#[test]
fn figures_that_make_no_sense() {
    let second = |line: &str| format!("{CSV}{line}\n");
    bad_reference(
        "key,step,value,unit,colour\n",
        TOML,
        &["ref.csv: line 1: unknown column `colour`; the columns are key, step"],
    );
    bad_reference("key,step,value\n", TOML, &["ref.csv: line 1: no column `unit`"]);
    bad_reference("", TOML, &["ref.csv: line 1: no column `key`"]);
    bad_reference("key,step,value,unit\n", TOML, &["ref.csv: expected at least one figure"]);
    bad_reference(second("main/100,again,1,s"), TOML, &["ref.csv: line 4: main/100 appears twice"]);
    bad_reference(second("main/110,x,NaN,s"), TOML, &["ref.csv: line 4: `NaN` is not a time"]);
    bad_reference(second("main/110,x,-1,s"), TOML, &["ref.csv: line 4: `-1` is not a time"]);
    bad_reference(second("main/110,x,,s"), TOML, &["ref.csv: line 4: `` is not a time"]);
    bad_reference(second("main/110,x,\"1,5\",s"), TOML, &["ref.csv: line 4: `1,5` is not a time"]);
    bad_reference(
        second("main/110,x,1,MB"),
        TOML,
        &["ref.csv: line 4: unit `MB`: a time is in s, ms, us or ns"],
    );
    bad_reference(second("main,x,1,s"), TOML, &["ref.csv: line 4: ", "`main`"]);
    bad_reference(second("main/110,x"), TOML, &["ref.csv: ", "line: 4"]);
}

#[test]
fn files_that_are_no_reference() {
    let home = Home::new();
    home.write("ref.csv", CSV);
    refused(
        &home,
        &["verify", "ref.csv"],
        &[
            "ref.csv: its citation and claims must be in a file beside it: ref.toml: can't be read: No such file",
        ],
    );
    refused(&home, &["verify", "ref.toml"], &["ref.toml: expected a file NAME.csv with NAME.toml beside it"]);
    refused(&home, &["verify", "none.csv"], &["none.csv: can't be read: No such file"]);
    fs::create_dir(home.file("folder.csv")).unwrap();
    refused(&home, &["verify", "folder.csv"], &["folder.csv: can't be read: Is a directory"]);
    let utf16: Vec<u8> = [0xfeff].into_iter().chain(CSV.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    bad_reference(&utf16, TOML, &["ref.csv: is UTF-16; save it as UTF-8"]);
    bad_reference(b"key,step,value,unit\nmain/100,\xff,1,s\n", TOML, &["ref.csv: not UTF-8 (byte 29)"]);
    fs::File::create(home.file("large.csv")).unwrap().set_len(100 * 1024 * 1024).unwrap();
    refused(&home, &["verify", "large.csv"], &["large.csv: larger than 4194304 bytes"]);
    refused(&home, &["verify"], &["<REFERENCE>"]);
}

#[test]
fn citations_and_claims_that_make_no_sense() {
    let with = |more: &str| format!("{TOML}{more}\n");
    let claim = |test: &str| with(&format!("[[claim]]\nid = 'c'\ntext = 'x'\n{test}"));
    bad_reference(CSV, "study = ", &["ref.toml: TOML parse error at line 1"]);
    bad_reference(CSV, "", &["ref.toml: ", "missing field `study`"]);
    bad_reference(CSV, with("[colour]"), &["ref.toml: ", "unknown field `colour`"]);
    bad_reference(CSV, TOML.replace("size = 1", "sise = 1"), &["ref.toml: ", "unknown field `sise`"]);
    bad_reference(
        CSV,
        TOML.replace("size = 1", "size = 0"),
        &["ref.toml: [parameters]: --size 0: expected 1 to 100000"],
    );
    bad_reference(
        CSV,
        TOML.replace("size = 1", "size = 1, pagesize = 1000"),
        &["ref.toml: [parameters]: --pagesize 1000: expected a power of two"],
    );
    bad_reference(
        CSV,
        TOML.replace("size = 1", "size = 1, temp = 10"),
        &["ref.toml: [parameters]: --temp 10: expected 0 to 9"],
    );
    bad_reference(
        CSV,
        TOML.replace("'speedtest1'", "'tpc-c'"),
        &["ref.toml: this program has no study `tpc-c`"],
    );
    bad_reference(
        CSV,
        with("[tolerance]\nfactor = 0.5"),
        &["ref.toml: [tolerance]: a factor must be above 1"],
    );
    bad_reference(CSV, claim("kind = 'magic'"), &["ref.toml: ", "unknown variant `magic`"]);
    let ratio = "kind = 'ratio'\nnumerator = 'main/310'\ndenominator = 'main/100'\n";
    bad_reference(CSV, claim(ratio), &["ref.toml: claim `c`: a ratio needs at_least or at_most"]);
    bad_reference(
        CSV,
        claim(&format!("{ratio}at_least = -1.0")),
        &["claim `c`: bounds of a ratio must be above 0"],
    );
    bad_reference(
        CSV,
        claim("kind = 'ratio'\nnumerator = 'main-310'\ndenominator = 'main/100'\nat_least = 2.0"),
        &["ref.toml: ", "main-310"],
    );
    bad_reference(
        CSV,
        claim("kind = 'ordered'\nsteps = ['main/100']"),
        &["claim `c`: at least two steps are needed"],
    );
    bad_reference(
        CSV,
        claim(&format!("{ratio}at_least = 1.0\nat_mots = 2.0")),
        &["ref.toml: claim `c`: unknown key `at_mots`"],
    );
    let twice = "kind = 'value'\nquantity = 'errors'\nequals = 0\n";
    bad_reference(
        CSV,
        claim(&format!("{twice}[[claim]]\nid = 'c'\ntext = 'y'\n{twice}")),
        &["ref.toml: claim `c` appears twice"],
    );
}

#[test]
fn files_that_are_no_record() {
    let home = Home::new();
    let record = home.measure("r.json", &["--runs", "1"]);
    home.write("ref.csv", CSV);
    home.write("ref.toml", TOML);
    let changed = |name: &str, change: &dyn Fn(&mut Value)| {
        let mut record = record.clone();
        change(&mut record);
        home.write(name, record.to_string());
    };
    changed("newer.json", &|record| record["schema"] = json!(999));
    changed("older.json", &|record| record["schema"] = json!(1));
    changed("tpc-c.json", &|record| record["study"] = json!("tpc-c"));
    changed("detail.json", &|record| record["legs"][0]["runs"][0]["detail"] = json!({ "colour": "red" }));
    changed("stranger.json", &|record| record["colour"] = json!("red"));
    changed("edited.json", &|record| record["legs"][0]["runs"][1]["total_ms"] = json!(1_000_000));
    changed("cut.json", &|record| record["legs"][0]["phases"].as_array_mut().unwrap().truncate(3));
    home.write("text.json", "hello\n");
    home.write("empty.json", "");
    home.write("list.json", "[1, 2]");
    home.write("half.json", &record.to_string()[..2000]);
    fs::create_dir(home.file("folder.json")).unwrap();
    fs::File::create(home.file("large.json")).unwrap().set_len(100 * 1024 * 1024).unwrap();
    for (name, reason) in [
        ("newer.json", "written by a newer repro (schema 999); this one reads schema 2; update repro"),
        ("older.json", "written by an older repro (schema 1); this one reads schema 2; measure again, or "),
        ("tpc-c.json", "this program has no study `tpc-c`"),
        ("detail.json", "not a valid record: detail of run 1: unknown field `colour`"),
        ("stranger.json", "not a valid record: unknown field `colour`"),
        ("edited.json", "run 2 of leg `native`: TOTAL is 1000000 ms, but its rows add up to "),
        ("cut.json", "run 1 of leg `native`: TOTAL is "),
        ("text.json", "not a record written by repro: "),
        ("empty.json", "not a record written by repro: "),
        ("list.json", "not a record written by repro: "),
        ("half.json", "not a record written by repro: EOF"),
        ("folder.json", "can't be read: Is a directory"),
        ("large.json", "larger than 67108864 bytes"),
        ("none.json", "can't be read: No such file"),
    ] {
        let said = format!("{name}: {reason}");
        for arguments in [
            &["show", name][..],
            &["cite", name],
            &["compare", name, "r.json"],
            &["compare", "r.json", name],
            &["verify", "ref.csv", "--record", name],
        ] {
            let done = home.repro(arguments).exits(2).says(&[&said]);
            assert_eq!(done.out, "", "{arguments:?}");
        }
    }
}

#[test]
fn captures_that_can_not_be() {
    let home = Home::new();
    for name in ["../x", "a b", ".x", ""] {
        refused(
            &home,
            &["capture", name, "--size", "1"],
            &[&format!("`{name}`: expected a name of letters")],
        );
    }
    refused(&home, &["capture", "x", "--dir", "none", "--size", "1"], &["none: no such folder"]);
    home.write("x.toml", "mine");
    refused(&home, &["capture", "x", "--size", "1"], &["x.toml: already exists"]);
    assert_eq!(list(&home.work()), [home.file("x.toml")]);
    assert_eq!(fs::read(home.file("x.toml")).unwrap(), b"mine");
}
