//! What real servers sent, byte for byte, read over real HTTP: each recording has its story, and what the story says is
//! counted once more from the raw JSON, without the decoders.
//!
//! The recordings are named `SERVER-WIRE-CASE`, with the request beside the reply. llama-server and litellm are what
//! they say; aimock stands in for the hosted services.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    io::{BufRead, BufReader, Read, Write as _},
    net::{TcpListener, TcpStream},
    thread,
};

use askls::{
    model::{Finish, ModelError, ModelEvent, Retry, http::Endpoint},
    protocol::{Item, Usage, Wire},
};
use expect_test::{ExpectFile, expect_file};
use futures::StreamExt;
use serde_json::Value;

use super::{client, line, request, user};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/captures/recorded");

/// One reply as it was recorded.
pub(crate) struct Capture {
    name: String,
    /// `None` where the server closed the connection without a word.
    pub(crate) reply: Option<Reply>,
    /// The bound that the request set.
    max_output_tokens: Option<u64>,
}

/// The recordings hold bodies only; the head is what these servers send with them.
pub(crate) struct Reply {
    status: u16,
    content_type: &'static str,
    pub(crate) body: String,
}

impl Capture {
    pub(crate) fn all(wire: Wire) -> Vec<Self> {
        let infix = format!("-{wire}-");
        let mut captures: BTreeMap<String, Self> = BTreeMap::new();
        for entry in fs::read_dir(FOLDER).expect("the recordings") {
            let path = entry.expect("a file").path();
            let file = path.file_name().and_then(|name| name.to_str()).expect("a plain name");
            let (name, kind) = file.split_once('.').expect("an extension");
            if !name.contains(&infix) {
                continue;
            }
            let text = fs::read_to_string(&path).expect("a recording");
            let capture = captures.entry(name.to_owned()).or_insert_with(|| Self {
                name: name.to_owned(),
                reply: None,
                max_output_tokens: None,
            });
            match kind {
                "req.json" => {
                    let json: Value = serde_json::from_str(&text).expect("a request");
                    capture.max_output_tokens = ["max_output_tokens", "max_tokens"]
                        .iter()
                        .find_map(|member| json.get(member)?.as_u64());
                }
                _ => capture.reply = Some(Reply::of(text)),
            }
        }
        captures.into_values().collect()
    }
}

impl Reply {
    fn of(body: String) -> Self {
        if body.starts_with("event:") || body.starts_with("data: {\"") && !body.starts_with("data: {\"error")
        {
            return Self { status: 200, content_type: "text/event-stream", body };
        }
        // litellm tells of a stream that did not begin by an event, with a status.
        if body.starts_with("data:") {
            return Self { status: 500, content_type: "text/event-stream", body };
        }
        let status = serde_json::from_str(&body).map_or(200, |json| status(&json));
        Self { status, content_type: "application/json", body }
    }
}

/// The status that goes with an error; 200 for what is none.
fn status(json: &Value) -> u16 {
    let error = match (json.get("error"), json.get("detail")) {
        (Some(error), _) if !error.is_null() => error,
        (_, Some(_)) => return 404,
        _ => return 200,
    };
    let word = |member: &str| error.get(member).and_then(Value::as_str).unwrap_or_default();
    let number = error.get("code").and_then(Value::as_u64).and_then(|code| code.try_into().ok());
    if let Some(status) = number.or_else(|| word("code").parse().ok()) {
        return status;
    }
    if word("message") == "No fixture matched" || word("code") == "model_not_found" {
        return 404;
    }
    match word("type") {
        "not_found" => 404,
        "authentication_error" => 401,
        "rate_limit_error" => 429,
        "overloaded_error" => 529,
        "api_error" | "server_error" => 500,
        _ => 400,
    }
}

/// Answers every request; the base URL.
fn serve(reply: Option<&Reply>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let base_url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let answer = reply.map(|Reply { status, content_type, body }| {
        let length = body.len();
        // Only one of the servers says when to come back.
        let wait = if *status == 429 && !body.contains("litellm") { "retry-after: 1\r\n" } else { "" };
        format!(
            "HTTP/1.1 {status} Said\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n{wait}connection: close\r\n\r\n{body}"
        )
    });
    // A client may ask again without what was refused. The thread waits for it until the process ends.
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a client");
            read_request(&stream);
            if let Some(answer) = &answer {
                stream.write_all(answer.as_bytes()).expect("the client reads");
            }
        }
    });
    base_url
}

fn read_request(stream: &TcpStream) {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a header");
        if line.trim().is_empty() {
            break;
        }
        if let Some(number) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
            length = number.trim().parse().expect("a length");
        }
    }
    reader.read_exact(&mut vec![0; length]).expect("a body");
}

/// What a reply was.
#[derive(Default)]
struct Told {
    shown: String,
    thought: String,
    items: Vec<Item>,
    end: Option<Result<(Finish, Option<Usage>), ModelError>>,
}

async fn ask(wire: Wire, capture: &Capture) -> Told {
    let mut endpoint = Endpoint::new(&serve(capture.reply.as_ref()), "some-model").expect("a good base URL");
    endpoint.options.max_output_tokens = capture.max_output_tokens;
    let client = client(wire, endpoint);
    let mut told = Told::default();
    let mut events = match client.stream(request(&[user("2+2?")], &[])).await {
        Ok(events) => events,
        Err(error) => return Told { end: Some(Err(error)), ..told },
    };
    while let Some(event) = events.next().await {
        assert!(told.end.is_none(), "{}: something follows the end: {event:?}", capture.name);
        match event {
            Ok(ModelEvent::TextDelta(text)) => told.shown.push_str(&text),
            Ok(ModelEvent::ReasoningDelta(text)) => told.thought.push_str(&text),
            Ok(ModelEvent::Used(_) | ModelEvent::Unheard(_) | ModelEvent::Estimated) => {}
            Ok(ModelEvent::Item(item)) => told.items.push(item),
            Ok(ModelEvent::Done { finish, usage }) => told.end = Some(Ok((finish, usage))),
            Err(error) => told.end = Some(Err(error)),
        }
    }
    assert!(told.end.is_some(), "{}: no end", capture.name);
    told
}

fn story(told: &Told) -> String {
    let mut story = String::new();
    for (name, text) in [("thought", &told.thought), ("shown", &told.shown)] {
        if !text.is_empty() {
            writeln!(story, "{name}: {text}").expect("strings take everything");
        }
    }
    for item in &told.items {
        writeln!(story, "{}", line(item)).expect("strings take everything");
    }
    let end = match &told.end {
        None => "no end".to_owned(),
        Some(Ok((finish, None))) => format!("{finish:?}"),
        Some(Ok((finish, Some(usage)))) => {
            let Usage { input_tokens, cached_tokens, output_tokens, .. } = usage;
            format!("{finish:?}; tokens in {input_tokens} ({cached_tokens} cached), out {output_tokens}")
        }
        Some(Err(error)) => {
            let retry = match error.retry {
                Retry::Never => "not asked again".to_owned(),
                Retry::Later => "asked again later".to_owned(),
                Retry::After(wait) => format!("asked again after {wait:?}"),
            };
            format!("error {:?}, {retry}", error.kind)
        }
    };
    writeln!(story, "=> {end}").expect("strings take everything");
    story
}

/// What the raw JSON of a reply says, put together without any of the decoders' care.
#[derive(Debug, Default, PartialEq, Eq)]
struct Raw {
    text: String,
    /// Names and arguments.
    calls: Vec<(String, String)>,
    /// Of the request and of the reply.
    tokens: (u64, u64),
}

impl Raw {
    fn of(wire: Wire, body: &str) -> Self {
        let mut raw = Self::default();
        if body.starts_with('{') {
            raw.add(wire, &serde_json::from_str(body).expect("a recorded answer"));
        }
        for data in body.lines().filter_map(|line| line.strip_prefix("data: ")) {
            if data != "[DONE]" {
                raw.add(wire, &serde_json::from_str(data).expect("a recorded event"));
            }
        }
        raw
    }

    fn add(&mut self, wire: Wire, json: &Value) {
        match wire {
            Wire::Chat => self.add_chat(json),
            Wire::Responses => self.add_responses(json),
            Wire::Messages => self.add_messages(json),
        }
    }

    fn text(&mut self, value: Option<&Value>) {
        self.text.push_str(value.and_then(Value::as_str).unwrap_or_default());
    }

    fn call(&mut self, name: &Value, arguments: &str) {
        self.calls.push((name.as_str().unwrap_or_default().to_owned(), arguments.to_owned()));
    }

    fn add_chat(&mut self, json: &Value) {
        for part in ["/choices/0/delta", "/choices/0/message"] {
            let Some(part) = json.pointer(part) else { continue };
            self.text(part.get("content"));
            for call in part["tool_calls"].as_array().into_iter().flatten() {
                let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
                match self.calls.get_mut(call["index"].as_u64().map_or(usize::MAX, |index| index as usize)) {
                    Some((_, begun)) => begun.push_str(arguments),
                    None => self.call(&call["function"]["name"], arguments),
                }
            }
        }
        let tokens = |member: &str| json["usage"][member].as_u64();
        self.tokens.0 = tokens("prompt_tokens").unwrap_or(self.tokens.0);
        self.tokens.1 = tokens("completion_tokens").unwrap_or(self.tokens.1);
    }

    fn add_responses(&mut self, json: &Value) {
        let output = json["output"].as_array().into_iter().flatten();
        let done = (json["type"] == "response.output_item.done").then_some(&json["item"]);
        for item in output.clone().chain(done) {
            if item["type"] == "function_call" {
                self.call(&item["name"], item["arguments"].as_str().unwrap_or_default());
            }
        }
        for item in output {
            self.text(item.pointer("/content/0/text"));
        }
        if json["type"] == "response.output_text.delta" {
            self.text(json.get("delta"));
        }
        for usage in [&json["usage"], &json["response"]["usage"]] {
            self.tokens.0 = usage["input_tokens"].as_u64().unwrap_or(self.tokens.0);
            self.tokens.1 = usage["output_tokens"].as_u64().unwrap_or(self.tokens.1);
        }
    }

    fn add_messages(&mut self, json: &Value) {
        let begun = (json["type"] == "content_block_start").then_some(&json["content_block"]);
        for block in json["content"].as_array().into_iter().flatten().chain(begun) {
            match block["type"].as_str() {
                Some("text") => self.text(block.get("text")),
                Some("tool_use") => {
                    let whole = block["input"].as_object().filter(|input| !input.is_empty());
                    let input = whole.map(|_| block["input"].to_string()).unwrap_or_default();
                    self.call(&block["name"], &input);
                }
                _ => {}
            }
        }
        self.text(json.pointer("/delta/text"));
        // The blocks of these recordings do not interleave.
        if let (Some(more), Some((_, begun))) =
            (json.pointer("/delta/partial_json").and_then(Value::as_str), self.calls.last_mut())
        {
            begun.push_str(more);
        }
        for usage in [&json["usage"], &json["message"]["usage"]] {
            let tokens = |member: &str| usage[member].as_u64();
            if let Some(input) = tokens("input_tokens") {
                let cached = ["cache_read_input_tokens", "cache_creation_input_tokens"];
                self.tokens.0 = input + cached.iter().filter_map(|member| tokens(member)).sum::<u64>();
            }
            self.tokens.1 = tokens("output_tokens").unwrap_or(self.tokens.1);
        }
    }
}

/// The same facts of what the client told.
fn facts(told: &Told) -> Raw {
    let calls = told.items.iter().filter_map(|item| match item {
        Item::Call(call) => Some((call.name.clone(), call.arguments.clone())),
        _ => None,
    });
    let usage = match &told.end {
        Some(Ok((_, Some(usage)))) => *usage,
        _ => Usage::default(),
    };
    Raw {
        text: told.shown.clone(),
        calls: calls.collect(),
        tokens: (usage.input_tokens, usage.output_tokens),
    }
}

async fn check(wire: Wire, least: usize, expected: ExpectFile) {
    let captures = Capture::all(wire);
    assert!(captures.len() >= least, "only {} recordings of {wire}", captures.len());
    let mut stories = String::new();
    for capture in &captures {
        let told = ask(wire, capture).await;
        if let (Some(Ok(_)), Some(reply)) = (&told.end, &capture.reply) {
            assert_eq!(facts(&told), Raw::of(wire, &reply.body), "{} tells what was sent", capture.name);
        }
        write!(stories, "# {}\n{}\n", capture.name, story(&told)).expect("strings take everything");
    }
    expected.assert_eq(&stories);
}

#[tokio::test]
async fn recorded_chat_replies_tell_what_was_recorded() {
    check(Wire::Chat, 80, expect_file!["../captures/stories-chat.txt"]).await;
}

#[tokio::test]
async fn recorded_responses_tell_what_was_recorded() {
    check(Wire::Responses, 55, expect_file!["../captures/stories-responses.txt"]).await;
}

#[tokio::test]
async fn recorded_messages_tell_what_was_recorded() {
    check(Wire::Messages, 50, expect_file!["../captures/stories-messages.txt"]).await;
}
