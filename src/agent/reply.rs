//! One model request to its end: the stream collected into whole items, asked again when that can help.

use std::time::Duration;

use futures::StreamExt;
use tokio_util::sync::CancellationToken;

use crate::{
    model::{ErrorKind, Finish, ModelClient, ModelError, ModelEvent, ModelStream, Request, Retry},
    protocol::{AgentMessage, Event, Item, MessageState, Usage},
};

use super::Events;

/// Attempts for one request while the server is busy: with the waits below about a minute in all.
const MAX_ATTEMPTS: u32 = 6;

/// Attempts when the server cannot be reached or answers rubbish: those mostly need the user, who waits meanwhile.
const MAX_ATTEMPTS_UNREACHABLE: u32 = 3;

const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// A server that wants a longer pause than this is not waited for without the user's word.
const LONGEST_SERVER_WAIT: Duration = Duration::from_secs(120);

/// How one model request ended.
pub(super) enum Reply {
    Whole {
        items: Vec<Item>,
        finish: Finish,
        usage: Usage,
    },
    /// The reply broke off. Its whole messages and the text of the one that was being written are kept; its calls
    /// and its reasoning are not, since neither can be trusted or sent back without the rest.
    Broken {
        texts: Vec<Item>,
        error: ModelError,
    },
    Cancelled {
        texts: Vec<Item>,
    },
}

/// Sends the request until it is answered, cannot be, or the user stops it. It is sent again only while nothing of a
/// reply was shown, so the user never sees the same words twice and no call can run twice.
pub(super) async fn ask(
    model: &dyn ModelClient,
    request: Request<'_>,
    events: &Events<'_>,
    cancel: &CancellationToken,
) -> Reply {
    let mut attempt = 1;
    loop {
        let mut collected = Collected::default();
        let outcome = tokio::select! {
            biased;
            () = cancel.cancelled() => return Reply::Cancelled { texts: collected.into_texts() },
            outcome = collect(model, request, events, &mut collected) => outcome,
        };
        let error = match outcome {
            Ok((finish, usage)) => return collected.into_whole(finish, usage),
            Err(error) => error,
        };
        let Some(wait) = wait_before_retry(&error, attempt).filter(|_| !collected.shown) else {
            return Reply::Broken { texts: collected.into_texts(), error };
        };
        attempt += 1;
        events.emit(&Event::Retrying { attempt, reason: error.to_string(), wait });
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Reply::Cancelled { texts: Vec::new() },
            () = tokio::time::sleep(wait) => {}
        }
    }
}

/// What has arrived of a reply so far.
#[derive(Default)]
struct Collected {
    items: Vec<Item>,
    /// Text that was shown and is not yet in a whole item.
    open_text: String,
    /// Anything of this reply has reached the face.
    shown: bool,
}

impl Collected {
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
        if finish == Finish::Stop || finish == Finish::Refusal {
            return Reply::Whole { items: self.items, finish, usage };
        }
        Reply::Whole { items: self.into_texts(), finish, usage }
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
                collected.shown = true;
                collected.open_text.push_str(&text);
                events.emit(&Event::Text { text });
            }
            ModelEvent::ReasoningDelta(text) => {
                collected.shown = true;
                events.emit(&Event::Reasoning { text });
            }
            ModelEvent::Item(item) => {
                collected.shown = true;
                if let Item::Agent(message) = &item {
                    // A message that came without deltas has not been shown yet.
                    if collected.open_text.is_empty() && !message.text.is_empty() {
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

/// How long to wait before the request is sent once more; `None` when that cannot help.
fn wait_before_retry(error: &ModelError, attempt: u32) -> Option<Duration> {
    let most = match error.kind {
        ErrorKind::RateLimited | ErrorKind::Overloaded | ErrorKind::Failed => MAX_ATTEMPTS,
        _ => MAX_ATTEMPTS_UNREACHABLE,
    };
    if attempt >= most {
        return None;
    }
    match error.retry {
        Retry::Never => return None,
        Retry::After(asked) => return (asked <= LONGEST_SERVER_WAIT).then_some(asked),
        Retry::Later => {}
    }
    let wait = FIRST_WAIT.saturating_mul(1 << (attempt - 1).min(16)).min(LONGEST_WAIT);
    // Jitter, so that many clients of a busy server do not come back at the same moment.
    Some(wait.mul_f64(rand::random_range(0.5..1.5)))
}
