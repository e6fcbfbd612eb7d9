//! The Messages wire of the fake model: a reply as its events, and its history as plain lines.

use serde_json::{Value, json};

use super::{
    Ending, Part, Streamed, signature,
    wire::{Frame, call_id, pieces, text_of},
};

#[derive(Default)]
struct Frames {
    frames: Vec<Frame>,
    /// Blocks so far.
    blocks: usize,
}

pub(super) fn frames(number: usize, reply: &Streamed) -> Vec<Frame> {
    let mut frames = Frames::default();
    let mut message = json!({
        "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": super::MODEL, "content": [],
        "stop_reason": null, "stop_sequence": null,
    });
    if let Some([input, cached, _, _]) = reply.usage {
        message["usage"] = json!({
            "input_tokens": input - cached, "cache_read_input_tokens": cached, "cache_creation_input_tokens": 0,
            "output_tokens": 1,
        });
    }
    frames.push("message_start", json!({"message": message}));
    frames.push("ping", json!({}));
    for (position, part) in reply.parts.iter().enumerate() {
        frames.part(number, position, part);
    }
    if let Ending::Failed { code, message } = &reply.ending {
        frames.push("error", json!({"error": {"type": code, "message": message}}));
        frames.end();
        return frames.frames;
    }
    let mut end = json!({"delta": {"stop_reason": stop_reason(reply), "stop_sequence": null}});
    if let Some([_, _, output, reasoning]) = reply.usage {
        let details = json!({"thinking_tokens": reasoning});
        end["usage"] = json!({"output_tokens": output, "output_tokens_details": details});
    }
    frames.push("message_delta", end);
    frames.end();
    frames.push("message_stop", json!({}));
    frames.end();
    frames.frames
}

fn stop_reason(reply: &Streamed) -> &'static str {
    let has = |is: fn(&Part) -> bool| reply.parts.iter().any(is);
    match reply.ending {
        Ending::Length => "max_tokens",
        // The wire has no such ending: this is the word of the server behind a gateway.
        Ending::ContentFilter => "content_filter",
        _ if has(|part| matches!(part, Part::Refusal(_))) => "refusal",
        _ if has(|part| matches!(part, Part::Call { .. })) => "tool_use",
        _ => "end_turn",
    }
}

impl Frames {
    fn push(&mut self, kind: &str, mut event: Value) {
        event["type"] = kind.into();
        let is_delta = kind == "content_block_delta" && event["delta"]["type"] != "signature_delta";
        self.frames.push(Frame { text: format!("event: {kind}\ndata: {event}\n\n"), is_delta, ends: false });
    }

    /// The last event belongs to the end of the reply.
    fn end(&mut self) {
        if let Some(last) = self.frames.last_mut() {
            last.ends = true;
        }
    }

    fn part(&mut self, number: usize, position: usize, part: &Part) {
        match part {
            // A model that declines does so in its own words.
            Part::Text(text) | Part::Refusal(text) => {
                self.block(json!({"type": "text", "text": ""}), "text_delta", "text", text, None);
            }
            Part::Reasoning(text) => {
                let announced = json!({"type": "thinking", "thinking": "", "signature": ""});
                let signed = json!({"type": "signature_delta", "signature": signature(text)});
                self.block(announced, "thinking_delta", "thinking", text, Some(signed));
            }
            Part::Call { id, name, arguments } => {
                let id = call_id(id, number, position);
                let announced = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
                self.block(announced, "input_json_delta", "partial_json", arguments, None);
            }
        }
    }

    fn block(&mut self, announced: Value, kind: &str, member: &str, text: &str, last: Option<Value>) {
        let index = self.blocks;
        self.blocks += 1;
        self.push("content_block_start", json!({"index": index, "content_block": announced}));
        let deltas = pieces(text).map(|piece| json!({"type": kind, member: piece}));
        for delta in deltas.chain(last) {
            self.push("content_block_delta", json!({"index": index, "delta": delta}));
        }
        self.push("content_block_stop", json!({"index": index}));
    }
}

/// The id of a call and the text of its output, where a block is one.
pub(super) fn outputs(message: &Value) -> Vec<(String, String)> {
    let output = |block: &Value| {
        (block["type"] == "tool_result")
            .then(|| (block["tool_use_id"].as_str().unwrap_or("?").to_owned(), text_of(&block["content"])))
    };
    message["content"].as_array().into_iter().flatten().filter_map(output).collect()
}

pub(super) fn lines(message: &Value, lines: &mut Vec<String>) {
    let who = if message["role"] == "user" { "user" } else { "agent" };
    for block in message["content"].as_array().into_iter().flatten() {
        let word = |key: &str| block[key].as_str().unwrap_or("?").to_owned();
        lines.push(match block["type"].as_str().unwrap_or("?") {
            "text" => format!("{who}: {}", word("text")),
            "thinking" | "redacted_thinking" => "reasoning".to_owned(),
            "tool_use" => format!("call: {} {}", word("name"), block["input"]),
            "tool_result" => format!("output: {}", text_of(&block["content"])),
            other => format!("{other}: ?"),
        });
    }
}
