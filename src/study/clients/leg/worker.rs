//! One client: its connection, its statements, its counts.

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

/// Before a client tries again to connect.
const PAUSE: Duration = Duration::from_millis(10);

/// What the clients of a level share.
pub struct Shared {
    /// The server.
    pub address: Address,
    /// How clients use streams.
    pub streams: Streams,
    /// Waits and the wish to end.
    pub limits: Limits,
    /// When the clients began: all are connected, as far as the server lets them.
    pub begun: OnceLock<Instant>,
    /// Where they wait for one another.
    pub start: Barrier,
    /// Zero of the clock of the ledger.
    pub epoch: Instant,
    /// When the level ends.
    pub until: Until,
    /// Statements a second that are due.
    pub rate: Option<f64>,
    /// Statements that were taken on by clients.
    pub claimed: AtomicU64,
    /// The key that the next insert takes.
    pub next_id: AtomicI64,
    /// Since `begun`, ms: the last write that was answered.
    pub last_write_ms: AtomicU64,
    /// Writes are no longer answered: what a client waits for then counts as hung.
    pub given_up: AtomicBool,
}

impl Shared {
    /// Takes on a statement: its number, and when it is due. `None` when the level is over.
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

    /// When the clients began.
    pub fn begun(&self) -> Instant {
        *self.begun.get_or_init(Instant::now)
    }

    fn stopped(&self) -> bool {
        self.limits.stop.load(Ordering::Relaxed)
    }
}

/// What a client has counted since it was last asked.
pub struct Tick {
    /// Latencies of statements that were answered.
    pub latencies: Histogram<u32>,
    /// Answers that the server was busy.
    pub busy: u64,
    /// Statements that failed.
    pub failed: u64,
}

impl Tick {
    /// Nothing yet.
    pub fn new() -> Tick {
        Tick { latencies: tally::histogram(), busy: 0, failed: 0 }
    }
}

/// A client.
pub struct Worker {
    shared: Arc<Shared>,
    statements: Statements,
    tick: Arc<Mutex<Tick>>,
    connection: Option<(Client, Option<Stream>)>,
    tally: Tally,
    sent: Vec<Sent>,
}

impl Worker {
    /// A client that is not connected yet.
    pub fn new(shared: Arc<Shared>, statements: Statements, tick: Arc<Mutex<Tick>>) -> Worker {
        Worker { shared, statements, tick, connection: None, tally: Tally::new(), sent: Vec::new() }
    }

    /// Sends statement after statement until the level is over.
    pub fn run(mut self) -> (Tally, Vec<Sent>) {
        // What fails here is tried again with the first statement.
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

    /// Sends one statement; whether to go on.
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
            // The user's wish is nothing that became of the statement. The write may have happened all the same.
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
            // Whatever else the server says, it may have come after the write.
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

    /// Notes a write for the ledger.
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

    /// A write changes one row, a read by key finds one, a count answers one.
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

    /// Sleeps, with an eye on the wish to end; whether the time has come.
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
