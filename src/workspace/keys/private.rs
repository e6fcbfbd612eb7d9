//! The lines of private keys in PEM armour, as files have them, as programs quote them, and as commands print parts of them.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

/// What every line that begins or ends a private key has.
const MARK: &str = "PRIVATE KEY";

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";

/// Lines of headers behind the beginning, at most, and a blank one: OpenSSL writes two.
const MAX_HEADER_LINES: usize = 6;

/// Lines of the longest key: an RSA key of 16,384 bits has some 200.
const MAX_KEY_LINES: usize = 400;

/// A stretch of the key's own text. Its lines have 64 or 76 characters; a quoted piece may be shorter.
static STRETCH: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[A-Za-z0-9+/]{24,}={0,2}").ok());

/// A line that has nothing else: but for what a tool puts before it (a number, a place, a sign of a diff), and for how a
/// program quotes it.
static LINE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let before = r#"(?:[^\n]{0,200}?\d[:\t -])?[\s"'`+>|*#/-]*"#;
    let behind = r#"(?:\\[nr])*["'`,;+)\\\s]*"#;
    Regex::new(&format!("^{before}([A-Za-z0-9+/]{{2,}}={{0,2}}){behind}$")).ok()
});

/// What may stand between the beginning and the key.
static HEADER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"^[\s\d:"'`+>|*#/-]*(?:[A-Z][A-Za-z-]{2,30}: |(?:\\n)?["'`]?\s*$)"#).ok());

/// The first line of a key that is followed is as long as any but the last.
const MIN_FIRST: usize = 32;

/// Whether there may be a private key.
pub(super) fn is_in(text: &[u8]) -> bool {
    memchr::memmem::find(text, MARK.as_bytes()).is_some()
}

/// Where the lines of private keys stand; nothing of what is around them.
pub(super) fn places(text: &str) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    // Nearly no text has one.
    if !is_in(text.as_bytes()) {
        return places;
    }
    let mut lines = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        lines.push((start, line));
        start += line.len();
    }
    for (index, (start, line)) in lines.iter().enumerate() {
        for (at, _) in line.match_indices(MARK) {
            let (before, behind) = line.split_at(at);
            let line_start = before.rfind(BEGIN).max(before.rfind(END)).unwrap_or(at);
            if before.get(line_start..).is_some_and(|mark| mark.starts_with(BEGIN)) {
                let rest = behind.find(END).and_then(|end| behind.get(..end)).unwrap_or(behind);
                places.extend(stretches(start + at, rest));
                if rest.len() == behind.len() {
                    let following = lines.get(index + 1..).unwrap_or_default();
                    follow(following.iter().take(MAX_KEY_LINES), Way::Down, &mut places);
                }
            } else if before.get(line_start..).is_some_and(|mark| mark.starts_with(END)) {
                let preceding = lines.get(..index).unwrap_or_default();
                follow(preceding.iter().rev().take(MAX_KEY_LINES), Way::Up, &mut places);
            }
        }
    }
    places
}

/// Goes from line to line as long as they are those of a key, away from the line that says so.
fn follow<'a>(lines: impl Iterator<Item = &'a (usize, &'a str)>, way: Way, places: &mut Vec<Range<usize>>) {
    let mut headers = 0;
    let mut short = None;
    let mut is_in_key = false;
    for (index, &(start, line)) in lines.enumerate() {
        if line.contains(MARK) {
            return;
        }
        match key_line(start, line) {
            Some(found) if is_in_key || found.len() >= MIN_FIRST => {
                is_in_key = true;
                places.extend(short.take());
                places.push(found);
            }
            // Seen from the end the short line comes first.
            Some(found) if way == Way::Up && index == 0 => short = Some(found),
            _ if is_in_key || way == Way::Up => return,
            _ => {
                headers += 1;
                let is_header = HEADER.as_ref().is_some_and(|header| header.is_match(line));
                if !is_header || headers > MAX_HEADER_LINES {
                    return;
                }
            }
        }
    }
}

/// Which way a key is followed: from its beginning down, or from its end up.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Down,
    Up,
}

fn stretches(start: usize, line: &str) -> impl Iterator<Item = Range<usize>> {
    let found = STRETCH.iter().flat_map(move |stretch| stretch.find_iter(line));
    found.map(move |found| {
        // The letter of a line end as programs and JSON write it.
        let is_escaped = line.as_bytes().get(..found.start()).is_some_and(|before| before.ends_with(b"\\"));
        start + found.start() + usize::from(is_escaped)..start + found.end()
    })
}

fn key_line(start: usize, line: &str) -> Option<Range<usize>> {
    let found = LINE.as_ref()?.captures(line)?.get(1)?;
    Some(start + found.start()..start + found.end())
}
