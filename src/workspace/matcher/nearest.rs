//! What to tell a model whose text is not in the file: the lines that are nearest to it, and what differs.

use std::{
    collections::{HashMap, HashSet},
    fmt::Write,
};

/// More lines of the wanted text say nothing new about where it belongs.
const MAX_LINES_COMPARED: usize = 60;
/// Lines of the file that are shown.
const MAX_LINES_SHOWN: usize = 20;
/// Characters of one line that are shown: enough to copy from, small enough for minified files.
const MAX_LINE_SHOWN: usize = 300;

/// A text for the model.
pub(super) fn describe(text: &str, find: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let wanted: Vec<&str> = find.lines().take(MAX_LINES_COMPARED).collect();
    let mut out = "the text to find is not in the file".to_owned();
    if numbered(&wanted) {
        out.push_str(
            "; it seems to begin its lines with line numbers, which are not part of the file: leave them out",
        );
    }
    let Some(first) = nearest_window(&lines, &wanted) else {
        out.push_str(", and nothing in it is near; read the file again and copy the text from there");
        return out;
    };
    let last = (first + wanted.len()).min(lines.len());
    let shown = last.min(first + MAX_LINES_SHOWN);
    let _ = match last - first {
        1 => write!(out, "; the nearest is line {}:", first + 1),
        _ => write!(out, "; the nearest is at lines {}-{last}:", first + 1),
    };
    for (number, line) in lines.iter().enumerate().take(shown).skip(first) {
        let _ = write!(out, "\n{}: {}", number + 1, cut(line));
    }
    if shown < last {
        let _ = write!(out, "\n… {} lines more", last - shown);
    }
    let _ = write!(out, "\n{}", difference(&lines, &wanted, first));
    out
}

/// Whether every line begins with a number and a separator, as tools show files.
fn numbered(wanted: &[&str]) -> bool {
    let mut filled = wanted.iter().filter(|line| !line.trim().is_empty()).peekable();
    filled.peek().is_some()
        && filled.all(|line| {
            let line = line.trim_start();
            let behind = line.trim_start_matches(|digit: char| digit.is_ascii_digit());
            behind.len() < line.len() && behind.trim_start_matches(' ').starts_with([':', '|', '\t', '→'])
        })
}

/// The zero-based line at which the window of `wanted.len()` lines that is most like `wanted` starts.
fn nearest_window(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    by_whole_lines(lines, wanted).or_else(|| by_words(lines, wanted))
}

/// The window with the most lines that are equal but for blanks around them.
fn by_whole_lines(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (number, line) in lines.iter().enumerate() {
        places.entry(line.trim()).or_default().push(number);
    }
    let mut scores: HashMap<usize, usize> = HashMap::new();
    for (index, line) in wanted.iter().enumerate() {
        let line = line.trim();
        let found = places.get(line).map(Vec::as_slice).unwrap_or_default();
        // A line of brackets says little about the place, one that stands everywhere says nothing.
        let weight = line.chars().filter(|character| character.is_alphanumeric()).count();
        for &number in found.iter().take(MAX_PLACES_A_LINE).filter(|_| weight > 0) {
            *scores.entry(number.saturating_sub(index)).or_default() += weight;
        }
    }
    scores.into_iter().max_by_key(|&(start, score)| (score, std::cmp::Reverse(start))).map(|(start, _)| start)
}

const MAX_PLACES_A_LINE: usize = 1_000;

/// The line that shares the most words with the most telling line of `wanted`: at least half of them.
fn by_words(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let (index, telling) = wanted
        .iter()
        .enumerate()
        .max_by_key(|(index, line)| (words(line).count(), std::cmp::Reverse(*index)))?;
    let wanted: HashSet<&str> = words(telling).collect();
    let shared = |line: &str| words(line).collect::<HashSet<_>>().intersection(&wanted).count();
    let (number, most) = lines
        .iter()
        .enumerate()
        .map(|(number, line)| (number, shared(line)))
        .max_by_key(|&(number, shared)| (shared, std::cmp::Reverse(number)))?;
    (most > 0 && most * 2 >= wanted.len()).then(|| number.saturating_sub(index))
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|character: char| !character.is_alphanumeric() && character != '_')
        .filter(|word| !word.is_empty())
}

/// The first difference between the wanted lines and those of the file.
fn difference(lines: &[&str], wanted: &[&str], first: usize) -> String {
    for (index, wanted) in wanted.iter().enumerate() {
        let number = first + index + 1;
        let Some(line) = lines.get(first + index) else {
            return format!("the file ends before the text to find does, behind line {}", number - 1);
        };
        if line.trim_end() == wanted.trim_end() {
            continue;
        }
        let kind = if line.trim() == wanted.trim() {
            "only the indentation differs"
        } else if line.to_lowercase() == wanted.to_lowercase() {
            "only upper and lower case differ"
        } else if line.split_whitespace().eq(wanted.split_whitespace()) {
            "only the blanks differ"
        } else {
            "the first difference"
        };
        return format!("line {number} is `{}`, not `{}` ({kind})", cut(line), cut(wanted));
    }
    "the text to find begins or ends elsewhere in a line, or with other blank lines".to_owned()
}

fn cut(line: &str) -> String {
    let mut characters = line.chars();
    let mut shown: String = characters.by_ref().take(MAX_LINE_SHOWN).collect();
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}
