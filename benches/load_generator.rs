//! Measures the CPU time that a client of sweep and million spends on a statement, with the program's own
//! client against a server that answers every statement in the same words. `cargo bench --bench
//! load_generator`.

use nix::sys::resource::{UsageWho, getrusage};
use repro::instrument::hrana::Protocol;
use repro::instrument::hrana::{self, Address, Client, Limits, Stream};
use repro::stats::Summary;
use repro::study::clients::Mix;
use repro::study::clients::statements::Statements;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use tungstenite::Message;
use tungstenite::handshake::server::{ErrorResponse, Request, Response};

const ROUNDS: usize = 20;
const STATEMENTS: usize = 20_000;
/// The goal for the CPU time of a client, in µs for each statement.
const AIM: f64 = 10.0;

fn main() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port of loopback");
    let address = Address::local(listener.local_addr().expect("bound above"), None);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer(stream));
        }
    });
    let limits = Limits::new(&Arc::default());
    println!(
        "CPU time of a client, µs a statement: medians of {ROUNDS} rounds of {STATEMENTS}, 95 % intervals"
    );
    for (name, held) in [("a stream per statement", false), ("one stream held", true)] {
        let samples: Vec<Cpu> =
            (0..ROUNDS).map(|round| measure(&address, &limits, round as u64, held)).collect();
        let all: Vec<f64> = samples.iter().map(|cpu| cpu.user + cpu.system).collect();
        let user: Vec<f64> = samples.iter().map(|cpu| cpu.user).collect();
        let verdict =
            if Summary::of(&all, 0.0).is_some_and(|all| all.median <= AIM) { "within" } else { "above" };
        println!("{name:24} {}, its own code {}: {verdict} the aim of {AIM} µs", show(&all), show(&user));
    }
}

fn show(samples: &[f64]) -> String {
    let summary = Summary::of(samples, 0.0).expect("there are samples");
    let interval = summary.interval.expect("there are enough of them");
    format!("{:.2} [{:.2}, {:.2}]", summary.median, interval.low, interval.high)
}

/// CPU time in µs, in the client's own code and in the kernel on its behalf.
struct Cpu {
    user: f64,
    system: f64,
}

impl Cpu {
    fn of_this_thread() -> Cpu {
        let usage = getrusage(UsageWho::RUSAGE_THREAD).expect("the system counts CPU time");
        let us = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 * 1e6 + time.tv_usec() as f64;
        Cpu { user: us(usage.user_time()), system: us(usage.system_time()) }
    }
}

/// Returns the CPU time for each statement.
fn measure(address: &Address, limits: &Limits, round: u64, held: bool) -> Cpu {
    let mut client = Client::connect(address, Protocol::Hrana3, limits).expect("the server is there");
    let stream: Option<Stream> = held.then(|| client.open_stream().expect("the server answers"));
    let mut statements = Statements::new(1, round, 0, Mix::WRITE_HEAVY, 100_000);
    let mut id = 100_000;
    let before = Cpu::of_this_thread();
    for _ in 0..STATEMENTS {
        let next = statements.next(|| {
            id += 1;
            id
        });
        let reply = match stream {
            Some(stream) => client.execute(stream, &next.statement),
            None => client.execute_on_own_stream(&next.statement),
        };
        assert_eq!(reply.expect("the server answers").answer.rows.len(), 1);
    }
    let after = Cpu::of_this_thread();
    let each = |before: f64, after: f64| (after - before) / STATEMENTS as f64;
    Cpu { user: each(before.user, after.user), system: each(before.system, after.system) }
}

/// Accepts the protocol. The large type of a refusal is prescribed by the library.
#[allow(clippy::result_large_err)]
fn agree(_: &Request, mut response: Response) -> Result<Response, ErrorResponse> {
    response.headers_mut().insert("Sec-WebSocket-Protocol", "hrana3".parse().expect("a header"));
    Ok(response)
}

/// Answers a greeting and every request as sqld would for one row.
fn answer(stream: TcpStream) {
    stream.set_nodelay(true).expect("a socket of TCP");
    let Ok(mut socket) = tungstenite::accept_hdr_with_config(stream, agree, Some(hrana::config())) else {
        return;
    };
    while let Ok(Message::Text(text)) = socket.read() {
        if socket.send(Message::text(reply(&text))).is_err() {
            return;
        }
    }
}

fn reply(request: &str) -> String {
    let id = request.split("\"request_id\":").nth(1).and_then(|rest| rest.split([',', '}']).next());
    let Some(id) = id else { return r#"{"type":"hello_ok"}"#.to_string() };
    let kind = ["open_stream", "close_stream"].into_iter().find(|kind| request.contains(kind));
    let response = match kind {
        Some(kind) => format!(r#"{{"type":"{kind}"}}"#),
        None => concat!(
            r#"{"type":"execute","result":{"cols":[{"name":"team","decltype":"INTEGER"},"#,
            r#"{"name":"score","decltype":"INTEGER"}],"rows":[[{"type":"integer","value":"512"},"#,
            r#"{"type":"integer","value":"831274"}]],"affected_row_count":0,"last_insert_rowid":null,"#,
            r#""replication_index":null,"rows_read":1,"rows_written":0,"query_duration_ms":0.014}}"#
        )
        .to_string(),
    };
    format!(r#"{{"type":"response_ok","request_id":{id},"response":{response}}}"#)
}
