//! The way to a server over real sockets: certificates, proxies, headers, queries, and bodies that no model server sends.
//!
//! `rcgen` makes the authorities: certificates that stand in a repository run out, and `openssl` is not on every machine.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use askls::model::http::{Certificates, ProxyChoice};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};

use super::*;

/// A whole reply of the Chat wire that says `ok`.
const OK: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"ok\"}}]}\n\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
    data: [DONE]\n\n";

/// An authority that nobody knows, and one server's certificate by it.
struct Authority {
    pem: String,
    config: Arc<ServerConfig>,
}

impl Authority {
    fn for_host(host: &str) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let authority = CertifiedIssuer::self_signed(params, key).expect("an authority");
        let key = KeyPair::generate().expect("a key");
        let server = CertificateParams::new([host.to_owned()]).expect("a name");
        let server = server.signed_by(&key, &authority).expect("a certificate");
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("protocols")
            .with_no_client_auth()
            .with_single_cert(vec![server.der().clone()], key)
            .expect("a key that fits");
        Self { pem: authority.pem(), config: Arc::new(config) }
    }

    fn certificates(&self) -> Option<Certificates> {
        Some(Certificates { source: "ca.pem".to_owned(), pem: self.pem.as_bytes().into() })
    }
}

/// A listener on the loopback that answers every connection in a thread of its own, for as long as the test runs.
struct Listener {
    address: SocketAddr,
    /// The heads of all requests, as they came.
    heads: Arc<Mutex<Vec<String>>>,
}

impl Listener {
    fn start(
        serve: impl Fn(TcpStream, &Mutex<Vec<String>>) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let heads = Arc::new(Mutex::new(Vec::new()));
        let (serve, seen) = (Arc::new(serve), Arc::clone(&heads));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (serve, seen) = (Arc::clone(&serve), Arc::clone(&seen));
                // A client that hangs up is one of the cases.
                thread::spawn(move || drop(serve(stream, &seen)));
            }
        });
        Self { address, heads }
    }

    /// Answers with these bytes.
    fn answering(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::start(move |mut stream, heads| reply(&mut stream, heads, &answer))
    }

    /// The same over TLS.
    fn secure(authority: &Authority) -> Self {
        let config = Arc::clone(&authority.config);
        Self::start(move |stream, heads| {
            let connection = ServerConnection::new(Arc::clone(&config)).map_err(io::Error::other)?;
            let mut stream = StreamOwned::new(connection, stream);
            reply(&mut stream, heads, OK.as_bytes())?;
            stream.conn.send_close_notify();
            stream.flush()
        })
    }

    /// A proxy: it passes on to `origin` whatever it is asked to reach, by name or by tunnel.
    fn proxy(origin: SocketAddr) -> Self {
        Self::start(move |mut stream, heads| {
            let head = read_head(&mut stream)?;
            let is_tunnel = head.starts_with("CONNECT ");
            heads.lock().unwrap_or_else(PoisonError::into_inner).push(head.clone());
            let mut there = TcpStream::connect(origin)?;
            if is_tunnel {
                stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
            } else {
                there.write_all(head.as_bytes())?;
            }
            let (mut from, mut to) = (stream.try_clone()?, there.try_clone()?);
            thread::spawn(move || drop(io::copy(&mut from, &mut to)));
            io::copy(&mut there, &mut stream)?;
            stream.shutdown(Shutdown::Both)
        })
    }

    fn url(&self, scheme: &str, host: &str, path: &str) -> String {
        format!("{scheme}://{host}:{}{path}", self.address.port())
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn reply(stream: &mut (impl Read + Write), heads: &Mutex<Vec<String>>, answer: &[u8]) -> io::Result<()> {
    let head = read_head(stream)?;
    let length = header(&head, "content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    stream.read_exact(&mut vec![0; length])?;
    heads.lock().unwrap_or_else(PoisonError::into_inner).push(head);
    stream.write_all(answer)?;
    stream.flush()
}

/// Everything up to the blank line, that line included.
fn read_head(stream: &mut impl Read) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.extend(byte);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    lines.find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

/// What a question to the endpoint comes to: the answer, or the error.
async fn ask(endpoint: Endpoint) -> String {
    let client = ChatClient::new(endpoint);
    turn(&client, &mut vec![user("hello")]).await
}

const ANSWERED: &str = "shown: ok\nagent: ok\n=> Stop\n";

#[tokio::test]
async fn a_server_whose_authority_the_settings_name_is_believed_and_no_other() {
    let authority = Authority::for_host("localhost");
    let server = Listener::secure(&authority);
    let mut endpoint = endpoint(&server.url("https", "localhost", "/v1"));
    let told = ask(endpoint.clone()).await;
    expect![[r#"
        => Tls: no secure connection to https://localhost:PORT/v1 (invalid peer certificate: UnknownIssuer): this machine does not know who signed its certificate: set ca_file to the file (PEM) of that authority, which may be that of your company's proxy, or install ca-certificates
    "#]]
    .assert_eq(&told.replace(&server.address.port().to_string(), "PORT"));
    endpoint.route.certificates = Authority::for_host("localhost").certificates();
    assert!(ask(endpoint.clone()).await.contains("=> Tls: no secure connection"), "another authority");
    assert_eq!(server.heads(), [] as [&str; 0], "nothing is sent before the server is known");
    endpoint.route.certificates = authority.certificates();
    assert_eq!(ask(endpoint).await, ANSWERED);
}

#[tokio::test]
async fn what_stands_in_the_way_of_a_secure_connection_is_said() {
    let authority = Authority::for_host("other.example");
    let server = Listener::secure(&authority);
    let mut strange = endpoint(&server.url("https", "localhost", "/v1"));
    strange.route.certificates = authority.certificates();
    let told = ask(strange).await;
    assert!(told.contains("=> Tls: ") && told.contains("its certificate is for another name"), "{told}");
    // As a web server answers what it takes for a broken request.
    let plain = Listener::start(|mut stream, _| {
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")?;
        stream.shutdown(Shutdown::Write)?;
        io::copy(&mut stream, &mut io::sink()).map(drop)
    });
    let told = ask(endpoint(&plain.url("https", "localhost", "/v1"))).await;
    assert!(told.contains("=> Tls: ") && told.contains("should base_url begin with http://?"), "{told}");
    let mut empty = endpoint(&server.url("https", "localhost", "/v1"));
    empty.route.certificates = Some(Certificates { source: "ca.pem".to_owned(), pem: b"nothing"[..].into() });
    expect![[r#"
        => Settings: ca_file ca.pem holds no certificate in PEM (-----BEGIN CERTIFICATE-----)
    "#]]
    .assert_eq(&ask(empty).await);
}

#[tokio::test]
async fn a_proxy_passes_requests_on_and_its_password_is_shown_nowhere() {
    let server = Listener::answering(OK);
    let proxy = Listener::proxy(server.address);
    let mut endpoint = endpoint("http://model.example/v1");
    let through = format!("http://me:pass-word-1@{}", proxy.address);
    endpoint.route.proxy = ProxyChoice::Url(through.into());
    assert_eq!(ask(endpoint.clone()).await, ANSWERED);
    let heads = proxy.heads();
    assert!(heads[0].starts_with("POST http://model.example/v1/chat/completions HTTP/1.1\r\n"), "{heads:?}");
    assert_eq!(header(&heads[0], "proxy-authorization"), Some("Basic bWU6cGFzcy13b3JkLTE="));
    assert!(!format!("{endpoint:?}").contains("pass-word-1"), "{endpoint:?}");
}

#[tokio::test]
async fn a_secure_connection_goes_through_a_proxy_as_a_tunnel() {
    let authority = Authority::for_host("model.example");
    let server = Listener::secure(&authority);
    let proxy = Listener::proxy(server.address);
    let mut endpoint = endpoint("https://model.example/v1");
    endpoint.route.proxy = ProxyChoice::Url(format!("http://{}", proxy.address).into());
    endpoint.route.certificates = authority.certificates();
    assert_eq!(ask(endpoint).await, ANSWERED);
    let heads = proxy.heads();
    assert!(heads[0].starts_with("CONNECT model.example:443 HTTP/1.1\r\n"), "{heads:?}");
    assert_eq!(header(&heads[0], "authorization"), None, "the key is for the server");
    assert_eq!(header(&server.heads()[0], "authorization"), Some(format!("Bearer {KEY}").as_str()));
}

#[tokio::test]
async fn a_proxy_that_is_not_there_is_named_and_a_server_on_this_machine_needs_none() {
    let nobody = TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("an address");
    let proxy = ProxyChoice::Url(format!("http://me:pass-word-1@{nobody}").into());
    let mut far = endpoint("http://model.example/v1");
    far.route.proxy = proxy.clone();
    expect![[r#"
        => Network: nothing answers at http://PROXY: is the proxy running there, and is proxy right?
    "#]]
    .assert_eq(&ask(far).await.replace(&nobody.to_string(), "PROXY"));
    let server = Listener::answering(OK);
    let mut here = endpoint(&server.url("http", "127.0.0.1", "/v1"));
    here.route.proxy = proxy;
    assert_eq!(ask(here).await, ANSWERED);
}

#[tokio::test]
async fn the_key_goes_under_the_header_that_is_set_and_the_query_stays() {
    let server = Listener::answering(OK);
    let mut endpoint =
        endpoint(&server.url("http", "127.0.0.1", "/openai/deployments/dep1?api-version=old&a=b"));
    endpoint.route.key_header = Some("api-key".to_owned());
    endpoint.route.query = vec![("api-version".to_owned(), "2025-04-01-preview".into())];
    endpoint.route.headers =
        vec![("x-team".to_owned(), "red".into()), ("user-agent".to_owned(), "mine".into())];
    assert_eq!(ask(endpoint).await, ANSWERED);
    let head = server.heads().remove(0);
    let line = head.lines().next();
    let path = "/openai/deployments/dep1/chat/completions?a=b&api-version=2025-04-01-preview";
    assert_eq!(line, Some(format!("POST {path} HTTP/1.1").as_str()));
    for (name, value) in [
        ("api-key", Some(KEY)),
        ("authorization", None),
        ("x-team", Some("red")),
        ("user-agent", Some("mine")),
        ("content-type", Some("application/json")),
    ] {
        assert_eq!(header(&head, name), value, "{name}");
    }
}

/// What is made of an answer, with the address as `ADDRESS`.
async fn check_answer(answer: impl Into<Vec<u8>>, expected: Expect) {
    let server = Listener::answering(answer);
    let base_url = server.url("http", "127.0.0.1", "/v1");
    let told = ask(endpoint(&base_url)).await;
    expected.assert_eq(&told.replace(&base_url, "SERVER").replace(&server.address.to_string(), "HOST"));
}

/// An answer with status 200 whose body ends with the connection.
fn answer(headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\n{headers}\r\n");
    [head.as_bytes(), body].concat()
}

#[tokio::test]
async fn an_answer_that_says_nothing_is_told_apart_from_one_that_breaks_off() {
    check_answer(
        b"HTTP/1.1 204 No Content\r\n\r\n",
        expect![[r#"
        => Malformed: SERVER/chat/completions answered with an empty body (204); is base_url right?
    "#]],
    )
    .await;
    check_answer(
        b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
        expect![[r#"
        => Malformed: SERVER/chat/completions answered with an empty body (200); is base_url right?
    "#]],
    )
    .await;
    check_answer(
        answer("content-type: application/json\r\n", b" \n"),
        expect![[r#"
        => Malformed: SERVER/chat/completions answered with an empty body (200); is base_url right?
    "#]],
    )
    .await;
    check_answer(
        answer("", b""),
        expect![[r#"
        => Malformed: SERVER/chat/completions answered with an empty body (200); is base_url right?
    "#]],
    )
    .await;
}

#[tokio::test]
async fn what_is_no_reply_is_told_for_what_it_is() {
    check_answer(answer("content-type: text/html\r\n", b"<html><title>Log in</title>"), expect![[r#"
        => Rejected: SERVER/chat/completions answered with a web page titled "Log in", so it is not a model server: is base_url right?
    "#]]).await;
    check_answer(answer("content-type: application/xml\r\n", b"<error/>"), expect![[r#"
        => Rejected: SERVER/chat/completions answered with a web page, so it is not a model server: is base_url right?
    "#]]).await;
    check_answer(answer("content-type: image/png\r\n", b"\x89PNG"), expect![[r#"
        => Rejected: SERVER/chat/completions answered with image/png, so it is not a model server: is base_url right?
    "#]]).await;
    check_answer(b"HTTP/1.1 302 Found\r\nlocation: /login?key=1\r\ncontent-length: 0\r\n\r\n", expect![[r#"
        => Settings: SERVER/chat/completions redirects to http://HOST/login, which is not followed so that no key goes astray: set base_url to the server's own address
    "#]])
        .await;
    // Far more than any server means to say of a reply.
    let huge = format!("x-huge: {}\r\n", "x".repeat(1024 * 1024));
    check_answer(
        answer(&huge, b""),
        expect![[r#"
        => Network: SERVER broke the connection before it answered: message head is too large
    "#]],
    )
    .await;
    check_answer(
        b"HTTP/1.1 500 Oops\r\ncontent-length: 9999\r\n\r\n{\"error\":{\"message\":\"cut he",
        expect![[r#"
            => Failed: SERVER cannot answer now (500): {"error":{"message":"cut he
        "#]],
    )
    .await;
}

#[tokio::test]
async fn one_json_object_is_a_reply_whatever_its_type_is_called() {
    let body = br#"{"choices":[{"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}"#;
    for kind in ["application/json", "text/plain", "application/octet-stream"] {
        let server = Listener::answering(answer(&format!("content-type: {kind}\r\n"), body));
        assert_eq!(ask(endpoint(&server.url("http", "127.0.0.1", "/v1"))).await, ANSWERED, "{kind}");
    }
}

#[tokio::test]
async fn a_body_that_is_compressed_unasked_is_read_or_refused_but_never_taken_for_nothing() {
    let compressed = include_bytes!("../captures/chat-stream.gz");
    let gzip = answer("content-type: text/event-stream\r\ncontent-encoding: gzip\r\n", compressed);
    let server = Listener::answering(gzip);
    let told = ask(endpoint(&server.url("http", "127.0.0.1", "/v1"))).await;
    assert!(told.ends_with("=> Stop\n") && told.contains("agent: "), "{told}");
    for encoding in ["deflate", "br", "zstd"] {
        let headers = format!("content-type: text/event-stream\r\ncontent-encoding: {encoding}\r\n");
        let server = Listener::answering(answer(&headers, b"\x01\x02"));
        let told = ask(endpoint(&server.url("http", "127.0.0.1", "/v1"))).await;
        assert!(told.contains(&format!("in the content encoding {encoding}, which")), "{told}");
        assert!(told.contains("=> Failed: "), "{told}");
    }
}

// SPEC A9
#[tokio::test]
async fn a_key_that_the_server_repeats_is_not_shown() {
    let body = format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}"}}}}"#);
    let refusal = format!("HTTP/1.1 401 No\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    check_answer(refusal, expect![[r#"
        => Auth: SERVER refused the key (401): Incorrect API key provided: [key]; check the environment variable TEST_KEY
    "#]]).await;
}

/// The binary itself, with this environment and this file of settings.
fn run(variables: &[(&str, &str)], settings: &str) -> std::process::Output {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("askls/config.toml");
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    std::fs::write(&file, settings).expect("a file");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_askls"));
    command
        .env_clear()
        .env("XDG_CONFIG_HOME", folder.path())
        .env("HOME", folder.path())
        .env("APPDATA", folder.path())
        .envs(variables.iter().copied())
        .args(["ask", "--model", "m", "hello", "--root"])
        .arg(folder.path());
    command.output().expect("it runs")
}

#[cfg(all(unix, not(target_os = "macos")))]
#[test]
fn the_environment_names_authorities_and_proxies_too_and_settings_win() {
    let authority = Authority::for_host("model.example");
    let server = Listener::secure(&authority);
    let proxy = Listener::proxy(server.address);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, &authority.pem).expect("a file");
    let file = file.to_str().expect("a path");
    let proxy_url = format!("http://{}", proxy.address);
    let base_url = ("ASKLS_BASE_URL", "https://model.example/v1");

    let ran = run(&[base_url, ("SSL_CERT_FILE", file), ("HTTPS_PROXY", &proxy_url)], "");
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "ok\n", "{ran:?}");
    let ran = run(
        &[base_url, ("HTTPS_PROXY", "http://127.0.0.1:1")],
        &format!("ca_file = '{file}'\nproxy = '{proxy_url}'\n"),
    );
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "ok\n", "{ran:?}");
    let ran = run(&[base_url], "ca_file = '/no/such/file.pem'\n");
    assert_eq!(ran.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&ran.stderr).contains("ca_file /no/such/file.pem cannot be read"),
        "{ran:?}"
    );
    assert_eq!(proxy.heads().len(), 2);
}
