//! Tests of the tables, on records that are made here.

use super::parts::{Parts, Sides};
use crate::record::{Cause, Failure, Record};
use crate::report::Table;
use crate::report::citation::{self, Source};
use crate::study::Study;
use crate::study::serverless::Serverless;
use crate::study::serverless::fixture::{leg, read, shape, whole};

fn tables(record: &Record) -> Vec<Table> {
    super::tables(read(record))
}

fn row<'a>(table: &'a Table, step: &str) -> Vec<&'a str> {
    table.rows.iter().find(|row| row[0] == step).unwrap().iter().map(|cell| cell.text.as_str()).collect()
}

fn headings(table: &Table) -> Vec<&str> {
    table.columns.iter().map(|column| column.name).collect()
}

fn notes(record: &Record) -> String {
    tables(record)
        .iter()
        .flat_map(|table| table.notes.iter().map(ToString::to_string).collect::<Vec<_>>())
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn the_parts_add_up_in_every_run() {
    let record = whole(7);
    let sides = Sides::of(&record).unwrap();
    let steps = shape().whole().unwrap();
    for run in 1..=7 {
        for taken in [&steps[..1], steps] {
            let Parts { elapsed_ns, parts, .. } = sides.of_steps(taken, run).unwrap();
            assert_eq!(parts.into_iter().map(Option::unwrap).sum::<i64>(), elapsed_ns, "run {run}");
        }
    }
    let split = sides.split(&["point-lookups"]).unwrap();
    // The fourth run is the middle one: 96 ms, or 34.8 ms when held, of which 6 ms are the wire.
    assert_eq!((split.statements, split.ms, split.client_cpu), (100, 96.0, Some(0.2)));
    let expected = [6.0, 20.0, (96.0 - 20.0) - (34.8 - 12.0), 34.8 - 12.0 - 6.0];
    for (part, expected) in split.parts.into_iter().zip(expected) {
        assert!((part.unwrap() - expected).abs() < 1e-5, "{:?}", split.parts);
    }
}

#[test]
fn both_tables_and_what_they_come_to() {
    let record = whole(7);
    let [costs, shares] = &tables(&record)[..] else { panic!("two tables") };
    assert_eq!(
        row(costs, "insert-1"),
        ["insert-1", "100", "12.0", "96.0", "8.00", "8.00–8.00", "34.8", "2.90", "18.0", "1.50"]
    );
    assert_eq!(row(costs, "total")[..4], ["total", "1500", "180", "1440"]);
    assert_eq!(
        row(shares, "insert-1"),
        ["insert-1", "96.0", "6.00", "20.0", "53.2", "16.8", "960", "60.0", "200", "532", "168", "2.00"]
    );
    assert_eq!((costs.rows.len(), shares.rows.len()), (16, 16));
    let said = notes(&record);
    for expected in [
        "all steps: 1,500 statements, 0.960 ms each, of which opening and closing streams 0.532 ms (55 %); \
         held streams would cost 2.90× embedded instead of 8.00×, batches 1.50×",
        "point lookups: 100 statements, 0.960 ms each",
        "SQLite differs: 3.53.1 (embedded), 3.45.1 (sqld, sqld-held, sqld-batch, floor)",
        "foreign_keys 0 (embedded), 1 (sqld",
        "statements: the same in every run of embedded, sqld",
        "sqld at most 36.0 MB, 90 % of a CPU",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    assert!(!said.contains("negative") && !said.contains("too few"), "{said}");
}

#[test]
fn few_runs_have_no_interval() {
    let record = whole(2);
    let costs = &tables(&record)[0];
    assert_eq!(row(costs, "total")[4..6], ["8.00", ""]);
    assert!(notes(&record).contains("2 counted runs: too few for an interval"));
}

#[test]
fn what_a_missing_leg_would_tell_stays_empty() {
    let without = |names: &[&str]| {
        let mut record = whole(7);
        record.legs.retain(|leg| !names.contains(&leg.name.as_str()));
        record
    };
    let no_floor = without(&["floor"]);
    assert_eq!(row(&tables(&no_floor)[1], "total")[2..6], ["", "300", "798", ""]);
    assert!(notes(&no_floor).contains("without the leg floor"));

    let no_held = without(&["sqld-held", "floor"]);
    assert_eq!(row(&tables(&no_held)[1], "total")[2..6], ["", "300", "", ""]);
    assert!(notes(&no_held).contains("batches would cost 1.50× embedded instead of 8.00×"));

    let no_embedded = without(&["embedded"]);
    assert!(!headings(&tables(&no_embedded)[0]).contains(&"ratio"));
    assert!(!notes(&no_embedded).contains("× embedded"));

    let no_sqld = tables(&without(&["sqld", "sqld-batch"]));
    assert_eq!(no_sqld.len(), 1);
    assert_eq!(headings(&no_sqld[0]), ["step", "statements", "embedded ms", "held ms", "ratio", "floor ms"]);
}

#[test]
fn a_run_that_does_not_count_is_left_out_of_both_sides() {
    let mut record = whole(7);
    record.legs[2].runs[6].rejected = Some(Failure::saying(Cause::Error, "a drop"));
    let sides = Sides::of(&record).unwrap();
    assert_eq!(sides.of_steps(&["insert-1"], 7).unwrap().parts[2..], [None, None]);
    assert!(sides.of_steps(&["insert-1"], 4).unwrap().parts.iter().all(Option::is_some));
    record.legs[1].phases[0].samples.pop();
    let sides = Sides::of(&record).unwrap();
    let steps = shape().whole().unwrap();
    assert_eq!(sides.of_steps(steps, 7), None);
}

#[test]
fn a_negative_part_is_shown() {
    let fast_floor = leg("floor", 7, |_, _| 25.0, None);
    let mut record = whole(7);
    record.legs[4] = fast_floor;
    let shares = &tables(&record)[1];
    assert_eq!(row(shares, "full-scan")[2..6], ["25.0", "20.0", "53.2", "-2.20"]);
    assert!(notes(&record).contains("a negative part is noise"));
}

#[test]
fn a_server_that_does_not_tell_its_time_leaves_its_part_open() {
    let mut record = whole(7);
    for phase in &mut record.legs[1].phases {
        phase.samples.iter_mut().for_each(|sample| sample.measure.detail = None);
    }
    assert_eq!(row(&tables(&record)[1], "total")[2..6], ["90.0", "", "", "252"]);
    assert!(notes(&record).contains("the server did not say how long its statements took"));
}

#[test]
fn medians_that_do_not_add_up_are_told() {
    let mut record = whole(3);
    let slow = [1.0, 60.0, 60.0];
    record.legs[2] = leg("sqld-held", 3, |_, run| slow[run as usize - 1], Some(1.0));
    record.legs[4] = leg("floor", 3, |_, run| [30.0, 1.0, 1.0][run as usize - 1], None);
    assert!(notes(&record).contains("the runs differ: medians of the parts add up to"), "{}", notes(&record));
    assert!(!notes(&whole(3)).contains("the runs differ"));
}

#[test]
fn other_statements_are_told() {
    let mut record = whole(7);
    record.legs[1].runs[0].work = Some("other".to_string());
    assert!(notes(&record).contains("STATEMENTS DIFFER"));
}

fn cited(record: &Record) -> String {
    let source = Source { name: "a", sha256: Some("0123abcd"), author: Some("A & B"), url: None };
    let lines = citation::of(read(record), Serverless.headline(read(record)), &source).text;
    lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_ratio_is_cited() {
    let said = cited(&whole(7));
    for expected in [
        "met      interval within ±1 %: 95 % interval of the median sqld/total/ratio is ±0.00 %",
        "met      same statements: the same sequence in 35 runs of all legs",
        "sqld over embedded: 8.00× (median of 7 runs, 95 % interval 8.00 to 8.00; 1.440 s against 0.180 s)",
        "title  = {{SQLite serverless, measured with repro}}",
        "author = {{A \\& B}}",
        "SHA-256 of the record: 0123abcd",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
}

#[test]
fn one_side_is_no_figure() {
    let mut record = whole(7);
    record.legs.truncate(1);
    assert!(cited(&record).ends_with("no run of both sides counts, so there is no figure to cite"));
}
