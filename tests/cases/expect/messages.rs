//! The conversation with the server, its process, and texts that may stand nowhere.

use std::{collections::BTreeMap, time::Instant};

use serde_json::Value;

use super::{Faults, Seen, endings::duration, requests::count, short};
use crate::{matching, observed::Message, server::outputs};

fn is_response(message: &Message) -> bool {
    message.json.get("method").is_none()
}

/// Each request of the client has exactly one response, and nothing else has one.
pub(super) fn responses(seen: &Seen<'_>) -> Vec<String> {
    let mut asked: BTreeMap<String, (String, usize)> = BTreeMap::new();
    let mut faults = Vec::new();
    for message in &seen.observed.messages {
        let json = &message.json;
        let id = json["id"].to_string();
        match (message.from_server, json["method"].as_str()) {
            (false, Some(method)) if json.get("id").is_some() => {
                asked.insert(id, (method.to_owned(), 0));
            }
            (true, None) => match asked.get_mut(&id) {
                Some((_, count)) => *count += 1,
                // The answer to what was no request.
                None if json["id"].is_null() => {}
                None => faults.push(format!("a response to nothing: {}", short(json))),
            },
            _ => {}
        }
    }
    for (id, (method, count)) in asked {
        if count > 1 || (count == 0 && !seen.run.ends_the_conversation()) {
            faults.push(format!("{method} (id {id}) has {count} responses"));
        }
    }
    faults
}

fn described(seen: &Seen<'_>, message: &Message) -> Value {
    matching::described(&message.json, |id| {
        let labels = &seen.observed.labels;
        let id = id.to_string();
        labels.iter().find(|(_, known)| **known == id).map(|(label, _)| label.clone())
    })
}

fn needs_messages(seen: &Seen<'_>) -> Result<(), String> {
    if seen.observed.messages.is_empty() {
        return Err("no editor took part, so that there are no messages".to_owned());
    }
    Ok(())
}

pub(super) fn must(value: &Value, seen: &Seen<'_>) -> Faults {
    needs_messages(seen)?;
    let mut faults = Vec::new();
    for rule in value.as_array().into_iter().flatten() {
        let wanted = rule.get("match").unwrap_or(rule);
        let messages = seen.observed.server_messages();
        let found = messages.filter(|message| matching::is_match(wanted, &described(seen, message))).count();
        let limits = rule.get("count").cloned().unwrap_or_else(|| serde_json::json!({"min": 1}));
        faults.extend(count(&format!("messages like {}", short(wanted)), &limits, found));
    }
    Ok(faults)
}

pub(super) fn must_not(value: &Value, seen: &Seen<'_>) -> Faults {
    needs_messages(seen)?;
    let mut faults = Vec::new();
    for rule in value.as_array().into_iter().flatten() {
        let wanted = rule.get("match").unwrap_or(rule);
        let mut messages = seen.observed.server_messages();
        if let Some(message) = messages.find(|message| matching::is_match(wanted, &described(seen, message)))
        {
            faults.push(format!("a message that must not be: {}", short(&message.json)));
        }
    }
    Ok(faults)
}

pub(super) fn labelled_responses(value: &Value, seen: &Seen<'_>) -> Faults {
    needs_messages(seen)?;
    let mut faults = Vec::new();
    for (label, wanted) in value.as_object().into_iter().flatten() {
        let id = seen.observed.labels.get(label).ok_or_else(|| format!("no step has the label {label}"))?;
        let mut messages = seen.observed.server_messages().filter(|message| is_response(message));
        match messages.find(|message| message.json["id"].to_string().as_str() == id) {
            None => faults.push(format!("{label} has no response")),
            Some(message) if matching::is_match(wanted, &message.json) => {}
            Some(message) => {
                faults.push(format!("{label} was answered {}, not {}", short(&message.json), short(wanted)));
            }
        }
    }
    Ok(faults)
}

pub(super) fn rules(value: &Value, seen: &Seen<'_>) -> Faults {
    needs_messages(seen)?;
    let mut faults = Vec::new();
    for entry in value.as_array().into_iter().flatten() {
        let name = entry["rule"].as_str().unwrap_or_default();
        let args = &entry["args"];
        let found = match name {
            "progress_only_after_create_answer" => created_before_used(seen),
            "progress_begin_report_end_once_per_token" => begun_and_ended_once(seen, true),
            "nothing_after_end" => begun_and_ended_once(seen, false),
            "max_rate" => max_rate(seen, args),
            "no_identical_consecutive_progress" => no_identical(seen),
            "max_message_bytes" => max_bytes(seen, args),
            "apply_edit_params_not_null" => edits(seen, |edit| {
                let is_null = |name: &str| edit.get(name).is_some_and(Value::is_null);
                if !edit.is_object() || is_null("changes") || is_null("documentChanges") {
                    Some("has a null where a value belongs")
                } else {
                    None
                }
            }),
            "only_changes_form" => {
                edits(seen, |edit| edit.get("documentChanges").map(|_| "has documentChanges"))
            }
            "no_resource_operations" => edits(seen, |edit| {
                let mut steps = edit["documentChanges"].as_array().into_iter().flatten();
                steps.any(|step| step.get("kind").is_some()).then_some("has a file operation")
            }),
            "every_request_gets_one_response" => responses(seen),
            _ => return Err(format!("the driver has no LSP rule {name}")),
        };
        faults.extend(found.into_iter().map(|fault| format!("{name}: {fault}")));
    }
    Ok(faults)
}

/// `$/progress` of the server, as `(message, token, value)`.
fn progress<'a>(seen: &Seen<'a>) -> Vec<(&'a Message, String, &'a Value)> {
    let messages = seen.observed.server_messages().filter(|message| message.json["method"] == "$/progress");
    messages
        .map(|message| {
            let params = &message.json["params"];
            (message, params["token"].to_string(), &params["value"])
        })
        .collect()
}

/// A token that the server made is used only after the client has agreed to it.
fn created_before_used(seen: &Seen<'_>) -> Vec<String> {
    let of_client: Vec<String> = seen
        .observed
        .messages
        .iter()
        .filter(|message| !message.from_server)
        .filter_map(|message| message.json["params"].get("workDoneToken"))
        .map(Value::to_string)
        .collect();
    let mut agreed: BTreeMap<String, Instant> = BTreeMap::new();
    for create in seen.observed.server_messages() {
        if create.json["method"] != "window/workDoneProgress/create" {
            continue;
        }
        let answer = seen.observed.messages.iter().find(|message| {
            !message.from_server
                && is_response(message)
                && message.json["id"] == create.json["id"]
                && message.json.get("result").is_some()
        });
        if let Some(answer) = answer {
            agreed.insert(create.json["params"]["token"].to_string(), answer.at);
        }
    }
    progress(seen)
        .iter()
        .filter(|(_, token, _)| !of_client.contains(token))
        .filter(|(message, token, _)| agreed.get(token).is_none_or(|at| message.at < *at))
        .map(|(message, ..)| format!("its token was not agreed upon: {}", short(&message.json)))
        .collect()
}

/// One begin, any reports, one end; or only that nothing follows an end.
fn begun_and_ended_once(seen: &Seen<'_>, whole: bool) -> Vec<String> {
    let mut tokens: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (_, token, value) in progress(seen) {
        tokens.entry(token).or_default().push(value["kind"].as_str().unwrap_or_default());
    }
    let mut faults = Vec::new();
    for (token, kinds) in tokens {
        let end = kinds.iter().position(|kind| *kind == "end");
        let is_orderly = kinds.first() == Some(&"begin")
            && end == Some(kinds.len() - 1)
            && kinds.iter().filter(|kind| **kind == "begin").count() == 1;
        if whole && !is_orderly {
            faults.push(format!("the progress {token} goes {kinds:?}"));
        }
        if !whole && end.is_some_and(|end| end + 1 < kinds.len()) {
            faults.push(format!("something follows the end of {token}"));
        }
    }
    faults
}

fn of_method<'a>(seen: &Seen<'a>, args: &Value) -> Vec<&'a Message> {
    let messages = seen.observed.server_messages();
    messages.filter(|message| message.json["method"] == args["method"]).collect()
}

fn max_rate(seen: &Seen<'_>, args: &Value) -> Vec<String> {
    let most = args["per_second"].as_u64().unwrap_or(0);
    let times: Vec<Instant> = of_method(seen, args).iter().map(|message| message.at).collect();
    // What is read late, on a machine that is busy, comes all at once: that of one more second.
    let too_many = times.iter().enumerate().find_map(|(first, start)| {
        times.iter().skip(first).zip(1..).find_map(|(at, count)| {
            let seconds = at.duration_since(*start).as_secs() + 2;
            (count > most * seconds).then(|| format!("{count} in {seconds} s"))
        })
    });
    too_many.into_iter().collect()
}

fn no_identical(seen: &Seen<'_>) -> Vec<String> {
    let mut last: BTreeMap<String, &Value> = BTreeMap::new();
    let mut faults = Vec::new();
    for (_, token, value) in progress(seen) {
        if last.insert(token, value) == Some(value) {
            faults.push(format!("twice the same: {}", short(value)));
        }
    }
    faults
}

fn max_bytes(seen: &Seen<'_>, args: &Value) -> Vec<String> {
    let most = args["bytes"].as_u64().unwrap_or(0);
    let long = of_method(seen, args).into_iter().filter(|message| message.bytes as u64 > most);
    long.map(|message| format!("{} bytes", message.bytes)).collect()
}

fn edits(seen: &Seen<'_>, fault: impl Fn(&Value) -> Option<&'static str>) -> Vec<String> {
    let requests =
        seen.observed.server_messages().filter(|message| message.json["method"] == "workspace/applyEdit");
    requests
        .filter_map(|message| {
            let fault = fault(&message.json["params"]["edit"])?;
            Some(format!("an edit {fault}: {}", short(&message.json)))
        })
        .collect()
}

pub(super) fn process(value: &Value, seen: &Seen<'_>) -> Faults {
    needs_alive(seen)?;
    let mut faults = Vec::new();
    if let Some(limit) = value["exit_within_ms"].as_u64() {
        match seen.observed.exit {
            None => faults.push(format!("the process did not end within {limit} ms")),
            Some((code, took)) => {
                faults.extend(duration("its end", &serde_json::json!({"max": limit}), took));
                if let Some(wanted) = value["exit_code"].as_i64()
                    && code.map(i64::from) != Some(wanted)
                {
                    faults.push(format!("the exit code is {code:?}, not {wanted}"));
                }
            }
        }
    }
    if let Some(wanted) = value["alive"].as_bool()
        && seen.observed.was_alive != Some(wanted)
    {
        faults.push(format!("the process is alive: {:?}", seen.observed.was_alive));
    }
    Ok(faults)
}

fn needs_alive(seen: &Seen<'_>) -> Result<(), String> {
    seen.observed.was_alive.map(|_| ()).ok_or_else(|| "no server took part".to_owned())
}

pub(super) fn alive(value: &Value, seen: &Seen<'_>) -> Vec<String> {
    match seen.observed.was_alive {
        // Without a server there is nothing that could have died.
        None => Vec::new(),
        Some(alive) if value.as_bool() == Some(alive) => Vec::new(),
        Some(alive) => vec![format!("the server is alive: {alive}")],
    }
}

pub(super) fn still_answers(value: &Value, seen: &Seen<'_>) -> Vec<String> {
    match seen.observed.still_answers {
        None => Vec::new(),
        Some(answers) if value.as_bool() == Some(answers) => Vec::new(),
        Some(answers) => vec![format!("the server still answers: {answers}")],
    }
}

pub(super) fn growth(value: &Value, seen: &Seen<'_>) -> Faults {
    let grown = seen.observed.rss_growth_mb.ok_or("the server's memory cannot be seen here")?;
    let most = value["max"].as_f64().or_else(|| value.as_f64()).unwrap_or(0.0);
    Ok(if grown <= most { Vec::new() } else { vec![format!("the server grew by {grown:.1} MB")] })
}

/// Texts that must stand nowhere, as keys.
pub(super) fn forbidden(value: &Value, scopes: &Value, seen: &Seen<'_>) -> Vec<String> {
    let is_looked_at = |names: &[&str]| match scopes.as_array() {
        None => true,
        Some(scopes) => {
            scopes.iter().filter_map(Value::as_str).any(|scope| names.iter().any(|name| scope.contains(name)))
        }
    };
    let observed = seen.observed;
    let mut places: Vec<(&str, String)> = Vec::new();
    if is_looked_at(&["tool"]) {
        let results = observed.results.iter().map(|result| result.text.clone());
        let sent = observed.provider.requests.iter().flat_map(|request| outputs(&request.json));
        places.push(("a tool result", results.chain(sent.map(|(_, text)| text)).collect()));
    }
    if is_looked_at(&["client", "message"]) {
        let ends = observed.asks.iter().filter_map(|ask| ask.end.as_ref());
        let texts = ends.map(|end| format!("{}\n{}", end.text, end.error_text));
        places.push(("an answer", texts.collect()));
        places.push((
            "a message",
            observed.server_messages().map(|message| message.json.to_string()).collect(),
        ));
    }
    if is_looked_at(&["provider", "request", "body", "bodies"]) {
        let bodies = observed.provider.requests.iter();
        let bodies = bodies.map(|request| String::from_utf8_lossy(&request.body).into_owned());
        places.push(("a request's body", bodies.collect()));
    }
    if is_looked_at(&["stderr"]) {
        places.push(("stderr", observed.stderr.clone()));
    }
    if is_looked_at(&["log"]) {
        places.push(("a log file", observed.logs.clone()));
    }
    let texts = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    texts
        .flat_map(|text| {
            places
                .iter()
                .filter(move |(_, place)| place.contains(text))
                .map(move |(name, _)| format!("{text:?} stands in {name}"))
        })
        .collect()
}
