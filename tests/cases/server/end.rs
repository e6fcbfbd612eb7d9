//! The end of a conversation: what it showed, and the end of the process.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::client::{Client, LAST_WAIT};
use crate::{
    names::{error_kinds, stop_reason},
    observed::{Ask, End, Message, Observed},
    processes, stretched,
    support::project::uri_path,
};

impl Drop for Client<'_> {
    /// A run that could not go on leaves no process behind.
    fn drop(&mut self) {
        self.rules.stop();
        let _ = self.process.child.kill();
        let _ = self.process.child.wait();
        for dummy in self.dummies.values_mut() {
            let _ = dummy.kill();
            let _ = dummy.wait();
        }
    }
}

impl Client<'_> {
    /// Looks at the end of the process, ends it if it does not end itself, and tells everything.
    pub(super) fn finish(mut self, started: Instant, observed: &mut Observed) {
        let last_step = Instant::now();
        let expected = &self.run.expect;
        observed.elapsed = self.elapsed(started);
        if let Some(limit) = expected["process"]["exit_within_ms"].as_u64()
            && let Some(code) = self.wait_exit(stretched(Duration::from_millis(limit)))
        {
            observed.exit = Some((code, last_step.elapsed()));
        }
        observed.was_alive = Some(self.is_alive());
        if observed.was_alive == Some(false) && !self.run.ends_the_conversation() {
            self.faults.push("the server ended by itself".to_owned());
        }
        if expected["lsp_still_answers"] == true {
            observed.still_answers = Some(self.ping(LAST_WAIT));
        }
        let resident = processes::resident_mb(self.process.child.id());
        observed.rss_growth_mb = self.resident_at_start.zip(resident).map(|(before, after)| after - before);
        for label in &self.asks {
            let end = self.response(label).map(|response| end_of(&response));
            observed.asks.push(Ask { label: label.clone(), end });
        }
        if let Some((label, at)) = &self.cancelled {
            observed.cancelled_at = Some(*at);
            observed.after_cancel =
                self.response_with_time(label).map(|(_, ended)| ended.saturating_duration_since(*at));
        }
        for (label, (id, _)) in &self.sent {
            observed.labels.insert(label.clone(), id.to_string());
        }
        self.save_buffers(observed);
        if expected["cleanup"]["after"] != "server_exit" {
            observed.faults.extend(processes::left_behind(&expected["cleanup"], &[self.world.base()]));
        }
        self.end_process();
        observed.faults.append(&mut self.faults);
        observed.asked_for = self.rules.asked_for();
        self.tell(observed);
    }

    fn tell(&self, observed: &mut Observed) {
        let state = self.shared.lock();
        let sent = state.sent.iter().map(|sent| Message {
            at: sent.at,
            from_server: false,
            json: sent.message.clone(),
            bytes: 0,
        });
        let received = state.received.iter().map(|received| Message {
            at: received.at,
            from_server: true,
            json: received.message.clone(),
            bytes: received.bytes,
        });
        observed.messages = sent.chain(received).collect();
        observed.messages.sort_by_key(|message| message.at);
        observed.stderr.clone_from(&state.stderr);
        if let Some(fault) = &state.frame_fault {
            observed.faults.push(format!("stdout is no sequence of messages: {fault}"));
        }
        if state.stderr.contains("panicked") {
            observed.faults.push("the server panicked".to_owned());
        }
        let opened = state.sent.iter().filter(|sent| sent.message["method"] == "textDocument/didOpen");
        for sent in opened {
            let uri = sent.message["params"]["textDocument"]["uri"].as_str().unwrap_or_default();
            if let Some(document) = state.editor.document(uri) {
                observed.buffers.insert(uri.to_owned(), document.text.clone());
            }
        }
        for received in &state.received {
            if received.message["method"] == "workspace/applyEdit" {
                note_edit(&received.message["params"]["edit"], observed);
            }
        }
    }

    /// The user saves what the server changed: buffers that a `workspace/applyEdit` touched, where it was applied.
    fn save_buffers(&self, observed: &mut Observed) {
        let state = self.shared.lock();
        for received in &state.received {
            if received.message["method"] != "workspace/applyEdit" {
                continue;
            }
            let answers = state.sent.iter().map(|sent| &sent.message);
            let answer = answers
                .filter(|message| message.get("method").is_none())
                .find(|message| message["id"] == received.message["id"]);
            let result = answer.map_or(&Value::Null, |answer| &answer["result"]);
            // The model documents refuse what no text has.
            if let Some(reason) = result["failureReason"].as_str().filter(|reason| reason.contains(" lies "))
            {
                observed.edit_faults.push(reason.to_owned());
            }
            if result["applied"] != true {
                continue;
            }
            for (uri, _) in documents_of(&received.message["params"]["edit"]) {
                if let (Some(document), Some(path)) = (state.editor.document(&uri), uri_path(&uri)) {
                    // A folder that is gone shows where the case looks at the disk.
                    let _ = std::fs::write(path, &document.text);
                }
            }
        }
    }

    /// From the first ask to the last response of an ask, or of all steps.
    fn elapsed(&self, started: Instant) -> Duration {
        let from = self.asks.first().and_then(|label| self.sent.get(label)).map_or(started, |(_, at)| *at);
        let ends = self.asks.iter().filter_map(|label| self.response_with_time(label));
        let to = ends.map(|(_, at)| at).max();
        to.unwrap_or_else(Instant::now).saturating_duration_since(from)
    }

    fn is_alive(&mut self) -> bool {
        matches!(self.process.child.try_wait(), Ok(None))
    }

    /// `Some(exit code)` when it ended.
    fn wait_exit(&mut self, limit: Duration) -> Option<Option<i32>> {
        let deadline = Instant::now() + limit;
        loop {
            if let Ok(Some(status)) = self.process.child.try_wait() {
                return Some(status.code());
            }
            if Instant::now() >= deadline {
                return None;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends the server as an editor does; one that does not end is killed, which is a fault.
    fn end_process(&mut self) {
        if self.is_alive() && !self.input_closed {
            if !self.was_shut_down {
                self.request("shutdown", None, "the driver's shutdown");
            }
            self.notify("exit", None);
        }
        if self.wait_exit(LAST_WAIT).is_none() {
            self.faults.push("the server did not end after shutdown and exit".to_owned());
            let _ = self.process.child.kill();
            let _ = self.process.child.wait();
        }
        self.process.drain();
    }
}

/// The documents that a workspace edit changes, with the versions it names.
fn documents_of(edit: &Value) -> Vec<(String, Option<i64>)> {
    let changes = edit["changes"].as_object().into_iter().flatten();
    let mut documents: Vec<_> = changes.map(|(uri, _)| (uri.clone(), None)).collect();
    for step in edit["documentChanges"].as_array().into_iter().flatten() {
        if let Some(uri) = step["textDocument"]["uri"].as_str() {
            documents.push((uri.to_owned(), step["textDocument"]["version"].as_i64()));
        }
    }
    documents
}

fn note_edit(edit: &Value, observed: &mut Observed) {
    for (uri, version) in documents_of(edit) {
        if let Some(version) = version {
            observed.edit_versions.insert(uri.clone(), version);
        }
        observed.edit_uris.push(uri);
    }
}

/// How a turn ended, from the response to its command.
pub(crate) fn end_of(response: &Value) -> End {
    let mut end = End {
        outcome: "failed",
        text: String::new(),
        error_kinds: &[],
        error_text: String::new(),
        input_tokens: 0,
        output_tokens: 0,
    };
    if let Some(error) = response.get("error") {
        end.error_text = error["message"].as_str().unwrap_or_default().to_owned();
        if error["code"] == -32800 {
            end.outcome = "cancelled";
        }
        return end;
    }
    let result = &response["result"];
    let text = |name: &str| result[name].as_str();
    let reason = stop_reason(text("stopReason").unwrap_or_default(), text("limit"), text("fault"));
    end.outcome = match text("stopReason") {
        Some("answer") => "completed",
        Some("cancelled") => "cancelled",
        _ => "failed",
    };
    end.error_kinds = reason.map_or(&[][..], error_kinds);
    end.text = text("answer").unwrap_or_default().to_owned();
    end.error_text = text("detail").unwrap_or_default().to_owned();
    end.input_tokens = result["usage"]["inputTokens"].as_u64().unwrap_or(0);
    end.output_tokens = result["usage"]["outputTokens"].as_u64().unwrap_or(0);
    end
}
