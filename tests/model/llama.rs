//! The model clients, and askls as a whole, against a real llama.cpp server with a small real model. What the model
//! says makes no sense; what holds for all words is checked, and that the server takes what it is sent.

mod product;
mod server;

use std::time::Duration;

use askls::{
    model::{
        ErrorKind, Finish, ModelClient, ModelError, ModelEvent, Request, Retry, ToolChoice, ToolSpec,
        http::Endpoint,
    },
    protocol::{Item, MessageState, ToolCall, ToolOutput, Usage, Wire},
};
use futures::StreamExt as _;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{WIRES, client, request, user};
use server::{KEY, Server, WINDOW};

/// Tokens of a reply that need not come to its own end.
const SHORT_REPLY: u64 = 48;

/// Tokens of a reply that takes half a minute and more.
const LONG_REPLY: u64 = WINDOW as u64 / 2;

/// How often a server is started until one is seen while it loads its model, which takes it a second.
const MOST_STARTS: u32 = 10;

/// One tool, whose only argument cannot be left out.
fn tools() -> [ToolSpec; 1] {
    let parameters = json!({
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
        "additionalProperties": false,
    });
    [ToolSpec { name: "read_file".to_owned(), description: "reads a file".to_owned(), parameters }]
}

/// A reply that came to its end.
#[derive(Debug)]
struct Whole {
    shown: String,
    items: Vec<Item>,
    finish: Finish,
    usage: Usage,
}

impl Whole {
    fn text(&self) -> String {
        let texts = self.items.iter().filter_map(|item| match item {
            Item::Agent(message) => Some(message.text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    fn calls(&self) -> Vec<&ToolCall> {
        let calls = self.items.iter().filter_map(|item| match item {
            Item::Call(call) => Some(call),
            _ => None,
        });
        calls.collect()
    }
}

fn model(server: &Server, wire: Wire) -> Box<dyn ModelClient> {
    model_at(&server.base_url(), wire, |_| {})
}

fn model_at(base_url: &str, wire: Wire, set: impl FnOnce(&mut Endpoint)) -> Box<dyn ModelClient> {
    let mut endpoint = Endpoint::new(base_url, "smol").expect("a good base URL");
    // The machine may be busy with other tests.
    endpoint.idle_timeout = Duration::from_secs(600);
    endpoint.options.max_output_tokens = Some(SHORT_REPLY);
    set(&mut endpoint);
    client(wire, endpoint)
}

async fn reply(model: &dyn ModelClient, request: Request<'_>) -> Result<Whole, ModelError> {
    let (mut shown, mut items) = (String::new(), Vec::new());
    let mut events = model.stream(request).await?;
    while let Some(event) = events.next().await {
        match event? {
            ModelEvent::TextDelta(text) => shown.push_str(&text),
            ModelEvent::ReasoningDelta(_)
            | ModelEvent::Used(_)
            | ModelEvent::Unheard(_)
            | ModelEvent::Estimated => {}
            ModelEvent::Item(item) => items.push(item),
            ModelEvent::Done { finish, usage } => {
                let usage = usage.expect("the server counts tokens");
                return Ok(Whole { shown, items, finish, usage });
            }
        }
    }
    panic!("a stream without an end after {items:?}");
}

/// A reply to `items` that begins with a call of the only tool, as it has to.
async fn forced_call(model: &dyn ModelClient, items: &[Item], choice: ToolChoice<'_>) -> Whole {
    let tools = tools();
    let request = Request { tool_choice: choice, ..request(items, &tools) };
    let whole = reply(model, request).await.expect("a call");
    let [call] = whole.calls()[..] else { panic!("one call was asked for: {whole:?}") };
    assert_eq!(call.name, "read_file");
    let arguments: Value = serde_json::from_str(&call.arguments).expect("arguments that are JSON");
    // The server bound them to the schema.
    assert!(arguments["path"].is_string(), "{call:?}");
    assert_eq!(whole.finish, Finish::Stop);
    whole
}

/// The history goes on with a reply and an output for each of its calls.
fn continued(items: &[Item], whole: Whole) -> Vec<Item> {
    let outputs: Vec<_> = whole
        .calls()
        .iter()
        .map(|call| {
            let text = "The sea is calm.".to_owned();
            Item::Output(ToolOutput { call_id: call.id.clone(), text, is_error: false })
        })
        .collect();
    items.iter().cloned().chain(whole.items).chain(outputs).collect()
}

// SPEC L2, S1, S10, S15
#[tokio::test]
#[ignore = "needs a model server: tests/run models"]
async fn words_come_as_they_are_made_and_are_counted() {
    let server = Server::start(&[]).await;
    for wire in WIRES {
        let whole = reply(&*model(&server, wire), request(&[user("Tell me about the sea.")], &[])).await;
        let whole = whole.expect("a reply");
        assert!(!whole.shown.trim().is_empty(), "{wire}: {whole:?}");
        assert_eq!(whole.shown, whole.text(), "{wire}");
        assert!(whole.usage.input_tokens > 10, "{wire}: {:?}", whole.usage);
        // It is the server that counts, and what it wrote is no longer than it was allowed.
        assert!((1..=SHORT_REPLY).contains(&whole.usage.output_tokens), "{wire}: {:?}", whole.usage);
    }
}

// SPEC S6. On Responses this server calls a reply that was cut complete: there is nothing to see.
#[tokio::test]
#[ignore = "needs a model server: tests/run models"]
async fn a_reply_at_its_limit_of_tokens_is_partial() {
    let server = Server::start(&["--ignore-eos"]).await;
    for wire in WIRES.into_iter().filter(|wire| *wire != Wire::Responses) {
        let whole = reply(&*model(&server, wire), request(&[user("Tell me about the sea.")], &[])).await;
        let whole = whole.expect("a reply");
        assert_eq!((&whole.finish, whole.usage.output_tokens), (&Finish::Length, SHORT_REPLY), "{wire}");
        let is_partial =
            |item: &Item| matches!(item, Item::Agent(message) if message.state == MessageState::Partial);
        assert!(whole.items.iter().all(is_partial), "{wire}: {whole:?}");
    }
}

// SPEC L2, L17, H1
#[tokio::test]
#[ignore = "needs a model server: tests/run models"]
async fn a_call_and_its_output_go_round() {
    let server = Server::start(&[]).await;
    for wire in WIRES {
        let model = model(&server, wire);
        for choice in [ToolChoice::Required, ToolChoice::Named("read_file")] {
            let asked = [user("What does sea.txt say?")];
            let items = continued(&asked, forced_call(&*model, &asked, choice).await);
            let tools = tools();
            let whole = reply(&*model, request(&items, &tools)).await.expect("the server takes the history");
            assert!(!whole.items.is_empty(), "{wire}: {whole:?}");
        }
    }
}

// SPEC H10
#[tokio::test]
#[ignore = "needs a model server: tests/run models"]
async fn a_thread_of_one_wire_goes_on_over_every_other() {
    let server = Server::start(&[]).await;
    let asked = [user("What does sea.txt say?")];
    for from in WIRES {
        let whole = forced_call(&*model(&server, from), &asked, ToolChoice::Required).await;
        let items = continued(&asked, whole);
        for to in WIRES {
            let tools = tools();
            let whole = reply(&*model(&server, to), request(&items, &tools)).await;
            assert!(whole.is_ok_and(|whole| !whole.items.is_empty()), "from {from} to {to}");
        }
    }
}

/// Checks an error by its kind and by what its message names.
async fn check_error(model: &dyn ModelClient, items: &[Item], kind: ErrorKind, names: &[&str]) {
    let wire = model.info().wire;
    let error = reply(model, request(items, &[])).await.expect_err("a refusal");
    assert_eq!((error.kind, error.retry), (kind, Retry::Never), "{wire:?}: {error}");
    for name in names {
        assert!(error.message.contains(name), "{wire:?}: {name} is not in {error}");
    }
    assert!(!error.message.contains(KEY), "{wire:?}: {error}");
}

#[tokio::test]
#[ignore = "needs a model server: tests/run models"]
async fn a_thread_that_does_not_fit_is_told_from_other_refusals() {
    let server = Server::start(&[]).await;
    let long = [user(&"sea ".repeat(WINDOW as usize + 1))];
    for wire in WIRES {
        check_error(&*model(&server, wire), &long, ErrorKind::ContextTooLong, &["smol"]).await;
    }
}

#[tokio::test]
#[ignore = "needs a model server: tests/run models"]
async fn a_wrong_address_is_named() {
    let server = Server::start(&[]).await;
    let base_url = format!("http://127.0.0.1:{}/nowhere", server.port());
    for wire in WIRES {
        let model = model_at(&base_url, wire, |_| {});
        check_error(&*model, &[user("?")], ErrorKind::Rejected, &["/nowhere", "base_url"]).await;
    }
}

#[tokio::test]
#[ignore = "needs a model server: tests/run models"]
async fn a_wrong_key_is_named_by_its_place_and_a_right_one_serves() {
    let server = Server::start(&["--api-key", KEY]).await;
    for wire in WIRES {
        let with_key = |key: &str| {
            model_at(&server.base_url(), wire, |endpoint| {
                endpoint.key = Some(key.into());
                endpoint.key_source = Some("the environment variable SOME_KEY".to_owned());
            })
        };
        let wrong = with_key("sk-wrong-0123456789");
        check_error(&*wrong, &[user("?")], ErrorKind::Auth, &["SOME_KEY"]).await;
        let whole = reply(&*with_key(KEY), request(&[user("?")], &[])).await;
        assert!(whole.is_ok_and(|whole| !whole.shown.is_empty()), "{wire}");
    }
}

#[tokio::test]
#[ignore = "needs a model server: tests/run models"]
async fn a_server_that_still_loads_its_model_is_asked_again() {
    for wire in WIRES {
        let mut seen = false;
        for _ in 0..MOST_STARTS {
            // A long window takes time to make room for.
            let server = Server::start_loading(&["--ctx-size", "16384"]);
            seen |= loading_was_seen(&server, wire).await;
            if seen {
                break;
            }
        }
        assert!(seen, "{wire}: no server was seen while it loaded its model");
    }
}

/// Asks from a server's start to its first reply; every error before it has to say that it passes.
async fn loading_was_seen(server: &Server, wire: Wire) -> bool {
    let model = model(server, wire);
    let mut seen = false;
    loop {
        match reply(&*model, request(&[user("?")], &[])).await {
            Ok(_) => return seen,
            Err(error) => {
                assert_ne!(error.retry, Retry::Never, "{wire}: {error}");
                seen |= error.kind == ErrorKind::Overloaded && error.message.contains("Loading model");
                // Nothing listens yet, or the model is not there yet.
                let kinds = [ErrorKind::Network, ErrorKind::Overloaded];
                assert!(kinds.contains(&error.kind), "{wire}: {error}");
            }
        }
        sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
#[ignore = "needs a model server: tests/run models"]
async fn a_reply_that_is_given_up_is_not_written_to_its_end() {
    let mut server = Server::start(&["--ignore-eos"]).await;
    for wire in WIRES {
        let before = server.tokens_written().await;
        let items = [user("Tell me about the sea.")];
        let model = long_winded(&server, wire);
        let mut events = model.stream(request(&items, &[])).await.expect("a stream");
        let first = events.next().await.expect("an event");
        assert!(first.is_ok(), "{wire}: {first:?}");
        drop(events);
        server.until_idle().await;
        let written = server.tokens_written().await - before;
        assert!(written < LONG_REPLY, "{wire}: the server wrote {written} tokens");
    }
}

// While this server reads a prompt it does not look whether anyone still waits; it looks before it writes.
#[tokio::test]
#[ignore = "needs a model server: tests/run models"]
async fn a_request_that_is_given_up_before_its_first_word_is_not_answered() {
    let mut server = Server::start(&["--ignore-eos"]).await;
    for wire in WIRES {
        let before = server.tokens_written().await;
        // A different one for each wire: the server remembers what it has read.
        let items = [user(&format!("{wire} ").repeat(WINDOW as usize / 8))];
        let model = long_winded(&server, wire);
        {
            let mut answer = Box::pin(reply(&*model, request(&items, &[])));
            tokio::select! {
                whole = &mut answer => panic!("{wire}: answered before it was given up: {whole:?}"),
                () = server.until_busy() => {}
            }
        }
        server.until_idle().await;
        let written = server.tokens_written().await - before;
        assert!(written < LONG_REPLY, "{wire}: the server wrote {written} tokens");
    }
}

/// A model whose replies only end at their limit, with `--ignore-eos`.
fn long_winded(server: &Server, wire: Wire) -> Box<dyn ModelClient> {
    model_at(&server.base_url(), wire, |endpoint| endpoint.options.max_output_tokens = Some(LONG_REPLY))
}

// Only Chat: this server does not bind the answers of the other wires to a schema.
#[tokio::test]
#[ignore = "needs a model server: tests/run models"]
async fn a_schema_binds_the_answer() {
    let server = Server::start(&[]).await;
    let schema = json!({
        "type": "object",
        "properties": {"file": {"enum": ["sea.txt", "land.txt"]}, "certain": {"type": "boolean"}},
        "required": ["file", "certain"],
        "additionalProperties": false,
    });
    let items = [user("Which file is about fish?")];
    let request = Request { answer_schema: Some(&schema), ..request(&items, &[]) };
    let whole = reply(&*model(&server, Wire::Chat), request).await.expect("a reply");
    let answer: Value = serde_json::from_str(&whole.shown).expect("an answer that is JSON");
    assert!(["sea.txt", "land.txt"].iter().any(|name| answer["file"] == *name), "{answer}");
    assert!(answer["certain"].is_boolean(), "{answer}");
}
