//! What the wires make of what servers want and send, over real HTTP.

use askls::{
    model::{Finish, Options, http::Endpoint},
    protocol::{Item, ToolOutput, Wire},
};
use serde_json::{Value, json};

use super::{
    client, endpoint, step,
    support::model::{FakeModel, Reply, raw_sse, status, text},
    turn, user,
};

fn with(base_url: &str, change: impl FnOnce(&mut Options)) -> Endpoint {
    let mut endpoint = endpoint(base_url);
    change(&mut endpoint.options);
    endpoint
}

/// A refusal in OpenAI's form.
fn refuse(code: u16, message: &str) -> Reply {
    status(code, &json!({"error": {"message": message}}).to_string())
}

/// Which of these members each request had.
fn members(model: &FakeModel, names: &[&str]) -> Vec<Vec<String>> {
    let had = |json: &Value| {
        let names = names.iter().filter(|name| json.get(**name).is_some());
        names.map(|name| (*name).to_owned()).collect()
    };
    model.requests().iter().map(|request| had(&request.json)).collect()
}

#[tokio::test]
async fn the_bound_is_asked_for_under_its_other_name_once_a_server_does_not_know_the_usual_one() {
    let unknown = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
    let model = FakeModel::start(Wire::Chat, [refuse(400, unknown), text("4"), text("5")]);
    let client = client(Wire::Chat, with(&model.base_url(), |options| options.max_output_tokens = Some(9)));
    for _ in 0..2 {
        assert_eq!(step(&*client, &[user("2+2?")]).await.end, Ok(Finish::Stop));
    }
    let names = ["max_tokens", "max_completion_tokens"];
    assert_eq!(
        members(&model, &names),
        [["max_tokens"], ["max_completion_tokens"], ["max_completion_tokens"]]
    );
}

#[tokio::test]
async fn a_bound_that_is_too_large_is_no_unknown_one() {
    let model = FakeModel::start(Wire::Chat, [refuse(400, "max_tokens is too large: 9")]);
    let client = client(Wire::Chat, with(&model.base_url(), |options| options.max_output_tokens = Some(9)));
    assert!(step(&*client, &[user("2+2?")]).await.end.is_err());
}

#[tokio::test]
async fn tools_are_offered_without_strict_schemas_where_a_server_refuses_those() {
    for wire in [Wire::Chat, Wire::Responses] {
        let model =
            FakeModel::start(wire, [refuse(400, "Invalid schema for function 'read_file'"), text("4")]);
        let client = client(wire, with(&model.base_url(), |options| options.strict_tools = true));
        assert_eq!(step(&*client, &[user("2+2?")]).await.end, Ok(Finish::Stop));
        let strict = model.requests().into_iter().map(|request| {
            let tool = &request.json["tools"][0];
            tool.get("strict").or(tool.pointer("/function/strict")).cloned().unwrap_or_default() == true
        });
        assert_eq!(strict.collect::<Vec<_>>(), [true, false], "{wire}");
    }
}

const STORED_CALL: &str = r#"data: {"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"f","call_id":"c","name":"read_file","arguments":"{}","status":"completed"}}

data: {"type":"response.completed","response":{"id":"resp_1","output":[]}}

"#;

/// A reply that the server keeps.
fn stored_answer(number: u32) -> Reply {
    let message = json!({"type": "message", "id": format!("msg_{number}"), "role": "assistant", "content": [{"type": "output_text", "text": "4"}]});
    let done = json!({"type": "response.output_item.done", "output_index": 0, "item": message});
    let completed =
        json!({"type": "response.completed", "response": {"id": format!("resp_{number}"), "output": []}});
    raw_sse(&format!("data: {done}\n\ndata: {completed}\n\n"))
}

/// The server's state that each request names, and how many items it sends.
fn inputs(model: &FakeModel) -> Vec<(Option<String>, usize)> {
    let input = |json: &Value| {
        let state = json["previous_response_id"].as_str().map(str::to_owned);
        (state, json["input"].as_array().map_or(0, Vec::len))
    };
    model.requests().iter().map(|request| input(&request.json)).collect()
}

fn state(id: &str) -> Option<String> {
    Some(id.to_owned())
}

// SPEC H4
#[tokio::test]
async fn what_a_server_has_lost_is_sent_again_as_a_whole_and_what_it_cannot_store_is_asked_for_once() {
    for (refusal, third) in [
        (refuse(404, "Previous response with id 'resp_1' not found."), (state("resp_2"), 1)),
        (refuse(400, "llama.cpp does not support 'previous_response_id'."), (None, 5)),
    ] {
        let answers = [stored_answer(1), refusal, stored_answer(2), stored_answer(3)];
        let model = FakeModel::start(Wire::Responses, answers);
        let client = client(Wire::Responses, with(&model.base_url(), |options| options.store = true));
        let mut items = Vec::new();
        for question in ["2+2?", "sure?", "really?"] {
            items.push(user(question));
            items.extend(step(&*client, &items).await.items);
        }
        assert_eq!(inputs(&model), [(None, 1), (state("resp_1"), 1), (None, 3), third]);
    }
}

// SPEC H4
#[tokio::test]
async fn an_output_goes_alone_to_a_server_that_has_stored_its_call() {
    // The fake server knows of no stored calls, and refuses such an output as real ones do whose state is another.
    let model = FakeModel::start(Wire::Responses, [raw_sse(STORED_CALL), stored_answer(2)]).allow_refusals();
    let client = client(Wire::Responses, with(&model.base_url(), |options| options.store = true));
    let mut items = vec![user("2+2?")];
    items.extend(step(&*client, &items).await.items);
    items.push(Item::Output(ToolOutput { call_id: "c".into(), text: "A".into(), is_error: false }));
    assert_eq!(step(&*client, &items).await.end, Ok(Finish::Stop));
    assert_eq!(inputs(&model), [(None, 1), (state("resp_1"), 1), (None, 3)]);
}

#[tokio::test]
async fn a_call_that_comes_as_text_runs_and_goes_back_as_a_call_on_every_wire() {
    for wire in [Wire::Responses, Wire::Chat] {
        let call = "I look.\n```json\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.txt\"}}\n```";
        let model = FakeModel::start(wire, [text(call), text("It says A.")]);
        let client = client(wire, with(&model.base_url(), |options| options.text_calls = true));
        let story = turn(&*client, &mut vec![user("what is in a.txt?")]).await;
        assert_eq!(
            story,
            "shown: I look.\n\nagent: I look.\ncall: read_file {\"path\":\"a.txt\"}\n---\nshown: It says A.\nagent: It says A.\n=> Stop\n",
            "{wire}"
        );
        assert_eq!(model.request(2).await.outputs().len(), 1, "{wire}");
    }
}
