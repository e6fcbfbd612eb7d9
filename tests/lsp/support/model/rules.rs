//! The histories and requests that the real servers refuse, and the words in which they do.

use std::collections::BTreeSet;

use askls::protocol::Wire;
use serde_json::Value;

use super::{Request, messages_rules};

/// The longest id of a call and the longest name of a tool that the hosted servers take.
const LONGEST_NAME: usize = 64;

/// # Errors
/// The status and the text with which the real server would refuse this request.
pub(super) fn check(asked: &Request) -> Result<(), (u16, String)> {
    let (wire, request) = (asked.wire, &asked.json);
    if !request.is_object() {
        return refuse("We could not parse the JSON body of your request.");
    }
    if !request["model"].is_string() {
        return refuse("you must provide a model parameter");
    }
    if request["stream"] != true {
        return refuse("this server only streams");
    }
    match wire {
        Wire::Responses => check_tools(wire, request).and_then(|()| check_responses(request)),
        Wire::Chat => check_tools(wire, request).and_then(|()| check_chat(request)),
        Wire::Messages => {
            messages_rules::check(request, asked.header("anthropic-version")).map_err(|text| (400, text))
        }
    }
}

fn refuse<T>(text: impl Into<String>) -> Result<T, (u16, String)> {
    Err((400, text.into()))
}

fn check_tools(wire: Wire, request: &Value) -> Result<(), (u16, String)> {
    let tools = match &request["tools"] {
        Value::Null if request.get("tools").is_none() => {
            return match request.get("tool_choice") {
                Some(_) => refuse(
                    "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
                ),
                None => Ok(()),
            };
        }
        Value::Array(tools) if !tools.is_empty() => tools,
        Value::Array(_) => {
            return refuse(
                "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.",
            );
        }
        _ => return refuse("Invalid type for 'tools': expected an array of objects."),
    };
    for (position, tool) in tools.iter().enumerate() {
        let (function, at) = match wire {
            Wire::Chat => (&tool["function"], format!("tools[{position}].function")),
            _ => (tool, format!("tools[{position}]")),
        };
        let fits = |name: &str| {
            (1..=LONGEST_NAME).contains(&name.len())
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        };
        if tool["type"] != "function" || !function["name"].as_str().is_some_and(fits) {
            return refuse(format!(
                "Invalid '{at}.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
            ));
        }
        if function["parameters"]["type"] != "object" {
            let name = &function["name"];
            return refuse(format!(
                "Invalid schema for function {name}: schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'."
            ));
        }
        if wire == Wire::Responses && tool.get("strict").is_none() {
            return refuse(format!("Missing required parameter: '{at}.strict'."));
        }
    }
    Ok(())
}

fn check_responses(request: &Value) -> Result<(), (u16, String)> {
    let Some(input) = request["input"].as_array() else {
        return refuse("Missing required parameter: 'input'.");
    };
    let stored = request["store"] != false;
    let (mut ids, mut calls, mut answered) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for (position, item) in input.iter().enumerate() {
        if let Some(id) = item["id"].as_str()
            && !ids.insert(id)
        {
            return refuse(format!(
                "Duplicate item found with id {id}. Remove duplicate items from your input and try again."
            ));
        }
        match item["type"].as_str().unwrap_or("message") {
            "message" => check_responses_message(item, position)?,
            "reasoning" => {
                let id = item["id"].as_str().unwrap_or_default();
                let sealed = item["encrypted_content"].as_str().is_some_and(|text| !text.is_empty());
                if !stored && !sealed {
                    return Err((
                        404,
                        format!(
                            "Item with id '{id}' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input."
                        ),
                    ));
                }
                let next = input.get(position + 1);
                let made_by_model = |item: &Value| match item["type"].as_str() {
                    Some("reasoning" | "function_call") => true,
                    _ => item["role"] == "assistant",
                };
                if !next.is_some_and(made_by_model) {
                    return refuse(format!(
                        "Item '{id}' of type 'reasoning' was provided without its required following item."
                    ));
                }
            }
            "function_call" => {
                let Some(call_id) =
                    item["call_id"].as_str().filter(|id| (1..=LONGEST_NAME).contains(&id.len()))
                else {
                    return refuse(format!("Missing required parameter: 'input[{position}].call_id'."));
                };
                if !item["name"].is_string() || !item["arguments"].is_string() {
                    return refuse(format!("Missing required parameter: 'input[{position}].arguments'."));
                }
                if !calls.insert(call_id) {
                    return refuse(format!(
                        "Duplicate item found with id {call_id}. Remove duplicate items from your input and try again."
                    ));
                }
            }
            "function_call_output" => {
                let call_id = item["call_id"].as_str().unwrap_or_default();
                if !calls.contains(call_id) {
                    return refuse(format!(
                        "No tool call found for function call output with call_id {call_id}."
                    ));
                }
                if !answered.insert(call_id) {
                    return refuse(format!("Duplicate function call output found for call_id {call_id}."));
                }
                if !item["output"].is_string() && !item["output"].is_array() {
                    return refuse(format!("Missing required parameter: 'input[{position}].output'."));
                }
            }
            other => {
                return refuse(format!(
                    "Invalid value: '{other}'. Supported values are: 'message', 'reasoning', 'function_call', 'function_call_output'."
                ));
            }
        }
    }
    match calls.difference(&answered).next() {
        Some(call_id) => refuse(format!("No tool output found for function call {call_id}.")),
        None => Ok(()),
    }
}

fn check_responses_message(item: &Value, position: usize) -> Result<(), (u16, String)> {
    let role = item["role"].as_str().unwrap_or_default();
    let wanted = match role {
        "assistant" => ["output_text", "refusal"].as_slice(),
        "user" | "system" | "developer" => ["input_text", "input_image", "input_file"].as_slice(),
        _ => {
            return refuse(format!(
                "Invalid value: '{role}'. Supported values are: 'assistant', 'system', 'developer', and 'user'."
            ));
        }
    };
    match &item["content"] {
        Value::String(text) if !text.is_empty() => Ok(()),
        Value::Array(parts) if !parts.is_empty() => {
            let wrong = parts
                .iter()
                .position(|part| !part["type"].as_str().is_some_and(|kind| wanted.contains(&kind)));
            match wrong {
                Some(part) => {
                    let kind = &parts[part]["type"];
                    refuse(format!(
                        "Invalid value: {kind}. Supported values are: {wanted:?}. (input[{position}].content[{part}])"
                    ))
                }
                None => Ok(()),
            }
        }
        _ => refuse(format!(
            "Invalid 'input[{position}].content': empty. Expected a string or a list of content parts."
        )),
    }
}

fn check_chat(request: &Value) -> Result<(), (u16, String)> {
    let Some(messages) = request["messages"].as_array().filter(|messages| !messages.is_empty()) else {
        return refuse("Missing required parameter: 'messages'.");
    };
    // Calls of the last assistant message that no tool message has answered yet.
    let mut open: Vec<&str> = Vec::new();
    let mut answerable: Vec<&str> = Vec::new();
    let mut first = true;
    for (position, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        if role != "tool" {
            if !open.is_empty() {
                return refuse(unanswered(&open));
            }
            answerable.clear();
        }
        match role {
            "system" | "developer" if position == 0 => {}
            "system" | "developer" => return refuse("System message must be at the beginning."),
            "user" => match &message["content"] {
                Value::String(_) => {}
                Value::Array(parts) if !parts.is_empty() => {}
                _ => return refuse("Invalid value for 'content': expected a string, got null."),
            },
            "assistant" if first => {
                return refuse("Conversation roles must alternate user/assistant/user/assistant/...");
            }
            "assistant" => open = check_chat_assistant(message, position)?,
            "tool" => {
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                let Some(place) = open.iter().position(|call| *call == id) else {
                    return refuse(match answerable.contains(&id) {
                        true => format!("Duplicate value for 'tool_call_id' of {id} in message[{position}]"),
                        false => "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.".to_owned(),
                    });
                };
                if !message["content"].is_string() {
                    return refuse("Invalid value for 'content': expected a string, got null.");
                }
                answerable.push(open.remove(place));
            }
            _ => {
                return refuse(format!(
                    "Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'."
                ));
            }
        }
        first &= matches!(role, "system" | "developer");
    }
    if !open.is_empty() {
        return refuse(unanswered(&open));
    }
    if messages.last().is_some_and(|message| message["role"] == "assistant") {
        return refuse(
            "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
        );
    }
    Ok(())
}

fn unanswered(open: &[&str]) -> String {
    let ids = open.join(", ");
    format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: {ids}"
    )
}

/// The ids of the message's calls.
fn check_chat_assistant(message: &Value, position: usize) -> Result<Vec<&str>, (u16, String)> {
    let Some(calls) = message.get("tool_calls") else {
        return match message["content"].as_str() {
            Some(text) if !text.is_empty() => Ok(Vec::new()),
            _ => refuse("Invalid value for 'content': expected a string, got null."),
        };
    };
    let Some(calls) = calls.as_array().filter(|calls| !calls.is_empty()) else {
        return refuse(format!(
            "Invalid 'messages[{position}].tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead."
        ));
    };
    if message.get("content").is_none() {
        return refuse(format!("Missing required parameter: 'messages[{position}].content'."));
    }
    let mut ids = Vec::new();
    for (call, place) in calls.iter().zip(0..) {
        let at = format!("messages[{position}].tool_calls[{place}]");
        let Some(id) = call["id"].as_str().filter(|id| !id.trim().is_empty()) else {
            return refuse(format!("Missing required parameter: '{at}.id'."));
        };
        if ids.contains(&id) {
            return refuse(format!("Duplicate value for 'tool_call_id' of {id} in message[{position}]"));
        }
        if call["type"] != "function" || !call["function"]["name"].is_string() {
            return refuse(format!("Missing required parameter: '{at}.function'."));
        }
        // llama.cpp's server and vLLM read the arguments of calls in the history.
        let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
        if !serde_json::from_str::<Value>(arguments).is_ok_and(|value| value.is_object()) {
            return refuse(format!("Failed to parse tool call arguments as JSON: {arguments}"));
        }
        ids.push(id);
    }
    Ok(ids)
}
