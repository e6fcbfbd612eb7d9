//! Bounds on a turn, each a named number with its reason.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    model::arguments,
    protocol::{Cost, Limit, ProjectSettings, StopReason, ToolCall, ToolOutput},
    tools::output::one_line,
};

/// Model requests in one turn: enough for a long task, few enough that a model that turns in circles costs cents.
pub const DEFAULT_MAX_STEPS: u32 = 50;

/// The same call so many times in a row is refused, and the model is told why: looking again changes nothing.
const REFUSE_REPEATS_AT: u32 = 3;

/// A model that makes the same call even after being told ends its turn.
const STOP_REPEATS_AT: u32 = 5;

/// The same call so many times in a row ends the turn of a user who wants no call twice.
const STRICT_REPEATS_AT: u32 = 2;

/// Failed calls one after the other: the model has lost its way, and every further step costs the user.
const MAX_CONSECUTIVE_ERRORS: u32 = 6;

/// So many steps must have failed as well: a model that guesses six names in one step has not seen one error yet.
const MIN_FAILED_STEPS: u32 = 3;

/// So many steps in a row that fail the same way: the model does not learn from what it is told.
const MAX_SAME_FAILURES: u32 = 3;

/// How often a model is told that the arguments of its calls are no JSON before its turn ends.
const MAX_REASKS: u32 = 2;

/// Characters of a tool's name and of a reason in an ending: a model may write any.
pub(super) const MAX_NAME_CHARS: usize = 60;
const MAX_REASON_CHARS: usize = 300;

/// What happens when a turn has reached a bound of the settings. Once its time, its tokens or its money are used, no further
/// request is made, whatever this says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
// The strictest first: a project may only go to one that stands before what holds without it.
pub enum OnLimit {
    /// The turn ends as an error.
    Error,
    /// The turn ends with a message that says how far it got.
    #[default]
    Message,
    /// One more request, in which no tool may be called, so that the model can say what it has.
    FinalAnswer,
}

/// What becomes of a reply that calls a tool that does not exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
// The strictest first, as above.
pub enum UnknownTools {
    /// The turn ends, and no call of that reply runs.
    Stop,
    /// The model is told which tools there are; its other calls run, and the turn goes on.
    #[default]
    Tell,
}

/// What becomes of the same call (same tool, same arguments) again and again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
// The strictest first, as above.
pub enum RepeatedCalls {
    /// The second in a row does not run and ends the turn.
    Stop,
    /// The third in a row does not run and the model is told why; the fifth ends the turn.
    #[default]
    Refuse,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Model requests in one turn; at least 1.
    pub max_steps: u32,
    /// Tokens of all requests of one turn, read and written. The reply that goes beyond is still taken.
    pub max_turn_tokens: Option<u64>,
    /// Calls in one turn, those that were refused included; at least 1.
    pub max_tool_calls: Option<u32>,
    /// How long one turn may take, questions to the user and waits for the server included.
    pub turn_timeout: Option<Duration>,
    /// What one turn may cost. The reply that goes beyond is still taken. Holds only where the model's price is known.
    pub max_cost: Option<Cost>,
    /// What happens when one of the bounds above is reached.
    pub on_limit: OnLimit,
    pub unknown_tools: UnknownTools,
    pub repeated_calls: RepeatedCalls,
    /// The most tokens of a request, by the estimate; `None` goes by the model's window.
    pub context_tokens: Option<u64>,
    /// The model's whole window as it was set; what is only known of it by other ways is no bound.
    pub window: Option<u64>,
    /// Which of them are the project's: their ends say so.
    pub project: ProjectSettings,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_steps: DEFAULT_MAX_STEPS,
            max_turn_tokens: None,
            max_tool_calls: None,
            turn_timeout: None,
            max_cost: None,
            on_limit: OnLimit::default(),
            unknown_tools: UnknownTools::default(),
            repeated_calls: RepeatedCalls::default(),
            context_tokens: None,
            window: None,
            project: ProjectSettings::default(),
        }
    }
}

/// Notices a model that goes in circles within one turn.
#[derive(Debug, Default)]
pub(super) struct LoopGuard {
    repeated_calls: RepeatedCalls,
    /// The last call: its tool, and its arguments as they were read.
    last: Option<(String, Result<Value, String>)>,
    repeats: u32,
    /// The user said no to the last call.
    is_declined: bool,
    errors: u32,
    /// Steps since the last call that succeeded.
    failed_steps: u32,
    /// The last failure of the step before, and of how many steps in a row it is the same.
    last_failure: Option<Failure>,
    same_failures: u32,
    /// Of the running step.
    failure: Option<Failure>,
    is_same_failure: bool,
    /// A call whose arguments are no JSON, by its tool's name.
    unreadable: Option<String>,
    /// Steps in a row with such a call and none that succeeded.
    unreadable_steps: u32,
    /// A call of the running step succeeded.
    has_succeeded: bool,
}

#[derive(Debug)]
struct Failure {
    call: ToolCall,
    text: String,
}

impl Failure {
    /// Whether the model has learnt nothing: it makes the same call again, or runs into the same wall.
    fn is_like(&self, other: &Self) -> bool {
        self.call.name == other.call.name
            && (self.text == other.text || read(&self.call.arguments) == read(&other.call.arguments))
    }
}

/// Arguments as the tool gets them, or as they are where they cannot be read: a model that writes the same in another
/// form, behind a fence or with other blanks, asks for the same.
fn read(written: &str) -> Result<Value, String> {
    let read = arguments::read(written).ok();
    read.and_then(|read| serde_json::from_str(&read.json).ok()).ok_or_else(|| written.to_owned())
}

impl LoopGuard {
    pub(super) fn new(repeated_calls: RepeatedCalls) -> Self {
        Self { repeated_calls, ..Self::default() }
    }

    /// Counts a call that is about to run; the error is its output instead.
    pub(super) fn admit(&mut self, call: &ToolCall) -> Result<(), String> {
        let this = (call.name.clone(), read(&call.arguments));
        if self.last.as_ref() == Some(&this) {
            self.repeats += 1;
        } else {
            self.last = Some(this);
            self.repeats = 1;
            self.is_declined = false;
        }
        if self.is_declined {
            return Err(format!(
                "the user has just said no to this very call to {}, and is not asked again at once; do something else, or \
                 tell them what it is needed for",
                call.name
            ));
        }
        let refused_at = match self.repeated_calls {
            RepeatedCalls::Stop => STRICT_REPEATS_AT,
            RepeatedCalls::Refuse => REFUSE_REPEATS_AT,
        };
        if self.repeats < refused_at {
            return Ok(());
        }
        let before = match self.repeats - 1 {
            1 => "one".to_owned(),
            several => several.to_string(),
        };
        Err(format!(
            "this is the same call to {} as the {before} before it, so it was not run again; use what it answered, or \
             do something else",
            call.name
        ))
    }

    /// Takes note of a call that waits for what changes by itself: however often it comes, it is no circle.
    pub(super) fn admit_waiting(&mut self) {
        self.last = None;
        self.repeats = 0;
    }

    /// Whether the last call that was admitted ends the turn: those after it in the reply do not run.
    pub(super) fn must_stop(&self) -> bool {
        let stopped_at = match self.repeated_calls {
            RepeatedCalls::Stop => STRICT_REPEATS_AT,
            RepeatedCalls::Refuse => STOP_REPEATS_AT,
        };
        self.repeats >= stopped_at
    }

    /// Notes a call whose arguments are no JSON; it counts as failed besides.
    pub(super) fn was_unreadable(&mut self, call: &ToolCall) {
        self.unreadable = Some(call.name.clone());
    }

    /// Notes that the user said no to the last call. It is no failure: how often someone says no is up to them. To make
    /// the same call at once again is one.
    pub(super) fn was_declined(&mut self) {
        self.is_declined = true;
    }

    /// Counts a call that was answered.
    pub(super) fn ended(&mut self, call: ToolCall, output: &ToolOutput) {
        if !output.is_error {
            // Whoever gets on may fail now and then.
            let (last, repeats) = (self.last.take(), self.repeats);
            *self = Self { last, repeats, has_succeeded: true, ..Self::new(self.repeated_calls) };
            return;
        }
        self.errors += 1;
        let mut failure = Failure { call, text: output.text.clone() };
        let last = self.last_failure.as_ref().filter(|last| last.is_like(&failure));
        self.is_same_failure = last.is_some();
        if let Some(last) = last {
            // A call that was refused for being the same says nothing of why it fails.
            failure.text.clone_from(&last.text);
        }
        self.failure = Some(failure);
    }

    /// Why the turn must not go on after this step, if it must not.
    pub(super) fn step_ended(&mut self) -> Option<(StopReason, String)> {
        if self.errors > 0 {
            self.failed_steps += 1;
        }
        self.same_failures = match (&self.failure, self.is_same_failure) {
            (None, _) => 0,
            (Some(_), false) => 1,
            (Some(_), true) => self.same_failures + 1,
        };
        self.last_failure = self.failure.take();
        let has_succeeded = std::mem::take(&mut self.has_succeeded);
        let unreadable = self.unreadable.take().filter(|_| !has_succeeded);
        self.unreadable_steps = if unreadable.is_some() { self.unreadable_steps + 1 } else { 0 };
        if let Some(name) = unreadable.filter(|_| self.unreadable_steps > MAX_REASKS) {
            return Some((
                StopReason::Limit(Limit::MalformedCalls),
                format!(
                    "stopped: the model was told {MAX_REASKS} times that the arguments of {} are no JSON, and wrote such \
                     ones again; another model may be better at calling tools",
                    one_line(&name, MAX_NAME_CHARS)
                ),
            ));
        }
        if self.must_stop() {
            let name = one_line(self.last.as_ref().map_or("", |(name, _)| name), MAX_NAME_CHARS);
            return Some((
                StopReason::Limit(Limit::RepeatedCall),
                format!("stopped: the model made the same call to {name} {} times in a row", self.repeats),
            ));
        }
        if let Some(Failure { call, text }) =
            self.last_failure.as_ref().filter(|_| self.same_failures >= MAX_SAME_FAILURES)
        {
            return Some((
                StopReason::Limit(Limit::ToolErrors),
                format!(
                    "stopped: {} failed the same way in {} steps one after the other: {}",
                    one_line(&call.name, MAX_NAME_CHARS),
                    self.same_failures,
                    one_line(text, MAX_REASON_CHARS)
                ),
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
