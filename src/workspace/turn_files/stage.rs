//! Staging: every change is held against what the model knows of the file, and several are staged all or none.

use std::sync::{Arc, MutexGuard, PoisonError};

use super::{
    TurnFiles,
    follow::{Followed, Unfit},
    known::{Author, Known},
};
use crate::workspace::{FileEdit, FileError, FilePath, FileText};

/// The largest text, old or new, of a staged edit, in bytes: what a person can still look through.
pub(super) const MAX_EDIT_BYTES: usize = 2_000_000;

/// One change of [`TurnFiles::stage_all`]. The table in the module's documentation says when each is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StagedChange {
    /// A new file, or the whole text of one that exists, written without regard to the old one. Line ends as given.
    Write {
        path: FilePath,
        text: String,
    },
    /// What was made of the text that [`TurnFiles::read`] gave. Line ends as given.
    Edit {
        path: FilePath,
        before: Arc<str>,
        after: String,
    },
    Delete {
        path: FilePath,
    },
    /// `to` must not exist. The text can be edited before and after.
    Move {
        from: FilePath,
        to: FilePath,
    },
}

impl TurnFiles {
    /// Stages changes in their order, each on top of those before, or none of them: the error is that of the first one
    /// that cannot be staged.
    ///
    /// A staged edit whose file has changed beneath it moves along; what of it does not fit any more is dropped even so.
    pub fn stage_all(&self, changes: Vec<StagedChange>) -> Result<(), FileError> {
        let _staging = self.staging();
        for change in &changes {
            self.follow_for(change)?;
        }
        // One change is staged whole or not at all by itself.
        let before = (changes.len() > 1).then(|| self.state().snapshot());
        for change in changes {
            if let Err(error) = self.stage_one(change) {
                if let Some(before) = before {
                    self.state().restore(before);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// Stages an edit that an earlier turn has proposed, with what it is tied to.
    pub fn restage(&self, edit: &FileEdit) -> Result<(), FileError> {
        let _staging = self.staging();
        // Only what was read may be changed; what there is not is made.
        let _ = self.read(edit.origin());
        if let Some(from) = &edit.moved_from {
            self.stage_move(from, &edit.path)?;
        }
        match &edit.after {
            // The model of this turn need not know what an earlier one wrote.
            Some(text) => self.stage_text(&edit.path, text.clone(), Author::Other)?,
            None => self.stage_deletion(&edit.path)?,
        }
        if let Some(staged) = self.state().staged.get_mut(&edit.path) {
            staged.text_from = edit.text_from.clone();
        }
        Ok(())
    }

    /// Stages a change that is not the model's, which then need not know the file: taking an applied turn back.
    /// The file must have been read with [`TurnFiles::read`].
    pub(in crate::workspace) fn stage_for_user(&self, change: StagedChange) -> Result<(), FileError> {
        let _staging = self.staging();
        match change {
            StagedChange::Write { path, text } | StagedChange::Edit { path, after: text, .. } => {
                self.stage_text(&path, text, Author::Other)
            }
            StagedChange::Delete { path } => self.stage_deletion(&path),
            StagedChange::Move { from, to } => self.stage_move(&from, &to),
        }
    }

    fn staging(&self) -> MutexGuard<'_, ()> {
        self.staging.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stage_one(&self, change: StagedChange) -> Result<(), FileError> {
        match change {
            StagedChange::Write { path, text } => {
                self.workspace.check_editable(&path)?;
                self.check_known_whole(&path)?;
                self.stage_text(&path, text, Author::Model)
            }
            StagedChange::Edit { path, before, after } => {
                let is_staged = self.state().staged.contains_key(&path);
                let now = self.read(&path)?;
                if now.text != before {
                    return Err(FileError::Changed(path.to_string()));
                }
                if is_staged {
                    return self.stage_text(&path, after, Author::Model);
                }
                self.check_editable(&path)?;
                self.stage_text_over(&path, Some(now), after, Author::Model)
            }
            StagedChange::Delete { path } => {
                self.check_unsaved_is_known(&path)?;
                self.stage_deletion(&path)
            }
            StagedChange::Move { from, to } => self.stage_move(&from, &to),
        }
    }

    fn stage_text(&self, path: &FilePath, text: String, author: Author) -> Result<(), FileError> {
        self.check_editable(path)?;
        let before = self.base(&self.origin(path))?;
        self.stage_text_over(path, before, text, author)
    }

    /// `before` is what the file that is changed says, staged edits aside.
    fn stage_text_over(
        &self,
        path: &FilePath,
        before: Option<FileText>,
        text: String,
        author: Author,
    ) -> Result<(), FileError> {
        if memchr::memchr(0, text.as_bytes()).is_some() {
            return Err(FileError::Other(format!(
                "the new text of {path} has a NUL character; leave it out"
            )));
        }
        if before.is_none() && path.disk().is_none() {
            return Err(FileError::Missing(format!("{path}; its buffer is not open any more")));
        }
        let before_bytes = before.as_ref().map_or(0, |before| before.text.len());
        if text.len().max(before_bytes) > MAX_EDIT_BYTES {
            return Err(FileError::TooLargeEdit(path.to_string()));
        }
        if before.is_none() {
            self.check_place(path)?;
        }
        let is_unsaved = self.origin(path).disk().is_some_and(|disk| self.workspace.is_dirty(disk));
        let text = match (&before, text.strip_prefix('\u{feff}')) {
            (Some(before), Some(rest)) if before.bom => rest.to_owned(),
            _ => text,
        };

        let mut state = self.state();
        if let Some(edit) = state.staged.get(path) {
            if !edit.is_made_for(before.as_ref()) {
                return Err(FileError::Changed(path.to_string()));
            }
        } else if let Some(now) = before.as_ref().filter(|_| !state.is_vacated(path)) {
            match state.seen.get(path) {
                Some(seen) if seen.text != now.text => return Err(FileError::Changed(path.to_string())),
                None if is_unsaved => return Err(FileError::Unread(path.to_string())),
                _ => {}
            }
        }
        let known = match state.known(path, before.as_ref()) {
            Some(known) => known.in_text(text.as_str().into(), author),
            None if author == Author::Model => Known::all_of(text.as_str().into()),
            None => Known::nothing_of(text.as_str().into()),
        };
        match state.staged.remove(path) {
            Some(edit) => state.put(FileEdit { before, after: Some(text), ..edit }),
            None => match state.give_up_place(path) {
                Some(before) => state.put(FileEdit::of(path, Some(before), Some(text))),
                None => state.put(FileEdit::of(path, before, Some(text))),
            },
        }
        state.write(path, known);
        Ok(())
    }

    fn stage_deletion(&self, path: &FilePath) -> Result<(), FileError> {
        self.check_movable(path)?;
        let text = self.read_for_change(path)?;
        let mut state = self.state();
        state.written.remove(path);
        let Some(edit) = state.staged.remove(path) else {
            state.put(FileEdit::of(path, Some(text), None));
            return Ok(());
        };
        state.changed.insert(path.clone());
        if let Some(before) = edit.before {
            let origin = edit.moved_from.unwrap_or_else(|| path.clone());
            state.put(FileEdit::of(&origin, Some(before), None));
        }
        Ok(())
    }

    fn stage_move(&self, from: &FilePath, to: &FilePath) -> Result<(), FileError> {
        if from == to {
            return Err(FileError::SameFile(to.to_string()));
        }
        self.check_movable(from)?;
        self.workspace.check_editable(to)?;
        let Some(disk) = to.disk() else {
            return Err(FileError::Other(format!("{to} is not a file name; give a path")));
        };
        let text = self.read_for_change(from)?;
        if text.text.len() > MAX_EDIT_BYTES {
            return Err(FileError::TooLargeEdit(from.to_string()));
        }
        let staged = self.state().after(to);
        match staged {
            Some(Ok(_)) => return Err(FileError::Exists(to.to_string())),
            Some(Err(_)) => {}
            None if disk.is_dir() => return Err(FileError::Directory(to.to_string())),
            None if disk.symlink_metadata().is_ok() || self.workspace.open_document(to).is_some() => {
                return Err(FileError::Exists(to.to_string()));
            }
            None => self.check_place(to)?,
        }

        let mut state = self.state();
        let known = state.known(from, Some(&text));
        state.written.remove(from);
        let edit = state.staged.remove(from);
        state.changed.insert(from.clone());
        // Where the text came from before this turn, and what it was there; nothing for a file that the turn made.
        let (origin, after, text_from) = match edit {
            Some(edit) => {
                let place = edit.moved_from.unwrap_or(edit.path);
                (edit.before.map(|before| (place, before)), edit.after.unwrap_or_default(), edit.text_from)
            }
            None => (Some((from.clone(), text.clone())), text.text.to_string(), None),
        };
        let text_from = text_from.filter(|place| place != to);
        match (origin, state.give_up_place(to)) {
            (Some((origin, before)), None) if origin == *to => {
                let edit = FileEdit::of(to, Some(before), Some(after));
                state.put(FileEdit { text_from, ..edit });
            }
            (Some((origin, before)), None) => {
                let edit = FileEdit::of(to, Some(before), Some(after));
                state.put(FileEdit { moved_from: Some(origin), text_from, ..edit });
            }
            // The place held another file before this turn: that one gets the text, and the origin goes.
            (Some((origin, before)), Some(replaced)) => {
                let text_from = text_from.or_else(|| Some(origin.clone()));
                let edit = FileEdit::of(to, Some(replaced), Some(after));
                state.put(FileEdit { text_from, ..edit });
                state.put(FileEdit::of(&origin, Some(before), None));
            }
            (None, replaced) => {
                let edit = FileEdit::of(to, replaced, Some(after));
                state.put(FileEdit { text_from, ..edit });
            }
        }
        if let Some(known) = known {
            state.write(to, known);
        }
        Ok(())
    }

    /// What a file says, staged edits aside; `None` where there is none.
    pub(super) fn base(&self, path: &FilePath) -> Result<Option<FileText>, FileError> {
        match self.workspace.read(path) {
            Ok(text) => Ok(Some(text)),
            Err(FileError::Missing(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Brings the staged edit of a path up to its file, before that is changed. The error says that the model has to look
    /// at it again.
    fn follow_for(&self, change: &StagedChange) -> Result<(), FileError> {
        let path = change.place();
        match self.follow(path, Unfit::Dropped)? {
            Followed::Same => Ok(()),
            // It names the text that it replaces.
            Followed::Moved if matches!(change, StagedChange::Edit { .. }) => Ok(()),
            Followed::Moved | Followed::Unfit | Followed::Cut => Err(FileError::Changed(path.to_string())),
        }
    }
}

impl StagedChange {
    /// Where the text stands that the change is made to.
    fn place(&self) -> &FilePath {
        match self {
            Self::Write { path, .. } | Self::Edit { path, .. } | Self::Delete { path } => path,
            Self::Move { from, .. } => from,
        }
    }
}
