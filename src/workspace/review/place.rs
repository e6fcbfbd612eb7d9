//! Where a hunk stands in the text of now, and whether it still fits there.

use std::ops;

use super::patch::{Patch, Stretch};
use crate::workspace::{document::is_empty_line, position::starts_line};

/// A stretch of lines of the old text (the base) that becomes a stretch of the text after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lines {
    pub(super) base: ops::Range<usize>,
    pub(super) after: ops::Range<usize>,
}

/// In bytes of the text of now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Pending(ops::Range<usize>),
    /// The text reads already as the hunk would make it.
    Done,
    /// What stands where its lines were.
    Conflict(ops::Range<usize>),
}

/// The texts between which hunks are placed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Texts<'a> {
    pub(super) base: &'a str,
    pub(super) after: &'a str,
    pub(super) now: Text<'a>,
}

/// A text with the length of its byte order mark, or 0: a line starts behind it, and none before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'a> {
    pub(super) text: &'a str,
    pub(super) mark: usize,
}

impl<'a> Text<'a> {
    fn plain(text: &'a str) -> Self {
        Self { text, mark: 0 }
    }

    pub(super) fn of_buffer(text: &'a str) -> Self {
        let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        Self { text, mark }
    }

    pub(super) fn from(self, at: usize) -> &'a str {
        self.text.get(at..).unwrap_or_default()
    }

    pub(super) fn starts_line(self, at: usize) -> bool {
        at == self.mark || at > self.mark && starts_line(self.text.as_bytes(), at)
    }

    /// Without its line end; `None` at the end of the text.
    fn line_at(self, at: usize) -> Option<&'a str> {
        let rest = self.from(at);
        (!rest.is_empty()).then(|| rest.split(['\r', '\n']).next().unwrap_or_default())
    }

    /// The line that ends where this one starts, without its line end; `None` at the beginning of the text.
    fn line_before(self, at: usize) -> Option<&'a str> {
        let head = self.text.get(self.mark..at).filter(|head| !head.is_empty())?;
        let head = head.strip_suffix('\n').unwrap_or(head);
        let head = head.strip_suffix('\r').unwrap_or(head);
        head.rsplit(['\r', '\n']).next()
    }
}

/// The line end at the end of a text, or nothing.
pub(super) fn line_end(text: &str) -> &'static str {
    ["\r\n", "\n", "\r"].into_iter().find(|end| text.ends_with(end)).unwrap_or_default()
}

/// The line end with which a text begins, or nothing.
pub(super) fn first_line_end(text: &str) -> &'static str {
    ["\r\n", "\n", "\r"].into_iter().find(|end| text.starts_with(end)).unwrap_or_default()
}

/// `patch` leads from the base to the text of now.
pub(super) fn place(lines: &Lines, patch: &Patch, texts: Texts<'_>) -> Place {
    match lines.base.is_empty() {
        true => place_insertion(lines, patch, texts),
        false => place_replacement(lines, patch, texts),
    }
}

fn place_replacement(lines: &Lines, patch: &Patch, texts: Texts<'_>) -> Place {
    let base = &lines.base;
    let stretches = patch.stretches();
    // A stretch that only touches the lines from above or below leaves them what they are.
    let first = stretches.partition_point(|stretch| stretch.old.end <= base.start);
    let last = stretches.partition_point(|stretch| stretch.old.start < base.end).max(first);
    let shifted = |at: usize, index: usize| at.saturating_add_signed(patch.shift_before(index));
    let inside = stretches.get(first..last).unwrap_or_default();
    let crossed_start = inside.first().filter(|stretch| stretch.old.start < base.start);
    let crossed_end = inside.last().filter(|stretch| stretch.old.end > base.end);
    let start = crossed_start.map_or_else(|| shifted(base.start, first), |stretch| stretch.new.start);
    let end = crossed_end.map_or_else(|| shifted(base.end, last), |stretch| stretch.new.end);
    let is_crossed = crossed_start.is_some() || crossed_end.is_some();
    let range = start..end.max(start);

    let before = texts.base.get(base.clone()).unwrap_or_default();
    let after = texts.after.get(lines.after.clone()).unwrap_or_default();
    let now = |end: usize| texts.now.text.get(start..end);
    let is_last_line = line_end(before).is_empty();
    let ends_line = |end: usize| {
        let rest = texts.now.from(end);
        rest.is_empty() || texts.now.starts_line(end) || is_last_line && !first_line_end(rest).is_empty()
    };
    let is_whole = !is_crossed && texts.now.starts_line(start);
    // Behind a last line without a line end, what was added to it may be the hunk's.
    let added = stretches.get(last).filter(|stretch| is_last_line && stretch.old.start == base.end);
    let done_end = added.map_or(end, |stretch| stretch.new.end);
    let is_changed = !inside.is_empty() || added.is_some();
    if is_whole && is_changed && now(done_end) == Some(after) && ends_line(done_end) {
        return Place::Done;
    }
    match is_whole && now(end) == Some(before) && ends_line(end) {
        true => Place::Pending(range),
        false => Place::Conflict(range),
    }
}

fn place_insertion(lines: &Lines, patch: &Patch, texts: Texts<'_>) -> Place {
    let at = lines.base.start;
    let base = Text::plain(texts.base);
    let (above, below) = (base.line_before(at), base.line_at(at));
    let stays_below = |place: usize| below.is_some() && texts.now.line_at(place) == below;
    let stays_above = |place: usize| above.is_some() && texts.now.line_before(place) == above;

    let stretches = patch.stretches();
    let index = stretches.partition_point(|stretch| stretch.old.end < at);
    let count = stretches.iter().skip(index).take_while(|stretch| stretch.old.start <= at).count();
    let touching = stretches.get(index..index + count).unwrap_or_default();
    let (Some(first), Some(last)) = (touching.first(), touching.last()) else {
        let place = at.saturating_add_signed(patch.shift_before(index));
        let is_empty = above.is_none() && below.is_none();
        if is_empty && is_empty_line(texts.now.text) {
            // Nothing came to the file: its editor has no text without a line.
            return Place::Pending(0..texts.now.text.len());
        }
        let fits = stays_above(place) || stays_below(place) || is_empty;
        return match fits && texts.now.starts_line(place) {
            true => Place::Pending(place..place),
            false => Place::Conflict(place..place),
        };
    };
    let after = texts.after.get(lines.after.clone()).unwrap_or_default();
    let is_done =
        |stretch: &Stretch| stretch.old.is_empty() && texts.now.text.get(stretch.new.clone()) == Some(after);
    if touching.iter().any(is_done) {
        return Place::Done;
    }
    // What was typed between the two lines leaves both; the hunk goes with the line below, as all hunks do.
    let before_it = Some(first.new.start).filter(|_| first.old.start == at);
    let behind_it = Some(last.new.end).filter(|_| last.old.end == at);
    let candidates =
        [behind_it.filter(|&place| stays_below(place)), before_it.filter(|&place| stays_above(place))];
    let others =
        [behind_it, before_it].map(|place| place.filter(|&place| stays_above(place) || stays_below(place)));
    let mut places = candidates.into_iter().chain(others).flatten();
    match places.find(|&place| texts.now.starts_line(place)) {
        Some(place) => Place::Pending(place..place),
        None => Place::Conflict(first.new.start..last.new.end),
    }
}
