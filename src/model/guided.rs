//! The guided mode: makes small models useful that cannot call tools by themselves. Each step is one question, what was
//! done so far flattened into it, and the reply is bound by a JSON schema to the calls that make sense now, with
//! arguments that are names of what exists. The answer is asked for last, without a schema and without tools.

mod actions;
mod answer;
mod draft;
mod names;
mod prompt;
mod scene;
mod shorten;
mod subject;
mod tally;
mod wants;
mod watched;

use std::{fmt, sync::Arc};

use futures::{FutureExt, StreamExt, future::BoxFuture, stream};
use serde_json::{Map, Value};

use super::{
    Finish, ModelClient, ModelError, ModelEvent, ModelInfo, ModelStream, Request, Room, ToolChoice,
    call_ids::CallIds, chat::ChatClient, http::Endpoint, messages::MessagesClient, options,
    responses::ResponsesClient,
};
use crate::protocol::{Item, ToolCall, UserMessage, Wire};
use actions::{Actions, Reply};
use answer::{Steps, Task};
use prompt::Story;
use scene::Scene;
use tally::Tally;
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
    inner: Arc<dyn ModelClient>,
    info: ModelInfo,
}

/// What the settings say of guiding, applied to a client.
pub(super) fn wrap(client: Arc<dyn ModelClient>, endpoint: &Endpoint) -> Arc<dyn ModelClient> {
    let guided = || Guided::new(client.info().clone(), steps(endpoint, client.info().wire));
    match endpoint.options.guided {
        options::Guided::Off => client,
        options::Guided::On => Arc::new(guided()),
        options::Guided::Auto => Arc::new(Watched::new(Arc::clone(&client), guided(), endpoint.seen())),
    }
}

/// The client of the guided steps. On this machine they go over Chat Completions, the only wire on which local servers
/// bind a reply to a schema; elsewhere over the wire that is set, since no other is known to be there.
fn steps(endpoint: &Endpoint, wire: Option<Wire>) -> Arc<dyn ModelClient> {
    let mut endpoint = endpoint.clone();
    endpoint.options.text_calls = false;
    match wire {
        Some(Wire::Messages) if !endpoint.may_be_llama_cpp() => Arc::new(MessagesClient::new(endpoint)),
        Some(Wire::Responses) if !endpoint.may_be_llama_cpp() => Arc::new(ResponsesClient::new(endpoint)),
        wire => {
            if endpoint.options.guided == options::Guided::On
                && let Some(wire @ (Wire::Messages | Wire::Responses)) = wire
            {
                tracing::warn!(%wire, "guided is on: its steps go over the wire chat, not over the one that is set");
            }
            if wire == Some(Wire::Messages) {
                endpoint.speak_chat();
            }
            // The likeliest step is the best one of a small model. Those of OpenAI are not small, and refuse the number.
            let likeliest = (!endpoint.is_openai()).then_some(0.0);
            endpoint.options.temperature = endpoint.options.temperature.or(likeliest);
            Arc::new(ChatClient::new(endpoint))
        }
    }
}

impl Guided {
    /// `inner` has to speak a wire whose server binds replies to `answer_schema`.
    pub(super) fn new(info: ModelInfo, inner: Arc<dyn ModelClient>) -> Self {
        Self { inner, info }
    }

    /// One step, which may take several requests: none is sent once `room` is used up.
    async fn step(&self, request: Request<'_>, room: Room) -> Result<ModelStream, ModelError> {
        let mut tally = Tally::new(room, self.info.price);
        let stream = self.try_step(request, &mut tally).await;
        match stream {
            // The requests before it have used something.
            Err(error) if tally.used().is_some() => {
                Ok(stream::iter(tally.told().chain([Err(error)])).boxed())
            }
            stream => stream,
        }
    }

    async fn try_step(&self, request: Request<'_>, tally: &mut Tally) -> Result<ModelStream, ModelError> {
        let scene = Scene::of(request.items);
        let story = Story::of(&scene);
        let most = if scene.wants_change { MOST_CALLS_OF_CHANGE } else { MOST_CALLS };
        let mut offered = None;
        if request.answer_schema.is_none()
            && scene.steps.len() < most
            && story.has_room
            && let Some(actions) = Actions::of(&request, &scene)
        {
            offered = Some(actions.clone());
            match self.choose(&request, &scene, &story, actions, tally).await? {
                Choice::Call { tool, arguments } => {
                    return Ok(call(request.items, &tool, arguments, tally));
                }
                Choice::Ended(finish) => return Ok(ending(finish, tally)),
                Choice::Answer => {}
            }
        }
        if tally.is_used_up() {
            return Ok(ending(Finish::Pause, tally));
        }
        self.answer(&request, &scene, &story, offered, tally.clone()).await
    }

    /// Asks for the next action.
    async fn choose(
        &self,
        request: &Request<'_>,
        scene: &Scene<'_>,
        story: &Story,
        mut actions: Actions,
        tally: &mut Tally,
    ) -> Result<Choice, ModelError> {
        if actions.may_answer && !scene.wants_change {
            let (text, finish) = self.text(request, &story.draft(scene), None, tally).await?;
            if let Some(Reply::Call { tool, arguments }) = actions.read(&text)
                && !scene.is_done(&tool, &arguments)
            {
                return Ok(Choice::Call { tool, arguments });
            }
            match finish {
                Finish::Stop | Finish::Unknown(_) | Finish::Length | Finish::Cut(_) => {
                    if draft::is_found(&text, scene) {
                        return Ok(Choice::Answer);
                    }
                    actions.may_answer = false;
                }
                other => return Ok(Choice::Ended(other)),
            }
        }
        if let Some(Reply::Call { tool, arguments }) = actions.only() {
            return Ok(Choice::Call { tool, arguments });
        }
        let schema = actions.schema();
        let mut prompt = story.next_step(scene, &actions);
        for _ in 0..ATTEMPTS {
            if tally.is_used_up() {
                return Ok(Choice::Ended(Finish::Pause));
            }
            let (text, finish) = self.text(request, &prompt, Some(&schema), tally).await?;
            match actions.read(&text) {
                Some(Reply::Answer) => return Ok(Choice::Answer),
                Some(Reply::Call { tool, arguments }) if !scene.is_done(&tool, &arguments) => {
                    return Ok(Choice::Call { tool, arguments });
                }
                _ => {}
            }
            if !finish.is_own() && !matches!(finish, Finish::Length | Finish::Cut(_)) {
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
        tally: &mut Tally,
    ) -> Result<(String, Finish), ModelError> {
        let items = [said(prompt)];
        let request = inner(request.cache_key, &items, schema);
        let mut events = self.inner.stream_within(request, tally.room()).await?;
        let mut shown = String::new();
        let (mut written, mut told) = (0, None);
        while let Some(event) = events.next().await {
            match event {
                Ok(ModelEvent::TextDelta(text)) => {
                    written += text.len();
                    shown.push_str(&text);
                }
                Ok(ModelEvent::ReasoningDelta(text)) => written += text.len(),
                Ok(ModelEvent::Done { finish, usage }) => {
                    tally.add(usage, prompt.len(), written);
                    return Ok((shown, finish));
                }
                Ok(ModelEvent::Used(usage)) => told = Some(usage),
                Ok(ModelEvent::Unheard(bytes)) => written += bytes,
                Ok(ModelEvent::Item(_) | ModelEvent::Estimated) => {}
                Err(error) => {
                    if told.is_some() || written > 0 || error.kind.is_of_a_begun_reply() {
                        tally.add_broken(told, prompt.len(), written);
                    }
                    return Err(error);
                }
            }
            if schema.is_none() && shown.chars().count() > draft::LONGEST {
                break;
            }
        }
        // Dropping the stream ends the reply on the server; its tokens were not told.
        tally.add(None, prompt.len(), written);
        Ok((shown, Finish::Stop))
    }

    /// Asks for the answer, which may turn out to be one of these actions.
    async fn answer(
        &self,
        request: &Request<'_>,
        scene: &Scene<'_>,
        story: &Story,
        actions: Option<Actions>,
        tally: Tally,
    ) -> Result<ModelStream, ModelError> {
        let is_told = scene.wants_change && !scene.has_changed() && request.answer_schema.is_none();
        let steps = Steps {
            tools: request.tools.iter().map(|tool| tool.name.clone()).collect(),
            actions,
            done: scene.steps.iter().map(|step| (step.tool.to_owned(), step.arguments.clone())).collect(),
            ids: CallIds::of(request.items),
        };
        answer::ask(Task {
            client: Arc::clone(&self.inner),
            prompt: story.answer(scene),
            cache_key: request.cache_key.to_owned(),
            schema: request.answer_schema.cloned(),
            steps,
            tally,
            addition: if is_told { NOTHING_CHANGED } else { "" },
        })
        .await
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

fn inner<'a>(cache_key: &'a str, items: &'a [Item], answer_schema: Option<&'a Value>) -> Request<'a> {
    Request {
        instructions: prompt::INSTRUCTIONS,
        items,
        tools: &[],
        tool_choice: ToolChoice::Auto,
        answer_schema,
        cache_key,
    }
}

fn said(text: &str) -> Item {
    Item::User(UserMessage { text: text.to_owned(), context: None })
}

fn call(history: &[Item], tool: &str, arguments: Map<String, Value>, tally: &Tally) -> ModelStream {
    let arguments = Value::Object(arguments).to_string();
    let id = CallIds::of(history).take("", tool, &arguments).unwrap_or_default();
    let call = Item::Call(ToolCall { id, name: tool.to_owned(), arguments, raw: None });
    stream::iter([Ok(ModelEvent::Item(call))].into_iter().chain(tally.done(Finish::Stop))).boxed()
}

fn ending(finish: Finish, tally: &Tally) -> ModelStream {
    stream::iter(tally.done(finish)).boxed()
}

impl ModelClient for Guided {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<ModelStream, ModelError>> {
        self.step(request, Room::default()).boxed()
    }

    fn stream_within<'a>(
        &'a self,
        request: Request<'a>,
        room: Room,
    ) -> BoxFuture<'a, Result<ModelStream, ModelError>> {
        self.step(request, room).boxed()
    }

    fn sends_as_given(&self) -> bool {
        false
    }
}

impl fmt::Debug for Guided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guided").field("info", &self.info).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
