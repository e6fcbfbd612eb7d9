//! A thread of steps with outputs of so many bytes; what is sent of them.

use expect_test::{Expect, expect};

use super::*;
use crate::{
    agent::prompt::INSTRUCTIONS,
    protocol::{ToolCall, UserMessage},
    tools::{ToolSettings, Toolbox},
};

fn user(text: &str) -> Item {
    Item::User(UserMessage { text: text.to_owned(), context: None })
}

/// A step of calls that read a file each.
fn step(number: usize, outputs: &[usize]) -> Vec<Item> {
    let id = |place: usize| format!("call_{number}_{place}");
    let call = |place| {
        Item::Call(ToolCall {
            id: id(place),
            name: "read_file".to_owned(),
            arguments: format!(r#"{{"path":"big{number}.txt"}}"#),
            raw: None,
        })
    };
    let output = |place| {
        let text: String = "row of a file\n".chars().cycle().take(outputs[place]).collect();
        Item::Output(ToolOutput { call_id: id(place), text, is_error: false })
    };
    let places = || 0..outputs.len();
    places().map(call).chain(places().map(output)).collect()
}

/// A question and steps with one output each.
fn thread(outputs: &[usize]) -> Vec<Item> {
    let steps = outputs.iter().enumerate().flat_map(|(number, bytes)| step(number, &[*bytes]));
    [user("read them")].into_iter().chain(steps).collect()
}

fn lengths(items: &[Item]) -> Vec<usize> {
    outputs(items).map(|output| output.text.len()).collect()
}

/// The lengths of the outputs as they are sent with room for so many tokens.
fn check(outputs: &[usize], budget: u64, expected: &[usize]) {
    let items = thread(outputs);
    let sent = Fit::default().fitted(items.as_slice().into(), 0, Some(budget));
    assert_eq!(lengths(&sent), expected);
    let others = |items: &[Item]| -> Vec<Item> {
        items.iter().filter(|item| !matches!(item, Item::Output(_))).cloned().collect()
    };
    assert_eq!(others(&sent), others(&items));
    assert_eq!(sent.len(), items.len());
}

/// Bytes that are left of an output of these threads.
const SHORT: usize = 92;

// SPEC H11
#[test]
fn what_fits_is_sent_as_it_is() {
    let items = thread(&[2000, 2000]);
    let sent = Fit::default().fitted(items.as_slice().into(), 0, Some(10_000));
    assert!(matches!(sent, Cow::Borrowed(_)));
    let sent = Fit::default().fitted(items.as_slice().into(), 0, None);
    assert!(matches!(sent, Cow::Borrowed(_)));
}

#[test]
fn old_outputs_shrink_oldest_first_until_there_is_room_for_more() {
    check(&[2000, 2000, 2000, 2000, 2000], 2500, &[SHORT, SHORT, SHORT, 2000, 2000]);
}

#[test]
fn an_output_that_is_short_stays() {
    check(&[SHORT_OUTPUT, 2000, 2000], 1000, &[SHORT_OUTPUT, SHORT, 2000]);
}

#[test]
fn the_newest_outputs_are_cut_only_when_nothing_else_helps() {
    check(&[2000, 6000], 1700, &[SHORT, 6000]);
    check(&[2000, 6000], 1000, &[SHORT, 3442]);
    check(&[2000, 6000], 10, &[SHORT, 936]);
}

// SPEC H11
#[test]
fn what_a_server_calls_too_long_is_cut_further_until_nothing_is_left_to_cut() {
    let mut fit = Fit::default();
    let items = thread(&[2000, 6000]);
    let mut told = Vec::new();
    for _ in 0..3 {
        let gains = fit.shrink_all(&items);
        told.push((gains, lengths(&fit.fitted(items.as_slice().into(), 0, None))));
    }
    assert_eq!(told, [(true, vec![SHORT, 6000]), (true, vec![SHORT, 936]), (false, vec![SHORT, 936])]);
    // The output that was cut is an old one now, and stays as it is.
    let items = thread(&[2000, 6000, 3000]);
    assert_eq!(lengths(&fit.fitted(items.as_slice().into(), 0, None)), [SHORT, 936, 3000]);
}

// SPEC H15
#[test]
fn what_shrank_stays_so_and_many_requests_follow_before_more_does() {
    let mut fit = Fit::default();
    let mut sent: Vec<Vec<usize>> = Vec::new();
    for steps in 1..=8 {
        let items = thread(&vec![2000; steps]);
        sent.push(lengths(&fit.fitted(items.as_slice().into(), 0, Some(3000))));
    }
    let short = sent.iter().map(|lengths| lengths.iter().filter(|bytes| **bytes == SHORT).count());
    assert_eq!(short.collect::<Vec<_>>(), [0, 0, 0, 0, 0, 4, 4, 4]);
}

// SPEC H11
#[test]
fn a_server_that_counts_more_tokens_leaves_less_room() {
    let lengths_after = |counted| {
        let mut fit = Fit::default();
        fit.count(1000, counted);
        let items = thread(&[2000, 2000, 2000]);
        lengths(&fit.fitted(items.as_slice().into(), 0, Some(2000)))
    };
    assert_eq!(lengths_after(0), [2000, 2000, 2000]);
    assert_eq!(lengths_after(5), [2000, 2000, 2000]);
    assert_eq!(lengths_after(1500), [SHORT, SHORT, 2000]);
    assert_eq!(lengths_after(u64::MAX), [SHORT, SHORT, 1190]);
}

#[test]
fn an_output_that_shrank_says_what_it_was() {
    let output = |text: String| ToolOutput { call_id: "1".to_owned(), text, is_error: false };
    let check =
        |text: String, expected: Expect| expected.assert_eq(&short(&output(text)).unwrap_or_default());
    check(
        "big.txt, lines 1-90\n".to_owned() + &"row\n".repeat(500),
        expect![[r#"
        big.txt, lines 1-90
        … 2001 bytes left out here to save room; make the call again to see them …"#]],
    );
    check(
        "𝄞".repeat(201),
        expect![[r#"
        𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞 … [81 more characters in this line]
        … 286 bytes left out here to save room; make the call again to see them …"#]],
    );
    check("short".to_owned(), expect![""]);
}

#[test]
fn the_room_is_a_part_of_the_window_or_what_was_set() {
    let limits = |context_tokens| Limits { context_tokens, ..Limits::default() };
    assert_eq!(budget(&limits(None), None), None);
    assert_eq!(budget(&limits(None), Some(128_000)), Some(102_400));
    assert_eq!(budget(&limits(Some(4600)), Some(128_000)), Some(4600));
    assert_eq!(budget(&limits(Some(4600)), None), Some(4600));
    assert_eq!(budget(&limits(Some(4600)), Some(4000)), Some(3200));
}

/// Six steps that read three files of 2.2 kB each, with room for 4,600 tokens beside the real tools.
#[test]
fn a_thread_that_outgrows_a_small_window_stays_within_its_bytes() {
    let tools = Toolbox::standard(&ToolSettings::default());
    let fixed = fixed_bytes(INSTRUCTIONS, tools.specs());
    let mut fit = Fit::default();
    let mut items = vec![user("read all big files")];
    for number in 0..6 {
        items.extend(step(number, &[2800; 3]));
        let sent = fit.fitted(items.as_slice().into(), fixed, Some(4600));
        let bytes = sent.iter().map(item_bytes).sum::<usize>() + fixed;
        assert!(bytes <= 4600 * 4 + 3 * LEAST_OF_NEWEST, "{bytes} bytes in step {number}");
        assert_eq!(sent.len(), items.len());
    }
}
