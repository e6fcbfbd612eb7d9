//! Edits are taken hunk by hunk, on the text as it is when the user says so.

use askls::protocol::Wire;
use serde_json::{Value, json};

use crate::support::{
    Answer, Client, FakeModel, Manner, Project, capabilities, documents::lsp_range, model::*, on_every_wire,
    transport::Received,
};

/// Six lines, of which the first, the third and the fifth are to change.
const TEXT: &str = "a\nb\nc\nd\ne\nf\n";

fn project() -> Project {
    Project::new(&format!("//- /x.txt\n{TEXT}"))
}

fn model(wire: Wire) -> FakeModel {
    let edit = |find: &str, replace: &str| json!({"path": "x.txt", "find": find, "replace": replace});
    FakeModel::start(
        wire,
        [
            call("edit_file", edit("a\n", "A\nA\n"))
                .call("edit_file", edit("c\n", "C\n"))
                .call("edit_file", edit("e\n", "")),
            text("Done."),
        ],
    )
}

fn proposed(project: &Project, model: &FakeModel) -> Client {
    asked(Client::start(project, model))
}

fn asked(mut client: Client) -> Client {
    client.on_request("window/showMessageRequest", |_| Answer::Never);
    client.on_request("window/showDocument", |_| Answer::Result(json!({"success": true})));
    client.open("/x.txt");
    assert_eq!(client.ask("Change three places.")["edits"], "proposed");
    client
}

/// `1 pending 0-1`, one for each hunk: its id, its state, and its lines now.
fn hunks(client: &mut Client) -> Vec<String> {
    let shown = client.command("askls.showEdits", json!({}));
    let files = shown["edits"].as_array().into_iter().flatten();
    let hunks = files.flat_map(|file| file["hunks"].as_array().into_iter().flatten());
    let line = |hunk: &Value| {
        let (start, end) = (&hunk["range"]["start"]["line"], &hunk["range"]["end"]["line"]);
        format!("{} {} {start}-{end}", hunk["id"], hunk["state"].as_str().unwrap())
    };
    hunks.map(line).collect()
}

fn actions(client: &mut Client, range: [u64; 4]) -> Vec<Value> {
    let params = json!({
        "textDocument": {"uri": client.uri("/x.txt")},
        "range": lsp_range(range),
        "context": {"diagnostics": [], "only": ["quickfix"]},
    });
    client.request("textDocument/codeAction", params).as_array().cloned().unwrap_or_default()
}

fn titles(actions: &[Value]) -> Vec<&str> {
    actions.iter().map(|action| action["title"].as_str().expect("a title")).collect()
}

/// SPEC C11
#[test]
fn one_of_three_hunks_gives_exactly_that_text() {
    on_every_wire(|wire| {
        for (id, expected) in
            [(1, "A\nA\nb\nc\nd\ne\nf\n"), (2, "a\nb\nC\nd\ne\nf\n"), (3, "a\nb\nc\nd\nf\n")]
        {
            let (project, model) = (project(), model(wire));
            let mut client = proposed(&project, &model);

            let accepted = client.command("askls.acceptEdits", json!({"hunks": [id]}));

            assert_eq!(accepted, json!({"applied": true, "files": [client.uri("/x.txt")]}));
            client.wait_text("/x.txt", expected);
            assert_eq!(hunks(&mut client).len(), 2);
            assert_eq!(client.command("askls.acceptEdits", json!({}))["applied"], true);
            client.wait_text("/x.txt", "A\nA\nb\nC\nd\nf\n");
            assert_eq!(client.command("askls.status", json!({}))["proposals"], 0);
        }
    });
}

#[test]
fn a_rejected_hunk_is_none_of_what_is_accepted_later() {
    on_every_wire(|wire| {
        let (project, model) = (project(), model(wire));
        let mut client = proposed(&project, &model);

        let rejected =
            client.command("askls.rejectEdits", json!({"hunks": [2], "uri": client.uri("/x.txt")}));
        client.command("askls.acceptEdits", json!({"hunks": [1, 3]}));

        assert_eq!(rejected, json!({"rejected": 1, "files": [client.uri("/x.txt")]}));
        client.wait_text("/x.txt", "A\nA\nb\nc\nd\nf\n");
        assert_eq!(client.command("askls.status", json!({}))["proposals"], 0);
    });
}

#[test]
fn hunks_that_there_are_not_are_named_with_those_that_there_are() {
    let (project, model) = (project(), model(Wire::Chat));
    let mut client = proposed(&project, &model);
    for (hunks, reason) in [
        (json!([2, 7, 9]), "there is no hunk 7, 9; those that wait are 1, 2, 3"),
        (json!([]), "no hunk is named; those that wait are 1, 2, 3"),
    ] {
        let refused = client.command("askls.acceptEdits", json!({"hunks": hunks}));
        assert_eq!(refused, json!({"applied": false, "files": [], "reason": reason}));
        let refused = client.command("askls.rejectEdits", json!({"hunks": hunks}));
        assert_eq!(refused, json!({"rejected": 0, "files": [], "reason": reason}));
    }
    assert_eq!(hunks(&mut client).len(), 3);
    assert_eq!(client.text("/x.txt").unwrap(), TEXT);
}

/// SPEC C11
#[test]
fn hunks_move_with_what_is_typed_around_them() {
    on_every_wire(|wire| {
        for manner in [Manner::VsCode, Manner::Neovim] {
            let (project, model) = (project(), model(wire));
            let mut client = asked(Client::builder(&project).model(&model).manner(manner).start());
            client.change("/x.txt", [0, 0, 0, 0], "before\n");
            client.change("/x.txt", [2, 0, 2, 1], "between 1\nbetween 2");
            client.change("/x.txt", [7, 0, 7, 1], "behind");
            let typed = "before\na\nbetween 1\nbetween 2\nc\nd\ne\nbehind\n";
            assert_eq!(client.text("/x.txt").unwrap(), typed);
            assert_eq!(hunks(&mut client), ["1 pending 1-2", "2 pending 4-5", "3 pending 6-7"]);

            assert_eq!(client.command("askls.acceptEdits", json!({}))["applied"], true);

            client.wait_text("/x.txt", "before\nA\nA\nbetween 1\nbetween 2\nC\nd\nbehind\n");
            assert_eq!(client.seen("workspace/applyEdit").len(), 1);
        }
    });
}

/// SPEC C11
#[test]
fn typing_into_a_hunk_makes_it_a_conflict_until_that_is_undone() {
    on_every_wire(|wire| {
        let (project, model) = (project(), model(wire));
        let mut client = proposed(&project, &model);
        client.change("/x.txt", [2, 1, 2, 1], "!");
        assert_eq!(hunks(&mut client), ["1 pending 0-1", "2 conflict 2-3", "3 pending 4-5"]);

        let refused = client.command("askls.acceptEdits", json!({}));
        assert_eq!(refused["applied"], false);
        let reason = refused["reason"].as_str().unwrap();
        assert!(
            reason
                .starts_with("nothing was applied: you changed line 3 of x.txt, which the agent also edits."),
            "{reason}"
        );
        assert_eq!(client.seen("workspace/applyEdit"), Vec::<Value>::new());
        assert!(
            client.command("askls.showEdits", json!({}))["diff"]
                .as_str()
                .unwrap()
                .contains("# not in this diff")
        );

        client.change("/x.txt", [2, 1, 2, 2], "");
        assert_eq!(hunks(&mut client), ["1 pending 0-1", "2 pending 2-3", "3 pending 4-5"]);
        assert_eq!(client.command("askls.acceptEdits", json!({}))["applied"], true);
        client.wait_text("/x.txt", "A\nA\nb\nC\nd\nf\n");
    });
}

#[test]
fn the_hunks_that_fit_can_be_had_without_those_that_do_not() {
    let (project, model) = (project(), model(Wire::Chat));
    let mut client = proposed(&project, &model);
    client.change("/x.txt", [2, 1, 2, 1], "!");

    let accepted = client.command("askls.acceptEdits", json!({"partial": true}));

    assert_eq!(accepted["applied"], true);
    let reason = accepted["reason"].as_str().unwrap();
    assert!(reason.starts_with("some edits were not applied: you changed line 3 of x.txt"), "{reason}");
    client.wait_text("/x.txt", "A\nA\nb\nc!\nd\nf\n");
    assert_eq!(hunks(&mut client), ["2 conflict 3-4"]);
    client.change("/x.txt", [3, 1, 3, 2], "");
    assert_eq!(client.command("askls.acceptEdits", json!({}))["applied"], true);
    client.wait_text("/x.txt", "A\nA\nb\nC\nd\nf\n");
}

#[test]
fn who_is_refused_for_one_hunk_is_offered_the_others() {
    for (choice, expected) in
        [("Apply the others", "A\nA\nb\nc!\nd\nf\n"), ("Show edits", "a\nb\nc!\nd\ne\nf\n")]
    {
        let (project, model) = (project(), model(Wire::Chat));
        let mut client = proposed(&project, &model);
        client.change("/x.txt", [2, 1, 2, 1], "!");
        // The question of the turn follows its response: only after it is the choice for the next one.
        client.wait_seen("window/showMessageRequest", 1);
        client.choose(choice);
        client.tolerate("window/showMessage");
        let offered = actions(&mut client, [0, 0, 0, 0]);
        let all =
            offered.iter().find(|action| action["title"] == "Apply all agent edits in this file").unwrap();

        let refused = client.request(
            "workspace/executeCommand",
            json!({"command": all["command"]["command"], "arguments": all["command"]["arguments"]}),
        );

        assert_eq!(refused["applied"], false, "{choice}");
        let came = |received: &[Received], method: &str, text: &str| {
            let mut requests = received.iter().map(|received| &received.message);
            let found =
                requests.find(|message| message["method"] == method && message.to_string().contains(text));
            found.map(|_| ())
        };
        client.wait_until("the question", |all| {
            came(
                all,
                "window/showMessageRequest",
                "Agent edits: nothing was applied: you changed line 3 of x.txt",
            )
        });
        if choice == "Show edits" {
            client.wait_until("the diff", |all| came(all, "window/showDocument", "edits.diff"));
        }
        client.wait_text("/x.txt", expected);
    }
}

/// Who types what the agent proposed has taken it.
#[test]
fn a_hunk_that_is_there_already_is_no_longer_proposed() {
    let (project, model) = (project(), model(Wire::Chat));
    let mut client = proposed(&project, &model);
    client.change("/x.txt", [2, 0, 2, 1], "C");
    assert_eq!(hunks(&mut client), ["1 pending 0-1", "3 pending 4-5"]);
    client.change("/x.txt", [4, 0, 5, 0], "");
    client.change("/x.txt", [0, 0, 0, 1], "A\nA");
    client.wait_status("proposals", 0);
}

#[test]
fn the_line_of_a_hunk_has_actions_of_its_own() {
    let (project, model) = (project(), model(Wire::Chat));
    let mut client = proposed(&project, &model);
    let general = [
        "Apply all agent edits in this file",
        "Reject all agent edits in this file",
        "Apply every edit of this turn (1 file)",
        "Reject every edit of this turn (1 file)",
    ];
    assert_eq!(titles(&actions(&mut client, [1, 0, 1, 0])), general);
    let one = actions(&mut client, [2, 0, 2, 0]);
    assert_eq!(titles(&one)[..2], ["Apply this agent edit (line 3)", "Reject this agent edit"]);
    assert_eq!(titles(&one)[2..], general);
    let two = actions(&mut client, [2, 0, 4, 0]);
    assert_eq!(titles(&two)[..2], ["Apply these 2 agent edits (lines 3-5)", "Reject these 2 agent edits"]);

    client.change("/x.txt", [2, 1, 2, 1], "!");
    let unfit = actions(&mut client, [2, 0, 2, 0]);
    assert_eq!(titles(&unfit)[0], "Reject this agent edit (you changed this line)");
    assert_eq!(titles(&unfit)[1..], general);

    let command = &one[0]["command"];
    client.change("/x.txt", [2, 1, 2, 2], "");
    client.request(
        "workspace/executeCommand",
        json!({"command": command["command"], "arguments": command["arguments"]}),
    );
    client.wait_text("/x.txt", "a\nb\nC\nd\ne\nf\n");
}

/// Typing while the turn runs, away from what it changes, costs nothing.
#[test]
fn what_is_typed_while_the_turn_runs_stays() {
    let project = project();
    let model = FakeModel::start(
        Wire::Chat,
        [call("edit_file", json!({"path": "x.txt", "find": "c\n", "replace": "C\n"})), text("Done.").gate()],
    );
    let mut client = Client::builder(&project).model(&model).settings(json!({"edits": "apply"})).start();
    client.open("/x.txt");
    let ask = client.send_ask("Change it.");
    crate::support::wait(model.request(2));
    client.change("/x.txt", [0, 0, 0, 1], "typed\nmeanwhile");
    client.command("askls.status", json!({}));
    model.release(2);

    let result = client.wait(&ask).unwrap();

    assert_eq!(result["edits"], "applied", "{result}");
    client.wait_text("/x.txt", "typed\nmeanwhile\nb\nC\nd\ne\nf\n");
}

/// What a next turn builds on is what still waits, where it stands now.
#[test]
fn the_next_turn_gets_what_is_left() {
    let project = project();
    let edit = |find: &str, replace: &str| json!({"path": "x.txt", "find": find, "replace": replace});
    let model = FakeModel::start(
        Wire::Chat,
        [
            call("edit_file", edit("a\n", "A\n")).call("edit_file", edit("c\n", "C\n")),
            text("Done."),
            call("edit_file", edit("e\n", "E\n")),
            text("More."),
        ],
    );
    let mut client = Client::start(&project, &model);
    client.on_request("window/showMessageRequest", |_| Answer::Never);
    client.open("/x.txt");
    let thread = client.ask("Change it.")["threadId"].clone();
    client.command("askls.rejectEdits", json!({"hunks": [1]}));
    client.change("/x.txt", [0, 0, 0, 0], "typed\n");

    assert_eq!(client.ask_on(&thread, "And more.")["edits"], "proposed");

    client.command("askls.acceptEdits", json!({}));
    client.wait_text("/x.txt", "typed\na\nb\nC\nd\nE\nf\n");
}

#[test]
fn hunks_are_placed_right_in_every_encoding_and_with_every_kind_of_edit() {
    for encoding in ["utf-8", "utf-16", "utf-32"] {
        for workspace_edit in [json!({}), json!({"documentChanges": true})] {
            let project = Project::new("//- /x.txt\n😀ä one\ntwo\n😀ä three\nfour\n");
            let edit = |find: &str, replace: &str| json!({"path": "x.txt", "find": find, "replace": replace});
            let model = FakeModel::start(
                Wire::Chat,
                [call("edit_file", edit("one", "1")).call("edit_file", edit("three", "3")), text("Done.")],
            );
            let mut said = capabilities::with("/workspace/workspaceEdit", workspace_edit);
            said["general"]["positionEncodings"] = json!([encoding]);
            let mut client = asked(Client::builder(&project).model(&model).capabilities(said).start());
            client.change("/x.txt", [1, 0, 1, 3], "😀😀\nä");

            client.command("askls.acceptEdits", json!({"hunks": [2]}));

            client.wait_text("/x.txt", "😀ä one\n😀😀\nä\n😀ä 3\nfour\n");
        }
    }
}

#[test]
fn an_editor_that_takes_no_edits_can_still_reject_hunks() {
    let (project, model) = (project(), model(Wire::Chat));
    let said = capabilities::with("/workspace/applyEdit", json!(false));
    let mut client = asked(Client::builder(&project).model(&model).capabilities(said).start());
    let refused = client.command("askls.acceptEdits", json!({"hunks": [1]}));
    assert!(refused["reason"].as_str().unwrap().contains("takes no edits"), "{refused}");
    client.command("askls.rejectEdits", json!({"hunks": [1]}));
    assert_eq!(hunks(&mut client), ["2 pending 2-3", "3 pending 4-5"]);
}

/// The editor refuses an edit for a version that is over; the hunk has moved on, and is tried once more.
#[test]
fn a_key_pressed_in_the_very_moment_costs_nothing() {
    let (project, model) = (project(), model(Wire::Chat));
    let mut client = proposed(&project, &model);
    client.on_request("workspace/applyEdit", |_| Answer::Never);
    let accept = client.send_command("askls.acceptEdits", json!({"hunks": [2]}));
    let edit = client.wait_sent("workspace/applyEdit");
    client.change("/x.txt", [0, 0, 0, 0], "typed\n");
    client.on_request("workspace/applyEdit", |_| Answer::Apply);
    client.reply(&edit, Answer::Result(json!({"applied": false})));

    assert_eq!(client.wait(&accept).unwrap()["applied"], true);

    client.wait_text("/x.txt", "typed\na\nb\nC\nd\ne\nf\n");
    assert_eq!(client.seen("workspace/applyEdit").len(), 2);
}

/// What the user decides elsewhere leaves the question on the screen, and its buttons have to do something.
#[test]
fn the_question_is_about_what_is_left_after_a_word_elsewhere() {
    for (title, expected) in [("Apply", "A\nA\nb\nC\nd\nf\n"), ("Reject", "A\nA\nb\nc\nd\ne\nf\n")] {
        let (project, model) = (project(), model(Wire::Chat));
        let mut client = Client::start(&project, &model);
        // That the file is not saved.
        client.tolerate("window/showMessage");
        client.open("/x.txt");
        client.ask("Change three places.");
        let question = client.wait_request("window/showMessageRequest");
        assert_eq!(client.command("askls.acceptEdits", json!({"hunks": [1]}))["applied"], true);

        client.reply(&question, Answer::Result(json!({"title": title})));

        client.wait_status("proposals", 0);
        client.wait_text("/x.txt", expected);
    }
}

#[test]
fn a_click_on_a_question_about_what_is_decided_says_so() {
    let (project, model) = (project(), model(Wire::Chat));
    let mut client = Client::start(&project, &model);
    client.open("/x.txt");
    client.ask("Change three places.");
    let question = client.wait_request("window/showMessageRequest");
    client.command("askls.rejectEdits", json!({}));

    client.reply(&question, Answer::Result(json!({"title": "Apply"})));

    let shown = client.wait_notification("window/showMessage");
    assert!(shown["message"].as_str().unwrap().contains("have been decided about"), "{shown}");
    assert_eq!(client.text("/x.txt").unwrap(), TEXT);
}

#[test]
fn edits_of_two_turns_in_one_file_all_have_their_actions() {
    let project = project();
    let edit = |find: &str, replace: &str| json!({"path": "x.txt", "find": find, "replace": replace});
    let model = FakeModel::start(
        Wire::Chat,
        [
            call("edit_file", edit("b\n", "B\n")),
            text("One."),
            call("edit_file", edit("e\n", "E\n")).call("write_file", json!({"path": "y.txt", "text": "y\n"})),
            text("Another."),
        ],
    );
    let mut client = Client::start(&project, &model);
    client.on_request("window/showMessageRequest", |_| Answer::Never);
    client.open("/x.txt");
    client.ask("Change b.");
    client.ask("Change e.");

    for (line, place, turn) in [(1, "line 2", "1 file"), (4, "line 5", "2 files")] {
        let offered = actions(&mut client, [line, 0, line, 0]);
        let (apply, every) =
            (format!("Apply this agent edit ({place})"), format!("Apply every edit of this turn ({turn})"));
        assert_eq!(titles(&offered)[0], apply, "{offered:?}");
        assert!(titles(&offered).contains(&every.as_str()), "{offered:?}");
    }
    let params = json!({"textDocument": {"uri": client.uri("/x.txt")}});
    let lenses = client.request("textDocument/codeLens", params).as_array().cloned().unwrap();
    assert_eq!(lenses.len(), 6, "{lenses:?}");
    let offered = actions(&mut client, [0, 0, 0, 0]);
    let all = offered.iter().find(|action| action["title"] == "Apply all agent edits in this file").unwrap();
    client.tolerate("window/showMessage");

    let accepted = client.request(
        "workspace/executeCommand",
        json!({"command": all["command"]["command"], "arguments": all["command"]["arguments"]}),
    );

    assert_eq!(accepted, json!({"applied": true, "files": [client.uri("/x.txt")]}));
    client.wait_text("/x.txt", "a\nB\nc\nd\nE\nf\n");
    assert!(!project.exists("/y.txt"));
    assert_eq!(client.command("askls.status", json!({}))["proposals"], 1);
    let rejected = client.command("askls.rejectEdits", json!({}));
    assert_eq!(rejected["files"], json!([client.uri("/y.txt")]));
}

#[test]
fn an_answer_about_many_unknown_hunks_is_short() {
    let (project, model) = (project(), model(Wire::Chat));
    let mut client = proposed(&project, &model);
    let hunks: Vec<u32> = (1000..200_000).collect();

    let refused = client.command("askls.acceptEdits", json!({"hunks": hunks}));

    let reason = refused["reason"].as_str().unwrap();
    assert!(reason.ends_with("and 198980 more; those that wait are 1, 2, 3"), "{reason}");
    assert!(reason.len() < 500, "{reason}");
}

/// The disk is what the agent's commands and other programs see.
#[test]
fn a_click_on_apply_names_what_is_not_saved() {
    let (project, model) = (project(), model(Wire::Chat));
    let mut client = Client::start(&project, &model);
    client.open("/x.txt");
    client.choose("Apply");

    client.ask("Change three places.");

    let shown = client.wait_notification("window/showMessage");
    assert_eq!(shown["message"], "Agent edits applied (not saved yet: x.txt)");
}
