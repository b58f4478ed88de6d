//! One level: runs its clients, and watches them until they are done.

use super::ledger::Sent;
use super::sampler::{self, Sampler};
use super::tally::Tally;
use super::worker::{Shared, Tick, Worker};
use super::{Event, probe};
use crate::instrument::sqld::Server;
use crate::record::{self, Check, Measure};
use crate::study::clients::args::{Level, Plan, Until};
use crate::study::clients::statements::Statements;
use crate::study::clients::{Detail, Evidence, Kind, Probe, Second};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long no write may be answered before one is sent to find out why.
const SUSPICIOUS: Duration = Duration::from_secs(10);

/// What a level needs to know about its surroundings.
pub struct Scene<'a> {
    /// The plan with all levels.
    pub plan: &'a Plan,
    /// The number of this level, counted from 0.
    pub number: u64,
    /// The server that the clients connect to.
    pub server: &'a Server,
    /// The zero of the ledger's clock.
    pub epoch: Instant,
    /// The key that the next insert uses.
    pub next_id: i64,
    /// Set from outside when the user wants the measurement to end.
    pub stop: &'a Arc<AtomicBool>,
}

/// The result of a level before its server is examined.
pub struct Ended {
    /// Everything that was measured, without the verdict on the server.
    pub measure: Measure,
    /// The writes of all clients.
    pub sent: Vec<Sent>,
    /// The key that the next insert uses.
    pub next_id: i64,
    /// When the clients began.
    pub begun: Instant,
    /// When the last write was answered, in ms since the clients began.
    pub last_write_ms: u64,
}

/// Why a level is ended early.
enum Cause {
    Unanswered(Box<Evidence>),
    Died,
}

/// Runs the clients of a level.
pub fn run(scene: &Scene, level: &Level, tell: &mut dyn FnMut(&Event)) -> Ended {
    // The level has a stop flag of its own beside the user's: when it hangs, only it is ended, and the next
    // one begins.
    let stop = Arc::new(AtomicBool::new(false));
    let shared = Arc::new(Shared {
        address: scene.server.address(),
        streams: scene.plan.streams,
        limits: probe::limits(&stop),
        begun: OnceLock::new(),
        start: Barrier::new(level.clients as usize),
        epoch: scene.epoch,
        until: level.until,
        rate: scene.plan.rate,
        claimed: AtomicU64::new(0),
        next_id: AtomicI64::new(scene.next_id),
        last_write_ms: AtomicU64::new(0),
        given_up: AtomicBool::new(false),
    });
    let ticks: Vec<Arc<Mutex<Tick>>> =
        (0..level.clients).map(|_| Arc::new(Mutex::new(Tick::new()))).collect();
    let client = |(number, tick): (u64, &Arc<Mutex<Tick>>)| {
        let plan = scene.plan;
        let statements = Statements::new(plan.seed, scene.number, number, plan.mix, plan.rows);
        let worker = Worker::new(Arc::clone(&shared), statements, Arc::clone(tick));
        thread::spawn(move || worker.run())
    };
    let workers: Vec<JoinHandle<(Tally, Vec<Sent>)>> = (0..).zip(&ticks).map(client).collect();

    let begun = wait_for_begin(&shared, scene.stop);
    let mut watch = Watch { scene, shared: &shared, probing: None, series: Vec::new() };
    let mut sampler = Sampler::new(begun, scene.server, ticks);
    let cause = watch.until_done(&workers, &mut sampler, tell);
    watch.end_probing();
    let mut tally = Tally::new();
    let mut sent = Vec::new();
    for worker in workers {
        match worker.join() {
            Ok((own, writes)) => {
                tally.add(own);
                sent.extend(writes);
            }
            // What that client sent is no longer known.
            Err(_) => tally.wrong("a client stopped unexpectedly".to_string()),
        }
    }
    let elapsed = tally.last.map_or(Duration::ZERO, |last| last.saturating_duration_since(begun));
    watch.series.push(sampler.sample(scene.server));
    let evidence = match cause {
        Some(Cause::Unanswered(evidence)) => Some(*evidence),
        _ => None,
    };
    let next_id = shared.next_id.load(Ordering::Relaxed);
    let measure = measure(scene.plan, level, elapsed, tally, watch.series, evidence);
    let last_write_ms = shared.last_write_ms.load(Ordering::Relaxed);
    Ended { measure, sent, next_id, begun, last_write_ms }
}

/// Waits until all clients have connected or tried to, and returns when they began.
fn wait_for_begin(shared: &Shared, stop: &AtomicBool) -> Instant {
    loop {
        if let Some(begun) = shared.begun.get() {
            return *begun;
        }
        if stop.load(Ordering::Relaxed) {
            shared.limits.stop.store(true, Ordering::Relaxed);
        }
        thread::sleep(Duration::from_millis(1));
    }
}

fn measure(
    plan: &Plan,
    level: &Level,
    elapsed: Duration,
    tally: Tally,
    series: Vec<Second>,
    evidence: Option<Evidence>,
) -> Measure {
    let mut outcomes = tally.outcomes.clone();
    let due = match (level.until, plan.rate) {
        (Until::Statements(quota), _) => quota,
        (Until::Seconds(seconds), Some(rate)) => (seconds as f64 * rate).ceil() as u64,
        (Until::Seconds(_), None) => 0,
    };
    outcomes.abandoned = due.saturating_sub(outcomes.total());
    let mut errors: BTreeMap<String, u64> = outcomes.errors.clone();
    for (class, count) in [("hung", outcomes.hung), ("dropped", outcomes.dropped)] {
        if count > 0 {
            errors.insert(class.to_string(), count);
        }
    }
    let busy_surfaced = errors.iter().filter(|(code, _)| code.starts_with("SQLITE_BUSY"));
    let busy_surfaced = busy_surfaced.map(|(_, count)| count).sum();
    let mut checks = vec![Check::new("wrong answers", 0, tally.wrong)];
    checks.extend(tally.first_wrong.as_ref().map(|first| Check::new("the first of them", "none", first)));
    Measure {
        operations: Some(outcomes.answered()),
        elapsed_ns: Some(elapsed.as_nanos() as u64),
        slices: sampler::slices(&series),
        latency: Some(tally.latency(outcomes.failed() + outcomes.abandoned)),
        errors,
        busy: Some(tally.busy),
        busy_surfaced: Some(busy_surfaced),
        cut_short: outcomes.abandoned > 0,
        detail: record::Detail::of(&Detail {
            clients: level.clients,
            due_per_second: plan.rate,
            outcomes,
            first_attempt: tally.first_attempt(),
            kinds: tally.kinds(),
            series,
            client_cpu_ns: tally.cpu_ns,
            evidence,
            ..Detail::default()
        }),
        checks,
        ..Measure::default()
    }
}

/// Watches the clients and the server until the clients are done.
struct Watch<'a> {
    scene: &'a Scene<'a>,
    shared: &'a Arc<Shared>,
    /// A write that is under way, with the time in ms of the last write answered before it.
    probing: Option<(JoinHandle<Probe>, u64)>,
    series: Vec<Second>,
}

impl Watch<'_> {
    fn until_done<T>(
        &mut self,
        workers: &[JoinHandle<T>],
        sampler: &mut Sampler,
        tell: &mut dyn FnMut(&Event),
    ) -> Option<Cause> {
        let mut next = self.shared.begun() + Duration::from_secs(1);
        let mut cause = None;
        while workers.iter().any(|worker| !worker.is_finished()) {
            thread::sleep(Duration::from_millis(20));
            if self.scene.stop.load(Ordering::Relaxed) {
                self.shared.limits.stop.store(true, Ordering::Relaxed);
            }
            if Instant::now() < next {
                continue;
            }
            next += Duration::from_secs(1);
            let second = sampler.sample(self.scene.server);
            tell(&Event::Ticked { second: Box::new(second.clone()) });
            self.series.push(second);
            if cause.is_none() && !self.shared.limits.stop.load(Ordering::Relaxed) {
                cause = self.cause();
                if cause.is_some() {
                    self.shared.given_up.store(true, Ordering::Relaxed);
                    self.shared.limits.stop.store(true, Ordering::Relaxed);
                }
            }
        }
        cause
    }

    fn cause(&mut self) -> Option<Cause> {
        if self.scene.server.usage().is_none() {
            return Some(Cause::Died);
        }
        let now_ms = self.shared.begun().elapsed().as_millis() as u64;
        let last_ms = self.shared.last_write_ms.load(Ordering::Relaxed);
        match self.probing.take() {
            Some((probe, before)) if probe.is_finished() => {
                let probe = probe.join().unwrap_or_default();
                // A write that was answered meanwhile shows that the server was only slow.
                (probe.unanswered && last_ms == before).then(|| {
                    let cores = self.series.last().and_then(|second| second.server_cores);
                    let evidence = probe::evidence(self.scene.server, [last_ms, now_ms], probe, cores);
                    Cause::Unanswered(Box::new(evidence))
                })
            }
            Some(probing) => {
                self.probing = Some(probing);
                None
            }
            None if self.writes() && now_ms.saturating_sub(last_ms) > SUSPICIOUS.as_millis() as u64 => {
                let (address, stop) = (self.scene.server.address(), Arc::clone(&self.shared.limits.stop));
                self.probing = Some((thread::spawn(move || probe::write(&address, &stop)), last_ms));
                None
            }
            None => None,
        }
    }

    /// Ends the probe, because no client may remain connected when the others have gone.
    fn end_probing(&mut self) {
        self.shared.limits.stop.store(true, Ordering::Relaxed);
        if let Some((probe, _)) = self.probing.take() {
            let _ = probe.join();
        }
    }

    fn writes(&self) -> bool {
        Kind::ALL.iter().any(|kind| kind.writes() && self.scene.plan.mix.share(*kind) > 0)
    }
}
