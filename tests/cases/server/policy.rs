//! How the client answers requests of the server: rules that hold from now on, the newest first.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};

use crate::support::transport::{Answer, Outbox, Shared};

/// One rule.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    /// `*` is every method.
    pub method: String,
    pub answers: Answers,
    pub delay: Duration,
    /// Makes room for the next rule after one request.
    pub once: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Answers {
    Result(Value),
    Error(i64, String),
    Never,
    /// `workspace/applyEdit` is carried out on the model documents.
    Apply,
    /// Picks the offered action that permits (or refuses) this one execution.
    Choose {
        allow: bool,
        title_only: bool,
    },
}

impl Policy {
    pub(crate) fn always(method: &str, answers: Answers) -> Self {
        Self { method: method.to_owned(), answers, delay: Duration::ZERO, once: false }
    }

    /// From a step `on_server_request`.
    ///
    /// # Errors
    /// When the step says nothing that is known.
    pub(crate) fn of_step(step: &Value) -> Result<Self, String> {
        let method = step["on_server_request"].as_str().ok_or("on_server_request without a method")?;
        let answers = match step["do"].as_str() {
            Some("reply") => Answers::Result(step["result"].clone()),
            Some("error") => Answers::Error(
                step["error"]["code"].as_i64().unwrap_or(-32603),
                step["error"]["message"].as_str().unwrap_or("error").to_owned(),
            ),
            Some("ignore") => Answers::Never,
            Some("apply") => Answers::Apply,
            Some("choose") => {
                Answers::Choose { allow: step["choose"] == "allow", title_only: step["title_only"] == true }
            }
            other => return Err(format!("on_server_request does {other:?}, which is not known")),
        };
        let delay = Duration::from_millis(step["delay_ms"].as_u64().unwrap_or(0));
        Ok(Self { delay, ..Self::always(method, answers) })
    }

    fn is_for(&self, method: &str) -> bool {
        self.method == "*" || self.method == method
    }
}

/// A request that nobody has answered.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pub id: Value,
    pub method: String,
    pub params: Value,
}

/// What the answering thread shares with the steps.
#[derive(Default)]
pub(crate) struct Rules {
    rules: Mutex<Vec<Policy>>,
    pending: Mutex<Vec<Pending>>,
    asked_for: Mutex<Vec<String>>,
    is_over: AtomicBool,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Rules {
    /// Answers everything that comes, until [`Rules::stop`].
    pub(crate) fn serve(self: &Arc<Self>, shared: &Arc<Shared>, outbox: &Outbox) {
        let (rules, shared, outbox) = (Arc::clone(self), Arc::clone(shared), outbox.clone());
        std::thread::spawn(move || {
            let mut looked_at = 0;
            while !rules.is_over.load(Ordering::Relaxed) {
                let new: Vec<Value> = shared
                    .wait(Duration::from_millis(50), |state| {
                        let new = state.received.iter().skip(looked_at);
                        let new: Vec<Value> = new.map(|received| received.message.clone()).collect();
                        (!new.is_empty()).then_some(new)
                    })
                    .unwrap_or_default();
                looked_at += new.len();
                for message in new {
                    rules.take(message, &shared, &outbox);
                }
            }
        });
    }

    fn take(&self, message: Value, shared: &Arc<Shared>, outbox: &Outbox) {
        let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) else { return };
        let pending =
            Pending { id: id.clone(), method: method.to_owned(), params: message["params"].clone() };
        if method == "window/showMessageRequest" && asks_permission(&pending.params) {
            let text = pending.params["message"].as_str().unwrap_or_default();
            let tool = if text.contains("run a command") { "run_command" } else { "write_file" };
            locked(&self.asked_for).push(tool.to_owned());
        }
        let rule = self.find(method);
        let reply = rule.as_ref().and_then(|rule| reply(&rule.answers, &pending.params));
        let (Some(rule), Some(reply)) = (rule, reply) else {
            locked(&self.pending).push(pending);
            return;
        };
        if rule.delay.is_zero() {
            outbox.reply(&mut shared.lock(), &pending.id, &pending.params, reply);
            return;
        }
        let (shared, outbox) = (Arc::clone(shared), outbox.clone());
        std::thread::spawn(move || {
            std::thread::sleep(rule.delay);
            outbox.reply(&mut shared.lock(), &pending.id, &pending.params, reply);
        });
    }

    pub(crate) fn add(&self, policy: Policy) {
        locked(&self.rules).push(policy);
    }

    /// Takes the oldest unanswered request of this method that is like `wanted`.
    pub(crate) fn take_pending(&self, method: &str, wanted: impl Fn(&Pending) -> bool) -> Option<Pending> {
        let mut pending = locked(&self.pending);
        let position = pending
            .iter()
            .position(|request| (method == "*" || request.method == method) && wanted(request))?;
        Some(pending.remove(position))
    }

    pub(crate) fn asked_for(&self) -> Vec<String> {
        locked(&self.asked_for).clone()
    }

    pub(crate) fn stop(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    fn find(&self, method: &str) -> Option<Policy> {
        let mut rules = locked(&self.rules);
        let position = rules.iter().rposition(|rule| rule.is_for(method))?;
        let found = rules.get(position)?.clone();
        if found.once {
            rules.remove(position);
        }
        Some(found)
    }
}

/// `None`: no answer.
pub(crate) fn reply(answers: &Answers, params: &Value) -> Option<Answer> {
    match answers {
        Answers::Result(result) => Some(Answer::Result(result.clone())),
        Answers::Error(code, message) => Some(Answer::Error(*code, message.clone())),
        Answers::Never => None,
        Answers::Apply => Some(Answer::Apply),
        Answers::Choose { allow, title_only } => Some(Answer::Result(choice(params, *allow, *title_only))),
    }
}

/// Titles by which askls offers to permit one execution, or to apply edits; and those by which it does not.
const PERMITTING: &[&str] = &["Allow once", "Apply"];
const REFUSING: &[&str] = &["Deny", "Reject"];

/// Whether this question is about permission, not only an offer to show something.
fn asks_permission(params: &Value) -> bool {
    offered(params).iter().any(|action| PERMITTING.contains(&title(action)))
}

fn choice(params: &Value, allow: bool, title_only: bool) -> Value {
    let wanted = if allow { PERMITTING } else { REFUSING };
    let offered = offered(params);
    let by_title = offered.iter().find(|action| wanted.contains(&title(action)));
    match by_title.or_else(|| if allow { offered.first() } else { offered.last() }) {
        None => Value::Null,
        Some(action) if title_only => json!({"title": title(action)}),
        Some(action) => action.clone(),
    }
}

fn offered(params: &Value) -> Vec<Value> {
    params["actions"].as_array().cloned().unwrap_or_default()
}

fn title(action: &Value) -> &str {
    action["title"].as_str().unwrap_or_default()
}
