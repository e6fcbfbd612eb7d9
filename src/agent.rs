//! The agent: one turn is model → tools → model → … → answer. It knows no editor, no HTTP and no disk: a model is a
//! [`ModelClient`], a face is an [`EventSink`], an [`Approver`] and perhaps an [`EditApplier`], the files are a [`TurnFiles`].

pub mod approval;
mod calls;
mod context;
pub mod edits;
pub mod limits;
pub mod prompt;
mod reply;
pub mod retry;
mod step;
pub mod thread;

use std::{panic::AssertUnwindSafe, sync::Arc};

use tokio_util::sync::CancellationToken;

use crate::{
    model::{ModelClient, ToolChoice},
    protocol::{Cost, Event, Limit, StopReason, Usage},
    tools::Toolbox,
    workspace::TurnFiles,
};

pub use approval::{Answer, ApprovalPolicy, Approvals, Approver, Question};
pub use edits::{EditApplier, EditFate, EditOutcome, Reach};
pub use limits::{Limits, OnLimit};
pub use prompt::{Focus, Mode, UserInput};
pub use retry::RetryPolicy;
pub use thread::Thread;

use limits::LoopGuard;
use step::{Ending, Next, Progress};

/// What stays the same from turn to turn.
#[derive(Clone)]
pub struct Agent {
    pub model: Arc<dyn ModelClient>,
    pub tools: Toolbox,
    pub limits: Limits,
    pub policy: ApprovalPolicy,
    pub retries: RetryPolicy,
    /// Of the first request of a turn; the others are free.
    pub first_tool: FirstTool,
}

/// Whether a turn begins with a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FirstTool {
    /// As the model likes.
    #[default]
    Auto,
    /// The whole turn goes without calls; the tools are shown all the same.
    None,
    /// With some call.
    Required,
    /// With a call of this tool.
    Named(String),
}

/// What one turn works with, given by the face that started it.
#[derive(Clone)]
pub struct TurnContext {
    pub files: Arc<TurnFiles>,
    pub events: Arc<dyn EventSink>,
    pub approver: Arc<dyn Approver>,
    /// Applies the edits of each step before the next one; without it they stay staged for the face to take at the end.
    pub applier: Option<Arc<dyn EditApplier>>,
    /// Firing it ends the turn soon, with every call answered and the thread fit for the next turn.
    pub cancel: CancellationToken,
}

/// Where events go. Called in order from one task at a time; must not block, and may panic without harm to the turn.
pub trait EventSink: Send + Sync {
    fn emit(&self, event: &Event);
}

/// How a turn ended; the same facts as the last event, [`Event::TurnEnded`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnResult {
    /// The model's words of its last step; partial when `stop_reason` is not `Answer`.
    pub answer: String,
    pub stop_reason: StopReason,
    /// For people: what happened and what to do. Absent when the turn simply ended with its answer.
    pub detail: Option<String>,
    /// Model requests that were made.
    pub steps: u32,
    pub usage: Usage,
    /// `None` when the model's price is not known.
    pub cost: Option<Cost>,
}

impl TurnResult {
    /// Whether the agent came to its own end. After a limit the last words may be an answer, but its edits are half of
    /// a change.
    pub fn is_whole(&self) -> bool {
        self.stop_reason == StopReason::Answer && self.detail.is_none()
    }
}

impl Agent {
    /// Runs one turn to its end, whatever the end is. Never panics on what a model, a tool or a face does, and leaves
    /// a thread that the next turn can be sent with.
    pub async fn run_turn(&self, thread: &mut Thread, input: UserInput, context: &TurnContext) -> TurnResult {
        let events = Events(&*context.events);
        events.emit(&Event::TurnStarted {
            thread_id: thread.id().clone(),
            model: self.model.info().name.clone(),
        });
        let tools = match input.mode {
            Mode::Plan => self.tools.clone().only_reading(),
            Mode::Ask | Mode::Edit => self.tools.clone(),
        };
        let agent = Self { tools, ..self.clone() };
        thread.push_user(prompt::user_message(&input));

        let mut progress = Progress::default();
        let ending = agent.run_steps(thread, &mut progress, context, &events).await;

        let Progress { steps, usage, cost, .. } = progress;
        events.emit(&Event::TurnEnded {
            thread_id: thread.id().clone(),
            stop_reason: ending.stop_reason,
            limit: ending.stop_reason.limit(),
            fault: ending.stop_reason.fault(),
            detail: ending.detail.clone(),
            answer: ending.answer.clone(),
            steps,
            usage,
            cost,
        });
        TurnResult {
            answer: ending.answer,
            stop_reason: ending.stop_reason,
            detail: ending.detail,
            steps,
            usage,
            cost,
        }
    }

    async fn run_steps(
        &self,
        thread: &mut Thread,
        progress: &mut Progress,
        context: &TurnContext,
        events: &Events<'_>,
    ) -> Ending {
        let mut guard = LoopGuard::default();
        while progress.steps < self.limits.max_steps {
            let choice = match self.tool_choice(progress.steps) {
                Ok(choice) => choice,
                Err(ending) => return ending,
            };
            let (calls, words) = match self.step(thread, choice, progress, context, events).await {
                Ok(Next::Calls(calls, words)) => (calls, words),
                Ok(Next::Resume) => continue,
                Ok(Next::Done(answer)) => return Ending::finished(answer),
                Err(ending) => return ending,
            };
            progress.last_tool = calls.last().map(|call| call.name.clone());
            progress.last_words.clone_from(&words);
            calls::run(self, thread, calls, &mut guard, context, events).await;
            if context.cancel.is_cancelled() {
                return Ending::cancelled(words);
            }
            if let Some((stop_reason, detail)) = guard.step_ended() {
                return Ending { stop_reason, detail: Some(detail), answer: words };
            }
        }
        self.at_limit(thread, progress, context, events).await
    }

    /// All steps are used: ends as the settings say.
    async fn at_limit(
        &self,
        thread: &mut Thread,
        progress: &mut Progress,
        context: &TurnContext,
        events: &Events<'_>,
    ) -> Ending {
        let last = progress.last_tool.as_deref().map(|name| format!(" (the last tool was {name})"));
        let reached = format!(
            "stopped after {} step{}, the limit of max_steps{}",
            self.limits.max_steps,
            if self.limits.max_steps == 1 { "" } else { "s" },
            last.unwrap_or_default()
        );
        let limit = |detail: String, answer| Ending {
            stop_reason: StopReason::Limit(Limit::Steps),
            detail: Some(detail),
            answer,
        };
        let advice = format!("{reached}; raise max_steps, or ask to go on");
        match self.limits.on_limit {
            OnLimit::Error => return limit(advice, String::new()),
            OnLimit::Message => return limit(advice, std::mem::take(&mut progress.last_words)),
            OnLimit::FinalAnswer => {}
        }
        match self.step(thread, ToolChoice::None, progress, context, events).await {
            Ok(Next::Done(answer)) if !answer.trim().is_empty() => Ending {
                stop_reason: StopReason::Answer,
                detail: Some(format!("{reached}; this is what the agent knew by then")),
                answer,
            },
            Ok(Next::Done(answer) | Next::Calls(_, answer)) => {
                limit(format!("{reached}, and no final answer came"), answer)
            }
            Ok(Next::Resume) => limit(
                format!("{reached}, and no final answer came"),
                std::mem::take(&mut progress.last_words),
            ),
            Err(ending) => ending,
        }
    }
}

/// The face's sink, behind which a fault of the face stays.
struct Events<'a>(&'a dyn EventSink);

impl Events<'_> {
    fn emit(&self, event: &Event) {
        let emitted = std::panic::catch_unwind(AssertUnwindSafe(|| self.0.emit(event)));
        if emitted.is_err() {
            tracing::error!("a face broke down while it showed an event; the turn goes on");
        }
    }
}

#[cfg(test)]
mod tests;
