//! Hooks: real programs that say what may go in, run, come back and come out.

use super::*;

const KINDS: [&str; 4] = ["input", "tool", "tool_output", "output"];

/// A user with one hook: a script of `sh` that is asked about `kind`, with the rest of its table.
fn hooked(model: &FakeModel, kind: &str, script: &str, rest: &str) -> Place {
    let place = Place::new(&[("a.txt", "one\n")]).with_model(model);
    place.write("config/askls/check.sh", script);
    let table = format!("[[hooks]]\non = \"{kind}\"\ncommand = [\"sh\", \"check.sh\"]\n{rest}\n");
    place.write("config/askls/config.toml", &table);
    place
}

/// A turn that touches a file beside reading one, and says what it read.
fn script() -> [Reply; 2] {
    [
        call("run_command", json!({"command": "touch mark"})).call("read_file", json!({"path": "a.txt"})),
        text("It says one."),
    ]
}

async fn go(place: &Place) -> Ran {
    place.run(&["ask", "--approve", "all", "--json", "go"]).await
}

fn acted(ran: &Ran) -> Vec<String> {
    let events = ran.events();
    let acted = events.iter().filter(|event| event["type"] == "hook_acted");
    acted
        .map(|event| format!("{} {}", event["kind"].as_str().unwrap(), event["action"].as_str().unwrap()))
        .collect()
}

// SPEC A7
#[tokio::test]
async fn a_hook_that_allows_sees_what_it_is_asked_and_changes_nothing() {
    for (kind, seen) in [
        ("input", json!([{"text": "go"}])),
        (
            "tool",
            json!([
                {"tool": "run_command", "arguments": {"command": "touch mark"}},
                {"tool": "read_file", "arguments": {"path": "a.txt"}},
            ]),
        ),
        ("output", json!([{"text": "It says one.", "is_last": true}])),
    ] {
        let model = FakeModel::start(Wire::Chat, script());
        let place = hooked(&model, kind, "cat >> seen; echo '{\"decision\": \"allow\"}'", "");
        let ran = go(&place).await;
        ran.assert_code(0);
        assert_eq!(ran.events().last().unwrap()["answer"], "It says one.", "{kind}");
        assert_eq!(acted(&ran), [] as [&str; 0]);
        let lines = fs::read_to_string(place.folder.path().join("config/askls/seen")).unwrap();
        let asked = lines.lines().map(|line| {
            let mut asked: Value = serde_json::from_str(line).unwrap();
            let members = asked.as_object_mut().unwrap();
            assert_eq!(members.remove("kind"), Some(json!(kind)));
            assert!(members.remove("thread").unwrap().as_str().unwrap().starts_with("thread-"));
            assert_eq!(members.remove("turn"), Some(json!(1)));
            assert_eq!(members.remove("workspace"), Some(json!([place.project("").canonicalize().unwrap()])));
            asked
        });
        assert_eq!(asked.collect::<Value>(), seen, "{kind}");
    }
}

// SPEC A7
#[tokio::test]
async fn a_no_stops_just_what_it_is_about() {
    for kind in KINDS {
        let model = FakeModel::start(Wire::Chat, script()).allow_unused();
        let ran_place =
            hooked(&model, kind, "echo '{\"decision\": \"deny\", \"reason\": \"not today\"}'", "");
        let ran = go(&ran_place).await;
        let end = ran.events().pop().unwrap();
        let requests = model.requests();
        let outputs = requests.get(1).map(support::model::Request::outputs).unwrap_or_default();
        let (code, reason, detail, marks, asked) = match kind {
            "input" => {
                (8, "guardrail", json!("the question was not sent: hook 1 (sh) said no: not today"), false, 0)
            }
            "output" => {
                (8, "guardrail", json!("the answer was withheld: hook 1 (sh) said no: not today"), true, 2)
            }
            _ => (0, "answer", Value::Null, kind == "tool_output", 2),
        };
        ran.assert_code(code);
        assert_eq!((&end["stop_reason"], &end["detail"]), (&json!(reason), &detail), "{kind}");
        assert_eq!(ran_place.project("mark").exists(), marks, "{kind}");
        assert_eq!(requests.len(), asked, "{kind}");
        assert_eq!(ran.stdout.contains("It says one."), reason == "answer", "{kind}: {}", ran.stdout);
        let said = match kind {
            "tool" => "this call was not allowed and did not run: hook 1 (sh) said no: not today",
            "tool_output" => "the call ran, and its output is withheld: hook 1 (sh) said no: not today",
            _ => continue,
        };
        let outputs: Vec<_> = outputs.into_iter().map(|(_, text)| text).collect();
        assert_eq!(outputs, [said, said]);
    }
}

// SPEC A7
#[tokio::test]
async fn what_a_hook_puts_in_the_place_of_it_is_what_counts() {
    for (kind, part) in [
        ("input", r#""text": "stop""#),
        ("tool", r#""arguments": {"command": "touch other"}"#),
        ("tool_output", r#""output": "nothing""#),
        ("output", r#""text": "It says nothing.""#),
    ] {
        let model = FakeModel::start(Wire::Chat, script());
        let of_commands = if kind.starts_with("tool") { "tools = [\"run_command\"]" } else { "" };
        let answer = format!("echo '{{\"decision\": \"replace\", {part}}}'");
        let place = hooked(&model, kind, &answer, of_commands);
        let ran = go(&place).await;
        ran.assert_code(0);
        assert_eq!(acted(&ran), [format!("{kind} replaced")]);
        let answer = ran.events().pop().unwrap()["answer"].as_str().unwrap().to_owned();
        let outputs = model.requests()[1].outputs();
        let facts = (
            model.requests()[0].prompt().contains("stop"),
            place.project("other").exists(),
            outputs[0].1 == "nothing",
            answer == "It says nothing.",
        );
        let wanted = (kind == "input", kind == "tool", kind == "tool_output", kind == "output");
        assert_eq!(facts, wanted, "{kind}: {ran:#?} {outputs:?}");
        assert!(outputs[1].1.contains("one"), "{kind}: what is beside it is as it was");
    }
}

// SPEC A7
#[tokio::test]
async fn a_hook_that_fails_hangs_or_says_something_else_has_said_no() {
    for kind in KINDS {
        for (script, rest, what) in [
            ("echo broken >&2; exit 3", "", "it ended with exit status: 3: broken"),
            ("exec sleep 600", "timeout = 0.2", "it did not answer within 0.2 s"),
            ("echo yes", "", "what it answered is no verdict"),
            ("yes", "", "it answered more than 1048576 bytes"),
            ("", "", "it answered nothing"),
        ] {
            let model = FakeModel::start(Wire::Chat, script_of_one_call()).allow_unused();
            let place = hooked(&model, kind, script, rest);
            let ran = go(&place).await;
            ran.assert_code(if kind.starts_with("tool") { 0 } else { 8 });
            assert_eq!(acted(&ran), [format!("{kind} failed")], "{script}");
            let events = ran.events();
            let acted = events.iter().find(|event| event["type"] == "hook_acted").unwrap();
            assert!(acted["reason"].as_str().unwrap().starts_with(what), "{kind}: {acted}");
            let may_run = matches!(kind, "tool_output" | "output");
            assert_eq!(place.project("mark").exists(), may_run, "{kind} {script}");
        }
    }
}

fn script_of_one_call() -> [Reply; 2] {
    [call("run_command", json!({"command": "touch mark"})), text("Done.")]
}

// SPEC A7
#[tokio::test]
async fn a_hook_that_cannot_be_started_has_said_no() {
    let model = FakeModel::start(Wire::Chat, []);
    let place = hooked(&model, "input", "", "");
    place.write("config/askls/config.toml", "hooks = [{ on = \"input\", command = [\"./missing\"] }]\n");
    let ran = place.run(&["ask", "go"]).await;
    ran.assert_code(8).assert_stderr(
        "guardrail: the question was not sent: hook 1 (missing) failed, which counts as a no: it could not be started: ",
    );
}

// SPEC A7
#[tokio::test]
async fn a_project_brings_no_hooks_and_their_faults_hold_the_ask_up() {
    let model = FakeModel::start(Wire::Chat, [text("ok")]);
    let place = Place::new(&[]).with_model(&model);
    place.write(
        "project/.askls/config.toml",
        "hooks = [{ on = \"input\", command = [\"touch\", \"mark\"] }]\n",
    );
    let ran = place.run(&["ask", "go"]).await;
    ran.assert_code(0).assert_stderr("hooks is ignored here: it can only be set in your own settings file");
    assert!(!place.project("mark").exists());

    for (hook, fault) in [
        ("on = \"inputs\", command = [\"x\"]", "hook 1: on must be one of input, tool, tool_output, output"),
        ("on = \"input\", command = []", "hook 1: command must be a list such as"),
        ("on = \"input\", command = [\"x\"], timeout = 0", "hook 1: timeout must be a number of seconds"),
        ("on = \"tool\", command = [\"x\"], tool = \"search\"", "hook 1 has no part tool (its parts are"),
        (
            "on = \"tool\", command = [\"x\"], tools = [\"serch\"]",
            "hook 1: tools: there is no tool serch; use some of",
        ),
        (
            "on = \"output\", command = [\"x\"], tools = [\"search\"]",
            "hook 1: tools has a meaning with on = \"tool\"",
        ),
    ] {
        let place = Place::new(&[]).with_model(&model);
        place.write("config/askls/config.toml", &format!("hooks = [{{ {hook} }}]\n"));
        let ran = place.run(&["ask", "go"]).await;
        ran.assert_code(2)
            .assert_stderr(fault)
            .assert_stderr("since hooks holds checks of what a turn may do");
    }
}

// SPEC A7, A9
#[tokio::test]
async fn the_list_of_settings_shows_no_arguments_of_hooks() {
    let place = Place::new(&[]);
    let hooks =
        "hooks = [{ on = \"tool\", command = [\"check\", \"--password=x\"], tools = [\"search\"] }]\n";
    place.write("config/askls/config.toml", hooks);
    let ran = place.run(&["status"]).await;
    assert!(ran.stdout.contains("tool of search: check"), "{ran:#?}");
    assert!(!ran.stdout.contains("password"), "{ran:#?}");
}

/// Nobody is left who could end it.
// SPEC A7
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_hook_does_not_outlive_askls_when_that_is_killed() {
    let sleep = format!("sleep 602.{}", std::process::id());
    let model = FakeModel::start(Wire::Chat, []);
    // What left its group and its session too. Opening the pipe for writing waits for who reads.
    let place = hooked(&model, "input", &format!("setsid {sleep} & echo > started; {sleep}"), "");
    let pipe = place.folder.path().join("config/askls/started");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut child = place.command(&["ask", "go"]).spawn().unwrap();
    tokio::task::spawn_blocking(move || fs::read(pipe).unwrap()).await.unwrap();
    assert!(is_running(&sleep));

    child.kill().await.unwrap();

    wait_until_gone(&sleep).await;
}
