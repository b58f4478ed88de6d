//! The messages of both sides, whatever their encoding. The bodies are those of libsql-hrana, which has no
//! envelope.

use super::failure::Failure;
use super::{json, protobuf};
use crate::instrument::hrana::Protocol;
use crate::instrument::sql::{Answer, Statement, Value};
use libsql_hrana::proto;
use tungstenite::Message;

/// A message from a client.
pub enum ClientMessage<'a> {
    /// The greeting, which is the first message and carries the token.
    Hello {
        /// The token; `None` if the server needs none.
        jwt: Option<&'a str>,
    },
    /// A request to do something.
    Request {
        /// The number of the request, which the reply repeats.
        id: i32,
        /// What is to be done.
        request: Request,
    },
}

/// What a server can be asked to do.
#[allow(missing_docs)]
pub enum Request {
    OpenStream { stream: i32 },
    CloseStream { stream: i32 },
    Execute { stream: i32, statement: proto::Stmt },
    Batch { stream: i32, batch: proto::Batch },
    GetAutocommit { stream: i32 },
}

/// A message from a server.
#[derive(Debug, PartialEq)]
pub enum ServerMessage {
    /// The token was accepted.
    HelloOk,
    /// The token was refused.
    HelloError(Error),
    /// A request was carried out or refused.
    Reply {
        /// The number of the request.
        id: i32,
        /// The result of the request.
        outcome: Result<Body, Error>,
    },
}

/// A refusal by a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The error code, such as `SQLITE_BUSY`.
    pub code: String,
    /// The message in words.
    pub message: String,
}

/// The content of a reply.
#[derive(Debug, PartialEq)]
pub enum Body {
    /// The request was done, and has no other result.
    Done,
    /// The result of a statement.
    Statement(Executed),
    /// The results of the statements of a batch, or the first refusal.
    Batch(Result<Vec<Executed>, Error>),
}

/// The result of a statement that was executed.
#[derive(Clone, Debug, PartialEq)]
pub struct Executed {
    /// The answer to the statement.
    pub answer: Answer,
    /// The server's own time, in ms.
    pub server_ms: f64,
}

/// Encodes a message for the protocol.
pub fn encode(message: &ClientMessage, protocol: Protocol) -> Message {
    match protocol {
        Protocol::Hrana3Protobuf => Message::Binary(protobuf::encode(message).into()),
        Protocol::Hrana2 | Protocol::Hrana3 => Message::Text(json::encode(message).into()),
    }
}

/// Decodes a message of the protocol.
///
/// # Errors
/// Returns [`Failure::Protocol`] for anything that is not such a message.
pub fn decode(message: &Message, protocol: Protocol) -> Result<ServerMessage, Failure> {
    let decoded = match (protocol, message) {
        (Protocol::Hrana3Protobuf, Message::Binary(bytes)) => protobuf::decode(bytes),
        (Protocol::Hrana2 | Protocol::Hrana3, Message::Text(text)) => json::decode(text),
        (_, Message::Text(_)) => Err("text where the protocol has bytes".to_string()),
        _ => Err("bytes where the protocol has text".to_string()),
    };
    decoded.map_err(|fault| Failure::Protocol(line(&fault)))
}

/// The largest number of characters of a server's message that are kept.
const LONGEST_LINE: usize = 1000;

/// Returns a server's message in a form that can be shown and recorded: one line of limited length, without
/// control characters.
pub fn line(words: &str) -> String {
    words.chars().take(LONGEST_LINE).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Returns the body of a request for a statement.
pub fn body(statement: &Statement) -> proto::Stmt {
    let value = |value: &Value| match value {
        Value::Null => proto::Value::Null,
        Value::Integer(value) => proto::Value::Integer { value: *value },
        Value::Real(value) => proto::Value::Float { value: *value },
        Value::Text(text) => proto::Value::Text { value: text.as_str().into() },
        Value::Blob(bytes) => proto::Value::Blob { value: bytes.clone().into() },
    };
    let mut body = proto::Stmt::new(statement.sql.as_ref(), true);
    body.args = statement.arguments.iter().map(value).collect();
    body
}

/// Returns the body of a request for a batch. Its steps have no conditions, because the library's type can't
/// express them, so the sender of a batch must check each result.
pub fn batch<'a>(statements: impl Iterator<Item = &'a Statement>) -> proto::Batch {
    let steps = statements.map(|statement| proto::BatchStep { condition: None, stmt: body(statement) });
    proto::Batch { steps: steps.collect(), replication_index: None }
}

impl TryFrom<proto::StmtResult> for Executed {
    type Error = String;

    fn try_from(result: proto::StmtResult) -> Result<Self, String> {
        let value = |value: proto::Value| match value {
            proto::Value::None => Err("a value without a type".to_string()),
            proto::Value::Null => Ok(Value::Null),
            proto::Value::Integer { value } => Ok(Value::Integer(value)),
            proto::Value::Float { value } => Ok(Value::Real(value)),
            proto::Value::Text { value } => Ok(Value::Text(value.to_string())),
            proto::Value::Blob { value } => Ok(Value::Blob(value.to_vec())),
        };
        let row = |row: proto::Row| row.values.into_iter().map(value).collect::<Result<Vec<Value>, String>>();
        let rows = result.rows.into_iter().map(row).collect::<Result<Vec<Vec<Value>>, String>>()?;
        if !(result.query_duration_ms >= 0.0 && result.query_duration_ms.is_finite()) {
            return Err(format!("query_duration_ms is {}", result.query_duration_ms));
        }
        let answer = Answer { affected: result.affected_row_count, rows };
        Ok(Executed { answer, server_ms: result.query_duration_ms })
    }
}

impl From<proto::Error> for Error {
    fn from(error: proto::Error) -> Self {
        Error { code: line(&error.code), message: line(&error.message) }
    }
}
