//! A run while it is being read, and the rules that it must obey.

use super::super::line::{Line, Time};
use super::super::output::{Assembler, Banner, Fault, RunOutput, excerpt};
use super::super::testset;
use super::{ImportError, ImportedRun, ending, fault, layout, unexpected};
use crate::record::{Cause, Failure};

/// The largest number of rows; no list of testsets comes near it, so a run with more is not one run.
const MOST_ROWS: usize = 2_000;

const MIXED: &str = "the row has no time, and what follows is not the tool's; \
    save standard output apart from standard error";

/// The largest number of foreign lines after a row that are kept to explain how the run ended.
const MOST_KEPT: usize = 200;

/// A run whose end has not been seen.
#[derive(Default)]
pub struct OpenRun {
    pub prefix: String,
    pub banner: Option<Banner>,
    pub headers: Vec<(usize, String)>,
    pub rows: Vec<Row>,
    pub unfinished: Option<Unfinished>,
    pub total: Option<(usize, Time)>,
    pub trailer: RunOutput,
    /// The line of the first trailer before TOTAL, which ends a run.
    pub trailer_at: Option<(usize, String)>,
    pub failure: Option<(usize, String)>,
    /// Lines of others between two lines of this run, and since its last line.
    pub foreign: Vec<(usize, String)>,
    pub tail: Vec<(usize, String)>,
    pub lines: (usize, usize),
    /// What stood before the run.
    pub before: Vec<String>,
}

/// A row without a time.
pub struct Unfinished {
    pub at: usize,
    pub number: u32,
    pub name: String,
    /// What something else wrote behind the name.
    pub said: String,
}

pub struct Row {
    pub at: usize,
    pub number: u32,
    pub name: String,
    pub time: Time,
}

impl OpenRun {
    /// Returns whether the reader is between the banner and TOTAL, a trailer or a failure.
    pub fn is_running(&self) -> bool {
        self.total.is_none() && self.failure.is_none() && self.trailer_at.is_none()
    }

    /// Takes a line that may only follow TOTAL, or the place where TOTAL was.
    pub fn ends_with(&mut self, at: usize, trailer: &Line<'_>, text: &str) -> Result<(), ImportError> {
        if !self.trailer.record_trailer(trailer) {
            return Err(unexpected(at, text));
        }
        if self.total.is_none() && self.trailer_at.is_none() {
            self.goes_on();
            self.trailer_at = Some((at, text.to_string()));
        }
        Ok(())
    }

    /// Checks that no trailer came before this line of the run.
    pub fn check_not_ended(&self) -> Result<(), ImportError> {
        self.trailer_at.as_ref().map_or(Ok(()), |(at, text)| Err(unexpected(*at, text)))
    }

    /// Returns whether a row of this number can follow: numbers grow within a testset.
    pub fn goes_on_with(&self, number: u32) -> bool {
        let announced = self.headers.last().is_some_and(|(at, _)| *at == self.rows.len());
        let grows = self.last_number().is_none_or(|last| last == 999 || last <= number);
        self.is_running() && (announced || grows)
    }

    /// Returns the number of the last row, finished or not.
    fn last_number(&self) -> Option<u32> {
        let unfinished = self.unfinished.as_ref().map(|row| row.number);
        unfinished.or(self.rows.last().map(|row| row.number))
    }

    /// Checks that a row which can't follow may be the first of another run. Unless TOTAL was printed, it
    /// must be the first step of a testset, and this run must either have no banner or have a reason for
    /// lacking TOTAL.
    pub fn check_ended_before(&self, at: usize, number: u32, name: &str) -> Result<(), ImportError> {
        let crashed = self.tail.iter().any(|(_, line)| ending::is_crash(line));
        let explained =
            self.banner.is_none() || self.unfinished.is_some() || self.failure.is_some() || crashed;
        let ended = self.trailer_at.is_some() || explained;
        if self.total.is_some() || (ended && testset::of_first_step(name).is_some()) {
            return Ok(());
        }
        self.check_not_ended()?;
        let after = self.last_number().unwrap_or_default();
        let reason = match &self.failure {
            Some((_, failure)) => format!("the output continues after the run failed: {failure}"),
            None => format!("row {number} after row {after}: lines are missing or mixed"),
        };
        Err(fault(at, reason))
    }

    /// Returns whether the testset already has such a row. No testset has two rows of one number whose names
    /// differ only in counts (`star` has two 130s with different names).
    fn has(&self, number: u32, name: &str) -> bool {
        let begin = self.headers.last().map_or(0, |(at, _)| *at);
        let mut alike = self.rows[begin..].iter().rev().take_while(|row| row.number == number);
        let words = |name: &str| -> Vec<String> {
            let counts = |word: &&str| !word.bytes().all(|byte| byte.is_ascii_digit());
            name.split(' ').filter(counts).map(str::to_string).collect()
        };
        alike.any(|row| words(&row.name) == words(name))
    }

    /// Takes a line of others. Only the next line of the run, or its absence, tells what it means.
    pub fn others_say(&mut self, at: usize, text: &str) -> Result<(), ImportError> {
        if layout::like_a_row(text) {
            return Err(unexpected(at, text));
        }
        // Behind what others wrote comes the time of the row.
        if let Some(row) = self.unfinished.as_ref().filter(|_| layout::is_time(text)) {
            return Err(fault(row.at, MIXED));
        }
        if self.tail.len() < MOST_KEPT {
            self.tail.push((at, text.to_string()));
        }
        Ok(())
    }

    /// Notes that the run goes on, so that what others said lies within it.
    pub fn goes_on(&mut self) {
        self.foreign.append(&mut self.tail);
    }

    pub fn push(&mut self, row: Row) -> Result<(), ImportError> {
        if self.has(row.number, &row.name) {
            let reason = format!(
                "row {} appears twice; two outputs are mixed here, or a line was duplicated",
                row.number
            );
            return Err(fault(row.at, reason));
        }
        if self.rows.len() == MOST_ROWS {
            return Err(fault(row.at, format!("more than {MOST_ROWS} rows in one run")));
        }
        self.rows.push(row);
        Ok(())
    }

    /// Takes a header. A testset may begin only at the start or after the `Reset the database` row of the one
    /// before.
    pub fn announce(&mut self, at: usize, testset: &str) -> Result<(), ImportError> {
        let twice = self.headers.last().is_some_and(|(at, _)| *at == self.rows.len());
        if twice || self.rows.last().is_some_and(|last| last.number != 999) {
            let reason = format!("testset `{testset}` begins in the middle of another: rows are missing");
            return Err(fault(at, reason));
        }
        self.headers.push((self.rows.len(), testset.to_string()));
        Ok(())
    }

    /// Treats the last row as unfinished if the file ends in the middle of its time.
    pub fn drop_cut_time(&mut self) {
        let cut = self.total.is_none() && self.failure.is_none() && self.unfinished.is_none();
        if let Some(row) = self.rows.pop_if(|row| cut && !row.time.padded()) {
            self.unfinished =
                Some(Unfinished { at: row.at, number: row.number, name: row.name, said: String::new() });
        }
    }

    /// Decides whether times of fewer than three decimals are milliseconds without padding or rounded
    /// seconds. Only a TOTAL that fits one reading and not the other can tell. Returns whether any are
    /// unpadded.
    fn check_padding(&self) -> Result<bool, ImportError> {
        let is_unpadded = |row: &&Row| !row.time.padded();
        let short_total = self.total.filter(|(_, total)| !total.padded()).map(|(at, _)| at);
        let Some(at) = self.rows.iter().find(is_unpadded).map(|row| row.at).or(short_total) else {
            return Ok(false);
        };
        let Some((_, total)) = self.total else {
            return Err(fault(at, "fewer than three decimals, and no TOTAL to tell what they mean"));
        };
        let adds_up =
            |read: fn(Time) -> i64| self.rows.iter().map(|row| read(row.time)).sum::<i64>() == read(total);
        let alike = self.rows.iter().all(|row| row.time.milliseconds() == row.time.as_decimal());
        match (adds_up(Time::milliseconds), adds_up(Time::as_decimal)) {
            (true, decimal) if alike || !decimal => Ok(true),
            (true, _) => Err(fault(
                at,
                "fewer than three decimals, and TOTAL adds up either way, as milliseconds without padding and as rounded seconds",
            )),
            (false, _) => Err(fault(
                at,
                "fewer than three decimals, and TOTAL does not confirm that they are milliseconds without padding",
            )),
        }
    }

    pub fn close(self) -> Result<ImportedRun, ImportError> {
        let unpadded = self.check_padding()?;
        let first_foreign = self.foreign.first().map(|(at, text)| (*at, excerpt(text)));
        let mut output = self.assembled().map_err(|error| match (&first_foreign, &error.fault) {
            (Some((at, text)), Fault::TotalMismatch { .. }) => unexpected(*at, text),
            (_, other) => fault(error.line, other.to_string()),
        })?;
        if let (Some((at, text)), None) = (&first_foreign, output.total_ms) {
            let reason = format!("`{text}` lies between two rows, and no TOTAL shows that no row is lost");
            return Err(fault(*at, reason));
        }
        let partial = self.ending(&output);
        output.banner = self.banner;
        output.hash = self.trailer.hash;
        output.statistics = self.trailer.statistics;
        output.compile_options = self.trailer.compile_options;
        let announced = self.headers.first().is_some_and(|(at, _)| *at == 0);
        let foreign = first_foreign.map(|(_, text)| (self.foreign.len() as u32, text));
        Ok(ImportedRun {
            output,
            text: None,
            lines: self.lines,
            partial,
            unpadded,
            announced,
            foreign,
            before: self.before,
            after: Vec::new(),
        })
    }

    /// Puts rows and headers together, and checks TOTAL.
    fn assembled(&self) -> Result<RunOutput, Unsound> {
        let mut assembler = Assembler::new(None);
        let mut headers = self.headers.iter().peekable();
        for (index, row) in self.rows.iter().enumerate() {
            let result = match headers.next_if(|(at, _)| *at == index) {
                Some((_, testset)) => assembler.testset(testset),
                None => Ok(()),
            };
            let result = result.and_then(|()| assembler.start(row.number, &row.name));
            let result = result.and_then(|_| assembler.finish(row.time.milliseconds()));
            result.map_err(|fault| Unsound::at(row.at, fault))?;
        }
        if let Some((_, testset)) = headers.next() {
            let _ = assembler.testset(testset);
        }
        if let Some(row) = &self.unfinished {
            let _ = assembler.start(row.number, &row.name);
        }
        if let Some((line, time)) = self.total {
            assembler.total(time.milliseconds()).map_err(|fault| Unsound::at(line, fault))?;
        }
        Ok(assembler.output)
    }

    /// Returns why the run is not whole, or `None` if it is.
    fn ending(&self, output: &RunOutput) -> Option<Failure> {
        if let Some((_, said)) = &self.failure {
            return Some(Failure::saying(Cause::Error, said));
        }
        if output.total_ms.is_some() {
            return None;
        }
        let begun = self.headers.last().filter(|(at, _)| *at == self.rows.len());
        let place = match (&output.unfinished, begun, output.steps.last()) {
            (Some((key, _)), ..) => format!(" in row {key}"),
            (None, Some((_, testset)), _) => format!(" at the beginning of testset {testset}"),
            (None, None, last) => last.map_or(String::new(), |row| format!(" after row {}", row.key)),
        };
        let behind = self.unfinished.iter().map(|row| row.said.as_str()).filter(|said| !said.is_empty());
        let said: Vec<String> =
            behind.chain(self.tail.iter().map(|(_, line)| line.as_str())).map(excerpt).collect();
        Some(ending::of(&place, said.iter().map(String::as_str)))
    }
}

/// A fault in what was put together, with its line.
struct Unsound {
    line: usize,
    fault: Fault,
}

impl Unsound {
    fn at(line: usize, fault: Fault) -> Unsound {
        Unsound { line, fault }
    }
}

/// Returns whether a finished row can be the first of a run without a banner. Prose and other benchmarks may
/// have lines such as `2 - query 0.12`, too.
pub fn begins_run(prefix: &str, parsed: &Line<'_>, text: &str) -> bool {
    match parsed {
        Line::Row { name, time: Some(_), .. } => {
            layout::in_columns(text) || prefix.is_empty() && testset::of_first_step(name).is_some()
        }
        _ => false,
    }
}
