//! Arguments of commands: what is wrong is said with its place, and nothing runs on what did not parse.

use askls::protocol::Wire;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Client, FakeModel, Project};

const INVALID_PARAMS: i64 = -32602;

/// The message of the refusal of these arguments.
fn refusal_of(client: &mut Client, command: &str, arguments: Value) -> String {
    let params = json!({"command": command, "arguments": arguments});
    let failure = client
        .call("workspace/executeCommand", params)
        .expect_err(&format!("{command} takes no {arguments}"));
    assert_eq!(failure.code, INVALID_PARAMS, "{failure:?}");
    failure.message
}

#[test]
fn bad_arguments_are_refused_with_their_place() {
    let model = FakeModel::start(Wire::Chat, []);
    let mut client = Client::start(&Project::new(""), &model);
    for (command, arguments, place) in [
        ("askls.ask", json!([{}]), "prompt"),
        ("askls.ask", json!([]), "prompt"),
        ("askls.ask", Value::Null, "prompt"),
        ("askls.ask", json!([{"prompt": 1}]), "arguments[0].prompt"),
        ("askls.ask", json!([{"prompt": {"nested": true}}]), "arguments[0].prompt"),
        ("askls.ask", json!([42]), "arguments[0]"),
        ("askls.ask", json!([42, {"prompt": {"nested": true}}]), "arguments"),
        ("askls.ask", json!([{"prompt": "p", "mode": "fast"}]), "arguments[0].mode"),
        ("askls.ask", json!([{"prompt": "p", "promt": "p"}]), "promt"),
        (
            "askls.ask",
            json!([{"prompt": "p", "range": {"start": {"line": "0", "character": 0}, "end": {"line": 0, "character": 0}}}]),
            "arguments[0].range.start.line",
        ),
        (
            "askls.ask",
            json!([{"prompt": "p", "range": {"start": {"line": 0, "character": -1}}}]),
            "arguments[0].range",
        ),
        ("askls.ask", json!([{"prompt": "p", "uri": 5}]), "arguments[0].uri"),
        ("askls.ask", json!([{"prompt": "p", "threadId": []}]), "arguments[0].threadId"),
        ("askls.stop", json!([{"threadId": 5}]), "arguments[0].threadId"),
        ("askls.stop", json!([{"thread": "x"}]), "thread"),
        ("askls.acceptEdits", json!([{"uri": {}}]), "arguments[0].uri"),
        ("askls.rejectEdits", json!([[]]), "arguments[0]"),
        ("askls.showEdits", json!(["x"]), "arguments[0]"),
        ("askls.newThread", json!([{"x": 1}]), "x"),
        ("askls.status", json!([{"verbose": true}]), "verbose"),
    ] {
        let message = refusal_of(&mut client, command, arguments.clone());
        assert!(message.contains(place), "{command} {arguments}: {message}");
    }
    assert_eq!(model.requests().len(), 0);
}

#[test]
fn an_empty_prompt_is_refused() {
    let model = FakeModel::start(Wire::Chat, []);
    let mut client = Client::start(&Project::new(""), &model);
    for prompt in ["", "  \n"] {
        let message = refusal_of(&mut client, "askls.ask", json!([{"prompt": prompt}]));
        assert!(message.contains("prompt"), "{message}");
    }
}

#[test]
fn an_unknown_command_is_refused_by_name() {
    let mut client = Client::builder(&Project::new("")).start();
    let failure = client.call("workspace/executeCommand", json!({"command": "no.such.command"})).unwrap_err();
    assert!(failure.message.contains("no.such.command"), "{failure:?}");
}

#[test]
fn commands_without_obligatory_members_take_no_arguments_an_empty_list_and_an_empty_object() {
    let mut client = Client::builder(&Project::new("")).start();
    for command in ["askls.stop", "askls.rejectEdits", "askls.showEdits", "askls.newThread", "askls.status"] {
        for arguments in [
            json!({"command": command}),
            json!({"command": command, "arguments": []}),
            json!({"command": command, "arguments": [{}]}),
            json!({"command": command, "arguments": null}),
        ] {
            let result = client.call("workspace/executeCommand", arguments.clone());
            assert!(result.is_ok(), "{arguments}: {result:?}");
        }
    }
}

#[test]
fn status_says_which_model_and_why_and_never_the_key() {
    let model = FakeModel::start(Wire::Responses, []);
    let mut client = Client::start(&Project::new(""), &model);
    let status = client.command("askls.status", json!({}));
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(status["model"], "test-model");
    assert_eq!(status["wire"], "responses");
    assert_eq!(status["server"], model.base_url());
    assert_eq!((&status["running"], &status["proposals"]), (&json!(0), &json!(0)));
    assert_eq!(status["warnings"], json!([]));
    for part in [&status["why"], &status["text"]] {
        assert!(part.as_str().is_some_and(|text| !text.is_empty()), "{status}");
    }
    assert!(status["text"].as_str().unwrap().contains("test-model"), "{status}");
    // Nothing goes to the network before the first ask, and the status asks nobody.
    assert_eq!((model.requests().len(), model.listed()), (0, 0));
}

#[test]
fn status_says_what_is_set_and_where_and_no_name_breaks_its_lines() {
    let model = FakeModel::start(Wire::Responses, []);
    let project = Project::new("//- /.askls/config.toml\nmax_steps = 4\n");
    let name = "m\nprice: nothing\u{1b}[2J";
    let mut client =
        Client::builder(&project).model(&model).settings(json!({"model": name, "edits": "apply"})).start();
    let status = client.command("askls.status", json!({}));
    let text = status["text"].as_str().unwrap();
    let lines: Vec<_> = text.lines().map(|line| line.split(" (").next().unwrap()).collect();
    assert_eq!(lines[0], format!("askls {}: m\\nprice: nothing\\u{{1b}}[2J", env!("CARGO_PKG_VERSION")));
    assert_eq!(lines[1..4], ["price: not known", "running turns: 0", "proposed edits: 0"]);
    assert!(lines.contains(&r"setting: model = m\nprice: nothing\u{1b}[2J"), "{text}");
    assert!(lines.contains(&"setting: edits = apply") && lines.contains(&"setting: max_steps = 4"), "{text}");
    assert_eq!(status["settings"]["edits"], json!({"value": "apply", "origin": "editor"}));
    assert_eq!(status["price"], json!(null));
}

/// Any JSON value, mostly with the names that the commands know.
fn any_json() -> impl Strategy<Value = Value> {
    let name = prop_oneof![
        Just("uri".to_owned()),
        Just("range".to_owned()),
        Just("start".to_owned()),
        Just("line".to_owned()),
        Just("threadId".to_owned()),
        Just("mode".to_owned()),
        "[a-z]{0,3}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        Just(json!("file:///%ff%00")),
        Just(json!("askls:/x.md")),
    ];
    leaf.prop_recursive(3, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..4)
                .prop_map(|members| members.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    })
}

fn any_method() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "workspace/executeCommand",
        "workspace/didChangeConfiguration",
        "workspace/didChangeWorkspaceFolders",
        "workspace/textDocumentContent",
        "textDocument/codeAction",
        "textDocument/didOpen",
        "textDocument/didChange",
        "textDocument/didClose",
        "textDocument/didSave",
        "codeAction/resolve",
        "window/workDoneProgress/cancel",
        "$/cancelRequest",
        "$/setTrace",
        "initialized",
        "initialize",
    ])
}

/// Commands that do nothing on their own, so that a lucky guess does no harm.
fn any_command() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "askls.stop",
        "askls.acceptEdits",
        "askls.rejectEdits",
        "askls.showEdits",
        "askls.status",
    ])
}

/// Whatever is sent, the server answers the next request. One server takes all of it.
#[test]
fn no_parameters_bring_the_server_down() {
    let mut client = Client::builder(&Project::new("//- /a.txt\nA\n")).start();
    client.tolerate("window/showMessage");
    client.tolerate("window/showMessageRequest");
    client.on_request("window/showDocument", |_| crate::support::Answer::Result(json!({"success": false})));
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let client = std::cell::RefCell::new(&mut client);
    runner
        .run(
            &(any_method(), any_command(), any_json(), any::<bool>()),
            |(method, command, value, wrapped)| {
                let mut client = client.borrow_mut();
                let params = match (method, wrapped) {
                    ("workspace/executeCommand", _) => json!({"command": command, "arguments": [value]}),
                    (_, true) => {
                        json!({"textDocument": value, "range": value, "context": value, "event": value})
                    }
                    _ => value,
                };
                // Requests are answered (the rules count the answers); notifications are survived.
                if method.contains("/did")
                    || method.contains("ancel")
                    || method.contains("set")
                    || method == "initialized"
                {
                    client.notify(method, params);
                } else {
                    let request = client.send(method, params);
                    let _ = client.wait(&request);
                }
                Ok(())
            },
        )
        .expect("the server answers everything");
    client.borrow_mut().command("askls.status", json!({}));
}

/// What is JSON but no message, or no JSON at all, in a proper frame.
#[test]
fn bodies_that_are_no_messages_do_not_end_the_conversation() {
    let mut client = Client::builder(&Project::new("")).start();
    for body in [
        "{}",
        "[]",
        "null",
        "7",
        "\"text\"",
        "{\"jsonrpc\":\"2.0\"}",
        "{oops",
        "",
        "\u{feff}{}",
        r#"{"jsonrpc":"2.0","id":999,"result":1}"#,
    ] {
        client.send_bytes(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    }
    client.command("askls.status", json!({}));
    // Error answers to them are allowed, and have no id.
    client.claim_answers_without_id();
}

#[test]
fn requests_without_params_are_answered() {
    let mut client = Client::builder(&Project::new("")).start();
    for method in [
        "workspace/executeCommand",
        "textDocument/codeAction",
        "codeAction/resolve",
        "workspace/textDocumentContent",
        "initialize",
    ] {
        let id = json!(format!("without {method}"));
        client.send_raw(json!({"jsonrpc": "2.0", "id": id, "method": method}));
        let request = crate::support::client::RequestId(id);
        assert!(client.wait(&request).is_err(), "{method}");
    }
    for method in ["textDocument/didOpen", "textDocument/didChange", "workspace/didChangeConfiguration"] {
        client.send_raw(json!({"jsonrpc": "2.0", "method": method}));
    }
    client.command("askls.status", json!({}));
}
