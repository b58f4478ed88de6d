//! The envelope of messages in Protocol Buffers, for version 3. The tags are those of the protocol's
//! specification.

use super::message::{Body, ClientMessage, Error, Executed, Request, ServerMessage};
use libsql_hrana::proto;
use prost::{Message, Oneof};

#[derive(Message)]
struct Outgoing {
    #[prost(oneof = "Sent", tags = "1, 2")]
    message: Option<Sent>,
}

#[derive(Oneof)]
enum Sent {
    #[prost(message, tag = "1")]
    Hello(Hello),
    #[prost(message, tag = "2")]
    Request(Asked),
}

#[derive(Message)]
struct Hello {
    #[prost(string, optional, tag = "1")]
    jwt: Option<String>,
}

#[derive(Message)]
struct Asked {
    #[prost(int32, tag = "1")]
    request_id: i32,
    #[prost(oneof = "What", tags = "2, 3, 4, 5, 13")]
    what: Option<What>,
}

#[derive(Oneof)]
enum What {
    #[prost(message, tag = "2")]
    OpenStream(OfStream),
    #[prost(message, tag = "3")]
    CloseStream(OfStream),
    #[prost(message, tag = "4")]
    Execute(Execute),
    #[prost(message, tag = "5")]
    Batch(Batch),
    #[prost(message, tag = "13")]
    GetAutocommit(OfStream),
}

#[derive(Message)]
struct OfStream {
    #[prost(int32, tag = "1")]
    stream_id: i32,
}

#[derive(Message)]
struct Execute {
    #[prost(int32, tag = "1")]
    stream_id: i32,
    #[prost(message, optional, tag = "2")]
    stmt: Option<proto::Stmt>,
}

#[derive(Message)]
struct Batch {
    #[prost(int32, tag = "1")]
    stream_id: i32,
    #[prost(message, optional, tag = "2")]
    batch: Option<proto::Batch>,
}

#[derive(Message)]
struct Incoming {
    #[prost(oneof = "Received", tags = "1, 2, 3, 4")]
    message: Option<Received>,
}

#[derive(Oneof)]
enum Received {
    #[prost(message, tag = "1")]
    HelloOk(Nothing),
    #[prost(message, tag = "2")]
    HelloError(HelloError),
    #[prost(message, tag = "3")]
    ResponseOk(ResponseOk),
    #[prost(message, tag = "4")]
    ResponseError(ResponseError),
}

#[derive(Message)]
struct Nothing {}

#[derive(Message)]
struct HelloError {
    #[prost(message, optional, tag = "1")]
    error: Option<proto::Error>,
}

#[derive(Message)]
struct ResponseOk {
    #[prost(int32, tag = "1")]
    request_id: i32,
    #[prost(oneof = "Response", tags = "2, 3, 4, 5, 13")]
    response: Option<Response>,
}

#[derive(Oneof)]
enum Response {
    #[prost(message, tag = "2")]
    OpenStream(Nothing),
    #[prost(message, tag = "3")]
    CloseStream(Nothing),
    #[prost(message, tag = "4")]
    Execute(Executes),
    #[prost(message, tag = "5")]
    Batch(Batches),
    #[prost(message, tag = "13")]
    GetAutocommit(Nothing),
}

#[derive(Message)]
struct Executes {
    #[prost(message, optional, tag = "1")]
    result: Option<proto::StmtResult>,
}

#[derive(Message)]
struct Batches {
    #[prost(message, optional, tag = "1")]
    result: Option<BatchResult>,
}

/// The result of a batch. The type in libsql-hrana can only be encoded; on the wire, a map is a list of
/// pairs.
#[derive(Message)]
struct BatchResult {
    #[prost(message, repeated, tag = "1")]
    step_results: Vec<StepResult>,
    #[prost(message, repeated, tag = "2")]
    step_errors: Vec<StepError>,
}

#[derive(Message)]
struct StepResult {
    #[prost(uint32, tag = "1")]
    step: u32,
    #[prost(message, optional, tag = "2")]
    result: Option<proto::StmtResult>,
}

#[derive(Message)]
struct StepError {
    #[prost(uint32, tag = "1")]
    step: u32,
    #[prost(message, optional, tag = "2")]
    error: Option<proto::Error>,
}

#[derive(Message)]
struct ResponseError {
    #[prost(int32, tag = "1")]
    request_id: i32,
    #[prost(message, optional, tag = "2")]
    error: Option<proto::Error>,
}

/// Encodes a message.
pub fn encode(message: &ClientMessage) -> Vec<u8> {
    let sent = match message {
        ClientMessage::Hello { jwt } => Sent::Hello(Hello { jwt: jwt.map(str::to_string) }),
        ClientMessage::Request { id, request } => {
            let what = match request {
                Request::OpenStream { stream } => What::OpenStream(OfStream { stream_id: *stream }),
                Request::CloseStream { stream } => What::CloseStream(OfStream { stream_id: *stream }),
                Request::Execute { stream, statement } => {
                    What::Execute(Execute { stream_id: *stream, stmt: Some(statement.clone()) })
                }
                Request::Batch { stream, batch } => {
                    What::Batch(Batch { stream_id: *stream, batch: Some(batch.clone()) })
                }
                Request::GetAutocommit { stream } => What::GetAutocommit(OfStream { stream_id: *stream }),
            };
            Sent::Request(Asked { request_id: *id, what: Some(what) })
        }
    };
    Outgoing { message: Some(sent) }.encode_to_vec()
}

/// Decodes a message.
///
/// # Errors
/// Says what is wrong with the message.
pub fn decode(bytes: &[u8]) -> Result<ServerMessage, String> {
    let incoming = Incoming::decode(bytes).map_err(|error| format!("not a message: {error}"))?;
    let error =
        |error: Option<proto::Error>| error.map(Error::from).ok_or("a refusal without an error".to_string());
    match incoming.message.ok_or("a message of an unknown type")? {
        Received::HelloOk(_) => Ok(ServerMessage::HelloOk),
        Received::HelloError(refusal) => Ok(ServerMessage::HelloError(error(refusal.error)?)),
        Received::ResponseError(refusal) => {
            Ok(ServerMessage::Reply { id: refusal.request_id, outcome: Err(error(refusal.error)?) })
        }
        Received::ResponseOk(reply) => {
            let response = reply.response.ok_or("a response of an unknown type")?;
            Ok(ServerMessage::Reply { id: reply.request_id, outcome: Ok(body(response)?) })
        }
    }
}

fn body(response: Response) -> Result<Body, String> {
    let missing = || "a response without a result".to_string();
    match response {
        Response::OpenStream(_) | Response::CloseStream(_) | Response::GetAutocommit(_) => Ok(Body::Done),
        Response::Execute(response) => Ok(Body::Statement(response.result.ok_or_else(missing)?.try_into()?)),
        Response::Batch(response) => {
            let mut result = response.result.ok_or_else(missing)?;
            if let Some(refused) = result.step_errors.into_iter().min_by_key(|error| error.step) {
                return Ok(Body::Batch(Err(refused.error.ok_or_else(missing)?.into())));
            }
            result.step_results.sort_by_key(|result| result.step);
            let executed = |(index, step): (u32, StepResult)| match step.step == index {
                true => step.result.ok_or_else(missing)?.try_into(),
                false => Err(format!("a batch without a result for statement {index}")),
            };
            let results: Result<Vec<Executed>, String> =
                (0..).zip(result.step_results).map(executed).collect();
            Ok(Body::Batch(Ok(results?)))
        }
    }
}

/// The side of the server, for tests.
#[cfg(test)]
pub mod server {
    use super::*;

    /// Decodes a request: its number, its stream, and its statements.
    pub fn read(bytes: &[u8]) -> (i32, i32, Vec<proto::Stmt>) {
        let Some(Sent::Request(asked)) = Outgoing::decode(bytes).unwrap().message else {
            panic!("a greeting")
        };
        let (stream, statements) = match asked.what.unwrap() {
            What::OpenStream(of) | What::CloseStream(of) | What::GetAutocommit(of) => {
                (of.stream_id, Vec::new())
            }
            What::Execute(execute) => (execute.stream_id, Vec::from_iter(execute.stmt)),
            What::Batch(batch) => {
                let steps = batch.batch.unwrap().steps.into_iter();
                (batch.stream_id, steps.map(|step| step.stmt).collect())
            }
        };
        (asked.request_id, stream, statements)
    }

    /// Encodes the reply to a statement.
    pub fn executed(id: i32, result: proto::StmtResult) -> Vec<u8> {
        write(id, Response::Execute(Executes { result: Some(result) }))
    }

    /// Encodes the reply to a batch with the results of the statements that have these numbers.
    pub fn batch(id: i32, results: Vec<(u32, proto::StmtResult)>) -> Vec<u8> {
        let step = |(step, result)| StepResult { step, result: Some(result) };
        let step_results = results.into_iter().map(step).collect();
        let result = Some(BatchResult { step_results, step_errors: Vec::new() });
        write(id, Response::Batch(Batches { result }))
    }

    /// Encodes a refusal.
    pub fn refused(id: i32, error: proto::Error) -> Vec<u8> {
        let refusal = ResponseError { request_id: id, error: Some(error) };
        Incoming { message: Some(Received::ResponseError(refusal)) }.encode_to_vec()
    }

    fn write(id: i32, response: Response) -> Vec<u8> {
        let reply = ResponseOk { request_id: id, response: Some(response) };
        Incoming { message: Some(Received::ResponseOk(reply)) }.encode_to_vec()
    }
}
