//! The user types while an edit is with the editor: what they made is theirs, and what landed in the wrong lines is put
//! right or told.

use askls::protocol::Wire;
use serde_json::{Value, json};

use crate::support::{
    Answer, Client, FakeModel, Manner, Project, capabilities, history::last_output, model::*, on_every_wire,
};

/// Two places are to change.
const LINES: &str = "a\nb\nc\nd\ne\n";

fn two_places() -> Reply {
    call(
        "edit_file",
        json!({"path": "x.txt", "find": "b\n", "replace": "B\n", "edits": [{"find": "d\n", "replace": "D\n"}]}),
    )
}

/// The first edit waits to be answered by the test, the others are applied.
fn answer_first_by_hand(client: &Client) {
    let mut is_first = true;
    client.on_request("workspace/applyEdit", move |_| match std::mem::take(&mut is_first) {
        true => Answer::Never,
        false => Answer::Apply,
    });
}

fn settings(edits: &str) -> Value {
    json!({"edits": edits, "edit_lenses": false, "edit_hints": false})
}

/// An editor that knows no versions of documents.
fn without_versions(project: &Project, model: &FakeModel, edits: &str) -> Client {
    let client = Client::builder(project)
        .model(model)
        .settings(settings(edits))
        .capabilities(capabilities::with("/workspace/workspaceEdit", json!({})))
        .start();
    client.on_request("window/showMessageRequest", |_| Answer::Never);
    answer_first_by_hand(&client);
    client
}

fn messages(client: &Client) -> Vec<String> {
    let seen = client.seen("window/showMessage");
    seen.iter().map(|message| message["message"].as_str().unwrap_or_default().to_owned()).collect()
}

/// One editor refuses the outdated edit, the other skips it and says that it was applied.
#[test]
fn a_change_that_the_user_makes_themselves_stays_theirs_and_the_rest_of_the_step_is_applied() {
    on_every_wire(|wire| {
        for manner in [Manner::VsCode, Manner::Neovim] {
            let project = Project::new(&format!("//- /x.txt\n{LINES}"));
            let model = FakeModel::start(wire, [two_places(), text("Done.")]);
            let mut client = Client::builder(&project)
                .model(&model)
                .settings(settings("immediate"))
                .manner(manner)
                .start();
            client.tolerate("window/showMessage");
            answer_first_by_hand(&client);
            client.open("/x.txt");
            let ask = client.send_ask("Change two places.");
            let edit = client.wait_sent("workspace/applyEdit");

            client.change("/x.txt", [1, 0, 1, 1], "B");
            client.reply(&edit, Answer::Apply);
            let result = client.wait(&ask).unwrap();

            client.wait_text("/x.txt", "a\nB\nc\nD\ne\n");
            let told = last_output(&model.requests()[1]);
            assert!(told.contains("the user has made this change already at 1 of 2 places"), "{told}");
            assert_eq!(result["edits"], "applied", "{manner:?}: {result}");
            assert_eq!(client.command("askls.undoTurn", json!({}))["undone"], true);
            client.wait_text("/x.txt", "a\nB\nc\nd\ne\n");
        }
    });
}

#[test]
fn a_change_that_the_user_makes_while_they_accept_it_stays_theirs() {
    for manner in [Manner::VsCode, Manner::Neovim] {
        let project = Project::new(&format!("//- /x.txt\n{LINES}"));
        let model = FakeModel::start(Wire::Chat, [two_places(), text("Done.")]);
        let mut client =
            Client::builder(&project).model(&model).settings(settings("propose")).manner(manner).start();
        client.on_request("window/showMessageRequest", |_| Answer::Never);
        client.tolerate("window/showMessage");
        answer_first_by_hand(&client);
        client.open("/x.txt");
        client.ask("Change two places.");
        let accept = client.send_command("askls.acceptEdits", json!({}));
        let edit = client.wait_sent("workspace/applyEdit");

        client.change("/x.txt", [1, 0, 1, 1], "B");
        client.reply(&edit, Answer::Apply);

        assert_eq!(client.wait(&accept).unwrap()["applied"], true, "{manner:?}");
        client.wait_text("/x.txt", "a\nB\nc\nD\ne\n");
        assert_eq!(client.command("askls.undoTurn", json!({}))["undone"], true);
        client.wait_text("/x.txt", "a\nB\nc\nd\ne\n");
    }
}

/// Whatever the text says: an editor that could fail at one step only, or takes back what it did, has done nothing.
#[test]
fn after_a_refusal_the_whole_change_is_its_users() {
    for edits in ["propose", "immediate"] {
        for files in ["//- /x.txt\na\nb\n", "//- /x.txt\na\nb\n//- /y.txt\nb\n"] {
            let project = Project::new(files);
            let change = |path: &str| json!({"path": path, "find": "b\n", "replace": "B\n"});
            let mut step = call("edit_file", change("x.txt"));
            if files.contains("y.txt") {
                step = step.call("edit_file", change("y.txt"));
            }
            let model = FakeModel::start(Wire::Chat, [step, text("Done.")]);
            let mut client = Client::builder(&project).model(&model).settings(settings(edits)).start();
            client.on_request("window/showMessageRequest", |_| Answer::Never);
            client.tolerate("window/showMessage");
            answer_first_by_hand(&client);
            client.open("/x.txt");
            let ask = client.send_ask("Change it.");
            let accept = (edits == "propose").then(|| {
                client.wait(&ask).unwrap();
                client.send_command("askls.acceptEdits", json!({}))
            });
            let edit = client.wait_sent("workspace/applyEdit");

            client.change("/x.txt", [1, 0, 1, 1], "B");
            client.reply(&edit, Answer::Apply);
            client.wait(accept.as_ref().unwrap_or(&ask)).unwrap();

            if files.contains("y.txt") {
                client.wait_text("/y.txt", "B\n");
                assert_eq!(client.command("askls.undoTurn", json!({}))["undone"], true, "{edits}");
                client.wait_text("/y.txt", "b\n");
            } else {
                assert_eq!(client.command("askls.undoTurn", json!({}))["undone"], false, "{edits}");
            }
            assert_eq!(client.text("/x.txt").unwrap(), "a\nB\n", "{edits} {files}");
            client.wait_status("proposals", 0);
        }
    }
}

#[test]
fn an_edit_that_lands_in_the_wrong_lines_is_put_right() {
    for edits in ["propose", "immediate"] {
        let project = Project::new(&format!("//- /x.txt\n{LINES}"));
        let model = FakeModel::start(Wire::Chat, [two_places(), text("Done.")]);
        let mut client = without_versions(&project, &model, edits);
        client.open("/x.txt");
        let ask = client.send_ask("Change two places.");
        let accept = (edits == "propose").then(|| {
            client.wait(&ask).unwrap();
            client.send_command("askls.acceptEdits", json!({}))
        });
        let edit = client.wait_sent("workspace/applyEdit");

        client.change("/x.txt", [0, 0, 0, 0], "mine\n");
        client.reply(&edit, Answer::Apply);
        let result = client.wait(accept.as_ref().unwrap_or(&ask)).unwrap();

        client.wait_text("/x.txt", "mine\na\nB\nc\nD\ne\n");
        let told = client.wait_notification("window/showMessage");
        assert_eq!(
            told["message"],
            "askls: x.txt changed while the editor applied an agent edit, which landed in the wrong lines; askls \
             has put it right"
        );
        client.tolerate("window/showMessage");
        let is_applied = result["applied"] == true || result["edits"] == "applied";
        assert!(is_applied && result.get("reason").is_none(), "{edits}: {result}");
        client.wait_status("proposals", 0);
        assert_eq!(client.command("askls.undoTurn", json!({}))["undone"], true, "{edits}");
        client.wait_text("/x.txt", &format!("mine\n{LINES}"));
    }
}

/// What was typed over by the edit comes back with an undo.
#[test]
fn an_edit_in_the_wrong_lines_that_cannot_be_put_right_is_told_and_can_be_undone() {
    for edits in ["propose", "immediate"] {
        let project = Project::new(&format!("//- /x.txt\n{LINES}"));
        let model = FakeModel::start(Wire::Chat, [two_places(), text("Done.")]);
        let mut client = without_versions(&project, &model, edits);
        client.tolerate("window/showMessage");
        client.open("/x.txt");
        let ask = client.send_ask("Change two places.");
        let accept = (edits == "propose").then(|| {
            client.wait(&ask).unwrap();
            client.send_command("askls.acceptEdits", json!({}))
        });
        let edit = client.wait_sent("workspace/applyEdit");
        client.on_request("workspace/applyEdit", |_| {
            Answer::Result(json!({"applied": false, "failureReason": "locked"}))
        });

        client.change("/x.txt", [0, 0, 0, 0], "mine\n");
        client.reply(&edit, Answer::Apply);
        client.wait(accept.as_ref().unwrap_or(&ask)).unwrap();

        let wrong = "mine\nB\nb\nD\nd\ne\n";
        assert_eq!(client.text("/x.txt").unwrap(), wrong);
        let told: Vec<_> = messages(&client).into_iter().filter(|it| it.contains("askls.undoTurn")).collect();
        assert_eq!(
            told,
            [
                "askls: x.txt changed while the editor applied an agent edit, which landed in the wrong lines. Undo it \
              in the editor (in x.txt), or the whole turn with askls.undoTurn"
            ],
            "{edits}"
        );
        if edits == "immediate" {
            let told = last_output(&model.requests()[1]);
            assert!(
                told.starts_with("applied only in part: x.txt") && told.contains("wrong lines"),
                "{told}"
            );
        }
        client.on_request("workspace/applyEdit", |_| Answer::Apply);
        assert_eq!(client.command("askls.undoTurn", json!({}))["undone"], true, "{edits}");
        client.wait_text("/x.txt", &format!("mine\n{LINES}"));
    }
}

#[test]
fn an_editor_that_knows_no_versions_gets_one_file_after_the_other() {
    let project = Project::new("//- /x.txt\nb\n//- /y.txt\nb\n");
    let change = |path: &str| json!({"path": path, "find": "b\n", "replace": "B\n"});
    let step = call("edit_file", change("x.txt")).call("edit_file", change("y.txt"));
    let model = FakeModel::start(Wire::Chat, [step, text("Done.")]);
    let mut client = without_versions(&project, &model, "immediate");
    client.open("/x.txt");
    client.open("/y.txt");
    let ask = client.send_ask("Change it.");
    let edit = client.wait_sent("workspace/applyEdit");
    assert_eq!(edit.params["edit"]["changes"].as_object().unwrap().len(), 1, "{edit:?}");

    client.change("/y.txt", [0, 0, 0, 0], "mine\n");
    client.reply(&edit, Answer::Apply);
    client.wait(&ask).unwrap();

    client.wait_text("/x.txt", "B\n");
    client.wait_text("/y.txt", "mine\nB\n");
    assert_eq!(messages(&client), Vec::<String>::new());
}
