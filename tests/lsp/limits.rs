//! The cap on model requests, and what each `on_limit` makes of it.

use askls::protocol::Wire;
use serde_json::{Value, json};

use crate::support::{Client, FakeModel, Project, model::*, on_every_wire};

/// A model that reads for ever, each time something else.
fn insatiable(wire: Wire) -> FakeModel {
    let mut line = 0;
    FakeModel::answering(wire, move |request| {
        line += 1;
        if request.tools().is_empty() || request.tool_choice().as_deref() == Some("none") {
            text("This is what I have.")
        } else {
            call("search", json!({"pattern": format!("word {line}")}))
        }
    })
}

fn ask(model: &FakeModel, on_limit: &str) -> (Client, Value) {
    let mut client = Client::builder(&Project::new("//- /a.txt\nA\n"))
        .model(model)
        .settings(json!({"max_steps": 3, "on_limit": on_limit}))
        .start();
    client.tolerate("window/showMessage");
    let result = client.ask("Go on for ever.");
    (client, result)
}

/// SPEC L8, L9
#[test]
fn error_ends_the_turn_with_its_name_and_number() {
    on_every_wire(|wire| {
        let model = insatiable(wire);
        let (_client, result) = ask(&model, "error");
        assert_eq!((&result["stopReason"], &result["limit"]), (&json!("limit"), &json!("steps")), "{result}");
        assert!(result["detail"].as_str().is_some_and(|detail| detail.contains('3')), "{result}");
        assert_eq!(model.requests().len(), 3);
        assert_eq!(result["steps"], 3);
    });
}

/// SPEC L10
#[test]
fn message_ends_the_turn_and_says_how_far_it_came() {
    on_every_wire(|wire| {
        let model = insatiable(wire);
        let (_client, result) = ask(&model, "message");
        assert_eq!((&result["stopReason"], &result["limit"]), (&json!("limit"), &json!("steps")), "{result}");
        assert!(result["detail"].as_str().is_some_and(|detail| detail.contains('3')), "{result}");
        assert_eq!(model.requests().len(), 3);
    });
}

/// SPEC L11
#[test]
fn final_answer_asks_once_more_without_tools() {
    on_every_wire(|wire| {
        let model = insatiable(wire);
        let (_client, result) = ask(&model, "final_answer");
        assert_eq!(result["answer"], "This is what I have.", "{result}");
        assert!(result["detail"].as_str().is_some_and(|detail| detail.contains("max_steps")), "{result}");
        assert_eq!(model.requests().len(), 4);
    });
}

/// SPEC L12
#[test]
fn after_a_limit_the_thread_goes_on() {
    on_every_wire(|wire| {
        for (on_limit, limit) in
            [("error", json!("steps")), ("message", json!("steps")), ("final_answer", Value::Null)]
        {
            let model = insatiable(wire);
            let (mut client, result) = ask(&model, on_limit);
            let next = client.ask_on(&result["threadId"], "Go on.");
            assert_eq!(next["limit"], limit, "{on_limit}: {next}");
            assert_eq!(model.refusals(), Vec::<String>::new(), "{on_limit}");
        }
    });
}

/// SPEC L12, L13, L15, E2
#[test]
fn after_any_bound_of_the_settings_the_thread_goes_on() {
    let table = [
        (json!({"max_turn_tokens": 300}), "turn_tokens"),
        (json!({"max_tool_calls": 1}), "tool_calls"),
        (json!({"max_cost": 0.0002, "price": {"input": 1, "output": 1}}), "cost"),
        (json!({"repeated_calls": "stop"}), "repeated_call"),
        (json!({"unknown_tools": "stop"}), "unknown_tool"),
    ];
    on_every_wire(|wire| {
        for (settings, limit) in &table {
            let mut line = 0;
            let model = FakeModel::answering(wire, move |request| {
                line += 1;
                let word = if line % 4 == 0 { line - 1 } else { line };
                match request.prompt().contains("Go on.") {
                    true => text("Done."),
                    false if line == 6 => call("mul", json!({})).call("read_file", json!({"path": "a.txt"})),
                    false => call("search", json!({"pattern": format!("word {word}")})),
                }
                .usage(100, 0, 10, 0)
            });
            let mut client = Client::builder(&Project::new("//- /a.txt\nA\n"))
                .model(&model)
                .settings(settings.clone())
                .start();
            client.tolerate("window/showMessage");
            let result = client.ask("Search.");
            assert_eq!(
                (&result["stopReason"], &result["limit"]),
                (&json!("limit"), &json!(limit)),
                "{result}"
            );
            assert_eq!(client.ask_on(&result["threadId"], "Go on.")["stopReason"], "answer", "{limit}");
            assert_eq!(model.refusals(), Vec::<String>::new(), "{limit}");
        }
    });
}

/// SPEC L13
#[test]
fn a_command_ends_when_the_time_of_its_turn_is_up() {
    on_every_wire(|wire| {
        // As long as it takes to reach the command, and the model once more, on a machine that may be busy.
        for seconds in [0.5, 2.0, 5.0, 10.0] {
            let command = json!({"command": "touch started; sleep 600"});
            let model = FakeModel::start(wire, [call("run_command", command), text("Done.")]).allow_unused();
            let project = Project::new("//- /a.txt\nA\n");
            let mut client = Client::builder(&project)
                .model(&model)
                .settings(json!({"turn_timeout": seconds, "approvals": "all"}))
                .start();
            client.tolerate("window/showMessage");
            let result = client.ask("Sleep.");
            let end = (&result["stopReason"], &result["limit"]);
            assert_eq!(end, (&json!("limit"), &json!("time")), "{result}");
            if !project.exists("/started") {
                continue;
            }
            client.ask_on(&result["threadId"], "Go on.");
            if let Some(next) = model.requests().get(1) {
                assert_eq!(next.outputs().len(), 1);
                return;
            }
        }
        panic!("no command began within 10 s");
    });
}

/// SPEC L13
#[test]
fn a_bound_on_money_that_cannot_be_held_is_warned_of_once() {
    let model = FakeModel::start(Wire::Chat, [text("One."), text("Two.")]);
    let mut client = Client::builder(&Project::new(""))
        .model(&model)
        .settings(json!({"max_cost": 2, "show_answer": "none"}))
        .start();
    client.ask("Go.");
    let warning = client.wait_notification("window/showMessage");
    assert!(
        warning["message"].as_str().is_some_and(|text| text.contains("max_cost ($2.00) cannot be held")),
        "{warning}"
    );
    client.ask("Go.");
    assert_eq!(client.seen("window/showMessage").len(), 1);
}

/// SPEC L15
#[test]
fn the_same_call_again_and_again_ends_the_turn() {
    on_every_wire(|wire| {
        let model = FakeModel::answering(wire, |_| call("read_file", json!({"path": "a.txt"})));
        let mut client = Client::start(&Project::new("//- /a.txt\nA\n"), &model);
        client.tolerate("window/showMessage");
        let result = client.ask("Read.");
        assert_eq!(
            (&result["stopReason"], &result["limit"]),
            (&json!("limit"), &json!("repeated_call")),
            "{result}"
        );
        assert!(model.requests().len() < 10, "{} requests", model.requests().len());
    });
}

/// SPEC S15
#[test]
fn tokens_are_summed_over_the_steps() {
    on_every_wire(|wire| {
        let model = FakeModel::start(
            wire,
            [
                call("read_file", json!({"path": "a.txt"})).usage(100, 10, 20, 5),
                text("A.").usage(150, 90, 7, 2),
                text("A."),
            ],
        );
        let mut client = Client::start(&Project::new("//- /a.txt\nA\n"), &model);
        assert_eq!(
            client.ask("Read.")["usage"],
            json!({
                "inputTokens": 250,
                "cachedTokens": 100,
                "cacheWriteTokens": 0,
                "outputTokens": 27,
                "reasoningTokens": 7
            })
        );
        // A server that counts nothing.
        let usage = &client.ask("And?")["usage"];
        assert_eq!(usage["estimated"], true, "{usage}");
        assert!(usage["inputTokens"].as_u64() > Some(0), "{usage}");
    });
}
