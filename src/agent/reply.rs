//! One model request to its end: the stream collected into whole items, asked again when that can help.

use futures::StreamExt;
use tokio_util::sync::CancellationToken;

use crate::{
    model::{ErrorKind, Finish, ModelClient, ModelError, ModelEvent, ModelStream, Request},
    protocol::{AgentMessage, Event, Item, MessageState, Usage},
};

use super::{
    Events,
    retry::{Again, Attempts},
};

/// How one model request ended.
pub(super) enum Reply {
    Whole {
        items: Vec<Item>,
        finish: Finish,
        /// Of this reply alone.
        usage: Usage,
    },
    /// The reply broke off. Its whole messages and the text of the one that was being written are kept; its calls
    /// and its reasoning are not, since neither can be trusted or sent back without the rest.
    Broken {
        texts: Vec<Item>,
        /// Something of it has reached the face.
        was_shown: bool,
        error: ModelError,
    },
    Cancelled {
        texts: Vec<Item>,
    },
}

/// Sends the request until it is answered, cannot be, or the user stops it. What was shown of a reply that broke off is
/// void when it is asked for again: the face is told so, and nothing of it is kept. No call of it has run.
///
/// `spent` grows by what the server counted, void replies included.
pub(super) async fn ask(
    model: &dyn ModelClient,
    request: Request<'_>,
    attempts: &mut Attempts,
    spent: &mut Usage,
    events: &Events<'_>,
    cancel: &CancellationToken,
) -> Reply {
    loop {
        let mut collected = Collected::default();
        let outcome = tokio::select! {
            biased;
            () = cancel.cancelled() => return Reply::Cancelled { texts: collected.into_texts() },
            outcome = collect(model, request, events, &mut collected) => outcome,
        };
        let was_shown = collected.was_shown;
        let again = match outcome {
            Ok((finish, usage)) => {
                *spent += usage;
                if finish != Finish::Stop || !collected.says_nothing() {
                    return collected.into_whole(finish, usage);
                }
                let Some(again) = attempts.after_silence() else {
                    // Reasoning that led to nothing cannot be sent back.
                    return Reply::Whole { items: Vec::new(), finish, usage };
                };
                again
            }
            Err(error) => match attempts.after(error) {
                Ok(again) => again,
                Err(error) => return Reply::Broken { texts: collected.into_texts(), was_shown, error },
            },
        };
        if was_shown {
            events.emit(&Event::Discarded);
        }
        if wait(&again, events, cancel).await.is_none() {
            return Reply::Cancelled { texts: Vec::new() };
        }
    }
}

/// Tells of the wait and waits; `None` when the user does not want to wait.
pub(super) async fn wait(again: &Again, events: &Events<'_>, cancel: &CancellationToken) -> Option<()> {
    events.emit(&again.to_event());
    cancel.run_until_cancelled(tokio::time::sleep(again.wait)).await
}

/// What has arrived of a reply so far.
#[derive(Default)]
struct Collected {
    items: Vec<Item>,
    /// Text that was shown and is not yet in a whole item.
    open_text: String,
    /// Anything of this reply has reached the face.
    was_shown: bool,
}

impl Collected {
    /// Whether there is neither a word nor a call.
    fn says_nothing(&self) -> bool {
        let is_silent = |item: &Item| match item {
            Item::Agent(message) => message.state != MessageState::Refusal && message.text.trim().is_empty(),
            Item::Call(_) => false,
            Item::Reasoning(_) | Item::Opaque(_) | Item::User(_) | Item::Output(_) => true,
        };
        self.open_text.trim().is_empty() && self.items.iter().all(is_silent)
    }

    fn into_texts(self) -> Vec<Item> {
        let mut texts: Vec<Item> = self
            .items
            .into_iter()
            .filter(|item| matches!(item, Item::Agent(message) if !message.text.is_empty()))
            .map(partial)
            .collect();
        if !self.open_text.is_empty() {
            texts.push(Item::Agent(AgentMessage {
                text: self.open_text,
                state: MessageState::Partial,
                raw: None,
            }));
        }
        texts
    }

    fn into_whole(mut self, finish: Finish, usage: Usage) -> Reply {
        // A server that ends properly and forgot to close its message: the text was shown, so it is kept.
        if !self.open_text.trim().is_empty() {
            self.items.push(Item::Agent(AgentMessage {
                text: std::mem::take(&mut self.open_text),
                state: MessageState::Whole,
                raw: None,
            }));
        }
        match finish {
            Finish::Stop | Finish::Pause | Finish::Refusal => {
                Reply::Whole { items: self.items, finish, usage }
            }
            Finish::Length | Finish::ContentFilter | Finish::ContextTooLong => {
                Reply::Whole { items: self.into_texts(), finish, usage }
            }
        }
    }
}

/// A message of a reply that was cut: typed only, since what the server sent of it belongs to the whole reply.
fn partial(item: Item) -> Item {
    match item {
        Item::Agent(message) if message.state == MessageState::Whole => {
            Item::Agent(AgentMessage { state: MessageState::Partial, raw: None, ..message })
        }
        other => other,
    }
}

async fn collect(
    model: &dyn ModelClient,
    request: Request<'_>,
    events: &Events<'_>,
    collected: &mut Collected,
) -> Result<(Finish, Usage), ModelError> {
    let mut stream: ModelStream = model.stream(request).await?;
    while let Some(event) = stream.next().await {
        match event? {
            ModelEvent::TextDelta(text) => {
                collected.was_shown = true;
                collected.open_text.push_str(&text);
                events.emit(&Event::Text { text });
            }
            ModelEvent::ReasoningDelta(text) => {
                collected.was_shown = true;
                events.emit(&Event::Reasoning { text });
            }
            ModelEvent::Item(item) => {
                if let Item::Agent(message) = &item {
                    // A message that came without deltas has not been shown yet.
                    if collected.open_text.is_empty() && !message.text.is_empty() {
                        collected.was_shown = true;
                        events.emit(&Event::Text { text: message.text.clone() });
                    }
                    collected.open_text.clear();
                }
                collected.items.push(item);
            }
            ModelEvent::Done { finish, usage } => return Ok((finish, usage.unwrap_or_default())),
        }
    }
    Err(ModelError::new(ErrorKind::Interrupted, "the model's reply ended before its end was said".to_owned()))
}
