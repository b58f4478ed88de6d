//! A connection to a server.

use super::address::Address;
use super::failure::Failure;
use super::message::{self, Body, ClientMessage, Executed, Request, ServerMessage};
use super::transport::{self, Timed};
use crate::instrument::hrana::Protocol;
use crate::instrument::sql::{Answer, Statement};
use rustls::crypto::ring;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use tungstenite::client::ClientRequestBuilder;
use tungstenite::handshake::HandshakeError;
use tungstenite::stream::MaybeTlsStream;
use tungstenite::{Message, WebSocket};

/// How long to wait for what.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How long to wait for a connection, and for the answer to the first greeting.
    pub connect: Duration,
    /// How long to wait for each reply. On sqld, a write may wait for the transaction of another for 5 s,
    /// twice.
    pub reply: Duration,
    /// Set from outside when the user wants the measurement to end.
    pub stop: Arc<AtomicBool>,
}

impl Limits {
    /// Returns the default limits. The published client waits forever; this one waits for 12 s, which is
    /// longer than any wait of a healthy server.
    pub fn new(stop: &Arc<AtomicBool>) -> Limits {
        Limits { connect: Duration::from_secs(5), reply: Duration::from_secs(12), stop: Arc::clone(stop) }
    }
}

/// The largest message in bytes: a server's reply has at most 10 MB, to which base64 and quotes add.
const LARGEST_MESSAGE: usize = 32 << 20;

/// A stream, which is a connection to SQLite inside the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream(i32);

/// The answer to a statement, with the server's time for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The answer to the statement.
    pub answer: Answer,
    /// The server's own time in ns; the server reports whole µs.
    pub server_ns: u64,
}

/// The traffic over a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// How often the client waited for the server.
    pub round_trips: u64,
    /// The bytes of the message bodies that were sent.
    pub sent_bytes: u64,
    /// The bytes of the message bodies that were received.
    pub received_bytes: u64,
}

/// A connection to a server.
pub struct Client {
    socket: WebSocket<MaybeTlsStream<Timed>>,
    protocol: Protocol,
    limits: Limits,
    last_request: i32,
    last_stream: i32,
    /// Requests whose replies will arrive, but which nobody waits for.
    outstanding: Vec<i32>,
    traffic: Traffic,
}

impl Client {
    /// Connects, and sends the token.
    ///
    /// # Errors
    /// Fails with any class except [`Failure::Server`].
    pub fn connect(address: &Address, protocol: Protocol, limits: &Limits) -> Result<Client, Failure> {
        let refused = |error: std::io::Error| Failure::Refused(error.to_string());
        let stream =
            Timed::connect(address.host_and_port(), limits.connect, &limits.stop).map_err(refused)?;
        // An error means that a provider is installed already, which is fine.
        let _ = ring::default_provider().install_default();
        let request = ClientRequestBuilder::new(address.uri().clone()).with_sub_protocol(protocol.name());
        let config =
            transport::config().max_message_size(Some(LARGEST_MESSAGE)).max_frame_size(Some(LARGEST_MESSAGE));
        let (socket, _) =
            tungstenite::client_tls_with_config(request, stream, Some(config), None).map_err(|error| {
                match error {
                    HandshakeError::Failure(error) => Failure::of_handshake(error, limits.connect),
                    HandshakeError::Interrupted(_) => Failure::TimedOut(limits.connect),
                }
            })?;
        let mut client = Client {
            socket,
            protocol,
            limits: limits.clone(),
            last_request: 0,
            last_stream: 0,
            outstanding: Vec::new(),
            traffic: Traffic::default(),
        };
        client.greet(address)?;
        Ok(client)
    }

    fn greet(&mut self, address: &Address) -> Result<(), Failure> {
        self.set_deadline(self.limits.connect);
        let jwt = address.token.as_ref().map(|token| token.reveal());
        self.write(&ClientMessage::Hello { jwt }, self.limits.connect)?;
        self.flush(self.limits.connect)?;
        match self.read(self.limits.connect)? {
            ServerMessage::HelloOk => Ok(()),
            ServerMessage::HelloError(error) => {
                Err(Failure::Auth { code: error.code, message: error.message })
            }
            ServerMessage::Reply { .. } => Err(Failure::Protocol("a reply before the greeting".to_string())),
        }
    }

    /// Opens a stream, and waits until it is open.
    ///
    /// # Errors
    /// Fails with any class.
    pub fn open_stream(&mut self) -> Result<Stream, Failure> {
        let stream = self.next_stream();
        self.call(Request::OpenStream { stream: stream.0 }).and_then(done)?;
        Ok(stream)
    }

    /// Runs a statement on a stream.
    ///
    /// # Errors
    /// Fails with any class.
    pub fn execute(&mut self, stream: Stream, statement: &Statement) -> Result<Reply, Failure> {
        let request = Request::Execute { stream: stream.0, statement: message::body(statement) };
        self.call(request).and_then(single)
    }

    /// Runs a statement on a stream of its own, as @libsql/client does: the requests to open, run and close
    /// are sent together, and only the reply to the statement is awaited.
    ///
    /// # Errors
    /// Fails with any class.
    pub fn execute_on_own_stream(&mut self, statement: &Statement) -> Result<Reply, Failure> {
        self.set_deadline(self.limits.reply);
        let stream = self.next_stream().0;
        let open = self.send(Request::OpenStream { stream })?;
        let execute = self.send(Request::Execute { stream, statement: message::body(statement) })?;
        let close = self.send(Request::CloseStream { stream })?;
        self.outstanding.extend([open, close]);
        self.wait(execute, Some(open)).and_then(single)
    }

    /// Runs statements on a stream, all in one message.
    ///
    /// # Errors
    /// Fails with any class; [`Failure::Server`] is the first refusal of a statement, and the other
    /// statements have run.
    pub fn batch<'a>(
        &mut self,
        stream: Stream,
        statements: impl Iterator<Item = &'a Statement>,
    ) -> Result<Vec<Reply>, Failure> {
        let batch = message::batch(statements);
        let expected = batch.steps.len();
        match self.call(Request::Batch { stream: stream.0, batch })? {
            Body::Batch(Ok(results)) if results.len() == expected => {
                Ok(results.into_iter().map(reply).collect())
            }
            Body::Batch(Ok(results)) => {
                Err(Failure::Protocol(format!("{} results for {expected} statements", results.len())))
            }
            Body::Batch(Err(error)) => Err(error.into()),
            _ => Err(of_another_kind()),
        }
    }

    /// Sends a stream the smallest possible request. Version 2 has no such request: sqld closes the
    /// connection.
    ///
    /// # Errors
    /// Fails with any class.
    pub fn ask_autocommit(&mut self, stream: Stream) -> Result<(), Failure> {
        self.call(Request::GetAutocommit { stream: stream.0 }).and_then(done)
    }

    /// Returns the traffic so far.
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    fn next_stream(&mut self) -> Stream {
        self.last_stream = self.last_stream.checked_add(1).unwrap_or(1);
        Stream(self.last_stream)
    }

    fn call(&mut self, request: Request) -> Result<Body, Failure> {
        self.set_deadline(self.limits.reply);
        let id = self.send(request)?;
        self.wait(id, None)
    }

    fn send(&mut self, request: Request) -> Result<i32, Failure> {
        self.last_request = self.last_request.checked_add(1).unwrap_or(1);
        let id = self.last_request;
        self.write(&ClientMessage::Request { id, request }, self.limits.reply)?;
        Ok(id)
    }

    /// Waits for the reply to `id`; replies that nobody waits for may come before it. If the `opening` of its
    /// stream was refused, that refusal is returned as the cause.
    fn wait(&mut self, id: i32, opening: Option<i32>) -> Result<Body, Failure> {
        self.flush(self.limits.reply)?;
        self.traffic.round_trips += 1;
        let mut cause = None;
        loop {
            let ServerMessage::Reply { id: of, outcome } = self.read(self.limits.reply)? else {
                return Err(Failure::Protocol("a second greeting".to_string()));
            };
            if of == id {
                return outcome.map_err(|error| cause.unwrap_or(error).into());
            }
            let known = self.outstanding.iter().position(|outstanding| *outstanding == of);
            let known = known.ok_or_else(|| {
                Failure::Protocol(format!("a reply to request {of}, which does not wait for one"))
            })?;
            self.outstanding.swap_remove(known);
            if opening == Some(of) {
                cause = outcome.err();
            }
        }
    }

    fn set_deadline(&mut self, within: Duration) {
        let deadline = Instant::now() + within;
        match self.socket.get_mut() {
            MaybeTlsStream::Plain(stream) => stream.set_deadline(deadline),
            MaybeTlsStream::Rustls(stream) => stream.sock.set_deadline(deadline),
            _ => {}
        }
    }

    fn write(&mut self, message: &ClientMessage, within: Duration) -> Result<(), Failure> {
        let message = message::encode(message, self.protocol);
        self.traffic.sent_bytes += message.len() as u64;
        self.socket.write(message).map_err(|error| Failure::of_socket(error, within))
    }

    fn flush(&mut self, within: Duration) -> Result<(), Failure> {
        self.socket.flush().map_err(|error| Failure::of_socket(error, within))
    }

    fn read(&mut self, within: Duration) -> Result<ServerMessage, Failure> {
        loop {
            let message = self.socket.read().map_err(|error| Failure::of_socket(error, within))?;
            match message {
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
                Message::Close(frame) => {
                    let why = frame.map_or(String::new(), |frame| {
                        format!(": {} {}", frame.code, message::line(&frame.reason))
                    });
                    return Err(Failure::Dropped(format!("closed by the server{why}")));
                }
                message => {
                    self.traffic.received_bytes += message.len() as u64;
                    return message::decode(&message, self.protocol);
                }
            }
        }
    }
}

/// How long closing the connection may take.
const GOODBYE: Duration = Duration::from_millis(100);

impl Drop for Client {
    /// Closes the connection if that is possible at once: a server treats a connection that simply ends as an
    /// error.
    fn drop(&mut self) {
        self.set_deadline(GOODBYE);
        let _ = self.socket.close(None).and_then(|()| self.socket.flush());
    }
}

fn single(body: Body) -> Result<Reply, Failure> {
    match body {
        Body::Statement(executed) => Ok(reply(executed)),
        _ => Err(of_another_kind()),
    }
}

fn done(body: Body) -> Result<(), Failure> {
    match body {
        Body::Done => Ok(()),
        _ => Err(of_another_kind()),
    }
}

fn of_another_kind() -> Failure {
    Failure::Protocol("a reply to another kind of request".to_string())
}

fn reply(executed: Executed) -> Reply {
    Reply { answer: executed.answer, server_ns: (executed.server_ms * 1e6) as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;
    use tungstenite::handshake::server::{Request, Response};

    /// Answers the greeting, and then streams of their own, each with opening, statement and closing in this
    /// order.
    #[allow(clippy::result_large_err)] // the signature is tungstenite's
    fn serve(listener: &TcpListener) -> tungstenite::Result<()> {
        let answer = |_: &Request, mut response: Response| {
            response.headers_mut().insert("Sec-WebSocket-Protocol", "hrana3".parse().unwrap());
            Ok(response)
        };
        let stream = listener.accept()?.0;
        stream.set_nodelay(true)?;
        let mut socket = tungstenite::accept_hdr(stream, answer).unwrap();
        socket.read()?;
        socket.send(Message::text(r#"{"type":"hello_ok"}"#))?;
        let result = r#"{"cols":[],"rows":[],"affected_row_count":0,"last_insert_rowid":null}"#;
        let execute = format!(r#""execute","result":{result}"#);
        for (id, kind) in (1..).zip([r#""open_stream""#, &execute, r#""close_stream""#].iter().cycle()) {
            socket.read()?;
            let reply = format!(r#"{{"type":"response_ok","request_id":{id},"response":{{"type":{kind}}}}}"#);
            socket.send(Message::text(reply))?;
        }
        Ok(())
    }

    fn client() -> Client {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::local(listener.local_addr().unwrap(), None);
        thread::spawn(move || serve(&listener));
        Client::connect(&address, Protocol::Hrana3, &Limits::new(&Arc::default())).unwrap()
    }

    #[test]
    fn replies_that_nobody_waits_for_do_not_pile_up() {
        let mut client = client();
        for number in 1..=300 {
            client.execute_on_own_stream(&Statement::new("SELECT 1", Vec::new())).unwrap();
            assert_eq!((client.last_stream, client.last_request), (number, 3 * number));
            assert_eq!(client.outstanding, [3 * number], "only the closing's");
        }
    }

    #[test]
    fn numbers_begin_again() {
        let mut client = client();
        (client.last_stream, client.last_request) = (i32::MAX, i32::MAX);
        client.execute_on_own_stream(&Statement::new("SELECT 1", Vec::new())).unwrap();
        assert_eq!((client.last_stream, client.last_request), (1, 3));
    }
}
