//! `repro` makes SQLite benchmark numbers that can be cited, and checks numbers that others published.
//!
//! Data flows one way: a [`study`] measures with [`instrument`]s into a [`record`]; [`figure`]s are read from
//! it, and [`stats`] say how certain they are; [`verify`], [`report`] and [`export`] present the results.
//! Only [`command`] joins the stages.

pub mod cli;
pub mod command;
pub mod exit;
pub mod export;
pub mod figure;
pub mod instrument;
pub mod machine;
pub mod record;
pub mod report;
pub mod stats;
pub mod study;
pub mod verify;
