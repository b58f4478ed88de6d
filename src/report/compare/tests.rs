//! Tests with records of several legs, side by side.

use super::Comparison;
use crate::record::Record;
use crate::study::registry;
use crate::study::serverless::fixture::whole;
use serde_json::json;

fn compare(a: &Record, b: &Record) -> Result<Comparison, String> {
    super::compare(registry::shape_of(&a.study).unwrap(), a, b, false)
}

/// Returns the record with each of its times multiplied.
fn times(mut record: Record, factor: u64) -> Record {
    let samples = record.legs.iter_mut().flat_map(|leg| &mut leg.phases).flat_map(|phase| &mut phase.samples);
    samples.for_each(|sample| sample.measure.elapsed_ns = sample.measure.elapsed_ns.map(|ns| ns * factor));
    record
}

#[test]
fn phases_are_compared_leg_by_leg() {
    let Comparison { totals, table, .. } = compare(&times(whole(7), 2), &whole(7)).unwrap();
    assert_eq!(table.rows.len(), 5 * 16);
    let row = table.rows.iter().find(|row| row[0] == "sqld/insert-1/time").unwrap();
    assert_eq!(row[2..6], ["ms", "192", "96.0", "2.000"]);
    assert_eq!(totals.len(), 5);
    assert_eq!((totals[1].0.as_str(), totals[1].1.value), ("sqld/total/time", 2.0));
    let notes: Vec<String> = table.notes.iter().map(ToString::to_string).collect();
    let notes = notes.join("\n");
    assert!(notes.contains("sqld/total/time: A / B is 2.000, 95 % interval"), "{notes}");
}

#[test]
fn few_runs_show_no_difference_and_say_so_once() {
    let table = compare(&times(whole(2), 2), &whole(2)).unwrap().table;
    assert_eq!(table.rows[0][8], "too few runs to tell");
    assert_eq!(table.notes.iter().filter(|note| note.contains("too few runs")).count(), 1);
}

#[test]
fn what_one_record_has_alone_is_named() {
    let mut part = whole(7);
    part.legs.truncate(1);
    let table = compare(&part, &whole(7)).unwrap().table;
    assert_eq!(table.rows.len(), 5 * 16);
    assert_eq!(table.rows[16][8], "in one record only");
}

#[test]
fn rates_are_faster_when_higher() {
    let oltp = |factor| {
        let mut record = times(whole(7), factor);
        record.study = "oltp".to_string();
        for leg in &mut record.legs {
            leg.phases.truncate(1);
            leg.phases[0].name = "select-range".to_string();
        }
        record
    };
    let Comparison { totals, table, .. } = compare(&oltp(1), &oltp(2)).unwrap();
    assert_eq!(table.rows[1][..6], ["sqld/select-range/rate", "", "/s", "1042", "521", "2.000"]);
    assert_eq!(table.rows[1][8], "A faster");
    assert_eq!(totals, []);
}

#[test]
fn other_work_is_not_compared() {
    let mut seeded = whole(7);
    seeded.parameters.insert("seed".to_string(), json!(2));
    assert!(compare(&seeded, &whole(7)).err().unwrap().contains("--seed 2 and its default"));
    let mut other = whole(7);
    other.legs[1].runs.iter_mut().for_each(|run| run.work = Some("other".to_string()));
    assert!(compare(&other, &whole(7)).err().unwrap().contains("leg sqld ran different statements"));
    let mut protocol = whole(7);
    protocol.parameters.insert("protocol".to_string(), json!("hrana2"));
    assert!(compare(&protocol, &whole(7)).is_ok());
    let anyway = super::compare(registry::shape_of("serverless").unwrap(), &seeded, &whole(7), true).unwrap();
    assert_eq!(anyway.other_work, ["--seed 2 and its default"]);
    assert_eq!(anyway.exceeds(0.5), None, "other work decides nothing");
}

#[test]
fn a_limit_is_exceeded_kept_or_undecided() {
    let sized = |a: u64, b: u64| compare(&times(whole(7), a), &times(whole(7), b)).unwrap().exceeds(0.03);
    assert_eq!(sized(2, 1), Some(true));
    assert_eq!(sized(1, 2), Some(false));
    // The runs of a record drift by a half, so that its interval crosses the limit.
    assert_eq!(sized(1, 1), None);
    let few = compare(&times(whole(5), 2), &whole(7)).unwrap();
    assert_eq!(few.exceeds(0.03), None, "five runs");
}

#[test]
fn a_difference_that_drift_explains_is_none() {
    assert_eq!(super::word(1.05, 1.08, super::DRIFT).text, "undecided: no more than drift");
    assert_eq!(super::word(1.05, 1.08, 1.0).text, "A slower");
    assert_eq!(super::word(1.12, 1.14, super::DRIFT).text, "A slower");
    assert_eq!(super::word(0.99, 1.01, super::DRIFT).text, "no difference shown");
}

#[test]
fn a_total_of_other_phases_is_not_compared() {
    let mut fewer = whole(7);
    fewer.legs[1].phases.pop();
    let comparison = compare(&fewer, &whole(7)).unwrap();
    let total = comparison.table.rows.iter().find(|row| row[0] == "sqld/total/time").unwrap();
    assert_eq!(total[8], "a sum of other phases");
    assert!(comparison.totals.iter().all(|(name, _)| name != "sqld/total/time"));
}
