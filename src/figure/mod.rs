//! Figures: quantities that a record gives as one number per run, and the keys that name them.
//!
//! Verification, comparison, reports and exports read the values of a record only through this module.

mod key;
mod shape;
mod values;

pub use key::{FigureKey, Kind, Metric, WHOLE};
pub use shape::{Effect, Parameters, Phases, Printed, Shape, Tool, spelt};
pub use values::{CLOCK_ERROR_MS, Figures, Values, paired, ratio, ratio_apart};
