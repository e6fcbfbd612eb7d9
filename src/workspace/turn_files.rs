//! The workspace as one turn sees it, and what the turn has staged.

mod settle;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{EditProposal, FileEdit, FileError, FilePath, FileText, Workspace, suggest};

/// The largest text, old or new, of a staged edit, in bytes: what a person can still look through.
const MAX_EDIT_BYTES: usize = 2_000_000;

/// The workspace as one turn sees it: its own staged edits, then open buffers, then the disk. Methods block on file
/// I/O: async callers go through `spawn_blocking`.
#[derive(Debug)]
pub struct TurnFiles {
    workspace: Arc<Workspace>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// By the path where the file ends up. A file that was moved away has no entry of its own under its old path:
    /// a path is the place of one edit or the origin of one, never both.
    staged: BTreeMap<FilePath, FileEdit>,
    /// Paths whose entry changed since it was last asked.
    changed: BTreeSet<FilePath>,
    /// What each file said, staged edits aside, when this turn read it last.
    seen: BTreeMap<FilePath, Arc<str>>,
}

impl TurnFiles {
    pub fn new(workspace: Arc<Workspace>) -> Self {
        Self { workspace, state: Mutex::default() }
    }

    pub fn workspace(&self) -> &Arc<Workspace> {
        &self.workspace
    }

    /// From a path as a model writes it (relative to a root, `root-name/…` with several roots, absolute, or the URI
    /// of an open buffer that is no file) to a place inside the roots, symlinks resolved. The file need not exist.
    pub fn resolve(&self, path: &str) -> Result<FilePath, FileError> {
        let staged: BTreeSet<_> =
            self.state().staged.keys().filter_map(FilePath::disk).map(Path::to_owned).collect();
        self.workspace.folders().resolve(path, &self.workspace.overlay, |place| {
            staged.contains(place) || self.workspace.overlay.by_real_path(place).is_some()
        })
    }

    /// Whether there is a file (or buffer) of text or not, without reading it. A directory is none.
    pub fn exists(&self, path: &FilePath) -> bool {
        if let Some(staged) = self.state().after(path) {
            return staged.is_ok();
        }
        self.workspace.open_document(path).is_some() || path.disk().is_some_and(Path::is_file)
    }

    /// A read counts as seen by the model: see [`TurnFiles::stage`].
    pub fn read(&self, path: &FilePath) -> Result<FileText, FileError> {
        if let Some(staged) = self.state().after(path) {
            return staged;
        }
        let text = self.workspace.read(path).map_err(|error| self.with_names(error, path))?;
        self.state().seen.insert(path.clone(), Arc::clone(&text.text));
        Ok(text)
    }

    /// Stages the whole new text of a file that exists or not yet; line ends as given.
    ///
    /// Refused when the file has changed since this turn read it last or staged its first edit of it (that edit is
    /// then dropped), and when the editor holds unsaved text that this turn never read.
    pub fn stage(&self, path: &FilePath, text: String) -> Result<(), FileError> {
        self.workspace.check_editable(path)?;
        if text.contains('\0') {
            return Err(FileError::Other(format!(
                "the new text of {path} has a NUL character; leave it out"
            )));
        }
        let origin = self.origin(path);
        let before = match self.workspace.read(&origin) {
            Ok(before) => Some(before),
            Err(FileError::Missing(_)) if path.disk().is_some() => None,
            Err(error) => return Err(error),
        };
        let before_bytes = before.as_ref().map_or(0, |before| before.text.len());
        if text.len().max(before_bytes) > MAX_EDIT_BYTES {
            return Err(FileError::TooLargeEdit(path.to_string()));
        }
        if before.is_none() {
            self.check_place(path)?;
        }
        let unread = origin.disk().is_some_and(|disk| self.workspace.is_dirty(disk));
        let text = match (&before, text.strip_prefix('\u{feff}')) {
            (Some(before), Some(rest)) if before.bom => rest.to_owned(),
            _ => text,
        };

        let mut state = self.state();
        if let Some(edit) = state.staged.get(path) {
            if !edit.is_made_for(before.as_ref()) {
                state.staged.remove(path);
                state.changed.insert(path.clone());
                state.seen.remove(&origin);
                return Err(FileError::Changed(path.to_string()));
            }
        } else if let Some(now) = before.as_ref().filter(|_| !state.is_vacated(path)) {
            match state.seen.get(path) {
                Some(seen) if *seen != now.text => return Err(FileError::Changed(path.to_string())),
                None if unread => return Err(FileError::Unread(path.to_string())),
                _ => {}
            }
        }
        match state.staged.remove(path) {
            Some(edit) => state.put(FileEdit { before, after: Some(text), ..edit }),
            None => match state.give_up_place(path) {
                Some(before) => state.put(FileEdit::of(path, Some(before), Some(text))),
                None => state.put(FileEdit::of(path, before, Some(text))),
            },
        }
        Ok(())
    }

    /// Refused for text that this turn has not read, or not as it is now: see [`TurnFiles::stage`].
    pub fn stage_delete(&self, path: &FilePath) -> Result<(), FileError> {
        self.check_movable(path)?;
        let text = self.read_for_change(path)?;
        let mut state = self.state();
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

    /// `to` must not exist, and `from` must be as in [`TurnFiles::stage_delete`]. The text of a moved file can be edited before and after the move.
    pub fn stage_move(&self, from: &FilePath, to: &FilePath) -> Result<(), FileError> {
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
        Ok(())
    }

    /// Stages an edit that an earlier turn has proposed, with what it is tied to.
    pub fn restage(&self, edit: &FileEdit) -> Result<(), FileError> {
        // Only what was read may be changed; what there is not is made.
        let _ = self.read(edit.origin());
        if let Some(from) = &edit.moved_from {
            self.stage_move(from, &edit.path)?;
        }
        match &edit.after {
            Some(text) => self.stage(&edit.path, text.clone())?,
            None => self.stage_delete(&edit.path)?,
        }
        if let Some(staged) = self.state().staged.get_mut(&edit.path) {
            staged.text_from = edit.text_from.clone();
        }
        Ok(())
    }

    /// What has been staged so far.
    pub fn proposal(&self) -> EditProposal {
        EditProposal { files: self.state().staged.values().cloned().collect() }
    }

    /// The file edits that were staged or changed since this was last called.
    pub fn drain_changes(&self) -> Vec<FileEdit> {
        let mut state = self.state();
        let changed = std::mem::take(&mut state.changed);
        changed.iter().filter_map(|path| state.staged.get(path)).cloned().collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change of the state is whole before the guard goes, so a panic elsewhere does not spoil it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the text at a path came from before this turn: another path when it was moved here.
    fn origin(&self, path: &FilePath) -> FilePath {
        let state = self.state();
        let moved_from = state.staged.get(path).and_then(|edit| edit.moved_from.clone());
        moved_from.unwrap_or_else(|| path.clone())
    }

    /// The text of a file that is to go from its place. Refused as in [`TurnFiles::stage`]: what the user typed and the
    /// model has not seen is not taken away.
    fn read_for_change(&self, path: &FilePath) -> Result<FileText, FileError> {
        if let Some(staged) = self.state().after(path) {
            return staged;
        }
        let now = self.workspace.read(path).map_err(|error| self.with_names(error, path))?;
        let unread = path.disk().is_some_and(|disk| self.workspace.is_dirty(disk));
        match self.state().seen.get(path) {
            Some(seen) if *seen != now.text => Err(FileError::Changed(path.to_string())),
            None if unread => Err(FileError::Unread(path.to_string())),
            _ => Ok(now),
        }
    }

    /// Only files that are on disk, or that this turn made, can be moved or deleted.
    fn check_movable(&self, path: &FilePath) -> Result<(), FileError> {
        self.workspace.check_editable(path)?;
        let Some(disk) = path.disk() else {
            return Err(FileError::Unsaved(path.to_string()));
        };
        if self.state().after(path).is_some() {
            return Ok(());
        }
        if disk.is_dir() {
            return Err(FileError::Directory(path.to_string()));
        }
        if !disk.exists() && self.workspace.open_document(path).is_some() {
            return Err(FileError::Unsaved(path.to_string()));
        }
        Ok(())
    }

    /// Whether a new file can stand at a path: everything above is, or will be, a directory, and it is none itself.
    fn check_place(&self, path: &FilePath) -> Result<(), FileError> {
        let Some(disk) = path.disk() else { return Ok(()) };
        let above = disk.ancestors().skip(1).find(|above| above.symlink_metadata().is_ok());
        if above.is_some_and(|above| !above.is_dir()) {
            return Err(FileError::BelowFile(path.to_string()));
        }
        let state = self.state();
        for edit in state.staged.values().filter(|edit| edit.after.is_some()) {
            let Some(other) = edit.path.disk().filter(|other| *other != disk) else { continue };
            if disk.starts_with(other) {
                return Err(FileError::BelowFile(path.to_string()));
            }
            if other.starts_with(disk) {
                return Err(FileError::Directory(path.to_string()));
            }
        }
        Ok(())
    }

    /// Adds to a missing file's name what is near.
    pub(super) fn with_names(&self, error: FileError, path: &FilePath) -> FileError {
        if !matches!(error, FileError::Missing(_)) || path.disk().is_none() {
            return error;
        }
        let near = suggest::nearest(path.as_str(), &self.some_files());
        if near.is_empty() {
            return FileError::Missing(format!("{path}; list the files to see what there is"));
        }
        FileError::Missing(format!("{path}; near it are: {}", near.join(", ")))
    }
}

impl State {
    /// What staged edits say about a path: its text, that there is no file any more, or nothing.
    fn after(&self, path: &FilePath) -> Option<Result<FileText, FileError>> {
        if let Some(edit) = self.staged.get(path) {
            let Some(after) = &edit.after else {
                return Some(Err(FileError::Missing(format!(
                    "{path} any more: it was deleted in this turn"
                ))));
            };
            let version = edit.before.as_ref().and_then(|before| before.version);
            let bom = edit.before.as_ref().is_some_and(|before| before.bom);
            return Some(Ok(FileText { text: after.as_str().into(), version, bom }));
        }
        let moved = self.staged.values().find(|edit| edit.moved_from.as_ref() == Some(path))?;
        Some(Err(FileError::Missing(format!("{path} any more: it was moved to {} in this turn", moved.path))))
    }

    fn is_vacated(&self, path: &FilePath) -> bool {
        self.staged.values().any(|edit| edit.moved_from.as_ref() == Some(path))
    }

    /// Takes a place where this turn deleted a file, or from where it moved one, for another text: what stood there
    /// before the turn, if anything did. A move away becomes a new file at its target, which says the same without
    /// an order of moves that editors could get wrong.
    fn give_up_place(&mut self, path: &FilePath) -> Option<FileText> {
        if let Some(edit) = self.staged.remove(path) {
            return edit.before;
        }
        let moved = self.staged.values_mut().find(|edit| edit.moved_from.as_ref() == Some(path))?;
        let origin = moved.moved_from.take();
        moved.text_from = moved.text_from.take().or(origin);
        self.changed.insert(moved.path.clone());
        moved.before.take()
    }

    /// An edit that leaves everything as it was is none.
    fn put(&mut self, edit: FileEdit) {
        self.changed.insert(edit.path.clone());
        let same = edit.before.as_ref().map(|before| &*before.text) == edit.after.as_deref();
        if same && edit.moved_from.is_none() {
            self.staged.remove(&edit.path);
        } else {
            self.staged.insert(edit.path.clone(), edit);
        }
    }
}

impl TurnFiles {
    /// For the walker: the files that staged edits make or change, and those that they take away.
    pub(super) fn staged_places(&self) -> (BTreeMap<FilePath, FileText>, BTreeSet<FilePath>) {
        let state = self.state();
        let mut there = BTreeMap::new();
        let mut gone = BTreeSet::new();
        for edit in state.staged.values() {
            match state.after(&edit.path) {
                Some(Ok(text)) => {
                    there.insert(edit.path.clone(), text);
                }
                _ => {
                    gone.insert(edit.path.clone());
                }
            }
            gone.extend(edit.moved_from.clone());
        }
        (there, gone)
    }
}

#[cfg(test)]
mod tests;
