//! Property tests of both encodings, with any messages in either direction.

use super::message::{self, Body, ClientMessage, Error, Executed, Request, ServerMessage};
use super::{json, protobuf};
use crate::instrument::hrana::Protocol;
use crate::instrument::sql::{Answer, Statement, Value};
use libsql_hrana::proto;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;
use tungstenite::Message;

fn hold<S: Strategy>(cases: S, check: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let config = Config { cases: 2000, failure_persistence: None, ..Config::default() };
    let result = TestRunner::new(config).run(&cases, check);
    result.unwrap_or_else(|failure| panic!("{failure}"));
}

fn value() -> impl Strategy<Value = Value> {
    let float = any::<f64>().prop_filter("no other is a value of SQLite", |float| float.is_finite());
    prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::Integer),
        float.prop_map(Value::Real),
        any::<String>().prop_map(Value::Text),
        vec(any::<u8>(), 0..40).prop_map(Value::Blob),
    ]
}

fn statement() -> impl Strategy<Value = Statement> {
    (any::<String>(), vec(value(), 0..4)).prop_map(|(sql, arguments)| Statement::new(sql, arguments))
}

fn executed() -> impl Strategy<Value = Executed> {
    let rows = vec(vec(value(), 0..4), 0..4);
    (any::<u64>(), rows, 0.0..1e6).prop_map(|(affected, rows, server_ms)| {
        let answer = Answer { affected, rows };
        Executed { answer, server_ms }
    })
}

fn values(values: &[Value]) -> Vec<proto::Value> {
    message::body(&Statement::new("", values.to_vec())).args
}

/// Returns the result of a statement as a server encodes it.
fn result(executed: &Executed) -> proto::StmtResult {
    let rows = executed.answer.rows.iter().map(|row| proto::Row { values: values(row) });
    proto::StmtResult {
        cols: vec![proto::Col { name: Some("c".to_string()), decltype: None }],
        rows: rows.collect(),
        affected_row_count: executed.answer.affected,
        last_insert_rowid: Some(-1),
        replication_index: Some(7),
        rows_read: 1,
        rows_written: 2,
        query_duration_ms: executed.server_ms,
    }
}

/// Returns the statement that a server has decoded.
fn statement_of(read: proto::Stmt) -> Statement {
    assert!(read.want_rows == Some(true) && read.named_args.is_empty() && read.sql_id.is_none());
    let row = proto::StmtResult { rows: vec![proto::Row { values: read.args }], ..Default::default() };
    let arguments = Executed::try_from(row).unwrap().answer.rows.remove(0);
    Statement::new(read.sql.unwrap(), arguments)
}

/// Returns what a server decodes from JSON: the number of the request, its type, its stream, and its
/// statements.
fn read_json(text: &str) -> (i64, String, i64, Vec<proto::Stmt>) {
    let message: serde_json::Value = serde_json::from_str(text).unwrap();
    assert_eq!(message["type"], "request");
    let request = &message["request"];
    let body = |part: &serde_json::Value| serde_json::from_str(&part.to_string()).unwrap();
    let steps = request["batch"]["steps"].as_array().into_iter().flatten().map(|step| &step["stmt"]);
    let statements = request.get("stmt").into_iter().chain(steps).map(body).collect();
    let kind = request["type"].as_str().unwrap().to_string();
    (message["request_id"].as_i64().unwrap(), kind, request["stream_id"].as_i64().unwrap(), statements)
}

/// Returns a request of each kind, with its type and the statements in it.
fn requests(stream: i32, statements: &[Statement]) -> Vec<(Request, &'static str, &[Statement])> {
    let batch = message::batch(statements.iter());
    let mut requests = vec![
        (Request::OpenStream { stream }, "open_stream", &[][..]),
        (Request::CloseStream { stream }, "close_stream", &[]),
        (Request::GetAutocommit { stream }, "get_autocommit", &[]),
        (Request::Batch { stream, batch }, "batch", statements),
    ];
    if let Some(first) = statements.first() {
        requests.push((
            Request::Execute { stream, statement: message::body(first) },
            "execute",
            &statements[..1],
        ));
    }
    requests
}

#[test]
fn a_server_reads_what_was_asked() {
    hold((1..=i32::MAX, 1..=i32::MAX, vec(statement(), 0..4)), |(id, stream, statements)| {
        for (request, kind, expected) in requests(stream, &statements) {
            let message = ClientMessage::Request { id, request };
            let (read_id, read_kind, read_stream, read) = read_json(&json::encode(&message));
            prop_assert_eq!((read_id, read_kind.as_str(), read_stream), (id.into(), kind, stream.into()));
            prop_assert_eq!(read.into_iter().map(statement_of).collect::<Vec<_>>(), expected);

            let (read_id, read_stream, read) = protobuf::server::read(&protobuf::encode(&message));
            prop_assert_eq!((read_id, read_stream), (id, stream));
            prop_assert_eq!(read.into_iter().map(statement_of).collect::<Vec<_>>(), expected);
        }
        Ok(())
    });
}

fn executed_in_json(id: i32, result: &proto::StmtResult) -> String {
    let response = json!({ "type": "execute", "result": result });
    json!({ "type": "response_ok", "request_id": id, "response": response }).to_string()
}

fn batch_in_json(id: i32, results: &[proto::StmtResult]) -> String {
    let errors = vec![serde_json::Value::Null; results.len()];
    let result = json!({ "step_results": results, "step_errors": errors });
    let response = json!({ "type": "batch", "result": result });
    json!({ "type": "response_ok", "request_id": id, "response": response }).to_string()
}

fn refused_in_json(id: i32, error: &proto::Error) -> String {
    json!({ "type": "response_error", "request_id": id, "error": error }).to_string()
}

fn reply(id: i32, body: Body) -> Result<ServerMessage, String> {
    Ok(ServerMessage::Reply { id, outcome: Ok(body) })
}

#[test]
fn an_answer_comes_as_the_server_gave_it() {
    hold((any::<i32>(), vec(executed(), 1..4)), |(id, executed)| {
        let results: Vec<proto::StmtResult> = executed.iter().map(result).collect();
        let one = || reply(id, Body::Statement(executed[0].clone()));
        prop_assert_eq!(json::decode(&executed_in_json(id, &results[0])), one());
        prop_assert_eq!(protobuf::decode(&protobuf::server::executed(id, results[0].clone())), one());

        let all = || reply(id, Body::Batch(Ok(executed.clone())));
        prop_assert_eq!(json::decode(&batch_in_json(id, &results)), all());
        // The results form a map, whose order is arbitrary.
        let mut numbered: Vec<_> = (0..).zip(results).collect();
        numbered.reverse();
        prop_assert_eq!(protobuf::decode(&protobuf::server::batch(id, numbered)), all());
        Ok(())
    });
}

#[test]
fn a_batch_with_a_gap_is_none() {
    let empty = proto::StmtResult::default;
    for numbers in [vec![1], vec![0, 0], vec![0, 2], vec![u32::MAX]] {
        let results = numbers.iter().map(|number| (*number, empty())).collect();
        let fault = protobuf::decode(&protobuf::server::batch(1, results)).unwrap_err();
        assert!(fault.starts_with("a batch without a result for statement"), "{numbers:?}: {fault}");
    }
}

#[test]
fn a_refusal_is_one_line() {
    let error = proto::Error { code: "X\n".to_string(), message: format!("\u{1b}[2J{}", "é".repeat(5000)) };
    let shown = Error { code: "X ".to_string(), message: format!(" [2J{}", "é".repeat(996)) };
    for found in
        [json::decode(&refused_in_json(3, &error)), protobuf::decode(&protobuf::server::refused(3, error))]
    {
        assert_eq!(found, Ok(ServerMessage::Reply { id: 3, outcome: Err(shown.clone()) }));
    }
}

/// Runs both decoders, which may refuse the bytes but must not panic.
fn decode(bytes: &[u8]) {
    let _ = message::decode(&Message::binary(bytes.to_vec()), Protocol::Hrana3Protobuf);
    let text = String::from_utf8_lossy(bytes).into_owned();
    let _ = message::decode(&Message::text(text), Protocol::Hrana3);
}

#[test]
fn no_bytes_make_it_panic() {
    hold(vec(any::<u8>(), 0..200), |bytes| {
        decode(&bytes);
        Ok(())
    });
    hold(any::<String>(), |text| {
        decode(text.as_bytes());
        Ok(())
    });
}

fn change(mut bytes: Vec<u8>, (kind, at, other, new): (u8, Index, Index, u8)) -> Vec<u8> {
    if bytes.is_empty() {
        return bytes;
    }
    let (at, other) = (at.index(bytes.len()), other.index(bytes.len()));
    match kind {
        0 => bytes[at] = new,
        1 => bytes[at] ^= 1 << (new % 8),
        2 => bytes.insert(at, new),
        3 => bytes.truncate(at),
        4 => drop(bytes.drain(at.min(other)..at.max(other))),
        _ => {
            let piece = bytes[at.min(other)..at.max(other)].to_vec();
            bytes.splice(at..at, piece);
        }
    }
    bytes
}

#[test]
fn no_changed_reply_makes_it_panic() {
    let changes = vec((0..6_u8, any::<Index>(), any::<Index>(), any::<u8>()), 1..6);
    hold((vec(executed(), 2), select(vec![0, 1, 2, 3, 4, 5]), changes), |(executed, which, changes)| {
        let results: Vec<proto::StmtResult> = executed.iter().map(result).collect();
        let error = proto::Error { code: "SQLITE_BUSY".to_string(), message: "locked".to_string() };
        let intact = match which {
            0 => executed_in_json(1, &results[0]).into_bytes(),
            1 => batch_in_json(1, &results).into_bytes(),
            2 => refused_in_json(1, &error).into_bytes(),
            3 => protobuf::server::executed(1, results[0].clone()),
            4 => protobuf::server::batch(1, (0..).zip(results).collect()),
            _ => protobuf::server::refused(1, error),
        };
        decode(&changes.into_iter().fold(intact, change));
        Ok(())
    });
}
