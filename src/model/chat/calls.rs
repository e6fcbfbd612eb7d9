//! Calls that arrive in pieces, from servers that number, name and cut them each in their own way.

use serde_json::{Map, Value};

use super::call_arguments::Arguments;
use crate::{
    model::{arguments, call_ids::CallIds},
    protocol::{Raw, ToolCall, Wire},
};

/// Calls of one reply; the largest seen has some dozens.
const MAX_CALLS: usize = 1024;

/// The calls of one reply, in the order in which they began.
#[derive(Default)]
pub(super) struct Calls {
    pieces: Vec<Pieces>,
    are_too_many: bool,
}

/// One call as far as it came.
#[derive(Default)]
struct Pieces {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: Arguments,
    /// Members that askls does not know, such as `extra_content`; they go back as they came.
    extra: Map<String, Value>,
}

impl Pieces {
    /// Whether a piece of this id and name, which came under the same number, begins another call: servers give several
    /// calls one number or none, and others repeat id and name, or change the id, with every piece.
    fn is_over(&mut self, id: &str, name: &str, begins_an_object: bool) -> bool {
        if name.is_empty() || self.name.is_empty() {
            return false;
        }
        if !id.is_empty() && !self.id.is_empty() {
            return id != self.id;
        }
        name != self.name || begins_an_object && self.arguments.are_whole()
    }
}

impl Calls {
    /// Whether there is nothing that may be a call.
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Bytes of their arguments, and of what else came with them.
    pub(super) fn bytes(&self) -> usize {
        let extra = |call: &Pieces| call.extra.values().map(|value| value.to_string().len()).sum::<usize>();
        self.pieces.iter().map(|call| call.arguments.len() + extra(call)).sum()
    }

    /// Whether there were more than any reply has. The calls are not all there then, and none may run.
    pub(super) fn are_too_many(&self) -> bool {
        self.are_too_many
    }

    /// Takes `tool_calls` of one delta.
    pub(super) fn add_all(&mut self, calls: &[Value]) {
        for (position, call) in calls.iter().enumerate() {
            // No server cuts one call into two pieces of one delta: where numbers are missing, the place tells.
            let place = (calls.len() > 1).then_some(position as u64);
            self.add(call, place);
        }
    }

    fn add(&mut self, piece: &Value, place: Option<u64>) {
        let Some(piece) = piece.as_object() else { return };
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let function = piece.get("function");
        let member = |name: &str| function.and_then(|function| function.get(name));
        let (id, name) = (text(piece.get("id")), text(member("name")));
        let index = match piece.get("index") {
            Some(Value::Number(number)) => number.as_u64(),
            Some(Value::String(digits)) => digits.parse().ok(),
            _ => None,
        };
        let index = index.or_else(|| place.filter(|_| id.is_empty()));
        let begins_an_object = match member("arguments") {
            Some(Value::String(more)) => more.trim_start().starts_with('{'),
            Some(whole) => whole.is_object(),
            None => false,
        };
        let Some(call) = self.find(index, &id, &name, begins_an_object) else { return };
        // The first value counts: servers repeat ids and names, some under a new id with each piece.
        if call.id.is_empty() {
            call.id = id;
        }
        if call.name.is_empty() {
            call.name = name;
        }
        match member("arguments") {
            Some(Value::String(more)) => call.arguments.push_str(more),
            Some(Value::Null) | None => {}
            Some(whole) => call.arguments = Arguments::of(&whole.to_string()),
        }
        for (name, value) in piece {
            if !matches!(name.as_str(), "index" | "id" | "type" | "function") {
                call.extra.insert(name.clone(), value.clone());
            }
        }
    }

    /// Takes the form that `tool_calls` replaced: one call at most, without an id.
    pub(super) fn add_function(&mut self, function: &Value) {
        self.add(&serde_json::json!({ "index": 0, "function": function }), None);
    }

    /// The call that a piece belongs to; a new one when it begins one. `None` beyond every bound.
    fn find(
        &mut self,
        index: Option<u64>,
        id: &str,
        name: &str,
        begins_an_object: bool,
    ) -> Option<&mut Pieces> {
        let known = match index {
            Some(_) => self.pieces.iter().rposition(|call| call.index == index),
            None if !id.is_empty() => self.pieces.iter().rposition(|call| call.id == id),
            // Without number and id a piece can only go on with the last call.
            None => self.pieces.len().checked_sub(1),
        };
        let known = known.filter(|known| {
            self.pieces.get_mut(*known).is_some_and(|call| !call.is_over(id, name, begins_an_object))
        });
        let position = match known {
            Some(known) => known,
            None if self.pieces.len() >= MAX_CALLS => {
                self.are_too_many = true;
                return None;
            }
            None => {
                self.pieces.push(Pieces { index, ..Pieces::default() });
                self.pieces.len() - 1
            }
        };
        self.pieces.get_mut(position)
    }

    /// The whole calls. `cut` says that the reply was cut: a call whose arguments are not whole is left out then.
    /// One that never got a name is one of no tool, and its model is to be told so; pieces that say nothing at all are no
    /// call.
    pub(super) fn finish(self, ids: &mut CallIds, cut: bool) -> Vec<ToolCall> {
        let mut calls = Vec::new();
        for call in self.pieces {
            let arguments = call.arguments.into_text();
            let says_nothing = [&call.name, &call.id, &arguments].iter().all(|part| part.trim().is_empty());
            if says_nothing || cut && arguments::read(&arguments).is_err() {
                continue;
            }
            let Some(id) = ids.take(&call.id, &call.name, &arguments) else { continue };
            let raw = (!call.extra.is_empty()).then(|| {
                let mut json = call.extra;
                json.insert("id".to_owned(), id.as_str().into());
                json.insert("type".to_owned(), "function".into());
                let function = serde_json::json!({ "name": call.name, "arguments": arguments });
                json.insert("function".to_owned(), function);
                Raw { wire: Wire::Chat, json: Value::Object(json).to_string().into() }
            });
            calls.push(ToolCall { id, name: call.name, arguments, raw });
        }
        calls
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn check(pieces: &[Value], expected: Expect) {
        let mut calls = Calls::default();
        for piece in pieces {
            match piece.as_array() {
                Some(several) => calls.add_all(several),
                None => calls.add_all(std::slice::from_ref(piece)),
            }
        }
        let lines = calls.finish(&mut CallIds::of(&[]), false).into_iter().map(|call| {
            let raw = call.raw.map(|raw| format!(" raw {}", raw.json)).unwrap_or_default();
            format!("{} {} {}{raw}\n", call.id, call.name, call.arguments)
        });
        expected.assert_eq(&lines.collect::<String>());
    }

    #[test]
    fn pieces_of_two_calls_may_come_in_any_order() {
        check(
            &[
                json!({"index": 0, "id": "a", "type": "function", "function": {"name": "read", "arguments": "{\"p\""}}),
                json!({"index": 1, "id": "b", "type": "function", "function": {"name": "list", "arguments": ""}}),
                json!({"index": 0, "function": {"arguments": ":1}"}}),
                json!({"index": 1, "function": {"arguments": "{}"}}),
            ],
            expect![[r#"
                a read {"p":1}
                b list {}
            "#]],
        );
    }

    #[test]
    fn without_numbers_ids_tell_calls_apart_and_without_ids_names_do() {
        check(
            &[
                json!({"id": "a", "function": {"name": "read", "arguments": "1"}}),
                json!({"id": "b", "function": {"name": "read", "arguments": "2"}}),
                json!({"id": "a", "function": {"arguments": "1"}}),
                json!({"function": {"name": "list", "arguments": "3"}}),
                json!({"function": {"arguments": "3"}}),
                json!({"function": {"name": "list", "arguments": "4"}}),
            ],
            expect![[r#"
                a read 11
                b read 2
                call_0_1 list 334
            "#]],
        );
    }

    #[test]
    fn two_calls_under_one_number_are_two_and_a_changing_id_makes_no_second() {
        check(
            &[
                json!({"index": 0, "id": "a", "function": {"name": "read", "arguments": "1"}}),
                json!({"index": 0, "id": "b", "function": {"name": "read", "arguments": "2"}}),
                json!({"index": 0, "id": "c", "function": {"arguments": "2"}}),
            ],
            expect![[r#"
                a read 1
                b read 22
            "#]],
        );
    }

    #[test]
    fn names_may_come_late_or_twice_and_arguments_as_an_object_or_behind_an_empty_one() {
        check(
            &[
                json!({"index": 0, "id": "a", "function": {"arguments": ""}}),
                json!({"index": 0, "function": {"name": "read", "arguments": {"p": 1}}}),
                json!({"index": 1, "id": "b", "function": {"name": "list", "arguments": "{}"}}),
                json!({"index": 1, "id": "b", "function": {"name": "list", "arguments": "{\"p\":2}"}}),
                json!({"index": 2, "id": "c", "function": {"name": "none", "arguments": null}}),
            ],
            expect![[r#"
                a read {"p":1}
                b list {}{"p":2}
                c none 
            "#]],
        );
    }

    #[test]
    fn unknown_members_stay_with_their_call() {
        check(
            &[
                json!({"index": 0, "id": "a", "function": {"name": "read", "arguments": "{}"}, "extra_content": {"google": {"thought_signature": "s"}}}),
            ],
            expect![[r#"
                a read {} raw {"extra_content":{"google":{"thought_signature":"s"}},"function":{"arguments":"{}","name":"read"},"id":"a","type":"function"}
            "#]],
        );
    }

    #[test]
    fn several_calls_in_one_delta_need_no_numbers() {
        check(
            &[
                json!([
                    {"function": {"name": "read", "arguments": "{\"p\""}},
                    {"function": {"name": "read", "arguments": "{\"q\""}},
                ]),
                json!([{"function": {"arguments": ":1}"}}, {"function": {"arguments": ":2}"}}]),
            ],
            expect![[r#"
                call_0_1 read {"p":1}
                call_0_2 read {"q":2}
            "#]],
        );
    }

    #[test]
    fn a_name_that_comes_with_every_piece_makes_no_new_call_until_the_last_is_whole() {
        check(
            &[
                json!({"function": {"name": "read", "arguments": "{\"p\""}}),
                json!({"function": {"name": "read", "arguments": ":1}"}}),
                json!({"function": {"name": "read", "arguments": ""}}),
                json!({"function": {"name": "read", "arguments": "{\"p\":2}"}}),
                json!({"function": {"name": "list", "arguments": "{}"}}),
                json!({"function": {"name": "list", "arguments": "{\"p\":3}"}}),
            ],
            expect![[r#"
                call_0_1 read {"p":1}
                call_0_2 read {"p":2}
                call_0_3 list {}{"p":3}
            "#]],
        );
    }

    #[test]
    fn one_number_for_all_calls_is_no_number() {
        check(
            &[
                json!({"index": 0, "function": {"name": "read", "arguments": "{\"p\":1}"}}),
                json!({"index": 0, "function": {"name": "read", "arguments": "{\"p\":2}"}}),
                json!({"index": "0", "function": {"name": "list", "arguments": {"p": 3}}}),
                json!({"index": "1", "id": null, "function": {"name": "list", "arguments": "{}"}}),
            ],
            expect![[r#"
                call_0_1 read {"p":1}
                call_0_2 read {"p":2}
                call_0_3 list {"p":3}
                call_0_4 list {}
            "#]],
        );
    }

    // SPEC E2
    #[test]
    fn a_call_without_a_name_is_a_call_of_no_tool() {
        check(
            &[
                json!({"index": 0, "id": "a", "function": {"name": "", "arguments": "{\"p\":1}"}}),
                json!({"index": 1, "id": "b", "function": {"name": "  ", "arguments": "{}"}}),
                json!({"index": 2, "id": "c"}),
            ],
            expect![[r#"
                a  {"p":1}
                b    {}
                c  
            "#]],
        );
    }

    #[test]
    fn rubbish_is_no_call() {
        check(
            &[json!(null), json!(7), json!({}), json!({"index": -1}), json!({"function": []})],
            expect![[""]],
        );
    }
}
