//! The real tool, run through the program: what a record contains, and what is made of it.

mod common;

use common::{Home, array, assert_runs_are_whole, key, keys, list, load, runs, steps, why};
use serde_json::{Value, json};
use std::fs;

/// The number of rows of the default testsets.
const ROWS: usize = 83;
const HASH_OF_SIZE_1: &str = "532742 20bdfdfbf077c5edc3991d3a017eac22404ca44031423751";

#[test]
fn a_record_holds_every_step_of_every_run() {
    let home = Home::new();
    let done = home.repro(&["--size", "1", "--runs", "5", "--json", "-"]).exits(0);
    let record = done.json();
    let kept = home.records();
    assert_eq!(kept.len(), 1);
    assert_eq!(load(&kept[0]), record);
    assert!(done.err.ends_with(&format!("record: {}\n", kept[0].display())), "{}", done.err);
    assert!(
        done.err.contains("run 5 of 5 · starting"),
        "plain lines where there is no terminal: {}",
        done.err
    );

    assert_eq!((&record["schema"], &record["study"]), (&json!(2), &json!("speedtest1")));
    assert_eq!(record["parameters"], json!({"database": "temporary", "size": 1, "testset": "mix1"}));
    assert_eq!(
        record["plan"],
        json!({"warmup": 1, "runs": 5, "max_runs": 30, "cooldown_ms": 0}),
        "no `until` and no `cpu`: unknown is absent"
    );
    assert_eq!(record.get("partial"), None);
    assert!(record["finished"].as_str() > record["started"].as_str());
    assert_eq!(record["storage"]["directory"], json!(home.temporary()));
    assert_eq!(record["legs"][0]["answer"], json!({"verdict": "right", "found": HASH_OF_SIZE_1}));

    assert_eq!(steps(&record).len(), ROWS);
    assert_eq!(runs(&record).len(), 6);
    assert_runs_are_whole(&record, ROWS);
    for (index, run) in runs(&record).iter().enumerate() {
        assert_eq!(run.get("warmup"), (index == 0).then_some(&json!(true)), "run {}", index + 1);
        assert_eq!(run.get("rejected"), None);
        assert!(run["resources"]["user_us"].as_u64() > Some(0));
        assert!(run["wall_ns"].as_u64() > Some(0));
    }
    // The peak is read when TOTAL appears; on a busy machine the tool may have ended by then, and the peak
    // stays unknown.
    let peaks: Vec<u64> =
        runs(&record).iter().filter_map(|run| run["resources"]["peak_memory_bytes"].as_u64()).collect();
    assert!(peaks.iter().all(|peak| (1 << 20..1 << 30).contains(peak)), "{peaks:?}");
    if peaks.is_empty() {
        println!("too busy a machine to see the peak memory of any run");
    }
    let mut seen = 0;
    for step in steps(&record) {
        let samples = array(step, "samples");
        let numbers: Vec<_> = samples.iter().map(|sample| sample["run"].as_u64().unwrap()).collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5, 6], "{}", key(step));
        // The time is absent where both ends of a row came in one piece, but never zero.
        let observed = samples.iter().filter_map(|sample| sample["measure"].get("elapsed_ns"));
        assert!(observed.clone().all(|ns| ns.as_u64().is_some_and(|ns| ns > 0)), "{}", key(step));
        seen += observed.count();
    }
    assert!(seen > 0, "no row was observed");
    let mut testsets: Vec<_> =
        steps(&record).iter().map(|step| step["name"].as_str().unwrap().split_once('/').unwrap().0).collect();
    testsets.dedup();
    assert_eq!(testsets, ["main", "orm", "cte", "json", "fp", "parsenumber", "rtree", "star", "app"]);
    let keys = keys(&record);
    let distinct: std::collections::BTreeSet<_> = keys.iter().collect();
    assert_eq!(distinct.len(), ROWS);
    assert_eq!((keys[0].as_str(), keys[ROWS - 1].as_str()), ("main/100", "app/110"));
    assert!(keys.contains(&"star/130#2".to_string()));
    assert_eq!(list(&home.temporary()), Vec::<std::path::PathBuf>::new());
}

#[test]
fn figures_come_as_csv_and_markdown() {
    let home = Home::new();
    let csv = home.repro(&["--size", "1", "--runs", "1", "--record", "r.json", "--csv", "-"]).exits(0).out;
    let mut lines = csv.lines();
    assert!(lines.next().unwrap().starts_with("# repro 0."), "{csv}");
    assert_eq!(
        lines.next(),
        Some(
            "leg,phase,name,run,counted,operations,reported_ms,elapsed_ns,p50_ns,p95_ns,p99_ns,p999_ns,max_ns,errors,busy"
        )
    );
    let rows: Vec<&str> = lines.collect();
    assert_eq!(rows.len(), 2 * ROWS);
    assert!(
        rows[0].starts_with("native,main/100,500 INSERTs into table with no index,1,false,,"),
        "{}",
        rows[0]
    );
    assert_eq!(rows.iter().filter(|row| row.contains(",true,")).count(), ROWS);

    home.repro(&["show", "r.json", "--markdown", "-"]).exits(0).prints(&[
        "| TOTAL",
        "500 INSERTs into table with no index",
        "too few for an interval (6 are needed)",
        "Made by `",
    ]);
    home.repro(&["show", "r.json", "--csv", "c.csv", "--json", "j.json", "--markdown", "m.md"])
        .exits(0)
        .prints(&["TOTAL"]);
    assert_eq!(fs::read_to_string(home.file("c.csv")).unwrap(), csv);
    assert_eq!(fs::read(home.file("j.json")).unwrap(), fs::read(home.file("r.json")).unwrap());
    assert!(fs::read_to_string(home.file("m.md")).unwrap().contains("| TOTAL"));
}

#[test]
fn the_two_spellings_do_the_same() {
    let home = Home::new();
    home.repro(&["run", "speedtest1", "--size", "1", "--runs", "1", "--record", "r.json", "-q"])
        .exits(0)
        .prints(
            &[
                "speedtest1 · SQLite 3.53.4",
                "database temporary · size 1 · testset mix1",
                "1 counted run after 1 warm-up",
                HASH_OF_SIZE_1,
                "main/",
            ]
            .iter()
            .filter(|word| **word != "main/")
            .collect::<Vec<_>>(),
        );
    assert_eq!(keys(&load(&home.file("r.json"))).len(), ROWS);
    assert!(home.records().is_empty(), "--record takes the place of the folder of records");
    home.repro(&["--size", "1", "--runs", "1", "--no-record", "--no-answer-check", "-q"])
        .exits(0)
        .prints(&["answers not checked: the check was skipped"]);
    assert!(home.records().is_empty());
}

#[test]
fn verification_inside_the_runs_adds_two_steps() {
    let home = Home::new();
    let plain = keys(&home.measure("plain.json", &["--runs", "1"]));
    let record = home.measure("verified.json", &["--runs", "1", "--verify"]);
    let added: Vec<String> = keys(&record).into_iter().filter(|key| !plain.contains(key)).collect();
    assert_eq!(added, ["rtree/111", "rtree/121"]);
    assert_runs_are_whole(&record, ROWS + 2);
    assert_eq!(record["legs"][0]["answer"]["verdict"], "right");
}

#[test]
fn statistics_go_into_the_runs() {
    let home = Home::new();
    let record = home.measure("r.json", &["--runs", "1", "--stats"]);
    for run in runs(&record) {
        let statistics = run["detail"]["statistics"].as_object().unwrap();
        assert!(statistics["Memory Used (bytes)"].as_str().unwrap().contains("max"), "{statistics:?}");
    }
    let options = record["legs"][0]["engine"]["compile_options"].as_array().unwrap();
    assert!(options.contains(&"ENABLE_RTREE".into()), "{options:?}");
}

#[test]
fn testsets_without_headers_are_told_apart() {
    let home = Home::new();
    let record = home.measure("r.json", &["--runs", "1", "--testset", "star,app"]);
    let expected =
        ["star/100", "star/110", "star/120", "star/130", "star/130#2", "star/999", "app/100", "app/110"];
    assert_eq!(keys(&record), expected);
    assert_runs_are_whole(&record, expected.len());
    let answer = &record["legs"][0]["answer"];
    assert_eq!(answer["verdict"], "not-checked");
    assert_eq!(answer["reason"], "the testsets star,app put no results into the verification hash");
}

#[test]
fn the_database_can_stay_in_memory() {
    let home = Home::new();
    let record = home.measure("r.json", &["--runs", "1", "--memdb"]);
    assert_eq!(record["parameters"]["database"], "memory");
    assert_eq!(record.get("storage"), None);
    assert_eq!(record["legs"][0]["answer"]["verdict"], "right");
    assert_runs_are_whole(&record, ROWS);
}

#[test]
fn a_named_database_goes_again_unless_it_is_kept() {
    let home = Home::new();
    let names = || -> Vec<String> {
        let name = |path: &std::path::PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
        list(&home.work()).iter().map(name).collect()
    };
    let options = ["--runs", "1", "--journal", "wal", "--database", "t.db"];
    let record = home.measure("r.json", &options);
    assert_eq!(record["parameters"]["database"], "file");
    assert_eq!(record["parameters"]["journal"], "wal");
    assert_eq!(record["storage"]["directory"], ".");
    assert_runs_are_whole(&record, ROWS);
    assert_eq!(names(), ["r.json"]);
    home.measure("s.json", &[&options[..], &["--keep-database"]].concat());
    assert!(fs::read(home.file("t.db")).unwrap().starts_with(b"SQLite format 3\0"));
    assert_eq!(names(), ["r.json", "s.json", "t.db"]);
}

#[test]
fn runs_go_on_until_the_interval_is_narrow_or_the_cap_is_reached() {
    let home = Home::new();
    let counted = |record: &Value| runs(record).len() - 1;
    let record = home.measure("a.json", &["--until-ci", "50%", "--max-runs", "6"]);
    assert!((5..=6).contains(&counted(&record)), "{}", counted(&record));
    assert_eq!((&record["plan"]["until"], &record["plan"]["max_runs"]), (&json!(0.5), &json!(6)));
    // At 50 ms on a clock of whole milliseconds nothing is as regular as this, so the cap decides.
    let record = home.measure("b.json", &["--until-ci", "0.001%", "--max-runs", "6"]);
    assert_eq!(counted(&record), 6);
    assert_eq!(record.get("partial"), None);
}

#[test]
fn the_tool_is_bound_to_a_cpu() {
    let home = Home::new();
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let first: u64 = list.trim().split(['-', ',']).next().unwrap().parse().unwrap();
    let record = home.measure("r.json", &["--runs", "1", "--pin", &first.to_string()]);
    assert_eq!(record["plan"]["cpu"], json!(first));
    assert_runs_are_whole(&record, ROWS);
}

#[test]
fn a_testset_that_fails_leaves_a_partial_record() {
    let home = Home::new();
    let said = "exit status 1: SQL error: no such table: t1";
    let base = ["--size", "1", "--runs", "1", "--testset", "trigger"];
    home.repro(&[&base[..], &["--record", "a.json"]].concat()).exits(3).says(&[said]);
    let record = load(&home.file("a.json"));
    assert_eq!(why(&record, "partial"), format!("the answer check failed: {said}"));
    assert!(runs(&record).is_empty());

    let done = home.repro(&[&base[..], &["--record", "b.json", "--no-answer-check"]].concat());
    done.exits(3).says(&[said, "record: b.json"]).prints(&[
        &format!("PARTIAL: {said}"),
        "0 counted runs",
        &format!("run 1 does not count: {said}"),
    ]);
    let record = load(&home.file("b.json"));
    assert_eq!(why(&record, "partial"), said);
    assert_eq!(runs(&record).len(), 1);
    assert_eq!(why(&runs(&record)[0], "rejected"), said);
    home.repro(&["show", "b.json"]).exits(0).prints(&["PARTIAL: exit status 1"]);
    home.repro(&["cite", "b.json"]).exits(1).prints(&[
        "NOT CITATION GRADE",
        "measured, and whole: partial: exit status 1",
        "no counted run has a TOTAL, so there is no figure to cite",
    ]);
    home.repro(&["compare", "b.json", "b.json"])
        .exits(2)
        .says(&["one of the records has no run that counts"]);
}

#[test]
fn one_run_is_not_citable() {
    let home = Home::new();
    home.measure("once.json", &["--runs", "1"]);
    let said = home.repro(&["cite", "once.json"]).exits(1).out;
    assert!(said.starts_with("NOT CITATION GRADE: "), "{said}");
    assert!(!said.contains("citation grade: every"), "{said}");
    for line in [
        "  met      measured, and whole: the plan was carried out",
        "  met      TOTAL adds up: in every run, to the millisecond",
        "  open     at least 6 runs: 1 counted run",
        "  open     interval within ±1 %: TOTAL: too few runs for an interval",
        "speedtest1 --size 1, SQLite 3.53.4: TOTAL ",
        "@misc{once,",
        "note   = {Not citation grade. ",
        "author = {{repro ",
        "SHA-256 of the record: ",
    ] {
        assert!(said.lines().any(|said| said.contains(line)), "no `{line}` in {said}");
    }
}

/// Returns the record with the times of the last run in every run.
fn steady(record: &Value) -> Value {
    let mut record = record.clone();
    let leg = &mut record["legs"][0];
    let runs = leg["runs"].as_array_mut().unwrap();
    let total = runs.last().unwrap()["total_ms"].clone();
    runs.iter_mut().for_each(|run| run["total_ms"] = total.clone());
    for step in leg["phases"].as_array_mut().unwrap() {
        let samples = step["samples"].as_array_mut().unwrap();
        let ms = samples.last().unwrap()["measure"]["reported_ms"].clone();
        samples.iter_mut().for_each(|sample| sample["measure"]["reported_ms"] = ms.clone());
    }
    record
}

/// Returns the record with every time multiplied.
fn scaled(record: &Value, factor: i64) -> Value {
    let mut record = record.clone();
    let leg = &mut record["legs"][0];
    for run in leg["runs"].as_array_mut().unwrap() {
        run["total_ms"] = json!(run["total_ms"].as_i64().unwrap() * factor);
    }
    for step in leg["phases"].as_array_mut().unwrap() {
        for sample in step["samples"].as_array_mut().unwrap() {
            let ms = sample["measure"]["reported_ms"].as_i64().unwrap();
            sample["measure"]["reported_ms"] = json!(ms * factor);
        }
    }
    record
}

#[test]
fn records_of_the_same_work_are_compared() {
    let home = Home::new();
    let a = home.measure("a.json", &["--runs", "6"]);
    home.measure("b.json", &["--runs", "6"]);
    let table = home.repro(&["compare", "a.json", "b.json"]).exits(0).out;
    assert!(table.contains("main/100") && table.contains("not interleaved"), "{table}");
    let verdict = table.lines().find(|line| line.starts_with("TOTAL: A / B is ")).unwrap();
    let words = ["no difference shown", "A slower", "A faster", "undecided: no more than drift"];
    assert!(words.iter().any(|word| verdict.contains(&format!(": {word} (the smallest"))), "{verdict}");

    // Compared with itself it shows no difference, and a hundred times the time exceeds any limit.
    // Its runs are made alike, since on a busy machine their interval alone may cross the limit.
    home.write("steady.json", steady(&a).to_string());
    home.repro(&["compare", "steady.json", "steady.json", "--fail-over", "100%"]).exits(0).prints(&[
        "TOTAL: A / B is 1.000",
        ": no difference shown",
        "limit +100.0 %: no total of A exceeds it",
    ]);
    home.write("slow.json", scaled(&a, 100).to_string());
    home.repro(&["compare", "slow.json", "a.json", "--fail-over", "100%"]).exits(1).prints(&[
        "TOTAL: A / B is 100.000",
        ": A slower",
        "limit +100.0 %: A exceeds it",
    ]);
    home.repro(&["compare", "a.json", "slow.json", "--fail-over", "1%"]).exits(0).prints(&[": A faster"]);
    home.repro(&["compare", "a.json", "b.json", "--fail-over", "1000%"])
        .exits(2)
        .says(&["--fail-over", "above 0 and up to 100"]);
}

#[test]
fn records_of_other_work_are_not_compared() {
    let home = Home::new();
    home.measure("one.json", &["--runs", "1"]);
    home.repro(&["--size", "2", "--runs", "1", "-q", "--record", "two.json"]).exits(0);
    home.repro(&["compare", "one.json", "two.json"])
        .exits(2)
        .says(&["one.json and two.json: the records did not measure the same work: --size 1 and 2"]);
    home.measure("main.json", &["--runs", "1", "--testset", "main"]);
    home.repro(&["compare", "one.json", "main.json"]).exits(2).says(&["--testset mix1 and main"]);
    home.repro(&["compare", "one.json", "main.json", "--anyway"]).exits(0).prints(&[
        "NOT THE SAME WORK: --testset mix1 and main",
        "a sum of other phases",
        "there is no total to compare",
    ]);
    // What is not decided does not pass.
    for other in ["one.json", "main.json"] {
        home.repro(&["compare", "one.json", other, "--anyway", "--fail-over", "50%"])
            .exits(4)
            .prints(&["limit +50.0 %: undecided"]);
    }
    // Nor does a wrong answer, whatever its times.
    let mut wrong = load(&home.file("one.json"));
    wrong["legs"][0]["answer"] = json!({ "verdict": "wrong", "found": "1 a", "expected": "1 b" });
    home.write("wrong.json", wrong.to_string());
    home.repro(&["compare", "wrong.json", "one.json"])
        .exits(2)
        .says(&["the answers of native in A are wrong"]);
    // A setting may be what is compared, but it is named.
    home.measure("nosync.json", &["--runs", "1", "--nosync"]);
    home.repro(&["compare", "nosync.json", "one.json"])
        .exits(0)
        .prints(&["what differs: --nosync true and its default"]);
    home.repro(&["compare", "one.json", "one.json", "--json", "c.json", "--csv", "-"])
        .exits(0)
        .prints(&["key,name,unit,a,b,ratio,interval,would_show,verdict"]);
    // What one session saw of another is no drift, but a busy machine is noise.
    assert!(load(&home.file("c.json"))["drift"].as_f64() >= Some(1.0));
    home.repro(&["compare", "one.json", "one.json"]).exits(0).prints(&["the sessions overlapped in time"]);
}

#[test]
fn a_captured_baseline_is_a_reference() {
    let home = Home::new();
    fs::create_dir(home.file("out")).unwrap();
    let options = ["capture", "base", "--dir", "out", "--size", "1", "--runs", "3", "--apart", "0", "-q"];
    home.repro(&options).exits(1).prints(&[
        "NOT CITATION GRADE",
        "open     two sessions: 0 s between two sessions; at least 600 s are needed",
        "met      number of runs fixed: the user fixed it; attempt 1 at this work on this machine",
        "@misc{base,",
        "written: out/base.json, out/base.csv, out/base.toml",
    ]);
    let names: Vec<_> =
        list(&home.file("out")).iter().map(|path| path.file_name().unwrap().to_owned()).collect();
    assert_eq!(names, ["base.csv", "base.json", "base.toml"]);
    let record = load(&home.file("out/base.json"));
    assert_runs_are_whole(&record, ROWS);
    let sessions: Vec<_> = runs(&record).iter().map(|run| run["session"].as_u64().unwrap_or(1)).collect();
    assert_eq!(sessions, [1, 1, 1, 1, 2, 2, 2, 2], "a warm-up and three runs each");
    assert_eq!(
        (&record["capture"], array(&record, "sessions").len()),
        (&json!({"pilot_runs": 0, "attempt": 1}), 2)
    );
    let figures = fs::read_to_string(home.file("out/base.csv")).unwrap();
    assert_eq!(figures.lines().count(), 1 + ROWS + 1);
    assert_eq!(figures.lines().next(), Some("key,step,value,unit,low,high,runs"));

    let verify = ["verify", "out/base.csv", "--record", "out/base.json"];
    let report = home.repro(&[&verify[..], &["--json", "-"]].concat()).exits(4).json();
    let judged: Vec<&Value> = array(&report[0], "figures").iter().map(|x| &x["verdict"]).collect();
    assert_eq!(judged.len(), ROWS + 1);
    let count = |verdict: &str| judged.iter().filter(|found| ***found == verdict).count();
    assert_eq!((count("differs"), count("missing")), (0, 0));
    let checks: Vec<&Value> = array(&report[0], "checks").iter().map(|x| &x["verdict"]).collect();
    assert_eq!(checks, ["reproduced", "reproduced"]);
    assert_eq!(array(&report[0], "claims").len(), 0, "that TOTAL adds up reproduces nothing");
    assert_eq!(report[0]["verdict"], "undecided");
    assert_eq!(count("reproduced") + count("undecided") + count("not-comparable"), judged.len());
    assert!(array(&report[0], "work").iter().all(|check| check["same"] == true), "{}", report[0]["work"]);
    home.repro(&verify).exits(4).prints(&[
        " reproduced, 0 differ, 0 missing, ",
        "check holds     total-is-the-sum: ",
        "base: undecided: ",
    ]);
    home.repro(&[&verify[..], &["--strict"]].concat()).exits(4);

    home.repro(&["list", "--references", "out"])
        .exits(0)
        .prints(&["out/base.csv          speedtest1: 84 figures, 2 claims"]);
    let before = fs::read(home.file("out/base.json")).unwrap();
    home.repro(&options).exits(2).says(&["out/base.json: already exists", "--force"]);
    assert_eq!(fs::read(home.file("out/base.json")).unwrap(), before);
    home.repro(&[&options[..], &["--force"]].concat()).exits(1);
    assert_ne!(fs::read(home.file("out/base.json")).unwrap(), before);
}

#[test]
fn a_reference_is_measured_and_judged() {
    let home = Home::new();
    home.write(
        "r.csv",
        "key,step,value,unit\nmain/100,500 INSERTs into table with no index,1,s\nmain/980,PRAGMA integrity_check,1,s\n",
    );
    home.write(
        "r.toml",
        "study = 'speedtest1'\ntitle = 'r'\nparameters = { size = 1, testset = 'main' }\n\
         [citation]\nauthor = 'a'\ntitle = 't'\n\
         [engine]\nsqlite_version = '3.53.4'\nflags = ['-O3', '-DSQLITE_ENABLE_RTREE']\n\
         [[claim]]\nid = 'sum'\ntext = 'TOTAL adds up'\nkind = 'value'\nquantity = 'total-minus-sum'\nequals = 0\n\
         [[claim]]\nid = 'never'\ntext = 'a claim that fails'\nkind = 'value'\nquantity = 'testsets'\nequals = 2\n",
    );
    let report = home.repro(&["verify", "r.csv", "--runs", "5", "-q", "--json", "-"]).exits(1).json();
    assert_eq!(report[0]["runs"], 5);
    let verdicts: Vec<_> = array(&report[0], "checks").iter().map(|claim| &claim["verdict"]).collect();
    assert_eq!(verdicts, ["reproduced", "differs"]);
    assert_eq!(home.records().len(), 1, "what was measured is kept");
    assert_eq!(load(&home.records()[0])["parameters"]["testset"], "main");
}

/// Cites a changed copy of a record.
fn cite_changed(home: &Home, record: &Value, change: impl FnOnce(&mut Value)) -> common::Done {
    let mut copy = record.clone();
    change(&mut copy);
    home.write("changed.json", serde_json::to_string_pretty(&copy).unwrap());
    home.repro(&["cite", "changed.json"]).exits(1)
}

#[test]
fn a_record_is_checked_against_what_the_tool_printed() {
    let home = Home::new();
    home.repro(&["--size", "1", "--testset", "main", "--runs", "6", "--record", "r.json"]).exits(0);
    home.repro(&["cite", "r.json"]).prints(&[
        "met      raw output agrees: read again, every run gives the samples of the record",
        "met      unchanged file",
        "met      right answers",
    ]);
    let record = load(&home.file("r.json"));
    let cite = |change: fn(&mut Value)| cite_changed(&home, &record, change);
    // The text of the file, not its meaning, is what the hash is of.
    cite(|_| ()).prints(&["met      raw output agrees", "open     unchanged file"]);
    cite(|record| {
        let leg = &mut record["legs"][0];
        let run = leg["runs"][2]["number"].clone();
        let samples = leg["phases"][0]["samples"].as_array_mut().unwrap();
        let sample = samples.iter_mut().find(|sample| sample["run"] == run).unwrap();
        let ms = &mut sample["measure"]["reported_ms"];
        *ms = json!(ms.as_i64().unwrap() + 5);
        leg["runs"][2]["total_ms"] = json!(leg["runs"][2]["total_ms"].as_i64().unwrap() + 5);
    })
    .prints(&["open     raw output agrees: run 3: printed main/100 as", "met      TOTAL adds up"]);
    cite(|record| drop(record["legs"][0]["runs"][3].as_object_mut().unwrap().remove("output")))
        .prints(&["unknown  raw output agrees: the record does not hold what run 4 printed"]);
    cite(|record| record["legs"][0]["runs"][3]["output"] = json!("hello\n"))
        .prints(&["open     raw output agrees: run 4 printed what can't be read"]);
    cite(|record| record["legs"][0]["engine"]["source_id"] = json!("2026-01-01 00:00:00 0000"))
        .prints(&["open     raw output agrees: run 2: printed the source id 2026-07-24"]);
    cite(|record| record["legs"][0]["answer"]["found"] = json!("1 23")).prints(&[
        "open     right answers: 1 23 is not the known answer",
        "open     raw output agrees: the check of the answers did not print the answer in the record",
    ]);
    cite(|record| {
        record["legs"][0]["runs"][4]["rejected"] = json!({ "cause": "error", "message": "it failed" })
    })
    .prints(&["open     sound runs: run 5 was rejected: it failed"]);
}

#[test]
fn times_that_no_run_takes_are_refused() {
    let home = Home::new();
    home.repro(&["--size", "1", "--testset", "star", "--runs", "1", "--record", "r.json"]).exits(0);
    let mut record = load(&home.file("r.json"));
    record["legs"][0]["phases"][0]["samples"][1]["measure"]["reported_ms"] = json!(i64::MAX);
    home.write("long.json", record.to_string());
    home.repro(&["show", "long.json"])
        .exits(2)
        .says(&["long.json", "native star/100, run 2: no run takes that long"]);
}

#[test]
fn a_pilot_fixes_the_number_of_runs() {
    let home = Home::new();
    let capture = |name: &str| {
        let words = ["capture", name, "--size", "1", "--testset", "main", "--apart", "0"];
        home.repro(&words).exits(1).says(&["pilot of 6 runs", "session 1 of 2, ", "session 2 begins in 0 s"])
    };
    capture("first").prints(&["a pilot of 6 runs, which are not in the record, fixed it; attempt 1"]);
    let record = load(&home.file("first.json"));
    let counted = |session: u64| {
        let of =
            |run: &&Value| run.get("warmup").is_none() && run["session"].as_u64().unwrap_or(1) == session;
        runs(&record).iter().filter(of).count()
    };
    assert!(counted(1) == counted(2) && (5..=30).contains(&counted(1)), "{} and {}", counted(1), counted(2));
    assert_eq!(record["plan"]["runs"], 2 * counted(1));
    // Who captures until a figure is fine is told so.
    capture("second").prints(&["attempt 2 at this work on this machine"]);
    let stops = ["capture", "x", "--size", "1", "--until-ci", "1%"];
    home.repro(&stops).exits(2).says(&["--until-ci: capture fixes the number of runs"]);
}

#[test]
fn any_study_is_captured() {
    let home = Home::new();
    let words = [
        "capture",
        "sql",
        "--apart",
        "0",
        "-q",
        "serverless",
        "--leg",
        "embedded",
        "--scale",
        "1/100",
        "--runs",
        "3",
    ];
    home.repro(&words).exits(1).prints(&["NOT CITATION GRADE", "written: ./sql.json, ./sql.csv, ./sql.toml"]);
    let record = load(&home.file("sql.json"));
    assert_eq!((&record["study"], array(&record, "sessions").len()), (&json!("serverless"), 2));
    home.repro(&["verify", "sql.csv", "--record", "sql.json"]).exits(4);
    let mixed = ["capture", "x", "--size", "5", "serverless"];
    home.repro(&mixed).exits(2).says(&["--size: options of serverless stand behind its name"]);
}

#[test]
fn what_can_not_be_compared_is_not_measured() {
    let home = Home::new();
    home.write("old.csv", "key,step,value,unit\nmain/100,500 INSERTs into table with no index,0.010,s\n");
    let toml = |version: &str| {
        format!(
            "study = 'speedtest1'\ntitle = 'old'\n[citation]\nauthor = 'x'\ntitle = 'y'\n[engine]\n\
             sqlite_version = '{version}'\nflags = []\n[parameters]\nsize = 1\nrepeat = 1\n"
        )
    };
    home.write("old.toml", toml("3.40.1"));
    let done = home.repro(&["verify", "old.csv"]).exits(3);
    done.says(&["nothing is measured: SQLite version (published 3.40.1, here 3.53.4)"]);
    assert!(home.records().is_empty());
    // A default that is spelled out is a default.
    home.write("old.toml", toml("3.53.4"));
    home.repro(&["verify", "old.csv", "-q"]).exits(4).prints(&["conditions agree"]);
}
