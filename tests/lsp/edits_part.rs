//! Some editors stop halfway through an edit and refuse. What came about is told, kept to be undone, and not tried again.

use askls::protocol::Wire;
use serde_json::{Value, json};

use crate::support::{Answer, Client, FakeModel, Project, history::last_output, model::*, on_every_wire};

/// Two places change.
const LINES: &str = "a\nb\nc\nd\ne\n";

fn two_places() -> Reply {
    call(
        "edit_file",
        json!({"path": "x.txt", "find": "b\n", "replace": "B\n", "edits": [{"find": "d\n", "replace": "D\n"}]}),
    )
}

fn client(project: &Project, model: &FakeModel, edits: &str) -> Client {
    let client = Client::builder(project).model(model).settings(json!({"edits": edits})).start();
    client.on_request("window/showMessageRequest", |_| Answer::Never);
    client.on_request("window/showDocument", |_| Answer::Result(json!({"success": true})));
    client.on_request("workspace/applyEdit", |_| Answer::Never);
    client
}

fn refusal(reason: &str) -> Answer {
    Answer::Result(json!({"applied": false, "failureReason": reason, "failedChange": 1}))
}

fn applied_edits(client: &Client) -> usize {
    client.seen("workspace/applyEdit").len()
}

/// Neovim tells of its changes a moment after it refused.
#[test]
fn a_file_that_was_changed_before_the_refusal_counts_though_it_is_told_later() {
    let project = Project::new("//- /a.py\nA\n//- /b.py\nB\n");
    let step = call("edit_file", json!({"path": "a.py", "find": "A", "replace": "AA"}))
        .call("edit_file", json!({"path": "b.py", "find": "B", "replace": "BB"}));
    let model = FakeModel::start(Wire::Chat, [step, text("Done.")]);
    let mut client = client(&project, &model, "propose");
    client.open("/a.py");
    client.open("/b.py");
    client.ask("Double both.");
    let accept = client.send_command("askls.acceptEdits", json!({}));
    let edit = client.wait_sent("workspace/applyEdit");

    client.reply(&edit, refusal("b.py: swap file exists"));
    client.replace("/a.py", "AA\n");
    let accepted = client.wait(&accept).unwrap();

    assert_eq!(
        accepted,
        json!({
            "applied": true,
            "files": [client.uri("/a.py")],
            "reason": "a.py was applied; b.py was not: the editor refused: b.py: swap file exists",
        })
    );
    assert_eq!(client.command("askls.showEdits", json!({}))["files"], json!([client.uri("/b.py")]));
    assert_eq!(applied_edits(&client), 1);
}

#[test]
fn one_place_of_a_file_counts_and_the_other_stays_on_offer() {
    let project = Project::new(&format!("//- /x.txt\n{LINES}"));
    let model = FakeModel::start(Wire::Chat, [two_places(), text("Done.")]);
    let mut client = client(&project, &model, "propose");
    client.open("/x.txt");
    client.ask("Change two places.");
    let accept = client.send_command("askls.acceptEdits", json!({}));
    let edit = client.wait_sent("workspace/applyEdit");

    client.change("/x.txt", [1, 0, 1, 1], "B");
    client.reply(&edit, refusal("failed at the second"));
    let accepted = client.wait(&accept).unwrap();

    assert_eq!((&accepted["applied"], &accepted["files"]), (&json!(true), &json!([client.uri("/x.txt")])));
    let reason = accepted["reason"].as_str().unwrap();
    assert!(reason.starts_with("some edits were not applied: "), "{reason}");
    assert!(reason.contains("failed at the second") && reason.contains("x.txt:4"), "{reason}");
    assert_eq!(applied_edits(&client), 1, "what the editor did itself is no reason to try again");
    client.on_request("workspace/applyEdit", |_| Answer::Apply);
    assert_eq!(client.command("askls.undoTurn", json!({}))["undone"], true);
    let told = client.wait_notification("window/showMessage");
    assert_eq!(told["message"], "askls: Undid \"Change two places.\" (x.txt)");
    client.wait_text("/x.txt", LINES);
}

#[test]
fn the_model_is_not_told_that_a_file_is_as_before_that_was_changed_in_part() {
    on_every_wire(|wire| {
        let project = Project::new(&format!("//- /x.txt\n{LINES}"));
        let model = FakeModel::start(wire, [two_places(), text("Half.")]);
        let mut client = client(&project, &model, "immediate");
        client.open("/x.txt");
        let ask = client.send_ask("Change two places.");
        let edit = client.wait_sent("workspace/applyEdit");

        client.reply(&edit, refusal("failed at the second"));
        client.change("/x.txt", [1, 0, 1, 1], "B");
        let result = client.wait(&ask).unwrap();

        let told = last_output(&model.requests()[1]);
        assert!(told.starts_with("applied only in part: x.txt (some places of x.txt: the editor"), "{told}");
        assert!(told.contains("failed at the second") && !told.contains("as it was"), "{told}");
        assert_eq!((&result["edits"], &result["files"]), (&json!("refused"), &json!([client.uri("/x.txt")])));
        client.on_request("workspace/applyEdit", |_| Answer::Apply);
        assert_eq!(client.command("askls.undoTurn", json!({}))["undone"], true);
        let told = client.wait_notification("window/showMessage");
        assert_eq!(told["message"], "askls: Undid \"Change two places.\" (x.txt)");
        client.wait_text("/x.txt", LINES);
    });
}

#[test]
fn the_model_hears_which_file_of_a_call_was_applied_and_which_was_not() {
    let project = Project::new("//- /a.py\nA\n//- /b.py\nB\n");
    let patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-A\n+AA\n*** Update File: b.py\n@@\n-B\n+BB\n*** End Patch";
    let model = FakeModel::start(Wire::Chat, [call("apply_patch", json!({"input": patch})), text("Half.")]);
    let mut client = client(&project, &model, "immediate");
    client.open("/a.py");
    client.open("/b.py");
    let ask = client.send_ask("Double both.");
    let edit = client.wait_sent("workspace/applyEdit");

    client.reply(&edit, refusal("swap file exists"));
    client.replace("/a.py", "AA\n");
    client.wait(&ask).unwrap();

    let told = last_output(&model.requests()[1]);
    assert!(
        told.starts_with("applied: a.py; not applied: b.py (the editor refused: swap file exists)"),
        "{told}"
    );
}

/// Neovim tells of both at once, a moment later.
#[test]
fn an_edit_that_the_user_takes_back_at_once_is_not_applied_again() {
    let project = Project::new(&format!("//- /x.txt\n{LINES}"));
    let model = FakeModel::start(Wire::Chat, [two_places(), text("Done.")]);
    let mut client = client(&project, &model, "propose");
    client.open("/x.txt");
    client.ask("Change two places.");
    let accept = client.send_command("askls.acceptEdits", json!({}));
    let edit = client.wait_sent("workspace/applyEdit");

    client.replace("/x.txt", LINES);
    client.reply(&edit, Answer::Result(json!({"applied": true})));
    client.wait(&accept).unwrap();

    assert_eq!(applied_edits(&client), 1);
}

/// The lines are the same, so only the exact text says whether it came about.
#[test]
fn a_change_of_line_ends_alone_counts_only_when_it_is_there() {
    for answer in [json!({"applied": true}), json!({"applied": false, "failureReason": "no"})] {
        let project = Project::new("");
        project.write("/x.txt", "one\ntwo");
        let step = call("edit_file", json!({"path": "x.txt", "find": "two", "replace": "two\n"}));
        let model = FakeModel::start(Wire::Chat, [step, text("Done.")]);
        let mut client = client(&project, &model, "propose");
        client.open("/x.txt");
        client.ask("End the last line.");
        client.on_request("workspace/applyEdit", {
            let answer = answer.clone();
            move |_| Answer::Result(answer.clone())
        });

        let refused = client.command("askls.acceptEdits", json!({}));

        assert_eq!((&refused["applied"], &refused["files"]), (&json!(false), &json!([])), "{answer}");
        client.on_request("workspace/applyEdit", |_| Answer::Apply);
        assert_eq!(client.command("askls.acceptEdits", json!({}))["applied"], Value::Bool(true), "{answer}");
        client.wait_text("/x.txt", "one\ntwo\n");
    }
}

/// What is offered: `new.txt pending`, one for each hunk.
fn offered(client: &mut Client) -> Vec<String> {
    let shown = client.command("askls.showEdits", json!({}));
    let files = shown["edits"].as_array().cloned().unwrap_or_default();
    let hunks = files.iter().flat_map(|file| {
        let name = file["uri"].as_str().unwrap().rsplit('/').next().unwrap();
        let hunks = file["hunks"].as_array().into_iter().flatten();
        hunks.map(move |hunk| format!("{name} {}", hunk["state"].as_str().unwrap()))
    });
    hunks.collect()
}

/// Makes `new.txt`, and beside it changes another file or not.
fn new_file(with_other: bool) -> Reply {
    let made = call("write_file", json!({"path": "new.txt", "text": "N\nM\n"}));
    if !with_other {
        return made;
    }
    made.call("edit_file", json!({"path": "x.txt", "find": "b\n", "replace": "B\n"}))
}

/// Some say at which step they failed, some do not, and some open the file before they stop.
#[test]
fn a_new_file_that_an_editor_leaves_empty_is_filled_by_the_next_accept() {
    for (with_other, failed, opened) in [
        (false, Some(1), None),
        (false, None, None),
        (true, Some(1), Some("")),
        (true, Some(1), Some("\n")),
        (true, None, None),
    ] {
        let project = Project::new(&format!("//- /x.txt\n{LINES}"));
        let model = FakeModel::start(Wire::Chat, [new_file(with_other), text("Done.")]);
        let mut client = client(&project, &model, "propose");
        client.tolerate("window/showMessage");
        client.ask("Make a file.");
        let accept = client.send_command("askls.acceptEdits", json!({}));
        let edit = client.wait_sent("workspace/applyEdit");

        project.write("/new.txt", "");
        if let Some(text) = opened {
            client.open_uri(&client.uri("/new.txt"), text);
        }
        let mut refusal = json!({"applied": false, "failureReason": "no"});
        if let Some(failed) = failed {
            refusal["failedChange"] = json!(failed);
        }
        client.reply(&edit, Answer::Result(refusal));
        let accepted = client.wait(&accept).unwrap();

        let reason = accepted["reason"].as_str().unwrap();
        assert!(reason.contains("new.txt was made, but is empty: the editor refused: no"), "{reason}");
        let others = if with_other { vec!["x.txt pending"] } else { Vec::new() };
        assert_eq!(offered(&mut client), [vec!["new.txt pending"], others].concat(), "{opened:?}");
        client.on_request("workspace/applyEdit", |_| Answer::Apply);
        assert_eq!(client.command("askls.acceptEdits", json!({}))["applied"], true);
        client.wait_text("/new.txt", "N\nM\n");
        assert_eq!(offered(&mut client), Vec::<String>::new());
        assert_eq!(client.command("askls.undoTurn", json!({}))["undone"], true);
        client.wait_gone("/new.txt");
        client.wait_text("/x.txt", LINES);
    }
}

#[test]
fn what_the_user_writes_into_a_new_file_that_was_left_empty_is_theirs() {
    let project = Project::new("");
    let model = FakeModel::start(Wire::Chat, [new_file(false), text("Done.")]);
    let mut client = client(&project, &model, "propose");
    client.tolerate("window/showMessage");
    client.ask("Make a file.");
    let accept = client.send_command("askls.acceptEdits", json!({}));
    let edit = client.wait_sent("workspace/applyEdit");
    project.write("/new.txt", "");
    client.reply(&edit, refusal("no"));
    client.wait(&accept).unwrap();

    client.open_uri(&client.uri("/new.txt"), "mine\n");

    assert_eq!(offered(&mut client), ["new.txt conflict"]);
    client.on_request("workspace/applyEdit", |_| Answer::Apply);
    assert_eq!(client.command("askls.acceptEdits", json!({}))["applied"], false);
    assert_eq!(client.command("askls.undoTurn", json!({}))["undone"], false);
    assert_eq!(client.text("/new.txt").unwrap(), "mine\n");
}

#[test]
fn an_empty_file_that_was_there_before_the_editor_came_to_it_is_left_alone() {
    let project = Project::new("");
    let model = FakeModel::start(Wire::Chat, [new_file(false), text("Done.")]);
    let mut client = client(&project, &model, "propose");
    client.tolerate("window/showMessage");
    client.ask("Make a file.");
    let accept = client.send_command("askls.acceptEdits", json!({}));
    let edit = client.wait_sent("workspace/applyEdit");

    project.write("/new.txt", "");
    let refusal = json!({"applied": false, "failureReason": "it exists", "failedChange": 0});
    client.reply(&edit, Answer::Result(refusal));

    assert_eq!(client.wait(&accept).unwrap()["applied"], false);
    assert_eq!(offered(&mut client), ["new.txt conflict"]);
    assert_eq!(client.command("askls.undoTurn", json!({}))["undone"], false);
    assert!(project.exists("/new.txt"));
}

/// Neovim says yes to text edits that it leaves out, since they are for an older version.
#[test]
fn a_file_that_an_editor_moves_and_says_to_have_changed_stays_offered_while_it_shows_the_old_text() {
    let project = Project::new(&format!("//- /x.txt\n{LINES}"));
    let step = call("move_file", json!({"from": "x.txt", "to": "y.txt"}))
        .call("edit_file", json!({"path": "y.txt", "find": "b\n", "replace": "B\n"}));
    let model = FakeModel::start(Wire::Chat, [step, text("Done.")]);
    let mut client = client(&project, &model, "propose");
    client.tolerate("window/showMessage");
    client.open("/x.txt");
    client.ask("Move and change it.");
    let accept = client.send_command("askls.acceptEdits", json!({}));
    let edit = client.wait_sent("workspace/applyEdit");

    client.close("/x.txt");
    std::fs::rename(project.path("/x.txt"), project.path("/y.txt")).unwrap();
    client.open("/y.txt");
    client.reply(&edit, Answer::Result(json!({"applied": true})));
    let accepted = client.wait(&accept).unwrap();

    let reason = accepted["reason"].as_str().unwrap();
    assert!(
        reason.contains("y.txt was moved, but its text is as before: the editor left out the rest"),
        "{reason}"
    );
    assert_eq!(offered(&mut client), ["y.txt pending"]);
}

#[test]
fn a_file_that_an_editor_moves_without_changing_it_is_changed_by_the_next_accept() {
    let project = Project::new(&format!("//- /x.txt\n{LINES}"));
    let step = call("move_file", json!({"from": "x.txt", "to": "y.txt"}))
        .call("edit_file", json!({"path": "y.txt", "find": "b\n", "replace": "B\n"}));
    let model = FakeModel::start(Wire::Chat, [step, text("Done.")]);
    let mut client = client(&project, &model, "propose");
    client.tolerate("window/showMessage");
    client.ask("Move and change it.");
    let accept = client.send_command("askls.acceptEdits", json!({}));
    let edit = client.wait_sent("workspace/applyEdit");

    std::fs::rename(project.path("/x.txt"), project.path("/y.txt")).unwrap();
    client.reply(&edit, refusal("no"));
    let accepted = client.wait(&accept).unwrap();

    let reason = accepted["reason"].as_str().unwrap();
    assert!(
        reason.contains("y.txt was moved, but its text is as before: the editor refused: no"),
        "{reason}"
    );
    assert_eq!(offered(&mut client), ["y.txt pending"]);
    client.on_request("workspace/applyEdit", |_| Answer::Apply);
    assert_eq!(client.command("askls.acceptEdits", json!({}))["applied"], true);
    client.wait_text("/y.txt", "a\nB\nc\nd\ne\n");
    assert_eq!(client.command("askls.undoTurn", json!({}))["undone"], true);
    client.wait_text("/x.txt", LINES);
    client.wait_gone("/y.txt");
}
