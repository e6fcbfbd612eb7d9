//! One file of a review: what it said when the edit was made, what is seen of it now, and its hunks in both.

use std::{
    collections::{BTreeSet, VecDeque},
    ops,
    sync::Arc,
};

use super::{
    HunkId, HunkKind, TakenFile,
    differences::differences,
    look::pending,
    patch::{Patch, Stretch},
    place::{Lines, Place, Text, Texts, first_line_end, line_end, place},
};
use crate::workspace::{
    FileEdit, FilePath, FileText, Workspace,
    document::{Document, Splice, is_empty_line},
    overlay::{Moment, Since},
};

/// What does not change while the edit waits.
#[derive(Debug)]
pub(super) struct Basis {
    pub(super) edit: FileEdit,
    pub(super) kind: HunkKind,
    /// The paths of the edits that are taken with this one, itself among them.
    pub(super) together: BTreeSet<FilePath>,
    /// What the file said when the edit was made; empty for one that there was not.
    pub(super) base: Arc<str>,
}

/// A hunk, or a file that is taken as a whole, that waits.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub(super) id: HunkId,
    /// One stretch for [`HunkKind::Lines`], else all of the file.
    pub(super) lines: Vec<Lines>,
    pub(super) is_taken: bool,
}

#[derive(Debug)]
pub(super) struct Tracked {
    pub(super) basis: Arc<Basis>,
    /// In the order of the text.
    pub(super) units: Vec<Unit>,
    /// From the base to `seen`.
    patch: Patch,
    /// The text that was seen last, with its byte order mark when it was that of a buffer that has one.
    pub(super) seen: Arc<str>,
    /// When `seen` was seen; `None` when it was on disk.
    moment: Option<Moment>,
    /// What has happened since the text was the base for sure; `None` when nobody knows, or it is more than
    /// [`MAX_SPLICES`].
    splices: Option<Vec<Splice>>,
    /// What the text may become by hunks that were taken, the last ones at the end.
    expected: VecDeque<Expected>,
    /// Hunks that were with the editor when this edit took their place.
    pub(super) made_way: BTreeSet<HunkId>,
}

/// What a text becomes when the editor makes the edit of some hunks.
#[derive(Debug)]
struct Expected {
    /// With the byte order mark of the buffer.
    text: String,
    /// From the base to that text, by the lines that the user was shown.
    patch: Patch,
    /// How many other texts may still be seen before it.
    patience: usize,
}

/// Splices that are kept to see whether all of them were taken back.
const MAX_SPLICES: usize = 1_024;

/// Edits of one file that are expected at once; more than one wait only while several who take hunks are asked about
/// theirs. Each is a copy of the file.
const MAX_EXPECTED: usize = 2;

/// Texts that are seen before an expected one is given up: it did not come about, or something else was typed meanwhile.
/// An editor may tell of an edit in one message for each of its places.
const PATIENCE: usize = 64;

/// Bytes of one text, and what is in their place in another.
pub(super) type Move = (ops::Range<usize>, ops::Range<usize>);

/// A file as it was at one look.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) basis: Arc<Basis>,
    pub(super) units: Vec<(Unit, Vec<Place>)>,
    /// As [`Tracked::seen`].
    pub(super) seen: Arc<str>,
    /// The same as files are read; or why it cannot be.
    pub(super) now: Result<FileText, String>,
}

impl Tracked {
    /// `next_id` gives a new name at each call.
    pub(super) fn new(
        edit: FileEdit,
        together: BTreeSet<FilePath>,
        mut next_id: impl FnMut() -> HunkId,
    ) -> Self {
        let kind = match (&edit.before, &edit.after) {
            (None, _) => HunkKind::Create,
            (_, None) => HunkKind::Delete,
            _ if edit.moved_from.is_some() => HunkKind::Move,
            _ if together.len() > 1 => HunkKind::File,
            _ => HunkKind::Lines,
        };
        let base = edit.before.as_ref().map(|before| Arc::clone(&before.text)).unwrap_or_default();
        let lines: Vec<Lines> = edit
            .stretches()
            .into_iter()
            .map(|stretch| Lines { base: stretch.before, after: stretch.after })
            .collect();
        let mut unit = |lines| Unit { id: next_id(), lines, is_taken: false };
        let units = match kind {
            HunkKind::Lines => lines.into_iter().map(|lines| unit(vec![lines])).collect(),
            _ => vec![unit(lines)],
        };
        Self {
            seen: Arc::clone(&base),
            basis: Arc::new(Basis { edit, kind, together, base }),
            units,
            patch: Patch::default(),
            moment: None,
            splices: Some(Vec::new()),
            expected: VecDeque::new(),
            made_way: BTreeSet::new(),
        }
    }

    /// Hunks were taken at a look: should the text become what they make of it, it is they that changed.
    ///
    /// What the editor tells of it says less. Lines that come behind equal ones, or at the end of a text, it may say to
    /// have come elsewhere among them, which makes the same text; hunks that wait there would end on the wrong side.
    pub(super) fn expect(&mut self, look: &Look, TakenFile { edit, hunks }: &TakenFile) {
        let Some(after) = &edit.after else { return };
        let waits_for_others = self.basis.kind == HunkKind::Lines && hunks.len() < self.units.len();
        // Who looked meanwhile may have seen another text.
        if !waits_for_others || !Arc::ptr_eq(&look.seen, &self.seen) {
            return;
        }
        let mut patch = self.patch.clone();
        let mut grown = 0;
        let is_taken = |unit: &Unit| hunks.contains(&unit.id);
        let taken = look.units.iter().filter(|(unit, _)| is_taken(unit));
        for (lines, now) in taken.flat_map(|(unit, places)| pending(unit, places)) {
            let (range, new) = self.basis.replacement(lines, now, &self.seen);
            let at = range.start.saturating_add_signed(grown);
            let splice = Splice { at, removed: range.len(), inserted: new.len() };
            patch.push_as_meant(splice, lines.base.start);
            grown += new.len().cast_signed() - range.len().cast_signed();
        }
        let mark = Text::of_buffer(&self.seen).mark;
        if self.expected.len() == MAX_EXPECTED {
            self.expected.pop_front();
        }
        let text = format!("{}{after}", self.seen.get(..mark).unwrap_or_default());
        self.expected.push_back(Expected { text, patch, patience: PATIENCE });
    }

    /// Whether one of the next texts may be what hunks make that were taken.
    pub(super) fn is_expecting(&self) -> bool {
        !self.expected.is_empty()
    }

    pub(super) fn has_any(&self, hunks: &[HunkId]) -> bool {
        self.units.iter().any(|unit| hunks.contains(&unit.id))
    }

    /// Catches up with the open document, if there is one, and looks.
    pub(super) fn look_at_document(&mut self, workspace: &Workspace) -> Option<Look> {
        let document = self.catch_up(workspace)?;
        Some(self.look(Ok(FileText::of_buffer(&document))))
    }

    /// Catches up with the open document, if there is one.
    pub(super) fn catch_up(&mut self, workspace: &Workspace) -> Option<Document> {
        let since = workspace.overlay().since(self.basis.edit.origin(), self.moment)?;
        self.see_document(&since);
        Some(since.document)
    }

    /// Catches up with the open document.
    pub(super) fn see_document(&mut self, since: &Since) {
        let text = Arc::clone(&since.document.text);
        match &since.splices {
            Some(splices) => {
                self.remember(splices);
                self.follow(splices, text);
            }
            None => self.compare(text),
        }
        self.moment = Some(since.now);
    }

    /// Catches up with the disk.
    pub(super) fn see_disk(&mut self, text: &FileText) {
        self.compare(Arc::clone(&text.text));
        self.moment = None;
    }

    /// What leads from the base to another text: as it is known where that was seen or is expected, else by comparison.
    pub(super) fn moves_to(&self, text: &str) -> Vec<Move> {
        if *text == *self.basis.base {
            return Vec::new();
        }
        let expected = self.expected.iter().map(|expected| (&*expected.text, &expected.patch));
        for (known, patch) in [(&*self.seen, &self.patch)].into_iter().chain(expected) {
            let known = Text::of_buffer(known);
            if known.from(known.mark) != text {
                continue;
            }
            let without_mark = |at: usize| at.saturating_sub(known.mark);
            let moves = patch.stretches().iter().map(|Stretch { old, new, .. }| {
                (old.clone(), without_mark(new.start)..without_mark(new.end))
            });
            return moves.collect();
        }
        differences(&self.basis.base, text)
    }

    fn remember(&mut self, splices: &[Splice]) {
        self.splices = self.splices.take().filter(|known| known.len() + splices.len() <= MAX_SPLICES);
        self.splices.iter_mut().for_each(|known| known.extend(splices));
    }

    fn follow(&mut self, splices: &[Splice], text: Arc<str>) {
        for &splice in splices {
            self.patch.push(splice);
        }
        self.settle(text);
    }

    /// Nobody told what has happened since the text was seen last.
    fn compare(&mut self, text: Arc<str>) {
        if text == self.seen {
            return;
        }
        self.splices = None;
        self.patch.forget_steps();
        if self.seen.is_empty() && self.basis.base.is_empty() && is_empty_line(&text) {
            // Nobody has typed that line.
            self.seen = text;
            return;
        }
        let (old, new) = (Text::of_buffer(&self.seen), Text::of_buffer(&text));
        let mark = Splice { at: 0, removed: old.mark, inserted: new.mark };
        // Each stands where the ones before it have made the text new.
        let others =
            differences(old.from(old.mark), new.from(new.mark)).into_iter().map(|(old, new_range)| Splice {
                at: new.mark + new_range.start,
                removed: old.len(),
                inserted: new_range.len(),
            });
        let splices: Vec<Splice> =
            Some(mark).filter(|_| old.mark != new.mark).into_iter().chain(others).collect();
        self.follow(&splices, text);
        self.patch.forget_steps();
    }

    fn settle(&mut self, text: Arc<str>) {
        self.seen = text;
        if let Some(at) = self.expected.iter().position(|expected| expected.text == *self.seen) {
            if let Some(expected) = self.expected.remove(at) {
                self.patch = expected.patch;
            }
            self.expected.clear();
            self.patch.settle(&self.basis.base, &self.seen);
            return;
        }
        self.expected.iter_mut().for_each(|expected| expected.patience -= 1);
        self.expected.retain(|expected| expected.patience > 0);
        if self.seen == self.basis.base && self.is_taken_back() {
            self.patch.clear();
            self.splices = Some(Vec::new());
        }
        self.patch.settle(&self.basis.base, &self.seen);
    }

    /// Whether a text that is the base again is so in all its parts, and not by lines that went and equal ones that came
    /// elsewhere: then those that went are not there any more. Where nobody told what happened, nothing says so.
    fn is_taken_back(&self) -> bool {
        let Some(splices) = &self.splices else { return true };
        let mut patch = Patch::default();
        splices.iter().for_each(|&splice| patch.push(splice));
        patch.is_in_place()
    }

    pub(super) fn look(&self, now: Result<FileText, String>) -> Look {
        let texts = Texts {
            base: &self.basis.base,
            after: self.basis.edit.after.as_deref().unwrap_or_default(),
            now: Text::of_buffer(&self.seen),
        };
        let places = |unit: &Unit| unit.lines.iter().map(|lines| place(lines, &self.patch, texts)).collect();
        Look {
            basis: Arc::clone(&self.basis),
            units: self.units.iter().map(|unit| (unit.clone(), places(unit))).collect(),
            seen: Arc::clone(&self.seen),
            now,
        }
    }
}

impl Basis {
    pub(super) fn text_before(&self, lines: &Lines) -> &str {
        self.base.get(lines.base.clone()).unwrap_or_default()
    }

    pub(super) fn text_after(&self, lines: &Lines) -> &str {
        self.edit.after.as_deref().and_then(|after| after.get(lines.after.clone())).unwrap_or_default()
    }

    /// What a pending stretch puts in place of which bytes of the text of now, when nothing else is taken.
    ///
    /// A last line without a line end may have got one since, or lines below it: then the hunk leaves that line end,
    /// or puts one, so that no two lines become one.
    pub(super) fn replacement(
        &self,
        lines: &Lines,
        now: &ops::Range<usize>,
        seen: &str,
    ) -> (ops::Range<usize>, String) {
        let (before, after) = (self.text_before(lines), self.text_after(lines));
        let (head, rest) =
            (seen.get(..now.start).unwrap_or_default(), seen.get(now.end..).unwrap_or_default());
        let was_last = !before.is_empty() && line_end(before).is_empty();
        let is_open = !after.is_empty() && line_end(after).is_empty();
        let mut range = now.clone();
        let mut text = after.to_owned();
        if was_last && !is_open {
            range.end += first_line_end(rest).len();
        } else if !was_last && is_open && !rest.is_empty() {
            text.push_str(line_end(if before.is_empty() { head } else { before }));
        }
        (range, text)
    }
}
