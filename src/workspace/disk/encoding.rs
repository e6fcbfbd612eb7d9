//! What can be told of the encoding of a text that is not UTF-8, so that somebody knows what to convert it from.

/// Bytes that are looked at: the beginning of a text is like the rest.
const LOOKED_AT_BYTES: usize = 4_096;

/// Of the characters of a text without a mark so many percent must look like ASCII in two bytes.
const MIN_ASCII_PERCENT: usize = 80;

/// Names an encoding of two or four bytes a character, by its mark or by its zeros.
pub(super) fn wide(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xff, 0xfe, 0, 0, ..] => return Some("UTF-32 (little-endian)"),
        [0, 0, 0xfe, 0xff, ..] => return Some("UTF-32 (big-endian)"),
        [0xff, 0xfe, ..] => return Some("UTF-16 (little-endian)"),
        [0xfe, 0xff, ..] => return Some("UTF-16 (big-endian)"),
        _ => {}
    }
    let pairs = || bytes.get(..LOOKED_AT_BYTES).unwrap_or(bytes).chunks_exact(2);
    let is_text = |byte: u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    let are_mostly = |is_ascii: &dyn Fn(&[u8]) -> bool| {
        let count = pairs().filter(|pair| is_ascii(pair)).count();
        count > 1 && count * 100 >= pairs().len() * MIN_ASCII_PERCENT
    };
    if bytes.len() % 2 == 1 {
        None
    } else if are_mostly(&|pair| matches!(pair, [byte, 0] if is_text(*byte))) {
        Some("UTF-16 (little-endian, without a byte order mark)")
    } else if are_mostly(&|pair| matches!(pair, [0, byte] if is_text(*byte))) {
        Some("UTF-16 (big-endian, without a byte order mark)")
    } else {
        None
    }
}

/// Describes an encoding of one or more bytes a character; `at` is the first byte that is not UTF-8.
pub(super) fn narrow(bytes: &[u8], at: usize) -> String {
    let line = 1 + bytes.iter().take(at).filter(|&&byte| byte == b'\n').count();
    let byte = bytes.get(at).copied().unwrap_or_default();
    // Letters with accents stand alone between plain ones; other scripts have words of them.
    let longest = bytes.split(u8::is_ascii).map(<[u8]>::len).max().unwrap_or_default();
    let name = if longest <= 2 { "probably Windows-1252 or Latin-1" } else { "in another encoding" };
    format!("{name} (byte 0x{byte:02x} in line {line})")
}
