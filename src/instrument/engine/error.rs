//! What an engine refuses, and why a library is not an engine.

use libsqlite3_sys as ffi;
use std::io;
use std::path::PathBuf;

/// An error of SQLite's, or of a use of it that this module refuses with one of SQLite's codes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} (SQLite error {code})")]
pub struct SqlError {
    /// The extended result code.
    pub code: i32,
    /// The engine's words.
    pub message: String,
}

impl SqlError {
    pub(super) fn new(code: i32, message: impl Into<String>) -> SqlError {
        SqlError { code, message: message.into() }
    }

    /// A use that SQLite would call a misuse.
    pub(super) fn misuse(message: impl Into<String>) -> SqlError {
        SqlError::new(ffi::SQLITE_MISUSE, message)
    }

    /// The primary result code: the low byte of the extended one.
    pub fn primary(&self) -> i32 {
        self.code & 0xff
    }

    /// Whether another connection held the lock, so that the work may be tried again.
    pub fn is_busy(&self) -> bool {
        self.primary() == ffi::SQLITE_BUSY
    }
}

/// Why a file can't be used as an engine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// It can't be read.
    #[error("{}: {error}", path.display())]
    Unreadable {
        /// The library as the user named it.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It is a folder, a pipe or the like.
    #[error("{}: not a regular file, so not a shared library", .0.display())]
    NotAFile(PathBuf),
    /// The dynamic loader refuses it.
    #[error("{}: not a shared library that can be loaded here: {reason}", path.display())]
    NotLoadable {
        /// The library as the user named it.
        path: PathBuf,
        /// The loader's words.
        reason: String,
    },
    /// It loads, but is not SQLite's C interface.
    #[error("{}: has no function {function}, so it does not offer SQLite's C interface", path.display())]
    MissingFunction {
        /// The library as the user named it.
        path: PathBuf,
        /// The first function that is missing.
        function: &'static str,
    },
    /// It was compiled for one thread only.
    #[error("{}: built without support for threads (SQLITE_THREADSAFE=0), which the studies need", .0.display())]
    NotThreadSafe(PathBuf),
    /// The private copy of the library can't be made.
    #[error("{}: can't create a private copy in {}: {error}", path.display(), folder.display())]
    CopyFailed {
        /// The library as the user named it.
        path: PathBuf,
        /// The folder for temporary files.
        folder: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
}
