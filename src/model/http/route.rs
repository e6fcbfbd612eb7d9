//! The way that requests take: under which header the key goes, what goes with it, through which proxy, and whose
//! certificates are believed. One HTTP client for each way that the settings ever named.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    net::IpAddr,
    sync::{Arc, Mutex, Once, PoisonError},
    time::Duration,
};

use reqwest::{
    Certificate, Client, NoProxy, Proxy, Url,
    header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue},
    redirect,
};
use secrecy::{ExposeSecret, SecretString};

use super::{Endpoint, address::shown, head::Head};
use crate::{
    model::{ErrorKind, ModelError},
    protocol::Wire,
};

/// Ways that are kept ready. A process has one or two; more come only of settings that are tried out.
const MOST_CLIENTS: usize = 16;

/// Hosts that a line remembers; one process speaks to one or two.
const MOST_HOSTS: usize = 1000;

/// Values of a query that are no secret, by their names in small letters.
const PUBLIC_QUERY: [&str; 2] = ["api-version", "version"];

/// How requests to a server travel, besides its address. `Debug` shows names only.
#[derive(Clone, Default)]
pub struct Route {
    /// The header that carries the key; `None` leaves it to the wire. Any other than `authorization` carries the key alone,
    /// without `Bearer`.
    pub key_header: Option<String>,
    /// Sent with every request, over what askls sends itself.
    pub headers: Vec<(String, SecretString)>,
    /// Added to the query of every address, over what the base URL has of the same name.
    pub query: Vec<(String, SecretString)>,
    pub proxy: ProxyChoice,
    /// Believed besides those of the machine.
    pub certificates: Option<Certificates>,
}

/// Which proxy requests go through. A server on this machine is always reached without one.
#[derive(Clone, Default)]
pub enum ProxyChoice {
    /// Those that the environment or the system names, if any.
    #[default]
    System,
    /// None, whatever the environment says.
    None,
    /// This one, but for the hosts in `NO_PROXY`; the URL may hold a password.
    Url(SecretString),
}

/// The certificates of authorities, as a file holds them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Certificates {
    /// The file, for people.
    pub source: String,
    /// In PEM.
    pub pem: Arc<[u8]>,
}

impl Route {
    /// Everything of the way that must not be shown, with what stands in its place.
    pub(super) fn secrets(&self) -> Vec<(String, &'static str)> {
        let values = |pairs: &[(String, SecretString)], public: &[&str], shown: &'static str| {
            let hidden =
                pairs.iter().filter(|(name, _)| !public.contains(&name.to_ascii_lowercase().as_str()));
            hidden.map(|(_, value)| (value.expose_secret().trim().to_owned(), shown)).collect::<Vec<_>>()
        };
        let mut secrets = values(&self.headers, &[], "[header]");
        // `Bearer …`: the word in front is no part of the secret, and servers leave it out.
        let bare: Vec<_> = secrets
            .iter()
            .filter_map(|(value, shown)| Some((value.rsplit_once(char::is_whitespace)?.1.to_owned(), *shown)))
            .collect();
        secrets.extend(bare);
        secrets.extend(values(&self.query, &PUBLIC_QUERY, "[query]"));
        if let ProxyChoice::Url(proxy) = &self.proxy
            && let Ok(url) = Url::parse(proxy.expose_secret())
        {
            secrets.extend(url.password().map(|password| (password.to_owned(), "[password]")));
        }
        secrets
    }

    /// The URL with what goes into its query.
    pub(super) fn with_query(&self, mut url: Url) -> Url {
        if self.query.is_empty() {
            return url;
        }
        let is_set = |name: &str| self.query.iter().any(|(own, _)| own == name);
        let kept: Vec<(String, String)> =
            url.query_pairs().filter(|(name, _)| !is_set(name)).map(|(a, b)| (a.into(), b.into())).collect();
        let mut pairs = url.query_pairs_mut();
        pairs.clear().extend_pairs(kept);
        pairs.extend_pairs(self.query.iter().map(|(name, value)| (name, value.expose_secret())));
        drop(pairs);
        url
    }

    /// The proxy as it may be shown, when the settings name one for `url`.
    pub(super) fn proxy_for(&self, url: &Url) -> Option<String> {
        match &self.proxy {
            ProxyChoice::Url(proxy) if !is_here(url) => {
                Some(Url::parse(proxy.expose_secret()).map(|url| shown(&url)).unwrap_or_default())
            }
            _ => None,
        }
    }
}

/// What of a base URL's own query and credentials must not be shown.
pub(super) fn secrets_of(base_url: &Url) -> Vec<(String, &'static str)> {
    let hidden = base_url
        .query_pairs()
        .filter(|(name, _)| !PUBLIC_QUERY.contains(&name.to_ascii_lowercase().as_str()))
        .map(|(_, value)| (value.into_owned(), "[query]"));
    hidden.chain(base_url.password().map(|password| (password.to_owned(), "[password]"))).collect()
}

/// The headers of a request: what the wire wants, the key, and what else is set.
///
/// # Errors
/// [`ErrorKind::Settings`] for what no header can carry; never with the value.
pub(super) fn headers(endpoint: &Endpoint, wire: Wire) -> Result<HeaderMap, ModelError> {
    let head = Head::of(wire);
    let mut headers: HeaderMap = head
        .headers
        .iter()
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
        .collect();
    if let Some(key) = &endpoint.key {
        let name = match &endpoint.route.key_header {
            Some(name) => header_name("auth_header", name)?,
            None => HeaderName::from_static(head.key_header),
        };
        let key = key.expose_secret().trim();
        let value = if name == AUTHORIZATION { format!("Bearer {key}") } else { key.to_owned() };
        let value = secret_value(&value).ok_or_else(|| {
            let source = endpoint.key_source.as_deref().unwrap_or("the settings");
            settings_error(format!(
                "the key from {source} holds characters that no key has, such as a line break"
            ))
        })?;
        headers.insert(name, value);
    }
    for (name, value) in &endpoint.route.headers {
        let value = secret_value(value.expose_secret().trim()).ok_or_else(|| {
            settings_error(format!("headers: the value of {name} holds characters that no header has"))
        })?;
        headers.insert(header_name("headers", name)?, value);
    }
    Ok(headers)
}

fn header_name(setting: &str, name: &str) -> Result<HeaderName, ModelError> {
    HeaderName::from_bytes(name.trim().as_bytes())
        .map_err(|_| settings_error(format!("{setting}: {name:?} is not the name of a header")))
}

fn secret_value(value: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn settings_error(message: String) -> ModelError {
    ModelError::new(ErrorKind::Settings, message)
}

/// Whether a URL leads to this machine: no proxy could reach that server, and one elsewhere must not see what goes
/// to it.
pub(super) fn is_here(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    match host.trim_matches(['[', ']']).parse::<IpAddr>() {
        // Nobody is at the unspecified address but this machine.
        Ok(address) => address.to_canonical().is_loopback() || address.is_unspecified(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// All that makes two clients differ.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ClientKey {
    connect_timeout: Duration,
    way: Way,
    certificates: Option<Certificates>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Direct,
    System,
    Through(String),
}

/// A client with its pool of connections. Clones share both.
#[derive(Clone)]
pub(super) struct Line {
    pub(super) client: Client,
    /// Hosts, with their ports, that answered a request: the next one may travel on a connection that was kept.
    answered: Arc<Mutex<BTreeSet<String>>>,
}

impl Line {
    pub(super) fn has_answered(&self, url: &Url) -> bool {
        self.answered.lock().unwrap_or_else(PoisonError::into_inner).contains(url.authority())
    }

    pub(super) fn note_answer(&self, url: &Url) {
        let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        if answered.len() >= MOST_HOSTS {
            answered.clear();
        }
        answered.insert(url.authority().to_owned());
    }
}

/// What every client of this process needs before it is built.
pub(crate) fn prepare_tls() {
    static PROVIDER: Once = Once::new();
    // An error means that the process has a provider already, which serves as well.
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
}

/// The client for the way to `url`. Connections are pooled for the whole process. The first client reads the machine's
/// certificates (`SSL_CERT_FILE` included) and the proxies of the environment, which takes some milliseconds; nothing
/// is read or sent before the first request.
///
/// # Errors
/// [`ErrorKind::Settings`] for a proxy or certificates that cannot be used.
pub(super) fn line(endpoint: &Endpoint, url: &Url) -> Result<Line, ModelError> {
    static LINES: Mutex<BTreeMap<ClientKey, Line>> = Mutex::new(BTreeMap::new());

    prepare_tls();
    let key = ClientKey {
        connect_timeout: endpoint.connect_timeout,
        way: match &endpoint.route.proxy {
            _ if is_here(url) => Way::Direct,
            ProxyChoice::None => Way::Direct,
            ProxyChoice::System => Way::System,
            ProxyChoice::Url(proxy) => Way::Through(proxy.expose_secret().to_owned()),
        },
        certificates: endpoint.route.certificates.clone(),
    };
    let mut lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(line) = lines.get(&key) {
        return Ok(line.clone());
    }
    let line = Line { client: build(&key)?, answered: Arc::default() };
    if lines.len() >= MOST_CLIENTS {
        lines.clear();
    }
    lines.insert(key, line.clone());
    Ok(line)
}

fn build(key: &ClientKey) -> Result<Client, ModelError> {
    let proxy = match &key.way {
        // The parser's error may hold the URL, and with it a password.
        Way::Through(url) => Some(
            Proxy::all(url.as_str())
                .map_err(|_| {
                    settings_error("proxy is not the address of a proxy, such as http://host:3128".to_owned())
                })?
                .no_proxy(NoProxy::from_env()),
        ),
        Way::Direct | Way::System => None,
    };
    let certificates = key.certificates.as_ref().map(Certificates::read).transpose()?;
    let builder = || {
        let builder = Client::builder()
            .user_agent(concat!("askls/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(key.connect_timeout)
            // A redirected POST would lose its body or carry the key to another host: the user is told instead.
            .redirect(redirect::Policy::none());
        let builder = match (&key.way, proxy.clone()) {
            (_, Some(proxy)) => builder.proxy(proxy),
            (Way::Direct, None) => builder.no_proxy(),
            (_, None) => builder,
        };
        match certificates.clone() {
            Some(certificates) => builder.tls_certs_merge(certificates),
            None => builder,
        }
    };
    builder()
        .build()
        .or_else(|error| {
            // A machine without certificates can still speak to local servers, and to no other.
            tracing::warn!(%error, "no certificates found on this machine: only http:// servers can be reached");
            builder().tls_certs_only([]).build()
        })
        .map_err(|error| settings_error(format!("no HTTP client can be made: {error}")))
}

impl Certificates {
    /// # Errors
    /// [`ErrorKind::Settings`] when there are none.
    pub(crate) fn read(&self) -> Result<Vec<Certificate>, ModelError> {
        let source = &self.source;
        match Certificate::from_pem_bundle(&self.pem) {
            Ok(read) if !read.is_empty() => Ok(read),
            _ => Err(settings_error(format!(
                "ca_file {source} holds no certificate in PEM (-----BEGIN CERTIFICATE-----)"
            ))),
        }
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |pairs: &[(String, SecretString)]| -> Vec<String> {
            pairs.iter().map(|(name, _)| name.clone()).collect()
        };
        f.debug_struct("Route")
            .field("key_header", &self.key_header)
            .field("headers", &names(&self.headers))
            .field("query", &names(&self.query))
            .field("proxy", &self.proxy)
            .field("certificates", &self.certificates)
            .finish()
    }
}

impl fmt::Debug for ProxyChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System => f.write_str("System"),
            Self::None => f.write_str("None"),
            Self::Url(url) => {
                let url = Url::parse(url.expose_secret()).map(|url| shown(&url)).unwrap_or_default();
                write!(f, "Url({url})")
            }
        }
    }
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} bytes)", self.source, self.pem.len())
    }
}
