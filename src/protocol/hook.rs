//! What hooks of the user are asked about, and what they can do to it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a hook is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookKind {
    /// The user's question, before anything is sent.
    Input,
    /// A call, before it is judged and runs.
    Tool,
    /// What a call that ran has answered, before the model gets it.
    ToolOutput,
    /// What the model says, before anybody sees it.
    Output,
}

/// What a hook did to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HookAction {
    Denied,
    Replaced,
    /// It gave no verdict, which counts as a no.
    Failed,
}

impl HookAction {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::Replaced => "replaced",
            Self::Failed => "failed",
        }
    }
}

impl HookKind {
    pub const ALL: [Self; 4] = [Self::Input, Self::Tool, Self::ToolOutput, Self::Output];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Tool => "tool",
            Self::ToolOutput => "tool_output",
            Self::Output => "output",
        }
    }

    /// Whether it is about a call of a tool.
    pub fn is_of_calls(self) -> bool {
        matches!(self, Self::Tool | Self::ToolOutput)
    }
}

impl fmt::Display for HookKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
