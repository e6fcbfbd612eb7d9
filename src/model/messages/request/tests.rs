use expect_test::{Expect, expect};
use serde_json::json;

use super::*;
use crate::{
    model::{Options, story::endpoint},
    protocol::{AgentMessage, Item, MessageState, Raw, Reasoning, ToolCall, ToolOutput, UserMessage},
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

/// The messages, one a line.
fn check(items: &[Item], expected: Expect) {
    let body = body(&endpoint(), request(items), Wishes::of(&[])).expect("items are JSON");
    let (_, messages) = body.split_once("\"messages\":[").expect("messages come last");
    let messages = messages.strip_suffix("]}").expect("nothing comes after them");
    expected.assert_eq(&format!("{}\n", messages.replace("},{\"role\"", "}\n{\"role\"")));
}

/// Everything in front of the messages.
fn check_head(set: impl Fn(&mut Options), request: Request<'_>, wishes: &[Wish], expected: Expect) {
    let mut endpoint = Endpoint::clone(&endpoint());
    set(&mut endpoint.options);
    let body = body(&endpoint, request, Wishes::of(wishes)).expect("items are JSON");
    let (head, _) = body.split_once(",\"messages\":").expect("messages come last");
    expected.assert_eq(&format!("{head}\n"));
}

fn user(text: &str) -> Item {
    Item::User(UserMessage { text: text.to_owned(), context: None })
}

fn agent(text: &str) -> Item {
    Item::Agent(AgentMessage { text: text.to_owned(), state: MessageState::Whole, raw: None })
}

fn own(json: &str) -> Option<Raw> {
    Some(Raw { wire: Wire::Messages, json: json.into() })
}

fn thought() -> Item {
    let json = r#"{"type":"thinking", "thinking":"hm","signature":"Eq=="}"#;
    Item::Reasoning(Reasoning { text: "hm".to_owned(), raw: own(json) })
}

fn call(id: &str, arguments: &str) -> Item {
    let (id, name, arguments) = (id.to_owned(), "read".to_owned(), arguments.to_owned());
    Item::Call(ToolCall { id, name, arguments, raw: None })
}

fn output(id: &str) -> Item {
    Item::Output(ToolOutput { call_id: id.to_owned(), text: "A".to_owned(), is_error: false })
}

fn tools() -> [ToolSpec; 1] {
    let parameters = json!({"type": "object"});
    [ToolSpec { name: "read".to_owned(), description: "reads".to_owned(), parameters }]
}

// SPEC H1, T16
#[test]
fn what_the_model_said_in_one_step_is_one_message_and_so_are_the_outputs() {
    check(
        &[
            user("hi"),
            thought(),
            agent("look"),
            call("a", "{}"),
            call("b", "{\"p\": 1}"),
            output("a"),
            Item::Output(ToolOutput { call_id: "b".to_owned(), text: "no".to_owned(), is_error: true }),
            agent("done"),
            user("sure?"),
        ],
        expect![[r#"
            {"role":"user","content":[{"type":"text","text":"hi"}]}
            {"role":"assistant","content":[{"type":"thinking", "thinking":"hm","signature":"Eq=="},{"type":"text","text":"look"},{"type":"tool_use","id":"a","name":"read","input":{}},{"type":"tool_use","id":"b","name":"read","input":{"p": 1}}]}
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"A"},{"type":"tool_result","tool_use_id":"b","content":"no","is_error":true}]}
            {"role":"assistant","content":[{"type":"text","text":"done"}]}
            {"role":"user","content":[{"type":"text","text":"sure?"}]}
        "#]],
    );
}

// SPEC H1
#[test]
fn outputs_stand_in_front_of_what_the_user_says() {
    check(
        &[user("hi"), call("a", "{}"), user("wait"), output("a")],
        expect![[r#"
        {"role":"user","content":[{"type":"text","text":"hi"}]}
        {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"read","input":{}}]}
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"A"},{"type":"text","text":"wait"}]}
    "#]],
    );
    check(
        &[user("hi"), call("a", "{}"), output("a"), user("and?"), user("well?")],
        expect![[r#"
        {"role":"user","content":[{"type":"text","text":"hi"}]}
        {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"read","input":{}}]}
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"A"},{"type":"text","text":"and?"},{"type":"text","text":"well?"}]}
    "#]],
    );
}

// SPEC H5
#[test]
fn thoughts_go_back_where_they_came_from_and_only_with_what_they_led_to() {
    check(
        &[user("hi"), thought(), user("well?")],
        expect![[r#"
        {"role":"user","content":[{"type":"text","text":"hi"},{"type":"text","text":"well?"}]}
    "#]],
    );
    check(
        &[user("hi"), agent("4"), thought(), user("well?")],
        expect![[r#"
        {"role":"user","content":[{"type":"text","text":"hi"}]}
        {"role":"assistant","content":[{"type":"text","text":"4"}]}
        {"role":"user","content":[{"type":"text","text":"well?"}]}
    "#]],
    );
    let foreign = Some(Raw { wire: Wire::Chat, json: r#"{"reasoning_content":"hm"}"#.into() });
    let reasoning = |raw| Item::Reasoning(Reasoning { text: "hm".to_owned(), raw });
    let opaque = Item::Opaque(Raw { wire: Wire::Responses, json: r#"{"type":"new"}"#.into() });
    check(
        &[user("hi"), reasoning(foreign), reasoning(None), opaque, agent("4"), user("sure?")],
        expect![[r#"
            {"role":"user","content":[{"type":"text","text":"hi"}]}
            {"role":"assistant","content":[{"type":"text","text":"4"}]}
            {"role":"user","content":[{"type":"text","text":"sure?"}]}
        "#]],
    );
}

#[test]
fn what_says_nothing_is_left_out() {
    let nothing = Item::Output(ToolOutput { call_id: "a".to_owned(), text: String::new(), is_error: false });
    check(
        &[user("hi"), agent(""), user(" "), agent("\n\n"), call("a", "{}"), nothing],
        expect![[r#"
        {"role":"user","content":[{"type":"text","text":"hi"}]}
        {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"read","input":{}}]}
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}
    "#]],
    );
}

#[test]
fn a_history_that_begins_with_the_model_gets_a_beginning() {
    check(
        &[agent("4"), user("sure?")],
        expect![[r#"
        {"role":"user","content":[{"type":"text","text":"(The beginning of this thread is not kept.)"}]}
        {"role":"assistant","content":[{"type":"text","text":"4"}]}
        {"role":"user","content":[{"type":"text","text":"sure?"}]}
    "#]],
    );
}

// SPEC E3
#[test]
fn arguments_go_back_as_an_object_whatever_the_model_wrote() {
    for (arguments, expected) in [
        (r#"{"p": 1.50, "a": "ä"}"#, expect![[r#"{"p": 1.50, "a": "ä"}"#]]),
        ("", expect!["{}"]),
        ("null", expect!["{}"]),
        ("{oops", expect![[r#"{"unreadable_arguments":"{oops"}"#]]),
        (r#""{\"p\":1}""#, expect![[r#"{"p":1}"#]]),
        ("[1]", expect![[r#"{"unreadable_arguments":"[1]"}"#]]),
    ] {
        let items = [user("hi"), call("a", arguments), output("a")];
        let body = body(&endpoint(), request(&items), Wishes::of(&[])).expect("items are JSON");
        let (_, rest) = body.split_once("\"input\":").expect("a call");
        expected.assert_eq(rest.split_once("}]},").expect("the call's end").0);
    }
}

// SPEC H2
#[test]
fn members_that_only_the_server_knows_go_back_with_their_item() {
    let raw = own(r#"{"caller":{"type":"direct"},"id":"old","input":{},"later":null}"#);
    let called = ToolCall { id: "a".to_owned(), name: "read".to_owned(), arguments: "{}".to_owned(), raw };
    let said = |state| {
        let raw = own(r#"{"content":[{"type":"text","text":"4","citations":[1.50]}]}"#);
        Item::Agent(AgentMessage { text: "4".to_owned(), state, raw })
    };
    check(
        &[user("hi"), Item::Call(called), output("a"), said(MessageState::Whole)],
        expect![[r#"
        {"role":"user","content":[{"type":"text","text":"hi"}]}
        {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"read","input":{},"caller":{"type":"direct"}}]}
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"A"}]}
        {"role":"assistant","content":[{"type":"text","text":"4","citations":[1.50]}]}
    "#]],
    );
    check(
        &[user("hi"), said(MessageState::Partial), user("well?")],
        expect![[r#"
        {"role":"user","content":[{"type":"text","text":"hi"}]}
        {"role":"assistant","content":[{"type":"text","text":"4"}]}
        {"role":"user","content":[{"type":"text","text":"well?"}]}
    "#]],
    );
}

// SPEC L20, L19
#[test]
fn only_what_is_set_is_sent() {
    check_head(
        |_| {},
        request(&[]),
        &[Wish::LongReply],
        expect![[r#"
        {"model":"some-model","stream":true,"max_tokens":32000
    "#]],
    );
    let tools = tools();
    let full = Request { instructions: "be brief", tools: &tools, ..request(&[]) };
    check_head(
        |options| {
            options.temperature = Some(0.5);
            options.max_output_tokens = Some(100);
        },
        full,
        &[Wish::CacheMarks, Wish::LongReply, Wish::Thinking],
        expect![[r#"
            {"model":"some-model","stream":true,"max_tokens":100,"temperature":0.5,"cache_control":{"type":"ephemeral"},"tools":[{"name":"read","description":"reads","input_schema":{"type":"object"}}],"system":[{"type":"text","text":"be brief","cache_control":{"type":"ephemeral"}}]
        "#]],
    );
}

// SPEC H15
#[test]
fn marks_for_the_cache_stay_in_their_places() {
    let tools = tools();
    let full = Request { instructions: "be brief", tools: &tools, ..request(&[]) };
    check_head(
        |_| {},
        full,
        &[Wish::CacheMarks],
        expect![[r#"
        {"model":"some-model","stream":true,"max_tokens":4096,"cache_control":{"type":"ephemeral"},"tools":[{"name":"read","description":"reads","input_schema":{"type":"object"}}],"system":[{"type":"text","text":"be brief","cache_control":{"type":"ephemeral"}}]
    "#]],
    );
    check_head(
        |_| {},
        Request { instructions: "", ..full },
        &[Wish::CacheMarks],
        expect![[r#"
        {"model":"some-model","stream":true,"max_tokens":4096,"cache_control":{"type":"ephemeral"},"tools":[{"name":"read","description":"reads","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}]
    "#]],
    );
    check_head(
        |_| {},
        full,
        &[],
        expect![[r#"
        {"model":"some-model","stream":true,"max_tokens":4096,"tools":[{"name":"read","description":"reads","input_schema":{"type":"object"}}],"system":[{"type":"text","text":"be brief"}]
    "#]],
    );
}

#[test]
fn tools_are_bound_where_that_is_wanted_and_possible() {
    let tools = tools();
    let request = Request { tools: &tools, ..request(&[]) };
    let strict = |options: &mut Options| options.strict_tools = true;
    check_head(
        strict,
        request,
        &[Wish::StrictTools],
        expect![[r#"
        {"model":"some-model","stream":true,"max_tokens":4096,"tools":[{"name":"read","description":"reads","input_schema":{"additionalProperties":false,"properties":{},"required":[],"type":"object"},"strict":true}]
    "#]],
    );
    check_head(
        strict,
        request,
        &[],
        expect![[r#"
        {"model":"some-model","stream":true,"max_tokens":4096,"tools":[{"name":"read","description":"reads","input_schema":{"type":"object"}}]
    "#]],
    );
}

// SPEC L17, L18
#[test]
fn the_choice_of_calls_is_an_object() {
    let tools = tools();
    for (choice, parallel, expected) in [
        (ToolChoice::Auto, None, expect![[""]]),
        (ToolChoice::Auto, Some(false), expect![[r#"{"disable_parallel_tool_use":true,"type":"auto"}"#]]),
        (ToolChoice::None, Some(false), expect![[r#"{"type":"none"}"#]]),
        (ToolChoice::Required, None, expect![[r#"{"type":"any"}"#]]),
        (
            ToolChoice::Named("read"),
            Some(true),
            expect![[r#"{"disable_parallel_tool_use":false,"name":"read","type":"tool"}"#]],
        ),
    ] {
        let mut endpoint = Endpoint::clone(&endpoint());
        endpoint.options.parallel_tool_calls = parallel;
        let request = Request { tools: &tools, tool_choice: choice, ..request(&[]) };
        let body = body(&endpoint, request, Wishes::of(&[])).expect("items are JSON");
        let json: Value = serde_json::from_str(&body).expect("a body is JSON");
        expected.assert_eq(&json.get("tool_choice").map(Value::to_string).unwrap_or_default());
    }
    check_head(
        |options| options.parallel_tool_calls = Some(false),
        Request { tool_choice: ToolChoice::Required, ..request(&[]) },
        &[],
        expect![[r#"
            {"model":"some-model","stream":true,"max_tokens":4096
        "#]],
    );
}

#[test]
fn an_effort_is_one_of_thinking_where_that_is_possible() {
    let tools = tools();
    let request = Request { tools: &tools, ..request(&[]) };
    let thinks = |effort, tool_choice, wishes: &[Wish]| {
        let mut endpoint = Endpoint::clone(&endpoint());
        endpoint.options.reasoning_effort = effort;
        let request = Request { tool_choice, ..request };
        let body = body(&endpoint, request, Wishes::of(wishes)).expect("items are JSON");
        let json: Value = serde_json::from_str(&body).expect("a body is JSON");
        format!("{} {}", json["thinking"], json["output_config"])
    };
    let wish: &[Wish] = &[Wish::Thinking];
    let lines = [
        thinks(None, ToolChoice::Auto, wish),
        thinks(Some(Effort::None), ToolChoice::Auto, wish),
        thinks(Some(Effort::Minimal), ToolChoice::Auto, wish),
        thinks(Some(Effort::Max), ToolChoice::None, wish),
        thinks(Some(Effort::High), ToolChoice::Required, wish),
        thinks(Some(Effort::High), ToolChoice::Auto, &[]),
    ];
    expect![[r#"
        null null
        {"type":"disabled"} null
        {"type":"adaptive"} {"effort":"low"}
        {"type":"adaptive"} {"effort":"max"}
        null {"effort":"high"}
        null {"effort":"high"}
    "#]]
    .assert_eq(&format!("{}\n", lines.join("\n")));
}

#[test]
fn an_answer_can_be_bound_to_a_schema() {
    let schema = json!({"type": "object"});
    let bound = Request { answer_schema: Some(&schema), ..request(&[]) };
    check_head(
        |options| options.reasoning_effort = Some(Effort::Low),
        bound,
        &[],
        expect![[r#"
        {"model":"some-model","stream":true,"max_tokens":4096,"output_config":{"effort":"low","format":{"type":"json_schema","schema":{"type":"object"}}}
    "#]],
    );
}

#[test]
fn a_reply_has_room_and_leaves_some_to_the_thread() {
    let most = |window, set, wishes: &[Wish]| {
        let mut endpoint = Endpoint::clone(&endpoint());
        (endpoint.context_window, endpoint.options.max_output_tokens) = (window, set);
        max_tokens(&endpoint, Wishes::of(wishes))
    };
    let long: &[Wish] = &[Wish::LongReply];
    assert_eq!(most(None, None, long), DEFAULT_MAX_TOKENS);
    assert_eq!(most(None, None, &[]), OLD_MAX_TOKENS);
    assert_eq!(most(Some(200_000), None, long), DEFAULT_MAX_TOKENS);
    assert_eq!(most(Some(4096), None, long), 2048);
    assert_eq!(most(Some(0), None, long), 1);
    assert_eq!(most(Some(4096), Some(4000), long), 4000);
}

#[test]
fn a_name_that_a_model_made_up_goes_back_as_servers_take_it() {
    let Item::Call(call) = call("a", "{}") else { panic!("a call") };
    let call = Item::Call(ToolCall { name: "functions.read".to_owned(), ..call });
    check(
        &[user("hi"), call, output("a")],
        expect![[r#"
        {"role":"user","content":[{"type":"text","text":"hi"}]}
        {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"functions_read","input":{}}]}
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"A"}]}
    "#]],
    );
}
