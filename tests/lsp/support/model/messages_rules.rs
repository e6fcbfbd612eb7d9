//! What Anthropic's server refuses on the Messages wire, and the words in which it does.

use std::collections::BTreeSet;

use serde_json::Value;

use super::signature;

/// Marks for the prompt cache in one request, the one of the whole request included.
const MOST_MARKS: usize = 4;

type Checked = Result<(), String>;

/// # Errors
/// The text of the refusal; its status is 400.
pub(super) fn check(request: &Value, version: Option<&str>) -> Checked {
    if version.is_none() {
        return refuse("anthropic-version: header is required");
    }
    if request["max_tokens"].as_u64().unwrap_or(0) == 0 {
        return refuse("max_tokens: Field required");
    }
    let Some(messages) = request["messages"].as_array() else { return refuse("messages: Field required") };
    check_tools(request)?;
    if let Some(system) = request.get("system") {
        check_texts(system, "system")?;
    }
    let marks = count_marks(request);
    if marks > MOST_MARKS {
        return refuse(format!(
            "A maximum of {MOST_MARKS} blocks with cache_control may be provided. Found {marks}."
        ));
    }
    check_messages(messages)
}

fn refuse<T>(text: impl Into<String>) -> Result<T, String> {
    Err(text.into())
}

fn is_word(text: &Value, longest: usize) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    text.as_str().is_some_and(|text| (1..=longest).contains(&text.len()) && text.bytes().all(is_word))
}

fn check_tools(request: &Value) -> Checked {
    let Some(tools) = request.get("tools") else {
        return match request.get("tool_choice") {
            Some(_) => refuse("tool_choice: may only be specified while providing tools"),
            None => Ok(()),
        };
    };
    let Some(tools) = tools.as_array() else { return refuse("tools: Input should be a valid list") };
    for (position, tool) in tools.iter().enumerate() {
        if !is_word(&tool["name"], 128) {
            return refuse(format!(
                "tools.{position}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
            ));
        }
        if tool["input_schema"]["type"] != "object" {
            return refuse(format!("tools.{position}.custom.input_schema.type: Field required"));
        }
    }
    let choice = &request["tool_choice"];
    let kind = choice["type"].as_str();
    match kind {
        None if choice.is_null() => {}
        Some("auto" | "any" | "none") => {}
        Some("tool") if tools.iter().any(|tool| tool["name"] == choice["name"]) => {}
        Some("tool") => {
            return refuse(format!("Tool '{}' not found in provided tools", choice["name"]));
        }
        _ => return refuse("tool_choice: Input tag does not match any of the expected tags"),
    }
    let thinks = matches!(request["thinking"]["type"].as_str(), Some("adaptive" | "enabled"));
    if thinks && matches!(kind, Some("any" | "tool")) {
        return refuse("Thinking may not be enabled when tool_choice forces tool use.");
    }
    Ok(())
}

/// Texts that may not be empty.
fn check_texts(content: &Value, at: &str) -> Checked {
    for block in content.as_array().into_iter().flatten().filter(|block| block["type"] == "text") {
        match block["text"].as_str() {
            None => return refuse(format!("{at}.text: Field required")),
            Some("") => return refuse(format!("{at}: text content blocks must be non-empty")),
            Some(text) if text.trim().is_empty() => {
                return refuse(format!("{at}: text content blocks must contain non-whitespace text"));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

fn count_marks(json: &Value) -> usize {
    match json {
        Value::Object(members) => {
            let own = usize::from(members.contains_key("cache_control"));
            // What the model called with and what was said are no marks.
            own + members
                .iter()
                .filter(|(name, _)| *name != "input")
                .map(|(_, value)| count_marks(value))
                .sum::<usize>()
        }
        Value::Array(list) => list.iter().map(count_marks).sum(),
        _ => 0,
    }
}

fn check_messages(messages: &[Value]) -> Checked {
    if messages.is_empty() {
        return refuse("messages: at least one message is required");
    }
    let mut ids = BTreeSet::new();
    // The calls of the message before.
    let mut calls: Vec<&str> = Vec::new();
    let mut former = "";
    for (position, message) in messages.iter().enumerate() {
        let at = format!("messages.{position}");
        let role = message["role"].as_str().unwrap_or_default();
        match role {
            "user" | "assistant" if role == former => {
                return refuse(format!(
                    "messages: roles must alternate between \"user\" and \"assistant\", but found multiple \"{role}\" roles in a row"
                ));
            }
            "assistant" if position == 0 => {
                return refuse("messages: first message must use the \"user\" role");
            }
            "user" | "assistant" => former = role,
            _ => {
                return refuse(format!(
                    "messages: Unexpected role \"{role}\". The Messages API accepts a top-level `system` parameter, not \"system\" as an input message role."
                ));
            }
        }
        let content = match &message["content"] {
            Value::Array(blocks) if !blocks.is_empty() => blocks.as_slice(),
            Value::String(text) if !text.is_empty() => &[],
            _ => return refuse(format!("{at}: all messages must have non-empty content")),
        };
        check_texts(&message["content"], "messages")?;
        let answers = check_answers(content, &calls, position)?;
        if let Some(open) = calls.iter().find(|call| !answers.contains(call)) {
            return refuse(format!(
                "messages.{}: `tool_use` ids were found without `tool_result` blocks immediately after: {open}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
                position - 1
            ));
        }
        calls = match role {
            "assistant" => check_assistant(content, position, &mut ids)?,
            _ => Vec::new(),
        };
    }
    if let Some(open) = calls.first() {
        return refuse(format!(
            "messages.{}: `tool_use` ids were found without `tool_result` blocks immediately after: {open}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
            messages.len() - 1
        ));
    }
    let last = &messages[messages.len() - 1];
    let last_kind =
        &last["content"].as_array().and_then(|blocks| blocks.last()).unwrap_or(&Value::Null)["type"];
    if last["role"] == "assistant" && (last_kind == "text" || last_kind.is_null()) {
        return refuse(
            "This model does not support assistant message prefill. The conversation must end with a user message.",
        );
    }
    Ok(())
}

/// The calls that a message answers. Only those at its beginning count: what the user says comes after them.
fn check_answers<'a>(content: &'a [Value], calls: &[&str], position: usize) -> Result<Vec<&'a str>, String> {
    let mut answers = Vec::new();
    for (place, block) in content.iter().enumerate().filter(|(_, block)| block["type"] == "tool_result") {
        let id = block["tool_use_id"].as_str().unwrap_or_default();
        if !calls.contains(&id) {
            return refuse(format!(
                "messages.{position}.content.{place}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            ));
        }
        if answers.contains(&id) {
            return refuse(format!(
                "messages.{position}.content.{place}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}"
            ));
        }
        if place == answers.len() {
            answers.push(id);
        }
    }
    Ok(answers)
}

/// The ids of the message's calls.
fn check_assistant<'a>(
    content: &'a [Value],
    position: usize,
    ids: &mut BTreeSet<&'a str>,
) -> Result<Vec<&'a str>, String> {
    let mut calls = Vec::new();
    for (place, block) in content.iter().enumerate() {
        let at = format!("messages.{position}.content.{place}");
        match block["type"].as_str().unwrap_or_default() {
            "tool_use" => {
                if !is_word(&block["id"], usize::MAX) {
                    return refuse(format!(
                        "{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
                    ));
                }
                if !block["input"].is_object() {
                    return refuse(format!("{at}.tool_use.input: Input should be a valid dictionary"));
                }
                if !is_word(&block["name"], 200) {
                    return refuse(format!("{at}.tool_use.name: Field required"));
                }
                let id = block["id"].as_str().unwrap_or_default();
                if !ids.insert(id) {
                    return refuse("messages: `tool_use` ids must be unique");
                }
                calls.push(id);
            }
            "thinking" => {
                let thought = block["thinking"].as_str().unwrap_or_default();
                if block["signature"] != signature(thought) {
                    return refuse(format!("{at}: Invalid `signature` in `thinking` block"));
                }
            }
            "redacted_thinking" if !block["data"].is_string() => {
                return refuse(format!("{at}.redacted_thinking.data: Field required"));
            }
            "" => {
                return refuse(format!(
                    "{at}: Input should be a valid dictionary or object to extract fields from"
                ));
            }
            _ => {}
        }
    }
    let last = content.last().map(|block| &block["type"]);
    match last.and_then(Value::as_str) {
        Some(kind @ ("thinking" | "redacted_thinking")) => refuse(format!(
            "messages.{position}: The final block in an assistant message cannot be `{kind}`."
        )),
        _ => Ok(calls),
    }
}
