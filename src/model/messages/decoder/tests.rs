use expect_test::{Expect, expect};

use super::*;
use crate::model::story::{endpoint, story};

fn decoder() -> MessagesDecoder {
    MessagesDecoder::new(endpoint(), &[])
}

fn check(body: &str, expected: Expect) {
    expected.assert_eq(&story(&[body.as_bytes()], decoder()));
}

/// One event a line, as its JSON.
fn check_events(events: &[&str], expected: Expect) {
    let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    check(&body, expected);
}

fn start(index: u64, block: &str) -> String {
    format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#)
}

fn delta(index: u64, delta: &str) -> String {
    format!(r#"{{"type":"content_block_delta","index":{index},"delta":{delta}}}"#)
}

fn stop(index: u64) -> String {
    format!(r#"{{"type":"content_block_stop","index":{index}}}"#)
}

/// A whole block: how it is announced, what is added, its end.
fn block(index: u64, announced: &str, deltas: &[&str]) -> Vec<String> {
    let deltas = deltas.iter().map(|text| delta(index, text));
    std::iter::once(start(index, announced)).chain(deltas).chain([stop(index)]).collect()
}

fn text(index: u64, text: &str) -> Vec<String> {
    block(index, r#"{"type":"text","text":""}"#, &[&format!(r#"{{"type":"text_delta","text":"{text}"}}"#)])
}

fn call(index: u64, id: &str, pieces: &[&str]) -> Vec<String> {
    let announced = format!(r#"{{"type":"tool_use","id":"{id}","name":"read","input":{{}}}}"#);
    let delta =
        |piece: &&str| serde_json::json!({"type": "input_json_delta", "partial_json": piece}).to_string();
    let deltas: Vec<_> = pieces.iter().map(delta).collect();
    block(index, &announced, &deltas.iter().map(String::as_str).collect::<Vec<_>>())
}

fn ends(reason: &str) -> String {
    format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}}}}"#)
}

const STOP: &str = r#"{"type":"message_stop"}"#;

/// These blocks, then the end of the reply with this reason.
fn check_blocks(blocks: &[Vec<String>], reason: &str, expected: Expect) {
    let (end, mut events) = (ends(reason), Vec::new());
    events.extend(blocks.iter().flatten().map(String::as_str));
    events.extend([end.as_str(), STOP]);
    check_events(&events, expected);
}

/// The only call's, thought's or unknown block's own JSON.
fn raw_of(blocks: &[Vec<String>]) -> String {
    let mut decoder = decoder();
    let mut out = Vec::new();
    for event in blocks.iter().flatten() {
        decoder.event(event, &mut out).expect("events of a reply");
    }
    decoder.event(STOP, &mut out).expect("the end of a reply");
    let raw = out.into_iter().find_map(|event| match event {
        ModelEvent::Item(Item::Opaque(raw)) => Some(raw),
        ModelEvent::Item(Item::Reasoning(reasoning)) => reasoning.raw,
        ModelEvent::Item(Item::Call(call)) => call.raw,
        ModelEvent::Item(Item::Agent(message)) => message.raw,
        _ => None,
    });
    raw.expect("an item with its own JSON").json.to_string()
}

#[test]
fn a_call_of_llama_cpp_in_tokens_and_announced_without_arguments() {
    check(
        include_str!("../../../../tests/captures/llama-messages-call.sse"),
        expect![[r#"
        call: wwoSlZbCg2LOZ62WgsoGArFl6Ek8YHIA read_file {"path": "src/config.toml"}
        => Stop, tokens 261 (260) 24 (0)
    "#]],
    );
}

#[test]
fn a_call_of_a_gateway_behind_sealed_reasoning() {
    check(
        include_str!("../../../../tests/captures/litellm-messages-call.sse"),
        expect![[r#"
            shown: Let me look.
            reasoning +raw: 
            agent: Let me look.
            call: call_read_1 read_file {"path":"src/config.toml"}
            => Stop
        "#]],
    );
}

// SPEC S14
#[test]
fn reasoning_is_apart_from_the_answer() {
    check(
        include_str!("../../../../tests/captures/aimock-messages-reasoning.sse"),
        expect![[r#"
            thought: I should think about this.
            shown: Done thinking.
            reasoning +raw: I should think about this.
            agent: Done thinking.
            => Stop
        "#]],
    );
}

// SPEC S6
#[test]
fn a_reply_that_was_cut_is_partial() {
    check(
        include_str!("../../../../tests/captures/aimock-messages-length.sse"),
        expect![[r#"
            shown: 1, 2, 3,
            agent Partial: 1, 2, 3,
            => Length
        "#]],
    );
}

#[test]
fn a_whole_body_is_a_reply() {
    let body = include_str!("../../../../tests/captures/litellm-messages-whole.json");
    let mut events = Vec::new();
    decoder().whole(body, &mut events).expect("a reply");
    expect![[r#"
        [
            TextDelta(
                "Hello there, this is a mock answer.",
            ),
            Item(
                Agent(
                    AgentMessage {
                        text: "Hello there, this is a mock answer.",
                        state: Whole,
                        raw: None,
                    },
                ),
            ),
            Done {
                finish: Stop,
                usage: Some(
                    Usage {
                        input_tokens: 2095,
                        cached_tokens: 0,
                        cache_write_tokens: 0,
                        output_tokens: 503,
                        reasoning_tokens: 0,
                    },
                ),
            },
        ]
    "#]]
    .assert_eq(&format!("{events:#?}\n"));
}

#[test]
fn a_whole_body_that_is_none_says_why() {
    let told = |body: &str| decoder().whole(body, &mut Vec::new()).expect_err("no reply").to_string();
    expect!["http://server.test/v1 has no room now: Overloaded"]
        .assert_eq(&told(r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#));
    expect![[r#"http://server.test/v1 answered with something that is not a model's reply ({"choices":[]}): check base_url and wire"#]].assert_eq(&told(r#"{"choices":[]}"#));
    expect![
        "http://server.test/v1 answered with something that is not a model's reply ({rubbish): check base_url and wire"
    ]
    .assert_eq(&told("{rubbish"));
}

// SPEC S1
#[test]
fn a_stream_cut_into_two_chunks_anywhere_tells_the_same() {
    let body = include_bytes!("../../../../tests/captures/litellm-messages-call.sse");
    let whole = story(&[body], decoder());
    for cut in 0..body.len() {
        let (left, right) = body.split_at(cut);
        assert_eq!(story(&[left, right], decoder()), whole, "cut at {cut}");
    }
}

#[test]
fn blocks_may_take_turns() {
    let json = |piece: &str| format!(r#"{{"type":"input_json_delta","partial_json":{piece:?}}}"#);
    check_events(
        &[
            &start(0, r#"{"type":"tool_use","id":"a","name":"read","input":{}}"#),
            &start(1, r#"{"type":"tool_use","id":"b","name":"list"}"#),
            &delta(1, &json("{\"q\":")),
            &delta(0, &json("{\"p\":")),
            r#"{"type":"ping"}"#,
            &delta(1, &json("2}")),
            &stop(1),
            &delta(0, &json("1}")),
            &stop(0),
            &ends("tool_use"),
            STOP,
        ],
        expect![[r#"
            call: a read {"p":1}
            call: b list {"q":2}
            => Stop
        "#]],
    );
}

// SPEC E5
#[test]
fn arguments_come_in_pieces_or_whole_or_not_at_all() {
    let whole = r#"{"type":"tool_use","id":"b","name":"read","input":{"p": [1]}}"#;
    let none = r#"{"type":"tool_use","id":"d","name":"read","input":null}"#;
    check_blocks(
        &[
            call(0, "a", &["", "{\"p\"", ": 1", "}"]),
            block(1, whole, &[]),
            call(2, "c", &[]),
            block(3, none, &[]),
            block(4, r#"{"type":"tool_use","name":"read"}"#, &[]),
            call(5, "a", &["{\"p\": 1}"]),
            call(6, "a", &["{\"p\": 2}"]),
        ],
        "tool_use",
        expect![[r#"
            call: a read {"p": 1}
            call: b read {"p": [1]}
            call: c read {}
            call: d read {}
            call: call_0_1 read {}
            call: call_0_2 read {"p": 2}
            => Stop
        "#]],
    );
}

// SPEC L7
#[test]
fn calls_count_whatever_the_reason_for_the_end() {
    for reason in ["end_turn", "tool_use", "stop_sequence"] {
        check_blocks(
            &[call(0, "c", &["{}"])],
            reason,
            expect![[r#"
                call: c read {}
                => Stop
            "#]],
        );
    }
    check_blocks(
        &[call(0, "c", &["{}"])],
        "something_new",
        expect![[r#"
            call: c read {}
            => Unknown("something_new")
        "#]],
    );
}

// SPEC E12, S6
#[test]
fn a_call_that_was_cut_stays_out() {
    check_blocks(
        &[text(0, "I"), call(1, "c", &["{}"]), call(2, "d", &["{\"path\": \"a"])],
        "max_tokens",
        expect![[r#"
            shown: I
            agent Partial: I
            call: c read {}
            => Length
        "#]],
    );
    // Whole as JSON, and yet not ended: the next piece may have been a member more.
    let open = vec![start(1, r#"{"type":"tool_use","id":"c","name":"read","input":{"p":1}}"#)];
    check_blocks(
        &[text(0, "I"), open],
        "max_tokens",
        expect![[r#"
        shown: I
        agent Partial: I
        => Length
    "#]],
    );
    check_blocks(
        &[call(0, "d", &["{\"path\": \"a"])],
        "tool_use",
        expect![[r#"
        call: d read {"path": "a
        => Stop
    "#]],
    );
}

// SPEC S6, S7, S8
#[test]
fn every_reason_for_the_end_has_its_own_finish() {
    check_blocks(
        &[text(0, "I")],
        "max_tokens",
        expect![[r#"
        shown: I
        agent Partial: I
        => Length
    "#]],
    );
    check_blocks(
        &[text(0, "I")],
        "model_context_window_exceeded",
        expect![[r#"
        shown: I
        agent Partial: I
        => ContextTooLong
    "#]],
    );
    check_blocks(
        &[text(0, "I")],
        "content_filter",
        expect![[r#"
        shown: I
        agent Partial: I
        => ContentFilter
    "#]],
    );
    check_blocks(
        &[text(0, "I must not")],
        "refusal",
        expect![[r#"
        shown: I must not
        agent Refusal: I must not
        => Refusal
    "#]],
    );
    check_blocks(
        &[],
        "refusal",
        expect![[r#"
        => Refusal
    "#]],
    );
}

// SPEC S8
#[test]
fn a_pause_keeps_what_came() {
    let search = r#"{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}"#;
    let query = [r#"{"type":"input_json_delta","partial_json":"{\"query\": \"4\"}"}"#];
    check_blocks(
        &[text(0, "I look"), block(1, search, &query)],
        "pause_turn",
        expect![[r#"
        shown: I look
        agent: I look
        opaque: {"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query": "4"}}
        => Pause
    "#]],
    );
}

// SPEC S7
#[test]
fn why_the_model_declined_is_shown() {
    let declined = |explanation: &str| {
        format!(
            r#"{{"type":"message_delta","delta":{{"stop_reason":"refusal","stop_details":{{"type":"refusal","category":"cyber","explanation":{explanation}}}}}}}"#
        )
    };
    check_events(
        &[&declined(r#""This could do harm.""#), STOP],
        expect![[r#"
        shown: This could do harm.
        agent Refusal: This could do harm.
        => Refusal
    "#]],
    );
    let said = text(0, "To begin");
    let events: Vec<_> = said.iter().map(String::as_str).collect();
    check_events(
        &[&events[..], &[&declined(r#""This could do harm.""#), STOP]].concat(),
        expect![[r#"
        shown: To begin

        This could do harm.
        agent Partial: To begin
        agent Refusal: This could do harm.
        => Refusal
    "#]],
    );
    check_events(
        &[&events[..], &[&declined("null"), STOP]].concat(),
        expect![[r#"
        shown: To begin
        agent Refusal: To begin
        => Refusal
    "#]],
    );
}

// SPEC S3
#[test]
fn without_a_reason_and_without_the_last_event_the_end_is_an_interruption() {
    let said = text(0, "I");
    let said: Vec<_> = said.iter().map(String::as_str).collect();
    check_events(
        &said,
        expect![[r#"
        shown: I
        => ModelError { kind: Interrupted, message: "http://server.test/v1 ended its reply before it was whole", retry: Later }
    "#]],
    );
    check_events(
        &[&said[..], &["[DONE]"]].concat(),
        expect![[r#"
        shown: I
        => ModelError { kind: Interrupted, message: "http://server.test/v1 ended its reply before it was whole", retry: Later }
    "#]],
    );
    check_events(
        &[],
        expect![[r#"
        => ModelError { kind: Interrupted, message: "http://server.test/v1 ended its reply before it was whole", retry: Later }
    "#]],
    );
    check_events(
        &[&said[..], &[&ends("end_turn")]].concat(),
        expect![[r#"
        shown: I
        agent: I
        => Stop
    "#]],
    );
    check_events(
        &[&said[..], &[STOP]].concat(),
        expect![[r#"
        shown: I
        agent: I
        => Stop
    "#]],
    );
}

// SPEC S4
#[test]
fn an_error_in_the_stream_ends_the_reply() {
    let said = text(0, "I");
    for error in [
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        r#"{"type":"error","message":"Overloaded","code":529}"#,
        r#"{"error":{"type":"overloaded_error","message":"Overloaded","code":null}}"#,
        r#"{"object":"error","message":"Overloaded","code":503}"#,
    ] {
        let events: Vec<_> = said.iter().map(String::as_str).chain([error]).collect();
        check_events(
            &events,
            expect![[r#"
            shown: I
            => ModelError { kind: Overloaded, message: "http://server.test/v1 has no room now: Overloaded", retry: Later }
        "#]],
        );
    }
    check_events(
        &[r#"{"type":"error"}"#],
        expect![[r#"
        => ModelError { kind: Failed, message: "http://server.test/v1 cannot answer now", retry: Later }
    "#]],
    );
}

// SPEC S15
#[test]
fn usage_is_of_the_whole_reply_and_what_is_not_known_stays() {
    let begin = r#"{"type":"message_start","message":{"usage":{"input_tokens":5,"cache_creation_input_tokens":20,"cache_read_input_tokens":300,"output_tokens":1}}}"#;
    check_events(
        &[
            begin,
            r#"{"type":"message_delta","delta":{},"usage":{"output_tokens":7,"input_tokens":0}}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9,"output_tokens_details":{"thinking_tokens":4}}}"#,
            STOP,
        ],
        expect![[r#"
            => Stop, tokens 325 (300) 9 (4)
        "#]],
    );
    check_events(
        &[
            r#"{"type":"message_start","message":{"usage":{"input_tokens":"many","output_tokens":"9"}}}"#,
            STOP,
        ],
        expect![[r#"
        => Stop, tokens 0 (0) 9 (0)
    "#]],
    );
}

#[test]
fn texts_with_nothing_between_them_are_one_message() {
    let cited = r#"{"type":"text","text":"","citations":[]}"#;
    let cites = [
        r#"{"type":"text_delta","text":"grass is green"}"#,
        r#"{"type":"citations_delta","citation":{"type":"char_location","cited_text":"Green."}}"#,
    ];
    let blocks = [text(0, "They say "), block(1, cited, &cites), text(2, ".")];
    check_blocks(
        &blocks,
        "end_turn",
        expect![[r#"
        shown: They say grass is green.
        agent +raw: They say grass is green.
        => Stop
    "#]],
    );
    expect![[r#"{"content":[{"type":"text","text":"They say "},{"type":"text","text":"grass is green","citations":[{"type":"char_location","cited_text":"Green."}]},{"type":"text","text":"."}]}"#]].assert_eq(&raw_of(&blocks));
    let found = r#"{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}"#;
    check_blocks(
        &[text(0, "I look."), block(1, found, &[]), text(2, "4.")],
        "end_turn",
        expect![[r#"
        shown: I look.

        4.
        agent: I look.
        opaque: {"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}
        agent: 4.
        => Stop
    "#]],
    );
}

// SPEC H2, H5
#[test]
fn blocks_stay_as_they_came() {
    let sealed = r#"{"type":"redacted_thinking", "data":"EmwK\u00e4==","later":[1.50]}"#;
    assert_eq!(raw_of(&[block(0, sealed, &[])]), sealed);
    let thought = [
        r#"{"type":"thinking_delta","thinking":"h"}"#,
        r#"{"type":"thinking_delta","thinking":"m"}"#,
        r#"{"type":"signature_delta","signature":"first"}"#,
        r#"{"type":"signature_delta","signature":"Eq\u002bA=="}"#,
    ];
    let announced = r#"{"type":"thinking","thinking":"","signature":"","later":{"b":1,"a":2}}"#;
    expect![[r#"{"type":"thinking","thinking":"hm","signature":"Eq\u002bA==","later":{"b":1,"a":2}}"#]]
        .assert_eq(&raw_of(&[block(0, announced, &thought)]));
    // Reasoning that is not shown is sent back all the same.
    expect![[r#"{"type":"thinking","thinking":"","signature":"first"}"#]].assert_eq(&raw_of(&[block(
        0,
        r#"{"type":"thinking","thinking":""}"#,
        &thought[2..3],
    )]));
    let called = r#"{"type":"tool_use","id":"a","name":"read","input":{},"caller":{"type":"direct"}}"#;
    expect![[r#"{"caller":{"type":"direct"}}"#]].assert_eq(&raw_of(&[block(0, called, &[])]));
    let unknown = r#"{"type":"compaction","content":null}"#;
    let more = [
        r#"{"type":"compaction_delta","content":"All "}"#,
        r#"{"type":"compaction_delta","content":"good"}"#,
    ];
    expect![[r#"{"type":"compaction","content":"All good"}"#]]
        .assert_eq(&raw_of(&[block(0, unknown, &more)]));
}

#[test]
fn reasoning_that_was_cut_does_not_go_back() {
    let thought = vec![
        start(0, r#"{"type":"thinking","thinking":""}"#),
        delta(0, r#"{"type":"thinking_delta","thinking":"hm"}"#),
    ];
    check_blocks(
        &[thought],
        "max_tokens",
        expect![[r#"
        thought: hm
        reasoning: hm
        => Length
    "#]],
    );
}

// SPEC S12
#[test]
fn rubbish_in_the_stream_is_no_reply() {
    check_events(
        &["{rubbish"],
        expect![[r#"
        => ModelError { kind: Malformed, message: "http://server.test/v1 answered with something that is not a model's reply ({rubbish): check base_url and wire", retry: Later }
    "#]],
    );
    check_events(
        &["[]"],
        expect![[r#"
        => ModelError { kind: Malformed, message: "http://server.test/v1 answered with something that is not a model's reply ([]): check base_url and wire", retry: Later }
    "#]],
    );
    check_events(
        &[r#"{"choices":[{"delta":{"content":"4"}}]}"#, "[DONE]"],
        expect![[r#"
            => ModelError { kind: Malformed, message: "http://server.test/v1 was asked in the wire messages and answers in the wire chat: set wire to chat (--wire, ASKLS_WIRE)", retry: Never }
        "#]],
    );
    check_blocks(
        &[block(0, r#"{"type":"tool_use","id":"a","input":{}}"#, &[])],
        "tool_use",
        expect![[r#"
            unheard 2 bytes
            => ModelError { kind: Malformed, message: "http://server.test/v1 answered with something that is not a model's reply ({\"type\":\"tool_use\",\"id\":\"a\",\"input\":{}}): check base_url and wire", retry: Later }
        "#]],
    );
}

// SPEC S12
#[test]
fn an_odd_line_costs_no_text_and_every_call() {
    let (said, called) = (text(0, "4"), call(1, "c", &["{}"]));
    let end = ends("end_turn");
    let with = |blocks: &[&[String]], odd: &'static str| {
        let mut events = vec![odd];
        events.extend(blocks.iter().flat_map(|block| block.iter().map(String::as_str)));
        events.extend([end.as_str(), STOP]);
        events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>()
    };
    check(
        &with(&[&said], "relay is busy"),
        expect![[r#"
        shown: 4
        agent: 4
        => Stop
    "#]],
    );
    check(
        &with(&[&said, &called], "relay is busy"),
        expect![[r#"
        shown: 4
        agent: 4
        call: c read {}
        => Stop
    "#]],
    );
    check(
        &with(&[&said, &called], "{\"type\":\"content_bl"),
        expect![[r#"
            shown: 4
            unheard 2 bytes
            => ModelError { kind: Malformed, message: "http://server.test/v1 sent a reply of which a piece cannot be read ({\"type\":\"content_bl)", retry: Later }
        "#]],
    );
    check(
        &with(&[], "{\"type\":\"content_bl"),
        expect![[r#"
        => ModelError { kind: Malformed, message: "http://server.test/v1 answered with something that is not a model's reply ({\"type\":\"content_bl): check base_url and wire", retry: Later }
    "#]],
    );
}

#[test]
fn half_a_character_costs_no_more_than_itself() {
    check_blocks(
        &[text(0, "4\\ud83d!")],
        "end_turn",
        expect![[r#"
        shown: 4�!
        agent: 4�!
        => Stop
    "#]],
    );
}

#[test]
fn odd_members_do_no_harm() {
    check_events(
        &[
            r#"{"type":"ping"}"#,
            r#"{"type":"message_start"}"#,
            r#"{"type":"something_new","index":7,"delta":{"text":"?"}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":null}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"text":"?"}}"#,
            &delta(0, "null"),
            &delta(0, "[]"),
            &delta(0, r#"{"type":"text_delta","text":7}"#),
            &delta(0, r#"{"type":"new_delta","more":"?"}"#),
            &delta(0, r#"{"text":"4"}"#),
            r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"2"}}"#,
            &stop(9),
            r#"{"type":"message_delta","delta":{"stop_reason":null},"usage":null}"#,
            r#"{"type":"message_delta"}"#,
            STOP,
        ],
        expect![[r#"
            shown: 42
            agent: 42
            => Stop
        "#]],
    );
}

#[test]
fn text_that_comes_with_the_announcement_or_in_another_block_s_place_is_shown() {
    check_events(
        &[
            &start(0, r#"{"type":"text","text":"it "}"#),
            &delta(0, r#"{"type":"text_delta","text":"is"}"#),
            &start(1, r#"{"type":"redacted_thinking","data":"x"}"#),
            &delta(1, r#"{"type":"text_delta","text":"4"}"#),
            &ends("end_turn"),
            STOP,
        ],
        expect![[r#"
            shown: it is

            4
            agent: it is
            reasoning +raw: 
            agent: 4
            => Stop
        "#]],
    );
}

#[test]
fn a_reply_has_no_end_of_blocks() {
    let blocks: Vec<_> =
        (0..=MAX_BLOCKS as u64).map(|index| start(index, r#"{"type":"text","text":""}"#)).collect();
    check_events(
        &blocks.iter().map(String::as_str).collect::<Vec<_>>(),
        expect![[r#"
        => ModelError { kind: Malformed, message: "http://server.test/v1 answered with something that is not a model's reply (more blocks than any reply has): check base_url and wire", retry: Later }
    "#]],
    );
}

#[test]
fn the_number_of_a_block_may_be_a_text() {
    check_events(
        &[
            r#"{"type":"message_start","message":{}}"#,
            r#"{"type":"content_block_start","index":"0","content_block":{"type":"tool_use","id":"a","name":"read"}}"#,
            r#"{"type":"content_block_start","index":"1","content_block":{"type":"tool_use","id":"b","name":"list"}}"#,
            r#"{"type":"content_block_delta","index":"0","delta":{"partial_json":"{\"p\":1}"}}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#,
            r#"{"type":"message_stop"}"#,
        ],
        expect![[r#"
            call: a read {"p":1}
            call: b list {}
            => Stop
        "#]],
    );
}

// SPEC S6, S7
#[test]
fn of_two_ends_the_graver_counts_whichever_comes_last() {
    for (graver, finish) in
        [("max_tokens", "Length"), ("refusal", "Refusal"), ("content_filter", "ContentFilter")]
    {
        for milder in ["end_turn", "tool_use", "pause_turn"] {
            for reasons in [[graver, milder], [milder, graver]] {
                let events = [text(0, "half"), reasons.map(ends).to_vec(), vec![STOP.to_owned()]].concat();
                let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
                let told = story(&[body.as_bytes()], decoder());
                assert!(told.ends_with(&format!("=> {finish}\n")), "{reasons:?}: {told}");
            }
        }
    }
}

#[test]
fn why_the_model_declined_stays_when_the_end_is_said_once_more() {
    let declined = r#"{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"explanation":"Not this."}}}"#;
    check_events(
        &[declined, &ends("refusal"), &ends("end_turn"), STOP],
        expect![[r#"
            shown: Not this.
            agent Refusal: Not this.
            => Refusal
        "#]],
    );
}

#[test]
fn a_call_that_is_announced_twice_is_one_call() {
    let twice = |id: &str, pieces: &[&str]| {
        call(0, id, pieces).into_iter().flat_map(|event| [event.clone(), event]).collect::<Vec<_>>()
    };
    check_blocks(
        &[twice("c", &[r#"{"path":"a"}"#])],
        "tool_use",
        expect![[r#"
            call: c read {"path":"a"}{"path":"a"}
            => Stop
        "#]],
    );
    let again = [
        call(0, "c", &[r#"{"path":"#])[0].clone(),
        start(0, r#"{"type":"tool_use","id":"c","name":"read","input":{"path":"b"}}"#),
    ];
    check_blocks(
        &[again.to_vec(), vec![stop(0)]],
        "tool_use",
        expect![[r#"
            call: c read {"path":"b"}
            => Stop
        "#]],
    );
}

#[test]
fn two_calls_under_one_number_are_two() {
    check_blocks(
        &[call(0, "c", &["{}"]), call(0, "d", &[r#"{"path":"a"}"#])],
        "tool_use",
        expect![[r#"
            call: c read {}
            call: d read {"path":"a"}
            => Stop
        "#]],
    );
}

#[test]
fn blocks_behind_the_end_are_pieces_of_the_reply() {
    let mut decoder = decoder();
    let mut progress = |event: &str| decoder.event(event, &mut Vec::new()).unwrap();
    assert_eq!(progress(&ends("end_turn")), Progress::InDoubt);
    assert_eq!(progress(r#"{"type":"ping"}"#), Progress::InDoubt);
    for event in text(1, "more").iter().chain([&ends("end_turn"), &r#"{"type":"ping"}"#.to_owned()]) {
        assert_eq!(progress(event), Progress::More, "{event}");
    }
    assert_eq!(progress(STOP), Progress::Over);
}

#[test]
fn an_end_without_the_last_event_tells_little() {
    let mut decoder = decoder();
    let mut progress = |event: &str| decoder.event(event, &mut Vec::new()).unwrap();
    let [start, words, stop] = text(0, "a").try_into().expect("three events");
    let told = [&start, &words, &stop, &ends("end_turn"), &ends("end_turn")].map(|event| progress(event));
    let (more, in_doubt) = (Progress::More, Progress::InDoubt);
    assert_eq!(told, [more, more, more, in_doubt, in_doubt]);
}

// SPEC S6
#[test]
fn a_word_that_says_of_no_end_is_none_and_one_that_is_not_known_is_told() {
    let told = |word: &str| {
        let events = [text(0, "half"), vec![ends(word)]].concat();
        let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        story(&[body.as_bytes()], decoder())
    };
    assert!(told("in_progress").contains("kind: Interrupted"));
    assert_eq!(told("xyz"), "shown: half\nagent: half\n=> Unknown(\"xyz\")\n");
    let whole = r#"{"content":[{"type":"text","text":"half"}],"stop_reason":"not_finished"}"#;
    assert!(decoder().whole(whole, &mut Vec::new()).is_err());
}

// SPEC S12
#[test]
fn a_sentence_that_may_have_lost_a_piece_is_not_trusted() {
    let lost = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"NOT "#;
    let events =
        [vec![text(0, "Do ")[1].clone(), lost.to_owned()], text(0, "delete it"), vec![ends("end_turn")]];
    let body: String = events.concat().iter().map(|event| format!("data: {event}\n\n")).collect();
    let told = story(&[body.as_bytes()], decoder());
    assert!(told.contains("sent a reply of which a piece cannot be read"), "{told}");
}

// SPEC L12, L13
#[test]
fn what_came_of_a_whole_body_that_failed_was_written_too() {
    let body = r#"{"content":[{"type":"text","text":"half"},{"type":"tool_use","id":"c","name":"read","input":{"p":1}}],"stop_reason":"error"}"#;
    let (mut decoder, mut out) = (decoder(), Vec::new());
    assert!(decoder.whole(body, &mut out).is_err());
    assert_eq!((out, decoder.unheard()), (vec![ModelEvent::TextDelta("half".to_owned())], 7));
}

// SPEC S6
#[test]
fn a_reply_that_went_on_after_its_end_is_cut_where_the_connection_breaks() {
    let broken = |events: &[Vec<String>]| {
        let body: String = events.concat().iter().map(|event| format!("data: {event}\n\n")).collect();
        story(&[body.as_bytes(), b"data: \xFF\n\n"], decoder())
    };
    let end = || vec![ends("end_turn")];
    expect![[r#"
        shown: onetwo
        => ModelError { kind: Malformed, message: "http://server.test/v1 sent text that is not UTF-8", retry: Later }
    "#]].assert_eq(&broken(&[text(0, "one"), end(), text(1, "two"), end()]));
    // Before the last event, the word for the end may stand behind every block.
    expect![[r#"
        shown: one
        => ModelError { kind: Malformed, message: "http://server.test/v1 sent text that is not UTF-8", retry: Later }
    "#]].assert_eq(&broken(&[text(0, "one"), end(), end()]));
}

#[test]
fn what_nobody_was_shown_is_counted_where_the_reply_breaks_off() {
    let lost = |events: &[String]| {
        let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        let told = story(&[body.as_bytes()], decoder());
        told.lines().find(|line| line.starts_with("unheard")).unwrap_or("nothing").to_owned()
    };
    for (events, expected) in [
        (text(0, "0123456789"), "nothing"),
        (vec![start(0, r#"{"type":"tool_use","id":"c","name":"read","input":{"p":1}}"#)], "unheard 7 bytes"),
        (call(0, "c", &["{\"p", "\":1"]), "unheard 6 bytes"),
        (vec![start(0, r#"{"type":"redacted_thinking","data":"0123456789"}"#)], "unheard 12 bytes"),
        (
            block(
                0,
                r#"{"type":"thinking","thinking":"0123"}"#,
                &[r#"{"type":"signature_delta","signature":"0123456789"}"#],
            ),
            "unheard 8 bytes",
        ),
        (
            block(0, r#"{"type":"new"}"#, &[r#"{"type":"new_delta","words":"0123456789"}"#]),
            "unheard 10 bytes",
        ),
        (
            block(0, r#"{"type":"text","text":"a"}"#, &[r#"{"type":"new_delta","words":"0123456789"}"#]),
            "unheard 10 bytes",
        ),
        // A call that turns out to be none when the reply is over.
        (
            vec![start(0, r#"{"type":"tool_use","input":{"p":1}}"#), ends("tool_use"), STOP.to_owned()],
            "unheard 7 bytes",
        ),
    ] {
        assert_eq!(lost(&events), expected, "{events:?}");
    }
}

/// The last line of what these events tell.
fn end_of(events: &[&str]) -> String {
    let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    story(&[body.as_bytes()], decoder()).lines().last().unwrap_or_default().to_owned()
}

// SPEC S12
#[test]
fn a_remark_that_cannot_be_read_costs_nothing_and_behind_the_end_only_a_block_does() {
    let [start, words, stop] = text(0, "a").try_into().expect("three events");
    let end = ends("end_turn");
    let lost = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"NOT "#;
    for (events, is_whole) in [
        ([&start, &words, &stop, r#"{"type": "ping""#, &end], true),
        ([&start, &words, &stop, &end, r#"{"type": "ping""#], true),
        ([&start, &words, &stop, &end, r#"{"type": "stats", 'tps'}"#], true),
        ([&start, &words, &stop, &end, lost], false),
        ([&start, &words, &stop, lost, &end], false),
        ([&start, &words, &stop, r#"lock_delta","delta":{"text":"NOT "}}"#, &end], false),
        ([&start, &words, &stop, &end, r#"":1,"delta":{"partial_json":"{}"}}"#], false),
        ([&start, &words, &stop, "{'type': 'ping'}", &end], true),
        ([&start, &words, &stop, &end, r#"{"type":"message_stop"#], true),
        ([&start, &words, &stop, &end, r#"{"type":"cont"#], false),
        ([&start, &words, &stop, &end, r#"{"index":1,"delta":{"ty"#], false),
        ([&start, &words, &stop, &end, r#"{"delta":{"new":"x","type":"new_delta"},"ind"#], false),
    ] {
        let told = end_of(&[&events[..], &[STOP]].concat());
        assert_eq!(told == "=> Stop", is_whole, "{events:?}: {told}");
    }
}

// SPEC S3, S4
#[test]
fn an_error_in_no_form_of_the_wire_is_an_error_too_and_the_last_event_behind_it_no_end() {
    let blocks: String = text(0, "half").iter().map(|event| format!("data: {event}\n\n")).collect();
    let told = |error: &str, end: &str| {
        story(&[format!("{blocks}{error}\n\n{end}data: {STOP}\n\n").as_bytes()], decoder())
    };
    let end = format!("data: {}\n\n", ends("end_turn"));
    for error in [
        "event: error\ndata: boom",
        "event: error\ndata: {\"msg\":\"boom\"}",
        "error: boom",
        r#"data: {"msg":"boom"}"#,
        r#"data: {"type":"upstream_error","message":"boom"}"#,
    ] {
        assert!(told(error, &end).ends_with("cannot answer now: boom\", retry: Later }\n"), "{error}");
    }
    for error in ["data: upstream connect error", r#"data: {"type":"exception","reason":"boom"}"#] {
        assert!(told(error, "").contains("kind: Interrupted"), "{error}");
        assert!(told(error, &end).ends_with("=> Stop\n"), "{error}");
    }
    assert!(told("data: keep-alive", "").ends_with("=> Stop\n"));
}

// SPEC S3
#[test]
fn in_front_of_the_last_event_a_block_that_was_cut_costs_the_reply() {
    let events = [text(0, "half"), vec![ends("end_turn")]].concat();
    let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    for (behind, is_whole) in [
        ("", true),
        (r#"data: {"type":"message_stop"}"#, true),
        (r#"data: {"type":"messa"#, true),
        (r#"data: {"type":"content_block_start","index":2"#, false),
        (r#"data: {"type":"cont"#, false),
        (r#"data: {"index":1,"del"#, false),
        ("data: {", false),
        // Of servers that sort their members.
        (r#"data: {"delta":{"text":"NOT ","type":"text_delta"},"index":0"#, false),
        (r#"data: {"index":1,"content_block":{"type":"tool_use"#, false),
        (r#"data: {"delta":{"stop_reason":"end_turn"},"type":"message_delta","us"#, true),
        (r#"data: {"type":"message_delta","delta":{"stop"#, true),
    ] {
        let told = story(&[body.as_bytes(), behind.as_bytes()], decoder());
        assert_eq!(told.ends_with("=> Stop\n"), is_whole, "{behind}: {told}");
    }
}
