//! What has become of a text: which bytes of it have changed, kept up to date splice by splice.

use std::{collections::VecDeque, ops};

use super::{
    differences::{differences, trimmed},
    place::{Text, first_line_end},
};
use crate::workspace::{document::Splice, position::starts_line};

/// Splices that can be taken back exactly. A later one finds what the texts say when they are compared.
const MAX_STEPS: usize = 64;

/// Stretches of one file that are kept for each of these; more would take megabytes.
const MAX_KEPT_STRETCHES: usize = 256;

/// Changed stretches up to this size, in bytes, are compared line by line at every look that finds them changed again.
/// Larger ones only when much was put in place of much, as by a formatter: typing in a file that was replaced must not
/// cost a comparison of all its lines a key.
const SMALL_STRETCH: usize = 16_384;

/// How often the texts are compared again where stretches became one: seldom more than once is of use.
const MAX_ROUNDS: usize = 3;

/// How many bytes are much.
const MUCH: usize = 128;

/// The difference between an old text and the text of now. All bytes outside its stretches are the same in both.
#[derive(Clone, Debug, Default)]
pub(super) struct Patch {
    /// Ordered, with at least one byte between two that are not meant.
    stretches: Vec<Stretch>,
    /// The last splices that changed it, to find those that take one back.
    steps: VecDeque<Step>,
}

/// `old` bytes of the old text became `new` bytes of the text of now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) old: ops::Range<usize>,
    pub(super) new: ops::Range<usize>,
    /// Since the texts were last compared there.
    change: Change,
    /// It is known what came there in whose place: no comparison says otherwise, and it stays apart from what changes
    /// beside it. Lines that came so are others than those of the old text, even where they say the same.
    is_meant: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    None,
    Little,
    /// Much was put in place of much.
    Much,
}

#[derive(Clone, Debug)]
struct Step {
    splice: Splice,
    /// The stretches before it.
    was: Vec<Stretch>,
}

impl Stretch {
    /// By how much bytes behind it have moved.
    fn shift(&self) -> isize {
        self.new.end.cast_signed() - self.old.end.cast_signed()
    }

    /// Whether a splice changes nothing but what came in its place.
    fn holds(&self, splice: Splice) -> bool {
        let end = splice.at + splice.removed;
        // What is put at its end, of which nothing was removed, stands beside it.
        let is_beside = splice.removed == 0 && (splice.at == self.new.start || splice.at == self.new.end);
        self.new.start <= splice.at && end <= self.new.end && (self.new.is_empty() || !is_beside)
    }

    /// The same with the rest of the lines in which it begins and ends. Bytes that came or went may be said to have done
    /// so at several places, as the line end and the text of a line typed behind another line; in whole lines the other
    /// lines are what they were. Stays within `room`, in bytes of the old text.
    fn in_lines(&self, old: &str, now: Text<'_>, room: ops::Range<usize>) -> Self {
        let is_start = |at: usize| at == 0 || starts_line(old.as_bytes(), at);
        let head = old.get(room.start..self.old.start).unwrap_or_default();
        let head = head.len() - head.rfind(['\r', '\n']).map_or(0, |end| end + 1);
        let head = if is_start(self.old.start) { 0 } else { head };
        let tail = old.get(self.old.end..room.end).unwrap_or_default();
        let end = tail.find(['\r', '\n']).unwrap_or(tail.len());
        let end = end + first_line_end(tail.get(end..).unwrap_or_default()).len();
        let tail = if is_start(self.old.end) && now.starts_line(self.new.end) { 0 } else { end };
        Self {
            old: self.old.start - head..self.old.end + tail,
            new: self.new.start - head..self.new.end + tail,
            ..self.clone()
        }
    }
}

impl Patch {
    pub(super) fn stretches(&self) -> &[Stretch] {
        &self.stretches
    }

    /// By how much the bytes before a stretch, behind the one before it, have moved.
    pub(super) fn shift_before(&self, index: usize) -> isize {
        index.checked_sub(1).and_then(|before| self.stretches.get(before)).map_or(0, Stretch::shift)
    }

    /// Follows one change of the text of now.
    pub(super) fn push(&mut self, splice: Splice) {
        if self.steps.back().is_some_and(|step| step.is_undone_by(splice))
            && let Some(step) = self.steps.pop_back()
        {
            self.stretches = step.was;
            return;
        }
        self.remember(splice);
        let is_much = splice.removed.min(splice.inserted) >= MUCH;
        let change = if is_much { Change::Much } else { Change::Little };
        // From the end, so that each stands where it is said to stand.
        for part in self.parts(splice).into_iter().rev() {
            self.put(part, change);
        }
    }

    /// Follows one change that is told as it was meant, with where in the old text it belongs.
    pub(super) fn push_as_meant(&mut self, splice: Splice, old_at: usize) {
        self.remember(splice);
        let end = splice.at + splice.removed;
        let is_above = |stretch: &Stretch| stretch.new.end <= splice.at && stretch.old.end <= old_at;
        let first = self.stretches.partition_point(is_above);
        let last = self.stretches.partition_point(|stretch| is_above(stretch) || stretch.new.start < end);
        self.merge(first..last, splice, (Change::None, true));
    }

    /// A splice that only removes, cut where what it removes was meant to come, and where that ends.
    fn parts(&self, splice: Splice) -> Vec<Splice> {
        let end = splice.at + splice.removed;
        if splice.inserted > 0 {
            return vec![splice];
        }
        let first = self.stretches.partition_point(|stretch| stretch.new.end <= splice.at);
        let crossed = self.stretches.iter().skip(first).take_while(|stretch| stretch.new.start < end);
        let cuts = crossed
            .filter(|stretch| stretch.is_meant)
            .flat_map(|stretch| [stretch.new.start, stretch.new.end])
            .filter(|&cut| cut < end);
        let mut at = splice.at;
        let mut parts = Vec::new();
        for cut in cuts.chain([end]) {
            if cut > at {
                parts.push(Splice { at, removed: cut - at, inserted: 0 });
                at = cut;
            }
        }
        parts
    }

    fn put(&mut self, splice: Splice, change: Change) {
        let end = splice.at + splice.removed;
        let mut first = self.stretches.partition_point(|stretch| stretch.new.end < splice.at);
        let mut last = self.stretches.partition_point(|stretch| stretch.new.start <= end).max(first);
        let touched = self.stretches.get(first..last).unwrap_or_default();
        let held = touched.iter().position(|stretch| stretch.is_meant && stretch.holds(splice));
        if let Some(held) = held {
            return self.merge(first + held..first + held + 1, splice, (change, true));
        }
        // Those that are meant and only touched stay what they are.
        let is_above = |stretch: &Stretch| stretch.is_meant && stretch.new.end <= splice.at;
        let is_below = |stretch: &Stretch| stretch.is_meant && stretch.new.start >= end;
        let (above, below) = (touched.iter().rposition(is_above), touched.iter().position(is_below));
        last = below.map_or(last, |below| first + below);
        first = above.map_or(first, |above| first + above + 1);
        self.merge(first..last.max(first), splice, (change, false));
    }

    /// Makes one stretch of these, which a splice touches, and of what it did.
    fn merge(&mut self, range: ops::Range<usize>, splice: Splice, (change, is_meant): (Change, bool)) {
        let ops::Range { start: first, end: last } = range;
        let end = splice.at + splice.removed;
        let touched = self.stretches.get(first..last).unwrap_or_default();
        let shift = self.shift_before(first);
        // Bytes at the ends of the splice that no stretch covers are those of the old text.
        let start = touched.first().map_or(splice.at, |touched| touched.new.start.min(splice.at));
        let mut old_end = end.saturating_add_signed(-shift);
        let mut new_end = end;
        if let Some(touched) = touched.last() {
            new_end = touched.new.end.max(end);
            old_end = touched.old.end + (new_end - touched.new.end);
        }
        let change = if touched.is_empty() { change } else { change.max(Change::Little) };
        let change = touched.iter().map(|touched| touched.change).fold(change, Change::max);
        let merged = Stretch {
            old: start.saturating_add_signed(-shift)..old_end,
            new: start..new_end - splice.removed + splice.inserted,
            change,
            is_meant,
        };
        for stretch in self.stretches.iter_mut().skip(last) {
            stretch.new.start = stretch.new.start - splice.removed + splice.inserted;
            stretch.new.end = stretch.new.end - splice.removed + splice.inserted;
        }
        let is_nothing = merged.old.is_empty() && merged.new.is_empty();
        self.stretches.splice(first..last, (!is_nothing).then_some(merged));
    }

    /// Keeps what is to be put back when the splice is taken back: what a splice made one stretch of several would else
    /// stay one, and what lies between them be taken for changed.
    fn remember(&mut self, splice: Splice) {
        if self.stretches.len() > MAX_KEPT_STRETCHES {
            self.steps.clear();
            return;
        }
        if self.steps.len() == MAX_STEPS {
            self.steps.pop_front();
        }
        self.steps.push_back(Step { splice, was: self.stretches.clone() });
    }

    /// Compares the texts where they were changed since this was last called, and forgets what is as it was.
    pub(super) fn settle(&mut self, old: &str, now: &str) {
        if self.stretches.iter().all(|stretch| stretch.change == Change::None) {
            return;
        }
        // Stretches that turn out to meet may say together that nothing changed.
        for _ in 0..MAX_ROUNDS {
            self.compare(old, Text::of_buffer(now));
            if !self.join(old) {
                break;
            }
        }
        for stretch in &mut self.stretches {
            stretch.change = Change::None;
        }
    }

    fn compare(&mut self, old: &str, now: Text<'_>) {
        let mut compared: Vec<Stretch> = Vec::with_capacity(self.stretches.len());
        let mut rest = std::mem::take(&mut self.stretches).into_iter().peekable();
        while let Some(stretch) = rest.next() {
            if stretch.change == Change::None {
                compared.push(stretch);
                continue;
            }
            if stretch.is_meant {
                // What was put in its place may be what stood there.
                if old.get(stretch.old.clone()) != now.text.get(stretch.new.clone()) {
                    compared.push(stretch);
                }
                continue;
            }
            let start = compared.last().map_or(0, |last| last.old.end);
            let end = rest.peek().map_or(old.len(), |next| next.old.start);
            let whole = stretch.in_lines(old, now, start..end);
            let size = whole.old.len() + whole.new.len();
            let is_one_sided = stretch.old.is_empty() || stretch.new.is_empty();
            if is_one_sided && (whole == stretch || size > SMALL_STRETCH) {
                compared.push(stretch);
                continue;
            }
            let by_lines = stretch.change == Change::Much || size <= SMALL_STRETCH;
            let mut compare = if by_lines { whole } else { stretch };
            // A byte order mark that came to the buffer is no part of its first line.
            if compare.new.start < now.mark {
                let new = 0..now.mark;
                compared.push(Stretch { old: 0..0, new, change: Change::None, is_meant: false });
                compare.new.start = now.mark.min(compare.new.end);
            }
            let old_text = old.get(compare.old.clone()).unwrap_or_default();
            let new_text = now.text.get(compare.new.clone()).unwrap_or_default();
            let found = match by_lines {
                true => differences(old_text, new_text),
                false => trimmed(old_text, new_text).into_iter().collect(),
            };
            compared.extend(found.into_iter().map(|(old, new)| Stretch {
                old: compare.old.start + old.start..compare.old.start + old.end,
                new: compare.new.start + new.start..compare.new.start + new.end,
                change: compare.change,
                is_meant: false,
            }));
        }
        self.stretches = compared;
    }

    /// Makes one of those changed stretches that have no whole line between them: neither says by itself which lines
    /// came and which went. Whether there were some.
    fn join(&mut self, old: &str) -> bool {
        let count = self.stretches.len();
        self.stretches.dedup_by(|next, last| {
            let gap = last.old.end..next.old.start;
            let change = last.change.max(next.change);
            let is_known = last.is_meant || next.is_meant;
            let is_one = !is_known && (gap.is_empty() || change != Change::None && !has_line(old, gap));
            if is_one {
                last.old.end = next.old.end;
                last.new.end = next.new.end;
                last.change = change;
            }
            is_one
        });
        self.stretches.len() < count
    }

    /// Whether all that changed stands where it stood, in as many bytes.
    pub(super) fn is_in_place(&self) -> bool {
        self.stretches.iter().all(|stretch| stretch.old == stretch.new)
    }

    /// The text of now is the old one. What led there may still be taken back.
    pub(super) fn clear(&mut self) {
        self.stretches.clear();
    }

    /// What happened to the text is not known splice by splice.
    pub(super) fn forget_steps(&mut self) {
        self.steps.clear();
    }
}

/// Whether a whole line of the text stands in this range.
fn has_line(text: &str, range: ops::Range<usize>) -> bool {
    let is_start = range.start == 0 || starts_line(text.as_bytes(), range.start);
    let ends = if is_start { 1 } else { 2 };
    let range = text.get(range).unwrap_or_default();
    let mut seen = 0;
    let mut rest = range;
    while seen < ends {
        let Some(end) = rest.find(['\r', '\n']) else { return false };
        rest = rest.get(end..).unwrap_or_default();
        rest = rest.get(first_line_end(rest).len()..).unwrap_or_default();
        seen += 1;
    }
    true
}

impl Step {
    fn is_undone_by(&self, splice: Splice) -> bool {
        let Splice { at, removed, inserted } = self.splice;
        splice == Splice { at, removed: inserted, inserted: removed }
    }
}
