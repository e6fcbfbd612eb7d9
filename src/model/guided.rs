//! The guided mode: makes small models useful that cannot call tools by themselves. Each step is one question, what was
//! done so far flattened into it, and the reply is bound by a JSON schema to the calls that make sense now, with
//! arguments that are names of what exists. The answer is asked for last, without a schema and without tools.

mod actions;
mod draft;
mod names;
mod prompt;
mod scene;
mod shorten;
mod subject;
mod wants;
mod watched;

use std::{fmt, sync::Arc};

use futures::{FutureExt, StreamExt, future::BoxFuture, stream};
use serde_json::{Map, Value};

use super::{
    Finish, ModelClient, ModelError, ModelEvent, ModelInfo, ModelStream, Options, Request, ToolChoice,
    call_ids::CallIds, chat::ChatClient, http::Endpoint, options,
};
use crate::protocol::{AgentMessage, Item, MessageState, ToolCall, Usage, UserMessage};
use actions::{Actions, Reply};
use prompt::Story;
use scene::Scene;
use watched::Watched;

/// Calls of one turn: a listing, and what a person would still call looking it up.
const MOST_CALLS: usize = 6;

/// Calls of a turn that changes something.
const MOST_CALLS_OF_CHANGE: usize = 10;

/// Replies that are asked for until one is an action; servers that bind nothing exist.
const ATTEMPTS: usize = 2;

/// What is said below an answer to a request for a change when none was made.
const NOTHING_CHANGED: &str = "\n\nNothing was changed.";

/// A model whose every step is guided.
pub(super) struct Guided {
    /// Speaks Chat Completions: the only wire on which local servers bind a reply to a schema.
    inner: Arc<dyn ModelClient>,
    info: ModelInfo,
}

/// What the settings say of guiding, applied to a client.
pub(super) fn wrap(client: Arc<dyn ModelClient>, endpoint: &Endpoint) -> Arc<dyn ModelClient> {
    match endpoint.options.guided {
        options::Guided::Off => client,
        options::Guided::On => Arc::new(Guided::new(client.info().clone(), chat(endpoint))),
        options::Guided::Auto => {
            let guided = Guided::new(client.info().clone(), chat(endpoint));
            Arc::new(Watched::new(client, guided, endpoint.seen()))
        }
    }
}

/// The client of the guided steps.
fn chat(endpoint: &Endpoint) -> Arc<dyn ModelClient> {
    let mut endpoint = endpoint.clone();
    endpoint.options = Options {
        // The likeliest step is the best one of a small model. Those of OpenAI are not small, and refuse the number.
        temperature: endpoint.options.temperature.or((!endpoint.is_openai()).then_some(0.0)),
        text_calls: false,
        ..endpoint.options
    };
    Arc::new(ChatClient::new(endpoint))
}

impl Guided {
    /// `inner` has to speak a wire whose server binds replies to `answer_schema`.
    pub(super) fn new(info: ModelInfo, inner: Arc<dyn ModelClient>) -> Self {
        Self { inner, info }
    }

    async fn step(&self, request: Request<'_>) -> Result<ModelStream, ModelError> {
        let scene = Scene::of(request.items);
        let story = Story::of(&scene);
        let most = if scene.wants_change { MOST_CALLS_OF_CHANGE } else { MOST_CALLS };
        let mut usage = None;
        if request.answer_schema.is_none()
            && scene.steps.len() < most
            && story.has_room
            && let Some(actions) = Actions::of(&request, &scene)
        {
            match self.choose(&request, &scene, &story, actions, &mut usage).await? {
                Choice::Call { tool, arguments } => return Ok(call(request.items, &tool, arguments, usage)),
                Choice::Ended(finish) => return Ok(ending(finish, usage)),
                Choice::Answer => {}
            }
        }
        self.answer(&request, &scene, &story, usage).await
    }

    /// Asks for the next action.
    async fn choose(
        &self,
        request: &Request<'_>,
        scene: &Scene<'_>,
        story: &Story,
        mut actions: Actions,
        usage: &mut Option<Usage>,
    ) -> Result<Choice, ModelError> {
        if actions.may_answer && !scene.wants_change {
            let (text, finish, used) = self.text(request, &story.draft(scene), None).await?;
            add(usage, used);
            match finish {
                Finish::Stop | Finish::Length if draft::is_found(&text, scene) => return Ok(Choice::Answer),
                Finish::Stop | Finish::Length => actions.may_answer = false,
                other => return Ok(Choice::Ended(other)),
            }
        }
        if let Some(Reply::Call { tool, arguments }) = actions.only() {
            return Ok(Choice::Call { tool, arguments });
        }
        let schema = actions.schema();
        let mut prompt = story.next_step(scene, &actions);
        for _ in 0..ATTEMPTS {
            let (text, finish, used) = self.text(request, &prompt, Some(&schema)).await?;
            add(usage, used);
            match actions.read(&text) {
                Some(Reply::Answer) => return Ok(Choice::Answer),
                Some(Reply::Call { tool, arguments }) if !scene.is_done(&tool, &arguments) => {
                    return Ok(Choice::Call { tool, arguments });
                }
                _ => {}
            }
            if !matches!(finish, Finish::Stop | Finish::Length) {
                return Ok(Choice::Ended(finish));
            }
            tracing::debug!("a guided step was none of those that were offered");
            prompt = Story::again(&prompt);
        }
        Ok(Choice::Answer)
    }

    /// The text of a reply: bound by a schema, or a draft, of which no more is waited for than is looked at.
    async fn text(
        &self,
        request: &Request<'_>,
        prompt: &str,
        schema: Option<&Value>,
    ) -> Result<(String, Finish, Option<Usage>), ModelError> {
        let items = [said(prompt)];
        let mut events = self.inner.stream(inner(request, &items, schema)).await?;
        let mut shown = String::new();
        while let Some(event) = events.next().await {
            match event? {
                ModelEvent::TextDelta(text) => shown.push_str(&text),
                ModelEvent::Done { finish, usage } => return Ok((shown, finish, usage)),
                ModelEvent::Item(_) | ModelEvent::ReasoningDelta(_) => {}
            }
            if schema.is_none() && shown.chars().count() > draft::LONGEST {
                break;
            }
        }
        // Dropping the stream ends the reply on the server; its tokens were not told.
        Ok((shown, Finish::Stop, None))
    }

    /// Asks for the answer and passes it on as it comes.
    async fn answer(
        &self,
        request: &Request<'_>,
        scene: &Scene<'_>,
        story: &Story,
        before: Option<Usage>,
    ) -> Result<ModelStream, ModelError> {
        let items = [said(&story.answer(scene))];
        let events = self.inner.stream(inner(request, &items, request.answer_schema)).await?;
        let is_told = scene.wants_change && !scene.has_changed() && request.answer_schema.is_none();
        let addition = if is_told { NOTHING_CHANGED } else { "" };
        Ok(events.flat_map(move |event| stream::iter(passed_on(event, before, addition))).boxed())
    }
}

/// What came of asking for an action.
enum Choice {
    Call {
        tool: String,
        arguments: Map<String, Value>,
    },
    Answer,
    /// The server ended the reply for a reason of its own.
    Ended(Finish),
}

/// What becomes of an event of the answer.
fn passed_on(
    event: Result<ModelEvent, ModelError>,
    before: Option<Usage>,
    addition: &str,
) -> Vec<Result<ModelEvent, ModelError>> {
    match event {
        Ok(ModelEvent::Item(Item::Agent(AgentMessage { text, state: MessageState::Whole, .. })))
            if !addition.is_empty() =>
        {
            let text = format!("{text}{addition}");
            let message = AgentMessage { text, state: MessageState::Whole, raw: None };
            vec![Ok(ModelEvent::TextDelta(addition.to_owned())), Ok(ModelEvent::Item(Item::Agent(message)))]
        }
        // It belongs to a prompt that the thread does not hold.
        Ok(ModelEvent::Item(Item::Agent(message))) => {
            vec![Ok(ModelEvent::Item(Item::Agent(AgentMessage { raw: None, ..message })))]
        }
        Ok(ModelEvent::Item(_)) => Vec::new(),
        Ok(ModelEvent::Done { finish, usage }) => {
            let mut sum = before;
            add(&mut sum, usage);
            vec![Ok(ModelEvent::Done { finish, usage: sum })]
        }
        other => vec![other],
    }
}

fn inner<'a>(request: &Request<'a>, items: &'a [Item], answer_schema: Option<&'a Value>) -> Request<'a> {
    Request {
        instructions: prompt::INSTRUCTIONS,
        items,
        tools: &[],
        tool_choice: ToolChoice::Auto,
        answer_schema,
        cache_key: request.cache_key,
    }
}

fn said(text: &str) -> Item {
    Item::User(UserMessage { text: text.to_owned(), context: None })
}

fn call(history: &[Item], tool: &str, arguments: Map<String, Value>, usage: Option<Usage>) -> ModelStream {
    let arguments = Value::Object(arguments).to_string();
    let id = CallIds::of(history).take("", tool, &arguments).unwrap_or_default();
    let call = Item::Call(ToolCall { id, name: tool.to_owned(), arguments, raw: None });
    let done = ModelEvent::Done { finish: Finish::Stop, usage };
    stream::iter([Ok(ModelEvent::Item(call)), Ok(done)]).boxed()
}

fn ending(finish: Finish, usage: Option<Usage>) -> ModelStream {
    stream::iter([Ok(ModelEvent::Done { finish, usage })]).boxed()
}

fn add(sum: &mut Option<Usage>, usage: Option<Usage>) {
    if let Some(usage) = usage {
        *sum.get_or_insert_default() += usage;
    }
}

impl ModelClient for Guided {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<ModelStream, ModelError>> {
        self.step(request).boxed()
    }
}

impl fmt::Debug for Guided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guided").field("info", &self.info).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
