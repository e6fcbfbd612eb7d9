//! Base URLs: how people write them, and what may be shown of them.

use reqwest::Url;

use crate::model::{ErrorKind, ModelError};
use crate::protocol::Wire;

/// The paths of the wires, which people copy together with the base URL.
const WIRE_PATHS: [(&str, Wire); 3] =
    [("/chat/completions", Wire::Chat), ("/responses", Wire::Responses), ("/messages", Wire::Messages)];

/// Reads a base URL. Blanks around it, slashes at its end, the path of a wire and a fragment are forgiven; its query
/// is kept.
///
/// # Errors
/// [`ErrorKind::Settings`], with the name of the setting, when it is no `http` or `https` URL.
pub(super) fn parse(setting: &str, text: &str) -> Result<Url, ModelError> {
    let refuse = |why: &str| {
        // What stands in front of an `@` may be a password, and what follows a `?` a key.
        let shown = text.rsplit('@').next().unwrap_or_default().split('?').next().unwrap_or_default().trim();
        ModelError::new(
            ErrorKind::Settings,
            format!("{setting} {shown:?} {why}; it looks like https://api.openai.com/v1"),
        )
    };
    let text = text.trim();
    if text.is_empty() {
        return Err(refuse("is empty"));
    }
    let mut url =
        Url::parse(text).map_err(|_| refuse("is not a URL: it must begin with http:// or https://"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return Err(refuse("does not begin with http:// or https:// and a host"));
    }
    url.set_fragment(None);
    let path = url.path().trim_end_matches('/');
    let path = WIRE_PATHS.iter().find_map(|(tail, _)| path.strip_suffix(tail)).unwrap_or(path);
    let path = path.trim_end_matches('/').to_owned();
    url.set_path(&path);
    Ok(url)
}

/// The wire whose path a base URL ends with, when it is the address of a wire as a whole.
pub fn wire_of(base_url: &str) -> Option<Wire> {
    let url = Url::parse(base_url.trim()).ok()?;
    let path = url.path().trim_end_matches('/');
    WIRE_PATHS.iter().find(|(tail, _)| path.ends_with(tail)).map(|(_, wire)| *wire)
}

/// Whether the path ends in a version, as `/v1` or `/v1beta`.
pub(super) fn is_versioned(url: &Url) -> bool {
    let last = url.path().trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let version = last.strip_prefix('v').unwrap_or_default();
    version.starts_with(|c: char| c.is_ascii_digit()) && version.chars().all(|c| c.is_ascii_alphanumeric())
}

/// Whether a host, as URLs have it, is this machine.
pub fn is_this_machine(host: &str) -> bool {
    matches!(host, "localhost" | "[::1]") || host.starts_with("127.") || host.ends_with(".localhost")
}

/// Scheme, host, port and path, without credentials or query: fit to be shown.
pub(super) fn shown(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{host}{port}{}", url.scheme(), url.path().trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_a_last_segment_such_as_v1() {
        for (url, expected) in [
            ("http://host/v1", true),
            ("http://host/proxy/v1/", true),
            ("http://host/v1beta", true),
            ("http://host/v4", true),
            ("http://host", false),
            ("http://host/proxy", false),
            ("http://host/v1/openai", false),
            ("http://host/version", false),
            ("http://host/v", false),
        ] {
            assert_eq!(is_versioned(&Url::parse(url).expect("a URL")), expected, "{url}");
        }
    }

    #[test]
    fn this_machine_has_several_names() {
        for (host, expected) in [
            ("localhost", true),
            ("models.localhost", true),
            ("127.0.0.1", true),
            ("127.1.2.3", true),
            ("[::1]", true),
            ("notlocalhost", false),
            ("localhost.example", false),
            ("10.0.0.1", false),
        ] {
            assert_eq!(is_this_machine(host), expected, "{host}");
        }
    }

    #[test]
    fn a_whole_address_says_the_wire() {
        assert_eq!(wire_of(" https://host.test/v1/messages/ "), Some(Wire::Messages));
        assert_eq!(wire_of("https://host.test/v1/responses?a=b"), Some(Wire::Responses));
        assert_eq!(wire_of("https://host.test/v1/chat/completions"), Some(Wire::Chat));
        assert_eq!(wire_of("https://host.test/v1"), None);
        assert_eq!(wire_of("nonsense"), None);
    }
}
