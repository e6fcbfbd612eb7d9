//! Calls in scripts are renamed whole, in whatever pieces each wire says them.

use serde_json::{Value, json};

use crate::{rewrite, server::calls};

fn exchange(events: &[Value]) -> Value {
    let steps: Vec<Value> =
        events.iter().map(|event| json!({"send": format!("data: {event}\n\n")})).collect();
    json!({"status": 200, "steps": steps})
}

const PIECES: [&str; 2] = ["{\"path\":\"a\",\"old_te", "xt\":\"A\",\"new_text\":\"B\"}"];

/// The same call on each wire, its arguments in two pieces.
fn scripts() -> [Value; 3] {
    let [one, two] = PIECES;
    let chat = |function: Value| json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "function": function}]}}]});
    let item = |arguments: &str| json!({"type": "function_call", "call_id": "1", "name": "edit_file", "arguments": arguments});
    [
        exchange(&[
            chat(json!({"name": "edit_file", "arguments": ""})),
            chat(json!({"arguments": one})),
            chat(json!({"arguments": two})),
        ]),
        exchange(&[
            json!({"type": "response.output_item.added", "output_index": 0, "item": item("")}),
            json!({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": one}),
            json!({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": two}),
            json!({"type": "response.completed", "response": {"output": [item(&PIECES.concat())]}}),
        ]),
        exchange(&[
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "name": "edit_file"}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": one}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": two}}),
        ]),
    ]
}

/// Everything that the stream says of arguments, put together.
fn said(exchange: &Value) -> String {
    let steps = exchange["steps"].as_array().into_iter().flatten();
    let events = steps.filter_map(|step| {
        let data = step["send"].as_str()?.strip_prefix("data: ")?;
        serde_json::from_str::<Value>(data).ok()
    });
    events
        .map(|event| {
            let chat = &event["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"];
            let piece = [chat, &event["delta"], &event["delta"]["partial_json"]];
            piece.iter().filter_map(|piece| piece.as_str()).collect::<String>()
        })
        .collect()
}

pub(super) fn faults() -> Vec<String> {
    let wanted = json!({"path": "a", "find": "A", "replace": "B"});
    let mut faults = Vec::new();
    for mut script in scripts() {
        let is_renamed = rewrite::exchange(&mut script);
        let found: Value = serde_json::from_str(&said(&script)).unwrap_or_default();
        if !is_renamed || found != wanted {
            faults.push(format!("a renamed script says {found}: {script}"));
        }
        let completed = script["steps"][3]["send"].as_str().and_then(|text| text.strip_prefix("data: "));
        if let Some(completed) = completed.and_then(|text| serde_json::from_str::<Value>(text).ok()) {
            let list = json!({"input": completed["response"]["output"]});
            if calls(&list).iter().any(|(_, _, arguments)| *arguments != wanted) {
                faults.push(format!("the last list of a script is not renamed: {list}"));
            }
        }
    }
    let [mut chat, ..] = scripts();
    chat["steps"][1]["split"] = json!(3);
    if rewrite::exchange(&mut chat) {
        faults.push("a call in pieces of bytes is said to be renamed".to_owned());
    }
    let mut other = exchange(&[json!({"choices": [{"delta": {"content": "old_text"}}]})]);
    let before = other.clone();
    if !rewrite::exchange(&mut other) || other != before {
        faults.push("a script without calls is changed".to_owned());
    }
    faults
}
