//! How work is done: processes are started, watched and ended here.

pub mod compile;
pub mod native;
pub mod process;
pub mod variant;
