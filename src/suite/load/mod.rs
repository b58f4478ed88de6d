//! Clients against one server (sqlitend): the sweep over numbers of clients, and the million statements.
//!
//! What the publication does not state — the table, the split of the sweep's mix, the lengths of ranges — has a
//! default here; the references list it.

mod health;
mod mix;
mod outcome;
pub mod parameters;
pub mod statements;

pub use health::{Health, Judged, judge};
pub use mix::{Kind, Mix};
pub use outcome::{After, Evidence, KindMeasure, Load, Outcomes, Probe, Second};
pub use parameters::{MillionParameters, Plan, Streams, SweepParameters};

use super::Suite;

/// Registry line of the sweep.
pub const SWEEP: Suite = Suite {
    name: "sweep",
    about: "1 to 64 clients on one sqld, 30 % writes: where it collapses or wedges, and what avoids it",
    legs,
    phases: || vec!["clients-N"],
    baseline: None,
};

/// Registry line of the million.
pub const MILLION: Suite = Suite {
    name: "million",
    about: "exactly a million statements of four clients on one sqld, 20 % writes",
    legs,
    phases: || vec![MILLION_PHASE],
    baseline: None,
};

/// The only phase of the million.
pub const MILLION_PHASE: &str = "million";

/// The check of a level after which every acknowledged write was looked for.
pub const LOST_WRITES: &str = "acknowledged writes that are lost";

fn legs() -> Vec<&'static str> {
    Streams::ALL.map(Streams::leg).to_vec()
}
