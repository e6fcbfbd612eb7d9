//! What a user may set about how a model is asked, and how its server deviates from the standard.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How one model on one server is asked. Whatever is not set is left to the server.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The most tokens of one reply. The Messages wire, which must say one, has a default of its own.
    pub max_output_tokens: Option<u64>,
    pub reasoning_effort: Option<Effort>,
    /// 0 to 2. Models that reason refuse it.
    pub temperature: Option<f64>,
    /// Whether one reply may hold several calls.
    pub parallel_tool_calls: Option<bool>,
    /// Whether tools are offered by strict schemas, so that the server binds the arguments (those that can be).
    pub strict_tools: bool,
    /// Whether the server keeps the replies, so that a request need not repeat them (Responses only).
    pub store: bool,
    /// Whether reasoning goes back together with the calls that it led to, under the name that it came by (Chat only). A
    /// server that refuses it is asked again without; `false` is for one that refuses it in other words than are known.
    pub echo_reasoning: bool,
    /// Whether text between `<think>` and `</think>` at the beginning of a reply is reasoning (Chat only).
    pub think_tags: bool,
    /// Whether two messages of one role in a row are made one, for servers that refuse them (Chat only).
    pub strict_alternation: bool,
    /// What stands for no words beside calls (Chat only).
    pub null_content: NullContent,
    /// Whether a whole, valid call of an offered tool that comes as text is taken for a call.
    pub text_calls: bool,
    pub guided: Guided,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_output_tokens: None,
            reasoning_effort: None,
            temperature: None,
            parallel_tool_calls: None,
            strict_tools: false,
            store: false,
            echo_reasoning: true,
            think_tags: true,
            strict_alternation: false,
            null_content: NullContent::default(),
            text_calls: false,
            guided: Guided::Off,
        }
    }
}

/// How much a model thinks before it answers, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    None,
    Minimal,
    Low,
    Medium,
    High,
    Xhigh,
    Max,
}

/// The content of an assistant message that only calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NullContent {
    /// `null`, as in the standard.
    #[default]
    Null,
    /// `""`, for servers that refuse `null`.
    EmptyString,
}

/// Whether each step of a small model is bound to a schema of what can be done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Guided {
    /// With llama.cpp on this machine, once its model fails to call natively.
    #[default]
    Auto,
    On,
    Off,
}

impl Effort {
    /// As the wires spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Max => "max",
        }
    }
}
