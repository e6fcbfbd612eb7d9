//! Chunks of the Chat Completions wire as a reply. Everything is put together at the stream's end: what a server says
//! in between about the end is advice.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::calls::Calls;
use crate::{
    model::{
        Finish, ModelError, ModelEvent,
        call_ids::CallIds,
        client::WholeDecoder,
        http::{Endpoint, ServerError},
        sse::{self, Decoder, Ending, Progress},
    },
    protocol::{AgentMessage, Item, MessageState, Raw, Reasoning, Usage, Wire},
};

/// Under which names servers send reasoning, the one that they take back first.
const REASONING_MEMBERS: [&str; 2] = ["reasoning_content", "reasoning"];

pub(super) struct ChatDecoder {
    endpoint: Arc<Endpoint>,
    call_ids: CallIds,
    text: String,
    refused: bool,
    reasoning: String,
    /// The name under which the reasoning came.
    reasoning_member: &'static str,
    calls: Calls,
    /// The last word of the server about the end.
    finish_reason: Option<String>,
    usage: Option<Usage>,
    chunks: Chunks,
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
        Self {
            endpoint,
            call_ids: CallIds::of(history),
            text: String::new(),
            refused: false,
            reasoning: String::new(),
            reasoning_member: "",
            calls: Calls::default(),
            finish_reason: None,
            usage: None,
            chunks: Chunks::None,
        }
    }

    /// # Errors
    /// The error that the chunk holds.
    fn chunk(&mut self, chunk: &Value, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let choices = chunk.get("choices").and_then(Value::as_array);
        // Without choices, an error may lie flat in the chunk.
        let error = if choices.is_none() { ServerError::find(chunk) } else { None };
        if chunk.get("error").is_some_and(|error| !error.is_null()) || error.is_some() {
            let error = error.or_else(|| ServerError::find(chunk)).unwrap_or_default();
            return Err(error.in_stream(&self.endpoint));
        }
        self.chunks = match (choices, self.chunks) {
            (None, Chunks::None) => Chunks::Strange,
            (None, seen) => seen,
            (Some(_), _) => Chunks::OfAReply,
        };
        if let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) {
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
                self.finish_reason = Some(reason.to_owned());
            }
            if let Some(delta) = ["delta", "message"].iter().find_map(|name| choice.get(name)) {
                self.delta(delta, out);
            }
        }
        Ok(())
    }

    fn delta(&mut self, delta: &Value, out: &mut Vec<ModelEvent>) {
        // Servers that send reasoning under both names send the same.
        let reasoning = REASONING_MEMBERS
            .iter()
            .find_map(|name| Some((*name, delta.get(name)?.as_str().filter(|text| !text.is_empty())?)));
        if let Some((name, text)) = reasoning {
            self.reasoning_member = name;
            self.think(text, out);
        }
        match delta.get("content") {
            Some(Value::String(text)) => self.say(text, out),
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
        for call in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            self.calls.add(call);
        }
        if let Some(function) = delta.get("function_call").filter(|function| function.is_object()) {
            self.calls.add_function(function);
        }
    }

    /// A part of a content that is a list, as Mistral's servers send it.
    fn part(&mut self, part: &Value, out: &mut Vec<ModelEvent>) {
        let text = |part: &Value| part.get("text").and_then(Value::as_str).unwrap_or_default().to_owned();
        match part.get("thinking").and_then(Value::as_array) {
            Some(thoughts) => thoughts.iter().for_each(|thought| self.think(&text(thought), out)),
            None => self.say(&text(part), out),
        }
    }

    fn say(&mut self, text: &str, out: &mut Vec<ModelEvent>) {
        if !text.is_empty() {
            self.text.push_str(text);
            out.push(ModelEvent::TextDelta(text.to_owned()));
        }
    }

    fn think(&mut self, text: &str, out: &mut Vec<ModelEvent>) {
        if !text.is_empty() {
            self.reasoning.push_str(text);
            out.push(ModelEvent::ReasoningDelta(text.to_owned()));
        }
    }

    /// # Errors
    /// That the server said that it failed.
    fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let finish = match self.finish_reason.as_deref() {
            Some("error") => return Err(ServerError::default().in_stream(&self.endpoint)),
            Some("length" | "max_tokens") => Finish::Length,
            Some("content_filter") => Finish::ContentFilter,
            Some(reason) if reason.contains("context") => Finish::ContextTooLong,
            _ if self.refused => Finish::Refusal,
            // `stop`, `tool_calls`, `function_call`, none, and what else servers say: the items decide.
            _ => Finish::Stop,
        };
        let cut = !matches!(finish, Finish::Stop | Finish::Refusal);
        if !self.reasoning.is_empty() {
            let member = Map::from_iter([(self.reasoning_member.to_owned(), self.reasoning.as_str().into())]);
            // Without a name it came as a part of the content, and cannot go back.
            let raw = (!self.reasoning_member.is_empty())
                .then(|| Raw { wire: Wire::Chat, json: Value::Object(member).to_string().into() });
            let text = std::mem::take(&mut self.reasoning);
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

fn usage_of(usage: &Value) -> Usage {
    let number = |path: &str| usage.pointer(path).and_then(Value::as_u64);
    // DeepSeek counts what it read from its cache under a name of its own.
    let cached =
        number("/prompt_tokens_details/cached_tokens").or_else(|| number("/prompt_cache_hit_tokens"));
    Usage {
        input_tokens: number("/prompt_tokens").unwrap_or(0),
        cached_tokens: cached.unwrap_or(0),
        cache_write_tokens: number("/prompt_tokens_details/cache_write_tokens").unwrap_or(0),
        output_tokens: number("/completion_tokens").unwrap_or(0),
        reasoning_tokens: number("/completion_tokens_details/reasoning_tokens").unwrap_or(0),
    }
}

impl WholeDecoder for ChatDecoder {
    fn whole(&mut self, body: &str) -> Result<Vec<ModelEvent>, ModelError> {
        let mut out = Vec::new();
        let json: Value = serde_json::from_str(body).map_err(|_| sse::malformed(&self.endpoint, body))?;
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
        let chunk: Value = serde_json::from_str(data).map_err(|_| sse::malformed(&self.endpoint, data))?;
        if !chunk.is_object() {
            return Err(sse::malformed(&self.endpoint, data));
        }
        self.chunk(&chunk, out)?;
        Ok(if self.finish_reason.is_some() { Progress::Ending } else { Progress::More })
    }

    fn end(&mut self, ending: Ending, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        // A server that said why it ends has ended, whatever becomes of the connection; so has one that sent the marker.
        if self.finish_reason.is_none() && !matches!(ending, Ending::Marker) {
            return Err(sse::interrupted(&self.endpoint, ending));
        }
        if self.chunks == Chunks::Strange {
            return Err(sse::malformed(&self.endpoint, "a stream without choices"));
        }
        self.finish(out)
    }
}

#[cfg(test)]
mod tests;
