//! Measures what a statement costs on the client's side, against one real sqld: with this program's client,
//! on the bare wire, and with the published client.
//!
//!     npm ci --prefix benches/client_cost
//!     cargo bench --bench client_cost [-- ROUNDS [STATEMENTS]]
//!
//! The published client is @libsql/client under Bun; if it is not installed, the rest is measured. In each
//! round every side runs that many statements one after the other, and each round begins with a different
//! side, so that other activity of the machine affects all sides alike. Prints medians with 95 % intervals of
//! the time and of the client's CPU time for a statement, and ratios of times, taken round by round.

#[path = "../tests/common/token.rs"]
mod token;

use repro::instrument::hrana::Protocol;
use repro::instrument::hrana::{Client, Limits, Stream};
use repro::instrument::meter::thread_cpu_ns;
use repro::instrument::sql::{Statement, Value};
use repro::instrument::sqld::token::Access;
use repro::instrument::sqld::{Config, Server, program};
use repro::stats::{Ratio, Summary};
use repro::study::serverless::side::floor::Echo;
use serde::Deserialize;
use serde_json::json;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

const ROWS: i64 = 5000;
const LOOKUP: &str = "SELECT id, payload FROM bench WHERE id = ?";
/// The number of rounds that are not counted, because a JavaScript engine compiles code that runs often.
const WARMUP: usize = 5;
const PUBLISHED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/client_cost");

const ECHO: &str = "echo, messages as long as those of SELECT 1";
const AUTOCOMMIT: &str = "ours, held stream, get_autocommit";
const ONE: &str = "ours, held stream, SELECT 1";
const HELD: &str = "ours, held stream, lookup";
const OWN: &str = "ours, stream per statement, lookup";
const LIBSQL: &str = "@libsql/client under Bun, lookup";

/// The ratios that are printed, each with its goal.
const RATIOS: [(&str, &str, &str); 3] =
    [(ONE, ECHO, ""), (HELD, LIBSQL, "aim: at most 0.2"), (OWN, LIBSQL, "aim: below 0.8")];

fn main() {
    // Cargo itself adds `--bench` to the arguments.
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let rounds = numbers.first().copied().unwrap_or(40);
    let statements = numbers.get(1).copied().unwrap_or(500);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = start(folder.path());
    populate(&server);
    println!("{}", server.build().expect("the version of sqld").replace('\n', " "));
    println!("{rounds} rounds of {statements} statements a side; {ROWS} rows\n");
    let mut sides = sides(&server);
    for round in 0..WARMUP + rounds {
        let first = round % sides.len();
        let (before, after) = sides.split_at_mut(first);
        for side in after.iter_mut().chain(before) {
            side.turn(statements, round >= WARMUP);
        }
    }
    println!("{:44}{:>8} {:16}  {:>8}", "for a statement", "µs", "", "µs of CPU");
    sides.iter().for_each(Side::print);
    println!();
    RATIOS.iter().for_each(|(a, b, aim)| print_ratio(&sides, a, b, aim));
}

fn start(folder: &Path) -> Server {
    let setting = Config {
        program: program::find(None, folder).expect("sqld"),
        arguments: Vec::new(),
        folder: folder.to_path_buf(),
        keep: false,
        launcher: env!("CARGO_BIN_EXE_repro").into(),
    };
    Server::start(&setting).expect("sqld starts")
}

fn connect(server: &Server) -> (Client, Stream) {
    let limits = Limits::new(&Arc::default());
    let mut client = Client::connect(&server.address(), Protocol::Hrana3, &limits).expect("a connection");
    let stream = client.open_stream().expect("a stream");
    (client, stream)
}

fn populate(server: &Server) {
    let (mut client, stream) = connect(server);
    let table = "CREATE TABLE bench(id INTEGER PRIMARY KEY, payload TEXT)";
    let insert = |id: i64| {
        let values = vec![Value::Integer(id), Value::Text(format!("{id:0100}"))];
        Statement::new("INSERT INTO bench VALUES(?, ?)", values)
    };
    let bare = |sql: &'static str| Statement::new(sql, Vec::new());
    let all: Vec<Statement> = [bare(table), bare("BEGIN")]
        .into_iter()
        .chain((1..=ROWS).map(insert))
        .chain([bare("COMMIT")])
        .collect();
    for batch in all.chunks(500) {
        client.batch(stream, batch.iter()).expect("rows");
    }
}

/// The wall-clock and CPU time of a number of statements, in µs.
#[derive(Clone, Copy, Deserialize)]
struct Times {
    wall_us: f64,
    cpu_us: f64,
}

/// A way to run statements; one turn runs a given number of them.
struct Side {
    name: &'static str,
    run: Box<dyn FnMut(usize) -> Times>,
    /// The times for a statement, one for each round.
    times: Vec<Times>,
}

impl Side {
    fn new(name: &'static str, run: impl FnMut(usize) -> Times + 'static) -> Side {
        Side { name, run: Box::new(run), times: Vec::new() }
    }

    /// Returns a side that uses this program's client, timed on the clocks of this thread.
    fn ours(name: &'static str, mut one: impl FnMut() + 'static) -> Side {
        let cpu = || thread_cpu_ns().expect("the thread has a clock") as f64 / 1e3;
        Side::new(name, move |statements| {
            let (begun, cpu_begun) = (Instant::now(), cpu());
            (0..statements).for_each(|_| one());
            Times { wall_us: begun.elapsed().as_secs_f64() * 1e6, cpu_us: cpu() - cpu_begun }
        })
    }

    fn turn(&mut self, statements: usize, counts: bool) {
        let all = (self.run)(statements);
        let each = |us: f64| us / statements as f64;
        if counts {
            self.times.push(Times { wall_us: each(all.wall_us), cpu_us: each(all.cpu_us) });
        }
    }

    fn wall(&self) -> impl Iterator<Item = f64> {
        self.times.iter().map(|times| times.wall_us)
    }

    fn print(&self) {
        let told = |samples: Vec<f64>| {
            let summary = Summary::of(&samples, 0.0).expect("there was a round");
            let interval = summary.interval.map(|i| format!("[{:.1}, {:.1}]", i.low, i.high));
            format!("{:8.1} {:16}", summary.median, interval.unwrap_or_default())
        };
        let cpu = self.times.iter().map(|times| times.cpu_us).collect();
        println!("{:44}{}  {}", self.name, told(self.wall().collect()), told(cpu));
    }
}

fn sides(server: &Server) -> Vec<Side> {
    let one = || Statement::new("SELECT 1", Vec::new());
    let mut sides = vec![echo(server, &one())];
    let (mut client, stream) = connect(server);
    sides.push(Side::ours(AUTOCOMMIT, move || client.ask_autocommit(stream).expect("an answer")));
    let ((mut client, stream), one) = (connect(server), one());
    sides.push(Side::ours(ONE, move || assert_eq!(rows(client.execute(stream, &one)), 1)));
    let ((mut client, stream), mut next) = (connect(server), lookups());
    sides.push(Side::ours(HELD, move || assert_eq!(rows(client.execute(stream, &next())), 1)));
    let ((mut client, _), mut next) = (connect(server), lookups());
    sides.push(Side::ours(OWN, move || assert_eq!(rows(client.execute_on_own_stream(&next())), 1)));
    match Published::start(server) {
        Some(mut client) => sides.push(Side::new(LIBSQL, move |statements| client.run(statements))),
        None => println!("without @libsql/client: run `npm ci --prefix benches/client_cost` for it\n"),
    }
    sides
}

/// Returns the side with only the wire and the WebSocket, with messages as long as those of this statement.
fn echo(server: &Server, like: &Statement) -> Side {
    let (mut client, stream) = connect(server);
    let before = client.traffic();
    client.execute(stream, like).expect("an answer");
    let after = client.traffic();
    let sent = (after.sent_bytes - before.sent_bytes) as usize;
    let received = (after.received_bytes - before.received_bytes) as usize;
    let echo = Echo::start().expect("an echo");
    let mut caller = echo.connect(&Arc::default()).expect("a connection to the echo");
    Side::ours(ECHO, move || {
        let _alive = &echo;
        caller.round_trip(sent, received).expect("an echo");
    })
}

/// Returns a source of lookups of one key after the other.
fn lookups() -> impl FnMut() -> Statement {
    let mut key = 0;
    move || {
        key = key % ROWS + 1;
        Statement::new(LOOKUP, vec![Value::Integer(key)])
    }
}

fn rows(reply: Result<repro::instrument::hrana::Reply, repro::instrument::hrana::Failure>) -> usize {
    reply.expect("an answer").answer.rows.len()
}

/// The published client in a process of its own, which runs as many statements as its standard input tells it
/// to.
struct Published {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

impl Published {
    /// Starts the client; returns `None` if it is not installed.
    fn start(server: &Server) -> Option<Published> {
        let folder = Path::new(PUBLISHED);
        let bun = folder.join("node_modules/.bin/bun");
        if !bun.is_file() {
            return None;
        }
        let mut command = Command::new(bun);
        command.arg(folder.join("lookup.js")).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("Bun starts");
        let mut input = child.stdin.take().expect("it was piped");
        let output = BufReader::new(child.stdout.take().expect("it was piped")).lines();
        let url = server.address_with(None).to_string();
        let token = token::text_of(server.keys().mint(Access::Full, 24 * 3600));
        writeln!(input, "{}", json!({ "url": url, "token": token, "sql": LOOKUP, "rows": ROWS }))
            .expect("Bun reads");
        Some(Published { child, input: Some(input), output })
    }

    fn run(&mut self, statements: usize) -> Times {
        writeln!(self.input.as_ref().expect("it runs"), "{statements}").expect("Bun reads");
        let line = self.output.next().expect("Bun answers").expect("Bun answers in text");
        serde_json::from_str(&line).expect("Bun answers with times")
    }
}

impl Drop for Published {
    fn drop(&mut self) {
        // The process ends at the end of its input.
        self.input = None;
        let _ = self.child.wait();
    }
}

fn print_ratio(sides: &[Side], a: &str, b: &str, aim: &str) {
    let of = |name: &str| sides.iter().find(|side| side.name == name);
    let Some((a, b)) = of(a).zip(of(b)) else { return };
    let pairs: Vec<(f64, f64)> = a.wall().zip(b.wall()).collect();
    let ratio = Ratio::of_pairs(&pairs).expect("every round has two times");
    let interval = ratio.interval.map_or(String::new(), |i| format!("[{:.3}, {:.3}]", i.low, i.high));
    println!("{:.3} {interval:16} ({}) / ({})  {aim}", ratio.value, a.name, b.name);
}
