//! The way to a model server: where it is, with what key, how long to wait, and what its refusals mean.

mod failure;
mod head;
mod models;
mod retry_after;

use std::{
    collections::BTreeMap,
    fmt,
    net::IpAddr,
    sync::{Arc, Mutex, Once, PoisonError},
    time::Duration,
};

use futures::{StreamExt, TryStreamExt, stream};
use reqwest::{
    Client, RequestBuilder, Response, Url,
    header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue},
    redirect,
};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::timeout;
use tokio_util::bytes::Bytes;

use super::{
    ErrorKind, ModelError, Options,
    sse::{self, EventStream},
};

use crate::protocol::Wire;
use head::{BEARER_HEADER, Head};

pub(super) use failure::{ServerError, clean};
pub use models::{Probed, models, probe};

/// How long a server may take to accept a connection, unless the settings say otherwise.
pub const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// How long a server may be silent, unless the settings say otherwise. A slow reply is no silence: every byte counts.
pub const DEFAULT_IDLE_TIMEOUT: Duration = Duration::from_secs(120);

/// Bytes that are read of a refusal: its message is near the beginning, and a gateway's error page may be long.
const MAX_REFUSAL_BYTES: usize = 64 * 1024;

/// Bytes of a reply that comes as one whole body: the longest replies of today's models are below 1 MB.
const MAX_WHOLE_BYTES: usize = 8 * 1024 * 1024;

/// The setting that a base URL comes from, unless it was another's.
const BASE_URL: &str = "base_url";

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
    /// Sent in the header of the wire; local servers need none.
    pub key: Option<SecretString>,
    /// Where the key comes from, for people: `the environment variable OPENAI_API_KEY`. Named when a server refuses it.
    pub key_source: Option<String>,
    pub connect_timeout: Duration,
    /// The longest silence, before the first byte and between two; comments of the stream are no silence.
    pub idle_timeout: Duration,
    /// The model's whole window where the server told it; `None` means that the catalog is asked.
    pub context_window: Option<u64>,
    pub options: Options,
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
            base_url: parse_base_url(setting, base_url)?,
            setting,
            model: model.into(),
            model_is_listed: false,
            key: None,
            key_source: None,
            connect_timeout: DEFAULT_CONNECT_TIMEOUT,
            idle_timeout: DEFAULT_IDLE_TIMEOUT,
            context_window: None,
            options: Options::default(),
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

    /// Whether this is OpenAI's own server, which takes parameters that compatible servers refuse.
    pub(super) fn is_openai(&self) -> bool {
        self.base_url.host_str() == Some("api.openai.com")
    }

    /// The URL of a path below the base URL, with the base URL's query.
    fn url(&self, path: &str) -> Url {
        let mut url = self.base_url.clone();
        url.set_path(&format!("{}/{path}", self.base_url.path().trim_end_matches('/')));
        url
    }

    /// The path below the base URL of what a wire calls `name`. Servers of the Messages wire are named without the
    /// version of their API; where it is named all the same, it is not repeated.
    pub(super) fn path(&self, wire: Wire, name: &str) -> String {
        let last = self.base_url.path().trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let is_version = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
        let is_versioned = last.strip_prefix('v').is_some_and(is_version);
        match wire {
            Wire::Messages if !is_versioned => format!("v1/{name}"),
            Wire::Messages | Wire::Chat | Wire::Responses => name.to_owned(),
        }
    }

    /// The key as the value of the header that carries it.
    fn key_value(&self, header: &str) -> Result<Option<HeaderValue>, ModelError> {
        let Some(key) = &self.key else { return Ok(None) };
        let scheme = if header.eq_ignore_ascii_case(BEARER_HEADER) { "Bearer " } else { "" };
        let mut value =
            HeaderValue::from_str(&format!("{scheme}{}", key.expose_secret().trim())).map_err(|_| {
                let source = self.key_source.as_deref().unwrap_or("the settings");
                let message =
                    format!("the key from {source} holds characters that no key has, such as a line break");
                ModelError::new(ErrorKind::Settings, message)
            })?;
        value.set_sensitive(true);
        Ok(Some(value))
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

fn parse_base_url(setting: &str, text: &str) -> Result<Url, ModelError> {
    let refuse = |why: &str| {
        // What stands in front of an `@` may be a password.
        let shown = text.rsplit('@').next().unwrap_or_default().trim();
        ModelError::new(
            ErrorKind::Settings,
            format!("{setting} {shown:?} {why}; it looks like https://api.openai.com/v1"),
        )
    };
    let text = text.trim();
    if text.is_empty() {
        return Err(refuse("is empty"));
    }
    let mut url = Url::parse(text).map_err(|_| refuse("is no URL: it begins with http:// or https://"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return Err(refuse("does not begin with http:// or https:// and a host"));
    }
    url.set_fragment(None);
    let path = url.path().trim_end_matches('/');
    let path = ["/chat/completions", "/responses", "/messages"]
        .iter()
        .find_map(|tail| path.strip_suffix(tail))
        .unwrap_or(path);
    let path = path.trim_end_matches('/').to_owned();
    url.set_path(&path);
    Ok(url)
}

fn shown(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{host}{port}{}", url.scheme(), url.path().trim_end_matches('/'))
}

/// How a server is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    /// A server on this machine: no proxy could reach it, and one elsewhere must not see what goes to it.
    Direct,
    /// Through the proxies that the environment or the system names, if any.
    Proxies,
}

impl Way {
    fn to(url: &Url) -> Self {
        let host = url.host_str().unwrap_or_default();
        let is_here = match host.trim_matches(['[', ']']).parse::<IpAddr>() {
            // Nobody is at the unspecified address but this machine.
            Ok(address) => address.to_canonical().is_loopback() || address.is_unspecified(),
            Err(_) => host == "localhost" || host.ends_with(".localhost"),
        };
        if is_here { Self::Direct } else { Self::Proxies }
    }
}

/// The client for a connect time-out. Connections are pooled for the whole process: there is one client for each
/// time-out that the settings ever named and each [`Way`], and so normally one. The first one reads the machine's certificates and the
/// proxies of the environment, which takes some milliseconds; nothing is read or sent before the first request.
fn client(connect_timeout: Duration, way: Way) -> Result<Client, ModelError> {
    static CLIENTS: Mutex<BTreeMap<(Duration, Way), Client>> = Mutex::new(BTreeMap::new());
    static PROVIDER: Once = Once::new();
    // An error means that the process has a provider already, which serves as well.
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));

    let mut clients = CLIENTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(client) = clients.get(&(connect_timeout, way)) {
        return Ok(client.clone());
    }
    let builder = || {
        let builder = match way {
            // Nothing is kept for the next request: to connect costs nothing here, and llama.cpp ends a connection
            // after each streamed reply without a word, so that a request which follows at once would be lost.
            Way::Direct => Client::builder().no_proxy().pool_max_idle_per_host(0),
            Way::Proxies => Client::builder(),
        };
        builder
            .user_agent(concat!("askls/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(connect_timeout)
            // A redirected POST would lose its body or carry the key to another host: the user is told instead.
            .redirect(redirect::Policy::none())
    };
    let client = builder()
        .build()
        .or_else(|error| {
            // A machine without certificates can still speak to local servers, and to no other.
            tracing::warn!(%error, "no certificates found on this machine: only http:// servers can be reached");
            builder().tls_certs_only([]).build()
        })
        .map_err(|error| ModelError::new(ErrorKind::Settings, format!("no HTTP client can be made: {error}")))?;
    clients.insert((connect_timeout, way), client.clone());
    Ok(client)
}

/// What a server made of a request that it accepted.
pub(super) enum Answer {
    Stream(EventStream),
    /// Not a stream, although one was asked for: one whole body.
    Whole(String),
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
    let head = Head::of(wire);
    let url = endpoint.url(path);
    let address = shown(&url);
    let mut request = client(endpoint.connect_timeout, Way::to(&url))?
        .post(url)
        .header(ACCEPT, "text/event-stream")
        .header(CONTENT_TYPE, "application/json")
        .body(body);
    for (name, value) in head.headers {
        request = request.header(*name, *value);
    }
    let request = with_key(request, endpoint, head.key_header)?;
    let response = match timeout(endpoint.idle_timeout, request.send()).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => return Err(failure::of_sending(endpoint, &error)),
        Err(_) => return Err(failure::of_waiting(endpoint)),
    };
    if !response.status().is_success() {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        // What arrived of a refusal says more than why the rest did not.
        let (Ok(body) | Err((body, _))) = read(response, MAX_REFUSAL_BYTES, endpoint.idle_timeout).await;
        return Err(failure::of_status(
            endpoint,
            &address,
            status,
            &headers,
            &String::from_utf8_lossy(&body),
        ));
    }
    match kind(response.headers()) {
        Kind::Events => Ok(Answer::Stream(sse::events(chunks(response), endpoint.idle_timeout))),
        Kind::Json => match read(response, MAX_WHOLE_BYTES, endpoint.idle_timeout).await {
            Ok(body) => Ok(Answer::Whole(String::from_utf8_lossy(&body).into_owned())),
            Err((_, error)) => Err(error.into_model_error(endpoint)),
        },
        Kind::Page => {
            let (Ok(body) | Err((body, _))) = read(response, MAX_REFUSAL_BYTES, endpoint.idle_timeout).await;
            Err(failure::of_page(endpoint, &address, &String::from_utf8_lossy(&body)))
        }
        Kind::Unknown => unknown(response, endpoint, &address).await,
    }
}

fn with_key(
    request: RequestBuilder,
    endpoint: &Endpoint,
    header: &str,
) -> Result<RequestBuilder, ModelError> {
    Ok(match endpoint.key_value(header)? {
        Some(value) => request.header(header, value),
        None => request,
    })
}

/// What a body is by its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Events,
    Json,
    /// A web page: whatever answered is no model server.
    Page,
    /// Servers that name no type, or plain text, stream all the same.
    Unknown,
}

fn kind(headers: &HeaderMap) -> Kind {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    [("event-stream", Kind::Events), ("json", Kind::Json), ("html", Kind::Page)]
        .into_iter()
        .find_map(|(word, of)| kind.contains(word).then_some(of))
        .unwrap_or(Kind::Unknown)
}

/// Takes a body that does not say what it is for events, unless it begins as no stream does and every page.
async fn unknown(response: Response, endpoint: &Endpoint, address: &str) -> Result<Answer, ModelError> {
    let mut rest = Box::pin(chunks(response));
    let first = match timeout(endpoint.idle_timeout, rest.next()).await {
        Ok(first) => first,
        Err(_) => return Err(sse::Fault::Silent.into_model_error(endpoint)),
    };
    if let Some(Ok(bytes)) = &first
        && bytes.trim_ascii_start().starts_with(b"<")
    {
        return Err(failure::of_page(endpoint, address, &String::from_utf8_lossy(bytes)));
    }
    Ok(Answer::Stream(sse::events(stream::iter(first).chain(rest), endpoint.idle_timeout)))
}

fn chunks(response: Response) -> impl stream::Stream<Item = Result<Bytes, String>> + Send + 'static {
    response.bytes_stream().map_err(|error| failure::describe(&error))
}

/// Reads a body to its end.
///
/// # Errors
/// What was read so far, and why there is no more.
async fn read(response: Response, most: usize, idle: Duration) -> Result<Vec<u8>, (Vec<u8>, sse::Fault)> {
    let mut body = Vec::new();
    let mut chunks = response.bytes_stream();
    loop {
        match timeout(idle, chunks.next()).await {
            Ok(None) => return Ok(body),
            Ok(Some(Ok(chunk))) if body.len() + chunk.len() > most => {
                return Err((body, sse::Fault::TooLarge));
            }
            Ok(Some(Ok(chunk))) => body.extend_from_slice(&chunk),
            Ok(Some(Err(error))) => return Err((body, sse::Fault::Broken(failure::describe(&error)))),
            Err(_) => return Err((body, sse::Fault::Silent)),
        }
    }
}

#[cfg(test)]
mod tests;
