//! The list of all studies, one line for each.

use super::{Study, clients, oltp, serverless, speedtest1};
use crate::figure::Shape;
use std::ffi::OsString;

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

/// Returns a command line with the options of a study's own tool in the spelling of this program.
pub fn in_our_spelling(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut own = true;
    let respelt = |word: OsString| {
        own &= word != "--";
        let text = word.to_str().filter(|_| own);
        let found = text.and_then(|text| STUDIES.iter().find_map(|study| study.in_our_spelling(text)));
        found.map_or(word, OsString::from)
    };
    words.map(respelt).collect()
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
