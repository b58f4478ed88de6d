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
    /// One record of one run that does not count, for a reason that begins like this.
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
    // These are runs that did not end.
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
    ("foreign-line.txt", Refused(5, NOT_HERE)),
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
    ("changing-prefix.txt", Refused(6, NOT_HERE)),
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
    let origin = json!({ "file": name, "first_line": lines.0, "last_line": lines.1 });
    assert_eq!(record["imported"], origin);
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
    assert!(why(run, "rejected").starts_with(reason), "{run}");
    assert_eq!(record["partial"], run["rejected"]);
    assert!(run.get("total_ms").is_none(), "{run}");
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
    assert_eq!(record["parameters"], json!({ "size": 1 }));
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
    let hash = "0 0e12171d242c353f364c455d6c648193a69cc0d6ed18f85c";
    assert_eq!(wrapped["legs"][0]["answer"]["found"], hash);
    let engine = &wrapped["legs"][0]["engine"];
    assert_eq!(engine["source_id"], "2026-07-24 19:02:57 bf7c7f30031888f4e796e429ab39");
}

#[test]
fn what_the_output_does_not_say_is_left_open() {
    let old = record("no-banner.txt");
    assert!(old["legs"][0]["engine"].get("sqlite_version").is_none());
    assert_eq!(old["parameters"], json!({ "size": 20 }));
    // Each testset of such a list has a scale that the output does not show.
    assert_eq!(record("scaled-testsets.txt")["parameters"], json!({}));
    // A fence ends the output: the note below it is not a statistic.
    assert!(runs(&record("markdown-fence.txt"))[0].get("detail").is_none());
}

#[test]
fn doubtful_readings_are_flagged() {
    let flags = |name| runs(&record(name))[0]["flags"].clone();
    assert_eq!(flags("unpadded.txt"), json!([{ "flag": "unpadded-times" }]));
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
