//! Undo and the journal that it is made from: whole, damaged, switched off, and shared by two editors.

use std::path::PathBuf;

use askls::protocol::Wire;
use serde_json::json;

use super::undo::{LEAVE, UNDO, applying, edit, one_file, turn_of_one_edit};
use crate::support::{Answer, Client, FakeModel, Project, capabilities, model::*};

/// The records of the journal's only workspace.
fn records(project: &Project) -> Vec<PathBuf> {
    let workspaces = std::fs::read_dir(project.home().join(".state/askls/checkpoints"));
    let workspace = workspaces.ok().and_then(|mut workspaces| workspaces.next());
    let records =
        workspace.and_then(|workspace| std::fs::read_dir(workspace.unwrap().path().join("records")).ok());
    let paths = records.into_iter().flatten().map(|record| record.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect()
}

/// The edit is in a buffer of the first editor that was never saved: the turn is not taken for undone.
#[test]
fn a_second_editor_leaves_what_the_first_has_not_saved() {
    let project = one_file();
    let (model, mut first) = turn_of_one_edit(&project);
    let mut second = applying(&project, &model);
    second.choose(LEAVE);

    let undone = second.command(UNDO, json!({}));
    assert_eq!(undone["undone"], false, "{undone}");
    assert!(
        undone["reason"].as_str().unwrap().contains("a.txt on disk does not contain this turn"),
        "{undone}"
    );
    second.wait_notification("window/showMessage");

    assert_eq!(first.command(UNDO, json!({}))["undone"], true);
    first.wait_text("/a.txt", "1\n2\n3\n");
}

#[test]
fn a_turn_is_undone_after_the_server_was_started_anew() {
    let project = one_file();
    let (model, client) = turn_of_one_edit(&project);
    project.write("/a.txt", client.text("/a.txt").unwrap());
    drop(client);

    let mut client = applying(&project, &model);
    let undone = client.command(UNDO, json!({}));

    assert_eq!(undone["undone"], true, "{undone}");
    client.wait_text("/a.txt", "1\n2\n3\n");
}

#[test]
fn without_checkpoints_nothing_is_kept_and_the_user_is_told_why() {
    let project = one_file();
    let model = FakeModel::start(Wire::Chat, [edit("a.txt", "2", "two"), text("Two.")]);
    let mut client = Client::builder(&project)
        .model(&model)
        .settings(json!({"edits": "apply", "checkpoints": false}))
        .start();
    client.open("/a.txt");
    client.ask("Write it out.");
    let undone = client.command(UNDO, json!({}));
    assert!(undone["reason"].as_str().unwrap().contains("`checkpoints` is off"), "{undone}");
    client.wait_notification("window/showMessage");
    assert!(!project.home().join(".state/askls").exists());
}

/// The journal cannot be written: the edit is there all the same.
#[test]
fn an_edit_without_its_checkpoint_is_told_of() {
    let project = one_file();
    std::fs::create_dir_all(project.home()).unwrap();
    std::fs::write(project.home().join(".state"), "a file in the way").unwrap();
    let (_model, client) = turn_of_one_edit(&project);
    let shown = client.wait_notification("window/showMessage");
    assert!(shown["message"].as_str().unwrap().contains("cannot keep them to be undone as one"), "{shown}");
}

#[test]
fn a_damaged_checkpoint_is_told_of_and_those_before_it_can_be_undone() {
    let project = one_file();
    let model = FakeModel::start(
        Wire::Chat,
        [edit("a.txt", "1", "one"), text("One."), edit("a.txt", "2", "two"), text("Two.")],
    );
    let mut client = applying(&project, &model);
    client.open("/a.txt");
    client.ask("First.");
    client.ask("Second.");
    project.write("/a.txt", client.text("/a.txt").unwrap());
    drop(client);
    let newest = records(&project).into_iter().max().unwrap();
    std::fs::write(&newest, "{\"version\":1,").unwrap();

    let mut client = applying(&project, &model);
    let undone = client.command(UNDO, json!({"onConflict": "merge"}));

    assert!(undone["reason"].as_str().unwrap().contains("is damaged; it was put aside in"), "{undone}");
    assert_eq!(undone["undone"], true, "{undone}");
    client.wait_notification("window/showMessage");
    client.wait_text("/a.txt", "1\ntwo\n3\n");
}

/// An editor that makes no files has them made by askls: a kill at any moment leaves a turn that can be undone.
#[test]
fn a_new_file_is_in_the_journal_before_it_is_on_the_disk() {
    let project = Project::new("");
    let step = call("write_file", json!({"path": "new.txt", "text": "N\n"}));
    let model = FakeModel::start(Wire::Chat, [step, text("Made it.")]);
    let mut client = Client::builder(&project)
        .model(&model)
        .capabilities(capabilities::with("/workspace/workspaceEdit", json!({})))
        .start();
    client.on_request("window/showMessageRequest", |_| Answer::Never);
    client.ask("Make it.");
    let watched = project.clone();
    let watch = std::thread::spawn(move || {
        while !watched.exists("/new.txt") {
            std::thread::yield_now();
        }
        records(&watched)
    });

    let accepted = client.command("askls.acceptEdits", json!({}));

    assert_eq!(accepted["applied"], true, "{accepted}");
    assert_eq!(watch.join().unwrap().len(), 1);
    assert_eq!(records(&project).len(), 1);
}

/// An editor that makes and deletes files itself, and one for which it is done on the disk.
#[test]
fn an_undo_removes_the_folders_that_were_made_for_the_turn_unless_the_user_has_something_there() {
    for capabilities in
        [capabilities::full(), capabilities::without("/workspace/workspaceEdit/resourceOperations")]
    {
        for is_used in [false, true] {
            let project = one_file();
            let step = call("write_file", json!({"path": "made/deep/new.txt", "text": "N\n"}));
            let model = FakeModel::start(Wire::Chat, [step, text("Made.")]);
            let mut client = Client::builder(&project)
                .model(&model)
                .settings(json!({"edits": "apply"}))
                .capabilities(capabilities.clone())
                .start();
            client.tolerate("window/showMessage");
            assert_eq!(client.ask("Make a file.")["edits"], "applied");
            if is_used {
                // Not saved yet.
                client.open_uri(&client.uri("/made/mine.txt"), "mine\n");
            }

            let undone = client.command(UNDO, json!({}));

            assert_eq!(undone["undone"], true, "{undone}");
            client.wait_gone("/made/deep/new.txt");
            assert!(!project.exists("/made/deep"));
            assert_eq!(project.exists("/made"), is_used);
        }
    }
}
