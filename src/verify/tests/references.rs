//! Tests of references as files.

use super::{key, reference};
use crate::record::{Answer, Engine, Leg, Measure, Plan, Record, Run};
use crate::study::registry;
use crate::study::serverless::STEPS;
use crate::verify::Reference;
use crate::verify::Verdict::{Differs, NotComparable, Reproduced};
use crate::verify::comparison;
use crate::verify::reference::Text;
use crate::verify::verdict::Report;
use serde_json::json;
use std::fs;

const CSV: &str = "key,step,value,unit\nsqld/insert-1/time,x,4134,ms\nsqld/insert-1/ratio,x,20.4,x\n";
const TOML: &str = "study = 'serverless'\ntitle = 'r'\nparameters = { protocol = 'hrana3' }\n\
    [citation]\nauthor = 'a'\ntitle = 't'\n[engine]\nflags = []\n";

/// Writes a reference to files and reads it.
fn loaded(csv: &str, toml: &str) -> Result<Reference, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ref.csv");
    fs::write(&path, csv).unwrap();
    fs::write(path.with_extension("toml"), toml).unwrap();
    Text::read(&path)
        .and_then(|text| Reference::parse(&text, registry::shape_of))
        .map_err(|error| format!("{error:#}"))
}

#[test]
fn a_version_is_optional() {
    let reference = loaded(CSV, TOML).unwrap();
    assert_eq!(reference.about.engine.sqlite_version, None);
    let parameters = reference.parameters.clone();
    let names: Vec<&str> = parameters.keys().map(String::as_str).collect();
    assert_eq!(names, ["protocol", "scale", "seed"]);
    let ratio = &reference.figures[1];
    assert_eq!((ratio.line, ratio.value, ratio.error), (3, 20.4, 0.1));
}

#[test]
fn figures_that_the_study_does_not_have() {
    let with = |line: &str| loaded(&format!("{CSV}{line}\n"), TOML).unwrap_err();
    for (line, reason) in [
        (
            "sqlite3/insert-1/time,x,1,ms",
            "ref.csv: line 4: `sqlite3/insert-1/time`: unknown leg `sqlite3`; expected one of embedded, sqld, ",
        ),
        (
            "sqld/insert-5/time,x,1,ms",
            "ref.csv: line 4: `sqld/insert-5/time`: unknown phase `insert-5`; expected one of create-schema, ",
        ),
        (
            "sqld/insert-1/cost,x,1,ms",
            "ref.csv: line 4: `sqld/insert-1/cost`: unknown metric `cost`; expected one of rate, time, ratio, ",
        ),
        (
            "embedded/insert-1/ratio,x,1,x",
            "ref.csv: line 4: `embedded/insert-1/ratio`: `embedded` is the baseline of all ratios",
        ),
        (
            "sqld/insert-1/memory,x,1,MB",
            "ref.csv: line 4: `sqld/insert-1/memory`: memory is known only for a whole leg",
        ),
        (
            "main/100,x,1,s",
            "ref.csv: line 4: `main/100`: a figure of serverless has the form LEG/PHASE/METRIC",
        ),
        ("sqld/insert-10/ratio,x,9.9,ms", "ref.csv: line 4: unit `ms`: a ratio is in x"),
        ("sqld/insert-10/ratio,x,9.9×,x", "ref.csv: line 4: `9.9×` is not a figure"),
        ("sqld/total/memory,x,35,ms", "ref.csv: line 4: unit `ms`: memory and files are in MB"),
        ("sqld/total/busy,x,0,ms", "ref.csv: line 4: unit `ms`: a count is in 1"),
    ] {
        let error = with(line);
        assert!(error.contains(reason), "{error}");
    }
    let speedtest1 = TOML.replace("serverless", "speedtest1").replace("protocol = 'hrana3'", "");
    let error = loaded(CSV, &speedtest1).unwrap_err();
    assert!(
        error.contains(
            "ref.csv: line 2: `sqld/insert-1/time`: a figure of speedtest1 has the form TESTSET/NUMBER or TOTAL"
        ),
        "{error}"
    );
}

#[test]
fn claims_and_parameters_that_the_study_does_not_have() {
    let claim = "[[claim]]\nid = 'c'\ntext = 'x'\nkind = 'bound'\nfigure = 'sqld/vacuum/time'\nat_most = 1\n";
    let error = loaded(CSV, &format!("{TOML}{claim}")).unwrap_err();
    assert!(
        error.contains("ref.toml: claim `c`: `sqld/vacuum/time`: unknown phase `vacuum`; expected one of "),
        "{error}"
    );
    let error = loaded(CSV, &TOML.replace("hrana3", "http")).unwrap_err();
    assert!(error.contains("ref.toml: [parameters]: protocol: unknown variant `http`"), "{error}");
}

#[test]
fn parameters_of_sweep_and_million() {
    let with = |study: &str, parameters: &str| {
        let csv = CSV.lines().next().unwrap();
        let phase = if study == "sweep" { "clients-4" } else { "million" };
        let toml = TOML.replace("serverless", study).replace("protocol = 'hrana3'", parameters);
        loaded(&format!("{csv}\nsqld/{phase}/rate,x,1,/s\n"), &toml).map(|reference| reference.parameters)
    };
    let sweep = with("sweep", "clients = [4, 2], mix = 'point=60,insert=40'").unwrap();
    assert_eq!((&sweep["clients"], &sweep["seconds"]), (&json!([4, 2]), &json!(35)));
    assert_eq!(with("million", "statements = 5000").unwrap()["statements"], 5000);
    for (study, parameters, reason) in [
        ("sweep", "clients = []", "ref.toml: [parameters]: clients: expected numbers from 1 to "),
        ("sweep", "clients = [4, 4]", "ref.toml: [parameters]: clients: a number appears twice"),
        ("sweep", "mix = 'point=60'", "the shares add up to 60"),
        ("sweep", "statements = 5", "unknown field `statements`"),
        ("million", "statements = 5", "ref.toml: [parameters]: statements = 5: expected 100 to "),
    ] {
        let error = with(study, parameters).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn sweep_and_million_are_whole() {
    for (name, figures, claims) in [("sqlitend-sweep", 28, 7), ("sqlitend-million", 9, 9)] {
        let reference = reference(name);
        assert_eq!((reference.figures.len(), reference.about.claims.len()), (figures, claims));
    }
    let sweep = reference("sqlitend-sweep");
    let value = |clients: u32, metric: &str| {
        let key = key(&format!("sqld/clients-{clients}/{metric}"));
        sweep.figures.iter().find(|figure| figure.key == key).unwrap().value
    };
    // The table adds up: each level took 35 s.
    for clients in [1, 4, 8, 16] {
        let seconds = value(clients, "operations") / value(clients, "rate");
        assert!((seconds - 35.0).abs() < 0.05, "{clients}: {seconds}");
    }
}

#[test]
fn the_port_is_whole() {
    let reference = reference("sqlitend-serverless");
    let find = |text: String| reference.figures.iter().find(|figure| figure.key == key(&text));
    for (name, step) in STEPS {
        for leg in ["embedded", "sqld"] {
            assert_eq!(find(format!("{leg}/{name}/time")).unwrap().step, step);
        }
        assert_eq!(find(format!("sqld/{name}/ratio")).is_some(), name != "delete-primary-key", "{name}");
    }
    let sum = |leg: &str| {
        STEPS.iter().map(|(name, _)| find(format!("{leg}/{name}/time")).unwrap().value).sum::<f64>()
    };
    for (leg, total) in [("embedded", 483.0), ("sqld", 8385.0)] {
        assert_eq!((sum(leg), find(format!("{leg}/total/time")).unwrap().value), (total, total));
    }
    assert_eq!(reference.parameters["protocol"], "hrana3");
    assert_eq!(reference.about.claims.len(), 9);
}

/// Two runtimes of speedtest1 in one table.
const RUNTIMES: &str = "study = 'speedtest1'\ntitle = 'r'\nlegs = ['native', 'wasm']\n\
    parameters = { size = 100 }\n[citation]\nauthor = 'a'\ntitle = 't'\n[engine]\nflags = []\n\
    [[claim]]\nid = 'wasm-costs'\ntext = 'wasm takes twice as long'\nkind = 'ratio'\n\
    numerator = 'wasm/TOTAL'\ndenominator = 'native/TOTAL'\nat_least = 1.5\nat_most = 3\n";
const OF_RUNTIMES: &str = "key,step,value,unit\nnative/main/100,inserts,35,ms\nnative/main/310,joins,362,ms\n\
    native/main/400,replaces,143,ms\nnative/TOTAL,TOTAL,6494,ms\nwasm/main/310,joins,724,ms\nwasm/TOTAL,TOTAL,12988,ms\n";

#[test]
fn legs_of_a_tool_are_named() {
    let reference = loaded(OF_RUNTIMES, RUNTIMES).unwrap();
    assert_eq!(reference.figures[5].key, key("wasm/TOTAL"));
    let misspelt = OF_RUNTIMES.replace("wasm/main", "wsam/main");
    let error = loaded(&misspelt, RUNTIMES).unwrap_err();
    assert!(error.contains("line 6: `wsam/main/310`: `wsam` is not among the legs"), "{error}");
    let error = loaded(&OF_RUNTIMES.replace("native/main/100", "main/100"), RUNTIMES).unwrap_err();
    assert!(error.contains("line 2: `main/100`: the TOML file names several legs"), "{error}");
    let error = loaded(OF_RUNTIMES, &RUNTIMES.replace("'wasm/TOTAL'", "'wsam/TOTAL'")).unwrap_err();
    assert!(error.contains("claim `wasm-costs`: `wsam/total/time`: `wsam`"), "{error}");
}

/// Returns a leg whose rows are this many times as long as the published native ones.
fn runtime(name: &str, times: f64) -> Leg {
    let mut leg =
        Leg::new(name, Engine { sqlite_version: Some("3.53.4".to_string()), ..Engine::named(name) });
    leg.answer = Answer::Right { found: "1".to_string() };
    for run in 1..=6 {
        for (phase, title, ms) in
            [("main/100", "inserts", 35.0), ("main/310", "joins", 362.0), ("main/400", "replaces", 143.0)]
        {
            let ms = (ms * times).round() as i64 + i64::from(run % 2);
            leg.add(run, phase, Some(title), Measure { reported_ms: Some(ms), ..Measure::default() });
        }
        leg.runs.push(Run { number: run, total_ms: leg.sum_of_rows(run), ..Run::default() });
    }
    leg
}

#[test]
fn runtimes_are_judged_where_they_were_measured() {
    let reference = loaded(OF_RUNTIMES, RUNTIMES).unwrap();
    let judged = |legs: Vec<Leg>| {
        let parameters = reference.parameters.clone();
        let record = Record::beginning("speedtest1", parameters, Plan::default());
        let record = Record { partial: None, legs, ..record };
        comparison::judge(&reference, &record, false).unwrap()
    };
    let verdict = |report: &Report, of: &str| {
        let found = report.figures.iter().find(|figure| figure.key == of).unwrap();
        (found.verdict, found.reason.clone())
    };
    let alone = judged(vec![runtime("native", 0.5)]);
    assert_eq!(verdict(&alone, "native/main/310").0, Reproduced, "{:?}", verdict(&alone, "native/main/310"));
    let unmeasured = (NotComparable, "the record did not measure `wasm`".to_string());
    assert_eq!(verdict(&alone, "wasm/main/310"), unmeasured);
    assert_eq!((alone.claims[0].verdict, &alone.claims[0].reason), (NotComparable, &unmeasured.1));
    let both = |times: f64| judged(vec![runtime("native", 0.5), runtime("wasm", times)]);
    assert_eq!(both(1.0).claims[0].verdict, Reproduced, "{}", both(1.0).claims[0].reason);
    assert_eq!(both(3.0).claims[0].verdict, Differs, "a ratio that does not hold");
}
