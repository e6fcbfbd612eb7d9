//! The real binary on the command line: what it prints, what it writes, and how it ends.

#![expect(clippy::unwrap_used, reason = "a test fails where its machine does")]

#[path = "lsp/support"]
mod support {
    pub(crate) mod model;
}
#[path = "cli/apply.rs"]
mod apply;
#[path = "cli/hooks.rs"]
mod hooks;
#[cfg(unix)]
#[path = "cli/outside.rs"]
mod outside;
#[path = "cli/undo.rs"]
mod undo;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Output, Stdio},
};

use askls::protocol::Wire;
use serde_json::{Value, json};
use support::model::{FakeModel, Reply, call, empty, raw_sse, refusal, stall, status, text};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _},
    process::Command,
};

const WIRES: [Wire; 3] = [Wire::Responses, Wire::Chat, Wire::Messages];

/// A project and the home of a user who has set nothing, on a machine where no model server runs.
struct Place {
    folder: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

/// How a run ended.
#[derive(Debug)]
struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Place {
    fn new(files: &[(&str, &str)]) -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap(), variables: Vec::new() };
        fs::create_dir(place.folder.path().join("project")).unwrap();
        for (path, text) in files {
            place.write(&format!("project/{path}"), text);
        }
        place
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn project(&self, path: &str) -> PathBuf {
        self.folder.path().join("project").join(path)
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.project(path)).unwrap()
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With the fake model as the one that is set.
    fn with_model(self, model: &FakeModel) -> Self {
        self.variable("ASKLS_BASE_URL", &model.base_url())
            .variable("ASKLS_MODEL", "fake-model")
            .variable("ASKLS_WIRE", model.wire().as_str())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_askls"));
        let home = self.folder.path();
        command
            .args(arguments)
            .current_dir(self.project(""))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home)
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("XDG_CACHE_HOME", home.join("cache"))
            // Where nothing listens.
            .env("OLLAMA_HOST", "127.0.0.1:1")
            .env("LLAMA_ARG_PORT", "1")
            .envs(self.variables.clone())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    async fn run(&self, arguments: &[&str]) -> Ran {
        self.command(arguments).output().await.unwrap().into()
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ran {
    /// The events of `--json`.
    fn events(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn assert_code(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    fn assert_stderr(&self, part: &str) -> &Self {
        assert!(self.stderr.contains(part), "{part} is not in {self:#?}");
        self
    }
}

/// Asks `model` in an empty project, with `arguments` besides the prompt.
async fn ask(model: &FakeModel, arguments: &[&str]) -> Ran {
    Place::new(&[("a.txt", "one\n")]).with_model(model).run(&[&["ask", "go"], arguments].concat()).await
}

fn read(path: &str) -> Reply {
    call("read_file", json!({"path": path}))
}

#[cfg(unix)]
#[tokio::test]
async fn a_command_that_would_run_a_program_of_the_project_is_no_look() {
    use std::os::unix::fs::PermissionsExt as _;

    for command in ["ls", "env ls", "sh -c ls"] {
        let model =
            FakeModel::start(Wire::Chat, [call("run_command", json!({"command": command})), text("ok")]);
        let place = Place::new(&[("bin/ls", "#!/bin/sh\ntouch mark\n")]).with_model(&model);
        let (program, folder) = (place.project("bin/ls"), place.project("bin"));
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
        let system = std::env::var("PATH").unwrap_or_default();
        let unasked = place.variable("PATH", &format!("{}:{system}", folder.display()));
        let ran = unasked.run(&["ask", "go"]).await;
        ran.assert_stderr("it runs bin/ls, a program of this project");
        assert!(!unasked.project("mark").exists(), "{command}: {ran:#?}");
    }
}

/// What a look of git would show is asked of git before the question: of the system's.
#[cfg(unix)]
#[tokio::test]
async fn a_git_of_the_project_is_not_asked_what_a_look_would_show() {
    use std::os::unix::fs::PermissionsExt as _;

    let deny = "deny = [\"read: certs/**\"]\n";
    for (folder, settings) in [("./bin", ""), ("", ""), ("bin", deny), ("./bin", deny)] {
        let model =
            FakeModel::start(Wire::Chat, [call("run_command", json!({"command": "git log -p"})), text("ok")]);
        let place = Place::new(&[("bin/git", "#!/bin/sh\ntouch mark\n")]).with_model(&model);
        place.write("config/askls/config.toml", settings);
        for program in ["bin/git", "git"] {
            fs::write(place.project(program), "#!/bin/sh\ntouch mark\n").unwrap();
            fs::set_permissions(place.project(program), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let init =
            std::process::Command::new("git").args(["init", "-q"]).current_dir(place.project("")).status();
        assert!(init.unwrap().success());
        let system = std::env::var("PATH").unwrap_or_default();
        let absolute = place.project("bin").display().to_string();
        let first = if folder == "bin" { &absolute } else { folder };
        let ran = place.variable("PATH", &format!("{first}:{system}"));
        let told = ran.run(&["ask", "go", "--approve", "all"]).await;
        told.assert_code(0);
        assert!(!ran.project("mark").exists(), "{first}: {told:#?}");
    }
}

// SPEC L1
#[tokio::test]
async fn the_answer_is_on_stdout_and_the_work_on_stderr() {
    for wire in WIRES {
        let model = FakeModel::start(wire, [read("a.txt"), text("It says one.")]);
        let ran = ask(&model, &[]).await;
        ran.assert_code(0);
        assert_eq!(ran.stdout, "It says one.\n");
        assert_eq!(ran.stderr, " [tool] read_file a.txt\n");
    }
}

// SPEC O12
#[tokio::test]
async fn every_ending_has_its_exit_code() {
    for wire in WIRES {
        let no_reply = || status(200, r#"{"what": true}"#);
        let table = [
            (0, "answer", text("yes")),
            (1, "limit", text("cut he").length()),
            (3, "provider_error", status(400, r#"{"error":{"message":"no such model"}}"#)),
            (3, "provider_error", status(401, r#"{"error":{"message":"bad key"}}"#)),
            (3, "provider_error", status(200, "<html><title>Sign in</title></html>")),
            (4, "malformed", no_reply()),
            (5, "refused", refusal("I will not")),
            (5, "filtered", text("filtered").content_filter()),
            (6, "empty", empty()),
        ];
        for (code, stop_reason, reply) in table {
            // Some are asked for again: whoever talks nonsense three times, or says nothing twice.
            let again: Vec<_> = match stop_reason {
                "malformed" => vec![no_reply(), no_reply()],
                "empty" => vec![empty()],
                _ => Vec::new(),
            };
            let model = FakeModel::start(wire, [reply].into_iter().chain(again));
            let ran = ask(&model, &["--json"]).await;
            assert_eq!(ran.code, Some(code), "{wire} {stop_reason}: {ran:#?}");
            assert_eq!(ran.events().last().unwrap()["stop_reason"], stop_reason, "{wire}");
        }
    }
}

#[tokio::test]
async fn wrong_usage_is_told_and_ends_with_2() {
    let place = Place::new(&[("a.txt", "")]);
    for (arguments, part) in [
        (&["ask"][..], "<PROMPT>"),
        (&["ask", "--approve", "some", "go"], "none, edits, all"),
        (&["ask", "--max-steps", "many", "go"], "invalid value 'many'"),
        (&["ask", "--max-steps", "0", "go"], "--max-steps must be a whole number from 1 to 10000, not 0"),
        (&["ask", "--max-tokens", "0", "go"], "--max-tokens must be a whole number from 1 to"),
        (&["ask", "--max-steps", "-1", "go"], "--max-steps must be a whole number from 1 to 10000, not -1"),
        (
            &["ask", "--max-tool-calls", "0", "go"],
            "--max-tool-calls must be a whole number from 1 to 100000, not 0",
        ),
        (
            &["ask", "--max-cost", "-2", "go"],
            "--max-cost must be a number of dollars from 0.0001 to 1000000, not -2",
        ),
        (&["ask", "--max-cost", "inf", "go"], "--max-cost must be a number of dollars"),
        (
            &["ask", "--timeout", "0", "go"],
            "--timeout must be a number of seconds from 0.001 to 86400, not 0",
        ),
        (&["ask", "--base-url", "nowhere", "go"], "--base-url must be an address"),
        (&["ask", "--base-url", "", "go"], "--base-url must be an address"),
        (&["ask", "--root", "missing", "go"], "--root missing: "),
        (&["ask", "--root", "../project/a.txt", "go"], "--root ../project/a.txt is not a folder"),
        (&["ask", " "], "the prompt is empty"),
        (&["ask", "--model", "m", "go"], "no server is known that has the model m: set base_url"),
        (&["dance"], "unrecognized subcommand 'dance'"),
        (&["what does main do?"], "write `askls ask` before the question"),
    ] {
        let ran = place.run(arguments).await;
        ran.assert_code(2).assert_stderr(part);
        assert_eq!(ran.stdout, "", "{arguments:?}");
    }
}

// SPEC C1, C2, C3
#[tokio::test]
async fn as_json_the_events_come_in_the_order_in_which_things_happen() {
    let edit = json!({"path": "a.txt", "find": "one", "replace": "two"});
    let model = FakeModel::start(
        Wire::Responses,
        [
            text("I look.").call("read_file", json!({"path": "a.txt"})).usage(10, 0, 2, 0),
            call("edit_file", edit).usage(30, 0, 4, 0),
            call("no_such_tool", json!({})).usage(40, 0, 5, 0),
            text("Done.").usage(20, 10, 3, 1),
        ],
    );
    let ran = ask(&model, &["--json"]).await;
    let events = ran.assert_code(0).events();
    let names: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(
        names.into_iter().filter(|name| *name != "text").collect::<Vec<_>>(),
        [
            "turn_started",
            "step_started",
            "usage",
            "tool_started",
            "tool_ended",
            "step_started",
            "usage",
            "tool_started",
            "tool_ended",
            "edit_proposed",
            "step_started",
            "usage",
            "tool_started",
            "tool_ended",
            "step_started",
            "usage",
            "turn_ended"
        ]
    );
    let started = events.iter().filter(|event| event["type"] == "tool_started");
    let ended: Vec<_> = events.iter().filter(|event| event["type"] == "tool_ended").collect();
    for (started, ended) in started.zip(&ended) {
        assert_eq!(started["call_id"], ended["call_id"]);
    }
    let errors: Vec<_> = ended.iter().map(|event| event["is_error"].as_bool().unwrap()).collect();
    assert_eq!(errors, [false, false, true]);
    let end = events.last().unwrap();
    assert_eq!(
        (&end["stop_reason"], &end["answer"], &end["steps"]),
        (&json!("answer"), &json!("Done."), &json!(4))
    );
    assert_eq!((&end["input_tokens"], &end["output_tokens"]), (&json!(100), &json!(14)));
}

/// A project in which the model wants to run a command that leaves a mark.
async fn touch(arguments: &[&str]) -> (Ran, bool, String) {
    let model =
        FakeModel::start(Wire::Chat, [call("run_command", json!({"command": "touch mark"})), text("ok")]);
    let place = Place::new(&[]).with_model(&model);
    let ran = place.run(&[&["ask", "go"], arguments].concat()).await;
    let output = model.request(2).await.outputs().remove(0).1;
    (ran, place.project("mark").exists(), output)
}

// SPEC A1
#[tokio::test]
async fn without_a_terminal_a_command_is_denied_and_both_sides_are_told() {
    for arguments in [&[][..], &["--approve", "edits"], &["--approve", "none"]] {
        let (ran, ran_command, output) = touch(arguments).await;
        ran.assert_code(0).assert_stderr("--approve all");
        assert!(!ran_command, "{arguments:?}");
        assert!(output.contains("nobody can be asked"), "{output}");
    }
}

#[tokio::test]
async fn without_a_terminal_a_command_that_a_rule_allows_runs_and_a_refusal_names_the_rule() {
    for (allow, runs) in [("command: touch mark", true), ("command: touch other", false)] {
        let model =
            FakeModel::start(Wire::Chat, [call("run_command", json!({"command": "touch mark"})), text("ok")]);
        let place = Place::new(&[]).with_model(&model);
        place.write("config/askls/config.toml", &format!("allow = [\"{allow}\"]\n"));
        let ran = place.run(&["ask", "go"]).await;
        ran.assert_code(0);
        assert_eq!(place.project("mark").exists(), runs, "{allow}");
        if !runs {
            ran.assert_stderr("and so does allow = [\"exactly: touch mark\"]");
        }
    }
}

#[tokio::test]
async fn a_command_that_leaves_the_sandbox_is_asked_about_though_everything_is_approved() {
    let arguments = json!({"command": "touch mark", "unsandboxed": true, "reason": "to see"});
    let model = FakeModel::start(Wire::Chat, [call("run_command", arguments), text("ok")]);
    let place = Place::new(&[]).with_model(&model);
    place.run(&["ask", "--approve", "all", "go"]).await.assert_code(0);
    let output = model.request(2).await.outputs().remove(0).1;
    assert!(output.contains("nobody can be asked") && !place.project("mark").exists(), "{output}");
}

#[tokio::test]
async fn a_command_runs_when_everything_is_approved() {
    let (ran, ran_command, output) = touch(&["--approve", "all"]).await;
    ran.assert_code(0);
    assert!(ran_command, "{output}");
}

#[tokio::test]
async fn a_line_says_how_each_command_ended() {
    let command = json!({"command": "echo no >&2; exit 3"});
    let model = FakeModel::start(Wire::Chat, [call("run_command", command), text("It failed.")]);
    let place = Place::new(&[]).with_model(&model);
    let ran = place.run(&["ask", "--approve", "all", "go"]).await;
    ran.assert_code(0).assert_stderr(" [tool] run_command echo no >&2; exit 3 … exit code 3 (");
}

/// What is left of a key that was cut looks like none.
#[tokio::test]
async fn a_key_is_hidden_before_a_line_is_cut() {
    let key = format!("ghp_{}", "a1B2".repeat(9));
    let command = json!({"command": format!("echo {} {key}", "x".repeat(60))});
    let model = FakeModel::start(Wire::Chat, [call("run_command", command), text("Done.")]);
    let place = Place::new(&[]).with_model(&model);
    let ran = place.run(&["ask", "go"]).await;
    ran.assert_stderr("<key hidden by askls>");
    assert!(!ran.stderr.contains("ghp_"), "{}", ran.stderr);
}

// SPEC A1
#[tokio::test]
async fn without_a_terminal_a_denied_edit_asks_for_no_more_than_it_needs() {
    let edit = json!({"path": "a.txt", "find": "one", "replace": "two"});
    let model = FakeModel::start(Wire::Chat, [call("edit_file", edit), text("ok")]);
    let ran = ask(&model, &["--approve", "none"]).await;
    ran.assert_code(0)
        .assert_stderr("[denied] edit_file (approvals is none): ")
        .assert_stderr("--approve edits lets it go ahead");
}

/// A model that edits `a.txt` and answers.
fn editing(wire: Wire) -> FakeModel {
    let edit = json!({"path": "a.txt", "find": "one", "replace": "two"});
    FakeModel::start(wire, [call("edit_file", edit), text("Changed.").gate()])
}

#[tokio::test]
async fn edits_are_printed_and_nothing_is_written() {
    let model = editing(Wire::Responses);
    model.release(2);
    let place = Place::new(&[("a.txt", "one\n")]).with_model(&model);
    let ran = place.run(&["ask", "go"]).await;
    ran.assert_code(0).assert_stderr("nothing was written: --apply writes this change of 1 file\n");
    assert!(ran.stdout.starts_with("Changed.\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("-one\n+two\n"), "{}", ran.stdout);
    assert_eq!(place.read("a.txt"), "one\n");
}

#[tokio::test]
async fn edits_are_written_when_that_is_asked_for() {
    let model = editing(Wire::Chat);
    model.release(2);
    let place = Place::new(&[("a.txt", "one\n")]).with_model(&model);
    place.run(&["ask", "--apply", "go"]).await.assert_code(0).assert_stderr("written: a.txt (+1 -1)\n");
    assert_eq!(place.read("a.txt"), "two\n");
}

// SPEC C1
#[tokio::test]
async fn each_file_that_was_written_is_a_line_and_for_programs_a_part_of_the_last_event() {
    for wire in WIRES {
        let edit = json!({"path": "a.txt", "find": "one", "replace": "two"});
        let new = json!({"path": "b/c.txt", "text": "1\n2\n"});
        let reply = || {
            call("edit_file", edit.clone())
                .call("write_file", new.clone())
                .call("delete_file", json!({"path": "d.txt"}))
        };
        let files = [("a.txt", "one\n"), ("d.txt", "d\n")];
        let lines = "written: a.txt (+1 -1)\nwritten: b/c.txt (new, +2)\ndeleted: d.txt (-1)\n";
        let model = FakeModel::start(wire, [reply(), text("Done.")]);
        let place = Place::new(&files).with_model(&model);
        place.run(&["ask", "--apply", "go"]).await.assert_code(0).assert_stderr(lines);
        let model = FakeModel::start(wire, [reply(), text("Done.")]);
        let place = Place::new(&files).with_model(&model);
        let ran = place.run(&["ask", "--apply", "--json", "go"]).await;
        let events = ran.assert_code(0).events();
        assert_eq!(events[events.len() - 2]["type"], "turn_ended");
        assert_eq!(
            events[events.len() - 1],
            json!({"type": "written", "files": [
                {"path": "a.txt", "change": "changed", "added": 1, "removed": 1},
                {"path": "b/c.txt", "change": "created", "added": 2, "removed": 0},
                {"path": "d.txt", "change": "deleted", "added": 0, "removed": 1},
            ]})
        );
    }
}

#[tokio::test]
async fn what_editors_and_shells_run_by_themselves_is_not_written_unasked() {
    let tasks = json!({"path": ".vscode/tasks.json", "text": "{}\n"});
    let edit = json!({"path": "a.txt", "find": "one", "replace": "two"});
    for flags in [&["--apply"][..], &["--apply", "--approve", "all"], &["--apply", "--json"]] {
        let reply = call("write_file", tasks.clone()).call("edit_file", edit.clone());
        let model = FakeModel::start(Wire::Chat, [reply, text("Done.")]);
        let place = Place::new(&[("a.txt", "one\n")]).with_model(&model);
        let ran = place.run(&[&["ask"], flags, &["go"]].concat()).await;
        ran.assert_code(7)
            .assert_stderr("written: a.txt (+1 -1)\n")
            .assert_stderr("not written: .vscode/tasks.json: editors and shells run what it says")
            .assert_stderr("without a terminal\n");
        assert_eq!((place.read("a.txt").as_str(), place.project(".vscode").exists()), ("two\n", false));
        if flags.contains(&"--json") {
            let last = ran.events().pop().unwrap();
            assert_eq!(last["type"], "not_written", "{last}");
            assert_eq!(last["files"][0]["path"], ".vscode/tasks.json", "{last}");
        }
    }
}

#[tokio::test]
async fn an_edit_that_is_going_to_be_written_is_not_called_proposed() {
    let place = Place::new(&[("a.txt", "one\n")]);
    let prompt = "replace `one` with `two` in a.txt";
    let ran = place.run(&["ask", "--model", "offline", "--apply", prompt]).await;
    let stdout = &ran.assert_code(0).stdout;
    assert!(
        stdout.contains("The edit is applied when the turn ends.") && !stdout.contains("proposed"),
        "{stdout}"
    );
    let model = editing(Wire::Chat);
    model.release(2);
    let place = Place::new(&[("a.txt", "one\n")]).with_model(&model);
    place.run(&["ask", "--apply", "go"]).await.assert_code(0);
    let told = model.request(2).await.json.to_string();
    assert!(
        told.contains("Staged: nothing is on disk yet; it is written before the next command runs"),
        "{told}"
    );
}

#[tokio::test]
async fn a_call_that_does_not_run_is_shown_with_the_file_that_it_is_about() {
    for (arguments, options, how) in [
        (json!({"path": "b.txt"}), vec!["ask", "go"], "failed"),
        (json!({"path": "b.txt", "text": "b"}), vec!["ask", "--approve", "none", "go"], "denied"),
    ] {
        let model = FakeModel::start(Wire::Chat, [call("write_file", arguments), text("Done.")]);
        let place = Place::new(&[]).with_model(&model);
        let line = format!(" [tool] write_file b.txt: {how}: ");
        place.run(&options).await.assert_code(0).assert_stderr(&line);
    }
}

#[tokio::test]
async fn a_turn_with_a_known_price_says_what_it_came_to() {
    let model = FakeModel::start(Wire::Chat, [text("Done.")]);
    let place = Place::new(&[]).with_model(&model);
    place.run(&["ask", "go"]).await.assert_code(0).assert_stderr("");
    let counted = |reply: Reply| reply.usage(100, 0, 10, 0);
    let script = [counted(read("a.txt")), counted(text("Done."))];
    let model = FakeModel::start(Wire::Chat, script);
    let place = Place::new(&[("a.txt", "one\n")]).with_model(&model);
    place.write("config/askls/config.toml", "price = { input = 100, output = 1000 }\n");
    let ran = place.run(&["ask", "go"]).await;
    let total = ran.assert_code(0).stderr.lines().last().unwrap();
    assert_eq!(total, " [total] 2 steps, 200 tokens in, 20 out, $0.0400");
    assert_eq!(ran.stdout, "Done.\n");
}

#[tokio::test]
async fn the_last_line_says_what_was_estimated_behind_what_became_of_the_edits() {
    let edit = || call("write_file", json!({"path": "a.txt", "text": "one\n"}));
    let model = FakeModel::start(Wire::Chat, [edit(), text("Done."), edit(), text("Done.")]);
    let place = Place::new(&[]).with_model(&model);
    place.write("config/askls/config.toml", "price = { input = 100, output = 1000 }\n");
    let ran = place.run(&["ask", "go"]).await;
    let total = ran.assert_code(0).assert_stderr("nothing was written").stderr.lines().last().unwrap();
    assert!(total.starts_with(" [total] 2 steps, about ") && total.contains(" out, about $0."), "{total}");

    let ran = place.run(&["ask", "--json", "go"]).await;
    let end = ran.assert_code(0).events().pop().unwrap();
    assert_eq!(end["estimated"], true, "{end}");
    assert!(end["cost_usd"].as_f64() > Some(0.0) && end["output_tokens"].as_u64() > Some(0), "{end}");
}

#[tokio::test]
async fn a_setting_that_ends_the_ask_is_told_once() {
    let place = Place::new(&[]);
    place.write("config/askls/config.toml", "max_steps = 0\n[limits]\nmax_cost = 1\n");
    for command in [&["ask", "go"][..], &["ask", "--model", "offline", "go"], &["status"]] {
        let ran = place.run(command).await;
        let told = format!("{}{}", ran.assert_code(2).stdout, ran.stderr);
        assert_eq!(told.matches("max_steps must be").count(), 1, "{told}");
        assert_eq!(told.matches("there is no table limits").count(), 1, "{told}");
    }
    // What holds nothing up is a warning.
    place.write("config/askls/config.toml", "wire = 'soap'\n");
    let ran = place.run(&["ask", "--model", "offline", "hello"]).await;
    ran.assert_code(0).assert_stderr("warning: ").assert_stderr("wire must be one of");
}

#[tokio::test]
async fn an_edit_of_a_file_that_changed_meanwhile_is_not_written() {
    let model = editing(Wire::Chat);
    let place = Place::new(&[("a.txt", "one\n")]).with_model(&model);
    let child = place.command(&["ask", "--apply", "go"]).spawn().unwrap();
    model.request(2).await;
    place.write("project/a.txt", "one, and mine\n");
    model.release(2);
    let ran = Ran::from(child.wait_with_output().await.unwrap());
    ran.assert_code(7).assert_stderr("a.txt").assert_stderr("nothing was written");
    assert_eq!(place.read("a.txt"), "one, and mine\n");
}

#[tokio::test]
async fn edits_of_a_turn_that_did_not_come_to_its_end_are_not_written() {
    let edit = json!({"path": "a.txt", "find": "one", "replace": "two"});
    let model = FakeModel::start(Wire::Chat, [call("edit_file", edit), text("I am").length()]);
    let place = Place::new(&[("a.txt", "one\n")]).with_model(&model);
    place.run(&["ask", "--apply", "go"]).await.assert_code(1).assert_stderr("nothing was written");
    assert_eq!(place.read("a.txt"), "one\n");
}

#[tokio::test]
async fn edits_of_a_turn_that_used_all_its_steps_are_not_written_though_it_ends_with_an_answer() {
    let edit = json!({"path": "a.txt", "find": "one", "replace": "two"});
    let model = FakeModel::start(Wire::Chat, [call("edit_file", edit), text("Half is done.")]);
    let place = Place::new(&[("a.txt", "one\n")]).with_model(&model);
    let arguments = ["ask", "--apply", "--max-steps", "1", "--on-limit", "final_answer", "go"];
    place.run(&arguments).await.assert_code(7).assert_stderr("nothing was written");
    assert_eq!(place.read("a.txt"), "one\n");
}

#[tokio::test]
async fn half_of_a_change_is_not_said_to_be_written_with_apply() {
    let edit = json!({"path": "a.txt", "find": "one", "replace": "two"});
    let model = FakeModel::start(Wire::Chat, [call("edit_file", edit)]);
    let place = Place::new(&[("a.txt", "one\n")]).with_model(&model);
    let ran = place.run(&["ask", "--max-steps", "1", "go"]).await;
    ran.assert_code(1).assert_stderr("nothing was written: this change of 1 file is not whole");
}

/// The process is killed at the first sign of a write and later and later after it: each file then says what it said
/// before or all of what it was to say.
// SPEC T5
#[cfg(unix)]
#[tokio::test]
async fn a_kill_in_the_middle_of_writing_leaves_every_file_old_or_new() {
    const FILES: usize = 6;
    let old = format!("old\n{}", format!("{}\n", "a long line ".repeat(100)).repeat(200));
    let new = old.replacen("old", "new", 1);
    for delay in 0..10 {
        let names: Vec<String> = (0..FILES).map(|number| format!("{number}.txt")).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), old.as_str())).collect();
        let patch: String =
            names.iter().map(|name| format!("*** Update File: {name}\n-old\n+new\n")).collect();
        let input = format!("*** Begin Patch\n{patch}*** End Patch\n");
        let model =
            FakeModel::start(Wire::Chat, [call("apply_patch", json!({"input": input})), text("Done.")]);
        let place = Place::new(&files).with_model(&model);
        let mut child = place.command(&["ask", "--apply", "go"]).spawn().unwrap();
        let seen = |folder: PathBuf| fs::read_dir(folder).unwrap().count() > FILES;
        while !seen(place.project("")) && child.try_wait().unwrap().is_none() {
            tokio::task::yield_now().await;
        }
        // Looks at the folder are the clock.
        for _ in 0..1 << delay {
            seen(place.project(""));
        }
        child.kill().await.unwrap();
        for name in &names {
            let text = place.read(name);
            assert!(text == old || text == new, "{name} is {} bytes after {delay}", text.len());
        }
    }
}

/// A model that always wants to read on, asked with `arguments`.
async fn endless(wire: Wire, arguments: &[&str]) -> (Ran, FakeModel) {
    let mut offset = 0;
    let model = FakeModel::answering(wire, move |request| {
        offset += 1;
        if request.tool_choice().as_deref() == Some("none") || request.tools().is_empty() {
            return text("So far I know this.");
        }
        call("list_files", json!({"path": format!("{offset}")}))
    });
    let folders: Vec<_> = (1..=10).map(|number| format!("{number}/a.txt")).collect();
    let files: Vec<_> = folders.iter().map(|path| (path.as_str(), "")).collect();
    let ran = Place::new(&files).with_model(&model).run(&[&["ask", "go"], arguments].concat()).await;
    (ran, model)
}

// SPEC L8, L9, L10
#[tokio::test]
async fn a_turn_that_used_all_its_steps_says_so() {
    for wire in WIRES {
        for how in ["error", "message"] {
            let (ran, model) = endless(wire, &["--max-steps", "10", "--on-limit", how]).await;
            ran.assert_code(1)
                .assert_stderr("10 steps")
                .assert_stderr("list_files")
                .assert_stderr("--max-steps N");
            assert_eq!(ran.stderr.contains("error: stopped"), how == "error", "{ran:#?}");
            assert_eq!(model.requests().len(), 10, "{wire} {how}");
        }
    }
}

// SPEC L11
#[tokio::test]
async fn a_last_answer_without_tools_can_be_asked_for() {
    for wire in WIRES {
        let (ran, model) = endless(wire, &["--max-steps", "3", "--on-limit", "final_answer"]).await;
        ran.assert_code(0).assert_stderr("3 steps");
        assert_eq!(ran.stdout, "So far I know this.\n");
        assert_eq!(model.requests().len(), 4, "{wire}");
    }
}

// SPEC E8
#[cfg(unix)]
#[tokio::test]
async fn an_error_tells_the_model_no_place_outside_the_project_and_the_log_tells_it() {
    for wire in WIRES {
        for log in [None, Some("debug")] {
            let run = call("run_command", json!({"command": "true"}));
            let model = FakeModel::start(wire, [run, text("It does not run.")]);
            let place = Place::new(&[]).with_model(&model);
            let place = match log {
                Some(level) => place.variable("ASKLS_LOG", level),
                None => place,
            };
            let shell = place.folder.path().join("no-such-shell").display().to_string();
            place.write("config/askls/config.toml", &format!("shell = ['{shell}']\n"));
            let ran = place.run(&["ask", "--json", "--approve", "all", "go"]).await;
            let outputs = model.request(2).await.outputs();
            assert!(
                outputs[0].1.contains("the shell <outside the workspace> could not be started"),
                "{outputs:?}"
            );
            assert_eq!(ran.assert_code(0).stderr.contains(&shell), log.is_some(), "{ran:#?}");
        }
    }
}

/// A model that searches for ever, each time for something else, asked by a user who has set these.
async fn searching(wire: Wire, settings: &str, arguments: &[&str]) -> (Ran, FakeModel) {
    let mut word = 0;
    let model = FakeModel::answering(wire, move |_| {
        word += 1;
        call("search", json!({"pattern": format!("word {word}")})).usage(100, 0, 10, 0)
    });
    let place = Place::new(&[("a.txt", "one\n")]).with_model(&model);
    place.write("config/askls/config.toml", settings);
    let ran = place.run(&[&["ask", "go"], arguments].concat()).await;
    (ran, model)
}

/// A turn with a model that never answers, which `ask` gives so many seconds: as many as it takes to reach the model on
/// a machine that may be busy.
async fn out_of_time(wire: Wire, ask: impl AsyncFn(&Place, f64) -> Ran) -> (Ran, FakeModel) {
    let mut seconds = 0.25;
    loop {
        let model = FakeModel::start(wire, [stall()]);
        let place = Place::new(&[]).with_model(&model);
        let ran = ask(&place, seconds).await;
        ran.assert_code(1);
        if !model.requests().is_empty() {
            return (ran, model);
        }
        drop(model.allow_unused());
        seconds *= 2.0;
    }
}

// SPEC L13
#[tokio::test]
async fn each_bound_of_a_turn_has_an_ending_of_its_own() {
    let table = [
        ("max_steps = 2\n", "steps", 2),
        ("max_turn_tokens = 300\n", "turn_tokens", 3),
        ("max_tool_calls = 3\n", "tool_calls", 4),
        // A request costs 110 of these.
        ("max_cost = 0.0002\nprice = { input = 1, output = 1 }\n", "cost", 2),
    ];
    for wire in WIRES {
        for (settings, limit, requests) in table {
            let (ran, model) = searching(wire, settings, &["--json"]).await;
            let end = ran.assert_code(1).events().pop().unwrap();
            assert_eq!((&end["stop_reason"], &end["limit"]), (&json!("limit"), &json!(limit)), "{end}");
            let setting = settings.split(' ').next().unwrap();
            assert!(end["detail"].as_str().unwrap().contains(setting), "{end}");
            assert_eq!((model.requests().len(), ran.stderr.as_str()), (requests, ""), "{wire} {limit}");
        }
    }
}

// SPEC L13
#[tokio::test]
async fn a_bound_of_the_project_says_whose_it_is() {
    let model = FakeModel::start(Wire::Chat, [call("list_files", json!({}))]);
    let place = Place::new(&[(".askls/config.toml", "max_steps = 1\n")]).with_model(&model);
    place.run(&["ask", "go"]).await.assert_code(1).assert_stderr(
        "the max_steps limit (the last tool was list_files), which is the project's: max_steps = 1 of \
         .askls/config.toml; raise it there, in your editor or on the command line to go further (here: --max-steps N",
    );
}

// SPEC L13
#[tokio::test]
async fn a_turn_may_be_given_a_time() {
    for wire in WIRES {
        let (ran, model) = out_of_time(wire, async |place, seconds| {
            place.write("config/askls/config.toml", &format!("turn_timeout = {seconds}\n"));
            place.run(&["ask", "--json", "go"]).await
        })
        .await;
        let end = ran.events().pop().unwrap();
        assert_eq!((&end["stop_reason"], &end["limit"]), (&json!("limit"), &json!("time")), "{end}");
        model.left(1).await;
    }
}

// SPEC L13
#[tokio::test]
async fn a_bound_of_the_command_line_goes_before_that_of_every_file() {
    let price = "price = { input = 1, output = 1 }\n";
    for (flags, files, limit, requests) in [
        (["--max-tokens", "300"], "max_turn_tokens = 100\n", "turn_tokens", 3),
        (["--max-tokens", "100"], "max_turn_tokens = 300\n", "turn_tokens", 1),
        (["--max-tool-calls", "3"], "max_tool_calls = 1\n", "tool_calls", 4),
        (["--max-cost", "0.0002"], "max_cost = 0.0001\n", "cost", 2),
        (["--max-steps", "3"], "max_steps = 1\n", "steps", 3),
    ] {
        let (ran, model) =
            searching(Wire::Chat, &format!("{files}{price}"), &[&flags[..], &["--json"]].concat()).await;
        let end = ran.assert_code(1).events().pop().unwrap();
        assert_eq!((&end["limit"], model.requests().len()), (&json!(limit), requests), "{flags:?} {end}");
    }
    let (ran, _model) = out_of_time(Wire::Chat, async |place, seconds| {
        place.write("config/askls/config.toml", "turn_timeout = 86400\n");
        place.run(&["ask", "--timeout", &seconds.to_string(), "go"]).await
    })
    .await;
    ran.assert_stderr("turn_timeout").assert_stderr("(here: --timeout SECONDS)");
}

/// Some servers send all at once and keep the connection open: whether more comes is in doubt for a while.
// SPEC L13, S6
#[tokio::test]
async fn an_answer_that_is_whole_when_the_time_is_up_is_an_answer() {
    let whole =
        r#"data: {"choices":[{"index":0,"delta":{"content":"whole answer"},"finish_reason":"stop"}]}"#;
    for setting in ["turn_timeout", "reply_timeout"] {
        let mut end = Value::Null;
        // As long as it takes to reach the model on a machine that may be busy, and far below the time of doubt.
        for seconds in [1, 2, 4, 8, 16] {
            let reply = raw_sse(&format!("{whole}\n\n")).stays_open();
            let model = FakeModel::start(Wire::Chat, [reply]).allow_unused();
            let place = Place::new(&[]).with_model(&model);
            place.write("config/askls/config.toml", &format!("{setting} = {seconds}\nmax_attempts = 1\n"));
            end = place.run(&["ask", "--json", "go"]).await.events().pop().unwrap();
            if end["stop_reason"] == "answer" {
                break;
            }
        }
        assert_eq!(
            (&end["stop_reason"], &end["answer"]),
            (&json!("answer"), &json!("whole answer")),
            "{setting}: {end}"
        );
    }
}

#[tokio::test]
async fn a_request_that_is_too_large_for_what_is_set_is_not_sent() {
    for (settings, words) in [
        ("context_tokens = 100\n", "context_tokens is 100 tokens; raise it"),
        ("window = 500\n", "window is 500 tokens; raise it"),
        ("context_tokens = 90\nwindow = 500\n", "context_tokens is 90 tokens; raise it"),
    ] {
        for wire in WIRES {
            let (ran, model) = searching(wire, settings, &[]).await;
            ran.assert_code(1).assert_stderr("limit: nothing was sent, since ").assert_stderr(words);
            assert_eq!(model.requests().len(), 0, "{ran:?}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_went_beyond_a_bound_says_so() {
    // What the server does not count, the bounds estimate.
    for reply in [text("Done.").usage(100, 0, 10, 0), text("Done.")] {
        let model = FakeModel::start(Wire::Chat, [reply]);
        let place = Place::new(&[]).with_model(&model);
        place
            .write("config/askls/config.toml", "max_turn_tokens = 50\nprice = { input = 10, output = 10 }\n");
        let ran = place.run(&["ask", "--max-cost", "0.0001", "go"]).await;
        ran.assert_code(0)
            .assert_stderr("max_turn_tokens (50 tokens): the answer took it beyond")
            .assert_stderr("max_cost ($0.0001): the answer took it beyond");
    }
}

// SPEC C3
#[tokio::test]
async fn an_ask_that_ends_before_its_model_is_chosen_has_an_end_among_its_events() {
    let place = Place::new(&[]);
    place.write("config/askls/config.toml", "max_steps = 'x'\n");
    let ran = place.run(&["ask", "--json", "--model", "offline", "go"]).await;
    let events = ran.assert_code(2).events();
    let ends: Vec<_> = events.iter().map(|event| (&event["type"], &event["stop_reason"])).collect();
    assert_eq!(ends, [(&json!("turn_ended"), &json!("provider_error"))]);
}

// SPEC L13
#[tokio::test]
async fn a_bound_on_money_that_cannot_be_held_is_warned_of() {
    for arguments in [&["--max-steps", "1"][..], &["--max-steps", "1", "--json"]] {
        let (ran, _model) = searching(Wire::Chat, "max_cost = 2\n", arguments).await;
        ran.assert_code(1).assert_stderr("warning: max_cost ($2.00) cannot be held");
    }
}

#[tokio::test]
async fn what_was_done_about_a_limit_is_not_advised_again() {
    let settings = "max_tool_calls = 1\n";
    for (how, advice) in [
        ("message", "(here: --max-steps N, or --on-limit final_answer)"),
        ("final_answer", "(here: --max-steps N)"),
    ] {
        let (ran, _model) = searching(Wire::Chat, "", &["--max-steps", "1", "--on-limit", how]).await;
        assert!(
            ran.assert_code(1).stderr.ends_with(&format!("; raise it to go further {advice}\n")),
            "{ran:?}"
        );
        let (ran, _model) = searching(Wire::Chat, settings, &["--on-limit", how]).await;
        let advice = advice.replace("--max-steps", "--max-tool-calls");
        assert!(
            ran.assert_code(1).stderr.ends_with(&format!("; raise it to go further {advice}\n")),
            "{ran:?}"
        );
    }
}

// SPEC E2
#[tokio::test]
async fn a_call_of_an_unknown_tool_can_end_the_turn_before_anything_runs() {
    for wire in WIRES {
        let write = json!({"path": "b.txt", "content": "b"});
        let reply = call("write_file", write)
            .call("mul", json!({"a": 2}))
            .call("read_file", json!({"path": "a.txt"}));
        let model = FakeModel::start(wire, [reply]);
        let place = Place::new(&[("a.txt", "one\n")]).with_model(&model);
        place.write("config/askls/config.toml", "unknown_tools = 'stop'\n");
        let ran = place.run(&["ask", "--json", "--apply", "go"]).await;
        let events = ran.assert_code(1).events();
        assert!(events.iter().all(|event| event["type"] != "tool_started"), "{events:?}");
        let end = events.last().unwrap();
        assert_eq!((&end["stop_reason"], &end["limit"]), (&json!("limit"), &json!("unknown_tool")), "{end}");
        assert!(end["detail"].as_str().unwrap().contains("the model called mul"), "{end}");
    }
}

// SPEC L15
#[tokio::test]
async fn a_repeated_call_can_end_the_turn_at_once() {
    for wire in WIRES {
        let model = FakeModel::start(wire, [read("a.txt"), read("a.txt")]);
        let place = Place::new(&[("a.txt", "one\n")]).with_model(&model);
        place.write("config/askls/config.toml", "repeated_calls = 'stop'\n");
        let ran = place.run(&["ask", "--json", "go"]).await;
        let end = ran.assert_code(1).events().pop().unwrap();
        assert_eq!((&end["stop_reason"], &end["limit"]), (&json!("limit"), &json!("repeated_call")), "{end}");
    }
}

#[tokio::test]
async fn a_fault_of_the_settings_is_not_said_of_the_server() {
    let model = FakeModel::start(Wire::Chat, []);
    let place = Place::new(&[]).with_model(&model);
    place.write("config/askls/config.toml", "tool_choice = 'mul'\n");
    let ran = place.run(&["ask", "go"]).await;
    assert!(ran.assert_code(2).stderr.starts_with("error: tool_choice names mul"), "{ran:?}");
}

#[cfg(unix)]
fn signal(child: &tokio::process::Child, name: &str) {
    let pid = child.id().unwrap().to_string();
    assert!(std::process::Command::new("kill").args([name, &pid]).status().unwrap().success());
}

// SPEC C7
#[cfg(unix)]
#[tokio::test]
async fn a_signal_cancels_the_turn() {
    for wire in WIRES {
        for name in ["-INT", "-TERM", "-QUIT"] {
            let model = FakeModel::start(wire, [stall()]);
            let place = Place::new(&[]).with_model(&model);
            let child = place.command(&["ask", "--json", "go"]).spawn().unwrap();
            model.request(1).await;
            signal(&child, name);
            let ran = Ran::from(child.wait_with_output().await.unwrap());
            assert_eq!(ran.assert_code(130).events().last().unwrap()["stop_reason"], "cancelled");
            model.left(1).await;
        }
    }
}

// SPEC C7
#[cfg(unix)]
#[tokio::test]
async fn a_cancelled_command_is_gone_with_its_children() {
    let sleep = format!("sleep 601.{}", std::process::id());
    let script = format!("{sleep} & echo > started; wait");
    let model = FakeModel::start(Wire::Chat, [call("run_command", json!({"command": script}))]);
    let place = Place::new(&[]).with_model(&model);
    // Opening it for reading waits until the command opens it for writing.
    let pipe = place.project("started");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let child = place.command(&["ask", "--approve", "all", "--json", "go"]).spawn().unwrap();
    tokio::task::spawn_blocking(move || fs::read(pipe).unwrap()).await.unwrap();
    assert!(is_running(&sleep));
    signal(&child, "-INT");
    let ran = Ran::from(child.wait_with_output().await.unwrap());
    let events = ran.assert_code(130).events();
    assert_eq!(events.last().unwrap()["stop_reason"], "cancelled");
    assert_eq!(events.iter().filter(|event| event["type"] == "tool_ended").count(), 1);
    wait_until_gone(&sleep).await;
}

// SPEC C5
#[cfg(unix)]
#[tokio::test]
async fn a_background_job_is_seen_at_work_and_ends_with_its_turn() {
    let sleep = format!("sleep 602.{}", std::process::id());
    let script = format!("trap '' TERM; {sleep} & echo ready; wait");
    let job = call("run_command", json!({"command": script, "background": true}));
    let model = FakeModel::start(Wire::Chat, [job, text("It runs.")]);
    let place = Place::new(&[]).with_model(&model);
    let ran = place.run(&["ask", "-v", "--approve", "all", "go"]).await;
    ran.assert_code(0)
        .assert_stderr(" | ready\n")
        .assert_stderr("a background job ends with this turn: trap '' TERM; ");
    wait_until_gone(&sleep).await;
}

/// Whether a process has these words in its command line, as a shell that is to run them has too. Numbers of processes
/// would tell nothing: in the sandbox they are others.
#[cfg(unix)]
fn is_running(words: &str) -> bool {
    let output = std::process::Command::new("ps").args(["-A", "-ww", "-o", "args="]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).contains(words)
}

/// Who keeps a command ends what is left of it, which may be a moment after askls.
#[cfg(unix)]
async fn wait_until_gone(words: &str) {
    let gone = async {
        while is_running(words) {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let gone = tokio::time::timeout(std::time::Duration::from_secs(20), gone).await;
    assert!(gone.is_ok(), "{words} is left");
}

#[tokio::test]
async fn a_reader_that_leaves_does_not_end_the_turn() {
    let model = FakeModel::start(
        Wire::Chat,
        [text("one ").call("read_file", json!({"path": "a.txt"})), text("two").gate()],
    );
    let place = Place::new(&[("a.txt", "one\n")]).with_model(&model);
    let mut child = place.command(&["ask", "go"]).spawn().unwrap();
    drop(child.stdout.take());
    model.release(2);
    let ran = Ran::from(child.wait_with_output().await.unwrap());
    ran.assert_code(0);
    assert_eq!(ran.stderr, " [tool] read_file a.txt\n");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_answer_that_cannot_be_written_is_an_error() {
    let model = FakeModel::start(Wire::Chat, [text("ok"), text("ok")]);
    let place = Place::new(&[]).with_model(&model);
    for arguments in [&["ask", "go"][..], &["ask", "--json", "go"], &["status"], &["settings-schema"]] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let child = place.command(arguments).stdout(full).spawn().unwrap();
        Ran::from(child.wait_with_output().await.unwrap())
            .assert_code(7)
            .assert_stderr("No space left on device");
    }
}

/// The pipe is read only after the signal: until then most of the answer waits.
#[cfg(unix)]
#[tokio::test]
async fn an_answer_that_nobody_takes_can_be_cancelled() {
    let place = Place::new(&[]);
    let notes = "a line of a file that is longer than any pipe\n".repeat(4_000);
    place.write("project/notes.txt", &notes);
    let call = call("delete_file", json!({"path": "notes.txt"}));
    let model = FakeModel::start(Wire::Chat, [call, text("ok")]);
    let place = place.with_model(&model);
    let mut child = place.command(&["ask", "go"]).spawn().unwrap();
    // The whole text is removed, and its diff is what waits.
    let mut lines = tokio::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("diff") {
        line.clear();
        lines.read_line(&mut line).await.unwrap();
    }
    signal(&child, "-INT");
    assert_eq!(child.wait().await.unwrap().code(), Some(130));
}

#[tokio::test]
async fn the_prompt_can_come_from_stdin() {
    let model = FakeModel::start(Wire::Chat, [text("ok")]);
    let place = Place::new(&[]).with_model(&model);
    let mut child = place.command(&["ask", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all("what is\nthis é?".as_bytes()).await.unwrap();
    Ran::from(child.wait_with_output().await.unwrap()).assert_code(0);
    assert!(model.request(1).await.prompt().contains("what is\nthis é?"));
}

#[tokio::test]
async fn several_words_are_one_prompt() {
    let model = FakeModel::start(Wire::Chat, [text("ok")]);
    Place::new(&[]).with_model(&model).run(&["ask", "what", "is", "this?"]).await.assert_code(0);
    assert!(model.request(1).await.prompt().contains("what is this?"));
}

#[tokio::test]
async fn with_nothing_configured_real_files_are_listed_and_read() {
    let place =
        Place::new(&[("Cargo.toml", "[package]\nname = \"sample\"\n"), ("src/main.rs", "fn main() {}\n")]);
    let ran = place.run(&["ask", "What files are in the current directory? Then read Cargo.toml."]).await;
    ran.assert_code(0).assert_stderr(" [tool] list_files").assert_stderr(" [tool] read_file Cargo.toml");
    assert!(ran.stdout.contains("src/main.rs") || ran.stdout.contains("src/"), "{}", ran.stdout);
    assert!(ran.stdout.contains("name = \"sample\""), "{}", ran.stdout);
}

#[tokio::test]
async fn in_a_folder_of_a_project_the_project_is_meant_and_its_settings_hold() {
    let place = Place::new(&[
        (".git/HEAD", "ref: refs/heads/main\n"),
        (".askls/config.toml", "max_steps = 7\n"),
        ("top.txt", "one\n"),
        ("sub/below.txt", "two\n"),
    ]);
    let project = place.project("").canonicalize().unwrap();
    let below = async |arguments: &[&str]| {
        let mut command = place.command(arguments);
        Ran::from(command.current_dir(place.project("sub")).output().await.unwrap())
    };
    let status: Value =
        serde_json::from_str(&below(&["status", "--json"]).await.assert_code(0).stdout).unwrap();
    assert_eq!(status["roots"], json!([project.to_string_lossy()]));
    assert_eq!(status["settings"]["max_steps"]["value"], "7", "{status}");

    let edit = ["ask", "--model", "offline", "--apply", "replace `one` with `two` in top.txt"];
    below(&edit).await.assert_code(0).assert_stderr("written: top.txt");
    below(&["undo"]).await.assert_code(0);
    assert_eq!(place.read("top.txt"), "one\n");

    let here = below(&["ask", "--model", "offline", "what files are in the current directory?"]).await;
    let stdout = &here.assert_code(0).stdout;
    assert!(stdout.contains("below.txt") && !stdout.contains("top.txt"), "{stdout}");
    // A folder that was named is the one that is meant.
    let status = below(&["status", "--root", "."]).await;
    let named = format!("project: {}\n", project.join("sub").display());
    assert!(status.assert_code(0).stdout.contains(&named), "{status:?}");
}

#[tokio::test]
async fn a_broken_settings_file_costs_a_warning_only() {
    let model = FakeModel::start(Wire::Chat, [text("ok")]);
    let place = Place::new(&[]).with_model(&model);
    place.write("config/askls/config.toml", "comand_timeout = 3\nmodel = \"open\nedits = 'some'\n");
    let ran = place.run(&["ask", "go"]).await;
    ran.assert_code(0)
        .assert_stderr("config.toml:1:1: there is no setting comand_timeout; did you mean command_timeout?")
        .assert_stderr("config.toml:2:14: this line is not valid TOML")
        .assert_stderr("config.toml:3:1: edits must be one of propose, apply, immediate, not \"some\"");
    assert_eq!(ran.stdout, "ok\n");
}

#[tokio::test]
async fn a_server_on_this_machine_is_not_asked_through_a_proxy() {
    let model = FakeModel::start(Wire::Chat, [text("ok")]);
    let place = Place::new(&[]).with_model(&model);
    // Where nothing listens.
    let place =
        place.variable("HTTP_PROXY", "http://127.0.0.1:1").variable("ALL_PROXY", "http://127.0.0.1:1");
    place.variable("http_proxy", "http://127.0.0.1:1").run(&["ask", "go"]).await.assert_code(0);
}

#[cfg(unix)]
#[tokio::test]
async fn a_key_command_that_prints_no_key_is_a_matter_of_settings() {
    let place =
        Place::new(&[]).variable("ASKLS_BASE_URL", "http://127.0.0.1:1/v1").variable("ASKLS_MODEL", "m");
    place.write("config/askls/config.toml", "api_key_command = ['/bin/sh', '-c', 'exit 1']\n");
    place.run(&["ask", "go"]).await.assert_code(2).assert_stderr("api_key_command");
}

/// What the second of two signals leaves: a command that does not end by itself holds the first one up.
#[cfg(unix)]
#[tokio::test]
async fn a_turn_that_is_given_up_still_tells_its_end() {
    let model = FakeModel::start(Wire::Chat, [stall()]);
    let place = Place::new(&[]).with_model(&model);
    let child = place.command(&["ask", "--json", "go"]).spawn().unwrap();
    model.request(1).await;
    signal(&child, "-INT");
    signal(&child, "-TERM");
    let events = Ran::from(child.wait_with_output().await.unwrap()).assert_code(130).events();
    let ends: Vec<_> = events.iter().filter(|event| event["type"] == "turn_ended").collect();
    assert_eq!(ends.len(), 1, "{events:?}");
    assert_eq!(ends[0]["stop_reason"], "cancelled");
}

#[tokio::test]
async fn a_server_that_cannot_be_understood_is_not_replaced_by_another() {
    let openai = FakeModel::start(Wire::Chat, []);
    let place = Place::new(&[])
        .variable("OPENAI_API_KEY", "sk-openai")
        .variable("OPENAI_BASE_URL", &openai.base_url())
        .variable("ASKLS_MODEL", "m")
        .variable("ASKLS_BASE_URL", "localhost:8080/v1");
    let ran = place.run(&["ask", "go"]).await;
    ran.assert_code(2).assert_stderr("error: ASKLS_BASE_URL: base_url must be an address");
    let status = place.run(&["status"]).await;
    status.assert_code(2);
    assert!(status.stdout.contains("no model: ASKLS_BASE_URL: base_url must be an address"), "{status:?}");
    place.run(&["ask", "--model", "offline", "list the files"]).await.assert_code(0);
}

#[tokio::test]
async fn a_server_that_is_set_twice_ends_the_ask_and_anything_else_costs_a_warning() {
    let model = FakeModel::start(Wire::Chat, [text("ok")]);
    let place = Place::new(&[]).with_model(&model);
    place.write("config/askls/config.toml", "max_attempts = 3\nmax_attempts = 4\n");
    place.run(&["ask", "go"]).await.assert_code(0).assert_stderr(
        "config.toml:2:1: max_attempts is set twice, in lines 1 and 2; line 1 is used: remove one of them",
    );
    place.write("config/askls/config.toml", "[headers]\nX-Team = 'a'\n\n[headers]\nX-Team = 'b'\n");
    place
        .run(&["ask", "go"])
        .await
        .assert_code(2)
        .assert_stderr("error: ")
        .assert_stderr("config.toml:4:2: [headers] is set twice, in lines 1 and 4: remove one of them");
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn a_cloned_project_cannot_take_the_key_elsewhere() {
    let mine = FakeModel::start(Wire::Chat, [text("ok")]);
    let theirs = FakeModel::start(Wire::Chat, []);
    let place = Place::new(&[(".askls/config.toml", &format!("base_url = '{}'\n", theirs.base_url()))])
        .variable("ASKLS_API_KEY", "sk-mine");
    place.write("config/askls/config.toml", &format!("base_url = '{}'\nmodel = 'm'\n", mine.base_url()));
    place.run(&["ask", "go"]).await.assert_code(0).assert_stderr("base_url is ignored in a project's file");
    assert_eq!(mine.request(1).await.header("authorization"), Some("Bearer sk-mine"));
}

#[cfg(unix)]
#[tokio::test]
async fn a_command_can_print_the_key() {
    let model = FakeModel::start(Wire::Chat, [text("ok")]);
    let place = Place::new(&[]).with_model(&model);
    let asked = place.folder.path().join("asked");
    place.write(
        "config/askls/config.toml",
        &format!("api_key_command = ['/bin/sh', '-c', 'echo >> {}; echo sk-mine']\n", asked.display()),
    );
    place.run(&["status"]).await.assert_code(0);
    assert!(!asked.exists(), "status needs no key");
    place.run(&["ask", "go"]).await.assert_code(0);
    assert_eq!(model.request(1).await.header("authorization"), Some("Bearer sk-mine"));
    assert_eq!(fs::read_to_string(asked).unwrap(), "\n");
}

#[cfg(unix)]
#[tokio::test]
async fn a_key_that_runs_out_is_asked_for_anew() {
    let refused = status(401, r#"{"error":{"message":"expired"}}"#);
    let model = FakeModel::start(Wire::Chat, [read("a.txt"), refused, text("ok")]);
    let place = Place::new(&[("a.txt", "one\n")]).with_model(&model);
    let count = place.folder.path().join("count");
    let script = format!("echo >> {0}; echo sk-$(wc -l < {0} | tr -d \" \")", count.display());
    place.write("config/askls/config.toml", &format!("api_key_command = ['/bin/sh', '-c', '{script}']\n"));
    place.run(&["ask", "go"]).await.assert_code(0);
    let requests = model.requests();
    let keys: Vec<_> = requests.iter().filter_map(|request| request.header("authorization")).collect();
    assert_eq!(keys, ["Bearer sk-1", "Bearer sk-1", "Bearer sk-2"]);
}

// SPEC A9
#[tokio::test]
async fn a_key_is_never_printed_logged_or_sent_in_a_body() {
    const KEY: &str = "sk-this-is-the-secret";
    for wire in WIRES {
        let model = FakeModel::start(
            wire,
            [
                read("a.txt"),
                status(401, &format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}"}}}}"#)),
            ],
        );
        let place = Place::new(&[("a.txt", "one\n")])
            .with_model(&model)
            .variable("MY_KEY", KEY)
            .variable("OPENAI_API_KEY", KEY)
            .variable("ASKLS_LOG", "trace");
        place.write("config/askls/config.toml", &format!("api_key = '{KEY}'\napi_key_env = 'MY_KEY'\n"));
        for arguments in [&["ask", "-v", "go"][..], &["status"], &["status", "--json"]] {
            let ran = place.run(arguments).await;
            assert!(!ran.stdout.contains(KEY), "{}", ran.stdout);
            assert!(!ran.stderr.contains(KEY), "{}", ran.stderr);
        }
        for request in model.requests() {
            assert_eq!(request.key(), Some(KEY));
            assert!(!String::from_utf8_lossy(&request.body).contains(KEY));
        }
    }
}

#[tokio::test]
async fn status_says_which_model_and_why_and_where_settings_come_from() {
    let place = Place::new(&[(".askls/config.toml", "max_steps = 5\nshell = ['sh']\n")]);
    let ran = place.run(&["status", "--json"]).await;
    let status: Value = serde_json::from_str(&ran.assert_code(0).stdout).unwrap();
    assert_eq!(status["model"], "offline");
    assert!(status["why"].as_str().unwrap().starts_with("no model is configured"), "{status:#}");
    let file = fs::canonicalize(place.project(".askls/config.toml")).unwrap();
    assert_eq!(status["settings"]["max_steps"], json!({"value": "5", "origin": file}));
    assert_eq!(status["settings"]["base_url"], json!({"value": null, "origin": "default"}));
    assert_eq!(status["warnings"].as_array().unwrap().len(), 1, "{status:#}");
    let ran = place.run(&["status", "--model", "m", "--base-url", "http://localhost:1/v1"]).await;
    assert!(ran.assert_code(0).stdout.contains("\nmodel: m (chat at "), "{}", ran.stdout);
    let settings = ran.stdout.split("\nsettings:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let columns: Vec<_> = settings
        .lines()
        .map(|line| {
            line.trim_start()
                .find(' ')
                .map(|end| (&line.trim_start()[..end], line.len() - line[2 + end..].trim_start().len()))
        })
        .map(Option::unwrap)
        .collect();
    assert!(columns.iter().all(|(_, column)| *column == columns[0].1), "{columns:?}");
    assert!(columns.iter().any(|(name, _)| *name == "parallel_tool_calls"), "{columns:?}");
}

#[tokio::test]
async fn status_says_what_holds_for_the_chosen_model_and_what_it_costs() {
    let place = Place::new(&[]);
    let arguments = ["status", "--model", "qwen3", "--base-url", "http://models.test/v1"];
    let ran = place.run(&arguments).await;
    assert!(
        ran.assert_code(0).stdout.contains("\nprice: not known (set price to see what turns cost)\n"),
        "{ran:?}"
    );
    place.write(
        "config/askls/config.toml",
        "[models.'qwen*']\ntemperature = 0.2\nprice = { input = 0.5, output = 2 }\n[models.other]\nwindow = 9\n",
    );
    let ran = place.run(&arguments).await;
    let expected = "\nprice: input $0.5, output $2 per million tokens ([models.\"qwen*\"])\n\
                    models: [models.\"qwen*\"] sets price = { input = 0.5, output = 2 }, temperature = 0.2\n";
    assert!(ran.assert_code(0).stdout.contains(expected), "{}", ran.stdout);
    let ran = place.run(&[&arguments[..], &["--json"]].concat()).await;
    let status: Value = serde_json::from_str(&ran.assert_code(0).stdout).unwrap();
    assert_eq!(status["price"]["input"], 0.5, "{status:#}");
    assert_eq!(status["models"][0]["name"], "qwen*", "{status:#}");
}

#[tokio::test]
async fn status_moves_no_terminal_whatever_a_project_sets() {
    let place = Place::new(&[(
        ".askls/config.toml",
        r#"model = "m\u001b[2J\nwarnings: \u202e"
"\u001b[31mred" = 1
"#,
    )]);
    let ran = place.run(&["status"]).await;
    assert!(ran.stdout.contains(r"m\u{1b}[2J\nwarnings: \u{202e}"), "{ran:?}");
    assert!(ran.stdout.contains(r"\u{1b}[31mred"), "{ran:?}");
    assert!(!ran.stdout.contains(['\u{1b}', '\u{202e}']), "{ran:?}");
    let json = place.run(&["status", "--json"]).await;
    assert!(!json.stdout.contains(['\u{1b}', '\u{202e}']), "{json:?}");
    let status: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(status["settings"]["model"]["value"], "m\u{1b}[2J\nwarnings: \u{202e}");
}

#[tokio::test]
async fn a_server_that_is_set_without_a_model_is_asked_for_one() {
    let model = FakeModel::start(Wire::Chat, []);
    let place = Place::new(&[]).variable("ASKLS_BASE_URL", &model.base_url());
    let ran = place.run(&["status"]).await;
    assert!(ran.assert_code(0).stdout.contains("\nmodel: fake-model (chat at "), "{}", ran.stdout);
    assert!(ran.stdout.contains("it is the only model of the server"), "{}", ran.stdout);
}

/// A server that answers everything with the same, and gives the head of the first request it gets.
fn server(reply: &'static str) -> (String, std::thread::JoinHandle<String>) {
    use std::io::{BufRead as _, BufReader, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let serving = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let lines = BufReader::new(&connection).lines().map_while(Result::ok);
        let head: Vec<_> = lines.take_while(|line| !line.is_empty()).collect();
        connection.write_all(reply.as_bytes()).unwrap();
        head.join("\n").to_lowercase()
    });
    (address, serving)
}

const REFUSED: &str = "HTTP/1.1 401 Unauthorized\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
const MISSING: &str = "HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

#[tokio::test]
async fn a_strange_member_of_a_list_of_models_costs_only_itself() {
    let (address, serving) = server(concat!(
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\n\r\n",
        r#"{"data":[{"id":7},{"id":"small","meta":{"n_ctx":-1}},{"id":"large"}]}"#
    ));
    let ran = Place::new(&[]).run(&["status", "--base-url", &format!("{address}/v1")]).await;
    assert!(ran.assert_code(0).stdout.contains("\nmodel: small (chat at "), "{ran:?}");
    serving.join().unwrap();
}

// SPEC A9
#[tokio::test]
async fn what_a_server_repeats_of_a_key_is_not_shown_or_logged_however_much_is_logged() {
    const KEYS: [&str; 3] = ["ghp_0123456789abcdefghij", "hush-hush-of-a-header", "sk-of-a-command-77"];
    for wire in WIRES {
        let said = format!(r#"{{"error":{{"message":"bad: {}"}}}}"#, KEYS.join(" and "));
        let model = FakeModel::start(wire, [status(400, &said)]);
        let place = Place::new(&[("a.txt", "one\n")]).with_model(&model).variable("ASKLS_LOG", "trace");
        let command = format!("api_key_command = ['/bin/echo', '{}']", KEYS[2]);
        let headers = format!("[headers]\nx-team = '{}'", KEYS[1]);
        place.write("config/askls/config.toml", &format!("{command}\n{headers}\n"));
        let ran = place.run(&["ask", "-v", "go"]).await;
        assert!(ran.stderr.contains("bad: ") && ran.stderr.contains("TRACE"), "{}", ran.stderr);
        for key in KEYS {
            assert!(!ran.stdout.contains(key) && !ran.stderr.contains(key), "{key} in {}", ran.stderr);
        }
    }
}

// SPEC A9
#[tokio::test]
async fn a_server_that_is_set_is_asked_for_its_models_with_its_own_key_only() {
    let (address, serving) = server(REFUSED);
    let place = Place::new(&[]).variable("ASKLS_API_KEY", "sk-mine").variable("OPENAI_API_KEY", "sk-openai");
    let ran = place.run(&["ask", "--base-url", &format!("{address}/v1"), "go"]).await;
    ran.assert_code(3).assert_stderr("refused the key (401); check the environment variable ASKLS_API_KEY");
    let head = serving.join().unwrap();
    assert!(head.starts_with("get /v1/models ") && head.contains("bearer sk-mine"), "{head}");

    let (address, serving) = server(REFUSED);
    let place = Place::new(&[]).variable("OPENAI_API_KEY", "sk-openai");
    let ran = place.run(&["ask", "--base-url", &format!("{address}/v1"), "go"]).await;
    ran.assert_code(3).assert_stderr("wants a key (401); set the environment variable ASKLS_API_KEY");
    let head = serving.join().unwrap();
    assert!(!head.contains("authorization"), "{head}");

    let (address, serving) = server(REFUSED);
    let place = place.variable("OPENAI_BASE_URL", &format!("{address}/v1"));
    let ran = place.run(&["ask", "go"]).await;
    ran.assert_code(3).assert_stderr("check the environment variable OPENAI_API_KEY");
    assert!(!ran.stderr.contains("base_url"), "{}", ran.stderr);
    assert!(serving.join().unwrap().contains("bearer sk-openai"));
}

#[cfg(unix)]
#[tokio::test]
async fn a_key_command_runs_for_the_list_of_models_only_when_the_server_wants_a_key() {
    let place = Place::new(&[]);
    let asked = place.folder.path().join("asked");
    let script = format!("echo >> {}; echo sk-mine", asked.display());
    place.write("config/askls/config.toml", &format!("api_key_command = ['/bin/sh', '-c', '{script}']\n"));
    let model = FakeModel::start(Wire::Chat, []);
    place.run(&["status", "--base-url", &model.base_url()]).await.assert_code(0);
    assert!(!asked.exists(), "this server wants none");
    let (address, serving) = server(REFUSED);
    place.run(&["status", "--base-url", &address]).await.assert_code(3);
    assert!(!serving.join().unwrap().contains("authorization"));
    assert_eq!(fs::read_to_string(asked).unwrap(), "\n");
}

#[tokio::test]
async fn an_address_without_a_path_is_asked_about() {
    let (address, _serving) = server(MISSING);
    let ran = Place::new(&[]).run(&["ask", "--base-url", &address, "go"]).await;
    ran.assert_code(2).assert_stderr(&format!("did you mean base_url {address}/v1?"));
    let (address, _serving) = server(MISSING);
    let ran = Place::new(&[]).run(&["ask", "--base-url", &address, "--model", "m", "go"]).await;
    ran.assert_code(3).assert_stderr(&format!("did you mean base_url {address}/v1?"));
}

#[tokio::test]
async fn a_server_that_does_not_run_is_named() {
    let ran = Place::new(&[]).run(&["ask", "--base-url", "http://127.0.0.1:1/v1", "go"]).await;
    ran.assert_code(3).assert_stderr("nothing answers at http://127.0.0.1:1/v1: is the server running there");
}

#[tokio::test]
async fn a_local_server_that_answers_is_used_when_nothing_is_set() {
    let model = FakeModel::start(Wire::Chat, [text("ok"), text("ok")]);
    let address = model.base_url();
    let place = Place::new(&[]).variable("OLLAMA_HOST", address.trim_end_matches("/v1"));
    let ran = place.run(&["ask", "go"]).await;
    ran.assert_code(0).assert_stderr("model: fake-model (chat at ").assert_stderr("Ollama answers");
    let ran = place.run(&["ask", "--model", "fake-model", "go"]).await;
    assert_eq!(ran.assert_code(0).stderr, "", "who named the model is not told");
    let ran = place.run(&["ask", "--model", "other", "go"]).await;
    ran.assert_code(2).assert_stderr("Ollama has fake-model");
}

#[tokio::test]
async fn the_schema_of_the_settings_is_the_shipped_one() {
    let ran = Place::new(&[]).run(&["settings-schema"]).await;
    let shipped =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("settings.schema.json")).unwrap();
    assert_eq!(ran.assert_code(0).stdout, shipped);
}
