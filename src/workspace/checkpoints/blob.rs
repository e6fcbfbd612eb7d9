//! The name of a kept text: the SHA-256 of its bytes.
//!
//! By `ring`, which is in the binary for TLS already: a crate for this alone would be one more to trust.

use std::fmt::{self, Write as _};

use serde::{Deserialize, Serialize};

/// 64 hexadecimal digits in small letters, and nothing else: it becomes a file's name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct BlobId(String);

impl BlobId {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
        let mut name = String::with_capacity(NAME_LENGTH);
        for byte in digest.as_ref() {
            // Writing to a String cannot fail.
            let _ = write!(name, "{byte:02x}");
        }
        Self(name)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

const NAME_LENGTH: usize = 64;

impl TryFrom<String> for BlobId {
    type Error = &'static str;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if name.len() == NAME_LENGTH && name.bytes().all(is_digit) {
            return Ok(Self(name));
        }
        Err("not the name of a text")
    }
}

impl From<BlobId> for String {
    fn from(id: BlobId) -> Self {
        id.0
    }
}

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
