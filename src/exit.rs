//! The exit status of the program.

use crate::record::Failure;

/// An exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything was reproduced or done.
    Fine = 0,
    /// Something differs, is missing or can't be compared, or is not fit to be cited.
    Differs = 1,
    /// The usage or the input is wrong.
    Usage = 2,
    /// Measuring failed.
    Unmeasured = 3,
    /// What was measured decides nothing.
    Undecided = 4,
}

impl Exit {
    /// The statuses in words, for the help.
    pub const IN_WORDS: &str =
        "Exit: 0 done or reproduced, 1 differs, 2 usage or bad input, 3 could not measure, 4 undecided.";

    /// Returns the status for an error that reached the top: it tells a measurement that failed from a
    /// mistake in its options.
    pub fn of(error: &anyhow::Error) -> Exit {
        match error.downcast_ref::<Failure>() {
            Some(_) => Exit::Unmeasured,
            None => Exit::Usage,
        }
    }
}
