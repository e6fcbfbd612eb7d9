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
    });
}
