//! One block of a message: put together from what announced it and what was added, with every member that askls does
//! not know, so that it can go back as it came.

use std::{collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Map, Value, value::RawValue};

/// Where the pieces of a call's arguments are kept; on the wire they are the value of `input`.
const INPUT: &str = "input";

/// The arguments of a call that has none, or none yet.
const NO_ARGUMENTS: &str = "{}";

/// The members of a JSON object in their order, each as it was written.
#[derive(Clone, Debug, Default)]
pub(super) struct Members(Vec<(String, Box<RawValue>)>);

/// A block on its way.
pub(super) struct Block {
    pub(super) index: Option<u64>,
    kind: String,
    members: Members,
    /// The announcement, as long as nothing was added to it.
    untouched: Option<Box<RawValue>>,
    /// Text that was added to a member, by its name.
    pieces: BTreeMap<String, String>,
    citations: Vec<Box<RawValue>>,
    /// The server said that no more comes.
    pub(super) is_whole: bool,
}

impl Members {
    pub(super) fn get(&self, name: &str) -> Option<&RawValue> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }

    /// The text of a member; empty when it is none.
    fn text(&self, name: &str) -> String {
        self.get(name).and_then(|value| serde_json::from_str(value.get()).ok()).unwrap_or_default()
    }

    fn set(&mut self, name: &str, value: Box<RawValue>) {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    /// All others than these, and than those that say nothing.
    pub(super) fn without(mut self, names: &[&str]) -> Self {
        self.0.retain(|(name, value)| !names.contains(&name.as_str()) && value.get() != "null");
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), &**value))
    }
}

impl Block {
    /// `None` when this is no block.
    pub(super) fn announced(index: Option<u64>, json: &RawValue) -> Option<Self> {
        let members: Members = serde_json::from_str(json.get()).ok()?;
        let kind = members.text("type");
        let untouched = Some(json.to_owned());
        (!kind.is_empty()).then(|| Self { untouched, members, ..Self::of_kind(index, &kind) })
    }

    /// A block that was never announced.
    pub(super) fn of_kind(index: Option<u64>, kind: &str) -> Self {
        let members = Members(vec![("type".to_owned(), raw(&kind))]);
        Self {
            index,
            kind: kind.to_owned(),
            members,
            untouched: None,
            pieces: BTreeMap::new(),
            citations: Vec::new(),
            is_whole: false,
        }
    }

    pub(super) fn kind(&self) -> &str {
        &self.kind
    }

    /// Whether a delta of this member can be about this block.
    pub(super) fn takes(&self, member: &str) -> bool {
        match self.kind.as_str() {
            "text" => matches!(member, "text" | "citation"),
            "thinking" => matches!(member, "thinking" | "signature"),
            "tool_use" => member == "partial_json",
            // What is meant to be read is not hidden in a block that nobody knows.
            _ => !matches!(member, "text" | "thinking"),
        }
    }

    /// Whether an announcement under the same number is the one of this block once more: by its id, or by the same words
    /// while nothing has come of it.
    pub(super) fn is_announced_by(&self, other: &Self) -> bool {
        let id = self.text("id");
        let words = |block: &Self| block.untouched.as_ref().map(|json| json.get().to_owned());
        self.kind == other.kind
            && match id.is_empty() {
                false => id == other.text("id"),
                true => !self.is_whole && self.untouched.is_some() && words(self) == words(other),
            }
    }

    /// Takes what a second announcement brings that the first one left out.
    pub(super) fn announce_again(&mut self, other: Self) {
        if self.untouched.is_some() && other.arguments() != NO_ARGUMENTS {
            self.members = other.members;
            self.untouched = other.untouched;
        }
    }

    pub(super) fn add(&mut self, member: &str, piece: &str) {
        self.untouched = None;
        let member = if member == "partial_json" { INPUT } else { member };
        match self.pieces.get_mut(member) {
            Some(text) => text.push_str(piece),
            None => drop(self.pieces.insert(member.to_owned(), piece.to_owned())),
        }
    }

    pub(super) fn add_citation(&mut self, citation: &RawValue) {
        self.untouched = None;
        self.citations.push(citation.to_owned());
    }

    pub(super) fn set(&mut self, member: &str, value: &RawValue) {
        self.untouched = None;
        self.members.set(member, value.to_owned());
    }

    /// The text of a member, with what was added to it.
    pub(super) fn text(&self, member: &str) -> String {
        let added = self.pieces.get(member).map(String::as_str).unwrap_or_default();
        self.members.text(member) + added
    }

    /// Whether a member is there and is a text, be it an empty one.
    pub(super) fn has_text(&self, member: &str) -> bool {
        self.members.get(member).is_some_and(|value| value.get().starts_with('"'))
    }

    /// Whether this is a text and nothing more.
    pub(super) fn is_plain_text(&self) -> bool {
        self.citations.is_empty() && self.members.clone().without(&["type", "text"]).is_empty()
    }

    /// The arguments of a call as the model wrote them. Some servers give them whole with the announcement.
    pub(super) fn arguments(&self) -> String {
        match self.pieces.get(INPUT).filter(|pieces| !pieces.trim().is_empty()) {
            Some(pieces) => pieces.clone(),
            None => {
                let whole = self.members.get(INPUT).map(RawValue::get).filter(|input| *input != "null");
                whole.unwrap_or(NO_ARGUMENTS).to_owned()
            }
        }
    }

    /// Bytes that came of the block and that nobody was shown.
    pub(super) fn unheard(&self) -> usize {
        let announced = |name: &str| self.members.get(name).map_or(0, |value| value.get().len());
        match self.kind.as_str() {
            "text" => 0,
            // What seals a thought holds it once more.
            "thinking" => announced("signature").saturating_sub(self.text("thinking").len()),
            "tool_use" => self.arguments().len(),
            _ => {
                let added: usize = self.pieces.values().map(String::len).sum();
                let names = self.members.iter().map(|(name, _)| name);
                added + names.filter(|name| *name != "type").map(announced).sum::<usize>()
            }
        }
    }

    /// The block as this wire takes it back: byte for byte where it came in one piece.
    pub(super) fn into_json(self) -> String {
        match self.untouched {
            Some(json) => json.get().to_owned(),
            None => self.into_members().to_string(),
        }
    }

    /// The members of the block, with what was added to them.
    pub(super) fn into_members(self) -> Members {
        let Self { mut members, pieces, citations, .. } = self;
        for (name, added) in pieces {
            if name == INPUT {
                // Broken arguments stay out of what goes back: the call's own copy of them is what counts.
                if let Ok(input) = serde_json::from_str::<Box<RawValue>>(&added) {
                    members.set(&name, input);
                }
                continue;
            }
            let text = members.text(&name) + &added;
            members.set(&name, raw(&text));
        }
        if !citations.is_empty() {
            let known = members.get("citations").and_then(|list| serde_json::from_str(list.get()).ok());
            let mut all: Vec<Box<RawValue>> = known.unwrap_or_default();
            all.extend(citations);
            members.set("citations", raw(&all));
        }
        members
    }
}

/// Whether arguments are what this wire has for them.
pub(super) fn is_object(arguments: &str) -> bool {
    serde_json::from_str::<Map<String, Value>>(arguments).is_ok()
}

/// `null` for what cannot be written as JSON; texts and lists of JSON can.
fn raw(value: &impl Serialize) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

impl fmt::Display for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(raw(self).get())
    }
}

impl Serialize for Members {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Members::default();
                while let Some((name, value)) = map.next_entry::<String, Box<RawValue>>()? {
                    members.0.push((name, value));
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Object)
    }
}
