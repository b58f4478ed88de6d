//! The client against the real server: values, counts, errors, tokens.

mod common;

use common::{Home, sqld, wait_until};
use repro::instrument::hrana::Protocol;
use repro::instrument::hrana::{Address, Client, Failure, Limits, Reply, Token};
use repro::instrument::sql::{Statement, Value};
use repro::instrument::sqld::token::{Access, Keys};
use repro::instrument::sqld::{Server, tail};
use std::fs;
use std::sync::Arc;
use std::time::Duration;

const PROTOCOLS: [Protocol; 3] = [Protocol::Hrana2, Protocol::Hrana3, Protocol::Hrana3Protobuf];

/// A server for one test, and the folders that it uses.
struct Own {
    server: Server,
    _home: Home,
}

/// Starts a server; returns `None` and prints the reason if there is none.
fn start() -> Option<Own> {
    let program = sqld::program()?;
    let home = Home::new();
    Some(Own { server: sqld::start(&home, &program), _home: home })
}

fn connect(address: &Address, protocol: Protocol) -> Result<Client, Failure> {
    Client::connect(address, protocol, &Limits::new(&Arc::default()))
}

fn sql(text: &'static str) -> Statement {
    Statement::new(text, Vec::new())
}

fn text(text: impl Into<String>) -> Value {
    Value::Text(text.into())
}

/// Runs the body with each protocol, on a database of its own.
fn with_each(body: impl Fn(&Server, &mut Client, Protocol)) {
    for protocol in PROTOCOLS {
        let Some(own) = start() else { return };
        body(&own.server, &mut connect(&own.server.address(), protocol).unwrap(), protocol);
    }
}

#[test]
fn values_come_back_as_they_went() {
    let values = [
        Value::Null,
        Value::Integer(0),
        Value::Integer(-1),
        Value::Integer(i64::MIN),
        Value::Integer(i64::MAX),
        Value::Integer((1 << 53) + 1),
        Value::Real(0.1),
        Value::Real(-1.5),
        Value::Real(1.0),
        Value::Real(f64::MAX),
        Value::Real(f64::MIN_POSITIVE),
        Value::Real(5e-324),
        text(""),
        text("O'Brien said \"hi\" \\ to\nall\r\n\tof them"),
        text("Grüße, 世界, 🦀, \u{feff}\u{202e}"),
        text("before\0after"),
        text("x".repeat(1_000_000)),
        Value::Blob(vec![]),
        Value::Blob((0..=255).collect()),
        Value::Blob(vec![0xa5; 1 << 20]),
    ];
    with_each(|_, client, protocol| {
        let stream = client.open_stream().unwrap();
        client.execute(stream, &sql("CREATE TABLE t (id INTEGER PRIMARY KEY, value)")).unwrap();
        for (id, value) in values.iter().enumerate() {
            let id = Value::Integer(id as i64);
            let echo = Statement::new("SELECT ?, typeof(?1)", vec![value.clone()]);
            let echoed = client.execute(stream, &echo).unwrap().answer.rows;
            assert_eq!(echoed[0][0], *value, "{protocol:?}");
            let insert = Statement::new("INSERT INTO t VALUES (?, ?)", vec![id.clone(), value.clone()]);
            assert_eq!(client.execute(stream, &insert).unwrap().answer.affected, 1);
            let select = Statement::new("SELECT value FROM t WHERE id = ?", vec![id]);
            let rows = client.execute_on_own_stream(&select).unwrap().answer.rows;
            assert_eq!(rows, [[value.clone()]], "{protocol:?}");
        }
        let all = client.execute(stream, &sql("SELECT value FROM t ORDER BY id")).unwrap().answer.rows;
        assert_eq!(all.concat(), values, "{protocol:?}");
    });
}

/// In JSON, sqld itself changes the last bit of some floats that it receives; a float that it sends must not
/// change here.
#[test]
fn floats_are_read_to_the_last_bit() {
    let floats: Vec<Value> = (0..2000_u64)
        .map(|n| f64::from_bits(n.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
        .filter(|float| float.is_finite())
        .map(Value::Real)
        .collect();
    let Some(own) = start() else { return };
    let mut writer = connect(&own.server.address(), Protocol::Hrana3Protobuf).unwrap();
    writer.execute_on_own_stream(&sql("CREATE TABLE t (id INTEGER PRIMARY KEY, value)")).unwrap();
    for some in floats.chunks(500) {
        let marks = vec!["(?)"; some.len()].join(", ");
        let insert = Statement::new(format!("INSERT INTO t (value) VALUES {marks}"), some.to_vec());
        writer.execute_on_own_stream(&insert).unwrap();
    }
    for protocol in PROTOCOLS {
        let mut reader = connect(&own.server.address(), protocol).unwrap();
        let rows = reader.execute_on_own_stream(&sql("SELECT value FROM t ORDER BY id")).unwrap().answer.rows;
        assert!(rows.concat() == floats, "{protocol:?}");
    }
}

fn affected(reply: Result<Reply, Failure>) -> u64 {
    reply.unwrap().answer.affected
}

#[test]
fn affected_rows() {
    let statements: [(&str, u64, usize); 10] = [
        ("CREATE TABLE t (id INTEGER PRIMARY KEY, value)", 0, 0),
        ("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)", 3, 0),
        ("SELECT * FROM t", 0, 3),
        ("UPDATE t SET value = 0 WHERE id > 1", 2, 0),
        ("SELECT count(*) FROM t", 0, 1),
        ("UPDATE t SET value = 0 WHERE id > 9", 0, 0),
        ("PRAGMA user_version", 0, 1),
        ("DELETE FROM t WHERE id = 1", 1, 0),
        ("CREATE INDEX i ON t (value)", 0, 0),
        ("INSERT INTO t VALUES (7, 7) RETURNING id", 1, 1),
    ];
    with_each(|_, client, protocol| {
        let stream = client.open_stream().unwrap();
        for (statement, affected, rows) in statements {
            let answer = client.execute(stream, &sql(statement)).unwrap().answer;
            assert_eq!((answer.affected, answer.rows.len()), (affected, rows), "{protocol:?} {statement}");
        }
        client.execute_on_own_stream(&sql("UPDATE t SET value = 1")).unwrap();
        assert_eq!(affected(client.execute_on_own_stream(&sql("SELECT * FROM t"))), 0, "{protocol:?}");
    });
}

#[test]
fn errors_have_codes_and_leave_the_connection() {
    let cases = [
        ("SELECT * FROM nowhere", "SQLite error: no such table: nowhere (SQLITE_UNKNOWN)"),
        ("SELEKT", "SQL string could not be parsed: syntax error around L1:7: `SELEKT` (SQL_PARSE_ERROR)"),
        ("INSERT INTO t VALUES (1)", "SQLite error: UNIQUE constraint failed: t.id (SQLITE_CONSTRAINT)"),
        ("INSERT INTO t VALUES (2), ('x')", "SQLite error: datatype mismatch (SQLITE_MISMATCH)"),
        ("SELECT ?", "Arguments do not match SQL parameters: value for parameter 1 not found (ARGS_INVALID)"),
    ];
    with_each(|_, client, protocol| {
        let stream = client.open_stream().unwrap();
        client.execute(stream, &sql("CREATE TABLE t (id INTEGER PRIMARY KEY)")).unwrap();
        client.execute(stream, &sql("INSERT INTO t VALUES (1)")).unwrap();
        for (statement, expected) in cases {
            for reply in
                [client.execute(stream, &sql(statement)), client.execute_on_own_stream(&sql(statement))]
            {
                let failure = reply.unwrap_err();
                assert!(failure.leaves_connection() && !failure.is_busy(), "{failure:?}");
                assert_eq!(failure.to_string(), expected, "{protocol:?}");
            }
        }
        let count = client.execute(stream, &sql("SELECT count(*) FROM t")).unwrap().answer.rows;
        assert_eq!(count, [[Value::Integer(1)]]);
    });
}

#[test]
fn a_batch_answers_each_statement_and_fails_with_the_first_refusal() {
    with_each(|_, client, protocol| {
        let stream = client.open_stream().unwrap();
        let statements = [
            sql("CREATE TABLE t (id INTEGER PRIMARY KEY)"),
            sql("INSERT INTO t VALUES (1), (2)"),
            sql("SELECT id FROM t"),
        ];
        let replies = client.batch(stream, statements.iter()).unwrap();
        let found: Vec<_> = replies.iter().map(|r| (r.answer.affected, r.answer.rows.len())).collect();
        assert_eq!(found, [(0, 0), (2, 0), (0, 2)], "{protocol:?}");
        assert!(client.batch(stream, [].iter()).unwrap().is_empty());

        let refused = [sql("INSERT INTO t VALUES (1)"), sql("INSERT INTO nowhere VALUES (1)")];
        let later = [sql("INSERT INTO t VALUES (3)")];
        let failure = client.batch(stream, refused.iter().chain(&later)).unwrap_err();
        assert!(failure.leaves_connection() && failure.to_string().contains("UNIQUE"), "{failure:?}");
        // Statements after a refused one run nevertheless.
        let count = client.execute(stream, &sql("SELECT count(*) FROM t")).unwrap().answer.rows;
        assert_eq!(count, [[Value::Integer(3)]], "{protocol:?}");
    });
}

#[test]
fn streams_of_their_own_do_not_pile_up() {
    with_each(|server, client, protocol| {
        let files = || fs::read_dir(format!("/proc/{}/fd", server.process())).unwrap().count();
        client.execute_on_own_stream(&sql("CREATE TABLE t (id INTEGER PRIMARY KEY)")).unwrap();
        let before = files();
        for id in 0..300 {
            let insert = Statement::new("INSERT INTO t VALUES (?)", vec![Value::Integer(id)]);
            assert_eq!(affected(client.execute_on_own_stream(&insert)), 1);
        }
        // An open stream keeps files of the database open.
        assert!(files() < before + 30, "{protocol:?}: {before} files, then {}", files());
        assert_eq!(client.traffic().round_trips, 301);
        let stream = client.open_stream().unwrap();
        let count = client.execute(stream, &sql("SELECT count(*) FROM t")).unwrap().answer.rows;
        assert_eq!(count, [[Value::Integer(300)]]);
    });
}

#[test]
fn the_least_that_can_be_asked() {
    with_each(|_, client, protocol| {
        let stream = client.open_stream().unwrap();
        let begun = client.traffic();
        let asked = client.ask_autocommit(stream);
        if protocol == Protocol::Hrana2 {
            assert_eq!(asked, Err(Failure::Dropped("closed without a close frame".to_string())));
            return;
        }
        asked.unwrap();
        let traffic = client.traffic();
        assert_eq!(traffic.round_trips, begun.round_trips + 1);
        assert!(traffic.sent_bytes > begun.sent_bytes && traffic.received_bytes > begun.received_bytes);
    });
}

/// A client that waits for a transaction gets its lock after 5 s, and the transaction is lost.
#[test]
fn a_transaction_that_keeps_others_waiting_is_lost() {
    let Some(own) = start() else { return };
    let mut client = connect(&own.server.address(), Protocol::Hrana3).unwrap();
    let stream = client.open_stream().unwrap();
    let count = sql("SELECT count(*) FROM t");
    let counted = |reply: Result<Reply, Failure>| reply.unwrap().answer.rows.concat();
    client.execute(stream, &sql("CREATE TABLE t (id INTEGER PRIMARY KEY)")).unwrap();
    client.execute(stream, &sql("BEGIN IMMEDIATE")).unwrap();
    client.execute(stream, &sql("INSERT INTO t VALUES (1), (2)")).unwrap();
    assert_eq!(counted(client.execute(stream, &count)), [Value::Integer(2)]);
    assert_eq!(counted(client.execute_on_own_stream(&count)), [Value::Integer(0)]);
    let waited = client.execute_on_own_stream(&sql("INSERT INTO t VALUES (3)")).unwrap();
    assert_eq!(waited.answer.affected, 1);
    assert!((4_000_000_000..8_000_000_000).contains(&waited.server_ns), "{} ns", waited.server_ns);
    let failure = client.execute(stream, &sql("COMMIT")).unwrap_err();
    assert_eq!(failure.to_string(), "Transaction timed out (TRANSACTION_TIMEOUT)");
    assert_eq!(counted(client.execute_on_own_stream(&count)), [Value::Integer(1)]);
}

#[test]
fn tokens() {
    const INVALID: &str = "AUTH_JWT_INVALID";
    let Some(own) = start() else { return };
    let server = &own.server;
    let minted = |seconds| server.keys().mint(Access::Full, seconds);
    let cases = [
        (None, "AUTH_HEADER_NOT_FOUND"),
        (Some(Token::new("garbage").unwrap()), INVALID),
        (Some(Token::new("e30.e30.e30").unwrap()), INVALID),
        (Some(Keys::generate().mint(Access::Full, 3600)), INVALID),
        (Some(minted(-3600)), "AUTH_JWT_EXPIRED"),
    ];
    for protocol in PROTOCOLS {
        connect(&server.address_with(Some(minted(3600))), protocol).unwrap();
        for (token, expected) in cases.clone() {
            let address = server.address_with(token);
            let failure = connect(&address, protocol).err().unwrap();
            let Failure::Auth { code, .. } = &failure else { panic!("{failure:?}") };
            assert_eq!(code, expected, "{failure}");
            // All these tokens but one begin in the same way.
            for shown in [format!("{failure} {failure:?}"), format!("{address:?} {address}")] {
                assert!(!["eyJ", "garbage", "e30"].iter().any(|start| shown.contains(start)), "{shown}");
            }
        }
    }
}

/// sqld closes the connection of a client that may not write.
#[test]
fn a_token_to_read_does_not_write() {
    with_each(|server, owner, protocol| {
        owner.execute_on_own_stream(&sql("CREATE TABLE t (id INTEGER PRIMARY KEY)")).unwrap();
        let address = server.address_with(Some(server.keys().mint(Access::ReadOnly, 3600)));
        let mut reader = connect(&address, protocol).unwrap();
        assert_eq!(affected(reader.execute_on_own_stream(&sql("SELECT * FROM t"))), 0);
        let failure = reader.execute_on_own_stream(&sql("INSERT INTO t VALUES (1)")).unwrap_err();
        wait_until("it says why", Duration::from_secs(2), || {
            tail(&server.log()).contains("not have Write permission").then_some(())
        });
        assert_eq!(failure, Failure::Dropped("closed without a close frame".to_string()), "{protocol:?}");
        let count = owner.execute_on_own_stream(&sql("SELECT count(*) FROM t")).unwrap().answer.rows;
        assert_eq!(count, [[Value::Integer(0)]]);
    });
}
