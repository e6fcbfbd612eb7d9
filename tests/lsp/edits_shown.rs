//! Where edits are proposed is seen in the text itself: hints and code lenses come, move and go with the hunks.

use askls::protocol::Wire;
use serde_json::{Value, json};

use crate::support::{
    Answer, Client, FakeModel, Project, capabilities, documents::lsp_range, model::*, transport::Received,
};

const TEXT: &str = "a\nb\nc\nd\ne\nf\n";

fn project() -> Project {
    Project::new(&format!("//- /x.txt\n{TEXT}"))
}

fn model() -> FakeModel {
    let edit = |find: &str, replace: &str| json!({"path": "x.txt", "find": find, "replace": replace});
    FakeModel::start(
        Wire::Chat,
        [
            call("edit_file", edit("c\n", "  C 1\n  C 2\n")).call("edit_file", edit("f\n", "f\ng\n")),
            text("Done."),
        ],
    )
}

fn asked(mut client: Client) -> Client {
    client.on_request("window/showMessageRequest", |_| Answer::Never);
    client.on_request("window/showDocument", |_| Answer::Result(json!({"success": true})));
    client.open("/x.txt");
    assert_eq!(client.ask("Change two places.")["edits"], "proposed");
    client
}

/// `3:0-3:1 4 message`, one for each diagnostic: its range, its severity, and what it says.
fn lines(params: &Value) -> Vec<String> {
    let position = |position: &Value| format!("{}:{}", position["line"], position["character"]);
    let line = |hint: &Value| {
        assert_eq!(hint["source"], "askls");
        let (start, end) = (position(&hint["range"]["start"]), position(&hint["range"]["end"]));
        format!("{start}-{end} {} {}", hint["severity"], hint["message"].as_str().unwrap())
    };
    params["diagnostics"].as_array().unwrap().iter().map(line).collect()
}

/// Waits until the last hints for the file are these.
fn wait_hints(client: &Client, expected: &[&str]) {
    let uri = client.uri("/x.txt");
    client.wait_until(&format!("the hints {expected:?}"), |received: &[Received]| {
        let mut hints = received.iter().map(|received| &received.message);
        let last = hints.rfind(|message| {
            message["method"] == "textDocument/publishDiagnostics" && message["params"]["uri"] == *uri
        });
        (lines(&last?["params"]) == expected).then_some(())
    });
}

fn lenses(client: &mut Client) -> Vec<Value> {
    let params = json!({"textDocument": {"uri": client.uri("/x.txt")}});
    client.request("textDocument/codeLens", params).as_array().cloned().unwrap_or_default()
}

fn lens_lines(lenses: &[Value]) -> Vec<String> {
    let line = |lens: &Value| {
        format!("{} {}", lens["range"]["start"]["line"], lens["command"]["title"].as_str().unwrap())
    };
    lenses.iter().map(line).collect()
}

/// SPEC C11
#[test]
fn hints_show_the_places_of_edits_until_they_are_decided() {
    let (project, model) = (project(), model());
    let mut client = asked(Client::start(&project, &model));
    let adds = r#"agent edit: adds 1 line: "g""#;
    let replaces = r#"agent edit: replaces 1 line by 2: "C 1…""#;
    wait_hints(&client, &[&format!("2:0-2:1 4 {replaces}"), &format!("5:0-5:1 4 {adds}")]);

    client.change("/x.txt", [0, 0, 0, 0], "typed\n");
    wait_hints(&client, &[&format!("3:0-3:1 4 {replaces}"), &format!("6:0-6:1 4 {adds}")]);

    client.change("/x.txt", [3, 0, 3, 1], "cc");
    let conflict = "agent edit no longer fits: you changed line 4 of x.txt, which the agent also edits. Undo your change \
                    or reject that edit";
    wait_hints(&client, &[&format!("3:0-3:2 3 {conflict}"), &format!("6:0-6:1 4 {adds}")]);

    client.change("/x.txt", [3, 0, 3, 2], "c");
    client.command("askls.rejectEdits", json!({"hunks": [2]}));
    wait_hints(&client, &[&format!("3:0-3:1 4 {replaces}")]);

    client.command("askls.acceptEdits", json!({}));
    wait_hints(&client, &[]);
}

#[test]
fn a_document_that_is_opened_again_has_its_hints_again() {
    let (project, model) = (project(), model());
    let client = asked(Client::start(&project, &model));
    let expected = [
        r#"2:0-2:1 4 agent edit: replaces 1 line by 2: "C 1…""#,
        r#"5:0-5:1 4 agent edit: adds 1 line: "g""#,
    ];
    wait_hints(&client, &expected);
    let published = client.seen("textDocument/publishDiagnostics").len();

    // As Neovim does on `:e`, dropping the hints that it had.
    client.close("/x.txt");
    client.open("/x.txt");
    client.wait_until("hints once more", |received: &[Received]| {
        let hints = received.iter().filter(|one| one.message["method"] == "textDocument/publishDiagnostics");
        (hints.count() > published).then_some(())
    });
    wait_hints(&client, &expected);
}

#[test]
fn of_very_many_hints_the_last_says_how_many_more() {
    let numbers = |from: usize| (0..240).map(|n| format!("{}\n", n * 10 + n % 2 * from)).collect::<String>();
    let project = Project::new(&format!("//- /x.txt\n{}", numbers(1)));
    let write = json!({"path": "x.txt", "text": numbers(2)});
    let read = call("read_file", json!({"path": "x.txt"}));
    let model = FakeModel::start(Wire::Chat, [read, call("write_file", write), text("Done.")]);
    let client = asked(Client::start(&project, &model));
    client.wait_until("the hints", |received| {
        let mut hints = received.iter().map(|received| &received.message);
        let last = hints.rfind(|message| message["method"] == "textDocument/publishDiagnostics")?;
        let lines = lines(&last["params"]);
        (lines.len() == 101).then(|| {
            assert!(
                lines[100].ends_with("20 more agent edits from here on; askls.showEdits lists all"),
                "{lines:?}"
            );
        })
    });
}

/// SPEC C11
#[test]
fn lenses_above_each_hunk_apply_reject_and_show_it() {
    let (project, model) = (project(), model());
    let mut client = asked(Client::start(&project, &model));
    assert!(client.initialized["capabilities"]["codeLensProvider"].is_object());
    client.wait_until("a refresh", |received| {
        received
            .iter()
            .find(|received| received.message["method"] == "workspace/codeLens/refresh")
            .map(|_| ())
    });
    let all = lenses(&mut client);
    assert_eq!(
        lens_lines(&all),
        ["2 askls: Apply", "2 Reject", "2 Show", "5 askls: Apply", "5 Reject", "5 Show"]
    );
    client.change("/x.txt", [0, 0, 0, 0], "typed\n");
    client.change("/x.txt", [5, 0, 5, 1], "E");
    client.change("/x.txt", [3, 0, 3, 1], "cc");
    assert_eq!(
        lens_lines(&lenses(&mut client)),
        ["3 askls: Reject (changed since)", "3 Show", "6 askls: Apply", "6 Reject", "6 Show"],
    );

    client.change("/x.txt", [3, 0, 3, 2], "c");
    let apply = &all[0]["command"];
    client.request(
        "workspace/executeCommand",
        json!({"command": apply["command"], "arguments": apply["arguments"]}),
    );
    client.wait_text("/x.txt", "typed\na\nb\n  C 1\n  C 2\nd\nE\nf\n");
    client.command("askls.rejectEdits", json!({}));
    assert_eq!(lenses(&mut client), Vec::<Value>::new());
}

#[test]
fn who_wants_no_lenses_or_hints_gets_none() {
    let (project, model) = (project(), model());
    let settings = json!({"edit_lenses": false, "edit_hints": false});
    let mut client = asked(Client::builder(&project).model(&model).settings(settings).start());
    assert_eq!(lenses(&mut client), Vec::<Value>::new());
    // A round of refreshing has passed when an offer of which all is there already has gone.
    client.replace("/x.txt", "a\nb\n  C 1\n  C 2\nd\ne\nf\n");
    client.change("/x.txt", [7, 0, 7, 0], "g\n");
    client.wait_status("proposals", 0);
    assert_eq!(client.seen("textDocument/publishDiagnostics"), Vec::<Value>::new());
    assert_eq!(client.seen("workspace/codeLens/refresh"), Vec::<Value>::new());
}

/// That nothing is sent which was not advertised is a rule of every test.
#[test]
fn an_editor_without_lenses_or_hints_still_has_actions() {
    for missing in ["/textDocument/codeLens", "/textDocument/publishDiagnostics", "/workspace/codeLens"] {
        let (project, model) = (project(), model());
        let said = capabilities::without(missing);
        let mut client = asked(Client::builder(&project).model(&model).capabilities(said).start());
        let has_lenses = client.initialized["capabilities"]["codeLensProvider"].is_object();
        assert_eq!(has_lenses, missing != "/textDocument/codeLens", "{missing}");
        let params = json!({
            "textDocument": {"uri": client.uri("/x.txt")},
            "range": lsp_range([2, 0, 2, 0]),
            "context": {"diagnostics": []},
        });
        let actions = client.request("textDocument/codeAction", params);
        assert_eq!(actions[0]["title"], "Apply this agent edit (line 3)", "{missing}");
        client.replace("/x.txt", "a\nb\n  C 1\n  C 2\nd\ne\nf\n");
        client.change("/x.txt", [7, 0, 7, 0], "g\n");
        client.wait_status("proposals", 0);
    }
}

/// Typing costs nothing, however much waits.
#[test]
fn two_thousand_changes_with_a_thousand_hunks_on_offer() {
    let numbers =
        |from: usize| (0..2_000).map(|n| format!("{}\n", n * 10 + n % 2 * from)).collect::<String>();
    let project = Project::new(&format!("//- /x.txt\n{}", numbers(1)));
    let write = json!({"path": "x.txt", "text": numbers(2)});
    let read = |from: usize| json!({"path": "x.txt", "start_line": from});
    let model = FakeModel::start(
        Wire::Chat,
        [call("read_file", read(1)).call("read_file", read(1_001)), call("write_file", write), text("Done.")],
    );
    let mut client = asked(Client::start(&project, &model));
    for n in 0..2_000 {
        client.change("/x.txt", [0, n, 0, n], "x");
    }
    client.change("/x.txt", [1_999, 0, 1_999, 0], "y");
    let shown = client.command("askls.showEdits", json!({}));
    let hunks = shown["edits"][0]["hunks"].as_array().unwrap();
    let unfit = hunks.iter().filter(|hunk| hunk["state"] == "conflict").count();
    assert_eq!((hunks.len(), unfit), (1_000, 1));
    client.command("askls.acceptEdits", json!({"partial": true}));
    let typed = format!("{}{}", "x".repeat(2_000), numbers(2));
    let last = "\n19990\n";
    let expected = typed.replace("\n19992\n", &format!("\ny{}", &last[1..])).replace("y19990", "y19991");
    client.wait_text("/x.txt", &expected);
}

/// Editors keep what a server said last until it says something else, some beyond its end.
#[test]
fn hints_are_gone_before_the_answer_to_shutdown() {
    let (project, model) = (project(), model());
    let mut client = asked(Client::start(&project, &model));
    let uri = client.uri("/x.txt");
    client.wait_for("hints", |message| {
        message["method"] == "textDocument/publishDiagnostics"
            && message["params"]["diagnostics"] != json!([])
    });

    client.shut_down();

    let last = client.seen("textDocument/publishDiagnostics").pop().unwrap();
    assert_eq!((&last["uri"], &last["diagnostics"]), (&json!(uri), &json!([])));
    client.wait_until("the answer behind the last hints", |received: &[Received]| {
        let last = received.iter().rfind(|it| it.message["method"] != "window/logMessage")?;
        (last.message["result"] == Value::Null && last.message.get("method").is_none()).then_some(())
    });
}

#[test]
fn show_above_a_hunk_shows_that_hunk_alone() {
    let (project, model) = (project(), model());
    let mut client = asked(Client::start(&project, &model));
    let lenses = lenses(&mut client);
    let show = lenses.iter().find(|lens| lens["command"]["title"] == "Show").unwrap();

    let shown = client.command("askls.showEdits", show["command"]["arguments"][0].clone());

    let diff = shown["diff"].as_str().unwrap();
    assert!(diff.contains("-c\n+  C 1\n+  C 2\n") && !diff.contains("+g"), "{diff}");
    assert_eq!(client.read_shown(&shown["uri"]), diff);
    assert_eq!(shown["edits"][0]["hunks"].as_array().unwrap().len(), 2, "{shown}");
}
