//! The steps of a case, one after the other.

use std::{
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    client::{Client, LAST_WAIT},
    policy::{Answers, Policy, reply},
};
use crate::{matching, processes};

/// Where a step does not say how long it waits.
const DEFAULT_WAIT: Duration = Duration::from_secs(20);

impl Client<'_> {
    /// # Errors
    /// When the step is not known. What does not come is a fault of the run and no error.
    pub(super) fn step(&mut self, step: &Value) -> Result<(), String> {
        let step = self.with_captured(step);
        let Some(members) = step.as_object() else { return Err(format!("{step} is no step")) };
        let within = step["within_ms"].as_u64().map_or(DEFAULT_WAIT, Duration::from_millis);
        let has = |name: &str| members.contains_key(name);
        let text = |name: &str| step[name].as_str().unwrap_or_default().to_owned();
        let label = step["label"].as_str().unwrap_or("request").to_owned();
        if has("initialize") {
            return self.initialize(step["initialize"].clone());
        }
        if has("ask") {
            self.ask(&text("ask"), &label, &step);
        } else if has("ask_raw_arguments") {
            let arguments = &step["ask_raw_arguments"];
            let mut params = json!({"command": "askls.ask"});
            if !arguments.is_null() {
                params["arguments"] = arguments.clone();
            }
            self.request("workspace/executeCommand", Some(params), &label);
        } else if has("request") {
            self.request(&text("request"), step.get("params").cloned(), &label);
            if has("within_ms") {
                self.wait_for(&label, within);
            }
        } else if has("notify") {
            self.note_document(&text("notify"), &step["params"]);
            self.notify(&text("notify"), step.get("params").cloned());
        } else if has("open") {
            self.open(&step["open"]);
        } else if has("append_changes") {
            self.append_changes(&step["append_changes"])?;
        } else if has("repeat_change") {
            self.repeat_change(&step["repeat_change"])?;
        } else if has("cancel") {
            self.cancel(&text("cancel"));
        } else if has("wait_for") {
            self.wait_for(&text("wait_for"), within);
        } else if has("wait_message") {
            self.wait_message(&step, within);
        } else if has("wait_process") {
            let (line, folders) = (text("wait_process"), [self.world.base()]);
            let runs = || !processes::with_command_line(&line, &folders).is_empty();
            if !processes::wait(self.at_most(within), runs) {
                self.faults.push(format!("`{line}` did not run within {within:?}"));
            }
        } else if let Some(wait) = step["sleep_ms"].as_u64() {
            self.pause(Duration::from_millis(wait));
        } else if let Some(limit) = step["ping"].as_u64() {
            self.ping(Duration::from_millis(limit));
        } else if has("close_stdin") {
            self.process.outbox().close();
            self.input_closed = true;
        } else if has("close_stdout") {
            self.close_output();
        } else if has("spawn_dummy") {
            self.spawn_dummy(&text("spawn_dummy"))?;
        } else if has("kill_dummy") {
            if let Some(mut dummy) = self.dummies.remove(&text("kill_dummy")) {
                let _ = dummy.kill();
                let _ = dummy.wait();
            }
        } else if has("on_server_request") {
            self.rules.add(Policy::of_step(&step)?);
        } else if has("answer_pending") {
            self.answer_pending(&step);
        } else {
            return Err(format!("the step {step} is not known"));
        }
        Ok(())
    }

    /// Captured values in the place of their names; a text that is one number and nothing else becomes the number.
    fn with_captured(&self, step: &Value) -> Value {
        let mut step = step.clone();
        let values: Vec<(&str, String)> =
            self.captured.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        fill_captured(&mut step, &values);
        step
    }

    /// The model documents follow what a case says of documents in its own words.
    fn note_document(&self, method: &str, params: &Value) {
        let document = &params["textDocument"];
        let uri = document["uri"].as_str().unwrap_or_default();
        let mut state = self.shared.lock();
        match method {
            "textDocument/didOpen" => {
                state.editor.first_version = document["version"].as_i64().unwrap_or(1);
                state.editor.open(uri, document["text"].as_str().unwrap_or_default());
            }
            "textDocument/didClose" if state.editor.document(uri).is_some() => {
                state.editor.close(uri);
            }
            "textDocument/didChange" if state.editor.document(uri).is_some() => {
                // Ranges may be wrong on purpose; only whole texts are followed.
                let changes = params["contentChanges"].as_array().into_iter().flatten();
                for text in changes
                    .filter(|change| change.get("range").is_none())
                    .filter_map(|change| change["text"].as_str())
                {
                    state.editor.replace(uri, text);
                }
            }
            _ => {}
        }
    }

    fn cancel(&mut self, label: &str) {
        let Some((id, _)) = self.sent.get(label) else {
            self.faults.push(format!("nothing was sent as {label}"));
            return;
        };
        self.notify("$/cancelRequest", Some(json!({"id": id})));
        self.cancelled = Some((label.to_owned(), Instant::now()));
    }

    fn wait_message(&mut self, step: &Value, within: Duration) {
        let wanted = &step["wait_message"];
        let sent = self.sent.clone();
        let passed = self.passed;
        let found = self.shared.wait(self.at_most(within), |state| {
            let mut messages = state.received.iter().enumerate().skip(passed);
            messages
                .find(|(_, received)| {
                    let message = matching::described(&received.message, |id| {
                        sent.iter().find(|(_, (known, _))| known == id).map(|(label, _)| label.clone())
                    });
                    matching::is_match(wanted, &message)
                })
                .map(|(index, received)| (index, received.message.clone()))
        });
        let Some((index, message)) = found else {
            self.faults.push(format!("no message like {wanted} came within {within:?}"));
            return;
        };
        self.passed = index + 1;
        for (name, pointer) in step["capture"].as_object().into_iter().flatten() {
            let value = message.pointer(pointer.as_str().unwrap_or_default()).cloned().unwrap_or_default();
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            self.captured.insert(name.clone(), value);
        }
    }

    /// Inserts each text in front of the mark, one change each.
    fn append_changes(&mut self, change: &Value) -> Result<(), String> {
        let uri = self.uri_of(change);
        let mark = change["before"].as_str().unwrap_or_default().to_owned();
        for text in change["texts"].as_array().into_iter().flatten() {
            let state = self.shared.lock();
            let document = state.editor.document(&uri).ok_or_else(|| format!("{uri} is not open"))?;
            let at = document.text.find(&mark).ok_or_else(|| format!("{mark:?} is not in {uri}"))?;
            let before = &document.text[..at];
            let line = before.matches('\n').count();
            let start = before.rfind('\n').map_or(0, |newline| newline + 1);
            let character: usize = before[start..].chars().map(char::len_utf16).sum();
            drop(state);
            let position = json!({"line": line, "character": character});
            self.insert(&uri, &position, text.as_str().unwrap_or_default());
        }
        Ok(())
    }

    fn repeat_change(&mut self, change: &Value) -> Result<(), String> {
        let uri = self.uri_of(change);
        let text = change["text"].as_str().unwrap_or_default();
        for i in 0..change["count"].as_u64().ok_or("repeat_change without a count")? {
            self.insert(&uri, &change["insert_at"], &text.replace("${i}", &i.to_string()));
        }
        Ok(())
    }

    fn insert(&self, uri: &str, position: &Value, text: &str) {
        let mut state = self.shared.lock();
        let range = json!({"start": position, "end": position});
        let params = state.editor.change(uri, vec![(range, text.to_owned())]);
        self.process.outbox().notify(&mut state, "textDocument/didChange", params);
    }

    fn uri_of(&self, place: &Value) -> String {
        let path = || self.world.uri(place["path"].as_str().unwrap_or_default());
        place["uri"].as_str().map_or_else(path, str::to_owned)
    }

    fn close_output(&mut self) {
        self.shared.lock().drop_output = true;
        // The reader lets go at the next message.
        self.request("askls/ping", None, "the driver's last request");
        self.shared.wait(LAST_WAIT, |state| state.output_ended.then_some(()));
    }

    fn spawn_dummy(&mut self, name: &str) -> Result<(), String> {
        let mut command = Command::new("sleep");
        command.arg("600").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let dummy = command.spawn().map_err(|error| format!("sleep: {error}"))?;
        self.captured.insert(name.to_owned(), dummy.id().to_string());
        self.dummies.insert(name.to_owned(), dummy);
        Ok(())
    }

    fn answer_pending(&mut self, step: &Value) {
        let method = step["answer_pending"].as_str().unwrap_or_default();
        let answers = match step["choose"].as_str() {
            Some(choice) => Answers::Choose { allow: choice == "allow", title_only: false },
            None => Answers::Result(step["result"].clone()),
        };
        let limit = Instant::now() + self.at_most(LAST_WAIT);
        loop {
            let taken = self.rules.take_pending(method, |pending| {
                let message = json!({"method": pending.method, "params": pending.params, "id": pending.id});
                step.get("where").is_none_or(|wanted| {
                    matching::is_match(wanted, &message) || matching::is_match(wanted, &pending.params)
                })
            });
            match taken {
                Some(pending) => {
                    if let Some(reply) = reply(&answers, &pending.params) {
                        let outbox = self.process.outbox();
                        outbox.reply(&mut self.shared.lock(), &pending.id, &pending.params, reply);
                    }
                    return;
                }
                None if Instant::now() >= limit => {
                    self.faults.push(format!("no request {method} waits for its answer"));
                    return;
                }
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }
}

fn fill_captured(value: &mut Value, values: &[(&str, String)]) {
    match value {
        Value::String(text) => {
            let filled = crate::case::filled(text, values);
            let is_one = text.starts_with("${") && text.ends_with('}') && text.matches("${").count() == 1;
            *value = match filled.parse::<i64>() {
                Ok(number) if is_one => json!(number),
                _ => Value::String(filled),
            };
        }
        Value::Array(elements) => elements.iter_mut().for_each(|element| fill_captured(element, values)),
        Value::Object(members) => members.values_mut().for_each(|member| fill_captured(member, values)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
