//! Keys and tokens of a server of our own: JWT, signed with Ed25519, with the claims that sqld reads.

use crate::instrument::hrana::Token;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::json;

/// What a token permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// To read and write.
    Full,
    /// To read.
    ReadOnly,
}

/// A pair of keys, in memory only.
pub struct Keys(Ed25519KeyPair);

impl Keys {
    /// A new pair.
    pub fn generate() -> Keys {
        let secret =
            Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("the system has random numbers");
        Keys(Ed25519KeyPair::from_pkcs8(secret.as_ref()).expect("a key as it was made"))
    }

    /// The public key as sqld reads it.
    pub fn public(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0.public_key().as_ref())
    }

    /// A token that is valid for these seconds from now.
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
