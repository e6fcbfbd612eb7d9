//! The end of a reply: from the last event and the items on their way to the items that enter the history.

use serde_json::{Value, value::RawValue};

use super::ResponsesDecoder;
use crate::{
    model::{
        Finish, ModelError, ModelEvent,
        http::ServerError,
        responses::{
            event::{OutputItem, Response},
            slots::Slot,
            stored::{self, Measure},
        },
        said_end::{Said, SaidEnd},
        sse::{self, Decoder as _, Ending},
    },
    protocol::{AgentMessage, Item, MessageState, Raw, Reasoning, ToolCall, Wire},
};

impl ResponsesDecoder {
    /// # Errors
    /// That the response failed, or that a call of it is not whole.
    pub(super) fn finish(
        &mut self,
        kind: &str,
        response: Response,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        let status = response.status.as_deref().unwrap_or_default();
        let usage = response.usage;
        self.usage = usage;
        let done_calls = self.done_calls();
        // First of all, since what came of a reply that failed was written too.
        self.take_listed(response.output.as_deref().unwrap_or_default(), out);
        if SaidEnd::of(status) == SaidEnd::NotYet {
            // Whatever the event is called: the server is still at it, and what is there is not all.
            return Err(sse::interrupted(&self.endpoint, Ending::Closed));
        }
        let mut finish = ended(kind, status, &response).finish(&self.endpoint).map_err(|told| {
            let error = response.said_error().map(|error| serde_json::json!({ "error": error }));
            let error = error.as_ref().and_then(ServerError::find);
            error.map_or(told, |error| error.in_stream(&self.endpoint))
        })?;
        let most = self.endpoint.options.max_output_tokens;
        if finish.is_own() && usage.zip(most).is_some_and(|(usage, most)| usage.output_tokens == most) {
            // llama.cpp calls a reply complete on this wire that it cut. One that is longer knew no bound.
            finish = Finish::Length;
        }
        if finish.is_own() {
            let is_listed = response.output.as_ref().is_some_and(|items| !items.is_empty());
            let mut calls = self.slots.0.iter().filter(|slot| slot.kind == "function_call");
            let is_call_missing = match self.is_whole_call_lost {
                true => calls.all(|call| id_of_done(call).is_some_and(|id| done_calls.contains(&id))),
                false => self.is_call_lost && calls.next().is_none(),
            };
            // Nothing tells whether an item is missing, or the list leaves the call out.
            if self.is_item_lost && !self.slots.0.is_empty() && !is_listed || is_call_missing {
                self.unreadable.refuse_lost(&self.endpoint)?;
            }
            self.refuse_unfinished()?;
        }
        if finish.is_own() && self.slots.0.iter().any(Slot::is_cut) {
            // Whatever the response says of itself.
            finish = Finish::Length;
        }
        // The sort keeps the order of arrival among items without a number.
        self.slots.0.sort_by_key(|slot| slot.output_index);
        let mut items = Vec::new();
        // Should one of them be none.
        self.unheard = self.unheard();
        for slot in std::mem::take(&mut self.slots.0) {
            items.extend(self.item(slot, &finish)?);
        }
        if items.is_empty() && finish.is_own() {
            self.unreadable.refuse_all(&self.endpoint)?;
        }
        if !finish.is_own() {
            mark_partial(&mut items);
        } else if items.iter().any(is_refusal) {
            finish = Finish::Refusal;
        }
        if let Some(id) = response.id.filter(|_| self.endpoint.options.store && finish.is_own()) {
            items.extend(stored::mark(&self.endpoint, &id, self.sent.and(Measure::of(&items))));
        }
        out.extend(items.into_iter().map(ModelEvent::Item));
        out.push(ModelEvent::Done { finish, usage });
        Ok(())
    }

    /// The ids of the calls that are done.
    fn done_calls(&self) -> Vec<String> {
        if !self.is_whole_call_lost {
            return Vec::new();
        }
        let calls = self.slots.0.iter().filter(|slot| slot.kind == "function_call");
        calls.filter_map(id_of_done).collect()
    }

    /// Takes items that only the last event tells of. Where items were done before, their list is the truth: some servers
    /// leave the last event's empty, others repeat the items under new ids.
    fn take_listed(&mut self, output: &[Box<RawValue>], out: &mut Vec<ModelEvent>) {
        let is_lost = self.unreadable.is_a_piece_lost();
        let is_done = |slot: &Slot| slot.done.is_some();
        if !self.slots.0.is_empty() && self.slots.0.iter().all(is_done) && !is_lost {
            return;
        }
        let listed = self.slots.0.iter().any(is_done) && !is_lost;
        for (item, index) in output.iter().zip(0u64..) {
            let Some(parsed) = OutputItem::parse(item) else { continue };
            let position = match self.slots.find_listed(&parsed, index) {
                Some(position) => position,
                None if listed => continue,
                None => match self.slots.add(parsed.text("id").map(str::to_owned), Some(index)) {
                    Some(position) => position,
                    None => break,
                },
            };
            self.show_rest(position, &parsed, out);
            self.with_slot(position, |slot| {
                if slot.done.is_none() {
                    slot.kind = parsed.kind().to_owned();
                    slot.done = Some(item.clone());
                }
            });
        }
    }

    /// Makes calls of those that were announced and never done.
    ///
    /// # Errors
    /// That one is not whole, or that a piece is lost of an item that never came whole: what is there may be whole by
    /// chance, and mean something else.
    fn refuse_unfinished(&mut self) -> Result<(), ModelError> {
        let is_lost = self.unreadable.is_a_piece_lost();
        for slot in self.slots.0.iter_mut().filter(|slot| slot.done.is_none()) {
            let is_call = slot.kind == "function_call";
            if is_call {
                slot.done = slot.announced_call(is_lost);
            }
            if slot.done.is_none() {
                self.unreadable.refuse_lost(&self.endpoint)?;
                if is_call {
                    return Err(sse::interrupted(&self.endpoint, Ending::Closed));
                }
            }
        }
        Ok(())
    }

    /// `None` for what must not stay in a history: a call that was cut, an item that never came.
    fn item(&mut self, slot: Slot, finish: &Finish) -> Result<Option<Item>, ModelError> {
        let Some(done) = slot.done else {
            let text = if slot.kind == "message" { slot.shown } else { String::new() };
            let state = if slot.is_refusal { MessageState::Refusal } else { MessageState::Whole };
            let message = AgentMessage { text, state, raw: None };
            return Ok((!message.text.is_empty()).then_some(Item::Agent(message)));
        };
        let parsed = OutputItem::parse(&done).ok_or_else(|| sse::malformed(&self.endpoint, done.get()))?;
        let raw = Raw { wire: Wire::Responses, json: done.get().into() };
        Ok(match parsed.kind() {
            "message" => {
                let (text, state) = parsed.message_text();
                Some(Item::Agent(AgentMessage { text, state, raw: Some(raw) }))
            }
            "reasoning" => Some(Item::Reasoning(Reasoning { text: parsed.reasoning_text(), raw: Some(raw) })),
            "function_call" => {
                let cut = !finish.is_own() && parsed.text("status") != Some("completed");
                if cut { None } else { self.call(&parsed, raw)? }
            }
            _ => Some(Item::Opaque(raw)),
        })
    }

    /// `None` for a call that came twice.
    fn call(&mut self, item: &OutputItem, raw: Raw) -> Result<Option<Item>, ModelError> {
        // One that is blank is the name of no tool.
        let Some(name) = item.text("name") else {
            return Err(sse::malformed(&self.endpoint, &raw.json));
        };
        let arguments = match item.0.get("arguments") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => String::new(),
            Some(other) => other.to_string(),
        };
        let given = item.text("call_id").unwrap_or_default();
        let Some(id) = self.call_ids.take(given, name, &arguments) else { return Ok(None) };
        // With another id than the server gave it, the call can only go back re-made.
        let raw = (id == given).then_some(raw);
        Ok(Some(Item::Call(ToolCall { id, name: name.to_owned(), arguments, raw })))
    }
}

/// All that is said of how a response ended; the reason first, since of words that are as grave the first one is told.
fn ended(kind: &str, status: &str, response: &Response) -> Said {
    let mut said = Said::default();
    // An open set of words (`max_output_tokens`, `max_tokens`, `steered`), all of which say that it was cut.
    if let Some(reason) = response.cut() {
        said.say_cut(reason);
    }
    said.say(status);
    said.say(kind.strip_prefix("response.").unwrap_or(kind));
    if response.said_error().is_some() {
        said.say("failed");
    }
    said
}

/// The id of a call that is done.
fn id_of_done(call: &Slot) -> Option<String> {
    let item = OutputItem::parse(call.done.as_deref()?)?;
    Some(item.text("call_id").unwrap_or_default().to_owned())
}

fn is_refusal(item: &Item) -> bool {
    matches!(item, Item::Agent(message) if message.state == MessageState::Refusal)
}

/// The last words of a reply that was cut are not all of them.
fn mark_partial(items: &mut [Item]) {
    let last = items.iter_mut().rev().find_map(|item| match item {
        Item::Agent(message) => Some(message),
        _ => None,
    });
    if let Some(message) = last {
        message.state = MessageState::Partial;
        message.raw = None;
    }
}
