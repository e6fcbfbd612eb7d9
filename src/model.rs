//! Models: what the loop asks of one, and what it may answer. Each wire, the offline model and a replayed one
//! implement [`ModelClient`]; nothing outside this folder knows HTTP.

pub mod arguments;
mod call_ids;
mod call_names;
pub mod catalog;
pub mod chat;
mod client;
mod counts;
pub mod error;
mod event_json;
mod guided;
pub mod history;
pub mod http;
mod json_depth;
pub mod messages;
pub mod offline;
pub mod options;
mod patterns;
mod remark;
#[doc(hidden)]
pub mod replay;
pub mod responses;
mod said_end;
pub mod select;
mod sse;
#[cfg(test)]
mod story;
mod strict_schema;
mod surrogates;
mod template_marks;
mod text_calls;
mod think_tags;
pub mod tuning;
mod unreadable;

use std::fmt;

use futures::{StreamExt, future::BoxFuture, stream, stream::BoxStream};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::protocol::{Cost, Item, Usage, Wire};

pub use catalog::Price;
pub use error::{ErrorKind, ModelError, Retry};
pub use options::Options;
pub use tuning::{Tuning, Tunings};

/// One model on one server (or inside askls).
pub trait ModelClient: Send + Sync {
    fn info(&self) -> &ModelInfo;

    /// Sends one request. Dropping the future or the stream ends the request on the server too.
    ///
    /// The stream ends with exactly one [`ModelEvent::Done`] or one error, and nothing follows either: a
    /// connection that closes early is [`ModelError::Interrupted`], never an end.
    fn stream<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<ModelStream, ModelError>>;

    /// The same where so much is left of the turn's bounds. A client that sends several requests for one reply sends no
    /// further one once they are used up, or once the user wants none: it ends with [`Finish::Pause`], and tells what all
    /// of them used.
    fn stream_within<'a>(
        &'a self,
        request: Request<'a>,
        _room: Room,
    ) -> BoxFuture<'a, Result<ModelStream, ModelError>> {
        self.stream(request)
    }

    /// Whether the next request goes to the server as it is given. A client that makes others of it, each with what one
    /// question takes, sends much less.
    fn sends_as_given(&self) -> bool {
        true
    }
}

/// What is known of a model before it is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelInfo {
    /// As it is sent to the server: free text.
    pub name: String,
    /// `None` for the model inside askls.
    pub wire: Option<Wire>,
    /// Scheme, host, port and path prefix of the server, without credentials or query; for people.
    pub server: Option<String>,
    /// The whole window in tokens, where it is known.
    pub context_window: Option<u64>,
    /// What its tokens cost, where that is known.
    pub price: Option<Price>,
}

pub type ModelStream = BoxStream<'static, Result<ModelEvent, ModelError>>;

/// Everything that one model request is made of. Its bytes begin with those of the request before it, up to the
/// new items, so that the servers' prompt caches hit.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The system prompt; never part of the history.
    pub instructions: &'a str,
    pub items: &'a [Item],
    /// Empty means that the key is not sent at all.
    pub tools: &'a [ToolSpec],
    pub tool_choice: ToolChoice<'a>,
    /// A JSON schema that the whole answer has to fit, where the server can bind it; no tools go with it.
    pub answer_schema: Option<&'a serde_json::Value>,
    /// The same for all requests of a thread: the prompt cache's key.
    pub cache_key: &'a str,
}

/// What is left of a turn's bounds; `None` where there is none.
#[derive(Clone, Debug, Default)]
pub struct Room {
    pub tokens: Option<u64>,
    /// Holds only where the model's price is known.
    pub cost: Option<Cost>,
    /// When the turn's time is up: a reply that is whole by then is not waited for any longer.
    pub until: Option<Instant>,
    /// Fired once the user wants no request after the one that runs.
    pub last_step: CancellationToken,
}

impl Room {
    /// Whether no further request is wanted, whatever is left.
    pub fn is_closed(&self) -> bool {
        self.last_step.is_cancelled()
    }

    /// Whether so much more leaves none for another request, or none is wanted.
    pub fn is_used_up(&self, used: Usage, price: Option<Price>) -> bool {
        let cost = price.map(|price| price.cost(used));
        self.is_closed()
            || self.tokens.is_some_and(|left| used.total() >= left)
            || self.cost.zip(cost).is_some_and(|(left, cost)| cost >= left)
    }

    /// What is left after so much more.
    #[must_use]
    pub fn after(&self, used: Usage, price: Option<Price>) -> Self {
        let cost = price.map(|price| price.cost(used)).unwrap_or_default();
        Self {
            tokens: self.tokens.map(|left| left.saturating_sub(used.total())),
            cost: self.cost.map(|left| left.since(cost)),
            ..self.clone()
        }
    }
}

/// The reply of a client that may send no further form of a request that was refused: nothing was used for that.
fn paused() -> ModelStream {
    let usage = Some(Usage::default());
    stream::iter([Ok(ModelEvent::Done { finish: Finish::Pause, usage })]).boxed()
}

/// A tool as the model sees it: from one definition each wire makes its own shape.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// A JSON schema whose root is an object.
    pub parameters: serde_json::Value,
}

/// Whether the model may, must or must not call a tool. Without tools it is not sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice<'a> {
    #[default]
    Auto,
    /// The tools are shown (the prompt cache's prefix stays) but must not be called.
    None,
    /// Some tool must be called.
    Required,
    /// The tool of this name must be called.
    Named(&'a str),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelEvent {
    TextDelta(String),
    ReasoningDelta(String),
    /// One whole item, in the model's order. Its text came as deltas before and is not to be shown again.
    Item(Item),
    /// What the server had counted of a reply that breaks off: comes right before its error.
    Used(Usage),
    /// Bytes that had come of a reply that breaks off and that nobody was shown, such as those of calls: comes right
    /// before its error.
    Unheard(usize),
    /// The client has estimated a part of what it tells as used, since the server did not count it: comes before that.
    Estimated,
    /// The reply is over.
    Done {
        finish: Finish,
        /// `None` where nothing was counted. A count of nothing says that nothing was used: no request was sent, or it was
        /// refused.
        usage: Option<Usage>,
    },
}

/// Why the server ended its reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finish {
    /// By itself, with or without calls: the items decide what comes next, not this word.
    Stop,
    /// In a word that askls does not know: the items decide as well, and whoever reads the answer is told the word.
    Unknown(String),
    /// By itself, with a text at its end that looks like a call and is not whole or not valid, so that it stayed text.
    BrokenCall,
    /// The server paused a long reply: it goes on when the thread is sent back as it is (Messages `pause_turn`).
    Pause,
    /// The reply was cut at the token limit; calls in it must not run.
    Length,
    /// The same for another reason, in the server's word for it.
    Cut(String),
    /// A filter cut or withheld the reply; calls in it must not run.
    ContentFilter,
    /// The model declined.
    Refusal,
    /// The reply was cut because the thread no longer fits the window.
    ContextTooLong,
}

impl Finish {
    /// Whether the model ended by itself, as far as the server's word tells.
    pub fn is_own(&self) -> bool {
        matches!(self, Self::Stop | Self::Unknown(_))
    }
}

impl fmt::Display for ModelInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.wire, &self.server) {
            (Some(wire), Some(server)) => write!(f, "{} ({wire} at {server})", self.name),
            _ => f.write_str(&self.name),
        }
    }
}
