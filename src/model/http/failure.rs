//! What went wrong between askls and a model server, told so that a person knows what to do.

mod list;

use std::{borrow::Cow, error::Error, io, time::SystemTime};

use reqwest::header::{HeaderMap, LOCATION};
use secrecy::ExposeSecret;
use serde_json::Value;

use super::{Endpoint, Url, retry_after::retry_after, shown};
use crate::model::{ErrorKind, ModelError, Retry, sse::Fault};

pub(super) use list::{of_list_status, of_no_list, of_slow_list};

/// Characters that are shown of a server's own words: enough for every message that helps, too few for a page.
const MAX_WORDS: usize = 600;

/// A key shorter than this is a placeholder such as `x` or `none`, and would make holes in every message.
const SHORTEST_KEY: usize = 6;

/// An error as a server words it, whichever of the known forms it came in.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::model) struct ServerError {
    message: String,
    /// `code` and `type`, as far as they are there: an open set of words, or a status in digits.
    words: Vec<String>,
}

/// What a refusal means for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Auth,
    Quota,
    ContextTooLong,
    RateLimited,
    Overloaded,
    Failed,
    NotFound,
    Rejected,
}

impl ServerError {
    /// Finds the error in a JSON object: `{"error": {"message", "type", "code"}}`, `{"error": "…"}`, `{"detail": "…"}`, or
    /// flat. `None` when there is none.
    pub(in crate::model) fn find(json: &Value) -> Option<Self> {
        // Some gateways answer with a list of one.
        let json = json.get(0).unwrap_or(json);
        let error = ["error", "detail"].iter().filter_map(|key| json.get(key)).find(|error| !error.is_null());
        let error = match error {
            Some(Value::String(message)) => {
                return Some(Self { message: message.clone(), words: Vec::new() });
            }
            Some(error) => error,
            None if json.get("message").is_some_and(Value::is_string) => json,
            None => return None,
        };
        let words = ["code", "type", "status"].iter().filter_map(|key| match error.get(key) {
            Some(Value::String(word)) => Some(word.clone()),
            Some(Value::Number(number)) => Some(number.to_string()),
            _ => None,
        });
        let message = match error.get("message") {
            Some(Value::String(message)) => message.clone(),
            _ => error.to_string(),
        };
        Some(Self { words: words.filter(|word| word != "error").collect(), message })
    }

    fn meaning(&self, status: Option<u16>) -> Meaning {
        let says = |words: &[&str]| self.words.iter().any(|word| words.contains(&word.as_str()));
        if says(&["context_length_exceeded", "exceed_context_size_error"])
            || status.is_none_or(|status| matches!(status, 400 | 413 | 422 | 500))
                && tells_of_length(&self.message)
        {
            return Meaning::ContextTooLong;
        }
        if says(&[
            "insufficient_quota",
            "billing_hard_limit_reached",
            "billing_error",
            "insufficient_balance",
        ]) {
            return Meaning::Quota;
        }
        let status = status.or_else(|| self.words.iter().find_map(|word| word.parse().ok()));
        match status {
            Some(401 | 403) => Meaning::Auth,
            Some(402) => Meaning::Quota,
            Some(404) => Meaning::NotFound,
            Some(429) => Meaning::RateLimited,
            Some(503 | 529) => Meaning::Overloaded,
            Some(408 | 409 | 425 | 500..) => Meaning::Failed,
            Some(_) => Meaning::Rejected,
            None if says(&["invalid_api_key", "authentication_error", "permission_error"]) => Meaning::Auth,
            None if says(&RATE_WORDS) => Meaning::RateLimited,
            None if says(&OVERLOAD_WORDS) => Meaning::Overloaded,
            None if says(&FAILURE_WORDS) || self.words.is_empty() => Meaning::Failed,
            None => Meaning::Rejected,
        }
    }

    /// The error that came in a stream, after the server had accepted the request.
    pub(in crate::model) fn in_stream(self, endpoint: &Endpoint) -> ModelError {
        let meaning = self.meaning(None);
        tell(endpoint, &endpoint.server(), meaning, None, None, &self.message)
    }
}

/// What servers call too many requests.
const RATE_WORDS: [&str; 4] = ["rate_limit_exceeded", "rate_limit_error", "throttling_error", "slow_down"];

/// What servers call a lack of room that passes.
const OVERLOAD_WORDS: [&str; 3] = ["overloaded_error", "unavailable_error", "server_is_overloaded"];

/// What servers call other faults of their own that pass.
const FAILURE_WORDS: [&str; 6] = [
    "server_error",
    "internal_server_error",
    "internal_error",
    "api_error",
    "timeout_error",
    "vector_store_timeout",
];

/// The words in which servers without a code of their own say that a thread is too long (litellm, vLLM, Ollama, older
/// llama.cpp, OpenAI).
fn tells_of_length(message: &str) -> bool {
    let message = message.to_lowercase();
    [
        "context length",
        "context size",
        "context window",
        "contextwindowexceeded",
        "context_length_exceeded",
        "exceed_context_size",
        "prompt is too long",
        "prompt too long",
        "maximum input length",
    ]
    .iter()
    .any(|words| message.contains(words))
}

/// A refusal with a status.
pub(super) fn of_status(
    endpoint: &Endpoint,
    address: &str,
    status: u16,
    headers: &HeaderMap,
    body: &str,
) -> ModelError {
    if (300..400).contains(&status) {
        return of_redirect(endpoint, address, headers);
    }
    let error = find_in_body(body);
    let meaning = error.meaning(Some(status));
    let told = tell(endpoint, address, meaning, Some(status), error_words(&error), &error.message);
    let wait = retry_after(headers, SystemTime::now()).map_or(Retry::Later, Retry::After);
    // The server knows best whether the same request may succeed.
    let retry = match headers.get("x-should-retry").map(reqwest::header::HeaderValue::as_bytes) {
        Some(b"false") => Retry::Never,
        Some(b"true") => wait,
        _ if told.kind.is_transient() => wait,
        _ => Retry::Never,
    };
    ModelError { retry, ..told }
}

/// Shown when there is no message: the code is better than nothing.
fn error_words(error: &ServerError) -> Option<&str> {
    error.message.is_empty().then(|| error.words.first().map(String::as_str)).flatten()
}

fn find_in_body(body: &str) -> ServerError {
    // litellm sends errors of streams as an event, with a status.
    let body = body.trim_start();
    let json = body.strip_prefix("data:").map_or(body, |event| event.lines().next().unwrap_or_default());
    match serde_json::from_str::<Value>(json) {
        Ok(json) => ServerError::find(&json)
            .unwrap_or_else(|| ServerError { message: json.to_string(), ..ServerError::default() }),
        Err(_) => ServerError { message: plain(body).into_owned(), ..ServerError::default() },
    }
}

/// The title of an HTML page, which is all of an error page that helps; other text as it is.
pub(in crate::model) fn plain(body: &str) -> Cow<'_, str> {
    if !body.trim_start().starts_with('<') {
        return body.into();
    }
    let lower = body.to_ascii_lowercase();
    let title = lower.find("<title").and_then(|start| {
        let from = start + lower.get(start..)?.find('>')? + 1;
        let to = from + lower.get(from..)?.find("</title")?;
        body.get(from..to)
    });
    match title.map(str::trim).filter(|title| !title.is_empty()) {
        Some(title) => format!("a web page titled {title:?}").into(),
        None => "a web page".into(),
    }
}

fn of_redirect(endpoint: &Endpoint, address: &str, headers: &HeaderMap) -> ModelError {
    let setting = endpoint.setting;
    let target = headers.get(LOCATION).and_then(|value| value.to_str().ok());
    let target = target.and_then(|target| Url::parse(address).ok()?.join(target).ok());
    let message = match target {
        Some(target) => format!(
            "{address} redirects to {}, which is not followed so that no key goes astray: set {setting} to the server's own address",
            shown(&target)
        ),
        None => format!("{address} redirects elsewhere: set {setting} to the server's own address"),
    };
    ModelError::new(ErrorKind::Settings, message)
}

/// A web page in place of a reply.
pub(super) fn of_page(endpoint: &Endpoint, address: &str, body: &str) -> ModelError {
    let page = match plain(body) {
        Cow::Owned(page) => clean(endpoint, &page),
        Cow::Borrowed(_) => "a web page".to_owned(),
    };
    ModelError::new(
        ErrorKind::Rejected,
        format!("{address} answered with {page}, so it is no model server: {}", is_address_right(endpoint).0),
    )
}

/// What to ask oneself when an address leads to no model server.
struct AddressQuestion(String, &'static str);

fn is_address_right(endpoint: &Endpoint) -> AddressQuestion {
    let setting = endpoint.setting;
    match endpoint.base_url.path() {
        // Nearly every server has its API there, and nearly everyone forgets it once.
        "" | "/" => AddressQuestion(format!("did you mean {setting} {}/v1?", endpoint.server()), " If not, "),
        _ => AddressQuestion(format!("is {setting} right?"), " If so, "),
    }
}

impl AddressQuestion {
    /// The question, and the beginning of what to do when the address is right.
    fn or_else(&self) -> String {
        format!("{}{}", self.0, self.1)
    }
}

fn tell(
    endpoint: &Endpoint,
    address: &str,
    meaning: Meaning,
    status: Option<u16>,
    instead: Option<&str>,
    words: &str,
) -> ModelError {
    let server = endpoint.server();
    let model = &endpoint.model;
    let forbidden = status == Some(403);
    let status = status.map(|status| format!(" ({status})")).unwrap_or_default();
    let words = clean(endpoint, instead.unwrap_or(words));
    let said = if words.is_empty() { String::new() } else { format!(": {words}") };
    match meaning {
        Meaning::Auth => {
            let message = match (&endpoint.key, &endpoint.key_source) {
                // The key may be a good one that is not for this model, or not from this country.
                (Some(_), Some(source)) if forbidden && model.is_empty() => {
                    format!("{server} does not allow this{status}{said}; check the key from {source}")
                }
                _ if forbidden && !model.is_empty() => format!(
                    "{server} does not allow this{status}{said}; check the key and the model {model:?}"
                ),
                (Some(_), Some(source)) => format!("{server} refused the key{status}{said}; check {source}"),
                (Some(_), None) => {
                    format!(
                        "{server} refused the key{status}{said}; check api_key_env, api_key_command or ASKLS_API_KEY"
                    )
                }
                (None, _) => format!("{server} wants a key{status}{said}; {}", set_key(endpoint)),
            };
            ModelError::new(ErrorKind::Auth, message)
        }
        Meaning::Quota => ModelError::new(
            ErrorKind::Quota,
            format!(
                "the quota at {server} is used up{status}{said}; waiting does not help: check the account, or choose another model"
            ),
        ),
        Meaning::ContextTooLong => ModelError::new(
            ErrorKind::ContextTooLong,
            format!("the thread does not fit the window of {model}{status}{said}"),
        ),
        Meaning::RateLimited => ModelError::new(
            ErrorKind::RateLimited,
            format!("{server} has had too many requests{status}{said}"),
        ),
        Meaning::Overloaded => {
            ModelError::new(ErrorKind::Overloaded, format!("{server} has no room now{status}{said}"))
        }
        Meaning::Failed => {
            ModelError::new(ErrorKind::Failed, format!("{server} cannot answer now{status}{said}"))
        }
        Meaning::NotFound => ModelError::new(
            ErrorKind::Rejected,
            not_found(endpoint, address, &words, &format!("{status}{said}")),
        ),
        Meaning::Rejected => {
            ModelError::new(ErrorKind::Rejected, format!("{address} refused the request{status}{said}"))
        }
    }
}

/// A model or an address that is not there: servers answer 404 to both. `words` are the server's, and `told` is them
/// with the status.
fn not_found(endpoint: &Endpoint, address: &str, words: &str, told: &str) -> String {
    let Endpoint { model, setting, .. } = endpoint;
    let server = endpoint.server();
    let is_about_the_model = !model.is_empty() && words.contains(model.as_str());
    match (is_about_the_model, endpoint.model_is_listed) {
        (true, true) => {
            format!("{server} lists the model {model:?} and does not serve it{told}; set another model")
        }
        (true, false) => {
            format!("{server} does not know the model {model:?}{told}; check the setting model")
        }
        (false, _) if matches!(endpoint.base_url.path(), "" | "/") => {
            format!("{address} is not there{told}; {}", is_address_right(endpoint).0)
        }
        (false, true) => format!("{address} is not there{told}; check {setting} and wire"),
        (false, false) => format!(
            "{address} does not know the model {model:?} or is not the right address{told}; check model, {setting} and wire"
        ),
    }
}

/// How the key of a server is set.
fn set_key(endpoint: &Endpoint) -> &'static str {
    match endpoint.setting {
        super::BASE_URL => {
            "set the environment variable ASKLS_API_KEY, or the setting api_key_env or api_key_command"
        }
        _ => "set the environment variable OPENAI_API_KEY",
    }
}

/// A server's words, fit to be shown: on one line, bounded, without the key.
pub(in crate::model) fn clean(endpoint: &Endpoint, words: &str) -> String {
    let mut words =
        words.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let mut line = words.next().unwrap_or_default().to_owned();
    for word in words {
        line.push(' ');
        line.push_str(word);
    }
    if let Some(key) = endpoint.key.as_ref().map(|key| key.expose_secret().trim())
        && key.len() >= SHORTEST_KEY
    {
        line = line.replace(key, "[key]");
    }
    match line.char_indices().nth(MAX_WORDS) {
        Some((end, _)) => {
            line.truncate(end);
            line.push('…');
        }
        None => line.truncate(line.trim_end_matches(['.', ' ']).len()),
    }
    line
}

/// The request did not get through.
pub(super) fn of_sending(endpoint: &Endpoint, error: &reqwest::Error) -> ModelError {
    let server = endpoint.server();
    let message = if error.is_connect() && error.is_timeout() {
        let seconds = endpoint.connect_timeout.as_secs_f64();
        format!(
            "{server} did not accept a connection for {seconds} s (setting connect_timeout): is it reachable?"
        )
    } else if is_refused(error) {
        format!(
            "nothing answers at {server}: is the server running there, and is {} right?",
            endpoint.setting
        )
    } else if error.is_connect() {
        let why = clean(endpoint, &describe(error));
        let hint = match why.contains("UnknownIssuer") {
            true => {
                "; this machine does not know who signed it: are its certificates installed (ca-certificates), and those of a proxy in between?"
            }
            false => "",
        };
        format!("no connection to {server}: {why}{hint}")
    } else {
        format!("{server} broke the connection before it answered: {}", clean(endpoint, &describe(error)))
    };
    ModelError::new(ErrorKind::Network, message)
}

/// The request got through, and nothing came back.
pub(super) fn of_waiting(endpoint: &Endpoint) -> ModelError {
    let (server, seconds) = (endpoint.server(), endpoint.idle_timeout.as_secs_f64());
    ModelError::new(
        ErrorKind::Network,
        format!("{server} did not begin to answer for {seconds} s (setting idle_timeout)"),
    )
}

impl Fault {
    pub(in crate::model) fn into_model_error(self, endpoint: &Endpoint) -> ModelError {
        let server = endpoint.server();
        match self {
            Self::Silent => {
                let seconds = endpoint.idle_timeout.as_secs_f64();
                let message = format!(
                    "{server} fell silent for {seconds} s in the middle of its reply (setting idle_timeout)"
                );
                ModelError::new(ErrorKind::Stalled, message)
            }
            Self::Broken(why) => ModelError::new(
                ErrorKind::Interrupted,
                format!(
                    "the connection to {server} broke in the middle of the reply: {}",
                    clean(endpoint, &why)
                ),
            ),
            Self::TooLarge => ModelError::new(
                ErrorKind::Malformed,
                format!(
                    "{server} sent more in one piece than any reply has: it is no model server, or broken"
                ),
            ),
            Self::NotUtf8 => {
                ModelError::new(ErrorKind::Malformed, format!("{server} sent text that is no UTF-8"))
            }
        }
    }
}

fn is_refused(error: &reqwest::Error) -> bool {
    causes(error).any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    })
}

/// The innermost cause: the outer ones only say that there is one, and may hold the URL with its query.
pub(super) fn describe(error: &reqwest::Error) -> String {
    causes(error).last().map_or_else(|| "no reason given".to_owned(), ToString::to_string)
}

fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    let mut next = error.source();
    std::iter::from_fn(move || {
        let cause = next?;
        next = cause.source();
        Some(cause)
    })
}

#[cfg(test)]
mod tests;
