//! Where a text changes.

use std::ops;

use similar::DiffOp;

use super::DIFF_TIMEOUT;
use crate::workspace::{line_diff::line_diff, position::LineStarts};

/// What changes of a text at one place: bytes of the text before, and those that stand there after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    pub before: ops::Range<usize>,
    pub after: ops::Range<usize>,
}

/// A text with other bytes at some places, which are in order and apart, and where those stand then.
pub(in crate::workspace) fn replaced<S: AsRef<str>>(
    text: &str,
    parts: impl Iterator<Item = (ops::Range<usize>, S)>,
) -> (String, Vec<Stretch>) {
    let mut out = String::with_capacity(text.len());
    let mut stretches: Vec<Stretch> = Vec::new();
    let mut done = 0;
    for (range, new) in parts {
        // If ever two parts were in each other's way, no byte would be lost for it.
        if range.start < done {
            continue;
        }
        out.push_str(text.get(done..range.start).unwrap_or_default());
        let start = out.len();
        out.push_str(new.as_ref());
        match stretches.last_mut().filter(|last| last.before.end == range.start) {
            Some(last) => (last.before.end, last.after.end) = (range.end, out.len()),
            None => stretches.push(Stretch { before: range.clone(), after: start..out.len() }),
        }
        done = range.end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    (out, stretches)
}

/// The stretches of whole lines that differ, in order, with nothing equal between the lines of one.
pub(in crate::workspace) fn stretches(before: &str, after: &str) -> Vec<Stretch> {
    stretches_of(before, &LineStarts::new(before), after)
}

/// The same with the line starts of the text before.
pub(super) fn stretches_of(before: &str, old_starts: &LineStarts, after: &str) -> Vec<Stretch> {
    let new_starts = LineStarts::new(after);
    let (old_lines, new_lines): (Vec<&str>, Vec<&str>) =
        (old_starts.lines(before).collect(), new_starts.lines(after).collect());
    let mut out: Vec<Stretch> = Vec::new();
    let mut apart = true;
    for op in line_diff(&old_lines, &new_lines, DIFF_TIMEOUT) {
        if matches!(op, DiffOp::Equal { .. }) {
            apart = true;
            continue;
        }
        let (old, new) = (op.old_range(), op.new_range());
        let stretch = Stretch {
            before: old_starts.start(before, old.start)..old_starts.start(before, old.end),
            after: new_starts.start(after, new.start)..new_starts.start(after, new.end),
        };
        match out.last_mut() {
            Some(last) if !apart => {
                last.before.end = stretch.before.end;
                last.after.end = stretch.after.end;
            }
            _ => out.push(stretch),
        }
        apart = false;
    }
    out
}
