//! Runs a case through the real server over stdio: the driver is the editor. Settings stand in the user's file, so that
//! they hold whatever the case's client says and can do.

mod calls;
mod client;
mod end;
mod initialize;
mod policy;
mod steps;

use std::{process::Command, time::Instant};

use serde_json::Value;

use crate::{
    case::Run,
    drive::write_user_file,
    names::{Configured, neutral_arguments, neutral_tool},
    observed::{Execution, Observed, Request},
    provider::Provider,
    world::World,
};
pub(crate) use calls::PROVIDER as PROVIDER_OF_CALLS;
use client::Client;
use policy::{Answers, Policy};

/// # Errors
/// Why the run cannot be expressed.
pub(crate) fn run(
    run: &Run,
    world: &World,
    configured: &Configured,
    provider: &Provider,
    observed: &mut Observed,
) -> Result<(), String> {
    let mut client = Client::start(command(world, configured)?, world, run, configured, provider);
    let started = Instant::now();
    if let Some(steps) = run.when["steps"].as_array() {
        let is_standard =
            run.kind != "lsp-sequence" && !steps.iter().any(|step| step.get("initialize").is_some());
        client.default_answers(is_standard);
        if is_standard {
            client.standard_start()?;
        }
        for step in steps {
            client.step(step)?;
        }
    } else if let Some(prompt) = run.when["ask"].as_str() {
        client.default_answers(true);
        client.standard_start()?;
        client.ask(prompt, "ask", &Value::Null);
        client.wait_for("ask", run.wall);
    } else if run.when.get("calls").is_some() || run.when.get("changes").is_some() {
        client.default_answers(true);
        client.standard_start()?;
        client.changes(run.when["changes"].as_array().map_or(&[], Vec::as_slice));
        client.calls(run.when["calls"].as_array().map_or(&[], Vec::as_slice), provider, observed)?;
    } else if let Some(selection) = run.when.get("selection") {
        client.default_answers(true);
        client.standard_start()?;
        let path = selection["path"].as_str().unwrap_or_default();
        let step = serde_json::json!({"uri": world.uri(path), "range": selection["range"]});
        client.ask("what is selected?", "ask", &step);
        client.wait_for("ask", run.wall);
    } else {
        return Err(format!("over stdio there is no way to do {}", run.when));
    }
    client.finish(started, observed);
    Ok(())
}

fn command(world: &World, configured: &Configured) -> Result<Command, String> {
    write_user_file(world, configured)?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_askls"));
    command.arg("lsp").current_dir(&world.home).env_clear();
    for name in ["PATH", "SYSTEMROOT", "TMPDIR", "TEMP"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    for name in ["HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"] {
        command.env(name, &world.home);
    }
    // Nothing listens there, so that a server on this machine is not asked.
    command.env("OLLAMA_HOST", "127.0.0.1:9").env("LLAMA_ARG_PORT", "9");
    command.envs(configured.environment.iter().map(|(name, value)| (name, value)));
    Ok(command)
}

/// The tool executions that the history of the last request of each thread tells of: a call whose output does not say
/// that it did not run.
pub(crate) fn executions(requests: &[Request]) -> Vec<Execution> {
    let Some(last) = requests.iter().rfind(|request| request.json.is_object()) else { return Vec::new() };
    let outputs = outputs(&last.json);
    calls(&last.json)
        .into_iter()
        .filter(|(id, ..)| {
            let output = outputs.iter().find(|(other, _)| other == id).map(|(_, text)| text.as_str());
            output.is_some_and(|text| !DID_NOT_RUN.iter().any(|words| text.contains(words)))
        })
        .map(|(_, name, arguments)| {
            let neutral = neutral_tool(&name).unwrap_or(&name);
            Execution { name: neutral.to_owned(), arguments: neutral_arguments(neutral, &arguments) }
        })
        .collect()
}

/// How askls tells the model that a call did not run.
const DID_NOT_RUN: &[&str] = &[
    "did not run",
    "was not run",
    "there is no tool named",
    "do not fit its schema",
    "the user was not asked",
    "stopped the turn before this call",
];

/// `(id, name, arguments)` of all calls in a request of any wire.
pub(crate) fn calls(body: &Value) -> Vec<(String, String, Value)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let parsed = |value: &Value| {
        serde_json::from_str(value.as_str().unwrap_or_default()).unwrap_or_else(|_| value.clone())
    };
    let mut found = Vec::new();
    for message in body["messages"].as_array().into_iter().flatten() {
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let function = &call["function"];
            found.push((text(&call["id"]), text(&function["name"]), parsed(&function["arguments"])));
        }
        for block in message["content"].as_array().into_iter().flatten() {
            if block["type"] == "tool_use" {
                found.push((text(&block["id"]), text(&block["name"]), block["input"].clone()));
            }
        }
    }
    for item in body["input"].as_array().into_iter().flatten() {
        if item["type"] == "function_call" {
            found.push((text(&item["call_id"]), text(&item["name"]), parsed(&item["arguments"])));
        }
    }
    found
}

/// `(call id, text)` of all outputs in a request of any wire.
pub(crate) fn outputs(body: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut found = Vec::new();
    for message in body["messages"].as_array().into_iter().flatten() {
        if message["role"] == "tool" {
            found.push((text(&message["tool_call_id"]), text(&message["content"])));
        }
        for block in message["content"].as_array().into_iter().flatten() {
            if block["type"] == "tool_result" {
                found.push((text(&block["tool_use_id"]), text(&block["content"])));
            }
        }
    }
    for item in body["input"].as_array().into_iter().flatten() {
        if item["type"] == "function_call_output" {
            found.push((text(&item["call_id"]), text(&item["output"])));
        }
    }
    found
}
