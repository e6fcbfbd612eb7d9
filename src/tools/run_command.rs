//! `run_command`: a command line in the user's shell, bounded in time and output, and with everything that it started
//! ended when it ends.

mod clean;
#[cfg_attr(not(target_os = "linux"), path = "run_command/descendants/elsewhere.rs")]
mod descendants;
mod environment;
mod git_names;
pub(super) mod kept;
mod pipe;
mod process;
mod recorder;
mod report;
pub mod sandbox;
pub(super) mod tree;
mod unsaid;

pub(crate) use environment::{holds_key, search_path};
pub(crate) use git_names::git_names;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Access, CommandText, Effect, Tool, ToolContext, ToolError, ToolSettings,
    access::grammar,
    arguments::whole_number,
    jobs::{JobEnd, Part},
    look,
    output::{one_line, visible, visible_path},
};
use crate::workspace::{
    keys::{HeldKeys, Masking},
    outputs::Outputs,
    place::secrets_below,
};
use process::{CommandLine, Watch};
use recorder::Recorder;
use report::Report;
use sandbox::{Plan, Sandbox, network::uses_network};

/// Long enough for most builds and test runs; a hanging command does not hold a turn for longer.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

/// What a model may ask for at most, whatever it thinks of its command.
const MAX_TIMEOUT: Duration = Duration::from_secs(600);

/// How long a job that is to run in the background is looked at before the call is answered: a server that cannot start
/// has said why by then.
const FIRST_LOOK: Duration = Duration::from_secs(1);

/// Longest reason that is shown of why a command has to run without the sandbox, in characters.
const MAX_REASON_CHARS: usize = 200;

pub struct RunCommand {
    shell: Vec<String>,
    timeout: Duration,
    /// What is said of that time besides, where it is the project's.
    timeout_set_by: String,
    hidden_variable: Option<String>,
    sandbox: Option<Sandbox>,
    outputs: Option<Outputs>,
}

impl RunCommand {
    pub fn new(settings: &ToolSettings) -> Self {
        Self {
            shell: settings.shell.clone().filter(|shell| !shell.is_empty()).unwrap_or_else(platform_shell),
            timeout: settings.command_timeout.unwrap_or(DEFAULT_TIMEOUT),
            timeout_set_by: settings.project.named("command_timeout"),
            hidden_variable: settings.hidden_variable.clone(),
            sandbox: settings.sandbox.clone(),
            outputs: settings.outputs.clone(),
        }
    }
}

impl RunCommand {
    /// Whether a command runs in the sandbox.
    fn is_held(&self, args: &Args) -> bool {
        !args.unsandboxed && self.sandbox.as_ref().is_some_and(Sandbox::is_wanted)
    }
}

fn platform_shell() -> Vec<String> {
    let shell = if cfg!(windows) { ["cmd.exe", "/C"] } else { ["/bin/sh", "-c"] };
    shell.map(str::to_owned).to_vec()
}

/// Run a command line in the user's shell and read what it prints (standard output and errors together, the middle left
/// out when it is long) and its exit code. Use it to build, to run tests, and for what no other tool does; to list,
/// read, search and change files use the other tools: they see unsaved changes and staged edits, commands see only what
/// is on disk. The user may be asked first. There is no input and no terminal: use options that ask nothing. What the
/// command leaves running is ended with it: start servers and watchers with `background`, and see to them with read_job
/// and stop_job. Variables that look like keys or passwords are not in its environment. It may run in a sandbox: it
/// changes only the workspace and temporary folders, cannot read secrets, and has no network but what it starts itself
/// on 127.0.0.1.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// The command line, as for `sh -c` (on Windows `cmd /C`).
    command: String,
    /// Seconds after which it is ended; what it has printed until then is kept. At most 600. Default: 120.
    #[serde(default, deserialize_with = "whole_number")]
    #[schemars(range(min = 1, max = 600))]
    timeout: Option<u64>,
    /// Folder to run it in, relative to the workspace. Default: the first folder of the workspace.
    #[serde(default)]
    path: Option<String>,
    /// Let it run on as a background job: the answer comes after a second, with its number and first output. It has no
    /// time-out unless `timeout` is given, and ends with the thread at the latest. In a sandbox without network no other
    /// command reaches its ports: start a server and use it in one command there. Default: false.
    #[serde(default)]
    background: bool,
    /// The same, but only when it has not ended after so many seconds, at most 600: for a command that may take long. 10
    /// is a good choice.
    #[serde(default, deserialize_with = "whole_number")]
    #[schemars(range(min = 1, max = 600))]
    background_after: Option<u64>,
    /// Run it without the sandbox, with all of the user's rights. Only for a command that failed because of the sandbox, and with
    /// a reason: the user is asked.
    #[serde(default)]
    unsandboxed: bool,
    /// Why it has to run without the sandbox, for the user.
    #[serde(default)]
    reason: Option<String>,
}

impl Tool for RunCommand {
    const NAME: &'static str = "run_command";
    const EFFECT: Effect = Effect::Execute;
    type Args = Args;

    fn target(args: &Args) -> String {
        args.command.clone()
    }

    fn preview(args: &Args, _roots: &[PathBuf]) -> String {
        visible(&args.command)
    }

    fn circumstances(&self, args: &Args, roots: &[PathBuf]) -> String {
        let folder = match (args.path.as_deref().map(str::trim), roots.first()) {
            (None | Some("" | "."), Some(root)) => visible_path(&root.display().to_string()),
            (None | Some(""), None) => "the first folder of the workspace".to_owned(),
            (Some(path), _) => visible_path(path),
        };
        let without = match (args.unsandboxed, args.reason.as_deref().map(str::trim)) {
            (false, _) => String::new(),
            (true, None | Some("")) => {
                "without the sandbox, with all of your rights; no reason was given; ".to_owned()
            }
            (true, Some(reason)) => {
                // In quotes that it cannot end.
                let reason = visible(&one_line(reason, MAX_REASON_CHARS)).replace('"', "'");
                format!("without the sandbox, with all of your rights (the model says why: \"{reason}\"); ")
            }
        };
        let background = match (args.background, args.background_after) {
            (true, _) => "in the background, ".to_owned(),
            (false, Some(seconds)) => format!("in the background from {seconds} s on, "),
            (false, None) => String::new(),
        };
        let network = match &self.sandbox {
            Some(sandbox) if self.is_held(args) && !sandbox.network && uses_network(&args.command) => {
                "in the sandbox, which has no network, "
            }
            _ => "",
        };
        format!("{without}{network}{background}in {folder}")
    }

    fn access(&self, args: &Args) -> Access {
        let command = CommandText {
            text: args.command.clone(),
            folder: args.path.clone(),
            grammar: grammar(&self.shell),
        };
        let leaves_sandbox = args.unsandboxed && self.sandbox.as_ref().is_some_and(Sandbox::is_wanted);
        let is_held = self.is_held(args);
        Access {
            command: Some(command),
            leaves_sandbox,
            is_held,
            hides_secrets: is_held && self.sandbox.as_ref().is_some_and(Sandbox::hides_secrets),
            explaining: &["reason"],
            ..Access::default()
        }
    }

    async fn run(&self, args: Args, context: ToolContext) -> Result<String, ToolError> {
        if args.command.trim().is_empty() {
            return Err(ToolError("command is empty: give the command line to run".to_owned()));
        }
        if args.command.contains('\0') {
            return Err(ToolError("command holds a NUL character, which no command line can".to_owned()));
        }
        let (cancel, jobs, printed) = (context.cancel.clone(), context.jobs.clone(), context.printed.clone());
        let path = args.path;
        let sandbox = self.sandbox.clone();
        let command = args.command.clone();
        let (folder, edits_are_staged, keeper, held) = look(context, move |files| {
            let folder = match path.as_deref().map(str::trim) {
                None | Some("" | ".") => first_root(&files.workspace().roots())?,
                Some(path) => folder(files.resolve(path)?.disk(), path)?,
            };
            let walls = match &sandbox {
                Some(sandbox) if !args.unsandboxed => sandbox.plan(&files.workspace().roots())?,
                _ => None,
            };
            let keeper = sandbox.and_then(|sandbox| sandbox.keeper(walls));
            let held = match files.masking() {
                Masking::On => {
                    held(&files.workspace().roots(), keeper.as_ref().map(|(_, plan)| plan), &command)
                }
                Masking::Off => HeldKeys::default(),
            };
            Ok((folder, files.begin_command(), keeper, held))
        })
        .await?;

        let asked = args
            .timeout
            .map(|seconds| Duration::from_secs(seconds.max(1)).min(MAX_TIMEOUT.max(self.timeout)));
        let patience = match (args.background, args.background_after) {
            (true, _) => Some(FIRST_LOOK),
            (false, Some(seconds)) => Some(Duration::from_secs(seconds.max(1)).min(MAX_TIMEOUT)),
            (false, None) => None,
        };
        let timeout = if patience.is_some() { asked } else { Some(asked.unwrap_or(self.timeout)) };
        let has_walls = keeper.as_ref().is_some_and(|(_, plan)| plan.has_walls());
        let sandbox = self.sandbox.as_ref().filter(|_| has_walls);
        let report = Report {
            timeout,
            timeout_set_by: asked.map_or_else(|| self.timeout_set_by.clone(), |_| String::new()),
            edits_are_staged,
            network_in_sandbox: sandbox.map(|sandbox| sandbox.network),
            reaches_out: uses_network(&args.command),
        };
        let recorder = Recorder::new(self.outputs.clone(), printed.clone()).without(held);
        let line = CommandLine {
            shell: self.shell.clone(),
            command: args.command,
            folder,
            hidden_variable: self.hidden_variable.clone(),
            keeper,
        };
        let Some(patience) = patience else {
            let watch = Watch { timeout, cancel: &cancel, recorder, tasks: jobs.tasks() };
            return Ok(report.text(&process::run(line, watch).await?));
        };
        let command = line.command.clone();
        let job = jobs.start(&command, cancel, printed, |stop, tasks| async move {
            let watch = Watch { timeout, cancel: &stop, recorder, tasks: &tasks };
            match process::run(line, watch).await {
                Ok(finished) => JobEnd {
                    how: report.ending(&finished),
                    answer: Ok(report.text(&finished)),
                    notes: finished.notes,
                },
                Err(error) => JobEnd {
                    how: one_line(&error.0, MAX_REASON_CHARS),
                    notes: String::new(),
                    answer: Err(error),
                },
            }
        })?;
        match tokio::time::timeout(patience, job.ended()).await {
            Ok(end) => {
                // It has never been in the background.
                jobs.forget(&job);
                end.answer
            }
            Err(_) => Ok(format!(
                "{}\nnote: it goes on in the background; read_job {} reads what comes, stop_job ends it",
                job.report(Part::New),
                job.id
            )),
        }
    }
}

/// What the files of secrets of the workspace say, but for what the command says itself. The sandbox has looked for them
/// where it hides them.
fn held(roots: &[PathBuf], plan: Option<&Plan>, command: &str) -> HeldKeys {
    let secrets = plan.and_then(Plan::secrets).map_or_else(|| secrets_below(roots), <[PathBuf]>::to_vec);
    HeldKeys::of(secrets, command)
}

fn first_root(roots: &[PathBuf]) -> Result<PathBuf, ToolError> {
    roots.first().cloned().ok_or_else(|| {
        ToolError(
            "no folder is open, so there is nowhere to run a command: ask the user to open one".to_owned(),
        )
    })
}

fn folder(disk: Option<&Path>, path: &str) -> Result<PathBuf, ToolError> {
    match disk {
        Some(disk) if disk.is_dir() => Ok(disk.to_owned()),
        Some(disk) if disk.exists() => {
            Err(ToolError(format!("{path} is a file; path must name a folder to run in")))
        }
        _ => Err(ToolError(format!("there is no folder {path} on disk to run the command in"))),
    }
}

// What is left of a command is told in other words elsewhere.
#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::{Value, json};

    use super::{super::testing::Project, *};

    const PROJECT: &str = "//- /a.txt\none\n//- /dir/b.txt\ntwo\n";

    /// The times that a command took are not the same twice.
    fn without_time(answer: &str) -> String {
        let (first, rest) = answer.split_once('\n').unwrap_or((answer, ""));
        match first.split_once(" (") {
            Some((ended, time)) if time.ends_with(" s)") => format!("{ended} (… s)\n{rest}"),
            _ => answer.to_owned(),
        }
    }

    async fn check(arguments: Value, expected: Expect) {
        let answer = Project::new(PROJECT).call("run_command", arguments).await;
        expected.assert_eq(&without_time(&answer));
    }

    // SPEC T8
    #[tokio::test]
    async fn the_first_line_says_how_it_ended() {
        check(
            json!({"command": "cat a.txt; pwd | sed 's|.*/|…/|' >/dev/null"}),
            expect![[r#"
            exit code 0 (… s)
            one"#]],
        )
        .await;
        check(
            json!({"command": "echo out; echo err >&2; exit 3"}),
            expect![[r#"
            exit code 3 (… s)
            out
            err"#]],
        )
        .await;
        check(
            json!({"command": "echo x; kill -9 $$"}),
            expect![[r#"
                killed by signal 9
                x"#]],
        )
        .await;
        check(
            json!({"command": "echo tick; sleep 60", "timeout": 1}),
            expect![[r#"
                timed out after 1 s
                tick
                note: all that the command had started was ended"#]],
        )
        .await;
        check(
            json!({"command": "sleep 1 >/dev/null 2>&1 & echo on"}),
            expect![[r#"
            exit code 0 (… s)
            on
            note: what the command left running was ended with it; use background for what has to go on"#]],
        )
        .await;
    }

    // SPEC E9
    #[tokio::test]
    async fn no_output_is_said_in_words() {
        check(
            json!({"command": "true"}),
            expect![[r#"
            exit code 0 (… s)
            (no output)"#]],
        )
        .await;
    }

    #[tokio::test]
    async fn it_runs_in_a_folder_of_the_workspace() {
        check(
            json!({"command": "ls", "path": "dir"}),
            expect![[r#"
            exit code 0 (… s)
            b.txt"#]],
        )
        .await;
        check(
            json!({"command": "ls", "path": "dri"}),
            expect!["error: there is no folder dri on disk to run the command in"],
        )
        .await;
        check(
            json!({"command": "ls", "path": "a.txt"}),
            expect!["error: a.txt is a file; path must name a folder to run in"],
        )
        .await;
        check(
            json!({"command": "ls", "path": ".."}),
            expect![
                "error: .. is outside the workspace; use a path below one of its folders, relative to it"
            ],
        )
        .await;
    }

    // SPEC T8
    #[tokio::test]
    async fn arguments_cannot_smuggle_in_more_than_the_command() {
        check(
            json!({"command": "ls", "path": "dir; touch x"}),
            expect!["error: there is no folder dir; touch x on disk to run the command in"],
        )
        .await;
        check(json!({"command": "  "}), expect!["error: command is empty: give the command line to run"])
            .await;
        check(
            json!({"command": "ls\u{0}x"}),
            expect!["error: command holds a NUL character, which no command line can"],
        )
        .await;
    }

    #[tokio::test]
    async fn there_is_nowhere_to_run_without_a_folder() {
        use std::sync::Arc;

        use crate::workspace::{TurnFiles, Workspace};

        let mut project = Project::new("");
        project.context.files = Arc::new(TurnFiles::new(Arc::new(Workspace::new(Vec::new()))));
        let answer = project.call("run_command", json!({"command": "ls"})).await;
        expect!["error: no folder is open, so there is nowhere to run a command: ask the user to open one"]
            .assert_eq(&answer);
    }

    #[tokio::test]
    async fn a_command_that_does_not_see_the_staged_edits_says_so() {
        let project = Project::new(PROJECT);
        project.call("edit_file", json!({"path": "a.txt", "find": "one", "replace": "two"})).await;
        let answer = project.call("run_command", json!({"command": "cat a.txt"})).await;
        expect![[r#"
            exit code 0 (… s)
            one
            note: your staged edits are not on disk yet; the command saw the files without them"#]]
        .assert_eq(&without_time(&answer));
    }

    #[tokio::test]
    async fn the_whole_of_a_long_output_can_be_read_page_by_page() {
        let folder = tempfile::tempdir().unwrap();
        let mut project = Project::new(PROJECT);
        project.settings.outputs = Some(Outputs::new(folder.path().join("outputs")));
        let answer = project.call("run_command", json!({"command": "seq 1 100000"})).await;
        let (_, rest) = answer.split_once("\nnote: the whole output is ").unwrap();
        let (name, _) = rest.split_once(';').unwrap();
        let page =
            project.call("read_file", json!({"path": name, "start_line": 50_000, "end_line": 50_001})).await;
        assert_eq!(page, format!("{name} (lines 50000-50001 of 100000)\n 50000\t50000\n 50001\t50001\n"));
        let last = project.call("read_file", json!({"path": name, "start_line": 100_001})).await;
        assert_eq!(last, format!("error: start_line 100001 is past the end; {name} has 100000 lines"));
        let other = project.call("read_file", json!({"path": "output:0123456789"})).await;
        assert_eq!(
            other,
            "error: there is no output:0123456789: outputs are kept for a week; run the command again"
        );
    }

    #[test]
    fn who_is_asked_sees_that_it_stays_in_the_background() {
        let circumstances = |arguments| {
            let args: Args = serde_json::from_value(arguments).unwrap();
            RunCommand::new(&ToolSettings::default()).circumstances(&args, &[])
        };
        assert_eq!(
            circumstances(json!({"command": "npm start", "path": "web", "background": true})),
            "in the background, in web"
        );
        assert_eq!(
            circumstances(json!({"command": "make", "path": "web", "background_after": 10})),
            "in the background from 10 s on, in web"
        );
    }

    #[test]
    fn who_is_asked_about_the_network_hears_that_the_sandbox_has_none() {
        let sandbox = |network| Sandbox {
            mode: sandbox::SandboxMode::Auto,
            network,
            writable: Vec::new(),
            temporary: Vec::new(),
            git_settings: Vec::new(),
            home: None,
            private: Vec::new(),
            launcher: sandbox::Launcher::new(PathBuf::from("askls")),
        };
        let circumstances = |network, command: &str, unsandboxed| {
            let settings = ToolSettings { sandbox: Some(sandbox(network)), ..ToolSettings::default() };
            let args = json!({"command": command, "path": "web", "unsandboxed": unsandboxed});
            RunCommand::new(&settings).circumstances(&serde_json::from_value(args).unwrap(), &[])
        };
        assert_eq!(
            circumstances(false, "curl -s http://h", false),
            "in the sandbox, which has no network, in web"
        );
        assert_eq!(circumstances(false, "ls", false), "in web");
        assert_eq!(circumstances(true, "curl -s http://h", false), "in web");
        assert!(!circumstances(false, "curl -s http://h", true).contains("in the sandbox"));
    }

    #[tokio::test]
    async fn the_settings_choose_the_shell_and_the_time() {
        let mut project = Project::new(PROJECT);
        project.settings.shell = Some(vec!["/bin/echo".to_owned(), "shell:".to_owned()]);
        let answer = project.call("run_command", json!({"command": "a  b"})).await;
        assert_eq!(without_time(&answer), "exit code 0 (… s)\nshell: a  b");
        project.settings =
            ToolSettings { command_timeout: Some(Duration::from_millis(300)), ..ToolSettings::default() };
        let answer = project.call("run_command", json!({"command": "sleep 60"})).await;
        assert_eq!(
            answer,
            "timed out after 0.3 s\n(no output)\nnote: all that the command had started was ended"
        );
    }

    #[tokio::test]
    async fn a_time_that_the_project_sets_is_named_where_it_is_up() {
        let mut project = Project::new(PROJECT);
        let line = "command_timeout = 0.3 of .askls/config.toml".to_owned();
        project.settings = ToolSettings {
            command_timeout: Some(Duration::from_millis(300)),
            project: [("command_timeout", line)].into_iter().collect(),
            ..ToolSettings::default()
        };
        let answer = project.call("run_command", json!({"command": "sleep 60"})).await;
        assert_eq!(
            answer.lines().next(),
            Some(
                "timed out after 0.3 s, which is the project's: command_timeout = 0.3 of .askls/config.toml"
            )
        );
        // The model's own word.
        let answer = project.call("run_command", json!({"command": "sleep 60", "timeout": 1})).await;
        assert_eq!(answer.lines().next(), Some("timed out after 1 s"));
    }

    #[tokio::test]
    async fn nothing_runs_after_a_cancel() {
        let project = Project::new(PROJECT);
        project.context.cancel.cancel();
        let answer = project.call("run_command", json!({"command": "touch LATE"})).await;
        assert_eq!(answer, "error: the turn was stopped before this call was done");
        assert!(!project.path("LATE").exists());
    }

    #[test]
    fn who_is_asked_sees_the_whole_command_and_its_folder() {
        let command = format!("echo {}\nrm -r \u{202e}x", "y".repeat(300));
        let mut args = Args {
            command,
            timeout: None,
            path: Some("dir:\nls".to_owned()),
            background: false,
            background_after: None,
            unsandboxed: false,
            reason: None,
        };
        let tool = RunCommand::new(&ToolSettings::default());
        let preview = RunCommand::preview(&args, &[]);
        assert_eq!(preview, format!("echo {}\nrm -r \\u{{202e}}x", "y".repeat(300)));
        assert_eq!(tool.circumstances(&args, &[]), "in dir:\\nls");
        args = Args { command: "ls".to_owned(), path: None, ..args };
        let roots = [PathBuf::from("/project/first"), PathBuf::from("/project/second")];
        assert_eq!(tool.circumstances(&args, &roots), "in /project/first");
        args = Args { unsandboxed: true, reason: Some("it\nfetches".to_owned()), ..args };
        assert_eq!(
            tool.circumstances(&args, &roots),
            "without the sandbox, with all of your rights (the model says why: \"it fetches\"); in /project/first"
        );
    }
}
