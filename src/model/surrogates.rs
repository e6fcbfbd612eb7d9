//! Halves of characters in JSON. Servers that cut a text between the two halves of a UTF-16 pair send `"\ud83d"`, which
//! no JSON reader takes: one such piece would cost the whole reply.

use std::borrow::Cow;

/// Hexadecimal digits of an escaped unit.
const DIGITS: usize = 4;

/// The same JSON with U+FFFD in the place of each escaped half that stands alone; everything else stays byte for byte.
pub(super) fn mended(json: &str) -> Cow<'_, str> {
    let mut mended = String::new();
    // Up to where the text is in `mended`, and up to where it was looked at.
    let (mut copied, mut seen) = (0, 0);
    while let Some(found) = json.get(seen..).and_then(|rest| rest.find('\\')) {
        let escape = seen + found;
        match unit(json, escape) {
            Some(0xD800..=0xDBFF) if matches!(unit(json, escape + 2 + DIGITS), Some(0xDC00..=0xDFFF)) => {
                seen = escape + 2 * (2 + DIGITS);
            }
            Some(0xD800..=0xDFFF) => {
                mended.push_str(json.get(copied..escape).unwrap_or_default());
                mended.push_str("\\ufffd");
                seen = escape + 2 + DIGITS;
                copied = seen;
            }
            // Of another escape the backslash and one character are past; it may be a backslash itself.
            _ => {
                let escaped = json.get(escape + 1..).and_then(|rest| rest.chars().next());
                seen = escape + 1 + escaped.map_or(0, char::len_utf8);
            }
        }
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    mended.push_str(json.get(copied..).unwrap_or_default());
    Cow::Owned(mended)
}

/// The unit that is escaped here, if `\uXXXX` stands here.
fn unit(json: &str, position: usize) -> Option<u16> {
    let digits = json.get(position..)?.strip_prefix("\\u")?.get(..DIGITS)?;
    u16::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn check(json: &str, expected: &str) {
        let read: Value = serde_json::from_str(&mended(json)).expect("JSON");
        assert_eq!(read, expected, "{json}");
    }

    #[test]
    fn a_half_that_stands_alone_becomes_the_sign_of_loss() {
        check(r#""a\ud83d""#, "a\u{fffd}");
        check(r#""\uDE00b""#, "\u{fffd}b");
        check(r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀");
        check(r#""\ud83d\n""#, "\u{fffd}\n");
    }

    #[test]
    fn whole_characters_and_backslashes_stay() {
        for whole in [r#""\ud83d\ude00""#, r#""\\ud83d""#, r#""\u00e4ä\"\\""#, r#""\\\\ud83d\t""#] {
            assert!(matches!(mended(whole), Cow::Borrowed(same) if same == whole), "{whole}");
        }
        check(r#""\\\ud83d""#, "\\\u{fffd}");
    }

    #[test]
    fn an_escape_that_ends_early_is_left_to_the_reader() {
        for broken in ["\"\\", "\"\\u", "\"\\ud8", "\"\\ud83ä", "\"\\u+123\""] {
            assert_eq!(mended(broken), broken);
        }
    }
}
