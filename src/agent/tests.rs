//! A scripted model in, the history as plain lines out.

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
    model::{ErrorKind, ModelEvent, ModelInfo, ModelStream, Retry},
    protocol::{AgentMessage, ToolCall},
    tools::{Effect, Tool, ToolContext, ToolError},
    workspace::Workspace,
};

type Step = Result<Vec<Result<ModelEvent, ModelError>>, ModelError>;

/// Answers each request with the next entry of its script, and keeps what it was asked.
struct Scripted {
    info: ModelInfo,
    script: Mutex<std::vec::IntoIter<Step>>,
    requests: Mutex<Vec<(usize, String)>>,
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
}

impl ModelClient for Scripted {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<ModelStream, ModelError>> {
        self.requests.lock().unwrap().push((request.items.len(), format!("{:?}", request.tool_choice)));
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
    ran: Arc<AtomicUsize>,
    cancel: CancellationToken,
}

impl Bench {
    fn new(model: Arc<Scripted>, answer: Answer) -> Self {
        let ran = Arc::new(AtomicUsize::new(0));
        let tools = Toolbox::default()
            .with(Add)
            .with(Look)
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
            ran,
            cancel: CancellationToken::new(),
        }
    }

    async fn ask(&mut self, prompt: &str) -> TurnResult {
        let context = TurnContext {
            files: Arc::new(TurnFiles::new(Arc::new(Workspace::new(Vec::new())))),
            events: self.events.clone(),
            approver: self.approver.clone(),
            cancel: self.cancel.clone(),
        };
        let input = UserInput { prompt: prompt.to_owned(), ..UserInput::default() };
        self.agent.run_turn(&mut self.thread, input, &context).await
    }

    fn history(&self) -> String {
        self.thread.items().iter().map(|item| line(item) + "\n").collect()
    }
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

// SPEC L1
#[tokio::test]
async fn a_turn_goes_on_until_a_reply_has_no_calls() {
    let script = vec![
        reply([call("1", "add", r#"{"a":2,"b":2}"#)]),
        reply([call("2", "add", r#"{"a":4,"b":1}"#)]),
        reply([text("five")]),
    ];
    check(
        script,
        expect![[r#"
            user: 2+2?
            call: add {"a":2,"b":2}
            output: 4
            call: add {"a":4,"b":1}
            output: 5
            agent: five
            => answer
        "#]],
    )
    .await;
}

// SPEC L6
#[tokio::test]
async fn text_beside_calls_is_kept_and_the_calls_run() {
    let script = vec![reply([text("let me see"), call("1", "add", r#"{"a":2,"b":2}"#)]), reply([text("4")])];
    check(
        script,
        expect![[r#"
            user: 2+2?
            agent: let me see
            call: add {"a":2,"b":2}
            output: 4
            agent: 4
            => answer
        "#]],
    )
    .await;
}

// SPEC E1, E3, E4, E5, E7
#[tokio::test]
async fn whatever_is_wrong_with_a_call_is_its_output() {
    let script = vec![
        reply([
            call("1", "mul", "{}"),
            call("2", "add", "{oops"),
            call("3", "add", r#"{"a":"two","b":2}"#),
            call("4", "add", ""),
            call("5", "add", r#"{"a":666,"b":2}"#),
        ]),
        reply([text("sorry")]),
    ];
    check(
        script,
        expect![[r#"
            user: 2+2?
            call: mul {}
            call: add {oops
            call: add {"a":"two","b":2}
            call: add 
            call: add {"a":666,"b":2}
            error: there is no tool named mul; use one of: add, execute, look
            error: the arguments of add do not fit its schema: key must be a string at line 1 column 2
            error: the arguments of add do not fit its schema: a: invalid type: string "two", expected i64; its arguments are {a: integer, b: integer}
            error: the arguments of add do not fit its schema: missing field `a`; its arguments are {a: integer, b: integer}
            error: add broke down (a fault in askls, not in your call); try another way
            agent: sorry
            => answer
        "#]],
    )
    .await;
}

// SPEC L3, L4
#[tokio::test(start_paused = true)]
async fn readers_run_side_by_side_and_answer_in_call_order() {
    let calls =
        [300, 200, 100, 250].map(|ms| call(&ms.to_string(), "look", &format!(r#"{{"milliseconds":{ms}}}"#)));
    let mut bench = Bench::new(Scripted::new(vec![reply(calls), reply([text("ok")])]), Answer::AllowOnce);
    let start = tokio::time::Instant::now();
    bench.ask("look").await;
    assert_eq!(start.elapsed(), Duration::from_millis(300));
    expect![[r#"
        user: look
        call: look {"milliseconds":300}
        call: look {"milliseconds":200}
        call: look {"milliseconds":100}
        call: look {"milliseconds":250}
        output: looked 300
        output: looked 200
        output: looked 100
        output: looked 250
        agent: ok
    "#]]
    .assert_eq(&bench.history());
}

// SPEC L4, L5
#[tokio::test(start_paused = true)]
async fn calls_that_change_things_run_one_at_a_time() {
    let calls =
        [10, 20, 30].map(|ms| call(&ms.to_string(), "execute", &format!(r#"{{"milliseconds":{ms}}}"#)));
    let mut bench = Bench::new(Scripted::new(vec![reply(calls), reply([text("ok")])]), Answer::AllowOnce);
    let start = tokio::time::Instant::now();
    bench.ask("run").await;
    assert_eq!((start.elapsed(), bench.ran.load(Ordering::SeqCst)), (Duration::from_millis(60), 3));
}

// SPEC A3
#[tokio::test]
async fn a_denied_call_does_not_run_and_its_reason_reaches_the_model() {
    let script = vec![
        reply([call("1", "execute", r#"{"milliseconds":0}"#), call("2", "add", r#"{"a":1,"b":1}"#)]),
        reply([text("understood")]),
    ];
    let mut bench = Bench::new(Scripted::new(script), Answer::Deny { reason: "not on Mondays".to_owned() });
    bench.ask("run").await;
    assert_eq!(bench.ran.load(Ordering::SeqCst), 0);
    expect![[r#"
        user: run
        call: execute {"milliseconds":0}
        call: add {"a":1,"b":1}
        error: this call was not allowed and did not run: not on Mondays
        output: 2
        agent: understood
    "#]]
    .assert_eq(&bench.history());
}

// SPEC A4
#[tokio::test]
async fn a_call_allowed_for_the_thread_is_not_asked_about_again_but_another_one_is() {
    let run = |id: &str, ms: u32| call(id, "execute", &format!(r#"{{"milliseconds":{ms}}}"#));
    let script = vec![
        reply([run("1", 0)]),
        reply([run("2", 0)]),
        reply([text("twice")]),
        reply([run("3", 0), run("4", 1)]),
        reply([text("and more")]),
    ];
    let mut bench = Bench::new(Scripted::new(script), Answer::AllowForThread);
    bench.ask("run").await;
    bench.ask("again").await;
    let asked = bench.approver.1.load(Ordering::SeqCst);
    assert_eq!((asked, bench.ran.load(Ordering::SeqCst)), (2, 4));
}

// SPEC L8, L9, L10, L12
#[tokio::test]
async fn a_turn_that_uses_up_its_steps_ends_with_that_limit_and_a_thread_that_goes_on() {
    let again =
        |n: i32| reply([text("looking"), call(&n.to_string(), "add", &format!(r#"{{"a":{n},"b":0}}"#))]);
    let mut bench =
        Bench::new(Scripted::new(vec![again(1), again(2), reply([text("three")])]), Answer::AllowOnce);
    bench.agent.limits = Limits { max_steps: 2, on_limit: OnLimit::Message, ..Limits::default() };
    let result = bench.ask("count").await;
    expect![[r#"
        => limit steps: stopped after 2 steps, the limit of max_steps (the last tool was add); raise max_steps, or ask to go on
    "#]]
    .assert_eq(&ending(&result));
    assert_eq!((bench.model.requests(), result.answer.as_str()), (2, "looking"));
    assert_eq!(bench.ask("go on").await.answer, "three");
}

// SPEC L11
#[tokio::test]
async fn a_final_answer_is_one_more_request_in_which_no_tool_may_be_called() {
    let again = |n: i32| reply([call(&n.to_string(), "add", &format!(r#"{{"a":{n},"b":0}}"#))]);
    let limits = Limits { max_steps: 2, on_limit: OnLimit::FinalAnswer, ..Limits::default() };
    let mut bench =
        Bench::new(Scripted::new(vec![again(1), again(2), reply([text("so far: 2")])]), Answer::AllowOnce);
    bench.agent.limits = limits.clone();
    let result = bench.ask("count").await;
    assert_eq!(
        (result.answer.as_str(), result.stop_reason, result.steps),
        ("so far: 2", StopReason::Answer, 3)
    );
    assert_eq!(bench.model.requests.lock().unwrap()[2].1, "None");

    let mut bench = Bench::new(Scripted::new(vec![again(1), again(2), again(3)]), Answer::AllowOnce);
    bench.agent.limits = limits;
    let result = bench.ask("count").await;
    expect![[r#"
        user: count
        call: add {"a":1,"b":0}
        output: 1
        call: add {"a":2,"b":0}
        output: 2
        call: add {"a":3,"b":0}
        error: this call did not run: the turn ended before it was its turn
        => limit steps: stopped after 2 steps, the limit of max_steps (the last tool was add), and no final answer came
    "#]]
    .assert_eq(&(bench.history() + &ending(&result)));
}

// SPEC S3
#[tokio::test]
async fn a_reply_that_breaks_off_is_kept_as_partial_and_none_of_its_calls_run() {
    let script = vec![broken_off([
        text("first"),
        call("1", "execute", r#"{"milliseconds":0}"#),
        vec![Ok(ModelEvent::TextDelta("and th".to_owned()))],
    ])];
    check(
        script,
        expect![[r#"
            user: 2+2?
            agent (partial): first
            agent (partial): and th
            => interrupted: the connection closed
        "#]],
    )
    .await;
}

// SPEC S6, E12
#[tokio::test]
async fn a_reply_cut_at_the_token_limit_runs_no_call() {
    let cut = text("first")
        .into_iter()
        .chain(call("1", "execute", r#"{"milliseconds":0}"#))
        .chain(done(Finish::Length));
    check(
        vec![Ok(cut.collect())],
        expect![[r#"
            user: 2+2?
            agent (partial): first
            => limit output_tokens: the answer was cut off at the model's output limit; ask it to go on
        "#]],
    )
    .await;
}

// SPEC S7
#[tokio::test]
async fn a_refusal_is_not_an_answer() {
    let message = AgentMessage { text: "no".to_owned(), state: MessageState::Refusal, raw: None };
    check(
        vec![reply([vec![Ok(ModelEvent::Item(Item::Agent(message)))]])],
        expect![[r#"
            user: 2+2?
            agent (refusal): no
            => refused: the model declined to answer
        "#]],
    )
    .await;
}

// SPEC L16
#[tokio::test]
async fn an_empty_reply_has_a_name_of_its_own() {
    check(
        vec![reply([])],
        expect![[r#"
            user: 2+2?
            => empty: the model ended its turn without an answer; ask again, or in other words
        "#]],
    )
    .await;
}

// SPEC L15
#[tokio::test]
async fn the_third_same_call_in_a_row_is_refused_and_the_fifth_ends_the_turn() {
    let same = |n: i32| reply([call(&n.to_string(), "add", r#"{"a":1,"b":1}"#)]);
    check(
        (1..=5).map(same).collect(),
        expect![[r#"
            user: 2+2?
            call: add {"a":1,"b":1}
            output: 2
            call: add {"a":1,"b":1}
            output: 2
            call: add {"a":1,"b":1}
            error: this is the same call to add as the 2 before it, so it was not run again; use what it answered, or do something else
            call: add {"a":1,"b":1}
            error: this is the same call to add as the 3 before it, so it was not run again; use what it answered, or do something else
            call: add {"a":1,"b":1}
            error: this is the same call to add as the 4 before it, so it was not run again; use what it answered, or do something else
            => limit repeated_call: stopped: the model made the same call to add 5 times in a row
        "#]],
    )
    .await;
}

// SPEC L14
#[tokio::test]
async fn six_failed_calls_in_a_row_end_the_turn() {
    let failing = |n: i32| reply([call(&n.to_string(), "add", &format!(r#"{{"a":{n}}}"#))]);
    let mut bench = Bench::new(Scripted::new((1..=6).map(failing).collect()), Answer::AllowOnce);
    let result = bench.ask("add").await;
    assert_eq!(ending(&result), "=> limit tool_errors: stopped: the last 6 calls all failed\n");
}

#[tokio::test]
async fn calls_that_fail_in_one_step_are_one_mistake() {
    let failing = (1..=8).map(|n| call(&n.to_string(), "add", &format!(r#"{{"a":{n}}}"#)));
    let mut bench =
        Bench::new(Scripted::new(vec![reply(failing), reply([text("I see")])]), Answer::AllowOnce);
    assert_eq!(bench.ask("add").await.answer, "I see");
}

// SPEC S13
#[tokio::test(start_paused = true)]
async fn a_busy_server_is_asked_again_after_the_wait_it_asked_for() {
    let busy = || {
        let error = ModelError::new(ErrorKind::RateLimited, "429");
        Err(ModelError { retry: Retry::After(Duration::from_secs(7)), ..error })
    };
    let mut bench = Bench::new(Scripted::new(vec![busy(), busy(), reply([text("4")])]), Answer::AllowOnce);
    let start = tokio::time::Instant::now();
    let result = bench.ask("2+2?").await;
    assert_eq!((result.answer.as_str(), start.elapsed()), ("4", Duration::from_secs(14)));
}

// SPEC S13
#[tokio::test(start_paused = true)]
async fn what_cannot_succeed_is_not_asked_again() {
    for error in [
        ModelError::new(ErrorKind::Auth, "no"),
        ModelError::new(ErrorKind::Quota, "no"),
        ModelError::new(ErrorKind::Rejected, "no"),
        ModelError {
            retry: Retry::After(Duration::from_secs(3600)),
            ..ModelError::new(ErrorKind::RateLimited, "no")
        },
    ] {
        let mut bench = Bench::new(Scripted::new(vec![Err(error)]), Answer::AllowOnce);
        let result = bench.ask("2+2?").await;
        assert_eq!((ending(&result).as_str(), bench.model.requests()), ("=> provider_error: no\n", 1));
    }
}

// SPEC S5
#[tokio::test(start_paused = true)]
async fn a_reply_of_which_something_was_shown_is_never_asked_for_again() {
    let script = vec![broken_off([vec![Ok(ModelEvent::TextDelta("on".to_owned()))]])];
    let mut bench = Bench::new(Scripted::new(script), Answer::AllowOnce);
    let result = bench.ask("2+2?").await;
    assert_eq!((result.stop_reason, bench.model.requests()), (StopReason::Interrupted, 1));
}

// SPEC C7, C9
#[tokio::test(start_paused = true)]
async fn cancelling_in_a_call_ends_soon_with_every_call_answered() {
    let calls =
        [call("1", "execute", r#"{"milliseconds":60000}"#), call("2", "execute", r#"{"milliseconds":1}"#)];
    let script = vec![reply(calls), reply([text("back again")])];
    let mut bench = Bench::new(Scripted::new(script), Answer::AllowOnce);
    let cancel = bench.cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancel.cancel();
    });
    let start = tokio::time::Instant::now();
    let result = bench.ask("run").await;
    assert!(start.elapsed() < Duration::from_secs(2));
    expect![[r#"
        user: run
        call: execute {"milliseconds":60000}
        call: execute {"milliseconds":1}
        error: execute was cancelled before it ended
        error: this call did not run: the turn ended before it was its turn
        => cancelled: stopped by the user
    "#]]
    .assert_eq(&(bench.history() + &ending(&result)));

    bench.cancel = CancellationToken::new();
    assert_eq!(bench.ask("go on").await.answer, "back again");
}

// SPEC C7
#[tokio::test(start_paused = true)]
async fn cancelling_a_stream_keeps_what_was_said() {
    let script = vec![Ok(vec![Ok(ModelEvent::TextDelta("so f".to_owned()))])];
    let mut bench = Bench::new(Scripted::silent(script), Answer::AllowOnce);
    let cancel = bench.cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancel.cancel();
    });
    let result = bench.ask("2+2?").await;
    expect![[r#"
        user: 2+2?
        agent (partial): so f
        => cancelled: stopped by the user
    "#]]
    .assert_eq(&(bench.history() + &ending(&result)));
}

/// A face that breaks down at every event.
struct Broken;

impl EventSink for Broken {
    fn emit(&self, _event: &Event) {
        panic!("the window is gone");
    }
}

// SPEC C10
#[tokio::test]
async fn a_face_that_breaks_down_does_not_stop_the_turn() {
    let script = vec![reply([call("1", "add", r#"{"a":2,"b":2}"#)]), reply([text("4")])];
    let bench = Bench::new(Scripted::new(script), Answer::AllowOnce);
    let context = TurnContext {
        files: Arc::new(TurnFiles::new(Arc::new(Workspace::new(Vec::new())))),
        events: Arc::new(Broken),
        approver: bench.approver.clone(),
        cancel: CancellationToken::new(),
    };
    let mut thread = Thread::new();
    let result = bench.agent.run_turn(&mut thread, UserInput::default(), &context).await;
    assert_eq!(result.answer, "4");
}

// SPEC C1, C2, C3
#[tokio::test]
async fn every_start_has_one_end_on_every_ending() {
    let endings: Vec<Vec<Step>> = vec![
        vec![reply([call("1", "add", r#"{"a":2,"b":2}"#)]), reply([text("4")])],
        vec![reply([call("1", "add", "{")]), broken_off([])],
        vec![Err(ModelError::new(ErrorKind::Auth, "no"))],
        vec![reply([])],
    ];
    for script in endings {
        let attempts = std::iter::repeat_with(|| broken_off([])).take(2);
        let mut bench =
            Bench::new(Scripted::new(script.into_iter().chain(attempts).collect()), Answer::AllowOnce);
        tokio::time::pause();
        bench.ask("2+2?").await;
        tokio::time::resume();
        let events = bench.events.0.lock().unwrap();
        let count = |wanted: fn(&Event) -> bool| events.iter().filter(|event| wanted(event)).count();
        assert!(matches!(events.first(), Some(Event::TurnStarted { .. })));
        assert!(matches!(events.last(), Some(Event::TurnEnded { .. })));
        assert_eq!(count(|event| matches!(event, Event::TurnEnded { .. })), 1);
        assert_eq!(
            count(|event| matches!(event, Event::ToolStarted { .. })),
            count(|event| matches!(event, Event::ToolEnded { .. }))
        );
    }
}

// SPEC H6
#[tokio::test]
async fn the_next_turn_is_sent_with_all_of_the_one_before() {
    let script = vec![
        reply([call("1", "add", r#"{"a":2,"b":2}"#)]),
        reply([text("4")]),
        reply([text("as I said, 4")]),
    ];
    let mut bench = Bench::new(Scripted::new(script), Answer::AllowOnce);
    bench.ask("2+2?").await;
    bench.ask("sure?").await;
    let items: Vec<usize> = bench.model.requests.lock().unwrap().iter().map(|(items, _)| *items).collect();
    assert_eq!(items, [1, 3, 5]);
}

#[tokio::test]
async fn a_plan_cannot_do_more_than_read() {
    let script = vec![reply([call("1", "execute", r#"{"milliseconds":0}"#)]), reply([text("a plan")])];
    let mut bench = Bench::new(Scripted::new(script), Answer::AllowOnce);
    let context = TurnContext {
        files: Arc::new(TurnFiles::new(Arc::new(Workspace::new(Vec::new())))),
        events: bench.events.clone(),
        approver: bench.approver.clone(),
        cancel: CancellationToken::new(),
    };
    let input = UserInput { prompt: "plan".to_owned(), mode: Mode::Plan, focus: None };
    bench.agent.run_turn(&mut bench.thread, input, &context).await;
    assert_eq!(bench.ran.load(Ordering::SeqCst), 0);
}
