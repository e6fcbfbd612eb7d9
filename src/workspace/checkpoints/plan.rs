//! The edits that take a turn back, made for the files as they are now.
//!
//! | the file now | what is made of it |
//! |---|---|
//! | as the turn left it | as it was before the turn |
//! | as it was before the turn, or with what came later and nothing of the turn | nothing: it was taken back already |
//! | something else | the user's choice: without the turn's part ([`OnConflict::Merge`]), or as it was before the turn ([`OnConflict::Restore`]) |
//!
//! Several records are taken back one after the other, the newest first, each on what the last one leaves.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::workspace::{
    EditProposal, FileEdit, FileError, FilePath, FileText, StagedChange, TurnFiles, Workspace,
    apply::{self, Attributes, AttributesByPath},
    document::is_empty_line,
    paths,
};

use super::{
    Direction,
    merge::merge,
    record::{FileRecord, Kept, Record, TurnMark},
    store::{Store, TextError},
};

/// What becomes of files whose text has moved on since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnConflict {
    /// The turn's changes are taken out, and what came later stays. Where both have changed the same lines, they stay as
    /// they are.
    Merge,
    /// The whole file becomes what it was; what came later is kept in the checkpoint of the undo.
    Restore,
}

impl OnConflict {
    /// Whether who has given this answer beforehand wants to get on although nothing can be done about a turn, or some of
    /// it: the turn counts as taken back then. A merge gives up nothing.
    pub fn passes_over(self) -> bool {
        self == Self::Restore
    }
}

/// How a turn can be taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoPlan {
    pub direction: Direction,
    pub turn: TurnMark,
    /// Files whose text has moved on, so that the user has to choose. None: both proposals are the same.
    pub moved_on: Vec<MovedOn>,
    /// Files that are as before on the disk, while the editor that made the edit may hold it unsaved: another process
    /// cannot know.
    pub unsaved: Vec<String>,
    /// What cannot be taken back now, and why, in words for people.
    pub left: Vec<String>,
    /// Whether some of what is left may be had later: a file in the way can be moved, a damaged text does not come back.
    pub can_be_completed: bool,
    /// What of the journal could not be read.
    pub problems: Vec<String>,
    merged: EditProposal,
    restored: EditProposal,
    /// Of the files that the proposals write.
    pub(super) attributes: AttributesByPath,
    /// Folders that were made for what is taken back.
    made_folders: BTreeSet<PathBuf>,
    /// The records that are taken back.
    pub(super) records: Vec<String>,
    /// Whether all its files can be found here; those that cannot may be found by another editor.
    pub(super) is_reachable: bool,
}

/// A file that is not as the turn has left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovedOn {
    pub path: String,
    /// Places that a merge would leave as they are.
    pub touched: usize,
}

impl UndoPlan {
    /// The edits, ready to be applied like any others.
    pub fn proposal(&self, on_conflict: OnConflict) -> &EditProposal {
        match on_conflict {
            OnConflict::Merge => &self.merged,
            OnConflict::Restore => &self.restored,
        }
    }

    /// Gives files that an editor has made anew the mode bits that they had. What it has not saved yet gets those of a new
    /// file.
    pub fn restore_modes(&self, done: &[FileEdit]) {
        for edit in done.iter().filter(|edit| edit.before.is_none() && edit.after.is_some()) {
            let mode = self.attributes.get(&edit.path).and_then(|attributes| attributes.mode);
            let Some((mode, place)) = mode.zip(edit.path.disk()) else { continue };
            let is_file = place.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
            if let Err(error) = if is_file { apply::set_mode(place, mode) } else { Ok(()) } {
                tracing::warn!(%error, "a file came back without its mode bits");
            }
        }
    }

    /// Removes folders that were made for what is taken back and hold nothing any more, but none with a place in it that is
    /// `in_use`: a file that an editor may save there, or where somebody stands. Gives how many were removed.
    pub fn remove_made_folders(&self, in_use: &[PathBuf]) -> usize {
        let is_used = |folder: &PathBuf| in_use.iter().any(|place| place.starts_with(folder));
        // Those below come after those above them.
        let unused = self.made_folders.iter().rev().filter(|folder| !is_used(folder));
        // Fails for one that is not empty.
        unused.filter(|folder| fs::remove_dir(folder).is_ok()).count()
    }

    /// Nothing has to be done or decided: the files are as before already, or cannot be taken back.
    pub fn is_settled(&self) -> bool {
        self.moved_on.is_empty() && self.merged.is_empty()
    }

    /// Whether the same can be had of the same turn as by another plan.
    pub fn says(&self, other: &Self) -> bool {
        let said =
            |plan: &Self| (plan.records.clone(), plan.is_settled(), plan.left.clone(), plan.unsaved.clone());
        said(self) == said(other)
    }

    /// Whether some of the turn may be had later, here or in another editor.
    pub fn is_open(&self) -> bool {
        self.can_be_completed || !self.unsaved.is_empty()
    }
}

/// `records` newest first.
pub(super) fn plan(
    store: &Store,
    direction: Direction,
    turn: TurnMark,
    records: &[(String, Record)],
    workspace: &Arc<Workspace>,
    problems: Vec<String>,
) -> UndoPlan {
    let files = records.iter().flat_map(|(_, record)| &record.files);
    let (mut unusable, mut changes) = (Vec::new(), Vec::new());
    let (mut is_reachable, mut damaged) = (true, 0);
    for file in files {
        is_reachable &= workspace.recorded(&file.uri).is_ok();
        match change(store, file, workspace) {
            Ok(change) => changes.push(change),
            Err(TextError::Damaged(reason)) => {
                damaged += 1;
                unusable.push(format!("{}: {reason}", file.path));
            }
            Err(TextError::Unread(reason)) => unusable.push(format!("{}: {reason}", file.path)),
        }
    }
    let attributes = changes.iter().filter_map(Change::attributes).collect();
    let [merged, restored] = [OnConflict::Merge, OnConflict::Restore].map(|on_conflict| {
        let mut work = Work::new(workspace, on_conflict, unusable.clone());
        changes.iter().for_each(|change| work.take_back(change));
        work
    });
    UndoPlan {
        direction,
        turn,
        moved_on: merged.moved_on,
        unsaved: restored.unsaved,
        can_be_completed: restored.left.len() > damaged,
        left: restored.left,
        problems,
        merged: merged.files.proposal(),
        restored: restored.files.proposal(),
        attributes,
        made_folders: changes.iter().flat_map(Change::made_folders).map(Path::to_owned).collect(),
        records: records.iter().map(|(id, _)| id.clone()).collect(),
        is_reachable,
    }
}

struct Work {
    files: TurnFiles,
    on_conflict: OnConflict,
    moved_on: Vec<MovedOn>,
    unsaved: Vec<String>,
    left: Vec<String>,
}

/// One change with its texts.
struct Change {
    path: FilePath,
    moved_from: Option<FilePath>,
    before: Option<Text>,
    after: Option<Text>,
    unsaved: bool,
    mode: Option<u32>,
    made_folders: usize,
}

impl Change {
    fn made_folders(&self) -> impl Iterator<Item = &Path> {
        let above = self.path.disk().into_iter().flat_map(|place| place.ancestors().skip(1));
        above.take(self.made_folders)
    }

    /// Of the file as it was before; of several changes of one file the last one taken back counts.
    fn attributes(&self) -> Option<(FilePath, Attributes)> {
        let before = self.before.as_ref()?;
        let is_remarked = self.after.as_ref().is_some_and(|after| after.bom != before.bom);
        let attributes = Attributes { mode: self.mode, bom: is_remarked.then_some(before.bom) };
        Some((self.moved_from.as_ref().unwrap_or(&self.path).clone(), attributes))
    }
}

struct Text {
    text: String,
    bom: bool,
}

impl Text {
    fn is(&self, now: &FileText) -> bool {
        *self.text == *now.text || self.text.is_empty() && is_empty_line(&now.text)
    }

    /// For a file that is made anew, whose mark nobody else would write.
    fn with_mark(&self) -> String {
        if self.bom { format!("\u{feff}{}", self.text) } else { self.text.clone() }
    }
}

fn change(store: &Store, file: &FileRecord, workspace: &Workspace) -> Result<Change, TextError> {
    let path = |uri: &str| {
        let path = workspace.recorded(uri).map_err(|error| TextError::Unread(error.to_string()))?;
        // The record has the place where the file really was: what a link put there leads to is another file.
        let recorded = paths::from_uri(uri);
        match path.disk().zip(recorded.as_deref()) {
            Some((now, recorded)) if now != recorded => Err(TextError::Unread(format!(
                "a link leads to another file, {}, by now; put the file back in its place",
                now.display()
            ))),
            _ => Ok(path),
        }
    };
    let text = |kept: &Kept| Ok::<_, TextError>(Text { text: store.text(&kept.blob)?, bom: kept.bom });
    Ok(Change {
        path: path(&file.uri)?,
        moved_from: file.moved_from.as_deref().map(path).transpose()?,
        before: file.before.as_ref().map(text).transpose()?,
        after: file.after.as_ref().map(text).transpose()?,
        unsaved: file.unsaved,
        mode: file.mode,
        made_folders: file.made_folders,
    })
}

impl Work {
    fn new(workspace: &Arc<Workspace>, on_conflict: OnConflict, left: Vec<String>) -> Self {
        let files = TurnFiles::new(Arc::clone(workspace));
        Self { files, on_conflict, moved_on: Vec::new(), unsaved: Vec::new(), left }
    }

    /// What cannot be done to a file is told, and the others go on.
    fn take_back(&mut self, change: &Change) {
        if let Err(error) = self.stage(change) {
            self.left.push(format!("{}: {error}", change.path));
        }
    }

    fn stage(&mut self, change: &Change) -> Result<(), FileError> {
        let now = self.now(&change.path)?;
        let origin = match &change.moved_from {
            Some(from) => self.now(from)?,
            None => None,
        };
        let is_left = is_same(&change.after, &now) && origin.is_none();
        let is_before = match &change.moved_from {
            Some(_) => now.is_none() && is_same(&change.before, &origin),
            None => is_same(&change.before, &now),
        };
        // A process that was killed while it moved the file.
        let is_at_both =
            change.moved_from.is_some() && is_same(&change.after, &now) && is_same(&change.before, &origin);
        if is_left || is_at_both {
            return self.restore(change, now.as_ref(), origin.as_ref());
        }
        let merged = self.merged(change, now.as_ref(), origin.as_ref());
        // Nothing of the change is in the text any more, though the text has moved on.
        let is_out = match (&merged, &now) {
            (Some((Some(text), 0)), Some(now)) => change.moved_from.is_none() && **text == *now.text,
            _ => false,
        };
        if is_before || is_out {
            if change.unsaved && self.files.workspace().open_document(&change.path).is_none() {
                self.unsaved.push(change.path.to_string());
            }
            return Ok(());
        }
        self.note(&change.path, merged.as_ref().map_or(1, |(_, touched)| *touched));
        match (self.on_conflict, merged) {
            (OnConflict::Restore, _) => self.restore(change, now.as_ref(), origin.as_ref()),
            (OnConflict::Merge, Some((text, _))) => self.put_back(change, text),
            (OnConflict::Merge, None) => Ok(()),
        }
    }

    /// The text without the change, and the places where that is not to be had; `None` where a file is in the way or gone,
    /// and nothing can be merged.
    fn merged(
        &self,
        change: &Change,
        now: Option<&FileText>,
        origin: Option<&FileText>,
    ) -> Option<(Option<String>, usize)> {
        let (after, now) = (change.after.as_ref()?, now?);
        if origin.is_some() {
            return None;
        }
        let Some(before) = &change.before else {
            // The turn has made the file: what others have added to it stays.
            let merged = merge(&after.text, "", &now.text);
            return Some(((!merged.text.is_empty()).then_some(merged.text), merged.touched));
        };
        let merged = merge(&after.text, &before.text, &now.text);
        Some((Some(merged.text), merged.touched))
    }

    /// Back where it was, with this text; `None` deletes it.
    fn put_back(&self, change: &Change, text: Option<String>) -> Result<(), FileError> {
        let Some(text) = text else { return self.delete(&change.path) };
        let Some(from) = &change.moved_from else { return self.write(&change.path, text) };
        self.files.stage_for_user(StagedChange::Move { from: change.path.clone(), to: from.clone() })?;
        self.write(from, text)
    }

    fn write(&self, path: &FilePath, text: String) -> Result<(), FileError> {
        self.files.stage_for_user(StagedChange::Write { path: path.clone(), text })
    }

    fn delete(&self, path: &FilePath) -> Result<(), FileError> {
        self.files.stage_for_user(StagedChange::Delete { path: path.clone() })
    }

    /// Exactly what it was before the change, whatever is there now.
    fn restore(
        &self,
        change: &Change,
        now: Option<&FileText>,
        origin: Option<&FileText>,
    ) -> Result<(), FileError> {
        match (&change.before, &change.moved_from) {
            (None, _) if now.is_some() => self.delete(&change.path),
            (None, _) => Ok(()),
            (Some(before), None) if now.is_some() => self.write(&change.path, before.text.clone()),
            (Some(before), None) => self.write(&change.path, before.with_mark()),
            (Some(before), Some(_)) if now.is_some() && origin.is_none() => {
                self.put_back(change, Some(before.text.clone()))
            }
            (Some(before), Some(from)) => {
                let text = if origin.is_some() { before.text.clone() } else { before.with_mark() };
                self.write(from, text)?;
                if now.is_some() { self.delete(&change.path) } else { Ok(()) }
            }
        }
    }

    fn note(&mut self, path: &FilePath, touched: usize) {
        match self.moved_on.iter_mut().find(|file| file.path == path.as_str()) {
            Some(file) => file.touched += touched,
            None => self.moved_on.push(MovedOn { path: path.to_string(), touched }),
        }
    }

    /// `None` for a file that is not there.
    fn now(&self, path: &FilePath) -> Result<Option<FileText>, FileError> {
        match self.files.read(path) {
            Ok(text) => Ok(Some(text)),
            Err(FileError::Missing(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn is_same(text: &Option<Text>, now: &Option<FileText>) -> bool {
    match (text, now) {
        (Some(text), Some(now)) => text.is(now),
        (None, None) => true,
        _ => false,
    }
}
