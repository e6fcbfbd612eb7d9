//! Proposed edits: kept until the user says what becomes of them, and applied through the editor in one step.
//!
//! A client that makes, moves or deletes no files gets the text edits. New files are then written to the disk once the
//! user has accepted them: nothing in the editor can be lost where there was nothing. Moves and deletions stay
//! proposed, and the user is told. A client that takes no edits at all gets the diff, and nothing is written.

mod apply;
mod checkpoints;
mod names;
mod steps;
mod undo;
mod workspace_edit;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tower_lsp::jsonrpc::Result;

use super::{
    answer::{Announcement, OPEN as OPEN_ANSWER},
    commands::EditParams,
    lsp_types::MessageType,
    session::Session,
};
use crate::{
    agent::TurnResult,
    config::{Edits, Settings},
    protocol::{StopReason, ThreadId},
    workspace::{EditProposal, FileEdit, FilePath, TurnFiles},
};
use names::named;

pub(super) use checkpoints::Journal;
pub(super) use steps::{StepApplier, StepEdits};
pub(super) use undo::UndoParams;

/// How long the question about edits stays open. After that the code actions remain.
const QUESTION_LIMIT: Duration = Duration::from_secs(15 * 60);

/// Offers that are kept; more than anybody decides about, and each may hold the text of many files.
const MAX_OFFERS: usize = 100;

const APPLY: &str = "Apply";
const REVIEW: &str = "Review";
const DISCARD: &str = "Discard";

/// Edits that wait for the user's word.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    /// Grows with each offer.
    pub(super) number: u64,
    pub(super) proposal: EditProposal,
    /// Fires when the offer no longer stands as it was: accepted, rejected or replaced.
    settled: CancellationToken,
}

/// What became of the edits of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EditsEnd {
    pub(super) word: EditsWord,
    /// The URIs of the files concerned.
    pub(super) files: Vec<String>,
    pub(super) reason: Option<String>,
    /// The offer that the user is to be asked about.
    pub(super) question: Option<u64>,
    /// Files that were changed in the editor and are not saved.
    pub(super) unsaved: Vec<FilePath>,
}

impl EditsEnd {
    fn none() -> Self {
        Self::of(EditsWord::None, Vec::new(), None)
    }

    fn of(word: EditsWord, files: Vec<String>, reason: Option<String>) -> Self {
        Self { word, files, reason, question: None, unsaved: Vec::new() }
    }

    /// What the user has to be told of files that are not saved.
    pub(super) fn not_saved(&self) -> Option<String> {
        names::not_saved(&self.unsaved)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EditsWord {
    None,
    Proposed,
    Applied,
    Conflict,
    Refused,
}

impl EditsWord {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Proposed => "proposed",
            Self::Applied => "applied",
            Self::Conflict => "conflict",
            Self::Refused => "refused",
        }
    }
}

/// What `askls.acceptEdits` did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Accepted {
    word: EditsWord,
    files: Vec<String>,
    /// Of these the ones that are not saved.
    unsaved: Vec<FilePath>,
    reason: Option<String>,
}

impl Accepted {
    fn refused(reason: impl Into<String>) -> Self {
        let reason = Some(reason.into());
        Self { word: EditsWord::Refused, files: Vec::new(), unsaved: Vec::new(), reason }
    }

    /// Why some or all edits did not come about.
    pub(super) fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    pub(super) fn to_json(&self) -> Value {
        let mut json = json!({ "applied": self.word == EditsWord::Applied, "files": self.files });
        if let Some(reason) = &self.reason {
            json["reason"] = json!(reason);
        }
        json
    }
}

/// Stages in a new turn what its thread has proposed before, so that the agent finds its own edits and the next
/// proposal holds them too. Edits whose files have changed since are dropped.
pub(super) async fn restage(session: &Session, thread_id: &ThreadId, files: &Arc<TurnFiles>) {
    let Some(proposal) = session.offers.get(thread_id).map(|offer| offer.proposal.clone()) else { return };
    let files = Arc::clone(files);
    let restage = move || {
        let stale = proposal.conflicts(files.workspace());
        for file in &proposal.files {
            if stale.iter().any(|conflict| conflict.path == file.path) {
                continue;
            }
            if let Err(error) = files.restage(file) {
                tracing::warn!(%error, "an earlier edit is not staged again");
            }
        }
        // The turn has changed nothing yet.
        files.drain_changes();
    };
    if let Err(error) = tokio::task::spawn_blocking(restage).await {
        tracing::error!(%error, "earlier edits are not staged again");
    }
}

/// The end of a turn.
impl Session {
    /// Keeps what the turn has still staged, to be asked about, or applies it, as the settings want. Dropping the
    /// future leaves the edits on offer.
    pub(super) async fn end_edits(
        self: &Arc<Self>,
        thread_id: &ThreadId,
        settings: &Settings,
        files: &TurnFiles,
        steps: &StepEdits,
        result: &TurnResult,
    ) -> EditsEnd {
        let mut end = self.end_staged(thread_id, settings, files, steps, result).await;
        let applied = steps.applied();
        let mut unsaved = self.unsaved(&applied);
        unsaved.retain(|path| !end.unsaved.contains(path));
        end.unsaved.append(&mut unsaved);
        end.unsaved.sort();
        end
    }

    async fn end_staged(
        self: &Arc<Self>,
        thread_id: &ThreadId,
        settings: &Settings,
        files: &TurnFiles,
        steps: &StepEdits,
        result: &TurnResult,
    ) -> EditsEnd {
        let proposal = files.proposal();
        let is_old = |offer: &Offer| offer.proposal == proposal;
        if proposal.is_empty() || self.offers.get(thread_id).is_some_and(|offer| is_old(&offer)) {
            return steps.end(&self.workspace);
        }
        let uris = proposal.files.iter().map(|file| self.workspace.uri(&file.path)).collect();
        // An editor or a shell runs such a file by itself: writing it is more than an edit, and the user is asked.
        let is_run_unasked = proposal.files.iter().any(FileEdit::is_run_unasked);
        let in_hand = self.offered(thread_id, &steps.in_hand());
        self.set_offering_turn(steps.turn());
        let number = self.offer(thread_id, proposal);
        self.put_back(thread_id, in_hand);
        match (settings.edits(), result.stop_reason) {
            (Edits::Apply, _) if result.is_whole() && !is_run_unasked => {
                let accepted = self.accept(thread_id, None).await;
                if let Some(reason) = &accepted.reason {
                    self.editor.show_message(MessageType::WARNING, &format!("Agent edits: {reason}")).await;
                }
                let files = if accepted.word == EditsWord::Applied { accepted.files } else { uris };
                let end = EditsEnd::of(accepted.word, files, accepted.reason);
                EditsEnd { unsaved: accepted.unsaved, ..end }
            }
            // What a turn left that the user stopped is kept, but not pressed on them.
            (_, StopReason::Cancelled) => EditsEnd::of(EditsWord::Proposed, uris, None),
            _ => EditsEnd { question: Some(number), ..EditsEnd::of(EditsWord::Proposed, uris, None) },
        }
    }

    /// Asks what to do with an offer until there is an answer that settles it, or none. What the user looked at in
    /// between is not offered to them again.
    pub(super) async fn ask_about(
        self: &Arc<Self>,
        thread_id: &ThreadId,
        number: u64,
        settings: &Settings,
        announcement: Option<Announcement>,
    ) {
        let announcement = match announcement {
            Some(announcement) => Some(self.with_place(settings, announcement).await),
            None => None,
        };
        let (kind, line, mut document) = match announcement {
            Some(announcement) => {
                (announcement.kind, format!("{} — ", announcement.line()), announcement.document)
            }
            None => (MessageType::INFO, String::new(), None),
        };
        let mut is_reviewed = false;
        loop {
            let offer = self.offers.get(thread_id).filter(|offer| offer.number == number).map(|o| o.clone());
            let Some(offer) = offer else { return };
            let mut text = format!("{line}The agent proposes edits in {}", named(&offer.proposal.files));
            let mut actions = Vec::new();
            if self.client().apply_edit {
                actions.push(APPLY);
            } else {
                text.push_str("; this editor takes no edits from a language server, so they stay a diff");
            }
            if !is_reviewed {
                actions.push(REVIEW);
            }
            actions.push(DISCARD);
            if document.is_some() {
                actions.push(OPEN_ANSWER);
            }
            let question = self.editor.choose(kind, &text, &actions, QUESTION_LIMIT);
            tokio::pin!(question);
            let settled = offer.settled.run_until_cancelled(&mut question).await;
            let is_settled = settled.is_none();
            let answer = match (settled, &document) {
                (Some(answer), _) => answer,
                // The question stands there still, and the answer can be had from it.
                (None, Some(_)) => question.await,
                (None, None) => return,
            };
            let Ok(Some(title)) = answer else { return };
            match title.as_str() {
                OPEN_ANSWER => {
                    let Some(document) = document.take() else { return };
                    self.open_answer(settings, &document).await;
                }
                _ if is_settled => return,
                APPLY => {
                    let accepted = self.accept(thread_id, None).await;
                    if let Some(reason) = accepted.reason {
                        self.editor.show_message(MessageType::WARNING, &reason).await;
                    }
                    return;
                }
                REVIEW if !is_reviewed => {
                    is_reviewed = true;
                    self.open_document(settings, "edits.diff", &offer.proposal.diff()).await;
                }
                DISCARD => {
                    self.take_offer(thread_id, None);
                    return;
                }
                _ => return,
            }
        }
    }
}

/// The commands.
impl Session {
    /// `askls.acceptEdits`.
    pub(super) async fn accept_edits(self: &Arc<Self>, params: &EditParams) -> Accepted {
        let Some(thread_id) = self.thread_with_offer(params.thread_id.as_ref()) else {
            return Accepted::refused("there are no proposed edits");
        };
        self.accept(&thread_id, params.uri.as_deref()).await
    }

    /// `askls.rejectEdits`; the URIs of the files that will not be changed.
    pub(super) fn reject_edits(self: &Arc<Self>, params: &EditParams) -> Vec<String> {
        let Some(thread_id) = self.thread_with_offer(params.thread_id.as_ref()) else { return Vec::new() };
        let rejected = self.take_offer(&thread_id, params.uri.as_deref());
        rejected.files.iter().map(|file| self.workspace.uri(&file.path)).collect()
    }

    /// `askls.showEdits`. Does not wait for the editor to open the diff.
    pub(super) async fn show_edits(self: &Arc<Self>, thread_id: Option<ThreadId>) -> Result<Value> {
        let offer =
            self.thread_with_offer(thread_id.as_ref()).and_then(|id| Some(self.offers.get(&id)?.clone()));
        let Some(offer) = offer else {
            return Ok(json!({ "diff": "", "files": [] }));
        };
        let settings = self.settings().await;
        let diff = offer.proposal.diff();
        let files: Vec<_> = offer.proposal.files.iter().map(|file| self.workspace.uri(&file.path)).collect();
        let document = self.make_document(&settings, "edits.diff", &diff).await;
        let mut result = json!({ "diff": diff, "files": files });
        if let Some(uri) = document {
            result["uri"] = json!(uri);
            let session = Arc::clone(self);
            self.spawn(async move { session.show_document(&uri).await });
        }
        Ok(result)
    }
}

/// The store of offers.
impl Session {
    fn offer(self: &Arc<Self>, thread_id: &ThreadId, proposal: EditProposal) -> u64 {
        let number = self.next_number();
        let offer = Offer { number, proposal, settled: CancellationToken::new() };
        if let Some(replaced) = self.offers.insert(thread_id.clone(), offer) {
            replaced.settled.cancel();
        }
        self.drop_old_offers();
        number
    }

    /// Drops what nobody has decided about for longest, and tells the user.
    fn drop_old_offers(self: &Arc<Self>) {
        while self.offers.len() > MAX_OFFERS {
            let oldest = self.offers.iter().min_by_key(|offer| offer.number).map(|offer| offer.key().clone());
            let Some((_, offer)) = oldest.and_then(|oldest| self.offers.remove(&oldest)) else { return };
            offer.settled.cancel();
            self.warn_soon(format!(
                "more than {MAX_OFFERS} proposals wait; askls dropped the oldest edits, in {}",
                named(&offer.proposal.files)
            ));
        }
    }

    /// The thread that was named, when it has an offer; without a name the one with the newest.
    fn thread_with_offer(&self, named: Option<&ThreadId>) -> Option<ThreadId> {
        match named {
            Some(id) => self.offers.contains_key(id).then(|| id.clone()),
            None => self.offers.iter().max_by_key(|offer| offer.number).map(|offer| offer.key().clone()),
        }
    }

    /// The edits of these files that are on offer.
    fn offered(&self, thread_id: &ThreadId, paths: &BTreeSet<FilePath>) -> Vec<FileEdit> {
        let Some(offer) = self.offers.get(thread_id) else { return Vec::new() };
        offer.proposal.files.iter().filter(|file| paths.contains(&file.path)).cloned().collect()
    }

    /// Takes the edits of one file with those that belong to them, or all, out of an offer. The rest stays offered.
    fn take_offer(self: &Arc<Self>, thread_id: &ThreadId, uri: Option<&str>) -> EditProposal {
        let Some((_, offer)) = self.offers.remove(thread_id) else { return EditProposal::default() };
        offer.settled.cancel();
        let (taken, kept) = match uri {
            None => (offer.proposal.files, Vec::new()),
            Some(uri) => {
                let path = self.workspace.resolve(uri).ok();
                let meant = path.map(|path| offer.proposal.together_with(&path)).unwrap_or_default();
                offer.proposal.files.into_iter().partition(|file| meant.contains(&file.path))
            }
        };
        self.put_back(thread_id, kept);
        EditProposal { files: taken }
    }

    /// Offers edits again that were taken and did not come about, unless a newer turn has changed the same files.
    fn put_back(self: &Arc<Self>, thread_id: &ThreadId, files: Vec<FileEdit>) {
        if files.is_empty() {
            return;
        }
        let mut proposal = self.offers.get(thread_id).map(|offer| offer.proposal.clone()).unwrap_or_default();
        let is_new = |file: &FileEdit| !proposal.files.iter().any(|newer| newer.path == file.path);
        let mut missing: Vec<_> = files.into_iter().filter(is_new).collect();
        proposal.files.append(&mut missing);
        proposal.files.sort_by(|one, other| one.path.cmp(&other.path));
        self.offer(thread_id, proposal);
    }

    /// Takes edits out of an offer that came about after all.
    fn forget_edits(self: &Arc<Self>, thread_id: &ThreadId, is_done: impl Fn(&FileEdit) -> bool) {
        let Some((_, offer)) =
            self.offers.remove_if(thread_id, |_, offer| offer.proposal.files.iter().any(&is_done))
        else {
            return;
        };
        offer.settled.cancel();
        let kept = offer.proposal.files.into_iter().filter(|file| !is_done(file)).collect();
        self.put_back(thread_id, kept);
    }
}
