//! A request of the Responses wire. Its bytes end with the history, so that they begin with those of the request before.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::{
    model::{
        ErrorKind, ModelError, Request, ToolChoice, ToolSpec,
        client::{Wish, Wishes},
        http::Endpoint,
    },
    protocol::{AgentMessage, Item, MessageState, Raw, Reasoning, ToolCall, ToolOutput, UserMessage, Wire},
};

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    /// The server would keep the thread for a month.
    store: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'a [&'a str],
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'a str>,
    /// Last: see the module's own words.
    input: Vec<InputItem<'a>>,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'a str,
    name: &'a str,
    description: &'a str,
    parameters: &'a serde_json::Value,
    /// The schemas have optional members, which strict ones must not.
    strict: bool,
}

#[derive(Serialize)]
#[serde(untagged)]
enum InputItem<'a> {
    /// As this wire sent it, byte for byte.
    Raw(&'a RawValue),
    Message {
        r#type: &'static str,
        role: &'static str,
        content: [Content; 1],
    },
    Call {
        r#type: &'static str,
        call_id: &'a str,
        name: &'a str,
        arguments: &'a str,
    },
    Output {
        r#type: &'static str,
        call_id: &'a str,
        output: &'a str,
    },
}

#[derive(Serialize)]
struct Content {
    r#type: &'static str,
    text: String,
}

/// # Errors
/// [`ErrorKind::Settings`] when the schema of a tool is no JSON; it cannot come from what a model said.
pub(super) fn body(endpoint: &Endpoint, request: Request<'_>, wishes: Wishes) -> Result<String, ModelError> {
    let tools: Vec<_> = request.tools.iter().map(Tool::from).collect();
    let body = Body {
        model: &endpoint.model,
        stream: true,
        store: false,
        include: match wishes.holds(Wish::SealedReasoning) {
            true => &["reasoning.encrypted_content"],
            false => &[],
        },
        prompt_cache_key: wishes.holds(Wish::CacheKey).then_some(request.cache_key),
        max_output_tokens: endpoint.options.max_output_tokens,
        instructions: request.instructions,
        tool_choice: match request.tool_choice {
            ToolChoice::None if !tools.is_empty() => Some("none"),
            _ => None,
        },
        tools,
        input: input(request.items),
    };
    serde_json::to_string(&body).map_err(|error| {
        ModelError::new(ErrorKind::Settings, format!("the request cannot be written: {error}"))
    })
}

fn input(items: &[Item]) -> Vec<InputItem<'_>> {
    let mut input = Vec::with_capacity(items.len());
    for (position, item) in items.iter().enumerate() {
        let item = match item {
            Item::User(message) => Some(InputItem::of_user(message)),
            Item::Agent(message) => InputItem::of_agent(message),
            Item::Reasoning(reasoning) => {
                let followers = items.get(position + 1..).unwrap_or_default();
                InputItem::of_reasoning(reasoning).filter(|_| is_followed(followers))
            }
            Item::Call(call) => Some(InputItem::of_call(call)),
            Item::Output(output) => Some(InputItem::of_output(output)),
            Item::Opaque(raw) => own(raw).map(InputItem::Raw),
        };
        input.extend(item);
    }
    input
}

/// Reasoning must stand in front of what it led to, as the same reply had it: it is refused in front of anything else.
fn is_followed(items: &[Item]) -> bool {
    let next = items.iter().find(|item| !matches!(item, Item::Reasoning(_)));
    match next {
        Some(Item::Agent(AgentMessage { raw, .. }) | Item::Call(ToolCall { raw, .. })) => {
            raw.as_ref().and_then(own).is_some()
        }
        Some(Item::Opaque(raw)) => own(raw).is_some(),
        _ => false,
    }
}

/// The item as this wire sent it; what another wire sent is re-made from what is known of it.
fn own(raw: &Raw) -> Option<&RawValue> {
    if raw.wire != Wire::Responses {
        return None;
    }
    serde_json::from_str(&raw.json).ok()
}

impl<'a> InputItem<'a> {
    fn of_user(message: &UserMessage) -> Self {
        let text = match &message.context {
            Some(context) => format!("{}\n\n{context}", message.text),
            None => message.text.clone(),
        };
        Self::message("user", "input_text", text)
    }

    /// `None` for a message without a word, which servers refuse.
    fn of_agent(message: &'a AgentMessage) -> Option<Self> {
        let raw = message.raw.as_ref().filter(|_| message.state != MessageState::Partial);
        if let Some(raw) = raw.and_then(own) {
            return Some(Self::Raw(raw));
        }
        (!message.text.is_empty()).then(|| Self::message("assistant", "output_text", message.text.clone()))
    }

    /// `None` when the server could not open it: it keeps no ids (`store` is off), so it needs the content, sealed or
    /// plain.
    fn of_reasoning(reasoning: &'a Reasoning) -> Option<Self> {
        #[derive(serde::Deserialize)]
        struct Carried {
            #[serde(default)]
            encrypted_content: Option<String>,
            #[serde(default)]
            content: Option<Vec<serde::de::IgnoredAny>>,
        }
        let raw = reasoning.raw.as_ref().and_then(own)?;
        let carried: Carried = serde_json::from_str(raw.get()).ok()?;
        let sealed = carried.encrypted_content.is_some_and(|sealed| !sealed.is_empty());
        let plain = carried.content.is_some_and(|content| !content.is_empty());
        (sealed || plain).then_some(Self::Raw(raw))
    }

    fn of_call(call: &'a ToolCall) -> Self {
        match call.raw.as_ref().and_then(own) {
            Some(raw) => Self::Raw(raw),
            None => Self::Call {
                r#type: "function_call",
                call_id: &call.id,
                name: &call.name,
                arguments: &call.arguments,
            },
        }
    }

    fn of_output(output: &'a ToolOutput) -> Self {
        Self::Output { r#type: "function_call_output", call_id: &output.call_id, output: &output.text }
    }

    fn message(role: &'static str, kind: &'static str, text: String) -> Self {
        Self::Message { r#type: "message", role, content: [Content { r#type: kind, text }] }
    }
}

impl<'a> From<&'a ToolSpec> for Tool<'a> {
    fn from(tool: &'a ToolSpec) -> Self {
        Self {
            r#type: "function",
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.parameters,
            strict: false,
        }
    }
}

#[cfg(test)]
mod tests;
