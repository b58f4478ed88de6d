//! A TCP stream whose every read and write ends by a deadline, however slowly the other side trickles.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tungstenite::stream::NoDelay;

/// How often a wait looks at the clock and at the wish to end.
const TICK: Duration = Duration::from_millis(200);

/// A stream with a deadline.
#[derive(Debug)]
pub struct Timed {
    stream: TcpStream,
    deadline: Instant,
    stop: Arc<AtomicBool>,
}

#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
struct Interruption;

/// Whether the wait ended because the user wished it.
pub fn is_interruption(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Interruption>())
}

impl Timed {
    /// Connects to the first of the host's addresses that answers.
    ///
    /// # Errors
    /// The last address's, or that the name has none.
    pub fn connect(host: (&str, u16), within: Duration, stop: &Arc<AtomicBool>) -> io::Result<Timed> {
        let mut last = io::Error::other("the name has no address");
        for address in host.to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, within) {
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
        Ok(Timed { stream, deadline: Instant::now() + within, stop: Arc::clone(stop) })
    }

    /// Sets when the next calls must be done.
    pub fn set_deadline(&mut self, deadline: Instant) {
        self.deadline = deadline;
    }

    fn attempt<T>(&mut self, mut call: impl FnMut(&mut TcpStream) -> io::Result<T>) -> io::Result<T> {
        loop {
            if Instant::now() >= self.deadline {
                return Err(io::ErrorKind::TimedOut.into());
            }
            match call(&mut self.stream) {
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    if self.stop.load(Ordering::Relaxed) {
                        return Err(io::Error::other(Interruption));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
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
