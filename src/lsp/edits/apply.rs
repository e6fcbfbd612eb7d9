//! Applying accepted edits: one `WorkspaceEdit` through the editor, checked before and looked at after.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};

use super::{
    EditsWord,
    accept::Way,
    names::named,
    part::{PlaceNow, likeness, places},
    proposers::Whose,
    question::QUESTION_LIMIT,
    workspace_edit::{self, Target},
};
use crate::{
    agent::Reach,
    lsp::{
        editor::{RequestError, one_line},
        session::Session,
    },
    workspace::{
        EditProposal, FileEdit, FilePath, MAX_READ_BYTES, bounded, checkpoints::Direction, edit::Conflict,
    },
};

pub(super) const TAKES_NO_EDITS: &str = "this editor takes no edits from a language server";

/// How long the client may take to apply edits: some ask their user first.
pub(super) const APPLY_LIMIT: Duration = Duration::from_secs(120);

/// How long after the client's answer buffers and disk may take to show the edit.
const SETTLE_LIMIT: Duration = Duration::from_secs(2);

/// How long an editor takes at most to tell of what it did: Neovim keeps changes back for 150 ms, and opens a file a
/// moment after its answer. What shows something else after that will not change: the editor made something else of the
/// edit, or does not open the file for us.
const TELL_LIMIT: Duration = Duration::from_millis(500);

/// How soon the disk is looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Longest reason that an editor gives; more is no reason.
const MAX_REASON: usize = 500;

/// Reasons that a message gives; the others are counted.
const MAX_REASONS: usize = 5;

/// What became of the files of a proposal.
#[derive(Debug)]
pub(super) struct Applied {
    pub(super) word: EditsWord,
    pub(super) done: Vec<FileEdit>,
    pub(super) left: Vec<Left>,
    /// Of what was done, what has its checkpoint already.
    pub(super) kept: Vec<FilePath>,
    /// The editor said no to some of it. One that says yes and shows nothing may have a user who took it back.
    pub(super) is_refused: bool,
}

/// An edit that did not come about.
#[derive(Clone, Debug)]
pub(super) struct Left {
    pub(super) file: FileEdit,
    pub(super) reason: String,
    /// The editor does no such thing for a language server, so nobody needs to try again.
    pub(super) is_impossible: bool,
}

impl Applied {
    fn nothing(proposal: &EditProposal, word: EditsWord, reason: &str) -> Self {
        let left = left(&proposal.files, reason);
        Self { word, done: Vec::new(), left, kept: Vec::new(), is_refused: false }
    }
}

pub(super) fn left<F: std::borrow::Borrow<FileEdit>>(files: &[F], reason: &str) -> Vec<Left> {
    let left =
        |file: &F| Left { file: file.borrow().clone(), reason: reason.to_owned(), is_impossible: false };
    files.iter().map(left).collect()
}

impl Session {
    /// Applies a proposal through the editor as far as the editor goes along. New files that it does not make are written
    /// here, with the checkpoint of `whose` turn before; for an undo, which has no such turn, they are left to the caller.
    pub(super) async fn apply(
        self: &Arc<Self>,
        proposal: &EditProposal,
        way: Way,
        whose: Option<&Whose>,
    ) -> Applied {
        if !self.client().apply_edit {
            let reason = format!("{TAKES_NO_EDITS}; askls.showEdits has the diff");
            return Applied::nothing(proposal, EditsWord::Refused, &reason);
        }
        // The versions come before the look at the texts: a buffer that changes in between is newer than what is sent,
        // and the editor refuses.
        let targets: Vec<_> = proposal.files.iter().map(|file| self.target(file)).collect();
        if let Some(reason) = self.conflict(proposal).await {
            return Applied::nothing(proposal, EditsWord::Conflict, &reason);
        }
        let client = self.client();
        let mut plan = workspace_edit::plan(&targets, client.edits, client.encoding);
        let (mut done, mut remaining): (Vec<FileEdit>, Vec<Left>) = (Vec::new(), Vec::new());
        let mut is_refused = false;
        if let Some(edit) = &mut plan.edit {
            let limit = match way {
                Way::AtOnce | Way::Back(_) => APPLY_LIMIT,
                Way::Previewed => {
                    workspace_edit::ask_to_confirm(edit, &targets);
                    QUESTION_LIMIT
                }
            };
            let label = format!("{} in {}", what(way), named(&plan.through_editor));
            (done, remaining, is_refused) = self.send(edit, &plan.through_editor, &label, limit).await;
        }
        let mut kept = Vec::new();
        match (remaining.first().map(|left| left.reason.clone()), whose) {
            // New files belong to the rest.
            (Some(reason), _) => remaining.extend(left(&plan.on_disk, &reason)),
            (None, None) => plan.impossible.extend(plan.on_disk.iter().map(|&file| (file, "make"))),
            (None, Some(whose)) => {
                let new = plan.on_disk.iter().map(|&file| file.clone()).collect();
                let created = self.create_on_disk(new, whose).await;
                done.extend(created.done);
                kept = created.kept;
                remaining.extend(created.left);
            }
        }
        remaining.extend(plan.impossible.iter().map(|&(file, what)| Left {
            file: file.clone(),
            reason: format!(
                "this editor does not {what} files for a language server: {} stays proposed",
                file.path
            ),
            is_impossible: true,
        }));
        let word = if done.is_empty() { EditsWord::Refused } else { EditsWord::Applied };
        Applied { word, done, left: remaining, kept, is_refused }
    }

    /// Why the edits no longer fit their files.
    async fn conflict(self: &Arc<Self>, proposal: &EditProposal) -> Option<String> {
        let is_lost = |file: &&FileEdit| self.lost_documents.contains_key(&self.workspace.uri(&file.path));
        if let Some(lost) = proposal.files.iter().find(is_lost) {
            return Some(format!(
                "askls does not know the text of {} any more; close and reopen it",
                lost.path
            ));
        }
        let (session, proposal) = (Arc::clone(self), proposal.clone());
        let look = move || {
            let conflicts = proposal.conflicts(&session.workspace);
            let deletes = proposal.files.iter().any(|file| file.after.is_none());
            // Whoever keeps the edits meets the same error and tells of it.
            if let (true, true, Ok(Some(checkpoints))) =
                (conflicts.is_empty(), deletes, session.checkpoints())
            {
                checkpoints.note_modes(&proposal.files);
            }
            conflicts
        };
        let conflicts = match tokio::task::spawn_blocking(look).await {
            Ok(conflicts) => conflicts,
            Err(error) => return Some(format!("the files could not be compared: {error}")),
        };
        if conflicts.is_empty() { None } else { Some(reasons(&conflicts)) }
    }

    /// The version is the one that the buffer has now; that it says what the edit was made for is still to be seen.
    fn target<'a>(&self, file: &'a FileEdit) -> Target<'a> {
        let origin = file.moved_from.as_ref().unwrap_or(&file.path);
        Target {
            file,
            uri: self.workspace.uri(&file.path),
            from_uri: file.moved_from.as_ref().map(|from| self.workspace.uri(from)),
            version: self.workspace.open_document(origin).map(|document| document.version),
        }
    }

    /// Has the editor apply an edit, and looks what of it came about: some editors say yes to an edit that they
    /// skipped, some stop halfway, and in some the user picks. The last says whether it was refused.
    async fn send(
        &self,
        edit: &Value,
        files: &[&FileEdit],
        label: &str,
        limit: Duration,
    ) -> (Vec<FileEdit>, Vec<Left>, bool) {
        let mut params = json!({ "label": label, "edit": edit });
        if self.client().edits.metadata {
            // The editor saves what it did, if its user set it so; commands of the agent read the disk.
            params["metadata"] = json!({ "isRefactoring": true });
        }
        let answer = self.editor.request("workspace/applyEdit", params, limit).await;
        let refusal = match &answer {
            Ok(answer) if answer.get("applied").and_then(Value::as_bool) == Some(true) => None,
            Ok(answer) => Some(match answer.get("failureReason").and_then(Value::as_str) {
                Some(reason) => RequestError::Refused(one_line(reason, MAX_REASON)).to_string(),
                None => "the editor refused without a reason".to_owned(),
            }),
            Err(error) => Some(error.to_string()),
        };
        match &answer {
            Ok(_) if refusal.is_none() => self.settle(files).await,
            // Some refuse after they did a part, and what they did may not have been told yet.
            Ok(_) | Err(RequestError::Refused(_)) => _ = self.wait_for_files(TELL_LIMIT, files).await,
            Err(RequestError::TimedOut(_) | RequestError::Closed) => {}
        }
        let (mut done, mut left) = (Vec::new(), Vec::new());
        for &file in files {
            let (part, reason) = match (self.came_about(file, refusal.is_some()), &refusal) {
                (Came::Whole, _) => {
                    done.push(file.clone());
                    continue;
                }
                (Came::Part(part), reason) => {
                    let reason = reason.clone().unwrap_or_else(|| "the editor left them out".to_owned());
                    (Some(part), format!("some places of {}: {reason}", file.path))
                }
                (Came::Nothing, Some(reason)) => (None, reason.clone()),
                (Came::Nothing, None) => {
                    let path = &file.path;
                    (None, format!("the editor said that it applied the edits, but {path} did not change"))
                }
            };
            done.extend(part);
            left.push(Left { file: file.clone(), reason, is_impossible: false });
        }
        (done, left, refusal.is_some())
    }

    /// How much of an edit the text shows. After a refusal only what is surely there counts, otherwise all but what
    /// surely is not: the user may have typed since.
    fn came_about(&self, file: &FileEdit, is_refused: bool) -> Came {
        let nothing_known = if is_refused { Came::Nothing } else { Came::Whole };
        match self.sees(file) {
            Sees::After => return Came::Whole,
            Sees::Before => return Came::Nothing,
            Sees::Else if file.moved_from.is_some() => return nothing_known,
            Sees::Else => {}
        }
        let now = match self.workspace.open_document(&file.path) {
            Some(document) => Some(document.text.to_string()),
            // Who said yes may still have it in a buffer that is not told of.
            None => on_disk(&file.path).filter(|_| is_refused),
        };
        let Some(now) = now else { return nothing_known };
        let places = places(file, &now);
        let is_kept = |place: &PlaceNow| match is_refused {
            true => *place == PlaceNow::After,
            false => *place != PlaceNow::Before,
        };
        match places.iter().filter(|place| is_kept(place)).count() {
            _ if places.is_empty() => nothing_known,
            0 => Came::Nothing,
            kept if kept == places.len() => Came::Whole,
            _ => Came::Part(file.only(|index| places.get(index).is_some_and(is_kept))),
        }
    }

    /// Waits for what the editor has to tell of the files after it said that it applied the edits.
    async fn settle(&self, files: &[&FileEdit]) {
        let is_as_before = || files.iter().any(|file| self.sees(file) == Sees::Before);
        let wait = async { while !self.wait_for_files(TELL_LIMIT, files).await && is_as_before() {} };
        // What has not come about then is for the caller to see.
        let _ = tokio::time::timeout(SETTLE_LIMIT, wait).await;
    }

    /// Waits until all files are as their edits make them; `false` when the limit passes first. Nobody tells of files
    /// that are not open, so the disk is looked at again and again.
    pub(super) async fn wait_for_files(&self, limit: Duration, files: &[&FileEdit]) -> bool {
        let is_so = || files.iter().all(|file| self.sees(file) == Sees::After);
        let wait = async { while !self.wait_for_documents(LOOK_AGAIN, is_so).await {} };
        tokio::time::timeout(limit, wait).await.is_ok()
    }

    /// What the file holds now. Of one that is not open, its text says nothing until the editor opens or saves it; but
    /// whether there is a file at all, the disk must say soon.
    pub(super) fn sees(&self, file: &FileEdit) -> Sees {
        let buffer = self.workspace.open_document(&file.path);
        let is_same = likeness(file);
        match (buffer, &file.before, &file.after) {
            (Some(buffer), _, Some(after)) if is_same(after, &buffer.text) => Sees::After,
            (Some(buffer), Some(before), _)
                if file.moved_from.is_none() && is_same(&before.text, &buffer.text) =>
            {
                Sees::Before
            }
            // The editor has made the file, and its text is on the way.
            (Some(buffer), None, Some(after))
                if file.moved_from.is_none() && buffer.text.trim().is_empty() && !after.trim().is_empty() =>
            {
                Sees::Before
            }
            (None, _, Some(after)) if on_disk(&file.path).is_some_and(|text| is_same(after, &text)) => {
                Sees::After
            }
            (None, _, None) => match is_on_disk(&file.path) {
                Some(true) => Sees::Before,
                Some(false) => Sees::After,
                None => Sees::Else,
            },
            (None, before, Some(_)) if before.is_none() || file.moved_from.is_some() => {
                match is_on_disk(&file.path) {
                    Some(false) => Sees::Before,
                    _ => Sees::Else,
                }
            }
            _ => Sees::Else,
        }
    }

    /// How far an edit has come that the editor says it applied. Blocks on the disk.
    pub(super) fn reach(&self, file: &FileEdit) -> Reach {
        let Some(after) = &file.after else { return Reach::Saved };
        let saved = on_disk(&file.path);
        let is_same = likeness(file);
        let is_saved = |text: &str| saved.as_ref().is_some_and(|saved| is_same(saved, text));
        match (self.workspace.open_document(&file.path), &file.before) {
            (Some(buffer), _) if is_saved(&buffer.text) => Reach::Saved,
            (Some(_), _) => Reach::Buffer,
            (None, _) if is_saved(after) => Reach::Saved,
            // Saved, and changed on the way or since.
            (None, Some(before)) if !is_saved(&before.text) && saved.is_some() => Reach::Saved,
            (None, None) if saved.as_ref().is_some_and(|saved| !saved.trim().is_empty()) => Reach::Saved,
            (None, _) => Reach::Unseen,
        }
    }

    /// The files of edits that came about that the disk does not have. Blocks on the disk.
    pub(super) fn unsaved<'a>(&self, edits: impl IntoIterator<Item = &'a FileEdit>) -> Vec<FilePath> {
        let unsaved = edits.into_iter().filter(|edit| self.reach(edit) != Reach::Saved);
        unsaved.map(|edit| edit.path.clone()).collect()
    }
}

/// What an edit is, for the list of what the editor can undo.
fn what(way: Way) -> &'static str {
    match way {
        Way::AtOnce | Way::Previewed => "Agent edits",
        Way::Back(Direction::Undo) => "Undo of agent edits",
        Way::Back(Direction::Redo) => "Redo of agent edits",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sees {
    Before,
    After,
    /// Something else, or nothing.
    Else,
}

/// How much of an edit came about.
#[derive(Debug)]
enum Came {
    Whole,
    /// The edit of just these places.
    Part(FileEdit),
    Nothing,
}

/// `None` for what has no place on disk.
fn is_on_disk(path: &FilePath) -> Option<bool> {
    Some(path.disk()?.symlink_metadata().is_ok())
}

/// With its byte order mark.
fn on_disk(path: &FilePath) -> Option<String> {
    String::from_utf8(bounded::read(path.disk()?, MAX_READ_BYTES).ok()?).ok()
}

/// Each place once, with what changed there.
pub(super) fn reasons(conflicts: &[Conflict]) -> String {
    let mut reasons: Vec<&str> = Vec::new();
    for conflict in conflicts {
        if !reasons.contains(&conflict.reason.as_str()) {
            reasons.push(&conflict.reason);
        }
    }
    let others = match reasons.len().saturating_sub(MAX_REASONS) {
        0 => String::new(),
        others => format!("; and {others} more"),
    };
    reasons.truncate(MAX_REASONS);
    format!("{}{others}", reasons.join("; "))
}
