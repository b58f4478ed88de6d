//! Carries out the plan level by level: starts a server, fills its table, runs the clients, and checks what
//! they leave.

use super::ledger::Ledger;
use super::level::{self, Ended};
use super::{Event, Job, ServerUsage, probe};
use crate::instrument::hrana::{self, Client, Limits, Protocol, Stream};
use crate::instrument::sql::{Statement, Value};
use crate::instrument::sqld::Server;
use crate::record::{Check, Detail as Own, Health};
use crate::study::clients::args::Level;
use crate::study::clients::statements::{SCHEMA, seeding};
use crate::study::clients::{Detail, judge};
use anyhow::{Context, Result, bail};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The settings that are read back from the server.
const SETTINGS: [&str; 4] = ["journal_mode", "synchronous", "page_size", "busy_timeout"];
/// How long a check of a large database may take.
const CHECK: Duration = Duration::from_secs(600);
/// The number of statements in a seeding message.
const BATCH: usize = 20;

/// Carries out `job` and reports what happens.
///
/// # Errors
/// Returns what kept the leg from finishing, after reporting it.
pub fn run(job: &Job, stop: &Arc<AtomicBool>, tell: &mut dyn FnMut(&Event)) -> Result<()> {
    let result = carry_out(job, stop, tell);
    if let Err(error) = &result {
        tell(&Event::Failed { message: format!("{error:#}") });
    }
    result
}

/// A server and what its table must contain.
struct Stand {
    server: Server,
    ledger: Ledger,
    next_id: i64,
    epoch: Instant,
}

fn carry_out(job: &Job, stop: &Arc<AtomicBool>, tell: &mut dyn FnMut(&Event)) -> Result<()> {
    let mut stand = None;
    for (number, level) in (0..).zip(&job.plan.levels) {
        // A server that is not used again must end before the next one begins.
        let mut current = match stand.take().filter(|_| !job.plan.fresh_server) {
            Some(current) => current,
            None => seed(job, stop, tell)?,
        };
        tell(&Event::Began { phase: level.phase.clone() });
        let scene = level::Scene {
            plan: &job.plan,
            number,
            server: &current.server,
            epoch: current.epoch,
            next_id: current.next_id,
            stop,
        };
        let ended = level::run(&scene, level, tell);
        conclude(&mut current, level, ended, job, stop, tell)?;
        if stop.load(Ordering::Relaxed) {
            bail!("interrupted");
        }
        stand = Some(current);
    }
    Ok(())
}

/// Starts a server and fills its table.
fn seed(job: &Job, stop: &Arc<AtomicBool>, tell: &mut dyn FnMut(&Event)) -> Result<Stand> {
    let server = Server::start_unless(stop, &job.server)?;
    let (mut client, stream) = connect(&server, stop)?;
    let build = server.build().unwrap_or_default().replace('\n', " ");
    tell(&opened(&mut client, stream, build)?);
    tell(&Event::Stage { text: format!("filling the table with {} rows", job.plan.rows) });
    for sql in SCHEMA {
        client.execute(stream, &Statement::new(sql, Vec::new()))?;
    }
    let mut statements = seeding(job.plan.seed, job.plan.rows).peekable();
    while statements.peek().is_some() {
        let mut batch = vec![Statement::new("BEGIN", Vec::new())];
        batch.extend(statements.by_ref().take(BATCH));
        batch.push(Statement::new("COMMIT", Vec::new()));
        client.batch(stream, batch.iter()).context("filling the table")?;
    }
    let (ledger, next_id) = (Ledger::new(job.plan.rows), job.plan.rows as i64 + 1);
    Ok(Stand { server, ledger, next_id, epoch: Instant::now() })
}

fn connect(server: &Server, stop: &Arc<AtomicBool>) -> Result<(Client, Stream)> {
    let mut client = Client::connect(&server.address(), Protocol::Hrana3, &probe::limits(stop))?;
    let stream = client.open_stream()?;
    Ok((client, stream))
}

fn opened(client: &mut Client, stream: Stream, build: String) -> Result<Event> {
    let rows = hrana::ask(client, stream, "SELECT sqlite_version(), sqlite_source_id()")?;
    let Some([sqlite_version, source_id]) = rows.first().map(Vec::as_slice) else {
        bail!("the server did not report its version of SQLite");
    };
    let (sqlite_version, source_id) = (sqlite_version.clone(), source_id.clone());
    let settings = hrana::settings(client, stream, &SETTINGS)?;
    Ok(Event::Opened { build, sqlite_version, source_id, settings })
}

/// Examines the server that the clients have left, restarts it if it has died or answers no writes, checks
/// that no write is lost, and judges the level.
fn conclude(
    stand: &mut Stand,
    level: &Level,
    ended: Ended,
    job: &Job,
    stop: &Arc<AtomicBool>,
    tell: &mut dyn FnMut(&Event),
) -> Result<()> {
    let Ended { mut measure, sent, next_id, begun, last_write_ms } = ended;
    stand.next_id = next_id;
    stand.ledger.add(sent);
    let usage = stand.server.usage().map(|usage| ServerUsage {
        user_us: usage.user.as_micros() as u64,
        system_us: usage.system.as_micros() as u64,
        peak_memory_bytes: usage.peak_memory_bytes,
    });
    let files = stand.server.files();
    let mut after = None;
    if usage.is_some() && !stop.load(Ordering::Relaxed) {
        let idle = Duration::from_millis(job.idle_ms);
        tell(&Event::Stage {
            text: format!("watching the server without clients for {} s", idle.as_secs_f64()),
        });
        after = probe::after(&stand.server, idle, stop);
    }
    let died = stand.server.usage().is_none();
    let mut detail: Detail = measure.detail().unwrap_or_default();
    (detail.database_bytes, detail.wal_bytes) = (files.database_bytes, files.wal_bytes);
    let unanswered = detail.evidence.is_some();
    let mut judged = judge(&detail, after.as_ref().filter(|_| !died));
    if died {
        judged.health = Health::Collapsed;
        judged.reasons.insert(0, "the server process ended".to_string());
    }
    if judged.health == Health::Wedged
        && let Some(after) = after.as_ref().filter(|_| !unanswered)
    {
        let times = [last_write_ms, begun.elapsed().as_millis() as u64];
        detail.evidence =
            Some(probe::evidence(&stand.server, times, after.write_probe.clone(), after.idle_cores));
    }
    let mut checked = Ok(());
    if !stop.load(Ordering::Relaxed) {
        let mut ready = Ok(());
        if died || unanswered || judged.health == Health::Wedged {
            ready = stand.server.restart().context("restarting the server");
            let came = if ready.is_ok() { "was restarted" } else { "could not be restarted" };
            judged.reasons.push(format!("the server {came}"));
        }
        tell(&Event::Stage { text: "looking for every acknowledged write".to_string() });
        checked = ready.and_then(|()| checks(stand, stop)).map(|checks| measure.checks.extend(checks));
    }
    if stop.load(Ordering::Relaxed) {
        judged.reasons.push("interrupted".to_string());
    }
    measure.health = Some(judged.health);
    detail.reasons = judged.reasons;
    detail.after = after;
    measure.detail = Own::of(&detail);
    tell(&Event::Ended { phase: level.phase.clone(), measure: Box::new(measure), server: usage });
    checked.context("checking what was written")
}

fn checks(stand: &Stand, stop: &Arc<AtomicBool>) -> Result<Vec<Check>> {
    // The time limit is longer because the check reads all pages.
    let limits = Limits { reply: CHECK, ..probe::limits(stop) };
    let mut client = Client::connect(&stand.server.address(), Protocol::Hrana3, &limits)?;
    let stream = client.open_stream()?;
    let mut checks = stand.ledger.check(&mut client, stream)?;
    let rows = client.execute(stream, &Statement::new("PRAGMA integrity_check", Vec::new()))?.answer.rows;
    let found = match rows.first().and_then(|row| row.first()) {
        Some(Value::Text(text)) => text.clone(),
        other => format!("{other:?}"),
    };
    checks.push(Check::new("integrity_check", "ok", found));
    Ok(checks)
}
