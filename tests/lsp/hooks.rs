//! Hooks of the user in an editor: what they stop, what the user is asked, and that they end with the turn.

use askls::protocol::Wire;
use serde_json::{Value, json};

use crate::support::{
    Answer, Client, FakeModel, Project,
    history::{agent_texts, last_output},
    model::*,
    on_every_wire,
    processes::Sleep,
};

/// A hook that is a script of `sh`.
fn with_hook(project: &Project, kind: &str, script: &str) {
    let folder = project.home().join(".config/askls");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("check.sh"), script).unwrap();
    let table = format!("[[hooks]]\non = \"{kind}\"\ncommand = [\"sh\", \"check.sh\"]\n");
    std::fs::write(folder.join("config.toml"), table).unwrap();
}

/// Denies what holds a word, and allows the rest.
fn denies(word: &str) -> String {
    format!(
        "if grep -q {word}; then echo '{{\"decision\": \"deny\", \"reason\": \"it names a customer\"}}'; \
         else echo '{{\"decision\": \"allow\"}}'; fi"
    )
}

// SPEC A7
#[test]
fn a_question_that_is_denied_is_not_sent_later_either() {
    on_every_wire(|wire| {
        let project = Project::new("");
        with_hook(&project, "input", &denies("Miller"));
        let model = FakeModel::start(wire, [text("Here I am.")]);
        let mut client = Client::start(&project, &model);
        let thread = client.command("askls.newThread", json!({}))["threadId"].clone();

        let denied = client.ask_on(&thread, "What does Miller owe?");

        assert_eq!((&denied["stopReason"], &denied["answer"]), (&json!("guardrail"), &json!("")));
        assert_eq!(denied["detail"], "the question was not sent: hook 1 (sh) said no: it names a customer");
        assert_eq!(model.requests().len(), 0);
        assert_eq!(client.ask_on(&thread, "And now?")["answer"], "Here I am.");
        assert!(!model.requests()[0].json.to_string().contains("Miller"));
    });
}

// SPEC A7
#[test]
fn an_answer_that_is_withheld_leaves_a_thread_that_goes_on() {
    on_every_wire(|wire| {
        let project = Project::new("//- /a.txt\nalpha\n");
        with_hook(&project, "output", &denies("Miller"));
        let step = text("I look.").call("read_file", json!({"path": "a.txt"}));
        let model =
            FakeModel::start(wire, [step, reasoning("Miller!").text("Miller owes 3."), text("Here I am.")]);
        let mut client = Client::start(&project, &model);
        let thread = client.command("askls.newThread", json!({}))["threadId"].clone();

        let withheld = client.ask_on(&thread, "Who owes?");

        assert_eq!((&withheld["stopReason"], &withheld["answer"]), (&json!("guardrail"), &json!("")));
        assert_eq!(client.ask_on(&thread, "And now?")["answer"], "Here I am.");
        assert!(!model.requests()[2].json.to_string().contains("Miller"));
        assert_eq!(
            agent_texts(&model.requests()[2]),
            [
                "I look.",
                "[What I said here was withheld from the user: hook 1 (sh) said no: it names a customer]"
            ]
        );
    });
}

// SPEC A7, A2
#[test]
fn the_question_is_about_what_a_hook_made_of_the_call_and_says_so() {
    let project = Project::new("");
    with_hook(
        &project,
        "tool",
        "echo '{\"decision\": \"replace\", \"arguments\": {\"command\": \"touch safe.txt\"}}'",
    );
    let model = FakeModel::start(
        Wire::Responses,
        [call("run_command", json!({"command": "touch prod.txt"})), text("Done.")],
    );
    let mut client = Client::start(&project, &model);

    let ask = client.send_ask("Run it.");
    let question = client.wait_request("window/showMessageRequest");

    let message = question.params["message"].as_str().unwrap();
    assert!(
        message.starts_with("«touch safe.txt»") && message.contains("as a hook changed it, in "),
        "{message}"
    );
    assert!(!message.contains("prod"), "{message}");
    client.reply(&question, Answer::Result(json!({"title": "Allow once"})));
    assert_eq!(client.wait(&ask).unwrap()["stopReason"], "answer");
    assert!(project.exists("/safe.txt") && !project.exists("/prod.txt"));
    let output = last_output(&model.requests()[1]);
    assert!(output.contains("a hook of the user replaced the arguments of this call"), "{output}");
}

// SPEC A7
#[test]
fn a_rule_holds_for_what_a_hook_made_of_the_call() {
    let project = Project::new("");
    let worse = "echo '{\"decision\": \"replace\", \"arguments\": {\"command\": \"touch prod.txt\"}}'";
    with_hook(&project, "tool", worse);
    let model =
        FakeModel::start(Wire::Chat, [call("run_command", json!({"command": "true"})), text("Done.")]);
    let settings = json!({"approvals": "all", "deny": ["command: touch"]});
    let mut client = Client::builder(&project).model(&model).settings(settings).start();

    client.ask("Run it.");

    assert!(!project.exists("/prod.txt"));
    assert!(last_output(&model.requests()[1]).contains("`command: touch` forbids it"));
}

/// What a cancel and the server's end leave of a hook that refuses to end: nothing.
// SPEC A7, C7, C9
#[test]
fn a_hook_ends_with_the_turn_and_with_the_server() {
    for (number, kind) in ["input", "tool", "tool_output", "output"].into_iter().enumerate() {
        let project = Project::new("//- /a.txt\nalpha\n");
        let sleep = Sleep::new(900 + u32::try_from(number).unwrap());
        // Only the first question, call, output or answer is not let pass at once.
        let script = format!(
            "[ -e began ] && exec echo '{{\"decision\": \"allow\"}}'\ntouch began\ntrap '' TERM\n{}\n",
            sleep.command()
        );
        with_hook(&project, kind, &script);
        let answers = match kind {
            "input" => vec![],
            "output" => vec![text("Never seen.")],
            _ => vec![call("read_file", json!({"path": "a.txt"}))],
        };
        let model = FakeModel::start(Wire::Responses, answers.into_iter().chain([text("Here I am.")]));
        let mut client = Client::start(&project, &model);
        let thread = client.command("askls.newThread", json!({}))["threadId"].clone();
        let ask = client.send_command("askls.ask", json!({"prompt": "Go.", "threadId": thread}));
        sleep.wait_until_running();

        client.cancel_request(&ask);

        assert_eq!(client.wait(&ask).unwrap_err().code, -32800, "{kind}");
        sleep.wait_until_gone();
        assert_eq!(client.ask_on(&thread, "And now?")["answer"], "Here I am.", "{kind}");
        let history: Value = model.requests().pop().unwrap().json;
        assert!(!history.to_string().contains("Never seen."), "{kind}");

        std::fs::remove_file(project.home().join(".config/askls/began")).unwrap();
        if kind == "input" {
            client.send_ask("Go.");
            sleep.wait_until_running();
            client.close_input();
            client.wait_exit(crate::support::client::WAIT);
            sleep.wait_until_gone();
        }
    }
}

// SPEC A7
#[test]
fn hooks_that_stand_where_they_do_not_count_hold_every_ask_up() {
    let project = Project::new("");
    let model = FakeModel::start(Wire::Chat, []);
    let settings = json!({"hooks": [{"on": "input", "command": ["true"]}]});
    let mut client = Client::builder(&project).model(&model).settings(settings).start();
    client.tolerate("window/showMessage");

    let ended = client.ask("Go.");

    assert_eq!(ended["fault"], "settings");
    let detail = ended["detail"].as_str().unwrap();
    assert!(
        detail.contains("hooks is ignored here: it can only be set in your own settings file"),
        "{detail}"
    );
}
