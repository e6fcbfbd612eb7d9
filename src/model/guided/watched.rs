//! A model that is asked natively until it fails to call, and is guided from then on. Seen are only failures that leave
//! no doubt: a capable model that answers without a call has not failed. Only llama.cpp is watched, since no other server
//! is known to bind replies to a schema for every model; elsewhere nothing is held back and no request is another one.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    sync::{
        Arc, LazyLock, Mutex, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
};

use futures::{StreamExt, future::BoxFuture, stream};
use regex::Regex;
use serde_json::{Map, Value};

use crate::{
    model::{
        Finish, ModelClient, ModelError, ModelEvent, ModelInfo, ModelStream, Request, Room, ToolChoice,
        ToolSpec, http::Seen, patterns::constant,
    },
    protocol::{Item, Usage},
};

use super::{
    Guided,
    scene::{Role, Scene},
    tally::Tally,
};

/// Calls with arguments that are no JSON object until a model is taken for one that cannot call: once is an accident.
const MOST_UNREADABLE: u8 = 2;

/// Characters of a reply that are held back until it is clear what it is; an announcement is shorter.
const HELD_CHARS: usize = 400;

/// Characters that are held back of a reply that begins like a call.
const HELD_CALL_CHARS: usize = 4_000;

/// Models that are remembered: more than anyone asks in one process.
const MOST_MODELS: usize = 1_000;

/// Asked natively, watched.
pub(super) struct Watched {
    native: Arc<dyn ModelClient>,
    guided: Arc<Guided>,
    record: Arc<Record>,
    server: Arc<Seen>,
}

/// What is known of how a model calls, for the rest of the process.
#[derive(Debug, Default)]
struct Record {
    state: AtomicU8,
    unreadable: AtomicU8,
}

/// The states of a record; before either it is 0.
const CALLS: u8 = 1;
const FAILED: u8 = 2;

impl Record {
    /// The one of this model on this server.
    fn of(info: &ModelInfo) -> Arc<Self> {
        static RECORDS: Mutex<BTreeMap<(String, String), Arc<Record>>> = Mutex::new(BTreeMap::new());
        let key = (info.server.clone().unwrap_or_default(), info.name.clone());
        let mut records = RECORDS.lock().unwrap_or_else(PoisonError::into_inner);
        if records.len() >= MOST_MODELS && !records.contains_key(&key) {
            return Arc::default();
        }
        Arc::clone(records.entry(key).or_default())
    }

    fn is(&self, state: u8) -> bool {
        self.state.load(Ordering::Relaxed) == state
    }

    fn failed(&self, model: &str, why: &str) {
        self.state.store(FAILED, Ordering::Relaxed);
        tracing::info!(model, why, "the model does not call by itself; its steps are guided from now on");
    }
}

impl Watched {
    pub(super) fn new(native: Arc<dyn ModelClient>, guided: Guided, server: Arc<Seen>) -> Self {
        let record = Record::of(native.info());
        Self { native, guided: Arc::new(guided), record, server }
    }

    async fn ask(&self, request: Request<'_>, room: Room) -> Result<ModelStream, ModelError> {
        if self.server.is_llama_cpp() && !self.record.is(FAILED) && repeats_itself(request.items) {
            self.record.failed(&self.info().name, "it made the same call again although it had the output");
        }
        if self.record.is(FAILED) {
            return self.guided.step(request, room).await;
        }
        let events = self.native.stream_within(request, room.clone()).await?;
        let may_call = !request.tools.is_empty() && request.tool_choice != ToolChoice::None;
        let has_read = Scene::of(request.items).steps.iter().any(|step| !step.is_error);
        // Whose answer it is stands in its head, which has come by now.
        if !may_call || has_read || self.record.is(CALLS) || !self.server.is_llama_cpp() {
            return Ok(events);
        }
        let watch = Watch {
            events,
            ready: VecDeque::new(),
            held: Some(Held::default()),
            request: Kept::of(request),
            room,
            guided: Arc::clone(&self.guided),
            record: Arc::clone(&self.record),
        };
        Ok(stream::unfold(watch, |mut watch| async move { Some((watch.next().await?, watch)) }).boxed())
    }
}

impl ModelClient for Watched {
    fn info(&self) -> &ModelInfo {
        self.native.info()
    }

    fn stream<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<ModelStream, ModelError>> {
        Box::pin(self.ask(request, Room::default()))
    }

    fn stream_within<'a>(
        &'a self,
        request: Request<'a>,
        room: Room,
    ) -> BoxFuture<'a, Result<ModelStream, ModelError>> {
        Box::pin(self.ask(request, room))
    }

    fn sends_as_given(&self) -> bool {
        !self.record.is(FAILED)
    }
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched")
            .field("info", self.info())
            .field("record", &self.record)
            .finish_non_exhaustive()
    }
}

/// Whether the last call of the turn looked at what had been looked at before, with nothing changed in between.
fn repeats_itself(items: &[Item]) -> bool {
    let mut scene = Scene::of(items);
    let Some(last) = scene.steps.pop() else { return false };
    let looks = matches!(last.role(), Role::List | Role::Search | Role::Read);
    looks && !last.is_error && scene.is_done(last.tool, &last.arguments)
}

/// A native reply, held back until it is clear that it is no failure.
struct Watch {
    events: ModelStream,
    /// To be passed on before what comes.
    ready: VecDeque<Result<ModelEvent, ModelError>>,
    /// `None`: it is clear.
    held: Option<Held>,
    request: Kept,
    /// What was left of the turn's bounds before.
    room: Room,
    guided: Arc<Guided>,
    record: Arc<Record>,
}

#[derive(Default)]
struct Held {
    events: VecDeque<Result<ModelEvent, ModelError>>,
    text: String,
    readable_calls: usize,
    unreadable_calls: usize,
}

impl Watch {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            let event = self.events.next().await;
            let (Some(held), Some(event)) = (&mut self.held, event.clone()) else { return event };
            match event {
                Ok(ModelEvent::ReasoningDelta(_)) => return Some(event),
                Ok(ModelEvent::Done { usage, .. }) => {
                    if let Some(why) = held.failure(&self.request, &self.record) {
                        let written = held.text.len();
                        self.held = None;
                        self.record.failed(&self.guided.info().name, why);
                        let mut tally = Tally::new(self.room.clone(), self.guided.info().price);
                        tally.add(usage, self.request.bytes(), written);
                        if tally.is_used_up() {
                            self.ready.extend(tally.done(Finish::Pause));
                            self.events = stream::empty().boxed();
                            continue;
                        }
                        match self.guided.step(self.request.as_request(), tally.room()).await {
                            Ok(events) => self.events = with_usage(events, &tally),
                            Err(error) => {
                                self.ready.extend(tally.told().chain([Err(error)]));
                                self.events = stream::empty().boxed();
                            }
                        }
                        continue;
                    }
                    held.events.push_back(event);
                    self.release();
                }
                Err(_) => {
                    held.events.push_back(event);
                    self.release();
                }
                Ok(told) => {
                    held.take(&told);
                    held.events.push_back(Ok(told));
                    if held.is_plain() {
                        self.release();
                    }
                }
            }
        }
    }

    fn release(&mut self) {
        if let Some(held) = self.held.take() {
            self.ready.extend(held.events);
        }
    }
}

impl Held {
    fn take(&mut self, event: &ModelEvent) {
        match event {
            ModelEvent::TextDelta(text) => self.text.push_str(text),
            ModelEvent::Item(Item::Call(call)) => {
                match serde_json::from_str::<Map<String, Value>>(&call.arguments) {
                    Ok(_) => self.readable_calls += 1,
                    Err(_) => self.unreadable_calls += 1,
                }
            }
            _ => {}
        }
    }

    /// It is too long for a call or an announcement.
    fn is_plain(&self) -> bool {
        let begins_like_a_call = self.text.trim_start().starts_with(['{', '[', '<', '`']);
        self.text.len() > if begins_like_a_call { HELD_CALL_CHARS } else { HELD_CHARS }
    }

    /// Why the whole reply shows that its model cannot call.
    fn failure(&self, request: &Kept, record: &Record) -> Option<&'static str> {
        if self.unreadable_calls > 0 {
            let count = record.unreadable.fetch_add(1, Ordering::Relaxed).saturating_add(1);
            return (count >= MOST_UNREADABLE).then_some("the arguments of its calls are no JSON");
        }
        if self.readable_calls > 0 {
            record.state.store(CALLS, Ordering::Relaxed);
            return None;
        }
        if holds_call(&self.text, &request.tools) {
            return Some("it wrote a call as text");
        }
        if request.choice != Choice::Auto {
            return Some("it made no call where it had to");
        }
        announces_call(&self.text).then_some("it announced a step and did not take it")
    }
}

/// Whether a text holds what was meant as a call of an offered tool.
fn holds_call(text: &str, tools: &[ToolSpec]) -> bool {
    tools.iter().any(|tool| {
        let name = regex::escape(&tool.name);
        let forms = format!(
            r#"(?m)"(?:name|tool|tool_name|function|action|recipient_name)"\s*:\s*"(?:functions\.)?{name}"|<(?:tool_call|function)\b[^<]*\b{name}\b|^\s*{name}\s*[({{]"#
        );
        Regex::new(&forms).is_ok_and(|forms| forms.is_match(text))
    })
}

/// Whether a text is nothing but the announcement of a look at the files.
fn announces_call(text: &str) -> bool {
    static ANNOUNCEMENT: LazyLock<Regex> = LazyLock::new(|| {
        constant(
            r"(?is)^\s*(?:(?:sure|okay|ok|certainly|of course|first|to [^.]{0,120}),?[!.]?\s*)*(?:i will|i'll|i'm going to|i am going to|i need to|let me|let us|let's|we need to|we will)\s+(?:(?:first|now|start by|begin by|need to|use the \w+ tool to)\s+)*(?:read|look|list|search|check|open|examine|inspect|call|use|find|reading|looking|listing|searching|checking|opening)\b",
        )
    });
    let is_short = text.chars().count() <= HELD_CHARS;
    is_short && ANNOUNCEMENT.is_match(text)
}

/// A request that outlives the one who made it.
struct Kept {
    instructions: String,
    items: Vec<Item>,
    tools: Vec<ToolSpec>,
    choice: Choice,
    answer_schema: Option<Value>,
    cache_key: String,
}

#[derive(PartialEq)]
enum Choice {
    Auto,
    Required,
    Named(String),
}

impl Kept {
    fn of(request: Request<'_>) -> Self {
        Self {
            instructions: request.instructions.to_owned(),
            items: request.items.to_vec(),
            tools: request.tools.to_vec(),
            choice: match request.tool_choice {
                ToolChoice::Named(name) => Choice::Named(name.to_owned()),
                ToolChoice::Required => Choice::Required,
                ToolChoice::Auto | ToolChoice::None => Choice::Auto,
            },
            answer_schema: request.answer_schema.cloned(),
            cache_key: request.cache_key.to_owned(),
        }
    }

    /// Of what the model read, roughly.
    fn bytes(&self) -> usize {
        let texts = self.items.iter().map(|item| match item {
            Item::User(message) => message.text.len() + message.context.as_ref().map_or(0, String::len),
            Item::Agent(message) => message.text.len(),
            Item::Call(call) => call.arguments.len(),
            Item::Output(output) => output.text.len(),
            Item::Opaque(_) | Item::Reasoning(_) => 0,
        });
        self.instructions.len() + texts.sum::<usize>()
    }

    fn as_request(&self) -> Request<'_> {
        Request {
            instructions: &self.instructions,
            items: &self.items,
            tools: &self.tools,
            tool_choice: match &self.choice {
                Choice::Auto => ToolChoice::Auto,
                Choice::Required => ToolChoice::Required,
                Choice::Named(name) => ToolChoice::Named(name),
            },
            answer_schema: self.answer_schema.as_ref(),
            cache_key: &self.cache_key,
        }
    }
}

/// The events with what was used before them: told with their end, or before their error.
fn with_usage(events: ModelStream, tally: &Tally) -> ModelStream {
    let before = tally.used().unwrap_or_default();
    let mut is_told = false;
    stream::iter(tally.estimated().map(Ok))
        .chain(events)
        .flat_map(move |event| {
            let sum = |usage: Usage| {
                let mut sum = before;
                sum += usage;
                sum
            };
            let told = match event {
                Ok(ModelEvent::Done { finish, usage }) => {
                    vec![Ok(ModelEvent::Done { finish, usage: Some(sum(usage.unwrap_or_default())) })]
                }
                Ok(ModelEvent::Used(usage)) => {
                    is_told = true;
                    vec![Ok(ModelEvent::Used(sum(usage)))]
                }
                Err(error) if !is_told => vec![Ok(ModelEvent::Used(before)), Err(error)],
                other => vec![other],
            };
            stream::iter(told)
        })
        .boxed()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        super::tests::{Scripted, done, events, says, tools, user},
        *,
    };
    use crate::{model::Finish, protocol::ToolCall};

    /// What a native model replies to a first request, and whether it was guided then: the guided model only lists.
    async fn is_guided(model: &str, reply: &str, choice: ToolChoice<'_>) -> bool {
        let native = Scripted::new(model, vec![says(reply)]);
        let told = first_step(&native, choice).await;
        let listed = told == "call: list_files {}\n=> Stop, 12 tokens\n";
        assert!(listed || told.contains(&format!("agent: {reply}\n")), "{told}");
        listed
    }

    async fn first_step(native: &Arc<Scripted>, choice: ToolChoice<'_>) -> String {
        let inner = Scripted::new(&native.info().name, vec![]);
        let guided = Guided::new(native.info().clone(), inner);
        events(&Watched::new(native.clone(), guided, llama_cpp()), &[user("how wide is the door?")], choice)
            .await
    }

    fn llama_cpp() -> Arc<Seen> {
        Arc::new(Seen::of_llama_cpp())
    }

    #[tokio::test]
    async fn what_another_server_replies_is_passed_on_as_it_is() {
        let native = Scripted::new("elsewhere", vec![says(r#"{"name": "read_file", "arguments": {}}"#)]);
        let guided = Guided::new(native.info().clone(), Scripted::new("elsewhere", vec![]));
        let watched = Watched::new(native.clone(), guided, Arc::default());
        let told = events(&watched, &[user("how wide?")], ToolChoice::Auto).await;
        assert!(told.contains("agent: {\"name\""), "{told}");
    }

    fn calls(arguments: &str) -> Vec<Result<ModelEvent, ModelError>> {
        let call = ToolCall {
            id: "1".to_owned(),
            name: "read_file".to_owned(),
            arguments: arguments.to_owned(),
            raw: None,
        };
        vec![
            Ok(ModelEvent::Item(Item::Call(call))),
            Ok(ModelEvent::Done { finish: Finish::Stop, usage: None }),
        ]
    }

    #[tokio::test]
    async fn a_model_that_writes_calls_as_text_is_guided_at_once_and_stays_so() {
        for (at, reply) in [
            r#"{"name": "read_file", "arguments": {"path": "a.c"}"#,
            "```json\n{\"function\": \"search\", \"parameters\": {}}\n```",
            "<tool_call>\nread_file a.c",
            "I look at it:\n\nread_file(path=\"a.c\")",
            r#"{"action": "list_files"}"#,
        ]
        .into_iter()
        .enumerate()
        {
            let model = format!("writes calls {at}");
            assert!(is_guided(&model, reply, ToolChoice::Auto).await, "{reply}");
            assert_eq!(
                first_step(&Scripted::new(&model, vec![]), ToolChoice::Auto).await,
                "call: list_files {}\n=> Stop, 0 tokens\n"
            );
        }
    }

    #[tokio::test]
    async fn a_model_that_only_announces_a_step_is_guided() {
        for (at, reply) in [
            "I'll read the file that defines the door.",
            "Sure! First, I will list the files of the project:",
            "To answer this, let me search for the width.",
            "Let me start by looking at the files.",
        ]
        .into_iter()
        .enumerate()
        {
            assert!(is_guided(&format!("announces {at}"), reply, ToolChoice::Auto).await, "{reply}");
        }
    }

    #[tokio::test]
    async fn a_model_that_answers_is_let_be() {
        let long = "I will read to you from the book of doors. ".repeat(20);
        for (at, reply) in [
            "The door is 31 wide.",
            "I will be brief: 31.",
            "Which door do you mean? I can read the files if you like.",
            "Use `read_file` for that.",
            "{\"width\": 31}",
            "Let me explain how doors are measured: from frame to frame.",
            &long,
        ]
        .into_iter()
        .enumerate()
        {
            assert!(!is_guided(&format!("answers {at}"), reply, ToolChoice::Auto).await, "{reply}");
        }
    }

    #[tokio::test]
    async fn a_model_that_makes_no_call_where_it_must_is_guided() {
        assert!(is_guided("needs no call", "31 wide.", ToolChoice::Required).await);
        assert!(!is_guided("may not call", "I'll read the file.", ToolChoice::None).await);
    }

    #[tokio::test]
    async fn arguments_that_are_no_json_twice_make_it_guided() {
        let native = Scripted::new("broken calls", vec![Ok(calls("{\"path\":")), Ok(calls("path: a.c"))]);
        let told = first_step(&native, ToolChoice::Auto).await;
        assert_eq!(told, "call: read_file {\"path\":\n=> Stop, 0 tokens\n");
        let told = first_step(&native, ToolChoice::Auto).await;
        assert_eq!(told, "Estimated\ncall: list_files {}\n=> Stop, 8 tokens\n");
    }

    #[tokio::test]
    async fn a_model_that_calls_is_not_looked_at_again() {
        let native =
            Scripted::new("calls", vec![Ok(calls("{\"path\": \"a.c\"}")), says("I'll read the file.")]);
        let told = first_step(&native, ToolChoice::Auto).await;
        assert_eq!(told, "call: read_file {\"path\": \"a.c\"}\n=> Stop, 0 tokens\n");
        let told = first_step(&native, ToolChoice::Auto).await;
        assert!(told.contains("agent: I'll read the file."), "{told}");
    }

    #[tokio::test]
    async fn a_model_that_repeats_a_call_whose_output_it_has_is_guided() {
        let read =
            || done("read_file", json!({"path": "a.c"}), "a.c (lines 1-1 of 1)\n     1\tint width = 31;\n");
        let edit = || done("edit_file", json!({"path": "a.c"}), "edited a.c");
        let once = [vec![user("wide?")], read()].concat();
        let changed = [once.clone(), edit(), read()].concat();
        for (at, items) in [once.clone(), changed].iter().enumerate() {
            let native = Scripted::new(&format!("does not repeat {at}"), vec![says("31")]);
            let guided = Guided::new(native.info().clone(), Scripted::new("", vec![]));
            let told =
                events(&Watched::new(native.clone(), guided, llama_cpp()), items, ToolChoice::Auto).await;
            assert!(told.contains("agent: 31\n"), "{told}");
        }
        let native = Scripted::new("repeats", vec![]);
        let inner = Scripted::new("repeats", vec![says("31"), says("31 wide.")]);
        let guided = Guided::new(native.info().clone(), inner);
        let twice = [once, read()].concat();
        let told = events(&Watched::new(native, guided, llama_cpp()), &twice, ToolChoice::Auto).await;
        assert!(told.contains("agent: 31 wide.\n"), "{told}");
    }

    #[tokio::test]
    async fn what_a_reply_showed_before_an_error_is_passed_on() {
        let error = ModelError::new(crate::model::ErrorKind::Interrupted, "closed");
        let script = vec![Ok(vec![Ok(ModelEvent::TextDelta("I'll re".to_owned())), Err(error)])];
        let told = first_step(&Scripted::new("breaks off", script), ToolChoice::Auto).await;
        assert_eq!(told, "shown: I'll re\n=> error: closed\n");
    }

    #[test]
    fn a_call_of_a_tool_that_is_not_offered_is_text() {
        assert!(!holds_call(r#"{"name": "open_door", "arguments": {}}"#, &tools()));
    }
}
