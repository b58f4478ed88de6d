//! Classes of failures between client and server.

use super::message;
use super::transport;
use std::io;
use std::time::Duration;
use tungstenite::Error;
use tungstenite::error::ProtocolError;

/// Why a call failed. After any class but [`Failure::Server`] the connection can't be used any longer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// No connection can be made.
    #[error("can't connect: {0}")]
    Refused(String),
    /// The server answers with HTTP instead of a WebSocket.
    #[error("no WebSocket: the server answers with HTTP status {0}")]
    Http(u16),
    /// The token is missing, wrong or expired.
    #[error("the server refuses the token: {message} ({code})")]
    Auth {
        /// The code that the server gave.
        code: String,
        /// The message that the server gave.
        message: String,
    },
    /// What the server sent is not Hrana.
    #[error("protocol violated: {0}")]
    Protocol(String),
    /// The server refuses the statement.
    #[error("{message} ({code})")]
    Server {
        /// The error code, such as `SQLITE_BUSY`.
        code: String,
        /// The message that the server gave.
        message: String,
    },
    /// The connection was lost.
    #[error("connection lost: {0}")]
    Dropped(String),
    /// No reply came in time.
    #[error("no reply within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// The user wants the measurement to end.
    #[error("interrupted")]
    Interrupted,
}

impl Failure {
    /// Returns whether another connection is writing, so that the call should be retried.
    pub fn is_busy(&self) -> bool {
        matches!(self, Failure::Server { code, .. } if code == "SQLITE_BUSY")
    }

    /// Returns whether the connection can still be used.
    pub fn leaves_connection(&self) -> bool {
        matches!(self, Failure::Server { .. })
    }

    /// Converts an error of the handshake, where a problem with TLS prevents the connection.
    pub(super) fn of_handshake(error: Error, waited: Duration) -> Failure {
        match error {
            Error::Tls(error) => Failure::Refused(format!("TLS: {error}")),
            // `NotFound` means that this machine trusts no certificate authority.
            Error::Io(error)
                if matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::NotFound) =>
            {
                Failure::Refused(format!("TLS: {error}"))
            }
            Error::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Failure::Dropped("closed in the middle of the handshake".to_string())
            }
            other => Failure::of_socket(other, waited),
        }
    }

    /// Converts an error of the WebSocket; `waited` is the deadline of the call.
    pub fn of_socket(error: Error, waited: Duration) -> Failure {
        match error {
            Error::ConnectionClosed | Error::AlreadyClosed => {
                Failure::Dropped("closed by the server".to_string())
            }
            Error::Io(error) => Failure::of_io(&error, waited),
            Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => {
                Failure::Dropped("closed without a close frame".to_string())
            }
            Error::Protocol(ProtocolError::HandshakeIncomplete) => {
                Failure::Dropped("closed in the middle of the handshake".to_string())
            }
            Error::Http(response) => Failure::Http(response.status().as_u16()),
            other => Failure::Protocol(other.to_string()),
        }
    }

    fn of_io(error: &io::Error, waited: Duration) -> Failure {
        match error.kind() {
            io::ErrorKind::TimedOut => Failure::TimedOut(waited),
            _ if transport::is_interruption(error) => Failure::Interrupted,
            io::ErrorKind::InvalidData => Failure::Protocol(format!("TLS: {error}")),
            io::ErrorKind::UnexpectedEof => Failure::Dropped("closed without a close frame".to_string()),
            _ => Failure::Dropped(error.to_string()),
        }
    }
}

impl From<message::Error> for Failure {
    fn from(error: message::Error) -> Self {
        Failure::Server { code: error.code, message: error.message }
    }
}
