//! Helpers for the tests with a real sqld.

use super::{Home, list, skip, wait_until};
use repro::instrument::hrana::Protocol;
use repro::instrument::hrana::{Address, Client, Limits, Stream};
use repro::instrument::sql::{Statement, Value};
use repro::instrument::sqld::{Config, Server, program};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The SHA-256 of the pinned server.
pub const PIN: &str = "6adc70b5ad2c742b1e868d5cde014295720691f9cde85d837925b259d4942bfe";

/// Returns the pinned server that `vendor/fetch sqld` fetches, or `None` after printing the reason if it is
/// missing.
pub fn program() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("vendor/sqld/sqld");
    if !path.is_file() {
        skip("there is no vendor/sqld/sqld: run vendor/fetch sqld");
        return None;
    }
    Some(path)
}

/// Returns the processes of servers, or of programs started as one, whose database is below `folder`.
pub fn servers_in(folder: &Path) -> Vec<i32> {
    let serves = |process: &PathBuf| {
        let words = fs::read_to_string(process.join("cmdline")).unwrap_or_default();
        let words: Vec<&str> = words.split('\0').collect();
        words.windows(2).any(|pair| pair[0] == "--db-path" && Path::new(pair[1]).starts_with(folder))
    };
    let number = |path: &PathBuf| path.file_name()?.to_str()?.parse().ok();
    list(Path::new("/proc")).iter().filter(|path| serves(path)).filter_map(number).collect()
}

/// Asserts that neither a process nor a folder is left, after at most two seconds.
#[track_caller]
pub fn assert_nothing_is_left(folder: &Path) {
    wait_until("the server is gone", Duration::from_secs(2), || servers_in(folder).is_empty().then_some(()));
    assert_eq!(list(folder), Vec::<PathBuf>::new());
}

/// Starts a server for one test, with its folder in `home`.
pub fn start(home: &Home, program: &Path) -> Server {
    let setting = Config {
        program: program::find(Some(program), &home.cache()).unwrap(),
        arguments: Vec::new(),
        folder: home.work(),
        keep: false,
        launcher: super::REPRO.into(),
    };
    Server::start(&setting).unwrap()
}

/// A connection to the database of a server.
pub struct Database {
    client: Client,
    stream: Stream,
}

impl Database {
    pub fn of(server: &Server) -> Database {
        let mut client = connect(&server.address()).unwrap();
        let stream = client.open_stream().unwrap();
        Database { client, stream }
    }

    pub fn ask(&mut self, sql: &'static str) -> Vec<Vec<Value>> {
        self.client.execute(self.stream, &Statement::new(sql, Vec::new())).unwrap().answer.rows
    }

    /// Returns the names of tables and indexes.
    pub fn tables(&mut self) -> Vec<String> {
        let rows = self.ask("SELECT name FROM sqlite_schema ORDER BY name");
        let name = |row: &Vec<Value>| match &row[0] {
            Value::Text(name) => name.clone(),
            other => panic!("{other:?} is no name"),
        };
        rows.iter().map(name).collect()
    }
}

fn connect(address: &Address) -> Result<Client, repro::instrument::hrana::Failure> {
    Client::connect(address, Protocol::Hrana3, &Limits::new(&Arc::default()))
}
