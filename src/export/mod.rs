//! For programs: one file a format.

pub mod csv;
pub mod reference;
