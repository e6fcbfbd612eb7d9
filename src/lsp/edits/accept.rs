//! The user's yes or no to hunks, files, or all of an offer.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    Accepted, EditsWord,
    apply::{Applied, Left, reasons},
    names::{not_saved, were},
    question::QUESTION_LIMIT,
    taking::{Taking, Untaken},
};
use crate::{
    lsp::{commands::EditParams, editor::one_line, lsp_types::MessageType, session::Session},
    protocol::ThreadId,
    workspace::{
        FileEdit, FilePath,
        checkpoints::Direction,
        edit::Conflict,
        review::{HunkId, Review, Selection},
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
        let Applied { word, done, seen, left, kept, is_refused, misplaced } =
            self.apply(&proposal, way, Some(&taking.whose)).await;
        // What the user did not tick they know.
        let is_told = |left: &&Left| way == Way::AtOnce || left.is_impossible;
        let mut reasons_left: Vec<String> =
            left.iter().filter(is_told).map(|left| left.reason.clone()).collect();
        let (happened, untouched) = taking.split(&done, &seen);
        let is_there = |path: &FilePath| {
            happened.files.iter().any(|came| came.edit.path == *path) || misplaced.contains(path)
        };
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
        let (thread_id, whose) = (taking.thread_id.clone(), taking.whose.clone());
        taking.end(&happened.files);
        self.offer_more(&thread_id, happened.rest, &whose);
        kept.await;
        let is_done_whole = |path: &&FilePath| !left.iter().any(|left| left.file.path == **path);
        let done_whole: Vec<&FilePath> = done.iter().map(|file| &file.path).filter(is_done_whole).collect();
        let prefix = match (is_partial, done_whole.is_empty() || left_whole.is_empty()) {
            (true, false) => format!("{} applied; {} not: ", were(&done_whole), were(&left_whole)),
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
        let path = match uri.map(|uri| self.workspace.locate(uri)) {
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
