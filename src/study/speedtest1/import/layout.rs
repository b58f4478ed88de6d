//! Undoes what terminals, editors and logs did to the tool's lines.

use super::super::line::{self, Line, pattern};
use regex::Regex;
use std::borrow::Cow;
use std::iter;
use std::sync::LazyLock;

static ANSI: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[@-Z\\-_]|\r")
});
/// Where a line of the tool begins, after anything that a log put before it.
static BEGINS: LazyLock<Regex> = LazyLock::new(|| {
    let rows = r"{0,3}[0-9]{1,4} - [!-~]";
    let rest = r#"-- [A-Z][^:]{1,60}: |Verification Hash: | {0,8}(?:Begin testset "|TOTAL[. ])"#;
    pattern(&format!(r"-- Speedtest1 for SQLite |{rest}|(?: {rows}|^{rows})"))
});
static TWO_COLUMNS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"[0-9]{1,4} - .*[0-9]\.[0-9]{1,3}s?\W+[0-9]{1,4} - |-- Speedtest1 .*-- Speedtest1 ")
});
/// A whole row in the columns that `printf` gives it; some ports add a tab or lack the `s`.
static IN_COLUMNS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^ {0,3}[0-9]{1,4} - .{60}[ \t]+-?[0-9]+\.[0-9]{3}s?$"));
/// What may be a row in spite of damage: a number, a dash, and a time at the end.
static LIKE_A_ROW: LazyLock<Regex> = LazyLock::new(|| pattern(r"[0-9]\s*-\s.*[0-9]\.[0-9]{1,3}\s*s?\W*$"));
static ROW_START: LazyLock<Regex> = LazyLock::new(|| pattern(r"^ {0,3}[0-9]{1,4} - .{60} "));
/// A line that an editor or terminal cut in two regains the tool's fixed columns when it is joined. Nothing
/// else is joined, so a foreign line never completes a row.
static REJOINED: LazyLock<Regex> = LazyLock::new(|| {
    let time = r"-?[0-9]+\.[0-9]{3}s$";
    let banner = r"-- Speedtest1 for SQLite [0-9.]+ [0-9-]{10} [0-9:]{8} [0-9a-z]{28,}$";
    pattern(&format!(
        "^ *[0-9]{{1,4}} - .{{60}} +{time}|^ {{7}}TOTAL\\.{{55}} +{time}|^{banner}|^Verification Hash: "
    ))
});

/// The longest line in bytes that is read; the tool's are shorter than 200 even behind a prefix.
const LONGEST_LINE: usize = 1000;

/// Returns the lines of `text` without colours and line ends, with wrapped lines mended. Each comes with the
/// first and last line number of the file that it was read from.
pub fn lines(text: &str) -> impl Iterator<Item = ((usize, usize), Cow<'_, str>)> {
    let mut lines = (1..).zip(text.lines().map(clean)).peekable();
    iter::from_fn(move || {
        let (at, first) = lines.next()?;
        let mended = lines.peek().and_then(|(_, next)| mend(&first, next));
        let mended = mended.inspect(|_| drop(lines.next()));
        Some(mended.map_or(((at, at), first), |whole| ((at, at + 1), Cow::Owned(whole))))
    })
}

fn clean(raw: &str) -> Cow<'_, str> {
    if raw.is_empty() {
        return Cow::Borrowed(raw);
    }
    match ANSI.replace_all(raw, "") {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim_end()),
        Cow::Owned(text) => Cow::Owned(text.trim_end().to_string()),
    }
}

/// Returns `first` and `next` joined if that mends a wrapped line.
fn mend(first: &str, next: &str) -> Option<String> {
    if first.is_empty() || first.len() + next.len() > LONGEST_LINE {
        return None;
    }
    let (prefix, start) = split_prefix(first);
    let complete = match line::parse(start) {
        Line::Row { time, .. } => time.is_some(),
        Line::Banner { source_id, .. } => source_id.len() >= 48,
        Line::Other => !BEGINS.is_match(first),
        _ => true,
    };
    if complete || !prefix.trim().is_empty() || line::parse(next) != Line::Other {
        return None;
    }
    let joined = format!("{first}{next}");
    (REJOINED.is_match(&joined) && line::parse(&joined) != Line::Other).then_some(joined)
}

/// Splits a line into what a log put before the tool's own text, and that text. The text begins at the last
/// place where a line of the tool can begin, since a prefix may contain numbers and dashes, too.
pub fn split_prefix(line: &str) -> (&str, &str) {
    let (mut start, mut from) = (0, 0);
    while let Some(found) = BEGINS.find_at(line, from) {
        start = found.start();
        // The end of one possible beginning can be the start of another, as in `3 - 100 - …`.
        from = (found.end() - 2).max(start + 1);
    }
    line.split_at(start)
}

/// Normalises a log prefix so that prefixes which differ only in numbers, dates and padding become equal.
pub fn shape(prefix: &str) -> String {
    static DAY: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b")
    });
    static DIGITS: LazyLock<Regex> = LazyLock::new(|| pattern("[0-9]+"));
    static BLANKS: LazyLock<Regex> = LazyLock::new(|| pattern(r"\s+"));
    let days = DAY.replace_all(prefix.trim(), "day");
    BLANKS.replace_all(&DIGITS.replace_all(&days, "0"), " ").into_owned()
}

/// Returns whether a log prefix is short and free of quotes; a quoted row is prose about the tool.
pub fn plausible(prefix: &str) -> bool {
    prefix.len() <= 160 && !prefix.contains(['"', '\'', '`', '*', '|']) || prefix.trim_end().ends_with('|')
}

/// Returns whether two outputs stand side by side in the line.
pub fn two_columns(line: &str) -> bool {
    TWO_COLUMNS.is_match(line)
}

/// Returns whether this is a finished row laid out exactly as the tool does it.
pub fn in_columns(row: &str) -> bool {
    IN_COLUMNS.is_match(row)
}

/// Returns whether a line that is not the tool's may be a damaged row of it.
pub fn like_a_row(line: &str) -> bool {
    LIKE_A_ROW.is_match(line)
}

/// Returns whether the line is a time and nothing else.
pub fn is_time(line: &str) -> bool {
    let (before, time) = line::split_time(line);
    time.is_some() && before.trim().is_empty()
}

/// Returns whether the line is too long to be the tool's.
pub fn too_long(line: &str) -> bool {
    line.len() > LONGEST_LINE
}

/// Splits a line in which the output of a run follows the unfinished row of a killed run.
pub fn unglue(line: &str) -> Option<(&str, &str)> {
    let (killed, next) = line.split_at(ROW_START.find(line)?.end());
    (line::parse(next) != Line::Other).then_some((killed.trim_end(), next))
}

/// Splits the rest of an unfinished row into its name, which dots fill up to a fixed width, and what
/// something else wrote behind it.
pub fn split_name(rest: &str) -> (&str, &str) {
    const WIDTH: usize = 60;
    let split = rest.split_at_checked(WIDTH).filter(|(name, _)| name.ends_with('.'));
    let (name, said) = split.unwrap_or((rest, ""));
    (name.trim_end_matches(['.', ' ']), said.trim())
}
