//! Sessions: the runs of one record that were made at different times.

use super::{Answer, Leg, Record};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// When a session was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// When it began, in RFC 3339.
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// When it ended, in RFC 3339.
    #[schemars(with = "String")]
    pub finished: Timestamp,
}

/// How the number of runs of a baseline came about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// The number of runs of the pilot, none of which is in the record; 0 if the user fixed the number of runs.
    pub pilot_runs: u32,
    /// How often this work was captured on this machine, this time included.
    pub attempt: u32,
}

impl fmt::Display for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pilot_runs {
            0 => f.write_str("the user fixed it")?,
            runs => write!(f, "a pilot of {runs} runs, which are not in the record, fixed it")?,
        }
        write!(f, "; attempt {} at this work on this machine", self.attempt)
    }
}

impl Record {
    /// Adds a later session of the same measurement: its runs follow those of this record.
    pub fn append(&mut self, later: Record) {
        let mut sessions = std::mem::take(&mut self.sessions);
        if sessions.is_empty() {
            sessions.extend(self.span());
        }
        sessions.extend(later.span());
        let session = sessions.len() as u32;
        for leg in later.legs {
            match self.legs.iter_mut().find(|own| own.name == leg.name) {
                Some(own) => own.append(leg, session),
                None => self.legs.push(leg),
            }
        }
        self.sessions = sessions;
        self.plan.runs += later.plan.runs;
        self.plan.max_runs += later.plan.max_runs;
        self.variants.extend(later.variants);
        (self.finished, self.after) = (later.finished, later.after);
        self.partial = self.partial.take().or(later.partial);
    }

    fn span(&self) -> Option<Session> {
        self.finished.map(|finished| Session { started: self.started, finished })
    }

    /// Returns the shortest time in s between two sessions that follow each other; `None` below two sessions.
    pub fn shortest_pause_s(&self) -> Option<f64> {
        let pause = |pair: &[Session]| pair[1].started.duration_since(pair[0].finished).as_secs_f64();
        self.sessions.windows(2).map(pause).min_by(f64::total_cmp)
    }

    /// Returns how long the sessions took together in s; `None` while the record is not finished.
    pub fn length_s(&self) -> Option<f64> {
        let length = |session: &Session| session.finished.duration_since(session.started).as_secs_f64();
        match self.sessions.is_empty() {
            true => self.span().as_ref().map(length),
            false => Some(self.sessions.iter().map(length).sum()),
        }
    }
}

impl Leg {
    fn append(&mut self, later: Leg, session: u32) {
        let offset = self.runs.iter().map(|run| run.number).max().unwrap_or(0);
        for (phase, sample) in later.all_samples() {
            let title = later.phase(phase).and_then(|phase| phase.title.as_deref());
            self.add(sample.run + offset, phase, title, sample.measure.clone());
        }
        for mut run in later.runs {
            (run.number, run.session) = (run.number + offset, session);
            self.runs.push(run);
        }
        if later.answer.is_wrong() || !matches!(later.answer, Answer::Right { .. }) {
            self.answer = later.answer;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Engine, Measure, Plan, Run};
    use super::*;
    use std::collections::BTreeMap;

    fn session(began: i64, ms: i64) -> Record {
        let time = |s| Timestamp::from_second(s).unwrap();
        let mut leg = Leg {
            answer: Answer::Right { found: "1".to_string() },
            ..Leg::new("native", Engine::named("x"))
        };
        for run in 1..=2 {
            leg.add(run, "main/100", Some("insert"), Measure { reported_ms: Some(ms), ..Measure::default() });
            leg.runs.push(Run { number: run, warmup: run == 1, total_ms: Some(ms), ..Run::default() });
        }
        Record {
            started: time(began),
            finished: Some(time(began + 10)),
            partial: None,
            legs: vec![leg],
            ..Record::beginning("speedtest1", BTreeMap::new(), Plan::of_runs(1))
        }
    }

    #[test]
    fn later_runs_follow() {
        let mut record = session(0, 5);
        assert_eq!((record.shortest_pause_s(), record.length_s()), (None, Some(10.0)));
        record.append(session(70, 6));
        record.append(session(100, 7));
        assert_eq!(record.check(), Ok(()));
        let leg = &record.legs[0];
        let runs: Vec<_> = leg.runs.iter().map(|run| (run.number, run.session, run.warmup)).collect();
        assert_eq!(
            runs,
            [(1, 1, true), (2, 1, false), (3, 2, true), (4, 2, false), (5, 3, true), (6, 3, false)]
        );
        assert_eq!(leg.counted(), [2, 4, 6]);
        assert_eq!((leg.sum_of_rows(4), leg.sum_of_rows(6)), (Some(6), Some(7)));
        assert_eq!((record.shortest_pause_s(), record.length_s()), (Some(20.0), Some(30.0)));
        assert_eq!(record.plan.runs, 3);
        assert_eq!(record.finished, Some(Timestamp::from_second(110).unwrap()));
    }

    #[test]
    fn one_wrong_session_makes_all_wrong() {
        let mut record = session(0, 5);
        let mut later = session(70, 5);
        later.legs[0].answer = Answer::Wrong { found: "2".to_string(), expected: "1".to_string() };
        record.append(later);
        assert!(record.legs[0].answer.is_wrong());
        let mut record = session(0, 5);
        let mut later = session(70, 5);
        later.legs[0].answer = Answer::NotChecked { reason: "skipped".to_string() };
        record.append(later);
        assert!(matches!(record.legs[0].answer, Answer::NotChecked { .. }));
    }
}
