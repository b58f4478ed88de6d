//! Tokens as text, for programs other than this one.

use repro::instrument::hrana::Protocol;
use repro::instrument::hrana::{Address, Client, Limits, Token};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use tungstenite::handshake::server::{Request, Response};

/// Returns the text of a token. A token is shown only to a server, so this function acts as one.
pub fn text_of(token: Token) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::local(listener.local_addr().unwrap(), Some(token));
    let client = thread::spawn(move || {
        let _ = Client::connect(&address, Protocol::Hrana3, &Limits::new(&Arc::default()));
    });
    let (stream, _) = listener.accept().unwrap();
    #[allow(clippy::result_large_err)] // the signature is that of the library
    let agree = |_: &Request, mut response: Response| {
        response.headers_mut().insert("Sec-WebSocket-Protocol", "hrana3".parse().unwrap());
        Ok(response)
    };
    let mut socket = tungstenite::accept_hdr(stream, agree).unwrap();
    let hello: serde_json::Value = serde_json::from_str(socket.read().unwrap().to_text().unwrap()).unwrap();
    drop(socket);
    client.join().unwrap();
    hello["jwt"].as_str().unwrap().to_string()
}
