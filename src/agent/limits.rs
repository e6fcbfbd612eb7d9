//! Bounds on a turn, each a named number with its reason.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::protocol::{Limit, StopReason, ToolCall};

/// Model requests in one turn: enough for a long task, few enough that a model that turns in circles costs cents.
pub const DEFAULT_MAX_STEPS: u32 = 50;

/// The same call so many times in a row is refused, and the model is told why: looking again changes nothing.
const REFUSE_REPEATS_AT: u32 = 3;

/// A model that makes the same call even after being told ends its turn.
const STOP_REPEATS_AT: u32 = 5;

/// Failed calls one after the other: the model has lost its way, and every further step costs the user.
const MAX_CONSECUTIVE_ERRORS: u32 = 6;

/// So many steps must have failed as well: a model that guesses six names in one step has not seen one error yet.
const MIN_FAILED_STEPS: u32 = 3;

/// What happens when a turn has used all its steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
// The strictest first: a project may only go to one that stands before what holds without it.
pub enum OnLimit {
    /// The turn ends as an error.
    Error,
    /// The turn ends with a message that says how far it came.
    #[default]
    Message,
    /// One more request, in which no tool may be called, so that the model can say what it has.
    FinalAnswer,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Model requests in one turn; at least 1.
    pub max_steps: u32,
    pub on_limit: OnLimit,
    /// The most tokens of a request, by the estimate; `None` goes by the model's window.
    pub context_tokens: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_steps: DEFAULT_MAX_STEPS, on_limit: OnLimit::default(), context_tokens: None }
    }
}

/// Notices a model that goes in circles within one turn.
#[derive(Debug, Default)]
pub(super) struct LoopGuard {
    last: Option<(String, String)>,
    repeats: u32,
    errors: u32,
    /// Steps since the last call that succeeded.
    failed_steps: u32,
}

impl LoopGuard {
    /// Counts a call that is about to run; the error is its output instead.
    pub(super) fn admit(&mut self, call: &ToolCall) -> Result<(), String> {
        let this = (call.name.clone(), call.arguments.clone());
        if self.last.as_ref() == Some(&this) {
            self.repeats += 1;
        } else {
            self.last = Some(this);
            self.repeats = 1;
        }
        if self.repeats < REFUSE_REPEATS_AT {
            return Ok(());
        }
        Err(format!(
            "this is the same call to {} as the {} before it, so it was not run again; use what it answered, or do \
             something else",
            call.name,
            self.repeats - 1
        ))
    }

    pub(super) fn ended(&mut self, is_error: bool) {
        if is_error {
            self.errors += 1;
        } else {
            (self.errors, self.failed_steps) = (0, 0);
        }
    }

    /// Why the turn must not go on after this step, if it must not.
    pub(super) fn step_ended(&mut self) -> Option<(StopReason, String)> {
        if self.errors > 0 {
            self.failed_steps += 1;
        }
        if self.repeats >= STOP_REPEATS_AT {
            let name = self.last.as_ref().map_or("", |(name, _)| name);
            return Some((
                StopReason::Limit(Limit::RepeatedCall),
                format!("stopped: the model made the same call to {name} {} times in a row", self.repeats),
            ));
        }
        if self.errors >= MAX_CONSECUTIVE_ERRORS && self.failed_steps >= MIN_FAILED_STEPS {
            return Some((
                StopReason::Limit(Limit::ToolErrors),
                format!("stopped: the last {} calls all failed", self.errors),
            ));
        }
        None
    }
}
