//! What a server sent, as a text: by its media type, its character set, and by how it looks where it says neither.

mod html;

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use reqwest::Url;

use crate::tools::output::one_line;

/// Bytes at the beginning of a page that may name its character set.
const HEAD_BYTES: usize = 1_024;

/// Bytes at the beginning that tell a text from what is none.
const LOOKED_AT: usize = 8 << 10;

/// Characters of a media type that a refusal repeats.
const MAX_TYPE_CHARS: usize = 80;

/// Media types of texts that do not say so.
const TEXTS: &[&str] = &[
    "application/json",
    "application/ld+json",
    "application/xml",
    "application/javascript",
    "application/ecmascript",
    "application/x-javascript",
    "application/toml",
    "application/yaml",
    "application/x-yaml",
    "application/x-sh",
    "application/x-ndjson",
    "application/jsonlines",
    "application/graphql",
    "application/sql",
    "application/rtf",
    "message/rfc822",
];

/// Media types that say nothing: how the content looks decides.
const SILENT: &[&str] = &["", "application/octet-stream", "binary/octet-stream", "application/unknown"];

/// What a body is by its media type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Html,
    Text,
    Unsaid,
    Other,
}

/// A page as a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Page {
    /// Empty where there is none.
    pub(super) title: String,
    pub(super) text: String,
    /// Whether it was longer.
    pub(super) is_cut: bool,
}

/// The media type of a `Content-Type`, in small letters, and its character set.
pub(super) fn media_type(content_type: &str) -> (String, Option<String>) {
    let (media, parameters) = content_type.split_once(';').unwrap_or((content_type, ""));
    let charset = parameters.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"').to_owned())
    });
    (media.trim().to_ascii_lowercase(), charset)
}

/// Whether what is sent as this is worth reading.
///
/// # Errors
/// What it is instead of a text; `bytes` are what the server says of its length.
pub(super) fn must_be_text(media: &str, bytes: Option<u64>) -> Result<(), String> {
    if kind(media) == Kind::Other { Err(no_text(media, bytes)) } else { Ok(()) }
}

/// Reads a body from `url`.
///
/// # Errors
/// When it is no text.
pub(super) fn read(body: &[u8], media: &str, charset: Option<&str>, url: &Url) -> Result<Page, String> {
    let start = body.get(..LOOKED_AT).unwrap_or(body);
    let wide = wide(start, charset);
    if start.starts_with(b"%PDF-") || wide.is_none() && start.contains(&0) {
        return Err(no_text(media, Some(body.len() as u64)));
    }
    let text = match wide {
        Some(encoding) => encoding.decode(body).0,
        None => decoded(body, charset),
    };
    let is_html = match kind(media) {
        Kind::Html => true,
        Kind::Unsaid => begins_as_html(&text),
        Kind::Text | Kind::Other => false,
    };
    if is_html {
        let html::Html { title, text, is_cut } = html::read(&text, url);
        return Ok(Page { title: plain(&title), text: plain(&text), is_cut });
    }
    Ok(Page { title: String::new(), text: plain(&text), is_cut: false })
}

fn kind(media: &str) -> Kind {
    match media {
        "text/html" | "application/xhtml+xml" => Kind::Html,
        _ if media.starts_with("text/") || TEXTS.contains(&media) => Kind::Text,
        _ if media.ends_with("+json") || media.ends_with("+xml") => Kind::Text,
        _ if SILENT.contains(&media) => Kind::Unsaid,
        _ => Kind::Other,
    }
}

fn no_text(media: &str, bytes: Option<u64>) -> String {
    let kind = if media.is_empty() { "data".to_owned() } else { one_line(media, MAX_TYPE_CHARS) };
    let size = bytes.map(|bytes| format!(" of {bytes} bytes")).unwrap_or_default();
    format!("this is {kind}{size} and no text, which cannot be shown")
}

/// The character set of two bytes that a text has: by its byte order mark, what the server says if the bytes bear it out, or by how
/// the bytes look, of which in most texts every other one is zero.
fn wide(start: &[u8], charset: Option<&str>) -> Option<&'static Encoding> {
    if let Some((encoding, _)) = Encoding::for_bom(start) {
        return Some(encoding).filter(|encoding| *encoding != UTF_8);
    }
    let said = charset.and_then(|label| Encoding::for_label(label.as_bytes()));
    let pairs = start.chunks_exact(2);
    let (mut first, mut second, count) = (0, 0, pairs.len());
    for pair in pairs {
        first += usize::from(pair.first() == Some(&0));
        second += usize::from(pair.last() == Some(&0));
    }
    // Of an English page nearly all, of one in Chinese those of its marks and numbers.
    let most = |zeros: usize, others: usize| count > 1 && zeros * 5 >= count * 4 && others * 5 <= count;
    match said {
        _ if first + second == 0 && is_utf8(start, start.len() >= LOOKED_AT) => None,
        Some(said) if said == UTF_16LE && second >= first => Some(UTF_16LE),
        Some(said) if said == UTF_16BE && first >= second => Some(UTF_16BE),
        _ if most(second, first) => Some(UTF_16LE),
        _ if most(first, second) => Some(UTF_16BE),
        // `utf-16` is read as the little end first, and means the other to some.
        Some(said) if said == UTF_16LE => Some(UTF_16BE),
        Some(said) if said == UTF_16BE => Some(UTF_16LE),
        _ => None,
    }
}

/// Of what has one byte a character, or a changing number: by what the server says, what the page says, and else as UTF-8 or what most old pages are.
fn decoded<'a>(body: &'a [u8], charset: Option<&str>) -> Cow<'a, str> {
    let said = charset.and_then(|label| Encoding::for_label(label.as_bytes()));
    // What has two bytes a character was seen to have them.
    let said = said.filter(|encoding| ![UTF_16LE, UTF_16BE].contains(encoding));
    let encoding = said
        .or_else(|| said_inside(body))
        .unwrap_or_else(|| if is_utf8(body, true) { UTF_8 } else { WINDOWS_1252 });
    // A byte order mark beats what is said.
    encoding.decode(body).0
}

/// Whether this is UTF-8, of which the last character may be cut off where the text `is_cut`.
fn is_utf8(bytes: &[u8], is_cut: bool) -> bool {
    std::str::from_utf8(bytes).map_or_else(|error| is_cut && error.error_len().is_none(), |_| true)
}

/// The character set that HTML or XML names at its beginning.
fn said_inside(body: &[u8]) -> Option<&'static Encoding> {
    let head = body.get(..HEAD_BYTES).unwrap_or(body).to_ascii_lowercase();
    ["charset=", "encoding="].into_iter().find_map(|name| {
        let start = memchr::memmem::find(&head, name.as_bytes())? + name.len();
        let rest = head.get(start..)?;
        let rest = rest.strip_prefix(b"\"").or_else(|| rest.strip_prefix(b"'")).unwrap_or(rest);
        let is_label = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':' | b'.');
        let end = rest.iter().position(|byte| !is_label(byte)).unwrap_or(rest.len());
        let found = Encoding::for_label(rest.get(..end)?)?;
        // What was read as single bytes so far is not of two.
        Some(if found.is_ascii_compatible() { found } else { UTF_8 })
    })
}

fn begins_as_html(text: &str) -> bool {
    let start: String = text.trim_start().chars().take(14).collect::<String>().to_ascii_lowercase();
    start.starts_with("<!doctype html") || start.starts_with("<html")
}

/// Without the characters that only terminals understand.
fn plain(text: &str) -> String {
    let is_kept = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    text.replace("\r\n", "\n").chars().map(|c| if c == '\r' { '\n' } else { c }).filter(is_kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(body: &[u8], content_type: &str) -> String {
        let (media, charset) = media_type(content_type);
        let url = "https://a.example/".parse().unwrap();
        match must_be_text(&media, None).and_then(|()| read(body, &media, charset.as_deref(), &url)) {
            Ok(page) => page.text,
            Err(reason) => reason,
        }
    }

    #[test]
    fn a_text_is_read_in_its_character_set() {
        assert_eq!(text("größe".as_bytes(), "text/plain"), "größe");
        assert_eq!(text(b"gr\xf6\xdfe", "text/plain; charset=\"ISO-8859-1\""), "größe");
        assert_eq!(text(b"gr\xf6\xdfe", "text/plain"), "größe");
        assert_eq!(text(b"\xff\xfeg\0r\0", "text/plain; charset=utf-8"), "gr");
        assert_eq!(text(b"<meta charset=shift_jis>\x83\x65", "text/html"), "テ");
        assert_eq!(
            text(b"<?xml version='1.0' encoding='latin1'?><a>\xe9</a>", "image/svg+xml"),
            "<?xml version='1.0' encoding='latin1'?><a>é</a>"
        );
        assert_eq!(text(b"<meta charset=utf-16>a", "text/html"), "a");
        for (bytes, content_type) in [
            (&b"h\0i\0"[..], "text/plain; charset=utf-16le"),
            (b"\0h\0i", "text/plain; charset=utf-16be"),
            (b"\0h\0i", "text/plain; charset=utf-16"),
            (b"h\0i\0", "text/plain; charset=utf-8"),
            (b"<\0b\0>\0h\0i\0", "text/html"),
        ] {
            assert_eq!(text(bytes, content_type), "hi", "{content_type}");
        }
        assert_eq!(text(b"\x8a\x9e\x65\xe5", "text/plain; charset=utf-16be"), "語日");
        assert_eq!(text(b"\x9e\x8a\xe5\x65", "text/plain; charset=utf-16le"), "語日");
        assert_eq!(text(b"\x65\xe5", "text/plain; charset=utf-16be"), "日");
        // What is looked at ends within a character.
        let long = "日".repeat(LOOKED_AT);
        assert_eq!(text(long.as_bytes(), "text/plain; charset=utf-16"), long);
        assert_eq!(text(b"one byte each", "text/plain; charset=utf-16le"), "one byte each");
        assert_eq!(text("größ".as_bytes().strip_suffix(b"\x9f").unwrap(), ""), "grö\u{fffd}");
    }

    #[test]
    fn only_html_is_rendered() {
        assert_eq!(text(b"<b>x</b>", "application/json"), "<b>x</b>");
        assert_eq!(text(b"<b>x</b>", "text/html; charset=utf-8"), "x");
        assert_eq!(text(b" <!DOCTYPE html><b>x</b>", "application/octet-stream"), "x");
        assert_eq!(text(b"# <b>x</b>", "application/octet-stream"), "# <b>x</b>");
    }

    #[test]
    fn what_is_no_text_is_named() {
        assert_eq!(text(b"", "image/png"), "this is image/png and no text, which cannot be shown");
        assert_eq!(
            text(b"%PDF-1.7", "text/plain"),
            "this is text/plain of 8 bytes and no text, which cannot be shown"
        );
        assert_eq!(text(b"ab\0", ""), "this is data of 3 bytes and no text, which cannot be shown");
    }

    #[test]
    fn what_only_terminals_understand_is_left_out() {
        assert_eq!(text(b"a\x1b[31mb\r\nc\rd\x07\te", "text/plain"), "a[31mb\nc\nd\te");
    }
}
