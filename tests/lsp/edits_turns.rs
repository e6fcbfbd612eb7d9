//! Edits that wait while the next turn of their thread runs: each hunk stays what it is, and of the turn that proposed it.

use askls::protocol::Wire;
use serde_json::{Value, json};

use crate::support::{Answer, Client, FakeModel, Project, model::*};

const TEXT: &str = "a\nb\nc\nd\ne\n";

fn edit(path: &str, find: &str, replace: &str) -> Reply {
    call("edit_file", json!({"path": path, "find": find, "replace": replace}))
}

fn project() -> Project {
    Project::new(&format!("//- /x.txt\n{TEXT}//- /y.txt\ny\n"))
}

/// Both turns of one thread have ended, and nobody has decided about anything. Between them the user replaces a line.
fn two_turns(project: &Project, model: &FakeModel, typed: Option<([u64; 4], &str)>) -> Client {
    let mut client = Client::start(project, model);
    client.on_request("window/showMessageRequest", |_| Answer::Never);
    client.on_request("window/showDocument", |_| Answer::Result(json!({"success": true})));
    client.tolerate("window/showMessage");
    client.open("/x.txt");
    let thread = client.ask("First.")["threadId"].clone();
    if let Some((range, text)) = typed {
        client.change("/x.txt", range, text);
    }
    assert_eq!(client.ask_on(&thread, "Second.")["edits"], "proposed");
    client
}

fn accept(client: &mut Client, argument: Value) {
    let accepted = client.command("askls.acceptEdits", argument);
    assert_eq!(accepted["applied"], true, "{accepted}");
}

/// What the user is told of an undo, and the text that it leaves.
fn undo(client: &mut Client) -> (String, String) {
    let undone = client.command("askls.undoTurn", json!({}));
    assert_eq!(undone["undone"], true, "{undone}");
    let told = client.wait_notification("window/showMessage");
    let told = told["message"].as_str().unwrap_or_default();
    (told.trim_end_matches("; not saved yet: x.txt").to_owned(), client.text("/x.txt").unwrap())
}

/// `pending 0-1`, one for each hunk of a file: its lines now.
fn hunks(client: &mut Client, path: &str) -> Vec<String> {
    let uri = client.uri(path);
    let shown = client.command("askls.showEdits", json!({}));
    let files = shown["edits"].as_array().into_iter().flatten().filter(|file| file["uri"] == uri);
    let hunks = files.flat_map(|file| file["hunks"].as_array().into_iter().flatten());
    let line = |hunk: &Value| {
        let (start, end) = (&hunk["range"]["start"]["line"], &hunk["range"]["end"]["line"]);
        format!("{} {start}-{end}", hunk["state"].as_str().unwrap())
    };
    hunks.map(line).collect()
}

#[test]
fn hunks_of_two_turns_that_are_accepted_at_once_are_undone_turn_by_turn() {
    let project = project();
    let replies = [edit("x.txt", "a", "A"), text("One."), edit("x.txt", "d", "D"), text("Two.")];
    let model = FakeModel::start(Wire::Chat, replies);
    let mut client = two_turns(&project, &model, None);

    accept(&mut client, json!({}));
    client.wait_text("/x.txt", "A\nb\nc\nD\ne\n");

    assert_eq!(
        undo(&mut client),
        ("askls: Undid \"Second.\" (x.txt)".to_owned(), "A\nb\nc\nd\ne\n".to_owned())
    );
    assert_eq!(undo(&mut client), ("askls: Undid \"First.\" (x.txt)".to_owned(), TEXT.to_owned()));
}

#[test]
fn a_hunk_that_is_accepted_after_the_next_turn_is_undone_with_the_turn_that_proposed_it() {
    for second in [edit("x.txt", "d", "D"), edit("y.txt", "y", "Y")] {
        let project = project();
        let model =
            FakeModel::start(Wire::Chat, [edit("x.txt", "a", "A"), text("One."), second, text("Two.")]);
        let mut client = two_turns(&project, &model, None);
        let shown = client.command("askls.showEdits", json!({}));
        let first = shown["edits"][0]["hunks"][0]["id"].clone();

        accept(&mut client, json!({"hunks": [first]}));
        client.wait_text("/x.txt", "A\nb\nc\nd\ne\n");

        assert_eq!(undo(&mut client).0, "askls: Undid \"First.\" (x.txt)");
    }
}

#[test]
fn with_immediate_edits_a_step_leaves_the_hunks_of_an_earlier_turn_to_that_turn() {
    let project = project();
    let replies = [edit("x.txt", "a", "A"), text("One."), edit("x.txt", "d", "D"), text("Two.")];
    let model = FakeModel::start(Wire::Chat, replies);
    let mut client = Client::start(&project, &model);
    client.on_request("window/showMessageRequest", |_| Answer::Never);
    client.tolerate("window/showMessage");
    client.open("/x.txt");
    let thread = client.ask("First.")["threadId"].clone();
    client.notify("workspace/didChangeConfiguration", json!({"settings": {"askls": {"edits": "immediate"}}}));

    assert_eq!(client.ask_on(&thread, "Second.")["edits"], "applied");

    client.wait_text("/x.txt", "A\nb\nc\nD\ne\n");
    assert_eq!(
        undo(&mut client),
        ("askls: Undid \"Second.\" (x.txt)".to_owned(), "A\nb\nc\nd\ne\n".to_owned())
    );
    assert_eq!(undo(&mut client), ("askls: Undid \"First.\" (x.txt)".to_owned(), TEXT.to_owned()));
}

#[test]
fn a_hunk_in_conflict_outlives_the_next_turn_and_does_not_hold_up_its_edits() {
    let project = project();
    let first =
        edit("x.txt", "a", "A").call("edit_file", json!({"path": "x.txt", "find": "d", "replace": "D"}));
    let model = FakeModel::start(Wire::Chat, [first, text("One."), edit("y.txt", "y", "Y"), text("Two.")]);
    let mut client = Client::start(&project, &model);
    client.on_request("window/showMessageRequest", |_| Answer::Never);
    client.on_request("window/showDocument", |_| Answer::Result(json!({"success": true})));
    client.open("/x.txt");
    client.open("/y.txt");
    let thread = client.ask("First.")["threadId"].clone();
    // The question of the first turn follows its response: only after it does the next answer go to the second turn.
    client.wait_seen("window/showMessageRequest", 1);
    client.change("/x.txt", [0, 0, 0, 1], "mine");
    client.choose("Apply");

    client.ask_on(&thread, "Second.");

    client.wait_text("/y.txt", "Y\n");
    client.wait_text("/x.txt", "mine\nb\nc\nD\ne\n");
    assert_eq!(hunks(&mut client, "/x.txt"), ["conflict 0-1"]);
    client.change("/x.txt", [0, 0, 0, 4], "a");
    assert_eq!(hunks(&mut client, "/x.txt"), ["pending 0-1"]);
    accept(&mut client, json!({}));
    client.wait_text("/x.txt", "A\nb\nc\nD\ne\n");
}

#[test]
fn the_user_is_told_of_a_hunk_in_conflict_that_makes_way_for_newer_edits_of_its_file() {
    let project = project();
    let replies = [edit("x.txt", "b", "B"), text("One."), edit("x.txt", "d", "D"), text("Two.")];
    let model = FakeModel::start(Wire::Chat, replies);
    let mut client = two_turns(&project, &model, Some(([1, 0, 1, 1], "mine")));

    let told = client.wait_notification("window/showMessage");

    assert_eq!(
        told["message"],
        "Agent edits: 1 earlier edit no longer fits and makes way for newer ones: x.txt:2"
    );
    assert_eq!(hunks(&mut client, "/x.txt"), ["pending 3-4"]);
}
