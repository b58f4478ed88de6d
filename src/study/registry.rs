//! The list of all studies, one line for each.

use super::{Study, clients, oltp, serverless, speedtest1};
use crate::figure::Shape;

/// All studies, in the order in which they are listed.
#[rustfmt::skip]
pub const STUDIES: &[&dyn Study] = &[
    &speedtest1::Speedtest1,
    &oltp::Oltp,
    &serverless::Serverless,
    &clients::Clients::Sweep,
    &clients::Clients::Million,
];

/// The study that runs when none is named.
pub const DEFAULT: &dyn Study = &speedtest1::Speedtest1;

/// Returns the study of this name.
pub fn named(name: &str) -> Option<&'static dyn Study> {
    STUDIES.iter().copied().find(|study| study.shape().name == name)
}

/// Returns the shape of the study of this name.
pub fn shape_of(name: &str) -> Option<&'static Shape> {
    named(name).map(Study::shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_baselines() {
        for study in STUDIES {
            let shape = study.shape();
            assert!(std::ptr::eq(shape_of(shape.name).unwrap(), shape));
            assert!(!shape.legs.is_empty() && shape.baseline.is_none_or(|leg| shape.legs.contains(&leg)));
        }
        assert!(named("tpc-c").is_none());
    }
}
