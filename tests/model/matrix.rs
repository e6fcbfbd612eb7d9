//! Threads that go on: on the wire where they began every byte goes back, on another what it can take.

use super::*;
use askls::protocol::Raw;
use serde_json::Value;
use support::model::{Request as Asked, signature};

/// One of everything that a reply can hold, as the server of a wire streams it: reasoning, an item that nobody knows,
/// words, and two calls, one of them without arguments. Items have members that nobody knows.
fn everything(wire: Wire) -> String {
    let (events, end) = match wire {
        Wire::Responses => (
            RESPONSES.map(|item| json_event("response.output_item.done", "item", item)).to_vec(),
            r#"{"type":"response.completed","response":{"status":"completed","output":[]}}"#,
        ),
        Wire::Chat => {
            (CHAT.map(str::to_owned).to_vec(), r#"{"choices":[{"index":0,"finish_reason":"tool_calls"}]}"#)
        }
        Wire::Messages => {
            let blocks = messages_blocks();
            let events = blocks.iter().map(|block| json_event("content_block_start", "content_block", block));
            let end = r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#;
            (events.collect(), end)
        }
    };
    let ends = if wire == Wire::Messages { "data: {\"type\":\"message_stop\"}\n\n" } else { "" };
    let events: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    format!("{events}data: {end}\n\n{ends}")
}

fn json_event(kind: &str, member: &str, json: &str) -> String {
    format!(r#"{{"type":"{kind}","{member}":{json}}}"#)
}

const RESPONSES: [&str; 4] = [
    r#"{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gAAA\u00e4=="}"#,
    r#"{"type":"message", "id":"msg_1","role":"assistant","status":"completed","phase":"commentary","content":[{"type":"output_text","text":"look","logprobs":[1.50]}]}"#,
    r#"{"type":"function_call","id":"fc_1","call_id":"call_x","name":"read_file","arguments":"{\"path\": \"a\"}","status":"completed","caller":{"type":"direct"}}"#,
    r#"{"type":"function_call","id":"fc_2","call_id":"call.y:2","name":"read_file","arguments":"{}","status":"completed"}"#,
];

const CHAT: [&str; 3] = [
    r#"{"choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"content":"look"}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_x","type":"function","function":{"name":"read_file","arguments":"{\"path\": \"a\"}"},"extra_content":{"google":{"thought_signature":"s=="}}},{"index":1,"id":"functions.read:2","type":"function","function":{"name":"read_file","arguments":"{}"}}]}}]}"#,
];

fn messages_blocks() -> [String; 7] {
    let signature = signature("hm");
    [
        format!(r#"{{"type":"thinking", "thinking":"hm","signature":"{signature}","later":1.50}}"#),
        r#"{"type":"redacted_thinking","data":"EmwK\u00e4=="}"#.to_owned(),
        r#"{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"4"}}"#.to_owned(),
        r#"{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","encrypted_content":"E\u00e4"}]}"#.to_owned(),
        r#"{"type":"text","text":"look","citations":[{"type":"char_location","cited_text":"4"}]}"#.to_owned(),
        r#"{"type":"tool_use","id":"toolu_x","name":"read_file","input":{"path": "a"},"caller":{"type":"direct"}}"#.to_owned(),
        r#"{"type":"tool_use","id":"toolu_y","name":"read_file","input":{}}"#.to_owned(),
    ]
}

/// A thread that was recorded on a wire: its first step held everything, and one of its calls failed.
async fn recorded(wire: Wire) -> Vec<Item> {
    let model = FakeModel::start(wire, [raw_sse(&everything(wire))]);
    let mut items = vec![user("2+2?")];
    let step = step(&*client(wire, endpoint(&model.base_url())), &items).await;
    assert_eq!(step.end, Ok(Finish::Stop), "{wire}: {}", step.lines);
    items.extend(step.items);
    let call_ids: Vec<_> = items
        .iter()
        .filter_map(|item| match item {
            Item::Call(call) => Some(call.id.clone()),
            _ => None,
        })
        .collect();
    let outputs = call_ids.into_iter().enumerate().map(|(position, call_id)| {
        Item::Output(ToolOutput { call_id, text: format!("output {position}"), is_error: position == 1 })
    });
    items.extend(outputs);
    items.push(user("sure?"));
    items
}

/// What is asked when a thread goes on over a wire; its server accepts it.
async fn asked(wire: Wire, items: &[Item]) -> Asked {
    let model = FakeModel::start(wire, [text("yes")]);
    let step = step(&*client(wire, endpoint(&model.base_url())), items).await;
    assert_eq!(step.end, Ok(Finish::Stop), "{wire}: {}", step.lines);
    model.request(1).await
}

// SPEC H10
#[tokio::test]
async fn a_thread_of_one_wire_goes_on_over_every_other() {
    for from in WIRES {
        let items = recorded(from).await;
        for to in WIRES {
            let request = asked(to, &items).await;
            let history = request.history();
            let foreign = |line: &String| line == "reasoning" || line.ends_with(": ?");
            assert!(from == to || !history.iter().any(foreign), "{from} to {to}: {history:#?}");
            // Arguments are text on two wires and an object on the third.
            let told: Vec<_> = history
                .iter()
                .filter(|line| !foreign(line))
                .map(|line| line.replace(": \"a", ":\"a"))
                .collect();
            assert_eq!(
                told,
                [
                    "user: 2+2?",
                    "agent: look",
                    "call: read_file {\"path\":\"a\"}",
                    "call: read_file {}",
                    "output: output 0",
                    "output: output 1",
                    "user: sure?"
                ],
                "{from} to {to}"
            );
            let outputs: Vec<_> = request.outputs().into_iter().map(|(id, _)| id).collect();
            let may_be =
                |id: &String| id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
            assert!(to != Wire::Messages || outputs.iter().all(may_be), "{from} to {to}: {outputs:?}");
        }
    }
}

// SPEC H10
#[tokio::test]
async fn ids_of_calls_keep_to_the_length_that_a_wire_takes() {
    let long = "x".repeat(65);
    let arguments = "{}".to_owned();
    let call = ToolCall { id: long.clone(), name: "read_file".to_owned(), arguments, raw: None };
    let output = ToolOutput { call_id: long.clone(), text: "A".to_owned(), is_error: false };
    let items = [user("2+2?"), Item::Call(call), Item::Output(output)];
    for wire in WIRES {
        let request = asked(wire, &items).await;
        assert_eq!(request.outputs(), [("x".repeat(55), "A".to_owned())], "{wire}");
    }
}

// SPEC H2, H5
#[tokio::test]
async fn items_go_back_byte_for_byte() {
    let parts = [
        r#""extra_content":{"google":{"thought_signature":"s=="}}"#,
        r#""id":"functions.read:2""#,
        r#""reasoning_content":"hm""#,
    ];
    let messages = messages_blocks().join(",");
    for (wire, expected) in [
        (Wire::Responses, vec![RESPONSES.join(",")]),
        (Wire::Messages, vec![messages]),
        (Wire::Chat, parts.iter().map(|part| (*part).to_owned()).collect()),
    ] {
        let request = asked(wire, &recorded(wire).await).await;
        let body = String::from_utf8(request.body).expect("JSON is text");
        for part in expected {
            assert!(body.contains(&part), "{wire}: {part} is not in {body}");
        }
    }
}

// SPEC S8
#[tokio::test]
async fn a_reply_that_paused_is_sent_back_as_it_came() {
    let blocks = &messages_blocks()[..3];
    let events = blocks.iter().map(|block| json_event("content_block_start", "content_block", block));
    let ends =
        [r#"{"type":"message_delta","delta":{"stop_reason":"pause_turn"}}"#, r#"{"type":"message_stop"}"#];
    let events = events.chain(ends.map(str::to_owned)).map(|event| format!("data: {event}\n\n"));
    let model = FakeModel::start(Wire::Messages, [raw_sse(&events.collect::<String>()), text("4")]);
    let client = client(Wire::Messages, endpoint(&model.base_url()));
    let mut items = vec![user("2+2?")];
    let paused = step(&*client, &items).await;
    assert_eq!(paused.end, Ok(Finish::Pause));
    items.extend(paused.items);
    assert_eq!(step(&*client, &items).await.end, Ok(Finish::Stop));
    let last = &model.request(2).await.json["messages"][1];
    let sent: Vec<Value> = blocks.iter().map(|block| serde_json::from_str(block).expect("JSON")).collect();
    assert_eq!(*last, json!({"role": "assistant", "content": sent}));
}

/// What only another server can read: it neither goes out nor breaks what does.
#[tokio::test]
async fn damaged_raw_items_are_made_anew_or_left_out() {
    let raw = |wire| Some(Raw { wire, json: "{oops".into() });
    for wire in WIRES {
        let message = AgentMessage { text: "look".to_owned(), state: MessageState::Whole, raw: raw(wire) };
        let (id, name, arguments) = ("a".to_owned(), "read_file".to_owned(), "{}".to_owned());
        let call = ToolCall { id: id.clone(), name, arguments, raw: raw(wire) };
        let output = ToolOutput { call_id: id, text: "A".to_owned(), is_error: false };
        let opaque = raw(wire).expect("a raw item");
        let items = [
            user("2+2?"),
            Item::Opaque(opaque),
            Item::Agent(message),
            Item::Call(call),
            Item::Output(output),
        ];
        let history = asked(wire, &items).await.history();
        assert_eq!(history, ["user: 2+2?", "agent: look", "call: read_file {}", "output: A"], "{wire}");
    }
}
