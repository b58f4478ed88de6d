//! Pointers to the C functions that studies need, either of the bundled SQLite or of a loaded library.

use libloading::os::unix::Library;
use libsqlite3_sys::{
    self as ffi, sqlite3 as Handle, sqlite3_callback as Callback, sqlite3_destructor_type as Destructor,
    sqlite3_stmt as Program,
};
use std::ffi::{c_char, c_double, c_int, c_uchar, c_void};

/// Declares the table and both ways to fill it from one list, so that they can't disagree.
macro_rules! table {
    ($($field:ident = $name:ident($($argument:ty),*) -> $result:ty;)*) => {
        /// One pointer for each function. All functions exist since SQLite 3.31, most of them for far longer.
        pub(super) struct Table {
            $(pub(super) $field: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl Table {
            /// Returns the functions that are linked into this program. The compiler checks each signature.
            pub(super) fn bundled() -> Table {
                Table { $($field: ffi::$name,)* }
            }

            /// Returns the functions of `library`, or the name of the first one that it lacks.
            pub(super) fn of(library: &Library) -> Result<Table, &'static str> {
                $(
                    // SAFETY: SQLite has published this signature for this name and never changes a
                    // signature.
                    let $field = unsafe { library.get(concat!(stringify!($name), "\0")) };
                )*
                Ok(Table { $($field: *$field.map_err(|_| stringify!($name))?,)* })
            }
        }
    };
}

table! {
    open = sqlite3_open_v2(*const c_char, *mut *mut Handle, c_int, *const c_char) -> c_int;
    close = sqlite3_close(*mut Handle) -> c_int;
    prepare = sqlite3_prepare_v2(*mut Handle, *const c_char, c_int, *mut *mut Program, *mut *const c_char) -> c_int;
    finalize = sqlite3_finalize(*mut Program) -> c_int;
    step = sqlite3_step(*mut Program) -> c_int;
    reset = sqlite3_reset(*mut Program) -> c_int;
    parameter_count = sqlite3_bind_parameter_count(*mut Program) -> c_int;
    bind_blob = sqlite3_bind_blob(*mut Program, c_int, *const c_void, c_int, Destructor) -> c_int;
    bind_double = sqlite3_bind_double(*mut Program, c_int, c_double) -> c_int;
    bind_int64 = sqlite3_bind_int64(*mut Program, c_int, i64) -> c_int;
    bind_null = sqlite3_bind_null(*mut Program, c_int) -> c_int;
    bind_text = sqlite3_bind_text(*mut Program, c_int, *const c_char, c_int, Destructor) -> c_int;
    column_blob = sqlite3_column_blob(*mut Program, c_int) -> *const c_void;
    column_bytes = sqlite3_column_bytes(*mut Program, c_int) -> c_int;
    column_count = sqlite3_column_count(*mut Program) -> c_int;
    column_double = sqlite3_column_double(*mut Program, c_int) -> c_double;
    column_int64 = sqlite3_column_int64(*mut Program, c_int) -> i64;
    column_text = sqlite3_column_text(*mut Program, c_int) -> *const c_uchar;
    column_type = sqlite3_column_type(*mut Program, c_int) -> c_int;
    exec = sqlite3_exec(*mut Handle, *const c_char, Callback, *mut c_void, *mut *mut c_char) -> c_int;
    errmsg = sqlite3_errmsg(*mut Handle) -> *const c_char;
    errstr = sqlite3_errstr(c_int) -> *const c_char;
    extended_errcode = sqlite3_extended_errcode(*mut Handle) -> c_int;
    busy_timeout = sqlite3_busy_timeout(*mut Handle, c_int) -> c_int;
    changes = sqlite3_changes(*mut Handle) -> c_int;
    total_changes = sqlite3_total_changes(*mut Handle) -> c_int;
    last_insert_rowid = sqlite3_last_insert_rowid(*mut Handle) -> i64;
    get_autocommit = sqlite3_get_autocommit(*mut Handle) -> c_int;
    wal_checkpoint = sqlite3_wal_checkpoint_v2(*mut Handle, *const c_char, c_int, *mut c_int, *mut c_int) -> c_int;
    libversion = sqlite3_libversion() -> *const c_char;
    sourceid = sqlite3_sourceid() -> *const c_char;
    threadsafe = sqlite3_threadsafe() -> c_int;
    memory_used = sqlite3_memory_used() -> i64;
}
