//! `askls.undoTurn` and `askls.redoTurn`: an applied turn is taken back as one, through the editor like any edit.
//!
//! Where the user has gone on since, they decide; without an answer nothing happens. What an editor cannot do (to delete or
//! move a file for a language server) is done on the disk, but only to files that it has not open.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    accept::Way,
    apply::{Applied, Sees, TAKES_NO_EDITS},
    names::{list, not_saved},
    undo_disk::OnDisk,
    undo_words::{MAX_NAMED, did, is_certain, named, news, told, words},
};
use crate::{
    lsp::{editor, lsp_types::MessageType, session::Session},
    protocol::ThreadId,
    tools::output::visible_path,
    workspace::{
        FileEdit,
        checkpoints::{Direction, Held, OnConflict, UndoPlan},
    },
};

const CANCELLED: &str = "the request was cancelled before anything was changed";

/// The arguments of both commands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::lsp) struct UndoParams {
    /// Absent: the newest turn of any thread.
    pub(in crate::lsp) thread_id: Option<ThreadId>,
    #[serde(default)]
    pub(in crate::lsp) on_conflict: ConflictAnswer,
}

/// What to do with files that have moved on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::lsp) enum ConflictAnswer {
    /// The user is asked.
    #[default]
    Ask,
    Merge,
    Restore,
    Cancel,
}

impl ConflictAnswer {
    /// See [`OnConflict::passes_over`].
    pub(super) fn passes_over(self) -> bool {
        let choice = match self {
            Self::Merge => OnConflict::Merge,
            Self::Restore => OnConflict::Restore,
            Self::Ask | Self::Cancel => return false,
        };
        choice.passes_over()
    }
}

/// What an undo or redo did.
#[derive(Debug, Default)]
struct Undone {
    done: Vec<FileEdit>,
    /// By what the turn is called.
    label: String,
    checkpoint: Option<String>,
    reasons: Vec<String>,
}

impl Undone {
    fn refused(reason: impl Into<String>) -> Self {
        Self { reasons: vec![reason.into()], ..Self::default() }
    }
}

impl Session {
    /// Runs to its end though the request is cancelled once the editor was asked for something: what it has done must get its
    /// checkpoint. Before that, whoever cancels wants nothing done later.
    pub(in crate::lsp) async fn undo_turn(
        self: &Arc<Self>,
        direction: Direction,
        params: UndoParams,
    ) -> Value {
        let session = Arc::clone(self);
        let unwanted = CancellationToken::new();
        let _fires_with_the_request = unwanted.clone().drop_guard();
        let work = self.spawn(async move { session.undo(direction, &params, &unwanted).await });
        let undone = match work.await {
            Ok(Some(undone)) => undone,
            Ok(None) => Undone::refused("the server is ending"),
            Err(error) => Undone::refused(format!("a fault of askls: {error}")),
        };
        let reason = undone.reasons.join("; ");
        let mut json = json!({
            words(direction).done: !undone.done.is_empty(),
            "files": undone.done.iter().map(|file| self.workspace.uri(&file.path)).collect::<Vec<_>>(),
            "checkpoint": undone.checkpoint,
        });
        if !reason.is_empty() {
            json["reason"] = json!(editor::plain(&reason));
        }
        // Most editors show nobody the result of a command.
        let kind = if reason.is_empty() { MessageType::INFO } else { MessageType::WARNING };
        self.editor.show_message(kind, &format!("askls: {}", self.outcome(direction, &undone))).await;
        json
    }

    /// `Undid "make it B" (a.txt, b.txt); not saved yet: b.txt`, and what stays. Blocks on the disk.
    fn outcome(&self, direction: Direction, undone: &Undone) -> String {
        let mut parts = Vec::new();
        if !undone.done.is_empty() {
            let names: Vec<_> = undone.done.iter().map(|file| visible_path(file.path.as_str())).collect();
            parts.push(format!("{} \"{}\" ({})", did(direction), undone.label, list(&names, MAX_NAMED)));
        }
        parts.extend(undone.reasons.iter().cloned());
        parts.extend(not_saved(&self.unsaved(&undone.done)));
        parts.join("; ")
    }

    async fn undo(
        self: &Arc<Self>,
        direction: Direction,
        params: &UndoParams,
        unwanted: &CancellationToken,
    ) -> Undone {
        let Ok(_only) = self.journal.undo.try_acquire() else {
            return Undone::refused("another undo or redo is not finished; answer its question first");
        };
        if !self.client().apply_edit {
            return Undone::refused(format!("{TAKES_NO_EDITS}; `askls undo` on the command line can do it"));
        }
        let mut skipped = Vec::new();
        loop {
            let newest = self.undo_newest(direction, params, unwanted, &mut skipped).await;
            let Some(mut undone) = newest else { continue };
            undone.reasons.splice(0..0, skipped);
            return undone;
        }
    }

    /// `None` when the user skips the turn; what they are told of that goes to `skipped`, and the next one has its turn.
    async fn undo_newest(
        self: &Arc<Self>,
        direction: Direction,
        params: &UndoParams,
        unwanted: &CancellationToken,
        skipped: &mut Vec<String>,
    ) -> Option<Undone> {
        let mut asked: Option<(UndoPlan, OnConflict)> = None;
        loop {
            let planned = self.plan_undo(direction, params.thread_id.clone());
            let (mut plan, held) = match unwanted.run_until_cancelled(planned).await {
                Some(Ok(planned)) => planned,
                Some(Err(reason)) => return Some(Undone::refused(reason)),
                None => return Some(Undone::refused(CANCELLED)),
            };
            if let Some((before, _)) = &mut asked {
                // Each is told of once.
                plan.problems.append(&mut before.problems);
            }
            if plan.is_settled() {
                let is_asked = params.on_conflict == ConflictAnswer::Ask && plan.is_open();
                if !is_asked {
                    return Some(self.close(plan, params.on_conflict).await);
                }
                // Nobody else waits for this user's answer.
                drop(held);
                let skips = unwanted.run_until_cancelled(self.ask_whether_to_skip(&plan)).await;
                if skips != Some(true) {
                    return Some(self.close(plan, params.on_conflict).await);
                }
                // What may have become possible while the question was open is not skipped.
                let Ok((now, _held)) = self.plan_undo(direction, params.thread_id.clone()).await else {
                    continue;
                };
                if !now.says(&plan) || unwanted.is_cancelled() {
                    continue;
                }
                // As who says with the command that they want to get on.
                let mut closed = self.close(plan, ConflictAnswer::Restore).await;
                if closed.checkpoint.is_none() {
                    return Some(closed);
                }
                skipped.append(&mut closed.reasons);
                return None;
            }
            let chosen = match (&asked, params.on_conflict) {
                _ if plan.moved_on.is_empty() => Some(OnConflict::Restore),
                (_, ConflictAnswer::Merge) => Some(OnConflict::Merge),
                (_, ConflictAnswer::Restore) => Some(OnConflict::Restore),
                (_, ConflictAnswer::Cancel) => None,
                // The answer counts for what was asked; who has typed on meanwhile is asked anew.
                (Some((before, answer)), ConflictAnswer::Ask)
                    if before.proposal(*answer) == plan.proposal(*answer) =>
                {
                    Some(*answer)
                }
                (_, ConflictAnswer::Ask) => {
                    // Nobody else waits for this user's answer.
                    drop(held);
                    let answer = unwanted.run_until_cancelled(self.ask_what_to_keep(&plan)).await;
                    let Some(answer) = answer.flatten() else {
                        return Some(Undone::refused(format!(
                            "{} changed since, and stays as it is",
                            named(&plan.moved_on)
                        )));
                    };
                    asked = Some((plan, answer));
                    continue;
                }
            };
            return Some(match chosen {
                Some(on_conflict) => self.carry_out(&held, plan, on_conflict, params.on_conflict).await,
                None => Undone::refused("nothing was changed, as you chose"),
            });
        }
    }

    async fn plan_undo(
        self: &Arc<Self>,
        direction: Direction,
        thread: Option<ThreadId>,
    ) -> Result<(UndoPlan, Arc<Held>), String> {
        let session = Arc::clone(self);
        let plan = move || {
            let checkpoints = session.checkpoints().map_err(|error| error.to_string())?;
            let checkpoints = checkpoints.ok_or_else(|| {
                "no checkpoints are kept: the setting `checkpoints` is off, or there is no folder for them".to_owned()
            })?;
            let held = checkpoints.lock_for_undo(direction, thread.as_ref(), &session.workspace);
            let plan = || checkpoints.plan(direction, thread.as_ref(), &session.workspace);
            held.and_then(|held| Ok((plan()?, Arc::new(held)))).map_err(|error| error.to_string())
        };
        tokio::task::spawn_blocking(plan).await.unwrap_or_else(|error| Err(error.to_string()))
    }

    /// Nothing is to be done: the turn does not stand in the way of older ones any more.
    async fn close(self: &Arc<Self>, plan: UndoPlan, answer: ConflictAnswer) -> Undone {
        let mut reasons = told(&plan);
        let words = words(plan.direction);
        let is_open = plan.is_open();
        let is_passed_over = answer.passes_over();
        if is_open && !is_passed_over {
            reasons.push(format!("\"{}\" can still be {}", plan.turn.label, words.done));
        } else if is_open {
            reasons.push(format!("\"{}\" counts as {} now", plan.turn.label, words.done));
        } else if plan.left.is_empty() {
            let side = match plan.direction {
                Direction::Undo => "before",
                Direction::Redo => "after",
            };
            reasons.push(format!("the files are as they were {side} \"{}\" already", plan.turn.label));
        }
        let is_whole = !is_open || is_passed_over;
        let checkpoint = self.keep_undo(plan, Vec::new(), is_whole).await;
        Undone { checkpoint, reasons, ..Undone::default() }
    }

    async fn carry_out(
        self: &Arc<Self>,
        held: &Arc<Held>,
        plan: UndoPlan,
        on_conflict: OnConflict,
        answer: ConflictAnswer,
    ) -> Undone {
        let proposal = plan.proposal(on_conflict);
        if proposal.is_empty() {
            return Undone::refused(format!(
                "{} changed since in the same lines, and stays as it is",
                named(&plan.moved_on)
            ));
        }
        let Applied { mut done, left, .. } = self.apply(proposal, Way::Back(plan.direction), None).await;
        let mut reasons = told(&plan);
        if on_conflict == OnConflict::Merge {
            let touched = plan.moved_on.iter().filter(|file| file.touched > 0);
            reasons.extend(touched.map(|file| {
                let path = visible_path(&file.path);
                match file.touched {
                    1 => format!("{path}: 1 place that you also changed was left as it is"),
                    count => format!("{path}: {count} places that you also changed were left as they are"),
                }
            }));
        }
        // An editor may fail halfway.
        let (came, left): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|left| self.sees(&left.file) == Sees::After);
        done.extend(came.into_iter().map(|left| left.file));
        plan.restore_modes(&done);
        let (impossible, others): (Vec<_>, Vec<_>) = left.into_iter().partition(|left| left.is_impossible);
        reasons.extend(others.iter().map(|left| left.reason.clone()));
        let mut is_whole = others.is_empty() && is_certain(&plan, answer);
        let impossible = impossible.into_iter().map(|left| left.file).collect();
        let OnDisk { done: on_disk, intent, reason } = self.undo_on_disk(held, &plan, impossible).await;
        done.extend(on_disk);
        is_whole &= reason.is_none();
        reasons.extend(reason);
        reasons.dedup();
        if done.is_empty() {
            return Undone { reasons, ..Undone::default() };
        }
        self.add_news(&plan.turn.thread, news(&plan, &done));
        let label = plan.turn.label.clone();
        let checkpoint = self.keep_undo(plan, done.clone(), is_whole).await;
        if let Some(intent) = intent.filter(|_| checkpoint.is_some()) {
            self.forget_intent(intent).await;
        }
        Undone { done, label, checkpoint, reasons }
    }
}
