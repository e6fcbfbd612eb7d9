//! Each rule about requests, with a body that keeps it and bodies that break it.

use serde_json::{Value, json};

use crate::{expect::rule_faults, observed::Request};

fn request(body: &Value) -> Request {
    Request {
        method: "POST".to_owned(),
        path: "/".to_owned(),
        headers: Vec::new(),
        body: body.to_string().into_bytes(),
        json: body.clone(),
    }
}

fn chat(messages: Value) -> Value {
    json!({"messages": messages})
}

fn responses(input: Value) -> Value {
    json!({"input": input})
}

fn calls(ids: &[&str]) -> Value {
    let calls: Vec<Value> = ids
        .iter()
        .map(|id| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}}))
        .collect();
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

fn tool(id: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": "x"})
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn call(id: &str) -> Value {
    json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": "f", "arguments": "{}"})
}

fn output(id: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": "x"})
}

fn tool_use(id: &str) -> Value {
    json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "f", "input": {}}]})
}

fn tool_result(id: &str) -> Value {
    json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "x"}]})
}

/// `(rule, args, a body that keeps it, bodies that break it)`.
fn table() -> Vec<(&'static str, Value, Value, Vec<Value>)> {
    let reasoning = json!({"type": "reasoning", "id": "rs_1", "summary": []});
    let message = json!({"type": "message", "role": "assistant", "content": []});
    vec![
        (
            "tool_calls_answered",
            Value::Null,
            chat(json!([user("a"), calls(&["1", "2"]), tool("2"), tool("1"), user("b")])),
            vec![
                chat(json!([calls(&["1", "2"]), tool("1")])),
                chat(json!([calls(&["1"]), user("b"), tool("1")])),
                chat(json!([calls(&["1", "1"]), tool("1"), tool("1")])),
                chat(json!([calls(&[" "]), tool(" ")])),
                chat(json!([user("a"), tool("1")])),
                chat(json!([calls(&["1"]), tool("1"), tool("1")])),
            ],
        ),
        (
            "responses_items_paired",
            Value::Null,
            responses(json!([reasoning, call("1"), output("1"), reasoning_2(), message])),
            vec![
                responses(json!([call("1")])),
                responses(json!([output("1"), call("1")])),
                responses(json!([call("1"), output("1"), output("1")])),
                responses(json!([call("1"), call("1"), output("1")])),
                responses(json!([{"type": "message", "id": "m"}, {"type": "message", "id": "m"}])),
                responses(json!([reasoning, output("1")])),
                responses(json!([reasoning])),
            ],
        ),
        (
            "reasoning_kept_with_call",
            json!({"reasoning": "rs_1", "call": "fc_1"}),
            responses(json!([reasoning, call("1")])),
            vec![responses(json!([reasoning])), responses(json!([call("1")]))],
        ),
        (
            "reasoning_kept_with_call",
            json!({"reasoning": "rs_1", "call": "1"}),
            json!({"previous_response_id": "r", "input": [output("1")]}),
            vec![responses(json!([call("1"), output("1")]))],
        ),
        (
            "state_or_items_not_both",
            Value::Null,
            json!({"previous_response_id": "r", "input": [output("1"), {"role": "user", "content": "a"}]}),
            vec![
                json!({"previous_response_id": "r", "input": [call("1"), output("1")]}),
                json!({"conversation": "c", "input": [reasoning]}),
            ],
        ),
        (
            "anthropic_pairs",
            Value::Null,
            chat(json!([user("a"), tool_use("1"), tool_result("1")])),
            vec![
                chat(json!([tool_use("1")])),
                chat(json!([tool_use("1"), user("b")])),
                chat(json!([user("a"), tool_result("1")])),
                chat(json!([user("")])),
                chat(json!([{"role": "user", "content": [{"type": "text", "text": ""}]}])),
                chat(json!([{"role": "assistant", "content": []}])),
            ],
        ),
        (
            "valid_json_arguments",
            Value::Null,
            chat(json!([calls(&["1"])])),
            vec![
                chat(json!([{"role": "assistant", "tool_calls": [{"function": {"arguments": "{\"a\":"}}]}])),
                chat(json!([{"role": "assistant", "tool_calls": [{"function": {"arguments": "[]"}}]}])),
                responses(json!([{"type": "function_call", "arguments": ""}])),
                chat(json!([{"role": "assistant", "content": [{"type": "tool_use", "input": "x"}]}])),
            ],
        ),
        (
            "no_empty_assistant",
            Value::Null,
            chat(json!([calls(&["1"]), {"role": "assistant", "content": "x"}])),
            vec![
                chat(json!([{"role": "assistant", "content": ""}])),
                chat(json!([{"role": "assistant", "content": null}])),
                chat(json!([{"role": "assistant", "content": [{"type": "text", "text": " "}]}])),
            ],
        ),
        (
            "roles_alternate",
            Value::Null,
            chat(
                json!([{"role": "system"}, user("a"), calls(&["1"]), tool("1"), {"role": "assistant"}, user("b")]),
            ),
            vec![
                chat(json!([user("a"), user("b")])),
                chat(json!([user("a"), {"role": "system"}, user("b")])),
                chat(json!([{"role": "assistant"}, {"role": "assistant"}])),
            ],
        ),
        (
            "first_user_present",
            json!({"text": "do it"}),
            chat(json!([user("summary: \"do it\" was asked")])),
            vec![chat(json!([user("go on")]))],
        ),
        (
            "tools_not_offered",
            json!({"names": ["search_text"]}),
            json!({"tools": [{"type": "function", "function": {"name": "read_file"}}]}),
            vec![
                json!({"tools": [{"type": "function", "function": {"name": "search"}}]}),
                json!({"tools": [{"name": "search_text"}]}),
            ],
        ),
        ("body_is_utf8_json", Value::Null, json!({}), Vec::new()),
    ]
}

fn reasoning_2() -> Value {
    json!({"type": "reasoning", "id": "rs_2", "summary": []})
}

pub(super) fn faults() -> Vec<String> {
    let mut faults = Vec::new();
    for (rule, args, kept, broken) in table() {
        match rule_faults(rule, &request(&kept), &args) {
            Ok(found) if found.is_empty() => {}
            other => faults.push(format!("{rule} is kept by {kept}, and gives {other:?}")),
        }
        for body in broken {
            match rule_faults(rule, &request(&body), &args) {
                Ok(found) if !found.is_empty() => {}
                other => faults.push(format!("{rule} is broken by {body}, and gives {other:?}")),
            }
        }
    }
    let garbled = Request { body: vec![b'"', 0xff, b'"'], ..request(&Value::Null) };
    if rule_faults("body_is_utf8_json", &garbled, &Value::Null).is_ok_and(|found| found.is_empty()) {
        faults.push("a body that is no UTF-8 passes".to_owned());
    }
    faults
}
