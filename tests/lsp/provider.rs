//! A model server that is down, busy, cut off or out of its mind: the ending has its name and a text that says what to
//! do, and the key is nowhere in it (which every test of this crate checks).

use askls::protocol::Wire;
use serde_json::{Value, json};

use crate::support::{Client, FakeModel, Project, model::*, on_every_wire};

fn ask(model: &FakeModel) -> Value {
    let mut client =
        Client::builder(&Project::new("")).model(model).settings(json!({"idle_timeout": 2})).start();
    client.tolerate("window/showMessage");
    client.ask("Go.")
}

/// The ending, and words of which the detail must contain each.
fn assert_ending(result: &Value, stop_reason: &str, words: &[&str]) {
    assert_eq!(result["stopReason"], stop_reason, "{result}");
    let detail = result["detail"].as_str().unwrap_or_default().to_lowercase();
    for word in words {
        assert!(detail.contains(word), "{word:?} in {detail:?}");
    }
}

#[test]
fn a_server_that_is_not_there() {
    on_every_wire(|wire| {
        let model = FakeModel::start(wire, []);
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let server = format!("http://127.0.0.1:{port}/v1");
        let mut client =
            Client::builder(&Project::new("")).model(&model).env("ASKLS_BASE_URL", &server).start();
        client.tolerate("window/showMessage");
        let result = client.send_ask("Go.");
        // The retries take longer than a test should: what is said while they go on is enough, and then it is stopped.
        let token = client.wait_begin(0);
        client.wait_report(&token, "next try");
        client.cancel_request(&result);
        assert_eq!(client.wait(&result).unwrap_err().code, -32800);
    });
}

#[test]
fn a_key_that_is_refused() {
    on_every_wire(|wire| {
        let body = r#"{"error":{"message":"Incorrect API key provided: sk-test-0123456789abcdef.","type":"invalid_request_error","code":"invalid_api_key"}}"#;
        let model = FakeModel::start(wire, [status(401, body)]);
        let result = ask(&model);
        assert_ending(&result, "provider_error", &["key", "401"]);
        assert_eq!(model.requests().len(), 1, "a wrong key does not become right");
    });
}

/// SPEC S13
#[test]
fn too_many_requests_and_then_an_answer() {
    on_every_wire(|wire| {
        let model = FakeModel::start(wire, [busy(429, Some("0")), busy(503, None), text("Now.")]);
        assert_eq!(ask(&model)["answer"], "Now.");
    });
}

#[test]
fn no_credit_left() {
    on_every_wire(|wire| {
        let body = r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}"#;
        let model = FakeModel::start(wire, [status(429, body)]);
        let result = ask(&model);
        assert_ending(&result, "provider_error", &["quota"]);
        assert_eq!(model.requests().len(), 1, "waiting does not help");
    });
}

#[test]
fn a_model_that_the_server_does_not_have() {
    on_every_wire(|wire| {
        let body = r#"{"error":{"message":"The model `test-model` does not exist","type":"invalid_request_error","code":"model_not_found"}}"#;
        let model = FakeModel::start(wire, [status(404, body)]);
        assert_ending(&ask(&model), "provider_error", &["test-model"]);
    });
}

#[test]
fn rubbish_instead_of_a_stream() {
    on_every_wire(|wire| {
        for reply in [
            || status(200, "<html><body>Welcome to my router</body></html>"),
            || status(400, "<html>nginx</html>"),
            || status(200, "{\"what\": true}"),
        ] {
            // A server that may come to its senses is asked again, so there is more than one of it.
            let model = FakeModel::answering(wire, move |_| reply());
            let mut client = Client::start(&Project::new(""), &model);
            client.tolerate("window/showMessage");
            let ask = client.send_ask("Go.");
            let token = client.wait_begin(0);
            client.wait_until("an end or a new try", |received| {
                let mut values = received.iter().map(|received| &received.message["params"]["value"]);
                values
                    .any(|value| {
                        value["kind"] == "end"
                            || value["message"].as_str().is_some_and(|text| text.contains("next try"))
                    })
                    .then_some(())
            });
            client.cancel_request(&ask);
            if let Ok(result) = client.wait(&ask) {
                assert!(["provider_error", "malformed"].contains(&result["stopReason"].as_str().unwrap()));
                assert!(result["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{result}");
            }
            assert_eq!(client.progress(&token).pop().unwrap()["kind"], "end");
        }
    });
}

/// SPEC S3, S5: what arrived of the broken reply is no part of the answer.
#[test]
fn a_stream_that_breaks_off() {
    on_every_wire(|wire| {
        let cut = text("The answer is, I am quite sure of it, forty").cut_after(4);
        let model = FakeModel::start(wire, [cut, text("Forty-two.")]);
        let result = ask(&model);
        assert_eq!((&result["stopReason"], &result["answer"]), (&json!("answer"), &json!("Forty-two.")));
    });
}

/// SPEC S11
#[test]
fn a_stream_that_falls_silent() {
    on_every_wire(|wire| {
        let stalled = text("The answer is, I am quite sure of it, forty").stall_after(4);
        let model = FakeModel::start(wire, [stalled, text("Forty-two.")]);
        let result = ask(&model);
        assert_eq!((&result["stopReason"], &result["answer"]), (&json!("answer"), &json!("Forty-two.")));
    });
}

/// SPEC S6
#[test]
fn an_answer_that_is_cut_at_the_token_limit() {
    on_every_wire(|wire| {
        let model = FakeModel::start(wire, [text("Half of").length()]);
        let result = ask(&model);
        assert_eq!(
            (&result["stopReason"], &result["limit"]),
            (&json!("limit"), &json!("output_tokens")),
            "{result}"
        );
        assert_eq!(result["answer"], "Half of");
    });
}

/// SPEC S7
#[test]
fn a_model_that_declines() {
    on_every_wire(|wire| {
        let model = FakeModel::start(wire, [refusal("I will not do that.")]);
        let result = ask(&model);
        assert_eq!(result["stopReason"], "refused", "{result}");
        assert_eq!(result["answer"], "I will not do that.");
    });
}

/// SPEC L16
#[test]
fn a_model_that_says_nothing() {
    on_every_wire(|wire| {
        let model = FakeModel::answering(wire, |_| empty());
        let result = ask(&model);
        assert_eq!((&result["stopReason"], &result["answer"]), (&json!("empty"), &json!("")), "{result}");
        assert!(model.requests().len() <= 2);
    });
}

/// After each of these the thread takes the next turn, and the server accepts its history.
#[test]
fn after_a_bad_ending_the_thread_goes_on() {
    on_every_wire(|wire| {
        let bad_request =
            || status(400, r#"{"error":{"message":"bad request","type":"invalid_request_error"}}"#);
        let endings = [
            // The server breaks off, and then wants no more.
            vec![text("cut").cut_after(1), bad_request()],
            vec![text("too long").length()],
            vec![refusal("No.")],
            vec![call("read_file", json!({"path": "a.txt"})).length()],
            vec![bad_request()],
        ];
        for ending in endings {
            let model = FakeModel::start(wire, ending.into_iter().chain([text("Here I am.")]));
            let mut client = Client::start(&Project::new("//- /a.txt\nA\n"), &model);
            client.tolerate("window/showMessage");
            let first = client.ask("Go.");
            assert_ne!(first["stopReason"], "answer");
            assert_eq!(client.ask_on(&first["threadId"], "Again.")["answer"], "Here I am.", "after {first}");
        }
    });
}

/// With nothing configured the model inside askls answers from the files, and says what it is.
#[test]
fn without_a_model_server_the_offline_model_answers() {
    let project = Project::new("//- /src/main.rs\nfn main() {}\n//- /README.md\n# Example\n");
    let mut client = Client::builder(&project).start();
    let result = client.ask("What files are in the current directory?");
    assert_eq!(result["stopReason"], "answer", "{result}");
    let answer = result["answer"].as_str().unwrap();
    assert!(answer.contains("README.md") && answer.contains("src/"), "{answer}");
    assert!(result["steps"].as_u64().unwrap() >= 2, "it looks at the files as any model does: {result}");
    let wire: Option<Wire> = None;
    assert_eq!(client.command("askls.status", json!({}))["wire"], json!(wire.map(Wire::as_str)));
}

/// Not even whether it is there: nothing goes to the network before the user asks.
#[test]
fn a_local_server_hears_nothing_before_the_first_ask() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap().to_string();
    let mut client = Client::builder(&Project::new("//- /a.txt\nA\n")).env("OLLAMA_HOST", &address).start();
    client.command("askls.newThread", json!({}));
    server.set_nonblocking(true).unwrap();
    let nobody = server.accept().unwrap_err();
    assert_eq!(nobody.kind(), std::io::ErrorKind::WouldBlock);

    server.set_nonblocking(false).unwrap();
    let ask = client.send_ask("What files are here?");
    drop(server.accept().unwrap());
    assert_eq!(client.wait(&ask).unwrap()["stopReason"], "answer");
}
