//! Measures what the wire alone costs, with an echo over a WebSocket on loopback whose messages are as long
//! as those of a real exchange.

use super::{Ran, Side};
use crate::instrument::hrana::{self, Failure, Timed};
use crate::instrument::meter::Meter;
use crate::study::serverless::Exchange;
use crate::study::serverless::work::Step;
use anyhow::{Context, Result};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tungstenite::{Message, WebSocket};

/// How long to wait for an echo, which is much longer than one takes.
const PATIENCE: Duration = Duration::from_secs(12);

/// A server for one connection. The first four bytes of a message give the length of the answer.
pub struct Echo {
    socket: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

impl Echo {
    /// Starts an echo.
    ///
    /// # Errors
    /// Passes on errors of the operating system.
    pub fn start() -> Result<Echo> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let socket = listener.local_addr()?;
        let thread = thread::spawn(move || {
            let Ok((stream, _)) = listener.accept() else { return };
            if stream.set_nodelay(true).is_ok()
                && let Ok(mut socket) = tungstenite::accept_with_config(stream, Some(hrana::config()))
            {
                while let Ok(message) = socket.read() {
                    if answer(&mut socket, &message).is_err() {
                        return;
                    }
                }
            }
        });
        Ok(Echo { socket, thread: Some(thread) })
    }

    /// Connects to the echo, which takes only one client. A wait ends when `stop` is raised.
    ///
    /// # Errors
    /// Passes on errors of the operating system and of the WebSocket handshake.
    pub fn connect(&self, stop: &Arc<AtomicBool>) -> Result<Caller> {
        let host = self.socket.ip().to_string();
        let stream = Timed::connect((&host, self.socket.port()), PATIENCE, stop)?;
        let url = format!("ws://{}/", self.socket);
        let (socket, _) = tungstenite::client::client_with_config(url, stream, Some(hrana::config()))
            .context("the echo")?;
        Ok(Caller(socket))
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        // This connection wakes the thread if no client has connected.
        drop(TcpStream::connect(self.socket));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn answer(socket: &mut WebSocket<TcpStream>, message: &Message) -> tungstenite::Result<()> {
    let Message::Binary(bytes) = message else { return Ok(()) };
    let length = bytes.first_chunk().map_or(0, |length| u32::from_le_bytes(*length));
    socket.send(Message::binary(vec![b' '; length as usize]))
}

/// The client of an [`Echo`].
pub struct Caller(WebSocket<Timed>);

impl Caller {
    /// Sends `sent` bytes and waits for `received`.
    ///
    /// # Errors
    /// Returns [`Failure::Dropped`] when the echo is gone.
    pub fn round_trip(&mut self, sent: usize, received: usize) -> Result<(), Failure> {
        let mut bytes = vec![b' '; sent.max(4)];
        bytes[..4].copy_from_slice(&(received as u32).to_le_bytes());
        self.0.get_mut().set_deadline(Instant::now() + PATIENCE);
        let exchanged = self.0.send(Message::binary(bytes)).and_then(|()| self.0.read());
        exchanged.map(|_| ()).map_err(|error| Failure::of_socket(error, PATIENCE))
    }
}

/// Imitates the exchange of each step.
pub(super) fn run(
    stop: &Arc<AtomicBool>,
    exchanges: &[Exchange],
    steps: &mut dyn FnMut(&mut dyn Side) -> Result<()>,
) -> Result<()> {
    let echo = Echo::start()?;
    let mut floor =
        Floor { caller: echo.connect(stop)?, exchanges: exchanges.iter(), stop: Arc::clone(stop) };
    steps(&mut floor)
}

struct Floor<'a> {
    caller: Caller,
    exchanges: std::slice::Iter<'a, Exchange>,
    stop: Arc<AtomicBool>,
}

impl Side for Floor<'_> {
    /// Makes one round trip of the mean length for each statement. There is nothing to answer, so the
    /// expected answers are returned.
    fn run<'s>(&mut self, step: &'s Step, meter: &mut Meter) -> Result<Vec<Ran<'s>>, String> {
        let exchange = self.exchanges.next().ok_or("no exchange to imitate")?;
        let mean = |bytes: u64| bytes.checked_div(exchange.round_trips).unwrap_or(0) as usize;
        let mut failure = None;
        for _ in &step.statements {
            if self.stop.load(Ordering::Relaxed) {
                return Err(Failure::Interrupted.to_string());
            }
            meter.time(|| {
                let result = self.caller.round_trip(mean(exchange.sent_bytes), mean(exchange.received_bytes));
                failure = result.as_ref().err().map(ToString::to_string);
                result
            });
            if let Some(failure) = failure {
                return Err(failure);
            }
        }
        Ok(step.statements.iter().zip(step.answers.clone()).collect())
    }
}
