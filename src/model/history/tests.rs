//! A history as words in; what is sent, and what was mended, out.

use std::sync::Arc;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::protocol::{MessageState, Raw, Reasoning, Wire};

/// One item a word: `user:Hi`, `agent:Hi`, `thought:r1`, `opaque:o1`, `call:ID:ARGUMENTS`, `output:ID:TEXT`.
fn history(words: &str) -> Vec<Item> {
    words.split_whitespace().map(item).collect()
}

fn item(word: &str) -> Item {
    let (kind, rest) = word.split_once(':').expect("KIND:REST");
    let (id, more) = rest.split_once(':').unwrap_or((rest, ""));
    let raw = |id: &str| Raw { wire: Wire::Responses, json: Arc::from(format!(r#"{{"id":"{id}"}}"#)) };
    match kind {
        "user" => Item::User(UserMessage { text: rest.to_owned(), context: None }),
        "agent" => agent(rest, None),
        "thought" => Item::Reasoning(Reasoning { text: String::new(), raw: Some(raw(rest)) }),
        "opaque" => Item::Opaque(raw(rest)),
        "call" => Item::Call(ToolCall {
            id: id.to_owned(),
            name: "look".to_owned(),
            arguments: more.to_owned(),
            raw: Some(raw("fc_1")),
        }),
        "output" => {
            Item::Output(ToolOutput { call_id: id.to_owned(), text: more.to_owned(), is_error: false })
        }
        _ => panic!("{word}"),
    }
}

fn agent(text: &str, raw: Option<&str>) -> Item {
    let raw = raw.map(|json| Raw { wire: Wire::Responses, json: Arc::from(json) });
    Item::Agent(AgentMessage { text: text.to_owned(), state: MessageState::Whole, raw })
}

fn line(item: &Item) -> String {
    let raw = |is_some| if is_some { " +raw" } else { "" };
    match item {
        Item::User(message) => format!("user: {}", message.text),
        Item::Agent(message) => format!("agent: {}{}", message.text, raw(message.raw.is_some())),
        Item::Reasoning(_) => "thought".to_owned(),
        Item::Call(call) => format!("call: {} {}{}", call.id, call.arguments, raw(call.raw.is_some())),
        Item::Output(output) if output.is_error => format!("error: {} …", output.call_id),
        Item::Output(output) => format!("output: {} {}", output.call_id, output.text),
        Item::Opaque(_) => "opaque".to_owned(),
    }
}

fn lines(items: &[Item]) -> String {
    items.iter().map(|item| line(item).trim_end().to_owned() + "\n").collect()
}

fn check(items: &[Item], expected: Expect) {
    let repaired = repaired(items);
    let mends: String = repaired.mends.iter().map(|mend| format!("- {mend}\n")).collect();
    expected.assert_eq(&(lines(&repaired.items) + &mends));
    assert!(is_whole(&repaired.items));
}

// SPEC H9
#[test]
fn a_whole_history_is_sent_as_it_is() {
    let whole = "user:Hi thought:r1 agent:Well thought:r2 call:1 call:2 agent:now output:2:b output:1:a \
                 opaque:o1 call:3 output:3:c agent:Done user:Hi user:Hi agent:Done";
    let items = history(whole);
    let repaired = repaired(&items);
    assert!(matches!(repaired.items, Cow::Borrowed(same) if std::ptr::eq(same, items.as_slice())));
    assert_eq!(repaired.mends, []);
}

// SPEC H9
#[test]
fn a_call_without_an_output_says_that_it_was_interrupted() {
    check(
        &history("user:Hi call:1 call:2 output:1:a user:Well? call:3"),
        expect![[r#"
            user: Hi
            call: 1  +raw
            call: 2  +raw
            output: 1 a
            error: 2 …
            user: Well?
            call: 3  +raw
            error: 3 …
            - a call without an output (item 2)
            - a call without an output (item 5)
        "#]],
    );
}

// SPEC H9
#[test]
fn an_output_without_its_call_is_left_out() {
    check(
        &history("output:9:z user:Hi call:1 output:8:y output:1:a agent:Done"),
        expect![[r#"
            user: Hi
            call: 1  +raw
            output: 1 a
            agent: Done
            - an output without its call (item 0)
            - an output without its call (item 3)
        "#]],
    );
}

// SPEC H9, H1
#[test]
fn outputs_stand_right_after_their_step() {
    check(
        &history("user:Hi call:1 user:Quick! output:1:a output:2:b agent:I call:2 agent:Done"),
        expect![[r#"
            user: Hi
            call: 1  +raw
            output: 1 a
            user: Quick!
            agent: I
            call: 2  +raw
            agent: Done
            output: 2 b
            - an output that did not follow its call (item 3)
            - an output that did not follow its call (item 4)
        "#]],
    );
}

// SPEC H9, E10
#[test]
fn calls_of_one_id_keep_their_own_outputs_under_ids_of_their_own() {
    check(
        &history("call:0:x output:0:a call:0:y call:0:z call::w output:0:b output:0:c output::d"),
        expect![[r#"
            call: 0 x +raw
            output: 0 a
            call: call_item_2 y
            call: call_item_3 z
            call: call_item_4 w
            output: call_item_2 b
            output: call_item_3 c
            output: call_item_4 d
            - a call without an id of its own (item 2)
            - a call without an id of its own (item 3)
            - a call without an id of its own (item 4)
        "#]],
    );
}

// SPEC H9
#[test]
fn an_output_goes_to_the_latest_step_that_waits_for_it() {
    check(
        &history("user:Hi call:0:x user:Again call:0:y output:0:b"),
        expect![[r#"
            user: Hi
            call: 0 x +raw
            error: 0 …
            user: Again
            call: call_item_3 y
            output: call_item_3 b
            - a call without an output (item 1)
            - a call without an id of its own (item 3)
        "#]],
    );
}

// SPEC H9, E10
#[test]
fn what_is_there_twice_is_sent_once() {
    check(
        &history("user:Hi agent:Well agent:Well call:1:x call:1:x output:1:a output:1:b opaque:o opaque:o"),
        expect![[r#"
            user: Hi
            agent: Well
            call: 1 x +raw
            output: 1 a
            opaque
            - an item sent twice (item 2)
            - a call sent twice (item 4)
            - a second output of a call (item 6)
            - an item sent twice (item 8)
        "#]],
    );
}

// SPEC H9
#[test]
fn empty_messages_are_left_out_and_those_that_only_call_stay() {
    let mut items = history("user: user:Hi call:1 output:1");
    items.push(agent(" \n", None));
    items.push(agent("", Some(r#"{"id":"m","content":[{"type":"output_text","text":""}]}"#)));
    items.push(agent("", Some(r#"{"id":"m","content":[{"type":"picture","data":"…"}]}"#)));
    check(
        &items,
        expect![[r#"
            user: Hi
            call: 1  +raw
            output: 1
            agent:  +raw
            - a message that says nothing (item 0)
            - a message that says nothing (item 4)
            - a message that says nothing (item 5)
        "#]],
    );
}

// SPEC H9, H3
#[test]
fn reasoning_goes_with_what_it_led_to() {
    check(
        &history(
            "user:Hi thought:r1 agent: user:Well? thought:r2 thought:r3 call:1 thought:r4 output:1:a thought:r5",
        ),
        expect![[r#"
            user: Hi
            user: Well?
            thought
            thought
            call: 1  +raw
            output: 1 a
            - reasoning that led to nothing (item 1)
            - a message that says nothing (item 2)
            - reasoning that led to nothing (item 7)
            - reasoning that led to nothing (item 9)
        "#]],
    );
}

// SPEC E13
#[test]
fn the_plain_form_has_words_calls_and_outputs_under_new_ids() {
    let items = history("user:Hi thought:r1 call:call_item_2:x output:call_item_2:a opaque:o1 agent:Done");
    let plain = plain(&items);
    expect![[r#"
        user: Hi
        call: call_item_2x x
        output: call_item_2x a
        agent: Done
    "#]]
    .assert_eq(&lines(&plain));
    assert!(is_whole(&plain));
}

// SPEC E13
#[test]
fn the_item_that_a_server_complains_of_is_found() {
    let items = history("user:Hi thought:rs_1 call:call_1:x output:call_1:a agent:Done");
    for (words, expected) in [
        ("No tool output found for function call call_1.", Some("call: call_1 x +raw")),
        (
            "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
            Some("thought"),
        ),
        ("Invalid value: input[4].content", Some("agent: Done")),
        ("Item 'rs_11' not found.", None),
        ("input[99] and input[x] are wrong", None),
    ] {
        assert_eq!(blamed(&items, words).map(line).as_deref(), expected, "{words}");
    }
}

/// Few ids and texts, so that whatever can go wrong does.
fn any_item() -> impl Strategy<Value = Item> {
    prop_oneof![
        "user:[ab]{0,1}",
        "agent:[ab]{0,1}",
        "thought:[ab]",
        "opaque:[ab]",
        "call:[12]{0,1}:[xy]",
        "output:[123]{0,1}:[xy]",
    ]
    .prop_map(|word| item(&word))
}

proptest! {
    // SPEC H9
    #[test]
    fn any_history_is_mended_once_and_for_all(items in prop::collection::vec(any_item(), 0..24)) {
        let first = repaired(&items);
        prop_assert_eq!(first.mends.is_empty(), is_whole(&items));
        let again = repaired(&first.items);
        prop_assert!(matches!(again.items, Cow::Borrowed(_)), "{:?}", again.mends);
        let asked = |items: &[Item]| items.iter().filter(|item| matches!(item, Item::User(m) if !asks_nothing(m))).count();
        prop_assert_eq!(asked(&items), asked(&first.items));
        prop_assert!(is_whole(&plain(&items)));
    }

    // SPEC H15
    #[test]
    fn what_follows_a_whole_history_does_not_change_it(items in prop::collection::vec(any_item(), 0..24)) {
        let start = repaired(&items).items.into_owned();
        let mut longer = start.clone();
        longer.push(item("user:more"));
        longer.push(item("output:9:z"));
        prop_assert!(repaired(&longer).items.starts_with(&start));
    }
}
