//! A history that a server refused: its plain form, and the item that the refusal is about.

use std::collections::HashMap;

use serde_json::Value;

use super::{call_ids, new_id, repaired};
use crate::protocol::{AgentMessage, Item, Reasoning, ToolCall, ToolOutput};

/// The history for a server that refused it as it was: words, calls and outputs only, without anything that a server
/// sent beside what askls understands, and with new ids.
pub fn plain(items: &[Item]) -> Vec<Item> {
    let items = repaired(items).items;
    let known = call_ids(&items);
    let mut ids: HashMap<&str, String> = HashMap::new();
    let mut plain = Vec::with_capacity(items.len());
    for (position, item) in items.iter().enumerate() {
        match item {
            Item::User(message) => plain.push(Item::User(message.clone())),
            // Without its raw form nothing is left of it.
            Item::Agent(message) if message.text.trim().is_empty() => {}
            Item::Agent(message) => {
                let message = Item::Agent(AgentMessage { raw: None, ..message.clone() });
                // What stood between two may be gone.
                if plain.last() != Some(&message) {
                    plain.push(message);
                }
            }
            Item::Call(call) => {
                let id = new_id(position, |id| known.contains(id));
                ids.insert(&call.id, id.clone());
                plain.push(Item::Call(ToolCall { id, raw: None, ..call.clone() }));
            }
            Item::Output(output) => {
                let call_id = ids.get(output.call_id.as_str()).unwrap_or(&output.call_id).clone();
                plain.push(Item::Output(ToolOutput { call_id, ..output.clone() }));
            }
            Item::Reasoning(_) | Item::Opaque(_) => {}
        }
    }
    plain
}

/// The item that a server complains of, as far as its words tell: by an id, or by its place (`input[3]`).
pub fn blamed<'a>(items: &'a [Item], words: &str) -> Option<&'a Item> {
    let is_named = |id: &str| !id.is_empty() && words.split(|c| !is_of_id(c)).any(|word| word == id);
    let by_id = items.iter().find(|item| match item {
        Item::Call(call) if is_named(&call.id) => true,
        Item::Output(output) if is_named(&output.call_id) => true,
        Item::Agent(AgentMessage { raw: Some(raw), .. })
        | Item::Reasoning(Reasoning { raw: Some(raw), .. })
        | Item::Call(ToolCall { raw: Some(raw), .. })
        | Item::Opaque(raw) => {
            let json: Value = serde_json::from_str(&raw.json).unwrap_or_default();
            json.get("id").and_then(Value::as_str).is_some_and(is_named)
        }
        _ => false,
    });
    let by_place = || {
        let (_, after) = words.split_once("input[")?;
        items.get(after.split_once(']')?.0.parse::<usize>().ok()?)
    };
    by_id.or_else(by_place)
}

fn is_of_id(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}
