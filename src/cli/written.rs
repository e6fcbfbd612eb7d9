//! What became of a file that `--apply` was to write: a line for people, a member of an event for programs.

use std::fmt;

use serde::Serialize;

use crate::workspace::{EditProposal, FileEdit, FileError, FilePath, Workspace};

/// One file that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Written {
    path: String,
    change: Change,
    /// Where a moved file was.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    /// Lines.
    added: usize,
    removed: usize,
    /// What has become of it since, by a command of the turn or anybody else.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<Since>,
}

/// Why a file is not what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Since {
    Deleted,
    PutBack,
    /// Some or all of what was written is not there any more.
    Changed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Change {
    Created,
    Changed,
    Moved,
    Deleted,
}

impl Written {
    pub(super) fn of(edit: &FileEdit, since: Option<Since>) -> Self {
        let lines = |text: &str| text.lines().count();
        let hunks = edit.hunks();
        let (change, added, removed) = match (&edit.before, &edit.after) {
            (None, after) => (Change::Created, after.as_deref().map_or(0, lines), 0),
            (Some(before), None) => (Change::Deleted, 0, lines(&before.text)),
            (Some(_), Some(_)) => (
                if edit.moved_from.is_some() { Change::Moved } else { Change::Changed },
                hunks.iter().map(|hunk| hunk.after.len()).sum(),
                hunks.iter().map(|hunk| hunk.before.len()).sum(),
            ),
        };
        let from = edit.moved_from.as_ref().map(ToString::to_string);
        Self { path: edit.path.to_string(), change, from, added, removed, since }
    }
}

impl Since {
    /// Reads the file. One that cannot be read may be what was written.
    pub(super) fn of(edit: &FileEdit, workspace: &Workspace) -> Option<Self> {
        let text_at = |path| workspace.read(path).map(|now| now.text);
        let before = edit.before.as_ref().map(|before| &before.text);
        let is_put_back = |place| text_at(place).is_ok_and(|text| Some(&text) == before);
        match (workspace.read(&edit.path), &edit.after) {
            (Err(FileError::Missing(_)), Some(_)) => match &edit.moved_from {
                Some(place) if is_put_back(place) => Some(Self::PutBack),
                _ => Some(Self::Deleted),
            },
            (Ok(now), Some(after)) if *now.text == **after => None,
            (Ok(now), _) if Some(&now.text) == before && edit.moved_from.is_none() => Some(Self::PutBack),
            (Ok(now), Some(_)) if !edit.is_whole_in(&now) => Some(Self::Changed),
            // It was deleted, and another one is in its place.
            (Ok(_), None) => Some(Self::Changed),
            _ => None,
        }
    }
}

/// One file that was not written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct NotWritten {
    path: String,
    reason: String,
}

impl NotWritten {
    pub(super) fn new(path: &FilePath, reason: impl Into<String>) -> Self {
        Self { path: path.to_string(), reason: reason.into() }
    }

    /// Every file of a proposal, for the same reason.
    pub(super) fn all(proposal: &EditProposal, reason: &str) -> Vec<Self> {
        proposal.files.iter().map(|file| Self::new(&file.path, reason)).collect()
    }
}

/// As `not written: src/a.rs: it has changed since`.
impl fmt::Display for NotWritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not written: {}: {}", self.path, self.reason)
    }
}

/// As `written: src/a.rs (+3 -1)`, or `written: src/a.rs (+3 -1), deleted since`.
impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, from, added, removed, .. } = self;
        match (self.change, from) {
            (Change::Created, _) => write!(f, "written: {path} (new, +{added})"),
            (Change::Deleted, _) => write!(f, "deleted: {path} (-{removed})"),
            (_, Some(from)) => write!(f, "moved: {from} to {path} (+{added} -{removed})"),
            (_, None) => write!(f, "written: {path} (+{added} -{removed})"),
        }?;
        match self.since {
            None => Ok(()),
            Some(Since::Deleted) => write!(f, ", deleted since"),
            Some(Since::PutBack) => write!(f, ", put back since"),
            Some(Since::Changed) => write!(f, ", changed since"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, sync::Arc};

    use super::*;
    use crate::workspace::{StagedChange, TurnFiles};

    /// What is told of a deleted file, once its place holds this.
    fn deleted(now: Option<&str>) -> String {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::write(root.join("a.txt"), "one\ntwo\n").unwrap();
        let workspace = Arc::new(Workspace::new(vec![root.clone()]));
        let files = TurnFiles::new(Arc::clone(&workspace));
        let path = files.resolve("a.txt").unwrap();
        let text = files.read(&path).unwrap().text;
        files.show(&path, &text, std::slice::from_ref(&(0..usize::MAX)));
        files.stage_all(vec![StagedChange::Delete { path }]).unwrap();
        let edits = files.proposal().files;
        fs::remove_file(root.join("a.txt")).unwrap();
        if let Some(text) = now {
            fs::write(root.join("a.txt"), text).unwrap();
        }
        Written::of(&edits[0], Since::of(&edits[0], &workspace)).to_string()
    }

    #[test]
    fn of_a_deleted_file_it_is_told_that_one_is_there_again() {
        assert_eq!(deleted(None), "deleted: a.txt (-2)");
        assert_eq!(deleted(Some("one\ntwo\n")), "deleted: a.txt (-2), put back since");
        assert_eq!(deleted(Some("other\n")), "deleted: a.txt (-2), changed since");
    }
}
