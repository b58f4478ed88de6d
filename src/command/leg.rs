//! `repro leg`: the process that runs one leg of a suite, and tells its parent what happens, one line of JSON each; and
//! the parent's side of it.

use super::{CannotMeasure, Exit};
use crate::cli::LegArgs;
use crate::driver::cgroup::MemoryGroup;
use crate::driver::process::{self, Outcome};
use crate::driver::{load, oltp};
use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What such a process can do.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Job {
    /// A leg of the real workload.
    Oltp(Box<oltp::Job>),
    /// Clients on a server.
    Load(Box<load::Job>),
}

/// Carries out the job.
pub fn run(args: &LegArgs) -> Result<Exit> {
    let job: Job = serde_json::from_str(&args.job).context("the job of a leg")?;
    let result = match job {
        Job::Oltp(job) => oltp::leg::run(&job, &mut tell),
        Job::Load(job) => load::run(&job, &super::interrupt_flag()?, &mut tell),
    };
    result.map_err(|error| CannotMeasure(format!("{error:#}")))?;
    Ok(Exit::Fine)
}

/// A parent that is gone needs to hear nothing.
fn tell<E: Serialize>(event: &E) {
    let mut out = std::io::stdout().lock();
    let _ = serde_json::to_writer(&mut out, event).map(|()| out.write_all(b"\n").and_then(|()| out.flush()));
}

/// Starts such a process, inside `group` when there is one, and waits for its end.
///
/// # Errors
/// When it can't be started.
pub fn start(
    job: &Job,
    group: Option<&MemoryGroup>,
    deadline: Duration,
    interrupted: &AtomicBool,
    on_bytes: &mut dyn FnMut(&[u8]),
) -> Result<Outcome> {
    let own = process::own_path().context("/proc/self/exe can't be read; is /proc mounted?")?;
    let leg = [own.clone().into_os_string(), "leg".into(), serde_json::to_string(job)?.into()];
    let mut words = group.and_then(MemoryGroup::wrapper_command).unwrap_or_default();
    words.extend(leg);
    let program = PathBuf::from(words.remove(0));
    let job = process::Job {
        program: &program,
        arguments: words,
        environment: Vec::new(),
        cpu: None,
        groups: group.map(MemoryGroup::procs_files).unwrap_or_default(),
        deadline,
        launcher: &own,
    };
    Ok(process::run(&job, interrupted, &mut |piece| on_bytes(piece.bytes))?)
}

/// Cuts what such a process tells into events.
#[derive(Default)]
pub struct Lines(Vec<u8>);

impl Lines {
    /// The events that are complete with this piece; an unreadable one is an error, in words.
    pub fn take<E: DeserializeOwned>(&mut self, bytes: &[u8]) -> Vec<Result<E, String>> {
        self.0.extend_from_slice(bytes);
        let mut events = Vec::new();
        while let Some(end) = self.0.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.0.drain(..=end).collect();
            let event = serde_json::from_slice(&line);
            events.push(event.map_err(|error| format!("its output can't be read: {error}")));
        }
        events
    }
}
