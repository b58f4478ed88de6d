//! A blocking client for the Hrana protocol over a WebSocket.
//!
//! It sends one statement (or batch) at a time and waits for its reply, so that a round trip is timed. Every
//! wait has a deadline, every message a size limit, and every failure a class.

mod address;
mod ask;
mod client;
mod failure;
mod json;
mod message;
#[cfg(test)]
mod properties;
mod protobuf;
mod protocol;
mod retry;
mod transport;

pub use address::{Address, Token};
pub use ask::{ask, settings};
pub use client::{Client, Limits, Reply, Stream, Traffic};
pub use failure::Failure;
pub use protocol::Protocol;
pub use retry::{Backoff, Retried};
pub use transport::{Timed, config};
