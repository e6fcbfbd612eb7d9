//! What tools put around a text, and models copy: line numbers, escapes, entities, code fences. Taken off a wanted text and
//! its replacement alike.

use super::fold::unescaped;

/// A text to find and its replacement, read otherwise than as they stand.
#[derive(PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) find: String,
    pub(super) replace: String,
    /// The line, from one, at which the text stood when it was shown.
    pub(super) line: Option<usize>,
}

/// A shorter text is found by chance once something was taken off it.
const MIN_LETTERS: usize = 3;

/// Other readings, the likeliest first. None for most texts.
pub(super) fn other_readings(find: &str, replace: &str) -> Vec<Reading> {
    let mut readings: Vec<Reading> = Vec::new();
    let mut add = |find: String, replace: String, line: Option<usize>| {
        let reading = Reading { find, replace, line };
        let letters = reading.find.chars().filter(|character| character.is_alphanumeric()).count();
        if letters >= MIN_LETTERS && !readings.contains(&reading) {
            readings.push(reading);
        }
    };
    let bare = without_fence(find).map(|bare| (bare, without_fence(replace).unwrap_or(replace)));
    let (find, replace) = bare.unwrap_or((find, replace));
    if bare.is_some() {
        add(find.to_owned(), replace.to_owned(), None);
    }
    for prefix in [Prefix::Blanks, Prefix::Sign] {
        if let Some(bare) = without_numbers(find, prefix) {
            let line = find.lines().find_map(numbered).and_then(|line| line.try_into().ok());
            add(bare, without_numbers_where_given(replace, prefix), line);
        }
    }
    if find.contains('\\') {
        add(unescape(find), unescape(replace), None);
    }
    if ENTITIES.iter().any(|(entity, _)| find.contains(entity)) {
        add(decoded(find), decoded(replace), None);
    }
    readings
}

/// The lines between a code fence before and behind.
fn without_fence(text: &str) -> Option<&str> {
    let (first, rest) = text.trim_start_matches('\n').split_once('\n')?;
    let inside = rest.trim_end().strip_suffix("```")?;
    let language = first.strip_prefix("```")?;
    let is_language =
        language.trim().chars().all(|character| character.is_alphanumeric() || "+-#_.".contains(character));
    is_language.then(|| inside.strip_suffix('\n').unwrap_or(inside))
}

/// What stands between a line's number and the line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Prefix {
    /// A sign and one blank, where there is one.
    Blanks,
    /// A sign alone.
    Sign,
}

/// A text whose lines all begin with numbers that go up by one, without them.
fn without_numbers(text: &str, prefix: Prefix) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut expected = None;
    for line in text.split_inclusive('\n') {
        if line.trim().is_empty() && expected.is_some() {
            out.push_str(line);
            expected = expected.map(|number: u64| number + 1);
            continue;
        }
        let (number, bare) = split_number(line, prefix)?;
        // Blank lines are often shown with their number, and often not.
        if expected.is_some_and(|expected| number != expected && number + 1 != expected) {
            return None;
        }
        expected = Some(number + 1);
        out.push_str(bare);
    }
    expected.is_some().then_some(out)
}

/// A replacement has numbers on the lines that were copied, and on new ones only sometimes, with any number.
fn without_numbers_where_given(text: &str, prefix: Prefix) -> String {
    text.split_inclusive('\n').map(|line| split_number(line, prefix).map_or(line, |(_, bare)| bare)).collect()
}

/// `  12: text`, `12|text`, `12<tab>text`, `12→text`.
pub(super) fn numbered(line: &str) -> Option<u64> {
    split_number(line, Prefix::Sign).map(|(number, _)| number)
}

fn split_number(line: &str, prefix: Prefix) -> Option<(u64, &str)> {
    let line = line.trim_start_matches([' ', '\t']);
    let line = line
        .strip_prefix('L')
        .filter(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()))
        .unwrap_or(line);
    let behind = line.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let number = line.get(..line.len() - behind.len())?.parse().ok()?;
    if let Some(rest) = behind.strip_prefix(['\t', '→']) {
        return Some((number, rest));
    }
    let rest = behind.trim_start_matches(' ').strip_prefix([':', '|'])?;
    match prefix {
        Prefix::Blanks => Some((number, rest.strip_prefix([' ', '\t']).unwrap_or(rest))),
        Prefix::Sign => Some((number, rest)),
    }
}

/// A text that was escaped once too often. Where it has true line ends, only quotes and backslashes were.
pub(super) fn unescape(text: &str) -> String {
    let is_whole = !text.contains('\n');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        match unescaped(escape).filter(|meant| is_whole || !meant.trim().is_empty()) {
            Some(meant) => {
                out.push_str(meant);
                rest = escape.get(2..).unwrap_or_default();
            }
            None => {
                out.push('\\');
                rest = escape.get(1..).unwrap_or_default();
            }
        }
    }
    out.push_str(rest);
    out
}

/// Those that models write; `&amp;` comes last, since it may be what is left of another one.
const ENTITIES: &[(&str, &str)] = &[
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", "\""),
    ("&#34;", "\""),
    ("&#39;", "'"),
    ("&#x27;", "'"),
    ("&apos;", "'"),
    ("&nbsp;", " "),
    ("&amp;", "&"),
];

fn decoded(text: &str) -> String {
    ENTITIES.iter().fold(text.to_owned(), |text, (entity, meant)| text.replace(entity, meant))
}
