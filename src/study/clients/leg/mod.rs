//! Many clients on one sqld. It runs in a process of its own, so that limits of CPU and memory hold for server and
//! clients together; [`Job`] and [`Event`] are what passes between that process and the one that started it.

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
    /// Level by level.
    pub plan: Plan,
    /// The server.
    pub server: sqld::Config,
    /// For how long the server is watched after each level, with nobody connected.
    pub idle_ms: u64,
}

/// What the process tells, one line of JSON each.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Event {
    /// The server is up.
    Opened { build: String, sqlite_version: String, source_id: String, settings: BTreeMap<String, String> },
    /// Something that takes a while has begun: seeding, watching, checking.
    Stage { text: String },
    /// The clients of a level have begun.
    Began { phase: String },
    /// A second of a level is over.
    Ticked { second: Box<Second> },
    /// A level has ended.
    Ended { phase: String, measure: Box<Measure>, server: Option<ServerUsage> },
    /// It ends here.
    Failed { message: String },
}

/// What a server used, from its start to the end of a level.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct ServerUsage {
    pub user_us: u64,
    pub system_us: u64,
    pub peak_memory_bytes: u64,
}

impl ServerUsage {
    /// Together with a later look, at the same server or at the next one, whose counts begin anew.
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

/// How long a client waits for a reply. sqld lets a write wait 5 s for another one's transaction, twice.
const DEADLINE_S: u64 = 12;
