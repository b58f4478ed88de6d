//! Checks whether a server still answers, and what it does without clients.

use super::DEADLINE_S;
use crate::instrument::hrana::{Address, Backoff, Client, Failure, Limits, Protocol};
use crate::instrument::proc;
use crate::instrument::sql::Statement;
use crate::instrument::sqld::{self, Server};
use crate::study::clients::statements::{read_probe, write_probe};
use crate::study::clients::{After, Evidence, Probe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Returns the limits of a connection of a measurement.
pub fn limits(stop: &Arc<AtomicBool>) -> Limits {
    Limits { reply: Duration::from_secs(DEADLINE_S), ..Limits::new(stop) }
}

/// Sends one write on a connection of its own.
pub fn write(address: &Address, stop: &Arc<AtomicBool>) -> Probe {
    probe(address, stop, &write_probe())
}

fn probe(address: &Address, stop: &Arc<AtomicBool>, statement: &Statement) -> Probe {
    let begun = Instant::now();
    let ask = || -> Result<(), Failure> {
        let mut client = Client::connect(address, Protocol::Hrana3, &limits(stop))?;
        let stream = client.open_stream()?;
        let repeated = Backoff { attempts: 50, ..Backoff::default() }.run(
            || client.execute(stream, statement),
            |pause| {
                thread::sleep(pause);
                !stop.load(Ordering::Relaxed)
            },
        );
        repeated.outcome.map(|_| ())
    };
    let failure = ask().err();
    Probe {
        took_ms: begun.elapsed().as_millis() as u64,
        unanswered: failure.as_ref().is_some_and(|f| matches!(f, Failure::TimedOut(_)) || f.is_busy()),
        failure: failure.map(|failure| failure.to_string()),
    }
}

/// Watches a server that no client is connected to, then sends it a read and a write. Returns `None` when the
/// user wants the measurement to end.
pub fn after(server: &Server, idle: Duration, stop: &Arc<AtomicBool>) -> Option<After> {
    let begun = Instant::now();
    let before = server.usage();
    while begun.elapsed() < idle {
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        thread::sleep(Duration::from_millis(100).min(idle));
    }
    let now = server.usage();
    let idle = begun.elapsed();
    let address = server.address();
    let read_probe = probe(&address, stop, &read_probe());
    let write_probe = write(&address, stop);
    if stop.load(Ordering::Relaxed) {
        return None;
    }
    Some(After {
        read_probe,
        write_probe,
        idle_ms: idle.as_millis() as u64,
        // CPU time in ticks of 10 ms says little about a shorter time.
        idle_cores: before
            .zip(now)
            .filter(|_| idle.as_millis() >= 200)
            .map(|(before, now)| cores(&before, &now, idle)),
        threads: now.map(|usage| usage.threads),
        runnable_threads: now.map(|usage| usage.runnable),
    })
}

/// Collects what can be seen of a server that answers no write. `times` are when the last write was answered
/// and the current time, both in ms since the clients began.
pub fn evidence(server: &Server, times: [u64; 2], write_probe: Probe, server_cores: Option<f64>) -> Evidence {
    let [last_write_ms, detected_ms] = times;
    Evidence {
        last_write_ms,
        detected_ms,
        write_probe,
        thread_states: proc::thread_states(server.process()),
        server_cores,
        healthy: server.is_healthy(),
        server_log: sqld::tail(&server.log()),
    }
}

/// Returns the CPU time between two looks as a number of cores.
pub fn cores(before: &proc::Usage, now: &proc::Usage, elapsed: Duration) -> f64 {
    now.cpu().saturating_sub(before.cpu()).as_secs_f64() / elapsed.as_secs_f64().max(1e-3)
}
