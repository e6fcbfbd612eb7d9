//! What hooks do to words: to the user's before they are sent, and to the model's before anybody sees them.

use crate::{
    model::Finish,
    protocol::{AgentMessage, Event, HookKind, Item, MessageState, StopReason, UserMessage},
};

use super::{
    super::{Events, TurnContext, ending::Ending, reply::Reply, step::words, thread::Thread},
    Checked, Matter, No,
};

/// The question as it may be sent.
///
/// # Errors
/// The turn's end when it may not.
pub(in crate::agent) async fn admit(
    message: UserMessage,
    context: &TurnContext,
    events: &Events<'_>,
) -> Result<UserMessage, Ending> {
    let guardrails = &context.guardrails;
    if !guardrails.watch(HookKind::Input, None) {
        return Ok(message);
    }
    let matter = Matter::Input { text: message.text, context: message.context };
    match guardrails.check(matter, None, &context.cancel, events).await {
        Checked::Passed { matter: Matter::Input { text, context }, .. } => Ok(UserMessage { text, context }),
        Checked::Passed { .. } => Err(denied("the question was not sent, by a fault of askls")),
        Checked::Denied(no) => Err(denied(&format!("the question was not sent: {}", no.told))),
        Checked::Cancelled => Err(Ending::cancelled(String::new())),
    }
}

/// Has the hooks judge what the model says in a reply, and shows what they let pass: until here it was held back.
///
/// # Errors
/// The turn's end when they do not; the thread has a note in the place of the reply then, so that it can go on.
pub(in crate::agent) async fn judge(
    reply: &mut Reply,
    thread: &mut Thread,
    context: &TurnContext,
    events: &Events<'_>,
) -> Result<(), Ending> {
    let guardrails = &context.guardrails;
    if !guardrails.watch(HookKind::Output, None) {
        return Ok(());
    }
    let is_last = match reply {
        Reply::Whole { items, finish, .. } => {
            *finish != Finish::Pause && !items.iter().any(|item| matches!(item, Item::Call(_)))
        }
        Reply::Broken { .. } | Reply::Cancelled { .. } | Reply::Bounded { .. } => true,
    };
    let items = match reply {
        Reply::Whole { items, .. } => items,
        Reply::Broken { texts, .. } | Reply::Cancelled { texts } | Reply::Bounded { texts, .. } => texts,
    };
    let text = words("", items);
    if text.trim().is_empty() {
        return Ok(());
    }
    match guardrails.check(Matter::Output { text, is_last }, None, &context.cancel, events).await {
        Checked::Passed { matter: Matter::Output { text, .. }, changed_by } => {
            if changed_by.is_some() {
                replace_words(items, &text);
            }
            events.show(&Event::Text { text });
            Ok(())
        }
        Checked::Cancelled => Err(Ending::cancelled(String::new())),
        Checked::Denied(no) => Err(withhold(thread, &no)),
        Checked::Passed { .. } => {
            let fault = || "a fault of askls".to_owned();
            Err(withhold(thread, &No { told: fault(), to_model: fault() }))
        }
    }
}

fn withhold(thread: &mut Thread, no: &No) -> Ending {
    let note = format!("[What I said here was withheld from the user: {}]", no.to_model);
    let note = AgentMessage { text: note, state: MessageState::Whole, raw: None };
    thread.push_step(vec![Item::Agent(note)]);
    denied(&format!("the answer was withheld: {}", no.told))
}

/// One message in the place of all that the model said. What its server sent of them would say the old words.
fn replace_words(items: &mut Vec<Item>, text: &str) {
    let mut new = Some(text);
    items.retain_mut(|item| match item {
        Item::Agent(message) if !message.text.is_empty() => match new.take() {
            Some(new) => {
                new.clone_into(&mut message.text);
                message.raw = None;
                true
            }
            None => false,
        },
        _ => true,
    });
}

fn denied(detail: &str) -> Ending {
    Ending::new(StopReason::Guardrail, detail, String::new())
}
