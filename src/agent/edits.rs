//! Edits that are applied while the turn goes on: the face applies them after the calls of a step, or before a command,
//! and the outputs of the calls tell the model what became of them.

use std::{collections::BTreeSet, panic::AssertUnwindSafe};

use futures::{FutureExt, future::BoxFuture};

use crate::{protocol::ToolOutput, tools, workspace::FilePath};

use super::{TurnContext, calls::Answered};

const AS_BEFORE: &str = "The file is as it was before this step.";
const READ_AGAIN: &str =
    "Read what was not wholly applied before you change it again; make nothing again that is there.";
const UNSEEN: &str = "note: the command ran without these edits of yours, which were not applied";
const VOID: &str = "note: these edits of yours were not applied";

/// Applies staged edits.
pub trait EditApplier: Send + Sync {
    fn occasion(&self) -> Occasion;

    /// Applies what the turn has staged for these paths, with what is tied to it, in one step; gives one outcome for
    /// each file concerned. What was applied or was not is staged no longer, what is only proposed still is.
    ///
    /// Dropping the future leaves staged what has not come about by then.
    fn apply(&self, paths: BTreeSet<FilePath>) -> BoxFuture<'_, Vec<EditOutcome>>;
}

/// When staged edits are applied while the turn goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// Those of each step, when its calls have run, and before a command that follows them in it is decided about.
    EachStep,
    /// All, before a command is decided about, since it sees the disk; and those of each step while a job goes on in the background.
    /// Whatever no command had to see is left for the end of the turn.
    Commands,
}

/// What became of the staged edit of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditOutcome {
    /// Where the file ends up.
    pub path: FilePath,
    pub fate: EditFate,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditFate {
    Applied(Reach),
    /// It waits for the user, with the reason.
    Proposed(String),
    /// It is void, with the reason.
    NotApplied(String),
    /// Only some of its places came about, and the rest is void, with the reason.
    Part(String),
}

/// How far an applied edit has come; the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// It was written to the disk, without an editor.
    Disk,
    /// The disk has it: everybody sees it.
    Saved,
    /// It stands in an open buffer, which is not saved: the tools see it, commands do not.
    Buffer,
    /// The editor took it and tells nothing of the text: neither tools nor commands see it.
    Unseen,
}

impl Reach {
    /// What the model has to know of it.
    fn told(self) -> &'static str {
        match self {
            Self::Disk => "Applied: the disk has it.",
            Self::Saved => "Applied in the user's editor, and saved.",
            Self::Buffer => {
                "Applied in the user's editor, but not saved: read_file and search see it; commands see the file on \
                 disk, without this edit, until the user saves it."
            }
            Self::Unseen => {
                "Applied in the user's editor, but not saved, and the editor does not show the text: read_file, search \
                 and commands see the file on disk, without this edit, until the user saves it. Do not make it again."
            }
        }
    }
}

/// A call that has staged edits, and whose output waits for what becomes of them.
pub(super) struct Held {
    pub(super) answered: Answered,
    /// The files whose edits it made or changed.
    pub(super) paths: Vec<FilePath>,
}

/// Edits of earlier steps that a command cannot see.
pub(super) struct Unseen(String);

impl Unseen {
    /// For the model, with what it hears of a command that has run or has not.
    pub(super) fn told(&self, has_run: bool) -> String {
        let what = if has_run { UNSEEN } else { VOID };
        format!("{what}: {}\n{READ_AGAIN}", self.0)
    }
}

/// Whether the outputs of calls that stage edits wait for what becomes of these when the step ends.
pub(super) fn wait_for_step(context: &TurnContext) -> bool {
    context.applier.as_ref().is_some_and(|applier| match applier.occasion() {
        Occasion::EachStep => true,
        Occasion::Commands => !context.jobs.running().is_empty(),
    })
}

/// Has the edits of a step applied and writes into the outputs what became of them. A cancelled turn applies nothing
/// more: its edits stay staged, as the outputs say.
pub(super) async fn settle(held: &mut [Held], context: &TurnContext) {
    let paths = paths_of(held);
    apply(held, paths, context).await;
}

/// The same before anybody decides about a command: it is to see what the calls before it have made, and those of earlier
/// steps where they wait for that. Gives what has to be said with the command's output.
pub(super) async fn settle_for_command(held: &mut [Held], context: &TurnContext) -> Option<Unseen> {
    let mut paths = paths_of(held);
    if context.applier.as_ref()?.occasion() == Occasion::Commands {
        paths.extend(context.files.proposal().files.into_iter().map(|edit| edit.path));
    }
    let untold = apply(held, paths, context).await?;
    let unseen = untold.iter().filter_map(|outcome| match &outcome.fate {
        EditFate::Applied(_) => None,
        EditFate::Proposed(reason) | EditFate::NotApplied(reason) | EditFate::Part(reason) => {
            Some(format!("{} ({reason})", outcome.path))
        }
    });
    let unseen: Vec<_> = unseen.collect();
    (!unseen.is_empty()).then(|| Unseen(unseen.join("; ")))
}

fn paths_of(held: &[Held]) -> BTreeSet<FilePath> {
    held.iter().flat_map(|call| call.paths.iter().cloned()).collect()
}

/// Gives the outcomes of files that no held call is about; `None` when nothing was to be done or the turn was cancelled
/// meanwhile.
async fn apply(
    held: &mut [Held],
    paths: BTreeSet<FilePath>,
    context: &TurnContext,
) -> Option<Vec<EditOutcome>> {
    let applier = context.applier.as_ref()?;
    if paths.is_empty() || context.cancel.is_cancelled() {
        return None;
    }
    let fault = paths.clone();
    let applying = AssertUnwindSafe(applier.apply(paths)).catch_unwind();
    let outcomes = context.cancel.run_until_cancelled(applying).await?.unwrap_or_else(|_panic| {
        let fate = || EditFate::Proposed("applying it failed by a fault inside askls".to_owned());
        fault.into_iter().map(|path| EditOutcome { path, fate: fate() }).collect()
    });
    for call in held.iter_mut() {
        let mut meant: Vec<&EditOutcome> =
            outcomes.iter().filter(|outcome| call.paths.contains(&outcome.path)).collect();
        if meant.is_empty() {
            // A later call of the step has moved the file on: what became of the step is all that is known.
            meant = outcomes.iter().collect();
        }
        if let Some(told) = tell_part(&meant) {
            call.answered.output.text = told;
            call.answered.output.is_error = true;
            continue;
        }
        let fates: Vec<_> = meant.iter().map(|outcome| &outcome.fate).collect();
        tell(&mut call.answered.output, &fates);
    }
    let told = paths_of(held);
    Some(outcomes.into_iter().filter(|outcome| !told.contains(&outcome.path)).collect())
}

/// What the model has to know of a call of which only a part came about. `None` when nothing did, or all.
fn tell_part(outcomes: &[&EditOutcome]) -> Option<String> {
    let paths = |is_meant: fn(&EditFate) -> bool| {
        let meant = outcomes.iter().filter(|outcome| is_meant(&outcome.fate));
        let paths: Vec<&str> = meant.map(|outcome| outcome.path.as_str()).collect();
        (!paths.is_empty()).then(|| paths.join(", "))
    };
    let applied = paths(|fate| matches!(fate, EditFate::Applied(_)));
    let parts = paths(|fate| matches!(fate, EditFate::Part(_)));
    let void = paths(|fate| matches!(fate, EditFate::NotApplied(_)));
    if parts.is_none() && (applied.is_none() || void.is_none()) {
        return None;
    }
    let told = [
        applied.map(|paths| format!("applied: {paths}")),
        parts.map(|paths| format!("applied only in part: {paths}")),
        void.map(|paths| format!("not applied: {paths}")),
    ];
    let told: Vec<String> = told.into_iter().flatten().collect();
    let fates: Vec<&EditFate> = outcomes.iter().map(|outcome| &outcome.fate).collect();
    let reasons = reasons(&fates, |fate| match fate {
        EditFate::NotApplied(reason) | EditFate::Part(reason) => Some(reason),
        EditFate::Applied(_) | EditFate::Proposed(_) => None,
    });
    Some(format!("{} ({})\n{READ_AGAIN}", told.join("; "), reasons.unwrap_or_default()))
}

/// Puts the worst of the fates in the place of the line that says that the edit is staged.
fn tell(output: &mut ToolOutput, fates: &[&EditFate]) {
    let void = reasons(fates, |fate| match fate {
        EditFate::NotApplied(reason) => Some(reason),
        _ => None,
    });
    if let Some(reasons) = void {
        output.text = format!("not applied: {reasons}\n{AS_BEFORE}");
        output.is_error = true;
        return;
    }
    let waiting = reasons(fates, |fate| match fate {
        EditFate::Proposed(reason) => Some(reason),
        _ => None,
    });
    if let Some(reasons) = waiting {
        output.text.push_str(&format!("\nIt was not applied at once: {reasons}."));
        return;
    }
    let report = tools::without_worth(&output.text);
    let reach = fates.iter().filter_map(|fate| match fate {
        EditFate::Applied(reach) => Some(*reach),
        _ => None,
    });
    let reach = reach.max().unwrap_or(Reach::Saved);
    output.text = format!("{report}\n{}", reach.told());
}

/// The different reasons in one text; `None` when there is none.
fn reasons<'a>(
    fates: &[&'a EditFate],
    reason: impl Fn(&'a EditFate) -> Option<&'a String>,
) -> Option<String> {
    let mut reasons: Vec<&str> = Vec::new();
    for reason in fates.iter().filter_map(|fate| reason(fate)) {
        if !reasons.contains(&reason.as_str()) {
            reasons.push(reason);
        }
    }
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(fates: &[EditFate], expected: Expect) {
        let mut output = ToolOutput {
            call_id: "1".to_owned(),
            text: format!("edited a.txt\n{}", tools::STAGED),
            is_error: false,
        };
        tell(&mut output, &fates.iter().collect::<Vec<_>>());
        expected.assert_eq(&format!("{}{}", if output.is_error { "error: " } else { "" }, output.text));
    }

    #[test]
    fn an_applied_edit_is_not_said_to_be_staged() {
        check(
            &[EditFate::Applied(Reach::Saved)],
            expect![[r#"
                edited a.txt
                Applied in the user's editor, and saved."#]],
        );
    }

    #[test]
    fn who_does_not_see_an_edit_before_it_is_saved_is_told() {
        check(
            &[EditFate::Applied(Reach::Buffer), EditFate::Applied(Reach::Saved)],
            expect![[r#"
                edited a.txt
                Applied in the user's editor, but not saved: read_file and search see it; commands see the file on disk, without this edit, until the user saves it."#]],
        );
        check(
            &[EditFate::Applied(Reach::Buffer), EditFate::Applied(Reach::Unseen)],
            expect![[r#"
                edited a.txt
                Applied in the user's editor, but not saved, and the editor does not show the text: read_file, search and commands see the file on disk, without this edit, until the user saves it. Do not make it again."#]],
        );
    }

    #[test]
    fn the_worst_of_several_fates_is_told_and_each_reason_once() {
        let locked = || EditFate::NotApplied("locked".to_owned());
        check(
            &[EditFate::Applied(Reach::Saved), locked(), EditFate::Proposed("moved".to_owned()), locked()],
            expect![[r#"
                error: not applied: locked
                The file is as it was before this step."#]],
        );
    }

    #[test]
    fn what_waits_for_the_user_is_no_error() {
        check(
            &[EditFate::Proposed("this editor takes no edits".to_owned())],
            expect![[r#"
                edited a.txt
                Staged as a proposal: nothing is on disk yet, and the user decides whether to apply it.
                It was not applied at once: this editor takes no edits."#]],
        );
    }
}
