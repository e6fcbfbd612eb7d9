//! The wires of the fake model: the same reply as the events of each, and the history of each as the same lines.

use askls::protocol::Wire;
use serde_json::{Map, Value, json};

use super::{Ending, Part, Streamed, messages};

/// A piece of a stream as it is written.
pub(super) struct Frame {
    pub(super) text: String,
    /// A piece of text, reasoning, refusal or arguments.
    pub(super) is_delta: bool,
    /// With it the end of the reply begins; nothing of this is sent of a reply that is cut.
    pub(super) ends: bool,
}

pub(super) fn frames(wire: Wire, number: usize, reply: &Streamed, usage_wanted: bool) -> Vec<Frame> {
    match wire {
        Wire::Responses => ResponsesFrames::default().of(number, reply),
        Wire::Chat => chat_frames(number, reply, usage_wanted),
        Wire::Messages => messages::frames(number, reply),
    }
}

/// Words with the blank after them: small enough to show an order, large enough to read.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(' ')
}

pub(super) fn call_id(id: &Option<String>, number: usize, position: usize) -> String {
    id.clone().unwrap_or_else(|| format!("call_{number}_{}", position + 1))
}

#[derive(Default)]
struct ResponsesFrames {
    frames: Vec<Frame>,
}

impl ResponsesFrames {
    fn push(&mut self, kind: &str, mut event: Value) {
        event["type"] = kind.into();
        event["sequence_number"] = self.frames.len().into();
        let is_delta = kind.ends_with(".delta");
        self.frames.push(Frame { text: format!("event: {kind}\ndata: {event}\n\n"), is_delta, ends: false });
    }

    fn of(mut self, number: usize, reply: &Streamed) -> Vec<Frame> {
        let response_id = format!("resp_{number}");
        let head =
            |status: &str| json!({"id": response_id, "object": "response", "status": status, "output": []});
        self.push("response.created", json!({"response": head("in_progress")}));
        self.push("response.in_progress", json!({"response": head("in_progress")}));
        let mut output = Vec::new();
        for (position, part) in reply.parts.iter().enumerate() {
            let whole = position + 1 < reply.parts.len() || !matches!(reply.ending, Ending::Length);
            let item = self.item(number, position, part, whole);
            output.push(item);
        }
        let usage = reply.usage.map(|[input, cached, output, reasoning]| {
            json!({
                "input_tokens": input, "input_tokens_details": {"cached_tokens": cached},
                "output_tokens": output, "output_tokens_details": {"reasoning_tokens": reasoning},
                "total_tokens": input + output,
            })
        });
        let (kind, status, details, error) = match &reply.ending {
            Ending::Natural => ("response.completed", "completed", Value::Null, Value::Null),
            Ending::Length => {
                ("response.incomplete", "incomplete", json!({"reason": "max_output_tokens"}), Value::Null)
            }
            Ending::ContentFilter => {
                ("response.incomplete", "incomplete", json!({"reason": "content_filter"}), Value::Null)
            }
            Ending::Failed { code, message } => {
                ("response.failed", "failed", Value::Null, json!({"code": code, "message": message}))
            }
        };
        let mut response = head(status);
        response["output"] = output.into();
        response["usage"] = usage.into();
        response["incomplete_details"] = details;
        response["error"] = error;
        self.push(kind, json!({"response": response}));
        if let Some(last) = self.frames.last_mut() {
            last.ends = true;
        }
        self.frames
    }

    fn item(&mut self, number: usize, position: usize, part: &Part, whole: bool) -> Value {
        let status = if whole { "completed" } else { "incomplete" };
        let at = |id: &str| json!({"item_id": id, "output_index": position, "content_index": 0});
        let with = |mut event: Value, key: &str, value: Value| {
            event[key] = value;
            event
        };
        match part {
            Part::Text(text) | Part::Refusal(text) => {
                let id = format!("msg_{number}_{}", position + 1);
                let refused = matches!(part, Part::Refusal(_));
                let (kind, key) = if refused { ("refusal", "refusal") } else { ("output_text", "text") };
                let content = |text: &str| match refused {
                    true => json!({"type": "refusal", "refusal": text}),
                    false => json!({"type": "output_text", "text": text, "annotations": []}),
                };
                let item = |status: &str, content: Vec<Value>| json!({"id": id, "type": "message", "role": "assistant", "status": status, "content": content});
                let added = json!({"output_index": position, "item": item("in_progress", Vec::new())});
                self.push("response.output_item.added", added);
                self.push("response.content_part.added", with(at(&id), "part", content("")));
                for piece in pieces(text) {
                    self.push(&format!("response.{kind}.delta"), with(at(&id), "delta", piece.into()));
                }
                self.push(&format!("response.{kind}.done"), with(at(&id), key, text.as_str().into()));
                self.push("response.content_part.done", with(at(&id), "part", content(text)));
                self.done(position, item(status, vec![content(text)]))
            }
            Part::Reasoning(text) => {
                let id = format!("rs_{number}_{}", position + 1);
                let added = json!({"id": id, "type": "reasoning", "summary": []});
                self.push("response.output_item.added", json!({"output_index": position, "item": added}));
                let at = json!({"item_id": id, "output_index": position, "summary_index": 0});
                for piece in pieces(text) {
                    let delta = with(at.clone(), "delta", piece.into());
                    self.push("response.reasoning_summary_text.delta", delta);
                }
                let done = with(at, "text", text.as_str().into());
                self.push("response.reasoning_summary_text.done", done);
                let summary = json!([{"type": "summary_text", "text": text}]);
                let sealed = format!("sealed-{number}-{}", position + 1);
                self.done(
                    position,
                    json!({"id": id, "type": "reasoning", "summary": summary, "encrypted_content": sealed}),
                )
            }
            Part::Call { id, name, arguments } => {
                let call_id = call_id(id, number, position);
                let id = format!("fc_{number}_{}", position + 1);
                let item = |status: &str, arguments: &str| json!({"id": id, "type": "function_call", "call_id": call_id, "name": name, "arguments": arguments, "status": status});
                let added = json!({"output_index": position, "item": item("in_progress", "")});
                self.push("response.output_item.added", added);
                let at = json!({"item_id": id, "output_index": position});
                for piece in pieces(arguments) {
                    let delta = with(at.clone(), "delta", piece.into());
                    self.push("response.function_call_arguments.delta", delta);
                }
                let done = with(at, "arguments", arguments.as_str().into());
                self.push("response.function_call_arguments.done", done);
                self.done(position, item(status, arguments))
            }
        }
    }

    fn done(&mut self, position: usize, item: Value) -> Value {
        self.push("response.output_item.done", json!({"output_index": position, "item": item}));
        item
    }
}

fn chat_frames(number: usize, reply: &Streamed, usage_wanted: bool) -> Vec<Frame> {
    let mut frames = Vec::new();
    let mut push = |choices: Value, usage: Value, is_delta: bool, ends: bool| {
        let chunk = json!({
            "id": format!("chatcmpl-{number}"), "object": "chat.completion.chunk", "created": 1, "model": super::MODEL,
            "choices": choices, "usage": usage,
        });
        frames.push(Frame { text: format!("data: {chunk}\n\n"), is_delta, ends });
    };
    let choice = |delta: Value, finish: Value| json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
    push(choice(json!({"role": "assistant", "content": null}), Value::Null), Value::Null, false, false);
    let (mut calls, mut refused) = (0, false);
    for (position, part) in reply.parts.iter().enumerate() {
        match part {
            Part::Text(text) | Part::Refusal(text) | Part::Reasoning(text) => {
                let key = match part {
                    Part::Reasoning(_) => "reasoning_content",
                    Part::Refusal(_) => "refusal",
                    _ => "content",
                };
                refused |= key == "refusal";
                for piece in pieces(text) {
                    let delta = Map::from_iter([(key.to_owned(), piece.into())]);
                    push(choice(delta.into(), Value::Null), Value::Null, true, false);
                }
            }
            Part::Call { id, name, arguments } => {
                let id = call_id(id, number, position);
                let begin = json!({"index": calls, "id": id, "type": "function", "function": {"name": name, "arguments": ""}});
                push(choice(json!({"tool_calls": [begin]}), Value::Null), Value::Null, false, false);
                for piece in pieces(arguments) {
                    let more = json!({"index": calls, "function": {"arguments": piece}});
                    push(choice(json!({"tool_calls": [more]}), Value::Null), Value::Null, true, false);
                }
                calls += 1;
            }
        }
    }
    let finish = match &reply.ending {
        Ending::Natural if calls > 0 => "tool_calls",
        Ending::Natural => "stop",
        Ending::Length => "length",
        Ending::ContentFilter => "content_filter",
        Ending::Failed { code, message } => {
            let error = json!({"error": {"message": message, "type": "server_error", "code": code}});
            frames.push(Frame { text: format!("data: {error}\n\n"), is_delta: false, ends: true });
            return frames;
        }
    };
    // A model that declines stops by itself on this wire: the refusal's own field says so.
    debug_assert!(!refused || finish == "stop");
    push(choice(json!({}), finish.into()), Value::Null, false, true);
    if let (Some([input, cached, output, reasoning]), true) = (reply.usage, usage_wanted) {
        let usage = json!({
            "prompt_tokens": input, "prompt_tokens_details": {"cached_tokens": cached},
            "completion_tokens": output, "completion_tokens_details": {"reasoning_tokens": reasoning},
            "total_tokens": input + output,
        });
        push(json!([]), usage, false, true);
    }
    frames.push(Frame { text: "data: [DONE]\n\n".to_owned(), is_delta: false, ends: true });
    frames
}

/// A string, or the texts of a list of parts.
pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let text =
                |part: &Value| part["text"].as_str().or(part["refusal"].as_str()).unwrap_or("").to_owned();
            parts.iter().map(text).collect()
        }
        _ => String::new(),
    }
}

fn items(wire: Wire, json: &Value) -> Vec<Value> {
    let key = match wire {
        Wire::Responses => "input",
        Wire::Chat | Wire::Messages => "messages",
    };
    json[key].as_array().cloned().unwrap_or_default()
}

pub(super) fn instructions(wire: Wire, json: &Value) -> String {
    match wire {
        Wire::Responses => text_of(&json["instructions"]),
        Wire::Chat => json["messages"]
            .as_array()
            .and_then(|messages| messages.iter().find(|message| message["role"] == "system"))
            .map(|message| text_of(&message["content"]))
            .unwrap_or_default(),
        Wire::Messages => text_of(&json["system"]),
    }
}

pub(super) fn outputs(wire: Wire, json: &Value) -> Vec<(String, String)> {
    let word = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let outputs = |item: Value| match wire {
        Wire::Responses if item["type"] == "function_call_output" => {
            vec![(word(&item["call_id"]), text_of(&item["output"]))]
        }
        Wire::Chat if item["role"] == "tool" => {
            vec![(word(&item["tool_call_id"]), text_of(&item["content"]))]
        }
        Wire::Messages => messages::outputs(&item),
        _ => Vec::new(),
    };
    items(wire, json).into_iter().flat_map(outputs).collect()
}

pub(super) fn history(wire: Wire, json: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for item in items(wire, json) {
        match wire {
            Wire::Responses => lines.extend(responses_line(&item)),
            Wire::Chat => chat_lines(&item, &mut lines),
            Wire::Messages => messages::lines(&item, &mut lines),
        }
    }
    lines
}

fn responses_line(item: &Value) -> Option<String> {
    let word = |key: &str| item[key].as_str().unwrap_or("?").to_owned();
    Some(match item["type"].as_str().unwrap_or("message") {
        "message" if item["role"] == "user" => format!("user: {}", text_of(&item["content"])),
        "message" => format!("agent: {}", text_of(&item["content"])),
        "reasoning" => "reasoning".to_owned(),
        "function_call" => format!("call: {} {}", word("name"), word("arguments")),
        "function_call_output" => format!("output: {}", text_of(&item["output"])),
        other => format!("{other}: ?"),
    })
}

fn chat_lines(message: &Value, lines: &mut Vec<String>) {
    let content = text_of(&message["content"]);
    match message["role"].as_str() {
        Some("system") => {}
        Some("user") => lines.push(format!("user: {content}")),
        Some("tool") => lines.push(format!("output: {content}")),
        _ => {
            if message["reasoning_content"].is_string() {
                lines.push("reasoning".to_owned());
            }
            if !content.is_empty() {
                lines.push(format!("agent: {content}"));
            }
            for call in message["tool_calls"].as_array().into_iter().flatten() {
                let word = |key: &str| call["function"][key].as_str().unwrap_or("?").to_owned();
                lines.push(format!("call: {} {}", word("name"), word("arguments")));
            }
        }
    }
}
