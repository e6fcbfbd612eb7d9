//! Ids of calls. An output names its call by the id, so within a thread no two calls may share one, and none may be
//! blank; servers that name every call `call_0`, or none at all, exist.

use std::collections::{BTreeMap, BTreeSet};

use crate::protocol::{Item, Wire};

/// The longest id that the hosted servers take back.
const LONGEST_ID: usize = 64;

/// Room for `_` and the number of a call; no thread has more calls than eight digits count.
const NUMBER_ROOM: usize = 9;

pub(super) struct CallIds {
    /// The ids of the history, and of the calls of this reply so far.
    used: BTreeSet<String>,
    /// The calls of this reply as the server named them.
    calls: BTreeSet<(String, String, String)>,
    /// How many items the history had: makes new ids differ from step to step.
    step: usize,
}

impl CallIds {
    pub(super) fn of(history: &[Item]) -> Self {
        let used = history.iter().filter_map(|item| match item {
            Item::Call(call) => Some(call.id.clone()),
            _ => None,
        });
        Self { used: used.collect(), calls: BTreeSet::new(), step: history.len() }
    }

    /// The id under which a call goes into the thread: the server's where it is fit, else a new one. `None` for a call
    /// that repeats another one of the same reply in all that it says; it is one call, sent twice.
    pub(super) fn take(&mut self, given: &str, name: &str, arguments: &str) -> Option<String> {
        let fit =
            !given.trim().is_empty() && given.len() <= LONGEST_ID && !given.contains(char::is_whitespace);
        if fit && !self.calls.insert((given.to_owned(), name.to_owned(), arguments.to_owned())) {
            return None;
        }
        let mut id = given.to_owned();
        let mut position = 0;
        while !fit && position == 0 || !self.used.insert(id.clone()) {
            position += 1;
            id = format!("call_{}_{position}", self.step);
        }
        Some(id)
    }
}

/// The ids of a thread's calls as one wire takes them: a thread goes on where other ids are allowed than where it began.
pub(super) struct SentIds {
    /// Only those that are not sent as they are.
    changed: BTreeMap<String, String>,
}

impl SentIds {
    /// The same history gives the same ids, and so does its beginning.
    pub(super) fn of(history: &[Item], wire: Wire) -> Self {
        let (mut sent, mut changed) = (BTreeSet::new(), BTreeMap::new());
        let mut seen = BTreeSet::new();
        for item in history {
            let id = match item {
                Item::Call(call) => &call.id,
                Item::Output(output) => &output.call_id,
                _ => continue,
            };
            if !seen.insert(id.as_str()) || is_sendable(id, wire) && sent.insert(id.clone()) {
                continue;
            }
            let base = sendable(id);
            let numbered = (2..).map(|number| format!("{base}_{number}"));
            let free = std::iter::once(base.clone()).chain(numbered).find(|id| !sent.contains(id));
            // There is always a free one: numbers do not end.
            let new = free.unwrap_or(base);
            sent.insert(new.clone());
            changed.insert(id.clone(), new);
        }
        Self { changed }
    }

    pub(super) fn get<'a>(&'a self, id: &'a str) -> &'a str {
        self.changed.get(id).map_or(id, String::as_str)
    }
}

fn is_sendable(id: &str, wire: Wire) -> bool {
    let is_short = !id.trim().is_empty() && id.len() <= LONGEST_ID;
    is_short && (wire != Wire::Messages || id.bytes().all(is_word))
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// An id that every wire takes, as close to this one as can be, with room for a number behind it.
fn sendable(id: &str) -> String {
    let words = id.bytes().map(|byte| if is_word(byte) { char::from(byte) } else { '_' });
    let id: String = words.take(LONGEST_ID - NUMBER_ROOM).collect();
    if id.is_empty() { "call".to_owned() } else { id }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{ToolCall, ToolOutput};

    fn check(history: &[&str], calls: &[(&str, &str)], expected: &[Option<&str>]) {
        let history: Vec<_> = history
            .iter()
            .map(|id| {
                Item::Call(ToolCall {
                    id: (*id).to_owned(),
                    name: String::new(),
                    arguments: String::new(),
                    raw: None,
                })
            })
            .collect();
        let mut ids = CallIds::of(&history);
        let taken: Vec<_> = calls.iter().map(|(id, arguments)| ids.take(id, "tool", arguments)).collect();
        assert_eq!(taken.iter().map(Option::as_deref).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_server_s_own_ids_are_kept() {
        check(&["call_a"], &[("call_b", "{}"), ("call_c", "{}")], &[Some("call_b"), Some("call_c")]);
    }

    #[test]
    fn calls_without_a_fit_id_get_one() {
        let long = "x".repeat(65);
        check(
            &[],
            &[("", "1"), (" ", "2"), (&long, "3")],
            &[Some("call_0_1"), Some("call_0_2"), Some("call_0_3")],
        );
    }

    #[test]
    fn an_id_of_an_earlier_step_is_not_used_again() {
        check(&["call_0", "call_2_1"], &[("call_0", "{}")], &[Some("call_2_2")]);
    }

    // SPEC E10
    #[test]
    fn the_same_call_twice_is_one_and_another_call_of_the_same_id_gets_its_own() {
        check(
            &[],
            &[("call_0", "1"), ("call_0", "1"), ("call_0", "2")],
            &[Some("call_0"), None, Some("call_0_1")],
        );
    }

    /// The ids under which calls with these ids are sent, and that their outputs go with them.
    fn check_sent(wire: Wire, ids: &[&str], expected: &[&str]) {
        let call = |id: &&str| {
            let (id, name, arguments) = ((*id).to_owned(), String::new(), String::new());
            Item::Call(ToolCall { id, name, arguments, raw: None })
        };
        let output = |id: &&str| {
            Item::Output(ToolOutput { call_id: (*id).to_owned(), text: String::new(), is_error: false })
        };
        let history: Vec<_> = ids.iter().map(call).chain(ids.iter().map(output)).collect();
        let sent = SentIds::of(&history, wire);
        assert_eq!(ids.iter().map(|id| sent.get(id)).collect::<Vec<_>>(), expected);
    }

    // SPEC H10
    #[test]
    fn an_id_is_sent_as_it_is_where_it_may_be() {
        let ids = ["call_1", "functions.read:0", "a b"];
        check_sent(Wire::Chat, &ids, &ids);
        check_sent(Wire::Responses, &ids, &ids);
        check_sent(Wire::Messages, &ids, &["call_1", "functions_read_0", "a_b"]);
    }

    // SPEC H10
    #[test]
    fn two_ids_stay_two() {
        let (long, longer) = ("x".repeat(65), "x".repeat(66));
        for wire in [Wire::Chat, Wire::Responses, Wire::Messages] {
            let short = "x".repeat(55);
            check_sent(
                wire,
                &[&long, &longer, &short],
                &[&short, &format!("{short}_2"), &format!("{short}_3")],
            );
        }
        check_sent(Wire::Messages, &["a:1", "a.1", "a_1"], &["a_1", "a_1_2", "a_1_3"]);
        check_sent(Wire::Messages, &["a_1", "a:1"], &["a_1", "a_1_2"]);
        check_sent(Wire::Messages, &["", " ", "ä"], &["call", "_", "__"]);
    }

    // SPEC H15
    #[test]
    fn an_id_that_was_sent_once_is_always_sent_so() {
        let ids = ["a:1", "a.1", "b", "a_1"];
        let sent = ["a_1", "a_1_2", "b", "a_1_3"];
        for length in 1..=ids.len() {
            check_sent(Wire::Messages, &ids[..length], &sent[..length]);
        }
    }
}
