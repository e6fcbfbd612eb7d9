//! Chunks of the Chat Completions wire as a reply. Everything is put together at the stream's end: what a server says
//! in between about the end is advice.

use std::sync::Arc;

use serde_json::Value;

use super::{calls::Calls, reasoning::Thoughts};
use crate::{
    model::{
        Finish, ModelError, ModelEvent,
        call_ids::CallIds,
        client::WholeDecoder,
        counts,
        http::{Endpoint, ServerError},
        said_end::SaidEnd,
        sse::{self, Decoder, Ending, Progress},
        surrogates,
        think_tags::{self, Piece, ThinkTags},
        unreadable::Unreadable,
    },
    protocol::{AgentMessage, Item, MessageState, Reasoning, Usage, Wire},
};

pub(super) struct ChatDecoder {
    endpoint: Arc<Endpoint>,
    call_ids: CallIds,
    text: String,
    refused: bool,
    reasoning: String,
    /// What goes back of it.
    thoughts: Thoughts,
    /// `None` where tags in the text are text.
    tags: Option<ThinkTags>,
    calls: Calls,
    /// What the server said about the end.
    said_end: Option<SaidEnd>,
    /// The last chunk brought a piece of the reply.
    has_grown: bool,
    /// A piece has come.
    has_begun: bool,
    /// A piece came behind the end that the server had said: it says so with every piece, and that tells nothing.
    went_on_after_end: bool,
    usage: Option<Usage>,
    chunks: Chunks,
    unreadable: Unreadable,
}

/// What the chunks were, as far as it tells a reply from something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chunks {
    None,
    /// None of them was a part of an answer.
    Strange,
    OfAReply,
}

impl ChatDecoder {
    /// `history` is what was sent: no new call takes the id of an old one.
    pub(super) fn new(endpoint: Arc<Endpoint>, history: &[Item]) -> Self {
        let tags = endpoint.options.think_tags.then(ThinkTags::default);
        Self {
            endpoint,
            call_ids: CallIds::of(history),
            text: String::new(),
            refused: false,
            reasoning: String::new(),
            thoughts: Thoughts::default(),
            tags,
            calls: Calls::default(),
            said_end: None,
            has_grown: false,
            has_begun: false,
            went_on_after_end: false,
            usage: None,
            chunks: Chunks::None,
            unreadable: Unreadable::default(),
        }
    }

    /// # Errors
    /// The error that the chunk holds, or that it has more calls than any reply.
    fn chunk(&mut self, chunk: &Value, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let choices = chunk.get("choices").and_then(Value::as_array);
        // Without choices, an error may lie flat in the chunk.
        let error = if choices.is_none() { ServerError::find(chunk) } else { None };
        if chunk.get("error").is_some_and(|error| !error.is_null()) || error.is_some() {
            let error = error.or_else(|| ServerError::find(chunk)).unwrap_or_default();
            return Err(error.in_stream(&self.endpoint));
        }
        if choices.is_none() && self.chunks == Chunks::None {
            sse::refuse_other_wire(&self.endpoint, Wire::Chat, &chunk.to_string())?;
        }
        self.chunks = match (choices, self.chunks) {
            (None, Chunks::None) => Chunks::Strange,
            (None, seen) => seen,
            (Some(_), _) => Chunks::OfAReply,
        };
        // Groq has it in a member of its own, Moonshot in the choice.
        let usage = ["/usage", "/x_groq/usage"]
            .iter()
            .find_map(|path| chunk.pointer(path).filter(|usage| usage.is_object()));
        if let Some(usage) = usage {
            self.usage = Some(usage_of(usage));
        }
        for choice in choices.into_iter().flatten() {
            // Nobody asked for a second answer.
            if choice.get("index").and_then(Value::as_u64).unwrap_or(0) != 0 {
                continue;
            }
            if let Some(reason) =
                choice.get("finish_reason").and_then(Value::as_str).filter(|reason| !reason.is_empty())
            {
                self.said_end = Some(SaidEnd::and(self.said_end, SaidEnd::of(reason)));
            }
            if let Some(usage) = choice.get("usage").filter(|usage| usage.is_object()) {
                self.usage = Some(usage_of(usage));
            }
            match (choice.get("delta").filter(|delta| delta.is_object()), choice.get("message")) {
                (Some(delta), _) => self.delta(delta, out),
                (None, Some(message)) => self.message(message, out),
                (None, None) => {}
            }
        }
        if self.calls.are_too_many() {
            return Err(sse::malformed(&self.endpoint, "more calls than any reply has"));
        }
        Ok(())
    }

    /// A whole message: all of the reply, or once more what the deltas brought, with what they may have left out.
    fn message(&mut self, message: &Value, out: &mut Vec<ModelEvent>) {
        if self.has_words() {
            let calls = message.get("tool_calls").and_then(Value::as_array);
            if let Some(calls) = calls.filter(|_| self.calls.is_empty()) {
                self.calls.add_all(calls);
            }
        } else if self.calls.is_empty() {
            self.delta(message, out);
        }
    }

    /// Whether words have come, those that are held back included.
    fn has_words(&self) -> bool {
        let is_held = self.tags.as_ref().is_some_and(|tags| !tags.is_untouched());
        is_held || !self.text.is_empty() || self.has_thoughts()
    }

    fn has_thoughts(&self) -> bool {
        !self.reasoning.is_empty() || !self.thoughts.is_empty()
    }

    fn delta(&mut self, delta: &Value, out: &mut Vec<ModelEvent>) {
        let thought = self.thoughts.take(delta);
        self.think(&thought, out);
        match delta.get("content") {
            Some(Value::String(text)) => self.content(text, out),
            Some(Value::Array(parts)) => {
                for part in parts {
                    self.part(part, out);
                }
            }
            _ => {}
        }
        if let Some(text) = delta.get("refusal").and_then(Value::as_str).filter(|text| !text.is_empty()) {
            self.refused = true;
            self.say(text, out);
        }
        if let Some(calls) = delta.get("tool_calls").and_then(Value::as_array) {
            self.has_grown |= !calls.is_empty();
            self.calls.add_all(calls);
        }
        if let Some(function) = delta.get("function_call").filter(|function| function.is_object()) {
            self.has_grown = true;
            self.calls.add_function(function);
        }
    }

    /// A part of a content that is a list, as Mistral's servers send it.
    fn part(&mut self, part: &Value, out: &mut Vec<ModelEvent>) {
        let text = |part: &Value| part.get("text").and_then(Value::as_str).unwrap_or_default().to_owned();
        match part.get("thinking").and_then(Value::as_array) {
            Some(thoughts) => thoughts.iter().for_each(|thought| self.think(&text(thought), out)),
            None => self.content(&text(part), out),
        }
    }

    /// Words of the model, in which reasoning may be tagged.
    fn content(&mut self, text: &str, out: &mut Vec<ModelEvent>) {
        self.has_grown |= !text.is_empty();
        match &mut self.tags {
            None => self.say(text, out),
            Some(tags) => {
                let pieces = tags.push(text);
                self.take(pieces, out);
            }
        }
    }

    fn take(&mut self, pieces: Vec<Piece>, out: &mut Vec<ModelEvent>) {
        for piece in pieces {
            match piece {
                Piece::Text(text) => self.say(&text, out),
                Piece::Thought(text) => self.think(&text, out),
            }
        }
    }

    /// What was held back because it looked like a part of a tag.
    fn content_is_over(&mut self, out: &mut Vec<ModelEvent>) {
        if let Some(mut tags) = self.tags.take() {
            self.take(tags.end(), out);
            if let Some((thought, text)) = think_tags::split_unopened(&self.text) {
                // It was shown as text by now; the answer and the history are without it.
                self.reasoning.push_str(thought);
                self.text = text.to_owned();
            }
        }
    }

    fn say(&mut self, text: &str, out: &mut Vec<ModelEvent>) {
        if !text.is_empty() {
            self.has_grown = true;
            self.text.push_str(text);
            out.push(ModelEvent::TextDelta(text.to_owned()));
        }
    }

    fn think(&mut self, text: &str, out: &mut Vec<ModelEvent>) {
        if !text.is_empty() {
            self.has_grown = true;
            self.reasoning.push_str(text);
            out.push(ModelEvent::ReasoningDelta(text.to_owned()));
        }
    }

    /// # Errors
    /// That the server said that it failed, or that a piece is lost without which the reply cannot be trusted.
    fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        self.content_is_over(out);
        let finish = match self.said_end.unwrap_or(SaidEnd::Stop).finish() {
            None => return Err(ServerError::default().in_stream(&self.endpoint)),
            Some(Finish::Stop) if self.refused => Finish::Refusal,
            Some(finish) => finish,
        };
        self.refused |= finish == Finish::Refusal;
        if !self.calls.is_empty() {
            // A call may be whole by chance without the lost piece, and mean something else.
            self.unreadable.refuse_lost(&self.endpoint)?;
        } else if self.text.is_empty() && !self.has_thoughts() {
            self.unreadable.refuse_all(&self.endpoint)?;
        }
        let cut = !matches!(finish, Finish::Stop | Finish::Pause | Finish::Refusal);
        if self.has_thoughts() {
            let text = std::mem::take(&mut self.reasoning);
            let raw = std::mem::take(&mut self.thoughts).into_raw(&text);
            out.push(ModelEvent::Item(Item::Reasoning(Reasoning { text, raw })));
        }
        if !self.text.is_empty() {
            let state = match self.refused {
                _ if cut => MessageState::Partial,
                true => MessageState::Refusal,
                false => MessageState::Whole,
            };
            let text = std::mem::take(&mut self.text);
            out.push(ModelEvent::Item(Item::Agent(AgentMessage { text, state, raw: None })));
        }
        let calls = std::mem::take(&mut self.calls).finish(&mut self.call_ids, cut);
        out.extend(calls.into_iter().map(|call| ModelEvent::Item(Item::Call(call))));
        out.push(ModelEvent::Done { finish, usage: self.usage });
        Ok(())
    }
}

/// Tokens under the names of this wire, or under those that gateways keep from another.
fn usage_of(usage: &Value) -> Usage {
    let number = |paths: &[&str]| counts::at(usage, paths).unwrap_or(0);
    // DeepSeek and Moonshot count what they read from their caches under names of their own.
    let cached_tokens = number(&[
        "/prompt_tokens_details/cached_tokens",
        "/input_tokens_details/cached_tokens",
        "/prompt_cache_hit_tokens",
        "/cached_tokens",
    ]);
    let counted = Usage {
        input_tokens: number(&["/prompt_tokens", "/input_tokens"]),
        cached_tokens,
        cache_write_tokens: number(&["/prompt_tokens_details/cache_write_tokens"]),
        output_tokens: number(&["/completion_tokens", "/output_tokens"]),
        reasoning_tokens: number(&[
            "/completion_tokens_details/reasoning_tokens",
            "/output_tokens_details/reasoning_tokens",
        ]),
    };
    counts::completed(counted, counts::at(usage, &["/total_tokens"]))
}

/// The JSON of an event, halves of characters in it included.
fn read(data: &str) -> Option<Value> {
    let json: Value =
        serde_json::from_str(data).or_else(|_| serde_json::from_str(&surrogates::mended(data))).ok()?;
    json.is_object().then_some(json)
}

impl WholeDecoder for ChatDecoder {
    fn whole(&mut self, body: &str) -> Result<Vec<ModelEvent>, ModelError> {
        let mut out = Vec::new();
        let json = read(body).ok_or_else(|| sse::malformed(&self.endpoint, body))?;
        self.chunk(&json, &mut out)?;
        let choice = json.get("choices").and_then(|choices| choices.get(0));
        if choice.is_none_or(|choice| !choice.get("message").is_some_and(Value::is_object)) {
            return Err(sse::malformed(&self.endpoint, body));
        }
        self.finish(&mut out)?;
        Ok(out)
    }
}

impl Decoder for ChatDecoder {
    fn event(&mut self, data: &str, out: &mut Vec<ModelEvent>) -> Result<Progress, ModelError> {
        let (had_begun, had_ended) = (self.has_begun, self.said_end.is_some());
        self.has_grown = false;
        match read(data) {
            Some(chunk) => self.chunk(&chunk, out)?,
            None => self.unreadable.note(&self.endpoint, data, self.chunks == Chunks::OfAReply)?,
        }
        self.has_begun |= self.has_grown;
        self.went_on_after_end |= self.has_grown && had_ended;
        Ok(match self.said_end {
            None => Progress::More,
            Some(_) if self.has_grown && (had_ended || !had_begun) => Progress::InDoubt,
            Some(_) => Progress::Ending,
        })
    }

    fn end(&mut self, ending: Ending, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        // A server that said why it ends has ended, whatever becomes of the connection, unless it went on all the same; one
        // that sent the marker has ended too.
        let has_ended = match ending {
            Ending::Marker => true,
            Ending::Closed => self.said_end.is_some(),
            Ending::Fault(_) => self.said_end.is_some() && !self.went_on_after_end,
        };
        if !has_ended {
            self.content_is_over(out);
            if self.chunks == Chunks::None && matches!(ending, Ending::Closed) {
                self.unreadable.refuse_all(&self.endpoint)?;
            }
            return Err(sse::interrupted(&self.endpoint, ending));
        }
        if self.chunks == Chunks::Strange {
            return Err(sse::malformed(&self.endpoint, "a stream without choices"));
        }
        self.finish(out)
    }

    fn usage(&self) -> Option<Usage> {
        self.usage
    }

    fn unheard(&self) -> usize {
        self.calls.bytes() + self.thoughts.sealed_bytes()
    }
}

#[cfg(test)]
mod tests;
