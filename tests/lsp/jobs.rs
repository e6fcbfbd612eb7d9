//! Background jobs: started, read and stopped by the model, stopped by the user, and gone with the server.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{
    Client, FakeModel, Project,
    history::{last_output, output_texts},
    model::*,
    on_every_wire,
    processes::Sleep,
};

/// Far more than a server needs to end its jobs.
const SOON: Duration = Duration::from_secs(10);

/// A client whose thread has a job from a turn that has ended.
struct Working {
    client: Client,
    thread: Value,
    sleep: Sleep,
    _model: FakeModel,
}

impl Working {
    fn start(number: u32) -> Self {
        let sleep = Sleep::new(number);
        let command = format!("echo ready; trap '' TERM; setsid {} & {}", sleep.command(), sleep.command());
        let model = FakeModel::start(
            askls::protocol::Wire::Chat,
            [call("run_command", json!({"command": command, "background": true})), text("It runs.")],
        );
        let settings = json!({"approvals": "all"});
        let mut client = Client::builder(&Project::new("")).model(&model).settings(settings).start();
        let thread = client.command("askls.newThread", json!({}))["threadId"].clone();
        let result = client.command("askls.ask", json!({"prompt": "Start it.", "threadId": thread}));
        assert_eq!(result["answer"], "It runs.");
        sleep.wait_until_running();
        let status = client.command("askls.status", json!({}));
        assert_eq!((&status["running"], &status["jobs"].as_array().unwrap().len()), (&json!(0), &1));
        Self { client, thread, sleep, _model: model }
    }
}

#[test]
fn a_model_starts_reads_and_stops_a_job() {
    on_every_wire(|wire| {
        let sleep = Sleep::new(400);
        let project = Project::new("");
        let command = format!(
            "echo ready; touch begun; until [ -e go ]; do sleep 0.01; done; echo went; {}",
            sleep.command()
        );
        let model = FakeModel::start(
            wire,
            [
                call("run_command", json!({"command": command, "background": true})),
                text("It runs."),
                call("read_job", json!({"id": 1})).call("read_job", json!({})),
                call("stop_job", json!({"id": 1})),
                call("read_job", json!({"id": 7})),
                text("Stopped."),
            ],
        );
        // Nobody is asked about reading and stopping.
        let mut client =
            Client::builder(&project).model(&model).settings(json!({"approvals": "edits"})).start();
        client.choose("Allow once");
        let thread = client.command("askls.newThread", json!({}))["threadId"].clone();
        client.command("askls.ask", json!({"prompt": "Start it.", "threadId": thread}));
        assert_eq!(client.seen("window/showMessageRequest").len(), 1);
        project.write("/go", "");
        sleep.wait_until_running();

        let result = client.command("askls.ask", json!({"prompt": "Stop it.", "threadId": thread}));

        assert_eq!(result["answer"], "Stopped.");
        assert_eq!(client.seen("window/showMessageRequest").len(), 1);
        sleep.wait_until_gone();
        let requests = model.requests();
        let started = last_output(&requests[1]);
        assert!(
            started.starts_with("job 1: running for ") && started.contains("\nready\nnote: "),
            "{started}"
        );
        let read = output_texts(&requests[3]);
        assert!(read[1].ends_with("\nwent"), "{read:?}");
        assert!(read[2].starts_with("job 1: running for "), "{read:?}");
        let stopped = last_output(&requests[4]);
        assert!(stopped.starts_with("job 1: stopped after "), "{stopped}");
        let unknown = last_output(&requests[5]);
        assert!(unknown.starts_with("there is no job 7; job 1: stopped after "), "{unknown}");
    });
}

#[test]
fn a_job_outlives_its_turn_and_ends_when_its_thread_is_stopped() {
    let mut working = Working::start(410);
    let stopped = working.client.command("askls.stop", json!({"threadId": "another"}));
    assert_eq!(stopped, json!({"stopped": 0}));
    let stopped = working.client.command("askls.stop", json!({"threadId": working.thread}));
    assert_eq!(stopped, json!({"stopped": 0, "jobs": 1}));
    working.sleep.wait_until_gone();
}

#[test]
fn a_job_ends_with_the_server_however_that_ends() {
    let mut shut_down = Working::start(420);
    shut_down.client.shut_down();
    shut_down.sleep.wait_until_gone();

    let mut left = Working::start(421);
    left.client.close_input();
    left.client.wait_exit(SOON);
    left.sleep.wait_until_gone();

    let mut killed = Working::start(422);
    let told = std::process::Command::new("kill").arg(killed.client.process_id().to_string()).status();
    assert!(told.unwrap().success());
    killed.client.wait_exit(SOON);
    killed.sleep.wait_until_gone();
}

/// SPEC C1
#[test]
fn the_last_line_of_a_running_command_stands_in_the_progress() {
    on_every_wire(|wire| {
        let project = Project::new("");
        let command = r"printf 'one\nCompiling \033[32mserde\033[0m\n'; until [ -e go ]; do sleep 0.01; done";
        let model = FakeModel::start(wire, [call("run_command", json!({"command": command})), text("Done.")]);
        let settings = json!({"approvals": "all"});
        let mut client = Client::builder(&project).model(&model).settings(settings).start();
        let ask = client.send_ask("Build it.");
        let token = client.wait_begin(0);
        client.wait_report(&token, "· Compiling serde");
        project.write("/go", "");
        assert_eq!(client.wait(&ask).unwrap()["answer"], "Done.");
    });
}
