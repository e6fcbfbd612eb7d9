//! What is kept of one go of applied edits, and what a person is told of it.

use std::{
    io,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};

use crate::{
    protocol::ThreadId,
    workspace::{FileEdit, FilePath, FileText, Workspace, disk, paths},
};

use super::{blob::BlobId, store::Store};

/// Records of another version were written by another askls, which may mean something else by them.
pub(super) const VERSION: u32 = 1;

/// Characters of the prompt by which a turn is called.
const LABEL_LENGTH: usize = 60;

/// What became of a file that is gone.
pub(super) const DELETED: &str = "deleted";

/// Which turn edits came out of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnMark {
    pub thread: ThreadId,
    /// Unlike that of any other turn, whichever process it ran in.
    pub turn: u64,
    /// The first words of the prompt, on one line.
    pub label: String,
}

impl TurnMark {
    /// For a turn that begins.
    pub fn new(thread: &ThreadId, prompt: &str) -> Self {
        let mut label = String::new();
        for word in prompt.split_whitespace() {
            if label.chars().count() + word.chars().count() > LABEL_LENGTH {
                let room = LABEL_LENGTH.saturating_sub(label.chars().count());
                // A word without an end, as a text without blanks.
                if label.is_empty() {
                    label.extend(word.chars().take(room));
                }
                label.push('…');
                break;
            }
            if !label.is_empty() {
                label.push(' ');
            }
            label.push_str(word);
        }
        Self { thread: thread.clone(), turn: rand::random(), label }
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.thread == other.thread && self.turn == other.turn
    }
}

/// What has changed the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Turn,
    Undo,
    Redo,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) version: u32,
    pub(super) kind: Kind,
    /// Of an undo or redo: the turn that it undoes or redoes.
    #[serde(flatten)]
    pub(super) turn: TurnMark,
    /// Milliseconds since 1970.
    pub(super) time: u64,
    /// The records that this one takes back as a whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) undoes: Vec<String>,
    pub(super) files: Vec<FileRecord>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileRecord {
    /// As people read it; not used to find the file.
    pub(super) path: String,
    pub(super) uri: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) moved_from: Option<String>,
    /// `None`: there was no file.
    pub(super) before: Option<Kept>,
    /// `None`: there was no file any more.
    pub(super) after: Option<Kept>,
    /// The editor had it, and the disk not yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) unsaved: bool,
    /// Mode bits of the file before; `None` where nobody looked before it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) mode: Option<u32>,
    /// How many of the folders above the file, the nearest first, were made for it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) made_folders: usize,
}

/// A kept text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kept {
    pub(super) blob: BlobId,
    /// A byte order mark stood before it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) bom: bool,
}

/// One file of a checkpoint, for a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// `edited`, `created`, `deleted` or `moved`.
    pub what: &'static str,
    /// As it stands in the record: it may hold characters that a terminal must not get.
    pub path: String,
}

impl Record {
    pub(super) fn new(
        kind: Kind,
        turn: &TurnMark,
        undoes: Vec<String>,
        files: Vec<FileRecord>,
        now: SystemTime,
    ) -> Self {
        let time = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis();
        let time = u64::try_from(time).unwrap_or(u64::MAX);
        Self { version: VERSION, kind, turn: turn.clone(), time, undoes, files }
    }

    pub(super) fn time(&self) -> SystemTime {
        let time = Duration::from_millis(self.time);
        SystemTime::UNIX_EPOCH.checked_add(time).unwrap_or(SystemTime::UNIX_EPOCH)
    }

    pub(super) fn blobs(&self) -> impl Iterator<Item = &BlobId> {
        self.files.iter().flat_map(|file| [&file.before, &file.after]).flatten().map(|kept| &kept.blob)
    }
}

impl FileRecord {
    pub(super) fn summary(&self) -> ChangedFile {
        let what = match (&self.before, &self.after, &self.moved_from) {
            (_, None, _) => DELETED,
            (_, Some(_), Some(_)) => "moved",
            (None, Some(_), None) => "created",
            (Some(_), Some(_), None) => "edited",
        };
        ChangedFile { what, path: self.path.clone() }
    }
}

/// Keeps the texts of one applied edit.
pub(super) fn file(
    store: &Store,
    edit: &FileEdit,
    workspace: &Workspace,
    now: SystemTime,
) -> io::Result<FileRecord> {
    let keep = |text: &str, bom: bool| -> io::Result<Kept> {
        Ok(Kept { blob: store.put(text.as_bytes(), now)?, bom })
    };
    let before = edit.before.as_ref().map(|before| keep(&before.text, before.bom)).transpose()?;
    let now = workspace.read(&edit.path).ok();
    let left = edit.after.as_ref().map(|asked| left(edit, asked, now.as_ref()));
    let on_disk = edit.path.disk().and_then(|disk| disk::read(disk, "").ok()).map(|text| text.text);
    // Saved as it was asked for, or with what the user has typed since.
    let is_saved = on_disk.as_deref() == left.as_ref().map(|(text, _)| text.as_str())
        || (on_disk.as_deref() == now.as_ref().map(|now| &*now.text) && !edit.is_made_for(now.as_ref()));
    let after = left.map(|(text, bom)| keep(&text, bom)).transpose()?;
    Ok(FileRecord {
        unsaved: !is_saved,
        mode: None,
        made_folders: 0,
        path: edit.path.to_string(),
        uri: uri(&edit.path),
        moved_from: edit.moved_from.as_ref().map(uri),
        before,
        after,
    })
}

/// How many folders an edit has to make for its file, before it comes about.
pub(super) fn missing_folders(edit: &FileEdit) -> usize {
    let Some(place) = edit.path.disk().filter(|_| edit.after.is_some()) else { return 0 };
    place.ancestors().skip(1).take_while(|folder| folder.symlink_metadata().is_err()).count()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// What an edit has left in its file: what was asked for, with the line ends that the editor has made of it. What else the
/// file holds now came from the user, who types on while the edit is kept, and is theirs.
fn left(edit: &FileEdit, asked: &str, now: Option<&FileText>) -> (String, bool) {
    let asked = disk::without_mark(asked, None);
    match now {
        Some(now) if !edit.is_made_for(Some(now)) && now.text.lines().eq(asked.text.lines()) => {
            (now.text.to_string(), now.bom)
        }
        _ => {
            let was_marked = edit.before.as_ref().is_some_and(|before| before.bom);
            (asked.text.to_string(), asked.bom || was_marked)
        }
    }
}

/// A name that finds the file again whatever the roots are called.
fn uri(path: &FilePath) -> String {
    path.disk().map_or_else(|| path.to_string(), paths::to_uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_called_by_the_first_words_of_its_prompt() {
        let label = |prompt: &str| TurnMark::new(&ThreadId::from("t"), prompt).label;
        assert_eq!(label("Make it\n\n B."), "Make it B.");
        assert_eq!(label(&"words ".repeat(30)), format!("{}…", ["words"; 10].join(" ")));
        assert_eq!(label(&"x".repeat(100)), format!("{}…", "x".repeat(60)));
    }
}
