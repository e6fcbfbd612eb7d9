//! An edit is made for one text. When buffer or disk has moved on, it is refused and nothing is overwritten.

use askls::protocol::Wire;
use serde_json::{Value, json};

use crate::support::{Answer, Client, FakeModel, Manner, Project, model::*, on_every_wire};

fn model_that_edits(wire: Wire) -> FakeModel {
    FakeModel::start(
        wire,
        [call("edit_file", json!({"path": "a.txt", "find": "A", "replace": "B"})), text("Changed A to B.")],
    )
}

/// The reason why an edit was not applied names the file.
fn assert_refused(accepted: &Value) {
    assert_eq!(accepted["applied"], false, "{accepted}");
    assert!(accepted["reason"].as_str().is_some_and(|reason| reason.contains("a.txt")), "{accepted}");
}

#[test]
fn a_buffer_that_was_typed_in_after_the_turn_is_not_overwritten() {
    on_every_wire(|wire| {
        for manner in [Manner::VsCode, Manner::Neovim] {
            let project = Project::new("//- /a.txt\nA\n");
            let model = model_that_edits(wire);
            let mut client = Client::builder(&project).model(&model).manner(manner).start();
            client.on_request("window/showMessageRequest", |_| Answer::Never);
            client.tolerate("window/showMessage");
            client.open("/a.txt");
            client.ask("Make it B.");
            client.replace("/a.txt", "typed since\n");

            assert_refused(&client.command("askls.acceptEdits", json!({})));

            assert_eq!(client.text("/a.txt").unwrap(), "typed since\n");
        }
    });
}

#[test]
fn a_click_on_apply_after_typing_changes_nothing_and_says_why() {
    on_every_wire(|wire| {
        let project = Project::new("//- /a.txt\nA\n");
        let model = model_that_edits(wire);
        let mut client = Client::start(&project, &model);
        client.open("/a.txt");
        client.ask("Make it B.");
        let question = client.wait_request("window/showMessageRequest");
        client.replace("/a.txt", "typed since\n");

        client.reply(&question, Answer::Result(json!({"title": "Apply"})));

        let message = client.wait_for("the reason", |message| {
            message["params"]["message"].as_str().is_some_and(|text| text.contains("a.txt"))
        });
        assert!(message["method"].as_str().unwrap().starts_with("window/showMessage"), "{message}");
        assert_eq!(client.text("/a.txt").unwrap(), "typed since\n");
    });
}

#[test]
fn a_file_that_changed_on_disk_after_the_turn_is_not_overwritten() {
    on_every_wire(|wire| {
        let project = Project::new("//- /a.txt\nA\n");
        let model = model_that_edits(wire);
        let mut client = Client::start(&project, &model);
        client.on_request("window/showMessageRequest", |_| Answer::Never);
        client.tolerate("window/showMessage");
        client.ask("Make it B.");
        project.write("/a.txt", "saved by somebody else\n");

        assert_refused(&client.command("askls.acceptEdits", json!({})));

        assert_eq!(project.read("/a.txt"), "saved by somebody else\n");
        assert_eq!(client.seen("workspace/applyEdit"), Vec::<Value>::new());
    });
}

#[test]
fn one_stale_file_stops_the_edit_of_all() {
    on_every_wire(|wire| {
        let project = Project::new("//- /a.txt\nA\n//- /b.txt\nB\n");
        let model = FakeModel::start(
            wire,
            [
                call("edit_file", json!({"path": "a.txt", "find": "A", "replace": "AA"}))
                    .call("edit_file", json!({"path": "b.txt", "find": "B", "replace": "BB"})),
                text("Both."),
            ],
        );
        let mut client = Client::start(&project, &model);
        client.on_request("window/showMessageRequest", |_| Answer::Never);
        client.tolerate("window/showMessage");
        client.open("/b.txt");
        client.ask("Double both.");
        project.write("/a.txt", "changed\n");

        assert_refused(&client.command("askls.acceptEdits", json!({})));

        assert_eq!(client.text("/b.txt").unwrap(), "B\n");
        // The file that is still as it was can be had by itself.
        let uri = client.uri("/b.txt");
        assert_eq!(client.command("askls.acceptEdits", json!({"uri": uri}))["applied"], true);
        client.wait_text("/b.txt", "BB\n");
    });
}

/// The user types while the turn runs: the edit that the turn applies at its end is refused.
#[test]
fn typing_while_the_turn_runs_makes_its_edit_a_conflict() {
    on_every_wire(|wire| {
        let project = Project::new("//- /a.txt\nA\n");
        let model = FakeModel::start(
            wire,
            [
                call("edit_file", json!({"path": "a.txt", "find": "A", "replace": "B"})),
                text("Changed A to B.").gate(),
            ],
        );
        let mut client = Client::builder(&project).model(&model).settings(json!({"edits": "apply"})).start();
        client.tolerate("window/showMessage");
        client.tolerate("window/showMessageRequest");
        client.open("/a.txt");
        let ask = client.send_ask("Make it B.");
        crate::support::wait(model.request(2));
        client.replace("/a.txt", "typed meanwhile\n");
        // The change is known to the server when it answers what was sent after it.
        client.command("askls.status", json!({}));
        model.release(2);

        let result = client.wait(&ask).unwrap();

        assert_eq!(result["edits"], "conflict", "{result}");
        assert_eq!(client.text("/a.txt").unwrap(), "typed meanwhile\n");
    });
}

#[test]
fn a_file_that_was_deleted_after_the_turn_is_not_brought_back() {
    let project = Project::new("//- /a.txt\nA\n");
    let model = model_that_edits(Wire::Responses);
    let mut client = Client::start(&project, &model);
    client.on_request("window/showMessageRequest", |_| Answer::Never);
    client.tolerate("window/showMessage");
    client.ask("Make it B.");
    std::fs::remove_file(project.path("/a.txt")).unwrap();
    assert_refused(&client.command("askls.acceptEdits", json!({})));
    assert!(!project.exists("/a.txt"));
}

#[test]
fn a_new_file_is_not_written_over_one_that_appeared_since() {
    let project = Project::new("");
    let model = FakeModel::start(
        Wire::Chat,
        [call("write_file", json!({"path": "a.txt", "text": "mine\n"})), text("Written.")],
    );
    let mut client = Client::start(&project, &model);
    client.on_request("window/showMessageRequest", |_| Answer::Never);
    client.tolerate("window/showMessage");
    client.ask("Write it.");
    project.write("/a.txt", "somebody else's\n");
    assert_refused(&client.command("askls.acceptEdits", json!({})));
    assert_eq!(client.text("/a.txt").unwrap(), "somebody else's\n");
}

/// Closing and opening again is no change: the text counts, not the number.
#[test]
fn the_same_text_under_another_version_is_not_stale() {
    let project = Project::new("//- /a.txt\nA\n");
    let model = model_that_edits(Wire::Chat);
    let mut client = Client::start(&project, &model);
    client.on_request("window/showMessageRequest", |_| Answer::Never);
    client.open("/a.txt");
    client.ask("Make it B.");
    client.replace("/a.txt", "A and more\n");
    client.replace("/a.txt", "A\n");

    assert_eq!(client.command("askls.acceptEdits", json!({}))["applied"], true);

    client.wait_text("/a.txt", "B\n");
}

/// Two threads changed the same text: what the first one made of it is not what the second one knew.
#[test]
fn the_edit_of_another_thread_makes_an_edit_stale() {
    for is_open in [false, true] {
        let project = Project::new("//- /a.txt\nA\n");
        let edit = |to: &str| call("edit_file", json!({"path": "a.txt", "find": "A", "replace": to}));
        let model = FakeModel::start(Wire::Chat, [edit("B"), text("B."), edit("C"), text("C.")]);
        let mut client = Client::start(&project, &model);
        client.on_request("window/showMessageRequest", |_| Answer::Never);
        client.tolerate("window/showMessage");
        if is_open {
            client.open("/a.txt");
        }
        let first = client.ask("Make it B.")["threadId"].clone();
        let second = client.ask("Make it C.")["threadId"].clone();

        assert_eq!(client.command("askls.acceptEdits", json!({"threadId": first}))["applied"], true);
        client.wait_text("/a.txt", "B\n");
        assert_refused(&client.command("askls.acceptEdits", json!({"threadId": second})));

        assert_eq!(client.text("/a.txt").unwrap(), "B\n");
    }
}
