//! The commands of askls, and the progress that they show.

use serde_json::{Value, json};

use super::client::{Client, RequestId, WAIT};

impl Client {
    /// Sends a command with one argument object and does not wait.
    pub fn send_command(&mut self, command: &str, argument: Value) -> RequestId {
        self.send("workspace/executeCommand", json!({"command": command, "arguments": [argument]}))
    }

    /// Runs a command with one argument object to its result.
    pub fn command(&mut self, command: &str, argument: Value) -> Value {
        let request = self.send_command(command, argument);
        self.wait(&request).unwrap_or_else(|failure| panic!("{command}: {failure:?}"))
    }

    /// Starts a turn and does not wait for it.
    pub fn send_ask(&mut self, prompt: &str) -> RequestId {
        self.send_command("askls.ask", json!({"prompt": prompt}))
    }

    /// Runs a turn to its result.
    pub fn ask(&mut self, prompt: &str) -> Value {
        self.command("askls.ask", json!({"prompt": prompt}))
    }

    /// Runs a turn on a thread that is there already.
    pub fn ask_on(&mut self, thread: &Value, prompt: &str) -> Value {
        self.command("askls.ask", json!({"prompt": prompt, "threadId": thread}))
    }

    pub fn cancel_request(&self, request: &RequestId) {
        self.notify("$/cancelRequest", json!({"id": request.0}));
    }

    /// The values sent for a token so far, oldest first.
    pub fn progress(&self, token: &Value) -> Vec<Value> {
        let all = self.seen("$/progress");
        all.into_iter()
            .filter(|params| params["token"] == *token)
            .map(|params| params["value"].clone())
            .collect()
    }

    /// Waits for the `n`th turn's progress to begin (counted from 0); its token.
    pub fn wait_begin(&self, n: usize) -> Value {
        self.wait_until("the begin of progress", |received| {
            let begins = received.iter().map(|received| &received.message["params"]);
            begins
                .filter(|params| params["value"]["kind"] == "begin")
                .nth(n)
                .map(|params| params["token"].clone())
        })
    }

    /// Waits for a report of this token that contains a text.
    pub fn wait_report(&self, token: &Value, text: &str) {
        self.wait_until(&format!("a report with {text:?}"), |received| {
            let mut values = received.iter().map(|received| &received.message["params"]);
            values
                .any(|params| {
                    params["token"] == *token
                        && params["value"]["message"].as_str().is_some_and(|message| message.contains(text))
                })
                .then_some(())
        });
    }

    /// Asks for the status until a member of it has this value.
    pub fn wait_status(&mut self, member: &str, value: impl Into<Value>) {
        let value = value.into();
        let deadline = std::time::Instant::now() + WAIT;
        loop {
            let status = self.command("askls.status", json!({}));
            if status[member] == value {
                return;
            }
            assert!(std::time::Instant::now() < deadline, "{member} does not become {value}: {status}");
        }
    }
}
