//! One model request to its end: the stream collected into whole items, asked again when that can help.

use std::borrow::Cow;

use futures::StreamExt;

use crate::{
    model::{ErrorKind, Finish, ModelClient, ModelError, ModelEvent, ModelStream, Price, Request, Room},
    protocol::{AgentMessage, Event, Item, MessageState, Usage},
    workspace::keys,
};

use super::{
    Events, Limits, TurnContext,
    budget::{Reached, Spent},
    context,
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
    /// A bound of the settings leaves no room for another attempt after one that brought no reply.
    Bounded {
        texts: Vec<Item>,
        reached: Reached,
    },
}

impl Reply {
    /// The same at a bound that leaves no room for another form of the request.
    pub(super) fn bounded(self, reached: Reached) -> Self {
        Self::Bounded { texts: self.into_texts(), reached }
    }

    /// The same where the user wants no other form of the request.
    pub(super) fn cancelled(self) -> Self {
        Self::Cancelled { texts: self.into_texts() }
    }

    fn into_texts(self) -> Vec<Item> {
        match self {
            Self::Whole { items, .. } => Collected { items, ..Collected::default() }.into_texts(),
            Self::Broken { texts, .. } | Self::Cancelled { texts } | Self::Bounded { texts, .. } => texts,
        }
    }
}

/// What the attempts at one request use.
pub(super) struct Meter<'a> {
    /// Tokens of the request, by the estimate.
    pub(super) estimated: u64,
    pub(super) price: Option<Price>,
    pub(super) limits: &'a Limits,
    /// What the turn has used; grows with each attempt.
    pub(super) spent: &'a mut Spent,
    /// What the server counted, void replies included.
    pub(super) counted: Usage,
    /// The same, with estimates for what it did not count.
    pub(super) used: Usage,
    /// Whether a part of that is an estimate.
    pub(super) is_estimated: bool,
}

impl Meter<'_> {
    /// Adds what an attempt used that brought `items`. What the server did not count is estimated: a bound holds with
    /// every server.
    fn add(&mut self, counted: Option<Usage>, collected: &Collected) {
        if counted == Some(Usage::default()) {
            return;
        }
        let counted = counted.unwrap_or_default();
        let items = &collected.items;
        let mut used = counted.of_written(context::estimate_words(items));
        // No word is written with nothing.
        if counted.output_tokens == 0 {
            used.output_tokens = context::estimate(0, items);
        }
        self.spend(counted, used, collected.is_estimated);
    }

    /// The same for an attempt that broke off: what was counted by then may be of its first word only.
    fn add_broken(&mut self, collected: &Collected) {
        let counted = collected.used;
        let estimated = context::estimate(collected.unheard, &collected.so_far());
        let used = Usage { output_tokens: counted.output_tokens.max(estimated), ..counted };
        self.spend(counted, used, collected.is_estimated);
    }

    /// `is_estimated` says that the client has estimated a part of what is given as counted.
    fn spend(&mut self, counted: Usage, mut used: Usage, is_estimated: bool) {
        // No request reads nothing.
        if used.input_tokens == 0 {
            used.input_tokens =
                self.estimated.max(used.cached_tokens.saturating_add(used.cache_write_tokens));
        }
        self.counted += counted;
        self.used += used;
        let is_estimated = is_estimated || used != counted;
        self.is_estimated |= is_estimated;
        self.spent.add(used, self.price, is_estimated);
    }

    /// The bound that leaves no room for another attempt.
    fn used_up(&self) -> Option<Reached> {
        self.spent.used_up(self.limits)
    }
}

/// Sends the request until it is answered, cannot be, or the user stops it. What was shown of a reply that broke off is
/// void when it is asked for again: the face is told so, and nothing of it is kept. No call of it has run.
///
/// What the attempts use is added to `meter`; once that reaches a bound, there is no further one.
pub(super) async fn ask(
    model: &dyn ModelClient,
    request: Request<'_>,
    attempts: &mut Attempts,
    meter: &mut Meter<'_>,
    context: &TurnContext,
    events: &Events<'_>,
) -> Reply {
    loop {
        let mut collected = Collected::default();
        let room = meter.spent.room(meter.limits, &context.last_step);
        let outcome = tokio::select! {
            biased;
            () = context.cancel.cancelled() => {
                if collected.has_begun {
                    meter.add_broken(&collected);
                }
                return Reply::Cancelled { texts: collected.into_texts() };
            }
            outcome = collect(model, request, room, events, &mut collected) => outcome,
        };
        let was_shown = collected.was_shown;
        let again = match outcome {
            Ok((finish, usage)) => {
                meter.add(usage, &collected);
                let usage = usage.unwrap_or_default();
                if !finish.is_own() || !collected.says_nothing() {
                    return collected.into_whole(finish, usage);
                }
                let Some(again) = attempts.after_silence() else {
                    // Reasoning that led to nothing cannot be sent back.
                    return Reply::Whole { items: Vec::new(), finish, usage };
                };
                again
            }
            Err(mut error) => {
                // Some servers repeat what they refuse. What is said of it is logged and shown.
                if let Cow::Owned(masked) = keys::masked(&error.message) {
                    error.message = masked;
                }
                if collected.has_cost(&error) {
                    meter.add_broken(&collected);
                }
                match attempts.after(error) {
                    Ok(again) => again,
                    Err(error) => return Reply::Broken { texts: collected.into_texts(), was_shown, error },
                }
            }
        };
        if let Some(reached) = meter.used_up() {
            return Reply::Bounded { texts: collected.into_texts(), reached };
        }
        if context.last_step.is_cancelled() {
            return Reply::Cancelled { texts: collected.into_texts() };
        }
        if was_shown {
            events.emit(&Event::Discarded);
        }
        if wait(&again, context, events).await.is_none() {
            return Reply::Cancelled { texts: Vec::new() };
        }
    }
}

/// Tells of the wait and waits; `None` when the user does not want to wait, or wants no further request.
pub(super) async fn wait(again: &Again, context: &TurnContext, events: &Events<'_>) -> Option<()> {
    events.emit(&again.to_event());
    tokio::select! {
        biased;
        () = context.cancel.cancelled() => None,
        () = context.last_step.cancelled() => None,
        () = tokio::time::sleep(again.wait) => Some(()),
    }
}

/// What has arrived of a reply so far.
#[derive(Default)]
struct Collected {
    items: Vec<Item>,
    /// Text that was shown and is not yet in a whole item.
    open_text: String,
    /// Bytes that have come and are in no item yet: of reasoning, and of calls on their way.
    unheard: usize,
    /// Anything of this reply has reached the face.
    was_shown: bool,
    /// The server has begun to reply.
    has_begun: bool,
    /// What the server had counted when the reply broke off.
    used: Usage,
    /// The client has estimated a part of what was used.
    is_estimated: bool,
    /// A message came whole with other words than those that were shown of it: a piece was lost on the way.
    was_shown_wrong: bool,
    /// What is open came before a message that is whole, and is no part of that: more than one message came at once, or
    /// words that are in none.
    is_open_before: bool,
}

impl Collected {
    /// Takes a whole message: its words are no longer open, and are shown where no delta brought any.
    fn take_message(&mut self, text: &str, events: &Events<'_>) {
        let open = self.open_text.trim_start();
        if open.is_empty() {
            self.open_text.clear();
            if !text.is_empty() {
                self.was_shown = true;
                events.emit(&Event::Text { text: text.to_owned() });
            }
            return;
        }
        match after_words(open, text) {
            // The rest is of the messages that follow.
            Some(rest) => {
                self.open_text = rest.trim_start().to_owned();
                self.is_open_before = true;
            }
            None => {
                self.was_shown_wrong = true;
                self.open_text.clear();
            }
        }
    }

    /// Shows the reply as it is where it was shown otherwise.
    fn put_right(&mut self, events: &Events<'_>) {
        let is_in_none = self.is_open_before && !self.open_text.trim().is_empty();
        if is_in_none && self.items.iter().any(|item| words(item).is_some()) {
            self.was_shown_wrong = true;
            self.open_text.clear();
        }
        if !std::mem::take(&mut self.was_shown_wrong) {
            return;
        }
        let texts: Vec<&str> = self.items.iter().filter_map(words).collect();
        events.emit(&Event::Discarded);
        events.emit(&Event::Text { text: texts.join("\n\n") });
    }

    /// Whether an attempt that failed has used anything. A request that was refused has not.
    fn has_cost(&self, error: &ModelError) -> bool {
        let broke_off = self.has_begun && error.kind.is_of_a_begun_reply();
        broke_off
            || self.was_shown
            || self.unheard > 0
            || !self.items.is_empty()
            || self.used != Usage::default()
    }

    /// All that has arrived, the text included that is not whole yet.
    fn so_far(&self) -> Vec<Item> {
        let open = AgentMessage { text: self.open_text.clone(), state: MessageState::Partial, raw: None };
        let open = Some(Item::Agent(open)).filter(|_| !self.open_text.is_empty());
        self.items.iter().cloned().chain(open).collect()
    }

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
            // It stands for one that came empty.
            self.items.retain(|item| !matches!(item, Item::Agent(message) if message.text.trim().is_empty()));
            self.items.push(Item::Agent(AgentMessage {
                text: std::mem::take(&mut self.open_text),
                state: MessageState::Whole,
                raw: None,
            }));
        }
        match finish {
            Finish::Stop | Finish::Unknown(_) | Finish::BrokenCall | Finish::Pause | Finish::Refusal => {
                Reply::Whole { items: self.items, finish, usage }
            }
            Finish::Length | Finish::Cut(_) | Finish::ContentFilter | Finish::ContextTooLong => {
                Reply::Whole { items: self.into_texts(), finish, usage }
            }
        }
    }
}

/// What follows the words of a message in a text that begins with them, blanks of either apart.
fn after_words<'a>(text: &'a str, words: &str) -> Option<&'a str> {
    let mut left = text.char_indices().filter(|(_, character)| !character.is_whitespace());
    let mut end = 0;
    for word in words.chars().filter(|character| !character.is_whitespace()) {
        let (at, character) = left.next()?;
        if character != word {
            return None;
        }
        end = at + character.len_utf8();
    }
    text.get(end..)
}

/// What a message says.
fn words(item: &Item) -> Option<&str> {
    match item {
        Item::Agent(message) if !message.text.is_empty() => Some(&message.text),
        _ => None,
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
    room: Room,
    events: &Events<'_>,
    collected: &mut Collected,
) -> Result<(Finish, Option<Usage>), ModelError> {
    let mut stream: ModelStream = model.stream_within(request, room).await?;
    collected.has_begun = true;
    while let Some(event) = stream.next().await {
        match event? {
            ModelEvent::TextDelta(text) => {
                collected.was_shown = true;
                collected.open_text.push_str(&text);
                collected.is_open_before = false;
                events.emit(&Event::Text { text });
            }
            ModelEvent::ReasoningDelta(text) => {
                collected.was_shown = true;
                collected.unheard += text.len();
                events.emit(&Event::Reasoning { text });
            }
            ModelEvent::Item(item) => {
                if let Item::Agent(message) = &item {
                    collected.take_message(&message.text, events);
                }
                if matches!(item, Item::Reasoning(_)) {
                    collected.unheard = 0;
                }
                collected.items.push(item);
            }
            ModelEvent::Used(usage) => collected.used = usage,
            ModelEvent::Unheard(bytes) => collected.unheard += bytes,
            ModelEvent::Estimated => collected.is_estimated = true,
            ModelEvent::Done { finish, usage } => {
                collected.put_right(events);
                return Ok((finish, usage));
            }
        }
    }
    Err(ModelError::new(ErrorKind::Interrupted, "the model's reply ended before its end was said".to_owned()))
}
