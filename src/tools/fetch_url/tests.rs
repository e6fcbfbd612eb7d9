use std::sync::{Arc, Mutex};

use expect_test::{Expect, expect};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use super::*;
use crate::{
    protocol::ToolCall,
    tools::{Toolbox, testing::Project},
};

/// What a site answers with on a path.
enum Route {
    /// These bytes, and the end of the connection.
    Bytes(Vec<u8>),
    /// A text without end.
    Endless,
    Silence,
}

/// A site on this machine, which keeps the heads of its requests.
struct Site {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Site {
    async fn start(routes: Vec<(&'static str, Route)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let (kept, routes) = (Arc::clone(&heads), Arc::new(routes));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, Arc::clone(&routes), Arc::clone(&kept)));
            }
        });
        Self { port, heads }
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    /// The paths that were asked for.
    fn paths(&self) -> Vec<String> {
        self.heads().iter().filter_map(|head| head.split(' ').nth(1).map(str::to_owned)).collect()
    }

    /// A project whose user names this site.
    fn project(&self) -> Project {
        let mut project = Project::new("");
        let hosts = vec![format!("127.0.0.1:{}", self.port).parse().unwrap()];
        project.settings.fetch = Some(Settings { hosts, ..Settings::default() });
        project.settings.outputs = Some(Outputs::new(project.path("outputs")));
        project
    }

    /// What a call for a path answers, with `$` for the site.
    async fn fetch(&self, path: &str) -> String {
        let here = format!("127.0.0.1:{}", self.port);
        let answer = self.project().call("fetch_url", json!({"url": format!("http://{here}{path}")})).await;
        answer.replace(&here, "$")
    }

    async fn check(&self, path: &str, expected: Expect) {
        expected.assert_eq(&self.fetch(path).await);
    }
}

async fn answer(
    mut stream: TcpStream,
    routes: Arc<Vec<(&'static str, Route)>>,
    heads: Arc<Mutex<Vec<String>>>,
) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8(head).unwrap();
    let path = head.split(' ').nth(1).unwrap().to_owned();
    heads.lock().unwrap().push(head);
    match routes.iter().find(|(known, _)| *known == path).map(|(_, route)| route) {
        Some(Route::Bytes(bytes)) => stream.write_all(bytes).await,
        Some(Route::Endless) => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n").await?;
            loop {
                stream.write_all(&[b'x'; 4096]).await?;
            }
        }
        Some(Route::Silence) => std::future::pending().await,
        None => stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").await,
    }
}

fn page(content_type: &str, body: impl AsRef<[u8]>) -> Route {
    let body = body.as_ref();
    let head =
        format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\r\n", body.len());
    Route::Bytes([head.as_bytes(), body].concat())
}

fn redirect(to: &str) -> Route {
    Route::Bytes(format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n").into_bytes())
}

fn prepared(settings: Settings, url: &str) -> crate::tools::Prepared {
    let settings = ToolSettings { fetch: Some(settings), ..ToolSettings::default() };
    let arguments = json!({"url": url}).to_string();
    let call = ToolCall { id: "1".into(), name: "fetch_url".into(), arguments, raw: None };
    Toolbox::standard(&settings).prepare(&call).unwrap()
}

// SPEC T13
#[test]
fn nothing_is_fetched_unless_it_is_switched_on() {
    assert!(!Toolbox::standard(&ToolSettings::default()).has("fetch_url"));
    let on = ToolSettings { fetch: Some(Settings::default()), ..ToolSettings::default() };
    assert!(Toolbox::standard(&on).has("fetch_url"));
    assert!(!Toolbox::standard(&on).only_reading().has("fetch_url"));
}

#[test]
fn a_question_shows_the_host_and_then_the_address() {
    assert_eq!(
        prepared(Settings::default(), "https://Docs.rs/a?b=c").preview,
        "read from docs.rs: https://docs.rs/a?b=c"
    );
    assert_eq!(
        prepared(Settings::default(), "https://аррӏе.com/\u{202e}x").preview,
        "read from xn--80ak6aa92e.com: https://xn--80ak6aa92e.com/%E2%80%AEx"
    );
}

#[test]
fn a_question_shows_both_ends_of_a_long_address_and_says_what_it_leaves_out() {
    let long = format!("https://docs.rs/{}/end?q=1", "a".repeat(1_500));
    let preview = prepared(Settings::default(), &long).preview;
    assert!(preview.starts_with("read from docs.rs: https://docs.rs/aaa"), "{preview}");
    assert!(
        preview.ends_with("a/end?q=1") && preview.contains("a… (1004 characters are left out here) …a"),
        "{preview}"
    );
    assert!(preview.chars().count() < 700);
    // Of a key at a cut nothing is shown that its mask would not cover.
    let key = "ghp_0123456789abcdefghij0123456789abcdefgh";
    let with_key = format!("https://docs.rs/{}/{key}/{}", "a".repeat(370), "b".repeat(1_500));
    let preview = prepared(Settings::default(), &with_key).preview;
    assert!(!preview.contains("ghp_0"), "{preview}");
}

#[test]
fn an_address_that_carries_a_key_asks_whatever_is_allowed() {
    let access = |url: &str| prepared(Settings::default(), url).access;
    assert_eq!(access("https://a.example/x?q=tokio").suspicion, None);
    for url in [
        "https://a.example/ghp_0123456789abcdefghij0123456789abcdefgh",
        "https://a.example/?q=%67hp_0123456789abcdefghij0123456789abcdefgh",
        "https://a.example/?api_key=f3a9c1d27b804e56a1c2d3e4f5a6b7c8",
    ] {
        assert!(access(url).suspicion.is_some(), "{url}");
    }
    let refused = access("http://169.254.169.254/latest/meta-data/").refused.unwrap();
    assert!(refused.contains("is not on the public internet"), "{refused}");
}

#[tokio::test]
async fn a_page_comes_as_text_and_the_request_says_nothing_of_the_user() {
    let site = Site::start(vec![
        ("/a?b=c", page("text/html; charset=utf-8", "<title>T</title><h1>Über</h1><a href=/d>d</a>")),
        ("/data", page("application/json", r#"{"a":1}"#)),
    ])
    .await;
    let shown = site.fetch("/a?b=c#part").await;
    expect![[r#"
        http://$/a?b=c (text/html)
        Title: T
        # Über

        [d](http://$/d)"#]]
    .assert_eq(&shown);
    site.check(
        "/data",
        expect![[r#"
        http://$/data (application/json)
        {"a":1}"#]],
    )
    .await;
    let head = site.heads()[0].to_ascii_lowercase();
    let names: Vec<&str> = head.lines().skip(1).filter_map(|line| Some(line.split_once(':')?.0)).collect();
    expect![[r#"accept, user-agent, accept-encoding, host"#]].assert_eq(&names.join(", "));
    assert!(head.contains(concat!("user-agent: askls/", env!("CARGO_PKG_VERSION"))), "{head}");
}

#[tokio::test]
async fn what_is_no_page_is_said() {
    let site = Site::start(vec![
        ("/png", page("image/png", [0x89, b'P', b'N', b'G'])),
        ("/liar", page("text/plain", "a\0b")),
        (
            "/cut",
            Route::Bytes(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 9\r\n\r\nabc".to_vec(),
            ),
        ),
        (
            "/br",
            Route::Bytes(b"HTTP/1.1 200 OK\r\ncontent-encoding: br\r\ncontent-length: 1\r\n\r\nx".to_vec()),
        ),
        ("/empty", page("text/plain", "")),
    ])
    .await;
    site.check("/png", expect!["error: this is image/png of 4 bytes and no text, which cannot be shown"])
        .await;
    site.check("/liar", expect!["error: this is text/plain of 3 bytes and no text, which cannot be shown"])
        .await;
    site.check("/gone", expect!["error: 127.0.0.1 answered 404 Not Found"]).await;
    site.check("/br", expect!["error: 127.0.0.1 packed the page as br, which was not asked for"]).await;
    site.check(
        "/empty",
        expect![[r#"
        http://$/empty (text/plain)
        (no text)"#]],
    )
    .await;
    let cut = site.fetch("/cut").await;
    assert!(cut.starts_with("error: the answer of 127.0.0.1 broke off: "), "{cut}");
}

#[tokio::test]
async fn a_redirect_is_followed_only_to_where_the_user_said_yes() {
    let elsewhere = Site::start(vec![("/", page("text/plain", "private"))]).await;
    let site = Site::start(vec![
        ("/old", redirect("/new")),
        ("/new", page("text/plain", "new")),
        ("/circle", redirect("/circle")),
        ("/private", redirect(&format!("http://127.0.0.1:{}/", elsewhere.port))),
        ("/metadata", redirect("http://169.254.169.254/latest/")),
        ("/other", redirect("https://b.example/x")),
        ("/file", redirect("file:///etc/passwd")),
        ("/nowhere", Route::Bytes(b"HTTP/1.1 301 Moved\r\ncontent-length: 0\r\n\r\n".to_vec())),
    ])
    .await;
    site.check(
        "/old",
        expect![[r#"
        http://$/new (text/plain)
        new"#]],
    )
    .await;
    site.check("/metadata", expect!["error: 127.0.0.1 redirects to http://169.254.169.254/latest/, which is not followed: 169.254.169.254 is not on the public internet, and fetch_hosts of the user's settings does not name it"]).await;
    site.check("/other", expect!["error: 127.0.0.1 redirects to another host, which is not followed by itself: call fetch_url with https://b.example/x if that is what you want"]).await;
    site.check("/file", expect!["error: 127.0.0.1 redirects to file:///etc/passwd, which is not followed: only http:// and https:// addresses are fetched, not file:"]).await;
    site.check("/nowhere", expect!["error: 127.0.0.1 redirects without saying where to"]).await;
    let private = site.fetch("/private").await;
    assert!(private.contains("which is not followed: 127.0.0.1 is not on the public internet"), "{private}");
    assert_eq!(elsewhere.paths(), [] as [&str; 0]);
    let before = site.paths().len();
    site.check("/circle", expect!["error: 127.0.0.1 redirects more than 5 times"]).await;
    assert_eq!(site.paths().len() - before, 6);
}

#[tokio::test]
async fn what_the_user_did_not_name_is_not_even_connected_to() {
    let site = Site::start(vec![("/", page("text/plain", "private"))]).await;
    let mut project = site.project();
    project.settings.fetch = Some(Settings::default());
    for host in ["127.0.0.1", "127.1", "2130706433", "localhost", "[::ffff:7f00:1]"] {
        let url = format!("http://{host}:{}/", site.port);
        let answer = project.call("fetch_url", json!({"url": url})).await;
        assert!(answer.contains("is not on the public internet"), "{url}: {answer}");
    }
    assert_eq!(site.paths(), [] as [&str; 0]);
}

#[tokio::test]
async fn a_page_without_end_is_cut_and_a_long_one_can_be_paged() {
    let lines: String = (0..3_000).map(|line| format!("line {line}\n")).collect();
    let site = Site::start(vec![("/endless", Route::Endless), ("/long", page("text/plain", &lines))]).await;
    assert!(site.fetch("/endless").await.contains("\nnote: the page goes on; more of it was not read"));
    let project = site.project();
    let url = format!("http://127.0.0.1:{}/long", site.port);
    let answer = project.call("fetch_url", json!({"url": url})).await;
    assert!(answer.contains("left out here") && answer.len() < 60_000, "{}", answer.len());
    let name = answer.rsplit_once("the whole text is ").unwrap().1.split(';').next().unwrap();
    let paged = project.call("read_file", json!({"path": name, "start_line": 1501, "end_line": 1501})).await;
    assert!(paged.ends_with("  1501\tline 1500\n"), "{paged}");
}

#[tokio::test]
async fn a_cancelled_fetch_ends_at_once() {
    let site = Site::start(vec![("/silence", Route::Silence)]).await;
    let project = site.project();
    let cancel = project.context.cancel.clone();
    let call = project.call("fetch_url", json!({"url": format!("http://127.0.0.1:{}/silence", site.port)}));
    let cancelled_once_asked = async {
        while site.paths().is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (answer, ()) = tokio::join!(call, cancelled_once_asked);
    assert_eq!(answer, "error: the turn was stopped before this call was done");
}
