//! What is measured in a phase.

use super::load::Load;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Result of one phase of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Operations that succeeded.
    pub operations: u64,
    /// From the first to the last.
    pub elapsed_ns: u64,
    /// The phase in slices, in order: operations and time (ns) of each.
    pub slices: Vec<(u64, u64)>,
    /// Latencies.
    pub latency: Latency,
    /// Operations that failed, by message.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
    /// Those of them that were BUSY after the timeout.
    pub busy: u64,
    /// Bytes of the database after the phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database_bytes: Option<u64>,
    /// Bytes of its write-ahead log after the phase, before the checkpoint that follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wal_bytes: Option<u64>,
    /// Pages that this checkpoint copied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpointed_pages: Option<u32>,
    /// Bytes that came from the disk during the phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_bytes: Option<u64>,
    /// Page faults that needed the disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub major_faults: Option<u64>,
    /// Counts by kind, such as `found` and `updates`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, u64>,
    /// What passed between client and server, where there is a server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchange: Option<Exchange>,
    /// What many clients met, where there were many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<Box<Load>>,
    /// Answers, checked.
    pub checks: Vec<Check>,
}

impl Exchange {
    /// What passed since `before`.
    pub fn since(&self, before: &Exchange) -> Exchange {
        let difference = |now: Option<u64>, then: Option<u64>| now.zip(then).map(|(now, then)| now - then);
        Exchange {
            // A server that does not tell its time leaves 0.
            server_ns: difference(self.server_ns, before.server_ns).filter(|ns| *ns > 0),
            client_cpu_ns: difference(self.client_cpu_ns, before.client_cpu_ns),
            round_trips: self.round_trips - before.round_trips,
            sent_bytes: self.sent_bytes - before.sent_bytes,
            received_bytes: self.received_bytes - before.received_bytes,
        }
    }
}

impl Measure {
    /// Operations per second; `None` when there is nothing to divide.
    pub fn rate(&self) -> Option<f64> {
        (self.operations > 0 && self.elapsed_ns > 0)
            .then(|| self.operations as f64 * 1e9 / self.elapsed_ns as f64)
    }

    /// Operations and seconds of each slice.
    pub fn slices_in_seconds(&self) -> impl Iterator<Item = (f64, f64)> {
        self.slices.iter().map(|(operations, ns)| (*operations as f64, *ns as f64 / 1e9))
    }
}

/// What passed between a client and its server, and what it cost either.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// The time that the server says it took for the statements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_ns: Option<u64>,
    /// CPU time of the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_cpu_ns: Option<u64>,
    /// Times that the client waited for the server.
    pub round_trips: u64,
    /// Bodies of messages, without their frames.
    pub sent_bytes: u64,
    /// Bodies of messages, without their frames.
    pub received_bytes: u64,
}

/// Percentiles of the latency of an operation, and the histogram they come from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Latency {
    pub p50_ns: u64,
    pub p95_ns: u64,
    pub p99_ns: u64,
    pub p999_ns: u64,
    pub max_ns: u64,
    /// HdrHistogram, V2 with deflate, base64; values in ns, four significant digits, or three of many clients.
    pub histogram: String,
}

/// An answer beside what it must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Check {
    pub what: String,
    pub expected: String,
    pub found: String,
}

impl Check {
    /// Compares two values by their text.
    pub fn new(what: &str, expected: impl ToString, found: impl ToString) -> Check {
        Check { what: what.to_string(), expected: expected.to_string(), found: found.to_string() }
    }

    /// Whether the answer is right.
    pub fn holds(&self) -> bool {
        self.expected == self.found
    }
}
