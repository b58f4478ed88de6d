//! The whole program against servers that turn hostile in the middle of a step: it ends in time, with the
//! class of the failure, and with a partial record of what was measured.

mod common;

use common::{Home, REPRO, array, load, why};
use serde_json::{Value, json};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};
use tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tungstenite::{Message, WebSocket};

/// The number of statements that the server answers properly; the first step has three.
const PATIENCE: usize = 20;
/// The time in which the program must end; a reply may take 12 s.
const LIMIT: Duration = Duration::from_secs(30);

type Socket = WebSocket<TcpStream>;

/// Starts a server that answers connections until `turn` takes over after this many statements.
fn server(turn: fn(Socket, i64)) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("ws://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || play(stream, turn));
        }
    });
    url
}

#[allow(clippy::result_large_err)] // the signature is tungstenite's
fn agree(_: &Request, mut response: Response) -> Result<Response, ErrorResponse> {
    response.headers_mut().insert("Sec-WebSocket-Protocol", "hrana3".parse().unwrap());
    Ok(response)
}

fn play(stream: TcpStream, turn: fn(Socket, i64)) {
    let mut socket = tungstenite::accept_hdr(stream, agree).unwrap();
    let mut statements = 0;
    while let Ok(Message::Text(text)) = socket.read() {
        let message: Value = serde_json::from_str(&text).unwrap();
        let id = message["request_id"].as_i64().unwrap_or_default();
        let sql = message["request"]["stmt"]["sql"].as_str().unwrap_or_default().to_string();
        let of_a_step = sql.starts_with("CREATE") || sql.starts_with("INSERT");
        statements += usize::from(of_a_step);
        if of_a_step && statements > PATIENCE {
            return turn(socket, id);
        }
        if socket.send(Message::text(answer(&message, id, &sql).to_string())).is_err() {
            return;
        }
    }
}

fn answer(message: &Value, id: i64, sql: &str) -> Value {
    if message["type"] == "hello" {
        return json!({ "type": "hello_ok" });
    }
    let mut response = json!({ "type": message["request"]["type"] });
    if !sql.is_empty() {
        let versions =
            json!([[{ "type": "text", "value": "3.45.1" }, { "type": "text", "value": "a check-in" }]]);
        response["result"] = json!({
            "cols": [],
            "rows": if sql.contains("sqlite_version") { versions } else { json!([]) },
            "affected_row_count": u64::from(sql.starts_with("INSERT")),
            "last_insert_rowid": null,
            "query_duration_ms": 0.01,
        });
    }
    json!({ "type": "response_ok", "request_id": id, "response": response })
}

/// Sends nothing more until the client is gone.
fn linger(mut socket: Socket) {
    while socket.read().is_ok() {}
}

/// Asserts how the program ends with such a server, and how long that may take.
#[track_caller]
fn ends(turn: fn(Socket, i64), class: &str, within: Duration) {
    let home = Home::new();
    let url = server(turn);
    let words =
        ["run", "serverless", "--url", &url, "--leg", "sqld-held", "--scale", "1/100", "--warmup", "0"];
    let begun = Instant::now();
    let mut command = assert_cmd::Command::new(REPRO);
    command.args(words).args(["--runs", "1", "--quiet", "--record", "r.json"]);
    command.current_dir(home.work()).envs(home.variables()).timeout(LIMIT);
    let done = common::Done::from(&command.output().unwrap());
    assert!(begun.elapsed() < within, "{class}: {:?}", begun.elapsed());
    done.exits(3).says(&["sqld-held: step insert-1: statement 18 of 50", class]);
    let record = load(&home.file("r.json"));
    assert!(why(&record, "partial").contains(class), "{record}");
    let phases = array(&record["legs"][0], "phases");
    let names: Vec<&str> = phases.iter().map(|phase| phase["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["create-schema", "insert-1"]);
    let failed = &phases[1]["samples"][0]["measure"];
    assert_eq!(
        failed["errors"].as_object().unwrap().values().map(Value::as_u64).sum::<Option<u64>>(),
        Some(1)
    );
}

const SOON: Duration = Duration::from_secs(10);

#[test]
fn garbage() {
    ends(
        |mut socket, _| {
            socket.send(Message::text("garbage")).unwrap();
            linger(socket);
        },
        "protocol violated",
        SOON,
    );
}

#[test]
fn a_reply_that_nobody_awaits() {
    ends(
        |mut socket, id| {
            socket.send(Message::text(answer(&json!({ "request": {} }), id + 1000, "").to_string())).unwrap();
            linger(socket);
        },
        "protocol violated",
        SOON,
    );
}

#[test]
fn a_frame_that_announces_a_gigabyte() {
    ends(
        |mut socket, _| {
            socket.get_mut().write_all(&[0x81, 127, 0, 0, 0, 0, 0x40, 0, 0, 0]).unwrap();
            linger(socket);
        },
        "protocol violated",
        SOON,
    );
}

#[test]
fn a_connection_that_ends() {
    ends(|_, _| {}, "connection lost", SOON);
}

#[test]
fn silence() {
    ends(|socket, _| linger(socket), "no reply within 12 s", Duration::from_secs(25));
}

#[test]
fn a_slow_trickle() {
    ends(
        |mut socket, _| {
            let stream = socket.get_mut();
            stream.write_all(&[0x81, 126, 0xff, 0xff]).unwrap();
            while stream.write_all(b"x").is_ok() {
                thread::sleep(Duration::from_millis(50));
            }
        },
        "no reply within 12 s",
        Duration::from_secs(25),
    );
}
