//! The shortest answer of each wire, for what is not about answers.

use serde_json::{Value, json};

/// A neutral provider's exchange that says `ok`.
pub(crate) fn plain_answer(provider: &Value) -> Value {
    let frames: Vec<String> = match provider.as_str() {
        Some("openai_responses") => [
            json!({"type": "response.created", "response": {"id": "resp_1", "output": []}}),
            json!({"type": "response.output_item.done", "output_index": 0, "item": {"id": "msg_1",
                "type": "message", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": "ok", "annotations": []}]}}),
            json!({"type": "response.completed", "response": {"id": "resp_1", "status": "completed"}}),
        ]
        .iter()
        .map(frame)
        .collect(),
        Some("anthropic") => [
            json!({"type": "message_start", "message": {"id": "m_1", "type": "message", "role": "assistant",
                "content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ok"}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}),
            json!({"type": "message_stop"}),
        ]
        .iter()
        .map(frame)
        .collect(),
        _ => vec![
            format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": "ok"}}]})),
            format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})),
            "data: [DONE]\n\n".to_owned(),
        ],
    };
    let steps: Vec<Value> = frames.into_iter().map(|text| json!({"send": text})).collect();
    json!({"status": 200, "headers": {"content-type": "text/event-stream"}, "steps": steps})
}

fn frame(event: &Value) -> String {
    format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
}
