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
        counts, event_json,
        http::{Endpoint, ServerError},
        remark::{is_about_the_reply, looks_like_error},
        said_end::{Brought, Said, SaidEnd},
        sse::{self, Decoder, Ending, Progress},
        think_tags::{self, Piece, ThinkTags},
        unreadable::{Place, Unreadable},
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
    said: Said,
    /// What the last chunk brought.
    brought: Brought,
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
            said: Said::default(),
            brought: Brought::Nothing,
            usage: None,
            chunks: Chunks::None,
            unreadable: Unreadable::default(),
        }
    }

    /// # Errors
    /// The error that the chunk holds, or that it has more calls than any reply.
    fn chunk(&mut self, chunk: &Value, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let choices = chunk.get("choices").and_then(Value::as_array);
        // Without a choice, an error may lie flat in the chunk.
        let is_beside = choices.is_none_or(Vec::is_empty);
        let is_told = holds_error(chunk);
        let error = if is_beside || is_told { ServerError::find(chunk) } else { None };
        if let Some(error) = error.or_else(|| is_told.then(ServerError::default)) {
            return Err(error.in_stream(&self.endpoint));
        }
        if is_beside {
            self.remark(chunk);
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
            self.said.hear(choice.get("finish_reason"));
            // OpenRouter has the word of the server behind it too, which may say of a cut what the other does not.
            let native = choice.get("native_finish_reason").and_then(Value::as_str);
            if let Some(native) = native.filter(|native| SaidEnd::of(native).is_cut()) {
                self.said.say(native);
            }
            if let Some(usage) = choice.get("usage").filter(|usage| usage.is_object()) {
                self.usage = Some(usage_of(usage));
            }
            match (choice.get("delta").filter(|delta| delta.is_object()), choice.get("message")) {
                (Some(delta), _) => self.delta(delta, out),
                (None, Some(message)) => self.message(message, out),
                (None, None) => {}
            }
            if holds_error(choice) {
                // In the choice it broke off (OpenRouter), with what came of it.
                return Err(ServerError::find(choice).unwrap_or_default().in_stream(&self.endpoint));
            }
        }
        if self.calls.are_too_many() {
            return Err(sse::malformed(&self.endpoint, "more calls than any reply has"));
        }
        Ok(())
    }

    /// What a chunk without a choice says.
    fn remark(&mut self, chunk: &Value) {
        self.brought = match (looks_like_error(chunk), is_about_the_reply(chunk)) {
            (true, _) => Brought::Strange,
            (false, true) => Brought::Nothing,
            (false, false) => Brought::Remark,
        };
        for member in ["finish_reason", "stop_reason", "done_reason"] {
            self.said.hear(chunk.get(member));
        }
        if let Some(status) =
            chunk.get("status").and_then(Value::as_str).filter(|word| SaidEnd::of(word).is_cut())
        {
            self.said.say(status);
        }
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
            if !calls.is_empty() {
                self.brought = Brought::Piece;
            }
            self.calls.add_all(calls);
        }
        if let Some(function) = delta.get("function_call").filter(|function| function.is_object()) {
            self.brought = Brought::Piece;
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
        self.brought = self.brought.max(Brought::by(text));
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
            self.brought = self.brought.max(Brought::by(text));
            self.text.push_str(text);
            out.push(ModelEvent::TextDelta(text.to_owned()));
        }
    }

    fn think(&mut self, text: &str, out: &mut Vec<ModelEvent>) {
        if !text.is_empty() {
            self.brought = self.brought.max(Brought::by(text));
            self.reasoning.push_str(text);
            out.push(ModelEvent::ReasoningDelta(text.to_owned()));
        }
    }

    /// # Errors
    /// That the server said that it failed, or that a piece is lost without which the reply cannot be trusted.
    fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        self.content_is_over(out);
        let finish = match self.said.finish(&self.endpoint)? {
            Finish::Stop | Finish::Unknown(_) if self.refused => Finish::Refusal,
            finish => finish,
        };
        self.refused |= finish == Finish::Refusal;
        if self.calls.is_empty() && self.text.is_empty() && !self.has_thoughts() {
            self.unreadable.refuse_all(&self.endpoint)?;
        }
        if self.said.has_gone_on() {
            self.unreadable.end_was_none();
        }
        // A call, or a sentence, may be whole by chance without the lost piece, and mean something else.
        self.unreadable.refuse_lost(&self.endpoint)?;
        let cut = !matches!(finish, Finish::Stop | Finish::Unknown(_) | Finish::Pause | Finish::Refusal);
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

/// Whether a chunk, or a choice of it, says that something failed.
fn holds_error(json: &Value) -> bool {
    let is_named = json.get("error").is_some_and(|error| ServerError::is_said(&error.to_string()));
    is_named || ServerError::in_base(json).is_some()
}

/// The JSON of an event.
fn read(data: &str) -> Option<Value> {
    let object = |json: &str| serde_json::from_str(json).ok().filter(Value::is_object);
    object(data).or_else(|| object(&event_json::mended(data)))
}

impl WholeDecoder for ChatDecoder {
    fn whole(&mut self, body: &str, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let json = read(body).ok_or_else(|| sse::malformed(&self.endpoint, body))?;
        self.chunk(&json, out)?;
        let choice = json.get("choices").and_then(|choices| choices.get(0));
        if choice.is_none_or(|choice| !choice.get("message").is_some_and(Value::is_object)) {
            return Err(sse::malformed(&self.endpoint, body));
        }
        if self.said.is_not_over() {
            return Err(sse::interrupted(&self.endpoint, Ending::Closed));
        }
        self.finish(out)
    }
}

impl Decoder for ChatDecoder {
    fn event(&mut self, data: &str, out: &mut Vec<ModelEvent>) -> Result<Progress, ModelError> {
        self.brought = Brought::Nothing;
        match read(data) {
            Some(chunk) => self.chunk(&chunk, out)?,
            None => {
                let place = match self.chunks {
                    _ if self.said.is_believed() => Place::BehindEnd,
                    Chunks::OfAReply => Place::Reply,
                    Chunks::None | Chunks::Strange => Place::Start,
                };
                self.brought = self.unreadable.note(&self.endpoint, data, place)?;
            }
        }
        Ok(self.said.after_event(self.brought))
    }

    fn end(&mut self, ending: Ending, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let is_marker = matches!(ending, Ending::Marker);
        let has_ended = self.said.has_ended(&ending);
        if self.chunks == Chunks::Strange && (is_marker || has_ended) {
            return Err(sse::malformed(&self.endpoint, "a stream without choices"));
        }
        if !has_ended {
            self.content_is_over(out);
            if self.chunks == Chunks::None && (is_marker || matches!(ending, Ending::Closed)) {
                self.unreadable.refuse_all(&self.endpoint)?;
            }
            return Err(sse::interrupted(&self.endpoint, ending));
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
