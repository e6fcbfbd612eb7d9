//! One file of a review: what it said when the edit was made, what is seen of it now, and its hunks in both.

use std::{collections::BTreeSet, ops, sync::Arc};

use super::{
    HunkId, HunkKind,
    differences::differences,
    patch::Patch,
    place::{Lines, Place, Text, Texts, first_line_end, line_end, place},
};
use crate::workspace::{
    FileEdit, FilePath, FileText, Workspace,
    document::Splice,
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
    base: Arc<str>,
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
}

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
        }
    }

    /// Catches up with the open document, if there is one, and looks.
    pub(super) fn look_at_document(&mut self, workspace: &Workspace) -> Option<Look> {
        let since = workspace.overlay().since(self.basis.edit.origin(), self.moment)?;
        self.see_document(&since);
        Some(self.look(Ok(FileText::of_buffer(&since.document))))
    }

    /// Catches up with the open document.
    pub(super) fn see_document(&mut self, since: &Since) {
        let text = Arc::clone(&since.document.text);
        match &since.splices {
            Some(splices) => self.follow(splices, text),
            None => self.compare(text),
        }
        self.moment = Some(since.now);
    }

    /// Catches up with the disk.
    pub(super) fn see_disk(&mut self, text: &FileText) {
        self.compare(Arc::clone(&text.text));
        self.moment = None;
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
        self.patch.forget_steps();
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
        // As it was: whatever way led there, everything is as at first.
        if self.seen == self.basis.base {
            self.patch.clear();
        }
        self.patch.settle(&self.basis.base, &self.seen);
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
