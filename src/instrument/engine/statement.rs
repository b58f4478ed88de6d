//! A compiled statement, and a cursor over its rows.
//!
//! Text and blobs are bound without a copy, as a C program that cares about speed does: SQLite keeps a
//! pointer to the caller's bytes. This is sound because a statement can be stepped only while those bytes are
//! borrowed: by [`Statement::run`], or through a [`Cursor`], and both bind *every* parameter first. After
//! that the pointers may dangle, but SQLite reads a bound value only in a step, and no step happens before
//! they have been replaced. Not even a leaked cursor changes that, so nothing has to be cleared in the hot
//! path.

use super::SqlError;
use super::connection::Connection;
use super::table::Table;
use libsqlite3_sys as ffi;
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

/// A value for a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'v> {
    /// A NULL.
    Null,
    /// A signed 64-bit integer.
    Integer(i64),
    /// A floating-point number; SQLite stores NaN as NULL.
    Real(f64),
    /// Text, which may contain NUL.
    Text(&'v str),
    /// A blob.
    Blob(&'v [u8]),
}

/// How SQLite stores a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The value is NULL.
    Null,
    /// The value is an integer.
    Integer,
    /// The value is a floating-point number.
    Real,
    /// The value is text.
    Text,
    /// The value is a blob.
    Blob,
}

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Step {
    /// There is a row, which can be read now.
    Row,
    /// The statement has ended.
    Done,
}

/// A compiled statement, which is finalized when it is dropped.
pub struct Statement<'c> {
    program: NonNull<ffi::sqlite3_stmt>,
    /// The table of the connection, held here so that it is only one load away in the hot path.
    table: &'c Table,
    connection: &'c Connection,
    parameters: usize,
    columns: usize,
    /// Whether the statement has been stepped since the last reset.
    running: bool,
}

impl<'c> Statement<'c> {
    /// Takes over `program`, which `connection` has just compiled.
    pub(super) fn new(connection: &'c Connection, program: NonNull<ffi::sqlite3_stmt>) -> Statement<'c> {
        let table = connection.table();
        // SAFETY: `program` is a statement that nobody else uses.
        let (parameters, columns) =
            unsafe { ((table.parameter_count)(program.as_ptr()), (table.column_count)(program.as_ptr())) };
        Statement {
            program,
            table,
            connection,
            parameters: usize::try_from(parameters).unwrap_or(0),
            columns: usize::try_from(columns).unwrap_or(0),
            running: false,
        }
    }

    /// Returns the number of parameters.
    pub fn parameter_count(&self) -> usize {
        self.parameters
    }

    /// Returns the number of columns of a row.
    pub fn column_count(&self) -> usize {
        self.columns
    }

    /// Binds `values`, one for each parameter, and runs the statement to its end, discarding its rows.
    ///
    /// # Errors
    /// Passes on errors of SQLite, and fails when the number of values is not that of the parameters.
    #[inline]
    pub fn run(&mut self, values: &[Value<'_>]) -> Result<(), SqlError> {
        self.bind(values)?;
        let outcome = loop {
            match self.step() {
                Ok(Step::Row) => {}
                Ok(Step::Done) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        // A reset repeats the error of the step.
        let reset = self.reset();
        outcome.and(reset)
    }

    /// Binds `values`, one for each parameter, and returns a cursor over the rows. The values stay borrowed
    /// until it ends:
    ///
    /// ```compile_fail,E0505
    /// # use repro::instrument::engine::{Engine, OpenMode, Value};
    /// # let connection = Engine::bundled().open(":memory:".as_ref(), OpenMode::Create).unwrap();
    /// let mut select = connection.prepare("SELECT ?1").unwrap();
    /// let name = String::from("x");
    /// let mut cursor = select.start(&[Value::Text(&name)]).unwrap();
    /// drop(name);
    /// cursor.step().unwrap();
    /// ```
    ///
    /// # Errors
    /// Passes on errors of SQLite, and fails when the number of values is not that of the parameters.
    #[inline]
    pub fn start<'s>(&'s mut self, values: &[Value<'s>]) -> Result<Cursor<'s, 'c>, SqlError> {
        self.bind(values)?;
        Ok(Cursor { statement: self, readable: 0 })
    }

    // In most calls the types of the values are known, and then inlining leaves only the C calls.
    #[inline(always)]
    fn bind(&mut self, values: &[Value<'_>]) -> Result<(), SqlError> {
        if self.running {
            // This happens only after a cursor was leaked.
            let _ = self.reset();
        }
        // The soundness of this module depends on this check: no parameter keeps an older value.
        if values.len() != self.parameters {
            return Err(self.wrong_count(values.len()));
        }
        for (index, value) in (1..).zip(values) {
            let code = self.bind_one(index, value);
            if code != ffi::SQLITE_OK {
                return Err(self.connection.error(code));
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn bind_one(&mut self, index: c_int, value: &Value) -> c_int {
        let (table, program) = (self.table, self.program.as_ptr());
        // SAFETY: the statement is alive. For text and blobs, `length` bytes can be read at the pointer until
        // the last step; see the top of the module.
        unsafe {
            match *value {
                Value::Null => (table.bind_null)(program, index),
                Value::Integer(value) => (table.bind_int64)(program, index, value),
                Value::Real(value) => (table.bind_double)(program, index, value),
                Value::Text(text) => match c_int::try_from(text.len()) {
                    Ok(length) => {
                        (table.bind_text)(program, index, start_of(text.as_bytes()).cast(), length, STATIC)
                    }
                    Err(_) => ffi::SQLITE_TOOBIG,
                },
                Value::Blob(bytes) => match c_int::try_from(bytes.len()) {
                    Ok(length) => (table.bind_blob)(program, index, start_of(bytes), length, STATIC),
                    Err(_) => ffi::SQLITE_TOOBIG,
                },
            }
        }
    }

    /// Steps the statement. This is private because it must not be called before [`Statement::bind`].
    #[inline]
    fn step(&mut self) -> Result<Step, SqlError> {
        self.running = true;
        // SAFETY: the statement is alive, and what is bound to it is borrowed by the caller.
        match unsafe { (self.table.step)(self.program.as_ptr()) } {
            ffi::SQLITE_ROW => Ok(Step::Row),
            ffi::SQLITE_DONE => Ok(Step::Done),
            code => Err(self.connection.error(code)),
        }
    }

    #[inline]
    fn reset(&mut self) -> Result<(), SqlError> {
        self.running = false;
        // SAFETY: the statement is alive.
        match unsafe { (self.table.reset)(self.program.as_ptr()) } {
            ffi::SQLITE_OK => Ok(()),
            code => Err(self.connection.error(code)),
        }
    }

    #[cold]
    fn wrong_count(&self, given: usize) -> SqlError {
        let wanted = self.parameters;
        SqlError::new(ffi::SQLITE_RANGE, format!("{given} values for a statement with {wanted} parameters"))
    }
}

impl Drop for Statement<'_> {
    fn drop(&mut self) {
        // SAFETY: the statement is alive, its connection is still open, and values that were bound without a
        // copy are not read.
        unsafe { (self.table.finalize)(self.program.as_ptr()) };
    }
}

/// SQLITE_STATIC: SQLite neither copies nor frees the bytes.
const STATIC: ffi::sqlite3_destructor_type = None;

/// Returns a pointer to the start of `bytes`. An empty slice points to no memory and a null pointer would
/// mean NULL, so an empty string takes its place.
#[inline]
fn start_of(bytes: &[u8]) -> *const c_void {
    if bytes.is_empty() { c"".as_ptr().cast() } else { bytes.as_ptr().cast() }
}

/// A cursor over the rows of a statement, which is reset when the cursor ends. Reading a column that the
/// current row lacks, or reading without a row, is a bug in the caller and panics, as with a slice.
pub struct Cursor<'s, 'c> {
    statement: &'s mut Statement<'c>,
    /// The number of columns that can be read now.
    readable: usize,
}

impl Cursor<'_, '_> {
    /// Moves to the next row.
    ///
    /// # Errors
    /// Passes on errors of SQLite.
    #[inline]
    pub fn step(&mut self) -> Result<Step, SqlError> {
        self.readable = 0;
        let step = self.statement.step()?;
        if step == Step::Row {
            self.readable = self.statement.columns;
        }
        Ok(step)
    }

    /// Ends the cursor. Dropping it does the same, but does not report an error.
    ///
    /// # Errors
    /// Passes on errors of SQLite, as when the end of a read transaction fails; after a step that failed,
    /// returns its error again.
    #[inline]
    pub fn reset(self) -> Result<(), SqlError> {
        self.statement.reset()
    }

    /// Returns how the value is stored. This must be called before the value is read as another type.
    #[inline]
    pub fn kind(&self, column: usize) -> Kind {
        let index = self.index(column);
        // SAFETY: the statement is on a row that has this column.
        match unsafe { (self.statement.table.column_type)(self.program(), index) } {
            ffi::SQLITE_INTEGER => Kind::Integer,
            ffi::SQLITE_FLOAT => Kind::Real,
            ffi::SQLITE_TEXT => Kind::Text,
            ffi::SQLITE_BLOB => Kind::Blob,
            _ => Kind::Null,
        }
    }

    /// Returns the value as an integer; SQLite converts others, and NULL to zero.
    #[inline]
    pub fn integer(&self, column: usize) -> i64 {
        let index = self.index(column);
        // SAFETY: the statement is on a row that has this column.
        unsafe { (self.statement.table.column_int64)(self.program(), index) }
    }

    /// Returns the value as a floating-point number; SQLite converts others, and NULL to zero.
    #[inline]
    pub fn real(&self, column: usize) -> f64 {
        let index = self.index(column);
        // SAFETY: the statement is on a row that has this column.
        unsafe { (self.statement.table.column_double)(self.program(), index) }
    }

    /// Returns the bytes of the value as UTF-8 text without checking them, which is the cheapest way to read
    /// text. Numbers are converted; NULL has no bytes. This borrows the cursor, because reading a value as
    /// another type may move it.
    #[inline]
    pub fn text_bytes(&mut self, column: usize) -> &[u8] {
        let index = self.index(column);
        // SAFETY: the statement is on a row that has this column. The length is requested after the text, as
        // SQLite requires, and that many bytes stay in place until the cursor is used again.
        unsafe {
            let start = (self.statement.table.column_text)(self.program(), index);
            slice(start, (self.statement.table.column_bytes)(self.program(), index))
        }
    }

    /// Returns the value as text, like [`Cursor::text_bytes`] but checked.
    ///
    /// # Errors
    /// Fails when the value is not UTF-8.
    #[inline]
    pub fn text(&mut self, column: usize) -> Result<&str, SqlError> {
        std::str::from_utf8(self.text_bytes(column))
            .map_err(|error| SqlError::new(ffi::SQLITE_MISMATCH, format!("column {column}: {error}")))
    }

    /// Returns the bytes of the value as it is stored. Numbers are converted to text; NULL has no bytes.
    #[inline]
    pub fn blob(&mut self, column: usize) -> &[u8] {
        let index = self.index(column);
        // SAFETY: as in `text_bytes`.
        unsafe {
            let start = (self.statement.table.column_blob)(self.program(), index);
            slice(start.cast(), (self.statement.table.column_bytes)(self.program(), index))
        }
    }

    #[inline]
    fn index(&self, column: usize) -> c_int {
        assert!(column < self.readable, "column {column} of a row that has {}", self.readable);
        column as c_int
    }

    #[inline]
    fn program(&self) -> *mut ffi::sqlite3_stmt {
        self.statement.program.as_ptr()
    }
}

impl Drop for Cursor<'_, '_> {
    #[inline]
    fn drop(&mut self) {
        if self.statement.running {
            let _ = self.statement.reset();
        }
    }
}

/// Returns the `length` bytes at `start`; none for a null pointer, which SQLite returns for NULL and for
/// empty values.
///
/// # Safety
/// Unless `start` is null, `length` bytes must be readable there for as long as the result lives.
#[inline]
unsafe fn slice<'a>(start: *const u8, length: c_int) -> &'a [u8] {
    match usize::try_from(length) {
        // SAFETY: the caller guarantees it.
        Ok(length) if !start.is_null() => unsafe { std::slice::from_raw_parts(start, length) },
        _ => &[],
    }
}
