//! Edits of a turn are offered at its end, and happen when the user says so.

use askls::protocol::Wire;
use serde_json::{Value, json};

use crate::support::{Answer, Client, FakeModel, Project, model::*, on_every_wire};

const ONE_FILE: &str = "//- /a.txt\nA\n";

fn model_that_edits(wire: Wire) -> FakeModel {
    FakeModel::start(
        wire,
        [call("edit_file", json!({"path": "a.txt", "find": "A", "replace": "B"})), text("Changed A to B.")],
    )
}

fn titles(question: &Value) -> Vec<String> {
    let actions = question["actions"].as_array().into_iter().flatten();
    actions.map(|action| action["title"].as_str().expect("a title").to_owned()).collect()
}

/// SPEC C11
#[test]
fn edits_are_offered_and_nothing_is_changed_before_an_answer() {
    on_every_wire(|wire| {
        let project = Project::new(ONE_FILE);
        let model = model_that_edits(wire);
        let mut client = Client::start(&project, &model);
        client.open("/a.txt");

        let result = client.ask("Make it B.");
        let question = client.wait_request("window/showMessageRequest");

        assert_eq!(result["edits"], "proposed");
        assert_eq!(result["files"], json!([client.uri("/a.txt")]));
        assert_eq!(titles(&question.params), ["Apply", "Review", "Reject"]);
        assert!(question.params["message"].as_str().unwrap().contains("1 file"), "{question:?}");
        assert_eq!(client.text("/a.txt").unwrap(), "A\n");
        client.reply(&question, Answer::Result(Value::Null));
    });
}

#[test]
fn apply_changes_the_open_buffer_in_one_edit() {
    on_every_wire(|wire| {
        let project = Project::new(ONE_FILE);
        let model = model_that_edits(wire);
        let mut client = Client::start(&project, &model);
        client.open("/a.txt");
        client.choose("Apply");

        client.ask("Make it B.");

        client.wait_text("/a.txt", "B\n");
        assert_eq!(client.seen("workspace/applyEdit").len(), 1);
        assert_eq!(project.read("/a.txt"), "A\n", "the editor saves, not the server");
    });
}

#[test]
fn apply_changes_a_file_that_is_not_open_through_the_editor_too() {
    on_every_wire(|wire| {
        let project = Project::new(ONE_FILE);
        let model = model_that_edits(wire);
        let mut client = Client::start(&project, &model);
        client.choose("Apply");

        client.ask("Make it B.");

        client.wait_text("/a.txt", "B\n");
    });
}

#[test]
fn discard_drops_the_edits() {
    on_every_wire(|wire| {
        let project = Project::new(ONE_FILE);
        let model = model_that_edits(wire);
        let mut client = Client::start(&project, &model);
        let uri = client.open("/a.txt");

        client.ask("Make it B.");
        let question = client.wait_request("window/showMessageRequest");
        client.reply(&question, Answer::Result(json!({"title": "Reject"})));

        client.wait_status("proposals", 0);
        let answer = client.command("askls.acceptEdits", json!({}));
        assert_eq!(answer["applied"], false, "{uri}: {answer}");
        assert_eq!(client.text("/a.txt").unwrap(), "A\n");
    });
}

#[test]
fn review_shows_the_difference_and_keeps_the_edits_on_offer() {
    on_every_wire(|wire| {
        let project = Project::new(ONE_FILE);
        let model = model_that_edits(wire);
        let mut client = Client::start(&project, &model);
        client.open("/a.txt");

        client.ask("Make it B.");
        let question = client.wait_request("window/showMessageRequest");
        client.reply(&question, Answer::Result(json!({"title": "Review"})));
        let shown = client.wait_request("window/showDocument");
        client.reply(&shown, Answer::Result(json!({"success": true})));

        let diff = client.read_shown(&shown.params["uri"]);
        assert!(diff.contains("-A\n+B\n"), "{diff}");
        assert_eq!(client.command("askls.acceptEdits", json!({}))["applied"], true);
        client.wait_text("/a.txt", "B\n");
        client.tolerate("window/showMessageRequest");
    });
}

/// Two questions would lie over each other.
#[test]
fn the_answer_and_its_edits_are_one_question() {
    on_every_wire(|wire| {
        let project = Project::new(ONE_FILE);
        let model = FakeModel::start(
            wire,
            [
                call("edit_file", json!({"path": "a.txt", "find": "A", "replace": "B"})),
                text("Changed A to B.\n\nIt was easy."),
            ],
        );
        let mut client =
            Client::builder(&project).model(&model).settings(json!({"show_answer": "message"})).start();
        client.on_request("window/showDocument", |_| Answer::Result(json!({"success": true})));
        client.open("/a.txt");
        client.ask("Make it B.");
        for (expected, choice) in [
            (vec!["Apply", "Review", "Reject", "Open answer"], "Open answer"),
            (vec!["Apply", "Review", "Reject"], "Review"),
            (vec!["Apply", "Reject"], "Apply"),
        ] {
            let question = client.wait_request("window/showMessageRequest");
            assert_eq!(
                question.params["message"],
                "Changed A to B. — The agent proposes edits in 1 file: edit a.txt"
            );
            assert_eq!(titles(&question.params), expected);
            client.reply(&question, Answer::Result(json!({"title": choice})));
        }
        client.wait_text("/a.txt", "B\n");
        let shown: Vec<_> = client.seen("window/showDocument");
        let shown: Vec<_> = shown.iter().map(|shown| client.read_shown(&shown["uri"])).collect();
        assert_eq!(shown[0], "Changed A to B.\n\nIt was easy.\n");
        assert!(shown[1].contains("-A\n+B\n"), "{}", shown[1]);
    });
}

#[test]
fn a_short_answer_is_in_the_question_and_has_nothing_to_open() {
    let project = Project::new(ONE_FILE);
    let model = model_that_edits(Wire::Chat);
    let mut client =
        Client::builder(&project).model(&model).settings(json!({"show_answer": "message"})).start();
    client.ask("Make it B.");
    let question = client.wait_request("window/showMessageRequest");
    assert_eq!(titles(&question.params), ["Apply", "Review", "Reject"]);
    client.reply(&question, Answer::Result(Value::Null));
}

/// The edits were decided about elsewhere; the question stands there still.
#[test]
fn the_answer_can_be_opened_after_its_edits_were_accepted() {
    let project = Project::new(ONE_FILE);
    let model = FakeModel::start(
        Wire::Chat,
        [call("edit_file", json!({"path": "a.txt", "find": "A", "replace": "B"})), text("Changed.\n\nEasy.")],
    );
    let mut client =
        Client::builder(&project).model(&model).settings(json!({"show_answer": "message"})).start();
    client.ask("Make it B.");
    let question = client.wait_request("window/showMessageRequest");
    assert_eq!(client.command("askls.acceptEdits", json!({}))["applied"], true);
    client.reply(&question, Answer::Result(json!({"title": "Open answer"})));
    let shown = client.wait_request("window/showDocument");
    client.reply(&shown, Answer::Result(json!({"success": true})));
}

/// Nobody agrees to a deletion, or to a file of another name, without having read it.
#[test]
fn the_question_says_what_happens_to_each_file() {
    let project = Project::new("");
    for name in ["a", "d", "m", "y", "z"] {
        project.write(&format!("/{name}.txt"), format!("{name}\n"));
    }
    let delete = |path: &str| ("delete_file", json!({"path": path}));
    for (calls, expected) in [
        (
            vec![
                ("edit_file", json!({"path": "a.txt", "find": "a", "replace": "b"})),
                ("write_file", json!({"path": "b\n\u{202e}.txt", "text": "b\n"})),
                delete("d.txt"),
            ],
            r"3 files: edit a.txt, create b\n\u{202e}.txt, delete d.txt",
        ),
        (vec![("move_file", json!({"from": "m.txt", "to": "n.txt"}))], "1 file: move m.txt to n.txt"),
        (
            ["a.txt", "d.txt", "m.txt", "y.txt", "z.txt"].map(delete).to_vec(),
            "5 files: delete a.txt, delete d.txt, delete m.txt, … and 2 more (2 deletions)",
        ),
    ] {
        let mut calls = calls.into_iter();
        let (first, argument) = calls.next().unwrap();
        let reply = calls.fold(call(first, argument), |reply, (name, argument)| reply.call(name, argument));
        let model = FakeModel::start(Wire::Chat, [reply, text("Done.")]);
        let mut client = Client::start(&project, &model);
        client.ask("Do it.");
        let question = client.wait_request("window/showMessageRequest");
        assert_eq!(question.params["message"], format!("The agent proposes edits in {expected}"));
        client.reply(&question, Answer::Result(json!({"title": "Reject"})));
    }
}

/// Whatever is not a clear yes leaves the edits on offer and changes nothing.
#[test]
fn an_answer_that_is_no_offered_title_changes_nothing() {
    let answers = [
        Answer::Result(Value::Null),
        Answer::Result(json!({"title": "Perhaps"})),
        Answer::Result(json!("Apply")),
        Answer::Result(json!({"title": 1})),
        Answer::Result(json!([{"title": "Apply"}])),
        Answer::Error(-32601, "no such method".to_owned()),
        Answer::Never,
    ];
    for answer in answers {
        let project = Project::new(ONE_FILE);
        let model = model_that_edits(Wire::Chat);
        let mut client = Client::start(&project, &model);
        client.open("/a.txt");

        let result = client.ask("Make it B.");
        let question = client.wait_request("window/showMessageRequest");
        client.reply(&question, answer.clone());

        assert_eq!(result["edits"], "proposed", "{answer:?}");
        assert_eq!(client.command("askls.status", json!({}))["proposals"], 1, "{answer:?}");
        assert_eq!(client.text("/a.txt").unwrap(), "A\n", "{answer:?}");
    }
}

#[test]
fn several_files_are_one_offer_and_one_edit() {
    on_every_wire(|wire| {
        let project =
            Project::new("//- /a.txt\nA\n//- /src/b.txt\nB\n//- /old.txt\nold\n//- /gone.txt\ngone\n");
        let model = FakeModel::start(
            wire,
            [
                call("edit_file", json!({"path": "a.txt", "find": "A", "replace": "AA"}))
                    .call("edit_file", json!({"path": "src/b.txt", "find": "B", "replace": "BB"}))
                    .call("write_file", json!({"path": "new/c.txt", "text": "C\n"}))
                    .call("move_file", json!({"from": "old.txt", "to": "moved.txt"}))
                    .call("delete_file", json!({"path": "gone.txt"})),
                text("Five changes."),
            ],
        );
        let mut client = Client::start(&project, &model);
        client.open("/a.txt");
        client.choose("Apply");

        let result = client.ask("Change all.");

        assert_eq!(result["edits"], "proposed");
        client.wait_text("/a.txt", "AA\n");
        client.wait_text("/src/b.txt", "BB\n");
        client.wait_text("/new/c.txt", "C\n");
        client.wait_text("/moved.txt", "old\n");
        client.wait_gone("/old.txt");
        client.wait_gone("/gone.txt");
        assert_eq!(client.seen("workspace/applyEdit").len(), 1);
    });
}

#[test]
fn a_turn_without_edits_offers_nothing() {
    on_every_wire(|wire| {
        let project = Project::new(ONE_FILE);
        let model = FakeModel::start(wire, [call("read_file", json!({"path": "a.txt"})), text("It is A.")]);
        let mut client = Client::start(&project, &model);
        assert_eq!(client.ask("What is it?")["edits"], "none");
        assert_eq!(client.command("askls.status", json!({}))["proposals"], 0);
    });
}

/// The model sees its own edits before anybody else does.
#[test]
fn the_model_reads_what_it_has_staged() {
    on_every_wire(|wire| {
        let project = Project::new(ONE_FILE);
        let model = FakeModel::start(
            wire,
            [
                call("edit_file", json!({"path": "a.txt", "find": "A", "replace": "B"})),
                call("read_file", json!({"path": "a.txt"})),
                text("It is B now."),
            ],
        );
        let mut client = Client::start(&project, &model);
        client.ask("Make it B.");
        let question = client.wait_request("window/showMessageRequest");
        client.reply(&question, Answer::Result(Value::Null));
        let seen = crate::support::history::last_output(&model.requests()[2]);
        assert!(seen.contains('B') && !seen.contains('A'), "{seen}");
        assert_eq!(project.read("/a.txt"), "A\n");
    });
}

#[test]
fn the_next_turn_of_the_thread_builds_on_what_is_proposed() {
    on_every_wire(|wire| {
        let project = Project::new(ONE_FILE);
        let model = FakeModel::start(
            wire,
            [
                call("edit_file", json!({"path": "a.txt", "find": "A", "replace": "B"})),
                text("It is B."),
                call("edit_file", json!({"path": "a.txt", "find": "B", "replace": "C"})),
                text("It is C."),
            ],
        );
        let mut client = Client::start(&project, &model);
        client.open("/a.txt");
        let thread = client.ask("Make it B.")["threadId"].clone();
        let first = client.wait_request("window/showMessageRequest");
        assert_eq!(client.ask_on(&thread, "Make it C.")["edits"], "proposed");
        let second = client.wait_request("window/showMessageRequest");
        assert_eq!(client.command("askls.status", json!({}))["proposals"], 1);

        // The first question is about edits that are part of the second now.
        client.reply(&first, Answer::Result(json!({"title": "Apply"})));
        let shown = client.wait_notification("window/showMessage");
        assert!(
            shown["message"].as_str().unwrap().contains("newer ones of the agent replace them"),
            "{shown}"
        );
        assert_eq!(client.text("/a.txt").unwrap(), "A\n");
        client.tolerate("window/showMessage");
        client.reply(&second, Answer::Result(json!({"title": "Apply"})));

        client.wait_text("/a.txt", "C\n");
        assert_eq!(client.seen("workspace/applyEdit").len(), 1);
    });
}

/// Threads come and go; what the user has not decided about stays.
#[test]
fn many_newer_threads_do_not_push_an_offer_out() {
    let project = Project::new(ONE_FILE);
    let model = model_that_edits(Wire::Chat);
    let mut client = Client::start(&project, &model);
    client.on_request("window/showMessageRequest", |_| Answer::Never);
    let thread = client.ask("Make it B.")["threadId"].clone();
    for _ in 0..150 {
        client.command("askls.newThread", json!({}));
    }
    assert_eq!(client.command("askls.acceptEdits", json!({"threadId": thread}))["applied"], true);
    client.wait_text("/a.txt", "B\n");
}

/// What is dropped is settled and named: nothing vanishes without a word.
#[test]
fn of_too_many_offers_the_oldest_goes_and_the_user_is_told() {
    let model = FakeModel::answering(Wire::Chat, |request| {
        match crate::support::history::output_texts(request).is_empty() {
            true => call("edit_file", json!({"path": "a.txt", "find": "A", "replace": "B"})),
            false => text("Changed."),
        }
    });
    let project = Project::new(ONE_FILE);
    let mut client = Client::start(&project, &model);
    client.on_request("window/showMessageRequest", |_| Answer::Never);
    let oldest = client.ask("Make it B.")["threadId"].clone();
    for _ in 0..100 {
        client.ask("Make it B.");
    }
    let warning = client.wait_notification("window/showMessage");
    assert!(warning["message"].as_str().unwrap().ends_with("in 1 file: edit a.txt"), "{warning}");
    assert_eq!(client.command("askls.status", json!({}))["proposals"], 100);
    let accepted = client.command("askls.acceptEdits", json!({"threadId": oldest}));
    assert_eq!(accepted["reason"], "there are no proposed edits");
}

/// "The tests pass" is said of the files without the edits.
#[test]
fn the_user_hears_when_commands_ran_while_edits_waited() {
    for (edits, is_told) in [("propose", true), ("apply", true), ("immediate", false)] {
        let project = Project::new(ONE_FILE);
        let edit = call("edit_file", json!({"path": "a.txt", "find": "A", "replace": "B"}));
        let look = call("run_command", json!({"command": "cat a.txt"}));
        let model = FakeModel::start(Wire::Chat, [edit, look, text("Changed.")]);
        let settings = json!({"edits": edits, "approvals": "all", "show_answer": "message"});
        let mut client = Client::builder(&project).model(&model).settings(settings).start();
        client.open("/a.txt");

        client.ask("Make it B, and look.");

        let shown = if edits == "propose" {
            let question = client.wait_request("window/showMessageRequest");
            client.reply(&question, Answer::Result(Value::Null));
            question.params["message"].clone()
        } else {
            client.wait_notification("window/showMessage")["message"].clone()
        };
        let note = "Changed. (the commands of this turn ran without its edits)";
        assert_eq!(shown.as_str().unwrap().contains(note), is_told, "{edits}: {shown}");
    }
}
