//! Keeps a checkpoint of what has come about of a turn's edits.

use std::{
    io,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::SystemTime,
};

use tokio::sync::Semaphore;

use super::proposers::Go;
use crate::{lsp::session::Session, workspace::checkpoints::Checkpoints};

/// The session's way to its checkpoints.
#[derive(Debug)]
pub(in crate::lsp) struct Journal {
    /// Of the roots for which it was opened last.
    opened: Mutex<Option<Opened>>,
    /// One undo at a time: the next one wants to know what the last one did.
    pub(super) undo: Semaphore,
    /// Whether the user was told that nothing can be kept.
    is_warned: AtomicBool,
}

#[derive(Debug)]
struct Opened {
    folder: PathBuf,
    roots: Vec<PathBuf>,
    checkpoints: Arc<Checkpoints>,
}

impl Default for Journal {
    fn default() -> Self {
        Self { opened: Mutex::default(), undo: Semaphore::new(1), is_warned: AtomicBool::new(false) }
    }
}

impl Session {
    /// The checkpoints of the workspace as it is now; `None` when they are switched off or have no place. Blocks.
    pub(super) fn checkpoints(&self) -> io::Result<Option<Arc<Checkpoints>>> {
        let roots = self.workspace.roots();
        let Some(folder) = self.settings.checkpoints_folder(&roots) else { return Ok(None) };
        // Whole at any moment, so a panic elsewhere does not spoil it. Whoever waits here waits for the same folder.
        let mut opened = self.journal.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) =
            opened.as_ref().filter(|opened| opened.folder == folder && opened.roots == roots)
        {
            return Ok(Some(Arc::clone(&opened.checkpoints)));
        }
        let checkpoints = Arc::new(Checkpoints::open(&folder, &roots, SystemTime::now())?);
        *opened = Some(Opened { folder, roots, checkpoints: Arc::clone(&checkpoints) });
        Ok(Some(checkpoints))
    }

    /// Keeps what has come about, by turns, the oldest first. Begins at once, and comes to its end though nobody waits for it: what the editor has done
    /// must not lack its checkpoint because the turn was cancelled meanwhile.
    pub(super) fn keep_checkpoints(self: &Arc<Self>, goes: Vec<Go>) -> impl Future<Output = ()> + use<> {
        let session = Arc::clone(self);
        let keep = move || -> io::Result<()> {
            if goes.is_empty() {
                return Ok(());
            }
            let Some(checkpoints) = session.checkpoints()? else { return Ok(()) };
            for (turn, done) in &goes {
                checkpoints.keep(turn, done, &session.workspace, SystemTime::now())?;
            }
            Ok(())
        };
        let kept = tokio::task::spawn_blocking(keep);
        let session = Arc::clone(self);
        async move {
            let kept = kept.await.unwrap_or_else(|error| Err(io::Error::other(error)));
            if let Err(error) = kept {
                session.warn_of_checkpoints(&error);
            }
        }
    }

    /// Once in a session: the edits themselves are there.
    pub(super) fn warn_of_checkpoints(self: &Arc<Self>, error: &io::Error) {
        tracing::warn!(%error, "an applied edit has no checkpoint");
        if !self.journal.is_warned.swap(true, Ordering::Relaxed) {
            self.warn_soon(format!(
                "the agent's edits were applied, but askls cannot keep them to be undone as one: {error}"
            ));
        }
    }
}
