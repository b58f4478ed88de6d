//! Turns speedtest1's output into the steps of a run while it streams in.

use super::StepKey;
use super::line::{self, Line};
use super::testset;
use std::collections::HashMap;
use std::fmt;
use thiserror::Error;

/// The first line of the tool, which says which SQLite it contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Banner {
    /// The SQLite version, such as `3.53.4`.
    pub version: String,
    /// The date, time and check-in, cut off by the tool at 48 characters.
    pub source_id: String,
}

/// A finished row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepRow {
    /// The key of the step.
    pub key: StepKey,
    /// The name as printed, without its dot leader.
    pub name: String,
    /// The time as printed, in milliseconds; negative when the wall clock stepped back.
    pub reported_ms: i64,
}

/// The line that `--verify` adds: the number of bytes of results, and their hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerificationHash {
    /// The number of bytes of query results that went into the hash.
    pub bytes: u64,
    /// The hash as 48 hexadecimal digits.
    pub hash: String,
}

impl fmt::Display for VerificationHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.bytes, self.hash)
    }
}

/// Everything that one run printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunOutput {
    /// The banner; absent in the output of harnesses before 2016.
    pub banner: Option<Banner>,
    /// The finished rows, in order.
    pub steps: Vec<StepRow>,
    /// The key and name of a row that started and never finished.
    pub unfinished: Option<(StepKey, String)>,
    /// TOTAL in milliseconds; absent when the run did not reach its end.
    pub total_ms: Option<i64>,
    /// The verification hash; present with `--verify`.
    pub hash: Option<VerificationHash>,
    /// The name and value of each line of `--stats`.
    pub statistics: Vec<(String, String)>,
    /// The compile options that `--stats` lists.
    pub compile_options: Vec<String>,
}

/// Why an output can't be trusted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// The sum of all rows is not TOTAL, to the millisecond.
    #[error("TOTAL is {} s, but the rows add up to {} s: rows are missing or changed", seconds(*total_ms), seconds(*sum_ms))]
    TotalMismatch {
        /// TOTAL in ms, as printed.
        total_ms: i64,
        /// The sum of the rows in ms.
        sum_ms: i64,
    },
    /// The wall clock was set back while the step ran.
    #[error("row {0} took a negative time: the wall clock was set back during the run")]
    NegativeStep(StepKey),
    /// A testset began that was not asked for or was out of order.
    #[error("testset `{found}` began where `{expected}` was expected")]
    WrongTestset {
        /// The testset that the list puts here.
        expected: String,
        /// The testset that the tool printed.
        found: String,
    },
    /// The tool does not print this text at this place.
    #[error("`{}` is not part of speedtest1's output here", excerpt(.0))]
    Unexpected(String),
    /// More testsets began than were asked for.
    #[error("a testset began after the last one that was asked for")]
    SurplusTestset,
}

/// Returns at most 60 characters of `text`, with control characters replaced.
pub fn excerpt(text: &str) -> String {
    let clean: String = text.trim().chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    match clean.char_indices().nth(60) {
        Some((cut, _)) => format!("{}…", &clean[..cut]),
        None => clean,
    }
}

fn seconds(ms: i64) -> String {
    format!("{}{}.{:03}", if ms < 0 { "-" } else { "" }, ms.abs() / 1000, ms.abs() % 1000)
}

/// Assembles rows, headers and TOTAL into a [`RunOutput`], and checks that they fit together.
pub struct Assembler {
    expected: Option<Vec<String>>,
    position: usize,
    testset: Option<String>,
    testset_begins: bool,
    /// The number of finished steps for each testset and number.
    occurrences: HashMap<(String, u32), u32>,
    /// The output assembled so far.
    pub output: RunOutput,
}

impl Assembler {
    /// Creates an assembler. `expected` lists the testsets that were asked for, in order; with `None` they
    /// are inferred from the text alone.
    pub fn new(expected: Option<Vec<String>>) -> Self {
        Assembler {
            expected,
            position: 0,
            testset: None,
            testset_begins: true,
            occurrences: HashMap::new(),
            output: RunOutput::default(),
        }
    }

    /// Takes a `Begin testset` header.
    pub fn testset(&mut self, name: &str) -> Result<(), Fault> {
        if let Some(list) = &self.expected {
            let due = list.get(self.position).ok_or(Fault::SurplusTestset)?;
            if due != name {
                return Err(Fault::WrongTestset { expected: due.clone(), found: name.to_string() });
            }
        }
        self.testset = Some(name.to_string());
        self.testset_begins = true;
        Ok(())
    }

    /// Takes the start of a row and returns its key.
    pub fn start(&mut self, number: u32, name: &str) -> Result<StepKey, Fault> {
        if self.testset_begins {
            self.begin_testset(name)?;
        }
        let testset = self.testset.clone().unwrap_or_else(|| "unknown".to_string());
        let before = self.occurrences.get(&(testset.clone(), number)).copied().unwrap_or(0);
        let occurrence = before + 1;
        let key = StepKey { testset, number, occurrence };
        self.output.unfinished = Some((key.clone(), name.to_string()));
        Ok(key)
    }

    /// Takes the time of the row that started last. The `Reset the database` row, 999, closes a testset.
    pub fn finish(&mut self, reported_ms: i64) -> Result<(), Fault> {
        let Some((key, name)) = self.output.unfinished.take() else {
            return Err(Fault::Unexpected(format!("a time without a row, {reported_ms} ms")));
        };
        if key.number == 999 {
            self.position += 1;
            self.testset_begins = true;
            self.testset = None;
        }
        self.occurrences.insert((key.testset.clone(), key.number), key.occurrence);
        let negative = (reported_ms < 0).then(|| Fault::NegativeStep(key.clone()));
        self.output.steps.push(StepRow { key, name, reported_ms });
        negative.map_or(Ok(()), Err)
    }

    /// Takes the TOTAL line.
    pub fn total(&mut self, total_ms: i64) -> Result<(), Fault> {
        let sum_ms = self.output.steps.iter().map(|row| row.reported_ms).sum();
        self.output.total_ms = Some(total_ms);
        if total_ms == sum_ms { Ok(()) } else { Err(Fault::TotalMismatch { total_ms, sum_ms }) }
    }

    fn begin_testset(&mut self, first_step: &str) -> Result<(), Fault> {
        self.testset_begins = false;
        if self.testset.is_some() {
            return Ok(());
        }
        self.testset = match &self.expected {
            Some(list) => Some(list.get(self.position).ok_or(Fault::SurplusTestset)?.clone()),
            None => testset::of_first_step(first_step).map(str::to_string),
        };
        Ok(())
    }
}

/// What a piece of live output contained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The tool said which SQLite it contains.
    Banner(Banner),
    /// The step with this key and name is now running.
    Started(StepKey, String),
    /// The running step has ended.
    Finished,
    /// TOTAL was printed, so every step has ended.
    Total,
    /// The output breaks a rule; the scanner continues with what follows.
    Fault(Fault),
}

/// Reads the official tool's output strictly, as it arrives in pieces of any size.
pub struct Scanner {
    pending: Vec<u8>,
    /// Whether the pending line has already been examined for the start of a row.
    row_seen: bool,
    row_open: bool,
    assembler: Assembler,
}

/// The longest line in bytes; a longer one does not come from the tool and is cut and reported.
const LINE_LIMIT: usize = 64 * 1024;

impl Scanner {
    /// Creates a scanner for a run of `testsets`, in this order.
    pub fn new(testsets: Vec<String>) -> Self {
        let assembler = Assembler::new(Some(testsets));
        Scanner { pending: Vec::new(), row_seen: false, row_open: false, assembler }
    }

    /// Takes the next piece of output and returns the events in it. Where one piece ends and the next begins
    /// affects only when events are returned, not which.
    pub fn feed(&mut self, piece: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        for mut part in piece.split_inclusive(|&byte| byte == b'\n') {
            while !part.is_empty() {
                let (now, later) = part.split_at(part.len().min(LINE_LIMIT - self.pending.len()));
                self.pending.extend_from_slice(now);
                part = later;
                let result = self.row_start(&mut events);
                events.extend(result.err().map(Event::Fault));
                if self.pending.ends_with(b"\n") || self.pending.len() == LINE_LIMIT {
                    let bytes = std::mem::take(&mut self.pending);
                    self.row_seen = false;
                    let text = String::from_utf8_lossy(&bytes);
                    let result = self.line(text.trim_end_matches(['\n', '\r']), &mut events);
                    events.extend(result.err().map(Event::Fault));
                }
            }
        }
        events
    }

    /// Returns the testset that began last.
    pub fn testset(&self) -> Option<String> {
        self.assembler.testset.clone()
    }

    /// Ends the scan and returns what was assembled.
    pub fn finish(self) -> RunOutput {
        self.assembler.output
    }

    /// Starts the row at the beginning of the pending line as soon as it is complete there.
    fn row_start(&mut self, events: &mut Vec<Event>) -> Result<(), Fault> {
        if self.row_seen || self.assembler.output.total_ms.is_some() {
            return Ok(());
        }
        let Some(start) = line::row_start(&self.pending) else { return Ok(()) };
        let start = String::from_utf8_lossy(start).into_owned();
        self.row_seen = true;
        match line::parse(&start) {
            Line::Row { number, name, time: None } => self.start(number, name, events),
            _ => Ok(()),
        }
    }

    fn start(&mut self, number: u32, name: &str, events: &mut Vec<Event>) -> Result<(), Fault> {
        let key = self.assembler.start(number, name)?;
        self.row_open = true;
        events.push(Event::Started(key, name.to_string()));
        Ok(())
    }

    fn line(&mut self, text: &str, events: &mut Vec<Event>) -> Result<(), Fault> {
        let parsed = line::parse(text);
        let ended = self.assembler.output.total_ms.is_some();
        match parsed {
            Line::Row { number, name, time: Some(time) } if time.padded() && !ended => {
                if !self.row_open {
                    self.start(number, name, events)?;
                }
                self.row_open = false;
                events.push(Event::Finished);
                self.assembler.finish(time.milliseconds())
            }
            Line::Testset(name) if !ended => self.assembler.testset(name),
            Line::Total(time) if time.padded() && !ended => {
                let result = self.assembler.total(time.milliseconds());
                events.push(Event::Total);
                result
            }
            Line::Banner { version, source_id } if self.assembler.output.banner.is_none() => {
                let banner = Banner { version: version.to_string(), source_id: source_id.to_string() };
                self.assembler.output.banner = Some(banner.clone());
                events.push(Event::Banner(banner));
                Ok(())
            }
            other if ended => self.trailer(other, text),
            _ => {
                self.row_open = false;
                Err(Fault::Unexpected(text.to_string()))
            }
        }
    }

    fn trailer(&mut self, parsed: Line<'_>, text: &str) -> Result<(), Fault> {
        let output = &mut self.assembler.output;
        if !output.record_trailer(&parsed) {
            return Err(Fault::Unexpected(text.to_string()));
        }
        Ok(())
    }
}

impl RunOutput {
    /// Stores a line that may follow TOTAL; returns `false` if the line is not one of these.
    pub fn record_trailer(&mut self, parsed: &Line<'_>) -> bool {
        match parsed {
            Line::Hash { bytes, hash } if self.hash.is_none() => {
                self.hash = Some(VerificationHash { bytes: *bytes, hash: hash.to_string() });
            }
            Line::Statistic { name, value } => self.statistics.push((name.to_string(), value.to_string())),
            Line::CompileOption(option) => self.compile_options.push(option.to_string()),
            _ => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(number: u32, name: &str, time: &str) -> String {
        format!("{number:4} - {name}{} {time}\n", ".".repeat(60 - name.len()))
    }

    fn two_testsets() -> String {
        [
            "-- Speedtest1 for SQLite 3.53.4 2026-07-24 19:02:57 bf7c7f30031888f4e796e429ab39\n".to_string(),
            row(100, "Create a fact table with 50 entries", "   0.000s"),
            row(130, "Star query over the entire fact table", "   0.000s"),
            row(130, "Star query with LEFT JOINs", "   0.000s"),
            row(999, "Reset the database", "   0.000s"),
            row(100, "Generate a Fossil-like database schema", "   0.002s"),
            format!("       TOTAL{}    0.002s\n", ".".repeat(55)),
        ]
        .concat()
    }

    fn scan(text: &str, size: usize) -> (Vec<Event>, RunOutput) {
        let mut scanner = Scanner::new(vec!["star".into(), "app".into()]);
        let events = text.as_bytes().chunks(size).flat_map(|piece| scanner.feed(piece)).collect();
        (events, scanner.finish())
    }

    #[test]
    fn keys_count_occurrences_and_survive_missing_headers() {
        let (events, output) = scan(&two_testsets(), 4096);
        assert!(!events.iter().any(|e| matches!(e, Event::Fault(_))), "{events:?}");
        let keys: Vec<String> = output.steps.iter().map(|s| s.key.to_string()).collect();
        assert_eq!(keys, ["star/100", "star/130", "star/130#2", "star/999", "app/100"]);
        assert_eq!(output.total_ms, Some(2));
    }

    #[test]
    fn the_size_of_the_pieces_does_not_matter() {
        let whole = scan(&two_testsets(), usize::MAX);
        for size in 1..200 {
            assert_eq!(scan(&two_testsets(), size), whole, "pieces of {size} bytes");
        }
    }

    #[test]
    fn a_started_row_is_seen_before_it_ends() {
        let mut scanner = Scanner::new(vec!["app".into()]);
        let text = row(100, "Generate a Fossil-like database schema", "   0.002s");
        let events = scanner.feed(&text.as_bytes()[..68]);
        assert_eq!(events.len(), 1);
        assert!(matches!(&events[0], Event::Started(key, _) if key.to_string() == "app/100"));
        assert_eq!(scanner.feed(&text.as_bytes()[68..]), [Event::Finished]);
    }

    #[test]
    fn faults_are_named() {
        let faults = |text: &str| -> Vec<Fault> {
            scan(text, 4096)
                .0
                .into_iter()
                .filter_map(|e| if let Event::Fault(f) = e { Some(f) } else { None })
                .collect()
        };
        assert_eq!(
            faults(&two_testsets().replace("0.002s\n       T", "0.003s\n       T")),
            [Fault::TotalMismatch { total_ms: 2, sum_ms: 3 }]
        );
        assert_eq!(faults(&two_testsets().replacen("   0.000s", "   0.-05s", 1)).len(), 2);
        assert_eq!(
            faults("       Begin testset \"app\"\n"),
            [Fault::WrongTestset { expected: "star".into(), found: "app".into() }]
        );
        assert_eq!(faults("hello\n"), [Fault::Unexpected("hello".into())]);
    }
}
