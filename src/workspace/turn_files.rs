//! The workspace as one turn sees it, and what the turn has staged.
//!
//! A turn keeps what it has read of each file, and which lines of it the model was shown. Whether a file is still what
//! the model knows is decided by its text alone, looked up anew (in the open buffer, else on disk) with every call:
//! versions, times and closed buffers say less.
//!
//! | the file | read | edit | write whole | delete | move |
//! |---|---|---|---|---|---|
//! | there is none | refused, with what is near | refused | created | refused | refused |
//! | never read in this turn | its text | made in it | refused | staged | staged |
//! | never read, unsaved text in its open buffer | the buffer | made in the buffer | refused | refused | refused |
//! | read in part, or lines were cut | its text | made in it | refused, with the lines | staged, unless unsaved | staged |
//! | read whole | its text | made in it | staged | staged | staged |
//! | its open buffer has changed since | the buffer as it is now | made in that | refused | refused | refused |
//! | a command or somebody else has changed it on disk | the disk as it is now | made in that | refused | refused | refused |
//! | closed after editing, unsaved | the disk | made in that | refused | refused | refused |
//! | deleted by somebody since | refused | refused | created | refused | refused |
//! | created by somebody since | its text | made in it | refused | staged | staged |
//! | has a staged edit | the staged text | made in that | staged, when each of its lines was shown or written | the edit goes, and the file with it | goes along |
//! | has a staged edit, and has changed beneath it | the edit moves along: the staged text with the change | made in that | refused | refused | refused |
//! | the same, in lines that the edit changes | the staged text | refused, and what does not fit is dropped | the same | the same | the same |
//!
//! An edit needs no earlier read: it names the text that it replaces, which must stand there now and only once.
//! "Refused" means that nothing changes and that the error says what to read first.

mod checks;
mod follow;
mod known;
mod reach;
mod settle;
mod stage;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{
    EditProposal, FileEdit, FileError, FilePath, FileText, Surroundings, Workspace,
    keys::{self, Masking},
    suggest,
};

pub use reach::Purpose;
pub use stage::StagedChange;

use follow::{Earlier, Unfit};
use known::{Author, Known};
use reach::LetIn;

/// The workspace as one turn sees it: its own staged edits, then open buffers, then the disk. Methods block on file
/// I/O: async callers go through `spawn_blocking`.
#[derive(Debug)]
pub struct TurnFiles {
    workspace: Arc<Workspace>,
    state: Mutex<State>,
    /// Held while something is staged, so that what was looked up still holds when it is. Reads never wait for it.
    staging: Mutex<()>,
    outlook: Outlook,
    masking: Masking,
    surroundings: Surroundings,
}

/// What becomes of staged edits when the turn has come to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outlook {
    /// The user decides about them.
    #[default]
    Proposed,
    /// They are applied without a further word of the user.
    Applied,
    /// The same, and before each command that the turn runs.
    Written,
}

#[derive(Debug, Default)]
struct State {
    /// By the path where the file ends up. A file that was moved away has no entry of its own under its old path:
    /// a path is the place of one edit or the origin of one, never both.
    staged: BTreeMap<FilePath, FileEdit>,
    /// Paths whose entry changed since it was last asked.
    changed: BTreeSet<FilePath>,
    /// What each file said, staged edits aside, when this turn read it last.
    seen: BTreeMap<FilePath, Known>,
    /// The same for the staged text of each file that has one.
    written: BTreeMap<FilePath, Known>,
    /// What of the staged edits earlier turns have proposed.
    earlier: Option<Earlier>,
    let_in: LetIn,
    /// Where something was staged while a command of the turn began, which sees only the disk.
    unseen: BTreeSet<FilePath>,
}

/// What staging changes, to be put back.
struct Snapshot {
    staged: BTreeMap<FilePath, FileEdit>,
    changed: BTreeSet<FilePath>,
    written: BTreeMap<FilePath, Known>,
}

impl TurnFiles {
    pub fn new(workspace: Arc<Workspace>) -> Self {
        Self {
            workspace,
            state: Mutex::default(),
            staging: Mutex::default(),
            outlook: Outlook::default(),
            masking: Masking::default(),
            surroundings: Surroundings::default(),
        }
    }

    #[must_use]
    pub fn with_outlook(self, outlook: Outlook) -> Self {
        Self { outlook, ..self }
    }

    pub fn outlook(&self) -> Outlook {
        self.outlook
    }

    #[must_use]
    pub fn with_masking(self, masking: Masking) -> Self {
        Self { masking, ..self }
    }

    pub fn masking(&self) -> Masking {
        self.masking
    }

    /// A text of a file as the model may be shown it, in as many lines. To be made of the whole text: what is a key is
    /// not always seen in a part of it.
    pub fn shown<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.masking {
            Masking::On => keys::masked(text),
            Masking::Off => Cow::Borrowed(text),
        }
    }

    /// A part of such a text.
    pub fn shown_part<'a>(&self, text: &'a str, part: Range<usize>) -> Cow<'a, str> {
        match self.masking {
            Masking::On => keys::masked_part(text, part),
            Masking::Off => Cow::Borrowed(text.get(part).unwrap_or_default()),
        }
    }

    /// What is said of a text, without its keys.
    pub fn said(&self, said: String, text: &str) -> String {
        match self.masking {
            Masking::On => keys::masked_as_in(&said, text).into_owned(),
            Masking::Off => said,
        }
    }

    pub fn workspace(&self) -> &Arc<Workspace> {
        &self.workspace
    }

    /// Whether there is a file (or buffer) of text or not, without reading it. A directory is none.
    pub fn exists(&self, path: &FilePath) -> bool {
        if let Some(staged) = self.state().after(path) {
            return staged.is_ok();
        }
        self.workspace.open_document(path).is_some() || path.disk().is_some_and(Path::is_file)
    }

    /// Takes notice of what the file says now: later changes are held against it. What of it reaches the model is for
    /// [`TurnFiles::show`] to say.
    pub fn read(&self, path: &FilePath) -> Result<FileText, FileError> {
        self.follow(path, Unfit::Kept)?;
        if let Some(staged) = self.state().after(path) {
            return staged;
        }
        let seen = self.state().seen.get(path).map(|seen| Arc::clone(&seen.text));
        let text = self.workspace.read_again(path, seen.as_ref());
        let text = text.map_err(|error| self.with_names(error, path))?;
        self.state().see(path, &text.text);
        Ok(text)
    }

    /// The model is shown these whole lines (as [`str::lines`] counts them, from zero) of a text that [`TurnFiles::read`]
    /// or a staged edit gave.
    pub fn show(&self, path: &FilePath, text: &str, lines: &[Range<usize>]) {
        let mut state = self.state();
        let is_staged = state.staged.contains_key(path);
        let known = if is_staged { state.written.get_mut(path) } else { state.seen.get_mut(path) };
        if let Some(known) = known.filter(|known| *known.text == *text) {
            lines.iter().for_each(|lines| known.show(lines.clone()));
        }
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
    /// Takes notice of what a file says, staged edits aside.
    fn see(&mut self, path: &FilePath, text: &Arc<str>) {
        let known = match self.seen.get(path) {
            Some(seen) => seen.in_text(Arc::clone(text), Author::Other),
            None => Known::nothing_of(Arc::clone(text)),
        };
        self.seen.insert(path.clone(), known);
    }

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

    /// What the model knows of what it would read at a path; `now` is what stands there, staged edits aside. `None` where
    /// there is no text.
    fn known(&self, path: &FilePath, now: Option<&FileText>) -> Option<Known> {
        match self.after(path) {
            Some(Ok(staged)) => {
                Some(self.written.get(path).cloned().unwrap_or_else(|| Known::nothing_of(staged.text)))
            }
            Some(Err(_)) => None,
            None => {
                let now = Arc::clone(&now?.text);
                Some(match self.seen.get(path) {
                    Some(seen) => seen.in_text(now, Author::Other),
                    None => Known::nothing_of(now),
                })
            }
        }
    }

    /// Takes notice of what the model knows of a staged text.
    fn write(&mut self, path: &FilePath, known: Known) {
        if self.staged.contains_key(path) {
            self.written.insert(path.clone(), known);
        } else {
            // What it says is what stands there anyway.
            self.written.remove(path);
        }
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot { staged: self.staged.clone(), changed: self.changed.clone(), written: self.written.clone() }
    }

    fn restore(&mut self, snapshot: Snapshot) {
        let Snapshot { staged, changed, written } = snapshot;
        (self.staged, self.changed, self.written) = (staged, changed, written);
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
        if edit.changes_nothing() {
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
