//! What went wrong between askls and a model server, told so that a person knows what to do.

mod list;
mod sending;
mod server_error;

use std::{borrow::Cow, collections::BTreeSet, time::SystemTime};

use reqwest::header::{HeaderMap, HeaderValue, LOCATION};
use secrecy::ExposeSecret;
use serde_json::Value;

use super::{
    Endpoint, Url,
    body::without_mark,
    retry_after, shown,
    spellings::{spellings, unescaped},
};
use crate::model::{ErrorKind, ModelError, Retry};

pub(super) use list::{of_list_status, of_no_list, of_slow_list};
pub(super) use sending::{describe, of_sending, of_waiting};
pub(in crate::model) use server_error::ServerError;

use server_error::Meaning;

/// Characters that are shown of a server's own words: enough for every message that helps, too few for a page.
const MAX_WORDS: usize = 600;

/// A key shorter than this is a placeholder such as `x` or `none`, and would make holes in every message.
const SHORTEST_KEY: usize = 6;

/// A key shorter than this is none that a service gave: theirs have 30 bytes and more.
const SHORTEST_GIVEN_KEY: usize = 20;

/// Bytes of a secret that must not stand together in a message: servers repeat keys cut short, without the word in front
/// of them, or in capitals. Shorter pieces, as the last four letters, tell which key was meant and open nothing.
const TELLING_BYTES: usize = 12;

/// Characters of a server's words that are looked at, far more than are shown: a whole event may be one line.
const MAX_LOOKED_AT: usize = 16 * 1024;

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
    let told = tell(endpoint, address, meaning, Some(status), error.code_alone(), &error.message);
    let wait = retry_after::in_headers(headers, SystemTime::now()).or(error.wait);
    let wait = wait.map_or(Retry::Later, Retry::After);
    // The server knows best whether the same request may succeed.
    let retry = match headers.get("x-should-retry").map(HeaderValue::as_bytes) {
        Some(b"false") => Retry::Never,
        Some(b"true") => wait,
        _ if told.kind.is_transient() => wait,
        _ => Retry::Never,
    };
    ModelError { retry, ..told }
}

impl ServerError {
    /// The error that came in a stream, after the server had accepted the request.
    pub(in crate::model) fn in_stream(self, endpoint: &Endpoint) -> ModelError {
        let meaning = self.meaning(None);
        let told = tell(endpoint, &endpoint.server(), meaning, None, self.code_alone(), &self.message);
        match self.wait {
            Some(wait) if told.kind.is_transient() => ModelError { retry: Retry::After(wait), ..told },
            _ => told,
        }
    }
}

fn find_in_body(body: &str) -> ServerError {
    // litellm sends errors of streams as an event, with a status.
    let body = without_mark(body).trim_start();
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
            clean(endpoint, &shown(&target))
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
        format!(
            "{address} answered with {page}, so it is not a model server: {}",
            is_address_right(endpoint).0
        ),
    )
}

/// An answer without a word.
pub(super) fn of_nothing(endpoint: &Endpoint, address: &str, status: u16) -> ModelError {
    ModelError::new(
        ErrorKind::Malformed,
        format!("{address} answered with an empty body ({status}); {}", is_address_right(endpoint).0),
    )
}

/// A picture, a sound or a film in place of a reply.
pub(super) fn of_media(endpoint: &Endpoint, address: &str, kind: &str) -> ModelError {
    let kind = clean(endpoint, kind);
    ModelError::new(
        ErrorKind::Rejected,
        format!(
            "{address} answered with {kind}, so it is not a model server: {}",
            is_address_right(endpoint).0
        ),
    )
}

/// A body in an encoding that askls did not ask for and does not read.
pub(super) fn of_encoding(endpoint: &Endpoint, address: &str, encoding: &HeaderValue) -> ModelError {
    let encoding = clean(endpoint, &String::from_utf8_lossy(encoding.as_bytes()));
    let message = format!(
        "{address} answered in the content encoding {encoding}, which was not asked for and is not read (gzip is): \
         make it, or the proxy in front of it, send replies as they are"
    );
    ModelError { retry: Retry::Never, ..ModelError::new(ErrorKind::Failed, message) }
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
    let is_unfit = matches!(status, Some(400 | 422));
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
        Meaning::History => ModelError::new(
            ErrorKind::History,
            format!("{server} refused the history of this thread{status}{said}"),
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
        Meaning::NotFound | Meaning::NoModel => {
            let is_about_the_model =
                !model.is_empty() && (meaning == Meaning::NoModel || words.contains(model.as_str()));
            let told = format!("{status}{said}");
            ModelError::new(ErrorKind::Rejected, not_found(endpoint, address, is_about_the_model, &told))
        }
        Meaning::Rejected => {
            let kind = if is_unfit { ErrorKind::Unfit } else { ErrorKind::Rejected };
            ModelError::new(kind, format!("{address} refused the request{status}{said}"))
        }
    }
}

/// A model or an address that is not there: servers answer 404 to both. `told` is the status and the server's words.
fn not_found(endpoint: &Endpoint, address: &str, is_about_the_model: bool, told: &str) -> String {
    let Endpoint { model, setting, .. } = endpoint;
    let server = endpoint.server();
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
        super::ANTHROPIC_BASE_URL => "set the environment variable ANTHROPIC_API_KEY",
        _ => "set the environment variable OPENAI_API_KEY",
    }
}

/// What no message may show, however a server came to repeat it, and what stands there instead; the longest first, since
/// one may be part of another.
fn secrets(endpoint: &Endpoint) -> Vec<(String, &'static str)> {
    let key = endpoint.key.as_ref().map(|key| (key.expose_secret().trim().to_owned(), "[key]"));
    let mut secrets: Vec<_> = key
        .into_iter()
        .chain(endpoint.route.secrets())
        .chain(super::route::secrets_of(&endpoint.base_url))
        .filter(|(secret, _)| secret.len() >= SHORTEST_KEY)
        .collect();
    secrets.sort_by_key(|(secret, _)| std::cmp::Reverse(secret.len()));
    secrets
}

/// Whether words hold the key, however it is spelt. Headers and queries, and the words that stand for a key where none
/// is wanted, are often the names of models themselves.
pub(super) fn holds_key(endpoint: &Endpoint, words: &str) -> bool {
    let key = endpoint.key.as_ref().map(|key| key.expose_secret().trim());
    let Some(key) = key.filter(|key| key.len() >= SHORTEST_GIVEN_KEY) else { return false };
    let plain = [words.to_ascii_lowercase(), unescaped(words).to_ascii_lowercase()];
    let holds = |spelling: &String| plain.iter().any(|words| words.contains(&spelling.to_ascii_lowercase()));
    spellings(key).iter().any(holds)
}

/// A server's words, fit to be shown: on one line, bounded, without the key and what else is secret.
pub(in crate::model) fn clean(endpoint: &Endpoint, words: &str) -> String {
    let end = words.char_indices().nth(MAX_LOOKED_AT).map_or(words.len(), |(end, _)| end);
    let mut words = words
        .get(..end)
        .unwrap_or_default()
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty());
    let mut line = words.next().unwrap_or_default().to_owned();
    for word in words {
        line.push(' ');
        line.push_str(word);
    }
    for (secret, shown) in secrets(endpoint) {
        line = hide(&line, &spellings(&secret), shown);
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

/// The line with `shown` in place of the spellings of a secret and of telling pieces of their words, in capitals or not.
fn hide(line: &str, spellings: &[String], shown: &str) -> String {
    let is_escaped_secret = |word: &str| {
        let plain = unescaped(word);
        plain != word && spellings.iter().any(|spelling| plain.contains(spelling))
    };
    let line = spellings.iter().fold(line.to_owned(), |line, spelling| line.replace(spelling, shown));
    let words = line.split(' ').map(|word| if is_escaped_secret(word) { shown } else { word });
    let line = words.collect::<Vec<_>>().join(" ");
    let seen = line.to_ascii_lowercase();
    let small: Vec<_> = spellings.iter().map(|spelling| spelling.to_ascii_lowercase()).collect();
    let words = small.iter().flat_map(|spelling| spelling.split_whitespace());
    // Of all spellings at once: in a mixture of two of them nothing is left between their pieces.
    let pieces: BTreeSet<&[u8]> = words.flat_map(|word| word.as_bytes().windows(TELLING_BYTES)).collect();
    let mut hidden = String::with_capacity(line.len());
    let mut hidden_until = 0;
    let mut was_hidden = false;
    for (at, character) in line.char_indices() {
        let ahead = seen.as_bytes().get(at..at + TELLING_BYTES);
        if ahead.is_some_and(|ahead| pieces.contains(ahead)) {
            hidden_until = at + TELLING_BYTES;
        }
        let is_hidden = at < hidden_until;
        if !is_hidden {
            hidden.push(character);
        } else if !was_hidden {
            hidden.push_str(shown);
        }
        was_hidden = is_hidden;
    }
    hidden
}

#[cfg(test)]
mod tests;
