//! askls itself, with a real model server and nothing else.

use std::{ffi::OsStr, process::Stdio};

use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{ChildStdout, Command},
};

use super::server::{Server, WINDOW};

/// askls in a folder of its own, without settings, keys and other servers.
struct Askls {
    folder: TempDir,
}

impl Askls {
    fn new() -> Self {
        let folder = TempDir::new().expect("a folder");
        std::fs::write(folder.path().join("sea.txt"), "The sea is calm.\n").expect("a file");
        Self { folder }
    }

    fn command<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_askls"));
        let home = self.folder.path();
        command
            .args(arguments)
            .current_dir(home)
            .env_clear()
            .env("HOME", home)
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("XDG_CACHE_HOME", home.join("cache"))
            // Where nothing listens.
            .env("OLLAMA_HOST", "127.0.0.1:1")
            .env("LLAMA_ARG_PORT", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }
}

async fn run(command: &mut Command) -> (Option<i32>, String, String) {
    let output = command.output().await.expect("askls runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("askls writes UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Reads events up to one of this type.
async fn until(events: &mut BufReader<ChildStdout>, kind: &str) -> Value {
    let mut line = String::new();
    loop {
        line.clear();
        let length = events.read_line(&mut line).await.expect("events can be read");
        assert_ne!(length, 0, "the events ended before {kind}");
        let event: Value = serde_json::from_str(&line).expect("an event is JSON");
        if event["type"] == kind {
            return event;
        }
    }
}

#[tokio::test]
#[ignore = "needs a model server: tests/run models"]
async fn a_running_server_is_found_by_its_port() {
    let server = Server::start(&[]).await;
    let port = server.port().to_string();
    let (code, stdout, stderr) =
        run(Askls::new().command(["status", "--json"]).env("LLAMA_ARG_PORT", port)).await;
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    let status: Value = serde_json::from_str(&stdout).expect("the status is JSON");
    assert_eq!(status["server"], server.base_url());
    assert_eq!((&status["model"], &status["wire"]), (&"smol".into(), &"chat".into()));
}

#[tokio::test]
#[ignore = "needs a model server: tests/run models"]
async fn a_question_is_answered_by_the_server() {
    // Its own template offers no tools: the model says something, and at most this much.
    let server = Server::start(&["--chat-template", "chatml", "--predict", "48"]).await;
    let arguments = ["ask", "--json", "--base-url", &server.base_url(), "Say hello."];
    let (code, stdout, stderr) = run(&mut Askls::new().command(arguments)).await;
    let events: Vec<Value> =
        stdout.lines().map(|line| serde_json::from_str(line).expect("an event is JSON")).collect();
    let end = events.last().unwrap_or_else(|| panic!("no event: {stderr}"));
    // Whether the small model comes to an end by itself is its own affair; that the code says it is not.
    let reason = end["stop_reason"].as_str();
    assert!(
        matches!((reason, code), (Some("answer"), Some(0)) | (Some("limit"), Some(1))),
        "{code:?}: {end}"
    );
    let shown: String = events
        .iter()
        .filter(|event| event["type"] == "text")
        .filter_map(|event| event["text"].as_str())
        .collect();
    assert!(!shown.trim().is_empty(), "{end}");
    assert_eq!(end["answer"], shown);
    assert!(end["input_tokens"].as_u64() > Some(0) && end["output_tokens"].as_u64() > Some(0), "{end}");
}

#[cfg(unix)]
#[tokio::test]
#[ignore = "needs a model server: tests/run models"]
async fn an_interrupt_stops_the_server_as_well() {
    let mut server = Server::start(&["--chat-template", "chatml", "--ignore-eos"]).await;
    let askls = Askls::new();
    let arguments = ["ask", "--json", "--base-url", &server.base_url(), "Tell me about the sea."];
    let mut child = askls.command(arguments).spawn().expect("askls runs");
    let mut events = BufReader::new(child.stdout.take().expect("stdout is piped"));
    until(&mut events, "text").await;
    let pid = child.id().expect("it runs").to_string();
    let sent = std::process::Command::new("kill").args([OsStr::new("-INT"), pid.as_ref()]).status();
    assert!(sent.expect("kill runs").success());
    let end = until(&mut events, "turn_ended").await;
    assert_eq!(end["stop_reason"], "cancelled");
    assert_eq!(child.wait().await.expect("it ends").code(), Some(130));
    server.until_idle().await;
    // The model never comes to an end by itself, so that it would have filled the window.
    let written = server.tokens_written().await;
    assert!(written < u64::from(WINDOW / 4), "the server wrote {written} tokens");
}
