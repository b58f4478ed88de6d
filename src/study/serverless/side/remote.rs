//! Runs statements through a server: with a stream for each statement, one stream for all, or many statements
//! in one message.

use super::{Facts, LegRun, Place, Ran, Side, Target, at};
use crate::instrument::hrana::{self, Address, Backoff, Client, Failure, Limits, Reply, Stream};
use crate::instrument::meter::Meter;
use crate::instrument::sql::{Answer, Statement, Value};
use crate::study::serverless::work::Step;
use crate::study::serverless::{Exchange, Leg};
use anyhow::{Context, Result, bail};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// The settings that are read back from an engine.
pub const SETTINGS: [&str; 5] = ["journal_mode", "synchronous", "page_size", "foreign_keys", "busy_timeout"];
/// The largest number of statements in a message.
const BATCH: usize = 100;
/// The largest number of bytes of arguments in a message, far below the 16 MiB that sqld takes.
const BATCH_BYTES: usize = 2 << 20;
/// The hint for a connection that ends when the facts are asked for: these include a pragma, which sqld
/// treats as a write.
const READ_ONLY: &str = "does the token allow writes? sqld closes the connection if it does not";
const TABLES: &str = "SELECT name FROM sqlite_schema WHERE lower(name) IN ('items', 'items_k', 'blobs')";

pub fn run(
    leg: Leg,
    place: &Place,
    address: &Address,
    run: &mut LegRun,
    steps: &mut dyn FnMut(&mut dyn Side, &mut LegRun) -> Result<()>,
) -> Result<()> {
    let limits = Limits::new(&place.stop);
    let mut client =
        Client::connect(address, place.protocol, &limits).with_context(|| address.to_string())?;
    let stream = client.open_stream()?;
    let facts = facts(&mut client, stream, address);
    run.facts = Some(match (&place.target, &facts) {
        (Target::Remote(_), Err(Failure::Dropped(_))) => facts.context(READ_ONLY),
        _ => facts.context("asking the server for its version and settings"),
    }?);
    let there = client.execute(stream, &Statement::new(TABLES, Vec::new()))?.answer.rows;
    if let Some(Value::Text(name)) = there.first().and_then(|row| row.first()) {
        bail!(
            "the database already has a table or index `{name}`, which this study would create; use another database"
        );
    }
    let how = match leg {
        Leg::SqldHeld => How::Held(stream),
        Leg::SqldBatch => How::Batch(stream),
        _ => How::OwnStream,
    };
    let mut side = Remote { client, how, server_ns: 0, busy: 0, stop: Arc::clone(&place.stop) };
    let result = steps(&mut side, run);
    // Only tables that this run created are removed: if the first statement failed, they are somebody else's.
    let made = run.steps.first().is_some_and(|(_, measure)| measure.operations > Some(0));
    if made && matches!(place.target, Target::Remote(_)) {
        // Nothing of this program may stay in somebody else's database, even if the connection was lost.
        let tidied = tidy(address, place, &limits);
        return result.and(
            tidied.context("the tables `items` and `blobs` of this study may still be there; remove them"),
        );
    }
    result
}

fn tidy(address: &Address, place: &Place, limits: &Limits) -> Result<()> {
    let limits = Limits { stop: Arc::default(), ..limits.clone() };
    let mut client = Client::connect(address, place.protocol, &limits)?;
    let stream = client.open_stream()?;
    for table in ["items", "blobs"] {
        client.execute(stream, &Statement::new(format!("DROP TABLE IF EXISTS {table}"), Vec::new()))?;
    }
    Ok(())
}

fn facts(client: &mut Client, stream: Stream, address: &Address) -> Result<Facts, Failure> {
    let versions = hrana::ask(client, stream, "SELECT sqlite_version(), sqlite_source_id()")?;
    let version =
        |column: usize| versions.first().and_then(|row| row.get(column)).cloned().unwrap_or_default();
    let settings = hrana::settings(client, stream, &SETTINGS)?;
    let options = hrana::ask(client, stream, "PRAGMA compile_options")?;
    Ok(Facts {
        name: address.to_string(),
        sqlite_version: version(0),
        source_id: version(1),
        compile_options: options.into_iter().flatten().collect(),
        settings,
    })
}

enum How {
    /// The way in which @libsql/client runs statements.
    OwnStream,
    Held(Stream),
    Batch(Stream),
}

struct Remote {
    client: Client,
    how: How,
    server_ns: u64,
    busy: u64,
    stop: Arc<AtomicBool>,
}

impl Side for Remote {
    fn run<'s>(&mut self, step: &'s Step, meter: &mut Meter) -> Result<Vec<Ran<'s>>, String> {
        if let How::Batch(stream) = self.how {
            return self.run_in_batches(stream, step, meter);
        }
        let mut ran = Vec::with_capacity(step.statements.len());
        for (index, statement) in step.statements.iter().enumerate() {
            let reply = self.timed(meter, Backoff::default(), |client, how| match how {
                How::Held(stream) => client.execute(*stream, statement),
                _ => client.execute_on_own_stream(statement),
            });
            ran.push((statement, self.keep(reply.map_err(|failure| at(index, step, &failure))?)));
        }
        Ok(ran)
    }

    fn exchange(&self) -> Option<Exchange> {
        let traffic = self.client.traffic();
        Some(Exchange {
            server_ns: Some(self.server_ns),
            client_cpu_ns: None,
            round_trips: traffic.round_trips,
            sent_bytes: traffic.sent_bytes,
            received_bytes: traffic.received_bytes,
        })
    }

    fn busy(&self) -> u64 {
        self.busy
    }
}

impl Remote {
    fn run_in_batches<'s>(
        &mut self,
        stream: Stream,
        step: &'s Step,
        meter: &mut Meter,
    ) -> Result<Vec<Ran<'s>>, String> {
        let mut ran = Vec::with_capacity(step.statements.len());
        for batch in batches(&step.statements) {
            let framed = in_transaction(batch);
            // A batch is never repeated, because the statements after a refused one have run nevertheless.
            let once = Backoff { attempts: 1, ..Backoff::default() };
            let replies = self.timed(meter, once, |client, _| client.batch(stream, framed.iter().copied()));
            let replies = replies.map_err(|failure| at(ran.len(), step, &failure))?;
            let own = (framed.len() - batch.len()) / 2;
            self.server_ns += replies.iter().map(|reply| reply.server_ns).sum::<u64>();
            let replies = replies.into_iter().skip(own).take(batch.len());
            ran.extend(batch.iter().zip(replies).map(|(statement, reply)| (statement, reply.answer)));
        }
        Ok(ran)
    }

    /// Times a call, which is repeated while the server is busy.
    fn timed<T>(
        &mut self,
        meter: &mut Meter,
        backoff: Backoff,
        mut call: impl FnMut(&mut Client, &How) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Failure::Interrupted);
        }
        let mut outcome = Err(Failure::Interrupted);
        meter.time(|| {
            let retried = backoff.run(
                || call(&mut self.client, &self.how),
                |pause| {
                    thread::sleep(pause);
                    !self.stop.load(Ordering::Relaxed)
                },
            );
            self.busy += u64::from(retried.busy);
            outcome = retried.outcome;
            outcome.as_ref().map(|_| ()).map_err(Clone::clone)
        });
        outcome
    }

    fn keep(&mut self, reply: Reply) -> Answer {
        self.server_ns += reply.server_ns;
        reply.answer
    }
}

/// Returns the statements in groups that are sent together.
fn batches(statements: &[Statement]) -> Vec<&[Statement]> {
    let mut batches = Vec::new();
    let mut rest = statements;
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = |statement: &&Statement| {
            bytes += size(statement);
            bytes <= BATCH_BYTES
        };
        let count = rest.iter().take(BATCH).take_while(fits).count().max(1);
        let (batch, others) = rest.split_at(count);
        batches.push(batch);
        rest = others;
    }
    batches
}

fn size(statement: &Statement) -> usize {
    let value = |value: &Value| match value {
        Value::Text(text) => text.len(),
        Value::Blob(bytes) => bytes.len(),
        _ => 8,
    };
    statement.sql.len() + statement.arguments.iter().map(value).sum::<usize>()
}

static BEGIN: Statement = Statement { sql: std::borrow::Cow::Borrowed("BEGIN"), arguments: Vec::new() };
static COMMIT: Statement = Statement { sql: std::borrow::Cow::Borrowed("COMMIT"), arguments: Vec::new() };

/// Wraps several writes in one transaction, which is the purpose of batching them; reads need none.
fn in_transaction(batch: &[Statement]) -> Vec<&Statement> {
    let writes = batch.iter().any(|statement| !statement.sql.starts_with("SELECT"));
    match writes && batch.len() > 1 {
        true => std::iter::once(&BEGIN).chain(batch).chain(std::iter::once(&COMMIT)).collect(),
        false => batch.iter().collect(),
    }
}
