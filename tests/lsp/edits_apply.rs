//! `edits = apply`: the edit happens before the answer, and the answer tells what became of it.

use askls::protocol::Wire;
use serde_json::{Value, json};

use crate::support::{Answer, Client, FakeModel, Manner, Project, capabilities, model::*, on_every_wire};

fn model_that_edits(wire: Wire) -> FakeModel {
    FakeModel::start(
        wire,
        [call("edit_file", json!({"path": "a.txt", "find": "A", "replace": "B"})), text("Changed A to B.")],
    )
}

fn applying(project: &Project, model: &FakeModel, manner: Manner) -> Client {
    Client::builder(project).model(model).settings(json!({"edits": "apply"})).manner(manner).start()
}

#[test]
fn the_edit_is_there_when_the_answer_is() {
    on_every_wire(|wire| {
        for manner in [Manner::VsCode, Manner::Neovim] {
            let project = Project::new("//- /a.txt\nA\n");
            let model = model_that_edits(wire);
            let mut client = applying(&project, &model, manner);
            client.open("/a.txt");

            let result = client.ask("Make it B.");

            assert_eq!(result["edits"], "applied", "{manner:?}");
            assert_eq!(result["files"], json!([client.uri("/a.txt")]), "{manner:?}");
            assert_eq!(client.text("/a.txt").unwrap(), "B\n", "{manner:?}");
            assert_eq!(client.command("askls.status", json!({}))["proposals"], 0, "{manner:?}");
        }
    });
}

#[test]
fn half_of_a_change_is_not_applied_though_the_turn_ends_with_an_answer() {
    let project = Project::new("//- /a.txt\nA\n");
    let model = model_that_edits(Wire::Chat);
    let settings = json!({"edits": "apply", "max_steps": 1, "on_limit": "final_answer"});
    let mut client = Client::builder(&project).model(&model).settings(settings).start();
    client.open("/a.txt");

    let result = client.ask("Make it B.");
    let question = client.wait_request("window/showMessageRequest");

    assert_eq!((&result["stopReason"], &result["edits"]), (&json!("answer"), &json!("proposed")));
    assert_eq!(client.text("/a.txt").unwrap(), "A\n");
    client.reply(&question, Answer::Result(Value::Null));
}

#[test]
fn the_edit_names_the_version_that_it_was_made_for() {
    let project = Project::new("//- /a.txt\nA\n");
    let model = model_that_edits(Wire::Chat);
    let mut client = applying(&project, &model, Manner::VsCode);
    client.open("/a.txt");
    client.replace("/a.txt", "A!\n");

    client.ask("Make it B.");

    let edit = &client.seen("workspace/applyEdit")[0]["edit"];
    let version = &edit["documentChanges"][0]["textDocument"]["version"];
    assert_eq!(*version, 2, "{edit}");
    assert_eq!(client.text("/a.txt").unwrap(), "B!\n");
}

#[test]
fn the_next_turn_reads_what_was_applied() {
    on_every_wire(|wire| {
        for manner in [Manner::VsCode, Manner::Neovim] {
            let project = Project::new("//- /a.txt\nA\n");
            let model = FakeModel::start(
                wire,
                [
                    call("edit_file", json!({"path": "a.txt", "find": "A", "replace": "B"})),
                    text("Changed."),
                    call("edit_file", json!({"path": "a.txt", "find": "B", "replace": "C"})),
                    text("Changed again."),
                ],
            );
            let mut client = applying(&project, &model, manner);
            client.open("/a.txt");
            let thread = client.ask("Make it B.")["threadId"].clone();
            let second = client.ask_on(&thread, "Make it C.");
            assert_eq!(second["edits"], "applied", "{manner:?}");
            assert_eq!(client.text("/a.txt").unwrap(), "C\n", "{manner:?}");
        }
    });
}

#[test]
fn a_client_that_applies_nothing_is_not_said_to_have_applied() {
    let answers = [
        Answer::Result(json!({"applied": false, "failureReason": "buffer locked"})),
        Answer::Result(json!({"applied": false})),
        Answer::Result(Value::Null),
        Answer::Result(json!("yes")),
        Answer::Error(-32603, "boom".to_owned()),
    ];
    for answer in answers {
        on_every_wire(|wire| {
            let project = Project::new("//- /a.txt\nA\n");
            let model = model_that_edits(wire);
            let mut client = applying(&project, &model, Manner::VsCode);
            client.open("/a.txt");
            client.on_request("workspace/applyEdit", {
                let answer = answer.clone();
                move |_| answer.clone()
            });
            client.tolerate("window/showMessage");
            client.tolerate("window/showMessageRequest");

            let result = client.ask("Make it B.");

            assert_eq!(result["stopReason"], "answer", "{answer:?}");
            assert!(
                ["refused", "conflict"].contains(&result["edits"].as_str().unwrap()),
                "{answer:?}: {result}"
            );
            assert_eq!(client.text("/a.txt").unwrap(), "A\n", "{answer:?}");
            // Nothing is lost: the edit can still be had.
            client.on_request("workspace/applyEdit", |_| Answer::Apply);
            assert_eq!(client.command("askls.acceptEdits", json!({}))["applied"], true, "{answer:?}");
            client.wait_text("/a.txt", "B\n");
        });
    }
}

/// Neovim skips an outdated edit and says that it applied it: the text that follows is the truth.
#[test]
fn an_edit_that_was_skipped_though_the_client_says_applied_is_not_applied() {
    on_every_wire(|wire| {
        let project = Project::new("//- /a.txt\nA\n");
        let model = model_that_edits(wire);
        let mut client = applying(&project, &model, Manner::Neovim);
        client.open("/a.txt");
        client.on_request("workspace/applyEdit", |_| Answer::Result(json!({"applied": true})));
        client.tolerate("window/showMessage");
        client.tolerate("window/showMessageRequest");

        let result = client.ask("Make it B.");

        assert_ne!(result["edits"], "applied", "{result}");
        assert_eq!(client.text("/a.txt").unwrap(), "A\n");
    });
}

/// Of files that are not open nobody tells; the disk is the truth.
#[test]
fn files_that_are_not_made_moved_or_deleted_are_not_said_to_be() {
    for (name, argument) in [
        ("write_file", json!({"path": "new.txt", "text": "new\n"})),
        ("move_file", json!({"from": "a.txt", "to": "moved.txt"})),
        ("delete_file", json!({"path": "a.txt"})),
    ] {
        let project = Project::new("//- /a.txt\nA\n");
        let model = FakeModel::start(Wire::Chat, [call(name, argument), text("Done.")]);
        let mut client = applying(&project, &model, Manner::VsCode);
        client.on_request("workspace/applyEdit", |_| Answer::Result(json!({"applied": true})));

        let result = client.ask("Do it.");

        assert_eq!(result["edits"], "refused", "{name}: {result}");
        client.wait_notification("window/showMessage");
        assert!(project.exists("/a.txt"), "{name}");
        assert_eq!(client.command("askls.status", json!({}))["proposals"], 1, "{name}");
    }
}

/// lsp-05: what each kind of client is sent, and that the file gets its text with each.
#[test]
fn a_changed_file_reaches_clients_with_and_without_document_changes() {
    on_every_wire(|wire| {
        for workspace_edit in [
            json!({}),
            json!({"documentChanges": false}),
            json!({"documentChanges": true}),
            json!({"documentChanges": true, "resourceOperations": []}),
            json!({"resourceOperations": ["create", "rename", "delete"]}),
        ] {
            let project = Project::new("//- /a.txt\nA\n");
            let model = model_that_edits(wire);
            let mut client = Client::builder(&project)
                .model(&model)
                .settings(json!({"edits": "apply"}))
                .capabilities(capabilities::with("/workspace/workspaceEdit", workspace_edit.clone()))
                .start();
            client.open("/a.txt");

            let result = client.ask("Make it B.");

            assert_eq!(result["edits"], "applied", "{workspace_edit}");
            assert_eq!(client.text("/a.txt").unwrap(), "B\n", "{workspace_edit}");
            let edit = &client.seen("workspace/applyEdit")[0]["edit"];
            let versioned = workspace_edit["documentChanges"] == true
                || workspace_edit["resourceOperations"].as_array().is_some_and(|list| !list.is_empty());
            assert_eq!(edit.get("documentChanges").is_some(), versioned, "{workspace_edit}: {edit}");
        }
    });
}

/// lsp-05: a new file is there with every client. A file that the client cannot move or delete stays where it is, and
/// the answer says so: nothing is half done, nothing lost.
#[test]
fn files_are_created_moved_and_deleted_as_far_as_the_client_can() {
    on_every_wire(|wire| {
        for operations in [
            json!(["create", "rename", "delete"]),
            json!([]),
            json!(["create"]),
            json!(["rename"]),
            json!(["delete"]),
            Value::Null,
        ] {
            let project = Project::new("//- /old.txt\nold\n//- /gone.txt\ngone\n");
            let model = FakeModel::start(
                wire,
                [
                    call("write_file", json!({"path": "sub/new.txt", "text": "n\n"}))
                        .call("move_file", json!({"from": "old.txt", "to": "sub/moved.txt"}))
                        .call("delete_file", json!({"path": "gone.txt"})),
                    text("Done."),
                ],
            );
            let mut client = Client::builder(&project)
                .model(&model)
                .settings(json!({"edits": "apply"}))
                .capabilities(capabilities::with(
                    "/workspace/workspaceEdit",
                    json!({"documentChanges": true, "resourceOperations": operations}),
                ))
                .start();
            client.tolerate("window/showMessage");
            client.tolerate("window/showMessageRequest");

            let result = client.ask("Move things.");

            assert_eq!(result["edits"], "applied", "{operations}: {result}");
            client.wait_text("/sub/new.txt", "n\n");
            let detail = result["detail"].as_str().unwrap_or_default();
            for (operation, before, after) in
                [("rename", "/old.txt", Some("/sub/moved.txt")), ("delete", "/gone.txt", None)]
            {
                if operations.to_string().contains(operation) {
                    client.wait_gone(before);
                    if let Some(after) = after {
                        client.wait_text(after, "old\n");
                    }
                } else {
                    assert!(project.exists(before), "{operations}");
                    let name = after.unwrap_or(before).trim_start_matches('/');
                    assert!(detail.contains(name), "{operations}: {name} in {detail:?}");
                }
            }
        }
    });
}

/// lsp-05: the client cannot apply anything. Its files are not changed behind its back while a buffer is open.
#[test]
fn a_client_without_apply_edit_keeps_its_open_buffer() {
    on_every_wire(|wire| {
        for setting in ["apply", "propose"] {
            let project = Project::new("//- /a.txt\nA\n");
            let model = model_that_edits(wire);
            let mut client = Client::builder(&project)
                .model(&model)
                .settings(json!({"edits": setting}))
                .capabilities(capabilities::without("/workspace/applyEdit"))
                .start();
            client.on_request("window/showDocument", |_| Answer::Result(json!({"success": true})));
            client.open("/a.txt");
            client.tolerate("window/showMessage");
            client.tolerate("window/showMessageRequest");

            let result = client.ask("Make it B.");

            assert_eq!(result["stopReason"], "answer", "{setting}");
            assert_ne!(result["edits"], "none", "{setting}: the edit is not lost");
            assert!(client.command("askls.showEdits", json!({}))["diff"].is_string(), "{setting}");
        }
    });
}

#[test]
fn positions_are_right_in_every_encoding_and_with_every_line_end() {
    for encoding in ["utf-8", "utf-16", "utf-32"] {
        for (before, after) in [
            ("ä😀 = A\nrest\n", "ä😀 = B\nrest\n"),
            ("one\r\n😀😀A\r\nthree\r\n", "one\r\n😀😀B\r\nthree\r\n"),
            ("é\u{301}A", "é\u{301}B"),
        ] {
            let project = Project::new("");
            project.write("/a.txt", before);
            let model = model_that_edits(Wire::Responses);
            let mut client = Client::builder(&project)
                .model(&model)
                .settings(json!({"edits": "apply"}))
                .capabilities(capabilities::with("/general/positionEncodings", json!([encoding])))
                .start();
            assert_eq!(client.initialized["capabilities"]["positionEncoding"], encoding);
            client.open("/a.txt");
            client.ask("Make it B.");
            assert_eq!(client.text("/a.txt").unwrap(), after, "{encoding}");
        }
    }
}

/// What an editor or a shell runs by itself is more than an edit.
#[test]
fn a_file_that_runs_by_itself_is_asked_about() {
    let project = Project::new("//- /a.txt\nA\n");
    let tasks = json!({"path": ".vscode/tasks.json", "text": "{}\n"});
    let model = FakeModel::start(Wire::Chat, [call("write_file", tasks), text("Added a task.")]);
    let mut client = applying(&project, &model, Manner::VsCode);

    let result = client.ask("Add a task.");
    let question = client.wait_request("window/showMessageRequest");

    assert_eq!(result["edits"], "proposed", "{result}");
    client.reply(&question, Answer::Result(Value::Null));
}
