use expect_test::{Expect, expect};
use serde_json::Value;

use super::*;
use crate::model::story::endpoint;

/// The items of the input, one a line.
fn check(items: &[Item], expected: Expect) {
    let request = Request {
        instructions: "",
        items,
        tools: &[],
        tool_choice: ToolChoice::Auto,
        answer_schema: None,
        cache_key: "thread",
    };
    let body = body(&endpoint(), request, Wishes::of(&[])).expect("items are JSON");
    let json: Value = serde_json::from_str(&body).expect("a body is JSON");
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
    Item::Call(ToolCall { id: "c".to_owned(), name: "read".to_owned(), arguments: "{oops".to_owned(), raw })
}

fn output() -> Item {
    Item::Output(ToolOutput { call_id: "c".to_owned(), text: "no".to_owned(), is_error: true })
}

const SEALED: &str = r#"{"type":"reasoning","id":"r","encrypted_content":"x","summary":[]}"#;
const OWN_CALL: &str = r#"{"type":"function_call","id":"f","call_id":"c","name":"read","arguments":"{oops"}"#;

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
            {"arguments":"{oops","call_id":"c","name":"read","type":"function_call"}
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
        {"arguments":"{oops","call_id":"c","id":"f","name":"read","type":"function_call"}
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
        {"arguments":"{oops","call_id":"c","name":"read","type":"function_call"}
        {"call_id":"c","output":"no","type":"function_call_output"}
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
        {"arguments":"{oops","call_id":"c","id":"f","name":"read","type":"function_call"}
        {"call_id":"c","output":"no","type":"function_call_output"}
    "#]],
    );
    let plain = r#"{"type":"reasoning","content":[{"type":"reasoning_text","text":"hm"}]}"#;
    check(
        &[user("hi"), reasoning(Wire::Responses, plain), own(), output()],
        expect![[r#"
        {"content":[{"text":"hi","type":"input_text"}],"role":"user","type":"message"}
        {"content":[{"text":"hm","type":"reasoning_text"}],"type":"reasoning"}
        {"arguments":"{oops","call_id":"c","id":"f","name":"read","type":"function_call"}
        {"call_id":"c","output":"no","type":"function_call_output"}
    "#]],
    );
}
