//! What the server has stored: after a reply that it keeps, a mark in the history says which one, so that the next
//! request sends only what is new. The mark is an item that no other wire sends.

use serde::{Deserialize, Serialize};

use crate::{
    model::{
        client::{Wish, Wishes},
        http::Endpoint,
    },
    protocol::{Item, Raw, Wire},
};

/// The type of the item; no server's begins like this.
const MARK: &str = "askls.stored_response";

#[derive(Deserialize, Serialize)]
struct Mark {
    r#type: String,
    /// The id of the response that the server keeps.
    id: String,
    /// The server that keeps it, and whom it knows askls as there. No other is asked for it: one that does not know the id may
    /// answer without the history.
    #[serde(default)]
    account: u32,
    /// Of what stood in front of the mark when it was made.
    #[serde(flatten)]
    measure: Measure,
}

/// What tells a history from one that was mended or shortened since, which is another one than the server's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct Measure {
    items: usize,
    /// Bytes of what the items say.
    bytes: usize,
}

impl Measure {
    pub(super) fn of(items: &[Item]) -> Self {
        let bytes = items.iter().map(|item| match item {
            Item::User(message) => message.text.len() + message.context.as_ref().map_or(0, String::len),
            Item::Agent(message) => message.text.len(),
            Item::Reasoning(reasoning) => reasoning.text.len(),
            Item::Call(call) => call.name.len() + call.arguments.len(),
            Item::Output(output) => output.text.len(),
            Item::Opaque(raw) => raw.json.len(),
        });
        Self { items: items.len(), bytes: bytes.sum() }
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self { items: self.items + other.items, bytes: self.bytes + other.bytes }
    }
}

/// The mark behind a reply, in front of which this stands.
pub(super) fn mark(endpoint: &Endpoint, id: &str, measure: Measure) -> Option<Item> {
    let mark = Mark { r#type: MARK.to_owned(), id: id.to_owned(), account: endpoint.account(), measure };
    let json = serde_json::to_string(&mark).ok()?;
    Some(Item::Opaque(Raw { wire: Wire::Responses, json: json.into() }))
}

pub(super) fn is_mark(raw: &Raw) -> bool {
    read(raw).is_some()
}

fn read(raw: &Raw) -> Option<Mark> {
    let mark: Mark = serde_json::from_str(&raw.json).ok().filter(|_| raw.wire == Wire::Responses)?;
    (mark.r#type == MARK).then_some(mark)
}

/// The response that the server has stored and the items that are new since; `None` when the whole history is to be
/// sent.
pub(super) fn split<'a>(
    endpoint: &Endpoint,
    items: &'a [Item],
    wishes: Wishes,
) -> Option<(String, &'a [Item])> {
    if !wishes.holds(Wish::StoredReplies) {
        return None;
    }
    let (position, mark) = items.iter().enumerate().rev().find_map(|(position, item)| match item {
        Item::Opaque(raw) => Some((position, read(raw)?)),
        _ => None,
    })?;
    let (before, new) = (items.get(..position)?, items.get(position + 1..)?);
    // An output of a call that the server knows under another id, or not at all, has nothing to belong to there.
    let is_known = |call_id: &str| {
        before.iter().rev().any(|item| match item {
            Item::Call(call) => call.id == call_id && is_own(call.raw.as_ref()),
            _ => false,
        }) || new.iter().any(|item| matches!(item, Item::Call(call) if call.id == call_id))
    };
    let are_known = new.iter().all(|item| match item {
        Item::Output(output) => is_known(&output.call_id),
        _ => true,
    });
    let is_there = mark.account == endpoint.account();
    (is_there && mark.measure == Measure::of(before) && !new.is_empty() && are_known)
        .then_some((mark.id, new))
}

fn is_own(raw: Option<&Raw>) -> bool {
    raw.is_some_and(|raw| raw.wire == Wire::Responses)
}
