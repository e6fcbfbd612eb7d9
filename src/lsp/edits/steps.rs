//! `edits = immediate`: the edits of each step are applied through the editor before the next one.
//!
//! What the editor refuses is void, since the model hears it and can do it anew. What the editor cannot do, and what is
//! too long to be asked about, stays staged and is proposed when the turn ends.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::{FutureExt, future::BoxFuture};

use super::{
    EditsEnd, EditsWord,
    accept::Way,
    apply::{APPLY_LIMIT, Sees, TAKES_NO_EDITS},
    names::named,
    proposers::{Proposer, Rest, Whose},
};
use crate::{
    agent::{EditApplier, EditFate, EditOutcome, Occasion},
    lsp::{
        approver::{EditorApprover, is_shown_whole, on_one_line},
        editor::plain,
        session::Session,
    },
    protocol::ThreadId,
    workspace::{EditProposal, FileEdit, FilePath, TurnFiles, Workspace, edit::Conflict, review::Review},
};

/// Why an edit did not have to be made.
const ALREADY: &str = "the user has made this change already";

/// What became of the edits that the steps of a turn have made; for each file the last of them counts.
#[derive(Debug)]
pub(in crate::lsp) struct StepEdits {
    turn: Proposer,
    ends: Mutex<BTreeMap<FilePath, End>>,
}

#[derive(Clone, Debug)]
enum End {
    Applied(FileEdit),
    /// Only that much came about, with the reason.
    Part(FileEdit, String),
    Void(EditsWord, String),
    /// The editor had it when the turn was cancelled: it is on offer until it is there.
    InHand,
}

impl StepEdits {
    /// None yet.
    pub(in crate::lsp) fn of(turn: Proposer) -> Self {
        Self { turn, ends: Mutex::default() }
    }

    pub(super) fn turn(&self) -> &Proposer {
        &self.turn
    }

    fn note(&self, path: &FilePath, end: End) {
        self.ends().insert(path.clone(), end);
    }

    /// The edits that the editor has applied.
    pub(super) fn applied(&self) -> Vec<FileEdit> {
        let ends = self.ends();
        let applied = ends.values().filter_map(|end| match end {
            End::Applied(edit) | End::Part(edit, _) => Some(edit.clone()),
            End::Void(..) | End::InHand => None,
        });
        applied.collect()
    }

    /// For a turn that leaves nothing staged: applied when all was, else the files that were not, and why.
    pub(super) fn end(&self, workspace: &Workspace) -> EditsEnd {
        let ends = self.ends();
        if ends.is_empty() {
            return EditsEnd::none();
        }
        let uris = |is_meant: fn(&End) -> bool| {
            ends.iter().filter(|(_, end)| is_meant(end)).map(|(path, _)| workspace.uri(path)).collect()
        };
        let left = ends.values().filter_map(|end| match end {
            End::Void(word, reason) => Some((*word, reason.as_str())),
            End::Part(_, reason) => Some((EditsWord::Refused, reason.as_str())),
            End::InHand => Some((EditsWord::Proposed, "the turn ended while the editor applied it")),
            End::Applied(_) => None,
        });
        let (words, mut reasons): (Vec<_>, Vec<_>) = left.unzip();
        reasons.dedup();
        match words.first() {
            None => EditsEnd::of(EditsWord::Applied, uris(|_| true), None),
            Some(&word) => EditsEnd::of(
                word,
                uris(|end| !matches!(end, End::Applied(_))),
                Some(format!("not applied: {}", reasons.join("; "))),
            ),
        }
    }

    /// Whole at any moment, so a panic elsewhere does not spoil it.
    fn ends(&self) -> MutexGuard<'_, BTreeMap<FilePath, End>> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Applies the edits of the steps of one turn.
pub(in crate::lsp) struct StepApplier {
    pub(in crate::lsp) session: Arc<Session>,
    pub(in crate::lsp) thread_id: ThreadId,
    pub(in crate::lsp) files: Arc<TurnFiles>,
    pub(in crate::lsp) approver: Arc<EditorApprover>,
    pub(in crate::lsp) steps: Arc<StepEdits>,
}

impl EditApplier for StepApplier {
    fn occasion(&self) -> Occasion {
        Occasion::EachStep
    }

    fn apply(&self, paths: BTreeSet<FilePath>) -> BoxFuture<'_, Vec<EditOutcome>> {
        self.apply_step(paths).boxed()
    }
}

impl StepApplier {
    async fn apply_step(&self, paths: BTreeSet<FilePath>) -> Vec<EditOutcome> {
        let (meant, _) = self.files.proposal().split_with(&paths);
        if !self.session.client().apply_edit {
            return self.stay(meant.files, TAKES_NO_EDITS);
        }
        let (asked_about, others) = meant.split_run_unasked(self.files.workspace());
        let mut outcomes = Vec::new();
        let mut wanted = others.files;
        if !asked_about.is_empty() {
            match self.ask_about(&asked_about).await {
                Asked::Allowed => wanted.extend(asked_about.files),
                Asked::Denied(reason) => {
                    outcomes.extend(self.discard(asked_about.files, EditsWord::Refused, &reason).await);
                }
                Asked::TooLong => {
                    let reason = "an editor or a shell runs the file by itself, and the change is too long for a \
                                  question";
                    outcomes.extend(self.stay(asked_about.files, reason));
                }
            }
        }
        if !wanted.is_empty() {
            wanted.sort_by(|one, other| one.path.cmp(&other.path));
            outcomes.extend(self.apply_through_editor(&EditProposal { files: wanted }).await);
        }
        for outcome in &mut outcomes {
            if let EditFate::NotApplied(reason) | EditFate::Part(reason) | EditFate::Proposed(reason) =
                &mut outcome.fate
            {
                *reason = plain(reason);
            }
        }
        outcomes
    }

    async fn ask_about(&self, edits: &EditProposal) -> Asked {
        let mut preview = format!("{} (run by an editor or a shell by itself)", named(&edits.files));
        for file in &edits.files {
            preview.push('\n');
            let diff = file.diff();
            let lines = diff.lines().skip_while(|line| !line.starts_with("@@"));
            let lines: Vec<_> = lines.filter(|line| line.starts_with(['+', '-'])).collect();
            preview.push_str(&lines.join("\n"));
        }
        let line = on_one_line(&preview);
        if !is_shown_whole(&line) {
            return Asked::TooLong;
        }
        match self.approver.ask_to_apply(&line).await {
            Ok(()) => Asked::Allowed,
            Err(reason) => Asked::Denied(reason),
        }
    }

    /// Edits of lines that are as they were are made where those stand now; the model is told of the others.
    async fn apply_through_editor(&self, proposal: &EditProposal) -> Vec<EditOutcome> {
        let whose = self.whose();
        let mut in_hand = InHand { applier: self, edits: &proposal.files, whose: &whose };
        let mut rebased = self.rebased(proposal).await;
        let mut applied = self.session.apply(&rebased.proposal, Way::AtOnce, Some(&whose)).await;
        let is_missing = |file: &&FileEdit| {
            let is_here = |path: &FilePath| *path == file.path;
            let is_over = applied.left.iter().any(|left| left.is_impossible && is_here(&left.file.path));
            !is_over && !applied.done.iter().any(|done| is_here(&done.path))
        };
        let missing = proposal.files.iter().filter(is_missing).cloned().collect();
        let missing = EditProposal { files: missing };
        if !missing.is_empty() {
            let again = self.rebased(&missing).await;
            let sent = &rebased.proposal.files;
            // The user has typed just then; some editors say yes to what they skip for it.
            let is_new = |file: &FileEdit| !sent.contains(file);
            let is_unfit_now =
                |(file, _): &(FileEdit, String)| sent.iter().any(|sent| sent.path == file.path);
            if again.proposal.files.iter().any(is_new) || again.unfit.iter().any(is_unfit_now) {
                let is_again = |path: &FilePath| missing.files.iter().any(|file| file.path == *path);
                applied.left.retain(|left| !is_again(&left.file.path));
                rebased.unfit.retain(|(file, _)| !is_again(&file.path));
                rebased.proposal.files.retain(|file| !is_again(&file.path));
                if !again.proposal.is_empty() {
                    applied.and(self.session.apply(&again.proposal, Way::AtOnce, Some(&whose)).await);
                }
                rebased.and(again);
            }
        }
        // What is left is staged or void: the turn's end offers it or not.
        in_hand.edits = &[];
        let word = if applied.word == EditsWord::Applied { EditsWord::Refused } else { applied.word };
        let done = applied.done;
        let mut outcomes = Vec::new();
        let mut parts: BTreeMap<FilePath, String> = BTreeMap::new();
        for left in applied.left {
            if done.iter().any(|file| file.path == left.file.path) {
                // The editor failed halfway.
                parts.insert(left.file.path, left.reason);
            } else if left.is_impossible {
                outcomes.extend(self.stay(vec![left.file], &left.reason));
            } else {
                outcomes.extend(self.discard(vec![left.file], word, &left.reason).await);
            }
        }
        for (file, reason) in rebased.unfit {
            if done.iter().any(|done| done.path == file.path) {
                parts.entry(file.path).or_insert(reason);
            } else if !rebased.proposal.files.iter().any(|rebased| rebased.path == file.path) {
                outcomes.extend(self.discard(vec![file], EditsWord::Conflict, &reason).await);
            }
        }
        for file in &done {
            let applied = || End::Applied(file.clone());
            let (end, fate) = match (parts.remove(&file.path), rebased.made.remove(&file.path)) {
                (Some(reason), _) => (End::Part(file.clone(), reason.clone()), EditFate::Part(reason)),
                // All that was to be made is there, but not all of it is the agent's.
                (None, Some(reason)) => (applied(), EditFate::Part(reason)),
                (None, None) => (applied(), EditFate::Applied(self.session.reach(file))),
            };
            self.steps.note(&file.path, end);
            outcomes.push(EditOutcome { path: file.path.clone(), fate });
        }
        let new = done.iter().filter(|file| !applied.kept.contains(&file.path)).cloned().collect();
        let kept = self.session.keep_checkpoints(whose.goes(new));
        self.session.forget_edits(&self.thread_id, &done, &self.files.earlier_hunks());
        self.change_files(move |files| files.applied(&done)).await;
        kept.await;
        outcomes
    }

    /// The edits on the texts of now, without hunks whose lines have changed since.
    async fn rebased(&self, proposal: &EditProposal) -> Rebased {
        let workspace = Arc::clone(&self.session.workspace);
        let as_staged = Rebased::whole(proposal.clone());
        let proposal = proposal.clone();
        let rebase = move || {
            let conflicts = proposal.conflicts(&workspace);
            if conflicts.is_empty() {
                return Rebased::whole(proposal);
            }
            let review = Review::new(proposal.clone(), &workspace);
            let made = proposal.files.iter().filter_map(|file| {
                let (all, open) = (review.ids_of(&file.path), review.hunks_of(&workspace, &file.path));
                let made = all.len().checked_sub(open.len()).filter(|made| *made > 0)?;
                let reason = format!("{ALREADY} at {made} of {} places", all.len());
                Some((file.path.clone(), reason))
            });
            let made = made.collect();
            let remaining = review.remaining(&workspace);
            let reason = |file: &FileEdit| {
                let is_here = |conflict: &&Conflict| conflict.path == file.path;
                let is_pending = remaining.proposal.files.iter().any(|pending| pending.path == file.path);
                match remaining.left_out.iter().any(|conflict| conflict.path == file.path) {
                    // Those of a review are for its user.
                    true => conflicts.iter().find(is_here).or(conflicts.first()).map(|it| it.reason.clone()),
                    false => (!is_pending).then(|| ALREADY.to_owned()),
                }
            };
            let unfit = proposal.files.iter().filter_map(|file| Some((file.clone(), reason(file)?)));
            Rebased { unfit: unfit.collect(), proposal: remaining.proposal, made }
        };
        tokio::task::spawn_blocking(rebase).await.unwrap_or_else(|error| {
            tracing::error!(%error, "staged edits cannot be compared with their files");
            as_staged
        })
    }

    /// With its own edits a step applies what its turn has staged again of earlier ones.
    fn whose(&self) -> Whose {
        let made = self.session.restaged(&self.thread_id).made.clone();
        Whose { made, turn: self.steps.turn().clone(), rest: Rest::OfTurn }
    }

    /// The edits stay staged.
    fn stay(&self, edits: Vec<FileEdit>, reason: &str) -> Vec<EditOutcome> {
        let outcome =
            |edit: FileEdit| EditOutcome { path: edit.path, fate: EditFate::Proposed(reason.to_owned()) };
        edits.into_iter().map(outcome).collect()
    }

    async fn discard(&self, edits: Vec<FileEdit>, word: EditsWord, reason: &str) -> Vec<EditOutcome> {
        let mut outcomes = Vec::new();
        for edit in &edits {
            self.steps.note(&edit.path, End::Void(word, reason.to_owned()));
            let fate = EditFate::NotApplied(reason.to_owned());
            outcomes.push(EditOutcome { path: edit.path.clone(), fate });
        }
        self.change_files(move |files| files.discard(&edits)).await;
        outcomes
    }

    async fn change_files(&self, change: impl FnOnce(&TurnFiles) + Send + 'static) {
        let files = Arc::clone(&self.files);
        if let Err(error) = tokio::task::spawn_blocking(move || change(&files)).await {
            tracing::error!(%error, "staged edits are not brought in line with the files");
        }
    }
}

/// Edits of a step as they fit now.
struct Rebased {
    proposal: EditProposal,
    /// Edits that do not fit, or not all of them, with the reason for the model.
    unfit: Vec<(FileEdit, String)>,
    /// Files at some places of which the user has made the change already, with that in words for the model.
    made: BTreeMap<FilePath, String>,
}

impl Rebased {
    fn whole(proposal: EditProposal) -> Self {
        Self { proposal, unfit: Vec::new(), made: BTreeMap::new() }
    }

    fn and(&mut self, more: Self) {
        self.proposal.files.extend(more.proposal.files);
        self.unfit.extend(more.unfit);
        self.made.extend(more.made);
    }
}

/// Edits that the editor may apply though the turn is over: they are on offer until they are there, and no longer the
/// turn's.
struct InHand<'a> {
    applier: &'a StepApplier,
    edits: &'a [FileEdit],
    whose: &'a Whose,
}

impl Drop for InHand<'_> {
    fn drop(&mut self) {
        if self.edits.is_empty() {
            return;
        }
        self.applier.files.discard(self.edits);
        let restaged = self.applier.files.earlier_hunks();
        for edit in self.edits {
            self.applier.steps.note(&edit.path, End::InHand);
        }
        let (session, thread_id) = (Arc::clone(&self.applier.session), self.applier.thread_id.clone());
        let whose = self.whose.clone();
        let is_done = |file: &FileEdit| session.sees(file) == Sees::After;
        let (done, files): (Vec<_>, Vec<_>) = self.edits.iter().cloned().partition(is_done);
        session.spawn(session.keep_checkpoints(whose.goes(done)));
        session.offer_more(&thread_id, files.clone(), &whose);
        self.applier.session.spawn(async move {
            let all: Vec<_> = files.iter().collect();
            // What has not come about then stays on offer.
            let _ = session.wait_for_files(APPLY_LIMIT, &all).await;
            let done: Vec<_> =
                files.iter().filter(|file| session.sees(file) == Sees::After).cloned().collect();
            session.keep_checkpoints(whose.goes(done.clone())).await;
            session.forget_edits(&thread_id, &done, &restaged);
        });
    }
}

/// What the user said of edits in files that run by themselves.
enum Asked {
    Allowed,
    Denied(String),
    TooLong,
}
