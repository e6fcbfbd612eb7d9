//! A typed client of the real binary: what an editor does, said in the words of a test.
//!
//! Dropping it ends the server properly and fails the test when a message was left unclaimed, a rule of [`super::rules`]
//! was broken, the key was seen anywhere, or the server did not exit with 0.

use std::{
    process::{Command, ExitStatus},
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    builder::Builder,
    model::FakeModel,
    project::Project,
    rules::{self, Conversation},
    transport::{Answer, Process, Received, Shared},
};

/// How long anything may take before the test says that it did not happen. Generous: machines that test are busy.
pub const WAIT: Duration = Duration::from_secs(20);

/// The key that the server is given, and must never show.
pub const KEY: &str = "sk-test-0123456789abcdef";

/// A request that was sent.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestId(pub Value);

/// An error response.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    pub code: i64,
    pub message: String,
}

/// A request of the server, to be answered with [`Client::reply`].
#[derive(Clone, Debug)]
pub struct ServerRequest {
    pub id: Value,
    pub params: Value,
}

pub struct Client {
    pub(super) shared: Arc<Shared>,
    pub(super) process: Process,
    pub(super) capabilities: Value,
    pub(super) project: Project,
    /// What the server answered to `initialize`.
    pub initialized: Value,
    next_id: i64,
    /// The test ended the server in its own way; drop only checks the messages.
    exit: Option<ExitStatus>,
    /// Methods that this test is not about.
    tolerated: Vec<String>,
}

impl Client {
    /// A full-featured editor on the project, with the fake model as the model.
    pub fn start(project: &Project, model: &FakeModel) -> Self {
        Self::builder(project).model(model).start()
    }

    pub fn builder(project: &Project) -> Builder {
        Builder::new(project)
    }

    pub(super) fn launch(
        command: Command,
        shared: Arc<Shared>,
        capabilities: Value,
        project: &Project,
    ) -> Self {
        Self {
            process: Process::start(command, &shared),
            shared,
            capabilities,
            project: project.clone(),
            initialized: Value::Null,
            next_id: 1,
            exit: None,
            tolerated: Vec::new(),
        }
    }

    // Requests and notifications

    /// Sends a request and does not wait.
    pub fn send(&mut self, method: &str, params: Value) -> RequestId {
        let id = json!(self.next_id);
        self.next_id += 1;
        self.send_as(id, method, params)
    }

    /// Sends a request under an id of the test's choice.
    pub fn send_as(&mut self, id: Value, method: &str, params: Value) -> RequestId {
        self.send_raw(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        RequestId(id)
    }

    /// Sends a request whose parameters are this JSON text, for what no [`Value`] can hold.
    pub fn send_text(&mut self, method: &str, params: &str) -> RequestId {
        let id = self.next_id;
        self.next_id += 1;
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        self.process.outbox().send_text(&mut self.shared.lock(), json!({"id": id, "method": method}), &body);
        RequestId(json!(id))
    }

    /// Sends a message as it is.
    pub fn send_raw(&self, message: Value) {
        self.process.outbox().send(&mut self.shared.lock(), message);
    }

    /// Writes bytes that need not be a message.
    pub fn send_bytes(&self, bytes: &[u8]) {
        self.process.outbox().send_bytes(bytes.to_vec());
    }

    pub fn notify(&self, method: &str, params: Value) {
        self.process.outbox().notify(&mut self.shared.lock(), method, params);
    }

    /// Sends a request and waits for its response.
    pub fn call(&mut self, method: &str, params: Value) -> Result<Value, Failure> {
        let request = self.send(method, params);
        self.wait(&request)
    }

    /// Sends a request whose response is no error.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        self.call(method, params).unwrap_or_else(|failure| panic!("{method}: {failure:?}"))
    }

    /// Waits for the response to a request.
    pub fn wait(&self, request: &RequestId) -> Result<Value, Failure> {
        let response = self.wait_for(&format!("the response to {}", request.0), |message| {
            message.get("method").is_none() && message["id"] == request.0
        });
        match response.get("error") {
            None => Ok(response["result"].clone()),
            Some(error) => Err(Failure {
                code: error["code"].as_i64().unwrap_or_default(),
                message: error["message"].as_str().unwrap_or_default().to_owned(),
            }),
        }
    }

    // What the server sends

    /// Waits for a message that nobody has claimed yet, and claims it.
    pub fn wait_for(&self, what: &str, matches: impl Fn(&Value) -> bool) -> Value {
        self.wait_for_received(what, matches).message
    }

    pub fn wait_for_received(&self, what: &str, matches: impl Fn(&Value) -> bool) -> Received {
        let found = self.shared.wait(WAIT, |state| {
            let found =
                state.received.iter_mut().find(|received| !received.claimed && matches(&received.message));
            if let Some(received) = found {
                received.claimed = true;
                return Some(Some(received.clone()));
            }
            state.output_ended.then_some(None)
        });
        match found {
            Some(Some(received)) => received,
            Some(None) => panic!("the server ended before {what} came\n{}", self.shared.transcript()),
            None => panic!("{what} did not come in {WAIT:?}\n{}", self.shared.transcript()),
        }
    }

    /// Waits for a notification and claims it; its parameters.
    pub fn wait_notification(&self, method: &str) -> Value {
        self.wait_for(method, |message| message["method"] == method)["params"].clone()
    }

    /// Waits for a request that no handler answers, and claims it.
    pub fn wait_request(&self, method: &str) -> ServerRequest {
        let message = self.wait_for(method, |message| message["method"] == method);
        ServerRequest { id: message["id"].clone(), params: message["params"].clone() }
    }

    /// Waits for the first request of a method, whether a handler leaves it unanswered or there is none; claims nothing.
    pub fn wait_sent(&self, method: &str) -> ServerRequest {
        self.wait_until(method, |received| {
            let mut messages = received.iter().map(|received| &received.message);
            let sent = messages.find(|message| message["method"] == method)?;
            Some(ServerRequest { id: sent["id"].clone(), params: sent["params"].clone() })
        })
    }

    /// Answers a request that [`Self::wait_request`] or [`Self::wait_sent`] gave.
    pub fn reply(&self, request: &ServerRequest, reply: Answer) {
        self.process.outbox().reply(&mut self.shared.lock(), &request.id, &request.params, reply);
    }

    /// From now on answers requests of this method so. The handler sees the parameters.
    pub fn on_request(&self, method: &str, handler: impl FnMut(&Value) -> Answer + Send + 'static) {
        self.shared.lock().handlers.push((method.to_owned(), Box::new(handler)));
    }

    /// From now on answers every question with this title.
    pub fn choose(&self, title: &str) {
        let title = title.to_owned();
        self.on_request("window/showMessageRequest", move |_| Answer::Result(json!({"title": title})));
    }

    /// Parameters of everything of this method that has come so far, claimed or not.
    pub fn seen(&self, method: &str) -> Vec<Value> {
        let state = self.shared.lock();
        let of_method = state.received.iter().filter(|received| received.message["method"] == method);
        of_method.map(|received| received.message["params"].clone()).collect()
    }

    /// Waits until so many of this method have come, claimed or not; claims nothing.
    pub fn wait_seen(&self, method: &str, count: usize) {
        self.wait_until(&format!("{count} of {method}"), |received| {
            let of_method = received.iter().filter(|received| received.message["method"] == method);
            (of_method.count() >= count).then_some(())
        });
    }

    /// Waits until something is true of all messages so far; claims nothing.
    pub fn wait_until<T>(&self, what: &str, mut take: impl FnMut(&[Received]) -> Option<T>) -> T {
        self.shared
            .wait(WAIT, |state| take(&state.received))
            .unwrap_or_else(|| panic!("{what} did not happen in {WAIT:?}\n{}", self.shared.transcript()))
    }

    /// Claims the error responses to what was no request.
    pub fn claim_answers_without_id(&self) {
        for received in &mut self.shared.lock().received {
            let message = &received.message;
            received.claimed |= message.get("method").is_none() && message["id"].is_null();
        }
    }

    /// What this client said that it can do.
    pub fn capabilities(&self) -> &Value {
        &self.capabilities
    }

    /// Claims what comes of this method, whether it comes or not.
    pub fn tolerate(&mut self, method: &str) {
        self.tolerated.push(method.to_owned());
    }

    // The end

    /// `shutdown` and `exit`; the process's exit status. The input stays open: the server must end all the same.
    pub fn shut_down(&mut self) -> ExitStatus {
        self.request("shutdown", Value::Null);
        self.notify("exit", Value::Null);
        self.wait_exit(WAIT)
    }

    pub fn close_input(&self) {
        self.process.outbox().close();
    }

    /// Lets go of the server's output, which takes one more message of the server to happen.
    pub fn close_output(&mut self) {
        self.shared.lock().drop_output = true;
        self.send_command("askls.status", json!({}));
        self.shared.wait(WAIT, |state| state.output_ended.then_some(()));
    }

    /// Waits for the process to end by itself.
    pub fn wait_exit(&mut self, limit: Duration) -> ExitStatus {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = self.process.child.try_wait().expect("a child") {
                self.exit = Some(status);
                return status;
            }
            assert!(
                Instant::now() < deadline,
                "the server is still there after {limit:?}\n{}",
                self.shared.transcript()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn process_id(&self) -> u32 {
        self.process.child.id()
    }

    fn check(&mut self, complete: bool) {
        self.process.drain();
        let state = self.shared.lock();
        let mut faults = rules::broken(&Conversation {
            capabilities: &self.capabilities,
            sent: &state.sent,
            received: &state.received,
            complete,
        });
        faults.extend(state.frame_fault.clone());
        for received in &state.received {
            let method = received.message["method"].as_str().unwrap_or_default();
            let is_free = matches!(
                method,
                "$/progress"
                    | "window/logMessage"
                    | "telemetry/event"
                    | "$/logTrace"
                    | "textDocument/publishDiagnostics"
            );
            let is_tolerated = self.tolerated.iter().any(|tolerated| tolerated == method);
            if complete && !received.claimed && !is_free && !is_tolerated {
                faults.push(format!("nobody claimed {}", received.message));
            }
            if received.message.to_string().contains(KEY) {
                faults.push(format!("the key is in {}", received.message));
            }
        }
        if state.stderr.contains(KEY) {
            faults.push("the key is in stderr".to_owned());
        }
        if state.stderr.contains("panicked") {
            faults.push("the server panicked".to_owned());
        }
        drop(state);
        assert!(faults.is_empty(), "{}\n{}", faults.join("\n"), self.shared.transcript());
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = self.process.child.kill();
            let _ = self.process.child.wait();
            return;
        }
        if self.exit.is_some() {
            self.check(false);
            return;
        }
        let status = self.shut_down();
        self.check(true);
        assert_eq!(status.code(), Some(0), "the exit code after shutdown and exit");
    }
}
