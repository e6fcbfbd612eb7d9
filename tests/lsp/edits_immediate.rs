//! `edits = immediate`: the edits of a step are in the editor before the model goes on, or it hears why not.

use askls::protocol::Wire;
use serde_json::{Value, json};

use crate::support::{
    Answer, Client, FakeModel, Manner, Project, capabilities,
    history::{last_output, output_texts},
    model::*,
    on_every_wire, wait,
};

const APPLIED: &str = "Applied in the user's editor";
const PROPOSED: &str = "Staged as a proposal";

fn edit(find: &str, replace: &str) -> Reply {
    call("edit_file", json!({"path": "a.txt", "find": find, "replace": replace}))
}

fn read() -> Reply {
    call("read_file", json!({"path": "a.txt"}))
}

fn immediate(project: &Project, model: &FakeModel, manner: Manner) -> Client {
    Client::builder(project).model(model).settings(json!({"edits": "immediate"})).manner(manner).start()
}

/// An editor whose user reads the end of each turn as a message.
fn immediate_with_messages(project: &Project, model: &FakeModel, manner: Manner) -> Client {
    let settings = json!({"edits": "immediate", "show_answer": "message"});
    Client::builder(project).model(model).settings(settings).manner(manner).start()
}

/// On the one wire that says so.
fn says_error(request: &Request) -> bool {
    request.json.to_string().contains(r#""is_error":true"#)
}

#[test]
fn the_next_step_reads_what_the_editor_has_applied() {
    on_every_wire(|wire| {
        for manner in [Manner::VsCode, Manner::Neovim] {
            let project = Project::new("//- /a.txt\nA\n");
            let model = FakeModel::start(wire, [edit("A", "B"), read(), edit("B", "C"), text("Changed.")]);
            let mut client = immediate(&project, &model, manner);
            client.open("/a.txt");

            let result = client.ask("Make it B, and then C.");

            let requests = model.requests();
            let told = last_output(&requests[1]);
            assert!(told.contains(APPLIED) && !told.contains(PROPOSED), "{manner:?}: {told}");
            let read = last_output(&requests[2]);
            assert!(read.contains('B') && !read.contains("staged"), "{manner:?}: {read}");
            assert_eq!(client.text("/a.txt").unwrap(), "C\n", "{manner:?}");
            assert_eq!(result["edits"], "applied", "{manner:?}: {result}");
            assert_eq!(result["files"], json!([client.uri("/a.txt")]), "{manner:?}");
            assert_eq!(client.command("askls.status", json!({}))["proposals"], 0, "{manner:?}");
        }
    });
}

/// Commands read the disk, and nobody else knows what the agent has changed.
#[test]
fn the_model_and_the_user_hear_what_is_not_saved() {
    on_every_wire(|wire| {
        let project = Project::new("//- /a.txt\nA\n");
        let model = FakeModel::start(wire, [edit("A", "B"), text("Changed.")]);
        let mut client = immediate_with_messages(&project, &model, Manner::Neovim);
        client.open("/a.txt");

        let result = client.ask("Make it B.");

        let told = last_output(&model.requests()[1]);
        assert!(
            told.contains("but not saved: read_file and search see it; commands see the file on"),
            "{told}"
        );
        assert_eq!(result["unsaved"], json!([client.uri("/a.txt")]), "{result}");
        let message = client.wait_notification("window/showMessage");
        assert_eq!(message["message"], "Changed. (not saved yet: a.txt)");
    });
}

#[test]
fn of_what_the_editor_saved_nobody_hears_that_it_is_not() {
    let project = Project::new("//- /a.txt\nA\n");
    let model = FakeModel::start(Wire::Chat, [edit("A", "B"), text("Changed.")]);
    let mut client = immediate_with_messages(&project, &model, Manner::VsCode);
    client.open("/a.txt");
    client.on_request("workspace/applyEdit", {
        let project = project.clone();
        move |_| {
            project.write("/a.txt", "B\n");
            Answer::Apply
        }
    });

    let result = client.ask("Make it B.");

    let told = last_output(&model.requests()[1]);
    assert!(told.contains("Applied in the user's editor, and saved."), "{told}");
    assert_eq!(result.get("unsaved"), None, "{result}");
    assert_eq!(client.wait_notification("window/showMessage")["message"], "Changed.");
}

/// Neovim tells of no file without a file type.
#[test]
fn a_new_file_whose_text_the_editor_does_not_show_is_not_made_again() {
    let project = Project::new("");
    let new = call("write_file", json!({"path": "new", "text": "new\n"}));
    let model = FakeModel::start(Wire::Chat, [new, text("Made.")]);
    let mut client = immediate(&project, &model, Manner::Neovim);
    client.on_request("workspace/applyEdit", {
        let project = project.clone();
        move |_| {
            project.write("/new", "");
            Answer::Result(json!({"applied": true}))
        }
    });

    let result = client.ask("Make a file.");

    let told = last_output(&model.requests()[1]);
    assert!(told.contains("the editor does not show the text") && told.contains("Do not make it"), "{told}");
    assert_eq!(result["edits"], "applied", "{result}");
    assert_eq!(result["unsaved"], json!([client.uri("/new")]), "{result}");
}

#[test]
fn all_edits_of_a_step_are_one_edit_for_the_editor() {
    let project = Project::new("//- /a.txt\nA\n//- /b.txt\nB\n");
    let step = edit("A", "AA").call("edit_file", json!({"path": "b.txt", "find": "B", "replace": "BB"}));
    let model = FakeModel::start(Wire::Chat, [step, text("Both.")]);
    let mut client = immediate(&project, &model, Manner::VsCode);
    client.open("/a.txt");

    let result = client.ask("Double both.");

    assert_eq!(client.seen("workspace/applyEdit").len(), 1);
    assert!(output_texts(&model.requests()[1]).iter().all(|output| output.contains(APPLIED)));
    assert_eq!(result["files"], json!([client.uri("/a.txt"), client.uri("/b.txt")]));
}

#[test]
fn the_model_hears_why_an_edit_was_refused_and_the_file_is_as_before() {
    let answers = [
        (
            Answer::Result(json!({"applied": false, "failureReason": "buffer locked"})),
            "not applied: the editor refused: buffer locked",
        ),
        (Answer::Error(-32603, "boom".to_owned()), "not applied: the editor refused: boom"),
        (Answer::Result(Value::Null), "not applied: the editor refused without a reason"),
        // Some editors skip an edit and say that they applied it.
        (
            Answer::Result(json!({"applied": true})),
            "not applied: the editor said that it applied the edits, but",
        ),
    ];
    for (answer, reason) in answers {
        on_every_wire(|wire| {
            let project = Project::new("//- /a.txt\nA\n");
            let model = FakeModel::start(wire, [edit("A", "B"), read(), text("It is locked.")]);
            let mut client = immediate(&project, &model, Manner::VsCode);
            client.open("/a.txt");
            client.on_request("workspace/applyEdit", {
                let answer = answer.clone();
                move |_| answer.clone()
            });

            let result = client.ask("Make it B.");

            let requests = model.requests();
            let told = last_output(&requests[1]);
            assert!(told.starts_with(reason) && !told.contains(PROPOSED), "{told}");
            assert_eq!(says_error(&requests[1]), wire == Wire::Messages, "{told}");
            assert!(last_output(&requests[2]).contains('A'), "{}", last_output(&requests[2]));
            assert_eq!((&result["stopReason"], &result["edits"]), (&json!("answer"), &json!("refused")));
            assert!(result["detail"].as_str().unwrap().contains(reason), "{result}");
            assert_eq!(client.text("/a.txt").unwrap(), "A\n");
            // What the model was told is void does not wait for the user.
            assert_eq!(client.command("askls.status", json!({}))["proposals"], 0);
        });
    }
}

#[test]
fn an_edit_that_is_made_anew_after_a_refusal_is_applied() {
    let project = Project::new("//- /a.txt\nA\n");
    let model = FakeModel::start(Wire::Responses, [edit("A", "B"), edit("A", "B"), text("Changed.")]);
    let mut client = immediate(&project, &model, Manner::VsCode);
    client.open("/a.txt");
    let mut is_locked = true;
    client.on_request("workspace/applyEdit", move |_| match std::mem::take(&mut is_locked) {
        true => Answer::Result(json!({"applied": false, "failureReason": "buffer locked"})),
        false => Answer::Apply,
    });

    let result = client.ask("Make it B.");

    assert_eq!(result["edits"], "applied", "{result}");
    assert_eq!(client.text("/a.txt").unwrap(), "B\n");
}

#[test]
fn a_client_that_takes_no_edits_is_sent_none_and_the_model_is_told() {
    on_every_wire(|wire| {
        let project = Project::new("//- /a.txt\nA\n");
        let model = FakeModel::start(wire, [edit("A", "B"), text("I propose it.")]);
        let mut client = Client::builder(&project)
            .model(&model)
            .settings(json!({"edits": "immediate"}))
            .capabilities(capabilities::without("/workspace/applyEdit"))
            .start();
        client.open("/a.txt");
        client.tolerate("window/showMessageRequest");

        let result = client.ask("Make it B.");

        let told = last_output(&model.requests()[1]);
        assert!(told.contains(PROPOSED) && told.contains("takes no edits"), "{told}");
        assert!(!says_error(&model.requests()[1]), "{told}");
        assert_eq!(result["edits"], "proposed", "{result}");
        assert_eq!(client.seen("workspace/applyEdit"), Vec::<Value>::new());
        assert_eq!(client.text("/a.txt").unwrap(), "A\n");
    });
}

#[test]
fn a_new_file_is_there_for_the_next_step_though_the_client_makes_none() {
    let project = Project::new("");
    let new = call("write_file", json!({"path": "sub/new.txt", "text": "new\n"}));
    let look = call("read_file", json!({"path": "sub/new.txt"}));
    let model = FakeModel::start(Wire::Chat, [new, look, text("Made.")]);
    let mut client = Client::builder(&project)
        .model(&model)
        .settings(json!({"edits": "immediate"}))
        .capabilities(capabilities::with("/workspace/workspaceEdit", json!({})))
        .start();

    let result = client.ask("Make a file.");

    assert!(last_output(&model.requests()[1]).contains(APPLIED));
    assert_eq!(project.read("/sub/new.txt"), "new\n");
    assert_eq!(result["edits"], "applied", "{result}");
}

/// Nothing of it can be lost: the user is asked about it at the end.
#[test]
fn what_the_editor_cannot_do_stays_proposed_and_the_rest_is_applied() {
    let project = Project::new("//- /a.txt\nA\n//- /b.txt\nB\n");
    let step = edit("A", "AA").call("delete_file", json!({"path": "b.txt"}));
    let model = FakeModel::start(Wire::Chat, [step, text("Done.")]);
    let mut client = Client::builder(&project)
        .model(&model)
        .settings(json!({"edits": "immediate"}))
        .capabilities(capabilities::with("/workspace/workspaceEdit", json!({})))
        .start();
    client.open("/a.txt");

    let result = client.ask("Change a, delete b.");
    let question = client.wait_request("window/showMessageRequest");

    let told = output_texts(&model.requests()[1]);
    assert!(told[0].contains(APPLIED), "{told:?}");
    assert!(told[1].contains(PROPOSED) && told[1].contains("b.txt stays proposed"), "{told:?}");
    assert_eq!((&result["edits"], &result["files"]), (&json!("proposed"), &json!([client.uri("/b.txt")])));
    assert_eq!(client.text("/a.txt").unwrap(), "AA\n");
    assert!(project.exists("/b.txt"));
    client.reply(&question, Answer::Result(Value::Null));
}

/// Between the edit and the end of its step a call waits for its user, who types meanwhile.
#[test]
fn text_that_was_typed_meanwhile_is_not_overwritten_and_the_model_is_told() {
    on_every_wire(|wire| {
        let project = Project::new("//- /a.txt\nA\n");
        let note = project.beside("notes").join("note.txt");
        std::fs::write(&note, "beside\n").unwrap();
        let step = edit("A", "B").call("read_file", json!({"path": note}));
        let model = FakeModel::start(wire, [step, read(), text("You changed it.")]);
        let settings = json!({"edits": "immediate", "outside": "ask"});
        let mut client =
            Client::builder(&project).model(&model).settings(settings).manner(Manner::VsCode).start();
        client.open("/a.txt");

        let ask = client.send_ask("Make it B.");
        let question = client.wait_request("window/showMessageRequest");
        client.replace("/a.txt", "typed\n");
        client.reply(&question, Answer::Result(json!({"title": "Deny"})));
        let result = client.wait(&ask).unwrap();

        let requests = model.requests();
        let told = &output_texts(&requests[1])[0];
        assert!(told.starts_with("not applied: a.txt has changed"), "{told}");
        assert!(last_output(&requests[2]).contains("typed"), "{}", last_output(&requests[2]));
        assert_eq!(result["edits"], "conflict", "{result}");
        assert_eq!(client.text("/a.txt").unwrap(), "typed\n");
        assert_eq!(client.seen("workspace/applyEdit"), Vec::<Value>::new());
    });
}

#[test]
fn a_cancel_keeps_what_is_applied() {
    let project = Project::new("//- /a.txt\nA\n");
    let model = FakeModel::start(Wire::Chat, [edit("A", "B"), text("Changed.").gate()]);
    let mut client = immediate(&project, &model, Manner::VsCode);
    client.open("/a.txt");
    let ask = client.send_ask("Make it B.");
    wait(model.request(2));

    client.cancel_request(&ask);

    assert!(client.wait(&ask).is_err());
    assert_eq!(client.text("/a.txt").unwrap(), "B\n");
    assert_eq!(client.command("askls.status", json!({}))["proposals"], 0);
}

#[test]
fn an_edit_that_is_there_at_a_cancel_is_not_offered_though_the_editor_has_not_said_so() {
    let project = Project::new("//- /a.txt\nA\n");
    let model = FakeModel::start(Wire::Chat, [edit("A", "B")]);
    let mut client = immediate(&project, &model, Manner::VsCode);
    client.on_request("workspace/applyEdit", |_| Answer::Never);
    client.open("/a.txt");
    let ask = client.send_ask("Make it B.");
    client.wait_sent("workspace/applyEdit");
    client.replace("/a.txt", "B\n");

    client.cancel_request(&ask);

    assert!(client.wait(&ask).is_err());
    client.wait_status("proposals", 0);
}

/// An editor cannot be told to leave an edit: until it has applied it, the edit is on offer.
#[test]
fn an_edit_that_the_editor_has_in_hand_at_a_cancel_is_on_offer_until_it_is_there() {
    let project = Project::new("//- /a.txt\nA\n");
    let model = FakeModel::start(Wire::Chat, [edit("A", "B")]);
    let mut client = immediate(&project, &model, Manner::VsCode);
    client.on_request("workspace/applyEdit", |_| Answer::Never);
    client.open("/a.txt");
    let ask = client.send_ask("Make it B.");
    let applying = client.wait_sent("workspace/applyEdit");

    client.cancel_request(&ask);

    assert!(client.wait(&ask).is_err());
    client.wait_status("proposals", 1);
    client.reply(&applying, Answer::Apply);
    client.wait_text("/a.txt", "B\n");
    client.wait_status("proposals", 0);
}

/// What an editor or a shell runs by itself is more than an edit.
#[test]
fn a_file_that_runs_by_itself_is_asked_about_first() {
    for (title, told, edits) in
        [("Allow once", APPLIED, "applied"), ("Deny", "not applied: the user denied it", "refused")]
    {
        let project = Project::new("//- /a.txt\nA\n");
        let tasks = json!({"path": ".vscode/tasks.json", "text": "{\"run\": 1}\n"});
        let step = edit("A", "B").call("write_file", tasks);
        let model = FakeModel::start(Wire::Chat, [step, text("Added a task.")]);
        let mut client = immediate(&project, &model, Manner::VsCode);
        client.choose(title);

        let result = client.ask("Add a task.");

        let question = client.seen("window/showMessageRequest").remove(0);
        let shown = question["message"].as_str().unwrap();
        assert!(shown.contains("create .vscode/tasks.json") && shown.contains("+{\"run\": 1}"), "{shown}");
        let outputs = output_texts(&model.requests()[1]);
        assert!(outputs[0].contains(APPLIED), "{title}: {outputs:?}");
        assert!(outputs[1].contains(told), "{title}: {outputs:?}");
        assert_eq!(result["edits"], edits, "{title}: {result}");
        assert_eq!(project.exists("/.vscode/tasks.json"), title == "Allow once", "{title}");
        assert_eq!(client.seen("workspace/applyEdit").len(), 1, "{title}");
    }
}

#[test]
fn a_change_too_long_for_a_question_waits_for_the_end_of_the_turn() {
    let project = Project::new("");
    let tasks = json!({"path": ".vscode/tasks.json", "text": "long\n".repeat(1000)});
    let model = FakeModel::start(Wire::Chat, [call("write_file", tasks), text("Added tasks.")]);
    let mut client = immediate(&project, &model, Manner::VsCode);

    let result = client.ask("Add tasks.");
    let question = client.wait_request("window/showMessageRequest");

    assert!(last_output(&model.requests()[1]).contains("too long for a question"));
    assert_eq!(result["edits"], "proposed", "{result}");
    client.reply(&question, Answer::Result(Value::Null));
}

/// The user types while the editor is about to apply a step.
#[test]
fn what_the_user_types_elsewhere_in_the_file_does_not_void_an_edit() {
    on_every_wire(|wire| {
        for (typed, told, expected) in [
            ("mine\nb\nc\nd\n", APPLIED, "mine\nb\nc\nD\n"),
            ("a\nmine\nc\nd\n", "applied only in part: a.txt", "a\nmine\nc\nD\n"),
        ] {
            let project = Project::new("//- /a.txt\na\nb\nc\nd\n");
            let both = call(
                "edit_file",
                json!({"path": "a.txt", "edits": [
                    {"find": "b", "replace": "B"}, {"find": "d", "replace": "D"},
                ]}),
            );
            let step = if told == APPLIED { edit("d", "D") } else { both };
            let model = FakeModel::start(wire, [step, text("Done.")]);
            let mut client = immediate(&project, &model, Manner::VsCode);
            let mut is_first = true;
            client.on_request("workspace/applyEdit", move |_| match std::mem::take(&mut is_first) {
                true => Answer::Never,
                false => Answer::Apply,
            });
            client.open("/a.txt");
            let ask = client.send_ask("Change it.");
            let applying = client.wait_sent("workspace/applyEdit");
            client.replace("/a.txt", typed);
            client.reply(&applying, Answer::Apply);

            client.wait(&ask).unwrap();

            client.wait_text("/a.txt", expected);
            assert!(
                last_output(&model.requests()[1]).contains(told),
                "{}",
                last_output(&model.requests()[1])
            );
        }
    });
}

#[test]
fn nothing_in_the_words_of_an_editor_moves_a_cursor_or_turns_the_text() {
    let project = Project::new("//- /a.txt\nA\n");
    let model = FakeModel::start(Wire::Chat, [edit("A", "B"), text("No.")]);
    let mut client = immediate(&project, &model, Manner::VsCode);
    let reason = "no\u{1b}[31m \u{202e}txt";
    client.on_request("workspace/applyEdit", move |_| {
        Answer::Result(json!({"applied": false, "failureReason": reason}))
    });

    let result = client.ask("Make it B.");

    let shown = r"no\u{1b}[31m \u{202e}txt";
    assert!(result["detail"].as_str().unwrap().contains(shown), "{result}");
    assert!(last_output(&model.requests()[1]).contains(shown), "{}", last_output(&model.requests()[1]));
}

/// Whoever edits and runs the tests in one step means the edited files.
#[test]
fn a_command_sees_what_the_calls_before_it_in_its_step_have_made() {
    on_every_wire(|wire| {
        let project = Project::new("//- /a.txt\nA\n");
        let step = edit("A", "B").call("run_command", json!({"command": "cat a.txt"}));
        let model = FakeModel::start(wire, [step, text("Changed.")]);
        let settings = json!({"edits": "immediate", "approvals": "all"});
        let mut client = Client::builder(&project).model(&model).settings(settings).start();
        client.on_request("workspace/applyEdit", {
            let project = project.clone();
            move |_| {
                project.write("/a.txt", "B\n");
                Answer::Apply
            }
        });

        client.ask("Make it B, and look.");

        let told = last_output(&model.requests()[1]);
        assert!(told.ends_with("\nB"), "{told}");
    });
}

/// Rules hold for the script as the command would find it.
#[test]
fn a_script_that_a_call_before_it_in_its_step_has_changed_is_judged_as_it_is_then() {
    on_every_wire(|wire| {
        let project = Project::new("//- /x.sh\ntouch pulled\n");
        let edit = call("edit_file", json!({"path": "x.sh", "find": "pulled", "replace": "pushed"}));
        let step = edit.call("run_command", json!({"command": "sh x.sh"}));
        let model = FakeModel::start(wire, [step, text("Changed.")]);
        let settings = json!({"edits": "immediate", "approvals": "all", "deny": ["command: touch pushed"]});
        let mut client = Client::builder(&project).model(&model).settings(settings).start();
        client.on_request("workspace/applyEdit", {
            let project = project.clone();
            move |_| {
                project.write("/x.sh", "touch pushed\n");
                Answer::Apply
            }
        });

        client.ask("Run it.");

        let told = output_texts(&model.requests()[1]);
        assert!(told[0].contains(APPLIED), "{}", told[0]);
        assert!(told[1].starts_with("this call was not allowed and did not run"), "{}", told[1]);
        assert!(!project.path("/pushed").exists());
    });
}
