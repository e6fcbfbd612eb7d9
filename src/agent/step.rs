//! One step: a model request in whatever form the server takes it, and what its reply means for the turn.

mod forms;

use crate::{
    model::{ErrorKind, Finish, Request, ToolChoice, history},
    protocol::{Cost, Event, Fault, Item, MessageState, StopReason, ToolCall, Usage},
    tools::output::one_line,
};

use super::{
    Agent, Events, FirstTool, Thread, TurnContext,
    budget::{Reached, Spent},
    context,
    ending::Ending,
    guardrails, prompt,
    reply::{self, Meter, Reply},
    retry::Attempts,
};
use forms::{Forms, Trouble};

/// Characters of an item in an error that names it.
const MAX_ITEM_CHARS: usize = 120;

/// What a running turn counts.
#[derive(Default)]
pub(super) struct Progress {
    pub(super) steps: u32,
    pub(super) spent: Spent,
    /// What is told of what the turn has used.
    pub(super) account: Account,
    /// The same of its newest step.
    of_step: Account,
    pub(super) last_tool: Option<String>,
    /// The model's words of the last step, which stand beside its calls.
    pub(super) last_words: String,
    /// The words of a reply that the server paused, and that goes on with the next step.
    paused: Option<String>,
}

/// What was used, as it is told.
#[derive(Clone, Copy, Default)]
pub(super) struct Account {
    pub(super) usage: Usage,
    /// `None` when the model's price is not known.
    pub(super) cost: Option<Cost>,
    /// Whether a part of both is an estimate.
    pub(super) is_estimated: bool,
}

impl Account {
    fn add(&mut self, usage: Usage, cost: Option<Cost>, is_estimated: bool) {
        self.usage += usage;
        self.is_estimated |= is_estimated;
        if let Some(cost) = cost {
            *self.cost.get_or_insert_default() += cost;
        }
    }
}

/// What comes after a step.
pub(super) enum Next {
    /// The calls are to be run; the words stand beside them.
    Calls(Vec<ToolCall>, String),
    /// The thread is to be sent back as it is.
    Resume,
    /// The model has said all it wants to.
    Done(String),
}

impl Agent {
    /// What the model may call in the next step.
    ///
    /// # Errors
    /// The turn's end when the tool that it shall begin with is not offered.
    pub(super) fn tool_choice(&self, steps_before: u32) -> Result<ToolChoice<'_>, Ending> {
        match &self.first_tool {
            FirstTool::None => Ok(ToolChoice::None),
            FirstTool::Required if steps_before == 0 => Ok(ToolChoice::Required),
            FirstTool::Named(name) if steps_before == 0 => {
                if self.tools.specs().iter().any(|tool| tool.name == *name) {
                    return Ok(ToolChoice::Named(name));
                }
                let offered: Vec<_> = self.tools.specs().iter().map(|tool| tool.name.as_str()).collect();
                let detail = format!(
                    "tool_choice names {}, which this turn does not offer; it offers {}",
                    one_line(name, MAX_ITEM_CHARS),
                    if offered.is_empty() { "no tools".to_owned() } else { offered.join(", ") }
                );
                Err(Ending::new(StopReason::ProviderError(Fault::Settings), detail, String::new()))
            }
            FirstTool::Auto | FirstTool::Required | FirstTool::Named(_) => Ok(ToolChoice::Auto),
        }
    }

    /// One model request; its items are in the thread afterwards, whatever its end. Gives what comes next, or the
    /// turn's end.
    pub(super) async fn step(
        &self,
        thread: &mut Thread,
        tool_choice: ToolChoice<'_>,
        progress: &mut Progress,
        context: &TurnContext,
        events: &Events<'_>,
    ) -> Result<Next, Ending> {
        let before = progress.paused.take().unwrap_or_default();
        if context.cancel.is_cancelled() {
            return Err(Ending::cancelled(before));
        }
        progress.steps += 1;
        events.emit(&Event::StepStarted { step: progress.steps, max_steps: self.limits.max_steps });
        let mut reply = self.reply(thread, tool_choice, progress, context, events).await;
        guardrails::judge(&mut reply, thread, context, events).await?;
        let (items, finish) = match reply {
            Reply::Whole { items, finish, .. } => (items, finish),
            Reply::Broken { texts, error, .. } => {
                let answer = words(&before, &texts);
                thread.push_step(texts);
                return Err(Ending::broken(error, answer));
            }
            Reply::Cancelled { texts } => {
                let answer = words(&before, &texts);
                thread.push_step(texts);
                return Err(Ending::cancelled(answer));
            }
            Reply::Bounded { texts, reached } => {
                let answer = words(&before, &texts);
                thread.push_step(texts);
                return Err(reached.end(self.limits.on_limit, answer));
            }
        };
        let answer = words(&before, &items);
        let is_refusal = finish == Finish::Refusal || items.iter().any(is_refusal);
        let refusal = refusal(&items);
        let calls = thread.push_step(items);
        if is_refusal {
            return Err(Ending::refused(refusal.as_deref(), answer));
        }
        let goes_on = !calls.is_empty() || finish == Finish::Pause;
        if goes_on && let Some(reached) = progress.spent.used_up(&self.limits) {
            // Its calls do not run: nobody would read what they answer.
            return Err(reached.end(self.limits.on_limit, answer));
        }
        match finish {
            Finish::Stop | Finish::Unknown(_) | Finish::BrokenCall | Finish::Pause | Finish::Refusal
                if !calls.is_empty() =>
            {
                Ok(Next::Calls(calls, answer))
            }
            Finish::Stop | Finish::Refusal => Ok(Next::Done(answer)),
            Finish::Pause if context.last_step.is_cancelled() => Err(Ending::cancelled(answer)),
            Finish::Pause => {
                progress.last_words.clone_from(&answer);
                progress.paused = Some(answer);
                Ok(Next::Resume)
            }
            Finish::BrokenCall => Err(Ending::with_broken_call(answer)),
            Finish::Unknown(word) => Err(Ending::with_unknown_word(&word, answer)),
            Finish::Length => Err(Ending::cut_off(answer, &self.limits.project)),
            Finish::Cut(word) => Err(Ending::cut_with(&word, answer)),
            Finish::ContentFilter => Err(Ending::filtered(answer)),
            Finish::ContextTooLong => Err(Ending::context_full(answer)),
        }
    }

    /// Asks until the thread is answered or cannot be, and tells what that used.
    async fn reply(
        &self,
        thread: &mut Thread,
        tool_choice: ToolChoice<'_>,
        progress: &mut Progress,
        context: &TurnContext,
        events: &Events<'_>,
    ) -> Reply {
        progress.of_step = Account::default();
        let reply = self.reply_in_forms(thread, tool_choice, progress, context, events).await;
        progress.tell(&reply, events);
        reply
    }

    /// Asks until the thread is answered: once more in its plain form when the server says that its history is broken,
    /// and when it says that it is too long, once more with old outputs short, and once more with the newest ones cut.
    async fn reply_in_forms(
        &self,
        thread: &mut Thread,
        tool_choice: ToolChoice<'_>,
        progress: &mut Progress,
        context: &TurnContext,
        events: &Events<'_>,
    ) -> Reply {
        let mut attempts = Attempts::new(self.retries);
        let mut forms = Forms::default();
        loop {
            let reply = self.send(thread, tool_choice, progress, &mut attempts, context, events).await;
            let Some(trouble) = Trouble::of(&reply) else { return reply };
            if trouble.may_be_mended()
                && let Some(reached) = progress.spent.used_up(&self.limits)
            {
                return reply.bounded(reached);
            }
            let Some(reason) = forms.change(thread, trouble.kind) else { return forms.explained(reply) };
            if context.last_step.is_cancelled() {
                return reply.cancelled();
            }
            if trouble.was_shown {
                events.emit(&Event::Discarded);
            }
            let again = attempts.in_other_form(reason, trouble.message);
            if reply::wait(&again, context, events).await.is_none() {
                return Reply::Cancelled { texts: Vec::new() };
            }
        }
    }

    /// Asks with the thread as it is sent by now, and counts what that used.
    async fn send(
        &self,
        thread: &mut Thread,
        tool_choice: ToolChoice<'_>,
        progress: &mut Progress,
        attempts: &mut Attempts,
        context: &TurnContext,
        events: &Events<'_>,
    ) -> Reply {
        let info = self.model.info();
        let fixed = context::fixed_bytes(prompt::INSTRUCTIONS, self.tools.specs());
        let cache_key = thread.id().clone();
        let budget = context::budget(&self.limits, info.context_window);
        // The model inside askls has no window, and a guided one is asked for less at once.
        let is_bounded = self.limits.context_tokens.or(self.limits.window).is_some()
            && info.wire.is_some()
            && self.model.sends_as_given();
        while is_bounded
            && let estimated = context::estimate(fixed, &thread.request_items(fixed, budget))
            && let Some(reached) = Reached::context(estimated, &self.limits)
        {
            if !thread.shrink() {
                return Reply::Bounded { texts: Vec::new(), reached };
            }
        }
        let items = thread.request_items(fixed, budget);
        let estimated = context::estimate(fixed, &items);
        let request = Request {
            instructions: prompt::INSTRUCTIONS,
            items: &items,
            tools: self.tools.specs(),
            tool_choice,
            answer_schema: None,
            cache_key: cache_key.as_str(),
        };
        let mut meter = Meter {
            estimated,
            price: info.price,
            limits: &self.limits,
            spent: &mut progress.spent,
            counted: Usage::default(),
            used: Usage::default(),
            is_estimated: false,
        };
        let mut reply = reply::ask(&*self.model, request, attempts, &mut meter, context, events).await;
        let Meter { counted, used, is_estimated, .. } = meter;
        if let Reply::Broken { error, .. } = &mut reply
            && error.kind == ErrorKind::History
        {
            error.message = naming_the_item(&error.message, &items);
        }
        drop(items);
        if let Reply::Whole { usage, .. } = &reply {
            thread.fit.count(estimated, usage.input_tokens);
        }
        // The model inside askls reads no tokens; what is estimated of it only keeps its bounds.
        let (used, is_estimated) = match info.wire {
            Some(_) => (used, is_estimated),
            None => (counted, false),
        };
        let cost = thread.spend(used, info.price);
        for account in [&mut progress.account, &mut progress.of_step] {
            account.add(used, cost, is_estimated);
        }
        reply
    }
}

impl Progress {
    /// Tells what the turn has used, when a step has used something or is whole.
    fn tell(&self, reply: &Reply, events: &Events<'_>) {
        let (account, of_step) = (self.account, self.of_step);
        if matches!(reply, Reply::Whole { .. }) || of_step.usage != Usage::default() {
            events.emit(&Event::Usage {
                step: self.steps,
                usage: account.usage,
                cost: account.cost,
                is_estimated: account.is_estimated,
                step_usage: of_step.usage,
                step_cost: of_step.cost,
                step_is_estimated: of_step.is_estimated,
            });
        }
    }
}

/// What a server says of a history that it refuses, and which item it means.
fn naming_the_item(message: &str, items: &[Item]) -> String {
    let quoted = |text: &str| one_line(text, MAX_ITEM_CHARS);
    let named = match history::blamed(items, message) {
        Some(Item::User(message)) => format!("it means the question: {}", quoted(&message.text)),
        Some(Item::Agent(message)) => format!("it means the answer: {}", quoted(&message.text)),
        Some(Item::Call(call)) => {
            format!("it means the call: {} {}", quoted(&call.name), quoted(&call.arguments))
        }
        Some(Item::Output(output)) => format!("it means the output: {}", quoted(&output.text)),
        Some(Item::Reasoning(_)) => "it means the model's reasoning".to_owned(),
        Some(Item::Opaque(raw)) => format!("it means the item: {}", quoted(&raw.json)),
        None if items.len() == 1 => "it does not say what of it it means".to_owned(),
        None => format!("it does not say which of {} items it means", items.len()),
    };
    format!("{message}; {named}")
}

fn is_refusal(item: &Item) -> bool {
    matches!(item, Item::Agent(message) if message.state == MessageState::Refusal)
}

/// The words with which the model declined.
fn refusal(items: &[Item]) -> Option<String> {
    items.iter().find_map(|item| match item {
        Item::Agent(message) if is_refusal(item) && !message.text.trim().is_empty() => {
            Some(message.text.clone())
        }
        _ => None,
    })
}

/// What the model said, after what it had said before its server paused it.
pub(super) fn words(before: &str, items: &[Item]) -> String {
    let texts = items.iter().filter_map(|item| match item {
        Item::Agent(message) if !message.text.is_empty() => Some(message.text.as_str()),
        _ => None,
    });
    let texts: Vec<_> = Some(before).filter(|text| !text.is_empty()).into_iter().chain(texts).collect();
    texts.join("\n\n")
}
