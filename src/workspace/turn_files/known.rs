//! Which lines of a text the model knows: those that it was shown, and those that it wrote itself.

use std::{ops::Range, sync::Arc, time::Duration};

use similar::DiffOp;

use crate::workspace::line_diff::line_diff;

/// The longest that following lines into another text may take; what it then cannot tell counts as not known.
const DIFF_TIMEOUT: Duration = Duration::from_millis(200);

/// Stretches of lines that are named one by one; with more, reading the whole file again is simpler.
const MAX_NAMED_STRETCHES: usize = 8;

/// A text, and what of it the model knows. Lines are those of [`str::lines`], counted from zero.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) text: Arc<str>,
    /// Ascending, apart from each other, none empty.
    lines: Vec<Range<usize>>,
}

/// Who made the other text of which [`Known::in_text`] is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Author {
    /// The model knows what it wrote.
    Model,
    /// Somebody else: what they changed must be read again.
    Other,
}

impl Known {
    /// A text of which the model has seen nothing.
    pub(super) fn nothing_of(text: Arc<str>) -> Self {
        Self { text, lines: Vec::new() }
    }

    /// A text that the model has written whole.
    pub(super) fn all_of(text: Arc<str>) -> Self {
        let mut known = Self::nothing_of(text);
        known.show(0..known.count());
        known
    }

    /// Adds lines that the model was shown; those behind the end count for nothing.
    pub(super) fn show(&mut self, shown: Range<usize>) {
        let shown = shown.start..shown.end.min(self.count());
        if shown.is_empty() {
            return;
        }
        self.lines.push(shown);
        self.lines.sort_unstable_by_key(|lines| lines.start);
        self.lines.dedup_by(|next, last| {
            let touches = next.start <= last.end;
            if touches {
                last.end = last.end.max(next.end);
            }
            touches
        });
    }

    /// What is known of the text that `author` made of this one: the known lines that are still there, and what the
    /// model wrote.
    pub(super) fn in_text(&self, text: Arc<str>, author: Author) -> Self {
        if *self.text == *text {
            return Self { text, lines: self.lines.clone() };
        }
        if author == Author::Model && self.unknown().is_empty() {
            return Self::all_of(text);
        }
        let mut known = Self::nothing_of(Arc::clone(&text));
        if author == Author::Other && self.lines.is_empty() {
            return known;
        }
        let (old, new): (Vec<&str>, Vec<&str>) = (self.text.lines().collect(), text.lines().collect());
        for op in line_diff(&old, &new, DIFF_TIMEOUT) {
            match op {
                DiffOp::Equal { old_index, new_index, len } => {
                    let here = |line: usize| new_index + line.clamp(old_index, old_index + len) - old_index;
                    let there = self.lines.iter().map(|lines| here(lines.start)..here(lines.end));
                    known.lines.extend(there.filter(|lines| !lines.is_empty()));
                }
                _ if author == Author::Model => known.lines.push(op.new_range()),
                _ => {}
            }
        }
        known.lines.retain(|lines| !lines.is_empty());
        known
    }

    /// The lines that the model does not know, in order.
    pub(super) fn unknown(&self) -> Vec<Range<usize>> {
        let mut unknown = Vec::new();
        let mut next = 0;
        for lines in &self.lines {
            if next < lines.start {
                unknown.push(next..lines.start);
            }
            next = next.max(lines.end);
        }
        let count = self.count();
        if next < count {
            unknown.push(next..count);
        }
        unknown
    }

    pub(super) fn is_nothing(&self) -> bool {
        self.lines.is_empty()
    }

    fn count(&self) -> usize {
        let is_last_open = !self.text.is_empty() && !self.text.ends_with('\n');
        memchr::memchr_iter(b'\n', self.text.as_bytes()).count() + usize::from(is_last_open)
    }
}

/// `lines 3-8, 12`, counted from one.
pub(super) fn name_lines(lines: &[Range<usize>]) -> String {
    let mut names: Vec<String> = lines
        .iter()
        .take(MAX_NAMED_STRETCHES)
        .map(|lines| match lines.len() {
            1 => lines.end.to_string(),
            _ => format!("{}-{}", lines.start + 1, lines.end),
        })
        .collect();
    if lines.len() > MAX_NAMED_STRETCHES {
        names.push("…".to_owned());
    }
    let noun = if matches!(lines, [only] if only.len() == 1) { "line" } else { "lines" };
    format!("{noun} {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows lines (first and last, from one) of a text, and says which are left after each of the further texts.
    fn check(text: &str, shown: &[(usize, usize)], then: &[(&str, Author)], left: &str) {
        let mut known = Known::nothing_of(text.into());
        for (first, last) in shown {
            known.show(first - 1..*last);
        }
        for (text, author) in then {
            known = known.in_text((*text).into(), *author);
        }
        assert_eq!(name_lines(&known.unknown()), left);
    }

    #[test]
    fn lines_that_were_shown_add_up() {
        check("a\nb\nc\nd\ne\n", &[], &[], "lines 1-5");
        check("a\nb\nc\nd\ne\n", &[(2, 2), (5, 9)], &[], "lines 1, 3-4");
        check("a\nb\nc\nd\ne\n", &[(4, 5), (1, 3), (2, 4)], &[], "lines ");
        check("a\nb", &[(1, 1)], &[], "line 2");
        check("", &[], &[], "lines ");
    }

    #[test]
    fn what_the_model_wrote_is_known_and_the_rest_stays_as_it_was() {
        let edited = [("a\nB\nbb\nc\nd\ne\n", Author::Model)];
        check("a\nb\nc\nd\ne\n", &[], &edited, "lines 1, 4-6");
        check("a\nb\nc\nd\ne\n", &[(1, 3)], &edited, "lines 5-6");
        check("a\nb\nc\nd\ne\n", &[(1, 5)], &edited, "lines ");
    }

    #[test]
    fn what_others_changed_is_not_known() {
        let changed = [("new\na\nb\nC\nd\n", Author::Other)];
        check("a\nb\nc\nd\n", &[(1, 4)], &changed, "lines 1, 4");
        check("a\nb\nc\nd\n", &[], &changed, "lines 1-5");
    }

    #[test]
    fn other_line_ends_are_no_other_lines() {
        check("a\nb\n", &[(1, 2)], &[("a\r\nb\r\n", Author::Other)], "lines ");
    }
}
