//! A scripted model in, the history as plain lines out.

mod calls;
mod endings;
mod guardrails;
mod limits;
#[cfg(unix)]
mod outside;
mod project_limits;
mod retries;
mod turns;

use std::{
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use expect_test::{Expect, expect};
use futures::{FutureExt, StreamExt, future::BoxFuture, stream};
use schemars::JsonSchema;
use serde::Deserialize;

use super::*;
use crate::{
    model::{ErrorKind, Finish, ModelError, ModelEvent, ModelInfo, ModelStream, Price, Request, Retry, Room},
    protocol::{AgentMessage, Item, MessageState, ToolCall},
    tools::{Access, Effect, Tool, ToolContext, ToolError},
    workspace::Workspace,
};

type Step = Result<Vec<Result<ModelEvent, ModelError>>, ModelError>;

/// What a request held.
struct Asked {
    items: Vec<Item>,
    tool_choice: String,
}

/// Answers each request with the next entry of its script, and keeps what it was asked.
struct Scripted {
    info: ModelInfo,
    script: Mutex<std::vec::IntoIter<Step>>,
    requests: Mutex<Vec<Asked>>,
    /// The last stream ends neither with an end nor with an error: it stays silent.
    silent_at_end: bool,
}

impl Scripted {
    fn new(script: Vec<Step>) -> Arc<Self> {
        Arc::new(Self::build(script, false))
    }

    fn silent(script: Vec<Step>) -> Arc<Self> {
        Arc::new(Self::build(script, true))
    }

    fn build(script: Vec<Step>, silent_at_end: bool) -> Self {
        let info = ModelInfo {
            name: "scripted".to_owned(),
            wire: None,
            server: None,
            context_window: None,
            price: None,
        };
        Self { info, script: Mutex::new(script.into_iter()), requests: Mutex::default(), silent_at_end }
    }

    fn requests(&self) -> usize {
        self.requests.lock().unwrap().len()
    }

    /// The items of a request as plain lines; the first is 1.
    fn request(&self, number: usize) -> String {
        lines(&self.requests.lock().unwrap()[number - 1].items)
    }

    fn tool_choices(&self) -> Vec<String> {
        self.requests.lock().unwrap().iter().map(|asked| asked.tool_choice.clone()).collect()
    }
}

impl ModelClient for Scripted {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<ModelStream, ModelError>> {
        let asked =
            Asked { items: request.items.to_vec(), tool_choice: format!("{:?}", request.tool_choice) };
        self.requests.lock().unwrap().push(asked);
        let step = self.script.lock().unwrap().next().expect("the script is used up");
        let silent = self.silent_at_end && self.script.lock().unwrap().len() == 0;
        async move {
            let events = stream::iter(step?);
            Ok(if silent { events.chain(stream::pending()).boxed() } else { events.boxed() })
        }
        .boxed()
    }
}

fn text(words: &str) -> Vec<Result<ModelEvent, ModelError>> {
    let message = AgentMessage { text: words.to_owned(), state: MessageState::Whole, raw: None };
    vec![Ok(ModelEvent::TextDelta(words.to_owned())), Ok(ModelEvent::Item(Item::Agent(message)))]
}

fn call(id: &str, name: &str, arguments: &str) -> Vec<Result<ModelEvent, ModelError>> {
    let (id, name, arguments) = (id.to_owned(), name.to_owned(), arguments.to_owned());
    vec![Ok(ModelEvent::Item(Item::Call(ToolCall { id, name, arguments, raw: None })))]
}

fn done(finish: Finish) -> Vec<Result<ModelEvent, ModelError>> {
    let usage = Usage { input_tokens: 10, output_tokens: 2, ..Usage::default() };
    vec![Ok(ModelEvent::Done { finish, usage: Some(usage) })]
}

/// A reply that ends properly.
fn reply(parts: impl IntoIterator<Item = Vec<Result<ModelEvent, ModelError>>>) -> Step {
    Ok(parts.into_iter().flatten().chain(done(Finish::Stop)).collect())
}

fn broken_off(parts: impl IntoIterator<Item = Vec<Result<ModelEvent, ModelError>>>) -> Step {
    let error = ModelError::new(ErrorKind::Interrupted, "the connection closed".to_owned());
    Ok(parts.into_iter().flatten().chain([Err(error)]).collect())
}

/// Adds two numbers.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Numbers {
    /// The first.
    a: i64,
    /// The second.
    b: i64,
}

struct Add;

impl Tool for Add {
    const NAME: &'static str = "add";
    const EFFECT: Effect = Effect::Read;
    type Args = Numbers;

    fn target(args: &Numbers) -> String {
        format!("{} + {}", args.a, args.b)
    }

    async fn run(&self, args: Numbers, _context: ToolContext) -> Result<String, ToolError> {
        assert_ne!(args.a, 666, "a fault in a tool");
        Ok((args.a + args.b).to_string())
    }
}

/// Says once more what was added.
struct AddedBefore;

impl Tool for AddedBefore {
    const NAME: &'static str = "added_before";
    const EFFECT: Effect = Effect::Read;
    type Args = Nothing;

    fn target(_args: &Nothing) -> String {
        String::new()
    }

    fn access(&self, _args: &Nothing) -> Access {
        Access { repeats: Some(Add::NAME), ..Access::default() }
    }

    async fn run(&self, _args: Nothing, _context: ToolContext) -> Result<String, ToolError> {
        Ok("4".to_owned())
    }
}

/// Says the line `a` until it has said `b` bytes.
struct Recite;

impl Tool for Recite {
    const NAME: &'static str = "recite";
    const EFFECT: Effect = Effect::Read;
    type Args = Numbers;

    fn target(args: &Numbers) -> String {
        args.a.to_string()
    }

    async fn run(&self, args: Numbers, _context: ToolContext) -> Result<String, ToolError> {
        let text = format!("line {}\n", args.a).repeat(args.b.unsigned_abs() as usize);
        Ok(text.chars().take(args.b.unsigned_abs() as usize).collect())
    }
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

struct SayNothing;

impl Tool for SayNothing {
    const NAME: &'static str = "say_nothing";
    const EFFECT: Effect = Effect::Read;
    type Args = Nothing;

    fn target(_args: &Nothing) -> String {
        String::new()
    }

    async fn run(&self, _args: Nothing, _context: ToolContext) -> Result<String, ToolError> {
        Ok(String::new())
    }
}

/// Waits.
#[derive(Deserialize, JsonSchema)]
struct Wait {
    milliseconds: u64,
}

/// Looks for a while.
struct Look;

impl Tool for Look {
    const NAME: &'static str = "look";
    const EFFECT: Effect = Effect::Read;
    type Args = Wait;

    fn target(args: &Wait) -> String {
        args.milliseconds.to_string()
    }

    async fn run(&self, args: Wait, _context: ToolContext) -> Result<String, ToolError> {
        tokio::time::sleep(Duration::from_millis(args.milliseconds)).await;
        Ok(format!("looked {}", args.milliseconds))
    }
}

/// Runs something, and counts how often; never more than one at once.
#[derive(Default)]
struct Execute {
    ran: Arc<AtomicUsize>,
    running: AtomicUsize,
}

impl Tool for Execute {
    const NAME: &'static str = "execute";
    const EFFECT: Effect = Effect::Execute;
    type Args = Wait;

    fn target(args: &Wait) -> String {
        format!("wait {}", args.milliseconds)
    }

    async fn run(&self, args: Wait, _context: ToolContext) -> Result<String, ToolError> {
        assert_eq!(self.running.fetch_add(1, Ordering::SeqCst), 0, "two at once");
        self.ran.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(args.milliseconds)).await;
        self.running.fetch_sub(1, Ordering::SeqCst);
        Ok("ran".to_owned())
    }
}

/// Answers every question with the same answer and counts them.
struct Always(Answer, AtomicUsize);

impl Approver for Always {
    fn ask(&self, _question: Question) -> BoxFuture<'_, Answer> {
        self.1.fetch_add(1, Ordering::SeqCst);
        std::future::ready(self.0.clone()).boxed()
    }
}

/// Keeps the events.
#[derive(Default)]
struct Kept(Mutex<Vec<Event>>);

impl EventSink for Kept {
    fn emit(&self, event: &Event) {
        self.0.lock().unwrap().push(event.clone());
    }
}

/// A thread, an agent over a scripted model, and all that a turn touches.
struct Bench {
    agent: Agent,
    model: Arc<Scripted>,
    thread: Thread,
    events: Arc<Kept>,
    approver: Arc<Always>,
    guardrails: Guardrails,
    ran: Arc<AtomicUsize>,
    cancel: CancellationToken,
    last_step: CancellationToken,
}

impl Bench {
    fn new(model: Arc<Scripted>, answer: Answer) -> Self {
        let ran = Arc::new(AtomicUsize::new(0));
        let tools = Toolbox::default()
            .with(Add)
            .with(Look)
            .with(Recite)
            .with(SayNothing)
            .with(Execute { ran: Arc::clone(&ran), ..Execute::default() });
        let agent = Agent {
            model: Arc::clone(&model) as Arc<dyn ModelClient>,
            tools,
            limits: Limits::default(),
            policy: ApprovalPolicy::default(),
            retries: RetryPolicy::default(),
            first_tool: FirstTool::default(),
        };
        Self {
            agent,
            model,
            thread: Thread::new(),
            events: Arc::default(),
            approver: Arc::new(Always(answer, AtomicUsize::new(0))),
            guardrails: Guardrails::default(),
            ran,
            cancel: CancellationToken::new(),
            last_step: CancellationToken::new(),
        }
    }

    fn context(&self) -> TurnContext {
        TurnContext {
            files: Arc::new(TurnFiles::new(Arc::new(Workspace::new(Vec::new())))),
            events: self.events.clone(),
            approver: self.approver.clone(),
            guardrails: self.guardrails.clone(),
            applier: None,
            jobs: Jobs::default(),
            cancel: self.cancel.clone(),
            last_step: self.last_step.clone(),
        }
    }

    async fn ask(&mut self, prompt: &str) -> TurnResult {
        let context = self.context();
        let input = UserInput { prompt: prompt.to_owned(), ..UserInput::default() };
        let result = self.agent.run_turn(&mut self.thread, input, &context).await;
        // Whatever the ending: what askls made needs no mending.
        assert_eq!(crate::model::history::repaired(self.thread.items()).mends, []);
        result
    }

    fn history(&self) -> String {
        lines(self.thread.items())
    }

    /// What the face was told of the replies.
    fn shown(&self) -> String {
        self.events.0.lock().unwrap().iter().filter_map(shown).map(|line| line + "\n").collect()
    }
}

fn shown(event: &Event) -> Option<String> {
    Some(match event {
        Event::StepStarted { step, .. } => format!("step {step}"),
        Event::Text { text } => format!("text: {text}"),
        Event::Reasoning { text } => format!("thought: {text}"),
        Event::ToolStarted { name, arguments, .. } => format!("tool: {name} {arguments}"),
        Event::Discarded => "discarded".to_owned(),
        Event::Retrying { attempt, max_attempts, reason, detail, .. } => {
            let of = max_attempts.map(|most| format!(" of {most}"));
            format!("retrying, {attempt}{}: {reason}: {detail}", of.unwrap_or_default())
        }
        Event::Usage { usage, cost, .. } => {
            let cost = cost.map(|cost| format!(" {cost}"));
            format!("used: {} {}{}", usage.input_tokens, usage.output_tokens, cost.unwrap_or_default())
        }
        Event::HookActed { hook, kind, action, .. } => format!("{hook}: {} {kind}", action.as_str()),
        Event::TurnStarted { .. }
        | Event::ToolOutput { .. }
        | Event::ToolEnded { .. }
        | Event::EditProposed { .. }
        | Event::TurnEnded { .. } => return None,
    })
}

fn lines(items: &[Item]) -> String {
    items.iter().map(|item| line(item) + "\n").collect()
}

fn line(item: &Item) -> String {
    match item {
        Item::User(message) => format!("user: {}", message.text),
        Item::Agent(message) => match message.state {
            MessageState::Whole => format!("agent: {}", message.text),
            MessageState::Partial => format!("agent (partial): {}", message.text),
            MessageState::Refusal => format!("agent (refusal): {}", message.text),
        },
        Item::Reasoning(reasoning) => format!("reasoning: {}", reasoning.text),
        Item::Call(call) => format!("call: {} {}", call.name, call.arguments),
        Item::Output(output) if output.is_error => format!("error: {}", output.text),
        Item::Output(output) => format!("output: {}", output.text),
        Item::Opaque(raw) => format!("opaque: {}", raw.json),
    }
}

fn ending(result: &TurnResult) -> String {
    let limit = result.stop_reason.limit().map(|limit| format!(" {limit}"));
    let detail = result.detail.as_ref().map(|detail| format!(": {detail}"));
    format!("=> {}{}{}\n", result.stop_reason, limit.unwrap_or_default(), detail.unwrap_or_default())
}

/// One turn with every question answered with "once"; then the history and the ending.
async fn check(script: Vec<Step>, expected: Expect) {
    let mut bench = Bench::new(Scripted::new(script), Answer::AllowOnce);
    let result = bench.ask("2+2?").await;
    expected.assert_eq(&(bench.history() + &ending(&result)));
}
