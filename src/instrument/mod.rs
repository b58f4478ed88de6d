//! The instruments that studies measure with, which know no study: processes, servers, engines, clocks and
//! private folders.

pub mod build;
pub mod captures;
pub mod cgroup;
pub mod engine;
pub mod folders;
pub mod hrana;
pub mod meter;
pub mod page_cache;
pub mod proc;
pub mod process;
pub mod scratch;
pub mod sql;
pub mod sqld;
