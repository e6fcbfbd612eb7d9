//! The end of a reply: from its blocks, and what was said of its end, to the items that enter the history.

use super::MessagesDecoder;
use crate::{
    model::{
        Finish, ModelError, ModelEvent,
        messages::block::{Block, is_object},
        sse::{self, Decoder as _},
    },
    protocol::{AgentMessage, Item, MessageState, Raw, Reasoning, ToolCall, Wire},
};

impl MessagesDecoder {
    /// # Errors
    /// That a call is none, or that a piece of the reply is lost.
    pub(super) fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let finish = self.said.finish(&self.endpoint)?;
        if self.blocks.is_empty() {
            self.unreadable.refuse_all(&self.endpoint)?;
        }
        if self.said.has_gone_on() {
            self.unreadable.end_was_none();
        }
        // A call, or a sentence, may be whole by chance without the lost piece, and mean something else.
        self.unreadable.refuse_lost(&self.endpoint)?;
        let is_cut = !matches!(finish, Finish::Stop | Finish::Unknown(_) | Finish::Pause);
        let mut items = Vec::new();
        let mut texts = Vec::new();
        // Should one of them be none.
        self.unheard = self.unheard();
        for block in std::mem::take(&mut self.blocks) {
            if block.kind() == "text" {
                texts.push(block);
                continue;
            }
            items.extend(message(std::mem::take(&mut texts)));
            items.extend(self.item(block, is_cut)?);
        }
        items.extend(message(texts));
        match &finish {
            Finish::Stop | Finish::Unknown(_) | Finish::Pause => {}
            Finish::Refusal => self.refuse(&mut items, out),
            _ => mark_last(&mut items, MessageState::Partial),
        }
        out.extend(items.into_iter().map(ModelEvent::Item));
        out.push(ModelEvent::Done { finish, usage: self.usage() });
        Ok(())
    }

    /// `None` for what must not stay in a history: a call that was cut or came twice, a block that never ended.
    fn item(&mut self, block: Block, is_cut: bool) -> Result<Option<Item>, ModelError> {
        let is_whole = block.is_whole || !is_cut;
        let raw = |json: String| Raw { wire: Wire::Messages, json: json.into() };
        Ok(match block.kind() {
            "tool_use" => {
                let arguments = block.arguments();
                if is_cut && !(block.is_whole && is_object(&arguments)) {
                    return Ok(None);
                }
                let (given, name) = (block.text("id"), block.text("name"));
                let has_name = block.has_text("name");
                let members = block.into_members();
                // One that is blank is the name of no tool.
                if !has_name {
                    return Err(sse::malformed(&self.endpoint, &members.to_string()));
                }
                let Some(id) = self.call_ids.take(&given, &name, &arguments) else { return Ok(None) };
                let unknown = members.without(&["type", "id", "name", "input"]);
                let raw = (!unknown.is_empty()).then(|| raw(unknown.to_string()));
                Some(Item::Call(ToolCall { id, name, arguments, raw }))
            }
            "thinking" | "redacted_thinking" => {
                let text = block.text("thinking");
                let raw = is_whole.then(|| raw(block.into_json()));
                (raw.is_some() || !text.is_empty()).then_some(Item::Reasoning(Reasoning { text, raw }))
            }
            _ => is_whole.then(|| Item::Opaque(raw(block.into_json()))),
        })
    }

    /// Says why the model declined, where the server does; else its last words are what it declined with.
    fn refuse(&mut self, items: &mut Vec<Item>, out: &mut Vec<ModelEvent>) {
        let Some(explanation) = self.stop.explanation().map(str::to_owned) else {
            return mark_last(items, MessageState::Refusal);
        };
        mark_last(items, MessageState::Partial);
        self.interrupted = self.spoke;
        self.show("text", &explanation, out);
        let message = AgentMessage { text: explanation, state: MessageState::Refusal, raw: None };
        items.push(Item::Agent(message));
    }
}

/// Texts with nothing between them are one message: a text with citations comes in a block for each of its parts.
fn message(blocks: Vec<Block>) -> Option<Item> {
    let text: String = blocks.iter().map(|block| block.text("text")).collect();
    let is_spoken = |block: &Block| !block.text("text").trim().is_empty();
    let spoken: Vec<_> = blocks.into_iter().filter(is_spoken).collect();
    // Servers refuse blocks without a word, so that those are no loss; plain text can be made anew.
    let raw = spoken.iter().any(|block| !block.is_plain_text()).then(|| {
        let blocks: Vec<_> = spoken.into_iter().map(Block::into_json).collect();
        Raw { wire: Wire::Messages, json: format!(r#"{{"content":[{}]}}"#, blocks.join(",")).into() }
    });
    let message = AgentMessage { text, state: MessageState::Whole, raw };
    (!message.text.is_empty()).then_some(Item::Agent(message))
}

/// The last words of a reply that was cut are not all of them.
fn mark_last(items: &mut [Item], state: MessageState) {
    let last = items.iter_mut().rev().find_map(|item| match item {
        Item::Agent(message) => Some(message),
        _ => None,
    });
    if let Some(message) = last {
        message.state = state;
        message.raw = None;
    }
}
