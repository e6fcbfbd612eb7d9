//! Calls in the script of a run through the real server, under the names that the server knows. A stream says a call in
//! pieces, so the whole of it is collected first; then the first piece says all of it, and the others nothing.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::names;

/// One call of an exchange, by its place in the reply.
#[derive(Default)]
struct Call {
    name: String,
    arguments: String,
}

impl Call {
    fn new_name(&self) -> Option<&'static str> {
        names::tool_of_askls(&self.name)
    }

    /// The whole arguments in the words of askls; `None` for what is no whole object, which stays as it is.
    fn new_arguments(&self) -> Option<Value> {
        let arguments: Value = serde_json::from_str(&self.arguments).ok()?;
        let renamed = names::arguments_of_askls(&self.name, &arguments);
        (renamed != arguments).then_some(renamed)
    }

    fn changes(&self) -> bool {
        self.new_name().is_some_and(|name| name != self.name) || self.new_arguments().is_some()
    }
}

/// By output index, block index, or index of the call.
type Calls = BTreeMap<i64, Call>;

/// Renames the calls of one exchange. `false`: it holds a call that had to be renamed and could not be.
pub(crate) fn exchange(exchange: &mut Value) -> bool {
    let Some(steps) = exchange["steps"].as_array_mut() else { return true };
    let mut calls = Calls::new();
    for event in steps.iter().filter_map(text_of).flat_map(|text| events(&text)) {
        collect(&event, &mut calls);
    }
    if !calls.values().any(Call::changes) {
        return true;
    }
    let are_whole = steps.iter().filter_map(text_of).all(|text| text.ends_with("\n\n"));
    if !are_whole || steps.iter().any(|step| step.get("split").is_some()) {
        return false;
    }
    let mut said = Vec::new();
    for step in steps {
        let Some(text) = text_of(step) else { continue };
        let lines: Vec<String> = text
            .split('\n')
            .map(|line| match data(line) {
                Some(mut event) => {
                    rename(&mut event, &calls, &mut said);
                    format!("data: {event}")
                }
                None => line.to_owned(),
            })
            .collect();
        if let Some(members) = step.as_object_mut() {
            members.remove("send_b64");
            members.insert("send".to_owned(), json!(lines.join("\n")));
        }
    }
    true
}

fn text_of(step: &Value) -> Option<String> {
    match (step["send"].as_str(), step["send_b64"].as_str()) {
        (Some(text), _) => Some(text.to_owned()),
        (None, Some(encoded)) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        (None, None) => None,
    }
}

fn data(line: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(line.strip_prefix("data:")?.trim()).ok()?;
    value.is_object().then_some(value)
}

fn events(text: &str) -> Vec<Value> {
    text.split('\n').filter_map(data).collect()
}

fn index(value: &Value, name: &str) -> i64 {
    value[name].as_i64().unwrap_or(0)
}

/// Adds what one event says of the calls.
fn collect(event: &Value, calls: &mut Calls) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for choice in event["choices"].as_array().into_iter().flatten() {
        for call in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
            let known = calls.entry(index(call, "index")).or_default();
            known.name.push_str(&text(&call["function"]["name"]));
            known.arguments.push_str(&text(&call["function"]["arguments"]));
        }
    }
    match event["type"].as_str() {
        Some("response.output_item.added" | "response.output_item.done")
            if event["item"]["type"] == "function_call" =>
        {
            let known = calls.entry(index(event, "output_index")).or_default();
            known.name = text(&event["item"]["name"]);
            let whole = text(&event["item"]["arguments"]);
            if !whole.is_empty() {
                known.arguments = whole;
            }
        }
        Some("response.function_call_arguments.delta") => {
            let known = calls.entry(index(event, "output_index")).or_default();
            known.arguments.push_str(&text(&event["delta"]));
        }
        Some("content_block_start") if event["content_block"]["type"] == "tool_use" => {
            calls.entry(index(event, "index")).or_default().name = text(&event["content_block"]["name"]);
        }
        Some("content_block_delta") if event["delta"]["type"] == "input_json_delta" => {
            let known = calls.entry(index(event, "index")).or_default();
            known.arguments.push_str(&text(&event["delta"]["partial_json"]));
        }
        _ => {}
    }
}

/// Puts the new names into one event; `said` holds the places whose arguments were said already.
fn rename(event: &mut Value, calls: &Calls, said: &mut Vec<i64>) {
    if let Some(choices) = event["choices"].as_array_mut() {
        for call in
            choices.iter_mut().filter_map(|choice| choice["delta"]["tool_calls"].as_array_mut()).flatten()
        {
            let at = index(call, "index");
            rename_member(&mut call["function"], "name", at, calls);
            piece(&mut call["function"], "arguments", at, calls, said);
        }
        return;
    }
    let at = index(event, "output_index");
    match event["type"].as_str().unwrap_or_default() {
        "response.output_item.added" | "response.output_item.done" => {
            rename_item(&mut event["item"], at, calls)
        }
        "response.function_call_arguments.delta" => piece(event, "delta", at, calls, said),
        "response.function_call_arguments.done" => whole(event, "arguments", at, calls),
        "content_block_start" => {
            let at = index(event, "index");
            rename_member(&mut event["content_block"], "name", at, calls);
        }
        "content_block_delta" => {
            let at = index(event, "index");
            piece(&mut event["delta"], "partial_json", at, calls, said);
        }
        _ => {
            if let Some(items) = event["response"]["output"].as_array_mut() {
                for (item, at) in items.iter_mut().zip(0..) {
                    rename_item(item, at, calls);
                }
            }
        }
    }
}

fn rename_item(item: &mut Value, at: i64, calls: &Calls) {
    if item["type"] == "function_call" {
        rename_member(item, "name", at, calls);
        whole(item, "arguments", at, calls);
    }
}

fn rename_member(value: &mut Value, member: &str, at: i64, calls: &Calls) {
    if let Some(name) = calls.get(&at).and_then(Call::new_name)
        && value[member].as_str().is_some_and(|old| !old.is_empty())
    {
        value[member] = json!(name);
    }
}

/// A place that has the whole arguments, or none yet.
fn whole(value: &mut Value, member: &str, at: i64, calls: &Calls) {
    if let Some(arguments) = calls.get(&at).and_then(Call::new_arguments)
        && value[member].as_str().is_some_and(|old| !old.is_empty())
    {
        value[member] = json!(arguments.to_string());
    }
}

/// A piece of the arguments: the first that is not empty says all.
fn piece(value: &mut Value, member: &str, at: i64, calls: &Calls, said: &mut Vec<i64>) {
    let Some(arguments) = calls.get(&at).and_then(Call::new_arguments) else { return };
    if value[member].as_str().is_none_or(str::is_empty) {
        return;
    }
    value[member] = if said.contains(&at) { json!("") } else { json!(arguments.to_string()) };
    said.push(at);
}
