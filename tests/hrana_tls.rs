//! `wss`: which servers are trusted, what is reported about the others, and that the deadline applies before
//! there is a connection.
//!
//! The trusted certificate authorities are those in `SSL_CERT_FILE`, so the client runs in a process of its
//! own: this test program again, with one ignored test.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use repro::instrument::hrana::Protocol;
use repro::instrument::hrana::{Address, Client, Failure, Limits, Token};
use repro::instrument::sql::Statement;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::json;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tungstenite::handshake::server::{Request, Response};
use tungstenite::{Message, WebSocket};

/// The variable that tells the client's process where the server is.
const URL: &str = "REPRO_TEST_URL";
/// The variable that tells it after how many milliseconds the user interrupts it.
const WISH: &str = "REPRO_TEST_WISH";
const SECOND: Duration = Duration::from_secs(1);

type Tls = StreamOwned<ServerConnection, TcpStream>;

/// A certificate authority, and its certificate for `localhost`.
struct Authority {
    folder: TempDir,
    config: Arc<ServerConfig>,
}

impl Authority {
    fn new(name: &str) -> Authority {
        let key = KeyPair::generate().unwrap();
        let mut own = CertificateParams::new(vec![]).unwrap();
        own.distinguished_name.push(DnType::CommonName, name);
        own.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = own.self_signed(&key).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let pem = STANDARD.encode(certificate.der());
        let pem = format!("-----BEGIN CERTIFICATE-----\n{pem}\n-----END CERTIFICATE-----\n");
        fs::write(folder.path().join("authority.pem"), pem).unwrap();

        let leaf_key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(vec!["localhost".to_string()]).unwrap();
        let leaf = leaf.signed_by(&leaf_key, &Issuer::new(own, key)).unwrap();
        let chain = vec![CertificateDer::from(leaf.der().to_vec())];
        let key = PrivatePkcs8KeyDer::from(leaf_key.serialize_der());
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key.into())
            .unwrap();
        Authority { folder, config: Arc::new(config) }
    }

    /// Returns the file that makes the authority trusted.
    fn file(&self) -> PathBuf {
        self.folder.path().join("authority.pem")
    }

    /// Starts a server for one connection, which `play` gets after the TLS handshake.
    fn serve(&self, play: fn(Tls)) -> u16 {
        let config = Arc::clone(&self.config);
        serve(move |mut stream| {
            let mut connection = ServerConnection::new(config).unwrap();
            while connection.is_handshaking() && connection.complete_io(&mut stream).is_ok() {}
            play(StreamOwned::new(connection, stream));
        })
    }
}

fn serve(play: impl FnOnce(TcpStream) + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || play(listener.accept().unwrap().0));
    port
}

fn linger(mut stream: impl Read) {
    let mut buffer = [0; 4096];
    while stream.read(&mut buffer).is_ok_and(|count| count > 0) {}
}

fn greet(stream: Tls) -> WebSocket<Tls> {
    #[allow(clippy::result_large_err)] // the signature is tungstenite's
    let answer = |_: &Request, mut response: Response| {
        response.headers_mut().insert("Sec-WebSocket-Protocol", "hrana3".parse().unwrap());
        Ok(response)
    };
    let mut socket = tungstenite::accept_hdr(stream, answer).unwrap();
    let hello = socket.read().unwrap().into_text().unwrap();
    assert!(hello.contains("secret.token"), "{hello}");
    socket.send(Message::text(json!({ "type": "hello_ok" }).to_string())).unwrap();
    socket
}

/// Answers the statement with 5 affected rows.
fn answer(stream: Tls) {
    let mut socket = greet(stream);
    let result = json!({ "cols": [], "rows": [], "affected_row_count": 5, "last_insert_rowid": null });
    let response = json!({ "type": "execute", "result": result });
    let reply = json!({ "type": "response_ok", "request_id": 2, "response": response });
    socket.send(Message::text(reply.to_string())).unwrap();
    while socket.read().is_ok() {}
}

/// This is not a test, but the client's process.
#[test]
#[ignore = "run by the other tests"]
fn client() {
    let Ok(url) = std::env::var(URL) else { return };
    let address = Address::parse(&url, Some(Token::new("secret.token").unwrap())).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let limits = Limits { connect: SECOND, reply: SECOND, stop: Arc::clone(&stop) };
    if let Some(wish) = std::env::var(WISH).ok().and_then(|text| text.parse().ok()) {
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(wish));
            stop.store(true, Ordering::Relaxed);
        });
    }
    let begun = Instant::now();
    let run = || -> Result<u64, Failure> {
        let mut client = Client::connect(&address, Protocol::Hrana3, &limits)?;
        Ok(client.execute_on_own_stream(&Statement::new("SELECT 1", vec![]))?.answer.affected)
    };
    let outcome = run().map_or_else(|failure| failure.to_string(), |affected| format!("{affected} rows"));
    assert!(begun.elapsed() < 2 * SECOND + SECOND / 2, "{:?}", begun.elapsed());
    println!("\noutcome: {outcome}");
}

/// Returns the result of a client that trusts the authorities in a file.
#[track_caller]
fn outcome(url: &str, trusted: &PathBuf, wish: Option<u64>) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "client", "--nocapture"]).env(URL, url);
    command.env("SSL_CERT_FILE", trusted).env_remove("SSL_CERT_DIR");
    command.envs(wish.map(|wish| (WISH, wish.to_string())));
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text.lines().find_map(|line| line.strip_prefix("outcome: ")).unwrap().to_string()
}

#[test]
fn a_trusted_server() {
    let authority = Authority::new("ours");
    for scheme in ["wss", "libsql"] {
        let url = format!("{scheme}://localhost:{}", authority.serve(answer));
        assert_eq!(outcome(&url, &authority.file(), None), "5 rows");
    }
}

#[test]
fn servers_that_are_not_trusted() {
    let (authority, other) = (Authority::new("ours"), Authority::new("theirs"));
    let nobody = authority.folder.path().join("nobody.pem");
    fs::write(&nobody, "").unwrap();
    let absent = authority.folder.path().join("absent.pem");
    let cases = [
        ("localhost", other.file(), "can't connect: TLS: invalid peer certificate: UnknownIssuer"),
        (
            "127.0.0.1",
            authority.file(),
            "can't connect: TLS: invalid peer certificate: certificate not valid for name",
        ),
        ("localhost", nobody, "can't connect: TLS: no native root CA certificates found"),
        ("localhost", absent, "can't connect: TLS: no native root CA certificates found"),
    ];
    for (host, trusted, expected) in cases {
        let url = format!("wss://{host}:{}", authority.serve(linger));
        let outcome = outcome(&url, &trusted, None);
        assert!(outcome.starts_with(expected), "{outcome}");
    }
}

#[test]
fn servers_without_tls_or_with_little_of_it() {
    let authority = Authority::new("ours");
    let plain: fn(TcpStream) = |mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        linger(stream);
    };
    let trickle: fn(TcpStream) = |mut stream| {
        // These bytes begin a handshake record that announces a great length.
        let _ = stream.write_all(&[22, 3, 3, 0x3f, 0xff]);
        while stream.write_all(&[0]).is_ok() {
            thread::sleep(Duration::from_millis(50));
        }
    };
    let end: fn(TcpStream) = |mut stream| drop(stream.read(&mut [0; 4096]));
    let late = "no reply within 1 s";
    let cases = [
        (serve(plain), "can't connect: TLS: received corrupt message", None),
        (serve(linger), late, None),
        (serve(linger), "interrupted", Some(300)),
        (serve(trickle), late, None),
        (serve(end), "connection lost: closed in the middle of the handshake", None),
        (authority.serve(linger), late, None),
        (authority.serve(|stream| drop(greet(stream))), "connection lost: ", None),
        (
            authority.serve(|stream| {
                let mut socket = greet(stream);
                let _ = socket.get_mut().sock.write_all(&[23, 3, 3, 0, 32]);
                let _ = socket.get_mut().sock.write_all(&[0; 32]);
                linger(socket.get_mut());
            }),
            "protocol violated: TLS: ",
            None,
        ),
    ];
    for (index, (port, expected, wish)) in cases.into_iter().enumerate() {
        let outcome = outcome(&format!("wss://localhost:{port}"), &authority.file(), wish);
        assert!(outcome.starts_with(expected), "case {index}: {outcome}");
    }
}
