//! A request that did not get through, and a reply that did not get back: what broke, and what to look at.

use std::{error::Error, io};

use super::{Endpoint, clean};
use crate::model::{ErrorKind, ModelError, Retry, sse::Fault};

/// How resolvers say that no name at all can be looked up just now (glibc, musl, Windows).
const NO_RESOLVER: [&str; 3] = ["temporary failure in name resolution", "try again", "os error 11002"];

/// How resolvers say that a name does not exist (glibc, macOS, musl, Windows).
const NO_SUCH_NAME: [&str; 6] = [
    "name or service not known",
    "nodename nor servname",
    "no address associated",
    "name does not resolve",
    "no such host is known",
    "os error 11001",
];

/// The request did not get through.
pub(in crate::model::http) fn of_sending(endpoint: &Endpoint, error: &reqwest::Error) -> ModelError {
    let server = endpoint.server();
    if error.is_connect() && error.is_timeout() {
        let seconds = endpoint.connect_timeout.as_secs_f64();
        let message = format!(
            "{server} did not accept a connection for {seconds} s (setting connect_timeout): is it reachable?"
        );
        return ModelError::new(ErrorKind::Network, message);
    }
    if let Some(tls) = find::<rustls::Error>(error) {
        return of_tls(endpoint, tls);
    }
    let why = clean(endpoint, &describe(error));
    let kinds = causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind);
    let proxy = endpoint.route.proxy_for(&endpoint.base_url);
    let asked = proxy.as_deref().unwrap_or(&server);
    let (what, setting, through) = match &proxy {
        Some(_) => ("proxy", "proxy", " through the proxy"),
        None => ("server", endpoint.setting, ""),
    };
    let (kind, message) = match Obstacle::of(&why, kinds) {
        Some(Obstacle::NoResolver) => (
            ErrorKind::Offline,
            format!(
                "no name can be looked up now ({why}), so {asked} cannot be reached: is this machine online?"
            ),
        ),
        Some(Obstacle::NoWay) => {
            (ErrorKind::Offline, format!("no way leads to {asked} ({why}): is this machine online?"))
        }
        Some(Obstacle::NoSuchName) => {
            (ErrorKind::Network, format!("the name of {asked} does not exist ({why}): is {setting} right?"))
        }
        Some(Obstacle::Refused) => (
            ErrorKind::Network,
            format!("nothing answers at {asked}: is the {what} running there, and is {setting} right?"),
        ),
        None if error.is_connect() => {
            (ErrorKind::Network, format!("no connection to {server}{through}: {why}"))
        }
        None => (ErrorKind::Network, format!("{server} broke the connection before it answered: {why}")),
    };
    ModelError::new(kind, message)
}

/// Why there is no connection at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Obstacle {
    NoResolver,
    NoWay,
    NoSuchName,
    Refused,
}

impl Obstacle {
    /// Resolvers give no code that Rust passes on: only their words tell a name that is not there from a resolver that is
    /// not.
    fn of(why: &str, kinds: impl IntoIterator<Item = io::ErrorKind>) -> Option<Self> {
        let why = why.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| why.contains(word));
        if says(&NO_RESOLVER) {
            return Some(Self::NoResolver);
        }
        if says(&NO_SUCH_NAME) {
            return Some(Self::NoSuchName);
        }
        kinds.into_iter().find_map(|kind| match kind {
            io::ErrorKind::NetworkUnreachable | io::ErrorKind::NetworkDown => Some(Self::NoWay),
            io::ErrorKind::ConnectionRefused => Some(Self::Refused),
            _ => None,
        })
    }
}

/// No secure connection: what stands in the way, and the setting that mends it.
fn of_tls(endpoint: &Endpoint, error: &rustls::Error) -> ModelError {
    use rustls::CertificateError;
    let server = endpoint.server();
    let setting = endpoint.setting;
    let what_to_do = match error {
        rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "this machine does not know who signed its certificate: set ca_file to the file (PEM) of that authority, which \
             may be that of your company's proxy, or install ca-certificates"
                .to_owned()
        }
        rustls::Error::InvalidCertificate(
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. },
        ) => "its certificate does not hold at this time: is this machine's clock right?".to_owned(),
        rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => format!("its certificate is for another name: is {setting} right?"),
        rustls::Error::InvalidMessage(_) => {
            format!("it does not speak TLS: should {setting} begin with http://?")
        }
        _ => format!("is {setting} right?"),
    };
    let why = clean(endpoint, &error.to_string());
    ModelError::new(ErrorKind::Tls, format!("no secure connection to {server} ({why}): {what_to_do}"))
}

/// The request got through, and nothing came back.
pub(in crate::model::http) fn of_waiting(endpoint: &Endpoint) -> ModelError {
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
            // What has no end has none the next time.
            Self::TooLarge => ModelError {
                retry: Retry::Never,
                ..ModelError::new(
                    ErrorKind::Malformed,
                    format!(
                        "{server} sent more than any reply has, and was not read on: it is not a model server, or it is broken"
                    ),
                )
            },
            Self::NotUtf8 => {
                ModelError::new(ErrorKind::Malformed, format!("{server} sent text that is not UTF-8"))
            }
        }
    }
}

/// The innermost cause: the outer ones only say that there is one, and may hold the URL with its query.
pub(in crate::model::http) fn describe(error: &reqwest::Error) -> String {
    causes(error).last().map_or_else(|| "no reason given".to_owned(), ToString::to_string)
}

/// A cause of that type, also where I/O errors wrap it: those hide what they hold from the chain of causes.
fn find<E: Error + 'static>(error: &reqwest::Error) -> Option<&E> {
    fn inside<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
        error.downcast_ref::<E>().or_else(|| inside(error.downcast_ref::<io::Error>()?.get_ref()?))
    }
    causes(error).find_map(inside)
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
mod tests {
    use super::*;

    #[test]
    fn being_offline_is_told_apart_from_a_name_that_does_not_exist() {
        for (why, kind, obstacle) in [
            (
                "failed to lookup address information: Temporary failure in name resolution",
                io::ErrorKind::Other,
                Some(Obstacle::NoResolver),
            ),
            (
                "failed to lookup address information: Name or service not known",
                io::ErrorKind::Other,
                Some(Obstacle::NoSuchName),
            ),
            (
                "failed to lookup address information: nodename nor servname provided, or not known",
                io::ErrorKind::Other,
                Some(Obstacle::NoSuchName),
            ),
            ("Network is unreachable", io::ErrorKind::NetworkUnreachable, Some(Obstacle::NoWay)),
            ("Connection refused", io::ErrorKind::ConnectionRefused, Some(Obstacle::Refused)),
            ("connection reset by peer", io::ErrorKind::ConnectionReset, None),
        ] {
            assert_eq!(Obstacle::of(why, [kind]), obstacle, "{why}");
        }
    }
}
