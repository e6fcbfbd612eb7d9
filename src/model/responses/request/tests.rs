use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::{super::stored::Measure, *};
use crate::model::{options::Effort, story::endpoint};

fn request(items: &[Item]) -> Request<'_> {
    Request {
        instructions: "",
        items,
        tools: &[],
        tool_choice: ToolChoice::Auto,
        answer_schema: None,
        cache_key: "thread",
    }
}

fn body_of(endpoint: &Endpoint, request: Request<'_>, wishes: &[Wish]) -> Value {
    let body = body(endpoint, request, Wishes::of(wishes)).expect("items are JSON");
    serde_json::from_str(&body).expect("a body is JSON")
}

/// The items of the input, one a line.
fn check(items: &[Item], expected: Expect) {
    let json = body_of(&endpoint(), request(items), &[]);
    let lines = json["input"].as_array().expect("a list").iter().map(|item| format!("{item}\n"));
    expected.assert_eq(&lines.collect::<String>());
}

fn raw(wire: Wire, json: &str) -> Option<Raw> {
    Some(Raw { wire, json: json.into() })
}

fn user(text: &str) -> Item {
    Item::User(UserMessage { text: text.to_owned(), context: None })
}

fn agent(text: &str, state: MessageState, raw: Option<Raw>) -> Item {
    Item::Agent(AgentMessage { text: text.to_owned(), state, raw })
}

fn reasoning(wire: Wire, json: &str) -> Item {
    Item::Reasoning(Reasoning { text: "hm".to_owned(), raw: raw(wire, json) })
}

fn call(raw: Option<Raw>) -> Item {
    Item::Call(ToolCall { id: "c".to_owned(), name: "read".to_owned(), arguments: "{}".to_owned(), raw })
}

fn output() -> Item {
    Item::Output(ToolOutput { call_id: "c".to_owned(), text: "no".to_owned(), is_error: true })
}

const SEALED: &str = r#"{"type":"reasoning","id":"r","encrypted_content":"x","summary":[]}"#;
const OWN_CALL: &str = r#"{"type":"function_call","id":"f","call_id":"c","name":"read","arguments":"{}"}"#;

#[test]
fn a_partial_message_goes_back_as_words_and_an_empty_one_not_at_all() {
    check(
        &[
            user("hi"),
            agent("half", MessageState::Partial, raw(Wire::Responses, r#"{"type":"message"}"#)),
            user("go on"),
            agent("", MessageState::Whole, None),
            user("well?"),
        ],
        expect![[r#"
            {"content":[{"text":"hi","type":"input_text"}],"role":"user","type":"message"}
            {"content":[{"text":"half","type":"output_text"}],"role":"assistant","type":"message"}
            {"content":[{"text":"go on","type":"input_text"}],"role":"user","type":"message"}
            {"content":[{"text":"well?","type":"input_text"}],"role":"user","type":"message"}
        "#]],
    );
}

#[test]
fn items_of_another_wire_are_made_anew_and_its_reasoning_is_left_out() {
    check(
        &[
            user("hi"),
            reasoning(Wire::Chat, r#"{"reasoning_content":"hm"}"#),
            agent("look", MessageState::Whole, raw(Wire::Chat, "{}")),
            call(raw(Wire::Chat, "{}")),
            output(),
        ],
        expect![[r#"
            {"content":[{"text":"hi","type":"input_text"}],"role":"user","type":"message"}
            {"content":[{"text":"look","type":"output_text"}],"role":"assistant","type":"message"}
            {"arguments":"{}","call_id":"c","name":"read","type":"function_call"}
            {"call_id":"c","output":"no","type":"function_call_output"}
        "#]],
    );
}

#[test]
fn reasoning_goes_back_only_in_front_of_what_it_led_to() {
    let own = || call(raw(Wire::Responses, OWN_CALL));
    check(
        &[user("hi"), reasoning(Wire::Responses, SEALED), own(), output()],
        expect![[r#"
        {"content":[{"text":"hi","type":"input_text"}],"role":"user","type":"message"}
        {"encrypted_content":"x","id":"r","summary":[],"type":"reasoning"}
        {"arguments":"{}","call_id":"c","id":"f","name":"read","type":"function_call"}
        {"call_id":"c","output":"no","type":"function_call_output"}
    "#]],
    );
    check(
        &[user("hi"), reasoning(Wire::Responses, SEALED), user("well?")],
        expect![[r#"
        {"content":[{"text":"hi","type":"input_text"}],"role":"user","type":"message"}
        {"content":[{"text":"well?","type":"input_text"}],"role":"user","type":"message"}
    "#]],
    );
    check(
        &[user("hi"), reasoning(Wire::Responses, SEALED), call(None), output()],
        expect![[r#"
        {"content":[{"text":"hi","type":"input_text"}],"role":"user","type":"message"}
        {"arguments":"{}","call_id":"c","name":"read","type":"function_call"}
        {"call_id":"c","output":"no","type":"function_call_output"}
    "#]],
    );
}

#[test]
fn an_item_whose_id_is_taken_goes_back_without_it() {
    let second = |own: &str| raw(Wire::Responses, &own.replace(r#""call_id":"c""#, r#""call_id":"d""#));
    let answer = |call_id: &str| {
        Item::Output(ToolOutput { call_id: call_id.to_owned(), text: "no".to_owned(), is_error: true })
    };
    let again = Item::Call(ToolCall {
        id: "d".to_owned(),
        name: "read".to_owned(),
        arguments: "{}".to_owned(),
        raw: second(OWN_CALL),
    });
    check(
        &[
            reasoning(Wire::Responses, SEALED),
            call(raw(Wire::Responses, OWN_CALL)),
            answer("c"),
            reasoning(Wire::Responses, SEALED),
            again,
            answer("d"),
        ],
        expect![[r#"
        {"encrypted_content":"x","id":"r","summary":[],"type":"reasoning"}
        {"arguments":"{}","call_id":"c","id":"f","name":"read","type":"function_call"}
        {"call_id":"c","output":"no","type":"function_call_output"}
        {"encrypted_content":"x","summary":[],"type":"reasoning"}
        {"arguments":"{}","call_id":"d","name":"read","type":"function_call"}
        {"call_id":"d","output":"no","type":"function_call_output"}
    "#]],
    );
}

#[test]
fn reasoning_that_the_server_cannot_open_is_left_out() {
    let own = || call(raw(Wire::Responses, OWN_CALL));
    let bare = r#"{"type":"reasoning","id":"r","encrypted_content":null,"summary":[]}"#;
    check(
        &[user("hi"), reasoning(Wire::Responses, bare), own(), output()],
        expect![[r#"
        {"content":[{"text":"hi","type":"input_text"}],"role":"user","type":"message"}
        {"arguments":"{}","call_id":"c","id":"f","name":"read","type":"function_call"}
        {"call_id":"c","output":"no","type":"function_call_output"}
    "#]],
    );
    let plain = r#"{"type":"reasoning","content":[{"type":"reasoning_text","text":"hm"}]}"#;
    check(
        &[user("hi"), reasoning(Wire::Responses, plain), own(), output()],
        expect![[r#"
        {"content":[{"text":"hi","type":"input_text"}],"role":"user","type":"message"}
        {"content":[{"text":"hm","type":"reasoning_text"}],"type":"reasoning"}
        {"arguments":"{}","call_id":"c","id":"f","name":"read","type":"function_call"}
        {"call_id":"c","output":"no","type":"function_call_output"}
    "#]],
    );
}

fn call_with(arguments: &str, raw: Option<Raw>) -> Item {
    let (id, name) = ("c".to_owned(), "read".to_owned());
    Item::Call(ToolCall { id, name, arguments: arguments.to_owned(), raw })
}

// SPEC E3
#[test]
fn broken_arguments_go_back_unchanged_where_they_are_not_read_and_as_an_object_elsewhere() {
    let json =
        r#"{"type":"function_call","id":"f","call_id":"c","name":"read","arguments":"{oops","phase":"x"}"#;
    let items = [call_with("{oops", raw(Wire::Responses, json)), output()];
    check(
        &items,
        expect![[r#"
        {"arguments":"{\"unreadable_arguments\":\"{oops\"}","call_id":"c","id":"f","name":"read","phase":"x","type":"function_call"}
        {"call_id":"c","output":"no","type":"function_call_output"}
    "#]],
    );
    let openai = Endpoint::new("https://api.openai.com/v1", "gpt-5").expect("a good base URL");
    let body = body_of(&openai, request(&items), &[]);
    assert_eq!(body["input"][0], serde_json::from_str::<Value>(json).expect("JSON"));
    check(
        &[call_with("", None), call_with(r#""{\"p\":1}""#, None), call_with("[1]", None)],
        expect![[r#"
        {"arguments":"{}","call_id":"c","name":"read","type":"function_call"}
        {"arguments":"{\"p\":1}","call_id":"c","name":"read","type":"function_call"}
        {"arguments":"{\"unreadable_arguments\":\"[1]\"}","call_id":"c","name":"read","type":"function_call"}
    "#]],
    );
}

fn tools() -> [ToolSpec; 2] {
    let tool =
        |name: &str, parameters| ToolSpec { name: name.to_owned(), description: "d".to_owned(), parameters };
    let path = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    [tool("read", path), tool("free", json!({"type": "object", "additionalProperties": true}))]
}

// SPEC L17, L18, L19
#[test]
fn what_the_settings_and_the_turn_want_has_its_members() {
    let mut endpoint = Endpoint::clone(&endpoint());
    endpoint.options.reasoning_effort = Some(Effort::High);
    endpoint.options.temperature = Some(0.5);
    endpoint.options.parallel_tool_calls = Some(false);
    endpoint.options.strict_tools = true;
    let items = [user("hi")];
    let tools = tools();
    let schema = json!({"type": "object"});
    let request = Request {
        tools: &tools,
        tool_choice: ToolChoice::Named("read"),
        answer_schema: Some(&schema),
        ..request(&items)
    };
    let body = body_of(&endpoint, request, &[Wish::StrictTools]);
    expect![[r#"
        {
          "input": [
            {
              "content": [
                {
                  "text": "hi",
                  "type": "input_text"
                }
              ],
              "role": "user",
              "type": "message"
            }
          ],
          "model": "some-model",
          "parallel_tool_calls": false,
          "reasoning": {
            "effort": "high"
          },
          "store": false,
          "stream": true,
          "temperature": 0.5,
          "text": {
            "format": {
              "name": "answer",
              "schema": {
                "type": "object"
              },
              "strict": false,
              "type": "json_schema"
            }
          },
          "tool_choice": {
            "name": "read",
            "type": "function"
          },
          "tools": [
            {
              "description": "d",
              "name": "read",
              "parameters": {
                "additionalProperties": false,
                "properties": {
                  "path": {
                    "type": [
                      "string",
                      "null"
                    ]
                  }
                },
                "required": [
                  "path"
                ],
                "type": "object"
              },
              "strict": true,
              "type": "function"
            },
            {
              "description": "d",
              "name": "free",
              "parameters": {
                "additionalProperties": true,
                "type": "object"
              },
              "strict": false,
              "type": "function"
            }
          ]
        }"#]]
    .assert_eq(&format!("{body:#}"));
    let body = body_of(&endpoint, Request { tool_choice: ToolChoice::Required, ..request }, &[]);
    assert_eq!((&body["tool_choice"], &body["tools"][0]["strict"]), (&json!("required"), &json!(false)));
    let body = body_of(&endpoint, Request { tools: &[], ..request }, &[]);
    assert_eq!([body.get("tools"), body.get("tool_choice"), body.get("parallel_tool_calls")], [None; 3]);
}

// SPEC H4
#[test]
fn what_the_server_has_stored_is_not_sent_again() {
    let mut endpoint = Endpoint::clone(&endpoint());
    endpoint.options.store = true;
    let own = call(raw(Wire::Responses, OWN_CALL));
    let told = |items: &[Item], wishes: &[Wish]| {
        let body = body_of(&endpoint, request(items), wishes);
        let kinds = body["input"].as_array().expect("a list").iter().map(|item| item["type"].to_string());
        format!("{} {}", body["previous_response_id"], kinds.collect::<Vec<_>>().join(" "))
    };
    let mark_of = |items: &[Item]| stored::mark(&endpoint, "resp_1", Measure::of(items)).expect("a mark");
    let mark = mark_of(&[user("hi"), own.clone()]);
    let thread = [user("hi"), own.clone(), mark.clone(), output()];
    let whole = r#"null "message" "function_call" "function_call_output""#;
    assert_eq!(told(&thread, &[Wish::StoredReplies]), r#""resp_1" "function_call_output""#);
    // The server no longer has it.
    assert_eq!(told(&thread, &[]), whole);
    // Another server, or another account there, has another response by that id, or none.
    let sent_to = |endpoint: &Endpoint| body_of(endpoint, request(&thread), &[Wish::StoredReplies]);
    let mut elsewhere = Endpoint::new("http://other.test/v1", "some-model").expect("a good base URL");
    elsewhere.options.store = true;
    let mut account = endpoint.clone();
    account.key = Some("another key".into());
    for other in [elsewhere, account.clone()] {
        assert!(sent_to(&other)["previous_response_id"].is_null());
    }
    // The account stays the same where a command tells a new key.
    account.key_source = Some("api_key_command".to_owned());
    assert_eq!(sent_to(&account)["previous_response_id"], "resp_1");
    // The history was mended, or shortened, since.
    for changed in [user("hi, you"), user("")] {
        let thread = [changed, own.clone(), mark.clone(), output()];
        assert_eq!(told(&thread, &[Wish::StoredReplies]), whole);
    }
    // The call goes by another id in this thread than on the server.
    assert_eq!(told(&[user("hi"), call(None), mark, output()], &[Wish::StoredReplies]), whole);
}

#[test]
fn a_name_that_a_model_made_up_goes_back_as_servers_take_it() {
    let json = OWN_CALL.replace("read", "functions.read");
    let Item::Call(call) = call(raw(Wire::Responses, &json)) else { panic!("a call") };
    let call = Item::Call(ToolCall { name: "functions.read".to_owned(), ..call });
    check(
        &[user("hi"), call, output()],
        expect![[r#"
        {"content":[{"text":"hi","type":"input_text"}],"role":"user","type":"message"}
        {"arguments":"{}","call_id":"c","id":"f","name":"functions_read","type":"function_call"}
        {"call_id":"c","output":"no","type":"function_call_output"}
    "#]],
    );
}
