//! `repro import`: each saved output is imported correctly, or refused with the line and the reason.

mod common;

use common::{Home, assert_runs_are_whole, keys, list, load, runs, why};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/outputs")
}

/// What a file must lead to.
#[derive(Clone, Copy)]
enum Expect {
    /// Records, with their TOTAL in ms for each run and their number of rows.
    Whole { lines: (u64, u64), rows: usize, totals: &'static [i64] },
    /// One partial record of one run, for a reason that begins like this.
    Partial { lines: (u64, u64), rows: usize, reason: &'static str },
    /// A refusal at this line, with this part of the reason.
    Refused(u64, &'static str),
}
use Expect::{Partial, Refused, Whole};

const NO_TIMES: &str = "a listing of SQL (--sqlonly or --explain), which holds no times";
const NOT_OURS: &str = "is not speedtest1's output; expected rows such as";
const NOT_HERE: &str = "is not part of speedtest1's output here";
const NO_ROWS: &str = "TOTAL without the rows that it sums up";

const SIDE_BY_SIDE: &str = "two outputs side by side; save each to a file of its own";

/// Every fixture that holds one record or none.
const FIXTURES: &[(&str, Expect)] = &[
    // These are outputs as the tool wrote them.
    ("default-list.txt", Whole { lines: (1, 93), rows: 83, totals: &[150] }),
    ("verify-mix1.txt", Whole { lines: (1, 96), rows: 85, totals: &[181] }),
    ("stats-verify.txt", Whole { lines: (1, 88), rows: 23, totals: &[37] }),
    ("scaled-testsets.txt", Whole { lines: (1, 40), rows: 37, totals: &[122] }),
    ("star-app.txt", Whole { lines: (1, 11), rows: 8, totals: &[13] }),
    ("two-alike.txt", Whole { lines: (1, 22), rows: 8, totals: &[13, 14] }),
    // These are outputs from logs, terminals, editors and other C libraries.
    ("ansi-ci-prefix.txt", Whole { lines: (2, 12), rows: 8, totals: &[29] }),
    ("banner-behind-prompt.txt", Whole { lines: (1, 11), rows: 8, totals: &[12] }),
    ("boot-log.txt", Whole { lines: (8, 18), rows: 8, totals: &[13] }),
    ("cr-only.txt", Whole { lines: (1, 11), rows: 8, totals: &[12] }),
    ("crlf.txt", Whole { lines: (1, 11), rows: 8, totals: &[12] }),
    ("dashed-prefix.txt", Whole { lines: (1, 11), rows: 8, totals: &[29] }),
    ("indented-quote.txt", Whole { lines: (3, 13), rows: 8, totals: &[12] }),
    ("markdown-fence.txt", Whole { lines: (6, 16), rows: 8, totals: &[12] }),
    ("no-banner.txt", Whole { lines: (1, 33), rows: 32, totals: &[564] }),
    ("no-suffix.txt", Whole { lines: (1, 11), rows: 8, totals: &[14] }),
    ("other-benchmark-after.txt", Whole { lines: (1, 11), rows: 8, totals: &[17] }),
    ("unpadded.txt", Whole { lines: (1, 35), rows: 32, totals: &[564] }),
    ("utf8-bom.txt", Whole { lines: (1, 11), rows: 8, totals: &[12] }),
    ("wrapped-60.txt", Whole { lines: (1, 23), rows: 8, totals: &[19] }),
    ("zero-row-removed.txt", Whole { lines: (1, 92), rows: 82, totals: &[150] }),
    ("cat-n.txt", Whole { lines: (1, 11), rows: 8, totals: &[13] }),
    ("changing-prefix.txt", Whole { lines: (1, 11), rows: 8, totals: &[13] }),
    ("foreign-line.txt", Whole { lines: (1, 12), rows: 8, totals: &[13] }),
    ("counted-repeats.txt", Whole { lines: (3, 31), rows: 8, totals: &[13, 13] }),
    ("wrong-hash.txt", Whole { lines: (1, 96), rows: 85, totals: &[181] }),
    // These are runs that did not end, or whose end was not saved.
    ("no-total.txt", Partial { lines: (1, 32), rows: 32, reason: "cut short after row main/990: no TOTAL" }),
    (
        "tab-prefix-no-total.txt",
        Partial { lines: (1, 32), rows: 32, reason: "cut short after row main/990: no TOTAL" },
    ),
    (
        "hash-no-total.txt",
        Partial { lines: (1, 95), rows: 85, reason: "cut short after row app/110: no TOTAL" },
    ),
    (
        "killed-by-signal.txt",
        Partial { lines: (1, 4), rows: 3, reason: "killed by signal 9 after row star/120: Killed" },
    ),
    (
        "out-of-memory-mid-row.txt",
        Partial {
            lines: (1, 5),
            rows: 3,
            reason: "out of memory in row star/130: [  12.345] ERROR: Failed to allocate a page",
        },
    ),
    ("cut-in-a-time.txt", Partial { lines: (1, 9), rows: 6, reason: "cut short in row app/100: no TOTAL" }),
    ("killed-mid-row.txt", Partial { lines: (1, 3), rows: 1, reason: "cut short in row main/110: no TOTAL" }),
    (
        "no-rtree.txt",
        Partial { lines: (1, 5), rows: 3, reason: "cut short at the beginning of testset rtree" },
    ),
    ("no-rtree-merged.txt", Partial { lines: (1, 6), rows: 2, reason: "compile with -DSQLITE_ENABLE_RTREE" }),
    // These runs themselves say that they contain nothing.
    ("banner-alone.txt", Refused(1, "a run begins here but has no rows")),
    (
        "cannot-open.txt",
        Refused(1, "the run failed before its first row ended: Cannot open database file: missing"),
    ),
    (
        "second-run-failed.txt",
        Refused(12, "the run failed before its first row ended: Cannot open database file"),
    ),
    ("after-failure.txt", Refused(7, "the output continues after the run failed: SQL error: disk I/O error")),
    ("sqlonly.txt", Refused(4, NO_TIMES)),
    ("trace-merged.txt", Refused(4, "the row has no time, and what follows is not the tool's")),
    // These were changed by one digit, one line, or one word.
    ("total-edited.txt", Refused(35, "TOTAL is 0.565 s, but the rows add up to 0.564 s")),
    ("row-removed.txt", Refused(34, "TOTAL is 0.564 s, but the rows add up to 0.546 s")),
    ("negative-row.txt", Refused(4, "row star/120 took a negative time: the wall clock was set back")),
    ("total-twice.txt", Refused(12, NO_ROWS)),
    ("total-alone.txt", Refused(1, NO_ROWS)),
    ("stats-before-total.txt", Refused(11, NOT_HERE)),
    ("hash-twice.txt", Refused(97, NOT_HERE)),
    (
        "foreign-line-no-total.txt",
        Refused(5, "lies between two rows, and no TOTAL shows that no row is lost"),
    ),
    ("damaged-name.txt", Refused(4, NOT_HERE)),
    ("row-number-too-large.txt", Refused(4, NOT_HERE)),
    ("time-lost.txt", Refused(5, "the row has no time, although the output continues after it")),
    (
        "doubled-zero-row.txt",
        Refused(4, "row 110 appears twice; two outputs are mixed here, or a line was duplicated"),
    ),
    ("rows-swapped.txt", Refused(5, "row 120 after row 130: lines are missing or mixed")),
    (
        "testset-end-removed.txt",
        Refused(89, "testset `app` begins in the middle of another: rows are missing"),
    ),
    ("interleaved.txt", Refused(2, "row 100 appears twice; two outputs are mixed here")),
    ("two-columns.txt", Refused(1, SIDE_BY_SIDE)),
    ("two-columns-bar.txt", Refused(1, SIDE_BY_SIDE)),
    // These may be in seconds, or in milliseconds without padding.
    (
        "rounded-seconds.txt",
        Refused(1, "TOTAL adds up either way, as milliseconds without padding and as rounded"),
    ),
    ("rounded-seconds-unconfirmed.txt", Refused(1, "TOTAL does not confirm that they are milliseconds")),
    ("unpadded-no-total.txt", Refused(3, "no TOTAL to tell what they mean")),
    // These are not from the tool.
    ("quoted-row.txt", Refused(2, NOT_OURS)),
    ("other-benchmark.txt", Refused(1, NOT_OURS)),
    ("markdown-table.txt", Refused(3, "is a row of a published table, not the tool's output")),
    ("numbered-table.txt", Refused(3, NO_ROWS)),
    ("utf16.txt", Refused(1, "UTF-16; save the output as UTF-8 text")),
    ("binary.bin", Refused(2, "binary data (a zero byte)")),
    ("empty.txt", Refused(1, "no row of speedtest1 in this file")),
    ("blank.txt", Refused(1, "no row of speedtest1 in this file")),
];

/// Fixtures of several records, which have tests of their own.
const OF_SEVERAL: &[&str] = &[
    "commands.txt",
    "three-headings.txt",
    "killed-then-whole-glued.txt",
    "killed-then-whole-no-banner.txt",
    "killed-then-whole.txt",
    "two-unlike.txt",
];

/// Imports `file`, checks it against `expect`, and returns the record if there is one.
#[track_caller]
fn judge(file: &Path, expect: Expect) -> Option<Value> {
    let home = Home::new();
    let name = file.to_str().unwrap();
    let done = home.repro(&["import", name, "--record", "r.json"]);
    let (lines, rows) = match expect {
        Refused(line, reason) => {
            let done = done.exits(2).says(&[&format!("error: {name}: line {line}: "), reason]);
            assert_eq!(done.out, "", "{name}: half a result");
            assert!(list(&home.work()).is_empty(), "{name}: half a record");
            return None;
        }
        Whole { lines, rows, .. } | Partial { lines, rows, .. } => (lines, rows),
    };
    done.exits(0).says(&["record: r.json"]);
    let record = load(&home.file("r.json"));
    let origin = &record["imported"];
    assert_eq!((&origin["file"], &origin["first_line"]), (&json!(name), &json!(lines.0)));
    assert_eq!(origin["last_line"], lines.1, "{name}");
    assert_eq!(keys(&record).len(), rows, "{name}");
    match expect {
        Whole { totals, .. } => {
            assert_runs_are_whole(&record, rows);
            let found: Vec<i64> = runs(&record).iter().map(|run| run["total_ms"].as_i64().unwrap()).collect();
            assert_eq!(found, totals, "{name}");
            assert!(record.get("partial").is_none() && runs(&record)[0].get("rejected").is_none(), "{name}");
        }
        Partial { reason, .. } => assert_partial(&record, reason),
        Refused(..) => unreachable!(),
    }
    Some(record)
}

#[track_caller]
fn assert_partial(record: &Value, reason: &str) {
    assert_eq!(runs(record).len(), 1);
    let run = &runs(record)[0];
    assert!(why(record, "partial").starts_with(reason), "{}", record["partial"]);
    // What was measured before the end is shown.
    assert!(run.get("rejected").is_none() && run.get("total_ms").is_none(), "{run}");
}

/// Returns the record of a fixture in the table above.
#[track_caller]
fn record(name: &str) -> Value {
    let (_, expect) = FIXTURES.iter().find(|(file, _)| *file == name).unwrap();
    judge(&fixtures().join(name), *expect).unwrap()
}

#[test]
fn every_fixture_comes_out_as_expected() {
    for (name, expect) in FIXTURES {
        judge(&fixtures().join(name), *expect);
    }
}

#[test]
fn no_fixture_is_left_out() {
    let names = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_string();
    let found: BTreeSet<String> = list(&fixtures()).iter().map(names).collect();
    let listed = FIXTURES.iter().map(|(name, _)| *name).chain(OF_SEVERAL.iter().copied());
    assert_eq!(found, listed.map(str::to_string).collect());
}

#[test]
fn the_default_list_comes_in_whole() {
    let record = record("default-list.txt");
    assert_eq!(record["parameters"], json!({ "size": 1, "testset": "mix1", "verify": false }));
    let engine = &record["legs"][0]["engine"];
    assert_eq!(engine["sqlite_version"], "3.53.4");
    assert_eq!(engine["source_id"], "2026-07-24 19:02:57 bf7c7f30031888f4e796e429ab39");
    assert_eq!(record["legs"][0]["answer"]["verdict"], "not-checked");
    let keys = keys(&record);
    for key in ["main/100", "main/999", "orm/110", "parsenumber/210", "star/130", "star/130#2", "app/110"] {
        assert!(keys.iter().any(|found| found == key), "{key}");
    }
    assert!(!keys.iter().any(|key| key.starts_with("unknown")));
    let query = common::steps(&record).iter().find(|step| common::key(step) == "cte/100").unwrap();
    assert_eq!(query["title"], "Sudoku with recursive 'digits'");
    assert!(runs(&record)[0].get("flags").is_none());
}

#[test]
fn answers_and_statistics_are_kept() {
    let verified = record("verify-mix1.txt");
    let hash = "532742 20bdfdfbf077c5edc3991d3a017eac22404ca44031423751";
    assert_eq!(verified["legs"][0]["answer"], json!({ "verdict": "right", "found": hash }));
    assert!(keys(&verified).contains(&"rtree/111".to_string()), "a row that only --verify has");
    assert!(runs(&verified)[0].get("flags").is_none());

    let statistics = record("stats-verify.txt");
    let hash = "12913 f8cd0f1d19429e1018525b763d5813f74000bb923ef966ce";
    assert_eq!(statistics["legs"][0]["answer"], json!({ "verdict": "unknown", "found": hash }));
    let found = &runs(&statistics)[0]["detail"]["statistics"];
    assert_eq!(found["Cancelled write bytes"], "0");
    assert_eq!(found.as_object().unwrap().len(), 22);

    let wrapped = record("wrapped-60.txt");
    let nothing = "the testsets star,app put no results into the verification hash";
    assert_eq!(wrapped["legs"][0]["answer"], json!({ "verdict": "not-checked", "reason": nothing }));
    let engine = &wrapped["legs"][0]["engine"];
    assert_eq!(engine["source_id"], "2026-07-24 19:02:57 bf7c7f30031888f4e796e429ab39");
}

#[test]
fn what_the_output_does_not_say_is_left_open() {
    let old = record("no-banner.txt");
    assert!(old["legs"][0]["engine"].get("sqlite_version").is_none());
    assert_eq!(old["parameters"], json!({ "size": 20, "testset": "main", "verify": false }));
    // At this size, several scales of a testset make the same work.
    assert_eq!(record("scaled-testsets.txt")["parameters"], json!({ "verify": false }));
    // Without its end, such an output may be the first of several testsets, and may lack a hash.
    assert_eq!(record("no-total.txt")["parameters"], json!({ "size": 20 }));
    assert_eq!(record("hash-no-total.txt")["parameters"]["testset"], "mix1");
    // A fence ends the output: the note below it is not a statistic.
    assert!(runs(&record("markdown-fence.txt"))[0].get("detail").is_none());
}

#[test]
fn a_wrong_hash_is_wrong() {
    let answer = &record("wrong-hash.txt")["legs"][0]["answer"];
    let rest = "bdfdfbf077c5edc3991d3a017eac22404ca44031423751";
    let (found, expected) = (format!("532742 30{rest}"), format!("532742 20{rest}"));
    assert_eq!(*answer, json!({ "verdict": "wrong", "found": found, "expected": expected }));
    let home = Home::new();
    let file = fixtures().join("wrong-hash.txt");
    let done = home.repro(&["import", file.to_str().unwrap(), "--no-record"]);
    done.exits(0).prints(&["ANSWERS WRONG", "unless an option that changes the answers was given"]);
}

#[test]
fn headings_tell_runs_apart() {
    let home = Home::new();
    let import = |name: &str| {
        let path = fixtures().join(name);
        home.repro(&["import", path.to_str().unwrap(), "--record", name, "--force"]).exits(0);
        let mut files = list(&home.file(name));
        files.sort();
        files.iter().map(|file| load(file)).collect::<Vec<Value>>()
    };
    let records = import("three-headings.txt");
    let headings: Vec<&Value> = records.iter().map(|record| &record["imported"]["heading"]).collect();
    assert_eq!(headings, ["== memory", "== file", "== wal"]);
    assert_eq!(records.iter().map(|record| runs(record).len()).collect::<Vec<_>>(), [1, 2, 1]);

    let records = import("commands.txt");
    let commands: Vec<&Value> = records.iter().map(|record| &record["imported"]["command"]).collect();
    assert_eq!(commands[0], "$ ./speedtest1 --size 5 --testset star,app --memdb");
    let known = json!({ "size": 5, "testset": "star,app", "database": "memory" });
    assert_eq!(records[0]["parameters"], known);
    let known = json!({ "size": 5, "testset": "star,app", "database": "file", "journal": "wal" });
    assert_eq!(records[1]["parameters"], known);
    // The rows contradict the third command, so it says nothing about them.
    assert!(commands[2].is_null());
    assert_eq!(records[2]["parameters"], json!({ "size": 5, "testset": "star,app", "verify": false }));
}

#[test]
fn what_the_user_states_is_kept_apart() {
    let home = Home::new();
    let (whole, cut) = (fixtures().join("star-app.txt"), fixtures().join("no-total.txt"));
    let flags = "-O3 -DSQLITE_ENABLE_RTREE";
    let import = |file: &Path, more: &[&str]| {
        let words = ["import", file.to_str().unwrap(), "--record", "r.json", "--force"];
        home.repro(&[&words, more].concat())
    };
    import(&whole, &["--flags", flags, "--machine", "a laptop", "--date", "2024-02-29"]).exits(0).prints(&[
        "stated, not confirmed: flags -O3 -DSQLITE_ENABLE_RTREE · machine a laptop · date 2024-02-29",
    ]);
    let record = load(&home.file("r.json"));
    let stated = json!({ "flags": flags, "machine": "a laptop", "date": "2024-02-29" });
    assert_eq!(record["imported"]["stated"], stated);
    home.repro(&["cite", "r.json"]).exits(1).prints(&["a laptop; 2024-02-29", "as stated"]);
    import(&cut, &["--testset", "main,orm/25"]).exits(0);
    assert_eq!(load(&home.file("r.json"))["parameters"]["testset"], "main,orm/25");
    // The rows can contradict it.
    import(&whole, &["--testset", "main"]).exits(2).says(&["--testset main: the rows are of star, app"]);
    import(&whole, &["--testset", "star,app/50"]).exits(2).says(&["--testset star,app/50"]);
    import(&whole, &["--date", "yesterday"]).exits(2).says(&["--date"]);
}

#[test]
fn an_output_becomes_a_reference() {
    let home = Home::new();
    let saved = fixtures().join("no-banner.txt");
    let words =
        ["import", saved.to_str().unwrap(), "--no-record", "--reference", "theirs", "--machine", "a laptop"];
    home.repro(&words).exits(0).prints(&["written: theirs.csv, theirs.toml"]);
    let about = fs::read_to_string(home.file("theirs.toml")).unwrap();
    for missing in ["citation.author", "citation.date", "engine.sqlite_version", "engine.flags"] {
        assert!(about.contains(&format!("# missing: {missing}\n")), "{missing}: {about}");
    }
    assert!(about.contains("machine = \"a laptop\"") && !about.contains("# missing: host"), "{about}");
    // What was read agrees with itself, but one run of unknown flags decides nothing.
    home.repro(&["import", saved.to_str().unwrap(), "--record", "r.json"]).exits(0);
    home.repro(&["verify", "theirs.csv", "--record", "r.json"]).exits(4);
    home.repro(&words).exits(2).says(&["theirs.csv: already exists"]);
    let two = fixtures().join("two-unlike.txt");
    home.repro(&["import", two.to_str().unwrap(), "--reference", "two"])
        .exits(2)
        .says(&["--reference two: expected one record, found 2"]);
    assert!(!home.file("two.csv").exists() && home.records().is_empty());
}

#[test]
fn several_files_at_once() {
    let home = Home::new();
    let files = ["star-app.txt", "two-unlike.txt"].map(|name| fixtures().join(name));
    let words = ["import", files[0].to_str().unwrap(), files[1].to_str().unwrap(), "--record", "records"];
    home.repro(&words).exits(0);
    assert_eq!(list(&home.file("records")).len(), 3);
    // One that can't be read keeps all others from being written.
    home.repro(&["import", files[0].to_str().unwrap(), "nowhere.txt", "--record", "more"]).exits(2);
    assert!(!home.file("more").exists());
}

#[test]
fn doubtful_readings_are_flagged() {
    let flags = |name| runs(&record(name))[0]["flags"].clone();
    assert_eq!(flags("unpadded.txt"), json!([{ "flag": "unpadded-times" }]));
    let foreign = "make: Entering directory `build'";
    assert_eq!(flags("foreign-line.txt"), json!([{ "flag": "foreign-lines", "lines": 1, "first": foreign }]));
    assert_eq!(
        flags("zero-row-removed.txt"),
        json!([{ "flag": "missing-rows", "version": "3.53.4", "rows": ["main/260"] }])
    );
}

#[test]
fn unpadded_milliseconds_are_read_like_padded_ones() {
    let samples = |name| {
        let record = record(name);
        let steps = common::steps(&record).iter();
        steps.map(common::first_ms).collect::<Vec<_>>()
    };
    assert_eq!(samples("unpadded.txt"), samples("no-banner.txt"));
}

/// Imports a fixture of two records into a folder.
#[track_caller]
fn two(name: &str) -> (Value, Value) {
    let home = Home::new();
    let path = fixtures().join(name);
    let done = home.repro(&["import", path.to_str().unwrap(), "--record", "records"]);
    done.exits(0).says(&["record: records/1.json", "record: records/2.json"]);
    assert_eq!(list(&home.file("records")).len(), 2);
    let load = |file: &str| load(&home.file("records").join(file));
    (load("1.json"), load("2.json"))
}

fn lines(record: &Value) -> (u64, u64) {
    let line = |name: &str| record["imported"][name].as_u64().unwrap();
    (line("first_line"), line("last_line"))
}

#[test]
fn runs_that_differ_are_records_of_their_own() {
    let (first, second) = two("two-unlike.txt");
    assert_eq!((lines(&first), lines(&second)), ((1, 11), (12, 16)));
    assert_runs_are_whole(&first, 8);
    assert_runs_are_whole(&second, 2);
    assert_eq!(keys(&second), ["orm/100", "orm/110"]);
    assert_eq!((&runs(&first)[0]["total_ms"], &runs(&second)[0]["total_ms"]), (&json!(13), &json!(16)));
}

#[test]
fn a_killed_run_does_not_spoil_the_next() {
    for (name, spans, rows, total) in [
        // `>>` puts the next banner on the line where the last row stopped.
        ("killed-then-whole-glued.txt", ((1, 3), (3, 13)), 8, 13),
        ("killed-then-whole.txt", ((1, 3), (4, 14)), 8, 13),
        ("killed-then-whole-no-banner.txt", ((1, 2), (3, 35)), 32, 564),
    ] {
        let (killed, whole) = two(name);
        assert_eq!((lines(&killed), lines(&whole)), spans, "{name}");
        assert_partial(&killed, "cut short in row main/110: no TOTAL");
        assert_eq!(keys(&killed), ["main/100"]);
        assert_runs_are_whole(&whole, rows);
        assert_eq!(runs(&whole)[0]["total_ms"], total, "{name}");
        assert!(whole.get("partial").is_none());
    }
}

#[test]
fn repeats_with_and_without_verify_are_not_one_measurement() {
    let home = Home::new();
    let saved = fs::read_to_string(fixtures().join("verify-mix1.txt")).unwrap();
    let (timed, _) = saved.split_once("Verification Hash").unwrap();
    home.write("saved.txt", format!("{timed}{saved}"));
    home.repro(&["import", "saved.txt", "--record", "records"]).exits(0);
    let verdict = |file: &str| load(&home.file("records").join(file))["legs"][0]["answer"]["verdict"].clone();
    assert_eq!((verdict("1.json"), verdict("2.json")), (json!("not-checked"), json!("right")));
}

#[test]
fn a_pipe_is_read_like_a_file() {
    let home = Home::new();
    let saved = fs::read(fixtures().join("star-app.txt")).unwrap();
    let import = |bytes: &[u8], more: &[&str]| {
        let arguments = [&["import", "-"], more].concat();
        let mut command = assert_cmd::Command::new(common::REPRO);
        command.args(arguments).current_dir(home.work()).write_stdin(bytes);
        for variable in ["HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"] {
            command.env(variable, home.work());
        }
        common::Done::from(&command.output().unwrap())
    };
    import(&saved, &["--record", "r.json"]).exits(0).prints(&["TOTAL"]);
    let record = load(&home.file("r.json"));
    assert_eq!(record["imported"]["file"], "standard input");
    assert_runs_are_whole(&record, 8);
    import(&saved[..300], &["--no-record"]).exits(0);
    import(b"", &["--no-record"]).exits(2).says(&["error: standard input: line 1: no row of speedtest1"]);
}

#[test]
fn records_go_where_they_are_sent() {
    let home = Home::new();
    let saved = fixtures().join("two-unlike.txt");
    let import = |more: &[&str]| home.repro(&[&["import", saved.to_str().unwrap()], more].concat());
    import(&["--no-record"]).exits(0).prints(&["star", "orm"]);
    assert!(home.records().is_empty() && list(&home.work()).is_empty());
    import(&[]).exits(0);
    assert_eq!(home.records().len(), 2);

    // If one name is taken, nothing is written at all.
    home.write("taken", "");
    fs::create_dir(home.file("records")).unwrap();
    let second = home.write("records/2.json", "mine");
    let done = import(&["--record", "records"]).exits(2);
    let done = done.says(&["records/2.json: already exists", "--force"]);
    assert_eq!(done.out, "");
    assert_eq!(list(&home.file("records")), std::slice::from_ref(&second));
    assert_eq!(fs::read_to_string(&second).unwrap(), "mine");
    import(&["--record", "taken"]).exits(2).says(&["taken: can't create this folder"]);

    import(&["--record", "records", "--force"]).exits(0);
    assert_eq!(keys(&load(&second)), ["orm/100", "orm/110"]);
    import(&["--record", "r.json", "--no-record"]).exits(2).says(&["cannot be used with"]);
}

#[test]
fn no_file_is_overwritten_without_force() {
    let home = Home::new();
    let saved = fixtures().join("star-app.txt");
    let mine = home.write("r.json", "mine");
    let arguments = ["import", saved.to_str().unwrap(), "--record", "r.json", "--force"];
    home.repro(&arguments[..4]).exits(2).says(&["r.json: already exists", "--force"]);
    assert_eq!(fs::read_to_string(&mine).unwrap(), "mine");
    home.repro(&arguments).exits(0);
    assert_runs_are_whole(&load(&mine), 8);
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let home = Home::new();
    home.repro(&["import", "nowhere.txt"]).exits(2).says(&["nowhere.txt: can't be read: No such file"]);
    home.repro(&["import", "."]).exits(2).says(&[".: can't be read: Is a directory"]);
    home.repro(&["import"]).exits(2).says(&["<FILE>"]);
    assert!(home.records().is_empty());
}

#[test]
fn a_file_of_any_size_and_shape_ends_soon() {
    const MIB: usize = 1024 * 1024;
    let home = Home::new();
    let import = |bytes: &[u8], reason: &str| {
        home.write("large.txt", bytes);
        home.repro(&["import", "large.txt"]).exits(2).says(&[reason]);
    };
    let row = |number: usize| format!("{number:4} - {}    0.000s\n", "x".repeat(60));
    import(&vec![b'\n'; 4 * MIB], "line 1: no row of speedtest1");
    import(&vec![b'x'; 4 * MIB], "line 1: no row of speedtest1");
    import(" 100 - ".repeat(MIB / 7).as_bytes(), NOT_OURS);
    import(row(100).trim_end().repeat(2 * MIB / 77).as_bytes(), NOT_OURS);
    import(row(100).repeat(2).as_bytes(), "line 2: row 100 appears twice");
    let many: String = (0..3_000).map(|index| row(if index % 2 == 0 { 100 } else { 999 })).collect();
    import(many.as_bytes(), "line 2001: more than 2000 rows in one run");
    let saved = fs::read(fixtures().join("star-app.txt")).unwrap();
    import(&saved.repeat(1_001), "line 11001: more than 1000 runs in one file; split it");
    import(
        &vec![b'\n'; 64 * MIB + 1],
        "large.txt: larger than 67108864 bytes; save only the runs to a smaller file",
    );
}

/// Outputs that others published, and what each leads to: a record with this TOTAL, a partial one, or a
/// refusal.
#[test]
fn published_outputs_come_out_as_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/speedtest1-outputs");
    if !folder.is_dir() {
        // They are not part of the project, so a checkout without them is complete.
        return println!("skipped: {}: no published outputs beside the project", folder.display());
    }
    let whole =
        |first, last, rows, total: &'static [i64]| Whole { lines: (first, last), rows, totals: total };
    let partial = |first, last, rows, reason| Partial { lines: (first, last), rows, reason };
    let table: &[(&str, Expect)] = &[
        ("02-", Refused(4, SIDE_BY_SIDE)),
        ("03-", whole(21, 54, 31, &[3723])),
        ("05-", whole(168, 200, 31, &[60388])),
        ("07-", partial(15, 27, 11, "cut short in row main/180: no TOTAL")),
        ("11-", Refused(4, "is a row of a published table")),
        ("12-", Refused(3, NO_ROWS)),
        ("14-", Refused(2, NO_ROWS)),
        ("16-", Refused(2, NOT_OURS)),
        ("18-", Refused(2, NOT_OURS)),
        ("19-", Refused(2, NOT_OURS)),
        ("20-", Refused(2, NOT_OURS)),
        ("21-", Refused(3, NOT_OURS)),
        ("22-", Refused(2, NOT_OURS)),
        ("24-", Refused(2, NOT_OURS)),
        ("27-", Refused(2, NOT_OURS)),
        ("29-", Refused(4, NOT_OURS)),
        ("31-", Refused(2, "is a row of a published table")),
        ("L01", whole(2, 25, 23, &[87])),
        ("L03", whole(2, 46, 27, &[117])),
        ("L05", whole(2, 30, 27, &[63])),
        ("L07", whole(2, 17, 14, &[420])),
        ("L09", whole(2, 36, 32, &[111])),
        ("L10", partial(2, 71, 63, "cut short at the beginning of testset trigger: no TOTAL")),
        ("L13", partial(2, 14, 11, "cut short in row main/180: no TOTAL")),
        ("L15", Refused(4, NO_TIMES)),
        ("L17", whole(2, 35, 32, &[82_199_400])),
        ("L19", Refused(2, "the run failed before its first row ended: Cannot open database file")),
        ("L21", whole(2, 36, 32, &[111])),
        ("L23", whole(2, 36, 32, &[111])),
    ];
    for file in list(&folder).iter().filter(|path| path.extension().is_some_and(|ending| ending == "txt")) {
        let name = file.file_name().unwrap().to_str().unwrap();
        let (_, expect) = table
            .iter()
            .find(|(prefix, _)| name.starts_with(prefix))
            .unwrap_or_else(|| panic!("{name}: nothing is said of this file"));
        judge(file, *expect);
    }
}

/// Outputs in which others found a fault of this program, and what each leads to.
#[test]
fn reported_outputs_come_out_as_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/outside-cases");
    if !folder.is_dir() {
        return println!("skipped: {}: no reported outputs beside the project", folder.display());
    }
    let whole = |last, rows, totals| Whole { lines: (1, last), rows, totals };
    let partial = |last, rows, reason| Partial { lines: (1, last), rows, reason };
    let table = [
        ("01-", partial(31, 31, "cut short after row main/990: no TOTAL")),
        ("02-", partial(31, 31, "cut short after row main/990: no TOTAL")),
        ("04-", whole(36, 32, &[22])),
        ("05-", whole(96, 85, &[92])),
        ("06-", partial(13, 11, "out of memory in row main/180")),
        ("07-", whole(38, 32, &[22])),
        ("08-", partial(35, 32, "cut short after row main/990: no TOTAL")),
        ("09-", whole(36, 32, &[22])),
        ("10-", whole(9, 5, &[1])),
        ("15-", partial(8, 6, "killed by signal 9 after row main/142: Killed")),
    ];
    let files = list(&folder);
    for (prefix, expect) in table {
        let is = |path: &&PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(prefix);
        judge(files.iter().find(is).unwrap_or_else(|| panic!("{prefix}: no such file")), expect);
    }
}
