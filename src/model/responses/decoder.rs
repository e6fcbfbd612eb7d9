//! Events of the Responses wire as a reply. An item counts when the server says that it is done; what comes before is
//! for the eye, and for servers that never say so.

mod ending;

use std::sync::Arc;

use serde_json::{Value, value::RawValue};

use super::{
    event::{Event, OutputItem, Part, Response, text},
    slots::{Slot, Slots},
    stored::Measure,
};
use crate::{
    model::{
        ModelError, ModelEvent,
        call_ids::CallIds,
        client::WholeDecoder,
        event_json,
        http::{Endpoint, ServerError},
        sse::{self, Decoder, Ending, Progress},
        unreadable::{self, Place, Unreadable},
    },
    protocol::{Item, Usage, Wire},
};

pub(super) struct ResponsesDecoder {
    endpoint: Arc<Endpoint>,
    call_ids: CallIds,
    /// Of the history that was sent.
    sent: Measure,
    slots: Slots,
    /// The slot whose text came last, to set the texts of two messages apart.
    speaking: Option<usize>,
    unreadable: Unreadable,
    /// An event is lost that may have been more than a delta, so that no other need tell of its item.
    is_item_lost: bool,
    /// What is left of it says that it was a call.
    is_call_lost: bool,
    /// The same of an event that is more than the announcement of a call.
    is_whole_call_lost: bool,
    /// Something of a reply has come.
    is_reply: bool,
    /// Bytes that nobody was shown and that stand in no slot.
    unheard: usize,
    usage: Option<Usage>,
}

impl ResponsesDecoder {
    /// `history` is what was sent: no new call takes the id of an old one.
    pub(super) fn new(endpoint: Arc<Endpoint>, history: &[Item]) -> Self {
        Self {
            endpoint,
            call_ids: CallIds::of(history),
            sent: Measure::of(history),
            slots: Slots::default(),
            speaking: None,
            unreadable: Unreadable::default(),
            is_item_lost: false,
            is_call_lost: false,
            is_whole_call_lost: false,
            is_reply: false,
            unheard: 0,
            usage: None,
        }
    }

    /// The slot of the item that an event is about.
    ///
    /// # Errors
    /// That the reply has more items than any.
    fn slot(&mut self, event: &Event<'_>, id: Option<&str>, kind: &str) -> Result<usize, ModelError> {
        let position = self.slots.find(event, id, kind);
        position.ok_or_else(|| sse::malformed(&self.endpoint, "more items than any reply has"))
    }

    /// The same for an event that tells the item's kind.
    fn slot_of_kind(&mut self, event: &Event<'_>, kind: &str) -> Result<usize, ModelError> {
        let position = self.slot(event, None, kind)?;
        self.with_slot(position, |slot| slot.be(kind));
        Ok(position)
    }

    fn with_slot(&mut self, position: usize, change: impl FnOnce(&mut Slot)) {
        if let Some(slot) = self.slots.0.get_mut(position) {
            change(slot);
        }
    }

    /// Shows text of an item.
    fn show(&mut self, position: usize, text: &str, out: &mut Vec<ModelEvent>) {
        if text.is_empty() {
            return;
        }
        self.with_slot(position, |slot| slot.shown.push_str(text));
        let apart = self.speaking.replace(position).is_some_and(|speaking| speaking != position);
        out.push(ModelEvent::TextDelta(if apart { format!("\n\n{text}") } else { text.to_owned() }));
    }

    /// Shows the text of a whole part where no delta brought any of its item.
    fn show_part(&mut self, position: usize, text: &str, out: &mut Vec<ModelEvent>) {
        if self.slots.0.get(position).is_some_and(|slot| slot.shown.is_empty()) {
            self.show(position, text, out);
        }
    }

    /// Shows what no delta brought. A text that was shown differently is not shown again.
    fn show_rest(&mut self, position: usize, item: &OutputItem, out: &mut Vec<ModelEvent>) {
        let Some(slot) = self.slots.0.get(position) else { return };
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
                    self.with_slot(position, |slot| slot.shown.push_str(&text));
                    out.push(ModelEvent::ReasoningDelta(text));
                }
            }
            _ => {}
        }
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
        self.with_slot(position, |slot| {
            slot.kind = parsed.kind().to_owned();
            slot.done = Some(item.to_owned());
        });
        Ok(())
    }

    /// Takes one event of the wire.
    ///
    /// # Errors
    /// What the server reported, or that an item is none.
    fn take(
        &mut self,
        event: Event<'_>,
        data: &str,
        out: &mut Vec<ModelEvent>,
    ) -> Result<Progress, ModelError> {
        let kind = event.r#type.as_deref().unwrap_or_default();
        if kind == "error"
            || kind.ends_with("_error")
            || event.error.is_some_and(|error| ServerError::is_said(error.get()))
        {
            let json: Value = serde_json::from_str(data).unwrap_or_default();
            let error = ServerError::find(&json).unwrap_or_default();
            return Err(error.in_stream(&self.endpoint));
        }
        if kind.is_empty()
            && let Some(error) = serde_json::from_str(data).ok().as_ref().and_then(ServerError::find)
        {
            // Flat, as gateways send it.
            return Err(error.in_stream(&self.endpoint));
        }
        let delta = || event.delta.and_then(text).unwrap_or_default();
        match kind {
            "response.output_item.added" => {
                if let Some(item) = event.item.and_then(OutputItem::parse) {
                    let position = self.slot(&event, item.text("id"), item.kind())?;
                    self.with_slot(position, |slot| slot.announce(item));
                }
            }
            "response.output_text.delta" | "response.refusal.delta" => {
                let position = self.slot_of_kind(&event, "message")?;
                self.with_slot(position, |slot| slot.is_refusal |= kind == "response.refusal.delta");
                self.show(position, &delta(), out);
            }
            "response.output_text.done" | "response.refusal.done" => {
                let position = self.slot_of_kind(&event, "message")?;
                self.with_slot(position, |slot| slot.is_refusal |= kind == "response.refusal.done");
                let whole = event.text.or(event.refusal).and_then(text);
                self.show_part(position, &whole.unwrap_or_default(), out);
            }
            "response.content_part.done" => {
                let part: Option<Part> = event.part.and_then(|part| serde_json::from_str(part.get()).ok());
                if let Some(part) = part.filter(|part| part.r#type != "reasoning_text") {
                    let position = self.slot_of_kind(&event, "message")?;
                    self.with_slot(position, |slot| slot.is_refusal |= part.is_refusal());
                    self.show_part(position, part.words(), out);
                }
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let (position, text) = (self.slot_of_kind(&event, "reasoning")?, delta());
                self.with_slot(position, |slot| slot.shown.push_str(&text));
                out.push(ModelEvent::ReasoningDelta(text.into_owned()));
            }
            "response.reasoning_summary_part.added" if event.summary_index.is_some_and(|index| index > 0) => {
                out.push(ModelEvent::ReasoningDelta("\n\n".to_owned()));
            }
            "response.function_call_arguments.delta" => {
                let position = self.slot_of_kind(&event, "function_call")?;
                self.with_slot(position, |slot| slot.add_arguments(&delta()));
            }
            "response.function_call_arguments.done" => {
                let position = self.slot_of_kind(&event, "function_call")?;
                // Some servers send them as an object.
                let whole = event.arguments.map(|json| text(json).unwrap_or_else(|| json.get().into()));
                let (whole, name) = (whole.unwrap_or_default(), event.name.and_then(text));
                self.with_slot(position, |slot| slot.set_arguments(&whole, name.as_deref()));
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
            "" => {
                if !self.is_reply {
                    sse::refuse_other_wire(&self.endpoint, Wire::Responses, data)?;
                }
                // An error may lie flat in the event.
                let json: Value = serde_json::from_str(data).unwrap_or_default();
                if let Some(error) = ServerError::find(&json) {
                    return Err(error.in_stream(&self.endpoint));
                }
            }
            "message_start" if !self.is_reply => {
                sse::refuse_other_wire(&self.endpoint, Wire::Responses, data)?;
            }
            // Dozens of other kinds tell of what is on its way, or of tools that the server runs.
            _ if kind.ends_with(".delta") => self.unheard += delta().len(),
            _ => {}
        }
        self.is_reply |= kind.starts_with("response.");
        Ok(Progress::More)
    }
}

impl WholeDecoder for ResponsesDecoder {
    fn whole(&mut self, body: &str, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let body = &*event_json::mended(body);
        let json: Value = serde_json::from_str(body).map_err(|_| sse::malformed(&self.endpoint, body))?;
        if json.get("output").is_none_or(|output| !output.is_array()) {
            return Err(match ServerError::find(&json) {
                Some(error) => error.in_stream(&self.endpoint),
                None => sse::malformed(&self.endpoint, body),
            });
        }
        let response = serde_json::from_str(body).map_err(|_| sse::malformed(&self.endpoint, body))?;
        self.finish("response.completed", response, out)
    }
}

impl Decoder for ResponsesDecoder {
    fn event(&mut self, data: &str, out: &mut Vec<ModelEvent>) -> Result<Progress, ModelError> {
        // Before it is taken apart, since the parts go back to the server as they are.
        let data = &*event_json::mended(data);
        match serde_json::from_str(data) {
            Ok(event) => self.take(event, data, out),
            Err(_) => {
                let place = if self.is_reply { Place::Reply } else { Place::Start };
                self.unreadable.note(&self.endpoint, data, place)?;
                let is_item = unreadable::may_be_piece(data) && !begins_as_delta(data);
                self.is_item_lost |= is_item;
                if is_item && data.contains(r#""function_call""#) {
                    self.is_call_lost = true;
                    // An announcement comes once more, with the call.
                    self.is_whole_call_lost |= !data.contains("output_item.added");
                }
                Ok(Progress::More)
            }
        }
    }

    fn end(&mut self, ending: Ending, _out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if !self.is_reply && !matches!(ending, Ending::Fault(_)) {
            self.unreadable.refuse_all(&self.endpoint)?;
        }
        Err(sse::interrupted(&self.endpoint, ending))
    }

    fn usage(&self) -> Option<Usage> {
        self.usage
    }

    fn unheard(&self) -> usize {
        self.unheard + self.slots.0.iter().map(Slot::unheard).sum::<usize>()
    }
}

/// Whether the beginning of an event says that it is a delta.
fn begins_as_delta(data: &str) -> bool {
    let kind = data.split_once("\"type\"").and_then(|(_, rest)| rest.split('"').nth(1));
    kind.is_some_and(|kind| kind.starts_with("response.") && kind.ends_with(".delta"))
}

#[cfg(test)]
mod tests;
