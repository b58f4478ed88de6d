//! Output for people: tables for the terminal and for Markdown. A table is built once and rendered either
//! way.

pub mod citation;
pub mod compare;
pub mod head;
pub mod record;
pub mod table;
pub mod verdict;

pub use table::Table;
