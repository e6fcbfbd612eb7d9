use expect_test::{Expect, expect};

use super::*;
use crate::model::story::{endpoint, story};

fn decoder() -> ChatDecoder {
    ChatDecoder::new(endpoint(), &[])
}

fn check(body: &str, expected: Expect) {
    expected.assert_eq(&story(&[body.as_bytes()], decoder()));
}

/// One chunk a line, as its JSON; no marker at the end.
fn check_chunks(chunks: &[&str], expected: Expect) {
    let body: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    check(&body, expected);
}

/// A chunk with this delta.
fn delta(delta: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{delta}}}]}}"#)
}

fn finish(reason: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"{reason}"}}]}}"#)
}

const CALL: &str = r#"{"tool_calls":[{"index":0,"id":"c","function":{"name":"read","arguments":"{}"}}]}"#;

#[test]
fn a_call_of_llama_cpp_in_tokens() {
    check(
        include_str!("../../../../tests/captures/llama-chat-call.sse"),
        expect![[r#"
        call: sl8kEn4TUk2dSqaI8EKQRBykUuymvopx read_file {"path": "src/config.toml"}
        => Stop, tokens 261 (0) 24 (0)
    "#]],
    );
}

// SPEC S4
#[test]
fn an_error_that_lies_flat_in_the_stream_is_the_servers_error() {
    for error in [
        r#"{"object":"error","message":"engine died","code":500}"#,
        r#"{"detail":"engine died"}"#,
        r#"{"error":{"message":"engine died"}}"#,
    ] {
        let body = format!("data: {}\n\ndata: {error}\n\ndata: [DONE]\n\n", delta(r#"{"content":"so"}"#));
        let told = story(&[body.as_bytes()], decoder());
        assert!(told.starts_with("shown: so\n") && told.contains("engine died"), "{told}");
        assert!(!told.contains("=> Stop"), "{told}");
    }
}

#[test]
fn a_stream_of_something_else_is_no_empty_reply() {
    let body = "data: {\"type\":\"message_start\"}\n\ndata: [DONE]\n\n";
    let told = story(&[body.as_bytes()], decoder());
    assert!(told.contains("check base_url and wire"), "{told}");
}

#[test]
fn usage_comes_in_a_chunk_without_choices_or_with_an_empty_one() {
    check(
        include_str!("../../../../tests/captures/llama-chat-usage.sse"),
        expect![[r#"
        shown: Hello!
        agent: Hello!
        => Stop, tokens 26 (25) 3 (0)
    "#]],
    );
    check(
        include_str!("../../../../tests/captures/litellm-chat-usage.sse"),
        expect![[r#"
        shown: Hello! Nice to meet you, how can I help?
        agent: Hello! Nice to meet you, how can I help?
        => Stop, tokens 8 (0) 10 (0)
    "#]],
    );
}

// SPEC S14
#[test]
fn reasoning_is_apart_from_the_answer() {
    check(
        include_str!("../../../../tests/captures/aimock-chat-reasoning.sse"),
        expect![[r#"
        thought: I should think about this.
        shown: Done thinking.
        reasoning +raw: I should think about this.
        agent: Done thinking.
        => Stop
    "#]],
    );
}

#[test]
fn reasoning_has_several_names_and_counts_once() {
    check_chunks(
        &[&delta(r#"{"reasoning":"hm","reasoning_content":"hm"}"#), &delta(r#"{"content":"4"}"#), "[DONE]"],
        expect![[r#"
            thought: hm
            shown: 4
            reasoning +raw: hm
            agent: 4
            => Stop
        "#]],
    );
    check_chunks(
        &[&delta(r#"{"reasoning":"hm"}"#), "[DONE]"],
        expect![[r#"
        thought: hm
        reasoning +raw: hm
        => Stop
    "#]],
    );
    check_chunks(
        &[
            &delta(
                r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"4"}]}"#,
            ),
            "[DONE]",
        ],
        expect![[r#"
            thought: hm
            shown: 4
            reasoning: hm
            agent: 4
            => Stop
        "#]],
    );
}

// SPEC S1
#[test]
fn a_stream_cut_into_two_chunks_anywhere_tells_the_same() {
    let body = include_bytes!("../../../../tests/captures/llama-chat-usage.sse");
    let whole = story(&[body], decoder());
    for cut in 0..body.len() {
        let (left, right) = body.split_at(cut);
        assert_eq!(story(&[left, right], decoder()), whole, "cut at {cut}");
    }
}

// SPEC L7
#[test]
fn calls_count_whatever_the_reason_for_the_end() {
    for reason in ["stop", "tool_calls", "function_call", "something_new"] {
        check_chunks(
            &[&delta(CALL), &finish(reason)],
            expect![[r#"
                call: c read {}
                => Stop
            "#]],
        );
    }
}

// SPEC E12, S6
#[test]
fn a_call_that_was_cut_stays_out() {
    let cut =
        delta(r#"{"tool_calls":[{"index":1,"id":"d","function":{"name":"read","arguments":"{\"pa"}}]}"#);
    check_chunks(
        &[&delta(r#"{"content":"I"}"#), &delta(CALL), &cut, &finish("length")],
        expect![[r#"
        shown: I
        agent Partial: I
        call: c read {}
        => Length
    "#]],
    );
    check_chunks(
        &[&delta(CALL), &cut, &finish("tool_calls")],
        expect![[r#"
        call: c read {}
        call: d read {"pa
        => Stop
    "#]],
    );
}

// SPEC S7
#[test]
fn a_refusal_has_a_member_of_its_own() {
    check_chunks(
        &[&delta(r#"{"refusal":"I must "}"#), &delta(r#"{"refusal":"not"}"#), &finish("stop")],
        expect![[r#"
            shown: I must not
            agent Refusal: I must not
            => Refusal
        "#]],
    );
}

// SPEC S6
#[test]
fn a_filter_ends_a_reply() {
    check_chunks(
        &[&delta(r#"{"content":"I"}"#), &finish("content_filter")],
        expect![[r#"
        shown: I
        agent Partial: I
        => ContentFilter
    "#]],
    );
}

// SPEC S3
#[test]
fn without_a_reason_and_without_the_marker_the_end_is_an_interruption() {
    check_chunks(
        &[&delta(r#"{"content":"I"}"#)],
        expect![[r#"
            shown: I
            => ModelError { kind: Interrupted, message: "http://server.test/v1 ended its reply before it was whole", retry: Later }
        "#]],
    );
    check_chunks(
        &[&delta(r#"{"content":"I"}"#), "[DONE]"],
        expect![[r#"
        shown: I
        agent: I
        => Stop
    "#]],
    );
    check_chunks(
        &[&delta(r#"{"content":"I"}"#), &finish("stop")],
        expect![[r#"
        shown: I
        agent: I
        => Stop
    "#]],
    );
    check_chunks(
        &[],
        expect![[r#"
            => ModelError { kind: Interrupted, message: "http://server.test/v1 ended its reply before it was whole", retry: Later }
        "#]],
    );
}

// SPEC S4
#[test]
fn an_error_in_the_stream_ends_the_reply() {
    check_chunks(
        &[
            &delta(r#"{"content":"I"}"#),
            r#"{"error":{"message":"upstream gone","type":"server_error","code":502}}"#,
        ],
        expect![[r#"
            shown: I
            => ModelError { kind: Failed, message: "http://server.test/v1 cannot answer now: upstream gone", retry: Later }
        "#]],
    );
    check_chunks(
        &[r#"{"error":"upstream gone"}"#],
        expect![[r#"
            => ModelError { kind: Failed, message: "http://server.test/v1 cannot answer now: upstream gone", retry: Later }
        "#]],
    );
    check_chunks(
        &[&delta(r#"{"content":"I"}"#), &finish("error")],
        expect![[r#"
            shown: I
            => ModelError { kind: Failed, message: "http://server.test/v1 cannot answer now", retry: Later }
        "#]],
    );
}

// SPEC S12
#[test]
fn rubbish_in_the_stream_is_no_reply() {
    check_chunks(
        &["{rubbish", "[DONE]"],
        expect![[r#"
            => ModelError { kind: Malformed, message: "http://server.test/v1 answered with what is no model's reply ({rubbish): check base_url and wire", retry: Later }
        "#]],
    );
    check_chunks(
        &["[]", "[DONE]"],
        expect![[r#"
            => ModelError { kind: Malformed, message: "http://server.test/v1 answered with what is no model's reply ([]): check base_url and wire", retry: Later }
        "#]],
    );
}

#[test]
fn odd_members_do_no_harm() {
    check_chunks(
        &[
            r#"{"choices":null}"#,
            r#"{"choices":[]}"#,
            r#"{"choices":[null,{"index":0},{"index":1,"delta":{"content":"second answer"}}]}"#,
            &delta("null"),
            &delta(r#"{"content":7,"tool_calls":{}}"#),
            &delta(r#"{"role":"assistant","content":null}"#),
            &delta(r#"{"content":"4"}"#),
            r#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":null}}"#,
            "[DONE]",
        ],
        expect![[r#"
            shown: 4
            agent: 4
            => Stop, tokens 5 (0) 0 (0)
        "#]],
    );
}

#[test]
fn the_older_form_of_a_call_is_understood() {
    check_chunks(
        &[
            &delta(r#"{"function_call":{"name":"read","arguments":"{\"p\""}}"#),
            &delta(r#"{"function_call":{"arguments":":1}"}}"#),
            &finish("function_call"),
        ],
        expect![[r#"
            call: call_0_1 read {"p":1}
            => Stop
        "#]],
    );
}
