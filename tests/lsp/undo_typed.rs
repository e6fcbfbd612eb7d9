//! An undo of a turn whose files the user has gone on with.

use askls::protocol::Wire;
use serde_json::{Value, json};

use super::undo::{LEAVE, MERGE, REDO, RESTORE, UNDO, edit, one_file, turn_of_one_edit};
use crate::support::{Answer, Client, FakeModel, Manner, model::*};

#[test]
fn what_the_user_typed_since_is_asked_about_and_every_answer_does_what_it_says() {
    let typed = "1\ntwo\n3\nmine\n";
    let answers = [
        (json!({"title": MERGE}), true, "1\n2\n3\nmine\n"),
        (json!({"title": RESTORE}), true, "1\n2\n3\n"),
        (json!({"title": LEAVE}), false, typed),
        (Value::Null, false, typed),
        (json!({"title": "something else"}), false, typed),
    ];
    for manner in [Manner::VsCode, Manner::Neovim] {
        for (answer, is_undone, expected) in answers.clone() {
            let project = one_file();
            let model = FakeModel::start(Wire::Chat, [edit("a.txt", "2", "two"), text("Two.")]);
            let mut client = Client::builder(&project)
                .model(&model)
                .settings(json!({"edits": "apply"}))
                .manner(manner)
                .start();
            client.tolerate("window/showMessage");
            client.open("/a.txt");
            client.ask("Write it out.");
            client.wait_text("/a.txt", "1\ntwo\n3\n");
            client.replace("/a.txt", typed);

            let undo = client.send_command(UNDO, json!({}));
            let question = client.wait_request("window/showMessageRequest");
            client.reply(&question, Answer::Result(answer.clone()));
            let undone = client.wait(&undo).unwrap();

            let message = question.params["message"].as_str().unwrap();
            assert!(
                message.starts_with("a.txt has changed since.") && message.contains("Write it out."),
                "{message}"
            );
            let titles: Vec<_> = question.params["actions"]
                .as_array()
                .unwrap()
                .iter()
                .map(|action| &action["title"])
                .collect();
            assert_eq!(titles, [MERGE, RESTORE, LEAVE]);
            assert_eq!(undone["undone"], is_undone, "{answer}: {undone}");
            client.wait_text("/a.txt", expected);
        }
    }
}

#[test]
fn the_answer_may_come_with_the_command() {
    let typed = "1\ntwo\n3\nmine\n";
    for (on_conflict, expected) in [("merge", "1\n2\n3\nmine\n"), ("restore", "1\n2\n3\n"), ("cancel", typed)]
    {
        let project = one_file();
        let (_model, mut client) = turn_of_one_edit(&project);
        client.tolerate("window/showMessage");
        client.replace("/a.txt", typed);

        let undone = client.command(UNDO, json!({"onConflict": on_conflict}));

        assert_eq!(undone["undone"], on_conflict != "cancel", "{undone}");
        client.wait_text("/a.txt", expected);
    }
}

#[test]
fn what_was_typed_over_by_a_restore_comes_back_with_a_redo() {
    let project = one_file();
    let (_model, mut client) = turn_of_one_edit(&project);
    client.replace("/a.txt", "1\nmine\n3\n");

    client.command(UNDO, json!({"onConflict": "restore"}));
    client.wait_text("/a.txt", "1\n2\n3\n");
    client.command(REDO, json!({}));

    client.wait_text("/a.txt", "1\nmine\n3\n");
}

#[test]
fn a_redo_asks_as_an_undo_does() {
    let project = one_file();
    let (_model, mut client) = turn_of_one_edit(&project);
    client.command(UNDO, json!({}));
    client.replace("/a.txt", "1\n2\n3\nmine\n");

    let redo = client.send_command(REDO, json!({}));
    let question = client.wait_request("window/showMessageRequest");
    client.reply(&question, Answer::Result(json!({"title": "Redo the agent's part"})));

    assert!(
        question.params["message"]
            .as_str()
            .unwrap()
            .contains("How should askls redo the turn \"Write it out.\"?"),
        "{question:?}"
    );
    assert_eq!(client.wait(&redo).unwrap()["redone"], true);
    client.wait_text("/a.txt", "1\ntwo\n3\nmine\n");
}

#[test]
fn changes_in_the_same_lines_cannot_be_told_apart_and_are_not_touched_by_a_merge() {
    let project = one_file();
    let (_model, mut client) = turn_of_one_edit(&project);
    client.tolerate("window/showMessage");
    client.replace("/a.txt", "1\ntwo!\n3\n");

    let undone = client.command(UNDO, json!({"onConflict": "merge"}));
    assert_eq!(undone["undone"], false, "{undone}");
    assert!(undone["reason"].as_str().unwrap().contains("in the same lines"), "{undone}");

    let undo = client.send_command(UNDO, json!({}));
    let question = client.wait_request("window/showMessageRequest");
    let titles = question.params["actions"].clone();
    assert_eq!(titles, json!([{"title": RESTORE}, {"title": LEAVE}]));
    client.reply(&question, Answer::Result(Value::Null));
    client.wait(&undo).unwrap();
    assert_eq!(client.text("/a.txt").unwrap(), "1\ntwo!\n3\n");
}

/// The answer was given for another text.
#[test]
fn who_types_on_while_the_question_is_open_is_asked_again() {
    let project = one_file();
    let (_model, mut client) = turn_of_one_edit(&project);
    client.replace("/a.txt", "1\ntwo\n3\nmine\n");
    let undo = client.send_command(UNDO, json!({}));
    let question = client.wait_request("window/showMessageRequest");
    client.replace("/a.txt", "1\ntwo\n3\nmine too\n");
    // The change is known to the server when it answers what was sent after it.
    client.command("askls.status", json!({}));
    client.reply(&question, Answer::Result(json!({"title": RESTORE})));

    let again = client.wait_request("window/showMessageRequest");
    client.reply(&again, Answer::Result(Value::Null));

    assert_eq!(client.wait(&undo).unwrap()["undone"], false);
    client.wait_notification("window/showMessage");
    assert_eq!(client.text("/a.txt").unwrap(), "1\ntwo\n3\nmine too\n");
}

#[test]
fn a_second_undo_waits_for_nobody() {
    let project = one_file();
    let (_model, mut client) = turn_of_one_edit(&project);
    client.tolerate("window/showMessage");
    client.replace("/a.txt", "1\ntwo\n3\nmine\n");
    let first = client.send_command(UNDO, json!({}));
    let question = client.wait_request("window/showMessageRequest");

    let second = client.command(UNDO, json!({}));

    assert!(second["reason"].as_str().unwrap().contains("answer its question first"), "{second}");
    client.reply(&question, Answer::Result(json!({"title": MERGE})));
    assert_eq!(client.wait(&first).unwrap()["undone"], true);
}

// SPEC C7
#[test]
fn an_undo_whose_request_is_cancelled_does_nothing_later_and_is_in_nobody_s_way() {
    let project = one_file();
    let (_model, mut client) = turn_of_one_edit(&project);
    client.tolerate("window/showMessage");
    client.replace("/a.txt", "1\ntwo\n3\nmine\n");
    let first = client.send_command(UNDO, json!({}));
    let question = client.wait_request("window/showMessageRequest");

    client.cancel_request(&first);
    assert!(client.wait(&first).is_err());
    client.reply(&question, Answer::Result(json!({"title": MERGE})));

    // The first one ends beside its answer.
    let second = (0..1000)
        .map(|_| client.command(UNDO, json!({"onConflict": "merge"})))
        .find(|undone| !undone["reason"].to_string().contains("is not finished"))
        .unwrap();
    assert_eq!(second["undone"], true, "{second}");
    assert_eq!(client.text("/a.txt").unwrap(), "1\n2\n3\nmine\n");
}

#[test]
fn an_edit_that_the_user_undid_at_once_is_on_offer_again_or_counts_as_applied() {
    for manner in [Manner::VsCode, Manner::Neovim] {
        let project = one_file();
        let model = FakeModel::start(Wire::Chat, [edit("a.txt", "2", "two"), text("Two.")]);
        let mut client = Client::builder(&project).model(&model).manner(manner).start();
        client.on_request("window/showMessageRequest", |_| Answer::Never);
        client.on_request("window/showDocument", |_| Answer::Result(json!({"success": true})));
        client.tolerate("window/showMessage");
        client.open("/a.txt");
        client.ask("Write it out.");

        // Its two changes reach the server at once, and it may see the second one first.
        let accept = client.send_command("askls.acceptEdits", json!({}));
        client.wait_text("/a.txt", "1\ntwo\n3\n");
        client.replace("/a.txt", "1\n2\n3\n");
        let accepted = client.wait(&accept).unwrap();

        let is_offered = client.command("askls.showEdits", json!({}))["files"] != json!([]);
        assert_eq!(accepted["applied"], !is_offered, "{accepted}");
        let undone = client.command(UNDO, json!({}));
        let reason = match is_offered {
            true => "nothing left to undo",
            false => "the files are as they were before \"Write it out.\" already",
        };
        assert_eq!(undone["reason"], reason, "{undone}");
    }
}
