//! Models: what the loop asks of one, and what it may answer. Each wire, the offline model and a replayed one
//! implement [`ModelClient`]; nothing outside this folder knows HTTP.

mod call_ids;
pub mod catalog;
pub mod chat;
pub mod http;
pub mod offline;
pub mod responses;
pub mod select;
mod sse;
#[cfg(test)]
mod story;

use std::{fmt, time::Duration};

use futures::{future::BoxFuture, stream::BoxStream};

use crate::protocol::{Item, Usage, Wire};

/// One model on one server (or inside askls).
pub trait ModelClient: Send + Sync {
    fn info(&self) -> &ModelInfo;

    /// Sends one request. Dropping the future or the stream ends the request on the server too.
    ///
    /// The stream ends with exactly one [`ModelEvent::Done`] or one error, and nothing follows either: a
    /// connection that closes early is [`ModelError::Interrupted`], never an end.
    fn stream<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<ModelStream, ModelError>>;
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
    pub tool_choice: ToolChoice,
    /// The same for all requests of a thread: the prompt cache's key.
    pub cache_key: &'a str,
}

/// A tool as the model sees it: from one definition each wire makes its own shape.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// A JSON schema whose root is an object.
    pub parameters: serde_json::Value,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    #[default]
    Auto,
    /// The tools are shown (the prompt cache's prefix stays) but must not be called.
    None,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelEvent {
    TextDelta(String),
    ReasoningDelta(String),
    /// One whole item, in the model's order. Its text came as deltas before and is not to be shown again.
    Item(Item),
    /// The reply is over.
    Done {
        finish: Finish,
        usage: Option<Usage>,
    },
}

/// Why the server ended its reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finish {
    /// By itself, with or without calls: the items decide what comes next, not this word.
    Stop,
    /// The reply was cut at the token limit; calls in it must not run.
    Length,
    /// A filter cut or withheld the reply; calls in it must not run.
    ContentFilter,
    /// The model declined.
    Refusal,
    /// The reply was cut because the thread no longer fits the window.
    ContextTooLong,
}

/// Why a request gave no reply, or none to the end. The variant says what a caller can do about it; `message` is
/// for people: what the server said, where, and what to try. No variant ever holds a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The key is missing, wrong, or not allowed to use this model (401, 403).
    #[error("{message}")]
    Auth { message: String },
    /// The thread does not fit the model's window.
    #[error("{message}")]
    ContextTooLong { message: String },
    /// Too many requests, overloaded, or a fault of the server (408, 409, 429, 5xx): the same request may succeed later.
    #[error("{message}")]
    Busy { message: String, retry_after: Option<Duration> },
    /// Quota or credit is used up: waiting does not help.
    #[error("{message}")]
    Quota { message: String },
    /// The server could not be reached, or did not begin to answer in time.
    #[error("{message}")]
    Network { message: String },
    /// The stream ended without its end.
    #[error("{message}")]
    Interrupted { message: String },
    /// No byte for the idle time-out.
    #[error("{message}")]
    Stalled { message: String },
    /// The answer is not of the wire's form.
    #[error("{message}")]
    Malformed { message: String },
    /// The server refuses this request, now and later (400, 404, 422 ...).
    #[error("{message}")]
    Rejected { message: String },
    /// Settings that cannot work: a bad base URL, a key command that fails.
    #[error("{message}")]
    Settings { message: String },
}

impl ModelError {
    /// Whether the same request may succeed when it is sent again before anything of its reply was shown.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Busy { .. }
                | Self::Network { .. }
                | Self::Interrupted { .. }
                | Self::Stalled { .. }
                | Self::Malformed { .. }
        )
    }

    /// How long the server asked to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Busy { retry_after, .. } => *retry_after,
            _ => None,
        }
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
