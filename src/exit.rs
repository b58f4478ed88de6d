//! How the program ends.

use crate::record::Failure;

/// The exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All reproduced, or done.
    Fine = 0,
    /// Something differs.
    Differs = 1,
    /// Usage or bad input.
    Usage = 2,
    /// Could not measure.
    Unmeasured = 3,
}

impl Exit {
    /// The statuses, for help.
    pub const IN_WORDS: &str =
        "Exit status: 0 all reproduced, 1 something differs, 2 usage or bad input, 3 could not measure.";

    /// The status for an error that reached the top: a measurement that failed, as opposed to its options.
    pub fn of(error: &anyhow::Error) -> Exit {
        match error.downcast_ref::<Failure>() {
            Some(_) => Exit::Unmeasured,
            None => Exit::Usage,
        }
    }
}
