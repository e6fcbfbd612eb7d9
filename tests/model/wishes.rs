//! What askls adds to requests for the good of both sides, and leaves out where a server refuses it.

use askls::{
    model::{ErrorKind, Finish, ModelEvent, Room},
    protocol::{Item, Raw, Reasoning, ToolCall, ToolOutput, Usage, Wire},
};
use futures::StreamExt;
use serde_json::json;

use crate::{
    client, endpoint, request, step,
    support::model::{FakeModel, status, text},
    user,
};

/// A server's refusal of something that askls adds, and the member that it means.
const REFUSALS: [(Wire, &str, &str); 4] = [
    (Wire::Chat, "Unrecognized request argument supplied: stream_options", "stream_options"),
    (Wire::Chat, "Unsupported parameter: return_progress", "return_progress"),
    (Wire::Responses, "Encrypted content is not supported with this model.", "include"),
    (Wire::Messages, "cache_control: Extra inputs are not permitted", "cache_control"),
];

#[tokio::test]
async fn what_a_server_does_not_know_is_asked_for_once() {
    for (wire, refused, member) in REFUSALS {
        let refuse = status(400, &json!({"error": {"message": refused}}).to_string());
        let model = FakeModel::start(wire, [refuse, text("4"), text("5")]);
        let client = client(wire, endpoint(&model.base_url()));
        for expected in ["shown: 4\nagent: 4\n", "shown: 5\nagent: 5\n"] {
            assert_eq!(step(&*client, &[user("2+2?")]).await.lines, expected);
        }
        let asked: Vec<_> =
            model.requests().iter().map(|request| request.json.get(member).is_some()).collect();
        assert_eq!(asked, [true, false, false], "{wire}");
    }
}

// SPEC C8
#[tokio::test]
async fn a_request_is_not_sent_without_what_a_server_refuses_once_the_user_wants_no_further_one() {
    for (wire, refused, _) in REFUSALS {
        let refuse = status(400, &json!({"error": {"message": refused}}).to_string());
        let model = FakeModel::start(wire, [refuse, text("4")]).allow_unused();
        let client = client(wire, endpoint(&model.base_url()));
        let room = Room::default();
        room.last_step.cancel();
        let items = [user("2+2?")];
        let reply = client.stream_within(request(&items, &[]), room).await.expect("a reply");
        // Nothing was used.
        let usage = Some(Usage::default());
        let paused = ModelEvent::Done { finish: Finish::Pause, usage };
        assert_eq!(reply.collect::<Vec<_>>().await, [Ok(paused)], "{wire}");
        assert_eq!(model.requests().len(), 1, "{wire}");
    }
}

#[tokio::test]
async fn a_model_that_cannot_write_so_much_is_asked_for_less() {
    let refused =
        "max_tokens: 32000 > 4096, which is the maximum allowed number of output tokens for claude-3";
    let refuse = status(400, &json!({"type": "error", "error": {"message": refused}}).to_string());
    let model = FakeModel::start(Wire::Messages, [refuse, text("4"), text("5")]);
    let client = client(Wire::Messages, endpoint(&model.base_url()));
    for expected in ["shown: 4\nagent: 4\n", "shown: 5\nagent: 5\n"] {
        assert_eq!(step(&*client, &[user("2+2?")]).await.lines, expected);
    }
    let asked: Vec<_> = model.requests().iter().map(|request| request.json["max_tokens"].as_u64()).collect();
    assert_eq!(asked, [Some(32_000), Some(4096), Some(4096)]);
}

/// A thread in which reasoning that came as `reasoning` led to a call.
fn thought() -> Vec<Item> {
    let raw = Some(Raw { wire: Wire::Chat, json: r#"{"reasoning":"hm"}"#.into() });
    vec![
        user("2+2?"),
        Item::Reasoning(Reasoning { text: "hm".to_owned(), raw }),
        Item::Call(ToolCall {
            id: "call_1".to_owned(),
            name: "read_file".to_owned(),
            arguments: "{}".to_owned(),
            raw: None,
        }),
        Item::Output(ToolOutput { call_id: "call_1".to_owned(), text: "4".to_owned(), is_error: false }),
    ]
}

// SPEC H2
#[tokio::test]
async fn reasoning_goes_back_until_a_server_does_not_know_it() {
    for refused in [
        "Unknown parameter: 'messages[2].reasoning'.",
        "messages.2.reasoning: Extra inputs are not permitted",
        "property 'reasoning' is unsupported",
        "Please remove the 'reasoning_content' from messages",
        "The reasoning_content in the input messages must be removed",
        "Extra inputs are not permitted: messages.2.reasoning",
        "messages.2: unexpected key",
        "Bad Request",
    ] {
        let refuse = status(400, &json!({"error": {"message": refused}}).to_string());
        let model = FakeModel::start(Wire::Chat, [text("3"), refuse, text("4"), text("5")]);
        let client = client(Wire::Chat, endpoint(&model.base_url()));
        for answer in ["3", "4", "5"] {
            let expected = format!("shown: {answer}\nagent: {answer}\n");
            assert_eq!(step(&*client, &thought()).await.lines, expected, "{refused}");
        }
        let asked: Vec<_> = model
            .requests()
            .iter()
            .map(|request| request.json["messages"].to_string().contains("reasoning"))
            .collect();
        assert_eq!(asked, [true, true, false, false], "{refused}");
    }
}

// SPEC E13, H2
#[tokio::test]
async fn a_refusal_that_may_mean_the_reasoning_is_one_of_the_history() {
    let refuse = || status(422, "unknown field reasoning");
    let model = FakeModel::start(Wire::Chat, [refuse(), refuse()]);
    let client = client(Wire::Chat, endpoint(&model.base_url()));
    let error = step(&*client, &thought()).await.end.expect_err("the server refuses");
    assert_eq!(error.kind, ErrorKind::History);
    assert!(
        error.message.ends_with(
            "refused the request (422): unknown field reasoning, without the model's reasoning too"
        ),
        "{}",
        error.message
    );
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test]
async fn a_server_that_wants_its_reasoning_back_is_not_asked_without() {
    let refused = "The reasoning_content in the thinking mode must be passed back to the API";
    let refuse = status(400, &json!({"error": {"message": refused}}).to_string());
    let model = FakeModel::start(Wire::Chat, [refuse]);
    let client = client(Wire::Chat, endpoint(&model.base_url()));
    let error = step(&*client, &thought()).await.end.expect_err("the server refuses");
    assert!(error.message.contains(refused), "{}", error.message);
    assert_eq!(model.requests().len(), 1);
}
