//! Reads saved speedtest1 output of any version, as people keep it: with CRLF, colour, log prefixes,
//! wrapped lines, boot messages before it, several runs in one file.
//!
//! The rule is to import it right or to refuse it with the line and the reason. Inside a run, from its
//! first row to TOTAL, every line must be the tool's; what stands before and after may be anything.

use super::line::{self, Line, Time, pattern};
use super::output::{Assembler, Banner, Fault, RunOutput, excerpt};
use regex::Regex;
use std::sync::LazyLock;
use thiserror::Error;

/// The line that stopped an import, and why.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {reason}")]
pub struct ImportError {
    /// Counted from 1.
    pub line: usize,
    /// What was expected, and what to do.
    pub reason: String,
}

/// One run found in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedRun {
    /// What it printed.
    pub output: RunOutput,
    /// First and last line of the file it spans, counted from 1.
    pub lines: (usize, usize),
    /// Why it is not whole; `None` when TOTAL was printed and adds up.
    pub partial: Option<String>,
    /// Whether times were printed without zero padding, and TOTAL confirmed that reading.
    pub unpadded: bool,
}

/// Every run in `bytes`, at least one.
///
/// # Errors
/// The first line that is neither skipped safely nor understood.
pub fn import(bytes: &[u8]) -> Result<Vec<ImportedRun>, ImportError> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) || bytes.contains(&0) {
        return Err(fault(1, "UTF-16 or binary data; save the output as UTF-8 text"));
    }
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<String> =
        text.lines().map(|raw| ANSI.replace_all(raw, "").trim_end().to_string()).collect();
    let mut reader = Reader::default();
    let mut index = 0;
    while index < lines.len() {
        let (line, used) = unwrap(&lines[index..]);
        reader.line(index + 1, &line)?;
        index += used;
    }
    reader.end()
}

static ANSI: LazyLock<Regex> = LazyLock::new(|| pattern(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[@-Z\\-_]|\r"));
/// Where a line of the tool begins, behind whatever a log put before it.
static BEGINS: LazyLock<Regex> = LazyLock::new(|| {
    let rows = r"{0,3}[0-9]{1,4} - \S";
    let rest = r#"-- [A-Z][^:]{1,60}: |Verification Hash: | {0,8}(?:Begin testset "|TOTAL[. ])"#;
    pattern(&format!(r"-- Speedtest1 for SQLite |{rest}|(?: {rows}|^{rows})"))
});
static TWO_COLUMNS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"[0-9]\.[0-9]{1,3}s?\s+[0-9]{1,4} - |-- Speedtest1 .*-- Speedtest1 "));
static SQL_ROW: LazyLock<Regex> = LazyLock::new(|| pattern(r"^/\* +[0-9]{1,4} - .*\*/$"));
static FAILURE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        "SQL error: |exec error: |Error code [0-9]+: |Count disagree |Cannot open database file: ",
        "|unknown testset: |unknown option: |compile with -DSQLITE_ENABLE_RTREE|cannot allocate "
    ))
});

fn fault(line: usize, reason: impl Into<String>) -> ImportError {
    ImportError { line, reason: reason.into() }
}

/// A line that an editor or terminal cut in two regains the tool's fixed columns when it is joined;
/// nothing else is joined, so that a foreign line never completes a row.
static REJOINED: LazyLock<Regex> = LazyLock::new(|| {
    let time = r"-?[0-9]+\.[0-9]{3}s$";
    let banner = r"-- Speedtest1 for SQLite [0-9.]+ .{48,}$";
    pattern(&format!(
        "^ *[0-9]{{1,4}} - .{{60}} +{time}|^ {{7}}TOTAL\\.{{55}} +{time}|^{banner}|^Verification Hash: "
    ))
});

/// The first line, joined with the second where that mends a wrapped line; and how many lines it used.
fn unwrap(lines: &[String]) -> (String, usize) {
    let first = &lines[0];
    let (prefix, start) = split_prefix(first);
    let complete = match line::parse(start) {
        Line::Row { time, .. } => time.is_some(),
        Line::Banner { source_id, .. } => source_id.len() >= 48,
        Line::Other => !BEGINS.is_match(first),
        _ => true,
    };
    if let Some(next) = lines.get(1).filter(|_| !complete && prefix.is_empty()) {
        let joined = format!("{first}{next}");
        if REJOINED.is_match(&joined) && line::parse(&joined) != Line::Other {
            return (joined, 2);
        }
    }
    (first.clone(), 1)
}

/// What a log put before the tool's own text, and that text.
fn split_prefix(line: &str) -> (&str, &str) {
    line.split_at(BEGINS.find(line).map_or(0, |found| found.start()))
}

/// Puts log prefixes that differ only in numbers on one footing.
fn shape(prefix: &str) -> String {
    static DIGITS: LazyLock<Regex> = LazyLock::new(|| pattern("[0-9]+"));
    DIGITS.replace_all(prefix, "0").into_owned()
}

/// A log prefix is short and holds no quotes: a quoted row is prose about the tool.
fn plausible(prefix: &str) -> bool {
    prefix.len() <= 160 && !prefix.contains(['"', '\'', '`', '*', '|']) || prefix.trim_end().ends_with('|')
}

/// A run whose end has not been seen.
#[derive(Default)]
struct OpenRun {
    prefix: String,
    banner: Option<Banner>,
    headers: Vec<(usize, String)>,
    rows: Vec<(usize, u32, String, Time)>,
    unfinished: Option<(usize, u32, String)>,
    total: Option<(usize, Time)>,
    trailer: RunOutput,
    failure: Option<String>,
    lines: (usize, usize),
}

impl OpenRun {
    /// Whether a row of this number can follow: numbers grow inside a testset, so one that falls back
    /// without a header or a 999 before it belongs to the next run.
    fn goes_on_with(&self, number: u32) -> bool {
        let announced = self.headers.last().is_some_and(|(at, _)| *at == self.rows.len());
        let grows = self.rows.last().is_none_or(|last| last.1 == 999 || last.1 <= number);
        self.total.is_none() && (announced || grows)
    }

    fn close(self) -> Result<ImportedRun, ImportError> {
        let unpadded = self.rows.iter().find(|row| !row.3.padded).map(|row| row.0);
        let mut assembler = Assembler::new(None);
        let mut headers = self.headers.iter().peekable();
        let mut total = None;
        for (index, (line, number, name, time)) in self.rows.iter().enumerate() {
            if let Some((_, testset)) = headers.next_if(|(at, _)| *at == index) {
                assembler.testset(testset).map_err(|f| fault(*line, f.to_string()))?;
            }
            assembler.start(*number, name).map_err(|f| fault(*line, f.to_string()))?;
            assembler.finish(time.milliseconds()).map_err(|f| fault(*line, f.to_string()))?;
        }
        if let Some((_, number, name)) = &self.unfinished {
            let _ = assembler.start(*number, name);
        }
        if let Some((line, time)) = self.total {
            assembler.total(time.milliseconds()).map_err(|f| fault(line, f.to_string()))?;
            total = Some(line);
        }
        match (unpadded, total) {
            (Some(line), None) => {
                return Err(fault(line, "fewer than three decimals, and no TOTAL to tell what they mean"));
            }
            _ if self.rows.is_empty() => {
                return Err(fault(self.lines.0, "a banner without any finished row"));
            }
            _ => {}
        }
        let mut output = assembler.output;
        let partial = match (&output.total_ms, self.failure) {
            (Some(_), None) => None,
            (_, Some(failure)) => Some(failure),
            (None, None) => Some(match &output.unfinished {
                Some((key, _)) => format!("cut short in step {key}: no TOTAL"),
                None => "cut short: no TOTAL".to_string(),
            }),
        };
        output.banner = self.banner;
        output.hash = self.trailer.hash;
        output.statistics = self.trailer.statistics;
        output.compile_options = self.trailer.compile_options;
        Ok(ImportedRun { output, lines: self.lines, partial, unpadded: unpadded.is_some() })
    }
}

#[derive(Default)]
struct Reader {
    runs: Vec<ImportedRun>,
    open: Option<OpenRun>,
    /// The first lines outside any run that could explain why a file holds none.
    failure: Option<(usize, String)>,
    foreign: Option<(usize, String)>,
}

impl Reader {
    fn line(&mut self, at: usize, text: &str) -> Result<(), ImportError> {
        if TWO_COLUMNS.is_match(text) {
            return Err(fault(at, "two outputs side by side; split them into one file each"));
        }
        let (prefix, rest) = split_prefix(text);
        let parsed = line::parse(rest);
        let prefix = shape(prefix.trim_end());
        let is_ours = parsed != Line::Other
            && match &self.open {
                Some(run) if run.total.is_none() => {
                    run.prefix == prefix || matches!(parsed, Line::Banner { .. })
                }
                _ => plausible(&prefix),
            };
        if !is_ours {
            return self.foreign(at, text);
        }
        self.own(at, prefix, parsed, rest)?;
        if let Some(run) = &mut self.open {
            run.lines.1 = at;
        }
        Ok(())
    }

    /// A line that begins as one of the tool's does.
    fn own(&mut self, at: usize, prefix: String, parsed: Line<'_>, text: &str) -> Result<(), ImportError> {
        let begin = |prefix| OpenRun { prefix, lines: (at, at), ..OpenRun::default() };
        match parsed {
            Line::Banner { version, source_id } => {
                self.close()?;
                let banner = Banner { version: version.to_string(), source_id: source_id.to_string() };
                self.open = Some(OpenRun { banner: Some(banner), ..begin(prefix) });
            }
            Line::Row { number, name, time } => {
                self.after_unfinished()?;
                if self.open.as_ref().is_some_and(|run| !run.goes_on_with(number)) {
                    self.close()?;
                }
                match time {
                    Some(time) => {
                        let run = self.open.get_or_insert_with(|| begin(prefix));
                        run.rows.push((at, number, name.to_string(), time));
                    }
                    None => self.unfinished(at, number, name, text)?,
                }
            }
            Line::Testset(name) => {
                self.after_unfinished()?;
                if self.open.as_ref().is_some_and(|run| run.total.is_some()) {
                    self.close()?;
                }
                let run = self.open.get_or_insert_with(|| begin(prefix));
                run.headers.push((run.rows.len(), name.to_string()));
            }
            Line::Total(time) => {
                self.after_unfinished()?;
                match &mut self.open {
                    Some(run) if run.total.is_none() && !run.rows.is_empty() => run.total = Some((at, time)),
                    _ => return Err(fault(at, "TOTAL without the rows that it adds up")),
                }
            }
            trailer => {
                let Some(run) = &mut self.open else { return Ok(()) };
                let taken = run.total.is_some() && run.trailer.record_trailer(&trailer);
                if !taken && !run.rows.is_empty() {
                    return Err(fault(at, Fault::Unexpected(text.to_string()).to_string()));
                }
            }
        }
        Ok(())
    }

    fn unfinished(&mut self, at: usize, number: u32, name: &str, text: &str) -> Result<(), ImportError> {
        // Outside a run, boot messages and prose have lines such as `2 - query` too.
        let Some(run) = &mut self.open else { return self.foreign(at, text) };
        let mut name = name;
        if let Some(found) = FAILURE.find(name) {
            run.failure = Some(excerpt(&name[found.start()..]));
            name = name[..found.start()].trim_end_matches(['.', ' ']);
        }
        run.unfinished = Some((at, number, name.to_string()));
        Ok(())
    }

    /// Another line of the tool follows a row that has no time: something took the time away.
    fn after_unfinished(&self) -> Result<(), ImportError> {
        match self.open.as_ref().and_then(|run| run.unfinished.as_ref()) {
            Some((at, ..)) => Err(fault(*at, "the row has no time, though the output goes on after it")),
            None => Ok(()),
        }
    }

    /// A line that is not the tool's.
    fn foreign(&mut self, at: usize, text: &str) -> Result<(), ImportError> {
        if SQL_ROW.is_match(text) {
            return Err(fault(at, "a listing of SQL (--sqlonly or --explain): it holds no times"));
        }
        let failure = FAILURE.find(text).map(|found| excerpt(&text[found.start()..]));
        let Some(run) = &mut self.open else {
            return self.outside(at, text, failure);
        };
        if let Some(failure) = failure {
            run.failure.get_or_insert(failure);
            return Ok(());
        }
        let fence = text.trim_start().starts_with("```");
        if fence && !run.rows.is_empty() {
            return self.close();
        }
        let harmless = text.trim().is_empty() || run.total.is_some() || run.failure.is_some();
        if harmless || (run.rows.is_empty() && run.unfinished.is_none()) {
            return Ok(());
        }
        Err(fault(at, Fault::Unexpected(text.to_string()).to_string()))
    }

    fn outside(&mut self, at: usize, text: &str, failure: Option<String>) -> Result<(), ImportError> {
        if let Some(failure) = failure {
            self.failure.get_or_insert((at, failure));
        } else if !text.starts_with("# source:") && text.bytes().any(|byte| byte.is_ascii_digit()) {
            self.foreign.get_or_insert((at, text.to_string()));
        }
        let total = text.trim_start().starts_with("TOTAL") && line::split_time(text).1.is_some();
        if total { Err(fault(at, "TOTAL without the rows that it adds up")) } else { Ok(()) }
    }

    fn close(&mut self) -> Result<(), ImportError> {
        match self.open.take() {
            Some(run) if run.rows.is_empty() => match (run.failure, run.unfinished) {
                (Some(failure), _) => {
                    Err(fault(run.lines.1, format!("the run failed before its first row ended: {failure}")))
                }
                (None, Some((at, ..))) => Err(fault(at, "cut off in the first row: nothing was measured")),
                (None, None) => match self.failure.take() {
                    Some((at, failure)) => {
                        Err(fault(at, format!("the run failed before its first row: {failure}")))
                    }
                    None => Err(fault(run.lines.0, "a banner without any row")),
                },
            },
            Some(run) => {
                self.runs.push(run.close()?);
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn end(mut self) -> Result<Vec<ImportedRun>, ImportError> {
        self.close()?;
        if !self.runs.is_empty() {
            return Ok(self.runs);
        }
        Err(match (self.failure, self.foreign) {
            (Some((at, failure)), _) => fault(at, format!("the run failed: {failure}")),
            (None, Some((at, text))) if text.starts_with('|') => fault(
                at,
                format!(
                    "`{}` is a row of a published table, not the tool's output; write it as a reference instead",
                    excerpt(&text)
                ),
            ),
            (None, Some((at, text))) => fault(
                at,
                format!(
                    "`{}` is not speedtest1's output; expected rows such as ` 100 - NAME.....    0.058s`",
                    excerpt(&text)
                ),
            ),
            (None, None) => fault(1, "no row of speedtest1 in this file"),
        })
    }
}
