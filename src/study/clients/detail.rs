//! What is measured of clients and their server.

use crate::record::Latency;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What only these studies measure of a phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Detail {
    /// Clients.
    pub clients: u32,
    /// Statements a second that were due; absent when each client sent one after the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due_per_second: Option<f64>,
    /// What became of each statement.
    pub outcomes: Outcomes,
    /// Latency of first attempts, without repeats and pauses.
    pub first_attempt: Latency,
    /// By kind of statement.
    pub kinds: BTreeMap<String, KindMeasure>,
    /// Second by second.
    pub series: Vec<Second>,
    /// CPU time of all clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_cpu_ns: Option<u64>,
    /// What was seen when all clients had gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<After>,
    /// Bytes of the database after the level.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database_bytes: Option<u64>,
    /// Bytes of its write-ahead log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wal_bytes: Option<u64>,
    /// What was seen of a server that did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// What decided how the server came through.
    pub reasons: Vec<String>,
}

/// How many statements ended how. Each statement is in exactly one class.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcomes {
    /// Answered, at once.
    pub ok: u64,
    /// Answered, after the server had been busy.
    pub ok_after_busy: u64,
    /// Answered, but only after more than a second.
    pub stalled: u64,
    /// Not answered by the deadline, or when the level was given up because writes are no longer answered.
    pub hung: u64,
    /// The connection was lost, or there was none.
    pub dropped: u64,
    /// Refused, by the server's code.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
    /// Of a quota or a schedule: never sent, or not waited for, because the measurement ended before.
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
    /// Statements with an answer.
    pub fn answered(&self) -> u64 {
        self.ok + self.ok_after_busy + self.stalled
    }

    /// Statements whose failure the client saw.
    pub fn failed(&self) -> u64 {
        self.hung + self.dropped + self.errors.values().sum::<u64>()
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.answered() + self.failed() + self.abandoned
    }

    /// Adds those of another client.
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
    /// Statements with an answer.
    pub operations: u64,
    pub latency: Latency,
}

/// One second of a series. Unknown is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Second {
    /// Since the clients began, when the second ended.
    pub at_ms: u64,
    /// Statements answered in it.
    pub completed: u64,
    /// Times that the server was busy.
    pub busy: u64,
    /// Statements that failed.
    pub failed: u64,
    /// Median latency of those answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<u64>,
    /// 99th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<u64>,
    /// CPU time of the server in it, in cores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_cores: Option<f64>,
    /// Resident memory of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_memory_bytes: Option<u64>,
    /// Threads of the server that run or could.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runnable_threads: Option<u64>,
    /// Memory that the machine could still give away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_available_bytes: Option<u64>,
    /// The machine's load average over a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_load: Option<f64>,
    /// The server's write-ahead log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wal_bytes: Option<u64>,
    /// The server's log of replication.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_bytes: Option<u64>,
}

/// A single statement, sent to see whether there is an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// How long it took, or how long was waited.
    pub took_ms: u64,
    /// Why there was no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Whether it was sent, and no reply came by the deadline, nor anything but BUSY.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unanswered: bool,
}

/// A server without clients.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct After {
    /// One row by its key.
    pub read_probe: Probe,
    /// One row, changed.
    pub write_probe: Probe,
    /// For how long nobody was connected.
    pub idle_ms: u64,
    /// CPU time that the server used meanwhile, in cores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_cores: Option<f64>,
    /// Its threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u64>,
    /// Those of them that ran or could.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runnable_threads: Option<u64>,
}

/// What was seen of a server that no longer answered writes, while the clients were still there or afterwards.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// Since the clients began: the last write that was answered.
    pub last_write_ms: u64,
    /// When it was certain that writes are no longer answered.
    pub detected_ms: u64,
    /// A write on a connection of its own.
    pub write_probe: Probe,
    /// Threads of the server, by state: R runs, S sleeps, D waits for a disk.
    pub thread_states: BTreeMap<String, u64>,
    /// CPU time of the server in the last second, or while nobody was connected, in cores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_cores: Option<f64>,
    /// Whether /health still said 200.
    pub healthy: bool,
    /// The end of what the server wrote.
    pub server_log: String,
}
