//! What the user does while the next turn of a thread runs: its answer never undoes what they decided about the hunks of an
//! earlier turn, nor loses one that they left, wherever they type.

use askls::protocol::Wire;
use serde_json::{Value, json};

use crate::support::{Answer, Client, FakeModel, Project, model::*, wait};

const TEXT: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";

pub(super) fn edit(path: &str, find: &str, replace: &str) -> Reply {
    call("edit_file", json!({"path": path, "find": find, "replace": replace}))
}

/// Replaces the second line and the sixth.
pub(super) fn first() -> Reply {
    edit("a.txt", "two", "TWO").call("edit_file", json!({"path": "a.txt", "find": "six", "replace": "SIX"}))
}

/// Adds a line behind the second.
fn insertion() -> Reply {
    edit("a.txt", "two\n", "two\nNEW\n")
}

fn read() -> Reply {
    call("read_file", json!({"path": "b.txt"}))
}

/// A second turn does `before`, then the user does something, then it does `after` and ends.
struct Scene {
    settings: Value,
    first: Reply,
    before: Reply,
    after: Reply,
}

impl Scene {
    fn new(first: Reply, before: Reply) -> Self {
        Self { settings: json!({}), first, before, after: text("Nothing more.") }
    }

    /// The client after it, and how the second turn ended.
    fn play(self, user: impl FnOnce(&mut Client)) -> (Client, Value) {
        self.play_with(|_| {}, user)
    }

    /// The same with an editor that is told how to behave before the first turn.
    fn play_with(self, editor: impl FnOnce(&Client), user: impl FnOnce(&mut Client)) -> (Client, Value) {
        let project = Project::new(&format!("//- /a.txt\n{TEXT}//- /b.txt\nb\n"));
        let gate = read().gate();
        let replies = [self.first, text("One."), self.before, gate, self.after, text("Two.")];
        let model = FakeModel::start(Wire::Chat, replies).allow_unused();
        let mut client = Client::builder(&project).model(&model).settings(self.settings).start();
        client.on_request("window/showMessageRequest", |_| Answer::Never);
        client.on_request("window/showDocument", |_| Answer::Result(json!({"success": true})));
        client.tolerate("window/showMessage");
        editor(&client);
        client.open("/a.txt");
        let thread = client.ask("First.")["threadId"].clone();

        let second = client.send_command("askls.ask", json!({"prompt": "Second.", "threadId": thread}));
        wait(model.request(4));
        user(&mut client);
        model.release(4);
        let end = client.wait(&second).expect("an answer");
        (client, end)
    }
}

/// `a.txt two -> TWO`, one for each hunk that waits.
pub(super) fn waiting(client: &mut Client) -> Vec<String> {
    let shown = client.command("askls.showEdits", json!({}));
    let files = shown["edits"].as_array().into_iter().flatten();
    let hunks = files.flat_map(|file| {
        let name = file["uri"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        file["hunks"].as_array().into_iter().flatten().map(move |hunk| {
            let line = |member: &str| hunk[member].as_str().unwrap().trim_end().replace('\n', "+");
            format!("{name} {} -> {} {}", line("oldText"), line("newText"), hunk["state"].as_str().unwrap())
        })
    });
    hunks.collect()
}

fn accept(client: &mut Client, argument: Value) {
    let accepted = client.command("askls.acceptEdits", argument);
    assert_eq!(accepted["applied"], true, "{accepted}");
}

fn reject(client: &mut Client, argument: Value) {
    let rejected = client.command("askls.rejectEdits", argument);
    assert_eq!(rejected["rejected"], 1, "{rejected}");
}

#[test]
fn what_is_rejected_stays_rejected() {
    let (mut client, end) = Scene::new(first(), read()).play(|client| reject(client, json!({})));
    assert_eq!(end["edits"], "none");
    assert_eq!(waiting(&mut client), Vec::<String>::new());

    let scene = Scene::new(first(), edit("a.txt", "four", "FOUR"));
    let (mut client, _) = scene.play(|client| reject(client, json!({"hunks": [1]})));
    assert_eq!(waiting(&mut client), ["a.txt four -> FOUR pending", "a.txt six -> SIX pending"]);
    accept(&mut client, json!({}));
    client.wait_text("/a.txt", "one\ntwo\nthree\nFOUR\nfive\nSIX\nseven\n");
}

#[test]
fn what_is_rejected_is_not_applied_by_the_next_turn() {
    let mut scene = Scene::new(first(), read());
    scene.settings = json!({"edits": "apply"});
    scene.after = edit("a.txt", "four", "FOUR");
    // The editor refuses the edits of the first turn, so that they wait.
    let refuses = |client: &Client| {
        let mut is_first = true;
        client.on_request("workspace/applyEdit", move |_| match std::mem::take(&mut is_first) {
            true => Answer::Result(json!({"applied": false, "failureReason": "not now"})),
            false => Answer::Apply,
        });
    };
    let (client, end) = scene.play_with(refuses, |client| reject(client, json!({"hunks": [1]})));
    assert_eq!(end["edits"], "applied");
    assert_eq!(client.text("/a.txt").unwrap(), "one\ntwo\nthree\nFOUR\nfive\nSIX\nseven\n");
}

#[test]
fn what_is_accepted_is_not_proposed_again_whatever_the_turn_makes_beside_it() {
    for (find, replace, hunk) in
        [("two", "TWO", "two -> TWO"), ("three", "THREE", "three -> THREE"), ("NEW", "NEWER", "NEW -> NEWER")]
    {
        let scene = Scene::new(insertion(), edit("a.txt", find, replace));
        let (mut client, _) = scene.play(|client| accept(client, json!({"hunks": [1]})));
        assert_eq!(waiting(&mut client), [format!("a.txt {hunk} pending")]);
        accept(&mut client, json!({}));
        client.wait_text("/a.txt", &TEXT.replace("two\n", "two\nNEW\n").replace(find, replace));
    }
}

#[test]
fn typing_elsewhere_loses_no_hunk_and_stops_no_edit() {
    for (after, middle, other) in [
        (edit("a.txt", "FOUR", "4"), "4", None),
        (edit("b.txt", "b", "B"), "FOUR", Some("b.txt b -> B pending")),
        (text("Nothing more."), "FOUR", None),
    ] {
        let mut scene = Scene::new(first(), edit("a.txt", "four", "FOUR"));
        scene.after = after;
        let (mut client, _) = scene.play(|client| client.change("/a.txt", [0, 0, 0, 0], "zero\n"));
        let middle = format!("a.txt four -> {middle} pending");
        let expected = ["a.txt two -> TWO pending", &middle, "a.txt six -> SIX pending"];
        assert_eq!(waiting(&mut client), expected.into_iter().chain(other).collect::<Vec<_>>());
    }
}

#[test]
fn typing_in_a_hunk_puts_it_in_conflict_and_no_other() {
    let scene = Scene::new(first(), read());
    let (mut client, _) = scene.play(|client| client.change("/a.txt", [1, 0, 1, 3], "2"));
    assert_eq!(waiting(&mut client), ["a.txt two -> TWO conflict", "a.txt six -> SIX pending"]);
}

#[test]
fn a_turn_that_takes_back_all_that_was_proposed_leaves_nothing_to_decide() {
    let back = edit("a.txt", "TWO", "two")
        .call("edit_file", json!({"path": "a.txt", "find": "SIX", "replace": "six"}));
    let (mut client, end) = Scene::new(first(), back).play(|_| {});
    assert_eq!(end["edits"], "none");
    assert_eq!(waiting(&mut client), Vec::<String>::new());
}

/// The editor has the first hunk while the second turn ends, or since before it began, and refuses it afterwards, or not.
#[test]
fn a_hunk_that_is_with_the_editor_while_the_next_turn_ends_is_lost_neither_by_its_no_nor_by_its_yes() {
    for (takes_before, refuses) in [(false, true), (true, true), (false, false), (true, false)] {
        let project = Project::new(&format!("//- /a.txt\n{TEXT}//- /b.txt\nb\n"));
        let gate = read().gate();
        let second = edit("a.txt", "four", "FOUR");
        let model = FakeModel::start(Wire::Chat, [first(), text("One."), second, gate, text("Two.")]);
        let mut client = Client::start(&project, &model);
        client.on_request("window/showMessageRequest", |_| Answer::Never);
        client.on_request("window/showDocument", |_| Answer::Result(json!({"success": true})));
        client.on_request("workspace/applyEdit", |_| Answer::Never);
        client.tolerate("window/showMessage");
        client.open("/a.txt");
        let thread = client.ask("First.")["threadId"].clone();
        let take = |client: &mut Client| {
            let accept = client.send_command("askls.acceptEdits", json!({"hunks": [1]}));
            client.wait_seen("workspace/applyEdit", 1);
            accept
        };
        let before = takes_before.then(|| take(&mut client));
        let turn = client.send_command("askls.ask", json!({"prompt": "Second.", "threadId": thread}));
        wait(model.request(4));
        let accept = before.unwrap_or_else(|| take(&mut client));
        model.release(4);
        client.wait(&turn).expect("an answer");

        let edit = client.wait_sent("workspace/applyEdit");
        let answer = match refuses {
            true => Answer::Result(json!({"applied": false, "failureReason": "no"})),
            false => Answer::Apply,
        };
        client.reply(&edit, answer);
        assert_eq!(client.wait(&accept).unwrap()["applied"], !refuses);

        let others = ["a.txt four -> FOUR pending", "a.txt six -> SIX pending"];
        let refused = refuses.then_some("a.txt two -> TWO pending");
        let expected: Vec<_> = refused.into_iter().chain(others).collect();
        assert_eq!(waiting(&mut client), expected, "taken before: {takes_before}");
        client.on_request("workspace/applyEdit", |_| Answer::Apply);
        accept_all_and_undo(&mut client);
    }
}

/// What is left to ask about at the end of the turn, whose edits the editor has all in hand, is nothing.
#[test]
fn what_a_turn_takes_back_while_the_editor_has_it_is_neither_asked_about_nor_offered_again_after_its_no() {
    let back = edit("a.txt", "TWO", "two");
    let both = back.clone().call("edit_file", json!({"path": "a.txt", "find": "SIX", "replace": "six"}));
    for (second, left) in [(back, vec!["a.txt six -> SIX pending"]), (both, vec![])] {
        let project = Project::new(&format!("//- /a.txt\n{TEXT}//- /b.txt\nb\n"));
        let model = FakeModel::start(Wire::Chat, [first(), text("One."), second, text("Two.")]);
        let mut client = Client::start(&project, &model);
        client.on_request("window/showMessageRequest", |_| Answer::Never);
        client.on_request("window/showDocument", |_| Answer::Result(json!({"success": true})));
        client.on_request("workspace/applyEdit", |_| Answer::Never);
        client.tolerate("window/showMessage");
        client.open("/a.txt");
        let thread = client.ask("First.")["threadId"].clone();
        client.wait_seen("window/showMessageRequest", 1);
        let accept = client.send_command("askls.acceptEdits", json!({}));
        client.wait_seen("workspace/applyEdit", 1);

        client.command("askls.ask", json!({"prompt": "Second.", "threadId": thread}));
        let edit = client.wait_sent("workspace/applyEdit");
        client.reply(&edit, Answer::Result(json!({"applied": false, "failureReason": "no"})));
        assert_eq!(client.wait(&accept).unwrap()["applied"], false);

        assert_eq!(waiting(&mut client), left);
        let asked = client.seen("window/showMessageRequest");
        let about: Vec<_> = asked.iter().map(|question| question["message"].as_str().unwrap()).collect();
        assert!(!about.iter().any(|message| message.contains("0 files")), "{about:?}");
    }
}

/// All that was proposed comes about, and is undone turn by turn.
fn accept_all_and_undo(client: &mut Client) {
    accept(client, json!({}));
    client.wait_text("/a.txt", "one\nTWO\nthree\nFOUR\nfive\nSIX\nseven\n");
    assert_eq!(client.command("askls.undoTurn", json!({}))["undone"], true);
    client.wait_text("/a.txt", "one\nTWO\nthree\nfour\nfive\nSIX\nseven\n");
    assert_eq!(client.command("askls.undoTurn", json!({}))["undone"], true);
    client.wait_text("/a.txt", TEXT);
}

#[test]
fn lines_typed_beside_those_that_an_accept_adds_do_not_hide_them() {
    for at in [2, 3] {
        let project = Project::new(&format!("//- /a.txt\n{TEXT}"));
        let model = FakeModel::start(Wire::Chat, [insertion(), text("One.")]);
        let mut client = Client::start(&project, &model);
        client.on_request("window/showMessageRequest", |_| Answer::Never);
        client.tolerate("window/showMessage");
        client.open("/a.txt");
        client.ask("First.");
        let request = client.send_command("askls.acceptEdits", json!({}));
        client.wait_text("/a.txt", &TEXT.replace("two\n", "two\nNEW\n"));
        client.change("/a.txt", [at, 0, at, 0], "USER\n");
        let accepted = client.wait(&request).expect("an answer");
        assert_eq!(accepted["applied"], true, "{accepted}");
        assert_eq!(waiting(&mut client), Vec::<String>::new());
    }
}
