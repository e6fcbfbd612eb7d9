//! Applying accepted edits: one `WorkspaceEdit` through the editor, checked before and looked at after.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};

use super::{
    Accepted, EditsWord, named,
    workspace_edit::{self, Target},
};
use crate::{
    lsp::session::Session,
    protocol::ThreadId,
    workspace::{EditProposal, FileEdit, FilePath, edit::Conflict},
};

/// How long the client may take to apply edits: some ask their user first.
const APPLY_LIMIT: Duration = Duration::from_secs(120);

/// How long after the client's answer buffers and disk may take to show the edit.
const SETTLE_LIMIT: Duration = Duration::from_secs(2);

/// How soon the disk is looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

impl Session {
    /// Applies the edits of one file, or all, of an offer. What does not come about stays offered, and so does
    /// everything when the future is dropped.
    pub(super) async fn accept(self: &Arc<Self>, thread_id: &ThreadId, only: Option<&str>) -> Accepted {
        let proposal = self.take_offer(thread_id, only);
        if proposal.is_empty() {
            return Accepted::refused("there are no proposed edits in this file");
        }
        let mut left =
            PutBack { session: self, thread_id, files: proposal.files.clone(), is_interrupted: true };
        let (accepted, files) = self.apply(&proposal).await;
        left.files = files;
        left.is_interrupted = false;
        accepted
    }

    async fn apply(self: &Arc<Self>, proposal: &EditProposal) -> (Accepted, Vec<FileEdit>) {
        let refuse = |word, reason: String| {
            (Accepted { word, files: Vec::new(), reason: Some(reason) }, proposal.files.clone())
        };
        if !self.client().apply_edit {
            let reason = "this editor takes no edits from a language server; askls.showEdits has the diff";
            return refuse(EditsWord::Refused, reason.to_owned());
        }
        if let Some(reason) = self.conflict(proposal).await {
            return refuse(EditsWord::Conflict, reason);
        }
        let targets: Vec<_> = proposal.files.iter().map(|file| self.target(file)).collect();
        let plan = workspace_edit::plan(&targets, self.client().edits, self.client().encoding);
        if let Some(edit) = &plan.edit
            && let Err(reason) = self.send(edit, &plan.through_editor).await
        {
            return refuse(EditsWord::Refused, reason);
        }
        let mut done = plan.through_editor.clone();
        let mut reasons = Vec::new();
        match self.create_on_disk(&plan.on_disk).await {
            Ok(()) => done.extend(plan.on_disk.iter().copied()),
            Err(reason) => reasons.push(reason),
        }
        reasons.extend(plan.impossible.iter().map(|(file, what)| {
            format!("this editor does not {what} files for a language server: {} stays proposed", file.path)
        }));
        let left = proposal.files.iter().filter(|file| !done.contains(file)).cloned().collect();
        let accepted = Accepted {
            word: if done.is_empty() { EditsWord::Refused } else { EditsWord::Applied },
            files: done.iter().map(|file| self.workspace.uri(&file.path)).collect(),
            reason: (!reasons.is_empty()).then(|| reasons.join("; ")),
        };
        (accepted, left)
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
        let (workspace, proposal) = (Arc::clone(&self.workspace), proposal.clone());
        let conflicts = match tokio::task::spawn_blocking(move || proposal.conflicts(&workspace)).await {
            Ok(conflicts) => conflicts,
            Err(error) => return Some(format!("the files could not be compared: {error}")),
        };
        if conflicts.is_empty() { None } else { Some(format!("not applied: {}", reasons(&conflicts))) }
    }

    /// The version is the one that the buffer has now: it says what the edit was made for, or there was a conflict.
    fn target<'a>(&self, file: &'a FileEdit) -> Target<'a> {
        let origin = file.moved_from.as_ref().unwrap_or(&file.path);
        Target {
            file,
            uri: self.workspace.uri(&file.path),
            from_uri: file.moved_from.as_ref().map(|from| self.workspace.uri(from)),
            version: self.workspace.open_document(origin).map(|document| document.version),
        }
    }

    /// Has the editor apply an edit, and looks whether it did: some editors say yes to an edit that they skipped.
    async fn send(&self, edit: &Value, files: &[&FileEdit]) -> std::result::Result<(), String> {
        let mut params = json!({ "label": format!("Agent edits in {}", named(files)), "edit": edit });
        if self.client().edits.metadata {
            // The editor saves what it did, if its user set it so; commands of the agent read the disk.
            params["metadata"] = json!({ "isRefactoring": true });
        }
        let answer = self.editor.request("workspace/applyEdit", params, APPLY_LIMIT).await;
        let answer = answer.map_err(|error| format!("not applied: {error}"))?;
        if answer.get("applied").and_then(Value::as_bool) != Some(true) {
            return Err(match answer.get("failureReason").and_then(Value::as_str) {
                Some(reason) => format!("the editor did not apply the edits: {reason}"),
                None => "the editor did not apply the edits".to_owned(),
            });
        }
        self.wait_for_files(SETTLE_LIMIT, files).await;
        match files.iter().find(|file| self.sees(file) == Sees::Before) {
            Some(file) => {
                Err(format!("the editor said that it applied the edits, but {} did not change", file.path))
            }
            None => Ok(()),
        }
    }

    /// Waits until all files are as their edits make them. Nobody tells of files that are not open, so the disk is
    /// looked at again and again.
    async fn wait_for_files(&self, limit: Duration, files: &[&FileEdit]) {
        let is_so = || files.iter().all(|file| self.sees(file) == Sees::After);
        let wait = async { while !self.wait_for_documents(LOOK_AGAIN, is_so).await {} };
        // What has not come about then is for the caller to see.
        let _ = tokio::time::timeout(limit, wait).await;
    }

    /// What the file holds now. Of one that is not open, its text says nothing until the editor opens or saves it; but
    /// whether there is a file at all, the disk must say soon.
    fn sees(&self, file: &FileEdit) -> Sees {
        let buffer = self.workspace.open_document(&file.path);
        let is_same = |text: &str, other: &str| text.lines().eq(other.lines());
        match (buffer, &file.before, &file.after) {
            (Some(buffer), _, Some(after)) if is_same(after, &buffer.text) => Sees::After,
            (Some(buffer), Some(before), _)
                if file.moved_from.is_none() && is_same(&before.text, &buffer.text) =>
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

    /// Writes new files for an editor that makes none.
    async fn create_on_disk(self: &Arc<Self>, files: &[&FileEdit]) -> std::result::Result<(), String> {
        if files.is_empty() {
            return Ok(());
        }
        let proposal = EditProposal { files: files.iter().map(|&file| file.clone()).collect() };
        let workspace = Arc::clone(&self.workspace);
        let written = tokio::task::spawn_blocking(move || proposal.apply_to_disk(&workspace)).await;
        match written {
            Ok(Ok(())) => Ok(()),
            Ok(Err(conflicts)) => Err(format!("new files were not written: {}", reasons(&conflicts))),
            Err(error) => Err(format!("new files were not written: {error}")),
        }
    }
}

/// Edits that are offered again in the end.
struct PutBack<'a> {
    session: &'a Arc<Session>,
    thread_id: &'a ThreadId,
    files: Vec<FileEdit>,
    /// The edits may be with the editor, which cannot be told to leave them.
    is_interrupted: bool,
}

impl Drop for PutBack<'_> {
    fn drop(&mut self) {
        let mut files = std::mem::take(&mut self.files);
        if self.is_interrupted {
            files.retain(|file| self.session.sees(file) != Sees::After);
            self.watch(files.clone());
        }
        self.session.put_back(self.thread_id, files);
    }
}

impl PutBack<'_> {
    /// Edits that the editor applies though nobody waits for its answer any more are not offered for ever.
    fn watch(&self, files: Vec<FileEdit>) {
        let (session, thread_id) = (Arc::clone(self.session), self.thread_id.clone());
        self.session.spawn(async move {
            let all: Vec<_> = files.iter().collect();
            session.wait_for_files(APPLY_LIMIT, &all).await;
            let done: Vec<_> =
                files.iter().filter(|file| session.sees(file) == Sees::After).cloned().collect();
            session.forget_edits(&thread_id, &done);
        });
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sees {
    Before,
    After,
    /// Something else, or nothing.
    Else,
}

/// `None` for what has no place on disk.
fn is_on_disk(path: &FilePath) -> Option<bool> {
    Some(path.disk()?.symlink_metadata().is_ok())
}

fn on_disk(path: &FilePath) -> Option<String> {
    std::fs::read_to_string(path.disk()?).ok()
}

fn reasons(conflicts: &[Conflict]) -> String {
    let reasons: Vec<_> =
        conflicts.iter().map(|conflict| format!("{}: {}", conflict.path, conflict.reason)).collect();
    reasons.join("; ")
}
