//! How one text became another, when nobody told: told carefully, since hunks are placed by it.

use std::{
    collections::HashMap,
    ops,
    time::{Duration, Instant},
};

use similar::{Algorithm, DiffOp};

use super::place::{first_line_end, line_end};
use crate::workspace::{position::LineStarts, shared_ends::shared_ends};

/// The longest that the lines of two texts are compared; what is found by then is right, but says less.
const DIFF_LIMIT: Duration = Duration::from_millis(50);

/// Lines that stayed between others that went count as the same lines from this number on. Fewer could be the `}` of
/// another block that was pasted in place of theirs, unless one of them is a landmark.
const MIN_LINES_BETWEEN: usize = 3;

/// A stretch of one text, and the stretch that stands in its place in the other.
pub(in crate::workspace) type Pair = (ops::Range<usize>, ops::Range<usize>);

/// All that differs, as one stretch.
pub(super) fn trimmed(old: &str, new: &str) -> Option<Pair> {
    let (head, tail) = shared_ends(old, new);
    let pair = (head..old.len() - tail, head..new.len() - tail);
    (!pair.0.is_empty() || !pair.1.is_empty()).then_some(pair)
}

/// The stretches of lines that differ, in order, with something between them. A text that begins or ends within a line
/// has a part of a line there.
pub(in crate::workspace) fn differences(old: &str, new: &str) -> Vec<Pair> {
    let Some((old_range, new_range)) = trimmed(old, new) else { return Vec::new() };
    let is_end = ['\r', '\n'];
    let shared = old.get(..old_range.start).unwrap_or_default();
    let head = shared.rfind(is_end).map_or(0, |end| end + 1);
    let shared = old.get(old_range.end..).unwrap_or_default();
    // With its line end: a line is the same only with that.
    let line =
        shared.find(is_end).map(|end| end + first_line_end(shared.get(end..).unwrap_or_default()).len());
    let tail = line.map_or(0, |end| shared.len() - end);
    let old_part = old.get(head..old_range.end.max(old.len() - tail)).unwrap_or_default();
    let new_part = new.get(head..new_range.end.max(new.len() - tail)).unwrap_or_default();
    let moved = |range: ops::Range<usize>| head + range.start..head + range.end;
    let pairs = line_differences(old_part, new_part).into_iter().map(|(old, new)| (moved(old), moved(new)));
    with_all_places(old, new, pairs.collect())
}

/// The same stretches, each with all lines that it can slide over. Where one of several equal blocks came or went, two
/// texts do not tell which it was: nothing that stands there may count as untouched.
pub(in crate::workspace) fn with_all_places(old: &str, new: &str, pairs: Vec<Pair>) -> Vec<Pair> {
    let mut out: Vec<Pair> = Vec::with_capacity(pairs.len());
    let ends = pairs.iter().skip(1).map(|(old, _)| old.start).chain([old.len()]).collect::<Vec<_>>();
    let mut start = 0;
    for ((old_range, new_range), end) in pairs.into_iter().zip(ends) {
        let (up, down) = match (old_range.is_empty(), new_range.is_empty()) {
            (true, false) => slides(new, &new_range, old_range.start - start, end - old_range.end),
            (false, true) => slides(old, &old_range, old_range.start - start, end - old_range.end),
            _ => (0, 0),
        };
        start = old_range.end;
        let wide = |range: ops::Range<usize>| range.start - up..range.end + down;
        let (old_range, new_range) = (wide(old_range), wide(new_range));
        match out.last_mut() {
            // They have met, or could have taken the same lines.
            Some((old_last, new_last)) if old_last.end >= old_range.start => {
                old_last.end = old_range.end;
                new_last.end = new_range.end;
            }
            _ => out.push((old_range, new_range)),
        }
    }
    out
}

/// How many bytes of whole lines a stretch of a text can slide up and down, by at most so many, and leave the same text
/// without it.
fn slides(text: &str, stretch: &ops::Range<usize>, most_up: usize, most_down: usize) -> (usize, usize) {
    let bytes = text.as_bytes();
    let (above, below) = bytes.split_at(stretch.start.min(bytes.len()));
    let (inside, below) = below.split_at(stretch.len().min(below.len()));
    // Sliding by one byte turns the stretch by one byte, so that it repeats itself above and below.
    let up = above.iter().rev().zip(inside.iter().rev().chain(above.iter().rev()));
    let up = up.take(most_up).take_while(|(one, other)| one == other).count();
    let down = below.iter().zip(inside.iter().chain(below));
    let down = down.take(most_down).take_while(|(one, other)| one == other).count();
    let starts_line = |at: usize| match at.checked_sub(1).and_then(|before| bytes.get(before)) {
        // The two are one line end.
        Some(b'\r') => bytes.get(at) != Some(&b'\n'),
        before => before.is_none_or(|byte| *byte == b'\n'),
    };
    let up = (1..=up).rev().find(|up| starts_line(stretch.start - up)).unwrap_or_default();
    let is_end = |at: usize| at == bytes.len() || starts_line(at);
    let down = (1..=down).rev().find(|down| is_end(stretch.end + down)).unwrap_or_default();
    (up, down)
}

/// How often each line stands in a text. One that says something, and says it once before and once after, is the same
/// line: a landmark.
fn counts<'a>(lines: &[&'a str]) -> HashMap<&'a str, usize> {
    let mut counts = HashMap::with_capacity(lines.len());
    for line in lines {
        *counts.entry(*line).or_default() += 1;
    }
    counts
}

fn line_differences(old: &str, new: &str) -> Vec<Pair> {
    let (old_starts, new_starts) = (LineStarts::new(old), LineStarts::new(new));
    let old_lines: Vec<&str> = old_starts.lines(old).collect();
    let new_lines: Vec<&str> = new_starts.lines(new).collect();
    let deadline = Instant::now() + DIFF_LIMIT;
    let ops = similar::capture_diff_slices_deadline(Algorithm::Myers, &old_lines, &new_lines, Some(deadline));
    let loses = ops.iter().any(|op| matches!(op, DiffOp::Delete { .. } | DiffOp::Replace { .. }));
    let gains = ops.iter().any(|op| matches!(op, DiffOp::Insert { .. } | DiffOp::Replace { .. }));
    let mut out: Vec<Pair> = Vec::new();
    let mut is_apart = true;
    let (old_counts, new_counts) = (counts(&old_lines), counts(&new_lines));
    let is_once = |line: &str| [&old_counts, &new_counts].iter().all(|counts| counts.get(line) == Some(&1));
    let is_landmark = |line: &&str| line.contains(char::is_alphanumeric) && is_once(line);
    for op in ops {
        if let DiffOp::Equal { old_index, len, .. } = op {
            let lines = old_lines.get(old_index..old_index + len).unwrap_or_default();
            // Where lines only came, or only went, all others are still there.
            is_apart |= !loses || !gains || len >= MIN_LINES_BETWEEN || lines.iter().any(is_landmark);
            continue;
        }
        let old_range =
            old_starts.start(old, op.old_range().start)..old_starts.start(old, op.old_range().end);
        let new_range =
            new_starts.start(new, op.new_range().start)..new_starts.start(new, op.new_range().end);
        match out.last_mut() {
            Some((old_last, new_last)) if !is_apart => {
                old_last.end = old_range.end;
                new_last.end = new_range.end;
            }
            _ => out.push((old_range, new_range)),
        }
        is_apart = false;
    }
    // A last line that got a line end, and maybe lines below it, is still there.
    if let Some((old_last, new_last)) = out.last_mut() {
        let old_text = old.get(old_last.clone()).unwrap_or_default();
        let added = new.get(new_last.clone()).and_then(|text| text.strip_prefix(old_text));
        if line_end(old_text).is_empty() && added.is_some_and(|added| !first_line_end(added).is_empty()) {
            old_last.start += old_text.len();
            new_last.start += old_text.len();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(old: &str, new: &str, expected: &[(&str, &str)]) {
        let found = differences(old, new);
        let found: Vec<(&str, &str)> =
            found.iter().map(|(before, after)| (&old[before.clone()], &new[after.clone()])).collect();
        assert_eq!(found, expected, "{old:?} -> {new:?}");
    }

    #[test]
    fn a_block_among_equal_ones_may_have_come_or_gone_at_each() {
        let block = "{\nsay\n}\n";
        let of = |count: usize| block.repeat(count);
        check(&of(3), &of(4), &[(&of(3), &of(4))]);
        check(&of(3), &of(2), &[(&of(3), &of(2))]);
        // What says something once, and stays, holds what is above and below it.
        let old = format!("{}one\n{}", of(2), of(1));
        check(&old, &format!("{}one\n{}", of(3), of(1)), &[(&of(2), &of(3))]);
        check("b\nb\nb", "b\nb\nb\nb", &[("b\nb\nb", "b\nb\nb\nb")]);
    }

    #[test]
    fn lines_that_stand_nowhere_else_came_and_went_where_they_are() {
        check("a\nb\nc\n", "a\nx\nb\nc\n", &[("", "x\n")]);
        check("foo\nbar\n", "foo\nfoe\nbar\n", &[("", "foe\n")]);
        check("a\nx\nb\nc\n", "a\nb\nc\n", &[("x\n", "")]);
        check("a\nb\nc\n", "a\nB\nc\n", &[("b\n", "B\n")]);
        check("<3>\r\n", "<3>\r\n<user 3>\r\n", &[("", "<user 3>\r\n")]);
    }
}
