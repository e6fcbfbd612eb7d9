//! A request of the Chat Completions wire. Its bytes end with the history, so that they begin with those of the
//! request before.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};

use super::reasoning;

use crate::{
    model::{
        ErrorKind, ModelError, Request, ToolChoice, ToolSpec, arguments,
        call_ids::SentIds,
        call_names,
        client::{Wish, Wishes},
        http::Endpoint,
        options::{Effort, NullContent},
        strict_schema,
    },
    protocol::{Item, ToolCall, ToolOutput, UserMessage, Wire},
};

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    /// llama.cpp only: it tells how far it has read a long thread. It notices only while it writes that nobody reads any
    /// more, and would read on to the end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    return_progress: bool,
    /// OpenAI only: others refuse members that they do not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    /// The bound's name at OpenAI, where the older one is refused by models that reason …
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    /// … and everywhere else, where the newer one is often not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<AnswerFormat<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
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
    parameters: Cow<'a, Value>,
    /// Left out where it would be false, since not every server knows it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    strict: bool,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Choice<'a> {
    Word(&'static str),
    Function { r#type: &'static str, function: FunctionName<'a> },
}

#[derive(Serialize)]
struct FunctionName<'a> {
    name: &'a str,
}

#[derive(Serialize)]
struct AnswerFormat<'a> {
    r#type: &'static str,
    json_schema: AnswerSchema<'a>,
}

#[derive(Serialize)]
struct AnswerSchema<'a> {
    name: &'static str,
    schema: &'a Value,
    strict: bool,
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
    /// Reasoning that led to the calls, as the server sent it.
    #[serde(flatten)]
    reasoning: Map<String, Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Value>,
}

/// # Errors
/// [`ErrorKind::Settings`] when the schema of a tool is no JSON; it cannot come from what a model said.
pub(super) fn body(endpoint: &Endpoint, request: Request<'_>, wishes: Wishes) -> Result<String, ModelError> {
    let options = &endpoint.options;
    let is_strict = options.strict_tools && wishes.holds(Wish::StrictTools);
    let tools: Vec<_> = request.tools.iter().map(|tool| Tool::of(tool, is_strict)).collect();
    let openai = endpoint.is_openai();
    let has_new_bound = openai == wishes.holds(Wish::UsualTokenBound);
    let ids = SentIds::of(request.items, Wire::Chat);
    let body = Body {
        model: &endpoint.model,
        stream: true,
        stream_options: wishes.holds(Wish::TokenCount).then_some(StreamOptions { include_usage: true }),
        return_progress: wishes.holds(Wish::ReadingProgress) && endpoint.may_be_llama_cpp(),
        prompt_cache_key: (openai && wishes.holds(Wish::CacheKey)).then_some(request.cache_key),
        max_completion_tokens: options.max_output_tokens.filter(|_| has_new_bound),
        max_tokens: options.max_output_tokens.filter(|_| !has_new_bound),
        temperature: options.temperature,
        reasoning_effort: options.reasoning_effort.map(Effort::as_str),
        response_format: request.answer_schema.map(AnswerFormat::of),
        tool_choice: Choice::of(request.tool_choice).filter(|_| !tools.is_empty()),
        parallel_tool_calls: options.parallel_tool_calls.filter(|_| !tools.is_empty()),
        tools,
        messages: messages(endpoint, request, wishes, &ids),
    };
    serde_json::to_string(&body).map_err(|error| {
        ModelError::new(ErrorKind::Settings, format!("the request cannot be written: {error}"))
    })
}

fn messages<'a>(
    endpoint: &Endpoint,
    request: Request<'a>,
    wishes: Wishes,
    ids: &'a SentIds,
) -> Vec<Message<'a>> {
    let is_echoed = endpoint.options.echo_reasoning && wishes.holds(Wish::EchoedReasoning);
    let mut messages = Vec::with_capacity(request.items.len() + 1);
    if !request.instructions.is_empty() {
        messages.push(Message::System { content: request.instructions });
    }
    // What the model said in one step is one message of this wire.
    let mut step = Assistant::default();
    for item in request.items {
        match item {
            Item::Agent(message) => step.say(&message.text),
            Item::Reasoning(reasoning) if is_echoed => {
                reasoning::join(&mut step.reasoning, reasoning::echoed(reasoning));
            }
            Item::Reasoning(_) | Item::Opaque(_) => {}
            Item::Call(call) => step.tool_calls.push(call_json(call, ids.get(&call.id))),
            Item::User(message) => {
                step.finish(&mut messages);
                messages.push(Message::User { content: user_text(message) });
            }
            Item::Output(ToolOutput { call_id, text, .. }) => {
                step.finish(&mut messages);
                messages.push(Message::Tool { tool_call_id: ids.get(call_id), content: text });
            }
        }
    }
    step.finish(&mut messages);
    for message in &mut messages {
        if let Message::Assistant(Assistant { content: content @ None, .. }) = message
            && endpoint.options.null_content == NullContent::EmptyString
        {
            *content = Some("".into());
        }
    }
    if endpoint.options.strict_alternation { alternating(messages) } else { messages }
}

/// The messages, with those of one role in a row made one.
fn alternating(messages: Vec<Message<'_>>) -> Vec<Message<'_>> {
    let mut merged: Vec<Message<'_>> = Vec::with_capacity(messages.len());
    for message in messages {
        match (merged.last_mut(), message) {
            (Some(Message::User { content: before }), Message::User { content }) => {
                *before = format!("{before}\n\n{content}").into();
            }
            (_, message) => merged.push(message),
        }
    }
    merged
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

    /// Adds the message, if there is one: servers refuse messages that say and call nothing.
    fn finish(&mut self, messages: &mut Vec<Message<'a>>) {
        let mut step = std::mem::take(self);
        if step.tool_calls.is_empty() {
            // Reasoning goes back with the calls that it led to, and with nothing else.
            step.reasoning.clear();
        }
        if step.content.is_some() || !step.tool_calls.is_empty() {
            messages.push(Message::Assistant(step));
        }
    }
}

/// The call with all members that the server gave it, and with arguments that are an object: llama.cpp and vLLM read
/// the calls of the history, and refuse the whole thread for one that they cannot read.
fn call_json(call: &ToolCall, id: &str) -> Value {
    let own = call.raw.as_ref().filter(|raw| raw.wire == Wire::Chat);
    let mut json: Map<String, Value> =
        own.and_then(|raw| serde_json::from_str(&raw.json).ok()).unwrap_or_default();
    json.insert("id".to_owned(), id.into());
    json.insert("type".to_owned(), "function".into());
    let function = json.entry("function").or_insert_with(|| Value::Object(Map::new()));
    if !function.is_object() {
        *function = Value::Object(Map::new());
    }
    if let Value::Object(function) = function {
        function.insert("name".to_owned(), call_names::sendable(&call.name).into());
        function.insert("arguments".to_owned(), arguments::for_history(&call.arguments).into());
    }
    Value::Object(json)
}

impl<'a> Tool<'a> {
    fn of(tool: &'a ToolSpec, is_strict: bool) -> Self {
        let strict = if is_strict { strict_schema::strict(&tool.parameters) } else { None };
        let function = Function {
            name: &tool.name,
            description: &tool.description,
            strict: strict.is_some(),
            parameters: strict.map_or(Cow::Borrowed(&tool.parameters), Cow::Owned),
        };
        Self { r#type: "function", function }
    }
}

impl<'a> Choice<'a> {
    fn of(choice: ToolChoice<'a>) -> Option<Self> {
        match choice {
            ToolChoice::Auto => None,
            ToolChoice::None => Some(Self::Word("none")),
            ToolChoice::Required => Some(Self::Word("required")),
            ToolChoice::Named(name) => {
                Some(Self::Function { r#type: "function", function: FunctionName { name } })
            }
        }
    }
}

impl<'a> AnswerFormat<'a> {
    fn of(schema: &'a Value) -> Self {
        let strict = strict_schema::is_strict(schema);
        Self { r#type: "json_schema", json_schema: AnswerSchema { name: "answer", schema, strict } }
    }
}

#[cfg(test)]
mod tests;
