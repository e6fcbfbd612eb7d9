//! The client's side of the conversation: what is sent, what is waited for.

use std::{
    collections::BTreeMap,
    process::{Child, Command},
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{Answers, Policy, initialize, policy::Rules};
use crate::{
    case::Run,
    names::Configured,
    processes,
    provider::Provider,
    stretched,
    support::{
        editor::{Editor, Encoding, Manner},
        transport::{Process, Shared},
    },
    world::World,
};

/// How long a server may take to answer `initialize`, or to end when it is asked to, before it is given up.
pub(super) const LAST_WAIT: Duration = Duration::from_secs(5);

pub(crate) struct Client<'a> {
    pub(super) shared: Arc<Shared>,
    pub(super) process: Process,
    pub(super) rules: Arc<Rules>,
    pub(super) world: &'a World,
    pub(super) run: &'a Run,
    configured: &'a Configured,
    provider: &'a Provider,
    /// Requests by label, as sent.
    pub(super) sent: BTreeMap<String, (Value, Instant)>,
    pub(super) asks: Vec<String>,
    /// Requests that the provider had before the last ask.
    asked_before: usize,
    next_id: i64,
    pub(super) faults: Vec<String>,
    /// Values that steps captured.
    pub(super) captured: BTreeMap<String, String>,
    /// Processes that stand for an editor.
    pub(super) dummies: BTreeMap<String, Child>,
    /// How many messages `wait_message` has passed already.
    pub(super) passed: usize,
    pub(super) cancelled: Option<(String, Instant)>,
    pub(super) input_closed: bool,
    deadline: Instant,
    pub(super) resident_at_start: Option<f64>,
    pub(super) was_shut_down: bool,
}

impl<'a> Client<'a> {
    pub(super) fn start(
        command: Command,
        world: &'a World,
        run: &'a Run,
        configured: &'a Configured,
        provider: &'a Provider,
    ) -> Self {
        let shared = Shared::new(Editor::new(Manner::VsCode, 1));
        let process = Process::start(command, &shared);
        let rules = Arc::new(Rules::default());
        rules.serve(&shared, &process.outbox());
        Self {
            shared,
            process,
            rules,
            world,
            run,
            configured,
            provider,
            sent: BTreeMap::new(),
            asks: Vec::new(),
            asked_before: 0,
            next_id: 1,
            faults: Vec::new(),
            captured: BTreeMap::new(),
            dummies: BTreeMap::new(),
            passed: 0,
            cancelled: None,
            input_closed: false,
            deadline: Instant::now() + stretched(run.wall),
            resident_at_start: None,
            was_shut_down: false,
        }
    }

    /// What holds until a case says otherwise: everything is accepted, or nothing that a case did not name.
    pub(super) fn default_answers(&self, accepts: bool) {
        let add = |method: &str, answers: Answers| self.rules.add(Policy::always(method, answers));
        add("*", Answers::Error(-32601, "method not found".to_owned()));
        add("window/workDoneProgress/create", Answers::Result(Value::Null));
        add("client/registerCapability", Answers::Result(Value::Null));
        add("client/unregisterCapability", Answers::Result(Value::Null));
        add("workspace/configuration", Answers::Result(json!([null])));
        add("window/showDocument", Answers::Result(json!({"success": true})));
        add("window/showMessageRequest", Answers::Result(Value::Null));
        if accepts {
            let allow = !self.configured.denies && self.run.when["answer_to_ask"] != "deny";
            add("window/showMessageRequest", Answers::Choose { allow, title_only: false });
            match self.run.given["client"].get("apply_edit_result") {
                Some(result) => add("workspace/applyEdit", Answers::Result(result.clone())),
                None => add("workspace/applyEdit", Answers::Apply),
            }
        }
    }

    pub(super) fn standard_start(&mut self) -> Result<(), String> {
        self.initialize(initialize::standard(self.world, &self.run.given))
    }

    /// `initialize`, its answer, `initialized`, and the buffers that are open from the start.
    pub(super) fn initialize(&mut self, params: Value) -> Result<(), String> {
        self.request("initialize", Some(params), "initialize");
        self.wait_for("initialize", LAST_WAIT);
        let answer = self.response("initialize").unwrap_or_default();
        let encoding = match answer["result"]["capabilities"]["positionEncoding"].as_str() {
            None | Some("utf-16") => Encoding::Utf16,
            Some("utf-8") => Encoding::Utf8,
            Some("utf-32") => Encoding::Utf32,
            Some(other) => return Err(format!("the server chose the position encoding {other}")),
        };
        self.shared.lock().editor.encoding = encoding;
        self.notify("initialized", Some(json!({})));
        for buffer in self.run.given["open_buffers"].as_array().into_iter().flatten() {
            self.open(buffer);
        }
        self.resident_at_start = processes::resident_mb(self.process.child.id());
        Ok(())
    }

    pub(super) fn open(&self, document: &Value) {
        let path = || self.world.uri(document["path"].as_str().unwrap_or_default());
        let uri = document["uri"].as_str().map_or_else(path, str::to_owned);
        let mut state = self.shared.lock();
        state.editor.first_version = document["version"].as_i64().unwrap_or(1);
        let params = state.editor.open(&uri, document["text"].as_str().unwrap_or_default());
        self.process.outbox().notify(&mut state, "textDocument/didOpen", params);
    }

    pub(super) fn request(&mut self, method: &str, params: Option<Value>, label: &str) {
        let id = json!(self.next_id);
        self.next_id += 1;
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if let Some(params) = params {
            message["params"] = params;
        }
        self.sent.insert(label.to_owned(), (id, Instant::now()));
        self.process.outbox().send(&mut self.shared.lock(), message);
        self.was_shut_down |= method == "shutdown";
    }

    pub(super) fn notify(&self, method: &str, params: Option<Value>) {
        let mut message = json!({"jsonrpc": "2.0", "method": method});
        if let Some(params) = params {
            message["params"] = params;
        }
        self.process.outbox().send(&mut self.shared.lock(), message);
    }

    /// Starts a turn and does not wait. Turns of one history continue the thread of the last one that has ended.
    pub(super) fn ask(&mut self, prompt: &str, label: &str, step: &Value) {
        let mut argument = json!({"prompt": prompt});
        let given = &self.run.given;
        let uri = step["uri"].as_str().or_else(|| given["active_document_uri"].as_str());
        let path = given["active_document"].as_str().map(|path| self.world.uri(path));
        if let Some(uri) = uri.map(str::to_owned).or(path) {
            argument["uri"] = json!(uri);
        }
        if let Some(range) = step.get("range") {
            argument["range"] = range.clone();
        }
        if self.configured.is_read_only {
            argument["mode"] = json!("plan");
        }
        if self.run.kind != "lsp-sequence" {
            let last = self.asks.iter().rev().find_map(|label| self.response(label));
            if let Some(thread) = last.and_then(|answer| answer["result"].get("threadId").cloned()) {
                argument["threadId"] = thread;
            }
        }
        match &step["on_approval"] {
            Value::String(answer) => {
                let answers = Answers::Choose { allow: answer == "allow", title_only: false };
                self.rules.add(Policy::always("window/showMessageRequest", answers));
            }
            // The newest rule counts, so the first answer is added last.
            Value::Array(answers) => {
                for answer in answers.iter().rev() {
                    let answers = Answers::Choose { allow: answer == "allow", title_only: false };
                    let rule = Policy::always("window/showMessageRequest", answers);
                    self.rules.add(Policy { once: true, ..rule });
                }
            }
            _ => {}
        }
        let mut params = json!({"command": "askls.ask", "arguments": [argument]});
        if let Some(token) = step.get("workDoneToken") {
            params["workDoneToken"] = token.clone();
        }
        self.asks.push(label.to_owned());
        self.asked_before = self.provider.asked();
        self.request("workspace/executeCommand", Some(params), label);
    }

    /// Waits for the response to a labelled request; a fault when it does not come.
    pub(super) fn wait_for(&mut self, label: &str, limit: Duration) {
        let Some((id, _)) = self.sent.get(label).cloned() else {
            self.faults.push(format!("nothing was sent as {label}"));
            return;
        };
        let came = self.shared.wait(self.at_most(limit), |state| {
            let has = state
                .received
                .iter()
                .any(|received| received.message.get("method").is_none() && received.message["id"] == id);
            (has || state.output_ended).then_some(has)
        });
        match came {
            Some(true) => {}
            Some(false) => self.faults.push(format!("the server ended before the response to {label} came")),
            None => self.faults.push(format!("the response to {label} did not come within {limit:?}")),
        }
    }

    /// Lets go on for so long what goes on, and longer where the last turn has not reached its provider by then: a case
    /// means what happens meanwhile, and a busy machine takes its time for it.
    pub(super) fn pause(&self, wait: Duration) {
        std::thread::sleep(wait);
        let has_ended = || self.asks.last().is_none_or(|label| self.response(label).is_some());
        processes::wait(self.at_most(LAST_WAIT), || has_ended() || self.provider.asked() > self.asked_before);
    }

    /// No wait is longer than what is left of the run.
    pub(super) fn at_most(&self, limit: Duration) -> Duration {
        stretched(limit).min(self.deadline.saturating_duration_since(Instant::now()))
    }

    pub(super) fn response(&self, label: &str) -> Option<Value> {
        self.response_with_time(label).map(|(response, _)| response)
    }

    pub(super) fn response_with_time(&self, label: &str) -> Option<(Value, Instant)> {
        let (id, _) = self.sent.get(label)?;
        let state = self.shared.lock();
        let mut responses = state.received.iter().filter(|received| received.message.get("method").is_none());
        responses
            .find(|received| received.message["id"] == *id)
            .map(|received| (received.message.clone(), received.at))
    }

    /// A request that no server knows, which every server must answer; whether it was.
    pub(super) fn ping(&mut self, limit: Duration) -> bool {
        let label = format!("ping {}", self.next_id);
        self.request("askls/ping", None, &label);
        self.wait_for(&label, limit);
        self.response(&label).is_some()
    }
}
