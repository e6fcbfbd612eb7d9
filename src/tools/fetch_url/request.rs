//! One fetch: its connections, which go nowhere that they must not, its redirects, and its body within bounds.

use std::{error::Error, fmt, net::SocketAddr, time::Duration};

use reqwest::{
    Client, NoProxy, Proxy, Response, Url,
    dns::{Addrs, Name, Resolve, Resolving},
    header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, LOCATION},
    redirect,
};
use secrecy::{ExposeSecret, SecretString};

use super::{
    Settings,
    address::{Reach, Target, is_public},
    page::{self, media_type},
};
use crate::model::http::{ProxyChoice, prepare_tls};

/// How long a connection may take to come about.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// How long all of a fetch may take, its redirects included.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Redirects that are followed: pages move once or twice, and a circle ends soon.
const MAX_REDIRECTS: usize = 5;

/// Bytes of a body, once it is unpacked: far more than a model reads of a page.
const MAX_BODY_BYTES: usize = 2 << 20;

/// What is asked for: texts before others, which the server may still send.
const ACCEPTED: &str =
    "text/html,application/xhtml+xml,text/plain;q=0.9,application/json;q=0.9,text/*;q=0.8,*/*;q=0.1";

/// What a server sent.
#[derive(Debug)]
pub(super) struct Fetched {
    /// Where it came from in the end.
    pub(super) url: Url,
    pub(super) media: String,
    pub(super) charset: Option<String>,
    pub(super) body: Vec<u8>,
    /// Whether the body was longer than it may be.
    pub(super) is_cut: bool,
}

/// Gets a page. Dropping the future ends its connection.
///
/// # Errors
/// Why there is none, in words for the model.
pub(super) async fn fetch(target: Target, settings: &Settings) -> Result<Fetched, String> {
    fetch_within(target, settings, TIMEOUT).await
}

async fn fetch_within(target: Target, settings: &Settings, timeout: Duration) -> Result<Fetched, String> {
    let host = target.host.clone();
    let fetching = async {
        let (target, response) = follow(target, settings).await?;
        read(target, response).await
    };
    let ended = tokio::time::timeout(timeout, fetching).await;
    ended.unwrap_or_else(|_| Err(format!("{host} did not answer whole within {} s", timeout.as_secs_f64())))
}

/// The first answer that is no redirect.
async fn follow(mut target: Target, settings: &Settings) -> Result<(Target, Response), String> {
    for _ in 0..=MAX_REDIRECTS {
        // A client for each: whom it may connect to depends on the address.
        let client = client(&target, settings)?;
        let sent = client.get(target.url.clone()).header(ACCEPT, ACCEPTED).send().await;
        let response = sent.map_err(|error| describe(&error, &target.host))?;
        if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
            return Ok((target, response));
        }
        let location = response.headers().get(LOCATION).and_then(|location| location.to_str().ok());
        let location =
            location.ok_or_else(|| format!("{} redirects without saying where to", target.host))?;
        target = target.redirected(location, &settings.hosts)?;
    }
    Err(format!("{} redirects more than {MAX_REDIRECTS} times", target.host))
}

async fn read(target: Target, mut response: Response) -> Result<Fetched, String> {
    let Target { url, host, .. } = target;
    let status = response.status();
    if !status.is_success() {
        return Err(format!("{host} answered {status}"));
    }
    let text_of = |name| response.headers().get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
    let (media, charset) = media_type(&text_of(CONTENT_TYPE).unwrap_or_default());
    // One that was asked for is unpacked and no longer named.
    if let Some(packed) = text_of(CONTENT_ENCODING).filter(|packed| !packed.eq_ignore_ascii_case("identity"))
    {
        let packed: String = packed.chars().filter(char::is_ascii_graphic).take(20).collect();
        return Err(format!("{host} packed the page as {packed}, which was not asked for"));
    }
    page::must_be_text(&media, response.content_length())?;
    let mut body = Vec::new();
    let mut is_cut = false;
    while let Some(piece) = response.chunk().await.map_err(|error| describe(&error, &host))? {
        let fits = piece.len().min(MAX_BODY_BYTES - body.len());
        body.extend(piece.iter().take(fits));
        if fits < piece.len() {
            is_cut = true;
            break;
        }
    }
    Ok(Fetched { url, media, charset, body, is_cut })
}

fn client(target: &Target, settings: &Settings) -> Result<Client, String> {
    prepare_tls();
    let proxy = match (&settings.proxy, target.reach) {
        // What the user named is near; a proxy would not find it.
        (ProxyChoice::Url(url), Reach::Public) => Some(url),
        // Those of the environment were set for other programs, and would look names up without our rules.
        (ProxyChoice::Url(_), Reach::Named) | (ProxyChoice::System | ProxyChoice::None, _) => None,
    };
    let guard = Guard { reach: target.reach, proxy: proxy.and_then(proxy_host) };
    if guard.proxy.as_ref() == Some(&target.host) {
        return Err(format!("{} is the proxy, from which no page is fetched", target.host));
    }
    let proxy = proxy.map(|url| Proxy::all(url.expose_secret())).transpose();
    // The parser's error may hold a password.
    let proxy = proxy.map_err(|_| "the proxy of the user's settings cannot be used".to_owned())?;
    let certificates = settings.certificates.as_ref().map(|certificates| certificates.read()).transpose();
    let certificates = certificates.map_err(|error| error.to_string())?;
    let builder = || {
        let builder = Client::builder()
            .user_agent(concat!("askls/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(redirect::Policy::none())
            .referer(false)
            .pool_max_idle_per_host(0)
            .dns_resolver(guard.clone());
        let builder = match proxy.clone() {
            Some(proxy) => builder.proxy(proxy.no_proxy(NoProxy::from_env())),
            None => builder.no_proxy(),
        };
        match certificates.clone() {
            Some(certificates) => builder.tls_certs_merge(certificates),
            None => builder,
        }
    };
    // A machine without certificates still reaches what is not encrypted.
    let built = builder().build().or_else(|_| builder().tls_certs_only([]).build());
    built.map_err(|error| format!("no HTTP client can be made: {error}"))
}

fn proxy_host(url: &SecretString) -> Option<String> {
    let url = Url::parse(url.expose_secret()).ok()?;
    Some(url.host_str()?.trim_end_matches('.').to_owned())
}

/// Looks a name up for one connection, which goes to no other address than those that it gives: so what a name means
/// cannot change between the look and the connection.
#[derive(Clone, Debug)]
struct Guard {
    reach: Reach,
    /// The user's proxy, wherever it is.
    proxy: Option<String>,
}

/// A name leads to none of the public internet.
#[derive(Debug)]
struct NotPublic;

impl fmt::Display for NotPublic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("its address is not on the public internet")
    }
}

impl Error for NotPublic {}

impl Guard {
    /// Those of the addresses that may be connected to.
    fn admit(
        &self,
        name: &str,
        found: impl Iterator<Item = SocketAddr>,
    ) -> Result<Vec<SocketAddr>, NotPublic> {
        let is_free = self.reach == Reach::Named || self.proxy.as_deref() == Some(name);
        let admitted: Vec<_> = found.filter(|address| is_free || is_public(address.ip())).collect();
        if admitted.is_empty() { Err(NotPublic) } else { Ok(admitted) }
    }
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.clone();
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let admitted = guard.admit(name.as_str(), found)?;
            Ok(Box::new(admitted.into_iter()) as Addrs)
        })
    }
}

/// Why a request brought nothing: what stands at the bottom of the error, without addresses.
fn describe(error: &reqwest::Error, host: &str) -> String {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    if cause.is::<NotPublic>() {
        return format!(
            "{host} is not fetched: {NotPublic}, and fetch_hosts of the user's settings does not name it"
        );
    }
    if error.is_timeout() {
        return format!("{host} cannot be reached: it did not answer in time");
    }
    if error.is_connect() {
        return format!("{host} cannot be reached: {cause}");
    }
    format!("the answer of {host} broke off: {cause}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_goes_to_public_addresses_alone() {
        let found = ["10.0.0.1:0", "1.1.1.1:0", "[::1]:0", "169.254.169.254:0"].map(|a| a.parse().unwrap());
        let guard = Guard { reach: Reach::Public, proxy: Some("proxy.corp".to_owned()) };
        assert_eq!(guard.admit("a.example", found.into_iter()).unwrap(), [found[1]]);
        assert!(guard.admit("a.example", found.into_iter().take(1)).is_err());
        assert_eq!(guard.admit("proxy.corp", found.into_iter()).unwrap(), found);
        let named = Guard { reach: Reach::Named, proxy: None };
        assert_eq!(named.admit("wiki.corp", found.into_iter()).unwrap(), found);
    }

    #[tokio::test]
    async fn a_name_of_this_machine_leads_nowhere() {
        let guard = |reach| Guard { reach, proxy: None };
        let looked_up = |guard: Guard| guard.resolve("localhost".parse().unwrap());
        let refused = looked_up(guard(Reach::Public)).await.err().unwrap();
        assert!(refused.is::<NotPublic>(), "{refused}");
        assert!(looked_up(guard(Reach::Named)).await.is_ok());
    }

    #[tokio::test]
    async fn a_server_that_says_nothing_is_given_up() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let hosts = vec![address.to_string().parse().unwrap()];
        let target = Target::parse(&format!("http://{address}/"), &hosts).unwrap();
        let settings = Settings { hosts, ..Settings::default() };
        let ended = fetch_within(target, &settings, Duration::from_millis(20)).await;
        assert_eq!(ended.unwrap_err(), "127.0.0.1 did not answer whole within 0.02 s");
    }
}
