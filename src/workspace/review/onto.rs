//! An edit on another text of its file than the one that it was made for.

use std::collections::BTreeSet;

use super::{
    FileEdit, FileText, HunkId,
    place::Place,
    tracked::{Look, Tracked},
};
use crate::workspace::document::Document;

/// What of an edit fits another text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Onto {
    pub edit: FileEdit,
    /// Whether some of its hunks do not fit.
    pub is_part: bool,
}

impl FileEdit {
    /// The edit on that text: its hunks where their lines stand now, without those whose lines have changed and those that
    /// are there already. For an edit of a text alone.
    #[must_use]
    pub fn onto(&self, document: &Document) -> Onto {
        self.onto_text(FileText::of_buffer(document))
    }

    /// Whether all that the edit has made of its file is left in a text of it, whatever else that says.
    #[must_use]
    pub fn is_whole_in(&self, text: &FileText) -> bool {
        let before = self.before.as_ref().map(|before| before.text.to_string()).unwrap_or_default();
        let after = FileText { text: self.after.as_deref().unwrap_or_default().into(), ..text.clone() };
        let back = Self::of(&self.path, Some(after), Some(before));
        let look = back.look_at(text.clone());
        look.units.iter().flat_map(|(_, places)| places).all(|place| matches!(place, Place::Pending(_)))
    }

    /// As [`FileEdit::onto`], with a text as files are read.
    pub(in crate::workspace) fn onto_text(&self, text: FileText) -> Onto {
        let look = self.look_at(text);
        let is_pending = |places: &[Place]| places.iter().all(|place| matches!(place, Place::Pending(_)));
        let is_conflict = |places: &[Place]| places.iter().any(|place| matches!(place, Place::Conflict(_)));
        let pending = look.units.iter().filter(|(_, places)| is_pending(places)).map(|(unit, _)| unit.id);
        Onto {
            edit: look.rebased(&pending.collect()),
            is_part: look.units.iter().any(|(_, places)| is_conflict(places)),
        }
    }

    fn look_at(&self, text: FileText) -> Look {
        let mut number = 0;
        let mut file = Tracked::new(self.clone(), BTreeSet::from([self.path.clone()]), || {
            number += 1;
            HunkId(number)
        });
        file.see_disk(&text);
        file.look(Ok(text))
    }
}
