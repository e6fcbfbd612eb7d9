//! What the servers of each wire want in the head of every request, unless the settings say otherwise.

use crate::protocol::Wire;

/// The head of a wire's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// The header that carries the key, in small letters.
    pub(super) key_header: &'static str,
    /// Names, in small letters, and values.
    pub(super) headers: &'static [(&'static str, &'static str)],
}

impl Head {
    pub(super) fn of(wire: Wire) -> Self {
        match wire {
            Wire::Responses | Wire::Chat => Self { key_header: "authorization", headers: &[] },
            // The version of the wire that every server speaks. The newest one refuses a temperature, and nothing of
            // what it brings is used here.
            Wire::Messages => {
                Self { key_header: "x-api-key", headers: &[("anthropic-version", "2023-06-01")] }
            }
        }
    }
}
