//! Judges a record against a reference: same work, same shape, same claims.

pub mod claim;
pub mod comparison;
mod extent;
pub mod grade;
pub mod reference;
pub mod verdict;
pub mod work;

#[cfg(test)]
mod tests;

pub use reference::Reference;
pub use verdict::{Judgement, Verdict};
