//! The items of a reply on their way: which event belongs to which, however much of the numbers and ids a server leaves
//! out, and what is known of an item that never became done.

use serde_json::{Map, Value, value::RawValue};

use super::event::{Event, OutputItem};
use crate::model::arguments;

/// Items of one reply; the largest seen has some dozens.
const MAX_ITEMS: usize = 1024;

/// The items in the order in which they began.
#[derive(Default)]
pub(super) struct Slots(pub(super) Vec<Slot>);

/// One item of the reply on its way.
#[derive(Default)]
pub(super) struct Slot {
    pub(super) id: Option<String>,
    pub(super) output_index: Option<u64>,
    /// `type`, once the item was announced.
    pub(super) kind: String,
    /// The text that was shown.
    pub(super) shown: String,
    /// The text declines.
    pub(super) is_refusal: bool,
    /// The item as it was announced.
    added: Option<Value>,
    /// The arguments as they came in pieces, and as they came whole.
    pieces: String,
    whole: Option<String>,
    pub(super) done: Option<Box<RawValue>>,
}

impl Slots {
    /// The item of this kind that an event is about; a new one when the event announces it. `None` beyond the bound.
    pub(super) fn find(&mut self, event: &Event<'_>, item_id: Option<&str>, kind: &str) -> Option<usize> {
        let id = item_id.or(event.item_id.as_deref());
        let known = self.0.iter().position(|slot| match (id, slot.id.as_deref(), event.output_index) {
            // Servers that number their items may change the ids on the way.
            (_, _, Some(index)) if slot.output_index.is_some() => slot.output_index == Some(index),
            (Some(id), Some(known), _) => id == known,
            _ => false,
        });
        // Some servers leave out both in deltas: those belong to the item of their kind that is open, and a name that
        // comes later is that item's.
        let is_nameless = id.is_none() && event.output_index.is_none();
        let known = known.or_else(|| {
            self.0.iter().rposition(|slot| {
                let may_be = is_nameless || (slot.id.is_none() && slot.output_index.is_none());
                may_be && slot.done.is_none() && slot.kind == kind
            })
        });
        known.or_else(|| self.add(id.map(str::to_owned), event.output_index))
    }

    /// The slot of an item that the last event lists at this place: by its id, else by its place, else the only open one
    /// of its kind, since servers leave items out of that list.
    pub(super) fn find_listed(&self, item: &OutputItem, index: u64) -> Option<usize> {
        let kind = |slot: &Slot| slot.kind.is_empty() || slot.kind == item.kind();
        let open = |slot: &Slot| slot.done.is_none() && kind(slot);
        let by_id = |slot: &Slot| slot.id.is_some() && slot.id.as_deref() == item.text("id");
        let by_place = |slot: &Slot| slot.output_index == Some(index) && kind(slot);
        let only_open = || match self.0.iter().filter(|slot| open(slot)).count() {
            1 => self.0.iter().position(open),
            _ => None,
        };
        self.0.iter().position(by_id).or_else(|| self.0.iter().position(by_place)).or_else(only_open)
    }

    /// `None` beyond the bound.
    pub(super) fn add(&mut self, id: Option<String>, output_index: Option<u64>) -> Option<usize> {
        if self.0.len() >= MAX_ITEMS {
            return None;
        }
        self.0.push(Slot { id, output_index, ..Slot::default() });
        Some(self.0.len() - 1)
    }
}

impl Slot {
    /// Bytes that came of the item and that nobody was shown.
    pub(super) fn unheard(&self) -> usize {
        let done = self.done.as_deref().and_then(|json| serde_json::from_str::<Value>(json.get()).ok());
        let item = done.as_ref().or(self.added.as_ref());
        let bytes = |member: &str| match item.and_then(|item| item.get(member)) {
            Some(Value::String(text)) => text.len(),
            Some(Value::Null) | None => 0,
            Some(other) => other.to_string().len(),
        };
        match self.kind.as_str() {
            "message" => 0,
            // What seals a thought holds it once more.
            "reasoning" => bytes("encrypted_content").saturating_sub(self.shown.len()),
            "function_call" => {
                let came = self.whole.as_ref().map_or(self.pieces.len(), String::len);
                came.max(bytes("arguments"))
            }
            _ => item.map_or(0, |item| item.to_string().len()),
        }
    }

    /// Takes the item's kind.
    pub(super) fn be(&mut self, kind: &str) {
        if self.kind != kind {
            self.kind = kind.to_owned();
        }
    }

    /// Takes the announcement of the item.
    pub(super) fn announce(&mut self, item: OutputItem) {
        self.kind = item.kind().to_owned();
        self.added = Some(item.0);
    }

    /// Takes a piece of a call's arguments.
    pub(super) fn add_arguments(&mut self, piece: &str) {
        self.pieces.push_str(piece);
    }

    /// Takes a call's whole arguments, which some servers send with the name of the tool.
    pub(super) fn set_arguments(&mut self, whole: &str, name: Option<&str>) {
        self.whole = Some(whole.to_owned());
        let added = self.added.get_or_insert_with(|| Value::Object(Map::new()));
        if let (Value::Object(added), Some(name)) = (added, name) {
            added.entry("name").or_insert_with(|| name.into());
        }
    }

    /// Whether the server says of a message or a call that it is not whole.
    pub(super) fn is_cut(&self) -> bool {
        let item = self.done.as_deref().and_then(OutputItem::parse);
        item.is_some_and(|item| {
            matches!(item.kind(), "message" | "function_call") && item.text("status") == Some("incomplete")
        })
    }

    /// The call that was announced and never done, as far as it is surely whole: its arguments came whole, or their pieces
    /// (none of which is lost) are an object.
    pub(super) fn announced_call(&self, is_a_piece_lost: bool) -> Option<Box<RawValue>> {
        let Some(Value::Object(added)) = &self.added else { return None };
        let is_whole = |text: &&str| !text.is_empty() && arguments::read(text).is_ok();
        let pieces = Some(self.pieces.as_str()).filter(|_| !is_a_piece_lost);
        let announced = added.get("arguments").and_then(Value::as_str);
        let arguments = self
            .whole
            .as_deref()
            .or_else(|| pieces.filter(is_whole))
            .or_else(|| announced.filter(is_whole).filter(|_| self.pieces.is_empty()))?;
        let mut item = added.clone();
        item.get("name")?;
        item.insert("type".to_owned(), "function_call".into());
        item.insert("arguments".to_owned(), arguments.into());
        item.insert("status".to_owned(), "completed".into());
        serde_json::value::to_raw_value(&item).ok()
    }
}
