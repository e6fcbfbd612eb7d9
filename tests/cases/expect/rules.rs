//! Rules about whole requests: what servers refuse, whatever the case is about.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    Faults, Seen,
    requests::{numbered, posted},
    short,
};
use crate::{names, observed::Request};

pub(super) fn check(value: &Value, seen: &Seen<'_>) -> Faults {
    let requests = posted(seen);
    let mut faults = Vec::new();
    for entry in value.as_array().into_iter().flatten() {
        let name = entry["rule"].as_str().unwrap_or_default();
        let numbers: Vec<Value> = match &entry["on"] {
            Value::Array(numbers) => numbers.clone(),
            Value::Number(number) => vec![Value::Number(number.clone())],
            _ => (1..=requests.len()).map(Value::from).collect(),
        };
        if numbers.is_empty() && entry["if_present"] != true {
            faults.push(format!("{name}: no request was made"));
        }
        for number in numbers {
            let Some(request) = numbered(&requests, &number) else {
                if entry["if_present"] != true {
                    faults.push(format!("{name}: request {number} was not made"));
                }
                continue;
            };
            let found = one(name, request, &entry["args"], &requests)?;
            faults.extend(found.into_iter().map(|fault| format!("request {number}: {name}: {fault}")));
        }
    }
    Ok(faults)
}

pub(super) fn one(name: &str, request: &Request, args: &Value, requests: &[&Request]) -> Faults {
    let body = &request.json;
    Ok(match name {
        "tool_calls_answered" => tool_calls_answered(body),
        "responses_items_paired" => responses_items_paired(body),
        "reasoning_kept_with_call" => reasoning_kept_with_call(body, args),
        "state_or_items_not_both" => state_or_items_not_both(body),
        "anthropic_pairs" => anthropic_pairs(body),
        "valid_json_arguments" => valid_json_arguments(body),
        "no_empty_assistant" => no_empty_assistant(body),
        "roles_alternate" => roles_alternate(body),
        "first_user_present" => first_user_present(body, args),
        "tools_not_offered" => tools_not_offered(body, args),
        "body_is_utf8_json" => body_is_utf8_json(request),
        "smaller_than" => {
            let than = numbered(requests, &args["than"]).map(|other| other.body.len());
            let own = request.body.len();
            match than {
                Some(than) if own < than => Vec::new(),
                Some(than) => vec![format!("{own} bytes are not less than {than}")],
                None => vec!["there is no request to compare with".to_owned()],
            }
        }
        _ => return Err(format!("the driver has no request rule {name}")),
    })
}

fn messages(body: &Value) -> &[Value] {
    body["messages"].as_array().map_or(&[], Vec::as_slice)
}

fn items(body: &Value) -> &[Value] {
    body["input"].as_array().map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn tool_calls_answered(body: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    let mut open: BTreeSet<String> = BTreeSet::new();
    for message in messages(body) {
        if message["role"] == "tool" {
            let id = text(message, "tool_call_id");
            if !open.remove(id) {
                faults.push(format!("a tool message without its call: {id:?}"));
            }
            continue;
        }
        faults.extend(open.iter().map(|id| format!("the call {id} is not answered")));
        open.clear();
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let id = text(call, "id");
            if id.trim().is_empty() {
                faults.push(format!("a call without an id: {}", short(call)));
            } else if !open.insert(id.to_owned()) {
                faults.push(format!("the id {id} twice in one message"));
            }
        }
    }
    faults.extend(open.iter().map(|id| format!("the call {id} is not answered")));
    faults
}

fn responses_items_paired(body: &Value) -> Vec<String> {
    let items = items(body);
    let mut faults = Vec::new();
    let has_state = is_set(&body["previous_response_id"]) || is_set(&body["conversation"]);
    let mut ids = BTreeSet::new();
    let mut calls: BTreeSet<&str> = BTreeSet::new();
    let mut outputs: BTreeSet<&str> = BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        if let Some(id) = item["id"].as_str()
            && !ids.insert(id)
        {
            faults.push(format!("the item {id} twice"));
        }
        match text(item, "type") {
            "function_call" if !calls.insert(text(item, "call_id")) => {
                faults.push(format!("the call {} twice", text(item, "call_id")));
            }
            "function_call_output" => {
                let id = text(item, "call_id");
                if !outputs.insert(id) {
                    faults.push(format!("two outputs of the call {id}"));
                }
                if !calls.contains(id) && !has_state {
                    faults.push(format!("an output without its call: {id}"));
                }
            }
            "reasoning" => {
                let next = items.get(index + 1).map_or("nothing", |next| match text(next, "type") {
                    "" if next.get("role").is_some() => "message",
                    kind => kind,
                });
                if !["message", "function_call", "reasoning"].contains(&next) {
                    faults.push(format!("reasoning is followed by {next}"));
                }
            }
            _ => {}
        }
    }
    faults.extend(calls.difference(&outputs).map(|id| format!("the call {id} has no output")));
    faults
}

fn is_set(value: &Value) -> bool {
    !value.is_null()
}

/// Both named items are sent, or neither. An output only names the call that it answers.
fn reasoning_kept_with_call(body: &Value, args: &Value) -> Vec<String> {
    let mut names = Vec::new();
    all_texts(args, &mut names);
    let is_sent = |name: &&String| {
        let mut own = items(body).iter().filter(|item| text(item, "type") != "function_call_output");
        own.any(|item| text(item, "id") == **name || text(item, "call_id") == **name)
    };
    let sent = names.iter().filter(is_sent).count();
    if sent == 0 || sent == names.len() {
        return Vec::new();
    }
    vec![format!("only {sent} of {names:?} are sent")]
}

fn state_or_items_not_both(body: &Value) -> Vec<String> {
    if !is_set(&body["previous_response_id"]) && !is_set(&body["conversation"]) {
        return Vec::new();
    }
    let is_of_earlier = |item: &&Value| {
        matches!(text(item, "type"), "function_call" | "reasoning") || text(item, "role") == "assistant"
    };
    items(body)
        .iter()
        .filter(is_of_earlier)
        .map(|item| format!("the server keeps the state, and an item of it is sent again: {}", short(item)))
        .collect()
}

fn anthropic_pairs(body: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    let mut open: BTreeSet<String> = BTreeSet::new();
    for message in messages(body) {
        let mut answered = BTreeSet::new();
        let is_empty = match &message["content"] {
            Value::String(text) => text.trim().is_empty(),
            Value::Array(blocks) => blocks.is_empty(),
            _ => true,
        };
        if is_empty {
            faults.push(format!("an empty message: {}", short(message)));
        }
        for block in message["content"].as_array().into_iter().flatten() {
            match text(block, "type") {
                "text" if text(block, "text").trim().is_empty() => faults.push("an empty text".to_owned()),
                "tool_result" => {
                    let id = text(block, "tool_use_id").to_owned();
                    if message["role"] != "user" || !open.contains(&id) || !answered.insert(id.clone()) {
                        faults.push(format!("a result without its call, or a second one: {id}"));
                    }
                }
                _ => {}
            }
        }
        faults.extend(open.difference(&answered).map(|id| format!("the call {id} is not answered next")));
        open = BTreeSet::new();
        for block in message["content"].as_array().into_iter().flatten() {
            if text(block, "type") == "tool_use" && !open.insert(text(block, "id").to_owned()) {
                faults.push(format!("the id {} twice in one message", text(block, "id")));
            }
        }
    }
    faults.extend(open.iter().map(|id| format!("the call {id} is not answered")));
    faults
}

fn valid_json_arguments(body: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    let mut check = |arguments: &str| {
        if !serde_json::from_str::<Value>(arguments).is_ok_and(|value| value.is_object()) {
            faults.push(format!("arguments that are no JSON object: {:?}", short(&arguments)));
        }
    };
    for message in messages(body) {
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            check(text(&call["function"], "arguments"));
        }
        for block in message["content"].as_array().into_iter().flatten() {
            if text(block, "type") == "tool_use" {
                check(&block["input"].to_string());
            }
        }
    }
    for item in items(body) {
        if text(item, "type") == "function_call" {
            check(text(item, "arguments"));
        }
    }
    faults
}

fn no_empty_assistant(body: &Value) -> Vec<String> {
    let is_assistant = |value: &&Value| text(value, "role") == "assistant";
    let is_empty = |message: &&Value| {
        let has_calls = message["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty());
        let has_content = match &message["content"] {
            Value::String(text) => !text.trim().is_empty(),
            Value::Array(blocks) => {
                blocks.iter().any(|block| block["text"].as_str().is_none_or(|text| !text.trim().is_empty()))
            }
            _ => false,
        };
        !has_calls && !has_content
    };
    let all = messages(body).iter().chain(items(body));
    all.filter(is_assistant)
        .filter(is_empty)
        .map(|message| format!("an empty assistant message: {}", short(message)))
        .collect()
}

/// Messages of tools stand between those of the assistant; those of the system do not count.
fn roles_alternate(body: &Value) -> Vec<String> {
    let roles: Vec<&str> = messages(body)
        .iter()
        .map(|message| text(message, "role"))
        .filter(|role| !matches!(*role, "system" | "developer"))
        .collect();
    roles
        .windows(2)
        .filter(|pair| pair.first() == pair.last() && matches!(pair.first(), Some(&("user" | "assistant"))))
        .map(|pair| format!("two {} messages in a row", pair.first().copied().unwrap_or_default()))
        .collect()
}

fn first_user_present(body: &Value, args: &Value) -> Vec<String> {
    let wanted = text(args, "text");
    let mut texts = Vec::new();
    all_texts(&body["messages"], &mut texts);
    all_texts(&body["input"], &mut texts);
    if texts.iter().any(|text| text.contains(wanted)) {
        return Vec::new();
    }
    vec![format!("{wanted:?} is gone")]
}

pub(super) fn all_texts(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(elements) => elements.iter().for_each(|element| all_texts(element, texts)),
        Value::Object(members) => members.values().for_each(|member| all_texts(member, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn tools_not_offered(body: &Value, args: &Value) -> Vec<String> {
    let offered: Vec<&str> = body["tools"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|tool| match tool["function"]["name"].as_str() {
            Some(name) => name,
            None => text(tool, "name"),
        })
        .collect();
    let names = args["names"].as_array().into_iter().flatten().filter_map(Value::as_str);
    names
        .filter(|name| {
            offered.contains(name) || names::tool_of_askls(name).is_some_and(|own| offered.contains(&own))
        })
        .map(|name| format!("{name} is offered"))
        .collect()
}

fn body_is_utf8_json(request: &Request) -> Vec<String> {
    match std::str::from_utf8(&request.body) {
        Err(error) => vec![format!("no UTF-8: {error}")],
        Ok(text) => match serde_json::from_str::<Value>(text) {
            Err(error) => vec![format!("no JSON: {error}")],
            Ok(_) => Vec::new(),
        },
    }
}
