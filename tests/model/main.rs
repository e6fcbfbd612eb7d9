//! The clients of all wires over real HTTP, against the fake model server: the same script tells the same story on each.

#![expect(clippy::expect_used, reason = "a test fails where its machine does")]

mod servers;

#[path = "../lsp/support"]
mod support {
    pub(crate) mod model;
}

mod any_bytes;
mod captures;
mod judge;
mod llama;
mod matrix;
mod shapes;
mod wishes;

use std::{fmt::Write, time::Duration};

use askls::{
    model::{
        Finish, ModelClient, ModelError, ModelEvent, Request, Retry, ToolChoice, ToolSpec,
        chat::ChatClient,
        http::{Endpoint, Probed, probe},
        messages::MessagesClient,
        responses::ResponsesClient,
    },
    protocol::{AgentMessage, Item, MessageState, ToolCall, ToolOutput, UserMessage, Wire},
};
use expect_test::{Expect, expect};
use futures::StreamExt;
use serde_json::json;
use support::model::{
    FakeModel, MODEL, Reply, busy, bytes, call, empty, raw_sse, reasoning, refusal, stall, status, text,
};

const WIRES: [Wire; 3] = [Wire::Responses, Wire::Chat, Wire::Messages];

/// The key that no message may show.
const KEY: &str = "sk-secret-0123456789";

/// Long enough for a busy machine, short enough for a test that waits for silence.
const SHORT: Duration = Duration::from_secs(2);

fn endpoint(base_url: &str) -> Endpoint {
    let mut endpoint = Endpoint::new(base_url, MODEL).expect("a good base URL");
    endpoint.key = Some(KEY.into());
    endpoint.key_source = Some("the environment variable TEST_KEY".to_owned());
    endpoint
}

fn client(wire: Wire, endpoint: Endpoint) -> Box<dyn ModelClient> {
    match wire {
        Wire::Responses => Box::new(ResponsesClient::new(endpoint)),
        Wire::Chat => Box::new(ChatClient::new(endpoint)),
        Wire::Messages => Box::new(MessagesClient::new(endpoint)),
    }
}

fn tools() -> [ToolSpec; 1] {
    let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    [ToolSpec { name: "read_file".to_owned(), description: "reads a file".to_owned(), parameters }]
}

fn request<'a>(items: &'a [Item], tools: &'a [ToolSpec]) -> Request<'a> {
    Request {
        instructions: "be brief",
        items,
        tools,
        tool_choice: ToolChoice::Auto,
        answer_schema: None,
        cache_key: "thread-1",
    }
}

fn user(text: &str) -> Item {
    Item::User(UserMessage { text: text.to_owned(), context: None })
}

/// What one reply was: what was shown, its items, its end.
struct Step {
    lines: String,
    items: Vec<Item>,
    end: Result<Finish, ModelError>,
}

async fn step(client: &dyn ModelClient, items: &[Item]) -> Step {
    let (mut lines, mut produced) = (String::new(), Vec::new());
    let (mut shown, mut thought) = (String::new(), String::new());
    let tools = tools();
    let mut events = match client.stream(request(items, &tools)).await {
        Ok(events) => events,
        Err(error) => return Step { lines, items: produced, end: Err(error) },
    };
    let mut end = None;
    while let Some(event) = events.next().await {
        assert!(end.is_none(), "something follows the end: {event:?}");
        match event {
            Ok(ModelEvent::TextDelta(text)) => shown.push_str(&text),
            Ok(ModelEvent::ReasoningDelta(text)) => thought.push_str(&text),
            Ok(ModelEvent::Used(_) | ModelEvent::Unheard(_) | ModelEvent::Estimated) => {}
            Ok(ModelEvent::Item(item)) => produced.push(item),
            Ok(ModelEvent::Done { finish, usage }) => {
                if let Some(usage) = usage {
                    writeln!(lines, "usage: {usage:?}").expect("strings take everything");
                }
                end = Some(Ok(finish));
            }
            Err(error) => end = Some(Err(error)),
        }
    }
    for (name, text) in [("thought", thought), ("shown", shown)] {
        if !text.is_empty() {
            writeln!(lines, "{name}: {text}").expect("strings take everything");
        }
    }
    for item in &produced {
        writeln!(lines, "{}", line(item)).expect("strings take everything");
    }
    Step { lines, items: produced, end: end.expect("every stream has an end") }
}

fn line(item: &Item) -> String {
    match item {
        Item::User(message) => format!("user: {}", message.text),
        Item::Agent(AgentMessage { text, state: MessageState::Whole, .. }) => format!("agent: {text}"),
        Item::Agent(AgentMessage { text, state, .. }) => format!("agent ({state:?}): {text}"),
        Item::Reasoning(reasoning) => format!("reasoning: {}", reasoning.text),
        Item::Call(call) => format!("call: {} {}", call.name, call.arguments),
        Item::Output(output) => format!("output: {}", output.text),
        Item::Opaque(raw) => format!("opaque: {}", raw.json),
    }
}

/// A turn as short as can be: every call is answered, until a reply has none or ends badly.
async fn turn(client: &dyn ModelClient, items: &mut Vec<Item>) -> String {
    let mut story = String::new();
    loop {
        let step = step(client, items).await;
        story.push_str(&step.lines);
        let calls: Vec<_> = step
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Call(call) => Some(call.clone()),
                _ => None,
            })
            .collect();
        items.extend(step.items);
        let outputs = calls.iter().map(|call| {
            let text = format!("what {} gave", call.arguments);
            Item::Output(ToolOutput { call_id: call.id.clone(), text, is_error: false })
        });
        items.extend(outputs);
        match step.end {
            Ok(Finish::Stop) if !calls.is_empty() => story.push_str("---\n"),
            Ok(finish) => {
                writeln!(story, "=> {finish:?}").expect("strings take everything");
                return story;
            }
            Err(error) => {
                writeln!(story, "=> {}", describe(&error)).expect("strings take everything");
                return story;
            }
        }
    }
}

/// The error's kind and words.
fn describe(error: &ModelError) -> String {
    let kind = format!("{:?}", error.kind);
    let wait = match error.retry {
        Retry::After(wait) => format!(" (wait {wait:?})"),
        Retry::Later | Retry::Never => String::new(),
    };
    assert!(!format!("{error:?} {error}").contains(KEY), "the key is shown: {error:?}");
    format!("{kind}{wait}: {error}")
}

/// The story of a script is the same on every wire.
async fn check(script: impl Fn() -> Vec<Reply>, expected: Expect) {
    check_with(script, |_| {}, expected).await;
}

async fn check_with(script: impl Fn() -> Vec<Reply>, set: impl Fn(&mut Endpoint), expected: Expect) {
    let mut stories = Vec::new();
    for wire in WIRES {
        let model = FakeModel::start(wire, script());
        let mut endpoint = endpoint(&model.base_url());
        set(&mut endpoint);
        let server = endpoint.server();
        let client = client(wire, endpoint);
        let story = turn(&*client, &mut vec![user("2+2?")]).await;
        let path = match wire {
            Wire::Responses => "SERVER/responses",
            Wire::Chat => "SERVER/chat/completions",
            Wire::Messages => "SERVER/messages",
        };
        stories.push(story.replace(&server, "SERVER").replace(path, "ADDRESS"));
    }
    assert_eq!(stories[0], stories[1], "{} and {} tell different stories", WIRES[0], WIRES[1]);
    assert_eq!(stories[0], stories[2], "{} and {} tell different stories", WIRES[0], WIRES[2]);
    expected.assert_eq(&stories[0]);
}

fn read(path: &str) -> Reply {
    call("read_file", json!({ "path": path }))
}

// SPEC L1, L2, S15
#[tokio::test]
async fn a_turn_goes_on_until_a_reply_has_no_calls() {
    check(
        || vec![read("a"), read("b").usage(10, 8, 3, 2), text("it is 4").usage(20, 0, 5, 0)],
        expect![[r#"
            call: read_file {"path":"a"}
            ---
            usage: Usage { input_tokens: 10, cached_tokens: 8, cache_write_tokens: 0, output_tokens: 3, reasoning_tokens: 2 }
            call: read_file {"path":"b"}
            ---
            usage: Usage { input_tokens: 20, cached_tokens: 0, cache_write_tokens: 0, output_tokens: 5, reasoning_tokens: 0 }
            shown: it is 4
            agent: it is 4
            => Stop
        "#]],
    )
    .await;
}

// SPEC L6, S14, H1
#[tokio::test]
async fn thoughts_words_and_several_calls_of_one_reply_go_back_in_order() {
    for wire in WIRES {
        let think = reasoning("hm, two files").text("let me look");
        let script = [
            think.call("read_file", json!({"path": "a"})).call("read_file", json!({"path": "b"})),
            text("done"),
        ];
        let model = FakeModel::start(wire, script);
        let client = client(wire, endpoint(&model.base_url()));
        turn(&*client, &mut vec![user("2+2?")]).await;
        expect![[r#"
            [
                "user: 2+2?",
                "reasoning",
                "agent: let me look",
                "call: read_file {\"path\":\"a\"}",
                "call: read_file {\"path\":\"b\"}",
                "output: what {\"path\":\"a\"} gave",
                "output: what {\"path\":\"b\"} gave",
            ]
        "#]]
        .assert_debug_eq(&model.request(2).await.history());
    }
}

#[tokio::test]
async fn what_is_shown_is_the_text_of_the_items() {
    check(
        || vec![reasoning("let me see").text("it is 4, I think")],
        expect![[r#"
            thought: let me see
            shown: it is 4, I think
            reasoning: let me see
            agent: it is 4, I think
            => Stop
        "#]],
    )
    .await;
}

// SPEC S6
#[tokio::test]
async fn a_reply_cut_at_the_token_limit_is_partial() {
    check(
        || vec![text("it is").length()],
        expect![[r#"
            shown: it is
            agent (Partial): it is
            => Length
        "#]],
    )
    .await;
}

// SPEC E12
#[tokio::test]
async fn a_call_cut_at_the_token_limit_is_no_call() {
    check(
        || vec![text("I write ").call_text("read_file", r#"{"path": "a"#).length()],
        expect![[r#"
            shown: I write 
            agent (Partial): I write 
            => Length
        "#]],
    )
    .await;
}

// SPEC S6
#[tokio::test]
async fn a_filtered_reply_says_so() {
    check(
        || vec![text("it is").content_filter()],
        expect![[r#"
            shown: it is
            agent (Partial): it is
            => ContentFilter
        "#]],
    )
    .await;
}

// SPEC S7
#[tokio::test]
async fn a_refusal_is_no_answer() {
    check(
        || vec![refusal("I must not")],
        expect![[r#"
            shown: I must not
            agent (Refusal): I must not
            => Refusal
        "#]],
    )
    .await;
}

#[tokio::test]
async fn an_empty_reply_has_no_items() {
    check(
        || vec![empty()],
        expect![[r#"
        => Stop
    "#]],
    )
    .await;
}

// SPEC S4, S5
#[tokio::test]
async fn an_error_in_the_stream_says_what_to_do() {
    for (code, expected) in [
        (
            "server_error",
            expect![[r#"
                shown: it 
                => Failed: SERVER cannot answer now: backend lost
            "#]],
        ),
        (
            "insufficient_quota",
            expect![[r#"
            shown: it 
            => Quota: the quota at SERVER is used up: backend lost; waiting does not help: check the account, or choose another model
        "#]],
        ),
        (
            "context_length_exceeded",
            expect![[r#"
            shown: it 
            => ContextTooLong: the thread does not fit the window of fake-model: backend lost
        "#]],
        ),
    ] {
        check(|| vec![text("it ").failed(code, "backend lost.")], expected).await;
    }
}

// SPEC S3
#[tokio::test]
async fn a_stream_without_its_end_is_interrupted() {
    check(
        || vec![text("it is 4").cut_after(2)],
        expect![[r#"
            shown: it is 
            => Interrupted: SERVER ended its reply before it was whole
        "#]],
    )
    .await;
}

// SPEC S3
#[tokio::test]
async fn a_broken_connection_is_interrupted() {
    check(
        || vec![text("it is 4").reset_after(1)],
        expect![[r#"
            shown: it 
            => Interrupted: the connection to SERVER broke in the middle of the reply: unexpected EOF during chunk size line
        "#]],
    )
    .await;
}

// SPEC S3: items that were whole before the break do not count either: the reply is not.
#[tokio::test]
async fn nothing_of_a_broken_reply_becomes_an_item() {
    check(
        || vec![text("look").call("read_file", json!({"path": "a b c"})).cut_after(3)],
        expect![[r#"
            shown: look
            => Interrupted: SERVER ended its reply before it was whole
        "#]],
    )
    .await;
}

// SPEC S11
#[tokio::test]
async fn silence_in_the_middle_is_a_stall() {
    check_with(
        || vec![text("it is 4").stall_after(1)],
        |endpoint| endpoint.idle_timeout = SHORT,
        expect![[r#"
            shown: it 
            => Stalled: SERVER fell silent for 2 s in the middle of its reply (setting idle_timeout)
        "#]],
    )
    .await;
}

// SPEC S11
#[tokio::test]
async fn silence_before_the_first_byte_is_told_apart() {
    check_with(
        || vec![text("late").gate()],
        |endpoint| endpoint.idle_timeout = SHORT,
        expect![[r#"
            => Network: SERVER did not begin to answer for 2 s (setting idle_timeout)
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let address = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.local_addr().expect("a bound listener has an address")
    };
    for wire in WIRES {
        let client = client(wire, endpoint(&format!("http://user:{KEY}@{address}/v1?key={KEY}")));
        let step = step(&*client, &[user("hello")]).await;
        let error = describe(&step.end.expect_err("nobody is there"));
        assert_eq!(
            error.replace(&address.to_string(), "ADDRESS"),
            "Network: nothing answers at http://ADDRESS/v1: is the server running there, and is base_url right?"
        );
    }
}

// SPEC S13
#[tokio::test]
async fn a_busy_server_says_how_long_to_wait() {
    check(
        || vec![busy(429, Some("7"))],
        expect![[r#"
            => RateLimited (wait 7s): SERVER has had too many requests (429): Rate limit reached
        "#]],
    )
    .await;
    check(
        || vec![busy(503, None)],
        expect![[r#"
            => Overloaded: SERVER has no room now (503): Rate limit reached
        "#]],
    )
    .await;
}

#[tokio::test]
async fn every_refusal_says_what_to_do() {
    let wrong_key =
        format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}.","code":"invalid_api_key"}}}}"#);
    let table = [
        (
            401,
            wrong_key.as_str(),
            expect![[r#"
            => Auth: SERVER refused the key (401): Incorrect API key provided: [key]; check the environment variable TEST_KEY
        "#]],
        ),
        (
            402,
            r#"{"error":{"message":"Insufficient Balance"}}"#,
            expect![[r#"
            => Quota: the quota at SERVER is used up (402): Insufficient Balance; waiting does not help: check the account, or choose another model
        "#]],
        ),
        (
            429,
            r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#,
            expect![[r#"
            => Quota: the quota at SERVER is used up (429): You exceeded your current quota; waiting does not help: check the account, or choose another model
        "#]],
        ),
        (
            404,
            r#"{"detail":"Not Found"}"#,
            expect![[r#"
                => Rejected: ADDRESS does not know the model "fake-model" or is not the right address (404): Not Found; check model, base_url and wire
            "#]],
        ),
        (
            400,
            include_str!("../captures/llama-context.json"),
            expect![[r#"
            => ContextTooLong: the thread does not fit the window of fake-model (400): request (9020 tokens) exceeds the available context size (4096 tokens), try increasing it
        "#]],
        ),
        (
            400,
            r#"{"error":{"message":"Unknown parameter: 'top_k'.","type":"invalid_request_error"}}"#,
            expect![[r#"
                => Unfit: ADDRESS refused the request (400): Unknown parameter: 'top_k'
            "#]],
        ),
        (
            502,
            "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>",
            expect![[r#"
                => Failed: SERVER cannot answer now (502): a web page titled "502 Bad Gateway"
            "#]],
        ),
        (
            200,
            "<html><title>Sign in</title></html>",
            expect![[r#"
                => Rejected: ADDRESS answered with a web page titled "Sign in", so it is not a model server: is base_url right?
            "#]],
        ),
        (
            200,
            "{malformed json: <<<chaos>>>",
            expect![[r#"
            => Malformed: SERVER answered with something that is not a model's reply ({malformed json: <<<chaos>>>): check base_url and wire
        "#]],
        ),
        (
            200,
            r#"{"error":{"message":"model is loading","code":503}}"#,
            expect![[r#"
                => Overloaded: SERVER has no room now: model is loading
            "#]],
        ),
    ];
    for (code, body, expected) in table {
        check(|| vec![status(code, body)], expected).await;
    }
}

#[tokio::test]
async fn a_redirect_is_told_and_not_followed() {
    check(
        || vec![status(307, "").header("location", "https://elsewhere.test/v1?token=x")],
        expect![[r#"
            => Settings: ADDRESS redirects to https://elsewhere.test/v1, which is not followed so that no key goes astray: set base_url to the server's own address
        "#]],
    )
    .await;
}

// SPEC C7
#[tokio::test]
async fn a_dropped_reply_closes_the_connection() {
    for wire in WIRES {
        let model = FakeModel::start(wire, [text("it is 4").stall_after(1), stall(), text("late").gate()]);
        let client = client(wire, endpoint(&model.base_url()));
        let (items, tools) = ([user("2+2?")], tools());
        for number in [1, 2] {
            let stream = client.stream(request(&items, &tools)).await.expect("the server accepts");
            drop(stream);
            model.left(number).await;
        }
        let waiting = client.stream(request(&items, &tools));
        tokio::select! {
            _ = waiting => panic!("the server does not answer"),
            _ = model.request(3) => {}
        }
        model.left(3).await;
    }
}

// SPEC H15
#[tokio::test]
async fn the_bytes_of_each_request_begin_with_those_of_the_one_before() {
    for wire in WIRES {
        let think = |path: &str| reasoning("ä\"hm").text("look").call("read_file", json!({ "path": path }));
        let script = [
            think("a"),
            think("b"),
            read("c").call("read_file", json!({"path": "d"})),
            think("e"),
            text("4"),
        ];
        let model = FakeModel::start(wire, script);
        let client = client(wire, endpoint(&model.base_url()));
        turn(&*client, &mut vec![user("2+2?")]).await;
        let extends: Vec<_> = model.requests().iter().map(|request| request.extends).collect();
        assert_eq!(extends, [None, Some(1), Some(2), Some(3), Some(4)], "{wire}");
    }
}

#[tokio::test]
async fn the_request_is_what_the_wire_wants() {
    for (wire, expected) in [
        (
            Wire::Responses,
            expect![[r#"
                /v1/responses ["Bearer sk-secret-0123456789"] Some("text/event-stream")
                {"model":"fake-model","stream":true,"store":false,"include":["reasoning.encrypted_content"],"return_progress":true,"prompt_cache_key":"thread-1","max_output_tokens":100,"instructions":"be brief","tools":[{"type":"function","name":"read_file","description":"reads a file","parameters":{"properties":{"path":{"type":"string"}},"type":"object"},"strict":false}],"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"2+2?\n\nThe open file is a.txt."}]}]}
            "#]],
        ),
        (
            Wire::Chat,
            expect![[r#"
                /v1/chat/completions ["Bearer sk-secret-0123456789"] Some("text/event-stream")
                {"model":"fake-model","stream":true,"stream_options":{"include_usage":true},"return_progress":true,"max_tokens":100,"tools":[{"type":"function","function":{"name":"read_file","description":"reads a file","parameters":{"properties":{"path":{"type":"string"}},"type":"object"}}}],"messages":[{"role":"system","content":"be brief"},{"role":"user","content":"2+2?\n\nThe open file is a.txt."}]}
            "#]],
        ),
        (
            Wire::Messages,
            expect![[r#"
            /v1/messages ["sk-secret-0123456789"] Some("text/event-stream")
            {"model":"fake-model","stream":true,"max_tokens":100,"cache_control":{"type":"ephemeral"},"tools":[{"name":"read_file","description":"reads a file","input_schema":{"properties":{"path":{"type":"string"}},"type":"object"}}],"system":[{"type":"text","text":"be brief","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"2+2?\n\nThe open file is a.txt."}]}]}
        "#]],
        ),
    ] {
        let model = FakeModel::start(wire, [text("4")]);
        let mut endpoint = endpoint(&format!(" {}// ", model.base_url()));
        endpoint.options.max_output_tokens = Some(100);
        let client = client(wire, endpoint);
        let message =
            UserMessage { text: "2+2?".to_owned(), context: Some("The open file is a.txt.".to_owned()) };
        step(&*client, &[Item::User(message)]).await;
        let request = model.request(1).await;
        let key = ["authorization", "x-api-key"].map(|name| request.header(name)).into_iter().flatten();
        let key = key.collect::<Vec<_>>();
        let head = format!("{} {key:?} {:?}", request.path, request.header("accept"));
        let body = String::from_utf8(request.body).expect("JSON is text");
        expected.assert_eq(&format!("{head}\n{body}\n"));
    }
}

// SPEC L19
#[tokio::test]
async fn without_tools_none_are_mentioned() {
    for wire in WIRES {
        let model = FakeModel::start(wire, [text("4")]);
        let client = client(wire, endpoint(&model.base_url()));
        let items = [user("2+2?")];
        let mut request = request(&items, &[]);
        request.tool_choice = ToolChoice::None;
        client.stream(request).await.expect("the server accepts").collect::<Vec<_>>().await;
        let json = model.request(1).await.json;
        assert_eq!((json.get("tools"), json.get("tool_choice")), (None, None), "{wire}");
    }
}

// SPEC L11
#[tokio::test]
async fn tools_can_be_shown_and_forbidden() {
    for wire in WIRES {
        let model = FakeModel::start(wire, [text("4")]);
        let client = client(wire, endpoint(&model.base_url()));
        let (items, tools) = ([user("2+2?")], tools());
        let mut request = request(&items, &tools);
        request.tool_choice = ToolChoice::None;
        client.stream(request).await.expect("the server accepts").collect::<Vec<_>>().await;
        let request = model.request(1).await;
        assert_eq!(
            (request.tool_choice().as_deref(), request.tools()),
            (Some("none"), vec!["read_file".to_owned()])
        );
    }
}

#[tokio::test]
async fn a_whole_answer_to_a_streaming_request_is_an_answer() {
    for (wire, body, expected) in [
        (
            Wire::Responses,
            include_str!("../captures/litellm-responses-whole.json"),
            "shown: Hello there, this is a mock answer.\nagent: Hello there, this is a mock answer.\n",
        ),
        (
            Wire::Chat,
            include_str!("../captures/llama-chat-whole.json"),
            "call: read_file {\"path\": \"src/config.toml\"}\n",
        ),
        (
            Wire::Messages,
            include_str!("../captures/litellm-messages-whole.json"),
            "shown: Hello there, this is a mock answer.\nagent: Hello there, this is a mock answer.\n",
        ),
    ] {
        let model = FakeModel::start(wire, [status(200, body)]);
        let step = step(&*client(wire, endpoint(&model.base_url())), &[user("2+2?")]).await;
        assert_eq!(step.end, Ok(Finish::Stop), "{wire}");
        assert!(step.lines.ends_with(expected), "{wire}: {}", step.lines);
    }
}

#[tokio::test]
async fn a_compressed_stream_is_read() {
    let body = include_bytes!("../captures/chat-stream.gz");
    let reply = bytes(200, "text/event-stream", body).header("content-encoding", "gzip");
    let model = FakeModel::start(Wire::Chat, [reply]);
    let story = turn(&*client(Wire::Chat, endpoint(&model.base_url())), &mut vec![user("2+2?")]).await;
    assert_eq!(story, "shown: alpha beta\nagent: alpha beta\n=> Stop\n");
}

// SPEC S1
#[tokio::test]
async fn real_streams_read_the_same_in_pieces_of_any_size() {
    for (wire, stream) in [
        (Wire::Responses, include_str!("../captures/llama-responses-call.sse")),
        (Wire::Responses, include_str!("../captures/litellm-responses-calls.sse")),
        (Wire::Chat, include_str!("../captures/llama-chat-call.sse")),
        (Wire::Messages, include_str!("../captures/llama-messages-call.sse")),
        (Wire::Messages, include_str!("../captures/litellm-messages-call.sse")),
    ] {
        let mut stories = Vec::new();
        for size in [usize::MAX, 1, 2, 3, 7, 1000] {
            let model = FakeModel::start(wire, [raw_sse(stream).in_pieces_of(size)]);
            let step = step(&*client(wire, endpoint(&model.base_url())), &[user("2+2?")]).await;
            assert_eq!(step.end, Ok(Finish::Stop), "{wire} in pieces of {size}");
            stories.push(step.lines);
        }
        assert!(stories[0].contains("call: read_file"), "{}", stories[0]);
        assert!(stories.iter().all(|story| *story == stories[0]), "{stories:#?}");
    }
}

#[tokio::test]
async fn a_local_server_is_found_by_its_models() {
    let model = FakeModel::start(Wire::Chat, []);
    assert_eq!(
        probe(&model.base_url(), SHORT).await,
        Some(Probed { models: vec![MODEL.to_owned()], leaves_some_out: false, context_window: None })
    );
    let free = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.local_addr().expect("a bound listener has an address")
    };
    assert_eq!(probe(&format!("http://{free}/v1"), SHORT).await, None);
    assert_eq!(probe("no URL", SHORT).await, None);
}

// SPEC A9
#[test]
fn neither_a_client_nor_its_endpoint_shows_the_key() {
    let endpoint = endpoint(&format!("https://user:{KEY}@host.test:8443/v1?key={KEY}"));
    assert_eq!(endpoint.server(), "https://host.test:8443/v1");
    let shown = format!(
        "{endpoint:?} {:?} {:?} {:?}",
        ChatClient::new(endpoint.clone()),
        ResponsesClient::new(endpoint.clone()),
        MessagesClient::new(endpoint.clone())
    );
    assert!(!shown.contains(KEY) && shown.contains("host.test"), "{shown}");
}

/// The fake model refuses what the real servers refuse.
#[tokio::test]
async fn broken_histories_are_refused_in_the_servers_words() {
    let call = |id: &str| {
        Item::Call(ToolCall {
            id: id.to_owned(),
            name: "read_file".to_owned(),
            arguments: "{}".to_owned(),
            raw: None,
        })
    };
    let output =
        |id: &str| Item::Output(ToolOutput { call_id: id.to_owned(), text: "x".to_owned(), is_error: false });
    let table = [
        (
            vec![user("hi"), call("a")],
            "No tool output found for function call a",
            "did not have response messages: a",
            "`tool_use` ids were found without `tool_result` blocks immediately after: a",
        ),
        (
            vec![user("hi"), output("a")],
            "No tool call found for function call output",
            "must be a response to a preceeding message",
            "unexpected `tool_use_id` found in `tool_result` blocks: a",
        ),
        (
            vec![user("hi"), call("a"), call("a"), output("a")],
            "Duplicate item found with id a",
            "Duplicate value for 'tool_call_id'",
            "`tool_use` ids must be unique",
        ),
        (
            vec![user("hi"), call("a"), output("a"), output("a")],
            "Duplicate function call output",
            "Duplicate value for 'tool_call_id'",
            "each tool_use must have a single result",
        ),
    ];
    for (items, on_responses, on_chat, on_messages) in table {
        for (wire, words) in WIRES.into_iter().zip([on_responses, on_chat, on_messages]) {
            let model = FakeModel::start(wire, []).allow_refusals();
            let step = step(&*client(wire, endpoint(&model.base_url())), &items).await;
            let error = describe(&step.end.expect_err("the server refuses"));
            assert!(error.starts_with("History: ") && error.contains(words), "{wire}: {error}");
        }
    }
}
