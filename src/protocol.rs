//! The words that every layer shares: items of a thread, events of a turn, and the ways it can end. Pure data.

mod ending;
mod hook;
mod json;
mod project;
mod usage;

use std::{fmt, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize, Serializer};

pub use ending::{Fault, Limit, StopReason};
pub use hook::{HookAction, HookKind};
pub use json::with_whole_numbers;
pub use project::ProjectSettings;
pub use usage::{Cost, Usage, about, tokens_in_short};

/// Names one thread for as long as the process lives; the text is opaque to everyone but its maker.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ThreadId(Arc<str>);

impl ThreadId {
    /// A new id that no other thread of any askls process carries.
    pub fn new() -> Self {
        Self(format!("thread-{:016x}", rand::random::<u64>()).into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for ThreadId {
    fn default() -> Self {
        Self::new()
    }
}

impl From<&str> for ThreadId {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The format in which a model server is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// OpenAI Responses (`POST …/responses`).
    Responses,
    /// OpenAI Chat Completions (`POST …/chat/completions`), spoken by every compatible server.
    Chat,
    /// Anthropic Messages (`POST …/v1/messages`).
    Messages,
}

impl Wire {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Responses => "responses",
            Self::Chat => "chat",
            Self::Messages => "messages",
        }
    }
}

impl fmt::Display for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An output item exactly as a server sent it. The same wire sends it back unchanged, so that fields which
/// askls does not know (`encrypted_content`, `phase`, `thought_signature`) survive the round trip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raw {
    pub wire: Wire,
    /// One JSON object.
    pub json: Arc<str>,
}

/// One entry of a thread's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    User(UserMessage),
    Agent(AgentMessage),
    Reasoning(Reasoning),
    Call(ToolCall),
    Output(ToolOutput),
    /// Something that only its own wire understands; other wires leave it out.
    Opaque(Raw),
}

/// What the user asked, and what the face added about where they were when they asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserMessage {
    /// The user's own words.
    pub text: String,
    /// The open file, the selection, the diagnostics: written for the model, never shown as the user's words.
    pub context: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentMessage {
    pub text: String,
    pub state: MessageState,
    pub raw: Option<Raw>,
}

/// Whether an agent message may be shown as an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageState {
    Whole,
    /// The stream ended before the message did; it is kept and never shown as success.
    Partial,
    /// The model declined.
    Refusal,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reasoning {
    /// What may be shown to the user; empty when the server sends it encrypted only.
    pub text: String,
    pub raw: Option<Raw>,
}

/// A call that the model asked for. The arguments stay as the model wrote them, broken or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    pub arguments: String,
    pub raw: Option<Raw>,
}

/// What a call answered, written for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutput {
    pub call_id: String,
    pub text: String,
    pub is_error: bool,
}

/// What happens in a turn, in the order in which it happens, for a face to show.
///
/// Every `ToolStarted` is followed by exactly one `ToolEnded` with the same `call_id`, and every `TurnStarted`
/// by exactly one `TurnEnded`, on every ending.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    TurnStarted {
        thread_id: ThreadId,
        model: String,
    },
    /// A model request is about to be sent.
    StepStarted {
        step: u32,
        max_steps: u32,
    },
    Text {
        text: String,
    },
    Reasoning {
        text: String,
    },
    /// The call begins to run (or is answered at once because it cannot).
    ToolStarted {
        call_id: String,
        name: String,
        /// What the call is about in a few words, for a progress line: a path, a pattern, a command.
        target: String,
        arguments: String,
    },
    /// What a call that runs has printed since the last such event; at most four a second, and only of calls that take
    /// their time. The output of the call repeats it.
    ToolOutput {
        call_id: String,
        /// Whole lines before those of `text` that are left out here.
        #[serde(skip_serializing_if = "is_zero")]
        skipped_lines: u64,
        /// Whole lines, cleaned of what steers terminals.
        text: String,
        /// The line after them as far as it has come: a prompt, a progress bar.
        #[serde(skip_serializing_if = "String::is_empty")]
        unfinished: String,
    },
    ToolEnded {
        call_id: String,
        name: String,
        output: String,
        is_error: bool,
        /// Why it was not allowed, and so did not run: what the user said, or a rule of theirs.
        #[serde(skip_serializing_if = "Option::is_none")]
        denied: Option<String>,
        /// How a command ended, in a few words: `exit code 1 (0.2 s)`.
        #[serde(skip_serializing_if = "Option::is_none")]
        ending: Option<String>,
        #[serde(rename = "duration_ms", serialize_with = "milliseconds")]
        duration: Duration,
    },
    /// The text and reasoning of this step that came so far are void: the reply broke off and is asked for again, or its
    /// server ended it with other words, which follow.
    Discarded,
    /// After each step: what the turn has used so far, and what of it this step has.
    Usage {
        step: u32,
        #[serde(flatten)]
        usage: Usage,
        /// Of the turn so far; absent when the model's price is not known.
        #[serde(rename = "cost_usd", skip_serializing_if = "Option::is_none")]
        cost: Option<Cost>,
        /// A part of it was not counted by the server, and is estimated.
        #[serde(rename = "estimated", skip_serializing_if = "is_false")]
        is_estimated: bool,
        step_usage: Usage,
        #[serde(rename = "step_cost_usd", skip_serializing_if = "Option::is_none")]
        step_cost: Option<Cost>,
        #[serde(rename = "step_estimated", skip_serializing_if = "is_false")]
        step_is_estimated: bool,
    },
    /// A request failed and is sent again after `wait`.
    Retrying {
        /// Of the request that is to come; the first was 1.
        attempt: u32,
        /// Absent when this one does not count: while there is no connection, and where another form is tried at once.
        #[serde(skip_serializing_if = "Option::is_none")]
        max_attempts: Option<u32>,
        /// In a few words, for a status bar.
        reason: String,
        /// What exactly happened, for people.
        detail: String,
        #[serde(rename = "wait_ms", serialize_with = "milliseconds")]
        wait: Duration,
    },
    /// A hook of the user did more than let something pass.
    HookActed {
        /// As people call it: its number among the hooks, and its program.
        hook: String,
        kind: HookKind,
        action: HookAction,
        /// Of the call that it was asked about.
        #[serde(skip_serializing_if = "Option::is_none")]
        call_id: Option<String>,
        /// The tool of that call.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
        /// Why, for people; absent when it gave no reason.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// An edit was staged: nothing is written yet.
    EditProposed {
        path: String,
        /// The file's whole change so far in this turn, as a unified diff.
        diff: String,
    },
    TurnEnded {
        thread_id: ThreadId,
        stop_reason: StopReason,
        #[serde(skip_serializing_if = "Option::is_none")]
        limit: Option<Limit>,
        #[serde(skip_serializing_if = "Option::is_none")]
        fault: Option<Fault>,
        /// What happened and what to do, for people; absent when the turn simply ended with its answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
        answer: String,
        steps: u32,
        #[serde(flatten)]
        usage: Usage,
        #[serde(rename = "cost_usd", skip_serializing_if = "Option::is_none")]
        cost: Option<Cost>,
        /// A part of both was not counted by the server, and is estimated.
        #[serde(rename = "estimated", skip_serializing_if = "is_false")]
        is_estimated: bool,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

fn milliseconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(duration.as_millis().try_into().unwrap_or(u64::MAX))
}
