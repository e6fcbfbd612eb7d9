//! The answer as it comes. Servers that bind no reply to a schema exist: their models go on with steps where words were
//! asked for, and such a reply is a step, or no reply at all, but never an answer.

use std::{collections::VecDeque, sync::Arc};

use futures::{StreamExt, stream};
use serde_json::{Map, Value};

use super::{
    ATTEMPTS,
    actions::{ACTION, ANSWER, Actions, Reply},
    inner, said,
    tally::Tally,
};
use crate::{
    model::{ErrorKind, Finish, ModelClient, ModelError, ModelEvent, ModelStream, Retry, call_ids::CallIds},
    protocol::{AgentMessage, Item, MessageState, ToolCall, Usage},
};

/// Bytes of a reply that begins like a step and is held back: the longest step has two texts in it.
const HELD_BYTES: usize = 8 * 1024;

/// The members in which models name the tool that they mean.
const NAMES: [&str; 4] = [ACTION, "name", "tool", "function"];

/// What the answer is made of, beside what the model says.
pub(super) struct Task {
    pub(super) client: Arc<dyn ModelClient>,
    pub(super) prompt: String,
    pub(super) cache_key: String,
    /// What binds the answer, where the user wants it bound: then it is JSON, and never a step.
    pub(super) schema: Option<Value>,
    /// The steps that the reply may be, in the place of an answer.
    pub(super) steps: Steps,
    /// What was used before, and what is left.
    pub(super) tally: Tally,
    /// What is said below the answer.
    pub(super) addition: &'static str,
}

/// How a reply is told to be a step.
pub(super) struct Steps {
    pub(super) tools: Vec<String>,
    /// What can be done now; `None` when only the answer is left.
    pub(super) actions: Option<Actions>,
    /// The calls of this turn: none is made again.
    pub(super) done: Vec<(String, Map<String, Value>)>,
    /// The ids that are taken.
    pub(super) ids: CallIds,
}

/// A reply that is no answer.
#[derive(Debug, PartialEq, Eq)]
enum NoAnswer {
    Step(String, Map<String, Value>),
    /// JSON about a step that cannot be taken.
    Nothing,
}

impl Steps {
    fn read(&self, text: &str) -> Option<NoAnswer> {
        if !is_about_a_step(text, &self.tools) {
            return None;
        }
        Some(match self.actions.as_ref().and_then(|actions| actions.read(text)) {
            Some(Reply::Call { tool, arguments }) => {
                let call = (tool, arguments);
                if self.done.contains(&call) { NoAnswer::Nothing } else { NoAnswer::Step(call.0, call.1) }
            }
            Some(Reply::Answer) | None => NoAnswer::Nothing,
        })
    }
}

/// Whether a reply is one JSON object that names a tool.
fn is_about_a_step(text: &str, tools: &[String]) -> bool {
    let json = text.trim().trim_start_matches("```json").trim_matches('`').trim();
    let Ok(object) = serde_json::from_str::<Map<String, Value>>(json) else { return false };
    let named = |member: &&str| object.get(*member).and_then(Value::as_str);
    NAMES.iter().any(|member| {
        named(member).is_some_and(|name| {
            tools.iter().any(|tool| tool == name) || (*member == ACTION && name == ANSWER)
        })
    })
}

/// Whether more of a reply may make it a step.
fn may_be_a_step(text: &str) -> bool {
    text.len() <= HELD_BYTES
        && text.trim_start().chars().next().is_none_or(|first| matches!(first, '{' | '`'))
}

/// A reply to the prompt of a task on its way.
struct Answering {
    task: Task,
    events: ModelStream,
    /// To be told before what comes.
    ready: VecDeque<Result<ModelEvent, ModelError>>,
    /// What is held back; `None` once it is clear that it is an answer.
    held: Option<Held>,
    /// Replies that may still be asked for.
    attempts: usize,
    /// Bytes of what the running one is the reply to, and of its text so far.
    read: usize,
    written: usize,
    /// What its server has counted so far, where it tells that before its end.
    told: Option<Usage>,
}

#[derive(Default)]
struct Held {
    text: String,
    events: Vec<Result<ModelEvent, ModelError>>,
}

/// Asks for the answer and passes it on as it comes.
///
/// # Errors
/// Those of the request.
pub(super) async fn ask(task: Task) -> Result<ModelStream, ModelError> {
    let events = task.ask(&task.prompt).await?;
    let held = task.schema.is_none().then(Held::default);
    let answering = Answering {
        read: task.prompt.len(),
        written: 0,
        told: None,
        task,
        events,
        ready: VecDeque::new(),
        held,
        attempts: ATTEMPTS - 1,
    };
    let told =
        stream::unfold(answering, |mut answering| async move { Some((answering.next().await?, answering)) });
    Ok(told.boxed())
}

impl Task {
    async fn ask(&self, prompt: &str) -> Result<ModelStream, ModelError> {
        let items = [said(prompt)];
        let request = inner(&self.cache_key, &items, self.schema.as_ref());
        self.client.stream_within(request, self.tally.room()).await
    }
}

impl Answering {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            let event = self.events.next().await?;
            if let Ok(ModelEvent::TextDelta(text) | ModelEvent::ReasoningDelta(text)) = &event {
                self.written += text.len();
            }
            let Some(held) = &mut self.held else {
                self.pass_on(event);
                continue;
            };
            match event {
                Ok(ModelEvent::ReasoningDelta(_)) => return Some(event),
                Ok(ModelEvent::Done { ref finish, usage }) => {
                    let no_answer = match finish {
                        Finish::Stop | Finish::Unknown(_) | Finish::BrokenCall => {
                            self.task.steps.read(&held.text)
                        }
                        _ => None,
                    };
                    match no_answer {
                        None => {
                            held.events.push(event);
                            self.release();
                        }
                        Some(no_answer) => self.go_on(no_answer, usage).await,
                    }
                }
                event => {
                    if let Ok(ModelEvent::TextDelta(text)) = &event {
                        held.text.push_str(text);
                    }
                    let is_over = event.is_err() || !may_be_a_step(&held.text);
                    held.events.push(event);
                    if is_over {
                        self.release();
                    }
                }
            }
        }
    }

    /// What comes of a reply that is no answer.
    async fn go_on(&mut self, no_answer: NoAnswer, usage: Option<Usage>) {
        self.task.tally.add(usage, self.read, self.written);
        match no_answer {
            NoAnswer::Step(tool, arguments) => {
                self.held = None;
                let arguments = Value::Object(arguments).to_string();
                let id = self.task.steps.ids.take("", &tool, &arguments).unwrap_or_default();
                let call = Item::Call(ToolCall { id, name: tool, arguments, raw: None });
                self.ready.push_back(Ok(ModelEvent::Item(call)));
                self.ready.extend(self.task.tally.done(Finish::Stop));
                self.events = stream::empty().boxed();
            }
            NoAnswer::Nothing if self.attempts > 0 && self.task.tally.is_used_up() => {
                self.held = None;
                self.ready.extend(self.task.tally.done(Finish::Pause));
                self.events = stream::empty().boxed();
            }
            NoAnswer::Nothing if self.attempts > 0 => {
                self.attempts -= 1;
                tracing::debug!("a step came where the answer was asked for");
                let prompt = format!("{}\nReply in plain words, not in JSON.", self.task.prompt);
                self.held = Some(Held::default());
                (self.read, self.written, self.told) = (prompt.len(), 0, None);
                match self.task.ask(&prompt).await {
                    Ok(events) => self.events = events,
                    Err(error) => self.fail(error),
                }
            }
            NoAnswer::Nothing => self.fail(ModelError {
                retry: Retry::Never,
                ..ModelError::new(
                    ErrorKind::Malformed,
                    "the model writes JSON about a step where words were asked for, as it does where its server binds no reply \
                     to a schema: the guided mode needs one that does (llama.cpp); set guided to auto or off",
                )
            }),
        }
    }

    fn fail(&mut self, error: ModelError) {
        self.held = None;
        self.ready.extend(self.task.tally.told().chain([Err(error)]));
        self.events = stream::empty().boxed();
    }

    fn release(&mut self) {
        for event in self.held.take().unwrap_or_default().events {
            self.pass_on(event);
        }
    }

    /// What becomes of an event of the answer.
    fn pass_on(&mut self, event: Result<ModelEvent, ModelError>) {
        let addition = self.task.addition;
        match event {
            Ok(ModelEvent::Item(Item::Agent(message))) => {
                let mut text = message.text;
                if message.state == MessageState::Whole && !addition.is_empty() {
                    text.push_str(addition);
                    self.ready.push_back(Ok(ModelEvent::TextDelta(addition.to_owned())));
                }
                // What the server sent belongs to a prompt that the thread does not hold.
                let message = AgentMessage { text, raw: None, ..message };
                self.ready.push_back(Ok(ModelEvent::Item(Item::Agent(message))));
            }
            Ok(ModelEvent::Item(_)) => {}
            Ok(ModelEvent::Done { finish, usage }) => {
                self.task.tally.add(usage, self.read, self.written);
                self.ready.extend(self.task.tally.done(finish));
            }
            // Comes before an error, with which it is told.
            Ok(ModelEvent::Used(usage)) => self.told = Some(usage),
            Ok(ModelEvent::Unheard(bytes)) => self.written += bytes,
            Err(error) => {
                let told = self.told.take();
                if told.is_some() || self.written > 0 || error.kind.is_of_a_begun_reply() {
                    self.task.tally.add_broken(told, self.read, self.written);
                }
                self.ready.extend(self.task.tally.told().chain([Err(error)]));
            }
            other => self.ready.push_back(other),
        }
    }
}
