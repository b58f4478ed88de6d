//! Reads saved speedtest1 output of any version in the forms in which people keep it: with CRLF, colour, log
//! prefixes, wrapped lines, boot messages before it, or several runs in one file.
//!
//! The rule is to import it correctly or to refuse it with the line and the reason. Lines of others inside a run
//! are skipped only when TOTAL, the sum of all rows, shows that no row is lost in them.

mod context;
mod ending;
mod inference;
mod layout;
mod records;
mod run;

pub use records::records;

use super::line::{self, Line, pattern};
use super::output::{Banner, Fault, RunOutput, excerpt};
use crate::record::Failure;
use regex::Regex;
use run::{OpenRun, Row, Unfinished, begins_run};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::LazyLock;
use thiserror::Error;

/// The line that stopped an import, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {reason}")]
pub struct ImportError {
    /// The line number, counted from 1.
    pub line: usize,
    /// What was expected, and what to do.
    pub reason: String,
}

/// One run found in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedRun {
    /// What the run printed.
    pub output: RunOutput,
    /// The first and last line of the run in the file, counted from 1.
    pub lines: (usize, usize),
    /// The lines of the run as they are in the file; `None` if they are too many to be kept.
    pub text: Option<String>,
    /// Why the run is incomplete; `None` when TOTAL was printed and adds up.
    pub partial: Option<Failure>,
    /// Whether times were printed without zero padding, a reading that TOTAL confirmed.
    pub unpadded: bool,
    /// Whether a header stands before the first row.
    pub announced: bool,
    /// The number of lines of others inside the run, and the first of them.
    pub foreign: Option<(u32, String)>,
    /// The lines before the run that belong to no other run, oldest first.
    pub before: Vec<String>,
    /// The lines after the last run of a file; empty for any other run.
    pub after: Vec<String>,
}

/// Reads every run in `bytes`; there is at least one.
///
/// # Errors
/// Names the first line that is neither safe to skip nor understood.
pub fn import(bytes: &[u8]) -> Result<Vec<ImportedRun>, ImportError> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(fault(1, "UTF-16; save the output as UTF-8 text"));
    }
    if let Some(zero) = bytes.iter().position(|&byte| byte == 0) {
        let line = bytes[..zero].iter().filter(|&&byte| byte == b'\n').count() + 1;
        return Err(fault(line, "UTF-16 or binary data (a zero byte); save the output as UTF-8 text"));
    }
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}');
    // Old files may have CR alone as the line end.
    let text = if text.contains('\n') { Cow::Borrowed(text) } else { Cow::Owned(text.replace('\r', "\n")) };
    let mut reader = Reader::default();
    layout::lines(&text).try_for_each(|(span, line)| reader.line(span, &line))?;
    let mut runs = reader.end()?;
    let lines: Vec<&str> = text.lines().collect();
    for run in &mut runs {
        let own = &lines[run.lines.0 - 1..run.lines.1];
        let short = own.iter().map(|line| line.len()).sum::<usize>() <= MOST_TEXT;
        run.text = short.then(|| own.join("\n"));
    }
    Ok(runs)
}

/// The largest text of a run in bytes that is kept.
const MOST_TEXT: usize = 256 * 1024;

static SQL_ROW: LazyLock<Regex> = LazyLock::new(|| pattern(r"^/\* +[0-9]{1,4} - .*\*/$"));

/// The largest number of runs, which is that of one measurement.
const MOST_RUNS: usize = 1_000;

/// The largest number of lines between two runs that are kept to tell them apart.
const MOST_BETWEEN: usize = 200;

fn fault(line: usize, reason: impl Into<String>) -> ImportError {
    ImportError { line, reason: reason.into() }
}

fn unexpected(line: usize, text: &str) -> ImportError {
    fault(line, Fault::Unexpected(text.to_string()).to_string())
}

#[derive(Default)]
struct Reader {
    runs: Vec<ImportedRun>,
    open: Option<OpenRun>,
    /// The first lines outside any run that could explain why the file contains no run.
    failure: Option<(usize, String)>,
    foreign: Option<(usize, String)>,
    /// The last lines outside any run.
    between: VecDeque<String>,
}

impl Reader {
    fn line(&mut self, span: (usize, usize), text: &str) -> Result<(), ImportError> {
        if text.is_empty() {
            return Ok(());
        }
        if layout::too_long(text) {
            return self.foreign(span.0, &excerpt(text));
        }
        if layout::two_columns(text) {
            return Err(fault(span.0, "two outputs side by side; save each to a file of its own"));
        }
        let mut rest = text;
        while let Some((killed, next)) = layout::unglue(rest) {
            self.piece(span, killed)?;
            rest = next;
        }
        self.piece(span, rest)
    }

    /// Takes a line that holds no other.
    fn piece(&mut self, (at, last): (usize, usize), text: &str) -> Result<(), ImportError> {
        let (prefix, rest) = layout::split_prefix(text);
        let parsed = line::parse(rest);
        let prefix = layout::shape(prefix);
        if !self.is_ours(&prefix, &parsed, rest) {
            return self.foreign(at, text);
        }
        self.own(at, prefix, parsed, rest)?;
        if let Some(run) = &mut self.open {
            run.lines.1 = last;
        }
        Ok(())
    }

    /// Returns whether a line that reads as one of the tool's belongs to a run or can begin one.
    fn is_ours(&self, prefix: &str, parsed: &Line<'_>, text: &str) -> bool {
        let begins = || layout::plausible(prefix) && begins_run(prefix, parsed, text);
        match (parsed, &self.open) {
            (Line::Other, _) => false,
            (Line::Banner { .. }, Some(run)) if run.is_running() => true,
            // A banner may follow a prompt on its line, so the first row determines the prefix.
            (Line::Row { .. }, Some(run)) if run.is_running() => {
                run.prefix == prefix || (run.rows.is_empty() && begins())
            }
            (Line::Testset(_), Some(run)) if run.is_running() && run.rows.is_empty() => {
                layout::plausible(prefix)
            }
            (_, Some(run)) if run.is_running() => run.prefix == prefix,
            (Line::Row { .. }, _) => begins(),
            (Line::Banner { .. } | Line::Testset(_) | Line::Total(_), _) => layout::plausible(prefix),
            (_, run) => run.as_ref().is_some_and(|run| run.prefix == prefix),
        }
    }

    /// Takes a line that begins like one of the tool's.
    fn own(&mut self, at: usize, prefix: String, parsed: Line<'_>, text: &str) -> Result<(), ImportError> {
        match parsed {
            Line::Banner { version, source_id } => {
                self.close()?;
                let banner = Banner { version: version.to_string(), source_id: source_id.to_string() };
                self.begin(at, prefix).banner = Some(banner);
            }
            Line::Row { number, name, time } => {
                match &self.open {
                    Some(run) if !run.goes_on_with(number) => {
                        run.check_ended_before(at, number, name)?;
                        self.close()?;
                    }
                    _ => self.check_finished()?,
                }
                match time {
                    Some(time) => {
                        self.failure = None;
                        self.begin(at, prefix).push(Row { at, number, name: name.to_string(), time })?;
                    }
                    None => self.unfinished(at, number, name, text)?,
                }
            }
            Line::Testset(name) => match &self.open {
                // The failure message, on standard error, overtook the text that was still in the buffer.
                Some(run) if run.failure.is_some() => {}
                run => {
                    run.as_ref().map_or(Ok(()), OpenRun::check_not_ended)?;
                    if run.as_ref().is_some_and(|run| run.total.is_some()) {
                        self.close()?;
                    }
                    self.check_finished()?;
                    self.begin(at, prefix).announce(at, name)?;
                }
            },
            Line::Total(time) => {
                self.check_finished()?;
                self.open.as_ref().map_or(Ok(()), OpenRun::check_not_ended)?;
                match &mut self.open {
                    Some(run) if run.is_running() && !run.rows.is_empty() => {
                        run.goes_on();
                        run.total = Some((at, time));
                    }
                    _ => return Err(fault(at, "TOTAL without the rows that it sums up")),
                }
            }
            trailer => {
                let Some(run) = &mut self.open else { return Ok(()) };
                if run.rows.is_empty() || run.failure.is_some() {
                    return Ok(());
                }
                self.check_finished()?;
                self.open.as_mut().map_or(Ok(()), |run| run.ends_with(at, &trailer, text))?;
            }
        }
        Ok(())
    }

    /// Returns the open run, which goes on, or begins a new one. Until the first row, its prefix is that of the
    /// line read last.
    fn begin(&mut self, at: usize, prefix: String) -> &mut OpenRun {
        let between = &mut self.between;
        let run = self.open.get_or_insert_with(|| OpenRun {
            lines: (at, at),
            before: between.drain(..).collect(),
            ..OpenRun::default()
        });
        if run.rows.is_empty() {
            run.prefix = prefix;
        }
        run.goes_on();
        run
    }

    fn unfinished(&mut self, at: usize, number: u32, rest: &str, text: &str) -> Result<(), ImportError> {
        // Outside a run, boot messages and prose may have lines such as `2 - query`, too.
        let Some(run) = &mut self.open else { return self.foreign(at, text) };
        run.goes_on();
        let (name, said) = match ending::said_by_the_tool(rest) {
            Some(start) => {
                run.failure = Some((at, excerpt(&rest[start..])));
                (rest[..start].trim_end_matches(['.', ' ']), "")
            }
            None => layout::split_name(rest),
        };
        run.unfinished = Some(Unfinished { at, number, name: name.to_string(), said: said.to_string() });
        Ok(())
    }

    /// Refuses a row without a time when another line of the tool follows it, because the time is lost.
    fn check_finished(&self) -> Result<(), ImportError> {
        match self.open.as_ref().and_then(|run| run.unfinished.as_ref()) {
            Some(row) => Err(fault(row.at, "the row has no time, although the output continues after it")),
            None => Ok(()),
        }
    }

    /// Takes a line that is not the tool's.
    fn foreign(&mut self, at: usize, text: &str) -> Result<(), ImportError> {
        if SQL_ROW.is_match(text) {
            return Err(fault(at, "a listing of SQL (--sqlonly or --explain), which holds no times"));
        }
        let failure = ending::said_by_the_tool(text).map(|start| excerpt(&text[start..]));
        match &mut self.open {
            Some(run) if !run.rows.is_empty() && text.trim_start().starts_with("```") => self.close(),
            Some(run) if run.is_running() => match failure {
                Some(failure) => {
                    run.failure = Some((at, failure));
                    Ok(())
                }
                None if run.rows.is_empty() && run.unfinished.is_none() => Ok(()),
                None => run.others_say(at, text),
            },
            _ => self.outside(at, text, failure),
        }
    }

    fn outside(&mut self, at: usize, text: &str, failure: Option<String>) -> Result<(), ImportError> {
        if let Some(failure) = failure {
            self.failure.get_or_insert((at, failure));
        } else if !text.starts_with("# source:") && text.bytes().any(|byte| byte.is_ascii_digit()) {
            self.foreign.get_or_insert((at, text.to_string()));
        }
        self.keep_between(text);
        let total = text.trim_start().starts_with("TOTAL") && line::split_time(text).1.is_some();
        if total { Err(fault(at, "TOTAL without the rows that it sums up")) } else { Ok(()) }
    }

    fn keep_between(&mut self, text: &str) {
        if self.between.len() == MOST_BETWEEN {
            self.between.pop_front();
        }
        self.between.push_back(text.chars().take(500).collect());
    }

    fn close(&mut self) -> Result<(), ImportError> {
        let mut open = self.open.take();
        open.iter_mut().for_each(OpenRun::drop_cut_time);
        match open {
            Some(run) if run.rows.is_empty() => {
                Err(match (run.failure.or_else(|| self.failure.take()), run.unfinished) {
                    (Some((at, failure)), _) => {
                        fault(at, format!("the run failed before its first row ended: {failure}"))
                    }
                    (None, Some(row)) => fault(row.at, "cut off in the first row: nothing was measured"),
                    (None, None) => fault(run.lines.0, "a run begins here but has no rows"),
                })
            }
            Some(run) if self.runs.len() == MOST_RUNS => {
                Err(fault(run.lines.0, format!("more than {MOST_RUNS} runs in one file; split it")))
            }
            Some(run) => {
                run.tail.iter().for_each(|(_, line)| self.keep_between(line));
                self.runs.push(run.close()?);
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn end(mut self) -> Result<Vec<ImportedRun>, ImportError> {
        self.close()?;
        if let Some(last) = self.runs.last_mut() {
            last.after = self.between.into();
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
