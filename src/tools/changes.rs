//! What a call that changes a text answers: where, and the lines there as they are now.

use std::ops::Range;

use super::read_file::NumberedLines;
use crate::workspace::{FilePath, TurnFiles, matcher::Replaced};

/// Lines shown before and after each changed place, so that the next edit can be made without reading again.
const CONTEXT_LINES: usize = 3;

/// Lines of changed places in one answer: the whole change is in the proposal anyway.
const MAX_SHOWN_LINES: usize = 60;

/// Bytes of the same: long lines count for more.
pub(super) const MAX_SHOWN_BYTES: usize = 16 * 1024;

/// Places whose lines are named one by one.
const MAX_NAMED_PLACES: usize = 20;

/// The changed places of a text that is staged by now, in words: `2 places (lines 3, 7-9); blanks at …`, and below it
/// the lines, which the model has seen thereby: as many as fit into `max_bytes`.
pub(super) fn describe(files: &TurnFiles, path: &FilePath, replaced: &Replaced, max_bytes: usize) -> String {
    let mut places = replaced.places.clone();
    places.sort_unstable_by_key(|place| place.start);
    let spans = lines_of(&replaced.text, &places);
    let places = if spans.len() == 1 { "1 place".to_owned() } else { format!("{} places", spans.len()) };
    let note = match replaced.likeness.note() {
        "" => String::new(),
        note => format!("; {note}"),
    };
    let visible = files.shown(&replaced.text);
    let shown = changed_regions(&visible, &spans, max_bytes.min(MAX_SHOWN_BYTES));
    files.show(path, &replaced.text, &shown.whole);
    format!("{places} ({}){note}\n{}", name_lines(&spans), shown.text)
}

/// First and last line (from 1) that each place in `text` touches.
fn lines_of(text: &str, places: &[Range<usize>]) -> Vec<(usize, usize)> {
    let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    let line_at = |offset: usize| 1 + ends.partition_point(|&end| end < offset);
    let last = line_at(text.trim_end_matches('\n').len());
    places
        .iter()
        .map(|place| {
            // What was deleted at the end leaves no line of its own.
            let first = line_at(place.start).min(last);
            // A piece that ends with a line end does not touch the line after it.
            (first, line_at(place.end.saturating_sub(1)).clamp(first, last.max(first)))
        })
        .collect()
}

fn name_lines(spans: &[(usize, usize)]) -> String {
    let mut names: Vec<_> = spans
        .iter()
        .take(MAX_NAMED_PLACES)
        .map(|(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") })
        .collect();
    if spans.len() > MAX_NAMED_PLACES {
        names.push("…".to_owned());
    }
    let noun = if matches!(spans, [(first, last)] if first == last) { "line" } else { "lines" };
    format!("{noun} {}", names.join(", "))
}

/// The changed places with the lines around them, numbered as in `read_file`.
fn changed_regions(text: &str, spans: &[(usize, usize)], max_bytes: usize) -> NumberedLines {
    let lines: Vec<&str> = text.lines().collect();
    let mut shown = NumberedLines::default();
    let mut count = 0;
    let mut next = 1;
    for &(first, last) in spans {
        let start = first.saturating_sub(CONTEXT_LINES).max(next);
        let end = (last + CONTEXT_LINES).min(lines.len());
        if start > next && count > 0 {
            shown.text.push_str("   …\n");
        }
        for (number, line) in (start..=end).zip(lines.iter().skip(start - 1)) {
            if count == MAX_SHOWN_LINES || shown.text.len() + line.len() > max_bytes {
                shown.text.push_str("… the rest of the change is not shown\n");
                return shown;
            }
            shown.push(number, line);
            count += 1;
        }
        next = next.max(end + 1);
    }
    shown
}
