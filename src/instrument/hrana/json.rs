//! The envelope of messages in JSON, for versions 2 and 3.

use super::message::{Body, ClientMessage, Error, Executed, Request, ServerMessage};
use libsql_hrana::proto;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Outgoing<'a> {
    Hello { jwt: Option<&'a str> },
    Request { request_id: i32, request: Asked<'a> },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Asked<'a> {
    OpenStream { stream_id: i32 },
    CloseStream { stream_id: i32 },
    Execute { stream_id: i32, stmt: &'a proto::Stmt },
    Batch { stream_id: i32, batch: &'a proto::Batch },
    GetAutocommit { stream_id: i32 },
}

/// Encodes a message.
pub fn encode(message: &ClientMessage) -> String {
    let outgoing = match message {
        ClientMessage::Hello { jwt } => Outgoing::Hello { jwt: *jwt },
        ClientMessage::Request { id, request } => {
            let request = match request {
                Request::OpenStream { stream } => Asked::OpenStream { stream_id: *stream },
                Request::CloseStream { stream } => Asked::CloseStream { stream_id: *stream },
                Request::Execute { stream, statement } => {
                    Asked::Execute { stream_id: *stream, stmt: statement }
                }
                Request::Batch { stream, batch } => Asked::Batch { stream_id: *stream, batch },
                Request::GetAutocommit { stream } => Asked::GetAutocommit { stream_id: *stream },
            };
            Outgoing::Request { request_id: *id, request }
        }
    };
    serde_json::to_string(&outgoing).expect("no map with other keys than strings is in it")
}

/// An incoming message. Its result is parsed only when its type is known, because a tagged enum would copy
/// everything first.
#[derive(Deserialize)]
struct Incoming<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    request_id: Option<i32>,
    #[serde(borrow)]
    response: Option<Response<'a>>,
    error: Option<Refusal>,
}

/// A refusal. The type in libsql-hrana requires a code, but the protocol also has refusals without one.
#[derive(Deserialize)]
struct Refusal {
    message: String,
    code: Option<String>,
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        proto::Error { message: refusal.message, code: refusal.code.unwrap_or_default() }.into()
    }
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct BatchResult {
    step_results: Vec<Option<proto::StmtResult>>,
    step_errors: Vec<Option<Refusal>>,
}

/// Decodes a message.
///
/// # Errors
/// Says what is wrong with the message.
pub fn decode(text: &str) -> Result<ServerMessage, String> {
    let fault = |error: serde_json::Error| format!("not a message: {error}");
    let incoming: Incoming = serde_json::from_str(text).map_err(fault)?;
    let id = || incoming.request_id.ok_or("a reply without request_id".to_string());
    let error =
        |refusal: Option<Refusal>| refusal.map(Error::from).ok_or("a refusal without an error".to_string());
    match incoming.kind {
        "hello_ok" => Ok(ServerMessage::HelloOk),
        "hello_error" => Ok(ServerMessage::HelloError(error(incoming.error)?)),
        "response_error" => Ok(ServerMessage::Reply { id: id()?, outcome: Err(error(incoming.error)?) }),
        "response_ok" => {
            let response = incoming.response.ok_or("a reply without a response")?;
            Ok(ServerMessage::Reply { id: id()?, outcome: Ok(body(response)?) })
        }
        other => Err(format!("a message of the unknown type `{other}`")),
    }
}

fn body(response: Response) -> Result<Body, String> {
    let fault = |error: serde_json::Error| format!("not a response: {error}");
    let result = || response.result.ok_or(format!("a response {} without a result", response.kind));
    match response.kind {
        "open_stream" | "close_stream" | "get_autocommit" => Ok(Body::Done),
        "execute" => {
            let result: proto::StmtResult = serde_json::from_str(result()?.get()).map_err(fault)?;
            Ok(Body::Statement(result.try_into()?))
        }
        "batch" => {
            let result: BatchResult = serde_json::from_str(result()?.get()).map_err(fault)?;
            if let Some(error) = result.step_errors.into_iter().flatten().next() {
                return Ok(Body::Batch(Err(error.into())));
            }
            let executed = |result: Option<proto::StmtResult>| -> Result<Executed, String> {
                result.ok_or("a batch with a statement that has no result")?.try_into()
            };
            let results: Result<Vec<Executed>, String> =
                result.step_results.into_iter().map(executed).collect();
            Ok(Body::Batch(Ok(results?)))
        }
        other => Err(format!("a response of the unknown type `{other}`")),
    }
}
