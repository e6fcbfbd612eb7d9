//! What happens rarely and must go right all the same: odd names, odd texts, and moments between two messages.

use std::time::{Duration, Instant};

use askls::protocol::Wire;
use serde_json::{Value, json};

use crate::support::{
    Answer, Client, FakeModel, Project, documents::lsp_range, history::last_output, model::*, on_every_wire,
    project::file_uri,
};

const REQUEST_CANCELLED: i64 = -32800;

/// Generous for what should be done at once.
const PROMPTLY: Duration = Duration::from_secs(5);

fn model_that_edits(wire: Wire, path: &str) -> FakeModel {
    FakeModel::start(
        wire,
        [call("edit_file", json!({"path": path, "find": "A", "replace": "B"})), text("Changed A to B.")],
    )
}

/// Some editors ask their user before they apply an edit, and the user may have left.
#[test]
fn a_turn_whose_edit_is_being_applied_can_be_cancelled_and_the_edit_is_not_lost() {
    on_every_wire(|wire| {
        let project = Project::new("//- /a.txt\nA\n");
        let model = model_that_edits(wire, "a.txt");
        let mut client = Client::builder(&project).model(&model).settings(json!({"edits": "apply"})).start();
        client.tolerate("window/showMessage");
        client.tolerate("window/showMessageRequest");
        client.on_request("workspace/applyEdit", |_| Answer::Never);
        let ask = client.send_ask("Make it B.");
        client.wait_until("the edit", |received| {
            received.iter().any(|received| received.message["method"] == "workspace/applyEdit").then_some(())
        });

        let started = Instant::now();
        client.cancel_request(&ask);

        // The turn itself was over, so its answer is as good as the cancelling.
        if let Err(failure) = client.wait(&ask) {
            assert_eq!(failure.code, REQUEST_CANCELLED);
        }
        assert!(started.elapsed() < PROMPTLY, "{:?}", started.elapsed());
        client.on_request("workspace/applyEdit", |_| Answer::Apply);
        assert_eq!(client.command("askls.acceptEdits", json!({}))["applied"], true);
        client.wait_text("/a.txt", "B\n");
    });
}

#[test]
fn accepting_edits_can_be_cancelled_and_they_are_not_lost() {
    on_every_wire(|wire| {
        let project = Project::new("//- /a.txt\nA\n");
        let model = model_that_edits(wire, "a.txt");
        let mut client = Client::start(&project, &model);
        client.tolerate("window/showMessage");
        client.on_request("window/showMessageRequest", |_| Answer::Never);
        client.ask("Make it B.");
        client.on_request("workspace/applyEdit", |_| Answer::Never);
        let accept = client.send_command("askls.acceptEdits", json!({}));
        client.wait_until("the edit", |received| {
            received.iter().any(|received| received.message["method"] == "workspace/applyEdit").then_some(())
        });

        client.cancel_request(&accept);

        assert_eq!(client.wait(&accept).unwrap_err().code, REQUEST_CANCELLED);
        client.wait_status("proposals", 1);
        client.on_request("workspace/applyEdit", |_| Answer::Apply);
        assert_eq!(client.command("askls.acceptEdits", json!({}))["applied"], true);
        client.wait_text("/a.txt", "B\n");
    });
}

/// An edit that is with the editor cannot be called back: when the editor applies it after all, it is done.
#[test]
fn an_edit_that_is_applied_after_its_turn_was_cancelled_is_not_offered_any_more() {
    let project = Project::new("//- /a.txt\nA\n");
    let model = model_that_edits(Wire::Chat, "a.txt");
    let mut client = Client::builder(&project).model(&model).settings(json!({"edits": "apply"})).start();
    client.tolerate("workspace/applyEdit");
    client.on_request("workspace/applyEdit", |_| Answer::Never);
    client.open("/a.txt");
    let ask = client.send_ask("Make it B.");
    client.wait_until("the edit", |received| {
        received.iter().any(|received| received.message["method"] == "workspace/applyEdit").then_some(())
    });
    client.cancel_request(&ask);
    assert_eq!(client.wait(&ask).unwrap_err().code, REQUEST_CANCELLED);
    assert_eq!(client.command("askls.status", json!({}))["proposals"], 1);

    client.replace("/a.txt", "B\n");

    client.wait_status("proposals", 0);
}

/// A turn that is over is answered, whatever becomes of its progress.
#[test]
fn a_client_that_never_accepts_a_token_has_its_answer_at_once() {
    let model = FakeModel::answering(Wire::Chat, |_| text("Here."));
    let mut client = Client::start(&Project::new(""), &model);
    client.tolerate("window/showMessage");
    client.on_request("window/workDoneProgress/create", |_| Answer::Never);
    // The best of some times: a machine that is busy for a while proves nothing.
    let is_prompt = (0..5).any(|_| {
        let started = Instant::now();
        assert_eq!(client.ask("Where?")["answer"], "Here.");
        started.elapsed() < Duration::from_secs(2)
    });
    assert!(is_prompt, "the answer waits for the token");
}

/// Nothing in an answer reaches the terminal that an editor runs in.
#[test]
fn control_characters_of_an_answer_are_shown_as_such() {
    let model = FakeModel::start(Wire::Chat, [text("red \u{1b}[31m and \u{202e}back")]);
    let mut client =
        Client::builder(&Project::new("")).model(&model).settings(json!({"show_answer": "message"})).start();
    client.on_request("window/showMessageRequest", |_| Answer::Never);
    client.ask("Colour?");
    let shown = client.wait_until("the answer", |received| {
        let mut texts = received.iter().filter_map(|received| received.message["params"]["message"].as_str());
        texts.find(|text| text.starts_with("red")).map(str::to_owned)
    });
    assert_eq!(shown, r"red \u{1b}[31m and \u{202e}back");
    client.tolerate("window/showMessage");
}

#[test]
fn a_request_whose_id_is_none_is_answered() {
    let client = Client::builder(&Project::new("")).start();
    for id in [json!(1.5), json!(9_223_372_036_854_775_808_u64), json!({}), json!(true)] {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "shutdown"});
        if id.is_number() {
            client.send_raw(request);
        } else {
            // No client could find the answer to it again.
            let body = request.to_string();
            client.send_bytes(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
        }
        let answer = client.wait_for("an error", |message| message.get("error").is_some());
        assert_eq!(answer["error"]["code"], -32600, "{id}");
        assert_eq!(answer["id"], if id.is_number() { id } else { Value::Null });
    }
}

/// Each turn has a thread, however many wait in line.
#[test]
fn a_hundred_and_more_asks_at_once_all_find_their_thread() {
    let model = FakeModel::answering(Wire::Chat, |_| text("Here."));
    let mut client = Client::start(&Project::new(""), &model);
    let asks: Vec<_> = (0..130).map(|_| client.send_ask("Where?")).collect();
    for ask in asks {
        assert_eq!(client.wait(&ask).unwrap()["answer"], "Here.");
    }
}

/// The user types between the server's edit and the editor's answer to it.
#[test]
fn an_edit_that_the_user_overtakes_is_kept_and_not_said_to_be_applied() {
    let project = Project::new("//- /a.txt\nA\n");
    let model = model_that_edits(Wire::Chat, "a.txt");
    let mut client = Client::builder(&project).model(&model).start();
    client.tolerate("window/showMessage");
    client.on_request("window/showMessageRequest", |_| Answer::Never);
    client.on_request("window/showDocument", |_| Answer::Result(json!({"success": true})));
    client.open("/a.txt");
    client.ask("Make it B.");
    client.on_request("workspace/applyEdit", |_| Answer::Result(json!({"applied": false})));
    let accepted = client.command("askls.acceptEdits", json!({}));
    client.replace("/a.txt", "overtaken\n");
    assert_eq!(accepted["applied"], false, "{accepted}");
    assert_eq!(client.text("/a.txt").unwrap(), "overtaken\n");
    assert!(client.command("askls.showEdits", json!({}))["diff"].as_str().unwrap().contains("+B"));
}

#[test]
fn names_that_need_escaping_are_the_same_file_in_every_message() {
    on_every_wire(|wire| {
        for name in ["a b.txt", "ä#1?.txt", "100%41.txt", "[x](y)&=+,;@.txt", "日本/語.txt"] {
            let project = Project::new("");
            project.write(&format!("/{name}"), "A\n");
            for is_open in [false, true] {
                let model = model_that_edits(wire, name);
                let mut client =
                    Client::builder(&project).model(&model).settings(json!({"edits": "apply"})).start();
                let path = format!("/{name}");
                if is_open {
                    client.open(&path);
                }
                let result = client.ask("Make it B.");
                assert_eq!(result["edits"], "applied", "{name}: {result}");
                assert_eq!(client.text(&path).unwrap(), "B\n", "{name}, open: {is_open}");
            }
        }
    });
}

/// The editor opens the project through a link, and names everything in it so.
#[cfg(unix)]
#[test]
fn a_project_behind_a_link_is_edited_under_the_editors_names() {
    on_every_wire(|wire| {
        let project = Project::new("//- /a.txt\nsaved A\n");
        let link = project.root().with_file_name("link");
        std::os::unix::fs::symlink(project.root(), &link).unwrap();
        let model = FakeModel::start(
            wire,
            [
                call("read_file", json!({"path": "a.txt"})),
                call("edit_file", json!({"path": "a.txt", "find": "A", "replace": "B"})),
                text("Changed."),
            ],
        );
        let mut client = Client::builder(&project)
            .model(&model)
            .settings(json!({"edits": "apply"}))
            .initialize(json!({
                "rootUri": file_uri(&link),
                "workspaceFolders": [{"uri": file_uri(&link), "name": "link"}],
            }))
            .start();
        let uri = file_uri(&link.join("a.txt"));
        client.open_uri(&uri, "typed A\n");

        let result = client.ask("Make it B.");

        assert!(last_output(&model.requests()[1]).contains("typed A"));
        assert_eq!(result["edits"], "applied", "{result}");
        assert_eq!(result["files"], json!([uri]));
        assert_eq!(client.document_text(&uri).unwrap(), "typed B\n");
    });
}

#[test]
fn a_selection_that_fits_nothing_does_no_harm() {
    for range in [[0, 3, 0, 0], [9, 0, 3, 0], [0, 0, 4_000_000_000, 4_000_000_000], [0, 1, 0, 1]] {
        let model = FakeModel::start(Wire::Chat, [text("Hm.")]);
        let mut client = Client::start(&Project::new("//- /a.txt\n😀\n"), &model);
        let uri = client.open("/a.txt");
        let ask = json!({"prompt": "What is this?", "uri": uri, "range": lsp_range(range)});
        assert_eq!(client.command("askls.ask", ask)["answer"], "Hm.", "{range:?}");
    }
}

#[test]
fn a_place_outside_the_workspace_is_not_read() {
    let project = Project::new("");
    let outside = project.beside("outside").join("secret.txt");
    std::fs::write(&outside, "do not send this\n").unwrap();
    let model = FakeModel::start(Wire::Chat, [text("Hm.")]);
    let mut client = Client::start(&project, &model);
    client.tolerate("window/showMessage");
    let ask = client.send_command(
        "askls.ask",
        json!({"prompt": "What?", "uri": file_uri(&outside), "range": lsp_range([0, 0, 0, 11])}),
    );
    // Answered or refused, the text stays here.
    let _ = client.wait(&ask);
    for request in model.requests() {
        assert!(!request.json.to_string().contains("do not send"), "{}", request.json);
    }
    drop(client);
    drop(model.allow_unused());
}

/// JavaScript cuts an emoji in two and sends the half: it is a character like any other, to be counted as one.
#[test]
fn half_a_surrogate_pair_costs_neither_the_message_nor_the_place() {
    let model = FakeModel::start(Wire::Chat, [call("read_file", json!({"path": "a.txt"})), text("Read.")]);
    let mut client = Client::start(&Project::new("//- /a.txt\nsaved\n"), &model);
    let uri = client.uri("/a.txt");
    let open = format!(
        r#"{{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{{"textDocument":{{"uri":"{uri}","languageId":"x","version":1,"text":"\ud83d typed"}}}}}}"#
    );
    client.send_bytes(format!("Content-Length: {}\r\n\r\n{open}", open.len()).as_bytes());
    let change = json!({
        "textDocument": {"uri": uri, "version": 2},
        "contentChanges": [{"range": lsp_range([0, 2, 0, 7]), "text": "changed"}],
    });
    client.notify("textDocument/didChange", change);
    client.ask("Read it.");
    let seen = last_output(&model.requests()[1]);
    assert!(seen.contains("\u{fffd} changed"), "{seen}");
}

#[test]
fn a_request_with_half_a_surrogate_pair_is_answered() {
    let model = FakeModel::start(Wire::Chat, [text("Hm.")]);
    let mut client = Client::start(&Project::new(""), &model);
    let request = client.send_text(
        "workspace/executeCommand",
        r#"{"command":"askls.ask","arguments":[{"prompt":"what is \ud83d?"}]}"#,
    );
    assert_eq!(client.wait(&request).unwrap()["answer"], "Hm.");
}

/// The text of an answer may hold anything that a model says.
#[test]
fn an_answer_of_odd_characters_arrives_as_it_is() {
    on_every_wire(|wire| {
        let answer = "tab\t, null \u{0}, bell \u{7}, bidi \u{202e}, 😀, \u{fffd}, \u{2028}, \"quotes\" \\ and </script>";
        let model = FakeModel::start(wire, [text(answer)]);
        let mut client = Client::builder(&Project::new(""))
            .model(&model)
            .settings(json!({"show_answer": "message"}))
            .start();
        client.tolerate("window/showMessage");
        client.on_request("window/showMessageRequest", |_| Answer::Result(Value::Null));
        assert_eq!(client.ask("Odd.")["answer"], answer);
    });
}

/// The root may be gone, or a file: the answer still comes.
#[test]
fn a_root_that_is_no_folder_does_no_harm() {
    for root in ["/a.txt", "/no/such/folder"] {
        let project = Project::new("//- /a.txt\nA\n");
        let model = FakeModel::start(Wire::Chat, [call("list_files", json!({})), text("Nothing there.")]);
        let uri = project.uri(root);
        let mut client = Client::builder(&project)
            .model(&model)
            .initialize(json!({"rootUri": uri, "workspaceFolders": [{"uri": uri, "name": "x"}]}))
            .start();
        client.tolerate("window/showMessage");
        assert_eq!(client.ask("List.")["answer"], "Nothing there.", "{root}");
    }
}
