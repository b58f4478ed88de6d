//! One client: its connection, its statements, and its counts.

use super::ledger::Sent;
use super::tally::{self, Tally};
use crate::instrument::hrana::{Address, Backoff, Client, Failure, Limits, Protocol, Reply, Stream};
use crate::instrument::meter::thread_cpu_ns;
use crate::instrument::sql::Statement;
use crate::study::clients::args::Until;
use crate::study::clients::statements::{Next, Statements};
use crate::study::clients::{Kind, Streams};
use hdrhistogram::Histogram;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The pause before a client tries again to connect.
const PAUSE: Duration = Duration::from_millis(10);

/// What the clients of a level share.
pub struct Shared {
    /// The address of the server.
    pub address: Address,
    /// How clients use streams.
    pub streams: Streams,
    /// The time limits and the stop flag of connections.
    pub limits: Limits,
    /// When the clients began; by then all have connected, as far as the server allows.
    pub begun: OnceLock<Instant>,
    /// The barrier where clients wait for each other before they begin.
    pub start: Barrier,
    /// The zero of the ledger's clock.
    pub epoch: Instant,
    /// When the level ends.
    pub until: Until,
    /// The number of statements due per second; `None` if each client sends one after the other.
    pub rate: Option<f64>,
    /// The number of statements that clients have claimed.
    pub claimed: AtomicU64,
    /// The key that the next insert uses.
    pub next_id: AtomicI64,
    /// When the last write was answered, in ms since `begun`.
    pub last_write_ms: AtomicU64,
    /// Set when writes are no longer answered; what a client is then waiting for counts as hung.
    pub given_up: AtomicBool,
}

impl Shared {
    /// Claims a statement, and returns when it is due, if there is a schedule. Returns `None` when the level
    /// is over.
    fn claim(&self) -> Option<Option<Instant>> {
        if self.limits.stop.load(Ordering::Relaxed) {
            return None;
        }
        let due_at =
            |number: u64| self.rate.map(|rate| self.begun() + Duration::from_secs_f64(number as f64 / rate));
        match self.until {
            Until::Statements(quota) => {
                let number = self.claimed.fetch_add(1, Ordering::Relaxed);
                (number < quota).then(|| due_at(number))
            }
            Until::Seconds(seconds) => {
                let end = self.begun() + Duration::from_secs(seconds);
                if Instant::now() >= end {
                    return None;
                }
                let due = due_at(self.claimed.fetch_add(1, Ordering::Relaxed));
                due.is_none_or(|due| due < end).then_some(due)
            }
        }
    }

    /// Returns when the clients began; the first call sets the time.
    pub fn begun(&self) -> Instant {
        *self.begun.get_or_init(Instant::now)
    }

    fn stopped(&self) -> bool {
        self.limits.stop.load(Ordering::Relaxed)
    }
}

/// What a client has counted since it was last asked.
pub struct Tick {
    /// The latencies of statements that were answered.
    pub latencies: Histogram<u32>,
    /// How often the server answered that it was busy.
    pub busy: u64,
    /// The number of statements that failed.
    pub failed: u64,
}

impl Tick {
    /// Returns a tick with all counts at zero.
    pub fn new() -> Tick {
        Tick { latencies: tally::histogram(), busy: 0, failed: 0 }
    }
}

/// A client, which runs on a thread of its own.
pub struct Worker {
    shared: Arc<Shared>,
    statements: Statements,
    tick: Arc<Mutex<Tick>>,
    connection: Option<(Client, Option<Stream>)>,
    tally: Tally,
    sent: Vec<Sent>,
}

impl Worker {
    /// Returns a client that is not connected yet.
    pub fn new(shared: Arc<Shared>, statements: Statements, tick: Arc<Mutex<Tick>>) -> Worker {
        Worker { shared, statements, tick, connection: None, tally: Tally::new(), sent: Vec::new() }
    }

    /// Sends one statement after another until the level is over, and returns the counts and the writes.
    pub fn run(mut self) -> (Tally, Vec<Sent>) {
        // If this fails, the first statement tries again.
        self.connection = connect(&self.shared).ok();
        self.shared.start.wait();
        let cpu = thread_cpu_ns();
        self.shared.begun();
        while let Some(due) = self.shared.claim() {
            if let Some(due) = due
                && !self.wait_until(due)
            {
                break;
            }
            if !self.one(due) {
                break;
            }
        }
        self.tally.cpu_ns = cpu.zip(thread_cpu_ns()).map(|(before, after)| after - before);
        (self.tally, self.sent)
    }

    /// Sends one statement, and returns whether to continue.
    fn one(&mut self, due: Option<Instant>) -> bool {
        let shared = Arc::clone(&self.shared);
        let next = self.statements.next(|| shared.next_id.fetch_add(1, Ordering::Relaxed));
        let begun = Instant::now();
        let retried = Backoff::default().run(
            || self.attempt(&next.statement),
            |pause| {
                thread::sleep(pause);
                !shared.stopped()
            },
        );
        let interrupted = matches!(retried.outcome, Err(Failure::Interrupted))
            || (shared.stopped() && retried.outcome.as_ref().is_err_and(Failure::is_busy));
        if interrupted && !shared.given_up.load(Ordering::Relaxed) {
            // An interruption by the user is no outcome of the statement, but its write may have happened.
            self.book(&next, begun, false);
            return false;
        }
        let latency = due.unwrap_or(begun).elapsed();
        self.tally.last = Some(Instant::now());
        let answered = self.tally.classify(next.kind, &retried, latency, begun.elapsed());
        self.tick(latency, answered, u64::from(retried.busy));
        match &retried.outcome {
            Ok(reply) => {
                self.book(&next, begun, true);
                self.check(&next, reply);
            }
            Err(failure) if failure.is_busy() => {}
            // Any other error of the server may have come after the write.
            Err(Failure::Server { .. }) => self.book(&next, begun, false),
            Err(_) => {
                self.book(&next, begun, false);
                self.connection = None;
                thread::sleep(PAUSE);
            }
        }
        true
    }

    fn attempt(&mut self, statement: &Statement) -> Result<Reply, Failure> {
        let (client, stream) = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(connect(&self.shared)?),
        };
        match stream {
            Some(stream) => client.execute(*stream, statement),
            None => client.execute_on_own_stream(statement),
        }
    }

    /// Records a write for the ledger.
    fn book(&mut self, next: &Next, begun: Instant, answered: bool) {
        let Some(write) = next.write else { return };
        let now = Instant::now();
        let since = |at: Instant| at.duration_since(self.shared.epoch).as_nanos() as u64;
        if answered {
            let ms = now.duration_since(self.shared.begun()).as_millis() as u64;
            self.shared.last_write_ms.fetch_max(ms, Ordering::Relaxed);
        }
        let answered_ns = answered.then(|| since(now));
        self.sent.push(Sent { write, begun_ns: since(begun), answered_ns });
    }

    /// Checks an answer: a write must change one row, and a read by key or a count must return one.
    fn check(&mut self, next: &Next, reply: &Reply) {
        let (affected, rows) = (reply.answer.affected, reply.answer.rows.len());
        let right = match next.kind {
            Kind::Insert | Kind::Update => affected == 1,
            Kind::Point | Kind::Range => rows == 1,
            Kind::Top => rows <= 10,
        };
        if !right {
            self.tally.wrong(format!("{}: {affected} rows changed, {rows} returned", next.kind.name()));
        }
    }

    fn tick(&self, latency: Duration, answered: bool, busy: u64) {
        let mut tick = self.tick.lock().unwrap_or_else(PoisonError::into_inner);
        tick.busy += busy;
        match answered {
            true => tally::count(&mut tick.latencies, latency),
            false => tick.failed += 1,
        }
    }

    /// Sleeps until `due` while watching the stop flag, and returns whether that time has come.
    fn wait_until(&self, due: Instant) -> bool {
        while !self.shared.stopped() {
            match due.checked_duration_since(Instant::now()) {
                None | Some(Duration::ZERO) => return true,
                Some(left) => thread::sleep(left.min(Duration::from_millis(100))),
            }
        }
        false
    }
}

fn connect(shared: &Shared) -> Result<(Client, Option<Stream>), Failure> {
    let mut client = Client::connect(&shared.address, Protocol::Hrana3, &shared.limits)?;
    let stream = match shared.streams {
        Streams::Held => Some(client.open_stream()?),
        Streams::PerStatement => None,
    };
    Ok((client, stream))
}
