use expect_test::{Expect, expect};
use serde_json::json;

use super::*;
use crate::{
    model::story::endpoint,
    protocol::{AgentMessage, MessageState, Raw, Reasoning},
};

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

/// The messages, one a line.
fn check(items: &[Item], expected: Expect) {
    check_at(&endpoint(), items, expected);
}

fn check_at(endpoint: &Endpoint, items: &[Item], expected: Expect) {
    let json = body_of(endpoint, request(items), &[Wish::EchoedReasoning]);
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
    let parts =
        r#"{"reasoning":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm","signature":"s"}]}"#;
    check(
        &[user("hi"), reasoning(Wire::Chat, parts), call("a", "{}"), output("a")],
        expect![[r#"
        {"content":"hi","role":"user"}
        {"content":null,"reasoning":"hm","reasoning_details":[{"signature":"s","text":"hm","type":"reasoning.text"}],"role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"read"},"id":"a","type":"function"}]}
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
fn reasoning_stays_where_the_server_or_the_user_does_not_want_it_back() {
    let items = [user("hi"), reasoning(Wire::Chat, r#"{"reasoning":"hm"}"#), call("a", "{}"), output("a")];
    let is_echoed = |endpoint: &Endpoint, wishes: &[Wish]| {
        body_of(endpoint, request(&items), wishes)["messages"][1].get("reasoning").is_some()
    };
    let mut silent = Endpoint::clone(&endpoint());
    silent.options.echo_reasoning = false;
    assert!(is_echoed(&endpoint(), &[Wish::EchoedReasoning]));
    assert!(!is_echoed(&endpoint(), &[]));
    assert!(!is_echoed(&silent, &[Wish::EchoedReasoning]));
}

#[test]
fn reading_is_told_by_servers_that_may_be_llama_cpp() {
    let is_asked = |base_url: &str, wishes: &[Wish]| {
        let endpoint = Endpoint::new(base_url, "m").expect("a good base URL");
        body_of(&endpoint, request(&[]), wishes).get("return_progress").is_some()
    };
    assert!(is_asked("http://127.0.0.1:8080/v1", &[Wish::ReadingProgress]));
    assert!(!is_asked("http://127.0.0.1:8080/v1", &[]));
    assert!(!is_asked("https://host.test/v1", &[Wish::ReadingProgress]));
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

#[test]
fn servers_that_refuse_null_get_an_empty_text() {
    let mut endpoint = Endpoint::clone(&endpoint());
    endpoint.options.null_content = NullContent::EmptyString;
    check_at(
        &endpoint,
        &[call("a", "{}"), output("a")],
        expect![[r#"
        {"content":"","role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"read"},"id":"a","type":"function"}]}
        {"content":"A","role":"tool","tool_call_id":"a"}
    "#]],
    );
}

#[test]
fn servers_that_refuse_two_messages_of_one_role_in_a_row_get_one() {
    let mut endpoint = Endpoint::clone(&endpoint());
    endpoint.options.strict_alternation = true;
    check_at(
        &endpoint,
        &[user("hi"), user("well?"), agent("4"), agent("5"), user("sure?")],
        expect![[r#"
        {"content":"hi\n\nwell?","role":"user"}
        {"content":"4\n\n5","role":"assistant"}
        {"content":"sure?","role":"user"}
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
          "messages": [
            {
              "content": "hi",
              "role": "user"
            }
          ],
          "model": "some-model",
          "parallel_tool_calls": false,
          "reasoning_effort": "high",
          "response_format": {
            "json_schema": {
              "name": "answer",
              "schema": {
                "type": "object"
              },
              "strict": false
            },
            "type": "json_schema"
          },
          "stream": true,
          "temperature": 0.5,
          "tool_choice": {
            "function": {
              "name": "read"
            },
            "type": "function"
          },
          "tools": [
            {
              "function": {
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
                "strict": true
              },
              "type": "function"
            },
            {
              "function": {
                "description": "d",
                "name": "free",
                "parameters": {
                  "additionalProperties": true,
                  "type": "object"
                }
              },
              "type": "function"
            }
          ]
        }"#]]
    .assert_eq(&format!("{body:#}"));
    let body = body_of(&endpoint, Request { tool_choice: ToolChoice::Required, ..request }, &[]);
    assert_eq!(
        (&body["tool_choice"], body["tools"][0].pointer("/function/strict")),
        (&json!("required"), None)
    );
    let body = body_of(&endpoint, Request { tools: &[], ..request }, &[]);
    assert_eq!([body.get("tools"), body.get("tool_choice"), body.get("parallel_tool_calls")], [None; 3]);
}

#[test]
fn the_bound_has_the_name_that_the_server_knows() {
    let bound = |base_url: &str, wishes: &[Wish]| {
        let mut endpoint = Endpoint::new(base_url, "m").expect("a good base URL");
        endpoint.options.max_output_tokens = Some(7);
        let body = body_of(&endpoint, request(&[]), wishes);
        [body["max_tokens"].as_u64(), body["max_completion_tokens"].as_u64()]
    };
    let (openai, other, usual) =
        ("https://api.openai.com/v1", "http://server.test/v1", [Wish::UsualTokenBound]);
    assert_eq!([bound(openai, &usual), bound(openai, &[])], [[None, Some(7)], [Some(7), None]]);
    assert_eq!([bound(other, &usual), bound(other, &[])], [[Some(7), None], [None, Some(7)]]);
}

#[test]
fn a_name_that_a_model_made_up_goes_back_as_servers_take_it() {
    let Item::Call(call) = call("a", "{}") else { panic!("a call") };
    let call = Item::Call(ToolCall { name: "functions.read".to_owned(), ..call });
    check(
        &[user("hi"), call, output("a")],
        expect![[r#"
        {"content":"hi","role":"user"}
        {"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"functions_read"},"id":"a","type":"function"}]}
        {"content":"A","role":"tool","tool_call_id":"a"}
    "#]],
    );
}
