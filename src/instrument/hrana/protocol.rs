//! Versions of the Hrana protocol.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// A version of the Hrana protocol and its encoding, as the subprotocol of the WebSocket names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// Version 2 of Hrana, JSON
    Hrana2,
    /// Version 3 of Hrana, JSON, as the published client uses
    #[default]
    Hrana3,
    /// Version 3 of Hrana, Protocol Buffers
    #[value(name = "hrana3-protobuf")]
    #[serde(rename = "hrana3-protobuf")]
    Hrana3Protobuf,
}

impl Protocol {
    /// Returns the name of the WebSocket subprotocol.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Hrana2 => "hrana2",
            Protocol::Hrana3 => "hrana3",
            Protocol::Hrana3Protobuf => "hrana3-protobuf",
        }
    }
}
