//! Calls that a model wrote as text, since its server did not see that they are calls: small local models do. A whole,
//! valid call of an offered tool at the end of a message becomes a call; anything less stays text, of which the end of
//! the reply tells ([`Finish::BrokenCall`]).

mod lost;
mod parameters;
mod scanner;
mod shapes;
mod values;

use super::{
    Finish, ModelError, ModelEvent, Request, ToolChoice,
    call_ids::CallIds,
    client::WholeDecoder,
    sse::{Decoder, Ending, Progress},
};
use crate::protocol::{AgentMessage, Item, MessageState, ToolCall, Usage};
use scanner::Scanner;
use shapes::Offered;

/// A decoder of any wire whose messages are searched for calls.
pub(super) struct TextCalls<D> {
    inner: D,
    /// `None` where text is text.
    search: Option<Search>,
}

struct Search {
    offered: Offered,
    /// Holds back what the user would otherwise see of a call.
    shown: Scanner,
    ids: CallIds,
    /// How many items the history had, and how many calls were found since.
    step: usize,
    found: usize,
    /// The last message ends in what looks like a call.
    has_lost_call: bool,
    has_called: bool,
}

impl<D: WholeDecoder> TextCalls<D> {
    /// `are_wanted` is the setting; without tools that may be called there is nothing to find.
    pub(super) fn new(inner: D, are_wanted: bool, request: Request<'_>) -> Self {
        let may_call = are_wanted && !request.tools.is_empty() && request.tool_choice != ToolChoice::None;
        let search = may_call.then(|| Search {
            offered: Offered::of(request.tools),
            shown: Scanner::default(),
            ids: CallIds::of(request.items),
            step: request.items.len(),
            found: 0,
            has_lost_call: false,
            has_called: false,
        });
        Self { inner, search }
    }
}

impl<D: WholeDecoder> Decoder for TextCalls<D> {
    fn event(&mut self, data: &str, out: &mut Vec<ModelEvent>) -> Result<Progress, ModelError> {
        let Some(search) = &mut self.search else { return self.inner.event(data, out) };
        let mut events = Vec::new();
        let progress = self.inner.event(data, &mut events);
        search.pass_on(events, out);
        if progress.is_err() {
            search.show_held(out);
        }
        progress
    }

    fn end(&mut self, ending: Ending, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let Some(search) = &mut self.search else { return self.inner.end(ending, out) };
        let mut events = Vec::new();
        let ended = self.inner.end(ending, &mut events);
        search.pass_on(events, out);
        search.show_held(out);
        ended
    }

    fn usage(&self) -> Option<Usage> {
        self.inner.usage()
    }

    fn unheard(&self) -> usize {
        self.inner.unheard()
    }
}

impl<D: WholeDecoder> WholeDecoder for TextCalls<D> {
    fn whole(&mut self, body: &str, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let Some(search) = &mut self.search else { return self.inner.whole(body, out) };
        let mut events = Vec::new();
        let ended = self.inner.whole(body, &mut events);
        search.pass_on(events, out);
        search.show_held(out);
        ended
    }
}

impl Search {
    fn pass_on(&mut self, events: Vec<ModelEvent>, out: &mut Vec<ModelEvent>) {
        for event in events {
            match event {
                ModelEvent::TextDelta(text) => {
                    let text = self.shown.push(&text, &self.offered);
                    if !text.is_empty() {
                        out.push(ModelEvent::TextDelta(text));
                    }
                }
                ModelEvent::Item(Item::Agent(message)) => self.message(message, out),
                ModelEvent::Item(Item::Call(_)) => {
                    self.has_called = true;
                    out.push(event);
                }
                ModelEvent::Done { finish, usage } => {
                    self.show_held(out);
                    let is_lost = finish.is_own() && self.has_lost_call && !self.has_called;
                    let finish = if is_lost { Finish::BrokenCall } else { finish };
                    out.push(ModelEvent::Done { finish, usage });
                }
                other => out.push(other),
            }
        }
    }

    /// Tells the calls at the end of a message from its words. A message that was cut, or that declines, calls nothing.
    fn message(&mut self, message: AgentMessage, out: &mut Vec<ModelEvent>) {
        let mut scanner = Scanner::default();
        let words = scanner.push(&message.text, &self.offered);
        let calls = scanner.into_calls();
        // What is held back may belong to a message that comes later.
        let is_held = message.text.trim_end().ends_with(self.shown.held().trim_end());
        if calls.is_empty() || message.state != MessageState::Whole {
            if is_held {
                self.show_held(out);
            }
            self.has_lost_call = message.state == MessageState::Whole && lost::ends_in_call(&message.text);
            out.push(ModelEvent::Item(Item::Agent(message)));
            return;
        }
        if is_held {
            self.shown = Scanner::default();
        }
        tracing::info!(calls = calls.len(), "calls that came as text were taken for calls");
        let words = words.trim_end().to_owned();
        if !words.is_empty() {
            // What the server sent holds the calls too.
            out.push(ModelEvent::Item(Item::Agent(AgentMessage { text: words, raw: None, ..message })));
        }
        self.has_called = true;
        for call in calls {
            self.found += 1;
            let id = format!("text_call_{}_{}", self.step, self.found);
            if let Some(id) = self.ids.take(&id, &call.name, &call.arguments) {
                let call = ToolCall { id, name: call.name, arguments: call.arguments, raw: None };
                out.push(ModelEvent::Item(Item::Call(call)));
            }
        }
    }

    /// No call came of it.
    fn show_held(&mut self, out: &mut Vec<ModelEvent>) {
        let text = std::mem::take(&mut self.shown).into_held();
        if !text.is_empty() {
            out.push(ModelEvent::TextDelta(text));
        }
    }
}

#[cfg(test)]
mod tests;
