//! What must hold in every conversation with the server, whatever the test is about.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::transport::{Received, Sent};

/// A progress line is a line: no editor wants more than this in one.
const MAX_PROGRESS_BYTES: usize = 8 * 1024;

/// What VS Code shows of a message before it cuts it.
const MAX_MESSAGE_CHARACTERS: usize = 1_000;

/// Four reports a second are promised; one more allows for a message that arrived late.
const MAX_REPORTS_A_SECOND: u64 = 5;

/// Both directions of a whole conversation.
pub struct Conversation<'a> {
    pub capabilities: &'a Value,
    pub sent: &'a [Sent],
    pub received: &'a [Received],
    /// The server was left the time to finish everything, so what is missing will not come.
    pub complete: bool,
}

/// Every rule that was broken, in words.
pub fn broken(conversation: &Conversation<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    envelope(conversation, &mut faults);
    responses(conversation, &mut faults);
    advertised(conversation, &mut faults);
    edits(conversation, &mut faults);
    messages(conversation, &mut faults);
    progress(conversation, &mut faults);
    faults
}

/// Messages are JSON-RPC 2.0 and either request, notification or response.
fn envelope(conversation: &Conversation<'_>, faults: &mut Vec<String>) {
    for Received { message, .. } in conversation.received {
        let is_call = message.get("method").is_some();
        let outcomes =
            usize::from(message.get("result").is_some()) + usize::from(message.get("error").is_some());
        if message["jsonrpc"] != "2.0" || (is_call && outcomes > 0) || (!is_call && outcomes != 1) {
            faults.push(format!("not a JSON-RPC message: {message}"));
        }
    }
}

/// Each request has exactly one response, and nobody gets a response that was not asked for.
fn responses(conversation: &Conversation<'_>, faults: &mut Vec<String>) {
    let mut asked: BTreeMap<String, (String, usize)> = BTreeMap::new();
    for Sent { message, .. } in conversation.sent {
        if let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) {
            asked.insert(id.to_string(), (method.to_owned(), 0));
        }
    }
    for Received { message, .. } in conversation.received {
        if message.get("method").is_some() {
            continue;
        }
        match asked.get_mut(&message["id"].to_string()) {
            Some((_, count)) => *count += 1,
            // The answer to what is no request at all.
            None if message["id"].is_null() => {}
            None => faults.push(format!("a response to nothing: {message}")),
        }
    }
    for (id, (method, count)) in asked {
        if count > 1 || (count == 0 && conversation.complete) {
            faults.push(format!("{method} (id {id}) has {count} responses"));
        }
    }
}

/// The server asks nothing of a client that did not say it can do it.
fn advertised(conversation: &Conversation<'_>, faults: &mut Vec<String>) {
    let can = |pointer: &str| conversation.capabilities.pointer(pointer).is_some_and(truthy);
    for Received { message, .. } in conversation.received {
        let Some(method) = message["method"].as_str() else { continue };
        let allowed = match method {
            "window/workDoneProgress/create" => can("/window/workDoneProgress"),
            "workspace/applyEdit" => can("/workspace/applyEdit"),
            "window/showDocument" => can("/window/showDocument/support"),
            "workspace/codeLens/refresh" => can("/workspace/codeLens/refreshSupport"),
            "textDocument/publishDiagnostics" => can("/textDocument/publishDiagnostics"),
            "workspace/configuration" => can("/workspace/configuration"),
            "workspace/workspaceFolders" => can("/workspace/workspaceFolders"),
            "workspace/textDocumentContent/refresh" => can("/workspace/textDocumentContent"),
            "client/registerCapability" => {
                let registrations = message["params"]["registrations"].as_array();
                registrations.into_iter().flatten().all(|registration| {
                    let method = registration["method"].as_str().unwrap_or_default();
                    match method {
                        "workspace/didChangeWorkspaceFolders" => can("/workspace/workspaceFolders"),
                        _ => can(&format!("/{method}/dynamicRegistration")),
                    }
                })
            }
            _ => true,
        };
        if !allowed {
            faults.push(format!("the client never said that it can do {method}: {message}"));
        }
    }
}

/// Workspace edits use only what the client said it understands.
fn edits(conversation: &Conversation<'_>, faults: &mut Vec<String>) {
    let workspace_edit = &conversation.capabilities["workspace"]["workspaceEdit"];
    let operations: Vec<&str> = workspace_edit["resourceOperations"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    // Neovim says nothing of document changes, announces file operations, and understands both.
    let versioned = workspace_edit["documentChanges"] == true || !operations.is_empty();
    for Received { message, .. } in conversation.received {
        if message["method"] != "workspace/applyEdit" {
            continue;
        }
        let edit = &message["params"]["edit"];
        if edit.get("documentChanges").is_none() && edit.get("changes").is_none() {
            faults.push(format!("an edit without changes: {message}"));
        }
        if edit.get("documentChanges").is_some() && !versioned {
            faults.push(format!("document changes for a client that has none: {message}"));
        }
        for step in edit["documentChanges"].as_array().into_iter().flatten() {
            if let Some(kind) = step["kind"].as_str()
                && !operations.contains(&kind)
            {
                faults.push(format!("{kind} for a client that cannot: {message}"));
            }
        }
        if edit.get("changeAnnotations").is_some() && !truthy(&workspace_edit["changeAnnotationSupport"]) {
            faults.push(format!("change annotations for a client that has none: {message}"));
        }
    }
}

/// What is shown in a line is a line.
fn messages(conversation: &Conversation<'_>, faults: &mut Vec<String>) {
    for Received { message, .. } in conversation.received {
        if message["method"] != "window/showMessage" {
            continue;
        }
        let text = message["params"]["message"].as_str().unwrap_or_default();
        if text.contains('\n') || text.is_empty() || text.chars().count() > MAX_MESSAGE_CHARACTERS {
            faults.push(format!(
                "a message that is not one line of {MAX_MESSAGE_CHARACTERS} characters: {text}"
            ));
        }
    }
}

#[derive(Default)]
struct Shown {
    begun: bool,
    ended: bool,
    last: Option<Value>,
    reports: u64,
}

/// Progress: created before it begins, begun and ended once, nothing after, and not too much of it.
fn progress(conversation: &Conversation<'_>, faults: &mut Vec<String>) {
    let mut tokens = known_tokens(conversation);
    for Received { message, at, bytes, .. } in conversation.received {
        if message["method"] != "$/progress" {
            continue;
        }
        let (token, value) = (&message["params"]["token"], &message["params"]["value"]);
        let mut fault = |what: &str| faults.push(format!("progress {token}: {what}: {message}"));
        let Some((known_since, shown)) = tokens.get_mut(&token.to_string()) else {
            fault("nobody knows this token");
            continue;
        };
        if at < known_since {
            fault("it is sent before the client knows its token");
        }
        if *bytes > MAX_PROGRESS_BYTES {
            fault("it is too long");
        }
        if shown.ended {
            fault("it comes after the end");
        }
        if value.get("percentage").is_some() {
            fault("an agent knows no percentage, and some clients then ignore every report without one");
        }
        match value["kind"].as_str() {
            Some("begin") if !shown.begun => {
                shown.begun = true;
                if value["title"].as_str().is_none_or(str::is_empty) {
                    fault("it has no title");
                }
            }
            Some("begin") => fault("it begins twice"),
            Some(_) if !shown.begun => fault("it did not begin"),
            Some("report") => {
                shown.reports += 1;
                // Of all seconds since the first report could come: what was sent in order and is read late, on a machine
                // that is busy, comes all at once.
                let seconds = at.duration_since(*known_since).as_secs() + 1;
                if shown.reports > MAX_REPORTS_A_SECOND * seconds {
                    fault("too many reports in a second");
                }
            }
            Some("end") => shown.ended = true,
            _ => fault("neither begin, report nor end"),
        }
        if shown.last.as_ref() == Some(value) {
            fault("it is the same as the one before");
        }
        shown.last = Some(value.clone());
    }
    for (token, (_, shown)) in tokens {
        if conversation.complete && shown.begun && !shown.ended {
            faults.push(format!("progress {token} never ends"));
        }
    }
}

/// Tokens with the time from which the client knows them: its own when it sends the request, the server's when it has
/// answered their creation.
fn known_tokens(conversation: &Conversation<'_>) -> BTreeMap<String, (Instant, Shown)> {
    let mut tokens = BTreeMap::new();
    for Sent { message, at } in conversation.sent {
        if let Some(token) = message["params"].get("workDoneToken") {
            tokens.insert(token.to_string(), (*at, Shown::default()));
        }
    }
    for Received { message, .. } in conversation.received {
        if message["method"] != "window/workDoneProgress/create" {
            continue;
        }
        let answer = conversation.sent.iter().find(|sent| {
            sent.message["id"] == message["id"]
                && sent.message.get("method").is_none()
                && sent.message.get("result").is_some()
        });
        if let Some(answer) = answer {
            tokens.insert(message["params"]["token"].to_string(), (answer.at, Shown::default()));
        }
    }
    tokens
}

fn truthy(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// One message in either direction.
    enum Step {
        /// The client sends it.
        Out(Value),
        /// The server sends it.
        In(Value),
    }

    use Step::{In, Out};

    /// The faults of a whole conversation with a client that says it can do everything, without their details.
    #[track_caller]
    fn check(steps: Vec<Step>, expected: &[&str]) {
        let capabilities = crate::support::capabilities::full();
        check_with(&capabilities, steps, expected);
    }

    #[track_caller]
    fn check_with(capabilities: &Value, steps: Vec<Step>, expected: &[&str]) {
        let (mut sent, mut received) = (Vec::new(), Vec::new());
        let start = Instant::now();
        for (step, number) in steps.into_iter().zip(0..) {
            // A second passes between two messages, so that only what is said of time fails for time.
            let at = start + Duration::from_secs(number);
            match step {
                Out(message) => sent.push(Sent { message, at }),
                In(message) => {
                    let bytes = message.to_string().len();
                    received.push(Received { message, at, bytes, claimed: true });
                }
            }
        }
        let faults = broken(&Conversation { capabilities, sent: &sent, received: &received, complete: true });
        assert_eq!(faults.len(), expected.len(), "{faults:#?}");
        for (fault, expected) in faults.iter().zip(expected) {
            assert!(fault.contains(expected), "{expected:?} in {fault}");
        }
    }

    fn request(id: u64, method: &str) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"token": "t"}})
    }

    fn result(id: u64) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "result": null})
    }

    fn progress(value: Value) -> Value {
        json!({"jsonrpc": "2.0", "method": "$/progress", "params": {"token": "t", "value": value}})
    }

    fn begin() -> Value {
        progress(json!({"kind": "begin", "title": "Ask agent"}))
    }

    fn report(message: &str) -> Value {
        progress(json!({"kind": "report", "message": message}))
    }

    fn end() -> Value {
        progress(json!({"kind": "end"}))
    }

    const CREATE: &str = "window/workDoneProgress/create";

    #[test]
    fn a_proper_turn_breaks_no_rule() {
        check(
            vec![
                Out(request(1, "workspace/executeCommand")),
                In(request(7, CREATE)),
                Out(result(7)),
                In(begin()),
                In(report("one")),
                In(report("two")),
                In(end()),
                In(result(1)),
            ],
            &[],
        );
    }

    #[test]
    fn a_request_without_response_and_one_with_two_are_faults() {
        check(vec![Out(request(1, "a"))], &["0 responses"]);
        check(vec![Out(request(1, "a")), In(result(1)), In(result(1))], &["2 responses"]);
        check(vec![In(result(1))], &["a response to nothing"]);
    }

    #[test]
    fn a_message_that_is_no_json_rpc_is_a_fault() {
        check(vec![In(json!({"method": "a"}))], &["not a JSON-RPC message"]);
    }

    #[test]
    fn progress_without_an_accepted_token_is_a_fault() {
        check(vec![In(begin()), In(end())], &["nobody knows", "nobody knows"]);
        let refused = json!({"jsonrpc": "2.0", "id": 7, "error": {"code": -32601, "message": "no"}});
        check(vec![In(request(7, CREATE)), Out(refused), In(begin())], &["nobody knows"]);
        check(
            vec![In(request(7, CREATE)), In(begin()), Out(result(7)), In(end())],
            &["before the client knows"],
        );
    }

    fn with_token(steps: Vec<Step>) -> Vec<Step> {
        let mut all = vec![In(request(7, CREATE)), Out(result(7))];
        all.extend(steps);
        all
    }

    #[test]
    fn progress_begins_and_ends_once() {
        check(with_token(vec![In(report("one")), In(begin()), In(end())]), &["did not begin"]);
        check(with_token(vec![In(begin())]), &["never ends"]);
        check(with_token(vec![In(begin()), In(end()), In(report("late"))]), &["after the end"]);
        check(with_token(vec![In(begin()), In(report("one")), In(begin()), In(end())]), &["begins twice"]);
    }

    #[test]
    fn progress_never_says_the_same_twice_nor_too_much() {
        check(
            with_token(vec![In(begin()), In(report("one")), In(report("one")), In(end())]),
            &["the same as the one before"],
        );
        check(with_token(vec![In(begin()), In(report(&"x".repeat(9_000))), In(end())]), &["too long"]);
        let percentage = progress(json!({"kind": "report", "percentage": 5}));
        check(with_token(vec![In(begin()), In(percentage), In(end())]), &["no percentage"]);
    }

    #[test]
    fn six_reports_in_a_second_are_too_many() {
        let at = Instant::now();
        let message = |message: Value, at: Instant| Received { message, at, bytes: 10, claimed: true };
        let mut received = vec![message(begin(), at)];
        received.extend((0..6).map(|n| message(report(&n.to_string()), at + Duration::from_millis(150 * n))));
        received.push(message(end(), at + Duration::from_secs(1)));
        let token = json!({"id": 1, "method": "a", "params": {"workDoneToken": "t"}});
        let sent = [Sent { message: token, at }];
        let capabilities = json!({});
        let conversation =
            Conversation { capabilities: &capabilities, sent: &sent, received: &received, complete: false };
        let faults = broken(&conversation);
        assert!(matches!(faults.as_slice(), [one] if one.contains("too many reports")), "{faults:#?}");
    }

    #[test]
    fn what_was_not_advertised_is_not_used() {
        let edit = |edit: Value| json!({"jsonrpc": "2.0", "id": 7, "method": "workspace/applyEdit", "params": {"edit": edit}});
        let create = json!({"documentChanges": [{"kind": "create", "uri": "file:///a"}]});
        check_with(&json!({}), vec![In(request(7, CREATE))], &["never said that it can do"]);
        check_with(
            &json!({"workspace": {"applyEdit": true}}),
            vec![In(edit(create.clone()))],
            &["document changes for a client", "create for a client"],
        );
        check(vec![In(edit(create))], &[]);
        check(vec![In(edit(Value::Null))], &["an edit without changes"]);
    }

    #[test]
    fn a_message_of_several_lines_is_a_fault() {
        let message = |text: &str| json!({"jsonrpc": "2.0", "method": "window/showMessage", "params": {"type": 3, "message": text}});
        check(vec![In(message("one line"))], &[]);
        check(vec![In(message("two\nlines"))], &["not one line"]);
        check(vec![In(message(&"x".repeat(1_001)))], &["not one line"]);
    }
}
