//! Makes messages fit JSON and the library's types where real editors write them otherwise.

use std::{borrow::Cow, fmt::Write as _};

use serde_json::Value;

/// Reads a message. Editors that count in UTF-16 can send half of a surrogate pair, as while an emoji is typed or
/// deleted; no Rust text can hold it, so U+FFFD stands in its place, which is one unit too.
pub(super) fn parse(body: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(body).or_else(|error| match without_halves(body) {
        Cow::Owned(mended) => serde_json::from_slice(&mended),
        Cow::Borrowed(_) => Err(error),
    })
}

fn without_halves(body: &[u8]) -> Cow<'_, [u8]> {
    let mut mended = Cow::Borrowed(body);
    let mut index = 0;
    while index < body.len() {
        if body[index] != b'\\' {
            index += 1;
            continue;
        }
        match (unit(body, index), unit(body, index + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => index += 12,
            (Some(0xD800..=0xDFFF), _) => {
                mended.to_mut()[index + 2..index + 6].copy_from_slice(b"fffd");
                index += 6;
            }
            // Any other escape is at least two bytes long, and its second may be a backslash.
            _ => index += 2,
        }
    }
    mended
}

/// The UTF-16 unit that is escaped at this place, as `\ud83d`.
fn unit(body: &[u8], index: usize) -> Option<u16> {
    let digits = body.get(index..index + 6)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Mends what would make the library drop the message: `null` for a list of arguments, and URIs with characters that
/// RFC 3986 wants escaped. A URI stays the same to everyone who decodes it.
pub(super) fn mend(params: &mut Value) {
    let Value::Object(members) = params else { return };
    if members.get("arguments").is_some_and(Value::is_null) {
        members.remove("arguments");
    }
    if let Some(document) = members.get_mut("textDocument") {
        mend_uri(document);
    }
    for list in ["added", "removed"] {
        let folders =
            members.get_mut("event").and_then(|event| event.get_mut(list)).and_then(Value::as_array_mut);
        folders.into_iter().flatten().for_each(mend_uri);
    }
}

fn mend_uri(holder: &mut Value) {
    if let Some(Value::String(uri)) = holder.get_mut("uri")
        && let Some(escaped) = escaped(uri)
    {
        *uri = escaped;
    }
}

/// The URI with every byte escaped that may not stand in one; `None` when there is none.
fn escaped(uri: &str) -> Option<String> {
    let bytes = uri.as_bytes();
    let is_legal = |index: usize, byte: u8| match byte {
        b'%' => {
            bytes.get(index + 1..index + 3).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
        }
        b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' | b'[' | b']' => false,
        _ => byte.is_ascii_graphic(),
    };
    if bytes.iter().enumerate().all(|(index, &byte)| is_legal(index, byte)) {
        return None;
    }
    let mut escaped = String::with_capacity(uri.len() * 2);
    for (index, &byte) in bytes.iter().enumerate() {
        if is_legal(index, byte) {
            escaped.push(char::from(byte));
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    Some(escaped)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(mut params: Value, mended: &Value) {
        mend(&mut params);
        assert_eq!(params, *mended);
    }

    #[test]
    fn half_a_surrogate_pair_becomes_one_replacement() {
        let parsed = |text: &str| parse(format!("[\"{text}\"]").as_bytes()).map(|value| value[0].clone());
        assert_eq!(parsed(r"a\ud83d b").unwrap(), "a\u{fffd} b");
        assert_eq!(parsed(r"\ude00\ud83d\ude00\ud83d\u0041").unwrap(), "\u{fffd}😀\u{fffd}A");
        assert_eq!(parsed(r"\\ud83d \ud83d").unwrap(), "\\ud83d \u{fffd}");
        assert!(parsed(r"\ud83d").is_ok());
        assert!(parse(br#"{"a":\ud83d"#).is_err());
    }

    #[test]
    fn uris_are_escaped_where_they_must_be() {
        check(
            json!({ "textDocument": { "uri": "file:///a b/ä[1]%zz.rs" } }),
            &json!({ "textDocument": { "uri": "file:///a%20b/%C3%A4%5B1%5D%25zz.rs" } }),
        );
        check(
            json!({ "event": { "added": [{ "uri": "file:///ö" }], "removed": null } }),
            &json!({ "event": { "added": [{ "uri": "file:///%C3%B6" }], "removed": null } }),
        );
    }

    #[test]
    fn everything_else_stays() {
        for params in [
            json!({ "textDocument": { "uri": "file:///a%20b.rs", "text": "ä" } }),
            json!({ "textDocument": 7, "event": [] }),
            json!([1]),
        ] {
            check(params.clone(), &params);
        }
    }

    #[test]
    fn no_arguments_may_be_null() {
        check(json!({ "command": "x", "arguments": null }), &json!({ "command": "x" }));
    }
}
