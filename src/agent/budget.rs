//! What a turn has used of what it may use: tokens, money, calls, time.

use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    model::{ModelInfo, Price, Room},
    protocol::{Cost, Limit, StopReason, ToolCall, Usage, about, tokens_in_short},
    tools::output::one_line,
};

use super::{
    TurnResult,
    ending::Ending,
    limits::{Limits, MAX_NAME_CHARS, OnLimit},
};

/// What can be done about a bound that the settings say.
const GO_FURTHER: &str = "raise it to go further";

/// The same about one of the project: what the user's own file says stands below it.
const GO_FURTHER_THAN_PROJECT: &str = "raise it there, in your editor or on the command line to go further";

/// What a turn has used, as far as it is bounded.
#[derive(Debug, Default)]
pub(super) struct Spent {
    tokens: u64,
    cost: Cost,
    /// Whether a part of both is an estimate.
    is_estimated: bool,
    calls: u32,
    /// When the turn's time is up.
    pub(super) until: Option<Instant>,
}

/// A bound of the settings that a turn has reached, in words that begin a sentence.
#[derive(Debug)]
pub(super) struct Reached {
    limit: Limit,
    words: String,
    /// What can be done about it.
    advice: &'static str,
}

impl Spent {
    /// Adds what a request used.
    pub(super) fn add(&mut self, usage: Usage, price: Option<Price>, is_estimated: bool) {
        self.is_estimated |= is_estimated;
        self.tokens = self.tokens.saturating_add(usage.total());
        self.cost += price.map(|price| price.cost(usage)).unwrap_or_default();
    }

    /// The bound that leaves no room for another request.
    pub(super) fn used_up(&self, limits: &Limits) -> Option<Reached> {
        if let Some(most) = limits.max_turn_tokens.filter(|most| self.tokens >= *most) {
            let (used, most) = (tokens_in_short(self.tokens), tokens_in_short(most));
            let words =
                format!("stopped after {}{used}, since max_turn_tokens is {most}", about(self.is_estimated));
            return Some(Reached::new(Limit::TurnTokens, words, "max_turn_tokens", limits));
        }
        let most = limits.max_cost.filter(|most| self.cost >= *most)?;
        let (about, cost) = (about(self.is_estimated), self.cost);
        let words = format!("stopped after {about}{cost} was spent, since max_cost is {most}");
        Some(Reached::new(Limit::Cost, words, "max_cost", limits))
    }

    /// What is left for a client that makes several requests for one reply, until `last_step` fires.
    pub(super) fn room(&self, limits: &Limits, last_step: &CancellationToken) -> Room {
        Room {
            tokens: limits.max_turn_tokens.map(|most| most.saturating_sub(self.tokens)),
            cost: limits.max_cost.map(|most| most.since(self.cost)),
            until: self.until,
            last_step: last_step.clone(),
        }
    }

    /// Counts the calls of a step, and takes those out of it that the turn may not make any more: with them comes the
    /// bound that they run into.
    pub(super) fn take_excess(
        &mut self,
        calls: &mut Vec<ToolCall>,
        limits: &Limits,
    ) -> Option<(Vec<ToolCall>, Reached)> {
        let most = limits.max_tool_calls.unwrap_or(u32::MAX);
        let room = most.saturating_sub(self.calls);
        let excess = calls.split_off(calls.len().min(room as usize));
        self.calls += calls.len() as u32;
        let first = excess.first()?;
        let words = format!(
            "stopped after {most} call{}, the max_tool_calls limit (the next would have been {})",
            if most == 1 { "" } else { "s" },
            one_line(&first.name, MAX_NAME_CHARS)
        );
        Some((excess, Reached::new(Limit::ToolCalls, words, "max_tool_calls", limits)))
    }
}

impl Reached {
    fn new(limit: Limit, words: String, setting: &str, limits: &Limits) -> Self {
        let advice = if limits.project.has(setting) { GO_FURTHER_THAN_PROJECT } else { GO_FURTHER };
        Self { limit, words: words + &limits.project.named(setting), advice }
    }

    pub(super) fn steps(limits: &Limits, last_tool: Option<&str>) -> Self {
        let last = last_tool.map(|name| format!(" (the last tool was {})", one_line(name, MAX_NAME_CHARS)));
        let words = format!(
            "stopped after {} step{}, the max_steps limit{}",
            limits.max_steps,
            if limits.max_steps == 1 { "" } else { "s" },
            last.unwrap_or_default()
        );
        Self::new(Limit::Steps, words, "max_steps", limits)
    }

    /// The bound that a request of so many tokens, by the estimate, does not keep; `None` when it keeps all.
    pub(super) fn context(estimated: u64, limits: &Limits) -> Option<Self> {
        let bounds = [("context_tokens", limits.context_tokens), ("window", limits.window)];
        let (setting, most) = bounds
            .into_iter()
            .find_map(|(setting, most)| Some((setting, most.filter(|most| estimated > *most)?)))?;
        let (estimated, most) = (tokens_in_short(estimated), tokens_in_short(most));
        let words = format!(
            "nothing was sent, since the smallest request that says what the model must know takes about {estimated}, and {setting} is {most}"
        );
        Some(Self::new(Limit::Context, words, setting, limits))
    }

    pub(super) fn time(longest: Duration, limits: &Limits) -> Self {
        let words = format!("stopped after {} s, the turn_timeout limit", longest.as_secs_f64());
        Self::new(Limit::Time, words, "turn_timeout", limits)
    }

    /// The end of a turn that makes no request any more; `words` are the model's last ones.
    pub(super) fn end(self, on_limit: OnLimit, words: String) -> Ending {
        let answer = match on_limit {
            OnLimit::Error => String::new(),
            OnLimit::Message | OnLimit::FinalAnswer => words,
        };
        Ending {
            stop_reason: StopReason::Limit(self.limit),
            detail: Some(format!("{}; {}", self.words, self.advice)),
            answer,
        }
    }

    /// The end of a turn whose last request, made without tools, brought words and no answer.
    pub(super) fn without_answer(&self, words: String) -> Ending {
        Ending {
            stop_reason: StopReason::Limit(self.limit),
            detail: Some(format!("{}, and no final answer came; {}", self.words, self.advice)),
            answer: words,
        }
    }

    /// The end of a turn whose last request, made without tools, was answered.
    pub(super) fn with_answer(&self, answer: String) -> Ending {
        Ending {
            stop_reason: StopReason::Answer,
            detail: Some(format!("{}; this is what the agent knew by then", self.words)),
            answer,
        }
    }
}

impl Limits {
    /// Waits for what a turn needs before it begins, such as its model, and says how long that took: it counts for
    /// [`Agent::run_turn_after`](super::Agent::run_turn_after).
    ///
    /// # Errors
    /// The end of the turn when its time is up before.
    pub async fn in_time<T>(&self, needed: impl Future<Output = T>) -> Result<(T, Duration), TurnResult> {
        let start = Instant::now();
        let Some(longest) = self.turn_timeout else { return Ok((needed.await, start.elapsed())) };
        let needed = tokio::time::timeout(longest, needed).await;
        needed.map(|needed| (needed, start.elapsed())).map_err(|_| {
            let Ending { stop_reason, detail, answer } =
                Reached::time(longest, self).end(self.on_limit, String::new());
            TurnResult::without_request(stop_reason, detail, answer)
        })
    }

    /// Why no request may be made of this model, for people; `None` when one may: a project has chosen it, and the user's
    /// bound on money would not hold. A project only narrows what the user allows.
    pub(super) fn refusal(&self, model: &ModelInfo) -> Option<String> {
        let most = self.max_cost.filter(|_| !has_price(model) && self.project.has("model"))?;
        let name = one_line(&model.name, MAX_NAME_CHARS);
        Some(format!(
            "max_cost ({most}) cannot be held with the model {name}{}, since nothing is known of what it costs; nothing was sent: choose \
             another model (in your editor, --model, ASKLS_MODEL), or set its price in your own settings file, as \
             price = {{ input = 1.25, output = 10 }} in dollars for a million tokens below [models.{name:?}]",
            self.project.named("model")
        ))
    }

    /// Why a bound on money does not hold with this model, for people; `None` when it does, when there is none, and where
    /// the turn ends for it.
    pub fn unheld(&self, model: &ModelInfo) -> Option<String> {
        let most = self.max_cost?;
        if has_price(model) || self.project.has("model") {
            return None;
        }
        Some(format!(
            "max_cost ({most}) cannot be held, since nothing is known of what {} costs: set its price, as \
             price = {{ input = 1.25, output = 10 }} in dollars for a million tokens, or set max_turn_tokens",
            one_line(&model.name, MAX_NAME_CHARS)
        ))
    }
}

/// Whether it is known what the model costs; the one inside askls costs nothing.
fn has_price(model: &ModelInfo) -> bool {
    model.price.is_some() || model.wire.is_none()
}
