//! Reasoning under the names that servers have for it, on its way to a thread and back: a server gets what it thought
//! under the name that it gave to it, since no other name is sure to be taken.

use serde_json::{Map, Value};

use crate::protocol::{Raw, Reasoning, Wire};

/// Under which names servers send reasoning as one text, the one first that more of them take back.
const TEXTS: [&str; 2] = ["reasoning_content", "reasoning"];

/// Under which name gateways send it in parts with their signatures (OpenRouter).
const DETAILS: &str = "reasoning_details";

/// Members of a part that come in pieces; any other is whole where it comes.
const PIECES: [&str; 3] = ["text", "summary", "data"];

/// Parts of one reply; the largest seen has some dozens.
const MAX_PARTS: usize = 1024;

/// What a reply told of the model's reasoning, beside its text.
#[derive(Default)]
pub(super) struct Thoughts {
    /// The name under which its text came.
    name: Option<&'static str>,
    /// In the order in which they began.
    parts: Vec<Value>,
    /// There were more than any reply has: none goes back, since the signature of some is one of all.
    are_too_many: bool,
}

impl Thoughts {
    /// Takes what a delta tells, and gives the text of it that is new.
    pub(super) fn take(&mut self, delta: &Value) -> String {
        let parts = delta.get(DETAILS).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let before = self.parts.len();
        for part in parts {
            self.add(part, before);
        }
        // Servers that send reasoning under both names send the same.
        let text = TEXTS
            .iter()
            .find_map(|name| Some((*name, delta.get(name)?.as_str().filter(|text| !text.is_empty())?)));
        match text {
            Some((name, text)) => {
                self.name = Some(name);
                text.to_owned()
            }
            // The parts hold the same text once more, unless it comes in them alone.
            None if self.name.is_none() => parts.iter().filter_map(text_of).collect(),
            None => String::new(),
        }
    }

    /// Whether nothing came that has to go back.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Bytes that came sealed, as far as they are more than what was shown of the same.
    pub(super) fn sealed_bytes(&self) -> usize {
        let bytes = |part: &Value, name: &str| part.get(name).and_then(Value::as_str).map_or(0, str::len);
        let sealed = |part: &Value| {
            let shown = text_of(part).map_or(0, str::len);
            (bytes(part, "data") + bytes(part, "signature")).saturating_sub(shown)
        };
        self.parts.iter().map(sealed).sum()
    }

    /// What a server takes back; `None` for a text that came as a part of the answer.
    pub(super) fn into_raw(self, text: &str) -> Option<Raw> {
        let mut members = Map::new();
        if let Some(name) = self.name {
            members.insert(name.to_owned(), text.into());
        }
        if !self.parts.is_empty() {
            members.insert(DETAILS.to_owned(), self.parts.into());
        }
        let json = (!members.is_empty()).then(|| Value::Object(members).to_string())?;
        Some(Raw { wire: Wire::Chat, json: json.into() })
    }

    /// Takes a part, or a piece of one. A signature is one of the whole text, so that pieces must not go back as parts.
    /// `before` is how many parts earlier deltas had begun.
    fn add(&mut self, piece: &Value, before: usize) {
        if self.are_too_many {
            return;
        }
        let goes_on = |members: &Map<String, Value>| {
            let numbered = self.parts.iter().rposition(|part| goes_on(part, members));
            let last = || {
                let last = self.parts.len().checked_sub(1)?;
                // What stands side by side in one delta is whole.
                (last < before && goes_on_unnumbered(self.parts.get(last)?, members)).then_some(last)
            };
            numbered.or_else(last)
        };
        match piece.as_object().and_then(goes_on) {
            Some(part) => self.parts.get_mut(part).into_iter().for_each(|part| merge(part, piece)),
            None if self.parts.len() >= MAX_PARTS => {
                tracing::info!("more parts of reasoning than any reply has; none of them goes back");
                self.are_too_many = true;
                self.parts.clear();
            }
            None => self.parts.push(piece.clone()),
        }
    }
}

/// Whether a piece goes on with a part: it has the part's number, and is of no other kind and no other call.
fn goes_on(part: &Value, piece: &Map<String, Value>) -> bool {
    let new = piece.get("index").filter(|index| !index.is_null());
    new.is_some() && part.get("index") == new && ["type", "id"].iter().all(|name| agrees(part, piece, name))
}

/// Whether a piece without a number goes on with the part before it: both are text, alike in all else, and the part was
/// not signed yet. What is sealed is whole.
fn goes_on_unnumbered(part: &Value, piece: &Map<String, Value>) -> bool {
    let is_text = |name: &str| matches!(name, "text" | "summary" | "signature");
    let Some(known) = part.as_object() else { return false };
    let is_known = |name: &str| known.get(name).is_some_and(|value| !value.is_null());
    let has_text =
        |members: &Map<String, Value>| members.contains_key("text") || members.contains_key("summary");
    !is_known("index")
        && !is_known("data")
        && !is_known("signature")
        && has_text(known)
        && (has_text(piece) || piece.contains_key("signature"))
        && !piece.contains_key("data")
        && piece.keys().all(|name| is_text(name) || agrees(part, piece, name))
}

/// Whether a part and a piece say the same of this member, or one of them nothing.
fn agrees(part: &Value, piece: &Map<String, Value>, name: &str) -> bool {
    let known = part.get(name).filter(|value| !value.is_null());
    let new = piece.get(name).filter(|value| !value.is_null());
    known.zip(new).is_none_or(|(known, new)| known == new)
}

fn merge(part: &mut Value, piece: &Value) {
    let (Some(part), Some(piece)) = (part.as_object_mut(), piece.as_object()) else { return };
    for (name, value) in piece.iter().filter(|(_, value)| !value.is_null()) {
        match (part.get_mut(name), value) {
            (Some(Value::String(known)), Value::String(more)) if PIECES.contains(&name.as_str()) => {
                known.push_str(more);
            }
            (Some(known), value) if known.is_null() || name == "signature" => *known = value.clone(),
            (Some(_), _) => {}
            (None, value) => drop(part.insert(name.clone(), value.clone())),
        }
    }
}

/// What can be read of a part.
fn text_of(part: &Value) -> Option<&str> {
    part.get("text").or_else(|| part.get("summary"))?.as_str()
}

/// The members of a message in which its server gets the reasoning back that led to it. None of another wire's.
pub(super) fn echoed(reasoning: &Reasoning) -> Map<String, Value> {
    let own = reasoning.raw.as_ref().filter(|raw| raw.wire == Wire::Chat);
    let mut members: Map<String, Value> =
        own.and_then(|raw| serde_json::from_str(&raw.json).ok()).unwrap_or_default();
    members.retain(|name, value| match value {
        Value::String(_) => TEXTS.contains(&name.as_str()),
        Value::Array(_) => name == DETAILS,
        _ => false,
    });
    members
}

/// Adds the reasoning of a second item to what goes back of the first.
pub(super) fn join(members: &mut Map<String, Value>, more: Map<String, Value>) {
    for (name, value) in more {
        match (members.get_mut(&name), value) {
            (Some(Value::String(known)), Value::String(more)) => known.push_str(&more),
            (Some(Value::Array(known)), Value::Array(more)) => known.extend(more),
            (_, value) => drop(members.insert(name, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    /// What is shown of the deltas, and what goes back.
    fn check(deltas: &[Value], expected: Expect) {
        let mut thoughts = Thoughts::default();
        let text: String = deltas.iter().map(|delta| thoughts.take(delta)).collect();
        let raw = thoughts.into_raw(&text);
        let members = echoed(&Reasoning { text: text.clone(), raw });
        let lines = members.iter().flat_map(|(name, value)| match value {
            Value::Array(parts) => parts.iter().map(|part| format!("{name} {part}\n")).collect(),
            other => vec![format!("{name} {other}\n")],
        });
        expected.assert_eq(&format!("shown {text:?}\n{}", lines.collect::<String>()));
    }

    #[test]
    fn a_text_goes_back_under_the_name_that_it_came_by() {
        check(
            &[json!({"reasoning": "so "}), json!({"reasoning": "it is", "content": ""})],
            expect![[r#"
                shown "so it is"
                reasoning "so it is"
            "#]],
        );
        check(
            &[json!({"reasoning": "hm", "reasoning_content": "hm"}), json!({"reasoning_content": null})],
            expect![[r#"
                shown "hm"
                reasoning_content "hm"
            "#]],
        );
    }

    #[test]
    fn pieces_of_one_part_go_back_as_one_with_its_signature() {
        check(
            &[
                json!({"reasoning": "Let", "reasoning_details": [{"type": "reasoning.text", "text": "Let", "index": 0, "format": "f"}]}),
                json!({"reasoning": " me", "reasoning_details": [{"type": "reasoning.text", "text": " me", "index": 0, "signature": null}]}),
                json!({"reasoning_details": [{"type": "reasoning.text", "index": 0, "signature": "s"}]}),
                json!({"reasoning_details": [{"type": "reasoning.summary", "summary": "sum", "index": 0}]}),
                json!({"reasoning_details": [{"type": "reasoning.encrypted", "data": "a", "id": "call_1", "index": 1}]}),
                json!({"reasoning_details": [{"type": "reasoning.encrypted", "data": "b", "id": "call_2", "index": 1}]}),
            ],
            expect![[r#"
                shown "Let me"
                reasoning "Let me"
                reasoning_details {"format":"f","index":0,"signature":"s","text":"Let me","type":"reasoning.text"}
                reasoning_details {"index":0,"summary":"sum","type":"reasoning.summary"}
                reasoning_details {"data":"a","id":"call_1","index":1,"type":"reasoning.encrypted"}
                reasoning_details {"data":"b","id":"call_2","index":1,"type":"reasoning.encrypted"}
            "#]],
        );
    }

    #[test]
    fn parts_side_by_side_without_a_number_are_whole_and_are_shown_where_no_other_text_is() {
        let part = json!({"type": "reasoning.text", "text": "hm", "kept": {"deep": [1, null]}});
        check(
            &[json!({"reasoning_details": [part, part]})],
            expect![[r#"
                shown "hmhm"
                reasoning_details {"kept":{"deep":[1,null]},"text":"hm","type":"reasoning.text"}
                reasoning_details {"kept":{"deep":[1,null]},"text":"hm","type":"reasoning.text"}
            "#]],
        );
    }

    #[test]
    fn strange_forms_are_no_reasoning() {
        check(
            &[json!(null), json!({"reasoning": 7, "reasoning_details": "x"})],
            expect![[r#"
            shown ""
        "#]],
        );
    }

    #[test]
    fn pieces_without_a_number_are_joined_until_their_part_is_signed() {
        check(
            &[
                json!({"reasoning_details": [{"type": "reasoning.text", "text": "Let", "format": "f"}]}),
                json!({"reasoning_details": [{"type": "reasoning.text", "text": " me", "format": "f"}]}),
                json!({"reasoning_details": [{"type": "reasoning.text", "signature": "s"}]}),
                json!({"reasoning_details": [{"type": "reasoning.text", "text": "And"}]}),
                json!({"reasoning_details": [{"type": "reasoning.encrypted", "data": "a"}]}),
                json!({"reasoning_details": [{"type": "reasoning.encrypted", "data": "b"}]}),
            ],
            expect![[r#"
                shown "Let meAnd"
                reasoning_details {"format":"f","signature":"s","text":"Let me","type":"reasoning.text"}
                reasoning_details {"text":"And","type":"reasoning.text"}
                reasoning_details {"data":"a","type":"reasoning.encrypted"}
                reasoning_details {"data":"b","type":"reasoning.encrypted"}
            "#]],
        );
    }

    #[test]
    fn of_more_parts_than_any_reply_has_none_goes_back_and_the_text_stays() {
        let parts: Vec<_> = (0..=MAX_PARTS).map(|index| json!({"index": index})).collect();
        check(
            &[
                json!({"reasoning": "hm", "reasoning_details": parts}),
                json!({"reasoning_details": [{"index": 0}]}),
            ],
            expect![[r#"
                shown "hm"
                reasoning "hm"
            "#]],
        );
    }
}
