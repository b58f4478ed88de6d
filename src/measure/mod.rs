//! The order of a measurement: warm-up, repeats, when to stop, and what is shown meanwhile.

pub mod plan;
pub mod progress;

pub use plan::{Next, Plan};
pub use progress::Progress;
