//! A connection to a database, which is closed when it is dropped.

use super::statement::{Kind, Statement, Step};
use super::table::Table;
use super::{Engine, SqlError, text};
use libsqlite3_sys as ffi;
use std::ffi::{CString, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{self, NonNull};
use std::time::Duration;

/// What may be done with the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// Read, write, and create the file if it does not exist.
    Create,
    /// Read and write an existing file.
    ReadWrite,
    /// Read an existing file.
    ReadOnly,
}

/// How far a checkpoint goes, in the terms that SQLite defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checkpoint {
    /// Copy as much as possible without waiting.
    Passive,
    /// Wait for writers, then copy everything.
    Full,
    /// Do as `Full`, and wait until the log can be written from its start again.
    Restart,
    /// Do as `Restart`, and truncate the log file to zero bytes.
    Truncate,
}

/// A connection. It may move to another thread, but only one thread at a time can use it.
pub struct Connection {
    handle: NonNull<ffi::sqlite3>,
    engine: Engine,
}

// SAFETY: the engine supports threads (`Engine::load` refuses others), so a connection without a mutex may be
// used from any thread, one at a time. The raw pointer keeps it from being `Sync`, which ensures "one at a
// time".
unsafe impl Send for Connection {}

impl Engine {
    /// Opens the database in the file `path`. As in SQLite, `:memory:` is a database without a file, and an
    /// empty path one in a temporary file.
    ///
    /// # Errors
    /// Fails when SQLite can't open it. Most faults of a file show only when it is first read.
    pub fn open(&self, path: &Path, mode: OpenMode) -> Result<Connection, SqlError> {
        let table = self.table();
        let name = file_name(path)?;
        let access = match mode {
            OpenMode::Create => ffi::SQLITE_OPEN_READWRITE | ffi::SQLITE_OPEN_CREATE,
            OpenMode::ReadWrite => ffi::SQLITE_OPEN_READWRITE,
            OpenMode::ReadOnly => ffi::SQLITE_OPEN_READONLY,
        };
        let mut handle = ptr::null_mut();
        // SAFETY: `name` ends in NUL, `handle` is a place for the result, and the null pointer asks for the
        // default VFS.
        let code = unsafe {
            (table.open)(name.as_ptr(), &mut handle, access | ffi::SQLITE_OPEN_NOMUTEX, ptr::null())
        };
        // A failed open may also return a handle, which holds the message and must be closed.
        let Some(handle) = NonNull::new(handle) else {
            // SAFETY: the result is a constant of the library.
            return Err(SqlError::new(code, unsafe { text((table.errstr)(code)) }));
        };
        let connection = Connection { handle, engine: self.clone() };
        connection.check(code)?;
        Ok(connection)
    }
}

/// Returns `path` as SQLite needs it, which must not take a file called `file:…` for a URI.
fn file_name(path: &Path) -> Result<CString, SqlError> {
    let mut bytes = path.as_os_str().as_bytes().to_vec();
    if bytes.starts_with(b"file:") {
        bytes.splice(..0, *b"./");
    }
    let nul = |_| SqlError::new(ffi::SQLITE_CANTOPEN, format!("{}: the path has a NUL byte", path.display()));
    CString::new(bytes).map_err(nul)
}

impl Connection {
    /// Runs every statement in `sql`, and discards the rows that they return.
    ///
    /// # Errors
    /// Passes on the error of SQLite for the first statement that fails.
    pub fn exec(&self, sql: &str) -> Result<(), SqlError> {
        let sql = CString::new(sql).map_err(|_| SqlError::misuse("the SQL has a NUL byte"))?;
        // SAFETY: the handle is open and `sql` ends in NUL; there is no callback and no place for a message.
        let code =
            unsafe { (self.table().exec)(self.raw(), sql.as_ptr(), None, ptr::null_mut(), ptr::null_mut()) };
        self.check(code)
    }

    /// Compiles the only statement in `sql`.
    ///
    /// # Errors
    /// Passes on errors of SQLite, and fails when `sql` has no statement or more than one.
    pub fn prepare(&self, sql: &str) -> Result<Statement<'_>, SqlError> {
        let length = c_int::try_from(sql.len())
            .map_err(|_| SqlError::new(ffi::SQLITE_TOOBIG, "the SQL is longer than 2 GiB"))?;
        let (mut program, mut tail) = (ptr::null_mut(), ptr::null());
        let start = sql.as_ptr().cast();
        // SAFETY: the handle is open, `length` bytes can be read at `start`, and both results have a place.
        let code = unsafe { (self.table().prepare)(self.raw(), start, length, &mut program, &mut tail) };
        self.check(code)?;
        let Some(program) = NonNull::new(program) else {
            return Err(SqlError::misuse(format!("no SQL statement in {sql:?}")));
        };
        let statement = Statement::new(self, program);
        let used = (tail as usize).saturating_sub(start as usize);
        let rest = sql.as_bytes().get(used..).unwrap_or_default();
        if !rest.iter().all(|byte| byte.is_ascii_whitespace() || *byte == b';') {
            return Err(SqlError::misuse(format!("more than one SQL statement in {sql:?}")));
        }
        Ok(statement)
    }

    /// Returns the first column of the first row, which must be an integer.
    ///
    /// # Errors
    /// Passes on errors of SQLite, and fails when there is no row or the value is not an integer.
    pub fn query_i64(&self, sql: &str) -> Result<i64, SqlError> {
        self.first(sql, |row| match row.kind(0) {
            Kind::Integer => Ok(row.integer(0)),
            kind => {
                Err(SqlError::new(ffi::SQLITE_MISMATCH, format!("{sql:?} returned {kind:?}, not an integer")))
            }
        })?
        .ok_or_else(|| no_row(sql))?
    }

    /// Returns the first column of the first row as text; numbers are converted.
    ///
    /// # Errors
    /// Passes on errors of SQLite, and fails when there is no row or the value is NULL or a blob.
    pub fn query_text(&self, sql: &str) -> Result<String, SqlError> {
        self.first(sql, |row| match row.kind(0) {
            kind @ (Kind::Null | Kind::Blob) => {
                Err(SqlError::new(ffi::SQLITE_MISMATCH, format!("{sql:?} returned {kind:?}, not text")))
            }
            _ => row.text(0).map(str::to_string),
        })?
        .ok_or_else(|| no_row(sql))?
    }

    /// Runs `PRAGMA {setting}`, as in `journal_mode = WAL`. Many settings answer with the value that is now
    /// in force, which may differ from the one asked for; the result is `None` for a setting that does not
    /// answer.
    ///
    /// # Errors
    /// Passes on errors of SQLite.
    pub fn pragma(&self, setting: &str) -> Result<Option<String>, SqlError> {
        self.first(&format!("PRAGMA {setting}"), |row| row.text(0).map(str::to_string))?.transpose()
    }

    /// Runs `sql` to its end, and reads its first row.
    fn first<T>(
        &self,
        sql: &str,
        read: impl FnOnce(&mut super::Cursor) -> Result<T, SqlError>,
    ) -> Result<Option<Result<T, SqlError>>, SqlError> {
        let mut statement = self.prepare(sql)?;
        if statement.column_count() == 0 {
            return statement.run(&[]).map(|()| None);
        }
        let mut cursor = statement.start(&[])?;
        if cursor.step()? == Step::Done {
            return Ok(None);
        }
        let value = read(&mut cursor);
        while cursor.step()? == Step::Row {}
        Ok(Some(value))
    }

    /// Returns the options that the engine was compiled with, without `SQLITE_`.
    ///
    /// # Errors
    /// Passes on errors of SQLite.
    pub fn compile_options(&self) -> Result<Vec<String>, SqlError> {
        let mut statement = self.prepare("PRAGMA compile_options")?;
        let mut cursor = statement.start(&[])?;
        let mut options = Vec::new();
        while cursor.step()? == Step::Row {
            options.push(cursor.text(0)?.to_string());
        }
        Ok(options)
    }

    /// Sets how long a statement retries while another connection holds the lock, in whole milliseconds.
    ///
    /// # Errors
    /// Passes on errors of SQLite.
    pub fn busy_timeout(&self, timeout: Duration) -> Result<(), SqlError> {
        let milliseconds = c_int::try_from(timeout.as_millis()).unwrap_or(c_int::MAX);
        // SAFETY: the handle is open.
        self.check(unsafe { (self.table().busy_timeout)(self.raw(), milliseconds) })
    }

    /// Copies the write-ahead log into the database. Returns the number of frames in the log and how many of
    /// them were copied, or `None` when the database has no such log.
    ///
    /// # Errors
    /// Passes on errors of SQLite; the error is BUSY when readers or writers kept it from finishing.
    pub fn checkpoint(&self, mode: Checkpoint) -> Result<Option<(u32, u32)>, SqlError> {
        let mode = match mode {
            Checkpoint::Passive => ffi::SQLITE_CHECKPOINT_PASSIVE,
            Checkpoint::Full => ffi::SQLITE_CHECKPOINT_FULL,
            Checkpoint::Restart => ffi::SQLITE_CHECKPOINT_RESTART,
            Checkpoint::Truncate => ffi::SQLITE_CHECKPOINT_TRUNCATE,
        };
        let (mut log, mut copied) = (-1, -1);
        // SAFETY: the handle is open and both results have a place; a null name stands for every attached
        // database.
        let code =
            unsafe { (self.table().wal_checkpoint)(self.raw(), ptr::null(), mode, &mut log, &mut copied) };
        self.check(code)?;
        Ok(u32::try_from(log).ok().zip(u32::try_from(copied).ok()))
    }

    /// Returns the number of rows that the last INSERT, UPDATE or DELETE changed.
    pub fn changes(&self) -> i64 {
        // SAFETY: the handle is open.
        i64::from(unsafe { (self.table().changes)(self.raw()) })
    }

    /// Returns the number of rows changed since the connection was opened. SQLite counts in 32 bits, so a
    /// larger number wraps to negative values.
    pub fn total_changes(&self) -> i64 {
        // SAFETY: the handle is open.
        i64::from(unsafe { (self.table().total_changes)(self.raw()) })
    }

    /// Returns the rowid of the last row inserted, or zero before the first.
    pub fn last_insert_rowid(&self) -> i64 {
        // SAFETY: the handle is open.
        unsafe { (self.table().last_insert_rowid)(self.raw()) }
    }

    /// Returns whether a transaction is open.
    pub fn in_transaction(&self) -> bool {
        // SAFETY: the handle is open.
        unsafe { (self.table().get_autocommit)(self.raw()) == 0 }
    }

    /// Returns the engine that opened the connection.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(super) fn table(&self) -> &Table {
        self.engine.table()
    }

    fn raw(&self) -> *mut ffi::sqlite3 {
        self.handle.as_ptr()
    }

    /// Converts a result code; every code but OK is an error.
    pub(super) fn check(&self, code: c_int) -> Result<(), SqlError> {
        if code == ffi::SQLITE_OK { Ok(()) } else { Err(self.error(code)) }
    }

    /// Returns the error behind the `code` that a call on this connection has just returned.
    #[cold]
    pub(super) fn error(&self, code: c_int) -> SqlError {
        // SAFETY: the handle is open, and no other thread can cause another error in between.
        let (extended, message) =
            unsafe { ((self.table().extended_errcode)(self.raw()), text((self.table().errmsg)(self.raw()))) };
        if extended & 0xff == code & 0xff {
            return SqlError::new(extended, message);
        }
        // A misuse is returned but not always recorded, and then the connection reports an older error.
        // SAFETY: the result is a constant of the library.
        SqlError::new(code, unsafe { text((self.table().errstr)(code)) })
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // SAFETY: the handle is open, and no statement outlives its borrow of `self`. If a statement was
        // leaked, SQLite refuses, and the handle leaks, too.
        unsafe { (self.table().close)(self.raw()) };
    }
}

#[cold]
fn no_row(sql: &str) -> SqlError {
    SqlError::new(ffi::SQLITE_DONE, format!("{sql:?} returned no row"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_like_a_uri_is_a_file() {
        let given = |path: &str| file_name(Path::new(path)).unwrap().into_string().unwrap();
        assert_eq!(given("file:x?mode=memory"), "./file:x?mode=memory");
        assert_eq!(given("/tmp/file:x"), "/tmp/file:x");
        assert_eq!(given(":memory:"), ":memory:");
    }
}
