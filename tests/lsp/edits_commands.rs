//! The commands that accept, reject and show what a turn proposed: all of it, one thread's, or one file's.

use askls::protocol::Wire;
use serde_json::{Value, json};

use crate::support::{Answer, Client, FakeModel, Project, model::*, on_every_wire};

const TWO_FILES: &str = "//- /a.txt\nA\n//- /b.txt\nB\n";

fn model_that_edits_both(wire: Wire) -> FakeModel {
    FakeModel::start(
        wire,
        [
            call("edit_file", json!({"path": "a.txt", "find": "A", "replace": "AA"}))
                .call("edit_file", json!({"path": "b.txt", "find": "B", "replace": "BB"})),
            text("Both doubled."),
        ],
    )
}

/// A client whose questions stay open, and the result of an ask that proposed edits of both files.
fn proposed(project: &Project, model: &FakeModel) -> (Client, Value) {
    let mut client = Client::start(project, model);
    client.on_request("window/showMessageRequest", |_| Answer::Never);
    client.on_request("window/showDocument", |_| Answer::Result(json!({"success": true})));
    let result = client.ask("Double both.");
    assert_eq!(result["edits"], "proposed");
    (client, result)
}

#[test]
fn accept_takes_all_files_of_the_newest_proposal() {
    on_every_wire(|wire| {
        let (project, model) = (Project::new(TWO_FILES), model_that_edits_both(wire));
        let (mut client, _) = proposed(&project, &model);

        let accepted = client.command("askls.acceptEdits", json!({}));

        assert_eq!(accepted, json!({"applied": true, "files": [client.uri("/a.txt"), client.uri("/b.txt")]}));
        client.wait_text("/a.txt", "AA\n");
        client.wait_text("/b.txt", "BB\n");
        assert_eq!(client.seen("workspace/applyEdit").len(), 1);
        assert_eq!(client.command("askls.status", json!({}))["proposals"], 0);
    });
}

#[test]
fn accept_takes_one_file_and_leaves_the_other_on_offer() {
    on_every_wire(|wire| {
        let (project, model) = (Project::new(TWO_FILES), model_that_edits_both(wire));
        let (mut client, result) = proposed(&project, &model);
        let (a, b) = (client.uri("/a.txt"), client.uri("/b.txt"));

        let first = client.command("askls.acceptEdits", json!({"threadId": result["threadId"], "uri": b}));

        assert_eq!(first, json!({"applied": true, "files": [b]}));
        client.wait_text("/b.txt", "BB\n");
        assert_eq!(client.text("/a.txt").unwrap(), "A\n");
        assert_eq!(client.command("askls.showEdits", json!({}))["files"], json!([a]));

        let second = client.command("askls.acceptEdits", json!({}));

        assert_eq!(second, json!({"applied": true, "files": [a]}));
        client.wait_text("/a.txt", "AA\n");
    });
}

#[test]
fn reject_drops_one_file_or_all() {
    on_every_wire(|wire| {
        let (project, model) = (Project::new(TWO_FILES), model_that_edits_both(wire));
        let (mut client, _) = proposed(&project, &model);
        let (a, b) = (client.uri("/a.txt"), client.uri("/b.txt"));

        assert_eq!(
            client.command("askls.rejectEdits", json!({"uri": a})),
            json!({"rejected": 1, "files": [a]})
        );
        assert_eq!(client.command("askls.rejectEdits", json!({})), json!({"rejected": 1, "files": [b]}));
        assert_eq!(
            client.command("askls.rejectEdits", json!({})),
            json!({"rejected": 0, "files": [], "reason": "there are no proposed edits"})
        );
        assert_eq!(client.command("askls.acceptEdits", json!({}))["applied"], false);
        assert_eq!(client.seen("workspace/applyEdit"), Vec::<Value>::new());
        assert_eq!((project.read("/a.txt"), project.read("/b.txt")), ("A\n".to_owned(), "B\n".to_owned()));
    });
}

#[test]
fn an_edit_that_the_user_made_himself_is_there_already() {
    let (project, model) = (Project::new(TWO_FILES), model_that_edits_both(Wire::Responses));
    let (mut client, _) = proposed(&project, &model);
    let uri = client.uri("/a.txt");
    client.open("/a.txt");
    client.change("/a.txt", [0, 0, 0, 1], "AA");

    let accepted = client.command("askls.acceptEdits", json!({"uri": uri}));

    assert_eq!(accepted["applied"], false);
    assert_eq!(accepted["reason"], "the text reads already as the edit would make it");
    assert_eq!(client.command("askls.acceptEdits", json!({}))["files"], json!([client.uri("/b.txt")]));
}

#[test]
fn show_gives_the_whole_difference_and_changes_nothing() {
    on_every_wire(|wire| {
        let (project, model) = (Project::new(TWO_FILES), model_that_edits_both(wire));
        let (mut client, _) = proposed(&project, &model);

        let shown = client.command("askls.showEdits", json!({}));

        let diff = shown["diff"].as_str().unwrap();
        for line in ["--- a/a.txt", "+++ b/a.txt", "-A", "+AA", "--- a/b.txt", "+++ b/b.txt", "-B", "+BB"] {
            assert!(diff.lines().any(|given| given == line), "{line} in {diff}");
        }
        assert_eq!(shown["files"], json!([client.uri("/a.txt"), client.uri("/b.txt")]));
        assert_eq!(client.text("/a.txt").unwrap(), "A\n");
        client.command("askls.acceptEdits", json!({}));
    });
}

#[test]
fn commands_without_a_proposal_say_so() {
    let mut client = Client::builder(&Project::new("")).start();
    let accepted = client.command("askls.acceptEdits", json!({}));
    assert_eq!((&accepted["applied"], &accepted["files"]), (&json!(false), &json!([])));
    assert!(accepted["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{accepted}");
    assert_eq!(
        client.command("askls.rejectEdits", json!({})),
        json!({"rejected": 0, "files": [], "reason": "there are no proposed edits"})
    );
    assert_eq!(client.command("askls.showEdits", json!({}))["files"], json!([]));
}

#[test]
fn a_file_that_is_not_in_the_proposal_is_not_accepted() {
    let (project, model) = (Project::new(TWO_FILES), model_that_edits_both(Wire::Chat));
    let (mut client, _) = proposed(&project, &model);
    let accepted = client.command("askls.acceptEdits", json!({"uri": client.uri("/c.txt")}));
    assert_eq!(accepted["applied"], false, "{accepted}");
    assert!(accepted["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{accepted}");
    assert_eq!(client.command("askls.status", json!({}))["proposals"], 1);
}

#[test]
fn each_thread_has_a_proposal_of_its_own() {
    let project = Project::new(TWO_FILES);
    let model = FakeModel::start(
        Wire::Chat,
        [
            call("edit_file", json!({"path": "a.txt", "find": "A", "replace": "AA"})),
            text("First."),
            call("edit_file", json!({"path": "b.txt", "find": "B", "replace": "BB"})),
            text("Second."),
        ],
    );
    let mut client = Client::start(&project, &model);
    client.on_request("window/showMessageRequest", |_| Answer::Never);
    let first = client.ask("First.")["threadId"].clone();
    let second = client.ask("Second.")["threadId"].clone();
    assert_ne!(first, second);
    assert_eq!(client.command("askls.status", json!({}))["proposals"], 2);

    client.command("askls.acceptEdits", json!({"threadId": first}));

    client.wait_text("/a.txt", "AA\n");
    assert_eq!(client.text("/b.txt").unwrap(), "B\n");
    client.command("askls.rejectEdits", json!({"threadId": second}));
    assert_eq!(client.command("askls.status", json!({}))["proposals"], 0);
}

/// The proposal is answered twice: by command, and late by the question that was still open.
#[test]
fn a_late_click_on_apply_does_not_apply_twice() {
    on_every_wire(|wire| {
        let (project, model) = (Project::new("//- /a.txt\nA\n//- /b.txt\nB\n"), model_that_edits_both(wire));
        let mut client = Client::start(&project, &model);
        client.ask("Double both.");
        let question = client.wait_request("window/showMessageRequest");
        client.command("askls.acceptEdits", json!({}));
        client.wait_text("/a.txt", "AA\n");

        client.reply(&question, Answer::Result(json!({"title": "Apply"})));

        client.tolerate("window/showMessage");
        client.command("askls.status", json!({}));
        assert_eq!(client.text("/a.txt").unwrap(), "AA\n");
        assert_eq!(client.seen("workspace/applyEdit").len(), 1);
    });
}

/// Some clients give up on a command after ten seconds, and some never answer.
#[test]
fn the_difference_is_given_though_the_client_never_opens_it() {
    let (project, model) = (Project::new(TWO_FILES), model_that_edits_both(Wire::Chat));
    let (mut client, _) = proposed(&project, &model);
    client.on_request("window/showDocument", |_| Answer::Never);
    let started = std::time::Instant::now();
    let shown = client.command("askls.showEdits", json!({}));
    assert!(shown["diff"].as_str().unwrap().contains("+AA"), "{shown}");
    assert!(started.elapsed() < std::time::Duration::from_secs(9), "{:?}", started.elapsed());
}

/// The text of `a.txt` is in `b.txt` after a deletion and a move: one without the other would cost the only copy.
#[test]
fn what_belongs_together_is_taken_together() {
    on_every_wire(|wire| {
        let project = Project::new("//- /a.txt\nthe text\n//- /b.txt\nold\n//- /c.txt\nC\n");
        let model = FakeModel::start(
            wire,
            [
                call("read_file", json!({"path": "b.txt"})).call("read_file", json!({"path": "a.txt"})),
                call("delete_file", json!({"path": "b.txt"})),
                call("move_file", json!({"from": "a.txt", "to": "b.txt"})),
                call("edit_file", json!({"path": "c.txt", "find": "C", "replace": "CC"})),
                text("Moved."),
            ],
        );
        let (mut client, _) = proposed(&project, &model);

        let accepted = client.command("askls.acceptEdits", json!({"uri": client.uri("/a.txt")}));

        assert_eq!(accepted["applied"], true, "{accepted}");
        client.wait_text("/b.txt", "the text\n");
        client.wait_gone("/a.txt");
        assert_eq!(client.text("/c.txt").unwrap(), "C\n");
        assert_eq!(client.command("askls.showEdits", json!({}))["files"], json!([client.uri("/c.txt")]));
    });
}
