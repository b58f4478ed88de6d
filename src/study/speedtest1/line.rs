//! The grammar of one line of speedtest1's output.

use regex::Regex;
use std::sync::LazyLock;

/// The meaning of one line. Names are without their dot leaders.
#[allow(missing_docs)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// `-- Speedtest1 for SQLite 3.53.4 2026-07-24 19:02:57 bf7c…` (the id is cut at 48 characters, or at 50
    /// before 2019).
    Banner { version: &'a str, source_id: &'a str },
    /// `       Begin testset "orm"`.
    Testset(&'a str),
    /// ` 100 - 50000 INSERTs into table with no index......    0.058s`, or a row that is still running.
    Row { number: u32, name: &'a str, time: Option<Time> },
    /// `       TOTAL.....    3.708s`.
    Total(Time),
    /// `Verification Hash: 34221272 cc78…` (48 hexadecimal digits).
    Hash { bytes: u64, hash: &'a str },
    /// A line of `--stats` such as `-- Page cache hits:             308821`.
    Statistic { name: &'a str, value: &'a str },
    /// A `-- Compile option:` line of `--stats`.
    CompileOption(&'a str),
    /// Any other line.
    Other,
}

/// A printed time. The tool prints whole milliseconds as `SECONDS.MMM`, padded to three digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time {
    whole: i64,
    fraction: i64,
    decimals: u32,
}

impl Time {
    /// Returns the time in milliseconds. An unpadded fraction is read as the number of milliseconds (`0.64`
    /// is 64 ms); only a TOTAL that adds up can confirm that reading. The time is negative when the wall
    /// clock stepped back: the tool then prints both parts with a sign (`-1.-500s`).
    pub fn milliseconds(self) -> i64 {
        self.whole * 1000 + self.fraction
    }

    /// Returns `false` when the fraction has fewer than three digits, because the C library lacks `%03d` or
    /// somebody rounded the seconds.
    pub fn padded(self) -> bool {
        self.decimals == 3
    }

    /// Returns the milliseconds on the assumption that rounded seconds were printed (`0.64` is 640 ms).
    pub fn as_decimal(self) -> i64 {
        self.whole * 1000 + self.fraction * 10_i64.pow(3 - self.decimals)
    }
}

const TIME: &str = r"(-?[0-9]{1,9})\.(-?[0-9]{1,3})s?";

static ROW: LazyLock<Regex> = LazyLock::new(|| pattern(r"^ {0,6}([0-9]{1,4}) - (.*)$"));
static TIME_AT_END: LazyLock<Regex> = LazyLock::new(|| pattern(&format!(r"(?:^|[.\s])\s*{TIME}\s*$")));
static TOTAL: LazyLock<Regex> = LazyLock::new(|| pattern(&format!(r"^ {{0,8}}TOTAL\.*\s+{TIME}\s*$")));
static TESTSET: LazyLock<Regex> = LazyLock::new(|| pattern(r#"^ {0,8}Begin testset "([a-z0-9]{1,30})"\s*$"#));
static BANNER: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^-- Speedtest1 for SQLite ([0-9]+(?:\.[0-9]+)+) (\S.{0,89}?)\s*$"));
static HASH: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^Verification Hash: ([0-9]{1,19}) ([0-9a-f]{48})\s*$"));
static STATISTIC: LazyLock<Regex> = LazyLock::new(|| pattern(r"^-- ([A-Z][^:]{1,60}):\s+(\S.*?)\s*$"));
static ROW_START: LazyLock<regex::bytes::Regex> = LazyLock::new(|| {
    regex::bytes::Regex::new(r"(?-u)^ {0,3}[0-9]{1,4} - [^\n]{60} ").expect("pattern is constant")
});

pub(super) fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("pattern is constant")
}

/// Parses one line, given without its line end.
pub fn parse(line: &str) -> Line<'_> {
    if let Some(found) = TESTSET.captures(line) {
        return Line::Testset(found.get(1).map_or("", |m| m.as_str()));
    }
    if let Some(found) = TOTAL.captures(line) {
        return Line::Total(time(&found[1], &found[2]));
    }
    if let Some(found) = ROW.captures(line) {
        let number = found[1].parse().unwrap_or(0);
        let rest = found.get(2).map_or("", |m| m.as_str());
        let (name, time) = split_time(rest);
        let name = name.trim_end_matches(['.', ' ', '\t']);
        // The tool's names are plain ASCII, so damaged text and rows of tables are not its rows.
        let plain = !name.is_empty() && name.bytes().all(|byte| matches!(byte, b' '..=b'{' | b'}' | b'~'));
        return if plain || time.is_none() { Line::Row { number, name, time } } else { Line::Other };
    }
    if let Some(found) = BANNER.captures(line) {
        let text = |i| found.get(i).map_or("", |m| m.as_str());
        return Line::Banner { version: text(1), source_id: text(2) };
    }
    if let Some(found) = HASH.captures(line) {
        let bytes = found[1].parse().unwrap_or(0);
        return Line::Hash { bytes, hash: found.get(2).map_or("", |m| m.as_str()) };
    }
    if let Some(found) = STATISTIC.captures(line) {
        let text = |i| found.get(i).map_or("", |m| m.as_str());
        return match text(1) {
            "Compile option" => Line::CompileOption(text(2)),
            name => Line::Statistic { name, value: text(2) },
        };
    }
    Line::Other
}

/// Splits `line` into the text and the time at its end, if it ends in a time.
pub fn split_time(line: &str) -> (&str, Option<Time>) {
    match TIME_AT_END.captures(line) {
        Some(found) => {
            let start = found.get(0).map_or(0, |m| m.start());
            (&line[..start], Some(time(&found[1], &found[2])))
        }
        None => (line, None),
    }
}

/// Returns the part of a line with which the tool starts a row: it flushes after `NUMBER - NAME`, which is 60
/// columns wide, and one blank.
pub fn row_start(line: &[u8]) -> Option<&[u8]> {
    ROW_START.find(line).map(|found| found.as_bytes())
}

fn time(whole: &str, fraction: &str) -> Time {
    let below_zero = whole.starts_with('-') || fraction.starts_with('-');
    let milliseconds: i64 = fraction.trim_start_matches('-').parse().unwrap_or(0);
    Time {
        whole: whole.parse().unwrap_or(0),
        fraction: if below_zero { -milliseconds } else { milliseconds },
        // Together with its sign, `%03d` also takes three columns.
        decimals: fraction.len().min(3) as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(line: &str) -> (u32, String, Option<i64>) {
        match parse(line) {
            Line::Row { number, name, time } => (number, name.to_string(), time.map(Time::milliseconds)),
            other => panic!("{line:?} is {other:?}"),
        }
    }

    #[test]
    fn rows_in_every_form_the_tool_has_printed() {
        let expect = |line, number, name: &str, ms| assert_eq!(row(line), (number, name.to_string(), ms));
        expect(
            " 200 - VACUUM......................................................    0.087s",
            200,
            "VACUUM",
            Some(87),
        );
        expect(
            " 110 - 10000 ordered.............................................. 1220.600s",
            110,
            "10000 ordered",
            Some(1_220_600),
        );
        expect(
            " 410 - 14000 SELECTS on an IPK..................................... 13130.000s",
            410,
            "14000 SELECTS on an IPK",
            Some(13_130_000),
        );
        expect(
            " 100 - 25000 INSERTs...............................................        1.248",
            100,
            "25000 INSERTs",
            Some(1_248),
        );
        expect(
            "160 - 100 SELECTS, numeric BETWEEN, indexed \t0.64",
            160,
            "100 SELECTS, numeric BETWEEN, indexed",
            Some(64),
        );
        expect(
            " 120 - CREATE INDEX....................................................    0.-01s",
            120,
            "CREATE INDEX",
            Some(-1),
        );
        expect(
            " 120 - CREATE INDEX....................................................   -1.-500s",
            120,
            "CREATE INDEX",
            Some(-1_500),
        );
        expect(
            " 180 - 50000 INSERTS with three indexes......",
            180,
            "50000 INSERTS with three indexes",
            None,
        );
    }

    #[test]
    fn a_sign_before_the_seconds_holds_for_the_milliseconds_too() {
        assert_eq!(row(" 120 - CREATE INDEX....   -0.500s").2, Some(-500));
        assert_eq!(row(" 120 - CREATE INDEX....   -1.500s").2, Some(-1_500));
    }

    #[test]
    fn names_that_the_tool_never_prints_are_no_rows() {
        for line in [" 100 - \u{fffd}NSERTs...    0.058s", "100 - INSERTs | 0.058", " 100 - .....    0.058s"]
        {
            assert_eq!(parse(line), Line::Other, "{line}");
        }
    }

    #[test]
    fn a_name_that_ends_in_digits_keeps_them() {
        assert_eq!(row(" 140 - queries against J1......    0.081s").1, "queries against J1");
        assert_eq!(
            row(" 300 - Mandelbrot Set with spacing=0.250000........................    0.023s").1,
            "Mandelbrot Set with spacing=0.250000"
        );
    }

    #[test]
    fn other_lines() {
        assert_eq!(parse("       Begin testset \"orm\""), Line::Testset("orm"));
        assert_eq!(
            parse("-- Speedtest1 for SQLite 3.53.4 2026-07-24 19:02:57 bf7c7f30031888f4e796e429ab39"),
            Line::Banner { version: "3.53.4", source_id: "2026-07-24 19:02:57 bf7c7f30031888f4e796e429ab39" }
        );
        assert!(
            matches!(parse("       TOTAL.......................................................    3.708s"), Line::Total(t) if t.milliseconds() == 3708)
        );
        assert_eq!(
            parse("Verification Hash: 34221272 cc784acae6e8154e2d9fba03dd8cb9ac7ae8f309abebbfd4"),
            Line::Hash { bytes: 34_221_272, hash: "cc784acae6e8154e2d9fba03dd8cb9ac7ae8f309abebbfd4" }
        );
        assert_eq!(
            parse("-- Page cache hits:             308821"),
            Line::Statistic { name: "Page cache hits", value: "308821" }
        );
        assert_eq!(parse("-- Compile option: ENABLE_RTREE"), Line::CompileOption("ENABLE_RTREE"));
        assert_eq!(parse("SQL error: no such table: t1"), Line::Other);
    }

    #[test]
    fn a_row_start_is_known_before_its_line_ends() {
        let start = format!(" 200 - VACUUM{} ", ".".repeat(54));
        assert_eq!(row_start(start.as_bytes()), Some(start.as_bytes()));
        assert_eq!(row_start(&start.as_bytes()[..40]), None);
        assert_eq!(row_start(format!("{start}   0.1").as_bytes()), Some(start.as_bytes()));
    }
}
