//! The way to a model server: where it is, with what key, how long to wait, and what its refusals mean.

pub mod address;
mod body;
mod dates;
mod deadline;
mod failure;
mod head;
mod models;
mod retry_after;
mod route;
mod spellings;

use std::{
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use reqwest::{
    RequestBuilder, Response, StatusCode, Url,
    header::{ACCEPT, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue, SERVER},
};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::timeout;

use crate::protocol::Wire;

use super::{ModelError, Options, Price, sse::EventStream};
use address::shown;

pub(super) use deadline::Deadline;
pub(super) use failure::{ServerError, clean};
pub use models::{Probed, models, probe};
pub(crate) use route::prepare_tls;
pub use route::{Certificates, ProxyChoice, Route};

/// How long a server may take to accept a connection, unless the settings say otherwise.
pub const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// How long a server may be silent, unless the settings say otherwise. A slow reply is no silence: every byte counts.
pub const DEFAULT_IDLE_TIMEOUT: Duration = Duration::from_secs(120);

/// How soon a request fails that crossed the end of its connection: the server's machine answers it at once.
const LONGEST_CROSSING: Duration = Duration::from_millis(500);

/// The setting that a base URL comes from, unless it was another's.
const BASE_URL: &str = "base_url";

/// Where a key comes from that a command tells.
pub(super) const API_KEY_COMMAND: &str = "api_key_command";

/// The variable of a base URL that goes with Anthropic's key.
pub(super) const ANTHROPIC_BASE_URL: &str = "ANTHROPIC_BASE_URL";

/// One model on one server, and how to speak to it. `Debug` shows neither the key nor what the URL may carry of one.
#[derive(Clone)]
pub struct Endpoint {
    /// Without a slash at its end and without the path of a wire.
    base_url: Url,
    /// The setting or variable that the base URL comes from: named when nothing good answers there.
    setting: &'static str,
    /// As it is sent to the server: free text.
    pub model: String,
    /// Whether the server itself told the model's name, so that no refusal is about it.
    pub model_is_listed: bool,
    /// Sent in the header of the wire, unless the route names another one; local servers need none.
    pub key: Option<SecretString>,
    /// Where the key comes from, for people: `the environment variable OPENAI_API_KEY`. Named when a server refuses it.
    pub key_source: Option<String>,
    pub connect_timeout: Duration,
    /// The longest silence, before the first byte and between two; comments of the stream are no silence.
    pub idle_timeout: Duration,
    /// The longest time for one whole reply, from the request to its end; `None` is as long as it takes.
    pub reply_timeout: Option<Duration>,
    pub route: Route,
    /// The model's whole window where the server or the user told it; `None` means that the catalog is asked.
    pub context_window: Option<u64>,
    /// What the model's tokens cost here, where that is known; servers on this machine cost nothing.
    pub price: Option<Price>,
    pub options: Options,
    /// Shared by all clones: they speak to the same server.
    seen: Arc<Seen>,
}

impl Endpoint {
    /// Checks the base URL: the part in front of `/responses`, `/chat/completions` or `/messages`, such as
    /// `https://api.openai.com/v1`. Blanks around it, slashes at its end and the path of a wire are forgiven; its query
    /// is kept.
    ///
    /// # Errors
    /// [`ErrorKind::Settings`] when it is no `http` or `https` URL.
    pub fn new(base_url: &str, model: impl Into<String>) -> Result<Self, ModelError> {
        Self::of_setting(BASE_URL, base_url, model)
    }

    /// The same for a base URL that comes from another setting or variable than `base_url`, by its name.
    ///
    /// # Errors
    /// As [`Endpoint::new`].
    pub fn of_setting(
        setting: &'static str,
        base_url: &str,
        model: impl Into<String>,
    ) -> Result<Self, ModelError> {
        Ok(Self {
            base_url: address::parse(setting, base_url)?,
            setting,
            model: model.into(),
            model_is_listed: false,
            key: None,
            key_source: None,
            connect_timeout: DEFAULT_CONNECT_TIMEOUT,
            idle_timeout: DEFAULT_IDLE_TIMEOUT,
            reply_timeout: None,
            route: Route::default(),
            context_window: None,
            price: None,
            options: Options::default(),
            seen: Arc::default(),
        })
    }

    /// Takes a model that the server itself listed.
    pub(super) fn take_listed(&mut self, model: String, probed: &Probed) {
        let is_first = probed.models.first() == Some(&model);
        self.context_window = probed.context_window.filter(|_| is_first);
        self.model = model;
        self.model_is_listed = true;
    }

    /// Scheme, host, port and path of the base URL, without credentials or query: fit to be shown.
    pub fn server(&self) -> String {
        shown(&self.base_url)
    }

    /// A number that tells this server, and whom it knows askls as, from others: too few bits of a hash to find a key by. A
    /// key that a command tells may be another one every hour for the same account.
    pub(super) fn account(&self) -> u32 {
        let mut hasher = DefaultHasher::new();
        self.base_url.as_str().hash(&mut hasher);
        for (name, value) in self.route.headers.iter().chain(&self.route.query) {
            (name, value.expose_secret()).hash(&mut hasher);
        }
        let is_lasting = self.key_source.as_deref() != Some(API_KEY_COMMAND);
        let key = self.key.as_ref().filter(|_| is_lasting);
        key.map(|key| key.expose_secret()).hash(&mut hasher);
        let [high, low] = [32, 0].map(|shift| (hasher.finish() >> shift) & u64::from(u32::MAX));
        u32::try_from(high ^ low).unwrap_or_default()
    }

    /// Whether this is OpenAI's own server, which takes parameters that compatible servers refuse.
    pub(super) fn is_openai(&self) -> bool {
        self.base_url.host_str() == Some("api.openai.com")
    }

    /// Whether this is llama.cpp, as far as is known before it has answered: on this machine any server may be it.
    pub(super) fn may_be_llama_cpp(&self) -> bool {
        self.base_url.host_str().is_some_and(address::is_this_machine) || self.seen.is_llama_cpp()
    }

    /// Whether the server may read marks of chat templates in a text as its own: any but those of the makers that are known
    /// to keep texts and marks apart.
    pub(super) fn may_read_marks(&self) -> bool {
        const KEPT_APART: [&str; 3] = ["api.openai.com", "api.anthropic.com", "openai.azure.com"];
        let host = self.base_url.host_str().unwrap_or_default();
        let is =
            |domain: &str| host == domain || host.strip_suffix(domain).is_some_and(|sub| sub.ends_with('.'));
        !KEPT_APART.into_iter().any(is)
    }

    /// Makes a base URL of the Messages wire, which may leave the version out, one of the Chat wire.
    pub(super) fn speak_chat(&mut self) {
        if !address::is_versioned(&self.base_url) {
            let path = format!("{}/v1", self.base_url.path().trim_end_matches('/'));
            self.base_url.set_path(&path);
        }
    }

    pub(super) fn seen(&self) -> Arc<Seen> {
        Arc::clone(&self.seen)
    }

    /// The path below the base URL of what a wire calls `name`. Servers of the Messages wire are named without the
    /// version of their API; where it is named all the same, it is not repeated.
    pub(super) fn path(&self, wire: Wire, name: &str) -> String {
        match wire {
            Wire::Messages if !address::is_versioned(&self.base_url) => format!("v1/{name}"),
            Wire::Messages | Wire::Chat | Wire::Responses => name.to_owned(),
        }
    }

    /// The URL of a path below the base URL, with the query of the base URL and of the settings.
    fn url(&self, path: &str) -> Url {
        let mut url = self.base_url.clone();
        url.set_path(&format!("{}/{path}", self.base_url.path().trim_end_matches('/')));
        self.route.with_query(url)
    }
}

/// What the answers of a server told about it.
#[derive(Debug, Default)]
pub(super) struct Seen {
    is_llama_cpp: AtomicBool,
}

impl Seen {
    #[cfg(test)]
    pub(super) fn of_llama_cpp() -> Self {
        Self { is_llama_cpp: true.into() }
    }

    fn note(&self, headers: &HeaderMap) {
        let software = headers.get(SERVER).and_then(|value| value.to_str().ok()).unwrap_or_default();
        self.is_llama_cpp.store(software.contains("llama.cpp"), Ordering::Relaxed);
    }

    /// Whether it is llama.cpp, which binds replies to a schema.
    pub(super) fn is_llama_cpp(&self) -> bool {
        self.is_llama_cpp.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("server", &self.server())
            .field("model", &self.model)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

/// What a server made of a request that it accepted.
pub(super) enum Answer {
    Stream(EventStream),
    /// Not a stream, although one was asked for: one whole body.
    Whole(String),
    /// The same, which broke off after so many bytes.
    Cut {
        bytes: usize,
        error: ModelError,
    },
}

/// Sends a request and waits for its headers. Dropping the future, or the stream that it gives, closes the connection.
///
/// # Errors
/// Whatever the server refuses, as the variant that says what to do about it.
pub(super) async fn post(
    endpoint: &Arc<Endpoint>,
    wire: Wire,
    path: &str,
    body: String,
) -> Result<Answer, ModelError> {
    let url = endpoint.url(path);
    let address = shown(&url);
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    // What the user set for this server comes over what askls sends by itself, but the body is what it is.
    headers.extend(route::headers(endpoint, wire)?);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let line = route::line(endpoint, &url)?;
    let request = line.client.post(url.clone()).headers(headers).body(body);
    let response = match timeout(endpoint.idle_timeout, send(request, line.has_answered(&url))).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => return Err(failure::of_sending(endpoint, &error)),
        Err(_) => return Err(failure::of_waiting(endpoint)),
    };
    line.note_answer(&url);
    endpoint.seen.note(response.headers());
    if !response.status().is_success() {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = body::refusal(response, endpoint.idle_timeout).await;
        return Err(failure::of_status(
            endpoint,
            &address,
            status,
            &headers,
            &String::from_utf8_lossy(&body),
        ));
    }
    let is_plain =
        |encoding: &&HeaderValue| encoding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity");
    if let Some(encoding) = response.headers().get(CONTENT_ENCODING).filter(|encoding| !is_plain(encoding)) {
        // gzip is undone by now, asked for or not, and its header is gone.
        return Err(failure::of_encoding(endpoint, &address, encoding));
    }
    let is_empty = response.headers().get(CONTENT_LENGTH).is_some_and(|length| length == "0");
    if is_empty || matches!(response.status(), StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT) {
        return Err(failure::of_nothing(endpoint, &address, response.status().as_u16()));
    }
    body::answer(response, endpoint, &address).await
}

/// Sends a request, and once more when it went out on a kept connection that its server was ending in that moment: some
/// (llama.cpp) end each without a word. Nobody has read such a request.
async fn send(request: RequestBuilder, may_be_kept: bool) -> reqwest::Result<Response> {
    let again = request.try_clone().filter(|_| may_be_kept);
    let start = Instant::now();
    match (request.send().await, again) {
        (Err(error), Some(again))
            if error.is_request()
                && !error.is_connect()
                && !error.is_timeout()
                && start.elapsed() < LONGEST_CROSSING =>
        {
            again.send().await
        }
        (sent, _) => sent,
    }
}

#[cfg(test)]
mod tests;
