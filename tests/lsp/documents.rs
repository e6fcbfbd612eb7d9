//! What the server knows of the open buffers: unsaved text wins over the disk, whatever the editor did to it.

use askls::protocol::Wire;
use serde_json::{Value, json};

use crate::support::{
    Answer, Client, FakeModel, Project, capabilities, history::last_output, model::*, on_every_wire,
};

fn model_that_reads(wire: Wire, path: &str) -> FakeModel {
    FakeModel::start(wire, [call("read_file", json!({"path": path})), text("Read.")])
}

/// What a read of this file by the model gives now.
fn read(client: &mut Client, model: &FakeModel) -> String {
    client.ask("Read it.");
    last_output(model.requests().last().unwrap())
}

/// SPEC T17
#[test]
fn an_unsaved_buffer_wins_over_the_disk() {
    on_every_wire(|wire| {
        let project = Project::new("//- /a.txt\non disk\n");
        let model = model_that_reads(wire, "a.txt");
        let mut client = Client::start(&project, &model);
        client.open("/a.txt");
        client.change("/a.txt", [0, 0, 0, 7], "typed");

        let seen = read(&mut client, &model);

        assert!(seen.contains("typed") && !seen.contains("on disk"), "{seen}");
    });
}

/// SPEC T17
#[test]
fn a_search_finds_what_was_typed_and_not_what_was_deleted() {
    on_every_wire(|wire| {
        let project = Project::new("//- /a.txt\nold needle\n//- /b.txt\nother needle\n");
        let model = FakeModel::start(wire, [call("search", json!({"pattern": "needle"})), text("Found.")]);
        let mut client = Client::start(&project, &model);
        client.open("/a.txt");
        client.replace("/a.txt", "hay\nnew needle\n");

        let seen = read(&mut client, &model);

        assert!(seen.contains("new needle") && seen.contains("other needle"), "{seen}");
        assert!(!seen.contains("old needle"), "{seen}");
    });
}

#[test]
fn after_closing_the_disk_counts_again() {
    on_every_wire(|wire| {
        let project = Project::new("//- /a.txt\nsaved\n");
        let model = model_that_reads(wire, "a.txt");
        let mut client = Client::start(&project, &model);
        client.open("/a.txt");
        client.replace("/a.txt", "typed\n");
        client.close("/a.txt");
        let seen = read(&mut client, &model);
        assert!(seen.contains("saved") && !seen.contains("typed"), "{seen}");
    });
}

/// The spelling of a URI is the editor's affair.
#[test]
fn a_buffer_is_found_however_its_uri_is_escaped() {
    let project = Project::new("//- /a b+ä.txt\nsaved\n");
    let spelled = [
        project.root_uri() + "/a%20b%2B%C3%A4.txt",
        project.root_uri() + "/a%20b+%c3%a4.txt",
        project.root_uri() + "/a%20b+ä.txt",
        project.root_uri() + "/./a%20b%2b%C3%A4.txt",
    ];
    for uri in spelled {
        let model = model_that_reads(Wire::Chat, "a b+ä.txt");
        let mut client = Client::start(&project, &model);
        let item = json!({"uri": uri, "languageId": "plaintext", "version": 1, "text": "typed\n"});
        client.notify("textDocument/didOpen", json!({"textDocument": item}));
        let seen = read(&mut client, &model);
        assert!(seen.contains("typed"), "{uri}: {seen}");
    }
}

/// A file that was never saved has no place on disk.
#[test]
fn an_untitled_buffer_can_be_asked_about() {
    let model = FakeModel::start(Wire::Responses, [text("A draft.")]);
    let mut client = Client::start(&Project::new(""), &model);
    client.open_uri("untitled:Untitled-1", "a draft of a letter\n");
    let range = json!({"start": {"line": 0, "character": 2}, "end": {"line": 0, "character": 7}});
    client
        .command("askls.ask", json!({"prompt": "What is it?", "uri": "untitled:Untitled-1", "range": range}));
    let told = model.requests()[0].prompt();
    assert!(told.contains("draft"), "{told}");
}

#[test]
fn incremental_changes_are_counted_in_the_encoding_that_was_agreed_on() {
    for (encoding, end) in [("utf-8", 4), ("utf-16", 2), ("utf-32", 1)] {
        let project = Project::new("//- /a.txt\n😀 face\r\nsecond\r\n");
        let model = model_that_reads(Wire::Chat, "a.txt");
        let mut client = Client::builder(&project)
            .model(&model)
            .capabilities(capabilities::with("/general/positionEncodings", json!([encoding])))
            .start();
        client.open("/a.txt");
        client.change("/a.txt", [0, 0, 0, end], "smiling");
        client.change("/a.txt", [1, 0, 1, 6], "2nd");
        let seen = read(&mut client, &model);
        assert!(seen.contains("smiling face") && seen.contains("2nd"), "{encoding}: {seen}");
        assert!(!seen.contains("second"), "{encoding}: {seen}");
    }
}

#[test]
fn several_changes_of_one_notification_follow_each_other() {
    let project = Project::new("//- /a.txt\nabc\n");
    let model = model_that_reads(Wire::Chat, "a.txt");
    let mut client = Client::start(&project, &model);
    let uri = client.open("/a.txt");
    let at = |character: u64| json!({"line": 0, "character": character});
    client.notify(
        "textDocument/didChange",
        json!({
            "textDocument": {"uri": uri, "version": 2},
            "contentChanges": [
                {"range": {"start": at(0), "end": at(1)}, "text": "xyz"},
                {"range": {"start": at(3), "end": at(4)}, "text": "-"},
                {"range": {"start": at(0), "end": at(0)}, "text": ">"},
            ],
        }),
    );
    let seen = read(&mut client, &model);
    assert!(seen.contains(">xyz-c"), "{seen}");
}

/// A client may be wrong about its own text. The server must not be wrong about the next message because of it.
#[test]
fn changes_that_fit_nothing_do_no_harm() {
    let project = Project::new("//- /a.txt\nabc\n");
    let model = model_that_reads(Wire::Chat, "a.txt");
    let mut client = Client::start(&project, &model);
    let uri = client.open("/a.txt");
    let range = |line: u64, character: u64, end_line: u64, end_character: u64| json!({"start": {"line": line, "character": character}, "end": {"line": end_line, "character": end_character}});
    for changes in [
        json!([{"range": range(9, 9, 99, 99), "text": "x"}]),
        json!([{"range": range(0, 3, 0, 0), "text": "x"}]),
        json!([{"range": range(4_294_967_295, 0, 4_294_967_295, 4_294_967_295), "text": ""}]),
        json!([]),
    ] {
        let document = json!({"uri": uri, "version": 2});
        client.notify("textDocument/didChange", json!({"textDocument": document, "contentChanges": changes}));
    }
    let nobody = json!({"uri": "file:///nobody/opened/this", "version": 1});
    client
        .notify("textDocument/didChange", json!({"textDocument": nobody, "contentChanges": [{"text": "x"}]}));
    client.notify("textDocument/didClose", json!({"textDocument": nobody}));
    client.replace("/a.txt", "whole again\n");
    client.tolerate("window/showMessage");
    let seen = read(&mut client, &model);
    assert!(seen.contains("whole again"), "{seen}");
}

/// The library drops such a message without a word, and every change after it would land in the wrong place.
#[test]
fn a_change_that_cannot_be_read_makes_its_document_lost_until_it_is_opened_again() {
    let at = |line: Value| json!({"line": line, "character": 0});
    let range = |line: Value| json!({"start": at(line.clone()), "end": at(line)});
    for (version, change) in [
        (Value::Null, json!({"text": "x"})),
        (json!("2"), json!({"text": "x"})),
        (json!(2), json!({"text": null})),
        (json!(2), json!({"text": "x", "range": range(json!(-1))})),
        (json!(2), json!({"text": "x", "range": range(json!(0.5))})),
    ] {
        let project = Project::new("//- /a.txt\nA\n");
        let model = FakeModel::start(
            Wire::Chat,
            [call("edit_file", json!({"path": "a.txt", "find": "A", "replace": "B"})), text("Changed.")],
        );
        let mut client = Client::builder(&project).model(&model).settings(json!({"edits": "apply"})).start();
        client.on_request("window/showMessageRequest", |_| Answer::Never);
        let uri = client.open("/a.txt");
        let params = json!({"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]});
        client.notify("textDocument/didChange", params.clone());
        let warning = client.wait_notification("window/showMessage");
        assert!(warning["message"].as_str().unwrap().starts_with("askls lost track of "), "{warning}");
        client.notify("textDocument/didChange", params);

        let result = client.ask("Make it B.");

        assert_eq!(result["edits"], "conflict", "{change}: {result}");
        client.wait_notification("window/showMessage");
        assert_eq!(client.seen("workspace/applyEdit"), Vec::<Value>::new(), "{change}");
        client.close("/a.txt");
        client.open("/a.txt");
        assert_eq!(client.command("askls.acceptEdits", json!({}))["applied"], true, "{change}");
        client.wait_text("/a.txt", "B\n");
    }
}

#[test]
fn opening_twice_takes_the_newer_text() {
    let project = Project::new("//- /a.txt\nsaved\n");
    let model = model_that_reads(Wire::Chat, "a.txt");
    let mut client = Client::start(&project, &model);
    client.open("/a.txt");
    client.open_uri(&client.uri("/a.txt"), "opened again\n");
    let seen = read(&mut client, &model);
    assert!(seen.contains("opened again"), "{seen}");
}

/// The text of an edit is the buffer's, not the disk's.
#[test]
fn an_edit_is_made_in_the_unsaved_text() {
    on_every_wire(|wire| {
        let project = Project::new("//- /a.txt\nsaved\n");
        let model = FakeModel::start(
            wire,
            [
                call("edit_file", json!({"path": "a.txt", "find": "typed", "replace": "edited"})),
                text("Edited."),
            ],
        );
        let mut client = Client::builder(&project).model(&model).settings(json!({"edits": "apply"})).start();
        client.open("/a.txt");
        client.replace("/a.txt", "typed\nmore\n");
        assert_eq!(client.ask("Edit it.")["edits"], "applied");
        assert_eq!(client.text("/a.txt").unwrap(), "edited\nmore\n");
        assert_eq!(project.read("/a.txt"), "saved\n");
    });
}

#[test]
fn the_root_that_was_added_is_read_and_the_one_that_was_removed_is_not() {
    on_every_wire(|wire| {
        let project = Project::new("//- /a.txt\nfirst root\n");
        let other = project.beside("other");
        std::fs::write(other.join("b.txt"), "second root\n").unwrap();
        let other_path = other.join("b.txt").to_str().unwrap().to_owned();
        let own_path = project.path("/a.txt").to_str().unwrap().to_owned();
        let read_both =
            || call("read_file", json!({"path": other_path})).call("read_file", json!({"path": own_path}));
        let model = FakeModel::start(
            wire,
            [read_both(), text("One."), read_both(), text("Two."), read_both(), text("Three.")],
        );
        let mut client = Client::start(&project, &model);
        let folder = |uri: String| json!({"uri": uri, "name": "a folder"});
        let (own, other) = (folder(project.root_uri()), folder(crate::support::project::file_uri(&other)));
        let mut outputs = Vec::new();
        for change in
            [Value::Null, json!({"added": [other], "removed": []}), json!({"added": [], "removed": [own]})]
        {
            if !change.is_null() {
                client.notify("workspace/didChangeWorkspaceFolders", json!({"event": change}));
            }
            client.ask("Read both.");
            let all = crate::support::history::output_texts(model.requests().last().unwrap());
            outputs.push((all[0].contains("second root"), all[1].contains("first root")));
        }
        assert_eq!(outputs, [(false, true), (true, true), (true, false)]);
    });
}

#[test]
fn several_roots_are_listed_by_their_names() {
    let project = Project::new("//- /a.txt\nfirst\n");
    let other = project.beside("other");
    std::fs::write(other.join("b.txt"), "second\n").unwrap();
    let model = FakeModel::start(Wire::Chat, [call("list_files", json!({})), text("Two roots.")]);
    let mut client = Client::builder(&project)
        .model(&model)
        .initialize(json!({"workspaceFolders": [
            {"uri": project.root_uri(), "name": "my project"},
            {"uri": crate::support::project::file_uri(&other), "name": "other"},
        ]}))
        .start();
    let seen = read(&mut client, &model);
    assert!(seen.contains("my project") && seen.contains("other"), "{seen}");
}
