//! Where a fetch may go: to the public internet, and to what the user's settings name.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

use reqwest::Url;

use crate::tools::output::one_line;

/// Bytes of the longest address that is fetched. Browsers and servers agree on about as much, and a longer one carries
/// something away rather than names a page.
const MAX_URL_BYTES: usize = 2_048;

/// Characters of an address that a refusal repeats.
const MAX_SHOWN_CHARS: usize = 200;

/// The ports of the web.
const WEB_PORTS: [u16; 2] = [80, 443];

/// What is no address of a machine that anybody on the internet reaches, and two that are and tell a cloud's machines their
/// passwords.
const NOT_PUBLIC_V4: &[(Ipv4Addr, u32)] = &[
    // This network, and with it the unspecified address.
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    // Behind a provider's address translation; a cloud's metadata is there too (100.100.100.200).
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    // Link-local: 169.254.169.254 is most clouds' metadata.
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    // The metadata of another cloud, in the middle of its public addresses.
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    // Protocol assignments; a cloud's metadata is there too (192.0.0.192).
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    // Documentation.
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    // Relays of 6to4.
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    // Benchmarking.
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    // Documentation.
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    // Multicast.
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    // Reserved, and with it the broadcast.
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// All that is given out to machines. Everything else of the sixth version is local, reserved, or holds an address of the
/// fourth that a gateway would go on to.
const GIVEN_OUT_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// What of it is none of a machine on the internet.
const NOT_PUBLIC_V6: &[(Ipv6Addr, u32)] = &[
    // Protocol assignments: Teredo, benchmarking, ORCHID.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    // Documentation.
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    // 6to4, which holds an address of the fourth version.
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    // Documentation.
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// Names that only networks of their own resolve, whatever a resolver says.
const LOCAL_ENDINGS: &[&str] =
    &["localhost", "local", "localdomain", "internal", "intranet", "lan", "home.arpa"];

/// Whether an address is one of the public internet.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let bits = address.to_bits();
            !NOT_PUBLIC_V4.iter().any(|(block, length)| (bits ^ block.to_bits()) >> (32 - length) == 0)
        }
        IpAddr::V6(address) => {
            let is_in = |(block, length): &(Ipv6Addr, u32)| {
                (address.to_bits() ^ block.to_bits()) >> (128 - length) == 0
            };
            is_in(&GIVEN_OUT_V6) && !NOT_PUBLIC_V6.iter().any(is_in)
        }
    }
}

/// A host that the user lets the agent fetch from though it is none of the public internet, or on another port: `wiki.corp`,
/// `127.0.0.1:8080`, `[::1]:8080`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedHost {
    /// As in a URL that was read, without brackets and without a dot at its end.
    host: String,
    /// `None` means the ports of the web.
    port: Option<u16>,
}

impl NamedHost {
    fn covers(&self, host: &str, port: u16) -> bool {
        self.host == host && self.port.map_or_else(|| WEB_PORTS.contains(&port), |named| named == port)
    }
}

/// The error says what fits.
impl FromStr for NamedHost {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = || {
            let shown = one_line(text, 60);
            format!("{shown:?} is no host: write one as wiki.example, or with its port as 127.0.0.1:8080")
        };
        let text = text.trim();
        let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let (name, port) = match text.rsplit_once(':') {
            Some((name, port)) if is_port(port) && (!name.contains(':') || name.ends_with(']')) => {
                (name, Some(port.parse::<u16>().map_err(|_| refused())?))
            }
            _ => (text, None),
        };
        let fits = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']');
        if name.is_empty() || !name.chars().all(fits) || port == Some(0) {
            return Err(refused());
        }
        let url = Url::parse(&format!("http://{name}/")).map_err(|_| refused())?;
        Ok(Self { host: host_of(&url).ok_or_else(refused)?, port })
    }
}

impl fmt::Display for NamedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        match self.port {
            Some(port) => write!(f, "{host}:{port}"),
            None => f.write_str(&host),
        }
    }
}

/// How far the connections of a fetch may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// To public addresses, which is looked at whenever a name was resolved.
    Public,
    /// To any address of a host that the user's settings name.
    Named,
}

/// An address that may be fetched.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// Without a fragment, which never leaves.
    pub(super) url: Url,
    /// In small letters and ASCII (`xn--…`), so that no letter looks like another; without brackets and without a dot at its
    /// end.
    pub(super) host: String,
    pub(super) reach: Reach,
}

impl Target {
    /// Takes what a model wrote.
    ///
    /// # Errors
    /// Why nobody may fetch it, whatever is allowed.
    pub(super) fn parse(text: &str, hosts: &[NamedHost]) -> Result<Self, String> {
        Self::new(read(text)?.0, hosts)
    }

    fn new(mut url: Url, hosts: &[NamedHost]) -> Result<Self, String> {
        if !matches!(url.scheme(), "http" | "https") {
            let scheme = one_line(url.scheme(), MAX_SHOWN_CHARS);
            return Err(format!("only http:// and https:// addresses are fetched, not {scheme}:"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("an address with a user's name or password is not fetched".to_owned());
        }
        let (Some(host), Some(port)) = (host_of(&url), url.port_or_known_default()) else {
            return Err("url names no host".to_owned());
        };
        if url.as_str().len() > MAX_URL_BYTES {
            return Err(format!("an address of more than {MAX_URL_BYTES} bytes is not fetched"));
        }
        url.set_fragment(None);
        if hosts.iter().any(|named| named.covers(&host, port)) {
            return Ok(Self { url, host, reach: Reach::Named });
        }
        let shown = one_line(&host, MAX_SHOWN_CHARS);
        if !is_public_host(&host) {
            return Err(format!(
                "{shown} is not on the public internet, and fetch_hosts of the user's settings does not name it"
            ));
        }
        if !WEB_PORTS.contains(&port) {
            return Err(format!(
                "port {port} is no port of the web, and fetch_hosts of the user's settings does not name {shown}:{port}"
            ));
        }
        Ok(Self { url, host, reach: Reach::Public })
    }

    /// Where a redirect leads. Another host is another question, which only a new call can ask.
    ///
    /// # Errors
    /// Why it is not followed.
    pub(super) fn redirected(&self, location: &str, hosts: &[NamedHost]) -> Result<Self, String> {
        let from = one_line(&self.host, MAX_SHOWN_CHARS);
        let url = self
            .url
            .join(location)
            .map_err(|_| format!("{from} redirects to something that is no address"))?;
        let shown = one_line(url.as_str(), MAX_URL_BYTES);
        let next = Self::new(url, hosts)
            .map_err(|reason| format!("{from} redirects to {shown}, which is not followed: {reason}"))?;
        if self.url.scheme() == "https" && next.url.scheme() == "http" {
            return Err(format!("{from} redirects to {shown}, which is not followed: it is not encrypted"));
        }
        if next.host != self.host {
            return Err(format!(
                "{from} redirects to another host, which is not followed by itself: call fetch_url with {shown} if \
                 that is what you want"
            ));
        }
        Ok(next)
    }
}

/// An address as a model wrote it, and its host as [`Target::host`]; whether it may be fetched is another question.
pub(super) fn read(text: &str) -> Result<(Url, String), String> {
    let text = text.trim();
    if text.len() > MAX_URL_BYTES {
        return Err(format!("an address of more than {MAX_URL_BYTES} bytes is not fetched"));
    }
    let no_address = || "url is no address: it must look like https://docs.rs/tokio".to_owned();
    let url = Url::parse(text).map_err(|_| no_address())?;
    let host = host_of(&url).unwrap_or_default();
    Ok((url, host))
}

/// As [`Target::host`].
fn host_of(url: &Url) -> Option<String> {
    let host = url.host_str()?.trim_matches(['[', ']']).trim_end_matches('.');
    (!host.is_empty()).then(|| host.to_ascii_lowercase())
}

/// Whether a host may be one of the public internet, as far as its name says.
fn is_public_host(host: &str) -> bool {
    if let Ok(address) = host.parse::<IpAddr>() {
        return is_public(address);
    }
    let is_below =
        |ending: &&str| host.strip_suffix(*ending).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    host.contains('.') && !LOCAL_ENDINGS.iter().any(is_below)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(url: &str, hosts: &[&str], expected: Expect) {
        let hosts: Vec<NamedHost> = hosts.iter().map(|host| host.parse().unwrap()).collect();
        let shown = match Target::parse(url, &hosts) {
            Ok(target) => format!("{:?} {} at {}", target.reach, target.url, target.host),
            Err(reason) => reason,
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn only_addresses_of_the_public_internet_are_public() {
        for public in [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.0.1",
            "172.32.0.1",
            "168.63.129.17",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450::1",
            "2001:4860:4860::8888",
        ] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        for other in [
            "0.0.0.0",
            "0.1.2.3",
            "10.255.0.1",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.255.255.254",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.7",
            "224.0.0.251",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            // Mapped, compatible, translated, NAT64, both its prefixes, 6to4, Teredo: each may hold any address.
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "::127.0.0.1",
            "::ffff:0:127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2001:0:7f00:1::",
            "100::1",
            "2001:2::1",
            "2001:db8::1",
            "3fff::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(other.parse().unwrap()), "{other}");
        }
    }

    #[test]
    fn a_loopback_in_every_spelling_is_refused() {
        for host in [
            "127.0.0.1",
            "127.1",
            "2130706433",
            "0x7f000001",
            "0x7f.1",
            "0177.0.0.1",
            "127.0.0.1.",
            "%31%32%37.0.0.1",
            "１２７.0.0.1",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[0:0:0:0:0:ffff:7f00:1]",
            "0",
            "localhost",
            "LOCALHOST.",
            "a.localhost",
            "printer.local",
            "metadata.google.internal",
            "intranet",
        ] {
            let refused = Target::parse(&format!("http://{host}/"), &[]).unwrap_err();
            assert!(refused.contains("is not on the public internet"), "{host}: {refused}");
        }
    }

    #[test]
    fn what_is_no_address_of_a_page_is_refused_by_its_reason() {
        check("docs.rs/tokio", &[], expect!["url is no address: it must look like https://docs.rs/tokio"]);
        check(
            "file:///etc/passwd",
            &[],
            expect!["only http:// and https:// addresses are fetched, not file:"],
        );
        check("ftp://a.example/", &[], expect!["only http:// and https:// addresses are fetched, not ftp:"]);
        check(
            "https://user@a.example/",
            &[],
            expect!["an address with a user's name or password is not fetched"],
        );
        check(
            "http://a.example:22/",
            &[],
            expect![
                "port 22 is no port of the web, and fetch_hosts of the user's settings does not name a.example:22"
            ],
        );
        check(
            &format!("https://a.example/{}", "x".repeat(MAX_URL_BYTES)),
            &[],
            expect!["an address of more than 2048 bytes is not fetched"],
        );
    }

    #[test]
    fn a_host_is_shown_as_what_it_is() {
        check(" https://Docs.RS.:443/a?b#c ", &[], expect!["Public https://docs.rs./a?b at docs.rs"]);
        // Cyrillic letters that look Latin.
        check("https://аррӏе.com/", &[], expect!["Public https://xn--80ak6aa92e.com/ at xn--80ak6aa92e.com"]);
    }

    #[test]
    fn what_the_user_names_is_reached_and_nothing_beside_it() {
        check(
            "http://127.1:8080/a",
            &["127.0.0.1:8080"],
            expect!["Named http://127.0.0.1:8080/a at 127.0.0.1"],
        );
        check("http://[::1]:8080/", &["[::1]:8080"], expect!["Named http://[::1]:8080/ at ::1"]);
        check("https://wiki.corp/", &["Wiki.corp"], expect!["Named https://wiki.corp/ at wiki.corp"]);
        check(
            "http://127.0.0.1:8081/",
            &["127.0.0.1:8080", "127.0.0.1"],
            expect![
                "127.0.0.1 is not on the public internet, and fetch_hosts of the user's settings does not name it"
            ],
        );
        check(
            "https://a.example:8443/",
            &["a.example:8443"],
            expect!["Named https://a.example:8443/ at a.example"],
        );
    }

    #[test]
    fn a_named_host_is_a_host_and_perhaps_a_port() {
        for (text, expected) in [
            ("127.0.0.1:8080", "127.0.0.1:8080"),
            ("[::1]:80", "[::1]:80"),
            ("[::1]", "[::1]"),
            (" Wiki.Corp ", "wiki.corp"),
        ] {
            assert_eq!(text.parse::<NamedHost>().unwrap().to_string(), expected);
        }
        for text in ["", "*", "*.corp", "http://a", "a/b", "a:0", "a:99999", "a b", "u@a", "::1", ":80"] {
            assert!(text.parse::<NamedHost>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_redirect_is_looked_at_like_a_first_address() {
        let redirect = |from: &str, to: &str| {
            let target = Target::parse(from, &["127.0.0.1:8080".parse().unwrap()]).unwrap();
            match target.redirected(to, &["127.0.0.1:8080".parse().unwrap()]) {
                Ok(next) => next.url.to_string(),
                Err(reason) => reason,
            }
        };
        assert_eq!(redirect("http://a.example/x/y", "../z#top"), "http://a.example/z");
        assert_eq!(redirect("http://a.example/", "https://a.example/b"), "https://a.example/b");
        assert_eq!(
            redirect("https://a.example/", "http://a.example/"),
            "a.example redirects to http://a.example/, which is not followed: it is not encrypted"
        );
        assert_eq!(
            redirect("https://a.example/", "//b.example/"),
            "a.example redirects to another host, which is not followed by itself: call fetch_url with https://b.example/ if that is what you want"
        );
        for private in
            ["http://169.254.169.254/latest", "http://127.0.0.1:8081/", "http://[::1]/", "file:///etc/passwd"]
        {
            let reason = redirect("http://127.0.0.1:8080/", private);
            assert!(reason.contains("which is not followed: "), "{reason}");
        }
    }
}
