//! Several changes of one text, made at once.

use std::ops::Range;

use super::{CHANGES_NOTHING, Likeness, MatchError, Replaced, lines::Lines};

/// A text with changes made, and where they are.
pub(super) struct Made {
    pub(super) text: String,
    /// By whom each part was written, and its range in `text`; in order, not overlapping.
    parts: Vec<(usize, Range<usize>)>,
    /// What the changes are called, for messages: `replacements` or `hunks`.
    called: &'static str,
}

/// A change: by whom, which range of the text, and what takes its place.
pub(super) type Change = (usize, Range<usize>, String);

impl Made {
    /// Makes changes of `text`, in any order. Those that overlap only in what they leave as it is do not.
    pub(super) fn of(
        text: &str,
        mut changes: Vec<Change>,
        called: &'static str,
    ) -> Result<Self, (usize, MatchError)> {
        changes.sort_by_key(|(index, range, _)| (range.start, range.end, *index));
        if overlap(&changes).is_some() {
            for (_, range, new) in &mut changes {
                shrink(text, range, new);
            }
            changes.sort_by_key(|(index, range, _)| (range.start, range.end, *index));
        }
        if let Some((one, other)) = overlap(&changes) {
            return Err(in_each_others_way(text, one, other, called));
        }
        let mut made = Self { text: String::with_capacity(text.len()), parts: Vec::new(), called };
        let mut done = 0;
        for (index, range, new) in changes {
            made.text.push_str(text.get(done..range.start).unwrap_or_default());
            let start = made.text.len();
            made.text.push_str(&new);
            made.parts.push((index, start..made.text.len()));
            done = range.end;
        }
        made.text.push_str(text.get(done..).unwrap_or_default());
        Ok(made)
    }

    /// Makes further changes, of the text as it is now, where they touch what one with a lower index wrote; `None` when
    /// they do not.
    pub(super) fn add(
        &mut self,
        index: usize,
        changes: Vec<(Range<usize>, String)>,
    ) -> Option<Result<(), (usize, MatchError)>> {
        let touch =
            |one: &Range<usize>, other: &Range<usize>| one.start <= other.end && other.start <= one.end;
        for (range, _) in &changes {
            if !self.parts.iter().any(|(by, part)| *by < index && touch(part, range)) {
                return None;
            }
            let other = self
                .parts
                .iter()
                .find(|(by, part)| *by > index && part.start < range.end && range.start < part.end);
            if let Some((by, part)) = other {
                let other = (*by, part.clone(), String::new());
                let own = (index, range.clone(), String::new());
                return Some(Err(in_each_others_way(&self.text, &own, &other, self.called)));
            }
        }
        for (range, new) in changes.into_iter().rev() {
            self.text.replace_range(range.clone(), &new);
            let mut whole = range.start..range.start + new.len();
            let (removed, added) = (range.len(), new.len());
            let mut parts = Vec::with_capacity(self.parts.len() + 1);
            for (by, mut part) in self.parts.drain(..) {
                if part.start >= range.end {
                    part = part.start - removed + added..part.end - removed + added;
                } else if part.end > range.start {
                    // What is left of an earlier part before and behind the new one belongs to both.
                    whole.start = whole.start.min(part.start);
                    whole.end = whole.end.max((part.end + added).saturating_sub(removed));
                    continue;
                }
                parts.push((by, part));
            }
            parts.push((index, whole));
            parts.sort_by_key(|(_, part)| (part.start, part.end));
            self.parts = parts;
        }
        Some(Ok(()))
    }

    pub(super) fn finish(self, before: &str, likeness: Likeness) -> Result<Replaced, MatchError> {
        if self.text == before {
            return Err(MatchError::Pointless(CHANGES_NOTHING.to_owned()));
        }
        Ok(Replaced {
            text: self.text,
            places: self.parts.into_iter().map(|(_, part)| part).collect(),
            likeness,
        })
    }
}

/// Two changes that want the same text.
fn overlap(changes: &[Change]) -> Option<(&Change, &Change)> {
    changes.windows(2).find_map(|pair| match pair {
        [one, other] if one.1.end > other.1.start => Some((one, other)),
        _ => None,
    })
}

fn in_each_others_way(text: &str, one: &Change, other: &Change, called: &str) -> (usize, MatchError) {
    let (first, last) = if one.0 <= other.0 { (one, other) } else { (other, one) };
    let lines = Lines::new(text);
    let line = lines.line_at(one.1.start.max(other.1.start)) + 1;
    let message = if first.0 == last.0 {
        format!("the places of number {} of the {called} overlap in line {line}", first.0 + 1)
    } else {
        format!("{called} {} and {} both change line {line}; make them one", first.0 + 1, last.0 + 1)
    };
    (last.0, MatchError::Ambiguous(message))
}

/// Leaves out of a change the lines before and behind that stay as they are.
fn shrink(text: &str, range: &mut Range<usize>, new: &mut String) {
    let old = text.get(range.clone()).unwrap_or_default();
    let (old_lines, new_lines): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let same = old_lines.iter().zip(&new_lines).take_while(|(one, other)| one == other).count();
    let (old_rest, new_rest) =
        (old_lines.get(same..).unwrap_or_default(), new_lines.get(same..).unwrap_or_default());
    let behind =
        old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(one, other)| one == other).count();
    let length = |lines: &[&str], from: usize, to: usize| -> usize {
        lines.get(from..to).unwrap_or_default().iter().map(|line| line.len()).sum()
    };
    let head = length(&old_lines, 0, same);
    let tail = length(&old_lines, old_lines.len() - behind, old_lines.len());
    *range = range.start + head..range.end - tail;
    *new = new.get(head..new.len() - tail).unwrap_or_default().to_owned();
}
