//! A request of the Chat Completions wire. Its bytes end with the history, so that they begin with those of the
//! request before.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    model::{
        ErrorKind, ModelError, Request, ToolChoice, ToolSpec,
        client::{Wish, Wishes},
        http::Endpoint,
    },
    protocol::{Item, Raw, Reasoning, ToolCall, ToolOutput, UserMessage, Wire},
};

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    /// OpenAI only: others refuse members that they do not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    /// The bound's name at OpenAI …
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    /// … and everywhere else.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'a str>,
    /// Last: see the module's own words.
    messages: Vec<Message<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'a str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum Message<'a> {
    System { content: &'a str },
    User { content: Cow<'a, str> },
    Assistant(Assistant<'a>),
    Tool { tool_call_id: &'a str, content: &'a str },
}

#[derive(Default, Serialize)]
struct Assistant<'a> {
    /// Always there, `null` beside calls without words: servers miss it otherwise.
    content: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Value>,
}

/// # Errors
/// [`ErrorKind::Settings`] when the schema of a tool is no JSON; it cannot come from what a model said.
pub(super) fn body(endpoint: &Endpoint, request: Request<'_>, wishes: Wishes) -> Result<String, ModelError> {
    let tools: Vec<_> = request.tools.iter().map(Tool::from).collect();
    let openai = endpoint.is_openai();
    let body = Body {
        model: &endpoint.model,
        stream: true,
        stream_options: wishes.holds(Wish::TokenCount).then_some(StreamOptions { include_usage: true }),
        prompt_cache_key: (openai && wishes.holds(Wish::CacheKey)).then_some(request.cache_key),
        max_completion_tokens: endpoint.options.max_output_tokens.filter(|_| openai),
        max_tokens: endpoint.options.max_output_tokens.filter(|_| !openai),
        tool_choice: match request.tool_choice {
            ToolChoice::None if !tools.is_empty() => Some("none"),
            _ => None,
        },
        tools,
        messages: messages(endpoint, request),
    };
    serde_json::to_string(&body).map_err(|error| {
        ModelError::new(ErrorKind::Settings, format!("the request cannot be written: {error}"))
    })
}

fn messages<'a>(endpoint: &Endpoint, request: Request<'a>) -> Vec<Message<'a>> {
    let mut messages = Vec::with_capacity(request.items.len() + 1);
    if !request.instructions.is_empty() {
        messages.push(Message::System { content: request.instructions });
    }
    // What the model said in one step is one message of this wire.
    let mut step = Assistant::default();
    for item in request.items {
        match item {
            Item::Agent(message) => step.say(&message.text),
            Item::Reasoning(reasoning) if endpoint.options.echo_reasoning => step.think(reasoning),
            Item::Reasoning(_) | Item::Opaque(_) => {}
            Item::Call(call) => step.tool_calls.push(call_json(call)),
            Item::User(message) => {
                step.finish(&mut messages);
                messages.push(Message::User { content: user_text(message) });
            }
            Item::Output(ToolOutput { call_id, text, .. }) => {
                step.finish(&mut messages);
                messages.push(Message::Tool { tool_call_id: call_id, content: text });
            }
        }
    }
    step.finish(&mut messages);
    messages
}

fn user_text(message: &UserMessage) -> Cow<'_, str> {
    match &message.context {
        Some(context) => format!("{}\n\n{context}", message.text).into(),
        None => message.text.as_str().into(),
    }
}

impl<'a> Assistant<'a> {
    fn say(&mut self, text: &'a str) {
        if text.is_empty() {
            return;
        }
        self.content = Some(match self.content.take() {
            Some(before) => format!("{before}\n\n{text}").into(),
            None => text.into(),
        });
    }

    /// Keeps reasoning that this wire sent under the one name under which it is taken back.
    fn think(&mut self, reasoning: &Reasoning) {
        let member = |raw: &Raw| -> Option<String> {
            let json: Value = serde_json::from_str(&raw.json).ok().filter(|_| raw.wire == Wire::Chat)?;
            Some(json.get("reasoning_content")?.as_str()?.to_owned())
        };
        if let Some(text) = reasoning.raw.as_ref().and_then(member) {
            self.reasoning_content.get_or_insert_default().push_str(&text);
        }
    }

    /// Adds the message, if there is one: servers refuse messages that say and call nothing.
    fn finish(&mut self, messages: &mut Vec<Message<'a>>) {
        let mut step = std::mem::take(self);
        if step.tool_calls.is_empty() {
            // Reasoning goes back with the calls that it led to, and with nothing else.
            step.reasoning_content = None;
        }
        if step.content.is_some() || !step.tool_calls.is_empty() {
            messages.push(Message::Assistant(step));
        }
    }
}

/// The call with all members that the server gave it, and with arguments that are an object: llama.cpp and vLLM read
/// the calls of the history, and refuse the whole thread for one that they cannot read.
fn call_json(call: &ToolCall) -> Value {
    let own = call.raw.as_ref().filter(|raw| raw.wire == Wire::Chat);
    let mut json: Map<String, Value> =
        own.and_then(|raw| serde_json::from_str(&raw.json).ok()).unwrap_or_default();
    json.insert("id".to_owned(), call.id.as_str().into());
    json.insert("type".to_owned(), "function".into());
    let function = json.entry("function").or_insert_with(|| Value::Object(Map::new()));
    if !function.is_object() {
        *function = Value::Object(Map::new());
    }
    if let Value::Object(function) = function {
        function.insert("name".to_owned(), call.name.as_str().into());
        function.insert("arguments".to_owned(), readable_arguments(&call.arguments).into());
    }
    Value::Object(json)
}

/// The arguments themselves where they are an object; an object that holds them where they are not.
fn readable_arguments(arguments: &str) -> Cow<'_, str> {
    match serde_json::from_str::<Value>(arguments) {
        Ok(Value::Object(_)) => arguments.into(),
        // Encoded twice.
        Ok(Value::String(inner)) if serde_json::from_str::<Map<String, Value>>(&inner).is_ok() => {
            inner.into()
        }
        _ if matches!(arguments.trim(), "" | "null") => "{}".into(),
        _ => Value::from_iter([("unreadable_arguments", arguments)]).to_string().into(),
    }
}

impl<'a> From<&'a ToolSpec> for Tool<'a> {
    fn from(tool: &'a ToolSpec) -> Self {
        let function =
            Function { name: &tool.name, description: &tool.description, parameters: &tool.parameters };
        Self { r#type: "function", function }
    }
}

#[cfg(test)]
mod tests;
