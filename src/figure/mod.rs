//! Figures: what can be said of a record in one number a run, and how it is called.
//!
//! Verification, comparison, reports and exports read a record through this module, and no other way.

mod key;
mod shape;
mod values;

pub use key::{FigureKey, Kind, Metric, WHOLE};
pub use shape::{Effect, Parameters, Phases, Shape, spelt};
pub use values::{CLOCK_ERROR_MS, Figures, Values, paired, ratio, ratio_apart};
