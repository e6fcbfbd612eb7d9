use expect_test::{Expect, expect};

use super::*;
use crate::{
    model::story::endpoint,
    protocol::{AgentMessage, MessageState},
};

/// The messages, one a line.
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
    let lines = json["messages"].as_array().expect("a list").iter().map(|message| format!("{message}\n"));
    expected.assert_eq(&lines.collect::<String>());
}

fn user(text: &str) -> Item {
    Item::User(UserMessage { text: text.to_owned(), context: None })
}

fn agent(text: &str) -> Item {
    Item::Agent(AgentMessage { text: text.to_owned(), state: MessageState::Whole, raw: None })
}

fn reasoning(wire: Wire, json: &str) -> Item {
    Item::Reasoning(Reasoning { text: "hm".to_owned(), raw: Some(Raw { wire, json: json.into() }) })
}

fn call(id: &str, arguments: &str) -> Item {
    Item::Call(ToolCall {
        id: id.to_owned(),
        name: "read".to_owned(),
        arguments: arguments.to_owned(),
        raw: None,
    })
}

fn output(id: &str) -> Item {
    Item::Output(ToolOutput { call_id: id.to_owned(), text: "A".to_owned(), is_error: false })
}

// SPEC H1
#[test]
fn what_the_model_said_in_one_step_is_one_message() {
    check(
        &[
            user("hi"),
            agent("look"),
            call("a", "{}"),
            agent("twice"),
            call("b", "{}"),
            output("a"),
            output("b"),
            agent("done"),
        ],
        expect![[r#"
            {"content":"hi","role":"user"}
            {"content":"look\n\ntwice","role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"read"},"id":"a","type":"function"},{"function":{"arguments":"{}","name":"read"},"id":"b","type":"function"}]}
            {"content":"A","role":"tool","tool_call_id":"a"}
            {"content":"A","role":"tool","tool_call_id":"b"}
            {"content":"done","role":"assistant"}
        "#]],
    );
}

#[test]
fn reasoning_goes_back_with_the_calls_it_led_to_and_only_where_it_came_from() {
    let thought = || reasoning(Wire::Chat, r#"{"reasoning_content":"hm"}"#);
    check(
        &[user("hi"), thought(), call("a", "{}"), output("a")],
        expect![[r#"
        {"content":"hi","role":"user"}
        {"content":null,"reasoning_content":"hm","role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"read"},"id":"a","type":"function"}]}
        {"content":"A","role":"tool","tool_call_id":"a"}
    "#]],
    );
    check(
        &[user("hi"), thought(), agent("4"), user("sure?")],
        expect![[r#"
        {"content":"hi","role":"user"}
        {"content":"4","role":"assistant"}
        {"content":"sure?","role":"user"}
    "#]],
    );
    check(
        &[user("hi"), reasoning(Wire::Chat, r#"{"reasoning":"hm"}"#), call("a", "{}"), output("a")],
        expect![[r#"
            {"content":"hi","role":"user"}
            {"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"read"},"id":"a","type":"function"}]}
            {"content":"A","role":"tool","tool_call_id":"a"}
        "#]],
    );
    check(
        &[
            user("hi"),
            reasoning(Wire::Responses, r#"{"reasoning_content":"hm"}"#),
            call("a", "{}"),
            output("a"),
        ],
        expect![[r#"
            {"content":"hi","role":"user"}
            {"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"read"},"id":"a","type":"function"}]}
            {"content":"A","role":"tool","tool_call_id":"a"}
        "#]],
    );
}

#[test]
fn messages_that_say_and_call_nothing_are_left_out() {
    check(
        &[user("hi"), agent(""), user("well?")],
        expect![[r#"
        {"content":"hi","role":"user"}
        {"content":"well?","role":"user"}
    "#]],
    );
}

#[test]
fn arguments_go_back_as_an_object_whatever_the_model_wrote() {
    check(
        &[
            user("hi"),
            call("a", r#"{"p": 1}"#),
            call("b", ""),
            call("c", "{oops"),
            call("d", r#""{\"p\":1}""#),
            call("e", "[1]"),
            output("a"),
            output("b"),
            output("c"),
            output("d"),
            output("e"),
        ],
        expect![[r#"
            {"content":"hi","role":"user"}
            {"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{\"p\": 1}","name":"read"},"id":"a","type":"function"},{"function":{"arguments":"{}","name":"read"},"id":"b","type":"function"},{"function":{"arguments":"{\"unreadable_arguments\":\"{oops\"}","name":"read"},"id":"c","type":"function"},{"function":{"arguments":"{\"p\":1}","name":"read"},"id":"d","type":"function"},{"function":{"arguments":"{\"unreadable_arguments\":\"[1]\"}","name":"read"},"id":"e","type":"function"}]}
            {"content":"A","role":"tool","tool_call_id":"a"}
            {"content":"A","role":"tool","tool_call_id":"b"}
            {"content":"A","role":"tool","tool_call_id":"c"}
            {"content":"A","role":"tool","tool_call_id":"d"}
            {"content":"A","role":"tool","tool_call_id":"e"}
        "#]],
    );
}

#[test]
fn members_of_a_call_that_only_its_server_knows_go_back() {
    let json = r#"{"id":"old","type":"function","function":{"name":"read","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s"}}}"#;
    let raw = Some(Raw { wire: Wire::Chat, json: json.into() });
    let call =
        Item::Call(ToolCall { id: "a".to_owned(), name: "read".to_owned(), arguments: "{}".to_owned(), raw });
    check(
        &[user("hi"), call, output("a")],
        expect![[r#"
        {"content":"hi","role":"user"}
        {"content":null,"role":"assistant","tool_calls":[{"extra_content":{"google":{"thought_signature":"s"}},"function":{"arguments":"{}","name":"read"},"id":"a","type":"function"}]}
        {"content":"A","role":"tool","tool_call_id":"a"}
    "#]],
    );
}
