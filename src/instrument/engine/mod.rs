//! SQLite's C interface in this process: the SQLite that is linked in, or any library with the same
//! functions.
//!
//! Every call goes through one table of function pointers, so that calls cost the same for all engines that
//! are compared. Use one [`Connection`] per thread; it is opened without a mutex of its own.
//!
//! Two engines must not have the same database file open at the same time. POSIX file locks belong to a
//! process, so neither engine would see the locks of the other, and each would drop those of the other when
//! it closes the file.

// A C interface can't be called without `unsafe`. It is confined to this module, whose public interface is
// safe.
#![allow(unsafe_code)]

mod connection;
mod error;
mod statement;
mod table;

pub use connection::{Checkpoint, Connection, OpenMode};
pub use error::{EngineError, SqlError};
pub use statement::{Cursor, Kind, Statement, Step, Value};

use super::scratch::Scratch;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::error::Error;
use std::ffi::{CStr, c_char};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use table::Table;

/// An implementation of SQLite's C interface. It is cheap to clone, and can be shared between threads.
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

struct Inner {
    table: Table,
    origin: Option<PathBuf>,
    /// Keeps the code behind `table` in memory.
    _library: Option<Library>,
}

impl Engine {
    /// Compile options that, compared with a plain build, change the cost of a call or the choice of query
    /// plans.
    pub const COSTLY_OPTIONS: &[&str] = &[
        "DEBUG",
        "DEFAULT_FOREIGN_KEYS",
        "ENABLE_API_ARMOR",
        "ENABLE_COLUMN_METADATA",
        "ENABLE_EXPENSIVE_ASSERT",
        "ENABLE_MEMORY_MANAGEMENT",
        "ENABLE_PREUPDATE_HOOK",
        "ENABLE_STAT4",
        "ENABLE_STMT_SCANSTATUS",
        "MEMDEBUG",
        "SECURE_DELETE",
    ];

    /// Returns the SQLite that is linked into this program.
    pub fn bundled() -> Engine {
        Engine(Arc::new(Inner { table: Table::bundled(), origin: None, _library: None }))
    }

    /// Loads the shared library in the file `path`. Loading a file again gives the same code and the same
    /// state as the first time.
    ///
    /// Loading a library runs its code, as starting a program does, so name only files that you would run.
    ///
    /// # Errors
    /// Fails when `path` is not a library, lacks a function, or does not support threads.
    pub fn load(path: &Path) -> Result<Engine, EngineError> {
        let file = regular_file(path)?;
        Engine::from_file(&file, path)
    }

    /// Loads a library as [`Engine::load`] does, but with state of its own, however often the file is loaded:
    /// it loads a copy, which is deleted at once. Libraries that it depends on are shared, and the loader
    /// searches for them in its usual places and not beside `path`.
    ///
    /// # Errors
    /// Fails as [`Engine::load`] does, or when no copy can be made in the folder for temporary files.
    pub fn load_private_copy(path: &Path) -> Result<Engine, EngineError> {
        let file = regular_file(path)?;
        let folder = std::env::temp_dir();
        let failed = |error| EngineError::CopyFailed { path: path.into(), folder: folder.clone(), error };
        let name = file.file_name().unwrap_or("engine.so".as_ref());
        let private = Scratch::new(&folder, "engine", &[&name.to_string_lossy()], false)
            .map_err(|error| failed(std::io::Error::other(format!("{error:#}"))))?;
        let copy = private.path().join(name);
        fs::copy(&file, &copy).map_err(failed)?;
        Engine::from_file(&copy, path)
    }

    fn from_file(file: &Path, named: &Path) -> Result<Engine, EngineError> {
        // SAFETY: the library's initialisers run, which is what the user asked for by naming it; see `load`.
        let opened = unsafe { Library::open(Some(file), RTLD_NOW | RTLD_LOCAL) };
        let library = opened.map_err(|error| {
            let words = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            // The loader's message begins with the file, which for a private copy means nothing to the user.
            let reason = words.replace(&format!("{}: ", file.display()), "");
            EngineError::NotLoadable { path: named.into(), reason }
        })?;
        let table = Table::of(&library)
            .map_err(|function| EngineError::MissingFunction { path: named.into(), function })?;
        // SAFETY: this takes no arguments and may be called at any time.
        if unsafe { (table.threadsafe)() } == 0 {
            return Err(EngineError::NotThreadSafe(named.into()));
        }
        Ok(Engine(Arc::new(Inner { table, origin: Some(named.into()), _library: Some(library) })))
    }

    /// Returns the library's file as it was named, or `None` for the bundled SQLite.
    pub fn origin(&self) -> Option<&Path> {
        self.0.origin.as_deref()
    }

    /// Returns the version, as in `3.53.1`. A library that imitates SQLite reports the version that it
    /// imitates.
    pub fn version(&self) -> String {
        // SAFETY: this takes no arguments; the result is a constant of the library, which `self` keeps
        // loaded.
        unsafe { text((self.table().libversion)()) }
    }

    /// Returns the check-in that the engine was built from.
    pub fn source_id(&self) -> String {
        // SAFETY: as for `version`.
        unsafe { text((self.table().sourceid)()) }
    }

    /// Returns SQLITE_THREADSAFE of the engine's build: 1 for serialized, 2 for multi-thread, but never 0.
    pub fn threadsafe(&self) -> i32 {
        // SAFETY: this takes no arguments and may be called at any time.
        unsafe { (self.table().threadsafe)() }
    }

    /// Returns the bytes that all connections of this engine have allocated, or zero if its build does not
    /// count them.
    pub fn memory_used(&self) -> i64 {
        // SAFETY: this takes no arguments and may be called from any thread.
        unsafe { (self.table().memory_used)() }
    }

    /// Returns whether both are the same code at the same address, and so share their state.
    pub fn is_same_code(&self, other: &Engine) -> bool {
        std::ptr::fn_addr_eq(self.table().step, other.table().step)
    }

    /// Returns the options in `compile_options` that are among [`Engine::COSTLY_OPTIONS`], with their values.
    pub fn costly_options(compile_options: &[String]) -> Vec<&str> {
        let name = |option: &str| option.split('=').next().unwrap_or("").to_string();
        let is_off = |option: &str| option.ends_with("=0");
        compile_options
            .iter()
            .map(String::as_str)
            .filter(|option| Engine::COSTLY_OPTIONS.contains(&name(option).as_str()) && !is_off(option))
            .collect()
    }

    fn table(&self) -> &Table {
        &self.0.table
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Engine").field("origin", &self.origin()).field("version", &self.version()).finish()
    }
}

/// Returns the absolute path of the file that `path` leads to. The loader would wait for a pipe, and search
/// for a bare name.
fn regular_file(path: &Path) -> Result<PathBuf, EngineError> {
    let unreadable = |error| EngineError::Unreadable { path: path.into(), error };
    let file = fs::canonicalize(path).map_err(unreadable)?;
    let metadata = fs::metadata(&file).map_err(unreadable)?;
    if metadata.is_file() { Ok(file) } else { Err(EngineError::NotAFile(path.into())) }
}

/// Returns the text of a C string; empty for a null pointer.
///
/// # Safety
/// `pointer` must be null, or point to a string that ends in NUL and stays unchanged during the call.
unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: the caller guarantees it.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}
