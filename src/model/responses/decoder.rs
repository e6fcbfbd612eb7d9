//! Events of the Responses wire as a reply. An item counts when the server says that it is done; what comes before is
//! for the eye.

use std::sync::Arc;

use serde_json::{Value, value::RawValue};

use super::event::{Event, OutputItem, Response};
use crate::{
    model::{
        Finish, ModelError, ModelEvent,
        call_ids::CallIds,
        client::WholeDecoder,
        http::{Endpoint, ServerError},
        sse::{self, Decoder, Ending, Progress},
    },
    protocol::{AgentMessage, Item, MessageState, Raw, Reasoning, ToolCall, Usage, Wire},
};

/// Items of one reply; the largest seen has some dozens.
const MAX_ITEMS: usize = 1024;

pub(super) struct ResponsesDecoder {
    endpoint: Arc<Endpoint>,
    call_ids: CallIds,
    /// The items of the reply in the order in which they began.
    slots: Vec<Slot>,
    /// The slot whose text came last, to set the texts of two messages apart.
    speaking: Option<usize>,
}

/// One item of the reply on its way.
#[derive(Default)]
struct Slot {
    id: Option<String>,
    output_index: Option<u64>,
    /// `type`, once the item was announced.
    kind: String,
    /// The text that was shown.
    shown: String,
    done: Option<Box<RawValue>>,
}

impl ResponsesDecoder {
    /// `history` is what was sent: no new call takes the id of an old one.
    pub(super) fn new(endpoint: Arc<Endpoint>, history: &[Item]) -> Self {
        Self { endpoint, call_ids: CallIds::of(history), slots: Vec::new(), speaking: None }
    }

    /// The item of this kind that an event is about; a new one when the event announces it.
    fn slot(&mut self, event: &Event<'_>, item_id: Option<&str>, kind: &str) -> Result<usize, ModelError> {
        let id = item_id.or(event.item_id.as_deref());
        let known = self.slots.iter().position(|slot| match (id, slot.id.as_deref(), event.output_index) {
            // Servers that number their items may change the ids on the way.
            (_, _, Some(index)) if slot.output_index.is_some() => slot.output_index == Some(index),
            (Some(id), Some(known), _) => id == known,
            _ => false,
        });
        // Some servers leave out both in deltas: those belong to the item of their kind that is open, and a name that
        // comes later is that item's.
        let is_nameless = id.is_none() && event.output_index.is_none();
        let known = known.or_else(|| {
            self.slots.iter().rposition(|slot| {
                let may_be = is_nameless || (slot.id.is_none() && slot.output_index.is_none());
                may_be && slot.done.is_none() && slot.kind == kind
            })
        });
        if let Some(known) = known {
            return Ok(known);
        }
        if self.slots.len() >= MAX_ITEMS {
            return Err(sse::malformed(&self.endpoint, "more items than any reply has"));
        }
        let slot = Slot { id: id.map(str::to_owned), output_index: event.output_index, ..Slot::default() };
        self.slots.push(slot);
        Ok(self.slots.len() - 1)
    }

    fn name_kind(&mut self, position: usize, kind: &str) {
        if let Some(slot) = self.slots.get_mut(position) {
            slot.kind = kind.to_owned();
        }
    }

    /// Shows text of an item.
    fn show(&mut self, position: usize, text: &str, out: &mut Vec<ModelEvent>) {
        let Some(slot) = self.slots.get_mut(position) else { return };
        if text.is_empty() {
            return;
        }
        slot.shown.push_str(text);
        let apart = self.speaking.replace(position).is_some_and(|speaking| speaking != position);
        out.push(ModelEvent::TextDelta(if apart { format!("\n\n{text}") } else { text.to_owned() }));
    }

    fn item_done(
        &mut self,
        event: &Event<'_>,
        item: &RawValue,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        let parsed = OutputItem::parse(item).ok_or_else(|| sse::malformed(&self.endpoint, item.get()))?;
        let position = self.slot(event, parsed.text("id"), parsed.kind())?;
        self.show_rest(position, &parsed, out);
        if let Some(slot) = self.slots.get_mut(position) {
            slot.kind = parsed.kind().to_owned();
            slot.done = Some(item.to_owned());
        }
        Ok(())
    }

    /// Shows what no delta brought. A text that was shown differently is not shown again.
    fn show_rest(&mut self, position: usize, item: &OutputItem, out: &mut Vec<ModelEvent>) {
        let Some(slot) = self.slots.get(position) else { return };
        match item.kind() {
            "message" => {
                let (text, _) = item.message_text();
                if let Some(rest) = text.strip_prefix(&slot.shown) {
                    let rest = rest.to_owned();
                    self.show(position, &rest, out);
                }
            }
            "reasoning" if slot.shown.is_empty() => {
                let text = item.reasoning_text();
                if !text.is_empty() {
                    out.push(ModelEvent::ReasoningDelta(text));
                }
            }
            _ => {}
        }
    }

    /// # Errors
    /// That the response failed, or that a call of it is not whole.
    fn finish(
        &mut self,
        kind: &str,
        response: Response,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        let status = response.status.as_deref().unwrap_or_default();
        if kind == "response.failed" || matches!(status, "failed" | "cancelled") {
            let error = response.error.unwrap_or(Value::Null);
            let error = ServerError::find(&serde_json::json!({ "error": error })).unwrap_or_default();
            return Err(error.in_stream(&self.endpoint));
        }
        let mut finish = match response.incomplete_details.and_then(|details| details.reason).as_deref() {
            Some("content_filter") => Finish::ContentFilter,
            Some(reason) if reason.contains("context") => Finish::ContextTooLong,
            // An open set of words (`max_output_tokens`, `max_tokens`, `steered`), all of which say that it was cut.
            Some(_) => Finish::Length,
            None if kind == "response.incomplete" || status == "incomplete" => Finish::Length,
            None => Finish::Stop,
        };
        let usage = response.usage.map(Usage::from);
        let most = self.endpoint.options.max_output_tokens;
        if finish == Finish::Stop && usage.zip(most).is_some_and(|(usage, most)| usage.output_tokens >= most)
        {
            // llama.cpp calls a reply complete on this wire that it cut.
            finish = Finish::Length;
        }
        self.take_missing(response.output.unwrap_or_default(), &finish, out)?;
        // The sort keeps the order of arrival among items without a number.
        self.slots.sort_by_key(|slot| slot.output_index);
        let mut items = Vec::new();
        for slot in std::mem::take(&mut self.slots) {
            items.extend(self.item(slot, &finish)?);
        }
        if finish == Finish::Stop {
            if items
                .iter()
                .any(|item| matches!(item, Item::Agent(message) if message.state == MessageState::Refusal))
            {
                finish = Finish::Refusal;
            }
        } else {
            mark_partial(&mut items);
        }
        out.extend(items.into_iter().map(ModelEvent::Item));
        out.push(ModelEvent::Done { finish, usage });
        Ok(())
    }

    /// Items that only the last event tells of. Where items were done before, their list is the truth: some servers
    /// leave the last event's empty, others repeat the items under new ids.
    fn take_missing(
        &mut self,
        output: Vec<Box<RawValue>>,
        finish: &Finish,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        if self.slots.iter().all(|slot| slot.done.is_some()) && !self.slots.is_empty() {
            return Ok(());
        }
        let listed = self.slots.iter().any(|slot| slot.done.is_some());
        for (item, index) in output.into_iter().zip(0u64..) {
            let Some(parsed) = OutputItem::parse(&item) else { continue };
            let same = |slot: &Slot| match slot.output_index {
                Some(known) => known == index,
                None => slot.id.as_deref() == parsed.text("id"),
            };
            let position = match self.slots.iter().position(same) {
                Some(position) => position,
                None if listed => continue,
                None => {
                    let id = parsed.text("id").map(str::to_owned);
                    self.slots.push(Slot { id, output_index: Some(index), ..Slot::default() });
                    self.slots.len() - 1
                }
            };
            self.show_rest(position, &parsed, out);
            if let Some(slot) = self.slots.get_mut(position).filter(|slot| slot.done.is_none()) {
                slot.kind = parsed.kind().to_owned();
                slot.done = Some(item);
            }
        }
        let lost = |slot: &Slot| slot.done.is_none() && slot.kind == "function_call";
        if *finish == Finish::Stop && self.slots.iter().any(lost) {
            return Err(sse::interrupted(&self.endpoint, Ending::Closed));
        }
        Ok(())
    }

    /// `None` for what must not stay in a history: a call that was cut, an item that never came.
    fn item(&mut self, slot: Slot, finish: &Finish) -> Result<Option<Item>, ModelError> {
        let Some(done) = slot.done else {
            let text = if slot.kind == "message" { slot.shown } else { String::new() };
            let message = AgentMessage { text, state: MessageState::Whole, raw: None };
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
                let cut = *finish != Finish::Stop && parsed.text("status") != Some("completed");
                if cut { None } else { self.call(&parsed, raw)? }
            }
            _ => Some(Item::Opaque(raw)),
        })
    }

    /// `None` for a call that came twice.
    fn call(&mut self, item: &OutputItem, raw: Raw) -> Result<Option<Item>, ModelError> {
        let Some(name) = item.text("name").filter(|name| !name.is_empty()) else {
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

impl WholeDecoder for ResponsesDecoder {
    fn whole(&mut self, body: &str) -> Result<Vec<ModelEvent>, ModelError> {
        let mut out = Vec::new();
        let json: Value = serde_json::from_str(body).map_err(|_| sse::malformed(&self.endpoint, body))?;
        if json.get("output").is_none_or(|output| !output.is_array()) {
            return Err(match ServerError::find(&json) {
                Some(error) => error.in_stream(&self.endpoint),
                None => sse::malformed(&self.endpoint, body),
            });
        }
        let response = serde_json::from_str(body).map_err(|_| sse::malformed(&self.endpoint, body))?;
        self.finish("response.completed", response, &mut out)?;
        Ok(out)
    }
}

impl Decoder for ResponsesDecoder {
    fn event(&mut self, data: &str, out: &mut Vec<ModelEvent>) -> Result<Progress, ModelError> {
        let event: Event<'_> =
            serde_json::from_str(data).map_err(|_| sse::malformed(&self.endpoint, data))?;
        let kind = event.r#type.as_deref().unwrap_or_default();
        if kind == "error" || event.error.is_some() {
            let json: Value = serde_json::from_str(data).unwrap_or_default();
            let error = ServerError::find(&json).unwrap_or_default();
            return Err(error.in_stream(&self.endpoint));
        }
        let text = || event.delta.and_then(|delta| serde_json::from_str::<String>(delta.get()).ok());
        match kind {
            "response.output_item.added" => {
                if let Some(item) = event.item.and_then(OutputItem::parse) {
                    let position = self.slot(&event, item.text("id"), item.kind())?;
                    self.name_kind(position, item.kind());
                }
            }
            "response.output_text.delta" | "response.refusal.delta" => {
                let position = self.slot(&event, None, "message")?;
                self.name_kind(position, "message");
                self.show(position, &text().unwrap_or_default(), out);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let (position, text) = (self.slot(&event, None, "reasoning")?, text().unwrap_or_default());
                self.name_kind(position, "reasoning");
                if let Some(slot) = self.slots.get_mut(position) {
                    slot.shown.push_str(&text);
                }
                out.push(ModelEvent::ReasoningDelta(text));
            }
            "response.reasoning_summary_part.added" if event.summary_index.is_some_and(|index| index > 0) => {
                out.push(ModelEvent::ReasoningDelta("\n\n".to_owned()));
            }
            "response.output_item.done" => {
                if let Some(item) = event.item {
                    self.item_done(&event, item, out)?;
                }
            }
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                let response = event.response.map_or("{}", RawValue::get);
                let response: Response =
                    serde_json::from_str(response).map_err(|_| sse::malformed(&self.endpoint, response))?;
                self.finish(kind, response, out)?;
                return Ok(Progress::Over);
            }
            // Dozens of other kinds tell of what is on its way, or of tools that the server runs.
            _ => {}
        }
        Ok(Progress::More)
    }

    fn end(&mut self, ending: Ending, _out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        Err(sse::interrupted(&self.endpoint, ending))
    }
}

#[cfg(test)]
mod tests;
