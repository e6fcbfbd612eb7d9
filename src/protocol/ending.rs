//! The ways in which a turn can end.

use std::fmt;

use serde::{Serialize, Serializer};

/// How a turn ended. Data, never a sentence: each face finds its own words and exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StopReason {
    /// The model answered and asked for nothing more.
    Answer,
    /// A bound was reached before the answer was whole.
    Limit(Limit),
    /// The connection ended before the answer was whole.
    Interrupted,
    /// No byte came for the idle time-out.
    Stalled,
    /// What came is not of the wire's form.
    Malformed,
    /// The model declined.
    Refused,
    /// The filter in front of the model withheld the answer or cut it off.
    Filtered,
    /// The user stopped it.
    Cancelled,
    /// The model server could not be reached or would not serve the request.
    ProviderError(Fault),
    /// The model ended its turn without a word.
    Empty,
    /// A hook of the user did not let the question or the answer pass.
    Guardrail,
}

/// Which bound was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// Model requests in one turn.
    Steps,
    /// Tokens of all requests of one turn.
    TurnTokens,
    /// Calls in one turn.
    ToolCalls,
    /// How long one turn takes.
    Time,
    /// What one turn costs.
    Cost,
    /// Tokens in one reply, as the server cut it.
    OutputTokens,
    /// The thread no longer fits the model's window.
    Context,
    /// The same call again and again.
    RepeatedCall,
    /// Calls that failed one after the other.
    ToolErrors,
    /// Calls whose arguments are no JSON, again after the model was told.
    MalformedCalls,
    /// A call of a tool that there is not, where the settings want the turn to end at one.
    UnknownTool,
}

/// Why a model server gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The key is missing, wrong, or not allowed to use this model.
    Auth,
    /// Too many requests.
    RateLimited,
    /// The server has no room for now.
    Overloaded,
    /// Quota or credit is used up.
    Quota,
    /// The server could not be reached, or did not begin to answer in time.
    Network,
    /// No secure connection could be agreed upon.
    Tls,
    /// The server refuses this request, now and later.
    Rejected,
    /// The server says that it failed.
    Failed,
    /// Settings that cannot work.
    Settings,
}

impl StopReason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Limit(_) => "limit",
            Self::Interrupted => "interrupted",
            Self::Stalled => "stalled",
            Self::Malformed => "malformed",
            Self::Refused => "refused",
            Self::Filtered => "filtered",
            Self::Cancelled => "cancelled",
            Self::ProviderError(_) => "provider_error",
            Self::Empty => "empty",
            Self::Guardrail => "guardrail",
        }
    }

    pub fn limit(self) -> Option<Limit> {
        match self {
            Self::Limit(limit) => Some(limit),
            _ => None,
        }
    }

    pub fn fault(self) -> Option<Fault> {
        match self {
            Self::ProviderError(fault) => Some(fault),
            _ => None,
        }
    }
}

impl Limit {
    /// Whether the settings say where this bound lies, so that a turn may be let go further.
    pub fn is_set(self) -> bool {
        match self {
            Self::Steps | Self::TurnTokens | Self::ToolCalls | Self::Time | Self::Cost => true,
            Self::OutputTokens
            | Self::Context
            | Self::RepeatedCall
            | Self::ToolErrors
            | Self::MalformedCalls
            | Self::UnknownTool => false,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::TurnTokens => "turn_tokens",
            Self::ToolCalls => "tool_calls",
            Self::Time => "time",
            Self::Cost => "cost",
            Self::OutputTokens => "output_tokens",
            Self::Context => "context",
            Self::RepeatedCall => "repeated_call",
            Self::ToolErrors => "tool_errors",
            Self::MalformedCalls => "malformed_calls",
            Self::UnknownTool => "unknown_tool",
        }
    }
}

impl Fault {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::Quota => "quota",
            Self::Network => "network",
            Self::Tls => "tls",
            Self::Rejected => "rejected",
            Self::Failed => "failed",
            Self::Settings => "settings",
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for StopReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Serialize for Limit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Serialize for Fault {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
