//! Applying accepted edits: one `WorkspaceEdit` through the editor, checked before and looked at after.

use std::{sync::Arc, time::Duration};

use super::{
    EditsWord,
    accept::Way,
    names::named,
    part::likeness,
    proposers::Whose,
    question::QUESTION_LIMIT,
    repair::Repaired,
    send::Watches,
    workspace_edit::{self, Target},
};
use crate::{
    agent::Reach,
    lsp::session::Session,
    workspace::{
        EditProposal, FileEdit, FilePath, MAX_READ_BYTES, bounded, checkpoints::Direction, edit::Conflict,
    },
};

pub(super) const TAKES_NO_EDITS: &str = "this editor takes no edits from a language server";

/// How long the client may take to apply edits: some ask their user first.
pub(super) const APPLY_LIMIT: Duration = Duration::from_secs(120);

/// How long after the client's answer buffers and disk may take to show the edit.
pub(super) const SETTLE_LIMIT: Duration = Duration::from_secs(2);

/// How long an editor takes at most to tell of what it did: Neovim keeps changes back for 150 ms, and opens a file a
/// moment after its answer. What shows something else after that will not change: the editor made something else of the
/// edit, or does not open the file for us.
pub(super) const TELL_LIMIT: Duration = Duration::from_millis(500);

/// How soon the disk is looked at again.
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Reasons that a message gives; the others are counted.
const MAX_REASONS: usize = 5;

/// What became of the files of a proposal.
#[derive(Debug)]
pub(super) struct Applied {
    pub(super) word: EditsWord,
    pub(super) done: Vec<FileEdit>,
    /// See [`super::send::Sent::seen`].
    pub(super) seen: Vec<FilePath>,
    pub(super) left: Vec<Left>,
    /// Of what was done, what has its checkpoint already.
    pub(super) kept: Vec<FilePath>,
    /// See [`super::send::Sent::is_refused`].
    pub(super) is_refused: bool,
    /// Of what was done, what landed in the wrong lines and stayed there.
    pub(super) misplaced: Vec<FilePath>,
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
        Self { left, ..Self::none(word) }
    }

    fn none(word: EditsWord) -> Self {
        let (done, seen, left) = (Vec::new(), Vec::new(), Vec::new());
        let (kept, misplaced) = (Vec::new(), Vec::new());
        Self { word, done, seen, left, kept, is_refused: false, misplaced }
    }

    /// With what became of more files.
    pub(super) fn and(&mut self, more: Self) {
        self.word = match self.word {
            EditsWord::Applied => EditsWord::Applied,
            _ => more.word,
        };
        self.done.extend(more.done);
        self.seen.extend(more.seen);
        self.left.extend(more.left);
        self.kept.extend(more.kept);
        self.misplaced.extend(more.misplaced);
        self.is_refused |= more.is_refused;
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
        if self.client().edits.document_changes {
            return self.apply_at_once(proposal, way, whose).await;
        }
        if let Some(reason) = self.conflict(proposal).await {
            return Applied::nothing(proposal, EditsWord::Conflict, &reason);
        }
        // Without versions an edit hits whatever the buffer says when it comes: the less is on its way at once, the less
        // can go wrong.
        let mut applied = Applied::none(EditsWord::Refused);
        for part in one_by_one(proposal) {
            let reason = applied.left.iter().find(|left| !left.is_impossible).map(|left| left.reason.clone());
            match reason {
                Some(reason) => applied.and(Applied::nothing(&part, EditsWord::Refused, &reason)),
                None => applied.and(self.apply_at_once(&part, way, whose).await),
            }
        }
        applied
    }

    async fn apply_at_once(
        self: &Arc<Self>,
        proposal: &EditProposal,
        way: Way,
        whose: Option<&Whose>,
    ) -> Applied {
        let is_open = |file: &FileEdit| self.workspace.open_document(file.origin()).is_some();
        if !self.client().edits.document_changes && proposal.files.iter().any(is_open) {
            self.wait_for_quiet().await;
        }
        // The versions come before the look at the texts: a buffer that changes in between is newer than what is sent,
        // and the editor refuses.
        let targets: Vec<_> = proposal.files.iter().map(|file| self.target(file)).collect();
        let texts = proposal.files.iter().filter(|file| file.moved_from.is_none() && file.after.is_some());
        let watches: Watches<'_> = texts
            .filter_map(|file| Some((file.path.clone(), self.trails.watch(&self.workspace, &file.path)?)))
            .collect();
        if let Some(reason) = self.conflict(proposal).await {
            return Applied::nothing(proposal, EditsWord::Conflict, &reason);
        }
        let client = self.client();
        let mut plan = workspace_edit::plan(&targets, client.edits, client.encoding);
        let (mut done, mut remaining): (Vec<FileEdit>, Vec<Left>) = (Vec::new(), Vec::new());
        let (mut is_refused, mut misplaced, mut seen) = (false, Vec::new(), Vec::new());
        if let Some(edit) = &mut plan.edit {
            let limit = match way {
                Way::AtOnce | Way::Back(_) => APPLY_LIMIT,
                Way::Previewed => {
                    workspace_edit::ask_to_confirm(edit, &targets);
                    QUESTION_LIMIT
                }
            };
            let label = format!("{} in {}", what(way), named(&plan.through_editor));
            let sent = self.send(edit, &plan.through_editor, &watches, (&label, way, limit)).await;
            (done, seen, remaining, is_refused) = (sent.done, sent.seen, sent.left, sent.is_refused);
            for file in sent.misplaced {
                let Repaired { done: happened, left, is_right } = self.repair(file).await;
                if !is_right {
                    misplaced.push(happened.path.clone());
                }
                done.push(happened);
                remaining.extend(left);
            }
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
        Applied { word, done, seen, left: remaining, kept, is_refused, misplaced }
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
            let is_noted = conflicts.is_empty() && proposal.files.iter().any(FileEdit::comes_or_goes);
            // Whoever keeps the edits meets the same error and tells of it.
            if is_noted && let Ok(Some(checkpoints)) = session.checkpoints() {
                checkpoints.note_before(&proposal.files);
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
    pub(super) fn target<'a>(&self, file: &'a FileEdit) -> Target<'a> {
        let origin = file.moved_from.as_ref().unwrap_or(&file.path);
        Target {
            file,
            uri: self.workspace.uri(&file.path),
            from_uri: file.moved_from.as_ref().map(|from| self.workspace.uri(from)),
            version: self.workspace.open_document(origin).map(|document| document.version),
        }
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

/// The edits of a proposal in the least parts that can be applied by themselves, new files last.
fn one_by_one(proposal: &EditProposal) -> Vec<EditProposal> {
    let mut parts: Vec<EditProposal> = Vec::new();
    for file in &proposal.files {
        if parts.iter().any(|part| part.files.contains(file)) {
            continue;
        }
        let together = proposal.together_with(&file.path);
        let files = proposal.files.iter().filter(|file| together.contains(&file.path)).cloned().collect();
        parts.push(EditProposal { files });
    }
    parts.sort_by_key(|part| part.files.iter().any(|file| file.before.is_none()));
    parts
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

/// `None` for what has no place on disk.
fn is_on_disk(path: &FilePath) -> Option<bool> {
    Some(path.disk()?.symlink_metadata().is_ok())
}

/// With its byte order mark.
pub(super) fn on_disk(path: &FilePath) -> Option<String> {
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
