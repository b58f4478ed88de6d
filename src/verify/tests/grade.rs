//! What citation grade asks for, and that it is refused where the record does not carry it.

use super::{machine, read};
use crate::record::{Answer, Cause, Failure, Flag, Record};
use crate::verify::grade::{Requirement, citable, conditions};

/// Returns whether the record meets a requirement; `None` when it does not say.
fn met(record: &Record, requirement: Requirement) -> Option<bool> {
    let all = conditions(read(record), None);
    all.into_iter().find(|condition| condition.requirement == requirement).unwrap().met
}

fn with(change: impl FnOnce(&mut Record)) -> Record {
    let mut record = machine(1.0);
    change(&mut record);
    record
}

#[test]
fn only_checked_answers_are_right() {
    let unchecked = || Answer::NotChecked { reason: "the check was skipped".to_string() };
    let right = |change: fn(&mut Record)| met(&with(change), Requirement::RightAnswers);
    assert_eq!(right(|_| ()), Some(true));
    assert_eq!(
        right(|record| {
            record.legs[1].answer = Answer::Wrong { found: "1".to_string(), expected: "2".to_string() }
        }),
        Some(false)
    );
    assert_eq!(right(|record| record.legs[1].answer = Answer::Unknown { found: "1".to_string() }), None);
    assert_eq!(
        right(|record| { record.legs[1].runs[2].flags.push(Flag::AnswersDiffer { found: "1".to_string() }) }),
        Some(false)
    );
    // Legs that are not known to run SQL do not make unchecked answers right.
    let mut record = machine(1.0);
    for leg in &mut record.legs {
        (leg.engine.sqlite_version, leg.answer) = (None, unchecked());
    }
    assert_eq!(met(&record, Requirement::RightAnswers), None);
}

#[test]
fn a_part_and_few_runs_are_not_citable() {
    let partial =
        with(|record| record.partial = Some(Failure::saying(Cause::Error, "the disk is full".to_string())));
    assert_eq!(met(&partial, Requirement::MeasuredWhole), Some(false));
    let few = with(|record| record.legs.iter_mut().for_each(|leg| leg.runs.truncate(5)));
    assert_eq!(met(&few, Requirement::EnoughRuns), Some(false));
    assert_eq!(met(&machine(1.0), Requirement::EnoughRuns), Some(true));
    assert!(!citable(&conditions(read(&partial), None)) && !citable(&[]));
}

#[test]
fn other_statements_on_another_leg_are_seen() {
    assert_eq!(met(&machine(1.0), Requirement::SameStatements), Some(true));
    let other = with(|record| record.legs[1].runs[3].work = Some("other".to_string()));
    assert_eq!(met(&other, Requirement::SameStatements), Some(false));
}

#[test]
fn runs_that_can_not_have_been_are_refused() {
    let sound = |change: fn(&mut Record)| met(&with(change), Requirement::SoundRuns);
    assert_eq!(sound(|_| ()), Some(true));
    let copied = sound(|record| {
        for phase in &mut record.legs[1].phases {
            phase.samples[4].measure = phase.samples[2].measure.clone();
        }
    });
    assert_eq!(copied, Some(false), "a run twice");
    let gap = sound(|record| {
        record.legs[0].phases[3].samples.remove(5);
    });
    assert_eq!(gap, Some(false), "a phase that one run lacks");
    let absent = sound(|record| {
        record.legs[0].phases.remove(3);
    });
    assert_eq!(absent, Some(false), "a phase that every run lacks");
    let early = sound(|record| {
        record.finished = Some(record.started);
        record.legs[0].runs[2].wall_ns = Some(3_000_000_000);
    });
    assert_eq!(early, Some(false), "more time than passed");
    let longer = sound(|record| {
        let run = &mut record.legs[0].runs[2];
        (run.total_ms, run.wall_ns) = (Some(2000), Some(1_000_000_000));
    });
    assert_eq!(longer, Some(false), "a TOTAL longer than its process");
}
