//! Runs the calls of one step: readers side by side, everything else one at a time, each answered exactly once and in
//! call order.

mod consent;
mod editing;
mod refusal;
mod running;

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use futures::{StreamExt, stream};

use crate::{
    protocol::{Event, ToolCall, ToolOutput},
    tools::{Effect, Prepared, ToolError, output::one_line},
};

use super::{
    Agent, Events, FirstTool, Thread, TurnContext,
    approval::Decision,
    edits::{self, Held},
    guardrails::{self, Before},
    limits::LoopGuard,
    withheld,
};
use editing::{answer_held, command, edit, settle_for_command};
use refusal::Refusal;
use running::{Watcher, run_one};

/// Readers that run at once: enough to hide the disk, few enough to leave the editor its threads.
const PARALLEL_READS: usize = 8;

/// The arguments in which calls name the file that they are about.
const PLACES: [&str; 2] = ["path", "from"];

/// Longest target of a call in a progress line, in characters: two paths of a move.
const MAX_TARGET_CHARS: usize = 120;

/// Longest text of how a command ended, in characters: a job that goes on is told with its command.
const MAX_ENDING_CHARS: usize = 200;

/// A call after it was looked at and before it runs.
enum Admitted {
    Ready(ToolCall, Box<Prepared>),
    /// Answered without running.
    Refused {
        call: ToolCall,
        target: String,
        refusal: Refusal,
    },
}

impl Admitted {
    /// Of a call that is not refused.
    fn effect(&self) -> Option<Effect> {
        match self {
            Self::Ready(_, prepared) => Some(prepared.effect),
            Self::Refused { .. } => None,
        }
    }
}

/// A call that has run, or was refused.
pub(super) struct Answered {
    call: ToolCall,
    pub(super) output: ToolOutput,
    refusal: Option<Refusal>,
    /// How it ended, where it is a command.
    ending: Option<String>,
    /// How long it ran.
    duration: Duration,
}

impl Answered {
    fn tell(&self, events: &Events<'_>) {
        events.emit(&Event::ToolEnded {
            call_id: self.call.id.clone(),
            name: self.call.name.clone(),
            output: self.output.text.clone(),
            is_error: self.output.is_error,
            denied: self.refusal.clone().and_then(Refusal::denial),
            ending: self.ending.clone(),
            duration: self.duration,
        });
    }
}

/// Runs the calls until all are answered or the turn is cancelled; those that did not start keep the output that the
/// thread gave them. Then the edits of the step are applied, where the face does that.
pub(super) async fn run(
    agent: &Agent,
    thread: &mut Thread,
    calls: Vec<ToolCall>,
    guard: &mut LoopGuard,
    context: &TurnContext,
    events: &Events<'_>,
) {
    let mut held = Vec::new();
    run_all(agent, thread, calls, guard, context, events, &mut held).await;
    edits::settle(&mut held, context).await;
    answer_held(thread, held, guard, context, events).await;
}

/// Calls that have staged edits which are to be applied at once are held, unanswered.
async fn run_all(
    agent: &Agent,
    thread: &mut Thread,
    calls: Vec<ToolCall>,
    guard: &mut LoopGuard,
    context: &TurnContext,
    events: &Events<'_>,
    held: &mut Vec<Held>,
) {
    let mut readers = Vec::new();
    let roots = context.files.workspace().roots();
    for call in calls {
        if guard.must_stop() {
            break;
        }
        let admitted = admit(agent, call, guard, &roots);
        let is_command = admitted.effect() == Some(Effect::Execute);
        let mut unseen = None;
        if is_command {
            answer_all(thread, std::mem::take(&mut readers), guard, context, events).await;
            unseen = settle_for_command(thread, guard, context, events, held).await;
            if context.cancel.is_cancelled() {
                return;
            }
        }
        let Some(admitted) = guarded(agent, admitted, &roots, context, events).await else { break };
        let (admitted, judged) = consent::decide(agent, thread, admitted, context).await;
        if let Admitted::Ready(_, prepared) = &admitted
            && prepared.effect == Effect::Read
            && judged.decision == Decision::Allow
        {
            readers.push(admitted);
            continue;
        }
        answer_all(thread, std::mem::take(&mut readers), guard, context, events).await;
        if context.cancel.is_cancelled() {
            return;
        }
        let admitted = consent::ask_if_needed(thread, admitted, judged, context).await;
        if context.cancel.is_cancelled() {
            return;
        }
        match admitted.effect() {
            _ if is_command => command(thread, admitted, unseen, guard, context, events).await,
            Some(Effect::Edit) => held.extend(edit(thread, admitted, guard, context, events).await),
            _ => answer_all(thread, vec![admitted], guard, context, events).await,
        }
    }
    answer_all(thread, readers, guard, context, events).await;
}

/// `roots` are the workspace's folders.
fn admit(agent: &Agent, call: ToolCall, guard: &mut LoopGuard, roots: &[PathBuf]) -> Admitted {
    let prepared = agent.tools.prepare_in(&call, roots);
    if prepared.as_ref().is_ok_and(|prepared| prepared.waits) {
        guard.admit_waiting();
    } else if let Err(reason) = guard.admit(&call) {
        return refused(call, reason);
    }
    if agent.first_tool == FirstTool::None {
        return refused(call, "no tool may be called in this turn: answer in words".to_owned());
    }
    match prepared {
        Ok(prepared) => Admitted::Ready(call, Box::new(prepared)),
        Err(ToolError(reason)) => {
            if !is_json(&call.arguments) {
                guard.was_unreadable(&call);
            }
            refused(call, reason)
        }
    }
}

/// A call that does not run and of which only the arguments are known.
fn refused(call: ToolCall, reason: String) -> Admitted {
    let arguments = serde_json::from_str::<serde_json::Value>(&call.arguments).unwrap_or_default();
    let path = PLACES.iter().find_map(|name| arguments.get(name)?.as_str());
    let target = path.unwrap_or_default().to_owned();
    Admitted::Refused { call, target, refusal: Refusal::Fault(reason) }
}

/// Servers send nothing at all for a call without arguments.
fn is_json(arguments: &str) -> bool {
    arguments.trim().is_empty() || serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_ok()
}

/// A call after the user's hooks have seen it; `None` when the turn was cancelled meanwhile.
async fn guarded(
    agent: &Agent,
    admitted: Admitted,
    roots: &[PathBuf],
    context: &TurnContext,
    events: &Events<'_>,
) -> Option<Admitted> {
    let Admitted::Ready(call, prepared) = admitted else { return Some(admitted) };
    match guardrails::before(agent, call, prepared, roots, context, events).await {
        Before::Ready(call, prepared) => Some(Admitted::Ready(call, prepared)),
        Before::Denied(call, prepared, who_and_why) => {
            Some(consent::refused_as(call, prepared, Refusal::NotAllowed(who_and_why)))
        }
        Before::Unfit(call, reason) => Some(refused(call, reason)),
        Before::Cancelled => None,
    }
}

/// Runs what is ready side by side and answers all in their order.
async fn answer_all(
    thread: &mut Thread,
    admitted: Vec<Admitted>,
    guard: &mut LoopGuard,
    context: &TurnContext,
    events: &Events<'_>,
) {
    let answered: Vec<Option<Answered>> = stream::iter(admitted)
        .map(|admitted| async move {
            let answered = answer(admitted, context, events).await?;
            answered.tell(events);
            Some(answered)
        })
        .buffered(PARALLEL_READS)
        .collect()
        .await;
    for answered in answered.into_iter().flatten() {
        keep(thread, guard, answered, context).await;
    }
}

/// Counts a call's answer and puts it into the thread: from here on the model knows it.
async fn keep(thread: &mut Thread, guard: &mut LoopGuard, answered: Answered, context: &TurnContext) {
    let Answered { call, mut output, refusal, .. } = answered;
    withheld::withhold(&mut output, &call, &context.files).await;
    match refusal {
        Some(Refusal::Declined(_)) => guard.was_declined(),
        _ => guard.ended(call, &output),
    }
    thread.answer(output);
}

/// Runs one call; `None` when it never started. Its end is for the caller to tell.
async fn answer(admitted: Admitted, context: &TurnContext, events: &Events<'_>) -> Option<Answered> {
    if context.cancel.is_cancelled() {
        return None;
    }
    let (call, target) = match &admitted {
        Admitted::Ready(call, prepared) => (call, prepared.target.clone()),
        Admitted::Refused { call, target, .. } => (call, target.clone()),
    };
    // A key that the user named in their words is none for a progress line.
    let unnamed = |text: &str| context.files.shown(text).into_owned();
    events.emit(&Event::ToolStarted {
        call_id: call.id.clone(),
        name: call.name.clone(),
        // Hidden first: of a key that is cut, the rest would look like none.
        target: one_line(&unnamed(&target), MAX_TARGET_CHARS),
        arguments: unnamed(&call.arguments),
    });
    let started = Instant::now();
    let (call, ran, result, refusal) = match admitted {
        Admitted::Ready(call, prepared) => {
            let ran = Some((prepared.name, prepared.access.repeats, prepared.effect));
            let mut watcher = Watcher::new(&call.id, &context.files, events);
            let result = run_one(prepared, context, &mut watcher).await;
            watcher.show_rest();
            (call, ran, result, None)
        }
        Admitted::Refused { call, refusal, .. } => (call, None, Err(refusal.output()), Some(refusal)),
    };
    let is_error = result.is_err();
    // The first line of what a command answers says how it ended.
    let first = |text: &String| text.lines().next().map(|line| one_line(&unnamed(line), MAX_ENDING_CHARS));
    let is_command = ran.is_some_and(|(.., effect)| effect == Effect::Execute);
    let ending = result.as_ref().ok().filter(|_| is_command).and_then(first);
    let text = result.unwrap_or_else(|reason| reason);
    let text = withheld::without_keys(text, &call.arguments, context.files.masking());
    let (text, is_error) = match ran {
        Some((tool, repeats, _)) => {
            let said = guardrails::after(&call, (tool, repeats), text, is_error, context, events).await;
            // What a hook put in its place may hold keys, too.
            (withheld::without_keys(said.0, &call.arguments, context.files.masking()), said.1)
        }
        None => (text, is_error),
    };
    // Some servers refuse an empty output, and a model takes it for a fault.
    let text = if text.is_empty() { "(no output)".to_owned() } else { text };
    let output = ToolOutput { call_id: call.id.clone(), text, is_error };
    Some(Answered { call, output, refusal, ending, duration: started.elapsed() })
}
