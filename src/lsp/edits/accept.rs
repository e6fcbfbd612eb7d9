//! The user's yes or no to hunks, files, or all of an offer.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    Accepted, EditsWord,
    apply::{APPLY_LIMIT, Applied, Left, Sees, reasons},
    names::{not_saved, were},
    proposers::Whose,
    question::QUESTION_LIMIT,
};
use crate::{
    lsp::{commands::EditParams, editor::one_line, lsp_types::MessageType, session::Session},
    protocol::ThreadId,
    workspace::{
        EditProposal, FileEdit, FilePath,
        checkpoints::Direction,
        edit::Conflict,
        review::{HunkId, HunkState, Review, Selection, TakenFile},
    },
};

const APPLY_OTHERS: &str = "Apply the others";
const SHOW_EDITS: &str = "Show edits";

/// Hunks that an error lists; the others are counted.
const MAX_LISTED: usize = 20;

/// Longest reason in a question: editors show one line, and the buttons have to stay on the screen.
const MAX_REASON: usize = 600;

/// What happens to a selection with hunks that no longer fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lsp) enum Conflicting {
    /// Nothing is applied.
    Refuse,
    /// The others are applied.
    LeaveOut,
}

/// How the editor goes about an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lsp) enum Way {
    AtOnce,
    /// Shown first, in an editor that can; its user ticks what shall happen.
    Previewed,
    /// A turn is taken back or forward, at once.
    Back(Direction),
}

impl Session {
    /// Applies what is selected of an offer. What does not come about stays offered, and so does everything when the
    /// future is dropped.
    pub(in crate::lsp) async fn accept(
        self: &Arc<Self>,
        thread_id: &ThreadId,
        selection: &Selection,
        conflicting: Conflicting,
        way: Way,
    ) -> Accepted {
        let first = self.accept_once(thread_id, selection, conflicting, way).await;
        match first.is_outdated {
            // The hunks have moved with what the user typed just then.
            true => self.accept_once(thread_id, selection, conflicting, way).await,
            false => first,
        }
    }

    async fn accept_once(
        self: &Arc<Self>,
        thread_id: &ThreadId,
        selection: &Selection,
        conflicting: Conflicting,
        way: Way,
    ) -> Accepted {
        let Some(review) = self.review(thread_id) else {
            return Accepted::refused("there are no proposed edits");
        };
        let (taking, left_out) = match self.take(thread_id, review, selection).await {
            Ok(taken) => taken,
            Err(Untaken { left_out, is_there_already }) if left_out.is_empty() => {
                return Accepted::refused(match selection {
                    _ if is_there_already => "the text reads already as the edit would make it",
                    Selection::All => "there are no proposed edits",
                    Selection::File(_) => "there are no proposed edits in this file",
                    Selection::Hunk(_) | Selection::Hunks(_) => "this edit is no longer proposed",
                });
            }
            Err(Untaken { left_out, .. }) => return Accepted::conflict(&left_out, 0),
        };
        if !left_out.is_empty() && conflicting == Conflicting::Refuse {
            let others = taking.files.iter().map(|file| file.hunks.len()).sum();
            return Accepted::conflict(&left_out, others);
        }
        self.apply_taken(taking, &left_out, way).await
    }

    /// `left_out` does not fit any more, and is told.
    async fn apply_taken(self: &Arc<Self>, mut taking: Taking, left_out: &[Conflict], way: Way) -> Accepted {
        self.offer_changed(&taking.thread_id);
        let proposal = taking.proposal();
        taking.is_with_editor = true;
        let Applied { word, done, left, kept, is_refused, misplaced } =
            self.apply(&proposal, way, Some(&taking.whose)).await;
        // What the user did not tick they know.
        let is_told = |left: &&Left| way == Way::AtOnce || left.is_impossible;
        let mut reasons_left: Vec<String> =
            left.iter().filter(is_told).map(|left| left.reason.clone()).collect();
        let (happened, untouched) = taking.split(&done);
        let is_there = |path: &FilePath| happened.files.contains(path) || misplaced.contains(path);
        let done: Vec<FileEdit> = done.into_iter().filter(|file| is_there(&file.path)).collect();
        let is_whole = |left: &Left| !done.iter().any(|done| done.path == left.file.path);
        let left_whole: Vec<&FilePath> =
            left.iter().filter(|left| is_whole(left)).map(|left| &left.file.path).collect();
        if way == Way::AtOnce {
            reasons_left.extend(untouched);
        }
        reasons_left.dedup();
        if !left_out.is_empty() {
            reasons_left.push(reasons(left_out));
        }
        let is_partial = !done.is_empty();
        let is_outdated = way == Way::AtOnce && is_refused && !is_partial && taking.is_outdated();
        let new = done.iter().filter(|file| !kept.contains(&file.path)).cloned().collect();
        let kept = self.keep_checkpoints(taking.whose.goes(new));
        taking.end(&happened.hunks);
        kept.await;
        let prefix = match (is_partial, left_whole.is_empty()) {
            (true, false) => {
                let done: Vec<&FilePath> = done.iter().map(|file| &file.path).collect();
                format!("{} applied; {} not: ", were(&done), were(&left_whole))
            }
            (true, true) => "some edits were not applied: ".to_owned(),
            (false, _) => "not applied: ".to_owned(),
        };
        let word = if is_partial || word != EditsWord::Applied { word } else { EditsWord::Refused };
        Accepted {
            word,
            files: done.iter().map(|file| self.workspace.uri(&file.path)).collect(),
            unsaved: self.unsaved(&done),
            reason: (!reasons_left.is_empty()).then(|| format!("{prefix}{}", reasons_left.join("; "))),
            others: 0,
            is_outdated,
        }
    }

    /// Takes what is selected out of a review; what is taken comes back when nothing becomes of it.
    async fn take(
        self: &Arc<Self>,
        thread_id: &ThreadId,
        review: Arc<Review>,
        selection: &Selection,
    ) -> Result<(Taking, Vec<Conflict>), Untaken> {
        let (session, thread_id, selection) = (Arc::clone(self), thread_id.clone(), selection.clone());
        // Should nobody wait for it any more, what was taken is dropped with the result, and so put back.
        let take = move || {
            let taken = review.take(&session.workspace, &selection).map_err(|left_out| Untaken {
                is_there_already: left_out.is_empty()
                    && review.is_there_already(&session.workspace, &selection),
                left_out,
            })?;
            let whose = session.whose(&thread_id, &review, &taken);
            let files = taken.files;
            let taking = Taking { session, thread_id, whose, review, files, is_with_editor: false };
            Ok((taking, taken.left_out))
        };
        tokio::task::spawn_blocking(take).await.unwrap_or_else(|error| {
            tracing::error!(%error, "proposed edits cannot be compared with their files");
            Err(Untaken::default())
        })
    }

    /// What hunks and a file, both by their names on the wire, select of an offer. The error is for who asked. Reads
    /// the disk.
    pub(super) fn selection(
        &self,
        review: &Review,
        uri: Option<&str>,
        hunks: Option<&[u32]>,
    ) -> Result<Selection, String> {
        let path = match uri.map(|uri| self.workspace.resolve(uri)) {
            None => None,
            Some(Ok(path)) => Some(path),
            Some(Err(_)) => return Err("there are no proposed edits in this file".to_owned()),
        };
        let Some(hunks) = hunks else { return Ok(path.map_or(Selection::All, Selection::File)) };
        let waiting = match &path {
            Some(path) => review.hunks_of(&self.workspace, path),
            None => review.hunks(&self.workspace),
        };
        let waiting: BTreeSet<HunkId> = waiting.iter().map(|view| view.id).collect();
        let wanted: BTreeSet<HunkId> = hunks.iter().map(|&id| HunkId(id)).collect();
        if wanted.is_empty() || !wanted.is_subset(&waiting) {
            let waits = match waiting.is_empty() {
                true => "none waits".to_owned(),
                false => format!("those that wait are {}", listed(waiting.iter())),
            };
            let what = match wanted.is_empty() {
                true => "no hunk is named".to_owned(),
                false => format!("there is no hunk {}", listed(wanted.difference(&waiting))),
            };
            return Err(format!("{what}; {waits}"));
        }
        Ok(Selection::Hunks(wanted))
    }

    /// Tells the user why edits did not come about. When others of the selection still fit, the user may have those.
    pub(in crate::lsp) async fn report(
        self: &Arc<Self>,
        thread_id: &ThreadId,
        selection: &Selection,
        accepted: &Accepted,
    ) {
        let Some(reason) = accepted.reason() else {
            // Who takes a hunk looks at its buffer; of whole files some may not even be shown.
            let is_plain = matches!(selection, Selection::All | Selection::File(_));
            if let Some(note) = not_saved(&accepted.unsaved).filter(|_| is_plain) {
                self.editor.show_message(MessageType::INFO, &format!("Agent edits applied ({note})")).await;
            }
            return;
        };
        let text = format!("Agent edits: {}", one_line(reason, MAX_REASON));
        if accepted.others == 0 {
            self.editor.show_message(MessageType::WARNING, &text).await;
            return;
        }
        let actions = [APPLY_OTHERS, SHOW_EDITS];
        let answer = self.editor.choose(MessageType::WARNING, &text, &actions, QUESTION_LIMIT).await;
        match answer.ok().flatten().as_deref() {
            Some(APPLY_OTHERS) => {
                let accepted = self.accept(thread_id, selection, Conflicting::LeaveOut, Way::AtOnce).await;
                if let Some(reason) = accepted.reason() {
                    let text = format!("Agent edits: {reason}");
                    self.editor.show_message(MessageType::WARNING, &text).await;
                }
            }
            Some(SHOW_EDITS) => {
                let params = EditParams { thread_id: Some(thread_id.clone()), ..EditParams::default() };
                if let Err(error) = self.show_edits(&params).await {
                    tracing::warn!(%error, "the edits cannot be shown");
                }
            }
            _ => {}
        }
    }
}

/// `1, 2 and 7 more`
fn listed<'a>(ids: impl Iterator<Item = &'a HunkId> + Clone) -> String {
    let named: Vec<String> = ids.clone().take(MAX_LISTED).map(|id| id.0.to_string()).collect();
    match ids.count().saturating_sub(MAX_LISTED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// Why nothing of a selection was taken.
#[derive(Debug, Default)]
struct Untaken {
    /// What does not fit any more.
    left_out: Vec<Conflict>,
    /// The user has made some of it himself.
    is_there_already: bool,
}

/// Hunks that were taken out of a review. Dropped, they are offered again.
struct Taking {
    session: Arc<Session>,
    thread_id: ThreadId,
    whose: Whose,
    review: Arc<Review>,
    files: Vec<TakenFile>,
    /// The editor has them, and cannot be told to leave them.
    is_with_editor: bool,
}

/// What came about.
#[derive(Default)]
struct Happened {
    files: BTreeSet<FilePath>,
    hunks: BTreeSet<HunkId>,
}

impl Taking {
    fn proposal(&self) -> EditProposal {
        EditProposal { files: self.files.iter().map(|file| file.edit.clone()).collect() }
    }

    /// What came about of files of which the editor says that it changed them, and in words what did not: the user may
    /// have chosen only some, and some editors skip in silence. The texts say which.
    fn split(&self, done: &[FileEdit]) -> (Happened, Vec<String>) {
        let mut happened = Happened::default();
        let mut untouched = Vec::new();
        for file in self.files.iter().filter(|file| done.iter().any(|done| done.path == file.edit.path)) {
            let path = &file.edit.path;
            let mut hunks: BTreeSet<HunkId> = file.hunks.iter().copied().collect();
            let workspace = &self.session.workspace;
            let is_told = workspace.open_document(path).is_some();
            if is_told && self.session.sees(&file.edit) == Sees::Else {
                // Of a part that came about, all that still waits is not in it.
                let is_part = done.iter().any(|done| done.path == *path && *done != file.edit);
                self.review.put_back(&file.hunks);
                for view in self.review.hunks_of(workspace, path) {
                    if (is_part || view.state == HunkState::Pending) && hunks.remove(&view.id) {
                        let line = view.lines_now.start + 1;
                        untouched.push(format!("the editor left {path}:{line} as it was"));
                    }
                }
            }
            if !hunks.is_empty() {
                happened.files.insert(path.clone());
                happened.hunks.append(&mut hunks);
            }
        }
        (happened, untouched)
    }

    /// Whether the user has typed since the edits were taken. Who took the edit back at once has the text of before, and
    /// does not want it again.
    fn is_outdated(&self) -> bool {
        self.files.iter().any(|file| {
            let before = file.edit.before.as_ref();
            let now = self.session.workspace.open_document(file.edit.origin());
            before
                .zip(now)
                .is_some_and(|(before, now)| before.version != Some(now.version) && before.text != now.text)
        })
    }

    /// Those hunks came about; the others are offered again.
    fn end(mut self, done: &BTreeSet<HunkId>) {
        self.is_with_editor = false;
        self.review.accepted(&self.session.workspace, &done.iter().copied().collect::<Vec<_>>());
        for file in &mut self.files {
            file.hunks.retain(|id| !done.contains(id));
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
            let mut done = Vec::new();
            for file in files.iter().filter(|file| session.sees(&file.edit) == Sees::After) {
                review.accepted(&session.workspace, &file.hunks);
                done.push(file.edit.clone());
            }
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
        // A newer turn has put something in their place, or the offer went meanwhile.
        let waiting = if is_current { self.review.ids() } else { BTreeSet::new() };
        let is_gone = |file: &TakenFile| !file.hunks.iter().any(|id| waiting.contains(id));
        let gone = self.files.iter().filter(|file| is_gone(file)).map(|file| file.edit.clone()).collect();
        if is_current && self.is_with_editor {
            self.watch();
        }
        self.session.offer_changed(&self.thread_id);
        self.session.offer_more(&self.thread_id, gone, &self.whose);
    }
}

impl Accepted {
    pub(super) fn refused(reason: impl Into<String>) -> Self {
        let reason = Some(reason.into());
        Self {
            word: EditsWord::Refused,
            files: Vec::new(),
            unsaved: Vec::new(),
            reason,
            others: 0,
            is_outdated: false,
        }
    }

    fn conflict(left_out: &[Conflict], others: usize) -> Self {
        let reason = format!("nothing was applied: {}", reasons(left_out));
        Self { word: EditsWord::Conflict, others, ..Self::refused(reason) }
    }
}
