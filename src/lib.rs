//! `repro` makes SQLite benchmark numbers that can be cited, and checks numbers that others published.
//!
//! Data flows one way: [`suite`] (what) → [`driver`] (how) → [`record`] (what happened) → [`stats`] →
//! [`verify`], [`report`] and [`export`]. Only [`command`] joins the stages.

pub mod cli;
pub mod command;
pub mod driver;
pub mod environment;
pub mod export;
pub mod measure;
pub mod record;
pub mod report;
pub mod stats;
pub mod suite;
pub mod verify;
