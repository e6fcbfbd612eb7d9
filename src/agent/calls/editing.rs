//! Calls that stage edits, and commands, which see only what of those is applied.

use crate::{protocol::Event, workspace::FilePath};

use super::{
    super::{
        Events, Thread, TurnContext,
        edits::{self, Held, Unseen},
        limits::LoopGuard,
    },
    Admitted, answer, keep,
};

/// Runs a call that may stage edits, and shows them; gives it back when its answer depends on what becomes of them.
pub(super) async fn edit(
    thread: &mut Thread,
    admitted: Admitted,
    guard: &mut LoopGuard,
    context: &TurnContext,
    events: &Events<'_>,
) -> Option<Held> {
    let answered = answer(admitted, context, events).await?;
    if !edits::wait_for_step(context) {
        answered.tell(events);
        keep(thread, guard, answered, context).await;
        report_edits(context, events).await;
        return None;
    }
    let paths = report_edits(context, events).await;
    if !answered.output.is_error && !paths.is_empty() {
        return Some(Held { answered, paths });
    }
    answered.tell(events);
    keep(thread, guard, answered, context).await;
    None
}

/// Applies what the calls before a command have made, where the face does that, and answers these. Rules, hooks and the
/// user then decide about the files that the command will find: a script that was edited since is another one. Whatever
/// they decide, the edits stay applied.
pub(super) async fn settle_for_command(
    thread: &mut Thread,
    guard: &mut LoopGuard,
    context: &TurnContext,
    events: &Events<'_>,
    held: &mut Vec<Held>,
) -> Option<Unseen> {
    let unseen = edits::settle_for_command(held, context).await;
    answer_held(thread, std::mem::take(held), guard, context, events).await;
    unseen
}

/// Answers a command that was decided about, and says which edits it did not see.
pub(super) async fn command(
    thread: &mut Thread,
    admitted: Admitted,
    unseen: Option<Unseen>,
    guard: &mut LoopGuard,
    context: &TurnContext,
    events: &Events<'_>,
) {
    let Some(mut answered) = answer(admitted, context, events).await else { return };
    if let Some(unseen) = unseen {
        answered.output.text.push('\n');
        answered.output.text.push_str(&unseen.told(answered.refusal.is_none()));
    }
    answered.tell(events);
    keep(thread, guard, answered, context).await;
}

/// Answers calls once it is known what became of their edits.
pub(super) async fn answer_held(
    thread: &mut Thread,
    held: Vec<Held>,
    guard: &mut LoopGuard,
    context: &TurnContext,
    events: &Events<'_>,
) {
    for call in held {
        call.answered.tell(events);
        keep(thread, guard, call.answered, context).await;
    }
}

/// Tells the face what was staged since it was last told, and gives the files concerned.
async fn report_edits(context: &TurnContext, events: &Events<'_>) -> Vec<FilePath> {
    let files = context.files.clone();
    let changes = tokio::task::spawn_blocking(move || {
        let changes = files.drain_changes().into_iter();
        changes.map(|edit| (edit.diff(), edit.path)).collect::<Vec<_>>()
    })
    .await;
    let changes = changes.unwrap_or_else(|error| {
        tracing::error!(%error, "staged edits could not be shown");
        Vec::new()
    });
    let tell = |(diff, path): (String, FilePath)| {
        events.emit(&Event::EditProposed { path: path.to_string(), diff });
        path
    };
    changes.into_iter().map(tell).collect()
}
