//! The main job: a question, the model's steps through the files, the answer.

use askls::protocol::Wire;
use serde_json::{Value, json};

use crate::support::{Answer, Client, FakeModel, Project, capabilities, history::*, model::*, on_every_wire};

/// SPEC L1, L2, C6
#[test]
fn an_ask_runs_the_models_calls_and_answers() {
    on_every_wire(|wire| {
        let project = Project::new("//- /src/main.rs\nfn main() {}\n");
        let model = FakeModel::start(
            wire,
            [call("read_file", json!({"path": "src/main.rs"})), text("It holds an empty main function.")],
        );
        let mut client = Client::start(&project, &model);

        let result = client.ask("What is in main.rs?");

        assert_eq!(result["answer"], "It holds an empty main function.");
        assert_eq!(result["stopReason"], "answer");
        assert_eq!(result["steps"], 2);
        assert_eq!(result["files"], json!([]));
        assert_eq!(result["edits"], "none");
        assert!(result["threadId"].as_str().is_some_and(|id| !id.is_empty()), "{result}");
        for count in ["inputTokens", "cachedTokens", "outputTokens", "reasoningTokens"] {
            assert!(result["usage"][count].is_u64(), "{count} in {result}");
        }
        let requests = model.requests();
        assert_eq!(requests.len(), 2);
        assert!(requests[0].prompt().contains("What is in main.rs?"));
        assert!(last_output(&requests[1]).contains("fn main() {}"));
    });
}

#[test]
fn a_prompt_alone_is_argument_enough() {
    let model = FakeModel::start(Wire::Chat, [text("Hello.")]);
    let mut client = Client::start(&Project::new(""), &model);
    let params = json!({"command": "askls.ask", "arguments": ["Say hello"]});
    assert_eq!(client.request("workspace/executeCommand", params)["answer"], "Hello.");
}

/// SPEC C6
#[test]
fn progress_shows_the_step_the_tool_and_its_target() {
    on_every_wire(|wire| {
        let project = Project::new("//- /src/main.rs\nfn main() {}\n");
        let model =
            FakeModel::start(wire, [call("read_file", json!({"path": "src/main.rs"})), text("Done.").gate()]);
        let mut client = Client::start(&project, &model);

        let ask = client.send_ask("Look.");
        // A turn that is over in a moment has nothing to report.
        client.wait_report(&client.wait_begin(0), "of 50");
        model.release(2);
        client.wait(&ask).expect("an answer");

        let created = client.seen("window/workDoneProgress/create");
        assert_eq!(created.len(), 1);
        let token = &created[0]["token"];
        assert!(token.is_string(), "some clients take no numbers: {token}");
        let values = client.progress(token);
        assert_eq!(values[0]["kind"], "begin");
        assert_eq!(values[0]["title"], "Ask agent");
        assert_eq!(values[0]["cancellable"], true);
        assert_eq!(values.last().unwrap()["kind"], "end");
        let messages: Vec<&str> = values.iter().filter_map(|value| value["message"].as_str()).collect();
        assert!(messages.iter().any(|message| message.contains("of 50")), "{messages:?}");
    });
}

#[test]
fn the_clients_own_token_is_used_and_none_is_created() {
    on_every_wire(|wire| {
        let model = FakeModel::start(wire, [text("Done."), text("Done again.")]);
        let mut client = Client::start(&Project::new(""), &model);
        for token in [json!("mine"), json!(7)] {
            let params =
                json!({"command": "askls.ask", "arguments": [{"prompt": "Go."}], "workDoneToken": token});
            client.request("workspace/executeCommand", params);
            let kinds: Vec<Value> =
                client.progress(&token).iter().map(|value| value["kind"].clone()).collect();
            assert_eq!(kinds.first().unwrap(), "begin");
            assert_eq!(kinds.last().unwrap(), "end");
        }
        assert_eq!(client.seen("window/workDoneProgress/create"), Vec::<Value>::new());
    });
}

#[test]
fn a_client_that_refuses_the_token_gets_no_progress_and_the_answer() {
    on_every_wire(|wire| {
        let model = FakeModel::start(wire, [text("Done.")]);
        let mut client = Client::start(&Project::new(""), &model);
        client.on_request("window/workDoneProgress/create", |_| {
            Answer::Error(-32601, "no such method".to_owned())
        });
        assert_eq!(client.ask("Go.")["answer"], "Done.");
        assert_eq!(client.seen("$/progress"), Vec::<Value>::new());
    });
}

#[test]
fn a_client_that_never_answers_the_token_gets_the_answer_all_the_same() {
    let model = FakeModel::start(Wire::Chat, [text("Done.")]);
    let mut client = Client::start(&Project::new(""), &model);
    client.on_request("window/workDoneProgress/create", |_| Answer::Never);
    assert_eq!(client.ask("Go.")["answer"], "Done.");
    assert_eq!(client.seen("$/progress"), Vec::<Value>::new());
}

/// SPEC L3
#[test]
fn several_calls_of_one_step_are_answered_in_their_order() {
    on_every_wire(|wire| {
        let project = Project::new("//- /a.txt\nalpha\n//- /b.txt\nbeta\n//- /c.txt\ngamma\n");
        let model = FakeModel::start(
            wire,
            [
                call("read_file", json!({"path": "c.txt"}))
                    .call("read_file", json!({"path": "a.txt"}))
                    .call("read_file", json!({"path": "b.txt"})),
                text("Three."),
            ],
        );
        let mut client = Client::start(&project, &model);

        assert_eq!(client.ask("Read all.")["answer"], "Three.");

        let outputs = output_texts(&model.requests()[1]);
        assert_eq!(outputs.len(), 3);
        for (output, text) in outputs.iter().zip(["gamma", "alpha", "beta"]) {
            assert!(output.contains(text), "{outputs:?}");
        }
    });
}

/// SPEC L4
#[test]
fn edits_of_one_step_follow_each_other() {
    on_every_wire(|wire| {
        let project = Project::new("//- /a.txt\none\n");
        let model = FakeModel::start(
            wire,
            [
                call("edit_file", json!({"path": "a.txt", "find": "one", "replace": "two"}))
                    .call("edit_file", json!({"path": "a.txt", "find": "two", "replace": "three"}))
                    .call("read_file", json!({"path": "a.txt"})),
                text("Done."),
            ],
        );
        let mut client = Client::builder(&project).model(&model).settings(json!({"edits": "apply"})).start();

        client.ask("Count.");

        assert!(last_output(&model.requests()[1]).contains("three"));
        assert_eq!(client.text("/a.txt").unwrap(), "three\n");
    });
}

/// SPEC E1, E3, E4
#[test]
fn calls_that_cannot_run_are_answered_and_the_turn_goes_on() {
    on_every_wire(|wire| {
        let project = Project::new("//- /a.txt\nalpha\n");
        let model = FakeModel::start(
            wire,
            [
                call("no_such_tool", json!({}))
                    .call("read_file", json!({"path": 7}))
                    .call("read_file", json!({"path": "missing.txt"}))
                    .call("read_file", json!({"path": "../outside.txt"}))
                    .call("read_file", json!({"path": "a.txt"})),
                text("Well."),
            ],
        );
        let mut client = Client::start(&project, &model);

        assert_eq!(client.ask("Try.")["stopReason"], "answer");

        let outputs = output_texts(&model.requests()[1]);
        assert!(outputs[0].contains("no_such_tool") && outputs[0].contains("read_file"), "{}", outputs[0]);
        assert!(outputs[1].contains("path"), "{}", outputs[1]);
        assert!(outputs[2].contains("missing.txt"), "{}", outputs[2]);
        assert!(outputs[3].contains("outside"), "{}", outputs[3]);
        assert!(outputs[4].contains("alpha"), "{}", outputs[4]);
    });
}

/// SPEC H6
#[test]
fn the_next_ask_on_a_thread_remembers_and_a_new_thread_does_not() {
    on_every_wire(|wire| {
        let model = FakeModel::start(wire, [text("Blue."), text("As I said: blue."), text("I do not know.")]);
        let mut client = Client::start(&Project::new(""), &model);

        let thread = client.ask("Which colour?")["threadId"].clone();
        let second = client.ask_on(&thread, "Which again?");
        let new = client.command("askls.newThread", json!({}))["threadId"].clone();
        client.ask_on(&new, "Which was it?");

        assert_eq!(second["threadId"], thread);
        assert_ne!(new, thread);
        let requests = model.requests();
        assert_eq!(agent_texts(&requests[1]), ["Blue."]);
        assert_eq!(agent_texts(&requests[2]), Vec::<String>::new());
    });
}

#[test]
fn a_thread_that_nobody_knows_is_refused_by_name() {
    let model = FakeModel::start(Wire::Chat, []);
    let mut client = Client::start(&Project::new(""), &model);
    let ask = client.send_command("askls.ask", json!({"prompt": "Go.", "threadId": "thread-of-yesterday"}));
    let failure = client.wait(&ask).unwrap_err();
    assert!(failure.message.contains("thread-of-yesterday"), "{failure:?}");
}

#[test]
fn the_open_file_and_the_selection_reach_the_model() {
    on_every_wire(|wire| {
        let project = Project::new("//- /src/main.rs\nfn main() {}\nfn helper() {}\n");
        let model = FakeModel::start(wire, [text("A helper.")]);
        let mut client = Client::start(&project, &model);
        let uri = client.open("/src/main.rs");

        client.command(
            "askls.ask",
            json!({
                "prompt": "What is this?",
                "uri": uri,
                "range": {"start": {"line": 1, "character": 3}, "end": {"line": 1, "character": 9}},
            }),
        );

        let told = model.requests()[0].prompt();
        for part in ["What is this?", "src/main.rs", "helper"] {
            assert!(told.contains(part), "{part} in {told}");
        }
        assert!(!told.contains("fn main"), "only the selection is sent: {told}");
    });
}

#[test]
fn plan_mode_offers_only_tools_that_read() {
    on_every_wire(|wire| {
        let model = FakeModel::start(wire, [text("First this, then that.")]);
        let mut client = Client::start(&Project::new(""), &model);
        client.command("askls.ask", json!({"prompt": "How?", "mode": "plan"}));
        assert_eq!(model.requests()[0].tools(), ["list_files", "read_file", "read_job", "search"]);
    });
}

#[test]
fn the_model_of_an_ask_is_sent_as_it_is_written() {
    // SPEC O14
    on_every_wire(|wire| {
        let model = FakeModel::start(wire, [text("Yes.")]);
        let mut client = Client::start(&Project::new(""), &model);
        client.command("askls.ask", json!({"prompt": "Go.", "model": "nobody/has-heard:of-it"}));
        assert_eq!(model.requests()[0].json["model"], "nobody/has-heard:of-it");
    });
}

#[test]
fn a_client_without_progress_gets_the_answer() {
    on_every_wire(|wire| {
        let model = FakeModel::start(wire, [text("Quietly.")]);
        let mut client = Client::builder(&Project::new(""))
            .model(&model)
            .capabilities(capabilities::without("/window/workDoneProgress"))
            .start();
        assert_eq!(client.ask("Go.")["answer"], "Quietly.");
        assert_eq!(client.seen("$/progress"), Vec::<Value>::new());
    });
}

/// SPEC C6: at least one report a second while something happens, so that nobody takes a long command for a hang.
#[test]
fn a_long_command_keeps_the_progress_alive() {
    let model =
        FakeModel::start(Wire::Chat, [call("run_command", json!({"command": "sleep 4"})), text("Slept.")]);
    let mut client =
        Client::builder(&Project::new("")).model(&model).settings(json!({"approvals": "all"})).start();
    client.ask("Sleep.");
    let times: Vec<std::time::Instant> = client.wait_until("the end", |received| {
        let of_progress = received.iter().filter(|received| received.message["method"] == "$/progress");
        Some(of_progress.map(|received| received.at).collect())
    });
    let longest = times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
    // A second is promised; the rest is for a machine that is busy with other tests. Without reports it would be four.
    assert!(longest < std::time::Duration::from_secs(3), "{longest:?} of silence");
}
