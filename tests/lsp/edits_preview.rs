//! An editor that shows edits before it applies them is asked to: what its user leaves out stays on offer.

use askls::protocol::Wire;
use serde_json::{Value, json};

use crate::support::{
    Answer, Client, FakeModel, Manner, Project, capabilities, client::ServerRequest, model::*,
};

const FILES: &str = "//- /a.txt\na\nb\nc\nd\ne\n//- /b.txt\nB\n";

fn model() -> FakeModel {
    let edit = |path: &str, find: &str, to: &str| json!({"path": path, "find": find, "replace": to});
    FakeModel::start(
        Wire::Chat,
        [
            call("edit_file", edit("a.txt", "a\n", "A\n"))
                .call("edit_file", edit("a.txt", "d\n", "D\n"))
                .call("edit_file", edit("b.txt", "B", "BB"))
                .call("write_file", json!({"path": "new.txt", "text": "new\n"})),
            text("Done."),
        ],
    )
}

fn annotating() -> Value {
    capabilities::with("/workspace/workspaceEdit/changeAnnotationSupport", json!({"groupsOnLabel": true}))
}

/// The user has chosen Review; the edit that the editor is to show.
fn reviewed(project: &Project, model: &FakeModel, said: Value, manner: Manner) -> (Client, ServerRequest) {
    let mut client = Client::builder(project).model(model).capabilities(said).manner(manner).start();
    client.on_request("workspace/applyEdit", |_| Answer::Never);
    client.open("/a.txt");
    client.open("/b.txt");
    client.ask("Change all.");
    let question = client.wait_request("window/showMessageRequest");
    client.reply(&question, Answer::Result(json!({"title": "Review"})));
    let edit = client.wait_sent("workspace/applyEdit");
    (client, edit)
}

/// The preview of an editor whose user unticks what `is_unticked` says, by URI and new text.
fn untick(edit: &mut ServerRequest, is_unticked: impl Fn(&str, &str) -> bool) {
    let steps = edit.params["edit"]["documentChanges"].as_array_mut().unwrap();
    for step in steps.iter_mut() {
        let uri = step["textDocument"]["uri"].as_str().or(step["uri"].as_str()).unwrap().to_owned();
        if let Some(edits) = step["edits"].as_array_mut() {
            edits.retain(|edit| !is_unticked(&uri, edit["newText"].as_str().unwrap()));
        }
    }
    steps.retain(|step| {
        let uri = step["uri"].as_str().unwrap_or_default();
        step["edits"].as_array().map_or(!is_unticked(uri, ""), |edits| !edits.is_empty())
    });
}

#[test]
fn every_change_has_an_annotation_that_asks_for_the_users_word() {
    let (project, model) = (Project::new(FILES), model());
    let (client, edit) = reviewed(&project, &model, annotating(), Manner::VsCode);
    let edit = edit.params["edit"].clone();
    let annotations = edit["changeAnnotations"].as_object().unwrap();
    let labels: Vec<_> = annotations.values().map(|annotation| annotation["label"].clone()).collect();
    assert_eq!(labels, ["Agent: edit a.txt", "Agent: edit b.txt", "Agent: create new.txt"]);
    assert!(annotations.values().all(|annotation| annotation["needsConfirmation"] == true));
    for step in edit["documentChanges"].as_array().unwrap() {
        let edits = step["edits"].as_array().cloned().unwrap_or_else(|| vec![step.clone()]);
        for edit in edits {
            assert!(annotations.contains_key(edit["annotationId"].as_str().unwrap()), "{edit}");
        }
    }
    drop(client);
}

#[test]
fn what_is_not_ticked_stays_on_offer() {
    for manner in [Manner::VsCode, Manner::Neovim] {
        let (project, model) = (Project::new(FILES), model());
        let (mut client, mut edit) = reviewed(&project, &model, annotating(), manner);
        client.tolerate("window/showMessage");
        untick(&mut edit, |uri, new_text| {
            uri.ends_with("b.txt") || uri.ends_with("new.txt") || new_text == "D"
        });

        client.reply(&edit, Answer::Apply);

        // The rest is asked about, and not reported as a failure.
        let question = client.wait_request("window/showMessageRequest");
        assert_eq!(
            question.params["message"],
            "The agent proposes edits in 3 files: edit a.txt, edit b.txt, create new.txt"
        );
        assert_eq!(client.text("/a.txt").unwrap(), "A\nb\nc\nd\ne\n");
        assert_eq!(client.text("/b.txt").unwrap(), "B\n");
        client.on_request("workspace/applyEdit", |_| Answer::Apply);
        client.reply(&question, Answer::Result(json!({"title": "Apply"})));
        client.wait_text("/a.txt", "A\nb\nc\nD\ne\n");
        client.wait_text("/b.txt", "BB\n");
        client.wait_text("/new.txt", "new\n");
        let last = client.seen("workspace/applyEdit").pop().unwrap();
        assert_eq!(last["edit"].get("changeAnnotations"), None, "without review nothing is to be confirmed");
    }
}

/// An editor may write what is ticked to a file that it has not open, and tells of none of it.
#[test]
fn what_is_not_ticked_in_a_file_that_is_not_open_stays_on_offer() {
    for (ticked, kept) in [("A\nb\nc\nd\ne\n", 1), ("a\nb\nc\nd\ne\n", 2), ("A\nb\nc\nD\ne\n", 0)] {
        let project = Project::new(FILES);
        let edit = |find: &str, to: &str| json!({"path": "a.txt", "find": find, "replace": to});
        let first = call("edit_file", edit("a\n", "A\n")).call("edit_file", edit("d\n", "D\n"));
        let model = FakeModel::start(Wire::Chat, [first, text("Done.")]);
        let mut client = Client::builder(&project).model(&model).capabilities(annotating()).start();
        client.tolerate("window/showMessage");
        client.on_request("window/showDocument", |_| Answer::Result(json!({"success": true})));
        client.on_request("workspace/applyEdit", |_| Answer::Never);
        client.ask("Change both.");
        let question = client.wait_request("window/showMessageRequest");
        client.reply(&question, Answer::Result(json!({"title": "Review"})));
        let edit = client.wait_sent("workspace/applyEdit");
        project.write("/a.txt", ticked);

        client.reply(&edit, Answer::Result(json!({"applied": true})));

        if kept > 0 {
            client.wait_request("window/showMessageRequest");
        } else {
            client.wait_status("proposals", 0);
        }
        let shown = client.command("askls.showEdits", json!({}));
        let hunks = shown["edits"][0]["hunks"].as_array().map_or(0, Vec::len);
        assert_eq!(hunks, kept, "{ticked}: {shown}");
    }
}

/// VS Code says so when its user closes the preview or ticks nothing.
#[test]
fn a_preview_that_is_closed_changes_nothing() {
    let (project, model) = (Project::new(FILES), model());
    let (mut client, edit) = reviewed(&project, &model, annotating(), Manner::VsCode);
    client.reply(&edit, Answer::Result(json!({"applied": false})));
    let question = client.wait_request("window/showMessageRequest");
    let message = question.params["message"].as_str().unwrap();
    assert!(
        message.starts_with("Nothing was ticked, so nothing was applied. The agent proposes"),
        "{message}"
    );
    assert!(question.params["actions"].to_string().contains("Review"), "it can be had again: {question:?}");
    client.reply(&question, Answer::Result(json!({"title": "Reject"})));
    client.wait_status("proposals", 0);
    assert_eq!(client.text("/a.txt").unwrap(), "a\nb\nc\nd\ne\n");
    assert!(!project.exists("/new.txt"));
}

/// The user takes all by another way while the question is open, and then looks at the answer.
#[test]
fn nobody_is_asked_about_what_the_editor_has_in_hand_until_it_comes_back() {
    let edit = json!({"path": "b.txt", "find": "B", "replace": "BB"});
    let model = FakeModel::start(Wire::Chat, [call("edit_file", edit), text("Done.\n\nAll of it.")]);
    let project = Project::new(FILES);
    let settings = json!({"show_answer": "message"});
    let mut client = Client::builder(&project).model(&model).settings(settings).start();
    client.on_request("workspace/applyEdit", |_| Answer::Never);
    client.on_request("window/showDocument", |_| Answer::Result(json!({"success": true})));
    client.open("/b.txt");
    client.ask("Double it.");
    let question = client.wait_request("window/showMessageRequest");
    let accept = client.send_command("askls.acceptEdits", json!({}));
    let edit = client.wait_sent("workspace/applyEdit");
    client.reply(&question, Answer::Result(json!({"title": "Open answer"})));
    client.wait_seen("window/showDocument", 1);
    client.command("askls.showEdits", json!({}));
    assert_eq!(client.seen("window/showMessageRequest").len(), 1);

    client.reply(&edit, Answer::Result(json!({"applied": false, "failureReason": "no"})));

    assert_eq!(client.wait(&accept).unwrap()["applied"], false);
    let question = client.wait_request("window/showMessageRequest");
    let message = question.params["message"].as_str().unwrap();
    assert!(message.ends_with("The agent proposes edits in 1 file: edit b.txt"), "{message}");
}

/// Some editors stop halfway, some say yes to all: the texts are the truth.
#[test]
fn an_edit_that_comes_about_in_part_is_told_and_the_rest_stays_on_offer() {
    for (answer, expected) in [
        (json!({"applied": true}), "did not change"),
        (
            json!({"applied": false, "failureReason": "b.txt is read only", "failedChange": 1}),
            "b.txt is read only",
        ),
    ] {
        let project = Project::new("//- /a.txt\nA\n//- /b.txt\nB\n");
        let model = FakeModel::start(
            Wire::Chat,
            [
                call("edit_file", json!({"path": "a.txt", "find": "A", "replace": "AA"}))
                    .call("edit_file", json!({"path": "b.txt", "find": "B", "replace": "BB"})),
                text("Done."),
            ],
        );
        let mut client = Client::builder(&project).model(&model).manner(Manner::Neovim).start();
        client.on_request("window/showMessageRequest", |_| Answer::Never);
        client.on_request("window/showDocument", |_| Answer::Result(json!({"success": true})));
        client.on_request("workspace/applyEdit", |_| Answer::Never);
        client.open("/a.txt");
        client.open("/b.txt");
        client.ask("Double both.");
        let accept = client.send_command("askls.acceptEdits", json!({}));
        let edit = client.wait_sent("workspace/applyEdit");
        client.replace("/a.txt", "AA\n");
        client.reply(&edit, Answer::Result(answer));

        let accepted = client.wait(&accept).unwrap();

        assert_eq!(
            (&accepted["applied"], &accepted["files"]),
            (&json!(true), &json!([client.uri("/a.txt")]))
        );
        let reason = accepted["reason"].as_str().unwrap();
        assert!(
            reason.starts_with("a.txt was applied; b.txt was not: ") && reason.contains(expected),
            "{reason}"
        );
        assert_eq!(client.command("askls.showEdits", json!({}))["files"], json!([client.uri("/b.txt")]));
    }
}
