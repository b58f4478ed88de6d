//! Tests of claims about many clients and their server, and of the references of both studies.

use super::{key, leg, read, record, reference};
use crate::machine::noise::{Load, Snapshot};
use crate::record::{Health, Latency, Measure, Phase, Quantile, Record, Sample};
use crate::study::registry;
use crate::verify::Verdict::{self, Differs, Missing, NotComparable, Reproduced, Undecided};
use crate::verify::claim::Claim;
use crate::verify::comparison;

/// A record of a study: a warm-up, then `runs` counted runs of these phases on the leg `sqld`.
pub fn record_of(study: &str, phases: &[&str], runs: u32, of: impl Fn(&str, u32) -> Measure) -> Record {
    let mut leg = leg("sqld", runs, |_, _| 1.0);
    let sample = |phase: &str, run| Sample { run, measure: of(phase, run) };
    let phase = |name: &&str| Phase {
        name: name.to_string(),
        title: None,
        samples: (1..=runs + 1).map(|run| sample(name, run)).collect(),
    };
    leg.phases = phases.iter().map(phase).collect();
    let mut record = record(vec![leg]);
    record.study = study.to_string();
    record.parameters = reference(&format!("sqlitend-{study}")).parameters;
    record
}

/// A phase that left the server in this state.
fn state(health: Health) -> Measure {
    Measure { health: Some(health), ..Measure::default() }
}

/// What was published for a phase, on a machine that is twice as fast; a phase without a published figure is
/// a collapse.
pub fn published(study: &str, phase: &str) -> Measure {
    let figures = reference(&format!("sqlitend-{study}")).figures;
    let of = |metric: &str| {
        let wanted = key(&format!("sqld/{phase}/{metric}"));
        figures.iter().find(|figure| figure.key == wanted).map_or(0.0, |figure| figure.value)
    };
    if of("rate") == 0.0 {
        return state(Health::Wedged);
    }
    let (operations, ns) = (of("operations"), of("operations") / of("rate") / 2.0 * 1e9);
    let half = |metric: &str| (of(metric).max(0.5) / 2.0 * 1e6) as u64;
    let latency = Latency {
        p50_ns: half("p50"),
        p95_ns: half("p95"),
        p99_ns: half("p99"),
        max_ns: half("max"),
        ..Latency::default()
    };
    Measure {
        operations: Some(operations as u64),
        elapsed_ns: Some(ns as u64),
        slices: vec![(operations as u64 / 20, ns as u64 / 20); 20],
        busy: Some(of("busy") as u64),
        busy_surfaced: Some(0),
        latency: Some(latency),
        ..state(Health::Clean)
    }
}

#[track_caller]
fn judged(record: &Record, test: &str) -> (Verdict, String) {
    let claim: Claim = toml::from_str(&format!("id = 'c'\ntext = 'x'\n{test}")).unwrap();
    claim.check(read(record).shape).unwrap();
    let judgement = claim.judge(read(record));
    (judgement.verdict, judgement.reason)
}

#[test]
fn what_was_published_is_reproduced() {
    for (study, phases) in [
        (
            "sweep",
            &["clients-1", "clients-4", "clients-8", "clients-16", "clients-32", "clients-64"] as &[&str],
        ),
        ("million", &["million"]),
    ] {
        let record = record_of(study, phases, 6, |phase, _| published(study, phase));
        let report = comparison::judge(&reference(&format!("sqlitend-{study}")), &record, false).unwrap();
        assert!(report.work.iter().all(|check| check.same != Some(false)), "{:?}", report.work);
        for claim in &report.claims {
            assert_eq!(claim.verdict, Reproduced, "{claim:?}");
        }
        for figure in &report.figures {
            let expected = match figure.unit {
                "/s" if study == "sweep" => Reproduced,
                _ => NotComparable,
            };
            assert_eq!(figure.verdict, expected, "{figure:?}");
        }
        assert_eq!(report.whole().0, Reproduced);
        let few = record_of(study, phases, 2, |phase, _| published(study, phase));
        let report = comparison::judge(&reference(&format!("sqlitend-{study}")), &few, false).unwrap();
        // Nothing differs, but two runs decide nothing.
        assert_eq!(
            report.whole(),
            (Undecided, "the record has 2 runs; at least 6 decide (--runs 6)".to_string())
        );
        assert_eq!(report.figures.iter().filter(|figure| figure.verdict == Reproduced).count(), 0);
    }
}

#[test]
fn a_wedge_is_no_rate() {
    let levels = ["clients-1", "clients-4", "clients-8", "clients-16"];
    // In the second counted run, the server stops answering writes at the last level, so that there is hardly
    // any rate.
    let record = record_of("sweep", &levels, 6, |phase, run| match (phase, run) {
        ("clients-16", 3) => {
            Measure { operations: Some(10), elapsed_ns: Some(35_000_000_000), ..state(Health::Wedged) }
        }
        _ => published("sweep", phase),
    });
    let report = comparison::judge(&reference("sqlitend-sweep"), &record, false).unwrap();
    for figure in report.figures.iter().filter(|figure| figure.unit == "/s") {
        let spoilt = figure.key == "sqld/clients-16/rate";
        assert_eq!(figure.verdict, if spoilt { NotComparable } else { Reproduced }, "{figure:?}");
        assert_eq!(figure.reason == "clients-16: the server wedged in 1 of 6 runs", spoilt, "{figure:?}");
    }
    assert_eq!(report.factors.iter().map(|factor| factor.value.round()).collect::<Vec<_>>(), [2.0]);
    let claim = "kind = 'ratio'\nnumerator = 'sqld/clients-16/rate'\ndenominator = 'sqld/clients-4/rate'\nat_most = 0.9";
    assert_eq!(
        judged(&record, claim),
        (NotComparable, "clients-16: the server wedged in 1 of 6 runs".to_string())
    );
    let counted = "kind = 'bound'\nfigure = 'sqld/clients-16/failures'\nat_most = 0";
    assert_eq!(judged(&record, counted).0, Reproduced);
}

#[test]
fn a_lone_figure_is_no_shape() {
    let record = record_of("million", &["million"], 6, |phase, _| published("million", phase));
    for (strict, verdict, piece) in
        [(false, NotComparable, "no other figure of its group"), (true, Differs, "absolute: 2.00")]
    {
        let report = comparison::judge(&reference("sqlitend-million"), &record, strict).unwrap();
        let rate = report.figures.iter().find(|figure| figure.key == "sqld/million/rate").unwrap();
        assert_eq!(rate.verdict, verdict, "{rate:?}");
        assert!(rate.reason.contains(piece), "{rate:?}");
    }
}

#[test]
fn a_percentile_that_could_move_is_not_judged() {
    let moved = |phase: &str, run| {
        let mut measure = published("sweep", phase);
        if let (2, Some(latency)) = (run, &mut measure.latency) {
            latency.at_least = [Quantile::P99, Quantile::Max].into();
        }
        measure
    };
    let record = record_of("sweep", &["clients-16", "clients-4"], 2, |phase, run| {
        if phase == "clients-16" { moved(phase, run) } else { published("sweep", phase) }
    });
    let reason = |text: &str| read(&record).spoilt(&key(text));
    assert_eq!(
        reason("sqld/clients-16/p99").unwrap(),
        "clients-16: statements without an answer could change it in 1 of 2 runs"
    );
    assert_eq!((reason("sqld/clients-16/p50"), reason("sqld/clients-4/p99")), (None, None));
    assert_eq!(reason("sqld/clients-16/rate"), None);
}

#[test]
fn health_of_every_run() {
    use Health::{Clean, Collapsed, Unknown, Wedged};
    let claim = "kind = 'health'\nleg = 'sqld'\nphases = ['clients-32', 'clients-64']\n\
                 among = ['collapsed', 'wedged']";
    // The warm-up, which is not counted, comes first; the last state lasts for four more runs.
    let in_runs = |runs: u32, states: [[Health; 3]; 2]| {
        record_of("sweep", &["clients-32", "clients-64"], runs, |phase, run| {
            state(states[usize::from(phase == "clients-64")][(run as usize - 1).min(2)])
        })
    };
    let of = |states| in_runs(6, states);
    let judged = |states| judged(&of(states), claim);
    assert_eq!(
        judged([[Clean, Wedged, Collapsed], [Clean, Wedged, Wedged]]),
        (
            Reproduced,
            "in 12 of 12 runs: clients-32 wedged, collapsed, collapsed, collapsed, collapsed, collapsed; \
             clients-64 wedged, wedged, wedged, wedged, wedged, wedged; claimed: collapsed or wedged in each"
                .to_string()
        )
    );
    let one = in_runs(1, [[Clean, Wedged, Wedged], [Clean, Wedged, Wedged]]);
    assert_eq!(
        super::clients::judged(&one, claim),
        (
            Undecided,
            "in 2 of 2 runs: clients-32 wedged; clients-64 wedged; claimed: collapsed or wedged in each; \
             1 run of it, and at least 6 decide"
                .to_string()
        )
    );
    let (verdict, reason) = judged([[Wedged, Wedged, Clean], [Wedged, Clean, Clean]]);
    assert_eq!(verdict, Undecided);
    assert!(reason.starts_with("in 1 of 12 runs: clients-32 wedged, clean, clean, "));
    assert_eq!(judged([[Wedged, Clean, Clean], [Wedged, Clean, Clean]]).0, Differs);
    // Unknown counts neither as claimed nor as another state.
    assert_eq!(judged([[Wedged, Wedged, Unknown], [Wedged, Wedged, Wedged]]).0, Undecided);
    assert_eq!(judged([[Wedged, Unknown, Clean], [Wedged, Clean, Clean]]).0, Undecided);
}

#[test]
fn health_of_the_phases_that_there_are() {
    let claim = "kind = 'health'\nleg = 'sqld'\nphases = ['clients-32', 'clients-64']\namong = ['wedged']";
    let record = record_of("sweep", &["clients-32"], 6, |_, _| state(Health::Wedged));
    let (verdict, reason) = judged(&record, claim);
    assert_eq!(verdict, Reproduced);
    assert!(reason.starts_with("in 6 of 6 runs: clients-32 wedged, wedged, "), "{reason}");
    let record = record_of("sweep", &["clients-16"], 1, |_, _| state(Health::Wedged));
    assert_eq!(
        judged(&record, claim),
        (Missing, "the record has no run of sqld with clients-32, clients-64".to_string())
    );
    // This measure says nothing about its server.
    let record = record_of("sweep", &["clients-32"], 1, |_, _| Measure::default());
    assert_eq!(judged(&record, claim).0, Undecided);
}

const STEADY: &str = "kind = 'steady'\nleg = 'sqld'\nphase = 'million'\nat_least = 0.75";

/// A million whose seconds each answer as many statements as `of` says.
fn seconds(runs: u32, of: impl Fn(usize, u32) -> u64, count: usize) -> Record {
    record_of("million", &["million"], runs, |_, run| Measure {
        slices: (0..count).map(|second| (of(second, run), 1_000_000_000)).collect(),
        ..Measure::default()
    })
}

#[test]
fn steady_to_the_end() {
    let wave = |second: usize| 1000 + 50 * (second as u64 % 3);
    let (verdict, reason) = judged(&seconds(6, |second, _| wave(second), 100), STEADY);
    assert_eq!(verdict, Reproduced);
    assert!(reason.contains("over that of the first is 1.00 [1.00, 1.00]"), "{reason}");
    // However many slices a run has, it is one run.
    assert_eq!(judged(&seconds(1, |second, _| wave(second), 100), STEADY).0, Undecided);
    let half = |second: usize, _| if second >= 90 { 500 } else { wave(second) };
    let (verdict, reason) = judged(&seconds(6, half, 100), STEADY);
    assert_eq!(verdict, Differs);
    assert!(reason.contains("0.48 [") && reason.ends_with("claimed: at least 0.75"), "{reason}");
    // In one run, three seconds of ten stand still, so the interval crosses the bound.
    let gap = |second: usize, run| if second >= 97 && run == 3 { 0 } else { 900 };
    assert_eq!(judged(&seconds(6, gap, 100), STEADY).0, Undecided);
    // Each of six runs gives one value.
    let (verdict, reason) =
        judged(&seconds(6, |second, run| if second < 90 { 100 } else { 80 + u64::from(run) }, 100), STEADY);
    assert_eq!(verdict, Reproduced);
    assert!(reason.contains("0.84 [0.82, 0.87]"), "{reason}");
}

#[test]
fn tenths_are_of_time() {
    // The last second is cut short; the last tenth takes its 1.05 s from it and from two more.
    let slices = |_: &str, _| {
        let mut slices = vec![(1000, 1_000_000_000); 10];
        slices.push((100, 500_000_000));
        Measure { slices, ..Measure::default() }
    };
    let (verdict, reason) = judged(&record_of("million", &["million"], 6, slices), STEADY);
    assert_eq!(verdict, Differs);
    assert!(reason.contains("0.73 [0.73, 0.73]"), "{reason}");
    for (record, piece) in [
        (seconds(1, |_, _| 1000, 9), "run 2 has 9 slices; 10 are needed"),
        (seconds(1, |second, _| second as u64, 10), "the first tenth brought no answer"),
    ] {
        let (verdict, reason) = judged(&record, STEADY);
        assert_eq!(verdict, NotComparable);
        assert!(reason.contains(piece), "{reason}");
    }
    let mut dead = seconds(6, |second, _| if second < 50 { 1000 } else { 0 }, 100);
    assert_eq!(judged(&dead, STEADY).0, Differs);
    dead.legs[0].phases.clear();
    assert_eq!(judged(&dead, STEADY), (Missing, "the record has no sample of sqld/million".to_string()));
}

#[test]
fn each_second_against_the_mean() {
    const SLICES: &str = "kind = 'slices'\nleg = 'sqld'\nphase = 'million'\nat_least = 0.5\nat_most = 1.5";
    let wave = |second: usize, _| 1000 + 100 * (second as u64 % 3);
    let (verdict, reason) = judged(&seconds(6, wave, 50), SLICES);
    assert_eq!(verdict, Reproduced);
    assert!(
        reason.contains("the slowest slice over the mean is 0.91 [0.91, 0.91], the fastest 1.09"),
        "{reason}"
    );
    // The mean of a run does not show that it stood still for a second.
    let pause = |second: usize, run| if second == 20 { 0 } else { wave(second, run) };
    assert_eq!(judged(&seconds(6, pause, 50), SLICES).0, Differs);
    let burst = |second: usize, run| if second == 20 { 5000 } else { wave(second, run) };
    assert_eq!(judged(&seconds(6, burst, 50), SLICES).0, Differs);
    assert_eq!(judged(&seconds(1, wave, 50), SLICES).0, Undecided, "one run");
    // The last second is cut short.
    let short = |second: usize, run| if second == 49 { 1 } else { wave(second, run) };
    assert_eq!(judged(&seconds(6, short, 50), SLICES).0, Reproduced);
    assert_eq!(judged(&seconds(6, |_, _| 0, 50), SLICES).0, NotComparable);
}

#[test]
fn the_load_afterwards() {
    const LOAD: &str = "kind = 'load'\nat_most = 0.84";
    let with = |load: Option<f64>, runs| {
        let mut record = seconds(runs, |_, _| 1000, 20);
        let load = load.map(|one| Load { one, five: 0.1, fifteen: 0.1 });
        record.after = Some(Snapshot { load, ..Snapshot::default() });
        judged(&record, LOAD).0
    };
    assert_eq!(
        [with(Some(0.5), 6), with(Some(0.9), 6), with(Some(0.5), 1)],
        [Reproduced, Differs, Undecided]
    );
    assert_eq!(with(None, 6), Missing);
}

#[test]
fn busy_that_surfaces() {
    let failing = |phase: &str, _| {
        let busy = u64::from(phase == "clients-8");
        let errors = [("SQLITE_BUSY".to_string(), busy), ("hung".to_string(), 3)].into();
        Measure { errors, busy: Some(40), busy_surfaced: Some(busy), ..published("sweep", phase) }
    };
    let record = record_of("sweep", &["clients-4", "clients-8"], 6, failing);
    let each = |figures: &str| judged(&record, &format!("kind = 'each'\nfigures = [{figures}]\nat_most = 0"));
    assert_eq!(each("'sqld/clients-4/busy-surfaced'").0, Reproduced);
    assert_eq!(each("'sqld/clients-4/busy-surfaced', 'sqld/clients-8/busy-surfaced'").0, Differs);
    assert_eq!(each("'sqld/clients-4/failures'").0, Differs);
    let (verdict, reason) = judged(&record, "kind = 'value'\nquantity = 'busy-surfaced'\nequals = 0");
    assert_eq!(verdict, Differs);
    assert!(reason.starts_with("7 statements that failed because the server was busy"), "{reason}");
    // A client that does not repeat statements counts each of these as a failure.
    assert_eq!(
        judged(&super::machine(1.0), "kind = 'bound'\nfigure = 'sqld/insert-1/busy-surfaced'\nat_most = 1").0,
        Differs
    );
}

#[test]
fn claims_that_make_no_sense() {
    let health = |phases: &str, among: &str| {
        format!("kind = 'health'\nleg = 'sqld'\nphases = [{phases}]\namong = [{among}]")
    };
    for (test, reason) in [
        (health("", "'clean'"), "at least one phase and one state are needed"),
        (health("'clients-4'", ""), "at least one phase and one state are needed"),
        (health("'clients-4'", "'clean', 'unknown'"), "can't be about the state `unknown`"),
        (health("'clients-0'", "'clean'"), "unknown phase `clients-0`; expected one of clients-N"),
        (STEADY.replace("million", "total"), "`total` has "),
        (
            STEADY.replace("million", "clients-4").replace("sqld", "turso"),
            "unknown leg `turso`; expected one of sqld, ",
        ),
        (STEADY.replace("million", "clients-4").replace("at_least = 0.75", ""), "a steady rate needs"),
    ] {
        let claim: Claim = toml::from_str(&format!("id = 'c'\ntext = 'x'\n{test}")).unwrap();
        let error = claim.check(registry::shape_of("sweep").unwrap()).unwrap_err();
        assert!(error.contains(reason), "{test}: {error}");
    }
}
