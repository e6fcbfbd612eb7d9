//! Hunks that were taken out of a review: with the editor, until it is known what of them came about.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    apply::{APPLY_LIMIT, Sees},
    part::{PlaceNow, places},
    proposers::Whose,
};
use crate::{
    lsp::session::Session,
    protocol::ThreadId,
    workspace::{
        EditProposal, FileEdit, FilePath, FileText,
        edit::Conflict,
        review::{HunkId, HunkState, Review, TakenFile},
    },
};

/// Why nothing of a selection was taken.
#[derive(Debug, Default)]
pub(super) struct Untaken {
    /// What does not fit any more.
    pub(super) left_out: Vec<Conflict>,
    /// The user has made some of it himself.
    pub(super) is_there_already: bool,
}

/// Hunks that were taken out of a review. Dropped, they are offered again.
pub(super) struct Taking {
    pub(super) session: Arc<Session>,
    pub(super) thread_id: ThreadId,
    pub(super) whose: Whose,
    pub(super) review: Arc<Review>,
    pub(super) files: Vec<TakenFile>,
    /// The editor has them, and cannot be told to leave them.
    pub(super) is_with_editor: bool,
}

/// What came about.
#[derive(Default)]
pub(super) struct Happened {
    pub(super) files: Vec<TakenFile>,
    /// What still is to be made of the texts of files that were made or moved and got no further.
    pub(super) rest: Vec<FileEdit>,
}

impl Taking {
    pub(super) fn proposal(&self) -> EditProposal {
        EditProposal { files: self.files.iter().map(|file| file.edit.clone()).collect() }
    }

    /// What came about of files of which the editor says that it changed them, and in words what did not: the user may
    /// have chosen only some, and some editors skip in silence. The texts say which, but for those whose change was seen.
    pub(super) fn split(&self, done: &[FileEdit], seen: &[FilePath]) -> (Happened, Vec<String>) {
        let mut happened = Happened::default();
        let mut untouched = Vec::new();
        for file in &self.files {
            let path = &file.edit.path;
            let Some(came) = done.iter().find(|done| done.path == *path) else { continue };
            let mut hunks: BTreeSet<HunkId> = file.hunks.iter().copied().collect();
            let rest = rest(&file.edit, done);
            let workspace = &self.session.workspace;
            // Of a part that came about, all that still waits is not in it.
            let is_part = *came != file.edit;
            let told = match workspace.open_document(path) {
                Some(document) => Some(document.text.to_string()),
                None => came.after.clone().filter(|_| is_part),
            };
            let told = told.filter(|_| !seen.contains(path) && rest.is_none());
            happened.rest.extend(rest);
            if let Some(told) = told.filter(|_| self.session.sees(&file.edit) == Sees::Else) {
                // Lines that came beside some of the user's are not told apart from those by what waits.
                let places = places(&file.edit, &told);
                let is_one_each = places.len() == file.hunks.len();
                let pairs = file.hunks.iter().zip(&places).filter(|_| is_one_each);
                let changed: BTreeSet<HunkId> =
                    pairs.filter(|(_, place)| **place != PlaceNow::Before).map(|(id, _)| *id).collect();
                self.review.put_back(&file.hunks);
                // What newer ones have replaced is not among what waits; only its lines tell.
                let waiting = self.review.ids();
                hunks.retain(|id| !is_one_each || waiting.contains(id) || changed.contains(id));
                for view in self.review.hunks_of(workspace, path) {
                    let is_untouched = view.state == HunkState::Pending && !changed.contains(&view.id);
                    if (is_part || is_untouched) && hunks.remove(&view.id) {
                        let line = view.lines_now.start + 1;
                        untouched.push(format!("the editor left {path}:{line} as it was"));
                    }
                }
            }
            if !hunks.is_empty() {
                let hunks = hunks.into_iter().collect();
                happened.files.push(TakenFile { edit: came.clone(), hunks });
            }
        }
        (happened, untouched)
    }

    /// Whether the user has typed since the edits were taken. Who took the edit back at once has the text of before, and
    /// does not want it again.
    pub(super) fn is_outdated(&self) -> bool {
        self.files.iter().any(|file| {
            let before = file.edit.before.as_ref();
            let now = self.session.workspace.open_document(file.edit.origin());
            before
                .zip(now)
                .is_some_and(|(before, now)| before.version != Some(now.version) && before.text != now.text)
        })
    }

    /// Those hunks came about, by those edits; the others are offered again.
    pub(super) fn end(mut self, came: &[TakenFile]) {
        self.is_with_editor = false;
        self.review.accepted(&self.session.workspace, came);
        for file in &mut self.files {
            file.hunks.retain(|id| !came.iter().any(|came| came.hunks.contains(id)));
        }
        self.files.retain(|file| !file.hunks.is_empty());
    }

    /// Edits that the editor applies though nobody waits for its answer any more are not offered for ever.
    fn watch(&self) {
        let (session, review) = (Arc::clone(&self.session), Arc::clone(&self.review));
        let (thread_id, files) = (self.thread_id.clone(), self.files.clone());
        let whose = self.whose.clone();
        self.session.spawn(async move {
            let all: Vec<_> = files.iter().map(|file| &file.edit).collect();
            // What has not come about then stays on offer.
            let _ = session.wait_for_files(APPLY_LIMIT, &all).await;
            let came: Vec<_> =
                files.into_iter().filter(|file| session.sees(&file.edit) == Sees::After).collect();
            review.accepted(&session.workspace, &came);
            let done = came.into_iter().map(|file| file.edit).collect();
            session.keep_checkpoints(whose.goes(done)).await;
            session.offer_changed(&thread_id);
        });
    }
}

impl Drop for Taking {
    fn drop(&mut self) {
        let hunks: Vec<HunkId> = self.files.iter().flat_map(|file| file.hunks.iter().copied()).collect();
        self.review.put_back(&hunks);
        let current = self.session.review(&self.thread_id);
        let is_current = current.is_some_and(|current| Arc::ptr_eq(&current, &self.review));
        // The offer may have gone meanwhile. What its review has no more, a newer turn has taken back, or put something in
        // its place.
        let waiting = if is_current { BTreeSet::new() } else { self.review.ids() };
        let is_lost = |file: &&TakenFile| file.hunks.iter().any(|id| waiting.contains(id));
        let lost = self.files.iter().filter(is_lost).map(|file| file.edit.clone()).collect();
        if is_current && self.is_with_editor {
            self.watch();
        }
        self.session.offer_changed(&self.thread_id);
        self.session.offer_more(&self.thread_id, lost, &self.whose);
    }
}

/// What `done` leaves to be done to the text of a file that it has made or moved.
fn rest(file: &FileEdit, done: &[FileEdit]) -> Option<FileEdit> {
    let has_new_place = file.before.is_none() || file.moved_from.is_some();
    let done = done.iter().find(|done| done.path == file.path && *done != file).filter(|_| has_new_place)?;
    let text = done.after.as_deref()?.into();
    let bom = file.before.as_ref().is_some_and(|before| before.bom);
    let before = Some(FileText { text, version: None, bom });
    let (moved_from, text_from, stretches) = (None, None, None);
    Some(FileEdit { moved_from, before, text_from, stretches, ..file.clone() })
}
