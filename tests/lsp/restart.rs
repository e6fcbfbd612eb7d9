//! A server that is killed while it asks: nothing has run, and nobody takes the old question up again.

use std::{process::Command, time::Duration};

use serde_json::json;

use crate::support::{Answer, Client, FakeModel, Project, model::*, on_every_wire};

/// The system needs a moment to take a killed process away.
const SOON: Duration = Duration::from_secs(10);

// SPEC A5
#[cfg(unix)]
#[test]
fn a_call_whose_question_was_open_when_the_server_was_killed_has_not_run_and_is_asked_about_anew() {
    on_every_wire(|wire| {
        let project = Project::new("");
        let run = || call("run_command", json!({"command": "touch ran.txt"}));
        let model = FakeModel::start(wire, [run(), run(), text("It did not run.")]);
        let mut client = Client::start(&project, &model);
        client.send_command("askls.ask", json!({"prompt": "Run it."}));
        let question = client.wait_request("window/showMessageRequest");
        let killed = Command::new("kill").args(["-KILL", &client.process_id().to_string()]).status();
        assert!(killed.is_ok_and(|status| status.success()));
        client.wait_exit(SOON);
        assert!(!project.exists("/ran.txt"));
        drop(client);

        let mut client = Client::start(&project, &model);
        // An editor that answers what the killed server asked answers nothing.
        client.reply(&question, Answer::Result(json!({"title": "Allow once"})));
        assert_eq!(client.command("askls.status", json!({}))["running"], 0);
        assert!(client.seen("window/showMessageRequest").is_empty());
        client.choose("Deny");
        client.ask("Did it run? Else run it.");

        assert_eq!(client.seen("window/showMessageRequest").len(), 1, "no yes is left of before");
        assert!(!project.exists("/ran.txt"));
    });
}
