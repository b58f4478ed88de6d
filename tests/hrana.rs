//! The client against servers that break every rule: each call ends in time, within its memory, and with a
//! failure of its class.

use repro::instrument::hrana::Protocol;
use repro::instrument::hrana::{Address, Client, Failure, Limits, Reply, Token};
use repro::instrument::proc::Usage;
use repro::instrument::sql::{Statement, Value as SqlValue};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tungstenite::handshake::server::{Request, Response};
use tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tungstenite::protocol::frame::{CloseFrame, Frame};
use tungstenite::{Message, WebSocket};

const SECOND: Duration = Duration::from_secs(1);
/// By how much a deadline may be missed.
const SLACK: Duration = Duration::from_millis(500);
/// When the user interrupts the call.
const WISH: Duration = Duration::from_millis(300);
const TIMED_OUT: &str = "no reply within 1 s";

/// A lock that makes tests with much memory run one by one, because the peak is that of the whole process.
static MEMORY: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    MEMORY.lock().unwrap_or_else(PoisonError::into_inner)
}

fn peak_memory() -> u64 {
    Usage::of(std::process::id()).unwrap().peak_memory_bytes
}

/// Starts a server that plays `play` with its only connection.
fn server(play: impl FnOnce(TcpStream) + Send + 'static) -> Address {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::local(listener.local_addr().unwrap(), Some(Token::new("secret.token").unwrap()));
    thread::spawn(move || play(listener.accept().unwrap().0));
    address
}

fn limits() -> Limits {
    Limits { connect: SECOND, reply: SECOND, stop: Arc::default() }
}

fn connect(address: &Address) -> Result<Client, Failure> {
    Client::connect(address, Protocol::Hrana3, &limits())
}

fn statement() -> Statement {
    Statement::new("SELECT 1", Vec::new())
}

/// The server's side of a WebSocket. Requests are numbered from 1, so that it can reply without reading them.
struct Peer(WebSocket<TcpStream>);

impl Peer {
    fn upgrade(stream: TcpStream) -> Peer {
        Peer::upgrade_to(stream, None)
    }

    /// Upgrades with this subprotocol, or with the one that the client asks for.
    fn upgrade_to(stream: TcpStream, protocol: Option<&'static str>) -> Peer {
        #[allow(clippy::result_large_err)] // the signature is tungstenite's
        let answer = |request: &Request, mut response: Response| {
            let asked = request.headers()["Sec-WebSocket-Protocol"].clone();
            let protocol = protocol.map_or(asked, |protocol| protocol.parse().unwrap());
            response.headers_mut().insert("Sec-WebSocket-Protocol", protocol);
            Ok(response)
        };
        Peer(tungstenite::accept_hdr(stream, answer).unwrap())
    }

    /// Upgrades and completes the greeting.
    fn greet(stream: TcpStream) -> Peer {
        let mut peer = Peer::upgrade(stream);
        let hello = peer.0.read().unwrap();
        let ok = match hello {
            Message::Binary(_) => Message::binary(vec![0x0a, 0x00]),
            _ => Message::text(json!({ "type": "hello_ok" }).to_string()),
        };
        peer.0.send(ok).unwrap();
        peer
    }

    fn send(&mut self, message: &Value) {
        self.0.send(Message::text(message.to_string())).unwrap();
    }

    /// Reads this many requests.
    fn read(&mut self, count: usize) {
        for _ in 0..count {
            self.0.read().unwrap();
        }
    }

    /// Sends bytes outside the WebSocket, and returns whether they were taken.
    fn raw(&mut self, bytes: &[u8]) -> bool {
        self.0.get_mut().write_all(bytes).is_ok()
    }

    /// Sends nothing more until the client is gone.
    fn linger(mut self) {
        linger(self.0.get_mut());
    }
}

/// Reads without answering until the client is gone.
fn linger(stream: &mut TcpStream) {
    let mut buffer = [0; 4096];
    while stream.read(&mut buffer).is_ok_and(|count| count > 0) {}
}

/// Reads the request of the handshake, and sends bytes.
fn answer(stream: &mut TcpStream, bytes: &[u8]) {
    let mut buffer = [0; 4096];
    let _ = stream.read(&mut buffer);
    let _ = stream.write_all(bytes);
}

fn answer_and_linger(mut stream: TcpStream, bytes: &[u8]) {
    answer(&mut stream, bytes);
    linger(&mut stream);
}

/// Repeats until the client is gone.
fn for_ever(mut again: impl FnMut() -> bool) {
    while again() {}
}

fn trickle(mut again: impl FnMut() -> bool) {
    for_ever(|| {
        thread::sleep(Duration::from_millis(50));
        again()
    });
}

fn reply(id: i32, response: Value) -> Value {
    json!({ "type": "response_ok", "request_id": id, "response": response })
}

fn refusal(id: i32, code: &str, message: &str) -> Value {
    json!({ "type": "response_error", "request_id": id, "error": { "code": code, "message": message } })
}

fn opened(id: i32) -> Value {
    reply(id, json!({ "type": "open_stream" }))
}

fn closed(id: i32) -> Value {
    reply(id, json!({ "type": "close_stream" }))
}

fn result(affected: u64) -> Value {
    json!({ "cols": [], "rows": [], "affected_row_count": affected, "last_insert_rowid": null })
}

fn executed(id: i32, affected: u64) -> Value {
    reply(id, json!({ "type": "execute", "result": result(affected) }))
}

#[track_caller]
fn assert_failure(case: &str, expected: &str, failure: Option<Failure>, took: Duration) {
    let failure = failure.unwrap_or_else(|| panic!("{case}: no failure"));
    let text = failure.to_string();
    assert!(text.starts_with(expected), "{case}: `{text}`, expected `{expected}`");
    assert!(took < SECOND + SLACK, "{case}: {took:?}");
    assert!(expected != TIMED_OUT || took >= SECOND, "{case}: {took:?}");
    assert!(!format!("{text} {failure:?}").contains("secret.token"), "{case}: {failure:?}");
    assert!(!failure.leaves_connection(), "{case}");
}

/// What a server does from the connection on.
type Play = fn(TcpStream);
/// What a server does from the greeting on.
type PlayGreeted = fn(Peer);

/// Plays all cases side by side; `call` is what the client does.
fn play<T: Send>(
    cases: Vec<(&'static str, &'static str, T)>,
    server_of: impl Fn(T) -> Address + Sync,
    call: impl Fn(&Address) -> (Option<Failure>, Duration) + Sync,
) {
    thread::scope(|scope| {
        let (server_of, call) = (&server_of, &call);
        let run = |(case, expected, play): (&'static str, &'static str, T)| {
            scope.spawn(move || {
                let (failure, took) = call(&server_of(play));
                assert_failure(case, expected, failure, took);
            })
        };
        let running: Vec<_> = cases.into_iter().map(run).collect();
        let failed = running.into_iter().map(|case| case.join()).filter(Result::is_err).count();
        assert_eq!(failed, 0, "cases failed, see above");
    });
}

fn timed<T>(call: impl FnOnce() -> Result<T, Failure>) -> (Option<Failure>, Duration) {
    let begun = Instant::now();
    let failure = call().err();
    (failure, begun.elapsed())
}

#[test]
fn nobody_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::local(listener.local_addr().unwrap(), None);
    drop(listener);
    let (failure, took) = timed(|| connect(&address));
    assert_failure("refused", "can't connect: Connection refused", failure, took);
}

#[test]
fn no_handshake_and_no_greeting() {
    const SWITCHING: &[u8] =
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n";
    let cases: Vec<(&str, &str, Play)> = vec![
        ("silence", TIMED_OUT, |stream| answer_and_linger(stream, b"")),
        ("end", "connection lost: closed in the middle of the handshake", |mut stream| {
            answer(&mut stream, b"")
        }),
        ("status 400", "no WebSocket: the server answers with HTTP status 400", |stream| {
            answer_and_linger(stream, b"HTTP/1.1 400 Bad Request\r\nContent-Length: 3\r\n\r\nbad");
        }),
        ("status 401", "no WebSocket: the server answers with HTTP status 401", |stream| {
            answer_and_linger(stream, b"HTTP/1.1 401 Unauthorized\r\n\r\n");
        }),
        ("status 301", "no WebSocket: the server answers with HTTP status 301", |stream| {
            answer_and_linger(stream, b"HTTP/1.1 301 Moved\r\nLocation: ws://127.0.0.1/\r\n\r\n");
        }),
        ("another protocol", "protocol violated: ", |stream| {
            answer_and_linger(stream, b"SSH-2.0-OpenSSH_9.9\r\n");
        }),
        ("bytes", "protocol violated: ", |stream| answer_and_linger(stream, &[0, 255, 1, 254, 13, 10])),
        ("endless line", "protocol violated: ", |mut stream| {
            answer(&mut stream, SWITCHING);
            for_ever(|| stream.write_all(&[b'a'; 1000]).is_ok());
        }),
        ("endless lines", "protocol violated: ", |mut stream| {
            answer(&mut stream, SWITCHING);
            for_ever(|| stream.write_all(b"X-A: a\r\n").is_ok());
        }),
        ("trickled header", TIMED_OUT, |mut stream| {
            answer(&mut stream, SWITCHING);
            trickle(|| stream.write_all(b"x").is_ok());
        }),
        ("wrong key", "protocol violated: ", |stream| {
            let rest = b"Sec-WebSocket-Accept: AAAA\r\nSec-WebSocket-Protocol: hrana3\r\n\r\n";
            answer_and_linger(stream, &[SWITCHING, rest].concat());
        }),
        ("no subprotocol", "protocol violated: WebSocket protocol error: SubProtocol error", |stream| {
            Peer(tungstenite::accept(stream).unwrap()).linger();
        }),
        ("wrong subprotocol", "protocol violated: WebSocket protocol error: SubProtocol error", |stream| {
            Peer::upgrade_to(stream, Some("hrana1")).linger();
        }),
        ("silence after the handshake", TIMED_OUT, |stream| Peer::upgrade(stream).linger()),
        ("end after the handshake", "connection lost: closed without a close frame", |stream| {
            Peer::upgrade(stream).read(1);
        }),
        ("refused", "the server refuses the token: expired (AUTH)", |stream| {
            let mut peer = Peer::upgrade(stream);
            peer.send(&json!({ "type": "hello_error", "error": { "code": "AUTH", "message": "expired" } }));
            peer.linger();
        }),
        ("refused without a code", "the server refuses the token: expired ()", |stream| {
            let mut peer = Peer::upgrade(stream);
            peer.send(&json!({ "type": "hello_error", "error": { "message": "expired", "code": null } }));
            peer.linger();
        }),
        ("refused without a reason", "protocol violated: a refusal without an error", |stream| {
            let mut peer = Peer::upgrade(stream);
            peer.send(&json!({ "type": "hello_error" }));
            peer.linger();
        }),
        ("a reply for a greeting", "protocol violated: a reply before the greeting", |stream| {
            let mut peer = Peer::upgrade(stream);
            peer.send(&opened(1));
            peer.linger();
        }),
        ("closed for a greeting", "connection lost: closed by the server: 1008 go away", |stream| {
            let mut peer = Peer::upgrade(stream);
            let frame = CloseFrame { code: CloseCode::Policy, reason: "go away".into() };
            peer.0.close(Some(frame)).unwrap();
            peer.linger();
        }),
    ];
    play(cases, server, |address| timed(|| connect(address)));
}

fn on_own_stream(address: &Address, protocol: Protocol) -> (Option<Failure>, Duration) {
    let mut client = Client::connect(address, protocol, &limits()).unwrap();
    timed(|| client.execute_on_own_stream(&statement()))
}

fn greeted(play: PlayGreeted) -> Address {
    server(move |stream| play(Peer::greet(stream)))
}

/// The requests are 1, which opens the stream, 2, the statement, and 3, which closes the stream.
#[test]
fn no_reply() {
    let cases: Vec<(&str, &str, PlayGreeted)> = vec![
        ("silence", TIMED_OUT, Peer::linger),
        ("no text of ours", "protocol violated: not a message", |mut peer| {
            peer.0.send(Message::text("hello")).unwrap();
            peer.linger();
        }),
        ("an empty text", "protocol violated: not a message", |mut peer| {
            peer.0.send(Message::text("")).unwrap();
            peer.linger();
        }),
        ("deep nesting", "protocol violated: not a", |mut peer| {
            peer.0.send(Message::text("[".repeat(1_000_000))).unwrap();
            peer.linger();
        }),
        ("text that is none", "protocol violated: ", |mut peer| {
            peer.raw(&[0x81, 2, 0xff, 0xff]);
            peer.linger();
        }),
        ("bytes", "protocol violated: bytes where the protocol has text", |mut peer| {
            peer.0.send(Message::binary(vec![1, 2, 3])).unwrap();
            peer.linger();
        }),
        ("reserved bits", "protocol violated: ", |mut peer| {
            peer.raw(&[0xf1, 0]);
            peer.linger();
        }),
        ("a masked frame", "protocol violated: ", |mut peer| {
            peer.raw(&[0x81, 0x80, 1, 2, 3, 4]);
            peer.linger();
        }),
        ("a large ping", "protocol violated: ", |mut peer| {
            peer.raw(&[0x89, 126, 1, 0]);
            peer.raw(&[0; 256]);
            peer.linger();
        }),
        ("a continuation of nothing", "protocol violated: ", |mut peer| {
            peer.raw(&[0x80, 0]);
            peer.linger();
        }),
        ("empty fragments for ever", TIMED_OUT, |mut peer| {
            peer.raw(&[0x01, 0]);
            for_ever(|| peer.raw(&[0; 2000]));
        }),
        ("pings for ever", TIMED_OUT, |mut peer| for_ever(|| peer.raw(&[0x89, 0].repeat(1000)))),
        ("trickled pings", TIMED_OUT, |mut peer| trickle(|| peer.raw(&[0x89, 0]))),
        ("a trickled frame", TIMED_OUT, |mut peer| {
            peer.raw(&[0x81, 126, 0xff, 0xff]);
            trickle(|| peer.raw(b" "));
        }),
        ("part of a frame", "connection lost: closed without a close frame", |mut peer| {
            peer.raw(&[0x81, 100, b'{']);
            peer.read(3);
        }),
        (
            "an unknown number",
            "protocol violated: a reply to request 77, which does not wait for one",
            |mut peer| {
                peer.send(&executed(77, 0));
                peer.linger();
            },
        ),
        ("no number", "protocol violated: a reply without request_id", |mut peer| {
            peer.send(&json!({ "type": "response_ok", "response": { "type": "open_stream" } }));
            peer.linger();
        }),
        (
            "twice opened",
            "protocol violated: a reply to request 1, which does not wait for one",
            |mut peer| {
                peer.send(&opened(1));
                peer.send(&opened(1));
                peer.linger();
            },
        ),
        ("another kind", "protocol violated: a reply to another kind of request", |mut peer| {
            peer.send(&closed(2));
            peer.linger();
        }),
        ("a batch", "protocol violated: a reply to another kind of request", |mut peer| {
            let batch = json!({ "step_results": [result(0)], "step_errors": [null] });
            peer.send(&reply(2, json!({ "type": "batch", "result": batch })));
            peer.linger();
        }),
        ("an unknown kind", "protocol violated: a response of the unknown type `cursor`", |mut peer| {
            peer.send(&reply(2, json!({ "type": "cursor", "result": {} })));
            peer.linger();
        }),
        ("no result", "protocol violated: a response execute without a result", |mut peer| {
            peer.send(&reply(2, json!({ "type": "execute" })));
            peer.linger();
        }),
        ("a time below zero", "protocol violated: query_duration_ms is -1", |mut peer| {
            let mut result = result(0);
            result["query_duration_ms"] = json!(-1.0);
            peer.send(&reply(2, json!({ "type": "execute", "result": result })));
            peer.linger();
        }),
        ("a second greeting", "protocol violated: a second greeting", |mut peer| {
            peer.send(&json!({ "type": "hello_ok" }));
            peer.linger();
        }),
        ("a close frame", "connection lost: closed by the server: 1011 no \u{20}more", |mut peer| {
            let frame = CloseFrame { code: CloseCode::Error, reason: "no \u{1b}more".into() };
            peer.0.close(Some(frame)).unwrap();
            peer.linger();
        }),
        ("a bare close frame", "connection lost: closed by the server", |mut peer| {
            peer.0.close(None).unwrap();
            peer.linger();
        }),
        ("end", "connection lost: closed without a close frame", |mut peer| peer.read(3)),
        ("reset", "connection lost: Connection reset by peer", |mut peer| {
            // Closing a socket with unread data resets the connection.
            peer.0.get_mut().peek(&mut [0]).unwrap();
        }),
    ];
    play(cases, greeted, |address| on_own_stream(address, Protocol::Hrana3));
}

#[test]
fn no_reply_in_protocol_buffers() {
    let cases: Vec<(&str, &str, PlayGreeted)> = vec![
        ("text", "protocol violated: text where the protocol has bytes", |mut peer| {
            peer.send(&opened(1));
            peer.linger();
        }),
        ("no message", "protocol violated: not a message", |mut peer| {
            peer.0.send(Message::binary(vec![0xff; 100])).unwrap();
            peer.linger();
        }),
        ("a length beyond the end", "protocol violated: not a message", |mut peer| {
            peer.0.send(Message::binary(vec![0x1a, 0xff, 0xff, 0xff, 0xff, 0x07])).unwrap();
            peer.linger();
        }),
        ("nothing", "protocol violated: a message of an unknown type", |mut peer| {
            peer.0.send(Message::binary(vec![])).unwrap();
            peer.linger();
        }),
        ("an empty reply", "protocol violated: a response of an unknown type", |mut peer| {
            peer.0.send(Message::binary(vec![0x1a, 0x00])).unwrap();
            peer.linger();
        }),
    ];
    play(cases, greeted, |address| on_own_stream(address, Protocol::Hrana3Protobuf));
}

#[test]
fn memory_is_bounded() {
    const MEGABYTE: [u8; 10] = [0x00, 127, 0, 0, 0, 0, 0, 0x10, 0, 0];
    let cases: [(&str, &str, PlayGreeted); 4] = [
        ("a frame of 1 GB", "protocol violated: Space limit exceeded", |mut peer| {
            peer.raw(&[0x81, 127, 0, 0, 0, 0, 0x40, 0, 0, 0]);
            for_ever(|| peer.raw(&[b' '; 65536]));
        }),
        ("a frame of 30 MB", TIMED_OUT, |mut peer| {
            peer.raw(&[0x81, 127, 0, 0, 0, 0, 0x01, 0xe0, 0, 0]);
            peer.linger();
        }),
        ("fragments for ever", "protocol violated: Space limit exceeded", |mut peer| {
            peer.raw(&[0x01, 0]);
            let fragment = [&MEGABYTE[..], &[b' '; 1 << 20]].concat();
            for_ever(|| peer.raw(&fragment));
        }),
        ("a refusal without end", &"x".repeat(1000).leak()[..], |mut peer| {
            peer.send(&refusal(2, "SQLITE_ERROR", &"x".repeat(5_000_000)));
            peer.linger();
        }),
    ];
    let _alone = alone();
    let before = peak_memory();
    for (case, expected, play) in cases {
        let (failure, took) = on_own_stream(&greeted(play), Protocol::Hrana3);
        let failure = failure.unwrap();
        assert!(failure.to_string().starts_with(expected), "{case}: {failure:.200}");
        assert!(failure.to_string().len() < 1100, "{case}");
        assert!(took < SECOND + SLACK, "{case}: {took:?}");
        let grown = peak_memory() - before;
        assert!(grown < 100 << 20, "{case}: {grown} bytes");
    }
}

/// Returns a stop flag that is raised after [`WISH`].
fn stop_soon() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&stop);
    thread::spawn(move || {
        thread::sleep(WISH);
        raised.store(true, Ordering::Relaxed);
    });
    stop
}

#[test]
fn a_server_that_never_reads() {
    let _alone = alone();
    let waits: fn() -> Limits = limits;
    let stops: fn() -> Limits = || Limits { reply: 10 * SECOND, stop: stop_soon(), ..limits() };
    for (limits, expected) in [(waits, TIMED_OUT), (stops, "interrupted")] {
        let address = server(|stream| {
            let peer = Peer::greet(stream);
            thread::sleep(4 * SECOND);
            drop(peer);
        });
        let large = Statement::new("SELECT ?", vec![SqlValue::Text("x".repeat(10_000_000))]);
        let mut client = Client::connect(&address, Protocol::Hrana3, &limits()).unwrap();
        let (failure, took) = timed(|| client.execute_on_own_stream(&large));
        assert_failure("never reads", expected, failure, took);
    }
}

/// The user may interrupt whatever the client is waiting for.
#[test]
fn the_wish_to_end() {
    let cases: Vec<(&str, &str, Play)> = vec![
        ("silence", "interrupted", |stream| answer_and_linger(stream, b"")),
        ("silence after the handshake", "interrupted", |stream| Peer::upgrade(stream).linger()),
        ("silence after the greeting", "interrupted", |stream| Peer::greet(stream).linger()),
        ("trickle", "interrupted", |stream| {
            let mut peer = Peer::greet(stream);
            peer.raw(&[0x81, 126, 0xff, 0xff]);
            trickle(|| peer.raw(b" "));
        }),
        ("pings", "interrupted", |stream| {
            let mut peer = Peer::greet(stream);
            for_ever(|| peer.raw(&[0x89, 0].repeat(100)));
        }),
    ];
    play(cases, server, |address| {
        let limits = Limits { connect: 10 * SECOND, reply: 10 * SECOND, stop: stop_soon() };
        let (failure, took) = timed(|| {
            Client::connect(address, Protocol::Hrana3, &limits)?.execute_on_own_stream(&statement())
        });
        assert!(took < WISH + SLACK, "{took:?}");
        (failure, took)
    });
}

/// Returns a greeted client whose server plays `play`.
fn client_of(play: PlayGreeted) -> Client {
    connect(&greeted(play)).unwrap()
}

fn affected(reply: Result<Reply, Failure>) -> u64 {
    reply.unwrap().answer.affected
}

#[test]
fn pings_and_fragments_do_no_harm() {
    let mut client = client_of(|mut peer| {
        peer.read(3);
        let text = executed(2, 5).to_string();
        let (begin, end) = text.split_at(10);
        let part = |text: &str, kind, last| Message::Frame(Frame::message(text.to_string(), kind, last));
        let parts = [
            Message::Ping(vec![1, 2, 3].into()),
            part(begin, OpCode::Data(Data::Text), false),
            Message::Pong(vec![].into()),
            Message::Ping(vec![].into()),
            part(end, OpCode::Data(Data::Continue), true),
        ];
        parts.into_iter().for_each(|part| peer.0.send(part).unwrap());
        peer.linger();
    });
    assert_eq!(affected(client.execute_on_own_stream(&statement())), 5);
}

#[test]
fn replies_that_nobody_waits_for_come_in_any_order() {
    let mut client = client_of(|mut peer| {
        peer.read(3);
        peer.send(&executed(2, 1));
        peer.read(3);
        [closed(6), closed(3), opened(1), opened(4), executed(5, 2)]
            .iter()
            .for_each(|reply| peer.send(reply));
        peer.read(1);
        peer.send(&opened(7));
        peer.linger();
    });
    assert_eq!(affected(client.execute_on_own_stream(&statement())), 1);
    assert_eq!(affected(client.execute_on_own_stream(&statement())), 2);
    client.open_stream().unwrap();
    assert_eq!(client.traffic().round_trips, 3);
}

#[test]
fn a_reply_that_comes_twice() {
    let mut client = client_of(|mut peer| {
        peer.read(3);
        [opened(1), executed(2, 1), closed(3)].iter().for_each(|reply| peer.send(reply));
        peer.read(3);
        peer.send(&executed(2, 1));
        peer.linger();
    });
    client.execute_on_own_stream(&statement()).unwrap();
    let failure = client.execute_on_own_stream(&statement()).unwrap_err();
    assert_eq!(failure, Failure::Protocol("a reply to request 2, which does not wait for one".to_string()));
}

#[test]
fn after_a_refusal_the_connection_is_good() {
    let mut client = client_of(|mut peer| {
        peer.read(3);
        [opened(1), refusal(2, "SQLITE_BUSY", "database is locked"), closed(3)]
            .iter()
            .for_each(|reply| peer.send(reply));
        peer.read(3);
        [opened(4), executed(5, 1), closed(6)].iter().for_each(|reply| peer.send(reply));
        peer.linger();
    });
    let failure = client.execute_on_own_stream(&statement()).unwrap_err();
    let expected =
        Failure::Server { code: "SQLITE_BUSY".to_string(), message: "database is locked".to_string() };
    assert!(failure.is_busy() && failure.leaves_connection());
    assert_eq!(failure, expected);
    assert_eq!(affected(client.execute_on_own_stream(&statement())), 1);
}

#[test]
fn a_refused_stream_is_why_the_statement_is_refused() {
    let mut client = client_of(|mut peer| {
        peer.read(3);
        peer.send(&refusal(1, "BLOCKED", "no more reads"));
        peer.send(&refusal(2, "STREAM_NOT_OPEN", "the stream is not open"));
        peer.send(&refusal(3, "STREAM_NOT_OPEN", "the stream is not open"));
        peer.read(3);
        [opened(4), refusal(5, "SQLITE_ERROR", "no such table")].iter().for_each(|reply| peer.send(reply));
        peer.linger();
    });
    for expected in ["no more reads (BLOCKED)", "no such table (SQLITE_ERROR)"] {
        let failure = client.execute_on_own_stream(&statement()).unwrap_err();
        assert!(matches!(failure, Failure::Server { .. }));
        assert_eq!(failure.to_string(), expected);
    }
}

#[test]
fn replies_of_another_kind_on_a_held_stream() {
    let open: PlayGreeted = |mut peer| {
        peer.send(&executed(1, 0));
        peer.linger();
    };
    let then: PlayGreeted = |mut peer| {
        [opened(1), executed(2, 0)].iter().for_each(|reply| peer.send(reply));
        peer.linger();
    };
    type Call = fn(&mut Client) -> Option<Failure>;
    let cases: [(PlayGreeted, Call); 3] = [
        (open, |client| client.open_stream().err()),
        (then, |client| {
            let stream = client.open_stream().unwrap();
            client.ask_autocommit(stream).err()
        }),
        (then, |client| {
            let stream = client.open_stream().unwrap();
            client.batch(stream, [statement()].iter()).err()
        }),
    ];
    let expected = Failure::Protocol("a reply to another kind of request".to_string());
    for (play, call) in cases {
        assert_eq!(call(&mut client_of(play)), Some(expected.clone()));
    }
}

#[test]
fn batches_that_do_not_fit() {
    let ok = || result(1);
    let error = || json!({ "code": "SQLITE_CONSTRAINT", "message": "UNIQUE constraint failed" });
    let refused = Failure::Server {
        code: "SQLITE_CONSTRAINT".to_string(),
        message: "UNIQUE constraint failed".to_string(),
    };
    let wrong = |text: &str| Some(Failure::Protocol(text.to_string()));
    let cases = [
        (json!([ok(), ok()]), json!([null, null]), None),
        (json!([ok(), ok()]), json!([]), None),
        (json!([ok()]), json!([null]), wrong("1 results for 2 statements")),
        (json!([]), json!([]), wrong("0 results for 2 statements")),
        (json!([ok(), ok(), ok()]), json!([null, null, null]), wrong("3 results for 2 statements")),
        (json!([ok(), null]), json!([null, null]), wrong("a batch with a statement that has no result")),
        (json!([null, ok()]), json!([error(), null]), Some(refused.clone())),
        (json!([ok(), null]), json!([null, error()]), Some(refused)),
    ];
    for (results, errors, expected) in cases {
        let case = format!("{results} {errors}");
        let address = server(move |stream| {
            let mut peer = Peer::greet(stream);
            peer.send(&opened(1));
            let batch = json!({ "step_results": results, "step_errors": errors });
            peer.send(&reply(2, json!({ "type": "batch", "result": batch })));
            peer.linger();
        });
        let mut client = connect(&address).unwrap();
        let stream = client.open_stream().unwrap();
        let found = client.batch(stream, [statement(), statement()].iter());
        assert_eq!(found.err(), expected, "{case}");
    }
}
