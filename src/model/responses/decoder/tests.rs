use expect_test::{Expect, expect};

use super::*;
use crate::model::{
    ErrorKind,
    story::{endpoint, story},
};

fn decoder() -> ResponsesDecoder {
    ResponsesDecoder::new(endpoint(), &[])
}

fn check(body: &str, expected: Expect) {
    expected.assert_eq(&story(&[body.as_bytes()], decoder()));
}

/// One event a line, as its JSON.
fn check_events(events: &[&str], expected: Expect) {
    let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    check(&body, expected);
}

const COMPLETED: &str = r#"{"type":"response.completed","response":{"status":"completed","output":[]}}"#;
const HELLO: &str = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"hello"}]}}"#;

#[test]
fn a_call_of_llama_cpp_without_any_numbers() {
    check(
        include_str!("../../../../tests/captures/llama-responses-call.sse"),
        expect![[r#"
        call +raw: call_cPLKTaShqzgFD8ZkCMTUQI7NK5t38al0 read_file {"path": "src/config.toml"}
        => Stop, tokens 261 (260) 24 (0)
    "#]],
    );
}

#[test]
fn calls_through_litellm_without_names_of_events() {
    check(
        include_str!("../../../../tests/captures/litellm-responses-calls.sse"),
        expect![[r#"
            shown: Reading both.
            agent +raw: Reading both.
            call +raw: call_RWi4AO3a4sFK2qX7 read_file {"path":"a.txt"}
            call +raw: call_MfA3Cf5YPSwt0sij read_file {"path":"b.txt"}
            => Stop
        "#]],
    );
}

// SPEC S14
#[test]
fn reasoning_is_apart_from_the_answer() {
    check(
        include_str!("../../../../tests/captures/aimock-responses-reasoning.sse"),
        expect![[r#"
            thought: I should think about this.
            shown: Done thinking.
            reasoning +raw: I should think about this.
            agent +raw: Done thinking.
            => Stop
        "#]],
    );
}

// SPEC S6
#[test]
fn a_completed_event_may_tell_of_an_incomplete_reply() {
    check(
        include_str!("../../../../tests/captures/aimock-responses-length.sse"),
        expect![[r#"
            shown: 1, 2, 3,
            agent Partial: 1, 2, 3,
            => Length
        "#]],
    );
}

#[test]
fn a_reply_that_reached_the_bound_was_cut_whatever_the_server_says() {
    let mut endpoint = Endpoint::clone(&endpoint());
    endpoint.options.max_output_tokens = Some(24);
    let body = include_str!("../../../../tests/captures/llama-responses-call.sse");
    let story = story(&[body.as_bytes()], ResponsesDecoder::new(Arc::new(endpoint), &[]));
    assert!(story.ends_with("=> Length, tokens 261 (260) 24 (0)\n"), "{story}");
}

// SPEC S1
#[test]
fn a_stream_cut_into_two_chunks_anywhere_tells_the_same() {
    let body = include_bytes!("../../../../tests/captures/aimock-responses-reasoning.sse");
    let whole = story(&[body], decoder());
    for cut in 0..body.len() {
        let (left, right) = body.split_at(cut);
        assert_eq!(story(&[left, right], decoder()), whole, "cut at {cut}");
    }
}

// SPEC S9
#[test]
fn items_that_were_done_count_when_the_last_event_has_none() {
    check_events(
        &[HELLO, COMPLETED],
        expect![[r#"
        shown: hello
        agent +raw: hello
        => Stop
    "#]],
    );
}

// SPEC S9
#[test]
fn items_that_only_the_last_event_has_count_too() {
    check_events(
        &[
            r#"{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"hello"}]},{"type":"function_call","call_id":"c","name":"read","arguments":"{}"}]}}"#,
        ],
        expect![[r#"
            shown: hello
            agent +raw: hello
            call +raw: c read {}
            => Stop
        "#]],
    );
}

// SPEC S10
#[test]
fn deltas_that_name_no_item_belong_to_the_one_that_is_open() {
    let nameless = [
        r#"{"type":"response.output_text.delta","delta":"hel"}"#,
        r#"{"type":"response.output_text.delta","delta":"lo"}"#,
    ];
    let expected = expect![[r#"
        shown: hello
        agent +raw: hello
        => Stop
    "#]];
    let added =
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m"}}"#;
    let done = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m","content":[{"type":"output_text","text":"hello"}]}}"#;
    check_events(&[added, nameless[0], nameless[1], done, COMPLETED], expected);
    check_events(
        &[nameless[0], nameless[1], done, COMPLETED],
        expect![[r#"
            shown: hello
            agent +raw: hello
            => Stop
        "#]],
    );
}

// SPEC S10
#[test]
fn text_that_came_as_deltas_is_not_shown_again() {
    check_events(
        &[
            r#"{"type":"response.output_text.delta","output_index":0,"item_id":"m","delta":"hel"}"#,
            r#"{"type":"response.output_text.done","output_index":0,"item_id":"m","text":"hello"}"#,
            HELLO,
            COMPLETED,
        ],
        expect![[r#"
            shown: hello
            agent +raw: hello
            => Stop
        "#]],
    );
}

#[test]
fn items_that_interleave_come_out_in_the_models_order() {
    check_events(
        &[
            r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"f"}}"#,
            r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m"}}"#,
            r#"{"type":"response.output_text.delta","output_index":0,"item_id":"m","delta":"hello"}"#,
            r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"f","call_id":"c","name":"read","arguments":"{}"}}"#,
            HELLO,
            COMPLETED,
        ],
        expect![[r#"
            shown: hello
            agent +raw: hello
            call +raw: c read {}
            => Stop
        "#]],
    );
}

#[test]
fn two_messages_are_shown_apart() {
    check_events(
        &[
            r#"{"type":"response.output_item.done","item":{"type":"message","id":"a","content":[{"type":"output_text","text":"first"}]}}"#,
            r#"{"type":"response.output_text.delta","item_id":"b","delta":"second"}"#,
            COMPLETED,
        ],
        expect![[r#"
            shown: first

            second
            agent +raw: first
            agent: second
            => Stop
        "#]],
    );
}

// SPEC S4
#[test]
fn errors_come_flat_nested_and_without_a_type() {
    check_events(
        &[r#"{"type":"error","sequence_number":3,"code":"server_error","message":"lost","param":null}"#],
        expect![[r#"
            => ModelError { kind: Failed, message: "http://server.test/v1 cannot answer now: lost", retry: Later }
        "#]],
    );
    check_events(
        &[
            HELLO,
            r#"{"type":"error","error":{"type":"invalid_request_error","code":"invalid_prompt","message":"bad"}}"#,
        ],
        expect![[r#"
            shown: hello
            => ModelError { kind: Rejected, message: "http://server.test/v1 refused the request: bad", retry: Never }
        "#]],
    );
    check_events(
        &[HELLO, r#"{"code":"server_error","message":"lost"}"#],
        expect![[r#"
            shown: hello
            => ModelError { kind: Failed, message: "http://server.test/v1 cannot answer now: lost", retry: Later }
        "#]],
    );
    check(
        include_str!("../../../../tests/captures/litellm-error.sse"),
        expect![[r#"
            => ModelError { kind: Failed, message: "http://server.test/v1 cannot answer now: Error processing stream start", retry: Later }
        "#]],
    );
}

// SPEC S5
#[test]
fn a_failed_response_is_an_error_even_without_a_reason() {
    check_events(
        &[
            r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"slow down"},"usage":null}}"#,
        ],
        expect![[r#"
            => ModelError { kind: RateLimited, message: "http://server.test/v1 has had too many requests: slow down", retry: Later }
        "#]],
    );
    check_events(
        &[r#"{"detail":"Internal error"}"#],
        expect![[r#"
        => ModelError { kind: Failed, message: "http://server.test/v1 cannot answer now: Internal error", retry: Later }
    "#]],
    );
    check_events(
        &[r#"{"type":"response.failed"}"#],
        expect![[r#"
            => ModelError { kind: Failed, message: "http://server.test/v1 cannot answer now: it ended the reply with \"failed\"", retry: Later }
        "#]],
    );
}

#[test]
fn an_answer_is_none_the_worse_for_strange_members_beside_it() {
    check_events(
        &[
            r#"{"type":"response.completed","response":{"id":7,"status":7,"output":[{"type":"message","id":"m","content":[{"type":"output_text","text":"4"}]}]}}"#,
        ],
        expect![[r#"
            shown: 4
            agent +raw: 4
            => Stop
        "#]],
    );
}

// SPEC S15
#[test]
fn an_answer_is_none_the_worse_for_counts_that_are_none() {
    for usage in [
        r#"{"input_tokens":-3,"output_tokens":7}"#,
        r#"{"input_tokens":"many","output_tokens":7,"input_tokens_details":[1]}"#,
        r#"{"input_tokens":[12],"output_tokens":"7"}"#,
    ] {
        let completed = format!(
            r#"{{"type":"response.completed","response":{{"status":"completed","output":[{{"type":"message","id":"m","content":[{{"type":"output_text","text":"4"}}]}}],"usage":{usage}}}}}"#
        );
        check_events(
            &[&completed],
            expect![[r#"
                shown: 4
                agent +raw: 4
                => Stop, tokens 0 (0) 7 (0)
            "#]],
        );
    }
}

// SPEC E12
#[test]
fn a_call_of_an_incomplete_response_stays_out_unless_it_is_complete() {
    check_events(
        &[
            r#"{"type":"response.output_item.done","item":{"type":"function_call","id":"a","call_id":"a","name":"read","arguments":"{}","status":"completed"}}"#,
            r#"{"type":"response.output_item.done","item":{"type":"function_call","id":"b","call_id":"b","name":"read","arguments":"{\"pa","status":"incomplete"}}"#,
            r#"{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"usage":null}}"#,
        ],
        expect![[r#"
            call +raw: a read {}
            => Length
        "#]],
    );
}

#[test]
fn a_complete_reply_with_a_call_that_never_became_whole_is_interrupted() {
    check_events(
        &[
            r#"{"type":"response.output_item.added","item":{"type":"function_call","id":"a","call_id":"a","name":"read"}}"#,
            COMPLETED,
        ],
        expect![[r#"
            => ModelError { kind: Interrupted, message: "http://server.test/v1 ended its reply before it was whole", retry: Later }
        "#]],
    );
}

// SPEC H2
#[test]
fn unknown_items_are_kept_and_unknown_events_ignored() {
    check_events(
        &[
            r#"{"type":"response.surprise","delta":{"a":1}}"#,
            r#"{"type":"response.output_item.done","item":{"type":"web_search_call","content":"odd"}}"#,
            COMPLETED,
        ],
        expect![[r#"
            opaque: {"type":"web_search_call","content":"odd"}
            => Stop
        "#]],
    );
}

// SPEC S3, S12
#[test]
fn a_stream_that_stops_or_is_nothing_but_rubbish_is_no_reply() {
    check_events(
        &[HELLO],
        expect![[r#"
        shown: hello
        => ModelError { kind: Interrupted, message: "http://server.test/v1 ended its reply before it was whole", retry: Later }
    "#]],
    );
    check_events(
        &[HELLO, "[DONE]"],
        expect![[r#"
        shown: hello
        => ModelError { kind: Interrupted, message: "http://server.test/v1 ended its reply before it was whole", retry: Later }
    "#]],
    );
    check_events(
        &["{rubbish"],
        expect![[r#"
        => ModelError { kind: Malformed, message: "http://server.test/v1 answered with something that is not a model's reply ({rubbish): check base_url and wire", retry: Later }
    "#]],
    );
    check_events(
        &["{rubbish", COMPLETED],
        expect![[r#"
        => ModelError { kind: Malformed, message: "http://server.test/v1 answered with something that is not a model's reply ({rubbish): check base_url and wire", retry: Later }
    "#]],
    );
    check_events(
        &["<html>", HELLO, COMPLETED],
        expect![[r#"
        => ModelError { kind: Malformed, message: "http://server.test/v1 answered with something that is not a model's reply (<html>): check base_url and wire", retry: Later }
    "#]],
    );
}

// SPEC S12
#[test]
fn an_event_that_cannot_be_read_costs_no_more_than_itself() {
    check_events(
        &["7", HELLO, "relay is busy", "keep-alive", COMPLETED],
        expect![[r#"
        shown: hello
        agent +raw: hello
        => Stop
    "#]],
    );
    // What it was is told again at the end.
    let completed = r#"{"type":"response.completed","response":{"output":[{"type":"message","content":[{"type":"output_text","text":"hello"}]},{"type":"function_call","call_id":"c","name":"read","arguments":"{}"}]}}"#;
    check_events(
        &[HELLO, "{rubbish", completed],
        expect![[r#"
        shown: hello
        agent +raw: hello
        call +raw: c read {}
        => Stop
    "#]],
    );
}

const ADDED_CALL: &str = r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"f","call_id":"c","name":"read","arguments":"","status":"in_progress"}}"#;
const PIECES: [&str; 2] = [
    r#"{"type":"response.function_call_arguments.delta","item_id":"f","delta":"{\"p\""}"#,
    r#"{"type":"response.function_call_arguments.delta","item_id":"f","delta":":1}"}"#,
];

#[test]
fn a_call_that_is_never_done_is_taken_from_its_arguments() {
    let whole = r#"{"type":"response.function_call_arguments.done","item_id":"f","arguments":"{\"p\":1}"}"#;
    let expected = "call +raw: c read {\"p\":1}\n=> Stop\n";
    for events in [
        vec![ADDED_CALL, whole, COMPLETED],
        vec![ADDED_CALL, PIECES[0], PIECES[1], COMPLETED],
        vec![ADDED_CALL, PIECES[0], PIECES[1], whole, COMPLETED],
        vec![
            r#"{"type":"response.output_item.added","item":{"type":"function_call","call_id":"c","name":"read","arguments":"{\"p\":1}"}}"#,
            COMPLETED,
        ],
        vec![
            ADDED_CALL,
            r#"{"type":"response.completed","response":{"output":[{"type":"function_call","id":"other","call_id":"c","name":"read","arguments":"{\"p\":1}"}]}}"#,
        ],
    ] {
        let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        assert_eq!(story(&[body.as_bytes()], decoder()), expected, "{body}");
    }
}

// SPEC E12
#[test]
fn a_call_of_which_a_piece_is_missing_never_runs() {
    check_events(
        &[ADDED_CALL, PIECES[0], COMPLETED],
        expect![[r#"
            unheard 4 bytes
            => ModelError { kind: Interrupted, message: "http://server.test/v1 ended its reply before it was whole", retry: Later }
        "#]],
    );
    check_events(
        &[ADDED_CALL, PIECES[0], "{\"type\":\"resp", PIECES[1], COMPLETED],
        expect![[r#"
            unheard 7 bytes
            => ModelError { kind: Malformed, message: "http://server.test/v1 sent a reply of which a piece cannot be read ({\"type\":\"resp)", retry: Later }
        "#]],
    );
    check_events(
        &[
            r#"{"type":"response.output_item.done","item":{"type":"function_call","call_id":"c","name":"read","arguments":"{}","status":"incomplete"}}"#,
            COMPLETED,
        ],
        expect![[r#"
            => Length
        "#]],
    );
}

#[test]
fn items_that_the_last_event_leaves_out_shift_no_others() {
    check_events(
        &[
            r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"r","summary":[{"text":"hm"}]}}"#,
            r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"f","call_id":"c","name":"read"}}"#,
            r#"{"type":"response.completed","response":{"output":[{"type":"function_call","id":"f","call_id":"c","name":"read","arguments":"{}"}]}}"#,
        ],
        expect![[r#"
            thought: hm
            reasoning +raw: hm
            call +raw: c read {}
            => Stop
        "#]],
    );
}

// SPEC S7, S10
#[test]
fn a_text_that_comes_only_whole_is_shown_and_may_be_a_refusal() {
    check_events(
        &[
            r#"{"type":"response.output_text.done","item_id":"m","text":"hello"}"#,
            r#"{"type":"response.output_text.done","item_id":"m","text":"hello"}"#,
            COMPLETED,
        ],
        expect![[r#"
            shown: hello
            agent: hello
            => Stop
        "#]],
    );
    check_events(
        &[
            r#"{"type":"response.refusal.delta","item_id":"m","delta":"I must not"}"#,
            r#"{"type":"response.refusal.done","item_id":"m","refusal":"I must not"}"#,
            COMPLETED,
        ],
        expect![[r#"
            shown: I must not
            agent Refusal: I must not
            => Refusal
        "#]],
    );
}

#[test]
fn half_a_character_does_not_cost_the_reply_and_does_not_go_back() {
    check_events(
        &[
            r#"{"type":"response.output_text.delta","item_id":"m","delta":"so \ud83d"}"#,
            r#"{"type":"response.output_item.done","item":{"type":"message","id":"m","content":[{"type":"output_text","text":"so \ud83d"}]}}"#,
            r#"{"type":"response.output_item.done","item":{"type":"other","text":"\ud83d"}}"#,
            COMPLETED,
        ],
        expect![[r#"
            shown: so �
            agent +raw: so �
            opaque: {"type":"other","text":"\ufffd"}
            => Stop
        "#]],
    );
}

// SPEC H4
#[test]
fn a_reply_that_the_server_keeps_leaves_a_mark() {
    let mut endpoint = Endpoint::clone(&endpoint());
    endpoint.options.store = true;
    let endpoint = Arc::new(endpoint);
    let told = |response: &str| {
        let body = format!("data: {HELLO}\n\ndata: {response}\n\n");
        let told = story(&[body.as_bytes()], ResponsesDecoder::new(Arc::clone(&endpoint), &[]));
        let told = told.replace(&endpoint.account().to_string(), "…");
        told.lines().skip(1).collect::<Vec<_>>().join("\n")
    };
    let completed = told(r#"{"type":"response.completed","response":{"id":"resp_1","output":[]}}"#);
    let cut = told(r#"{"type":"response.incomplete","response":{"id":"resp_1","output":[]}}"#);
    expect![[r#"
        agent +raw: hello
        opaque: {"type":"askls.stored_response","id":"resp_1","account":…,"items":1,"bytes":5}
        => Stop
        agent Partial: hello
        => Length"#]]
    .assert_eq(&format!("{completed}\n{cut}"));
}

#[test]
fn arguments_may_be_an_object_or_missing() {
    check_events(
        &[
            r#"{"type":"response.output_item.done","item":{"type":"function_call","call_id":"a","name":"read","arguments":{"p":1}}}"#,
            r#"{"type":"response.output_item.done","item":{"type":"function_call","call_id":"b","name":"read"}}"#,
            COMPLETED,
        ],
        expect![[r#"
            call +raw: a read {"p":1}
            call +raw: b read 
            => Stop
        "#]],
    );
}

#[test]
fn how_far_llama_cpp_has_read_is_no_answer() {
    check_events(
        &[
            r#"{"type":"response.in_progress","response":{"id":"r","object":"response","status":"in_progress"},"prompt_progress":{"total":9,"cache":0,"processed":9,"time_ms":7}}"#,
            HELLO,
            COMPLETED,
        ],
        expect![[r#"
            shown: hello
            agent +raw: hello
            => Stop
        "#]],
    );
}

#[test]
fn what_nobody_was_shown_is_counted_where_the_reply_breaks_off() {
    let lost = |events: &[&str]| {
        let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        let told = story(&[body.as_bytes()], decoder());
        told.lines().find(|line| line.starts_with("unheard")).unwrap_or("nothing").to_owned()
    };
    for (events, expected) in [
        (vec![HELLO], "nothing"),
        (vec![ADDED_CALL, PIECES[0]], "unheard 4 bytes"),
        (
            vec![
                r#"{"type":"response.output_item.done","item":{"type":"function_call","call_id":"c","name":"read","arguments":"{\"p\":1}"}}"#,
            ],
            "unheard 7 bytes",
        ),
        (
            vec![
                r#"{"type":"response.output_item.done","item":{"type":"reasoning","summary":[{"text":"0123"}],"encrypted_content":"0123456789"}}"#,
            ],
            "unheard 6 bytes",
        ),
        (
            vec![r#"{"type":"response.output_item.added","item":{"type":"new","words":"0123"}}"#],
            "unheard 29 bytes",
        ),
        (
            vec![r#"{"type":"response.custom_tool_call_input.delta","delta":"0123456789"}"#],
            "unheard 10 bytes",
        ),
        // A call that turns out to be none when the reply is over.
        (
            vec![
                r#"{"type":"response.output_item.done","item":{"type":"function_call","call_id":"c","arguments":"{\"p\":1}"}}"#,
                COMPLETED,
            ],
            "unheard 7 bytes",
        ),
    ] {
        assert_eq!(lost(&events), expected, "{events:?}");
    }
}

// SPEC S6
#[test]
fn a_response_that_its_server_is_still_at_is_no_answer() {
    for status in ["in_progress", "queued"] {
        let response = format!(
            r#"{{"status":"{status}","output":[{{"type":"message","content":[{{"type":"output_text","text":"half"}}]}}]}}"#
        );
        let whole = decoder().whole(&response, &mut Vec::new()).map_err(|error| error.kind);
        assert_eq!(whole, Err(ErrorKind::Interrupted), "{status}");
        let event = format!("data: {{\"type\":\"response.completed\",\"response\":{response}}}\n\n");
        let told = story(&[event.as_bytes()], decoder());
        assert!(told.contains("kind: Interrupted"), "{told}");
    }
}

// SPEC S6
#[test]
fn a_message_that_its_server_calls_incomplete_is_cut_whatever_the_response_says() {
    check_events(
        &[
            r#"{"type":"response.output_item.done","item":{"type":"message","status":"incomplete","content":[{"type":"output_text","text":"half"}]}}"#,
            COMPLETED,
        ],
        expect![[r#"
            shown: half
            agent Partial: half
            => Length
        "#]],
    );
}

// SPEC S6
#[test]
fn what_a_response_says_of_itself_counts_by_its_gravest_word() {
    let told = |response: &str| {
        let body = format!(r#"data: {{"type":"response.completed","response":{response}}}"#);
        let told = story(&[format!("data: {HELLO}\n\n{body}\n\n").as_bytes()], decoder());
        told.lines().skip(1).collect::<Vec<_>>().join(" ")
    };
    for (response, expected) in [
        (r#"{"status":"completed"}"#, "agent +raw: hello => Stop"),
        (r#"{"status":"completed","incomplete_details":{"reason":""}}"#, "agent +raw: hello => Stop"),
        (r#"{"status":"completed","incomplete_details":{"reason":"none"}}"#, "agent +raw: hello => Stop"),
        (r#"{"status":"completed","error":{}}"#, "agent +raw: hello => Stop"),
        (r#"{"status":"xyz"}"#, "agent +raw: hello => Unknown(\"xyz\")"),
        (r#"{"incomplete_details":{"reason":"steered"}}"#, "agent Partial: hello => Cut(\"steered\")"),
        (
            r#"{"error":{"code":"server_error","message":"died"}}"#,
            "=> ModelError { kind: Failed, message: \"http://server.test/v1 cannot answer now: died\", retry: Later }",
        ),
        (
            r#"{"status":"in_progress"}"#,
            "=> ModelError { kind: Interrupted, message: \"http://server.test/v1 ended its reply before it was whole\", retry: Later }",
        ),
        (
            r#"{"status":"cancelled"}"#,
            r#"=> ModelError { kind: Failed, message: "http://server.test/v1 cannot answer now: it ended the reply with \"cancelled\"", retry: Later }"#,
        ),
        (
            r#"{"status":"incomplete","incomplete_details":{"reason":"TIME_LIMIT"}}"#,
            "agent Partial: hello => Cut(\"TIME_LIMIT\")",
        ),
    ] {
        assert_eq!(told(response), expected, "{response}");
    }
}

// SPEC L12, L13
#[test]
fn what_only_the_last_event_of_a_response_that_failed_holds_was_written_too() {
    let output = r#"[{"type":"message","content":[{"type":"output_text","text":"half"}]},{"type":"function_call","call_id":"c","name":"read","arguments":"{\"p"}]"#;
    for status in ["failed", "cancelled", "in_progress"] {
        let response = format!(r#"{{"status":"{status}","output":{output}}}"#);
        for body in [response.clone(), format!(r#"{{"error":{{"message":"died"}},"output":{output}}}"#)] {
            let (mut decoder, mut out) = (decoder(), Vec::new());
            assert!(decoder.whole(&body, &mut out).is_err(), "{body}");
            assert_eq!(
                (out, decoder.unheard()),
                (vec![ModelEvent::TextDelta("half".to_owned())], 3),
                "{body}"
            );
        }
        let event = format!(r#"data: {{"type":"response.failed","response":{response}}}"#);
        let told = story(&[format!("{event}\n\n").as_bytes()], decoder());
        assert!(told.starts_with("shown: half\nunheard 3 bytes\n=> ModelError"), "{told}");
    }
}

#[test]
fn a_part_that_came_whole_is_shown() {
    check_events(
        &[
            r#"{"type":"response.content_part.done","item_id":"m","output_index":0,"content_index":0,"part":{"type":"output_text","text":"hello"}}"#,
            COMPLETED,
        ],
        expect![[r#"
            shown: hello
            agent: hello
            => Stop
        "#]],
    );
}

// SPEC S12
#[test]
fn a_sentence_that_may_have_lost_a_piece_is_trusted_only_where_it_came_whole_too() {
    let delta = |text: &str| {
        format!(r#"{{"type":"response.output_text.delta","item_id":"m","output_index":0,"delta":"{text}"}}"#)
    };
    let lost = r#"{"type":"response.output_text.delta","item_id":"m","output_index":0,"delta":"NOT "#;
    check_events(
        &[&delta("Do "), lost, &delta("delete it"), COMPLETED],
        expect![[r#"
        shown: Do delete it
        => ModelError { kind: Malformed, message: "http://server.test/v1 sent a reply of which a piece cannot be read ({\"type\":\"response.output_text.delta\",\"item_id\":\"m\",\"output_index\":0,\"delta\":\"NOT)", retry: Later }
    "#]],
    );
    check_events(
        &[&delta("hel"), lost, HELLO, COMPLETED],
        expect![[r#"
        shown: hello
        agent +raw: hello
        => Stop
    "#]],
    );
}

// SPEC S12
#[test]
fn where_a_piece_is_lost_and_nothing_is_listed_nothing_vouches_for_the_reply() {
    let lost =
        r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"fc_1"#;
    let unlisted = r#"{"type":"response.completed","response":{"status":"completed"}}"#;
    for completed in [COMPLETED, unlisted] {
        let body: String =
            [HELLO, lost, completed].iter().map(|event| format!("data: {event}\n\n")).collect();
        let told = story(&[body.as_bytes()], decoder());
        assert!(told.contains("kind: Malformed"), "{told}");
    }
}

// SPEC S4
#[test]
fn an_error_by_its_event_is_an_error_whatever_its_data_is() {
    for error in ["event: error\ndata: boom", "event: error\ndata: {\"msg\":\"boom\"}", "error: boom"] {
        let body = format!("data: {HELLO}\n\n{error}\n\ndata: {COMPLETED}\n\n");
        let told = story(&[body.as_bytes()], decoder());
        assert!(told.ends_with("cannot answer now: boom\", retry: Later }\n"), "{told}");
    }
}

// SPEC S12
#[test]
fn numbers_that_json_does_not_have_cost_nothing() {
    check_events(
        &[r#"{"type":"stats","tps":NaN}"#, HELLO, COMPLETED],
        expect![[r#"
        shown: hello
        agent +raw: hello
        => Stop
    "#]],
    );
}

// SPEC S12
#[test]
fn a_lost_call_that_the_list_leaves_out_is_missed_and_a_sign_of_life_is_not() {
    let item = r#"{"type":"message","id":"m","content":[{"type":"output_text","text":"hello"}]}"#;
    let done = format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{item}}}"#);
    let listed =
        format!(r#"{{"type":"response.completed","response":{{"status":"completed","output":[{item}]}}}}"#);
    let unlisted = r#"{"type":"response.completed","response":{"status":"completed","output":[]}}"#;
    let lost =
        r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"f"#;
    for (events, is_whole) in [
        ([done.as_str(), lost, &listed], false),
        ([&done, "{'ping': 1}", &listed], true),
        ([&done, "{'ping': 1}", unlisted], true),
    ] {
        let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        let told = story(&[body.as_bytes()], decoder());
        assert_eq!(told.ends_with("=> Stop\n"), is_whole, "{told}");
    }
}

// SPEC S12
#[test]
fn a_call_that_is_there_does_not_stand_for_one_that_was_lost() {
    let call = |id: &str| {
        format!(
            r#"{{"type":"function_call","id":"f{id}","call_id":"{id}","name":"read","arguments":"{{}}"}}"#
        )
    };
    let done = |item: &str| format!(r#"{{"type":"response.output_item.done","item":{item}}}"#);
    let listed = |items: &[&str]| {
        let items = items.join(",");
        format!(r#"{{"type":"response.completed","response":{{"status":"completed","output":[{items}]}}}}"#)
    };
    let (a, b) = (call("a"), call("b"));
    let cut = |event: &str| event.get(..event.len() - 9).unwrap_or_default().to_owned();
    let added = |item: &str| format!(r#"{{"type":"response.output_item.added","item":{item}}}"#);
    let again = a.replace("\"fa\"", "\"other\"");
    let remark = r#"{"note": {"function_call"#.to_owned();
    for (events, is_whole) in [
        (vec![done(&a), cut(&done(&b)), listed(&[&a])], false),
        (vec![done(&a), cut(&done(&b)), listed(&[&again])], false),
        (vec![done(&a), cut(&done(&b)), listed(&[&a, &b])], true),
        (vec![added(&b), done(&a), cut(&done(&b)), listed(&[&a, &b])], true),
        // An announcement that is lost is none of another call.
        (vec![cut(&added(&a)), done(&a), listed(&[&a])], true),
        // Nor is a delta made a call by what is lost behind it.
        (vec![done(&a), r#"{"type":"response.output_text.delta","#.to_owned(), remark, listed(&[&a])], true),
    ] {
        let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        let told = story(&[body.as_bytes()], decoder());
        assert_eq!(told.ends_with("=> Stop\n"), is_whole, "{events:?}: {told}");
    }
}

// SPEC S6
#[test]
fn a_cut_for_a_reason_that_is_not_known_is_told_by_its_word() {
    let body = r#"data: {"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"steered"}}}"#;
    let told = story(&[body.as_bytes()], decoder());
    assert!(told.ends_with("=> Cut(\"steered\")\n"), "{told}");
}
