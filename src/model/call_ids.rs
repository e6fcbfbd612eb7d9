//! Ids of calls. An output names its call by the id, so within a thread no two calls may share one, and none may be
//! blank; servers that name every call `call_0`, or none at all, exist.

use std::collections::BTreeSet;

use crate::protocol::Item;

/// The longest id that the hosted servers take back.
const LONGEST_ID: usize = 64;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ToolCall;

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
}
