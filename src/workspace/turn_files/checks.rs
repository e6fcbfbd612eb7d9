//! What a change is held against before it is staged: what the model knows of the file, and what can stand at its place.

use super::{
    TurnFiles,
    known::{Known, name_lines},
    stage::MAX_EDIT_BYTES,
};
use crate::workspace::{FileError, FilePath, FileText, guard};

impl TurnFiles {
    /// Why the text of a file may not be changed, if so, whether it exists or not.
    pub fn check_editable(&self, path: &FilePath) -> Result<(), FileError> {
        self.workspace.check_editable(path)?;
        if path.disk().is_some_and(guard::is_notebook) {
            return Err(FileError::Notebook(path.to_string()));
        }
        Ok(())
    }

    /// Refused while there is a line of the file that the model neither was shown nor wrote: it would be lost unseen.
    pub(super) fn check_known_whole(&self, path: &FilePath) -> Result<(), FileError> {
        let staged = self.state().after(path);
        let is_staged = staged.is_some();
        let now = match staged {
            Some(staged) => staged.ok(),
            None => self.base(path)?,
        };
        let Some(now) = now else { return Ok(()) };
        if now.text.len() > MAX_EDIT_BYTES {
            return Err(FileError::TooLargeEdit(path.to_string()));
        }
        let state = self.state();
        if !is_staged && state.seen.get(path).is_some_and(|seen| seen.text != now.text) {
            return Err(FileError::Changed(path.to_string()));
        }
        let known = state.known(path, Some(&now)).unwrap_or_else(|| Known::nothing_of(now.text));
        let unknown = known.unknown();
        if unknown.is_empty() {
            Ok(())
        } else if known.is_nothing() {
            Err(FileError::NotRead(path.to_string()))
        } else {
            Err(FileError::ReadInPart(path.to_string(), name_lines(&unknown)))
        }
    }

    /// Unsaved text is nowhere but in the editor: the model must have seen all of it before it is taken away.
    pub(super) fn check_unsaved_is_known(&self, path: &FilePath) -> Result<(), FileError> {
        let origin = self.origin(path);
        if !origin.disk().is_some_and(|disk| self.workspace.is_dirty(disk)) {
            return Ok(());
        }
        let state = self.state();
        if state.after(path).is_some_and(|staged| staged.is_err()) {
            // It goes already, which the caller is told by whoever looks for its text.
            return Ok(());
        }
        // Where the turn has changed the text, reads show what it made of it: what of the file is not in that any more,
        // the turn has replaced, and so knows.
        let known =
            if state.staged.contains_key(path) { state.written.get(path) } else { state.seen.get(&origin) };
        match known {
            None => Err(FileError::Unread(path.to_string())),
            Some(seen) => match seen.unknown() {
                unknown if unknown.is_empty() => Ok(()),
                _ if seen.is_nothing() => Err(FileError::Unread(path.to_string())),
                unknown => Err(FileError::ReadInPart(path.to_string(), name_lines(&unknown))),
            },
        }
    }

    /// The text of a file that is to go from its place. What the user typed and the model has not seen is not taken
    /// away.
    pub(super) fn read_for_change(&self, path: &FilePath) -> Result<FileText, FileError> {
        if let Some(staged) = self.state().after(path) {
            return staged;
        }
        let now = self.workspace.read(path).map_err(|error| self.with_names(error, path))?;
        let is_unsaved = path.disk().is_some_and(|disk| self.workspace.is_dirty(disk));
        match self.state().seen.get(path) {
            Some(seen) if seen.text != now.text => Err(FileError::Changed(path.to_string())),
            None if is_unsaved => Err(FileError::Unread(path.to_string())),
            _ => Ok(now),
        }
    }

    /// Only files that are on disk, or that this turn made, can be moved or deleted.
    pub(super) fn check_movable(&self, path: &FilePath) -> Result<(), FileError> {
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
    pub(super) fn check_place(&self, path: &FilePath) -> Result<(), FileError> {
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
}
