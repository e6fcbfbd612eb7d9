//! The history as messages of two roles that take turns.

use std::borrow::Cow;

use serde::{Deserialize, Serialize, Serializer, ser::SerializeMap};
use serde_json::value::RawValue;

use crate::{
    model::{arguments, call_ids::SentIds, call_names, messages::block::Members},
    protocol::{AgentMessage, Item, MessageState, Raw, ToolCall, ToolOutput, UserMessage, Wire},
};

/// What the user is said to have said first in a history that begins with the model: servers refuse it otherwise.
const BEGINNING: &str = "(The beginning of this thread is not kept.)";

#[derive(Serialize)]
pub(super) struct Message<'a> {
    role: Role,
    content: Vec<Block<'a>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Role {
    #[default]
    User,
    Assistant,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Block<'a> {
    /// As this wire sent it, byte for byte.
    Raw(&'a RawValue),
    /// The same for what the model thought.
    Thought(&'a RawValue),
    Text {
        r#type: &'static str,
        text: Cow<'a, str>,
    },
    Call(Call<'a>),
    Result {
        r#type: &'static str,
        tool_use_id: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        content: &'a str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

struct Call<'a> {
    id: &'a str,
    name: Cow<'a, str>,
    input: Cow<'a, RawValue>,
    /// Members that only the server knows.
    unknown: Members,
}

/// The messages so far, and the one that is being written.
#[derive(Default)]
struct Messages<'a> {
    done: Vec<Message<'a>>,
    role: Role,
    /// Of a user message; they stand in front of everything else.
    results: Vec<Block<'a>>,
    content: Vec<Block<'a>>,
}

pub(super) fn of<'a>(items: &'a [Item], ids: &'a SentIds) -> Vec<Message<'a>> {
    let mut messages = Messages::default();
    for item in items {
        match item {
            Item::User(message) => messages.add(Role::User, text(user_text(message))),
            Item::Agent(message) => {
                for block in said(message) {
                    messages.add(Role::Assistant, Some(block));
                }
            }
            Item::Reasoning(reasoning) => {
                messages.add(Role::Assistant, reasoning.raw.as_ref().and_then(own).map(Block::Thought));
            }
            Item::Opaque(raw) => messages.add(Role::Assistant, own(raw).map(Block::Raw)),
            Item::Call(call) => messages.add(Role::Assistant, Some(Block::Call(Call::of(call, ids)))),
            Item::Output(output) => messages.add_result(output, ids),
        }
    }
    messages.finish();
    messages.done
}

impl<'a> Messages<'a> {
    fn add(&mut self, role: Role, block: Option<Block<'a>>) {
        let Some(block) = block else { return };
        self.turn(role);
        self.content.push(block);
    }

    fn add_result(&mut self, output: &'a ToolOutput, ids: &'a SentIds) {
        self.turn(Role::User);
        self.results.push(Block::Result {
            r#type: "tool_result",
            tool_use_id: ids.get(&output.call_id),
            content: &output.text,
            is_error: output.is_error,
        });
    }

    fn turn(&mut self, role: Role) {
        if self.role != role {
            self.finish();
            self.role = role;
        }
    }

    /// Adds the message, if there is one: servers refuse messages without content.
    fn finish(&mut self) {
        let mut content = std::mem::take(&mut self.results);
        content.append(&mut self.content);
        // Thoughts that led to nothing are refused.
        while self.role == Role::Assistant && matches!(content.last(), Some(Block::Thought(_))) {
            content.pop();
        }
        if content.is_empty() {
            return;
        }
        if self.done.is_empty() && self.role == Role::Assistant {
            self.done
                .push(Message { role: Role::User, content: text(BEGINNING.into()).into_iter().collect() });
        }
        // What a message that was left out stood between belongs together.
        match self.done.last_mut().filter(|last| last.role == self.role) {
            Some(last) => last.content.append(&mut content),
            None => self.done.push(Message { role: self.role, content }),
        }
    }
}

fn user_text(message: &UserMessage) -> Cow<'_, str> {
    match &message.context {
        Some(context) => format!("{}\n\n{context}", message.text).into(),
        None => message.text.as_str().into(),
    }
}

/// `None` for a text without a word, which servers refuse.
fn text(text: Cow<'_, str>) -> Option<Block<'_>> {
    (!text.trim().is_empty()).then_some(Block::Text { r#type: "text", text })
}

/// A message in its own blocks, where this wire sent them.
fn said(message: &AgentMessage) -> Vec<Block<'_>> {
    #[derive(Deserialize)]
    struct Sent<'a> {
        #[serde(borrow)]
        content: Vec<&'a RawValue>,
    }
    let raw = message.raw.as_ref().filter(|_| message.state != MessageState::Partial);
    let sent = raw.and_then(own).and_then(|raw| serde_json::from_str::<Sent<'_>>(raw.get()).ok());
    match sent {
        Some(sent) => sent.content.into_iter().map(Block::Raw).collect(),
        None => text(message.text.as_str().into()).into_iter().collect(),
    }
}

/// The item as this wire sent it; what another wire sent is re-made from what is known of it, or left out.
fn own(raw: &Raw) -> Option<&RawValue> {
    if raw.wire != Wire::Messages {
        return None;
    }
    serde_json::from_str(&raw.json).ok()
}

impl<'a> Call<'a> {
    fn of(call: &'a ToolCall, ids: &'a SentIds) -> Self {
        let own = call.raw.as_ref().and_then(own);
        let unknown: Option<Members> = own.and_then(|raw| serde_json::from_str(raw.get()).ok());
        Self {
            id: ids.get(&call.id),
            name: call_names::sendable(&call.name),
            input: input(&call.arguments),
            unknown: unknown.unwrap_or_default().without(&["type", "id", "name", "input"]),
        }
    }
}

impl Serialize for Call<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut call = serializer.serialize_map(None)?;
        call.serialize_entry("type", "tool_use")?;
        call.serialize_entry("id", self.id)?;
        call.serialize_entry("name", &self.name)?;
        call.serialize_entry("input", &self.input)?;
        for (name, value) in self.unknown.iter() {
            call.serialize_entry(name, value)?;
        }
        call.end()
    }
}

/// The arguments as an object: this wire takes nothing else.
fn input(arguments: &str) -> Cow<'_, RawValue> {
    let none = || Cow::Borrowed(RawValue::NULL);
    match arguments::for_history(arguments) {
        Cow::Borrowed(json) => serde_json::from_str(json).map_or_else(|_| none(), Cow::Borrowed),
        Cow::Owned(json) => RawValue::from_string(json).map_or_else(|_| none(), Cow::Owned),
    }
}
