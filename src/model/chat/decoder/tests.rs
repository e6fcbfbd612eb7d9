use expect_test::{Expect, expect};

use super::*;
use crate::model::{
    ErrorKind,
    story::{endpoint, story},
};

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
    for (event, advice) in [
        (r#"{"kind":"news"}"#, "check base_url and wire"),
        (r#"{"type":"message_start"}"#, "answers in the wire messages: set wire to messages"),
        (r#"{"type":"response.created"}"#, "answers in the wire responses: set wire to responses"),
    ] {
        let body = format!("data: {event}\n\ndata: [DONE]\n\n");
        let told = story(&[body.as_bytes()], decoder());
        assert!(told.contains(advice), "{told}");
    }
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

#[test]
fn how_far_llama_cpp_has_read_is_no_answer() {
    let read = |tokens: u64| {
        format!(
            r#"{{"choices":[{{"finish_reason":null,"index":0,"delta":{{"role":"assistant","content":null}}}}],"prompt_progress":{{"total":9,"cache":0,"processed":{tokens},"time_ms":7}}}}"#
        )
    };
    check_chunks(
        &[&read(0), &read(9), &delta(r#"{"content":"4"}"#), &finish("stop"), "[DONE]"],
        expect![[r#"
            shown: 4
            agent: 4
            => Stop
        "#]],
    );
    check_chunks(
        &[&read(0)],
        expect![[r#"
        => ModelError { kind: Interrupted, message: "http://server.test/v1 ended its reply before it was whole", retry: Later }
    "#]],
    );
}

// SPEC H2
#[test]
fn parts_of_reasoning_without_a_word_are_kept() {
    check_chunks(
        &[
            &delta(r#"{"reasoning_details":[{"type":"reasoning.encrypted","data":"x","index":0}]}"#),
            &delta(CALL),
            r#"{"choices":[{"index":0,"message":{"reasoning_details":[{"type":"reasoning.encrypted","data":"x","index":0}]}}]}"#,
            "[DONE]",
        ],
        expect![[r#"
            reasoning +raw: 
            call: c read {}
            => Stop
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
    for reason in ["stop", "tool_calls", "function_call"] {
        check_chunks(
            &[&delta(CALL), &finish(reason)],
            expect![[r#"
                call: c read {}
                => Stop
            "#]],
        );
    }
    check_chunks(
        &[&delta(CALL), &finish("something_new")],
        expect![[r#"
            call: c read {}
            => Unknown("something_new")
        "#]],
    );
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
            => ModelError { kind: Failed, message: "http://server.test/v1 cannot answer now: it ended the reply with \"error\"", retry: Later }
        "#]],
    );
}

// SPEC S12
#[test]
fn an_event_that_cannot_be_read_costs_no_more_than_itself() {
    for remark in ["keep-alive", "[]", "7", "<!-- relay -->"] {
        let chunks = [&delta(r#"{"content":"I"}"#), remark, &delta(r#"{"content":" am"}"#), "[DONE]"];
        let body: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
        assert_eq!(story(&[body.as_bytes()], decoder()), "shown: I am\nagent: I am\n=> Stop\n", "{remark}");
    }
}

// SPEC S12
#[test]
fn a_sentence_that_may_have_lost_a_piece_is_not_trusted() {
    check_chunks(
        &[
            &delta(r#"{"content":"Do "}"#),
            r#"{"choices":[{"delta":{"content":"NOT "#,
            &delta(r#"{"content":"delete it"}"#),
            &finish("stop"),
        ],
        expect![[r#"
            shown: Do delete it
            => ModelError { kind: Malformed, message: "http://server.test/v1 sent a reply of which a piece cannot be read ({\"choices\":[{\"delta\":{\"content\":\"NOT)", retry: Later }
        "#]],
    );
}

// SPEC S12
#[test]
fn a_call_that_may_have_lost_a_piece_is_not_trusted() {
    check_chunks(
        &[&delta(CALL), "{\"choices\": [{\"del", &finish("tool_calls")],
        expect![[r#"
            unheard 2 bytes
            => ModelError { kind: Malformed, message: "http://server.test/v1 sent a reply of which a piece cannot be read ({\"choices\": [{\"del)", retry: Later }
        "#]],
    );
    check_chunks(
        &[&delta(CALL), "keep-alive", &finish("tool_calls")],
        expect![[r#"
        call: c read {}
        => Stop
    "#]],
    );
}

// SPEC S12
#[test]
fn nothing_but_rubbish_a_web_page_and_too_much_rubbish_are_no_reply() {
    let page = "<html><title>Sign in</title>";
    let mut many = vec![delta(r#"{"content":"I"}"#)];
    many.extend(std::iter::repeat_n("rubbish".to_owned(), 20));
    many.push(finish("stop"));
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    check_chunks(
        &[page, &delta(r#"{"content":"I"}"#), "[DONE]"],
        expect![[r#"
        => ModelError { kind: Malformed, message: "http://server.test/v1 answered with something that is not a model's reply (<html><title>Sign in</title>): check base_url and wire", retry: Later }
    "#]],
    );
    check_chunks(
        &["rubbish", "more"],
        expect![[r#"
        => ModelError { kind: Malformed, message: "http://server.test/v1 answered with something that is not a model's reply (rubbish): check base_url and wire", retry: Later }
    "#]],
    );
    check_chunks(
        &many,
        expect![[r#"
        shown: I
        => ModelError { kind: Malformed, message: "http://server.test/v1 answered with something that is not a model's reply (rubbish): check base_url and wire", retry: Later }
    "#]],
    );
}

#[test]
fn half_a_character_does_not_cost_the_reply() {
    check_chunks(
        &[
            &delta(r#"{"content":"so \ud83d"}"#),
            &delta(
                r#"{"content":"!","tool_calls":[{"index":0,"id":"c","function":{"name":"read","arguments":"{\"p\":\"\udc00\"}"}}]}"#,
            ),
            &finish("stop"),
        ],
        expect![[r#"
            shown: so �!
            agent: so �!
            call: c read {"p":"�"}
            => Stop
        "#]],
    );
}

// SPEC S14
#[test]
fn reasoning_in_tags_is_no_answer_wherever_it_is_cut() {
    let chunks = |pieces: &[&str]| -> String {
        let chunk = |piece: &&str| format!("data: {}\n\n", delta(&format!("{{\"content\":{piece:?}}}")));
        pieces.iter().map(chunk).collect::<String>() + "data: [DONE]\n\n"
    };
    check(
        &chunks(&["<thi", "nk>hidden thought</th", "ink>It says A."]),
        expect![[r#"
        thought: hidden thought
        shown: It says A.
        reasoning: hidden thought
        agent: It says A.
        => Stop
    "#]],
    );
    check(
        &chunks(&["hm\n</think>\n\n", "It says A."]),
        expect![[r#"
        shown: hm
        </think>

        It says A.
        reasoning: hm
        agent: It says A.
        => Stop
    "#]],
    );
    let mut endpoint = Endpoint::clone(&endpoint());
    endpoint.options.think_tags = false;
    let body = chunks(&["<think>hm</think>", "4"]);
    assert_eq!(
        story(&[body.as_bytes()], ChatDecoder::new(Arc::new(endpoint), &[])),
        "shown: <think>hm</think>4\nagent: <think>hm</think>4\n=> Stop\n"
    );
}

// SPEC S6
#[test]
fn every_server_has_its_own_word_for_an_end() {
    let ends: String = [
        "length",
        "max_tokens",
        "MAX_TOKENS",
        "model_length",
        "content_filter",
        "SAFETY",
        "refusal",
        "model_context_window_exceeded",
        "insufficient_system_resource",
        "eos",
        "xyz",
        "null",
        "",
    ]
    .iter()
    .map(|reason| {
        let body =
            format!("data: {}\n\ndata: {}\n\ndata: [DONE]\n\n", delta(r#"{"content":"I"}"#), finish(reason));
        let told = story(&[body.as_bytes()], decoder());
        format!("{reason}: {}\n", told.lines().skip(1).collect::<Vec<_>>().join(" "))
    })
    .collect();
    expect![[r#"
        length: agent Partial: I => Length
        max_tokens: agent Partial: I => Length
        MAX_TOKENS: agent Partial: I => Length
        model_length: agent Partial: I => Length
        content_filter: agent Partial: I => ContentFilter
        SAFETY: agent Partial: I => ContentFilter
        refusal: agent Refusal: I => Refusal
        model_context_window_exceeded: agent Partial: I => ContextTooLong
        insufficient_system_resource: => ModelError { kind: Failed, message: "http://server.test/v1 cannot answer now: it ended the reply with \"insufficient_system_resource\"", retry: Later }
        eos: agent: I => Stop
        xyz: agent: I => Unknown("xyz")
        null: agent: I => Stop
        : agent: I => Stop
    "#]].assert_eq(&ends);
}

// SPEC S12
#[test]
fn rubbish_alone_is_no_reply() {
    check_chunks(
        &["{rubbish", "[DONE]"],
        expect![[r#"
            => ModelError { kind: Malformed, message: "http://server.test/v1 answered with something that is not a model's reply ({rubbish): check base_url and wire", retry: Later }
        "#]],
    );
    check_chunks(
        &["[]", "[DONE]"],
        expect![[r#"
            => ModelError { kind: Malformed, message: "http://server.test/v1 answered with something that is not a model's reply ([]): check base_url and wire", retry: Later }
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

// SPEC S10
#[test]
fn a_message_behind_its_deltas_is_not_said_twice() {
    let whole = r#"{"choices":[{"index":0,"delta":null,"message":{"content":"hello","tool_calls":[{"id":"c","function":{"name":"read","arguments":"{}"}}]},"finish_reason":"stop"}]}"#;
    check_chunks(
        &[&delta(r#"{"content":"hel"}"#), &delta(r#"{"content":"lo"}"#), whole],
        expect![[r#"
        shown: hello
        agent: hello
        call: c read {}
        => Stop
    "#]],
    );
    check_chunks(
        &[whole],
        expect![[r#"
        shown: hello
        agent: hello
        call: c read {}
        => Stop
    "#]],
    );
}

// SPEC S15
#[test]
fn tokens_are_counted_under_several_names() {
    let usages = [
        r#"{"choices":[{"index":0,"delta":{"content":"4"},"usage":{"prompt_tokens":5,"cached_tokens":2}}]}"#,
        r#"{"choices":[],"x_groq":{"usage":{"prompt_tokens":5,"completion_tokens":1}}}"#,
        r#"{"choices":[],"usage":{"input_tokens":5,"output_tokens":3,"output_tokens_details":{"reasoning_tokens":2}}}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":5,"prompt_cache_hit_tokens":4}}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":"90000","completion_tokens":7.0}}"#,
        r#"{"choices":[],"usage":{"total_tokens":90000}}"#,
    ];
    let counted: String = usages
        .iter()
        .map(|usage| {
            let body = format!("data: {usage}\n\ndata: [DONE]\n\n");
            story(&[body.as_bytes()], decoder()).lines().last().unwrap_or_default().to_owned() + "\n"
        })
        .collect();
    expect![[r#"
        => Stop, tokens 5 (2) 0 (0)
        => Stop, tokens 5 (0) 1 (0)
        => Stop, tokens 5 (0) 3 (2)
        => Stop, tokens 5 (4) 0 (0)
        => Stop, tokens 90000 (0) 7 (0)
        => Stop, tokens 90000 (0) 0 (0)
    "#]]
    .assert_eq(&counted);
}

// SPEC L13, S15
#[test]
fn what_a_reply_used_is_told_though_it_breaks_off() {
    let body = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":90000,\"completion_tokens\":5}}\n\n";
    expect![[r#"
        used 90000 5
        => ModelError { kind: Interrupted, message: "http://server.test/v1 ended its reply before it was whole", retry: Later }
    "#]]
    .assert_eq(&story(&[body.as_bytes()], decoder()));
}

#[test]
fn a_reply_has_no_end_of_calls_and_a_part_of_them_does_not_run() {
    let calls: Vec<_> = (0..=1024)
        .map(|index| {
            format!(r#"{{"index":{index},"id":"c{index}","function":{{"name":"read","arguments":"{{}}"}}}}"#)
        })
        .collect();
    let calls = delta(&format!(r#"{{"tool_calls":[{}]}}"#, calls.join(",")));
    check_chunks(
        &[&calls, &finish("tool_calls")],
        expect![[r#"
            unheard 2048 bytes
            => ModelError { kind: Malformed, message: "http://server.test/v1 answered with something that is not a model's reply (more calls than any reply has): check base_url and wire", retry: Later }
        "#]],
    );
}

// SPEC S6, S7
#[test]
fn of_two_ends_the_graver_counts_whichever_comes_last() {
    let half = delta(r#"{"content":"half"}"#);
    for (graver, finish_of_it) in
        [("length", "Length"), ("content_filter", "ContentFilter"), ("refusal", "Refusal")]
    {
        for milder in ["stop", "tool_calls", "eos"] {
            for ends in [[graver, milder], [milder, graver]] {
                let chunks = [half.clone(), finish(ends[0]), finish(ends[1])];
                let body: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
                let told = story(&[body.as_bytes()], decoder());
                assert!(told.ends_with(&format!("=> {finish_of_it}\n")), "{ends:?}: {told}");
            }
        }
    }
    let failed = [delta(r#"{"content":"half"}"#), finish("error"), finish("stop")];
    check_chunks(
        &[&failed[0], &failed[1], &failed[2]],
        expect![[r#"
            shown: half
            => ModelError { kind: Failed, message: "http://server.test/v1 cannot answer now: it ended the reply with \"error\"", retry: Later }
        "#]],
    );
}

#[test]
fn a_server_that_says_stop_with_every_piece_is_heard_to_its_end() {
    let piece = |text: &str| {
        format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":"stop"}}]}}"#)
    };
    check_chunks(
        &[&piece("one "), &piece("two "), &piece("three"), "[DONE]"],
        expect![[r#"
            shown: one two three
            agent: one two three
            => Stop
        "#]],
    );
}

/// What these chunks tell when the connection breaks behind them.
fn check_broken(chunks: &[&str], expected: Expect) {
    let body: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    expected.assert_eq(&story(&[body.as_bytes(), b"data: \xFF\n\n"], decoder()));
}

// SPEC S6
#[test]
fn a_reply_that_went_on_after_its_end_is_cut_where_the_connection_breaks() {
    let piece =
        |delta: &str| format!(r#"{{"choices":[{{"index":0,"delta":{delta},"finish_reason":"stop"}}]}}"#);
    let (one, two) = (piece(r#"{"content":"one "}"#), piece(r#"{"content":"two"}"#));
    check_broken(
        &[&one, &two],
        expect![[r#"
        shown: one two
        => ModelError { kind: Malformed, message: "http://server.test/v1 sent text that is not UTF-8", retry: Later }
    "#]],
    );
    check_broken(
        &[&one, &piece(CALL)],
        expect![[r#"
        shown: one 
        unheard 2 bytes
        => ModelError { kind: Malformed, message: "http://server.test/v1 sent text that is not UTF-8", retry: Later }
    "#]],
    );
    check_broken(
        &[&one, &finish("stop")],
        expect![[r#"
        shown: one 
        agent: one 
        => Stop
    "#]],
    );
}

#[test]
fn an_end_that_comes_with_a_piece_tells_little() {
    let piece = r#"{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}"#;
    let mut decoder = decoder();
    let mut progress = |chunk: &str| decoder.event(chunk, &mut Vec::new()).unwrap();
    assert_eq!(progress(piece), Progress::InDoubt);
    let mut decoder = self::decoder();
    let mut progress = |chunk: &str| decoder.event(chunk, &mut Vec::new()).unwrap();
    assert_eq!(progress(&delta(r#"{"reasoning_content":"a"}"#)), Progress::More);
    assert_eq!(progress(piece), Progress::InDoubt);
    assert_eq!(progress(piece), Progress::More);
    let mut decoder = self::decoder();
    let mut progress = |chunk: &str| decoder.event(chunk, &mut Vec::new()).unwrap();
    let role =
        r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"stop"}]}"#;
    assert_eq!(progress(role), Progress::InDoubt);
    assert_eq!(progress(&delta(r#"{"content":"a"}"#)), Progress::More);
    let mut decoder = self::decoder();
    let mut progress = |chunk: &str| decoder.event(chunk, &mut Vec::new()).unwrap();
    assert_eq!(progress(&delta(r#"{"content":"a"}"#)), Progress::More);
    assert_eq!(progress(&finish("stop")), Progress::Ending);
    // Some servers send a blank behind it.
    assert_eq!(progress(&delta(r#"{"content":"\n"}"#)), Progress::Ending);
}

// SPEC S6
#[test]
fn a_word_that_says_of_no_end_is_none() {
    for word in ["null", "not_finished", "FINISH_REASON_UNSPECIFIED", "in_progress"] {
        let piece = |text: &str| {
            format!(
                r#"data: {{"choices":[{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":"{word}"}}]}}"#
            )
        };
        let body = format!("{}\n\n{}\n\n", piece("half"), piece(" of"));
        let told = story(&[body.as_bytes()], decoder());
        assert!(told.starts_with("shown: half of\n=> ModelError { kind: Interrupted"), "{word}: {told}");
        let whole = format!(r#"{{"choices":[{{"message":{{"content":"half"}},"finish_reason":"{word}"}}]}}"#);
        let is_reply = decoder().whole(&whole, &mut Vec::new()).is_ok();
        // What says nothing of the end leaves it to the body.
        assert_eq!(is_reply, ["null", "FINISH_REASON_UNSPECIFIED"].contains(&word), "{word}");
    }
}

// SPEC S6
#[test]
fn a_cut_is_told_by_the_server_behind_a_gateway_too() {
    let chunk = |native: &str| {
        format!(
            r#"{{"choices":[{{"index":0,"delta":{{"content":"half"}},"finish_reason":"stop","native_finish_reason":"{native}"}}]}}"#
        )
    };
    let told = |native: &str| {
        let told = story(&[format!("data: {}\n\n", chunk(native)).as_bytes()], decoder());
        told.lines().last().unwrap_or_default().to_owned()
    };
    assert_eq!(told("MAX_TOKENS"), "=> Length");
    assert_eq!(told("SAFETY"), "=> ContentFilter");
    for whole in ["STOP", "completed", "xyz", ""] {
        assert_eq!(told(whole), "=> Stop", "{whole}");
    }
}

// SPEC S4
#[test]
fn an_error_in_the_choice_ends_the_reply_and_an_empty_one_is_none() {
    let chunk = |error: &str| {
        format!(
            r#"{{"choices":[{{"index":0,"delta":{{"content":"I"}},"finish_reason":"stop","error":{error}}}],"error":{error}}}"#
        )
    };
    for none in ["null", "\"\"", "{}", "false"] {
        let told = story(&[format!("data: {}\n\n", chunk(none)).as_bytes()], decoder());
        assert_eq!(told, "shown: I\nagent: I\n=> Stop\n", "{none}");
    }
    check_chunks(
        &[
            r#"{"choices":[{"index":0,"delta":{"content":"I"},"finish_reason":"stop","error":{"code":502,"message":"upstream died"}}]}"#,
        ],
        expect![[r#"
            shown: I
            => ModelError { kind: Failed, message: "http://server.test/v1 cannot answer now: upstream died", retry: Later }
        "#]],
    );
}

/// What is told of a reply that came as one body.
fn told_of_whole(body: &str) -> String {
    let (mut decoder, mut out) = (decoder(), Vec::new());
    let ended = decoder.whole(body, &mut out).map_err(|error| error.kind);
    let texts = out.iter().filter_map(|event| match event {
        ModelEvent::TextDelta(text) => Some(text.as_str()),
        _ => None,
    });
    format!("{} +{} {ended:?}", texts.collect::<String>(), decoder.unheard())
}

// SPEC L12, L13
#[test]
fn what_came_of_a_whole_body_that_failed_was_written_too() {
    let body = r#"{"choices":[{"message":{"content":"half","tool_calls":[{"id":"c","function":{"name":"read","arguments":"{\"p"}}]},"finish_reason":"error"}]}"#;
    assert_eq!(told_of_whole(body), "half +3 Err(Failed)");
}

#[test]
fn what_is_sealed_is_counted_where_the_reply_breaks_off() {
    check_chunks(
        &[
            &delta(r#"{"reasoning_details":[{"type":"reasoning.encrypted","data":"0123456789"}]}"#),
            &delta(
                r#"{"tool_calls":[{"index":0,"id":"c","extra_content":{"x":1},"function":{"name":"read","arguments":"{\"p"}}]}"#,
            ),
        ],
        expect![[r#"
            unheard 20 bytes
            => ModelError { kind: Interrupted, message: "http://server.test/v1 ended its reply before it was whole", retry: Later }
        "#]],
    );
}

/// Whether an event that comes behind the end brought a piece of the reply.
fn is_a_piece(chunk: &str) -> bool {
    let mut decoder = decoder();
    let mut out = Vec::new();
    decoder.event(&finish("stop"), &mut out).unwrap();
    decoder.event(chunk, &mut out).unwrap() == Progress::More
}

#[test]
fn words_thoughts_and_calls_behind_the_end_are_pieces_and_counts_and_repetitions_are_none() {
    for piece in [
        r#"{"content":"a"}"#,
        r#"{"content":[{"text":"a"}]}"#,
        r#"{"reasoning_content":"a"}"#,
        r#"{"refusal":"a"}"#,
        CALL,
        r#"{"function_call":{"name":"a"}}"#,
    ] {
        assert!(is_a_piece(&delta(piece)), "{piece}");
    }
    for nothing in [
        delta(r#"{"content":""}"#),
        delta(r#"{"content":" \n"}"#),
        delta(r#"{"tool_calls":[]}"#),
        finish("stop"),
        r#"{"choices":[],"usage":{"prompt_tokens":1}}"#.to_owned(),
    ] {
        assert!(!is_a_piece(&nothing), "{nothing}");
    }
}

// SPEC S3, S4
#[test]
fn an_error_in_no_form_of_the_wire_is_an_error_too_and_the_marker_behind_it_no_end() {
    let told = |error: &str| {
        let half = delta(r#"{"content":"half"}"#);
        let body = format!("data: {half}\n\ndata: {}\n\n{error}\n\ndata: [DONE]\n\n", delta(CALL));
        let told = story(&[body.as_bytes()], decoder());
        told.lines().last().unwrap_or_default().to_owned()
    };
    for (error, expected) in [
        ("event: error\ndata: upstream connect error", "Failed, cannot answer now: upstream connect error"),
        ("event: error\ndata: {\"reason\":\"boom\"}", "Failed, cannot answer now: {\"reason\":\"boom\"}"),
        ("event: error", "Failed, cannot answer now"),
        ("error: {\"code\":500,\"message\":\"boom\"}", "Failed, cannot answer now: boom"),
        (r#"data: {"msg":"boom","code":500}"#, "Failed, cannot answer now: boom"),
        (r#"data: {"code":500}"#, r#"Failed, cannot answer now: {"code":500}"#),
        (r#"data: {"status":502,"title":"Bad gateway"}"#, "Failed, cannot answer now: Bad gateway"),
        (r#"data: {"type":"upstream_error"}"#, r#"Failed, cannot answer now: {"type":"upstream_error"}"#),
        (
            r#"data: {"success":false,"errors":[{"code":10000,"message":"no capacity"}],"messages":[],"result":{}}"#,
            "Failed, cannot answer now: no capacity",
        ),
        (r#"data: {"errors":["boom"]}"#, "Failed, cannot answer now: boom"),
        (r#"data: [{"error":{"message":"boom"}}]"#, "Failed, cannot answer now: boom"),
        // What cannot be told from a remark costs the end only where no other was said.
        ("data: \"upstream error\"", "Interrupted, ended its reply before it was whole"),
        ("data: <html>502 Bad Gateway</html>", "Interrupted, ended its reply before it was whole"),
        (r#"data: {"reason":"boom"}"#, "Interrupted, ended its reply before it was whole"),
        (
            r#"data: {"choices":[],"usage":{},"note":"it failed"}"#,
            "Interrupted, ended its reply before it was whole",
        ),
        ("event: Error\ndata: boom", "Failed, cannot answer now: boom"),
        ("event: exception\ndata: {\"msg\":\"boom\"}", "Failed, cannot answer now: boom"),
        // As whole lines, also in front of the marker.
        (r#"{"error":{"message":"boom"}}"#, "Failed, cannot answer now: boom"),
        ("{\"error\":{\"message\":\"boom\"}}\ndata: [DONE]", "Failed, cannot answer now: boom"),
        // Beside what a chunk has anyway.
        (r#"data: {"choices":[],"code":500,"message":"boom"}"#, "Failed, cannot answer now: boom"),
        (r#"data: {"choices":[],"code":"500","msg":"boom"}"#, "Failed, cannot answer now: boom"),
        (
            r#"data: {"choices":[],"success":false,"errors":[{"message":"boom"}]}"#,
            "Failed, cannot answer now: boom",
        ),
        (r#"data: {"error_code":500,"error_msg":"boom"}"#, "Failed, cannot answer now: boom"),
        (
            r#"data: {"choices":null,"usage":{"total_tokens":0},"base_resp":{"status_code":1002,"status_msg":"rate limit"}}"#,
            "RateLimited, has had too many requests: rate limit",
        ),
        (
            r#"data: {"object":"chat.completion.chunk","status":"failed"}"#,
            "Failed, cannot answer now: {\"object\":\"chat.completion.chunk\",\"status\":\"failed\"}",
        ),
        (r#"data: {"timings":{},"err":"boom"}"#, "Failed, cannot answer now: boom"),
    ] {
        let (kind, words) = expected.split_once(", ").expect("two parts");
        let expected = format!(
            "=> ModelError {{ kind: {kind}, message: {:?}, retry: Later }}",
            format!("http://server.test/v1 {words}")
        );
        assert_eq!(told(error), expected, "{error}");
    }
    for remark in [
        "data: keep-alive",
        "data: {}",
        r#"data: {"type":"ping"}"#,
        r#"data: {"usage":{"prompt_tokens":5}}"#,
        r#"data: {"object":"chat.completion.chunk","timings":{}}"#,
        // Whatever well-behaved servers say in words of their own.
        r#"data: {"kind":"news"}"#,
        r#"data: {"done":true}"#,
        r#"data: {"type":"heartbeat"}"#,
        r#"data: {"status":"processing"}"#,
        r#"data: {"citations":["https://host.test/errors"],"cost":0.1}"#,
        r#"data: {"id":"x","model":"m","created":1}"#,
        r#"data: {"finish_reason":"stop"}"#,
        r#"data: {"code":"0","msg":"success"}"#,
        "data: null",
        "data: \"[DONE]\"",
        "data: [END]",
        "data: still working",
        "data: queue: 3",
    ] {
        assert!(told(remark).starts_with("=> Stop"), "{remark}: {}", told(remark));
    }
}

/// The last line of what these chunks tell.
fn end_of(chunks: &[&str]) -> String {
    let body: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    story(&[body.as_bytes()], decoder()).lines().last().unwrap_or_default().to_owned()
}

// SPEC S12
#[test]
fn behind_an_end_that_comes_alone_nothing_that_is_lost_matters() {
    let (words, end) = (delta(r#"{"content":"whole"}"#), finish("stop"));
    for odd in ["{'usage': None}", "{tps: 3}", r#"{"choices":[],"usage":{"tps":"#, r#"ck":{},"usage":null}"#]
    {
        assert_eq!(end_of(&[&words, &end, odd, "[DONE]"]), "=> Stop", "{odd}");
        // In front of it, and where the reply went on, it may have been a piece.
        for lost in [[&words, odd, &words, &end], [&words, &end, odd, &words]] {
            assert!(end_of(&lost).contains("a piece cannot be read"), "{lost:?}");
        }
    }
}

// SPEC S12
#[test]
fn numbers_that_json_does_not_have_cost_no_piece() {
    check_chunks(
        &[
            r#"{"choices":[{"index":0,"delta":{"content":"NaN is \"NaN\" "},"logprobs":{"x":-Infinity}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"here"},"logprobs":[NaN,Infinity]}]}"#,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":5,"tps":NaN}}"#,
        ],
        expect![[r#"
            shown: NaN is "NaN" here
            agent: NaN is "NaN" here
            => Stop, tokens 5 (0) 5 (0)
        "#]],
    );
}

// SPEC S12
#[test]
fn a_piece_is_read_in_its_wrappings_and_lost_wherever_it_was_cut() {
    let (before, after, end) =
        (delta(r#"{"content":"Do "}"#), delta(r#"{"content":"delete it"}"#), finish("stop"));
    let piece = delta(r#"{"content":"NOT "}"#);
    let quoted = serde_json::to_string(&piece).expect("JSON");
    for wrapped in [format!("data: {piece}"), format!("[{piece}]"), quoted] {
        let body: String =
            [&before, &wrapped, &after, &end].iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
        assert!(story(&[body.as_bytes()], decoder()).starts_with("shown: Do NOT delete it\n"), "{wrapped}");
    }
    for from in [1, 5, 12, 30] {
        let lost = piece.get(from..).expect("ASCII");
        assert!(end_of(&[&before, lost, &after, &end]).contains("a piece cannot be read"), "{lost}");
    }
}

// SPEC S3, S6
#[test]
fn an_end_that_may_tell_nothing_is_none_where_the_body_is_cut_or_breaks() {
    let piece = |text: &str| {
        format!(
            r#"data: {{"choices":[{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":"stop"}}]}}"#
        )
    };
    let end = format!("data: {}", finish("stop"));
    let (one, two, blank) = (piece("Do "), piece("this: "), piece(r"\n\n"));
    for (events, is_end) in [
        (vec![&one, &two], false),
        (vec![&one], false),
        (vec![&one, &blank, &blank], false),
        (vec![&one, &end], true),
        (vec![&one, &end, &blank], true),
    ] {
        let body: String = events.iter().map(|event| format!("{event}\n\n")).collect();
        for behind in
            ["data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"NOT".as_bytes(), b"data: \xFF\n\n"]
        {
            let told = story(&[body.as_bytes(), behind], decoder());
            assert_eq!(told.ends_with("=> Stop\n"), is_end, "{told}");
        }
        // A body that ends where an event does has ended all the same.
        let told = story(&[body.as_bytes()], decoder());
        assert!(told.ends_with("=> Stop\n"), "{told}");
    }
}

#[test]
fn a_key_in_a_word_for_the_end_is_not_shown() {
    let key = format!("corp-{}", "Ab3dEf9hIj".repeat(12));
    let mut endpoint = Endpoint::clone(&endpoint());
    endpoint.key = Some(key.as_str().into());
    let endpoint = Arc::new(endpoint);
    for word in [format!("x{key}"), format!("error {key}")] {
        let body = format!("data: {}\n\ndata: {}\n\n", delta(r#"{"content":"half"}"#), finish(&word));
        let told = story(&[body.as_bytes()], ChatDecoder::new(Arc::clone(&endpoint), &[]));
        assert!(told.contains("[key]") && !told.contains(&key[..20]), "{told}");
    }
}

#[test]
fn a_server_that_says_of_the_end_why_it_failed_is_heard() {
    let told = |said: &str| {
        let end =
            format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"x"}},"finish_reason":{said}}}]}}"#);
        end_of(&[&end])
    };
    assert_eq!(
        told(r#""TOO_MANY_TOOL_CALLS""#),
        r#"=> ModelError { kind: Failed, message: "http://server.test/v1 cannot answer now: it ended the reply with \"TOO_MANY_TOOL_CALLS\"", retry: Later }"#
    );
    assert_eq!(
        told(r#"{"type":"abort","message":"no slot is free"}"#),
        r#"=> ModelError { kind: Failed, message: "http://server.test/v1 cannot answer now: it ended the reply with \"abort: no slot is free\"", retry: Later }"#
    );
}

// SPEC S6
#[test]
fn a_word_for_the_end_that_lies_flat_is_heard() {
    let words = delta(r#"{"content":"half"}"#);
    for (flat, expected) in [
        (r#"{"finish_reason":"length"}"#, "=> Length"),
        (r#"{"done":true,"done_reason":"length"}"#, "=> Length"),
        (r#"{"status":"incomplete"}"#, "=> Length"),
        (r#"{"status":"completed"}"#, "=> Stop"),
    ] {
        assert_eq!(end_of(&[&words, flat, "[DONE]"]), expected, "{flat}");
    }
}

// SPEC S12
#[test]
fn a_sign_of_life_in_no_json_costs_nothing_and_is_no_end() {
    let (words, end) = (delta(r#"{"content":"whole"}"#), finish("stop"));
    let with_piece = r#"{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}"#;
    for sign in ["{'type': 'ping'}", "{ping}", "keep alive"] {
        assert_eq!(end_of(&[&words, sign, &words, &end]), "=> Stop", "{sign}");
        let body = format!("data: {with_piece}\n\ndata: {sign}\n\n");
        let told = story(&[body.as_bytes(), b"data: \xFF\n\n"], decoder());
        assert!(told.contains("kind: Malformed"), "{sign}: {told}");
    }
}

#[test]
fn an_error_in_a_whole_body_is_told_for_what_it_is() {
    for (body, expected) in [
        (
            r#"{"choices":null,"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}"#,
            ErrorKind::Quota,
        ),
        (r#"{"error_code":18,"error_msg":"Open api qps request limit reached"}"#, ErrorKind::RateLimited),
        (
            r#"{"code":"Throttling.RateQuota","message":"Requests rate limit exceeded"}"#,
            ErrorKind::RateLimited,
        ),
        (r#"{"success":false,"msg":"token expired","code":401}"#, ErrorKind::Auth),
    ] {
        let ended = decoder().whole(body, &mut Vec::new());
        assert_eq!(ended.map_err(|error| error.kind), Err(expected), "{body}");
    }
}
