//! Events of the Messages wire as a reply. Blocks are put together as they come, and count when the reply is over.

mod ending;

use std::sync::Arc;

use serde_json::{Map, Value, value::RawValue};

use super::{
    block::Block,
    event::{Counts, Delta, Event, Message, Stop},
};
use crate::{
    model::{
        ModelError, ModelEvent,
        call_ids::CallIds,
        client::WholeDecoder,
        event_json,
        http::{Endpoint, ServerError},
        remark::looks_like_error,
        said_end::{Brought, Said},
        sse::{self, Decoder, Ending, Fault, Progress},
        unreadable::{Place, Unreadable, may_be_piece},
    },
    protocol::{Item, Usage, Wire},
};

/// The beginning of the kinds of events that are of a block.
const BLOCK: &str = "content_block";

/// Kinds of events that are of none.
const OF_NO_BLOCK: [&str; 5] = ["message_start", "message_delta", "message_stop", "ping", "error"];

/// What a part of an event has that was of a block, whatever its members are sorted by.
const PARTS_OF_BLOCKS: [&str; 7] =
    [BLOCK, "\"text", "\"thinking", "\"input_json", "\"partial_json", "\"signature", "\"citation"];

/// Blocks of one reply; the largest seen has some dozens.
const MAX_BLOCKS: usize = 1024;

pub(super) struct MessagesDecoder {
    endpoint: Arc<Endpoint>,
    call_ids: CallIds,
    /// In the order in which they began.
    blocks: Vec<Block>,
    /// Text was shown.
    spoke: bool,
    /// A block that is no text came since text was shown.
    interrupted: bool,
    said: Said,
    /// The gravest of the ends, with the words that came with it.
    stop: Stop,
    /// Bytes that nobody was shown and that stand in no block.
    unheard: usize,
    counts: Option<Counts>,
    events: Events,
    unreadable: Unreadable,
}

/// What the events were, as far as it tells a reply from something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Events {
    None,
    /// None of them was of this wire.
    Strange,
    OfAReply,
}

impl MessagesDecoder {
    /// `history` is what was sent: no new call takes the id of an old one.
    pub(super) fn new(endpoint: Arc<Endpoint>, history: &[Item]) -> Self {
        Self {
            endpoint,
            call_ids: CallIds::of(history),
            blocks: Vec::new(),
            spoke: false,
            interrupted: false,
            said: Said::default(),
            stop: Stop::default(),
            unheard: 0,
            counts: None,
            events: Events::None,
            unreadable: Unreadable::default(),
        }
    }

    /// Takes the announcement of a block. Some gateways send it twice; a call that was begun by the second would have no
    /// arguments, and run.
    fn announce(&mut self, block: Block, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        match self.blocks.iter_mut().rev().find(|known| known.index == block.index) {
            Some(known) if known.is_announced_by(&block) => {
                known.announce_again(block);
                Ok(())
            }
            _ => self.begin(block, out),
        }
    }

    fn begin(&mut self, block: Block, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if self.blocks.len() >= MAX_BLOCKS {
            return Err(sse::malformed(&self.endpoint, "more blocks than any reply has"));
        }
        let kind = block.kind().to_owned();
        let text = block.text(&kind);
        self.blocks.push(block);
        self.interrupted |= kind != "text" && self.spoke;
        self.show(&kind, &text, out);
        Ok(())
    }

    /// Shows text of a block. What stands between two texts sets them apart.
    fn show(&mut self, kind: &str, text: &str, out: &mut Vec<ModelEvent>) {
        if text.is_empty() {
            return;
        }
        match kind {
            "text" => {
                let apart = std::mem::take(&mut self.interrupted);
                self.spoke = true;
                out.push(ModelEvent::TextDelta(if apart { format!("\n\n{text}") } else { text.to_owned() }));
            }
            "thinking" => out.push(ModelEvent::ReasoningDelta(text.to_owned())),
            _ => {}
        }
    }

    /// The block that a delta of this member goes on with; a new one when none was announced.
    fn block(
        &mut self,
        index: Option<u64>,
        member: &str,
        out: &mut Vec<ModelEvent>,
    ) -> Result<Option<&mut Block>, ModelError> {
        let known = self
            .blocks
            .iter()
            .rposition(|block| index.is_none_or(|index| block.index == Some(index)) && block.takes(member));
        let position = match known {
            Some(position) => position,
            None => {
                let kind = match member {
                    "text" | "citation" => "text",
                    "thinking" | "signature" => "thinking",
                    "partial_json" => "tool_use",
                    // Of no block that is known, and nothing to make one of.
                    _ => return Ok(None),
                };
                self.begin(Block::of_kind(index, kind), out)?;
                self.blocks.len() - 1
            }
        };
        Ok(self.blocks.get_mut(position))
    }

    fn delta(
        &mut self,
        index: Option<u64>,
        json: &RawValue,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        // A known member of another form than it should have is one that is not there.
        let delta: Delta<'_> = serde_json::from_str(json.get()).unwrap_or_default();
        let texts =
            [("text", &delta.text), ("thinking", &delta.thinking), ("partial_json", &delta.partial_json)];
        let mut is_known = false;
        for (member, text) in texts {
            let Some(text) = text else { continue };
            is_known = true;
            let Some(block) = self.block(index, member, out)? else { continue };
            block.add(member, text);
            if block.kind() == member {
                self.show(member, text, out);
            }
        }
        if let Some(signature) = delta.signature {
            is_known = true;
            if let Some(block) = self.block(index, "signature", out)? {
                block.set("signature", signature);
            }
        }
        if let Some(citation) = delta.citation {
            is_known = true;
            if let Some(block) = self.block(index, "citation", out)? {
                block.add_citation(citation);
            }
        }
        if is_known {
            return Ok(());
        }
        // All deltas of this wire name the member that they add to; those of blocks to come will too.
        let members: Map<String, Value> = serde_json::from_str(json.get()).unwrap_or_default();
        for (name, value) in members.iter().filter(|(name, _)| *name != "type") {
            let Some(text) = value.as_str() else { continue };
            match self.block(index, name, out)? {
                Some(block) => block.add(name, text),
                None => self.unheard += text.len(),
            }
        }
        Ok(())
    }

    fn count(&mut self, usage: Option<&RawValue>) {
        if let Some(later) = usage.and_then(|usage| serde_json::from_str(usage.get()).ok()) {
            self.counts.get_or_insert_default().update(later);
        }
    }
}

impl WholeDecoder for MessagesDecoder {
    fn whole(&mut self, body: &str, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let body = &*event_json::mended(body);
        let message: Option<Message<'_>> = serde_json::from_str(body).ok();
        let content = message.as_ref().and_then(|message| message.content);
        let blocks: Option<Vec<&RawValue>> = content.and_then(|list| serde_json::from_str(list.get()).ok());
        let (Some(message), Some(blocks)) = (message, blocks) else {
            let json: Value = serde_json::from_str(body).unwrap_or_default();
            return Err(match ServerError::find(&json) {
                Some(error) => error.in_stream(&self.endpoint),
                None => sse::malformed(&self.endpoint, body),
            });
        };
        for block in blocks {
            if let Some(mut block) = Block::announced(None, block) {
                block.is_whole = true;
                self.begin(block, out)?;
            }
        }
        self.count(message.usage);
        self.hear(Stop { stop_reason: message.stop_reason, stop_details: message.stop_details });
        if self.said.is_not_over() {
            return Err(sse::interrupted(&self.endpoint, Ending::Closed));
        }
        self.finish(out)
    }
}

impl Decoder for MessagesDecoder {
    fn event(&mut self, data: &str, out: &mut Vec<ModelEvent>) -> Result<Progress, ModelError> {
        let data = &*event_json::mended(data);
        let Ok(event) = serde_json::from_str::<Event<'_>>(data) else {
            let place = match self.events {
                _ if self.said.is_believed() && !(may_be_piece(data) && may_be_of_block(data)) => {
                    Place::BehindEnd
                }
                Events::OfAReply => Place::Reply,
                Events::None | Events::Strange => Place::Start,
            };
            let brought = self.unreadable.note(&self.endpoint, data, place)?;
            return Ok(self.progress(brought));
        };
        let kind = event.r#type.as_deref().unwrap_or_default();
        if kind == "error"
            || kind.ends_with("_error")
            || event.error.is_some_and(|error| ServerError::is_said(error.get()))
        {
            let json: Value = serde_json::from_str(data).unwrap_or_default();
            return Err(ServerError::find(&json).unwrap_or_default().in_stream(&self.endpoint));
        }
        match kind {
            "message_start" => {
                let message = event.message.and_then(|message| serde_json::from_str(message.get()).ok());
                self.count(message.and_then(|message: Message<'_>| message.usage));
            }
            "content_block_start" => {
                let block = event.content_block.and_then(|block| Block::announced(event.index, block));
                if let Some(block) = block {
                    self.announce(block, out)?;
                }
                self.events = Events::OfAReply;
                return Ok(self.progress(Brought::Piece));
            }
            "content_block_delta" => {
                if let Some(delta) = event.delta {
                    self.delta(event.index, delta, out)?;
                }
                self.events = Events::OfAReply;
                return Ok(self.progress(Brought::Piece));
            }
            "content_block_stop" => {
                let of_this = |block: &&mut Block| event.index.is_none() || block.index == event.index;
                if let Some(block) = self.blocks.iter_mut().rev().find(of_this) {
                    block.is_whole = true;
                }
            }
            "message_delta" => {
                self.count(event.usage);
                let stop = event.delta.and_then(|delta| serde_json::from_str::<Stop>(delta.get()).ok());
                if let Some(stop) = stop {
                    self.hear(stop);
                }
            }
            "message_stop" => {
                // The marker of this wire.
                if !self.said.has_ended(&Ending::Marker) {
                    return Err(sse::interrupted(&self.endpoint, Ending::Marker));
                }
                self.finish(out)?;
                return Ok(Progress::Over);
            }
            // Signs of life, and whatever else is to come.
            _ => {
                let json = || serde_json::from_str::<Value>(data).unwrap_or_default();
                // An error may lie flat in the event.
                if let Some(error) = kind.is_empty().then(json).and_then(|json| ServerError::find(&json)) {
                    return Err(error.in_stream(&self.endpoint));
                }
                if self.events == Events::None && kind != "ping" {
                    sse::refuse_other_wire(&self.endpoint, Wire::Messages, data)?;
                    self.events = Events::Strange;
                }
                let brought = match kind {
                    "ping" => Brought::Nothing,
                    _ if looks_like_error(&json()) => Brought::Strange,
                    _ => Brought::Remark,
                };
                return Ok(self.progress(brought));
            }
        }
        self.events = Events::OfAReply;
        Ok(self.progress(Brought::Nothing))
    }

    fn end(&mut self, ending: Ending, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        // The marker is none of this wire.
        let has_ended = match &ending {
            // The word for the end may stand behind every block: what breaks off in front of the last event is only whole
            // where that event had begun.
            Ending::Fault(fault) if *fault != Fault::Silent => false,
            Ending::Cut { fault: Some(fault), .. } if *fault != Fault::Silent => false,
            Ending::Cut { open, .. } if may_be_of_block(open) => false,
            _ => self.said.end().is_some() && self.said.has_ended(&ending),
        };
        if has_ended {
            return self.finish(out);
        }
        match (self.events, &ending) {
            (_, Ending::Fault(_)) | (Events::OfAReply, _) => {}
            (Events::None, _) => self.unreadable.refuse_all(&self.endpoint)?,
            (Events::Strange, _) => {
                return Err(sse::malformed(
                    &self.endpoint,
                    "a stream without a message of the wire messages",
                ));
            }
        }
        Err(sse::interrupted(&self.endpoint, ending))
    }

    fn usage(&self) -> Option<Usage> {
        self.counts.as_ref().map(Counts::usage)
    }

    fn unheard(&self) -> usize {
        self.unheard + self.blocks.iter().map(Block::unheard).sum::<usize>()
    }
}

impl MessagesDecoder {
    /// Takes why the server ends.
    fn hear(&mut self, stop: Stop) {
        if let Some(reason) = stop.stop_reason.as_deref() {
            self.said.say(reason);
        }
        self.stop.update(stop);
    }

    fn progress(&mut self, brought: Brought) -> Progress {
        match self.said.after_event(brought) {
            // On this wire the end itself has an event behind this word, and where that does not follow, the word may stand
            // behind every block.
            Progress::Ending => Progress::InDoubt,
            progress => progress,
        }
    }
}

/// Whether an event of which only a part came may be of a block. On this wire the word for the end may stand behind every
/// block, so that even there nothing may be lost of one.
fn may_be_of_block(part: &str) -> bool {
    let part = part.trim_start();
    let kind = part.split_once("\"type\"").and_then(|(before, rest)| Some((before, rest.split('"').nth(1)?)));
    let Some((before, kind)) = kind.filter(|_| part.starts_with('{')) else {
        // Nobody knows.
        return true;
    };
    if kind.starts_with(BLOCK) || BLOCK.starts_with(kind) {
        return true;
    }
    let is_its_own = before.trim_end() == "{";
    if is_its_own && OF_NO_BLOCK.iter().any(|known| known.starts_with(kind)) {
        return false;
    }
    // The first kind may be that of a member.
    PARTS_OF_BLOCKS.iter().any(|known| part.contains(known))
        || kind.ends_with("_delta") && kind != "message_delta"
}

#[cfg(test)]
mod tests;
