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

/// Escapes that lie over each other: a gateway that quotes what another one quoted.
const MOST_LAYERS: usize = 4;

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
    let in_hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    spellings.extend([in_hex.to_ascii_uppercase(), in_hex]);
    for before in 0..GROUP {
        spellings.insert(in_base64(&STANDARD_NO_PAD, secret, before));
        spellings.insert(in_base64(&URL_SAFE_NO_PAD, secret, before));
    }
    let mut spellings: Vec<_> = spellings.into_iter().filter(|spelling| !spelling.is_empty()).collect();
    spellings.sort_by_key(|spelling| std::cmp::Reverse(spelling.len()));
    spellings
}

/// What a word says without the escapes of JSON, URLs and pages, however many lie over each other. Which characters are
/// escaped, and in which form, is a matter of taste.
pub(super) fn unescaped(word: &str) -> String {
    let mut text = word.to_owned();
    for _ in 0..MOST_LAYERS {
        let mut plain = Vec::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(first) = rest.chars().next() {
            let length = match escape(rest) {
                Some((bytes, length)) => {
                    plain.extend(bytes);
                    length
                }
                None => {
                    plain.extend(rest.bytes().take(first.len_utf8()));
                    first.len_utf8()
                }
            };
            rest = rest.get(length..).unwrap_or_default();
        }
        let plain = String::from_utf8_lossy(&plain).into_owned();
        if plain == text {
            break;
        }
        text = plain;
    }
    text
}

/// What the escape at the beginning of a text stands for, and its length.
fn escape(text: &str) -> Option<(Vec<u8>, usize)> {
    let number = |digits: &str, radix| {
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
        u32::from_str_radix(digits, radix).ok().filter(|_| is_number)
    };
    let bytes = |code: u32| char::from_u32(code).map(|character| character.to_string().into_bytes());
    if let Some(rest) = text.strip_prefix('%') {
        let byte = u8::try_from(number(rest.get(..2)?, 16)?).ok()?;
        return Some((vec![byte], 3));
    }
    if let Some(rest) = text.strip_prefix("\\u") {
        return Some((bytes(number(rest.get(..4)?, 16)?)?, 6));
    }
    if text.starts_with("\\/") {
        return Some((vec![b'/'], 2));
    }
    let name = text.strip_prefix('&')?.split(';').next()?;
    let code = match (name.strip_prefix("#x").or(name.strip_prefix("#X")), name.strip_prefix('#'), name) {
        (Some(digits), ..) => number(digits, 16)?,
        (_, Some(digits), _) => number(digits, 10)?,
        (.., "amp") => u32::from('&'),
        (.., "lt") => u32::from('<'),
        (.., "gt") => u32::from('>'),
        (.., "quot") => u32::from('"'),
        (.., "apos") => u32::from('\''),
        _ => return None,
    };
    let length = name.len() + "&;".len();
    (text.len() >= length).then_some((bytes(code)?, length))
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

    #[test]
    fn escapes_of_all_kinds_are_undone_however_they_are_mixed() {
        for escaped in [
            "a%2Fb%2bc",
            "a%252fb%25252Bc",
            "a\\u002fb\\u002Bc",
            "a\\/b+c",
            "a&#47;b&#x2B;c",
            "a&amp;#47;b%26%2343;c",
        ] {
            assert_eq!(unescaped(escaped), "a/b+c", "{escaped}");
        }
        for plain in ["", "%", "100%", "%zz", "%+1", "\\u12", "&;", "&none;", "&#x110000;", "a & b", "ä%"] {
            assert_eq!(unescaped(plain), plain);
        }
        assert_eq!(unescaped("%C3%A4"), "ä");
    }
}
