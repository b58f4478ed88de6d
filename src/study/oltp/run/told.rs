//! What the process of a leg reports, line by line.

use crate::instrument::cgroup;
use crate::instrument::process::{Ending, Outcome};
use crate::machine::Host;
use crate::record::{Cause, Failure, Measure};
use crate::study::oltp::args::LegPlan;
use crate::study::oltp::leg::Event;
use crate::study::oltp::{Detail, Phase};
use crate::study::process::Lines;
use crate::study::progress::Progress;

/// What a process has reported about a leg.
#[derive(Default)]
pub struct Told {
    lines: Lines,
    /// The event [`Event::Opened`], once the database is open.
    pub opened: Option<Event>,
    /// The phases that have ended, with what they measured.
    pub measures: Vec<(Phase, Measure)>,
    failed: Option<String>,
    /// The usage of the memory group, as last seen.
    pub memory: Option<cgroup::Usage>,
}

impl Told {
    /// Takes the next piece of output, and returns whether a phase has ended in it.
    pub fn take(&mut self, bytes: &[u8], progress: &mut Progress) -> bool {
        let before = self.measures.len();
        for event in self.lines.take(bytes) {
            match event {
                Ok(Event::Began { phase }) => progress.step_begins(phase.name(), ""),
                Ok(Event::Ended { phase, measure }) => self.measures.push((phase, *measure)),
                Ok(Event::Failed { message }) => self.failed = Some(message),
                Ok(opened) => self.opened = Some(opened),
                Err(message) => self.failed = Some(message),
            }
        }
        self.measures.len() > before
    }

    /// Returns why the run does not count, or `None` if it does.
    pub fn failure(&self, outcome: &Outcome, plan: &LegPlan, confined: Option<u64>) -> Option<Failure> {
        let killed = self.memory.as_ref().is_some_and(|usage| usage.oom_kills > Some(0));
        if killed && outcome.ending == Ending::Signalled(9) {
            let left = "the memory limit left too little for the process itself";
            return Some(Failure::saying(Cause::OutOfMemory, left));
        }
        let told = || self.failed.as_ref().map(|message| Failure::saying(Cause::Error, message));
        match outcome.ending {
            Ending::Exited(_) => told().or_else(|| outcome.failure("")),
            _ => outcome.failure(""),
        }
        .or_else(|| self.fits_in_memory(plan, confined))
    }

    /// Returns a failure if a disk-bound leg was not: its database fits in memory, or its reads needed no
    /// disk.
    fn fits_in_memory(&self, plan: &LegPlan, confined: Option<u64>) -> Option<Failure> {
        plan.memory_limit?;
        let limit = confined.or_else(|| Host::capture(false).memory.total_bytes)?;
        let bytes = |measure: &Measure| measure.detail::<Detail>()?.database_bytes;
        let largest = self.measures.iter().filter_map(|(_, measure)| bytes(measure)).max()?;
        let reads = self.measures.iter().find(|(phase, _)| *phase == Phase::SelectPrimaryKey);
        let read_bytes = reads.and_then(|(_, measure)| measure.detail::<Detail>()?.read_bytes)?;
        let why = match (largest <= limit, read_bytes) {
            (true, _) => format!("the database of {largest} bytes fits in {limit} bytes of memory"),
            (false, 0) => "the random reads read nothing from the disk".to_string(),
            (false, _) => return None,
        };
        Some(Failure::saying(Cause::ConditionNotMet, format!("not disk-bound: {why}")))
    }
}
