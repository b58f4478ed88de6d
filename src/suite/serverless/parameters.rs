//! The parameters of the study.

use crate::suite::scale::Scale;
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

/// What is done.
#[derive(Clone, Debug, PartialEq, Args, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[command(next_help_heading = "Workload")]
pub struct Parameters {
    /// Seed of the rows and keys
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// Shrink the number of statements of each step
    #[arg(long, value_name = "1/N", default_value_t)]
    pub scale: Scale,

    /// The messages between client and server
    #[arg(long, value_enum, default_value_t)]
    pub protocol: Protocol,
}

impl Default for Parameters {
    fn default() -> Self {
        Parameters { seed: 1, scale: Scale::default(), protocol: Protocol::default() }
    }
}

/// A version of the Hrana protocol and its encoding, as the subprotocol of the WebSocket names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// Version 2, JSON
    Hrana2,
    /// Version 3, JSON: what the published client speaks
    #[default]
    Hrana3,
    /// Version 3, Protocol Buffers
    #[value(name = "hrana3-protobuf")]
    #[serde(rename = "hrana3-protobuf")]
    Hrana3Protobuf,
}

impl Protocol {
    /// Name of the WebSocket subprotocol.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Hrana2 => "hrana2",
            Protocol::Hrana3 => "hrana3",
            Protocol::Hrana3Protobuf => "hrana3-protobuf",
        }
    }
}
