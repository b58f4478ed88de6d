//! What the process of a leg tells, line by line.

use crate::command::leg::Lines;
use crate::driver::cgroup;
use crate::driver::oltp::Event;
use crate::driver::process::{Ending, Outcome};
use crate::environment::Host;
use crate::measure::Progress;
use crate::suite::measure::Measure;
use crate::suite::oltp::Phase;
use crate::suite::oltp::parameters::LegPlan;

/// What one process told of a leg.
#[derive(Default)]
pub struct Told {
    lines: Lines,
    /// The database is open.
    pub opened: Option<Event>,
    /// Phases that have ended.
    pub measures: Vec<(Phase, Measure)>,
    failed: Option<String>,
    /// The memory group, as last seen.
    pub memory: Option<cgroup::Usage>,
}

impl Told {
    /// Takes the next piece of its output; whether a phase has ended in it.
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

    /// Why the run does not count.
    pub fn failure(&self, outcome: &Outcome, plan: &LegPlan, confined: Option<u64>) -> Option<String> {
        let said = outcome.stderr.trim().lines().next().unwrap_or_default();
        match outcome.ending {
            Ending::Interrupted => return Some("interrupted".to_string()),
            Ending::Deadline => return Some("stopped at the deadline".to_string()),
            Ending::Signalled(9) if self.memory.as_ref().is_some_and(|usage| usage.oom_kills > Some(0)) => {
                return Some("the memory limit left too little for the process itself".to_string());
            }
            Ending::Signalled(signal) => return Some(format!("killed by signal {signal}")),
            Ending::Exited(_) => {}
        }
        if let Some(message) = &self.failed {
            return Some(message.clone());
        }
        if outcome.ending != Ending::Exited(0) {
            return Some(format!("{:?}: {said}", outcome.ending));
        }
        self.fits_in_memory(plan, confined)
    }

    /// A database that fits in memory is not disk-bound, whatever was asked for.
    fn fits_in_memory(&self, plan: &LegPlan, confined: Option<u64>) -> Option<String> {
        plan.memory_limit?;
        let limit = confined.or_else(|| Host::capture(false).memory.total_bytes)?;
        let largest = self.measures.iter().filter_map(|(_, measure)| measure.database_bytes).max()?;
        let reads = self.measures.iter().find(|(phase, _)| *phase == Phase::SelectPrimaryKey);
        let read_bytes = reads.and_then(|(_, measure)| measure.read_bytes)?;
        if largest <= limit {
            return Some(format!(
                "not disk-bound: the database of {largest} bytes fits in {limit} bytes of memory"
            ));
        }
        (read_bytes == 0).then(|| "not disk-bound: the random reads took nothing from the disk".to_string())
    }
}
