//! What to tell a model whose text is not in the file: the lines that are nearest to it, and what differs.

use std::{
    collections::{HashMap, HashSet},
    fmt::Write,
};

use super::{
    fold::{Dash, fold_line},
    lines::Lines,
    merge::likeness,
    ranks, rewrite,
};

/// More lines of the wanted text say nothing new about where it belongs.
const MAX_LINES_COMPARED: usize = 60;
/// Lines of the file that are shown.
const MAX_LINES_SHOWN: usize = 20;
/// Characters of one line that are shown: enough to copy from, small enough for minified files.
const MAX_LINE_SHOWN: usize = 300;

/// A text for the model.
pub(super) fn describe(text: &str, find: &str) -> String {
    let file = Lines::new(text);
    let lines: Vec<&str> = file.contents().collect();
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
    let last = (first + wanted.len()).min(lines.len()).saturating_sub(1);
    let _ =
        write!(out, "; the nearest is {}\n{}", region(&file, first, last), difference(&file, &wanted, first));
    out
}

/// Lines of a file (from zero, the last one included) with their numbers.
pub(super) fn region(file: &Lines<'_>, first: usize, last: usize) -> String {
    let mut out = match last == first {
        true => format!("line {}:", first + 1),
        false => format!("at lines {}-{}:", first + 1, last + 1),
    };
    let shown = (last + 1).min(first + MAX_LINES_SHOWN);
    for line in first..shown {
        let _ = write!(out, "\n{}: {}", line + 1, cut(file.content(line)));
    }
    if shown <= last {
        let _ = match last + 1 - shown {
            1 => write!(out, "\n… 1 line more"),
            more => write!(out, "\n… {more} lines more"),
        };
    }
    out
}

/// Where the file says already what the edit would make of it: an earlier edit, or the user, was faster.
pub(super) fn already_there(text: &str, find: &str, replace: &str) -> Option<String> {
    let is_telling =
        replace.chars().filter(|character| character.is_alphanumeric()).count() >= MIN_LETTERS_DONE;
    if !is_telling || find.contains(replace) {
        return None;
    }
    let file = Lines::new(text);
    let edit = super::carry::Edit::new(replace, find);
    let (_, places) = ranks::as_written(&file, replace).or_else(|| ranks::as_typed(&file, &edit))?;
    let [place] = places.as_slice() else { return None };
    let first = file.line_at(place.range.start);
    let last = file.line_at(place.range.end.saturating_sub(1)).max(first);
    let at = match first == last {
        true => format!("line {}", first + 1),
        false => format!("lines {}-{}", first + 1, last + 1),
    };
    Some(format!("\nthe replacement stands at {at} already: the edit may have been made before"))
}

/// A shorter replacement stands in many files by chance.
const MIN_LETTERS_DONE: usize = 6;

/// Whether every line begins with a number and a separator, as tools show files.
fn numbered(wanted: &[&str]) -> bool {
    let mut filled = wanted.iter().filter(|line| !line.trim().is_empty()).peekable();
    filled.peek().is_some() && filled.all(|line| rewrite::numbered(line).is_some())
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
    let counts: Vec<usize> = lines.iter().map(|line| shared(line)).collect();
    let most = counts.iter().copied().max()?;
    let best = counts
        .iter()
        .zip(lines)
        .enumerate()
        .filter(|(_, (count, _))| **count == most)
        .take(MAX_LINES_WEIGHED);
    let (number, _) = best
        .map(|(number, (_, line))| (number, likeness(line.trim(), telling.trim())))
        .max_by(|one, other| one.1.total_cmp(&other.1).then(other.0.cmp(&one.0)))?;
    (most > 0 && most * 2 >= wanted.len()).then(|| number.saturating_sub(index))
}

/// Lines with as many words in common that are compared closely.
const MAX_LINES_WEIGHED: usize = 50;

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|character: char| !character.is_alphanumeric() && character != '_')
        .filter(|word| !word.is_empty())
}

/// The first difference between the wanted lines and those of the file.
fn difference(file: &Lines<'_>, wanted: &[&str], first: usize) -> String {
    for (index, wanted) in wanted.iter().enumerate() {
        let line = first + index;
        if line >= file.len() {
            return format!("the file ends before the text to find does, behind line {line}");
        }
        if file.content(line).trim_end() != wanted.trim_end() {
            return differs(file, line, wanted);
        }
    }
    "the text to find begins or ends elsewhere in a line, or with other blank lines".to_owned()
}

/// How a line of the file (from zero) differs from what was wanted in its place.
pub(super) fn differs(file: &Lines<'_>, number: usize, wanted: &str) -> String {
    let line = file.content(number);
    let folded = |line: &str| fold_line(line.trim(), Dash::One).into_owned();
    let kind = if line.trim() == wanted.trim() {
        "only the indentation differs"
    } else if line.to_lowercase() == wanted.to_lowercase() {
        "only upper and lower case differ"
    } else if line.split_whitespace().eq(wanted.split_whitespace()) {
        "only the blanks differ"
    } else if folded(line) == folded(wanted) {
        "only quotes, dashes or blanks that look alike differ"
    } else if rewrite::unescape(line) == rewrite::unescape(wanted) {
        "only escapes differ"
    } else {
        "the first difference"
    };
    format!("line {} is `{}`, not `{}` ({kind})", number + 1, cut(line), cut(wanted))
}

pub(super) fn cut(line: &str) -> String {
    let mut characters = line.chars();
    let mut shown: String = characters.by_ref().take(MAX_LINE_SHOWN).collect();
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}
