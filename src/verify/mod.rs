//! Judges a record against a reference: whether the work is the same, the shape is the same, and the claims
//! hold.

pub mod claim;
pub mod comparison;
mod extent;
mod factor;
pub mod foresight;
pub mod grade;
pub mod noise;
pub mod power;
pub mod reference;
pub mod verdict;
pub mod work;

#[cfg(test)]
mod tests;

pub use reference::Reference;
pub use verdict::{Judgement, Verdict};
