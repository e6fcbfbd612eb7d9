//! A model server for tests: a real HTTP listener on the loopback that answers from a script, on any wire, keeps
//! what it was asked, and refuses histories that the real servers refuse, with their own words.
//!
//! ```ignore
//! let model = FakeModel::start(Wire::Chat, [
//!     text("let me look").call("read_file", json!({"path": "a.txt"})),
//!     text("it says A").usage(100, 80, 5, 0),
//! ]);
//! // … point askls at model.base_url() and ask …
//! assert_eq!(model.request(2).await.outputs(), [("call_1_1".to_owned(), "A".to_owned())]);
//! ```
//!
//! Nothing sleeps: `request`, `left` and `arrived` wait until it happens. Dropping a model whose script was not used
//! up, that was asked more often than it had answers, or that refused a history, fails the test.

#![allow(dead_code, reason = "each test binary uses its part of it")]
#![allow(clippy::expect_used, reason = "a test fails where its machine does")]

mod messages;
mod messages_rules;
mod rules;
mod serve;
mod wire;

use std::{
    collections::{BTreeSet, VecDeque},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use askls::protocol::Wire;
use serde_json::Value;
use tokio::sync::watch;

/// The only model that the server knows of; it answers to every name.
pub(crate) const MODEL: &str = "fake-model";

/// How long a test waits for something that should happen at once before it fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running server; it ends when it is dropped.
pub(crate) struct FakeModel {
    wire: Wire,
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    wire: Wire,
    state: Mutex<State>,
    /// For the threads that hold a reply back.
    released: Condvar,
    /// For the tests that wait.
    changed: watch::Sender<u64>,
}

struct State {
    script: Script,
    requests: Vec<Request>,
    /// Numbers of requests whose reply may go on.
    released: BTreeSet<usize>,
    /// Numbers of requests whose client hung up before the reply was over.
    left: BTreeSet<usize>,
    /// Numbers of requests whose reply was sent to its end.
    answered: BTreeSet<usize>,
    refusals: Vec<String>,
    /// What went wrong and no test asked for.
    faults: Vec<String>,
    /// How often the list of models was asked for.
    listed: usize,
    allow_unused: bool,
    allow_refusals: bool,
    closing: bool,
}

type Responder = Box<dyn FnMut(&Request) -> Reply + Send>;

enum Script {
    Replies(VecDeque<Reply>),
    Responder(Responder),
}

impl FakeModel {
    /// Answers the first request with the first reply, and so on, in the order in which requests arrive.
    pub(crate) fn start(wire: Wire, script: impl IntoIterator<Item = Reply>) -> Self {
        Self::run(wire, Script::Replies(script.into_iter().collect()))
    }

    /// Answers every request with what `respond` makes of it: for asks that run side by side.
    pub(crate) fn answering(wire: Wire, respond: impl FnMut(&Request) -> Reply + Send + 'static) -> Self {
        Self::run(wire, Script::Responder(Box::new(respond)))
    }

    fn run(wire: Wire, script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let shared = Arc::new(Shared {
            wire,
            state: Mutex::new(State {
                script,
                requests: Vec::new(),
                released: BTreeSet::new(),
                left: BTreeSet::new(),
                answered: BTreeSet::new(),
                refusals: Vec::new(),
                faults: Vec::new(),
                listed: 0,
                allow_unused: false,
                allow_refusals: false,
                closing: false,
            }),
            released: Condvar::new(),
            changed: watch::Sender::new(0),
        });
        let serving = Arc::clone(&shared);
        thread::spawn(move || {
            for connection in listener.incoming() {
                let Ok(connection) = connection else { continue };
                if serving.lock().closing {
                    break;
                }
                let serving = Arc::clone(&serving);
                thread::spawn(move || serve::connection(&serving, connection));
            }
        });
        Self { wire, address, shared }
    }

    /// The setting `base_url`.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub(crate) fn wire(&self) -> Wire {
        self.wire
    }

    /// Waits for a request (the first is number 1) and returns it.
    pub(crate) async fn request(&self, number: usize) -> Request {
        self.wait(&format!("request {number}"), |state| state.requests.get(number - 1).cloned()).await
    }

    /// Waits until the client hung up on the reply to a request.
    pub(crate) async fn left(&self, number: usize) {
        self.wait(&format!("the client to leave request {number}"), |state| {
            state.left.contains(&number).then_some(())
        })
        .await;
    }

    /// Waits until the reply to a request was sent to its end.
    pub(crate) async fn answered(&self, number: usize) {
        self.wait(&format!("the end of reply {number}"), |state| {
            state.answered.contains(&number).then_some(())
        })
        .await;
    }

    /// Lets a held reply (`gate`, `stall`) go on; also ahead of time.
    pub(crate) fn release(&self, number: usize) {
        self.shared.lock().released.insert(number);
        self.shared.released.notify_all();
    }

    /// All requests so far, refused ones included; the lists of models that were asked for are not among them.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.shared.lock().requests.clone()
    }

    /// How often the list of models was asked for.
    pub(crate) fn listed(&self) -> usize {
        self.shared.lock().listed
    }

    /// The histories that were refused, in the servers' words.
    pub(crate) fn refusals(&self) -> Vec<String> {
        self.shared.lock().refusals.clone()
    }

    /// For a test that ends before the script does.
    #[must_use]
    pub(crate) fn allow_unused(self) -> Self {
        self.shared.lock().allow_unused = true;
        self
    }

    /// For a test that sends broken histories on purpose.
    #[must_use]
    pub(crate) fn allow_refusals(self) -> Self {
        self.shared.lock().allow_refusals = true;
        self
    }

    async fn wait<T>(&self, what: &str, find: impl Fn(&State) -> Option<T>) -> T {
        let mut changed = self.shared.changed.subscribe();
        let search = async {
            loop {
                if let Some(found) = find(&self.shared.lock()) {
                    return found;
                }
                changed.changed().await.expect("the server lives as long as the test's handle on it");
            }
        };
        match tokio::time::timeout(PATIENCE, search).await {
            Ok(found) => found,
            Err(_) => panic!("waited {PATIENCE:?} for {what}; {} requests came", self.requests().len()),
        }
    }
}

impl Drop for FakeModel {
    fn drop(&mut self) {
        let complaints = {
            let mut state = self.shared.lock();
            state.closing = true;
            let mut complaints = std::mem::take(&mut state.faults);
            if !state.allow_refusals {
                complaints.extend(state.refusals.iter().map(|text| format!("it refused a history: {text}")));
            }
            if let Script::Replies(replies) = &state.script
                && !replies.is_empty()
                && !state.allow_unused
            {
                complaints.push(format!("{} replies of its script were not used", replies.len()));
            }
            complaints
        };
        self.shared.released.notify_all();
        // Wakes the listener, so that it sees that it is to end.
        drop(TcpStream::connect(self.address));
        if !complaints.is_empty() && !thread::panicking() {
            panic!("the fake model complains: {}", complaints.join("; "));
        }
    }
}

impl Shared {
    /// A test that failed elsewhere must not hide its own message behind a poisoned lock.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.send_modify(|version| *version += 1);
    }
}

/// What the server was asked.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) wire: Wire,
    /// With the query.
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) json: Value,
    /// The number of the latest earlier request whose bytes, up to the end of its items, this one begins with.
    pub(crate) extends: Option<usize>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(given, _)| given.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The key, in the header of its wire.
    pub(crate) fn key(&self) -> Option<&str> {
        match self.wire {
            Wire::Messages => self.header("x-api-key"),
            Wire::Responses | Wire::Chat => self.header("authorization")?.strip_prefix("Bearer "),
        }
    }

    /// The history as one line an item, the same on every wire: `user: …`, `agent: …`, `reasoning`, `call: name
    /// arguments`, `output: …`.
    pub(crate) fn history(&self) -> Vec<String> {
        wire::history(self.wire, &self.json)
    }

    /// The system prompt.
    pub(crate) fn instructions(&self) -> String {
        wire::instructions(self.wire, &self.json)
    }

    /// The last thing the user said, with what was added for the model.
    pub(crate) fn prompt(&self) -> String {
        let history = self.history();
        history.iter().rev().find_map(|line| line.strip_prefix("user: ")).unwrap_or_default().to_owned()
    }

    /// All outputs in the history: the call's id and the text.
    pub(crate) fn outputs(&self) -> Vec<(String, String)> {
        wire::outputs(self.wire, &self.json)
    }

    /// How far the model may choose to call: a word, or the object of the wire as JSON.
    pub(crate) fn tool_choice(&self) -> Option<String> {
        let choice = self.json.get("tool_choice")?;
        let word = if self.wire == Wire::Messages { &choice["type"] } else { choice };
        Some(word.as_str().map_or_else(|| choice.to_string(), str::to_owned))
    }

    /// The names of the tools on offer.
    pub(crate) fn tools(&self) -> Vec<String> {
        let tools = self.json["tools"].as_array().cloned().unwrap_or_default();
        let name = |tool: &Value| match self.wire {
            Wire::Responses | Wire::Messages => tool["name"].as_str().map(str::to_owned),
            Wire::Chat => tool["function"]["name"].as_str().map(str::to_owned),
        };
        tools.iter().filter_map(name).collect()
    }
}

/// What the server answers to one request.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    body: Body,
    gated: bool,
}

#[derive(Clone, Debug)]
enum Body {
    Streamed(Streamed),
    RawSse { text: String, pieces: Option<usize>, stays_open: bool },
    Fixed { status: u16, headers: Vec<(String, String)>, body: Vec<u8> },
}

#[derive(Clone, Debug, Default)]
struct Streamed {
    parts: Vec<Part>,
    usage: Option<[u64; 4]>,
    ending: Ending,
    /// How many deltas are sent before `after` happens; `None` means all.
    deltas: Option<usize>,
    after: After,
}

#[derive(Clone, Debug)]
enum Part {
    Reasoning(String),
    Text(String),
    Refusal(String),
    Call { id: Option<String>, name: String, arguments: String },
}

#[derive(Clone, Debug, Default)]
enum Ending {
    #[default]
    Natural,
    Length,
    ContentFilter,
    Failed {
        code: String,
        message: String,
    },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum After {
    #[default]
    End,
    /// The body ends in order, but without the wire's last event.
    Close,
    /// The connection breaks.
    Reset,
    /// Silence, until the test releases the reply (then the connection breaks) or the client leaves.
    Stall,
}

/// A reply that says something.
pub(crate) fn text(text: &str) -> Reply {
    Reply::streamed().text(text)
}

/// A reply that calls a tool.
pub(crate) fn call(name: &str, arguments: Value) -> Reply {
    Reply::streamed().call(name, arguments)
}

/// A reply that thinks, to be followed by `text` or `call`.
pub(crate) fn reasoning(text: &str) -> Reply {
    Reply::streamed().reasoning(text)
}

/// A reply in which the model declines.
pub(crate) fn refusal(text: &str) -> Reply {
    Reply::streamed().part(Part::Refusal(text.to_owned()))
}

/// A reply without a word or a call.
pub(crate) fn empty() -> Reply {
    Reply::streamed()
}

/// Nothing but headers, then silence until the client leaves or the test releases it.
pub(crate) fn stall() -> Reply {
    Reply::streamed().stall_after(0)
}

/// What a server of the Messages wire signs a thought with: it knows its own signature again, and refuses a thought that was changed.
pub(crate) fn signature(thought: &str) -> String {
    let sum = thought.bytes().fold(0u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    format!("signed+{sum:016x}/==")
}

/// These bytes as an event stream.
pub(crate) fn raw_sse(text: &str) -> Reply {
    let body = Body::RawSse { text: text.to_owned(), pieces: None, stays_open: false };
    Reply { body, gated: false }
}

/// A refusal to serve now, such as 429 or 503, with what the header `Retry-After` says.
pub(crate) fn busy(status: u16, retry_after: Option<&str>) -> Reply {
    let body = r#"{"error":{"message":"Rate limit reached","type":"rate_limit_error","param":null,"code":"rate_limit_exceeded"}}"#;
    let reply = self::status(status, body);
    match retry_after {
        Some(value) => reply.header("retry-after", value),
        None => reply,
    }
}

/// A whole body with a status, as JSON when it looks like it.
pub(crate) fn status(status: u16, body: &str) -> Reply {
    bytes(
        status,
        if body.starts_with(['{', '[']) { "application/json" } else { "text/html" },
        body.as_bytes(),
    )
}

/// A whole body of any kind.
pub(crate) fn bytes(status: u16, content_type: &str, body: &[u8]) -> Reply {
    let headers = vec![("content-type".to_owned(), content_type.to_owned())];
    Reply { body: Body::Fixed { status, headers, body: body.to_owned() }, gated: false }
}

impl Reply {
    fn streamed() -> Self {
        Self { body: Body::Streamed(Streamed::default()), gated: false }
    }

    fn change(mut self, change: impl FnOnce(&mut Streamed)) -> Self {
        match &mut self.body {
            Body::Streamed(streamed) => change(streamed),
            _ => panic!("only replies with text, calls or reasoning can be built further"),
        }
        self
    }

    fn part(self, part: Part) -> Self {
        self.change(|streamed| streamed.parts.push(part))
    }

    #[must_use]
    pub(crate) fn text(self, text: &str) -> Self {
        self.part(Part::Text(text.to_owned()))
    }

    #[must_use]
    pub(crate) fn reasoning(self, text: &str) -> Self {
        self.part(Part::Reasoning(text.to_owned()))
    }

    #[must_use]
    pub(crate) fn call(self, name: &str, arguments: Value) -> Self {
        self.call_text(name, &arguments.to_string())
    }

    /// A call whose arguments are this text, JSON or not.
    #[must_use]
    pub(crate) fn call_text(self, name: &str, arguments: &str) -> Self {
        self.part(Part::Call { id: None, name: name.to_owned(), arguments: arguments.to_owned() })
    }

    /// A call with an id of the test's; others get `call_<request>_<position>`.
    #[must_use]
    pub(crate) fn call_with_id(self, id: &str, name: &str, arguments: Value) -> Self {
        let arguments = arguments.to_string();
        self.part(Part::Call { id: Some(id.to_owned()), name: name.to_owned(), arguments })
    }

    /// Tokens; without it the server does not count.
    #[must_use]
    pub(crate) fn usage(self, input: u64, cached: u64, output: u64, reasoning: u64) -> Self {
        self.change(|streamed| streamed.usage = Some([input, cached, output, reasoning]))
    }

    /// Cut at the token limit.
    #[must_use]
    pub(crate) fn length(self) -> Self {
        self.change(|streamed| streamed.ending = Ending::Length)
    }

    /// Cut by a filter.
    #[must_use]
    pub(crate) fn content_filter(self) -> Self {
        self.change(|streamed| streamed.ending = Ending::ContentFilter)
    }

    /// An error in the stream instead of the end.
    #[must_use]
    pub(crate) fn failed(self, code: &str, message: &str) -> Self {
        let (code, message) = (code.to_owned(), message.to_owned());
        self.change(|streamed| streamed.ending = Ending::Failed { code, message })
    }

    /// The body ends in order after so many deltas, without the wire's last event.
    #[must_use]
    pub(crate) fn cut_after(self, deltas: usize) -> Self {
        self.after(deltas, After::Close)
    }

    /// The connection breaks after so many deltas.
    #[must_use]
    pub(crate) fn reset_after(self, deltas: usize) -> Self {
        self.after(deltas, After::Reset)
    }

    /// Silence after so many deltas, until the client leaves or the test releases the reply.
    #[must_use]
    pub(crate) fn stall_after(self, deltas: usize) -> Self {
        self.after(deltas, After::Stall)
    }

    fn after(self, deltas: usize, after: After) -> Self {
        self.change(|streamed| (streamed.deltas, streamed.after) = (Some(deltas), after))
    }

    /// Nothing is sent, not even headers, before the test releases the reply.
    #[must_use]
    pub(crate) fn gate(mut self) -> Self {
        self.gated = true;
        self
    }

    /// For `raw_sse`: written in pieces of so many bytes.
    #[must_use]
    pub(crate) fn in_pieces_of(mut self, bytes: usize) -> Self {
        match &mut self.body {
            Body::RawSse { pieces, .. } => *pieces = Some(bytes),
            _ => panic!("only raw streams come in pieces"),
        }
        self
    }

    /// For `raw_sse`: silence follows, until the client leaves or the test releases the reply.
    #[must_use]
    pub(crate) fn stays_open(mut self) -> Self {
        match &mut self.body {
            Body::RawSse { stays_open, .. } => *stays_open = true,
            _ => panic!("only raw streams stay open"),
        }
        self
    }

    /// For `status`, `bytes` and `busy`: one more header, or another value for it.
    #[must_use]
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        match &mut self.body {
            Body::Fixed { headers, .. } => {
                headers.retain(|(given, _)| given != name);
                headers.push((name.to_owned(), value.to_owned()));
            }
            _ => panic!("only replies with a status take headers"),
        }
        self
    }
}
