//! A run while it is being read, and the rules that it must obey.

use super::super::line::{Line, Time};
use super::super::output::{Assembler, Banner, RunOutput};
use super::super::testset;
use super::{ImportError, ImportedRun, fault, layout};
use crate::record::{Cause, Failure};

/// The largest number of rows; no list of testsets comes near it, so a run with more is not one run.
const MOST_ROWS: usize = 2_000;

/// A run whose end has not been seen.
#[derive(Default)]
pub struct OpenRun {
    pub prefix: String,
    pub banner: Option<Banner>,
    pub headers: Vec<(usize, String)>,
    pub rows: Vec<Row>,
    pub unfinished: Option<(usize, u32, String)>,
    pub total: Option<(usize, Time)>,
    pub trailer: RunOutput,
    pub failure: Option<(usize, String)>,
    pub lines: (usize, usize),
}

pub struct Row {
    pub at: usize,
    pub number: u32,
    pub name: String,
    pub time: Time,
}

impl OpenRun {
    /// Returns whether the reader is between the banner and TOTAL or a failure.
    pub fn is_running(&self) -> bool {
        self.total.is_none() && self.failure.is_none()
    }

    /// Returns whether a row of this number can follow: numbers grow within a testset.
    pub fn goes_on_with(&self, number: u32) -> bool {
        let announced = self.headers.last().is_some_and(|(at, _)| *at == self.rows.len());
        let grows = self.last_number().is_none_or(|last| last == 999 || last <= number);
        self.is_running() && (announced || grows)
    }

    /// Returns the number of the last row, finished or not.
    fn last_number(&self) -> Option<u32> {
        let unfinished = self.unfinished.as_ref().map(|(_, number, _)| *number);
        unfinished.or(self.rows.last().map(|row| row.number))
    }

    /// Checks that a row which can't follow may be the first of another run. Unless TOTAL was printed, it
    /// must be the first step of a testset, and this run must either have no banner or have a reason for
    /// lacking TOTAL.
    pub fn check_ended_before(&self, at: usize, number: u32, name: &str) -> Result<(), ImportError> {
        let explained = self.banner.is_none() || self.unfinished.is_some() || self.failure.is_some();
        if self.total.is_some() || (explained && testset::of_first_step(name).is_some()) {
            return Ok(());
        }
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
            self.unfinished = Some((row.at, row.number, row.name));
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
        let mut assembler = Assembler::new(None);
        let mut headers = self.headers.iter().peekable();
        for (index, row) in self.rows.iter().enumerate() {
            let result = match headers.next_if(|(at, _)| *at == index) {
                Some((_, testset)) => assembler.testset(testset),
                None => Ok(()),
            };
            let result = result.and_then(|()| assembler.start(row.number, &row.name));
            let result = result.and_then(|_| assembler.finish(row.time.milliseconds()));
            result.map_err(|f| fault(row.at, f.to_string()))?;
        }
        let begun = headers.next().map(|(_, testset)| testset);
        if let Some(testset) = begun {
            let _ = assembler.testset(testset);
        }
        if let Some((_, number, name)) = &self.unfinished {
            let _ = assembler.start(*number, name);
        }
        if let Some((line, time)) = self.total {
            assembler.total(time.milliseconds()).map_err(|f| fault(line, f.to_string()))?;
        }
        let mut output = assembler.output;
        let partial = match (&output.total_ms, self.failure) {
            (Some(_), None) => None,
            (_, Some((_, said))) => Some(Failure::saying(Cause::Error, said)),
            (None, None) => {
                let place = match (&output.unfinished, begun) {
                    (Some((key, _)), _) => format!(" in row {key}"),
                    (None, Some(testset)) => format!(" at the beginning of testset {testset}"),
                    (None, None) => String::new(),
                };
                Some(Failure::at(Cause::CutShort, &place, "no TOTAL"))
            }
        };
        output.banner = self.banner;
        output.hash = self.trailer.hash;
        output.statistics = self.trailer.statistics;
        output.compile_options = self.trailer.compile_options;
        Ok(ImportedRun { output, lines: self.lines, partial, unpadded })
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
