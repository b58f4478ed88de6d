//! Keys and tokens for a server that this program starts: JWTs signed with Ed25519, with the claims that sqld
//! reads.

use crate::instrument::hrana::Token;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::json;

/// What a token permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The token permits reading and writing.
    Full,
    /// The token permits only reading.
    ReadOnly,
}

/// A key pair, which is kept in memory only.
pub struct Keys(Ed25519KeyPair);

impl Keys {
    /// Generates a new pair.
    pub fn generate() -> Keys {
        let secret =
            Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("the system has random numbers");
        Keys(Ed25519KeyPair::from_pkcs8(secret.as_ref()).expect("a key as it was made"))
    }

    /// Returns the public key in the form that sqld reads.
    pub fn public(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0.public_key().as_ref())
    }

    /// Returns a token that is valid from now for this number of seconds.
    pub fn mint(&self, access: Access, seconds: i64) -> Token {
        let access = match access {
            Access::Full => "rw",
            Access::ReadOnly => "ro",
        };
        let expires = jiff::Timestamp::now().as_second() + seconds;
        let part = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let header = part(json!({ "alg": "EdDSA", "typ": "JWT" }));
        let signed = format!("{header}.{}", part(json!({ "a": access, "exp": expires })));
        let signature = URL_SAFE_NO_PAD.encode(self.0.sign(signed.as_bytes()));
        Token::new(&format!("{signed}.{signature}")).expect("base64 and dots make a token")
    }
}
