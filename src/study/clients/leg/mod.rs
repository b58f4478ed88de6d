//! Many clients on one sqld. They run in a process of their own, so that limits on CPU and memory apply to
//! server and clients together; [`Job`] and [`Event`] are passed between that process and the one that
//! started it.

mod ledger;
mod level;
mod probe;
mod run;
mod sampler;
mod tally;
mod worker;

pub use run::run;

use super::{Plan, Second};
use crate::instrument::sqld;
use crate::record::Measure;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the process is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// The levels to run.
    pub plan: Plan,
    /// The server to start.
    pub server: sqld::Config,
    /// How long the server is watched after each level with no client connected, in ms.
    pub idle_ms: u64,
}

/// An event that the process reports, as one line of JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Event {
    /// The server has started.
    Opened { build: String, sqlite_version: String, source_id: String, settings: BTreeMap<String, String> },
    /// Something that takes a while has begun: seeding, watching, or checking.
    Stage { text: String },
    /// The clients of a level have begun.
    Began { phase: String },
    /// A second of a level has passed.
    Ticked { second: Box<Second> },
    /// A level has ended.
    Ended { phase: String, measure: Box<Measure>, server: Option<ServerUsage> },
    /// The leg has failed and ends here.
    Failed { message: String },
}

/// What a server used from its start to the end of a level.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct ServerUsage {
    pub user_us: u64,
    pub system_us: u64,
    pub peak_memory_bytes: u64,
}

impl ServerUsage {
    /// Adds the usage of a later look, either at the same server or at the next one, whose counts begin at
    /// zero.
    pub fn and(self, later: ServerUsage) -> ServerUsage {
        let same = later.user_us >= self.user_us && later.system_us >= self.system_us;
        let before = if same { ServerUsage::default() } else { self };
        ServerUsage {
            user_us: before.user_us + later.user_us,
            system_us: before.system_us + later.system_us,
            peak_memory_bytes: self.peak_memory_bytes.max(later.peak_memory_bytes),
        }
    }
}

/// How long a client waits for a reply. sqld makes a write wait up to 5 s for another transaction, twice.
const DEADLINE_S: u64 = 12;
