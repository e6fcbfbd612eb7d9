//! Tool calls of a case that need the editor: each is a turn of one thread, in which the model makes the call and then
//! says that it is done. The wire is the one that says of a result whether it is an error.

use std::{fs, time::Duration};

use serde_json::{Value, json};

use super::client::Client;
use crate::{
    names,
    observed::{CallResult, Observed},
    provider::{Provider, plain_answer},
};

/// The provider of runs whose calls are made here.
pub(crate) const PROVIDER: &str = "anthropic";

impl Client<'_> {
    /// # Errors
    /// When an event between the calls is not known.
    pub(super) fn calls(
        &mut self,
        calls: &[Value],
        provider: &Provider,
        observed: &mut Observed,
    ) -> Result<(), String> {
        for (number, call) in calls.iter().enumerate() {
            let Some(tool) = call["tool"].as_str() else {
                self.event(call)?;
                continue;
            };
            let name = names::tool_of_askls(tool).ok_or_else(|| format!("askls has no tool {tool}"))?;
            let arguments = names::arguments_of_askls(tool, &call["args"]);
            let done = plain_answer(&json!(PROVIDER));
            // The script goes on where the requests are.
            let made = provider.traffic().requests.len();
            let mut script = vec![Value::Null; made];
            script.extend([call_of(number, name, &arguments), done]);
            provider.set_script(script, false);
            let label = format!("call {number}");
            self.ask(&format!("make call {number}"), &label, &Value::Null);
            self.wait_for(&label, self.run.wall);
            let requests = provider.traffic().requests;
            let result = requests.last().and_then(|request| result(&request.json, &call_id(number)));
            match result {
                Some(result) => observed.results.push(result),
                None => self.faults.push(format!("the model was told nothing of call {}", number + 1)),
            }
        }
        Ok(())
    }

    /// Raw changes of documents, as they stand in the case.
    pub(super) fn changes(&mut self, changes: &[Value]) {
        for change in changes {
            let document = json!({"uri": change["uri"], "version": change["version"]});
            let params = json!({"textDocument": document, "contentChanges": change["contentChanges"]});
            self.notify("textDocument/didChange", Some(params));
        }
    }

    /// Somebody else, or the user, does something between two calls.
    fn event(&mut self, event: &Value) -> Result<(), String> {
        let fault = |error: std::io::Error| format!("{event}: {error}");
        let path = |change: &Value| change["path"].as_str().unwrap_or_default().to_owned();
        if let Some(write) = event.get("external_write") {
            let text = write["text"].as_str().unwrap_or_default();
            fs::write(self.world.place(&path(write)), text).map_err(fault)?;
        } else if let Some(delete) = event.get("external_delete") {
            fs::remove_file(self.world.place(&path(delete))).map_err(fault)?;
        } else if let Some(change) = event.get("buffer_change") {
            let uri = self.world.uri(&path(change));
            let mut state = self.shared.lock();
            let params = state.editor.replace(&uri, change["text"].as_str().unwrap_or_default());
            self.process.outbox().notify(&mut state, "textDocument/didChange", params);
        } else if let Some(close) = event.get("buffer_close") {
            let uri = self.world.uri(&path(close));
            let mut state = self.shared.lock();
            let params = state.editor.close(&uri);
            self.process.outbox().notify(&mut state, "textDocument/didClose", params);
        } else if let Some(change) = event.get("workspace_change") {
            let folders = |name: &str| -> Vec<Value> {
                let paths = change[name].as_array().into_iter().flatten().filter_map(Value::as_str);
                paths.map(|path| json!({"uri": self.world.uri(path), "name": path})).collect()
            };
            let event = json!({"added": folders("added"), "removed": folders("removed")});
            self.notify("workspace/didChangeWorkspaceFolders", Some(json!({"event": event})));
        } else if let Some(wait) = event["sleep_ms"].as_u64() {
            std::thread::sleep(Duration::from_millis(wait));
        } else {
            return Err(format!("the event {event} is not known"));
        }
        Ok(())
    }
}

fn call_id(number: usize) -> String {
    format!("toolu_{number}")
}

/// A reply that makes one call.
fn call_of(number: usize, name: &str, arguments: &Value) -> Value {
    let events = [
        json!({"type": "message_start", "message": {"id": format!("m_{number}"), "type": "message",
            "role": "assistant", "content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0,
            "content_block": {"type": "tool_use", "id": call_id(number), "name": name, "input": {}}}),
        json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": arguments.to_string()}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 1}}),
        json!({"type": "message_stop"}),
    ];
    let frame = |event: &Value| {
        let kind = event["type"].as_str().unwrap_or_default();
        json!({"send": format!("event: {kind}\ndata: {event}\n\n")})
    };
    let steps: Vec<Value> = events.iter().map(frame).collect();
    json!({"status": 200, "headers": {"content-type": "text/event-stream"}, "steps": steps})
}

/// What the model was told of a call.
fn result(body: &Value, id: &str) -> Option<CallResult> {
    let blocks =
        body["messages"].as_array()?.iter().filter_map(|message| message["content"].as_array()).flatten();
    let block =
        blocks.into_iter().find(|block| block["type"] == "tool_result" && block["tool_use_id"] == id)?;
    let text = match &block["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        other => other.to_string(),
    };
    Some(CallResult { ok: block["is_error"] != true, text })
}
