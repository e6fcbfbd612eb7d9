//! What waits while the next turn of its thread runs: what becomes of it where it does not fit for a moment, where the turn
//! carries it elsewhere, and where the user decides about the file that the turn has changed.

use std::time::{Duration, Instant};

use askls::protocol::Wire;
use serde_json::{Value, json};

use super::edits_meanwhile::{edit, first, waiting};
use crate::support::{Answer, Client, FakeModel, Manner, Project, capabilities, model::*, wait};

const TEXT: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";

/// How long a test waits for what should happen at once.
const PATIENCE: Duration = Duration::from_secs(30);

fn new_file() -> Reply {
    call("write_file", json!({"path": "n.txt", "text": "N\n"}))
}

fn move_away() -> Reply {
    call("move_file", json!({"from": "a.txt", "to": "m.txt"}))
}

fn look() -> Reply {
    call("read_file", json!({"path": "a.txt"}))
}

/// A first turn, and a second one that waits for the user before each of its steps.
struct Turns {
    client: Client,
    model: FakeModel,
    thread: Value,
    steps: usize,
    first_step: usize,
}

impl Turns {
    fn new(project: &Project, first: Vec<Reply>, second: Vec<Reply>) -> Self {
        let (first_step, steps) = (first.len() + 2, second.len() + 1);
        let second = second.into_iter().chain([text("Two.")]).map(Reply::gate);
        let replies: Vec<_> = first.into_iter().chain([text("One.")]).chain(second).collect();
        let model = FakeModel::start(Wire::Chat, replies);
        let said = capabilities::with(
            "/workspace/workspaceEdit/changeAnnotationSupport",
            json!({"groupsOnLabel": true}),
        );
        let builder = Client::builder(project).model(&model).settings(json!({"show_answer": "message"}));
        let mut client = builder.capabilities(said).manner(Manner::VsCode).start();
        client.on_request("window/showMessageRequest", |_| Answer::Never);
        client.on_request("window/showDocument", |_| Answer::Result(json!({"success": true})));
        client.tolerate("window/showMessage");
        Self { client, model, thread: Value::Null, steps, first_step }
    }

    fn open(self) -> Self {
        self.client.open("/a.txt");
        self
    }

    fn first(mut self) -> Self {
        self.thread = self.client.ask("First.")["threadId"].clone();
        self
    }

    /// The user does something before each step; what they have typed is known before the model answers.
    fn second(&mut self, mut user: impl FnMut(&mut Client, usize)) -> Value {
        let ask = json!({"prompt": "Second.", "threadId": self.thread});
        let second = self.client.send_command("askls.ask", ask);
        for step in 0..self.steps {
            wait(self.model.request(self.first_step + step));
            user(&mut self.client, step);
            waiting(&mut self.client);
            self.model.release(self.first_step + step);
        }
        self.client.wait(&second).expect("an answer")
    }

    fn waiting(&mut self) -> Vec<String> {
        waiting(&mut self.client)
    }

    /// Waits until the answer of the editor is worked through, and just these wait.
    fn wait_for(&mut self, expected: &[&str]) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let waiting = self.waiting();
            if waiting == expected {
                return;
            }
            assert!(Instant::now() < deadline, "{waiting:?} instead of {expected:?}");
        }
    }

    fn accept_all(&mut self) {
        let accepted = self.client.command("askls.acceptEdits", json!({}));
        assert_eq!(accepted["applied"], true, "{accepted}");
    }
}

fn project() -> Project {
    Project::new(&format!("//- /a.txt\n{TEXT}//- /b.txt\nb\n"))
}

#[test]
fn a_hunk_that_does_not_fit_for_a_moment_still_waits_when_the_turn_ends() {
    let search = || call("search", json!({"pattern": "one"}));
    let two = "a.txt two -> TWO pending";
    for (second, others) in [
        (vec![look(), new_file()], &["a.txt six -> SIX pending", "n.txt  -> N pending"][..]),
        (vec![search(), new_file()], &["a.txt six -> SIX pending", "n.txt  -> N pending"]),
        (
            vec![edit("a.txt", "four", "FOUR"), look()],
            &["a.txt four -> FOUR pending", "a.txt six -> SIX pending"],
        ),
    ] {
        for first in [first(), edit("a.txt", "two", "TWO")] {
            for is_open in [true, false] {
                let project = project();
                let mut turns = Turns::new(&project, vec![first.clone()], second.clone());
                if is_open {
                    turns = turns.open();
                }
                let mut turns = turns.first();
                let before = turns.waiting();
                turns.second(|client, step| match (step, is_open) {
                    (0, true) => client.change("/a.txt", [1, 0, 1, 0], "x"),
                    (1, true) => client.change("/a.txt", [1, 0, 1, 1], ""),
                    (0, false) => project.write("/a.txt", TEXT.replace("two", "xtwo")),
                    (1, false) => project.write("/a.txt", TEXT),
                    _ => {}
                });
                let others = others.iter().filter(|line| before.len() == 2 || !line.contains("six"));
                let expected: Vec<_> = [&two].into_iter().chain(others).copied().collect();
                assert_eq!(turns.waiting(), expected, "open: {is_open}");
            }
        }
    }
}

#[test]
fn a_turn_that_changes_nothing_leaves_what_waits_under_its_name_whatever_is_typed_meanwhile() {
    for step in [look(), call("read_file", json!({"path": "b.txt"}))] {
        let project = project();
        let mut turns = Turns::new(&project, vec![first()], vec![step]).open().first();
        let end = turns.second(|client, step| match step {
            0 => client.change("/a.txt", [1, 0, 1, 0], "x"),
            1 => client.change("/a.txt", [1, 0, 1, 1], ""),
            _ => {}
        });
        assert_eq!(end["edits"], "none");
        let rejected = turns.client.command("askls.rejectEdits", json!({"hunks": [1]}));
        assert_eq!(rejected["rejected"], 1, "{rejected}");
        assert_eq!(turns.waiting(), ["a.txt six -> SIX pending"]);
    }
}

#[test]
fn what_the_turn_has_taken_back_is_gone_though_it_did_not_fit_for_a_moment() {
    let project = project();
    let second = vec![edit("a.txt", "TWO", "two"), look(), new_file()];
    let mut turns = Turns::new(&project, vec![edit("a.txt", "two", "TWO")], second).open().first();
    turns.second(|client, step| match step {
        1 => client.change("/a.txt", [1, 0, 1, 0], "x"),
        2 => client.change("/a.txt", [1, 0, 1, 1], ""),
        _ => {}
    });
    assert_eq!(turns.waiting(), ["n.txt  -> N pending"]);
}

#[test]
fn what_is_rejected_does_not_come_back_in_a_file_that_the_turn_has_moved() {
    let project = project();
    let mut turns = Turns::new(&project, vec![first()], vec![move_away()]).first();
    turns.second(|client, step| {
        if step == 1 {
            client.command("askls.rejectEdits", json!({"hunks": [1]}));
        }
    });
    assert_eq!(turns.waiting(), ["m.txt six -> SIX pending"]);
    turns.accept_all();
    turns.client.wait_text("/m.txt", &TEXT.replace("six", "SIX"));
}

#[test]
fn a_move_that_is_rejected_leaves_what_the_turn_has_changed_in_the_file_where_it_is() {
    let project = project();
    let second = vec![edit("m.txt", "four", "FOUR"), new_file()];
    let mut turns = Turns::new(&project, vec![move_away()], second).first();
    turns.second(|client, step| {
        if step == 1 {
            client.command("askls.rejectEdits", json!({}));
        }
    });
    assert_eq!(turns.waiting(), ["a.txt four -> FOUR pending", "n.txt  -> N pending"]);
}

#[test]
fn what_is_accepted_is_followed_where_the_file_is_then() {
    let delete = || call("delete_file", json!({"path": "a.txt"}));
    let anew = call("write_file", json!({"path": "a.txt", "text": "NEW\n"}));
    let hunk = json!({"hunks": [1]});
    for (first, second, accepted, expected, place, text) in [
        (
            vec![move_away()],
            edit("m.txt", "four", "FOUR"),
            &json!({}),
            "m.txt four -> FOUR pending",
            "/m.txt",
            Some(TEXT.replace("four", "FOUR")),
        ),
        (vec![delete()], anew, &json!({}), "a.txt  -> NEW pending", "/a.txt", Some("NEW\n".to_owned())),
        (
            vec![first()],
            move_away(),
            &hunk,
            "m.txt six -> SIX pending",
            "/m.txt",
            Some(TEXT.replace("two", "TWO").replace("six", "SIX")),
        ),
        (
            vec![first()],
            delete(),
            &hunk,
            "a.txt one+TWO+three+four+five+six+seven ->  pending",
            "/a.txt",
            None,
        ),
    ] {
        let project = project();
        let mut turns = Turns::new(&project, first, vec![second]).first();
        turns.second(|client, step| {
            if step == 1 {
                let accepted = client.command("askls.acceptEdits", accepted.clone());
                assert_eq!(accepted["applied"], true, "{accepted}");
            }
        });
        assert_eq!(turns.waiting(), [expected]);
        turns.accept_all();
        match text {
            Some(text) => turns.client.wait_text(place, &text),
            None => turns.client.wait_gone(place),
        }
    }
}

#[test]
fn a_hunk_that_was_decided_about_gives_its_number_to_no_other() {
    let project = project();
    let second = vec![edit("a.txt", "five", "FIVE")];
    let mut turns = Turns::new(&project, vec![edit("a.txt", "two", "TWO")], second).open().first();
    turns.client.command("askls.rejectEdits", json!({"hunks": [1]}));
    turns.second(|_, _| {});
    // A lens that an editor still shows.
    let uri = turns.client.uri("/a.txt");
    let accept = json!({"threadId": turns.thread, "uri": uri, "hunks": [1]});
    let accepted = turns.client.command("askls.acceptEdits", accept);
    assert_eq!(accepted["applied"], false, "{accepted}");
    assert_eq!(turns.waiting(), ["a.txt five -> FIVE pending"]);
}

/// The user opens the preview before the second turn or in it, and answers it in it or after it.
#[test]
fn what_is_not_ticked_in_a_preview_still_waits_whatever_the_next_turn_does_meanwhile() {
    let others = [
        (vec![edit("a.txt", "four", "FOUR"), look()], "a.txt four -> FOUR pending"),
        (vec![look(), new_file()], "n.txt  -> N pending"),
    ];
    for (second, other) in others {
        for (opened, answered) in [(None, None), (Some(0), None), (Some(1), None), (Some(0), Some(1))] {
            for ticks_one in [true, false] {
                let project = project();
                let mut turns = Turns::new(&project, vec![first()], second.clone()).open();
                turns.client.on_request("workspace/applyEdit", |_| Answer::Never);
                turns = turns.first();
                turns.client.wait_seen("window/showMessageRequest", 1);
                if opened.is_none() {
                    open_preview(&turns.client);
                }
                turns.second(|client, step| {
                    if opened == Some(step) {
                        open_preview(client);
                    }
                    if answered == Some(step) {
                        answer_preview(client, ticks_one);
                    }
                });
                if answered.is_none() {
                    answer_preview(&turns.client, ticks_one);
                }
                let all = ["a.txt two -> TWO pending", "a.txt six -> SIX pending", other];
                let mut expected: Vec<_> = all.into_iter().skip(usize::from(ticks_one)).collect();
                expected
                    .sort_by_key(|line| (!line.starts_with('a'), TEXT.find(line.split(' ').nth(1).unwrap())));
                turns.wait_for(&expected);
            }
        }
    }
}

/// The preview is open since before the second turn, and is answered in it or after it.
#[test]
fn what_the_next_turn_makes_of_hunks_in_an_open_preview_waits_on_top_of_those_that_are_ticked() {
    let delete = || call("delete_file", json!({"path": "a.txt"}));
    let ticked = "a.txt one+TWO+three+four+five+six+seven ->  pending";
    let both = TEXT.replace("six", "SIX");
    for (second, ticked, unticked, text) in [
        (
            edit("a.txt", "TWO", "ZWEI"),
            vec!["a.txt TWO -> ZWEI pending", "a.txt six -> SIX pending"],
            vec!["a.txt two -> ZWEI pending", "a.txt six -> SIX pending"],
            Some(both.replace("two", "ZWEI")),
        ),
        (
            edit("a.txt", "TWO", "two"),
            vec!["a.txt TWO -> two pending", "a.txt six -> SIX pending"],
            vec!["a.txt six -> SIX pending"],
            Some(both),
        ),
        (delete(), vec![ticked], vec!["a.txt one+two+three+four+five+six+seven ->  pending"], None),
    ] {
        for (answered, ticks_one) in [(None, true), (Some(1), true), (None, false), (Some(1), false)] {
            let project = project();
            let mut turns = Turns::new(&project, vec![first()], vec![second.clone()]).open();
            turns.client.on_request("workspace/applyEdit", |_| Answer::Never);
            turns = turns.first();
            open_preview(&turns.client);
            turns.second(|client, step| {
                if answered == Some(step) {
                    answer_preview(client, ticks_one);
                }
            });
            if answered.is_none() {
                answer_preview(&turns.client, ticks_one);
            }
            let expected = if ticks_one { &ticked } else { &unticked };
            turns.wait_for(expected);
            turns.client.on_request("workspace/applyEdit", |_| Answer::Apply);
            turns.accept_all();
            match &text {
                Some(text) => turns.client.wait_text("/a.txt", text),
                None => turns.client.wait_gone("/a.txt"),
            }
        }
    }
}

/// Of the second turn's edits the preview holds all. It tells its answer at once, and asks when the preview is over.
#[test]
fn what_comes_back_of_a_preview_that_a_turn_did_not_wait_for_is_asked_about() {
    let proposes = "The agent proposes edits in 1 file: edit a.txt";
    let in_vain = format!("Nothing was ticked, so nothing was applied. {proposes}");
    for (ticks_one, message, actions) in
        [(false, &in_vain[..], &["Apply", "Review", "Reject"][..]), (true, proposes, &["Apply", "Reject"])]
    {
        let project = project();
        let second = vec![edit("a.txt", "TWO", "two")];
        let mut turns = Turns::new(&project, vec![first()], second).open();
        turns.client.on_request("workspace/applyEdit", |_| Answer::Never);
        turns = turns.first();
        open_preview(&turns.client);

        turns.second(|_, _| {});
        turns.client.wait_until("the answer by itself", |received| {
            let mut messages = received.iter().map(|received| &received.message);
            messages.find(|message| message["params"]["message"] == "Two.").map(|_| ())
        });
        assert_eq!(turns.client.seen("window/showMessageRequest").len(), 1);
        answer_preview(&turns.client, ticks_one);

        turns.client.wait_seen("window/showMessageRequest", 2);
        let question = turns.client.seen("window/showMessageRequest").pop().unwrap();
        let titles: Vec<_> = question["actions"].as_array().into_iter().flatten().collect();
        let titles: Vec<_> = titles.iter().map(|action| action["title"].as_str().unwrap()).collect();
        assert_eq!((question["message"].as_str(), &titles[..]), (Some(message), actions));
    }
}

/// The user has chosen to review what the first turn proposes.
fn open_preview(client: &Client) {
    let question = client.wait_sent("window/showMessageRequest");
    client.reply(&question, Answer::Result(json!({"title": "Review"})));
    client.wait_seen("workspace/applyEdit", 1);
}

fn answer_preview(client: &Client, ticks_one: bool) {
    let mut edit = client.wait_sent("workspace/applyEdit");
    if !ticks_one {
        client.reply(&edit, Answer::Result(json!({"applied": false, "failureReason": "canceled"})));
        return;
    }
    for step in edit.params["edit"]["documentChanges"].as_array_mut().unwrap() {
        step["edits"].as_array_mut().unwrap().truncate(1);
    }
    client.reply(&edit, Answer::Apply);
}
