use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::model::{ModelEvent, ToolSpec};

fn offered() -> Offered {
    let tool = |name: &str, required: &[&str]| ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        parameters: json!({"type": "object", "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}}, "required": required}),
    };
    Offered::of(&[tool("read", &["path"]), tool("list", &[])])
}

/// What is shown of a message that comes in these pieces, and its items.
fn read_as<'a>(pieces: impl IntoIterator<Item = &'a str>, state: MessageState) -> String {
    read_ending(pieces, state, Finish::Stop)
}

fn read_ending<'a>(pieces: impl IntoIterator<Item = &'a str>, state: MessageState, finish: Finish) -> String {
    let mut search = Search {
        offered: offered(),
        shown: Scanner::default(),
        ids: CallIds::of(&[]),
        step: 0,
        found: 0,
        has_lost_call: false,
        has_called: false,
    };
    let mut text = String::new();
    let mut events = Vec::new();
    for piece in pieces {
        text.push_str(piece);
        events.push(ModelEvent::TextDelta(piece.to_owned()));
    }
    events.push(ModelEvent::Item(Item::Agent(AgentMessage { text, state, raw: None })));
    events.push(ModelEvent::Done { finish, usage: None });
    let mut out = Vec::new();
    search.pass_on(events, &mut out);
    let mut shown = String::new();
    let mut items = Vec::new();
    for event in out {
        match event {
            ModelEvent::TextDelta(text) => shown.push_str(&text),
            ModelEvent::Item(Item::Agent(message)) => items.push(format!("agent {:?}", message.text)),
            ModelEvent::Item(Item::Call(call)) => items.push(format!("{} {}", call.name, call.arguments)),
            ModelEvent::Done { finish: Finish::BrokenCall, .. } => items.push("a broken call".to_owned()),
            _ => {}
        }
    }
    format!("shown {shown:?}\n  {}\n", items.join("\n  "))
}

fn read<'a>(pieces: impl IntoIterator<Item = &'a str>) -> String {
    read_as(pieces, MessageState::Whole)
}

fn check(texts: &[&str], expected: Expect) {
    expected.assert_eq(&texts.iter().map(|text| read([*text])).collect::<String>());
}

const CALL: &str = r#"{"name": "read", "arguments": {"path": "a"}}"#;

#[test]
fn a_whole_call_at_the_end_is_a_call_however_it_is_written() {
    check(
        &[
            CALL,
            &format!("```json\n{CALL}\n```"),
            &format!("I look.\n\n```\n{CALL}\n```\n"),
            &format!("<tool_call>\n{CALL}\n</tool_call>"),
            &format!("I look. <tool_call>{CALL}"),
            &format!("[TOOL_CALLS][{CALL}]"),
            r#"<function=read>{"path": "a"}</function>"#,
            r#"{"tool": "read", "parameters": {"path": "a"}}"#,
            r#"{"type": "function", "function": {"name": "read", "arguments": "{\"path\": \"a\"}"}}"#,
            r#"{"name": "list"}"#,
        ],
        expect![[r#"
            shown ""
              read {"path":"a"}
            shown ""
              read {"path":"a"}
            shown "I look.\n\n"
              agent "I look."
              read {"path":"a"}
            shown ""
              read {"path":"a"}
            shown "I look. "
              agent "I look."
              read {"path":"a"}
            shown ""
              read {"path":"a"}
            shown ""
              read {"path":"a"}
            shown ""
              read {"path":"a"}
            shown ""
              read {"path":"a"}
            shown ""
              list {}
        "#]],
    );
}

#[test]
fn arguments_may_come_as_tags() {
    check(
        &[
            "<tool_call>\n<function=read>\n<parameter=path>\na < b\n</parameter>\n</function>\n</tool_call>",
            "I look.\n<function=read><parameter=path>a</parameter><parameter=lines>5</parameter></function>",
            "<tool_call><function=list></function></tool_call>\n<tool_call>\n<function=read>\n<parameter=path>\na\n\n</parameter>\n</function>",
            "<function=list>\n</function>\n<function=list>\n</function>",
            "<tool_call><function=read>{\"path\": \"a\"}</function></tool_call>",
        ],
        expect![[r#"
            shown ""
              read {"path":"a < b"}
            shown "I look.\n"
              agent "I look."
              read {"lines":5,"path":"a"}
            shown ""
              list {}
              read {"path":"a\n"}
            shown ""
              list {}
              list {}
            shown ""
              read {"path":"a"}
        "#]],
    );
}

#[test]
fn tags_may_be_left_out_at_the_beginning_and_hold_several_calls() {
    check(
        &[
            "I look.\n<function=read>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>",
            "<function=list>\n</function>\n</tool_call>\n<tool_call>\n<function=list>\n</function>\n</tool_call>",
            "<tool_call>\n<function=list>\n</function>\n<function=read>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>",
            "<tool_call><function=list>{}</function><function=list>{}</function></tool_call>",
            "<function=list></function></tool_call></tool_call>",
            "<tool_call><function=list></function><function=read></function></tool_call>",
            "> <tool_call><function=list></function></tool_call>",
        ],
        expect![[r#"
            shown "I look.\n"
              agent "I look."
              read {"path":"a"}
            shown ""
              list {}
              list {}
            shown ""
              list {}
              read {"path":"a"}
            shown ""
              list {}
              list {}
            shown "<function=list></function></tool_call></tool_call>"
              agent "<function=list></function></tool_call></tool_call>"
              a broken call
            shown "<tool_call><function=list></function><function=read></function></tool_call>"
              agent "<tool_call><function=list></function><function=read></function></tool_call>"
              a broken call
            shown "> <tool_call><function=list></function></tool_call>"
              agent "> <tool_call><function=list></function></tool_call>"
        "#]],
    );
}

// SPEC E2
#[test]
fn a_call_of_no_tool_counts_beside_one_of_a_tool_and_not_alone() {
    let unknown = "<tool_call>\n<function=frob>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>\n";
    let known = "<function=list></function>";
    let long =
        format!(r#"<tool_call>{{"name": "frob", "arguments": {{"a": "{}"}}}}</tool_call>"#, "x".repeat(600));
    check(
        &[
            &format!("{unknown}{known}"),
            &format!("{known}\n{unknown}"),
            &format!("[{{\"name\": \"frob\", \"arguments\": {{}}}}, {CALL}]"),
            unknown,
            r#"{"name": "frob"}"#,
        ],
        expect![[r#"
            shown ""
              frob {"a":"1"}
              list {}
            shown ""
              list {}
              frob {"a":"1"}
            shown ""
              frob {}
              read {"path":"a"}
            shown "<tool_call>\n<function=frob>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>\n"
              agent "<tool_call>\n<function=frob>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>\n"
              a broken call
            shown "{\"name\": \"frob\"}"
              agent "{\"name\": \"frob\"}"
        "#]],
    );
    assert!(read([long.as_str(), known]).contains("frob {\"a\":\"xxx"));
}

#[test]
fn tags_that_are_no_whole_call_stay_text() {
    check(
        &[
            "<tool_call><function=write><parameter=path>a</parameter></function></tool_call>",
            "<tool_call><function=read><parameter=path>a</parameter>",
            "<tool_call><function=read><parameter=path>a</parameter></function></tool_call> and so on",
            "<tool_call><function=read></function></tool_call>",
            "<tool_call><function=read><parameter=path>a</parameter><parameter=lines>some</parameter></function>",
            "<tool_call><function=read><parameter=path>a</parameter><parameter=depth>1</parameter></function>",
            "<tool_call><function=read><parameter=path>a</parameter><parameter=path>b</parameter></function>",
            "<function=read><parameter=path>a</parameter> or </function>",
            "<tool_call><function name=read></function>",
        ],
        expect![[r#"
            shown "<tool_call><function=write><parameter=path>a</parameter></function></tool_call>"
              agent "<tool_call><function=write><parameter=path>a</parameter></function></tool_call>"
              a broken call
            shown "<tool_call><function=read><parameter=path>a</parameter>"
              agent "<tool_call><function=read><parameter=path>a</parameter>"
              a broken call
            shown "<tool_call><function=read><parameter=path>a</parameter></function></tool_call> and so on"
              agent "<tool_call><function=read><parameter=path>a</parameter></function></tool_call> and so on"
            shown "<tool_call><function=read></function></tool_call>"
              agent "<tool_call><function=read></function></tool_call>"
              a broken call
            shown "<tool_call><function=read><parameter=path>a</parameter><parameter=lines>some</parameter></function>"
              agent "<tool_call><function=read><parameter=path>a</parameter><parameter=lines>some</parameter></function>"
              a broken call
            shown "<tool_call><function=read><parameter=path>a</parameter><parameter=depth>1</parameter></function>"
              agent "<tool_call><function=read><parameter=path>a</parameter><parameter=depth>1</parameter></function>"
              a broken call
            shown "<tool_call><function=read><parameter=path>a</parameter><parameter=path>b</parameter></function>"
              agent "<tool_call><function=read><parameter=path>a</parameter><parameter=path>b</parameter></function>"
              a broken call
            shown "<function=read><parameter=path>a</parameter> or </function>"
              agent "<function=read><parameter=path>a</parameter> or </function>"
              a broken call
            shown "<tool_call><function name=read></function>"
              agent "<tool_call><function name=read></function>"
              a broken call
        "#]],
    );
}

#[test]
fn several_calls_keep_their_order() {
    let list = r#"{"name": "list", "arguments": {}}"#;
    check(
        &[
            &format!("[{CALL}, {list}]"),
            &format!("<tool_call>\n{CALL}\n</tool_call>\n<tool_call>\n{list}\n</tool_call>"),
            &format!("```json\n{CALL}\n{list}\n```"),
            &format!("{{\"tool_calls\": [{CALL}, {list}]}}"),
        ],
        expect![[r#"
            shown ""
              read {"path":"a"}
              list {}
            shown ""
              read {"path":"a"}
              list {}
            shown ""
              read {"path":"a"}
              list {}
            shown ""
              read {"path":"a"}
              list {}
        "#]],
    );
}

#[test]
fn anything_less_stays_text() {
    check(
        &[
            &format!("Such a call is {CALL}"),
            &format!("```json\n{CALL}\n```\nis how one reads a file."),
            &format!("```python\nprint()\n```\n```\n{CALL}\n``` or so"),
            &format!("```markdown\n<tool_call>{CALL}</tool_call>\n```"),
            &format!("`<tool_call>{CALL}</tool_call>`"),
            r#"{"name": "write", "arguments": {"path": "a"}}"#,
            r#"{"name": "read", "arguments": {}}"#,
            r#"{"name": "read", "arguments": {"path": "a"}, "version": 1}"#,
            r#"{"name": "read", "arguments": ["a"]}"#,
            r#"{"name": "read", "arguments": {"path": "a"}"#,
            r#"[{"name": "read", "arguments": {"path": "a"}}, 7]"#,
            "<function=write>{}</function>",
            "<tool_call>soon</tool_call>",
            "[link](a) and <b>{}</b>",
            "",
        ],
        expect![[r#"
            shown "Such a call is {\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}"
              agent "Such a call is {\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}"
            shown "```json\n{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}\n```\nis how one reads a file."
              agent "```json\n{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}\n```\nis how one reads a file."
            shown "```python\nprint()\n```\n```\n{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}\n``` or so"
              agent "```python\nprint()\n```\n```\n{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}\n``` or so"
            shown "```markdown\n<tool_call>{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}</tool_call>\n```"
              agent "```markdown\n<tool_call>{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}</tool_call>\n```"
            shown "`<tool_call>{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}</tool_call>`"
              agent "`<tool_call>{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}</tool_call>`"
            shown "{\"name\": \"write\", \"arguments\": {\"path\": \"a\"}}"
              agent "{\"name\": \"write\", \"arguments\": {\"path\": \"a\"}}"
            shown "{\"name\": \"read\", \"arguments\": {}}"
              agent "{\"name\": \"read\", \"arguments\": {}}"
            shown "{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}, \"version\": 1}"
              agent "{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}, \"version\": 1}"
            shown "{\"name\": \"read\", \"arguments\": [\"a\"]}"
              agent "{\"name\": \"read\", \"arguments\": [\"a\"]}"
            shown "{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}"
              agent "{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}"
            shown "[{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}, 7]"
              agent "[{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}, 7]"
            shown "<function=write>{}</function>"
              agent "<function=write>{}</function>"
              a broken call
            shown "<tool_call>soon</tool_call>"
              agent "<tool_call>soon</tool_call>"
              a broken call
            shown "[link](a) and <b>{}</b>"
              agent "[link](a) and <b>{}</b>"
            shown ""
              agent ""
        "#]],
    );
}

#[test]
fn a_message_that_was_cut_or_declines_calls_nothing() {
    for state in [MessageState::Partial, MessageState::Refusal] {
        assert_eq!(read_as([CALL], state), format!("shown {CALL:?}\n  agent {CALL:?}\n"));
    }
}

#[test]
fn text_is_held_back_only_while_it_may_be_a_call() {
    let offered = offered();
    let mut scanner = Scanner::default();
    let mut push = |text: &str| scanner.push(text, &offered);
    assert_eq!(push("The list [1] is <b>"), "The list [1] is <b>");
    assert_eq!(push("\n```rust\n"), "\n```rust\n");
    assert_eq!(push("{ [ <tool_call>\n```\n"), "{ [ <tool_call>\n```\n");
    assert_eq!(push("```json\n{\"name\": \"a"), "");
    assert_eq!(push(" b\"}"), "```json\n{\"name\": \"a b\"}");
}

#[test]
fn json_that_names_no_tool_is_soon_shown_and_no_call_is_endless() {
    let offered = offered();
    let mut scanner = Scanner::default();
    let long = format!("{{\"key\": \"{}", "ä".repeat(600));
    assert_eq!(scanner.push(&long, &offered), long);
    let mut scanner = Scanner::default();
    let endless = format!("{{\"name\": \"read\", \"arguments\": {{\"path\": \"{}", "x".repeat(2 << 20));
    assert_eq!(scanner.push(&endless, &offered), endless);
    assert!(scanner.into_calls().is_empty());
}

proptest! {
    #[test]
    fn any_cut_gives_the_same(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "```", "json", "\n", "<tool_call>", "</tool_call>", "[TOOL_CALLS]", "<function=read>", "</function>", "<function=list>",
                "<parameter=path>", "<parameter=lines>", "</parameter>", "7",
                r#"{"name": "read", "arguments": {"path": "ä"}}"#, r#"{"path": "}"}"#, r#"{"name": "list"}"#, "{", "[", "]", "ä", " ",
            ]),
            0..8,
        ),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let whole = parts.concat();
        let boundaries: Vec<_> = whole.char_indices().map(|(position, _)| position).collect();
        let mut places: Vec<_> = match boundaries.as_slice() {
            [] => Vec::new(),
            boundaries => cuts.iter().map(|cut| *cut.get(boundaries)).collect(),
        };
        places.extend([0, whole.len()]);
        places.sort_unstable();
        let pieces = places.windows(2).map(|pair| &whole[pair[0]..pair[1]]);
        let told = read(pieces);
        prop_assert_eq!(&told, &read([whole.as_str()]));
        // Without a call, every word is shown.
        if told.contains("agent") && told.lines().count() == 2 {
            let shown = format!("shown {whole:?}");
            prop_assert_eq!(told.lines().next(), Some(shown.as_str()));
        }
    }
}

#[test]
fn a_broken_call_is_one_behind_an_end_in_a_word_that_is_not_known_too() {
    for finish in [Finish::Stop, Finish::Unknown("OTHER".to_owned())] {
        let told = read_ending(["<tool_call>{\"name\": \"read\", "], MessageState::Whole, finish);
        assert!(told.ends_with("a broken call\n"), "{told}");
    }
    let told = read_ending(["<tool_call>{\"name\": \"read\", "], MessageState::Whole, Finish::Pause);
    assert!(!told.contains("a broken call"), "{told}");
}
