//! Runs a case against the library: the real agent, its loop, its model client over real HTTP, its tools under their
//! neutral names, and settings as a user's file gives them. What an editor would do is done here in the plainest way:
//! it says yes to questions, and accepts what a turn proposes at its end (nothing after a cancel), unless the case says
//! otherwise.

mod editor;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use askls::{
    agent::{
        Agent, Answer, Approver, EventSink, Focus, Mode, Question, Thread, TurnContext, TurnResult, UserInput,
    },
    config::{Environment, Settings},
    model::{ModelError, select},
    protocol::{Event, StopReason},
    tools::{ToolContext, Toolbox, jobs::Jobs},
    workspace::{TurnFiles, Workspace},
};
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::{sync::Mutex as AsyncMutex, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::{
    case::Run,
    names::{Configured, error_kinds},
    observed::{Ask, End, Observed},
    processes,
    provider::Provider,
    tools::Bench,
    world::World,
};

/// Steps that only an editor can take.
const NEEDS_AN_EDITOR: &[&str] = &[
    "initialize",
    "ask_raw_arguments",
    "request",
    "notify",
    "open",
    "append_changes",
    "repeat_change",
    "wait_message",
    "ping",
    "close_stdin",
    "close_stdout",
    "spawn_dummy",
    "kill_dummy",
    "on_server_request",
    "answer_pending",
    "wait_process",
];

/// Whether a step of the run needs the real server.
pub(crate) fn needs_an_editor(run: &Run) -> bool {
    let steps = run.when["steps"].as_array();
    steps.into_iter().flatten().any(|step| NEEDS_AN_EDITOR.iter().any(|name| step.get(name).is_some()))
}

/// The parts of askls that a run works with, put together as a face does it.
struct House {
    settings: Settings,
    workspace: Arc<Workspace>,
    bench: Bench,
    toolbox: Toolbox,
    is_read_only: bool,
    approver: Arc<Questions>,
    refusals: Arc<Refusals>,
}

/// Answers questions as the case says, and keeps for which tools they came.
struct Questions {
    state: Mutex<QuestionsState>,
}

struct QuestionsState {
    asked_for: Vec<String>,
    /// Answers of the ask that goes on, first to last; then the default.
    answers: VecDeque<bool>,
    default: bool,
}

/// Calls that the policy refused without a question.
#[derive(Default)]
struct Refusals {
    refused: Mutex<Vec<String>>,
}

/// How long a turn may take to reach its provider.
const LONGEST_START: Duration = Duration::from_secs(5);

/// How the output of a call begins that did not run.
const NOT_ALLOWED: &str = "this call was not allowed and did not run: ";

/// The reason of the one who answers questions here.
const DENIED: &str = "the user denied it";

impl EventSink for Refusals {
    fn emit(&self, event: &Event) {
        if let Event::ToolEnded { name, output, is_error: true, .. } = event
            && output.strip_prefix(NOT_ALLOWED).is_some_and(|reason| reason != DENIED)
        {
            self.refused.lock().unwrap_or_else(PoisonError::into_inner).push(name.clone());
        }
    }
}

/// # Errors
/// Why the run cannot be expressed.
pub(crate) async fn run(
    run: &Run,
    world: &World,
    configured: &Configured,
    provider: &Provider,
    observed: &mut Observed,
) -> Result<(), String> {
    let house = Arc::new(House::build(run, world, configured)?);
    open_buffers(run, world, &house.workspace);
    let started = Instant::now();
    if let Some(calls) = run.when["calls"].as_array() {
        editor::calls(&house, run, world, calls, observed).await?;
    } else if let Some(prompt) = run.when["ask"].as_str() {
        let mut turns = Turns::new(&house, provider);
        turns.start("ask", prompt, &Value::Null);
        if let Err(reason) = turns.wait("ask", run.wall).await {
            observed.faults.push(reason);
        }
        turns.end(observed).await;
    } else if let Some(steps) = run.when["steps"].as_array() {
        let mut turns = Turns::new(&house, provider);
        for step in steps {
            turns.step(step, run.wall, observed).await?;
        }
        turns.end(observed).await;
    } else {
        return Err(format!("`when` has none of ask, calls and steps: {}", run.when));
    }
    observed.elapsed = started.elapsed();
    observed.executions = Some(house.bench.executions());
    observed.asked_for.extend(house.approver.lock().asked_for.iter().cloned());
    observed.refused = house.refusals.refused.lock().unwrap_or_else(PoisonError::into_inner).clone();
    for document in house.workspace.overlay().documents() {
        observed.buffers.insert(document.uri.to_string(), document.text.to_string());
    }
    Ok(())
}

fn open_buffers(run: &Run, world: &World, workspace: &Workspace) {
    for buffer in run.given["open_buffers"].as_array().into_iter().flatten() {
        let uri = buffer["uri"]
            .as_str()
            .map_or_else(|| world.uri(buffer["path"].as_str().unwrap_or_default()), str::to_owned);
        let version = buffer["version"].as_i64().and_then(|version| i32::try_from(version).ok()).unwrap_or(1);
        let text = buffer["text"].as_str().unwrap_or_default();
        workspace.overlay().open(&uri, "plaintext", version, text.to_owned());
    }
}

impl House {
    fn build(run: &Run, world: &World, configured: &Configured) -> Result<Self, String> {
        let mut variables = vec![("HOME".to_owned(), world.home.display().to_string())];
        variables.extend(configured.environment.iter().cloned());
        let roots = world.roots(&run.given);
        let loaded = Settings::load(&Environment::from_pairs(variables), &roots);
        let bench = Bench::new(&loaded.settings.tools(), &run.given["tool_results"]);
        // A turn that only reads shows by itself which tools it leaves out.
        let offered = run.given["tools"].as_array().filter(|_| !configured.is_read_only);
        let toolbox = bench.toolbox(offered)?;
        let default = !configured.denies && run.when["answer_to_ask"] != "deny";
        Ok(Self {
            settings: loaded.settings,
            workspace: Arc::new(Workspace::new(roots)),
            bench,
            toolbox,
            is_read_only: configured.is_read_only,
            refusals: Arc::default(),
            approver: Arc::new(Questions {
                state: Mutex::new(QuestionsState {
                    asked_for: Vec::new(),
                    answers: VecDeque::new(),
                    default,
                }),
            }),
        })
    }

    async fn agent(&self) -> Result<Agent, ModelError> {
        let chosen = select::choose(&self.settings.model_choice()).await?;
        Ok(Agent {
            model: chosen.client,
            tools: self.toolbox.clone(),
            limits: self.settings.limits(),
            policy: self.settings.policy(),
            retries: self.settings.retries(),
            first_tool: self.settings.first_tool(),
        })
    }
}

impl Questions {
    fn lock(&self) -> std::sync::MutexGuard<'_, QuestionsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the user says yes.
    fn ask(&self, tool: &str) -> bool {
        let mut state = self.lock();
        state.asked_for.push(tool.to_owned());
        state.answers.pop_front().unwrap_or(state.default)
    }
}

impl Approver for Questions {
    fn ask(&self, question: Question) -> BoxFuture<'_, Answer> {
        let is_allowed = Questions::ask(self, question.tool);
        Box::pin(async move {
            if is_allowed { Answer::AllowOnce } else { Answer::Deny { reason: DENIED.to_owned() } }
        })
    }
}

/// The turns of one run, all on one thread.
struct Turns<'a> {
    house: Arc<House>,
    provider: &'a Provider,
    /// Requests that the provider had before the last ask.
    asked_before: usize,
    thread: Arc<AsyncMutex<Thread>>,
    running: BTreeMap<String, Running>,
    order: Vec<String>,
    ended: BTreeMap<String, (End, Instant)>,
    cancelled_at: Option<(String, Instant)>,
}

struct Running {
    task: JoinHandle<(End, Instant)>,
    cancel: CancellationToken,
}

impl<'a> Turns<'a> {
    fn new(house: &Arc<House>, provider: &'a Provider) -> Self {
        Self {
            house: Arc::clone(house),
            provider,
            asked_before: 0,
            thread: Arc::new(AsyncMutex::new(Thread::new())),
            running: BTreeMap::new(),
            order: Vec::new(),
            ended: BTreeMap::new(),
            cancelled_at: None,
        }
    }

    async fn step(&mut self, step: &Value, wall: Duration, observed: &mut Observed) -> Result<(), String> {
        if let Some(prompt) = step["ask"].as_str() {
            self.start(step["label"].as_str().unwrap_or("ask"), prompt, step);
            return Ok(());
        }
        if let Some(label) = step["wait_for"].as_str() {
            let limit = step["within_ms"].as_u64().map_or(wall, Duration::from_millis);
            if let Err(reason) = self.wait(label, limit).await {
                observed.faults.push(reason);
            }
            return Ok(());
        }
        if let Some(label) = step["cancel"].as_str() {
            if let Some(running) = self.running.get(label) {
                running.cancel.cancel();
            }
            self.cancelled_at = Some((label.to_owned(), Instant::now()));
            return Ok(());
        }
        if let Some(wait) = step["sleep_ms"].as_u64() {
            self.pause(Duration::from_millis(wait)).await;
            return Ok(());
        }
        Err(format!("the step {step} is not known"))
    }

    /// Lets go on for so long what goes on, and longer where the last turn has not reached its provider by then: a case
    /// means what happens meanwhile, and a busy machine takes its time for it.
    async fn pause(&self, wait: Duration) {
        tokio::time::sleep(wait).await;
        let last = self.order.last().and_then(|label| self.running.get(label));
        let has_ended = || last.is_none_or(|running| running.task.is_finished());
        let is_over = || has_ended() || self.provider.asked() > self.asked_before;
        tokio::task::block_in_place(|| processes::wait(crate::stretched(LONGEST_START), is_over));
    }

    /// Starts a turn and does not wait.
    fn start(&mut self, label: &str, prompt: &str, step: &Value) {
        self.asked_before = self.provider.asked();
        let answers = match &step["on_approval"] {
            Value::Array(answers) => answers.iter().map(|answer| answer == "allow").collect(),
            Value::String(answer) => VecDeque::from(vec![answer == "allow"; 64]),
            _ => VecDeque::new(),
        };
        self.house.approver.lock().answers = answers;
        let cancel = CancellationToken::new();
        let files = Arc::new(TurnFiles::new(Arc::clone(&self.house.workspace)));
        let context = TurnContext {
            files: Arc::clone(&files),
            events: self.house.refusals.clone(),
            approver: self.house.approver.clone(),
            guardrails: Default::default(),
            applier: None,
            jobs: Jobs::default(),
            cancel: cancel.clone(),
            last_step: CancellationToken::new(),
        };
        let focus = step["uri"].as_str().and_then(|uri| files.resolve(uri).ok()).map(|path| Focus {
            path,
            lines: None,
            selection: None,
            diagnostics: Vec::new(),
        });
        let mode = if self.house.is_read_only { Mode::Plan } else { Mode::Ask };
        let input = UserInput { prompt: prompt.to_owned(), mode, focus, ..UserInput::default() };
        let (thread, house) = (Arc::clone(&self.thread), Arc::clone(&self.house));
        let task = tokio::spawn(async move {
            let mut thread = thread.lock().await;
            let agent = tokio::select! {
                agent = house.agent() => agent,
                () = context.cancel.cancelled() => return (cancelled(), Instant::now()),
            };
            let end = match agent {
                Err(error) => ended_before(error.kind.stop_reason(), error.message),
                Ok(agent) => {
                    let result = agent.run_turn(&mut thread, input, &context).await;
                    if result.stop_reason != StopReason::Cancelled {
                        editor::accept(&house, &files.proposal());
                    }
                    end_of(result)
                }
            };
            (end, Instant::now())
        });
        self.order.push(label.to_owned());
        self.running.insert(label.to_owned(), Running { task, cancel });
    }

    async fn wait(&mut self, label: &str, limit: Duration) -> Result<(), String> {
        let Some(running) = self.running.get_mut(label) else { return Ok(()) };
        match tokio::time::timeout(crate::stretched(limit), &mut running.task).await {
            Ok(Ok(end)) => {
                self.running.remove(label);
                self.ended.insert(label.to_owned(), end);
                Ok(())
            }
            Ok(Err(error)) => {
                self.running.remove(label);
                Err(format!("the turn {label} broke down: {error}"))
            }
            Err(_) => Err(format!("the turn {label} did not end within {limit:?}")),
        }
    }

    /// Whatever still runs is stopped; all ends are told.
    async fn end(mut self, observed: &mut Observed) {
        for (_, running) in std::mem::take(&mut self.running) {
            running.cancel.cancel();
            let _ = tokio::time::timeout(Duration::from_secs(3), running.task).await;
        }
        if let Some((label, at)) = &self.cancelled_at {
            observed.cancelled_at = Some(*at);
            observed.after_cancel =
                self.ended.get(label).map(|(_, ended)| ended.saturating_duration_since(*at));
        }
        for label in self.order {
            let end = self.ended.get(&label).map(|(end, _)| end.clone());
            observed.asks.push(Ask { label, end });
        }
    }
}

fn end_of(result: TurnResult) -> End {
    let outcome = match result.stop_reason {
        StopReason::Answer => "completed",
        StopReason::Cancelled => "cancelled",
        _ => "failed",
    };
    End {
        outcome,
        text: result.answer,
        error_kinds: error_kinds(result.stop_reason),
        error_text: result.detail.unwrap_or_default(),
        input_tokens: result.usage.input_tokens,
        output_tokens: result.usage.output_tokens,
    }
}

fn ended_before(reason: StopReason, error_text: String) -> End {
    End {
        outcome: "failed",
        text: String::new(),
        error_kinds: error_kinds(reason),
        error_text,
        input_tokens: 0,
        output_tokens: 0,
    }
}

fn cancelled() -> End {
    End { outcome: "cancelled", ..ended_before(StopReason::Cancelled, String::new()) }
}

/// What a call outside a turn works with.
fn call_context(files: &Arc<TurnFiles>) -> ToolContext {
    ToolContext::new(Arc::clone(files), CancellationToken::new())
}
