//! Legs that run in a process of their own, so that limits on CPU and memory apply to them alone: how such a
//! process is started, and how it reports events to its parent, as one line of JSON each.

use crate::instrument::cgroup::MemoryGroup;
use crate::instrument::process::{self, Outcome};
use anyhow::Result;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Sends an event to the parent. Errors are ignored, since a parent that is gone needs no events.
pub fn tell<E: Serialize>(event: &E) {
    let mut out = std::io::stdout().lock();
    let _ = serde_json::to_writer(&mut out, event).map(|()| out.write_all(b"\n").and_then(|()| out.flush()));
}

/// Starts a leg of a study, inside `group` if there is one, and waits for its end.
///
/// # Errors
/// Fails when the process can't be started.
pub fn start(
    study: &str,
    job: &impl Serialize,
    group: Option<&MemoryGroup>,
    deadline: Duration,
    interrupted: &AtomicBool,
    on_bytes: &mut dyn FnMut(&[u8]),
) -> Result<Outcome> {
    let own = process::own_path()?;
    let leg = [own.clone().into_os_string(), "leg".into(), study.into(), serde_json::to_string(job)?.into()];
    let mut words = group.and_then(MemoryGroup::wrapper_command).unwrap_or_default();
    words.extend(leg);
    let program = PathBuf::from(words.remove(0));
    let launch = process::Launch {
        program: &program,
        arguments: words,
        environment: None,
        cpu: None,
        groups: group.map(MemoryGroup::procs_files).unwrap_or_default(),
        deadline,
        launcher: &own,
    };
    Ok(process::run(&launch, interrupted, &mut |piece| on_bytes(piece.bytes))?)
}

/// Splits the output of such a process into events.
#[derive(Default)]
pub struct Lines(Vec<u8>);

impl Lines {
    /// Returns the events that this piece of output completes; an unreadable event is an error that says so.
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
