//! The model inside askls, for when nothing else is configured: no weights, no network. It takes part in the loop
//! like any other model: it sees a request, asks for calls of the tools that the request offers, and answers from
//! what they found. It keeps nothing between requests; each step is derived from the history alone.
//!
//! It reads the user's words for what they ask to do (list, read, find, define, replace …) and carries that out. A
//! question that is none of these is answered with the passages that bear on it. It writes no code and judges none;
//! it says so.

mod board;
mod change;
mod change_rules;
mod change_words;
mod clause;
mod files;
mod find;
mod grammar;
mod hunks;
mod list_words;
mod look_words;
mod name_words;
mod names;
mod outline;
mod outline_line;
mod outline_page;
mod outline_script;
mod outlines;
pub(super) mod outputs;
mod place;
mod plan;
mod question;
mod rank;
mod read;
mod scene;
mod scope;
mod section;
pub(super) mod terms;
mod understand;
mod whole_files;
mod wish;
pub(super) mod words;

#[cfg(test)]
mod tests;

use futures::{FutureExt, StreamExt, future::BoxFuture, stream};

use super::{Finish, ModelClient, ModelError, ModelEvent, ModelInfo, ModelStream, Request};
use crate::protocol::{AgentMessage, Item, MessageState, ToolCall};
use board::{Turn, call_id};
use plan::Next;

/// How to get a language model, in one short line, since it stands under every answer.
const NO_MODEL: &str =
    "_No language model: set `OPENAI_API_KEY`, `ANTHROPIC_API_KEY` or `base_url`, or start a local server._";

/// The same for who wants none.
const NO_MODEL_WANTED: &str = "_No language model, since `model` is `offline`._";

/// See the module.
#[derive(Clone, Debug)]
pub struct OfflineModel {
    info: ModelInfo,
    /// What stands under every answer.
    note: &'static str,
}

impl OfflineModel {
    pub fn new() -> Self {
        Self {
            info: ModelInfo {
                name: "offline".to_owned(),
                wire: None,
                server: None,
                context_window: None,
                price: None,
            },
            note: NO_MODEL,
        }
    }

    /// The same for who has chosen it.
    pub fn chosen() -> Self {
        Self { note: NO_MODEL_WANTED, ..Self::new() }
    }
}

impl Default for OfflineModel {
    fn default() -> Self {
        Self::new()
    }
}

impl ModelClient for OfflineModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<ModelStream, ModelError>> {
        async move { Ok(stream::iter(reply(&request, self.note).into_iter().map(Ok)).boxed()) }.boxed()
    }
}

/// The whole reply to one request, with `note` under an answer. The same request has the same reply.
fn reply(request: &Request<'_>, note: &str) -> Vec<ModelEvent> {
    let turn = Turn::new(request);
    let mut events = Vec::new();
    match plan::next(&turn) {
        Next::Calls(calls) => {
            for (number, call) in (turn.next_id..).zip(calls) {
                events.push(ModelEvent::Item(Item::Call(ToolCall {
                    id: call_id(number),
                    name: call.tool.to_owned(),
                    arguments: serde_json::Value::Object(call.arguments).to_string(),
                    raw: None,
                })));
            }
        }
        Next::Answer(text) => {
            let text = format!("{text}\n\n{note}");
            events.extend(pieces(&text).map(|piece| ModelEvent::TextDelta(piece.to_owned())));
            events.push(ModelEvent::Item(Item::Agent(AgentMessage {
                text,
                state: MessageState::Whole,
                raw: None,
            })));
        }
    }
    // There are no tokens here to count.
    events.push(ModelEvent::Done { finish: Finish::Stop, usage: None });
    events
}

/// A line a piece, as a reader takes it in.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n')
}
