//! What is measured of the clients and their server.

use crate::record::Latency;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What only these studies measure in a phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Detail {
    /// The number of clients.
    pub clients: u32,
    /// The number of statements due per second; absent when each client sent one after the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due_per_second: Option<f64>,
    /// How many statements ended in which way.
    pub outcomes: Outcomes,
    /// The latency of first attempts, without repeats and pauses.
    pub first_attempt: Latency,
    /// The measures of each kind of statement, by name.
    pub kinds: BTreeMap<String, KindMeasure>,
    /// The measures of each second, in order.
    pub series: Vec<Second>,
    /// The CPU time of all clients, in ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_cpu_ns: Option<u64>,
    /// What was seen after all clients had gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<After>,
    /// The size of the database after the level, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database_bytes: Option<u64>,
    /// The size of its write-ahead log after the level, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wal_bytes: Option<u64>,
    /// What was seen of a server that did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// The observations that decided how the server coped.
    pub reasons: Vec<String>,
}

/// How many statements ended in which way. Each statement is in exactly one class.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcomes {
    /// Statements answered at once.
    pub ok: u64,
    /// Statements answered after the server had been busy.
    pub ok_after_busy: u64,
    /// Statements answered only after more than a second.
    pub stalled: u64,
    /// Statements not answered by the deadline, or when the level was given up because writes were no longer
    /// answered.
    pub hung: u64,
    /// Statements whose connection was lost, or that had none.
    pub dropped: u64,
    /// Statements that the server refused, by its error code.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
    /// Statements of a quota or schedule that were never sent, or whose answer was not awaited, because the
    /// measurement ended first.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub abandoned: u64,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Outcomes {
    /// Returns the number of statements that were answered.
    pub fn answered(&self) -> u64 {
        self.ok + self.ok_after_busy + self.stalled
    }

    /// Returns the number of statements whose failure the client saw.
    pub fn failed(&self) -> u64 {
        self.hung + self.dropped + self.errors.values().sum::<u64>()
    }

    /// Returns the number of all statements.
    pub fn total(&self) -> u64 {
        self.answered() + self.failed() + self.abandoned
    }

    /// Adds the outcomes of another client.
    pub fn add(&mut self, other: &Outcomes) {
        self.ok += other.ok;
        self.ok_after_busy += other.ok_after_busy;
        self.stalled += other.stalled;
        self.hung += other.hung;
        self.dropped += other.dropped;
        self.abandoned += other.abandoned;
        for (code, count) in &other.errors {
            *self.errors.entry(code.clone()).or_default() += count;
        }
    }
}

/// What is measured of one kind of statement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct KindMeasure {
    /// The number of statements that were answered.
    pub operations: u64,
    pub latency: Latency,
}

/// One second of a series. Unknown values are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Second {
    /// When the second ended, in ms since the clients began.
    pub at_ms: u64,
    /// The number of statements answered in this second.
    pub completed: u64,
    /// How often the server was busy.
    pub busy: u64,
    /// The number of statements that failed.
    pub failed: u64,
    /// The median latency of the statements answered, in ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<u64>,
    /// The 99th percentile of the latency, in ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<u64>,
    /// The CPU time of the server in this second, in cores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_cores: Option<f64>,
    /// The resident memory of the server, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_memory_bytes: Option<u64>,
    /// The number of the server's threads that were running or ready to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runnable_threads: Option<u64>,
    /// The memory that the machine still had available, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_available_bytes: Option<u64>,
    /// The machine's load average over one minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_load: Option<f64>,
    /// The size of the server's write-ahead log, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wal_bytes: Option<u64>,
    /// The size of the server's replication log, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_bytes: Option<u64>,
}

/// A single statement, sent to see whether it is answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// How long the answer took, or how long it was awaited, in ms.
    pub took_ms: u64,
    /// Why there was no answer; absent when there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Whether the statement was sent, but by the deadline got no reply or only BUSY.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unanswered: bool,
}

/// A server without clients.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct After {
    /// A read of one row by its key.
    pub read_probe: Probe,
    /// A change of one row.
    pub write_probe: Probe,
    /// How long no client was connected, in ms.
    pub idle_ms: u64,
    /// The CPU time that the server used meanwhile, in cores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_cores: Option<f64>,
    /// The number of the server's threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u64>,
    /// The number of threads that were running or ready to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runnable_threads: Option<u64>,
}

/// What was seen of a server that no longer answered writes, while the clients were still connected or
/// afterwards.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// When the last write was answered, in ms since the clients began.
    pub last_write_ms: u64,
    /// When it was certain that writes were no longer answered, in ms since the clients began.
    pub detected_ms: u64,
    /// A write on a connection of its own.
    pub write_probe: Probe,
    /// The number of the server's threads by state: R is running, S is sleeping, D is waiting for a disk.
    pub thread_states: BTreeMap<String, u64>,
    /// The CPU time of the server in the last second, or while no client was connected, in cores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_cores: Option<f64>,
    /// Whether `/health` still returned 200.
    pub healthy: bool,
    /// The end of the server's log.
    pub server_log: String,
}
