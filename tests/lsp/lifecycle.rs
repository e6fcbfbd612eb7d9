//! How a conversation with the server starts and ends, properly or not.

use std::{process::Command, time::Duration};

use serde_json::{Value, json};

use crate::support::{Client, FakeModel, Project, capabilities, model::*, on_every_wire, processes::Sleep};

/// How long a server may outlive its editor. Far more than it needs on any machine; less than a person would call an
/// orphan.
const SOON: Duration = Duration::from_secs(15);

/// A server that watches the process named in `initialize` looks at it from time to time only.
const WATCHED: Duration = Duration::from_secs(20);

const SERVER_NOT_INITIALIZED: i64 = -32002;
const INVALID_REQUEST: i64 = -32600;

#[test]
fn initialize_names_the_server_and_its_commands() {
    let client = Client::builder(&Project::new("")).start();
    let mut commands: Vec<_> = client.initialized["capabilities"]["executeCommandProvider"]["commands"]
        .as_array()
        .expect("commands")
        .clone();
    commands.sort_by_key(|command| command.to_string());
    assert_eq!(client.initialized["serverInfo"]["name"], "askls");
    assert_eq!(client.initialized["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(
        Value::from(commands),
        json!([
            "askls.acceptEdits",
            "askls.ask",
            "askls.newThread",
            "askls.redoTurn",
            "askls.rejectEdits",
            "askls.showEdits",
            "askls.status",
            "askls.stop",
            "askls.undoTurn",
        ])
    );
}

#[test]
fn the_server_starts_with_and_without_the_word_lsp() {
    for arguments in [&["lsp"][..], &[], &["--stdio"], &["lsp", "--stdio"]] {
        let mut client = Client::builder(&Project::new("")).arguments(arguments).start();
        assert_eq!(
            client.command("askls.status", json!({}))["version"],
            env!("CARGO_PKG_VERSION"),
            "{arguments:?}"
        );
    }
}

#[test]
fn shutdown_then_exit_ends_with_code_0_while_the_input_stays_open() {
    let mut client = Client::builder(&Project::new("")).start();
    assert_eq!(client.shut_down().code(), Some(0));
}

#[test]
fn exit_without_shutdown_ends_with_code_1() {
    let mut client = Client::builder(&Project::new("")).start();
    client.notify("exit", Value::Null);
    assert_eq!(client.wait_exit(SOON).code(), Some(1));
}

#[test]
fn requests_before_initialize_are_refused_and_the_server_can_still_be_initialized() {
    let builder = Client::builder(&Project::new(""));
    let mut client = builder.spawn();
    let early = client.send_command("askls.status", json!({}));
    assert_eq!(client.wait(&early).unwrap_err().code, SERVER_NOT_INITIALIZED);
    client.initialize(builder.initialize_params());
    client.command("askls.status", json!({}));
}

#[test]
fn a_second_initialize_is_refused() {
    let builder = Client::builder(&Project::new(""));
    let mut client = builder.start();
    assert_eq!(client.call("initialize", builder.initialize_params()).unwrap_err().code, INVALID_REQUEST);
}

#[test]
fn requests_after_shutdown_are_refused_and_exit_still_ends_with_code_0() {
    let mut client = Client::builder(&Project::new("")).start();
    client.request("shutdown", Value::Null);
    let late = client.send_ask("hello");
    assert_eq!(client.wait(&late).unwrap_err().code, INVALID_REQUEST);
    client.notify("exit", Value::Null);
    assert_eq!(client.wait_exit(SOON).code(), Some(0));
}

#[test]
fn an_editor_that_closes_at_once_leaves_no_server() {
    let mut client = Client::builder(&Project::new("")).spawn();
    client.close_input();
    client.wait_exit(SOON);
}

#[test]
fn an_editor_that_closes_after_initialize_leaves_no_server() {
    let mut client = Client::builder(&Project::new("")).start();
    client.close_input();
    client.wait_exit(SOON);
}

/// Starts a turn whose command runs until somebody ends it.
fn client_with_running_command(
    model: &FakeModel,
    project: &Project,
    process_id: u32,
    sleep: &Sleep,
) -> Client {
    let mut client = Client::builder(project)
        .model(model)
        .settings(json!({"approvals": "all"}))
        .initialize(json!({"processId": process_id}))
        .start();
    client.send_ask("wait a long time");
    sleep.wait_until_running();
    client
}

fn model_that_runs(wire: askls::protocol::Wire, sleep: &Sleep) -> FakeModel {
    FakeModel::start(wire, [call("run_command", json!({"command": sleep.command()}))])
}

#[test]
fn when_the_editor_dies_the_server_and_its_command_die_too() {
    on_every_wire(|wire| {
        let (sleep, project) = (Sleep::new(1), Project::new(""));
        let model = model_that_runs(wire, &sleep);
        let mut client = client_with_running_command(&model, &project, std::process::id(), &sleep);
        client.close_input();
        client.wait_exit(SOON);
        sleep.wait_until_gone();
    });
}

#[test]
fn when_both_pipes_close_the_server_and_its_command_die_too() {
    on_every_wire(|wire| {
        let (sleep, project) = (Sleep::new(2), Project::new(""));
        let model = model_that_runs(wire, &sleep);
        let mut client = client_with_running_command(&model, &project, std::process::id(), &sleep);
        client.close_output();
        client.close_input();
        client.wait_exit(SOON);
        sleep.wait_until_gone();
    });
}

#[test]
fn when_the_process_named_in_initialize_is_gone_the_server_and_its_command_die_too() {
    on_every_wire(|wire| {
        let (sleep, project) = (Sleep::new(3), Project::new(""));
        let model = model_that_runs(wire, &sleep);
        let mut editor = Command::new("sleep").arg("600").spawn().expect("a process to watch");
        let mut client = client_with_running_command(&model, &project, editor.id(), &sleep);
        editor.kill().expect("the editor dies");
        editor.wait().expect("and is gone");
        client.wait_exit(WATCHED);
        sleep.wait_until_gone();
    });
}

#[test]
fn shutdown_and_exit_end_a_running_command() {
    on_every_wire(|wire| {
        let (sleep, project) = (Sleep::new(4), Project::new(""));
        let model = model_that_runs(wire, &sleep);
        let mut client = client_with_running_command(&model, &project, std::process::id(), &sleep);
        client.request("shutdown", Value::Null);
        client.notify("exit", Value::Null);
        assert_eq!(client.wait_exit(SOON).code(), Some(0));
        sleep.wait_until_gone();
    });
}

#[test]
fn exit_without_shutdown_ends_a_running_command() {
    let (sleep, project) = (Sleep::new(5), Project::new(""));
    let model = model_that_runs(askls::protocol::Wire::Chat, &sleep);
    let mut client = client_with_running_command(&model, &project, std::process::id(), &sleep);
    client.notify("exit", Value::Null);
    assert_eq!(client.wait_exit(SOON).code(), Some(1));
    sleep.wait_until_gone();
}

#[test]
fn unknown_requests_are_answered_and_unknown_notifications_are_not() {
    let mut client = Client::builder(&Project::new("")).start();
    for method in ["textDocument/doesNotExist", "$/alsoNot"] {
        assert_eq!(client.call(method, json!({})).unwrap_err().code, -32601, "{method}");
    }
    client.notify("$/doesNotExist", json!({}));
    client.notify("doesNot/exist", Value::Null);
    client.command("askls.status", json!({}));
}

#[test]
fn ids_may_be_numbers_or_texts() {
    let mut client = Client::builder(&Project::new("")).start();
    let params = json!({"command": "askls.status", "arguments": []});
    for id in [json!("one"), json!("2"), json!(2_000_000), json!(-5)] {
        let request = client.send_as(id, "workspace/executeCommand", params.clone());
        assert!(client.wait(&request).is_ok(), "{request:?}");
    }
}

#[test]
fn members_that_nobody_knows_do_no_harm() {
    let mut client = Client::builder(&Project::new(""))
        .capabilities(capabilities::with("/experimental", json!({"x": [1, {"y": null}]})))
        .initialize(json!({"whatIsThis": {"a": 1}, "trace": "verbose", "locale": "en"}))
        .start();
    client.notify("$/setTrace", json!({"value": "off"}));
    client.command("askls.status", json!({}));
}

#[test]
fn headers_are_read_in_any_spelling_and_order() {
    let builder = Client::builder(&Project::new(""));
    let mut client = builder.start();
    let body = json!({"jsonrpc": "2.0", "method": "$/setTrace", "params": {"value": "off"}}).to_string();
    let length = body.len();
    for headers in [
        format!("content-length: {length}\r\n"),
        format!("CONTENT-LENGTH:{length}\r\n"),
        format!("Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: {length}\r\n"),
    ] {
        client.send_bytes(format!("{headers}\r\n{body}").as_bytes());
        client.command("askls.status", json!({}));
    }
}

/// A length that no message has: the server must neither take the memory for it nor panic.
#[test]
fn a_message_that_claims_to_be_huge_does_no_harm() {
    for length in ["1000000000000", "18446744073709551615", "99999999999999999999999999", "-1", "x"] {
        let mut client = Client::builder(&Project::new("")).start();
        client.send_bytes(format!("Content-Length: {length}\r\n\r\n{{}}").as_bytes());
        client.close_input();
        client.wait_exit(SOON);
    }
}

/// Editors end a server that does not end by itself.
#[cfg(unix)]
#[test]
fn a_server_that_is_told_to_terminate_ends_its_command_first() {
    for (number, signal) in [(6, "-TERM"), (7, "-INT"), (8, "-HUP")] {
        let (sleep, project) = (Sleep::new(number), Project::new(""));
        let model = model_that_runs(askls::protocol::Wire::Chat, &sleep);
        let mut client = client_with_running_command(&model, &project, std::process::id(), &sleep);
        let sent = Command::new("kill").args([signal, &client.process_id().to_string()]).status();
        assert!(sent.expect("kill").success(), "{signal}");
        client.wait_exit(SOON);
        sleep.wait_until_gone();
    }
}
