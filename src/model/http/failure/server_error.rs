//! An error as servers word it, and what it means for the caller: by its codes, by its words, by its status.

use std::time::Duration;

use serde_json::Value;

use crate::model::{http::retry_after, said_end::SaidEnd};

/// An error as a server words it, whichever of the known forms it came in.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::model) struct ServerError {
    pub(super) message: String,
    /// `code`, `type` and `status`, as far as they are there: an open set of words, or a status in digits.
    pub(super) words: Vec<String>,
    /// The wait that the error itself asks for.
    pub(super) wait: Option<Duration>,
}

/// What a refusal means for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Auth,
    Quota,
    ContextTooLong,
    History,
    RateLimited,
    Overloaded,
    Failed,
    NotFound,
    /// Of what is not there it is said that it is a model.
    NoModel,
    Rejected,
}

/// Codes of a thread that is too long.
const LENGTH_WORDS: [&str; 4] = [
    "context_length_exceeded",
    "exceed_context_size_error",
    "model_context_window_exceeded",
    // Of its bytes, not of its tokens: what helps is the same.
    "request_too_large",
];

/// Codes of an account that has nothing left.
const QUOTA_WORDS: [&str; 5] = [
    "insufficient_quota",
    "billing_hard_limit_reached",
    "billing_not_active",
    "billing_error",
    "insufficient_balance",
];

/// Codes of a key that is refused.
const AUTH_WORDS: [&str; 4] =
    ["invalid_api_key", "authentication_error", "permission_error", "unauthenticated"];

/// What servers call too many requests.
const RATE_WORDS: [&str; 4] =
    ["rate_limit_exceeded", "rate_limit_error", "throttling_error", "too_many_requests"];

/// What servers call a lack of room that passes.
const OVERLOAD_WORDS: [&str; 5] =
    ["slow_down", "overloaded_error", "unavailable_error", "server_is_overloaded", "engine_overloaded_error"];

/// What servers call other faults of their own that pass.
const FAILURE_WORDS: [&str; 8] = [
    "failed",
    "upstream_error",
    "server_error",
    "internal_server_error",
    "internal_error",
    "api_error",
    "timeout_error",
    "vector_store_timeout",
];

/// Phrases that say by themselves that a thread is too long (litellm, OpenAI, llama.cpp, Anthropic, vLLM).
const TOO_LONG: [&str; 7] = [
    "contextwindowexceeded",
    "context_length_exceeded",
    "exceed_context_size",
    "prompt is too long",
    "prompt too long",
    "maximum input length",
    "input is too long",
];

/// What a thread can be too long for …
const WINDOWS: [&str; 4] = ["context length", "context size", "context window", "context limit"];

/// … and the words that say that it is. Both have to be there: a server also fails over its window for other reasons.
const EXCESSES: [&str; 8] =
    ["exceed", "too long", "too large", "longer than", "larger than", "maximum", "does not fit", "overflow"];

/// Phrases that say that money or quota is used up.
const USED_UP: [&str; 7] = [
    "insufficient_quota",
    "exceeded your current quota",
    "credit balance is too low",
    "insufficient balance",
    "insufficient credits",
    "billing hard limit",
    "check your plan and billing",
];

/// Phrases about a key, for servers that refuse one with 400.
const BAD_KEY: [&str; 3] = ["api key not valid", "invalid api key", "incorrect api key"];

/// Phrases that say that the history is broken, not what was asked: calls without outputs and the reverse, reasoning
/// without what it led to, roles in an order that the server does not take, seals that it cannot open.
const BROKEN_HISTORY: [&str; 28] = [
    // OpenAI Responses.
    "no tool output found for function call",
    "no tool call found for function call output",
    "without its required following item",
    "without its required preceding item",
    "items are not persisted when",
    "duplicate item found with id",
    "duplicate function call output",
    "the encrypted content",
    // Chat Completions, and what litellm and vLLM pass on of it.
    "must be followed by tool messages",
    "did not have response messages",
    "must be a response to a preceding message with 'tool_calls'",
    "must be a response to a preceeding message with 'tool_calls'",
    "tool_call_id",
    // Templates of local models (llama.cpp, vLLM).
    "roles must alternate",
    "no previous assistant message with a tool call",
    "message has tool role, but",
    // Anthropic Messages.
    "`tool_use` ids were found without",
    "`tool_use` ids must be unique",
    "must have a single result",
    "unexpected `tool_use_id` found in `tool_result`",
    "must have a corresponding `tool_use` block",
    "text content blocks must be non-empty",
    "must have non-empty content",
    "`signature` in `thinking` block",
    "signature in thinking block",
    "blocks in the latest assistant message cannot be modified",
    // Mistral and Gemini.
    "not the same number of function calls and responses",
    "function call turn",
];

/// Codes of a model that is not there.
const NO_MODEL_WORDS: [&str; 3] = ["model_not_found", "model_not_exist", "model_not_available"];

/// Phrases that say that something is not there.
const MISSING: [&str; 4] = ["does not exist", "not found", "no such model", "unknown model"];

/// What else may not be there, although a message speaks of models.
const PLACES: [&str; 4] = ["url", "path", "route", "endpoint"];

/// Members in which servers say what is wrong, the usual one first.
const MESSAGES: [&str; 6] = ["message", "msg", "error_msg", "status_msg", "title", "detail"];

/// Members that hold the code, or the status, of an error.
const CODES: [&str; 5] = ["code", "type", "status", "error_code", "status_code"];

/// Phrases that say that there were too many requests (Baidu, MiniMax, Alibaba), where no status does.
const TOO_MANY: [&str; 3] = ["rate limit", "request limit", "too many requests"];

/// Words that say that all went well; signs alone do not say anything else.
const SUCCESSES: [&str; 9] =
    ["", "ok", "success", "successful", "succeeded", "done", "complete", "completed", "finished"];

impl ServerError {
    /// The failure of a reply that its server ended with this word.
    pub(in crate::model) fn of_end(word: &str) -> Self {
        Self { message: format!("it ended the reply with \"{word}\""), ..Self::default() }
    }

    /// Whether the member `error` of an event says anything. Some servers have an empty one in every event.
    pub(in crate::model) fn is_said(error: &str) -> bool {
        !matches!(error.trim(), "" | "null" | "false" | "{}" | "\"\"" | "[]")
    }

    /// Whether a code, a status or a message says that all went well.
    pub(in crate::model) fn is_success(said: &Value) -> bool {
        let is_good = |status: u64| matches!(status, 0 | 200..300);
        match said {
            Value::Bool(is_good) => *is_good,
            Value::Number(status) => status.as_u64().is_some_and(is_good),
            // One that is empty says neither.
            Value::String(words) if words.trim().is_empty() => false,
            Value::String(words) => {
                let words = words.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
                SUCCESSES.contains(&words.as_str()) || words.parse().is_ok_and(is_good)
            }
            _ => false,
        }
    }

    /// The error of a member that is in every event of its server (MiniMax), where it says of one.
    pub(in crate::model) fn in_base(json: &Value) -> Option<&Value> {
        let base = json.get("base_resp")?;
        let is_bad = |code: &&Value| Self::is_said(&code.to_string()) && !Self::is_success(code);
        base.get("status_code").filter(is_bad).map(|_| base)
    }

    /// Finds the error in a JSON object: `{"error": {"message", "type", "code"}}`, `{"error": "…"}`, `{"detail": "…"}`,
    /// `{"errors": [ … ]}`, or flat. `None` when there is none.
    pub(in crate::model) fn find(json: &Value) -> Option<Self> {
        // Some gateways answer with a list of one.
        let json = json.get(0).unwrap_or(json);
        let first = json.get("errors").and_then(|errors| errors.get(0));
        // Some have an empty one in every event; in one that is called an error it counts all the same.
        let is_called_error = json.get("type").is_some_and(|kind| kind == "error");
        let said = |member: &str| json.get(member).filter(|value| Self::is_said(&value.to_string()));
        let named = json.get("error").filter(|_| is_called_error).or_else(|| said("error"));
        let short = said("err");
        let detail = said("detail").filter(|detail| !detail.is_object() || Self::find(detail).is_some());
        let members = [Self::in_base(json), named, short, detail, first];
        let error = members.into_iter().flatten().find(|error| !error.is_null());
        let wait = error.and_then(retry_after::in_error).or_else(|| retry_after::in_error(json));
        let error = match error {
            Some(Value::String(message)) => {
                return Some(Self { message: message.clone(), words: Vec::new(), wait });
            }
            Some(error) => error,
            None if is_flat(json) => json,
            None => return None,
        };
        let words = CODES.iter().filter_map(|key| match error.get(key) {
            Some(Value::String(word)) => Some(word.to_ascii_lowercase()),
            Some(Value::Number(number)) => Some(number.to_string()),
            _ => None,
        });
        let message = MESSAGES.iter().find_map(|key| error.get(key)?.as_str());
        let message = message.map_or_else(|| error.to_string(), str::to_owned);
        Some(Self { words: words.filter(|word| word != "error").collect(), message, wait })
    }

    /// `status` is that of the answer; an error in a stream has none.
    pub(super) fn meaning(&self, status: Option<u16>) -> Meaning {
        let is = |words: &[&str]| self.words.iter().any(|word| words.contains(&word.as_str()));
        let message = self.message.to_lowercase();
        let says = |phrases: &[&str]| phrases.iter().any(|phrase| message.contains(phrase));
        let status_is = |statuses: &[u16]| status.is_none_or(|status| statuses.contains(&status));
        if is(&LENGTH_WORDS)
            || status_is(&[400, 413, 422, 500]) && (says(&TOO_LONG) || says(&WINDOWS) && says(&EXCESSES))
        {
            return Meaning::ContextTooLong;
        }
        // A quota that the server says to come back for is a rate by another name (Gemini).
        if is(&QUOTA_WORDS) || status_is(&[400, 402, 403, 429]) && says(&USED_UP) && self.wait.is_none() {
            return Meaning::Quota;
        }
        if status_is(&[400, 404, 422, 500]) && says(&BROKEN_HISTORY) {
            return Meaning::History;
        }
        if status == Some(400) && (is(&AUTH_WORDS) || says(&BAD_KEY)) {
            return Meaning::Auth;
        }
        let own = || self.words.iter().filter_map(|word| word.parse().ok()).find(is_bad_status);
        let status = status.or_else(own);
        // Numbers of the server's own say nothing.
        let is_number = |word: &String| word.parse::<i64>().is_ok();
        match status {
            None if says(&TOO_MANY) => Meaning::RateLimited,
            Some(401 | 403) => Meaning::Auth,
            Some(402) => Meaning::Quota,
            Some(400 | 404) if is(&NO_MODEL_WORDS) => Meaning::NoModel,
            Some(404) if says(&["model"]) && says(&MISSING) && !says(&PLACES) => Meaning::NoModel,
            Some(404) => Meaning::NotFound,
            Some(429) => Meaning::RateLimited,
            Some(503 | 529) => Meaning::Overloaded,
            Some(500..) if is(&OVERLOAD_WORDS) => Meaning::Overloaded,
            Some(408 | 409 | 425 | 500..) => Meaning::Failed,
            Some(_) => Meaning::Rejected,
            None if is(&AUTH_WORDS) => Meaning::Auth,
            None if is(&RATE_WORDS) => Meaning::RateLimited,
            None if is(&OVERLOAD_WORDS) => Meaning::Overloaded,
            None if is(&FAILURE_WORDS) || self.words.iter().all(is_number) => Meaning::Failed,
            None => Meaning::Rejected,
        }
    }

    /// Shown when there is no message: the code is better than nothing.
    pub(super) fn code_alone(&self) -> Option<&str> {
        self.message.is_empty().then(|| self.words.first().map(String::as_str)).flatten()
    }
}

/// Whether an object is an error itself: it says what is wrong, or that something is, or has the status of an error. Some
/// servers say in the same members that all went well.
fn is_flat(json: &Value) -> bool {
    let text = |member: &str| json.get(member).and_then(Value::as_str);
    let holds = |member: &str, is: &dyn Fn(&Value) -> bool| json.get(member).is_some_and(is);
    let says = |value: &Value| ServerError::is_said(&value.to_string()) && !ServerError::is_success(value);
    let is_bad = holds("success", &|success| success == &Value::Bool(false))
        || text("object").is_some_and(|object| object == "error" || object.ends_with(".error"))
        || text("type").is_some_and(|kind| kind.ends_with("_error"))
        || text("status").is_some_and(|word| SaidEnd::of(word) == SaidEnd::Failed)
        || ["code", "status", "status_code"].iter().any(|member| holds(member, &is_status_of_error))
        || ["error_code", "error_msg"].iter().any(|member| holds(member, &says));
    let is_good =
        || ["code", "status", "success", "ok"].iter().any(|member| holds(member, &ServerError::is_success));
    is_bad
        || ["message", "msg"].iter().any(|member| holds(member, &|said| said.is_string() && says(said)))
            && !is_good()
}

fn is_status_of_error(status: &Value) -> bool {
    let number = status.as_u64().or_else(|| status.as_str()?.parse().ok());
    number.and_then(|number| number.try_into().ok()).is_some_and(|number| is_bad_status(&number))
}

/// Whether a number is a status of HTTP that says that something failed.
fn is_bad_status(status: &u16) -> bool {
    (400..600).contains(status)
}
