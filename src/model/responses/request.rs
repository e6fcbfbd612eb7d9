//! A request of the Responses wire. Its bytes end with the history, so that they begin with those of the request before.

use std::{borrow::Cow, collections::HashSet};

use serde::Serialize;
use serde_json::{Value, value::RawValue};

use super::stored;
use crate::{
    model::{
        ErrorKind, ModelError, Request, ToolChoice, ToolSpec, arguments,
        call_ids::SentIds,
        call_names,
        client::{Wish, Wishes},
        http::Endpoint,
        strict_schema,
    },
    protocol::{AgentMessage, Item, MessageState, Raw, Reasoning, ToolCall, ToolOutput, UserMessage, Wire},
};

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    /// Whether the server keeps the reply, for a month or so.
    store: bool,
    /// The reply that the server has stored in the place of what led to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_response_id: Option<String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'a [&'a str],
    /// llama.cpp only, as on the Chat wire.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    return_progress: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Thinking<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Text<'a>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    /// Last: see the module's own words.
    input: Vec<InputItem<'a>>,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'a str,
    name: &'a str,
    description: &'a str,
    parameters: Cow<'a, Value>,
    strict: bool,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Choice<'a> {
    Word(&'static str),
    Function { r#type: &'static str, name: &'a str },
}

#[derive(Serialize)]
struct Thinking<'a> {
    effort: &'a str,
}

#[derive(Serialize)]
struct Text<'a> {
    format: AnswerFormat<'a>,
}

#[derive(Serialize)]
struct AnswerFormat<'a> {
    r#type: &'static str,
    name: &'static str,
    schema: &'a Value,
    strict: bool,
}

#[derive(Serialize)]
#[serde(untagged)]
enum InputItem<'a> {
    /// As this wire sent it, byte for byte.
    Raw(&'a RawValue),
    /// As this wire sent it, with what every server takes: arguments that are an object, an id that is not taken.
    Mended(Value),
    Message {
        r#type: &'static str,
        role: &'static str,
        content: [Content; 1],
    },
    Call {
        r#type: &'static str,
        call_id: &'a str,
        name: Cow<'a, str>,
        arguments: Cow<'a, str>,
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
    let options = &endpoint.options;
    let is_strict = options.strict_tools && wishes.holds(Wish::StrictTools);
    let tools: Vec<_> = request.tools.iter().map(|tool| Tool::of(tool, is_strict)).collect();
    let (previous_response_id, items) = match stored::split(endpoint, request.items, wishes) {
        Some((id, new)) => (Some(id), new),
        None => (None, request.items),
    };
    let ids = SentIds::of(request.items, Wire::Responses);
    let body = Body {
        model: &endpoint.model,
        stream: true,
        store: options.store,
        previous_response_id,
        include: match wishes.holds(Wish::SealedReasoning) {
            true => &["reasoning.encrypted_content"],
            false => &[],
        },
        return_progress: wishes.holds(Wish::ReadingProgress) && endpoint.may_be_llama_cpp(),
        prompt_cache_key: wishes.holds(Wish::CacheKey).then_some(request.cache_key),
        max_output_tokens: options.max_output_tokens,
        temperature: options.temperature,
        reasoning: options.reasoning_effort.map(|effort| Thinking { effort: effort.as_str() }),
        text: request.answer_schema.map(Text::of),
        instructions: request.instructions,
        tool_choice: Choice::of(request.tool_choice).filter(|_| !tools.is_empty()),
        parallel_tool_calls: options.parallel_tool_calls.filter(|_| !tools.is_empty()),
        tools,
        input: input(items, &ids, Calls::of(endpoint)),
    };
    serde_json::to_string(&body).map_err(|error| {
        ModelError::new(ErrorKind::Settings, format!("the request cannot be written: {error}"))
    })
}

/// How calls go back whose arguments are no JSON object.
#[derive(Clone, Copy)]
enum Calls {
    /// As they came.
    Verbatim,
    /// With an object in their place: servers that read the history refuse it otherwise.
    Readable,
}

impl Calls {
    /// OpenAI does not read them; behind other addresses may be anything, such as llama.cpp, which does.
    fn of(endpoint: &Endpoint) -> Self {
        if endpoint.is_openai() { Self::Verbatim } else { Self::Readable }
    }
}

fn input<'a>(items: &'a [Item], ids: &'a SentIds, calls: Calls) -> Vec<InputItem<'a>> {
    let mut input = Vec::with_capacity(items.len());
    let mut seen = HashSet::new();
    for (position, item) in items.iter().enumerate() {
        let item = match item {
            Item::User(message) => Some(InputItem::of_user(message)),
            Item::Agent(message) => InputItem::of_agent(message),
            Item::Reasoning(reasoning) => {
                let followers = items.get(position + 1..).unwrap_or_default();
                InputItem::of_reasoning(reasoning).filter(|_| is_followed(followers))
            }
            Item::Call(call) => Some(InputItem::of_call(call, ids.get(&call.id), calls)),
            Item::Output(output) => Some(InputItem::of_output(output, ids.get(&output.call_id))),
            Item::Opaque(raw) => own(raw).map(InputItem::Raw),
        };
        input.extend(item.map(|item| item.with_own_id(&mut seen)));
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
    if raw.wire != Wire::Responses || stored::is_mark(raw) {
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

    fn of_call(call: &'a ToolCall, id: &'a str, calls: Calls) -> Self {
        let arguments = match calls {
            Calls::Verbatim => call.arguments.as_str().into(),
            Calls::Readable => arguments::for_history(&call.arguments),
        };
        let name = call_names::sendable(&call.name);
        // What the server sent holds the id that it does not take back.
        let Some(raw) = call.raw.as_ref().and_then(own).filter(|_| id == call.id) else {
            return Self::Call { r#type: "function_call", call_id: id, name, arguments };
        };
        match serde_json::from_str(raw.get()) {
            Ok(Value::Object(mut mended))
                if name != call.name
                    || mended.get("arguments").and_then(Value::as_str) != Some(&*arguments) =>
            {
                mended.insert("name".to_owned(), name.into());
                mended.insert("arguments".to_owned(), arguments.into());
                Self::Mended(Value::Object(mended))
            }
            _ => Self::Raw(raw),
        }
    }

    /// Without its id when an item before it has the same: no server takes an id twice, and some number the items of each
    /// reply from zero again.
    fn with_own_id(self, seen: &mut HashSet<String>) -> Self {
        #[derive(serde::Deserialize)]
        struct Named {
            id: Option<String>,
        }
        let id = match &self {
            Self::Raw(raw) => serde_json::from_str(raw.get()).ok().and_then(|named: Named| named.id),
            Self::Mended(json) => json.get("id").and_then(Value::as_str).map(str::to_owned),
            Self::Message { .. } | Self::Call { .. } | Self::Output { .. } => None,
        };
        if id.is_none_or(|id| seen.insert(id)) {
            return self;
        }
        let json = match &self {
            Self::Raw(raw) => serde_json::from_str(raw.get()).ok(),
            Self::Mended(json) => Some(json.clone()),
            Self::Message { .. } | Self::Call { .. } | Self::Output { .. } => None,
        };
        match json {
            Some(Value::Object(mut members)) => {
                members.remove("id");
                Self::Mended(Value::Object(members))
            }
            _ => self,
        }
    }

    fn of_output(output: &'a ToolOutput, id: &'a str) -> Self {
        Self::Output { r#type: "function_call_output", call_id: id, output: &output.text }
    }

    fn message(role: &'static str, kind: &'static str, text: String) -> Self {
        Self::Message { r#type: "message", role, content: [Content { r#type: kind, text }] }
    }
}

impl<'a> Tool<'a> {
    fn of(tool: &'a ToolSpec, is_strict: bool) -> Self {
        let strict = if is_strict { strict_schema::strict(&tool.parameters) } else { None };
        Self {
            r#type: "function",
            name: &tool.name,
            description: &tool.description,
            strict: strict.is_some(),
            parameters: strict.map_or(Cow::Borrowed(&tool.parameters), Cow::Owned),
        }
    }
}

impl<'a> Choice<'a> {
    fn of(choice: ToolChoice<'a>) -> Option<Self> {
        match choice {
            ToolChoice::Auto => None,
            ToolChoice::None => Some(Self::Word("none")),
            ToolChoice::Required => Some(Self::Word("required")),
            ToolChoice::Named(name) => Some(Self::Function { r#type: "function", name }),
        }
    }
}

impl<'a> Text<'a> {
    fn of(schema: &'a Value) -> Self {
        let strict = strict_schema::is_strict(schema);
        Self { format: AnswerFormat { r#type: "json_schema", name: "answer", schema, strict } }
    }
}

#[cfg(test)]
mod tests;
