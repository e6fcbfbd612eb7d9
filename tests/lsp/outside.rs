//! `outside`: a place outside the workspace is refused, or the user is asked about it by its true name; what they allow is
//! then read and edited as if it lay inside.

use std::{fs, os::unix::fs::symlink, path::PathBuf};

use askls::protocol::Wire;
use serde_json::{Value, json};

use crate::support::{
    Answer, Client, FakeModel, Project, history::output_texts, model::*, project::file_uri,
};

/// A project beside a folder with one file.
fn project() -> (Project, PathBuf) {
    let project = Project::new("//- /a.txt\nA\n");
    let note = project.beside("notes").join("note.txt");
    fs::write(&note, "beside\n").unwrap();
    symlink(&note, project.path("/link.txt")).unwrap();
    (project, note.canonicalize().unwrap())
}

fn asking(project: &Project, model: &FakeModel) -> Client {
    Client::builder(project).model(model).settings(json!({"outside": "ask"})).start()
}

fn questions(client: &Client) -> Vec<String> {
    let asked = client.seen("window/showMessageRequest");
    asked.iter().map(|question| question["message"].as_str().unwrap().to_owned()).collect()
}

// SPEC T10
#[test]
fn without_a_word_of_the_user_it_is_refused_and_nobody_is_asked() {
    let (project, note) = project();
    let reads = call("read_file", json!({"path": note})).call("read_file", json!({"path": "link.txt"}));
    let model = FakeModel::start(Wire::Chat, [reads, text("No.")]);
    let mut client = Client::start(&project, &model);

    client.ask("What is there?");

    let refused = "outside the workspace; use a path below one of its folders, relative to it";
    let expected = [format!("{} is {refused}", note.display()), format!("link.txt is {refused}")];
    assert_eq!(output_texts(&model.requests()[1]), expected);
    assert_eq!(questions(&client), [""; 0]);
}

// SPEC T10
#[test]
fn a_project_cannot_have_the_user_asked() {
    let (project, note) = project();
    project.write("/.askls/config.toml", "outside = 'ask'\n");
    let model = FakeModel::start(Wire::Chat, [call("read_file", json!({"path": note})), text("No.")]);
    let mut client = Client::start(&project, &model);
    client.tolerate("window/showMessage");
    client.ask("What is there?");
    assert_eq!(questions(&client), [""; 0]);
}

// SPEC A2, A4
#[test]
fn the_question_names_the_true_place_and_a_yes_for_the_project_is_kept_as_the_narrowest_rule() {
    let (project, note) = project();
    let read = || call("read_file", json!({"path": "link.txt"}));
    let model = FakeModel::start(Wire::Chat, [read(), text("Read."), read(), text("Read.")]);
    let mut client = asking(&project, &model);
    client.choose("Always in this project");

    client.ask("What is there?");
    client.ask("And now?");

    let note = note.display();
    assert_eq!(
        questions(&client),
        [format!(
            "«link.txt»\nThe agent wants to read this outside the workspace, at {note}, since outside is ask. “Always in this \
             project” allows `read: {note}`."
        )]
    );
    let shown = format!("{note} (lines 1-1 of 1)\n     1\tbeside\n");
    assert_eq!(output_texts(&model.requests()[1]), [shown.as_str()]);
    assert_eq!(output_texts(&model.requests()[3]), [shown.as_str()]);
    let kept = fs::read_to_string(project.home().join(".config/askls/projects.toml")).unwrap();
    assert!(kept.contains(&format!("allow = [\"read: {note}\"]")), "{kept}");
}

// SPEC A3
#[test]
fn a_no_leaves_the_place_unread() {
    let (project, note) = project();
    let model = FakeModel::start(Wire::Chat, [call("read_file", json!({"path": note})), text("No.")]);
    let mut client = asking(&project, &model);
    client.choose("Deny");
    client.ask("What is there?");
    assert_eq!(
        output_texts(&model.requests()[1]),
        ["this call was not allowed and did not run: the user denied it"]
    );
}

#[test]
fn an_edit_outside_is_proposed_applied_and_undone_like_any_other() {
    let (project, note) = project();
    let edit = call("edit_file", json!({"path": note, "find": "beside", "replace": "edited"}));
    let model = FakeModel::start(Wire::Chat, [edit, text("Edited.")]);
    let mut client = asking(&project, &model);
    client.tolerate("window/showMessage");
    let ask = client.send_ask("Edit it.");
    let question = client.wait_request("window/showMessageRequest");
    client.reply(&question, Answer::Result(json!({"title": "Allow once"})));
    let offered = client.wait_request("window/showMessageRequest");
    client.reply(&offered, Answer::Result(json!(null)));
    assert_eq!(client.wait(&ask).unwrap()["edits"], "proposed");

    let uri = file_uri(&note);
    client.on_request("window/showDocument", |_| Answer::Result(json!({"success": true})));
    let diff = client.command("askls.showEdits", json!({"uri": uri}))["diff"].clone();
    assert!(diff.as_str().unwrap().contains("-beside\n+edited\n"), "{diff}");
    let applied = client.command("askls.acceptEdits", json!({"uri": uri}));
    assert_eq!((&applied["applied"], &applied["reason"]), (&json!(true), &Value::Null), "{applied}");
    let text = |client: &Client| client.document_text(&uri).or_else(|| fs::read_to_string(&note).ok());
    assert_eq!(text(&client).as_deref(), Some("edited\n"));

    let undone = client.command("askls.undoTurn", json!({}));
    assert_eq!(undone["undone"], true, "{undone}");
    assert_eq!(text(&client).as_deref(), Some("beside\n"));
}
