//! How work is done: processes are started, watched and ended here.

pub mod cgroup;
pub mod compile;
pub mod engine;
pub mod hrana;
pub mod load;
pub mod meter;
pub mod native;
pub mod oltp;
pub mod page_cache;
pub mod process;
pub mod scratch;
pub mod serverless;
pub mod sqld;
pub mod variant;
