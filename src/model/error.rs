//! Why a request gave no reply, or none to the end.

use std::time::Duration;

use crate::protocol::{Fault, Limit, StopReason};

/// What went wrong, for people and for the loop. Never holds a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// What a caller can do about it.
    pub kind: ErrorKind,
    /// For people: what the server said, where, and what to try.
    pub message: String,
    /// Whether the same request may succeed when it is sent again.
    pub retry: Retry,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The key is missing, wrong, or not allowed to use this model (401, 403).
    Auth,
    /// The thread does not fit the model's window.
    ContextTooLong,
    /// Too many requests (429).
    RateLimited,
    /// The server has no room for now (503, 529).
    Overloaded,
    /// A fault of the server (408, 409, other 5xx, a response that failed).
    Failed,
    /// Quota or credit is used up: waiting does not help.
    Quota,
    /// This machine has no connection to anywhere: no name can be looked up, or no way leads out.
    Offline,
    /// The server could not be reached, or did not begin to answer in time.
    Network,
    /// No secure connection could be agreed upon.
    Tls,
    /// The stream ended without its end.
    Interrupted,
    /// No byte for the idle time-out, or no end within the time for a whole reply.
    Stalled,
    /// The answer is not of the wire's form.
    Malformed,
    /// The server says that the history that was sent is broken (400).
    History,
    /// The server does not take what was sent, and does not say that it is the history (400, 422).
    Unfit,
    /// The server refuses this request, now and later (404, 418, a web page ...).
    Rejected,
    /// Settings that cannot work: a bad base URL, a key command that fails.
    Settings,
}

/// Whether, and when, the same request may be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// It would fail again.
    Never,
    /// After a wait that grows from attempt to attempt.
    Later,
    /// After the wait that the server asked for.
    After(Duration),
}

impl ModelError {
    /// An error that is tried again as its kind says.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let retry = if kind.is_transient() { Retry::Later } else { Retry::Never };
        Self { kind, message: message.into(), retry }
    }
}

impl ErrorKind {
    /// Whether it ends a reply that had begun, so that something was read and perhaps written.
    pub fn is_of_a_begun_reply(self) -> bool {
        matches!(self, Self::Interrupted | Self::Stalled | Self::Malformed)
    }

    /// Whether the same request may succeed later, as far as the kind tells.
    pub fn is_transient(self) -> bool {
        match self {
            Self::RateLimited
            | Self::Overloaded
            | Self::Failed
            | Self::Offline
            | Self::Network
            | Self::Interrupted
            | Self::Stalled
            | Self::Malformed => true,
            Self::Auth
            | Self::ContextTooLong
            | Self::Quota
            | Self::Tls
            | Self::History
            | Self::Unfit
            | Self::Rejected
            | Self::Settings => false,
        }
    }

    /// How a turn ends that such an error ends.
    pub fn stop_reason(self) -> StopReason {
        match self {
            Self::Interrupted => StopReason::Interrupted,
            Self::Stalled => StopReason::Stalled,
            Self::Malformed => StopReason::Malformed,
            Self::ContextTooLong => StopReason::Limit(Limit::Context),
            Self::Auth => StopReason::ProviderError(Fault::Auth),
            Self::RateLimited => StopReason::ProviderError(Fault::RateLimited),
            Self::Overloaded => StopReason::ProviderError(Fault::Overloaded),
            Self::Failed => StopReason::ProviderError(Fault::Failed),
            Self::Quota => StopReason::ProviderError(Fault::Quota),
            Self::Offline | Self::Network => StopReason::ProviderError(Fault::Network),
            Self::Tls => StopReason::ProviderError(Fault::Tls),
            Self::History | Self::Unfit | Self::Rejected => StopReason::ProviderError(Fault::Rejected),
            Self::Settings => StopReason::ProviderError(Fault::Settings),
        }
    }
}
