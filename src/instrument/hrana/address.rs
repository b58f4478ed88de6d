//! The address of a server, and the token that gives access to it.

use anyhow::{Context, Result, bail};
use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use tungstenite::http::Uri;

/// A token, which can be sent but not shown.
#[derive(Clone)]
pub struct Token(String);

/// The largest size of a token file in bytes; the JWT of a server is a few hundred bytes long.
const LARGEST_TOKEN: u64 = 64 * 1024;

impl Token {
    /// Returns the token in a text, without the blanks around it.
    ///
    /// # Errors
    /// Fails when the text is empty or contains a character that no token has.
    pub fn new(text: &str) -> Result<Token> {
        let text = text.trim();
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            bail!("no token: expected one line of letters, digits, dots, dashes and underscores");
        }
        Ok(Token(text.to_string()))
    }

    /// Reads the token in a file.
    ///
    /// # Errors
    /// Fails when the file can't be read, is too large, or holds no token.
    pub fn read(path: &Path) -> Result<Token> {
        let read = || -> Result<Token> {
            let length = std::fs::metadata(path)?.len();
            if length > LARGEST_TOKEN {
                bail!("{length} bytes are too long for a token");
            }
            Token::new(&std::fs::read_to_string(path)?)
        };
        read().with_context(|| format!("{}: no token can be read from this file", path.display()))
    }

    /// Returns the token for the message that must contain it.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// The address of a server, with the token for it.
#[derive(Clone, Debug)]
pub struct Address {
    uri: Uri,
    /// The token, which is sent when a connection begins; `None` if the server needs none.
    pub token: Option<Token>,
}

impl Address {
    /// Parses `ws://HOST:PORT`, `wss://HOST` or `libsql://HOST`, which is the same as `wss`.
    ///
    /// # Errors
    /// Fails for any other kind of address, and for one that contains a token, which would show in process
    /// lists.
    pub fn parse(text: &str, token: Option<Token>) -> Result<Address> {
        let expected = "expected ws://HOST:PORT, or wss://HOST for a server with TLS";
        let secure = match text.strip_prefix("libsql://") {
            Some(rest) => format!("wss://{rest}"),
            None => text.to_string(),
        };
        let uri: Uri = secure.parse().ok().with_context(|| format!("--url: not an address; {expected}"))?;
        if uri.query().is_some() || uri.authority().is_some_and(|authority| authority.as_str().contains('@'))
        {
            bail!(
                "--url: it must not contain a user, password or token; use --auth-token-file or REPRO_AUTH_TOKEN"
            );
        }
        if !matches!(uri.scheme_str(), Some("ws" | "wss")) || uri.host().is_none_or(str::is_empty) {
            bail!("--url {text}: {expected}");
        }
        Ok(Address { uri, token })
    }

    /// Returns the address of a server on this machine.
    pub fn local(socket: SocketAddr, token: Option<Token>) -> Address {
        let uri = Uri::builder().scheme("ws").authority(socket.to_string()).path_and_query("/").build();
        Address { uri: uri.expect("a socket address is an authority"), token }
    }

    /// Returns the host and the port.
    pub(super) fn host_and_port(&self) -> (&str, u16) {
        let host = self.uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        let default = if self.uri.scheme_str() == Some("wss") { 443 } else { 80 };
        (host, self.uri.port_u16().unwrap_or(default))
    }

    /// Returns the whole address.
    pub(super) fn uri(&self) -> &Uri {
        &self.uri
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.uri)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let parsed = |text: &str| {
            Address::parse(text, None)
                .map(|a| (a.uri.to_string(), a.host_and_port().0.to_string(), a.host_and_port().1))
        };
        assert_eq!(parsed("ws://127.0.0.1:8080").unwrap().2, 8080);
        assert_eq!(parsed("libsql://db.example.org").unwrap().0, "wss://db.example.org/");
        assert_eq!(parsed("wss://db.example.org/v1").unwrap().2, 443);
        assert_eq!(parsed("ws://[::1]:9/").unwrap(), ("ws://[::1]:9/".into(), "::1".into(), 9));
        for bad in ["", "127.0.0.1:8080", "http://x", "ws://", "ws://u:p@x", "ws://x?authToken=abc", "file:x"]
        {
            assert!(parsed(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_token_does_not_show() {
        let token = Token::new(" abc.def\n").unwrap();
        let address = Address::parse("ws://x", Some(token)).unwrap();
        assert!(!format!("{address:?} {address}").contains("abc"));
        assert!(Token::new("a b").is_err() && Token::new("").is_err());
    }
}
