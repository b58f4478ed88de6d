//! How the official tool is built.

mod compile;

pub use compile::{CITED_FLAGS, SOURCES, command_line, compile, compiler_version};
