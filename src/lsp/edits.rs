//! Proposed edits: kept until the user says what becomes of them, and applied through the editor in one step.
//!
//! A client that makes, moves or deletes no files gets the text edits. New files are then written to the disk once the
//! user has accepted them: nothing in the editor can be lost where there was nothing. Moves and deletions stay
//! proposed, and the user is told. A client that takes no edits at all gets the diff, and nothing is written.

mod accept;
mod apply;
mod checkpoints;
mod create;
mod list;
mod names;
mod offers;
mod part;
mod proposers;
mod question;
mod repair;
mod send;
mod steps;
mod taking;
mod trail;
mod undo;
mod undo_disk;
mod undo_question;
mod undo_words;
mod workspace_edit;

use std::{collections::BTreeSet, sync::Arc};

use serde_json::{Value, json};
use tower_lsp::jsonrpc::Result;

use super::{commands::EditParams, editor::one_line, lsp_types::MessageType, session::Session};
use crate::{
    agent::TurnResult,
    config::{Edits, Settings},
    protocol::{StopReason, ThreadId},
    workspace::{FilePath, TurnFiles, review::Selection},
};
use accept::{Conflicting, Way};
use offers::Earlier;
use proposers::Restaged;

pub(super) use checkpoints::Journal;
pub(super) use list::{anchor, line_count, place, what};
pub(super) use offers::Offer;
pub(super) use proposers::Proposer;
pub(super) use steps::{StepApplier, StepEdits};
pub(super) use trail::Trails;
pub(super) use undo::UndoParams;

/// Longest reason in a result. It names files, whose names may be anything.
const MAX_REASON: usize = 2000;

/// What is said of edits that wait, or waited until the turn ended.
const COMMANDS_RAN_WITHOUT: &str = "the commands of this turn ran without its edits";

/// What became of the edits of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EditsEnd {
    pub(super) word: EditsWord,
    /// The URIs of the files concerned.
    pub(super) files: Vec<String>,
    pub(super) reason: Option<String>,
    /// The turn about whose offer the user is to be asked.
    pub(super) question: Option<u64>,
    /// Files that were changed in the editor and are not saved.
    pub(super) unsaved: Vec<FilePath>,
    /// Whether commands ran while edits waited.
    unseen: bool,
}

impl EditsEnd {
    fn none() -> Self {
        Self::of(EditsWord::None, Vec::new(), None)
    }

    fn of(word: EditsWord, files: Vec<String>, reason: Option<String>) -> Self {
        Self { word, files, reason, question: None, unsaved: Vec::new(), unseen: false }
    }

    /// What the user has to be told besides.
    pub(super) fn notes(&self) -> Vec<String> {
        let unseen = self.unseen.then(|| COMMANDS_RAN_WITHOUT.to_owned());
        unseen.into_iter().chain(names::not_saved(&self.unsaved)).collect()
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
    /// Hunks of the selection that could be applied without those that no longer fit.
    others: usize,
    /// The editor refused, and the user had typed just then.
    is_outdated: bool,
}

impl Accepted {
    /// Why some or all edits did not come about.
    pub(super) fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// What became of edits of the same file that another thread has proposed, too.
    fn and(mut self, other: Self) -> Self {
        self.files.extend(other.files);
        self.files.sort();
        self.files.dedup();
        self.unsaved.extend(other.unsaved);
        self.reason = match (self.reason, other.reason) {
            (Some(one), Some(more)) => Some(format!("{one}; {more}")),
            (one, more) => one.or(more),
        };
        let is_applied = [self.word, other.word].contains(&EditsWord::Applied);
        self.word = if is_applied { EditsWord::Applied } else { self.word };
        self
    }

    pub(super) fn to_json(&self) -> Value {
        let mut json = json!({ "applied": self.word == EditsWord::Applied, "files": self.files });
        if let Some(reason) = &self.reason {
            json["reason"] = json!(one_line(reason, MAX_REASON));
        }
        json
    }
}

/// Stages in a new turn what its thread has proposed before, so that the agent finds its own edits and the next
/// proposal holds them too. Edits whose places have changed since stay what they are: in conflict.
pub(super) async fn restage(session: &Arc<Session>, thread_id: &ThreadId, files: &Arc<TurnFiles>) {
    let Some(offer) = session.offers.get(thread_id).map(|offer| offer.clone()) else { return };
    let (session, thread_id, files) = (Arc::clone(session), thread_id.clone(), Arc::clone(files));
    let restage = move || {
        files.restage_review(&offer.review);
        // With those that do not fit yet.
        let views = offer.review.hunks(&session.workspace);
        let restaged =
            Restaged { offered: offer.review.ids(), made: proposers::made(&views, |id| offer.proposer(id)) };
        // Whether or not the turn still waits for it: what is staged has to be known as that.
        if let Some(mut offer) = session.offers.get_mut(&thread_id) {
            offer.restaged = Arc::new(restaged);
        }
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
        files: &Arc<TurnFiles>,
        steps: &StepEdits,
        result: &TurnResult,
    ) -> EditsEnd {
        let mut end = self.end_staged(thread_id, settings, files, steps, result).await;
        let applied = steps.applied();
        let mut unsaved = self.unsaved(&applied);
        unsaved.retain(|path| !end.unsaved.contains(path));
        end.unsaved.append(&mut unsaved);
        end.unsaved.sort();
        end.unseen = files.commands_ran_without();
        end
    }

    async fn end_staged(
        self: &Arc<Self>,
        thread_id: &ThreadId,
        settings: &Settings,
        files: &Arc<TurnFiles>,
        steps: &StepEdits,
        result: &TurnResult,
    ) -> EditsEnd {
        let followed = Arc::clone(files);
        let follow = move || {
            followed.follow_all();
            let earlier = Earlier { proposal: followed.earlier_proposal(), hunks: followed.earlier_hunks() };
            (followed.proposal(), earlier)
        };
        let (proposal, earlier) = tokio::task::spawn_blocking(follow).await.unwrap_or_else(|error| {
            tracing::error!(%error, "staged edits cannot be compared with their files");
            let earlier = Earlier { proposal: files.earlier_proposal(), hunks: files.earlier_hunks() };
            (files.proposal(), earlier)
        });
        if proposal == earlier.proposal {
            return steps.end(&self.workspace);
        }
        if proposal.is_empty() {
            // The turn has taken back what earlier ones had proposed.
            if self.offers.contains_key(thread_id) {
                self.offer_of_turn(thread_id, proposal, earlier, steps.turn()).await;
                self.offer_changed(thread_id);
            }
            return steps.end(&self.workspace);
        }
        let uris = proposal.files.iter().map(|file| self.workspace.uri(&file.path)).collect();
        // An editor or a shell runs such a file by itself: writing it is more than an edit, and the user is asked.
        let is_run_unasked = proposal.files.iter().any(|file| file.is_run_unasked(&self.workspace));
        self.offer_of_turn(thread_id, proposal, earlier, steps.turn()).await;
        match (settings.edits(), result.stop_reason) {
            (Edits::Apply, _) if result.is_whole() && !is_run_unasked => {
                let selection = self.fitting_at_first(thread_id);
                let accepted = self.accept(thread_id, &selection, Conflicting::Refuse, Way::AtOnce).await;
                if let Some(reason) = &accepted.reason {
                    self.editor.show_message(MessageType::WARNING, &format!("Agent edits: {reason}")).await;
                }
                let files = if accepted.word == EditsWord::Applied { accepted.files } else { uris };
                let end = EditsEnd::of(accepted.word, files, accepted.reason);
                EditsEnd { unsaved: accepted.unsaved, ..end }
            }
            // What a turn left that the user stopped is kept, but not pressed on them.
            (_, StopReason::Cancelled) => EditsEnd::of(EditsWord::Proposed, uris, None),
            _ => {
                let question = Some(steps.turn().number());
                EditsEnd { question, ..EditsEnd::of(EditsWord::Proposed, uris, None) }
            }
        }
    }
}

/// The commands.
impl Session {
    /// `askls.acceptEdits`. With `report` the user is told why edits did not come about, which is not waited for.
    pub(super) async fn accept_edits(
        self: &Arc<Self>,
        params: &EditParams,
        partial: bool,
        report: bool,
    ) -> Accepted {
        let mut all: Option<Accepted> = None;
        for thread_id in self.threads(params).await {
            let accepted = self.accept_of(thread_id, params, partial, report).await;
            all = Some(match all {
                Some(all) => all.and(accepted),
                None => accepted,
            });
        }
        match all {
            Some(all) => all,
            None => self.refuse(Accepted::refused("there are no proposed edits"), report).await,
        }
    }

    async fn accept_of(
        self: &Arc<Self>,
        thread_id: ThreadId,
        params: &EditParams,
        partial: bool,
        report: bool,
    ) -> Accepted {
        let selection = match self.selected(&thread_id, params).await {
            Ok(selection) => selection,
            Err(reason) => return self.refuse(Accepted::refused(reason), report).await,
        };
        let conflicting = if partial { Conflicting::LeaveOut } else { Conflicting::Refuse };
        let accepted = self.accept(&thread_id, &selection, conflicting, Way::AtOnce).await;
        if report {
            let (session, accepted) = (Arc::clone(self), accepted.clone());
            self.spawn(async move { session.report(&thread_id, &selection, &accepted).await });
        }
        accepted
    }

    async fn threads(self: &Arc<Self>, params: &EditParams) -> Vec<ThreadId> {
        let (session, params) = (Arc::clone(self), params.clone());
        tokio::task::spawn_blocking(move || session.threads_meant(&params)).await.unwrap_or_default()
    }

    async fn refuse(&self, accepted: Accepted, report: bool) -> Accepted {
        if let Some(reason) = accepted.reason.as_ref().filter(|_| report) {
            self.editor.show_message(MessageType::WARNING, &format!("Agent edits: {reason}")).await;
        }
        accepted
    }

    /// `askls.rejectEdits`; the URIs of the files of which something will not be changed, or why there is none.
    pub(super) async fn reject_edits(
        self: &Arc<Self>,
        params: &EditParams,
    ) -> std::result::Result<Vec<String>, String> {
        let threads = self.threads(params).await;
        if threads.is_empty() {
            return Err("there are no proposed edits".to_owned());
        }
        let mut rejected = BTreeSet::new();
        for thread_id in threads {
            let selection = self.selected(&thread_id, params).await?;
            if let Some(review) = self.review(&thread_id) {
                rejected.extend(review.rejected(&selection));
                self.offer_changed(&thread_id);
            }
        }
        Ok(rejected.iter().map(|path| self.workspace.uri(path)).collect())
    }

    async fn selected(
        self: &Arc<Self>,
        thread_id: &ThreadId,
        params: &EditParams,
    ) -> std::result::Result<Selection, String> {
        let review = self.review(thread_id).ok_or("there are no proposed edits")?;
        let (session, params) = (Arc::clone(self), params.clone());
        let select = move || session.selection(&review, params.uri.as_deref(), params.hunks.as_deref());
        let selected = tokio::task::spawn_blocking(select).await;
        selected.unwrap_or_else(|error| Err(format!("the files could not be compared: {error}")))
    }

    /// `askls.showEdits`: of hunks or a file just those; of what is not proposed any more all the same, so that the user
    /// sees what is. Does not wait for the editor to open the diff.
    pub(super) async fn show_edits(self: &Arc<Self>, params: &EditParams) -> Result<Value> {
        let thread_id = self.threads(params).await.into_iter().next();
        let waiting = thread_id.and_then(|id| Some((self.review(&id)?, id)));
        let Some((review, thread_id)) = waiting else {
            return Ok(json!({ "diff": "", "files": [], "edits": [] }));
        };
        let selection = self.selected(&thread_id, params).await.unwrap_or(Selection::All);
        let session = Arc::clone(self);
        let list = move || {
            let diff = review.diff_of(&session.workspace, review.is_in(&selection));
            (diff, list::edits(&session, &review))
        };
        let (diff, edits) = tokio::task::spawn_blocking(list).await.unwrap_or_default();
        let files: Vec<&Value> = edits.iter().map(|edit| &edit["uri"]).collect();
        let settings = self.settings().await;
        let document = self.make_document(&settings, "edits.diff", &diff).await;
        let mut result = json!({ "threadId": thread_id, "diff": diff, "files": files, "edits": edits });
        if let Some(uri) = document {
            result["uri"] = json!(uri);
            let session = Arc::clone(self);
            self.spawn(async move { session.show_document(&uri).await });
        }
        Ok(result)
    }
}
