//! Stopping a turn: in every phase, by every route, with one response, an end of its progress, and a thread that goes on.

use std::time::{Duration, Instant};

use askls::protocol::Wire;
use serde_json::{Value, json};

use crate::support::{
    Answer, Client, FakeModel, Project, client::RequestId, history::output_texts, model::*, on_every_wire,
    processes::Sleep, wait,
};

const REQUEST_CANCELLED: i64 = -32800;

/// A turn that is told to stop has this long. It needs a fraction of it, and a command is given time to end by itself.
const PROMPTLY: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug)]
enum Route {
    /// `$/cancelRequest`, as Neovim sends it.
    Request,
    /// `window/workDoneProgress/cancel` with the token that the server made, as VS Code sends it.
    ServerToken,
    /// The same with a token of the client's.
    ClientToken,
    /// `askls.stop` with the thread's id.
    StopThread,
    /// `askls.stop` without one: all turns.
    StopAll,
}

const ROUTES: [Route; 5] =
    [Route::Request, Route::ServerToken, Route::ClientToken, Route::StopThread, Route::StopAll];

/// A turn that is under way.
struct Running {
    client: Client,
    thread: Value,
    ask: RequestId,
    route: Route,
    token: Value,
}

impl Running {
    fn start(mut client: Client, route: Route) -> Self {
        let thread = client.command("askls.newThread", json!({}))["threadId"].clone();
        let mut params = json!({
            "command": "askls.ask",
            "arguments": [{"prompt": "Go on for ever.", "threadId": thread}],
        });
        if let Route::ClientToken = route {
            params["workDoneToken"] = "mine".into();
        }
        let ask = client.send("workspace/executeCommand", params);
        let token = client.wait_begin(0);
        Self { client, thread, ask, route, token }
    }

    /// Stops the turn and checks all that must be true of its end.
    fn cancel(mut self) -> Stopped {
        let started = Instant::now();
        match self.route {
            Route::Request => self.client.cancel_request(&self.ask),
            Route::ServerToken | Route::ClientToken => {
                self.client.notify("window/workDoneProgress/cancel", json!({"token": self.token}));
            }
            Route::StopThread => {
                let stopped = self.client.command("askls.stop", json!({"threadId": self.thread}));
                assert_eq!(stopped, json!({"stopped": 1}));
            }
            Route::StopAll => assert_eq!(self.client.command("askls.stop", json!({})), json!({"stopped": 1})),
        }
        let failure = self.client.wait(&self.ask).unwrap_err();
        assert_eq!(failure.code, REQUEST_CANCELLED, "{:?}: {failure:?}", self.route);
        assert!(started.elapsed() < PROMPTLY, "{:?} took {:?}", self.route, started.elapsed());
        let last = self.client.progress(&self.token).pop().unwrap();
        assert_eq!(last["kind"], "end", "{:?}: the end comes before the response", self.route);
        self.client.wait_status("running", 0);
        Stopped { client: self.client, thread: self.thread }
    }
}

/// A turn that was stopped; the thread must take the next one.
struct Stopped {
    client: Client,
    thread: Value,
}

impl Stopped {
    /// The fake model refuses the request when the thread was left broken.
    fn goes_on(mut self) {
        let next = self.client.ask_on(&self.thread, "And now?");
        assert_eq!(next["answer"], "Here I am.");
        assert_eq!(next["stopReason"], "answer");
    }
}

fn on_every_route(scenario: impl Fn(Wire, Route)) {
    on_every_wire(|wire| {
        for route in ROUTES {
            eprintln!("--- route {route:?}");
            scenario(wire, route);
        }
    });
}

/// SPEC C7, L12
#[test]
fn while_the_model_has_not_begun_to_answer() {
    on_every_route(|wire, route| {
        let model = FakeModel::start(wire, [text("Never said.").gate(), text("Here I am.")]);
        let running = Running::start(Client::start(&Project::new(""), &model), route);
        wait(model.request(1));
        let stopped = running.cancel();
        wait(model.left(1));
        stopped.goes_on();
    });
}

/// SPEC C7, L12
#[test]
fn while_the_answer_streams() {
    on_every_route(|wire, route| {
        let model = FakeModel::start(
            wire,
            [text("A long story that is never told to its end.").stall_after(3), text("Here I am.")],
        );
        let running = Running::start(Client::start(&Project::new(""), &model), route);
        wait(model.request(1));
        running.client.wait_report(&running.token, "step 1");
        let stopped = running.cancel();
        wait(model.left(1));
        stopped.goes_on();
    });
}

/// The response to a cancelled request is an error, and editors drop it.
#[test]
fn what_was_said_until_then_comes_with_the_end_of_the_progress() {
    on_every_route(|wire, route| {
        let story = "A long story that is never told to its end.";
        let model = FakeModel::start(wire, [text(story).stall_after(3), text("Here I am.")]);
        let running = Running::start(Client::start(&Project::new(""), &model), route);
        running.client.wait_report(&running.token, "answering");
        let token = running.token.clone();

        let stopped = running.cancel();

        let end = stopped.client.progress(&token).pop().unwrap();
        let said = end["answer"].as_str().unwrap_or_default();
        assert!(!said.is_empty() && story.starts_with(said), "{end}");
        stopped.goes_on();
    });
}

/// SPEC C7, C9, E11, L12
#[test]
fn while_a_command_runs() {
    on_every_route(|wire, route| {
        let sleep = Sleep::new(100 + route as u32);
        let project = Project::new("//- /a.txt\nalpha\n");
        let model = FakeModel::start(
            wire,
            [
                call("run_command", json!({"command": format!("{}; touch ran.txt", sleep.command())}))
                    .call("read_file", json!({"path": "a.txt"})),
                text("Here I am."),
            ],
        );
        let client = Client::builder(&project).model(&model).settings(json!({"approvals": "all"})).start();
        let running = Running::start(client, route);
        sleep.wait_until_running();
        let stopped = running.cancel();
        sleep.wait_until_gone();
        stopped.goes_on();
        assert_eq!(output_texts(&model.requests()[1]).len(), 2, "every call has its output");
        assert!(!project.exists("/ran.txt"));
    });
}

/// How often a cancel has to work before it counts as working.
const TIMES: u32 = 100;

/// A shell, a child and a grandchild in a session of its own, which all refuse the polite signal.
///
/// SPEC C7, C9, E11
#[cfg(target_os = "linux")]
#[test]
fn a_hundred_times_in_a_row_with_programs_that_refuse_to_end() {
    let sleeps: Vec<[Sleep; 3]> =
        (0..TIMES).map(|n| [1_000, 2_000, 3_000].map(|base| Sleep::new(base + n))).collect();
    let calls = sleeps.iter().map(|[shell, child, stray]| {
        let command = format!(
            "trap '' TERM; setsid sh -c '{}; true' & {} & {}; true",
            stray.command(),
            child.command(),
            shell.command()
        );
        call("run_command", json!({"command": command}))
    });
    let model = FakeModel::start(Wire::Chat, calls.chain([text("Here I am.")]));
    let project = Project::new("");
    let settings = json!({"approvals": "all", "sandbox": "off"});
    let mut client = Client::builder(&project).model(&model).settings(settings).start();
    let thread = client.command("askls.newThread", json!({}))["threadId"].clone();
    let (mut ended, mut gone) = (Vec::new(), Vec::new());
    for (turn, sleeps) in sleeps.iter().enumerate() {
        let ask = client.send_command("askls.ask", json!({"prompt": "Go on.", "threadId": thread}));
        let token = client.wait_begin(turn);
        sleeps.iter().for_each(Sleep::wait_until_running);

        let start = Instant::now();
        client.cancel_request(&ask);

        assert_eq!(client.wait(&ask).unwrap_err().code, REQUEST_CANCELLED);
        ended.push(start.elapsed());
        assert_eq!(
            client.progress(&token).pop().unwrap()["kind"],
            "end",
            "the end comes before the response"
        );
        sleeps.iter().for_each(Sleep::wait_until_gone);
        gone.push(start.elapsed());
    }
    for (what, mut times) in [("progress and response ended", ended), ("every process gone", gone)] {
        times.sort_unstable();
        let (median, worst) = (times[times.len() / 2], times[times.len() - 1]);
        eprintln!("{what} after: median {median:?}, worst {worst:?} of {TIMES}");
    }
    Stopped { client, thread }.goes_on();
}

/// SPEC C8
#[test]
fn after_the_step_that_runs() {
    on_every_wire(|wire| {
        let project = Project::new("");
        let command = "until [ -e go ]; do sleep 0.01; done; echo went";
        let model =
            FakeModel::start(wire, [call("run_command", json!({"command": command})), text("Here I am.")]);
        let settings = json!({"approvals": "all"});
        let mut client = Client::builder(&project).model(&model).settings(settings).start();
        let thread = client.command("askls.newThread", json!({}))["threadId"].clone();
        let ask = client.send_command("askls.ask", json!({"prompt": "Go on.", "threadId": thread}));
        let token = client.wait_begin(0);
        client.wait_report(&token, "run_command");

        let stopped = client.command("askls.stop", json!({"threadId": thread, "after": "step"}));
        assert_eq!(stopped, json!({"stopped": 1}));
        project.write("/go", "");

        assert_eq!(client.wait(&ask).unwrap_err().code, REQUEST_CANCELLED);
        assert_eq!(model.requests().len(), 1, "the calls are answered, and no request follows");
        Stopped { client, thread }.goes_on();
        let outputs = output_texts(&model.requests()[1]);
        assert!(outputs[0].ends_with("\nwent"), "{outputs:?}");
    });
}

/// SPEC C7, A6, L12
#[test]
fn while_a_question_is_open() {
    on_every_route(|wire, route| {
        let project = Project::new("");
        let model = FakeModel::start(
            wire,
            [call("run_command", json!({"command": "touch ran.txt"})), text("Here I am.")],
        );
        let running = Running::start(Client::start(&project, &model), route);
        let question = running.client.wait_request("window/showMessageRequest");
        let stopped = running.cancel();
        // A late yes to a question that nobody asks any more.
        stopped.client.reply(&question, Answer::Result(json!({"title": "Allow once"})));
        stopped.client.wait_notification("window/showMessage");
        stopped.goes_on();
        assert!(!project.exists("/ran.txt"));
    });
}

#[test]
fn while_a_request_is_about_to_be_sent_again() {
    on_every_route(|wire, route| {
        let model = FakeModel::start(wire, [busy(429, Some("60")), text("Here I am.")]);
        let running = Running::start(Client::start(&Project::new(""), &model), route);
        wait(model.answered(1));
        running.cancel().goes_on();
    });
}

/// More turns than run at a time: the last one is stopped before it has begun.
#[test]
fn while_a_turn_waits_in_line() {
    on_every_wire(|wire| {
        let model = FakeModel::answering(wire, |_| text("Done.").gate()).allow_unused();
        let mut client = Client::start(&Project::new(""), &model);
        let mut asks: Vec<RequestId> = (0..40).map(|n| client.send_ask(&format!("Ask {n}."))).collect();
        wait(model.request(1));
        let last = asks.pop().unwrap();

        client.cancel_request(&last);

        assert_eq!(client.wait(&last).unwrap_err().code, REQUEST_CANCELLED);
        assert_eq!(client.command("askls.stop", json!({}))["stopped"], 39);
        for ask in asks {
            assert_eq!(client.wait(&ask).unwrap_err().code, REQUEST_CANCELLED);
        }
    });
}

#[test]
fn after_the_end_nothing_happens() {
    on_every_route(|wire, route| {
        let model = FakeModel::start(wire, [text("Done."), text("Here I am.")]);
        let mut running = Running::start(Client::start(&Project::new(""), &model), route);
        assert_eq!(running.client.wait(&running.ask).unwrap()["answer"], "Done.");
        match route {
            Route::Request => running.client.cancel_request(&running.ask),
            Route::ServerToken | Route::ClientToken => {
                running.client.notify("window/workDoneProgress/cancel", json!({"token": running.token}));
            }
            Route::StopThread => {
                let stopped = running.client.command("askls.stop", json!({"threadId": running.thread}));
                assert_eq!(stopped, json!({"stopped": 0}));
            }
            Route::StopAll => {
                assert_eq!(running.client.command("askls.stop", json!({})), json!({"stopped": 0}));
            }
        }
        Stopped { client: running.client, thread: running.thread }.goes_on();
    });
}

#[test]
fn stopping_one_thread_leaves_the_others_running() {
    on_every_wire(|wire| {
        let model = FakeModel::answering(wire, |_| text("Done.").gate()).allow_unused();
        let mut client = Client::start(&Project::new(""), &model);
        let threads: Vec<Value> =
            (0..2).map(|_| client.command("askls.newThread", json!({}))["threadId"].clone()).collect();
        let asks: Vec<RequestId> = threads
            .iter()
            .map(|thread| client.send_command("askls.ask", json!({"prompt": "Go.", "threadId": thread})))
            .collect();
        wait(model.request(2));

        client.command("askls.stop", json!({"threadId": threads[0]}));

        assert_eq!(client.wait(&asks[0]).unwrap_err().code, REQUEST_CANCELLED);
        assert_eq!(client.command("askls.status", json!({}))["running"], 1);
        model.release(1);
        model.release(2);
        assert_eq!(client.wait(&asks[1]).unwrap()["answer"], "Done.");
    });
}

#[test]
fn stray_cancels_do_no_harm() {
    let model = FakeModel::start(Wire::Chat, [text("Done.")]);
    let mut client = Client::start(&Project::new(""), &model);
    for id in [json!(12345), json!("x"), Value::Null] {
        client.notify("$/cancelRequest", json!({"id": id}));
    }
    client.notify("$/cancelRequest", json!({}));
    for params in [json!({"token": "nobody's"}), json!({"token": 7}), json!({}), Value::Null] {
        client.notify("window/workDoneProgress/cancel", params);
    }
    assert_eq!(client.command("askls.stop", json!({"threadId": "nobody's"})), json!({"stopped": 0}));
    assert_eq!(client.ask("Go.")["answer"], "Done.");
}

/// What was staged by a turn that was stopped is not offered as if it were whole.
#[test]
fn a_stopped_turn_changes_no_file() {
    on_every_wire(|wire| {
        let project = Project::new("//- /a.txt\nA\n");
        let model = FakeModel::start(
            wire,
            [
                call("edit_file", json!({"path": "a.txt", "find": "A", "replace": "B"})),
                text("Never said.").gate(),
            ],
        );
        let mut client = Client::builder(&project).model(&model).settings(json!({"edits": "apply"})).start();
        client.tolerate("window/showMessageRequest");
        let ask = client.send_ask("Make it B.");
        wait(model.request(2));
        client.cancel_request(&ask);
        assert_eq!(client.wait(&ask).unwrap_err().code, REQUEST_CANCELLED);
        client.command("askls.status", json!({}));
        assert_eq!(client.text("/a.txt").unwrap(), "A\n");
        assert_eq!(client.seen("workspace/applyEdit"), Vec::<Value>::new());
    });
}

/// Tokens may be numbers, and a number is not the text that looks like it.
#[test]
fn a_token_that_is_a_number_cancels_its_turn_and_no_other() {
    let model = FakeModel::start(Wire::Chat, [text("Never said.").gate()]);
    let mut client = Client::start(&Project::new(""), &model);
    let params = json!({"command": "askls.ask", "arguments": ["Go."], "workDoneToken": 7});
    let ask = client.send("workspace/executeCommand", params);
    wait(model.request(1));
    client.notify("window/workDoneProgress/cancel", json!({"token": "7"}));
    assert_eq!(client.command("askls.status", json!({}))["running"], 1);
    client.notify("window/workDoneProgress/cancel", json!({"token": 7}));
    assert_eq!(client.wait(&ask).unwrap_err().code, REQUEST_CANCELLED);
}
