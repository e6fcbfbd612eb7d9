//! Clients of every kind: each recorded editor, one that can do nothing, and one that lacks a single thing.

use askls::protocol::Wire;
use serde_json::{Value, json};

use crate::support::{Answer, Client, FakeModel, Project, capabilities, model::*, on_every_wire};

/// A turn that uses all that askls uses: reading, a question, an edit, progress, an answer.
fn model_that_does_everything(wire: Wire) -> FakeModel {
    FakeModel::start(
        wire,
        [
            call("read_file", json!({"path": "a.txt"}))
                .call("run_command", json!({"command": "touch ran.txt"}))
                .call("edit_file", json!({"path": "a.txt", "find": "A", "replace": "B"})),
            text("I read, ran and changed."),
        ],
    )
}

/// Answers every question with its first action, as a user who says yes to everything.
fn say_yes(client: &Client) {
    client.on_request("window/showMessageRequest", |params| Answer::Result(params["actions"][0].clone()));
    client.on_request("window/showDocument", |_| Answer::Result(json!({"success": true})));
}

#[test]
fn every_recorded_editor_gets_the_whole_turn() {
    for editor in capabilities::recorded_editors() {
        // This one applies no edits and answers no question; the test below is about it.
        if editor.contains("ale") {
            continue;
        }
        on_every_wire(|wire| {
            eprintln!("--- {editor}");
            let project = Project::new("//- /a.txt\nA\n");
            let model = model_that_does_everything(wire);
            let mut client = Client::builder(&project)
                .model(&model)
                .settings(json!({"edits": "apply", "background": "never"}))
                .recorded(&editor)
                .start();
            say_yes(&client);
            client.open("/a.txt");

            let result = client.ask("Do it.");

            assert_eq!(result["answer"], "I read, ran and changed.", "{editor}");
            assert_eq!(result["edits"], "applied", "{editor}");
            assert_eq!(client.text("/a.txt").unwrap(), "B\n", "{editor}");
            assert!(project.exists("/ran.txt"), "{editor}");
            let has_progress = client.capabilities()["window"]["workDoneProgress"] == true;
            assert_eq!(!client.seen("$/progress").is_empty(), has_progress, "{editor}");
        });
    }
}

/// ALE: no progress, no edits, and no answer to any request of the server, not even an error.
#[test]
fn a_client_that_answers_nothing_gets_its_answer() {
    on_every_wire(|wire| {
        let project = Project::new("//- /a.txt\nA\n");
        let model = model_that_does_everything(wire);
        let mut client = Client::builder(&project)
            .model(&model)
            .settings(json!({"edits": "apply", "background": "never", "approval_timeout": 1}))
            .recorded("vim-9.0-ale-3.3.0")
            .start();
        client.on_request("window/showMessageRequest", |_| Answer::Never);
        client.tolerate("window/showMessage");
        client.open("/a.txt");

        let result = client.ask("Do it.");

        assert_eq!(result["answer"], "I read, ran and changed.");
        assert_eq!(client.text("/a.txt").unwrap(), "A\n", "the buffer is the editor's");
        assert!(!project.exists("/ran.txt"));
    });
}

/// lsp-09
#[test]
fn a_client_without_folder_and_capabilities_gets_its_answer() {
    for params in [
        json!({"rootUri": null, "workspaceFolders": null, "processId": null}),
        json!({"rootUri": null, "workspaceFolders": []}),
        json!({"rootPath": null}),
    ] {
        on_every_wire(|wire| {
            let project = Project::new("//- /a.txt\nA\n");
            let model = FakeModel::start(wire, [call("read_file", json!({"path": "a.txt"})), text("Read.")]);
            let mut client = Client::builder(&project)
                .model(&model)
                .without(&["rootUri", "workspaceFolders", "processId", "initializationOptions", "clientInfo"])
                .initialize(params.clone())
                .capabilities(capabilities::none())
                .start();
            client.tolerate("window/showMessage");
            client.on_request("window/showMessageRequest", |_| Answer::Error(-32601, "what?".to_owned()));
            let uri = client.open("/a.txt");

            let result = client.command("askls.ask", json!({"prompt": "hello", "uri": uri}));

            assert_eq!(result["answer"], "Read.", "{params}");
            for method in [
                "$/progress",
                "window/workDoneProgress/create",
                "workspace/applyEdit",
                "client/registerCapability",
                "workspace/configuration",
                "window/showDocument",
            ] {
                assert_eq!(client.seen(method), Vec::<Value>::new(), "{method}");
            }
        });
    }
}

/// What `rules` checks of every test is checked here for each missing capability: nothing that was not advertised is used.
#[test]
fn a_client_that_lacks_one_capability_gets_the_rest_and_no_error() {
    for pointer in [
        "/general",
        "/general/positionEncodings",
        "/window",
        "/window/workDoneProgress",
        "/window/showMessage",
        "/window/showDocument",
        "/workspace",
        "/workspace/applyEdit",
        "/workspace/workspaceEdit",
        "/workspace/workspaceEdit/documentChanges",
        "/workspace/workspaceEdit/resourceOperations",
        "/workspace/configuration",
        "/workspace/didChangeConfiguration",
        "/workspace/didChangeWatchedFiles",
        "/workspace/executeCommand",
        "/workspace/workspaceFolders",
        "/textDocument",
        "/textDocument/synchronization",
        "/textDocument/codeAction",
        "/textDocument/codeAction/codeActionLiteralSupport",
        "/textDocument/codeAction/resolveSupport",
        "/textDocument/codeAction/dataSupport",
        "/textDocument/codeAction/disabledSupport",
    ] {
        for edits in ["propose", "apply"] {
            eprintln!("--- without {pointer}, edits = {edits}");
            let project = Project::new("//- /a.txt\nA\n");
            let model = model_that_does_everything(Wire::Responses);
            let mut client = Client::builder(&project)
                .model(&model)
                .capabilities(capabilities::without(pointer))
                .settings(json!({"edits": edits, "show_answer": "message"}))
                .start();
            say_yes(&client);
            client.tolerate("window/showMessage");
            let uri = client.open("/a.txt");

            let result = client.ask("Do it.");

            assert_eq!(result["answer"], "I read, ran and changed.", "{pointer}");
            assert!(project.exists("/ran.txt"), "{pointer}");
            let applies = !matches!(pointer, "/workspace" | "/workspace/applyEdit");
            if applies {
                client.wait_text("/a.txt", "B\n");
            }
            let range = json!({"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}});
            client.request(
                "textDocument/codeAction",
                json!({"textDocument": {"uri": uri}, "range": range, "context": {"diagnostics": []}}),
            );
        }
    }
}

#[test]
fn null_members_are_like_missing_ones() {
    let project = Project::new("//- /a.txt\nA\n");
    let model = model_that_does_everything(Wire::Chat);
    let mut client = Client::builder(&project)
        .model(&model)
        .capabilities(json!({
            "general": null,
            "window": {"workDoneProgress": null, "showMessage": null, "showDocument": null},
            "workspace": {"applyEdit": null, "workspaceEdit": null, "configuration": null},
            "textDocument": null,
            "experimental": null,
        }))
        .initialize(json!({"clientInfo": null, "trace": null, "locale": null}))
        .start();
    client.tolerate("window/showMessage");
    say_yes(&client);
    assert_eq!(client.ask("Do it.")["answer"], "I read, ran and changed.");
}

/// Clients that give up on a command after ten seconds get the answer beside it.
#[test]
fn a_client_that_cannot_wait_is_answered_at_once_and_gets_its_answer_by_message() {
    for (editor, background) in [
        (None, json!("always")),
        (Some("emacs-28.2-lsp-mode-8.0.0"), json!("auto")),
        (Some("emacs-28.2-eglot-1.9"), json!("always")),
    ] {
        on_every_wire(|wire| {
            let project = Project::new("");
            let model = FakeModel::start(wire, [text("Here is what I found.").gate()]);
            let mut builder = Client::builder(&project)
                .model(&model)
                .settings(json!({"background": background, "show_answer": "message"}));
            if let Some(editor) = editor {
                builder = builder.recorded(editor);
            }
            let mut client = builder.start();

            let result = client.ask("Look.");

            assert_eq!(result["background"], true, "{editor:?}");
            assert!(result["threadId"].is_string(), "{editor:?}");
            assert_eq!(client.command("askls.status", json!({}))["running"], 1, "{editor:?}");
            model.release(1);
            let message = client.wait_notification("window/showMessage");
            assert_eq!(message["message"], "Here is what I found.", "{editor:?}");
        });
    }
}

#[test]
fn a_turn_in_the_background_can_be_stopped_and_its_thread_goes_on() {
    on_every_wire(|wire| {
        let model = FakeModel::start(wire, [text("Never said.").gate(), text("Here I am.")]);
        let mut client = Client::builder(&Project::new(""))
            .model(&model)
            .settings(json!({"background": "always", "show_answer": "message"}))
            .start();
        let thread = client.ask("Look.")["threadId"].clone();
        crate::support::wait(model.request(1));

        assert_eq!(client.command("askls.stop", json!({"threadId": thread})), json!({"stopped": 1}));

        crate::support::wait(model.left(1));
        client.wait_status("running", 0);
        client.tolerate("window/showMessage");
        client.ask_on(&thread, "And now?");
        client.wait_for("the answer", |message| message["params"]["message"] == "Here I am.");
    });
}
