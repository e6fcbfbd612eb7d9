//! What a run showed, in the neutral words of the cases.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use serde_json::Value;

/// Everything that the expectations of a case can be held against.
#[derive(Default)]
pub(crate) struct Observed {
    pub asks: Vec<Ask>,
    /// Tool executions in order; `None` when this way of driving cannot see them.
    pub executions: Option<Vec<Execution>>,
    /// Tools for which a question appeared, in order.
    pub asked_for: Vec<String>,
    /// Tools of calls that were refused without a question, in order.
    pub refused: Vec<String>,
    /// Per entry of `when.calls` that is a call.
    pub results: Vec<CallResult>,
    pub decisions: Vec<String>,
    /// Rows of a table, in order.
    pub rows: Vec<Row>,
    pub provider: Traffic,
    /// By port.
    pub sites: BTreeMap<String, Traffic>,
    /// Texts of the model documents by URI.
    pub buffers: BTreeMap<String, String>,
    /// Positions of edits that lie past their line, and versions of edits by path.
    pub edit_faults: Vec<String>,
    pub edit_versions: BTreeMap<String, i64>,
    pub edit_uris: Vec<String>,
    /// Both directions of the conversation with the server, in the order of time.
    pub messages: Vec<Message>,
    /// Request methods by the labels of steps that sent them, with the JSON-RPC id.
    pub labels: BTreeMap<String, String>,
    pub stderr: String,
    /// `(exit code, from the last step)` when the process ended by itself.
    pub exit: Option<(Option<i32>, Duration)>,
    pub was_alive: Option<bool>,
    pub still_answers: Option<bool>,
    pub rss_growth_mb: Option<f64>,
    pub elapsed: Duration,
    /// From the cancel to the response, by label.
    pub after_cancel: Option<Duration>,
    pub cancelled_at: Option<Instant>,
    /// What must never happen and did: a panic, a step whose message did not come.
    pub faults: Vec<String>,
    /// Texts that the user's log files hold.
    pub logs: String,
}

/// One turn.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ask {
    pub label: String,
    pub end: Option<End>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct End {
    /// `completed`, `failed` or `cancelled`.
    pub outcome: &'static str,
    pub text: String,
    /// Every neutral kind that fits; none for an answer.
    pub error_kinds: &'static [&'static str],
    pub error_text: String,
    pub input_tokens: u64,
    pub output_tokens: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Execution {
    pub name: String,
    pub arguments: Value,
}

#[derive(Clone, Debug)]
pub(crate) struct CallResult {
    pub ok: bool,
    pub text: String,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    /// The path that was asked for, of the first request.
    pub path: Option<String>,
    pub end: Option<End>,
}

/// Requests that reached one listener.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traffic {
    pub requests: Vec<Request>,
    pub connections: usize,
    /// When the client left before the script's end.
    pub left: Vec<Instant>,
}

#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub method: String,
    /// With its query.
    pub path: String,
    /// Names in small letters.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Null when the body is no JSON.
    pub json: Value,
}

#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub at: Instant,
    pub from_server: bool,
    pub json: Value,
    pub bytes: usize,
}

impl Observed {
    pub(crate) fn ask(&self, label: &str) -> Option<&Ask> {
        self.asks.iter().find(|ask| ask.label == label)
    }

    /// The turn of a run that has one.
    pub(crate) fn only_end(&self) -> Option<&End> {
        self.asks.last().and_then(|ask| ask.end.as_ref())
    }

    pub(crate) fn server_messages(&self) -> impl Iterator<Item = &Message> {
        self.messages.iter().filter(|message| message.from_server)
    }
}

impl Request {
    /// What is sent beside, such as the question for the list of models, has another method.
    pub(crate) fn is_for_an_answer(&self) -> bool {
        self.method == "POST"
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }
}
