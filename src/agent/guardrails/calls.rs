//! What hooks do to calls: before consent, since the user is asked about what will run, and behind what it answered.

use std::path::PathBuf;

use serde_json::Value;

use crate::{
    model::arguments,
    protocol::{HookKind, ToolCall},
    tools::{
        Prepared, ToolError,
        output::{bounded, one_line},
    },
};

use super::{
    super::{Agent, Events, TurnContext},
    Checked, Matter,
};

/// Characters of replaced arguments that the model is told.
const MAX_ARGUMENTS_CHARS: usize = 500;

/// What becomes of a call before it is judged.
pub(in crate::agent) enum Before {
    Ready(ToolCall, Box<Prepared>),
    /// Who said no and why.
    Denied(ToolCall, Box<Prepared>, String),
    /// What the hooks made of it does not fit its tool; why, for the model.
    Unfit(ToolCall, String),
    /// Nobody has let it pass.
    Cancelled,
}

/// Asks the hooks about a call. What they replaced is parsed anew, so that everything after this (rules, the question, the
/// tool) is about what will run. `roots` are the workspace's folders.
pub(in crate::agent) async fn before(
    agent: &Agent,
    call: ToolCall,
    prepared: Box<Prepared>,
    roots: &[PathBuf],
    context: &TurnContext,
    events: &Events<'_>,
) -> Before {
    let guardrails = &context.guardrails;
    if !guardrails.watch(HookKind::Tool, Some(prepared.name)) {
        return Before::Ready(call, prepared);
    }
    let matter = Matter::Tool { tool: prepared.name, arguments: read(&call.arguments) };
    match guardrails.check(matter, Some(&call.id), &context.cancel, events).await {
        Checked::Passed { matter: Matter::Tool { arguments, .. }, changed_by: Some(_) } => {
            // What the server sent of the call stays in the thread.
            let call = ToolCall { arguments: arguments.to_string(), raw: None, ..call };
            match agent.tools.prepare_in(&call, roots) {
                Ok(prepared) => {
                    let note = format!(
                        "note: a hook of the user replaced the arguments of this call by {}",
                        one_line(&call.arguments, MAX_ARGUMENTS_CHARS)
                    );
                    Before::Ready(call, Box::new(prepared.noted("as a hook changed it", note)))
                }
                Err(ToolError(reason)) => {
                    let reason =
                        format!("a hook of the user replaced the arguments of this call, and {reason}");
                    Before::Unfit(call, reason)
                }
            }
        }
        Checked::Passed { .. } => Before::Ready(call, prepared),
        Checked::Denied(no) => Before::Denied(call, prepared, no.to_model),
        Checked::Cancelled => Before::Cancelled,
    }
}

/// Asks the hooks about what a call of `tool` that ran has answered; gives what the model gets, and whether that is an error.
/// `repeats` is the tool whose output that is part of, if it is another one.
pub(in crate::agent) async fn after(
    call: &ToolCall,
    (tool, repeats): (&'static str, Option<&'static str>),
    output: String,
    is_error: bool,
    context: &TurnContext,
    events: &Events<'_>,
) -> (String, bool) {
    let guardrails = &context.guardrails;
    let is_watched = |tool| guardrails.watch(HookKind::ToolOutput, Some(tool));
    if !is_watched(tool) && !repeats.is_some_and(is_watched) {
        return (output, is_error);
    }
    let matter = Matter::ToolOutput { tool, arguments: read(&call.arguments), output, is_error, repeats };
    match guardrails.check(matter, Some(&call.id), &context.cancel, events).await {
        Checked::Passed { matter: Matter::ToolOutput { output, .. }, changed_by } => match changed_by {
            Some(_) => (bounded(output), is_error),
            None => (output, is_error),
        },
        // A hook replaces what it saw by the same kind of thing.
        Checked::Passed { .. } => {
            ("the call ran, and its output is lost by a fault inside askls".to_owned(), true)
        }
        Checked::Denied(no) => (format!("the call ran, and its output is withheld: {}", no.to_model), true),
        Checked::Cancelled => {
            ("the turn was stopped before the user's hooks had seen what this call answered".to_owned(), true)
        }
    }
}

/// Arguments as the tool reads them; they did fit it.
fn read(written: &str) -> Value {
    let read = arguments::read(written).ok();
    read.and_then(|read| serde_json::from_str(&read.json).ok()).unwrap_or_else(|| written.into())
}
