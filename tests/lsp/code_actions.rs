//! Turns and edits from the light bulb: code actions that any editor can show, with no plugin.

use askls::protocol::Wire;
use serde_json::{Value, json};

use crate::support::{
    Answer, Client, FakeModel, Project, capabilities, documents::lsp_range, model::*, on_every_wire,
};

/// Asks for code actions at a range, with these diagnostics.
fn actions(client: &mut Client, path: &str, range: [u64; 4], context: Value) -> Vec<Value> {
    let params = json!({
        "textDocument": {"uri": client.uri(path)},
        "range": lsp_range(range),
        "context": context,
    });
    client.request("textDocument/codeAction", params).as_array().cloned().unwrap_or_default()
}

fn titles(actions: &[Value]) -> Vec<&str> {
    actions.iter().map(|action| action["title"].as_str().expect("a title")).collect()
}

/// Runs the command of the action with this title, as an editor does when it is picked.
fn pick(client: &mut Client, actions: &[Value], title: &str) -> Value {
    let action = actions
        .iter()
        .find(|action| action["title"] == title)
        .unwrap_or_else(|| panic!("{title} is not among {:?}", titles(actions)));
    let command = &action["command"];
    client.request(
        "workspace/executeCommand",
        json!({"command": command["command"], "arguments": command["arguments"]}),
    )
}

const CODE: &str = "//- /a.rs\nfn main() {\n    // ask: how does this end?\n    let x = 1;\n}\n";

#[test]
fn a_selection_can_be_explained_fixed_documented_and_tested() {
    on_every_wire(|wire| {
        let model = FakeModel::answering(wire, |_| text("Done."));
        let mut client = Client::start(&Project::new(CODE), &model);
        client.open("/a.rs");
        let offered = actions(&mut client, "/a.rs", [2, 4, 2, 14], json!({"diagnostics": []}));
        for title in ["Explain with agent", "Fix with agent", "Document with agent", "Write tests with agent"]
        {
            let result = pick(&mut client, &offered, title);
            assert_eq!(result["answer"], "Done.", "{title}");
            let told = model.requests().last().unwrap().prompt();
            assert!(told.contains("let x = 1;") && told.contains("a.rs"), "{title}: {told}");
        }
        for action in &offered {
            assert!(action.get("edit").is_none(), "command-only: {action}");
            let kind = action["kind"].as_str().unwrap();
            assert!(kind.starts_with("quickfix") || kind.starts_with("refactor"), "{action}");
        }
    });
}

#[test]
fn a_diagnostic_can_be_fixed() {
    on_every_wire(|wire| {
        let model = FakeModel::start(wire, [text("Fixed.")]);
        let mut client = Client::start(&Project::new(CODE), &model);
        client.open("/a.rs");
        let diagnostic = json!({
            "range": lsp_range([2, 8, 2, 9]),
            "severity": 2,
            "code": "unused_variables",
            "source": "rustc",
            "message": "unused variable: `x`",
        });
        let offered = actions(&mut client, "/a.rs", [2, 8, 2, 8], json!({"diagnostics": [diagnostic]}));
        let title = "Fix with agent: unused variable: `x`";
        let action = offered.iter().find(|action| action["title"] == title).expect(title);
        assert_eq!(action["kind"], "quickfix");
        pick(&mut client, &offered, title);
        let told = model.requests()[0].prompt();
        assert!(told.contains("unused variable: `x`") && told.contains("a.rs"), "{told}");
    });
}

#[test]
fn a_comment_line_that_asks_can_be_asked() {
    on_every_wire(|wire| {
        let model = FakeModel::start(wire, [text("At its end.")]);
        let mut client = Client::start(&Project::new(CODE), &model);
        client.open("/a.rs");
        let offered = actions(&mut client, "/a.rs", [1, 10, 1, 10], json!({"diagnostics": []}));
        let result = pick(&mut client, &offered, "Ask agent: how does this end?");
        assert_eq!(result["answer"], "At its end.");
        assert!(model.requests()[0].prompt().contains("how does this end?"));
        let elsewhere = actions(&mut client, "/a.rs", [0, 0, 0, 0], json!({"diagnostics": []}));
        assert!(!titles(&elsewhere).iter().any(|title| title.starts_with("Ask agent")), "{elsewhere:?}");
    });
}

#[test]
fn proposed_edits_can_be_applied_in_the_file_in_all_files_or_rejected() {
    on_every_wire(|wire| {
        for (title, expected, left) in [
            ("Apply all agent edits in this file", ("AA\n", "B\n"), 1),
            ("Apply every edit of this turn (2 files)", ("AA\n", "BB\n"), 0),
            ("Reject every edit of this turn (2 files)", ("A\n", "B\n"), 0),
        ] {
            let model = FakeModel::start(
                wire,
                [
                    call("edit_file", json!({"path": "a.txt", "find": "A", "replace": "AA"}))
                        .call("edit_file", json!({"path": "b.txt", "find": "B", "replace": "BB"})),
                    text("Doubled."),
                ],
            );
            let mut client =
                Client::start(&Project::new("//- /a.txt\nA\n//- /b.txt\nB\n//- /c.txt\nC\n"), &model);
            client.on_request("window/showMessageRequest", |_| Answer::Never);
            client.tolerate("window/showMessage");
            for path in ["/a.txt", "/b.txt", "/c.txt"] {
                client.open(path);
            }
            client.ask("Double.");

            let untouched = actions(&mut client, "/c.txt", [0, 0, 0, 0], json!({"diagnostics": []}));
            assert!(!titles(&untouched).contains(&title), "{untouched:?}");
            let offered = actions(&mut client, "/a.txt", [0, 0, 0, 0], json!({"diagnostics": []}));
            pick(&mut client, &offered, title);

            client.wait_text("/a.txt", expected.0);
            client.wait_text("/b.txt", expected.1);
            assert_eq!(client.command("askls.status", json!({}))["proposals"], left, "{title}");
            let after = actions(&mut client, "/a.txt", [0, 0, 0, 0], json!({"diagnostics": []}));
            assert!(!titles(&after).contains(&title), "{after:?}");
        }
    });
}

/// An edit that would be refused is not offered for applying.
#[test]
fn a_stale_edit_can_only_be_rejected() {
    on_every_wire(|wire| {
        let model = FakeModel::start(
            wire,
            [call("edit_file", json!({"path": "a.txt", "find": "A", "replace": "B"})), text("Changed.")],
        );
        let mut client = Client::start(&Project::new("//- /a.txt\nA\n"), &model);
        client.on_request("window/showMessageRequest", |_| Answer::Never);
        client.open("/a.txt");
        client.ask("Make it B.");
        client.replace("/a.txt", "typed\n");

        let offered = actions(&mut client, "/a.txt", [0, 0, 0, 0], json!({"diagnostics": []}));
        assert_eq!(
            titles(&offered),
            [
                "Reject this agent edit (you changed this line)",
                "Reject all agent edits in this file",
                "Reject every edit of this turn (1 file)",
            ],
        );

        client.replace("/a.txt", "A\n");
        let offered = actions(&mut client, "/a.txt", [0, 0, 0, 0], json!({"diagnostics": []}));
        assert_eq!(titles(&offered).len(), 6);
    });
}

/// Editors show nobody the result of a code action's command.
#[test]
fn an_action_that_changes_nothing_says_why() {
    on_every_wire(|wire| {
        let project = Project::new("//- /a.txt\nA\n");
        let model = FakeModel::start(
            wire,
            [call("edit_file", json!({"path": "a.txt", "find": "A", "replace": "B"})), text("Changed.")],
        );
        let mut client = Client::start(&project, &model);
        client.on_request("window/showMessageRequest", |_| Answer::Never);
        client.ask("Make it B.");
        let offered = actions(&mut client, "/a.txt", [0, 0, 0, 0], json!({"diagnostics": []}));
        project.write("/a.txt", "saved by somebody else\n");

        assert_eq!(pick(&mut client, &offered, "Apply all agent edits in this file")["applied"], false);

        let shown = client.wait_notification("window/showMessage");
        assert!(
            shown["message"].as_str().unwrap().contains("a.txt was changed on disk at line 1"),
            "{shown}"
        );
        // Who asks for the result has it and needs no message.
        assert_eq!(client.command("askls.acceptEdits", json!({}))["applied"], false);
    });
}

#[test]
fn only_the_kinds_that_the_editor_wants_are_offered() {
    let mut client = Client::builder(&Project::new(CODE)).start();
    client.open("/a.rs");
    let at = [1, 0, 2, 14];
    for (only, expected) in
        [(json!(["refactor"]), true), (json!(["quickfix"]), false), (json!(["source"]), false)]
    {
        let context = json!({"diagnostics": [], "only": only});
        let offered = actions(&mut client, "/a.rs", at, context);
        assert_eq!(titles(&offered).contains(&"Explain with agent"), expected, "{only}");
        assert!(
            offered
                .iter()
                .all(|action| action["kind"].as_str().unwrap().starts_with(only[0].as_str().unwrap()))
        );
    }
}

/// VS Code resolves command-only actions too: what comes back is what went in.
#[test]
fn resolving_an_action_changes_nothing() {
    let mut client = Client::builder(&Project::new(CODE)).start();
    client.open("/a.rs");
    for action in actions(&mut client, "/a.rs", [2, 4, 2, 14], json!({"diagnostics": []})) {
        // A server that announces no resolving is not asked; one that does must hand it back.
        match client.call("codeAction/resolve", action.clone()) {
            Ok(resolved) => assert_eq!(resolved, action),
            Err(failure) => assert_eq!(failure.code, -32601),
        }
    }
}

#[test]
fn a_client_without_literals_gets_commands() {
    let model = FakeModel::start(Wire::Chat, [text("Explained.")]);
    let mut client = Client::builder(&Project::new(CODE))
        .model(&model)
        .capabilities(capabilities::without("/textDocument/codeAction/codeActionLiteralSupport"))
        .start();
    client.open("/a.rs");
    let offered = actions(&mut client, "/a.rs", [2, 4, 2, 14], json!({"diagnostics": []}));
    let command = offered.iter().find(|command| command["title"] == "Explain with agent").unwrap();
    assert!(command["command"].is_string(), "{command}");
    let params = json!({"command": command["command"], "arguments": command["arguments"]});
    assert_eq!(client.request("workspace/executeCommand", params)["answer"], "Explained.");
}

#[test]
fn a_file_that_is_not_open_or_outside_is_answered_too() {
    let mut client = Client::builder(&Project::new(CODE)).start();
    for uri in [
        client.uri("/a.rs"),
        client.uri("/missing.rs"),
        "untitled:x".to_owned(),
        "file:///etc/hosts".to_owned(),
    ] {
        let params = json!({
            "textDocument": {"uri": uri},
            "range": lsp_range([0, 0, 99, 0]),
            "context": {"diagnostics": []},
        });
        assert!(client.call("textDocument/codeAction", params).is_ok(), "{uri}");
    }
}
