//! Tests of what the runs saw of the machine, and of what it makes undecided.

use super::{key, machine, read, reference};
use crate::machine::noise::Activity;
use crate::machine::speed::{Speed, Speeds};
use crate::record::{Leg, Record, Resources};
use crate::verify::Verdict::{Differs, Undecided};
use crate::verify::comparison;
use crate::verify::grade::{Requirement, conditions};
use crate::verify::noise::Noise;

/// A second in which nothing but the run happened.
fn calm() -> Activity {
    let speed = Speed { register_ns: 4_000_000, memory_ns: 4_000_000 };
    Activity {
        wall_ms: Some(1000),
        steal_ms: Some(0),
        cpu_pressure_us: Some(1000),
        memory_pressure_us: Some(0),
        busy_ms: Some(1000),
        asleep_us: Some(0),
        speed: Some(Speeds { before: speed, after: speed }),
        ..Activity::default()
    }
}

/// Returns the record with this activity in each run of its legs.
fn during(mut record: Record, activity: &Activity) -> Record {
    for run in record.legs.iter_mut().flat_map(|leg| &mut leg.runs) {
        run.noise = Some(activity.clone());
    }
    record
}

fn of(activity: Activity) -> Noise {
    let record = during(machine(1.0), &activity);
    Noise::of(&record, read(&record).shape).unwrap()
}

#[test]
fn each_kind_of_noise_is_seen() {
    let quiet = of(calm());
    assert_eq!((quiet.quiet(), quiet.steady(), quiet.factor()), (Some(true), Some(true), 1.0));
    for (what, activity) in [
        ("steal", Activity { steal_ms: Some(20), ..calm() }),
        ("waits", Activity { cpu_pressure_us: Some(60_000), ..calm() }),
        ("memory", Activity { memory_pressure_us: Some(20_000), ..calm() }),
        ("throttling", Activity { throttle_events: Some(1), ..calm() }),
        ("sleep", Activity { asleep_us: Some(1_000_000), ..calm() }),
    ] {
        let noise = of(activity);
        assert_eq!(noise.quiet(), Some(false), "{what}");
        assert!(noise.factor() >= 1.0, "{what}");
    }
    assert_eq!(of(Activity { steal_ms: None, ..calm() }).quiet(), None, "unknown is not quiet");
    let slow = Speed { register_ns: 4_000_000, memory_ns: 5_200_000 };
    let speeds = Speeds { before: Speed { memory_ns: 4_000_000, ..slow }, after: slow };
    let slowed = of(Activity { speed: Some(speeds), ..calm() });
    assert_eq!((slowed.quiet(), slowed.steady()), (Some(true), Some(false)));
    assert!((slowed.factor() - 1.3).abs() < 1e-9, "{}", slowed.factor());
    assert_eq!(of(Activity { speed: None, ..calm() }).steady(), None);
}

/// The CPU time of others is that of all less the process's own, in a study whose tool does all the work.
#[test]
fn others_are_seen_beside_the_tool() {
    let shape = crate::study::registry::shape_of("speedtest1").unwrap();
    let with = |busy_ms| {
        let activity = Activity { busy_ms: Some(busy_ms), ..calm() };
        let mut record = during(machine(1.0), &activity);
        for run in record.legs.iter_mut().flat_map(|leg: &mut Leg| &mut leg.runs) {
            run.resources = Some(Resources { user_us: 950_000, system_us: 40_000, ..Resources::default() });
        }
        Noise::of(&record, shape).unwrap()
    };
    assert_eq!(with(1000).quiet(), Some(true));
    assert_eq!(with(1200).quiet(), Some(false));
    assert!((with(1200).others.unwrap() - 0.21).abs() < 1e-9);
}

#[test]
fn what_the_noise_can_explain_is_undecided() {
    let mut slower = machine(1.0);
    // The tolerance of the reference is a factor of 3.
    let phase = slower.legs[1].phases.iter_mut().find(|phase| phase.name == "insert-1").unwrap();
    for sample in &mut phase.samples {
        sample.measure.elapsed_ns = sample.measure.elapsed_ns.map(|ns| ns * 16 / 5);
    }
    let verdict = |activity: &Activity| {
        let record = during(slower.clone(), activity);
        let report = comparison::judge(&reference("sqlitend-serverless"), &record, false).unwrap();
        let figure = report
            .figures
            .iter()
            .find(|figure| figure.key == key("sqld/insert-1/ratio").to_string())
            .unwrap();
        (figure.verdict, figure.reason.clone())
    };
    assert_eq!(verdict(&calm()).0, Differs, "{}", verdict(&calm()).1);
    let busy = Activity { cpu_pressure_us: Some(300_000), ..calm() };
    assert_eq!(verdict(&busy).0, Undecided, "{}", verdict(&busy).1);
    assert!(
        verdict(&busy).1.contains("which the noise can explain: a factor of 1.30"),
        "{}",
        verdict(&busy).1
    );
    // Noise that is too small for it explains nothing.
    let little = Activity { cpu_pressure_us: Some(51_000), ..calm() };
    assert_eq!(verdict(&little).0, Differs);
}

#[test]
fn two_sessions_a_fixed_number_and_no_trend_are_asked_for() {
    let met = |record: &Record, requirement: Requirement| {
        let all = conditions(read(record), Some(key("sqld/total/ratio")));
        all.into_iter().find(|condition| condition.requirement == requirement).unwrap().met
    };
    let mut record = during(machine(1.0), &calm());
    assert_eq!(met(&record, Requirement::TwoSessions), Some(false), "one session");
    assert_eq!(met(&record, Requirement::FixedRuns), Some(true));
    assert_eq!(met(&record, Requirement::KnownEnvironment), None, "unknown is not met");
    record.plan.until = Some(0.01);
    assert_eq!(met(&record, Requirement::FixedRuns), Some(false));
    // The runs of this record grow one by one, but their ratios do not.
    let time = conditions(read(&record), Some(key("sqld/total/time")));
    let trend = time.iter().find(|condition| condition.requirement == Requirement::NoTrend).unwrap();
    assert_eq!(trend.met, Some(false), "{}", trend.detail);
    let mut environment = crate::machine::environment::Environment::default();
    record.environment = Some(environment.clone());
    assert_eq!(met(&record, Requirement::KnownEnvironment), Some(true));
    environment.told.insert("LD_PRELOAD".to_string(), "/x.so".to_string());
    record.environment = Some(environment);
    assert_eq!(met(&record, Requirement::KnownEnvironment), Some(false));
}
