//! `askls.undoTurn` and `askls.redoTurn`: what a turn has done is taken back as one, and nothing that the user typed since
//! is lost by it.

use askls::protocol::Wire;
use serde_json::{Value, json};

use crate::support::{Answer, Client, FakeModel, Manner, Project, capabilities, model::*, on_every_wire};

pub(crate) const UNDO: &str = "askls.undoTurn";
pub(crate) const REDO: &str = "askls.redoTurn";
pub(crate) const MERGE: &str = "Undo the agent's part";
pub(crate) const RESTORE: &str = "Restore the whole file";
pub(crate) const LEAVE: &str = "Leave it";

pub(crate) fn edit(path: &str, find: &str, replace: &str) -> Reply {
    call("edit_file", json!({"path": path, "find": find, "replace": replace}))
}

pub(crate) fn applying(project: &Project, model: &FakeModel) -> Client {
    let mut client = Client::builder(project).model(model).settings(json!({"edits": "apply"})).start();
    // What an undo did.
    client.tolerate("window/showMessage");
    client
}

/// One edit of `a.txt` from `1\n2\n3\n` to `1\ntwo\n3\n`, applied.
pub(crate) fn turn_of_one_edit(project: &Project) -> (FakeModel, Client) {
    let model = FakeModel::start(Wire::Chat, [edit("a.txt", "2", "two"), text("Two.")]);
    let mut client = applying(project, &model);
    client.open("/a.txt");
    assert_eq!(client.ask("Write it out.")["edits"], "applied");
    client.wait_text("/a.txt", "1\ntwo\n3\n");
    (model, client)
}

pub(crate) fn one_file() -> Project {
    Project::new("//- /a.txt\n1\n2\n3\n")
}

#[test]
fn a_turn_of_several_files_is_undone_and_redone_as_one() {
    on_every_wire(|wire| {
        let project = Project::new("//- /a.txt\nA\n//- /gone.txt\nG\n//- /old.txt\nM\n");
        let step = edit("a.txt", "A", "B")
            .call("write_file", json!({"path": "sub/new.txt", "text": "N\n"}))
            .call("delete_file", json!({"path": "gone.txt"}))
            .call("move_file", json!({"from": "old.txt", "to": "moved.txt"}));
        let model = FakeModel::start(wire, [step, text("All of it.")]);
        let mut client = applying(&project, &model);
        client.open("/a.txt");
        assert_eq!(client.ask("Change everything.")["edits"], "applied");

        let undone = client.command(UNDO, json!({}));

        assert_eq!(undone["undone"], true, "{undone}");
        assert_eq!(undone["files"].as_array().unwrap().len(), 4, "{undone}");
        assert!(undone["checkpoint"].is_string(), "{undone}");
        client.wait_text("/a.txt", "A\n");
        client.wait_text("/gone.txt", "G\n");
        client.wait_text("/old.txt", "M\n");
        client.wait_gone("/moved.txt");
        client.wait_gone("/sub/new.txt");
        // One edit for the turn, one for its undo.
        let edits = client.seen("workspace/applyEdit");
        assert_eq!(edits.len(), 2);
        assert!(
            edits[1]["label"].as_str().unwrap().starts_with("Undo of agent edits in 4 files: "),
            "{edits:?}"
        );
        let told = client.wait_notification("window/showMessage");
        let told = told["message"].as_str().unwrap();
        assert!(told.starts_with("askls: Undid \"Change everything.\" (a.txt, gone.txt, "), "{told}");

        let redone = client.command(REDO, json!({}));

        assert_eq!(redone["redone"], true, "{redone}");
        client.wait_text("/a.txt", "B\n");
        client.wait_text("/sub/new.txt", "N\n");
        client.wait_text("/moved.txt", "M\n");
        client.wait_gone("/gone.txt");
        client.wait_gone("/old.txt");
    });
}

#[test]
fn without_a_turn_there_is_nothing_to_undo_and_the_user_is_told() {
    let project = one_file();
    let model = FakeModel::start(Wire::Chat, []);
    let mut client = applying(&project, &model);
    for (command, member) in [(UNDO, "undone"), (REDO, "redone")] {
        let result = client.command(command, json!({}));
        assert_eq!(result[member], false, "{result}");
        let shown = client.wait_notification("window/showMessage");
        assert_eq!(format!("askls: {}", result["reason"].as_str().unwrap()), shown["message"]);
    }
}

#[test]
fn edits_that_were_accepted_file_by_file_are_one_turn() {
    let project = Project::new("//- /a.txt\nA\n//- /b.txt\nB\n//- /c.txt\nC\n");
    let step = edit("a.txt", "A", "AA")
        .call("edit_file", json!({"path": "b.txt", "find": "B", "replace": "BB"}))
        .call("edit_file", json!({"path": "c.txt", "find": "C", "replace": "CC"}));
    let model = FakeModel::start(Wire::Chat, [step, text("Doubled.")]);
    let mut client = Client::start(&project, &model);
    client.tolerate("window/showMessage");
    client.on_request("window/showMessageRequest", |_| Answer::Never);
    client.ask("Double all.");
    for path in ["/a.txt", "/b.txt"] {
        let uri = client.uri(path);
        assert_eq!(client.command("askls.acceptEdits", json!({"uri": uri}))["applied"], true);
    }
    client.command("askls.rejectEdits", json!({}));

    let undone = client.command(UNDO, json!({}));

    assert_eq!(undone["files"], json!([client.uri("/a.txt"), client.uri("/b.txt")]), "{undone}");
    client.wait_text("/a.txt", "A\n");
    client.wait_text("/b.txt", "B\n");
    assert_eq!(client.text("/c.txt").unwrap(), "C\n");
    assert_eq!(client.command(REDO, json!({}))["files"].as_array().unwrap().len(), 2);
    client.wait_text("/b.txt", "BB\n");
}

#[test]
fn the_steps_of_an_immediate_turn_are_undone_together() {
    on_every_wire(|wire| {
        let project = one_file();
        let model = FakeModel::start(
            wire,
            [
                edit("a.txt", "1", "one"),
                edit("a.txt", "one", "uno"),
                edit("a.txt", "3", "tre"),
                text("Ecco."),
            ],
        );
        let mut client =
            Client::builder(&project).model(&model).settings(json!({"edits": "immediate"})).start();
        client.tolerate("window/showMessage");
        client.open("/a.txt");
        client.ask("In Italian.");
        client.wait_text("/a.txt", "uno\n2\ntre\n");

        let undone = client.command(UNDO, json!({}));

        assert_eq!(undone["undone"], true, "{undone}");
        client.wait_text("/a.txt", "1\n2\n3\n");
    });
}

#[test]
fn turns_are_undone_one_after_the_other() {
    let project = one_file();
    let model = FakeModel::start(
        Wire::Chat,
        [edit("a.txt", "1", "one"), text("One."), edit("a.txt", "2", "two"), text("Two.")],
    );
    let mut client = applying(&project, &model);
    client.open("/a.txt");
    let first = client.ask("First.")["threadId"].clone();
    client.ask("Second.");
    client.wait_text("/a.txt", "one\ntwo\n3\n");

    client.command(UNDO, json!({}));
    client.wait_text("/a.txt", "one\n2\n3\n");
    client.command(UNDO, json!({}));
    client.wait_text("/a.txt", "1\n2\n3\n");
    client.command(REDO, json!({}));
    client.wait_text("/a.txt", "one\n2\n3\n");
    client.command(REDO, json!({}));
    client.wait_text("/a.txt", "one\ntwo\n3\n");

    // The older one, by its thread: the newer one is text that has come since.
    let undone = client.command(UNDO, json!({"threadId": first, "onConflict": "merge"}));
    assert_eq!(undone["undone"], true, "{undone}");
    client.wait_text("/a.txt", "1\ntwo\n3\n");
}

/// What comes back is a new file to the editor, which it holds in a buffer that nobody sees.
#[test]
fn a_deletion_that_was_taken_back_and_is_not_saved_is_told_of() {
    let project = Project::new("//- /gone.txt\nG\n");
    let model =
        FakeModel::start(Wire::Chat, [call("delete_file", json!({"path": "gone.txt"})), text("Gone.")]);
    let mut client = Client::builder(&project)
        .model(&model)
        .settings(json!({"edits": "apply"}))
        .manner(Manner::Neovim)
        .start();
    client.tolerate("window/showMessage");
    client.ask("Delete it.");
    client.wait_gone("/gone.txt");

    let undone = client.command(UNDO, json!({}));

    assert_eq!(undone["undone"], true, "{undone}");
    let told = client.wait_for("what was undone", |message| {
        message["params"]["message"].as_str().is_some_and(|text| text.contains("Undid"))
    });
    assert_eq!(told["params"]["message"], "askls: Undid \"Delete it.\" (gone.txt); not saved yet: gone.txt");
}

#[test]
fn what_could_not_be_undone_can_be_undone_when_it_is_possible() {
    let project = Project::new("//- /gone.txt\nG\n");
    let model =
        FakeModel::start(Wire::Chat, [call("delete_file", json!({"path": "gone.txt"})), text("Gone.")]);
    let mut client = applying(&project, &model);
    client.ask("Delete it.");
    client.wait_gone("/gone.txt");
    let place = project.path("/gone.txt");
    std::fs::create_dir(&place).unwrap();
    client.choose(LEAVE);

    let refused = client.command(UNDO, json!({}));
    assert_eq!(refused["undone"], false, "{refused}");
    let reason = refused["reason"].as_str().unwrap();
    assert!(reason.ends_with("\"Delete it.\" can still be undone"), "{reason}");
    // A merge gives nothing up.
    let merged = client.command(UNDO, json!({"onConflict": "merge"}));
    let reason = merged["reason"].as_str().unwrap();
    assert!(reason.ends_with("\"Delete it.\" can still be undone"), "{reason}");
    assert_eq!(merged["checkpoint"], Value::Null, "{merged}");

    std::fs::remove_dir(&place).unwrap();
    assert_eq!(client.command(UNDO, json!({}))["undone"], true);
    client.wait_text("/gone.txt", "G\n");
}

#[test]
fn a_turn_that_cannot_be_undone_is_skipped_when_the_user_says_so() {
    let project = Project::new("//- /a.txt\n1\n2\n3\n//- /gone.txt\nG\n");
    let model = FakeModel::start(
        Wire::Chat,
        [
            edit("a.txt", "2", "two"),
            text("Two."),
            call("delete_file", json!({"path": "gone.txt"})),
            text("Gone."),
        ],
    );
    let mut client = applying(&project, &model);
    client.open("/a.txt");
    client.ask("Write it out.");
    client.wait_text("/a.txt", "1\ntwo\n3\n");
    client.ask("Delete it.");
    client.wait_gone("/gone.txt");
    std::fs::create_dir(project.path("/gone.txt")).unwrap();

    let undo = client.send_command(UNDO, json!({}));
    let question = client.wait_request("window/showMessageRequest");
    client.reply(&question, Answer::Result(json!({"title": "Skip it"})));
    let undone = client.wait(&undo).unwrap();

    let message = question.params["message"].as_str().unwrap();
    let asks = "Skip \"Delete it.\", so that it counts as undone, and undo the next one?";
    assert!(message.starts_with("gone.txt: ") && message.ends_with(asks), "{message}");
    assert_eq!(undone["undone"], true, "{undone}");
    let reason = undone["reason"].as_str().unwrap();
    assert!(reason.ends_with("\"Delete it.\" counts as undone now"), "{reason}");
    client.wait_text("/a.txt", "1\n2\n3\n");
}

#[test]
fn the_model_is_told_with_the_next_turn() {
    on_every_wire(|wire| {
        let project = one_file();
        let model =
            FakeModel::start(wire, [edit("a.txt", "2", "two"), text("Two."), text("I see."), text("Yes.")]);
        let mut client = applying(&project, &model);
        client.open("/a.txt");
        let thread = client.ask("Write it out.")["threadId"].clone();
        client.wait_text("/a.txt", "1\ntwo\n3\n");
        client.command(UNDO, json!({}));

        client.ask_on(&thread, "And now?");
        let told = model.requests()[2].prompt();
        assert!(
            told.contains("the user has undone the edits of the turn \"Write it out.\": a.txt."),
            "{told}"
        );

        // Once.
        client.ask_on(&thread, "Really?");
        let told = model.requests()[3].prompt();
        assert!(!told.contains("undone"), "{told}");
    });
}

#[test]
fn a_client_that_takes_no_edits_is_told_where_it_can_be_done() {
    let project = one_file();
    let (model, client) = turn_of_one_edit(&project);
    drop(client);
    let mut client = Client::builder(&project)
        .model(&model)
        .capabilities(capabilities::without("/workspace/applyEdit"))
        .start();

    let undone = client.command(UNDO, json!({}));

    assert_eq!(undone["undone"], false);
    assert!(undone["reason"].as_str().unwrap().contains("`askls undo` on the command line"), "{undone}");
    client.wait_notification("window/showMessage");
    assert_eq!(client.seen("workspace/applyEdit"), Vec::<Value>::new());
}

#[test]
fn an_undo_that_the_editor_refuses_can_be_tried_again() {
    let project = one_file();
    let (_model, mut client) = turn_of_one_edit(&project);
    client.tolerate("window/showMessage");
    let mut is_locked = true;
    client.on_request("workspace/applyEdit", move |_| match std::mem::take(&mut is_locked) {
        true => Answer::Result(json!({"applied": false, "failureReason": "buffer locked"})),
        false => Answer::Apply,
    });

    let refused = client.command(UNDO, json!({}));
    assert_eq!(refused["undone"], false, "{refused}");
    assert!(refused["reason"].as_str().unwrap().contains("buffer locked"), "{refused}");
    assert_eq!(client.text("/a.txt").unwrap(), "1\ntwo\n3\n");

    assert_eq!(client.command(UNDO, json!({}))["undone"], true);
    client.wait_text("/a.txt", "1\n2\n3\n");
}

/// What such an editor does not show can be lost in none of its buffers.
#[test]
fn what_the_editor_cannot_do_is_done_to_files_that_it_has_not_open() {
    let project = one_file();
    let step = edit("a.txt", "2", "two").call("write_file", json!({"path": "new.txt", "text": "N\n"}));
    let model = FakeModel::start(Wire::Chat, [step, text("Done.")]);
    let mut client = Client::builder(&project)
        .model(&model)
        .settings(json!({"edits": "apply"}))
        .capabilities(capabilities::with("/workspace/workspaceEdit", json!({})))
        .start();
    client.tolerate("window/showMessage");
    client.open("/a.txt");
    client.ask("Change it, and add one.");
    assert_eq!(project.read("/new.txt"), "N\n");
    client.open("/new.txt");

    let undone = client.command(UNDO, json!({}));
    assert_eq!(undone["files"], json!([client.uri("/a.txt")]), "{undone}");
    assert!(
        undone["reason"].as_str().unwrap().contains("new.txt for a language server: close it"),
        "{undone}"
    );
    client.wait_text("/a.txt", "1\n2\n3\n");

    client.close("/new.txt");
    let rest = client.command(UNDO, json!({}));
    assert_eq!(rest["files"], json!([client.uri("/new.txt")]), "{rest}");
    assert!(!project.exists("/new.txt"));

    client.command(REDO, json!({}));
    assert_eq!(project.read("/new.txt"), "N\n");
    client.command(REDO, json!({}));
    client.wait_text("/a.txt", "1\ntwo\n3\n");
}

/// The editor applies it although nobody waits for its answer any more.
#[test]
fn an_edit_that_came_about_after_a_cancel_can_be_undone_too() {
    let project = one_file();
    let model = FakeModel::start(Wire::Chat, [edit("a.txt", "2", "two")]);
    let mut client = Client::builder(&project).model(&model).settings(json!({"edits": "immediate"})).start();
    client.tolerate("window/showMessage");
    client.on_request("workspace/applyEdit", |_| Answer::Never);
    client.open("/a.txt");
    let ask = client.send_ask("Write it out.");
    let applying = client.wait_sent("workspace/applyEdit");
    client.cancel_request(&ask);
    assert!(client.wait(&ask).is_err());
    client.on_request("workspace/applyEdit", |_| Answer::Apply);
    client.reply(&applying, Answer::Apply);
    client.wait_text("/a.txt", "1\ntwo\n3\n");
    // It is on offer until its checkpoint is there.
    client.wait_status("proposals", 0);

    assert_eq!(client.command(UNDO, json!({}))["undone"], true);

    client.wait_text("/a.txt", "1\n2\n3\n");
}

/// What the turn has left there is a link by now, and the text behind it somebody else's.
#[cfg(unix)]
#[test]
fn a_file_that_a_link_has_taken_the_place_of_is_not_written_through_the_link() {
    let project = Project::new("//- /a.txt\n1\n2\n3\n//- /other.txt\n1\ntwo\n3\n");
    let (_model, mut client) = turn_of_one_edit(&project);
    client.close("/a.txt");
    std::fs::remove_file(project.root().join("a.txt")).unwrap();
    std::os::unix::fs::symlink("other.txt", project.root().join("a.txt")).unwrap();

    let undone = client.command(UNDO, json!({"onConflict": "restore"}));

    assert_eq!(undone["undone"], false, "{undone}");
    assert!(undone["reason"].as_str().unwrap().contains("a link leads to another file"), "{undone}");
    assert_eq!(project.read("/other.txt"), "1\ntwo\n3\n");
    assert_eq!(client.seen("workspace/applyEdit").len(), 1);
}

#[cfg(unix)]
#[test]
fn a_file_that_the_editor_has_deleted_comes_back_with_its_mode_bits() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = Project::new("//- /run.sh\n#!/bin/sh\n");
    let place = project.root().join("run.sh");
    std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o750)).unwrap();
    let step = call("delete_file", json!({"path": "run.sh"}));
    let model = FakeModel::start(Wire::Chat, [step, text("Gone.")]);
    let mut client = applying(&project, &model);
    client.ask("Delete it.");
    client.wait_gone("/run.sh");

    client.command(UNDO, json!({}));

    client.wait_text("/run.sh", "#!/bin/sh\n");
    assert_eq!(std::fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o750);
}
