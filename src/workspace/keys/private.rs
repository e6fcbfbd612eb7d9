//! The lines of private keys, as files have them in PEM armour, as programs quote them, and as commands print parts of
//! them: in another order, without their first line, or all in one.
//!
//! A key is known by the line before or behind it, or by its own beginning, which says in every form that what follows is
//! a private key and no certificate. From there the lines above and below are followed as long as they may be its own.
//! Lines out of its middle alone look like those of a certificate or a picture, and are shown; so is a key that is written
//! in hexadecimal, backwards, or with something left out of each line.

use std::{ops::Range, sync::LazyLock};

use regex::{Regex, bytes};

use super::constant;

/// What every line that begins or ends a private key has.
const MARK: &str = "PRIVATE KEY";

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";

/// Lines of headers behind the beginning, at most, and a blank one: OpenSSL writes two.
const MAX_HEADER_LINES: usize = 6;

/// Lines of the longest key: an RSA key of 16,384 bits has some 200.
const MAX_KEY_LINES: usize = 400;

/// How keys begin in base64: a sequence whose first element is a version, which no certificate and no public key has, or
/// an algorithm that encrypts keys. The parts between are lengths.
const BEGINNINGS: &[&str] = &[
    // RSA and DSA by themselves, any key in PKCS#8, a store of keys in PKCS#12; of 256 bytes and more.
    "MII[A-Za-z][A-Za-z0-9+/][AQgw]IBA(?:A[JK][BC]|DA|DC|QQ|zC)",
    // Elliptic curves, and what else is shorter.
    "MI[GH][A-Za-z0-9+/]AgE(?:A[AM]|BB)",
    "M[A-H][A-Za-z0-9+/]CAQ(?:EE|[AE]wBQYDK2V)",
    // Any of them encrypted.
    "MII[A-Za-z][A-Za-z0-9+/]{4}Bg[ko]qhkiG9w0B(?:BQ|DA)",
    "MI[GH][A-Za-z0-9+/]M[A-Za-z0-9+/]{1,2}GCSqGSIb3DQ(?:EF|EM)",
    // OpenSSH's own.
    "b3BlbnNzaC1rZXktdj",
];

/// A key that says so itself, from its beginning to the end of its line: long enough to be no constant of a program that
/// reads keys.
static FIRST: LazyLock<bytes::Regex> = LazyLock::new(|| {
    let beginnings = BEGINNINGS.join("|");
    constant_bytes(&format!("(?-u)(?:{beginnings})[A-Za-z0-9+/]{{20,}}={{0,2}}"))
});

#[expect(clippy::expect_used, reason = "a constant, which a test compiles")]
fn constant_bytes(pattern: &str) -> bytes::Regex {
    bytes::Regex::new(pattern).expect("a constant pattern")
}

/// A stretch of the key's own text. Its lines have 64 or 76 characters; a quoted piece may be shorter.
static STRETCH: LazyLock<Regex> = LazyLock::new(|| constant(r"[A-Za-z0-9+/]{24,}={0,2}"));

/// The last of several pieces in one line, which may be short, right behind another one.
static LAST_PIECE: LazyLock<Regex> =
    LazyLock::new(|| constant(r#"^(?:\\r)?\\n([A-Za-z0-9+/]{2,23}={0,2})(?:\\|-|["'`]|$)"#));

/// A line that has nothing else: but for what a tool puts before it (a number, a place, a sign of a diff), and for how a
/// program quotes it.
static LINE: LazyLock<Regex> = LazyLock::new(|| {
    let before = r#"(?:[^\n]{0,200}?\d[:\t -])?[\s"'`+>|*#/-]*"#;
    let behind = r#"(?:\\[nr])*["'`,;+)\\\s]*"#;
    constant(&format!("^{before}([A-Za-z0-9+/]{{2,}}={{0,2}}){behind}$"))
});

/// What may stand between the beginning and the key.
static HEADER: LazyLock<Regex> =
    LazyLock::new(|| constant(r#"^[\s\d:"'`+>|*#/-]*(?:[A-Z][A-Za-z-]{2,30}: |(?:\\n)?["'`]?\s*$)"#));

/// The first line of a key that is followed is as long as any but the last.
const MIN_FIRST: usize = 32;

/// Whether there may be a private key.
pub(super) fn is_in(text: &[u8]) -> bool {
    has_mark(text) || FIRST.is_match(text)
}

fn has_mark(text: &[u8]) -> bool {
    memchr::memmem::find(text, MARK.as_bytes()).is_some()
}

/// Where the lines of private keys stand; nothing of what is around them.
pub(super) fn places(text: &str) -> Vec<Range<usize>> {
    let mut places = firsts(text);
    // Nearly no text has one.
    if places.is_empty() && !has_mark(text.as_bytes()) {
        return places;
    }
    let firsts = places.clone();
    let mut firsts = firsts.iter().peekable();
    let mut lines = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        lines.push((start, line));
        start += line.len();
    }
    for (index, (start, line)) in lines.iter().enumerate() {
        let above = || lines.get(..index).unwrap_or_default().iter().rev().take(MAX_KEY_LINES);
        let below = || lines.get(index + 1..).unwrap_or_default().iter().take(MAX_KEY_LINES);
        let mut begins_key = false;
        while firsts.next_if(|first| first.start < start + line.len()).is_some() {
            begins_key = true;
        }
        if begins_key && key_line(*start, line).is_some() {
            follow(below(), From::FirstLine, &mut places);
            follow(above(), From::FirstLine, &mut places);
        }
        for (at, _) in line.match_indices(MARK) {
            let (before, behind) = line.split_at(at);
            let mark = before.rfind(BEGIN).max(before.rfind(END)).unwrap_or(at);
            let (before, mark) = before.split_at(mark);
            if mark.starts_with(BEGIN) {
                let rest = behind.find(END).and_then(|end| behind.get(..end)).unwrap_or(behind);
                places.extend(stretches(start + at, rest));
                if rest.len() == behind.len() {
                    follow(below(), From::Begin, &mut places);
                }
                follow(above(), From::End, &mut places);
            } else if mark.starts_with(END) {
                let rest = before.rfind(MARK).and_then(|mark| before.get(mark..)).unwrap_or(before);
                places.extend(stretches(start + before.len() - rest.len(), rest));
                follow(above(), From::End, &mut places);
                follow(below(), From::End, &mut places);
            }
        }
    }
    places
}

/// Keys that say themselves what they are.
fn firsts(text: &str) -> Vec<Range<usize>> {
    let found = FIRST.find_iter(text.as_bytes());
    let begins = |place: &Range<usize>| {
        let before = text.get(..place.start).unwrap_or_default();
        !before.ends_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/'))
            || ends_line_quoted(before)
    };
    found.map(|key| key.range()).filter(begins).collect()
}

/// Goes from line to line as long as they are those of a key, away from the line that says so.
fn follow<'a>(lines: impl Iterator<Item = &'a (usize, &'a str)>, from: From, places: &mut Vec<Range<usize>>) {
    let mut headers = 0;
    let mut short = None;
    let mut is_in_key = from == From::FirstLine;
    for (index, &(start, line)) in lines.enumerate() {
        if line.contains(MARK) {
            return;
        }
        match key_line(start, line) {
            Some(found) if is_in_key && found.len() < MIN_FIRST && from == From::FirstLine => {
                let text = line.get(found.start - start..found.end - start).unwrap_or_default();
                if !is_encoded(text) {
                    return;
                }
                places.push(found);
            }
            Some(found) if is_in_key || found.len() >= MIN_FIRST => {
                is_in_key = true;
                places.extend(short.take());
                places.push(found);
            }
            // Seen from the end the short line comes first.
            Some(found) if from == From::End && index == 0 => short = Some(found),
            _ if is_in_key || from == From::End => return,
            _ => {
                headers += 1;
                let is_header = HEADER.is_match(line);
                if !is_header || headers > MAX_HEADER_LINES {
                    return;
                }
            }
        }
    }
}

/// From which line a key is followed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    /// The one above it, behind which headers may stand.
    Begin,
    /// The one below it, or one of both where lines are in another order.
    End,
    /// Its own first one. Nothing says where it ends.
    FirstLine,
}

/// Whether a short text is a piece of base64 and no word.
fn is_encoded(text: &str) -> bool {
    text.contains(|c: char| !c.is_ascii_alphabetic())
}

/// Whether a text ends in a line end as programs and JSON write it.
fn ends_line_quoted(text: &str) -> bool {
    text.ends_with("\\n") || text.ends_with("\\r")
}

/// The parts of a line that are the key's own, where several of its lines are quoted in one.
fn stretches(start: usize, line: &str) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    for found in STRETCH.find_iter(line) {
        let (before, rest) = (line.get(..found.start()), line.get(found.end()..));
        // The letter of a line end as programs and JSON write it.
        let is_escaped = before.is_some_and(|before| before.ends_with('\\'));
        places.push(start + found.start() + usize::from(is_escaped)..start + found.end());
        let last = rest.and_then(|rest| LAST_PIECE.captures(rest)?.get(1));
        places.extend(last.map(|last| start + found.end() + last.start()..start + found.end() + last.end()));
    }
    places
}

fn key_line(start: usize, line: &str) -> Option<Range<usize>> {
    let found = LINE.captures(line)?.get(1)?;
    Some(start + found.start()..start + found.end())
}
