//! The agent: one turn is model → tools → model → … → answer. It knows no editor, no HTTP and no disk: a model is a
//! [`ModelClient`], a face is an [`EventSink`], an [`Approver`] and perhaps an [`EditApplier`], the files are a [`TurnFiles`].

pub mod approval;
mod budget;
mod calls;
mod context;
pub mod edits;
mod ending;
pub mod guardrails;
pub mod limits;
pub mod prompt;
mod reply;
pub mod retry;
mod step;
pub mod thread;
mod withheld;

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    model::{ModelClient, ToolChoice},
    protocol::{Cost, Event, Fault, HookKind, Limit, StopReason, ToolCall, ToolOutput, Usage},
    tools::{Toolbox, jobs::Jobs, output::one_line},
    workspace::TurnFiles,
};

pub use approval::{Answer, ApprovalPolicy, Approvals, Approver, Outside, Question, Rule, Rules};
pub use edits::{EditApplier, EditFate, EditOutcome, Occasion, Reach};
pub use guardrails::{Guard, Guardrails};
pub use limits::{Limits, OnLimit, RepeatedCalls, UnknownTools};
pub use prompt::{Focus, Mode, UserInput};
pub use retry::RetryPolicy;
pub use thread::Thread;

use budget::Reached;
use ending::Ending;
use limits::{LoopGuard, MAX_NAME_CHARS};
use step::{Account, Next, Progress};

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
    /// What is asked before anything goes in, runs, is answered or comes out.
    pub guardrails: Guardrails,
    /// Applies edits while the turn goes on; without it they stay staged for the face to take at the end.
    pub applier: Option<Arc<dyn EditApplier>>,
    /// What the thread has running in the background.
    pub jobs: Jobs,
    /// Firing it ends the turn soon, with every call answered and the thread fit for the next turn.
    pub cancel: CancellationToken,
    /// Firing it ends the turn after the step that runs: its calls come to their ends, and no request follows.
    pub last_step: CancellationToken,
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
    /// Whether a part of `usage` and `cost` is estimated: the server did not count it, or the reply broke off before.
    pub is_estimated: bool,
}

impl TurnResult {
    /// The end of a turn that made no request.
    pub fn without_request(stop_reason: StopReason, detail: Option<String>, answer: String) -> Self {
        Self {
            answer,
            stop_reason,
            detail,
            steps: 0,
            usage: Usage::default(),
            cost: None,
            is_estimated: false,
        }
    }

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
        self.run_turn_after(Duration::ZERO, thread, input, context).await
    }

    /// The same for a turn of whose time so much has gone by already ([`Limits::in_time`]).
    pub async fn run_turn_after(
        &self,
        waited: Duration,
        thread: &mut Thread,
        input: UserInput,
        context: &TurnContext,
    ) -> TurnResult {
        let roots = context.files.workspace().roots();
        let guardrails = context.guardrails.in_turn(thread.id().clone(), thread.begin_turn(), roots);
        let events = Events::new(&*context.events, &guardrails);
        let context = TurnContext { guardrails, ..context.clone() };
        events.emit(&Event::TurnStarted {
            thread_id: thread.id().clone(),
            model: self.model.info().name.clone(),
        });
        let tools = match input.mode {
            Mode::Plan => self.tools.clone().only_reading(),
            Mode::Ask | Mode::Edit => self.tools.clone(),
        };
        let agent = Self { tools, ..self.clone() };

        let mut progress = Progress::default();
        let ending = agent.run_in_time(waited, thread, input, &mut progress, &context, &events).await;

        let Progress { steps, account: Account { usage, cost, is_estimated }, .. } = progress;
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
            is_estimated,
        });
        TurnResult {
            answer: ending.answer,
            stop_reason: ending.stop_reason,
            detail: ending.detail,
            steps,
            usage,
            cost,
            is_estimated,
        }
    }

    /// Cancels the steps, and what they run, once the turn's time is up.
    async fn run_in_time(
        &self,
        waited: Duration,
        thread: &mut Thread,
        input: UserInput,
        progress: &mut Progress,
        context: &TurnContext,
        events: &Events<'_>,
    ) -> Ending {
        let Some(longest) = self.limits.turn_timeout else {
            return self.run_admitted(thread, input, progress, context, events).await;
        };
        let left = longest.saturating_sub(waited);
        progress.spent.until = Instant::now().checked_add(left);
        let in_time = TurnContext { cancel: context.cancel.child_token(), ..context.clone() };
        let steps = self.run_admitted(thread, input, progress, &in_time, events);
        tokio::pin!(steps);
        let ending = tokio::select! {
            biased;
            ending = &mut steps => return ending,
            () = tokio::time::sleep(left) => {
                in_time.cancel.cancel();
                steps.await
            }
        };
        // It may have come to another end in that moment, or the user may have stopped it too.
        if ending.stop_reason != StopReason::Cancelled || context.cancel.is_cancelled() {
            return ending;
        }
        Reached::time(longest, &self.limits).end(self.limits.on_limit, ending.answer)
    }

    /// A question that the user's hooks refuse never enters the thread; what it was to bring along does with the next one.
    async fn run_admitted(
        &self,
        thread: &mut Thread,
        mut input: UserInput,
        progress: &mut Progress,
        context: &TurnContext,
        events: &Events<'_>,
    ) -> Ending {
        input.news.splice(..0, thread.take_unheard());
        match guardrails::admit(prompt::user_message(&input), context, events).await {
            Ok(message) => thread.push_user(message),
            Err(ending) => {
                thread.keep_unheard(input.news);
                return ending;
            }
        }
        self.run_steps(thread, progress, context, events).await
    }

    async fn run_steps(
        &self,
        thread: &mut Thread,
        progress: &mut Progress,
        context: &TurnContext,
        events: &Events<'_>,
    ) -> Ending {
        if let Some(reason) = self.limits.refusal(self.model.info()) {
            return Ending::new(StopReason::ProviderError(Fault::Settings), reason, String::new());
        }
        let mut guard = LoopGuard::new(self.limits.repeated_calls);
        while progress.steps < self.limits.max_steps {
            let choice = match self.tool_choice(progress.steps) {
                Ok(choice) => choice,
                Err(ending) => return ending,
            };
            let (mut calls, words) = match self.step(thread, choice, progress, context, events).await {
                Ok(Next::Calls(calls, words)) => (calls, words),
                Ok(Next::Resume) => continue,
                Ok(Next::Done(answer)) => return Ending::finished(answer),
                Err(ending) => return ending,
            };
            if let Some(detail) = self.unknown_tool(thread, &calls) {
                return Ending {
                    stop_reason: StopReason::Limit(Limit::UnknownTool),
                    detail: Some(detail),
                    answer: words,
                };
            }
            let excess = progress.spent.take_excess(&mut calls, &self.limits);
            progress.last_tool = calls.last().map(|call| call.name.clone());
            progress.last_words.clone_from(&words);
            calls::run(self, thread, calls, &mut guard, context, events).await;
            if context.cancel.is_cancelled() || context.last_step.is_cancelled() {
                return Ending::cancelled(words);
            }
            if let Some((stop_reason, mut detail)) = guard.step_ended() {
                if stop_reason == StopReason::Limit(Limit::RepeatedCall) {
                    detail.push_str(&self.limits.project.named("repeated_calls"));
                }
                return Ending { stop_reason, detail: Some(detail), answer: words };
            }
            if let Some((excess, reached)) = excess {
                answer_unrun(
                    thread,
                    &excess,
                    "this call did not run: no more calls may be made in this turn",
                );
                return self.at_limit(reached, thread, progress, context, events).await;
            }
        }
        let reached = Reached::steps(&self.limits, progress.last_tool.as_deref());
        self.at_limit(reached, thread, progress, context, events).await
    }

    /// Where a call of a tool that there is not ends the turn: why the turn ends, with all calls answered.
    fn unknown_tool(&self, thread: &mut Thread, calls: &[ToolCall]) -> Option<String> {
        if self.limits.unknown_tools == UnknownTools::Tell {
            return None;
        }
        let unknown = calls.iter().find(|call| !self.tools.has(&call.name))?;
        let name = one_line(&unknown.name, MAX_NAME_CHARS);
        let did = match name.as_str() {
            "" => "made a call that names no tool".to_owned(),
            name => format!("called {name}, and there is no tool of that name"),
        };
        answer_unrun(thread, calls, &format!("this call did not run: this reply {did}"));
        let set_by = self.limits.project.named("unknown_tools");
        Some(format!(
            "stopped: the model {did}; no call of its reply ran, since unknown_tools is stop{set_by}"
        ))
    }

    /// A bound of the settings is reached that leaves room for a request: ends as they say.
    async fn at_limit(
        &self,
        reached: Reached,
        thread: &mut Thread,
        progress: &mut Progress,
        context: &TurnContext,
        events: &Events<'_>,
    ) -> Ending {
        let on_limit = self.limits.on_limit;
        if on_limit != OnLimit::FinalAnswer {
            return reached.end(on_limit, std::mem::take(&mut progress.last_words));
        }
        match self.step(thread, ToolChoice::None, progress, context, events).await {
            Ok(Next::Done(answer)) if !answer.trim().is_empty() => reached.with_answer(answer),
            Ok(Next::Done(answer) | Next::Calls(_, answer)) => reached.without_answer(answer),
            Ok(Next::Resume) => reached.without_answer(std::mem::take(&mut progress.last_words)),
            Err(ending) => ending,
        }
    }
}

/// Puts the reason why they did not run in the place of the outputs of calls.
fn answer_unrun(thread: &mut Thread, calls: &[ToolCall], reason: &str) {
    for call in calls {
        thread.answer(ToolOutput { call_id: call.id.clone(), text: reason.to_owned(), is_error: true });
    }
}

/// The face's sink, behind which a fault of the face stays.
struct Events<'a> {
    sink: &'a dyn EventSink,
    /// What the model says is held back until the hooks have judged it.
    holds_words: bool,
}

impl<'a> Events<'a> {
    fn new(sink: &'a dyn EventSink, guardrails: &Guardrails) -> Self {
        Self { sink, holds_words: guardrails.watch(HookKind::Output, None) }
    }

    fn emit(&self, event: &Event) {
        let is_of_words = matches!(event, Event::Text { .. } | Event::Reasoning { .. } | Event::Discarded);
        if !(self.holds_words && is_of_words) {
            self.show(event);
        }
    }

    /// For words that may be seen.
    fn show(&self, event: &Event) {
        let emitted = std::panic::catch_unwind(AssertUnwindSafe(|| self.sink.emit(event)));
        if emitted.is_err() {
            tracing::error!("a face broke down while it showed an event; the turn goes on");
        }
    }
}

#[cfg(test)]
mod tests;
