//! The messages of both sides, whatever their encoding. The bodies are those of libsql-hrana; it has no envelope.

use super::failure::Failure;
use super::{json, protobuf};
use crate::instrument::hrana::Protocol;
use crate::instrument::sql::{Answer, Statement, Value};
use libsql_hrana::proto;
use tungstenite::Message;

/// What a client sends.
pub enum ClientMessage<'a> {
    /// First of all, with the token.
    Hello {
        /// The token.
        jwt: Option<&'a str>,
    },
    /// Something to do.
    Request {
        /// Repeated in the reply.
        id: i32,
        /// What.
        request: Request,
    },
}

/// What can be asked of a server.
#[allow(missing_docs)]
pub enum Request {
    OpenStream { stream: i32 },
    CloseStream { stream: i32 },
    Execute { stream: i32, statement: proto::Stmt },
    Batch { stream: i32, batch: proto::Batch },
    GetAutocommit { stream: i32 },
}

/// What a server sends.
#[derive(Debug, PartialEq)]
pub enum ServerMessage {
    /// The token is right.
    HelloOk,
    /// It is not.
    HelloError(Error),
    /// A request is done, or refused.
    Reply {
        /// Of the request.
        id: i32,
        /// What came of it.
        outcome: Result<Body, Error>,
    },
}

/// Refusal of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Such as `SQLITE_BUSY`.
    pub code: String,
    /// In words.
    pub message: String,
}

/// What a reply holds.
#[derive(Debug, PartialEq)]
pub enum Body {
    /// No more than that it was done.
    Done,
    /// Of a statement.
    Statement(Executed),
    /// Of a batch: each statement's own, or the first refusal.
    Batch(Result<Vec<Executed>, Error>),
}

/// What a statement did.
#[derive(Clone, Debug, PartialEq)]
pub struct Executed {
    /// Its answer.
    pub answer: Answer,
    /// The server's own time.
    pub server_ms: f64,
}

/// Writes a message in the encoding of the protocol.
pub fn encode(message: &ClientMessage, protocol: Protocol) -> Message {
    match protocol {
        Protocol::Hrana3Protobuf => Message::Binary(protobuf::encode(message).into()),
        Protocol::Hrana2 | Protocol::Hrana3 => Message::Text(json::encode(message).into()),
    }
}

/// Reads a message in the encoding of the protocol.
///
/// # Errors
/// [`Failure::Protocol`] of what is none.
pub fn decode(message: &Message, protocol: Protocol) -> Result<ServerMessage, Failure> {
    let decoded = match (protocol, message) {
        (Protocol::Hrana3Protobuf, Message::Binary(bytes)) => protobuf::decode(bytes),
        (Protocol::Hrana2 | Protocol::Hrana3, Message::Text(text)) => json::decode(text),
        (_, Message::Text(_)) => Err("text where the protocol has bytes".to_string()),
        _ => Err("bytes where the protocol has text".to_string()),
    };
    decoded.map_err(|fault| Failure::Protocol(line(&fault)))
}

/// Characters of a server's words that are kept.
const LONGEST_LINE: usize = 1000;

/// Words of a server, which are shown and recorded: one line, not endless, with nothing that steers a terminal.
pub fn line(words: &str) -> String {
    words.chars().take(LONGEST_LINE).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A statement as a body.
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

/// Statements as the body of a batch. They carry no conditions, for the type of the library can't write them: who
/// sends a batch looks at each result.
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
