//! The factor that leaves the judged figure out, and the spread, on records of the official tool that are made here.

use super::reference;
use crate::record::{Answer, BuildFacts, Engine, Leg, Measure, Phase, Plan, Record, Run, Sample};
use crate::study::registry;
use crate::verify::Verdict::{self, Differs, NotComparable, Reproduced, Undecided};
use crate::verify::comparison;
use crate::verify::verdict::Report;

/// A record of `runs` runs of the published work, in which each published row takes as many ms as `ms` says of the
/// row's number, the published ms and the run.
fn record(runs: u32, ms: impl Fn(usize, f64, u32) -> f64) -> Record {
    let reference = reference("sqlitend-speedtest1");
    let about = &reference.about;
    let rows = reference.figures.iter().filter(|figure| !figure.key.is_sum()).enumerate();
    let phase = |(index, figure): (usize, &crate::verify::reference::Figure)| Phase {
        name: figure.key.phase.clone(),
        title: Some(figure.step.clone()),
        samples: (1..=runs)
            .map(|run| Sample {
                run,
                measure: Measure {
                    reported_ms: Some(ms(index, figure.value, run).round() as i64),
                    ..Measure::default()
                },
            })
            .collect(),
    };
    let engine = Engine {
        sqlite_version: about.engine.sqlite_version.clone(),
        source_id: about.engine.source_id.clone(),
        build: Some(BuildFacts {
            pinned: true,
            origin: String::new(),
            sources: Default::default(),
            command: format!("cc {} speedtest1.c", about.engine.flags.join(" ")),
            compiler: String::new(),
            executable: String::new(),
        }),
        ..Engine::named("native")
    };
    let mut leg = Leg {
        answer: Answer::Right { found: "1 ab".to_string() },
        phases: rows.map(phase).collect(),
        ..Leg::new("native", engine)
    };
    leg.runs = (1..=runs)
        .map(|number| Run { number, total_ms: leg.sum_of_rows(number), ..Run::default() })
        .collect();
    let shape = registry::shape_of("speedtest1").unwrap();
    let parameters = reference.parameters.clone();
    Record { partial: None, legs: vec![leg], ..Record::beginning(shape.name, parameters, Plan::default()) }
}

fn judged(record: &Record) -> Report {
    let mut reference = reference("sqlitend-speedtest1");
    // These records have ten rows, so their TOTAL is another, and no build without RTREE.
    reference.figures.retain(|figure| !figure.key.is_sum());
    reference.about.claims.clear();
    comparison::judge(&reference, record, false).unwrap()
}

fn verdict(report: &Report, key: &str) -> (Verdict, f64) {
    let figure = report.figures.iter().find(|figure| figure.key == key).unwrap();
    (figure.verdict, figure.relative.unwrap())
}

/// The index of main/310, the longest row.
const JOINS: usize = 4;

#[test]
fn twice_as_fast_is_the_same_shape() {
    let report = judged(&record(6, |_, published, _| published / 2.0));
    assert_eq!(report.whole().0, Reproduced, "{:?}", report.whole());
    let factor = &report.factors[0];
    assert_eq!(factor.figures, 10);
    assert!((factor.value - 0.5).abs() < 0.01 && factor.spread.unwrap() < 0.02, "{factor:?}");
}

/// In the mean of all ten, a row that is 2.1 times as slow would raise the factor by 8 % and pass.
#[test]
fn a_figure_is_not_judged_by_a_factor_that_it_is_part_of() {
    let report =
        judged(&record(6, |row, published, _| if row == JOINS { 2.1 * published } else { published }));
    let (verdict, relative) = verdict(&report, "main/310");
    assert_eq!(verdict, Differs);
    assert!((relative - 2.1).abs() < 0.02, "{relative}");
    assert_eq!(report.whole().0, Differs);
}

#[test]
fn a_drift_of_all_rows_does_not_widen_a_figure() {
    // From run to run the machine slows down by a third, but every row does.
    let report = judged(&record(6, |_, published, run| published * (1.0 + 0.33 * f64::from(run))));
    let figure = report.figures.iter().find(|figure| figure.key == "main/310").unwrap();
    let (low, high) = figure.relative_interval.unwrap();
    assert!(high - low < 0.1, "{figure:?}");
}

#[test]
fn noise_in_which_each_row_goes_its_own_way_is_refused() {
    let noise = |row: usize, run: u32| if (row + run as usize).is_multiple_of(2) { 0.6 } else { 1.7 };
    let report = judged(&record(6, |row, published, run| published * noise(row, run)));
    assert_eq!(report.whole().0, Differs, "{:?}", report.whole());
    assert!(report.whole().1.contains("spread 0.5"), "{}", report.whole().1);
}

#[test]
fn swapped_rows_are_refused() {
    let reference = reference("sqlitend-speedtest1");
    let values: Vec<f64> = reference.figures.iter().map(|figure| figure.value).collect();
    let report = judged(&record(6, |row, _, _| values[9 - row]));
    assert_eq!(report.whole().0, Differs);
}

#[test]
fn five_runs_decide_nothing() {
    let report = judged(&record(5, |_, published, _| published));
    assert_eq!(report.whole().0, Undecided);
    assert!(report.figures.iter().all(|figure| figure.verdict == Undecided), "{:?}", report.figures);
}

#[test]
fn a_row_of_another_name_stays_out_of_the_factor() {
    let mut other = record(6, |row, published, _| if row == JOINS { 50.0 * published } else { published });
    other.legs[0].phases[JOINS].title = Some("another step".to_string());
    let report = judged(&other);
    assert_eq!(report.figures[JOINS].verdict, NotComparable);
    assert_eq!((report.factors[0].figures, report.factors[0].value), (9, 1.0));
}

#[test]
fn what_decides_the_work_must_be_known() {
    let mut unknown = record(6, |_, published, _| published);
    unknown.legs[0].engine.build = None;
    let reason = "not known whether the work is the same: compile flags";
    assert_eq!(judged(&unknown).whole(), (Undecided, reason.to_string()));
    let mut unchecked = record(6, |_, published, _| published);
    unchecked.legs[0].answer = Answer::NotChecked { reason: "it was skipped".to_string() };
    assert_eq!(judged(&unchecked).whole().0, Undecided);
}

#[test]
fn total_alone_and_rows_below_the_clock_are_not_compared() {
    let mut reference = reference("sqlitend-speedtest1");
    reference.about.claims.clear();
    let total = reference.figures.iter().find(|figure| figure.key.is_sum()).unwrap().clone();
    let below = crate::verify::reference::Figure { value: 1.0, ..reference.figures[0].clone() };
    for figures in [vec![total.clone()], vec![below, total]] {
        reference.figures = figures;
        let report = comparison::judge(&reference, &record(6, |_, published, _| published), false).unwrap();
        assert!(report.figures.iter().all(|figure| figure.verdict == NotComparable), "{:?}", report.figures);
        assert_eq!(report.whole().0, Undecided);
    }
}

/// Only the names of its rows tell a record of another size from one of the cited size.
#[test]
fn another_size_under_a_false_label_is_other_work() {
    let mut record = record(6, |_, published, _| published / 2.0);
    for phase in &mut record.legs[0].phases {
        phase.title = phase.title.as_ref().map(|title| title.replace("50000", "25000").replace("300", "150"));
    }
    let (verdict, reason) = judged(&record).whole();
    assert_eq!(verdict, NotComparable);
    assert!(reason.contains("counts in the names of rows"), "{reason}");
}

/// A saved output has no observed times, and its claims are judged by what the tool printed.
#[test]
fn claims_are_judged_without_observed_times() {
    let record = record(6, |_, published, _| published);
    let report = comparison::judge(&reference("sqlitend-speedtest1"), &record, false).unwrap();
    let slowest = report.claims.iter().find(|claim| claim.subject.starts_with("joins-slowest")).unwrap();
    assert_eq!(slowest.verdict, Reproduced, "{}", slowest.reason);
}
