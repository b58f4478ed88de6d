//! Builds the official tool.

mod compile;

pub use compile::{CITED_FLAGS, SOURCES, command_line, compile, compiler_version};
