use std::{
    net::Ipv4Addr,
    sync::atomic::{AtomicUsize, Ordering},
};

use futures::StreamExt as _;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use super::*;
use crate::model::{ErrorKind, sse};

fn urls(base_url: &str, path: &str) -> String {
    Endpoint::new(base_url, "model").expect("a good base URL").url(path).to_string()
}

#[test]
fn a_base_url_may_be_written_in_many_ways() {
    for (base_url, expected) in [
        ("http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1/chat/completions"),
        ("http://127.0.0.1:1/v1/", "http://127.0.0.1:1/v1/chat/completions"),
        ("http://127.0.0.1:1/v1//", "http://127.0.0.1:1/v1/chat/completions"),
        (" http://127.0.0.1:1/v1 ", "http://127.0.0.1:1/v1/chat/completions"),
        ("http://127.0.0.1:1", "http://127.0.0.1:1/chat/completions"),
        ("http://127.0.0.1:1/", "http://127.0.0.1:1/chat/completions"),
        ("https://host.test/proxy/openai/v1/", "https://host.test/proxy/openai/v1/chat/completions"),
        ("https://host.test/v1/chat/completions", "https://host.test/v1/chat/completions"),
        ("https://host.test/v1/chat/completions/", "https://host.test/v1/chat/completions"),
        ("https://host.test/v1beta/openai/", "https://host.test/v1beta/openai/chat/completions"),
        ("https://host.test/v1?api-version=1#top", "https://host.test/v1/chat/completions?api-version=1"),
    ] {
        assert_eq!(urls(base_url, "chat/completions"), expected, "{base_url:?}");
    }
    assert_eq!(urls("https://host.test/v1/responses", "responses"), "https://host.test/v1/responses");
}

#[test]
fn the_messages_wire_is_below_the_version_whether_the_base_url_names_it_or_not() {
    for (base_url, expected) in [
        ("https://host.test", "https://host.test/v1/messages"),
        ("https://host.test/", "https://host.test/v1/messages"),
        ("https://host.test/v1", "https://host.test/v1/messages"),
        ("https://host.test/v1/", "https://host.test/v1/messages"),
        ("https://host.test/v1/messages", "https://host.test/v1/messages"),
        ("https://host.test/messages", "https://host.test/v1/messages"),
        ("https://host.test/api/v4/", "https://host.test/api/v4/messages"),
        ("https://host.test/anthropic?a=b", "https://host.test/anthropic/v1/messages?a=b"),
        ("https://host.test/video", "https://host.test/video/v1/messages"),
    ] {
        let endpoint = Endpoint::new(base_url, "model").expect("a good base URL");
        let path = endpoint.path(Wire::Messages, "messages");
        assert_eq!(endpoint.url(&path).to_string(), expected, "{base_url:?}");
        assert_eq!(endpoint.path(Wire::Chat, "chat/completions"), "chat/completions");
    }
}

/// The headers of a request, the key among them, when the settings name `key_header` for it.
fn check_headers(wire: Wire, key_header: Option<&str>, expected: &[&str]) {
    let mut endpoint = Endpoint::new("https://host.test", "model").expect("a good base URL");
    endpoint.key = Some("k".into());
    endpoint.route.key_header = key_header.map(str::to_owned);
    let headers = route::headers(&endpoint, wire).expect("good headers");
    let mut lines: Vec<_> =
        headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().expect("ASCII"))).collect();
    lines.sort();
    assert_eq!(lines, expected, "{wire} {key_header:?}");
}

#[test]
fn the_key_goes_in_the_header_of_the_wire_unless_the_settings_name_another() {
    check_headers(Wire::Chat, None, &["authorization: Bearer k"]);
    check_headers(Wire::Chat, Some("api-key"), &["api-key: k"]);
    check_headers(Wire::Messages, None, &["anthropic-version: 2023-06-01", "x-api-key: k"]);
    let bearer = ["anthropic-version: 2023-06-01", "authorization: Bearer k"];
    check_headers(Wire::Messages, Some("Authorization"), &bearer);
}

#[test]
fn the_responses_wire_is_below_what_the_base_url_says() {
    for (base_url, expected) in [
        ("http://h/v1/", "http://h/v1/responses"),
        ("http://h/proxy/v1", "http://h/proxy/v1/responses"),
        ("http://h/v1/responses", "http://h/v1/responses"),
        ("http://h/openai/v1/?api-version=preview", "http://h/openai/v1/responses?api-version=preview"),
    ] {
        assert_eq!(urls(base_url, "responses"), expected, "{base_url}");
    }
}

#[test]
fn what_is_no_base_url_is_refused_by_the_setting_s_name() {
    for (base_url, why) in [
        ("", "is empty"),
        ("127.0.0.1:1/v1", "is not a URL"),
        ("localhost:8080/v1", "does not begin with http:// or https:// and a host"),
        ("htp://host/v1", "does not begin with http:// or https:// and a host"),
        ("http://", "is not a URL"),
        ("file:///v1", "does not begin with http:// or https:// and a host"),
    ] {
        let error = Endpoint::new(base_url, "model").expect_err(base_url).to_string();
        assert!(error.starts_with("base_url ") && error.contains(why), "{error}");
    }
}

#[test]
fn a_password_in_a_base_url_is_never_shown() {
    let error = Endpoint::new("ftp://me:secret@host/v1", "model").expect_err("no such scheme");
    assert!(!error.to_string().contains("secret"), "{error}");
    let endpoint = Endpoint::new("https://me:secret@host.test/v1?key=secret", "model").expect("a good URL");
    assert_eq!(endpoint.server(), "https://host.test/v1");
}

#[test]
fn a_key_that_no_header_can_carry_is_a_matter_of_settings() {
    let mut endpoint = Endpoint::new("https://host.test/v1", "model").expect("a good URL");
    endpoint.key = Some("sk-1\nX-Other: 2".into());
    endpoint.key_source = Some("the setting api_key_command".to_owned());
    let error = route::headers(&endpoint, Wire::Chat).expect_err("a line break");
    assert_eq!(
        error.to_string(),
        "the key from the setting api_key_command holds characters that no key has, such as a line break"
    );
}

#[test]
fn blanks_around_a_key_are_no_part_of_it() {
    let mut endpoint = Endpoint::new("https://host.test/v1", "model").expect("a good URL");
    endpoint.key = Some("sk-1\n".into());
    let headers = route::headers(&endpoint, Wire::Chat).expect("a good key");
    assert_eq!(headers.get("authorization").expect("there is a key"), "Bearer sk-1");
    let headers = route::headers(&endpoint, Wire::Messages).expect("a good key");
    assert_eq!(headers.get("x-api-key").expect("there is a key"), "sk-1");
}

#[test]
fn a_server_on_this_machine_is_reached_without_a_proxy() {
    let is_here = |url: &str| route::is_here(&Url::parse(url).expect("a URL"));
    for here in [
        "http://127.0.0.1:8080/v1",
        "http://127.9.9.9/v1",
        "http://[::1]:8080/v1",
        "http://[::ffff:127.0.0.1]/v1",
        "http://0.0.0.0:8080/v1",
        "http://LOCALHOST:8080/v1",
        "https://models.localhost/v1",
    ] {
        assert!(is_here(here), "{here}");
    }
    for elsewhere in ["http://128.0.0.1/v1", "http://127.0.0.1.example/v1", "http://localhost.example/v1"] {
        assert!(!is_here(elsewhere), "{elsewhere}");
    }
}

/// Answers the first request of a connection, and ends it at the second without a word.
async fn answer_once(mut connection: TcpStream) {
    let mut request = [0; 4096];
    assert!(connection.read(&mut request).await.is_ok_and(|length| length > 0));
    let answer = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
    connection.write_all(answer).await.expect("the client reads");
    drop(connection.read(&mut request).await);
}

/// A server of which each connection is served by `serve`, and how many it had.
async fn server<F>(serve: fn(TcpStream) -> F) -> (Arc<Endpoint>, Arc<AtomicUsize>)
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
    let base_url = format!("http://{}/v1", listener.local_addr().expect("a listener has an address"));
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(serve(connection));
        }
    });
    (Arc::new(Endpoint::new(&base_url, "model").expect("a good URL")), connections)
}

async fn post_one(endpoint: &Arc<Endpoint>) -> Result<Answer, ModelError> {
    post(endpoint, Wire::Chat, "chat/completions", "{}".to_owned()).await
}

#[tokio::test]
async fn a_kept_connection_that_its_server_ended_is_replaced() {
    let (endpoint, connections) = server(answer_once).await;
    for _ in 0..2 {
        let answer = post_one(&endpoint).await.expect("an answer");
        assert!(matches!(answer, Answer::Whole(body) if body == "{}"));
    }
    assert_eq!(connections.load(Ordering::Relaxed), 2);
}

/// Answers the first request of a connection with a body of this type, in pieces.
async fn answer_in_pieces(mut connection: TcpStream, kind: &str, pieces: &[&str]) {
    let mut request = [0; 4096];
    assert!(connection.read(&mut request).await.is_ok_and(|length| length > 0));
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n");
    connection.write_all(head.as_bytes()).await.expect("the client reads");
    for piece in pieces {
        let chunk = format!("{:x}\r\n{piece}\r\n", piece.len());
        connection.write_all(chunk.as_bytes()).await.expect("the client reads");
    }
    connection.write_all(b"0\r\n\r\n").await.expect("the client reads");
}

/// What an answer of this type in these pieces is taken for.
macro_rules! taken_for {
    ($kind:literal, $pieces:expr) => {{
        let (endpoint, _) = server(|connection| answer_in_pieces(connection, $kind, &$pieces)).await;
        match post_one(&endpoint).await {
            Ok(Answer::Stream(events)) => sse::data(events).collect::<Vec<_>>().await.join(" "),
            Ok(Answer::Whole(body)) => format!("whole: {}", body.trim()),
            Ok(Answer::Cut { bytes, error }) => format!("{bytes} bytes, then {:?}", error.kind),
            Err(error) => format!("{:?}", error.kind),
        }
    }};
}

#[tokio::test]
async fn events_are_known_by_how_they_begin_whatever_their_type_says() {
    assert_eq!(taken_for!("application/json", ["data: 1\n\n"]), "1 => closed");
    assert_eq!(taken_for!("application/json", ["\n", "eve", "nt: e\ndata: 1\n\n"]), "1 => closed");
    assert_eq!(taken_for!("application/json", [": wait\n\n", "data: 1\n\n"]), "1 => closed");
    assert_eq!(taken_for!("text/plain", ["\n", "data: 1\n\n"]), "1 => closed");
    assert_eq!(taken_for!("text/event-stream", ["d", "ata: 1\n\n"]), "1 => closed");
    assert_eq!(taken_for!("text/event-stream", ["\n\n"]), "=> closed");
}

#[tokio::test]
async fn json_is_whole_whatever_blanks_come_before_it() {
    assert_eq!(taken_for!("application/json", ["\n", " \n", "{}"]), "whole: {}");
    assert_eq!(taken_for!("text/plain", ["\n\n", "[{}]"]), "whole: [{}]");
    assert_eq!(taken_for!("application/json", ["rubbish"]), "whole: rubbish");
    assert_eq!(taken_for!("text/event-stream", ["\n", "{", "}"]), "whole: {}");
    assert_eq!(taken_for!("application/json\r\nContent-Encoding: Identity", ["{}"]), "whole: {}");
    assert_eq!(taken_for!("application/json", ["\n", " "]), "Malformed");
}

#[tokio::test]
async fn a_whole_body_that_breaks_off_says_how_much_of_it_came() {
    let (endpoint, _) = server(|mut connection| async move {
        assert!(connection.read(&mut [0; 4096]).await.is_ok_and(|length| length > 0));
        let half =
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"half\"";
        connection.write_all(half.as_bytes()).await.expect("the client reads");
    })
    .await;
    let told = match post_one(&endpoint).await {
        Ok(Answer::Cut { bytes, error }) => (bytes, error.kind),
        _ => panic!("it did not break off"),
    };
    assert_eq!(told, (7, ErrorKind::Interrupted));
}

#[tokio::test]
async fn a_mark_of_byte_order_is_no_part_of_a_body() {
    assert_eq!(taken_for!("application/json", ["\u{feff}{}"]), "whole: {}");
    assert_eq!(taken_for!("application/json", ["\u{feff}", "{}"]), "whole: {}");
    assert_eq!(taken_for!("application/json", ["\u{feff}data: 1\n\n"]), "1 => closed");
    assert_eq!(taken_for!("text/plain", ["\n\u{feff}[{}]"]), "whole: [{}]");
    assert_eq!(taken_for!("text/event-stream", ["\u{feff}data: 1\n\n"]), "1 => closed");
}

#[tokio::test]
async fn a_new_connection_that_its_server_ends_is_an_error() {
    let (endpoint, connections) = server(|mut connection| async move {
        drop(connection.read(&mut [0; 4096]).await);
    })
    .await;
    let error = post_one(&endpoint).await.err().expect("no answer");
    assert_eq!((error.kind, connections.load(Ordering::Relaxed)), (ErrorKind::Network, 1));
}
