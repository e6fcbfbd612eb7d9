//! How a secret may stand in a text that a server echoes: a server repeats what it was sent as it is, or as JSON, URLs
//! and headers write it.

use std::collections::BTreeSet;

use base64::{
    Engine as _,
    engine::{
        GeneralPurpose,
        general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
    },
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What URLs write as it is besides letters and digits.
const UNRESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Bytes that become one group of base64.
const GROUP: usize = 3;

/// The spellings of a secret, the longest first, since one may be part of another.
pub(super) fn spellings(secret: &str) -> Vec<String> {
    let mut spellings: BTreeSet<String> = [
        secret.to_owned(),
        in_json(secret),
        in_json(secret).replace('/', "\\/"),
        utf8_percent_encode(secret, NON_ALPHANUMERIC).to_string(),
        utf8_percent_encode(secret, &UNRESERVED).to_string(),
    ]
    .into();
    for before in 0..GROUP {
        spellings.insert(in_base64(&STANDARD_NO_PAD, secret, before));
        spellings.insert(in_base64(&URL_SAFE_NO_PAD, secret, before));
    }
    let mut spellings: Vec<_> = spellings.into_iter().filter(|spelling| !spelling.is_empty()).collect();
    spellings.sort_by_key(|spelling| std::cmp::Reverse(spelling.len()));
    spellings
}

fn in_json(secret: &str) -> String {
    let quoted = serde_json::Value::from(secret).to_string();
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
}

/// What base64 has of a secret wherever it stands in the text that was encoded, as behind `Bearer ` or `user:`; `before`
/// is how many bytes of its first group come from in front of it. Digits that other bytes have a share in are left out:
/// they differ from text to text, and tell next to nothing.
fn in_base64(base64: &GeneralPurpose, secret: &str, before: usize) -> String {
    let bytes: Vec<u8> = std::iter::repeat_n(0, before).chain(secret.bytes()).collect();
    let digits = base64.encode(&bytes);
    let shared_first = if before == 0 { 0 } else { before + 1 };
    let shared_last = usize::from(!bytes.len().is_multiple_of(GROUP));
    let own = shared_first..digits.len().saturating_sub(shared_last);
    digits.get(own).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};

    use super::*;

    const SECRET: &str = "sk-Zq/9x+Se?ret\"Key~77aa55";

    /// The spelling of the secret that a text holds.
    fn found(text: &str) -> Option<String> {
        spellings(SECRET).into_iter().find(|spelling| text.contains(spelling))
    }

    #[test]
    fn a_secret_is_found_in_base64_wherever_it_stands() {
        for before in ["", "x", "Bearer ", "user:", "Authorization: Bearer "] {
            for after in ["", " ", "\n\n", "@host"] {
                let text = format!("{before}{SECRET}{after}");
                for encoded in [STANDARD.encode(&text), URL_SAFE.encode(&text)] {
                    let found = found(&encoded).unwrap_or_else(|| panic!("{text}: {encoded}"));
                    // All but the digits that it shares with what stands around it.
                    assert!(found.len() * GROUP >= (SECRET.len() - 2) * 4 - 2 * GROUP, "{found}");
                }
            }
        }
    }

    #[test]
    fn a_secret_is_found_as_json_and_urls_write_it() {
        for text in [
            serde_json::json!([SECRET]).to_string(),
            serde_json::json!([SECRET]).to_string().replace('/', "\\/"),
            utf8_percent_encode(SECRET, NON_ALPHANUMERIC).to_string(),
            "sk-Zq%2F9x%2BSe%3Fret%22Key~77aa55".to_owned(),
        ] {
            assert!(found(&text).is_some(), "{text}");
        }
        assert_eq!(found("sk-something-else"), None);
    }
}
