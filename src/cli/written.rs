//! What became of a file that `--apply` was to write: a line for people, a member of an event for programs.

use std::fmt;

use serde::Serialize;

use crate::workspace::{EditProposal, FileEdit, FilePath};

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
    pub(super) fn of(edit: &FileEdit) -> Self {
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
        Self { path: edit.path.to_string(), change, from, added, removed }
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

/// As `written: src/a.rs (+3 -1)`.
impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, from, added, removed, .. } = self;
        match (self.change, from) {
            (Change::Created, _) => write!(f, "written: {path} (new, +{added})"),
            (Change::Deleted, _) => write!(f, "deleted: {path} (-{removed})"),
            (_, Some(from)) => write!(f, "moved: {from} to {path} (+{added} -{removed})"),
            (_, None) => write!(f, "written: {path} (+{added} -{removed})"),
        }
    }
}
