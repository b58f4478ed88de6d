//! For people: tables on a terminal and in Markdown. A table is built once and rendered either way.

pub mod citation;
pub mod compare;
#[cfg(test)]
mod fixture;
mod head;
pub mod load;
pub mod record;
mod serverless;
pub mod table;
pub mod verdict;

pub use table::Table;
