//! New files for an editor that makes none: written to the disk, with their checkpoint before.

use std::{sync::Arc, time::SystemTime};

use super::{
    apply::{Left, left, reasons},
    proposers::{Go, Whose},
};
use crate::{
    lsp::session::Session,
    workspace::{EditProposal, FileEdit, FilePath, checkpoints::Unapplied, edit::Conflict},
};

/// What became of new files.
#[derive(Debug, Default)]
pub(super) struct Created {
    pub(super) done: Vec<FileEdit>,
    pub(super) left: Vec<Left>,
    /// Of what was done, what has its checkpoint already.
    pub(super) kept: Vec<FilePath>,
}

impl Session {
    pub(super) async fn create_on_disk(self: &Arc<Self>, files: Vec<FileEdit>, whose: &Whose) -> Created {
        if files.is_empty() {
            return Created::default();
        }
        let (session, goes) = (Arc::clone(self), whose.goes(files.clone()));
        let create = move || {
            let mut created = Created::default();
            for go in goes {
                session.create_of_turn(go, &mut created);
            }
            created
        };
        tokio::task::spawn_blocking(create).await.unwrap_or_else(|error| {
            let left = left(&files, &format!("new files were not written: {error}"));
            Created { left, ..Created::default() }
        })
    }

    /// Blocks. Without a checkpoint they are written all the same: there was nothing that could be lost.
    fn create_of_turn(self: &Arc<Self>, (turn, files): Go, created: &mut Created) {
        let proposal = EditProposal { files };
        let written = match self.checkpoints() {
            Ok(None) => Err(None),
            Err(error) => Err(Some(error)),
            Ok(Some(checkpoints)) => {
                match checkpoints.apply(&turn, &proposal, &self.workspace, SystemTime::now()) {
                    Ok(()) => Ok(Ok(())),
                    Err(Unapplied::Conflicts(conflicts)) => Ok(Err(conflicts)),
                    Err(Unapplied::NotKept(error)) => Err(Some(error)),
                }
            }
        };
        let written: Result<(), Vec<Conflict>> = match written {
            Ok(written) => {
                created.kept.extend(proposal.files.iter().map(|file| file.path.clone()));
                written
            }
            Err(problem) => {
                if let Some(error) = problem {
                    self.warn_of_checkpoints(&error);
                }
                proposal.apply_to_disk(&self.workspace)
            }
        };
        match written {
            Ok(()) => created.done.extend(proposal.files),
            Err(conflicts) => {
                let reason = format!("new files were not written: {}", reasons(&conflicts));
                created.left.extend(left(&proposal.files, &reason));
            }
        }
    }
}
