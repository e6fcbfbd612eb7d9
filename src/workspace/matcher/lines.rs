//! A text in lines, and the lines that stand for the same.

use std::{borrow::Cow, cell::OnceCell, collections::HashMap, ops::Range};

use super::fold::{Dash, fold_line};

/// Where the lines of a text stand. A text that ends with a line end has no empty line behind it.
pub(super) struct Lines<'a> {
    pub(super) text: &'a str,
    /// Made when they are first asked for: a text that stands in a file as it is written is found without them.
    spans: OnceCell<Vec<Span>>,
}

/// One line: its content, and behind it the line end (empty for a last line without one).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) content: Range<usize>,
    pub(super) end: usize,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, spans: OnceCell::new() }
    }

    fn spans(&self) -> &[Span] {
        self.spans.get_or_init(|| {
            let mut spans = Vec::new();
            let mut start = 0;
            for (at, end) in line_ends(self.text) {
                spans.push(Span { content: start..at, end: at + end.len() });
                start = at + end.len();
            }
            if start < self.text.len() {
                spans.push(Span { content: start..self.text.len(), end: self.text.len() });
            }
            spans
        })
    }

    pub(super) fn len(&self) -> usize {
        self.spans().len()
    }

    pub(super) fn span(&self, line: usize) -> Option<&Span> {
        self.spans().get(line)
    }

    /// The line without its line end; empty behind the last one.
    pub(super) fn content(&self, line: usize) -> &'a str {
        self.span(line).and_then(|span| self.text.get(span.content.clone())).unwrap_or_default()
    }

    pub(super) fn has_end(&self, line: usize) -> bool {
        self.span(line).is_some_and(|span| span.content.end < span.end)
    }

    pub(super) fn contents(&self) -> impl Iterator<Item = &'a str> {
        (0..self.len()).map(|line| self.content(line))
    }

    /// The zero-based line in which an offset lies.
    pub(super) fn line_at(&self, offset: usize) -> usize {
        self.spans().partition_point(|span| span.end <= offset)
    }

    /// The line end as it is written at the offset's line, else before it: what a new line there should end with.
    pub(super) fn end_around(&self, offset: usize) -> Option<&'a str> {
        let end = |line: usize| {
            let span = self.span(line)?;
            self.text.get(span.content.end..span.end).filter(|end| !end.is_empty())
        };
        let line = self.spans().partition_point(|span| span.content.end < offset);
        end(line).or_else(|| end(line.checked_sub(1)?))
    }
}

/// The line ends of a text as they are written, in order, with where they stand.
pub(super) fn line_ends(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let bytes = text.as_bytes();
    memchr::memchr2_iter(b'\n', b'\r', bytes).filter_map(move |at| match bytes.get(at) {
        Some(b'\r') if bytes.get(at + 1) == Some(&b'\n') => Some((at, text.get(at..at + 2)?)),
        Some(b'\n') if at > 0 && bytes.get(at - 1) == Some(&b'\r') => None,
        _ => Some((at, text.get(at..=at)?)),
    })
}

/// The blanks that a line begins with, and the rest.
pub(super) fn split_lead(line: &str) -> (&str, &str) {
    let body = line.trim_start_matches([' ', '\t', '\u{a0}', '\u{3000}']);
    line.split_at(line.len() - body.len())
}

/// How much of a line has to be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sameness {
    Whole,
    /// But for blanks at its end.
    TrimmedEnd,
    /// But for blanks at its beginning and end.
    Trimmed,
    /// Trimmed, and but for characters that look alike.
    Folded(Dash),
    /// Folded, and but for all blanks.
    Unspaced,
}

impl Sameness {
    pub(super) fn key(self, line: &str) -> Cow<'_, str> {
        match self {
            Self::Whole => Cow::Borrowed(line),
            Self::TrimmedEnd => Cow::Borrowed(line.trim_end()),
            Self::Trimmed => Cow::Borrowed(line.trim()),
            Self::Folded(dash) => fold_line(line.trim(), dash),
            Self::Unspaced => Cow::Owned(fold_line(line, Dash::One).split_whitespace().collect()),
        }
    }
}

/// Whether a line, or what is left of it, is a comment in one of the usual languages.
pub(super) fn is_comment(line: &str) -> bool {
    const MARKS: &[&str] = &["//", "# ", "-- ", "/*", "* ", "*/", "; ", "<!--"];
    let line = line.trim_start();
    MARKS.iter().any(|mark| line.starts_with(mark))
}

/// The lines of a text that are not blank, by what counts of them.
pub(super) struct Keyed<'a> {
    pub(super) keys: Vec<Cow<'a, str>>,
    /// The zero-based line of each key.
    pub(super) numbers: Vec<usize>,
}

impl<'a> Keyed<'a> {
    pub(super) fn new(lines: &Lines<'a>, sameness: Sameness) -> Self {
        Self::of(lines, sameness, |line| !line.trim().is_empty())
    }

    /// Without comments, but for those that `wanted` has as well.
    pub(super) fn without_comments(lines: &Lines<'a>, sameness: Sameness, wanted: &Keyed<'_>) -> Self {
        let is_wanted = |line: &str| wanted.keys.contains(&sameness.key(line));
        Self::of(lines, sameness, |line| !line.trim().is_empty() && (!is_comment(line) || is_wanted(line)))
    }

    fn of(lines: &Lines<'a>, sameness: Sameness, counts: impl Fn(&str) -> bool) -> Self {
        let counted = lines.contents().enumerate().filter(|(_, line)| counts(line));
        let (numbers, keys) = counted.map(|(number, line)| (number, sameness.key(line))).unzip();
        Self { keys, numbers }
    }

    /// Where all keys of `wanted` stand one behind the other, as indexes into `keys`.
    pub(super) fn places(&self, wanted: &Keyed<'_>) -> Vec<usize> {
        let mut counts: HashMap<&str, (usize, usize)> =
            wanted.keys.iter().enumerate().map(|(index, key)| (&**key, (index, 0))).collect();
        for key in &self.keys {
            if let Some((_, count)) = counts.get_mut(&**key) {
                *count += 1;
            }
        }
        // Only places of the rarest line are looked at, so that a file of equal lines costs no square.
        let Some((rarest, _)) = wanted
            .keys
            .iter()
            .filter_map(|key| counts.get(&**key))
            .min_by_key(|(index, count)| (*count, *index))
        else {
            return Vec::new();
        };
        let telling = wanted.keys.get(*rarest).map(|key| &**key);
        let fits = |start: usize| {
            let here = self.keys.get(start..start + wanted.keys.len());
            here.is_some_and(|here| here == wanted.keys.as_slice())
        };
        let mut found = Vec::new();
        let mut looked_at = 0;
        for (index, _) in self.keys.iter().enumerate().filter(|(_, key)| Some(&***key) == telling) {
            let Some(start) = index.checked_sub(*rarest) else { continue };
            looked_at += 1;
            if looked_at > MAX_STARTS {
                break;
            }
            if fits(start) {
                found.push(start);
            }
        }
        found
    }
}

/// So many places are compared with the wanted lines: with more, nothing is unique anyway.
const MAX_STARTS: usize = 10_000;
