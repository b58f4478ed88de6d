//! A TCP stream on which every read and write ends by a deadline, however slowly data trickles in.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tungstenite::protocol::WebSocketConfig;
use tungstenite::stream::NoDelay;

/// How often a wait checks the clock and the stop flag.
const TICK: Duration = Duration::from_millis(200);

/// Returns the configuration of a WebSocket. Its buffer is cleared before every read, so a large one would
/// cost more than it saves.
pub fn config() -> WebSocketConfig {
    WebSocketConfig::default().read_buffer_size(16 * 1024)
}

/// A stream with a deadline.
#[derive(Debug)]
pub struct Timed {
    stream: TcpStream,
    begun: Instant,
    deadline: Instant,
    stop: Arc<AtomicBool>,
}

#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
struct Interruption;

/// Returns whether the wait ended because the user wanted it to.
pub fn is_interruption(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Interruption>())
}

impl Timed {
    /// Connects to the first of the host's addresses that answers. One that does not answer leaves time for
    /// the next.
    ///
    /// # Errors
    /// Passes on the error of the last address, or fails when the name has none.
    pub fn connect(host: (&str, u16), within: Duration, stop: &Arc<AtomicBool>) -> io::Result<Timed> {
        let mut last = io::Error::other("the host name has no address");
        let addresses: Vec<SocketAddr> = host.to_socket_addrs()?.collect();
        let deadline = Instant::now() + within;
        for (address, untried) in addresses.iter().zip((1..=addresses.len() as u32).rev()) {
            let share = deadline.saturating_duration_since(Instant::now()) / untried;
            match TcpStream::connect_timeout(address, share.max(Duration::from_millis(1))) {
                Ok(stream) => return Timed::new(stream, within, stop),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn new(stream: TcpStream, within: Duration, stop: &Arc<AtomicBool>) -> io::Result<Timed> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TICK))?;
        stream.set_write_timeout(Some(TICK))?;
        let begun = Instant::now();
        Ok(Timed { stream, begun, deadline: begun + within, stop: Arc::clone(stop) })
    }

    /// Sets the deadline of the next calls.
    pub fn set_deadline(&mut self, deadline: Instant) {
        self.begun = Instant::now();
        self.deadline = deadline;
    }

    fn attempt<T>(&mut self, mut call: impl FnMut(&mut TcpStream) -> io::Result<T>) -> io::Result<T> {
        loop {
            let now = Instant::now();
            if now >= self.deadline {
                return Err(io::ErrorKind::TimedOut.into());
            }
            // This also ends a wait during which data keeps arriving. A call that is answered at once is not
            // cut off.
            if now >= self.begun + TICK && self.stop.load(Ordering::Relaxed) {
                return Err(io::Error::other(Interruption));
            }
            match call(&mut self.stream) {
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
                    ) => {}
                other => return other,
            }
        }
    }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.attempt(|stream| stream.read(buffer))
    }
}

impl Write for Timed {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.attempt(|stream| stream.write(buffer))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.attempt(TcpStream::flush)
    }
}

impl NoDelay for Timed {
    fn set_nodelay(&mut self, nodelay: bool) -> io::Result<()> {
        self.stream.set_nodelay(nodelay)
    }
}
