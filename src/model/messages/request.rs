//! A request of the Messages wire. Its bytes end with the history, so that they begin with those of the request before.

mod messages;

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use crate::{
    model::{
        ErrorKind, ModelError, Request, ToolChoice, ToolSpec,
        call_ids::SentIds,
        catalog,
        client::{Wish, Wishes},
        http::Endpoint,
        options::Effort,
        strict_schema,
    },
    protocol::Wire,
};
use messages::Message;

/// Tokens of one reply where none are set, since this wire must say a number: what every Claude since the fourth
/// writes at most, and more than one step needs.
const DEFAULT_MAX_TOKENS: u64 = 32_000;

/// The same for models that refuse so many: the oldest that are still served write this much.
const OLD_MAX_TOKENS: u64 = 4096;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    max_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Tagged>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'a>>,
    /// Marks the end of the history, wherever that is: a mark in the history itself would move from request to request,
    /// and with it the bytes that the prompt caches of other servers compare.
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Tagged>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<[System<'a>; 1]>,
    /// Last: see the module's own words.
    messages: Vec<Message<'a>>,
}

/// An object of which only its type is needed.
#[derive(Clone, Copy, Serialize)]
struct Tagged {
    r#type: &'static str,
}

/// Kept by the server's prompt cache for as long as it does so by itself (5 minutes, anew with each use).
const EPHEMERAL: Tagged = Tagged { r#type: "ephemeral" };

#[derive(Serialize)]
struct OutputConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<OutputFormat<'a>>,
}

#[derive(Serialize)]
struct OutputFormat<'a> {
    r#type: &'static str,
    schema: &'a Value,
}

#[derive(Serialize)]
struct System<'a> {
    r#type: &'static str,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Tagged>,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: Cow<'a, Value>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    strict: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Tagged>,
}

#[derive(Serialize)]
struct Choice<'a> {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disable_parallel_tool_use: Option<bool>,
}

/// # Errors
/// [`ErrorKind::Settings`] when the schema of a tool is no JSON; it cannot come from what a model said.
pub(super) fn body(endpoint: &Endpoint, request: Request<'_>, wishes: Wishes) -> Result<String, ModelError> {
    let options = &endpoint.options;
    let mark = wishes.holds(Wish::CacheMarks).then_some(EPHEMERAL);
    let ids = SentIds::of(request.items, Wire::Messages);
    let is_strict = options.strict_tools && wishes.holds(Wish::StrictTools);
    let mut tools: Vec<_> = request.tools.iter().map(|tool| Tool::of(tool, is_strict)).collect();
    // Servers read the tools first, then the instructions, then the history: a mark at the instructions' end is one for
    // all that is the same in every thread.
    let instructions = request.instructions.trim();
    let system = (!instructions.is_empty()).then_some([System {
        r#type: "text",
        text: request.instructions,
        cache_control: mark,
    }]);
    if let (None, Some(last)) = (&system, tools.last_mut()) {
        last.cache_control = mark;
    }
    let body = Body {
        model: &endpoint.model,
        stream: true,
        max_tokens: max_tokens(endpoint, wishes),
        temperature: options.temperature,
        thinking: thinking(endpoint, request.tool_choice, wishes),
        output_config: output_config(options.reasoning_effort, request.answer_schema),
        cache_control: mark,
        tool_choice: match request.tools {
            [] => None,
            _ => choice(request.tool_choice, options.parallel_tool_calls),
        },
        tools,
        system,
        messages: messages::of(request.items, &ids),
    };
    serde_json::to_string(&body).map_err(|error| {
        ModelError::new(ErrorKind::Settings, format!("the request cannot be written: {error}"))
    })
}

/// What is set, else the default, and of a window that is known no more than half: the rest is the thread's. The same
/// for all requests of a thread.
fn max_tokens(endpoint: &Endpoint, wishes: Wishes) -> u64 {
    let default = if wishes.holds(Wish::LongReply) { DEFAULT_MAX_TOKENS } else { OLD_MAX_TOKENS };
    let window = endpoint.context_window.or_else(|| catalog::context_window(&endpoint.model));
    let room = window.map_or(u64::MAX, |window| (window / 2).max(1));
    endpoint.options.max_output_tokens.unwrap_or(default.min(room))
}

/// An effort is one of thinking, which this wire leaves out unless it is asked for. A call that must be made leaves no
/// room for it.
fn thinking(endpoint: &Endpoint, tool_choice: ToolChoice<'_>, wishes: Wishes) -> Option<Tagged> {
    let is_forced = matches!(tool_choice, ToolChoice::Required | ToolChoice::Named(_));
    match endpoint.options.reasoning_effort? {
        Effort::None => Some(Tagged { r#type: "disabled" }),
        _ if is_forced || !wishes.holds(Wish::Thinking) => None,
        _ => Some(Tagged { r#type: "adaptive" }),
    }
}

fn output_config(effort: Option<Effort>, schema: Option<&Value>) -> Option<OutputConfig<'_>> {
    let effort = match effort {
        None | Some(Effort::None) => None,
        // The least that this wire has.
        Some(Effort::Minimal) => Some(Effort::Low.as_str()),
        Some(effort) => Some(effort.as_str()),
    };
    let format = schema.map(|schema| OutputFormat { r#type: "json_schema", schema });
    (effort.is_some() || format.is_some()).then_some(OutputConfig { effort, format })
}

fn choice(choice: ToolChoice<'_>, parallel: Option<bool>) -> Option<Choice<'_>> {
    let disable_parallel_tool_use = parallel.map(|parallel| !parallel);
    let (r#type, name) = match choice {
        ToolChoice::Auto if parallel.is_none() => return None,
        ToolChoice::Auto => ("auto", None),
        ToolChoice::None => {
            return Some(Choice { r#type: "none", name: None, disable_parallel_tool_use: None });
        }
        ToolChoice::Required => ("any", None),
        ToolChoice::Named(name) => ("tool", Some(name)),
    };
    Some(Choice { r#type, name, disable_parallel_tool_use })
}

impl<'a> Tool<'a> {
    /// A schema that has no strict form goes as it is.
    fn of(tool: &'a ToolSpec, is_strict: bool) -> Self {
        let strict = if is_strict { strict_schema::strict(&tool.parameters) } else { None };
        Self {
            name: &tool.name,
            description: &tool.description,
            strict: strict.is_some(),
            input_schema: strict.map_or(Cow::Borrowed(&tool.parameters), Cow::Owned),
            cache_control: None,
        }
    }
}

#[cfg(test)]
mod tests;
