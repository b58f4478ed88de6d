use super::*;
use std::time::Duration;

const STAT: &str = "cpu  100 20 30 4000 50 6 7 8 90 1\ncpu0 1 2 3 4 5 6 7 8 0 0\nprocs_running 3\n";

#[test]
fn cpu_time_is_in_milliseconds() {
    let time = CpuTime { user_ms: 1200, system_ms: 430, idle_ms: 40_000, iowait_ms: 500, steal_ms: Some(80) };
    assert_eq!(parse_cpu_time(STAT, 100), Some(time));
    assert_eq!(parse_cpu_time("cpu  1 2 3 4 5 6 7", 1000).unwrap().steal_ms, None);
    assert_eq!(parse_cpu_time(STAT, 0), None);
    assert_eq!(parse_cpu_time("cpu  1 2 3", 100), None);
    assert_eq!(parse_cpu_time("cpu  1 2 x 4 5 6 7 8", 100), None);
    assert_eq!(parse_cpu_time("cpu  18446744073709551615 2 3 4 5 6 7 8", 100), None);
    assert_eq!(parse_cpu_time("cpu0 1 2 3 4 5 6 7 8", 100), None);
}

#[test]
fn pressure_is_that_of_some() {
    let file = "some avg10=13.57 avg60=4.42 avg300=20.49 total=615978666\n\
                full avg10=1.00 avg60=0.00 avg300=0.00 total=5\n";
    assert_eq!(parse_pressure(file), Some(Pressure { avg10: 13.57, total_us: 615_978_666 }));
    assert_eq!(parse_pressure("full avg10=1.00 total=5"), None);
    assert_eq!(parse_pressure("some avg10=nan total=5"), None);
    assert_eq!(parse_pressure("some avg10=0.00"), None);
}

#[test]
fn load_needs_all_three() {
    assert_eq!(parse_load("1.49 1.82 2.01 2/85 9650\n"), Some(Load { one: 1.49, five: 1.82, fifteen: 2.01 }));
    assert_eq!(parse_load("1.49 1.82"), None);
    assert_eq!(parse_load("-1 inf 0"), None);
}

fn snapshot(after: u64, steal_ms: Option<u64>) -> Snapshot {
    let cpu_time = CpuTime { user_ms: 10 + after, system_ms: 20 + after, idle_ms: 0, iowait_ms: 0, steal_ms };
    let pressure = Pressure { avg10: 0.0, total_us: 1000 * after };
    Snapshot {
        cpu_time: Some(cpu_time),
        cpu_pressure: Some(pressure),
        throttle_events: Some(5_u64.saturating_sub(after)),
        ..Snapshot::default()
    }
}

#[test]
fn an_interval_is_what_changed() {
    let start = Instant::now();
    let before = Snapshot { taken: Some(start), ..snapshot(0, Some(1)) };
    let after = Snapshot { taken: Some(start + Duration::from_millis(250)), ..snapshot(7, Some(4)) };
    let expected = Activity {
        wall_ms: Some(250),
        steal_ms: Some(3),
        cpu_pressure_us: Some(7000),
        io_pressure_us: None,
        memory_pressure_us: None,
        busy_ms: Some(14),
        throttle_events: Some(0),
        ..Activity::default()
    };
    assert_eq!(Activity::between(&before, &after), expected);
    let unknown = Activity::between(&snapshot(0, None), &after);
    assert_eq!((unknown.wall_ms, unknown.steal_ms), (None, None));
}

#[test]
fn a_snapshot_survives_a_file_but_for_its_moment() {
    let taken = Snapshot::take();
    assert!(taken.cpu_time.is_some() && taken.runnable.is_some_and(|count| count >= 1));
    let json = serde_json::to_string(&taken).unwrap();
    assert!(!json.contains("taken") && !json.contains("null"));
    let back: Snapshot = serde_json::from_str(&json).unwrap();
    assert_eq!(back, Snapshot { taken: None, clocks: None, ..taken.clone() });
    assert!(Activity::between(&taken, &Snapshot::take()).wall_ms.is_some());
}
