//! Properties of the importer and the scanner for any input: no panic, no complete run whose TOTAL is not the
//! sum of its rows, and no changed digit of a time that goes unnoticed.
//!
//! In CI there are more than 100,000 cases, elsewhere a twentieth of them; a failure prints its smallest
//! input.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestRunner};
use repro::study::speedtest1::import::{ImportError, ImportedRun, import};
use repro::study::speedtest1::{Event, RunOutput, Scanner};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

/// Runs `check` on 1,000 times `thousands` cases in CI, and on a twentieth of them elsewhere.
fn hold<S: Strategy>(thousands: u32, cases: S, check: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    let config = Config {
        cases: thousands * if in_ci { 1000 } else { 50 },
        max_shrink_iters: 20_000,
        failure_persistence: None,
        ..Config::default()
    };
    let result = TestRunner::new(config).run(&cases, check);
    result.unwrap_or_else(|failure| panic!("{failure}"));
}

fn fixture(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/outputs").join(name)).unwrap()
}

/// Outputs of short complete runs, in every layout that the importer knows.
static INTACT: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let names = [
        "star-app.txt",
        "two-alike.txt",
        "two-unlike.txt",
        "ansi-ci-prefix.txt",
        "boot-log.txt",
        "crlf.txt",
        "dashed-prefix.txt",
        "indented-quote.txt",
        "markdown-fence.txt",
        "no-suffix.txt",
        "other-benchmark-after.txt",
        "stats-verify.txt",
        "unpadded.txt",
        "utf8-bom.txt",
        "wrapped-60.txt",
    ];
    names.map(fixture).to_vec()
});

/// The same outputs, and outputs with faults.
static ANY: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let names = [
        "killed-then-whole-glued.txt",
        "no-rtree-merged.txt",
        "negative-row.txt",
        "interleaved.txt",
        "numbered-table.txt",
        "other-benchmark.txt",
        "quoted-row.txt",
        "rounded-seconds.txt",
        "sqlonly.txt",
        "trace-merged.txt",
        "two-columns.txt",
        "utf16.txt",
    ];
    INTACT.iter().cloned().chain(names.map(fixture)).collect()
});

/// Imports a text, and checks the properties of the result.
fn import_checked(text: &[u8]) -> Result<Result<Vec<ImportedRun>, ImportError>, TestCaseError> {
    let result = import(text);
    let count = 1 + text.iter().filter(|&&byte| byte == b'\n' || byte == b'\r').count();
    match &result {
        Ok(runs) => {
            prop_assert!(!runs.is_empty());
            for run in runs {
                prop_assert!(1 <= run.lines.0 && run.lines.0 <= run.lines.1 && run.lines.1 <= count);
                prop_assert!(!run.output.steps.is_empty());
                let sum: i64 = run.output.steps.iter().map(|step| step.reported_ms).sum();
                prop_assert!(run.partial.is_some() || run.output.total_ms == Some(sum));
                prop_assert!(run.output.steps.iter().all(|step| step.reported_ms >= 0));
                for (index, step) in run.output.steps.iter().enumerate() {
                    let is_same = run.output.steps[..index].iter().any(|before| before.key == step.key);
                    prop_assert!(!is_same, "{} twice", step.key);
                }
            }
        }
        Err(error) => {
            prop_assert!(1 <= error.line && error.line <= count, "{error}");
            prop_assert!(!error.reason.is_empty() && !error.reason.contains(char::is_control), "{error}");
        }
    }
    Ok(result)
}

/// One change to a text. Positions are relative to its length or number of lines.
#[derive(Clone, Debug)]
enum Change {
    SetByte(Index, u8),
    DropByte(Index),
    AddByte(Index, u8),
    SwapBytes(Index, Index),
    SetDigit(Index, u8),
    DropLine(Index),
    DoubleLine(Index),
    SwapLines(Index, Index),
    AddLine(Index, &'static str),
    CutLine(Index, Index),
    PrefixLine(Index, &'static str),
    Truncate(Index),
    Behead(Index),
    Join(Index),
    Weave(Index),
}

impl Change {
    fn any() -> impl Strategy<Value = Change> {
        let at = any::<Index>;
        // Bytes that have a meaning in these texts are more frequent than others.
        let byte = || prop_oneof![select(&b"0123456789.- s\n\r\t\x1b\0TOTAL:|`\""[..]), any::<u8>()];
        let line = select(
            &[
                "",
                "```",
                "make: *** [all] Error 1",
                "SQL error: disk I/O error",
                "  2 - query 0.123",
                " 100 - 500 INSERTs into table with no index........................    0.001s",
                " 999 - Reset the database..........................................    0.000s",
                "       Begin testset \"orm\"",
                "       TOTAL.......................................................    0.013s",
                "-- Speedtest1 for SQLite 3.53.4 2026-07-24 19:02:57 bf7c7f30031888f4e796e429ab39",
                "-- Page cache hits:             308821",
                "Verification Hash: 0 0e12171d242c353f364c455d6c648193a69cc0d6ed18f85c",
            ][..],
        );
        let prefix =
            select(&["> ", "// ", "3 - ", "bench-2 | ", "2026-11-30 - 7 - ", "\u{feff}", "0.5 "][..]);
        prop_oneof![
            (at(), byte()).prop_map(|(i, byte)| Change::SetByte(i, byte)),
            at().prop_map(Change::DropByte),
            (at(), byte()).prop_map(|(i, byte)| Change::AddByte(i, byte)),
            (at(), at()).prop_map(|(i, j)| Change::SwapBytes(i, j)),
            (at(), b'0'..=b'9').prop_map(|(i, digit)| Change::SetDigit(i, digit)),
            at().prop_map(Change::DropLine),
            at().prop_map(Change::DoubleLine),
            (at(), at()).prop_map(|(i, j)| Change::SwapLines(i, j)),
            (at(), line).prop_map(|(i, line)| Change::AddLine(i, line)),
            (at(), at()).prop_map(|(i, j)| Change::CutLine(i, j)),
            (at(), prefix).prop_map(|(i, prefix)| Change::PrefixLine(i, prefix)),
            at().prop_map(Change::Truncate),
            at().prop_map(Change::Behead),
            at().prop_map(Change::Join),
            at().prop_map(Change::Weave),
        ]
    }

    fn apply(&self, text: &mut Vec<u8>) {
        if text.is_empty() {
            return;
        }
        let bytes = text.len();
        match self {
            Change::SetByte(i, byte) => text[i.index(bytes)] = *byte,
            Change::DropByte(i) => drop(text.remove(i.index(bytes))),
            Change::AddByte(i, byte) => text.insert(i.index(bytes + 1), *byte),
            Change::SwapBytes(i, j) => text.swap(i.index(bytes), j.index(bytes)),
            Change::SetDigit(i, digit) => {
                let digits: Vec<usize> = (0..bytes).filter(|&at| text[at].is_ascii_digit()).collect();
                if !digits.is_empty() {
                    text[*i.get(&digits)] = *digit;
                }
            }
            Change::Truncate(i) => text.truncate(i.index(bytes)),
            Change::Behead(i) => drop(text.drain(..i.index(bytes))),
            Change::Join(i) => text.extend_from_slice(i.get::<Vec<u8>>(&ANY)),
            _ => {
                let mut lines: Vec<Vec<u8>> =
                    text.split_inclusive(|&b| b == b'\n').map(<[u8]>::to_vec).collect();
                self.apply_to_lines(&mut lines);
                *text = lines.concat();
            }
        }
    }

    fn apply_to_lines(&self, lines: &mut Vec<Vec<u8>>) {
        let count = lines.len();
        match self {
            Change::DropLine(i) => drop(lines.remove(i.index(count))),
            Change::DoubleLine(i) => lines.insert(i.index(count), lines[i.index(count)].clone()),
            Change::SwapLines(i, j) => lines.swap(i.index(count), j.index(count)),
            Change::AddLine(i, line) => lines.insert(i.index(count + 1), format!("{line}\n").into_bytes()),
            Change::CutLine(i, j) => {
                let line = i.index(count);
                let at = j.index(lines[line].len());
                lines[line].insert(at, b'\n');
            }
            Change::PrefixLine(i, prefix) => drop(lines[i.index(count)].splice(..0, prefix.bytes())),
            Change::Weave(i) => {
                let other = i.get::<Vec<u8>>(&ANY).split_inclusive(|&b| b == b'\n').map(<[u8]>::to_vec);
                *lines = std::mem::take(lines).into_iter().zip(other).flat_map(|(a, b)| [a, b]).collect();
            }
            _ => unreachable!("a change of bytes"),
        }
    }
}

/// Returns a text with up to `most` changes.
fn changed(texts: &'static [Vec<u8>], most: usize) -> impl Strategy<Value = Vec<u8>> {
    (select(texts), prop::collection::vec(Change::any(), 0..=most)).prop_map(|(mut text, changes)| {
        changes.iter().for_each(|change| change.apply(&mut text));
        text
    })
}

/// Returns random bytes, and pieces of the tool's language in any order.
fn babble() -> impl Strategy<Value = Vec<u8>> {
    let token = select(
        &[
            "-- Speedtest1 for SQLite ",
            "3.53.4 ",
            "2026-07-24 19:02:57 bf7c7f30031888f4e796e429ab39",
            "\n",
            "\r\n",
            " 100 - ",
            " 130 - ",
            " 999 - ",
            "500 INSERTs into table with no index",
            "Reset the database",
            "....",
            ".................",
            "    0.001s",
            "   -1.-500s",
            "  0.000s",
            "0.1",
            "999999999.999s",
            "       TOTAL",
            "       Begin testset \"",
            "main\"",
            "Verification Hash: ",
            "18446744073709551615 ",
            "0e12171d242c353f364c455d6c648193a69cc0d6ed18f85c",
            "-- Page cache hits:  ",
            "-- Compile option: ",
            " | ",
            "SQL error: ",
            "```",
            "/* ",
            " */",
            "\u{1b}[31m",
            "\u{1b}]0;",
            "\u{feff}",
            "\u{a0}",
            "é",
            " ",
            "9",
            "-",
            ".",
        ][..],
    );
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..300),
        prop::collection::vec(token, 0..60).prop_map(|tokens| tokens.concat().into_bytes()),
    ]
}

#[test]
fn intact_outputs_are_whole() {
    for text in INTACT.iter() {
        let runs = import(text).unwrap();
        assert!(runs.iter().all(|run| run.partial.is_none()), "{}", String::from_utf8_lossy(text));
    }
}

#[test]
fn any_bytes_are_imported_or_refused() {
    hold(20, babble(), |text| import_checked(&text).map(drop));
}

#[test]
fn any_changed_output_is_imported_or_refused() {
    hold(50, changed(&ANY, 6), |text| import_checked(&text).map(drop));
}

/// The positions of the digits in the times of rows and of TOTAL, in each intact output.
static DIGITS: LazyLock<Vec<(usize, usize)>> = LazyLock::new(|| {
    let time = regex::bytes::Regex::new(r"(?m)[0-9]+\.[0-9]{1,3}s?(?:\x1b\[K)?\r?$").unwrap();
    let mut places = Vec::new();
    for (which, text) in INTACT.iter().enumerate() {
        let banner = text.windows(13).position(|window| window == b"-- Speedtest1").unwrap();
        let total = text.windows(5).rposition(|window| window == b"TOTAL").unwrap();
        let end = time.find_at(text, total).unwrap().end();
        let digits =
            time.find_iter(&text[..end]).filter(|time| time.start() > banner).flat_map(|time| time.range());
        places.extend(digits.filter(|&at| text[at].is_ascii_digit()).map(|at| (which, at)));
    }
    places
});

#[test]
fn no_digit_of_any_time_is_overlooked() {
    assert!(DIGITS.len() > 600, "{}", DIGITS.len());
    for &(which, at) in DIGITS.iter() {
        for digit in (b'0'..=b'9').filter(|&digit| digit != INTACT[which][at]) {
            let mut text = INTACT[which].clone();
            text[at] = digit;
            let runs = import(&text).unwrap_or_default();
            let noticed = runs.is_empty() || runs.iter().any(|run| run.partial.is_some());
            assert!(noticed, "byte {at} as {} in {}", digit as char, String::from_utf8_lossy(&INTACT[which]));
        }
    }
}

/// The layout of a run; none of them changes the times.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Layout {
    Plain,
    Crlf,
    Logged,
    NoSuffix,
    Unpadded,
    Wrapped(usize),
}

/// Returns a run with these times, and the positions of their digits.
fn print(times: &[i64], layout: Layout) -> (Vec<u8>, Vec<usize>) {
    let template = String::from_utf8(fixture("star-app.txt")).unwrap();
    let (mut text, mut digits) = (String::new(), Vec::new());
    let mut times = times.iter().copied().chain([times.iter().sum()]);
    for (index, line) in template.lines().enumerate() {
        let name_end = line.rfind(". ").filter(|_| line.ends_with('s')).map(|at| at + 1);
        let mut printed = if layout == Layout::Logged { format!("run {index} - ") } else { String::new() };
        printed.push_str(&line[..name_end.unwrap_or(line.len())]);
        if name_end.is_some() {
            let name = printed.len();
            let time = times.next().unwrap();
            let (seconds, milliseconds) = (time / 1000, time % 1000);
            printed.push_str(&match layout {
                Layout::Unpadded => format!(" {seconds}.{milliseconds}"),
                Layout::NoSuffix => format!(" {seconds:4}.{milliseconds:03}"),
                _ => format!(" {seconds:4}.{milliseconds:03}s"),
            });
            if let Layout::Wrapped(columns) = layout {
                printed.insert(columns, '\n');
            }
            let places = printed.bytes().enumerate().skip(name).filter(|(_, byte)| byte.is_ascii_digit());
            digits.extend(places.map(|(at, _)| text.len() + at));
        }
        text.push_str(&printed);
        text.push_str(if layout == Layout::Crlf { "\r\n" } else { "\n" });
    }
    (text.into_bytes(), digits)
}

#[test]
fn what_is_printed_is_what_is_imported_and_a_changed_digit_is_noticed() {
    let time = prop_oneof![Just(0), 0..10_i64, 0..1000_i64, 0..10_000_000_i64];
    let layout = prop_oneof![
        select(&[Layout::Plain, Layout::Crlf, Layout::Logged, Layout::NoSuffix, Layout::Unpadded][..]),
        (45..66_usize).prop_map(Layout::Wrapped),
    ];
    let change = (any::<Index>(), 1..10_u8);
    hold(15, (prop::collection::vec(time, 8), layout, change), |(times, layout, (place, by))| {
        let (mut text, digits) = print(&times, layout);
        match import_checked(&text)? {
            Ok(runs) => {
                prop_assert_eq!(runs.len(), 1);
                prop_assert_eq!(&runs[0].partial, &None);
                let found: Vec<i64> = runs[0].output.steps.iter().map(|step| step.reported_ms).collect();
                prop_assert_eq!(&found, &times);
            }
            Err(error) => {
                prop_assert_eq!(layout, Layout::Unpadded, "{}", error);
                prop_assert!(error.reason.contains("TOTAL adds up either way"), "{error}");
            }
        }
        let digit = &mut text[*place.get(&digits)];
        *digit = b'0' + (*digit - b'0' + by) % 10;
        let runs = import_checked(&text)?.unwrap_or_default();
        prop_assert!(runs.is_empty() || runs.iter().any(|run| run.partial.is_some()), "{:?}", runs);
        Ok(())
    });
}

/// Returns what the scanner makes of `text` when it arrives in pieces that end at `cuts`.
fn scan(text: &[u8], cuts: &[Index]) -> (Vec<Event>, RunOutput) {
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
    ends.push(text.len());
    ends.sort_unstable();
    let mut scanner = Scanner::new(["star", "app"].map(String::from).to_vec());
    let mut events = Vec::new();
    let mut start = 0;
    for end in ends {
        events.extend(scanner.feed(&text[start..end]));
        start = end;
    }
    (events, scanner.finish())
}

fn cuts() -> impl Strategy<Value = Vec<Index>> {
    prop::collection::vec(any::<Index>(), 0..40)
}

/// Checks that the result is the same wherever the text is cut, that a complete run has no fault, and that
/// its rows add up.
fn check_scanner((text, cuts): (Vec<u8>, Vec<Index>)) -> Result<(), TestCaseError> {
    let whole = scan(&text, &[]);
    prop_assert_eq!(&scan(&text, &cuts), &whole);
    let (events, output) = whole;
    let is_sound = !events.iter().any(|event| matches!(event, Event::Fault(_)));
    if let (true, Some(total)) = (is_sound, output.total_ms) {
        prop_assert_eq!(total, output.steps.iter().map(|step| step.reported_ms).sum::<i64>());
    }
    Ok(())
}

#[test]
fn the_scanner_takes_any_bytes_in_any_pieces() {
    hold(10, (babble(), cuts()), check_scanner);
}

#[test]
fn the_scanner_takes_any_changed_output_in_any_pieces() {
    hold(10, (changed(&ANY, 4), cuts()), check_scanner);
}

#[test]
fn long_lines_are_cut_at_the_same_place_in_any_pieces() {
    let text =
        [b" 100 - ".as_slice(), &[b'x'; 200_000], b"\n", &fixture("star-app.txt"), &[b'.'; 70_000]].concat();
    let whole = scan(&text, &[]);
    let faults = whole.0.iter().filter(|event| matches!(event, Event::Fault(_)));
    assert_eq!(faults.count(), 5, "three full lines and a rest, and one after TOTAL");
    for size in [1, 1000, 65_535, 65_536, 65_537] {
        let mut scanner = Scanner::new(["star", "app"].map(String::from).to_vec());
        let events: Vec<Event> = text.chunks(size).flat_map(|piece| scanner.feed(piece)).collect();
        assert_eq!((events, scanner.finish()), whole, "pieces of {size} bytes");
    }
}
