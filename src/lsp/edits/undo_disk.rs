//! What of an undo does not go through the editor: files that it does not make, move or delete, and the record.

use std::{path::PathBuf, sync::Arc, time::SystemTime};

use crate::{
    lsp::session::Session,
    tools::output::visible_path,
    workspace::{
        EditProposal, FileEdit,
        checkpoints::{Held, Intent, UndoPlan},
    },
};

/// What came about on disk.
pub(super) struct OnDisk {
    pub(super) done: Vec<FileEdit>,
    pub(super) intent: Option<Intent>,
    /// Why the rest did not come about.
    pub(super) reason: Option<String>,
}

impl Session {
    /// Deletes and moves files for an editor that does not, and that does not show them: their texts are among the
    /// checkpoints before anything changes. Gives what came about, and why the rest did not.
    pub(super) async fn undo_on_disk(
        self: &Arc<Self>,
        held: &Arc<Held>,
        plan: &UndoPlan,
        files: Vec<FileEdit>,
    ) -> OnDisk {
        let is_open = |file: &FileEdit| {
            let buffers = [&file.path, file.origin()].map(|path| self.workspace.open_document(path));
            buffers.iter().any(Option::is_some)
        };
        let (open, closed): (Vec<_>, Vec<_>) = files.into_iter().partition(is_open);
        let mut reasons: Vec<_> = open
            .iter()
            .map(|file| {
                let path = visible_path(file.path.as_str());
                format!(
                    "this editor does not move or delete {path} for a language server: close it and try again"
                )
            })
            .collect();
        let proposal = EditProposal { files: closed };
        let (mut done, mut intent) = (Vec::new(), None);
        if !proposal.is_empty() {
            let (session, held, plan) = (Arc::clone(self), Arc::clone(held), plan.clone());
            let written =
                tokio::task::spawn_blocking(move || session.write_undo(&held, &plan, proposal)).await;
            match written.unwrap_or_else(|error| Err(vec![error.to_string()])) {
                Ok(written) => (done, intent) = written,
                Err(conflicts) => reasons.extend(conflicts),
            }
        }
        OnDisk { done, intent, reason: (!reasons.is_empty()).then(|| reasons.join("; ")) }
    }

    /// Blocks. The error says why nothing was written.
    fn write_undo(
        &self,
        held: &Held,
        plan: &UndoPlan,
        proposal: EditProposal,
    ) -> Result<(Vec<FileEdit>, Option<Intent>), Vec<String>> {
        let Some(checkpoints) = self.checkpoints().map_err(|error| vec![error.to_string()])? else {
            return Err(vec!["the checkpoints were switched off meanwhile".to_owned()]);
        };
        let intent = checkpoints.apply_undo(held, plan, &proposal, &self.workspace, SystemTime::now())?;
        // Whoever keeps the undo as a whole meets the same error and tells of it.
        Ok((proposal.files, intent.ok()))
    }

    /// The open files without those that an undo has taken away: the editor may not have told yet that it closed them.
    pub(super) fn open_besides(&self, done: &[FileEdit]) -> Vec<PathBuf> {
        let is_gone = |file: &PathBuf| {
            let mut gone = done.iter().filter(|edit| edit.after.is_none() || edit.moved_from.is_some());
            gone.any(|edit| edit.origin().disk() == Some(file))
        };
        let mut open = self.workspace.overlay().files();
        open.retain(|file| !is_gone(file));
        open
    }

    /// The checkpoint of the whole undo says what this one says.
    pub(super) async fn forget_intent(self: &Arc<Self>, intent: Intent) {
        let session = Arc::clone(self);
        let forget = move || match session.checkpoints()? {
            Some(checkpoints) => checkpoints.forget_intent(&intent),
            None => Ok(()),
        };
        let forgotten = tokio::task::spawn_blocking(forget).await;
        if let Err(error) = forgotten.unwrap_or_else(|error| Err(std::io::Error::other(error))) {
            tracing::warn!(%error, "an undo is kept twice");
        }
    }

    /// Writes the record, and then removes the folders that were made for what is not there any more.
    pub(super) async fn keep_undo(
        self: &Arc<Self>,
        plan: UndoPlan,
        done: Vec<FileEdit>,
        is_whole: bool,
    ) -> Option<String> {
        let session = Arc::clone(self);
        let keep = move || {
            let kept = session.checkpoints().and_then(|checkpoints| match checkpoints {
                Some(checkpoints) => {
                    checkpoints.keep_undo(&plan, &done, is_whole, &session.workspace, SystemTime::now())
                }
                None => Ok(None),
            });
            if !done.is_empty() || is_whole && matches!(kept, Ok(Some(_))) {
                plan.remove_made_folders(&session.open_besides(&done));
            }
            kept
        };
        let kept = tokio::task::spawn_blocking(keep).await;
        match kept.unwrap_or_else(|error| Err(std::io::Error::other(error))) {
            Ok(checkpoint) => checkpoint,
            Err(error) => {
                self.warn_of_checkpoints(&error);
                None
            }
        }
    }
}
